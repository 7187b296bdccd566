local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"
local plans = require "spec.support.plans"
local sponge = require "spec.support.sponge"

local run = command.run

-- examples/golden.json, its canonical form put together member by member and hashed with ethers 6
-- (keccak256) and with js-sha3 (keccak256); both gave this.
local GOLDEN = "0xd97c68674c9bb8757f6a5f51636f18dd5e89fbca5c7d6c6bf7e7e56610628e83"
local golden = files.root .. "examples/golden.json"

local TINY = plans.tiny()
-- The published vector "minimal-single-step" of ERC-8410, which is this plan.
local TINY_DIGEST = "0x93aeec006e55dfe0f54041d53c94387e08c504d4f3b3826cd3426dbc7da38ea5"

describe("moonplan digest", function()
  after_each(command.clean)

  it("prints the digest on a line and nothing else", function()
    assert.same({ code = 0, out = GOLDEN .. "\n", err = "" }, run { "digest", golden })
  end)

  it("reads standard input for -", function()
    assert.same({ code = 0, out = TINY_DIGEST .. "\n", err = "" },
      run { "digest", "-", stdin = TINY })
  end)

  it("says whose digest it is when there are several files", function()
    local folder = command.folder()
    command.write(folder .. "/tiny one.json", TINY)
    local outcome = run { "digest", golden, folder .. "/tiny one.json" }
    assert.equal(("%s  %s\n%s  %s/tiny one.json\n"):format(GOLDEN, golden, TINY_DIGEST, folder),
      outcome.out)
  end)

  it("goes on after a bad file, and tells by its exit code", function()
    local folder = command.folder()
    command.write(folder .. "/bad.json", "{}")
    local outcome = run { "digest", golden, folder .. "/bad.json", golden }
    assert.equal(2, outcome.code)
    assert.equal(("%s  %s\n"):rep(2):format(GOLDEN, golden, GOLDEN, golden), outcome.out)
    assert.truthy(outcome.err:find(folder .. "/bad.json:1:1: error[document.kind]", 1, true))
  end)

  it("prefers the exit code of a failure over that of an invalid file", function()
    local folder = command.folder()
    command.write(folder .. "/bad.json", "{}")
    for _, order in ipairs { { "none", "bad.json" }, { "bad.json", "none" } } do
      local outcome = run { "digest", cd = folder, order[1], order[2] }
      assert.equal(1, outcome.code)
      assert.equal("", outcome.out)
    end
  end)

  it("prints nothing of an invalid plan", function()
    local outcome = run { "digest", "--explain", "-", stdin = TINY:gsub('"step":1', '"step":2') }
    assert.equal(2, outcome.code)
    assert.equal("", outcome.out)
    assert.truthy(outcome.err:find("-:1:%d+: error%[call.step_number%] at /ordered_steps/0/step: "))
  end)

  it("lowers hexadecimal digits only when asked to", function()
    local mixed = TINY:gsub("0x2222", "0x222A")
    assert.equal(2, run { "digest", "-", stdin = mixed }.code)
    assert.equal(run { "digest", "-", stdin = mixed:lower() }.out,
      run { "digest", "--normalize", "-", stdin = mixed }.out)
  end)

  it("enforces required capabilities only when asked to", function()
    local plan = plans.of({ plans.step(1) }, ',"required_capabilities":["atomic_batch"]')
    assert.equal(TINY_DIGEST .. "\n", run { "digest", "-", stdin = plan }.out)
    assert.equal(0, run { "digest", "--implements", "atomic_batch", "-", stdin = plan }.code)
    for _, other in ipairs { "", "batch", "Atomic_batch" } do
      local outcome = run { "digest", "--implements", other, "-", stdin = plan }
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("error[call.capability_unknown]", 1, true))
    end
  end)

  describe("--explain", function()
    it("prints what is hashed, so that the digest can be had elsewhere", function()
      local outcome = run { "digest", "--explain", golden }
      local canonical, digest = outcome.out:match("^([^\n]*)\n([^\n]*)\n$")
      assert.equal(GOLDEN, digest)
      assert.equal(GOLDEN, "0x" .. sponge.keccak_256(canonical))
    end)

    it("prints the published canonical form", function()
      local path = files.shared("vectors/digest-test-vectors.json")
      if not path then pending("needs the published vectors") return end
      for _, case in ipairs(cjson.decode(files.read(path)).cases) do
        -- lua-cjson would write an empty list as an object
        local plan = cjson.encode(case.plan):gsub('"required_capabilities":{}', '"required_capabilities":[]')
        local outcome = run { "digest", "--explain", "-", stdin = plan }
        assert.equal(case.canonical_form .. "\n" .. case.digest .. "\n", outcome.out)
      end
    end)
  end)

  it("says so when our own memory is too short, and never calls the plan invalid", function()
    if command.sanitized then pending("the address space cannot be bounded under a sanitizer") return end
    local plan = TINY:gsub('"0x"', '"0x' .. ("00"):rep(4000000) .. '"', 1)
    local short = 0
    for kib = 16000, 64000, 4000 do
      for _, option in ipairs { "--explain", "--ndjson" } do
        local outcome = command.shell(("ulimit -v %d; %s"):format(kib, command.text { "digest", option, "-" }), plan)
        assert.falsy(outcome.out:find("invalid", 1, true))
        assert.falsy(outcome.err:find("traceback", 1, true))
        if outcome.code ~= 0 then
          short = short + 1
          assert.equal(1, outcome.code)
          assert.truthy(outcome.err:find("memory", 1, true))
        end
      end
    end
    assert(short > 0, "memory was never short")
  end)
end)
