--- The limits of step plans and their jobs.
local moonplan = require "moonplan"

local function engine_of(options, run)
  local engine = assert(moonplan.engine { shipped = false, limits = options.limits })
  assert(engine:capability { name = "c", version = "1.0.0", risk = "read", run = run or function() end })
  return engine
end

-- Admission alone.
local function admit(text, options) return engine_of(options):admit(text) end

-- A job that fails is what is refused here: its error, as if it were the plan's.
local function result_of(text, options)
  local job = assert(engine_of(options, function() return text end):run [[{
    "version": "1.0", "steps": [ { "id": "a", "capability": "c" } ]
  }]])
  if job.status == "completed" then return job.result end
  return nil, { code = job.error.code, message = job.error.message, at = "", errors = { job.error } }
end

return {
  step_id_bytes = {
    values = { 1, 256, 1000 }, code = "limit", at = "/steps/0/id", door = admit,
    needs = function(n)
      return ([[{"version":"1.0","steps":[{"id":"%s","capability":"c"}]}]]):format(("i"):rep(n))
    end,
  },
  -- the result's JSON text, its quotes included
  result_bytes = {
    values = { 2, 300, 100000 }, code = "limit", at = "", nowhere = true, door = result_of,
    needs = function(n) return ("x"):rep(n - 2) end,
  },
}
