--- moonplan plugins test: do plugins keep their examples?
local catalogue = require "moonplan.command.catalogue"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local test = {
  summary = "run the examples that plugins come with",
  description = "Run the examples of all that plugins bring, or of what is named. Powers are "
    .. "played by doubles that hold what the example says: nothing outside is touched, and nothing "
    .. "has to be granted.",
}

function test.describe(parser)
  parser:argument("name"):args("*")
    :description("A capability, builder, executor or authorizer, or a family of them.")
  engines.describe(parser)
end

-- The verdict on one of them, with a line for every example that it does not keep.
local function show(item, results)
  local kept, lines = 0, {}
  for n, result in ipairs(results) do
    if result.ok then
      kept = kept + 1
    else
      lines[#lines + 1] = ("  example %d: %s\n"):format(n, text.bounded(result.message or "", 2000))
    end
  end
  local colour, verdict = "green", text.count(kept, "example") .. " kept"
  if #results == 0 then
    colour, verdict = "yellow", "has no examples"
  elseif #lines > 0 then
    colour, verdict = "red", ("%d of %s kept"):format(kept, text.count(#results, "example"))
  end
  console.write(("%s %s: %s\n"):format(text.visible(item.name), text.visible(item.version),
    report.coloured(1, colour, verdict)))
  if #lines > 0 then console.warn(table.concat(lines)) end
  return #lines == 0 and exits.fine or exits.invalid
end

-- Those that were asked for, in their order; or nil and why not.
local function asked_for(arguments, list, problems)
  if #arguments.name == 0 then return list end
  local chosen = {}
  for _, name in ipairs(arguments.name) do
    local found = catalogue.named(list, name)
    if #found == 0 and #catalogue.problems_of(problems, name) == 0 then
      return nil, catalogue.unknown(list, name)
    end
    table.move(found, 1, #found, #chosen + 1, chosen)
  end
  return chosen
end

function test.run(arguments)
  local engine, list, problems = catalogue.open(arguments)
  if not engine then return list end
  local chosen, complaint = asked_for(arguments, list, problems)
  if not chosen then return nil, complaint end
  local code = report.faults("plugins", problems)
  for _, item in ipairs(chosen) do
    local results, err = engine:test(item.name)
    if results then code = exits.worst(code, show(item, results))
    else code = exits.worst(code, report.faults(item.file or item.name, err.errors))
    end
  end
  return code
end

return test
