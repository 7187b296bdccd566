--- A call plan carried out by an executor. The executor answers short questions; in which order
--- they are asked, how long is waited, whether the person agrees and what goes on record is
--- decided here, in the host's own state.
---
---   send(lib, host, plan, options) -> outcome; or nil and { capability, message }: the plan
---   requires what is not implemented, the capability of that number
---
--- `lib` has moonplan.abi, array and quote. `host` has the executor (name, version, submits,
--- implements, has), executors() -> all that there are, ask(name, question) -> answer, or nil and
--- { kind, message }, wait(ms), now() in ms, token().
---
--- What was asked to be sent is never asked again: an answer that is lost makes it "unknown".

local Sending = {}
Sending.__index = Sending

local TIMEOUT_MS = 300000
local PAUSE_MS, PAUSE_MOST_MS = 100, 4000
local RETRY_MS = 250 -- and twice as long each time
local STALE_MS = 1000
local LAG_MS = 60000 -- for a node to see what another has put on record
local TEXT_MOST = 2000

-- What a failure of an executor is, by the code that it gives.
local CODES = {
  rpc_error = "send.rpc_error", chain = "send.chain", account = "send.account",
  answer = "send.answer",
}
local OUTCOMES = {
  passed = true, unavailable = true, execution_reverted = true, simulation_setup_error = true,
}
local STATES = {
  pending = true, succeeded = true, reverted = true, failed = true, partial = true, absent = true,
}
local SUBMITTED = { sent = true, refused = true, unsent = true, unknown = true }

-- The beginning of a long text, as whole characters.
local function cut(message)
  if #message <= TEXT_MOST then return message end
  local last = TEXT_MOST
  while message:byte(last + 1) & 0xc0 == 0x80 do last = last - 1 end
  return message:sub(1, last) .. "…"
end

-- -- What executors are asked -------------------------------------------------------------------

-- "0x" and digits, of a decimal below 2^256.
local function hex(lib, decimal)
  local digits = assert(lib.abi.encode("(uint256)", { decimal })):sub(3):gsub("^0+", "")
  return "0x" .. (digits == "" and "0" or digits)
end

local function calls_of(lib, plan)
  local calls = {}
  for n = 1, #plan.steps do
    local step = plan.steps[n]
    calls[n] = { to = step.to, data = step.data, value = hex(lib, step.value) }
  end
  return calls
end

--- A question about some of the calls; `more` has what else it says. Captions, gas hints, advice
--- and extensions of the plan are no part of any.
function Sending:question(calls, more)
  local question = more or {}
  question.chain_id, question.sender = self.chain_id, self.plan.sender
  question.count, question.atomic = #self.calls, self.atomic
  question.calls = self.lib.array(calls)
  return question
end

function Sending:ask_once(name, question)
  local answer, failure = self.host.ask(name, question)
  if failure then failure.message = cut(failure.message) end
  return answer, failure
end

--- Ask, and again after a failure of the node as often as the person allows.
function Sending:ask(name, question)
  local left, pause = self.options.retry_rpc or 0, RETRY_MS
  while true do
    local answer, failure = self:ask_once(name, question)
    if answer ~= nil or failure.kind ~= "rpc_error" or left == 0 then
      return answer, failure
    end
    left = left - 1
    self:tell { event = "retry", question = name, message = failure.message }
    self.host.wait(pause)
    pause = math.min(2 * pause, PAUSE_MOST_MS)
  end
end

local function senseless(name)
  return ("the executor's answer to %s makes no sense"):format(name)
end

local function no_answer(name) return { kind = "answer", message = senseless(name) } end

-- A transaction's hash, or what a wallet calls a batch (EIP-5792: at most 4096 bytes).
local function is_id(value, submits)
  if type(value) ~= "string" then return false end
  if submits == "call" then return #value == 66 and value:find("^0x%x+$") ~= nil end
  return #value > 0 and #value <= 4096 and not value:find("[^\x21-\x7e]")
end

local function is_bytes(value)
  return type(value) == "string" and #value % 2 == 0 and value:find("^0x%x*$") ~= nil
end

-- What the executor has added to a call: a few short texts, for they go on record.
local function is_request(request)
  if request == nil then return true end
  if type(request) ~= "table" then return false end
  local count = 0
  for name, value in pairs(request) do
    count = count + 1
    if count > 16 or type(name) ~= "string" or type(value) ~= "string" or #name + #value > 256 then
      return false
    end
  end
  return true
end

-- What may be said in an answer beside what it is about; a long message is cut.
local function is_plain(answer)
  local message = answer.message
  if message ~= nil and type(message) ~= "string" then return false end
  answer.message = message and cut(message)
  return (answer.data == nil or is_bytes(answer.data)) and is_request(answer.request)
end

-- A receipt with what is known of receipts and nothing more; nil where it is none.
local function read_receipt(receipt)
  if type(receipt) ~= "table" then return nil end
  local made = {}
  for name, most in pairs {
    transaction_hash = 66, block_hash = 66, block_number = 66, gas_used = 66, status = 3,
  } do
    local value = receipt[name]
    if type(value) ~= "string" or #value > most or not value:find("^0x%x+$") then return nil end
    made[name] = value:lower()
  end
  if made.status ~= "0x0" and made.status ~= "0x1" then return nil end
  return made
end

-- The receipts of an answer, at most so many; nil where they are none.
local function read_receipts(lib, list, most)
  local made = lib.array {}
  if list == nil then return made end
  if type(list) ~= "table" or #list > most then return nil end
  for n, receipt in ipairs(list) do
    made[n] = read_receipt(receipt)
    if not made[n] then return nil end
  end
  return made
end

-- The one receipt of a call that was sent alone: of this transaction, and of this end.
local function is_proof(answer, id)
  local receipt = answer.receipts[1]
  return receipt ~= nil and #answer.receipts == 1 and receipt.transaction_hash == id:lower()
    and receipt.status == (answer.state == "succeeded" and "0x1" or "0x0")
end

--- Ask for an answer that is an outcome of something tried.
function Sending:try(name, question)
  local answer, failure = self:ask(name, question)
  if answer == nil then return nil, failure end
  if type(answer) ~= "table" or not OUTCOMES[answer.outcome] or not is_plain(answer) then
    return nil, no_answer(name)
  end
  local step = answer.step
  if step ~= nil and (math.type(step) ~= "integer" or step < 1 or step > #question.calls) then
    return nil, no_answer(name)
  end
  return answer
end

-- -- What goes on record ------------------------------------------------------------------------

--- Tell whoever keeps the record. Once it cannot be kept, nothing more is sent. What it raises says
--- no more than that: passed on, it would take the outcome along of what has been sent.
function Sending:tell(entry)
  local record = self.options.record
  if not record or self.unrecorded then return end
  local fine, kept, why = pcall(record, entry)
  if not fine then kept, why = false, kept end
  if not kept then self.unrecorded = type(why) == "string" and why or "the record is not kept" end
end

--- The outcome is decided: nothing more happens.
function Sending:finish(status, code, message, step)
  local outcome = self.outcome
  outcome.status = status
  if code then
    outcome.error = { code = code, message = message, step = step }
  end
  return outcome
end

function Sending:fail(failure, step)
  return self:finish("failed", CODES[failure.kind] or "send.executor", failure.message, step)
end

-- What a reverted call gave, decoded with the plan's own ABI where it brings one.
function Sending:revert(n, data)
  local lib, plan = self.lib, self.plan
  local place = ("/ordered_steps/%d/revert_decode"):format(n - 1)
  local sources, text, revert, abi, err = {}, plan:source(place .. "/abi"), nil, nil, nil
  if text then abi, err = lib.abi.parse(text) end
  if abi then sources[1] = { abi = abi, origin = "the ABI that the plan supplies" } end
  for _, each in ipairs(self.options.abis or {}) do sources[#sources + 1] = each end
  if data and not err then revert, err = lib.abi.decode_revert(data, { abis = sources }) end
  if not revert then
    revert = {
      kind = "unknown", data = data,
      text = err and err.message or "the node did not say what it reverted with",
    }
  end
  revert.required = plan:source(place .. "/required") == "true"
  revert.decoded = revert.kind == "error" or revert.kind == "panic" or revert.kind == "custom"
  return revert
end

-- The producer's advice for a kind of failure; nobody here acts on it.
function Sending:advice(kind)
  local policy = self.plan.failure_policy
  return policy and policy[kind]
end

--- Something that was only tried has failed.
function Sending:failed_trial(answer, step)
  local kind = answer.outcome
  local message
  local revert = kind == "execution_reverted" and step and self:revert(step, answer.data)
  if revert and (revert.data and revert.data ~= "0x" or not answer.message) then
    message = revert.text
  else
    message = answer.message or "the node does not say why"
  end
  local outcome = self:finish("failed", "send." .. kind, message, step)
  outcome.error.revert = revert or nil
  outcome.error.advice = self:advice(kind)
  return outcome
end

function Sending:failed_asking(failure, step)
  local outcome = self:fail(failure, step)
  if failure.kind == "rpc_error" then outcome.error.advice = self:advice("rpc_error") end
  return outcome
end

-- -- Before anything is sent --------------------------------------------------------------------

local function lacks(required, implemented)
  local known = {}
  for _, name in ipairs(implemented) do known[name] = true end
  for n, name in ipairs(required) do
    if not known[name] then return n, name end
  end
end

-- What an executor implements, for so many calls: sent one by one, they are no atomic batch,
-- whatever it declares; one call alone is.
local function implemented_by(executor, count)
  local list = {}
  for _, name in ipairs(executor.implements) do
    if name ~= "atomic_batch" or executor.submits == "plan" or count == 1 then
      list[#list + 1] = name
    end
  end
  return list
end

-- Which other executors have a capability, as words.
function Sending:elsewhere(name)
  local others = {}
  for _, executor in ipairs(self.host.executors()) do
    if executor.name ~= self.host.executor.name
      and not lacks({ name }, implemented_by(executor, #self.calls)) then
      others[#others + 1] = self.lib.quote(executor.name)
    end
  end
  if #others == 0 then return "" end
  return ("; %s %s it"):format(table.concat(others, ", "), #others == 1 and "implements"
    or "implement")
end

function Sending:missing(implemented, whose)
  local n, name = lacks(self.plan.required_capabilities, implemented)
  if not n then return nil end
  local there = #implemented == 0 and "it implements none"
    or "it implements: " .. table.concat(implemented, ", ")
  return {
    capability = n,
    message = ("the plan requires %s, which %s does not implement; %s%s"):format(
      self.lib.quote(name), whose, there, self:elsewhere(name)),
  }
end

-- The wallet itself may do less than its executor can. True; or nil and a refusal, or nil, nil and
-- the outcome.
function Sending:prepare()
  local answer, failure = self:ask("prepare", self:question({}))
  if answer == nil then return nil, nil, self:failed_asking(failure) end
  local implements = type(answer) == "table" and answer.implements
  if implements == nil then return true end
  if type(answer) ~= "table" or type(implements) ~= "table" then
    return nil, nil, self:fail(no_answer("prepare"))
  end
  local both = {}
  for _, name in ipairs(implements) do
    if not lacks({ name }, self.implements) then both[#both + 1] = name end
  end
  local refusal = self:missing(both, "the wallet")
  if refusal then return nil, refusal end
  return true
end

-- Every call alone, on the state as it is now: only what is found of the first is certain.
function Sending:simulate_alone(simulation)
  simulation.method = "calls"
  simulation.notes[1] = "the node can try each call only alone, on the state as it is now: what "
    .. "depends on an earlier step shows when that is done"
  for n, call in ipairs(self.calls) do
    local answer, failure = self:try("simulate", self:question({ call }, { alone = true }))
    if not answer then return self:failed_asking(failure, n) end
    if answer.outcome == "unavailable" then
      simulation.method = "none"
      simulation.notes = self.lib.array { "the node can try nothing before it is sent" }
      return nil
    elseif answer.outcome ~= "passed" then
      if n == 1 then return self:failed_trial(answer, n) end
      local reverted = answer.outcome == "execution_reverted"
      simulation.notes[#simulation.notes + 1] = ("step %d fails when it is tried alone, %s: %s")
        :format(n, "which it may if it depends on an earlier one",
          reverted and answer.data and self:revert(n, answer.data).text or answer.message
          or "the node does not say why")
    end
  end
end

--- Nil where nothing speaks against sending; else the outcome.
function Sending:simulate()
  local simulation = { method = "plan", notes = self.lib.array {} }
  self.outcome.simulation = simulation
  if not self.host.executor.has.simulate then
    simulation.method = "none"
    simulation.notes[1] = "the executor can try nothing before it is sent"
    return nil
  end
  local answer, failure = self:try("simulate", self:question(self.calls))
  if not answer then return self:failed_asking(failure) end
  if answer.outcome == "unavailable" then return self:simulate_alone(simulation) end
  if answer.outcome ~= "passed" then return self:failed_trial(answer, answer.step) end
end

-- -- Sending --------------------------------------------------------------------------------------

-- What is waited for in growing pauses, for so long.
function Sending:waiting(most) return { deadline = self.host.now() + most, pause = PAUSE_MS } end

-- One pause; false when the time is over.
function Sending:pause(waiting)
  local left = waiting.deadline - self.host.now()
  if left <= 0 then return false end
  self.host.wait(math.min(waiting.pause, left))
  waiting.pause = math.min(waiting.pause + waiting.pause // 2, PAUSE_MOST_MS)
  return true
end

--- Until there is an outcome; nil and why there will be none.
function Sending:wait_for(question)
  local most = self.options.timeout_ms or TIMEOUT_MS
  local waiting = self:waiting(most)
  while true do
    local answer, failure = self:ask("outcome", question)
    if answer == nil then return nil, failure.message end
    if type(answer) ~= "table" or not STATES[answer.state] or not is_plain(answer)
      or (answer.atomic ~= nil and type(answer.atomic) ~= "boolean") then
      return nil, senseless("outcome")
    end
    if answer.state ~= "pending" then
      answer.receipts = read_receipts(self.lib, answer.receipts, #self.calls)
      if not answer.receipts then return nil, senseless("outcome") end
      return answer
    end
    if not self:pause(waiting) then
      return nil, ("there is no receipt after %s seconds"):format(("%.1f"):format(most / 1000)
        :gsub("%.0$", ""))
    end
  end
end

-- Ask for one thing to be sent, once. The id that it goes by; or nil, the state and why.
function Sending:submit(question)
  self.outcome.asked = self.outcome.asked + 1
  local answer, failure = self:ask_once("submit", question)
  if answer == nil then return nil, "unknown", failure.message end
  if type(answer) ~= "table" or not SUBMITTED[answer.state] or not is_plain(answer) then
    return nil, "unknown", senseless("submit")
  end
  local id = answer.id
  if not is_id(id, self.host.executor.submits) then id = nil end
  if answer.state ~= "sent" then
    return nil, answer.state, answer.message or "no reason was given", id
  end
  if not id then return nil, "unknown", "the answer has no hash or id to ask after" end
  return id
end

-- What is to be said of a step that was not carried out.
local WAYS = {
  refused = { "refused", "send.refused" },
  unsent = { "not_sent", "send.rpc_error" },
  unknown = { "unknown", "send.unknown" },
}

function Sending:not_submitted(state, message, step)
  local way = WAYS[state]
  if state == "unsent" then self.outcome.asked = self.outcome.asked - 1 end
  if state == "unknown" then
    message = "it was asked for, and whether it was sent is not known: " .. message
  end
  local outcome = self:finish(state == "unknown" and "unknown" or "failed", way[2], message, step)
  if state == "unsent" then outcome.error.advice = self:advice("rpc_error") end
  return way[1], outcome
end

function Sending:stop_unrecorded(step)
  return self:finish("failed", "io", "nothing more is sent, as the record cannot be kept: "
    .. self.unrecorded, step)
end

-- A quantity such that a greater one is the greater text; nil where it is none.
local function ordered(quantity)
  local digits = type(quantity) == "string" and #quantity <= 66 and quantity:match("^0x(%x+)$")
  return digits and (("0"):rep(64 - #digits) .. digits:lower())
end

-- Why an answer is one from before the steps that are done: the number that it gives the step's
-- transaction does not come behind theirs. Nil where it does, or has none.
function Sending:behind(n, request)
  local last, number = self.number, request and ordered(request.nonce)
  if not last or not number or number > last.number then return nil end
  return ("the node gives the transaction of step %d the number %s, and that of step %d, which "
    .. "succeeded, had %s"):format(n, request.nonce, last.step, last.nonce)
end

-- What a call is sent with. A node that has not seen the step before tries it on a state that is
-- over, and gives it a number that is taken: such an answer, a failure too, says nothing, and is
-- asked for again. The request, which may be nil; or nil and the outcome.
function Sending:estimate(n)
  local question = self:question({ self.calls[n] })
  local most = math.min(self.options.timeout_ms or TIMEOUT_MS, LAG_MS)
  local waiting
  while true do
    local answer, failure = self:try("estimate", question)
    if not answer then return nil, self:failed_asking(failure, n) end
    local request, stale = answer.request, self:behind(n, answer.request)
    if not stale and answer.outcome ~= "passed" then return nil, self:failed_trial(answer, n) end
    if not stale then
      local number = request and ordered(request.nonce)
      if number then self.number = { number = number, nonce = request.nonce, step = n } end
      return request
    end
    if not waiting then
      waiting = self:waiting(most)
      self:tell { event = "retry", question = "estimate", message = stale }
    end
    if not self:pause(waiting) then
      return nil, self:finish("failed", "send.answer", "it was not sent: " .. stale, n)
    end
  end
end

-- One call. Nil when it succeeded, else the outcome.
function Sending:send_call(n)
  local step, call = self.outcome.steps[n], self.calls[n]
  local request, outcome
  if self.host.executor.has.estimate then
    request, outcome = self:estimate(n)
    if outcome then return outcome end
  end
  step.request = request
  self:tell {
    event = "asking", step = n, to = call.to, value = call.value, request = request,
  }
  if self.unrecorded then return self:stop_unrecorded(n) end
  local id, state, message = self:submit(self:question({ call }, { request = request }))
  local twin = id and self.sent[id:lower()]
  if twin then
    id, state = nil, "unknown"
    message = ("the hash that came back is that of step %d"):format(twin)
  end
  if not id then
    step.status, outcome = self:not_submitted(state, message, n)
    self:tell { event = step.status, step = n, message = message }
    return outcome
  end
  self.sent[id:lower()] = n
  step.status, step.transaction_hash = "sent", id
  self:tell { event = "sent", step = n, transaction_hash = id }
  local answer
  answer, message = self:wait_for(self:question({ call }, { id = id, request = request }))
  if answer and (answer.state == "succeeded" or answer.state == "reverted")
    and not is_proof(answer, id) then
    answer, message = nil, #answer.receipts == 0 and "it came without a receipt"
      or "its receipt is that of something else"
  end
  if not answer or (answer.state ~= "succeeded" and answer.state ~= "reverted") then
    message = message or answer.message or "it came to no outcome"
    step.status = "unknown"
    self:tell { event = "unknown", step = n, transaction_hash = id, message = message }
    return self:finish("unknown", "send.unknown",
      "it was sent, and what became of it is not known: " .. message, n)
  end
  step.status, step.receipt = answer.state, answer.receipts[1]
  self:tell { event = answer.state, step = n, receipt = step.receipt }
  if answer.state == "reverted" then
    step.revert = self:revert(n, answer.data)
    outcome = self:finish("failed", "send.execution_reverted", step.revert.text, n)
    outcome.error.revert = step.revert
    outcome.error.advice = self:advice("execution_reverted")
    return outcome
  end
  if self.unrecorded and n < #self.calls then return self:stop_unrecorded(n) end
end

function Sending:send_calls()
  for n = 1, #self.calls do
    local outcome = self:send_call(n)
    if outcome then return outcome end
  end
  return self:finish("completed")
end

function Sending:set_all(status)
  for _, step in ipairs(self.outcome.steps) do step.status = status end
end

-- Why the end of a batch cannot be what it is said to be; nil where it can.
local function contradiction(answer)
  local state, seen = answer.state, {}
  for _, receipt in ipairs(answer.receipts) do
    if state == "failed" then return "it is said not to have been sent, with a receipt" end
    if state == "succeeded" and receipt.status ~= "0x1" then
      return "it is said to be confirmed, with the receipt of a revert"
    elseif state == "reverted" and receipt.status ~= "0x0" then
      return "it is said to have reverted, with the receipt of a success"
    elseif seen[receipt.transaction_hash] then
      return "it came with the receipt of one transaction twice"
    end
    seen[receipt.transaction_hash] = true
  end
  if state == "succeeded" and #answer.receipts == 0 then
    return "it is said to be confirmed, without a receipt"
  end
end

-- A batch that had to be one transaction, and is said to have succeeded, but not as one.
function Sending:is_torn(answer)
  return self.atomic and answer.state == "succeeded" and #self.calls > 1
    and (answer.atomic ~= true or #answer.receipts ~= 1)
end

-- What became of each step of a batch, as far as the receipts say: all have one, or each has.
function Sending:share_out(answer)
  local steps, receipts = self.outcome.steps, answer.receipts
  local whole = { succeeded = "succeeded", reverted = "reverted", failed = "not_sent" }
  self:set_all(whole[answer.state] or "unknown")
  if #receipts == #steps and not self.outcome.atomic then
    for n, step in ipairs(steps) do
      step.receipt = receipts[n]
      step.status = receipts[n].status == "0x1" and "succeeded" or "reverted"
    end
  end
end

local BATCH_ENDS = {
  reverted = { "send.execution_reverted", "the whole batch reverted" },
  failed = { "send.refused", "the wallet did not send the batch, and will not" },
  partial = { "send.execution_reverted", "only a part of the batch took effect" },
}

-- All calls as one batch.
function Sending:send_plan()
  local outcome, token = self.outcome, self.host.token()
  self:tell { event = "asking", token = token, atomic = self.atomic }
  if self.unrecorded then return self:stop_unrecorded() end
  local id, state, message, known = self:submit(self:question(self.calls, { token = token }))
  local answer
  if not id and state == "unknown" and known then
    -- The answer was lost, and the batch can be asked after: that sends nothing.
    answer = self:ask_once("outcome", self:question({}, { id = known }))
    if type(answer) == "table" and STATES[answer.state] and answer.state ~= "absent" then
      id = known
    end
  end
  if not id then
    local status, decided = self:not_submitted(state, message)
    self:set_all(status)
    outcome.id = known
    self:tell { event = status, id = known, message = message }
    return decided
  end
  outcome.id = id
  self:set_all("sent")
  self:tell { event = "sent", id = id }
  answer, message = self:wait_for(self:question({}, { id = id }))
  local impossible = answer and contradiction(answer)
  if impossible then answer, message = nil, impossible end
  if not answer or answer.state == "absent" then
    message = message or answer.message or "the wallet no longer knows it"
    self:set_all("unknown")
    self:tell { event = "unknown", id = id, message = message }
    return self:finish("unknown", "send.unknown",
      "it was handed over, and what became of it is not known: " .. message)
  end
  if self:is_torn(answer) then
    answer.state, answer.atomic, answer.message = "partial", false,
      "it was not carried out as one transaction, though that was required"
  end
  outcome.receipts, outcome.atomic = answer.receipts, answer.atomic == true
  self:share_out(answer)
  self:tell { event = answer.state, id = id, receipts = answer.receipts }
  local ending = BATCH_ENDS[answer.state]
  if not ending then return self:finish("completed") end
  local code = answer.state == "partial" and self.atomic and "send.not_atomic" or ending[1]
  outcome = self:finish("failed", code, answer.message or ending[2])
  if code == "send.execution_reverted" then
    outcome.error.advice = self:advice("execution_reverted")
  end
  return outcome
end

-- -- All of it ------------------------------------------------------------------------------------

function Sending:confirmed()
  local confirm = self.options.confirm
  if not confirm then return true end
  local before = self.host.now()
  local agreed, why = confirm(self.outcome)
  if agreed == true then
    -- A person takes time, and what takes the whole plan tries no step again before it is sent.
    if self.host.executor.submits == "plan" and self.host.now() - before > STALE_MS then
      local outcome = self:simulate()
      if outcome then return nil, outcome end
    end
    return true
  end
  return nil, self:finish("declined", "send.declined",
    type(why) == "string" and why or "it was not agreed to")
end

local function steps_of(lib, plan)
  local steps = lib.array {}
  for n = 1, #plan.steps do steps[n] = { step = n, to = plan.steps[n].to, status = "not_sent" } end
  return steps
end

function Sending:run()
  local executor, options = self.host.executor, self.options
  local refusal = self:missing(self.implements, self.lib.quote(executor.name))
  if refusal then return nil, refusal end
  local fine, refused, outcome = self:prepare()
  if not fine then return outcome, refused end
  outcome = self:simulate()
  if outcome then return outcome end
  if options.simulate_only then return self:finish("simulated") end
  fine, outcome = self:confirmed()
  if not fine then return outcome end
  self:tell {
    event = "plan", digest = self.outcome.digest, chain_id = self.plan.chain_id,
    sender = self.plan.sender, required_capabilities = self.plan.required_capabilities,
    executor = self.outcome.executor, steps = #self.calls,
  }
  if self.unrecorded then return self:stop_unrecorded() end
  outcome = executor.submits == "plan" and self:send_plan() or self:send_calls()
  self:tell { event = "end", status = outcome.status, error = outcome.error }
  return outcome
end

return function(lib, host, plan, options)
  local atomic = false
  for _, name in ipairs(plan.required_capabilities) do atomic = atomic or name == "atomic_batch" end
  local executor = host.executor
  local self = setmetatable({
    lib = lib, host = host, plan = plan, options = options, atomic = atomic,
    chain_id = hex(lib, plan.chain_id), calls = calls_of(lib, plan),
    implements = implemented_by(executor, #plan.steps),
    sent = {}, -- steps by the hashes of their transactions
    outcome = {
      unrecorded = false, -- so that telling takes no memory when there is none
      status = "failed", digest = plan.digest, chain_id = plan.chain_id, sender = plan.sender,
      required_capabilities = plan.required_capabilities, asked = 0,
      executor = { name = executor.name, version = executor.version },
      steps = steps_of(lib, plan),
    },
  }, Sending)
  local fine, outcome, refusal = pcall(self.run, self)
  self.outcome.unrecorded = self.unrecorded
  if fine then return outcome, refusal end
  -- What is raised here is a callback's, or memory that there is not. Before something was asked
  -- for, it is passed on; afterwards, it would take the outcome along.
  if self.outcome.asked == 0 then error(outcome, 0) end
  if options.record and not self.unrecorded then
    self.outcome.unrecorded = "the record lacks its end"
  end
  if self.outcome.error then return self.outcome end
  return self:finish("unknown", "send.unknown", "what was sent was not seen to its end: "
    .. (type(outcome) == "string" and cut(outcome) or "something was raised"))
end
