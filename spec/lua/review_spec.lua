-- moonplan.review: what a person is told about a call plan.
local moonplan = require "moonplan"
local plans = require "spec.support.plans"
local reviews = require "spec.support.reviews"

local call = moonplan.abi.call
local SPENDER, MOST = reviews.SPENDER, reviews.MOST

-- The findings of a review as "code step" words, of one code or all.
local function codes(review, code)
  local list = {}
  for _, finding in ipairs(review.findings) do
    if not code or finding.code == code then
      list[#list + 1] = code and (finding.step or 0) or finding.code
    end
  end
  return list
end

local function review_of(steps, options) return assert(moonplan.review(plans.of(steps), options)) end
local function approve(n, amount, change)
  local step = change or {}
  step.kind, step.data = step.kind or "approval", call("approve(address,uint256)", SPENDER, amount)
  return plans.step(n, step)
end

describe("moonplan.review", function()
  it("is the same of a plan, of its text, and as its method", function()
    local text = reviews.rich()
    local plan = assert(moonplan.call_plan(text))
    local review = assert(moonplan.review(plan))
    assert.equal(plan.digest, review.digest)
    assert.same(review, moonplan.review(text))
    assert.same(review, plan:review())
  end)

  it("says what is wrong with a text, and raises for anything else", function()
    local review, err = moonplan.review((plans.tiny():gsub('"1"', '"2"', 1)))
    assert.is_nil(review)
    assert.equal("call.schema_version", err.code)
    assert.equal(1, err.line)
    for _, wrong in ipairs { 1, true, {}, moonplan } do assert.error(function() return moonplan.review(wrong) end) end
    assert.error(function() return moonplan.review() end)
    do
      local plan <close> = assert(moonplan.call_plan(plans.tiny()))
      err = plan
    end
    assert.error_matches(function() return moonplan.review(err) end, "closed")
  end)

  it("shows required capabilities, and enforces none", function()
    local review = assert(moonplan.review(plans.of({ plans.step(1) }, ',"required_capabilities":["x/y"]')))
    assert.same({ "x/y" }, review.required_capabilities)
  end)

  it("computes the digest that it shows, of the plan that it was given", function()
    local one, other = plans.of { plans.step(1) }, plans.of { plans.step(1, { value = "1" }) }
    assert.equal(moonplan.digest(one), moonplan.review(one).digest)
    assert.not_equal(moonplan.digest(one), moonplan.review(other).digest)
    -- What is not in the digest changes the review, and is listed.
    local hinted = moonplan.review(plans.of { plans.step(1, { gas = "1" }) })
    assert.equal(moonplan.digest(one), hinted.digest)
    assert.same({ "caip2_chain_id", "gas" }, hinted.outside_digest)
  end)

  it("has a list of its codes, with severities", function()
    local known = {}
    for _, info in ipairs(moonplan.findings()) do
      known[info.code] = info.severity
      assert.matches("^%l[%l%d]*%.[%l%d_]+$", info.code)
      assert.matches("%S", info.text)
    end
    for _, finding in ipairs(moonplan.review(reviews.rich()).findings) do
      assert.equal(known[finding.code], finding.severity)
    end
  end)

  it("puts the gravest first, and counts them", function()
    local gravity, last = { danger = 3, warning = 2, info = 1 }, 3
    local review = moonplan.review(reviews.rich())
    local counts = { danger = 0, warning = 0, info = 0 }
    for _, finding in ipairs(review.findings) do
      assert(gravity[finding.severity] <= last)
      last = gravity[finding.severity]
      counts[finding.severity] = counts[finding.severity] + 1
    end
    assert.same(counts, review.counts)
    assert(counts.danger > 0 and counts.warning > 0 and counts.info > 0)
  end)

  it("looks into calls inside calls", function()
    local review = moonplan.review(reviews.rich())
    local batch = review.steps[2].call
    assert.equal("aggregate3Value", batch.name)
    assert.equal("1", batch.calls[1].value_ether)
    local inner = batch.calls[1].calls[1]
    assert.equal("2.1.1", inner.id)
    assert.equal("approve", inner.name)
    assert.equal(SPENDER, inner.to)
    assert.equal("not_decoded", batch.calls[1].calls[2].kind)
    assert.equal("value", batch.calls[2].kind)
  end)
end)

describe("a review's findings", function()
  -- All of these are far beyond any supply, and are what people and wallets write for "unlimited".
  for bits, unlimited in pairs { [256] = true, [255] = true, [160] = true, [128] = true, [96] = true } do
    it("call 2^" .. bits .. "-1 unlimited", function()
      local data = call("approve(address,uint256)", SPENDER, 0)
      local most = data:sub(1, -65) .. ("0"):rep((256 - bits) // 4)
      most = most .. (bits == 255 and "7" .. ("f"):rep(63) or ("f"):rep(bits // 4))
      local review = review_of { plans.step(1, { kind = "approval", data = most }) }
      assert.equal(unlimited, #codes(review, "allowance.unlimited") == 1)
    end)
  end

  it("do not call a million unlimited", function()
    assert.same({}, codes(review_of { approve(1, 1000000) }, "allowance.unlimited"))
  end)

  it("know a token that wants zero first by chain and address", function()
    local USDT = "0xdac17f958d2ee523a2206206994597c13d831ec7"
    local function with(steps) return (plans.of(steps):gsub('"to":"0x2+"', '"to":"' .. USDT .. '"')) end
    local code = "allowance.zero_first"
    assert.same({ 1 }, codes(moonplan.review(with { approve(1, 5000000) }), code))
    assert.same({}, codes(moonplan.review(with { approve(1, 0), approve(2, 5000000) }), code))
    local revoked = moonplan.review(with { approve(1, 0) })
    assert.same({}, codes(revoked, code))
    assert.same({ 1 }, codes(revoked, "allowance.revoked"))
    -- another chain, another token
    assert.same({}, codes(moonplan.review((with { approve(1, 5000000) }:gsub('chain_id":"1"', 'chain_id":"10"')
      :gsub("eip155:1", "eip155:10"))), code))
  end)

  -- The same wherever the plan comes from.
  local ZERO = "0x" .. ("0"):rep(40)
  for name, case in pairs {
    ["the zero address"] = { to = ZERO, value = "1", code = "target.zero_address" },
    ["the sender"] = { to = reviews.OWNER, code = "target.sender" },
    ["a precompile"] = { to = "0x" .. ("0"):rep(39) .. "4", code = "target.precompile" },
    ["a transfer to the zero address"] = { data = call("transfer(address,uint256)", ZERO, 1), code = "target.zero_address" },
  } do
    it("see " .. name .. ", by every door", function()
      local text = plans.of { plans.step(1, { data = case.data, value = case.value }) }
      if case.to then text = text:gsub('"to":"0x2+"', '"to":"' .. case.to .. '"') end
      local expected = assert(moonplan.review(text))
      assert.same({ 1 }, codes(expected, case.code))
      local imported = assert(moonplan.convert.from_send_calls(assert(moonplan.convert.to_send_calls(text))))
      assert.same(expected.findings, imported:review().findings)
      local resolved = assert(moonplan.reference(assert(moonplan.make_reference(text)))):resolve()
      assert.same(expected.findings, resolved.plan:review().findings)
    end)
  end

  it("tell a cleanup that grants from one that cleans up", function()
    assert.same({ 1 }, codes(review_of { approve(1, 5, { kind = "allowance_cleanup" }) }, "label.contradicted"))
    assert.same({}, codes(review_of { approve(1, 0, { kind = "allowance_cleanup" }) }, "label.contradicted"))
  end)

  it("see characters that do not show, in the producer's words and in arguments", function()
    local review = moonplan.review(reviews.rich(), { abis = { moonplan.abi.parse(reviews.NOTE) } })
    assert.same({ 3, 0 }, codes(review, "text.hidden"))
    for _, finding in ipairs(review.findings) do
      assert.not_matches("[%c]", finding.message)
      assert.is_nil(finding.message:find("\u{202e}", 1, true))
    end
  end)

  it("say what the producer advises as quoted, and that the digest does not cover it", function()
    local found
    for _, finding in ipairs(moonplan.review(reviews.rich()).findings) do
      if finding.code == "advice.present" then found = finding end
    end
    assert.matches("in its own words, not covered by the digest", found.message, 1, true)
    assert.matches('"</code>', found.message, 1, true)
  end)

  it("of a plan do not go away for an ABI that calls approve something else", function()
    local review = review_of({ approve(1, MOST) }, { abis = { moonplan.abi.parse "approve(address harmless,uint256 nothing)" } })
    assert.same({ 1 }, codes(review, "allowance.unlimited"))
    assert.equal("harmless", review.steps[1].call.arguments[1].name)
  end)

  it("know the two clocks of Permit2", function()
    local NOW = 1000000
    local function long_lived(expiration, now)
      local review = review_of({ plans.step(1, { kind = "approval", data = call(
        "approve(address,address,uint160,uint48)", "0x" .. ("2"):rep(40), SPENDER, "5", expiration) }) }, { now = now })
      assert.same({ 1 }, codes(review, "permit2.allowance"))
      return #codes(review, "permit2.long_lived") == 1
    end
    assert.is_true(long_lived(281474976710655)) -- 2^48 - 1, whatever the time
    assert.is_true(long_lived(NOW + 365 * 86400, NOW))
    assert.is_false(long_lived(NOW + 600, NOW))
  end)
end)

describe("a review of hostile calldata", function()
  it("ends in time and loses nothing", function()
    -- Six levels of multicall, each of 128 calls that all lead to one: 128^6 calls.
    local function word(n) return ("%064x"):format(n) end
    local data = "12345678"
    for _ = 1, 6 do
      local size = #data // 2
      local padded = data .. ("00"):rep(-size % 32)
      data = moonplan.abi.selector("multicall(bytes[])"):sub(3) .. word(32) .. word(128) .. word(128 * 32):rep(128)
        .. word(size) .. padded
    end
    local before = os.clock()
    local review = review_of { plans.step(1, { data = "0x" .. data }), approve(2, MOST) }
    assert(os.clock() - before < 1)
    assert(#codes(review, "decode.budget") > 0)
    assert.same({ 2 }, codes(review, "allowance.unlimited"))
  end)

  it("says what it could not decode, and why, with the bytes", function()
    local review = review_of { plans.step(1, { data = "0x12345678aa" }), plans.step(2, { data = "0x1234" }) }
    assert.equal("0x12345678aa", review.steps[1].call.data)
    assert.equal("nobody described this function", review.steps[1].call.reason)
    assert.equal("0x1234", review.steps[2].call.data)
    assert.same({ 1 }, codes(review, "decode.unknown_selector"))
    assert.same({ 2 }, codes(review, "decode.no_selector"))
  end)
end)
