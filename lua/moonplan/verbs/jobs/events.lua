--- moonplan jobs events: what happened in a job.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local options = require "moonplan.command.options"
local parts = require "moonplan.command.parts"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"
local text = require "moonplan.command.text"

local events = {
  summary = "what happened in a job, in order",
  description = "Show the events of a job: time, type, and what is known of each.",
}

function events.describe(parser)
  stores.describe_id(parser)
  stores.describe(parser)
  options.describe_limit(parser)
  parser:flag("--json"):description("A JSON object a line for each event.")
end

function events.run(arguments)
  local engine, code = stores.open(arguments.store, "read", options.limits(arguments))
  if not engine then return code end
  local job
  job, code = stores.job(engine, arguments.store, arguments.id)
  if not job then return code end
  for _, event in ipairs(parts.job(job).events) do
    if arguments.json then
      report.json_text(event.json)
    else
      console.write(("%s  %-20s  %s\n"):format(event.time, event.type,
        text.bounded(event.data, 2000)))
    end
  end
  return exits.fine
end

return events
