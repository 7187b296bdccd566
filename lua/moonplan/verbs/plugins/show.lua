--- moonplan plugins show: all that a capability says about itself.
local catalogue = require "moonplan.command.catalogue"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local show = {
  summary = "all that a capability says about itself",
  description = "Show a capability: what it takes and gives, its risk, the powers that it needs, "
    .. "its examples. The name of a family shows every member.",
}

function show.describe(parser)
  parser:argument("name"):description("A capability, or a family of them.")
  engines.describe(parser)
  parser:flag("--json"):description("A JSON object a line for each capability.")
end

local RISKS = {
  read = "read: changes nothing; allowed unless an authorizer says otherwise",
  write = "write: denied unless --allow write or an authorizer lets it run",
  destructive = "destructive: denied unless --allow destructive or an authorizer lets it run",
}

-- The attributes of a field in the order of the text, and how each is put.
local ATTRIBUTES = {
  { "required", function(value) return value == true and "required" or nil end },
  { "integer", function(value) return value == true and "a whole number" or nil end },
  { "min", function(value) return "at least " .. moonplan.json.encode(value) end },
  { "max", function(value) return "at most " .. moonplan.json.encode(value) end },
  { "max_length", function(value)
    return ("at most %s characters"):format(moonplan.json.encode(value))
  end },
  { "enum", function(value)
    local choices = {}
    for i, choice in ipairs(value) do choices[i] = text.visible(moonplan.json.encode(choice)) end
    return "one of " .. table.concat(choices, ", ")
  end },
}

local function field_line(name, field, width)
  local words = { text.visible(field.type) }
  for _, attribute in ipairs(ATTRIBUTES) do
    local value = field[attribute[1]]
    if value ~= nil then words[#words + 1] = attribute[2](value) end
  end
  local line = ("  %-" .. width .. "s  %s"):format(name, table.concat(words, ", "))
  if field.description and field.description ~= "" then
    line = line .. ": " .. text.bounded(field.description, 400)
  end
  return line
end

local function add_fields(lines, title, fields)
  lines[#lines + 1] = ""
  if not fields or next(fields) == nil then
    lines[#lines + 1] = title .. ": " .. (fields and "no fields are declared" or "anything")
    return
  end
  lines[#lines + 1] = title
  local names, width = {}, 0
  for name in pairs(fields) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do width = math.max(width, math.min(#text.visible(name), 28)) end
  for _, name in ipairs(names) do
    lines[#lines + 1] = field_line(text.visible(name), fields[name], width)
  end
end

local function add_examples(lines, examples)
  if not examples or #examples == 0 then return end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "examples"
  local function add(label, value)
    if value == nil then return end
    lines[#lines + 1] = ("  %-7s %s"):format(label, text.bounded(moonplan.json.encode(value), 2000))
  end
  for i, example in ipairs(examples) do
    if i > 1 then lines[#lines + 1] = "" end
    add("given", example.given)
    add("input", example.input)
    add("output", example.output)
    add("error", example.error)
    add("after", example.after)
  end
end

local function layout(item)
  local lines = {
    text.visible(item.name) .. " " .. text.visible(item.version),
    text.bounded(item.summary or "", 400),
    "",
    "risk    " .. (RISKS[item.risk] or text.visible(item.risk)),
  }
  if item.needs and #item.needs > 0 then
    local missing = ""
    if #item.missing > 0 then missing = "; not granted: " .. table.concat(item.missing, ", ") end
    lines[#lines + 1] = ("needs   %s (%s)%s"):format(table.concat(item.needs, ", "),
      catalogue.grants(item.needs), missing)
  end
  lines[#lines + 1] = "from    "
    .. (item.shipped and "this program" or text.visible(item.file or "?"))
  add_fields(lines, "input", item.input)
  add_fields(lines, "output", item.output)
  add_examples(lines, item.examples)
  return table.concat(lines, "\n") .. "\n"
end

function show.run(arguments)
  local engine, list, problems = catalogue.open(arguments)
  if not engine then return list end
  local found = catalogue.named(list, arguments.name)
  -- Other people's broken files are not the question.
  local code = report.faults("plugins", catalogue.problems_of(problems, arguments.name))
  if #found == 0 then
    if code ~= exits.fine then return code end
    return nil, catalogue.unknown(list, arguments.name)
  end
  for i, item in ipairs(found) do
    local whole = engine:describe(item.name)
    if arguments.json then report.json(whole)
    else console.write((i > 1 and "\n" or "") .. layout(whole)) end
  end
  return code
end

return show
