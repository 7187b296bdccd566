-- What a stranger leaves in the current directory or in the environment has no say in a verb.
local command = require "spec.support.command"
local files = require "spec.support.files"
local plans = require "spec.support.plans"

local run = command.run
local TINY = plans.tiny()

local VERBS = {
  { "validate", "plan.json" }, { "check", "plan.json" }, { "digest", "plan.json" },
  { "digest", "--ndjson", "plan.json" }, { "review", "plan.json" }, { "limits" }, { "version" },
  { "help" }, { "help", "digest" }, { "help", "--completion", "bash" }, { "digest", "--wrong" },
}

describe("a verb", function()
  local folder, trap
  before_each(function()
    folder = command.folder()
    trap = ('io.open(%q, "w"):close(); error("trapped")'):format(folder .. "/trapped")
  end)
  after_each(command.clean)

  it("takes no code from the current directory", function()
    os.execute("mkdir -p " .. folder .. "/moonplan/command " .. folder .. "/moonplan/verbs "
      .. folder .. "/lua/moonplan")
    for _, name in ipairs { "init", "moonplan", "argparse", "json", "cjson", "digest", "validate",
      "moonplan/init", "moonplan/command", "moonplan/console", "moonplan/command/text",
      "moonplan/verbs/digest", "lua/moonplan", "lua/moonplan/command" } do
      command.write(folder .. "/" .. name .. ".lua", trap)
    end
    for _, name in ipairs { "moonplan.so", "digest", "help", "libedit.so.2", ".moonplanrc" } do
      command.write(folder .. "/" .. name, trap)
    end
    command.write(folder .. "/plan.json", TINY)
    local plain = command.folder()
    command.write(plain .. "/plan.json", TINY)
    local path = folder .. "/?.lua;" .. folder .. "/?/init.lua"
    local env = {
      LUA_PATH = path, LUA_PATH_5_4 = path,
      LUA_CPATH = folder .. "/?.so", LUA_CPATH_5_4 = folder .. "/?.so",
      LUA_INIT = trap, LUA_INIT_5_4 = "@" .. folder .. "/init.lua",
    }
    for _, verb in ipairs(VERBS) do
      local there = { table.unpack(verb) }
      there.cd, there.env = folder, env
      local elsewhere = { table.unpack(verb) }
      elsewhere.cd = plain
      assert.same(run(elsewhere), run(there))
    end
    assert.is_nil(io.open(folder .. "/trapped"))
  end)
end)

describe("a script", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  it("gets our module, whatever lies in the current directory", function()
    for _, name in ipairs { "moonplan", "init" } do
      command.write(folder .. "/" .. name .. ".lua", 'print("trapped")')
    end
    command.write(folder .. "/s.lua", [[
      assert(require("moonplan") == moonplan)
      print(moonplan.digest(io.read("a")))]])
    assert.same({ code = 0, err = "",
        out = "0x93aeec006e55dfe0f54041d53c94387e08c504d4f3b3826cd3426dbc7da38ea5\n" },
      run { "s.lua", cd = folder, stdin = TINY })
  end)

  it("does not run LUA_INIT", function()
    for _, name in ipairs { "LUA_INIT", "LUA_INIT_5_4" } do
      assert.equal("1\n", run { "-e", "print(1)", env = { [name] = "print('trapped')" } }.out)
    end
  end)

  it("finds modules of its own as with lua5.4", function()
    command.write(folder .. "/helper.lua", "return 'found ' .. ...")
    assert.equal("found helper\n", run { "-e", "print((require 'helper'))", cd = folder }.out)
    local away = { LUA_PATH = folder .. "/?.lua" }
    assert.equal("found helper\n", run { "-e", "print((require 'helper'))", env = away }.out)
    assert.equal(1, run { "-E", "-e", "print((require 'helper'))", env = away }.code)
    assert.equal("[1]\n", run { "-e", "print(require('cjson').encode{1})" }.out)
  end)

  it("can be called like a verb", function()
    command.write(folder .. "/digest", "#!/usr/bin/env moonplan\nprint('script', ...)")
    command.write(folder .. "/plan", TINY)
    assert.equal("script\tplan\n", run { "./digest", "plan", cd = folder }.out)
    assert.equal("script\tplan\n", run { "lua", "digest", "plan", cd = folder }.out)
    assert.truthy(run { "digest", "plan", cd = folder }.out:find("^0x"))
    assert.equal(files.read(folder .. "/plan"), TINY)
  end)
end)
