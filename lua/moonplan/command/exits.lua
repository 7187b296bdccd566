--- Exit codes, and which one a fault earns.
local exits = {
  fine = 0,
  failed = 1, -- wrong usage, input or output, internal
  invalid = 2, -- the input
  job_failed = 3,
  waiting = 4, -- stopped: an outcome is unknown, or an approval is missing
  findings = 5, -- of a review, at or above --fail-on
}

-- Faults that say nothing about the input.
local OURS = {
  io = true, memory = true, option = true, ["file.unavailable"] = true, ["file.path"] = true,
  ["store.failed"] = true, ["store.open"] = true, ["store.version"] = true, ["store.full"] = true,
  ["store.locked"] = true, ["store.corrupt"] = true,
  ["send.executor"] = true, ["key.password"] = true,
}

---@param code string a fault's
---@return integer
function exits.of(code) return OURS[code] and exits.failed or exits.invalid end

--- Of several, a failure of ours comes before an invalid input: it left a question open.
---@param a integer
---@param b integer
---@return integer
function exits.worst(a, b)
  if a == exits.failed or b == exits.failed then return exits.failed end
  return math.max(a, b)
end

return exits
