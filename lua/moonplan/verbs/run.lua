--- moonplan run: carry a step plan out.
local approvals = require "moonplan.command.approvals"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local options = require "moonplan.command.options"
local outcome = require "moonplan.command.outcome"
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
  engines.describe_policy(parser)
  engines.describe_caller(parser)
  engines.describe_store(parser)
  approvals.describe(parser)
  parser:flag("--deduplicate")
    :description("When the store has a job of the same plan with the same idempotencyKey, show "
      .. "the first of them and run nothing; with other plans alone under that key, refuse.")
  options.describe_limit(parser)
  parser:flag("--dry-run")
    :description("Call nothing: show what would run, in which order, and what each step waits for.")
  parser:flag("--json")
    :description("The whole job instead of the result: status, steps, results, events.")
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

function run.run(arguments)
  local name = arguments.file
  local engine, faults = engines.make(arguments)
  if not engine then return refuse(name, faults, nil, arguments) end
  local caller
  caller, faults = engines.caller(arguments)
  if faults then return refuse(name, faults, nil, arguments) end
  local given
  given, faults = approvals.read(arguments)
  if not given then return refuse(name, faults, nil, arguments) end
  local made = { limits = options.limits(arguments) }
  local content, fault = input.read(name, options.document_bytes(made))
  if not content then return refuse(name, { fault }, nil, arguments) end

  local function refused(err)
    local told, kind = judge.refusal(content, err, made)
    approvals.blame(told, arguments)
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
  -- Whether the job is a new one: of one that its key has found nothing is told.
  local made_anew = false
  engine:on("job.created", function() made_anew = true end)
  local job, err = engine:run(content, {
    caller = caller, deduplicate = arguments.deduplicate, approvals = #given > 0 and given or nil,
  })
  if not job then
    -- What happens to the store on the way is no fault of the plan's.
    if made_anew and err.code == "store.conflict" then
      refused(err)
      return exits.failed
    end
    return refused(err)
  end
  if not made_anew then
    report.note(name, ("its key has a job already, %s; nothing was run%s"):format(
      text.visible(job.id), #given > 0 and ", and no approval looked at" or ""))
  end
  if not plan then report.warnings(name, job.warnings) end
  return outcome.show(name, job, arguments, engine)
end

return run
