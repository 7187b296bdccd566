local command = require "spec.support.command"
local files = require "spec.support.files"
local plans = require "spec.support.plans"

local run = command.run

local TINY = plans.tiny()
local TINY_DIGEST = "0x93aeec006e55dfe0f54041d53c94387e08c504d4f3b3826cd3426dbc7da38ea5"

-- Default of document_bytes.
local MOST = 16 * 1024 * 1024

describe("a file to read", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  local function refused(code, pattern, outcome)
    assert.equal("", outcome.out)
    assert.truthy(outcome.err:find(pattern), outcome.err)
    assert.equal(code, outcome.code)
  end

  for _, verb in ipairs { "validate", "digest", "review" } do
    it("that is missing is a failure of " .. verb, function()
      refused(1, "^none: error%[io%]: cannot be read: No such file or directory\n$",
        run { verb, "none", cd = folder })
    end)

    it("that has no name is named all the same by " .. verb, function()
      refused(1, '^"": error%[io%]: cannot be read: ', run { verb, "" })
    end)

    it("that is a directory is a failure of " .. verb, function()
      refused(1, "^%.: error%[io%]: cannot be read: Is a directory\n$", run { verb, ".", cd = folder })
    end)

    it("that is empty is invalid for " .. verb, function()
      refused(2, "^%-:1:1: error%[json%.syntax%]: ", run { verb, "-", stdin = "" })
    end)

    it("that never ends is refused at the limit by " .. verb, function()
      refused(2, "^/dev/zero: error%[limit%]: more than 16777216 bytes", run { verb, "/dev/zero" })
      refused(2, "^pipe: error%[limit%]: more than 16777216 bytes", command.shell(
        ("cd %s; mkfifo pipe; yes >pipe & %s; code=$?; kill $! 2>&-; exit $code"):format(
          folder, command.text { verb, "pipe" })))
    end)

    it("that holds NUL bytes is invalid for " .. verb, function()
      refused(2, "error%[json%.syntax%]", run { verb, "-", stdin = TINY .. "\0" })
      refused(2, "error%[json%.syntax%]", run { verb, "-", stdin = TINY:gsub("eip", "\0eip") })
    end)
  end

  it("may be as large as the limit and not a byte larger", function()
    local path = command.write(folder .. "/large", TINY .. (" "):rep(MOST - #TINY))
    assert.equal(TINY_DIGEST .. "\n", run { "digest", path }.out)
    assert.equal(TINY_DIGEST .. "\n", command.shell("cat " .. path .. " | "
      .. command.text { "digest", "-" }).out)
    command.write(path, TINY .. (" "):rep(MOST - #TINY + 1))
    refused(2, "error%[limit%]: more than 16777216 bytes %(limit document_bytes%): there are 16777217\n$", run { "digest", path })
    refused(2, "error%[limit%]: more than 16777216 bytes",
      command.shell("cat " .. path .. " | " .. command.text { "digest", "-" }))
  end)

  it("that cannot be read although it opens is a failure", function()
    -- Address 0 of the reading process is mapped by nobody.
    refused(1, "^/proc/self/mem: error%[io%]: cannot be read: Input/output error\n$",
      run { "digest", "/proc/self/mem" })
  end)

  it("may claim to have no bytes, as files in /proc do", function()
    refused(2, "^/proc/version:1:1: error%[json%.syntax%]", run { "digest", "/proc/version" })
  end)

  it("may come in pieces", function()
    local outcome = command.shell(([[
      { for part in %s %s %s; do printf %%s "$part"; done; } | %s]]):format(
        files.quote(TINY:sub(1, 7)), files.quote(TINY:sub(8, 100)), files.quote(TINY:sub(101)),
        command.text { "digest", "-" }))
    assert.equal(TINY_DIGEST .. "\n", outcome.out)
  end)

  it("is read from a descriptor that does not block", function()
    -- dd sets the flag on the FIFO, and the program comes before there is anything to read.
    local outcome = command.shell(([[
      cd %s; mkfifo pipe; (sleep infinity >pipe & echo $! >holder); exec 3<pipe
      dd of=/dev/null iflag=nonblock count=0 <&3 2>&-
      (printf %%s %s >pipe; kill $(cat holder)) &
      %s]]):format(folder, files.quote(TINY), command.text { "digest", "-", redirect = "<&3" }))
    assert.equal(TINY_DIGEST .. "\n", outcome.out)
  end)

  it("may be standard input once", function()
    refused(1, "^%-: error%[io%]: standard input has been read already\n$",
      command.run { "review", "--as", "step", "-", "-", stdin = TINY, redirect = "2>&1 | tail -1 >&2; exit 1" })
  end)

  it("fails to be read from a closed standard input", function()
    refused(1, "^%-: error%[io%]: cannot be read: Bad file descriptor\n$",
      run { "digest", "-", redirect = "<&-" })
  end)

  describe("may have any name", function()
    for shown, name in pairs {
      ["two words.json"] = "two words.json",
      ["-"] = "./-",
      ["--json"] = "./--json",
      ["grün.json"] = "grün.json",
    } do
      it("such as " .. shown, function()
        command.write(folder .. "/" .. name, TINY)
        assert.equal(TINY_DIGEST .. "\n", run { "digest", name, cd = folder }.out)
      end)
    end

    it("also one that looks like an option, behind --", function()
      command.write(folder .. "/--normalize", TINY)
      assert.equal(TINY_DIGEST .. "\n", run { "digest", "--", "--normalize", cd = folder }.out)
    end)

    it("and what is hidden in it is spelled out", function()
      for name, shown in pairs {
        ["a\nb"] = '"a\\u{a}b"',
        ["\27[2Jx"] = '"\\u{1b}[2Jx"',
        ["x\u{202e}nosj"] = '"x\\u{202e}nosj"',
        ["\xffx"] = '"\\xffx"',
      } do
        command.write(folder .. "/" .. name, "{}")
        local outcome = run { "validate", name, "missing" .. name, cd = folder }
        assert.equal(1, outcome.code)
        assert.truthy(outcome.err:find(shown .. ":1:1: error[", 1, true), outcome.err)
        assert.falsy(outcome.err:find(name, 1, true))
        command.write(folder .. "/" .. name, TINY)
        assert.equal(shown .. ": valid call plan, digest " .. TINY_DIGEST .. "\n",
          run { "validate", name, cd = folder }.out)
      end
    end)
  end)

  it("with a million steps is refused, quickly and by its name", function()
    local path = folder .. "/steps"
    local file = assert(io.open(path, "wb"))
    file:write('{"ordered_steps":[')
    for n = 1, 1000000 do file:write("{},", n == 1000000 and "{}" or "") end
    file:write('],"schema_version":"1"}')
    file:close()
    local outcome = run { "validate", path }
    assert.equal(2, outcome.code)
    assert.truthy(outcome.err:find("error[limit]", 1, true))
    assert.truthy(#outcome.err < 65536)
  end)
end)
