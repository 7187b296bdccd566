--- Documents that are too large or too odd to stand in a case file as text.
local recipe = {}

local function part_bytes(part)
  if type(part) == "string" then return part end
  if part["repeat"] then return string.rep(part["repeat"], math.tointeger(part.times)) end
  if part.hex then
    return (part.hex:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
  end
  local seq, pieces = part.seq, {}
  for n = math.tointeger(seq.from), math.tointeger(seq.to) do
    pieces[#pieces + 1] = (seq.template:gsub("@N@", tostring(n)))
  end
  return table.concat(pieces, seq.join)
end

--- The bytes of a case's document.
---@param case { input: string?, input_recipe: table? }
---@return string
function recipe.build(case)
  if case.input then return case.input end
  local pieces = {}
  for i, part in ipairs(case.input_recipe) do pieces[i] = part_bytes(part) end
  return table.concat(pieces)
end

return recipe
