-- moonplan send and a node that knows just enough, and misbehaves on request. Real nodes are asked
-- in send_anvil_spec.lua.
local chain = require "spec.support.chain"
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"

local NULL = require "cjson".new().null
local SMALL = chain.small
local HASH = "0x" .. ("ab"):rep(32)

local function plan(count, more)
  local all = { chain_id = SMALL.chain_id, sender = SMALL.sender }
  for name, value in pairs(more or {}) do all[name] = value end
  return chain.plan(chain.calls(count), all)
end

local POLICY = { simulation_failure_policy = {
  rpc_error = { action = "retry_same_plan", instruction = "ask again" },
  execution_reverted = { action = "reprepare_plan", instruction = "make another" },
  simulation_setup_error = { action = "user_review", instruction = "look" },
} }

describe("moonplan send", function()
  local node
  before_each(function() node = chain.start() end)
  after_each(function()
    node:stop()
    command.clean()
  end)

  it("asks in order, and sends each call once the one before it has succeeded", function()
    local code, outcome, err = node:send(plan(2), "--yes")
    assert.equal(0, code, err)
    assert.same({ "succeeded", "succeeded" }, chain.statuses(outcome))
    assert.same({ "eth_chainId", "eth_accounts", "eth_simulateV1",
      "eth_getTransactionCount", "eth_estimateGas", "eth_chainId", "eth_sendTransaction", "eth_getTransactionReceipt",
      "eth_getTransactionCount", "eth_estimateGas", "eth_chainId", "eth_sendTransaction", "eth_getTransactionReceipt",
    }, (node:log()))
    assert.equal(2, select(2, err:gsub("%d/2 0x2222", "")))
  end)

  it("sends nothing with --simulate-only", function()
    local code, outcome, err = node:send(plan(2), "--simulate-only")
    assert.equal(0, code, err)
    assert.equal("simulated", outcome.status)
    assert.same({ "eth_chainId", "eth_accounts", "eth_simulateV1" }, (node:log()))
    assert.truthy(err:find("Simulation: all calls were tried in order", 1, true))
  end)

  describe("asks whoever sits at the terminal", function()
    local function typed(answer)
      local path = command.write(command.folder() .. "/plan.json", plan(1))
      local text = command.text { "send", path, "--rpc", node.url, env = { TERM = "xterm", NO_COLOR = "1" } }
      local outcome = command.shell("script -qec " .. files.quote(text) .. " /dev/null", answer)
      return outcome.code, (outcome.out:gsub("\r", ""))
    end

    it("and sends it after yes", function()
      local code, shown = typed("yes\n")
      assert.equal(0, code, shown)
      -- What is agreed to was seen: the review, its findings, how it was tried.
      for _, words in ipairs { moonplan.digest(plan(1)), "decode.unknown_selector", "Simulation: all calls",
        "Send 1 call from " .. SMALL.sender .. " on eip155:1 through wallet.rpc?" } do
        assert.truthy(shown:find(words, 1, true), words .. "\n" .. shown)
      end
      assert.equal(1, node:count("eth_sendTransaction"))
    end)

    -- The terminal is standard output's alone, or standard error's.
    for to, coloured in pairs { ["2>"] = false, [">"] = true } do
      it(("in colours only what a terminal shows: %sFILE"):format(to), function()
        local folder = command.folder()
        local path, other = command.write(folder .. "/plan.json", plan(1)), folder .. "/other"
        local text = command.text { "send", path, "--rpc", node.url, "--yes", env = { TERM = "xterm" } }
        local outcome = command.shell(("script -qec %s /dev/null"):format(
          files.quote(("%s %s%s"):format(text, to, files.quote(other)))))
        assert.equal(0, outcome.code, outcome.out)
        local said = coloured and outcome.out or files.read(other)
        assert.truthy(said:find("decode.unknown_selector", 1, true), said)
        assert.equal(coloured, said:find("\27[33mwarning", 1, true) ~= nil, said)
      end)
    end

    for _, answer in ipairs { "no\n", "\n", "y\n", "yes please\n", "\4" } do
      it(("and does not after %q"):format(answer), function()
        local code, shown = typed(answer)
        assert.equal(2, code, shown)
        assert.truthy(shown:find("send.declined", 1, true))
        assert.equal(0, node:count("eth_sendTransaction"))
      end)
    end
  end)

  it("wants --yes where nobody can be asked, before the node hears of it", function()
    local code, outcome, err = node:send(plan(1))
    assert.equal(1, code)
    assert.is_nil(outcome)
    assert.truthy(err:find("--yes", 1, true))
    assert.same({}, (node:log()))
  end)

  it("sends nothing that --fail-on forbids", function()
    local code, outcome, err = node:send(plan(1), "--yes", "--fail-on", "warning")
    assert.equal(5, code)
    assert.is_nil(outcome)
    assert.truthy(err:find("decode.unknown_selector", 1, true))
    assert.same({}, (node:log()))
  end)

  it("needs a node, and an executor that there is", function()
    local run = command.run { "send", "-", "--yes", stdin = plan(1) }
    assert.equal(1, run.code)
    assert.truthy(run.err:find("needs rpc:wallet", 1, true), run.err)
    local code, _, err = node:send(plan(1), "--yes", "--executor", "wallet.none")
    assert.equal(1, code)
    assert.truthy(err:find('error[send.executor]: no plugin brings an executor "wallet.none"', 1, true), err)
    code, _, err = node:send(plan(1), "--yes", "--executor", "text.count")
    assert.equal(1, code)
    assert.truthy(err:find('"text.count" is a capability', 1, true), err)
  end)

  it("refuses what is no call plan", function()
    local code, outcome, err = node:send("{}", "--yes")
    assert.equal(2, code)
    assert.is_nil(outcome)
    assert.truthy(err:find("error[document.kind]", 1, true))
  end)

  it("sends no other plan than was agreed to", function()
    local agreed = moonplan.digest(plan(2))
    local code, outcome, err = node:send(plan(1), "--yes", "--digest", agreed)
    assert.equal(2, code)
    assert.is_nil(outcome)
    for _, digest in ipairs { agreed, moonplan.digest(plan(1)) } do assert.truthy(err:find(digest, 1, true)) end
    assert.same({}, (node:log()))
    assert.equal(0, (node:send(plan(2), "--yes", "--digest", agreed)))
  end)

  it("lets no producer speak in its own voice", function()
    local text = plan(1):gsub('"kind":"execution",', '"kind":"execution","revert_decode":{"kind":"error_result",'
      .. '"abi":[{"type":"error","name":"Approved_by_wallet_press_yes","inputs":[]}]},')
    for data, shown in pairs {
      [moonplan.abi.selector("error Approved_by_wallet_press_yes()")] =
        'reverted as Approved_by_wallet_press_yes(), per "the ABI that the plan supplies"',
      [moonplan.abi.encode("error Error(string)", { "\n[OK] verified by wallet" })] =
        'reverted with "\\u{a}[OK] verified by wallet"',
    } do
      node:rules({ method = "eth_estimateGas", error = { code = 3, message = "execution reverted", data = data } })
      local code, _, err = node:send(text, "--yes")
      assert.equal(3, code)
      assert.truthy(err:find(shown, 1, true), err)
    end
  end)

  -- -- The node fails ------------------------------------------------------------------------

  it("says rpc_error where the node is not there, and shows the advice for it", function()
    local url = node.url
    node:stop()
    local run = command.run { "send", "-", "--yes", "--rpc", url, stdin = plan(1, POLICY) }
    node = chain.start()
    assert.equal(1, run.code)
    local outcome = assert(moonplan.json.decode(run.out))
    assert.equal("send.rpc_error", outcome.error.code)
    assert.equal("ask again", outcome.error.advice.instruction)
    assert.truthy(run.err:find("retry_same_plan", 1, true))
  end)

  it("acts on no advice by itself", function()
    node:rules({ method = "eth_chainId", close = true })
    assert.equal(1, (node:send(plan(1, POLICY), "--yes")))
    assert.equal(1, node:count("eth_chainId"))
  end)

  it("asks again as often as --retry-rpc says, and then no more", function()
    node:rules({ method = "eth_chainId", nth = 1, close = true }, { method = "eth_chainId", nth = 2, status = 503 })
    assert.equal(1, (node:send(plan(1), "--yes", "--retry-rpc", "1")))
    assert.equal(2, node:count("eth_chainId"))
    node:rules({ method = "eth_chainId", nth = 1, close = true }, { method = "eth_estimateGas", nth = 1,
      error = { code = -32603, message = "internal error" } })
    local code, outcome, err = node:send(plan(1), "--yes", "--retry-rpc", "1")
    assert.equal(0, code, err)
    assert.equal("completed", outcome.status)
    assert.equal(2, node:count("eth_estimateGas"))
    assert.equal(2, select(2, err:gsub("retry: ", "")))
  end)

  it("does not ask again for what reverts or cannot be tried", function()
    for code, error in pairs { execution_reverted = { code = 3, message = "execution reverted", data = "0x" },
      simulation_setup_error = { code = -38014, message = "insufficient funds" } } do
      node:rules({ method = "eth_simulateV1", error = error })
      local exit, outcome = node:send(plan(1), "--yes", "--retry-rpc", "3")
      assert.equal(3, exit)
      assert.equal("send." .. code, outcome.error.code)
      assert.equal(1, node:count("eth_simulateV1"))
    end
  end)

  -- JSON-RPC 2.0: -32601; EIP-1474: -32004; EIP-1193: 4200, 4100; Besu: -32604; gateways: their words under
  -- other codes, or a status of HTTP (RFC 9110, 15.5 and 15.6.2).
  it("tries each call alone where a node does not have eth_simulateV1, however it says so", function()
    local answers = {}
    for _, said in ipairs { { -32601, "Method not found" }, { -32604, "Method not enabled" }, { -32004, "" }, { 4200, "" },
      { 4100, "Unauthorized" }, { -32600, "Unsupported method: eth_simulateV1 on ETH_MAINNET" },
      { -32000, "the method eth_simulateV1 does not exist/is not available" }, { -32603, "Method not implemented" },
      { -32601, "" }, { 0, "eth_simulateV1 is disabled" }, { -32001, "method not found" } } do
      answers[#answers + 1] = { error = { code = said[1], message = said[2] } }
    end
    for _, status in ipairs { 400, 401, 403, 404, 405, 501 } do answers[#answers + 1] = { status = status } end
    for n, rule in ipairs(answers) do
      rule.method = "eth_simulateV1"
      node:rules(rule)
      local code, outcome, err = node:send(plan(2), "--simulate-only")
      assert.equal(0, code, n .. err)
      assert.equal("calls", outcome.simulation.method)
      assert.same({ "eth_chainId", "eth_accounts", "eth_simulateV1", "eth_call", "eth_call" }, (node:log()))
    end
  end)

  it("takes no other failure for a node that does not have it", function()
    for n, case in ipairs { { "rpc_error", { status = 408 } }, { "rpc_error", { status = 429 } }, { "rpc_error", { status = 500 } },
      { "rpc_error", { status = 503 } }, { "rpc_error", { close = true } }, { "rpc_error", { body = "method not found" } },
      { "rpc_error", { error = { code = -32000, message = "header not found" } } },
      { "rpc_error", { error = { code = -32603, message = "method handler crashed" } } },
      { "execution_reverted", { error = { code = 3, message = "execution reverted: method not supported" } } },
      { "execution_reverted", { error = { code = -32000, message = "execution reverted: unsupported method" } } },
      { "simulation_setup_error", { error = { code = -32602, message = "eth_simulateV1: field not supported" } } },
      { "simulation_setup_error", { error = { code = -38014, message = "method not supported" } } } } do
      case[2].method = "eth_simulateV1"
      node:rules(case[2])
      local _, outcome, err = node:send(plan(2), "--yes")
      assert.equal("send." .. case[1], outcome.error.code, n .. err)
      assert.equal(0, node:count("eth_call"))
    end
    -- A node that has neither can try nothing.
    node:rules({ method = "eth_simulateV1", error = { code = -32604, message = "" } },
      { method = "eth_call", error = { code = -32604, message = "Method not enabled" } })
    local _, tried = node:send(plan(1), "--simulate-only")
    assert.equal("none", tried.simulation.method)
    -- What eth_call says in words may be a contract's.
    node:rules({ method = "eth_simulateV1", error = { code = -32601, message = "" } },
      { method = "eth_call", error = { code = -32000, message = "method not supported" } })
    local code, outcome = node:send(plan(1), "--yes")
    assert.equal(1, code)
    assert.equal("send.rpc_error", outcome.error.code)
    assert.equal(0, node:count("eth_sendTransaction"))
  end)

  it("stops where an estimate reverts, on the state that the step would be sent on", function()
    node:rules({ method = "eth_estimateGas", nth = 2, error = { code = 3, message = "execution reverted",
      data = moonplan.abi.encode("error Error(string)", { "too late" }) } })
    local code, outcome = node:send(plan(3), "--yes")
    assert.equal(3, code)
    assert.same({ "succeeded", "not_sent", "not_sent" }, chain.statuses(outcome))
    assert.equal("too late", outcome.error.revert.reason)
    assert.equal(1, node:count("eth_sendTransaction"))
  end)

  it("says refused where the node says that it did not sign", function()
    for code, words in pairs { [4001] = "", [4100] = "already", [-32000] = "insufficient funds for gas * price + value",
      [-32003] = "", [-32602] = "", [-32604] = "" } do
      node:rules({ method = "eth_sendTransaction", error = { code = code, message = words .. "no \u{1b}[2J" } })
      local exit, outcome, err = node:send(plan(2), "--yes")
      assert.equal(3, exit)
      assert.equal("send.refused", outcome.error.code)
      assert.same({ "refused", "not_sent" }, chain.statuses(outcome))
      assert.is_nil(err:find("\27", 1, true))
    end
  end)

  it("says unknown where a transaction was asked for and nobody can tell", function()
    for _, rule in ipairs { { close = true }, { lose = true }, { status = 500 }, { body = "{" },
      { body = '{"jsonrpc":"2.0","id":"other","result":"' .. HASH .. '"}' }, { result = "0x1234" }, { result = 7 },
      { result = NULL }, { error = { code = -32603, message = "internal error" } }, { zeros = 9 << 20 } } do
      rule.method = "eth_sendTransaction"
      node:rules(rule)
      local code, outcome, err = node:send(plan(2), "--yes", "--retry-rpc", "2")
      assert.equal(4, code, err)
      assert.equal("unknown", outcome.status)
      assert.equal("send.unknown", outcome.error.code)
      assert.same({ "unknown", "not_sent" }, chain.statuses(outcome))
      assert.equal(1, outcome.asked)
      assert.equal(1, node:count("eth_sendTransaction"))
    end
  end)

  -- Words of go-ethereum's pool and server, Nethermind, Erigon and anvil.
  it("says unknown where an error may come after the fact", function()
    for words, code in pairs { ["already known"] = -32000, ["AlreadyKnown"] = -32010, ["nonce too low"] = -32003,
      ["transaction already imported"] = -32003, ["replacement transaction underpriced"] = -32000,
      ["request timed out"] = -32002, ["something went wrong"] = -32000 } do
      node:rules({ method = "eth_sendTransaction", error = { code = code, message = words } })
      local exit, outcome = node:send(plan(1), "--yes")
      assert.equal(4, exit, words)
      assert.equal("send.unknown", outcome.error.code)
    end
  end)

  it("sends nothing to another chain than it began with", function()
    -- Once at the beginning, and once before each step.
    node:rules({ method = "eth_chainId", nth = 3, result = "0xa" })
    local code, outcome, err = node:send(plan(2), "--yes")
    assert.equal(3, code)
    assert.equal("send.chain", outcome.error.code)
    assert.truthy(err:find("the node is on chain 0xa", 1, true), err)
    assert.same({ "succeeded", "not_sent" }, chain.statuses(outcome))
    local methods, params = node:log()
    for n, method in ipairs(methods) do
      if method == "eth_sendTransaction" then assert.equal("0x1", params[n][1].chainId) end
    end
  end)

  it("takes no transaction for two steps", function()
    node:rules({ method = "eth_sendTransaction", nth = 2, result = ("0x%064x"):format(0xABC001) })
    local code, outcome = node:send(plan(3), "--yes")
    assert.equal(4, code)
    assert.same({ "succeeded", "unknown", "not_sent" }, chain.statuses(outcome))
  end)

  -- A pool of nodes, of which one is behind: its number is taken, and what it tries reverts.
  it("asks again where a node has not seen the step before", function()
    node:rules({ method = "eth_getTransactionCount", nth = 2, result = "0x0" },
      { method = "eth_estimateGas", nth = 2, error = { code = 3, message = "execution reverted: allowance" } },
      { method = "eth_getTransactionCount", nth = 3, result = "0x0" })
    local code, outcome, err = node:send(plan(2), "--yes")
    assert.equal(0, code, err)
    assert.same({ "succeeded", "succeeded" }, chain.statuses(outcome))
    assert.equal("0x1", outcome.steps[2].request.nonce)
    assert.equal(4, node:count("eth_getTransactionCount"))
    assert.equal(2, node:count("eth_sendTransaction"))
    local shown = "retry: the node gives the transaction of step 2 the number 0x0, and that of step 1, which succeeded, had 0x0"
    assert.truthy(err:find(shown, 1, true), err)
    assert.equal(1, select(2, err:gsub("retry: ", "")))
  end)

  it("gives no number to two steps, and doubts nothing that is done", function()
    node:rules({ method = "eth_getTransactionCount", result = "0x7" })
    local code, outcome, err = node:send(plan(3), "--yes", "--timeout", "1")
    assert.equal(3, code, err)
    assert.equal("failed", outcome.status)
    assert.equal("send.answer", outcome.error.code)
    assert.equal(2, outcome.error.step)
    assert.same({ "succeeded", "not_sent", "not_sent" }, chain.statuses(outcome))
    assert.equal(1, outcome.asked)
    assert.equal(1, node:count("eth_sendTransaction"))
    assert.truthy(err:find("it was not sent: the node gives the transaction of step 2 the number 0x7, and that of step 1", 1, true), err)
    assert.truthy(err:find("note: of the steps, 1 succeeded, 2 not sent", 1, true), err)
    for _, word in ipairs { "send.unknown", " unknown", "not known", "anything is sent again" } do
      assert.is_nil(err:find(word, 1, true), err)
    end
  end)

  it("shows the advice for what reverts on the chain", function()
    node:rules({ method = "eth_getTransactionReceipt", set = { status = "0x0" } })
    local code, outcome, err = node:send(plan(2, POLICY), "--yes")
    assert.equal(3, code)
    assert.equal("make another", outcome.error.advice.instruction)
    assert.truthy(err:find('reprepare_plan, "make another"', 1, true), err)
  end)

  it("names an executor that has what the chosen one lacks", function()
    local code, _, err = node:send(plan(2, { required_capabilities = { "atomic_batch" } }), "--yes")
    assert.equal(2, code)
    assert.truthy(err:find('"wallet.rpc" does not implement; it implements none; "wallet.sendcalls" implements it', 1, true), err)
    assert.same({}, (node:log()))
  end)

  it("waits for a receipt no longer than it is told", function()
    node:rules({ method = "eth_getTransactionReceipt", result = NULL })
    local code, outcome, err = node:send(plan(2), "--yes", "--timeout", "1")
    assert.equal(4, code)
    assert.same({ "unknown", "not_sent" }, chain.statuses(outcome))
    assert.truthy(err:find("no receipt after 1 seconds", 1, true), err)
    local asked = node:count("eth_getTransactionReceipt")
    assert.is_true(asked >= 3 and asked <= 12, tostring(asked))
  end)

  it("waits for a receipt that is late", function()
    node:rules({ method = "eth_getTransactionReceipt", nth = 1, result = NULL },
      { method = "eth_getTransactionReceipt", nth = 2, result = NULL })
    assert.equal(0, (node:send(plan(1), "--yes")))
    assert.equal(3, node:count("eth_getTransactionReceipt"))
  end)

  it("believes no receipt that is of something else, or is none", function()
    local function doubted(rule, words)
      rule.method = "eth_getTransactionReceipt"
      node:rules(rule)
      local code, outcome, err = node:send(plan(2), "--yes")
      assert.equal(4, code, err)
      assert.same({ "unknown", "not_sent" }, chain.statuses(outcome))
      assert.is_nil(outcome.steps[1].receipt)
      assert.truthy(err:find(words, 1, true), err)
    end
    for _, set in ipairs { { transactionHash = 1 }, { status = "0x2" }, { status = "" }, { status = "0x" }, { transactionHash = NULL },
      { status = NULL }, { status = true }, { blockHash = "0x" }, { blockHash = NULL }, { blockNumber = 7 }, { gasUsed = "7" } } do
      doubted({ set = set }, "gave no receipt")
    end
    -- What the schema of a receipt in ethereum/execution-apis says of them: hash32, uint, address.
    for _, name in ipairs { "transactionHash", "status", "blockHash", "blockNumber", "gasUsed" } do
      doubted({ drop = { name } }, "gave no receipt")
    end
    doubted({ set = { transactionHash = HASH } }, "the receipt of another transaction")
    for _, value in ipairs { "", "0x", "evil", "0x" .. ("11"):rep(19), "0x" .. ("11"):rep(21), 1, true, { "0x" .. ("11"):rep(20) } } do
      doubted({ set = { from = value } }, "a receipt that does not say whose it is")
      doubted({ set = { to = value } }, "a receipt that does not say whose it is")
    end
    doubted({ set = { from = NULL } }, "a receipt that does not say whose it is")
    doubted({ drop = { "from" } }, "a receipt that does not say whose it is")
    -- And of `to`: null where a contract was created.
    for _, rule in ipairs { { set = { to = NULL } }, { drop = { "to" } }, { set = { to = NULL, contractAddress = "0x" .. ("99"):rep(20) } },
      { set = { from = "0x" .. ("33"):rep(20) } }, { set = { to = "0x" .. ("33"):rep(20) } } } do
      doubted(rule, "the transaction that was sent is another than was asked for")
    end
    for _, result in ipairs { 1, "0x", { 1 }, false } do
      node:rules({ method = "eth_getTransactionReceipt", result = result })
      assert.equal(4, (node:send(plan(2), "--yes")))
    end
  end)

  it("knows a receipt whose addresses and hash are in another case", function()
    local to = "0x" .. ("ab"):rep(20)
    node:rules({ method = "eth_getTransactionReceipt", set = { to = "0x" .. ("aB"):rep(20),
      transactionHash = "0x" .. ("0"):rep(58) .. "aBc001" } })
    local text = chain.plan({ { to, "0x" } }, { chain_id = SMALL.chain_id, sender = SMALL.sender })
    local code, _, err = node:send(text, "--yes")
    assert.equal(0, code, err)
  end)

  it("believes nothing else that has the wrong shape, and sends nothing then", function()
    local strange = {
      eth_chainId = { 1, "1", "0x", NULL, { "0x1" } },
      eth_accounts = { "0x11", { 1 }, { "0x11" }, NULL, { a = 1 } },
      eth_simulateV1 = { {}, { { calls = {} } }, { { calls = { { status = 1 } } } }, "0x", NULL,
        { { calls = { { status = "0x1" }, { status = "0x1" } } } } },
      eth_estimateGas = { 21000, "0x", "0xffffffffffffffffffff", "0x0", NULL },
      eth_getTransactionCount = { 0, "", NULL, { "0x0" } },
    }
    for method, results in pairs(strange) do
      for _, result in ipairs(results) do
        node:rules({ method = method, result = result })
        local code, outcome, err = node:send(plan(1), "--yes")
        assert.equal(1, code, method .. err)
        assert.equal("send.answer", outcome.error.code, method)
        assert.equal(0, node:count("eth_sendTransaction"))
      end
    end
  end)

  it("shows what a node says so that nothing of it acts", function()
    node:rules({ method = "eth_estimateGas", error = { code = 3, message = "\u{1b}[31m\u{202e}evil\n" .. ("x"):rep(100000),
      data = moonplan.abi.encode("error Error(string)", { "\u{1b}]0;title\7\u{202e}" }) } })
    local code, outcome, err = node:send(plan(1), "--yes")
    assert.equal(3, code)
    assert.equal("send.execution_reverted", outcome.error.code)
    for _, hidden in ipairs { "\27", "\7", "\u{202e}" } do assert.is_nil(err:find(hidden, 1, true)) end
    assert.is_true(#err < 4000)
  end)

  it("is not held up by a node that never answers", function()
    node:rules({ method = "eth_chainId", hang = true })
    local code, outcome = node:send(plan(1), "--yes", "--limit", "fetch_ms=300")
    assert.equal(1, code)
    assert.equal("send.rpc_error", outcome.error.code)
  end)

  -- -- The record ----------------------------------------------------------------------------

  it("writes a line to the record before and after everything that is sent", function()
    local path = command.folder() .. "/record"
    assert.equal(0, (node:send(plan(1, { required_capabilities = moonplan.array {} }), "--yes", "--record", path)))
    local entries = chain.record(path)
    local events = {}
    for n, entry in ipairs(entries) do events[n] = entry.event end
    assert.same({ "plan", "asking", "sent", "succeeded", "end" }, events)
    assert.equal(moonplan.digest(plan(1)), entries[1].digest)
    assert.equal(entries[3].transaction_hash, entries[4].receipt.transaction_hash)
    assert.equal("600", files.lines_of("stat -c %a " .. path)[1])
  end)

  it("sends nothing when there is no keeping the record", function()
    local path = command.folder() .. "/record"
    command.write(path, "of something else")
    for _, where in ipairs { path, "/nowhere/record", "/proc/record" } do
      node:rules()
      local code, outcome, err = node:send(plan(2), "--yes", "--record", where)
      assert.equal(1, code, err)
      assert.is_nil(outcome)
      assert.truthy(err:find(where .. ": error[io]: a record cannot be kept there: ", 1, true), err)
      -- Told before a person reads and agrees.
      assert.same({}, (node:log()))
    end
    assert.equal("of something else", files.read(path))
  end)

  it("says what is wrong with --rpc, and that it is missing, by its name", function()
    local run = command.run { "send", "-", "--yes", stdin = plan(1) }
    assert.truthy(run.err:find("note: --rpc URL says where the node or wallet is", 1, true), run.err)
    run = command.run { "send", "-", "--yes", "--rpc", "ftp://x", stdin = plan(1) }
    assert.equal(1, run.code)
    assert.truthy(run.err:find("^%-%-rpc: error%["), run.err)
    run = command.run { "send", "-", "--yes", "--grant", "rpc:wallet=ftp://x", stdin = plan(1) }
    assert.truthy(run.err:find("^%-%-grant: error%["), run.err)
  end)

  it("warns of advice that would do again what is done", function()
    node:rules({ method = "eth_estimateGas", nth = 2, error = { code = -32603, message = "internal error" } })
    local code, _, err = node:send(plan(2, POLICY), "--yes")
    assert.equal(3, code)
    assert.truthy(err:find('retry_same_plan, "ask again"', 1, true), err)
    assert.truthy(err:find("note: the same plan would do again what 1 step did", 1, true), err)
    node:rules({ method = "eth_estimateGas", nth = 1, error = { code = -32603, message = "internal error" } })
    code, _, err = node:send(plan(2, POLICY), "--yes")
    assert.equal(1, code)
    assert.is_nil(err:find("do again", 1, true))
  end)

  it("makes no record of what was not sent", function()
    local path = command.folder() .. "/record"
    node:rules({ method = "eth_simulateV1", error = { code = 3, message = "execution reverted" } })
    assert.equal(3, (node:send(plan(1), "--yes", "--record", path)))
    assert.is_nil(io.open(path))
  end)

  -- -- wallet.sendcalls --------------------------------------------------------------------------

  describe("through wallet.sendcalls", function()
    local function send(text, ...)
      return node:send(text, "--executor", "wallet.sendcalls", "--yes", ...)
    end
    local ATOMIC = { required_capabilities = { "atomic_batch" } }

    it("needs a wallet that speaks EIP-5792", function()
      local code, outcome, err = send(plan(1))
      assert.equal(1, code)
      assert.equal("send.executor", outcome.error.code)
      assert.truthy(err:find("it is no wallet for EIP-5792", 1, true), err)
    end)

    -- EIP-5792 has the wallet carry a batch out on the chain that the request names; what was tried on
    -- another was not tried.
    it("tries and sends nothing while the wallet is on another chain", function()
      node:order { ["do"] = "wallet", atomic = "supported" }
      for _, word in ipairs { "--simulate-only", "--retry-rpc=1" } do
        node:rules({ method = "eth_chainId", result = "0xa" })
        local code, outcome, err = send(plan(2), word)
        assert.equal(2, code)
        assert.equal("send.chain", outcome.error.code)
        assert.truthy(err:find("the wallet is on chain 0xa", 1, true), err)
        assert.same({ "eth_chainId" }, (node:log()))
      end
      for _, rule in ipairs { { result = "10" }, { result = NULL }, { error = { code = -32000, message = "no" } } } do
        rule.method = "eth_chainId"
        node:rules(rule)
        assert.equal(1, (send(plan(2))))
        assert.same({ "eth_chainId" }, (node:log()))
      end
    end)

    it("tries nothing on the chain that a person has changed to when asked", function()
      node:order { ["do"] = "wallet", atomic = "supported" }
      local outcome = assert(moonplan.engine { grants = { ["rpc:wallet"] = node.url } }:send(plan(2), {
        executor = "wallet.sendcalls",
        confirm = function()
          node:rules({ method = "eth_chainId", result = "0xa" })
          return os.execute("sleep 1.1") -- a person who took time
        end,
      }))
      assert.equal("send.chain", outcome.error.code)
      assert.equal(0, outcome.asked)
      assert.same({ "eth_chainId" }, (node:log()))
    end)

    -- EIP-5792: 5730, this batch is not known to the wallet.
    it("says in the wallet's words that it does not know the batch", function()
      node:order { ["do"] = "wallet", atomic = "supported" }
      node:rules({ method = "wallet_getCallsStatus", error = { code = 5730, message = "Unknown bundle id" } })
      local code, outcome, err = send(plan(2, ATOMIC))
      assert.equal(4, code)
      assert.same({ "unknown", "unknown" }, chain.statuses(outcome))
      assert.equal("it was handed over, and what became of it is not known: Unknown bundle id (5730)", outcome.error.message)
      assert.truthy(err:find("Unknown bundle id (5730)", 1, true), err)
    end)

    it("takes no for an answer", function()
      node:order { ["do"] = "wallet", reject = true }
      local code, outcome = send(plan(2))
      assert.equal(3, code)
      assert.equal("send.refused", outcome.error.code)
      assert.same({ "refused", "refused" }, chain.statuses(outcome))
    end)

    it("finds out about a batch whose answer was lost, without sending it again", function()
      node:order { ["do"] = "wallet", atomic = "supported" }
      node:rules({ method = "wallet_sendCalls", lose = true })
      local code, outcome, err = send(plan(2, ATOMIC))
      assert.equal(0, code, err)
      assert.same({ "succeeded", "succeeded" }, chain.statuses(outcome))
      assert.equal(1, node:count("wallet_sendCalls"))
    end)

    it("says unknown where the wallet does not know of it either", function()
      node:order { ["do"] = "wallet", atomic = "supported" }
      node:rules({ method = "wallet_sendCalls", close = true })
      local code, outcome, err = send(plan(2, ATOMIC), "--retry-rpc", "1")
      assert.equal(4, code)
      assert.truthy(err:find("what became of the batch " .. outcome.id .. " before anything is sent again", 1, true), err)
      assert.same({ "unknown", "unknown" }, chain.statuses(outcome))
      assert.matches("^0x%x+$", outcome.id)
      assert.equal(1, node:count("wallet_sendCalls"))
    end)

    it("believes no status that cannot be one", function()
      node:order { ["do"] = "wallet", atomic = "supported" }
      for _, set in ipairs { { status = "200" }, { status = 300 }, { status = 200.5 }, { id = HASH },
        { chainId = "0x2" }, { receipts = {} }, { receipts = "none" }, { receipts = { 1 } },
        { receipts = { { status = "0x0", transactionHash = HASH, blockHash = HASH, blockNumber = "0x1",
          gasUsed = "0x1" } } } } do
        node:rules({ method = "wallet_getCallsStatus", nth = 2, set = set })
        local code, outcome, err = send(plan(2, ATOMIC))
        assert.equal(4, code, err)
        assert.same({ "unknown", "unknown" }, chain.statuses(outcome))
      end
    end)

    it("reports what the wallet gave up", function()
      node:order { ["do"] = "wallet", atomic = "supported" }
      node:rules({ method = "wallet_getCallsStatus", nth = 2, set = { status = 400, receipts = NULL } })
      local code, outcome = send(plan(2, ATOMIC))
      assert.equal(3, code)
      assert.equal("send.refused", outcome.error.code)
      assert.same({ "not_sent", "not_sent" }, chain.statuses(outcome))
    end)
  end)
end)
