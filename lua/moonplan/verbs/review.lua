--- moonplan review: a document laid out for a person to judge.
local abis = require "moonplan.command.abis"
local call_review = require "moonplan.command.call_review"
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local findings = require "moonplan.command.findings"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local options = require "moonplan.command.options"
local output = require "moonplan.command.output"
local page = require "moonplan.command.page"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local requests = require "moonplan.command.requests"
local text = require "moonplan.command.text"

local review = {
  summary = "lay a plan out for a person: what it calls, asks for and leaves open",
  description = "Lay a call plan out: what there is to find in it, digest, chain, sender, every "
    .. "call decoded as far as that goes, what is required of the wallet, the producer's advice, "
    .. "and what the digest does not cover. A typed-data signature request: domain, every field of "
    .. "the message, and what the signature would allow. A review is not an approval.",
}

function review.describe(parser)
  options.describe(parser)
  references.describe(parser)
  abis.describe(parser)
  abis.describe_plugins(parser)
  findings.describe(parser)
  requests.describe_now(parser)
  parser:flag("--json")
    :description("One JSON document a line for each file, faults included, on standard output.")
  parser:option("--html"):argname("FILE"):convert(options.path "--html")
    :description("Write the review to a new file as well, as a page to read or print.")
end

-- What a kind of document is reviewed by.
local KINDS = {
  call_plan = {
    review = function(plan, settings) return assert(plan:review(settings.context)) end,
    layout = call_review.layout,
    page = page.plan,
  },
  typed_data_signature_request = {
    review = function(request, settings) return assert(request:review(settings.request)) end,
    layout = function(_, made) return requests.layout(made) end,
    page = function(name, _, made) return page.request(name, made) end,
  },
}

local function settings_of(arguments)
  local made = options.of(arguments)
  local list, name, faults = abis.read(arguments)
  if not list then return nil, name, faults end
  return {
    limits = made.limits,
    context = { limits = made.limits, abis = list, now = arguments.now },
    request = { limits = made.limits, now = arguments.now },
    reading = {
      made = made, as = arguments.as, request = { limits = made.limits },
      reference = references.options(arguments, made),
    },
  }
end

-- The document of a file, or its faults; its kind; where it came from.
local function read(name, settings)
  local reading = settings.reading
  local content, fault = input.read(name, options.bound(settings.limits, reading.as))
  if not content then return nil, { fault } end
  return judge.document(name, content, reading)
end

local function tell(n, name, document, kind, made, arguments)
  report.warnings(name, report.warnings_of(document, kind))
  if #arguments.file > 1 then
    console.write((n > 1 and "\n" or "") .. "file    " .. text.visible(name) .. "\n")
  end
  console.write(KINDS[kind].layout(document, made))
end

-- One file; its exit code.
local function review_file(n, name, arguments, settings)
  local document, faults, kind, provenance = read(name, settings)
  if provenance and not arguments.json then references.tell(name, provenance) end
  local made = document and KINDS[kind].review(document, settings)
  if arguments.json then
    local record = report.record(name, document, faults, kind, provenance)
    record.review = made
    report.json(record)
  elseif made then
    tell(n, name, document, kind, made, arguments)
  else
    report.faults(name, faults)
  end
  if not made then return report.exit_of(faults) end
  local code = findings.exit(made, arguments.fail_on)
  if not arguments.html then return code end
  return exits.worst(code, output.put(arguments.html, KINDS[kind].page(name, document, made)))
end

function review.run(arguments)
  if arguments.html and #arguments.file > 1 then
    return nil, "--html makes one page of one document; review several one by one"
  end
  local settings, name, faults = settings_of(arguments)
  if not settings then return report.faults(name, faults) end
  local code = exits.fine
  for n, file in ipairs(arguments.file) do
    code = exits.worst(code, review_file(n, file, arguments, settings))
  end
  return code
end

return review
