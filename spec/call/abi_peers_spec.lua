-- Our encoding and decoding beside those of ethers 6, over random values of random types. Who wants
-- this installs it (`npm install ethers@6` in a folder) and names the folder by MOONPLAN_PEERS.
local cjson = require "cjson".new()
local command = require "spec.support.command"
local files = require "spec.support.files"
local records = require "spec.support.records"

-- An empty array goes out as an empty object, which encoding takes for what it was.
cjson.decode_max_depth(1100)

local COUNT = 2000

describe("2,000 random calls", function()
  local peers = os.getenv("MOONPLAN_PEERS")
  if not peers or not os.execute("node --version >/dev/null 2>&1") then
    pending("ethers is not there: set MOONPLAN_PEERS, and have node")
    return
  end

  it("are encoded as ethers encodes them, and decoded to what they were", function()
    local seed = math.tointeger(os.getenv("MOONPLAN_SEED") or os.time())
    local outcome = command.shell(("node %s %s %d %d"):format(
      files.quote(files.root .. "spec/support/abi_peers.mjs"), files.quote(peers), seed, COUNT))
    assert.equal(0, outcome.code, outcome.err)
    local said = outcome.out:gmatch("[^\n]+")
    local version = cjson.decode(said()).ethers
    local list, calls = {}, {}
    local function ask(request) list[#list + 1] = { words = {}, bytes = cjson.encode(request) } end
    for n = 1, COUNT do
      local call = cjson.decode(said())
      calls[n] = call
      ask { op = "encode", abi = call.signature, arguments = call.arguments }
      ask { op = "decode", abi = call.signature, data = call.data, strict = true }
      ask { op = "abi", abi = call.fragment }
    end
    local answers = records.ask("abi_cases", list)
    for n, call in ipairs(calls) do
      local where = ("seed %d, call %d: %s"):format(seed, n, call.signature)
      local encoded, decoded, read = answers[3 * n - 2], answers[3 * n - 1], answers[3 * n]
      assert.equal(call.data, encoded.data, where)
      assert.same(call.arguments, decoded.arguments, where)
      assert.same({}, decoded.notes, where)
      assert.equal(call.canonical, read[1].signature, where)
      assert.equal(call.selector, read[1].selector, where)
    end
    print(("\ncontract ABI: seed %d; ethers %s agrees on %d calls"):format(seed, version, COUNT))
  end)
end)
