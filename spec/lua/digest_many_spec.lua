-- Many digests at once: what one after another gives, whatever the texts and threads.
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

-- Plans of many sizes, and among them texts that are none.
local function some_texts(count)
  local texts = {}
  for n = 1, count do
    if n % 7 == 3 then texts[n] = plans.tiny():gsub('"1"', '"2"', 1)
    elseif n % 11 == 5 then texts[n] = ("["):rep(n)
    elseif n % 5 == 0 then texts[n] = plans.full(1500 + 40 * n)
    else texts[n] = plans.many(1 + n % 4, n * 13 % 900) end
  end
  return texts
end

local function one_by_one(texts, options)
  local digests = {}
  for n, text in ipairs(texts) do digests[n] = moonplan.digest(text, options) or false end
  return digests
end

describe("moonplan.digest_many", function()
  it("gives the digest of each text in its place, and false for what is no valid plan", function()
    local texts = some_texts(150)
    local expected = one_by_one(texts)
    assert.is_false(expected[3])
    assert.equal(150, #expected)
    assert.same(expected, moonplan.digest_many(texts))
  end)

  it("gives the same in several threads", function()
    local texts = some_texts(700)
    local expected = one_by_one(texts)
    for _, jobs in ipairs { 1, 2, 3, 16, 256 } do
      assert.same(expected, moonplan.digest_many(texts, { jobs = jobs }))
    end
  end)

  it("takes few texts, or none", function()
    assert.same({}, moonplan.digest_many({}))
    assert.same({}, moonplan.digest_many({}, { jobs = 4 }))
    for count = 1, 9 do
      local texts = some_texts(count)
      assert.same(one_by_one(texts), moonplan.digest_many(texts, { jobs = 2 }))
    end
  end)

  it("goes by the options", function()
    local upper = plans.many(1, 0):gsub("1111", "AbCd", 1):gsub('"from":"0x1111', '"from":"0xabcd', 1)
    local texts = { upper, plans.many(3, 8) }
    assert.same({ false, moonplan.digest(texts[2]) }, moonplan.digest_many(texts))
    local normalize = { hex_case = "normalize" }
    assert.truthy(moonplan.digest(upper, normalize))
    assert.same(one_by_one(texts, normalize), moonplan.digest_many(texts, normalize))
    assert.same({ moonplan.digest(upper, normalize), false },
      moonplan.digest_many(texts, { hex_case = "normalize", limits = { steps = 2 } }))
  end)

  it("never enforces capabilities, as moonplan.digest does not", function()
    local plan = plans.of({ plans.step(1) }, ',"required_capabilities":["atomic_batch"]')
    assert.same({ moonplan.digest(plan), moonplan.digest(plan) },
      moonplan.digest_many({ plan, plan }, { enforce_capabilities = true }))
  end)

  it("raises for a bad call", function()
    local function raised(...)
      local fine, err = pcall(moonplan.digest_many, ...)
      assert.is_false(fine)
      return err
    end
    assert.truthy(raised("text"):find("table expected", 1, true))
    assert.truthy(raised({ "a", 1 }):find("texts[2] must be a string, not a number", 1, true))
    for _, jobs in ipairs { 0, 257, 1.5, "2", true } do
      assert.truthy(raised({}, { jobs = jobs }):find("jobs must be an integer from 1 to 256", 1, true))
    end
    assert.truthy(raised({}, { threads = 2 }):find("threads", 1, true))
  end)
end)
