--- Artifact references on the command line: which are followed, what is at their end, and what is
--- proved of where that came from.
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local references = {}

local TRANSPORTS = { data = true, https = true, file = true }

-- NAME,NAME,...
local function transport_names(words)
  local names = {}
  for name in (words .. ","):gmatch("([^,]*),") do
    if not TRANSPORTS[name] then
      return nil, ("there is no transport '%s'; there are: data, https, file"):format(name)
    end
    names[#names + 1] = name
  end
  return names
end

--- Which references are followed.
function references.describe(parser)
  parser:option("--transport"):argname("NAME,..."):count("*"):convert(transport_names)
    :description("Follow references by these: data (inside the URL; the default), https, file.")
  parser:option("--file-root"):argname("DIR"):count("*"):convert(options.path "--file-root")
    :description("A folder that file: references may lead into; there is none unless it is named.")
end

--- What the reference has to name.
---@param help string what the option does here
function references.describe_expect(parser, help)
  parser:option("--expect"):choices({ "plan", "typed-data" }):description(help)
end

--- What moonplan.reference takes.
---@param arguments table parsed
---@param made table? for moonplan.call_plan, which is what becomes of the artifact
---@param expect "plan"|"typed-data"|nil what the reference must name
---@return table
function references.options(arguments, made, expect)
  local settings = {}
  for name, value in pairs(made or {}) do settings[name] = value end
  local transports = {}
  for _, names in ipairs(arguments.transport) do
    table.move(names, 1, #names, #transports + 1, transports)
  end
  if #transports > 0 then settings.transports = transports end
  settings.file_roots, settings.expect = arguments.file_root, expect
  return settings
end

-- The faults of an artifact have their places there, and not in the envelope.
---@param name string
---@param faults table[]
---@return table[] faults the same
function references.of_artifact(name, faults)
  return report.blame(faults, "the artifact of " .. name)
end

--- What an envelope names: its text, the plan or request, its kind and its provenance; or nil and
--- the faults.
---@param name string of the envelope, for people
---@param envelope string
---@param settings table
---@return table? resolved
---@return table[]? faults
function references.resolve(name, envelope, settings)
  local reference, err = moonplan.reference(envelope, settings)
  if not reference then return nil, err.errors end
  local resolved, refusal, where = reference:resolve()
  if resolved then return resolved end
  if where == "artifact" then return nil, references.of_artifact(name, refusal.errors) end
  return nil, refusal.errors
end

local ORIGINS = {
  https = "fetched from %s, whose certificate was verified",
  data = "carried in the reference's own URL, which proves no origin",
  file = "read from a file of this machine, which proves no origin",
}

--- Say where an artifact came from, as far as that is proved.
---@param name string
---@param provenance table
function references.tell(name, provenance)
  local origin = ORIGINS[provenance.transport]:format(provenance.origin)
  report.note(name, ("%s; %s, keccak256 %s"):format(origin, text.count(provenance.bytes, "byte"),
    provenance.digest))
end

return references
