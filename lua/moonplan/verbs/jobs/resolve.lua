--- moonplan jobs resolve: say how a step ended whose outcome is unknown.
local advice = require "moonplan.command.advice"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local options = require "moonplan.command.options"
local parts = require "moonplan.command.parts"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"
local text = require "moonplan.command.text"

local resolve = {
  summary = "say how a step ended whose outcome is unknown",
  description = "A step that was under way when its process died may have had its effect, or not. "
    .. "Say which: --as completed, --as failed, or --retry when it did not happen or may happen "
    .. "again. Nothing is run; moonplan jobs resume goes on. A result is held to what the "
    .. "capability says of its output, where the capability is one of the plugins here.",
}

function resolve.describe(parser)
  stores.describe_id(parser)
  stores.describe(parser)
  parser:option("--step"):argname("STEP"):count("1"):description("The step's id.")
  parser:mutex(
    parser:option("--as"):choices({ "completed", "failed" })
      :description("It happened, or it went wrong and ends the job."),
    parser:flag("--retry"):description("Begin it again when the job is resumed."))
  parser:option("--result"):argname("FILE.json"):convert(options.path "--result")
    :description("With --as completed: what it gave, for the steps that refer to it.")
  parser:option("--message"):argname("TEXT")
    :description("With --as failed: what went wrong.")
  engines.describe(parser)
  options.describe_limit(parser)
end

local function complaint(arguments)
  if not arguments.as and not arguments.retry then
    return "one of --as completed, --as failed and --retry has to say how the step ended"
  end
  if arguments.result and arguments.as ~= "completed" then
    return "--result belongs to --as completed"
  end
  if arguments.message and arguments.as ~= "failed" then
    return "--message belongs to --as failed"
  end
end

local NEXT = { completed = "completed", failed = "failed", retry = "will be begun again" }

-- What becomes of the job.
local ENDS = {
  completed = ", and the job is complete", failed = ", and the job with it",
  cancelled = "; the job ends here, as somebody has cancelled it",
}

function resolve.run(arguments)
  local wrong = complaint(arguments)
  if wrong then return nil, wrong end
  local result
  if arguments.result then
    local fault
    result, fault = input.read(arguments.result,
      options.document_bytes { limits = options.limits(arguments) })
    if not result then return report.faults(arguments.result, { fault }) end
  end
  arguments.store_mode = "existing"
  local engine, faults = engines.make(arguments)
  if not engine then return report.faults(arguments.store, faults) end
  local as = arguments.retry and "retry" or arguments.as
  local done, err = engine:resolve(arguments.id, arguments.step,
    { as = as, result_json = result, message = arguments.message })
  if not done then
    -- What has a place stands in the result that was handed in, and so does what is wrong with it
    -- as a whole.
    local told = err.errors[1]
    local about = told.line or told.code == "job.output_type"
      or told.code == "limit" and told.message:find("^the result ")
    if result and about and not told.code:find("^store%.") then
      return report.faults(arguments.result, report.blame(err.errors, arguments.result))
    end
    return stores.refuse(arguments.store, err)
  end
  local job = engine:job(arguments.id)
  console.warn(("%s: step %s: %s%s\n"):format(text.visible(arguments.id),
    text.visible(arguments.step), NEXT[as],
    job and ENDS[job.status] or ("; %s goes on"):format(
      advice.resume(arguments.id, arguments, job and advice.risks(parts.job(job), engine)))))
  return exits.fine
end

return resolve
