-- The module as a script sees it: call plans as objects, errors as values, bad calls as errors.
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local decode, encode = moonplan.json.decode, moonplan.json.encode
local ALL = { implements = { "atomic_batch" } }

local text = plans.full(2000)

local function parse(change) return assert(moonplan.call_plan(change or text, ALL)) end

-- The message of the error that `f` raises.
local function raised(f, ...)
  local fine, err = pcall(f, ...)
  assert.is_false(fine, "no error was raised")
  return err
end

describe("a call plan", function()
  it("has the fields of its document", function()
    local plan = parse()
    local document = decode((text:gsub("1e400", "1")))
    for _, name in ipairs { "chain_id", "caip2_chain_id", "sender", "required_capabilities" } do
      assert.same(document[name], plan[name])
    end
    assert.same(document.simulation_failure_policy, plan.failure_policy)
    assert.equal(#document.ordered_steps, #plan.steps)
    for n, given in ipairs(document.ordered_steps) do
      local step = plan.steps[n]
      assert.equal(given.step, step.step)
      assert.equal(given.kind, step.kind)
      for _, name in ipairs { "to", "data", "value", "gas" } do
        assert.equal(given.transaction[name], step[name])
      end
      assert.same(given.revert_decode, step.revert_decode)
      assert.equal((#step.data - 2) / 2, step.data_bytes)
      assert.equal("integer", math.type(step.data_bytes))
    end
  end)

  it("leaves out what the document leaves out", function()
    local plan = parse(plans.tiny())
    assert.is_nil(plan.failure_policy)
    assert.is_nil(plan.extensions)
    assert.is_nil(plan.steps[1].gas)
    assert.is_nil(plan.steps[1].revert_decode)
    assert.equal("[]", encode(plan.required_capabilities))
    assert.equal("[]", encode(plan.warnings))
  end)

  it("has a digest that is the Keccak-256 of its canonical form", function()
    local plan = parse()
    assert.truthy(plan.digest:find "^0x%x+$")
    assert.equal(66, #plan.digest)
    assert.equal(plan.digest, moonplan.keccak256(plan:canonical()))
    assert.equal(plan.digest, plan.digest)
    assert.equal(plan.digest, moonplan.digest(text))
  end)

  it("shows a selector where there are four bytes of data", function()
    local datas = { "0x", "0x095ea7", "0x095ea7b3", "0x095ea7b3ff" }
    local steps = {}
    for n, data in ipairs(datas) do steps[n] = plans.step(n, { data = data }) end
    local plan = parse(plans.of(steps))
    local seen = {}
    for n, step in ipairs(plan.steps) do seen[n] = step.selector or false end
    assert.same({ false, false, "0x095ea7b3", "0x095ea7b3" }, seen)
    assert.equal(3, plan.steps[2].data_bytes)
  end)

  it("lowers hexadecimal digits when asked", function()
    local upper = plans.of({ plans.step(1, { data = "0xABCDEF01" }) })
    local _, err = moonplan.call_plan(upper)
    assert.equal("call.hex_case", err.code)
    local plan = assert(moonplan.call_plan(upper, { hex_case = "normalize" }))
    assert.equal("0xabcdef01", plan.steps[1].data)
    assert.equal("0xabcdef01", plan.steps[1].selector)
    assert.equal(moonplan.digest(plans.of({ plans.step(1, { data = "0xabcdef01" }) })), plan.digest)
  end)

  it("counts steps from 1, and ends", function()
    local steps = parse().steps
    assert.equal(3, #steps)
    local numbers = {}
    for n, step in ipairs(steps) do
      assert.equal(n, step.step)
      numbers[#numbers + 1] = n
    end
    assert.same({ 1, 2, 3 }, numbers)
    for _, n in ipairs { 0, -1, 4, math.maxinteger, math.mininteger, 2.0 ^ 53 } do
      assert.is_nil(steps[n])
    end
    assert.equal(2, steps[2.0].step)
    assert.equal(steps[1], steps[1])
    assert.not_equal(steps[1], steps[2])
    assert.not_equal(steps[1], parse().steps[1])
  end)

  it("names the fields there are when one is misspelt", function()
    local plan = parse()
    local place = "module_spec.lua:%d+: "
    assert.truthy(raised(function() return plan.chainid end)
      :find(place .. 'a call plan has no field "chainid"; there are: .*chain_id'))
    local function misspelt(object, key, wanted)
      local message = raised(function() return object[key] end)
      assert.truthy(message:find(wanted, 1, true), message)
    end
    misspelt(plan, 1, "no field 1;")
    misspelt(plan, true, "of type boolean")
    misspelt(plan, "a\27[31m", [["a\u{1b}[31m"]])
    misspelt(plan, ("x"):rep(1000), "…")
    misspelt(plan.steps[1], "vlaue", 'no field "vlaue"; there are: data, data_bytes, gas, kind')
    misspelt(plan.steps, "n", 'from 1 to 3; there is no step "n"')
    misspelt(plan.steps, 1.5, "there is no step 1.5")
  end)

  it("cannot be changed", function()
    local plan = parse()
    for _, object in ipairs { plan, plan.steps, plan.steps[1] } do
      assert.truthy(raised(function() object.digest = "0x" end)
        :find "module_spec.lua:%d+: .*cannot be changed")
      assert.truthy(raised(function() object[1] = {} end):find "cannot be changed")
      assert.is_false(getmetatable(object))
    end
    plan.required_capabilities[1] = "other"
    plan.failure_policy.rpc_error = nil
    plan.warnings[1] = "none"
    assert.same({ "atomic_batch" }, plan.required_capabilities)
    assert.truthy(plan.failure_policy.rpc_error)
    assert.same({}, plan.warnings)
  end)

  it("turns into text without an address", function()
    local plan = parse()
    for _, object in ipairs { plan, plan.steps, plan.steps[1] } do
      assert.is_nil(tostring(object):find(("%p"):format(object), 1, true))
    end
    assert.equal("call plan " .. plan.digest .. " (3 steps on chain 1)", tostring(plan))
    assert.equal("3 steps", tostring(plan.steps))
    assert.equal("step 1: approval, call to 0x2222222222222222222222222222222222222222",
      tostring(plan.steps[1]))
  end)

  it("gives the document's own text at a pointer", function()
    local plan = parse()
    assert.equal(text, plan:source "")
    assert.equal('"approval"', plan:source "/ordered_steps/0/kind")
    assert.equal('{"n":[1,-0.5e-3,1e400,true,false,null,{}],"\\u006e\\\\":"\\ud83d\\ude00"}',
      plan:source "/extensions")
    assert.is_nil(plan:source "/ordered_steps/3")
    assert.has_error(function() plan:source() end)
  end)

  it("raises the error table where a field holds a number that Lua has not", function()
    local err = raised(function() return parse().extensions end)
    assert.equal("json.number", err.code)
    assert.equal("/extensions/n/2", err.at)
    assert.equal(text:find "1e400" - 1, err.offset)
    local plan = parse((text:gsub("1e400", "1e4")))
    assert.equal(10000.0, plan.extensions.n[3])
    assert.is_false(rawequal(plan.extensions, plan.extensions))
  end)

  it("carries its warnings, with their places", function()
    local warned = plans.of({ plans.step(1) }, ',\n"required_capabilities":["a","a"]')
    local plan = assert(moonplan.call_plan(warned, { enforce_capabilities = false }))
    assert.equal(1, #plan.warnings)
    local warning = plan.warnings[1]
    assert.equal("call.capability_repeated", warning.code)
    assert.equal("/required_capabilities/1", warning.at)
    assert.same({ 2, warned:find('"a"]', 1, true) - 1 }, { warning.line, warning.offset })
    assert.truthy(tostring(warning)
      :find("call.capability_repeated at /required_capabilities/1 (line 2, ", 1, true))
  end)

  it("is refused when it requires what is not implemented", function()
    for _, options in ipairs {
      {}, { implements = {} }, { implements = { "atomic_batc", "atomic_batch2" } },
    } do
      local plan, err = moonplan.call_plan(text, options)
      assert.is_nil(plan)
      assert.equal("call.capability_unknown", err.code)
      assert.equal("/required_capabilities/0", err.at)
    end
    assert.is_nil((moonplan.call_plan(text)))
    assert(moonplan.call_plan(text, { implements = { "x", "atomic_batch" } }))
    assert(moonplan.call_plan(text, { enforce_capabilities = false }))
    assert.truthy(moonplan.digest(text, { implements = {}, enforce_capabilities = true }))
  end)

  it("lives as long as something of it does", function()
    local step = parse(plans.of({ plans.step(1, { data = "0x" .. ("ab"):rep(1000) }) })).steps[1]
    collectgarbage()
    collectgarbage()
    assert.equal("0x" .. ("ab"):rep(1000), step.data)
  end)

  it("ends where its scope ends, when asked", function()
    local kept, steps, step
    do
      local plan <close> = parse()
      kept, steps, step = plan, plan.steps, plan.steps[1]
    end
    for _, f in ipairs {
      function() return kept.digest end, function() return kept.sender end,
      function() return kept.steps end, function() return #steps end,
      function() return steps[1] end, function() return step.to end,
    } do
      assert.truthy(raised(f):find("the call plan is closed", 1, true))
    end
    assert.equal("call plan (closed)", tostring(kept))
  end)

  it("survives a script that gets hold of its metatables", function()
    local plan = parse()
    local steps, step = plan.steps, plan.steps[1]
    local mt = debug.getmetatable(plan)
    local steps_mt, step_mt = debug.getmetatable(steps), debug.getmetatable(step)
    local method = plan.canonical
    for _, wrong in ipairs { 1, "x", {}, io.stdout, step, steps, moonplan.null } do
      for _, event in ipairs { "__gc", "__close", "__index", "__tostring" } do
        assert.has_error(function() mt[event](wrong, "digest") end)
      end
      assert.has_error(function() method(wrong) end)
    end
    for _, wrong in ipairs { 1, {}, plan, io.stdout } do
      assert.has_error(function() steps_mt.__index(wrong, 1) end)
      assert.has_error(function() steps_mt.__len(wrong) end)
      assert.has_error(function() step_mt.__index(wrong, "to") end)
      assert.is_false(step_mt.__eq(wrong, step))
    end
    mt.__gc(plan)
    mt.__gc(plan)
    mt.__close(plan)
    assert.has_error(function() return step.to end)
  end)

  it("tells the collector what it holds", function()
    -- A plan of 4,000 steps holds far more outside Lua than inside; if Lua counted only what it
    -- sees, none of these would be collected.
    local big = plans.many(4000, 0)
    local alive = setmetatable({}, { __mode = "v" })
    for n = 1, 100 do alive[n] = parse(big) end
    local count = 0
    for _ in pairs(alive) do count = count + 1 end
    assert.is_true(count < 60, count .. " of 100 are still there")
  end)

  it("lets a stopped collector be", function()
    local collected
    setmetatable({}, { __gc = function() collected = true end })
    collectgarbage "stop"
    for _ = 1, 20 do parse(plans.many(1000, 0)) end
    local seen = collected
    collectgarbage "restart"
    collectgarbage()
    assert.is_nil(seen)
    assert.is_true(collected)
  end)
end)

describe("an error", function()
  it("has every fault, in the order of the document", function()
    local bad = '{"schema_version":"2",\n"chain_id":"01","x":\n{}}'
    local plan, err = moonplan.call_plan(bad)
    assert.is_nil(plan)
    local seen = {}
    for n, each in ipairs(err.errors) do
      seen[n] = each.code .. " " .. each.at
      assert.is_nil(each.errors)
      if each.line > 1 then
        local start = 1
        for _ = 2, each.line do start = bad:find("\n", start, true) + 1 end
        assert.equal(each.offset, start - 1 + each.column - 1)
      else
        assert.equal(each.offset, each.column - 1)
      end
    end
    for _, wanted in ipairs {
      "call.schema_version /schema_version", "call.quantity /chain_id", "call.unknown_member /x",
      "call.missing_member /sender", "call.missing_member /ordered_steps",
    } do
      assert.truthy(table.concat(seen, "\n"):find(wanted, 1, true), wanted)
    end
    local first = err.errors[1]
    for _, name in ipairs { "code", "at", "line", "column", "offset", "message" } do
      assert.equal(first[name], err[name])
    end
    assert.is_false(rawequal(first, err))
    assert.truthy(encode(err))
  end)

  it("reads as one line", function()
    local foreign = plans.step(2):gsub('"chain_id":"1"', '\n "chain_id":"10"')
    local _, err = moonplan.call_plan(plans.of { plans.step(1), foreign })
    local place = "/ordered_steps/1/transaction/chain_id (line 2, column 13)"
    assert.equal("call.chain_mismatch at " .. place .. ": " .. err.message, tostring(err))
    assert.equal(tostring(err), tostring(err.errors[1]))
    _, err = decode ""
    assert.equal("json.syntax (line 1, column 1): " .. err.message, tostring(err))
    _, err = encode { a = print }
    assert.equal("json.value at /a: " .. err.message, tostring(err))
    assert.is_nil(err.line or err.column or err.offset)
    _, err = encode(print)
    assert.equal("json.value: " .. err.message, tostring(err))
  end)

  it("hides nothing from a terminal", function()
    local _, err = encode { ["a\27[31m\u{202e}"] = print }
    assert.equal("/a\27[31m\u{202e}", err.at)
    assert.equal([[json.value at "/a\u{1b}[31m\u{202e}": ]] .. err.message, tostring(err))
    assert.is_nil(tostring(err):find "%c")
  end)

  it("is a table that anybody may fill or empty", function()
    local _, err = decode ""
    err.code, err.at, err.message, err.line = nil, nil, {}, "x"
    assert.equal("string", type(tostring(err)))
    assert.is_false(getmetatable(err))
  end)
end)

describe("a bad call", function()
  local doors = {
    call_plan = moonplan.call_plan, digest = moonplan.digest, kind = moonplan.kind,
    ["json.decode"] = decode, keccak256 = moonplan.keccak256, quote = moonplan.quote,
  }

  it("is one without a text", function()
    for name, door in pairs(doors) do
      for _, wrong in ipairs { 5, {}, true, print } do
        local message = raised(function()
          local result = door(wrong)
          return result
        end)
        assert.truthy(message:find "module_spec.lua:%d+: bad argument #1", name)
        assert.truthy(message:find("string expected, got " .. type(wrong), 1, true), message)
      end
      assert.has_error(function() door() end)
      assert.has_error(function() door(nil) end)
    end
    assert.has_error(function() encode() end)
  end)

  it("is one with options that do not exist", function()
    for _, case in ipairs {
      { { implement = {} }, 'no option "implement"; there are: implements, hex_case, limits' },
      { { [1] = "x" }, "no option 1;" },
      { { ["a\n"] = 1 }, [[no option "a\u{a}";]] },
      { { limits = { dept = 1 } }, 'no limit "dept"; there are: document_bytes, depth' },
      { { limits = { [1] = 1 } }, "no limit 1;" },
      { { limits = { ["depth\0"] = 1 } }, [[no limit "depth\u{0}"]] },
      { { limits = { depth = 0 } }, "the limit depth can be set from 1 to 1024, not to 0" },
      { { limits = { depth = 1025 } }, "from 1 to 1024, not to 1025" },
      { { limits = { depth = -1 } }, "not to -1" },
      { { limits = { depth = math.mininteger } }, "not to -9223372036854775808" },
      { { limits = { depth = 1.5 } }, "the limit depth must be an integer" },
      { { limits = { depth = "10" } }, "the limit depth must be an integer" },
      { { limits = 5 }, "limits must be a table of name = number, not a number" },
      { { hex_case = "lower" }, 'hex_case must be "reject" or "normalize", not "lower"' },
      { { hex_case = true }, "not a boolean" },
      { { implements = "x" }, "implements must be a list of names, not a string" },
      { { implements = { 1 } }, "implements must be a list of names, not a number" },
      { { implements = { x = true } }, "with positions from 1 on" },
      { { implements = { "a", nil, "c" } }, "implements must be a list" },
      { { enforce_capabilities = 1 }, "enforce_capabilities must be true or false, not a number" },
      { "x", "table expected, got string" },
    } do
      local call_plan, digest = moonplan.call_plan, moonplan.digest
      for _, door in ipairs { call_plan, digest, moonplan.kind, decode, encode } do
        local message = raised(function()
          local result = door("{}", case[1])
          return result
        end)
        assert.truthy(message:find "module_spec.lua:%d+: bad argument #2", message)
        assert.truthy(message:find(case[2], 1, true), message)
      end
    end
    for _, wrong in ipairs { -1, 17, 1.5, "2", true } do
      assert.truthy(raised(encode, {}, { indent = wrong }):find("indent must be 0 to 16", 1, true))
    end
    assert.truthy(raised(decode, "1", { indent = 2 }):find('no option "indent"', 1, true))
    assert.has_error(function() moonplan.quote("x", 15) end)
    assert.has_error(function() moonplan.quote("x", 65537) end)
  end)

  it("reads its options without metamethods", function()
    local trap = setmetatable({}, {
      __index = function() error "asked" end, __pairs = function() error "asked" end,
      __len = function() error "asked" end,
    })
    assert(moonplan.call_plan(plans.tiny(), trap))
    assert(moonplan.call_plan(plans.tiny(), { limits = trap, implements = trap }))
  end)
end)

describe("the module", function()
  it("lists the limits with their bounds, which are the bounds", function()
    local list = moonplan.limits()
    local seen = {}
    for _, limit in ipairs(list) do
      seen[limit.name] = limit.default
      assert.is_true(limit.floor <= limit.default and limit.default <= limit.ceiling)
      assert.truthy(#limit.text > 10)
      assert(pcall(decode, "1", { limits = { [limit.name] = limit.floor } }))
      assert(pcall(decode, "1", { limits = { [limit.name] = limit.ceiling } }))
      for _, outside in ipairs { limit.floor - 1, limit.ceiling + 1 } do
        assert.has_error(function() decode("1", { limits = { [limit.name] = outside } }) end)
      end
    end
    -- the numbers that the README promises
    assert.equal(16777216, seen.document_bytes)
    assert.equal(128, seen.depth)
    assert.equal(4096, seen.steps)
  end)

  it("lists the codes, each once", function()
    local seen = {}
    for _, each in ipairs(moonplan.codes()) do
      assert.is_nil(seen[each.code])
      seen[each.code] = each.text
      assert.truthy(#each.text > 5)
    end
    assert.truthy(seen["call.chain_mismatch"])
    assert.is_nil(seen.ok)
  end)

  it("tells the kinds of documents apart", function()
    assert.equal("call_plan", moonplan.kind(text))
    assert.equal("step_plan", moonplan.kind '{"steps":[]}')
    assert.equal("artifact_reference", moonplan.kind '{"kind":"artifact_reference"}')
    assert.equal("typed_data_signature_request",
      moonplan.kind '{"kind":"typed_data_signature_request"}')
    local none, err = moonplan.kind "{}"
    assert.is_nil(none)
    assert.equal("document.kind", err.code)
    none, err = moonplan.kind "{"
    assert.is_nil(none)
    assert.equal("json.syntax", err.code)
  end)

  it("shows untrusted text so that all of it is seen", function()
    assert.equal([["a\u{0}\u{1b}\"\\\xff\u{202e}é"]], moonplan.quote "a\0\27\"\\\xff\u{202e}é")
    local cut = moonplan.quote(("é"):rep(1000), 40)
    assert.is_true(#cut <= 40)
    assert.truthy(cut:find '…"$')
    assert.truthy(utf8.len(cut))
  end)

  it("sets no global, and is the same however often it is opened", function()
    local before = {}
    for name in pairs(_G) do before[name] = true end
    package.loaded.moonplan = nil
    local again = require "moonplan"
    package.loaded.moonplan = moonplan
    for name in pairs(_G) do assert.is_true(before[name], name) end
    assert.equal(moonplan.null, again.null)
    assert.is_true(again.is_array(moonplan.array {}))
    local plan = parse()
    assert.equal(plan.digest, again.call_plan(text, ALL).digest)
    assert.equal(moonplan.version, again.version)
  end)

  it("is not entered twice by a finalizer", function()
    -- A finalizer that calls the module runs in the middle of a conversion; both come out right.
    local inner = 0
    local function arm()
      setmetatable({}, { __gc = function()
        inner = inner + 1
        assert(#decode "[1,2,[3]]" == 3 and encode { a = { 1 } } == '{"a":[1]}')
        if inner < 50 then arm() end
      end })
    end
    local pause = collectgarbage("setpause", 1)
    local speed = collectgarbage("setstepmul", 1000)
    arm()
    local document = "[" .. ('{"a":["x",{"b":[]}]},'):rep(3000) .. "0]"
    -- How often collections come depends on what else is alive.
    local rounds = 0
    repeat
      rounds = rounds + 1
      assert.equal(document, encode(decode(document)))
    until rounds >= 20 and inner > 3 or rounds == 2000
    collectgarbage("setpause", pause)
    collectgarbage("setstepmul", speed)
    assert.is_true(inner > 3, inner .. " finalizers ran")
  end)
end)
