--- Line and column of a byte offset, counted here and nowhere near the code that is tested.
local places = {}

--- Lines end with LF, CR LF or CR; both count from 1, the column in bytes.
---@param text string
---@param offset integer from 0
---@return integer line, integer column
function places.of(text, offset)
  local line, start = 1, 0
  local at = 0
  while at < offset do
    local byte = text:byte(at + 1)
    if byte == 10 or (byte == 13 and text:byte(at + 2) ~= 10) then
      line, start = line + 1, at + 1
    end
    at = at + 1
  end
  return line, offset - start + 1
end

return places
