--- moonplan digest: the plan digest (ERC-8410, Plan Digest), for scripts to rely on.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local options = require "moonplan.command.options"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local digest = {
  summary = "print the plan digest",
  description = "Print the plan digest: 0x and 64 hexadecimal digits, on a line. Of several "
    .. "files, the name follows after two spaces. A plan is validated first; one that is not "
    .. "valid has no digest.",
}

local function jobs(given)
  local number = given:find("^%d+$") and math.tointeger(tonumber(given))
  if number and number >= 1 and number <= 256 then return number end
  return nil, ("--jobs is a number from 1 to 256, not %s"):format(text.bounded(given, 96))
end

function digest.describe(parser)
  options.describe(parser)
  references.describe(parser)
  local explain = parser:flag("--explain")
    :description("First the canonical form, on a line; its Keccak-256 is the digest.")
  local ndjson = parser:flag("--ndjson")
    :description("A plan on each line of the input (blank lines are skipped), a line of output for "
      .. "each plan, in order; for a bad one the word invalid (error, where it could not be "
      .. "judged), and its faults on standard error.")
  parser:mutex(explain, ndjson)
  parser:option("--jobs"):argname("N"):default("1"):convert(jobs)
    :description("With --ndjson: so many threads at once, 1 to 256.")
end

-- Lines of a file count for plans of their own, so a fault's place is the line's number, and the
-- byte in that line.
local function place_in_line(faults, number)
  for _, fault in ipairs(faults) do
    -- What is wrong with an artifact has no place in the line that refers to it.
    if fault.file then fault.file, fault.offset = nil, nil end
    fault.line, fault.column = number, fault.offset and fault.offset + 1 or 1
  end
  return faults
end

-- Options for judging many lines at once, nil where a line may be something else than a call plan
-- or has to be looked at for its capabilities.
local function many(reading, arguments)
  local made, as = reading.made, reading.as
  if made.enforce_capabilities or (as and as ~= "call") then return nil end
  return { limits = made.limits, hex_case = made.hex_case, jobs = arguments.jobs }
end

-- A line by itself, or what kept it from being read.
local function digest_line(name, number, line, fault, reading)
  local plan, faults, provenance, _
  if line then plan, faults, _, provenance = judge.document(name, line, reading)
  else faults = { fault } end
  if provenance then references.tell(("%s:%d"):format(name, number), provenance) end
  if plan then
    console.write(plan.digest .. "\n")
    return exits.fine
  end
  if fault and fault.code == "io" then return report.faults(name, faults) end
  -- A failure of ours says nothing about the plan.
  console.write(exits.of(faults[1].code) == exits.failed and "error\n" or "invalid\n")
  return report.faults(name, place_in_line(faults, number))
end

local function digest_lines(name, reading, arguments)
  local code, limit = exits.fine, options.document_bytes(reading.made)
  for number, line, fault, digests in input.lines(name, limit, many(reading, arguments)) do
    if digests then console.write(digests)
    else code = exits.worst(code, digest_line(name, number, line, fault, reading)) end
  end
  return code
end

local function digest_file(name, reading, arguments)
  local content, fault = input.read(name, options.bound(reading.made.limits, reading.as))
  local plan, faults, provenance, _
  if content then plan, faults, _, provenance = judge.document(name, content, reading)
  else faults = { fault } end
  if provenance then references.tell(name, provenance) end
  if not plan then return report.faults(name, faults) end
  if arguments.explain then
    local canonical, err = plan:canonical()
    if not canonical then return report.faults(name, err.errors) end
    console.write(canonical)
    console.write("\n")
  end
  local suffix = #arguments.file > 1 and "  " .. text.visible(name) or ""
  console.write(plan.digest .. suffix .. "\n")
  return exits.fine
end

function digest.run(arguments)
  local made, code = options.of(arguments), exits.fine
  local reading = {
    made = made, as = arguments.as, reference = references.options(arguments, made, "plan"),
  }
  for _, name in ipairs(arguments.file) do
    local one
    if arguments.ndjson then one = digest_lines(name, reading, arguments)
    else one = digest_file(name, reading, arguments) end
    code = exits.worst(code, one)
  end
  return code
end

return digest
