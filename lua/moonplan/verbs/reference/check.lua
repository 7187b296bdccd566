--- moonplan reference check: would a reference be followed? Nothing is opened or fetched.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local check = {
  summary = "say whether a reference would be followed; fetch nothing",
  description = "Judge the envelope alone: its members, the promised length, the URL, the "
    .. "transport. Nothing is opened, resolved or fetched, and what a data: URL carries is not "
    .. "looked into.",
}

function check.describe(parser)
  parser:argument("file"):args("+"):description("An artifact reference; - is standard input.")
  references.describe(parser)
  references.describe_expect(parser, "Refuse a reference to anything else.")
  options.describe_limit(parser)
  parser:flag("--json")
    :description("One JSON document a line for each file, faults included, on standard output.")
end

local function or_null(value)
  if value == nil then return moonplan.null end
  return value
end

local function record(name, reference, faults)
  local found = {
    file = text.utf8(name), kind = "artifact_reference", valid = reference ~= nil,
    errors = report.plain_faults(faults or {}),
  }
  for _, field in ipairs { "artifact_type", "transport", "host", "url", "bytes", "integrity" } do
    found[field] = or_null(reference and reference[field])
  end
  return found
end

local function describe_admitted(reference)
  local parts = { reference.artifact_type, "by " .. reference.transport }
  if reference.host then parts[2] = parts[2] .. " from " .. reference.host end
  if reference.bytes then parts[3] = text.count(reference.bytes, "byte") end
  return table.concat(parts, ", ")
end

function check.run(arguments)
  local limits, code = options.limits(arguments), exits.fine
  local made = references.options(arguments, { limits = limits }, arguments.expect)
  for _, name in ipairs(arguments.file) do
    local content, fault = input.read(name, options.bound(limits, "reference"))
    local reference, faults, err
    if content then
      reference, err = moonplan.reference(content, made)
      faults = err and err.errors
    else
      faults = { fault }
    end
    if arguments.json then
      report.json(record(name, reference, faults))
    elseif reference then
      console.write(("%s: %s, %s\n"):format(text.visible(name),
        report.coloured(1, "green", "admitted"), describe_admitted(reference)))
    else
      report.faults(name, faults)
    end
    code = exits.worst(code, report.exit_of(faults))
  end
  return code
end

return check
