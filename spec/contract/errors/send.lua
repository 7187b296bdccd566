--- The faults of sending, and of the files and streams of the command: a plan's text provokes none
--- of them.

local elsewhere = { io = "spec/cli/validate_spec.lua" }
for _, name in ipairs { "executor", "digest", "rpc_error", "execution_reverted", "simulation_setup_error", "answer",
  "refused", "declined", "unknown", "chain", "account", "not_atomic" } do
  elsewhere["send." .. name] = "spec/lua/send_spec.lua"
end

return { fixtures = {}, elsewhere = elsewhere }
