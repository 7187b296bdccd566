--- Call plans written by hand: calldata of words, the canonical text of ERC-8410 (section "Plan
--- digest"), and its hash by a Keccak of ours in plain Lua. Nothing of moonplan has a part in it.
local sponge = require "spec.support.sponge"

local call_texts = {}

--- An ABI word: a Lua integer from 0 up, an address, or "bool".
local function word(value)
  if value == true then return ("0"):rep(63) .. "1" end
  if value == false then return ("0"):rep(64) end
  if math.type(value) == "integer" then return ("%064x"):format(value) end
  local digits = assert(value:match("^0x(%x+)$")):lower()
  return ("0"):rep(64 - #digits) .. digits
end

--- Calldata: the first four bytes of the signature's Keccak-256, then words as they come.
---@param signature string
---@param ... any
---@return string
function call_texts.data(signature, ...)
  local parts = { "0x", sponge.keccak_256(signature):sub(1, 8) }
  for n = 1, select("#", ...) do parts[n + 2] = word((select(n, ...))) end
  return table.concat(parts)
end

--- Bytes as the ABI has them behind an offset: their length, then they with zeros behind.
---@param hex string
---@return string digits for another `0x` to stand before
function call_texts.bytes(hex)
  local digits = hex:sub(3):lower()
  return word(#digits // 2) .. digits .. ("0"):rep(-#digits % 64)
end

---@param chain string
---@param sender string
---@param calls { kind: string, to: string, data: string?, value: string? }[]
---@return string digest
function call_texts.digest(chain, sender, calls)
  local steps = {}
  for n, call in ipairs(calls) do
    steps[n] = ('{"step":%d,"kind":"%s","transaction":{"chain_id":"%s","from":"%s","to":"%s","data":"%s","value":"%s"}}')
      :format(n, call.kind, chain, sender:lower(), call.to:lower(), call.data or "0x", call.value or "0")
  end
  return "0x" .. sponge.keccak_256(('{"schema_version":"1","chain_id":"%s","sender":"%s","ordered_steps":[%s]}')
    :format(chain, sender:lower(), table.concat(steps, ",")))
end

return call_texts
