--- moonplan plugins list: the capabilities that a plan can name.
local catalogue = require "moonplan.command.catalogue"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local list = {
  summary = "the capabilities that a plan can name",
  description = "List every capability: name, version, risk, summary, and what has to be granted "
    .. "before it can be used. A plugin file that is broken is named on standard error; --strict "
    .. "makes that an error.",
}

function list.describe(parser)
  engines.describe(parser)
  parser:flag("--json"):description("As a JSON object: capabilities, errors.")
end

-- A name as wide as that of most; a longer one moves what follows.
local WIDE = 28

local function print_rows(capabilities)
  local name_width, version_width = 0, 0
  for _, item in ipairs(capabilities) do
    name_width = math.max(name_width, math.min(#item.name, WIDE))
    version_width = math.max(version_width, math.min(#item.version, WIDE))
  end
  local row = ("%%-%ds  %%-%ds  %%-11s  %%s\n"):format(name_width, version_width)
  for _, item in ipairs(capabilities) do
    console.write(row:format(text.visible(item.name), text.visible(item.version), item.risk,
      text.bounded(item.summary or "", 400)))
    if item.missing and #item.missing > 0 then
      console.write((" "):rep(name_width + 2) .. "not usable: needs "
        .. catalogue.grants(item.missing) .. "\n")
    end
  end
end

local function plain(item)
  return {
    name = item.name, version = item.version, summary = item.summary, risk = item.risk,
    needs = moonplan.array(item.needs or {}), missing = moonplan.array(item.missing or {}),
    input = item.input, output = item.output,
    file = item.file and text.utf8(item.file), shipped = item.shipped or false,
  }
end

function list.run(arguments)
  local engine, capabilities, problems = catalogue.open(arguments)
  if not engine then return capabilities end
  if arguments.json then
    local plains = {}
    for i, item in ipairs(capabilities) do plains[i] = plain(item) end
    report.json { capabilities = moonplan.array(plains), errors = report.plain_faults(problems) }
    return exits.fine
  end
  report.faults("plugins", problems)
  print_rows(capabilities)
  return exits.fine
end

return list
