--- Several calls to one contract in one.

---@type moonplan.Builder
return {
  kind = "builder",
  api = 1,
  name = "multicall",
  version = "1.0.0",
  builds = "call_plan",
  summary = "Make several calls to a contract by its own function multicall(bytes[]).",
  params = {
    chain = { type = "chain", required = true, description = "the chain to act on" },
    sender = { type = "address", required = true, description = "the account that calls" },
    target = { type = "address", required = true,
      description = "a contract that has the function, and calls itself in the sender's name" },
    calls = { type = "array", required = true, items = { type = "bytes" }, max_length = 1000,
      description = "the calldata of each call, in order" },
    deadline = { type = "uint256",
      description = "the last moment, in seconds since 1970, where the contract takes one" },
    value = { type = "amount", decimals = 18,
      description = "native currency to send along: wei, or with a unit; none without it" },
  },
  -- refundETH() and transfer(address,uint256), at a router of Ethereum's main chain.
  examples = {
    {
      params = {
        chain = 1,
        sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
        target = "0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45",
        calls = {
          "0x12210e8a",
          "0xa9059cbb"
            .. "00000000000000000000000000000000219ab540356cbb839cbe05303d7705fa"
            .. "0000000000000000000000000000000000000000000000000000000000000001",
        },
      },
      digest = "0x415927401bb9d0bf50e28ee956a193f18bb1e946d3308f9107da35759506c1c1",
    },
    {
      params = {
        chain = 1,
        sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
        target = "0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45",
        calls = { "0x12210E8A" },
        deadline = 2000000000,
        value = "0.5 ether",
      },
      digest = "0x3e9fa1303beb1642149709ea8c863ccbbb331a05493b8a14ac2d4215068c0e12",
    },
    {
      params = {
        chain = 1,
        sender = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
        target = "0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45",
        calls = moonplan.array {},
      },
      error = "there are no calls to make",
    },
  },
  build = function(p, plan)
    if #p.calls == 0 then return nil, "there are no calls to make", "calls" end
    plan:call {
      kind = "execution",
      to = p.target,
      value = p.value,
      data = p.deadline and moonplan.abi.call("multicall(uint256,bytes[])", p.deadline, p.calls)
        or moonplan.abi.call("multicall(bytes[])", p.calls),
    }
  end,
}
