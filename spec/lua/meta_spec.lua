-- The types for editors say what the module is: no name is missing, and none is made up.
local moonplan = require "moonplan"
local files = require "spec.support.files"
local plans = require "spec.support.plans"
local requests = require "spec.support.requests"
local reviews = require "spec.support.reviews"

local meta = files.read(files.root .. "lua/moonplan/meta/moonplan.lua")
  .. files.read(files.root .. "lua/moonplan/meta/abi.lua")

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- The fields and functions that the types give a class.
local function described(class, receiver)
  local names, inside = {}, false
  for line in meta:gmatch "[^\n]*" do
    local opened = line:match "^%-%-%-@class ([%w_.]+)"
    if opened then inside = opened == class end
    if line:sub(1, 3) ~= "---" then inside = false end
    local name = line:match "^%-%-%-@field ([%w_]+)"
    if inside and name then names[name] = true end
  end
  if receiver then
    for name in meta:gmatch("\nfunction " .. receiver .. "[.:]([%w_]+)") do names[name] = true end
  end
  return sorted(names)
end

-- The fields that an object names when it is asked for one that it does not have.
local function offered(object)
  local _, message = pcall(function() return object.no_such_field end)
  local names = {}
  for name in message:match("there are: (.*)"):gmatch "[%w_]+" do names[name] = true end
  return sorted(names)
end

describe("the types for editors", function()
  local plan = assert(moonplan.call_plan(plans.tiny()))

  it("are those of the module", function()
    assert.same(sorted(moonplan), described("moonplan", "moonplan"))
    assert.same(sorted(moonplan.json), described("moonplan.json", "json"))
    assert.same(sorted(moonplan.abi), described("moonplan.abi", "abi"))
    assert.same(sorted(moonplan.convert), described("moonplan.convert", "convert"))
    assert.same(sorted(moonplan.keys), described("moonplan.keys", "keys"))
    assert.same(sorted(moonplan.uint256), described("moonplan.uint256", "uint256"))
  end)

  it("are those of a call plan and its steps", function()
    assert.same(offered(plan), described("moonplan.CallPlan", "CallPlan"))
    assert.same(offered(plan.steps[1]), described "moonplan.Step")
  end)

  it("are those of keys", function()
    local key = moonplan.keys.new()
    assert.same(offered(key), described("moonplan.SecretKey", "SecretKey"))
    assert.same(offered(key.public), described("moonplan.PublicKey", "PublicKey"))
  end)

  it("are those of a typed-data request", function()
    local request = assert(moonplan.typed_data(requests.tiny()))
    assert.same(offered(request), described("moonplan.TypedData", "TypedData"))
  end)

  it("are those of a reference and of what it names", function()
    local reference = assert(moonplan.reference(moonplan.make_reference(plans.tiny())))
    assert.same(offered(reference), described("moonplan.Reference", "Reference"))
    local resolved = assert(reference:resolve())
    resolved.request = true
    assert.same(sorted(resolved), described "moonplan.Resolved")
    resolved.provenance.host = "producer.example"
    assert.same(sorted(resolved.provenance), described "moonplan.Provenance")
  end)

  it("are those of an ABI and its entries", function()
    local abi = assert(moonplan.abi.parse "f(uint256 a) returns (bool)")
    assert.same(offered(abi), described("moonplan.Abi", "Abi"))
    assert.same(sorted(abi.entries[1]), described "moonplan.AbiEntry")
  end)

  it("are those of a review", function()
    local review = assert(moonplan.review(reviews.rich()))
    assert.same(sorted(review), described "moonplan.Review")
    assert.same(sorted(review.steps[2]), described "moonplan.ReviewedStep")
    local known = {}
    for _, name in ipairs(described "moonplan.ReviewedCall") do known[name] = true end
    for _, step in ipairs(review.steps) do
      for name in pairs(step.call) do assert.is_true(known[name], name) end
    end
    known = {}
    for _, name in ipairs(described "moonplan.Finding") do known[name] = true end
    for _, finding in ipairs(review.findings) do
      for name in pairs(finding) do assert.is_true(known[name], name) end
    end
  end)

  it("are those of an error and of a fault", function()
    local _, err = moonplan.json.decode ""
    assert.same(sorted(err.errors[1]), described "moonplan.Fault")
    err.errors = nil
    assert.same(sorted(err), described "moonplan.Fault")
    assert.same({ "errors" }, described "moonplan.Error")
  end)

  it("are those of the options", function()
    local doors = {
      ["moonplan.EncodeOptions"] = moonplan.json.encode, ["moonplan.RequestOptions"] = moonplan.typed_data,
      ["moonplan.ReferenceOptions"] = moonplan.reference, ["moonplan.MakeOptions"] = moonplan.make_reference,
      ["moonplan.ReviewOptions"] = moonplan.review, ["moonplan.ConvertOptions"] = moonplan.convert.from_safe,
      ["moonplan.DecodeOptions"] = function(text, options) return moonplan.abi.decode(text, text, options) end,
    }
    for class, door in pairs(doors) do
      local names = {}
      local _, message = pcall(door, "", { no_such_option = 1 })
      for name in message:match("there are: ([%w_, ]*)"):gmatch "[%w_]+" do names[name] = true end
      local options = described "moonplan.Options"
      for _, name in ipairs(described(class)) do options[#options + 1] = name end
      table.sort(options)
      assert.same(sorted(names), options)
    end
  end)

  it("are those of the lists", function()
    assert.same(sorted(moonplan.limits()[1]), described "moonplan.Limit")
  end)
end)
