--- The limits of documents and of call plans, but for `errors`, whose law is in limits_spec.lua.
local plans = require "spec.support.plans"

return {
  document_bytes = {
    values = { 400, 1000, 16777216 }, code = "limit", at = "", nowhere = true,
    needs = function(n) return plans.tiny() .. (" "):rep(n - #plans.tiny()) end,
  },
  depth = {
    values = { 5, 128, 1000 }, code = "json.depth", at = "/extensions",
    -- the plan, and extensions with arrays in it
    needs = function(n)
      return plans.of({ plans.step(1) }, ',"extensions":{"a":' .. ("["):rep(n - 2) .. ("]"):rep(n - 2) .. "}")
    end,
  },
  values = {
    values = { 100, 5000 }, code = "limit", at = "/extensions/a",
    -- 16 in the smallest plan: the plan, 4 scalars, the list, the step, its number and kind, the
    -- transaction, its 5 members; extensions, the list in it, and the rest
    needs = function(n)
      local count = n - 17
      return plans.of({ plans.step(1) }, ',"extensions":{"a":[' .. ("0,"):rep(count - 1) .. "0]}")
    end,
  },
  steps = { values = { 1, 3, 4096 }, code = "limit", at = "/ordered_steps", needs = function(n) return plans.many(n, 0) end },
  calldata_bytes = {
    values = { 0, 1, 1000 }, code = "limit", at = "/ordered_steps/1/transaction/data",
    needs = function(n)
      local half = n // 2
      return plans.of {
        plans.step(1, { data = "0x" .. ("aa"):rep(half) }), plans.step(2, { data = "0x" .. ("bb"):rep(n - half) }),
      }
    end,
  },
  extensions_bytes = {
    values = { 10, 1000, 65536 }, code = "limit", at = "/extensions",
    -- its text as it stands in the document, white space included
    needs = function(n)
      return plans.of({ plans.step(1) }, ',"extensions":{"a": "' .. ("x"):rep(n - 9) .. '"}')
    end,
  },
  abi_entries = {
    values = { 1, 2, 128 }, code = "limit", at = "/ordered_steps/0/revert_decode/abi",
    needs = function(n)
      local entry = '{"type":"error","name":"E","inputs":[]}'
      return plans.of { plans.step(1, { revert = '{"kind":"error_result","abi":[' .. entry .. ("," .. entry):rep(n - 1) .. "]}" }) }
    end,
  },
  abi_bytes = {
    values = { 100, 65536 }, code = "limit", at = "/ordered_steps/0/revert_decode/abi",
    needs = function(n)
      local entry = '[{"type":"error","name":"E","inputs":[]}'
      return plans.of { plans.step(1, { revert = '{"kind":"error_result","abi":' .. entry .. (" "):rep(n - #entry - 1) .. "]}" }) }
    end,
  },
  capabilities = {
    values = { 0, 1, 32 }, code = "limit", at = "/required_capabilities",
    needs = function(n)
      local names = ('"atomic_batch",'):rep(n):sub(1, -2)
      return plans.of({ plans.step(1) }, ',"required_capabilities":[' .. names .. "]")
    end,
  },
}
