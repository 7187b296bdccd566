-- moonplan build: parameters by name and from files, the plan on standard output, its digest on the
-- other; and what the commands of `moonplan plugins` say of builders.
local command = require "spec.support.command"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"

local ALICE = "sender=0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
local BOB = "recipient=0x00000000219ab540356cBB839Cbe05303d7705Fa"
-- Computed by hand in spec/support/shipped_builders.lua.
local DIGEST = moonplan.engine():describe("native.transfer").examples[1].digest

local function build(...) return command.run { "build", ... } end

after_each(command.clean)

describe("moonplan build", function()
  it("puts the plan out and tells its digest", function()
    local run = build("native.transfer", "chain=1", ALICE, BOB, "amount=1.5 ether")
    assert.equal(0, run.code)
    assert.equal(DIGEST .. "\n", run.err)
    assert.matches("^{[^\n]*}\n$", run.out)
    assert.equal(DIGEST, moonplan.digest(run.out))
  end)

  it("takes parameters from a file, from standard input, and from both sides", function()
    local folder = command.folder()
    local object = ('{"chain": 1, "sender": "%s"%s}\n'):format(ALICE:sub(8), ', "amount": 1500000000000000000')
    command.write(folder .. "/p.json", object)
    assert.equal(DIGEST .. "\n", build("native.transfer", "--params", folder .. "/p.json", BOB).err)
    assert.equal(DIGEST .. "\n", command.run { "build", "native.transfer", "--params", "-", BOB, stdin = object }.err)
    command.write(folder .. "/empty.json", " { } ")
    assert.equal(DIGEST .. "\n", build("native.transfer", "--params", folder .. "/empty.json", "chain=1", ALICE, BOB,
      "amount=1.5 ether").err)
    -- A number beyond what Lua holds comes through as it stands.
    command.write(folder .. "/large.json", '{"amount": 100000000000000000000000000000001}')
    local large = build("native.transfer", "--params", folder .. "/large.json", "chain=1", ALICE, BOB)
    assert.matches('"value":"100000000000000000000000000000001"', large.out, 1, true)
  end)

  it("takes arrays, objects, numbers and true and false as JSON, all else as text", function()
    local run = build("swap.exact_input", "chain=1", ALICE, "router=0x7a250d5630b4cf539739df2c5dacb4c659f2488d",
      'path=["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"]',
      "amount_in=2500 tokens", "decimals_in=6", "amount_out_min=0.8 tokens", "decimals_out=18", "deadline=2000000000", "reset_first=false")
    assert.equal(moonplan.engine():describe("swap.exact_input").examples[1].digest .. "\n", run.err)
  end)

  it("writes to a new file, and never over one", function()
    local folder = command.folder()
    local run = build("native.transfer", "chain=1", ALICE, BOB, "amount=1", "--out", folder .. "/plan.json")
    assert.equal(0, run.code)
    assert.equal("", run.out)
    assert.matches("^0x%x+\n$", run.err)
    local checked = command.run { "digest", folder .. "/plan.json" }
    assert.matches(run.err:sub(1, 66), checked.out, 1, true)
    local again = build("native.transfer", "chain=1", ALICE, BOB, "amount=1", "--out", folder .. "/plan.json")
    assert.equal(1, again.code)
    assert.matches("plan.json: error[io]: cannot be written: File exists", again.err, 1, true)
  end)

  it("names all that is wrong, each at its parameter", function()
    local run = build("native.transfer", "chain=0", ALICE, "amount=1.5", "amuont=2")
    assert.equal(2, run.code)
    assert.equal("", run.out)
    local told = {}
    for line in run.err:gmatch "[^\n]+" do told[#told + 1] = line:match "^(native.transfer: error%[[%w_.]+%] at [%w/]+): " end
    assert.same({
      "native.transfer: error[build.param_missing] at /recipient", "native.transfer: error[build.param_value] at /chain",
      "native.transfer: error[build.param_value] at /amount", "native.transfer: error[build.param_unknown] at /amuont",
    }, told)
  end)

  it("names places in the file, and none for what came by the command line", function()
    local path = command.write(command.folder() .. "/p.json", '{\n  "chain": 0\n}\n')
    local run = build("native.transfer", "--params", path, ALICE, BOB, "amount=x")
    assert.equal(2, run.code)
    assert(run.err:find(path .. ':2:12: error[build.param_value] at /chain: ', 1, true), run.err)
    assert(run.err:find("\n" .. path .. ': error[build.param_value] at /amount: the parameter "amount" is "x"', 1, true), run.err)
  end)

  it("shows a number where a text is wanted, and a text where a number is, as what they are", function()
    local run = build("native.transfer", "chain=1", ALICE, BOB, "amount=true")
    assert.matches('is "true", which is neither', run.err, 1, true)
    run = build("files.digest", "recursive=yes")
    assert.matches('the parameter "recursive" must be true or false, not a string', run.err, 1, true)
  end)

  it("blames an empty file for itself", function()
    for _, content in ipairs { "", " \n", "[" } do
      local path = command.write(command.folder() .. "/p.json", content)
      for _, word in ipairs { "chain=1", false } do
        local run = build("native.transfer", "--params", path, word or nil)
        assert.equal(2, run.code)
        assert(run.err:find(path .. ":", 1, true) == 1, run.err)
      end
    end
  end)

  it("puts out nothing that acts, and the digest is that of the text", function()
    local run = build("files.digest", "path=a\u{202e}b\u{7f}\u{e9}\u{2066}")
    assert.equal(0, run.code, run.err)
    assert.matches('"a\\u202eb\\u007f\u{e9}\\u2066"', run.out, 1, true)
    local job = moonplan.engine():build("files.digest", { path = "a\u{202e}b\u{7f}\u{e9}\u{2066}" })
    assert.same(moonplan.json.decode(job), moonplan.json.decode(run.out))
    local path = command.folder() .. "/plan.json"
    run = build("erc20.approve_and_call", "chain=1", ALICE, "token=0x2222222222222222222222222222222222222222",
      "spender=0x2222222222222222222222222222222222222222", "amount=1", "data=0x", 'errors=["error E(uint256 a)"]', "--out", path)
    assert.equal(0, run.code, run.err)
    assert.matches(run.err:sub(1, 66), command.run({ "digest", path, "--implements", "atomic_batch" }).out, 1, true)
  end)

  it("tells mistakes that only the builder sees at the parameter", function()
    local base = { "erc20.approve_and_call", "chain=1", ALICE, "token=0x2222222222222222222222222222222222222222",
      "spender=0x2222222222222222222222222222222222222222", "amount=1", "data=0x" }
    for errors, told in pairs {
      ['["error X(uint257)"]'] = "error[build.param_value] at /errors/0: ",
      ['["error E()", "function f()"]'] = 'error[build.param_value] at /errors/1: "function f()" declares a function, and no error',
    } do
      base[8] = "errors=" .. errors
      local run = build(table.unpack(base))
      assert.equal(2, run.code)
      assert(run.err:find(told, 1, true), run.err)
    end
    local run = build("multicall", "chain=1", ALICE, "target=0x2222222222222222222222222222222222222222", "calls=[]")
    assert(run.err:find("error[build.param_value] at /calls: there are no calls to make", 1, true), run.err)
    run = build("swap.exact_input", "chain=1", ALICE, "router=0x2222222222222222222222222222222222222222", "amount_in=1",
      "amount_out_min=1", "deadline=1", ('path=["0x%s", "0x%s"]'):format(("2"):rep(40), ("2"):rep(40)))
    assert(run.err:find("error[build.param_value] at /path/1: the path has 0x2222", 1, true), run.err)
  end)

  it("is wrong usage where a name is none, a word is none, or something is said twice", function()
    local path = command.write(command.folder() .. "/p.json", '{"chain": 1}')
    for words, message in pairs {
      [{ "native.transfr" }] = 'there is no builder "native.transfr"; did you mean "native.transfer"?',
      [{ "nothing.at.all" }] = 'there is no builder "nothing.at.all"; "moonplan plugins list" lists what there is',
      [{ "fs.list" }] = '"fs.list" is a capability, and no builder',
      [{ "native.transfer", "chain" }] = "chain is not KEY=VALUE",
      [{ "native.transfer", "=1" }] = "=1 is not KEY=VALUE",
      [{ "native.transfer", "chain=1", "chain=1" }] = "chain is given twice",
      [{ "native.transfer", "chain=1", "--params", path }] = "chain is given twice, here and in " .. path,
      [{ "native.transfer", "chain=\255" }] = "is not UTF-8",
    } do
      local run = build(table.unpack(words))
      assert.equal(1, run.code, run.err)
      assert(run.err:find("moonplan build: ", 1, true), run.err)
      assert(run.err:find(message, 1, true), run.err)
      assert.equal("", run.out)
    end
  end)

  it("refuses a file that is no object, with its place, and one that is not there", function()
    local folder = command.folder()
    command.write(folder .. "/a.json", "[1]")
    local run = build("native.transfer", "--params", folder .. "/a.json", "chain=1")
    assert.equal(2, run.code)
    assert.matches("a.json:1:1: error[build.param_type]: parameters are an object, not an array", run.err, 1, true)
    command.write(folder .. "/b.json", '{"chain": }')
    run = build("native.transfer", "--params", folder .. "/b.json")
    assert.equal(2, run.code)
    assert.matches("b.json:1:11: error[json.syntax]", run.err, 1, true)
    assert.equal(1, build("native.transfer", "--params", folder .. "/c.json").code)
  end)

  it("has a plugin's builders, and tells its author's mistakes with their lines", function()
    local folder = plugin_files.folder { ["pay.lua"] = [[
return { kind = "builder", api = 1, name = "pay", version = "1", summary = "Pays.", builds = "call_plan",
  params = { chain = { type = "chain", required = true }, sender = { type = "address", required = true } },
  build = function(p, plan)
    plan:call { to = p.sendr }
  end }]] }
    local run = build("pay", "--plugins", folder, "--isolation", "state", "chain=1", ALICE)
    assert.equal(2, run.code)
    assert.equal('pay: error[build.failed]: pay.lua:4: there is no parameter "sendr"; there are: chain, sender\n', run.err)
  end)

  it("says the admission digest of a step plan, and needs no grant for it", function()
    local run = build("files.digest", "path=x")
    assert.equal(0, run.code)
    assert.matches("^%x+\n$", run.err)
    assert.equal(65, #run.err)
  end)
end)

describe("moonplan plugins", function()
  it("lists builders behind capabilities, and as JSON by kind", function()
    local run = command.run { "plugins", "list" }
    assert.equal(0, run.code)
    assert.matches("\nerc20.approve +1.0.0 +builder [^\n]*Let a spender take", run.out)
    local all = assert(moonplan.json.decode(command.run { "plugins", "list", "--json" }.out))
    local names = {}
    for _, item in ipairs(all.builders) do names[item.name] = item end
    assert.equal("amount", names["erc20.approve"].params.amount.type)
    assert.equal("call_plan", names["erc20.approve"].builds)
    assert.truthy(moonplan.is_array(all.executors) and moonplan.is_array(all.authorizers))
  end)

  it("shows what a builder takes", function()
    local run = command.run { "plugins", "show", "erc20.approve" }
    assert.equal(0, run.code)
    assert.matches("\nis      a builder of call plans\n", run.out, 1, true)
    assert.matches("\n  amount +amount, required, at least 1, tokens of decimals decimals: how much to allow", run.out)
    assert.matches("\n  digest  \"0x", run.out, 1, true)
    run = command.run { "plugins", "show", "files.digest" }
    assert.matches("\nuses    fs.list, hash.files, hash.manifest\n", run.out, 1, true)
  end)

  it("begins a builder that holds its examples, and builds", function()
    local folder = command.folder()
    local run = command.run { "plugins", "new", "builder", "pay.tokens", "--plugins", folder }
    assert.equal(0, run.code)
    local tested = command.run { "plugins", "test", "pay.tokens", "--plugins", folder, "--isolation", "state" }
    assert.equal("pay.tokens 0.1.0: 2 examples kept\n", tested.out)
    assert.equal(0, tested.code)
    local built = build("pay.tokens", "--plugins", folder, "--isolation", "state", "chain=1", ALICE, BOB,
      "token=0x2222222222222222222222222222222222222222", "amount=1 token", "decimals=6", "currency=0.01 ether")
    assert.equal(0, built.code)
    local plan = assert(moonplan.call_plan(built.out, { implements = { "atomic_batch" } }))
    assert.equal(2, #plan.steps)
    assert.equal("10000000000000000", plan.steps[2].value)
  end)

  it("tests builders beside capabilities", function()
    local run = command.run { "plugins", "test", "erc20", "files", "hash" }
    assert.equal(0, run.code)
    assert.matches("erc20.approve_and_call 1.0.0: 2 examples kept\n", run.out, 1, true)
    assert.matches("hash.manifest 1.0.0: 2 examples kept\n", run.out, 1, true)
  end)
end)

describe("an authorizer that a plugin brings", function()
  local SOURCE = [[
return { kind = "authorizer", api = 1, name = "house", version = "1", summary = "Lets small things pass.",
  examples = {
    { input = { capability = { name = "x", risk = "read" } }, output = { decision = "allow" } },
    { input = { capability = { name = "x", risk = "write" } }, output = { decision = "deny", reason = "not here" } },
  },
  decide = function(request, ctx)
    if request.step_id == "broken" then return nil, "no idea" end
    if request.step_id == "odd" then return { decision = "perhaps" } end
    if request.capability.risk == "read" then return { decision = "allow" } end
    return { decision = "deny", reason = "not here" }
  end }]]
  local function plan(id, capability)
    return ('{"version":"1.0","steps":[{"id":"%s","capability":"%s","input":{"text":"a b"}}]}'):format(id, capability)
  end
  local write = [[return { kind = "capability", api = 1, name = "note", version = "1", summary = "x", risk = "write",
    run = function() return { done = true } end }]]

  for _, isolation in ipairs { "state", "process" } do
    it("decides about steps, by its name, in " .. isolation, function()
      local folder = plugin_files.folder { ["house.lua"] = SOURCE, ["note.lua"] = write }
      local engine = assert(moonplan.engine { plugins = folder, authorizer = "house", isolation = isolation })
      local function ended(id, capability)
        local job = assert(engine:run(plan(id, capability)))
        return job.status, job.error and job.error.code, job.error and job.error.message
      end
      assert.same({ "completed" }, { ended("a", "text.count") })
      assert.same({ "failed", "job.denied", "not here" }, { ended("a", "note") })
      assert.same({ "failed", "job.authorizer_failed", "no idea" }, { ended("broken", "text.count") })
      local status, code = ended("odd", "text.count")
      assert.same({ "failed", "job.decision_invalid" }, { status, code })
    end)
  end

  it("is named on the command line, and tested like everything else", function()
    local folder = plugin_files.folder { ["house.lua"] = SOURCE, ["note.lua"] = write }
    local path = command.write(command.folder() .. "/p.json", plan("a", "note"))
    local run = command.run { "run", path, "--plugins", folder, "--isolation", "state", "--authorizer", "house" }
    assert.equal(3, run.code)
    assert.matches("not here", run.err, 1, true)
    local tested = command.run { "plugins", "test", "house", "--plugins", folder, "--isolation", "state" }
    assert.equal("house 1: 2 examples kept\n", tested.out)
    run = command.run { "run", path, "--plugins", folder, "--isolation", "state", "--authorizer", "nobody" }
    assert.equal(1, run.code)
    assert.matches('there is no authorizer "nobody"', run.err, 1, true)
    run = command.run { "run", path, "--plugins", folder, "--isolation", "state", "--authorizer", "text.count" }
    assert.matches('"text.count" is a capability, and no authorizer', run.err, 1, true)
  end)

  it("is refused where it lacks a power", function()
    local folder = plugin_files.folder { ["house.lua"] = (SOURCE:gsub("examples", 'needs = { "clock" }, examples')) }
    local engine, err = moonplan.engine { plugins = folder, authorizer = "house", isolation = "state" }
    assert.is_nil(engine)
    assert.equal("option", err.code)
    assert.matches('needs what has not been granted: "clock"', err.message, 1, true)
    assert.truthy(moonplan.engine { plugins = folder, authorizer = "house", isolation = "state", grants = { clock = true } })
  end)
end)
