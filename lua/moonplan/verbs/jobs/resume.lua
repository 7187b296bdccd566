--- moonplan jobs resume: go on after the last completed step.
local approvals = require "moonplan.command.approvals"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local options = require "moonplan.command.options"
local outcome = require "moonplan.command.outcome"
local parts = require "moonplan.command.parts"
local progress = require "moonplan.command.progress"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"

local resume = {
  summary = "go on with a job after its last completed step",
  description = "Resume a job that waits, or whose process is gone. Completed steps keep their "
    .. "results. A step that was under way and only reads is begun again; another one is "
    .. "unknown until moonplan jobs resolve, or the capability's own check, says how it ended.",
}

function resume.describe(parser)
  stores.describe_id(parser)
  stores.describe(parser)
  engines.describe(parser)
  engines.describe_policy(parser)
  approvals.describe(parser)
  options.describe_limit(parser)
  parser:flag("--json")
    :description("The whole job instead of the result: status, steps, results, events.")
end

-- The steps that are yet to come, for whoever watches.
local function left(engine, id)
  if not console.terminal(2) then return nil end
  local job = engine:job(id)
  if not job then return nil end
  local count = 0
  for _, step in ipairs(parts.job(job).steps) do
    if step.status ~= "completed" then count = count + 1 end
  end
  return count
end

function resume.run(arguments)
  arguments.store_mode = "existing"
  local engine, faults = engines.make(arguments)
  if not engine then return report.faults(arguments.store, faults) end
  local given
  given, faults = approvals.read(arguments)
  if not given then return report.faults(arguments.id, faults) end
  progress.watch(engine, left(engine, arguments.id))
  local job, err = engine:resume(arguments.id, { approvals = #given > 0 and given or nil })
  if not job then
    approvals.blame(err.errors, arguments)
    return stores.refuse(arguments.store, err)
  end
  return outcome.show(arguments.id, job, arguments, engine)
end

return resume
