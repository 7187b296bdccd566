--- Programs of spec/c that answer many documents in one run: see spec/c/cases.h.
local cjson = require "cjson".new()
local command = require "spec.support.command"
local files = require "spec.support.files"

local records = {}

-- Explanations nest twice as deep as what they explain.
cjson.decode_max_depth(1100)

--- Where the programs are: in the build that runs the specs, or the usual one.
local build = os.getenv("MOONPLAN_BUILD") or (files.root .. "build/release")

---@class spec.Record
---@field words (string|number)[] of the record's line
---@field bytes string the document
---@field body string? what is behind it

--- A word is cut where the next one begins, so that none may hold white space.
local function word(value)
  value = tostring(value)
  assert(not value:find("%s"), value)
  return value
end

--- One decoded answer for each record, in their order.
---@param program string
---@param list spec.Record[]
---@return table[]
function records.ask(program, list)
  local path = build .. "/spec/" .. program
  local pieces = {}
  for n, record in ipairs(list) do
    local words = {}
    for i, value in ipairs(record.words) do words[i] = word(value) end
    words[#words + 1] = "bytes=" .. #record.bytes
    if record.body then words[#words + 1] = "body=" .. #record.body end
    pieces[n] = table.concat(words, " ") .. "\n" .. record.bytes .. (record.body or "")
  end
  local outcome = command.shell("exec " .. files.quote(path), table.concat(pieces))
  assert(outcome.code == 0, outcome.err)
  local answers = {}
  for line in outcome.out:gmatch("[^\n]+") do answers[#answers + 1] = cjson.decode(line) end
  assert(#answers == #list, "not every record was answered")
  return answers
end

return records
