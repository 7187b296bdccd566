local cjson = require "cjson"
local command = require "spec.support.command"
local requests = require "spec.support.requests"
local sponge = require "spec.support.sponge"

local run = command.run

-- "Ether Mail": the digests that EIP-712 publishes, and the request digest from the canonical form,
-- put together here by hand (ERC-8410, Request Digest).
local CANONICAL = '{"kind":"typed_data_signature_request","schema_version":"1","signer":"0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826",'
  .. '"signing_digest":"' .. requests.MAIL_DIGESTS.signing_digest .. '","valid_until":null,"delivery":null}'
local REQUEST_DIGEST = "0x" .. sponge.keccak_256(CANONICAL)

local DELIVERED = requests.tiny(',\n"valid_until":"2000","delivery":{"url":"https://wallet.example/d","request_id":"r-1"}')

describe("moonplan typed-data", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  describe("digest", function()
    it("prints the four digests, each on its line", function()
      local published = requests.MAIL_DIGESTS
      assert.same({ code = 0, err = "", out = ("request digest    %s\ndomain separator  %s\nmessage hash      %s\n"
        .. "signing digest    %s\n"):format(REQUEST_DIGEST, published.domain_separator, published.message_hash,
        published.signing_digest) }, run { "typed-data", "digest", "-", stdin = requests.MAIL })
    end)

    it("has them as JSON", function()
      local outcome = run { "typed-data", "digest", "--json", "-", stdin = requests.MAIL }
      local published = requests.MAIL_DIGESTS
      assert.same({ request_digest = REQUEST_DIGEST, domain_separator = published.domain_separator,
        message_hash = published.message_hash, signing_digest = published.signing_digest }, cjson.decode(outcome.out))
    end)

    it("explains them", function()
      local outcome = run { "typed-data", "digest", "--explain", "-", stdin = requests.MAIL }
      assert.equal(0, outcome.code)
      local encoded = "Mail(Person from,Person to,string contents)Person(string name,address wallet)"
      for _, line in ipairs {
        "0x" .. sponge.keccak_256(encoded) .. " " .. encoded,
        requests.MAIL_DIGESTS.message_hash .. " message Mail",
        "  0x" .. sponge.keccak_256("Hello, Bob!") .. ' string contents  "Hello, Bob!"',
        CANONICAL,
      } do
        assert.truthy(("\n" .. outcome.out):find("\n" .. line .. "\n", 1, true), line)
      end
      local tree = cjson.decode(run { "typed-data", "digest", "--explain", "--json", "-", stdin = requests.MAIL }.out)
      assert.equal(CANONICAL, tree.canonical_form)
      assert.equal(requests.MAIL_DIGESTS.message_hash, tree.message.encoded)
      assert.equal("Cow", tree.message.members[1].members[1].value)
    end)

    it("explains a request as deep as one may be", function()
      local text = requests.of(requests.struct("T", { { "k", "T[]" } }), ('{"k":['):rep(31) .. ("]}"):rep(31))
      local outcome = run { "typed-data", "digest", "--explain", "--json", "-", stdin = text }
      assert.equal(0, outcome.code, outcome.err)
    end)

    it("has the faults as JSON, as validate has them", function()
      for _, text in ipairs { requests.MAIL:gsub('"1"', '"2"', 1), '{"ordered_steps":[]}', "{" } do
        local outcome = run { "typed-data", "digest", "--json", "-", stdin = text }
        assert.equal(2, outcome.code)
        assert.is_false(cjson.decode(outcome.out).valid)
        assert.same(run { "typed-data", "validate", "--json", "-", stdin = text }, outcome)
      end
      assert.same(run { "typed-data", "validate", "--json", "none", cd = folder },
        run { "typed-data", "digest", "--json", "none", cd = folder })
    end)

    it("prints nothing of what is no request", function()
      local outcome = run { "typed-data", "digest", "-", stdin = requests.MAIL:gsub('"1"', '"2"', 1) }
      assert.same({ 2, "" }, { outcome.code, outcome.out })
      assert.matches("^%-:1:19: error%[typed_data%.schema_version%] at /schema_version: ", outcome.err)
      outcome = run { "typed-data", "digest", "-", stdin = '{"ordered_steps":[]}' }
      assert.equal(2, outcome.code)
      assert.matches("this is a call plan; what is read here is a typed%-data signature request", outcome.err)
    end)
  end)

  describe("validate", function()
    it("judges by what the caller knows", function()
      command.write(folder .. "/r", DELIVERED)
      local valid = { code = 0, err = "" }
      valid.out = run { "typed-data", "validate", "r", cd = folder }.out
      assert.matches("^r: valid typed%-data signature request, request digest 0x%x+\n$", valid.out)
      assert.same(valid, run { "typed-data", "validate", "r", "--now", "1999", "--account", requests.SIGNER,
        "--origin", "https://wallet.example/other", cd = folder })
      local outcome = run { "typed-data", "validate", "r", "--now", "2000", "--account", "0x" .. ("1"):rep(40),
        "--origin", "", cd = folder }
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      local codes = {}
      for code in outcome.err:gmatch("error%[typed_data%.([%w_]+)%]") do codes[#codes + 1] = code end
      assert.same({ "signer_mismatch", "expired", "delivery_origin" }, codes)
      assert.matches("\nr:2:15: error%[typed_data%.expired%] at /valid_until: ", outcome.err)
    end)

    it("lets a reference prove where it came from", function()
      command.write(folder .. "/r", DELIVERED)
      run { "reference", "make", "r", "--out", "ref", cd = folder }
      -- what a data: URL carries came from nowhere, whatever is claimed
      local outcome = run { "typed-data", "validate", "ref", "--origin", "https://wallet.example/d", cd = folder }
      assert.equal(2, outcome.code)
      assert.matches("\nthe artifact of ref:2:%d+: error%[typed_data%.delivery_origin%] at /delivery/url: ", "\n" .. outcome.err)
    end)

    it("has JSON of the shape that validate has", function()
      local outcome = run { "typed-data", "validate", "--json", "-", stdin = requests.MAIL }
      assert.same({ file = "-", kind = "typed_data_signature_request", valid = true, digest = REQUEST_DIGEST,
        errors = {}, warnings = {} }, cjson.decode(outcome.out))
      assert.same(outcome, run { "validate", "--json", "-", stdin = requests.MAIL })
      outcome = run { "typed-data", "validate", "--json", "--now", "2000", "-", stdin = DELIVERED }
      assert.equal(2, outcome.code)
      assert.equal("typed_data.expired", cjson.decode(outcome.out).errors[1].code)
    end)

    for words, wrong in pairs {
      ["--now"] = { "yesterday", "-1", "1.5", "99999999999999999999" },
      ["--account"] = { "0x12", "vitalik.eth", "0x" .. ("g"):rep(40) },
    } do
      it("refuses a " .. words .. " that is none", function()
        for _, value in ipairs(wrong) do
          local outcome = run { "typed-data", "validate", words .. "=" .. value, "-", stdin = requests.MAIL }
          assert.equal(1, outcome.code, value)
          assert.matches("^moonplan typed%-data: ", outcome.err)
        end
      end)
    end
  end)

  describe("check-result", function()
    local function result(change)
      return (('{"kind":"typed_data_result","schema_version":"1","request_digest":"%s","signing_digest":"%s",'
        .. '"signer":"0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826","signature":"0xabcd"}'):format(REQUEST_DIGEST,
        requests.MAIL_DIGESTS.signing_digest):gsub(change and change[1] or "^", change and change[2] or ""))
    end

    before_each(function() command.write(folder .. "/request", requests.MAIL) end)

    it("compares a result with its request", function()
      command.write(folder .. "/result", result())
      local outcome = run { "typed-data", "check-result", "result", "--request", "request", cd = folder }
      assert.same({ 0, "" }, { outcome.code, outcome.err })
      assert.matches("^result: result as it should be, about the request " .. REQUEST_DIGEST, outcome.out)
      assert.same({ file = "result", as = "result", valid = true, request_digest = REQUEST_DIGEST, errors = {} },
        cjson.decode(run { "typed-data", "check-result", "--json", "result", "--request", "request", cd = folder }.out))
    end)

    it("refuses another's digests and signer, and never shows a signature", function()
      for code, change in pairs {
        ["request_mismatch"] = { REQUEST_DIGEST, "0x" .. ("0"):rep(64) },
        ["signer_mismatch"] = { '"0xcd2a', '"0x0000' },
        ["signature"] = { "0xabcd", "0xDEADBEEF" },
      } do
        local outcome = run { "typed-data", "check-result", "-", "--request", "request", cd = folder, stdin = result(change) }
        assert.same({ 2, "" }, { outcome.code, outcome.out })
        assert.matches("^%-:1:%d+: error%[typed_data%." .. code .. "%] at /", outcome.err)
        assert.not_matches("DEADBEEF", outcome.err)
      end
    end)

    it("says which of the two files is wrong", function()
      command.write(folder .. "/result", result())
      command.write(folder .. "/request", "{}")
      local outcome = run { "typed-data", "check-result", "result", "--request", "request", cd = folder }
      assert.equal(2, outcome.code)
      assert.matches("^request:1:1: error%[document%.kind%]", outcome.err)
      assert.equal(1, run { "typed-data", "check-result", "result", cd = folder }.code)
      assert.equal(1, run { "typed-data", "check-result", "result", "--request", "none", cd = folder }.code)
    end)

    it("takes receipts and operations by name", function()
      command.write(folder .. "/request", DELIVERED)
      local digest = cjson.decode(run { "typed-data", "digest", "--json", "request", cd = folder }.out).request_digest
      local receipt = ('{"kind":"typed_data_receipt","schema_version":"1","request_id":"r-1","request_digest":"%s",'
        .. '"status":"unknown"}'):format(digest)
      local function check(as, text)
        return run { "typed-data", "check-result", "--as", as, "-", "--request", "request", cd = folder, stdin = text }.code
      end
      assert.equal(0, check("receipt", receipt))
      assert.equal(2, check("result", receipt))
      assert.equal(0, check("operation", ('{"action":"status","request_id":"r-1","request_digest":"%s"}'):format(digest)))
    end)
  end)
end)

describe("moonplan review, of a typed-data request,", function()
  local function review(text, ...)
    local outcome = run { "review", "-", stdin = text, ... }
    assert.equal(0, outcome.code, outcome.err)
    assert.equal("", outcome.err)
    return "\n" .. outcome.out
  end

  it("lays out who signs what for whom", function()
    local out = review(requests.MAIL)
    for _, line in ipairs {
      "request " .. REQUEST_DIGEST, "signs   " .. requests.MAIL_DIGESTS.signing_digest,
      "signer  0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826", "type    Mail", "until   no end", "goes to the caller",
      "domain  EIP712Domain", '  name  string  "Ether Mail"', "  chainId  uint256  1", "message  Mail", "  from  Person",
      '    name  string  "Cow"', "    wallet  address  0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826",
      '  contents  string  "Hello, Bob!"',
    } do
      assert.truthy(out:find("\n" .. line .. "\n", 1, true), line)
    end
    assert.truthy(out:find("\n  info[signature.released]: ", 1, true))
    assert.truthy(review(DELIVERED):find("\n  warning[delivery.unproved] at /delivery: ", 1, true))
    -- date -u -d @2000
    assert.truthy(review(DELIVERED):find("\nuntil   2000 (1970-01-01 00:33:20 UTC)\ngoes to https://wallet.example/d, as r-1\n", 1, true))
  end)

  it("puts dangers first, by the time that it is told", function()
    local permit = ('{"schema_version":"1","kind":"typed_data_signature_request","signer":"%s","typed_data":{"types":{'
      .. '"EIP712Domain":[{"name":"name","type":"string"}],%s},"primaryType":"Permit","domain":{"name":"D"},"message":'
      .. '{"owner":"%s","spender":"0x%s","value":"115792089237316195423570985008687907853269984665640564039457584007913129639935",'
      .. '"nonce":"0","deadline":"1000000000"}}}'):format(requests.SIGNER, requests.struct("Permit", { { "owner", "address" },
      { "spender", "address" }, { "value", "uint256" }, { "nonce", "uint256" }, { "deadline", "uint256" } }), requests.SIGNER,
      ("33"):rep(20))
    local out = review(permit)
    local danger, warning = out:find("\n  danger[allowance.unlimited] at /typed_data/message/value: ", 1, true),
      out:find("\n  warning[domain.chainless] at /typed_data/domain: ", 1, true)
    assert(danger and warning and danger < warning, out)
    assert.falsy(out:find("long_lived", 1, true))
    assert.truthy(review(permit, "--now", "900000000"):find("\n  warning[signature.long_lived] at /typed_data/message/deadline: ", 1, true))
  end)

  it("shows every element, and what only looks empty", function()
    local out = review(requests.of(requests.struct("T", { { "a", "uint8[2][]" }, { "e", "bool[]" }, { "s", "S" }, { "n", "string" } })
      .. "," .. requests.struct("S", {}), '{"a":[["1","2"],["3","4"]],"e":[],"s":{},"n":""}'))
    for _, line in ipairs { "  a  uint8[2][]", "    [1]  uint8[2]", "      [0]  uint8  3", "  e  bool[]  (empty)",
      "  s  S  (no members)", '  n  string  ""' } do
      assert.truthy(out:find("\n" .. line .. "\n", 1, true), line)
    end
  end)

  it("tells letters that look alike apart, and turns nothing around", function()
    -- github.com/EkuboProtocol/wallet/commit/07e1c2d7
    local out = review(requests.of(requests.struct("T", { { "token", "string" }, { "note", "string" } }),
      '{"token":"USD\\u0421","note":"pay 100\\u202e000 1\\u001b[2J"}'))
    assert.truthy(out:find('\n  token  string  "USD\u{421}"\n    (not ASCII: U+0421)\n', 1, true), out)
    assert.truthy(out:find('"pay 100\\u{202e}000 1\\u{1b}[2J"\n    (not ASCII: U+202E)\n', 1, true), out)
    assert.falsy(out:find("[\1-\9\11-\31\127]"))
    assert.falsy(out:find("\u{202e}", 1, true))
  end)
end)
