--- A call plan's review laid out for a person, as text.
local call_text = require "moonplan.command.call_text"
local findings = require "moonplan.command.findings"
local text = require "moonplan.command.text"

local call_review = {}

-- What the standard says of the capabilities that it names (ERC-8410, Required Capabilities).
local CAPABILITIES = {
  atomic_batch = "all steps in one transaction that takes effect or reverts as a whole",
}
local UNKNOWN_CAPABILITY = "not a capability that ERC-8410 defines; a wallet that does not know it "
  .. "must refuse"

-- In the order of the standard's table.
local FAILURES = {
  { "rpc_error", "the node fails" },
  { "execution_reverted", "the simulation reverts" },
  { "simulation_setup_error", "the simulation cannot be set up" },
}

call_review.ADVICE = "The producer's advice, which nobody has checked and which permits nothing"
call_review.NOTHING_REQUIRED = "Requires nothing of the wallet; steps may go out one by one, "
  .. "in order"
call_review.KEEP = "Keep what is required of the wallet together with an approval of the digest"

--- The capabilities that a plan requires: a list of { name, meaning }, both safe to print.
---@param review table
function call_review.capabilities(review)
  local list = {}
  for n, name in ipairs(review.required_capabilities) do
    list[n] = { name = text.visible(name), meaning = CAPABILITIES[name] or UNKNOWN_CAPABILITY }
  end
  return list
end

--- The producer's advice: a list of { failure, action, instruction }, the last one quoted.
---@param review table
function call_review.advice(review)
  local list = {}
  for _, failure in ipairs(FAILURES) do
    local advice = review.failure_policy and review.failure_policy[failure[1]]
    if advice then
      list[#list + 1] = {
        failure = failure[2], action = advice.action, instruction = text.quoted(advice.instruction),
      }
    end
  end
  return list
end

--- "68 bytes, selector 0x095ea7b3"
---@param step table
---@return string
function call_review.data(step)
  if step.data_bytes == 0 then return "none" end
  local size = text.count(step.data_bytes, "byte")
  if not step.call.selector then return size .. ", too short for a selector" end
  return ("%s, selector %s"):format(size, step.call.selector)
end

--- Lines of a step behind its number and kind: a list of { label, value }.
---@param step table
---@param has_revert_decode boolean
function call_review.facts(step, has_revert_decode)
  local facts = {
    { "to", step.to },
    { "value", ("%s wei (%s ether)"):format(step.value, step.value_ether) },
    { "data", call_review.data(step) },
  }
  if step.gas then
    facts[#facts + 1] = { "gas", step.gas .. ", the producer's guess; estimate your own" }
  end
  if has_revert_decode then
    facts[#facts + 1] = { "reverts", "can be decoded with the producer's ABI" }
  end
  return facts
end

local function add_step(lines, step, has_revert_decode)
  lines[#lines + 1] = ("  %-2d %s"):format(step.step, step.kind)
  for _, fact in ipairs(call_review.facts(step, has_revert_decode)) do
    lines[#lines + 1] = ("     %-7s %s"):format(fact[1], fact[2])
  end
  local head = call_text.head(step.call)
  if not head then return end
  lines[#lines + 1] = "     calls   " .. head
  call_text.add(lines, "       ", step.call)
end

local function add_capabilities(lines, review)
  lines[#lines + 1] = ""
  local list = call_review.capabilities(review)
  if #list == 0 then
    lines[#lines + 1] = call_review.NOTHING_REQUIRED
    return
  end
  lines[#lines + 1] = "Requires of the wallet"
  for _, each in ipairs(list) do
    lines[#lines + 1] = ("  %s: %s"):format(each.name, each.meaning)
  end
end

local function add_advice(lines, review)
  local list = call_review.advice(review)
  if #list == 0 then return end
  lines[#lines + 1] = ""
  lines[#lines + 1] = call_review.ADVICE
  for _, advice in ipairs(list) do
    lines[#lines + 1] = ("  if %s: %s"):format(advice.failure, advice.action)
    lines[#lines + 1] = "    " .. advice.instruction
  end
end

--- Which steps bring an ABI of the producer's for reverts. Asked of the text: as a Lua value it
--- might not exist.
---@param plan table moonplan.CallPlan
---@return boolean[]
function call_review.revert_decodes(plan)
  local list = {}
  for n = 1, #plan.steps do
    list[n] = plan:source(("/ordered_steps/%d/revert_decode"):format(n - 1)) ~= nil
  end
  return list
end

--- Does anything in a plan's review rest on a guess?
---@param review table
---@return boolean
function call_review.guessed(review)
  for _, step in ipairs(review.steps) do
    if call_text.guessed(step.call) then return true end
  end
  return false
end

---@param plan table moonplan.CallPlan
---@param review table its review
---@param descriptor integer? where it is written to: 1, or 2 for standard error
---@return string
function call_review.layout(plan, review, descriptor)
  local lines = {
    "digest  " .. review.digest,
    "chain   " .. review.caip2_chain_id,
    "sender  " .. review.sender,
    "",
  }
  findings.add(lines, review.findings, descriptor)
  lines[#lines + 1] = ""
  lines[#lines + 1] = text.count(#review.steps, "step")
  local reverts = call_review.revert_decodes(plan)
  for n, step in ipairs(review.steps) do add_step(lines, step, reverts[n]) end
  if call_review.guessed(review) then lines[#lines + 1] = "  " .. call_text.GUESS end
  add_capabilities(lines, review)
  add_advice(lines, review)
  lines[#lines + 1] = ""
  lines[#lines + 1] = "Not covered by the digest: " .. table.concat(review.outside_digest, ", ")
  lines[#lines + 1] = call_review.KEEP
  return table.concat(lines, "\n") .. "\n"
end

return call_review
