--- The engine that step plans are judged and run with: its options on the command line, and what
--- they make.
local console = require "moonplan.console"
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local policy = require "moonplan.command.policy"
local text = require "moonplan.command.text"

local engine = {}

-- POWER=WHERE, or POWER alone for one that has no place.
local PLACED = { fs = true, ["fs:rw"] = true }
local POWERS = "fs=DIR, fs:rw=DIR, clock"

local function grant(word)
  local power, where = word:match("^([^=]*)=?(.*)$")
  if PLACED[power] then
    if where == "" then
      return nil, ("'%s' does not say which folder: %s=DIR"):format(word, power)
    end
    return { power = power, where = where }
  end
  if word == "clock" then return { power = word, where = true } end
  return nil, ("'%s' grants nothing; there are: %s"):format(word, POWERS)
end

local function add_grant(arguments, target, given)
  local grants = arguments[target] or {}
  if grants[given.power] then
    error({ usage = ("%s is granted twice"):format(given.power) }, 0)
  end
  grants[given.power] = given.where
  arguments[target] = grants
end

--- Which capabilities there are, and what they may touch.
function engine.describe(parser)
  parser:option("--plugins"):argname("DIR"):count("*")
    :description("Take capabilities from the plugins in this folder, beside those that come along.")
  parser:flag("--no-shipped")
    :description("Without the capabilities that come along.")
  parser:flag("--strict")
    :description("Load every plugin at once, and stop when one of them is broken.")
  parser:option("--grant"):argname("POWER"):count("*"):convert(grant)
    :action(add_grant)
    :description("Grant plugins a power: " .. POWERS .. ".")
end

--- What only a run asks for.
function engine.describe_run(parser)
  local allow = parser:option("--allow"):argname("RISK"):count("*")
    :choices({ "read", "write", "destructive" })
    :description("Let capabilities of this risk run: write, destructive. What reads always may.")
  local authorizer = parser:option("--authorizer"):argname("FILE.lua")
    :description("Ask the function that this file returns about every step instead. It has no time "
      .. "limit: --limit call_ms is for capabilities.")
  parser:mutex(allow, authorizer)
  parser:option("--caller"):argname("FILE.json")
    :description("Who asks: a JSON object that the authorizer and the capabilities are shown.")
end

-- Which option's folder cannot be had: each one is asked for by itself, as the engine's error does
-- not say which of them it is about.
local function blame_folder(arguments, faults)
  local function blamed(option, settings)
    settings.shipped = false
    local made, err = moonplan.engine(settings)
    if made or not (err.code == "file.unavailable" or err.code == "file.path") then return end
    for _, fault in ipairs(err.errors) do fault.file = option end
    return err.errors
  end
  for _, folder in ipairs(arguments.plugins or {}) do
    local told = blamed("--plugins", { plugins = { folder } })
    if told then return told end
  end
  for power in pairs(PLACED) do
    local folder = (arguments.grant or {})[power]
    local told = folder and blamed("--grant " .. power, { grants = { [power] = folder } })
    if told then return told end
  end
  return faults
end

--- The engine that the arguments describe, or the faults that there are instead.
---@return table? engine
---@return table[]? faults
function engine.make(arguments)
  local authorizer, faults
  if arguments.authorizer then
    authorizer, faults = policy.load(arguments.authorizer)
    if not authorizer then return nil, faults end
  end
  local made, err = moonplan.engine {
    plugins = arguments.plugins,
    shipped = not arguments.no_shipped,
    strict = arguments.strict or false,
    grants = arguments.grant or {},
    limits = arguments.limit and options.limits(arguments) or nil,
    allow = arguments.allow,
    authorizer = authorizer,
  }
  if made then return made end
  if err.code == "file.unavailable" or err.code == "file.path" then
    return nil, blame_folder(arguments, err.errors)
  end
  return nil, err.errors
end

-- Names in a note; a person who looks for more has `moonplan plugins list`.
local MOST_NAMES = 12

--- Where a plan names a capability that is unknown: which ones there are.
---@param name string the plan's
---@param made table the engine
---@param faults table[]
function engine.note(name, made, faults)
  local unknown = false
  for _, fault in ipairs(faults) do unknown = unknown or fault.code == "plan.unknown_capability" end
  if not unknown then return end
  local names = {}
  for i, item in ipairs((made:list())) do names[i] = text.visible(item.name) end
  table.sort(names)
  local more = #names - MOST_NAMES
  local words = #names == 0 and "there are no capabilities here" or "the capabilities here are "
    .. table.concat(names, ", ", 1, math.min(#names, MOST_NAMES))
  if more > 0 then words = ("%s and %d more"):format(words, more) end
  console.warn(("%s: note: %s; --plugins DIR adds those of a folder\n"):format(
    text.visible(name), words))
end

--- The caller that `--caller` describes; nil without a fault where there is none.
---@return table? caller
---@return table[]? faults
function engine.caller(arguments)
  if not arguments.caller then return nil end
  local limits = options.limits(arguments)
  local content, fault = input.read(arguments.caller, options.document_bytes { limits = limits })
  local caller, err
  if content then
    caller, err = moonplan.json.decode(content, { limits = limits })
    if not err and (type(caller) ~= "table" or moonplan.is_array(caller)) then
      fault = { code = "option", at = "", message = "a caller is described by an object" }
    end
  end
  if not fault and not err then return caller end
  local faults = err and err.errors or { fault }
  for _, one in ipairs(faults) do one.file = arguments.caller end
  return nil, faults
end

return engine
