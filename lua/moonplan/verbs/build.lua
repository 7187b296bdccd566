--- moonplan build: a plan out of parameters.
local catalogue = require "moonplan.command.catalogue"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local output = require "moonplan.command.output"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local build = {
  summary = "make a plan out of parameters",
  description = "Have a builder make a plan, check it like any other, and print it; its digest "
    .. "goes to standard error. Parameters are given by name, or as a JSON object in a file, or "
    .. "both. \"moonplan plugins list\" names the builders, \"moonplan plugins show NAME\" what "
    .. "they take.",
}

function build.describe(parser)
  parser:argument("name"):description("The builder.")
  parser:argument("parameters"):args("*"):argname("KEY=VALUE")
    :description("A parameter: amount=2500000, amount='1.5 ether'; arrays and objects as JSON.")
  parser:option("--params"):argname("FILE.json"):convert(options.path "--params")
    :description("More parameters: a JSON object; - is standard input.")
  output.describe(parser)
  engines.describe(parser)
  options.describe_limit(parser)
end

-- Types whose values are JSON on the command line too; of all others they are texts.
local AS_JSON = { number = true, boolean = true, array = true, object = true }

-- The JSON text of a value that was typed: what is none after all stays a text, so that it is told
-- what the parameter should be.
local function value_of(typed, field)
  if field and AS_JSON[field.type] then
    local _, err = moonplan.json.decode(typed)
    if not err or err.code == "json.number" then return typed end
  end
  return moonplan.json.encode(typed)
end

-- The members that the words describe, as JSON; or nil and what is wrong with them.
local function members_of(words, params)
  local members, seen = {}, {}
  for i, word in ipairs(words) do
    local key, value = word:match("^([^=]*)=(.*)$")
    if not key or key == "" then
      return nil, ("%s is not KEY=VALUE"):format(text.bounded(word, 96))
    end
    if seen[key] then return nil, ("%s is given twice"):format(text.bounded(key, 96)) end
    seen[key] = true
    local name, json = moonplan.json.encode(key), value_of(value, params[key])
    if not name or not json then
      return nil, ("%s is not UTF-8"):format(text.bounded(word, 96))
    end
    members[i] = name .. ": " .. json
  end
  return members, seen
end

-- A file's object with more members behind its own, and where they begin. What is no object stays
-- what it is, and is refused with its place.
local function join(content, members)
  if not content then return "{" .. table.concat(members, ", ") .. "}", 0 end
  local body = content:match("^(%s*{.*)}%s*$")
  if #members == 0 or not body then return content, math.huge end
  local comma = body:find("^%s*{%s*$") and "" or ", "
  return body .. comma .. table.concat(members, ", ") .. "}", #body
end

-- Names that are in the file as well as on the command line.
local function given_twice(content, seen)
  local object = moonplan.json.decode(content)
  if type(object) ~= "table" then return nil end
  local names = {}
  for key in pairs(seen) do
    if object[key] ~= nil then names[#names + 1] = key end
  end
  table.sort(names)
  return names[1]
end

-- Places behind the file's end are on the command line.
local function tell(arguments, faults, length)
  for _, fault in ipairs(faults) do
    if fault.offset and fault.offset >= length then
      fault.offset, fault.line, fault.column = nil, nil, nil
    end
    if not fault.offset then fault.file = nil end
  end
  return report.faults(arguments.params and faults[1].offset and arguments.params
    or arguments.name, faults)
end

-- What there is, where a name stands for no builder.
local function unknown(engine, name, found)
  if found then
    return ("%s is %s, and no builder"):format(text.quoted(name), catalogue.article(found.kind))
  end
  return catalogue.unknown(engine:list("builder") or {}, name, "builder")
end

function build.run(arguments)
  local engine, faults = engines.make(arguments)
  if not engine then return report.faults("plugins", faults) end
  local described, problem = engine:describe(arguments.name)
  if problem then
    return report.faults(problem.file or arguments.name, problem.errors or { problem })
  end
  if not described or described.kind ~= "builder" then
    return nil, unknown(engine, arguments.name, described)
  end
  local members, seen = members_of(arguments.parameters, described.params)
  if not members then return nil, seen end
  local content, fault
  if arguments.params then
    local limits = options.limits(arguments)
    content, fault = input.read(arguments.params, options.document_bytes { limits = limits })
    if not content then return report.faults(arguments.params, { fault }) end
    local twice = given_twice(content, seen)
    if twice then
      return nil, ("%s is given twice, here and in %s"):format(text.bounded(twice, 96),
        text.visible(arguments.params))
    end
  end
  local given, length = join(content, members)
  local plan, digest = engine:build(arguments.name, given)
  if not plan then return tell(arguments, digest.errors, length) end
  -- A builder may have put into it whatever it was given. Escaped, it is the same plan.
  local code = output.put(arguments.out, report.escaped(plan) .. "\n")
  if code == 0 then console.warn(digest .. "\n") end
  return code
end

return build
