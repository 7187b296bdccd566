--- moonplan typed-data digest: the four digests of a request.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local requests = require "moonplan.command.requests"

local digest = {
  summary = "the digests of a typed-data request",
  description = "Print the request digest (identity; never signed), the domain separator, the "
    .. "message hash and the signing digest (what a key signs; EIP-712), each on its line. A "
    .. "request is validated first; one that is not valid has no digests.",
}

function digest.describe(parser)
  parser:argument("file"):description("A typed-data request; - is standard input.")
  references.describe(parser)
  options.describe_limit(parser)
  parser:flag("--explain")
    :description("First how they come about: each type and its hash, each value's encoding, and "
      .. "the canonical form that the request digest is taken of.")
  parser:flag("--json"):description("As a JSON object, faults too; with --explain the whole tree.")
end

-- An explanation nests twice as deep as the message, which has a limit of its own.
local function whole_json(tree)
  local limits = {}
  for _, limit in ipairs(moonplan.limits()) do
    if limit.name == "depth" or limit.name == "values" or limit.name == "document_bytes" then
      limits[limit.name] = limit.ceiling
    end
  end
  return assert(moonplan.json.encode(tree, { limits = limits }))
end

-- With --json, what "typed-data validate" says of it.
local function refused(arguments, faults, kind, provenance)
  if not arguments.json then return report.faults(arguments.file, faults) end
  report.json(report.record(arguments.file, nil, faults, kind, provenance))
  return report.exit_of(faults)
end

function digest.run(arguments)
  local name, limits = arguments.file, options.limits(arguments)
  local content, fault = input.read(name, options.bound(limits))
  if not content then return refused(arguments, { fault }) end
  local request, faults, kind, provenance = judge.request(name, content, {
    request = { limits = limits },
    reference = references.options(arguments, { limits = limits }, "typed-data"),
  })
  if provenance and (request or not arguments.json) then references.tell(name, provenance) end
  if not request then return refused(arguments, faults, kind, provenance) end
  local tree = arguments.explain and assert(request:explain())
  if arguments.json then
    if tree then report.json_text(whole_json(tree))
    else report.json(requests.digests(request)) end
    return exits.fine
  end
  if tree then console.write(requests.explanation(tree)) end
  for _, digest_name in ipairs(requests.DIGESTS) do
    console.write(("%-16s  %s\n"):format((digest_name:gsub("_", " ")), request[digest_name]))
  end
  return exits.fine
end

return digest
