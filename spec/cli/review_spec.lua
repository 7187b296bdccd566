local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"
local plans = require "spec.support.plans"
local reviews = require "spec.support.reviews"

local function review(plan) return command.run { "review", "-", stdin = plan } end
local function shows(plan, text)
  local outcome = review(plan)
  assert.equal(0, outcome.code)
  assert.truthy(outcome.out:find(text, 1, true), outcome.out)
end

local function with(change) return plans.of { plans.step(1, change) } end

describe("moonplan review", function()
  after_each(command.clean)

  it("lays the golden plan out", function()
    local outcome = command.run { "review", files.root .. "examples/golden.json" }
    assert.equal("", outcome.err)
    assert.equal(0, outcome.code)
    -- Every one of these is a line that a person looks for. The selectors are those of
    -- approve(address,uint256) and swapExactTokensForETH(uint256,uint256,address[],address,uint256).
    for _, line in ipairs {
      "digest  0xd97c68674c9bb8757f6a5f51636f18dd5e89fbca5c7d6c6bf7e7e56610628e83",
      "chain   eip155:1",
      "sender  0xf39fd6e51aad88f6f4ce6ab8827279cff0b92266",
      "3 steps",
      "  1  approval",
      "     to      0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
      "     data    68 bytes, selector 0x095ea7b3",
      "  2  execution",
      "     to      0x7a250d5630b4cf539739df2c5dacb4c659f2488d",
      "     value   0 wei (0 ether)",
      "     data    260 bytes, selector 0x18cbafe5",
      "  3  allowance_cleanup",
      "  if the node fails: retry_same_plan",
      '    "The node did not answer; ask again."',
      "Not covered by the digest: caip2_chain_id, gas, required_capabilities, "
        .. "simulation_failure_policy, extensions",
    } do
      assert.truthy(("\n" .. outcome.out):find("\n" .. line .. "\n", 1, true), line)
    end
    assert.truthy(outcome.out:find("\nThe producer's advice", 1, true), "advice is labelled")
    assert.truthy(outcome.out:find("\n  atomic_batch: ", 1, true))
  end)

  -- 1 ether is 10^18 wei.
  for wei, ether in pairs {
    ["0"] = "0",
    ["1"] = "0.000000000000000001",
    ["10"] = "0.00000000000000001",
    ["999999999999999999"] = "0.999999999999999999",
    ["1000000000000000000"] = "1",
    ["1500000000000000000"] = "1.5",
    ["12000000000000000000"] = "12",
    -- 2^256 - 1
    ["115792089237316195423570985008687907853269984665640564039457584007913129639935"] =
      "115792089237316195423570985008687907853269984665640564039457.584007913129639935",
  } do
    it("gives " .. wei .. " wei in ether, exactly", function()
      shows(with { value = wei }, ("\n     value   %s wei (%s ether)\n"):format(wei, ether))
    end)
  end

  for data, text in pairs {
    ["0x"] = "none",
    ["0x01"] = "1 byte, too short for a selector",
    ["0x010203"] = "3 bytes, too short for a selector",
    ["0x01020304"] = "4 bytes, selector 0x01020304",
    ["0x0102030405"] = "5 bytes, selector 0x01020304",
  } do
    it("says what data " .. data .. " is", function()
      shows(with { data = data }, "\n     data    " .. text .. "\n")
    end)
  end

  it("does not let a producer's words move the cursor or turn around", function()
    local hostile = "pay\\u001b[2J\\u202e\\u0007\u{202e}\u{200b}"
    local words = ('{"action":"user_review","instruction":"%s"}'):format(hostile)
    local outcome = review(plans.of({ plans.step(1) }, (',"simulation_failure_policy":{"rpc_error":%s,'
      .. '"execution_reverted":%s,"simulation_setup_error":%s}'):format(words, words, words)))
    assert.equal(0, outcome.code)
    assert.falsy(outcome.out:find("[\1-\9\11-\31\127]"))
    assert.falsy(outcome.out:find("\u{202e}", 1, true))
    assert.falsy(outcome.out:find("\u{200b}", 1, true))
    assert.truthy(outcome.out:find("pay\\u{1b}[2J\\u{202e}\\u{7}\\u{202e}\\u{200b}", 1, true))
  end)

  it("shows an instruction of the longest length whole", function()
    -- 2000 code points of four bytes, each of which has to be spelled out.
    local words = ('{"action":"user_review","instruction":"%s"}'):format(("\u{e0001}"):rep(2000))
    shows(plans.of({ plans.step(1) }, (',"simulation_failure_policy":{"rpc_error":%s,'
      .. '"execution_reverted":%s,"simulation_setup_error":%s}'):format(words, words, words)),
      ('"%s"'):format(("\\u{e0001}"):rep(2000)))
  end)

  it("says what is required, and of a capability that nobody knows, that", function()
    shows(plans.of({ plans.step(1) }, ',"required_capabilities":["x/y"]'),
      "\n  x/y: not a capability that ERC-8410 defines")
    shows(plans.tiny(), "\nRequires nothing of the wallet")
    assert.equal(2, command.run { "review", "--implements", "", "-",
      stdin = plans.of({ plans.step(1) }, ',"required_capabilities":["x/y"]') }.code)
  end)

  it("says what the digest leaves out only where it is there", function()
    shows(plans.tiny(), "\nNot covered by the digest: caip2_chain_id\n")
    shows(with { gas = "21000" }, "\nNot covered by the digest: caip2_chain_id, gas\n")
    shows(with { revert = '{"kind":"error_result","abi":[{"type":"error","name":"E","inputs":[]}]}' },
      "\nNot covered by the digest: caip2_chain_id, revert_decode\n")
  end)

  it("does not depend on numbers that Lua has not", function()
    shows(plans.of({ plans.step(1, { revert = '{"kind":"error_result","abi":[{"type":"error",'
        .. '"name":"E","inputs":[],"x":1e999}]}' }) }, ',"extensions":{"n":1e999}'),
      "\nNot covered by the digest: caip2_chain_id, revert_decode, extensions\n")
  end)

  it("puts the findings before the steps, the gravest first", function()
    local out = review(reviews.rich()).out
    local danger = out:find("\n  danger[allowance.unlimited] in call 1: ", 1, true)
    local warning = out:find("\n  warning[decode.unknown_selector] in call 2.1.2: ", 1, true)
    local steps = out:find("\n4 steps\n", 1, true)
    assert(danger and warning and steps and danger < warning and warning < steps, out)
    assert.truthy(out:find("\n  info[value.moved] in call 2: ", 1, true))
    shows(plans.tiny(), "\nFindings: none\n")
  end)

  it("shows every call as a tree, with its arguments", function()
    local out = review(reviews.rich()).out
    for _, lines in ipairs {
      "     calls   approve(address,uint256) as in ERC-20, a guess\n"
        .. "       spender  address  0x3333333333333333333333333333333333333333\n"
        .. "       amount   uint256  " .. reviews.MOST .. "\n",
      "       call 2.1, to 0x3333333333333333333333333333333333333333, value 1000000000000000000 wei (1 ether)\n"
        .. "         multicall(bytes[]) as in Uniswap V3, IMulticall, a guess\n",
      "           call 2.1.2, to 0x3333333333333333333333333333333333333333\n"
        .. "             not decoded: nobody described this function\n               0x12345678\n",
      "       call 2.2, to 0x4444444444444444444444444444444444444444\n",
      "\n  A guess: four bytes of a hash",
    } do
      assert.truthy(out:find(lines, 1, true), lines)
    end
  end)

  it("reads calls by ABI files, and components by their names, in their order", function()
    local folder = command.folder()
    command.write(folder .. "/note.abi", reviews.NOTE)
    command.write(folder .. "/p", reviews.rich())
    local run = command.run { "review", "--abi", "note.abi", "p", cd = folder }
    assert.equal(0, run.code)
    assert.truthy(run.out:find("     calls   note(string,(address,(uint256,string)[])) by note.abi, a guess\n", 1, true))
    assert.truthy(run.out:find("       order  (address who, (uint256 amount, string text)[] list)\n"
      .. "         who   address  " .. reviews.OWNER .. "\n"
      .. "         list  (uint256 amount, string text)[]\n"
      .. "           [0]  (uint256 amount, string text)\n"
      .. "             amount  uint256  1\n", 1, true), run.out)
    -- of the one contract that it names, it is no guess
    run = command.run { "review", "--abi", "0x2222222222222222222222222222222222222222=note.abi", "p", cd = folder }
    assert.truthy(run.out:find(" by note.abi\n", 1, true))
  end)

  it("refuses an ABI file that is none, with the place", function()
    local folder = command.folder()
    command.write(folder .. "/bad.abi", "f(uint256)\ng(uint7)")
    local run = command.run { "review", "--abi", "bad.abi", "-", cd = folder, stdin = plans.tiny() }
    assert.equal(2, run.code)
    assert.equal("", run.out)
    assert.matches("^bad%.abi:2:3: error%[abi%.type%]", run.err)
    assert.equal(1, command.run({ "review", "--abi", "none", "-", cd = folder, stdin = plans.tiny() }).code)
  end)

  it("exits with 5 for findings so grave as --fail-on says", function()
    local grave, fine = reviews.rich(), plans.tiny()
    local mild = plans.of { plans.step(1, { data = "0x12345678" }) } -- a warning
    local informed = plans.of { plans.step(1, { gas = "21000" }) } -- no more than information
    for fail_on, wanted in pairs {
      warning = { [grave] = 5, [mild] = 5, [informed] = 0, [fine] = 0 },
      danger = { [grave] = 5, [mild] = 0, [informed] = 0, [fine] = 0 },
    } do
      for plan, code in pairs(wanted) do
        assert.equal(code, command.run({ "review", "--fail-on", fail_on, "-", stdin = plan }).code)
      end
    end
    assert.equal(0, review(grave).code)
    assert.equal(1, command.run({ "review", "--fail-on", "info", "-", stdin = fine }).code)
    assert.equal(2, command.run({ "review", "--fail-on", "warning", "-", stdin = "{}" }).code)
  end)

  it("is one JSON document a file, for programs", function()
    local folder = command.folder()
    command.write(folder .. "/a", reviews.rich())
    command.write(folder .. "/b", "{}")
    local run = command.run { "review", "--json", "--fail-on", "danger", "a", "b", cd = folder }
    assert.equal("", run.err)
    assert.equal(5, run.code)
    local lines = {}
    for line in run.out:gmatch "[^\n]+" do lines[#lines + 1] = assert(moonplan.json.decode(line)) end
    assert.equal(2, #lines)
    assert.same(moonplan.review(reviews.rich()), lines[1].review)
    assert.is_true(lines[1].valid)
    assert.is_false(lines[2].valid)
    assert.equal("document.kind", lines[2].errors[1].code)
    assert.is_nil(lines[2].review)
    assert.is_nil(run.out:find("[\1-\9\11-\31\127]"))
    assert.is_nil(run.out:find("\u{202e}", 1, true))
  end)

  it("says how much it leaves out of long bytes", function()
    shows(with { data = "0x12345678" .. ("ab"):rep(2000) }, ("ab"):rep(1020) .. "... and 980 bytes more\n")
  end)

  it("names the files when there are several, and goes on after a bad one", function()
    local folder = command.folder()
    command.write(folder .. "/a", plans.tiny())
    command.write(folder .. "/b", "{}")
    local outcome = command.run { "review", "a", "b", "a", cd = folder }
    assert.equal(2, outcome.code)
    local _, count = outcome.out:gsub("file    a\n", "")
    assert.equal(2, count)
    assert.truthy(outcome.err:find("^b:1:1: error%[document%.kind%]"))
  end)
end)
