--- From the words behind `moonplan` to a verb, and from its outcome to an exit code.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local parsers = require "moonplan.command.parsers"
local text = require "moonplan.command.text"

--- The word of the list that a person may have meant, if one is near enough.
---@param word string
---@param known string[]
---@return string?
local function nearest(word, known)
  local best, least = nil, math.max(2, #word // 2)
  for _, candidate in ipairs(known) do
    local distance = text.distance(word, candidate)
    if distance < least then best, least = candidate, distance end
  end
  return best
end

---@param word string
---@return integer exit code
local function unknown(word)
  local verbs = console.verbs()
  local guess = nearest(word, verbs)
  local hint = guess and ('; did you mean "%s"?'):format(guess)
    or "; there are: " .. table.concat(verbs, ", ")
  console.warn(("moonplan: %s is neither a verb nor a file%s\n"):format(
    moonplan.quote(word, 96), hint))
  return exits.failed
end

---@param verb string? nil: the one word that follows was meant to be a verb
---@param ... string
---@return integer exit code
return function(verb, ...)
  if not verb then return unknown(...) end
  local module = require("moonplan.verbs." .. verb)
  local parser = parsers.of(verb, module)
  local arguments, complaint = parsers.parse(parser, { ... })
  if arguments == "help" then
    local asked = complaint
    console.write(asked:get_help() .. "\n")
    return exits.fine
  end
  if arguments then
    local code
    code, complaint = module.run(arguments)
    if code then return code end
  end
  console.warn(('moonplan %s: %s\nsee "moonplan help %s"\n'):format(
    verb, text.bounded(complaint, 512), verb))
  return exits.failed
end
