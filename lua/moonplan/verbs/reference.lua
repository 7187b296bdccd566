--- moonplan reference: artifact references (ERC-8410), which name stored bytes by URL, length and
--- digest.
local parsers = require "moonplan.command.parsers"

return parsers.group("reference", {
  summary = "make, check and resolve references to plans stored elsewhere",
  description = "An artifact reference names a plan or a request by URL, length and digest. "
    .. "Resolving one fetches the bytes, checks them against what was promised, and validates "
    .. "them as if they had come inline.",
}, { "make", "resolve", "check" })
