--- The limits of plugins.
local command = require "spec.support.command"
local plugin_files = require "spec.support.plugin_files"

-- An error that a plugin or its job has, as if it were a document's.
local function refused(err)
  return nil, { code = err.code, message = err.message, at = "", errors = { err } }
end

-- What the one capability `a` of these files gives for an input.
local function call(sources, options, input, granted)
  local engine = plugin_files.engine(sources, { limits = options.limits, grants = granted and { fs = granted } })
  local job, err = plugin_files.call(engine, "a", input)
  local _, problems = engine:list()
  command.clean()
  if problems[1] then return refused(problems[1]) end
  assert(job, err)
  if job.error then return refused(job.error) end
  return job.result
end

local function run(body, options, input) return call({ ["a.lua"] = plugin_files.source("a", body) }, options, input) end

return {
  copied_values = {
    values = { 1, 10, 5000 }, code = "limit", at = "", nowhere = true,
    needs = function(n) return ("1"):rep(n - 1) end,
    door = function(text, options)
      local list = {}
      for n = 1, #text do list[n] = 1 end
      return run("if #input == 0 then return end", options, require "moonplan".array(list))
    end,
  },
  -- A text, and four of it joined. string.rep would refuse by itself what cannot be held. The state
  -- itself takes about 30 KiB.
  memory_mib = {
    values = { 1, 4, 16 }, code = "job.memory", at = "", nowhere = true,
    needs = tostring,
    door = function(text, options)
      return run("local text = ('x'):rep(input) local joined = text .. text .. text .. text return #joined",
        options, math.tointeger(text) * 1048576 // 5 - 20000)
    end,
  },
  string_mib = {
    values = { 1, 3 }, code = "limit", at = "", nowhere = true,
    needs = function(n) return ("x"):rep(n * 1024 * 1024) end,
    door = function(text, options)
      local folder = plugin_files.folder { ["n.txt"] = text }
      local source = plugin_files.source("a", [[
        local content, err = ctx.fs.read "n.txt"
        return content and #content or { code = err.code, message = err.message }]], "needs = { 'fs' }")
      local result = call({ ["a.lua"] = source }, options, nil, folder)
      if type(result) == "table" then return refused(result) end
      return result
    end,
  },
  source_kib = {
    values = { 1, 2, 100 }, code = "plugin.load", at = "", nowhere = true,
    needs = function(n)
      local source = plugin_files.source("a", "return 1")
      return source .. "--" .. ("x"):rep(n * 1024 - #source - 2)
    end,
    door = function(text, options) return call({ ["a.lua"] = text }, options) end,
  },
  -- An entry costs 16 bytes beside its text.
  log_kib = {
    values = { 1, 16 }, code = "limit", at = "", nowhere = true,
    needs = function(n) return ("x"):rep(n * 1024 - 16) end,
    door = function(text, options)
      local engine = plugin_files.engine({ ["a.lua"] = plugin_files.source("a", "ctx.log.info(input)") },
        { limits = options.limits })
      local message
      engine:on("log", function(entry) message = entry.message end)
      assert(plugin_files.call(engine, "a", text))
      command.clean()
      if message == text then return true end
      return refused { code = "limit", message = message }
    end,
  },
  call_ms = { elsewhere = "spec/lua/plugin_spec.lua" },
  load_ms = { elsewhere = "spec/lua/plugin_spec.lua" },
}
