--- JSON texts, taken apart.

-- A row of names that a JSON Pointer (RFC 6901) is; nil and what is wrong with it.
local function names_of(pointer)
  if pointer == "" then return {} end
  if pointer:sub(1, 1) ~= "/" then
    return nil, ("a pointer that is not empty begins with /, and %q does not"):format(pointer)
  end
  if pointer:find("~[^01]") or pointer:find("~$") then
    return nil, ("%q has a ~ that is neither ~0 nor ~1"):format(pointer)
  end
  local names = {}
  for name in pointer:gmatch("/([^/]*)") do
    names[#names + 1] = name:gsub("~1", "/"):gsub("~0", "~")
  end
  return names
end

-- The member or element of that name; nil where there is none.
local function inside(value, name)
  if type(value) ~= "table" then return nil end
  if not moonplan.is_array(value) then return value[name] end
  local index = (name == "0" or name:find("^[1-9]%d*$")) and math.tointeger(tonumber(name))
  return index and value[index + 1]
end

---@type moonplan.Capability[]
return {
  {
    kind = "capability",
    api = 1,
    name = "json.select",
    version = "1.0.0",
    summary = "Read a JSON text and take one value out of it; the result is that value itself.",
    risk = "read",
    input = {
      text = { type = "string", required = true, description = "a JSON text (RFC 8259)" },
      pointer = { type = "string",
        description = "JSON Pointer (RFC 6901) to the value; the whole without one" },
    },
    examples = {
      { input = { text = '{"a":[{"b":1},{"b":[true]}]}', pointer = "/a/1/b" },
        output = moonplan.array { true } },
      { input = { text = '{"m~n":{"a/b":"\\u00e9"}}', pointer = "/m~0n/a~1b" },
        output = "\xc3\xa9" },
      { input = { text = "[1, 9007199254740993]" },
        output = moonplan.array { 1, 9007199254740993 } },
      { input = { text = '{"a":[]}', pointer = "/a/0" }, error = 'there is no value at "/a/0"' },
      { input = { text = "{}", pointer = "a" },
        error = 'a pointer that is not empty begins with /, and "a" does not' },
      { input = { text = "{}", pointer = "/~2" },
        error = '"/~2" has a ~ that is neither ~0 nor ~1' },
      -- The whole text is read, so a number that Lua cannot hold counts wherever it stands.
      { input = { text = '{"a":1,"b":[18446744073709551616]}', pointer = "/a" },
        error = 'json.number at /b/0 (line 1, column 13): "18446744073709551616" is outside Lua\'s '
          .. "integers, and a float would round it" },
    },
    run = function(input)
      local value, err = json.decode(input.text)
      if err then return nil, tostring(err) end
      local pointer = input.pointer or ""
      local names, why = names_of(pointer)
      if not names then return nil, why end
      for _, name in ipairs(names) do
        value = inside(value, name)
        if value == nil then return nil, ("there is no value at %q"):format(pointer) end
      end
      return value
    end,
  },
}
