-- Jobs that outlive their process, through the module: the store option, going on, outcomes,
-- approvals, the audit trail. What stores do inside is tested in C (spec/c/store_test.c).
local moonplan = require "moonplan"

local FAR = 32503680000000 -- 3000-01-01

local names = {}
local function next_path()
  local path = os.tmpname()
  os.remove(path)
  names[#names + 1] = path
  return path
end

-- An engine with two capabilities of the host's, and a list of what was called.
local function engine_of(options)
  options.allow = options.allow or { "write" }
  local engine = assert(moonplan.engine(options))
  local calls = {}
  local function act(input, ctx)
    calls[#calls + 1] = ctx.step_id
    if type(input) == "table" and input.fail then return nil, "it broke" end
    return input
  end
  assert(engine:capability {
    { name = "act", version = "1.0.0", risk = "write", run = act },
    { name = "look", version = "1.0.0", risk = "read", run = act },
  })
  return engine, calls
end

local function step(id, capability, input) return { id = id, capability = capability, input = input } end

local function reference(path) return { ["$ref"] = path } end

-- Drive a plan until it asks for this step's result, and let it go then; the job's id.
local function break_off(engine, plan, id)
  local drive <close> = assert(engine:drive(plan))
  for want in drive do
    if want.kind == "result" and want.step_id == id then return drive.job.id end
  end
end

-- A job whose step was begun and has no end: its host goes away while it is asked for the result.
local function left(path, plan, id)
  local engine = engine_of { store = path }
  local job = break_off(engine, plan, id)
  engine:close()
  return job
end

local function event_types(job)
  local list = {}
  for n, event in ipairs(job.events) do list[n] = event.type end
  return list
end

describe("a store in a file", function()
  teardown(function()
    for _, name in ipairs(names) do
      for _, suffix in ipairs { "", "-wal", "-shm" } do os.remove(name .. suffix) end
    end
  end)

  it("has the jobs of engines that are gone", function()
    local path = next_path()
    local engine, calls = engine_of { store = path }
    local job = assert(engine:run { goal = "g", steps = {
      step("a", "act", { n = 1 }), step("b", "act", reference "steps.a.result.n"),
    } })
    assert.equal("completed", job.status)
    assert.matches("^%x+$", job.digest)
    engine:close()
    engine = engine_of { store = path, store_mode = "read" }
    assert.equal(job:json(), engine:job(job.id):json())
    assert.same({ { id = job.id, status = "completed", goal = "g", created = job.created, completed = job.completed } },
      engine:jobs())
    assert.same({ "a", "b" }, calls)
    local nobody, err = engine:job "none"
    assert.is_nil(nobody)
    assert.is_nil(err)
    nobody, err = engine:run { steps = { step("a", "look") } }
    assert.is_nil(nobody)
    assert.equal("store.open", err.code)
    engine:close()
  end)

  it("is refused with a reason", function()
    local path = next_path()
    local made, err = moonplan.engine { store = path, store_mode = "existing" }
    assert.is_nil(made)
    assert.equal("store.open", err.code)
    assert.matches("is not there", err.message)
    local file = assert(io.open(path, "w"))
    file:write "not a database"
    file:close()
    made, err = moonplan.engine { store = path }
    assert.is_nil(made)
    assert.equal("store.open", err.code)
    assert.has_error(function() moonplan.engine { store_mode = "write" } end,
      'bad argument #1 to \'engine\' (store_mode must be "create", "existing" or "read")')
    assert.has_error(function() moonplan.engine { store = 1 } end)
    assert.has_error(function() moonplan.engine { approvals = { "all" } } end)
    assert.has_error(function() moonplan.engine { approvers = { "no key" } } end)
    assert.has_error(function() moonplan.engine { approvers = { 1 } } end)
    assert.has_error(function() moonplan.engine { retry_reads = 1 } end)
  end)

  it("goes on where a host has left, and calls nothing twice", function()
    local path = next_path()
    local id = left(path, { steps = {
      step("a", "act", { 1 }), step("b", "look", reference "steps.a.result"), step("c", "act", reference "steps.b.result"),
    } }, "b")
    local engine, calls = engine_of { store = path }
    assert.equal("outcome_unknown", engine:job(id).status)
    assert.same(1, #engine:jobs { status = "outcome_unknown" })
    local job = assert(engine:resume(id))
    assert.equal("completed", job.status)
    assert.same({ "b", "c" }, calls) -- b only reads, so that it may be done again
    assert.same({
      "job.created", "execution.started", "capability.started", "capability.completed", "capability.started",
      "job.resumed", "capability.unknown", "capability.resolved", "capability.started", "capability.completed",
      "capability.started", "capability.completed", "job.completed",
    }, event_types(job))
    assert.same({ step_id = "b", capability = "look", outcome = "retry", reason = "policy" }, job.events[8].data)
    local nothing, err = engine:resume(id)
    assert.is_nil(nothing)
    assert.equal("job.state", err.code)
    engine:close()
  end)

  it("leaves reads alone where it is told to", function()
    local path = next_path()
    local id = left(path, { steps = { step("a", "look", { 1 }) } }, "a")
    local engine, calls = engine_of { store = path, retry_reads = false }
    assert.equal("outcome_unknown", assert(engine:resume(id)).status)
    assert.same({}, calls)
    engine:close()
  end)

  for way, after in pairs { completed = "completed", failed = "failed", retry = "completed" } do
    it("takes a person's word for an outcome: " .. way, function()
      local path = next_path()
      local id = left(path, { steps = { step("a", "act", { 1 }), step("b", "act", reference "steps.a.result") } }, "a")
      local engine, calls = engine_of { store = path }
      local job = assert(engine:resume(id))
      assert.equal("outcome_unknown", job.status)
      assert.equal("job.outcome_unknown", job.error.code)
      assert.same({}, calls)
      local nothing, err = engine:resolve(id, "b", { as = way })
      assert.is_nil(nothing)
      assert.equal("job.state", err.code)
      local said = { as = way, result = way == "completed" and { 7 } or nil, message = way == "failed" and "no" or nil }
      assert.is_true(engine:resolve(id, "a", said))
      job = way == "failed" and engine:job(id) or assert(engine:resume(id))
      assert.equal(after, job.status)
      if way == "failed" then
        assert.same({ code = "job.capability_failed", message = "no" }, job.error)
      else
        assert.same(way == "completed" and { 7 } or { 1 }, job.steps[2].result)
      end
      assert.same(way == "completed" and { "b" } or way == "retry" and { "a", "b" } or {}, calls)
      assert.is_true(engine:verify().sound)
      engine:close()
    end)
  end

  it("keeps a result's numbers as they are written", function()
    local path = next_path()
    local id = left(path, { steps = { step("a", "act", { 1 }) } }, "a")
    local engine = engine_of { store = path }
    assert.is_true(engine:resolve(id, "a", { as = "completed", result_json = "[1.50,18446744073709551616]" }))
    assert.equal("[1.50,18446744073709551616]", engine:job(id):result_json())
    assert.has_error(function() engine:resolve(id, "a", { as = "done" }) end)
    assert.has_error(function() engine:resolve(id, "a", { as = "retry", message = "m" }) end)
    assert.has_error(function() engine:resolve(id, "a", { as = "completed", result = 1, result_json = "1" }) end)
    engine:close()
  end)

  it("asks a plugin's check, by default in a process of its own", function()
    local lfs = require "lfs"
    local path, folder = next_path(), next_path()
    assert(lfs.mkdir(folder))
    local function plugin(text)
      local file = assert(io.open(folder .. "/mail.lua", "w"))
      file:write(text)
      file:close()
    end
    local HEAD = [[return { kind = "capability", api = 1, name = "mail", version = "1.0.0", summary = "Send.", risk = "write",
      run = function(input) return { sent = input.to } end, check = function(input, ctx)
        assert(#ctx.idempotency_token == 64)
        ]]
    local cases = {
      { "return { happened = true, result = { sent = 'before' } } end }", "completed", { sent = "before" } },
      { "return { happened = false } end }", "completed", { sent = "x" } },
      { "return nil end }", "outcome_unknown" },
      { "error 'no answer' end }", "outcome_unknown", why = "no answer" },
      { "return { happened = 'maybe' } end }", "outcome_unknown", why = "it returned neither { happened" },
    }
    for _, case in ipairs(cases) do
      plugin(HEAD .. case[1])
      local engine = assert(moonplan.engine { store = path, plugins = folder, allow = { "write" } })
      local id = break_off(engine, { steps = { step("a", "mail", { to = "x" }) } }, "a")
      engine:close()
      engine = assert(moonplan.engine { store = path, plugins = folder, allow = { "write" } })
      local job = assert(engine:resume(id))
      assert.equal(case[2], job.status, case[1])
      if case[3] then assert.same(case[3], job.result) end
      if case.why then
        assert.truthy(job.error.message:find(case.why, 1, true), job.error.message)
        assert.equal(job.error.message, engine:job(id).error.message)
      end
      engine:close()
    end
    os.remove(folder .. "/mail.lua")
    lfs.rmdir(folder)
  end)

  it("asks the check of a host's capability", function()
    local SENT = { happened = true, result = { sent = "before" } }
    local function says(...)
      local answer = table.pack(...)
      return function() return table.unpack(answer, 1, answer.n) end
    end
    local cases = {
      { says(SENT), "completed", { sent = "before" }, runs = 0 },
      { says { happened = false }, "completed", { sent = "x" }, runs = 1 },
      { says(), "outcome_unknown", runs = 0 },
      { says(nil, "no answer"), "outcome_unknown", runs = 0, why = "no answer" },
      { function() error("lost", 0) end, "outcome_unknown", runs = 0, why = "lost" },
      { function() error() end, "outcome_unknown", runs = 0, why = "it failed without a message" },
      { coroutine.yield, "outcome_unknown", runs = 0, why = "cannot yield" },
      { says { happened = "maybe" }, "outcome_unknown", runs = 0, why = "it returned neither { happened" },
      { says { happened = true, result = print }, "outcome_unknown", runs = 0, why = "the result" },
      { says { happened = true, result = { sent = 5 } }, "failed", runs = 0 }, -- not what is declared
    }
    for n, case in ipairs(cases) do
      local path, runs, seen = next_path(), 0, {}
      local function engine_with(check)
        local engine = assert(moonplan.engine { store = path, allow = { "write" } })
        assert(engine:capability { name = "mail", version = "1.0.0", risk = "write",
          output = { sent = { type = "string", required = true } },
          run = function(input) runs = runs + 1 return { sent = input.to } end, check = check })
        return engine
      end
      local engine = engine_with(case[1])
      local options = { caller = { subject = "s" } }
      local id
      do
        local drive <close> = assert(engine:drive({ steps = { step("a", "mail", { to = "x" }) } }, options))
        for want in drive do
          if want.kind == "result" then id = drive.job.id break end
        end
      end
      engine:close()
      engine = engine_with(function(input, ctx)
        seen[#seen + 1] = { input.to, ctx.job_id, ctx.step_id, ctx.caller.subject, #ctx.idempotency_token }
        return case[1](input, ctx)
      end)
      local job = assert(engine:resume(id))
      assert.equal(case[2], job.status, n)
      assert.same({ { "x", id, "a", "s", 64 } }, seen, n)
      assert.equal(case.runs, runs, n)
      if case[3] then assert.same(case[3], job.result) end
      if case.why then assert.truthy(job.error.message:find(case.why, 1, true), job.error.message) end
      assert.is_true(engine:verify().sound, n)
      engine:close()
    end
  end)

  it("keeps a check as long as its capability, and nothing longer", function()
    local weak = setmetatable({}, { __mode = "v" })
    local engine = engine_of { store = next_path() }
    do
      local held = {}
      weak[1] = held
      assert(engine:capability { name = "c", run = function() end, check = function() return held end })
      local refused = {}
      weak[2] = refused
      local nothing = engine:capability { name = "c", run = function() end, check = function() return refused end }
      assert.is_nil(nothing)
    end
    collectgarbage() collectgarbage()
    assert.truthy(weak[1])
    assert.is_nil(weak[2])
    engine:close()
    engine = nil -- luacheck: ignore 311
    collectgarbage() collectgarbage()
    assert.is_nil(weak[1])
  end)

  it("gives the job that a key has, whether that one asked or not", function()
    local engine, calls = engine_of { store = next_path() }
    local plan = { idempotencyKey = "k", steps = { step("a", "act", { 1 }) } }
    local first = assert(engine:run(plan))
    assert.equal(first.id, assert(engine:run(plan, { deduplicate = true })).id)
    assert.same({ "a" }, calls)
    engine:close()
    -- In memory inputs of tables are read late; what counts is what was captured.
    engine, calls = engine_of {}
    first = assert(engine:run(plan))
    assert.equal(first.id, assert(engine:run(plan, { deduplicate = true })).id)
    assert.same({ "a" }, calls)
    engine:close()
  end)

  it("gives the job that a key has", function()
    local path = next_path()
    local engine, calls = engine_of { store = path }
    local plan = { idempotencyKey = "k", steps = { step("a", "act", { 1 }) } }
    local first = assert(engine:run(plan, { deduplicate = true }))
    local second = assert(engine:run(plan, { deduplicate = true }))
    assert.equal(first.id, second.id)
    assert.same({ "a" }, calls)
    plan.steps[1].input = { 2 }
    local nothing, err = engine:run(plan, { deduplicate = true })
    assert.is_nil(nothing)
    assert.equal("store.conflict", err.code)
    assert(err.message:find(first.id, 1, true))
    assert.has_error(function() engine:run(plan, { deduplicate = "yes" }) end)
    engine:close()
  end)

  it("gives it among many, of which more are between than a store in memory keeps", function()
    local function plan(key) return { idempotencyKey = key, steps = { step("a", "act", { 1 }) } } end
    local plans = { plan "same", plan "same" }
    for n = 1, 20 do plans[#plans + 1] = plan("key " .. n) end
    for _, settings in ipairs { { keep_jobs = 4 }, { store = next_path() } } do
      local engine, calls = engine_of(settings)
      local made = engine:run_many(plans, { deduplicate = true })
      for n = 1, #plans do assert.equal("completed", made[n].status, tostring(n)) end
      assert.equal(made[1].id, made[2].id)
      assert.equal(#plans - 1, #calls)
      engine:close()
    end
  end)

  it("cancels a job that nobody runs", function()
    local path = next_path()
    local id = left(path, { steps = { step("a", "act"), step("b", "act") } }, "b")
    local engine = engine_of { store = path }
    assert.is_true(engine:cancel(id))
    local job = engine:job(id)
    assert.equal("cancelled", job.status)
    assert.equal("job.cancelled", job.error.code)
    assert.equal("outcome_unknown", job.steps[2].status)
    local nothing, err = engine:cancel(id)
    assert.is_nil(nothing)
    assert.equal("job.state", err.code)
    engine:close()
  end)
end)

describe("an approval", function()
  local key = assert(moonplan.keys.new())
  local plan = { steps = { step("a", "act", { n = 1 }), step("b", "act", reference "steps.a.result.n") } }

  for _, kept in ipairs { "memory", "a file" } do
    it("lets one step run, once, with a store in " .. kept, function()
      local engine, calls = engine_of {
        store = kept == "a file" and next_path() or nil, approvals = { "write" }, approvers = { key.public },
      }
      local caller = { subject = "me" }
      local job = assert(engine:run(plan, { caller = caller }))
      assert.equal("awaiting_approval", job.status)
      assert.equal("awaiting_approval", job.steps[1].status)
      assert.equal("job.awaiting_approval", job.error.code)
      -- Beforehand, from the plan; then for what the job waits with.
      local first = assert(moonplan.sign_approval(
        assert(engine:approval { plan = plan, step = "a", caller = caller, expires = FAR }), key))
      job = assert(engine:resume(job.id, { approvals = { first } }))
      assert.equal("awaiting_approval", job.status)
      assert.same({ "a" }, calls)
      local request = assert(engine:approval { job = job.id, expires = FAR })
      assert.equal("b", moonplan.json.decode(request).step_id)
      assert.same(caller, moonplan.json.decode(request).caller)
      job = assert(engine:resume(job.id, { approvals = { first, assert(moonplan.sign_approval(request, key)) } }))
      assert.equal("completed", job.status)
      assert.same({ "a", "b" }, calls)
      engine:close()
    end)
  end

  it("is refused when it is not an approver's, or not for anything", function()
    local engine = engine_of { approvals = { "write" }, approvers = { key.public } }
    local request = assert(engine:approval { plan = plan, step = "a", expires = FAR })
    local function refused(approval)
      local job, err = engine:run(plan, { approvals = { approval } })
      assert.is_nil(job)
      return err.code
    end
    assert.equal("approval.key", refused(assert(moonplan.sign_approval(request, moonplan.keys.new()))))
    assert.equal("approval.shape", refused(request))
    assert.equal("approval.shape", refused "{")
    local old = assert(engine:approval { plan = plan, step = "a", expires = 0 })
    assert.equal("approval.expired", refused(assert(moonplan.sign_approval(old, key))))
    local signed = assert(moonplan.sign_approval(request, key))
    assert.equal("approval.signature", refused((signed:gsub('"step_id":"a"', '"step_id":"b"'))))
    -- Every flipped bit of the signature.
    local from, to = signed:find('"signature":"[^"]*"')
    for at = from + 13, to - 1 do
      for bit = 0, 7 do
        local changed = signed:sub(1, at - 1) .. string.char(signed:byte(at) ~ (1 << bit)) .. signed:sub(at + 1)
        local code = refused(changed)
        assert(code == "approval.signature" or code == "approval.shape", code)
      end
    end
    assert.is_nil(engine:approval { plan = plan, step = "none", expires = FAR })
    assert.is_nil(engine:approval { plan = plan, step = "b", expires = FAR }) -- its input is not known yet
    assert.is_nil(engine:approval { plan = "{", expires = FAR })
    assert.has_error(function() engine:approval { expires = FAR } end)
    assert.has_error(function() engine:approval { plan = plan, job = "x", expires = FAR } end)
    assert.has_error(function() engine:approval { plan = plan } end)
    engine:close()
  end)

  it("is signed over what anybody can put together", function()
    -- RFC 8032 and the canonical text, by hand: the members sorted, without the signature.
    local engine = engine_of {}
    local signed = assert(moonplan.sign_approval(assert(engine:approval { plan = plan, expires = FAR }), key))
    local members, order = moonplan.json.decode(signed), {}
    members.signature = nil
    for name in pairs(members) do order[#order + 1] = name end
    table.sort(order)
    assert.same({ "api", "caller", "capability_versions", "created", "expires", "key", "kind", "nonce",
      "plan_digest" }, order)
    assert.same({ a = "1.0.0", b = "1.0.0" }, members.capability_versions)
    assert.equal(moonplan.null, members.caller)
    assert.equal(key.id, members.key)
    engine:close()
  end)
end)

describe("the audit trail", function()
  it("tells what happened, and shows what was changed", function()
    local path = next_path()
    local engine = engine_of { store = path }
    local job = assert(engine:run { steps = { step("a", "act", { 1 }) } })
    local other = assert(engine:run { steps = { step("b", "act", { fail = true }) } })
    local all, own = assert(engine:records()), assert(engine:records(job.id))
    assert.equal(#job.events + #other.events, #all)
    assert.equal(#job.events, #own)
    local before = ("0"):rep(64)
    for n, text in ipairs(all) do
      local record = moonplan.json.decode(text)
      assert.equal(n, record.sequence)
      assert.equal(before, record.before)
      before = record.digest
    end
    local key = assert(moonplan.keys.new())
    local report = assert(engine:verify { key = key.public })
    assert.is_false(report.sound)
    assert.equal("signature", report.faults[1].what)
    assert.is_true(engine:sign_head(key))
    report = assert(engine:verify { key = key.public })
    assert.same({ true, 2, #all, before, #all },
      { report.sound, report.jobs, report.records, report.head, report.signed.sequence })
    local nothing, err = engine:records "none"
    assert.is_nil(nothing)
    assert.equal("job.not_found", err.code)
    engine:close()
  end)

  it("is not there in memory", function()
    local engine = engine_of {}
    for _, what in ipairs { "records", "verify" } do
      local nothing, err = engine[what](engine)
      assert.is_nil(nothing)
      assert.equal("option", err.code)
    end
    engine:close()
  end)
end)
