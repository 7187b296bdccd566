--- Signed folders of plugins, and trust stores, for specs.
local cjson = require "cjson"
local command = require "spec.support.command"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"

local trusted = {}

--- A version other than that of plugin_files.source.
function trusted.versioned(name, version, body)
  return (plugin_files.source(name, body):gsub('version = "1%.0%.0"', ("version = %q"):format(version)))
end

--- An engine of one folder. Everything runs in this process: where is not the question here.
function trusted.engine_of(folder, options)
  local all = { plugins = folder, shipped = false, isolation = "state" }
  for name, value in pairs(options or {}) do all[name] = value end
  return assert(moonplan.engine(all))
end

function trusted.sign(folder, key) return assert(trusted.engine_of(folder):sign_plugins(key)) end

--- A folder that trusts these keys: name to key.
function trusted.store(keys, policy)
  local folder = command.folder()
  for name, key in pairs(keys) do command.write(folder .. "/" .. name .. ".pub", key.public.text) end
  if policy then command.write(folder .. "/trust.json", type(policy) == "string" and policy or cjson.encode(policy)) end
  return folder
end

--- What verifying says: the row, or nil and the message.
function trusted.verify(folder, trust, options)
  options = options or {}
  options.trust = trust
  local rows, err = trusted.engine_of(folder, options):verify_plugins()
  if rows then return rows[1] end
  assert(err.code == "plugin.signature", err.code)
  return nil, err.message
end

--- The reason for which a plan cannot use a plugin; nil where it can.
function trusted.refusal(folder, trust, name, options)
  options = options or {}
  options.trust = trust
  local job, err = plugin_files.call(trusted.engine_of(folder, options), name)
  if job then
    assert(job.status == "completed", job.status)
    return nil
  end
  return err.message, err.code
end

function trusted.events_of(engine)
  local list = {}
  engine:on("*", function(event)
    if event.type:find "^plugin%." then list[#list + 1] = event end
  end)
  return list
end

function trusted.hash(text) return moonplan.blake2b(text):sub(3) end

return trusted
