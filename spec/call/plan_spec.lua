local moonplan = require "moonplan"
local call_cases = require "spec.support.call_cases"
local places = require "spec.support.places"
local plans = require "spec.support.plans"

-- Cases with more than one fault, in document order; every other refused case has exactly one. A
-- case whose plan and step agree in a wrong chain or sender is wrong in both places.
local SEVERAL = {
  ["step-number-swapped-tail"] = {
    "call.step_number /ordered_steps/1/step", "call.step_number /ordered_steps/2/step",
  },
  ["top-level-empty-object"] = {
    "call.missing_member /schema_version", "call.missing_member /chain_id",
    "call.missing_member /caip2_chain_id", "call.missing_member /sender",
    "call.missing_member /ordered_steps",
  },
  ["quantity-chain-2pow256"] = {
    "call.uint256 /chain_id", "call.uint256 /ordered_steps/0/transaction/chain_id",
  },
}
for _, form in ipairs { "empty", "00", "leading-zero", "minus-zero", "minus", "exponent", "hex", "space-after",
  "newline-after", "nul-after", "fullwidth", "arabic-indic" } do
  SEVERAL["quantity-chain-" .. form] = {
    "call.quantity /chain_id", "call.quantity /ordered_steps/0/transaction/chain_id",
  }
end
for _, form in ipairs { "empty", "prefix-only", "non-hex", "newline-after" } do
  SEVERAL["address-sender-" .. form] = {
    "call.address /sender", "call.address /ordered_steps/0/transaction/from",
  }
end

local cases = call_cases.load()

describe("a plan of a million steps", function()
  local function refusal(limits)
    local text = plans.tiny():gsub("%[.*%]", "[" .. ("{},"):rep(999999) .. "{}]")
    local plan, err = moonplan.call_plan(text, { limits = limits })
    assert.is_nil(plan)
    assert.equal("limit", err.code)
    assert.equal(1, #err.errors)
    return err
  end

  it("is refused for its values, and for its steps where a host allows the values", function()
    assert.matches("values", refusal().message, 1, true)
    local err = refusal({ values = 10000000 })
    assert.matches("1000000 steps", err.message, 1, true)
    assert.equal("/ordered_steps", err.at)
  end)
end)

describe("a call plan case", function()
  it("is there for each of the 413", function() assert.equal(413, #cases) end)

  for _, case in ipairs(cases) do
    it(case.id .. ": " .. case.reason, function()
      local text = case.build()
      case.check(text, moonplan.keccak256)
      local options = case.options(text)
      local plan, err = moonplan.call_plan(text, options)

      if case.accept then
        assert.is_nil(err)
        assert.equal(case.digest, plan.digest)
        assert.equal(case.digest, moonplan.digest(text, options))
        assert.equal(case.digest, moonplan.keccak256(plan:canonical()))
        return
      end

      assert.is_nil(plan)
      local found
      for _, fault in ipairs(err.errors) do
        if fault.code == case.code and not found then found = fault end
      end
      assert(found, ("expected %s, got %s"):format(case.code, tostring(err)))
      if case.code == "json.depth" then
        -- the case names the member in which it got too deep, we name the very value
        assert.equal(case.pointer or "", found.at:sub(1, #(case.pointer or "")))
      elseif case.pointer then
        assert.equal(case.pointer, found.at)
      end
      if case.limit then assert.matches(case.limit, found.message, 1, true) end

      local codes = {}
      for n, fault in ipairs(err.errors) do codes[n] = fault.code .. " " .. fault.at end
      if SEVERAL[case.id] then
        assert.same(SEVERAL[case.id], codes)
      else
        assert.equal(1, #codes, table.concat(codes, ", "))
      end

      -- err is its first fault; faults come in document order; places can be counted again
      assert.equal(err.errors[1].code, err.code)
      assert.equal(err.errors[1].offset, err.offset)
      local before = 0
      for _, fault in ipairs(err.errors) do
        if fault.offset then
          assert(before <= fault.offset, "faults are out of order: " .. table.concat(codes, ", "))
          before = fault.offset
          if #text < 100000 then
            local line, column = places.of(text, fault.offset)
            assert.equal(line, fault.line)
            assert.equal(column, fault.column)
          end
        end
      end

      -- Identity knows no required capabilities, and refuses everything else alike.
      local digest, refusal = moonplan.digest(text, options)
      if case.code == "call.capability_unknown" then
        assert.equal(66, #digest)
      else
        assert.is_nil(digest)
        assert.equal(err.code, refusal.code)
        assert.equal(err.at, refusal.at)
        assert.equal(err.message, refusal.message)
      end
    end)
  end
end)
