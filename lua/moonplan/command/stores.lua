--- Stores on the command line: the option, an engine that only looks into one, and its jobs.
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"

local stores = {}

--- The store of a verb that needs one.
function stores.describe(parser)
  parser:option("--store"):argname("FILE"):count("1"):convert(options.path "--store")
    :description("The store: a file that moonplan run --store made.")
end

function stores.describe_id(parser)
  parser:argument("id"):description("The job's id; moonplan jobs list shows them.")
end

--- Faults of a store that say nothing of a plan, with its name in front.
---@param faults table[]
---@param path string
---@return table[]
function stores.blame(faults, path)
  for _, fault in ipairs(faults) do
    if fault.code:find("^store%.") or fault.code:find("^job%.") then fault.file = path end
  end
  return faults
end

--- Say what is wrong with a store; the exit code.
function stores.refuse(path, err)
  local code = report.faults(path, stores.blame(err.errors, path))
  -- A job that somebody else has taken over meanwhile is no fault of the input's.
  return err.code == "store.conflict" and exits.failed or code
end

--- An engine for looking at what there is, or for changing what needs no capability; or nil, and
--- the exit code once it has been said why there is none.
---@param path string
---@param mode "existing"|"read"
---@param limits table<string, integer>? those that were set
---@return table? engine
---@return integer? code
function stores.open(path, mode, limits)
  local engine, err = moonplan.engine {
    shipped = false, store = path, store_mode = mode, limits = limits,
  }
  if engine then return engine end
  return nil, stores.refuse(path, err)
end

--- The job, or nil and the exit code.
---@return table? job
---@return integer? code
function stores.job(engine, path, id)
  local job, err = engine:job(id)
  if job then return job end
  if err then return nil, stores.refuse(path, err) end
  report.faults(path, { {
    code = "job.not_found", message = ("there is no job %s"):format(moonplan.quote(id, 96)),
  } })
  return nil, exits.invalid
end

return stores
