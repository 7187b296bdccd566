local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local function convert(stdin, ...)
  local words = { "convert", ... }
  words[#words + 1], words.stdin = "-", stdin
  return command.run(words)
end

describe("moonplan convert", function()
  after_each(command.clean)

  for _, format in ipairs { "sendcalls", "safe" } do
    it("goes to " .. format .. " and back", function()
      local plan = plans.of({ plans.step(1, { data = "0x12345678" }), plans.step(2, { value = "16" }) },
        ',"required_capabilities":["atomic_batch"]')
      local there = convert(plan, "--to", format)
      assert.equal("", there.err)
      assert.equal(0, there.code)
      local back = convert(there.out, "--from", format)
      assert.equal(0, back.code)
      assert.equal(moonplan.digest(plan), moonplan.digest(back.out))
      assert.truthy(back.err:find("note: the plan's digest is " .. moonplan.digest(plan), 1, true))
    end)
  end

  it("says what is left behind, on standard error, with its place", function()
    local run = command.run { "convert", "--to", "sendcalls", "examples/golden.json", cd = files.root }
    assert.equal(0, run.code)
    assert(moonplan.json.decode(run.out))
    local count = select(2, run.err:gsub("examples/golden%.json:%d+:%d+: warning%[convert%.lost%] at /", ""))
    assert.equal(4, count)
  end)

  it("warns of chain 0 in either direction, at its place", function()
    local plan = plans.tiny():gsub('chain_id":"1"', 'chain_id":"0"'):gsub("eip155:1", "eip155:0")
    local WARNING = ": warning[call.chain_zero] at /%s: "
    for format, member in pairs { sendcalls = "chainId", safe = "chainId" } do
      local there = convert(plan, "--to", format)
      assert.equal(0, there.code)
      assert.truthy(there.err:find(WARNING:format "chain_id", 1, true), there.err)
      local back = convert(there.out, "--from", format, "--account", "0x" .. ("1"):rep(40))
      assert.equal(0, back.code)
      assert.truthy(back.err:find(WARNING:format(member), 1, true), back.err)
      assert.equal(moonplan.digest(plan), moonplan.digest(back.out))
    end
    assert.falsy(convert(plans.tiny(), "--to", "safe").err:find("chain_zero", 1, true))
  end)

  it("refuses what a batch cannot say", function()
    local run = convert(plans.of({ plans.step(1) }, ',"required_capabilities":["x/y"]'), "--to", "safe")
    assert.equal(2, run.code)
    assert.equal("", run.out)
    assert.matches("^%-:1:%d+: error%[convert%.unsupported%] at /required_capabilities/0: ", run.err)
    assert.equal(2, convert("{}", "--to", "sendcalls").code)
    assert.equal(2, convert("{}", "--from", "sendcalls").code)
  end)

  it("takes the sender from the caller only where the batch has none", function()
    local nameless = '{"version":"2.0.0","chainId":"0x1","atomicRequired":false,"calls":[{"to":"0x'
      .. ("2"):rep(40) .. '"}]}'
    local run = convert(nameless, "--from", "sendcalls")
    assert.equal(2, run.code)
    assert.matches("convert%.sender", run.err)
    run = convert(nameless, "--from", "sendcalls", "--account", "0x" .. ("1"):rep(40))
    assert.equal(moonplan.digest(plans.tiny()), moonplan.digest(run.out))
    local named = convert(plans.tiny(), "--to", "sendcalls").out
    assert.equal(2, convert(named, "--from", "sendcalls", "--account", "0x" .. ("2"):rep(40)).code)
  end)

  it("takes a reference for what it names", function()
    local run = convert(moonplan.make_reference(plans.tiny()), "--to", "sendcalls")
    assert.equal(0, run.code)
    assert.equal(convert(plans.tiny(), "--to", "sendcalls").out, run.out)
    assert.matches("proves no origin", run.err)
  end)

  it("writes a new file, and dates a Safe batch as it is told", function()
    local folder = command.folder()
    command.write(folder .. "/p", plans.tiny())
    local run = command.run { "convert", "--to", "safe", "--now", "1700000000", "--out", "b", "p", cd = folder }
    assert.equal(0, run.code)
    assert.equal(1700000000000, moonplan.json.decode(files.read(folder .. "/b")).createdAt)
    assert.equal(1, command.run({ "convert", "--to", "safe", "--out", "b", "p", cd = folder }).code)
  end)

  it("wants to know the direction, and one", function()
    for _, words in ipairs {
      {}, { "--to", "sendcalls", "--from", "safe" }, { "--to", "email" },
      { "--to", "safe", "--account", "0x" .. ("1"):rep(40) }, { "--from", "safe", "--account", "0x1" },
    } do
      assert.equal(1, convert(plans.tiny(), table.unpack(words)).code)
    end
  end)
end)
