local moonplan = require "moonplan"
local command = require "spec.support.command"
local plans = require "spec.support.plans"

local run = command.run

local TINY = plans.tiny()
-- The published vector "minimal-single-step" of ERC-8410, which is this plan.
local TINY_DIGEST = "0x93aeec006e55dfe0f54041d53c94387e08c504d4f3b3826cd3426dbc7da38ea5"

describe("moonplan digest --ndjson", function()
  after_each(command.clean)

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

  it("refuses a blank line over the limit as well, however much of it is read at once", function()
    local text = TINY:gsub("\n$", "") .. "\n" .. (" "):rep(#TINY + 1) .. "\n" .. TINY
    local limit = { "digest", "--ndjson", "--limit", "document_bytes=" .. #TINY }
    local file = command.write(command.folder() .. "/plans", text)
    for _, jobs in ipairs { "1", "2" } do
      local given = table.move(limit, 1, #limit, 1, {})
      table.move({ "--jobs", jobs, file }, 1, 3, #given + 1, given)
      local outcome = command.run(given)
      assert.equal(TINY_DIGEST .. "\ninvalid\n" .. TINY_DIGEST .. "\n", outcome.out)
      assert.truthy(outcome.err:find(":2:1: error[limit]", 1, true))
    end
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

  -- Shell text around a conversation with the program: `tell FORMAT WORD...` writes, `hear N` shows
  -- N answers; what is said after the last of them is shown as well.
  local function talk(text, ...)
    return command.shell(([[
      coproc { %s; }
      exec 3<&${COPROC[0]} 4>&${COPROC[1]}; eval "exec ${COPROC[0]}<&- ${COPROC[1]}>&-"
      tell() { printf "$@" >&4; }
      hear() { for ((n = 0; n < $1; n++)); do read -r answer <&3; echo "$answer"; done; }
      plan=$(cat)
      %s
      exec 4>&-; cat <&3]]):format(command.text { "digest", "--ndjson", "-", ... }, text), TINY)
  end

  it("answers a line before it waits for the next, wherever that was cut", function()
    -- The first answer is what makes the rest of the second line be written.
    for _, jobs in ipairs { "1", "2", "8" } do
      local outcome = talk([[
        for ((cut = 0; cut <= ${#plan}; cut++)); do
          tell '%s\n%s' "$plan" "${plan:0:cut}"; hear 1; tell '%s\n' "${plan:cut}"; hear 1
        done]], "--jobs", jobs)
      assert.equal((TINY_DIGEST .. "\n"):rep(2 * (#TINY + 1)), outcome.out)
    end
  end)

  it("refuses a line over the limit before it ends, and goes on behind it", function()
    for _, jobs in ipairs { "1", "2" } do
      local outcome = talk([[
        tell '%s ' "$plan"; hear 1; tell ' \n%s\n%s\n%s\n' "$plan" "$plan" "$plan"; hear 3]],
        "--jobs", jobs, "--limit", "document_bytes=" .. #TINY)
      assert.equal("invalid\n" .. (TINY_DIGEST .. "\n"):rep(3), outcome.out)
    end
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

  -- Lines and what is said of them. White space between the members of a plan is no part of its
  -- digest, which is why a plan of any length costs nothing to expect.
  local function lines_of()
    local self = { lines = {}, out = {}, faults = {} }
    function self.add(line, plan, fault)
      self.lines[#self.lines + 1] = line
      if fault then self.faults[#self.faults + 1] = ("%d %s"):format(#self.lines, fault) end
      if fault or plan then self.out[#self.out + 1] = fault and "invalid" or assert(moonplan.digest(plan)) end
    end
    function self.plan(plan, length)
      self.add(plan:gsub("{", "{" .. (" "):rep((length or #plan) - #plan), 1), plan)
    end
    function self.bad(plan) self.add(plan:gsub('"1"', '"2"', 1), nil, "call.schema_version") end
    -- The same for any number of threads, and as it has to be.
    function self.check(ending, ...)
      local text = table.concat(self.lines, "\n") .. ending
      for _, jobs in ipairs { "1", "2", "3", "8" } do
        local outcome = run { "digest", "--ndjson", "--jobs", jobs, "-", stdin = text, ... }
        local faults = {}
        for number, code in outcome.err:gmatch("%-:(%d+):%d+: error%[([%w_.]+)%]") do
          faults[#faults + 1] = number .. " " .. code
        end
        assert.equal(#self.faults > 0 and 2 or 0, outcome.code)
        assert.same(self.faults, faults)
        -- Not assert.equal, which would show megabytes.
        assert(table.concat(self.out, "\n") .. "\n" == outcome.out, "other answers with --jobs " .. jobs)
      end
    end
    return self
  end

  it("keeps thousands of lines aligned, with any number of threads", function()
    local given, limit = lines_of(), 3000000
    for n = 1, 3000 do
      local plan = plans.many(1 + n % 3, n * 7 % 300)
      if n % 13 == 4 then given.add(n % 2 == 0 and "" or " \t\r")
      elseif n % 97 == 5 or n % 101 < 3 then given.bad(plan)
      elseif n % 89 == 0 then given.add(plan .. "\r", plan)
      else given.plan(plan) end
      -- Longer than what is read at once, to the limit and beyond.
      if n % 1000 == 500 then given.plan(plan, 2500000) end
      if n == 1000 then given.plan(plan, limit) end
      if n == 1001 or n == 1700 then given.add((" "):rep(n * limit // 1000) .. plan, nil, "limit") end
    end
    for _ = 1, 9000 do given.add("") end
    for _ = 1, 500 do given.add("{", nil, "json.syntax") end
    given.plan(TINY)
    given.check("", "--limit", "document_bytes=" .. limit) -- no LF behind the last
  end)

  it("puts together the lines that a border of what is read at once goes through", function()
    -- A file is read in pieces of 1 MiB, the first of which begins with the line that the one before
    -- has cut: so the line behind a long one is cut at a place that can be chosen.
    local piece, given, left = 1 << 20, lines_of(), 0
    for _, kind in ipairs { "plan", "bad", "\r" } do
      for _, cut in ipairs { 0, 1, 2, 3, 100, 200, #TINY - 1, #TINY, #TINY + 1, #TINY + 2 } do
        given.plan(TINY, piece - left - cut - 1)
        if kind == "\r" then given.add(TINY .. kind, TINY) else given[kind](TINY) end
        left = #given.lines[#given.lines] + 1
        if cut >= left then left = 0 end -- it was not cut
      end
    end
    given.check("\n")
  end)

  it("needs no more memory for more lines", function()
    if command.sanitized then pending("the address space cannot be bounded under a sanitizer") return end
    -- 130 MB in lines of a third of a kilobyte.
    for _, jobs in ipairs { "1", "2" } do
      local outcome = command.shell(("ulimit -v 90000; yes \"$(cat)\" | head -n 400000 | %s | sort | uniq -c"):format(
        command.text { "digest", "--ndjson", "--jobs", jobs, "-" }), TINY)
      assert.equal("400000 " .. TINY_DIGEST .. "\n", (outcome.out:gsub("^ +", "")))
    end
  end)

  it("does without threads that cannot be had", function()
    if command.sanitized then pending("the address space cannot be bounded under a sanitizer") return end
    -- A stack for one more would not fit into the memory given.
    local outcome = command.shell(("ulimit -s 1000000 -v 300000; yes \"$(cat)\" | head -n 20000 | %s | uniq -c"):format(
      command.text { "digest", "--ndjson", "--jobs", "8", "-" }), TINY)
    assert.equal("20000 " .. TINY_DIGEST .. "\n", (outcome.out:gsub("^ +", "")))
  end)

  it("gives back what it had for a file before it opens the next", function()
    local path = command.write(command.folder() .. "/plans", (TINY .. "\n"):rep(3))
    local words = { "digest", "--ndjson", "--jobs", "3" }
    for n = 1, 60 do words[4 + n] = path end
    local outcome = command.shell("ulimit -n 20; " .. command.text(words))
    assert.same({ code = 0, err = "", out = (TINY_DIGEST .. "\n"):rep(180) }, outcome)
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
