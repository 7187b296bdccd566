-- The law: every plugin that comes along keeps its examples, has some, and documents every field;
-- and so does what `plugins new` writes.
local moonplan = require "moonplan"
local files = require "spec.support.files"

local engine = assert(moonplan.engine { plugins = files.root .. "examples/plugins", strict = true })
local list, problems = engine:list()
for _, kind in ipairs { "builder", "executor", "authorizer" } do
  local items = engine:list(kind)
  table.move(items, 1, #items, #list + 1, list)
end

it("no plugin is broken", function() assert.same({}, problems) end)

it("each file of plugins/ is there", function()
  local there = {}
  for _, item in ipairs(list) do
    if item.shipped then there[item.name:match("^[^.]*") .. ".lua"] = true end
  end
  local names = files.names("plugins", "%.lua$")
  assert(#names >= 5)
  for _, name in ipairs(names) do
    assert.is_true(there[name], name)
    there[name] = nil
  end
  assert.is_nil(next(there))
end)

-- Scripts rely on these.
it("the capabilities with promised names and fields are there", function()
  for name, fields in pairs {
    ["text.count"] = { { "text" }, { "lines", "words", "bytes" } },
    ["fs.read_text"] = { { "path" }, { "text" } },
    ["hash.file"] = { { "path", "algorithm" }, { "digest" } },
  } do
    local item = assert(engine:describe(name), name)
    for _, field in ipairs(fields[1]) do assert(item.input[field], name .. " takes no " .. field) end
    for _, field in ipairs(fields[2]) do assert(item.output[field], name .. " gives no " .. field) end
  end
end)

for _, item in ipairs(list) do
  describe(item.name, function()
    local whole = engine:describe(item.name)

    it("keeps its examples", function()
      local results = assert(engine:test(item.name))
      assert(#results >= 1, "it has none")
      for n, result in ipairs(results) do assert(result.ok, ("example %d: %s"):format(n, result.message)) end
      assert.equal(#results, #whole.examples)
    end)

    it("documents every field in a line", function()
      for _, side in ipairs { "input", "output", "params" } do
        for name, field in pairs(whole[side] or {}) do
          assert(type(field.description) == "string" and #field.description >= 5, side .. "." .. name)
          assert.not_matches("[%c]", field.description)
          assert.not_matches("%.$", field.description)
        end
      end
      -- What it does: a sentence.
      assert.matches("^%u.*%.$", whole.summary)
      assert(#whole.summary <= 100)
    end)

    it("shows what it gives in an example, and every field that it takes", function()
      local seen, succeeds = {}, false
      for _, example in ipairs(whole.examples) do
        succeeds = succeeds or example.output ~= nil or example.digest ~= nil or example.plan ~= nil
        local taken = example.params or example.input
        for name in pairs(type(taken) == "table" and taken or {}) do seen[name] = true end
      end
      for name in pairs(whole.input or whole.params or {}) do assert(seen[name], name) end
      -- orders.read finds what orders.create left, and an example is alone.
      assert(succeeds or item.name == "orders.read")
    end)
  end)
end

-- A double that cannot fail would make every example worthless.
describe("an example that is wrong", function()
  it("is told so", function()
    local command = require "spec.support.command"
    local folder = command.folder()
    command.write(folder .. "/wrong.lua", [[return {
      kind = "capability", api = 1, name = "wrong", version = "1", summary = "x", risk = "read",
      examples = {
        { input = 1, output = 2 }, { input = 1, output = 1 }, { input = 1, error = "no" },
        { input = 0, output = 0 }, { input = 0, error = "zero" }, { input = 0, error = "zer" },
        { input = 1, output = 1.0 }, { input = { }, output = moonplan.array {} },
      },
      run = function(input) if input == 0 then error("zero", 0) end return input end }]])
    local own = assert(moonplan.engine { plugins = folder, shipped = false })
    local oks = {}
    for n, result in ipairs(assert(own:test("wrong"))) do
      oks[n] = result.ok
      assert.equal("boolean", type(result.ok))
      if not result.ok then assert(#result.message > 5) end
    end
    command.clean()
    assert.same({ false, true, false, false, true, false, false, false }, oks)
  end)
end)
