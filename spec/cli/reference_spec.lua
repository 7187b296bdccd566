local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"
local plans = require "spec.support.plans"
local requests = require "spec.support.requests"
local sponge = require "spec.support.sponge"

local run = command.run

local TINY = plans.tiny()
-- The published vector "minimal-single-step" of ERC-8410, which is this plan.
local TINY_DIGEST = "0x93aeec006e55dfe0f54041d53c94387e08c504d4f3b3826cd3426dbc7da38ea5"
local TINY_HASH = "0x" .. sponge.keccak_256(TINY)

local FROM_DATA = "note: carried in the reference's own URL, which proves no origin; " .. #TINY
  .. " bytes, keccak256 " .. TINY_HASH .. "\n"

-- From a plan or request to its reference, in a folder.
local function make(folder, name, text, ...)
  command.write(folder .. "/" .. name, text)
  local outcome = run { "reference", "make", name, "--out", "ref-" .. name, cd = folder, ... }
  assert.same({ code = 0, out = "", err = "" }, outcome)
  return "ref-" .. name
end

describe("moonplan reference", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  describe("make", function()
    it("prints an envelope with the bytes in it", function()
      local outcome = run { "reference", "make", "-", stdin = TINY }
      assert.equal(0, outcome.code)
      assert.equal("", outcome.err)
      local made = cjson.decode(outcome.out)
      assert.same({ "artifact_reference", "execution_plan", #TINY, { algorithm = "keccak256", value = TINY_HASH } },
        { made.kind, made.artifact_type, made.bytes, made.integrity })
      -- base64 by the shell's
      local encoded = command.shell("base64 -w0", TINY).out
      assert.equal("data:application/json;base64," .. encoded, made.url)
    end)

    it("takes a URL", function()
      for _, url in ipairs { "https://host.example/plans/1", "file:///plans/1.json" } do
        local outcome = run { "reference", "make", "-", "--url", url, stdin = TINY }
        local made = cjson.decode(outcome.out)
        assert.same({ url, TINY_HASH }, { made.url, made.integrity.value })
      end
      local outcome = run { "reference", "make", "-", "--url", "https://10.0.0.1/", stdin = TINY }
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      assert.matches("^%-%-url: error%[artifact%.address%]: ", outcome.err)
    end)

    it("refuses what nobody could use", function()
      local outcome = run { "reference", "make", "-", stdin = TINY:gsub('"step":1', '"step":2') }
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      assert.matches("^%-:1:%d+: error%[call%.step_number%]", outcome.err)
      assert.equal(1, run { "reference", "make", "none.json", cd = folder }.code)
    end)

    it("leaves a file alone that is there", function()
      command.write(folder .. "/out", "mine")
      local outcome = run { "reference", "make", "-", "--out", "out", cd = folder, stdin = TINY }
      assert.equal(1, outcome.code)
      assert.matches("^out: error%[io%]: cannot be written: File exists", outcome.err)
      assert.equal("mine", files.read(folder .. "/out"))
    end)
  end)

  describe("resolve", function()
    it("gives the bytes back as they were", function()
      local name = make(folder, "plan", TINY)
      assert.same({ code = 0, out = TINY, err = name .. ": " .. FROM_DATA }, run { "reference", "resolve", name, cd = folder })
      assert.equal(0, run { "reference", "resolve", name, "--out", "back", cd = folder }.code)
      assert.equal(TINY, files.read(folder .. "/back"))
    end)

    it("follows what it is allowed to follow", function()
      local name = make(folder, "plan", TINY, "--url", "file://" .. folder .. "/plan")
      local outcome = run { "reference", "resolve", name, cd = folder }
      assert.equal(2, outcome.code)
      assert.matches("error%[artifact%.transport%] at /url: the transport file is not allowed here; allowed are: data", outcome.err)
      outcome = run { "reference", "resolve", name, "--transport", "data,file", cd = folder }
      assert.equal(2, outcome.code)
      assert.matches("error%[artifact%.unavailable%]: artifact not available\n$", outcome.err)
      outcome = run { "reference", "resolve", name, "--transport", "file", "--file-root", folder, cd = folder }
      assert.same({ code = 0, out = TINY, err = name .. ": note: read from a file of this machine, which proves no origin; "
        .. #TINY .. " bytes, keccak256 " .. TINY_HASH .. "\n" }, outcome)
      assert.equal(1, run { "reference", "resolve", name, "--transport", "ftp", cd = folder }.code)
    end)

    it("puts out no request whose delivery is for another origin", function()
      local name = make(folder, "r", requests.tiny(',"delivery":{"url":"https://wallet.example/d","request_id":"r-1"}'))
      local outcome = run { "reference", "resolve", name, cd = folder }
      assert.same({ 2, "" }, { outcome.code, outcome.out })
      assert.matches("^the artifact of ref%-r:1:%d+: error%[typed_data%.delivery_origin%] at /delivery/url: ", outcome.err)
    end)

    it("takes no empty name for a folder or file", function()
      local name = make(folder, "plan", TINY)
      for _, option in ipairs { "--file-root", "--out" } do
        local outcome = run { "reference", "resolve", name, option, "", cd = folder }
        assert.same({ 1, "" }, { outcome.code, outcome.out })
        assert.matches("^moonplan reference: [^\n]*" .. option:gsub("%-", "%%-") .. " is empty\n", outcome.err)
        assert.falsy(outcome.err:find("traceback", 1, true))
      end
    end)

    it("puts out nothing that is not as promised, or not valid", function()
      local name = make(folder, "plan", TINY)
      local text = files.read(folder .. "/" .. name)
      for change, code in pairs {
        ['"bytes":' .. #TINY] = "artifact.length", [TINY_HASH] = "artifact.digest",
      } do
        local other = change:find("bytes", 1, true) and '"bytes":1' or "0x" .. ("0"):rep(64)
        local first, last = text:find(change, 1, true)
        command.write(folder .. "/bad", text:sub(1, first - 1) .. other .. text:sub(last + 1))
        local outcome = run { "reference", "resolve", "bad", "--out", "back", cd = folder }
        assert.equal(2, outcome.code)
        assert.matches("^bad:1:%d+: error%[" .. code:gsub("%.", "%%.") .. "%]", outcome.err)
        assert.is_nil(io.open(folder .. "/back"))
      end
      -- every fault of what was verified is told, as of that
      local bad = TINY:gsub('"step":1', '\n"step":2')
      command.write(folder .. "/bad", ('{"kind":"artifact_reference","artifact_type":"execution_plan","url":"data:application/json,%s"}')
        :format(bad:gsub("[^%w]", function(c) return ("%%%02x"):format(c:byte()) end)))
      local outcome = run { "reference", "resolve", "bad", cd = folder }
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      assert.matches("^the artifact of bad:2:8: error%[call%.step_number%] at /ordered_steps/0/step: ", outcome.err)
    end)
  end)

  describe("check", function()
    it("says what would be followed, and opens nothing", function()
      local name = make(folder, "plan", TINY)
      assert.same({ code = 0, err = "", out = ("%s: admitted, execution_plan, by data, %d bytes\n"):format(name, #TINY) },
        run { "reference", "check", name, cd = folder })
      -- a file that is not there, and a host that is nowhere
      command.write(folder .. "/file", (files.read(folder .. "/" .. name):gsub('"url":"[^"]*"', '"url":"file:///nowhere/at/all"')))
      command.write(folder .. "/https", (files.read(folder .. "/" .. name)
        :gsub('"url":"[^"]*"', '"url":"https://Nowhere.Invalid/plan"')))
      local words = { "reference", "check", "file", "https", "--transport", "https,data", "--transport", "file",
        "--expect", "plan", cd = folder }
      assert.same({ code = 0, err = "", out = ("file: admitted, execution_plan, by file, %d bytes\n"
        .. "https: admitted, execution_plan, by https from nowhere.invalid, %d bytes\n"):format(#TINY, #TINY) }, run(words))
    end)

    it("ends with 2 where one would not be followed", function()
      local name = make(folder, "request", requests.MAIL)
      local good = make(folder, "plan", TINY)
      local outcome = run { "reference", "check", name, good, "none", "--expect", "plan", cd = folder }
      assert.equal(1, outcome.code)
      assert.matches("^" .. name:gsub("%-", "%%-") .. ":1:%d+: error%[artifact%.type%] at /artifact_type: ", outcome.err)
      assert.matches("\nnone: error%[io%]: ", outcome.err)
      assert.matches("^ref%-plan: admitted", outcome.out)
      assert.equal(2, run { "reference", "check", name, "--expect", "plan", cd = folder }.code)
      assert.equal(0, run { "reference", "check", name, "--expect", "typed-data", cd = folder }.code)
    end)

    it("has JSON of a fixed shape", function()
      local name = make(folder, "plan", TINY, "--url", "https://host.example/1")
      local outcome = run { "reference", "check", name, "--transport", "https", "--json", cd = folder }
      assert.equal(0, outcome.code)
      assert.same({ file = name, kind = "artifact_reference", valid = true, artifact_type = "execution_plan",
        transport = "https", host = "host.example", url = "https://host.example/1", bytes = #TINY,
        integrity = { algorithm = "keccak256", value = TINY_HASH }, errors = {} }, cjson.decode(outcome.out))
      outcome = run { "reference", "check", name, "--json", cd = folder }
      assert.equal(2, outcome.code)
      local record = cjson.decode(outcome.out)
      assert.same({ false, cjson.null, "artifact.transport" }, { record.valid, record.url, record.errors[1].code })
    end)
  end)
end)

describe("a reference in place of a plan", function()
  local folder, name
  before_each(function()
    folder = command.folder()
    name = make(folder, "plan", TINY)
  end)
  after_each(command.clean)

  it("is validated, hashed and reviewed as the plan", function()
    local from = name .. ": " .. FROM_DATA
    assert.same({ code = 0, err = from, out = name .. ": valid call plan, digest " .. TINY_DIGEST .. "\n" },
      run { "validate", name, cd = folder })
    assert.same({ code = 0, err = from, out = TINY_DIGEST .. "\n" }, run { "digest", name, cd = folder })
    local review = run { "review", name, cd = folder }
    assert.equal(0, review.code)
    assert.equal(from, review.err:sub(1, #from))
    assert.equal(run { "review", "plan", cd = folder }.out, review.out)
  end)

  it("has its provenance in the JSON", function()
    local outcome = run { "validate", "--json", name, "plan", cd = folder }
    assert.equal("", outcome.err)
    local lines = {}
    for line in outcome.out:gmatch("[^\n]+") do lines[#lines + 1] = cjson.decode(line) end
    assert.same({ transport = "data", origin = "", bytes = #TINY, digest = TINY_HASH }, lines[1].provenance)
    assert.same({ "call_plan", TINY_DIGEST }, { lines[1].kind, lines[1].digest })
    assert.is_nil(lines[2].provenance)
  end)

  it("stands on a line as well", function()
    local line = files.read(folder .. "/" .. name)
    local outcome = run { "digest", "--ndjson", "-", stdin = TINY .. "\n" .. line .. "{}\n" }
    assert.equal(TINY_DIGEST .. "\n" .. TINY_DIGEST .. "\ninvalid\n", outcome.out)
    assert.truthy(outcome.err:find("-:2: " .. FROM_DATA, 1, true), outcome.err)
  end)

  it("is followed by the transports that are allowed, and no others", function()
    local remote = make(folder, "remote", TINY, "--url", "https://host.example/1")
    for _, verb in ipairs { "validate", "digest", "review" } do
      local outcome = run { verb, remote, cd = folder }
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      assert.matches("error%[artifact%.transport%] at /url", outcome.err)
    end
    local away = make(folder, "away", TINY, "--url", "file://" .. folder .. "/away")
    assert.equal(TINY_DIGEST .. "\n",
      run { "digest", away, "--transport", "file", "--file-root", folder, cd = folder }.out)
  end)

  it("is not hidden behind what is required", function()
    local plan = plans.of({ plans.step(1) }, ',"required_capabilities":["atomic_batch"]')
    local strict = make(folder, "strict", plan)
    assert.equal(0, run { "digest", strict, cd = folder }.code)
    local outcome = run { "digest", "--implements", "", strict, cd = folder }
    assert.equal(2, outcome.code)
    assert.matches("^the artifact of ref%-strict:1:%d+: error%[call%.capability_unknown%]", outcome.err)
  end)

  it("is no plan where it names a request", function()
    local request = make(folder, "request", requests.MAIL)
    local outcome = run { "digest", request, cd = folder }
    assert.equal(2, outcome.code)
    assert.matches("error%[artifact%.type%] at /artifact_type", outcome.err)
    outcome = run { "validate", request, cd = folder }
    assert.equal(0, outcome.code)
    assert.matches("^ref%-request: valid typed%-data signature request, request digest 0x", outcome.out)
  end)

  it("may be longer than a document where it is asked for by name", function()
    local text = files.read(folder .. "/" .. name)
    local limit = "document_bytes=" .. #TINY
    assert.equal(2, run { "digest", "--limit", limit, name, cd = folder }.code)
    assert.equal(0, run { "digest", "--as", "reference", "--limit", limit, name, cd = folder }.code)
    local outcome = run { "digest", "--as", "reference", "--limit", "envelope_bytes=" .. #text - 1, name, cd = folder }
    assert.equal(2, outcome.code)
    assert.matches("error%[limit%]: .*envelope_bytes", outcome.err)
    assert.equal(0, run { "reference", "resolve", "--limit", limit, name, cd = folder }.code)
  end)
end)
