--- moonplan plugins: the plugins that there are, and how to write one.
local parsers = require "moonplan.command.parsers"

return parsers.group("plugins", {
  summary = "list, show, check, test, begin, sign and verify plugins",
  description = "Plugins bring capabilities, which steps call. A plugin is a Lua file that returns "
    .. "a table, NAME.lua or NAME/init.lua in a folder that --plugins names.",
}, { "list", "show", "check", "test", "new", "sign", "verify" })
