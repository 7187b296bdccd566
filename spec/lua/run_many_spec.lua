-- engine:run_many. What stores make of it is tested in C (spec/c/many_test.c).
local moonplan = require "moonplan"

local function step(id, capability, input) return { id = id, capability = capability, input = input } end

local function engine_of(options)
  options = options or {}
  options.shipped = false
  local engine = assert(moonplan.engine(options))
  assert(engine:capability {
    { name = "echo", version = "1.0.0", risk = "read", run = function(input) return input end },
    { name = "who", version = "1.0.0", risk = "read", run = function(_, ctx) return ctx.caller end },
    { name = "break", version = "1.0.0", risk = "read", run = function() return nil, "it broke" end },
  })
  return engine
end

describe("engine:run_many", function()
  local names = {}
  teardown(function()
    for _, name in ipairs(names) do
      for _, suffix in ipairs { "", "-wal", "-shm" } do os.remove(name .. suffix) end
    end
  end)

  for _, where in ipairs { "memory", "a file" } do
    it("gives every plan its job or its error, in " .. where, function()
      local path
      if where == "a file" then
        path = os.tmpname()
        os.remove(path)
        names[#names + 1] = path
      end
      local engine = engine_of { store = path }
      local bad = setmetatable({}, { __index = function() error "no" end })
      local jobs, errors = engine:run_many {
        '{"version":"1.0","steps":[{"id":"a","capability":"echo","input":{"n":1}}]}',
        '{"version":"1.0",\n "steps":[{"id":"a","capability":"nobody"}]}',
        { version = "1.0", steps = { step("a", "echo", { n = 2 }), step("b", "echo", { ["$ref"] = "steps.a.result.n" }) } },
        { steps = { step("a", "break"), step("b", "echo") } },
        bad,
      }
      assert.equal(5, #jobs)
      assert.equal("completed", jobs[1].status)
      assert.same({ n = 1 }, jobs[1].result)
      assert.is_false(jobs[2])
      assert.equal("plan.unknown_capability", errors[2].code)
      assert.equal(2, errors[2].line)
      assert.equal(1, #errors[2].errors)
      assert.same({ { n = 2 }, 2 }, jobs[3].result)
      assert.equal("failed", jobs[4].status)
      assert.equal("it broke", jobs[4].error.message)
      assert.equal("plan.version_unknown", jobs[4].warnings[1].code)
      assert.is_false(jobs[5])
      assert.equal("plan.capture", errors[5].code)
      assert.is_nil(errors[1] or errors[3] or errors[4])
      assert.equal(3, #engine:jobs())
      if path then assert.is_true(engine:verify().sound) end
      engine:close()
      assert.equal("steps.a.result.n", jobs[3].steps[2].input["$ref"])
    end)
  end

  it("hands the options on to all", function()
    local engine = engine_of()
    local plan = { version = "1.0", steps = { step("a", "who") } }
    local jobs = engine:run_many({ plan, plan }, { caller = { subject = "me" } })
    assert.same({ subject = "me" }, jobs[1].result)
    assert.equal("me", jobs[2].caller_subject)
    local none, err = engine:run_many({ plan }, { caller = { f = print } })
    assert.is_nil(none)
    assert.equal("/caller/f", err.at)
    local refused, errors = engine:run_many({ plan }, { caller = "me" })
    assert.same({ false }, refused)
    assert.equal("option", errors[1].code)
    assert.error_matches(function() engine:run_many({ plan }, { calller = {} }) end, 'a run has no field "calller"')
    assert.same({}, (engine:run_many {}))
  end)

  it("takes a list of texts and tables and nothing else", function()
    local engine = engine_of()
    for _, plans in ipairs { { 1 }, { "{}", false }, { [2] = "{}" }, { "{}", more = "{}" } } do
      assert.error_matches(function() engine:run_many(plans) end, "bad argument #1 to 'run_many' %(the plans must be")
    end
    assert.has_error(function() engine:run_many "{}" end)
    assert.has_error(function() engine:run_many() end)
  end)

  it("runs nothing when a plan's accessor closes the engine", function()
    local called = 0
    local engine = engine_of()
    assert(engine:capability { name = "count", version = "1.0.0", risk = "read", run = function() called = called + 1 end })
    local plan = { version = "1.0", steps = { step("a", "count") } }
    local closing = setmetatable({}, { __index = function(_, name)
      if name == "goal" then engine:close() end
      return plan[name]
    end })
    local jobs, err = engine:run_many { plan, closing }
    assert.is_nil(jobs)
    assert.equal("plan.capture", err.code)
    assert.equal(0, called)
  end)
end)

describe("a job", function()
  it("can be read when its engine is gone", function()
    local engine = engine_of()
    local job = engine:run { version = "1.0", goal = "g", steps = { step("a", "echo", { 1.5 }) } }
    engine:close()
    engine = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.equal("completed", job.status)
    assert.equal("[1.5]", job:result_json())
    assert.equal("g", job.goal)
    assert.equal(36, #job.id)
    assert.equal(5, #job.events)
    assert.equal(job.id, job.events[1].job_id)
    assert.equal(job.events, job.events)
    assert.equal(moonplan.null, assert(engine_of():run { steps = { step("a", "echo") } }).result)
  end)
end)
