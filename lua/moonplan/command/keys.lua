--- Keys on the command line: opening one, and asking for its password where it has one.
local console = require "moonplan.console"
local moonplan = require "moonplan"
local text = require "moonplan.command.text"

local keys = {}

-- As many as a person may mistype.
local TRIES = 3

--- A password that is typed, or, where nobody types, the first line of standard input.
---@param prompt string
---@return string? password
---@return string? why not
function keys.password(prompt)
  local password, why = console.password(prompt)
  if not password then return nil, why end
  if password == "" then return nil, "the password is empty" end
  return password
end

--- A new password, typed twice where somebody types.
---@return string? password
---@return string? why not
function keys.new_password()
  local password, why = keys.password("password: ")
  if not password or not console.terminal(0) then return password, why end
  local again = keys.password("the same again: ")
  if again == password then return password end
  return nil, "these are two different passwords"
end

--- Faults of a file or folder that their messages name: it is named once, in front.
---@param faults table[]
---@param path string
---@return table[] faults
function keys.blame(faults, path)
  local prefix = moonplan.quote(path, 96) .. ": "
  for _, fault in ipairs(faults) do
    fault.file = path
    local message = fault.message
    if message:sub(1, #prefix) == prefix then fault.message = message:sub(#prefix + 1) end
  end
  return faults
end

--- The secret key in a file, which is unlocked if it has to be.
---@param path string
---@return moonplan.SecretKey? key
---@return table[]? faults
function keys.open(path)
  local key, err = moonplan.keys.secret(path)
  local tries = console.terminal(0) and TRIES or 1
  while not key and err.code == "key.password" and tries > 0 do
    tries = tries - 1
    local password, why = keys.password(("password of %s: "):format(text.visible(path)))
    if not password then
      return nil, { { code = "key.password", message = why, file = path } }
    end
    key, err = moonplan.keys.secret(path, { password = password })
  end
  if key then return key end
  return nil, keys.blame(err.errors, path)
end

return keys
