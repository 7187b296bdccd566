--- The limits of decoding and reviewing. Those of a review refuse nothing: what is over them is said
--- by a finding.
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local call = moonplan.abi.call

return {
  -- the array and each of its elements
  abi_words = {
    values = { 1, 2, 1000 }, code = "limit", at = "",
    needs = function(n)
      local elements = {}
      for i = 1, n - 1 do elements[i] = i end
      return call("f(uint256[])", moonplan.array(elements))
    end,
    door = function(text, options) return moonplan.abi.decode("f(uint256[])", text, options) end,
  },
  -- a call in a call in a call
  call_depth = {
    values = { 0, 1, 16, 64 }, finding = "decode.budget", door = "review",
    needs = function(n)
      local data = "0x12345678"
      for _ = 1, n do data = call("multicall(bytes[])", { data }) end
      return plans.of { plans.step(1, { data = data }) }
    end,
  },
  -- of one severity: this many gas hints, and as many warnings as the limit has room for
  findings = {
    values = { 1, 2, 1000 }, finding = "review.rest", door = "review",
    needs = function(n)
      local steps = {}
      for i = 1, n do steps[i] = plans.step(i, { gas = "21000" }) end
      steps[n] = plans.step(n, { gas = "21000", data = "0x12345678" })
      return plans.of(steps)
    end,
  },
}
