local moonplan = require "moonplan"
local sponge = require "spec.support.sponge"

local function nist(bytes) return sponge.sha3_256(bytes) end

describe("Keccak-256", function()
  -- What everybody who deals with Ethereum can look up. Each is the hash of a text or of bytes
  -- that the source gives.
  local published = {
    { "", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
      "EIP-1052, the code hash of an account without code" },
    { "\xcc", "eead6dbfc7340a56caedc044696a168870549a6a7f6f56961e84a54bd9970b8a",
      "Keccak team, ShortMsgKAT_256, Len = 8" },
    { "abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
      "the usual three letters" },
    { "\x80", "56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
      "Ethereum, root of the empty trie (Yellow Paper, 4.1: keccak of the RLP of nothing)" },
    { "\xc0", "1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
      "EIP-3675, ommersHash: keccak of the RLP of an empty list" },
    { "Transfer(address,address,uint256)",
      "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
      "topic of ERC-20's Transfer, in every log of a token transfer" },
    { "Approval(address,address,uint256)",
      "8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925",
      "topic of ERC-20's Approval" },
    { "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)",
      "8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f",
      "domain type hash of EIP-712, as OpenZeppelin's EIP712.sol spells it" },
    { "EIP712Domain(string name,string version,uint256 chainId)",
      "c2f8787176b8ac6bf7215b4adcc1e069bf4ab82d9ab1df05a57a91d425935b6e",
      "github.com/whyoleg/cryptography-kotlin/issues/96: SHA3-256 gives another value" },
    { "eip1967.proxy.implementation",
      "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbd",
      "EIP-1967: the implementation slot is one less" },
  }
  for _, case in ipairs(published) do
    it(("of %q: %s"):format(case[1], case[3]), function()
      assert.equal("0x" .. case[2], moonplan.keccak256(case[1]))
    end)
  end

  -- EIP-20 and the Solidity documentation ("Panic via assert and Error via require").
  local selectors = {
    ["transfer(address,uint256)"] = "a9059cbb",
    ["approve(address,uint256)"] = "095ea7b3",
    ["transferFrom(address,address,uint256)"] = "23b872dd",
    ["balanceOf(address)"] = "70a08231",
    ["Error(string)"] = "08c379a0",
    ["Panic(uint256)"] = "4e487b71",
  }
  for signature, selector in pairs(selectors) do
    it("begins with the selector of " .. signature, function()
      assert.equal("0x" .. selector, moonplan.keccak256(signature):sub(1, 10))
    end)
  end

  it("is not NIST's SHA3-256", function()
    -- FIPS 202 example values: the same permutation, another padding.
    assert.not_equal("0xa7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a",
      moonplan.keccak256(""))
  end)

  describe("against a second implementation", function()
    it("which gives NIST's own values for SHA3-256", function()
      -- csrc.nist.gov, "Examples with Intermediate Values", SHA3-256: 0 bits and 1600 bits;
      -- the NIST value of "abc" is in the SHA-3 example algorithms too.
      assert.equal("a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a", nist(""))
      assert.equal("79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787",
        nist(("\xa3"):rep(200)))
      assert.equal("3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532", nist("abc"))
    end)

    -- 136 bytes are one block: the places where padding goes wrong are there.
    it("at every length from 0 to three blocks and a little", function()
      local bytes = {}
      for n = 1, 420 do bytes[n] = string.char(n * 151 % 256) end
      local all = table.concat(bytes)
      for n = 0, #all do
        local text = all:sub(1, n)
        local expected = "0x" .. sponge.keccak_256(text)
        if moonplan.keccak256(text) ~= expected then
          assert.equal(expected, moonplan.keccak256(text), "at " .. n .. " bytes")
        end
      end
    end)

    it("on 100,000 bytes", function()
      local text = ("0123456789abcdefg"):rep(5883):sub(1, 100000)
      assert.equal("0x" .. sponge.keccak_256(text), moonplan.keccak256(text))
    end)
  end)
end)
