--- Who signs: executors for an account that somebody else holds the keys of, reached over JSON-RPC.
---
--- A node or wallet is somebody else's program. What it answers is checked for its shape before
--- anything is made of it, and nothing here asks it twice to send the same thing.

local ENDPOINT = "wallet"

-- -- What has which shape ---------------------------------------------------------------------

local function is_digits(value, most)
  return type(value) == "string" and #value <= most and value:find("^0x%x+$") ~= nil
end

local function is_hash(value) return is_digits(value, 66) and #value == 66 end

local function is_address(value) return is_digits(value, 42) and #value == 42 end

local function is_bytes(value)
  return type(value) == "string" and #value % 2 == 0 and value:find("^0x%x*$") ~= nil
end

-- A quantity in its one form, "0x" and digits without needless zeros; nil for anything else. Nodes
-- are known to write others.
local function quantity(value)
  if not is_digits(value, 66) then return nil end
  local digits = value:sub(3):gsub("^0+", ""):lower()
  return "0x" .. (digits == "" and "0" or digits)
end

-- As an integer, where it is one of at most 15 digits.
local function small(value)
  local plain = quantity(value)
  if not plain or #plain > 17 then return nil end
  return math.tointeger(tonumber(plain))
end

local function is_list(value) return moonplan.is_array(value) end

-- -- Failures -----------------------------------------------------------------------------------

local function fail(code, message) return nil, { code = code, message = message } end

local function rpc_failure(err) return fail("rpc_error", err.message) end

local function strange(what) return fail("answer", what) end

-- The code of a JSON-RPC error, nil where the node gave none.
local function code_of(err) return err.code == "rpc.error" and err.error.code or nil end

local function has_one(words, list)
  for _, each in ipairs(list) do
    if words:find(each, 1, true) then return true end
  end
  return false
end

-- A method that is not there: JSON-RPC 2.0, Besu ("method not enabled"), EIP-1474, EIP-1193.
local NO_METHOD = { [-32601] = true, [-32604] = true, [-32004] = true, [4200] = true }
-- Gateways say it in words, under codes for anything ("Unsupported method: ..." with -32600).
local ABSENT = {
  "unsupported", "not supported", "not available", "not found", "not exist", "not enabled",
  "disabled", "not implemented", "not allowed", "not whitelisted", "unknown method",
  "no such method", "invalid method",
}
-- Codes under which it is never said: what a call reverts with, and what its parameters lack, may
-- have any words in it.
local function is_of_call(code)
  return code == 3 or code == -32015 or code == -32602 or (code <= -38000 and code > -39000)
end

-- With a name, an error's words count as well.
local function is_missing(err, method)
  local code = code_of(err)
  if not code or NO_METHOD[code] then return code ~= nil end
  if not method or is_of_call(code) then return false end
  local words = err.error.message:lower()
  return not words:find("revert", 1, true) and has_one(words, { "method", method:lower() })
    and has_one(words, ABSENT)
end

-- Whether eth_simulateV1 is not there, or not for us (EIP-1193: 4100). Some gateways say so with a
-- status of HTTP, of which these are about the moment instead: RFC 9110, RFC 6585, RFC 8470.
local MOMENTARY = { [408] = true, [425] = true, [429] = true }

local function is_withheld(err)
  if is_missing(err, "eth_simulateV1") or code_of(err) == 4100 then return true end
  if err.code ~= "rpc.interrupted" then return false end
  local status = tonumber(err.message:match(" HTTP status (%d+)$") or 0)
  return status == 501 or (status >= 400 and status <= 499 and not MOMENTARY[status])
end

-- The bytes that a reverted call gave, where a node hides them.
local function revert_data(data)
  if type(data) == "table" then data = data.data end
  if is_bytes(data) then return data:lower() end
end

-- What a JSON-RPC error means for a call that was only tried: the three kinds of ERC-8410. Code 3
-- is a revert; -38000 and down are eth_simulateV1's own; -32003 is EIP-1474's rejected transaction.
-- -32000 may be anything, so that only its text is left to tell by.
local function failure_kind(err)
  local code = code_of(err)
  if not code then return "rpc_error" end
  local words = type(err.error.message) == "string" and err.error.message:lower() or ""
  if code == 3 or code == -32015 or words:find("revert", 1, true) then
    return "execution_reverted"
  end
  if code == -32003 or code == -32602 or code == -32600 or (code <= -38000 and code > -39000)
    or words:find("insufficient funds", 1, true) then
    return "simulation_setup_error"
  end
  return "rpc_error"
end

-- A call that was only tried and failed; nil and a failure where the node did.
local function tried(err, step)
  local kind = failure_kind(err)
  if kind == "rpc_error" then return rpc_failure(err) end
  return {
    outcome = kind, step = step, message = err.message, data = revert_data(err.error.data),
  }
end

-- -- Asking -------------------------------------------------------------------------------------

local function ask(ctx, method, ...)
  return ctx.rpc.call(ENDPOINT, method, moonplan.array { ... })
end

local function transaction(question, call)
  return { from = question.sender, to = call.to, data = call.data, value = call.value }
end

local function check_chain(question, ctx, whose)
  local chain, err = ask(ctx, "eth_chainId")
  if err then return rpc_failure(err) end
  chain = quantity(chain)
  if not chain then return strange("eth_chainId gave no quantity") end
  if chain ~= question.chain_id then
    return fail("chain", ("the %s is on chain %s"):format(whose, chain))
  end
  return true
end

local function check_account(question, ctx)
  local accounts, err = ask(ctx, "eth_accounts")
  if err then return rpc_failure(err) end
  if not is_list(accounts) then return strange("eth_accounts gave no list") end
  for _, account in ipairs(accounts) do
    if not is_address(account) then return strange("eth_accounts gave something else") end
    if account:lower() == question.sender then return true end
  end
  return fail("account", #accounts == 0 and "no account is open there"
    or "it is not one of the accounts that are open there")
end

-- eth_simulateV1 (ethereum/execution-apis): every call on the state that those before it leave.
local function simulate_all(question, ctx)
  local calls = moonplan.array {}
  for n, call in ipairs(question.calls) do calls[n] = transaction(question, call) end
  local blocks, err = ask(ctx, "eth_simulateV1",
    { blockStateCalls = moonplan.array { { calls = calls } } }, "latest")
  if err then
    if is_withheld(err) then return { outcome = "unavailable" } end
    return tried(err)
  end
  local results = is_list(blocks) and #blocks == 1 and type(blocks[1]) == "table"
    and blocks[1].calls
  if not is_list(results) or #results ~= #calls then
    return strange("eth_simulateV1 gave not one result a call")
  end
  for n, result in ipairs(results) do
    local status = type(result) == "table" and quantity(result.status)
    if status == "0x0" then
      local why = type(result.error) == "table" and result.error or {}
      return {
        outcome = "execution_reverted", step = n,
        message = type(why.message) == "string" and why.message or nil,
        data = revert_data(why.data) or revert_data(result.returnData),
      }
    elseif status ~= "0x1" then
      return strange("eth_simulateV1 gave a result without a status")
    end
  end
  return { outcome = "passed" }
end

-- One call on the state as it is now.
local function simulate_one(question, ctx)
  local result, err = ask(ctx, "eth_call", transaction(question, question.calls[1]), "latest")
  if err then
    if is_missing(err) then return { outcome = "unavailable" } end
    return tried(err, 1)
  end
  if not is_bytes(result) then return strange("eth_call gave no bytes") end
  return { outcome = "passed" }
end

local function simulate(question, ctx)
  return (question.alone and simulate_one or simulate_all)(question, ctx)
end

-- A receipt as it goes on record; nil where it is none.
local function read_receipt(receipt)
  local status = type(receipt) == "table" and quantity(receipt.status)
  if status ~= "0x0" and status ~= "0x1" then return nil end
  local block, used = quantity(receipt.blockNumber), quantity(receipt.gasUsed)
  if not is_hash(receipt.transactionHash) or not is_hash(receipt.blockHash) or not block
    or not used then return nil end
  return {
    transaction_hash = receipt.transactionHash:lower(), block_hash = receipt.blockHash:lower(),
    block_number = block, gas_used = used, status = status,
  }
end

-- What is answered to a request to sign and send, when it is an error. An error of these codes says
-- that nothing was signed: EIP-1193's and EIP-5792's, Besu's for a method that is not enabled, and
-- of EIP-1474's those that do not come after the fact, as "internal error" may.
local function is_refusal(code)
  return code == 3 or (code >= 4001 and code <= 4999) or (code >= 5700 and code <= 5799)
    or code == -32700 or code == -32604 or (code <= -32600 and code >= -32602)
end

-- EIP-1474's own codes are used for whatever a node likes. A transaction that is known already, or
-- stands in the way of itself, has been sent: by whatever lies between and asked twice, say. And
-- whoever timed out does not know.
local DOUBTS = {
  "already", "known transaction", "nonce too low", "nonce is too low", "replacement", "underpriced",
  "duplicate", "timed out", "timeout", "deadline", "cancel",
}
-- Under -32000 nodes say everything, so that these say that nothing was sent, and others do not.
local CERTAIN = {
  "insufficient funds", "intrinsic gas", "gas limit", "gas too low", "authentication needed",
  "unknown account", "account is locked", "less than block base fee", "exceeds the configured cap",
  "oversized data", "denied", "rejected", "not supported", "method not found", "revert",
}

local function says_refused(err)
  local code = code_of(err)
  if not code then return false end
  if is_refusal(code) then return true end
  if code > -32000 or code < -32006 or code == -32005 then return false end
  local words = err.error.message:lower()
  if has_one(words, DOUBTS) then return false end
  return code ~= -32000 or has_one(words, CERTAIN)
end

local function not_sent(err)
  if err.code == "rpc.unavailable" then return { state = "unsent", message = err.message } end
  return { state = says_refused(err) and "refused" or "unknown", message = err.message }
end

-- -- wallet.rpc ---------------------------------------------------------------------------------

-- EIP-7825: no transaction may have more.
local GAS_MOST = 1 << 24

-- A quarter more than the node's estimate, for state that moves between the two.
local function with_margin(gas)
  local more = gas + gas // 4
  return more <= GAS_MOST and more or gas
end

local function prepare_rpc(question, ctx)
  local fine, failure = check_chain(question, ctx, "node")
  if fine then fine, failure = check_account(question, ctx) end
  if not fine then return nil, failure end
  return {}
end

local function estimate(question, ctx)
  local nonce, err = ask(ctx, "eth_getTransactionCount", question.sender, "pending")
  if err then return rpc_failure(err) end
  nonce = quantity(nonce)
  if not nonce then return strange("eth_getTransactionCount gave no quantity") end
  local gas
  gas, err = ask(ctx, "eth_estimateGas", transaction(question, question.calls[1]))
  if err then
    -- The number says whether the node that tried it has seen the step before.
    local answer, failure = tried(err, 1)
    if answer then answer.request = { nonce = nonce } end
    return answer, failure
  end
  gas = small(gas)
  if not gas or gas < 1 then return strange("eth_estimateGas gave no amount of gas") end
  -- Wallets change chains on a click.
  local fine, failure = check_chain(question, ctx, "node")
  if not fine then return nil, failure end
  -- With its number said, the account can carry out this transaction once, whatever becomes of the
  -- answer.
  local request = { gas = ("0x%x"):format(with_margin(gas)), nonce = nonce }
  return { outcome = "passed", request = request }
end

local function submit_rpc(question, ctx)
  local sent = transaction(question, question.calls[1])
  sent.gas, sent.nonce = question.request.gas, question.request.nonce
  sent.chainId = question.chain_id
  local hash, err = ask(ctx, "eth_sendTransaction", sent)
  if err then return not_sent(err) end
  if not is_hash(hash) then
    return { state = "unknown", message = "eth_sendTransaction gave no transaction hash" }
  end
  return { state = "sent", id = hash:lower() }
end

-- Why a transaction reverted: receipts do not say, so it is called again, as it was and where it
-- was. On the state behind its block, then on the one before it, for either may no longer revert.
local function replay(question, ctx, receipt, price)
  local again = transaction(question, question.calls[1])
  again.gas, again.gasPrice = question.request.gas, price
  local number = small(receipt.block_number)
  local blocks = { receipt.block_number }
  if number and number > 0 then blocks[2] = ("0x%x"):format(number - 1) end
  for _, block in ipairs(blocks) do
    local _, err = ask(ctx, "eth_call", again, block)
    if err and failure_kind(err) == "execution_reverted" then
      return revert_data(err.error.data) or "0x"
    end
  end
end

local function outcome_rpc(question, ctx)
  local answer, err = ask(ctx, "eth_getTransactionReceipt", question.id)
  if err then return rpc_failure(err) end
  if answer == moonplan.null then return { state = "pending" } end
  local receipt = read_receipt(answer)
  if not receipt then return strange("eth_getTransactionReceipt gave no receipt") end
  if receipt.transaction_hash ~= question.id then
    return strange("eth_getTransactionReceipt gave the receipt of another transaction")
  end
  -- Null, or none (ethereum/execution-apis does not require it), stands for a contract that was
  -- created, which no call of a plan does.
  local to = answer.to
  if not is_address(answer.from) or not (to == nil or to == moonplan.null or is_address(to)) then
    return strange("eth_getTransactionReceipt gave a receipt that does not say whose it is")
  end
  if answer.from:lower() ~= question.sender or not is_address(to)
    or to:lower() ~= question.calls[1].to then
    return strange("the transaction that was sent is another than was asked for")
  end
  local receipts = moonplan.array { receipt }
  if receipt.status == "0x1" then return { state = "succeeded", receipts = receipts } end
  local price = quantity(answer.effectiveGasPrice)
  return {
    state = "reverted", receipts = receipts, data = replay(question, ctx, receipt, price),
  }
end

-- -- wallet.sendcalls (EIP-5792) ------------------------------------------------------------------

-- Whether the wallet carries out a batch as one, on this chain or on all.
local function is_atomic(capabilities, chain)
  for _, key in ipairs { chain, "0x0" } do
    local atomic = type(capabilities[key]) == "table" and capabilities[key].atomic
    if type(atomic) == "table" then
      return atomic.status == "supported" or atomic.status == "ready"
    end
  end
  return false
end

local function prepare_sendcalls(question, ctx)
  local fine, failure = check_chain(question, ctx, "wallet")
  if not fine then return nil, failure end
  local capabilities, err = ask(ctx, "wallet_getCapabilities", question.sender,
    moonplan.array { question.chain_id })
  if err then
    if is_missing(err, "wallet_getCapabilities") then
      return fail("unsupported", "it is no wallet for EIP-5792: it has no wallet_getCapabilities")
    elseif code_of(err) == 4100 then
      return fail("account", "the wallet has not opened the account to us")
    end
    return rpc_failure(err)
  end
  if type(capabilities) ~= "table" then return strange("wallet_getCapabilities gave no table") end
  fine, failure = check_account(question, ctx)
  if not fine then return nil, failure end
  local implements = moonplan.array {}
  if is_atomic(capabilities, question.chain_id) then implements[1] = "atomic_batch" end
  return { implements = implements }
end

-- A person who was asked had time to change the wallet's chain, and what is tried on another says
-- nothing of the plan.
local function simulate_sendcalls(question, ctx)
  local fine, failure = check_chain(question, ctx, "wallet")
  if not fine then return nil, failure end
  return simulate(question, ctx)
end

local function submit_sendcalls(question, ctx)
  local calls = moonplan.array {}
  for n, call in ipairs(question.calls) do
    calls[n] = { to = call.to, data = call.data, value = call.value }
  end
  -- The id is ours, so that the batch can be asked after even if this answer is lost.
  local answer, err = ask(ctx, "wallet_sendCalls", {
    version = "2.0.0", id = question.token, from = question.sender, chainId = question.chain_id,
    atomicRequired = question.atomic, calls = calls,
  })
  if err then
    local failed = not_sent(err)
    if failed.state == "unknown" then failed.id = question.token end
    return failed
  end
  local id = type(answer) == "table" and answer.id
  if type(id) ~= "string" or #id == 0 or #id > 4096 or id:find("[^\x21-\x7e]") then
    return {
      state = "unknown", id = question.token, message = "wallet_sendCalls gave no id of a batch",
    }
  end
  return { state = "sent", id = id }
end

-- The hundreds of a status (EIP-5792, wallet_getCallsStatus).
local STATES = {
  [1] = "pending", [2] = "succeeded", [4] = "failed", [5] = "reverted", [6] = "partial",
}

local function read_receipts(list, most)
  local receipts = moonplan.array {}
  if list == nil or list == moonplan.null then return receipts end
  if not is_list(list) or #list > most then return nil end
  for n, each in ipairs(list) do
    receipts[n] = read_receipt(each)
    if not receipts[n] then return nil end
  end
  return receipts
end

local function outcome_sendcalls(question, ctx)
  local answer, err = ask(ctx, "wallet_getCallsStatus", question.id)
  if err then
    -- EIP-5792: this batch is not known.
    if code_of(err) == 5730 then return { state = "absent", message = err.message } end
    return rpc_failure(err)
  end
  local status = type(answer) == "table" and answer.status
  local state = math.type(status) == "integer" and STATES[status // 100]
  if not state then return strange("wallet_getCallsStatus gave no status") end
  if answer.id ~= question.id then
    return strange("wallet_getCallsStatus gave the status of another batch")
  end
  if quantity(answer.chainId) ~= question.chain_id then
    return strange("wallet_getCallsStatus gave a batch of another chain")
  end
  if state == "pending" then return { state = state } end
  local receipts = read_receipts(answer.receipts, question.count)
  if not receipts then return strange("wallet_getCallsStatus gave no list of receipts") end
  return { state = state, receipts = receipts, atomic = answer.atomic == true }
end

-- -- Examples -----------------------------------------------------------------------------------

local ACCOUNT = "0x1111111111111111111111111111111111111111"
local TOKEN = "0x2222222222222222222222222222222222222222"
local HASH = "0x" .. ("ab"):rep(32)
local BLOCK = "0x" .. ("cd"):rep(32)
local BATCH = "0x" .. ("07"):rep(32)

local function answers(...) return { rpc = { wallet = { ... } } } end

local CALL = { to = TOKEN, data = "0x", value = "0x0" }

-- A question about one call; `more` has what else it says.
local function question(more)
  more.chain_id, more.sender, more.count, more.calls = "0x1", ACCOUNT, 1, { CALL }
  return more
end

local function receipt(status)
  return {
    transactionHash = HASH, blockHash = BLOCK, blockNumber = "0x10", gasUsed = "0x5208",
    status = status, from = ACCOUNT, to = TOKEN, effectiveGasPrice = "0x7",
  }
end

local function recorded(status)
  return {
    transaction_hash = HASH, block_hash = BLOCK, block_number = "0x10", gas_used = "0x5208",
    status = status,
  }
end

-- Error("no"), as Solidity reverts with it.
local NO = "0x08c379a0" .. ("0"):rep(62) .. "20" .. ("0"):rep(63) .. "2" .. "6e6f" .. ("0"):rep(60)

return {
  {
    kind = "executor", api = 1, name = "wallet.rpc", version = "1.0.0",
    summary = "Send call after call through a node that holds the account (eth_sendTransaction).",
    needs = { "rpc:wallet" }, submits = "call",
    prepare = prepare_rpc, simulate = simulate, estimate = estimate, submit = submit_rpc,
    outcome = outcome_rpc,
    examples = {
      {
        call = "prepare", input = question {}, output = {},
        given = answers({ method = "eth_chainId", result = "0x1" },
          { method = "eth_accounts", result = { ACCOUNT } }),
      },
      {
        call = "prepare", input = question {}, error = "the node is on chain 0xa",
        given = answers { method = "eth_chainId", result = "0xa" },
      },
      {
        call = "simulate", input = question {},
        given = answers {
          method = "eth_simulateV1",
          result = { { calls = { { status = "0x0", returnData = NO, error = { code = 3 } } } } },
        },
        output = { outcome = "execution_reverted", step = 1, data = NO },
      },
      {
        call = "estimate", input = question {},
        given = answers(
          { method = "eth_getTransactionCount", params = { ACCOUNT, "pending" }, result = "0x5" },
          { method = "eth_estimateGas", result = "0x5208" },
          { method = "eth_chainId", result = "0x1" }),
        output = { outcome = "passed", request = { gas = "0x668a", nonce = "0x5" } },
      },
      {
        call = "submit", input = question { request = { gas = "0x668a", nonce = "0x5" } },
        given = answers {
          method = "eth_sendTransaction",
          params = { {
            from = ACCOUNT, to = TOKEN, data = "0x", value = "0x0", gas = "0x668a", nonce = "0x5",
            chainId = "0x1",
          } },
          result = HASH,
        },
        output = { state = "sent", id = HASH },
      },
      {
        call = "outcome", input = question { id = HASH, request = { gas = "0x668a" } },
        given = answers({ method = "eth_getTransactionReceipt", result = receipt("0x0") },
          { method = "eth_call", error = { code = 3, message = "execution reverted", data = NO } }),
        output = { state = "reverted", receipts = { recorded("0x0") }, data = NO },
      },
    },
  },
  {
    kind = "executor", api = 1, name = "wallet.sendcalls", version = "1.0.0",
    summary = "Hand all calls to a wallet that speaks EIP-5792 (wallet_sendCalls 2.0.0).",
    needs = { "rpc:wallet" }, implements = { "atomic_batch" }, submits = "plan",
    prepare = prepare_sendcalls, simulate = simulate_sendcalls, submit = submit_sendcalls,
    outcome = outcome_sendcalls,
    examples = {
      {
        call = "prepare", input = question {},
        given = answers({ method = "eth_chainId", result = "0x1" }, {
          method = "wallet_getCapabilities", params = { ACCOUNT, { "0x1" } },
          result = { ["0x1"] = { atomic = { status = "supported" } } },
        }, { method = "eth_accounts", result = { ACCOUNT } }),
        output = { implements = { "atomic_batch" } },
      },
      {
        call = "submit", input = question { token = BATCH, atomic = true },
        given = answers {
          method = "wallet_sendCalls",
          params = { {
            version = "2.0.0", id = BATCH, from = ACCOUNT, chainId = "0x1", atomicRequired = true,
            calls = { CALL },
          } },
          result = { id = BATCH },
        },
        output = { state = "sent", id = BATCH },
      },
      {
        call = "outcome", input = question { id = BATCH, atomic = true },
        given = answers {
          method = "wallet_getCallsStatus", params = { BATCH },
          result = {
            version = "2.0.0", id = BATCH, chainId = "0x1", status = 200, atomic = true,
            receipts = { receipt("0x1") },
          },
        },
        output = { state = "succeeded", receipts = { recorded("0x1") }, atomic = true },
      },
    },
  },
}
