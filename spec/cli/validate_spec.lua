local cjson = require "cjson"
local command = require "spec.support.command"
local plans = require "spec.support.plans"

local run = command.run

local TINY = plans.tiny()
local TINY_DIGEST = "0x93aeec006e55dfe0f54041d53c94387e08c504d4f3b3826cd3426dbc7da38ea5"

-- Two faults, on lines 3 and 7.
local BAD = [[
{
  "schema_version": "1",
  "chain_id": "01",
  "caip2_chain_id": "eip155:01",
  "sender": "0x1111111111111111111111111111111111111111",
  "ordered_steps": [],
  "note\u202e": 1
}
]]

describe("moonplan validate", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  it("says that a plan is valid, with its digest", function()
    command.write(folder .. "/p.json", TINY)
    assert.same({ code = 0, err = "", out = "p.json: valid call plan, digest " .. TINY_DIGEST .. "\n" },
      run { "validate", "p.json", cd = folder })
  end)

  it("is also called check", function()
    assert.same(run { "validate", "-", stdin = TINY }, run { "check", "-", stdin = TINY })
  end)

  it("reports every fault, each on a line with its place, as compilers do", function()
    command.write(folder .. "/b.json", BAD)
    local outcome = run { "validate", "b.json", cd = folder }
    assert.equal(2, outcome.code)
    assert.equal("", outcome.out)
    local lines = {}
    for line in outcome.err:gmatch("[^\n]+") do lines[#lines + 1] = line end
    assert.truthy(lines[1]:find("^b%.json:3:15: error%[call%.quantity%] at /chain_id: %S"))
    local last = lines[#lines]
    assert.truthy(last:find("^b%.json:7:%d+: error%[call%.unknown_member%] at "))
    assert.truthy(last:find("\\u{202e}", 1, true), "a bidi override is spelled out")
    assert.falsy(outcome.err:find("\u{202e}", 1, true), "and does not reach the terminal")
  end)

  it("goes on after a bad file and ends with the worst exit code", function()
    command.write(folder .. "/good", TINY)
    command.write(folder .. "/bad", BAD)
    local outcome = run { "validate", "bad", "good", cd = folder }
    assert.equal(2, outcome.code)
    assert.equal("good: valid call plan, digest " .. TINY_DIGEST .. "\n", outcome.out)
    assert.equal(1, run { "validate", "bad", "missing", "good", cd = folder }.code)
  end)

  it("shows warnings of a valid plan without failing", function()
    local plan = TINY:gsub('"chain_id":"1"', '"chain_id":"0"'):gsub("eip155:1", "eip155:0")
    local outcome = run { "validate", "-", stdin = plan }
    assert.equal(0, outcome.code)
    assert.truthy(outcome.err:find("^%-:1:%d+: warning%[call%.chain_zero%] at /chain_id: "))
    assert.truthy(outcome.out:find("^%-: valid call plan, "))
  end)

  describe("tells the kind of document", function()
    -- Each is empty of what its own kind asks for, so that the fault tells which it was taken for.
    for document, fault in pairs {
      ['{"ordered_steps":[]}'] = "call.no_steps",
      ['{"schema_version":"1"}'] = "call.missing_member",
      ['{"steps":[]}'] = "plan.empty",
      ['{"kind":"artifact_reference","ordered_steps":[]}'] = "artifact.envelope",
      ['{"kind":"typed_data_signature_request","steps":[]}'] = "typed_data.missing_member",
    } do
      it("from " .. document, function()
        local outcome = run { "validate", "-", stdin = document }
        assert.equal(2, outcome.code)
        assert.equal("", outcome.out)
        assert.truthy(outcome.err:find("error[" .. fault .. "]", 1, true), outcome.err)
      end)
    end

    it("or says what would make it one", function()
      local outcome = run { "validate", "-", stdin = '{"a":1}' }
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("^%-:1:1: error%[document%.kind%]: .*ordered_steps"))
    end)

    it("unless it is told", function()
      local outcome = run { "validate", "--as", "call", "-", stdin = '{"a":1}' }
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("error[call.unknown_member] at /a", 1, true))
      assert.equal(2, run { "validate", "--as=step", "-", stdin = TINY }.code)
      assert.equal(0, run { "validate", "--as=call", "-", stdin = TINY }.code)
      assert.equal(1, run { "validate", "--as=callplan", "-", stdin = TINY }.code)
    end)
  end)

  describe("--json", function()
    it("is one document for each file, of a fixed shape", function()
      command.write(folder .. "/good", TINY)
      command.write(folder .. "/bad", BAD)
      local outcome = run { "validate", "--json", "good", "bad", "none", cd = folder }
      assert.equal(1, outcome.code)
      assert.equal("", outcome.err)
      local documents = {}
      for line in outcome.out:gmatch("[^\n]+") do documents[#documents + 1] = cjson.decode(line) end
      assert.equal(3, #documents)

      assert.same({ file = "good", kind = "call_plan", valid = true, digest = TINY_DIGEST,
        errors = {}, warnings = {} }, documents[1])
      assert.truthy(outcome.out:find('"errors":[]', 1, true), "an empty list is a list")

      local bad = documents[2]
      assert.equal("bad", bad.file)
      assert.is_false(bad.valid)
      assert.equal(cjson.null, bad.digest)
      local first = bad.errors[1]
      assert.equal("call.quantity", first.code)
      assert.equal("/chain_id", first.at)
      assert.equal(3, first.line)
      assert.equal(15, first.column)
      assert.equal(BAD:find('"01"', 1, true) - 1, first.offset)
      assert.equal("string", type(first.message))

      assert.equal("io", documents[3].errors[1].code)
      assert.equal(cjson.null, documents[3].kind)
    end)

    it("stays JSON for a file name that is not UTF-8", function()
      command.write(folder .. "/\xff\n\xe2\x80\xae", TINY)
      local outcome = run { "validate", "--json", "\xff\n\xe2\x80\xae", cd = folder }
      assert.truthy(utf8.len(outcome.out))
      assert.equal("\\xff\n\u{202e}", cjson.decode(outcome.out).file)
    end)
  end)

  describe("--limit", function()
    it("sets a limit between its floor and ceiling", function()
      assert.equal(0, run { "validate", "--limit", "document_bytes=" .. #TINY, "-", stdin = TINY }.code)
      local outcome = run { "validate", "--limit", "document_bytes=" .. #TINY - 1, "-", stdin = TINY }
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("^%-: error%[limit%]: .*document_bytes"))
      assert.equal(2, run { "validate", "--limit=depth=2", "-", stdin = TINY }.code)
    end)

    for _, wrong in ipairs { "depth", "depth=", "depth=x", "depth=-1", "depth=0", "depth=1025",
      "depht=4", "=1", "depth=0x10", "depth=99999999999999999999" } do
      it("refuses " .. wrong, function()
        local outcome = run { "validate", "--limit", wrong, "-", stdin = TINY }
        assert.equal(1, outcome.code)
        assert.equal("", outcome.out)
        assert.truthy(outcome.err:find("^moonplan validate: "))
      end)
    end
  end)
end)

local function step(id, capability, input)
  return ('{"id":"%s","capability":"%s"%s}'):format(id, capability, input and ',"input":' .. input or "")
end

local function plan(...) return ('{"version":"1.0","steps":[%s]}'):format(table.concat({ ... }, ",")) end

local LOUD = [[return {
  kind = "capability", api = 1, name = "loud", version = "1.0.0", summary = "Says that it ran.", risk = "read",
  run = function(_, ctx) ctx.log.error("called") end,
}]]

describe("moonplan validate, of step plans,", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  it("judges a step plan by the capabilities there are, and calls none", function()
    os.execute("mkdir " .. folder .. "/plugins")
    command.write(folder .. "/plugins/loud.lua", LOUD)
    command.write(folder .. "/p.json", plan(step("a", "loud"), step("b", "text.count")))
    assert.same({ code = 0, err = "", out = "p.json: valid step plan, 2 steps\n" },
      run { "validate", "p.json", "--plugins", "plugins", cd = folder })
    local outcome = run { "validate", "p.json", cd = folder }
    assert.equal(2, outcome.code)
    assert.truthy(outcome.err:find("^p%.json:1:%d+: error%[plan%.unknown_capability%] at /steps/0/capability: "))
    assert.equal(2, run { "validate", "p.json", "--plugins", "plugins", "--no-shipped", cd = folder }.code)
  end)

  it("takes plans of both kinds in one go", function()
    command.write(folder .. "/call.json", plans.tiny())
    command.write(folder .. "/step.json", plan(step("a", "text.count")))
    local outcome = run { "validate", "--json", "call.json", "step.json", cd = folder }
    assert.equal(0, outcome.code)
    local kinds = {}
    for line in outcome.out:gmatch("[^\n]+") do
      local record = cjson.decode(line)
      kinds[#kinds + 1] = record.kind
      assert.is_true(record.valid)
    end
    assert.same({ "call_plan", "step_plan" }, kinds)
    assert.truthy(outcome.out:find('"digest":null', 1, true))
  end)

  it("takes a document for a step plan when told", function()
    local outcome = run { "validate", "--as", "step", "-", stdin = plans.tiny() }
    assert.equal(2, outcome.code)
    assert.truthy(outcome.err:find("error[plan.", 1, true), outcome.err)
    assert.equal(0, run { "validate", "--as=step", "-", stdin = plan(step("a", "text.count")) }.code)
    outcome = run { "validate", "--as=call", "-", stdin = plan(step("a", "text.count")) }
    assert.truthy(outcome.err:find("error[call.", 1, true), outcome.err)
  end)

  it("warns of what does no harm", function()
    local outcome = run { "validate", "-", stdin = plan(step("result", "text.count")) }
    assert.equal(0, outcome.code)
    assert.truthy(outcome.err:find("warning[plan.step_id_unreachable] at /steps/0/id", 1, true), outcome.err)
  end)

  it("asks for what would have to be granted", function()
    local text = plan(step("a", "fs.read_text", '{"path":"x"}'))
    local outcome = run { "validate", "-", stdin = text }
    assert.equal(2, outcome.code)
    assert.truthy(outcome.err:find("error[plan.power_missing]", 1, true))
    assert.equal(0, run { "validate", "-", "--grant", "fs=.", stdin = text, cd = folder }.code)
  end)
end)
