local command = require "spec.support.command"
local files = require "spec.support.files"
local plans = require "spec.support.plans"

local run = command.run
local TINY = plans.tiny()

describe("output", function()
  after_each(command.clean)

  describe("to a reader that goes away", function()
    -- One answer is what head waits for; the program has many more to give.
    local function into_head(signal_setup, jobs)
      return command.shell(('%s { for n in {1..20000}; do echo "$plan"; done; } 2>&- | %s | head -1 >&2; '
        .. 'exit ${PIPESTATUS[1]}'):format(
          "plan=" .. files.quote(TINY) .. ";" .. signal_setup,
        command.text { "digest", "--ndjson", "--jobs", jobs or "1", "-" }))
    end

    it("ends quietly with 141", function()
      for _, jobs in ipairs { "1", "3" } do
        local outcome = into_head("", jobs)
        assert.equal(141, outcome.code)
        assert.truthy(outcome.err:find("^0x%x+\n$"), outcome.err)
      end
    end)

    it("does so where the signal is ignored, too", function()
      local outcome = into_head("trap '' PIPE;")
      assert.equal(141, outcome.code)
      assert.truthy(outcome.err:find("^0x%x+\n$"), outcome.err)
    end)

    it("is an exit, not a death by signal", function()
      -- Descriptor 3 leads to a reader that has gone; Lua tells how the program, with no shell in
      -- between, came to its end.
      local outcome = command.shell(("exec 3> >(:); wait $!; COMMAND=%s lua5.4 -e %s"):format(
        files.quote("exec " .. command.text { "help", redirect = ">&3" }),
        files.quote("print(select(2, os.execute(os.getenv('COMMAND'))))")))
      assert.same({ code = 0, out = "exit\t141\n", err = "" }, outcome)
    end)

    it("ends a script as well", function()
      local outcome = command.shell(command.text { "-e", "while true do print(1) end" }
        .. " | head -1; exit ${PIPESTATUS[0]}")
      assert.same({ code = 141, out = "1\n", err = "" }, outcome)
    end)
  end)

  describe("that cannot be written", function()
    local full = "moonplan: cannot write to standard output: No space left on device\n"
    local closed = "moonplan: cannot write to standard output: Bad file descriptor\n"

    for name, words in pairs {
      digest = { "digest", "-", stdin = TINY },
      ["digest --ndjson"] = { "digest", "--ndjson", "-", stdin = (TINY .. "\n"):rep(3000) },
      validate = { "validate", "-", stdin = TINY },
      review = { "review", "-", stdin = TINY },
      limits = { "limits" },
      version = { "version" },
      help = { "help" },
      ["a script"] = { "-e", "io.write(1)" },
    } do
      it("is a failure of " .. name, function()
        words.redirect = ">/dev/full"
        assert.same({ code = 1, out = "", err = full }, run(words))
        words.redirect = ">&-"
        assert.same({ code = 1, out = "", err = closed }, run(words))
      end)
    end

    it("is a failure of a script that did not notice, though the reason is gone by then", function()
      for _, redirect in ipairs { ">/dev/full", ">&-" } do
        assert.same({ code = 1, out = "", err = "moonplan: cannot write to standard output\n" },
          run { "-e", "print(('x'):rep(100000))", redirect = redirect })
      end
    end)

    it("ends a script as a reader that goes away does, where the signal is ignored", function()
      local outcome = command.shell("trap '' PIPE; " .. command.text {
        "-e", "for n = 1, 100000 do print(n) end" } .. " | head -1; exit ${PIPESTATUS[0]}")
      assert.same({ code = 141, out = "1\n", err = "" }, outcome)
    end)

    it("does not go into a file that was read", function()
      local path = command.write(command.folder() .. "/plan", TINY)
      run { "digest", path, redirect = ">&-" }
      assert.equal(TINY, files.read(path))
    end)

    it("does not matter where nothing is to be said", function()
      assert.equal(0, run { "-e", "local x = 1", redirect = ">&-" }.code)
      assert.equal(2, run { "digest", "-", stdin = "{}", redirect = "2>&-" }.code)
    end)
  end)

  describe("colour", function()
    -- script(1) gives the program a terminal.
    local function on_terminal(env)
      local path = command.write(command.folder() .. "/bad.json", "{}")
      return command.shell(env .. " script -qec " .. files.quote(command.text { "validate", path })
        .. " /dev/null").out
    end

    it("is for terminals", function()
      assert.truthy(on_terminal("TERM=xterm"):find("\27[31merror\27[0m[document.kind]", 1, true))
      assert.falsy(run { "validate", "-", stdin = "{}" }.err:find("\27", 1, true))
    end)

    it("is not for those who set NO_COLOR, or have a dumb terminal", function()
      assert.falsy(on_terminal("TERM=xterm NO_COLOR=1"):find("\27", 1, true))
      assert.falsy(on_terminal("TERM=dumb"):find("\27", 1, true))
      assert.truthy(on_terminal("TERM=xterm NO_COLOR="):find("\27", 1, true), "empty means unset")
    end)
  end)
end)
