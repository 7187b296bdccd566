--- Approvals on the command line: which steps need one, whose count, and reading them.
local console = require "moonplan.console"
local input = require "moonplan.command.input"
local keys = require "moonplan.command.keys"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local parts = require "moonplan.command.parts"
local text = require "moonplan.command.text"

local approvals = {}

function approvals.describe(parser)
  parser:option("--require-approval"):argname("RISK"):count("*")
    :choices({ "read", "write", "destructive" })
    :description("Run capabilities of this risk only with a signed approval; repeatable.")
  parser:option("--approver"):argname("FILE.pub"):count("*"):convert(options.path "--approver")
    :description("A key whose approvals count; repeatable.")
  parser:option("--approval"):argname("FILE"):count("*"):convert(options.path "--approval")
    :description("An approval, made by moonplan approve; repeatable.")
end

--- The keys of `--approver`, or nil and the faults.
function approvals.approvers(arguments)
  local list = {}
  for i, path in ipairs(arguments.approver or {}) do
    local key, err = moonplan.keys.public(path)
    if not key then return nil, keys.blame(err.errors, path) end
    list[i] = key
  end
  return list
end

--- The texts of `--approval`, or nil and the faults.
function approvals.read(arguments)
  local list = {}
  for i, path in ipairs(arguments.approval or {}) do
    local content, fault = input.read(path,
      options.document_bytes { limits = options.limits(arguments) })
    if not content then
      fault.file = path
      return nil, { fault }
    end
    list[i] = content
  end
  return list
end

--- Faults of approvals, of which it is not known which of the files they are about unless there is
--- one alone.
---@param faults table[]
function approvals.blame(faults, arguments)
  local files = arguments.approval or {}
  for _, fault in ipairs(faults) do
    if fault.code:find("^approval%.") then
      fault.file = #files == 1 and files[1] or "--approval"
    end
  end
  return faults
end

local UNITS = { s = 1000, m = 60 * 1000, h = 3600 * 1000, d = 24 * 3600 * 1000 }

--- For an option that takes a length of time: 90s, 10m, 2h, 7d. In milliseconds.
---@param given string
---@return integer?
---@return string? complaint
function approvals.duration(given)
  local digits, unit = given:match("^(%d%d?%d?%d?%d?%d?)([smhd])$")
  local length = digits and math.tointeger(tonumber(digits)) * UNITS[unit]
  if length and length > 0 then return length end
  return nil, ("%s is not a length of time as 90s, 10m, 2h or 7d"):format(text.bounded(given, 96))
end

--- What is signed, for whoever is about to sign it; on standard error.
---@param document string the approval, JSON text
function approvals.show(document)
  local approval = parts.members(document)
  local names = {}
  for name in pairs(approval) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    console.warn(("  %-18s %s\n"):format(text.visible(name),
      text.bounded(approval[name], 2000)))
  end
end

return approvals
