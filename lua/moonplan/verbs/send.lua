--- moonplan send: hand a call plan to whoever signs and sends.
local abis = require "moonplan.command.abis"
local console = require "moonplan.console"
local engines = require "moonplan.command.engine"
local exits = require "moonplan.command.exits"
local findings = require "moonplan.command.findings"
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local options = require "moonplan.command.options"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local requests = require "moonplan.command.requests"
local sending = require "moonplan.command.sending"

local send = {
  summary = "hand a call plan to a node or wallet that signs it",
  description = "Try a call plan, ask, and have it carried out by a node or wallet that holds the "
    .. "account: nothing is signed here. One line a step goes to standard error, and what became "
    .. "of it, with hashes and receipts, to standard output as JSON. What was asked to be sent is "
    .. "never asked again.",
}

-- A number of the unit, of at most so many.
local function count(unit, most)
  return function(digits)
    local number = digits:match("^%d+$") and math.tointeger(tonumber(digits))
    if number and number <= most then return number end
    return nil, ("'%s' is not a number of %s from 0 to %d"):format(digits, unit, most)
  end
end

function send.describe(parser)
  parser:argument("file"):description("A call plan; - is standard input.")
  parser:option("--rpc"):argname("URL")
    :description("The node or wallet: granted to the executor as rpc:wallet, and to nothing else.")
  parser:option("--executor"):argname("NAME"):default("wallet.rpc")
    :description("What carries it out: wallet.rpc, wallet.sendcalls, or a plugin's.")
  parser:option("--digest"):argname("0x...")
    :description("Send no other plan than the one of this digest.")
  parser:flag("--yes"):description("Do not ask; where nobody can be asked, this is required.")
  parser:flag("--simulate-only"):description("Only try it; nothing is sent.")
  parser:option("--retry-rpc"):argname("N"):convert(count("retries", 100))
    :description("Ask a node that fails again, so often; never to send again.")
  parser:option("--timeout"):argname("SECONDS"):convert(count("seconds", 86400))
    :description("Wait so long for each receipt (300).")
  parser:option("--record"):argname("FILE"):convert(options.path "--record")
    :description("Keep a record in a new file: a line before and after everything that is sent.")
  abis.describe(parser)
  findings.describe(parser)
  requests.describe_now(parser)
  references.describe(parser)
  engines.describe(parser)
  parser:flag("--normalize")
    :description("Lower upper-case hexadecimal digits of the plan first.")
  options.describe_limit(parser)
end

local function read(arguments, limits)
  local name = arguments.file
  local content, fault = input.read(name, options.bound(limits))
  if not content then return nil, { fault } end
  local made = {
    limits = limits, hex_case = arguments.normalize and "normalize" or "reject",
    enforce_capabilities = false, -- sending does, by what the executor implements
  }
  local plan, faults, _, provenance = judge.document(name, content, {
    made = made, reference = references.options(arguments, made, "plan"),
  })
  if provenance then references.tell(name, provenance) end
  return plan, faults
end

-- Faults of the wallet's grant are the option's that it came by.
local function tell_rpc(faults)
  for _, fault in ipairs(faults) do
    if fault.file == "--grant" and fault.message:find('"rpc:wallet"', 1, true) then
      fault.file = "--rpc"
    end
  end
  return faults
end

local function engine_of(arguments)
  if arguments.rpc then
    arguments.grant = arguments.grant or {}
    if arguments.grant["rpc:wallet"] then
      return nil, { { code = "option", message = "--rpc and --grant rpc:wallet say the same" } }
    end
    arguments.grant["rpc:wallet"] = arguments.rpc
  end
  local engine, faults = engines.make(arguments)
  if not engine and arguments.rpc then tell_rpc(faults) end
  return engine, faults
end

-- Why nothing was sent; the exit code.
local function refuse(name, err)
  local code = report.faults(name, err.errors)
  if err.code == "send.executor" and err.message:find("needs rpc:wallet, ", 1, true) then
    report.note(name, "--rpc URL says where the node or wallet is")
  elseif err.code == "call.capability_unknown" and err.message:find(" it$") then
    report.note(name, "--executor NAME chooses who sends it")
  end
  return code
end

function send.run(arguments)
  local name = arguments.file
  local asks = not arguments.yes and not arguments.simulate_only
  if asks and not (console.terminal(0) and console.terminal(2)) then
    return nil, "nobody can be asked whether to send it, as standard input or error is no "
      .. "terminal; --yes says that it is wanted"
  end
  if arguments.record then
    local free, why = console.creatable(arguments.record)
    if not free then
      return report.faults(arguments.record,
        { { code = "io", message = "a record cannot be kept there: " .. why } })
    end
  end
  local limits = options.limits(arguments)
  local list, file, faults = abis.read(arguments)
  if not list then return report.faults(file, faults) end
  local plan
  plan, faults = read(arguments, limits)
  if not plan then return report.faults(name, faults) end
  report.warnings(name, plan.warnings)
  local review = assert(plan:review { limits = limits, abis = list, now = arguments.now })
  local code = findings.exit(review, arguments.fail_on)
  if code ~= exits.fine then
    sending.show_findings(review)
    return code
  end
  local engine
  engine, faults = engine_of(arguments)
  if not engine then return report.faults(name, faults) end
  local shown = sending.new(name, plan, review, arguments)
  local outcome, err = engine:send(plan, {
    executor = arguments.executor, digest = arguments.digest, abis = list,
    retry_rpc = arguments.retry_rpc,
    timeout_ms = arguments.timeout and arguments.timeout * 1000,
    simulate_only = arguments.simulate_only, confirm = shown:confirm(asks), record = shown:record(),
  })
  if not outcome then return refuse(name, err) end
  return shown:finish(outcome)
end

return send
