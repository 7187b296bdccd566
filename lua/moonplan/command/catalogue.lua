--- What the commands of `moonplan plugins` share: finding what there is by the names that people
--- type, and saying what is wrong with plugin files.
local engines = require "moonplan.command.engine"
local grants = require "moonplan.command.grants"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local catalogue = {}

--- How these powers are granted.
---@param needs string[]
---@return string
function catalogue.grants(needs)
  local options = {}
  for i, need in ipairs(needs) do options[i] = grants.option(need) end
  return table.concat(options, " ")
end

--- What it needs and whom it comes from: for what does not come along.
---@param item table
---@return string
function catalogue.origin(item)
  local words = {}
  if item.needs and #item.needs > 0 then
    words[#words + 1] = "needs " .. table.concat(item.needs, ", ")
  end
  words[#words + 1] = item.signer and ("signed by %s (%s)"):format(item.signer, item.key)
    or item.decision
  words[#words + 1] = "digest " .. item.digest
  return table.concat(words, "; ")
end

--- The kinds of what plugins bring, in the order in which they are shown.
catalogue.KINDS = { "capability", "builder", "executor", "authorizer" }

local PLURALS = { capability = "capabilities" }
---@param kind string
---@return string
function catalogue.plural(kind) return PLURALS[kind] or kind .. "s" end

---@param kind string
---@return string
function catalogue.article(kind)
  return (kind:find("^[aeiou]") and "an " or "a ") .. kind
end

--- The engine, all that plugins bring, kind by kind, and the faults of files that bring none; or
--- nil, and the exit code, once it has been said why there is none.
---@return table? engine
---@return table[]|integer list
---@return table[]? problems
function catalogue.open(arguments)
  local engine, faults = engines.make(arguments)
  if not engine then return nil, report.faults("plugins", faults) end
  local list, problems = {}, nil
  for _, kind in ipairs(catalogue.KINDS) do
    local items
    items, problems = engine:list(kind)
    if not items then return nil, report.faults("plugins", problems.errors) end
    table.move(items, 1, #items, #list + 1, list)
  end
  return engine, list, problems
end

local function belongs(capability, name)
  return capability == name or capability:sub(1, #name + 1) == name .. "."
end

--- What a name stands for: the one called so, or its family.
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
---@param kind string? what it should be; otherwise, what the nearest name stands for
---@return string
function catalogue.unknown(list, name, kind)
  local best, least = nil, math.max(2, #name // 2)
  for _, item in ipairs(list) do
    local distance = text.distance(name, item.name)
    if distance < least then best, least = item, distance end
  end
  local hint = best and ('; did you mean "%s"?'):format(best.name)
    or '; "moonplan plugins list" lists what there is'
  local noun = kind or best and best.kind or "capability"
  return ("there is no %s %s%s"):format(noun, text.quoted(name), hint)
end

return catalogue
