local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"

local run = command.run

local VERBS = { "validate", "check", "digest", "review", "typed-data", "reference", "run", "plugins", "limits", "version", "help" }

describe("moonplan help", function()
  after_each(command.clean)

  it("lists every verb", function()
    local outcome = run { "help" }
    assert.equal(0, outcome.code)
    for _, verb in ipairs(VERBS) do
      assert.truthy(outcome.out:find("\n  " .. verb:gsub("%-", "%%-") .. " +%l"), verb)
    end
    assert.same(outcome, run { "--help" })
    assert.same(outcome, run { "-h" })
  end)

  for _, verb in ipairs(VERBS) do
    it("explains " .. verb, function()
      local outcome = run { "help", verb }
      assert.equal(0, outcome.code)
      assert.truthy(outcome.out:find("Usage: moonplan " .. verb, 1, true))
      assert.same(outcome, run { verb, "--help" })
      assert.same(outcome, run { verb, "-h" })
    end)

    it("is what a wrong use of " .. verb .. " points to", function()
      local outcome = run { verb, "--no-such-option" }
      assert.equal(1, outcome.code)
      assert.equal("", outcome.out)
      assert.equal(("moonplan %s: unknown option '--no-such-option'\nsee \"moonplan help %s\"\n")
        :format(verb, verb), outcome.err)
    end)
  end

  it("gives every exit code that the README has", function()
    local readme = files.read(files.root .. "README.md")
    local rows = readme:match("\n## Exit codes of the command\n\n(.-)\n\n")
    local codes = run { "help" }.out:match("Exit codes: (.-)%. Of several")
    local count = 0
    for code in rows:gmatch "\n| (%d+) |" do
      count = count + 1
      assert.truthy((" " .. codes:gsub("\n", " ")):find(" " .. code .. " ", 1, true), code)
    end
    assert.equal(7, count)
  end)

  it("names the verbs when there is none of that name", function()
    local outcome = run { "help", "digset" }
    assert.equal(1, outcome.code)
    assert.truthy(outcome.err:find("there is no verb \"digset\"", 1, true))
  end)

  it("spells out what is hidden in a wrong word", function()
    local outcome = run { "digest", "--\27[2J\u{202e}\xff" }
    assert.equal(1, outcome.code)
    assert.falsy(outcome.err:find("[\27\xff]"))
    assert.falsy(outcome.err:find("\u{202e}", 1, true))
  end)

  it("lets bash complete verbs and options", function()
    local script = run { "help", "--completion", "bash" }
    assert.equal(0, script.code)
    local outcome = command.shell(script.out .. [[
      complete_words() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _moonplan; echo "${COMPREPLY[*]}"; }
      complete_words moonplan dig
      complete_words moonplan digest --exp]])
    assert.equal("digest\n--explain\n", outcome.out)
  end)

  it("has scripts for zsh and fish", function()
    for _, shell in ipairs { "zsh", "fish" } do
      local outcome = run { "help", "--completion", shell }
      assert.equal(0, outcome.code)
      for _, verb in ipairs(VERBS) do assert.truthy(outcome.out:find(verb, 1, true)) end
    end
  end)
end)

describe("moonplan limits", function()
  it("gives the header's table", function()
    local outcome = run { "limits", "--json" }
    local found = {}
    for _, limit in ipairs(cjson.decode(outcome.out)) do found[limit.name] = limit end
    local header = files.read(files.root .. "src/moonplan.h")
    local table_text = header:match("#define MOONPLAN_LIMITS%(X%).-\n\n")
    local count = 0
    for name, initial, floor, ceiling, text in
      table_text:gmatch('X%((%l[%w_]*), (%d+), (%d+), (%d+),[%s\\]*"([^"]*)"%)') do
      count = count + 1
      assert.same({ name = name, default = tonumber(initial), floor = tonumber(floor),
        ceiling = tonumber(ceiling), text = text }, found[name])
      assert.truthy(run { "limits" }.out:find("\n?" .. name .. " +" .. initial .. " +"
        .. floor .. "%.%." .. ceiling))
    end
    assert.truthy(count >= 10)
  end)
end)

describe("moonplan version", function()
  it("names the versions at hand", function()
    local version = files.read(files.root .. "src/moonplan.h"):match('MOONPLAN_VERSION "(.-)"')
    local lua = command.shell("lua5.4 -v").out:match("Lua (%S+)")
    local outcome = run { "version" }
    assert.equal(0, outcome.code)
    assert.truthy(outcome.out:find("^moonplan " .. version:gsub("%p", "%%%0") .. "\nLua "
      .. lua:gsub("%p", "%%%0") .. "\nlibsodium %d"))
    assert.same(outcome, run { "--version" })
    local facts = cjson.decode(run { "version", "--json" }.out)
    assert.equal(version, facts.moonplan)
    assert.equal(lua, facts.lua)
    assert.equal("boolean", type(facts.editline))
  end)
end)
