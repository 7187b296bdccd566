--- The faults of typed-data requests and of what comes back. `rule` names the section of ERC-8410 or
--- of EIP-712 that the refusal rests on.

-- Lines end in all three ways, so that line and column are worth something.
local REQUEST = '{\r\n  "schema_version": "1",\r  "kind": "typed_data_signature_request",\n'
  .. '  "signer": "0xabcdef0123456789abcdef0123456789abcdef01",\n  "valid_until": "2000",\r\n'
  .. '  "typed_data": {\n    "types": {\n      "EIP712Domain": [{"name": "name", "type": "string"}],\n'
  .. '      "T": [{"name": "a", "type": "uint8"}, {"name": "l", "type": "bool[2]"}]\r    },\n'
  .. '    "primaryType": "T",\n    "domain": {"name": "D"},\n    "message": {"a": "1", "l": [true, false]}\n  },\n'
  .. '  "delivery": {"url": "https://wallet.example/d", "request_id": "r-1"}\n}\n'

local RESULT = '{\r\n  "kind": "typed_data_result",\r  "schema_version": "1",\n  "request_digest": "0x%s",\n'
  .. '  "signing_digest": "0x%s",\n  "signer": "0xabcdef0123456789abcdef0123456789abcdef01",\n'
  .. '  "signature": "0x00"\n}\n'
RESULT = RESULT:format(("12"):rep(32), ("34"):rep(32))

local RECEIPT = '{"kind": "typed_data_receipt",\r "schema_version": "1", "request_id": "r-1",\n "request_digest": "0x'
  .. ("12"):rep(32) .. '",\n "status": "accepted", "operation_id": "o-1"}'

local function exchanged(text, from, to)
  local first, last = text:find(from, 1, true)
  assert(first and not text:find(from, last + 1, true), from)
  return text:sub(1, first - 1) .. to .. text:sub(last + 1)
end
local function exchange(from, to) return exchanged(REQUEST, from, to) end

local TYPES = "/typed_data/types"
local MESSAGE = "/typed_data/message"

---@type spec.Fixture[]
local fixtures = {
  { code = "typed_data.type", text = exchange('"2000"', "▸2000"), at = "/valid_until", rule = "Request Body" },
  { code = "typed_data.missing_member", text = "▸" .. exchange('  "schema_version": "1",\r', ""), at = "/schema_version",
    rule = "Request Body" },
  { code = "typed_data.missing_member", text = exchange('"message": {"a": "1", ', '"message": ▸{'), at = MESSAGE .. "/a",
    rule = "Typed Data" },
  { code = "typed_data.unknown_member", text = exchange('"message": {', '"message": {▸"note": "", '), at = MESSAGE .. "/note",
    rule = "Typed Data" },
  { code = "typed_data.schema_version", text = exchange('"1",\r', '▸"2",\r'), at = "/schema_version", rule = "Request Body" },
  { code = "typed_data.kind", text = exchange('"typed_data_signature_request"', '▸"typed_data_result"'), at = "/kind",
    rule = "Request Body" },
  { code = "typed_data.address", text = exchange('"0xabcdef0123456789abcdef0123456789abcdef01"', '▸"0xabcdef"'),
    at = "/signer", rule = "Request Body" },
  { code = "typed_data.valid_until", text = exchange('"2000"', '▸"02000"'), at = "/valid_until", rule = "Request Body" },
  { code = "typed_data.expired", text = exchange('"2000"', '▸"2000"'), at = "/valid_until", options = { now = 2000 },
    rule = "Request Body" },
  { code = "typed_data.signer_mismatch", text = exchange('"0xabcdef', '▸"0xabcdef'), at = "/signer",
    options = { account = "0x" .. ("1"):rep(40) }, rule = "Request Body" },
  { code = "typed_data.identifier", text = exchange('"name": "a"', '"name": ▸"1a"'):gsub('"a": "1"', '"1a": "1"'),
    at = TYPES .. "/T/0/name", rule = "Typed Data" },
  { code = "typed_data.type_expression", text = exchange('"bool[2]"', '▸"bool[02]"'), at = TYPES .. "/T/1/type",
    rule = "Typed Data" },
  { code = "typed_data.unresolved_type", text = exchange('"uint8"', '▸"uint"'), at = TYPES .. "/T/0/type",
    rule = "EIP-712, definition of encodeType" },
  { code = "typed_data.unused_type", text = exchange('      "T"', '      ▸"U": [],\n      "T"'), at = TYPES .. "/U",
    rule = "Typed Data" },
  { code = "typed_data.shadowed_base_type", text = exchange('"uint8"', '"uint9"'):gsub('      "T"',
    '      ▸"uint9": [],\n      "T"'):gsub('"a": "1"', '"a": {}'), at = TYPES .. "/uint9",
    rule = "EIP-712, definition of typed structured data" },
  { code = "typed_data.duplicate_struct_member", text = exchange('"name": "l"', '"name": ▸"a"')
    :gsub(', "l": %[true, false%]', ""), at = TYPES .. "/T/1/name", rule = "Typed Data" },
  { code = "typed_data.domain_declaration", text = exchange('[{"name": "name", "type": "string"}]',
    '▸[{"name": "name", "type": "bytes"}]'), at = TYPES .. "/EIP712Domain", rule = "Typed Data" },
  { code = "typed_data.domain_empty", text = exchange('{"name": "D"}', "▸{}")
    :gsub('%[{"name": "name", "type": "string"}%]', "[]"), at = "/typed_data/domain", rule = "EIP-712, definition of domainSeparator" },
  { code = "typed_data.primary_type", text = exchange('"primaryType": "T"', '"primaryType": ▸"EIP712Domain"'),
    at = "/typed_data/primaryType", rule = "Typed Data" },
  { code = "typed_data.value", text = exchange('"a": "1"', '"a": ▸"256"'), at = MESSAGE .. "/a", rule = "Typed Data" },
  { code = "typed_data.value", text = exchange('"a": "1"', '"a": ▸1'), at = MESSAGE .. "/a", rule = "Typed Data" },
  { code = "typed_data.array_length", text = exchange("[true, false]", "▸[true]"), at = MESSAGE .. "/l", rule = "Typed Data" },
  { code = "typed_data.delivery_url", text = exchange('"https://wallet.example/d"', '▸"https://wallet.example:443/d"'),
    at = "/delivery/url", rule = "Controlled Delivery" },
  { code = "typed_data.delivery_origin", text = exchange('"https://wallet.example/d"', '▸"https://wallet.example/d"'),
    at = "/delivery/url", options = { origin = "https://producer.example/" }, rule = "Controlled Delivery" },
  { code = "typed_data.delivery_unsupported", text = exchange('{"url"', '▸{"url"'), at = "/delivery",
    options = { no_delivery = true }, rule = "Controlled Delivery" },
  { code = "typed_data.request_id", text = exchange('"r-1"', '▸"r 1"'), at = "/delivery/request_id",
    rule = "Controlled Delivery" },
  { code = "typed_data.operation_id", door = "check_receipt", text = exchanged(RECEIPT, '"o-1"', '▸""'), at = "/operation_id",
    rule = "Receipts" },
  { code = "typed_data.operation_id", door = "check_receipt",
    text = exchanged(RECEIPT, '"accepted", "operation_id": ', '"rejected", "operation_id": ▸'), at = "/operation_id",
    rule = "Receipts" },
  { code = "typed_data.status", door = "check_receipt", text = exchanged(RECEIPT, '"accepted"', '▸"done"'), at = "/status",
    rule = "Receipts" },
  { code = "typed_data.digest", door = "check_result", text = exchanged(RESULT, '"0x12', '▸"0xAB'), at = "/request_digest",
    rule = "Signature Results" },
  { code = "typed_data.signature", door = "check_result", text = exchanged(RESULT, '"0x00"', '▸"0x"'), at = "/signature",
    rule = "Signature Results" },
  { code = "typed_data.action", door = "check_operation", text = '{\n "action": ▸"cancel", "request_id": "r-1"}', at = "/action",
    rule = "Controlled Delivery" },
}
for _, fixture in ipairs(fixtures) do fixture.door = fixture.door or "typed_data" end

--- Codes that no document alone provokes, and the test that provokes each instead.
---@type table<string, string>
local elsewhere = {
  -- it takes two: a result and the request that it should be about
  ["typed_data.request_mismatch"] = "spec/lua/typed_data_spec.lua",
}

return { fixtures = fixtures, elsewhere = elsewhere }
