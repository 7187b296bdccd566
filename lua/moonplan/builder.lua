--- What a builder is given beside its parameters: the plan in the making. It runs in the builder's
--- own state, and what comes out of it is believed by nobody: the host writes the document, out of
--- the parts that a plan has, and then reads it as it reads any other plan. So there is no way in
--- here to a plan's `extensions`, its chain, or its sender.
---
--- Whatever an author gets wrong is raised on the author's line.

-- The author may change what these names stand for; here they stay what they are.
local concat, error, ipairs, next, pcall, rawequal, rawget, rawlen, setmetatable, sort, type =
  table.concat, error, ipairs, next, pcall, rawequal, rawget, rawlen, setmetatable, table.sort, type
local find, format, lower, match, sub =
  string.find, string.format, string.lower, string.match, string.sub
local toint, utf8_length = math.tointeger, utf8.len
local address, amount, array, is_array, json_of = moonplan.address, moonplan.amount,
  moonplan.array, moonplan.is_array, moonplan.abi.json
local encode = json.encode

-- "t.lua:5: ", the line of whoever called the function that calls this; with a level of 2, of
-- whoever called that one. A function in C between them has no line, and is stepped over.
local function place(level)
  for at = level + 3, level + 7 do
    local _, where = pcall(error, "", at)
    if where ~= "" then return where end
  end
  return ""
end

-- Raise on that line.
local function fail(message, level)
  local where = place((level or 1) + 1)
  error(where .. message, 0)
end

local function shown(value)
  local kind = type(value)
  if kind == "string" then return #value > 60 and format("%q...", sub(value, 1, 60))
    or format("%q", value) end
  if kind == "number" or kind == "boolean" then return format("%s", value) end
  return kind == "nil" and "nothing" or "a " .. kind
end

local function names_of(map)
  local names = {}
  for name in next, map do names[#names + 1] = name end
  sort(names)
  return #names > 0 and concat(names, ", ") or "none"
end

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do set[name] = true end
  return set
end

-- What goes into the plan as it is: all of it has to be something that JSON has, and no table may
-- stand inside itself.
local function check_json(value, what, level)
  local text, err = encode(value)
  if text then return end
  if err.code == "memory" then error(err.message, 0) end
  fail(format("%s%s: %s", what, err.at ~= "" and " at " .. err.at or "", err.message), level + 1)
end

-- A table of named fields, none of which is unknown.
local function check_fields(value, what, known, level)
  if type(value) ~= "table" then
    fail(format("%s is a table, not %s", what, shown(value)), level + 1)
  end
  local unknown
  for name in next, value do
    if not known[name] and (not unknown or shown(name) < shown(unknown)) then unknown = name end
  end
  if unknown ~= nil then
    fail(format("%s has no field %s; there are: %s", what, shown(unknown), names_of(known)),
      level + 1)
  end
end

-- -- Parameters ----------------------------------------------------------------

-- A parameter that was left out is nil; one that there is not is a mistake.
local function guard(params, names)
  local known = set_of(names)
  return setmetatable(params, {
    __index = function(_, name)
      if known[name] then return nil end
      fail(format("there is no parameter %s; there are: %s", shown(name), names_of(known)))
    end,
    __metatable = false,
  })
end

-- -- Call plans ------------------------------------------------------------------

local KINDS = set_of { "execution", "approval", "allowance_cleanup",
  "signature_dependent_execution", "other" }
local CALL = set_of { "kind", "to", "data", "value", "gas", "revert" }
local FAILURE_ORDER = { "rpc_error", "execution_reverted", "simulation_setup_error" }
local FAILURES = set_of(FAILURE_ORDER)
local ADVICE = set_of { "action", "instruction" }
local ACTIONS = set_of { "retry_same_plan", "reprepare_plan", "user_review" }
local INSTRUCTION_MOST = 2000
local CAPABILITIES_MOST = 32

local function read_number(value, what, level)
  if type(value) ~= "string" and not (type(value) == "number" and toint(value)) then
    fail(format("%s is an integer, its digits in a string, or an amount like \"1.5 ether\", not %s",
      what, shown(value)), level + 1)
  end
  local digits, reason = amount(type(value) == "number" and toint(value) or value)
  if not digits then fail(what .. ": " .. reason, level + 1) end
  return digits
end

-- An amount of gas has no unit.
local function read_gas(value, level)
  local digits = type(value) == "number" and toint(value) and format("%d", value) or value
  if type(digits) ~= "string" or not find(digits, "^%d+$") then
    fail(format("gas is an integer, or its digits in a string, not %s", shown(value)), level + 1)
  end
  if find(digits, "^0%d") then
    fail(format("gas: %s has a 0 before other digits", shown(value)), level + 1)
  end
  -- A tail call would lose the author's line.
  local read = read_number(digits, "gas", level + 1)
  return read
end

local function read_address(value, level)
  if type(value) ~= "string" then
    fail("to is an address, not " .. shown(value), level + 1)
  end
  local found, reason = address(value)
  if not found then fail("to: " .. reason, level + 1) end
  return found
end

local function read_data(value, level)
  if value == nil then return "0x" end
  if type(value) ~= "string" or #value % 2 ~= 0 or not find(value, "^0x%x*$") then
    fail(format("data is 0x and an even number of hexadecimal digits, not %s", shown(value)),
      level + 1)
  end
  return lower(value)
end

-- The parameters of a JSON ABI's entry are arrays, also where there are none. The entry is JSON.
local function mark_parameters(entry)
  if type(entry) ~= "table" then return entry end
  local copy = {}
  for name, value in next, entry do
    if type(value) == "table" and (name == "inputs" or name == "outputs" or name == "components")
    then
      local list = {}
      for i = 1, rawlen(value) do list[i] = mark_parameters(rawget(value, i)) end
      value = array(list)
    end
    copy[name] = value
  end
  return copy
end

-- Signatures (`error Expired(uint256 deadline)`) and entries of a JSON ABI.
local function read_revert(value, level)
  if type(value) ~= "table" then
    fail("revert is a list of errors, not " .. shown(value), level + 1)
  end
  local entries, required = {}, rawget(value, "required")
  if required ~= nil and type(required) ~= "boolean" then
    fail("required is true or false, not " .. shown(required), level + 1)
  end
  local last, count = 0, 0
  for key in next, value do
    if key ~= "required" and not (type(key) == "number" and toint(key)) then
      fail(format("revert has no field %s; it is a list of errors, and may have required",
        shown(key)), level + 1)
    elseif key ~= "required" then
      last, count = key > last and key or last, count + 1
    end
  end
  if count == 0 then fail("revert lists no error", level + 1) end
  if last ~= count then
    fail(format("revert is a list of errors from 1 on; it has %d, and the last at %d", count, last),
      level + 1)
  end
  for i = 1, last do
    local entry = rawget(value, i)
    if type(entry) == "string" then
      local read, err = json_of(entry)
      if not read and err.code == "memory" then error(err.message, 0) end
      if not read then fail(format("revert: %s", err.message), level + 1) end
      for _, one in ipairs(read) do entries[#entries + 1] = one end
    else
      check_json(entry, "entry " .. i .. " of revert", level + 1)
      entries[#entries + 1] = mark_parameters(entry)
    end
  end
  if #entries == 0 then fail("revert lists no error", level + 1) end
  return { kind = "error_result", abi = array(entries), required = required }
end

-- The plan in the making behind the author's `plan`.
local states = setmetatable({}, { __mode = "k" })

local function state_of(self, method)
  local state = states[self]
  if not state then fail(format("call it with a colon: plan:%s", method), 2) end
  return state
end

local CallPlan = {}

--- Add a call.
function CallPlan.call(self, call)
  local made = state_of(self, "call").made
  check_fields(call, "a call", CALL, 1)
  local kind = call.kind or "execution"
  if not KINDS[kind] then
    fail(format("there are no calls of kind %s; there are: %s", shown(kind), names_of(KINDS)))
  end
  made.steps[#made.steps + 1] = {
    kind = kind,
    to = read_address(call.to, 1),
    data = read_data(call.data, 1),
    value = call.value == nil and "0" or read_number(call.value, "value", 1),
    gas = call.gas ~= nil and read_gas(call.gas, 1) or nil,
    revert_decode = call.revert ~= nil and read_revert(call.revert, 1) or nil,
    where = place(1),
  }
end

--- Whoever executes the plan has to have this capability; "atomic_batch" is the standard's.
function CallPlan.require(self, name)
  local list = state_of(self, "require").made.required_capabilities
  if type(name) ~= "string" or #name < 1 or #name > 64 or find(name, "[^\x21-\x7e]") then
    fail("a capability has a name of 1 to 64 visible ASCII characters, not " .. shown(name))
  end
  for _, known in ipairs(list) do
    if known == name then return end
  end
  if #list == CAPABILITIES_MOST then
    fail(format("a plan requires at most %d capabilities", CAPABILITIES_MOST))
  end
  list[#list + 1] = name
end

--- What the producer advises where simulating the plan fails: all three ways of that.
function CallPlan.policy(self, policy)
  local state, made = state_of(self, "policy"), {}
  check_fields(policy, "a policy", FAILURES, 1)
  for _, failure in ipairs(FAILURE_ORDER) do
    local advice = policy[failure]
    check_fields(advice, failure, ADVICE, 1)
    local action, instruction = advice.action, advice.instruction
    if not ACTIONS[action] then
      fail(format("there is no action %s; there are: %s", shown(action), names_of(ACTIONS)))
    end
    if action == "retry_same_plan" and failure ~= "rpc_error" then
      fail("retry_same_plan is advice for rpc_error alone: the same calls fail the same way again")
    end
    local length = type(instruction) == "string" and utf8_length(instruction)
    if not length or length < 1 or length > INSTRUCTION_MOST then
      fail(format("an instruction is a text of 1 to %d characters, not %s", INSTRUCTION_MOST,
        shown(instruction)))
    end
    made[failure] = { action = action, instruction = instruction }
  end
  state.made.simulation_failure_policy = made
end

-- -- Step plans --------------------------------------------------------------------

-- A handle stands for what a step will give, or for a part of that. Elements are counted from 1
-- here, as everywhere in Lua, and from 0 in references.
local handles = setmetatable({}, { __mode = "k" })
local ELEMENTS_MOST = 1000
local handle_meta = {}

local function make_handle(text, holds, names, whose)
  local handle = setmetatable({}, handle_meta)
  handles[handle] = { text = text, holds = holds, names = names, whose = whose, parts = {} }
  return handle
end

-- The handle of a part, which is the same one every time: what refers to the same is equal.
local function part(self, key, holds)
  local made = self.parts[key]
  if not made then
    made = make_handle(format("%s.%s", self.text, key), holds)
    self.parts[key] = made
  end
  return made
end

-- Whether a function in C asks for an element: ipairs does, and table.unpack. In the plan there is
-- one reference for each that is written down, and nothing to go through. Called by what such a
-- function calls.
local function is_walked()
  local _, where = pcall(error, "", 4)
  return where == ""
end

local NOT_NOW = "what a step gives is not known before the plan runs"

local function element(self, index)
  if index < 1 or index > ELEMENTS_MOST then
    fail(format("element %d of %s: they are counted from 1 to %d here; %s", index, self.text,
      ELEMENTS_MOST, NOT_NOW), 2)
  end
  return part(self, index - 1)
end

function handle_meta.__index(handle, key)
  local self = handles[handle]
  local holds, index = self.holds, type(key) == "number" and toint(key)
  if index and is_walked() then
    fail(NOT_NOW .. ", so that a builder cannot go through it")
  end
  if type(key) ~= "string" and not index or key == "" or type(key) == "string"
    and find(key, ".", 1, true) then
    fail(format("a reference cannot lead to %s: it is made of names without dots", shown(key)))
  end
  if self.names then
    if not self.names[key] then
      fail(format("%s gives no %s; there are: %s", self.whose, shown(key), names_of(self.names)))
    end
    local made = part(self, key, self.names[key])
    return made
  end
  if holds == "string" or holds == "number" or holds == "boolean" then
    fail(format("%s is a %s, which has nothing in it", self.text, holds))
  elseif holds == "array" and not index and key ~= "length" then
    fail(format("%s is an array, which has no %s; there are: its elements, and length", self.text,
      shown(key)))
  elseif holds == "object" and index then
    fail(format("%s is an object, which has names and no elements", self.text))
  end
  if not index then
    local made = part(self, key, holds == "array" and "number" or nil)
    return made
  end
  -- A tail call would lose the author's line.
  local made = element(self, index)
  return made
end

function handle_meta.__newindex() fail(NOT_NOW .. ", so that nothing can be put into it") end
function handle_meta.__concat() fail(NOT_NOW .. "; only whole values of an input refer to it") end
function handle_meta.__tostring() fail(NOT_NOW .. "; only whole values of an input refer to it") end
function handle_meta.__len(handle)
  fail(format("%s; %s refers to the number of elements", NOT_NOW,
    handles[handle] and handles[handle].text .. ".length" or "length"))
end
function handle_meta.__pairs() fail(NOT_NOW .. ", so that a builder cannot go through it") end
-- Asked only where both are tables: that one is no "x" is an answer that Lua gives by itself.
function handle_meta.__eq() fail(NOT_NOW .. ", so that nothing can be compared with it") end
function handle_meta.__call() fail("what a step gives cannot be called") end
handle_meta.__metatable = false

local DEPTH_MOST = 100

-- A copy, with references in the place of handles.
local function resolve(value, path, depth, level)
  local kind = type(value)
  if handles[value] then return { ["$ref"] = handles[value].text } end
  if kind == "function" or kind == "thread" then
    fail(format("a %s cannot stand in an input, at %s", kind, path == "" and "its top" or path),
      level + 1)
  end
  if kind ~= "table" then return value end
  if depth > DEPTH_MOST then
    fail(format("the input is nested deeper than %d levels, or holds itself", DEPTH_MOST),
      level + 1)
  end
  local copy = {}
  for key, inner in next, value do
    if handles[key] then fail("what a step gives cannot be a name, at " .. path, level + 1) end
    copy[key] = resolve(inner, path .. "/" .. (type(key) == "string" and key or shown(key)),
      depth + 1, level + 1)
  end
  return is_array(value) and array(copy) or copy
end

-- What stands in a field of an input as a whole, has its type, as far as both are known.
local function check_types(input, declared, capability)
  if type(input) ~= "table" or handles[input] then return end
  for name, wanted in next, declared do
    local handle = handles[rawget(input, name)]
    local holds = handle and handle.holds
    if holds and wanted ~= holds then
      fail(format("the input %s of %s is %s %s, and %s is %s %s", name, capability,
        find(wanted, "^[ao]") and "an" or "a", wanted, handle.text,
        find(holds, "^[ao]") and "an" or "a", holds), 2)
    end
  end
end

local MORE_ORDER = { "reason", "idempotency_key" }
local MORE = set_of(MORE_ORDER)

local function check_id(state, id)
  if type(id) ~= "string" or id == "" then
    fail("a step's id is a text that is not empty, not " .. shown(id), 2)
  end
  check_json(id, "a step's id", 2)
  if find(id, "^result") or find(id, ".result", 1, true) then
    fail(format("no reference could name a step %s: an id does not begin with result, and has no "
      .. ".result in it", shown(id)), 2)
  end
  if state.ids[id] then fail(format("the plan has a step %s already", shown(id)), 2) end
end

local StepPlan = {}

--- Add a step; what comes back stands for its result.
function StepPlan.step(self, id, capability, input, more)
  local state = state_of(self, "step")
  check_id(state, id)
  local used = state.uses[capability]
  if not used then
    fail(format("the builder does not say with uses that it names %s; it names: %s",
      shown(capability), names_of(state.uses)))
  end
  if more ~= nil then check_fields(more, "what is said of a step", MORE, 1) end
  for _, name in ipairs(MORE_ORDER) do
    local text = more and more[name]
    if text ~= nil and type(text) ~= "string" then
      fail(format("%s is a text, not %s", name, shown(text)))
    end
    check_json(text or "", name, 1)
  end
  if used.input then check_types(input, used.input, capability) end
  input = resolve(input, "", 1, 1)
  check_json(input, "the input", 1)
  state.ids[id] = true
  local made = state.made
  made.steps[#made.steps + 1] = {
    id = id,
    capability = capability,
    input = input,
    reason = more and more.reason,
    idempotencyKey = more and more.idempotency_key,
    where = place(1),
  }
  return make_handle("steps." .. id .. ".result", used.output and "object", used.output, capability)
end

--- What the plan is for, in a line.
function StepPlan.goal(self, text)
  local state = state_of(self, "goal")
  if type(text) ~= "string" then fail("a goal is a text, not " .. shown(text)) end
  check_json(text, "the goal", 1)
  state.made.goal = text
end

-- -- The plan object ------------------------------------------------------------------

local function make_plan(methods, state)
  local plan = setmetatable({}, {
    __index = function(_, name)
      if methods[name] then return methods[name] end
      fail(format("a plan has no %s; there are: %s", shown(name), names_of(methods)))
    end,
    __newindex = function() fail("a plan is made with its methods: " .. names_of(methods)) end,
    __metatable = false,
  })
  states[plan] = state
  return plan
end

return function(build, input)
  local state = { made = { steps = array {} } }
  local methods = CallPlan
  if input.builds == "step_plan" then
    methods, state.uses, state.ids = StepPlan, input.uses, {}
  else
    state.made.required_capabilities = array {}
  end
  local plan = make_plan(methods, state)
  local made, err, at = build(guard(input.params, input.names), plan)
  if made == nil and err ~= nil then
    local message = type(err) == "table" and rawget(err, "message") or err
    if at == nil then return nil, type(err) == "table" and { message = message } or err end
    if type(at) ~= "string" or not set_of(input.names)[match(at, "^[^/]*")] then
      error { message = format("build says that %s is at fault, and that is no parameter; "
        .. "there are: %s", shown(at), names_of(set_of(input.names))) }
    end
    return nil, { code = at, message = message }
  end
  if made ~= nil and not rawequal(made, plan) then
    error { message = "build returns nothing: what has been added to the plan is what counts" }
  end
  return state.made
end
