local cjson = require "cjson"
local moonplan = require "moonplan"
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

  describe("--ndjson", function()
    local function ndjson(text) return run { "digest", "--ndjson", "-", stdin = text } end

    it("prints a line for each plan, in order", function()
      local two = plans.of { plans.step(1), plans.step(2) }
      local two_digest = run { "digest", "-", stdin = two }.out
      assert.same({ code = 0, err = "", out = TINY_DIGEST .. "\n" .. two_digest .. TINY_DIGEST .. "\n" },
        ndjson(TINY .. "\n" .. two .. "\r\n" .. TINY))
    end)

    it("reports a bad line by its number and goes on, keeping the lines aligned", function()
      local outcome = ndjson(TINY .. "\n" .. TINY:gsub('"1"', '"2"', 1) .. "\n{\n\n" .. TINY .. "\n")
      assert.equal(2, outcome.code)
      assert.equal(TINY_DIGEST .. "\ninvalid\ninvalid\n" .. TINY_DIGEST .. "\n", outcome.out)
      -- {"schema_version":"2": the string begins in column 19 of line 2
      assert.truthy(outcome.err:find("-:2:19: error[call.schema_version] at /schema_version: ", 1, true))
      assert.truthy(outcome.err:find("-:3:2: error[json.syntax]", 1, true))
      assert.falsy(outcome.err:find("-:4:", 1, true))
    end)

    it("counts lines that end with LF, whatever else stands in them", function()
      local outcome = ndjson("\r\n \r[\n")
      assert.truthy(outcome.err:find("^%-:2:4: error%[json%.syntax%]"))
    end)

    it("takes only the white space of JSON for an empty line", function()
      local outcome = ndjson("\v\n \t\r\n\f\n")
      assert.equal("invalid\ninvalid\n", outcome.out)
      assert.equal(2, outcome.code)
    end)

    it("says at once that a line is over the limit, and gives up on one that never ends", function()
      local outcome = command.shell("timeout 60 " .. command.text { "digest", "--ndjson", "/dev/zero" })
      assert.equal("invalid\n", outcome.out)
      assert.truthy(outcome.err:find("/dev/zero:1:1: error[limit]", 1, true))
      assert.truthy(outcome.err:find("error[io]", 1, true))
      assert.equal(1, outcome.code)
    end)

    it("skips a line over the limit without keeping it", function()
      -- 64 MiB in one line: reading it whole would not fit into the memory given.
      local limited = command.sanitized and "" or "ulimit -v 50000; "
      local outcome = command.shell(("%s(head -c 67108864 /dev/zero | tr '\\0' ' '; echo; cat) | %s"):format(
        limited, command.text { "digest", "--ndjson", "-" }), TINY)
      assert.equal("invalid\n" .. TINY_DIGEST .. "\n", outcome.out)
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("-:1:1: error[limit]", 1, true))
    end)

    it("answers a line before it waits for the next", function()
      -- The program's answer is what makes the second line be written.
      local outcome = command.shell([[
        coproc { ]] .. command.text { "digest", "--ndjson", "-" } .. [[; }
        plan=$(cat); for i in 1 2; do
          echo "$plan" >&${COPROC[1]}; read -r answer <&${COPROC[0]}; echo "$answer"
        done]], TINY)
      assert.equal((TINY_DIGEST .. "\n"):rep(2), outcome.out)
    end)

    it("reads lines of files as well, and of several", function()
      local folder = command.folder()
      command.write(folder .. "/a", TINY .. "\n{}\n")
      command.write(folder .. "/b", TINY)
      local outcome = run { "digest", "--ndjson", "a", "none", "b", cd = folder }
      assert.equal(1, outcome.code)
      assert.equal(TINY_DIGEST .. "\ninvalid\n" .. TINY_DIGEST .. "\n", outcome.out)
      assert.truthy(outcome.err:find("a:2:1: error[document.kind]", 1, true))
      assert.truthy(outcome.err:find("none: error[io]: cannot be read: No such file", 1, true))
    end)

    -- Lines that are judged at once, and by themselves, in every order.
    local function mixed(count)
      local lines, expected = {}, {}
      for n = 1, count do
        local line = plans.many(1 + n % 3, n * 7 % 300)
        local bad = n % 97 == 5 or n % 101 < 3
        if n % 13 == 4 then lines[n] = n % 2 == 0 and "" or " \t\r"
        elseif bad then lines[n], expected[#expected + 1] = line:gsub('"1"', '"2"', 1), "invalid"
        else lines[n], expected[#expected + 1] = line, assert(moonplan.digest(line)) end
      end
      return table.concat(lines, "\n") .. "\n", table.concat(expected, "\n") .. "\n", lines
    end

    it("keeps thousands of lines aligned, with any number of threads", function()
      local text, expected, lines = mixed(3000)
      for _, jobs in ipairs { "1", "2", "7" } do
        local outcome = run { "digest", "--ndjson", "--jobs", jobs, "-", stdin = text }
        assert.equal(2, outcome.code)
        assert.equal(expected, outcome.out)
        local named = {}
        for number in outcome.err:gmatch("%-:(%d+):19: error%[call%.schema_version%]") do
          named[#named + 1] = tonumber(number)
          assert.truthy(lines[tonumber(number)]:find('"schema_version":"2"', 1, true))
        end
        local _, invalid = expected:gsub("invalid", "")
        assert.equal(invalid, #named)
      end
    end)

    it("needs no more memory for more lines", function()
      if command.sanitized then pending("the address space cannot be bounded under a sanitizer") return end
      -- 65 MB in lines of a third of a kilobyte.
      local outcome = command.shell(("ulimit -v 90000; yes \"$(cat)\" | head -n 200000 | %s | sort | uniq -c"):format(
        command.text { "digest", "--ndjson", "--jobs", "2", "-" }), TINY)
      assert.equal("200000 " .. TINY_DIGEST .. "\n", (outcome.out:gsub("^ +", "")))
    end)

    it("takes 1 to 256 threads", function()
      for _, jobs in ipairs { "0", "257", "two", "1.5", "" } do
        local outcome = run { "digest", "--ndjson", "--jobs", jobs, "-", stdin = TINY }
        assert.equal(1, outcome.code)
        assert.equal("", outcome.out)
        assert.truthy(outcome.err:find("--jobs", 1, true))
      end
    end)

    it("looks at every line for capabilities when it is asked to", function()
      local plan = plans.of({ plans.step(1) }, ',"required_capabilities":["atomic_batch"]')
      local text = TINY .. "\n" .. plan .. "\n"
      local digest = assert(moonplan.digest(plan))
      assert.equal(TINY_DIGEST .. "\n" .. digest .. "\n", ndjson(text).out)
      local outcome = run { "digest", "--ndjson", "--implements", "other", "-", stdin = text }
      assert.equal(TINY_DIGEST .. "\ninvalid\n", outcome.out)
      assert.truthy(outcome.err:find("-:2:", 1, true))
    end)

    it("does not go together with --explain", function()
      local outcome = run { "digest", "--ndjson", "--explain", "-" }
      assert.equal(1, outcome.code)
      assert.equal("", outcome.out)
    end)
  end)
end)
