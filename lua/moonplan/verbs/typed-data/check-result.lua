--- moonplan typed-data check-result: is what came back about this request?
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local options = require "moonplan.command.options"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local requests = require "moonplan.command.requests"
local text = require "moonplan.command.text"

local check_result = {
  summary = "say whether a result is about a request",
  description = "Compare a result with the request that it answers: its shape, both digests "
    .. "(computed from the request) and the signer. The signature itself is opaque: verify it by "
    .. "the mechanism agreed for the account.",
}

function check_result.describe(parser)
  parser:argument("file"):description("The result; - is standard input.")
  parser:option("--request"):argname("FILE"):count(1)
    :description("The request that it answers.")
  parser:option("--as"):choices({ "result", "receipt", "operation" }):default("result")
    :description("What it is: a result, a receipt, or a delivery operation (submit, status).")
  references.describe(parser)
  options.describe_limit(parser)
  parser:flag("--json"):description("A JSON document, faults included, on standard output.")
end

-- What is wrong with the request is told of its file.
local function read_request(name, limits, arguments)
  local content, fault = input.read(name, options.bound(limits))
  local request, faults, _, provenance
  if content then
    request, faults, _, provenance = judge.request(name, content, {
      request = { limits = limits },
      reference = references.options(arguments, { limits = limits }, "typed-data"),
    })
    if provenance and not arguments.json then references.tell(name, provenance) end
  else
    faults = { fault }
  end
  for _, each in ipairs(faults or {}) do each.file = each.file or name end
  return request, faults
end

local function check(name, limits, arguments)
  local request, faults = read_request(arguments.request, limits, arguments)
  if not request then return nil, faults end
  local content, fault = input.read(name, options.bound(limits))
  if not content then return nil, { fault } end
  local fine, err = requests.REPLIES[arguments.as](content, request, { limits = limits })
  if not fine then return nil, err.errors end
  return request
end

function check_result.run(arguments)
  local name, limits = arguments.file, options.limits(arguments)
  local request, faults = check(name, limits, arguments)
  if arguments.json then
    report.json {
      file = text.utf8(name), as = arguments.as, valid = request ~= nil,
      request_digest = request and request.request_digest,
      errors = report.plain_faults(faults or {}),
    }
  elseif request then
    console.write(("%s: %s, about the request %s; verify the signature itself elsewhere\n"):format(
      text.visible(name), report.coloured(1, "green", arguments.as .. " as it should be"),
      request.request_digest))
  else
    report.faults(name, faults)
  end
  return request and exits.fine or report.exit_of(faults)
end

return check_result
