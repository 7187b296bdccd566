--- Where a result goes: standard output, or a new file.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"

local output = {}

function output.describe(parser)
  parser:option("--out"):argname("FILE"):convert(options.path "--out")
    :description("Write it to a new file instead of standard output.")
end

--- Put out these bytes, as they are.
---@param path string? nil: standard output
---@param bytes string
---@return integer exit code
function output.put(path, bytes)
  if not path then
    console.write(bytes)
    return exits.fine
  end
  local made, why = console.create(path, bytes)
  if made then return exits.fine end
  return report.faults(path, { { code = "io", message = "cannot be written: " .. why } })
end

return output
