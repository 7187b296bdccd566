local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"

local run = command.run

local GOOD = [[return {
  kind = "capability", api = 1, name = "%s", version = "%s", summary = "Is fine.", risk = "read",
  run = function() return { ran = true } end,
}
]]

describe("moonplan keys", function()
  local folder
  before_each(function() folder = command.folder() end)
  after_each(command.clean)

  local function keys(...) return run { "keys", cd = folder, ... } end

  it("makes a pair that only its owner can read, and shows it", function()
    local outcome = keys("new", "alice")
    assert.same({ 0, "" }, { outcome.code, outcome.err })
    local id = outcome.out:match "^alice%.key: written, readable by you alone\nalice%.pub: the key (%x+), for whoever is to trust it\n$"
    assert.equal(16, #id)
    assert.equal("600", files.lines_of("stat -c %a " .. folder .. "/alice.key")[1])
    local line = files.read(folder .. "/alice.pub"):match "\n(%S+)\n$"
    for _, name in ipairs { "alice.pub", "alice.key" } do
      assert.same({ code = 0, err = "", out = ("%s: %s %s\n"):format(name, id, line) }, keys("show", name))
      assert.same({ file = name, id = id, key = line }, cjson.decode(keys("show", "--json", name).out))
    end
  end)

  it("overwrites nothing", function()
    assert.equal(0, keys("new", "alice").code)
    local before = files.read(folder .. "/alice.key")
    local outcome = keys("new", "alice")
    assert.equal(1, outcome.code)
    assert.matches("^alice: error%[file%.unavailable%]: \"alice%.key\" is there already", outcome.err)
    assert.equal(before, files.read(folder .. "/alice.key"))
    assert.equal(1, keys("new", "no/such/folder").code)
    assert.equal(1, keys("new", "").code)
    assert.equal(1, keys("new").code)
  end)

  it("locks with a password that is asked for", function()
    local outcome = run { "keys", "new", "bob", "--password", cd = folder, stdin = "correct horse\n" }
    assert.equal(0, outcome.code)
    assert.matches("bob%.key: written, locked with the password\n", outcome.out)
    assert.equal(0, run({ "keys", "show", "bob.key", cd = folder, stdin = "correct horse" }).code)
    outcome = run { "keys", "show", "bob.key", cd = folder, stdin = "wrong horse\n" }
    assert.equal(1, outcome.code)
    assert.equal("bob.key: error[key.password]: the password is not the key's\n", outcome.err)
    assert.not_matches("horse", outcome.err)
    assert.equal("bob.key: error[key.password]: there is nobody to ask for a password\n", keys("show", "bob.key").err)
    assert.matches("the password is empty", run({ "keys", "show", "bob.key", cd = folder, stdin = "\n" }).err)
    assert.matches("more than 1024 bytes", run({ "keys", "show", "bob.key", cd = folder, stdin = ("x"):rep(2000) }).err)
    -- The other half says all that is public.
    assert.equal(0, keys("show", "bob.pub").code)
    assert.equal(1, run({ "keys", "new", "eve", "--password", cd = folder, stdin = "\n" }).code)
    assert.is_nil(io.open(folder .. "/eve.key"))
  end)

  it("asks a terminal without showing what is typed", function()
    local script = command.write(folder .. "/ask.py", [=[
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1]] + sys.argv[2:])
answers, seen = [b"correct horse\n", b"correct horse\n"], b""
while True:
    try:
        piece = os.read(fd, 1024)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if answers and seen.endswith((b"password: ", b"again: ")):
        os.write(fd, answers.pop(0))
os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
]=])
    local outcome = command.shell(("cd %s && python3 %s %s keys new dora --password"):format(folder, script, files.quote(command.program)))
    assert.matches("password: ", outcome.out)
    assert.matches("the same again: ", outcome.out)
    assert.matches("dora%.key: written, locked", outcome.out)
    assert.not_matches("horse", outcome.out)
  end)

  it("leaves the terminal as it was when it is interrupted", function()
    local script = command.write(folder .. "/stop.py", [=[
import os, pty, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1]] + sys.argv[2:])
seen, before = b"", None
while True:
    try:
        piece = os.read(fd, 1024)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if seen.endswith(b"password: "):
        before = termios.tcgetattr(fd)[3] & termios.ECHO
        os.write(fd, b"half a pass\x03")
        _, status = os.waitpid(pid, 0)
        after = termios.tcgetattr(fd)[3] & termios.ECHO
        print(before, after != 0, os.WIFSIGNALED(status) and os.WTERMSIG(status))
        break
]=])
    local outcome = command.shell(("cd %s && python3 %s %s keys new dora --password"):format(folder, script, files.quote(command.program)))
    assert.equal("0 True 2\n", outcome.out)
    assert.is_nil(io.open(folder .. "/dora.key"))
  end)

  it("refuses files that are no keys", function()
    command.write(folder .. "/x.pub", "nothing")
    assert.same({ code = 2, out = "", err = "x.pub: error[key.format]: this is no public key: those are a comment line and one of 56 "
      .. "characters\n" }, keys("show", "x.pub"))
    assert.equal(0, keys("new", "alice").code)
    os.execute("chmod 644 " .. folder .. "/alice.key")
    local outcome = keys("show", "alice.key")
    assert.equal(1, outcome.code)
    assert.matches("is open to others than its owner; chmod 600 closes it", outcome.err)
  end)
end)

describe("moonplan plugins sign and verify", function()
  local folder
  before_each(function()
    folder = command.folder()
    os.execute(("mkdir %s/plugins %s/keys"):format(folder, folder))
    command.write(folder .. "/plugins/a.lua", GOOD:format("a", "1.0.0"))
    assert.equal(0, run({ "keys", "new", "alice", cd = folder }).code)
    os.execute(("cp %s/alice.pub %s/keys"):format(folder, folder))
  end)
  after_each(command.clean)

  local function plugins(...) return run { "plugins", cd = folder, ... } end
  local function sign(...) return plugins("sign", "plugins", "--key", "alice.key", "--isolation", "state", ...) end
  local function verify(...) return plugins("verify", "plugins", "--trust", "keys", ...) end
  local function id() return run({ "keys", "show", "alice.pub", cd = folder }).out:match ": (%x+) " end

  it("go together", function()
    assert.same({ code = 0, err = "", out = ("plugins: signed by the key %s\n"):format(id()) }, sign())
    assert.same({ code = 0, err = "", out = ("plugins: signed by alice (%s), runs in isolation process\n  a 1.0.0  a.lua\n"):format(id()) },
      verify())
    local row = cjson.decode(verify("--json").out)
    assert.equal("alice", row.signer)
    assert.equal("a.lua", row.files[1].path)
    assert.equal("1.0.0", row.items[1].version)
  end)

  it("say what is wrong, and where", function()
    assert.same({ code = 2, out = "", err = "plugins: error[plugin.signature]: nobody has signed it: there is no plugins.manifest\n" },
      verify())
    sign()
    command.write(folder .. "/plugins/a.lua", GOOD:format("a", "1.0.1"))
    assert.same({ code = 2, out = "", err = 'plugins: error[plugin.signature]: "a.lua" is not what was signed: it has been changed\n' },
      verify())
    local outcome = plugins("verify", "plugins", "--trust", "nowhere")
    assert.same({ code = 1, out = "", err = '--trust: error[file.unavailable]: there is no folder "nowhere"\n' }, outcome)
    command.write(folder .. "/keys/trust.json", "{]")
    outcome = verify()
    assert.equal(2, outcome.code)
    assert.matches("^keys: error%[plugin%.trust%]: trust%.json, line 1, is no JSON", outcome.err)
    assert.equal(1, plugins("verify", "plugins").code)
    assert.equal(1, plugins("sign", "plugins").code)
    assert.equal(1, plugins("sign", "plugins", "--key", "no.key").code)
    command.write(folder .. "/plugins/b.lua", "nonsense")
    outcome = sign()
    assert.equal(2, outcome.code)
    assert.matches("b%.lua", outcome.err)
  end)

  it("decide what a run uses", function()
    sign()
    local plan = command.write(folder .. "/plan.json", '{"steps":[{"id":"x","capability":"a"}]}')
    local function go() return run { "run", plan, "--plugins", "plugins", "--trust", "keys", "--isolation", "state", cd = folder } end
    assert.equal(0, go().code)
    command.write(folder .. "/plugins/c.lua", GOOD:format("c", "1.0.0"))
    local outcome = go()
    assert.equal(2, outcome.code)
    assert.matches("plan%.unknown_capability", outcome.err)
    assert.matches('"c%.lua" is not in the signed plugins%.manifest', outcome.err)
  end)

  it("say that a trust store cannot be written to, once", function()
    command.write(folder .. "/plugins/b.lua", GOOD:format("b", "1.0.0"))
    sign()
    -- A file system that is only read keeps the file from being written, for root as well.
    local only_read = ("unshare -m sh -c 'mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"' %s/keys "):format(
      files.quote(folder))
    if not os.execute(only_read .. "true 2>/dev/null") then return pending "nothing can be mounted here" end
    local plan = command.write(folder .. "/plan.json", '{"version":"1.0","steps":[{"id":"x","capability":"a"},'
      .. '{"id":"y","capability":"b"}]}')
    local outcome = command.shell(("cd %s && %s %s run %s --plugins plugins --trust keys --isolation state"):format(
      files.quote(folder), only_read, files.quote(command.program), files.quote(plan)))
    assert.equal('keys: note: the versions seen are not written down: "seen.json" is on a file system that cannot be written to\n',
      outcome.err)
    assert.equal(0, outcome.code)
  end)

  it("show in the list, with the digest that b2sum computes", function()
    sign()
    local digest = files.lines_of(("b2sum -l 256 %s/plugins/a.lua | cut -c 1-64"):format(folder))[1]
    local outcome = plugins("list", "--no-shipped", "--plugins", "plugins", "--trust", "keys", "--isolation", "state")
    assert.equal("", outcome.err)
    assert(outcome.out:find(("signed by alice (%s); digest %s"):format(id(), digest), 1, true), outcome.out)
    local item = cjson.decode(plugins("list", "--no-shipped", "--plugins", "plugins", "--trust", "keys", "--json").out).capabilities[1]
    assert.equal("signed", item.decision)
    assert.equal("alice", item.signer)
    assert.equal(digest, item.digest)
    outcome = plugins("list", "--no-shipped", "--plugins", "plugins", "--isolation", "state")
    assert(outcome.out:find("unsigned; digest " .. digest, 1, true), outcome.out)
    outcome = plugins("show", "a", "--plugins", "plugins", "--trust", "keys", "--isolation", "state")
    assert(outcome.out:find(("signed  by alice (%s)\n"):format(id()), 1, true), outcome.out)
  end)
end)
