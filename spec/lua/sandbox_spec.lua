-- What a plugin's code can reach: exactly the list below, through whatever door it tries. A name
-- that is added to the sandbox has to be thought about here as well.
local command = require "spec.support.command"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"

local ALLOWED = {
  assert = "function", collectgarbage = "function", error = "function", getmetatable = "function", ipairs = "function",
  load = "function", next = "function", pairs = "function", pcall = "function", rawequal = "function", rawget = "function",
  rawlen = "function", rawset = "function", select = "function", setmetatable = "function", tonumber = "function",
  tostring = "function", type = "function", xpcall = "function",
  coroutine = { "close", "create", "isyieldable", "resume", "running", "status", "wrap", "yield" },
  json = { "decode", "encode" },
  math = {
    "abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger", "min",
    "mininteger", "modf", "pi", "rad", "random", "randomseed", "sin", "sqrt", "tan", "tointeger", "type", "ult",
  },
  moonplan = { "address", "amount", "array", "blake2b", "is_array", "keccak256", "null", "sha256", "units" },
  ["moonplan.abi"] = { "call", "checksum", "decode", "decode_call", "decode_revert", "encode", "json", "parse", "selector" },
  ["moonplan.uint256"] = { "add", "compare", "div", "mul", "sub" },
  plugin = { "import" },
  string = {
    "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack", "packsize", "rep", "reverse", "sub",
    "unpack", "upper",
  },
  table = { "concat", "insert", "move", "pack", "remove", "sort", "unpack" },
  utf8 = { "char", "charpattern", "codepoint", "codes", "len", "offset" },
}

-- Everything that can be reached from the environment, from a string's metatable, from what a call
-- is given and from what functions give back, by path; functions and other values by their types.
local WALK = [[
local seen, found = {}, {}
local function walk(value, path)
  local kind = type(value)
  if kind ~= "table" then found[path] = kind return end
  if seen[value] then found[path] = "again" return end
  seen[value] = true
  found[path] = "table"
  for k, v in next, value do walk(v, path .. "." .. (type(k) == "string" and k or "[" .. type(k) .. "]")) end
  local meta = getmetatable(value)
  if meta ~= nil then walk(meta, path .. "<meta>") end
end
]]

describe("a plugin's environment", function()
  after_each(command.clean)

  -- Redis's CVE-2022-0543: a global that the packager's Lua brought along gave a shell.
  it("is the list, and nothing else", function()
    local engine = plugin_files.engine { ["a.lua"] = WALK .. plugin_files.source("a", [[
      local env = load("return _ENV")()
      walk(env, "env")
      walk(getmetatable(""), "string<meta>")
      walk(getmetatable(1), "number<meta>")
      walk(getmetatable(print2), "nil<meta>")
      walk(getmetatable(env), "env<meta>")
      for name in next, found do if name:find("^env%.walk") then found[name] = nil end end
      return found]]) }
    local expected = { env = "table", ["string<meta>"] = "boolean", ["number<meta>"] = "nil", ["nil<meta>"] = "nil",
      ["env<meta>"] = "nil" }
    for name, what in pairs(ALLOWED) do
      expected["env." .. name] = type(what) == "table" and "table" or what
      if type(what) == "table" then
        for _, member in ipairs(what) do expected["env." .. name .. "." .. member] = "function" end
      end
    end
    for path, kind in pairs { ["math.huge"] = "number", ["math.pi"] = "number", ["math.maxinteger"] = "number",
      ["math.mininteger"] = "number", ["utf8.charpattern"] = "string", ["moonplan.null"] = "userdata" } do
      expected["env." .. path] = kind
    end
    assert.same(expected, plugin_files.result(engine, "a"))
  end)

  it("of the loading is the same", function()
    local engine = plugin_files.engine { ["a.lua"] = WALK .. "walk(load('return _ENV')(), 'env') "
      .. plugin_files.source("a", "return found") }
    local found = plugin_files.result(engine, "a")
    for path in pairs(found) do
      local whole = path:match("^env%.(.*)$")
      local name, member = (whole or ""):match("^(.*)%.([%w_]+)$")
      if not name then assert(path == "env" or ALLOWED[whole], path) end
      if name and not ALLOWED[whole] then
        assert(ALLOWED[name], path)
        local there = false
        for _, allowed in ipairs(ALLOWED[name]) do there = there or allowed == member end
        assert(there, path)
      end
    end
  end)

  it("gets a ctx of plain values and functions", function()
    local engine = plugin_files.engine({ ["a.lua"] = WALK .. plugin_files.source("a", "walk(ctx, 'ctx') return found",
      "needs = { 'fs', 'clock' }") }, { grants = { ["fs:rw"] = "/tmp", clock = true } })
    assert.same({
      ctx = "table", ["ctx.job_id"] = "string", ["ctx.step_id"] = "string", ["ctx.idempotency_token"] = "string",
      ["ctx.log"] = "table", ["ctx.log.debug"] = "function", ["ctx.log.info"] = "function", ["ctx.log.warn"] = "function",
      ["ctx.log.error"] = "function", ["ctx.fs"] = "table", ["ctx.fs.read"] = "function", ["ctx.fs.size"] = "function",
      ["ctx.fs.list"] = "function", ["ctx.clock"] = "table", ["ctx.clock.now"] = "function",
    }, plugin_files.result(engine, "a"))
  end)
end)

describe("a plugin's code", function()
  after_each(command.clean)

  -- What the body returns, of a plugin with nothing granted.
  local function run(body, input)
    return plugin_files.result(plugin_files.engine { ["a.lua"] = plugin_files.source("a", body) }, "a", input)
  end
  local function failure(body)
    return plugin_files.failure(plugin_files.engine { ["a.lua"] = plugin_files.source("a", body) }, "a").message
  end

  -- Lua 5.4 names what an error is about by a recursion through the fields that lead to it: 20,000
  -- overflow a stack of 1 MiB, 160,000 one of 8.
  it("takes no more than 1000 fields in a row, however they are written", function()
    local engine = plugin_files.engine { ["a.lua"] = plugin_files.source("a", [[
      A = setmetatable({}, { __index = function(_, k) if k == "x" then return nil end return A end })
      local f, err = load(input)
      if not f then return err end
      return tostring((select(2, pcall(f))))]]) }
    local function rows(n)
      return {
        "return A" .. (".b"):rep(n - 1) .. ".x + 1",
        "return A" .. (" . --[==[ ] ]=] \n]==] b"):rep(n - 1) .. " . x + 1",
        "return A" .. ("['b']"):rep(n - 1) .. ".x + 1",
        "return A" .. ("[ [=[b]]]=] ]"):rep(n - 1) .. ".x + 1",
        "return A" .. ("[1 + 1]"):rep(n - 1) .. ".x + 1",
        "return A" .. ("[function(a, b) local c = a end]"):rep(n - 1) .. ".x + 1",
        "return A" .. ("[{ a = 1, 2; 3 }]"):rep(n - 1) .. ".x + 1",
        "return " .. ("("):rep(100) .. "A" .. (".b"):rep((n - 1) % 100) .. (")" .. (".b"):rep((n - 1) // 100)):rep(100) .. ".x + 1",
        "return A[A" .. (".b"):rep(n - 2) .. "].x + 1",
        "local t, u = 'it\\'s', \"A\" return A" .. (".b"):rep(n - 1) .. ".x + 1",
        "local n = 0xA.8p-1 + 1e+3 return A" .. (".b"):rep(n - 1) .. ".x + 1",
      }
    end
    for n, text in ipairs(rows(1000)) do
      assert.matches("attempt to perform arithmetic on a nil value %(field 'x'%)$", plugin_files.result(engine, "a", text), n)
    end
    for n, text in ipairs(rows(1001)) do
      assert.matches("more than 1000 fields in a row; a local variable parts them$", plugin_files.result(engine, "a", text), n)
    end
    assert.matches("^%[string%]:3: ", plugin_files.result(engine, "a", "\n--[[\n]] return A" .. (".b"):rep(1500)))
    local _, problems = plugin_files.engine({ ["b.lua"] = "x = y" .. (".z"):rep(1500) }):list()
    assert.matches("^b.lua:1: more than 1000 fields", problems[1].message)
    -- What people write, and what only looks like a row.
    for n, text in ipairs {
      ("A.b.c = A.d\n"):rep(3000), ("f = A.b A.c = f; "):rep(3000), "local t = { " .. ("A.b, [A.c] = A.d; "):rep(3000) .. " }",
      "return A.b" .. (" .. A.b"):rep(150) .. (" + A.b"):rep(3000), "--" .. (".b"):rep(3000), "return '" .. (".b"):rep(3000) .. "'",
      "--[[\n" .. (".b\n"):rep(3000) .. "]]", "return [==[" .. ("]].b"):rep(3000) .. "]==]",
      ("tostring 'x.y' "):rep(3000), ("local function f() return A.b end "):rep(150), ("do A.b() end "):rep(3000),
      ("if A.b then A.c = A.d else A.e = 1.5 end "):rep(1000), "return { " .. ("{ A.b .. 'x', 1., .5, A[1][2] }, "):rep(1000) .. " }",
    } do
      assert.not_matches("fields in a row", tostring(plugin_files.result(engine, "a", text)), n)
    end
  end)

  -- CVE-2018-1999023: binary chunks escape from a sandbox.
  it("loads text only, strings only", function()
    assert.same({ nil, "attempt to load a binary chunk (mode is 't')" }, { nil, run 'return select(2, load("\\27Lua", "x", "b"))' })
    for _, chunk in ipairs { '"\\27Lua"', '"\\27LuaT\\0"', '"\\27Lua", "x", "t"', '"\\27Lua", "x", "bt"', '"return 1", "x", "b"' } do
      assert.is_true(run("return load(" .. chunk .. ") == nil"), chunk)
    end
    assert.matches("string expected", failure "load(function() return 'return 1' end)")
    assert.is_true(run "return string.dump == nil")
    assert.equal(3, run "return load('return ... + 1')(2)")
    assert.matches("^%[string", run "return select(2, load('x = ='))")
  end)

  it("loads into its own environment, or into one that it gives", function()
    assert.same({ true, true, 7, true, 1 }, run [[
      local own = load("return _ENV")()
      own.x = 7
      local none = load("return _ENV", "x", "t", nil)
      return { own.io == nil and own.os == nil, own.tostring == tostring, x, none() == nil, load("return y", "x", "t", { y = 1 })() }]])
    assert.matches("index", run "return select(2, pcall(load('return io.open', 'x', 't', nil)))")
  end)

  it("cannot set a finalizer, now or later", function()
    for _, value in ipairs { "function() end", "true", "false", "1" } do
      assert.matches("cannot have __gc", run("return select(2, pcall(setmetatable, {}, { __gc = " .. value .. " }))"))
    end
    -- One that is put in later is not looked at, so the loop never runs.
    local engine = plugin_files.engine({ ["a.lua"] = plugin_files.source("a", [[
      local meta = {}
      local object = setmetatable({}, meta)
      meta.__gc = function() ran = true while true do end end
      object = nil
      for n = 1, 1e5 do local t = { n } end
      collectgarbage("count")
      return ran == nil]]) })
    assert.is_true(plugin_files.result(engine, "a"))
    engine:close()
    assert.is_true(run "return pcall(setmetatable, {}, { __close = function() end })")
    assert.is_true(run "local t = setmetatable({}, { __index = rawget }) return getmetatable(t).__index == rawget")
    assert.matches("table expected", failure "setmetatable(1, {})")
    assert.is_true(run "local m = setmetatable({}, { __metatable = 1 }) return not pcall(setmetatable, m, {}) and getmetatable(m) == 1")
  end)

  it("cannot reach the metatable of strings, of arrays or of errors", function()
    assert.is_false(run "return getmetatable('')")
    assert.is_false(run "return getmetatable(moonplan.array {})")
    assert.is_false(run "return getmetatable(select(2, json.decode('')))")
    assert.is_false(run("return getmetatable(input)", { 1 }))
    assert.is_false(run "return pcall(setmetatable, '', {})")
    assert.equal("X", run "return ('x'):upper()")
  end)

  it("controls no garbage collection", function()
    assert.equal("float", run "return math.type(collectgarbage('count'))")
    assert.equal("float", run "return math.type(collectgarbage())")
    for _, option in ipairs { "collect", "stop", "restart", "step", "incremental", "generational", "isrunning", "setpause" } do
      assert.is_false(run("return (pcall(collectgarbage, '" .. option .. "'))"))
    end
  end)

  it("sees no address in any text", function()
    local texts = run [[
      local function f() end
      local co = coroutine.create(f)
      local named = setmetatable({}, { __name = "named" })
      local told = setmetatable({}, { __tostring = function() return "told" end })
      local list = {}
      local function text(_, value) return tostring(value) end
      for _, value in ipairs { f, print2 or next, co, {}, moonplan.null, named, told, string, moonplan.array {} } do
        list[#list + 1] = tostring(value)
        list[#list + 1] = ("%s|%10s|%-3s"):format(value, value, value)
        list[#list + 1] = text(pcall(error, tostring(value)))
        list[#list + 1] = text(pcall(function() return value + 1 end))
        list[#list + 1] = text(pcall(function() return value < value end))
        list[#list + 1] = text(pcall(function() return #value < value .. "" end))
        list[#list + 1] = text(pcall(string.rep, value))
        list[#list + 1] = text(pcall(table.concat, { value }))
        list[#list + 1] = text(pcall(string.format, "%d", value))
        list[#list + 1] = text(pcall(string.format, "%q", value))
        list[#list + 1] = text(pcall(string.format, "%p", value))
        list[#list + 1] = text(pcall(string.format, "%-20p", value))
        list[#list + 1] = text(pcall(setmetatable, value, value))
        list[#list + 1] = text(pcall(json.encode, value))
        list[#list + 1] = text(pcall(value))
        list[#list + 1] = text(coroutine.resume(coroutine.create(function() return value.x.y end)))
      end
      for n, text in ipairs(list) do list[n] = tostring(text) end
      list[#list + 1] = tostring(coroutine.running())
      return list]]
    assert(#texts > 100)
    for _, text in ipairs(texts) do assert.is_nil(text:find("0x%x%x%x%x+"), text) end
    assert.matches("^%(?table$", run "return tostring {}")
    assert.equal("function", run "return tostring(next)")
    assert.equal("named", run "return tostring(setmetatable({}, { __name = 'named' }))")
    assert.equal("told", run "return tostring(setmetatable({}, { __tostring = function() return 'told' end }))")
    assert.matches("must return a string", failure "tostring(setmetatable({}, { __tostring = function() return {} end }))")
    assert.matches("no text shows an address", failure "return ('%p'):format({})")
  end)

  it("has tostring and format as Lua's own for everything else", function()
    for _, value in ipairs { 1, 1.0, -0.0, 1e100, 2^53, math.mininteger, 0.1, "x\0y", "", true, false } do
      local plain = tostring(value):gsub("%z", "")
      local expected = { tostring(value), ("%s|%-8s|%5.1s"):format(value, plain, plain) }
      assert.same(expected, run([[
        local plain = tostring(input):gsub("%z", "")
        return { tostring(input), ("%s|%-8s|%5.1s"):format(input, plain, plain) }]], value))
    end
    assert.equal("nil", run "return tostring(nil)")
    assert.equal(("%5d|%x|%g|%q|%%|%c|%i|%a"):format(1, 255, 0.5, "a\n", 65, 7, 1.0),
      run "return ('%5d|%x|%g|%q|%%|%c|%i|%a'):format(1, 255, 0.5, 'a\\n', 65, 7, 1.0)")
    assert.equal("%", run "return ('%%'):format()")
    assert.matches("bad argument #2 to 'format'", run "return select(2, pcall(function() return string.format('%s') end))", 1, true)
    assert.matches("bad argument #3 to 'format'",
      run "return select(2, pcall(function() return string.format('%s%d', 1, {}) end))", 1, true)
    assert.matches("invalid conversion", failure "return ('%y'):format(1)")
    assert.matches("invalid conversion", failure "return ('%'):format(1)")
    assert.matches("bad argument", failure "return string.format()")
  end)

  it("draws the same numbers while it loads, and others in every state when it is called", function()
    local source = ([[local loading = math.random(0)
return {
  kind = "capability", api = 1, name = "a", version = "1.0.0", summary = "s", risk = "read", needs = {}, input = {},
  output = {}, examples = {},
  run = function()
    local drawn = math.random(0)
    math.randomseed()
    return { loading = loading, drawn = drawn, again = math.random(0) }
  end,
}]])
    for _, isolation in ipairs { "state", "process" } do
      local results = {}
      for n = 1, 3 do
        local engine = plugin_files.engine({ ["a.lua"] = source }, { isolation = isolation })
        results[n] = plugin_files.result(engine, "a")
        assert.equal(results[1].loading, results[n].loading)
        -- Without a seed of its own the generator begins again.
        assert.equal(results[n].drawn, results[n].again)
        for earlier = 1, n - 1 do assert.not_equal(results[earlier].drawn, results[n].drawn) end
      end
    end
  end)

  -- Lua's own draws that seed from the address of the state, and returns it.
  it("is told no seed, and draws the same numbers after the same one", function()
    assert.equal(0, run "return select('#', math.randomseed())")
    assert.equal(0, run "return select('#', math.randomseed(5, 6))")
    for _, seed in ipairs { "7", "7, 8", "2^40" } do
      local body = "math.random() math.randomseed(" .. seed .. ") return { math.random(0), math.random(0) }"
      assert.same(run(body), run(body))
    end
    assert.not_same(run "math.randomseed(7) return math.random(0)", run "math.randomseed(8) return math.random(0)")
    assert.matches("bad argument #1 to 'randomseed'", failure "math.randomseed('x')", 1, true)
  end)

  it("is told what there is instead of what it misses", function()
    for text, instead in pairs {
      ["print('x')"] = "ctx.log.info", ["io.write('x')"] = "ctx.fs", ["os.time()"] = "ctx.clock", ["require 'x'"] = "plugin.import",
      ["dofile 'x'"] = "plugin.import", ["warn('x')"] = "ctx.log.warn",
    } do
      local message = failure(text)
      assert.matches("^a.lua:%d+: attempt to %l+ a nil value %(global '%l+'%); plugins have none: ", message)
      assert.matches(instead, message, 1, true)
    end
    assert.not_matches("plugins have none", failure "undefined()")
  end)

  it("learns from an error which function it was, however that was called", function()
    for call, name in pairs {
      ["string.rep"] = "string.rep", ["math.floor"] = "math.floor", ["setmetatable"] = "setmetatable", ["json.decode"] = "json.decode",
    } do
      assert.matches("bad argument #1 to '" .. name .. "'", run("return select(2, pcall(" .. call .. "))"), 1, true)
    end
  end)

  it("writes nothing where the host prints", function()
    local script = [[
      local moonplan = require "moonplan"
      local engine = moonplan.engine { plugins = arg[1], shipped = false }
      print(engine:run { steps = { { id = "a", capability = "a" } } }.status)
    ]]
    local program = io.open(command.program, "rb")
    if not program then
      pending("the program is not built")
      return
    end
    program:close()
    local folder = plugin_files.folder { ["a.lua"] = plugin_files.source("a",
      "pcall(function() print('hi') end) pcall(function() io.stdout:write('x') end) pcall(function() warn('@on', 'x') end)") }
    local outcome = command.run { command.write(folder .. "/script", script), folder }
    assert.same({ code = 0, out = "completed\n", err = "" }, outcome)
  end)

  it("yields nowhere but inside its own coroutines", function()
    assert.matches("outside a coroutine", failure "coroutine.yield(1)")
    assert.is_false(run "return coroutine.isyieldable()")
    assert.same({ 1, 2, 3 }, run [[
      local list = {}
      for n in coroutine.wrap(function() for n = 1, 3 do coroutine.yield(n) end end) do list[n] = n end
      return list]])
    assert.is_true(run [[
      local co = coroutine.create(function() local env = load("return _ENV")() coroutine.yield(env.io == nil and env.debug == nil) end)
      return select(2, coroutine.resume(co))]])
  end)

  it("survives its own deep recursion", function()
    for _, body in ipairs {
      "local function f() return f() + 1 end return (pcall(f))", "local function f() return pcall(f) end f() return false",
      "local function h(e) return h(e) + 1 end return (xpcall(error, h))", "return (pcall(string.rep, 'x', -1)) == false",
      "local s = ('('):rep(1000) return load('return ' .. s) ~= nil",
      "local t = setmetatable({}, {}) getmetatable(t).__index = t return (pcall(function() return t.x end))",
      "local f = function() end for n = 1, 300 do local g = f f = coroutine.wrap(function() return g() end) end return (pcall(f))",
    } do
      local engine = plugin_files.engine({ ["a.lua"] = plugin_files.source("a", body) }, { limits = { call_ms = 5000 } })
      local job = plugin_files.call(engine, "a")
      assert(job.status == "failed" or job.result == false or job.result == true, body)
    end
  end)

  it("has hashes that are right", function()
    -- FIPS 180-4 and RFC 7693 (with the digest length 32: b2sum -l 256), for "abc"; Keccak-256 of nothing.
    assert.equal("0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", run "return moonplan.sha256('abc')")
    assert.equal("0xbddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319", run "return moonplan.blake2b('abc')")
    assert.equal("0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470", run "return moonplan.keccak256('')")
    assert.equal(moonplan.sha256("abc"), run "return moonplan.sha256('abc')")
  end)
end)
