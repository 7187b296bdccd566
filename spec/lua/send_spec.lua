-- engine:send, with executors that are plugins of this spec's own: what the host's loop makes of
-- their answers, whatever they are. Those that come along are tried in spec/cli/send_spec.lua.
local chain = require "spec.support.chain"
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"

local HASH = "0x" .. ("ab"):rep(32)

local function plan(count, more)
  local all = { chain_id = "1", sender = chain.small.sender }
  for name, value in pairs(more or {}) do all[name] = value end
  return chain.plan(chain.calls(count), all)
end

-- Answers as Lua text: what each function returns. `q` is the question.
local FINE = {
  submits = "call", implements = "{}", prepare = "{}", simulate = "{ outcome = 'passed' }",
  estimate = "{ outcome = 'passed' }", submit = "{ state = 'sent', id = hash(q) }",
  outcome = "{ state = 'succeeded', receipts = { receipt('0x1', q.id) } }",
}

-- What their text may use.
local HEAD = ([[
local function hash(q) return '0x' .. ('%%02x'):format(0xaa + tonumber(q.calls[1].data)):rep(32) end
local function receipt(status, hash)
  if hash and not hash:find("^0x" .. ("%%x"):rep(64) .. "$") then hash = nil end
  return {
    transaction_hash = hash or '%s', block_hash = '%s', block_number = '0x1', gas_used = '0x5208', status = status,
  }
end
]]):format(HASH, HASH)

describe("engine:send", function()
  after_each(command.clean)

  -- An engine with an executor "try" that answers so.
  local function engine(answers, more)
    local folder = command.folder()
    local said = setmetatable(answers or {}, { __index = FINE })
    local parts = { HEAD .. ("return { kind = 'executor', api = 1, name = 'try', version = '1.0.0', "
      .. "summary = 'tries', submits = '%s', implements = %s,"):format(said.submits, said.implements) }
    for _, name in ipairs { "prepare", "simulate", "estimate", "submit", "outcome" } do
      if said[name] ~= "" then
        parts[#parts + 1] = ("%s = function(q, ctx) return %s end,"):format(name, said[name])
      end
    end
    command.write(folder .. "/try.lua", table.concat(parts, "\n") .. "}")
    local settings = { plugins = folder, isolation = "state" }
    for name, value in pairs(more or {}) do settings[name] = value end
    return assert(moonplan.engine(settings))
  end

  local function send(answers, options, text)
    options = options or {}
    options.executor = "try"
    return engine(answers):send(text or plan(3), options)
  end

  it("takes a plan, or its text", function()
    local outcome = assert(send(nil, nil, assert(moonplan.call_plan(plan(2)))))
    assert.equal("completed", outcome.status)
    assert.equal(moonplan.digest(plan(2)), outcome.digest)
    assert.same({ name = "try", version = "1.0.0" }, outcome.executor)
    assert.equal("completed", assert(send()).status)
  end)

  it("refuses a text that is no plan, with its faults", function()
    local outcome, err = send(nil, nil, "{}")
    assert.is_nil(outcome)
    assert.equal("call.missing_member", err.code)
  end)

  it("tells executors nothing but the calls", function()
    local text = plan(1, {
      extensions = { secret = "x" }, required_capabilities = { "atomic_batch" },
      simulation_failure_policy = {
        rpc_error = { action = "user_review", instruction = "x" },
        execution_reverted = { action = "user_review", instruction = "x" },
        simulation_setup_error = { action = "user_review", instruction = "x" },
      },
    })
    local outcome = assert(send({ implements = "{ 'atomic_batch' }",
      simulate = "{ outcome = 'execution_reverted', message = json.encode(q) }" }, nil, text))
    assert.same({
      chain_id = "0x1", sender = chain.small.sender, count = 1, atomic = true,
      calls = { { to = chain.calls(1)[1][1], data = "0x00000001", value = "0x0" } },
    }, moonplan.json.decode(outcome.error.message))
  end)

  it("writes quantities as JSON-RPC does", function()
    for decimal, hex in pairs { ["0"] = "0x0", ["1"] = "0x1", ["15"] = "0xf", ["16"] = "0x10",
      ["1000000000000000000"] = "0xde0b6b3a7640000", ["25595000000000020002"] = "0x16333b4e4521fce22",
      ["115792089237316195423570985008687907853269984665640564039457584007913129639935"] = "0x" .. ("f"):rep(64),
    } do
      local calls = chain.calls(1)
      calls[1][3] = decimal
      local outcome = assert(send({ simulate = "{ outcome = 'execution_reverted', message = q.calls[1].value }" },
        nil, chain.plan(calls, { chain_id = "1" })))
      assert.equal(hex, outcome.error.message)
    end
  end)

  -- What an answer leads to: code, and how often something was asked to be sent.
  local ENDS = {
    { "send.executor", 0, { prepare = "nil, 'broken'" } },
    { "send.executor", 0, { prepare = "error('broken')" } },
    { "send.executor", 0, { prepare = "nil, { code = 'odd', message = 'no wallet' }" } },
    { "send.answer", 0, { prepare = "nil" } },
    { "send.answer", 0, { prepare = "{ implements = 1 }" } },
    { "send.chain", 0, { prepare = "nil, { code = 'chain', message = 'chain 2' }" } },
    { "send.account", 0, { prepare = "nil, { code = 'account', message = 'not open' }" } },
    { "send.rpc_error", 0, { prepare = "nil, { code = 'rpc_error', message = 'down' }" } },
    { "send.answer", 0, { simulate = "{}" } },
    { "send.answer", 0, { simulate = "{ outcome = 'fine' }" } },
    { "send.answer", 0, { simulate = "{ outcome = 'execution_reverted', step = 4 }" } },
    { "send.answer", 0, { simulate = "{ outcome = 'execution_reverted', step = 1.0 }" } },
    { "send.answer", 0, { simulate = "{ outcome = 'execution_reverted', data = '0x1' }" } },
    { "send.answer", 0, { simulate = "{ outcome = 'execution_reverted', message = 7 }" } },
    { "send.answer", 0, { simulate = "7" } },
    { "send.execution_reverted", 0, { simulate = "{ outcome = 'execution_reverted', step = 2 }" } },
    { "send.simulation_setup_error", 0, { simulate = "{ outcome = 'simulation_setup_error' }" } },
    { "send.rpc_error", 0, { simulate = "nil, { code = 'rpc_error', message = 'down' }" } },
    { "send.execution_reverted", 0, { estimate = "{ outcome = 'execution_reverted', data = '0x' }" } },
    { "send.answer", 0, { estimate = "'0x5208'" } },
    { "send.refused", 1, { submit = "{ state = 'refused', message = 'no' }" } },
    { "send.rpc_error", 0, { submit = "{ state = 'unsent', message = 'down' }" } },
    { "send.unknown", 1, { submit = "{ state = 'unknown', message = 'lost' }" } },
    { "send.unknown", 1, { submit = "{ state = 'sent' }" } },
    { "send.unknown", 1, { submit = "{ state = 'sent', id = '0x12' }" } },
    { "send.unknown", 1, { submit = "{ state = 'sent', id = 7 }" } },
    { "send.unknown", 1, { submit = "{ state = 'perhaps' }" } },
    { "send.unknown", 1, { submit = "nil, { code = 'rpc_error', message = 'down' }" } },
    { "send.unknown", 1, { submit = "error('broken')" } },
    { "send.unknown", 1, { submit = "true" } },
    { "send.unknown", 1, { outcome = "{ state = 'done' }" } },
    { "send.unknown", 1, { outcome = "{ state = 'succeeded', receipts = 1 }" } },
    { "send.unknown", 1, { outcome = "{ state = 'absent' }" } },
    { "send.unknown", 1, { outcome = "nil, { code = 'rpc_error', message = 'down' }" } },
    { "send.unknown", 1, { outcome = "{ state = 'pending' }" } },
    { "send.execution_reverted", 1, { outcome = "{ state = 'reverted', receipts = { receipt '0x0' } }" } },
    -- A receipt that proves nothing of the kind.
    { "send.unknown", 1, { outcome = "{ state = 'reverted' }" } },
    { "send.unknown", 1, { outcome = "{ state = 'succeeded' }" } },
    { "send.unknown", 1, { outcome = "{ state = 'succeeded', receipts = { receipt '0x0' } }" } },
    { "send.unknown", 1, { outcome = "{ state = 'reverted', receipts = { receipt '0x1' } }" } },
    { "send.unknown", 1, { outcome = "{ state = 'succeeded', receipts = { receipt('0x1', '0x' .. ('12'):rep(32)) } }" } },
    { "send.unknown", 1, { outcome = "{ state = 'succeeded', receipts = { receipt '0x1', receipt '0x1' } }" } },
    { "send.unknown", 1, { outcome = "{ state = 'succeeded', receipts = { { status = '0x1' } } }" } },
    { "send.unknown", 1, { outcome = "{ state = 'succeeded', receipts = { 7 } }" } },
    { "send.answer", 0, { estimate = "{ outcome = 'passed', request = 7 }" } },
    { "send.answer", 0, { estimate = "{ outcome = 'passed', request = { gas = 7 } }" } },
    { "send.answer", 0, { estimate = "{ outcome = 'passed', request = { gas = ('0'):rep(300) } }" } },
    { "send.unknown", 1, { outcome = "{ state = 'succeeded', receipts = { receipt '0x1' }, atomic = 1 }" } },
    { "send.execution_reverted", 1, { submits = "plan", outcome = "{ state = 'partial' }" } },
    { "send.execution_reverted", 1, { submits = "plan", outcome = "{ state = 'reverted', receipts = { receipt '0x0' } }" } },
    -- Ends of a batch that no chain knows.
    { "send.unknown", 1, { submits = "plan", outcome = "{ state = 'succeeded' }" } },
    { "send.unknown", 1, { submits = "plan", outcome = "{ state = 'succeeded', receipts = { receipt '0x0' } }" } },
    { "send.unknown", 1, { submits = "plan",
      outcome = "{ state = 'succeeded', receipts = { receipt '0x1', receipt '0x1' } }" } },
    { "send.unknown", 1, { submits = "plan", outcome = "{ state = 'reverted', receipts = { receipt '0x1' } }" } },
    { "send.unknown", 1, { submits = "plan", outcome = "{ state = 'failed', receipts = { receipt '0x0' } }" } },
    { "send.refused", 1, { submits = "plan", outcome = "{ state = 'failed' }" } },
    { "send.unknown", 1, { submits = "plan", submit = "{ state = 'sent', id = 'a b' }" } },
    { "send.unknown", 1, { submits = "plan", outcome = "{ state = 'absent' }" } },
  }
  for n, case in ipairs(ENDS) do
    it(("ends with %s, answer %d"):format(case[1], n), function()
      local outcome = assert(send(case[3], { timeout_ms = 0 }))
      assert.equal(case[1], outcome.error.code, outcome.error.message)
      assert.equal(case[2], outcome.asked)
      assert.equal(case[1] == "send.unknown" and "unknown" or "failed", outcome.status)
      for step = 2, 3 do
        if (case[3].submits or "call") == "call" then assert.equal("not_sent", outcome.steps[step].status) end
      end
    end)
  end

  it("knows a batch that was to be one and was not", function()
    local outcome = assert(send({ submits = "plan", implements = "{ 'atomic_batch' }",
      outcome = "{ state = 'partial', message = 'in two' }" }, nil,
      plan(2, { required_capabilities = { "atomic_batch" } })))
    assert.equal("send.not_atomic", outcome.error.code)
  end)

  -- EIP-5792: atomic, or not; one receipt for all that is one transaction.
  it("takes no batch for one that does not prove it, whatever executor says so", function()
    local two = "{ receipt '0x1', receipt('0x1', '0x' .. ('12'):rep(32)) }"
    for said, code in pairs {
      ["atomic = false, receipts = " .. two] = "send.not_atomic",
      ["receipts = " .. two] = "send.not_atomic",
      ["atomic = true, receipts = " .. two] = "send.not_atomic",
      ["receipts = { receipt '0x1' }"] = "send.not_atomic",
      ["atomic = true, receipts = { receipt '0x0' }"] = "send.unknown",
      ["atomic = true"] = "send.unknown",
    } do
      local outcome = assert(send({ submits = "plan", implements = "{ 'atomic_batch' }",
        outcome = "{ state = 'succeeded', " .. said .. " }" }, nil, plan(2, { required_capabilities = { "atomic_batch" } })))
      assert.equal(code, outcome.error and outcome.error.code, said)
    end
    local outcome = assert(send({ submits = "plan", implements = "{ 'atomic_batch' }",
      outcome = "{ state = 'succeeded', atomic = true, receipts = { receipt '0x1' } }" }, nil,
      plan(2, { required_capabilities = { "atomic_batch" } })))
    assert.equal("completed", outcome.status)
    assert.is_true(outcome.atomic)
  end)

  it("does not take one transaction for two steps", function()
    local outcome = assert(send { submit = "{ state = 'sent', id = '" .. HASH .. "' }" })
    assert.equal("send.unknown", outcome.error.code)
    assert.matches("the hash that came back is that of step 1", outcome.error.message)
    assert.same({ "succeeded", "unknown", "not_sent" }, chain.statuses(outcome))
    outcome = assert(send { submit = "{ state = 'sent', id = '0x' .. ('AB'):rep(32) }" })
    assert.equal(2, outcome.error.step)
  end)

  it("does not give two steps one number", function()
    for first, second in pairs { ["'0x5'"] = "'0x05'", ["'0xA'"] = "'0xa'", ["'0x10'"] = "'0xf'" } do
      local outcome = assert(send({ estimate = ("{ outcome = 'passed', request = { nonce = "
        .. "q.calls[1].data == '0x00000001' and %s or %s } }"):format(first, second) }, { timeout_ms = 0 }))
      -- Step 1 has its receipt, and nothing was asked for step 2: there is nothing that is not known.
      assert.equal("failed", outcome.status)
      assert.equal("send.answer", outcome.error.code)
      assert.equal(("it was not sent: the node gives the transaction of step 2 the number %s, and that of step 1, "
        .. "which succeeded, had %s"):format(second:sub(2, -2), first:sub(2, -2)), outcome.error.message)
      assert.equal(1, outcome.asked)
      assert.same({ "succeeded", "not_sent", "not_sent" }, chain.statuses(outcome))
    end
    assert.equal("completed", assert(send { estimate = "{ outcome = 'passed', request = { nonce = "
      .. "('0x%x'):format(13 + tonumber(q.calls[1].data)) } }" }).status)
  end)

  it("asks again for what a node said that had not seen the step before", function()
    -- Of the second step: its number is taken, and it reverts; then it is its own.
    local estimate = [[(function()
      n = (n or 0) + 1
      if n == 1 then return { outcome = 'passed', request = { nonce = '0x5' } } end
      if n == 2 then return { outcome = 'execution_reverted', request = { nonce = '0x5' } } end
      if n == 3 then return { outcome = 'passed', request = { nonce = '0x4' } } end
      return { outcome = '%s', request = { nonce = '0x6' } }
    end)()]]
    local told = {}
    local function record(entry)
      if entry.event == "retry" then told[#told + 1] = entry end
      return true
    end
    local outcome = assert(send({ estimate = estimate:format("passed") }, { record = record }, plan(2)))
    assert.equal("completed", outcome.status)
    assert.same({ nonce = "0x6" }, outcome.steps[2].request)
    assert.same({ { event = "retry", question = "estimate",
      message = "the node gives the transaction of step 2 the number 0x5, and that of step 1, which succeeded, had 0x5" } }, told)
    -- What it says once it has, counts.
    outcome = assert(send({ estimate = estimate:format("execution_reverted") }, nil, plan(2)))
    assert.equal("send.execution_reverted", outcome.error.code)
    assert.same({ "succeeded", "not_sent" }, chain.statuses(outcome))
    -- A failure of the node is one.
    outcome = assert(send({ estimate = "(function() n = (n or 0) + 1 "
      .. "if n == 3 then return nil, { code = 'rpc_error', message = 'down' } end "
      .. "return { outcome = 'passed', request = { nonce = '0x5' } } end)()" }, nil, plan(2)))
    assert.equal("send.rpc_error", outcome.error.code)
    assert.same({ "succeeded", "not_sent" }, chain.statuses(outcome))
  end)

  -- The end of what was sent, and the reason that is given where that leaves it unknown.
  it("says why it does not know what became of something", function()
    for _, case in ipairs {
      { "call", "{ state = 'absent' }", "it came to no outcome" },
      { "call", "{ state = 'absent', message = 'gone' }", "gone" },
      { "call", "{ state = 'failed', message = 'given up' }", "given up" },
      { "call", "{ state = 'partial', message = 'torn' }", "torn" },
      { "call", "{ state = 'succeeded' }", "it came without a receipt" },
      { "call", "{ state = 'reverted' }", "it came without a receipt" },
      { "call", "{ state = 'succeeded', receipts = { receipt '0x0' } }", "its receipt is that of something else" },
      { "call", "{ state = 'pending' }", "there is no receipt after 0 seconds" },
      { "call", "{ state = 'done' }", "the executor's answer to outcome makes no sense" },
      { "call", "{ state = 'absent', receipts = 1 }", "the executor's answer to outcome makes no sense" },
      { "call", "nil, { code = 'rpc_error', message = 'down' }", "down" },
      { "plan", "{ state = 'absent' }", "the wallet no longer knows it" },
      { "plan", "{ state = 'absent', message = 'gone' }", "gone" },
      { "plan", "{ state = 'succeeded' }", "it is said to be confirmed, without a receipt" },
      { "plan", "{ state = 'succeeded', receipts = { 7 } }", "the executor's answer to outcome makes no sense" },
      { "plan", "nil, { code = 'rpc_error', message = 'down' }", "down" },
    } do
      local outcome = assert(send({ submits = case[1], outcome = case[2] }, { timeout_ms = 0 }))
      assert.equal("send.unknown", outcome.error.code)
      assert.equal(("it was %s, and what became of it is not known: %s"):format(case[1] == "call" and "sent" or "handed over",
        case[3]), outcome.error.message)
    end
    -- And where it is known.
    for said, words in pairs { ["{ state = 'failed' }"] = "the wallet did not send the batch, and will not",
      ["{ state = 'failed', message = 'given up' }"] = "given up", ["{ state = 'partial', message = 'torn' }"] = "torn",
      ["{ state = 'reverted', message = 'all of it' }"] = "all of it" } do
      assert.equal(words, assert(send { submits = "plan", outcome = said }).error.message)
    end
  end)

  it("shows the producer's advice for what reverts, in a simulation or on the chain", function()
    local policy = { simulation_failure_policy = {
      rpc_error = { action = "user_review", instruction = "a" },
      execution_reverted = { action = "reprepare_plan", instruction = "b" },
      simulation_setup_error = { action = "user_review", instruction = "c" },
    } }
    for _, answers in ipairs {
      { simulate = "{ outcome = 'execution_reverted', step = 1 }" },
      { estimate = "{ outcome = 'execution_reverted' }" },
      { outcome = "{ state = 'reverted', receipts = { receipt('0x0', q.id) } }" },
      { submits = "plan", outcome = "{ state = 'reverted', receipts = { receipt '0x0' } }" },
      { submits = "plan", outcome = "{ state = 'partial' }" },
    } do
      local outcome = assert(send(answers, nil, plan(2, policy)))
      assert.equal("send.execution_reverted", outcome.error.code)
      assert.same({ action = "reprepare_plan", instruction = "b" }, outcome.error.advice)
    end
  end)

  describe("with an executor in a process of its own", function()
    local function confined(answers)
      return engine(answers, { isolation = "process", limits = { call_ms = 200 } })
        :send(plan(2), { executor = "try" })
    end

    it("sends", function()
      assert.equal("completed", assert(confined()).status)
    end)

    it("takes what an executor was doing when it was killed for unknown", function()
      local outcome = assert(confined { submit = "(function() while true do end end)()" })
      assert.equal("send.unknown", outcome.error.code)
      assert.same({ "unknown", "not_sent" }, chain.statuses(outcome))
      outcome = assert(confined { estimate = "(function() while true do end end)()" })
      assert.equal("send.executor", outcome.error.code)
      assert.equal(0, outcome.asked)
    end)
  end)

  it("does without what an executor does not have", function()
    local outcome = assert(send { simulate = "", estimate = "" })
    assert.equal("completed", outcome.status)
    assert.equal("none", outcome.simulation.method)
  end)

  -- -- Required capabilities -----------------------------------------------------------------

  it("refuses what the executor does not implement, before it is asked anything", function()
    local _, err = send({ prepare = "error('asked')" }, nil, plan(1, { required_capabilities = { "atomic_batch" } }))
    assert.equal("call.capability_unknown", err.code)
    assert.equal("/required_capabilities/0", err.at)
    assert.equal('the plan requires "atomic_batch", which "try" does not implement; it implements none; '
      .. '"wallet.sendcalls" implements it', err.message)
    _, err = send({ implements = "{ 'x' }" }, nil, plan(1, { required_capabilities = { "x", "y" } }))
    assert.equal("/required_capabilities/1", err.at)
    assert.matches("it implements: x$", err.message)
  end)

  it("lets nobody send one call after the other as a batch", function()
    local required = { required_capabilities = { "atomic_batch" } }
    local _, err = send({ implements = "{ 'atomic_batch' }" }, nil, plan(2, required))
    assert.equal("call.capability_unknown", err.code)
    assert.equal("completed", assert(send({ implements = "{ 'atomic_batch' }" }, nil, plan(1, required))).status)
  end)

  it("refuses what the wallet cannot do, whatever its executor could", function()
    for prepare, fine in pairs { ["{}"] = true, ["{ implements = { 'x', 'z' } }"] = true,
      ["{ implements = moonplan.array {} }"] = false, ["{ implements = { 'z' } }"] = false } do
      local outcome, err = send({ implements = "{ 'x' }", prepare = prepare }, nil,
        plan(1, { required_capabilities = { "x" } }))
      assert.equal(fine, outcome ~= nil)
      if not fine then assert.equal("call.capability_unknown", err.code) end
    end
  end)

  it("does not let a wallet add to what its executor declares", function()
    local _, err = send({ implements = "{ 'x' }", prepare = "{ implements = { 'x', 'y' } }" }, nil,
      plan(1, { required_capabilities = { "y" } }))
    assert.equal("call.capability_unknown", err.code)
  end)

  -- -- The host ----------------------------------------------------------------------------------

  it("sends nothing that is not agreed to", function()
    for _, answer in ipairs { false, "yes", 1 } do
      local seen
      local outcome = assert(send(nil, { confirm = function(so_far)
        seen = so_far.simulation.method
        return answer
      end }))
      assert.equal("plan", seen)
      assert.equal("declined", outcome.status)
      assert.equal("send.declined", outcome.error.code)
      assert.equal(0, outcome.asked)
    end
    assert.equal("completed", assert(send(nil, { confirm = function() return true end })).status)
  end)

  it("sends no other plan than was agreed to", function()
    local _, err = send(nil, { digest = moonplan.digest(plan(2)) }, plan(1))
    assert.equal("send.digest", err.code)
    assert.truthy(err.message:find(moonplan.digest(plan(1)), 1, true))
    assert.truthy(err.message:find(moonplan.digest(plan(2)), 1, true))
    assert.equal("completed", assert(send(nil, { digest = moonplan.digest(plan(1)) }, plan(1))).status)
  end)

  it("stops as soon as the record cannot be kept", function()
    -- plan, asking 1, sent 1, succeeded 1, asking 2, ...
    for n, asked in ipairs { 0, 0, 1, 1, 1, 2 } do
      local told = 0
      local outcome = assert(send(nil, { record = function()
        told = told + 1
        if told == n then return nil, "full" end
        return true
      end }))
      assert.equal("io", outcome.error.code)
      assert.matches("full", outcome.error.message)
      assert.equal(asked, outcome.asked)
    end
  end)

  it("raises what is raised where it is asked for consent", function()
    local engine_now = engine()
    assert.has_error(function()
      engine_now:send(plan(1), { executor = "try", confirm = function() error("mine", 0) end })
    end, "mine")
    assert.equal("completed", assert(engine_now:send(plan(1), { executor = "try" })).status)
    assert(engine_now:close() == nil)
  end)

  it("says that the record has no end, where that was not kept", function()
    local outcome = assert(send(nil, { record = function(entry)
      return entry.event ~= "end", "no room"
    end }))
    assert.equal("no room", outcome.unrecorded)
    assert.equal("completed", outcome.status)
    assert.is_nil(assert(send(nil, { record = function() return true end })).unrecorded)
  end)

  it("does not lose what has been sent to a record that raises", function()
    for event, asked in pairs { plan = 0, asking = 0, sent = 1, succeeded = 1 } do
      for said, shown in pairs { mine = "mine", [{}] = "the record is not kept" } do
        local outcome = assert(send(nil, { record = function(entry)
          if entry.event == event then error(said, 0) end
          return true
        end }))
        assert.equal("io", outcome.error.code)
        assert.truthy(outcome.error.message:find(shown, 1, true), outcome.error.message)
        assert.equal(asked, outcome.asked)
        if asked == 1 then
          assert.equal("succeeded", outcome.steps[1].status)
          assert.truthy(outcome.steps[1].receipt)
        end
      end
    end
  end)

  it("tries a batch again when the person took time", function()
    for seconds, count in pairs { [0] = 1, [1.2] = 2 } do
      local outcome = assert(send({ submits = "plan",
        simulate = "(function() n = (n or 0) + 1 return { outcome = n == 2 and 'simulation_setup_error' or 'passed' } end)()",
      }, { confirm = function() return os.execute("sleep " .. seconds) end }))
      assert.equal(count == 1 and "completed" or "failed", outcome.status)
    end
  end)

  it("cuts what an executor says at length", function()
    local outcome = assert(send { submit = "{ state = 'refused', message = ('é'):rep(100000) }" })
    assert.is_true(#outcome.error.message <= 2003)
    assert(utf8.len(outcome.error.message))
  end)

  it("asks again after a failure of the node, as often as it may, but never to send", function()
    local log = {}
    local broken = {
      simulate = "nil, { code = 'rpc_error', message = 'down' }",
    }
    local outcome = assert(send(broken, { retry_rpc = 1, record = function(entry)
      log[#log + 1] = entry.event .. " " .. entry.question
      return true
    end }))
    assert.equal("send.rpc_error", outcome.error.code)
    assert.same({ "retry simulate" }, log)
  end)

  it("refuses options that it does not have, and values that they cannot have", function()
    local engine_now = engine()
    for _, options in ipairs { { exectuor = "x" }, { retry_rpc = -1 }, { retry_rpc = 101 }, { retry_rpc = 1.5 },
      { timeout_ms = "1" }, { timeout_ms = -1 }, { confirm = true }, { record = {} }, { simulate_only = 1 },
      { executor = 1 }, { digest = 1 }, { abis = "x" }, 1 } do
      assert.has_error(function() engine_now:send(plan(1), options) end)
    end
  end)

  it("gives what the types for editors say", function()
    local meta = files.read(files.root .. "lua/moonplan/meta/send.lua")
    local function known(class, table)
      local fields = {}
      local text = assert(meta:match("%-%-%-@class moonplan%." .. class .. "\n(.-)\n\n"), class)
      for name in text:gmatch "@field ([%w_]+)" do fields[name] = true end
      for name in pairs(table) do assert(fields[name], class .. " has no field " .. name) end
    end
    local entries = {}
    local function record(entry)
      entries[#entries + 1] = entry
      return true
    end
    for _, answers in ipairs { {}, { estimate = "{ outcome = 'passed', request = { gas = '0x1' } }",
      outcome = "{ state = 'reverted', data = '0x', receipts = { receipt '0x0' } }" }, { submits = "plan" },
      { submit = "nil" }, { submits = "plan", submit = "nil" } } do
      local outcome = assert(send(answers, { record = record }))
      known("SendOutcome", outcome)
      if outcome.error then known("SendError", outcome.error) end
      for _, step in ipairs(outcome.steps) do
        known("SentStep", step)
        if step.receipt then known("Receipt", step.receipt) end
      end
    end
    for _, entry in ipairs(entries) do known("SendEntry", entry) end
  end)

  it("says which of Lua's libraries it misses", function()
    local engine_now, text = engine(), plan(1)
    for _, name in ipairs { "string", "table", "math" } do
      local library = _G[name]
      _G[name] = nil
      local fine, message = pcall(engine_now.send, engine_now, text, { executor = "try" })
      _G[name] = library
      assert.is_false(fine)
      assert.matches("Lua's library " .. name .. " has to be there", message, 1, true)
    end
  end)

  it("knows an executor from everything else", function()
    local _, err = engine():send(plan(1), { executor = "none" })
    assert.equal("send.executor", err.code)
    _, err = engine():send(plan(1), { executor = "text.count" })
    assert.equal("send.executor", err.code)
    _, err = engine():send(plan(1)) -- wallet.rpc, and nothing is granted
    assert.equal("send.executor", err.code)
    assert.matches("rpc:wallet", err.message)
  end)
end)
