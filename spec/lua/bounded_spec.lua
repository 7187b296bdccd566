-- The string, table and utf8 functions of a plugin's state are ours: what they do is what those of
-- the Lua that runs this spec do, and every call of one comes to an end.
local command = require "spec.support.command"
local files = require "spec.support.files"
local plugin_files = require "spec.support.plugin_files"

local CASES = 2000
local text = files.read(files.root .. "spec/support/library_cases.lua")
local seed = math.tointeger(tonumber(os.getenv "MOONPLAN_SEED") or os.time() % 1000000007)

describe("the libraries of plugins, called at random,", function()
  local engine
  setup(function()
    engine = plugin_files.engine({ ["a.lua"] = plugin_files.source("a",
      "return load(input.text, '=cases')(input.area, input.seed, input.count)") }, { isolation = "state" })
  end)
  teardown(command.clean)

  for area in text:gmatch "\nfunction areas%.(%w+)" do
    it(("say what Lua's say: %s (MOONPLAN_SEED=%d)"):format(area, seed), function()
      local expected = assert(load(text, "=cases"))(area, seed, CASES)
      local found = plugin_files.result(engine, "a", { text = text, area = area, seed = seed, count = CASES })
      assert.equal(CASES, #expected)
      -- Not what every call comes to is an error.
      local different = {}
      for _, line in ipairs(expected) do different[line] = true end
      local kinds = 0
      for _ in pairs(different) do kinds = kinds + 1 end
      assert(kinds > 25, "they are all alike")
      for n = 1, CASES do
        if expected[n] ~= found[n] then
          error(("case %d with the seed %d\n  Lua: %s\n  here: %s"):format(n, seed, expected[n], found[n]), 0)
        end
      end
    end)
  end
end)

describe("a function of a plugin's library", function()
  after_each(command.clean)

  -- Without any limit on time: in isolation state there is none unless it is set.
  local function engine_of(body, options)
    local all = { isolation = "state" }
    for name, value in pairs(options or {}) do all[name] = value end
    return plugin_files.engine({ ["a.lua"] = plugin_files.source("a", body) }, all)
  end
  local function run(body, options) return plugin_files.result(engine_of(body, options), "a") end

  -- What takes longer than the sun shines, in Lua's own library, and what it is called.
  local endless = {
    ["find, a pattern that tries everything"] = "('a'):rep(60):find(('a?'):rep(60) .. ('a'):rep(61))",
    ["match, items that give back"] = "('a'):rep(100000):match('.-.-.-.-b')",
    ["gmatch"] = "for _ in ('a'):rep(100000):gmatch('.-.-.-b') do end",
    ["gsub"] = "(' a'):rep(200000):gsub('.-%f[%w]b', '')",
    ["gsub, empty matches in a long text"] = "('a'):rep(4000000):gsub('', function() return ('x'):rep(100000):find('.-.-y') and '' end)",
    ["a captured text compared again and again"] = "('a'):rep(60000):find('(a*)%1b')",
    ["a set of a million characters"] = "('b'):rep(100000):find('[' .. ('a'):rep(1000000) .. ']c')",
    ["a balanced pair that is never closed"] = "('('):rep(100000):find('%b()')",
    ["concat"] = "table.concat(setmetatable({}, { __index = getmetatable, __metatable = '' }), '', 1, math.maxinteger)",
    ["insert"] = "table.insert(setmetatable({}, { __len = function() return 1 << 40 end }), 1, 1)",
    ["remove"] = "table.remove(setmetatable({}, { __len = function() return 1 << 40 end }), 1)",
    ["move"] = "table.move({}, 1, 1 << 40, (1 << 40) + 1)",
    ["move between stand-ins"] = "table.move(setmetatable({}, { __index = type }), 1, math.maxinteger - 1, 1, "
      .. "setmetatable({}, { __newindex = type }))",
    ["a function of ours, again and again"] = "local s = ('x'):rep(4000000) for _ = 1, 1e9 do json.decode(s) end",
  }
  for what, body in pairs(endless) do
    it("ends: " .. what, function()
      local began = os.clock()
      local statement = body:match "^for " or body:match "^local "
      local failure = plugin_files.failure(engine_of("do " .. (statement and body or "return " .. body) .. " end"), "a")
      assert.equal("job.capability_failed", failure.code)
      assert.matches("steps", failure.message)
      assert.matches("^a.lua:%d+: ", failure.message)
      if not command.sanitized then assert(os.clock() - began < 60) end
    end)
  end

  it("is stopped with an error that can be caught, and the next call of one has its own budget", function()
    assert.same({ false, true, 3 }, run [[
      local ok, message = pcall(string.find, ("a"):rep(60), ("a?"):rep(60) .. ("a"):rep(61))
      return { ok, message:find("this takes more than 268435456 steps, the most for one call of a function", 1, true) ~= nil,
        (("aab"):find("b", 1, true)) }
    ]])
  end)

  it("has a budget for all calls together, which is new with every call of the plugin", function()
    local engine = engine_of [[
      local function try() return select(2, pcall(function() return ("a"):rep(60000):find("(a*)%1b") end)) end
      local first, calls, message = try(), 1, nil
      repeat
        message = try()
        calls = calls + 1
      until message ~= first
      return { calls, message, select(2, pcall(string.find, "a", "a")) }
    ]]
    for _ = 1, 2 do
      local found = plugin_files.result(engine, "a")
      assert(found[1] >= 16 and found[1] <= 17, found[1])
      for n = 2, 3 do
        assert.matches("the library functions have taken 4294967296 steps, the most for one call into a plugin", found[n], 1, true)
      end
    end
  end)

  it("counts for itself only what it does itself", function()
    assert.equal(5, run [[
      local n = 0
      ;("aaaaa"):gsub("a", function() -- together more than one call may
        n = n + 1
        pcall(string.find, ("a"):rep(60000), "(a*)%1b")
      end)
      return n]])
  end)

  it("finds a plain text in linear time, whatever both are made of", function()
    -- A search that began again behind each place would take 10^13 steps for the first of these.
    for _, body in ipairs {
      "return ('a'):rep(8000000):find(('a'):rep(4000000) .. 'b', 1, true) == nil",
      "return ('a'):rep(8000000):find('b' .. ('a'):rep(4000000), 1, true) == nil",
      "return (('a'):rep(1000) .. 'b'):rep(8000):find(('a'):rep(1000) .. 'c', 1, true) == nil",
      "return ('ab'):rep(4000000):find(('ab'):rep(1000000) .. 'aab', 1, true) == nil",
      "local s = (('a'):rep(63) .. 'b'):rep(60000) return s:find(('a'):rep(63) .. 'bb', 1, true) == nil",
      "local s = ('a'):rep(4000000) .. 'b' return s:find(('a'):rep(2000000) .. 'b', 1, true) == 2000001",
    } do
      assert.is_true(run(body), body)
    end
  end)

  it("makes no text of which the state's memory cannot hold two", function()
    local limits = { limits = { memory_mib = 4 } }
    for _, body in ipairs { "('x'):rep(1 << 40)", "('x'):rep(2097153)", "('x'):rep(3, ('y'):rep(1048576))",
      "('x'):rep(math.maxinteger, 'yy')" } do
      assert.matches("resulting string too large", plugin_files.failure(engine_of("return " .. body, limits), "a").message)
    end
    assert.equal(0, run "return #(''):rep(1 << 62, '')")
    assert.equal(1500000, run("return #('x'):rep(1500000)", limits))
  end)

  it("takes formats of packed data of a bounded length", function()
    assert.equal(100000, run "return string.packsize(('b'):rep(100000))")
    for _, name in ipairs { "pack", "packsize", "unpack" } do
      local failure = plugin_files.failure(engine_of("string." .. name .. "((' '):rep(100001), '')"), "a")
      assert.matches("the format has 100001 bytes, and 100000 is the most", failure.message, 1, true)
    end
  end)

  it("sorts equal elements in the order in which they stood, and the same way each time", function()
    local expected = {}
    for key = 0, 9 do
      for n = 1, 1000 do
        if n * 7919 % 10 == key then expected[#expected + 1] = key .. ":" .. n end
      end
    end
    assert.equal(table.concat(expected, " "), run [[
      local t = {}
      for n = 1, 1000 do t[n] = { n * 7919 % 10, n } end
      table.sort(t, function(a, b) return a[1] < b[1] end)
      for n, item in ipairs(t) do t[n] = item[1] .. ":" .. item[2] end
      return table.concat(t, " ")]])
  end)

  it("leaves a table alone when it cannot be sorted", function()
    assert.same({ 5, 3, 9, 1, 7, 3, 8, 2 }, run [[
      local t = { 5, 3, 9, 1, 7, 3, 8, 2 }
      local n = 0
      pcall(table.sort, t, function(a, b) n = n + 1 if n == 12 then error() end return a < b end)
      return t]])
    -- An order that is none comes to an end as well, and nothing is lost.
    assert.equal(5050, run [[
      local t = {}
      for n = 1, 100 do t[n] = n end
      table.sort(t, function() return true end)
      local sum = 0
      for n = 1, 100 do sum = sum + t[n] end
      return sum]])
  end)

  -- Lua 5.4.4 crashes at the second call: what it knew of the first attempt was never cleared.
  it("goes on after a pattern that was too complex", function()
    assert.same({ "pattern too complex", "pattern too complex", "aa" }, run [[
      local it = ("a"):rep(400000):gmatch(("a?"):rep(400000))
      local function text(_, e) return e:match "pattern too complex" end
      return { text(pcall(it)), text(pcall(it)), ("xaa"):match "a+" }]])
  end)
end)
