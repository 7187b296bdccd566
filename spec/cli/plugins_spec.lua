local chain = require "spec.support.chain"
local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"

local run = command.run

local GOOD = [[return {
  kind = "capability", api = 1, name = "%s", version = "1.0.0", summary = "Is fine.", risk = "read",
  run = function(input) return input end,
}
]]

-- What a plugin file can do wrong; sorted so that the broken ones lie between two good ones.
local BROKEN = {
  ["b-syntax"] = "return {\n  kind = = 1,\n}",
  ["c-raises"] = '\n\nerror("not today")',
  ["d-nothing"] = "local x = 1",
  ["e-fields"] = 'return { kind = "capability", api = 1, name = "e-fields" }',
  ["f-typo"] = GOOD:format("f-typo"):gsub("summary", "sumary"),
  ["g-api"] = GOOD:format("g-api"):gsub("api = 1", "api = 2"),
  ["h-name"] = GOOD:format("other"),
  ["i-bytecode"] = "\27Lua",
  ["j-loop"] = "while true do end",
  ["k-print"] = 'print("at load time")\n' .. GOOD:format("k-print"),
  ["l-twice"] = "return { " .. ("%s, %s"):format(GOOD:format("l-twice"):sub(8), GOOD:format("l-twice"):sub(8)) .. " }",
}

describe("moonplan plugins", function()
  local folder
  before_each(function()
    folder = command.folder()
    os.execute("mkdir " .. folder .. "/plugins")
  end)
  after_each(command.clean)

  local function add(name, source) command.write(folder .. "/plugins/" .. name, source) end

  local function add_broken()
    for name, source in pairs(BROKEN) do add(name .. ".lua", source) end
    add("a-good.lua", GOOD:format("a-good"))
    add("z-good.lua", GOOD:format("z-good"))
  end

  local function plugins(...)
    return run { "plugins", cd = folder, ... }
  end

  describe("list", function()
    it("gives what comes along, with what has to be granted", function()
      local outcome = plugins("list")
      assert.equal(0, outcome.code)
      assert.equal("", outcome.err)
      for _, name in ipairs { "text.count", "json.select", "fs.read_text", "hash.file", "time.format" } do
        assert.truthy(("\n" .. outcome.out):find("\n" .. name:gsub("%p", "%%%0") .. " +1%.0%.0  read  %s+state  %s+%u"), name)
      end
      local _, count = outcome.out:gsub("not usable: needs %-%-grant fs=DIR\n", "")
      assert.equal(4, count) -- fs.read_text, fs.list, hash.file, hash.files
      assert.truthy(outcome.out:find("not usable: needs --grant clock\n", 1, true))
      assert.falsy(plugins("list", "--grant", "fs=.", "--grant", "clock", "--grant", "rpc:wallet=http://127.0.0.1:8545").out
        :find("not usable", 1, true))
      assert.same({ code = 0, out = "", err = "" }, plugins("list", "--no-shipped"))
    end)

    it("adds those of a folder, sorted by file", function()
      add("b.lua", GOOD:format("b.two"))
      add("a.lua", GOOD:format("a"))
      os.execute("mkdir " .. folder .. "/plugins/c")
      add("c/init.lua", GOOD:format("c.three"))
      add("off.lua.disabled", "error()")
      add(".hidden.lua", "error()")
      add("notes.txt", "no plugin")
      local outcome = plugins("list", "--no-shipped", "--plugins", "plugins")
      assert.equal("", outcome.err)
      local names = {}
      for name in ("\n" .. outcome.out):gmatch "\n([^\n ]+)" do names[#names + 1] = name end
      assert.same({ "a", "b.two", "c.three" }, names)
    end)

    it("skips what is broken, names it loudly, and goes on behind it", function()
      add_broken()
      local outcome = plugins("list", "--no-shipped", "--plugins", "plugins")
      assert.equal(0, outcome.code)
      assert.equal("a-good  1.0.0  read         process  Is fine.\nz-good  1.0.0  read         process  Is fine.\n",
        (outcome.out:gsub(" +unsigned; digest %x+\n", "")))
      for name in pairs(BROKEN) do
        assert.truthy(("\n" .. outcome.err):find("\nplugins/" .. name:gsub("%p", "%%%0") .. "%.lua[^\n]*error%[plugin%.%l+"),
          name .. " in " .. outcome.err)
      end
      assert.truthy(outcome.err:find("plugins/b-syntax.lua:2:", 1, true), outcome.err)
      assert.truthy(outcome.err:find("plugins/c-raises.lua:3:", 1, true), outcome.err)
      assert.truthy(outcome.err:find("not today", 1, true))
      assert.falsy(outcome.err:find("\27", 1, true))
    end)

    it("stops at what is broken when it is strict", function()
      add_broken()
      local outcome = plugins("list", "--strict", "--plugins", "plugins")
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      local _, lines = outcome.err:gsub("\n", "")
      local count = 0
      for _ in pairs(BROKEN) do count = count + 1 end
      assert.equal(count, lines, outcome.err)
    end)

    it("is JSON when it is asked", function()
      add_broken()
      local outcome = plugins("list", "--json", "--plugins", "plugins")
      assert.equal(0, outcome.code)
      assert.equal("", outcome.err)
      local all = cjson.decode(outcome.out)
      local by_name = {}
      for _, item in ipairs(all.capabilities) do by_name[item.name] = item end
      assert.is_true(by_name["text.count"].shipped)
      assert.is_false(by_name["a-good"].shipped)
      assert.equal("plugins/a-good.lua", by_name["a-good"].file)
      assert.same({ "fs" }, by_name["fs.read_text"].missing)
      assert.equal("string", by_name["fs.read_text"].input.path.type)
      assert.truthy(outcome.out:find('"missing":[]', 1, true))
      assert.truthy(#all.errors >= 11)
      for _, fault in ipairs(all.errors) do
        assert.truthy(fault.code:find("^plugin%."))
        assert.truthy(fault.file:find("^plugins/"))
      end
    end)

    it("refuses a name that two files bring, naming both", function()
      add("text.lua", GOOD:format("text.count"))
      local outcome = plugins("list", "--plugins", "plugins")
      assert.truthy(outcome.err:find("plugins/text.lua", 1, true), outcome.err)
      assert.truthy(outcome.err:find("error[plugin.duplicate]", 1, true))
      assert.truthy(outcome.out:find("text.count", 1, true))
      -- Of two folders, neither counts: which one was meant is not for us to say.
      os.execute("mkdir " .. folder .. "/more")
      command.write(folder .. "/more/x.lua", GOOD:format("x"))
      add("x.lua", GOOD:format("x"))
      outcome = plugins("list", "--no-shipped", "--plugins", "plugins", "--plugins", "more")
      assert.truthy(outcome.err:find("plugins/x.lua", 1, true), outcome.err)
      assert.truthy(outcome.err:find("more/x.lua", 1, true), outcome.err)
      assert.falsy(outcome.out:find("^x "))
    end)

    it("follows no links and reads no other kind of file", function()
      command.write(folder .. "/outside.lua", GOOD:format("linked"))
      os.execute(("ln -s ../outside.lua %s/plugins/linked.lua; mkfifo %s/plugins/pipe.lua"):format(folder, folder))
      os.execute(("mkdir %s/plugins/dir.lua"):format(folder))
      local outcome = plugins("list", "--no-shipped", "--plugins", "plugins")
      assert.equal("", outcome.out)
      assert.equal(0, outcome.code)
    end)

    it("shows nothing raw", function()
      add("evil.lua", (GOOD:format("evil"):gsub("Is fine%.", "\27[2J\u{202e}")))
      add("worse.lua", 'error("\27[2J\u{202e}")')
      local outcome = plugins("list", "--no-shipped", "--plugins", "plugins")
      for _, text in ipairs { outcome.out, outcome.err } do
        assert.falsy(text:find("\27", 1, true))
        assert.falsy(text:find("\u{202e}", 1, true))
      end
    end)
  end)

  describe("show", function()
    it("lays a capability out", function()
      local outcome = plugins("show", "hash.file")
      assert.equal("", outcome.err)
      assert.equal(0, outcome.code)
      assert.truthy(outcome.out:find("^hash%.file 1%.0%.0\nHash a file"))
      for _, part in ipairs { "\nneeds   fs (--grant fs=DIR); not granted: fs\n", "\nfrom    this program\n",
        '\n  algorithm  string, one of "sha256", "blake2b", "keccak256": sha256 without one\n',
        "\n  path       string, required, at most 4096 characters: file below the granted root",
        "\n  digest  string: 0x and 64", '\n  input   {"algorithm":"sha256","path":"abc"}\n',
        '\n  given   {"fs":{"abc":"abc"}}\n' } do
        assert.truthy(outcome.out:find(part, 1, true), part .. " in " .. outcome.out)
      end
    end)

    it("lays a family out, and everything that can be told of a field", function()
      local outcome = run { "plugins", "show", "orders", "--plugins", files.root .. "examples/plugins" }
      assert.truthy(outcome.out:find("^orders%.create 1%.0%.0\n"))
      assert.truthy(outcome.out:find("\n\norders.read 1.0.0\n", 1, true))
      assert.truthy(outcome.out:find("quantity  number, required, a whole number, at least 1, at most 100: how many\n", 1, true))
      assert.truthy(outcome.out:find("risk    write: denied unless --allow write", 1, true))
      assert.truthy(outcome.out:find("examples/plugins/orders.lua\n", 1, true))
    end)

    it("is JSON when it is asked", function()
      local item = cjson.decode(plugins("show", "text.count", "--json").out)
      assert.equal("text.count", item.name)
      assert.equal("Count the lines, words and bytes of a text.", item.summary)
      assert.equal(6, #item.examples)
    end)

    it("knows what may have been meant", function()
      local outcome = plugins("show", "text.cuont")
      assert.equal(1, outcome.code)
      assert.equal('moonplan plugins: there is no capability "text.cuont"; did you mean "text.count"?\n'
        .. 'see "moonplan help plugins"\n', outcome.err)
    end)

    it("says why there is none, where its file is broken", function()
      add_broken()
      local outcome = plugins("show", "c-raises", "--plugins", "plugins")
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("^plugins/c%-raises%.lua:3:[^\n]*not today\n$"), outcome.err)
    end)
  end)

  describe("check", function()
    it("looks at every file, and fails when one is broken", function()
      add_broken()
      local outcome = plugins("check", "--no-shipped", "--plugins", "plugins")
      assert.equal(2, outcome.code)
      assert.equal("plugins/a-good.lua: fine, a-good\nplugins/z-good.lua: fine, z-good\n", outcome.out)
      for name in pairs(BROKEN) do
        assert.truthy(outcome.err:find("plugins/" .. name .. ".lua", 1, true), name)
      end
      assert.same({ code = 0, err = "", out = "plugins/z-good.lua: fine, z-good\n" },
        plugins("check", "z-good", "--plugins", "plugins"))
      assert.equal(1, plugins("check", "none", "--plugins", "plugins").code)
    end)

    it("says where a field is wrong", function()
      for source, expected in pairs {
        [GOOD:format("x"):gsub("run", 'input = { a = { type = "text" } }, run')] = "/input/a/type",
        [GOOD:format("x"):gsub('"read"', '"mild"')] = "/risk",
        [GOOD:format("x"):gsub("run", 'needs = { "internet" }, run')] = "/needs/0",
        [GOOD:format("x"):gsub("run", "examples = { { ouput = 1 } }, run")] = "/examples/0/ouput",
      } do
        add("x.lua", source)
        local outcome = plugins("check", "--no-shipped", "--plugins", "plugins")
        assert.equal(2, outcome.code)
        assert.truthy(outcome.err:find("^plugins/x%.lua: error%[plugin%.manifest%] at " .. expected .. ": "), outcome.err)
      end
    end)
  end)

  describe("test", function()
    it("runs all examples, without any grant", function()
      local outcome = plugins("test")
      assert.equal("", outcome.err)
      assert.equal(0, outcome.code)
      for _, name in ipairs { "text.count", "json.select", "fs.read_text", "hash.file", "time.format" } do
        assert.truthy(outcome.out:find(name .. " 1.0.0: %d+ examples kept\n"), outcome.out)
      end
    end)

    it("of one capability or of a family", function()
      assert.equal("text.count 1.0.0: 6 examples kept\n", plugins("test", "text.count").out)
      assert.equal("text.count 1.0.0: 6 examples kept\n", plugins("test", "text").out)
      assert.equal(1, plugins("test", "none").code)
    end)

    it("tells which one is not kept, and fails", function()
      add("half.lua", (GOOD:format("half"):gsub("run", "examples = { { input = 1, output = 1 }, { input = 1, output = 2 } }, run")))
      local outcome = plugins("test", "half", "--plugins", "plugins")
      assert.equal(2, outcome.code)
      assert.equal("half 1.0.0: 1 of 2 examples kept\n", outcome.out)
      assert.truthy(outcome.err:find("^  example 2: %S[^\n]+\n$"), outcome.err)
    end)

    it("says when there is nothing to test", function()
      add("bare.lua", GOOD:format("bare"))
      assert.same({ code = 0, err = "", out = "bare 1.0.0: has no examples\n" },
        plugins("test", "bare", "--plugins", "plugins"))
    end)

    it("fails when a file is broken", function()
      add_broken()
      assert.equal(2, plugins("test", "--plugins", "plugins").code)
    end)

    it("touches nothing outside", function()
      add("save.lua", [[return {
        kind = "capability", api = 1, name = "save", version = "1", summary = "Saves.", risk = "write", needs = { "fs:rw" },
        examples = { { input = { path = "out.txt" }, after = { fs = { ["out.txt"] = "x" } } } },
        run = function(input, ctx) assert(ctx.fs.write(input.path, "x")) end }]])
      local outcome = plugins("test", "save", "--plugins", "plugins", "--grant", "fs:rw=.")
      assert.same({ code = 0, err = "", out = "save 1: 1 example kept\n" }, outcome)
      assert.is_nil(io.open(folder .. "/out.txt"))
    end)
  end)

  describe("new capability", function()
    it("writes a file that is fine and whose examples hold, untouched", function()
      for name, family in pairs { ["greet.hello"] = "greet", solo = "solo", ["a-b.c_d.e2"] = "a-b" } do
        local outcome = plugins("new", "capability", name)
        assert.equal("", outcome.err)
        assert.equal(0, outcome.code)
        assert.truthy(outcome.out:find("^plugins/" .. family:gsub("%p", "%%%0") .. "%.lua: written"), outcome.out)
        -- It says what to type next.
        local typed = outcome.out:match("\n  moonplan ([^\n]+)\n$")
        outcome = command.shell(("cd %s && %s %s"):format(folder, files.quote(command.program), typed))
        assert.same({ code = 0, err = "", out = name .. " 0.1.0: 3 examples kept\n" }, outcome)
        assert.equal(0, plugins("check", family, "--plugins", "plugins").code)
      end
      local outcome = run { "run", "-", "--plugins", "plugins", cd = folder,
        stdin = '{"version":"1.0","steps":[{"id":"a","capability":"greet.hello","input":{"text":"hi"}}]}' }
      assert.same({ code = 0, err = "", out = '{"text":"HI!"}\n' }, outcome)
    end)

    it("pleases the linter", function()
      local found = command.shell("command -v luacheck")
      if found.code ~= 0 then pending("luacheck is not installed") return end
      for _, kind in ipairs { "capability", "builder", "executor", "authorizer" } do plugins("new", kind, kind:sub(1, 1) .. ".x") end
      local outcome = command.shell(("luacheck --no-color --std lua54 --max-line-length 100 --read-globals moonplan "
        .. "--no-config %s/plugins")
        :format(folder))
      assert.equal(0, outcome.code, outcome.out)
    end)

    it("begins an executor and an authorizer that hold their examples, and work", function()
      for kind, kept in pairs { executor = 4, authorizer = 3 } do
        assert.equal(0, plugins("new", kind, kind .. ".mine").code)
        local outcome = plugins("test", kind .. ".mine", "--plugins", "plugins")
        assert.same({ code = 0, err = "", out = ("%s.mine 0.1.0: %d examples kept\n"):format(kind, kept) }, outcome)
      end
      local plan = '{"version":"1.0","steps":[{"id":"a","capability":"text.count","input":{"text":"hi"}}]}'
      assert.equal(0, run({ "run", "-", "--plugins", "plugins", "--authorizer", "authorizer.mine", cd = folder,
        stdin = plan }).code)
      local node = chain.start()
      local call_plan = chain.plan(chain.calls(2), { chain_id = chain.small.chain_id, sender = chain.small.sender })
      local code, sent, err = node:send(call_plan, "--yes", "--plugins", folder .. "/plugins", "--executor", "executor.mine")
      node:stop()
      assert.equal(0, code, err)
      assert.same({ "succeeded", "succeeded" }, chain.statuses(sent))
    end)

    it("tells what executors do", function()
      local shown = plugins("show", "wallet").out
      assert.truthy(shown:find("\nhas     atomic_batch, where a call plan requires it\nsends   all calls as one batch\n", 1, true), shown)
      assert.truthy(shown:find("\nsends   one call after the other\n", 1, true))
    end)

    it("makes the folder, and replaces nothing", function()
      assert.equal(0, plugins("new", "capability", "x", "--plugins", "more/").code)
      local before = files.read(folder .. "/more/x.lua")
      local outcome = plugins("new", "capability", "x.y", "--plugins", "more")
      assert.same({ code = 1, out = "", err = "more/x.lua: error[io]: cannot be written: File exists\n" }, outcome)
      assert.equal(before, files.read(folder .. "/more/x.lua"))
      outcome = plugins("new", "capability", "x", "--plugins", "none/deeper")
      assert.equal(1, outcome.code)
      assert.truthy(outcome.err:find("^none/deeper: error%[io%]: cannot be made: "), outcome.err)
      command.write(folder .. "/file", "")
      assert.equal(1, plugins("new", "capability", "x", "--plugins", "file").code)
    end)

    it("refuses what is no name", function()
      for _, name in ipairs { "", ".", "a.", ".a", "a..b", "a b", "a/b", "../a", "\u{fc}", ("x"):rep(129), "a\27b" } do
        local outcome = plugins("new", "capability", name)
        assert.equal(1, outcome.code, name)
        assert.falsy(outcome.err:find("\27", 1, true))
      end
      assert.equal(0, plugins("new", "capability", ("x"):rep(128)).code)
      assert.equal(1, plugins("new", "spaceship", "x").code)
    end)
  end)

  it("needs to be told what to do", function()
    local outcome = plugins()
    assert.equal(1, outcome.code)
    assert.truthy(outcome.err:find("^moonplan plugins: .*command.*\nsee \"moonplan help plugins\"\n$"), outcome.err)
    assert.truthy(plugins("lits").err:find("unknown command 'lits'", 1, true))
    assert.truthy(plugins("list", "--help").out:find("^Usage: moonplan plugins list"))
  end)
end)

describe("a capability that prints", function()
  local folder
  before_each(function()
    folder = command.folder()
    os.execute("mkdir " .. folder .. "/plugins")
  end)
  after_each(command.clean)

  for name, body in pairs {
    print = 'print("hi")', io = 'io.write("x")', stdout = 'io.stdout:write("x")', os = 'os.execute("echo x")',
    warn = 'warn("x")',
  } do
    it("does not reach standard output: " .. name, function()
      command.write(folder .. "/plugins/loud.lua",
        (GOOD:format("loud"):gsub("return input", function() return body .. " return input" end)))
      local outcome = run { "run", "-", "--plugins", "plugins", "--json", cd = folder,
        stdin = '{"version":"1.0","steps":[{"id":"a","capability":"loud"}]}' }
      assert.equal(3, outcome.code)
      local job = cjson.decode(outcome.out)
      assert.equal("job.capability_failed", job.error.code)
      assert.truthy(job.error.message:find("^loud%.lua:3: "), job.error.message)
      if name == "print" then assert.truthy(job.error.message:find("ctx.log", 1, true), job.error.message) end
    end)
  end
end)

-- A folder of downloads is where a stranger's code lies in wait.
describe("running where strangers leave files", function()
  after_each(command.clean)

  it("takes no plugin, module or start-up code from there", function()
    local folder = command.folder()
    local trap = ('local f = io and io.open(%q, "w") if f then f:close() end error("trapped")'):format(folder .. "/trapped")
    os.execute("mkdir -p " .. folder .. "/plugins " .. folder .. "/moonplan/command " .. folder .. "/text")
    for _, name in ipairs { "json", "text", "fs", "hash", "time", "init", "moonplan", "argparse", "inspect", "veil",
      "plugins/evil", "plugins/text", "plugins/init", "text/init", "moonplan/engine", "moonplan/command/engine" } do
      command.write(folder .. "/" .. name .. ".lua", trap)
    end
    command.write(folder .. "/cjson.so", "no library")
    command.write(folder .. "/plan.json", '{"version":"1.0","steps":[{"id":"a","capability":"text.count","input":{"text":"x"}}]}')
    local env = {
      LUA_PATH = folder .. "/?.lua", LUA_PATH_5_4 = folder .. "/?.lua;;",
      LUA_CPATH = folder .. "/?.so", LUA_CPATH_5_4 = folder .. "/?.so",
      LUA_INIT = trap, LUA_INIT_5_4 = "@" .. folder .. "/init.lua",
    }
    local plain = command.folder()
    command.write(plain .. "/plan.json", files.read(folder .. "/plan.json"))
    for _, words in ipairs { { "run", "plan.json" }, { "run", "plan.json", "--dry-run" }, { "validate", "plan.json" },
      { "plugins", "list" }, { "plugins", "test" }, { "plugins", "check" }, { "plugins", "show", "text.count" } } do
      local there = { table.unpack(words) }
      there.cd, there.env = folder, env
      local elsewhere = { table.unpack(words) }
      elsewhere.cd = plain
      local outcome = run(there)
      assert.same(run(elsewhere), outcome)
      assert.equal(0, outcome.code)
    end
    assert.is_nil(io.open(folder .. "/trapped"))
  end)

  it("lets a plugin load nothing from there either", function()
    local folder = command.folder()
    os.execute("mkdir " .. folder .. "/mine")
    command.write(folder .. "/helper.lua", 'return "found"')
    command.write(folder .. "/mine/helper.lua", 'return "found"')
    for _, body in ipairs { 'return require "helper"', 'return dofile "helper.lua"', 'return loadfile "helper.lua"()',
      'return plugin.import "helper"' } do
      command.write(folder .. "/mine/seek.lua", (GOOD:format("seek"):gsub("return input", function() return body end)))
      local outcome = run { "run", "-", "--plugins", "mine", cd = folder,
        env = { LUA_PATH = folder .. "/?.lua" }, stdin = '{"version":"1.0","steps":[{"id":"a","capability":"seek"}]}' }
      assert.equal(3, outcome.code, body)
      assert.equal("", outcome.out)
    end
  end)
end)
