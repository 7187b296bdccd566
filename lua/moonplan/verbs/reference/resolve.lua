--- moonplan reference resolve: the bytes that a reference names.
local input = require "moonplan.command.input"
local options = require "moonplan.command.options"
local output = require "moonplan.command.output"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"

local resolve = {
  summary = "fetch what a reference names, check and validate it",
  description = "Fetch what a reference names, compare length and digest with what was promised, "
    .. "validate it, and put the bytes out as they are. What is proved of where they came from "
    .. "goes to standard error. Verified is not approved.",
}

function resolve.describe(parser)
  parser:argument("file"):description("An artifact reference; - is standard input.")
  references.describe(parser)
  references.describe_expect(parser, "Refuse a reference to anything else.")
  parser:flag("--normalize")
    :description("Lower upper-case hexadecimal digits of a plan before comparing and hashing.")
  output.describe(parser)
  options.describe_limit(parser)
end

function resolve.run(arguments)
  local name, limits = arguments.file, options.limits(arguments)
  local content, fault = input.read(name, options.bound(limits, "reference"))
  if not content then return report.faults(name, { fault }) end
  local resolved, faults = references.resolve(name, content, references.options(arguments, {
    limits = limits, hex_case = arguments.normalize and "normalize" or "reject",
    -- Nothing is executed here.
    enforce_capabilities = false,
  }, arguments.expect))
  if not resolved then return report.faults(name, faults) end
  references.tell(name, resolved.provenance)
  return output.put(arguments.out, resolved.text)
end

return resolve
