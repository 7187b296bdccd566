--- moonplan jobs sign: sign the head of the audit trail.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local keys = require "moonplan.command.keys"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"
local text = require "moonplan.command.text"

local sign = {
  summary = "sign the head of the audit trail",
  description = "Sign what the store says now, so that moonplan jobs verify --key notices when its "
    .. "end is cut off, or all of it was written anew.",
}

function sign.describe(parser)
  stores.describe(parser)
  parser:option("--key"):argname("FILE.key"):count("1"):convert(options.path "--key")
    :description("The secret key; moonplan keys new makes one.")
end

function sign.run(arguments)
  local key, faults = keys.open(arguments.key)
  if not key then return report.faults(arguments.key, faults) end
  local engine, code = stores.open(arguments.store, "existing")
  if not engine then return code end
  local signed, err = engine:sign_head(key)
  if not signed then return stores.refuse(arguments.store, err) end
  console.warn(("%s: head signed by the key %s\n"):format(text.visible(arguments.store), key.id))
  return exits.fine
end

return sign
