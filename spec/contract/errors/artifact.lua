--- The faults of artifact references. `rule` names the section of ERC-8410 or the RFC that the
--- refusal rests on.

local ENVELOPE = '{\r\n  "kind": "artifact_reference",\r  "artifact_type": "execution_plan",\n'
  .. '  "url": "https://producer.example/plans/1",\n  "integrity": {\r\n    "algorithm": "keccak256",\n'
  .. '    "value": "0xcc3d15039a19158096b52b14957f2c12a873fb379a459ac519a712ca2c9def1c"\n  },\n'
  .. '  "bytes": 324\n}\n'

local function exchange(from, to)
  local first, last = ENVELOPE:find(from, 1, true)
  assert(first and not ENVELOPE:find(from, last + 1, true), from)
  return ENVELOPE:sub(1, first - 1) .. to .. ENVELOPE:sub(last + 1)
end

local function url(text) return exchange('"https://producer.example/plans/1"', '▸"' .. text .. '"') end

local ALL = { transports = { "data", "https", "file" } }

---@type spec.Fixture[]
local fixtures = {
  { code = "artifact.envelope", text = exchange('"artifact_reference"', '▸"reference"'), at = "/kind",
    rule = "Artifact Reference" },
  { code = "artifact.envelope", text = "▸" .. ENVELOPE:gsub('  "kind": "artifact_reference",\r', ""), at = "/kind",
    rule = "Artifact Reference" },
  { code = "artifact.envelope", text = exchange('"bytes": 324', '"bytes": 324,\n  "instruction": ▸null'), at = "/instruction",
    rule = "Artifact Reference" },
  { code = "artifact.type", text = exchange('"execution_plan"', '▸"token_list"'), at = "/artifact_type",
    rule = "Artifact Reference" },
  { code = "artifact.type", text = exchange('"execution_plan"', '▸"execution_plan"'), at = "/artifact_type",
    options = { transports = ALL.transports, expect = "typed-data" }, rule = "Artifact Reference" },
  { code = "artifact.integrity", text = exchange('"keccak256"', '▸"sha256"'), at = "/integrity/algorithm",
    rule = "Artifact Reference" },
  { code = "artifact.integrity", text = exchange('"algorithm"', '▸"size": 1,\n    "algorithm"'), at = "/integrity/size",
    rule = "Artifact Reference" },
  { code = "artifact.bytes", text = exchange("324", "▸324.0"), at = "/bytes", rule = "Artifact Reference" },
  { code = "artifact.bytes", text = exchange("324", "▸-1"), at = "/bytes", rule = "Artifact Reference" },
  { code = "artifact.url", text = url "http://producer.example/", at = "/url", rule = "https Transport" },
  { code = "artifact.url", text = url "https://user@producer.example/", at = "/url", rule = "https Transport" },
  { code = "artifact.url", text = url "https://producer.example/ x", at = "/url", rule = "RFC 3986, section 2" },
  { code = "artifact.url", text = url "data:text/html,x", at = "/url", rule = "data Transport" },
  { code = "artifact.url", text = url "file:///plans/1#2", at = "/url", rule = "file Transport" },
  { code = "artifact.host", text = url "https://0x7f.1/", at = "/url", rule = "https Transport" },
  { code = "artifact.host", text = url "https://localhost/", at = "/url", rule = "https Transport" },
  { code = "artifact.address", text = url "https://[::1]/", at = "/url", rule = "https Transport" },
  { code = "artifact.address", text = url "https://169.254.169.254/", at = "/url", rule = "https Transport" },
  { code = "artifact.transport", text = url "https://producer.example/", at = "/url", options = {}, rule = "Retrieval" },
  { code = "artifact.transport", text = url "file:///plans/1", at = "/url", options = { transports = { "https" } },
    rule = "file Transport" },
  -- the length is promised before anything is fetched
  { code = "limit", text = exchange("324", "▸16777217"), at = "/bytes", rule = "Retrieval" },
}
for _, fixture in ipairs(fixtures) do
  fixture.door = "reference"
  fixture.options = fixture.options or ALL
end

--- Codes that no envelope alone provokes, and the test that provokes each instead.
---@type table<string, string>
local elsewhere = {
  ["artifact.unavailable"] = "spec/lua/artifact_spec.lua",
  ["artifact.length"] = "spec/lua/artifact_spec.lua",
  ["artifact.digest"] = "spec/lua/artifact_spec.lua",
}

return { fixtures = fixtures, elsewhere = elsewhere }
