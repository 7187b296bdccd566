--- moonplan validate: is it a valid plan? Every fault at once.
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local options = require "moonplan.command.options"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local validate = {
  summary = "say whether documents are valid, and every fault that they have",
  description = "Validate documents. A valid one gets a line on standard output; every fault of "
    .. "the others goes to standard error as FILE:LINE:COLUMN: error[CODE] at /POINTER: TEXT. A "
    .. "step plan is judged by the capabilities that there are; nothing is called. An artifact "
    .. "reference stands for what it names, and that is fetched if --transport lets it.",
}

function validate.describe(parser)
  options.describe(parser)
  engines.describe(parser)
  references.describe(parser)
  parser:flag("--json")
    :description("One JSON document a line for each file, faults included, on standard output.")
end

-- One engine for all files, made when the first of them turns out to need it.
local function engine_source(arguments)
  local engine, faults
  return function()
    if not engine and not faults then engine, faults = engines.make(arguments) end
    return engine, faults
  end
end

local function describe_valid(plan, kind)
  if kind == "step_plan" then
    return "valid step plan", ", " .. text.count(#plan.steps, "step")
  end
  if kind == "typed_data_signature_request" then
    return "valid typed-data signature request", ", request digest " .. plan.request_digest
  end
  return "valid call plan", ", digest " .. plan.digest
end

local function judge_file(name, reading)
  local content, fault = input.read(name, options.bound(reading.made.limits, reading.as))
  if not content then return nil, { fault } end
  return judge.document(name, content, reading)
end

function validate.run(arguments)
  local made, code = options.of(arguments), exits.fine
  local reading = {
    made = made, as = arguments.as, engine_of = engine_source(arguments),
    request = { limits = made.limits }, reference = references.options(arguments, made),
  }
  for _, name in ipairs(arguments.file) do
    local plan, faults, kind, provenance = judge_file(name, reading)
    if provenance and not arguments.json then references.tell(name, provenance) end
    if arguments.json then
      report.json(report.record(name, plan, faults, kind, provenance))
    elseif plan then
      report.warnings(name, report.warnings_of(plan, kind))
      local verdict, rest = describe_valid(plan, kind)
      console.write(("%s: %s%s\n"):format(text.visible(name),
        report.coloured(1, "green", verdict), rest))
    else
      report.faults(name, faults)
      local engine = kind == "step_plan" and reading.engine_of()
      if engine then engines.note(name, engine, faults) end
    end
    code = exits.worst(code, report.exit_of(faults))
  end
  return code
end

return validate
