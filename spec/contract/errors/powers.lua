--- The failures of powers: no document provokes them.

return {
  fixtures = {},
  ---@type table<string, string>
  elsewhere = {
    ["http.url"] = "spec/c/http_client_test.c",
    ["http.origin"] = "spec/c/http_client_test.c",
    ["http.method"] = "spec/c/http_client_test.c",
    ["http.header"] = "spec/c/http_client_test.c",
    ["http.address"] = "spec/c/http_client_test.c",
    ["http.unavailable"] = "spec/c/http_client_test.c",
    ["http.interrupted"] = "spec/c/http_client_test.c",
    ["rpc.endpoint"] = "spec/lua/network_spec.lua",
    ["rpc.request"] = "spec/lua/jsonrpc_spec.lua",
    ["rpc.unavailable"] = "spec/lua/network_spec.lua",
    ["rpc.interrupted"] = "spec/lua/network_spec.lua",
    ["rpc.response"] = "spec/lua/jsonrpc_spec.lua",
    ["rpc.error"] = "spec/lua/jsonrpc_spec.lua",
    ["kv.key"] = "spec/lua/kept_spec.lua",
    ["secret.name"] = "spec/lua/kept_spec.lua",
  },
}
