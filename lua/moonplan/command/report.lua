--- What is said about a document: lines for people, or one JSON document a line.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local text = require "moonplan.command.text"

local report = {}

local COLOURS = { red = "31", yellow = "33", green = "32" }

--- Coloured where a person looks at the descriptor and has not asked for none (no-color.org).
---@param descriptor integer 1 or 2
---@param colour "red"|"yellow"|"green"
---@param words string
---@return string
function report.coloured(descriptor, colour, words)
  local refused = console.environment("NO_COLOR")
  if (refused and refused ~= "") or not console.terminal(descriptor) then return words end
  return ("\27[%sm%s\27[0m"):format(COLOURS[colour], words)
end

-- FILE:LINE:COLUMN, as compilers write it; line and column only where there is a place.
local function place(name, line, column)
  local shown = text.visible(name)
  if not line then return shown end
  if not column then return ("%s:%d"):format(shown, line) end
  return ("%s:%d:%d"):format(shown, line, column)
end

-- The message of a fault of another file, and its line. Lua's messages begin with both: the file as
-- plugins are allowed to see it, which is the end of its path.
local function told(fault)
  local file, message = fault.file, fault.message
  if not file or fault.line then return message, fault.line end
  local name, line, rest = message:match("^([^:]+%.lua):?(%d*): (.*)$")
  if not name or ("/" .. file):sub(-#name - 1) ~= "/" .. name then return message end
  return rest, math.tointeger(tonumber(line))
end

local function fault_line(name, fault, word)
  local at = fault.at and fault.at ~= "" and " at " .. text.visible(fault.at) or ""
  local message, line = told(fault)
  return ("%s: %s[%s]%s: %s\n"):format(place(fault.file or name, line, fault.column), word,
    fault.code, at, message)
end

--- The faults of a document, a line each, to standard error; the exit code that they earn.
---@param name string of the document; a fault of another file says which
---@param faults table[]
---@return integer exit code
function report.faults(name, faults)
  local word = report.coloured(2, "red", "error")
  local lines, code = {}, exits.fine
  for i, fault in ipairs(faults) do
    lines[i] = fault_line(name, fault, word)
    code = exits.worst(code, exits.of(fault.code))
  end
  console.warn(table.concat(lines))
  return code
end

---@param name string
---@param warnings table[]
function report.warnings(name, warnings)
  if #warnings == 0 then return end
  local word = report.coloured(2, "yellow", "warning")
  local lines = {}
  for i, warning in ipairs(warnings) do lines[i] = fault_line(name, warning, word) end
  console.warn(table.concat(lines))
end

--- What a person may want to know beside.
---@param name string of what it is about
---@param words string
function report.note(name, words)
  console.warn(("%s: note: %s\n"):format(text.visible(name), words))
end

--- Faults of another file, or of an option.
---@param faults table[]
---@param file string
---@return table[] faults the same
function report.blame(faults, file)
  for _, fault in ipairs(faults) do fault.file = file end
  return faults
end

local function or_null(value)
  if value == nil then return moonplan.null end
  return value
end

--- Faults as `--json` lists them.
---@param faults table[]
function report.plain_faults(faults)
  local list = {}
  for i, fault in ipairs(faults) do
    local message, line = told(fault)
    list[i] = {
      code = fault.code,
      at = or_null(fault.at),
      line = or_null(line),
      column = or_null(fault.column),
      offset = or_null(fault.offset),
      message = text.utf8(message),
      file = fault.file and text.utf8(fault.file),
    }
  end
  return moonplan.array(list)
end

-- What does not show, or changes how the text around it looks, as JSON's escapes; false where the
-- character shows as what it is.
local escapes = setmetatable({}, {
  __index = function(known, character)
    local escape = false
    if moonplan.quote(character) ~= '"' .. character .. '"' then
      local point = utf8.codepoint(character)
      escape = point < 0x10000 and ("\\u%04x"):format(point)
        or ("\\u%04x\\u%04x"):format(0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff))
    end
    known[character] = escape
    return escape
  end,
})

--- JSON text that is there already. What it says may have come from anywhere, and a terminal may be
--- what reads it, so hidden characters are escaped: the value is the same.
---@param json string
---@return string
function report.escaped(json)
  if not json:find("[\x7f-\xff]") then return json end
  return (json:gsub("[\x7f\xc2-\xf4][\x80-\xbf]*", escapes))
end

--- JSON text that is there already, on a line of its own.
---@param json string
function report.json_text(json)
  console.write(report.escaped(json))
  console.write("\n")
end

-- What goes in has been read or made here, and bounded then.
local wide = {}
for _, limit in ipairs(moonplan.limits()) do
  if limit.name == "depth" or limit.name == "values" or limit.name == "document_bytes" then
    wide[limit.name] = limit.ceiling
  end
end

--- One value as JSON, on a line of its own.
function report.json(value)
  report.json_text(assert(moonplan.json.encode(value, { limits = wide })))
end

-- Of the kinds of document, not all have one; asking another for it is an error.
local function digest_of(plan, kind)
  if kind == nil or kind == "call_plan" then return plan.digest end
  if kind == "typed_data_signature_request" then return plan.request_digest end
end

--- The warnings that a valid document has; of requests there are none.
---@param document table
---@param kind string?
---@return table[]
function report.warnings_of(document, kind)
  if kind == "typed_data_signature_request" then return {} end
  return document.warnings
end

--- What `--json` says of a plan or of the faults that a document has instead.
---@param name string
---@param plan table?
---@param faults table[]?
---@param kind string? nil: a plan is a call plan
---@param provenance table? of what came by a reference
---@return table
function report.record(name, plan, faults, kind, provenance)
  return {
    file = text.utf8(name),
    kind = or_null(kind or plan and "call_plan"),
    valid = plan ~= nil,
    digest = or_null(plan and digest_of(plan, kind)),
    errors = report.plain_faults(faults or {}),
    warnings = report.plain_faults(plan and report.warnings_of(plan, kind) or {}),
    provenance = provenance,
  }
end

--- The exit code of a list of faults; fine where there is none.
---@param faults table[]?
---@return integer
function report.exit_of(faults)
  local code = exits.fine
  for _, fault in ipairs(faults or {}) do code = exits.worst(code, exits.of(fault.code)) end
  return code
end

return report
