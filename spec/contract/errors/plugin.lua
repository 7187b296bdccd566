--- The faults of plugin files, of host values, and of what lies below a granted root: no document
--- provokes them.

return {
  fixtures = {},
  ---@type table<string, string>
  elsewhere = {
    ["plan.capture"] = "spec/lua/capture_spec.lua",
    ["plugin.load"] = "spec/lua/plugin_spec.lua",
    ["plugin.name"] = "spec/lua/plugin_spec.lua",
    ["plugin.version_api"] = "spec/lua/plugin_spec.lua",
    ["file.path"] = "spec/c/files_test.c",
    ["file.unavailable"] = "spec/c/files_test.c",
  },
}
