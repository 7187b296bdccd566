--- Calls of a review as lines: what is called, with which arguments, and the calls inside it.
local declarations = require "moonplan.command.declarations"
local text = require "moonplan.command.text"

local call_text = {}

-- Bytes are shown so far; who wants the rest takes --json.
local BYTES_MOST = 1024

--- Bytes as digits, with what is left out said in words.
---@param hex string
---@return string
function call_text.bytes(hex)
  local more = #hex // 2 - 1 - BYTES_MOST
  if more <= 0 then return hex end
  return ("%s... and %s more"):format(hex:sub(1, 2 + 2 * BYTES_MOST), text.count(more, "byte"))
end

--- A value that holds no others.
---@param base string
---@param value any
---@return string
function call_text.scalar(base, value)
  if base == "string" then
    if type(value) == "table" then return "not UTF-8: " .. call_text.bytes(value.hex) end
    return text.quoted(value)
  end
  if type(value) == "string" then return call_text.bytes(value) end
  return tostring(value)
end

-- Columns are as wide as what stands in them, up to this.
local COLUMN_MOST = 24

local function width(list, of)
  local most = 0
  for _, item in ipairs(list) do
    local length = #of(item)
    if length <= COLUMN_MOST then most = math.max(most, length) end
  end
  return most
end

local function label_of(item) return item.label end
local function base_of(item) return item.type.base or "" end

---@param list moonplan.command.Item[]
local function add_items(lines, indent, list)
  local row = ("%s%%-%ds  %%-%ds  %%s"):format(indent, width(list, label_of), width(list, base_of))
  for _, item in ipairs(list) do
    local kind, value = item.type, item.value
    if kind.base then
      lines[#lines + 1] = row:format(item.label, kind.base, call_text.scalar(kind.base, value))
    else
      local empty = next(value) == nil and "  (empty)" or ""
      lines[#lines + 1] = ("%s%s  %s%s"):format(indent, item.label, kind.text, empty)
      add_items(lines, indent .. "  ", declarations.items(kind, value))
    end
  end
end

--- Whose description of a function was used, and what that is worth.
---@param call table
---@return string
function call_text.source(call)
  local by = call.source == "standard" and "as in " .. call.defined_by
    or "by " .. text.visible(call.source)
  return by .. (call.guess and ", a guess" or "")
end

--- In one line, what a call does; nil for one that only moves value.
---@param call table
---@return string?
function call_text.head(call)
  if call.kind == "value" then return nil end
  local head = call.signature and ("%s %s"):format(text.bounded(call.signature, 256),
    call_text.source(call))
  if call.kind == "decoded" then return head end
  return ("%snot decoded: %s"):format(head and head .. ", " or "", call.reason)
end

local function amount(call) return ("%s wei (%s ether)"):format(call.value, call.value_ether) end

--- Of a call inside another: its number, where it goes, with how much.
---@param call table
---@return string
function call_text.inner(call)
  local words = { ("call %s"):format(call.id) }
  if call.assumed then words[1] = words[1] .. " (bytes that look like a call)" end
  if call.delegate then words[#words + 1] = "code run as the account itself" end
  words[#words + 1] = "to " .. (call.to and call.to ~= "" and call.to or "an unknown address")
  if call.value and call.value ~= "0" then words[#words + 1] = "value " .. amount(call) end
  return table.concat(words, ", ")
end

local function add_notes(lines, indent, call)
  for _, note in ipairs(call.notes or {}) do
    lines[#lines + 1] = ("%snot canonical: %s"):format(indent, note.message)
  end
end

--- What stands below the head of a call: arguments, notes, bytes not decoded, inner calls.
---@param lines string[]
---@param indent string
---@param call table
function call_text.add(lines, indent, call)
  add_items(lines, indent, declarations.arguments(call))
  add_notes(lines, indent, call)
  if call.data then lines[#lines + 1] = indent .. call_text.bytes(call.data) end
  for _, inner in ipairs(call.calls or {}) do
    lines[#lines + 1] = indent .. call_text.inner(inner)
    local head = call_text.head(inner)
    if head then lines[#lines + 1] = indent .. "  " .. head end
    call_text.add(lines, indent .. "    ", inner)
  end
end

--- Does anything in a call rest on a guess?
---@param call table
---@return boolean
function call_text.guessed(call)
  if call.guess then return true end
  for _, inner in ipairs(call.calls or {}) do
    if call_text.guessed(inner) then return true end
  end
  return false
end

call_text.GUESS = "A guess: four bytes of a hash are all that speaks for the name; the contract "
  .. "may mean something else by them"

--- What a revert gave, as lines.
---@param revert table from moonplan.abi.decode_revert
---@return string[]
function call_text.revert(revert)
  local lines = { revert.text }
  add_items(lines, "  ", declarations.arguments(revert))
  add_notes(lines, "  ", revert)
  if revert.data ~= "0x" then lines[#lines + 1] = "  " .. call_text.bytes(revert.data) end
  return lines
end


return call_text
