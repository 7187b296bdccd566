--- Findings of a review: a line each, and what they do to the exit code.
local exits = require "moonplan.command.exits"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local findings = {}

local GRAVITY = { info = 1, warning = 2, danger = 3 }
local COLOURS = { danger = "red", warning = "yellow" }

--- Where a finding is, for a person: "in call 2.1", "in step 3", "at /extensions", or "".
---@param finding table
---@return string
function findings.place(finding)
  if finding.call then return " in call " .. finding.call end
  if finding.step then return " in step " .. finding.step end
  if finding.at == "" then return "" end
  return " at " .. text.visible(finding.at)
end

--- The gravest comes first, as the library sorts them.
---@param lines string[]
---@param list table[]
---@param descriptor integer? where the lines go: 1, or 2 for standard error
function findings.add(lines, list, descriptor)
  if #list == 0 then
    lines[#lines + 1] = "Findings: none"
    return
  end
  lines[#lines + 1] = "Findings"
  for _, finding in ipairs(list) do
    local colour = COLOURS[finding.severity]
    local severity = colour and report.coloured(descriptor or 1, colour, finding.severity)
      or finding.severity
    lines[#lines + 1] = ("  %s[%s]%s: %s"):format(severity, finding.code, findings.place(finding),
      finding.message)
  end
end

function findings.describe(parser)
  parser:option("--fail-on"):choices({ "warning", "danger" })
    :description("Exit with 5 where there is a finding so grave, or graver.")
end

--- The exit code that a review earns.
---@param review table
---@param fail_on "warning"|"danger"|nil
---@return integer
function findings.exit(review, fail_on)
  for severity, count in pairs(review.counts) do
    if fail_on and count > 0 and GRAVITY[severity] >= GRAVITY[fail_on] then
      return exits.findings
    end
  end
  return exits.fine
end

return findings
