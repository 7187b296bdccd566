--- Tokens (ERC-20): sending them, and letting others take them.

local CHAIN = { type = "chain", required = true, description = "the chain to act on" }
local SENDER = { type = "address", required = true,
  description = "the account that holds the tokens" }
local TOKEN = { type = "address", required = true, description = "the token's contract" }
local SPENDER = { type = "address", required = true, description = "who may take them" }
local DECIMALS = { type = "number", integer = true, min = 0, max = 77,
  description = "the token's decimals, for amounts in tokens" }

local function amount_to(what)
  return { type = "amount", required = true, min = 1, decimals = "decimals",
    description = "how much to " .. what .. ": base units, or with a unit, as 2.5 tokens" }
end

-- For the examples: two tokens, a router and an account of Ethereum's main chain.
local USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
local USDT = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
local ROUTER = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D"
local ALICE = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"

-- ERC-6093, which tokens may revert with.
local ERRORS = {
  "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
  "error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)",
  "error ERC20InvalidReceiver(address receiver)",
  "error ERC20InvalidSpender(address spender)",
}

-- What a person lists as errors is read here, so that a mistake is told at the one that has it.
local function check_errors(list)
  for i, entry in ipairs(list or {}) do
    local at = ("errors/%d"):format(i - 1)
    local read, err = moonplan.abi.json(entry)
    if not read then return nil, err.message, at end
    for _, one in ipairs(read) do
      if one.type ~= "error" then
        return nil, ("%q declares a %s, and no error"):format(entry, one.type), at
      end
    end
  end
  return true
end

local function approve(p, amount)
  return {
    kind = amount == "0" and "allowance_cleanup" or "approval",
    to = p.token,
    data = moonplan.abi.call("approve(address,uint256)", p.spender, amount),
    revert = ERRORS,
  }
end

---@type moonplan.Builder[]
return {
  {
    kind = "builder",
    api = 1,
    name = "erc20.transfer",
    version = "1.0.0",
    builds = "call_plan",
    summary = "Send tokens to an account.",
    params = {
      chain = CHAIN,
      sender = SENDER,
      token = TOKEN,
      recipient = { type = "address", required = true, description = "the account that gets them" },
      amount = amount_to "send",
      decimals = DECIMALS,
    },
    examples = {
      {
        params = { chain = 1, sender = ALICE, token = USDC, recipient = ROUTER, amount = 2500000 },
        digest = "0xcd455c5f43861553d9295f2290c6367ecf80a3d22d538da063795d5fa30bf42b",
      },
      {
        params = { chain = 1, sender = ALICE, token = USDC, recipient = ROUTER,
          amount = "2.5 tokens", decimals = 6 },
        digest = "0xcd455c5f43861553d9295f2290c6367ecf80a3d22d538da063795d5fa30bf42b",
      },
      {
        params = { chain = 1, sender = ALICE, token = USDC, recipient = ROUTER,
          amount = "2.5 tokens" },
        error = 'the parameter "amount" is "2.5 tokens", which is in tokens, whose decimals are '
          .. "not known here: count base units",
      },
    },
    build = function(p, plan)
      plan:call {
        kind = "execution",
        to = p.token,
        data = moonplan.abi.call("transfer(address,uint256)", p.recipient, p.amount),
        revert = ERRORS,
      }
    end,
  },
  {
    kind = "builder",
    api = 1,
    name = "erc20.approve",
    version = "1.0.0",
    builds = "call_plan",
    summary = "Let a spender take an exact amount of tokens.",
    params = {
      chain = CHAIN,
      sender = SENDER,
      token = TOKEN,
      spender = SPENDER,
      amount = amount_to "allow",
      decimals = DECIMALS,
      reset_first = { type = "boolean",
        description = "set the allowance to zero first, which some tokens ask for" },
    },
    examples = {
      {
        params = { chain = 1, sender = ALICE, token = USDC, spender = ROUTER, amount = "2500000" },
        digest = "0x8bc6cb28b93b9a018c3e3fbf28d59efb5effe4d1d474656db4c694cfd84e6f7d",
      },
      {
        params = { chain = 1, sender = ALICE, token = USDT, spender = ROUTER, amount = "1 token",
          decimals = 6, reset_first = true },
        digest = "0x31fa90b84195ae57843c2852c98c1231e568f538d1a12dc7d326261b9ca9abf8",
      },
    },
    build = function(p, plan)
      if p.reset_first then
        plan:require "atomic_batch"
        plan:call(approve(p, "0"))
      end
      plan:call(approve(p, p.amount))
    end,
  },
  {
    kind = "builder",
    api = 1,
    name = "erc20.approve_and_call",
    version = "1.0.0",
    builds = "call_plan",
    summary = "Approve an exact amount, make a call that takes it, and revoke what is left.",
    params = {
      chain = CHAIN,
      sender = SENDER,
      token = TOKEN,
      spender = SPENDER,
      amount = amount_to "allow",
      decimals = DECIMALS,
      reset_first = { type = "boolean",
        description = "set the allowance to zero first, which some tokens ask for" },
      target = { type = "address", description = "the contract to call; the spender without one" },
      data = { type = "bytes", required = true, description = "the call's calldata" },
      value = { type = "amount", decimals = 18,
        description = "native currency to send along: wei, or with a unit; none without it" },
      errors = { type = "array", items = { type = "string" }, max_length = 100,
        description = "the errors that the call may revert with, as error Name(uint256 got)" },
    },
    examples = {
      {
        -- swapExactTokensForETH(uint256,uint256,address[],address,uint256) at a router.
        params = { chain = 1, sender = ALICE, token = USDC, spender = ROUTER, amount = 2500000,
          data = "0x18cbafe5"
            .. "00000000000000000000000000000000000000000000000000000000002625a0"
            .. "0000000000000000000000000000000000000000000000000002d79883d20000"
            .. "00000000000000000000000000000000000000000000000000000000000000a0"
            .. "000000000000000000000000d8da6bf26964af9d7eed9e03e53415d37aa96045"
            .. "0000000000000000000000000000000000000000000000000000000077359400"
            .. "0000000000000000000000000000000000000000000000000000000000000002"
            .. "000000000000000000000000a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
            .. "000000000000000000000000c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2" },
        digest = "0xbf4270f04acb8c4db1bf4b9a9a222fff1956bc34c7b95fdcd64e9627a606e42e",
      },
      {
        params = { chain = 1, sender = ALICE, token = USDT, spender = ROUTER, amount = "1 token",
          decimals = 6, reset_first = true, target = USDC, data = "0x18160DDD", value = "1 wei",
          errors = { "error Expired(uint256 deadline)" } },
        digest = "0x5191f76e7706fd8a4d793b15db88ca8cb613bb4a16e2b25e590969a707432113",
      },
    },
    -- One transaction, or nothing: between two the allowance would stand open.
    build = function(p, plan)
      local fine, why, at = check_errors(p.errors)
      if not fine then return nil, why, at end
      plan:require "atomic_batch"
      if p.reset_first then plan:call(approve(p, "0")) end
      plan:call(approve(p, p.amount))
      plan:call {
        kind = "execution",
        to = p.target or p.spender,
        data = p.data,
        value = p.value,
        revert = p.errors and #p.errors > 0 and p.errors or nil,
      }
      plan:call(approve(p, "0"))
      plan:policy {
        rpc_error = { action = "retry_same_plan",
          instruction = "The node did not answer. The same plan may be tried again." },
        execution_reverted = { action = "user_review",
          instruction = "The call does not succeed as things stand. Look at why it reverts; the "
            .. "account's balance and the call's own conditions are the usual reasons." },
        simulation_setup_error = { action = "user_review",
          instruction = "The plan could not be simulated: nothing is known of how it ends." },
      }
    end,
  },
}
