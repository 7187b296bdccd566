--- moonplan limits: what input may not exceed.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"

local limits = {
  summary = "list the limits, their defaults and ranges",
  description = "List the limits: name, default, the range that --limit NAME=VALUE can set, and "
    .. "what is bounded. Input over a limit is refused, never cut.",
}

function limits.describe(parser)
  parser:flag("--json"):description("As a JSON array of objects.")
end

function limits.run(arguments)
  local all = moonplan.limits()
  if arguments.json then
    report.json(moonplan.array(all))
    return exits.fine
  end
  local rows, width = {}, 0
  for i, limit in ipairs(all) do
    local range = limit.floor .. ".." .. limit.ceiling
    rows[i] = { limit.name, tostring(limit.default), range, limit.text }
    width = math.max(width, #limit.name)
  end
  for _, row in ipairs(rows) do
    console.write(("%-" .. width .. "s %10s  %-15s  %s\n"):format(table.unpack(row)))
  end
  return exits.fine
end

return limits
