-- Documents that were right once, with something wrong in them. Nothing may crash, what is accepted
-- must mean one thing, and what is refused must say where. A few seconds here; with MOONPLAN_SOAK
-- set to a number of seconds, for so long and from another seed. MOONPLAN_SEED repeats a run.
local moonplan = require "moonplan"
local cjson = require "cjson"
local call_cases = require "spec.support.call_cases"
local plans = require "spec.support.plans"

local soak = tonumber(os.getenv("MOONPLAN_SOAK") or "")
local seed = math.tointeger(tonumber(os.getenv("MOONPLAN_SEED") or "") or (soak and os.time() or 8410))

local decode, encode, null = moonplan.json.decode, moonplan.json.encode, moonplan.null

--- Two values of one decoder: equal, types of numbers and marks of arrays included.
local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b and math.type(a) == math.type(b) end
  if moonplan.is_array(a) ~= moonplan.is_array(b) then return false end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

--- A value of ours and one of lua-cjson's, whose numbers are all floats and whose arrays are bare.
local function alike(ours, theirs)
  if type(ours) ~= "table" then
    if type(ours) == "number" then return type(theirs) == "number" and ours + 0.0 == theirs end
    return ours == theirs
  end
  if type(theirs) ~= "table" then return false end
  for key, value in pairs(ours) do
    if not alike(value, theirs[key]) then return false end
  end
  for key in pairs(theirs) do
    if ours[key] == nil then return false end
  end
  return true
end

local function check_error(text, err)
  assert(err.code:match("^%l+%.?[%l_0-9]*$"))
  local before = 0
  assert(#err.errors >= 1 and #err.errors <= 65)
  for _, fault in ipairs(err.errors) do
    assert(not fault.message:find("[%c]"), fault.message)
    assert(utf8.len(fault.message) and utf8.len(fault.at), "not UTF-8")
    assert(#fault.at <= 259 and #fault.message < 512)
    if fault.offset then
      assert(fault.offset >= before and fault.offset <= #text, "the place is out of order or range")
      assert(fault.line >= 1 and fault.column >= 1)
      before = fault.offset
    end
  end
end

local function check_json(text)
  local value, err = decode(text)
  local kind, kind_err = moonplan.kind(text)
  if value == nil then
    check_error(text, err)
    if err.code == "json.number" then
      -- JSON, but no value of Lua's
      assert(kind or kind_err.code == "document.kind")
    else
      assert(kind == nil and kind_err.code == err.code and kind_err.offset == err.offset)
    end
    return false
  end
  assert(kind or kind_err.code == "document.kind")
  local written = assert(encode(value))
  local again = decode(written)
  assert(equal(value, again), "does not come back from " .. written)
  assert(encode(again) == written or type(value) == "table")
  -- A second reader, which takes everything that we take.
  local fine, theirs = pcall(cjson.decode, text)
  assert(fine and alike(value, theirs), "lua-cjson reads something else")
  return true
end

local function check_plan(text)
  local options = { implements = { "atomic_batch" } }
  local plan, err = moonplan.call_plan(text, options)
  local digest, digest_err = moonplan.digest(text)
  if not plan then
    check_error(text, err)
    if digest then
      for _, fault in ipairs(err.errors) do assert(fault.code == "call.capability_unknown") end
    else
      local same = digest_err.code == err.code and digest_err.offset == err.offset
      assert(same or err.code == "call.capability_unknown")
    end
    return false
  end
  assert(plan.digest == digest and digest == moonplan.keccak256(plan:canonical()))
  assert(#plan.steps >= 1 and plan.sender:match("^0x%x+$") and #plan.sender == 42)
  options.hex_case = "normalize"
  assert(moonplan.call_plan(text, options).digest == digest)
  -- The canonical form is a plan's text but for the one required member that it leaves out.
  local whole = plan:canonical():gsub('^{', '{"caip2_chain_id":"eip155:' .. plan.chain_id .. '",', 1)
  assert(moonplan.digest(whole) == digest)
  return true
end

local function check_both(text)
  local fine, problem = pcall(function()
    check_json(text)
    check_plan(text)
  end)
  if not fine then error(("%s\nseed %d, on %q"):format(problem, seed, text), 0) end
end

--- A plan with one of everything, and no longer than it has to be.
local function small_plan()
  return plans.of({ plans.step(1, { data = "0xa1", gas = "7" }) },
    ',"required_capabilities":["atomic_batch"],"extensions":{"\\u0061":[-1.5e3,true,null,"\\n\u{e9}"]}')
end

describe("a changed document", function()
  it("is read or refused, with every byte changed to every other", function()
    local text = small_plan()
    assert.is_true(check_plan(text))
    for at = 1, #text do
      local before, behind = text:sub(1, at - 1), text:sub(at + 1)
      for byte = 0, 255 do
        local changed = before .. string.char(byte) .. behind
        local fine, problem = pcall(check_plan, changed)
        if not fine then error(("%s\non %q"):format(problem, changed), 0) end
      end
    end
  end)

  it("is read or refused, with every byte missing, doubled or cut behind", function()
    local text = plans.full(3000)
    for at = 1, #text do
      check_both(text:sub(1, at - 1) .. text:sub(at + 1))
      check_both(text:sub(1, at) .. text:sub(at))
      check_both(text:sub(1, at))
    end
  end)

  it("is read or refused, whatever was done to it", function()
    print("# spec/fuzz: seed " .. seed)
    math.randomseed(seed)
    local random = math.random
    local seeds = { small_plan(), plans.full(1500), plans.tiny(), "[]", '{"a":[1,2.5e3,"\\ud83d\\ude00"]}' }
    for _, case in ipairs(call_cases.load()) do
      local text = case.build()
      if #text < 2000 then seeds[#seeds + 1] = text end
    end
    local pieces = { '"', "\\", "{", "}", "[", "]", ",", ":", "\\u", "\\ud800", "\\udc00", "\\u0000", "0", "-", "e", ".", "1e400",
      "9223372036854775808", "true", "null", "\0", "\xff", "\xc3", "\u{feff}", "\u{202e}", " ", "\r", "\n", '"a":1,', '"a":{', "[[[[",
      '"required_capabilities":["x"],', '"step":1,', "0x", "0X", "AB", '"value":"0",' }
    local function mutate(text)
      local at = random(0, #text)
      local to = math.min(#text, at + random(0, 12))
      local what = random(7)
      if what == 1 then return text:sub(1, at) .. string.char(random(0, 255)) .. text:sub(at + 2) end
      if what == 2 then return text:sub(1, at) .. pieces[random(#pieces)] .. text:sub(at + 1) end
      if what == 3 then return text:sub(1, at) .. text:sub(to + 1) end
      if what == 4 then return text:sub(1, to) .. text:sub(at + 1) end
      if what == 5 then return text:sub(1, at) .. pieces[random(#pieces)] .. text:sub(to + 1) end
      if what == 6 then
        local other = seeds[random(#seeds)]
        local from = random(0, #other)
        return text:sub(1, at) .. other:sub(from, from + random(0, 60)) .. text:sub(to + 1)
      end
      return (text:gsub("%f[%w]%w+%f[%W]", function() return random(20) == 1 and pieces[random(#pieces)] or nil end))
    end
    local read, plan_count, deadline = 0, 0, soak and os.time() + soak
    local n = 0
    repeat
      n = n + 1
      local text = seeds[random(#seeds)]
      for _ = 1, random(3) do text = mutate(text) end
      local fine, problem = pcall(function()
        if check_json(text) then read = read + 1 end
        if check_plan(text) then plan_count = plan_count + 1 end
      end)
      if not fine then error(("%s\nseed %d, on %q"):format(problem, seed, text), 0) end
    until (deadline and os.time() >= deadline) or (not deadline and n == 20000)
    -- Mutants that are all refused would test one thing only.
    assert(read > n / 100 and plan_count > n / 1000, ("%d read, %d plans"):format(read, plan_count))
  end)
end)

describe("a Lua value made at random", function()
  it("goes to JSON and comes back", function()
    math.randomseed(seed)
    local random = math.random
    local function text()
      local points = {}
      for i = 1, random(0, 8) do
        local point = random(3) == 1 and random(0, 0x10ffff) or random(0, 0x7f)
        points[i] = (point >= 0xd800 and point <= 0xdfff) and 0x41 or point
      end
      return utf8.char(table.unpack(points))
    end
    local function value(depth)
      local what = random(depth > 5 and 6 or 8)
      if what == 1 then return null end
      if what == 2 then return random(2) == 1 end
      if what == 3 then return random(0) end
      if what == 4 then
        local float = string.unpack("d", string.pack("i8", random(0)))
        return (float ~= float or math.abs(float) == math.huge) and 0.5 or float
      end
      if what <= 6 then return text() end
      local made = {}
      if what == 7 then
        for i = 1, random(0, 20) do made[i] = value(depth + 1) end
        return moonplan.array(made)
      end
      for _ = 1, random(0, 20) do made[text()] = value(depth + 1) end
      return made
    end
    for _ = 1, 300 do
      local given = value(1)
      local written = assert(encode(given))
      local back = decode(written)
      if not equal(given, back) then error(("seed %d: %s"):format(seed, written)) end
      assert(equal(decode(encode(back)), given))
      local fine, theirs = pcall(cjson.decode, written)
      assert(fine and alike(given, theirs), written)
    end
  end)
end)
