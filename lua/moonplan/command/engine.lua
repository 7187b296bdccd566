--- The engine that step plans are judged and run with: its options on the command line, and what
--- they make.
local approvals = require "moonplan.command.approvals"
local grants = require "moonplan.command.grants"
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local policy = require "moonplan.command.policy"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local engine = {}

local function add_grant(arguments, target, given)
  arguments[target] = arguments[target] or {}
  grants.add(arguments[target], given)
end

--- Where plugins run.
function engine.describe_isolation(parser)
  parser:option("--isolation"):choices({ "state", "process" })
    :description("Run plugins in this process (state), or each one in a confined process of its "
      .. "own. Without this option, those that are trusted are not confined, and all others are.")
end

--- Which capabilities there are, and what they may touch.
function engine.describe(parser)
  parser:option("--plugins"):argname("DIR"):count("*")
    :description("Use the plugins in this folder as well: their capabilities, builders, executors "
      .. "and authorizers.")
  parser:flag("--no-shipped")
    :description("Without the plugins that come along.")
  parser:option("--trust"):argname("DIR"):convert(options.path "--trust")
    :description("The folder of the keys to trust, NAME.pub: what they have signed is verified, "
      .. "and runs as trust.json in it says.")
  parser:flag("--strict")
    :description("Load every plugin at once, and stop when one of them is broken.")
  parser:option("--grant"):argname("POWER"):count("*"):convert(grants.read)
    :action(add_grant)
    :description("Grant plugins a power: " .. grants.FORMS .. ".")
  engine.describe_isolation(parser)
end

--- What may run.
function engine.describe_policy(parser)
  local allow = parser:option("--allow"):argname("RISK"):count("*")
    :choices({ "read", "write", "destructive" })
    :description("Let capabilities of this risk run: write, destructive. What reads always may.")
  local authorizer = parser:option("--authorizer"):argname("FILE.lua|NAME")
    :description("Ask the function that this file returns about every step instead. It has no time "
      .. "limit: --limit call_ms is for plugins. Or, by its name, a plugin's authorizer.")
  parser:mutex(allow, authorizer)
end

--- Who asks.
function engine.describe_caller(parser)
  parser:option("--caller"):argname("FILE.json")
    :description("Who asks: a JSON object that the authorizer and the capabilities are shown.")
end

--- Where jobs are kept.
function engine.describe_store(parser)
  parser:option("--store"):argname("FILE"):convert(options.path "--store")
    :description("Keep the job in this file (SQLite), step by step, so that it survives a crash: "
      .. "see moonplan jobs. Without it jobs are in memory.")
end

-- Which option's folder cannot be had: each one is asked for by itself, as the engine's error does
-- not say which of them it is about.
local function blame_folder(arguments, faults)
  local function blamed(option, settings)
    settings.shipped = false
    local made, err = moonplan.engine(settings)
    if made or not (err.code == "file.unavailable" or err.code == "file.path") then return end
    return report.blame(err.errors, option)
  end
  for _, folder in ipairs(arguments.plugins or {}) do
    local told = blamed("--plugins", { plugins = { folder } })
    if told then return told end
  end
  if arguments.trust then
    local told = blamed("--trust", { trust = arguments.trust })
    if told then return told end
  end
  for _, power in ipairs(grants.FOLDERS) do
    local folder = (arguments.grant or {})[power]
    local told = folder and blamed("--grant " .. power, { grants = { [power] = folder } })
    if told then return told end
  end
  return faults
end

-- A file's name has its ending, or a folder; a plugin's authorizer has neither.
local function is_file(name) return name:find("%.lua$") or name:find("/", 1, true) end

-- The list, unless there is nothing in it.
local function some(list) return list and #list > 0 and list or nil end

-- A trust store that cannot be written to forgets: that is said, once.
local function watched(made, arguments)
  if not arguments.trust then return made end
  local stop
  stop = made:on("plugin.loaded", function(event)
    if not event.data.reason then return end
    stop()
    report.note(arguments.trust, "the versions seen are not written down: "
      .. text.bounded(event.data.reason, 400))
  end)
  return made
end

--- The engine that the arguments describe, or the faults that there are instead.
---@return table? engine
---@return table[]? faults
function engine.make(arguments)
  local authorizer, faults
  if arguments.authorizer and is_file(arguments.authorizer) then
    authorizer, faults = policy.load(arguments.authorizer)
    if not authorizer then return nil, faults end
  else
    authorizer = arguments.authorizer
  end
  local approvers
  approvers, faults = approvals.approvers(arguments)
  if not approvers then return nil, faults end
  local made, err = moonplan.engine {
    plugins = arguments.plugins,
    shipped = not arguments.no_shipped,
    strict = arguments.strict or false,
    grants = arguments.grant or {},
    isolation = arguments.isolation,
    limits = arguments.limit and options.limits(arguments) or nil,
    allow = arguments.allow,
    authorizer = authorizer,
    trust = arguments.trust,
    store = arguments.store,
    store_mode = arguments.store_mode,
    approvals = some(arguments.require_approval),
    approvers = some(approvers),
  }
  if made then return watched(made, arguments) end
  if err.code:find("^store%.") then
    return nil, report.blame(err.errors, arguments.store)
  end
  if err.message:find('^the grant of "') then
    return nil, report.blame(err.errors, "--grant")
  end
  if err.code == "plugin.trust" then
    return nil, report.blame(err.errors, arguments.trust)
  end
  if err.code == "file.unavailable" or err.code == "file.path" then
    return nil, blame_folder(arguments, err.errors)
  end
  return nil, err.errors
end

-- Names in a note; a person who looks for more has `moonplan plugins list`.
local MOST_NAMES = 12

-- The grants that faults ask for, each once.
local function missing_grants(faults)
  local list, seen = {}, {}
  for _, fault in ipairs(faults) do
    local needs = fault.code == "plan.power_missing" and fault.message:match(": ([^\"]*)$") or ""
    for need in needs:gmatch("[^, ]+") do
      if not seen[need] then list[#list + 1] = grants.option(need) end
      seen[need] = true
    end
  end
  return list
end

--- Where a plan names a capability that is unknown: which ones there are; where one needs what was
--- not granted: what grants it.
---@param name string the plan's
---@param made table the engine
---@param faults table[]
function engine.note(name, made, faults)
  local wanted = missing_grants(faults)
  if #wanted > 0 then
    report.note(name, "what is missing is granted with " .. table.concat(wanted, " "))
  end
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
  report.note(name, words .. "; --plugins DIR adds those of a folder")
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
  return nil, report.blame(err and err.errors or { fault }, arguments.caller)
end

return engine
