--- What the examples of the builders that come along have to come to: their calls, word by word, by
--- hand (ERC-20, ERC-721, the Uniswap V2 router's interface, multicall). By the builder's name and
--- the example's number; an example that is refused has none.
local call_texts = require "spec.support.call_texts"

local data, bytes = call_texts.data, call_texts.bytes

local ALICE = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
local USDC = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
local USDT = "0xdac17f958d2ee523a2206206994597c13d831ec7"
local WETH = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
local ROUTER = "0x7a250d5630b4cf539739df2c5dacb4c659f2488d"
local DEPOSIT = "0x00000000219ab540356cbb839cbe05303d7705fa"
local ROUTER_2 = "0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45"
local APES = "0xbc4ca0eda7647a8ab7c2061c2e118a18a936f13d"
local CONDUIT = "0x1e0049783f008a0085193e00003d00cd54003c71"

local SWAP = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"

local function approve(token, spender, amount)
  return { kind = amount == 0 and "allowance_cleanup" or "approval", to = token,
    data = data("approve(address,uint256)", spender, amount) }
end

local function one(call) return { chain = "1", calls = { call } } end

local transfer = one { kind = "execution", to = USDC,
  data = data("transfer(address,uint256)", ROUTER, 2500000) }

-- What the examples call, by selector.
local signatures = {}
for _, signature in ipairs { "approve(address,uint256)", "transfer(address,uint256)", "setApprovalForAll(address,bool)",
  "totalSupply()", "swapExactTokensForETH(uint256,uint256,address[],address,uint256)", SWAP, "multicall(bytes[])",
  "multicall(uint256,bytes[])" } do
  signatures[data(signature):sub(1, 10)] = signature
end

return {
  sender = ALICE,
  signatures = signatures,
  plans = {
    ["native.transfer"] = {
      one { kind = "execution", to = DEPOSIT, value = "1500000000000000000" },
      { chain = "10", calls = { { kind = "execution", to = DEPOSIT, value = "1500000000000000000" } } },
    },
    ["erc20.transfer"] = { transfer, transfer },
    ["erc20.approve"] = {
      one(approve(USDC, ROUTER, 2500000)),
      { chain = "1", capabilities = { "atomic_batch" },
        calls = { approve(USDT, ROUTER, 0), approve(USDT, ROUTER, 1000000) } },
    },
    ["erc20.approve_and_call"] = {
      { chain = "1", capabilities = { "atomic_batch" }, calls = {
        approve(USDC, ROUTER, 2500000),
        { kind = "execution", to = ROUTER,
          data = data("swapExactTokensForETH(uint256,uint256,address[],address,uint256)", 2500000,
            800000000000000, 5 * 32, ALICE, 2000000000, 2, USDC, WETH) },
        approve(USDC, ROUTER, 0),
      } },
      { chain = "1", capabilities = { "atomic_batch" }, calls = {
        approve(USDT, ROUTER, 0),
        approve(USDT, ROUTER, 1000000),
        { kind = "execution", to = USDC, data = data("totalSupply()"), value = "1" },
        approve(USDT, ROUTER, 0),
      } },
    },
    ["approvals.revoke"] = {
      one(approve(USDC, ROUTER, 0)),
      one { kind = "allowance_cleanup", to = APES,
        data = data("setApprovalForAll(address,bool)", CONDUIT, false) },
    },
    ["swap.exact_input"] = {
      { chain = "1", capabilities = { "atomic_batch" }, calls = {
        approve(USDC, ROUTER, 2500000000),
        { kind = "execution", to = ROUTER,
          data = data(SWAP, 2500000000, 800000000000000000, 5 * 32, ALICE, 2000000000, 2, USDC, WETH) },
        approve(USDC, ROUTER, 0),
      } },
      { chain = "1", capabilities = { "atomic_batch" }, calls = {
        approve(USDT, ROUTER, 0),
        approve(USDT, ROUTER, 1000000),
        { kind = "execution", to = ROUTER,
          data = data(SWAP, 1000000, 990000, 5 * 32, DEPOSIT, 2000000000, 3, USDT, WETH, USDC) },
        approve(USDT, ROUTER, 0),
      } },
    },
    multicall = {
      one { kind = "execution", to = ROUTER_2,
        data = data("multicall(bytes[])", 32, 2, 2 * 32, 4 * 32)
          .. bytes(data("refundETH()")) .. bytes(data("transfer(address,uint256)", DEPOSIT, 1)) },
      one { kind = "execution", to = ROUTER_2, value = "500000000000000000",
        data = data("multicall(uint256,bytes[])", 2000000000, 2 * 32, 1, 32)
          .. bytes(data("refundETH()")) },
    },
  },
}
