--- moonplan decode: what calldata calls, or why a call reverted.
local abis = require "moonplan.command.abis"
local call_text = require "moonplan.command.call_text"
local console = require "moonplan.console"
local findings = require "moonplan.command.findings"
local input = require "moonplan.command.input"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"

local decode = {
  summary = "decode calldata, or what a reverted call gave",
  description = "Decode bytes: calldata, with the calls inside it and what there is to find, or "
    .. "the data of a revert. Which of them it is shows in the selector; --as says it. What nobody "
    .. "described is shown as it is, and is no error.",
}

function decode.describe(parser)
  parser:argument("data")
    :description("0x and hexadecimal digits; - reads them from standard input.")
  abis.describe(parser)
  abis.describe_plugins(parser)
  parser:option("--as"):choices({ "call", "revert" })
    :description("Take the bytes for this instead of looking.")
  parser:option("--to"):argname("0x..."):convert(options.address)
    :description("The contract that is called.")
  parser:option("--chain"):argname("ID")
    :convert(function(words)
      if words:find("^%d+$") then return words end
      return nil, ("'%s' is not a chain id in decimal"):format(words)
    end)
    :description("The chain that it is on.")
  findings.describe(parser)
  options.describe_limit(parser)
  parser:flag("--json"):description("As a JSON object.")
end

-- Error(string) and Panic(uint256), which Solidity itself reverts with.
local SOLIDITY = { ["0x08c379a0"] = true, ["0x4e487b71"] = true }

-- An error that is described, and no function of that selector is.
local function described_error(selector, list)
  local found = false
  for _, source in ipairs(list) do
    for _, entry in ipairs(source.abi.entries) do
      if entry.selector == selector then
        if entry.kind == "function" then return false end
        found = true
      end
    end
  end
  return found
end

local function is_revert(data, list)
  local selector = data:sub(1, 10):lower()
  return SOLIDITY[selector] or described_error(selector, list)
end

-- The digits, from the command line or standard input.
local function read_data(arguments, limits)
  if arguments.data ~= "-" then return arguments.data end
  local content, fault = input.read("-", options.bound(limits))
  if not content then return nil, { fault } end
  return (content:gsub("%s+$", ""))
end

local NO_CALLDATA = "no calldata: value is moved, or the contract's fallback is called"

local function layout(call)
  local lines = {}
  findings.add(lines, call.findings)
  lines[#lines + 1] = ""
  lines[#lines + 1] = call_text.head(call) or NO_CALLDATA
  call_text.add(lines, "  ", call)
  if call_text.guessed(call) then lines[#lines + 1] = call_text.GUESS end
  return lines
end

function decode.run(arguments)
  local limits = options.limits(arguments)
  local list, name, faults = abis.read(arguments)
  if not list then return report.faults(name, faults) end
  local data, unread = read_data(arguments, limits)
  if not data then return report.faults("-", unread) end
  local revert = arguments.as == "revert" or not arguments.as and is_revert(data, list)
  local read = revert and moonplan.abi.decode_revert or moonplan.abi.decode_call
  local made, err = read(data, {
    abis = list, limits = limits, to = arguments.to, chain_id = arguments.chain,
  })
  if not made then return report.faults("DATA", err.errors) end
  if arguments.json then
    report.json(made)
  else
    local lines = revert and call_text.revert(made) or layout(made)
    console.write(table.concat(lines, "\n") .. "\n")
  end
  return findings.exit(revert and { counts = {} } or made, arguments.fail_on)
end

return decode
