--- The limits of powers.
local command = require "spec.support.command"
local plugin_files = require "spec.support.plugin_files"

-- A plugin keeps one value after the other; the first refusal comes back.
local function keep(list, options)
  local engine = plugin_files.engine({ ["a.lua"] = plugin_files.source("a", [[
    for i, value in ipairs(input) do
      local _, err = ctx.kv.set(string.char(64 + i), value)
      if err then return { code = err.code, message = err.message } end
    end
    return true]], "needs = { 'kv' }") }, { limits = options.limits, grants = { kv = true } })
  local result = plugin_files.result(engine, "a", list)
  command.clean()
  if result == true then return true end
  return nil, { code = result.code, message = result.message, at = "", errors = { result } }
end

return {
  kv_keys = {
    values = { 1, 2, 40 }, code = "limit", at = "", nowhere = true,
    needs = function(n) return ("1"):rep(n) end,
    door = function(text, options)
      local list = require "moonplan".array {}
      for n = 1, #text do list[n] = 1 end
      return keep(list, options)
    end,
  },
  -- A key of one byte, and the value's quotes.
  kv_kib = {
    values = { 1, 2, 100 }, code = "limit", at = "", nowhere = true,
    needs = function(n) return ("x"):rep(n * 1024 - 3) end,
    door = function(text, options) return keep({ text }, options) end,
  },
}
