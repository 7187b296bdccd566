--- The faults of what builders are given, and of builders.
local moonplan = require "moonplan"

-- The builders that come along, with parameters as JSON text.
local function built_by(name)
  return function(text) return moonplan.engine():build(name, text) end
end

local native = built_by "native.transfer"
local swap = built_by "swap.exact_input"

return {
  fixtures = {
    { code = "build.param_missing", at = "/amount", door = native,
      text = '▸{"chain": 1, "sender": "0x1111111111111111111111111111111111111111",\n'
        .. '"recipient": "0x2222222222222222222222222222222222222222"}' },
    { code = "build.param_missing", at = "/amount", door = native,
      text = '{"chain": 1, "sender": "0x1111111111111111111111111111111111111111",\n'
        .. '"recipient": "0x2222222222222222222222222222222222222222", "amount": ▸null}' },
    { code = "build.param_unknown", at = "/amout", door = native,
      text = '{"chain": 1, "sender": "0x1111111111111111111111111111111111111111",\n'
        .. '"recipient": "0x2222222222222222222222222222222222222222", "amount": 1, ▸"amout": 2}' },
    { code = "build.param_type", at = "", door = native, text = " ▸[1]" },
    { code = "build.param_type", at = "/chain", door = native,
      text = '{"chain": ▸true, "sender": "0x1111111111111111111111111111111111111111",\n'
        .. '"recipient": "0x2222222222222222222222222222222222222222", "amount": 1}' },
    { code = "build.param_value", at = "/amount", door = native,
      text = '{"chain": 1, "sender": "0x1111111111111111111111111111111111111111",\n'
        .. '"recipient": "0x2222222222222222222222222222222222222222", "amount": ▸"1.5"}' },
    { code = "build.param_value", at = "/sender", door = native, rule = "ERC-55",
      text = '{"chain": 1, "sender": ▸"0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045",\n'
        .. '"recipient": "0x2222222222222222222222222222222222222222", "amount": 1}' },
    { code = "build.param_value", at = "/path/1", door = swap,
      text = '{"chain": 1, "sender": "0x1111111111111111111111111111111111111111", "deadline": 1,\n'
        .. '"router": "0x2222222222222222222222222222222222222222", "amount_in": 1, "amount_out_min": 1,\n'
        .. '"path": ["0x3333333333333333333333333333333333333333", ▸"0x33"]}' },
  },
  ---@type table<string, string>
  elsewhere = {
    ["build.unknown"] = "spec/lua/builder_spec.lua",
    ["build.failed"] = "spec/lua/builder_spec.lua",
    ["build.plan"] = "spec/lua/builder_spec.lua",
  },
}
