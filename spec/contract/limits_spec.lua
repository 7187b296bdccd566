-- The law: every limit passes at its value and fails one above, at any value that it is set to; the
-- numbers are the header's, wherever they are shown. A new limit without a case fails here.
local moonplan = require "moonplan"
local files = require "spec.support.files"
local plans = require "spec.support.plans"

local ATOMIC = { "atomic_batch" }

--- @class spec.LimitCase
--- @field values integer[] what the limit is set to
--- @field needs fun(n: integer): string a document that needs exactly so much
--- @field code string? the refusal's
--- @field finding string? instead of a refusal: the one finding that a review has above the limit
--- @field at string the pointer to the fault, or what it begins with
--- @field nowhere boolean? the fault has no place in the document
--- @field elsewhere string? instead of all that: the test of a limit that no document can meet exactly
--- @field door (string|function)? the function of moonplan that reads it, or one like it; "call_plan" unless said otherwise

-- Each file of spec/contract/limits/ brings the cases of an area.
---@type table<string, spec.LimitCase>
local cases = {}
for _, name in ipairs(files.names("spec/contract/limits", "%.lua$")) do
  for limit, case in pairs(dofile(files.root .. "spec/contract/limits/" .. name)) do cases[limit] = case end
end

-- The header's table, read as text: X(name, default, floor, ceiling, "...").
local header = {}
do
  local table_text = files.read(files.root .. "src/moonplan.h"):match("#define MOONPLAN_LIMITS%(X%)(.-)\n\n")
  for name, initial, floor, ceiling, text in table_text:gmatch('X%(([%w_]+), (%d+), (%d+), (%d+), "(.-)"%)') do
    header[#header + 1] = {
      name = name, default = math.tointeger(initial), floor = math.tointeger(floor),
      ceiling = math.tointeger(ceiling), text = text,
    }
  end
end

describe("the table of limits", function()
  it("is the header's", function()
    assert(#header >= 10)
    assert.same(header, moonplan.limits())
  end)

  -- ERC-8410, Size Limits (steps, calldata, document), Extensions, Revert Decoding and Required
  -- Capabilities; the rest are ours.
  it("has the standard's numbers for defaults", function()
    local wanted = {
      document_bytes = 16 * 1024 * 1024, depth = 128, values = 1000000, steps = 4096, calldata_bytes = 8 * 1024 * 1024,
      extensions_bytes = 65536, abi_entries = 128, abi_bytes = 65536, capabilities = 32, errors = 64,
    }
    for _, limit in ipairs(moonplan.limits()) do
      if wanted[limit.name] then assert.equal(wanted[limit.name], limit.default, limit.name) end
      wanted[limit.name] = nil
    end
    assert.same({}, wanted)
  end)

  it("is what the command prints", function()
    local command = require "spec.support.command"
    local program = io.open(command.program, "rb")
    if not program then
      pending("the program is not built")
      return
    end
    program:close()
    local out = command.run({ "limits" }).out
    for _, limit in ipairs(header) do
      local line = ("\n" .. out):match("\n[^\n]*%f[%w_]" .. limit.name .. "%f[^%w_][^\n]*")
      assert(line, limit.name)
      for _, field in ipairs { "default", "ceiling" } do
        assert.matches("%f[%d]" .. limit[field] .. "%f[^%d]", (line:gsub("(%d)[,' _](%d%d%d)%f[^%d]", "%1%2")))
      end
    end
  end)
end)

-- The findings of a review that have this code.
local function findings_of(review, code)
  local list = {}
  for _, finding in ipairs(review.findings) do
    if finding.code == code then list[#list + 1] = finding end
  end
  return list
end

describe("the limit", function()
  local most = {}
  for _, limit in ipairs(header) do most[limit.name] = limit end

  for name, case in pairs(cases) do
    for _, value in ipairs(case.finding and case.values or {}) do
      it(("%s passes at %d and is said to be exceeded one above"):format(name, value), function()
        local options = { limits = { [name] = value } }
        assert.same({}, findings_of(moonplan[case.door](case.needs(value), options), case.finding))
        local found = findings_of(moonplan[case.door](case.needs(value + 1), options), case.finding)
        assert.equal(1, #found)
        assert.matches("%f[%w_]" .. name .. "%f[^%w_]", found[1].message)
        assert.matches("%f[%d]" .. value .. "%f[^%d]", found[1].message)
      end)
    end

    for _, value in ipairs(not case.finding and case.values or {}) do
      it(("%s passes at %d and fails one above"):format(name, value), function()
        local options = { limits = { [name] = value }, implements = ATOMIC }
        local door = type(case.door) == "function" and case.door or moonplan[case.door or "call_plan"]
        local plan, err = door(case.needs(value), options)
        assert(plan, tostring(err))
        plan, err = door(case.needs(value + 1), options)
        assert.is_nil(plan)
        assert.equal(1, #err.errors)
        assert.equal(case.code, err.code)
        assert.equal(case.at, err.at:sub(1, #case.at))
        assert.matches("%f[%w_]" .. name .. "%f[^%w_]", err.message)
        assert.matches(tostring(value), err.message, 1, true)
        if case.nowhere then assert.is_nil(err.offset) else assert.is_number(err.offset) end
      end)
    end

    it(name .. " can be raised and lowered by a host, within the table", function()
      local floor, ceiling = most[name].floor, most[name].ceiling
      for _, value in ipairs { floor - 1, ceiling + 1, -1, math.mininteger, math.maxinteger } do
        assert.error(function() moonplan.call_plan("{}", { limits = { [name] = value } }) end)
      end
      for _, value in ipairs { floor, ceiling } do
        assert.no_error(function() moonplan.call_plan("{}", { limits = { [name] = value } }) end)
      end
    end)
  end

  it("errors lists as many and counts the rest", function()
    for _, value in ipairs { 1, 2, 64, 100 } do
      local members = {}
      for n = 1, value + 1 do members[n] = ',"x' .. n .. '":0' end
      local text = plans.of({ plans.step(1) }, table.concat(members, "", 1, value))
      local _, err = moonplan.call_plan(text, { limits = { errors = value } })
      assert.equal(value, #err.errors)
      assert.equal("call.unknown_member", err.errors[value].code)
      text = plans.of({ plans.step(1) }, table.concat(members))
      _, err = moonplan.call_plan(text, { limits = { errors = value } })
      assert.equal(value + 1, #err.errors)
      assert.equal("limit", err.errors[value + 1].code)
      assert.matches("1 more", err.errors[value + 1].message)
    end
  end)

  it("has a case, each of them", function()
    for _, limit in ipairs(header) do assert(cases[limit.name] or limit.name == "errors", limit.name) end
    for name, case in pairs(cases) do
      if case.elsewhere then assert.matches("%f[%w_]" .. name .. "%f[^%w_]", files.read(files.root .. case.elsewhere)) end
    end
    for name in pairs(cases) do assert(most[name], name) end
  end)

  -- Rules of the standard, which no host may loosen.
  it("steps lets no call plan have more than 4096", function()
    for _, value in ipairs { 4096, most.steps.ceiling } do
      assert(moonplan.call_plan(plans.many(4096, 0), { limits = { steps = value } }))
      local _, err = moonplan.call_plan(plans.many(4097, 0), { limits = { steps = value } })
      assert.equal("limit", err.code)
      assert.equal("/ordered_steps", err.at)
      assert.matches("4096", err.message, 1, true)
    end
  end)

  it("capabilities goes no higher than 32", function() assert.equal(32, most.capabilities.ceiling) end)
end)
