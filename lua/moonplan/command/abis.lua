--- Descriptions of contracts that a person hands in, for reading calldata.
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local text = require "moonplan.command.text"

local abis = {}

-- [0xADDRESS=]FILE
local function source(words)
  local address, file = words:match("^(0x%x+)=(.+)$")
  if not address or #address ~= 42 then return { file = words } end
  return { file = file, address = address:lower() }
end

function abis.describe(parser)
  parser:option("--abi"):argname("[0x...=]FILE"):count("*"):convert(source)
    :description("Functions and errors by this file: a JSON ABI, or signatures, one a line. With "
      .. "an address before it, it is that contract's own; otherwise its selectors are a guess.")
end

--- What moonplan.review takes; or nil, the file that is at fault, and its faults.
---@param arguments table parsed
---@return table[]?
---@return string? name
---@return table[]? faults
function abis.read(arguments)
  local list, limits = {}, options.limits(arguments)
  for n, given in ipairs(arguments.abi) do
    local content, fault = input.read(given.file, options.bound(limits))
    if not content then return nil, given.file, { fault } end
    local abi, err = moonplan.abi.parse(content, { limits = limits })
    if not abi then return nil, given.file, err.errors end
    list[n] = { abi = abi, origin = text.utf8(given.file), address = given.address }
  end
  return list
end

return abis
