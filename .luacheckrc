std = "lua54"
max_line_length = 100
include_files = {
  "lua/**/*.lua", "plugins/**/*.lua", "spec/**/*.lua", "examples/**/*.lua",
  ".busted", ".luacheckrc",
}
files["lua/moonplan/meta"] = { ignore = { "212", "241" } } -- declarations without bodies
files["lua/moonplan/meta/plugin.lua"] = { ignore = { "212", "241" }, globals = { "plugin" } }
-- Globals of plugins, beside those of Lua.
files["plugins"] = { read_globals = { "json", "moonplan", "plugin" } }
files["examples/plugins"] = files["plugins"]
files["spec"] = {
  std = "+busted",
  max_line_length = 140, -- cases read best as one line each
}
