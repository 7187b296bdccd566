-- Where this says "as lua5.4", a stock lua5.4 runs the same words and has to give the same.
local command = require "spec.support.command"
local files = require "spec.support.files"

local run = command.run

local function stock(words)
  local text = command.text(words):gsub(files.quote(command.program):gsub("%W", "%%%0"), "lua5.4", 1)
  return command.shell(text, words.stdin)
end

describe("the interpreter", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  describe("does as lua5.4", function()
    local PRINT_ARGUMENTS = [[
      local least, most = 0, 0
      for n in pairs(arg) do least, most = math.min(least, n), math.max(most, n) end
      for n = least + 1, most do io.write(n, "=", arg[n], " ") end
      print(...)]]

    for name, words in pairs {
      ["with a script and arguments"] = { "s.lua", "a", "", "-x", "b c" },
      ["with options before a script"] = { "-e", "x = 1", "s.lua", "a" },
      ["with -- before a script"] = { "--", "s.lua", "a" },
      ["with a script on standard input"] = { "-", "a", "b", stdin = PRINT_ARGUMENTS },
      ["with standard input that is no terminal"] = { stdin = PRINT_ARGUMENTS },
      ["with code"] = { "-e", "print(1)", "-e", "print(2, ...)", "-eprint(3)" },
      ["with a module"] = { "-l", "cjson", "-e", "print(cjson.encode{1})" },
      ["with a module of another name"] = { "-l", "j=cjson", "-e", "print(j.encode{1})" },
      ["with a first line for the kernel"] = { "hash.lua" },
      ["with a first line, an error and its line number"] = { "hash.lua", "error" },
      ["with code that is none"] = { "-e", "x = = 1" },
      ["with a script that is none"] = { "broken.lua" },
      ["with an error in the middle"] = { "-e", "print(1) error('boo') print(2)" },
      ["with an error after which a script must not run"] = { "-e", "error('boo')", "s.lua" },
      ["with an error that is a table"] = { "-e", "error({})" },
      ["with an error that has a text"] = {
        "-e", "error(setmetatable({}, { __tostring = function() return 'as text' end }))" },
      ["with an error that is nil"] = { "-e", "error()" },
      ["with an exit code"] = { "-e", "os.exit(7)" },
      ["with exit(false)"] = { "-e", "os.exit(false, true)" },
      ["with warnings"] = { "-W", "-e", "warn('careful')" },
      ["without warnings"] = { "-e", "warn('careful')" },
      ["with a missing module"] = { "-l", "no.such.module" },
      ["with no operand for -e"] = { "-e" },
      ["with an option that there is not"] = { "-x" },
      ["with a script that is not there"] = { "./none.lua" },
      ["with bytecode"] = { "s.luac", "a" },
    } do
      it(name, function()
        command.write(folder .. "/s.lua", PRINT_ARGUMENTS)
        command.write(folder .. "/s.luac", string.dump(assert(load(PRINT_ARGUMENTS))))
        command.write(folder .. "/hash.lua",
          "#!/usr/bin/env moonplan\nprint(1)\nif ... then error(...) end\n")
        command.write(folder .. "/broken.lua", "print('no'\n")
        words.cd = folder
        local ours, theirs = run(words), stock(words)
        assert.equal(theirs.code, ours.code)
        assert.equal(theirs.out, ours.out)
        -- Names of the programs, their usage texts and the C frames under a script differ.
        local function essence(text)
          return (text:match("^[^\n]*"):gsub("^%S+: ", ""))
        end
        if not theirs.err:find("usage:") and not theirs.err:find("no.such.module", 1, true) then
          assert.equal(essence(theirs.err), essence(ours.err))
        end
        assert.equal(theirs.err ~= "", ours.err ~= "")
      end)
    end
  end)

  it("shows where an error came from", function()
    command.write(folder .. "/s.lua", "local function f()\n  error('boo')\nend\nf()\n")
    local outcome = run { "s.lua", cd = folder }
    assert.equal(1, outcome.code)
    assert.truthy(outcome.err:find("^moonplan: s%.lua:2: boo\nstack traceback:\n"))
    assert.truthy(outcome.err:find("s.lua:4: in main chunk", 1, true))
  end)

  it("says its version for -v and goes on", function()
    local outcome = run { "-v", "-e", "print(1)" }
    assert.truthy(outcome.out:find("^moonplan %d+%.%d+%.%d+, Lua 5%.4[^\n]*\n1\n$"))
    assert.truthy(run { "-v" }.out:find("^moonplan"))
  end)

  it("answers an unknown word with the nearest verb", function()
    for word, verb in pairs { valdate = "validate", digset = "digest", rewiev = "review", hlep = "help" } do
      assert.same({ code = 1, out = "",
        err = ('moonplan: "%s" is neither a verb nor a file; did you mean "%s"?\n'):format(word, verb) },
        run { word })
    end
    assert.truthy(run { "frobnicate" }.err:find("; there are: validate, ", 1, true))
    assert.falsy(run { "x\27[2J\u{202e}" }.err:find("[\27\u{202e}]"))
  end)

  it("runs what `lua` is followed by, verb or not", function()
    command.write(folder .. "/help", "print('script')")
    assert.equal("script\n", run { "lua", "help", cd = folder }.out)
    assert.equal("1\n", run { "lua", "-e", "print(1)" }.out)
    assert.equal("1\n", run { "lua", stdin = "print(1)" }.out)
  end)

  describe("interrupted", function()
    -- The script says when it is there; then the signal comes.
    local function interrupted(code, more)
      command.write(folder .. "/s.lua", code)
      return command.shell(([[
        cd %s; mkfifo ready
        %s & pid=$!; exec 3<ready; read -r line <&3
        kill -INT $pid; %s wait $pid; exit $?]]):format(folder,
        command.text { "s.lua", redirect = ">ready </dev/zero" }, more or ""))
    end

    it("ends a loop, with a traceback", function()
      local outcome = interrupted("print('ready')\nwhile true do end")
      assert.equal(1, outcome.code)
      assert.truthy(outcome.err:find("^moonplan: [^\n]*interrupted\nstack traceback:"))
    end)

    it("can be caught by a script that has to tidy up", function()
      local outcome = interrupted(
        "print(pcall(function() print('ready') while true do end end))", "cat <&3;")
      assert.equal(0, outcome.code)
      assert.truthy(outcome.out:find("^false\t[^\n]*interrupted\n$"))
    end)

    it("a second time, ends what the first could not", function()
      -- A pattern that takes longer than the universe, in C, where no hook is called (and not so deep
      -- that Lua refuses it as too complex).
      local outcome = interrupted([[
        while true do
          pcall(function()
            print('ready')
            return ("a"):rep(100):find(("a?"):rep(100) .. ("a"):rep(99) .. "b")
          end)
        end]], "while kill -INT $pid 2>&-; do :; done;")
      assert.equal(128 + 2, outcome.code)
    end)
  end)
end)
