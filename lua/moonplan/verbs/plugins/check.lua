--- moonplan plugins check: are the plugin files well made?
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local check = {
  summary = "whether plugin files are well made",
  description = "Load every plugin file, or those named, and look at what they return. What is "
    .. "wrong goes to standard error. Nothing is called: moonplan plugins test does that.",
}

function check.describe(parser)
  parser:argument("name"):args("*"):description("A family, which is a file's name without .lua.")
  engines.describe(parser)
end

local function show(row)
  if row.err then return report.faults(row.file or row.name, row.err.errors or { row.err }) end
  local names = {}
  for i, name in ipairs(row.names) do names[i] = text.visible(name) end
  console.write(("%s: %s, %s\n"):format(text.visible(row.file or row.name),
    report.coloured(1, "green", "fine"), table.concat(names, ", ")))
  return exits.fine
end

function check.run(arguments)
  -- A broken file is what is asked about here, not what keeps the question from being answered.
  arguments.strict = false
  local engine, faults = engines.make(arguments)
  if not engine then return report.faults("plugins", faults) end
  local code = exits.fine
  for _, name in ipairs(#arguments.name > 0 and arguments.name or { false }) do
    local rows = engine:files(name or nil)
    if name and #rows == 0 then
      return nil, ("there is no plugin file %s.lua"):format(name)
    end
    for _, row in ipairs(rows) do code = exits.worst(code, show(row)) end
  end
  return code
end

return check
