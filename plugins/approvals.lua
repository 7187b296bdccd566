--- Taking back what others may do with an account's tokens.

---@type moonplan.Builder[]
return {
  {
    kind = "builder",
    api = 1,
    name = "approvals.revoke",
    version = "1.0.0",
    builds = "call_plan",
    summary = "Take allowances back.",
    params = {
      chain = { type = "chain", required = true, description = "the chain to act on" },
      sender = { type = "address", required = true, description = "the account that gave them" },
      token = { type = "address", required = true, description = "the token's contract" },
      spender = { type = "address", required = true, description = "who may take tokens now" },
      standard = { type = "string", enum = { "erc20", "erc721", "erc1155" },
        description = "what the token is; erc20 without it. Of the others, the operator of all" },
    },
    examples = {
      {
        params = {
          chain = 1,
          sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
          token = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
          spender = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D",
        },
        digest = "0xf67beef992de6ffe3543f3a3e42fc85cc8a2e5f10d4edf2a11e06329a13f500e",
      },
      {
        params = {
          chain = 1,
          sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
          token = "0xBC4CA0EdA7647A8aB7C2061c2E118A18a936f13D",
          spender = "0x1E0049783F008A0085193E00003D00cd54003c71",
          standard = "erc721",
        },
        digest = "0x5276f619d4cef150008554a4bf2988d3ece4687ac53d502ccbded983b70c99b5",
      },
    },
    build = function(p, plan)
      local data
      if (p.standard or "erc20") == "erc20" then
        data = moonplan.abi.call("approve(address,uint256)", p.spender, 0)
      else
        data = moonplan.abi.call("setApprovalForAll(address,bool)", p.spender, false)
      end
      plan:call { kind = "allowance_cleanup", to = p.token, data = data }
    end,
  },
}
