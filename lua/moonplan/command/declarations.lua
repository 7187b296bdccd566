--- Types of the contract ABI as they are declared, so that a value is shown with the names, the
--- types and the order of its components, which a JSON object does not keep.
local declarations = {}

--- A type. Of the three fields at the end at most one is there.
---@class moonplan.command.Type
---@field text string as it stands in the declaration
---@field base string? of a type that holds no others: "uint256"
---@field components { name: string?, type: moonplan.command.Type }[]? of a tuple
---@field element moonplan.command.Type? of an array

local read

-- "(TYPE NAME, TYPE NAME)" from its parenthesis on.
local function tuple(text, at)
  local components = {}
  at = at + 1
  while text:sub(at, at) ~= ")" do
    local component = {}
    component.type, at = read(text, at)
    component.name, at = text:match("^ ?([%w_$]*),? ?()", at)
    if component.name == "" then component.name = nil end
    components[#components + 1] = component
  end
  return components, at + 1
end

---@param text string
---@param at integer
---@return moonplan.command.Type
---@return integer behind it
function read(text, at)
  local first, kind = at, {}
  if text:sub(at, at) == "(" then
    kind.components, at = tuple(text, at)
  else
    kind.base, at = text:match("^(%w+)()", at)
  end
  kind.text = text:sub(first, at - 1)
  while text:sub(at, at) == "[" do
    at = text:match("^%[%d*%]()", at)
    kind = { element = kind, text = text:sub(first, at - 1) }
  end
  return kind, at
end

--- The type that an argument of a review has.
---@param argument { type: string, declaration: string? }
---@return moonplan.command.Type
function declarations.of(argument)
  return (read(argument.declaration or argument.type, 1))
end

--- A value with its type, and what it is called: a name, "[0]", or "-" where it has none.
---@class moonplan.command.Item
---@field label string
---@field type moonplan.command.Type
---@field value any

--- What a tuple's or array's value holds, in its order.
---@param kind moonplan.command.Type
---@param value table
---@return moonplan.command.Item[]
function declarations.items(kind, value)
  local list = {}
  if kind.element then
    for n, item in ipairs(value) do
      list[n] = { label = ("[%d]"):format(n - 1), type = kind.element, value = item }
    end
    return list
  end
  local array = value[1] ~= nil
  for n, component in ipairs(kind.components) do
    local held = value[n]
    if not array then held = value[component.name] end
    list[n] = { label = component.name or "-", type = component.type, value = held }
  end
  return list
end

--- The arguments of a call.
---@param call table of a review
---@return moonplan.command.Item[]
function declarations.arguments(call)
  local list = {}
  for n, argument in ipairs(call.arguments or {}) do
    list[n] = {
      label = argument.name or "-", type = declarations.of(argument), value = argument.value,
    }
  end
  return list
end

return declarations
