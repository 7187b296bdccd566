-- Every case of ExecutionPlan v1 through the three faces: Lua, C, and the command with plugin files.
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"
local step_cases = require "spec.support.step_cases"

local json = moonplan.json
local cases, text = step_cases.load()
local build = os.getenv("MOONPLAN_BUILD") or (files.root .. "build/release")

it("the cases are there, all 236", function() assert.equal(236, #cases) end)

-- A capability as a host brings it: its own function, registered without a file.
local function load_chunk(source)
  return assert(load(source, "=case", "t", setmetatable({ json = json, moonplan = moonplan }, { __index = _G })))()
end

local function engine_of(case)
  local authorizer = step_cases.authorizer(case)
  local engine = assert(moonplan.engine { shipped = false, authorizer = authorizer and load_chunk(authorizer) })
  for _, capability in ipairs(case.capabilities) do
    local manifest = load_chunk(step_cases.plugin(capability))
    assert(engine:capability {
      name = manifest.name, version = manifest.version, risk = manifest.risk, input = manifest.input,
      run = manifest.run,
    })
  end
  return engine
end

describe("in Lua", function()
  for _, case in ipairs(cases) do
    it(case.id, function()
      local job, err = engine_of(case):run(case.plan_text)
      step_cases.check(case, job and assert(json.decode(job:json())), err and err.errors)
      -- What the object says is what the text says.
      if job then
        local whole = assert(json.decode(job:json()))
        for _, field in ipairs { "id", "status", "goal", "result", "error", "steps", "events", "idempotency_key" } do
          assert.equal(json.encode(whole[field]), json.encode(job[field]), field)
        end
      end
    end)
  end
end)

-- A table has no order of its own, so within a step's input the issues come in that of the names.
local function sorted_issues(case, errors)
  local expected, found = {}, {}
  for n, code in ipairs(case.expect.issues or {}) do expected[n] = code end
  for n, fault in ipairs(errors) do found[n] = fault.code end
  table.sort(expected)
  table.sort(found)
  return expected, found
end

describe("in Lua, as a table,", function()
  for _, case in ipairs(cases) do
    it(case.id, function()
      local job, err = engine_of(case):run(assert(json.decode(case.plan_text)))
      if job then
        step_cases.check(case, assert(json.decode(job:json())))
      else
        local expected, found = sorted_issues(case, err.errors)
        assert.same(expected, found)
      end
    end)
  end
end)

describe("in C", function()
  local answers = {}

  setup(function()
    local list = text:match('"cases"%s*:%s*(%[.*%])%s*}%s*$')
    local outcome = command.shell("exec " .. files.quote(build .. "/spec/step_cases"), list)
    assert.equal("", outcome.err)
    assert.equal(0, outcome.code)
    for line in outcome.out:gmatch("[^\n]+") do answers[#answers + 1] = assert(json.decode(line)) end
  end)

  for n, case in ipairs(cases) do
    it(case.id, function()
      local answer = answers[n]
      assert.equal(case.id, answer.id)
      step_cases.check(case, answer.job, answer.errors)
    end)
  end
end)

-- A folder a case, with its plugins, plan and authorizer; one shell runs many of them.
local BATCH = 60

describe("as a command", function()
  local expressible, folder = {}, nil
  for _, case in ipairs(cases) do
    if step_cases.fits_plugins(case) then expressible[#expressible + 1] = case end
  end

  setup(function()
    folder = command.folder()
    local lines = {}
    for n, case in ipairs(expressible) do
      local own = folder .. "/" .. n
      os.execute("mkdir -p " .. own .. "/plugins")
      command.write(own .. "/plan.json", case.plan_text)
      for _, capability in ipairs(case.capabilities) do
        command.write(own .. "/plugins/" .. capability.name .. ".lua", step_cases.plugin(capability))
      end
      local words = { "run", "plan.json", "--no-shipped", "--plugins", "plugins", "--json" }
      local authorizer = step_cases.authorizer(case)
      if authorizer then
        command.write(own .. "/policy.lua", authorizer)
        table.move({ "--authorizer", "policy.lua" }, 1, 2, #words + 1, words)
      end
      words.cd, words.redirect = own, ">out 2>err"
      lines[n] = "(" .. command.text(words) .. "); echo $?"
    end
    local n = 0
    for first = 1, #lines, BATCH do
      local batch = table.concat(lines, "\n", first, math.min(first + BATCH - 1, #lines))
      for code in command.shell(batch).out:gmatch("%d+") do
        n = n + 1
        expressible[n].code = math.tointeger(tonumber(code))
      end
    end
    assert.equal(#expressible, n)
  end)
  teardown(command.clean)

  -- What a plugin file may not be is refused when it is loaded.
  it("almost all of them", function() assert.equal(236 - 6, #expressible) end)

  for n, case in ipairs(expressible) do
    it(case.id, function()
      local out = files.read(folder .. "/" .. n .. "/out")
      local err = files.read(folder .. "/" .. n .. "/err")
      local answer = assert(json.decode(out), err)
      if case.expect.admitted then
        step_cases.check(case, answer)
        assert.equal(case.expect.status == "completed" and 0 or 3, case.code)
        if case.expect.status == "failed" then
          assert.truthy(err:find("error[" .. answer.error.code .. "]", 1, true), err)
        end
      else
        assert.is_false(answer.valid)
        assert.equal("step_plan", answer.kind)
        step_cases.check(case, nil, answer.errors)
        assert.equal(2, case.code)
      end
    end)
  end
end)
