-- What is JSON and what only looks like it. The cases carry the name of what they attack; where one
-- comes from a public report, the report is named.
local moonplan = require "moonplan"
local plans = require "spec.support.plans"

local decode, encode = moonplan.json.decode, moonplan.json.encode

-- Every door through which JSON enters gives the same refusal.
local function refuses(code, text, offset)
  local value, err = decode(text)
  assert.is_nil(value)
  assert(err, "accepted")
  assert.equal(code, err.code)
  if offset then assert.equal(offset, err.offset) end
  assert(err.offset <= #text)
  for _, door in ipairs { moonplan.kind, moonplan.call_plan, moonplan.digest } do
    local nothing, other = door(text)
    assert.is_nil(nothing)
    assert.equal(tostring(err), tostring(other))
  end
  return err
end

describe("JSON nesting", function()
  it("goes to 128", function()
    assert.not_nil(decode(("["):rep(128) .. ("]"):rep(128)))
    assert.not_nil(decode(('{"a":'):rep(127) .. "{}" .. ("}"):rep(127)))
  end)

  it("is refused from 129 on, at the bracket that is too many", function()
    local err = refuses("json.depth", ("["):rep(129) .. ("]"):rep(129), 128)
    assert.matches("128", err.message)
    refuses("json.depth", ('{"a":'):rep(128) .. "{}" .. ("}"):rep(128), 128 * 5)
  end)

  it("is refused before the end is seen, however deep", function()
    -- github.com/akheron/jansson/issues/282: 100,000 brackets ended the process
    refuses("json.depth", ("["):rep(200000), 128)
    refuses("json.depth", ("["):rep(200000) .. ("]"):rep(200000), 128)
    refuses("json.depth", ('{"a":'):rep(200000), 128 * 5)
    refuses("json.depth", ('[{"a":'):rep(200000), 64 * 6)
  end)

  it("counts what is open, not what was", function()
    assert.not_nil(decode("[" .. ("[],"):rep(999) .. "[]]"))
  end)
end)

describe("JSON names", function()
  it("may not be there twice, at the second one", function()
    local err = refuses("json.duplicate_name", '{"a":1,"a":2}', 7)
    assert.equal("/a", err.at)
    assert.matches('"a"', err.message, 1, true)
  end)

  it("may not be there twice once escapes are read", function()
    -- github.com/serde-rs/json/issues/762
    refuses("json.duplicate_name", '{"a":1,"\\u0061":2}', 7)
    refuses("json.duplicate_name", '{"\\u0061":1,"a":2}')
    refuses("json.duplicate_name", '{"\\/":1,"/":2}')
    refuses("json.duplicate_name", '{"\\ud83d\\ude00":1,"\u{1f600}":2}')
    refuses("json.duplicate_name", '{"":1,"":2}')
    refuses("json.duplicate_name", '{"a\\u0000":1,"a\\u0000":2}')
  end)

  it("are what they stand for in every element of an array alike", function()
    for _, members in ipairs { [["b":2,"nam\u0065":1]], [["nam\u0065":1,"b":2]] } do
      local element = '{"outer":{' .. members .. "}}"
      local behind = "]" .. (" "):rep(80)
      local list = assert(decode("[" .. element .. "," .. element .. "," .. element .. behind))
      for n = 1, 3 do assert.same({ outer = { name = 1, b = 2 } }, list[n]) end
      local twice = element:gsub('"b"', '"name"')
      local err = refuses("json.duplicate_name", "[" .. element .. "," .. twice .. behind)
      assert.equal("/1/outer/name", err.at)
    end
  end)

  it("may not be there twice anywhere in a plan", function()
    -- github.com/AdaCore/gnatcoll-core/issues/3: two readers, two plans
    local to = '"to":"0x2222222222222222222222222222222222222222"'
    local twice = plans.tiny():gsub(to, to .. ',"to":"0x3333333333333333333333333333333333333333"')
    assert.equal("/ordered_steps/0/transaction/to", refuses("json.duplicate_name", twice).at)
    local spelled = plans.tiny():gsub(to, to .. ',"t\\u006f":"0x3333333333333333333333333333333333333333"')
    assert.equal("/ordered_steps/0/transaction/to", refuses("json.duplicate_name", spelled).at)
  end)

  it("may not be there twice in an object of any size, wherever they are", function()
    for _, count in ipairs { 2, 3, 15, 16, 17, 18, 64, 1000, 20000 } do
      local members = {}
      for n = 1, count do members[n] = ('"k%d":%d'):format(n, n) end
      assert.not_nil(decode("{" .. table.concat(members, ",") .. "}"))
      for _, pair in ipairs { { 1, 2 }, { 1, count }, { count - 1, count } } do
        local kept = members[pair[2]]
        members[pair[2]] = ('"k%d":0'):format(pair[1])
        local text = "{" .. table.concat(members, ",") .. "}"
        assert.equal("/k" .. pair[1], refuses("json.duplicate_name", text).at)
        members[pair[2]] = kept
      end
    end
  end)

  it("that differ in a byte, in case or behind a NUL are different", function()
    local value = assert(decode('{"a":1,"A":2,"a\\u0000":3,"a\\u0000b":4,"":5,"\u{e9}":6,"e\u{301}":7}'))
    assert.same({ a = 1, A = 2, ["a\0"] = 3, ["a\0b"] = 4, [""] = 5, ["\u{e9}"] = 6,
      ["e\u{301}"] = 7 }, value)
  end)

  it("are plain keys, whatever they mean elsewhere", function()
    local value = assert(decode('{"__proto__":1,"__gc":2,"__index":{"x":3},"__metatable":4}'))
    assert.equal(1, value.__proto__)
    assert.equal(2, value.__gc)
    assert.is_nil(value.x)
    assert.equal(4, value.__metatable)
  end)
end)

describe("JSON numbers", function()
  it("have one grammar", function()
    for _, text in ipairs { "NaN", "nan", "Infinity", "-Infinity", "inf", "0x1", "0x10", "01", "-01", "00",
      "+1", "1.", "-1.", ".5", "-.5", "1e", "1e+", "1E-", "1.e1", "-", "--1", "- 1", "1_000", "1,000.",
      "0b1", "1f", "1e1.5", "1.2.3", "\u{ff11}", "\u{661}" } do
      refuses("json.syntax", text)
      refuses("json.syntax", "[" .. text .. "]")
      refuses("json.syntax", '{"a":' .. text .. "}")
    end
  end)

  it("are integers as far as int64 goes, digit for digit", function()
    -- github.com/openresty/lua-cjson/issues/80
    local value = assert(decode('{"id":9223372036854775807,"small":9007199254740993,'
      .. '"least":-9223372036854775808,"zero":0}'))
    assert.equal("integer", math.type(value.id))
    assert.equal(math.maxinteger, value.id)
    assert.equal(9007199254740993, value.small)
    assert.equal(math.mininteger, value.least)
    assert.equal(0, value.zero)
    assert.equal("9223372036854775807", encode(value.id))
    assert.equal("9007199254740993", encode(value.small))
    assert.equal("-9223372036854775808", encode(value.least))
  end)

  it("that Lua cannot hold are refused by decode with their place, not rounded", function()
    for _, text in ipairs { "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e400",
      "-1e400", "1e999999999999999999999", ("9"):rep(1000), "123123e100000" } do
      local value, err = decode('{"a": ' .. text .. "}")
      assert.is_nil(value)
      assert.equal("json.number", err.code)
      assert.equal("/a", err.at)
      assert.equal(6, err.offset)
    end
  end)

  it("are fine where nobody turns them into anything", function()
    for _, text in ipairs { "1e400", "18446744073709551616", "-0", "1E+2", ("9"):rep(60000),
      "0." .. ("0"):rep(60000) .. "1", "1e" .. ("9"):rep(60000) } do
      local plan = plans.of({ plans.step(1) }, ',"extensions":{"n":' .. text .. "}")
      assert.equal(moonplan.digest(plans.tiny()), moonplan.digest(plan))
    end
  end)

  it("with a fraction or an exponent become the nearest double", function()
    -- Values and their nearest doubles as hexadecimal floats, from the literature on strtod:
    -- the PHP and Java hangs at 2.2250738585072011e-308, the largest subnormal and smallest normal,
    -- ties at 2^53, the largest finite double and what rounds up to it.
    local cases = {
      { "2.2250738585072011e-308", 0x0.fffffffffffffp-1022 },
      { "2.22507385850720113605740979670913197593481954635164564e-308", 0x0.fffffffffffffp-1022 },
      { "2.2250738585072012e-308", 0x1p-1022 },
      { "2.2250738585072014e-308", 0x1p-1022 },
      { "4.9406564584124654e-324", 0x1p-1074 },
      { "2.4703282292062327e-324", 0.0 },
      { "2.4703282292062328e-324", 0x1p-1074 },
      { "1.7976931348623157e308", 0x1.fffffffffffffp+1023 },
      { "1.7976931348623158e308", 0x1.fffffffffffffp+1023 },
      { "9007199254740993.0", 9007199254740992.0 },
      { "9007199254740995.0", 9007199254740996.0 },
      { "9007199254740993.00000000000000000000000000000000000000000000001", 9007199254740994.0 },
      { "0.1", 0x1.999999999999ap-4 },
      { "1e23", 0x1.52d02c7e14af6p+76 },
      { "8.988465674311579539e307", 0x1p+1023 },
      { "1e-400", 0.0 },
      { "123e-10000000", 0.0 },
      { "0e999999999999", 0.0 },
      -- A million digits: linear, and the far ones count.
      { "0." .. ("0"):rep(1048576) .. "1", 0.0 },
      { "1" .. ("0"):rep(1048576) .. "e-1048576", 1.0 },
      { "0." .. ("0"):rep(1048575) .. "1e1048576", 1.0 },
      { "9007199254740993." .. ("0"):rep(1048576) .. "1", 9007199254740994.0 },
    }
    for _, case in ipairs(cases) do
      local value = assert(decode(case[1]))
      assert.equal("float", math.type(value))
      assert(value == case[2], ("%s is %a, not %a"):format(case[1], case[2], value))
      local minus = assert(decode("-" .. case[1]))
      assert.equal(-case[2], minus)
    end
  end)

  it("stay float or integer on the way there and back", function()
    for text, back in pairs { ["1"] = "1", ["1.0"] = "1.0", ["1e3"] = "1000.0", ["-0.0"] = "-0.0",
      ["0.1"] = "0.1", ["1e23"] = "1e+23", ["5e-324"] = "5e-324" } do
      local value = assert(decode(text))
      local again = assert(encode(value))
      -- The spelling is ours to choose; what it means is not.
      assert.equal(math.type(value), math.type(decode(again)))
      assert(decode(again) == value)
      assert.equal(back:gsub("e%+?", "e"), (again:gsub("e%+?", "e")))
    end
    assert.equal("-0.0", encode(decode("-0.0")))
    assert.equal(-math.huge, 1 / decode("-0"))
  end)

  it("read and print alike whatever the locale", function()
    -- github.com/kgabis/parson/issues/219. The C tests make a locale with a comma; here any will do.
    local kept = os.setlocale()
    finally(function() os.setlocale(kept) end)
    for _, name in ipairs { "de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8", "C" } do
      if os.setlocale(name) then
        local value = assert(decode('{"a":1,"b":2.5,"c":[1,2]}'))
        assert(value.b == 5 / 2)
        assert.equal("2.5", encode(value.b))
        assert.equal(1e-7, decode(encode(1e-7)))
        assert.equal(name, os.setlocale())
      end
    end
  end)
end)

describe("JSON strings", function()
  it("may hold no half of a surrogate pair", function()
    -- github.com/simdjson/simdjson/issues/1870
    for _, text in ipairs { '"\\ud800"', '"\\uDC00"', '"\\udc00\\ud800"', '"\\ud800\\u0041"', '"\\uD800x"',
      '"\\ud800\\ud800"', '"\\ud83d\\n"', '{"\\udfaa":1}' } do
      refuses("json.surrogate", text)
    end
    assert.equal("\u{1f600}", decode('"\\ud83d\\ude00"'))
    assert.equal("\u{10ffff}\u{10000}", decode('"\\udbff\\udfff\\ud800\\udc00"'))
  end)

  it("know the escapes of RFC 8259 and no other", function()
    assert.equal('"\\/\b\f\n\r\tA\u{20ac}', decode('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u20aC"'))
    for _, text in ipairs { '"\\x41"', '"\\u12"', '"\\u12g4"', '"\\U0041"', '"\\a"', '"\\v"', '"\\0"', '"\\\'"',
      '"\\u"', '"\\', '"\\"', '"\\u004', '"\\u-041"', '"\\u 041"', '"\\u{41}"', '"\\\n"' } do
      refuses("json.syntax", text)
    end
  end)

  it("are UTF-8 to the byte", function()
    -- RFC 3629: overlong forms, surrogates, beyond U+10FFFF, stray and missing continuation bytes
    for _, bytes in ipairs { "\xc0\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
      "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
      "\xf8\x88\x80\x80\x80", "\xfc\x84\x80\x80\x80\x80", "\xfe", "\xff", "\x80", "\xbf", "\xc3", "\xe2\x82", "\xe2(\xa1",
      "\xf0\x9f\x98", "\xf0\x28\x8c\xbc", "\xc3(" } do
      refuses("json.utf8", '"' .. bytes .. '"', 1)
      refuses("json.utf8", '{"' .. bytes .. '":1}', 2)
      refuses("json.utf8", '["abcdefghijklmnop' .. bytes .. '"]', 18)
    end
    for _, text in ipairs { "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}",
      "\u{2028}\u{2029}", "\x7f" } do
      assert.equal(text, decode('"' .. text .. '"'))
      assert.equal(text, decode(encode(text)))
    end
    -- Cut at each byte, with and without what follows.
    for _, char in ipairs { "\u{e9}", "\u{20ac}", "\u{1f600}" } do
      for n = 1, #char - 1 do
        refuses("json.utf8", '"' .. char:sub(1, n) .. '"', 1)
        local _, err = decode('"' .. char:sub(1, n))
        assert(err.code == "json.utf8" or err.code == "json.syntax")
      end
    end
  end)

  it("hold no raw control character", function()
    for byte = 0, 31 do
      refuses("json.syntax", '"a' .. string.char(byte) .. 'b"', 2)
      refuses("json.syntax", '{"' .. string.char(byte) .. '":1}', 2)
      assert.equal(string.char(byte), decode(('"\\u%04x"'):format(byte)))
      assert.equal(string.char(byte), decode(encode(string.char(byte))))
      assert.is_nil(encode(string.char(byte)):find("[\0-\31]"))
    end
  end)

  it("keep a NUL", function()
    -- github.com/giacomodrago/minijson_reader/issues/11, github.com/akheron/jansson/issues/690
    assert.equal("abc\0def", decode('"abc\\u0000def"'))
    assert.same({ blob = "a\0b" }, decode('{"blob":"a\\u0000b"}'))
    assert.equal('"x\\u0000y"', encode("x\0y"))
    local plan = plans.of({ plans.step(1) }, ',"required_capabilities":["atomic_batch\\u0000.admin"]')
    local _, err = moonplan.call_plan(plan, { implements = { "atomic_batch" } })
    assert.equal("call.capability_name", err.code)
    assert.is_nil(err.message:find("\0", 1, true))
    assert.matches("\\u{0}", err.message, 1, true)
  end)

  it("may be long, at any length and with an escape anywhere", function()
    for n = 0, 70 do
      local text = ("x"):rep(n)
      assert.equal(text, decode('"' .. text .. '"'))
      assert.equal(text .. "\n" .. text, decode('"' .. text .. "\\n" .. text .. '"'))
      assert.equal(text .. "\u{e9}", decode('"' .. text .. '\u{e9}"'))
      refuses("json.syntax", '"' .. text)
      refuses("json.syntax", '"' .. text .. "\\")
    end
    local long = ("abc\u{e9}\\n"):rep(100000)
    assert.equal((long:gsub("\\n", "\n")), decode('"' .. long .. '"'))
  end)

  it("of control characters grow when written and never overflow", function()
    -- github.com/mpx/lua-cjson/issues/92 (CVE-2022-24834), scaled down
    assert.equal(2000000 * 6 + 2, #encode(("\1"):rep(2000000)))
    local text, err = encode(("\1"):rep(3000000))
    assert.is_nil(text)
    assert.equal("limit", err.code)
    assert.matches("document_bytes", err.message, 1, true)
  end)
end)

describe("A JSON text", function()
  it("is one value and nothing behind it", function()
    for _, text in ipairs { "{} {}", "{}x", "[]]", "1 2", "{}\0", "{}\0junk", "\0{}", '""""', "{}//", "{}/* */",
      '{"a":1}{"b":2}', "{}\n{}", "true false", "[1] ,", "truex", "nullnull" } do
      refuses("json.syntax", text)
    end
  end)

  it("is not nothing", function()
    for _, text in ipairs { "", " ", "\n\t \r", (" "):rep(100000) } do
      refuses("json.syntax", text, #text)
    end
  end)

  it("has only the white space of RFC 8259", function()
    assert.same({ a = moonplan.array { 1, 2 } }, decode(' \t\r\n{ "a" \n:\r[ 1\t, 2 ] } \n'))
    for _, space in ipairs { "\f", "\v", "\u{a0}", "\u{feff}", "\u{2028}", "\u{3000}", "\0" } do
      refuses(space == "\u{feff}" and "json.byte_order_mark" or "json.syntax", space .. "[]")
      refuses("json.syntax", "[1," .. space .. "2]")
      refuses("json.syntax", "[]" .. space)
    end
  end)

  it("has its commas, colons and quotes", function()
    for _, text in ipairs { "[1,]", "[,1]", "[1,,2]", "[1 2]", "[", "]", "{", "}", '{"a"}', '{"a":}', '{"a":1,}',
      "{,}", "{a:1}", "{'a':1}", "'single'", '{"a" 1}', '{"a"=1}', '{"a":1 "b":2}', "{1:2}", "[}", "{]", '{"a":[}',
      "{null:1}", "[1:2]", ",", ":", "undefined", "True", "NULL", "tru", "nul", "fals", "t", "// comment\n1",
      "/**/1", "#\n1", ")]}'\n{}", "(1)", "`a`" } do
      refuses("json.syntax", text)
    end
  end)

  it("does not begin with a byte order mark, and the message says what to do", function()
    -- github.com/jqlang/jq/issues/45
    local err = refuses("json.byte_order_mark", "\u{feff}" .. plans.tiny(), 0)
    assert.matches("byte order mark", err.message)
    refuses("json.byte_order_mark", "\u{feff}")
    refuses("json.byte_order_mark", "\u{feff}{}")
  end)

  it("is not UTF-16 or UTF-32", function()
    for _, text in ipairs { "{\0}\0", "\0{\0}", "\xff\xfe{\0}\0", "\xfe\xff\0{\0}", "{\0\0\0}\0\0\0" } do
      local value, err = decode(text)
      assert.is_nil(value)
      assert.matches("^json%.", err.code)
    end
  end)

  it("says which byte is wrong where it is no printable one", function()
    -- github.com/prantlf/jsonlint/issues/15: an invisible byte and "line 1 column 1"
    assert.matches("0xa0", refuses("json.utf8", "\xa0{}", 0).message)
    assert.matches("0x00", refuses("json.syntax", "{}\0", 2).message)
  end)

  it("is refused whole, wherever it is cut", function()
    local text = plans.full(10240)
    assert(#text >= 10238 and #text <= 10240)
    assert(moonplan.call_plan(text, { implements = { "atomic_batch" } }))
    for n = 0, #text - 1 do
      local plan, err = moonplan.call_plan(text:sub(1, n))
      if plan or err.code:sub(1, 5) ~= "json." or err.offset > n then
        error(("cut at %d: %s"):format(n, tostring(err)))
      end
    end
  end)

  it("is not too long", function()
    local limit = 16 * 1024 * 1024
    local text = "[" .. (" "):rep(limit - 2) .. "]"
    assert.not_nil(decode(text))
    local _, err = decode(text .. " ")
    assert.equal("limit", err.code)
    assert.matches("document_bytes", err.message, 1, true)
    -- refused for its length before anything in it is looked at
    _, err = decode(("\xff"):rep(limit + 1))
    assert.equal("limit", err.code)
  end)

  it("has no more than a million values", function()
    assert.equal(999999, #decode("[" .. ("0,"):rep(999998) .. "0]"))
    local _, err = decode("[" .. ("0,"):rep(999999) .. "0]")
    assert.equal("limit", err.code)
    assert.matches("values", err.message, 1, true)
    _, err = decode("[" .. ("[],"):rep(5592404) .. "[]]")
    assert.equal("limit", err.code)
  end)
end)

describe("Lua to JSON", function()
  local null, array = moonplan.null, moonplan.array

  it("keeps empty arrays and empty objects apart", function()
    -- github.com/rxi/json.lua/issues/23
    local text = '{"list":[],"map":{},"nested":[[],{}]}'
    local value = assert(decode(text))
    assert.equal("[]", encode(value.list))
    assert.equal("{}", encode(value.map))
    assert.equal("[[],{}]", encode(value.nested))
    assert.equal("{}", encode({}))
    assert.equal("[]", encode(array {}))
    assert.equal("[1,2]", encode({ 1, 2 }))
  end)

  it("keeps null", function()
    local value = assert(decode('[null,{"a":null}]'))
    assert.equal(null, value[1])
    assert.equal(null, value[2].a)
    assert.equal('[null,{"a":null}]', encode(value))
    assert.equal("null", encode(null))
    assert.equal(require("cjson").null, null)
  end)

  it("is refused with its place where JSON has no such thing", function()
    -- github.com/Kong/kong/pull/5865: a hole is named, and a billion slots are not made for it
    local loop = {}
    loop.a = { b = loop }
    local deep = {}
    for _ = 1, 200 do deep = { deep } end
    local cases = {
      { "/r", { r = { [1] = "a", [12] = "b" } } },
      { "/r", { r = { [1000000000] = true } } },
      { "/r", { r = { 1, 2, x = 3 } } },
      { "/r", { r = { [1.5] = 1 } } },
      { "/r", { r = { [true] = 1 } } },
      { "/r", { r = array { [2] = 1 } } },
      { "/r", { r = array { 1, x = 2 } } },
      { "/r/0", { r = { print } } },
      { "/r/1", { r = { 1, io.stdout } } },
      { "/r/0", { r = { coroutine.create(print) } } },
      { "/r", { r = 0 / 0 } },
      { "/r", { r = math.huge } },
      { "/r", { r = -math.huge } },
      { "/r", { r = "\xff" }, "json.utf8" },
      { "/r/a~1b~0", { r = { ["a/b~"] = "\xed\xa0\x80" } }, "json.utf8" },
      { "", { ["\xff"] = 1 }, "json.utf8" },
    }
    for n, case in ipairs(cases) do
      local text, err = encode(case[2])
      assert.is_nil(text, "case " .. n)
      assert.equal(case[1], err.at, "case " .. n)
      assert.equal(case[3] or "json.value", err.code, "case " .. n)
    end
    assert.is_nil((encode(loop)))
    local _, err = encode(deep)
    assert(err.code == "json.depth" or err.code == "json.value", err.code)
  end)

  it("writes one table twice where it stands twice", function()
    local shared = { 1 }
    assert.equal("[[1],[1]]", encode({ shared, shared }))
  end)

  it("does not listen to metamethods", function()
    local called = false
    local spy = function() called = true end
    local value = setmetatable({ a = 1 }, { __index = spy, __pairs = spy, __len = spy, __tostring = spy })
    assert.equal('{"a":1}', encode(value))
    assert.is_false(called)
  end)

  it("goes there and back for whatever decode gives", function()
    for _, text in ipairs { "null", "true", '""', "[]", "{}", "[[[]]]", '{"":{"":{}}}', "[1,1.0,-0.0,1e-7]",
      '{"a":[null,false,"\\u0000\\u001f\\"\\\\/"],"b":{"c":1e300}}' } do
      local value = decode(text)
      assert.same(value, decode(encode(value)))
      assert.equal(encode(value), encode(decode(encode(value))))
    end
  end)
end)
