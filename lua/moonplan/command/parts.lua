--- The parts of JSON text that is known to be valid, as JSON text. What is in a job may be more
--- than Lua holds: numbers beyond its own, and any depth. Whoever shows it needs the text alone.
local moonplan = require "moonplan"

local parts = {}

local function skip(json, at) return json:match("^[ \t\r\n]*()", at) end

local function string_end(json, at)
  repeat
    at = json:find('["\\]', at + 1)
    local escape = json:byte(at) == 92
    if escape then at = at + 1 end
  until not escape
  return at
end

-- The last byte of the value that begins there.
local function value_end(json, at)
  local first = json:sub(at, at)
  if first == '"' then return string_end(json, at) end
  if first ~= "{" and first ~= "[" then return json:match("^[^,%]} \t\r\n]*()", at) - 1 end
  local depth = 0
  while true do
    local byte = json:byte(at)
    if byte == 34 then
      at = string_end(json, at)
    elseif byte == 123 or byte == 91 then
      depth = depth + 1
    else
      depth = depth - 1
      if depth == 0 then return at end
    end
    at = json:find('["%[%]{}]', at + 1)
  end
end

-- Over what an object or array has: the text of a name, nil in an array, and of its value.
local function each(json)
  local at = skip(json, 1)
  local object = json:sub(at, at) == "{"
  at = skip(json, at + 1)
  return function()
    if json:find("^[%]}]", at) then return end
    local name
    if object then
      local last = string_end(json, at)
      name = json:sub(at, last)
      at = skip(json, skip(json, last + 1) + 1)
    end
    local last = value_end(json, at)
    local value = json:sub(at, last)
    at = skip(json, last + 1)
    if json:sub(at, at) == "," then at = skip(json, at + 1) end
    return value, name
  end
end

--- An object's values by their names.
---@param json string
---@return table<string, string>
function parts.members(json)
  local list = {}
  for value, name in each(json) do list[moonplan.json.decode(name)] = value end
  return list
end

--- An array's values.
---@param json string
---@return string[]
function parts.elements(json)
  local list = {}
  for value in each(json) do list[#list + 1] = value end
  return list
end

-- Members whose values are strings, decoded, and nothing of the rest.
local function strings(members)
  local list = {}
  for name, value in pairs(members) do
    if value:sub(1, 1) == '"' then list[name] = moonplan.json.decode(value) end
  end
  return list
end

local function with_error(members)
  local made = strings(members)
  local error = members.error
  made.error = error and error:sub(1, 1) == "{" and strings(parts.members(error)) or nil
  return made
end

--- A job to be shown: as moonplan.Job has it, but that the results of steps, and what is in an
--- event's data, are JSON text. `json` of an event is all of it.
---@param job table
---@return table
function parts.job(job)
  local members = parts.members(job:json())
  local made = with_error(members)
  made.steps, made.events = {}, {}
  for n, step in ipairs(parts.elements(members.steps)) do
    local of_step = parts.members(step)
    made.steps[n] = with_error(of_step)
    made.steps[n].result = of_step.result
  end
  for n, event in ipairs(parts.elements(members.events)) do
    local of_event = parts.members(event)
    made.events[n] = strings(of_event)
    made.events[n].data, made.events[n].json = of_event.data, event
  end
  return made
end

return parts
