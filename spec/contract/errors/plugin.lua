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
    ["plugin.isolation"] = "spec/c/isolation_test.c",
    ["plugin.died"] = "spec/c/isolation_test.c",
    ["plugin.signature"] = "spec/lua/trust_spec.lua",
    ["plugin.trust"] = "spec/lua/trust_spec.lua",
    ["key.format"] = "spec/c/signature_test.c",
    ["key.password"] = "spec/c/signature_test.c",
    ["signature.format"] = "spec/c/signature_test.c",
    ["signature.key"] = "spec/c/signature_test.c",
    ["signature.wrong"] = "spec/c/signature_test.c",
    ["file.path"] = "spec/c/files_test.c",
    ["file.unavailable"] = "spec/c/files_test.c",
  },
}
