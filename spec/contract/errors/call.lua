--- The faults of JSON and of call plans. `rule` names the section of ERC-8410 or the RFC that the
--- refusal rests on.

-- Lines end in all three ways, so that line and column are worth something.
local PLAN = '{\r\n  "schema_version": "1",\r  "chain_id": "1",\n  "caip2_chain_id": "eip155:1",\r\n'
  .. '  "sender": "0x1111111111111111111111111111111111111111",\n'
  .. '  "ordered_steps": [\n    {\n      "step": 1,\n      "kind": "execution",\n'
  .. '      "transaction": {\r        "chain_id": "1",\n'
  .. '        "from": "0x1111111111111111111111111111111111111111",\n'
  .. '        "to": "0x2222222222222222222222222222222222222222",\n'
  .. '        "data": "0x",\n        "value": "0"\n      }\n    }\n  ]\n}\n'

local function exchange(from, to)
  local first, last = PLAN:find(from, 1, true)
  assert(first and not PLAN:find(from, last + 1, true), from)
  return PLAN:sub(1, first - 1) .. to .. PLAN:sub(last + 1)
end

-- A member put behind ordered_steps, or behind the first step's transaction.
local function with(member) return exchange("\n  ]\n}", "\n  ],\n  " .. member .. "\n}") end
local function with_step_member(member) return exchange("      }\n    }", "      },\n      " .. member .. "\n    }") end

local function revert(abi) return with_step_member('"revert_decode": {"kind": "error_result", "abi": ' .. abi .. "}") end
local function policy(rpc, reverted)
  return with('"simulation_failure_policy": {\n    "rpc_error": {"action": ' .. rpc .. ', "instruction": "x"},\n'
    .. '    "execution_reverted": {"action": ' .. (reverted or '"user_review"') .. ', "instruction": "x"},\n'
    .. '    "simulation_setup_error": {"action": "user_review", "instruction": "x"}\n  }')
end

local ATOMIC = { implements = { "atomic_batch" } }

---@type spec.Fixture[]
local fixtures = {
  { code = "limit", text = exchange('"0x",', '▸"0x' .. ("00"):rep(11) .. '",'), options = { limits = { calldata_bytes = 10 } },
    at = "/ordered_steps/0/transaction/data", rule = "Size Limits" },
  { code = "limit", text = with('"extensions": ▸{"a": "' .. ("x"):rep(20) .. '"}'), options = { limits = { extensions_bytes = 20 } },
    at = "/extensions", rule = "Extensions" },
  { code = "document.kind", door = "kind", text = '\n ▸{"a": 1}', at = "" },
  { code = "json.syntax", text = exchange('"kind": "execution"', '"kind": ▸execution'), at = "/ordered_steps/0/kind",
    rule = "RFC 8259" },
  { code = "json.syntax", text = exchange("  ]\n}\n", "  ]\n}\n▸}"), at = "", rule = "RFC 8259, section 2" },
  { code = "json.utf8", text = exchange("execution", "exec▸\xc3ution"), at = "/ordered_steps/0/kind",
    rule = "RFC 3629, section 3" },
  { code = "json.duplicate_name", text = exchange('"value": "0"', '"value": "0",\n        ▸"v\\u0061lue": "1"'),
    at = "/ordered_steps/0/transaction/value", rule = "RFC 8259, section 4" },
  { code = "json.surrogate", text = exchange("execution", "▸\\ud800"), at = "/ordered_steps/0/kind",
    rule = "RFC 8259, section 8.2" },
  { code = "json.byte_order_mark", text = "▸\u{feff}" .. PLAN, at = "", rule = "RFC 8259, section 8.1" },
  { code = "json.depth", text = with('"extensions": {"a": [[▸[[]]]]}'), options = { limits = { depth = 4 } },
    at = "/extensions/a/0/0", rule = "RFC 8259, section 9" },
  { code = "json.number", door = "json.decode", text = '{"a":\n [1, ▸9223372036854775808]}', at = "/a/1" },
  { code = "json.number", door = "json.decode", text = "▸1e400", at = "" },
  { code = "call.type", text = "▸[]", at = "", rule = "Execution Plan" },
  { code = "call.type", text = exchange('"0"', "▸0"), at = "/ordered_steps/0/transaction/value", rule = "Execution Plan" },
  { code = "call.type", text = with('"extensions": ▸null'), at = "/extensions", rule = "Execution Plan" },
  { code = "call.missing_member", text = exchange('"transaction": {', '"transaction": ▸{')
    :gsub('"data": "0x",\n        ', ""), at = "/ordered_steps/0/transaction/data", rule = "Execution Plan" },
  { code = "call.missing_member", text = "▸" .. PLAN:gsub('  "schema_version": "1",\r', ""), at = "/schema_version",
    rule = "Execution Plan" },
  { code = "call.unknown_member", text = with('▸"a/b~\\u0041": 1'), at = "/a~1b~0A", rule = "Execution Plan" },
  { code = "call.unknown_member", text = exchange('"data"', '▸"input": "0x",\n        "data"'),
    at = "/ordered_steps/0/transaction/input", rule = "Execution Plan" },
  { code = "call.schema_version", text = exchange('"schema_version": "1"', '"schema_version": ▸"2"'), at = "/schema_version",
    rule = "Execution Plan" },
  { code = "call.quantity", text = exchange('"0"', '▸"00"'), at = "/ordered_steps/0/transaction/value",
    rule = "Quantities" },
  { code = "call.uint256", text = exchange('"0"',
    '▸"115792089237316195423570985008687907853269984665640564039457584007913129639936"'),
    at = "/ordered_steps/0/transaction/value", rule = "Quantities" },
  { code = "call.address", text = exchange('"0x2222222222222222222222222222222222222222"', '▸"0x2222"'),
    at = "/ordered_steps/0/transaction/to", rule = "Byte Strings and Addresses" },
  { code = "call.bytes", text = exchange('"0x",', '▸"0x0",'), at = "/ordered_steps/0/transaction/data",
    rule = "Byte Strings and Addresses" },
  { code = "call.hex_case", text = exchange('"0x",', '▸"0xAB",'), at = "/ordered_steps/0/transaction/data",
    rule = "Byte Strings and Addresses" },
  { code = "call.caip2", text = exchange('"eip155:1"', '▸"eip155:10"'), at = "/caip2_chain_id", rule = "Execution Plan" },
  { code = "call.step_number", text = exchange('"step": 1', '"step": ▸2'), at = "/ordered_steps/0/step", rule = "Steps" },
  { code = "call.step_number", text = exchange('"step": 1', '"step": ▸1.0'), at = "/ordered_steps/0/step", rule = "Steps" },
  { code = "call.step_kind", text = exchange('"execution"', '▸"Execution"'), at = "/ordered_steps/0/kind", rule = "Steps" },
  { code = "call.no_steps", text = exchange(PLAN:match('%[\n    {.*%]'), "▸[]"), at = "/ordered_steps", rule = "Steps" },
  { code = "call.chain_mismatch", text = exchange('\r        "chain_id": "1"', '\r        "chain_id": ▸"10"'),
    at = "/ordered_steps/0/transaction/chain_id", rule = "Steps" },
  { code = "call.sender_mismatch", text = exchange('"from": "0x1111', '"from": ▸"0x3333'),
    at = "/ordered_steps/0/transaction/from", rule = "Steps" },
  { code = "call.capability_name", text = with('"required_capabilities": ["atomic_batch", ▸"atomic batch"]'),
    at = "/required_capabilities/1", options = ATOMIC, rule = "Required Capabilities" },
  { code = "call.capability_unknown", text = with('"required_capabilities": [▸"paymaster", "atomic_batch"]'),
    at = "/required_capabilities/0", options = ATOMIC, rule = "Required Capabilities" },
  { code = "call.action", text = policy('▸"retry"'), at = "/simulation_failure_policy/rpc_error/action",
    rule = "Simulation Failure Policy" },
  { code = "call.retry_forbidden", text = policy('"retry_same_plan"', '▸"retry_same_plan"'),
    at = "/simulation_failure_policy/execution_reverted/action", rule = "Simulation Failure Policy" },
  { code = "call.instruction_length", text = policy('"user_review"'):gsub('"x"}', '▸""}', 1),
    at = "/simulation_failure_policy/rpc_error/instruction", rule = "Simulation Failure Policy" },
  { code = "call.revert_kind", text = with_step_member('"revert_decode": {"kind": ▸"panic", "abi": '
    .. '[{"type": "error", "name": "E", "inputs": []}]}'),
    at = "/ordered_steps/0/revert_decode/kind", rule = "Revert Decoding" },
  { code = "call.abi", text = revert('[{"type": "error", "name": "E", "inputs": [{"type": ▸"uint257"}]}]'),
    at = "/ordered_steps/0/revert_decode/abi/0/inputs/0/type", rule = "Revert Decoding" },
  { code = "call.abi", text = revert('[{"type": "error", "name": "E", "inputs": [{"type": "tuple", "components": '
    .. '[{"type": "bool"}, ▸{"type": "tuple[]"}]}]}]'),
    at = "/ordered_steps/0/revert_decode/abi/0/inputs/0/components/1/components", rule = "Revert Decoding" },
  { code = "call.abi_no_error", text = revert('▸[{"type": "function"}]'), at = "/ordered_steps/0/revert_decode/abi",
    rule = "Revert Decoding" },
  { code = "call.chain_zero", warning = true, at = "/chain_id", rule = "EIP-155",
    text = exchange('"1",\n  "caip2', '▸"0",\n  "caip2'):gsub("eip155:1", "eip155:0")
      :gsub('\r        "chain_id": "1"', '\r        "chain_id": "0"') },
  { code = "call.capability_repeated", warning = true, at = "/required_capabilities/1", options = ATOMIC,
    text = with('"required_capabilities": ["atomic_batch", ▸"atomic_batch"]') },
}

--- Codes that no document provokes, and the test that provokes each instead.
---@type table<string, string>
local elsewhere = {
  -- every allocation fails there, one after another
  memory = "spec/c/alloc_test.c",
  -- from Lua a wrong option is a bad call, and raises
  option = "spec/c/document_test.c",
  -- it is a Lua value that is wrong, and JSON has none like it
  ["json.value"] = "spec/core/json_spec.lua",
}

return { fixtures = fixtures, elsewhere = elsewhere, plan = PLAN }
