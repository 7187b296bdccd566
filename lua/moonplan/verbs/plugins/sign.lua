--- moonplan plugins sign: say that a folder of plugins is as it should be.
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local keys = require "moonplan.command.keys"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local sign = {
  summary = "sign folders of plugins",
  description = "Load every plugin of a folder, write plugins.manifest, which names all files with "
    .. "their digests and all plugins with their versions, and sign it: plugins.manifest.minisig, "
    .. "which the tool minisign verifies, too. Older ones are replaced.",
}

function sign.describe(parser)
  parser:argument("folder"):args("+"):description("A folder of plugins.")
  parser:option("--key"):argname("FILE.key"):count("1"):convert(options.path "--key")
    :description("The secret key; moonplan keys new makes one.")
  engines.describe_isolation(parser)
  options.describe_limit(parser)
end

function sign.run(arguments)
  local key, faults = keys.open(arguments.key)
  if not key then return report.faults(arguments.key, faults) end
  arguments.plugins, arguments.no_shipped = arguments.folder, true
  local engine
  engine, faults = engines.make(arguments)
  if not engine then return report.faults("plugins", faults) end
  local signed, err = engine:sign_plugins(key)
  if not signed then return report.faults("plugins", err.errors) end
  for _, folder in ipairs(arguments.folder) do
    console.write(("%s: signed by the key %s\n"):format(text.visible(folder), key.id))
  end
  return exits.fine
end

return sign
