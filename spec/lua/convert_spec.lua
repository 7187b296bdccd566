-- The table "Lua and JSON", row by row; lua-cjson is the outside judge where it is right. What
-- strict reading refuses is in spec/core/json_spec.lua.
local moonplan = require "moonplan"
local cjson = require "cjson"

local decode, encode = moonplan.json.decode, moonplan.json.encode
local null, array, is_array = moonplan.null, moonplan.array, moonplan.is_array

-- The code and place of a refusal; fails when there is none.
local function refused(value, options)
  local text, err = encode(value, options)
  assert.is_nil(text)
  return err.code, err.at, err.message
end

local function nest(depth)
  local outer = {}
  local inner = outer
  for _ = 2, depth do
    inner.a = {}
    inner = inner.a
  end
  return outer, inner
end

describe("JSON to Lua", function()
  it("gives null as lua-cjson does", function()
    assert.equal(cjson.null, null)
    assert.equal(null, decode "null")
    assert.equal(null, decode('{"a":[null]}').a[1])
  end)

  it("keeps every 64-bit integer", function()
    -- 2^63 - 1 and its neighbours in any table of powers; math.maxinteger is Lua's own word for it
    for text, integer in pairs {
      ["9223372036854775807"] = math.maxinteger, ["-9223372036854775808"] = math.mininteger,
      ["9007199254740993"] = (1 << 53) + 1, ["0"] = 0, ["-1"] = -1,
    } do
      local value = decode(text)
      assert.equal("integer", math.type(value))
      assert.equal(integer, value)
    end
  end)

  it("refuses integers that Lua does not have, at their place", function()
    for _, text in ipairs {
      "9223372036854775808", "-9223372036854775809", "1" .. ("0"):rep(400),
    } do
      local value, err = decode('{"a":[1,\n' .. text .. "]}")
      assert.is_nil(value)
      assert.equal("json.number", err.code)
      assert.equal("/a/1", err.at)
      assert.same({ 2, 1, 9 }, { err.line, err.column, err.offset })
      assert.is_true(#err.message < 200)
    end
  end)

  it("takes the nearest float, as Lua's own reader does in the C locale", function()
    for _, text in ipairs {
      "0.1", "1.0", "1e3", "1E+3", "-0.0", "4.35", "5e-324", "2.5e-324", "2.4703282292062327e-324",
      "1.7976931348623157e308", "1.7976931348623158e308", "2.2250738585072011e-308",
      "123456789.125e-3", "9007199254740993.0", "9007199254740992.999", "0.000001e6", "1e-400",
      "0e999999999999999999999", "1e-999999999999999999999", "100000000000000000000000.0",
      "0." .. ("0"):rep(50) .. "1e51",
    } do
      local value = decode(text)
      assert.equal("float", math.type(value), text)
      assert.equal(("%a"):format(tonumber(text)), ("%a"):format(value), text)
    end
    assert.equal("-0.0", tostring(decode "-0"))
  end)

  it("rounds a float of any length once", function()
    -- Half-way between 1 and the next float, 1 + 2^-52, is 1 + 2^-53, whose decimals end; a digit
    -- behind them, however far, decides.
    local half = "1.00000000000000011102230246251565404236316680908203125"
    assert.equal(1.0, decode(half))
    assert.equal(1.0, decode(half .. ("0"):rep(5000)))
    assert.equal(1.0 + 2.0 ^ -52, decode(half .. ("0"):rep(5000) .. "1"))
    assert.equal(1.0 + 2.0 ^ -52, decode(half .. ("0"):rep(700) .. "1" .. ("0"):rep(700)))
    assert.equal(1e300, decode("1" .. ("0"):rep(1300) .. ".0e-1000"))
  end)

  it("refuses floats that Lua does not have", function()
    for _, text in ipairs { "1e309", "-1e309", "1.7976931348623159e308", "1e999999999999999999999",
      "1" .. ("0"):rep(309) .. ".0" } do
      local value, err = decode("[" .. text .. "]")
      assert.is_nil(value)
      assert.equal("json.number", err.code)
      assert.equal("/0", err.at)
    end
  end)

  it("marks arrays and leaves objects plain", function()
    local value = decode '{"list":[[],{}],"map":{}}'
    assert.is_true(is_array(value.list))
    assert.is_true(is_array(value.list[1]))
    assert.is_false(is_array(value.list[2]))
    assert.is_false(is_array(value.map))
    assert.is_nil(getmetatable(value.map))
    assert.equal(2, #value.list)
  end)

  it("gives fresh tables each time", function()
    local one, two = decode "[{}]", decode "[{}]"
    assert.is_false(rawequal(one, two))
    assert.is_false(rawequal(one[1], two[1]))
  end)

  it("has no names that do anything", function()
    local names = { "__gc", "__index", "__metatable", "__mode", "__close", "__name", "" }
    local parts = {}
    for n, name in ipairs(names) do parts[n] = ('%q:{"__gc":1}'):format(name) end
    local value = decode("{" .. table.concat(parts, ",") .. "}")
    assert.is_nil(getmetatable(value))
    for _, name in ipairs(names) do assert.equal(1, rawget(value, name).__gc) end
  end)

  it("agrees with lua-cjson on what both can say", function()
    for _, text in ipairs {
      '{"a":[1,2,{"b":"\\u00e9\\ud83d\\ude00\\n"}],"c":true,"d":[[],[1]],"e":1.5,"f":"\\u0000"}',
      "[" .. ("[1],"):rep(5000) .. "[2]]",
      '{"x":{"x":{"x":{"x":{"x":["deep"]}}}}}',
    } do
      assert.same(cjson.decode(text), decode(text))
    end
  end)

  it("reads as deep as the limit's ceiling", function()
    local text = ('[{"a":'):rep(512) .. "0" .. ("}]"):rep(512)
    local value = decode(text, { limits = { depth = 1024 } })
    local depth = 0
    while value ~= 0 do
      value = value[1] or value.a
      depth = depth + 1
    end
    assert.equal(1024, depth)
  end)
end)

describe("Lua to JSON", function()
  it("writes scalars", function()
    for text, value in pairs {
      ["true"] = true, ["false"] = false, ["null"] = null, ['""'] = "", ["7"] = 7,
      ["-9223372036854775808"] = math.mininteger, ["1000.0"] = 1e3, ["-0.0"] = -0.0, ["0.1"] = 0.1,
      ["1e300"] = 1e300, ["5e-324"] = 5e-324, ['"\\u0000\\n\\"\\\\/\u{e9}"'] = "\0\n\"\\/\u{e9}",
    } do
      assert.equal(text, encode(value))
    end
    assert.equal("null", encode(nil))
  end)

  it("writes floats that read back as the same float, and as floats", function()
    for _, number in ipairs {
      1 / 3, 2.0 ^ 53, 2.0 ^ 63, 1e22, 1e23, 123456789012345680.0, 2.0 ^ -1074,
      2.2250738585072014e-308, 1.7976931348623157e308, 1e-7, 100.0,
    } do
      local text = encode(number)
      assert.equal("float", math.type(tonumber(text)), text)
      assert.equal(number, tonumber(text), text)
      assert.equal(number, decode(text))
    end
  end)

  it("sees an array in a mark, or in keys from 1 to n", function()
    assert.equal("[]", encode(array {}))
    assert.equal("{}", encode {})
    assert.equal("[1,[2]]", encode { 1, { 2 } })
    assert.equal("[null]", encode { null })
    local late = {}
    for n = 9, 1, -1 do late[n] = n end
    assert.equal("[1,2,3,4,5,6,7,8,9]", encode(late))
    assert.equal('{"1":2}', encode { ["1"] = 2 })
  end)

  it("sorts members by their bytes, so that equal tables give equal texts", function()
    local names = { "b", "a", "", "aa", "B", "\u{e9}", "\u{10000}", "\u{ffff}", "a\0", "~", "1" }
    local one, two = {}, {}
    for n = 1, #names do one[names[n]] = n end
    for n = #names, 1, -1 do two[names[n]] = n end
    assert.equal(encode(one), encode(two))
    table.sort(names)
    local order = {}
    for name in encode(one):gmatch '"(.-)":' do order[#order + 1] = decode('"' .. name .. '"') end
    assert.same(names, order)
  end)

  it("sorts many members", function()
    local value, names = {}, {}
    for n = 1, 1000 do
      names[n] = ("%x"):format(n * 2654435761 % 4294967296)
      value[names[n]] = n
    end
    table.sort(names)
    local n = 0
    for name in encode(value):gmatch '"(%x+)":' do
      n = n + 1
      assert.equal(names[n], name)
    end
    assert.equal(1000, n)
  end)

  it("indents when asked", function()
    local value = { a = { 1, array {}, { b = {} } }, c = "x" }
    assert.equal(table.concat({
      "{", '  "a": [', "    1,", "    [],", "    {", '      "b": {}', "    }", "  ],", '  "c": "x"',
      "}",
    }, "\n"), encode(value, { indent = 2 }))
    assert.equal(encode(value), encode(value, { indent = 0 }))
    assert.same(value, decode(encode(value, { indent = 16 })))
    assert.equal("[]", encode(array {}, { indent = 4 }))
  end)

  it("is read by lua-cjson as what it was", function()
    local value = {
      list = { 1, 2.5, "x\u{e9}\n" }, map = { ["a/b~"] = true, [""] = null }, no = false,
    }
    assert.same(value, cjson.decode(encode(value)))
    assert.same(value, cjson.decode(encode(value, { indent = 3 })))
  end)

  it("refuses what JSON has not, at its place", function()
    for _, case in ipairs {
      { "json.value", "", print },
      { "json.value", "/a", { a = io.stdout } },
      { "json.value", "/a/1", { a = { 1, coroutine.create(print) } } },
      { "json.value", "/x", { x = 0 / 0 } },
      { "json.value", "/x/0", { x = { 1 / 0 } } },
      { "json.value", "/x", { x = { 1, nil, 3 } } },
      { "json.value", "/x", { x = { [0] = 1 } } },
      { "json.value", "/x", { x = { [-1] = 1 } } },
      { "json.value", "/x", { x = { [1.5] = 1 } } },
      { "json.value", "/x", { x = { [true] = 1 } } },
      { "json.value", "/x", { x = { [{}] = 1 } } },
      { "json.value", "/x", { x = { [print] = 1 } } },
      { "json.value", "/x", { x = { 1, y = 2 } } },
      { "json.value", "/x", { x = array { y = 2 } } },
      { "json.value", "/x", { x = array { [3] = 2 } } },
      { "json.value", "", { [2] = 1 } },
      { "json.utf8", "/a~1b/~0", { ["a/b"] = { ["~"] = "ok\xff" } } },
      { "json.utf8", "/a", { a = "\xed\xa0\x80" } },
      { "json.utf8", "/a", { a = "\xc0\x80" } },
      { "json.utf8", "/a", { a = { ["\xff"] = 1 } } },
    } do
      local code, at = refused(case[3])
      assert.same({ case[1], case[2] }, { code, at })
    end
  end)

  it("refuses a huge hole fast and without memory for it", function()
    local before = collectgarbage "count"
    local code = refused { [1] = true, [1000000000] = true }
    assert.equal("json.value", code)
    assert.is_true(collectgarbage "count" - before < 64)
    local _, _, message = refused { 1, 2, nil, 4 }
    assert.truthy(message:find("position 3 of 4", 1, true))
  end)

  it("names where a table comes to stand in itself", function()
    local loop = { list = { 1, {} } }
    loop.list[2].back = loop.list
    local code, at, message = refused(loop)
    assert.same({ "json.value", "/list/1/back" }, { code, at })
    assert.truthy(message:find('"/list"', 1, true))
    local self = {}
    self[1] = self
    code, at = refused(self)
    assert.same({ "json.value", "/0" }, { code, at })
    -- The number of values runs out before the depth does.
    local wide = {}
    for n = 1, 700000 do wide[n] = n end
    wide[#wide + 1] = wide
    code, at = refused(wide)
    assert.same({ "json.value", "/700000" }, { code, at })
  end)

  it("writes one table wherever it stands", function()
    local shared = { "x" }
    assert.equal('[["x"],{"a":["x"]},["x"]]', encode { shared, { a = shared }, shared })
  end)

  it("is held by the limits", function()
    local at_limit, innermost = nest(128)
    assert(encode(at_limit))
    innermost.a = {}
    local code, at = refused(at_limit)
    assert.equal("json.depth", code)
    assert.equal(("/a"):rep(128), at)
    assert(encode(nest(1024), { limits = { depth = 1024 } }))
    assert.equal("json.depth", (refused(nest(2), { limits = { depth = 1 } })))

    assert.equal("[1,2]", encode({ 1, 2 }, { limits = { values = 3 } }))
    assert.equal("limit", (refused({ 1, 2 }, { limits = { values = 2 } })))
    assert.equal("limit", (refused({ { 1 }, 2 }, { limits = { values = 3 } })))
    assert.equal("limit", (refused({ a = 1, b = 2 }, { limits = { values = 2 } })))

    assert.equal('"four"', encode("four", { limits = { document_bytes = 6 } }))
    assert.equal("limit", (refused("four", { limits = { document_bytes = 5 } })))
    assert.equal("[[],[]]", encode({ array {}, array {} }, { limits = { document_bytes = 7 } }))
    assert.equal("limit", (refused({ array {}, array {} }, { limits = { document_bytes = 6 } })))
    assert.equal("limit",
      (refused({ array {}, array {} }, { limits = { document_bytes = 7 }, indent = 1 })))
  end)

  it("ends soon when a table stands in itself many times over", function()
    local doubled = { 1 }
    for _ = 1, 100 do doubled = { doubled, doubled } end
    assert.equal("limit", (refused(doubled)))
    local long = ("x"):rep(1 << 20)
    local texts = {}
    for n = 1, 1000 do texts[n] = long end
    local code, at = refused(texts)
    -- 15 of them, their quotes and commas; the sixteenth fits no more
    assert.same({ "limit", "/15" }, { code, at })
    assert.equal("limit", (refused({ [long] = 1 }, { limits = { document_bytes = 1000000 } })))
  end)

  it("calls no metamethod", function()
    local called
    local spy = setmetatable({}, {
      __index = function() return function() called = true end end,
    })
    local function nosy(t)
      local mt = {}
      for _, event in ipairs { "index", "pairs", "len", "tostring", "eq", "concat", "call" } do
        mt["__" .. event] = spy[event]
      end
      return setmetatable(t, mt)
    end
    assert.equal('{"a":[1,2],"b":{}}', encode(nosy { a = nosy { 1, 2 }, b = nosy {} }))
    assert.is_nil(called)
  end)
end)

describe("an array's mark", function()
  it("is set once and for all", function()
    local list = {}
    assert.is_true(rawequal(list, array(list)))
    assert.is_true(rawequal(list, array(list)))
    assert.is_true(is_array(list))
    assert.is_false(is_array {})
    assert.is_false(is_array "text")
  end)

  it("is not taken from another metatable", function()
    local mt = {}
    local taken = setmetatable({}, mt)
    assert.has_error(function() array(taken) end)
    assert.equal(mt, getmetatable(taken))
    for _, value in ipairs { 1, "x", true, print, null } do
      assert.has_error(function() array(value) end)
    end
    assert.has_error(function() array() end)
  end)

  it("cannot be reached, so that nobody changes all arrays at once", function()
    assert.is_false(getmetatable(array {}))
    assert.has_error(function() setmetatable(array {}, {}) end)
  end)
end)
