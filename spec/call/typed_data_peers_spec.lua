-- Our digests beside those of ethers 6 and viem 2, over random typed data. The two are installed by
-- whoever wants this: `npm install ethers@6 viem@2` in a folder, and MOONPLAN_PEERS names it.
local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"
local records = require "spec.support.records"
local typed_documents = require "spec.support.typed_documents"

describe("2,000 random typed documents", function()
  local peers = os.getenv("MOONPLAN_PEERS")
  if not peers or not os.execute("node --version >/dev/null 2>&1") then
    pending("ethers and viem are not there: set MOONPLAN_PEERS, and have node")
    return
  end

  it("have the digests that ethers and viem give them", function()
    local seed = math.tointeger(os.getenv("MOONPLAN_SEED") or os.time())
    math.randomseed(seed)
    local lines, list, recursive = {}, {}, {}
    for n = 1, 2000 do
      lines[n], recursive[n] = typed_documents.make()
      list[n] = {
        words = { "request", "limit:elements=1000000", "limit:request_bytes=16777216" },
        bytes = '{"schema_version":"1","kind":"typed_data_signature_request",'
          .. '"signer":"0xabcdef0123456789abcdef0123456789abcdef01","typed_data":' .. lines[n] .. "}",
      }
    end
    local outcome = command.shell(("node %s %s"):format(
      files.quote(files.root .. "spec/support/typed_data_peers.mjs"), files.quote(peers)),
      table.concat(lines, "\n") .. "\n")
    assert.equal(0, outcome.code, outcome.err)
    local answers, said = records.ask("typed_data_cases", list), outcome.out:gmatch("[^\n]+")
    local versions, both = cjson.decode(said()), 0
    for n, answer in ipairs(answers) do
      local where = ("seed %d, document %d: %s"):format(seed, n, lines[n])
      assert(answer.accept, where)
      local peer = cjson.decode(said())
      for name, digest in pairs(peer.viem) do assert.equal(digest, answer[name], where) end
      assert.is_nil(peer.viem.error, where)
      if peer.ethers.error then
        assert(recursive[n], where .. ": " .. peer.ethers.error)
      else
        both = both + 1
        for name, digest in pairs(peer.ethers) do assert.equal(digest, answer[name], where) end
      end
    end
    print(("\ntyped data: seed %d; viem %s agrees on 2000 documents, ethers %s on %d of them")
      :format(seed, versions.viem, versions.ethers, both))
  end)
end)
