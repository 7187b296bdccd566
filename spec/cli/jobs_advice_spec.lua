--- moonplan jobs: the commands that it names can be typed, what Lua does not hold is shown, and what
--- is exported can be checked.
local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"
local note_plugin = require "spec.support.note_plugin"

-- Folders and files have names that a shell would take apart.
local PLUGINS = "plug ins'$(touch pwned)"
local DATA = "da ta"
local STORE = "jo\nbs.db"

local PLUGIN, step, plan = note_plugin.PLUGIN, note_plugin.step, note_plugin.plan

describe("moonplan jobs", function()
  local folder
  before_each(function()
    folder = command.folder()
    os.execute(("cd %s && mkdir %s %s"):format(folder, files.quote(PLUGINS), files.quote(DATA)))
    command.write(("%s/%s/note.lua"):format(folder, PLUGINS), PLUGIN)
    -- So that commands can be typed as they stand.
    os.execute(("mkdir %s/bin && ln -s %s %s/bin/moonplan"):format(folder,
      files.quote(command.program), folder))
  end)
  after_each(command.clean)

  local OPTIONS = { "--plugins", PLUGINS, "--grant", "fs:rw=" .. DATA, "--limit", "call_ms=100000",
    "--isolation", "process" }

  local function moonplan(...) return command.run { cd = folder, ... } end

  local function with_plugins(...)
    local words = { ... }
    table.move(OPTIONS, 1, #OPTIONS, #words + 1, words)
    return moonplan(table.unpack(words))
  end

  -- As a person types it, in bash.
  local function type_in(text)
    return command.shell(("cd %s && PATH=%s/bin:$PATH\n%s"):format(files.quote(folder), folder, text))
  end

  local function only_id()
    return cjson.decode(moonplan("jobs", "list", "--store", STORE, "--json").out).id
  end

  local function job()
    return cjson.decode(moonplan("jobs", "show", only_id(), "--store", STORE, "--json").out)
  end

  local function notes() return files.read(("%s/%s/notes"):format(folder, DATA)) end

  -- A run that is killed while a step is under way.
  local function killed(text_of_plan)
    command.write(folder .. "/plan.json", text_of_plan)
    local words = { "run", "plan.json", "--allow", "write", "--store", STORE, cd = folder }
    table.move(OPTIONS, 1, #OPTIONS, #words + 1, words)
    local text = command.text(words):gsub("^cd [^&]*&& ", "exec ")
    local data = files.quote(DATA)
    local outcome = command.shell(("cd %s; (%s) & until [ -e %s/begun ]; do sleep 0.01; done; "
      .. "kill -9 $!; wait $!; exit 0"):format(files.quote(folder), text, data))
    assert.equal(0, outcome.code, outcome.err)
    return only_id()
  end

  local function resolve(id, result)
    command.write(folder .. "/r.json", result)
    return moonplan("jobs", "resolve", id, "--store", STORE, "--step", "b", "--as", "completed",
      "--result", "r.json")
  end

  local WAITS = "note: (moonplan approve .-) makes an approval; (moonplan jobs resume .-) goes on with it"

  describe("names commands that can be typed as they stand:", function()
    -- Until the job has ended; what the program says of its last stop.
    local function follow(outcome)
      assert.equal(0, moonplan("keys", "new", "approver").code)
      local stops = 0
      while outcome.code == 4 and stops < 5 do
        stops = stops + 1
        local approve, resume = outcome.err:match(WAITS)
        assert.truthy(approve, outcome.err)
        assert.falsy(outcome.err:find(STORE, 1, true), "a line break of a name on the terminal")
        local made = type_in(approve:gsub("FILE%.key", "approver.key"))
        assert.equal(0, made.code, made.err)
        outcome = type_in((resume:gsub("FILE%.pub", "approver.pub")))
      end
      return outcome, stops
    end

    it("to approve and to go on, when nothing was allowed", function()
      command.write(folder .. "/plan.json", plan(step("a", "note.add", '{"line":"one"}'),
        step("b", "note.add", '{"line":"two"}'), step("c", "note.wipe")))
      local outcome, stops = follow(with_plugins("run", "plan.json", "--store", STORE,
        "--require-approval", "write", "--require-approval", "destructive"))
      assert.equal(0, outcome.code, outcome.err)
      assert.equal(3, stops)
      assert.equal("completed", job().status)
      assert.equal("", notes())
      assert.equal(0, moonplan("jobs", "verify", STORE).code)
      assert.is_nil(io.open(folder .. "/pwned"))
    end)

    it("with the authorizer that was given", function()
      command.write(folder .. "/it's.lua", [[return function(request)
        return { decision = request.step_id == "a" and "allow" or "deny", reason = "only a" }
      end]])
      command.write(folder .. "/plan.json", plan(step("a", "note.add", '{"line":"one"}')))
      local outcome = follow(with_plugins("run", "plan.json", "--store", STORE,
        "--require-approval", "write", "--authorizer", "it's.lua"))
      assert.equal(0, outcome.code, outcome.err)
      assert.equal("one\n", notes())
    end)

    it("to say how a step ended, and to go on after that", function()
      local id = killed(plan(step("a", "note.add", '{"line":"one"}'), step("b", "note.hang"),
        step("c", "note.add", '{"line":"three"}')))
      local outcome = with_plugins("jobs", "resume", id, "--store", STORE, "--allow", "write")
      assert.equal(4, outcome.code, outcome.err)
      local answer = outcome.err:match("note: (moonplan jobs resolve .-) with %-%-as completed, ")
      assert.truthy(answer, outcome.err)
      assert.truthy(moonplan("jobs", "show", id, "--store", STORE).out
        :find("moonplan jobs resolve " .. id, 1, true))
      outcome = type_in(answer .. " --as completed")
      assert.equal(0, outcome.code, outcome.err)
      local resume = outcome.err:match("; (moonplan jobs resume .-) goes on\n$")
      assert.truthy(resume, outcome.err)
      outcome = type_in(resume)
      assert.equal(0, outcome.code, outcome.err)
      assert.equal("one\nthree\n", notes())
    end)

    it("where all that is known is the store", function()
      command.write(folder .. "/plan.json", plan(step("a", "note.add", '{"line":"one"}')))
      assert.equal(4, with_plugins("run", "plan.json", "--store", STORE, "--require-approval", "write").code)
      local shown = moonplan("jobs", "show", only_id(), "--store", STORE).out
      local resume = shown:match("\n(moonplan jobs resume .-) goes on with it %(with its %-%-plugins")
      assert.truthy(resume, shown)
      -- No option that denies the step, which would be the end of the job.
      assert.truthy(resume:find("--allow write", 1, true), resume)
    end)
  end)

  describe("shows what Lua does not hold:", function()
    local PLAN = plan(step("a", "note.add", '{"line":"one"}'), step("b", "note.hang"))
    local NUMBERS = { "18446744073709551616", "1e400", "-0.0",
      "115792089237316195423570985008687907853269984665640564039457584007913129639935" }

    for name, result in pairs {
      ["numbers"] = ('{"wei":[%s]}'):format(table.concat(NUMBERS, ",")),
      ["all the depth that there may be"] = ("["):rep(128) .. "1e400" .. ("]"):rep(128),
      ["texts with what ends a text"] = [==[{"a\"]}":"\\\"]},[","é":[],"n":1e999}]==],
    } do
      it(name, function()
        local id = killed(PLAN)
        assert.equal(0, resolve(id, result).code)
        local shown = moonplan("jobs", "show", id, "--store", STORE)
        assert.equal(0, shown.code, shown.err)
        assert.truthy(shown.out:find("     result  " .. result .. "\n", 1, true), shown.out)
        assert.truthy(shown.out:find("  1  a  note.add  completed\n     result  {\"line\":\"one\"}\n", 1, true),
          shown.out)
        assert.truthy(moonplan("jobs", "show", id, "--store", STORE, "--json").out:find(result, 1, true))
        for _, verb in ipairs { "events", "export" } do
          local outcome = moonplan("jobs", verb, id, "--store", STORE)
          assert.equal(0, outcome.code, outcome.err)
        end
        assert.equal(0, moonplan("jobs", "events", id, "--store", STORE, "--json").code)
        assert.equal(0, moonplan("jobs", "list", "--store", STORE).code)
        local outcome = with_plugins("run", "plan.json", "--store", STORE)
        assert.equal(3, outcome.code, outcome.err)
      end)
    end

    it("in a job that fails at it, or waits", function()
      local id = killed(plan(step("b", "note.hang"), step("c", "note.add", '{"line":{"$ref":"steps.b.result.n"}}')))
      assert.equal(0, resolve(id, '{"n":1e400}').code)
      local outcome = with_plugins("jobs", "resume", id, "--store", STORE, "--allow", "write")
      assert.equal(3, outcome.code, outcome.err)
      assert.truthy(outcome.err:find("error%[job%.input_%a+%] at /steps/1: step \"c\""), outcome.err)
      id = cjson.decode(moonplan("jobs", "show", id, "--store", STORE, "--json").out).id
      assert.truthy(moonplan("jobs", "show", id, "--store", STORE).out:find("failed", 1, true))
    end)
  end)

  it("blames the result that was handed in, where its fault is", function()
    local id = killed(plan(step("b", "note.hang")))
    local typed, count = PLUGIN:gsub('{ line = { type = "string", description = "a word" } }',
      '{ n = { type = "string", required = true, description = "a word" } }')
    assert.equal(1, count)
    command.write(("%s/%s/note.lua"):format(folder, PLUGINS), typed)
    for result, expected in pairs {
      ['{\n "n":7}'] = "^r%.json:2:6: error%[job%.output_type%] at /n: ",
      ['{\n "n":7'] = "^r%.json:2:%d+: error%[json%.%a+%]",
      ["[]"] = "^r%.json:1:1: error%[job%.output_type%]",
      ["{}"] = "^r%.json[:%d]*: error%[job%.output_type%]",
      ['{"n":"more than there may be"}'] = "^r%.json[:%d]*: error%[limit%]",
    } do
      command.write(folder .. "/r.json", result)
      local outcome = with_plugins("jobs", "resolve", id, "--store", STORE, "--step", "b", "--as", "completed",
        "--result", "r.json", "--limit", "result_bytes=20")
      assert.equal(2, outcome.code, outcome.err)
      assert.truthy(outcome.err:find(expected), outcome.err)
    end
    -- What is not in there is the store's.
    local outcome = with_plugins("jobs", "resolve", id, "--store", STORE, "--step", "z", "--as", "completed",
      "--result", "r.json")
    assert.falsy(outcome.err:find("^r%.json"), outcome.err)
  end)

  -- What a digest is over is said in moonplan.h; Python computes it on its own.
  local CHECK = [[import hashlib, re, sys
lines = sys.stdin.buffer.read().split(b"\n")[:-1]
for line in lines:
    found = re.search(rb'"digest":"([0-9a-f]{64})",(?="event":)', line)
    bare = line[:found.start()] + line[found.end():]
    assert hashlib.blake2b(bare, digest_size=32).hexdigest().encode() == found.group(1), line
print(len(lines))]]

  it("exports the bytes that the digests are over", function()
    command.write(folder .. "/plan.json", (plan(step("a", "note.add", '{"line":"one"}'))
      :gsub("keep books", "keep \u{202e}\u{85}\u{9b}31m\u{7f}é\\u202e\\u0000 books")))
    assert.equal(0, with_plugins("run", "plan.json", "--store", STORE, "--allow", "write").code)
    local exported = moonplan("jobs", "export", "--store", STORE)
    assert.equal(0, exported.code, exported.err)
    assert.truthy(exported.out:find("\u{202e}", 1, true))
    local checked = command.shell("python3 -c " .. files.quote(CHECK), exported.out)
    assert.equal(0, checked.code, checked.err)
    assert.truthy(tonumber(checked.out) > 3)
    -- Where a person looks at it, nothing hides.
    local seen = command.shell(("cd %s && TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "
      .. "%s jobs export --store %s </dev/null"):format(files.quote(folder), files.quote(command.program),
      files.quote(STORE)))
    assert.falsy(seen.out:find("\u{202e}", 1, true))
    assert.truthy(seen.out:find("\\u202e\\u0085\\u009b31m", 1, true), seen.out)
  end)
end)
