--- Plugin files for specs, and engines that have them.
local command = require "spec.support.command"
local moonplan = require "moonplan"

local plugin_files = {}

--- The source of a plugin file with one capability. `body` is the function's, with the parameters
--- `input` and `ctx`; `fields` more of the manifest, as source.
---@param name string
---@param body string
---@param fields? string
---@return string
function plugin_files.source(name, body, fields)
  return ([[return {
  kind = "capability", api = 1, name = %q, version = "1.0.0", summary = "For a spec.", risk = "read", %s
  run = function(input, ctx) %s end,
}]]):format(name, fields and fields .. "," or "", body)
end

--- Write files below a new folder, whose path comes back. Folders in names are made.
---@param sources table<string, string> by path
---@return string folder
function plugin_files.folder(sources)
  local folder = command.folder()
  for path, source in pairs(sources) do
    local parent = path:match("^(.*)/")
    if parent then os.execute("mkdir -p " .. folder .. "/" .. parent) end
    command.write(folder .. "/" .. path, source)
  end
  return folder
end

--- An engine with these plugin files and no others.
---@param sources table<string, string>
---@param options? table more options
---@return moonplan.Engine engine, string folder
function plugin_files.engine(sources, options)
  local folder = plugin_files.folder(sources)
  local all = { plugins = folder, shipped = false }
  for name, value in pairs(options or {}) do all[name] = value end
  return assert(moonplan.engine(all)), folder
end

--- The job of one step.
---@param engine moonplan.Engine
---@param capability string
---@param input? any
---@return moonplan.Job? job, moonplan.Error? err
function plugin_files.call(engine, capability, input)
  return engine:run { version = "1.0", steps = { { id = "a", capability = capability, input = input } } }
end

--- The result of one step that has to be completed.
---@param engine moonplan.Engine
---@param capability string
---@param input? any
---@return any
function plugin_files.result(engine, capability, input)
  local job = assert(plugin_files.call(engine, capability, input))
  if job.error then error(job.error.code .. ": " .. job.error.message, 2) end
  return job.result
end

--- The failure of one step that has to fail.
---@param engine moonplan.Engine
---@param capability string
---@param input? any
---@return moonplan.Failure
function plugin_files.failure(engine, capability, input)
  local job = assert(plugin_files.call(engine, capability, input))
  return assert(job.error, "it was completed")
end

return plugin_files
