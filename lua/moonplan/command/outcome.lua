--- How a job ended, or what it waits for: shown, and as an exit code.
local advice = require "moonplan.command.advice"
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local parts = require "moonplan.command.parts"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local outcome = {}

-- The longest text of a failure that is shown; --json has all of it.
local MOST = 2000

-- What a job's status earns. A job that was found under its key may be under way.
local EXITS = {
  completed = exits.fine, failed = exits.job_failed, cancelled = exits.job_failed,
  outcome_unknown = exits.waiting, awaiting_approval = exits.waiting, interrupted = exits.waiting,
  created = exits.waiting, executing = exits.waiting,
}

-- The step that a job failed at, or waits with; none where its capability has gone.
local function stopped_step(job)
  for n, step in ipairs(job.steps) do
    if step.status == "failed" or step.status == job.status then return step, n end
  end
end

-- A risk that the default authorizer denied, which an option would let pass.
local function denied_risk(job)
  for _, event in ipairs(job.events) do
    if event.type == "capability.denied" then
      return moonplan.json.decode(parts.members(event.data).risk)
    end
  end
end

-- Of a job that has no error because nobody has ended it.
local UNDER_WAY = {
  created = "is being run by somebody else", executing = "is being run by somebody else",
  interrupted = "was interrupted: whoever ran it is gone",
}

-- What a person can do about it.
local function note(job, arguments, engine)
  if job.status == "interrupted" then
    return ("%s goes on after its last completed step"):format(
      advice.resume(job.id, arguments, advice.risks(job, engine)))
  elseif not job.error then
    return nil
  elseif job.error.code == "job.denied" and not arguments.authorizer then
    return ("--allow %s lets steps of that risk run"):format(denied_risk(job))
  elseif job.status == "awaiting_approval" and arguments.store then
    return ("%s makes an approval; %s goes on with it"):format(
      advice.approve(job.id, arguments, advice.risks(job, engine)))
  elseif job.status == "outcome_unknown" and arguments.store then
    local step = stopped_step(job)
    return advice.resolve(job.id, step and step.id or "STEP", arguments)
  end
end

local function explain(name, job, arguments, engine)
  local waiting = EXITS[job.status] == exits.waiting
  local word = waiting and report.coloured(2, "yellow", "waiting")
    or report.coloured(2, "red", "error")
  local step, n = stopped_step(job)
  if UNDER_WAY[job.status] then
    console.warn(("%s: %s[%s]: the job %s %s\n"):format(text.visible(name), word, job.status,
      text.visible(job.id), UNDER_WAY[job.status]))
  else
    -- A failure without a message has one text in its step and another in the job.
    local failure = step and step.error or job.error
    local where = ""
    if step then
      where = (" at /steps/%d: step %s (%s)"):format(n - 1, text.quoted(step.id),
        text.visible(step.capability))
    end
    console.warn(("%s: %s[%s]%s: %s\n"):format(text.visible(name), word, failure.code, where,
      text.bounded(failure.message, MOST)))
  end
  local found = note(job, arguments, engine)
  if found then report.note(name, found) end
end

--- Put out the result, or the whole job with --json, and say on standard error what is wrong.
---@param name string what is complained about: the plan's file, or the job's id
---@param job table
---@param arguments table
---@param engine table? the one that ran it
---@return integer exit code
function outcome.show(name, job, arguments, engine)
  if arguments.json then
    report.json_text(job:json())
  elseif job.status == "completed" then
    report.json_text(job:result_json())
  end
  if job.status ~= "completed" then explain(name, parts.job(job), arguments, engine) end
  return EXITS[job.status]
end

return outcome
