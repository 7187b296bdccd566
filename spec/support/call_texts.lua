--- Call plans written by hand: calldata of words, the canonical text of ERC-8410 (section "Plan
--- digest"), and its hash by a Keccak of ours in plain Lua. Nothing of moonplan has a part in it.
local calldata = require "spec.support.calldata"
local sponge = require "spec.support.sponge"

local call_texts = {}

--- Calldata: the selector, then words as they come; true is one as well.
---@param signature string
---@param ... any
---@return string
function call_texts.data(signature, ...)
  local words = table.pack(...)
  for n = 1, words.n do
    if type(words[n]) == "boolean" then words[n] = words[n] and 1 or 0 end
  end
  return "0x" .. calldata.call(signature, table.unpack(words, 1, words.n)):lower()
end

--- Bytes as the ABI has them behind an offset: their length, then they with zeros behind.
---@param hex string
---@return string digits for another `0x` to stand before
function call_texts.bytes(hex) return calldata.bytes(hex:sub(3):lower()) end

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
