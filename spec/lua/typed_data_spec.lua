-- Typed-data requests as a script sees them. The cases of spec/call/typed_data_spec.lua once more,
-- through the module.
local cjson = require "cjson"
local moonplan = require "moonplan"
local files = require "spec.support.files"
local recipe = require "spec.support.recipe"
local requests = require "spec.support.requests"

local DIGESTS = { "request_digest", "domain_separator", "message_hash", "signing_digest" }

local function raised(f, ...)
  local fine, err = pcall(f, ...)
  assert.is_false(fine, "no error was raised")
  return err
end

local function parse(text, options) return assert(moonplan.typed_data(text, options)) end

describe("a typed-data case", function()
  local cases = cjson.decode(files.read(files.root .. "spec/data/typed-data.json")).cases
  local stored
  for _, case in ipairs(cases) do
    if case.id == "vector-delivery" then stored = parse(case.input) end
  end
  local replies = {
    result = moonplan.check_result, receipt = moonplan.check_receipt, operation = moonplan.check_operation,
  }

  for _, case in ipairs(cases) do
    it(case.id .. ": " .. case.expect.reason, function()
      local options, expect, text = case.options, case.expect, recipe.build(case)
      local accept = expect.accept
      if accept == "open" then accept = expect.recommended end
      local found, err
      if case.doc == "request" then
        found, err = moonplan.typed_data(text, {
          now = options.now and math.tointeger(tonumber(options.now)), account = options.account,
          origin = options.origin, no_delivery = options.delivery == "unsupported",
        })
      else
        local about = (options.stored_request or options.expect_request_id) and stored or nil
        found, err = replies[case.doc](text, about)
      end
      assert.equal(accept, found ~= nil, tostring(err))
      if accept and expect.digests then
        for _, name in ipairs(DIGESTS) do assert.equal(expect.digests[name], found[name]) end
      end
    end)
  end
end)

describe("a typed-data request", function()
  it("has the digests that EIP-712 publishes for its example", function()
    local request = parse(requests.MAIL)
    for name, digest in pairs(requests.MAIL_DIGESTS) do assert.equal(digest, request[name]) end
    assert.equal(moonplan.keccak256(request:canonical()), request.request_digest)
  end)

  it("has the fields of its document", function()
    local request = parse(requests.MAIL)
    local document = moonplan.json.decode(requests.MAIL)
    assert.equal(document.signer, request.signer)
    assert.equal("Mail", request.primary_type)
    for _, name in ipairs { "types", "domain", "message" } do
      assert.same(document.typed_data[name], request[name])
      assert.is_false(rawequal(request[name], request[name]))
    end
    assert.is_nil(request.valid_until)
    assert.is_nil(request.delivery)
    assert.equal('"Hello, Bob!"', request:source "/typed_data/message/contents")
    local full = parse(requests.tiny(',"valid_until":"18446744073709551615","delivery":'
      .. '{"url":"https://wallet.example/d","request_id":"r-1"}'))
    assert.equal("18446744073709551615", full.valid_until)
    assert.same({ url = "https://wallet.example/d", request_id = "r-1" }, full.delivery)
    -- the signer in lower case, whatever the document has
    assert.equal(requests.SIGNER, parse((requests.tiny():gsub("abcdef", "ABCDEF"))).signer)
  end)

  it("names the fields there are, and cannot be changed", function()
    local request = parse(requests.tiny())
    assert.matches('typed_data_spec.lua:%d+: a typed%-data request has no field "digest"; there are: canonical, check',
      raised(function() return request.digest end))
    assert.matches("cannot be changed", raised(function() request.signer = "x" end))
    assert.is_false(getmetatable(request))
    assert.equal("typed-data request " .. request.request_digest .. " (signer " .. requests.SIGNER .. ")", tostring(request))
    local kept
    do
      local closed <close> = parse(requests.tiny())
      kept = closed
    end
    for _, f in ipairs { function() return kept.signer end, function() return kept:check() end,
      function() return moonplan.check_result("{}", kept) end } do
      assert.matches("is closed", raised(f))
    end
    for _, method in ipairs { "check", "canonical", "explain", "review", "source" } do
      assert.has_error(function() request[method](io.stdout) end)
    end
  end)

  it("names the type of an array whose length fits no number", function()
    for _, length in ipairs { "18446744073709551617", "2" } do
      local type = "uint256[" .. length .. "]"
      local _, err = moonplan.typed_data(requests.of(requests.struct("T", { { "a", type } }), '{"a":["1"]}'))
      assert.equal("typed_data.array_length", err.code)
      assert.equal("the number of elements, 1, is not that of the type " .. type, err.message)
    end
  end)

  it("is checked again after a wait", function()
    local request = parse(requests.tiny(',"valid_until":"2000"'))
    assert.is_true(request:check { now = 1999 })
    local fine, err = request:check { now = 2000 }
    assert.is_nil(fine)
    assert.same({ "typed_data.expired", "/valid_until", 1 }, { err.code, err.at, err.line })
    assert.is_true(request:check { account = requests.SIGNER:upper():gsub("^0X", "0x") })
    fine, err = request:check { account = "0x" .. ("1"):rep(40), now = 3000 }
    assert.is_nil(fine)
    assert.equal(2, #err.errors)
    assert.equal("typed_data.signer_mismatch", err.code)
    assert.is_true(request:check())
  end)

  it("takes options that make sense", function()
    for _, case in ipairs {
      { { now = 1.5 }, "now must be whole seconds since 1970" }, { { now = -1 }, "now must be" },
      { { now = "5" }, "now must be" }, { { account = 1 }, "account must be an address as text, not a number" },
      { { origin = false }, 'origin must be a URL, or "" for none, not a boolean' },
      { { no_delivery = 1 }, "no_delivery must be true or false" },
      { { expect = "plan" }, 'no option "expect"; there are: ' },
    } do
      local message = raised(function() return (moonplan.typed_data(requests.tiny(), case[1])) end)
      assert(message:find(case[2], 1, true), message)
    end
    assert.has_error(function() return moonplan.typed_data(5) end)
  end)

  it("explains how its digests come about", function()
    local request = parse(requests.MAIL)
    local tree = request:explain()
    for _, name in ipairs(DIGESTS) do assert.equal(request[name], tree[name]) end
    assert.equal(request:canonical(), tree.canonical_form)
    -- EIP-712, definition of encodeType
    assert.equal("Mail(Person from,Person to,string contents)Person(string name,address wallet)", tree.types.Mail.encode_type)
    assert.equal(moonplan.keccak256(tree.types.Mail.encode_type), tree.types.Mail.type_hash)
    -- a struct's hash is that of its type's hash and its members' encodings
    local person = tree.message.members[1]
    local bytes = (tree.types.Person.type_hash .. person.members[1].encoded .. person.members[2].encoded):gsub("0x", "")
    assert.equal(person.encoded, moonplan.keccak256((bytes:gsub("%x%x", function(digits)
      return string.char(tonumber(digits, 16))
    end))))
    assert.equal(moonplan.keccak256("Hello, Bob!"), tree.message.members[3].encoded)
  end)

  it("may nest as deep as its limit lets it", function()
    local text = requests.of(requests.struct("T", { { "k", "T[]" } }), ('{"k":['):rep(250) .. ("]}"):rep(250))
    local request = parse(text, { limits = { nesting = 1000, depth = 1024 } })
    assert.equal(request.message_hash, request:explain().message.encoded)
    assert.equal(request.message_hash, request:review().message_hash)
    assert.truthy(request.message.k[1].k[1].k)
  end)
end)

describe("what comes back", function()
  local request = parse(requests.tiny(',"delivery":{"url":"https://wallet.example/d","request_id":"r-1"}'))
  local other = parse(requests.MAIL)
  local result = ('{"kind":"typed_data_result","schema_version":"1","request_digest":"%s","signing_digest":"%s",'
    .. '"signer":"%s","signature":"0x00"}'):format(request.request_digest, request.signing_digest, request.signer)
  local receipt = ('{"kind":"typed_data_receipt","schema_version":"1","request_id":"r-1","request_digest":"%s",'
    .. '"status":"unknown"}'):format(request.request_digest)

  it("is about the request", function()
    assert.is_true(moonplan.check_result(result, request))
    assert.is_true(moonplan.check_receipt(receipt, request))
    assert.is_true(moonplan.check_operation('{"action":"submit","request_id":"r-1","result":' .. result .. "}", request))
  end)

  it("is refused where it is about another", function()
    local fine, err = moonplan.check_result(result, other)
    assert.is_nil(fine)
    local codes = {}
    for n, fault in ipairs(err.errors) do codes[n] = fault.code .. " " .. fault.at end
    assert.same({ "typed_data.request_mismatch /request_digest", "typed_data.request_mismatch /signing_digest",
      "typed_data.signer_mismatch /signer" }, codes)
    fine, err = moonplan.check_receipt(receipt, other)
    assert.is_nil(fine)
    assert.equal("typed_data.request_mismatch", err.code)
  end)

  it("has a shape of its own without a request", function()
    assert.is_true(moonplan.check_result(result, nil))
    local fine, err = moonplan.check_result(receipt, nil)
    assert.is_nil(fine)
    assert.equal("typed_data.missing_member", err.code)
    fine, err = moonplan.check_result("{", nil)
    assert.is_nil(fine)
    assert.equal("json.syntax", err.code)
    assert.has_error(function() return moonplan.check_result(result, "x") end)
    assert.has_error(function() return moonplan.check_result(result, nil, { now = 1 }) end)
  end)
end)

-- The messages of ERC-2612, DAI, Permit2 and ERC-3009, with the types as those contracts hash them.
local TOKEN, SPENDER = "0x" .. ("22"):rep(20), "0x" .. ("33"):rep(20)
local MAX256 = "115792089237316195423570985008687907853269984665640564039457584007913129639935"
local PERMIT = { "Permit", { { "owner", "address" }, { "spender", "address" }, { "value", "uint256" },
  { "nonce", "uint256" }, { "deadline", "uint256" } } }

local DOMAIN = '{"name":"D","chainId":"1","verifyingContract":"' .. TOKEN .. '"}'
local DOMAIN_TYPE = { { "name", "string" }, { "chainId", "uint256" }, { "verifyingContract", "address" } }

-- A request whose primary type is the first of the structs.
local function asking(structs, message, change)
  change = change or {}
  local types = { requests.struct("EIP712Domain", change.domain_type or DOMAIN_TYPE) }
  for _, each in ipairs(structs) do types[#types + 1] = requests.struct(each[1], each[2]) end
  return parse(('{"schema_version":"1","kind":"typed_data_signature_request","signer":"%s","typed_data":'
    .. '{"types":{%s},"primaryType":"%s","domain":%s,"message":%s}%s}'):format(requests.SIGNER,
    table.concat(types, ","), structs[1][1], change.domain or DOMAIN, message, change.rest or ""))
end

local function found(request, now)
  local list = {}
  for n, finding in ipairs(request:review({ now = now }).findings) do
    list[n] = finding.severity .. " " .. finding.code .. " " .. finding.at
  end
  return list
end

local RELEASED = "info signature.released "
local MESSAGE = "/typed_data/message"

local function permit(value, deadline, change)
  return asking({ PERMIT }, ('{"owner":"%s","spender":"%s","value":"%s","nonce":"0","deadline":"%s"}'):format(
    requests.SIGNER, SPENDER, value, deadline or "1000"), change)
end

describe("the review of a request", function()
  it("holds what a person judges", function()
    local request = parse(requests.MAIL)
    local review = request:review()
    for _, name in ipairs(DIGESTS) do assert.equal(request[name], review[name]) end
    assert.equal(request.signer, review.signer)
    assert.equal("Mail", review.primary_type)
    assert.same(request:explain().message, review.message)
    assert.same(request:explain().domain, review.domain)
    assert.same({ RELEASED }, found(request))
    assert.same({ danger = 0, warning = 0, info = 1 }, review.counts)
    -- date -u -d @2000000000
    assert.equal("2033-05-18 03:33:20 UTC", parse(requests.tiny(',"valid_until":"2000000000"')):review().valid_until_time)
  end)

  it("says that a delivery is not to be relied on where no origin is proved", function()
    local request = parse(requests.tiny(',"delivery":{"url":"https://wallet.example/d","request_id":"r-1"}'))
    for origin, count in pairs { [""] = 1, ["https://other.example/d"] = 1, ["https://wallet.example/x"] = 0 } do
      local seen = 0
      for _, finding in ipairs(request:review({ origin = origin }).findings) do
        if finding.code == "delivery.unproved" then seen = seen + 1 end
      end
      assert.equal(count, seen, origin)
    end
  end)

  it("knows an allowance that is a signature", function()
    assert.same({ "warning signature.permit " .. MESSAGE, "info allowance.granted " .. MESSAGE .. "/value", RELEASED },
      found(permit("5")))
    assert.same({ "danger allowance.unlimited " .. MESSAGE .. "/value", "warning signature.permit " .. MESSAGE, RELEASED },
      found(permit(MAX256)))
    assert.same({ "warning signature.permit " .. MESSAGE, "info allowance.revoked " .. MESSAGE .. "/value", RELEASED },
      found(permit("0")))
    local finding = permit(MAX256):review().findings[1]
    for _, text in ipairs { SPENDER, TOKEN, MAX256 } do assert(finding.message:find(text, 1, true), finding.message) end
    local dai = { "Permit", { { "holder", "address" }, { "spender", "address" }, { "nonce", "uint256" },
      { "expiry", "uint256" }, { "allowed", "bool" } } }
    local message = ('{"holder":"%s","spender":"%s","nonce":"0","expiry":"9","allowed":%%s}'):format(requests.SIGNER, SPENDER)
    assert.same({ "danger allowance.unlimited " .. MESSAGE .. "/allowed", "warning signature.permit " .. MESSAGE, RELEASED },
      found(asking({ dai }, message:format("true"))))
    assert.same({ "warning signature.permit " .. MESSAGE, "info allowance.revoked " .. MESSAGE .. "/allowed", RELEASED },
      found(asking({ dai }, message:format("false"))))
    local item = { "Permit", { { "spender", "address" }, { "tokenId", "uint256" }, { "nonce", "uint256" },
      { "deadline", "uint256" } } }
    assert.same({ "warning signature.permit " .. MESSAGE, "info allowance.granted " .. MESSAGE .. "/tokenId", RELEASED },
      found(asking({ item }, ('{"spender":"%s","tokenId":"7","nonce":"0","deadline":"5"}'):format(SPENDER))))
  end)

  it("knows it by its type, not by its name", function()
    local other = { "Permit", { { "owner", "address" }, { "amount", "uint256" } } }
    assert.same({ RELEASED }, found(asking({ other }, ('{"owner":"%s","amount":"5"}'):format(SPENDER))))
  end)

  local PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
  local PERMIT2_ERAVM = "0x0000000000225e31D15943971F47aD3022F714Fa"
  local DETAILS = { "PermitDetails", { { "token", "address" }, { "amount", "uint160" }, { "expiration", "uint48" },
    { "nonce", "uint48" } } }
  local PERMISSIONS = { "TokenPermissions", { { "token", "address" }, { "amount", "uint256" } } }
  local AT_PERMIT2 = { domain = DOMAIN:gsub(TOKEN, PERMIT2) }

  local function details(amount, expiration)
    return ('{"token":"%s","amount":"%s","expiration":"%s","nonce":"0"}'):format(TOKEN, amount, expiration)
  end

  it("knows the messages of Permit2", function()
    local single = { "PermitSingle", { { "details", "PermitDetails" }, { "spender", "address" }, { "sigDeadline", "uint256" } } }
    local batch = { "PermitBatch", { { "details", "PermitDetails[]" }, { "spender", "address" }, { "sigDeadline", "uint256" } } }
    local function one(amount, expiration, change)
      return asking({ single, DETAILS }, ('{"details":%s,"spender":"%s","sigDeadline":"5"}'):format(
        details(amount, expiration), SPENDER), change or AT_PERMIT2)
    end
    local amount = MESSAGE .. "/details/amount"
    assert.same({ "warning signature.permit2 " .. MESSAGE, "info allowance.granted " .. amount, RELEASED }, found(one("5", "9")))
    -- 2^160 - 1 and 2^48 - 1
    assert.same({ "danger allowance.unlimited " .. amount, "warning signature.permit2 " .. MESSAGE,
      "warning permit2.long_lived " .. MESSAGE .. "/details/expiration", RELEASED },
      found(one("1461501637330902918203684832716283019655932542975", "281474976710655")))
    local OTHER = "not the Permit2 that is published"
    assert.matches(OTHER, one("5", "9", {}):review().findings[1].message, 1, true)
    -- ZKsync and Abstract have theirs at an address of their own (Uniswap's list of deployments).
    for chain, place in pairs { [""] = PERMIT2, ["10"] = PERMIT2, ["324"] = PERMIT2_ERAVM, ["2741"] = PERMIT2_ERAVM } do
      for _, address in ipairs { PERMIT2, PERMIT2_ERAVM } do
        local types, id = { DOMAIN_TYPE[1], DOMAIN_TYPE[3] }, ""
        if chain ~= "" then types, id = DOMAIN_TYPE, ('"chainId":"%s",'):format(chain) end
        local made = one("5", "9", { domain_type = types,
          domain = ('{"name":"D",%s"verifyingContract":"%s"}'):format(id, address) }):review()
        assert.equal(address ~= place, made.findings[1].message:find(OTHER, 1, true) ~= nil, chain .. " " .. address)
      end
    end
    assert.same({ "warning signature.permit2 " .. MESSAGE, "info allowance.granted " .. MESSAGE .. "/details/0/amount",
      "info allowance.granted " .. MESSAGE .. "/details/1/amount", RELEASED },
      found(asking({ batch, DETAILS }, ('{"details":[%s,%s],"spender":"%s","sigDeadline":"5"}'):format(
        details("1", "9"), details("2", "9"), SPENDER), AT_PERMIT2)))
    local from = { "PermitTransferFrom", { { "permitted", "TokenPermissions" }, { "spender", "address" },
      { "nonce", "uint256" }, { "deadline", "uint256" } } }
    assert.same({ "warning signature.permit2 " .. MESSAGE, "info allowance.granted " .. MESSAGE .. "/permitted/amount", RELEASED },
      found(asking({ from, PERMISSIONS }, ('{"permitted":{"token":"%s","amount":"5"},"spender":"%s","nonce":"0",'
        .. '"deadline":"5"}'):format(TOKEN, SPENDER), AT_PERMIT2)))
    local witness = { "PermitBatchWitnessTransferFrom", { { "permitted", "TokenPermissions[]" }, { "spender", "address" },
      { "nonce", "uint256" }, { "deadline", "uint256" }, { "witness", "Order" } } }
    assert.same({ "danger allowance.unlimited " .. MESSAGE .. "/permitted/0/amount", "warning signature.permit2 " .. MESSAGE,
      RELEASED },
      found(asking({ witness, PERMISSIONS, { "Order", {} } }, ('{"permitted":[{"token":"%s","amount":"%s"}],"spender":"%s",'
        .. '"nonce":"0","deadline":"5","witness":{}}'):format(TOKEN, MAX256, SPENDER), AT_PERMIT2)))
  end)

  it("knows a transfer that is a signature", function()
    local transfer = { "TransferWithAuthorization", { { "from", "address" }, { "to", "address" }, { "value", "uint256" },
      { "validAfter", "uint256" }, { "validBefore", "uint256" }, { "nonce", "bytes32" } } }
    local request = asking({ transfer }, ('{"from":"%s","to":"%s","value":"5","validAfter":"0","validBefore":"9","nonce":"0x%s"}')
      :format(requests.SIGNER, SPENDER, ("0"):rep(64)))
    assert.same({ "danger signature.transfer " .. MESSAGE, RELEASED }, found(request))
    assert.matches("moves 5 units of the token " .. TOKEN, request:review().findings[1].message, 1, true)
  end)

  it("calls a deadline far by the time that it is told", function()
    local far = "warning signature.long_lived " .. MESSAGE .. "/deadline"
    local function with(deadline, now)
      for _, each in ipairs(found(permit("5", deadline), now)) do
        if each == far then return true end
      end
      return false
    end
    local day = 86400
    assert.is_false(with("1000000000", 1000000000 - 90 * day))
    assert.is_true(with("1000000000", 1000000000 - 90 * day - 1))
    -- without a time, only what is far at any: from 2100-01-01 on
    assert.is_false(with "4102444799")
    assert.is_true(with "4102444800")
    assert.is_true(with(MAX256))
  end)

  it("knows that DAI takes 0 for no end", function()
    local dai = { "Permit", { { "holder", "address" }, { "spender", "address" }, { "nonce", "uint256" },
      { "expiry", "uint256" }, { "allowed", "bool" } } }
    local list = found(asking({ dai }, ('{"holder":"%s","spender":"%s","nonce":"0","expiry":"0","allowed":true}'):format(
      requests.SIGNER, SPENDER)))
    assert.equal("warning signature.long_lived " .. MESSAGE .. "/expiry", list[3])
  end)

  it("shows a number that stands for everything, in messages that it does not know", function()
    local order = { "Order", { { "take", "uint256" }, { "salt", "uint256" }, { "small", "uint64" }, { "parts", "uint128[]" } } }
    -- 2^128 - 1, and a random number of as many digits as a salt has
    local request = asking({ order }, ('{"take":"%s","salt":"%s","small":"18446744073709551615","parts":["1","%s"]}'):format(
      MAX256, "83241972387519823749182374981273498172349817234981723498172349817234981723498",
      "340282366920938463463374607431768211455"))
    assert.same({ "warning amount.unlimited " .. MESSAGE .. "/take", "warning amount.unlimited " .. MESSAGE .. "/parts/1",
      RELEASED }, found(request))
  end)

  it("tells what the domain leaves open", function()
    local bare = { domain = '{"name":"D"}', domain_type = { { "name", "string" } } }
    assert.same({ "warning domain.chainless /typed_data/domain", "warning domain.contractless /typed_data/domain", RELEASED },
      found(asking({ { "T", {} } }, "{}", bare)))
    assert.same({ "warning domain.contractless /typed_data/domain", RELEASED }, found(asking({ { "T", {} } }, "{}",
      { domain = '{"name":"D","chainId":"1"}', domain_type = { { "name", "string" }, { "chainId", "uint256" } } })))
    -- a permit without a contract still says whom
    local message = permit(MAX256, "5", bare):review().findings[1].message
    assert(message:find("the domain does not name", 1, true), message)
  end)

  it("says where the signature goes", function()
    local request = asking({ { "T", {} } }, "{}", { rest = ',"delivery":{"url":"https://wallet.example/d","request_id":"r-1"}' })
    assert.same({ "warning delivery.unproved /delivery" }, found(request))
    assert.same({ url = "https://wallet.example/d", request_id = "r-1" }, request:review().delivery)
  end)

  it("shows characters that cannot be seen", function()
    -- github.com/EkuboProtocol/wallet/commit/07e1c2d7
    local request = asking({ { "T", { { "note", "string" } } } }, '{"note":"pay 100\\u202e000 1"}')
    local first = request:review().findings[1]
    assert.equal("text.hidden", first.code)
    assert.matches("\\u{202e}", first.message, 1, true)
    assert.is_nil(first.message:find("\u{202e}", 1, true))
  end)

  it("counts what it does not list", function()
    local order = { "Order", { { "parts", "uint256[]" } } }
    local request = asking({ order }, ('{"parts":[%s"1"]}'):format(('"' .. MAX256 .. '",'):rep(10)))
    local review = request:review { limits = { findings = 3 } }
    assert.equal(10, review.counts.warning)
    assert.equal(5, #review.findings)
    assert.equal("review.rest", review.findings[4].code)
    assert.matches("7 more", review.findings[4].message, 1, true)
  end)
end)
