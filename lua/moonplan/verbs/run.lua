--- moonplan run: carry a step plan out.
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local options = require "moonplan.command.options"
local progress = require "moonplan.command.progress"
local rehearsal = require "moonplan.command.rehearsal"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local run = {
  summary = "run a step plan with the capabilities of plugins",
  description = "Run a step plan: every step in order, the first failure ends it. The result goes "
    .. "to standard output as JSON: that of the only step, or a list of all. What writes or "
    .. "destroys is denied unless it is allowed.",
}

function run.describe(parser)
  parser:argument("file"):description("A step plan; - is standard input.")
  engines.describe(parser)
  engines.describe_run(parser)
  options.describe_limit(parser)
  parser:flag("--dry-run")
    :description("Call nothing: show what would run, in which order, and what each step waits for.")
  parser:flag("--json")
    :description("The whole job instead of the result: status, steps, results, events.")
end

-- The longest text of a failure that is shown; --json has all of it.
local MOST = 2000

-- The step that a failed job failed at; none where its capability has gone.
local function failed_step(job)
  for n, step in ipairs(job.steps) do
    if step.status == "failed" then return step, n end
  end
end

-- A risk that the default authorizer denied, which an option would let pass.
local function denied_risk(job)
  for _, event in ipairs(job.events) do
    if event.type == "capability.denied" then return event.data.risk end
  end
end

local function report_failure(name, job, arguments)
  local word = report.coloured(2, "red", "error")
  local step, n = failed_step(job)
  -- A failure without a message has one text in its step and another in the job.
  local failure = step and step.error or job.error
  local where = ""
  if step then
    where = (" at /steps/%d: step %s (%s)"):format(n - 1, text.quoted(step.id),
      text.visible(step.capability))
  end
  console.warn(("%s: %s[%s]%s: %s\n"):format(text.visible(name), word, failure.code, where,
    text.bounded(failure.message, MOST)))
  if failure.code == "job.denied" and not arguments.authorizer then
    console.warn(("%s: note: --allow %s lets steps of that risk run\n"):format(text.visible(name),
      denied_risk(job)))
  end
  return exits.job_failed
end

-- A plan that does not come to run: its faults.
local function refuse(name, faults, kind, arguments, engine)
  if arguments.json then
    local record = report.record(name, nil, faults, kind)
    record.dry_run = arguments.dry_run
    report.json(record)
  else
    report.faults(name, faults)
    if engine then engines.note(name, engine, faults) end
  end
  return report.exit_of(faults)
end

local function show_job(name, job, arguments)
  if arguments.json then
    report.json_text(job:json())
  elseif job.status == "completed" then
    report.json_text(job:result_json())
  end
  if job.status == "completed" then return exits.fine end
  return report_failure(name, job, arguments)
end

function run.run(arguments)
  local name = arguments.file
  local engine, faults = engines.make(arguments)
  if not engine then return refuse(name, faults, nil, arguments) end
  local caller
  caller, faults = engines.caller(arguments)
  if faults then return refuse(name, faults, nil, arguments) end
  local made = { limits = options.limits(arguments) }
  local content, fault = input.read(name, options.document_bytes(made))
  if not content then return refuse(name, { fault }, nil, arguments) end

  local function refused(err)
    local told, kind = judge.refusal(content, err, made)
    return refuse(name, told, kind, arguments, engine)
  end
  -- Whoever watches wants to know beforehand how many steps there are.
  local plan
  if arguments.dry_run or console.terminal(2) then
    local err
    plan, err = engine:admit(content)
    if not plan then return refused(err) end
    if arguments.dry_run then return rehearsal.show(name, plan, arguments) end
    report.warnings(name, plan.warnings)
  end
  progress.watch(engine, plan and #plan.steps)
  local job, err = engine:run(content, { caller = caller })
  if not job then return refused(err) end
  if not plan then report.warnings(name, job.warnings) end
  return show_job(name, job, arguments)
end

return run
