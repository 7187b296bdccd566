-- Helpers for who writes calls: addresses, amounts, 256-bit integers, JSON ABI entries. What they
-- take of amounts and addresses, beyond this, is asserted in builder_spec.
local moonplan = require "moonplan"

local u = moonplan.uint256
local MOST = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

describe("moonplan.uint256", function()
  -- Worked out with Python's integers.
  it("is exact to 256 bits", function()
    assert.equal(MOST, u.add("115792089237316195423570985008687907853269984665640564039457584007913129639934", 1))
    assert.equal("115792089237316195423570985008687907852589419931798687112530834793049593217025",
      u.mul("340282366920938463463374607431768211455", "340282366920938463463374607431768211455"))
    assert.equal("11579208923731619542357098500868790785326998466564056403945758400791312963", u.div(MOST, 10000))
    assert.equal("0", u.sub(MOST, MOST))
    assert.equal("9223372036854775808", u.add(math.maxinteger, 1))
    -- Half a per cent of 2500 tokens.
    assert.equal("2487500000", u.div(u.mul("2500000000", 9950), 10000))
  end)

  it("compares", function()
    assert.same({ -1, 0, 1 }, { u.compare(1, "2"), u.compare("10", 10), u.compare(MOST, 5) })
  end)

  it("raises what leaves the range, and what is no number, on the caller's line", function()
    for f, words in pairs {
      [function() return u.add(MOST, 1) end] = "the sum is 2%^256 or more",
      [function() return u.mul(MOST, 2) end] = "the product is 2%^256 or more",
      [function() return u.sub(1, 2) end] = "the difference is below zero",
      [function() return u.div(1, 0) end] = "a division by zero",
      [function() return u.add(-1, 2) end] = '"%-1" is no integer',
      [function() return u.add("1.5", 2) end] = '"1.5" is no integer',
      [function() return u.add("01", 2) end] = '"01" is no integer',
      [function() return u.add(1.5, 2) end] = "string expected",
      [function() return u.add({}, 2) end] = "string expected",
      [function() return u.compare(("9"):rep(1000000), 2) end] = "is no integer",
    } do
      local ok, message = pcall(f)
      assert.is_false(ok)
      assert.matches("units_spec.lua:%d+: .*" .. words, message)
    end
  end)
end)

describe("moonplan.amount and moonplan.units", function()
  it("go there and back", function()
    assert.equal("1500000000000000000", moonplan.amount "1.5 ether")
    assert.equal("2500000", moonplan.amount("2.5 tokens", 6))
    assert.equal("7", moonplan.amount(7))
    assert.equal("1.5", moonplan.units("1500000000000000000", 18))
    assert.equal("0.000001", moonplan.units(1, 6))
    for _, amount in ipairs { "0", "1", "10", "123456789", MOST } do
      assert.equal(amount, moonplan.amount(moonplan.units(amount, 18) .. " ether"))
    end
  end)

  it("say why, and raise what only a mistake can be", function()
    local none, reason = moonplan.amount "1.5"
    assert.is_nil(none)
    assert.matches('^"1.5" has a fraction and no unit', reason)
    assert.has_error(function() moonplan.amount("1", 78) end)
    assert.has_error(function() moonplan.units("x", 18) end)
    assert.has_error(function() moonplan.amount(1.5) end)
  end)
end)

describe("moonplan.address", function()
  it("lowers, and judges a checksum (ERC-55)", function()
    assert.equal("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", moonplan.address "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
    local none, reason = moonplan.address "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    assert.is_nil(none)
    assert.matches("wrong checksum", reason)
    none, reason = moonplan.address "0x12"
    assert.is_nil(none)
    assert.matches('^"0x12" is no address', reason)
  end)
end)

describe("moonplan.abi.json", function()
  it("writes signatures as the entries of a JSON ABI", function()
    local entries = assert(moonplan.abi.json [[
error Expired(uint256 deadline, (address who, bytes[2] parts)[] list)
function f() returns (bool ok)]])
    assert.same({
      { type = "error", name = "Expired", inputs = {
        { name = "deadline", type = "uint256" },
        { name = "list", type = "tuple[]", components = {
          { name = "who", type = "address" }, { name = "parts", type = "bytes[2]" } } } } },
      { type = "function", name = "f", inputs = {}, outputs = { { name = "ok", type = "bool" } } },
    }, entries)
  end)

  it("is read back as the same", function()
    for _, signature in ipairs { "error E()", "error E((uint8,(bool,string)[3][])[],address)", "f(uint256,(bytes,int8))",
      "function g(function[]) returns ((bool a, bytes32 b)[2])" } do
      local entries = assert(moonplan.abi.json(signature))
      local one, two = assert(moonplan.abi.parse(signature)), assert(moonplan.abi.parse(moonplan.json.encode(entries)))
      assert.equal(one.entries[1].signature, two.entries[1].signature)
      assert.equal(one.entries[1].selector, two.entries[1].selector)
      assert.same(one.entries[1].outputs, two.entries[1].outputs)
    end
  end)

  it("refuses types alone, and what is no signature", function()
    local none, err = moonplan.abi.json "(uint256,bool)"
    assert.is_nil(none)
    assert.equal("abi.type", err.code)
    none, err = moonplan.abi.json "error E(uint7)"
    assert.is_nil(none)
    assert.equal("abi.type", err.code)
  end)
end)
