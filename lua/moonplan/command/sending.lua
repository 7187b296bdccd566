--- What a person sees of a plan that is sent, on standard error, and is asked; and the record.
local call_review = require "moonplan.command.call_review"
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local findings = require "moonplan.command.findings"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local sending = {}
sending.__index = sending

-- The longest text of a node or executor that is shown.
local MOST = 500

local function tell(words) console.warn(words .. "\n") end

-- A quantity in decimal, where it is not too long for an integer.
local function decimal(quantity)
  if type(quantity) ~= "string" or not quantity:find("^0x%x+$") then return "?" end
  return #quantity <= 17 and ("%d"):format(tonumber(quantity)) or quantity
end

function sending.show_findings(review)
  local lines = {}
  findings.add(lines, review.findings, 2)
  tell(table.concat(lines, "\n"))
end

---@param name string of the document
---@param plan moonplan.CallPlan
---@param review moonplan.Review
---@param arguments table parsed
function sending.new(name, plan, review, arguments)
  return setmetatable({
    name = name, plan = plan, review = review, arguments = arguments, open = false,
  }, sending)
end

-- -- Asking ---------------------------------------------------------------------------------------

local METHODS = {
  plan = "all calls were tried in order, on the state as it is now, and none failed",
  calls = "every call was tried by itself",
  none = "nothing was tried",
}

local function show_simulation(simulation)
  tell("Simulation: " .. METHODS[simulation.method])
  for _, note in ipairs(simulation.notes) do tell("  note: " .. text.bounded(note, MOST)) end
end

local function answer()
  local reader = console.lines(nil, 64)
  local line = reader and reader:line()
  return line and line:match("^%s*(.-)%s*$")
end

--- The callback that decides, after the plan has been tried, whether it is sent.
---@param asks boolean
function sending:confirm(asks)
  return function(outcome)
    if not asks then
      sending.show_findings(self.review)
      show_simulation(outcome.simulation)
      return true
    end
    tell(call_review.layout(self.plan, self.review, 2))
    show_simulation(outcome.simulation)
    console.warn(("Send %s from %s on %s through %s? Only \"yes\" does: "):format(
      text.count(#self.review.steps, "call"), self.review.sender, self.review.caip2_chain_id,
      text.visible(outcome.executor.name)))
    return answer() == "yes"
  end
end

-- -- Lines ----------------------------------------------------------------------------------------

function sending:begin(words)
  console.warn(words .. " ... ")
  self.open = true
end

function sending:add(words, colour)
  if not self.open then return end
  console.warn(colour and report.coloured(2, colour, words) or words)
end

-- The line of a step or batch ends here.
function sending:close(words, colour)
  self:add(words, colour)
  console.warn("\n")
  self.open = false
end

local function mined(receipt)
  if type(receipt) ~= "table" then return "" end
  return (" (block %s, %s gas)"):format(decimal(receipt.block_number), decimal(receipt.gas_used))
end

local SHOWN = {}

function SHOWN.asking(self, entry)
  if not entry.step then
    return self:begin(("%s as one batch"):format(text.count(#self.review.steps, "call")))
  end
  self:begin(("%d/%d %s"):format(entry.step, #self.review.steps, entry.to))
end

function SHOWN.sent(self, entry)
  self:add(text.bounded(entry.transaction_hash or entry.id, MOST) .. " ... ")
end

function SHOWN.succeeded(self, entry)
  self:close("done" .. mined(entry.receipt), "green")
end

function SHOWN.reverted(self, entry)
  self:close("reverted" .. mined(entry.receipt), "red")
end

function SHOWN.unknown(self) self:close("unknown", "yellow") end
function SHOWN.refused(self) self:close("refused", "red") end
function SHOWN.not_sent(self) self:close("not sent", "red") end
function SHOWN.partial(self) self:close("in part", "red") end
function SHOWN.failed(self) self:close("failed", "red") end

function SHOWN.retry(self, entry)
  console.warn((self.open and "\n" or "") .. "retry: " .. text.bounded(entry.message, MOST) .. "\n")
end

--- The callback that is told of everything; it keeps the record as well.
function sending:record()
  local path = self.arguments.record
  local journal
  return function(entry)
    local kept, why = true, nil
    -- Retries while it is only tried are nothing to keep, and the file is made for what is sent.
    if path and (journal or entry.event == "plan") then
      if not journal then journal, why = console.journal(path) end
      kept = journal ~= nil
      if journal then
        kept, why = journal:add(report.escaped(assert(moonplan.json.encode(entry))) .. "\n")
      end
    end
    local show = SHOWN[entry.event]
    if show then show(self, entry) end
    if kept then return true end
    return nil, ("%s: %s"):format(text.visible(path), why)
  end
end

-- -- The end --------------------------------------------------------------------------------------

local EXITS = {
  completed = exits.fine, simulated = exits.fine, failed = exits.job_failed,
  unknown = exits.waiting, declined = exits.invalid,
}
-- Failures before anything was sent that say nothing of the plan, or refuse it.
local BEFORE = {
  ["send.rpc_error"] = exits.failed, ["send.executor"] = exits.failed, io = exits.failed,
  ["send.answer"] = exits.failed, ["send.chain"] = exits.invalid, ["send.account"] = exits.invalid,
}

local function exit_of(outcome)
  local code = outcome.error and outcome.error.code
  if outcome.status == "failed" and outcome.asked == 0 and BEFORE[code] then return BEFORE[code] end
  return EXITS[outcome.status]
end

local function sums(outcome)
  local counts = {}
  for _, step in ipairs(outcome.steps) do counts[step.status] = (counts[step.status] or 0) + 1 end
  local words = {}
  for _, status in ipairs { "succeeded", "reverted", "refused", "unknown", "sent", "not_sent" } do
    if counts[status] then
      words[#words + 1] = ("%d %s"):format(counts[status], (status:gsub("_", " ")))
    end
  end
  return table.concat(words, ", ")
end

-- Advice to do the same again is for a plan of which nothing has been done.
local function warn_of_repeating(name, outcome)
  local done = 0
  for _, step in ipairs(outcome.steps) do
    if step.status == "succeeded" then done = done + 1 end
  end
  if done == 0 or outcome.error.advice.action ~= "retry_same_plan" then return end
  report.note(name, ("the same plan would do again what %s did"):format(text.count(done, "step")))
end

function sending:explain(outcome)
  local failure = outcome.error
  local step = failure.step
  local faults = { {
    code = failure.code, at = step and ("/ordered_steps/%d"):format(step - 1),
    message = text.bounded(failure.message, MOST),
  } }
  report.faults(self.arguments.file, faults)
  report.note(self.name, "of the steps, " .. sums(outcome))
  local revert = failure.revert
  if revert and revert.required and not revert.decoded then
    report.note(self.name, "the producer requires that what this call reverts with is decoded, "
      .. "and it could not be")
  end
  if failure.advice then
    report.note(self.name, ("%s: %s, %s"):format(call_review.ADVICE:gsub("^T", "t"),
      text.visible(failure.advice.action), text.quoted(failure.advice.instruction)))
    warn_of_repeating(self.name, outcome)
  end
  if outcome.status == "unknown" and outcome.id then
    report.note(self.name, ("ask the wallet what became of the batch %s before anything is sent "
      .. "again"):format(text.bounded(outcome.id, MOST)))
  end
  local unknown = outcome.status == "unknown" and step and outcome.steps[step]
  local request = unknown and unknown.request
  if type(request) == "table" and type(request.nonce) == "string" then
    report.note(self.name, ("look for the account's transaction number %s before anything is "
      .. "sent again"):format(decimal(request.nonce)))
  end
end

--- Say how it ended; the exit code.
function sending:finish(outcome)
  if outcome.status == "simulated" then show_simulation(outcome.simulation) end
  if outcome.error then self:explain(outcome) end
  report.json(outcome)
  return exit_of(outcome)
end

return sending
