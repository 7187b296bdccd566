--- moonplan approve: sign that a step may run.
local approvals = require "moonplan.command.approvals"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local keys = require "moonplan.command.keys"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"

local approve = {
  summary = "sign that a step of a plan may run",
  description = "Make an approval: a signed statement that one step of this plan, or with no "
    .. "--step every step of it, may run once, with exactly this input, for this caller, until it "
    .. "expires. "
    .. "With --job it is for the step that a job waits with, whose input is known there. What is "
    .. "signed is shown on standard error; the approval goes to standard output.",
}

function approve.describe(parser)
  parser:argument("file"):args("?"):description("A step plan; - is standard input.")
  parser:option("--job"):argname("ID")
    :description("Instead of a plan: the job of --store that waits for an approval.")
  parser:option("--store"):argname("FILE"):convert(options.path "--store")
    :description("The store of that job.")
  parser:option("--step"):argname("STEP")
    :description("The step's id; one whose input has no references. Without it: the whole plan.")
  parser:option("--key"):argname("FILE.key"):count("1"):convert(options.path "--key")
    :description("The approver's secret key; moonplan keys new makes one.")
  parser:option("--expires"):argname("TIME"):default("10m"):convert(approvals.duration)
    :description("How long it is good: 90s, 10m, 2h, 7d.")
  engines.describe(parser)
  engines.describe_caller(parser)
  options.describe_limit(parser)
end

local function complaint(arguments)
  if arguments.job and arguments.file then return "a plan, or --job: not both" end
  if not arguments.job and not arguments.file then return "a plan, or --job ID, is needed" end
  if arguments.job and not arguments.store then return "--job needs --store: where the job is" end
  if arguments.store and not arguments.job then return "--store belongs to --job" end
  if arguments.job and (arguments.step or arguments.caller) then
    return "--step and --caller are known of a job: leave them out"
  end
end

-- What there is to sign; nil and the exit code once it has been said why there is nothing.
local function of_job(arguments, expires)
  local engine, code = stores.open(arguments.store, "read")
  if not engine then return nil, code end
  local approval, err = engine:approval { job = arguments.job, expires = expires }
  if approval then return approval end
  return nil, stores.refuse(arguments.store, err)
end

local function of_plan(arguments, expires)
  local name = arguments.file
  local engine, faults = engines.make(arguments)
  if not engine then return nil, report.faults(name, faults) end
  local caller
  caller, faults = engines.caller(arguments)
  if faults then return nil, report.faults(name, faults) end
  local made = { limits = options.limits(arguments) }
  local content, fault = input.read(name, options.document_bytes(made))
  if not content then return nil, report.faults(name, { fault }) end
  local approval, err = engine:approval {
    plan = content, step = arguments.step, caller = caller, expires = expires,
  }
  if approval then return approval end
  local told = judge.refusal(content, err, made)
  local code = report.faults(name, told)
  engines.note(name, engine, told)
  return nil, code
end

function approve.run(arguments)
  local wrong = complaint(arguments)
  if wrong then return nil, wrong end
  local expires = console.now() + arguments.expires
  local approval, code
  if arguments.job then
    approval, code = of_job(arguments, expires)
  else
    approval, code = of_plan(arguments, expires)
  end
  if not approval then return code end
  local key, faults = keys.open(arguments.key)
  if not key then return report.faults(arguments.key, faults) end
  console.warn("this is signed:\n")
  approvals.show(approval)
  local signed, err = moonplan.sign_approval(approval, key)
  if not signed then return report.faults(arguments.key, err.errors) end
  report.json_text(signed)
  return exits.fine
end

return approve
