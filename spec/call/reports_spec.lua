-- What people reported as faults of other software of this kind, and what is right instead. Those
-- that a spec of their subject tries are not here.
local files = require "spec.support.files"
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local abi = moonplan.abi
local ROUTER = "0x" .. ("33"):rep(20)

local function word(hex) return ("0"):rep(64 - #hex) .. hex end

local function has(findings, code)
  for _, finding in ipairs(findings) do
    if finding.code == code then return true end
  end
  return false
end

-- Language models and editors change long texts when they copy them.
describe("a plan that was changed on its way", function()
  local text = files.read(files.root .. "examples/golden.json")
  local plain = assert(moonplan.json.encode(assert(moonplan.json.decode(text))))
  local changes = {
    { "one digit", (text:gsub("0x095ea7b3", "0x095ea7b4", 1)), false },
    { "a space", (text:gsub(":", ": ", 1)), true },
    { "the order of members", plain, true },
    { "a newline at the end", text .. "\n", true },
    { "the ends of lines", (text:gsub("\n", "\r\n")), true },
    { "a byte less", text:gsub("%s+$", ""):sub(1, -2), nil },
  }
  for _, change in ipairs(changes) do
    it("by " .. change[1] .. " has another digest only if it says something else", function()
      assert.not_equal(text, change[2])
      if change[3] == nil then
        assert.is_nil((moonplan.digest(change[2])))
      else
        assert.equal(change[3], moonplan.digest(text) == moonplan.digest(change[2]))
      end
    end)

    it("by " .. change[1] .. " is refused by its reference, before it is read", function()
      local envelope = assert(moonplan.json.decode(assert(moonplan.make_reference(text))))
      envelope.url = "data:application/json," .. change[2]:gsub("[^%w]", function(byte)
        return ("%%%02x"):format(byte:byte())
      end)
      local reference = assert(moonplan.reference(assert(moonplan.json.encode(envelope))))
      local found, err = reference:resolve()
      assert.is_nil(found)
      assert.equal(#text == #change[2] and "artifact.digest" or "artifact.length", err.code)
    end)
  end
end)

-- A value that was decoded wrong encodes back to what it was read from.
describe("a word with bits that its type does not have", function()
  for type, hex in pairs {
    uint8 = word("ff01"), bool = word("2"), bytes4 = "12345678" .. ("0"):rep(55) .. "1",
    address = ("0"):rep(23) .. "1" .. ("22"):rep(20),
  } do
    it("is not canonical for " .. type .. ", and not shown as a value that it cannot have", function()
      local _, err = abi.decode("(" .. type .. ")", "0x" .. hex, { strict = true })
      assert.matches("^abi%.", err.code)
      local values, notes = abi.decode("(" .. type .. ")", "0x" .. hex)
      assert.is_true(values == nil or #notes > 0)
      assert.is_true(values == nil or (values[1] ~= "65281" and values[1] ~= 65281))
    end)
  end
end)

-- Sentinels of uint256, of Permit2's uint160, of uint128, uint112 and uint96 (UNI, COMP), and what
-- is beside them: the rule as moonplan.h states it.
describe("an allowance", function()
  for amount, unlimited in pairs {
    ["115792089237316195423570985008687907853269984665640564039457584007913129639935"] = true, -- 2^256-1
    ["115792089237316195423570985008687907853269984665640564039457584007913129639934"] = true, -- 2^256-2
    ["57896044618658097711785492504343953926634992332820282019728792003956564819968"] = true, -- 2^255
    ["1461501637330902918203684832716283019655932542975"] = true, -- 2^160-1
    ["340282366920938463463374607431768211456"] = true, -- 2^128
    ["340282366920938463463374607431768211455"] = true, -- 2^128-1
    ["340282366920938463463374607431768211454"] = false, -- 2^128-2
    ["5192296858534827628530496329220096"] = false, -- 2^112
    ["5192296858534827628530496329220095"] = true, -- 2^112-1
    ["5192296858534827628530496329220094"] = false, -- 2^112-2
    ["79228162514264337593543950336"] = false, -- 2^96
    ["79228162514264337593543950335"] = true, -- 2^96-1
    ["79228162514264337593543950334"] = false, -- 2^96-2
    ["1000000"] = false,
  } do
    it(("of %s is %sunlimited"):format(amount, unlimited and "" or "not "), function()
      local review = assert(moonplan.review(plans.of { plans.step(1, {
        data = abi.call("approve(address,uint256)", ROUTER, amount) }) }))
      assert.equal(unlimited, has(review.findings, "allowance.unlimited"))
    end)
  end
end)

-- Padding what has an odd number of digits makes another call of it.
describe("calldata that is no 0x and whole bytes in lower case", function()
  for _, data in ipairs { "0", "0x0", "0xabc", "0xAB", "ab", "0x 00", "0xg0", "0x00\\n", "0X00", "" } do
    it(("is refused at its place: %q"):format(data), function()
      local plan, err = moonplan.call_plan(plans.of { plans.step(1, { data = data }) })
      assert.is_nil(plan)
      assert.equal(data == "0xAB" and "call.hex_case" or "call.bytes", err.code)
      assert.equal("/ordered_steps/0/transaction/data", err.at)
    end)
  end
end)
