-- A job taken one question at a time, for hosts with a loop of their own:
--
--   moonplan examples/drive.lua <examples/orders.plan.json
local moonplan = require "moonplan"
local here = arg[0]:match("^(.*)/[^/]*$") or "."

local engine = assert(moonplan.engine { plugins = here .. "/plugins" })
local drive = assert(engine:drive(io.read "a"))
for want in drive do
  if want.kind == "decision" then
    -- A host may wait here for as long as it likes: for a person, say.
    print(("%s may call %s"):format(want.step_id, want.capability))
    want:allow()
  elseif want.step_id == "inspect" then
    -- The host's own answer. What is passed over, like the step "create", the engine answers: it
    -- calls the capability.
    print(("looking up %s"):format(want.input.id))
    want:complete { id = want.input.id, sku = "book", quantity = 1 }
  end
end
print(drive.job.status, drive.job.error and drive.job.error.message)
