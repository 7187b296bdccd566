--- moonplan typed-data: typed-data signature requests (ERC-8410), which ask for one EIP-712
--- signature, and what comes back.
local parsers = require "moonplan.command.parsers"

return parsers.group("typed-data", {
  summary = "hash and validate typed-data signature requests; check results",
  description = "Typed-data signature requests ask for one EIP-712 signature. Nothing here holds a "
    .. "key, signs, or verifies a signature. \"moonplan review\" lays a request out for a person.",
}, { "digest", "validate", "check-result" })
