--- moonplan jobs export: the records of the audit trail.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local options = require "moonplan.command.options"
local report = require "moonplan.command.report"
local stores = require "moonplan.command.stores"

local export = {
  summary = "the records of the audit trail, as JSON lines",
  description = "Put out the records of a job, or of the whole store: each event with its place in "
    .. "the chain and its digest, as one line of JSON. The digest is BLAKE2b-256 over the line's "
    .. "bytes without its member digest; on a terminal hidden characters are escaped, so that it "
    .. "does not fit there.",
}

function export.describe(parser)
  parser:argument("id"):args("?"):description("A job's id; without one: all jobs.")
  stores.describe(parser)
  options.describe_limit(parser)
  parser:flag("--jsonl"):description("JSON lines; there is no other form, so this changes nothing.")
end

function export.run(arguments)
  local engine, code = stores.open(arguments.store, "read", options.limits(arguments))
  if not engine then return code end
  if arguments.id then
    local job
    job, code = stores.job(engine, arguments.store, arguments.id)
    if not job then return code end
  end
  local records, err = engine:records(arguments.id)
  if not records then return stores.refuse(arguments.store, err) end
  -- A digest is over these very bytes: whoever checks it needs them.
  local escaped = console.terminal(1)
  for _, record in ipairs(records) do
    console.write(escaped and report.escaped(record) or record)
    console.write("\n")
  end
  return exits.fine
end

return export
