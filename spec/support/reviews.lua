--- Plans and pages that have something to find in them.
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local reviews = {}

local call = moonplan.abi.call

reviews.SPENDER = "0x" .. ("3"):rep(40)
reviews.OWNER = "0x" .. ("1"):rep(40) -- the sender of spec.support.plans
reviews.MOST = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

--- What a producer might write who wants to get out of a page, a terminal, a line.
reviews.HOSTILE = "</code></section><script>alert(1)</script><img src=x onerror=alert(2)>"
  .. "\" ' & \27[2J\u{202e}\u{200b}\n[OK] verified"

--- Unlimited and nested approvals, a string that wants out, bytes that nobody described.
function reviews.rich()
  local approve = call("approve(address,uint256)", reviews.SPENDER, reviews.MOST)
  local inner = call("multicall(bytes[])", { approve, "0x12345678" })
  local batch = call("aggregate3Value((address,bool,uint256,bytes)[])", {
    { reviews.SPENDER, false, "1000000000000000000", inner },
    { "0x" .. ("4"):rep(40), true, 0, "0x" },
  })
  local words = '{"action":"user_review","instruction":' .. moonplan.json.encode(reviews.HOSTILE) .. "}"
  return plans.of({
    plans.step(1, { kind = "approval", data = approve }),
    plans.step(2, { data = batch, value = "1500000000000000000", gas = "210000" }),
    plans.step(3, { data = call("note(string,(address who,(uint256 amount,string text)[] list) order)",
      reviews.HOSTILE, { who = reviews.OWNER, list = { { amount = 1, text = reviews.HOSTILE } } }) }),
    plans.step(4, { kind = "allowance_cleanup", data = approve }),
  }, (',"simulation_failure_policy":{"rpc_error":%s,"execution_reverted":%s,'
    .. '"simulation_setup_error":%s}'):format(words, words, words))
end

--- The description of the function `note` of that plan.
reviews.NOTE = "note(string text, (address who, (uint256 amount, string text)[] list) order)"

return reviews
