std = "lua54"
max_line_length = 100
include_files = {
  "lua/**/*.lua", "plugins/**/*.lua", "spec/**/*.lua", "examples/**/*.lua",
  ".busted", ".luacheckrc",
}
exclude_files = { "spec/data/lua-attacks" } -- hostile, and on one line
files["lua/moonplan/meta"] = { ignore = { "212", "241" } } -- declarations without bodies
files["lua/moonplan/meta/plugin.lua"] = { ignore = { "212", "241" }, globals = { "plugin" } }
-- Globals of plugins, beside those of Lua.
files["plugins"] = { read_globals = { "json", "moonplan", "plugin" } }
files["examples/plugins"] = files["plugins"]
-- Inside a plugin they are globals; elsewhere they are required.
files["lua/moonplan/jsonrpc.lua"] = { read_globals = { "json", "moonplan" } }
files["spec"] = {
  std = "+busted",
  max_line_length = 140, -- cases read best as one line each
}
-- What runs inside plugins' states sees what plugins see.
files["lua/moonplan/builder.lua"] = { read_globals = { "json", "moonplan" } }
