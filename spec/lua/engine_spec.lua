-- The engine as Lua hosts meet it: options, runs, jobs, the host's own functions, events, driving.
-- What admission and jobs decide is spec/step/; plugins are plugin_spec.lua.
local moonplan = require "moonplan"
local files = require "spec.support.files"

local json = moonplan.json

local function new(options)
  local all = { shipped = false }
  for name, value in pairs(options or {}) do all[name] = value end
  return assert(moonplan.engine(all))
end

local function add(engine, name, run, fields)
  local capability = { name = name, version = "1.0.0", risk = "read", run = run }
  for field, value in pairs(fields or {}) do capability[field] = value end
  return engine:capability(capability)
end

local function plan(...)
  return { version = "1.0", steps = { ... } }
end

local function step(id, capability, input)
  return { id = id, capability = capability, input = input }
end

local function echo(input) return input end

describe("moonplan.engine", function()
  it("refuses an option that there is not, naming those there are", function()
    for _, options in ipairs { { plugin = "x" }, { [1] = "x" }, { [true] = 1 } } do
      assert.error_matches(function() moonplan.engine(options) end,
        "an engine has no field .*; there are: allow, approvals, approvers, authorizer, clock, grants, id, "
        .. "isolation, keep_jobs, limits, ownership, plan_versions, plugins, retry_reads, runner, shipped, store, "
        .. "store_mode, strict, trust")
    end
  end)

  it("refuses an option of another type", function()
    for _, options in ipairs {
      { plugins = 1 }, { plugins = { 1 } }, { plugins = { a = "x" } }, { allow = "write" }, { authorizer = 5 },
      { clock = 1 }, { clock = function() return 1.5 end }, { clock = function() return "now" end }, { id = "x" },
      { keep_jobs = -1 }, { keep_jobs = 1.5 }, { limits = 1 }, { limits = { step = 1 } }, { limits = { steps = 0 } },
      { ownership = "mine" }, { ownership = true }, { plan_versions = "1.0" }, { shipped = 1 }, { strict = "yes" },
      { grants = "fs" }, { grants = { fs = true } }, { grants = { clock = "yes" } }, { grants = { net = "x" } },
    } do
      assert.error_matches(function() moonplan.engine(options) end, "bad argument #1")
    end
  end)

  it("names the risks that there are to one that allows another", function()
    assert.error_matches(function() moonplan.engine { allow = { "read", "wirte" } } end,
      'allow names "wirte", which is no risk; there are: read, write, destructive', 1, true)
    assert(moonplan.engine { allow = { "read", "write", "destructive" } }):close()
  end)

  it("has a clock that stands still while it raises, from the beginning", function()
    local broken = true
    local engine = new { clock = function() if broken then error "no time" end return 1000 end }
    add(engine, "echo", echo)
    assert.equal("1970-01-01T00:00:00.000Z", engine:run(plan(step("a", "echo"))).created)
    broken = false
    assert.equal("1970-01-01T00:00:01.000Z", engine:run(plan(step("a", "echo"))).created)
    broken = true
    assert.equal("1970-01-01T00:00:01.000Z", engine:run(plan(step("a", "echo"))).created)
  end)

  it("gives nil and the reason for a folder that is not there", function()
    for _, options in ipairs {
      { plugins = "/no/such/folder" }, { plugins = { ".", "/no/such/folder" } }, { grants = { fs = "/no/such/folder" } },
      { grants = { ["fs:rw"] = "/no/such/folder" } },
    } do
      local engine, err = moonplan.engine(options)
      assert.is_nil(engine)
      assert.equal("file.unavailable", err.code)
      assert.matches('"/no/such/folder"', err.message, 1, true)
    end
  end)

  it("cannot be changed, and has the methods that the types for editors say", function()
    local engine = new()
    assert.error_matches(function() engine.run = 1 end, "cannot be changed")
    local _, message = pcall(function() return engine.rnu end)
    local offered, described = {}, {}
    for name in message:match("there are: (.*)"):gmatch "[%w_]+" do offered[name] = true end
    local meta = files.read(files.root .. "lua/moonplan/meta/engine.lua")
    for name in meta:gmatch "\nfunction Engine:([%w_]+)" do described[name] = true end
    assert.same(offered, described)
  end)

  it("is closed by close, and by the end of its scope", function()
    local engine = new()
    add(engine, "echo", echo)
    engine:close()
    assert.error_matches(function() engine:run(plan(step("a", "echo"))) end, "the engine is closed")
    assert.equal("engine (closed)", tostring(engine))
    engine:close()
    local kept
    do
      local scoped <close> = new()
      kept = scoped
    end
    assert.error_matches(function() kept:list() end, "closed")
  end)

  it("is collected together with functions that refer to it", function()
    local count = setmetatable({}, { __mode = "k" })
    for _ = 1, 20 do
      local engine
      engine = new { authorizer = function() return engine and { decision = "allow" } end }
      add(engine, "self", function() return tostring(engine) end)
      engine:on("*", function() return engine end)
      assert(engine:run(plan(step("a", "self"))))
      count[engine] = true
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(count))
  end)

  it("repeats where clock and ids are the host's", function()
    local function once()
      local time, n = 1767323045000, 0
      local engine = new {
        clock = function()
          time = time + 1
          return time
        end,
        id = function()
          n = n + 1
          return "id-" .. n
        end,
      }
      add(engine, "echo", echo)
      return engine:run(plan(step("a", "echo", { b = 1, a = { 2, x = nil }, c = "x" }))):json()
    end
    local text = once()
    assert.equal(text, once())
    local job = assert(json.decode(text))
    assert.matches("^id%-%d+$", job.id)
    -- 1767323045 is 2026-01-02T03:04:05Z: date -u -d @1767323045
    assert.matches("^2026%-01%-02T03:04:05%.%d%d%dZ$", job.created)
    assert(job.created < job.completed)
  end)

  it("goes on with ids of its own and the last time where the host's fail", function()
    local broken = false
    local engine = new {
      clock = function() return broken and error("no clock") or 1000 end,
      id = function() return ("x"):rep(40) end,
    }
    add(engine, "echo", function() broken = true end)
    local job = engine:run(plan(step("a", "echo")))
    assert.equal("1970-01-01T00:00:01.000Z", job.completed)
    assert.matches("^%x+%-%x+%-7%x+%-%x+%-%x+$", job.id)
  end)
end)

describe("a run", function()
  local engine
  before_each(function()
    engine = new()
    add(engine, "echo", echo)
  end)

  it("takes JSON text or a table, and nothing else", function()
    assert.equal(1, engine:run('{"version":"1.0","steps":[{"id":"a","capability":"echo","input":1}]}').result)
    assert.equal(1, engine:run(plan(step("a", "echo", 1))).result)
    for _, wrong in ipairs { 1, true, print, engine } do
      assert.error_matches(function() engine:run(wrong) end, "JSON text or a table")
    end
    assert.error_matches(function() engine:run() end, "JSON text or a table")
  end)

  it("that is refused gives nil and every fault, with lines where there is text", function()
    local job, err = engine:run '{"version": "1.0",\n "steps": [{"id": "a", "capability": "x"},\n  {"id": "a", "capability": "y"}]}'
    assert.is_nil(job)
    local codes = {}
    for n, fault in ipairs(err.errors) do codes[n] = fault.code .. fault.at .. ":" .. fault.line end
    assert.same({
      "plan.unknown_capability/steps/0/capability:2", "plan.duplicate_step_id/steps/1/id:3",
      "plan.unknown_capability/steps/1/capability:3",
    }, codes)
    job, err = engine:run(plan(step("a", "x"), step("a", "echo")))
    assert.is_nil(job)
    assert.equal(2, #err.errors)
    assert.equal("Duplicate step ID: a", err.errors[2].message)
    assert.is_nil(err.line)
  end)

  it("hands on the caller, and refuses other options", function()
    local seen
    add(engine, "who", function(_, ctx)
      seen = ctx.caller
      ctx.caller.subject = "changed"
    end)
    local caller = { subject = "me", scopes = { "a" }, metadata = { deep = { 1 } } }
    local job = engine:run(plan(step("a", "who"), step("b", "who")), { caller = caller })
    assert.equal("me", job.caller_subject)
    assert.equal("changed", seen.subject)
    assert.same({ subject = "me", scopes = { "a" }, metadata = { deep = { 1 } } }, caller)
    assert.error_matches(function() engine:run(plan(step("a", "echo")), { calller = caller }) end,
      "a run has no field \"calller\"; there are: approvals, caller, deduplicate")
    local _, err = engine:run(plan(step("a", "echo")), { caller = { f = print } })
    assert.equal("/caller/f", err.at)
    _, err = engine:run(plan(step("a", "echo")), { caller = "me" })
    assert(err)
  end)

  it("keeps 64-bit integers digit for digit", function()
    local job = engine:run '{"version":"1.0","steps":[{"id":"a","capability":"echo","input":[9223372036854775807,9007199254740993,1.0,1]}]}'
    assert.equal(9223372036854775807, job.result[1])
    assert.equal("integer", math.type(job.result[2]))
    assert.equal("[9223372036854775807,9007199254740993,1.0,1]", job:result_json())
    local _, err = engine:run '{"version":"1.0","steps":[{"id":"a","capability":"echo","input":9223372036854775808}]}'
    assert.equal("plan.input_number", err.code)
  end)

  it("tells warnings", function()
    local job = engine:run { version = "2.0", steps = { step("result", "echo") } }
    assert.same({ "plan.version_unknown", "plan.step_id_unreachable" },
      { job.warnings[1].code, job.warnings[2].code })
    assert.same({}, engine:run(plan(step("a", "echo"))).warnings)
  end)

  it("takes the versions that the host takes", function()
    engine = new { plan_versions = { "1.0", "1.1" } }
    add(engine, "echo", echo)
    assert(engine:run { version = "1.1", steps = { step("a", "echo") } })
    local _, err = engine:run { version = "2.0", steps = { step("a", "echo") } }
    assert.equal("plan.version", err.code)
  end)

  it("works from a coroutine", function()
    local co = coroutine.wrap(function()
      coroutine.yield(1)
      local result = engine:run(plan(step("a", "echo", 7))).result
      coroutine.yield(result)
      return "end"
    end)
    assert.equal(1, co())
    assert.equal(7, co())
    assert.equal("end", co())
  end)

  it("refuses a yield through the engine, saying what to do", function()
    add(engine, "wait", function() return coroutine.yield(1) end)
    local function message()
      return engine:run(plan(step("a", "wait"))).error.message
    end
    assert.matches("cannot yield inside engine:run; engine:drive", message(), 1, true)
    local ok, text = coroutine.resume(coroutine.create(message))
    assert.is_true(ok)
    assert.matches("engine:drive", text, 1, true)
    local other = new { authorizer = function() return coroutine.yield() end }
    add(other, "echo", echo)
    assert.matches("engine:drive", other:run(plan(step("a", "echo"))).error.message, 1, true)
  end)

  it("may happen inside a run of the same engine", function()
    add(engine, "outer", function(input)
      return engine:run(plan(step("x", "echo", input))).result
    end)
    assert.equal(3, engine:run(plan(step("a", "outer", 3))).result)
  end)

  it("lets nobody close the engine under it", function()
    add(engine, "close", function() engine:close() end)
    assert.matches("in the middle", engine:run(plan(step("a", "close"))).error.message)
    assert.equal(1, engine:run(plan(step("a", "echo", 1))).result)
    add(engine, "leave", function() local _ <close> = engine end)
    assert.matches("in the middle", engine:run(plan(step("a", "leave"))).error.message)
    assert.equal(1, engine:run(plan(step("a", "echo", 1))).result)
  end)

  it("is refused when reading the plan closes the engine, by whatever way it is read", function()
    local function closing(accessed)
      local closed = new()
      add(closed, "echo", echo)
      local function close() closed:close() end
      if accessed == "plan" then return closed, setmetatable({}, { __index = close }) end
      if accessed == "length" then return closed, { steps = setmetatable({}, { __len = function() close() return 0 end }) } end
      return closed, plan(setmetatable({ id = "a" }, { __index = close }))
    end
    for _, accessed in ipairs { "plan", "length", "step" } do
      for _, method in ipairs { "run", "drive", "admit" } do
        local closed, table = closing(accessed)
        local nothing, err = closed[method](closed, table)
        assert.is_nil(nothing)
        assert.equal("plan.capture", err.code)
        assert.equal("the engine was closed while the plan was read", err.message)
        assert.error_matches(function() closed[method](closed, table) end, "the engine is closed")
      end
    end
  end)

  it("and every other method survives a finalizer that closes the engine", function()
    local methods = {
      function(e) e:run(plan(step("a", "echo", { 1 })), { caller = { subject = "s" } }) end,
      function(e) e:admit(plan(step("a", "echo", { 1 }))) end, function(e) e:drive(plan(step("a", "echo", { 1 }))) end,
      function(e) e:list() end, function(e) e:describe "echo" end, function(e) e:files() end, function(e) e:reload() end,
      function(e) e:jobs() end, function(e) e:job "x" end, function(e) e:unregister "text" end,
      function(e) e:on("log", print)() end, function(e) e:on("*", print)() end, function(e) add(e, "more", echo) end,
    }
    -- With a whole cycle at every allocation, the finalizer after `count` others closes the engine
    -- at another place each time.
    local gc, inside = collectgarbage, 0
    for n, method in ipairs(methods) do
      for count = 0, 20 do
        local e = assert(moonplan.engine { shipped = n == 4 })
        add(e, "echo", echo)
        local left, closed = count, false
        local function finalize()
          if left == 0 then closed = pcall(e.close, e) return end
          left = left - 1
          setmetatable({}, { __gc = finalize })
        end
        gc()
        gc "stop"
        setmetatable({}, { __gc = finalize })
        gc("incremental", 1, 1000, 25)
        gc "restart"
        local ok, message = pcall(method, e)
        if closed then inside = inside + 1 end
        gc("incremental", 200, 100, 13)
        assert(ok or message:find("closed", 1, true), n .. ": " .. tostring(message))
        e:close()
      end
    end
    assert.is_true(inside > 20)
  end)
end)

describe("admission alone", function()
  it("says what would run, and calls nothing", function()
    local called = false
    local engine = new()
    add(engine, "make", function() called = true end, { risk = "write" })
    add(engine, "echo", echo)
    local admitted = assert(engine:admit('{"version":"1.0","goal":" g ","steps":[{"id":"a","capability":"make","reason":"r"},'
      .. '{"id":"b","capability":"echo","input":{"x":[{"$ref":"steps.a.result.id.0"},{"$ref":"steps.a.result"}]}}]}'))
    assert.same({
      goal = "g",
      warnings = {},
      steps = {
        { id = "a", capability = "make", version = "1.0.0", risk = "write", reason = "r", references = {} },
        { id = "b", capability = "echo", version = "1.0.0", risk = "read", references = {
          { at = "/steps/1/input/x/0", ref = "steps.a.result.id.0", path = "id.0", step = 1 },
          { at = "/steps/1/input/x/1", ref = "steps.a.result", step = 1 },
        } },
      },
    }, admitted)
    assert.is_false(called)
    assert.same({}, engine:jobs())
    local nothing, err = engine:admit(plan())
    assert.is_nil(nothing)
    assert.equal("plan.empty", err.code)
  end)
end)

describe("a reference", function()
  it("fails its step where what it stands for would take the input over the limit document_bytes", function()
    local called = 0
    local engine = new { limits = { document_bytes = 1000 } }
    assert(add(engine, "long", function() return ("x"):rep(400) end))
    assert(add(engine, "count", function(input) called = called + 1 return #input end))
    local all = { { ["$ref"] = "steps.a.result" }, { ["$ref"] = "steps.a.result" } }
    assert.equal(2, engine:run(plan(step("a", "long"), step("b", "count", all))).result[2])
    all[3] = all[1]
    local job = engine:run(plan(step("a", "long"), step("b", "count", all)))
    assert.equal("failed", job.status)
    assert.equal("limit", job.steps[2].error.code)
    assert.equal("the input with its references resolved would be longer than the limit document_bytes allows: 1000 bytes",
      job.error.message)
    assert.equal(1, called)
  end)
end)

describe("an id of the host's", function()
  it("is one job's for as long as that is there", function()
    local id = "mine"
    local engine = new { id = function() return id end }
    assert(add(engine, "echo", echo))
    local first = assert(engine:run(plan(step("a", "echo", 1))))
    local nothing, err = engine:run(plan(step("a", "echo", 2)))
    assert.is_nil(nothing)
    assert.equal("store.failed", err.code)
    assert.equal('there is a job "mine" already', err.message)
    id = "another"
    assert(engine:run(plan(step("a", "echo", 2))))
    assert.equal(1, first.result)
  end)
end)

describe("a job", function()
  local engine, job
  before_each(function()
    engine = new()
    add(engine, "echo", echo)
    add(engine, "none", function() end)
    job = assert(engine:run { version = "1.0", goal = "do it", idempotencyKey = "k",
      steps = { step("a", "echo", { 1 }), step("b", "none") } })
  end)

  it("has the documented members", function()
    assert.equal("completed", job.status)
    assert.equal("do it", job.goal)
    assert.equal("k", job.idempotency_key)
    assert.same({ { 1 }, moonplan.null }, job.result)
    assert.is_nil(job.error)
    assert.is_nil(job.caller_subject)
    assert.equal("b", job.steps[2].id)
    assert.equal(moonplan.null, job.steps[2].result)
    assert.equal("job.created", job.events[1].type)
    assert.equal(7, #job.events)
    assert.equal(2, job.events[7].data.step_count)
    assert.equal(("job %s: completed (2 steps)"):format(job.id), tostring(job))
  end)

  it("names its members when it is asked for another, as the types for editors do", function()
    local _, message = pcall(function() return job.staus end)
    local offered, described = {}, {}
    for name in message:match("there are: (.*)"):gmatch "[%w_]+" do offered[name] = true end
    local meta = files.read(files.root .. "lua/moonplan/meta/engine.lua")
    local class = meta:match("%-%-%-@class moonplan%.Job : userdata\n(.-)\nlocal Job")
    for name in class:gmatch "@field ([%w_]+)" do described[name] = true end
    for name in meta:gmatch "\nfunction Job:([%w_]+)" do described[name] = true end
    assert.same(offered, described)
    assert.error_matches(function() job.status = "failed" end, "cannot be changed")
  end)

  it("is the same as JSON", function()
    local value = assert(json.decode(job:json()))
    for _, name in ipairs { "id", "status", "goal", "result", "created", "started", "completed", "steps", "events" } do
      assert.same(value[name], job[name])
    end
    assert.same(value, json.decode(job:json(2)))
    assert.matches('\n  "goal": "do it"', job:json(2), 1, true)
    assert.equal("[[1],null]", job:result_json())
    assert.equal("null", engine:run(plan(step("a", "none"))):result_json())
    assert.error_matches(function() job:json(17) end, "0 to 16")
  end)

  it("has no result when it failed", function()
    add(engine, "fail", function() error("boom", 0) end)
    local failed = engine:run(plan(step("a", "echo", 1), step("b", "fail"), step("c", "echo")))
    assert.equal("failed", failed.status)
    assert.is_nil(failed.result)
    assert.is_nil(failed:result_json())
    assert.same({ code = "job.capability_failed", message = "boom" }, failed.error)
    assert.same({ "completed", "failed", "pending" },
      { failed.steps[1].status, failed.steps[2].status, failed.steps[3].status })
  end)

  it("can be asked for later, by id, as long as it is kept", function()
    engine = new { keep_jobs = 2 }
    add(engine, "echo", echo)
    local ids = {}
    for n = 1, 3 do ids[n] = engine:run(plan(step("a", "echo", n))).id end
    assert.is_nil(engine:job(ids[1]))
    assert.is_nil(engine:job("none"))
    assert.equal(3, engine:job(ids[3]).result)
    local jobs = engine:jobs()
    assert.same({ ids[2], ids[3] }, { jobs[1].id, jobs[2].id })
    assert.equal("completed", jobs[1].status)
  end)

  it("outlives its engine", function()
    engine:close()
    engine = nil
    collectgarbage()
    assert.same({ 1 }, job.result[1])
    assert(#job:json() > 100)
  end)
end)

describe("a host's capability", function()
  local engine
  before_each(function() engine = new() end)

  it("has a closed description", function()
    assert.error_matches(function() add(engine, "x", echo, { sumary = "x" }) end,
      'a capability has no field "sumary"; there are: .*summary')
    assert.error_matches(function() add(engine, "x", echo, { needs = { "fs" } }) end, "leave needs out")
    assert.error_matches(function() engine:capability { name = "x" } end, "run of a capability must be a function")
    for _, field in ipairs { "check", "run" } do
      assert.error_matches(function() add(engine, "x", echo, { [field] = 5 }) end,
        ("the %s of a capability must be a function"):format(field))
    end
    assert.error_matches(function() add(engine, "x", echo, { examples = 5 }) end, "examples of a capability must be a table")
    assert.error_matches(function() engine:capability { run = echo } end, "name of a capability must be a string")
    assert.error_matches(function() add(engine, "x", echo, { version = 1 }) end, "version of a capability must be a string")
    assert.error_matches(function() engine:capability { 1 } end, "a capability is a table")
    for _, kind in ipairs { "capabilty", "" } do
      assert.error_matches(function() add(engine, "x", echo, { kind = kind }) end, 'must be "capability"')
    end
    for _, api in ipairs { 2, "1", 1.5 } do
      assert.error_matches(function() add(engine, "x", echo, { api = api }) end, "api of a capability must be 1; there is no other")
    end
    assert.same({}, (engine:list()))
  end)

  it("is taken with any name, risk and schema, as the contract says", function()
    assert(engine:capability { name = " any name\n", run = echo })
    assert(add(engine, "x", echo, { risk = "odd", input = { f = { type = "odd", more = 1 } } }))
    local job = engine:run(plan(step("a", "x", {})))
    assert.equal("Unknown capability risk.", job.error.message)
    local _, err = engine:run(plan(step("a", "x", { f = 1 })))
    assert.equal("plan.input_schema", err.code)
    local denied = engine:run(plan(step("a", " any name\n", 1)))
    assert.equal("Unknown capability risk.", denied.error.message)
  end)

  it("is refused where its schema is none, or its name is taken", function()
    local ok, err = add(engine, "x", echo, { input = { f = { type = "number", min = "a" } } })
    assert.is_nil(ok)
    assert.equal("plugin.manifest", err.code)
    assert.equal("/0/input/f/min", err.at)
    ok, err = add(engine, "x", echo, { output = { f = print } })
    assert.is_nil(ok)
    assert.equal("/0/output/f", err.at)
    assert(add(engine, "x", echo))
    ok, err = add(engine, "x", echo, { version = "2.0.0" })
    assert.is_nil(ok)
    assert.equal("plugin.duplicate", err.code)
    assert.equal(1, #engine:list())
    assert(add(engine, "X", echo))
    assert(add(engine, "x ", echo))
  end)

  it("comes alone or in a family, all or nothing", function()
    assert(add(engine, "b", echo))
    local ok = engine:capability {
      { name = "a", version = "1", risk = "read", run = echo }, { name = "b", version = "1", risk = "read", run = echo },
    }
    assert.is_nil(ok)
    assert.equal(1, #engine:list())
    assert(engine:capability {
      { name = "a", version = "1", risk = "read", run = echo }, { name = "c", version = "1", risk = "read", run = echo },
    })
    assert.same({ "b", "a", "c" }, { engine:list()[1].name, engine:list()[2].name, engine:list()[3].name })
    assert.is_true(engine:unregister("a"))
    assert.is_false(engine:unregister("a"))
    assert(add(engine, "a", echo))
  end)

  it("may take itself away while it runs", function()
    add(engine, "once", function()
      assert.is_true(engine:unregister("once"))
      collectgarbage()
      return "done"
    end)
    assert.equal("done", engine:run(plan(step("a", "once"))).result)
    assert.equal("plan.unknown_capability", select(2, engine:run(plan(step("a", "once")))).code)
  end)

  it("gets an input of its own", function()
    local kept
    add(engine, "keep", function(input)
      kept = input
      input.list[1] = "changed"
      return input
    end)
    local input = { list = { "as it was" } }
    local job = engine:run(plan(step("a", "keep", input), step("b", "keep", { ["$ref"] = "steps.a.result" })))
    assert.same({ list = { "as it was" } }, input)
    assert.same({ list = { "as it was" } }, job.steps[1].input)
    kept.list[1] = "later"
    assert.same({ list = { "changed" } }, job.steps[1].result)
    assert.same({ list = { "changed" } }, job.steps[2].result)
  end)

  it("is told about the call", function()
    local seen
    add(engine, "look", function(_, ctx) seen = ctx end)
    local job = engine:run(plan(step("a", "look", 1)), { caller = { subject = "me" } })
    assert.equal(job.id, seen.job_id)
    assert.equal("a", seen.step_id)
    assert.same({ subject = "me" }, seen.caller)
    assert.matches("^%x+$", seen.idempotency_token)
    assert.equal(64, #seen.idempotency_token)
    assert.error_matches(function() seen.log.info("late") end, "no call is under way")
  end)

  -- github.com/awesomeWM/awesome/issues/2747: error() without a text broke the reporter.
  it("may fail in any way", function()
    local long = ("x"):rep(10 * 1024 * 1024)
    local fixed = "Unknown capability execution error"
    local function raise(value) return function() error(value, 0) end end
    for n, case in ipairs {
      { raise "text", "text" },
      { raise "", "" },
      { raise(nil), fixed },
      { raise(false), fixed },
      { raise(42), fixed },
      { raise {}, fixed },
      { raise { message = 1 }, fixed },
      { raise { code = "E_X", message = "m", retryable = true }, "m", { code = "f.E_X" } },
      { raise { message = "m", code = 7 }, "m" },
      { raise(setmetatable({}, { __tostring = function() error("no") end })), fixed },
      { raise(setmetatable({}, { __index = function() error("no") end })), fixed },
      { raise(io.stdout), fixed },
      { raise(long), long },
      { raise "a\0b\27[2J", "a\0b\27[2J" },
      { raise "\xff", "\\xff" },
      { function() return nil, "text" end, "text" },
      { function() return nil, { message = "m", code = "c" } end, "m", { code = "f.c" } },
      { function() return nil, 42 end, fixed },
      { function() return nil, false end, fixed },
    } do
      local name = "f"
      engine:unregister(name)
      add(engine, name, case[1])
      local job = engine:run(plan(step("a", name)))
      assert.equal("failed", job.status, n)
      assert.equal("job.capability_failed", job.steps[1].error.code, n)
      assert(case[2] == job.steps[1].error.message, n .. ": " .. job.steps[1].error.message:sub(1, 100))
      assert.same(case[3], job.steps[1].error.detail, n)
    end
  end)

  it("may give whatever JSON can say, and fails with a place for the rest", function()
    local value
    add(engine, "give", function() return value end)
    local deep = {}
    local at = deep
    for _ = 1, 200 do
      at.x = {}
      at = at.x
    end
    local cycle = {}
    cycle.self = { cycle }
    for n, case in ipairs {
      { print, "the result: a function" }, { { a = { print } }, "the result at /a/0: " },
      { { [1] = "a", [12] = "b" }, "hole" }, { { [1000000000] = true }, "hole" }, { { 1, x = 2 }, "names and positions" },
      { 0 / 0, "NaN" }, { { x = 1 / 0 }, "/x: " }, { "\xff", "UTF%-8" }, { { [true] = 1 }, "as a key" },
      { coroutine.create(print), "thread" }, { deep, "depth" }, { cycle, "inside itself" }, { io.stdout, "userdata" },
    } do
      value = case[1]
      local job = engine:run(plan(step("a", "give")))
      assert.equal("job.result_shape", job.error.code, n)
      assert.matches(case[2], job.error.message)
    end
    value = setmetatable({ 1 }, { __index = error, __len = error, __pairs = error, __tostring = error })
    assert.same({ 1 }, engine:run(plan(step("a", "give"))).result)
    value = moonplan.null
    assert.equal(moonplan.null, engine:run(plan(step("a", "give"))).result)
  end)

  it("that gives more text than the limit result_bytes fails with it", function()
    engine = new { limits = { result_bytes = 100 } }
    add(engine, "give", function(input) return ("x"):rep(input) end)
    assert.equal(100 - 2, #engine:run(plan(step("a", "give", 98))).result)
    for _, count in ipairs { 99, 100, 1000, 100000 } do
      local err = engine:run(plan(step("a", "give", count))).error
      assert.equal("limit", err.code)
      assert.matches("result_bytes", err.message)
    end
  end)

  it("writes objects in the order of their names, so that equal results are equal texts", function()
    add(engine, "many", function(input)
      local t = {}
      for n = 1, input do t["k" .. n * 7919 % 1000003] = n end
      return { t, { b = { z = 1, y = { x = 1, w = 2 } }, a = 2, ["\u{e000}"] = 3, ["\u{1f600}"] = 4, B = 5, [""] = 6 } }
    end)
    for _, count in ipairs { 1, 31, 32, 33, 34, 500 } do
      local text = engine:run(plan(step("a", "many", count))):result_json()
      local last, seen = "", 0
      for key in text:match("{(.-)}"):gmatch('"(k%d+)"') do
        assert(last < key)
        last, seen = key, seen + 1
      end
      assert.equal(count, seen)
      assert.matches('{"":6,"B":5,"a":2,"b":{"y":{"w":2,"x":1},"z":1},"\u{e000}":3,"\u{1f600}":4}', text, 1, true)
    end
  end)
end)

describe("the authorizer", function()
  local function decide(decision, ...)
    local rest = { ... }
    local engine = new { authorizer = function() return decision, table.unpack(rest) end }
    add(engine, "echo", echo)
    return engine:run(plan(step("a", "echo", 1)))
  end

  it("is asked once a step, with a copy of what the capability gets", function()
    local requests = {}
    local engine = new {
      authorizer = function(request)
        requests[#requests + 1] = request
        if type(request.input) == "table" then request.input.x = "changed" end
        return { decision = "allow" }
      end,
    }
    add(engine, "echo", echo, { risk = "destructive" })
    local job = engine:run(plan(step("a", "echo", { x = 1 }), step("b", "echo", { ["$ref"] = "steps.a.result.x" })),
      { caller = { subject = "me" } })
    assert.equal(1, job.result[2])
    assert.equal(2, #requests)
    assert.same({
      job_id = job.id, step_id = "b", capability = { name = "echo", version = "1.0.0", risk = "destructive" },
      input = 1, caller = { subject = "me" },
    }, requests[2])
  end)

  it("denies with or without a reason", function()
    assert.same({ code = "job.denied", message = "Capability not permitted: echo" }, decide { decision = "deny" }.error)
    assert.equal("no", decide { decision = "deny", reason = "no" }.error.message)
    assert.equal("", decide { decision = "deny", reason = "" }.error.message)
  end)

  it("fails closed when its decision is malformed", function()
    for n, wrong in ipairs {
      {}, { decision = "ALLOW" }, { decision = true }, { decision = "deny", reason = 1 },
      { decision = "deny", reason = false }, { { decision = "allow" } }, { decision = "allow", 1 },
      moonplan.array {}, "allow", true, 1, print, moonplan.null,
      setmetatable({}, { __index = { decision = "allow" } }),
    } do
      local job = decide(wrong)
      assert.equal("job.decision_invalid", job.error.code, n)
      assert.equal("Invalid authorization decision", job.error.message)
      assert.equal("capability.failed", job.events[3].type)
    end
    assert.equal("job.decision_invalid", decide(nil).error.code)
  end)

  it("is read raw, and no further than it says", function()
    assert.equal(1, decide(setmetatable({ decision = "allow", reason = 5, other = print },
      { __index = error, __len = error })).result)
  end)

  it("may inherit its reason, which is read once", function()
    local reads = 0
    local failure = decide(setmetatable({ decision = "deny" }, {
      __index = function(_, key) reads = reads + 1 return key .. " " .. reads end,
    })).error
    assert.same({ code = "job.denied", message = "reason 1" }, failure)
    assert.equal(1, reads)
    assert.equal("job.authorizer_failed", decide(setmetatable({ decision = "deny" }, { __index = error })).steps[1].error.code)
  end)

  it("and a capability change copies of the caller only", function()
    local seen = {}
    local function change(caller)
      seen[#seen + 1] = caller.subject
      caller.subject = "changed"
      caller.scopes[1] = "changed"
    end
    local engine = new { authorizer = function(request) change(request.caller) return { decision = "allow" } end }
    add(engine, "change", function(_, ctx) change(ctx.caller) return ctx.caller.scopes end)
    local caller = { subject = "me", scopes = { "own" } }
    local job = engine:run(plan(step("a", "change"), step("b", "change")), { caller = caller })
    assert.same({ "me", "me", "me", "me" }, seen)
    assert.same({ subject = "me", scopes = { "own" } }, caller)
    assert.equal("me", job.caller_subject)
  end)

  it("that raises fails the step, not the host", function()
    for _, case in ipairs {
      { function() error("boom", 0) end, "boom" }, { function() error() end, "Unknown capability execution error" },
      { function() error { message = "m" } end, "m" }, { function() return nil, "why" end, "why" },
    } do
      local engine = new { authorizer = case[1] }
      add(engine, "echo", echo)
      local job = engine:run(plan(step("a", "echo")))
      assert.equal("job.authorizer_failed", job.steps[1].error.code)
      assert.equal(case[2], job.steps[1].error.message)
      assert.is_nil(job.steps[1].started)
    end
  end)

  it("is not asked where there is none: the risk decides, and what is allowed", function()
    local engine = new { allow = { "write" } }
    add(engine, "w", echo, { risk = "write" })
    add(engine, "d", echo, { risk = "destructive" })
    assert.equal(1, engine:run(plan(step("a", "w", 1))).result)
    assert.equal("Destructive capability requires explicit approval.", engine:run(plan(step("a", "d"))).error.message)
  end)
end)

describe("events", function()
  local engine, seen
  before_each(function()
    engine, seen = new(), {}
    add(engine, "echo", echo)
  end)

  it("go to those of their type, in order, then to those of all", function()
    engine:on("*", function(event) seen[#seen + 1] = "*" .. event.type end)
    engine:on("job.created", function(event) seen[#seen + 1] = "1" .. event.type end)
    engine:on("job.created", function(event) seen[#seen + 1] = "2" .. event.type end)
    engine:run(plan(step("a", "echo")))
    assert.same({ "1job.created", "2job.created", "*job.created", "*execution.started", "*capability.started",
      "*capability.completed", "*job.completed" }, seen)
  end)

  it("are copies, and are those of the job", function()
    engine:on("*", function(event)
      seen[#seen + 1] = json.decode((json.encode(event)))
      event.data.goal = "changed"
    end)
    local job = engine:run(plan(step("a", "echo")))
    assert.same(job.events, seen)
  end)

  it("of a type that there is not are refused", function()
    assert.error_matches(function() engine:on("job.creatd", print) end,
      'no events of type "job.creatd"; there are: job.created, .*, log, %*')
    assert.error(function() engine:on("*", 1) end)
    assert.error(function() engine:on(1, print) end)
  end)

  it("are heard once by one function, until it unsubscribes, which it may do twice", function()
    local function hear(event) seen[#seen + 1] = event.type end
    local off = engine:on("job.created", hear)
    local again = engine:on("job.created", hear)
    engine:run(plan(step("a", "echo")))
    assert.equal(1, #seen)
    off()
    again()
    off()
    engine:run(plan(step("a", "echo")))
    assert.equal(1, #seen)
    engine:on("job.created", hear)
    off() -- it was for the subscription before
    engine:run(plan(step("a", "echo")))
    assert.equal(2, #seen)
  end)

  it("of a listener that fails, yields, unsubscribes or closes hurt nobody", function()
    local off
    engine:on("*", function() error {} end)
    engine:on("*", function() coroutine.yield() end)
    engine:on("*", function() engine:close() end)
    off = engine:on("*", function() off() end)
    engine:on("*", function(event) seen[#seen + 1] = event.type end)
    assert.equal(1, engine:run(plan(step("a", "echo", 1))).result)
    assert.equal(5, #seen)
  end)

  it("and what is logged go different ways", function()
    local lines = {}
    engine:on("*", function(event) seen[#seen + 1] = event.type end)
    local off = engine:on("log", function(entry) lines[#lines + 1] = entry end)
    engine:on("log", function() error("not my problem") end)
    add(engine, "talk", function(_, ctx)
      ctx.log.debug("one")
      ctx.log.error("two\27[2J", { n = 1, list = { true } })
    end)
    local job = engine:run(plan(step("a", "talk")))
    assert.equal(5, #seen)
    assert.equal(2, #lines)
    assert.same({ level = "error", message = "two\27[2J", data = { n = 1, list = { true } }, job_id = job.id,
      step_id = "a", capability = "talk", time = lines[2].time }, lines[2])
    assert.equal("debug", lines[1].level)
    off()
    engine:run(plan(step("a", "talk")))
    assert.equal(2, #lines)
  end)

  it("of the log are bounded, and the end of it is said once", function()
    engine = new { limits = { log_kib = 1 } }
    local lines = {}
    engine:on("log", function(entry) lines[#lines + 1] = entry.message end)
    add(engine, "talk", function(_, ctx) for n = 1, 1000 do ctx.log.info(("%090d"):format(n)) end end)
    engine:run(plan(step("a", "talk"), step("b", "talk")))
    assert.equal(2 * 10, #lines) -- nine entries of 90 bytes and 16 for each, and the end
    assert.matches("log_kib", lines[10])
    assert.matches("0+1$", lines[11])
    add(engine, "huge", function(_, ctx)
      assert(not pcall(ctx.log.info))
      assert(not pcall(ctx.log.info, "x", print))
      assert(not pcall(ctx.log.info, 1))
      ctx.log.info(("x"):rep(2000))
    end)
    lines = {}
    assert.is_nil(engine:run(plan(step("a", "huge"))).error)
    assert.equal(1, #lines)
  end)
end)

describe("driving", function()
  local engine
  before_each(function()
    engine = new()
    add(engine, "echo", echo)
    add(engine, "w", echo, { risk = "write" })
  end)

  it("asks for a decision and a result of each step", function()
    local seen = {}
    local drive = assert(engine:drive(plan(step("a", "w", 1), step("b", "echo", { ["$ref"] = "steps.a.result.n" })),
      { caller = { subject = "me" } }))
    for want in drive do
      seen[#seen + 1] = ("%s %s %d %s %s %s"):format(want.kind, want.step_id, want.step, want.capability, want.version, want.risk)
      assert.same({ subject = "me" }, want.caller)
      assert.equal(drive.job.id, want.job_id)
      if want.kind == "decision" then want:allow() else want:complete { n = { want.input } } end
    end
    assert.same({ "decision a 1 w 1.0.0 write", "result a 1 w 1.0.0 write", "decision b 2 echo 1.0.0 read",
      "result b 2 echo 1.0.0 read" }, seen)
    assert.equal("completed", drive.job.status)
    assert.same({ { n = { 1 } }, { n = { { 1 } } } }, drive.job.result)
  end)

  it("answers what the host passes over", function()
    for _ in engine:drive(plan(step("a", "echo", 1))) do end -- luacheck: ignore 542
    assert.equal("completed", engine:jobs()[1].status)
    for _ in engine:drive(plan(step("a", "w", 1))) do end -- luacheck: ignore 542
    assert.equal("failed", engine:jobs()[2].status)
  end)

  it("takes each kind of answer", function()
    local function outcome(kind, answer)
      local drive = assert(engine:drive(plan(step("a", "w", 1))))
      for want in drive do
        if want.kind == kind then answer(want) else want:allow() end
      end
      return drive.job
    end
    assert.equal("no", outcome("decision", function(w) w:deny("no") end).error.message)
    assert.equal("Capability not permitted: w", outcome("decision", function(w) w:deny() end).error.message)
    assert.equal("no", outcome("decision", function(w) w:decide { decision = "deny", reason = "no" } end).error.message)
    assert.equal("job.decision_invalid", outcome("decision", function(w) w:decide() end).error.code)
    assert.equal("job.authorizer_failed", outcome("decision", function(w) w:fail("x") end).error.code)
    assert.equal("job.capability_failed", outcome("result", function(w) w:fail("x") end).error.code)
    assert.same({ code = "w.c" }, outcome("result", function(w) w:fail { message = "m", code = "c" } end).error.detail)
    assert.equal("job.result_shape", outcome("result", function(w) w:complete(print) end).error.code)
    assert.equal(moonplan.null, outcome("result", function(w) w:complete(moonplan.null) end).result)
    local none = outcome("result", function(w) w:complete() end)
    assert.equal(moonplan.null, none.result)
    assert.equal("completed", none.status)
  end)

  it("refuses wrong, second and late answers", function()
    local drive = assert(engine:drive(plan(step("a", "echo", 1))))
    local want = drive()
    assert.error_matches(function() want:complete(1) end, "a decision is asked for")
    assert.error_matches(function() return want.inptu end, "there are: .*input")
    want:allow()
    assert.error_matches(function() want:deny() end, "its answer already")
    local result = drive()
    assert.error_matches(function() want:allow() end, "the question is over")
    assert.error_matches(function() return want.input end, "the question is over")
    assert.error_matches(function() result:allow() end, "a result is asked for")
    result:complete(2)
    assert.is_nil(drive())
    assert.is_nil(drive())
    assert.error_matches(function() return result.input end, "the question is over")
    assert.equal(2, drive.job.result)
  end)

  it("is for hosts that wait", function()
    local co = coroutine.wrap(function()
      local drive = assert(engine:drive(plan(step("a", "echo", 1), step("b", "echo", 2))))
      for want in drive do
        if want.kind == "result" then want:complete(coroutine.yield(want.input)) end
      end
      return drive.job.result
    end)
    assert.equal(1, co())
    assert.equal(2, co("one"))
    assert.same({ "one", "two" }, co("two"))
  end)

  it("gives nil and the reasons for a plan that is refused", function()
    local drive, err = engine:drive(plan(step("a", "x")))
    assert.is_nil(drive)
    assert.equal("plan.unknown_capability", err.code)
  end)

  it("ends where its scope ends, or its engine", function()
    local kept
    do
      local drive <close> = assert(engine:drive(plan(step("a", "echo", 1))))
      drive()
      kept = drive
    end
    assert.error_matches(function() kept() end, "closed")
    local drive = assert(engine:drive(plan(step("a", "echo", 1), step("b", "echo", 2))))
    drive():allow()
    engine:close()
    while drive() do end -- luacheck: ignore 542
    assert.equal("job.capability_gone", drive.job.error.code)
    assert.equal(1, drive.job.steps[1].result)
  end)

  it("of many jobs at once keeps them apart", function()
    local drives = {}
    for n = 1, 50 do drives[n] = assert(engine:drive(plan(step("a", "echo", { n }), step("b", "echo", { n, n })))) end
    for _ = 1, 4 do
      for n = #drives, 1, -1 do
        local want = drives[n]()
        assert.equal(n, want.input[1])
        if want.kind == "result" then want:complete { n } end
      end
    end
    for n, drive in ipairs(drives) do
      assert.is_nil(drive())
      assert.same({ { n }, { n } }, drive.job.result)
    end
  end)
end)
