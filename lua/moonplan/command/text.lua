--- Words for people: what was typed or read, made safe to print, and how near two words are.
local moonplan = require "moonplan"

local text = {}

--- In double quotes, with everything hidden spelled out. Whole, unless it is very long: what can be
--- long is bounded where it is read.
---@param raw string
---@return string
function text.quoted(raw) return moonplan.quote(raw, math.min(#raw * 9 + 16, 65536)) end

--- As it is where that can be seen and is safe to print, otherwise quoted.
---@param raw string
---@return string
function text.visible(raw)
  if raw == "" then return '""' end
  if not raw:find("[^\x20-\x7e]") then return raw end
  local quoted = text.quoted(raw)
  -- Quoting escapes these two for its own sake.
  if quoted:sub(2, -2):gsub('\\(["\\])', "%1") == raw then return raw end
  return quoted
end

--- As text.visible, and no longer than so many bytes: "…" shows a cut.
---@param raw string
---@param most integer at least 16
---@return string
function text.bounded(raw, most)
  if #raw > most then return moonplan.quote(raw, most) end
  return text.visible(raw)
end

--- Valid UTF-8, for JSON: other bytes are spelled \xNN.
---@param raw string
---@return string
function text.utf8(raw)
  local parts, at = {}, 1
  while true do
    local valid, bad = utf8.len(raw, at)
    if valid then
      parts[#parts + 1] = raw:sub(at)
      return table.concat(parts)
    end
    parts[#parts + 1] = raw:sub(at, bad - 1)
    parts[#parts + 1] = ("\\x%02x"):format(raw:byte(bad))
    at = bad + 1
  end
end

--- Insertions, deletions, replacements and swaps of neighbours between two words.
---@param a string
---@param b string
---@return integer
function text.distance(a, b)
  if #a > 64 then return #a end
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local above
    before, above, row = row, before, { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      row[j] = math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], above[j - 2] + 1)
      end
    end
  end
  return row[#b]
end

--- "1 byte", "68 bytes".
---@param n integer
---@param noun string
---@return string
function text.count(n, noun) return ("%d %s%s"):format(n, noun, n == 1 and "" or "s") end

return text
