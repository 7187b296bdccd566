--- moonplan convert: between call plans and the batches of other standards.
local input = require "moonplan.command.input"
local judge = require "moonplan.command.judge"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local output = require "moonplan.command.output"
local references = require "moonplan.command.references"
local report = require "moonplan.command.report"
local requests = require "moonplan.command.requests"

local convert = {
  summary = "turn call plans into batches of other standards, and back",
  description = "Turn a call plan into the parameters of wallet_sendCalls (EIP-5792, version "
    .. "2.0.0) or into a batch of the Safe Transaction Builder, or a batch into a call plan. What "
    .. "cannot be carried is refused; what is left behind is said on standard error.",
}

local FORMATS = { "sendcalls", "safe" }
local TO = { sendcalls = moonplan.convert.to_send_calls, safe = moonplan.convert.to_safe }
local FROM = { sendcalls = moonplan.convert.from_send_calls, safe = moonplan.convert.from_safe }

function convert.describe(parser)
  parser:argument("file"):description("A call plan, or a batch; - is standard input.")
  parser:mutex(
    parser:option("--to"):choices(FORMATS):description("Make a batch of this kind."),
    parser:option("--from"):choices(FORMATS):description("Make a call plan of such a batch."))
  parser:option("--account"):argname("0x..."):convert(options.address)
    :description("With --from: the sender, where the batch names none; it may name no other.")
  requests.describe_now(parser, "The time that a Safe batch says it was made at, in seconds since "
    .. "1970; 0 without it, for equal plans make equal batches.")
  parser:flag("--normalize")
    :description("With --to: lower upper-case hexadecimal digits of the plan first.")
  references.describe(parser)
  output.describe(parser)
  options.describe_limit(parser)
end

local function to_batch(name, content, arguments, limits)
  local made = {
    limits = limits, hex_case = arguments.normalize and "normalize" or "reject",
    enforce_capabilities = false,
  }
  local plan, faults, _, provenance = judge.document(name, content, {
    made = made, reference = references.options(arguments, made, "plan"),
  })
  if provenance then references.tell(name, provenance) end
  if not plan then return nil, faults end
  report.warnings(name, plan.warnings)
  local batch, lost = TO[arguments.to](plan, {
    limits = limits, created = (arguments.now or 0) * 1000,
  })
  if not batch then return nil, lost.errors end
  return batch, lost
end

local function to_plan(name, content, arguments, limits)
  local plan, lost = FROM[arguments.from](content, { limits = limits, account = arguments.account })
  if not plan then return nil, lost.errors end
  report.note(name, "the plan's digest is " .. plan.digest)
  return plan:source(""), lost
end

function convert.run(arguments)
  if not arguments.to and not arguments.from then
    return nil, "what is wanted is either --to a batch or --from one"
  end
  if arguments.account and not arguments.from then
    return nil, "--account is for --from: a plan has its sender"
  end
  local name, limits = arguments.file, options.limits(arguments)
  local content, fault = input.read(name, options.bound(limits))
  if not content then return report.faults(name, { fault }) end
  local made, notes = (arguments.to and to_batch or to_plan)(name, content, arguments, limits)
  if not made then return report.faults(name, notes) end
  report.warnings(name, notes)
  return output.put(arguments.out, made .. "\n")
end

return convert
