--- Call plans for specs, written as text so that a spec can break them anywhere.
local plans = {}

local SENDER = "0x1111111111111111111111111111111111111111"
local TARGET = "0x2222222222222222222222222222222222222222"

--- One step's text.
---@param n integer its number
---@param change { kind: string?, data: string?, value: string?, gas: string?, revert: string? }?
function plans.step(n, change)
  change = change or {}
  return ('{"step":%d,"kind":"%s","transaction":{"chain_id":"1","from":"%s","to":"%s","data":"%s",'
      .. '"value":"%s"%s}%s}'):format(n, change.kind or "execution", SENDER, TARGET,
    change.data or "0x", change.value or "0", change.gas and ',"gas":"' .. change.gas .. '"' or "",
    change.revert and ',"revert_decode":' .. change.revert or "")
end

--- A plan of these steps; `rest` is what stands behind ordered_steps, comma included.
---@param steps string[]
---@param rest string?
function plans.of(steps, rest)
  return ('{"schema_version":"1","chain_id":"1","caip2_chain_id":"eip155:1","sender":"%s",'
    .. '"ordered_steps":[%s]%s}'):format(SENDER, table.concat(steps, ","), rest or "")
end

--- The smallest plan: one step, no calldata.
function plans.tiny() return plans.of({ plans.step(1) }) end

--- A plan of `count` steps with `bytes` bytes of calldata each.
function plans.many(count, bytes)
  local steps = {}
  for n = 1, count do
    steps[n] = plans.step(n, { data = "0x" .. ("%02x"):format(n % 256):rep(bytes) })
  end
  return plans.of(steps)
end

plans.ABI = '[{"type":"error","name":"Slippage","inputs":[{"name":"minimum","type":"uint256"}]}]'

plans.POLICY = ',"simulation_failure_policy":{"rpc_error":{"action":"retry_same_plan",'
  .. '"instruction":"try again"},"execution_reverted":{"action":"reprepare_plan",'
  .. '"instruction":"caf\u{e9} \\u0041\\n"},"simulation_setup_error":{"action":"user_review",'
  .. '"instruction":"\u{1f600}"}}'

--- Everything that a plan may have, on several lines, in about `size` bytes (at least 1.4 KB).
---@param size integer
function plans.full(size)
  local steps = {
    plans.step(1, { kind = "approval", data = "0x095ea7b3" }),
    plans.step(2, { gas = "210000", value = "1000000000000000000",
      revert = '{"kind":"error_result","abi":' .. plans.ABI .. ',"required":true}' }),
    plans.step(3, { kind = "allowance_cleanup" }),
  }
  local rest = ',\r\n"required_capabilities":["atomic_batch"]' .. plans.POLICY
    .. ',\n"extensions":{"n":[1,-0.5e-3,1e400,true,false,null,{}],"\\u006e\\\\":"\\ud83d\\ude00"}'
  local short = size - #plans.of(steps, rest)
  if short > 1 then
    steps[3] = plans.step(3, { kind = "allowance_cleanup", data = "0x" .. ("c0"):rep(short // 2) })
  end
  return plans.of(steps, rest)
end

return plans
