-- A step plan that is a Lua table: what is read of it, when, and how often. The rules are those of
-- ExecutionPlan v1, "Structural ownership at submission", carried over to tables: __index once each,
-- in order; __len; a hole refuses; nested inputs stay shared unless they are owned deeply.
local moonplan = require "moonplan"

local function new(options)
  local all = { shipped = false }
  for name, value in pairs(options or {}) do all[name] = value end
  local engine = assert(moonplan.engine(all))
  assert(engine:capability { name = "echo", version = "1.0.0", risk = "read", run = function(input) return input end })
  return engine
end

-- A table that tells which of its fields are read, and gives those of `fields`.
local function watched(log, label, fields)
  return setmetatable({}, {
    __index = function(_, key)
      log[#log + 1] = label .. key
      return fields[key]
    end,
  })
end

local function step(id, input, more)
  local made = { id = id, capability = "echo", input = input }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

local function codes(err)
  local list = {}
  for n, fault in ipairs(err.errors) do list[n] = fault.code .. " " .. fault.at end
  return list
end

describe("capturing a table", function()
  local engine
  before_each(function() engine = new() end)

  it("reads each field that counts once, in order, and no other", function()
    local log = {}
    local steps = setmetatable({}, {
      __len = function()
        log[#log + 1] = "#"
        return 2
      end,
      __index = function(_, n)
        log[#log + 1] = tostring(n)
        return watched(log, n .. ".", { id = "s" .. n, capability = "echo", input = n })
      end,
    })
    local plan = watched(log, "", { steps = steps, version = "1.0", id = "p", metadata = {}, goal = " g " })
    local job = assert(engine:run(plan))
    assert.same({
      "goal", "idempotencyKey", "steps", "#",
      "1", "1.id", "1.capability", "1.capabilityVersion", "1.input", "1.reason", "1.idempotencyKey",
      "2", "2.id", "2.capability", "2.capabilityVersion", "2.input", "2.reason", "2.idempotencyKey",
    }, log)
    assert.same({ 1, 2 }, job.result)
    assert.equal("g", job.goal)
    -- The version is looked at raw, and there it is not.
    assert.equal("plan.version_unknown", job.warnings[1].code)
  end)

  it("counts what is inherited, and drops what is not known", function()
    local base = { capability = "echo", reason = "because", extra = print }
    local plan = setmetatable({
      version = "1.0", id = {}, metadata = { print }, more = print,
      steps = { setmetatable({ id = "a", input = 1, other = print }, { __index = base }) },
    }, { __index = { goal = "inherited", idempotencyKey = "key" } })
    local job = assert(engine:run(plan))
    assert.equal("inherited", job.goal)
    assert.equal("key", job.idempotency_key)
    assert.equal("because", job.steps[1].reason)
    assert.same({}, job.warnings)
  end)

  it("calls no metamethod for what is inside an input", function()
    local trap = setmetatable({ 1, 2 }, { __index = error, __len = error, __pairs = error, __eq = error, __tostring = error })
    assert.same({ 1, 2 }, engine:run { version = "1.0", steps = { step("a", { list = trap }) } }.result.list)
  end)

  it("takes the largest position for the number of steps where there is no __len", function()
    local steps = { step("a", 1), step("b", 2), name = "not a step", [0] = step("z"), [-1] = step("y") }
    assert.same({ 1, 2 }, engine:run { version = "1.0", steps = steps }.result)
  end)

  it("is refused at an accessor that raises, whatever else is wrong", function()
    local calls = 0
    engine:capability { name = "count", version = "1", risk = "read", run = function() calls = calls + 1 end }
    engine:on("*", function() calls = calls + 1 end)
    local function raising(fields, at)
      return setmetatable(fields, { __index = function(_, key) if key == at then error("not \27 you", 0) end end })
    end
    for _, case in ipairs {
      { raising({ steps = {} }, "goal"), "/goal" },
      { raising({ steps = {} }, "idempotencyKey"), "/idempotencyKey" },
      { raising({}, "steps"), "/steps" },
      { { steps = setmetatable({}, { __len = function() error("not \27 you", 0) end }) }, "/steps" },
      { { steps = setmetatable({}, { __len = function() return 1 end, __index = function() error("not \27 you", 0) end }) },
        "/steps/0" },
      { { steps = { { capability = "nope" }, raising({ id = "a", capability = "count" }, "input") } }, "/steps/1/input" },
      { { goal = print, steps = { raising({}, "id") } }, "/steps/0/id" },
    } do
      local job, err = engine:run(case[1])
      assert.is_nil(job)
      assert.same({ "plan.capture " .. case[2] }, codes(err))
      assert.matches("not \\u{1b} you", err.message, 1, true)
    end
    local _, err = engine:run(setmetatable({}, { __index = function() error(setmetatable({}, { __tostring = error })) end }))
    assert.equal("plan.capture", err.code)
    assert.equal(0, calls)
    assert.same({}, engine:jobs())
  end)

  it("is refused where __len gives no length", function()
    for _, length in ipairs { -1, 1.5, "2", {}, 0 / 0 } do
      local _, err = engine:run { steps = setmetatable({}, { __len = function() return length end }) }
      assert.same({ "plan.capture /steps" }, codes(err))
    end
    assert(engine:run { steps = setmetatable({ step("a") }, { __len = function() return 1.0 end }) })
  end)

  it("is refused at a hole, before the rest is run", function()
    local _, err = engine:run { steps = { step("a"), nil, step("c"), nil, step("e") } }
    assert.same({ "plan.shape /steps/1", "plan.shape /steps/3" }, codes(err))
    assert.matches("a hole in the steps: position 2 of 5 is nil", err.message, 1, true)
    _, err = engine:run { steps = { [3] = step("c") } }
    assert.same({ "plan.shape /steps/0", "plan.shape /steps/1" }, codes(err))
    _, err = engine:run { steps = setmetatable({ step("a") }, { __len = function() return 2 end }) }
    assert.same({ "plan.shape /steps/1" }, codes(err))
  end)

  -- github.com/Kong/kong/pull/5865: a table with a far position must not be walked as if it were full
  it("is refused at once when it has more steps than it may", function()
    local clock = os.clock()
    local _, err = engine:run { steps = { [math.maxinteger] = step("a") } }
    assert.same({ "limit /steps" }, codes(err))
    assert.matches("steps", err.message)
    _, err = engine:run { steps = setmetatable({}, { __len = function() return 4097 end, __index = error }) }
    assert.same({ "limit /steps" }, codes(err))
    assert(os.clock() - clock < 1)
    engine = new { limits = { steps = 2 } }
    assert(engine:run { steps = { step("a"), step("b") } })
    _, err = engine:run { steps = { step("a"), step("b"), step("c") } }
    assert.same({ "limit /steps" }, codes(err))
  end)

  it("is an empty plan without steps", function()
    for _, steps in ipairs { {}, { x = 1 }, moonplan.array {} } do
      local _, err = engine:run { version = "1.0", steps = steps }
      assert.equal("plan.empty", err.code)
    end
  end)

  it("finds every value that JSON cannot say, with the other faults in order", function()
    local _, err = engine:run {
      goal = print, idempotencyKey = 0 / 0,
      steps = {
        { id = "a", capability = "nope" },
        { id = "b", capability = "echo", input = { deep = { 1, { print } } }, reason = "\xff" },
        print,
        { id = print, capability = "echo" },
        true,
        step("b"),
        { id = "c", capability = "echo", input = { x = 1, [2] = 3 } },
        { id = "d", capability = "echo", input = coroutine.create(print) },
        { id = 1, capability = 2 },
      },
    }
    assert.same({
      "plan.shape /goal", "plan.shape /idempotencyKey", "plan.unknown_capability /steps/0/capability",
      "plan.shape /steps/1/input/deep/1/0", "plan.shape /steps/1/reason", "plan.shape /steps/2", "plan.shape /steps/3/id",
      "plan.shape /steps/4", "plan.duplicate_step_id /steps/5/id", "plan.shape /steps/6/input", "plan.shape /steps/7/input",
      "plan.shape /steps/8/id", "plan.shape /steps/8/capability",
    }, codes(err))
    assert.is_nil(err.offset)
  end)

  it("takes null for a value, as JSON text has it", function()
    assert.equal(moonplan.null, engine:run { steps = { step("a", moonplan.null) } }.result)
    local _, err = engine:run { goal = moonplan.null, steps = { step("a") } }
    assert.equal("plan.shape", err.code)
  end)

  it("refuses an input that is nested too deeply, holds itself or is too large", function()
    local deep = {}
    for _ = 1, 124 do deep = { deep } end
    assert(engine:run { steps = { step("a", deep) } })
    local _, err = engine:run { steps = { step("a", { deep }) } }
    assert.equal("plan.shape", err.code)
    assert.matches("deeper than the limit depth allows: 128", err.message, 1, true)
    _, err = moonplan.engine({ limits = { depth = 64 } }):run { steps = { step("a", { deep }) } }
    assert.matches("deeper than the limit depth allows: 64", err.message, 1, true)
    local cycle = {}
    cycle[1] = { x = cycle }
    _, err = engine:run { steps = { step("a", cycle) } }
    assert.same({ "plan.shape /steps/0/input/0/x" }, codes(err))
    assert.matches("inside itself", err.message)
    engine = new { limits = { values = 100 } }
    local list = {}
    for n = 1, 200 do list[n] = n end
    _, err = engine:run { steps = { step("a", list) } }
    assert.equal("plan.shape", err.code)
    assert.matches("values", err.message)
  end)

  it("lists no more holes than faults are listed", function()
    engine = new { limits = { errors = 3 } }
    local _, err = engine:run { steps = { [4000] = step("a") } }
    assert.equal(4, #err.errors)
    assert.equal("limit", err.errors[4].code)
    assert.matches("3996 more", err.errors[4].message)
  end)
end)

describe("a table that changes after submission", function()
  -- The steps are changed by the first of them, while it runs.
  local function changed(options, plan, change)
    local engine = new(options)
    assert(engine:capability { name = "change", version = "1", risk = "read", run = function() change(plan) end })
    table.insert(plan.steps, 1, { id = "first", capability = "change" })
    return engine, assert(engine:run(plan))
  end

  it("does not change the structure of what runs", function()
    local _, job = changed({}, { version = "1.0", steps = { step("b", { 1 }), step("c", "text") } }, function(plan)
      plan.goal = "other"
      plan.steps[2].id = "x"
      plan.steps[2].capability = "nope"
      plan.steps[2].input = { "another" }
      plan.steps[3].input = "another"
      table.insert(plan.steps, 2, step("d"))
      plan.steps = {}
    end)
    assert.same({ moonplan.null, { 1 }, "text" }, job.result)
    assert.equal("External execution plan", job.goal)
    assert.equal(3, #job.steps)
  end)

  it("shows in what is inside an input that has not begun, references included", function()
    local plan = { version = "1.0", steps = {
      step("b", { list = { 1 }, ref = { ["$ref"] = "steps.first.result" } }), step("c", { 1 }),
    } }
    local _, job = changed({}, plan, function()
      plan.steps[2].input.list[1] = 2
      plan.steps[2].input.new = true
      plan.steps[2].input.ref = nil
      plan.steps[3].input[1] = { ["$ref"] = "steps.b.result.new" }
    end)
    assert.same({ list = { 2 }, new = true }, job.steps[2].result)
    assert.same({ list = { 2 }, new = true }, job.steps[2].input)
    assert.same({ true }, job.steps[3].result)
  end)

  it("fails the step when a reference or the input has become invalid", function()
    for n, case in ipairs {
      { function(input) input.r["$ref"] = "steps.b" end, "job.reference_invalid" },
      { function(input) input.r["$ref"] = "steps.c.result" end, "job.reference_source" },
      { function(input) input.r = print end, "job.input_type" },
      { function(input) input.r = 0 / 0 end, "job.input_type" },
      { function(input) input.r = input end, "job.input_type" },
    } do
      local input = { r = { ["$ref"] = "steps.first.result" } }
      local _, job = changed({}, { version = "1.0", steps = { step("b", input), step("c") } }, function() case[1](input) end)
      assert.equal("failed", job.status)
      assert.equal(case[2], job.error.code, n)
      assert.is_nil(job.steps[2].started)
      if case[2] == "job.input_type" then assert.matches("/steps/1/input/r", job.error.message) end
    end
  end)

  it("does not show at all with deep ownership", function()
    local plan = { version = "1.0", steps = { step("b", { list = { 1 } }) } }
    local _, job = changed({ ownership = "deep" }, plan, function() plan.steps[2].input.list[1] = print end)
    assert.same({ list = { 1 } }, job.steps[2].result)
  end)

  it("does not show in what a job has done, or in its copy of the input", function()
    local plan = { version = "1.0", steps = { step("a", { 1 }) } }
    local engine = new()
    local job = engine:run(plan)
    plan.steps[1].input[1] = 2
    assert.same({ 1 }, job.result)
    assert.same({ 1 }, job.steps[1].input)
  end)

  it("is read late by a driven job as well, and no longer than the job is there", function()
    local engine = new()
    local input = { 1 }
    local drive = assert(engine:drive { version = "1.0", steps = { step("a", 0), step("b", input) } })
    drive():allow()
    drive():complete()
    input[1] = 2
    assert.same({ 2 }, drive().input)
    local weak = setmetatable({ input }, { __mode = "v" })
    input = nil -- luacheck: ignore 311
    drive = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    collectgarbage()
    assert.is_nil(weak[1])
  end)
end)
