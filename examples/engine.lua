-- An engine in a host of your own, with a capability that is the host's own function:
--
--   moonplan examples/engine.lua          or, with the module installed, lua5.4 examples/engine.lua
local moonplan = require "moonplan"
local here = arg[0]:match("^(.*)/[^/]*$") or "."

local engine = assert(moonplan.engine {
  plugins = here .. "/plugins",
  authorizer = function(request)
    -- The input is a copy: changing it changes nothing.
    if request.capability.risk == "read" or request.caller.subject == "alice" then
      return { decision = "allow" }
    end
    return { decision = "deny", reason = "only alice writes here" }
  end,
})

assert(engine:capability {
  name = "mail.send", version = "1.0.0", risk = "write", summary = "Send a mail.",
  input = { text = { type = "string", required = true } },
  run = function(input, ctx)
    print(("%s: %s"):format(ctx.caller.subject, input.text))
    return { sent = true }
  end,
})

engine:on("*", function(event)
  local about = event.data.step_id or event.data.name
  print(about and event.type .. " " .. about or event.type)
end)

local plan = {
  version = "1.0",
  goal = "Order, and say so",
  steps = {
    { id = "order", capability = "orders.create", input = { sku = "pen", quantity = 2 } },
    {
      id = "tell", capability = "mail.send",
      input = { text = { ["$ref"] = "steps.order.result.id" } },
    },
  },
}

local job = assert(engine:run(plan, { caller = { subject = "alice" } }))
print(job.status, job.result[2].sent)

-- A plan that is refused leaves nothing behind, and every fault is told at once.
plan.steps[2].input.text["$ref"] = "steps.oder.result.id"
plan.steps[1].input.quantity = "two"
local refused, err = engine:run(plan, { caller = { subject = "alice" } })
print(refused)
for _, fault in ipairs(err.errors) do print(fault.code, fault.at) end
