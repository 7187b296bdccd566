--- Exchanging tokens.

---@type moonplan.Builder[]
return {
  {
    kind = "builder",
    api = 1,
    name = "swap.exact_input",
    version = "1.0.0",
    builds = "call_plan",
    summary = "Swap an exact amount of a token at a router like that of Uniswap V2.",
    params = {
      chain = { type = "chain", required = true, description = "the chain to act on" },
      sender = { type = "address", required = true, description = "the account that swaps" },
      router = { type = "address", required = true, description = "the router's contract" },
      path = { type = "array", required = true, items = { type = "address" }, max_length = 16,
        description = "the tokens from the one given to the one got, those between included" },
      amount_in = { type = "amount", required = true, min = 1, decimals = "decimals_in",
        description = "how much is given: base units, or with a unit, as 2.5 tokens" },
      amount_out_min = { type = "amount", required = true, min = 1, decimals = "decimals_out",
        description = "the least to get for it, or nothing happens" },
      decimals_in = { type = "number", integer = true, min = 0, max = 77,
        description = "decimals of the token given, for amounts in tokens" },
      decimals_out = { type = "number", integer = true, min = 0, max = 77,
        description = "decimals of the token got, for amounts in tokens" },
      recipient = { type = "address", description = "who gets them; the sender without one" },
      deadline = { type = "uint256", required = true,
        description = "the last moment for it, in seconds since 1970" },
      reset_first = { type = "boolean",
        description = "set the allowance to zero first, which some tokens ask for" },
    },
    -- Two tokens, a router and an account of Ethereum's main chain.
    examples = {
      {
        params = {
          chain = 1,
          sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
          router = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D",
          path = {
            "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
            "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
          },
          amount_in = "2500 tokens",
          decimals_in = 6,
          amount_out_min = "0.8 tokens",
          decimals_out = 18,
          deadline = 2000000000,
        },
        digest = "0x276b6c3ef2b3cbbb0d09c2667fa11e65f34902ea0cc8857d5a0d6909eb744be0",
      },
      {
        params = {
          chain = 1,
          sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
          router = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D",
          path = {
            "0xdAC17F958D2ee523a2206206994597C13D831ec7",
            "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
            "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
          },
          amount_in = "1000000",
          amount_out_min = "0.99 tokens",
          decimals_out = 6,
          recipient = "0x00000000219ab540356cBB839Cbe05303d7705Fa",
          deadline = "2000000000",
          reset_first = true,
        },
        digest = "0x078191b77f33b7b0498f4c6340104f53bccffd049f4933955dc3cf276d400027",
      },
      {
        params = {
          chain = 1,
          sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
          router = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D",
          path = { "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" },
          amount_in = 1, amount_out_min = 1, deadline = 2000000000,
        },
        error = "the path has two tokens at least: the one given, and the one got",
      },
    },
    build = function(p, plan)
      local token = p.path[1]
      if #p.path < 2 then
        return nil, "the path has two tokens at least: the one given, and the one got", "path"
      end
      for i = 2, #p.path do
        if p.path[i] == p.path[i - 1] then
          return nil, ("the path has %s twice in a row"):format(p.path[i]), "path/" .. i - 1
        end
      end
      local function approve(kind, amount)
        plan:call {
          kind = kind, to = token,
          data = moonplan.abi.call("approve(address,uint256)", p.router, amount),
          revert = { "error ERC20InvalidSpender(address spender)" }, -- ERC-6093
        }
      end
      -- One transaction, or nothing: between two the allowance would stand open.
      plan:require "atomic_batch"
      if p.reset_first then approve("allowance_cleanup", 0) end
      approve("approval", p.amount_in)
      plan:call {
        kind = "execution", to = p.router,
        data = moonplan.abi.call(
          "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
          p.amount_in, p.amount_out_min, p.path, p.recipient or p.sender, p.deadline),
        -- ERC-6093; the router's own reasons are texts.
        revert = {
          "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
          "error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)",
        },
      }
      approve("allowance_cleanup", 0)
      plan:policy {
        rpc_error = { action = "retry_same_plan",
          instruction = "The node did not answer. The same plan may be tried again." },
        execution_reverted = { action = "reprepare_plan",
          instruction = "The swap does not succeed as things stand: the price has moved past "
            .. "amount_out_min, the deadline has gone by, or the balance is too small. Get a new "
            .. "quote and build a new plan." },
        simulation_setup_error = { action = "user_review",
          instruction = "The plan could not be simulated: nothing is known of how it ends." },
      }
    end,
  },
}
