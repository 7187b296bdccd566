-- An authorizer: asked before every step, with the exact input that the capability will get.
--
--   moonplan run examples/orders.plan.json --plugins examples/plugins \
--     --authorizer examples/policy.lua --caller examples/caller.json

local function has(list, wanted)
  for _, item in ipairs(list or {}) do
    if item == wanted then return true end
  end
  return false
end

return function(request)
  local capability, caller = request.capability, request.caller or {}
  if capability.risk == "read" then return { decision = "allow" } end
  if not has(caller.scopes, capability.name) then
    local who = caller.subject or "nobody"
    return {
      decision = "deny",
      reason = ("%s is not among the scopes of %s"):format(capability.name, who),
    }
  end
  if capability.name == "orders.create" and request.input.quantity > 10 then
    return { decision = "deny", reason = "more than 10 at once" }
  end
  return { decision = "allow" }
end
