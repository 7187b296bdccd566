-- What plugins may reach of the world: nothing but what they need, the host grants, and the rules of
-- a power let through. The paths and files are those of a hostile plan or a hostile neighbour; what
-- the file functions themselves do is spec/c/files_test.c.
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"

local source = plugin_files.source

-- A plugin that does to a file what it is told: { "read", path }, ...
local FILES = source("f", [[
  local out = table.pack(ctx.fs[input[1] ](input[2], input[3]))
  if out[1] == nil then return { code = out[2].code, message = out[2].message } end
  return out[1] ]], "needs = { 'fs' }")
local FILES_RW = FILES:gsub("'fs'", "'fs:rw'")

describe("a power", function()
  after_each(command.clean)

  it("that was not granted keeps a plan from being admitted", function()
    local engine = plugin_files.engine {
      ["f.lua"] = FILES, ["c.lua"] = source("c", "return ctx.clock.now()", "needs = { 'clock' }"),
      ["w.lua"] = source("w", "", "needs = { 'fs:rw', 'clock' }"),
    }
    for name, missing in pairs { f = { "fs" }, c = { "clock" }, w = { "fs:rw", "clock" } } do
      local job, err = plugin_files.call(engine, name)
      assert.is_nil(job)
      assert.equal("plan.power_missing", err.code)
      assert.equal("/steps/0/capability", err.at)
      for _, power in ipairs(missing) do assert.matches(power, err.message, 1, true) end
      table.sort(missing)
      local told = engine:describe(name).missing
      table.sort(told)
      assert.same(missing, told)
    end
  end)

  it("for reading alone is not one for writing; one for writing is one for reading", function()
    local folder = plugin_files.folder { ["n.txt"] = "two words" }
    local sources = { ["f.lua"] = FILES, ["w.lua"] = source("w", "return ctx.fs.write ~= nil", "needs = { 'fs:rw' }"),
      ["r.lua"] = source("r", "return ctx.fs.write == nil", "needs = { 'fs' }") }
    local engine = plugin_files.engine(sources, { grants = { fs = folder } })
    assert.equal("two words", plugin_files.result(engine, "f", { "read", "n.txt" }))
    assert.equal("plan.power_missing", select(2, plugin_files.call(engine, "w")).code)
    engine = plugin_files.engine(sources, { grants = { ["fs:rw"] = folder } })
    assert.equal("two words", plugin_files.result(engine, "f", { "read", "n.txt" }))
    assert.is_true(plugin_files.result(engine, "w"))
    assert.is_true(plugin_files.result(engine, "r"))
  end)

  it("comes from the folder that was granted for it", function()
    local one, two = plugin_files.folder { ["n.txt"] = "one" }, plugin_files.folder { ["n.txt"] = "two" }
    local engine = plugin_files.engine({ ["f.lua"] = FILES, ["w.lua"] = (FILES_RW:gsub('"f"', '"w"')) },
      { grants = { fs = one, ["fs:rw"] = two } })
    assert.equal("one", plugin_files.result(engine, "f", { "read", "n.txt" }))
    assert.equal("two", plugin_files.result(engine, "w", { "read", "n.txt" }))
  end)

  it("is there for those who name it, and in calls of theirs", function()
    local folder = plugin_files.folder { ["n.txt"] = "two words" }
    local family = "local kept return { "
      .. source("f.keep", "kept = ctx.fs return 1", "needs = { 'fs' }"):sub(8) .. ", "
      .. source("f.use", "return { ctx.fs == nil, pcall(kept.read, 'n.txt') }"):sub(8) .. ", "
      .. source("f.own", "return ctx.fs.read 'n.txt'", "needs = { 'fs' }"):sub(8) .. " }"
    local engine = plugin_files.engine({ ["f.lua"] = family }, { grants = { fs = folder } })
    assert.equal(1, plugin_files.result(engine, "f.keep"))
    local used = plugin_files.result(engine, "f.use")
    assert.is_true(used[1])
    assert.is_false(used[2])
    assert.matches("this capability has no ctx.fs", used[3])
    assert.equal("two words", plugin_files.result(engine, "f.own"))
  end)

  it("is not there while a plugin loads", function()
    local engine = plugin_files.engine({ ["f.lua"] = "there = ctx " .. source("f", "return there == nil", "needs = { 'fs' }") },
      { grants = { fs = "/tmp" } })
    assert.is_true(plugin_files.result(engine, "f"))
  end)
end)

describe("a granted secret", function()
  after_each(command.clean)

  -- The secret, once it is [secret:t], is the other name.
  local NAMES = "local value = ctx.secret.get 't' local names = { [value] = 1, ['[secret:t]'] = 2 } "

  it("whose place is taken makes a result none, and an entry of the log an error", function()
    for _, isolation in ipairs { "state", "process" } do
      local engine = plugin_files.engine({
        ["a.lua"] = source("a", NAMES .. "return { inner = names }", "needs = { 'secret:t' }"),
        ["b.lua"] = source("b", NAMES .. "return { pcall(ctx.log.info, 'x', names) }", "needs = { 'secret:t' }"),
      }, { grants = { ["secret:t"] = { value = "SECRET78" } }, isolation = isolation })
      local failure = plugin_files.failure(engine, "a")
      assert.equal("job.result_shape", failure.code)
      assert.equal('with a secret taken out of its names: the name "[secret:t]" stands in this object twice', failure.message)
      local logged = plugin_files.result(engine, "b")
      assert.is_false(logged[1])
      assert.matches('the data of a log entry: with a secret taken out of its names: the name "[secret:t]" stands', logged[2], 1, true)
    end
  end)
end)

describe("a bad call of a power", function()
  after_each(command.clean)

  it("names the function, however that was called", function()
    local bodies = {
      ["ctx.random.integer"] = { "pcall(ctx.random.integer)", 1 }, ["ctx.random.bytes"] = { "pcall(ctx.random.bytes, {})", 1 },
      ["ctx.fs.read"] = { "pcall(ctx.fs.read)", 1 }, ["ctx.log.warn"] = { "pcall(ctx.log.warn)", 1 },
      ["ctx.kv.get"] = { "pcall(ctx.kv.get, 1)", 1 }, ["ctx.kv.set"] = { "pcall(ctx.kv.set, 1)", 1 },
      ["ctx.http.request"] = { "pcall(ctx.http.request)", 1 }, ["ctx.secret.get"] = { "pcall(ctx.secret.get)", 1 },
      ["integer"] = { "pcall(function() local x = ctx.random.integer(1) end)", 2 },
    }
    for _, isolation in ipairs { "state", "process" } do
      for name, case in pairs(bodies) do
        local engine = plugin_files.engine({
          ["a.lua"] = source("a", "return { " .. case[1] .. " }", "needs = { 'random', 'fs', 'kv', 'http', 'secret:t' }"),
        }, { grants = { random = true, fs = "/tmp", kv = true, http = "localhost", ["secret:t"] = { value = "SECRET78" } },
          isolation = isolation })
        local result = plugin_files.result(engine, "a")
        assert.is_false(result[1])
        assert.matches(("bad argument #%d to '%s'"):format(case[2], name), result[2], 1, true)
      end
    end
  end)
end)

describe("ctx.fs", function()
  local folder, engine
  before_each(function()
    folder = plugin_files.folder {
      ["root/n.txt"] = "two words", ["root/sub/m.txt"] = "m", ["root/.dot"] = "d", ["root/bytes"] = "\0\xff\n", ["secret"] = "secret",
      ["root/hard"] = "h", ["root/empty"] = "",
    }
    os.execute(("cd %s && ln root/hard other && ln -s ../secret root/link && ln -s n.txt root/near && ln -s sub root/dir "
      .. "&& mkfifo root/pipe && truncate -s 1T root/sparse && ln -s /proc/self/root root/magic"):format(folder))
    engine = plugin_files.engine({ ["f.lua"] = FILES, ["w.lua"] = (FILES_RW:gsub('"f"', '"w"')) },
      { grants = { fs = folder .. "/root", ["fs:rw"] = folder .. "/root" } })
  end)
  after_each(command.clean)

  local function fs(...) return plugin_files.result(engine, "f", { ... }) end
  local function rw(...) return plugin_files.result(engine, "w", { ... }) end

  it("reads, measures and lists", function()
    assert.equal("two words", fs("read", "n.txt"))
    assert.equal("m", fs("read", "sub/m.txt"))
    assert.equal("", fs("read", "empty"))
    assert.equal(9, fs("size", "n.txt"))
    assert.equal(1 << 40, fs("size", "sparse"))
    assert.same({ ".dot", "bytes", "empty", "n.txt", "sparse", "sub/" }, fs "list")
    assert.same({ "m.txt" }, fs("list", "sub"))
    local job = plugin_files.call(engine, "f", { "read", "bytes" })
    assert.equal("job.result_shape", job.error.code) -- read, but no text that JSON can hold
  end)

  it("gives the plugin an error for what is not to be had, without the host's path", function()
    for _, path in ipairs { "none", "sub", "sub/none", "n.txt/x", "link", "near", "dir/m.txt", "pipe", "hard", "magic/etc/passwd" } do
      for _, verb in ipairs { "read", "size" } do
        local err = fs(verb, path)
        assert.equal("file.unavailable", err.code, path)
        assert.not_matches("/tmp", err.message)
        assert.matches(path, err.message, 1, true)
      end
    end
    for _, path in ipairs { "..", "../secret", "sub/../n.txt", "/etc/passwd", "./n.txt", "sub//m.txt", "sub/", "a\0b", ("x"):rep(5000) } do
      assert.equal("file.path", fs("read", path).code, path)
      assert.equal("file.path", fs("list", path).code, path)
      assert.equal("file.path", rw("write", path, "x").code, path)
    end
    assert.equal("file.unavailable", fs("list", "n.txt").code)
    assert.equal("file.unavailable", fs("list", "dir").code)
    assert.equal("secret", files.read(folder .. "/secret"))
  end)

  it("makes an error fail the step with its message, where the plugin returns it", function()
    engine = plugin_files.engine({ ["f.lua"] = source("f", "return ctx.fs.read(input)", "needs = { 'fs' }") },
      { grants = { fs = folder .. "/root" } })
    local err = plugin_files.failure(engine, "f", "none")
    assert.same({ code = "job.capability_failed", message = 'there is no file "none"', detail = { code = "f.file.unavailable" } }, err)
  end)

  it("reads as much as the limit string_mib allows, and knows before it reads", function()
    local most = 1024 * 1024
    engine = plugin_files.engine({ ["f.lua"] = source("f", [[
      local text, err = ctx.fs.read(input)
      return text and #text or { code = err.code, message = err.message }]], "needs = { 'fs' }") },
      { grants = { fs = folder .. "/root" }, limits = { string_mib = 1 } })
    command.write(folder .. "/root/full", ("x"):rep(most))
    command.write(folder .. "/root/more", ("x"):rep(most + 1))
    assert.equal(most, plugin_files.result(engine, "f", "full"))
    assert.equal("limit", plugin_files.result(engine, "f", "more").code)
    local began = os.clock()
    assert.equal("limit", plugin_files.result(engine, "f", "sparse").code)
    assert(os.clock() - began < 1)
  end)

  it("writes whole files, in folders that are there", function()
    assert.is_true(rw("write", "new.txt", "new"))
    assert.equal("new", files.read(folder .. "/root/new.txt"))
    assert.is_true(rw("write", "sub/m.txt", ""))
    assert.equal("", files.read(folder .. "/root/sub/m.txt"))
    assert.is_true(rw("write", "hard", "mine"))
    assert.equal("h", files.read(folder .. "/other"))
    for _, path in ipairs { "no/new.txt", "sub", "link", "near", "pipe", "dir/new.txt", "n.txt/x" } do
      assert.equal("file.unavailable", rw("write", path, "x").code, path)
    end
    assert.equal("two words", files.read(folder .. "/root/n.txt"))
    assert.same({}, files.lines_of("find " .. folder .. " -name '.moonplan-*'"))
  end)

  it("takes texts, and nothing else", function()
    for _, input in ipairs { { "read" }, { "read", 1 }, { "list", 1 }, { "size", {} } } do
      assert.matches("string expected", plugin_files.failure(engine, "f", input).message)
    end
    assert.matches("string expected", plugin_files.failure(engine, "w", { "write", "x" }).message)
    assert.matches("string expected", plugin_files.failure(engine, "w", { "write", "x", 1 }).message)
  end)

  it("keeps its folder when that is renamed", function()
    os.rename(folder .. "/root", folder .. "/moved")
    os.execute(("mkdir %s/root && echo other >%s/root/n.txt"):format(folder, folder))
    assert.equal("two words", fs("read", "n.txt"))
  end)
end)

describe("ctx.clock", function()
  after_each(command.clean)

  it("is the engine's", function()
    local engine = plugin_files.engine({ ["c.lua"] = source("c", "return { ctx.clock.now() }", "needs = { 'clock' }") },
      -- date -u -d 2026-01-02T03:04:05Z +%s is 1767323045
      { grants = { clock = true }, clock = function() return 1767323045678 end })
    assert.same({ "2026-01-02T03:04:05.678Z", 1767323045678 }, plugin_files.result(engine, "c"))
  end)

  it("is the system's where the host has none", function()
    local engine = plugin_files.engine({ ["c.lua"] = source("c", "return { ctx.clock.now() }", "needs = { 'clock' }") },
      { grants = { clock = true } })
    local before = os.time()
    local now = plugin_files.result(engine, "c")
    assert(now[2] >= before * 1000 and now[2] <= (os.time() + 1) * 1000)
    assert.equal(os.date("!%Y-%m-%dT%H:%M:%S", now[2] // 1000), now[1]:sub(1, 19))
  end)
end)

describe("doubles", function()
  after_each(command.clean)

  local function outcomes(fields, body)
    local engine = plugin_files.engine { ["x.lua"] = source("x", body, fields) }
    local seen = {}
    for n, outcome in ipairs(assert(engine:test "x")) do seen[n] = outcome.ok or outcome.message end
    return seen
  end

  it("stand in for files and time, so that nothing outside is touched", function()
    local body = [[
      ctx.fs.write("d/new", "first")
      ctx.fs.write("d/new", "n")
      local out = { text = ctx.fs.read "a.txt", size = ctx.fs.size "d/b.txt", top = ctx.fs.list(), sub = ctx.fs.list "d",
        none = select(2, ctx.fs.read "none").code, gone = select(2, ctx.fs.list "gone").code, new = ctx.fs.read "d/new" }
      out.clock, out.ms = ctx.clock.now()
      return out]]
    assert.same({ true, true }, outcomes([[needs = { "fs:rw", "clock" }, examples = {
      { given = { fs = { ["a.txt"] = "a", ["d/b.txt"] = "bb", ["d/e/c"] = "" }, clock = "2026-01-02T03:04:05.678Z" },
        output = { text = "a", size = 2, top = { "a.txt", "d/" }, sub = { "b.txt", "e/", "new" }, none = "file.unavailable",
          gone = "file.unavailable", new = "n", clock = "2026-01-02T03:04:05.678Z", ms = 1767323045678 },
        after = { fs = { ["d/new"] = "n", ["a.txt"] = "a" } } },
      { given = { fs = { ["a.txt"] = "x", ["d/b.txt"] = "yy" }, clock = "1970-01-01T00:00:01Z" },
        output = { text = "x", size = 2, top = { "a.txt", "d/" }, sub = { "b.txt", "new" }, none = "file.unavailable",
          gone = "file.unavailable", new = "n", clock = "1970-01-01T00:00:01.000Z", ms = 1000 } } }]], body))
  end)

  it("refuse what the real files refuse, with the same code and text", function()
    local folder = command.folder()
    os.execute(("mkdir -p %s/root/d/e && cd %s/root && echo -n a >a && echo -n b >d/b && echo -n c >d/e/c")
      :format(folder, folder))
    local body = [[
      local seen = {}
      local long = ("x"):rep(256)
      for _, path in ipairs { "", ".", "..", "/a", "d//b", "d/", "a/", "./a", "d/../a", "x\0y", long, "d/" .. long,
        long:sub(2), ("y/"):rep(2047) .. "yy", "gone/x", "gone/x/y", "none", "none/x", "a/x", "a/x/y", "d", "d/e", "d/x/y" } do
        for _, verb in ipairs { "read", "size", "list", "write" } do
          local fine, err
          if verb == "write" and (path == long:sub(2)) then fine = true
          else fine, err = ctx.fs[verb](path, "new") end
          seen[#seen + 1] = ("%s %s: %s"):format(verb, path:sub(1, 9), fine and "fine" or err.code .. " " .. err.message)
        end
      end
      return table.concat(seen, "\n")]]
    local fields = "needs = { 'fs:rw' }, examples = { { output = '', given = { fs = { a = 'a', ['d/b'] = 'b', ['d/e/c'] = 'c' } } } }"
    local engine = plugin_files.engine({ ["x.lua"] = source("x", body, fields) }, { grants = { ["fs:rw"] = folder .. "/root" } })
    local real = plugin_files.result(engine, "x")
    local quoted = moonplan.json.encode(real)
    -- The example shows its result cut: let it compare, and say that all is well.
    engine = plugin_files.engine { ["x.lua"] = source("x", body,
      (fields:gsub("output = ''", function() return ("output = json.decode(%q)"):format(quoted) end))) }
    assert.same({ ok = true }, engine:test("x")[1])
    for _, part in ipairs { "read : file.unavailable", "list : fine", "write : file.path", "list a/: file.path",
      "write gone/x: file.unavailable there is no folder", "write none: fine", "list none: file.unavailable there is no file",
      "write d: file.unavailable \"d\" is a folder",
      "write a/x: file.unavailable" } do
      assert.truthy(real:find(part, 1, true), part)
    end
  end)

  it("are what an example gives, and nothing more", function()
    assert.same({ "it fails: x.lua:3: the example gives no clock" },
      outcomes("needs = { 'clock' }, examples = { {} }", "return ctx.clock.now()"))
    assert.same({ true }, outcomes("needs = { 'fs' }, examples = { { output = 'file.unavailable' } }",
      "return select(2, ctx.fs.read 'etc/passwd').code"))
    assert.same({ true }, outcomes("examples = { { output = true } }", "return ctx.fs == nil and ctx.clock == nil"))
  end)

  it("show what an example got wrong", function()
    assert.same({
      'the result is {"a":1}; expected is {"a":2}', "the result is nothing; expected is 1", "the result is 1.0; expected is 1",
      "it fails: no", "the result is 1; expected is the error: no", "it fails: no; expected is the error: yes",
      "the file n holds: new; expected is: old", "the file m is not there",
    }, outcomes([[needs = { "fs:rw" }, examples = {
      { input = 'return { a = 1 }', output = { a = 2 } }, { input = 'return', output = 1 },
      { input = 'return 1.0', output = 1 }, { input = 'error("no", 0)' }, { input = 'return 1', error = "no" },
      { input = 'error("no", 0)', error = "yes" }, { input = 'ctx.fs.write("n", "new")', after = { fs = { n = "old" } } },
      { input = '', after = { fs = { m = "" } } },
    }]], "return load(input, 'x', 't', { error = error, ctx = ctx })()"))
  end)

  it("need a plugin that can be used", function()
    local engine = plugin_files.engine { ["x.lua"] = "error('no')", ["y.lua"] = source("y", "") }
    local nothing, err = engine:test "x"
    assert.is_nil(nothing)
    assert.equal("plugin.load", err.code)
    nothing, err = engine:test "none"
    assert.is_nil(nothing)
    assert.equal("plan.unknown_capability", err.code)
    assert.same({}, engine:test "y")
    assert(engine:capability { name = "host", version = "1", risk = "read", run = print })
    assert.is_nil((engine:test "host"))
  end)

  it("leave the real powers to real calls", function()
    local folder = plugin_files.folder { ["n.txt"] = "real" }
    local engine = plugin_files.engine({ ["x.lua"] = source("x", "return ctx.fs.read 'n.txt'",
      "needs = { 'fs' }, examples = { { given = { fs = { ['n.txt'] = 'double' } }, output = 'double' } }") }, { grants = { fs = folder } })
    assert.is_true(engine:test("x")[1].ok)
    assert.equal("real", plugin_files.result(engine, "x"))
    assert.is_true(moonplan.is_array(engine:test "x"))
  end)
end)
