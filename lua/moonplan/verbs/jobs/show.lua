--- moonplan jobs show: one job of a store.
local advice = require "moonplan.command.advice"
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local options = require "moonplan.command.options"
local parts = require "moonplan.command.parts"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"
local text = require "moonplan.command.text"

local show = {
  summary = "one job: its steps, what they gave, what it waits for",
  description = "Show a job: status, times, digest of its plan, every step with its result, and "
    .. "what is wrong or waited for.",
}

function show.describe(parser)
  stores.describe_id(parser)
  stores.describe(parser)
  options.describe_limit(parser)
  parser:flag("--json"):description("The whole job as a JSON object, as of moonplan run --json.")
end

-- With what the job was run is not known here.
local AS_RUN = " (with its --plugins and --grant, and what lets its steps run: --allow or "
  .. "--authorizer)"

-- What can be done about a job that waits.
local ADVICE = {
  outcome_unknown = function(job, arguments)
    local step = "STEP"
    for _, one in ipairs(job.steps) do
      if one.status == "outcome_unknown" then step = one.id end
    end
    return advice.resolve(job.id, step, arguments)
  end,
  awaiting_approval = function(job, arguments)
    local approve, resume = advice.approve(job.id, arguments, advice.risks(job))
    return ("%s makes an approval\n%s goes on with it%s"):format(approve, resume, AS_RUN)
  end,
  interrupted = function(job, arguments)
    return ("%s goes on after the last completed step%s"):format(
      advice.resume(job.id, arguments), AS_RUN)
  end,
}

local MOST = 400

local function add_step(lines, n, step)
  local version = step.capability_version
  lines[#lines + 1] = ("  %-2d %s  %s%s  %s"):format(n, text.visible(step.id),
    text.visible(step.capability), version and " " .. text.visible(version) or "", step.status)
  if step.result ~= nil then
    lines[#lines + 1] = "     result  " .. text.bounded(step.result, MOST)
  end
  if step.error then
    lines[#lines + 1] = ("     error   %s: %s"):format(step.error.code,
      text.bounded(step.error.message, MOST))
  end
end

local function layout(job, arguments)
  local lines = {}
  local function add(label, value)
    if value ~= nil then lines[#lines + 1] = ("%-9s %s"):format(label, value) end
  end
  add("job", text.visible(job.id))
  add("goal", text.bounded(job.goal, MOST))
  add("status", job.status)
  add("key", job.idempotency_key and text.bounded(job.idempotency_key, MOST))
  add("digest", job.digest)
  add("caller", job.caller_subject and text.bounded(job.caller_subject, MOST))
  add("created", job.created)
  add("started", job.started)
  add("completed", job.completed)
  if job.error then
    add("error", ("%s: %s"):format(job.error.code, text.bounded(job.error.message, MOST)))
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = text.count(#job.steps, "step")
  for n, step in ipairs(job.steps) do add_step(lines, n, step) end
  local known = ADVICE[job.status]
  if known then
    lines[#lines + 1] = ""
    lines[#lines + 1] = known(job, arguments)
  end
  return table.concat(lines, "\n") .. "\n"
end

function show.run(arguments)
  local engine, code = stores.open(arguments.store, "read", options.limits(arguments))
  if not engine then return code end
  local job
  job, code = stores.job(engine, arguments.store, arguments.id)
  if not job then return code end
  if arguments.json then
    report.json_text(job:json())
  else
    console.write(layout(parts.job(job), arguments))
  end
  return exits.fine
end

return show
