--- The limits of typed-data requests.
local requests = require "spec.support.requests"

local struct, of = requests.struct, requests.of

return {
  request_bytes = {
    values = { 400, 262144 }, code = "limit", at = "", nowhere = true, door = "typed_data",
    needs = function(n) return requests.tiny() .. (" "):rep(n - #requests.tiny()) end,
  },
  nesting = {
    values = { 1, 2, 64 }, code = "limit", at = "/typed_data/message", door = "typed_data",
    -- one struct in another, and a value at so many levels below the message
    needs = function(n)
      local structs = {}
      for i = 1, n do structs[i] = struct(i == 1 and "T" or "S" .. i, { { "m", i == n and "bool" or "S" .. i + 1 } }) end
      return of(table.concat(structs, ","), ('{"m":'):rep(n) .. "true" .. ("}"):rep(n))
    end,
  },
  elements = {
    values = { 0, 1, 4096 }, code = "limit", at = "/typed_data/message", door = "typed_data",
    -- of all arrays together
    needs = function(n)
      local half = n // 2
      return of(struct("T", { { "a", "bool[]" }, { "b", "bool[]" } }),
        ('{"a":[%s],"b":[%s]}'):format(("true,"):rep(half):sub(1, -2), ("true,"):rep(n - half):sub(1, -2)))
    end,
  },
  types = {
    values = { 2, 3, 128 }, code = "limit", at = "/typed_data/types", door = "typed_data",
    -- the domain's, T, and structs that T leads to
    needs = function(n)
      local members, structs, message = {}, {}, {}
      for i = 1, n - 2 do
        members[i], structs[i], message[i] = { "m" .. i, "S" .. i }, struct("S" .. i, {}), ('"m%d":{}'):format(i)
      end
      table.insert(structs, 1, struct("T", members))
      return of(table.concat(structs, ","), "{" .. table.concat(message, ",") .. "}")
    end,
  },
  members = {
    values = { 1, 2, 128 }, code = "limit", at = "/typed_data/types/T", door = "typed_data",
    needs = function(n)
      local members, message = {}, {}
      for i = 1, n do members[i], message[i] = { "m" .. i, "bool" }, ('"m%d":true'):format(i) end
      return of(struct("T", members), "{" .. table.concat(message, ",") .. "}")
    end,
  },
}
