-- The plan digests that the standard's authors published (ethereum/ERCs, assets/erc-8410,
-- digest-test-vectors.json): the bytes that are hashed, and the hash.
local moonplan = require "moonplan"
local cjson = require "cjson"
local files = require "spec.support.files"

-- The same JSON with every object's members sorted by name, forwards or backwards.
local function reordered(text, backwards)
  local function write(value)
    if type(value) ~= "table" then return moonplan.json.encode(value) end
    local pieces, keys = {}, {}
    if moonplan.is_array(value) then
      for i, element in ipairs(value) do pieces[i] = write(element) end
      return "[" .. table.concat(pieces, ",") .. "]"
    end
    for key in pairs(value) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) if backwards then a, b = b, a end return a < b end)
    for i, key in ipairs(keys) do pieces[i] = moonplan.json.encode(key) .. ":" .. write(value[key]) end
    return "{" .. table.concat(pieces, ",") .. "}"
  end
  return write(moonplan.json.decode(text))
end

describe("the published digest of", function()
  local path = files.shared("vectors/digest-test-vectors.json")
  if not path then
    pending("digest-test-vectors.json is not there: set MOONPLAN_SHARED")
    return
  end

  local text = files.read(path)
  local vectors = cjson.decode(text)
  it("four plans is there", function() assert.equal(4, #vectors.cases) end)

  -- Each plan's own text, cut out of the file: its member order and white space are part of what
  -- was published. No string inside a plan holds a brace.
  local texts = {}
  for plan_text in text:gmatch('"plan":%s*(%b{})') do texts[#texts + 1] = plan_text end

  for n, vector in ipairs(vectors.cases) do
    it(vector.name .. " comes out, and so does its canonical form", function()
      local plan = assert(moonplan.call_plan(texts[n], { implements = { "atomic_batch" } }))
      assert.equal(vector.canonical_form, plan:canonical())
      assert.equal(vector.digest, plan.digest)
      assert.equal(vector.digest, moonplan.digest(texts[n]))
    end)

    it(vector.name .. " comes out whatever the order of the members", function()
      -- members by name, and then the other way round
      local up, down = reordered(texts[n], false), reordered(texts[n], true)
      assert.not_equal(up, down)
      assert.equal(vector.digest, moonplan.digest(up))
      assert.equal(vector.digest, moonplan.digest(down))
    end)
  end

  it("two plans is one where they differ only in what the digest leaves out", function()
    assert.equal(vectors.cases[2].digest, vectors.cases[3].digest)
    assert.not_equal(vectors.cases[2].digest, vectors.cases[4].digest)
  end)
end)
