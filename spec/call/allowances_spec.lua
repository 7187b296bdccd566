-- One allowance through a whole plan: what is granted, lowered, taken back, left. Expected is what
-- the contracts do: ERC-20 (approve sets), OpenZeppelin Contracts 4 (increaseAllowance adds,
-- decreaseAllowance subtracts and reverts below zero), ERC-721 (approve names who may move one item,
-- the zero address nobody), Uniswap's Permit2 (AllowanceTransfer: approve, permit and lockdown set
-- what is kept in that contract) and V3 SelfPermit (the `IfNecessary` forms do nothing where the
-- allowance is as large already), ERC-7579 (a mode's second byte 01: a call that fails stops
-- nothing), Safe (execTransaction goes on after a failure where safeTxGas or gasPrice is not 0).
local calldata = require "spec.support.calldata"
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local words, bytes, byte_list, call =
  calldata.words, calldata.bytes, calldata.byte_list, calldata.call

local SENDER, TOKEN = "0x" .. ("1"):rep(40), "0x" .. ("2"):rep(40)
local SPENDER, OTHER = "0x" .. ("3"):rep(40), "0x" .. ("5"):rep(40)
local PERMIT2 = "0x000000000022d473030f116ddee9f6b43ac78ba3"
local PERMIT2_ZKSYNC = "0x0000000000225e31d15943971f47ad3022f714fa" -- Uniswap's deployments, ZKsync
local LATER = 2000000000
local ATOMIC = ',"required_capabilities":["atomic_batch"]'

local function approve(amount, spender) return call("approve(address,uint256)", spender or SPENDER, amount) end
local function increase(amount) return call("increaseAllowance(address,uint256)", SPENDER, amount) end
local function decrease(amount) return call("decreaseAllowance(address,uint256)", SPENDER, amount) end
local function permit2(amount) return call("approve(address,address,uint160,uint48)", TOKEN, SPENDER, amount, LATER) end
local function lockdown() return call("lockdown((address,address)[])", 32, 1, TOKEN, SPENDER) end
local USE = call("deposit()") -- of WETH9, known, and without a meaning here

-- { data, kind, to }, each of them optional but the first; a step that only uses is USE.
local function review(steps, rest, chain)
  local list = {}
  for i, step in ipairs(steps) do
    list[i] = plans.step(i, { data = "0x" .. step[1], kind = step[2] }):gsub(TOKEN, step[3] or TOKEN, 1)
    -- the first one is the target; the token among the arguments has no 0x
  end
  local text = plans.of(list, rest or ATOMIC)
  if chain then text = text:gsub('chain_id":"1"', 'chain_id":"' .. chain .. '"'):gsub("eip155:1", "eip155:" .. chain) end
  return assert(moonplan.review(text))
end

-- "code@step" of warnings and dangers, sorted.
local function graver(made)
  local list = {}
  for _, finding in ipairs(made.findings) do
    if finding.severity ~= "info" then list[#list + 1] = finding.code .. "@" .. (finding.step or "") end
  end
  table.sort(list)
  return list
end

local function warns(expected, steps, rest, chain)
  table.sort(expected)
  assert.same(expected, graver(review(steps, rest, chain)))
end

local function message(made, code)
  for _, finding in ipairs(made.findings) do
    if finding.code == code then return finding.message end
  end
end

describe("an amount of zero", function()
  it("takes back where the function sets the allowance", function()
    warns({}, { { approve(100), "approval" }, { USE }, { approve(0), "allowance_cleanup" } })
  end)

  it("changes nothing where it is added or subtracted", function()
    for _, nothing in ipairs { increase(0), decrease(0) } do
      warns({ "allowance.left@1", "label.contradicted@3" },
        { { approve(100), "approval" }, { USE }, { nothing, "allowance_cleanup" } })
      warns({ "allowance.nonzero_to_nonzero@3", "label.contradicted@2" },
        { { approve(100), "approval" }, { nothing, "approval" }, { approve(200), "approval" } })
      assert.is_nil(message(review { { nothing } }, "allowance.revoked"))
      -- nor does it stand for the zero that Tether wants first
      local usdt = "0xdac17f958d2ee523a2206206994597c13d831ec7"
      warns({ "allowance.zero_first@2", "label.contradicted@1" },
        { { nothing, "approval", usdt }, { approve(5), "approval", usdt } })
    end
  end)

  it("may be the item of a collection, and that is said", function()
    local said = message(review { { approve(0), "allowance_cleanup" } }, "allowance.revoked")
    assert.truthy(said:find("if that is a collection, this lets " .. SPENDER .. " move its item 0", 1, true), said)
    -- what is known to be a token is none, and neither is what has only a token's function
    local usdt = message(review { { approve(0), nil, "0xdac17f958d2ee523a2206206994597c13d831ec7" } }, "allowance.revoked")
    assert.falsy(usdt:find("collection", 1, true), usdt)
    local permit = call("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", SENDER, SPENDER, 0, LATER, 27, 1, 1)
    assert.falsy(message(review { { permit } }, "allowance.revoked"):find("collection", 1, true))
  end)

  it("for nobody takes an item back, which contradicts no label", function()
    local zero = "0x" .. ("0"):rep(40)
    local made = review { { approve(7, zero), "allowance_cleanup" } }
    assert.same({ "label.unconfirmed@1" }, graver(made))
    assert.truthy(message(made, "allowance.revoked"):find("nobody may move the item 7", 1, true))
    warns({}, { { approve(0, zero), "allowance_cleanup" } })
  end)
end)

describe("an allowance that is added to and subtracted from", function()
  it("is gone when as much is taken as can be left", function()
    local add, use = { increase(100), "approval" }, { USE }
    warns({ "allowance.not_atomic@3" }, { add, use, { decrease(100), "allowance_cleanup" } }, "")
    warns({}, { add, use, { decrease(100), "allowance_cleanup" } })
    warns({}, { { approve(100), "approval" }, add, use, { decrease(200), "allowance_cleanup" } })
    warns({}, { { approve(100), "approval" }, add, { decrease(120) }, { decrease(80), "allowance_cleanup" } })
    warns({}, { add, use, { approve(0), "allowance_cleanup" } })
  end)

  it("is left when less is taken", function()
    local add, use = { increase(100), "approval" }, { USE }
    warns({ "allowance.left@1" }, { add, use, { decrease(99), "allowance_cleanup" } }, "")
    warns({ "allowance.left@2" }, { { approve(1), "approval" }, add, use, { decrease(100), "allowance_cleanup" } })
    -- what is lowered is not zero in between
    warns({ "allowance.nonzero_to_nonzero@3" }, { { approve(100), "approval" }, { decrease(99) }, { approve(5), "approval" } })
    warns({}, { { approve(100), "approval" }, { decrease(100) }, { approve(5), "approval" } })
  end)

  it("may be endless in sum", function()
    local half = "80000000000000000000000000000000" -- 2^127; no supply comes near 2^128
    half = ("0"):rep(64 - #half) .. half
    local made = review { { approve(half), "approval" }, { increase(half), "approval" } }
    assert.same({ "allowance.unlimited@2" }, graver(made))
    warns({}, { { approve(half), "approval" } })
    -- no sum is over 2^256: the token reverts
    local most = ("f"):rep(64)
    warns({ "allowance.unlimited@1" }, { { approve(most), "approval" }, { increase(5), "approval" } })
  end)

  it("says by how much it is lowered", function()
    assert.truthy(message(review { { decrease(99) } }, "allowance.revoked"):find("by 99 units", 1, true))
  end)
end)

describe("an allowance inside Permit2", function()
  local grant = { permit2(100), "approval", PERMIT2 }

  it("is taken back at the contract that keeps it", function()
    for _, back in ipairs { permit2(0), lockdown() } do
      warns({}, { grant, { USE }, { back, "allowance_cleanup", PERMIT2 } })
      warns({ "allowance.not_atomic@3" }, { grant, { USE }, { back, "allowance_cleanup", PERMIT2 } }, "")
    end
  end)

  it("is not taken back anywhere else", function()
    for _, back in ipairs { permit2(0), lockdown() } do
      local made = review { grant, { USE }, { back, "allowance_cleanup", OTHER } }
      assert.same({ "allowance.left@1", "label.unconfirmed@3" }, graver(made))
      assert.truthy(message(made, "allowance.revoked"):find(OTHER .. " (which is not the address of Permit2)", 1, true))
    end
    -- two contracts with Permit2's functions are two
    warns({ "label.unconfirmed@3" }, { { permit2(100), "approval", OTHER }, { USE }, { permit2(0), "allowance_cleanup", OTHER } })
    warns({ "allowance.left@1", "allowance.left@2", "label.unconfirmed@4" }, { grant, { permit2(100), "approval", SPENDER },
      { USE }, { permit2(0), "allowance_cleanup", OTHER } })
  end)

  it("is at an address of its own on ZKsync", function()
    warns({}, { { permit2(5), "approval", PERMIT2_ZKSYNC }, { USE }, { permit2(0), "allowance_cleanup", PERMIT2_ZKSYNC } }, nil, "324")
    warns({ "label.unconfirmed@1" }, { { permit2(0), "allowance_cleanup", PERMIT2 } }, nil, "324")
    warns({ "label.unconfirmed@1" }, { { permit2(0), "allowance_cleanup", PERMIT2_ZKSYNC } })
  end)

  it("is raced like a token's when one is set over another", function()
    local again = { permit2(200), "approval", PERMIT2 }
    local made = review { grant, again }
    assert.same({ "allowance.nonzero_to_nonzero@2" }, graver(made))
    assert.truthy(message(made, "allowance.nonzero_to_nonzero"):find("through Permit2, granted in step 1", 1, true))
    warns({}, { grant, { lockdown(), nil, PERMIT2 }, again })
    warns({ "allowance.left@1" }, { grant, { permit2(200), "approval", OTHER } })
  end)
end)

describe("what another contract is asked to take back", function()
  local V = { 27, 1, 1 }

  it("is not taken back for all that is known: Permit2 by a router", function()
    local function permit(amount)
      local single = words(TOKEN, amount, LATER, 0, SPENDER, LATER, 224) .. bytes(("5"):rep(128) .. "1b")
      return calldata.selector "execute(bytes,bytes[])" .. words(64, 128) .. bytes "0a" .. byte_list(single)
    end
    warns({ "allowance.left@1", "decode.not_calls@3", "label.unconfirmed@3", "signature.spent@3" },
      { { permit2(100), "approval", PERMIT2 }, { USE }, { permit(0), "allowance_cleanup", OTHER } })
    -- while what it grants counts, at Permit2
    warns({ "decode.not_calls@1", "signature.spent@1" },
      { { permit(5), "approval", OTHER }, { USE }, { permit2(0), "allowance_cleanup", PERMIT2 } })
  end)

  it("is not taken back for all that is known: a token's permit by itself", function()
    for _, name in ipairs { "selfPermit", "selfPermitIfNecessary" } do
      local back = call(name .. "(address,uint256,uint256,uint8,bytes32,bytes32)", TOKEN, 0, LATER, table.unpack(V))
      local made = review { { approve(100, OTHER), "approval" }, { USE }, { back, "allowance_cleanup", OTHER } }
      local expected = { "allowance.left@1", name == "selfPermit" and "label.unconfirmed@3" or "label.contradicted@3", "signature.spent@3" }
      assert.same(expected, graver(made))
      local said = message(made, "allowance.revoked")
      assert.equal(name == "selfPermit", said ~= nil and said:find("if the contract that is called passes that on", 1, true) ~= nil)
    end
  end)
end)

it("takes nothing back as code of the account's own", function()
  -- a delegate call of ERC-7579: the token's code, with the account's storage
  local function delegate(data)
    return call("execute(bytes32,bytes)", "ff" .. ("0"):rep(62), 64) .. bytes(TOKEN:sub(3) .. data)
  end
  local made = review { { approve(100), "approval" }, { USE }, { delegate(approve(0)), "allowance_cleanup", SENDER } }
  assert.same({ "allowance.left@1", "label.unconfirmed@3", "target.delegate@3", "target.sender@3" }, graver(made))
  assert.truthy(message(made, "allowance.revoked"):find("which no token looks at", 1, true))
  warns({ "label.contradicted@1", "target.delegate@1", "target.sender@1" },
    { { delegate(approve(5)), "allowance_cleanup", SENDER } })
end)

describe("what may fail while the step goes on", function()
  local function batch(mode, data)
    return call("execute(bytes32,bytes)", mode .. ("0"):rep(60), 64)
      .. bytes(words(32, 1, 32, TOKEN, 0, 96) .. bytes(data))
  end

  it("takes nothing back for certain: ERC-7579", function()
    local grant = { approve(100), "approval" }
    warns({ "target.sender@3" }, { grant, { USE }, { batch("0100", approve(0)), "allowance_cleanup", SENDER } })
    local made = review { grant, { USE }, { batch("0101", approve(0)), "allowance_cleanup", SENDER } }
    assert.same({ "allowance.left@1", "label.unconfirmed@3", "target.sender@3" }, graver(made))
    assert.truthy(message(made, "allowance.revoked"):find("unless that fails", 1, true))
    -- and grants all the same
    warns({ "allowance.left@1", "target.sender@1" }, { { batch("0101", approve(5)), "approval", SENDER }, { USE } })
  end)

  it("takes nothing back for certain: a Safe", function()
    local function execute(data, gas, price)
      return call("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
        TOKEN, 0, 320, 0, gas, 0, price, SENDER, SENDER, 320 + #bytes(data) // 2) .. bytes(data) .. bytes ""
    end
    local grant = { execute(approve(100), 0, 0), "approval", OTHER }
    warns({}, { grant, { USE }, { execute(approve(0), 0, 0), "allowance_cleanup", OTHER } })
    for _, gas in ipairs { { 1, 0 }, { 0, 1 } } do
      warns({ "allowance.left@1", "label.unconfirmed@3" },
        { grant, { USE }, { execute(approve(0), table.unpack(gas)), "allowance_cleanup", OTHER } })
    end
  end)

  it("takes nothing back for certain: Multicall3, by delegate call", function()
    -- aggregate3, as the code of the account (ERC-7579, single delegate call)
    local function aggregate(allow)
      local inner = call("aggregate3((address,bool,bytes)[])", 32, 1, 32, TOKEN, allow, 96) .. bytes(approve(0))
      return call("execute(bytes32,bytes)", "ff" .. ("0"):rep(62), 64) .. bytes(OTHER:sub(3) .. inner)
    end
    local function try(all)
      local inner = call("tryAggregate(bool,(address,bytes)[])", all, 64, 1, 32, TOKEN, 64) .. bytes(approve(0))
      return call("execute(bytes32,bytes)", "ff" .. ("0"):rep(62), 64) .. bytes(OTHER:sub(3) .. inner)
    end
    local always = { "target.delegate@2", "target.sender@2" }
    local never = { "allowance.left@1", "label.unconfirmed@2", table.unpack(always) }
    for expected, list in pairs { [always] = { aggregate(0), try(1) }, [never] = { aggregate(1), try(0) } } do
      for _, data in ipairs(list) do warns(expected, { { approve(5), "approval" }, { data, "allowance_cleanup", SENDER } }) end
    end
  end)
end)
