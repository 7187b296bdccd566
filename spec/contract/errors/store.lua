--- The codes of stores, of jobs in them, and of approvals: what provokes them takes a file, a job or
--- a key, so the fixtures are those of the tests in C.
local EVERY = "spec/c/store_test.c"
local FILE = "spec/c/store_file_test.c"

local elsewhere = { ["store.conflict"] = EVERY }

for _, name in ipairs { "open", "version", "full", "locked", "corrupt" } do elsewhere["store." .. name] = FILE end
for _, name in ipairs { "cancelled", "outcome_unknown", "awaiting_approval", "not_found", "state" } do
  elsewhere["job." .. name] = EVERY
end
for _, name in ipairs { "shape", "key", "signature", "expired", "used" } do elsewhere["approval." .. name] = EVERY end

return { fixtures = {}, elsewhere = elsewhere }
