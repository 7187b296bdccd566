-- The law: a floor of the house includes what is below it and nothing above, and core/ reaches for
-- nothing that a host would notice. Reads the #include lines, and the names that core/ calls.
local lfs = require "lfs"
local files = require "spec.support.files"

local SRC = files.root .. "src/"

-- Which floors a floor may include, besides itself and the header.
local BELOW = {
  core = {},
  call = { "core" },
  step = { "core" },
  engine = { "core", "call", "step" },
  host = { "core", "call", "step", "engine" },
  lua = { "core", "call", "step", "engine" },
  cli = { "core", "call", "step", "engine", "host", "lua" },
}
-- The runner sees single files.
local RUNNER = { core = true, ["lua/code.h"] = true, ["lua/wire.h"] = true }

-- Who may include Lua.
local WITH_LUA = { lua = true, runner = true, cli = true }

-- What core/ may include of the system: memory, bytes, types. No stdio, no locale, no clock.
local CORE_SYSTEM = {
  "limits.h", "stdalign.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h", "assert.h",
  "sodium.h", "emmintrin.h", "immintrin.h",
}
-- Functions of those headers that look at the locale, the environment or the clock, round numbers
-- or end the process.
local CORE_CALLS = {
  "strtod", "strtof", "strtol", "strtoll", "strtoul", "strtoull", "atoi", "atof", "atol", "getenv", "setenv", "system",
  "exit", "rand", "srand", "random", "strcoll", "strxfrm", "strerror", "mbstowcs", "wcstombs", "mblen", "mbtowc",
  "isdigit", "isalpha", "isspace", "isxdigit", "tolower", "toupper", "printf", "sprintf", "snprintf", "time", "clock",
  "setlocale", "localeconv", "alloca", "gets", "strtok",
}

local function set(list)
  local members = {}
  for _, member in ipairs(list) do members[member] = true end
  return members
end

--- Every C file below a folder of src/.
local function sources(floor)
  local list = {}
  for name in lfs.dir(SRC .. floor) do
    if name:match("%.[ch]$") then list[#list + 1] = floor .. "/" .. name end
  end
  table.sort(list)
  return list
end

--- The file's text without comments, strings and characters; lines stay where they are.
local function code_of(path)
  local text = files.read(SRC .. path)
  local function blank(piece) return (piece:gsub("[^\n]", " ")) end
  local out, at = {}, 1
  while at <= #text do
    local two = text:sub(at, at + 1)
    local stop
    if two == "/*" then
      stop = select(2, text:find("*/", at + 2, true)) or #text
      out[#out + 1] = blank(text:sub(at, stop))
    elseif two:sub(1, 1) == '"' or two:sub(1, 1) == "'" then
      local quote = two:sub(1, 1)
      stop = at + 1
      while text:sub(stop, stop) ~= quote do stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1) end
      out[#out + 1] = quote .. blank(text:sub(at + 1, stop - 1)) .. quote
    else
      stop = at
      out[#out + 1] = two:sub(1, 1)
    end
    at = stop + 1
  end
  return table.concat(out)
end

--- Its includes: { what, line, system = true for <...> }.
local function includes(path)
  local list, line = {}, 0
  for text in (files.read(SRC .. path) .. "\n"):gmatch("(.-)\n") do
    line = line + 1
    local open, what = text:match('^%s*#%s*include%s*([<"])([^>"]+)')
    if open then list[#list + 1] = { what = what, line = line, system = open == "<" } end
  end
  return list
end

--- A path as included from a file, from src/ on.
local function resolve(path, what)
  local parts = {}
  for part in (path:match("^(.*)/[^/]*$") .. "/" .. what):gmatch("[^/]+") do
    if part == ".." then table.remove(parts) else parts[#parts + 1] = part end
  end
  return table.concat(parts, "/")
end

local floors = {}
for name in lfs.dir(SRC) do
  if not name:match("^%.") and lfs.attributes(SRC .. name, "mode") == "directory" then floors[#floors + 1] = name end
end
table.sort(floors)

describe("src/", function()
  it("has no floor that this law does not know, and none without files in it", function()
    for _, floor in ipairs(floors) do
      assert(BELOW[floor] or floor == "runner", floor)
      assert(#sources(floor) > 0, floor)
    end
    assert(#floors >= 3)
  end)

  for _, floor in ipairs(floors) do
    it(floor .. "/ includes only what is below it", function()
      local allowed = set(BELOW[floor] or {})
      allowed[floor] = true
      for _, path in ipairs(sources(floor)) do
        for _, include in ipairs(includes(path)) do
          local where = ("%s:%d: %s"):format(path, include.line, include.what)
          if not include.system then
            local target = resolve(path, include.what)
            local room = target:match("^([^/]+)/")
            assert(lfs.attributes(SRC .. target, "mode") == "file" or not room, where .. " is not there")
            if floor == "runner" then
              assert(not room or room == "runner" or RUNNER[room] or RUNNER[target], where)
            elseif room then
              assert(allowed[room], where)
            else
              assert(target == "moonplan.h" or (target == "moonplan_lua.h" and WITH_LUA[floor]), where)
            end
          elseif include.what:match("^lua") or include.what == "lauxlib.h" then
            assert(WITH_LUA[floor], where)
          elseif floor == "core" then
            assert(set(CORE_SYSTEM)[include.what], where)
          end
        end
      end
    end)
  end

  it("core/ calls nothing that depends on locale, environment or clock", function()
    for _, path in ipairs(sources("core")) do
      local code = code_of(path)
      for _, name in ipairs(CORE_CALLS) do
        assert.is_nil(code:match("%f[%w_]" .. name .. "%s*%("), path .. " calls " .. name)
      end
    end
  end)

  it("core/, call/ and step/ have no global state", function()
    for _, floor in ipairs { "core", "call", "step" } do
      if lfs.attributes(SRC .. floor) then
        for _, path in ipairs(sources(floor)) do
          -- At the outermost level: a definition of an object that is not constant.
          local depth = 0
          for line in code_of(path):gmatch("[^\n]+") do
            if depth == 0 and line:match("^static ") and not line:match("%(") and not line:match("%f[%w]const%f[%W]") then
              error(path .. ": " .. line)
            end
            local _, open = line:gsub("{", "")
            local _, close = line:gsub("}", "")
            depth = depth + open - close
          end
        end
      end
    end
  end)

  it("moonplan.h stands on the C standard alone", function()
    for _, include in ipairs(includes("./moonplan.h")) do
      assert(set { "stdbool.h", "stddef.h", "stdint.h" }[include.what], include.what)
    end
  end)

  it("gives every internal name of several files its prefix", function()
    for _, floor in ipairs { "core", "call", "step", "engine", "host", "lua" } do
      if lfs.attributes(SRC .. floor) then
        for _, path in ipairs(sources(floor)) do
          if path:match("%.h$") then
            for name in code_of(path):gmatch("\n%a[%w_ ]-[ %*]([%w_]+)%(") do
              assert(name:match("^mpl_"), path .. ": " .. name)
            end
          end
        end
      end
    end
  end)
end)
