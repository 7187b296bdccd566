--- moonplan typed-data validate: is it a request that this account may sign, now?
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local options = require "moonplan.command.options"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local requests = require "moonplan.command.requests"
local text = require "moonplan.command.text"

local validate = {
  summary = "say whether requests are valid, and every fault that they have",
  description = "Validate typed-data requests; with --now, --account and --origin also whether "
    .. "they have expired, whom they ask to sign, and where the signature may be delivered to. "
    .. "Ask again after every wait.",
}

function validate.describe(parser)
  parser:argument("file"):args("+"):description("A typed-data request; - is standard input.")
  requests.describe(parser)
  references.describe(parser)
  options.describe_limit(parser)
  parser:flag("--json")
    :description("One JSON document a line for each file, faults included, on standard output.")
end

local function judge_file(name, limits, reading)
  local content, fault = input.read(name, options.bound(limits))
  if not content then return nil, { fault } end
  return judge.request(name, content, reading)
end

function validate.run(arguments)
  local limits, code = options.limits(arguments), exits.fine
  local reading = {
    request = requests.options(arguments, limits),
    reference = references.options(arguments, { limits = limits }, "typed-data"),
  }
  for _, name in ipairs(arguments.file) do
    local request, faults, kind, provenance = judge_file(name, limits, reading)
    if arguments.json then
      report.json(report.record(name, request, faults, kind, provenance))
    else
      if provenance then references.tell(name, provenance) end
      if request then
        console.write(("%s: %s, request digest %s\n"):format(text.visible(name),
          report.coloured(1, "green", "valid typed-data signature request"),
          request.request_digest))
      else
        report.faults(name, faults)
      end
    end
    code = exits.worst(code, report.exit_of(faults))
  end
  return code
end

return validate
