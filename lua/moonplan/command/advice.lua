--- Commands to go on with, as they can be typed: with the options that were given.
local parts = require "moonplan.command.parts"
local text = require "moonplan.command.text"

local advice = {}

-- What hides, or changes how the text around it looks, is spelled out as bash, zsh and ksh read it.
local function escaped(word)
  return "$'" .. word:gsub("['\\]", "\\%0"):gsub("[^\x20-\x7e]", function(byte)
    return ("\\x%02x"):format(byte:byte())
  end) .. "'"
end

--- A word of a command for a shell.
---@param word string
---@return string
function advice.word(word)
  if word:find("^[%w_./:@%%+,=-]+$") then return word end
  if text.visible(word) ~= word then return escaped(word) end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function option(words, name, value)
  if value:sub(1, 1) == "-" then
    words[#words + 1] = ("%s=%s"):format(name, advice.word(value))
  else
    words[#words + 1] = name
    words[#words + 1] = advice.word(value)
  end
end

local function options(words, name, values)
  for _, value in ipairs(values or {}) do option(words, name, value) end
end

local function add_grants(words, given)
  local powers = {}
  for power in pairs(given or {}) do powers[#powers + 1] = power end
  table.sort(powers)
  for _, power in ipairs(powers) do
    local places = given[power]
    if places == true then
      option(words, "--grant", power)
    else
      for _, place in ipairs(type(places) == "table" and places or { places }) do
        option(words, "--grant", power .. "=" .. place)
      end
    end
  end
end

-- What leads to the same capabilities.
local function add_engine(words, arguments)
  options(words, "--plugins", arguments.plugins)
  if arguments.no_shipped then words[#words + 1] = "--no-shipped" end
  if arguments.trust then option(words, "--trust", arguments.trust) end
  if arguments.strict then words[#words + 1] = "--strict" end
  add_grants(words, arguments.grant)
  if arguments.isolation then option(words, "--isolation", arguments.isolation) end
  for _, limit in ipairs(arguments.limit or {}) do
    option(words, "--limit", ("%s=%d"):format(limit.name, limit.value))
  end
end

local function begin(id, arguments, ...)
  local words = { "moonplan", ... }
  words[#words + 1] = advice.word(id)
  options(words, "--store", { arguments.store })
  return words
end

-- The risks of what may come next, of which each is denied unless it is allowed, and a job that is
-- denied a step is over.
local function add_policy(words, arguments, risks)
  if arguments.authorizer then
    option(words, "--authorizer", arguments.authorizer)
    return
  end
  local allowed = {}
  for _, risk in ipairs(arguments.allow or {}) do allowed[risk] = true end
  for _, risk in ipairs(risks or {}) do allowed[risk] = true end
  for _, risk in ipairs { "write", "destructive" } do
    if allowed[risk] then option(words, "--allow", risk) end
  end
end

--- The command that goes on with a job.
---@param id string
---@param arguments table
---@param risks string[]? of the steps that are yet to come
---@return string
function advice.resume(id, arguments, risks)
  local words = begin(id, arguments, "jobs", "resume")
  add_engine(words, arguments)
  add_policy(words, arguments, risks)
  return table.concat(words, " ")
end

--- The command that makes an approval for the step that a job waits with, and the one that goes on
--- with the job then. What they cannot know is in capitals.
---@return string approve
---@return string resume
function advice.approve(id, arguments, risks)
  local words = begin(id, arguments, "approve", "--job")
  words[#words + 1] = "--key FILE.key > approval.json"
  local resume = { advice.resume(id, arguments, risks), "--approval approval.json" }
  options(resume, "--approver", arguments.approver)
  if #(arguments.approver or {}) == 0 then resume[#resume + 1] = "--approver FILE.pub" end
  return table.concat(words, " "), table.concat(resume, " ")
end

--- What says how a step ended: the command, and what it takes.
---@param step string
---@return string
function advice.resolve(id, step, arguments)
  local words = begin(id, arguments, "jobs", "resolve")
  option(words, "--step", step)
  add_engine(words, arguments)
  words[#words + 1] = "with --as completed, --as failed or --retry says how the step ended"
  return table.concat(words, " ")
end

--- The risks of a job's steps that are yet to come, as far as they are known: that of the step that
--- waits from its events, those of the others from the engine.
---@param job table as parts.job has it
---@param engine table?
---@return string[]
function advice.risks(job, engine)
  local known, risks = {}, {}
  for _, item in ipairs(engine and engine:list() or {}) do known[item.name] = item.risk end
  for _, step in ipairs(job.steps) do
    if step.status ~= "completed" then risks[#risks + 1] = known[step.capability] end
  end
  local last = job.events[#job.events]
  for _, event in ipairs(job.events) do
    if event.type == "approval.requested" then last = event end
  end
  if job.status == "awaiting_approval" and last and last.type == "approval.requested" then
    local risk = parts.members(last.data).risk
    risks[#risks + 1] = risk and risk:match('^"(.*)"$')
  end
  return risks
end

return advice
