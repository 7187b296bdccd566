local command = require "spec.support.command"
local moonplan = require "moonplan"

local abi = moonplan.abi
local A = "0x" .. ("11"):rep(20)
local TRANSFER = abi.call("transfer(address,uint256)", A, 5)

local function decode(...) return command.run { "decode", ... } end

describe("moonplan decode", function()
  after_each(command.clean)

  it("shows what calldata calls", function()
    local run = decode(TRANSFER)
    assert.equal(0, run.code)
    assert.equal("", run.err)
    assert.truthy(run.out:find("\ntransfer(address,uint256) as in ERC-20, a guess\n"
      .. "  to      address  " .. A .. "\n  amount  uint256  5\n", 1, true), run.out)
  end)

  it("reads them from standard input", function()
    local run = command.run { "decode", "-", stdin = TRANSFER .. "\n" }
    assert.equal(decode(TRANSFER).out, run.out)
  end)

  it("uses ABI files, for functions and for errors", function()
    local folder = command.folder()
    local path = command.write(folder .. "/token.abi", "note(string text)\nerror Poor(uint256 available, uint256 required)")
    local run = decode("--abi", path, abi.call("note(string)", "hello\27[2J"))
    assert.truthy(run.out:find('text  string  "hello\\u{1b}[2J"', 1, true), run.out)
    run = decode("--abi", path, abi.call("Poor(uint256,uint256)", 1, 2))
    assert.truthy(run.out:find("reverted as Poor(available: 1, required: 2), per ", 1, true), run.out)
    assert.truthy(run.out:find("\n  available  uint256  1\n  required   uint256  2\n", 1, true), run.out)
    -- without the file nobody knows them
    assert.truthy(decode(abi.call("note(string)", "hello")).out:find("nobody described", 1, true))
  end)

  for name, case in pairs {
    ["Error(string)"] = { abi.call("Error(string)", "\n[OK] verified by wallet"), 'reverted with "\\u{a}[OK] verified by wallet"' },
    ["Panic(uint256)"] = { abi.call("Panic(uint256)", 17), "Panic 0x11 (arithmetic overflow or underflow)" },
  } do
    it("knows a revert by its selector: " .. name, function()
      local run = decode(case[1])
      assert.equal(0, run.code)
      assert.equal(case[2], run.out:match "^[^\n]*")
      assert.truthy(decode("--as", "call", case[1]).out:find("nobody described", 1, true))
    end)
  end

  it("takes bytes for a revert when told so", function()
    assert.equal("reverted without data\n", decode("--as", "revert", "0x").out)
    assert.equal("reverted with 3 bytes, too short for an error\n  0x08c379\n", decode("--as", "revert", "0x08c379").out)
    assert.truthy(decode("0x").out:find("no calldata", 1, true))
  end)

  it("has findings, and an exit code for them", function()
    local unlimited = abi.call("approve(address,uint256)", A,
      "115792089237316195423570985008687907853269984665640564039457584007913129639935")
    assert.truthy(decode(unlimited).out:find("danger[allowance.unlimited]", 1, true))
    assert.equal(5, decode("--fail-on", "danger", unlimited).code)
    assert.equal(0, decode("--fail-on", "danger", TRANSFER).code)
    -- still an approve, with a byte behind it
    local run = decode("--fail-on", "danger", unlimited .. "00")
    assert.equal(5, run.code)
    assert.truthy(run.out:find("decode.not_canonical", 1, true))
    assert.truthy(run.out:find("approve(address,uint256)", 1, true))
  end)

  it("is JSON when asked for", function()
    assert.same(abi.decode_call(TRANSFER), moonplan.json.decode(decode("--json", TRANSFER).out))
    assert.equal("none", moonplan.json.decode(decode("--json", "--as", "revert", "0x").out).kind)
  end)

  it("refuses what is not bytes", function()
    for _, data in ipairs { "0x0", "0xabc", "ab", "0x 00", "0xg0", "" } do
      local run = decode(data)
      assert.equal(2, run.code)
      assert.equal("", run.out)
      assert.matches("error%[abi%.value%]", run.err)
    end
    assert.equal(1, decode().code)
    assert.equal(1, decode("--to", "0x11", "0x").code)
    assert.equal(1, decode("--chain", "x", "0x").code)
  end)

  it("bounds what is decoded by the limits", function()
    local data = abi.call("multicall(bytes[])", { "0x", "0x", "0x", "0x" })
    assert.truthy(decode("--limit", "abi_words=3", data).out:find("danger[decode.budget]", 1, true))
  end)
end)
