--- moonplan jobs list: the jobs of a store.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"
local text = require "moonplan.command.text"

local list = {
  summary = "the jobs of a store",
  description = "List jobs in the order in which they came: id, status, when they were made, and "
    .. "the goal of their plan. \"interrupted\" is one whose process is gone.",
}

local STATUSES = { "created", "executing", "completed", "failed", "cancelled", "outcome_unknown",
  "awaiting_approval", "interrupted" }

local function positive(given)
  local n = math.tointeger(tonumber(given))
  if n and n > 0 and given:match("^%d+$") then return n end
  return nil, ("%s is not a number from 1"):format(text.bounded(given, 96))
end

local DAYS = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

-- Whether there is such a day (RFC 3339, 5.7: months and days that there are).
local function is_day(year, month, day)
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  local leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
  local most = month == 2 and not leap and 28 or DAYS[month]
  return most ~= nil and day >= 1 and day <= most
end

-- A day, or a moment of one. Leap seconds are not counted in the times that jobs have.
local function moment(given)
  local year, month, day, rest = given:match("^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$")
  if year and is_day(year, month, day) then
    if rest == "" then return given end
    local hours, minutes, seconds = rest:match("^T(%d%d):(%d%d):(%d%d)Z$")
    if not hours then hours, minutes, seconds = rest:match("^T(%d%d):(%d%d):(%d%d)%.%d%d?%d?Z$") end
    if hours and tonumber(hours) < 24 and tonumber(minutes) < 60 and tonumber(seconds) < 60 then
      return given
    end
  end
  return nil, ("%s is not a time as 2026-01-02 or 2026-01-02T03:04:05Z"):format(
    text.bounded(given, 96))
end

function list.describe(parser)
  stores.describe(parser)
  options.describe_limit(parser)
  parser:option("--status"):choices(STATUSES):description("Those with this status alone.")
  parser:option("--capability"):argname("NAME")
    :description("Those with a step that calls this capability.")
  parser:option("--goal"):argname("TEXT"):description("Those with this text in their goal.")
  parser:option("--since"):argname("TIME"):convert(moment)
    :description("Those made then or later, in UTC: 2026-01-02, or 2026-01-02T03:04:05Z.")
  parser:option("--most"):argname("N"):convert(positive):description("The latest N of them.")
  parser:flag("--json"):description("A JSON object a line for each job.")
end

local COLOURS = {
  completed = "green", failed = "red", cancelled = "red", outcome_unknown = "yellow",
  awaiting_approval = "yellow", interrupted = "yellow",
}

local function print_rows(jobs)
  local ids, statuses = 2, 6
  for _, job in ipairs(jobs) do
    ids, statuses = math.max(ids, #job.id), math.max(statuses, #job.status)
  end
  if #jobs > 0 and console.terminal(1) then
    console.write(("%-" .. ids .. "s  %-" .. statuses .. "s  %-24s  %s\n"):format("id", "status",
      "created", "goal"))
  end
  for _, job in ipairs(jobs) do
    local status = ("%-" .. statuses .. "s"):format(job.status)
    local colour = COLOURS[job.status]
    console.write(("%-" .. ids .. "s  %s  %s  %s\n"):format(text.visible(job.id),
      colour and report.coloured(1, colour, status) or status, job.created,
      text.bounded(job.goal, 400)))
  end
end

function list.run(arguments)
  local engine, code = stores.open(arguments.store, "read", options.limits(arguments))
  if not engine then return code end
  local jobs, err = engine:jobs {
    status = arguments.status, capability = arguments.capability, goal = arguments.goal,
    since = arguments.since, most = arguments.most,
  }
  if not jobs then return stores.refuse(arguments.store, err) end
  if arguments.json then
    for _, job in ipairs(jobs) do report.json(job) end
  else
    print_rows(jobs)
  end
  return exits.fine
end

return list
