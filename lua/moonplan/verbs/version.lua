--- moonplan version: which versions these are, and what this build has.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"

local version = {
  summary = "say which versions are at hand, and what this build has",
}

function version.describe(parser)
  parser:flag("--json"):description("As a JSON object.")
end

function version.run(arguments)
  local build = console.build()
  local facts = {
    moonplan = moonplan.version,
    -- "$LuaVersion: Lua 5.4.4  Copyright ...$"
    lua = build.lua:match("Lua (%d+%.%d+%.%d+)") or build.lua,
    libsodium = build.libsodium,
    editline = build.editline,
  }
  if arguments.json then
    report.json(facts)
    return exits.fine
  end
  console.write(("moonplan %s\nLua %s\nlibsodium %s\nline editing %s\n"):format(
    facts.moonplan, facts.lua, facts.libsodium,
    facts.editline and "yes" or "no (built without MOONPLAN_WITH_EDITLINE)"))
  return exits.fine
end

return version
