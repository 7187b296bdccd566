-- A program that puts one hostile snippet into a plugin and says what became of it and of the host:
--   moonplan spec/support/attack.lua SNIPPET ISOLATION FOLDER [CALL_MS]
-- One line: the outcome ("completed" or the code), how late the host was in control again in
-- milliseconds of processor time, marks that the snippet left, whether the next step's plugin works,
-- the message, and the milliseconds that passed until then. A snippet that returns a function has run
-- while loading, and that one is called.
local moonplan = require "moonplan"
local snippet, isolation, folder = table.unpack(arg)
local CALL_MS = math.tointeger(arg[4] or 200)

local function put(name, text)
  local file = assert(io.open(folder .. "/" .. name .. ".lua", "w"))
  assert(file:write(text))
  assert(file:close())
end

local function capability(name, body)
  return ([[return { kind = "capability", api = 1, name = %q, version = "1", summary = "s", risk = "read",
  run = function(input, ctx)
    function report(text) ctx.log.warn(text) end
    local outcome = (function()
%s
    end)()
    return type(outcome) == "string" and outcome:sub(1, 100) or moonplan.null
  end }]]):format(name, body)
end

local text = assert(assert(io.open(snippet)):read("a"))
local front = "_G = load('return _ENV')() "
if text:find("return function", 1, true) then
  put("hostile", front .. "local later = (function()\n" .. text .. "\nend)()\n" .. capability("hostile", "return later()"))
else
  put("hostile", front .. capability("hostile", text))
end
put("next", capability("next", "return ('x'):upper() .. #string.rep('a', 3) .. (string.find('ab', 'b')) .. type(undefined_name)"))

local marks = 0
local engine = assert(moonplan.engine {
  plugins = folder, shipped = false, isolation = isolation,
  limits = { call_ms = CALL_MS, load_ms = 2000, memory_mib = 64 },
})
engine:on("log", function() marks = marks + 1 end)
local function call(name) return engine:run { steps = { { id = "a", capability = name } } } end

assert(call "next")
assert(engine:describe "hostile", "the snippet does not load")
local began = os.clock()
local job = assert(call "hostile")
local late = (os.clock() - began) * 1000 - CALL_MS
local marked = marks
local after = call "next"
engine:close()
-- "2026-01-02T03:04:05.678Z", as milliseconds of its day.
local function milliseconds(time)
  local hour, minute, second, thousandth = time:match("T(%d+):(%d+):(%d+)%.(%d+)Z$")
  return ((hour * 60 + minute) * 60 + second) * 1000 + thousandth
end
local passed = (milliseconds(job.completed) - milliseconds(job.started)) % 86400000

local failure = job.error or { code = job.status, message = "" }
print(failure.code, ("%.0f"):format(late), marked, after.result == "X32nil" and marks == marked and "goes on" or "is spoiled",
  failure.message:gsub("%c", " ") .. "", passed)
