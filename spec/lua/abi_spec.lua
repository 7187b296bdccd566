-- moonplan.abi as Lua sees it. Encodings come from the Solidity documentation, "Contract ABI
-- Specification", Examples; other data is written word by word after that page.
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"

local abi = moonplan.abi

-- A word with these digits at its right end, and at its left.
local function word(digits) return ("0"):rep(64 - #digits) .. digits end
local function left(digits) return digits .. ("0"):rep(64 - #digits) end

local A = "0x" .. ("11"):rep(20)
local MOST = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

-- signature, arguments, selector, words
local EXAMPLES = {
  { "baz(uint32,bool)", { 69, true }, "cdcd77c0", word "45" .. word "1", { "69", true } },
  { "bar(bytes3[2])", { { "0x616263", "0x646566" } }, "fce353f6", left "616263" .. left "646566" },
  {
    "sam(bytes,bool,uint256[])", { "0x64617665", true, { 1, 2, 3 } }, "a5643bf2",
    word "60" .. word "1" .. word "a0" .. word "4" .. left "64617665" .. word "3" .. word "1" .. word "2" .. word "3",
    { "0x64617665", true, { "1", "2", "3" } },
  },
  {
    "f(uint256,uint32[],bytes10,bytes)",
    { 0x123, { 0x456, 0x789 }, "0x31323334353637383930", "0x48656c6c6f2c20776f726c6421" }, "8be65246",
    word "123" .. word "80" .. left "31323334353637383930" .. word "e0" .. word "2" .. word "456" .. word "789"
      .. word "d" .. left "48656c6c6f2c20776f726c6421",
    { "291", { "1110", "1929" }, "0x31323334353637383930", "0x48656c6c6f2c20776f726c6421" },
  },
}

local function refused(code, at, result, err)
  assert.is_nil(result)
  assert.equal(code, err.code)
  assert.equal(at, err.at)
  return err
end

describe("moonplan.abi", function()
  for _, example in ipairs(EXAMPLES) do
    local signature, arguments, selector, words = table.unpack(example)
    local data = "0x" .. selector .. words

    it("encodes and decodes " .. signature, function()
      assert.equal("0x" .. selector, abi.selector(signature))
      assert.equal(data, abi.call(signature, table.unpack(arguments)))
      assert.equal(data, abi.encode(signature, arguments))
      local values, notes = abi.decode(signature, data, { strict = true })
      assert.same(example[5] or arguments, values)
      assert.same({}, notes)
    end)
  end

  it("calls a function without parameters", function()
    assert.equal(abi.selector "f()", abi.call "f()")
    assert.equal(abi.selector "f()", abi.encode("f()"))
  end)

  it("keeps 256 bits exactly, and takes Lua's integers", function()
    local data = abi.call("f(uint256,int256,int64)", MOST, "-1", math.mininteger)
    assert.equal("0x" .. ("f"):rep(128) .. ("f"):rep(48) .. "8" .. ("0"):rep(15), "0x" .. data:sub(11))
    assert.same({ MOST, "-1", tostring(math.mininteger) }, (abi.decode("f(uint256,int256,int64)", data)))
  end)

  it("gives tuples and arguments by their names, where they all have one", function()
    local signature = "pay((address to, uint256 amount)[] list, bytes)"
    local data = abi.call(signature, { { to = A, amount = 5 } }, "0x")
    assert.equal(data, abi.call(signature, { { A, 5 } }, "0x"))
    assert.same({ { { to = A, amount = "5" } }, "0x" }, (abi.decode(signature, data)))
    signature = "pay(address to, uint256 amount)"
    assert.same({ to = A, amount = "5" }, (abi.decode(signature, abi.encode(signature, { amount = "5", to = A }))))
  end)

  it("gives a string that is not UTF-8 as its bytes", function()
    local data = abi.selector "f(string)" .. word "20" .. word "5" .. left "fffefd0041"
    assert.same({ { hex = "0xfffefd0041" } }, (abi.decode("f(string)", data)))
  end)

  it("decodes what a call returned", function()
    assert.same({ "7" }, (abi.decode("f() returns (uint8)", "0x" .. word "7", { outputs = true })))
  end)

  it("gives addresses their checksum", function()
    -- ERC-55, test cases
    assert.equal("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", abi.checksum "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed")
    assert.equal("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", abi.checksum "0xFB6916095CA1DF60BB79CE92CE3EA74C37C5D359")
    assert.is_nil(abi.checksum "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae")
  end)

  it("raises in abi.call, on the author's line", function()
    for _, wrong in ipairs {
      { "abi.value", "approve(address,uint256)", "0x11", 5 }, { "abi.value", "approve(address,uint256)", A },
      { "abi.value", "f(uint8)", 256 }, { "abi.type", "approve(adress)", A }, { "abi.type", "(uint256)", 1 },
      { "abi.type", "f()\ng()" }, { "abi.value", "f(uint256)", 1.5 },
    } do
      local line = debug.getinfo(1, "l").currentline + 1
      local fine, message = pcall(function() return (abi.call(table.unpack(wrong, 2))) end)
      assert.is_false(fine)
      assert.matches("abi_spec.lua:" .. line .. ": " .. wrong[1], message)
    end
    assert.error_matches(function() abi.call("f(uint256,uint256)", 1, nil) end, "only nil")
  end)

  it("names the place of a value that does not fit", function()
    refused("abi.value", "/0/amount", abi.encode("f((uint8 amount) a)", { { amount = 256 } }))
    refused("abi.value", "/to", abi.encode("f(address to)", { to = "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }))
    refused("abi.value", "/0/1", abi.encode("f(bool[])", { { true, "true" } }))
    assert.is_nil(select(2, abi.encode("f(uint8)", { 256 })).offset)
    refused("abi.value", "", abi.decode("f(uint8)", "0x0"))
  end)

  it("says where a signature is wrong", function()
    local err = refused("abi.type", "", abi.parse "f(uint256)\ng(bool,uint7)")
    assert.equal(18, err.offset)
    assert.equal(2, err.line)
    -- 0x42966c68 is the selector of both, a collision that is often told of.
    err = refused("abi.selector", "", abi.parse "burn(uint256)\ncollate_propagate_storage(bytes16)")
    assert.matches("burn(uint256)", err.message, 1, true)
    assert.matches("collate_propagate_storage", err.message)
    refused("abi.type", "", abi.selector "(uint256)")
  end)

  it("cannot be changed, once read, and says what it has", function()
    local read = assert(abi.parse [==[{"abi":[
      {"type":"function","name":"f","inputs":[{"name":"a","type":"uint8"}],"outputs":[{"name":"","type":"bool"}]},
      {"type":"event","name":"E","inputs":[]}, {"type":"error","name":"Bad","inputs":[]}]}]==])
    assert.same({
      { kind = "function", name = "f", signature = "f(uint8)", selector = abi.selector "f(uint8)",
        inputs = { { name = "a", type = "uint8" } }, outputs = { { type = "bool" } } },
      { kind = "error", name = "Bad", signature = "Bad()", selector = abi.selector "Bad()", inputs = {}, outputs = {} },
    }, read.entries)
    assert.error(function() read.entries = {} end)
    assert.error_matches(function() return read.entry end, "entries")
    local data = assert(read:encode("f", { 7 }))
    assert.same({ a = "7" }, (read:decode("f(uint8)", data)))
    refused("abi.type", "", read:encode("g", {}))
  end)

  it("is there for plugins as well", function()
    local engine = plugin_files.engine { ["a.lua"] = plugin_files.source("a",
      'return moonplan.abi.call("approve(address,uint256)", input, 5)') }
    assert.equal(abi.call("approve(address,uint256)", A, 5), plugin_files.result(engine, "a", A))
  end)
end)

describe("hostile data", function()
  local LIST = abi.selector "f(uint256[])"

  it("is refused where an offset or length leads out of it", function()
    refused("abi.offset", "/0", abi.decode("f(uint256[])", LIST .. ("f"):rep(64)))
    -- lengths of 2^50, 2^63 and 2^255 elements, and two words of data
    for _, length in ipairs { "4000000000000", "8000000000000000", "8" .. ("0"):rep(63) } do
      local err = refused("abi.length", "/0", abi.decode("f(uint256[])", LIST .. word "20" .. word(length) .. word "1" .. word "2"))
      assert.equal(36, err.offset)
    end
    refused("abi.length", "", abi.decode("f(uint256)", abi.selector "f(uint256)" .. ("0"):rep(62)))
  end)

  it("cannot be inflated by offsets that share what they lead to", function()
    local many = 3000
    local tail = word(("%x"):format(3000)) .. ("61"):rep(3000) .. ("0"):rep(2 * 8)
    local data = abi.selector "f(string[])" .. word "20" .. word(("%x"):format(many))
      .. word(("%x"):format(many * 32)):rep(many) .. tail
    local _, err = abi.decode("f(string[])", data)
    assert.equal("abi.budget", err.code)
  end)

  -- Each of these has one canonical encoding, and is another one of the same value.
  for name, case in pairs {
    ["a uint8 with bits above it"] = { "f(uint8)", word "ff01", "1", "abi.padding" },
    ["a bool of 2"] = { "f(bool)", word "2", true, "abi.padding" },
    ["an address with bits above it"] = { "f(address)", "01" .. ("0"):rep(22) .. ("11"):rep(20), A, "abi.padding" },
    ["a bytes4 with bytes behind it"] = { "f(bytes4)", "12345678" .. ("ff"):rep(28), "0x12345678", "abi.padding" },
    ["a byte too many"] = { "f(uint8)", word "1" .. "00", "1", "abi.trailing" },
    ["a gap before the content"] = { "f(bytes)", word "40" .. word "0" .. word "0", "0x", "abi.offset" },
  } do
    it("is noted: " .. name, function()
      local signature, words, value, code = table.unpack(case)
      local values, notes = abi.decode(signature, abi.selector(signature) .. words)
      assert.same({ value }, values)
      assert.equal(code, notes[1].code)
      assert.equal(1, #notes)
      refused(code, notes[1].at, abi.decode(signature, abi.selector(signature) .. words, { strict = true }))
    end)
  end
end)

describe("moonplan.abi.decode_call", function()
  it("names a function whatever stands around its arguments", function()
    local approve = abi.call("approve(address,uint256)", A, MOST)
    local dirty = approve:sub(1, 10) .. "01" .. approve:sub(13)
    local cut = abi.call("transfer(address,uint256)", A, 256):sub(1, -3)
    for _, case in ipairs { { approve .. "00", "approve" }, { dirty, "approve" }, { cut, "transfer" } } do
      local call = assert(abi.decode_call(case[1]))
      assert.equal(case[2], call.name)
      assert.is_false(call.canonical)
      assert.is_true(call.counts.danger > 0)
      assert.equal(A, call.arguments[1].value)
    end
    assert.is_true(abi.decode_call(approve).canonical)
  end)

  it("uses the ABIs that it is given, and says whose they are and what they are worth", function()
    local note = assert(abi.parse "note(string text, (address to, uint256 amount)[] list)")
    local data = abi.encode("note(string,(address,uint256)[])", { "hello", { { A, 5 } } })
    assert.equal("not_decoded", abi.decode_call(data).kind)
    local call = abi.decode_call(data, { abis = { { abi = note, origin = "note.json" } } })
    assert.equal("note.json", call.source)
    assert.is_true(call.guess)
    assert.same({
      { name = "text", type = "string", value = "hello" },
      { name = "list", type = "(address,uint256)[]", declaration = "(address to, uint256 amount)[]",
        value = { { to = A, amount = "5" } } },
    }, call.arguments)
    call = abi.decode_call(data, { abis = { { abi = note, address = A, chain_id = "1" } }, to = A, chain_id = "1" })
    assert.is_false(call.guess)
    assert.equal("not_decoded", abi.decode_call(data, { abis = { { abi = note, address = A } }, to = "0x" .. ("2"):rep(40) }).kind)
    assert.equal("the caller", abi.decode_call(data, { abis = { note } }).source)
  end)

  it("raises for options that are wrong", function()
    local note = assert(abi.parse "f()")
    for _, options in ipairs {
      { abis = note }, { abis = { "f()" } }, { abis = { { origin = "x" } } }, { abis = { { abi = note, adress = A } } },
      { abis = { { abi = note, address = "0x11" } } }, { abis = { { abi = note, chain_id = "01" } } }, { abis = { [2] = note } },
      { to = "0x" }, { now = -1 }, { now = "1" }, { chain_id = 1 },
    } do
      assert.error(function() return abi.decode_call("0x", options) end)
    end
  end)
end)

describe("moonplan.abi.decode_revert", function()
  local POOR = assert(abi.parse "error InsufficientBalance(uint256 available, uint256 required)")
  local options = { abis = { { abi = POOR, origin = "the plan" } } }

  for name, case in pairs {
    ["nothing"] = { "0x", "none", "reverted without data" },
    ["three bytes"] = { "0x08c379", "short", "3 bytes" },
    ["Error(string)"] = { abi.call("Error(string)", "no funds"), "error", '"no funds"' },
    ["a text with a line of its own"] = { abi.call("Error(string)", "\n[OK] verified"), "error", '"\\u{a}[OK] verified"' },
    ["a text that is not UTF-8"] = { "0x08c379a0" .. word "20" .. word "5" .. left "fffefd0041", "error", "\\xff\\xfe\\xfd\\u{0}A" },
    ["a length without a text"] = { "0x08c379a0" .. word "20" .. word "10000000000000000", "malformed", "malformed Error(string)" },
    ["an offset into its own head"] = { "0x08c379a0" .. word "10", "malformed", "malformed Error(string)" },
    ["Panic 0x11"] = { "0x4e487b71" .. word "11", "panic", "Panic 0x11 (arithmetic overflow or underflow)" },
    ["a Panic that nobody knows"] = { "0x4e487b71" .. word("1" .. ("0"):rep(50)), "panic", "Panic with unknown code" },
    ["an error of the ABI"] = { abi.call("InsufficientBalance(uint256,uint256)", 1, 2), "custom",
      'InsufficientBalance(available: 1, required: 2), per "the plan"' },
    ["an error that nobody described"] = { "0x12345678", "unknown", "0x12345678" },
  } do
    it("tells " .. name, function()
      local revert = assert(abi.decode_revert(case[1], options))
      assert.equal(case[2], revert.kind)
      assert(revert.text:find(case[3], 1, true), revert.text)
      assert.equal(case[1], revert.data)
      assert.not_matches("[%c]", revert.text)
    end)
  end
end)
