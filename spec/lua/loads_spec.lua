-- What of a folder of plugins is loaded, and the record of it: what ran is what was told.
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"
local trusted = require "spec.support.trusted"

local source, result = plugin_files.source, plugin_files.result

local engine_of, events_of, hash = trusted.engine_of, trusted.events_of, trusted.hash
local sign, store, versioned = trusted.sign, trusted.store, trusted.versioned

describe("a folder of plugins", function()
  after_each(command.clean)

  local function refused(folder)
    local engine, err = moonplan.engine { plugins = folder, shipped = false }
    if engine then return nil end
    assert.equal("file.unavailable", err.code)
    return err.message
  end

  it("is not used when others can change it", function()
    local outer = command.folder()
    local folder = outer .. "/plugins"
    os.execute("mkdir " .. folder)
    for _, mode in ipairs { "777", "757", "1777", "703", "702" } do
      os.execute(("chmod %s %s"):format(mode, folder))
      assert.matches("can be changed by others than its owner", refused(folder))
    end
    os.execute("chmod 755 " .. folder)
    assert.is_nil(refused(folder))
    -- One above it, unless it is sticky: as /tmp is.
    os.execute("chmod 777 " .. outer)
    assert.matches("lies in a folder that others than its owner can change", refused(folder))
    os.execute("chmod 1777 " .. outer)
    assert.is_nil(refused(folder))
    os.execute("chmod 755 " .. outer)
  end)

  it("brings no file that others can change, nor one in such a folder", function()
    local folder = plugin_files.folder { ["a.lua"] = source("a", "return 1"), ["b/init.lua"] = source("b", "return 2"),
      ["c/init.lua"] = source("c", "return plugin.import 'd'"), ["c/d.lua"] = "return 3", ["e.lua"] = source("e", "return 4") }
    os.execute(("cd %s && chmod 666 a.lua c/d.lua && chmod 777 b"):format(folder))
    local engine = engine_of(folder)
    local _, problems = engine:list()
    assert.equal(2, #problems)
    for _, problem in ipairs(problems) do
      assert.equal("plugin.load", problem.code)
      assert.matches("can be changed by others than its owner", problem.message)
    end
    assert.equal(4, result(engine, "e"))
    assert.matches('cannot import d: "c/d.lua" can be changed by others', plugin_files.failure(engine, "c").message)
  end)

  it("that a group can write to counts as open, unless the group is the owner's own", function()
    local folder = command.folder()
    local owner = files.lines_of("stat -c %u " .. folder)[1]
    if files.lines_of("id -u")[1] ~= "0" then
      pending "only root can give files to groups"
      return
    end
    assert.equal("0", owner)
    os.execute(("chmod 775 %s && chgrp 1234 %s"):format(folder, folder))
    assert.matches("others", refused(folder))
    os.execute(("chgrp 0 %s"):format(folder))
    assert.is_nil(refused(folder))
    os.execute(("chown 1234:1234 %s"):format(folder))
    assert.is_nil(refused(folder))
    -- A file of yet another owner in it.
    command.write(folder .. "/a.lua", source("a", "return 1"))
    os.execute(("chown 1235 %s/a.lua"):format(folder))
    local _, problems = engine_of(folder):list()
    assert.matches("can be changed by others", problems[1].message)
  end)

  it("runs text, and nothing that is compiled", function()
    local compiled = string.dump(load(source("a", "return 1")))
    local function first(text)
      local _, problems = engine_of(plugin_files.folder { ["a/init.lua"] = text }):list()
      return problems[1]
    end
    for _, text in ipairs { compiled, "\xef\xbb\xbf" .. compiled, "#!/usr/bin/lua\n" .. compiled, "\xef\xbb\xbf#x\n" .. compiled } do
      assert.equal("plugin.load", first(text).code)
    end
    assert.is_nil(first("#!/usr/bin/env moonplan\n" .. source("a", "return 1")))
    -- The file that is meant is named, also where Lua's own message names none.
    for _, isolation in ipairs { "state", "process" } do
      for text, words in pairs { [compiled] = "binary chunk", [("("):rep(10000)] = "overflow", ["x = = 1"] = "unexpected symbol" } do
        local _, problems = engine_of(plugin_files.folder { ["q/init.lua"] = "plugin.import 'h'", ["q/h.lua"] = text,
          ["r.lua"] = text }, { isolation = isolation }):list()
        for n, place in ipairs { "q/init.lua: q/h.lua:", "r.lua:" } do
          assert.equal("plugin.load", problems[n].code)
          assert.matches("^" .. place .. ".*" .. words, problems[n].message)
          assert.equal(1, select(2, problems[n].message:gsub(place:match "(%S+):$", "")), problems[n].message)
        end
      end
    end
    local text = source("a", "return 1")
    local most = 1024 * 1024
    assert.is_nil(first(text .. ("\n"):rep(most - #text)))
    assert.matches("longer than the limit source_kib allows: 1024", first(text .. ("\n"):rep(most - #text + 1)).message)
  end)
end)

describe("what was loaded", function()
  after_each(command.clean)

  it("is told with name, version, digest, key and decision", function()
    local key = moonplan.keys.new()
    local folder = plugin_files.folder { ["a.lua"] = "return { " .. source("a.x", "return 1"):sub(8) .. ", "
      .. versioned("a.y", "2.0.0", "return 2"):sub(8) .. " }" }
    sign(folder, key)
    local engine = engine_of(folder, { trust = store { alice = key } })
    local events, typed = events_of(engine), 0
    engine:on("plugin.loaded", function() typed = typed + 1 end)
    assert.equal(1, result(engine, "a.x"))
    assert.equal(2, result(engine, "a.y"))
    assert.equal(2, #events)
    assert.equal(2, typed)
    for n, name in ipairs { "a.x", "a.y" } do
      assert.is_nil(events[n].job_id)
      assert.equal("plugin.loaded", events[n].type)
      assert.matches("^%x+%-", events[n].id)
      assert.same({ name = name, version = n == 1 and "1.0.0" or "2.0.0", file = "a.lua", key = key.id, decision = "signed",
        isolation = "state", digest = hash(files.read(folder .. "/a.lua")) }, events[n].data)
    end
  end)

  it("is told of shipped and unsigned ones", function()
    local engine = assert(moonplan.engine())
    local events = events_of(engine)
    assert(engine:run { steps = { { id = "a", capability = "text.count", input = { text = "a b" } } } })
    assert.equal("shipped", events[1].data.decision)
    assert.equal("state", events[1].data.isolation)
    assert.equal(hash(files.read(files.root .. "plugins/text.lua")), events[1].data.digest)
    assert.is_nil(events[1].data.key)
    engine = engine_of(plugin_files.folder { ["a.lua"] = source("a", "return 1") })
    events = events_of(engine)
    assert(plugin_files.call(engine, "a"))
    assert.equal("unsigned", events[1].data.decision)
  end)

  it("is told of refused ones as well", function()
    local key = moonplan.keys.new()
    local folder = plugin_files.folder { ["a.lua"] = source("a", "return 1"), ["b.lua"] = "return 1 +",
      ["c.lua"] = source("c", "return 1") }
    os.execute(("ln -s c.lua %s/d.lua"):format(folder))
    local engine = engine_of(folder, { trust = store({ alice = key }, { pins = { { name = "a", digest = ("0"):rep(64) } } }) })
    local events = events_of(engine)
    assert(engine:list())
    table.sort(events, function(a, b) return a.data.name < b.data.name end)
    local codes = {}
    for n, event in ipairs(events) do
      codes[n] = ("%s %s %s"):format(event.type, event.data.file, event.data.error and event.data.error.code or "-")
    end
    assert.same({ "plugin.refused a.lua plugin.signature", "plugin.refused b.lua plugin.load", "plugin.loaded c.lua -",
      "plugin.refused d.lua plugin.load" }, codes)
    assert.equal(hash(files.read(folder .. "/a.lua")), events[1].data.digest)
    assert.is_nil(events[4].data.digest)
  end)

  it("stands in the job: the digest of what was started", function()
    local folder = plugin_files.folder { ["a.lua"] = source("a", "return 1") }
    local engine = engine_of(folder)
    engine:capability { kind = "capability", name = "host", risk = "read", run = function() return 1 end }
    local job = assert(engine:run { steps = { { id = "x", capability = "a" }, { id = "y", capability = "host" } } })
    local seen = {}
    for _, event in ipairs(job.events) do
      if event.type == "capability.started" then seen[event.data.step_id] = event.data.digest or "none" end
    end
    assert.same({ x = hash(files.read(folder .. "/a.lua")), y = "none" }, seen)
  end)

  -- The file is swapped under the engine's hands, over and over: what ran is what was told.
  it("is what ran, whatever becomes of the file", function()
    local sources = { one = source("a", "return 'one'"), two = source("a", "return 'two' --[[ and longer ]]") }
    local digests = { [hash(sources.one)] = "one", [hash(sources.two)] = "two" }
    local folder = plugin_files.folder { ["a.lua"] = sources.one }
    local other = command.folder()
    command.write(other .. "/one", sources.one)
    command.write(other .. "/two", sources.two)
    local pid = files.lines_of(([[cd %s; (timeout 300 sh -c 'while test -e one; do
      cp one t1; mv -f t1 %s/a.lua; cp two t2; mv -f t2 %s/a.lua; done' >/dev/null 2>&1 & echo $!)]]):format(other, folder, folder))[1]
    local seen = { one = 0, two = 0 }
    local engine = engine_of(folder)
    local last
    engine:on("plugin.loaded", function(event) last = event.data.digest end)
    local rounds = 0
    -- For a minute, where there is time.
    local stop = os.getenv "MOONPLAN_SOAK" and os.time() + 60 or 0
    while os.time() < stop or (seen.one < 100 or seen.two < 100) and rounds < 100000 do
      rounds = rounds + 1
      if rounds > 1 then assert(engine:reload()) end
      local job = assert(plugin_files.call(engine, "a"))
      local ran = job.result
      seen[ran] = seen[ran] + 1
      assert.equal(digests[last], ran)
      for _, event in ipairs(job.events) do
        if event.type == "capability.started" then assert.equal(last, event.data.digest) end
      end
    end
    os.remove(other .. "/one")
    os.execute("while kill -0 " .. pid .. " 2>/dev/null; do :; done")
    assert(seen.one >= 100 and seen.two >= 100)
  end)

  it("is one state of a folder: what is imported later is what was judged", function()
    local folder = plugin_files.folder { ["a/init.lua"] = source("a", "return plugin.import 'late'"), ["a/late.lua"] = "return 'judged'" }
    local engine = engine_of(folder)
    assert(engine:describe "a")
    command.write(folder .. "/a/late.lua", "return 'swapped'")
    assert.equal("judged", result(engine, "a"))
    command.write(folder .. "/a/new.lua", "return 'new'")
    command.write(folder .. "/a/init.lua", source("a", "return plugin.import 'new'"))
    assert(engine:reload())
    os.remove(folder .. "/a/new.lua")
    assert.equal("new", result(engine, "a"))
  end)

  it("may make its listener do anything", function()
    local folder = plugin_files.folder { ["a.lua"] = source("a", "return 1"), ["b.lua"] = source("b", "return 2") }
    local engine = engine_of(folder)
    local depth = 0
    engine:on("plugin.loaded", function()
      depth = depth + 1
      if depth < 5 then
        engine:list()
        engine:reload()
        engine:unregister "b"
        pcall(engine.close, engine)
      end
      error "whatever"
    end)
    assert.equal(1, result(engine, "a"))
    assert(depth > 1)
  end)
end)
