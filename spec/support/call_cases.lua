--- The cases of spec/data/call-plan.json, ready to run.
local cjson = require "cjson"
local files = require "spec.support.files"
local recipe = require "spec.support.recipe"

local call_cases = {}

-- The case file names faults in its own words; limits come with the limit that is meant.
local CODES = {
  type = "call.type", ["missing-member"] = "call.missing_member",
  ["unknown-member"] = "call.unknown_member", ["schema-version"] = "call.schema_version",
  quantity = "call.quantity", uint256 = "call.uint256", address = "call.address",
  bytes = "call.bytes", ["hex-case"] = "call.hex_case", caip2 = "call.caip2",
  ["step-number"] = "call.step_number", kind = "call.step_kind", ["no-steps"] = "call.no_steps",
  ["chain-mismatch"] = "call.chain_mismatch", ["from-mismatch"] = "call.sender_mismatch",
  ["capability-name"] = "call.capability_name",
  ["capability-unknown"] = "call.capability_unknown",
  action = "call.action", ["retry-forbidden"] = "call.retry_forbidden",
  ["instruction-length"] = "call.instruction_length", ["revert-kind"] = "call.revert_kind",
  abi = "call.abi", ["abi-empty"] = "call.abi", ["abi-no-error"] = "call.abi_no_error",
  json = "json.syntax", bom = "json.byte_order_mark", ["duplicate-name"] = "json.duplicate_name",
  ["lone-surrogate"] = "json.surrogate", ["invalid-utf8"] = "json.utf8", depth = "json.depth",
  ["document-size"] = "limit", ["calldata-size"] = "limit", ["extensions-size"] = "limit",
  ["abi-size"] = "limit", ["abi-entries"] = "limit", ["too-many-steps"] = "limit",
  ["too-many-capabilities"] = "limit",
}
local LIMITS = {
  ["document-size"] = "document_bytes", ["calldata-size"] = "calldata_bytes",
  ["extensions-size"] = "extensions_bytes", ["abi-size"] = "abi_bytes",
  ["abi-entries"] = "abi_entries", ["too-many-steps"] = "steps",
  ["too-many-capabilities"] = "capabilities",
}

local function given(value)
  if value == cjson.null then return nil end
  return value
end

-- Upper-case digits in a hexadecimal string. The cases were written for a reader that lowers them;
-- a case about refusing them says so.
local function has_upper_hex(text)
  for digits in text:gmatch('"0x(%x+)"') do
    if digits:find("%u") then return true end
  end
  return false
end

--- @class spec.CallCase
--- @field id string
--- @field reason string
--- @field accept boolean
--- @field digest string? where accepted
--- @field code string? where refused, one of moonplan's
--- @field limit string? the limit that a refusal with the code "limit" must name
--- @field pointer string? where the fault is; nil where JSON itself is broken
--- @field build fun(): string the document
--- @field check fun(text: string, keccak: fun(bytes: string): string)
--- @field options fun(text: string): table for moonplan.call_plan

---@return spec.CallCase[]
function call_cases.load()
  local all = {}
  for n, raw in ipairs(cjson.decode(files.read(files.root .. "spec/data/call-plan.json")).cases) do
    local expect = raw.expect
    local accept = expect.accept
    if accept == "open" then accept = expect.recommended end
    assert(type(accept) == "boolean", raw.id)
    local code = given(expect.code)
    all[n] = {
      id = raw.id,
      reason = expect.reason,
      accept = accept,
      digest = accept and expect.digest or nil,
      code = not accept and assert(CODES[code], raw.id) or nil,
      limit = not accept and LIMITS[code] or nil,
      pointer = given(expect.pointer),
      build = function() return recipe.build(raw) end,
      check = function(text, keccak)
        if not raw.input_recipe then return end
        assert(#text == raw.input_bytes, raw.id .. ": built wrongly, by length")
        assert(keccak(text) == raw.input_keccak256, raw.id .. ": built wrongly, by Keccak-256")
      end,
      options = function(text)
        local limits = {}
        for name, value in pairs(raw.options.limits or {}) do
          limits[name] = math.tointeger(value)
        end
        return {
          hex_case = raw.options.hex_case or (has_upper_hex(text) and "normalize" or nil),
          implements = raw.options.capabilities or { "atomic_batch" },
          limits = limits,
        }
      end,
    }
  end
  return all
end

return call_cases
