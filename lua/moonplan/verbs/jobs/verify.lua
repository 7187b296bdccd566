--- moonplan jobs verify: has anybody changed what a store says?
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local keys = require "moonplan.command.keys"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"
local text = require "moonplan.command.text"

local verify = {
  summary = "check that nobody has changed what a store says",
  description = "Check the chain of events of the whole store, and every job against it. A record "
    .. "that was edited, dropped, inserted or moved is named. What comes last can be cut off "
    .. "unseen unless the head was signed: give the public half of that key.",
}

function verify.describe(parser)
  parser:argument("store"):convert(options.path "STORE"):description("The store's file.")
  parser:option("--key"):argname("FILE.pub"):convert(options.path "--key")
    :description("The key that moonplan jobs sign has signed the head with.")
  options.describe_limit(parser)
  parser:flag("--json"):description("As a JSON object: sound, jobs, records, head, signed, faults.")
end

local function layout(found, path, asked)
  local name = text.visible(path)
  for _, fault in ipairs(found.faults) do
    local where = fault.job_id and (" in job %s"):format(text.visible(fault.job_id)) or ""
    local at = fault.sequence and (" at record %d"):format(fault.sequence) or ""
    console.warn(("%s: %s[%s]%s%s: %s\n"):format(name, report.coloured(2, "red", "error"),
      fault.what, where, at, text.bounded(fault.message, 2000)))
  end
  if not found.sound then return end
  local signed = ""
  if found.signed then
    signed = ("; signed up to record %d on %s"):format(found.signed.sequence, found.signed.time)
  elseif asked then
    signed = "; not signed by that key"
  end
  console.write(("%s: %s, %s, head %s%s\n"):format(name, text.count(found.jobs, "job"),
    text.count(found.records, "record"), found.head, signed))
end

function verify.run(arguments)
  local key
  if arguments.key then
    local err
    key, err = moonplan.keys.public(arguments.key)
    if not key then
      return report.faults(arguments.key, keys.blame(err.errors, arguments.key))
    end
  end
  local engine, code = stores.open(arguments.store, "read", options.limits(arguments))
  if not engine then return code end
  local found, err = engine:verify { key = key }
  if not found then return stores.refuse(arguments.store, err) end
  if arguments.json then report.json(found) else layout(found, arguments.store, key) end
  local unsigned = key and not found.signed
  return found.sound and not unsigned and exits.fine or exits.invalid
end

return verify
