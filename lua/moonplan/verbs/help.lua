--- moonplan help: the verbs, one verb, or what a shell needs to complete them.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local parsers = require "moonplan.command.parsers"

local help = {
  summary = "list the verbs, or explain one",
}

function help.describe(parser)
  parser:argument("verb"):args("?"):description("The verb to explain.")
  parser:option("--completion"):choices({ "bash", "zsh", "fish" })
    :description("Print a script that makes the shell complete verbs and options.")
end

local OVERVIEW = [[
moonplan %s: reads, validates and explains plans of wallet calls (ERC-8410), runs step plans

%s
  FILE.lua     run a Lua 5.4 script, with the module moonplan as a global and through require
  lua ...      the Lua interpreter whatever follows: -e CODE, -i, -l NAME, -v, -E, -W, FILE
  -e CODE      run Lua code
  (nothing)    a prompt for Lua on a terminal, otherwise run standard input

A first word that is a verb is the verb; ./digest runs a script of that name.
Results go to standard output, everything else to standard error.
Exit codes: 0 fine; 1 wrong usage, input or output failed, internal; 2 the input is invalid or
refused; 3 the job, or the plan that was sent, failed; 4 stopped and waiting, or an outcome is
unknown; 5 findings at or above --fail-on; 141 nobody reads our output any more. Of several files,
1 comes before 2.
"moonplan help VERB" explains a verb.
]]

local function overview()
  local lines = {}
  for i, verb in ipairs(console.verbs()) do
    lines[i] = ("  %-11s  %s"):format(verb, require("moonplan.verbs." .. verb).summary)
  end
  return OVERVIEW:format(moonplan.version, table.concat(lines, "\n"))
end

function help.run(arguments)
  if arguments.completion then
    local whole = parsers.whole()
    console.write(whole["get_" .. arguments.completion .. "_complete"](whole))
    return exits.fine
  end
  if not arguments.verb then
    console.write(overview())
    return exits.fine
  end
  for _, verb in ipairs(console.verbs()) do
    if verb == arguments.verb then
      console.write(parsers.of(verb, require("moonplan.verbs." .. verb)):get_help() .. "\n")
      return exits.fine
    end
  end
  return nil, ("there is no verb %s; there are: %s"):format(
    moonplan.quote(arguments.verb, 96), table.concat(console.verbs(), ", "))
end

return help
