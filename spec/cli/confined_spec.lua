-- Where plugins run when the command runs them: those of strangers in a process of their own, whoever
-- types the command, and not at all where that cannot be had.
local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"
local plugin_files = require "spec.support.plugin_files"

local run, shell = command.run, command.shell
local build = os.getenv("MOONPLAN_BUILD") or (files.root .. "build/release")

describe("moonplan, with the plugins of strangers,", function()
  local folder
  before_each(function()
    folder = command.folder()
    os.execute("mkdir " .. folder .. "/plugins")
    command.write(folder .. "/plugins/mine.lua", plugin_files.source("mine", "return { ran = true }"))
    command.write(folder .. "/plugins/spin.lua", plugin_files.source("spin", "while true do end"))
    for _, name in ipairs { "mine", "spin" } do
      command.write(folder .. "/" .. name .. ".json",
        ('{"version":"1.0","steps":[{"id":"a","capability":"%s","input":{}}]}'):format(name))
    end
  end)
  after_each(command.clean)

  local function isolation_of(name, ...)
    local list = cjson.decode(run { "plugins", "list", "--json", "--plugins", "plugins", cd = folder, ... }.out)
    for _, item in ipairs(list.capabilities) do
      if item.name == name then return item.isolation end
    end
  end

  it("confines them, and says so", function()
    assert.equal("process", isolation_of "mine")
    assert.equal("state", isolation_of "text.count")
    assert.equal("state", isolation_of("mine", "--isolation", "state"))
    assert.equal("process", isolation_of("text.count", "--isolation", "process"))
    local function shown(...) return run { "plugins", "show", "--plugins", "plugins", cd = folder, ... }.out end
    assert.matches("\nruns    confined, in a process of its own\n", shown "mine")
    assert.matches("\nruns    in this process, in a Lua state of its own\n", shown "text.count")
    assert.matches("\nmine +1%.0%.0  read +process  For a spec%.\n",
      run { "plugins", "list", "--plugins", "plugins", cd = folder }.out)
  end)

  it("takes no isolation that there is not", function()
    local outcome = run { "plugins", "list", "--isolation", "none", cd = folder }
    assert.equal(1, outcome.code)
    assert.equal("", outcome.out)
  end)

  it("runs them, and ends them in time", function()
    local outcome = run { "run", "mine.json", "--plugins", "plugins", cd = folder }
    assert.same({ code = 0, out = '{"ran":true}\n', err = "" }, outcome)
    for _, isolation in ipairs { "state", "process" } do
      outcome = run { "run", "spin.json", "--plugins", "plugins", "--isolation", isolation, "--limit", "call_ms=50", cd = folder }
      assert.equal(3, outcome.code)
      assert.matches("error%[job%.timeout%].*took longer than the limit call_ms allows: 50\n", outcome.err)
    end
  end)

  -- Built without the runner, there are no such programs, and nothing that could be refused.
  local without = build .. "/spec/without"
  local there = io.open(without, "rb")
  if there then there:close() end

  local function where_missing(call, ...)
    local words = { files.quote(without), call, files.quote(command.program) }
    for _, word in ipairs { ... } do words[#words + 1] = files.quote(word) end
    return shell("cd " .. files.quote(folder) .. " && " .. table.concat(words, " "))
  end

  local lacks = {
    seccomp = "the kernel has no seccomp filters",
    landlock = "the kernel has no Landlock",
    close_range = "the kernel has no close_range",
  }
  for call, lack in pairs(lacks) do
    it("refuses them with one line where there is no " .. call .. ", and runs the others", function()
      if not there then return pending("the runner is not built") end
      assert.same({ code = 0, out = '{"ran":true}\n', err = "" },
        where_missing("none", "run", "mine.json", "--plugins", "plugins"))
      local outcome = where_missing(call, "run", "mine.json", "--plugins", "plugins", "--no-shipped")
      assert.equal(2, outcome.code)
      assert.equal("", outcome.out)
      local first = outcome.err:match "^[^\n]*"
      assert.matches("error%[plan%.unknown_capability%]", first)
      assert.matches("plugin%.isolation: mine%.lua: it has to be confined, and cannot be: " .. lack, first)
      outcome = where_missing(call, "plugins", "check", "mine", "--plugins", "plugins")
      assert.equal(2, outcome.code)
      assert.matches("error%[plugin%.isolation%]", outcome.err)
      assert.equal(1, select(2, outcome.err:gsub("\n", "")))
      -- Nobody falls back: only who says so runs it without.
      outcome = where_missing(call, "run", "mine.json", "--plugins", "plugins", "--isolation", "state")
      assert.same({ code = 0, out = '{"ran":true}\n', err = "" }, outcome)
      outcome = where_missing(call, "plugins", "test", "text.count")
      assert.equal(0, outcome.code)
    end)
  end

  it("says so where there is no runner, and what is left to do", function()
    -- In a mount namespace of its own the build's runner is a device.
    local runner = build .. "/moonplan-runner"
    local hide = "unshare -m sh -c 'mount --bind /dev/null \"$0\" && exec \"$@\"' " .. files.quote(runner) .. " "
    local installed = shell(hide .. "test -e /usr/local/libexec/moonplan-runner")
    if installed.code ~= 1 then return pending("nothing can be mounted here, or there is another runner") end
    local function run_hidden(...)
      local words = { files.quote(command.program), "run", "mine.json", "--plugins", "plugins", "--no-shipped", ... }
      return shell("cd " .. files.quote(folder) .. " && " .. hide .. table.concat(words, " "))
    end
    local outcome = run_hidden()
    assert.equal(2, outcome.code)
    assert.matches("error%[plan%.unknown_capability%].*plugin%.isolation: mine%.lua: it has to be confined, and "
      .. "moonplan%-runner, which does that, is not where it was built or installed", outcome.err)
    assert.matches('isolation "state" runs it without', outcome.err)
    outcome = run_hidden "--json"
    assert.matches("plugin%.isolation: mine%.lua", cjson.decode(outcome.out).errors[1].message)
    assert.same({ code = 0, out = '{"ran":true}\n', err = "" }, run_hidden("--isolation", "state"))
  end)

  it("says so where a process can have no descriptor", function()
    if not there then return pending("the runner is not built") end
    local outcome = where_missing("pidfd_open", "plugins", "check", "mine", "--plugins", "plugins")
    assert.equal(2, outcome.code)
    assert.matches("error%[plugin%.isolation%].*the kernel has no pidfds, or does not let them be used\n", outcome.err)
  end)

  -- Nothing else would end these for an hour.
  it("kills them in time where the descriptor of a process may not signal", function()
    if not there then return pending("the runner is not built") end
    command.write(folder .. "/kill.lua", [[
      local engine = assert(require "moonplan".engine {
        plugins = "plugins", isolation = "process", limits = { call_ms = 50, load_ms = 20000 } })
      for _ = 1, 4 do
        local job = assert(engine:run { version = "1.0", steps = { { id = "a", capability = "spin", input = {} } } })
        print(job.error.code)
      end]])
    local begun = os.time()
    local outcome = where_missing("pidfd_send_signal", "kill.lua")
    assert.same({ code = 0, out = ("job.timeout\n"):rep(4), err = "" }, outcome)
    assert(os.time() - begun < 15)
  end)

  -- A runner that crashes when it is called (spec/c/hostile_runner.c), and what is told of it.
  local crash = ([[
    local engine = assert(require "moonplan".engine {
      plugins = "plugins", isolation = "process", runner = %q, limits = { call_ms = 20000, load_ms = 20000 } })
    local job = assert(engine:run { version = "1.0", steps = { { id = "a", capability = "segv", input = {} } } })
    print(job.error.detail.reason)]]):format(build .. "/spec/hostile_runner")

  it("knows what one died of, whoever started the command", function()
    if not there then return pending("the runner is not built") end
    command.write(folder .. "/plugins/segv.lua", "")
    command.write(folder .. "/crash.lua", crash)
    local outcome = shell(("cd %s && env --ignore-signal=CHLD %s crash.lua"):format(
      files.quote(folder), files.quote(command.program)))
    assert.same({ code = 0, out = "signal 11\n", err = "" }, outcome)
    outcome = where_missing("waitid", "crash.lua")
    assert.same({ code = 0, out = "signal 11\n", err = "" }, outcome)
  end)

  it("ends those that rest where descriptors are few", function()
    command.write(folder .. "/many.lua", [[
      local engine = assert(require "moonplan".engine {
        plugins = "plugins", isolation = "process", limits = { call_ms = 20000, load_ms = 20000 } })
      local ran = 0
      for _ = 1, 2 do
        for i = 1, 20 do
          local job = assert(engine:run { version = "1.0", steps = { { id = "a", capability = "m" .. i, input = {} } } })
          assert(not job.error, job.error and job.error.message)
          ran = ran + 1
        end
      end
      print(ran)]])
    for i = 1, 20 do
      command.write(("%s/plugins/m%d.lua"):format(folder, i), plugin_files.source("m" .. i, "return {}"))
    end
    -- Each that rests has three.
    local outcome = shell(("cd %s && ulimit -n 40 && %s many.lua"):format(files.quote(folder), files.quote(command.program)))
    assert.same({ code = 0, out = "40\n", err = "" }, outcome)
  end)
end)
