--- moonplan keys new: a key pair.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local keys = require "moonplan.command.keys"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local new = {
  summary = "make a key pair",
  description = "Write NAME.key, the secret half, which only its owner may read, and NAME.pub, "
    .. "the public one. Neither may be there already.",
}

function new.describe(parser)
  parser:argument("name"):convert(options.path "NAME")
    :description("Where to write them: a path without .key and .pub.")
  parser:flag("--password")
    :description("Lock the secret half with a password, which is asked for.")
end

function new.run(arguments)
  local name, password = arguments.name, nil
  if arguments.password then
    local why
    password, why = keys.new_password()
    if not password then
      return report.faults(name, { { code = "key.password", message = why } })
    end
  end
  local key, err = moonplan.keys.new()
  local saved = key
  if key then saved, err = key:save(name, { password = password }) end
  if not saved then return report.faults(name, err.errors) end
  local shown = text.visible(name)
  console.write(("%s.key: written, %s\n"):format(shown,
    password and "locked with the password" or "readable by you alone"))
  console.write(("%s.pub: the key %s, for whoever is to trust it\n"):format(shown, key.id))
  return exits.fine
end

return new
