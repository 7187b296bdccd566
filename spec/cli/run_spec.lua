local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"
local plans = require "spec.support.plans"

local run = command.run

--- A plugin file that brings one capability; `fields` is Lua, and so is the function's body.
local function plugin(name, body, fields)
  return ([[return {
    kind = "capability", api = 1, name = "%s", version = "1.0.0", summary = "Of a test.",
    risk = "read", %s
    run = function(input, ctx)
      %s
    end,
  }]]):format(name, fields or "", body)
end

local function step(id, capability, input)
  return ('{"id":"%s","capability":"%s"%s}'):format(id, capability, input and ',"input":' .. input or "")
end

local function plan(...) return ('{"version":"1.0","steps":[%s]}'):format(table.concat({ ... }, ",")) end

local ORDERS = {
  "examples/orders.plan.json", "--plugins", "examples/plugins",
  cd = files.root == "" and "." or files.root,
}

--- `moonplan run` on the example, with more words.
local function run_orders(...)
  local words = { "run", table.unpack(ORDERS) }
  words.cd = ORDERS.cd
  table.move({ ... }, 1, select("#", ...), #words + 1, words)
  return run(words)
end

-- SHA-256 of {"quantity":1,"sku":"book"}, by sha256sum: 2d25aa19...
local ORDER = { id = "order-2d25aa19", sku = "book", quantity = 1 }
local LOGGED = 'create (orders.create): info: ordered {"id":"order-2d25aa19"}\n'

describe("moonplan run", function()
  local folder
  before_each(function()
    folder = command.folder()
    os.execute("mkdir " .. folder .. "/plugins")
  end)
  after_each(command.clean)

  local function add(name, body, fields)
    command.write(folder .. "/plugins/" .. name .. ".lua", plugin(name, body, fields))
  end

  local function run_plan(text, ...)
    return run { "run", "-", "--plugins", "plugins", cd = folder, stdin = text, ... }
  end

  it("carries the contract's example out: a list of results, and nothing else on standard output", function()
    local outcome = run_orders("--allow", "write")
    assert.equal(0, outcome.code)
    assert.equal(LOGGED, outcome.err)
    assert.truthy(outcome.out:find("^%[[^\n]*%]\n$"))
    assert.same({ ORDER, ORDER }, cjson.decode(outcome.out))
  end)

  it("prints the result of an only step as it is", function()
    for _, value in ipairs { '"text"', "7", "[1,2]", "[]", "{}", "null", "false" } do
      add("echo", "return input")
      assert.same({ code = 0, err = "", out = value .. "\n" }, run_plan(plan(step("a", "echo", value))))
    end
    add("nothing", "return")
    assert.same({ code = 0, err = "", out = "null\n" }, run_plan(plan(step("a", "nothing"))))
  end)

  describe("denies what writes", function()
    local DENIED = "examples/orders.plan.json: error[job.denied] at /steps/0: step \"create\" (orders.create): "
      .. "Write capability requires explicit approval.\n"

    it("unless it is allowed, and says how", function()
      assert.same({ code = 3, out = "",
        err = DENIED .. "examples/orders.plan.json: note: --allow write lets steps of that risk run\n" },
        run_orders())
      assert.equal(3, run_orders("--allow", "destructive").code)
      assert.equal(3, run_orders("--allow", "read").code)
    end)

    it("unless an authorizer of the person's own lets it", function()
      local outcome = run_orders("--authorizer", "examples/policy.lua", "--caller", "examples/caller.json")
      assert.same({ ORDER, ORDER }, cjson.decode(outcome.out))
      assert.equal(LOGGED, outcome.err)
      assert.equal(0, outcome.code)
    end)

    it("when the authorizer says no, with its reason", function()
      local outcome = run_orders("--authorizer", "examples/policy.lua")
      assert.same({ code = 3, out = "", err = "examples/orders.plan.json: error[job.denied] at /steps/0: "
        .. 'step "create" (orders.create): orders.create is not among the scopes of nobody\n' }, outcome)
    end)
  end)

  describe("--json", function()
    it("prints the whole job, with the members that it has in every language", function()
      local outcome = run_orders("--allow", "write", "--json", "--caller", "examples/caller.json")
      assert.equal(0, outcome.code)
      local job = cjson.decode(outcome.out)
      assert.equal("completed", job.status)
      assert.equal("Create then inspect", job.goal)
      assert.equal("request-42", job.idempotency_key)
      assert.equal("alice", job.caller_subject)
      assert.same({ ORDER, ORDER }, job.result)
      assert.equal("steps.create.result.id", job.steps[2].input.id["$ref"])
      assert.equal("1.0.0", job.steps[1].capability_version)
      local types = {}
      for n, event in ipairs(job.events) do types[n] = event.type end
      assert.same({ "job.created", "execution.started", "capability.started", "capability.completed",
        "capability.started", "capability.completed", "job.completed" }, types)
      for _, time in ipairs { job.created, job.started, job.completed } do
        assert.truthy(time:find("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ$"), time)
      end
    end)

    it("does so for a job that failed, whose error is told on standard error as well", function()
      local outcome = run_orders("--json")
      assert.equal(3, outcome.code)
      local job = cjson.decode(outcome.out)
      assert.equal("failed", job.status)
      assert.equal("job.denied", job.error.code)
      assert.equal("pending", job.steps[2].status)
      assert.truthy(outcome.err:find("error[job.denied]", 1, true))
    end)

    it("is a record of faults for a plan that is refused", function()
      local outcome = run { "run", "--json", "-", stdin = plan(step("a", "nope"), step("a", "nope")) }
      assert.equal(2, outcome.code)
      assert.equal("", outcome.err)
      local record = cjson.decode(outcome.out)
      assert.is_false(record.valid)
      assert.equal("step_plan", record.kind)
      local codes = {}
      for n, fault in ipairs(record.errors) do codes[n] = fault.code .. " " .. fault.at end
      assert.same({ "plan.unknown_capability /steps/0/capability", "plan.duplicate_step_id /steps/1/id",
        "plan.unknown_capability /steps/1/capability" }, codes)
    end)
  end)

  describe("--dry-run", function()
    it("says what would run, what is waited for, and that nothing ran", function()
      local outcome = run_orders("--dry-run")
      assert.equal(0, outcome.code)
      assert.equal("", outcome.err)
      assert.equal([[
dry run: nothing is called, nobody is asked, nothing is written

goal    Create then inspect

2 steps, in this order
  1  create
     calls   orders.create 1.0.0 (write)
     policy  would be denied, which ends the job: --allow write lets it pass
  2  inspect
     calls   orders.read 1.0.0 (read)
     needs   "id" of the result of step "create", for /steps/1/input/id
]], outcome.out)
      assert.falsy(run_orders("--dry-run", "--allow", "write").out:find("denied", 1, true))
      assert.truthy(run_orders("--dry-run", "--authorizer", "examples/policy.lua").out
        :find("the authorizer is asked", 1, true))
    end)

    it("calls nothing", function()
      add("loud", 'ctx.log.error("called")')
      local text = plan(step("a", "loud"), step("b", "loud", '[{"$ref":"steps.a.result"}]'))
      assert.truthy(run_plan(text).err:find("called", 1, true))
      local outcome = run_plan(text, "--dry-run")
      assert.equal("", outcome.err)
      assert.truthy(outcome.out:find('the whole result of step "a", for /steps/1/input/0', 1, true))
      assert.equal(0, outcome.code)
    end)

    it("is marked in JSON", function()
      local record = cjson.decode(run_orders("--dry-run", "--json").out)
      assert.is_true(record.dry_run)
      assert.is_true(record.valid)
      assert.equal("deny", record.steps[1].decision)
      assert.equal("allow", record.steps[2].decision)
      assert.same({ { at = "/steps/1/input/id", ref = "steps.create.result.id", path = "id", step = "create" } },
        record.steps[2].references)
    end)

    it("refuses what a run would refuse", function()
      local outcome = run_plan(plan(step("a", "nope")), "--dry-run")
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      assert.truthy(outcome.err:find("error[plan.unknown_capability]", 1, true))
    end)
  end)

  describe("refuses", function()
    it("a plan with faults, all of them, each in its place", function()
      command.write(folder .. "/p.json", '{\n"version": "1.0", "steps": [\n{"id": "a", "capability": "nope"},\n'
        .. '{"id": "b", "capability": "text.count", "input": {"text": {"$ref": "steps.c.result"}}}]}\n')
      local outcome = run { "run", "p.json", cd = folder }
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      local lines = {}
      for line in outcome.err:gmatch("[^\n]+") do lines[#lines + 1] = line end
      assert.equal(3, #lines, outcome.err)
      assert.truthy(lines[3]:find("^p%.json: note: .*hash%.file.*text%.count"))
      assert.truthy(lines[1]:find("^p%.json:3:27: error%[plan%.unknown_capability%] at /steps/0/capability: "))
      assert.truthy(lines[2]:find("^p%.json:4:%d+: error%[plan%.reference_order%] at /steps/1/input/text"))
    end)

    it("a document of another kind, by name", function()
      local outcome = run { "run", "-", stdin = plans.tiny() }
      assert.same({ code = 2, out = "",
        err = "-: error[document.kind]: this is a call plan; what is read here is a step plan\n" }, outcome)
    end)

    it("what is no JSON", function()
      local outcome = run { "run", "-", stdin = '{"steps": [' }
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("^%-:1:12: error%[json%.syntax%]"))
    end)

    it("a file that is not there", function()
      assert.same({ code = 1, out = "", err = "none: error[io]: cannot be read: No such file or directory\n" },
        run { "run", "none", cd = folder })
    end)

    it("a version that is not the plan's, and warns about that of the plan", function()
      local outcome = run_plan('{"version":"9","steps":[' .. step("a", "text.count", '{"text":""}') .. "]}")
      assert.equal(0, outcome.code)
      assert.truthy(outcome.err:find("^%-:1:%d+: warning%[plan%.version_unknown%] at /version: "))
    end)
  end)

  describe("is told wrong by", function()
    for shown, words in pairs {
      ["no file"] = {},
      ["two files"] = { "a", "b" },
      ["an unknown risk"] = { "-", "--allow", "everything" },
      ["--allow with --authorizer"] = { "-", "--allow", "write", "--authorizer", "p.lua" },
      ["a power that is none"] = { "-", "--grant", "network" },
      ["a power without its folder"] = { "-", "--grant", "fs" },
      ["a power with a place that it has not"] = { "-", "--grant", "clock=now" },
      ["a power that is granted twice"] = { "-", "--grant", "fs=.", "--grant", "fs=.." },
      ["a limit that is none"] = { "-", "--limit", "patience=1" },
    } do
      it(shown, function()
        local outcome = run { "run", stdin = "{}", table.unpack(words) }
        assert.equal(1, outcome.code)
        assert.equal("", outcome.out)
        assert.truthy(outcome.err:find("^moonplan run: [^\n]+\nsee \"moonplan help run\"\n$"), outcome.err)
      end)
    end

    it("a folder of plugins that is not there", function()
      local outcome = run { "run", "-", "--plugins", folder .. "/none", stdin = plan(step("a", "b")) }
      assert.equal(1, outcome.code)
      assert.equal(('--plugins: error[file.unavailable]: there is no folder "%s/none"\n'):format(folder), outcome.err)
      -- Whichever of several it is, and before a grant that is wrong as well.
      outcome = run { "run", "-", "--plugins", ".", "--plugins", "", "--grant", "fs=none", cd = folder,
        stdin = plan(step("a", "b")) }
      assert.equal(1, outcome.code)
      assert.truthy(outcome.err:find("^%-%-plugins: error%[file%.path%]: "), outcome.err)
      outcome = run { "plugins", "list", "--plugins", folder .. "/none" }
      assert.equal(1, outcome.code)
      assert.truthy(outcome.err:find("^%-%-plugins: error%[file%.unavailable%]: "), outcome.err)
    end)

    it("a folder to grant that is not there", function()
      local outcome = run { "run", "-", "--grant", "fs=" .. folder .. "/none", stdin = plan(step("a", "b")) }
      assert.equal(1, outcome.code)
      assert.equal(('--grant fs: error[file.unavailable]: there is no folder "%s/none"\n'):format(folder), outcome.err)
      outcome = run { "run", "-", "--json", "--grant", "fs=.", "--grant", "fs:rw=none", cd = folder,
        stdin = plan(step("a", "b")) }
      assert.equal(1, outcome.code)
      local fault = cjson.decode(outcome.out).errors[1]
      assert.same({ "--grant fs:rw", "file.unavailable" }, { fault.file, fault.code })
    end)
  end)

  describe("--authorizer", function()
    it("is said to have no time limit, unlike capabilities", function()
      assert.truthy(run({ "run", "--help" }).out:find("It%s+has%s+no%s+time%s+limit"))
    end)

    local TEXT = plan(step("a", "text.count", '{"text":"x"}'))

    local function with_policy(source)
      command.write(folder .. "/policy.lua", source)
      return run { "run", "-", "--authorizer", "policy.lua", cd = folder, stdin = TEXT }
    end

    it("is shown the step, the exact input and the caller", function()
      command.write(folder .. "/c.json", '{"subject":"alice","scopes":[]}')
      command.write(folder .. "/policy.lua", 'return function(r) error(json.encode(r), 0) end')
      local outcome = run { "run", "-", "--authorizer", "policy.lua", "--caller", "c.json", "--json", cd = folder,
        stdin = TEXT }
      local job = cjson.decode(outcome.out)
      assert.equal("job.authorizer_failed", job.error.code)
      local request = cjson.decode(job.error.message)
      assert.same({ name = "text.count", version = "1.0.0", risk = "read" }, request.capability)
      assert.same({ text = "x" }, request.input)
      assert.equal("a", request.step_id)
      assert.equal(job.id, request.job_id)
      assert.equal("alice", request.caller.subject)
      assert.truthy(job.error.message:find('"scopes":[]', 1, true))
    end)

    it("that changes what it is shown changes nothing", function()
      local outcome = with_policy 'return function(r) r.input.text = "changed" return { decision = "allow" } end'
      assert.same({ lines = 1, words = 1, bytes = 1 }, cjson.decode(outcome.out))
    end)

    it("fails closed when its answer is none", function()
      for _, answer in ipairs { "nil", "true", '"allow"', '{ decision = "Allow" }', '{ "allow" }' } do
        local outcome = with_policy("return function() return " .. answer .. " end")
        assert.equal(3, outcome.code)
        assert.truthy(outcome.err:find("error[job.decision_invalid]", 1, true), outcome.err)
      end
    end)

    it("has no way out", function()
      for _, name in ipairs { "io", "os", "require", "package", "debug", "load", "dofile", "loadfile",
        "collectgarbage", "coroutine" } do
        local outcome = with_policy(("assert(%s == nil) return function() return { decision = 'allow' } end"):format(name))
        assert.equal(0, outcome.code, name .. ": " .. outcome.err)
      end
      local outcome = with_policy 'return function() print("x") return { decision = "allow" } end'
      assert.equal(3, outcome.code)
      assert.equal("", outcome.out)
      assert.truthy(outcome.err:find("does not print", 1, true))
    end)

    it("that is no policy is named, with the line, and nothing runs", function()
      for source, expected in pairs {
        ["return function( end"] = "^policy%.lua:1: error%[plugin%.load%]: %S",
        ["\n\nerror('broken')"] = "^policy%.lua:3: error%[plugin%.load%]: broken\n$",
        ["error{}"] = "^policy%.lua: error%[plugin%.load%]: ",
        [""] = "^policy%.lua: error%[plugin%.manifest%]: .*nothing\n$",
        ["return { decision = 'allow' }"] = "^policy%.lua: error%[plugin%.manifest%]: .*a table\n$",
        ["\27Lua"] = "^policy%.lua: error%[plugin%.load%]: ",
      } do
        local outcome = with_policy(source)
        assert.equal(2, outcome.code)
        assert.equal("", outcome.out)
        assert.truthy(outcome.err:find(expected), outcome.err)
      end
      local outcome = run { "run", "-", "--authorizer", "none.lua", cd = folder, stdin = TEXT }
      assert.equal(1, outcome.code)
      assert.equal("none.lua: error[io]: cannot be read: No such file or directory\n", outcome.err)
    end)
  end)

  describe("--caller", function()
    it("is refused when it is no object of JSON", function()
      for text, expected in pairs {
        ["[]"] = "c.json: error[option]: a caller is described by an object\n",
        ["7"] = "c.json: error[option]: a caller is described by an object\n",
      } do
        command.write(folder .. "/c.json", text)
        local outcome = run { "run", "-", "--caller", "c.json", cd = folder, stdin = plan(step("a", "text.count")) }
        assert.same({ code = 1, out = "", err = expected }, outcome)
      end
      command.write(folder .. "/c.json", "{")
      local outcome = run { "run", "-", "--caller", "c.json", cd = folder, stdin = plan(step("a", "text.count")) }
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("^c%.json:1:2: error%[json%.syntax%]"), outcome.err)
    end)

    it("reaches the capability", function()
      add("who", "return ctx.caller")
      command.write(folder .. "/c.json", '{"subject":"bob","metadata":{"n":9007199254740993}}')
      local outcome = run_plan(plan(step("a", "who")), "--caller", "c.json")
      assert.truthy(outcome.out:find('"subject":"bob"', 1, true), outcome.out)
      assert.truthy(outcome.out:find('"n":9007199254740993', 1, true), outcome.out)
    end)
  end)

  describe("--grant", function()
    local READ = plan(step("a", "fs.read_text", '{"path":"d/n.txt"}'), step("b", "hash.file", '{"path":"d/n.txt"}'))

    before_each(function()
      os.execute("mkdir -p " .. folder .. "/root/d")
      command.write(folder .. "/root/d/n.txt", "two words\n")
    end)

    it("is needed, and the refusal says which", function()
      local outcome = run { "run", "-", cd = folder, stdin = READ }
      assert.equal(2, outcome.code)
      local _, count = outcome.err:gsub("error%[plan%.power_missing%] at /steps/%d/capability", "")
      assert.equal(2, count, outcome.err)
    end)

    it("opens one folder and nothing else", function()
      local outcome = run { "run", "-", "--grant", "fs=root", cd = folder, stdin = READ }
      assert.same({ code = 0, err = "", out = '[{"text":"two words\\n"},{"digest":"0x'
        -- of "two words\n", by sha256sum
        .. command.shell("printf 'two words\\n' | sha256sum").out:sub(1, 64) .. '"}]\n' }, outcome)
      for _, path in ipairs { "../root/d/n.txt", "/etc/passwd", "d/../d/n.txt", "", ".", "d" } do
        outcome = run { "run", "-", "--grant", "fs=root", cd = folder,
          stdin = plan(step("a", "fs.read_text", cjson.encode { path = path })) }
        assert.not_equal(0, outcome.code, path)
        assert.equal("", outcome.out)
      end
    end)

    it("clock lets time pass", function()
      local outcome = run { "run", "-", "--grant", "clock", stdin = plan(step("a", "time.format", '{"format":"%Y"}')) }
      assert.same({ text = os.date("!%Y") }, cjson.decode(outcome.out))
    end)

    it("fs:rw writes", function()
      add("save", 'return assert(ctx.fs.write(input.path, input.text))', 'needs = { "fs:rw" },')
      local text = plan(step("a", "save", '{"path":"new.txt","text":"here"}'))
      assert.equal(2, run_plan(text, "--grant", "fs=root").code)
      assert.equal(0, run_plan(text, "--grant", "fs:rw=root").code)
      assert.equal("here", files.read(folder .. "/root/new.txt"))
    end)
  end)

  describe("--limit", function()
    it("bounds what a result may be", function()
      add("large", 'return ("x"):rep(100)')
      local text = plan(step("a", "large"))
      assert.equal(0, run_plan(text, "--limit", "result_bytes=102").code)
      local outcome = run_plan(text, "--limit", "result_bytes=101")
      assert.equal(3, outcome.code)
      assert.truthy(outcome.err:find("error[limit]", 1, true), outcome.err)
      assert.truthy(outcome.err:find("result_bytes", 1, true), outcome.err)
    end)

    it("bounds the plan", function()
      local text = plan(step("a", "text.count"), step("b", "text.count"))
      assert.equal(0, run_plan(text, "--limit", "steps=2").code)
      assert.equal(2, run_plan(text, "--limit", "steps=1").code)
      assert.equal(2, run_plan(text, "--limit", "document_bytes=10").code)
    end)
  end)

  it("--no-shipped leaves only what was asked for", function()
    assert.equal(0, run_plan(plan(step("a", "text.count"))).code)
    assert.equal(2, run_plan(plan(step("a", "text.count")), "--no-shipped").code)
  end)

  describe("keeps what a value is", function()
    it("digit by digit, in results, events and everything that is printed", function()
      -- Numbers that a double, or 14 digits, would change.
      add("code", "return { code = 1234567890123456789, most = math.maxinteger, least = math.mininteger }")
      add("echo", "return input")
      local text = plan(step("a", "code"), step("b", "echo", '{"$ref":"steps.a.result"}'),
        step("c", "echo", '{"id":9223372036854775807,"small":9007199254740993,"f":0.1}'))
      for _, words in ipairs { {}, { "--json" } } do
        local out = run_plan(text, table.unpack(words)).out
        for digits, times in pairs {
          ["1234567890123456789"] = 2, ["9223372036854775807"] = 3, ["-9223372036854775808"] = 2,
          ["9007199254740993"] = 1, ["0.1"] = 1,
        } do
          local _, count = out:gsub("%f[%d-]" .. digits:gsub("%p", "%%%0") .. "%f[^%d.]", "")
          assert.truthy(count >= times, digits .. " in " .. out)
        end
      end
    end)

    it("and refuses a number that Lua does not have", function()
      add("echo", "return input")
      local outcome = run_plan(plan(step("a", "echo", "[9223372036854775808]")))
      assert.equal(2, outcome.code)
      assert.truthy(outcome.err:find("error[plan.input_number] at /steps/0/input/0", 1, true), outcome.err)
    end)

    it("an empty list and an empty object", function()
      add("both", "return { list = moonplan.array {}, map = {}, nested = { moonplan.array {}, {} } }")
      add("echo", "return input")
      local text = plan(step("a", "both"), step("b", "echo", '{"$ref":"steps.a.result"}'),
        step("c", "echo", '{"list":[],"map":{},"nested":[[],{}]}'))
      local both = '{"list":[],"map":{},"nested":[[],{}]}'
      assert.equal(("[%s,%s,%s]\n"):format(both, both, both), run_plan(text).out)
      local _, count = run_plan(text, "--json").out:gsub('"list":%[%],"map":{},"nested":%[%[%],{}%]', "")
      assert.truthy(count >= 4)
    end)

    it("a NUL in a text", function()
      add("nul", 'return input.blob .. "\\0"')
      assert.equal('"a\\u0000b\\u0000"\n', run_plan(plan(step("a", "nul", '{"blob":"a\\u0000b"}'))).out)
    end)

    it("and spells out what a terminal would act upon", function()
      add("evil", [[return { "\u{202e}\u{9b}2J\u{200b}\u{e0001}", "gr\u{fc}n \u{1f600}" }]])
      for _, words in ipairs { {}, { "--json" } } do
        local out = run_plan(plan(step("a", "evil")), table.unpack(words)).out
        assert.truthy(out:find('"\\u202e\\u009b2J\\u200b\\udb40\\udc01","gr\u{fc}n \u{1f600}"', 1, true), out)
      end
    end)
  end)

  describe("tells of a capability that fails", function()
    local function failing(body)
      add("bad", body)
      return run_plan(plan(step("a", "text.count"), step("b", "bad"), step("c", "text.count")))
    end

    local function line(message)
      return '-: error[job.capability_failed] at /steps/1: step "b" (bad): ' .. message .. "\n"
    end

    it("with its message, and stops", function()
      for body, message in pairs {
        ['error("no stock", 0)'] = "no stock",
        ['return nil, "no stock"'] = "no stock",
        ['error { message = "no stock", code = "E_X" }'] = "no stock",
        ['return nil, { message = "no stock" }'] = "no stock",
        -- where it was, without the folder
        ['error("no stock")'] = "bad.lua:5: no stock",
      } do
        local outcome = failing(body)
        assert.same({ code = 3, out = "", err = line(message) }, outcome)
      end
    end)

    it("with its code, prefixed by the plugin's name, in the job", function()
      add("bad", 'error { message = "m", code = "E_X", retryable = true }')
      local job = cjson.decode(run_plan(plan(step("a", "bad")), "--json").out)
      assert.equal("m", job.error.message)
      assert.equal("bad.E_X", job.error.detail.code)
      assert.same(job.error, job.steps[1].error)
    end)

    -- What an error may be, and what reporters of errors stumble over.
    it("whatever it raises", function()
      local fixed = line("Unknown capability execution error")
      for _, body in ipairs { "error()", "error(nil)", "error(false)", "error(42)", "error({})",
        'error(setmetatable({}, { __tostring = function() error("again") end }))',
        'error(setmetatable({}, { __index = function() error("again") end }))', "error(print)",
        "error(coroutine.create(error))", "error({ message = 7 })" } do
        local outcome = failing(body)
        assert.same({ code = 3, out = "", err = fixed }, outcome, body)
      end
    end)

    it("in one line, bounded, and without what a terminal would act upon", function()
      local outcome = failing 'error("a\\0b\\27[2J\\nc\\u{202e}", 0)'
      assert.equal(line('"a\\u{0}b\\u{1b}[2J\\u{a}c\\u{202e}"'), outcome.err)
      outcome = failing 'error(("x"):rep(5000000), 0)'
      assert.equal(3, outcome.code)
      assert.truthy(#outcome.err < 4096)
      outcome = failing 'error("\\xff\\xfe", 0)'
      assert.truthy(utf8.len(outcome.err))
    end)

    it("with a result that JSON does not have, and where in it", function()
      for body, at in pairs {
        ["return { [1] = 'a', [12] = 'b' }"] = "",
        ["return { x = { [1000000000] = true } }"] = "/x",
        ["return { f = print or error }"] = "/f",
        ["return { n = 0/0 }"] = "/n",
        ["local t = {} t.t = t return t"] = "/t",
        ["return { 1, x = 2 }"] = "",
        ["return '\\xff'"] = "",
      } do
        add("odd", body)
        local outcome = run_plan(plan(step("a", "odd")), "--json")
        assert.equal(3, outcome.code)
        local job = cjson.decode(outcome.out)
        assert.equal("job.result_shape", job.error.code, body)
        assert.truthy(job.error.message:find(at, 1, true), job.error.message)
        assert.equal("failed", job.steps[1].status)
      end
    end)
  end)

  describe("on a terminal", function()
    local function seen(text, ...)
      command.write(folder .. "/plan.json", text)
      local words = { "run", "plan.json", "--plugins", "plugins", cd = folder, env = { TERM = "xterm" }, ... }
      words.redirect = ">result"
      local outcome = command.shell("script -qec " .. files.quote(command.text(words)) .. " /dev/null")
      return outcome.out:gsub("\r", ""), outcome.code
    end

    it("shows a line a step", function()
      local shown, code = seen(plan(step("one", "text.count"), step("two", "text.count")))
      assert.equal(0, code)
      assert.equal("1/2 one (text.count) ... \27[32mdone\27[0m\n2/2 two (text.count) ... \27[32mdone\27[0m\n", shown)
      assert.equal(2, #cjson.decode(files.read(folder .. "/result")))
    end)

    it("shows how the last one ended, and what is logged in between", function()
      add("talker", 'ctx.log.debug("hidden") ctx.log.warn("careful \\27[31m", { n = 1 }) error("gone", 0)')
      local shown, code = seen(plan(step("one", "talker"), step("two", "text.count")))
      assert.equal(3, code)
      assert.equal('1/2 one (talker) ... \none (talker): \27[33mwarn\27[0m: "careful \\u{1b}[31m" {"n":1}\n'
        .. "\27[31mfailed\27[0m\n"
        .. 'plan.json: \27[31merror\27[0m[job.capability_failed] at /steps/0: step "one" (talker): gone\n', shown)
    end)

    it("shows a denial, and never a raw id", function()
      add("writer", "return 1", 'risk = "write",')
      local shown = seen(plan(step("\\u001b[2J", "writer")))
      assert.truthy(shown:find('^1/1 "\\u{1b}%[2J" %(writer%) %.%.%. \27%[31mdenied\27%[0m\n'), shown)
    end)
  end)

  it("shows no progress where nobody looks", function()
    assert.equal("", run_plan(plan(step("a", "text.count"))).err)
  end)

  it("ends as everything does when nobody reads the result", function()
    add("large", 'return ("x"):rep(1000000)')
    local outcome = run { "run", "-", "--plugins", "plugins", cd = folder, stdin = plan(step("a", "large")),
      redirect = "| true; exit ${PIPESTATUS[0]}" }
    assert.equal(141, outcome.code)
    outcome = run { "run", "-", stdin = plan(step("a", "text.count")), redirect = ">/dev/full" }
    assert.equal(1, outcome.code)
    assert.truthy(outcome.err:find("cannot write to standard output", 1, true))
  end)
end)
