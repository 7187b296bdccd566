--- The parser of each verb, with lua-argparse.
---
--- A verb is a module `moonplan.verbs.NAME`:
---   summary             one line for the list of verbs
---   describe(parser)    adds arguments and options
---   run(arguments)      does it; an exit code, or nil and what is wrong with the usage
local argparse = require "argparse"
local console = require "moonplan.console"

local parsers = {}

--- Description, help and all that a verb, or a command of one, takes.
function parsers.dress(parser, module)
  parser:description(module.description or module.summary)
  parser:add_help(false)
  -- A parser does not get to complain about a missing argument when help is asked for.
  parser:flag("-h --help"):description("Show this help.")
    :action(function() error({ help = parser }, 0) end)
  module.describe(parser)
end

---@param verb string
---@param module table
function parsers.of(verb, module)
  local parser = argparse("moonplan " .. verb):help_max_width(90):usage_max_width(90)
  parsers.dress(parser, module)
  return parser
end

--- One parser for the whole program: for its overview, and for completion in shells.
function parsers.whole()
  local parser = argparse("moonplan"):add_help(false)
  for _, verb in ipairs(console.verbs()) do
    local module = require("moonplan.verbs." .. verb)
    local command = parser:command(verb):summary(module.summary)
    parsers.dress(command, module)
  end
  return parser
end

--- The arguments; "help" where that was asked for, and of which parser; nil and what is wrong.
---@param words string[]
---@return table|"help"|nil
---@return table|string|nil
function parsers.parse(parser, words)
  function parser.error(_, message) error({ usage = message }, 0) end
  local fine, result = pcall(parser.parse, parser, words)
  if fine then return result end
  if type(result) ~= "table" then error(result, 0) end
  if result.help then return "help", result.help end
  return nil, (result.usage:gsub("\nDid", "; did"):gsub("\n", " "))
end

--- Make a verb out of commands of its own: modules `moonplan.verbs.VERB.NAME`, shaped as verbs are.
---@param verb string
---@param group table with summary and description
---@param names string[]
---@return table group with describe and run
function parsers.group(verb, group, names)
  local function command_called(name) return require("moonplan.verbs." .. verb .. "." .. name) end
  function group.describe(parser)
    parser:command_target("command")
    for _, name in ipairs(names) do
      local module = command_called(name)
      parsers.dress(parser:command(name):summary(module.summary), module)
    end
  end
  function group.run(arguments) return command_called(arguments.command).run(arguments) end
  return group
end

return parsers
