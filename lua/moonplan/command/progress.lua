--- What a person sees of a run while it goes on, on standard error: a line for every step on a
--- terminal, and what capabilities log, everywhere.
local console = require "moonplan.console"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local progress = {}

-- How a step ended, and what is said of it.
local ENDS = {
  ["capability.completed"] = { "done", "green" },
  ["capability.denied"] = { "denied", "red" },
  ["capability.failed"] = { "failed", "red" },
}

-- Of a log entry; what a plugin writes there is bounded in number of bytes, and may be all of that.
local MOST = 2000

local LOG_COLOURS = { warn = "yellow", error = "red" }

local function step_line(number, total, data)
  return ("%d/%d %s (%s)"):format(number, total, text.visible(data.step_id),
    text.visible(data.capability))
end

-- A step is denied, or fails, before or after it was started: the line is begun by whichever event
-- comes first.
local function show_steps(engine, total)
  local number, open = 0, false
  local function begin(data)
    number, open = number + 1, true
    console.warn(step_line(number, total, data) .. " ... ")
  end
  engine:on("capability.started", function(event) begin(event.data) end)
  for type, ending in pairs(ENDS) do
    engine:on(type, function(event)
      if not open then begin(event.data) end
      open = false
      console.warn(report.coloured(2, ending[2], ending[1]) .. "\n")
    end)
  end
  -- Breaks a line that a step has begun, and goes on with it afterwards.
  return function(line)
    console.warn((open and "\n" or "") .. line)
  end
end

local function log_line(entry)
  local level = entry.level
  local colour = LOG_COLOURS[level]
  local line = ("%s (%s): %s: %s"):format(text.visible(entry.step_id),
    text.visible(entry.capability), colour and report.coloured(2, colour, level) or level,
    text.bounded(entry.message, MOST))
  if entry.data ~= nil then
    local json = moonplan.json.encode(entry.data)
    if json then line = line .. " " .. text.bounded(json, MOST) end
  end
  return line .. "\n"
end

--- Show what happens in a run.
---@param engine table
---@param total integer? how many steps there are, where a person watches them
function progress.watch(engine, total)
  local write = total and show_steps(engine, total) or console.warn
  engine:on("log", function(entry)
    if entry.level ~= "debug" then write(log_line(entry)) end
  end)
end

return progress
