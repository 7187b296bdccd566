--- The codes of step plans and their jobs: what provokes them takes an engine with capabilities, so
--- the fixtures, with code, pointer and offset, are tables of the tests in C.
local ENGINE = "spec/c/engine_test.c"
local HOST = "spec/c/engine_host_test.c"
local MACHINE = "spec/c/step_test.c"

local elsewhere = {
  -- an engine that is closed, or a store that cannot write
  ["job.capability_gone"] = HOST,
  ["store.failed"] = HOST,
  -- an input that changed between admission and its step
  ["job.reference_source"] = MACHINE,
  ["job.reference_invalid"] = MACHINE,
}

for _, name in ipairs {
  "shape", "empty", "duplicate_step_id", "unknown_capability", "capability_version", "power_missing", "input_missing",
  "input_type", "input_schema", "input_number", "input_value", "reference_invalid", "reference_order", "version",
  "version_unknown", "step_id_unreachable",
} do
  elsewhere["plan." .. name] = ENGINE
end

for _, name in ipairs {
  "reference_path", "input_missing", "input_type", "input_schema", "input_number", "input_value", "denied",
  "decision_invalid", "authorizer_failed", "capability_failed", "result_shape", "output_type", "timeout", "memory",
} do
  elsewhere["job." .. name] = ENGINE
end

for _, name in ipairs { "manifest", "duplicate" } do elsewhere["plugin." .. name] = ENGINE end

return { fixtures = {}, elsewhere = elsewhere }
