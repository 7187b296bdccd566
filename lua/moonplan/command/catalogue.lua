--- What the commands of `moonplan plugins` share: finding capabilities by the names that people
--- type, and saying what is wrong with plugin files.
local engines = require "moonplan.command.engine"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local catalogue = {}

--- How each power is granted.
catalogue.GRANTS = {
  fs = "--grant fs=DIR", ["fs:rw"] = "--grant fs:rw=DIR", clock = "--grant clock",
}

---@param names string[] powers
---@return string
function catalogue.grants(names)
  local grants = {}
  for i, name in ipairs(names) do grants[i] = catalogue.GRANTS[name] or name end
  return table.concat(grants, " ")
end

--- The engine, its capabilities and the faults of the files that bring none; or nil, and the exit
--- code, once it has been said why there is none.
---@return table? engine
---@return table[]|integer list
---@return table[]? problems
function catalogue.open(arguments)
  local engine, faults = engines.make(arguments)
  if not engine then return nil, report.faults("plugins", faults) end
  local list, problems = engine:list()
  return engine, list, problems or {}
end

local function belongs(capability, name)
  return capability == name or capability:sub(1, #name + 1) == name .. "."
end

--- The capabilities that a name stands for: the one called so, or its family.
---@param list table[]
---@param name string
---@return table[]
function catalogue.named(list, name)
  local family = {}
  for _, item in ipairs(list) do
    if item.name == name then return { item } end
    if belongs(item.name, name) then family[#family + 1] = item end
  end
  return family
end

--- The faults of the files that a name might have come from.
---@param problems table[]
---@param name string
---@return table[]
function catalogue.problems_of(problems, name)
  local found = {}
  for _, problem in ipairs(problems) do
    local file = (problem.file or ""):match("([^/]*)%.lua$") or ""
    if file == "init" then file = problem.file:match("([^/]*)/init%.lua$") or "" end
    if file ~= "" and belongs(name, file) then found[#found + 1] = problem end
  end
  return found
end

--- What to say of a name that stands for nothing.
---@param list table[]
---@param name string
---@return string
function catalogue.unknown(list, name)
  local best, least = nil, math.max(2, #name // 2)
  for _, item in ipairs(list) do
    local distance = text.distance(name, item.name)
    if distance < least then best, least = item.name, distance end
  end
  local hint = best and ('; did you mean "%s"?'):format(best)
    or '; "moonplan plugins list" lists what there is'
  return ("there is no capability %s%s"):format(text.quoted(name), hint)
end

return catalogue
