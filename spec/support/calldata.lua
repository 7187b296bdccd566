--- Calldata put together from words by hand, with selectors by a keccak of the specs' own: what is
--- expected of our decoder is never made by our encoder.
local sponge = require "spec.support.sponge"

local calldata = {}

--- Eight digits.
function calldata.selector(signature) return sponge.keccak_256(signature):sub(1, 8) end

--- An integer, 64 digits as they are, or an address or other 0x and digits, filled up on the left.
local function word(value)
  if type(value) == "number" then return ("%064x"):format(value) end
  local digits = value:match("^0x(%x+)$") or #value == 64 and value:match("^%x+$")
  return ("0"):rep(64 - #assert(digits)) .. digits
end
calldata.word = word

function calldata.words(...)
  local list = table.pack(...)
  for i = 1, list.n do list[i] = word(list[i]) end
  return table.concat(list)
end

--- A bytes value: its length, itself, padding.
local function bytes(digits)
  return word(#digits // 2) .. digits .. ("0"):rep(-#digits % 64)
end
calldata.bytes = bytes

--- bytes[]: the length, offsets, and the values.
function calldata.byte_list(...)
  local list, heads, tails = { ... }, {}, ""
  for i, digits in ipairs(list) do
    heads[i] = word(#list * 32 + #tails // 2)
    tails = tails .. bytes(digits)
  end
  return word(#list) .. table.concat(heads) .. tails
end

--- Arguments that are words, behind the selector.
function calldata.call(signature, ...) return calldata.selector(signature) .. calldata.words(...) end

return calldata
