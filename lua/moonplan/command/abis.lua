--- Descriptions of contracts that a person hands in, or plugins bring, for reading calldata.
local engines = require "moonplan.command.engine"
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
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

--- Where no engine is described that has these options.
function abis.describe_plugins(parser)
  parser:option("--plugins"):argname("DIR"):count("*")
    :description("Read what the plugins in this folder describe as well. Their word adds to what "
      .. "there is, and takes no finding away.")
  parser:option("--trust"):argname("DIR"):convert(options.path "--trust")
    :description("The folder of the keys to trust: what they have signed is read unconfined.")
  engines.describe_isolation(parser)
end

-- What the plugins in the folders bring, behind what is in the list; or nil and the faults. One
-- that is broken does not keep a person from a review.
local function add_brought(list, arguments)
  local made, faults = engines.make {
    plugins = arguments.plugins, trust = arguments.trust, isolation = arguments.isolation,
    limit = arguments.limit, no_shipped = true,
  }
  if not made then return nil, faults end
  local brought, problems = made:abis()
  if not brought then return nil, problems.errors end
  for _, problem in ipairs(problems) do
    report.note(problem.file, "what it may describe is not read: "
      .. text.bounded(problem.message, 400))
  end
  table.move(brought, 1, #brought, #list + 1, list)
  made:close()
  return list
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
  if #(arguments.plugins or {}) == 0 then return list end
  local all, faults = add_brought(list, arguments)
  if not all then return nil, "--plugins", faults end
  return all
end

return abis
