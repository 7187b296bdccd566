-- Builders: what they are given, the plan in the making, and what becomes of it. Everything holds in
-- both isolations.
local command = require "spec.support.command"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"

local ALICE = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
local BOB = "0x2222222222222222222222222222222222222222"

-- A builder of call plans; `params` is source, behind chain and sender.
local function calls(name, body, params)
  return ([[{ kind = "builder", api = 1, name = %q, version = "1.0.0", builds = "call_plan", summary = "For a spec.",
  params = { chain = { type = "chain", required = true }, sender = { type = "address", required = true }, %s },
  build = function(p, plan) %s end }]]):format(name, params or "", body)
end

-- A builder of step plans.
local function steps(name, body, uses, params)
  return ([[{ kind = "builder", api = 1, name = %q, version = "1.0.0", builds = "step_plan", summary = "For a spec.",
  uses = %s, params = { %s },
  build = function(p, plan) %s end }]]):format(name, uses or '{ "fs.read_text", "text.count", "fs.list", "json.select" }',
    params or "", body)
end

local function engine_of(items, isolation)
  local folder = plugin_files.folder { ["t.lua"] = "return { " .. table.concat(items, ",\n") .. " }" }
  return assert(moonplan.engine { plugins = folder, isolation = isolation or "state" })
end

-- What a builder with this parameter says of a value, or what its function gets.
local echo = 'plan:call { to = p.sender, data = moonplan.abi.call("f(string)", json.encode { p.x }) }'
local function giver(param)
  local engine = engine_of { calls("t.x", echo, "x = " .. param) }
  return function(value)
    local text, err = engine:build("t.x", { chain = 1, sender = ALICE, x = value })
    if not text then return nil, err end
    local data = moonplan.json.decode(text).ordered_steps[1].transaction.data
    return moonplan.json.decode(moonplan.abi.decode("f(string)", data)[1])[1]
  end
end

after_each(command.clean)

describe("a parameter of type", function()
  local function takes(param, cases)
    local give = giver(param)
    for _, case in ipairs(cases) do
      local got, err = give(case[1])
      assert.same(case[2], got, err and err.message)
    end
  end
  local function refuses(param, code, cases)
    local give = giver(param)
    for _, case in ipairs(cases) do
      local got, err = give(case[1])
      assert.is_nil(got)
      assert.equal(1, #err.errors)
      assert.equal("build.param_" .. code, err.code, tostring(err))
      assert.matches("^/x", err.at)
      assert(err.message:find(case[2], 1, true), err.message)
    end
  end

  it("chain is a number, its digits, or a CAIP-2 name", function()
    takes('{ type = "chain" }', { { 1, "1" }, { "10", "10" }, { "eip155:8453", "8453" },
      { "12345678901234567890123456789012", "12345678901234567890123456789012" } })
    refuses('{ type = "chain" }', "value", { { 0, "is 0" }, { "01", "01" }, { -1, "-1" }, { "eip155:0", "eip155:0" },
      { "eip155:", "eip155" }, { "solana:1", "solana" }, { "123456789012345678901234567890123", "at most 32" },
      { 1.0, "1.0" } })
    refuses('{ type = "chain" }', "type", { { true, "not true" }, { {}, "not an object" } })
  end)

  -- Checksums: the examples of ERC-55 itself.
  it("address is in either case, and mixed only with its checksum", function()
    local right = { "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
      "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb" }
    local cases = { { "0x52908400098527886E0F7030069857D2E4169EE7", "0x52908400098527886e0f7030069857d2e4169ee7" },
      { ALICE, ALICE } }
    for _, address in ipairs(right) do cases[#cases + 1] = { address, address:lower() } end
    takes('{ type = "address" }', cases)
    local wrong = { { "0x12", "no address" }, { ALICE .. "00", "no address" }, { ALICE:sub(3), "no address" },
      { "0x" .. ("g"):rep(40), "no address" }, { "0X" .. ALICE:sub(3), "no address" } }
    for _, address in ipairs(right) do
      local changed = "0x" .. address:sub(3):gsub("%l", string.upper, 1)
      wrong[#wrong + 1] = { changed, "checksum" }
    end
    assert(#wrong >= 8)
    refuses('{ type = "address" }', "value", wrong)
    refuses('{ type = "address" }', "type", { { 5, "not a number" } })
  end)

  it("amount is base units, or has a unit, and is never rounded", function()
    local most = "115792089237316195423570985008687907853269984665640564039457584007913129639935"
    takes('{ type = "amount" }', { { 0, "0" }, { 7, "7" }, { "7", "7" }, { most, most }, { "7 wei", "7" }, { "2 gwei", "2000000000" },
      { "1.5 ether", "1500000000000000000" }, { "0.000000000000000001 ether", "1" }, { "1.50 ether", "1500000000000000000" },
      { "0 ether", "0" }, { "0.0 ether", "0" } })
    takes('{ type = "amount", decimals = 6 }', { { "2.5 tokens", "2500000" }, { "1 token", "1000000" }, { "3", "3" } })
    takes('{ type = "amount", decimals = 0 }', { { "2 tokens", "2" } })
    takes('{ type = "amount", decimals = 77 }', { { "1 token", "1" .. ("0"):rep(77) } })
    refuses('{ type = "amount" }', "value", { { "1.5", "no unit" }, { "1.5ether", "neither" }, { "1,5 ether", "neither" },
      { "1.5  ether", "unit that there is not" }, { "1.5 eth", "unit that there is not" },
      { "1.0000000000000000001 ether", "more decimals" },
      { "-1", "below zero" }, { "1e18", "neither" }, { "0x10", "neither" }, { "01", "neither" }, { ".5 ether", "neither" },
      { "1. ether", "neither" }, { "", "neither" }, { "2 tokens", "not known" }, { "1_000", "neither" }, { 1e18, "1e18" },
      { "115792089237316195423570985008687907853269984665640564039457584007913129639936", "2^256" },
      { "115792089237316195423570985008687907853269984665640564039458 ether", "2^256" },
      { ("9"):rep(100000), "2^256" }, { "1." .. ("0"):rep(100000) .. "1 ether", "more decimals" } })
    refuses('{ type = "amount", decimals = 6 }', "value", { { "1 ether", "say tokens" }, { "1 gwei", "say tokens" },
      { "1.0000001 tokens", "more decimals" } })
    takes('{ type = "amount", decimals = 18 }', { { "1 ether", "1" .. ("0"):rep(18) } })
    refuses('{ type = "amount", min = 5, max = "10" }', "value", { { 4, "the least is 5" }, { "11", "the most is 10" } })
    refuses('{ type = "amount" }', "type", { { true, "not true" } })
  end)

  it("amount of tokens has no unit of ether, unless they have its decimals", function()
    local engine = moonplan.engine()
    local function built(decimals, amount)
      return engine:build("erc20.transfer", { chain = 1, sender = ALICE, token = BOB, recipient = ALICE, amount = amount,
        decimals = decimals })
    end
    for _, amount in ipairs { "1 ether", "1 gwei", "1 wei" } do
      for _, decimals in ipairs { false, 6, 0 } do
        local plan, err = built(decimals or nil, amount)
        assert.is_nil(plan)
        assert.equal("/amount", err.at)
        assert.matches("is in a unit of ether, ", err.message, 1, true)
      end
      assert.truthy(built(18, amount))
    end
    assert.truthy(built(nil, 1))
    local swap = { chain = 1, sender = ALICE, router = BOB, path = { ALICE, BOB }, deadline = 1 }
    swap.amount_in, swap.amount_out_min = "1 ether", "1 gwei"
    local _, err = engine:build("swap.exact_input", swap)
    assert.equal(2, #err.errors)
  end)

  it("amount takes its decimals from the parameter that says them", function()
    local both = '{ type = "amount", decimals = "d" }, d = { type = "number", integer = true }'
    local engine = engine_of { calls("t.x", "plan:call { to = p.sender, value = p.x }", "x = " .. both) }
    local function value(d, x)
      local text, err = engine:build("t.x", { chain = 1, sender = ALICE, x = x, d = d })
      return text and moonplan.json.decode(text).ordered_steps[1].transaction.value, err
    end
    assert.equal("2500000", (value(6, "2.5 tokens")))
    assert.equal("25", (value(1, "2.5 tokens")))
    local _, err = value(nil, "2.5 tokens")
    assert.matches("not known", err.message)
    _, err = value(78, "2.5 tokens")
    assert.matches("not known", err.message)
  end)

  it("uint256 and bytes", function()
    takes('{ type = "uint256" }', { { 0, "0" }, { "5", "5" } })
    refuses('{ type = "uint256" }', "value", { { "5 wei", "plain digits" }, { -5, "plain digits" }, { "1.5", "plain digits" } })
    takes('{ type = "bytes" }', { { "0x", "0x" }, { "0xAbCd", "0xabcd" } })
    refuses('{ type = "bytes" }', "value", { { "0x1", "even number" }, { "ab", "0x and" }, { "", "0x and" } })
    refuses('{ type = "bytes", max_length = 1 }', "value", { { "0xabcd", "has 2 bytes; 1 are allowed" } })
    refuses('{ type = "bytes" }', "type", { { 1, "not a number" } })
  end)

  it("string, number, boolean", function()
    takes('{ type = "string" }', { { "", "" }, { "x", "x" } })
    refuses('{ type = "string", enum = { "a", "b" } }', "value", { { "c", '"a", "b"' } })
    refuses('{ type = "string", max_length = 2 }', "value", { { "äöü", "has 3 characters" } })
    takes('{ type = "number" }', { { 1.5, 1.5 }, { 2, 2 } })
    refuses('{ type = "number", integer = true }', "value", { { 1.5, "as an integer" }, { 2.0, "as an integer" } })
    refuses('{ type = "number", min = 1, max = 2 }', "value", { { 0, "the least is 1" }, { 3, "the most is 2" } })
    refuses('{ type = "number", enum = { 1, 2 } }', "value", { { 3, "1, 2" } })
    takes('{ type = "boolean" }', { { true, true }, { false, false } })
    refuses('{ type = "boolean" }', "type", { { "yes", "true or false" }, { 0, "true or false" } })
    refuses('{ type = "string" }', "type", { { 5, "a string" }, { moonplan.null, "not null" } })
  end)

  it("array and object, with what is in them", function()
    takes('{ type = "array" }', { { { 1, { 2 } }, { 1, { 2 } } } })
    takes('{ type = "object" }', { { { a = { b = 1 } }, { a = { b = 1 } } } })
    takes('{ type = "array", items = { type = "address" } }', { { { "0x" .. ALICE:sub(3):upper() }, { ALICE } } })
    refuses('{ type = "array", items = { type = "address" } }', "value", { { { ALICE, "0x" }, "x/1" } })
    refuses('{ type = "array", max_length = 1 }', "value", { { { 1, 2 }, "has 2 elements" } })
    local call = '{ type = "array", items = { type = "object", fields = { to = { type = "address", required = true },'
      .. ' n = { type = "uint256" } } } }'
    takes(call, { { { { to = BOB, n = 5 } }, { { to = BOB, n = "5" } } } })
    refuses(call, "missing", { { { { n = 5 } }, '"x/0/to"' } })
    refuses(call, "unknown", { { { { to = BOB, m = 5 } }, 'no parameter "m"; there are: n, to' } })
    refuses('{ type = "array" }', "type", { { "a", "an array" } })
  end)

  it("is read exactly from JSON text, beyond what Lua holds", function()
    local engine = engine_of { calls("t.x", "plan:call { to = p.sender, value = p.x }", 'x = { type = "amount" }') }
    local text = assert(engine:build("t.x", ('{"chain":1,"sender":"%s","x":100000000000000000000000000000001}'):format(ALICE)))
    assert.equal("100000000000000000000000000000001", moonplan.json.decode(text).ordered_steps[1].transaction.value)
  end)
end)

describe("what is wrong with parameters", function()
  it("is told all at once, in their order, at each one's name and place", function()
    local engine = moonplan.engine()
    local text = '{"chain": 0, "sender": "0x1",\n "amount": 1.5, "x": 1}'
    local plan, err = engine:build("native.transfer", text)
    assert.is_nil(plan)
    local told = {}
    for n, fault in ipairs(err.errors) do
      told[n] = ("%s %s %d:%d"):format(fault.code, fault.at, fault.line, fault.column)
    end
    assert.same({ "build.param_missing /recipient 1:1", "build.param_value /chain 1:11", "build.param_value /sender 1:24",
      "build.param_value /amount 2:12", "build.param_unknown /x 2:17" }, told)
  end)

  it("has no place in a text where there is none", function()
    local _, err = moonplan.engine():build("native.transfer", { chain = 0 })
    for _, fault in ipairs(err.errors) do assert.is_nil(fault.offset) end
    assert.equal("/chain", err.errors[#err.errors].at)
    local none
    _, none = moonplan.engine():build("native.transfer")
    assert.equal(4, #none.errors)
  end)

  it("is a JSON fault where the text is none", function()
    local _, err = moonplan.engine():build("native.transfer", '{"chain": }')
    assert.equal("json.syntax", err.code)
    assert.equal(10, err.offset)
  end)

  it("is told before the builder is called", function()
    local engine = engine_of { calls("t.x", 'error "called"') }
    local _, err = engine:build("t.x", { chain = 1 })
    assert.equal("build.param_missing", err.code)
  end)
end)

describe("a name that is no builder's", function()
  it("is build.unknown", function()
    local engine = moonplan.engine()
    for name, words in pairs { ["fs.list"] = "a capability", nobody = "no builder", ["a b"] = "no builder", [""] = "no builder" } do
      local plan, err = engine:build(name, {})
      assert.is_nil(plan)
      assert.equal("build.unknown", err.code)
      assert(err.message:find(words, 1, true), err.message)
    end
  end)

  it("and no capability's", function()
    local engine = moonplan.engine()
    local job, err = engine:run { version = "1.0", steps = { { id = "a", capability = "native.transfer", input = {} } } }
    assert.is_nil(job)
    assert.equal("plan.unknown_capability", err.code)
    assert.matches("is a builder", err.message)
  end)
end)

for _, isolation in ipairs { "state", "process" } do
  describe("a builder of call plans, in " .. isolation .. ",", function()
    local function build(body, params)
      local engine = engine_of({ calls("t.x", body) }, isolation)
      params = params or {}
      params.chain, params.sender = 1, ALICE
      return engine:build("t.x", params)
    end
    local function made(body)
      local text = assert(build(body))
      return moonplan.json.decode(text)
    end
    local function fails(body, words, code)
      local plan, err = build(body)
      assert.is_nil(plan)
      assert.equal(code or "build.failed", err.code, tostring(err))
      assert(err.message:find(words, 1, true), err.message)
      return err
    end

    it("writes what it was told, and the host the rest", function()
      local text, digest = build([[plan:call { to = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", data = "0xAB",
          value = "1.5 ether", gas = 21000, kind = "other",
          revert = { "error Expired(uint256 deadline)", { type = "error", name = "E", inputs = {} }, required = true } }
        plan:call { to = p.sender } plan:require "atomic_batch" plan:require "atomic_batch"
        local say = { action = "user_review", instruction = "look" }
        plan:policy { rpc_error = { action = "retry_same_plan", instruction = "again" },
          execution_reverted = say, simulation_setup_error = say }]])
      local plan = assert(moonplan.call_plan(text, { implements = { "atomic_batch" } }))
      assert.equal(digest, plan.digest)
      assert.same({}, plan.warnings)
      local transaction = { chain_id = "1", from = ALICE, to = ALICE, data = "0x", value = "0" }
      assert.same({
        schema_version = "1", chain_id = "1", caip2_chain_id = "eip155:1", sender = ALICE,
        ordered_steps = {
          { step = 1, kind = "other", transaction = { chain_id = "1", from = ALICE, gas = "21000",
              to = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", data = "0xab", value = "1500000000000000000" },
            revert_decode = { kind = "error_result", required = true, abi = {
              { type = "error", name = "Expired", inputs = { { name = "deadline", type = "uint256" } } },
              { type = "error", name = "E", inputs = {} } } } },
          { step = 2, kind = "execution", transaction = transaction },
        },
        required_capabilities = { "atomic_batch" },
        simulation_failure_policy = {
          rpc_error = { action = "retry_same_plan", instruction = "again" },
          execution_reverted = { action = "user_review", instruction = "look" },
          simulation_setup_error = { action = "user_review", instruction = "look" },
        },
      }, moonplan.json.decode(text))
    end)

    it("gives equal bytes for equal parameters, on one line, without needless space", function()
      local one, two = build "plan:call { to = p.sender }", build "plan:call { to = p.sender }"
      assert.equal(one, two)
      assert.not_matches("[ \n]", one)
    end)

    it("has no way to extensions, chain or sender, and leaves out what no plan has", function()
      for _, body in ipairs {
        "plan.extensions = {} plan:call { to = p.sender }",
        "plan:extensions {}",
        "plan:call { to = p.sender, extensions = {} }",
        "plan:call { to = p.sender, from = p.sender }",
        "plan:call { to = p.sender, chain_id = 2 }",
        "plan.sender = p.sender",
      } do fails(body, "t.lua:3: ") end
    end)

    it("gets its mistakes told on its own line", function()
      for body, words in pairs {
        ["\nplan:call { to = 5 }"] = "t.lua:4: to is an address, not 5",
        ["\nplan:call { to = '0x12' }"] = "t.lua:4: to: \"0x12\" is no address",
        ["\nplan:call { to = '0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }"] = "checksum",
        ["\nplan:call { to = p.sender, data = '0x1' }"] = "t.lua:4: data is 0x and an even number",
        ["\nplan:call { to = p.sender, value = -1 }"] = "t.lua:4: value: \"-1\" is below zero",
        ["\nplan:call { to = p.sender, value = 1.5 }"] = "t.lua:4: value is an integer",
        ["\nplan:call { to = p.sender, gas = '1 ether' }"] = 't.lua:4: gas is an integer, or its digits in a string, not "1 ether"',
        ["\nplan:call { to = p.sender, gas = 1.5 }"] = "t.lua:4: gas is an integer, or its digits in a string, not 1.5",
        ["\nplan:call { to = p.sender, gas = '007' }"] = 't.lua:4: gas: "007" has a 0 before other digits',
        ["\nplan:call { to = p.sender, gas = '' }"] = 't.lua:4: gas is an integer, or its digits in a string, not ""',
        ["\nplan:call { to = p.sender, gas = -1 }"] = "t.lua:4: gas is an integer, or its digits in a string, not -1",
        ["\nplan:call { to = p.sender, gas = ('9'):rep(100) }"] = "is 2^256 or more",
        ["\nplan:call { to = p.sender, revert = { 'error E(uint257)' } }"] = "t.lua:4: revert: ",
        ["\nfor n = 1, 32 do plan:require('x' .. n) end\nplan:require 'x33'"] = "t.lua:5: a plan requires at most 32 capabilities",
        ["\nplan:call { to = p.sender, kind = 'aproval' }"] = 't.lua:4: there are no calls of kind "aproval"',
        ["\nplan:call { to = p.sender, dat = 1 }"] = 't.lua:4: a call has no field "dat"; there are: data, gas, kind, revert, to, value',
        ["\nplan:call { to = p.sender, revert = {} }"] = "t.lua:4: revert lists no error",
        ["\nplan:call { to = p.sender, revert = { 'errr E()' } }"] = "t.lua:4: revert: ",
        ["\nplan:call { to = p.sender, revert = { 'error E()', requird = true } }"] = 't.lua:4: revert has no field "requird"',
        ["\nplan.call { to = p.sender }"] = "t.lua:4: call it with a colon: plan:call",
        ["\nplan:cal { to = p.sender }"] = 't.lua:4: a plan has no "cal"; there are: call, policy, require',
        ["\nplan:require ''"] = "t.lua:4: a capability has a name",
        ["\nplan:policy {}"] = "t.lua:4: rpc_error is a table, not nothing",
        ["\nlocal a = { action = 'retry_same_plan', instruction = 'x' }\nplan:policy { rpc_error = a,"
          .. " execution_reverted = a, simulation_setup_error = a }"] = "t.lua:5: retry_same_plan is advice for rpc_error alone",
        ["\nlocal x = p.recpient"] = 't.lua:4: there is no parameter "recpient"; there are: chain, sender',
        ["\nmoonplan.abi.call('f(uint256)', 'x')"] = "t.lua:4: ",
        ["\nplan:call { to = p.sender, data = 0 .. nil }"] = "t.lua:4: ",
      } do fails(body, words) end
    end)

    -- Neither loops nor what JSON does not have, at any depth.
    it("gets told on its own line what cannot stand in a revert", function()
      local entry = "local e = { type = 'error', name = 'E', inputs = {} }\n"
      for change, words in pairs {
        ["e.inputs = { e }"] = 'at /inputs/0: the table at "" again, inside itself',
        ["e.outputs = { { components = { e } } }"] = 'at /outputs/0/components/0: the table at "" again, inside itself',
        ["e.more = e"] = 'at /more: the table at "" again, inside itself',
        ["local x = e for _ = 1, 300 do x.inputs = { {} } x = x.inputs[1] end"] = "nested deeper",
        ["e.inputs = { function() end }"] = "at /inputs/0: a function",
        ["e.inputs = { { name = 'a', type = 'uint256', x = 0/0 } }"] = "at /inputs/0/x: not a number",
        ["e.name = '\\xff'"] = "at /name: byte 1 of the string, 0xff, is not UTF-8",
        ["e.inputs = { [2] = {} }"] = "at /inputs: an array with a hole",
        ["e[{}] = 1"] = ": a table as a key",
      } do
        fails(entry .. change .. "\nplan:call { to = p.sender, revert = { 'error F()', e } }",
          "t.lua:5: entry 2 of revert")
        fails(entry .. change .. "\nplan:call { to = p.sender, revert = { e } }", words)
      end
      for list, words in pairs { ["{ [2] = 'error E()' }"] = "it has 1, and the last at 2",
        ["{ 'error E()', [3] = 'error F()', required = true }"] = "it has 2, and the last at 3",
        ["{ [0] = 'error E()', 'error F()' }"] = "it has 2, and the last at 1" } do
        fails("\nplan:call { to = p.sender, revert = " .. list .. " }", "t.lua:4: revert is a list of errors from 1 on; " .. words)
      end
      -- What is there twice does not hold itself.
      local plan = made("local a = { name = 'a', type = 'uint256' } plan:call { to = p.sender, "
        .. "revert = { { type = 'error', name = 'E', inputs = { a, a } } } }")
      assert.equal(2, #plan.ordered_steps[1].revert_decode.abi[1].inputs)
    end)

    it("may refuse, and must not return a plan", function()
      assert.equal("not today", fails("return nil, 'not today'", "not today").message)
      assert.equal("not today", fails("return nil, { message = 'not today' }", "not today").message)
      fails("return { ordered_steps = {} }", "build returns nothing")
      assert.equal(1, #made("plan:call { to = p.sender } return plan").ordered_steps)
      fails("error({})", "neither a text nor a table with a message")
    end)

    it("may say which parameter it refuses", function()
      local engine = engine_of({ calls("t.x", "return nil, 'not this one', p.at", [[at = { type = "string" },
        list = { type = "array", items = { type = "object", fields = { n = { type = "uint256" } } } } ]]) }, isolation)
      local text = ('{"chain": 1, "sender": "%s",\n"list": [{"n": 1}, {"n": 2}], "at": "%%s"}'):format(ALICE)
      for at, place in pairs { list = "/list 2:9", ["list/1/n"] = "/list/1/n 2:26", ["list/1/m"] = "/list/1 2:20",
        ["list/9"] = "/list 2:9", ["list/x"] = "/list 2:9", chain = "/chain 1:11" } do
        local plan, err = engine:build("t.x", text:format(at))
        assert.is_nil(plan)
        assert.equal("build.param_value", err.code)
        assert.equal("not this one", err.message)
        assert.equal(place, ("%s %d:%d"):format(err.at, err.line, err.column))
      end
      for _, at in ipairs { "", "lst", "/list" } do
        local _, err = engine:build("t.x", text:format(at))
        assert.equal("build.failed", err.code)
        assert.matches("is at fault, and that is no parameter; there are: at, chain, list, sender", err.message, 1, true)
      end
    end)

    it("gets what our own validation refuses told with the line of the call", function()
      fails("\nplan:call { to = p.sender, revert = { { type = 'error', name = 'E', inputs = { { name = 'a', type = 'uint257' } } } } }",
        'the plan that "t.x" made is refused, for what "t.lua:4" adds: call.', "build.plan")
      fails("\nplan:call { to = p.sender }\nplan:call { to = p.sender, revert = { 'function f()' } }",
        'for what "t.lua:5" adds: call.abi_no_error', "build.plan")
    end)

    it("cannot hand out what our own validation refuses", function()
      local err = fails("", "call.no_steps", "build.plan")
      assert.matches('^the plan that "t.x" made is refused: call.no_steps at /ordered_steps: ', err.message)
      assert.is_nil(err.offset)
      fails("plan:call { to = p.sender, revert = { { type = 'function', name = 'f', inputs = {} } } }", "call.abi_no_error",
        "build.plan")
      local many = engine_of({ calls("t.x", [[
        for i = 1, 3 do plan:call { to = p.sender, revert = { { type = "function", name = "f", inputs = {} } } } end]]) }, isolation)
      local _, all = many:build("t.x", { chain = 1, sender = ALICE })
      assert.equal(3, #all.errors)
      for n, fault in ipairs(all.errors) do
        assert.equal("build.plan", fault.code)
        assert(fault.message:find(("/ordered_steps/%d/"):format(n - 1), 1, true), fault.message)
      end
    end)

    -- The plan in the making is ordinary Lua in a state that is the builder's: whatever a hostile one
    -- makes of it, the host writes the document.
    it("cannot reach past the host by changing what its state holds", function()
      local engine = engine_of({ [[(function()
        local evil = { steps = { { kind = "execution", to = "0x2222222222222222222222222222222222222222", data = "0x", value = "0",
            extensions = { a = 1 }, from = "0x2222222222222222222222222222222222222222" }, 5 },
          sender = "0x2222222222222222222222222222222222222222", chain_id = "2", extensions = { a = 1 }, required_capabilities = "x" }
        local set = setmetatable
        moonplan.array = function() return evil.steps end
        setmetatable = function(t, m) return set(t, m) end
        return ]] .. calls("t.x", "plan:call { to = p.sender }") .. [[
      end)()]] }, isolation)
      local text, err = engine:build("t.x", { chain = 1, sender = ALICE })
      if text then
        local plan = moonplan.json.decode(text)
        assert.equal(ALICE, plan.sender)
        assert.equal("1", plan.chain_id)
        assert.is_nil(plan.extensions)
        for _, step in ipairs(plan.ordered_steps) do assert.equal(ALICE, step.transaction.from) end
      else
        assert.matches("^build%.", err.code)
      end
    end)

    it("has no powers", function()
      fails("ctx.fs.read 'x'", "ctx")
      local source = calls("t.x", "plan:call { to = p.sender, value = select('#', ...) }"):gsub("p, plan%)", "p, plan, ...)")
      local text = engine_of({ source }, isolation):build("t.x", { chain = 1, sender = ALICE })
      assert.equal("0", moonplan.json.decode(text).ordered_steps[1].transaction.value)
    end)

    it("is stopped when it does not end", function()
      local engine = assert(moonplan.engine {
        plugins = plugin_files.folder { ["t.lua"] = "return " .. calls("t.x", "while true do end") },
        isolation = isolation, limits = { call_ms = 50 } })
      local plan, err = engine:build("t.x", { chain = 1, sender = ALICE })
      assert.is_nil(plan)
      assert.equal("build.failed", err.code)
      assert.matches("call_ms", err.message)
    end)

    it("makes plans up to the limits, and is told the limit beyond", function()
      local body = "for i = 1, tonumber(p.n) do plan:call { to = p.sender } end"
      local engine = engine_of({ calls("t.x", body, 'n = { type = "uint256" }') }, isolation)
      local text = assert(engine:build("t.x", { chain = 1, sender = ALICE, n = 4096 }))
      assert.equal(4096, #assert(moonplan.call_plan(text)).steps)
      local _, err = engine:build("t.x", { chain = 1, sender = ALICE, n = 4097 })
      assert.equal("limit", err.code)
      assert.matches("steps", err.message)
    end)
  end)

  describe("a builder of step plans, in " .. isolation .. ",", function()
    local function build(body, uses, params)
      local engine = engine_of({ steps("t.x", body, uses, params) }, isolation)
      return engine:build("t.x", {})
    end
    local function fails(body, words, code, uses)
      local plan, err = build(body, uses)
      assert.is_nil(plan, body)
      assert.equal(code or "build.failed", err.code, tostring(err))
      assert(err.message:find(words, 1, true), err.message)
    end

    it("turns field access into references", function()
      local text = assert(build [[
        plan:goal "Count"
        local file = plan:step("read", "fs.read_text", { path = "n.txt" }, { reason = "to see", idempotency_key = "k" })
        local list = plan:step("list", "fs.list", {})
        local any = plan:step("any", "json.select", { text = file.text, pointer = "/a" })
        plan:step("count", "text.count", { text = file.text,
          all = { file, { list.files, list.files[1], list.files.length, any.a.b[2].c } } })
      ]])
      local function ref(path) return { ["$ref"] = "steps." .. path } end
      assert.same({
        version = "1.0", goal = "Count",
        steps = {
          { id = "read", capability = "fs.read_text", input = { path = "n.txt" }, reason = "to see", idempotencyKey = "k" },
          { id = "list", capability = "fs.list", input = {} },
          { id = "any", capability = "json.select", input = { text = ref "read.result.text", pointer = "/a" } },
          { id = "count", capability = "text.count", input = { text = ref "read.result.text", all = { ref "read.result",
            { ref "list.result.files", ref "list.result.files.0", ref "list.result.files.length", ref "any.result.a.b.1.c" } } } },
        },
      }, moonplan.json.decode(text))
    end)

    it("makes a plan that runs", function()
      local engine = moonplan.engine { grants = { fs = plugin_files.folder { ["n.txt"] = "two words\n" } },
        plugins = plugin_files.folder { ["t.lua"] = "return " .. steps("t.x",
          'local file = plan:step("read", "fs.read_text", { path = "n.txt" }) plan:step("count", "text.count", { text = file.text })') },
        isolation = isolation }
      local text, digest = assert(engine:build "t.x")
      local job = assert(engine:run(text))
      assert.same({ { text = "two words\n" }, { lines = 1, words = 2, bytes = 10 } }, job.result)
      assert.equal(64, #digest)
    end)

    it("needs no power to make a plan that does", function()
      assert.truthy(build 'plan:step("read", "fs.read_text", { path = "n.txt" })')
    end)

    it("gets its mistakes told on its own line, with the outputs that there are", function()
      local read = '\nlocal r = plan:step("r", "fs.read_text", { path = "x" })\n'
      local list = '\nlocal r = plan:step("r", "fs.list", {})\n'
      for body, words in pairs {
        [read .. "local x = r.txt"] = 't.lua:5: fs.read_text gives no "txt"; there are: text',
        [list .. "local x = r.files.first"] = 't.lua:5: steps.r.result.files is an array, which has no "first"',
        [list .. "local x = r.files[0]"] = "t.lua:5: element 0",
        [list .. "local x = r.files[1.5]"] = "t.lua:5: a reference cannot lead to 1.5",
        [list .. "local x = r[1]"] = "t.lua:5: fs.list gives no 1; there are: files, folders",
        [read .. "local x = r.text.length"] = "t.lua:5: steps.r.result.text is a string, which has nothing in it",
        [read .. "local x = r.text['a.b']"] = 't.lua:5: a reference cannot lead to "a.b"',
        [read .. "local x = r.text .. 'x'"] = "t.lua:5: what a step gives is not known before the plan runs",
        [read .. "local x = 'x' .. r.text"] = "t.lua:5: what a step gives is not known before the plan runs",
        [read .. "local x = tostring(r.text)"] = "t.lua:5: what a step gives is not known",
        [read .. "local x = ('%s'):format(r.text)"] = "t.lua:5: what a step gives is not known",
        [read .. "r.text = 5"] = "t.lua:5: what a step gives is not known",
        [read .. "r.text()"] = "t.lua:5: what a step gives cannot be called",
        [list .. "for i = 1, #r.files do end"] = "t.lua:5: what a step gives is not known",
        [list .. "for i, f in ipairs(r.files) do break end"] = "t.lua:5: what a step gives is not known before the plan runs, so that",
        [list .. "table.unpack(r.files, 1, 1)"] = "t.lua:5: what a step gives is not known before the plan runs, so that",
        [list .. "local x = r.files == r.folders"] = "t.lua:5: what a step gives is not known before the plan runs, so that",
        [list .. "local x = r.files[1] ~= r.files[2]"] = "t.lua:5: what a step gives is not known before the plan runs, so that",
        [list .. 'plan:step("t", "text.count", { text = r.files })'] = "t.lua:5: the input text of text.count is a string, and "
          .. "steps.r.result.files is an array",
        [list .. 'plan:step("t", "text.count", { text = r })'] = "t.lua:5: the input text of text.count is a string, and "
          .. "steps.r.result is an object",
        [list .. 'plan:step("t", "text.count", { text = r.files.length })'] = "steps.r.result.files.length is a number",
        [list .. "for i, f in pairs(r.files) do end"] = "t.lua:5: what a step gives is not known",
        [read .. 'plan:step("r", "fs.list", {})'] = 't.lua:5: the plan has a step "r" already',
        ['\nplan:step("", "fs.list", {})'] = "t.lua:4: a step's id is a text",
        ['\nplan:step("result", "fs.list", {})'] = "t.lua:4: no reference could name",
        ['\nplan:step("a.result.b", "fs.list", {})'] = "t.lua:4: no reference could name",
        ['\nplan:step("a", "fs.lst", {})'] = 't.lua:4: the builder does not say with uses that it names "fs.lst"',
        ['\nplan:step("a", "fs.list", { f = function() end })'] = "t.lua:4: a function cannot stand in an input, at /f",
        ['\nlocal t = {} t.t = t plan:step("a", "fs.list", t)'] = "t.lua:4: the input is nested deeper than 100 levels",
        ['\nplan:step("a", "fs.list", {}, { resaon = "x" })'] = 't.lua:4: what is said of a step has no field "resaon"',
        ['\nplan.step("a", "fs.list")'] = "t.lua:4: call it with a colon: plan:step",
        ['\nplan:goal(5)'] = "t.lua:4: a goal is a text, not 5",
        ['\nplan:call {}'] = 't.lua:4: a plan has no "call"; there are: goal, step',
        ['\nplan:step("a", "fs.list", { x = 0/0 })'] = "t.lua:4: the input at /x: not a number",
        ['\nplan:step("a", "fs.list", { x = "\\xff" })'] = "t.lua:4: the input at /x: byte 1 of the string, 0xff, is not UTF-8",
        ['\nplan:step("a", "fs.list", { ["\\xff"] = 1 })'] = "t.lua:4: the input: byte 1 of the name",
        ['\nplan:step("a", "fs.list", { x = { 1, [3] = 3 } })'] = "t.lua:4: the input at /x: an array with a hole",
        ['\nplan:step("a", "fs.list", { 1, x = 2 })'] = "t.lua:4: the input: names and positions in one table",
        ['\nplan:step("\\xff", "fs.list", {})'] = "t.lua:4: a step's id: byte 1 of the string",
        ['\nplan:step("a", "fs.list", {}, { reason = "\\xff" })'] = "t.lua:4: reason: byte 1 of the string",
        ['\nplan:step("a", "fs.list", {}, { idempotency_key = "\\xff" })'] = "t.lua:4: idempotency_key: byte 1",
        ['\nplan:goal "\\xff"'] = "t.lua:4: the goal: byte 1 of the string",
      } do fails(body, words) end
    end)

    it("gives one handle for one reference", function()
      local text = assert(build [[
        local list = plan:step("list", "fs.list", {})
        assert(list.files == list.files and list.files[2] == list.files[2] and list.files.length == list.files.length)
        plan:step("any", "json.select", { text = "{}", pointer = "/a" })
        local any = plan:step("more", "json.select", { text = "{}", pointer = "/a" })
        assert(any.value == any.value)
        plan:step("count", "text.count", { text = list.files[2] })
      ]])
      assert.same({ ["$ref"] = "steps.list.result.files.1" }, moonplan.json.decode(text).steps[4].input.text)
    end)

    it("gets what admission refuses told with the line of the step", function()
      fails('\nplan:step("a", "fs.read_text", {})', 'is refused, for what "t.lua:4" adds: plan.input_missing at /steps/0/input/path',
        "build.plan")
      fails('\nplan:step("b", "fs.list", {})\nplan:step("a", "fs.read_text", { path = 5 })',
        'for what "t.lua:5" adds: plan.input_type at /steps/1/input/path', "build.plan")
    end)

    it("cannot hand out what admission refuses", function()
      fails("", "plan.empty", "build.plan")
      fails('plan:step("a", "fs.read_text", {})', "plan.input_missing at /steps/0/input/path", "build.plan")
      fails('plan:step("a", "fs.read_text", { path = 5 })', "plan.input_type", "build.plan")
      fails('plan:step("a", "fs.list", { x = { ["$ref"] = "steps.b.result" } })', "plan.reference_order", "build.plan")
    end)

    it("names the capabilities that it uses, and they have to be there", function()
      fails('plan:step("a", "no.such", {})', 'there is no such capability', nil, '{ "no.such" }')
      fails('plan:step("a", "native.transfer", {})', "is a builder", "plan.unknown_capability", '{ "native.transfer" }')
    end)
  end)
end

describe("the description of a builder", function()
  local function refuses(source, words, at)
    local folder = plugin_files.folder { ["t.lua"] = "return " .. source }
    local row = assert(moonplan.engine { plugins = folder, shipped = false, isolation = "state" }):files("t")[1]
    assert.equal("plugin.manifest", row.err and row.err.code, source)
    assert(row.err.message:find(words, 1, true), row.err.message)
    if at then assert.equal(at, row.err.at) end
  end

  it("is checked when its file is read", function()
    local function changed(from, to)
      local source, count = calls("t", "", 'x = { type = "amount" }'):gsub(from, to, 1)
      assert.equal(1, count)
      return source
    end
    refuses(changed("summary", "sumary"), 'a builder has no field "sumary"; there are: kind, api, name, version', "/sumary")
    refuses(changed("summary", "risk"), "a builder has no field", "/risk")
    refuses(changed("build = function%(p, plan%)  end", "run = function() end"), "a builder has no field", "/run")
    refuses(changed("build = function%(p, plan%)  end", ""), "the field build is missing")
    refuses(changed("build = function%(p, plan%)  end", "build = 5"), "build must be a function", "/build")
    refuses(changed('"call_plan"', '"plan"'), "call_plan, step_plan", "/builds")
    refuses(changed('"amount"', '"amout"'), "is no type of a parameter; there are: chain, address, amount", "/params/x/type")
    refuses(changed('type = "amount"', ''), "a parameter has a type", "/params/x")
    refuses(changed('"amount"', '"amount", requird = true'), 'a parameter has no "requird"', "/params/x/requird")
    refuses(changed('"amount"', '"amount", required = 1'), "true or false", "/params/x/required")
    refuses(changed('"amount"', '"amount", integer = true'), "integer does nothing for an amount; it is for a number", "/params/x/integer")
    refuses(changed('"amount"', '"amount", min = -1'), "min must be an integer from 0 up", "/params/x/min")
    refuses(changed('"amount"', '"amount", decimals = 78'), "0 to 77", "/params/x/decimals")
    refuses(changed('"amount"', '"amount", decimals = "d"'), 'decimals names "d"', "/params/x/decimals")
    refuses(changed('"amount"', '"string", enum = {}'), "at least one value", "/params/x/enum")
    refuses(changed('"amount"', '"string", enum = { 1 }'), "enum lists a string", "/params/x/enum/0")
    refuses(changed('"amount"', '"array", items = { type = "nope" }'), "no type", "/params/x/items/type")
    refuses(changed('"amount"', '"object", fields = { a = {} }'), "has a type", "/params/x/fields/a")
    refuses(changed('"amount"', '"object", fields = 5'), "by a table", "/params/x/fields")
    refuses(changed('"chain", required = true', '"chain"'), "chain, of type chain")
    refuses(changed('"address", required = true', '"string", required = true'), "sender, of type address")
    refuses(changed('builds = "call_plan"', 'builds = "call_plan", uses = {}'), "a builder of step plans, and no other", "/uses")
    refuses(steps("t", "", "nil"), "a builder of step plans, and no other")
    refuses(steps("t", "", "{ 5 }"), "names capabilities by strings", "/uses/0")
    refuses(steps("t", "", "{ " .. ('"a", '):rep(65) .. "}"), "uses has 65 names; at most 64 are allowed", "/uses")
    refuses(changed("build = ", 'examples = { { params = {} } }, build = '), "a digest or a plan, or else an error", "/examples/0")
    refuses(changed("build = ", 'examples = { { digest = "0x" } }, build = '), "64 lower-case", "/examples/0/digest")
    refuses(changed("build = ", 'examples = { { input = {}, error = "x" } }, build = '),
      'an example has no field "input"; there are: params', "/examples/0/input")
    refuses(steps("t", "", nil, ""):gsub("build = ", ('examples = { { digest = "0x%s" } }, build = '):format(("0"):rep(64))),
      "a step plan has no plan digest", "/examples/0/digest")
    local deep = ('{ type = "array", items = '):rep(10) .. '{ type = "string" }' .. (" }"):rep(10)
    refuses(calls("t", "", "x = " .. deep), "more than 8 levels")
  end)

  it("is what describe and list give", function()
    local engine = moonplan.engine()
    local item = assert(engine:describe "erc20.approve")
    assert.equal("builder", item.kind)
    assert.equal("call_plan", item.builds)
    assert.equal("amount", item.params.amount.type)
    assert(#item.examples >= 1)
    assert.is_nil(engine:describe("erc20.approve", "0.0.0"))
    local names = {}
    for _, row in ipairs((engine:list "builder")) do names[row.name] = row.builds end
    assert.equal("step_plan", names["files.digest"])
    assert.equal("call_plan", names["swap.exact_input"])
    for _, row in ipairs((engine:list())) do assert.equal("capability", row.kind) end
    assert.has_error(function() engine:list "buidler" end)
  end)
end)

describe("the examples of a builder", function()
  it("are tried, and a wrong one is told so", function()
    local ones = {
      'params = { chain = 1, sender = "' .. ALICE .. '" }, digest = "0x' .. ("0"):rep(64) .. '"',
      'params = { chain = 1 }, error = "\\"t.x\\" requires the parameter \\"sender\\""',
      'params = { chain = 1 }, error = "something else"',
      'params = { chain = 1, sender = "' .. ALICE .. '" }, error = "it fails"',
      'params = { chain = 1, sender = "' .. ALICE .. '" }, plan = { schema_version = "1" }',
      'error = "\\"t.x\\" requires the parameter \\"chain\\""',
    }
    local source = calls("t.x", "plan:call { to = p.sender }"):gsub("build = ",
      function() return "examples = { {" .. table.concat(ones, "}, {") .. "} }, build = " end)
    local oks = {}
    for n, result in ipairs(assert(engine_of({ source }):test "t.x")) do
      oks[n] = result.ok
      if not result.ok then assert(#result.message > 10) end
    end
    assert.same({ false, true, false, false, false, true }, oks)
  end)
end)
