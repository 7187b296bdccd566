-- Plugins on disk: which files count, what a file may bring, what becomes of broken ones, reloading.
-- What their code sees is sandbox_spec.lua, what they may reach powers_spec.lua.
local command = require "spec.support.command"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"

local source, call, result = plugin_files.source, plugin_files.call, plugin_files.result

local function names(engine)
  local list, seen = engine:list(), {}
  for n, item in ipairs(list) do seen[n] = item.name end
  return seen
end

local function problems(engine)
  local _, list = engine:list()
  local seen = {}
  for n, problem in ipairs(list) do seen[n] = problem.file:match("[^/]+/?[^/]*%.lua$") .. " " .. problem.code end
  return seen
end

-- The code and text with which a file is refused.
local function refusal(text, name)
  local engine = plugin_files.engine { [(name or "x") .. ".lua"] = text }
  local _, list = engine:list()
  assert.equal(1, #list, "it was accepted")
  return list[1]
end

describe("a folder of plugins", function()
  after_each(command.clean)

  it("is a catalogue: NAME.lua and NAME/init.lua, in the order of their names", function()
    local engine, folder = plugin_files.engine {
      ["b.lua"] = source("b.two", "return 'b'"),
      ["a/init.lua"] = source("a", "return 'a'"),
      ["a.c.lua"] = source("a.c", "return 'a.c'"),
      ["a.c.d/init.lua"] = source("a.c.d.e", "return 'deep'"),
      ["off.lua.disabled"] = "error()",
      [".hidden.lua"] = "error()",
      [".git/init.lua"] = "error()",
      ["notes.txt"] = "no plugin",
      ["library/helper.lua"] = "error()",
    }
    assert.same({ "a.c.d.e", "a.c", "a", "b.two" }, names(engine))
    assert.same({}, problems(engine))
    assert.equal(folder .. "/a/init.lua", engine:describe("a").file)
    for name, text in pairs { a = "a", ["a.c"] = "a.c", ["a.c.d.e"] = "deep", ["b.two"] = "b" } do
      assert.equal(text, result(plugin_files.engine {
        ["a/init.lua"] = source("a", "return 'a'"), ["a.c.lua"] = source("a.c", "return 'a.c'"),
        ["a.c.d/init.lua"] = source("a.c.d.e", "return 'deep'"), ["b.lua"] = source("b.two", "return 'b'"),
      }, name))
    end
  end)

  it("is read no further than a plan's names lead", function()
    local engine = plugin_files.engine {
      ["a.lua"] = source("a.x", "return 1"),
      ["b.lua"] = "while true do end",
      ["a.x.y.lua"] = "error('not asked for')",
    }
    assert.equal(1, result(engine, "a.x"))
    assert.is_nil((call(engine, "nope")))
  end)

  it("gives no file to a name that is none", function()
    local engine, folder = plugin_files.engine({ ["a.lua"] = source("a", "return 1"), ["d/a.lua"] = "error()" })
    command.write(folder .. "/../outside.lua", "error('read')")
    for _, name in ipairs { "../outside", "d/a", "/etc/passwd", "", ".", "..", "a.", ".a", "a..b", "a\0", "a\n", ("a"):rep(129),
      "a/../a", "%61" } do
      local job, err = call(engine, name)
      assert.is_nil(job)
      assert.equal("plan.unknown_capability", err.code)
      assert.not_matches("read", err.message)
    end
    os.remove(folder .. "/../outside.lua")
  end)

  it("does not count links, pipes or folders as files", function()
    local engine, folder = plugin_files.engine { ["real.lua"] = source("real", "return 1"), ["d.lua/x"] = "" }
    local other = plugin_files.folder { ["init.lua"] = source("linked", "return 1") }
    os.execute(("cd %s && ln -s real.lua link.lua && ln -s %s linked && mkfifo pipe.lua"):format(folder, other))
    assert.same({ "real" }, names(engine))
    local refused = {}
    for n, problem in ipairs(problems(engine)) do refused[n] = problem:match "[^/]*$" end
    assert.same({ "link.lua plugin.load", "pipe.lua plugin.load" }, refused)
    for _, name in ipairs { "link", "linked", "pipe", "d" } do assert.is_nil((call(engine, name))) end
  end)

  it("may itself be reached by a link, and files may have several names", function()
    local folder = plugin_files.folder { ["a.lua"] = source("a", "return 1") }
    os.execute(("cd %s && ln a.lua ../hard.lua && ln -s %s ../way"):format(folder, folder))
    local engine = assert(moonplan.engine { plugins = folder .. "/../way", shipped = false })
    assert.equal(1, result(engine, "a"))
    os.execute(("rm %s/../hard.lua %s/../way"):format(folder, folder))
  end)

  it("loudly names a file that no capability can be called like", function()
    local engine = plugin_files.engine { ["my plugin.lua"] = "error()", ["\27[2J.lua"] = "error()", ["a.lua"] = source("a", "") }
    assert.same({ "a" }, names(engine))
    local _, list = engine:list()
    assert.equal(2, #list)
    for _, problem in ipairs(list) do
      assert.equal("plugin.name", problem.code)
      assert.not_matches("%c", problem.file)
    end
  end)

  it("keeps its place when it is renamed", function()
    local engine, folder = plugin_files.engine { ["a.lua"] = source("a", "return 1") }
    os.rename(folder, folder .. "-moved")
    assert.equal(1, result(engine, "a"))
    os.rename(folder .. "-moved", folder)
  end)

  it("is named as it was given", function()
    local folder = plugin_files.folder { ["a.lua"] = source("a", "return 1") }
    local engine = assert(moonplan.engine { plugins = folder .. "//", shipped = false })
    assert.equal(folder .. "/a.lua", engine:describe("a").file)
  end)

  -- github.com/mpv-player/mpv/pull/7437: the current folder and the environment ran strangers' code.
  it("is never the current one, nor one that the environment names", function()
    local trap = plugin_files.folder { ["text.lua"] = "error('trapped')", ["helper.lua"] = "error('trapped')",
      ["text/init.lua"] = "error('trapped')" }
    local program = io.open(command.program, "rb")
    if not program then
      pending("the program is not built")
      return
    end
    program:close()
    local script = command.write(trap .. "/main", [[
      local moonplan = require "moonplan"
      local engine = assert(moonplan.engine())
      print(#engine:list(), #select(2, engine:list()))
      print((engine:run { steps = { { id = "a", capability = "helper" } } }))
    ]])
    local outcome = command.run { script, cd = trap, env = {
      LUA_PATH = trap .. "/?.lua;;", LUA_PATH_5_4 = trap .. "/?.lua;;", LUA_CPATH = trap .. "/?.so;;",
    } }
    assert.equal("", outcome.err)
    assert.matches("^%d+\t0\nnil\n$", outcome.out)
  end)
end)

describe("a plugin file", function()
  after_each(command.clean)

  it("is text, and may begin with a byte order mark and a line for the shell", function()
    for _, front in ipairs { "", "\xef\xbb\xbf", "#!/usr/bin/env moonplan\n", "\xef\xbb\xbf#!x\n", "#\n" } do
      assert.equal(1, result(plugin_files.engine { ["x.lua"] = front .. source("x", "return 1") }, "x"))
    end
    local bytecode = string.dump(assert(load(source("x", "return 1"))))
    for _, front in ipairs { "", "\xef\xbb\xbf", "#!x\n" } do
      local err = refusal(front .. bytecode)
      assert.equal("plugin.load", err.code)
      -- Behind a line for the shell it is no chunk that begins like one.
      assert.matches(front == "#!x\n" and "unexpected symbol" or "binary chunk", err.message)
    end
    local err = refusal("#!x\n\nerror('third line')")
    assert.matches("x.lua:3: third line", err.message, 1, true)
  end)

  it("that does not compile, raises or gives nothing is refused with its name and the reason", function()
    for text, case in pairs {
      ["x = = 1"] = { "plugin.load", "^x.lua:1: unexpected symbol" },
      ["\n\nerror('why', 1)"] = { "plugin.load", "^x.lua:3: why$" },
      ["error('why\27[2J', 0)"] = { "plugin.load", "^x.lua: why\\u{1b}" },
      ["error()"] = { "plugin.load", "neither a text nor a table" },
      ["error { message = 'said so' }"] = { "plugin.load", "said so" },
      [""] = { "plugin.manifest", "^x.lua: the file returns nothing" },
      ["return 1"] = { "plugin.manifest", "number" },
      ["return {}"] = { "plugin.manifest", "kind is missing" },
      ["return { {}, 1 }"] = { "plugin.manifest", "described by a table" },
      ["return { [2] = {} }"] = { "plugin.manifest", "have names" },
      ["while true do end"] = { "plugin.load", "load_ms" },
      ["local t = {} while true do t[#t + 1] = ('x'):rep(1000000) end"] = { "plugin.load", "m[se]" }, -- memory_mib, or load_ms
      ["return setmetatable({}, { __index = function() error() end })"] = { "plugin.manifest", "kind is missing" },
      ["coroutine.yield(1)"] = { "plugin.load", "outside a coroutine" },
      ["print(1)"] = { "plugin.load", "ctx.log.info" },
    } do
      local err = refusal(text)
      assert.equal(case[1], err.code, text)
      assert.matches(case[2], err.message)
      assert.not_matches("[%c]", err.message)
    end
  end)

  it("is a closed table, and every fault has its place", function()
    local function with(fields) return source("x", "", fields) end
    local good = source("x", "")
    local function changed(from, to) return (good:gsub(from, to)) end
    for _, case in ipairs {
      { with "sumary = 1", "/sumary", 'no field "sumary"; there are: kind, api' },
      { with "[1.5] = 1", "", "have names" },
      { changed('kind = "capability"', "kind = 1"), "/kind", "must be a string, not a number" },
      { changed('kind = "capability"', 'kind = "widget"'), "/kind", 'kind "widget"' },
      { changed('version = "1.0.0", ', ""), "", "the field version is missing" },
      { changed('version = "1.0.0"', 'version = ""'), "/version", "version is empty" },
      { changed('version = "1.0.0"', 'version = "1 0"'), "/version", "no version" },
      { changed('version = "1.0.0"', 'version = ("1"):rep(65)'), "/version", "no version" },
      { changed('summary = "For a spec.", ', ""), "", "the field summary is missing" },
      { changed('risk = "read"', 'risk = "mild"'), "/risk", "no risk; there are: read, write, destructive" },
      { changed("run = function%(input, ctx%)", "check = function()"), "", "the field run is missing" },
      { with "check = 1", "/check", "check must be a function" },
      { changed("run = function", "other = function"), "/other", "no field" },
      { with "needs = 'fs'", "/needs", "list of powers" },
      { with "needs = { 'net' }", "/needs/0", 'no power "net"; there are: fs, fs:rw, clock' },
      { with "needs = { 1 }", "/needs/0", "named by a string" },
      { with "input = { a = 'string' }", "/input/a", "declared by an object" },
      { with "input = { a = { type = 'any' } }", "/input/a/type", "string, number, boolean, object, array" },
      { with "output = { a = { type = 'string', pattern = 'x' } }", "/output/a/pattern", "no \"pattern\"" },
      { with "input = { a = { type = 'string', enum = { print2 } } }", "/input/a/enum", "at least one" },
      { with "input = { a = { type = 'string', description = error } }", "/input/a/description", "a function" },
      { with "examples = 1", "/examples", "must be a list" },
      { with "examples = { { ouput = 1 } }", "/examples/0/ouput", 'no field "ouput"' },
      { with "examples = { { output = 1, error = 'x' } }", "/examples/0", "not both" },
      { with "examples = { { error = 1 } }", "/examples/0/error", "whole message" },
      { with "examples = { { given = { fs = { a = 1 } } } }", "/examples/0/given/fs/a", "is a string" },
      { with "examples = { { given = { net = 1 } } }", "/examples/0/given/net", "no double" },
      { with "examples = { { given = { clock = 'noon' } } }", "/examples/0/given/clock", "a time like" },
      { with "examples = { { given = { clock = '2026-02-29T00:00:00Z' } } }", "/examples/0/given/clock", "a time like" },
      { with "examples = { { after = { clock = '2026-01-02T00:00:00Z' } } }", "/examples/0/after/clock", "no double" },
      { "return { " .. good:sub(8) .. ", " .. with("sumary = 1"):sub(8) .. " }", "/1/sumary", "sumary" },
    } do
      local err = refusal(case[1])
      assert.equal("plugin.manifest", err.code, case[1])
      assert.equal(case[2], err.at, case[1])
      assert.matches(case[3], err.message)
    end
  end)

  it("names the version of the interface that it is for", function()
    for _, api in ipairs { "api = 2", "api = '1'", "api = 1.5", "other_api = nil" } do
      local err = refusal((source("x", ""):gsub("api = 1", api)))
      assert.equal("plugin.version_api", err.code)
      assert.matches("1 here", err.message)
    end
  end)

  it("brings what is called like it, or begins so", function()
    for file, name in pairs { a = "b", ["a.b"] = "a", text = "textual", x = "x.", ["a-b"] = "a_b" } do
      assert.equal("plugin.name", refusal(source(name, ""), file).code, name)
    end
    assert.equal("plugin.name", refusal((source("x", ""):gsub('"x"', '"x y"'))).code)
    for file, name in pairs { a = "a", b = "b.c.d", ["c.d"] = "c.d.e", ["A_1-x"] = "A_1-x" } do
      assert.same({ name }, names(plugin_files.engine { [file .. ".lua"] = source(name, "") }))
    end
  end)

  it("brings each name once", function()
    local err = refusal("return { " .. source("x", ""):sub(8) .. ", " .. source("x", ""):sub(8) .. " }")
    assert.equal("plugin.duplicate", err.code)
    assert.equal("/1/name", err.at)
  end)

  it("is as long as the limit source_kib lets it be", function()
    local function sized(bytes)
      local text = source("x", "return 1")
      return text .. "--" .. ("x"):rep(bytes - #text - 2)
    end
    for _, kib in ipairs { 1, 2 } do
      local limits = { source_kib = kib }
      assert.equal(1, result(plugin_files.engine({ ["x.lua"] = sized(kib * 1024) }, { limits = limits }), "x"))
      local engine = plugin_files.engine({ ["x.lua"] = sized(kib * 1024 + 1) }, { limits = limits })
      local _, list = engine:list()
      assert.equal("plugin.load", list[1].code)
      assert.matches("source_kib", list[1].message)
    end
  end)

  it("that brings a family shares one state with it, and two files never do", function()
    local family = [[
      local count = 0
      local function item(name)
        return { kind = "capability", api = 1, name = name, version = "1", summary = "s", risk = "read",
          run = function() count = count + 1 shared = (shared or 0) + 1 return { count, shared } end }
      end
      return { item "%s.a", item "%s.b" }
    ]]
    local engine = plugin_files.engine { ["x.lua"] = family:gsub("%%s", "x"), ["y.lua"] = family:gsub("%%s", "y") }
    assert.same({ 1, 1 }, result(engine, "x.a"))
    assert.same({ 2, 2 }, result(engine, "x.b"))
    assert.same({ 1, 1 }, result(engine, "y.a"))
  end)

  it("spoils nothing for others: strings, libraries, globals", function()
    -- github.com/ArduPilot/ardupilot/pull/27666, github.com/Kong/kong/issues/7133
    local engine = plugin_files.engine {
      ["a.lua"] = "string.upper = function() return 'pwn' end string.rep = nil table.concat = nil math = nil\n"
        .. "moonplan.null = 1 json.decode = nil "
        .. source("a", "return ('x'):upper()"),
      ["b.lua"] = source("b", "return { ('x'):upper(), ('x'):rep(2), table.concat { 1, 2 }, math.max(1, 2), json.decode '[1]' }"),
    }
    assert.equal("pwn", result(engine, "a"))
    assert.same({ "X", "xx", "12", 2, { 1 } }, result(engine, "b"))
    assert.equal("X", ("x"):upper())
    assert.equal("xx", ("x"):rep(2))
  end)
end)

describe("names that several files bring", function()
  after_each(command.clean)

  it("count for neither of two", function()
    local one = plugin_files.folder { ["a.lua"] = source("a.x", "return 1"), ["b.lua"] = source("b", "return 2") }
    local two = plugin_files.folder { ["a.lua"] = source("a.x", "return 3"), ["a/init.lua"] = source("a.y", "return 4") }
    local engine = assert(moonplan.engine { plugins = { one, two }, shipped = false })
    local _, err = call(engine, "a.x")
    assert.equal("plan.unknown_capability", err.code)
    assert.matches("twice", err.message)
    assert.equal(4, result(engine, "a.y"))
    assert.equal(2, result(engine, "b"))
    assert.same({ "a.lua plugin.duplicate", "a.lua plugin.duplicate" }, (function()
      local _, list = engine:list()
      local seen = {}
      for n, problem in ipairs(list) do seen[n] = problem.file:match("[^/]+$") .. " " .. problem.code end
      return seen
    end)())
    assert.same({ "a.y", "b" }, names(engine))
  end)

  it("are told apart wherever in the folder they stand", function()
    local engine = plugin_files.engine { ["a.lua"] = source("a.b", "return 1"), ["a.b.lua"] = source("a.b", "return 2") }
    local _, err = call(engine, "a.b")
    assert.equal("plan.unknown_capability", err.code)
    assert.matches('a.lua" and by "', err.message, 1, true)
    assert.matches('a.b.lua", so that', err.message, 1, true)
  end)

  it("are named with their folders, as they were given and with control characters shown", function()
    local folder = plugin_files.folder { ["one/same.lua"] = source("same", ""), ["t\27o/same.lua"] = source("same", "") }
    local engine = assert(moonplan.engine { plugins = { folder .. "/one/", folder .. "/t\27o" }, shipped = false })
    local _, list = engine:list()
    assert.equal(2, #list)
    assert.matches(('"same" is brought twice, by "%s/one/same.lua" and by "%s/t'):format(folder, folder), list[1].message, 1, true)
    assert.not_matches("\27", list[1].message, 1, true)
  end)

  it("belong to the shipped plugin", function()
    local folder = plugin_files.folder {
      ["text.lua"] = source("text.count", "return 'mine'"), ["text/init.lua"] = source("text.more", "return 1"),
    }
    local engine = assert(moonplan.engine { plugins = folder })
    assert.equal(2, result(engine, "text.count", { text = "a b" }).words)
    assert.equal(1, result(engine, "text.more"))
    local _, list = engine:list()
    assert.equal(1, #list)
    assert.equal("plugin.duplicate", list[1].code)
    assert.matches("shipped", list[1].message)
  end)

  it("are refused to a host's function", function()
    local engine = plugin_files.engine { ["a.lua"] = source("a", "return 1") }
    local ok, err = engine:capability { name = "a", version = "1", risk = "read", run = print }
    assert.is_nil(ok)
    assert.equal("plugin.duplicate", err.code)
    assert.matches("a.lua", err.message)
    assert.equal(1, result(engine, "a"))
  end)

  it("and a host's function had first stay the host's, loudly", function()
    local engine, folder = plugin_files.engine { ["other.lua"] = source("other", "return 1") }
    assert(engine:capability { name = "later.x", version = "1", risk = "read", run = function() return "host" end })
    assert.same({}, problems(engine))
    command.write(folder .. "/later.lua", "return { " .. source("later.x", "return 'plugin'"):sub(8) .. ", "
      .. source("later.y", "return 'plugin'"):sub(8) .. " }")
    assert.is_true(engine:reload())
    local _, list = engine:list()
    assert.equal(1, #list)
    assert.equal(folder .. "/later.lua", list[1].file)
    local err = engine:files("later")[1].err
    assert.equal("plugin.duplicate", err.code)
    assert.matches('"later.x" is a capability of the host\'s', err.message, 1, true)
    assert.equal("host", result(engine, "later.x"))
    assert.equal("plugin", result(engine, "later.y"))
  end)
end)

describe("a plugin's capability that is unregistered", function()
  after_each(command.clean)

  it("is gone until the next reload, whether it was read or not", function()
    for _, read in ipairs { true, false } do
      local engine = plugin_files.engine { ["a.lua"] = source("a", "return 1"), ["b.lua"] = source("b", "return 2") }
      if read then assert.equal(1, result(engine, "a")) end
      assert.is_true(engine:unregister "a")
      assert.is_false(engine:unregister "a")
      local _, err = call(engine, "a")
      assert.equal("plan.unknown_capability", err.code)
      assert.same({ "b" }, names(engine))
      assert.same({}, problems(engine))
      assert.is_nil(engine:describe "a")
      assert.is_true(engine:reload())
      assert.equal(1, result(engine, "a"))
      assert.same({ "a", "b" }, (function() local all = names(engine) table.sort(all) return all end)())
    end
  end)

  it("leaves its name to the host", function()
    local engine = plugin_files.engine { ["a.lua"] = source("a", "return 1") }
    assert.is_true(engine:unregister "a")
    assert(engine:capability { name = "a", version = "1", risk = "read", run = function() return "host" end })
    assert.equal("host", result(engine, "a"))
    assert.same({}, problems(engine))
    assert.is_true(engine:reload())
    assert.equal("host", result(engine, "a"))
    assert.equal("plugin.duplicate", engine:files("a")[1].err.code)
  end)

  it("fails the step of a job under way that would have called it", function()
    local engine = plugin_files.engine { ["a.lua"] = source("a", "return 1"), ["b.lua"] = source("b", "return 2") }
    engine:on("capability.completed", function() engine:unregister "b" end)
    local job = assert(engine:run { steps = { { id = "x", capability = "a" }, { id = "y", capability = "b" } } })
    assert.equal("job.capability_gone", job.error.code)
    assert.equal("completed", job.steps[1].status)
  end)

  it("is a name, and no file is one without", function()
    local engine = plugin_files.engine { ["a.lua"] = "x = = 1" }
    assert.is_false(engine:unregister "a")
    assert.is_false(engine:unregister "none")
    assert.is_false(engine:unregister "")
  end)
end)

describe("broken plugins", function()
  after_each(command.clean)
  local sources = {
    ["a.lua"] = source("a", "return 1"), ["b.lua"] = "x = = 1", ["c.lua"] = "error('no')", ["d.lua"] = "return nil",
    ["e.lua"] = "return { kind = 'capability' }", ["f.lua"] = source("f", "return 2"),
  }

  -- github.com/CommandPost/CommandPost/issues/312: one mistake stopped all plugins behind it.
  it("do not keep the others from working, and are named", function()
    local engine = plugin_files.engine(sources)
    assert.equal(1, result(engine, "a"))
    assert.equal(2, result(engine, "f"))
    assert.same({ "a", "f" }, names(engine))
    assert.same({ "b.lua plugin.load", "c.lua plugin.load", "d.lua plugin.manifest", "e.lua plugin.version_api" },
      (function()
        local _, list = engine:list()
        local seen = {}
        for n, problem in ipairs(list) do seen[n] = problem.file:match("[^/]+$") .. " " .. problem.code end
        return seen
      end)())
    local _, err = call(engine, "b")
    assert.equal("plan.unknown_capability", err.code)
    assert.matches("unexpected symbol", err.message)
    local files = engine:files()
    assert.equal(6, #files)
    assert.same({ name = "a", file = files[1].file, shipped = false, capabilities = { "a" }, names = { "a" },
      decision = "unsigned", isolation = files[1].isolation, digest = files[1].digest }, files[1])
    assert.equal("plugin.load", files[2].err.code)
    assert.same({}, files[2].capabilities)
    assert.equal(1, #engine:files "f")
    assert.same({}, engine:files "none")
  end)

  it("are fatal when the host is strict, all of them named", function()
    local folder = plugin_files.folder(sources)
    local engine, err = moonplan.engine { plugins = folder, shipped = false, strict = true }
    assert.is_nil(engine)
    assert.equal(4, #err.errors)
    assert.equal(folder .. "/b.lua", err.file)
    os.execute(("cd %s && rm b.lua c.lua d.lua e.lua"):format(folder))
    engine = assert(moonplan.engine { plugins = folder, shipped = false, strict = true })
    assert.equal(1, result(engine, "a"))
  end)

  -- github.com/hoelzro/lua-repl/issues/35: what failed once could not be loaded again.
  it("work once they are mended and read again", function()
    local engine, folder = plugin_files.engine { ["a.lua"] = "error('half way')" }
    assert.is_nil((call(engine, "a")))
    command.write(folder .. "/a.lua", source("a", "return 1"))
    assert.is_nil((call(engine, "a")))
    assert.is_true(engine:reload())
    assert.equal(1, result(engine, "a"))
  end)
end)

describe("a plugin that is a folder", function()
  after_each(command.clean)

  it("imports its own files, each once, while it loads and later", function()
    -- github.com/koreader/koreader/issues/15956: the second plugin got the first one's module.
    local function plugin(name)
      return ([[
        count = 0
        local helper = plugin.import "helper"
        assert(helper == plugin.import "helper")
        return { kind = "capability", api = 1, name = "%s", version = "1", summary = "s", risk = "read",
          run = function() return { helper.name, plugin.import "late", count, plugin.import "nothing" } end }
      ]]):format(name)
    end
    local engine = plugin_files.engine {
      ["a/init.lua"] = plugin "a", ["a/helper.lua"] = "count = count + 1 return { name = 'helper of a' }",
      ["a/late.lua"] = "return 'late of a'", ["a/nothing.lua"] = "",
      ["b/init.lua"] = plugin "b", ["b/helper.lua"] = "count = count + 1 return { name = 'helper of b' }",
      ["b/late.lua"] = "#!x\nreturn 'late of b'", ["b/nothing.lua"] = "",
    }
    for name, other in pairs { a = "a", b = "b" } do
      assert.same({ "helper of " .. other, "late of " .. other, 1, true }, result(engine, name))
    end
  end)

  it("imports from nowhere else", function()
    local function attempt(text)
      return plugin_files.engine {
        ["a/init.lua"] = source("a", "return { pcall(plugin.import, " .. text .. ") }"),
        ["a/sub/x.lua"] = "return 1", ["b.lua"] = "return 1", ["a/broken.lua"] = "x = = 1", ["a/code.lua"] = "\27Lua",
        ["a/loop.lua"] = "return plugin.import 'loop'",
      }
    end
    for text, why in pairs {
      ["'none'"] = "there is no file", ["'../b'"] = "letters, digits", ["'sub/x'"] = "letters, digits", ["'b.lua'"] = "letters, digits",
      ["'/etc/passwd'"] = "letters, digits", ["''"] = "letters, digits", ["1"] = "string expected", ["'broken'"] = "a/broken.lua:1:",
      ["'code'"] = "binary chunk", ["'loop'"] = "imports itself", ["'x\\0y'"] = "letters, digits",
    } do
      local outcome = result(attempt(text), "a")
      assert.is_false(outcome[1])
      assert.matches(why, outcome[2], 1, true)
      assert.not_matches("/tmp", outcome[2])
    end
    local engine, folder = attempt "'link'"
    os.execute(("ln -s ../b.lua %s/a/link.lua"):format(folder))
    assert.is_false(result(engine, "a")[1])
    assert.matches("make it a/init.lua", result(plugin_files.engine {
      ["a.lua"] = source("a", "return select(2, pcall(plugin.import, 'x'))"),
    }, "a"), 1, true)
  end)
end)

describe("reloading", function()
  after_each(command.clean)

  it("takes new code, and a folder's private files along", function()
    local engine, folder = plugin_files.engine {
      ["a/init.lua"] = "local h = plugin.import 'h' " .. source("a", "n = (n or 0) + 1 return { h, n }"),
      ["a/h.lua"] = "return 'old'", ["b.lua"] = source("b", "return 'old'"),
    }
    assert.same({ "old", 1 }, result(engine, "a"))
    assert.same({ "old", 2 }, result(engine, "a"))
    assert.equal("old", result(engine, "b"))
    command.write(folder .. "/a/h.lua", "return 'new'")
    command.write(folder .. "/b.lua", source("b", "return 'new'"))
    assert.same({ "old", 3 }, result(engine, "a"))
    assert.is_true(engine:reload())
    assert.same({ "new", 1 }, result(engine, "a"))
    assert.equal("new", result(engine, "b"))
  end)

  -- github.com/apache/apisix/issues/13087: the old plugins were gone before the new ones were ready.
  it("is all or nothing: with one error the old ones serve on", function()
    local engine, folder = plugin_files.engine { ["a.lua"] = source("a", "return 'old'"), ["b.lua"] = source("b", "return 'old'") }
    assert.equal("old", result(engine, "a"))
    assert.equal("old", result(engine, "b"))
    command.write(folder .. "/a.lua", source("a", "return 'new'"))
    for _, broken in ipairs { "x = = 1", "error('init')", source("other", ""), "while true do end" } do
      command.write(folder .. "/b.lua", broken)
      local ok, err = engine:reload()
      assert.is_nil(ok)
      assert.matches("^plugin%.", err.code)
      assert.matches("^b.lua", err.message)
      assert.equal("old", result(engine, "a"))
      assert.equal("old", result(engine, "b"))
    end
  end)

  it("lets go of what is gone, and of names that are gone", function()
    local family = "return { " .. source("f.a", "return 1"):sub(8) .. ", " .. source("f.b", "return 2"):sub(8) .. " }"
    local engine, folder = plugin_files.engine { ["a.lua"] = source("a", "return 1"), ["f.lua"] = family }
    assert.equal(1, result(engine, "a"))
    assert.equal(2, result(engine, "f.b"))
    os.remove(folder .. "/a.lua")
    command.write(folder .. "/f.lua", source("f.a", "return 3"))
    assert.is_true(engine:reload())
    assert.is_nil((call(engine, "a")))
    assert.is_nil((call(engine, "f.b")))
    assert.equal(3, result(engine, "f.a"))
  end)

  it("while a plugin's own call is under way leaves that call alone", function()
    local engine, folder = plugin_files.engine { ["a.lua"] = source("a", "ctx.log.info('now') collectgarbage('count') return 'old'") }
    engine:on("log", function()
      command.write(folder .. "/a.lua", source("a", "return 'new'"))
      assert.is_true(engine:reload())
      collectgarbage()
    end)
    assert.equal("old", result(engine, "a"))
    assert.equal("new", result(engine, "a"))
  end)

  it("of a name that a host has taken meanwhile is refused", function()
    local engine, folder = plugin_files.engine { ["a.lua"] = source("a", "return 1") }
    assert.equal(1, result(engine, "a"))
    command.write(folder .. "/a.lua", source("a.other", "return 2"))
    assert.is_true(engine:reload())
    assert(engine:capability { name = "a", version = "1", risk = "read", run = function() return "host" end })
    command.write(folder .. "/a.lua", source("a", "return 3"))
    assert.is_true(engine:reload()) -- nobody has asked for the plugin's a since
    assert.equal("host", result(engine, "a"))
  end)
end)

describe("a call into a plugin", function()
  after_each(command.clean)

  -- Whatever it hands over is copied with raw access: a metamethod would run on the host's time.
  it("is never asked by a metamethod", function()
    local spin = "function() while true do end end"
    local traps = ("{ __index = %s, __len = %s, __pairs = %s, __eq = %s, __tostring = %s, __concat = %s, __lt = %s,"
      .. " __name = 'x', __close = %s, __call = %s }"):gsub("%%s", function() return spin end)
    local sources = {
      returned = "return setmetatable({ a = setmetatable({ 1 }, traps) }, traps)",
      raised = "error(setmetatable({}, traps))",
      refused = "return nil, setmetatable({}, traps)",
      logged = "ctx.log.info('x', setmetatable({ b = 1 }, traps)) return 1",
      message = "error(setmetatable({ message = 'plain', code = 'c' }, traps))",
    }
    for _, isolation in ipairs { "state", "process" } do
      local files = {}
      for name, body in pairs(sources) do
        files[name .. ".lua"] = "local traps = " .. traps .. "\n" .. source(name, body)
      end
      local engine = plugin_files.engine(files, { isolation = isolation, limits = { call_ms = 20000 } })
      assert.same({ a = { 1 } }, result(engine, "returned"))
      assert.equal(1, result(engine, "logged"))
      for _, name in ipairs { "raised", "refused" } do
        assert.equal("job.capability_failed", plugin_files.failure(engine, name).code)
      end
      local failure = plugin_files.failure(engine, "message")
      assert.equal("plain", failure.message)
      assert.same({ code = "message.c" }, failure.detail)
    end
  end)

  it("gets fresh copies, and its results are copied", function()
    local engine = plugin_files.engine {
      ["a.lua"] = "local kept " .. source("a", "if input == 'kept' then return kept end kept = input input.x[1] = 'mine' return input"),
    }
    local input = { x = { 1 } }
    local first = result(engine, "a", input)
    assert.same({ 1 }, input.x)
    assert.same({ x = { "mine" } }, first)
    first.x[1] = "yours"
    assert.same({ x = { "mine" } }, result(engine, "a", "kept"))
  end)

  it("tells arrays from objects, and null from nothing", function()
    local engine = plugin_files.engine {
      ["a.lua"] = source("a", [[return {
        input.list, input.map, moonplan.is_array(input.list), moonplan.is_array(input.map), input.null == moonplan.null,
        input.absent == nil, moonplan.array {}, {} }]]),
    }
    local job = engine:run '{"steps":[{"id":"a","capability":"a","input":{"list":[],"map":{},"null":null}}]}'
    assert.equal("[[],{},true,false,true,true,[],{}]", job:result_json())
  end)

  it("fails with the plugin's own words, and its code behind the plugin's name", function()
    local engine = plugin_files.engine { ["f.lua"] = "return { "
      .. source("f.text", "error('said', 0)"):sub(8) .. ", " .. source("f.place", "\nerror('said')"):sub(8) .. ", "
      .. source("f.table", "error { message = 'm', code = 'c', other = print }"):sub(8) .. ", "
      .. source("f.pair", "return nil, { message = 'm', code = 'c' }"):sub(8) .. ", "
      .. source("f.none", "error()"):sub(8) .. ", "
      .. source("f.trap", "error(setmetatable({}, { __tostring = error, __index = error }))"):sub(8) .. " }" }
    local function failure(name) return plugin_files.failure(engine, name) end
    assert.same({ code = "job.capability_failed", message = "said" }, failure "f.text")
    assert.matches("^f.lua:%d+: said$", failure("f.place").message)
    for _, name in ipairs { "f.table", "f.pair" } do
      assert.same({ code = "job.capability_failed", message = "m", detail = { code = "f.c" } }, failure(name))
    end
    local job = call(engine, "f.none")
    assert.equal("Unknown capability execution error", job.steps[1].error.message)
    assert.equal("Unknown job execution error", job.error.message)
    assert.equal("Unknown capability execution error", call(engine, "f.trap").steps[1].error.message)
  end)

  it("is handed no text that the limit string_mib does not allow, and is told where the input goes too far", function()
    local most = 1024 * 1024
    local told = {}
    for _, isolation in ipairs { "state", "process" } do
      local engine = plugin_files.engine({ ["f.lua"] = source("f", "return 1") },
        { isolation = isolation, limits = { string_mib = 1, copied_values = 20 } })
      assert.equal(1, result(engine, "f", { x = { a = { ("x"):rep(most), ("y"):rep(most) } }, [("n"):rep(most)] = 1 }))
      local messages = {}
      for n, input in ipairs {
        ("x"):rep(most + 1), { x = { a = { 1, 2, ("x"):rep(most + 1) } } }, { x = { [("n"):rep(most + 1)] = 1 } },
        { x = { a = moonplan.array { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21 } } },
      } do
        local err = plugin_files.failure(engine, "f", input)
        assert.equal("limit", err.code)
        messages[n] = err.message
      end
      told[#told + 1] = messages
    end
    -- The same in both, and with the place in the input.
    assert.same(told[1], told[2])
    assert.equal("the input: a text of 1048577 bytes, more than the limit string_mib allows: 1", told[1][1])
    assert.equal("the input at /x/a/2: a text of 1048577 bytes, more than the limit string_mib allows: 1", told[1][2])
    assert.matches("^the input at /x/n+…: a text of 1048577 bytes", told[1][3])
    assert.equal("the input at /x/a/17: more values than the limit copied_values allows: 20", told[1][4])
  end)

  it("copies as many values as the limit copied_values, in and out together", function()
    local engine = plugin_files.engine({ ["a.lua"] = source("a", "return input.n and ('x'):rep(input.n) or input") },
      { limits = { copied_values = 10 } })
    local function list(n)
      local t = {}
      for i = 1, n do t[i] = i end
      return t
    end
    assert.equal(4, #result(engine, "a", list(4))) -- five values each way
    local err = plugin_files.failure(engine, "a", list(5))
    assert.equal("job.result_shape", err.code)
    assert.matches("copied_values", err.message)
    err = plugin_files.failure(engine, "a", list(10))
    assert.equal("limit", err.code)
  end)

  it("stops at the limit memory_mib, and the plugin goes on to work", function()
    local engine = plugin_files.engine(
      { ["a.lua"] = source("a", "if input then local t = {} for n = 1, 1e9 do t[n] = {} end end return 1") },
      { limits = { memory_mib = 2 } })
    local err = plugin_files.failure(engine, "a", true)
    assert.equal("job.memory", err.code)
    assert.matches("memory_mib", err.message)
    assert.equal(1, result(engine, "a"))
  end)

  it("stops at the limit call_ms where it is set, in whatever the code hides", function()
    local loops = {
      "while true do end", "while true do pcall(function() while true do end end) end",
      "coroutine.wrap(function() while true do end end)()", "local function f() pcall(f) while true do end end f()",
      "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
      "error(setmetatable({}, { __tostring = function() while true do end end }))",
      "return setmetatable({}, { __index = function() while true do end end, __pairs = function() while true do end end })",
      "local t <close> = setmetatable({}, { __close = function() while true do end end })",
    }
    for n, body in ipairs(loops) do
      local engine = plugin_files.engine({ ["a.lua"] = source("a", body) }, { limits = { call_ms = 50 } })
      local began = os.clock()
      local job = call(engine, "a")
      assert(os.clock() - began < 5, body)
      if n == 6 then
        assert.equal("Unknown capability execution error", job.steps[1].error.message)
      elseif n == 7 then
        assert.equal("completed", job.status)
      else
        assert.equal("job.timeout", job.error.code, body)
        assert.matches("call_ms", job.error.message)
      end
      assert(call(engine, "a"))
    end
  end)

  it("may go on with a coroutine that was made before, with a limit on time or without", function()
    for _, limits in ipairs { {}, { call_ms = 50 } } do
      local engine = plugin_files.engine({ ["a.lua"] = [[
        local work = coroutine.wrap(function(rounds)
          while true do for _ = 1, rounds do end rounds = coroutine.yield(rounds) end
        end)
        work(0)
      ]] .. source("a", "return work(input)") }, { limits = limits })
      assert.equal(100000, result(engine, "a", 100000))
      if limits.call_ms then
        assert.equal("job.timeout", plugin_files.failure(engine, "a", 1000000000000).code)
      end
    end
  end)

  it("cannot begin while another is under way in that plugin", function()
    local engine = plugin_files.engine { ["a.lua"] = source("a", "ctx.log.info('x') return 1") }
    local inner
    local off
    off = engine:on("log", function()
      off()
      inner = call(engine, "a")
    end)
    assert.equal(1, result(engine, "a"))
    assert.equal("job.capability_failed", inner.error.code)
    assert.matches("in the middle", inner.error.message)
  end)

  it("has the same token for the same job, step and input only", function()
    local engine = plugin_files.engine({ ["a.lua"] = source("a", "return ctx.idempotency_token") },
      { id = function() return "fixed" end, keep_jobs = 0 }) -- so that the id is free again
    local function token(id, input)
      return engine:run { steps = { { id = id, capability = "a", input = input } } }.result
    end
    local first = token("a", { x = 1, y = 2 })
    assert.equal(64, #first)
    assert.equal(first, token("a", { y = 2, x = 1 }))
    local seen = { [first] = true }
    for _, other in ipairs { token("a", { x = 1 }), token("b", { x = 1, y = 2 }), token("a"), token("a", moonplan.null), token("a", {}) } do
      assert.is_nil(seen[other])
      seen[other] = true
    end
  end)

  it("is bounded in what it logs, whose data are copied", function()
    local engine = plugin_files.engine({ ["a.lua"] = source("a", [[
      local data = { list = { 1 } }
      ctx.log.info("first", data)
      data.list[1] = 2
      local ok = pcall(ctx.log.info, "x", { f = print2 or error })
      for n = 1, 100 do ctx.log.warn(("x"):rep(100)) end
      return ok]]) }, { limits = { log_kib = 1 } })
    local lines = {}
    engine:on("log", function(entry) lines[#lines + 1] = entry end)
    assert.is_false(result(engine, "a"))
    assert.same({ list = { 1 } }, lines[1].data)
    assert(#lines < 12)
    assert.matches("log_kib", lines[#lines].message)
  end)
end)
