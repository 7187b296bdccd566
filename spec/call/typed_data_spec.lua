-- Typed-data signature requests and what travels back: the cases, the published vectors, and shapes
-- that other software got wrong.
local cjson = require "cjson"
local files = require "spec.support.files"
local recipe = require "spec.support.recipe"
local records = require "spec.support.records"

local DIGESTS = { "request_digest", "domain_separator", "message_hash", "signing_digest" }

-- The case file names faults in its own words; sizes come with the limit that is meant.
local CODES = {
  json = "json.syntax", ["duplicate-name"] = "json.duplicate_name",
  ["lone-surrogate"] = "json.surrogate", nesting = "limit", elements = "limit",
  ["too-many-types"] = "limit", ["too-many-members"] = "limit",
}
local LIMITS = {
  nesting = "nesting", elements = "elements", ["too-many-types"] = "types",
  ["too-many-members"] = "members",
}

-- Cases with more than one fault, in document order: an execution plan lacks what a request has, and
-- a misspelt member is also one that is missing. Every other refused case has exactly one.
local SEVERAL = {
  ["body-document-plan"] = {
    "typed_data.missing_member /kind", "typed_data.missing_member /signer",
    "typed_data.missing_member /typed_data", "typed_data.unknown_member /chain_id",
    "typed_data.unknown_member /caip2_chain_id", "typed_data.unknown_member /sender",
    "typed_data.unknown_member /ordered_steps",
  },
  ["message-case"] = {
    "typed_data.missing_member /typed_data/message/deadline",
    "typed_data.unknown_member /typed_data/message/Deadline",
  },
}

local function given(value)
  if value == cjson.null then return nil end
  return value
end

local function faults_of(answer)
  local list = {}
  for n, fault in ipairs(answer.errors) do list[n] = fault.code .. " " .. fault.at end
  return list
end

describe("a typed-data case", function()
  local cases = cjson.decode(files.read(files.root .. "spec/data/typed-data.json")).cases
  local by_id, list, answers = {}, {}, nil
  for _, case in ipairs(cases) do by_id[case.id] = case end

  -- What results and receipts are checked against; the published vector that they name.
  list[1] = { words = { "store" }, bytes = by_id["vector-delivery"].input }
  for _, case in ipairs(cases) do
    local words, options = { case.doc }, case.options
    for _, name in ipairs { "now", "account", "origin" } do
      if options[name] then words[#words + 1] = name .. "=" .. options[name] end
    end
    if options.delivery == "unsupported" then words[#words + 1] = "no_delivery" end
    if options.stored_request or options.expect_request_id then words[#words + 1] = "stored" end
    list[#list + 1] = { words = words, bytes = recipe.build(case) }
  end

  setup(function() answers = records.ask("typed_data_cases", list) end)

  it("is there for each of the 306", function() assert.equal(306, #cases) end)

  for n, case in ipairs(cases) do
    it(case.id .. ": " .. case.expect.reason, function()
      local answer, expect = answers[n + 1], case.expect
      local accept = expect.accept
      if accept == "open" then accept = expect.recommended end
      if case.input_recipe then assert.equal(case.input_bytes, #list[n + 1].bytes) end
      assert.equal(accept, answer.accept, not answer.accept and table.concat(faults_of(answer), ", ")
        or "accepted")
      if accept then
        for _, name in ipairs(expect.digests and DIGESTS or {}) do
          assert.equal(expect.digests[name], answer[name])
        end
        return
      end
      local code, pointer = given(expect.code), given(expect.pointer)
      local wanted = code and (CODES[code] or "typed_data." .. code:gsub("-", "_"))
      local found
      for _, fault in ipairs(answer.errors) do
        if (not wanted or fault.code == wanted) and (not pointer or fault.at == pointer) then
          found = found or fault
        end
      end
      assert(found, table.concat(faults_of(answer), ", "))
      if LIMITS[code] then assert.matches("limit " .. LIMITS[code], found.message, 1, true) end
      if SEVERAL[case.id] then
        assert.same(SEVERAL[case.id], faults_of(answer))
      else
        assert.equal(1, #answer.errors, table.concat(faults_of(answer), ", "))
      end
      local before = -1
      for _, fault in ipairs(answer.errors) do
        assert(before <= fault.offset, "faults are out of order")
        before = fault.offset
      end
    end)
  end
end)

-- ethereum/ERCs, assets/erc-8410, typed-data-test-vectors.json.
describe("the published typed-data vector", function()
  local path = files.shared("vectors/typed-data-test-vectors.json")
  if not path then
    pending("typed-data-test-vectors.json is not there: set MOONPLAN_SHARED")
    return
  end
  local text = files.read(path)
  local vectors, list = cjson.decode(text).cases, {}
  -- Each request's own text, cut out of the file. No string inside one holds a brace.
  for request in text:gmatch('"request":%s*(%b{})') do
    list[#list + 1] = { words = { "request" }, bytes = request }
  end
  local answers
  setup(function() answers = records.ask("typed_data_cases", list) end)

  it("is there 16 times", function()
    assert.equal(16, #vectors)
    assert.equal(16, #list)
  end)
  for n, vector in ipairs(vectors) do
    it(vector.name .. " comes out, and so does its canonical form", function()
      for _, name in ipairs(DIGESTS) do assert.equal(vector[name], answers[n][name]) end
      assert.equal(vector.canonical_form, answers[n].canonical_form)
    end)
  end
end)

-- A request with one struct T of the given members.
local function request(types, message, rest)
  return ('{"schema_version":"1","kind":"typed_data_signature_request",'
    .. '"signer":"0xabcdef0123456789abcdef0123456789abcdef01","typed_data":{"types":{'
    .. '"EIP712Domain":[{"name":"name","type":"string"}],%s},"primaryType":"T",'
    .. '"domain":{"name":"D"},"message":%s}%s}'):format(types, message, rest or "")
end

local function members(name, list)
  local pieces = {}
  for n, member in ipairs(list) do
    pieces[n] = ('{"name":"%s","type":"%s"}'):format(member[1], member[2])
  end
  return ('"%s":[%s]'):format(name, table.concat(pieces, ","))
end

local function ask(bytes, ...)
  return records.ask("typed_data_cases", { { words = { "request", ... }, bytes = bytes } })[1]
end

local function refused(code, at, bytes, ...)
  local answer = ask(bytes, ...)
  assert.is_false(answer.accept)
  assert.same({ code .. " " .. at }, faults_of(answer))
  return answer.errors[1]
end

local MESSAGE = "/typed_data/message"

describe("typed data", function()
  it("hashes an empty array to the hash of nothing", function()
    -- github.com/MetaMask/eth-sig-util/pull/107: 32 zero bytes were proposed instead
    local answer = ask(request(members("T", { { "a", "uint256[]" } }), '{"a":[]}'))
    assert.equal("0x6a70147ec04483dab5db8ebd62a1c8bde2447274dd224057d095c882244c39df",
      answer.message_hash)
  end)

  it("pads bytes on the right", function()
    -- github.com/evmts/voltaire/issues/65
    local answer = ask(request(members("T", { { "a", "bytes4" } }), '{"a":"0x12345678"}'))
    assert.equal("0x181fc48ba319e2bd4e640e3377aab2bfc5b612c84f077c8405c55cfd3e0e25e7",
      answer.message_hash)
  end)

  it("judges a value by its declared type, with the place", function()
    -- github.com/evmts/voltaire/issues/65, github.com/MetaMask/metamask-extension/issues/15953 and
    -- 7881: values that fit no type were hashed all the same
    for _, case in ipairs {
      { "uint8", '"256"', "out of the range of uint8" }, { "bytes4", '"0x1234567890"' },
      { "bytes4", '"0x1234"', "0x and 8 hexadecimal digits" }, { "bool", "2", "true or false" },
      { "address", '"0x' .. ("11"):rep(19) .. '"' },
      { "uint256", '"Confirm your vote"', '"Confirm your vote"' },
      { "uint256", "9007199254740993", "a string of decimal digits" }, { "uint256", "1e30" },
      { "uint256", '"1e30"' }, { "uint256", '"0x20000000000001"' },
      { "int256", '"-57896044618658097711785492504343953926634992332820282019728792003956564819969"' },
      { "int8", '"-0"' }, { "uint8", '"-1"' },
    } do
      local fault = refused("typed_data.value", MESSAGE .. "/a",
        request(members("T", { { "a", case[1] } }), '{"a":' .. case[2] .. "}"))
      if case[3] then assert.matches(case[3], fault.message, 1, true) end
    end
  end)

  it("says what a type without width is called", function()
    -- github.com/MetaMask/eth-sig-util/issues/55
    local at = "/typed_data/types/T/0/type"
    for _, name in ipairs { "uint", "int" } do
      local fault = refused("typed_data.unresolved_type", at,
        request(members("T", { { "a", name } }), '{"a":"1"}'))
      assert.matches(name .. "256", fault.message, 1, true)
    end
    for _, name in ipairs { "uint7", "int264", "bytes33", "bytes0", "fixed128x18" } do
      refused("typed_data.unresolved_type", at, request(members("T", { { "a", name } }), '{"a":"1"}'))
    end
    for _, name in ipairs { "uint256[ ]", "uint256[0]", "Person[] []", "uint256 ", "a.b", "[]" } do
      refused("typed_data.type_expression", at, request(members("T", { { "a", name } }), '{"a":"1"}'))
    end
  end)

  it("refuses structs that some reader takes for a basic type", function()
    for _, name in ipairs { "uint", "int", "uint7", "int999", "bytes33", "bytes0", "string" } do
      refused("typed_data.shadowed_base_type", "/typed_data/types/" .. name,
        request(members("T", { { "a", name } }) .. "," .. members(name, { { "x", "bool" } }),
          '{"a":{"x":true}}'))
    end
    -- only what is a basic type somewhere: these are names like any other
    for _, name in ipairs { "byte", "uint_8", "Uint8", "strings", "addresses", "function" } do
      local answer = ask(request(members("T", { { "a", name } }) .. ","
        .. members(name, { { "x", "bool" } }), '{"a":{"x":true}}'))
      assert.is_true(answer.accept)
    end
  end)

  it("names every type that a struct leads to, sorted, the struct first", function()
    -- github.com/foundry-rs/foundry/issues/9027: grandchildren were left out
    local answer = ask(request(members("T", { { "bar", "Bar" } }) .. ","
      .. members("Bar", { { "art", "Art" } }) .. "," .. members("Art", { { "id", "uint256" } }),
      '{"bar":{"art":{"id":"1"}}}'), "explain")
    local types = answer.explain.types
    assert.equal("T(Bar bar)Art(uint256 id)Bar(Art art)", types.T.encode_type)
    assert.equal("Bar(Art art)Art(uint256 id)", types.Bar.encode_type)
    assert.equal("EIP712Domain(string name)", types.EIP712Domain.encode_type)
  end)

  it("lets no signature cover less than was shown", function()
    -- github.com/EkuboProtocol/wallet commits 83556816 and 73d897db
    local types = members("T", { { "d", "Details" }, { "l", "Details[]" } }) .. ","
      .. members("Details", { { "a", "bool" } })
    refused("typed_data.unknown_member", MESSAGE .. "/d/note",
      request(types, '{"d":{"a":true,"note":"You will receive 1000 USDC"},"l":[]}'))
    refused("typed_data.unknown_member", MESSAGE .. "/l/1/note",
      request(types, '{"d":{"a":true},"l":[{"a":true},{"a":true,"note":""}]}'))
    refused("typed_data.unused_type", "/typed_data/types/Other",
      request(types .. "," .. members("Other", { { "a", "bool" } }), '{"d":{"a":true},"l":[]}'))
    local whole = request(types, '{"d":{"a":true},"l":[]}')
    refused("typed_data.unknown_member", "/typed_data/domain/note",
      (whole:gsub('"domain":{', '"domain":{"note":"You will receive 1000 USDC",')))
    refused("typed_data.unknown_member", "/typed_data/hint",
      (whole:gsub('"primaryType"', '"hint":"",%0')))
    refused("typed_data.primary_type", "/typed_data/primaryType",
      (whole:gsub('"primaryType":"T"', '"primaryType":"EIP712Domain"')))
  end)

  it("quotes what does not show, and hashes it as it is", function()
    -- github.com/EkuboProtocol/wallet/commit/07e1c2d7
    local fault = refused("typed_data.unknown_member", MESSAGE .. "/pay\u{202e}",
      request(members("T", {}), '{"pay\\u202e":"1"}'))
    assert.matches("\\u{202e}", fault.message, 1, true)
    -- e and an accent, and the one letter, are two texts and two hashes
    local types = members("T", { { "s", "string" } })
    local apart = ask(request(types, '{"s":"cafe\\u0301"}'))
    local one = ask(request(types, '{"s":"caf\\u00e9"}'))
    assert.not_equal(apart.message_hash, one.message_hash)
    assert.equal(apart.message_hash, ask(request(types, '{"s":"cafe\u{301}"}')).message_hash)
  end)

  it("asks for the fields of the domain in their order", function()
    local at = "/typed_data/types/EIP712Domain"
    local fault = refused("typed_data.domain_declaration", at,
      (request(members("T", {}), "{}"):gsub('"domain":{', '%0"salt":"0x' .. ("00"):rep(32) .. '",')))
    assert.matches("string name, bytes32 salt", fault.message, 1, true)
    refused("typed_data.domain_empty", "/typed_data/domain",
      (request(members("T", {}), "{}"):gsub('"domain":{"name":"D"}', '"domain":{}')))
  end)

  it("reports all faults, wherever types stands", function()
    local bytes = '{"typed_data":{"message":{"a":"x","b":"0x","c":1},"domain":{"name":1},'
      .. '"primaryType":"T","types":{"T":[{"name":"a","type":"uint8"},{"name":"b","type":"uint"},'
      .. '{"name":"c","type":"bool"}],"EIP712Domain":[{"name":"name","type":"string"}]}},'
      .. '"signer":"0x","kind":"typed_data_signature_request","schema_version":"1"}'
    -- T has a member without a type, so nothing can be said about the message
    assert.same({
      "typed_data.value /typed_data/domain/name", "typed_data.unresolved_type /typed_data/types/T/1/type",
      "typed_data.address /signer",
    }, faults_of(ask(bytes)))
    assert.same({
      "typed_data.value /typed_data/message/a", "typed_data.value /typed_data/message/c",
      "typed_data.value /typed_data/domain/name", "typed_data.address /signer",
    }, faults_of(ask((bytes:gsub('"uint"', '"bytes"')))))
  end)

  it("explains how the digests come about", function()
    local answer = ask(request(members("T", { { "a", "uint8[2]" }, { "s", "string" }, { "o", "Own[]" } })
      .. "," .. members("Own", { { "n", "int16" } }), '{"o":[{"n":"-2"}],"s":"x","a":["1","255"]}'),
      "explain")
    local tree = answer.explain
    for _, name in ipairs(DIGESTS) do assert.equal(answer[name], tree[name]) end
    assert.equal(answer.canonical_form, tree.canonical_form)
    assert.equal(answer.message_hash, tree.message.encoded)
    assert.equal(answer.domain_separator, tree.domain.encoded)
    local a, s, o = table.unpack(tree.message.members)
    assert.same({ "a", "uint8[2]" }, { a.name, a.type })
    assert.same({ type = "uint8", value = "255", encoded = "0x" .. ("0"):rep(62) .. "ff" },
      a.elements[2])
    assert.same({ "s", "string", "x" }, { s.name, s.type, s.value })
    assert.equal("Own", o.elements[1].type)
    assert.same({ name = "n", type = "int16", value = "-2", encoded = "0x" .. ("f"):rep(63) .. "e" },
      o.elements[1].members[1])
  end)
end)

describe("a typed-data limit", function()
  local types = members("T", { { "a", "bool[]" }, { "b", "bool[][]" } })

  it("on elements counts those of all arrays", function()
    local bytes = request(types, '{"a":[true,true],"b":[[true],[]]}')
    assert.is_true(ask(bytes, "limit:elements=5").accept)
    local fault = refused("limit", MESSAGE .. "/b/0", bytes, "limit:elements=4")
    assert.matches("limit elements allows: 4", fault.message, 1, true)
  end)

  it("on nesting counts levels below the message", function()
    local bytes = request(types, '{"a":[],"b":[[true]]}')
    assert.is_true(ask(bytes, "limit:nesting=3").accept)
    refused("limit", MESSAGE .. "/b/0/0", bytes, "limit:nesting=2")
  end)

  it("may be a thousand levels", function()
    local deep = ('{"k":['):rep(250) .. ("]}"):rep(250)
    local bytes = request(members("T", { { "k", "T[]" } }), deep)
    refused("json.depth", MESSAGE .. ("/k/0"):rep(61):sub(1, 237) .. "\u{2026}", bytes)
    local answer = ask(bytes, "limit:nesting=1000", "limit:depth=1024", "explain")
    assert.is_true(answer.accept)
    assert.equal(answer.message_hash, answer.explain.message.encoded)
  end)

  it("on the request counts its bytes", function()
    local bytes = request(types, '{"a":[],"b":[]}')
    assert.is_true(ask(bytes, "limit:request_bytes=" .. #bytes).accept)
    local fault = refused("limit", "", bytes, "limit:request_bytes=" .. #bytes - 1)
    assert.matches("limit request_bytes allows", fault.message, 1, true)
  end)

  it("on types and members can be lowered", function()
    local bytes = request(types, '{"a":[],"b":[]}')
    assert.is_true(ask(bytes, "limit:types=2", "limit:members=2").accept)
    refused("limit", "/typed_data/types", bytes, "limit:types=1")
    refused("limit", "/typed_data/types/T", bytes, "limit:members=1")
  end)
end)

describe("a request for delivery", function()
  local bytes = request(members("T", {}), "{}",
    ',"delivery":{"url":"https://wallet.example/d","request_id":"r"}')

  it("goes to the https origin that it came from, however that is spelled", function()
    for _, origin in ipairs { "https://wallet.example", "https://wallet.example/other?x=1",
      "https://WALLET.example.:443/" } do
      assert.is_true(ask(bytes, "origin=" .. origin).accept)
    end
    assert.is_true(ask(bytes).accept)
  end)

  it("goes nowhere else", function()
    for _, origin in ipairs { "", "data:application/json,{}", "file:///a", "http://wallet.example/",
      "https://wallet.example:8443/", "https://other.example/", "https://a.wallet.example/",
      "https://wallet.example@other.example/", "wallet.example", "https://wallet.example.evil.example/" } do
      refused("typed_data.delivery_origin", "/delivery/url", bytes, "origin=" .. origin)
    end
  end)

  it("is no matter of those that ask for none", function()
    assert.is_true(ask(request(members("T", {}), "{}"), "origin=", "no_delivery").accept)
  end)
end)

describe("an operation about a request", function()
  local store = { words = { "store" }, bytes = request(members("T", {}), "{}",
    ',"delivery":{"url":"https://wallet.example/d","request_id":"r-1"}') }
  local stored
  setup(function() stored = records.ask("typed_data_cases", { store })[1] end)

  local function about(doc, text)
    return records.ask("typed_data_cases", { store, { words = { doc, "stored" }, bytes = text } })[2]
  end
  local function result(change)
    local text = ('{"kind":"typed_data_result","schema_version":"1","request_digest":"%s",'
      .. '"signing_digest":"%s","signer":"%s","signature":"0x00"}'):format(stored.request_digest,
      stored.signing_digest, stored.signer)
    return (text:gsub(change and change[1] or "^", change and change[2] or ""))
  end

  it("holds both digests, the signer and the request_id", function()
    assert.is_true(about("result", result()).accept)
    assert.is_true(about("operation", '{"action":"submit","request_id":"r-1","result":'
      .. result() .. "}").accept)
    assert.is_true(about("operation", ('{"action":"status","request_id":"r-1","request_digest":"%s"}')
      :format(stored.request_digest)).accept)
  end)

  it("is refused where one of them is another", function()
    for _, case in ipairs {
      { "typed_data.request_mismatch /request_digest", stored.request_digest, "0x" .. ("0"):rep(64) },
      { "typed_data.request_mismatch /signing_digest", stored.signing_digest, "0x" .. ("0"):rep(64) },
      { "typed_data.signer_mismatch /signer", stored.signer, "0x" .. ("0"):rep(40) },
    } do
      local answer = about("result", result { case[2], case[3] })
      assert.same({ case[1] }, faults_of(answer))
    end
    assert.same({ "typed_data.request_mismatch /request_id" }, faults_of(about("operation",
      '{"action":"submit","request_id":"r-2","result":' .. result() .. "}")))
  end)

  it("never shows a signature", function()
    local answer = about("result", result { '"0x00"', '"0xDEADBEEF"' })
    assert.same({ "typed_data.signature /signature" }, faults_of(answer))
    assert.not_matches("[dD][eE][aA][dD]", answer.errors[1].message)
  end)
end)
