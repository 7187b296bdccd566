-- moonplan.convert: call plans as batches of other standards, and back. The cases of
-- spec/data/send-calls.json are this project's own, after EIP-5792.
local moonplan = require "moonplan"
local files = require "spec.support.files"
local plans = require "spec.support.plans"
local reviews = require "spec.support.reviews"

local convert, json = moonplan.convert, moonplan.json
local cases = assert(json.decode(files.read(files.root .. "spec/data/send-calls.json"))).cases

-- A batch with its calls built by repetition, where the case says so.
local function batch_of(case)
  return (case.sendcalls:gsub('"REPEAT (.-) (%d+) TIMES"', function(item, times)
    item = item:gsub('\\"', '"')
    return "[" .. (item .. ","):rep(tonumber(times) - 1) .. item .. "]"
  end))
end

local function lost_codes(lost)
  local list = {}
  for n, fault in ipairs(lost) do list[n] = fault.code .. " " .. fault.at end
  return list
end

describe("the case", function()
  assert(#cases > 10)
  for _, case in ipairs(cases) do
    it(case.id .. ": " .. (case.note or case.direction), function()
      local expect = case.expect
      if case.direction == "plan_to_sendcalls" then
        local plan = assert(moonplan.call_plan(case.plan, { enforce_capabilities = false }))
        assert.equal(expect.plan_digest, plan.digest)
        local batch, lost = convert.to_send_calls(plan)
        assert.equal(expect.accept, batch ~= nil, tostring(lost))
        assert.same(json.decode(expect.sendcalls), json.decode(batch))
        assert.equal(batch, (convert.to_send_calls(case.plan)))
      else
        local plan, lost = convert.from_send_calls(batch_of(case), { account = case.options.selected_account })
        assert.equal(expect.accept, plan ~= nil, tostring(lost))
        if not plan then return end
        assert.same(json.decode(expect.plan), json.decode(plan:source ""))
        if expect.plan_digest then assert.equal(expect.plan_digest, plan.digest) end
      end
    end)
  end
end)

describe("moonplan.convert", function()
  it("writes quantities as nodes want them", function()
    -- EIP-1474: no zero before other digits, lower case
    for wei, quantity in pairs {
      ["0"] = "0x0", ["1"] = "0x1", ["15"] = "0xf", ["16"] = "0x10", ["1000000000000000000"] = "0xde0b6b3a7640000",
      [reviews.MOST] = "0x" .. ("f"):rep(64),
    } do
      local batch = json.decode((convert.to_send_calls(plans.of { plans.step(1, { value = wei }) })))
      assert.equal(quantity, batch.calls[1].value)
    end
    local ten = plans.tiny():gsub('chain_id":"1"', 'chain_id":"10"'):gsub("eip155:1", "eip155:10")
    local batch = json.decode((convert.to_send_calls(ten)))
    assert.equal("0xa", batch.chainId)
    -- once for all calls, and not in them
    assert.same({ to = true, data = true, value = true }, (function()
      local names = {}
      for name in pairs(batch.calls[1]) do names[name] = true end
      return names
    end)())
  end)

  it("keeps the digest there and back, if every step is an execution", function()
    local text = plans.of({ plans.step(1, { data = "0x12345678" }), plans.step(2, { value = "25595000000000020002" }) },
      ',"required_capabilities":["atomic_batch"]')
    local digest = moonplan.digest(text)
    for _, ways in ipairs {
      { convert.to_send_calls, convert.from_send_calls, {} },
      { convert.to_safe, convert.from_safe, { "convert.lost /meta/name" } }, -- which names the digest
    } do
      local batch, lost = ways[1](text)
      assert.same({}, lost)
      local plan
      plan, lost = ways[2](batch)
      assert.same(ways[3], lost_codes(lost))
      assert.equal(digest, plan.digest)
      assert.same({ "atomic_batch" }, plan.required_capabilities)
    end
  end)

  -- A Safe carries out a batch of several as one, by MultiSend, which reverts them all, and a batch
  -- has no member for it. What is required is not in the digest, which does not tell.
  it("says where a Safe changes what is required", function()
    local ATOMIC = ',"required_capabilities":["atomic_batch"]'
    local one, two = { plans.step(1) }, { plans.step(1), plans.step(2) }
    for _, case in ipairs {
      { one, nil, {} }, { one, ATOMIC, { "convert.lost /required_capabilities" } },
      { two, nil, { "convert.lost /ordered_steps" } }, { two, ATOMIC, {} },
    } do
      local text = plans.of(case[1], case[2])
      local batch, lost = convert.to_safe(text)
      assert.same(case[3], lost_codes(lost))
      local kept = #lost == 0
      assert.equal(kept, #convert.from_safe(batch).required_capabilities == (case[2] and 1 or 0))
      -- EIP-5792 has a member for it
      batch, lost = convert.to_send_calls(text)
      assert.same({}, lost)
      assert.equal(case[2] and 1 or 0, #convert.from_send_calls(batch).required_capabilities)
    end
    local _, lost = convert.to_safe(plans.of(two))
    assert.truthy(lost[1].message:find("the 2 steps may be carried out one by one", 1, true))
  end)

  -- CAIP-2: reference = [-_a-zA-Z0-9]{1,32}; ERC-8410 wants eip155: and the number
  it("makes no plan for a chain that CAIP-2 cannot name", function()
    local nines, ten = ("9"):rep(32), "1" .. ("0"):rep(32) -- of 32 digits the greatest, of 33 the least
    local hex = { [nines] = "0x4ee2d6d415b85acef80ffffffff", [ten] = "0x4ee2d6d415b85acef8100000000" }
    local SENDER = "0x" .. ("1"):rep(40)
    local function send_calls(chain)
      return ('{"version":"2.0.0","from":"%s","chainId":"%s","atomicRequired":false,"calls":[{"to":"%s"}]}'):format(
        SENDER, hex[chain], SENDER)
    end
    local function safe(chain)
      return ('{"version":"1.0","chainId":"%s","meta":{"createdFromSafeAddress":"%s"},'
        .. '"transactions":[{"to":"%s","value":"0"}]}'):format(chain, SENDER, SENDER)
    end
    for _, way in ipairs { { convert.from_send_calls, send_calls }, { convert.from_safe, safe } } do
      assert.equal("eip155:" .. nines, assert(way[1](way[2](nines))).caip2_chain_id)
      local plan, err = way[1](way[2](ten))
      assert.is_nil(plan)
      assert.same({ "convert.unsupported", "/chainId" }, { err.code, err.at })
      assert.truthy(err.message:find("33 digits", 1, true), err.message)
    end
    -- a plan that has one is read all the same, and its batch made
    local text = plans.tiny():gsub('chain_id":"1"', 'chain_id":"' .. ten .. '"'):gsub("eip155:1", "eip155:" .. ten)
    assert.equal(hex[ten], json.decode((convert.to_send_calls(text))).chainId)
  end)

  it("says what is left behind, and where", function()
    local _, lost = convert.to_send_calls(plans.full(2000))
    assert.same({
      "convert.lost /ordered_steps/0/kind", "convert.lost /ordered_steps/1/transaction/gas",
      "convert.lost /ordered_steps/1/revert_decode", "convert.lost /simulation_failure_policy", "convert.lost /extensions",
    }, lost_codes(lost))
    assert.equal(1, lost[1].line)
    assert.is_true(lost[4].line > 1)
  end)

  it("takes the conforming requests alone", function()
    local SENDER = "0x" .. ("1"):rep(40)
    local function request(change)
      local members = {
        version = '"2.0.0"', from = '"' .. SENDER .. '"', chainId = '"0x1"', atomicRequired = "false",
        calls = '[{"to":"' .. SENDER .. '"}]',
      }
      for name, value in pairs(change) do members[name] = value end
      local parts = {}
      for name, value in pairs(members) do if value then parts[#parts + 1] = ('"%s":%s'):format(name, value) end end
      return "{" .. table.concat(parts, ",") .. "}"
    end
    assert(convert.from_send_calls(request {}))
    for _, case in ipairs {
      { { version = '"1.0"' }, "version" }, { { atomicRequired = false }, "atomicRequired" },
      { { atomicRequired = '"true"' }, "atomicRequired" }, { { chainId = "1" }, "chainId" },
      { { chainId = '"1"' }, "chainId" }, { { chainId = '"0x01"' }, "chainId" },
    } do
      local plan, err = convert.from_send_calls(request(case[1]))
      assert.is_nil(plan)
      assert(err.at == "/" .. case[2] or err.message:find(case[2], 1, true), tostring(err))
    end
    local nameless = request { from = false }
    local plan, err = convert.from_send_calls(nameless)
    assert.is_nil(plan)
    assert.equal("convert.sender", err.code)
    assert.equal(SENDER, convert.from_send_calls(nameless, { account = SENDER }).sender)
    plan, err = convert.from_send_calls(request {}, { account = "0x" .. ("2"):rep(40) })
    assert.is_nil(plan)
    assert.equal("convert.sender", err.code)
  end)

  it("names the limit that a plan is over", function()
    assert(convert.to_send_calls(plans.many(4096, 0)))
    local SENDER = "0x" .. ("1"):rep(40)
    local plan, err = convert.from_send_calls(('{"version":"2.0.0","from":"%s","chainId":"0x1","atomicRequired":true,'
      .. '"calls":[%s]}'):format(SENDER, ('{"to":"' .. SENDER .. '"},'):rep(4097):sub(1, -2)))
    assert.is_nil(plan)
    assert.equal("limit", err.code)
    assert.matches("4096", err.message)
  end)

  it("makes the same Safe batch of the same plan, made at the time that it is told", function()
    local text = plans.tiny()
    assert.equal((convert.to_safe(text)), (convert.to_safe(text)))
    local batch = json.decode((convert.to_safe(text, { created = 1700000000000 })))
    assert.equal(1700000000000, batch.createdAt)
    assert.equal("1", batch.chainId)
    assert.equal("1.0", batch.version)
  end)

  it("notices that somebody changed a Safe batch", function()
    local batch = convert.to_safe(plans.of { plans.step(1, { value = "1" }) })
    local plan, lost = convert.from_safe((batch:gsub('"value":"1"', '"value":"2"')))
    assert.equal("2", plan.steps[1].value)
    assert.equal("convert.checksum", lost[1].code)
  end)

  it("gives a plan like any other", function()
    local plan = assert(convert.from_send_calls(assert(convert.to_send_calls(plans.of({
      plans.step(1) }, ',"required_capabilities":["atomic_batch"]')))))
    assert.equal(plan.digest, moonplan.digest(plan:source ""))
    assert.same({}, plan.warnings)
    assert.equal("0", plan.steps[1].value)
    collectgarbage()
    assert.equal(1, #plan.steps)
  end)

  it("raises for options that are wrong", function()
    for _, options in ipairs { { account = 1 }, { created = -1 }, { created = "1" }, { sender = "0x" }, { limits = 1 } } do
      assert.error(function() return convert.from_send_calls("{}", options) end)
    end
    assert.error(function() return convert.to_safe(1) end)
    local plan, err = convert.from_send_calls("{}", { account = "0x11" })
    assert.is_nil(plan)
    assert.equal("string", type(err.code))
  end)
end)
