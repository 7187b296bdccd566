-- moonplan send and a real node: anvil, from the npm package @foundry-rs/anvil, in the folder that
-- MOONPLAN_PEERS names (`npm install @foundry-rs/anvil solc` in it).
local chain = require "spec.support.chain"
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"

local call = moonplan.abi.call
local ACCOUNT = chain.account
local FAR = "99999999999"

describe("moonplan send to anvil", function()
  local anvil = chain.anvil()
  if not anvil then
    pending("anvil is not there: set MOONPLAN_PEERS to a folder with @foundry-rs/anvil")
    return
  end

  local node, token, bought, router, moody

  before_each(function()
    node = chain.start(anvil)
    token = node:deploy("StrictToken", "1000000")
    bought = node:deploy("Token", "1000000")
    router = node:deploy("Router")
    moody = node:deploy("Moody")
    node:transact(bought, "transfer(address,uint256)", router, "500000")
    node:rules()
  end)
  after_each(function()
    node:stop()
    command.clean()
  end)

  local function approve(amount)
    return { token, call("approve(address,uint256)", router, amount), kind = "approval" }
  end
  local function swap(amount, least)
    return { router, call("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
      amount, least, { token, bought }, ACCOUNT, FAR) }
  end
  local function allowance() return node:read(token, "allowance(address,address)", ACCOUNT, router) end
  local function balance(of) return node:read(of, "balanceOf(address)", ACCOUNT) end

  it("approves, swaps and takes the rest of the allowance back", function()
    local plan = chain.plan { approve("1500"), swap("1000", "500"), approve("0") }
    local record = command.folder() .. "/record"
    local code, outcome, err = node:send(plan, "--yes", "--record", record)
    assert.equal(0, code, err)
    assert.equal("completed", outcome.status)
    assert.equal(moonplan.digest(plan), outcome.digest)
    assert.equal("plan", outcome.simulation.method)
    assert.equal("999000", balance(token))
    assert.equal("500500", balance(bought))
    assert.equal("0", allowance())
    for n, step in ipairs(outcome.steps) do
      assert.equal("succeeded", step.status)
      assert.equal(step.transaction_hash, step.receipt.transaction_hash)
      local receipt = node:rpc("eth_getTransactionReceipt", step.transaction_hash)
      assert.equal(receipt.blockHash, step.receipt.block_hash)
      assert.equal(receipt.gasUsed, step.receipt.gas_used)
      assert.truthy(err:find(("%d/3 %s ... %s ... done"):format(n, receipt.to,
        step.transaction_hash), 1, true), err)
    end
    local events = {}
    for n, entry in ipairs(chain.record(record)) do events[n] = entry.event end
    assert.same({ "plan", "asking", "sent", "succeeded", "asking", "sent", "succeeded", "asking",
      "sent", "succeeded", "end" }, events)
  end)

  it("sends what it says, with gas and number of its own and not the plan's", function()
    local plan = chain.plan { { bought, call("transfer(address,uint256)", router, "7"), gas = "21" } }
    local code, outcome = node:send(plan, "--yes")
    assert.equal(0, code)
    local sent = node:rpc("eth_getTransactionByHash", outcome.steps[1].transaction_hash)
    assert.same({ ACCOUNT, bought, "0x0", call("transfer(address,uint256)", router, "7") },
      { sent.from, sent.to, sent.value, sent.input })
    assert.equal(outcome.steps[1].request.gas, sent.gas)
    assert.equal(outcome.steps[1].request.nonce, sent.nonce)
    assert.is_true(tonumber(sent.gas) > 21000)
  end)

  it("moves ether", function()
    local other = "0x" .. ("5a"):rep(20)
    local code = node:send(chain.plan { { other, "0x", "1234567890123456789" } }, "--yes")
    assert.equal(0, code)
    assert.equal("1234567890123456789",
      moonplan.abi.decode("(uint256)", "0x" .. ("0"):rep(48) .. ("%016x"):format(
        tonumber(node:rpc("eth_getBalance", other, "latest"))))[1])
  end)

  it("tries the whole plan before anything is sent", function()
    local before = node:rpc("eth_blockNumber")
    local code, outcome, err = node:send(chain.plan { approve("1000"), swap("1000", "501"), approve("0") },
      "--yes")
    assert.equal(3, code)
    assert.equal("send.execution_reverted", outcome.error.code)
    assert.equal(2, outcome.error.step)
    assert.equal("UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT", outcome.error.revert.reason)
    assert.truthy(err:find('error[send.execution_reverted] at /ordered_steps/1: reverted with '
      .. '"UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT"', 1, true), err)
    assert.equal(0, outcome.asked)
    assert.same({ "not_sent", "not_sent", "not_sent" }, chain.statuses(outcome))
    assert.equal(before, node:rpc("eth_blockNumber"))
    assert.equal(0, node:count("eth_sendTransaction"))
  end)

  it("sees that a token refuses an allowance over another", function()
    node:transact(token, "approve(address,uint256)", router, "5")
    local code, outcome = node:send(chain.plan { approve("1000"), swap("1000", "500") }, "--yes")
    assert.equal(3, code)
    assert.equal("approve from non-zero to non-zero", outcome.error.revert.reason)
    code = node:send(chain.plan { approve("0"), approve("1000"), swap("1000", "500") }, "--yes")
    assert.equal(0, code)
  end)

  it("takes a token that says false for what it is: nothing reverts", function()
    local false_token = node:deploy("FalseToken", "10")
    local code, outcome = node:send(chain.plan {
      { false_token, call("transfer(address,uint256)", router, "11") } }, "--yes")
    assert.equal(0, code)
    assert.same({ "succeeded" }, chain.statuses(outcome))
    assert.equal("10", node:read(false_token, "balanceOf(address)", ACCOUNT))
  end)

  local LATER = {
    kind = "error_result", required = true,
    abi = { { type = "error", name = "Later", inputs = { { name = "price", type = "uint256" } } } },
  }

  -- The contract is fine with being tried, at a gas price of zero, and reverts when it is sent.
  it("stops at the step that reverts, and decodes why", function()
    local record = command.folder() .. "/record"
    local code, outcome, err = node:send(chain.plan {
      approve("1000"), { moody, moonplan.abi.selector("act()"), revert = LATER }, approve("0") },
      "--yes", "--record", record)
    assert.equal(3, code)
    assert.equal("failed", outcome.status)
    assert.same({ "succeeded", "reverted", "not_sent" }, chain.statuses(outcome))
    assert.equal("Later(uint256)", outcome.steps[2].revert.signature)
    assert.equal("7", outcome.steps[2].revert.arguments[1].value)
    assert.equal("0x0", outcome.steps[2].receipt.status)
    assert.truthy(err:find("error[send.execution_reverted] at /ordered_steps/1: reverted as "
      .. "Later(price: 7)", 1, true), err)
    assert.is_nil(err:find("could not be", 1, true))
    assert.equal(2, node:count("eth_sendTransaction"))
    assert.equal("1000", allowance())
    local last = chain.record(record)
    assert.equal("failed", last[#last].status)
  end)

  it("says when a revert that must be decoded could not be", function()
    LATER.abi[1].name = "Sooner"
    local _, outcome, err = node:send(chain.plan {
      { moody, moonplan.abi.selector("act()"), revert = LATER } }, "--yes")
    assert.is_false(outcome.error.revert.decoded)
    assert.is_true(outcome.error.revert.required)
    assert.truthy(err:find("note: the producer requires that what this call reverts with is "
      .. "decoded, and it could not be", 1, true), err)
  end)

  it("refuses what wallet.rpc does not implement, before the node is asked", function()
    for _, name in ipairs { "atomic_batch", "nobody/implements-this" } do
      node:rules()
      local code, outcome, err = node:send(chain.plan({ approve("1") },
        { required_capabilities = { name } }), "--yes")
      assert.equal(2, code)
      assert.is_nil(outcome)
      assert.truthy(err:find("error[call.capability_unknown] at /required_capabilities/0: the plan "
        .. 'requires "' .. name .. '"', 1, true), err)
      assert.same({}, (node:log()))
    end
  end)

  it("leaves a clear record when the node dies half-way", function()
    for _, how in ipairs { "kill", "close" } do
      local record = command.folder() .. "/record"
      node:rules({ method = "eth_sendTransaction", nth = 2, [how] = true })
      local code, outcome, err = node:send(chain.plan { approve("7"), approve("0"), approve("8") },
        "--yes", "--record", record)
      assert.equal(4, code, err)
      assert.equal("unknown", outcome.status)
      assert.equal("send.unknown", outcome.error.code)
      assert.same({ "succeeded", "unknown", "not_sent" }, chain.statuses(outcome))
      assert.truthy(err:find("note: look for the account's transaction number "
        .. ("%d"):format(tonumber(outcome.steps[2].request.nonce)), 1, true), err)
      local events = {}
      for n, entry in ipairs(chain.record(record)) do events[n] = { entry.event, entry.step } end
      assert.same({ { "plan" }, { "asking", 1 }, { "sent", 1 }, { "succeeded", 1 }, { "asking", 2 },
        { "unknown", 2 }, { "end" } }, events)
      if how == "kill" then
        node:stop()
        node = chain.start(anvil)
        token, router = node:deploy("StrictToken", "1000000"), "0x" .. ("9b"):rep(20)
      end
    end
  end)

  it("never asks again for what the node got and did not answer", function()
    node:rules({ method = "eth_sendTransaction", nth = 1, lose = true })
    local code, outcome = node:send(chain.plan { approve("7"), approve("0") }, "--yes",
      "--retry-rpc", "5")
    assert.equal(4, code)
    assert.same({ "unknown", "not_sent" }, chain.statuses(outcome))
    assert.equal(1, node:count("eth_sendTransaction"))
    assert.equal("7", allowance()) -- it was sent
  end)

  it("says what it cannot tell where the node tries calls only one by one", function()
    node:rules({ method = "eth_simulateV1", error = { code = -32601, message = "Method not found" } })
    local code, outcome, err = node:send(chain.plan { approve("1000"), swap("1000", "500") }, "--yes")
    assert.equal(0, code, err)
    assert.equal("calls", outcome.simulation.method)
    assert.equal(2, #outcome.simulation.notes)
    assert.truthy(err:find("note: step 2 fails when it is tried alone", 1, true), err)
    -- Of the first, it is certain.
    code, outcome = node:send(chain.plan { swap("1000", "500"), approve("0") }, "--yes")
    assert.equal(3, code)
    assert.equal(1, outcome.error.step)
    assert.equal(0, outcome.asked)
    -- And a later one is tried again on the state that it is sent on.
    code, outcome = node:send(chain.plan { approve("0"), swap("1000", "500") }, "--yes")
    assert.equal(3, code)
    assert.same({ "succeeded", "not_sent" }, chain.statuses(outcome))
    assert.equal(2, outcome.error.step)
  end)

  it("tells apart what cannot even be tried", function()
    local code, outcome, err = node:send(chain.plan({ { router, "0x", "1" .. ("0"):rep(30) } }, {
      simulation_failure_policy = {
        rpc_error = { action = "retry_same_plan", instruction = "again" },
        execution_reverted = { action = "reprepare_plan", instruction = "anew" },
        simulation_setup_error = { action = "user_review", instruction = "look \u{202e}here" },
      } }), "--yes")
    assert.equal(3, code)
    assert.equal("send.simulation_setup_error", outcome.error.code)
    assert.equal("user_review", outcome.error.advice.action)
    assert.truthy(err:find('note: the producer\'s advice, which nobody has checked and which permits '
      .. 'nothing: user_review, "look \\u{202e}here"', 1, true), err)
  end)

  it("refuses another chain and an account that is not there", function()
    local code, outcome = node:send(chain.plan({ { router, "0x" } }, { chain_id = "1" }), "--yes")
    assert.equal(2, code)
    assert.equal("send.chain", outcome.error.code)
    code, outcome = node:send(chain.plan({ { router, "0x" } }, { sender = router }), "--yes")
    assert.equal(2, code)
    assert.equal("send.account", outcome.error.code)
  end)

  describe("carries out what the builders build:", function()
    -- The plan that a builder makes, with chain and sender filled in.
    local function build(name, params)
      params.chain, params.sender = 31337, ACCOUNT
      local path = command.write(command.folder() .. "/params.json", assert(moonplan.json.encode(params)))
      local run = command.run { "build", name, "--params", path }
      assert.equal(0, run.code, run.err)
      return run.out
    end
    local function send(plan)
      node:order { ["do"] = "wallet", atomic = "supported" }
      local code, outcome, err = node:send(plan, "--executor", "wallet.sendcalls", "--yes")
      assert.equal(0, code, err)
      assert.equal("completed", outcome.status)
    end

    it("a swap of tokens for tokens", function()
      local plan = build("swap.exact_input", { router = router, path = { token, bought }, amount_in = "1000",
        amount_out_min = "500", deadline = tonumber(FAR) })
      send(plan)
      assert.same({ "999000", "500500", "0" }, { balance(token), balance(bought), allowance() })
      -- The producer asked for all or nothing, which call after call is not.
      local code, _, err = node:send(plan, "--yes")
      assert.equal(2, code)
      assert.truthy(err:find("call.capability_unknown", 1, true))
    end)

    it("approve and call, over an allowance that the token must be rid of first", function()
      node:transact(token, "approve(address,uint256)", router, "5")
      send(build("erc20.approve_and_call", { token = token, spender = router, amount = "1500", reset_first = true,
        data = swap("1000", "500")[2] }))
      assert.same({ "999000", "500500", "0" }, { balance(token), balance(bought), allowance() })
    end)

    it("transfers and approvals, call after call", function()
      local code, _, err = node:send(build("erc20.transfer", { token = bought, recipient = router, amount = "7" }), "--yes")
      assert.equal(0, code, err)
      assert.equal("499993", balance(bought))
      code, _, err = node:send(build("erc20.approve", { token = token, spender = router, amount = "9" }), "--yes")
      assert.equal(0, code, err)
      assert.equal("9", allowance())
      code, _, err = node:send(build("approvals.revoke", { token = token, spender = router }), "--yes")
      assert.equal(0, code, err)
      assert.equal("0", allowance())
      local native = build("native.transfer", { recipient = router, amount = "1 gwei" })
      code, _, err = node:send(native, "--yes")
      assert.equal(0, code, err)
      assert.equal("0x3b9aca00", node:rpc("eth_getBalance", router, "latest"))
    end)
  end)

  describe("through wallet.sendcalls", function()
    local function send(plan, ...) return node:send(plan, "--executor", "wallet.sendcalls", "--yes", ...) end
    local ATOMIC = { required_capabilities = { "atomic_batch" } }

    for _, status in ipairs { "supported", "ready" } do
      it("has a plan carried out as one, by a wallet whose atomic status is " .. status, function()
        node:order { ["do"] = "wallet", atomic = status }
        local code, outcome, err = send(chain.plan({ approve("1000"), swap("1000", "500") }, ATOMIC))
        assert.equal(0, code, err)
        assert.equal("completed", outcome.status)
        assert.is_true(outcome.atomic)
        assert.same({ "succeeded", "succeeded" }, chain.statuses(outcome))
        assert.equal(1, #outcome.receipts)
        assert.equal("500500", balance(bought))
      end)
    end

    it("hands over exactly what `convert` makes of the plan", function()
      node:order { ["do"] = "wallet", atomic = "supported" }
      local plan = chain.plan({ approve("1000"), swap("1000", "500") }, ATOMIC)
      local code, outcome = send(plan)
      assert.equal(0, code)
      local methods, params = node:log()
      local handed
      for n, method in ipairs(methods) do
        if method == "wallet_sendCalls" then handed = params[n][1] end
      end
      assert.equal(outcome.id, handed.id)
      handed.id = nil
      assert.same(moonplan.json.decode((moonplan.convert.to_send_calls(plan))), handed)
    end)

    it("takes a wallet that does one call after the other, unless atomic_batch is required", function()
      node:order { ["do"] = "wallet", atomic = "unsupported" }
      local calls = { approve("1000"), swap("1000", "500") }
      local code, outcome = send(chain.plan(calls))
      assert.equal(0, code)
      assert.is_false(outcome.atomic)
      assert.same({ "succeeded", "succeeded" }, chain.statuses(outcome))
      assert.equal(2, #outcome.receipts)
      node:rules()
      local err
      code, outcome, err = send(chain.plan(calls, ATOMIC))
      assert.equal(2, code)
      assert.is_nil(outcome)
      assert.truthy(err:find("error[call.capability_unknown]", 1, true), err)
      assert.equal(0, node:count("wallet_sendCalls"))
    end)

    it("reports a batch that reverted as one, and one that did so in part", function()
      local calls = { approve("1000"), { moody, moonplan.abi.selector("act()") }, approve("0") }
      node:order { ["do"] = "wallet", atomic = "supported" }
      local code, outcome = send(chain.plan(calls, ATOMIC))
      assert.equal(3, code)
      assert.same({ "reverted", "reverted", "reverted" }, chain.statuses(outcome))
      assert.equal("0", allowance())
      node:order { ["do"] = "wallet" }
      code, outcome = send(chain.plan(calls))
      assert.equal(3, code)
      assert.equal("send.execution_reverted", outcome.error.code)
      assert.equal("1000", allowance())
      assert.equal(2, #outcome.receipts)
    end)

    it("does not believe a wallet that was to act as one and did not", function()
      node:order { ["do"] = "wallet", atomic = "supported", lies = true }
      local code, outcome = send(chain.plan({ approve("1000"), swap("1000", "500") }, ATOMIC))
      assert.equal(3, code)
      assert.equal("send.not_atomic", outcome.error.code)
      assert.equal(2, #outcome.receipts)
    end)
  end)
end)

describe("the contracts of the specs", function()
  local peers = os.getenv("MOONPLAN_PEERS")
  local there = peers and io.open(peers .. "/node_modules/solc/package.json")
  if not there or not os.execute("node --version >/dev/null 2>&1") then
    pending("solc is not there: set MOONPLAN_PEERS to a folder with solc, and have node")
    return
  end
  there:close()

  it("are what the compiler makes of their source", function()
    local outcome = command.shell(("node %sspec/support/compile.cjs %s %sspec/data/contracts.sol"):format(
      files.root, files.quote(peers), files.root))
    assert.equal(0, outcome.code, outcome.err)
    local made, kept = moonplan.json.decode(outcome.out), chain.contracts()
    if made.compiler ~= kept.compiler then
      pending("the compiler at hand is " .. made.compiler .. ", they were made by " .. kept.compiler)
      return
    end
    assert.same(kept.contracts, made.contracts)
  end)
end)
