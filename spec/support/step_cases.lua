--- The cases of spec/data/step-plan.json, and what each face of the library has to make of them.
local files = require "spec.support.files"
local moonplan = require "moonplan"

local step_cases = {}

local json = moonplan.json

--- @class spec.StepCase
--- @field id string
--- @field plan_text string
--- @field capabilities table[] name, version, risk, behaviour, inputSchema
--- @field authorizer any nil: the engine's own
--- @field expect table

---@return spec.StepCase[] all, string text the file itself
function step_cases.load()
  local text = files.read(files.root .. "spec/data/step-plan.json")
  return assert(json.decode(text)).cases, text
end

-- -- Capabilities and authorizers, as Lua source: the same for a host and for a plugin file -------

-- A Lua expression for a JSON value.
local function literal(value)
  local text = assert(json.encode(value))
  assert(not text:find("]==]", 1, true))
  return "json.decode[==[" .. text .. "]==]"
end

local BEHAVIOURS = {
  const = function(b) return "return " .. literal(b.value) end,
  sync_value = function(b) return "return " .. literal(b.value) end,
  throw = function(b) return ("error(%q, 0)"):format(b.message) end,
  -- An error with more to it than a text.
  throw_type_error = function(b) return ("error({ message = %q })"):format(b.message) end,
  throw_value = function(b)
    return "error(" .. (b.value == moonplan.null and "nil" or literal(b.value)) .. ")"
  end,
  mutate_input = function(b)
    return ("for name, value in pairs(%s) do input[name] = value end return input"):format(literal(b.set))
  end,
}

--- The text of a function's body, with the parameters `input` and `ctx`.
local function body_of(capability)
  local behaviour = capability.behaviour
  if behaviour == "echo" then return "return input" end
  return BEHAVIOURS[behaviour.kind](behaviour)
end

--- Lua source of a plugin file for a capability.
---@param capability table
---@return string
function step_cases.plugin(capability)
  return ([[return {
    kind = "capability", api = 1, name = %q, version = %q, summary = "of a case", risk = %q,
    input = %s,
    run = function(input, ctx) %s end,
  }]]):format(capability.name, capability.version, capability.risk,
    capability.inputSchema and literal(capability.inputSchema) or "nil", body_of(capability))
end

-- What a plugin file may not be: a host may register such things, and the engine then judges them.
local TYPES = { string = true, number = true, boolean = true, object = true, array = true }
local RISKS = { read = true, write = true, destructive = true }

--- Whether plugin files can bring what the case is about.
---@param case spec.StepCase
---@return boolean
function step_cases.fits_plugins(case)
  for _, capability in ipairs(case.capabilities) do
    if capability.version == "" or not RISKS[capability.risk] then return false end
    for _, field in pairs(capability.inputSchema or {}) do
      if not TYPES[field.type] then return false end
    end
  end
  return true
end

local function decide(authorizer)
  if authorizer == "allow" then return 'return { decision = "allow" }' end
  if authorizer == "deny" then return 'return { decision = "deny" }' end
  if authorizer == "throw" then return 'error("authorizer unavailable", 0)' end
  if authorizer.sync then return decide(authorizer.sync) end
  if authorizer.deny_reason ~= nil then
    return ('return { decision = "deny", reason = %s }'):format(literal(authorizer.deny_reason))
  end
  if authorizer.by_step then
    local lines = {}
    for id, decision in pairs(authorizer.by_step) do
      lines[#lines + 1] = ("if request.step_id == %q then %s end"):format(id, decide(decision))
    end
    return table.concat(lines, " ") .. " do " .. decide(authorizer.otherwise) .. " end"
  end
  assert(authorizer.returns ~= nil)
  return "return " .. literal(authorizer.returns)
end

--- Lua source of a chunk that returns the case's authorizer; nil where the engine's own is meant.
---@param case spec.StepCase
---@return string?
function step_cases.authorizer(case)
  local authorizer = case.authorizer
  if authorizer == nil or authorizer == "default" then return nil end
  return "return function(request) " .. decide(authorizer) .. " end"
end

-- -- Outcomes -------------------------------------------------------------------------------------

-- Failures whose text is the contract's or the plugin's own; the rest are told in words of ours.
local KEPT = {
  ["job.denied"] = true, ["job.authorizer_failed"] = true, ["job.capability_failed"] = true,
  ["job.decision_invalid"] = true,
}

local function same(what, expected, found)
  if expected == nil then expected = moonplan.null end
  if found == nil then found = moonplan.null end
  local wanted, got = assert(json.encode(expected)), assert(json.encode(found))
  if wanted ~= got then error(("%s: expected %s, found %s"):format(what, wanted, got), 0) end
end

local function same_error(what, expected, found)
  if expected == nil or expected == moonplan.null then return same(what, nil, found) end
  if type(found) ~= "table" then same(what, expected, found) end
  same(what .. ".code", expected.code, found.code)
  if KEPT[expected.code] then
    same(what .. ".message", expected.text, found.message)
  elseif found.message == "" then
    error(what .. " has no message", 0)
  end
end

-- An event's data may say more than the catalogue lists, but never what it lists as absent.
local function same_event(what, expected, found, job)
  same(what .. ".type", expected.type, found.type)
  local data = found.data or {}
  for name, value in pairs(expected.data or {}) do same(what .. "." .. name, value, data[name]) end
  if found.type == "capability.denied" and expected.data.reason == nil then
    same(what .. ".reason", nil, data.reason)
  end
  same(what .. ".job_id", job.id, found.job_id)
  if not found.id or not found.time then error(what .. " has no id or no time", 0) end
  if found.type == "job.failed" then same(what .. ".error", job.error, data.error) end
  if found.type == "capability.failed" then
    for _, step in ipairs(job.steps) do
      if step.id == data.step_id then same(what .. ".error", step.error, data.error) end
    end
  end
end

local function column(steps, name)
  local list = {}
  for n, step in ipairs(steps) do
    list[n] = step[name]
    if list[n] == nil then list[n] = moonplan.null end
  end
  return moonplan.array(list)
end

--- Raise unless a job, as `job:json()` has it and read again, is what the case expects.
---@param expect table
---@param job table
local function check_job(expect, job)
  if not expect.admitted then error("admitted, and should have been refused", 0) end
  same("status", expect.status, job.status)
  same("goal", expect.goal, job.goal)
  same("steps", expect.steps, column(job.steps, "status"))
  same("results", expect.results, column(job.steps, "result"))
  if expect.status == "completed" then same("result", expect.result, job.result)
  else same("result", nil, job.result) end
  same("idempotency_key", expect.idempotency_key, job.idempotency_key)
  same_error("error", expect.error, job.error)
  for n, step in ipairs(job.steps) do
    same_error(("steps[%d].error"):format(n), expect.step_errors[n], step.error)
  end
  same("count of events", #expect.events, #job.events)
  for n, event in ipairs(expect.events) do
    same_event(("events[%d]"):format(n), event, job.events[n], job)
  end
end

local DUPLICATE = "Duplicate step ID: "

local function check_refusal(expect, errors)
  local codes = {}
  for n, fault in ipairs(errors) do codes[n] = fault.code end
  if expect.admitted then
    error("refused, and should have been admitted: " .. json.encode(moonplan.array(codes)), 0)
  end
  same("issues", expect.issues, moonplan.array(codes))
  for n, code in ipairs(expect.issues) do
    local text = expect.texts[n]
    -- A message is text that ends with NUL and shows all that is in it, so the cases whose ids are a
    -- tab and a NUL have \u{9} and \u{0} here, where the original's text holds the characters.
    if code == "plan.duplicate_step_id" and text and not text:find("%c") then
      same("message of a duplicate", text, errors[n].message)
      assert(text:sub(1, #DUPLICATE) == DUPLICATE)
    end
  end
end

--- Raise unless the outcome is what the case expects.
---@param case spec.StepCase
---@param job table? plain data with the members of job:json()
---@param errors table[]? of a refusal
function step_cases.check(case, job, errors)
  if job then check_job(case.expect, job) else check_refusal(case.expect, errors) end
end

return step_cases
