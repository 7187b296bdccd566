-- What plugins describe of contracts, in review, decode and send, and for hosts in Lua.
local command = require "spec.support.command"
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local abi = moonplan.abi
local TOKEN, OTHER = "0x" .. ("2"):rep(40), "0x" .. ("4"):rep(40)
local MOST = "115792089237316195423570985008687907853269984665640564039457584007913129639935"
local APPROVE = abi.call("approve(address,uint256)", "0x" .. ("3"):rep(40), MOST)
local FROB = abi.call("frob(uint256,bytes)", 5, APPROVE)
local NOP = abi.call("nop()")

local HEAD = 'api = 1, version = "1.0.0", summary = "Frobs.",'
local SIGNATURES = [[abi = {
  "frob(uint256 much, bytes inner)", "error Short(uint256 left)",
  { type = "function", name = "nop", inputs = {}, outputs = {} },
},]]
local ITEMS = {
  capability = 'kind = "capability", name = "frob", risk = "read", run = function() return {} end,',
  builder = [[kind = "builder", name = "frob", builds = "call_plan", build = function() end,
    params = { chain = { type = "chain", required = true, description = "c" },
      sender = { type = "address", required = true, description = "s" } },]],
  executor = [[kind = "executor", name = "frob", submits = "call", prepare = function() return {} end,
    submit = function() return {} end, outcome = function() return {} end,]],
  authorizer = 'kind = "authorizer", name = "frob", decide = function() return true end,',
}

local function plugin(kind, more) return ("return { %s %s %s }"):format(HEAD, ITEMS[kind], more) end

local function folder_of(text)
  local folder = command.folder()
  command.write(folder .. "/frob.lua", text)
  return folder
end

local function plan(data) return plans.of { plans.step(1, { data = data }) } end

describe("the ABI that a plugin brings", function()
  after_each(command.clean)

  for _, kind in ipairs { "capability", "builder", "executor" } do
    it("may be a field of every kind that carries plans out or makes them: " .. kind, function()
      local engine <close> = moonplan.engine { plugins = { folder_of(plugin(kind, SIGNATURES)) }, shipped = false }
      local list, problems = engine:abis()
      assert.same({}, problems)
      assert.equal(1, #list)
      assert.equal("the plugin frob", list[1].origin)
      assert.is_true(list[1].untrusted)
      local review = assert(assert(moonplan.call_plan(plan(FROB))):review { abis = list })
      assert.equal("frob", review.steps[1].call.name)
      assert.equal("approve", review.steps[1].call.calls[1].name)
      assert.equal("reverted as Short(left: 7), per \"the plugin frob\"",
        assert(abi.decode_revert(abi.call("Short(uint256)", 7), { abis = list })).text)
      assert.equal("nop", assert(abi.decode_call(NOP, { abis = list })).name)
    end)
  end

  it("may be of one contract, on one chain", function()
    local engine <close> = moonplan.engine { shipped = false, plugins = { folder_of(plugin("capability", ([[abi = {
      { address = "%s", chain_id = "1", abi = { "nop()" } }, { address = "%s", abi = { "nop()" } }, { abi = {} },
    },]]):format(TOKEN, OTHER))) } }
    local list = assert(engine:abis())
    assert.equal(2, #list)
    local function name(to, chain)
      return assert(abi.decode_call(NOP, { abis = list, to = to, chain_id = chain })).name
    end
    assert.equal("nop", name(TOKEN, "1"))
    assert.is_nil(name(TOKEN, "2"))
    assert.equal("nop", name(OTHER, "2"))
    assert.is_nil(name("0x" .. ("5"):rep(40), "1"))
  end)

  it("outlives the engine that read it", function()
    local list
    do
      local engine <close> = moonplan.engine { plugins = { folder_of(plugin("capability", SIGNATURES)) }, shipped = false }
      list = assert(engine:abis())
    end
    collectgarbage()
    assert.equal("much", assert(abi.decode_call(FROB, { abis = list })).arguments[1].name)
    assert.equal("nop()", list[1].abi.entries[3].signature)
  end)

  for given, case in pairs {
    ['abi = 1,'] = { "abi must be a list of signatures or JSON ABI entries", "/abi" },
    ['abi = { "frob(uint257)" },'] = { "uint257", "/abi/0" },
    ['abi = { "fine()", { type = "function" } },'] = { "must have a string as its name", "/abi/1" },
    ['abi = { "fine()", 7 },'] = { "must be an object, not a number", "/abi/1" },
    ['abi = { { abi = { "a()" }, address = "0x1" } },'] = { "address must be 0x and 40 hexadecimal digits", "/abi/0/address" },
    ['abi = { { abi = { "a()" }, chain_id = 1 } },'] = { "chain_id must be a decimal number, as a string", "/abi/0/chain_id" },
    ['abi = { { abi = { "a()" }, chain = "1" } },'] = { 'no field "chain"; there are: address, chain_id, abi', "/abi/0/chain" },
    ['abi = { { abi = { "a()" } }, "b()" },'] = { "there are only such tables", "/abi/1" },
    ['abi = { { abi = { "a()" } }, { chain_id = "1" } },'] = { "the field abi is missing", "/abi/1" },
    ['abi = { { abi = { "a(uint7)" } } },'] = { "uint7", "/abi/0/abi/0" },
  } do
    it("is checked when it is loaded: " .. given, function()
      local engine <close> = moonplan.engine { plugins = { folder_of(plugin("capability", given)) }, shipped = false }
      local list, problems = engine:abis()
      assert.same({}, list)
      assert.equal("plugin.manifest", problems[1].code)
      assert.truthy(problems[1].message:find(case[1], 1, true), problems[1].message)
      assert.equal(case[2], problems[1].at)
    end)
  end

  it("is no field of an authorizer", function()
    local engine <close> = moonplan.engine { plugins = { folder_of(plugin("authorizer", SIGNATURES)) }, shipped = false }
    local _, problems = engine:abis()
    assert.matches('an authorizer has no field "abi"', problems[1].message)
  end)

  it("is read by review and decode, whose findings stay", function()
    local folder = folder_of(plugin("capability", SIGNATURES))
    for _, isolation in ipairs { false, "state", "process" } do
      local words = { "review", "--plugins", folder, "--fail-on", "warning", "-", stdin = plan(FROB) }
      if isolation then table.insert(words, 2, "--isolation=" .. isolation) end
      local run = command.run(words)
      assert.equal("", run.err)
      assert.equal(5, run.code)
      assert.truthy(run.out:find('warning[decode.unknown_selector] in call 1: only "the plugin frob" describes', 1, true), run.out)
      assert.truthy(run.out:find("danger[allowance.unlimited] in call 1.1", 1, true))
      assert.truthy(run.out:find("frob(uint256,bytes) by the plugin frob, a guess", 1, true))
    end
    local run = command.run { "decode", "--plugins", folder, abi.call("Short(uint256)", 7) }
    assert.truthy(run.out:find('reverted as Short(left: 7), per "the plugin frob"', 1, true), run.out)
    run = command.run { "decode", "--plugins", folder, NOP }
    assert.truthy(run.out:find("nop() by the plugin frob, a guess", 1, true), run.out)
  end)

  it("of a person's own file goes first", function()
    local folder = folder_of(plugin("capability", SIGNATURES))
    local path = command.write(folder .. "/own.abi", "frob(uint256 mine, bytes inner)")
    local run = command.run { "decode", "--abi", path, "--plugins", folder, FROB }
    assert.truthy(run.out:find("  mine   uint256  5\n", 1, true), run.out)
    assert.falsy(run.out:find("unknown_selector", 1, true))
  end)

  it("of a broken plugin is told of, and does not keep the plan from being reviewed", function()
    local folder = folder_of(plugin("capability", 'abi = { "frob(" },'))
    local run = command.run { "review", "--plugins", folder, "-", stdin = plan(FROB) }
    assert.equal(0, run.code)
    assert.matches("/frob.lua: note: what it may describe is not read: ", run.err, 1, true)
    assert.truthy(run.out:find("nobody described the function", 1, true))
    run = command.run { "review", "--plugins", folder .. "/nowhere", "-", stdin = plan(FROB) }
    assert.equal(1, run.code)
    assert.matches("%-%-plugins", run.err)
  end)
end)
