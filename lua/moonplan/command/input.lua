--- Reading documents: never more of one than its limit.
local console = require "moonplan.console"

local input = {}

-- The name that stands for standard input.
local STDIN = "-"
local stdin_taken = false

---@return string? path nil: standard input
---@return table? fault
local function path_of(name)
  if name ~= STDIN then return name end
  if stdin_taken then
    return nil, { code = "io", message = "standard input has been read already" }
  end
  stdin_taken = true
end

local function io_fault(why)
  return { code = "io", message = "cannot be read: " .. why }
end

-- `size`: how many there are, in digits, where that is known.
local function limit_fault(limit, name, size)
  local message = ("more than %d bytes (limit %s)"):format(limit, name or "document_bytes")
  if size and size ~= "" then message = message .. ": there are " .. size end
  return { code = "limit", at = "", message = message }
end

---@param name string
---@param limit integer bytes
---@param limit_name string? "document_bytes" unless said otherwise
---@return string? text
---@return table? fault
function input.read(name, limit, limit_name)
  local path, fault = path_of(name)
  if fault then return nil, fault end
  local text, kind, why = console.read(path, limit)
  if text then return text end
  return nil, kind == "limit" and limit_fault(limit, limit_name, why) or io_fault(why)
end

--- An iterator over the lines of a file that hold anything: number, text; or number, nil, fault; or
--- number, nil, nil, the digests of the plans on the lines up to that number. After an "io" fault
--- there are no more. With it comes what a loop closes at its end.
---@param name string
---@param limit integer bytes of one line
---@param plans table? options for plans whose digests are all that is wanted of them, and `jobs`
function input.lines(name, limit, plans)
  local path, fault = path_of(name)
  local reader, why
  if not fault then
    reader, why = console.lines(path, limit, plans)
    fault = not reader and io_fault(why) or nil
  end
  local number, ended = 0, false
  return function()
    if ended then return nil end
    if not fault then
      if plans then
        local digests, count = reader:digests()
        if digests then
          number = number + count
          return number, nil, nil, digests
        end
      end
      local line
      repeat
        number = number + 1
        line, why = reader:line()
      until not line or line:find("[^ \t\r]")
      if line then return number, line end
      if line == false then return number, nil, limit_fault(limit) end
      if not why then return nil end
      fault = io_fault(why)
    end
    ended = true
    return number, nil, fault
  end, nil, nil, reader
end

return input
