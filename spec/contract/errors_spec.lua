-- The law: every error code has a fixture that provokes it at the right place, and every error text
-- keeps the house's manners. A new code without a fixture fails here.
--
-- Each file of spec/contract/errors/ brings the fixtures of an area, and names the tests that
-- provoke what no document can.
local moonplan = require "moonplan"
local files = require "spec.support.files"
local places = require "spec.support.places"

--- @class spec.Fixture
--- @field code string
--- @field text string the document, with one MARK where the fault begins
--- @field at string the pointer
--- @field rule string? what the refusal rests on
--- @field options table?
--- @field door (string|function)? the function of moonplan that reads it, or one like it; "call_plan" unless said otherwise
--- @field warning boolean? the document is accepted, with this warning

--- @class spec.Fixtures
--- @field fixtures spec.Fixture[]
--- @field elsewhere table<string, string>? code to the file of the test that provokes it

local MARK = "▸"

local fixtures, elsewhere = {}, {}
for _, name in ipairs(files.names("spec/contract/errors", "%.lua$")) do
  local area = dofile(files.root .. "spec/contract/errors/" .. name)
  table.move(area.fixtures, 1, #area.fixtures, #fixtures + 1, fixtures)
  for code, path in pairs(area.elsewhere or {}) do elsewhere[code] = path end
end

--- "json.decode" is moonplan.json.decode.
local function door_of(fixture)
  if type(fixture.door) == "function" then return fixture.door end
  local door = moonplan
  for name in (fixture.door or "call_plan"):gmatch("[^.]+") do door = door[name] end
  return door
end

-- What a person reads: one line, beginning small or with what it quotes, without a full stop.
local function check_manners(err)
  assert.matches("^[%l%d\"\\]", err.message)
  assert.not_matches("%.$", err.message)
  assert.not_matches("[%c]", err.message)
  assert(#err.message >= 8, err.message)
end

describe("the fixture of", function()
  for n, fixture in ipairs(fixtures) do
    it(("%s, %d"):format(fixture.code, n), function()
      local text, marks = fixture.text:gsub(MARK, "")
      assert.equal(1, marks)
      local offset = fixture.text:find(MARK, 1, true) - 1
      local line, column = places.of(text, offset)
      local value, err = door_of(fixture)(text, fixture.options)
      local found
      if fixture.warning then
        assert.is_nil(err)
        assert.equal(1, #value.warnings)
        found = value.warnings[1]
      else
        assert.is_nil(value)
        assert.equal(1, #err.errors, tostring(err))
        found = err.errors[1]
        for _, field in ipairs { "code", "at", "line", "column", "offset", "message" } do
          assert.equal(found[field], err[field])
        end
      end
      assert.equal(fixture.code, found.code)
      assert.equal(fixture.at, found.at)
      assert.equal(offset, found.offset)
      assert.equal(line, found.line)
      assert.equal(column, found.column)
      check_manners(found)
      -- The root needs no pointer to it.
      local where = fixture.at == "" and "" or " at " .. fixture.at
      assert.equal(("%s%s (line %d, column %d): %s"):format(fixture.code, where, line, column, found.message),
        tostring(found))
    end)
  end
end)

describe("every code", function()
  local fixed = {}
  for _, fixture in ipairs(fixtures) do fixed[fixture.code] = true end

  for _, code in ipairs(moonplan.codes()) do
    it(code.code .. " has a fixture, or a test that provokes it", function()
      if elsewhere[code.code] then
        assert.is_nil(fixed[code.code])
        local symbol = "MOONPLAN_" .. code.code:upper():gsub("%.", "_")
        local test = files.read(files.root .. elsewhere[code.code])
        assert(test:find(symbol, 1, true) or test:find('"' .. code.code .. '"', 1, true))
      else
        assert.is_true(fixed[code.code])
      end
    end)

    it(code.code .. " is described in a line", function()
      assert.matches("^[%l]+[%l%d_]*%.?[%l%d_]*$", code.code)
      assert.not_matches("^%u%l", code.text) -- EIP712Domain is a name
      assert.not_matches("%.$", code.text)
      assert.not_matches("[%c]", code.text)
    end)
  end

  it("that has a fixture is there", function()
    local there = {}
    for _, code in ipairs(moonplan.codes()) do there[code.code] = true end
    for code in pairs(fixed) do assert(there[code], code) end
    for code in pairs(elsewhere) do assert(there[code], code) end
  end)

  -- The command and what is written in Lua make faults of their own; a person meets those codes
  -- like any other.
  it("that a Lua source of ours names is there", function()
    local there, named = {}, 0
    for _, code in ipairs(moonplan.codes()) do there[code.code] = true end
    for _, path in ipairs(files.lines_of("find " .. files.quote(files.root .. "lua") .. " -name '*.lua' | sort")) do
      -- What that one names are codes of the plugins that it writes.
      if not path:find("command/scaffold.lua", 1, true) then
        local source = files.read(path)
        for _, pattern in ipairs { 'code = "([%l_.]+)"', 'finish%("%l+", "([^"]+%l)"' } do
          for code in source:gmatch(pattern) do
            assert(there[code], path .. " names " .. code)
            named = named + 1
          end
        end
      end
    end
    assert(named >= 10)
  end)
end)

describe("many faults", function()
  local plan = dofile(files.root .. "spec/contract/errors/call.lua").plan
  assert(moonplan.call_plan(plan))

  local function faulty(count)
    local members = {}
    for n = 1, count do members[n] = ('"x%d": 0'):format(n) end
    return (plan:gsub("\n}\n$", ",\n" .. table.concat(members, ",\n") .. "\n}\n"))
  end

  it("are all listed, in document order, up to the limit and one entry that counts the rest", function()
    for _, count in ipairs { 1, 2, 63, 64, 65, 66, 500 } do
      local _, err = moonplan.call_plan(faulty(count))
      assert.equal(math.min(count, 65), #err.errors)
      for n = 1, math.min(count, 64) do
        assert.equal("/x" .. n, err.errors[n].at)
        assert.equal("call.unknown_member", err.errors[n].code)
      end
      if count > 64 then
        local last = err.errors[65]
        assert.equal("limit", last.code)
        assert.matches(("%d more"):format(count - 64), last.message)
        assert.matches("errors", last.message, 1, true)
        assert.is_nil(last.offset)
        check_manners(last)
      end
    end
  end)

  it("in every member of a plan are found at once", function()
    local text = plan:gsub('"1"', '"01"'):gsub('eip155:1', "eip155"):gsub("0x1111", "1111")
      :gsub('"step": 1', '"step": "1"'):gsub("execution", "exec"):gsub("0x2222", "0xzzzz"):gsub('"0x"', '"0x0"')
      :gsub('"0"', "null")
    local _, err = moonplan.call_plan(text)
    local codes = {}
    for n, fault in ipairs(err.errors) do codes[n] = fault.code .. " " .. fault.at end
    local step = "/ordered_steps/0"
    assert.same({
      "call.schema_version /schema_version", "call.quantity /chain_id",
      "call.address /sender", "call.type " .. step .. "/step", "call.step_kind " .. step .. "/kind",
      "call.quantity " .. step .. "/transaction/chain_id", "call.address " .. step .. "/transaction/from",
      "call.address " .. step .. "/transaction/to", "call.bytes " .. step .. "/transaction/data",
      "call.type " .. step .. "/transaction/value",
    }, codes)
  end)

  it("end with the JSON: what is not JSON has no other faults", function()
    local _, err = moonplan.call_plan((faulty(10):gsub("}\n$", "")))
    assert.equal(1, #err.errors)
    assert.equal("json.syntax", err.code)
  end)
end)

describe("an error text", function()
  local plan = dofile(files.root .. "spec/contract/errors/call.lua").plan

  it("repeats no unbounded input and nothing that a terminal obeys", function()
    local evil = ("\u{202e}\u{1b}[2J\u{200b}"):rep(10000)
    local escaped = evil:gsub("\u{1b}", "\\u001b")
    for _, text in ipairs {
      (plan:gsub("execution", escaped)), (plan:gsub('"0"', '"' .. escaped .. '"')),
      (plan:gsub('"kind"', '"' .. escaped .. '"')), (plan:gsub("0x2222", escaped)),
      (plan:gsub('"step": 1', '"step": ' .. ("9"):rep(100000))),
      '{"' .. escaped .. '":1,"' .. escaped .. '":2}', ("tru"):rep(10000),
    } do
      local _, err = moonplan.call_plan(text)
      for _, fault in ipairs(err.errors) do
        assert(#fault.message < 512)
        assert(#fault.at <= 256 + #"…")
        assert.not_matches("[%c]", fault.message)
        assert.is_nil(fault.message:find("\u{202e}", 1, true))
        assert.is_nil(fault.message:find("\u{200b}", 1, true))
        assert(utf8.len(fault.message), "not UTF-8")
        assert(utf8.len(fault.at), "not UTF-8")
        assert.not_matches("[%c]", tostring(fault))
        assert(#tostring(fault) < 2000)
      end
    end
  end)

  it("cuts a long pointer at 256 bytes", function()
    local deep = ('{"' .. ("k"):rep(20) .. '":'):rep(40) .. "x"
    local _, err = moonplan.call_plan(deep)
    assert.equal(("/" .. ("k"):rep(20)):rep(13):sub(1, 256) .. "…", err.at)
  end)
end)
