-- Artifact references: the cases, and the doors that software of this kind left open. What would be
-- fetched is given; nothing here touches a network or a file.
local cjson = require "cjson"
local files = require "spec.support.files"
local recipe = require "spec.support.recipe"
local records = require "spec.support.records"

local TRANSPORTS = { data = 1, https = 2, file = 4 }

local function given(value)
  if value == cjson.null then return nil end
  return value
end

local function faults_of(answer)
  local list = {}
  for n, fault in ipairs(answer.errors or {}) do list[n] = fault.code .. " " .. fault.at end
  return list
end

local function one_of(...)
  local set = {}
  for _, code in ipairs { ... } do set[code] = true end
  return set
end

-- The codes that a refusal may have at each stage of the cases.
local STAGES = {
  envelope = one_of("artifact.envelope", "artifact.type", "artifact.integrity", "artifact.bytes",
    "limit", "json.syntax", "json.duplicate_name"),
  admission = one_of("artifact.url", "artifact.host", "artifact.address", "artifact.transport", "limit"),
  retrieval = one_of("artifact.unavailable", "artifact.url", "limit"),
  length = one_of("artifact.length"),
  digest = one_of("artifact.digest"),
  parse = one_of("json.syntax", "json.utf8", "call.missing_member"),
}

-- Refused earlier than the cases have it: what RFC 3986 does not know is not decoded.
local EARLIER = { ["ref-data-bad-percent"] = "admission", ["ref-data-fragment"] = "admission" }

describe("an artifact reference case", function()
  local cases = cjson.decode(files.read(files.root .. "spec/data/artifact-reference.json")).cases
  local list, answers = {}, nil
  for n, case in ipairs(cases) do
    local options, net = case.options, case.options.net
    local transports = 0
    for _, name in ipairs(options.transports or { "https", "data" }) do
      transports = transports + TRANSPORTS[name]
    end
    local words = { "artifact", "transports=" .. transports,
      "expect=" .. (options.expected_type and "typed_data" or "call_plan") }
    for name, value in pairs(options.limits or {}) do
      words[#words + 1] = ("limit:%s=%d"):format(name, value)
    end
    for _, addresses in pairs(net.resolver or {}) do
      words[#words + 1] = "addresses=" .. table.concat(addresses, ",")
    end
    if net.status then words[#words + 1] = ("status=%d"):format(net.status) end
    if net.stall then words[#words + 1] = "fail=timeout" end
    local body = net.body
    for path, bytes in pairs(net.files or {}) do
      body = bytes
      -- the folder that is granted; nothing else is found
      if path:sub(1, 7) == "/plans/" then words[#words + 1] = "file=" .. path end
    end
    list[n] = { words = words, bytes = recipe.build(case), body = body }
  end

  setup(function() answers = records.ask("artifact_cases", list) end)

  it("is there for each of the 187", function() assert.equal(187, #cases) end)

  for n, case in ipairs(cases) do
    it(case.id .. ": " .. case.expect.reason, function()
      local answer, expect = answers[n], case.expect
      local net = case.options.net
      local accept = expect.accept
      if accept == "open" then accept = expect.recommended end
      if case.input_recipe then assert.equal(case.input_bytes, #list[n].bytes) end
      assert.equal(accept, answer.accept, table.concat(faults_of(answer), ", "))
      if accept then
        assert.equal(expect.digest, answer.digest)
        assert.equal(expect.provenance.kind, answer.provenance)
        assert.equal(expect.provenance.host, answer.host)
        return
      end
      local stage = EARLIER[case.id] or expect.stage
      local fault = answer.errors[1]
      if case.options.error_class == "file-failure" then
        assert.same({ { code = "artifact.unavailable", at = "", offset = -1,
          message = "artifact not available" } }, answer.errors)
      else
        assert(STAGES[stage][fault.code], fault.code .. " at the stage " .. stage)
        local pointer = given(expect.pointer)
        -- the places of faults in a body are places in the body
        if pointer and stage ~= "parse" then assert.equal(pointer, fault.at) end
        -- a plan that is a request instead lacks all that a plan has
        if case.id ~= "ref-body-of-other-type" then
          assert.equal(1, #answer.errors, table.concat(faults_of(answer), ", "))
        end
      end
      -- nothing is asked for before the checks that come first
      if stage == "envelope" or (stage == "admission" and not net.resolver) then
        assert.equal("", answer.wanted)
      elseif stage == "admission" then
        assert.not_matches("body", answer.wanted)
      end
      -- no message repeats what a server sent
      for _, each in ipairs(answer.errors) do assert.not_matches("internal detail", each.message, 1, true) end
    end)
  end
end)

local BODY = '{"schema_version":"1","chain_id":"1","caip2_chain_id":"eip155:1",'
  .. '"sender":"0x1111111111111111111111111111111111111111","ordered_steps":[{"step":1,'
  .. '"kind":"execution","transaction":{"chain_id":"1",'
  .. '"from":"0x1111111111111111111111111111111111111111",'
  .. '"to":"0x2222222222222222222222222222222222222222","data":"0x","value":"0"}}]}'
-- Both from the cases: ref-https-ok
local DIGEST = "0xcc3d15039a19158096b52b14957f2c12a873fb379a459ac519a712ca2c9def1c"

local function envelope(url, rest)
  return ('{"kind":"artifact_reference","artifact_type":"execution_plan","url":%s%s}'):format(
    cjson.encode(url), rest or (',"integrity":{"algorithm":"keccak256","value":"%s"},"bytes":%d}')
      :format(DIGEST, #BODY):sub(1, -2))
end

local function ask(bytes, body, ...)
  return records.ask("artifact_cases",
    { { words = { "artifact", "transports=7", ... }, bytes = bytes, body = body } })[1]
end

local function admits(urls, code)
  local list = {}
  for n, url in ipairs(urls) do
    list[n] = { words = { "artifact", "transports=7", "check" }, bytes = envelope(url) }
  end
  local answers = records.ask("artifact_cases", list)
  for n, url in ipairs(urls) do
    assert.same(code and { code .. " /url" } or {}, faults_of(answers[n]), url)
  end
  return answers
end

describe("the host of a reference", function()
  it("is no address of a special range, nor a number that some reader takes for one", function()
    -- github.com/EkuboProtocol/wallet/commit/dc5925b6; the ranges are those of IANA's special-purpose
    -- registries, each tried at its first and last address
    admits({ "https://0.255.255.255/", "https://10.255.255.255/", "https://100.64.0.0/",
      "https://100.127.255.255/", "https://127.255.255.254/", "https://169.254.169.254/",
      "https://172.16.0.0/", "https://172.31.255.255/", "https://192.0.0.8/", "https://192.0.2.1/",
      "https://192.168.255.255/", "https://198.19.255.255/", "https://198.51.100.7/",
      "https://239.255.255.255/", "https://255.255.255.255/", "https://[::ffff:93.184.216.34]/",
      "https://[64:ff9b:1::1]/", "https://[2001:1ff:ffff::1]/", "https://[2001:10::1]/",
      "https://[2001:db8:ffff::1]/", "https://[2002:5db8:d822::1]/", "https://[3fff:fff::1]/",
      "https://[fc00::1]/", "https://[fdff::1]/", "https://[fe80::1]/", "https://[febf::1]/",
      "https://[4000::1]/", "https://[5f00::1]/", "https://[0:0:0:0:0:0:0:1]/", "https://[FF02::1]/",
    }, "artifact.address")
    admits({ "https://127.1/", "https://0/", "https://017700000001/", "https://0x7f.0.0.1/",
      "https://127.0.0.1./", "https://127.0.0.0x1/", "https://1.2.3.4.5/", "https://256.0.0.1/",
      "https://127.0.0.01/", "https://producer.0x/", "https://producer.1/", "https://[fe80::1%25eth0]/",
      "https://[fe80::1%eth0]/", "https://[v1.x]/", "https://[::1/", "https://[]/",
      "https://[1:2:3:4:5:6:7]/", "https://[1:2:3:4:5:6:7:8:9]/", "https://[1::2::3]/",
      "https://[12345::]/", "https://[::1.2.3]/", "https://[1.2.3.4]/", "https://[:1::]/",
      "https://[::1]x/",
    }, "artifact.host")
    admits { "https://100.63.255.255/", "https://100.128.0.0/", "https://172.15.255.255/",
      "https://172.32.0.0/", "https://198.17.255.255/", "https://198.20.0.0/", "https://9.255.255.255/",
      "https://11.0.0.0/", "https://223.255.255.255/", "https://192.0.1.0/", "https://1.1.1.1/",
      "https://[2001:200::1]/", "https://[2001:db7::1]/", "https://[2001:db9::1]/",
      "https://[2003::1]/", "https://[2606:2800:220:1:248:1893:25c8:1946]/", "https://[3ffe::1]/" }
  end)

  it("is a name of the public DNS", function()
    admits({ "https://localhost/", "https://LOCALHOST/", "https://a.LocalHost/", "https://a.local./",
      "https://host/", "https://a.home.arpa/", "https://x.onion/", "https://-a.example/",
      "https://a-.example/", "https://a..example/", "https://.example/", "https://a.example../",
      "https://a_b.example/", "https://m\u{fc}nchen.example/", "https://a%2eexample/", "https:///",
      "https://?x", "https://a b.example/", "https://a\0.example/",
      "https://" .. ("a"):rep(64) .. ".example/", "https://" .. ("aaa."):rep(62) .. "aaaaaa/",
    }, "artifact.host")
    admits { "https://xn--mnchen-3ya.example/", "https://a--b.example/", "https://1.example/",
      "https://0x1.example/", "https://not.notlocal/",
      "https://" .. ("a"):rep(63) .. ".example/", "https://" .. ("aaa."):rep(62) .. "aaaaa/" }
  end)

  it("is shown in its one spelling", function()
    local answers = admits { "https://Producer.EXAMPLE.:443/a?b", "https://[2606:2800:0220:0001:248:1893:25C8:1946]",
      "https://[2a00:0:0:0:1:0:0:1]/", "https://93.184.216.34:?" }
    assert.same({ "producer.example", "/a?b" }, { answers[1].host, answers[1].target })
    -- RFC 5952: lower case, no leading zeros, the longest run of zeros as ::
    assert.same({ "2606:2800:220:1:248:1893:25c8:1946", "/" }, { answers[2].host, answers[2].target })
    assert.equal("2a00::1:0:0:1", answers[3].host)
    assert.same({ "93.184.216.34", "/?" }, { answers[4].host, answers[4].target })
  end)

  it("is refused for any address that is not public", function()
    for _, address in ipairs { "10.0.0.7", "::1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "fe80::1" } do
      local answer = ask(envelope("https://producer.example/"), BODY,
        "addresses=93.184.216.34," .. address)
      assert.same({ "artifact.address /url" }, faults_of(answer))
      assert.equal("addresses ", answer.wanted)
      -- what a name means inside a network is not told
      assert.not_matches(address, answer.errors[1].message, 1, true)
    end
    local answer = ask(envelope("https://producer.example/"), BODY, "addresses=")
    assert.same({ "artifact.unavailable /url" }, faults_of(answer))
  end)

  it("is not asked for where an address stands in its place", function()
    local answer = ask(envelope("https://93.184.216.34/plans/1"), BODY)
    assert.is_true(answer.accept)
    assert.equal("body ", answer.wanted)
  end)
end)

describe("the URL of a reference", function()
  it("is one by RFC 3986, and is not repaired", function()
    admits({ " https://a.example/", "https://a.example/ ", "https:/a.example/", "https:a.example",
      "HTTPS://a.example/", "https://a.example/%zz", "https://a.example/%0", "https://a.example/a%",
      "https://a.example/a|b", "https://a.example/<x>", 'https://a.example/"', "https://a.example/\\",
      "https://a.example/\u{e9}", "https://a.example/a\0b", "https://a.example/#", "https://a.example#",
      "https://a.example?#", "https://@a.example/", "https://u:p@a.example/", "https://a.example:0443/",
      "https://a.example:444/", "https://a.example:+443/", "https://::1/", "http://a.example/", "data:text/html,x",
      "data:application/json;base64;x,", "data:application/json ,{}", "data: application/json,{}",
      "data:application/json,%", "data:application/json,%4", "data:application/json,{}\n",
      "data:application/json,\u{e9}", "file:///a#f", "file:///a?q", "file://host/a", "file:///a b",
      "file:///a\\b", "file:///%g0", "file://", "file://localhost", "file://LOCALHOST/a", "file:/a",
    }, "artifact.url")
    admits { "https://a.example", "https://a.example?", "https://a.example/?a/b?c", "https://a.example:443",
      "https://a.example:/", "https://a.example/a/../b//c/.", "https://a.example/;,:@!$&'()*+=~-._%41%00",
      "file:///a", "file://localhost/a", "data:application/json,", "data:application/json;base64," }
  end)

  it("names a file by a path that leads nowhere else", function()
    -- github.com/kernelsauce/turbo/issues/57: ".." was looked for before escapes were undone
    local answers = admits { "file:///allowed/a%20b.json", "file:///%252e%252e/x", "file:///a/...", "file:///a%5cb" }
    assert.equal("/allowed/a b.json", answers[1].path)
    assert.equal("/%2e%2e/x", answers[2].path)
    assert.equal("/a/...", answers[3].path)
    assert.equal("/a\\b", answers[4].path)
    local same
    for _, url in ipairs { "file:///allowed/%2e%2e/secret", "file:///allowed/..%2fsecret",
      "file:///allowed/./../x", "file:///allowed/%00", "file:///a/", "file:///", "file:////a",
      "file:///a//b", "file:///.", "file:///a/%2E", "file:///missing" } do
      local answer = ask(envelope(url))
      assert.is_false(answer.accept)
      same = same or answer.errors
      assert.same(same, answer.errors)
    end
    assert.same({ { code = "artifact.unavailable", at = "", offset = -1,
      message = "artifact not available" } }, same)
  end)

  it("carries canonical base64 and nothing like it", function()
    for text, bytes in pairs { ["e30="] = "{}", ["W10K"] = "[]\n", ["IiI="] = '""' } do
      local answer = ask(envelope("data:application/json;base64," .. text, ""))
      -- decoded: it is JSON, and no plan
      assert.equal("call." .. (bytes == "{}" and "missing_member" or "type"), answer.errors[1].code)
    end
    for _, text in ipairs { "e30", "e31=", "e30==", "e30=e30=", "e3=0", "=e30", "e30=\n", " e30=", "e3 0=",
      "e30%3D", "e-_=", "e", "=", "====", "e===", "e30\0" } do
      local answer = ask(envelope("data:application/json;base64," .. text, ""))
      assert.same({ "artifact.url /url" }, faults_of(answer), text)
    end
  end)

  it("is bounded before it is decoded, and once more after", function()
    -- github.com/libwww-perl/HTTP-Message/issues/206: one coding had no bound
    local function carried(text, ...)
      return faults_of(ask(envelope("data:application/json" .. text, ""), nil, "limit:document_bytes=9", ...))
    end
    -- 9 bytes, their 12 characters and one more group: floor(9 / 3) * 4 + 4 = 16
    assert.same({ "json.syntax " }, carried(";base64,ICAgICAgICAg"))
    assert.same({ "limit /url" }, carried(";base64,ICAgICAgICAgIA=="))
    assert.same({ "limit /url" }, carried(";base64,ICAgICAgICAgICAgICAg"))
    assert.same({ "limit /url" }, carried(";base64,ICAgICAgICAgICAgICAg", "check"))
    assert.same({}, carried(";base64,ICAgICAgICAgIA==", "check"))
    assert.same({ "json.syntax " }, carried("," .. ("%20"):rep(4) .. (" "):rep(4)))
    assert.same({ "limit /url" }, carried("," .. (" "):rep(10)))
    assert.same({ "limit /url" }, carried("," .. ("%20"):rep(6)))
  end)
end)

describe("a reference", function()
  it("may be told its body in pieces", function()
    for _, piece in ipairs { 1, 7, 323 } do
      local answer = ask(envelope("https://producer.example/"), BODY, "addresses=93.184.216.34",
        "status=200", "piece=" .. piece)
      assert.is_true(answer.accept)
    end
  end)

  it("has enough once more comes than was promised", function()
    local answer = ask(envelope("https://producer.example/"), BODY .. (" "):rep(1000),
      "addresses=93.184.216.34", "piece=1")
    assert.same({ "artifact.length /bytes" }, faults_of(answer))
    assert.matches("324", answer.errors[1].message, 1, true)
  end)

  it("is fetched by transports that were allowed, and data: if none was named", function()
    local data = envelope("data:application/json," .. BODY)
    assert.is_true(records.ask("artifact_cases", { { words = { "artifact" }, bytes = data } })[1].accept)
    for _, url in ipairs { "https://producer.example/", "file:///a" } do
      local answer = records.ask("artifact_cases", { { words = { "artifact" }, bytes = envelope(url) } })[1]
      assert.same({ "artifact.transport /url" }, faults_of(answer))
      assert.equal("", answer.wanted)
    end
    assert.same({ "artifact.transport /url" },
      faults_of(records.ask("artifact_cases", { { words = { "artifact", "transports=6" }, bytes = data } })[1]))
  end)

  it("reports all its faults, in order", function()
    assert.same({ "artifact.envelope /kind", "artifact.bytes /bytes", "artifact.type /artifact_type",
      "artifact.host /url", "artifact.integrity /integrity/algorithm", "artifact.integrity /integrity/x",
      "artifact.integrity /integrity/value", "artifact.envelope /instruction" }, faults_of(ask(
      '{"artifact_type":"plan","url":"https://localhost/","integrity":{"x":1,"value":"0x"},"instruction":null}')))
  end)

  it("may not be read as another one", function()
    -- the promised length against the limit of the type that is named behind it
    local bytes = '{"bytes":262145,"url":"data:application/json,","kind":"artifact_reference",'
      .. '"artifact_type":"typed_data_signature_request"}'
    local answer = ask(bytes)
    assert.same({ "limit /bytes" }, faults_of(answer))
    assert.matches("limit request_bytes allows: 262144", answer.errors[1].message, 1, true)
    assert.same({ "artifact.length /bytes" }, faults_of(ask((bytes:gsub("262145", "262144")))))
  end)
end)
