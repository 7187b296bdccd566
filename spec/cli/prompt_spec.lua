local command = require "spec.support.command"
local files = require "spec.support.files"

describe("the prompt", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  --- What a terminal shows after these lines were typed, and os.exit() to leave; carriage returns
  --- left out.
  local function typed(lines, env)
    local run = { cd = folder, env = env or { MOONPLAN_HISTORY = "" } }
    run.env.TERM = "xterm"
    local outcome = command.shell("script -qec " .. files.quote(command.text(run)) .. " /dev/null",
      lines .. "os.exit(0, true)\n")
    return outcome.out:gsub("\r", ""), outcome.code
  end

  it("prints what an expression gives", function()
    local shown, code = typed("1 + 1, nil, 'a\\tb'\n")
    assert.equal(0, code)
    assert.truthy(shown:find('\n2\nnil\n"a\\u{9}b"\n', 1, true), shown)
  end)

  it("reads on until a statement is complete", function()
    local shown = typed("for n = 1, 3 do\nio.write(n * 11, ' ')\nend print()\n")
    assert.truthy(shown:find("\n11 22 33 \n", 1, true), shown)
    assert.truthy(shown:find(">> ", 1, true))
  end)

  it("shows what is in a table", function()
    local shown = typed("t = { 10, x = { 'y' }, [true] = moonplan.null } t.t = t\nt\n")
    assert.truthy(shown:find([[
{
  10,
  t = { itself },
  x = {
    "y"
  },
  [true] = moonplan.null
}]], 1, true), shown)
  end)

  it("goes on after an error", function()
    local shown, code = typed("error('boo')\nx = = 1\nprint('still ' .. 'here')\n")
    assert.equal(0, code)
    assert.truthy(shown:find("moonplan: stdin:1: boo\nstack traceback:", 1, true))
    assert.truthy(shown:find("unexpected symbol near '='", 1, true))
    assert.truthy(shown:find("still here", 1, true))
  end)

  it("has a line editor", function()
    -- One backspace, and control-A to go to the start.
    assert.truthy(typed("(3 * 7)x\127\1 2 * \n"):find("\n42\n", 1, true))
  end)

  it("remembers lines from one session to the next, for nobody else to read", function()
    local history = folder .. "/history"
    typed("1111 + 1\n", { MOONPLAN_HISTORY = history })
    assert.equal("600", files.lines_of("stat -c %a " .. history)[1])
    -- Up, three times: past `x = 5` and os.exit to the first line of the first session.
    assert.truthy(typed("x = 5\n\27[A\27[A\27[A * 2\n", { MOONPLAN_HISTORY = history })
      :find("\n1113\n", 1, true))
  end)

  it("keeps its history in the home folder", function()
    typed("1\n", { HOME = folder })
    assert.truthy(files.read(folder .. "/.moonplan_history"))
  end)

  it("works where it cannot keep a history", function()
    for _, path in ipairs { "/proc/nowhere/history", folder, "/dev/full" } do
      local shown, code = typed("20 + 22\n", { MOONPLAN_HISTORY = path })
      assert.equal(0, code)
      assert.truthy(shown:find("\n42\n", 1, true), shown)
    end
    local shown, code = typed("20 + 22\n", { HOME = "/nowhere" })
    assert.equal(0, code)
    assert.truthy(shown:find("\n42\n", 1, true))
  end)

  it("comes with -i after everything else, without a terminal too", function()
    local outcome = command.run { "-e", "x = 20", "-i", stdin = "x + 22\n=x\nprint(x)" }
    assert.same({ code = 0, err = "", out = "> 42\n> 20\n> 20\n> \n" }, outcome)
  end)
end)
