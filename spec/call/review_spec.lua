-- What a review knows of functions, and sees through: whole kinds, with calldata put together from
-- words by hand and selectors by a keccak of the spec's own. The functions are those of ERC-20,
-- ERC-1363, ERC-2612, ERC-3009, ERC-4494, ERC-5805, ERC-7579 and ERC-7821, Circle's FiatToken 2.2,
-- Uniswap's V2 router, V3 ISelfPermit and IERC721Permit, V4 ERC721Permit_v4, Permit2 and Universal
-- Router (its table of commands), and Safe.
local calldata = require "spec.support.calldata"
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local SENDER, TOKEN = "0x" .. ("1"):rep(40), "0x" .. ("2"):rep(40)
local SPENDER, OTHER = "0x" .. ("3"):rep(40), "0x" .. ("4"):rep(40)
local PERMIT2 = "0x000000000022d473030f116ddee9f6b43ac78ba3"
local MAX = ("f"):rep(64)
local LATER = 4000000000 -- 2096-10-02 07:06:40 UTC

local selector, word, words = calldata.selector, calldata.word, calldata.words
local bytes, byte_list, call = calldata.bytes, calldata.byte_list, calldata.call

local APPROVE = call("approve(address,uint256)", SPENDER, MAX)

local function review(data, options, target, kind)
  local text = plans.of { plans.step(1, { data = "0x" .. data, kind = kind }) }
  if target then text = text:gsub(TOKEN, target) end
  return assert(moonplan.review(text, options))
end

-- "code" or "code@call" of all findings but those on the label, sorted.
local function found(made)
  local list = {}
  for _, finding in ipairs(made.findings) do
    if not finding.code:find("^label%.") then
      list[#list + 1] = finding.code .. (finding.call and "@" .. finding.call or "")
    end
  end
  table.sort(list)
  return list
end

local function finds(expected, data, options, target)
  table.sort(expected)
  assert.same(expected, found(review(data, options, target)))
end

local function message(made, code)
  for _, finding in ipairs(made.findings) do
    if finding.code == code then return finding.message end
  end
end

local function abi(text) return { abis = { assert(moonplan.abi.parse(text)) } } end

describe("bytes in an argument", function()
  local GO = "forward(address,bytes)"
  local function forward(digits) return call(GO, OTHER, 64) .. bytes(digits) end

  it("are looked into whatever their length is", function()
    finds({ "allowance.unlimited@1.1" }, forward(APPROVE), abi(GO))
    for _, digits in ipairs {
      APPROVE .. "00", APPROVE .. ("00"):rep(32), APPROVE:sub(1, -3), APPROVE:sub(1, 4 * 2 + 63 * 2),
    } do
      finds({ "allowance.unlimited@1.1", "decode.not_canonical@1.1" }, forward(digits), abi(GO))
    end
    -- with the whole amount missing it is read as zero: a revocation
    finds({ "allowance.revoked@1.1", "decode.not_canonical@1.1" }, forward(APPROVE:sub(1, 8 + 64)), abi(GO))
  end)

  it("are looked into also where the table has the function, or an ABI is the contract's own", function()
    local safe = "safeTransferFrom(address,address,uint256,bytes)"
    finds({ "allowance.unlimited@1.1", "decode.not_canonical@1.1" },
      call(safe, SENDER, OTHER, 1, 128) .. bytes(APPROVE .. "00"))
    finds({ "allowance.unlimited@1.1", "decode.not_canonical@1.1" }, forward(APPROVE .. "00"),
      { abis = { { abi = assert(moonplan.abi.parse(GO)), address = TOKEN } } })
  end)

  it("are looked into in arrays and tuples, and where they are called a string", function()
    local list = "go((uint256,bytes)[])"
    finds({ "allowance.unlimited@1.1", "decode.not_canonical@1.1" },
      selector(list) .. words(32, 1, 32, 7, 64) .. bytes(APPROVE .. "00"), abi(list))
    assert.truthy(table.concat(found(review(selector "note(string)" .. words(32) .. bytes(APPROVE),
      abi "note(string)")), " "):find("allowance.unlimited@1.1", 1, true))
  end)

  it("that cannot be looked into are said not to be", function()
    for _, digits in ipairs {
      "deadbeef" .. word(1), "deadbe", TOKEN:sub(3) .. APPROVE, words(64, 64), ("5"):rep(130),
    } do
      local made = review(forward(digits), abi(GO))
      assert.same({ "decode.not_calls@1" }, found(made))
      local said = message(made, "decode.not_calls")
      assert.truthy(said:find(("%d of them, that begin with 0x%s"):format(#digits // 2, digits:sub(1, 8)), 1, true), said)
    end
    finds({}, forward "", abi(GO))
    -- several are one finding
    local two = "two(bytes,bytes[])"
    local made = review(selector(two) .. words(64, 128) .. bytes "01" .. byte_list("02", APPROVE, "03"), abi(two))
    assert.same({ "allowance.unlimited@1.1", "decode.not_calls@1" }, found(made))
    assert.truthy(message(made, "decode.not_calls"):find("3 such arguments", 1, true))
  end)

  it("keep a label from being called false", function()
    local made = review(forward "deadbeef", abi(GO), nil, "allowance_cleanup")
    assert.truthy(message(made, "label.unconfirmed"))
  end)
end)

describe("a batch of ERC-7579", function()
  local EXECUTE = "execute(bytes32,bytes)"
  local BATCH, WITH, BATCHES = "01" .. ("0"):rep(62), "01" .. ("0"):rep(10) .. "78210001" .. ("0"):rep(44),
    "01" .. ("0"):rep(10) .. "78210002" .. ("0"):rep(44)
  local CALLS = words(1, 32, TOKEN, 0, 96) .. bytes(APPROVE)
  local function execute(mode, digits) return call(EXECUTE, mode, 64) .. bytes(digits) end

  it("shows its calls however it is encoded", function()
    finds({ "allowance.unlimited@1.1" }, execute(BATCH, word(32) .. CALLS))
    for name, digits in pairs {
      trailing = word(32) .. CALLS .. word(0),
      ["a byte behind"] = word(32) .. CALLS .. "00",
      ["a dirty address"] = words(32, 1, 32, "01" .. word(TOKEN):sub(3), 0, 96) .. bytes(APPROVE),
      ["a shifted offset"] = words(96, 7, 7) .. CALLS,
      ["no padding"] = word(32) .. CALLS:sub(1, -57),
      ["dirty padding"] = word(32) .. CALLS:sub(1, -3) .. "01",
    } do
      local list = table.concat(found(review(execute(BATCH, digits))), " ")
      assert.truthy(list:find("allowance.unlimited@1.1", 1, true), name)
      assert.truthy(list:find("decode.not_canonical@1", 1, true), name)
      assert.falsy(list:find("decode.not_calls", 1, true), name)
    end
  end)

  it("takes what stands behind the calls for a signature (ERC-7821)", function()
    local function with(digits) return words(64, 64 + #CALLS // 2) .. CALLS .. bytes(digits) end
    finds({ "allowance.unlimited@1.1" }, execute(WITH, with ""))
    finds({ "allowance.unlimited@1.1", "signature.spent@1" }, execute(WITH, with(("5"):rep(130))))
    finds({ "allowance.unlimited@1.1", "decode.not_canonical@1", "signature.spent@1" },
      execute(WITH, with(("5"):rep(130)) .. word(0)))
  end)

  it("may be a list of batches (ERC-7821)", function()
    local one = word(32) .. CALLS
    finds({ "allowance.nonzero_to_nonzero", "allowance.unlimited@1.1", "allowance.unlimited@1.2" },
      execute(BATCHES, word(32) .. byte_list(one, one)))
    finds({ "allowance.unlimited@1.1", "decode.malformed@1" },
      execute(BATCHES, word(32) .. byte_list(one, word(5))))
  end)

  it("that is more than may be decoded is said to be so once", function()
    local one = words(64, 64 + #CALLS // 2) .. CALLS .. bytes(("5"):rep(130))
    for _, data in ipairs { execute(WITH, one), execute(BATCHES, word(32) .. byte_list(one)) } do
      local inside = 0
      for most = 1, 80 do
        local list = found(review(data, { limits = { abi_words = most } }))
        local said = 0
        for _, code in ipairs(list) do said = said + (code:find("decode.budget", 1, true) and 1 or 0) end
        assert(said <= 1, ("%d times with %d words: %s"):format(said, most, table.concat(list, " ")))
        local read = table.concat(list, " "):find("decode.not_calls", 1, true)
        if said == 1 and not read then inside = inside + 1 end
      end
      assert(inside > 5)
    end
  end)

  -- Accounts read a batch by its offsets alone (ERC-7579's own library does), modulo 2^256.
  it("that cannot be read is a danger", function()
    finds({ "decode.malformed@1" }, execute(BATCH, words(5, 5)))
  end)
end)

describe("an ABI of the contract's own", function()
  -- Found by search: both selectors are 0xe9ae5c53.
  local PAY, EXECUTE = "pay_zs4rybaa(uint256)", "execute(bytes32,bytes)"

  local function superset(data, options)
    local there = {}
    for _, name in ipairs(found(review(data, options))) do there[name] = true end
    for _, name in ipairs(found(review(data))) do assert.is_true(there[name], name) end
    return there
  end

  it("takes no call away that the standard sees", function()
    assert.equal(selector(EXECUTE), selector(PAY))
    local single = call(EXECUTE, ("0"):rep(64), 64) .. bytes(TOKEN:sub(3) .. word(0) .. APPROVE)
    local bound = { abis = { { abi = assert(moonplan.abi.parse(PAY)), address = TOKEN } } }
    local there = superset(single, bound)
    assert.is_true(there["allowance.unlimited@1.1"])
    assert.is_true(there["decode.ambiguous@1"])
    -- nor what the standard cannot read
    assert.is_true(superset(selector(EXECUTE) .. words(1, MAX), bound)["decode.malformed@1"])
    assert.is_true(superset(call(EXECUTE, ("0"):rep(64), 64) .. bytes "00", bound)["decode.malformed@1"])
    local names = {}
    for _, inner in ipairs(review(single, bound).steps[1].call.calls) do names[#names + 1] = inner.name end
    assert.same({ "approve" }, names)
  end)
end)

describe("an untrusted ABI", function()
  local PLUGIN = "forward(address to, bytes data)\npay_zs4rybaa(uint256)\napprove(address harmless, uint256 nothing)\n"
    .. "claim(uint256 amount, uint8 v, bytes32 r, bytes32 s)\nburn(uint256[] list)"
  local function source(change)
    local made = { abi = assert(moonplan.abi.parse(PLUGIN)), origin = "the plugin x", untrusted = true }
    for name, value in pairs(change or {}) do made[name] = value end
    return made
  end

  local FORWARD = call("forward(address,bytes)", OTHER, 64) .. bytes(APPROVE)
  local DATA = {
    forward = FORWARD,
    multicall = selector "multicall(bytes[])" .. word(32) .. byte_list(FORWARD, APPROVE, FORWARD, "deadbeef"),
    argument = selector "approveAndCall(address,uint256,bytes)" .. words(SPENDER, 5, 96) .. bytes(FORWARD),
    collision = call("execute(bytes32,bytes)", ("0"):rep(64), 64) .. bytes(TOKEN:sub(3) .. word(0) .. APPROVE),
    approve = APPROVE,
    claim = call("claim(uint256,uint8,bytes32,bytes32)", 5, 27, 1, 1),
    malformed = call("forward(address,bytes)", OTHER, MAX),
  }

  -- Findings with all that tells one from another, counted.
  local function all(made)
    local list = {}
    for _, finding in ipairs(made.findings) do
      local key = ("%s %s %s"):format(finding.code, finding.step or "", finding.call or "")
      list[key] = (list[key] or 0) + 1
    end
    return list
  end

  for name, data in pairs(DATA) do
    it("adds findings and drops none: " .. name, function()
      for _, kind in ipairs { "execution", "approval", "allowance_cleanup", "signature_dependent_execution" } do
        local without = all(review(data, nil, nil, kind))
        for _, change in ipairs { {}, { address = TOKEN }, { address = TOKEN, chain_id = "1" } } do
          local with = all(review(data, { abis = { source(change) } }, nil, kind))
          for key, count in pairs(without) do
            -- The step as a whole says that a signature is spent where no call in it does.
            local told = with[key] or key:find("^signature.spent 1 $") and with["signature.spent 1 1"] or 0
            assert(told >= count, name .. ": " .. key)
          end
        end
      end
    end)
  end

  it("is shown, as what it is", function()
    local made = review(FORWARD, { abis = { source { address = TOKEN } } })
    local told = made.steps[1].call
    assert.equal("forward", told.name)
    assert.equal("the plugin x", told.source)
    assert.is_true(told.guess)
    assert.equal("approve", told.calls[1].name)
    assert.truthy(message(made, "decode.unknown_selector"):find('only "the plugin x" describes', 1, true))
    assert.truthy(message(made, "allowance.unlimited"))
    assert.truthy(message(review(DATA.claim, { abis = { source() } }), "signature.spent"))
  end)

  it("has no say where the table or a person has one", function()
    assert.equal("standard", review(APPROVE, { abis = { source { address = TOKEN } } }).steps[1].call.source)
    local own = { abi = assert(moonplan.abi.parse "forward(address mine, bytes data)"), origin = "mine.abi" }
    local made = review(FORWARD, { abis = { source { address = TOKEN }, own } })
    assert.equal("mine.abi", made.steps[1].call.source)
    assert.is_nil(message(made, "decode.unknown_selector"))
  end)

  it("uses up nothing of what the rest is decoded with", function()
    local many = { word(32), word(400) }
    for _ = 1, 400 do many[#many + 1] = word(1) end
    local text = plans.of {
      plans.step(1, { data = "0x" .. selector "burn(uint256[])" .. table.concat(many) }),
      plans.step(2, { data = "0x" .. APPROVE, kind = "approval" }),
    }
    local limits = { abi_words = 100 }
    local with = assert(moonplan.review(text, { limits = limits, abis = { source() } }))
    assert.truthy(message(with, "allowance.unlimited"))
    assert.truthy(message(with, "decode.budget")) -- of the plugin's reading
  end)

  it("is marked so by a boolean", function()
    assert.error_matches(function() review(APPROVE, { abis = { source { untrusted = 1 } } }) end, "untrusted")
  end)
end)

describe("a signature made earlier", function()
  local V, R = 27, 1
  local SIGNATURE = ("5"):rep(128) .. "1b"
  local granted = { "allowance.granted@1", "signature.spent@1" }
  local endless = { "allowance.unlimited@1", "signature.spent@1" }
  local spent = { "signature.spent@1" }
  -- from, to, value, validAfter, validBefore, nonce
  local from = words(SENDER, OTHER, 5, 0, LATER, R)
  local details = words(TOKEN, 5, LATER, 0)

  for signature, case in pairs {
    ["transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"] = {
      from .. words(V, R, R), spent,
    },
    ["receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"] = { from .. words(V, R, R), spent },
    ["transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"] = { from .. word(224) .. bytes(SIGNATURE), spent },
    ["receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"] = { from .. word(224) .. bytes(SIGNATURE), spent },
    ["cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)"] = { words(SENDER, R, V, R, R), spent, timeless = true },
    ["cancelAuthorization(address,bytes32,bytes)"] = { words(SENDER, R, 96) .. bytes(SIGNATURE), spent, timeless = true },
    ["permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"] = { words(SENDER, SPENDER, 5, LATER, V, R, R), granted },
    ["permit(address,address,uint256,uint256,bytes)"] = { words(SENDER, SPENDER, MAX, LATER, 160) .. bytes(SIGNATURE), endless },
    ["delegateBySig(address,uint256,uint256,uint8,bytes32,bytes32)"] = { words(OTHER, 0, LATER, V, R, R), spent },
    ["permit(address,uint256,uint256,uint8,bytes32,bytes32)"] = { words(SPENDER, 7, LATER, V, R, R), granted },
    ["permit(address,uint256,uint256,bytes)"] = { words(SPENDER, 7, LATER, 128) .. bytes(SIGNATURE), granted },
    ["permit(address,uint256,uint256,uint256,bytes)"] = { words(SPENDER, 7, LATER, 0, 160) .. bytes(SIGNATURE), granted },
    ["permitForAll(address,address,bool,uint256,uint256,bytes)"] = {
      words(SENDER, SPENDER, 1, LATER, 0, 192) .. bytes(SIGNATURE), { "allowance.for_all@1", "signature.spent@1" },
    },
    ["selfPermit(address,uint256,uint256,uint8,bytes32,bytes32)"] = { words(TOKEN, 5, LATER, V, R, R), granted },
    ["selfPermitIfNecessary(address,uint256,uint256,uint8,bytes32,bytes32)"] = { words(TOKEN, MAX, LATER, V, R, R), endless },
    ["selfPermitAllowed(address,uint256,uint256,uint8,bytes32,bytes32)"] = { words(TOKEN, 0, LATER, V, R, R), endless },
    ["selfPermitAllowedIfNecessary(address,uint256,uint256,uint8,bytes32,bytes32)"] = { words(TOKEN, 0, LATER, V, R, R), endless },
    ["removeLiquidityWithPermit(address,address,uint256,uint256,uint256,address,uint256,bool,uint8,bytes32,bytes32)"] = {
      words(TOKEN, OTHER, 5, 0, 0, SENDER, LATER, 1, V, R, R), endless,
    },
    ["removeLiquidityETHWithPermit(address,uint256,uint256,uint256,address,uint256,bool,uint8,bytes32,bytes32)"] = {
      words(TOKEN, 5, 0, 0, SENDER, LATER, 0, V, R, R), granted,
    },
    ["removeLiquidityETHWithPermitSupportingFeeOnTransferTokens(address,uint256,uint256,uint256,address,uint256,bool,uint8,"
      .. "bytes32,bytes32)"] = {
      words(TOKEN, 5, 0, 0, SENDER, LATER, 0, V, R, R), granted,
    },
    ["permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)"] = {
      words(TOKEN, 5, 0, LATER, OTHER, 5, SENDER, 256) .. bytes(SIGNATURE), spent,
    },
    ["permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)"] = {
      words(TOKEN, 5, 0, LATER, OTHER, 5, SENDER, R, 320, 352) .. word(0) .. bytes(SIGNATURE), spent,
    },
    ["permitWitnessTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes32,string,bytes)"] = {
      words(192, 384, SENDER, R, 480, 512) .. words(96, 0, LATER, 1, TOKEN, 5) .. words(1, OTHER, 5) .. word(0) .. bytes(SIGNATURE), spent,
    },
    ["permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)"] = {
      words(SENDER) .. details .. words(SPENDER, LATER, 256) .. bytes(SIGNATURE),
      { "permit2.allowance@1", "permit2.long_lived@1", "signature.spent@1" }, now = 1700000000,
    },
  } do
    it("is spent by " .. signature, function()
      local made = review(selector(signature) .. case[1], { now = case.now })
      assert.same(case[2], found(made))
      local said = message(made, "signature.spent")
      assert.equal(not case.timeless, said:find("2096-10-02 07:06:40 UTC", 1, true) ~= nil, said)
    end)
  end

  it("is a transfer to nobody as any other is", function()
    local zero = "0x" .. ("0"):rep(40)
    finds({ "signature.spent@1", "target.zero_address@1" }, call(
      "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
      SENDER, zero, 5, 0, LATER, R, V, R, R))
    finds({ "target.zero_address@1" }, call("transferFrom(address,address,uint160,address)", SENDER, zero, 5, TOKEN), nil, PERMIT2)
    finds({ "target.token@1" }, selector "transferFrom((address,address,uint160,address)[])"
      .. words(32, 1, SENDER, TOKEN, 5, TOKEN), nil, PERMIT2)
  end)

  it("for a router is an allowance of the caller's, which a later step may take back", function()
    local permit = call("selfPermit(address,uint256,uint256,uint8,bytes32,bytes32)", TOKEN, 5, LATER, V, R, R)
    local swap = plans.step(1, { data = "0x" .. selector "multicall(bytes[])" .. word(32) .. byte_list(permit) })
      :gsub(TOKEN, OTHER)
    local revoke = plans.step(2, { kind = "allowance_cleanup",
      data = "0x" .. call("approve(address,uint256)", OTHER, 0) })
    local list = found(assert(moonplan.review(plans.of { swap, revoke })))
    assert.same({ "allowance.granted@1.1", "allowance.not_atomic", "allowance.revoked@2", "signature.spent@1.1" }, list)
  end)

  it("is known by its shape where an ABI describes the function", function()
    local shapes = {
      ["claim(uint256 amount, uint8 v, bytes32 r, bytes32 s)"] = words(5, V, R, R),
      ["claim((uint256 amount, (uint8 v, bytes32 r, bytes32 s) by) order)"] = words(5, V, R, R),
      ["claim(uint256 amount, bytes userSignature)"] = words(5, 64) .. bytes(SIGNATURE),
      ["claim(bytes[] sigs)"] = word(32) .. byte_list(SIGNATURE),
    }
    for signature, arguments in pairs(shapes) do
      local made = assert(moonplan.abi.parse(signature))
      local data = selector(made.entries[1].signature) .. arguments
      assert.truthy(message(review(data, { abis = { made } }), "signature.spent"), signature)
    end
    finds({}, call("claim(uint256,uint8,bytes32)", 5, 1, R), abi "claim(uint256,uint8,bytes32)")
  end)

  it("of a Safe's owners is one, unless the owner is the caller", function()
    local signature = "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"
    local function execute(signatures)
      return call(signature, OTHER, 0, 320, 0, 0, 0, 0, TOKEN, TOKEN, 352) .. bytes "" .. bytes(signatures)
    end
    local approved = word(SENDER) .. word(0) .. "01"
    finds({}, execute "")
    finds({}, execute(approved))
    finds({ "signature.spent@1" }, execute(approved .. SIGNATURE))
    finds({ "signature.spent@1" }, execute(SIGNATURE:sub(3)))
  end)
end)

describe("a Universal Router's commands", function()
  local SIGNATURE = ("5"):rep(128) .. "1b"
  local single = words(TOKEN, ("0"):rep(24) .. ("f"):rep(40), LATER, 0, SPENDER, LATER, 224) .. bytes(SIGNATURE)
  local batch = words(64, 320) .. words(96, SPENDER, LATER) .. words(1, TOKEN, 5, LATER, 0) .. bytes(SIGNATURE)
  local WITH_DEADLINE, WITHOUT = "execute(bytes,bytes[],uint256)", "execute(bytes,bytes[])"
  local options = { now = LATER - 60 }

  local function execute(commands, ...)
    local list = byte_list(...)
    return selector(WITHOUT) .. words(64, 128) .. bytes(commands) .. list
  end
  local expected = { "allowance.unlimited@1", "decode.not_calls@1", "permit2.allowance@1", "signature.spent@1" }

  it("are searched for Permit2's permits", function()
    finds(expected, execute("0a", single), options)
    finds({ "decode.not_calls@1", "permit2.allowance@1", "signature.spent@1" }, execute("03", batch), options)
    -- allowed to fail; behind a swap; with a deadline
    finds(expected, execute("8a", single), options)
    finds(expected, execute("080a", word(0), single), options)
    finds(expected, selector(WITH_DEADLINE) .. words(96, 160, LATER) .. bytes "0a" .. byte_list(single), options)
    finds({ "decode.not_calls@1" }, execute("08", single), options)
  end)

  it("are searched in plans inside them", function()
    local inner = words(64, 128) .. bytes "0a" .. byte_list(single)
    for _, command in ipairs { "20", "21" } do finds(expected, execute(command, inner), options) end
    local deep = inner
    for _ = 1, 40 do deep = words(64, 128) .. bytes "21" .. byte_list(deep) end
    finds({ "decode.budget@1", "decode.not_calls@1" }, execute("21", deep), options)
  end)

  -- v4-periphery's CalldataDecoder, which routers are built on, reads offsets and lengths modulo
  -- 2^32, and Dispatcher reads the head of a PermitSingle and of a transfer where it stands: what a
  -- careful reader refuses may be carried out.
  it("are a danger where they may hold a permit and cannot be read", function()
    local function dirty(digits, at) return digits:sub(1, at * 64) .. "8" .. digits:sub(at * 64 + 2) end
    local far = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff0"
    local inner = words(64, 128) .. bytes "0a" .. byte_list(single)
    -- what a PermitSingle grants stands in front of what is wrong with it
    local read = { "allowance.unlimited@1", "decode.malformed@1", "decode.not_calls@1", "permit2.allowance@1", "signature.spent@1" }
    local unread = { "decode.malformed@1", "decode.not_calls@1" }
    for _, case in ipairs {
      { "0a", dirty(single, 6), read }, { "8a", dirty(single, 6), read },
      { "0a", single:sub(1, 6 * 64) .. far .. single:sub(7 * 64 + 1), read },
      { "0a", single:sub(1, -65), read }, { "0a", single:sub(1, 6 * 64), read }, { "0a", single:sub(1, 5 * 64), unread },
      { "0a", "", unread },
      { "03", dirty(batch, 0), unread }, { "03", dirty(batch, 1), unread }, { "03", dirty(batch, 2), unread },
      { "03", dirty(batch, 5), unread },
      { "20", dirty(inner, 0), unread }, { "21", dirty(inner, 0), unread }, { "21", dirty(inner, 1), unread },
      { "21", dirty(inner, 2), unread }, { "21", "", unread },
      { "21", words(64, 128) .. bytes "03" .. byte_list(dirty(batch, 0)), unread },
      { "02", words(TOKEN, OTHER), unread }, { "0d", words(far, 0), unread },
      { "11", "deadbeef" .. words(1, 2), unread }, { "11", "", unread },
    } do
      local made = review(execute(case[1], case[2]), options)
      assert.same(case[3], found(made), case[1] .. " " .. case[2])
      assert.truthy(made.counts.danger > 0)
    end
    -- what holds no permit and moves nothing of the caller's is not read at all: a swap, a payment
    for _, command in ipairs { "00", "08", "0b", "05", "10" } do
      finds({ "decode.not_calls@1" }, execute(command, far), options)
    end
  end)

  it("that move the caller's tokens by Permit2 are transfers", function()
    local zero = "0x" .. ("0"):rep(40)
    finds({ "decode.not_calls@1", "target.zero_address@1" }, execute("02", words(TOKEN, zero, 5)), options)
    finds({ "decode.not_calls@1", "target.zero_address@1" }, execute("0d", words(32, 1, SENDER, zero, 5, TOKEN)), options)
    finds({ "decode.not_calls@1" }, execute("02", words(TOKEN, OTHER, 5)), options)
    for _, kind in ipairs { "approval", "allowance_cleanup" } do
      assert.truthy(message(review(execute("02", words(TOKEN, OTHER, 5)), options, nil, kind), "label.contradicted"))
    end
  end)

  it("are permits however they are encoded, and calls of the position managers", function()
    finds({ "decode.not_canonical@1", table.unpack(expected) }, execute("0a", single .. word(0)), options)
    local permit = call("permit(address,uint256,uint256,uint8,bytes32,bytes32)", SPENDER, 7, LATER, 27, 1, 1)
    finds({ "allowance.granted@1.1", "decode.not_calls@1", "signature.spent@1.1" }, execute("11", permit), options)
  end)
end)

describe("a Uniswap V2 router", function()
  local path = words(2, TOKEN, OTHER)
  local sold = words(5, 1, 160, SENDER, LATER) .. path
  for signature, arguments in pairs {
    ["swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)"] = sold,
    ["swapExactETHForTokensSupportingFeeOnTransferTokens(uint256,address[],address,uint256)"] = words(1, 128, SENDER, LATER) .. path,
    ["swapExactTokensForETHSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)"] = sold,
    ["swapExactETHForTokens(uint256,address[],address,uint256)"] = words(1, 128, SENDER, LATER) .. path,
    ["swapETHForExactTokens(uint256,address[],address,uint256)"] = words(1, 128, SENDER, LATER) .. path,
    ["swapTokensForExactETH(uint256,uint256,address[],address,uint256)"] = words(5, 9, 160, SENDER, LATER) .. path,
    ["swapExactTokensForETH(uint256,uint256,address[],address,uint256)"] = words(5, 9, 160, SENDER, LATER) .. path,
    ["addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)"] = words(TOKEN, OTHER, 5, 5, 1, 1, SENDER, LATER),
    ["addLiquidityETH(address,uint256,uint256,uint256,address,uint256)"] = words(TOKEN, 5, 1, 1, SENDER, LATER),
    ["removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)"] = words(TOKEN, OTHER, 5, 1, 1, SENDER, LATER),
    ["removeLiquidityETH(address,uint256,uint256,uint256,address,uint256)"] = words(TOKEN, 5, 1, 1, SENDER, LATER),
    ["removeLiquidityETHSupportingFeeOnTransferTokens(address,uint256,uint256,uint256,address,uint256)"] =
      words(TOKEN, 5, 1, 1, SENDER, LATER),
  } do
    it("is known by " .. signature, function()
      local made = review(selector(signature) .. arguments)
      assert.same({}, found(made))
      assert.equal(signature, made.steps[1].call.signature)
      assert.is_true(made.steps[1].call.canonical)
    end)
  end
end)

describe("a revert", function()
  local abis = abi "error Short(uint128 left, string why)"
  for name, case in pairs {
    ["trailing bytes"] = { call("Panic(uint256)", 0x11) .. "00", "abi.trailing" },
    ["padding that is not zero"] = { selector "Error(string)" .. words(32, 2) .. "6e6f" .. ("f"):rep(60), "abi.padding" },
    ["bits that the type has not"] = { call("Short(uint128,string)", MAX, 64, 0), "abi.padding" },
    ["an offset that skips a word"] = { selector "Error(string)" .. words(64, 0, 2) .. "6e6f" .. ("0"):rep(60), "abi.offset" },
  } do
    it("is decoded with " .. name .. ", and says so", function()
      local revert = assert(moonplan.abi.decode_revert("0x" .. case[1], abis))
      assert.is_false(revert.canonical)
      assert.equal(case[2], revert.notes[1].code)
      assert.truthy(revert.text:find(", not encoded as every compiler does it: " .. revert.notes[1].message, 1, true), revert.text)
    end)
  end

  it("that is clean says that it is", function()
    local revert = assert(moonplan.abi.decode_revert("0x" .. call("Panic(uint256)", 0x11)))
    assert.is_true(revert.canonical)
    assert.is_nil(revert.notes)
    assert.equal("Panic 0x11 (arithmetic overflow or underflow)", revert.text)
    assert.is_nil(assert(moonplan.abi.decode_revert("0xdeadbeef")).canonical)
  end)
end)
