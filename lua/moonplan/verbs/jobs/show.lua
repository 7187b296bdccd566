--- moonplan jobs show: one job of a store.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
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

-- What can be done about a job that waits.
local ADVICE = {
  outcome_unknown = "moonplan jobs resolve ID --step STEP says how the step ended",
  awaiting_approval = "moonplan approve --job ID makes an approval; moonplan jobs resume ID "
    .. "--approval FILE --approver FILE.pub goes on with it",
  interrupted = "moonplan jobs resume ID goes on after the last completed step",
}

local MOST = 400

local function add_step(lines, n, step)
  local version = step.capability_version
  lines[#lines + 1] = ("  %-2d %s  %s%s  %s"):format(n, text.visible(step.id),
    text.visible(step.capability), version and " " .. text.visible(version) or "", step.status)
  if step.result ~= nil then
    lines[#lines + 1] = "     result  " .. text.bounded(moonplan.json.encode(step.result), MOST)
  end
  if step.error then
    lines[#lines + 1] = ("     error   %s: %s"):format(step.error.code,
      text.bounded(step.error.message, MOST))
  end
end

local function layout(job)
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
  local advice = ADVICE[job.status]
  if advice then
    lines[#lines + 1] = ""
    lines[#lines + 1] = (advice:gsub("ID", function() return text.visible(job.id) end))
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
    console.write(layout(job))
  end
  return exits.fine
end

return show
