-- A chunk that is run twice, by a stock Lua and inside a plugin, and has to say the same both times:
-- random calls of the library functions, each written down with what came of it.
--
-- It gets the name of an area, a seed and a number of cases, and returns as many lines. It knows
-- nothing but the libraries, and draws its numbers itself.
local area, seed, count = ...

-- xorshift64
local state = seed * 2654435769 | 1
local function draw(from, to)
  state = state ~ state << 13
  state = state ~ state >> 7
  state = state ~ state << 17
  return from + (state >> 33) % (to - from + 1)
end
local function chance(percent) return draw(1, 100) <= percent end
local function one_of(list) return list[draw(1, #list)] end

local function text_of(alphabet, most)
  local out = ""
  for _ = 1, draw(0, most) do
    local at = draw(1, #alphabet)
    out = out .. alphabet:sub(at, at)
  end
  return out
end

-- Values as they look in a line; functions and tables are told by what they do.
local function show(value)
  if type(value) == "string" then
    local out = {}
    for n = 1, #value do
      local b = value:byte(n)
      out[n] = b >= 32 and b < 127 and value:sub(n, n) or "\\" .. b .. ";"
    end
    return '"' .. table.concat(out) .. '"'
  end
  if type(value) == "number" then return (math.type(value) == "float" and "f" or "") .. tostring(value) end
  if type(value) == "table" and rawget(value, "list") then return value.list end
  if type(value) == "table" or type(value) == "function" then return type(value) end
  return tostring(value)
end
local function show_all(values)
  local out = {}
  for n = 1, values.n do out[n] = show(values[n]) end
  return table.concat(out, ", ")
end

-- Call it, by a name that is the same both times.
local function outcome(f, ...)
  local arguments = table.pack(...)
  local results = table.pack(pcall(function() return f(table.unpack(arguments, 1, arguments.n)) end))
  if not results[1] then return "error " .. show(results[2]) end
  results.n = results.n - 1
  return show_all { n = results.n, table.unpack(results, 2, results.n + 1) }
end
local function line(name, f, ...)
  return name .. "(" .. show_all(table.pack(...)) .. ") = " .. outcome(f, ...)
end

local areas = {}

-- -- Patterns ---------------------------------------------------------------

local LETTERS = "aaabbc1 .%-\0\xe9_X"
local function subject() return text_of(chance(50) and "aab" or LETTERS, 24) end

local function class()
  local kind = draw(1, 10)
  if kind <= 4 then return one_of { "a", "b", "c", "1", " ", "X", "\0", "\xe9", "]", "-", "^" } end
  if kind == 5 then return "." end
  if kind <= 7 then return "%" .. one_of { "a", "c", "d", "g", "l", "p", "s", "u", "w", "x", "A", "D", "S", "W", "P", "L", "U",
    "G", "C", "X", "z", "Z", "%", ".", "]", "[", "-", "\0", "y" } end
  local set = chance(30) and "[^" or "["
  if chance(20) then set = set .. "]" end
  for _ = 1, draw(1, 4) do
    set = set .. one_of { "a", "b-c", "a-b", "%d", "%a", "%]", "%W", "^", "-", "0-9", "\0-\x7f", "\xe0-\xff", "c-a", ".", "%" }
  end
  return set .. (chance(97) and "]" or "")
end

local function pattern()
  local out = chance(15) and "^" or ""
  local open = 0
  for _ = 1, draw(0, 5) do
    local kind = draw(1, 20)
    if kind <= 12 then
      out = out .. class() .. one_of { "", "", "", "*", "+", "-", "?" }
    elseif kind <= 14 then
      out = out .. "("
      open = open + 1
    elseif kind == 15 and (open > 0 or chance(10)) then
      out = out .. ")"
      open = open - 1
    elseif kind == 16 then
      out = out .. "()"
    elseif kind == 17 then
      out = out .. "%f" .. (chance(95) and "[" .. one_of { "a", "^a", "%w", "%s", "\0" } .. "]" or "a")
    elseif kind == 18 then
      out = out .. "%b" .. one_of { "ab", "()", "aa", "a\0", "\0a", "a", "" }
    elseif kind == 19 then
      out = out .. "%" .. draw(0, 3)
    else
      out = out .. one_of { "$", "%", "[", "^", ")", "*" }
    end
  end
  while open > 0 and chance(95) do
    out = out .. ")"
    open = open - 1
  end
  if chance(15) then out = out .. "$" end
  return out
end

local function position() return one_of { nil, 1, 0, -1, 2, -3, 5, 25, 26, 100, -100, math.maxinteger, math.mininteger, "2", 1.5, 3.0 } end
local function maybe_odd(value)
  if chance(97) then return value end
  return one_of { nil, true, 12, 1.5, {}, show }
end

function areas.find()
  local plain = one_of { nil, false, true, true }
  local needle = chance(40) and text_of("ab", 4) or pattern()
  return line("find", string.find, maybe_odd(subject()), maybe_odd(needle), position(), plain)
end

-- Plain search in texts with periods, where a search that is too clever goes wrong.
function areas.plain()
  local piece = text_of("ab", 6)
  local text = piece:rep(draw(0, 12)) .. text_of("ab", 8) .. piece:rep(draw(0, 12))
  local from = draw(1, #text + 1)
  local needle = chance(70) and text:sub(from, from + draw(0, 40)) or piece:rep(draw(0, 4)) .. text_of("ab", 3)
  local front = chance(50) and ("a"):rep(draw(0, 300)) or ""
  return line("find", string.find, front .. text, chance(30) and front .. needle or needle, 1, true)
end

function areas.match()
  return line("match", string.match, maybe_odd(subject()), maybe_odd(pattern()), position())
end

function areas.gmatch()
  local s, p, from = subject(), pattern(), position()
  return line("gmatch", function(...)
    local out = {}
    for a, b, c in string.gmatch(...) do
      out[#out + 1] = show(a) .. show(b) .. show(c)
      if #out == 40 then break end
    end
    return table.concat(out, ";")
  end, s, p, from)
end

function areas.gsub()
  local seen = {}
  local by = one_of {
    "", "x", "<%0>", "%1%1", "%2", "%%", "%", "%a", "%9", 7, 2.5, { a = "A", b = 1, ab = false, aa = 2.5 }, { a = {} },
    setmetatable({}, { __index = function(_, k) seen[#seen + 1] = show(k) return k == "a" and "A" end }),
    function(...) seen[#seen + 1] = show_all(table.pack(...)) return (...) ~= "a" and "f" end,
    function() end, function(a) return a end, function() return {} end, function() error("own", 0) end,
  }
  local limit = one_of { nil, nil, 0, 1, 2, -1, 1000, 1.5 }
  local text = line("gsub", string.gsub, maybe_odd(subject()), maybe_odd(pattern()), maybe_odd(by), limit)
  return text .. " " .. table.concat(seen, ";")
end

-- Patterns that need more than Lua has room for.
function areas.deep()
  local n = draw(150, 260)
  local p = one_of { ("a?"):rep(n), ("(a"):rep(n) .. (")"):rep(n), ("()"):rep(draw(28, 36)), ("(a)"):rep(draw(28, 36)), ("a-"):rep(n),
    ("a"):rep(n), ("a*"):rep(n) }
  return line("deep", string.match, ("a"):rep(draw(0, 40)), p)
end

-- -- Strings -----------------------------------------------------------------

local function number()
  return one_of { 0, 1, -1, 7, 255, 256, -129, 1 << 31, math.maxinteger, math.mininteger, 0.0, -0.0, 0.5, 1e15, 1e300, -1e-300,
    math.pi, 1 / 0, -1 / 0, 3.0, 2.0 ^ 53, "10", "0x1p4", "1e1", " 5 " }
end

function areas.format()
  local form, arguments = "", { n = 0 }
  for _ = 1, draw(1, 3) do
    local conversion = one_of { "d", "i", "u", "c", "x", "X", "o", "e", "E", "f", "g", "G", "a", "A", "s", "s", "q", "q", "%", "y" }
    form = form .. text_of("ab\0", 2) .. "%"
    if chance(60) then
      form = form .. text_of("-+ #0", 2) .. one_of { "", "", "1", "8", "20", "99", "100", "08" }
        .. one_of { "", "", ".", ".3", ".20", ".99", ".100", ".." }
    end
    form = form .. (chance(98) and conversion or "")
    if conversion ~= "%" and chance(97) then
      arguments.n = arguments.n + 1
      local value = conversion:match("[sq]") and one_of { "", "text", "a\0b", "\n\r\"\\\1\0012", ("x"):rep(150), 12, 1.5, true, 1 / 0,
        math.mininteger, setmetatable({}, { __tostring = function() return "told" end }) } or number()
      if conversion == "c" then value = draw(1, 127) end
      if chance(3) then value = nil end
      arguments[arguments.n] = value
    end
  end
  return line("format", string.format, form, table.unpack(arguments, 1, arguments.n))
end

function areas.pack()
  local form, values = "", { n = 0 }
  for _ = 1, draw(1, 5) do
    local option = one_of { "<", ">", "=", "!", "!4", "b", "B", "h", "H", "i", "I", "l", "L", "j", "J", "T", "f", "d", "n", "s", "s1", "s2",
      "z", "x", "X", "Xi4", " ", "i3", "i16", "I16", "i17", "I0", "c5", "c", "!17", "y", "!3" }
    form = form .. option
    if option:match("^[bBhHiIlLjJTfdn]") then
      values.n = values.n + 1
      values[values.n] = maybe_odd(one_of { 0, 1, -1, 127, 128, 255, 65536, 1.5, math.maxinteger, math.mininteger, "3" })
    elseif option:match("^[szc]") then
      values.n = values.n + 1
      values[values.n] = maybe_odd(text_of("ab\0", 6))
    end
  end
  local text = line("pack", string.pack, form, table.unpack(values, 1, values.n)) .. " " .. outcome(string.packsize, form)
  local fine, packed = pcall(string.pack, form, table.unpack(values, 1, values.n))
  if not fine then packed = text_of("ab\0\xff", 30) end
  return text .. " " .. outcome(string.unpack, form, packed, one_of { nil, nil, 2, -1, 100 })
end

function areas.pieces()
  local s = maybe_odd(text_of("abZ\0\xe9", 12))
  local kind = draw(1, 8)
  if kind == 1 then return line("sub", string.sub, s, position(), position()) end
  if kind == 2 then return line("byte", string.byte, s, position(), position()) end
  if kind == 3 then return line("rep", string.rep, s, one_of { 0, 1, 2, 7, -1, "3", 1.5, math.mininteger }, maybe_odd(text_of("-", 2))) end
  if kind == 4 then return line("char", string.char, draw(0, 255), maybe_odd(draw(-2, 258)), draw(0, 255)) end
  if kind == 5 then return line("len", string.len, s) .. line("reverse", string.reverse, s) end
  if kind == 6 then return line("upper", string.upper, s) .. line("lower", string.lower, s) end
  if kind == 7 then return line("rep", string.rep, "", one_of { 1 << 20, 5 }, "") .. line("char", string.char) end
  return line("method", function(...) return ("x"):rep(...):len() end, one_of { 3, "a", nil }) .. outcome(function() return "10" + 1 end)
end

-- -- Tables --------------------------------------------------------------------

-- A list, a list with holes, or a stand-in whose accesses are written down.
local function list(log)
  local data, length = {}, draw(0, 8)
  for n = 1, length do
    if chance(95) then data[n] = one_of { n, draw(1, 9), "s" .. n, 2.5, n } end
  end
  if chance(60) then return data end
  if chance(5) then return one_of { 5, "text", true, nil } end
  local reported = one_of { length, length, length, 0, length + 2, -1, 2.0, 1.5, "2", {} }
  local meta = {
    __index = function(_, k) log[#log + 1] = "r" .. show(k) return data[k] end,
    __newindex = function(_, k, v) log[#log + 1] = "w" .. show(k) .. show(v) data[k] = v end,
    __len = function() log[#log + 1] = "#" return reported end,
  }
  return setmetatable({ list = nil }, meta)
end
local function contents(t)
  if type(t) ~= "table" then return "" end
  local out = {}
  for n = -3, 14 do
    local value = t[n]
    if value ~= nil then out[#out + 1] = n .. "=" .. show(value) end
  end
  return " {" .. table.concat(out, ",") .. "}"
end

local function table_line(name, t, log, ...)
  local text = line(name, table[name], t, ...)
  local accesses = table.concat(log, " ")
  return text .. contents(t) .. " " .. accesses
end

function areas.insert()
  local log = {}
  local t = list(log)
  local at = one_of { 1, 2, 3, 0, -1, 9, 20, "2", 1.5, math.maxinteger, nil }
  if chance(30) then return table_line("insert", t, log, draw(1, 9)) end
  if chance(5) then return table_line("insert", t, log) end
  if chance(5) then return table_line("insert", t, log, 1, 2, 3) end
  return table_line("insert", t, log, at, draw(1, 9))
end

function areas.remove()
  local log = {}
  local t = list(log)
  if chance(30) then return table_line("remove", t, log) end
  return table_line("remove", t, log, one_of { 1, 2, 3, 0, -1, 9, 20, "2", 1.5, math.maxinteger })
end

function areas.move()
  local log = {}
  local t = list(log)
  local to = chance(40) and list(log) or nil
  local ends = { 0, 1, 2, 3, -2, 5, math.maxinteger, math.mininteger, "2" }
  local first = one_of(ends)
  local last = type(first) == "number" and first + draw(-1, 4) or 3
  if last < first - 1 then last = first end -- it went around
  return table_line("move", t, log, first, last, one_of { 1, 2, 0, 4, -1, math.maxinteger, math.maxinteger - 1 }, to) .. contents(to)
end

function areas.concat()
  local log = {}
  local t = list(log)
  return table_line("concat", t, log, maybe_odd(one_of { nil, "", ", ", 1 }), one_of { nil, nil, 1, 2, 0, -1, math.maxinteger },
    one_of { nil, nil, 3, 0, 5, math.mininteger })
end

function areas.unpack()
  local log = {}
  local t = list(log)
  if chance(10) then return line("pack", function(...)
    local packed = table.pack(...)
    return packed.n, packed[1], packed[2]
  end, one_of { 1, nil }, one_of { 2, nil }, nil) end
  local from = one_of { nil, nil, 1, 2, 0, -2, math.maxinteger, math.mininteger }
  return table_line("unpack", t, log, from, one_of { nil, 3, 0, 5, from, 1e8, math.maxinteger })
end

function areas.sort()
  local data = {}
  local kind = draw(1, 4)
  for n = 1, draw(0, 30) do
    data[n] = kind == 1 and draw(1, 9) or kind == 2 and draw(-5, 5) / 2 or kind == 3 and text_of("abc", 3) or draw(1, 1 << 20)
  end
  if chance(3) then data[draw(1, #data + 1)] = {} end
  local before = one_of { nil, nil, function(a, b) return a > b end, function(a, b) return tostring(a) < tostring(b) end, 5 }
  local t = data
  if chance(20) then
    t = setmetatable({}, { __index = data, __newindex = data, __len = function() return #data end })
  end
  local result = outcome(table.sort, t, before)
  if result:match("compare") then return "sort: cannot compare" end -- which two is up to the algorithm
  local sorted = {}
  for n = 1, #data do sorted[n] = show(data[n]) end
  return "sort " .. table.concat(sorted, ",") .. result
end

-- -- utf8 ------------------------------------------------------------------------

local function utf8_text()
  local out = ""
  for _ = 1, draw(0, 5) do
    out = out .. one_of { "a", "\0", "é", "€", "𝄞", "\xff", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\u{7fffffff}",
      "\u{200000}", "\xe2\x82", "\xc3", "\xe0\x80\x80", "\xfe" }
  end
  return out
end

function areas.utf8()
  local s, lax = utf8_text(), one_of { nil, true }
  local kind = draw(1, 5)
  if kind == 1 then return line("len", utf8.len, maybe_odd(s), position(), position(), lax) end
  if kind == 2 then return line("codepoint", utf8.codepoint, maybe_odd(s), position(), position(), lax) end
  if kind == 3 then
    return line("offset", utf8.offset, maybe_odd(s), one_of { 0, 1, 2, -1, -2, 5, "1", math.mininteger + 1 }, position())
  end
  if kind == 4 then
    return line("char", utf8.char, one_of { 0, 65, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff, 0x1fffff, 0x3ffffff, 0x4000000,
      0x7fffffff, 0x80000000, -1, 1.5, "65" }, draw(0, 0x7ff))
  end
  return line("codes", function(...)
    local out = {}
    for at, code in utf8.codes(...) do out[#out + 1] = at .. ":" .. code end
    return table.concat(out, " ")
  end, maybe_odd(s), lax) .. show(utf8.charpattern)
end

-- -- Calls that catch, coroutines, load --------------------------------------------

-- Random little programs of nested calls; `depth` bounds them. None is left inside xpcall: Lua 5.4.4
-- forgets where the handler stood when such a coroutine is closed, and calls what stands there now.
local may_yield = true
local function act(depth)
  local kind = draw(1, depth > 0 and 15 or 4)
  if kind == 1 then return function(...) return ... end end
  if kind == 2 then
    local what, level = one_of { "text", 5, nil, {}, true }, draw(0, 2)
    return function() error(what, level) end
  end
  if kind == 3 then return function(...) return select("#", ...), ... end end
  if kind == 4 and may_yield then return function(...) return coroutine.isyieldable() and coroutine.yield(...) end end
  if kind == 4 then return function() return coroutine.isyieldable() end end
  local yielded = may_yield
  if kind == 6 then may_yield = false end
  local inner, other = act(depth - 1), act(depth - 1)
  may_yield = yielded
  if kind == 5 then return function(...) return pcall(inner, ...) end end
  if kind == 6 then return function(...) return xpcall(inner, function(e) return "handled " .. type(e) end, ...) end end
  if kind == 7 then
    return function(...)
      local co = coroutine.create(inner)
      local first = table.pack(coroutine.resume(co, ...))
      return coroutine.status(co), show_all(first), coroutine.resume(co, 1)
    end
  end
  if kind == 8 then return function(...) return coroutine.wrap(inner)(...) end end
  if kind == 9 then
    return function(...)
      local co = coroutine.create(inner)
      coroutine.resume(co, ...)
      return coroutine.close(co)
    end
  end
  if kind == 10 then
    return function(...)
      local kept <close> = setmetatable({}, { __close = function(_, e) other(type(e)) end })
      return inner(..., kept and 1)
    end
  end
  if kind == 11 then return function(...) return pcall(pcall, inner, ...) end end
  -- Through functions that cannot be left by a yield.
  if kind == 13 then return function() return (("a"):gsub("a", inner)) end end
  if kind == 14 then
    return function()
      local t = { 1, 2 }
      table.sort(t, function(a, b) return inner(a, b) and a < b end)
      return t[1]
    end
  end
  if kind == 15 then
    return function() return table.concat(setmetatable({}, { __index = inner, __len = function() return 2 end }), ",") end
  end
  return function(...)
    local results = table.pack(inner(...))
    return show_all(results), other(1)
  end
end

function areas.calls()
  return outcome(act(4), 1, nil, "x")
end

function areas.iterate()
  local out = {}
  local t = { draw(1, 9), draw(1, 9), x = 1 }
  if chance(50) then setmetatable(t, { __pairs = function(self) return next, self, one_of { nil, 1 } end }) end
  for k, v in pairs(t) do out[#out + 1] = show(k) .. show(v) end
  return table.concat(out, " ") .. outcome(next, t, one_of { nil, 1, 2, "x", "none" }) .. outcome(pairs, one_of { nil, 5, "x" })
    .. outcome(next, one_of { 5, {} }) .. outcome(pcall) .. outcome(xpcall, next, 5) .. outcome(coroutine.wrap, 5)
    .. outcome(coroutine.resume, 5) .. outcome(coroutine.close, coroutine.running()) .. outcome(coroutine.status, 5)
    .. outcome(load, one_of { "return 1 + ", "return", "x = = 1", "return ..." }, one_of { nil, "=n", "@n" })
end

local lines = {}
for n = 1, count do lines[n] = areas[area]() end
return lines
