-- Artifact references as a script sees them: admitted, resolved, made. The cases are those of
-- spec/call/artifact_spec.lua that need no network.
local cjson = require "cjson"
local moonplan = require "moonplan"
local command = require "spec.support.command"
local files = require "spec.support.files"
local plans = require "spec.support.plans"
local recipe = require "spec.support.recipe"
local requests = require "spec.support.requests"

-- The published vector "minimal-single-step" of ERC-8410, which is this plan.
local TINY = plans.tiny()
local TINY_DIGEST = "0x93aeec006e55dfe0f54041d53c94387e08c504d4f3b3826cd3426dbc7da38ea5"

local ALL = { transports = { "data", "https", "file" } }

local function raised(f, ...)
  local fine, err = pcall(f, ...)
  assert.is_false(fine, "no error was raised")
  return err
end

local function envelope(url, digest, bytes)
  return ('{"kind":"artifact_reference","artifact_type":"execution_plan","url":%s,'
    .. '"integrity":{"algorithm":"keccak256","value":"%s"},"bytes":%d}'):format(cjson.encode(url),
    digest or moonplan.keccak256(TINY), bytes or #TINY)
end

-- Percent-encoded, so that the specs write no base64.
local function data_url(bytes)
  return "data:application/json," .. bytes:gsub("[^%w]", function(c) return ("%%%02x"):format(c:byte()) end)
end

describe("a reference case without a network", function()
  local cases = cjson.decode(files.read(files.root .. "spec/data/artifact-reference.json")).cases
  local seen = 0
  for _, case in ipairs(cases) do
    local options = case.options
    local bytes = recipe.build(case)
    -- data: carries its body, and what is refused at admission asks for none, unless it is for the
    -- addresses of a name
    local stage = not case.expect.accept and case.expect.stage
    local early = (stage == "envelope" or stage == "admission") and not case.id:find("^ref%-resolve")
    if bytes:find('"data:', 1, true) or early then
      seen = seen + 1
      it(case.id .. ": " .. case.expect.reason, function()
        local accept = case.expect.accept
        if accept == "open" then accept = case.expect.recommended end
        local limits = {}
        for name, value in pairs(options.limits or {}) do limits[name] = math.tointeger(value) end
        local reference, err = moonplan.reference(bytes, {
          transports = options.transports or { "https", "data" }, limits = limits,
          expect = options.expected_type and "typed-data" or "plan", implements = { "atomic_batch" },
        })
        local resolved
        -- what a data: URL carries is looked into when it is decoded, and not before
        local data = bytes:find('"data:', 1, true)
        if early and not data then assert.is_nil(reference) end
        if reference then resolved, err = reference:resolve() end
        assert.equal(accept, resolved ~= nil, tostring(err))
        if not accept then return end
        assert.equal(case.expect.digest,
          resolved.plan and resolved.plan.digest or resolved.request.request_digest)
        assert.equal("", resolved.provenance.origin)
        assert.equal("data", resolved.provenance.transport)
      end)
    end
  end
  it("is there", function() assert(seen > 120, seen .. " cases") end)
end)

describe("a reference", function()
  after_each(command.clean)

  it("has the fields of its envelope", function()
    local text = envelope("https://Producer.EXAMPLE./plans/1")
    local reference = assert(moonplan.reference(text, ALL))
    assert.equal("call_plan", reference.kind)
    assert.equal("execution_plan", reference.artifact_type)
    assert.equal("https://Producer.EXAMPLE./plans/1", reference.url)
    assert.equal("https", reference.transport)
    assert.equal("producer.example", reference.host)
    assert.equal(#TINY, reference.bytes)
    assert.same({ algorithm = "keccak256", value = moonplan.keccak256(TINY) }, reference.integrity)
    assert.is_nil(reference.instruction)
    assert.equal(text, reference:source "")
    assert.equal('"keccak256"', reference:source "/integrity/algorithm")
    assert.equal("artifact reference (call_plan by https://producer.example)", tostring(reference))
    local bare = assert(moonplan.reference('{"kind":"artifact_reference","artifact_type":"execution_plan",'
      .. '"url":"data:application/json,","instruction":"sign!","other":1e999}'))
    assert.is_nil(bare.bytes)
    assert.is_nil(bare.integrity)
    assert.is_nil(bare.host)
    assert.equal("sign!", bare.instruction)
  end)

  it("names the fields there are, and cannot be changed", function()
    local reference = assert(moonplan.reference(envelope(data_url(TINY))))
    assert.matches("artifact_spec.lua:%d+: an artifact reference has no field \"host_name\"; there are: artifact_type, ",
      raised(function() return reference.host_name end))
    assert.matches("cannot be changed", raised(function() reference.url = "x" end))
    assert.is_false(getmetatable(reference))
    local kept
    do
      local closed <close> = moonplan.reference(envelope(data_url(TINY)))
      kept = closed
    end
    assert.matches("the artifact reference is closed", raised(function() return kept.url end), 1, true)
    assert.equal("artifact reference (closed)", tostring(kept))
  end)

  it("resolves to the plan that it names, as often as it is asked", function()
    local reference = assert(moonplan.reference(envelope(data_url(TINY))))
    for _ = 1, 2 do
      local resolved = assert(reference:resolve())
      assert.equal("call_plan", resolved.kind)
      assert.equal(TINY, resolved.text)
      assert.equal(TINY_DIGEST, resolved.plan.digest)
      assert.equal(1, #resolved.plan.steps)
      assert.is_nil(resolved.request)
      assert.same({ transport = "data", origin = "", bytes = #TINY, digest = moonplan.keccak256(TINY) },
        resolved.provenance)
    end
  end)

  it("resolves to the request that it names", function()
    local resolved = assert(moonplan.reference(assert(moonplan.make_reference(requests.MAIL))):resolve())
    assert.equal("typed_data_signature_request", resolved.kind)
    assert.equal(requests.MAIL_DIGESTS.signing_digest, resolved.request.signing_digest)
    assert.is_nil(resolved.plan)
  end)

  it("resolves to no request whose delivery is for another origin than is proved", function()
    local text = requests.tiny(',"delivery":{"url":"https://wallet.example/d","request_id":"r-1"}')
    local folder = command.folder()
    command.write(folder .. "/r", text)
    local made = assert(moonplan.make_reference(text, { url = "file://" .. folder .. "/r" }))
    for _, reference in ipairs {
      assert(moonplan.reference(assert(moonplan.make_reference(text)))),
      assert(moonplan.reference(made, { transports = { "file" }, file_roots = { folder } })),
    } do
      local resolved, err, where = reference:resolve()
      assert.is_nil(resolved)
      assert.same({ "typed_data.delivery_origin", "/delivery/url", "artifact" }, { err.code, err.at, where })
      assert.matches("nothing proves where it came from", err.message, 1, true)
    end
  end)

  it("proves the origin of a request, whatever is said later", function()
    local rest = ',"valid_until":"2000"'
    local found = assert(moonplan.reference(assert(moonplan.make_reference(requests.tiny(rest)))):resolve())
    assert.is_true(found.request:check { origin = "https://wallet.example/d" })
    assert.is_nil(found.request:check { origin = "https://wallet.example/d", now = 2000 })
  end)

  it("is refused with the place in the envelope, or in what it names", function()
    local reference = assert(moonplan.reference(envelope(data_url(TINY), nil, #TINY + 1)))
    local resolved, err, where = reference:resolve()
    assert.is_nil(resolved)
    assert.same({ "artifact.length", "/bytes", "envelope" }, { err.code, err.at, where })
    reference = assert(moonplan.reference(envelope(data_url(TINY), "0x" .. ("0"):rep(64))))
    resolved, err, where = reference:resolve()
    assert.is_nil(resolved)
    assert.same({ "artifact.digest", "/integrity/value", "envelope" }, { err.code, err.at, where })
    -- Both are told, so that a person can see which of the two is the one that was agreed on. The
    -- digest of {} is that of ethers 6.
    reference = assert(moonplan.reference(envelope(data_url("{}"), "0xA0" .. ("0"):rep(61) .. "F", 2)))
    resolved, err = reference:resolve()
    assert.is_nil(resolved)
    assert.equal("bytes with the digest 0xb48d38f93eaa084033fc5970bf96e559c33c4cdc07d889ab00b4d63f9590739d came, and "
      .. "0xa0" .. ("0"):rep(61) .. "f was promised", err.message)
    local bad = plans.tiny():gsub('"step":1', '\n"step":2')
    reference = assert(moonplan.reference(envelope(data_url(bad), moonplan.keccak256(bad), #bad)))
    resolved, err, where = reference:resolve()
    assert.is_nil(resolved)
    assert.same({ "call.step_number", 2, 8, "artifact" }, { err.code, err.line, err.column, where })
  end)

  it("enforces what the plan requires, as if it had come inline", function()
    local plan = plans.of({ plans.step(1) }, ',"required_capabilities":["atomic_batch"]')
    local text = assert(moonplan.make_reference(plan))
    local _, err = assert(moonplan.reference(text)):resolve()
    assert.equal("call.capability_unknown", err.code)
    local names = { "atomic_batch" }
    local reference = assert(moonplan.reference(text, { implements = names }))
    names[1] = "other" -- the options are those that it was made with
    collectgarbage()
    assert(reference:resolve())
    assert(assert(moonplan.reference(text, { enforce_capabilities = false })):resolve())
  end)

  it("takes its options once", function()
    local reference = assert(moonplan.reference(envelope(data_url(TINY))))
    assert.matches("bad argument #1 to 'resolve'.*made with",
      raised(function() return reference:resolve { transports = { "https" } } end))
    for _, case in ipairs {
      { { transports = { "ftp" } }, 'there is no transport "ftp"; there are: data, https, file' },
      { { transports = "data" }, "transports must be a list of names, not a string" },
      { { transports = { x = "data" } }, "with positions from 1 on" },
      { { transports = { 1 } }, 'a list of "data", "https" and "file", not a number' },
      { { expect = "step" }, 'expect must be "plan" or "typed-data", not "step"' },
      { { expect = 1 }, "not a number" },
      { { file_roots = "/tmp" }, "file_roots must be a list of folders, not a string" },
      { { file_roots = { "/a\0b" } }, "is empty or holds a NUL" },
      { { file_roots = { "" } }, "is empty or holds a NUL" },
      { { url = "x" }, 'no option "url"; there are: implements, hex_case, limits, enforce_capabilities, '
        .. "transports, expect, file_roots" },
    } do
      local message = raised(function() return (moonplan.reference(envelope(data_url(TINY)), case[1])) end)
      assert(message:find(case[2], 1, true), message)
    end
  end)

  it("may be used for another thing than was asked for by nobody", function()
    local text = assert(moonplan.make_reference(requests.MAIL))
    assert(moonplan.reference(text, { expect = "typed-data" }))
    local reference, err = moonplan.reference(text, { expect = "plan" })
    assert.is_nil(reference)
    assert.same({ "artifact.type", "/artifact_type" }, { err.code, err.at })
  end)
end)

describe("a file: reference", function()
  after_each(command.clean)

  local function at(folder, name, roots, ...)
    local reference = assert(moonplan.reference(envelope("file://" .. folder .. "/" .. name, ...),
      { transports = { "file" }, file_roots = roots }))
    return reference:resolve()
  end

  it("is read below the folders that were named", function()
    local folder, other = command.folder(), command.folder()
    command.write(folder .. "/plan.json", TINY)
    local resolved = assert(at(folder, "plan.json", { other, folder }))
    assert.equal(TINY_DIGEST, resolved.plan.digest)
    -- a path is no provenance
    assert.same({ transport = "file", origin = "", bytes = #TINY, digest = moonplan.keccak256(TINY) },
      resolved.provenance)
  end)

  it("fails alike whatever the reason", function()
    local folder, other = command.folder(), command.folder()
    command.write(folder .. "/plan.json", TINY)
    command.write(folder .. "/bad.json", "{}")
    command.write(other .. "/plan.json", TINY)
    os.execute("ln -s " .. files.quote(folder .. "/plan.json") .. " " .. files.quote(folder .. "/link.json"))
    os.execute("mkfifo " .. files.quote(folder .. "/pipe.json"))
    local zero = "0x" .. ("0"):rep(64)
    local same
    for name, attempt in pairs {
      missing = function() return at(folder, "none.json", { folder }) end,
      ["no root"] = function() return at(folder, "plan.json", nil) end,
      outside = function() return at(other, "plan.json", { folder }) end,
      link = function() return at(folder, "link.json", { folder }) end,
      fifo = function() return at(folder, "pipe.json", { folder }) end,
      folder = function() return at(folder, ".", { folder }) end,
      longer = function() return at(folder, "plan.json", { folder }, nil, #TINY - 1) end,
      shorter = function() return at(folder, "plan.json", { folder }, nil, #TINY + 1) end,
      digest = function() return at(folder, "plan.json", { folder }, zero) end,
      ["what is not implemented"] = function()
        local plan = plans.of({ plans.step(1) }, ',"required_capabilities":["x"]')
        command.write(folder .. "/strict.json", plan)
        return at(folder, "strict.json", { folder }, moonplan.keccak256(plan), #plan)
      end,
      ["no plan"] = function() return at(folder, "bad.json", { folder }, moonplan.keccak256("{}"), 2) end,
    } do
      local resolved, err, where = attempt()
      assert.is_nil(resolved, name)
      assert.equal("envelope", where)
      same = same or tostring(err)
      assert.equal(same, tostring(err), name)
      assert.equal("artifact.unavailable", err.code)
      assert.equal(1, #err.errors)
      assert.equal("", err.at)
      assert.is_nil(err.line)
    end
  end)
end)

describe("an https: reference", function()
  it("is refused before anything is resolved where the host is no public one", function()
    for _, url in ipairs { "https://127.0.0.1/", "https://[::ffff:127.0.0.1]/", "https://169.254.169.254/" } do
      local reference, err = moonplan.reference(envelope(url), ALL)
      assert.is_nil(reference)
      assert.equal("artifact.address", err.code)
    end
  end)
end)

describe("making a reference", function()
  it("is the other way round", function()
    local text = assert(moonplan.make_reference(TINY))
    local made = moonplan.json.decode(text)
    assert.equal("artifact_reference", made.kind)
    assert.equal("execution_plan", made.artifact_type)
    assert.equal(#TINY, made.bytes)
    assert.same({ algorithm = "keccak256", value = moonplan.keccak256(TINY) }, made.integrity)
    assert.equal("data:application/json;base64,", made.url:sub(1, 29))
    assert.equal(TINY, assert(moonplan.reference(text)):resolve().text)
  end)

  it("takes a URL for where the bytes will be", function()
    for _, url in ipairs { "https://producer.example/plans/1?x", "file:///plans/1" } do
      local made = moonplan.json.decode((assert(moonplan.make_reference(TINY, { url = url }))))
      assert.equal(url, made.url)
      assert.equal(moonplan.keccak256(TINY), made.integrity.value)
    end
    for url, code in pairs { ["http://a.example/"] = "artifact.url", ["https://localhost/"] = "artifact.host",
      ["https://10.0.0.1/"] = "artifact.address", ["data:application/json,{}"] = "artifact.url", [""] = "artifact.url" } do
      local text, err, where = moonplan.make_reference(TINY, { url = url })
      assert.is_nil(text)
      assert.same({ code, "envelope" }, { err.code, where })
    end
  end)

  it("is for valid documents of two kinds", function()
    local text, err, where = moonplan.make_reference((TINY:gsub('"step":1', '\n"step":2')))
    assert.is_nil(text)
    assert.same({ "call.step_number", 2, "artifact" }, { err.code, err.line, where })
    text, err = moonplan.make_reference('{"steps":[]}')
    assert.is_nil(text)
    assert.equal("artifact.type", err.code)
    text, err = moonplan.make_reference("{}")
    assert.is_nil(text)
    assert.equal("document.kind", err.code)
    text, err = moonplan.make_reference(TINY, { expect = "typed-data" })
    assert.is_nil(text)
    assert.equal("typed_data.missing_member", err.code)
    -- what it requires is for the wallet to judge
    assert(moonplan.make_reference(plans.of({ plans.step(1) }, ',"required_capabilities":["x"]')))
  end)
end)
