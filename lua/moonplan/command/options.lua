--- Options that several verbs share, and what the library is told about them.
local moonplan = require "moonplan"
local words = require "moonplan.command.text"

local options = {}

---@param name string
---@return table? limit
local function limit_called(name)
  for _, limit in ipairs(moonplan.limits()) do
    if limit.name == name then return limit end
  end
end

-- NAME=VALUE
local function limit_value(text)
  local name, digits = text:match("^([^=]*)=(%d+)$")
  if not name then return nil, ("%s is not NAME=NUMBER"):format(words.bounded(text, 96)) end
  local limit = limit_called(name)
  if not limit then
    return nil, ("there is no limit %s; \"moonplan limits\" lists them"):format(
      words.bounded(name, 96))
  end
  local value = math.tointeger(tonumber(digits))
  if not value or value < limit.floor or value > limit.ceiling then
    return nil, ("%s can be set from %d to %d, not to %s"):format(name, limit.floor, limit.ceiling,
      words.bounded(digits, 96))
  end
  return { name = name, value = value }
end

--- For options that take an address.
---@param given string
---@return string?
---@return string? complaint
function options.address(given)
  if given:match("^0x%x+$") and #given == 42 then return given end
  return nil, ("%s is not an address: 0x and 40 hexadecimal digits")
    :format(words.bounded(given, 96))
end

--- For options that take the name of a file or folder.
---@param option string
---@return fun(given: string): string?, string?
function options.path(option)
  return function(given)
    if given ~= "" then return given end
    return nil, ("the name for %s is empty"):format(option)
  end
end

--- Files to read, and how to read plans.
function options.describe(parser)
  parser:argument("file"):args("+"):description("A document; - is standard input.")
  parser:option("--as"):choices({ "call", "step", "reference", "typed-data" })
    :description("Take the document for this kind instead of looking.")
  parser:option("--implements"):argname("NAME"):count("*")
    :description("Refuse plans that require a capability not named so; '' alone: that require any.")
  parser:flag("--normalize")
    :description("Lower upper-case hexadecimal digits before comparing and hashing.")
  options.describe_limit(parser)
end

function options.describe_limit(parser)
  parser:option("--limit"):argname("NAME=VALUE"):count("*"):convert(limit_value)
    :description("Set a limit; see moonplan limits.")
end

--- The limits that were set, from parsed arguments.
---@return table<string, integer>
function options.limits(arguments)
  local limits = {}
  for _, limit in ipairs(arguments.limit) do limits[limit.name] = limit.value end
  return limits
end

--- What moonplan.call_plan takes, from parsed arguments.
---@return table
function options.of(arguments)
  local limits = options.limits(arguments)
  local implements = #arguments.implements > 0 and arguments.implements or nil
  return {
    limits = limits,
    hex_case = arguments.normalize and "normalize" or "reject",
    implements = implements,
    -- These verbs execute nothing, so they refuse for a missing capability only when asked to.
    enforce_capabilities = implements ~= nil,
  }
end

--- The most bytes that are read of a document, and the name of that limit. What a document turns
--- out to be is not known before it has been read, so the larger limit of references counts where
--- they are asked for by name.
---@param limits table<string, integer> those that were set
---@param as string? what `--as` said
---@return integer bytes
---@return string name
function options.bound(limits, as)
  local name = as == "reference" and "envelope_bytes" or "document_bytes"
  return limits[name] or limit_called(name).default, name
end

--- The most bytes that a document may have under these options.
---@return integer
function options.document_bytes(made)
  return made.limits.document_bytes or limit_called("document_bytes").default
end

return options
