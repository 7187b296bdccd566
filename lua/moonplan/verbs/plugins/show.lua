--- moonplan plugins show: all that a plugin says about itself.
local catalogue = require "moonplan.command.catalogue"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local show = {
  summary = "all that a plugin says about itself",
  description = "Show a capability: what it takes and gives, its risk, the powers that it needs, "
    .. "its examples; of a builder, its parameters; of an executor, what it "
    .. "implements of that which call plans require. The name of a family shows every member.",
}

function show.describe(parser)
  parser:argument("name")
    :description("A capability, builder, executor or authorizer, or a family of them.")
  engines.describe(parser)
  parser:flag("--json"):description("A JSON object a line for each of them.")
end

local RISKS = {
  read = "read: changes nothing; allowed unless an authorizer says otherwise",
  write = "write: denied unless --allow write or an authorizer lets it run",
  destructive = "destructive: denied unless --allow destructive or an authorizer lets it run",
}

-- What the limit of a length counts, where it is not characters.
local COUNTED = { array = "elements", bytes = "bytes" }

-- The attributes of a field in the order of the text, and how each is put.
local ATTRIBUTES = {
  { "required", function(value) return value == true and "required" or nil end },
  { "integer", function(value) return value == true and "a whole number" or nil end },
  { "min", function(value) return "at least " .. moonplan.json.encode(value) end },
  { "max", function(value) return "at most " .. moonplan.json.encode(value) end },
  { "max_length", function(value, field)
    return ("at most %s %s"):format(moonplan.json.encode(value),
      COUNTED[field.type] or "characters")
  end },
  { "enum", function(value)
    local choices = {}
    for i, choice in ipairs(value) do choices[i] = text.visible(moonplan.json.encode(choice)) end
    return "one of " .. table.concat(choices, ", ")
  end },
  { "decimals", function(value)
    if type(value) == "string" then return "tokens of " .. text.visible(value) .. " decimals" end
    return ("a whole one has %s decimals"):format(moonplan.json.encode(value))
  end },
}

local function field_line(name, field, width)
  local words = { text.visible(field.type) }
  for _, attribute in ipairs(ATTRIBUTES) do
    local value = field[attribute[1]]
    if value ~= nil then words[#words + 1] = attribute[2](value, field) end
  end
  if field.items then words[1] = words[1] .. " of " .. text.visible(field.items.type) end
  local line = ("  %-" .. width .. "s  %s"):format(name, table.concat(words, ", "))
  if field.description and field.description ~= "" then
    line = line .. ": " .. text.bounded(field.description, 400)
  end
  return line
end

local add_fields

-- The fields of an object that is a parameter, or of those in an array.
local function add_inner(lines, fields, width)
  if not fields then return end
  local inner = {}
  add_fields(inner, nil, fields)
  for i = 3, #inner do lines[#lines + 1] = (" "):rep(width) .. "  " .. inner[i] end
end

function add_fields(lines, title, fields)
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
    local field = fields[name]
    lines[#lines + 1] = field_line(text.visible(name), field, width)
    add_inner(lines, field.items and field.items.fields or field.fields, width)
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
    for _, member in ipairs { "call", "given", "params", "input", "output", "digest", "plan",
      "error", "after" } do
      add(member, example[member])
    end
  end
end

local ISOLATIONS = {
  state = "in this process, in a Lua state of its own",
  process = "confined, in a process of its own",
}

local function names(list)
  local shown = {}
  for i, name in ipairs(list) do shown[i] = text.visible(name) end
  return table.concat(shown, ", ")
end

local function layout(item)
  local lines = {
    text.visible(item.name) .. " " .. text.visible(item.version),
    text.bounded(item.summary or "", 400),
    "",
    "is      " .. catalogue.article(item.kind) .. (item.builds and " of "
      .. (item.builds == "call_plan" and "call plans" or "step plans") or ""),
  }
  if item.kind == "capability" then
    lines[#lines] = "risk    " .. (RISKS[item.risk] or text.visible(item.risk or "?"))
  end
  if item.uses then lines[#lines + 1] = "uses    " .. names(item.uses) end
  if item.implements and #item.implements > 0 then
    lines[#lines + 1] = "has     " .. names(item.implements) .. ", where a call plan requires it"
  end
  if item.submits then
    lines[#lines + 1] = "sends   " .. (item.submits == "plan" and "all calls as one batch"
      or "one call after the other")
  end
  if item.needs and #item.needs > 0 then
    local missing = ""
    if #item.missing > 0 then missing = "; not granted: " .. table.concat(item.missing, ", ") end
    lines[#lines + 1] = ("needs   %s (%s)%s"):format(table.concat(item.needs, ", "),
      catalogue.grants(item.needs), missing)
  end
  lines[#lines + 1] = "from    "
    .. (item.shipped and "this program" or text.visible(item.file or "?"))
  if item.isolation then lines[#lines + 1] = "runs    " .. ISOLATIONS[item.isolation] end
  if item.digest then lines[#lines + 1] = "digest  " .. item.digest end
  if item.signer then
    lines[#lines + 1] = ("signed  by %s (%s)"):format(text.visible(item.signer), item.key)
  end
  if item.kind == "builder" then add_fields(lines, "parameters", item.params) end
  if item.kind == "capability" then
    add_fields(lines, "input", item.input)
    add_fields(lines, "output", item.output)
  end
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
