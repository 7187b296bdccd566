-- What hostile code can do to a host that confines it: snippets that hang, crash or break out of Lua
-- sandboxes of the usual kind, each as a plugin in a process of its own. None gets further than the
-- end of its call, and the host goes on. attacks_spec.lua is about those that share the host's process.
local command = require "spec.support.command"
local files = require "spec.support.files"

local FOLDER = "spec/data/lua-attacks/"
-- The deadline of what is to be killed, and of what is to end by itself, however busy the machine is,
-- in milliseconds; and how much later it is a hang. Without that the host has control again 50 later.
local KILLED, ENDS, HANG = 200, 20000, 5000

-- These say that they have changed their own library or environment, which is nobody else's.
local OWN = { E06_string_table = true, E08_setmetatable_G = true, E16_rawset_G = true }

-- What may come of a snippet, by how the list of expectations begins. A limit that ends one earlier
-- is as good as the one that was expected; a bug of Lua's that ends its process ends nothing else.
local ENDED = { ["job.timeout"] = true, ["job.memory"] = true, ["job.capability_failed"] = true }
local ORDINARY = { completed = true, ["job.capability_failed"] = true, ["job.memory"] = true }
describe("in isolation process", function()
  local program = io.open(command.program, "rb")
  if not program then
    pending("the program is not built")
    return
  end
  program:close()
  after_each(command.clean)

  for _, entry in ipairs(require "cjson".decode(files.read(files.root .. FOLDER .. "expected.json"))) do
    local id = entry.id
    it(("%s: %s"):format(id, entry.expected), function()
      local may = entry.expected:match "^killed" and ENDED or ORDINARY
      local deadline = may == ENDED and KILLED or ENDS
      local outcome = command.run {
        "spec/support/attack.lua", FOLDER .. id .. ".lua", "process", command.folder(), tostring(deadline),
        cd = files.root,
      }
      local text = outcome.out .. outcome.err
      local code, marks, after, message, passed =
        outcome.out:match "^(%S+)\t%S+\t(%d+)\t([%a ]+)\t(.*)\t(%d+)\n$"
      assert.equal(0, outcome.code, text)
      assert(may[code], text)
      assert.equal("goes on", after, text)
      assert.equal(OWN[id] and "1" or "0", marks, text)
      assert(tonumber(passed) < deadline + HANG, text)
      assert.not_matches("0x%x%x%x%x", message)
    end)
  end
end)
