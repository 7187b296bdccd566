--- moonplan keys: the keys that plugins, approvals and audit trails are signed with.
local parsers = require "moonplan.command.parsers"

return parsers.group("keys", {
  summary = "make and show keys for signing",
  description = "Ed25519 keys in minisign's formats: NAME.key signs plugins, approvals and audit "
    .. "trails, NAME.pub verifies.",
}, { "new", "show" })
