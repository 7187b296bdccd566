-- The law: what the libraries export is what the header marks as exported, and nothing else.
local files = require "spec.support.files"

--- The functions that a header declares with MOONPLAN_API.
local function declared(header)
  local names = {}
  local text = files.read(files.root .. "src/" .. header):gsub("/%*.-%*/", " "):gsub("#define[^\n]*", "")
  for declaration in text:gmatch("MOONPLAN_API([^;]+);") do
    names[#names + 1] = assert(declaration:match("([%w_]+)%s*%("), declaration)
  end
  table.sort(names)
  return names
end

--- The symbols that a shared object defines for others.
local function exported(path)
  local names = {}
  for _, line in ipairs(files.lines_of("nm -D --defined-only " .. files.quote(path))) do
    local kind, name = line:match("^%x*%s*(%a) (.+)$")
    -- the linker's own; ASan and coverage builds bring theirs
    if name and kind ~= "w" and not name:match("^_") and not name:match("^[av]?san") then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function exists(path)
  local file = path and io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

describe("the exported symbols", function()
  if #files.lines_of("command -v nm") == 0 then
    pending("nm is not there")
    return
  end
  local build = os.getenv("MOONPLAN_BUILD") or (files.root .. "build/release")

  it("of the header are functions called moonplan_", function()
    local names = declared("moonplan.h")
    assert(#names > 40)
    for _, name in ipairs(names) do assert.matches("^moonplan_[%l%d_]+$", name) end
    assert.same({ "luaopen_moonplan" }, declared("moonplan_lua.h"))
  end)

  it("of libmoonplan.so are the header's", function()
    local path = build .. "/libmoonplan.so"
    if not exists(path) then
      pending("libmoonplan.so is not built")
      return
    end
    assert.same(declared("moonplan.h"), exported(path))
  end)

  it("of the Lua module are luaopen_moonplan, and at most the header's", function()
    local path = package.searchpath("moonplan", package.cpath)
    if not exists(path) then
      pending("moonplan.so is not there")
      return
    end
    local allowed = { luaopen_moonplan = true }
    for _, name in ipairs(declared("moonplan.h")) do allowed[name] = true end
    local found = exported(path)
    for _, name in ipairs(found) do assert(allowed[name], name) end
    assert.matches("luaopen_moonplan", table.concat(found, " "))
  end)

  -- Lua's own functions come from liblua, the host's as well as ours: a second copy would be a second Lua.
  it("of libmoonplan-lua.so are those of both headers", function()
    local path = build .. "/libmoonplan-lua.so"
    if not exists(path) then
      pending("libmoonplan-lua.so is not built")
      return
    end
    local expected = declared("moonplan.h")
    expected[#expected + 1] = "luaopen_moonplan"
    table.sort(expected)
    assert.same(expected, exported(path))
  end)

  it("of the programs are none but the variables of libraries that they use", function()
    for _, name in ipairs { "moonplan", "moonplan-runner" } do
      local path = build .. "/" .. name
      if not exists(path) or os.getenv("MOONPLAN_SANITIZED") == "1" then
        pending(name .. " is not built, or with sanitizers")
        return
      end
      for _, symbol in ipairs(exported(path)) do assert.matches("@", symbol, 1, true) end
    end
  end)

  -- What confines plugins has nothing that they could use: no engine, no door, no way to another process.
  it("that the runner is made of open nothing", function()
    local path = build .. "/moonplan-runner"
    if not exists(path) or os.getenv("MOONPLAN_SANITIZED") == "1" then
      pending("moonplan-runner is not built, or with sanitizers")
      return
    end
    local function all(options)
      local names = {}
      for _, line in ipairs(files.lines_of("nm " .. options .. " " .. files.quote(path))) do
        local name = line:match("(%S+)$"):gsub("@.*", "")
        names[name] = true
      end
      return names
    end
    local inside = all ""
    assert(inside.mpl_confine and inside.mpl_code_call)
    for name in pairs(inside) do
      for _, part in ipairs { "mpl_engine", "mpl_plugin_run", "mpl_process", "mpl_confined", "mpl_store", "mpl_power_serve",
        "moonplan_engine", "moonplan_root", "moonplan_fetch", "moonplan_http", "moonplan_job" } do
        assert.is_nil(name:find(part, 1, true), name)
      end
    end
    local needed = all "-D --undefined-only"
    assert(needed.seccomp_load)
    for _, name in ipairs { "socket", "connect", "bind", "execve", "execvp", "posix_spawn", "fork", "system", "popen", "dlopen",
      "fopen", "opendir", "unlink", "kill", "mmap", "pthread_create", "luaL_openlibs", "luaopen_io", "luaopen_os",
      "luaopen_package", "luaopen_debug", "luaL_loadfilex" } do
      assert.is_nil(needed[name], name)
    end
  end)

  it("that they need from others are nobody's stdio, locale or clock", function()
    local path = build .. "/libmoonplan.so"
    if not exists(path) or os.getenv("MOONPLAN_SANITIZED") == "1" then
      pending("libmoonplan.so is not built, or with sanitizers")
      return
    end
    for _, line in ipairs(files.lines_of("nm -D --undefined-only " .. files.quote(path))) do
      local name = line:match("%s[UwV] ([%w_]+)")
      -- Lua belongs to the binding; numbers are read and written without the C library
      assert(not name or not name:match("^lua"), line)
      assert(not name or not name:match("^strto") and not name:match("printf"), line)
      assert(not name or (name ~= "setlocale" and name ~= "localeconv" and name ~= "clock" and name ~= "time"), line)
    end
  end)
end)
