--- The faults of ABI descriptions. `rule` names the section of the Contract ABI Specification.

local function fixture(code, text, at, rule)
  return { code = code, text = text, at = at, door = "abi.parse", rule = rule }
end

---@type spec.Fixture[]
local fixtures = {
  fixture("abi.type", '[{"type":"function","name":"f",\n"inputs":[▸{"name":"a","type":"uint7"}]}]',
    "/0/inputs/0", "Types"),
  fixture("abi.type", "f(▸uint7 a)", "", "Types"),
  fixture("abi.type", "f(uint256)\ng(▸bytes33)", "", "Types"),
  fixture("json.syntax", '[{"type":"function"▸', "/0", nil),
}

--- Codes that data, values or two places at once provoke, and the test of each.
---@type table<string, string>
local elsewhere = {}
for _, code in ipairs { "value", "offset", "length", "padding", "trailing", "budget", "selector" } do
  elsewhere["abi." .. code] = "spec/lua/abi_spec.lua"
end

return { fixtures = fixtures, elsewhere = elsewhere }
