--- moonplan reference make: the envelope for a plan or a request.
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local output = require "moonplan.command.output"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"

local make = {
  summary = "the envelope for a plan or a typed-data request",
  description = "Print an artifact reference for a document, which has to be valid: its URL, its "
    .. "length and the Keccak-256 of its bytes. Without --url the bytes travel inside the "
    .. "reference, in a data: URL.",
}

function make.describe(parser)
  parser:argument("file"):description("A call plan or a typed-data request; - is standard input.")
  parser:option("--url"):argname("URL")
    :description("Where the bytes are, or will be: https://HOST/... or file:///PATH.")
  references.describe_expect(parser, "Take the document for this kind instead of looking.")
  parser:flag("--normalize")
    :description("Accept upper-case hexadecimal digits; the bytes stay as they are.")
  output.describe(parser)
  options.describe_limit(parser)
end

function make.run(arguments)
  local name, limits = arguments.file, options.limits(arguments)
  local content, fault = input.read(name, options.bound(limits))
  if not content then return report.faults(name, { fault }) end
  local envelope, err, where = moonplan.make_reference(content, {
    url = arguments.url, expect = arguments.expect, limits = limits,
    hex_case = arguments.normalize and "normalize" or "reject",
  })
  if envelope then return output.put(arguments.out, envelope .. "\n") end
  return report.faults(where == "envelope" and "--url" or name, err.errors)
end

return make
