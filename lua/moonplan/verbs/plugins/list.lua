--- moonplan plugins list: what plugins bring.
local catalogue = require "moonplan.command.catalogue"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local list = {
  summary = "what plugins bring",
  description = "List every capability: name, version, risk, summary, and what has to be granted "
    .. "before it can be used; of those that do not come along also where they run, what they "
    .. "need, who signed them, and their digest. Then the builders, executors and authorizers. A "
    .. "plugin file that is broken is named on standard error; --strict makes that an error.",
}

function list.describe(parser)
  engines.describe(parser)
  parser:flag("--json")
    :description("As a JSON object: capabilities, builders, executors, authorizers, errors.")
end

-- A name as wide as that of most; a longer one moves what follows.
local WIDE = 28

local function print_rows(items)
  local name_width, version_width = 0, 0
  for _, item in ipairs(items) do
    name_width = math.max(name_width, math.min(#item.name, WIDE))
    version_width = math.max(version_width, math.min(#item.version, WIDE))
  end
  local row = ("%%-%ds  %%-%ds  %%-11s  %%-7s  %%s\n"):format(name_width, version_width)
  for _, item in ipairs(items) do
    console.write(row:format(text.visible(item.name), text.visible(item.version),
      item.risk or item.kind, item.isolation or "host", text.bounded(item.summary or "", 400)))
    if not item.shipped and item.digest then
      console.write((" "):rep(name_width + 2) .. text.visible(catalogue.origin(item)) .. "\n")
    end
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
    builds = item.builds, uses = item.uses, params = item.params,
    implements = item.implements, submits = item.submits,
    file = item.file and text.utf8(item.file), shipped = item.shipped or false,
    decision = item.decision, digest = item.digest,
    key = item.key, signer = item.signer,
    isolation = item.isolation,
  }
end

function list.run(arguments)
  local engine, items, problems = catalogue.open(arguments)
  if not engine then return items end
  if arguments.json then
    local all = { errors = report.plain_faults(problems) }
    for _, kind in ipairs(catalogue.KINDS) do all[catalogue.plural(kind)] = moonplan.array {} end
    for _, item in ipairs(items) do
      table.insert(all[catalogue.plural(item.kind)], plain(item))
    end
    report.json(all)
    return exits.fine
  end
  report.faults("plugins", problems)
  print_rows(items)
  return exits.fine
end

return list
