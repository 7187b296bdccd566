--- moonplan jobs cancel: end a job before its next step.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local options = require "moonplan.command.options"
local stores = require "moonplan.command.stores"
local text = require "moonplan.command.text"

local cancel = {
  summary = "end a job before its next step",
  description = "Cancel a job. One that another process runs ends before its next step, and the "
    .. "capability that is running is told; one that waits or was interrupted ends at once.",
}

function cancel.describe(parser)
  stores.describe_id(parser)
  stores.describe(parser)
  options.describe_limit(parser)
end

function cancel.run(arguments)
  local engine, code = stores.open(arguments.store, "existing", options.limits(arguments))
  if not engine then return code end
  local done, err = engine:cancel(arguments.id)
  if not done then return stores.refuse(arguments.store, err) end
  local job = engine:job(arguments.id)
  local ended = job and job.status == "cancelled"
  console.warn(("%s: %s\n"):format(text.visible(arguments.id),
    ended and "cancelled" or "will end before its next step"))
  return exits.fine
end

return cancel
