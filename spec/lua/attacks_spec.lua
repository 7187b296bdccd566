-- What hostile code can do to a host that runs it in its own process: snippets that hang, crash or
-- break out of Lua sandboxes of the usual kind, each in a program of its own. Here they stand for the
-- bugs that a plugin in isolation `state` may have, which is all that it is for.
local command = require "spec.support.command"
local files = require "spec.support.files"

local FOLDER = "spec/data/lua-attacks/"
-- Processor time after which it is a hang, in milliseconds behind the deadline. There is no promise
-- here about how late a host is; the usual is below 30.
local HANG = 5000

-- What isolation `state` does not hold, and why.
local BEYOND = {
  C03_concat_ptr = "Lua 5.4.4 keeps a pointer into a stack that __concat has moved, and crashes",
  C04_weak_mt_uaf = "Lua 5.4.4 assigns through a metatable that the collector has freed meanwhile, and crashes",
}

-- These say that they have changed their own library or environment, which is nobody else's.
local OWN = { E06_string_table = true, E08_setmetatable_G = true, E16_rawset_G = true }

-- What may come of a snippet, by how the list of expectations begins. A limit that ends one earlier
-- is as good as the one that was expected.
local ENDED = { ["job.timeout"] = true, ["job.memory"] = true, ["job.capability_failed"] = true }
local ORDINARY = {
  completed = true, ["job.capability_failed"] = true, ["job.memory"] = true,
  ["job.timeout"] = command.sanitized or nil, -- which takes its time
}

local function expected_of(entry)
  return entry.expected:match "^killed" and ENDED or ORDINARY
end

describe("in isolation state", function()
  local program = io.open(command.program, "rb")
  if not program then
    pending("the program is not built")
    return
  end
  program:close()
  after_each(command.clean)

  local function attack(id)
    local outcome = command.run { "spec/support/attack.lua", FOLDER .. id .. ".lua", "state", command.folder(), cd = files.root }
    local code, late, marks, after, message = outcome.out:match "^(%S+)\t(%S+)\t(%d+)\t([%a ]+)\t(.*)\n$"
    return { exit = outcome.code, code = code, late = tonumber(late), marks = tonumber(marks), after = after,
      text = outcome.out .. outcome.err, message = message }
  end

  local list = require "cjson".decode(files.read(files.root .. FOLDER .. "expected.json"))

  it("is told what to expect of every snippet", function()
    local known = {}
    for _, entry in ipairs(list) do known[entry.id] = true end
    local names = files.names(FOLDER, "%.lua$")
    assert.equal(#list, #names)
    for _, name in ipairs(names) do assert(known[name:match "^(.*)%.lua$"], name) end
    for id in pairs(BEYOND) do assert(known[id], id) end
  end)

  for _, entry in ipairs(list) do
    local id = entry.id
    if BEYOND[id] then
      -- Not held, but not worse than said either: it ends.
      it(("%s is beyond it: %s"):format(id, BEYOND[id]), function()
        local seen = attack(id)
        -- A sanitizer reports the fault of Lua's, and ends the program itself.
        assert(seen.exit >= 128 or seen.exit == 0 or command.sanitized, seen.text)
        if seen.exit == 0 then assert(seen.marks == 0 and seen.after == "goes on", seen.text) end
      end)
    else
      it(("%s: %s"):format(id, entry.expected), function()
        local seen = attack(id)
        assert.equal(0, seen.exit, seen.text)
        assert(expected_of(entry)[seen.code], seen.text)
        assert.equal("goes on", seen.after, seen.text)
        assert.equal(OWN[id] and 1 or 0, seen.marks, seen.text)
        if not command.sanitized then assert(seen.late < HANG, seen.text) end
        assert.not_matches("0x%x%x%x%x", seen.message)
      end)
    end
  end
end)
