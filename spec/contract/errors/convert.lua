--- The faults of batches, and of plans that are no batch. `rule` names EIP-5792's section.
local moonplan = require "moonplan"

local BATCH = '{\n  "version": "2.0.0",\r\n  "from": "0x1111111111111111111111111111111111111111",\n'
  .. '  "chainId": "0x1",\n  "atomicRequired": false,\n  "calls": [\n'
  .. '    {"to": "0x2222222222222222222222222222222222222222", "data": "0x", "value": "0x0"}\n  ]\n}\n'

local PLAN = '{\n  "schema_version": "1", "chain_id": "1", "caip2_chain_id": "eip155:1",\n'
  .. '  "sender": "0x1111111111111111111111111111111111111111", "ordered_steps": [\n'
  .. '    {"step": 1, "kind": "execution", "transaction": {"chain_id": "1",\n'
  .. '      "from": "0x1111111111111111111111111111111111111111",\n'
  .. '      "to": "0x2222222222222222222222222222222222222222", "data": "0x", "value": "0"}}\n  ]\n}\n'

local function exchange(whole, from, to)
  local first, last = whole:find(from, 1, true)
  assert(first and not whole:find(from, last + 1, true), from)
  return whole:sub(1, first - 1) .. to .. whole:sub(last + 1)
end

local function batch(from, to) return exchange(BATCH, from, to) end

-- What is left behind comes beside the result; the law reads it as a document's warnings.
local function warned(door)
  return function(text, options)
    local made, lost = door(text, options)
    if not made then return nil, lost end
    return { warnings = lost }
  end
end

---@type spec.Fixture[]
local fixtures = {
  { code = "convert.shape", text = "▸[]", at = "", rule = "wallet_sendCalls" },
  { code = "convert.shape", text = batch('"calls"', '▸"gas": "0x1",\n  "calls"'), at = "/gas", rule = "wallet_sendCalls" },
  { code = "convert.shape", text = batch("false", '▸"false"'), at = "/atomicRequired", rule = "wallet_sendCalls" },
  { code = "convert.version", text = batch('"2.0.0"', '▸"1.0"'), at = "/version", rule = "wallet_sendCalls" },
  { code = "convert.quantity", text = batch('"0x1"', '▸"1"'), at = "/chainId", rule = "wallet_sendCalls" },
  { code = "convert.quantity", text = batch('"0x0"', '▸"0x00"'), at = "/calls/0/value", rule = "wallet_sendCalls" },
  { code = "convert.address", text = batch('"0x2222', '▸"0x222'), at = "/calls/0/to", rule = "wallet_sendCalls" },
  { code = "convert.bytes", text = batch('"0x",', '▸"0x0",'), at = "/calls/0/data", rule = "wallet_sendCalls" },
  { code = "convert.sender", text = batch('"0x1111', '▸"0x1111'), at = "/from",
    options = { account = "0x" .. ("3"):rep(40) }, rule = "wallet_sendCalls" },
  { code = "convert.unsupported", text = batch('{"to": "0x2222222222222222222222222222222222222222", ', "▸{"),
    at = "/calls/0", rule = "wallet_sendCalls" },
  { code = "convert.unsupported", text = exchange(PLAN, "\n  ]\n", '\n  ], "required_capabilities": [▸"x/y"]\n'),
    at = "/required_capabilities/0", door = "convert.to_send_calls", rule = "Required Capabilities (ERC-8410)" },
  { code = "convert.lost", text = exchange(PLAN, '"execution"', '▸"approval"'), at = "/ordered_steps/0/kind",
    door = warned(moonplan.convert.to_send_calls), warning = true },
  { code = "convert.checksum", warning = true, door = warned(moonplan.convert.from_send_calls),
    -- the first address of ERC-55's test cases, with its first letter in the other case
    text = batch('"0x2222222222222222222222222222222222222222"', '▸"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"'),
      at = "/calls/0/to", rule = "ERC-55" },
}
for _, fixture in ipairs(fixtures) do fixture.door = fixture.door or "convert.from_send_calls" end

return { fixtures = fixtures }
