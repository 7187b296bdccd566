--- Authorizers from files: a Lua file of the person's own that returns a function.
---
---   return function(request)
---     return { decision = "deny", reason = "not on a Sunday" }   -- or "allow", without a reason
---   end
---
--- A request has job_id, step_id, capability = { name, version, risk }, input and caller.
--- It sees what plugins see, so that a policy that works here works in any host: no files, no
--- processes, nothing that it could print to standard output with, which is for results.
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local policy = {}

-- A policy is read by people, too.
local MOST_BYTES = 1024 * 1024

local FUNCTIONS = {
  "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget",
  "rawlen", "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "xpcall",
}
local OF_MOONPLAN = {
  "null", "array", "is_array", "quote", "keccak256", "sha256", "blake2b",
}

local function copied(from)
  local copy = {}
  for name, value in pairs(from) do copy[name] = value end
  return copy
end

local function environment()
  local there = { math = copied(math), string = copied(string), table = copied(table),
    utf8 = copied(utf8), json = copied(moonplan.json), moonplan = {} }
  there.string.dump = nil
  for _, name in ipairs(FUNCTIONS) do there[name] = _G[name] end
  for _, name in ipairs(OF_MOONPLAN) do there.moonplan[name] = moonplan[name] end
  there._G = there
  function there.print()
    error("an authorizer does not print: give a decision a reason instead", 2)
  end
  return there
end

-- As its errors name it: never the folder that it lies in.
local function base_of(name)
  return name == "-" and "stdin" or name:match("[^/]*$")
end

-- What Lua says of a chunk, as a fault with its line.
local function fault_of(words)
  local line, message = words:match("^[^\n]-:(%d+): (.*)$")
  return { {
    code = "plugin.load", at = "", line = math.tointeger(line),
    message = text.visible(message or words),
  } }
end

local function load_policy(name)
  local source, fault = input.read(name, MOST_BYTES)
  if not source then
    if fault.code == "limit" then
      fault.message = ("more than %d bytes, which is no policy"):format(MOST_BYTES)
    end
    return nil, { fault }
  end
  -- Every string here shares one metatable with those of the program.
  getmetatable("").__metatable = false
  -- A first line for the shell that the file may be run by.
  source = source:gsub("^#[^\n]*", "")
  local chunk, why = load(source, "=" .. base_of(name), "t", environment())
  if not chunk then return nil, fault_of(why) end
  local fine, authorizer = pcall(chunk)
  if not fine then
    return nil, fault_of(type(authorizer) == "string" and authorizer
      or "raises a value of type " .. type(authorizer))
  end
  if type(authorizer) ~= "function" then
    return nil, { {
      code = "plugin.manifest", at = "",
      message = ("an authorizer file returns a function(request), not %s"):format(
        authorizer == nil and "nothing" or "a " .. type(authorizer)),
    } }
  end
  return authorizer
end

---@param name string a path, or - for standard input
---@return function? authorizer
---@return table[]? faults
function policy.load(name)
  local authorizer, faults = load_policy(name)
  return authorizer, faults and report.blame(faults, name)
end

return policy
