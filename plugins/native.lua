--- The chain's own currency.

---@type moonplan.Builder[]
return {
  {
    kind = "builder",
    api = 1,
    name = "native.transfer",
    version = "1.0.0",
    builds = "call_plan",
    summary = "Send native currency to an account.",
    params = {
      chain = { type = "chain", required = true, description = "the chain to act on" },
      sender = { type = "address", required = true, description = "the account that sends it" },
      recipient = { type = "address", required = true, description = "the account that gets it" },
      amount = { type = "amount", required = true, min = 1, decimals = 18,
        description = "how much: wei, or with a unit, as 1.5 ether" },
    },
    examples = {
      {
        params = {
          chain = 1,
          sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
          recipient = "0x00000000219ab540356cbb839cbe05303d7705fa",
          amount = "1.5 ether",
        },
        digest = "0x7579fd06ebdcc10a696e1b49cdf38437efa3883c4c411f826e195aaec79d4a97",
      },
      {
        params = {
          chain = "eip155:10",
          sender = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045",
          recipient = "0x00000000219ab540356cBB839Cbe05303d7705Fa",
          amount = "1500000000000000000",
        },
        digest = "0xced35d9fb62f59dc6451b1235a077f172b8bbf6c4fc76310891ace861fdba696",
      },
      {
        params = {
          chain = 1,
          sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
          recipient = "0x00000000219ab540356cbb839cbe05303d7705fa",
          amount = 0,
        },
        error = 'the parameter "amount" is 0; the least is 1',
      },
    },
    build = function(p, plan)
      plan:call { kind = "execution", to = p.recipient, value = p.amount }
    end,
  },
}
