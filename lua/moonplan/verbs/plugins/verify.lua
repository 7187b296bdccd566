--- moonplan plugins verify: is a folder of plugins what somebody trusted has signed?
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local keys = require "moonplan.command.keys"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local verify = {
  summary = "verify the signatures of folders of plugins",
  description = "Verify the signature of a folder's plugins.manifest, and that every file is what "
    .. "it says, with none missing and none more. No plugin is loaded.",
}

function verify.describe(parser)
  parser:argument("folder"):args("+"):description("A folder of plugins.")
  parser:option("--trust"):argname("DIR"):count("1"):convert(options.path "--trust")
    :description("The folder of the keys to trust, NAME.pub, and of trust.json, which says what "
      .. "each of them may sign.")
  parser:flag("--json"):description("A JSON object a line: folder, signer, key, isolation, files, "
    .. "items.")
  options.describe_limit(parser)
end

local function show(row)
  console.write(("%s: %s by %s (%s), runs in isolation %s\n"):format(text.visible(row.folder),
    report.coloured(1, "green", "signed"), text.visible(row.signer), row.key, row.isolation))
  for _, item in ipairs(row.items) do
    console.write(("  %s %s  %s\n"):format(text.visible(item.name), text.visible(item.version),
      text.visible(item.file)))
  end
end

function verify.run(arguments)
  local code = exits.fine
  for _, folder in ipairs(arguments.folder) do
    arguments.plugins, arguments.no_shipped = { folder }, true
    local engine, faults = engines.make(arguments)
    if not engine then return report.faults("plugins", faults) end
    local rows, err = engine:verify_plugins()
    if not rows then
      code = exits.worst(code, report.faults(folder, keys.blame(err.errors, folder)))
    elseif arguments.json then
      report.json(rows[1])
    else
      show(rows[1])
    end
  end
  return code
end

return verify
