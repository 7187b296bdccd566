--- Values as the prompt prints them: strings in quotes with everything hidden spelled out, tables
--- by their content, as deep and as wide as a screen.
local moonplan = require "moonplan"

local DEEP, WIDE = 4, 50

local function is_name(key)
  return type(key) == "string" and key:find("^[%a_][%w_]*$") and load("local " .. key) ~= nil
end

-- Numbers before strings before everything else, each in its own order.
local function before(a, b)
  local ta, tb = type(a), type(b)
  if ta == "number" and tb == "number" then return a < b end
  if ta == "string" and tb == "string" then return a < b end
  if ta ~= tb then
    if ta == "number" or tb == "number" then return ta == "number" end
    if ta == "string" or tb == "string" then return ta == "string" end
  end
  return tostring(a) < tostring(b)
end

local show

local function show_table(value, indent, open)
  local count = rawlen(value)
  local keys = {}
  for key in next, value do
    local listed = math.type(key) == "integer" and key >= 1 and key <= count
    if not listed then keys[#keys + 1] = key end
  end
  table.sort(keys, before)
  if count == 0 and #keys == 0 then return "{}" end
  if open[value] then return "{ itself }" end
  if #indent >= 2 * DEEP then return "{ ... }" end
  open[value] = true
  local inner, lines = indent .. "  ", {}
  for i = 1, math.min(count, WIDE) do
    lines[#lines + 1] = inner .. show(rawget(value, i), inner, open)
  end
  for i = 1, math.min(#keys, WIDE) do
    local key = keys[i]
    local name = is_name(key) and key or "[" .. show(key, inner, open) .. "]"
    lines[#lines + 1] = inner .. name .. " = " .. show(rawget(value, key), inner, open)
  end
  local left = math.max(count - WIDE, 0) + math.max(#keys - WIDE, 0)
  if left > 0 then lines[#lines + 1] = inner .. "-- and " .. left .. " more" end
  open[value] = nil
  return "{\n" .. table.concat(lines, ",\n") .. "\n" .. indent .. "}"
end

function show(value, indent, open)
  if value == moonplan.null then return "moonplan.null" end
  if type(value) == "string" then return moonplan.quote(value) end
  local meta = getmetatable(value)
  if type(value) ~= "table" or (type(meta) == "table" and meta.__tostring) then
    return tostring(value)
  end
  return show_table(value, indent, open)
end

return function(...)
  local lines = table.pack(...)
  for i = 1, lines.n do lines[i] = show(lines[i], "", {}) end
  return table.concat(lines, "\n")
end
