--- moonplan jobs, moonplan approve, and runs that are kept.
local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"
local note_plugin = require "spec.support.note_plugin"

local run = command.run

local PLUGIN, step, plan = note_plugin.PLUGIN, note_plugin.step, note_plugin.plan

local TWO = plan(step("a", "note.add", '{"line":"one"}'),
  step("b", "note.add", '{"line":{"$ref":"steps.a.result.line"}}'))
local HANGS = plan(step("a", "note.add", '{"line":"one"}'), step("b", "note.hang"),
  step("c", "note.add", '{"line":{"$ref":"steps.b.result.line"}}'))

describe("moonplan jobs", function()
  local folder
  before_each(function()
    folder = command.folder()
    os.execute(("mkdir %s/plugins %s/data"):format(folder, folder))
    command.write(folder .. "/plugins/note.lua", PLUGIN)
  end)
  after_each(command.clean)

  local PLUGINS = { "--plugins", "plugins", "--grant", "fs:rw=data", "--store", "jobs.db",
    "--limit", "call_ms=100000" }

  local function moonplan(stdin, ...)
    return run { cd = folder, stdin = stdin, ... }
  end

  -- With the plugins and the store.
  local function with_plugins(stdin, ...)
    local words = { ... }
    table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
    return moonplan(stdin, table.unpack(words))
  end

  local function jobs(...)
    local outcome = moonplan(nil, "jobs", ...)
    assert.equal("", outcome.err)
    assert.equal(0, outcome.code)
    return outcome.out
  end

  local function ids(...)
    local list = {}
    for line in jobs("list", "--store", "jobs.db", "--json", ...):gmatch("[^\n]+") do
      list[#list + 1] = cjson.decode(line).id
    end
    return list
  end

  local function notes() return files.read(folder .. "/data/notes") end

  local function refused(code, pattern, outcome)
    assert.equal(code, outcome.code, outcome.err)
    assert.truthy(outcome.err:find(pattern), outcome.err)
  end

  -- A run that is killed while its second step is under way.
  local function killed(text_of_plan)
    local words = { "run", "plan.json", "--allow", "write", cd = folder }
    table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
    command.write(folder .. "/plan.json", text_of_plan or HANGS)
    local text = command.text(words):gsub("^cd [^&]*&& ", "exec ")
    local outcome = command.shell(("cd %s; (%s) & until [ -e data/begun ]; do sleep 0.01; done; "
      .. "kill -9 $!; wait $!; exit 0"):format(files.quote(folder), text))
    assert.equal(0, outcome.code, outcome.err)
    return ids()[1]
  end

  it("lists what was run, and shows it", function()
    assert.equal(0, with_plugins(TWO, "run", "-", "--allow", "write").code)
    assert.equal(3, with_plugins(TWO, "run", "-").code)
    local table_, id = jobs("list", "--store", "jobs.db"), ids()[1]
    assert.equal(2, #ids())
    assert.truthy(table_:find("^" .. id:gsub("%-", "%%-") .. "  completed  .*keep books\n"))
    assert.equal(1, #ids("--status", "failed"))
    assert.equal(2, #ids("--capability", "note.add"))
    assert.equal(0, #ids("--capability", "note.hang"))
    assert.equal(2, #ids("--goal", "BOOKS"))
    assert.equal(0, #ids("--goal", "b_oks"))
    assert.equal(2, #ids("--since", "2020-01-01"))
    assert.equal(0, #ids("--since", "2999-01-01T00:00:00Z"))
    -- The second in which it was made belongs to what comes since then.
    assert.equal(id, ids("--since", cjson.decode(jobs("show", id, "--store", "jobs.db",
      "--json")).created:gsub("%.%d+Z$", "Z"), nil)[1])
    assert.same({ ids()[2] }, ids("--most", "1"))
    local job = cjson.decode(jobs("show", id, "--store", "jobs.db", "--json"))
    assert.same({ { line = "one" }, { line = "one" } }, job.result)
    local shown = jobs("show", id, "--store", "jobs.db")
    assert.truthy(shown:find("2 steps\n  1  a  note.add  completed\n     result  {\"line\":\"one\"}",
      1, true), shown)
    local first = jobs("events", id, "--store", "jobs.db", "--json"):match("[^\n]+")
    assert.equal("job.created", cjson.decode(first).type)
    assert.equal("one\none\n", notes())
  end)

  it("ends with an error where files may not grow, and leaves none half made", function()
    local words = { "run", "plan.json", "--allow", "write", cd = folder }
    table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
    command.write(folder .. "/plan.json", TWO)
    -- Blocks of 512 or 1,024 bytes, as the shell has it: none of both holds the tables.
    refused(1, "store%.full", command.shell("ulimit -f 20; " .. command.text(words)))
    assert.equal("", command.shell(("ls %s | grep '^jobs'"):format(files.quote(folder))).out)
    assert.equal(0, with_plugins(TWO, "run", "-", "--allow", "write").code)
    refused(1, "store%.full", command.shell("ulimit -f 20; " .. command.text(words)))
    assert.equal(0, moonplan(nil, "jobs", "verify", "jobs.db").code)
    assert.equal("one\none\n", notes())
  end)

  it("has headings on a terminal alone", function()
    assert.equal(0, with_plugins(TWO, "run", "-", "--allow", "write").code)
    assert.falsy(jobs("list", "--store", "jobs.db"):find("status", 1, true))
    local outcome = command.shell(("cd %s && python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "
      .. "%s jobs list --store jobs.db </dev/null"):format(folder, files.quote(command.program)))
    assert.matches("^id +status +created +goal\r\n" .. ids()[1]:gsub("%-", "%%-") .. "  ", outcome.out)
  end)

  it("takes moments that there are", function()
    for _, moment in ipairs { "2026-13-01", "2026-02-29", "1900-02-29", "2026-04-31", "2026-00-10", "2026-01-00",
      "2026-01-02T24:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T...", "2026-01-02T03:04:05", "2026-1-2" } do
      refused(1, "is not a time as 2026%-01%-02", moonplan(nil, "jobs", "list", "--store", "jobs.db",
        "--since", moment))
    end
    assert.equal(3, with_plugins(TWO, "run", "-").code)
    for _, moment in ipairs { "2024-02-29", "2000-02-29T23:59:59Z", "2026-01-02T03:04:05.123Z" } do
      jobs("list", "--store", "jobs.db", "--since", moment)
    end
  end)

  it("shows what was stored under other limits", function()
    local deep = plan(step("a", "note.add", '{"line":"one","more":' .. ("["):rep(300) .. ("]"):rep(300) .. "}"))
    local outcome = with_plugins(deep, "run", "-", "--limit", "depth=400")
    local id = ids()[1]
    assert.truthy(id, outcome.err)
    refused(2, "json%.depth", moonplan(nil, "jobs", "show", id, "--store", "jobs.db"))
    outcome = moonplan(nil, "jobs", "show", id, "--store", "jobs.db", "--limit", "depth=400", "--json")
    assert.equal(0, outcome.code, outcome.err)
    for _, words in ipairs { { "show", id }, { "events", id }, { "list" }, { "export" }, { "cancel", id } } do
      words[#words + 1] = "--limit"
      words[#words + 1] = "depth=400"
      assert.not_equal(1, moonplan(nil, "jobs", words[1], "--store", "jobs.db", table.unpack(words, 2)).code)
    end
    assert.equal(0, moonplan(nil, "jobs", "verify", "jobs.db", "--limit", "depth=400").code)
  end)

  it("names what it cannot find", function()
    assert.equal(0, with_plugins(TWO, "run", "-", "--allow", "write").code)
    for _, words in ipairs { { "show", "x" }, { "events", "x" }, { "cancel", "x" }, { "export", "x" },
      { "resume", "x" }, { "resolve", "x", "--step", "a", "--retry" } } do
      refused(2, "^jobs%.db: error%[job%.not_found%]", moonplan(nil, "jobs", words[1], words[2],
        "--store", "jobs.db", table.unpack(words, 3)))
    end
    for _, words in ipairs { { "list" }, { "show", "x" }, { "cancel", "x" } } do
      refused(1, "^none%.db: error%[store%.open%]", moonplan(nil, "jobs", words[1],
        table.unpack { words[2] or "--store", words[2] and "--store" or "none.db",
          words[2] and "none.db" or nil }))
    end
    refused(1, "store%.open", moonplan(nil, "jobs", "verify", "none.db"))
    assert.is_nil(io.open(folder .. "/none.db"))
  end)

  it("goes on with a killed run once somebody has said how its step ended", function()
    local id = killed()
    assert.same({ id }, ids("--status", "outcome_unknown"))
    local outcome = with_plugins(nil, "jobs", "resume", id, "--allow", "write")
    refused(4, "waiting%[job%.outcome_unknown%] at /steps/1", outcome)
    assert.equal("one\n", notes())
    refused(4, "job%.outcome_unknown", with_plugins(nil, "jobs", "resume", id, "--allow", "write"))
    command.write(folder .. "/result.json", '{"line":"two"}')
    outcome = moonplan(nil, "jobs", "resolve", id, "--store", "jobs.db", "--step", "b",
      "--as", "completed", "--result", "result.json")
    assert.equal(0, outcome.code, outcome.err)
    outcome = with_plugins(nil, "jobs", "resume", id, "--allow", "write")
    assert.equal(0, outcome.code, outcome.err)
    assert.same({ { line = "one" }, { line = "two" }, { line = "two" } }, cjson.decode(outcome.out))
    assert.equal("one\ntwo\n", notes())
    refused(2, "job%.state", with_plugins(nil, "jobs", "resume", id, "--allow", "write"))
  end)

  it("begins the step again where that is what is said", function()
    local id = killed()
    assert.equal(4, with_plugins(nil, "jobs", "resume", id, "--allow", "write").code)
    assert.equal(0, moonplan(nil, "jobs", "resolve", id, "--store", "jobs.db", "--step", "b",
      "--retry").code)
    command.write(folder .. "/data/go", "")
    assert.equal(0, with_plugins(nil, "jobs", "resume", id, "--allow", "write").code)
    assert.equal("one\nwent\n", notes())
  end)

  it("ends the job where the step is said to have failed", function()
    local id = killed()
    assert.equal(4, with_plugins(nil, "jobs", "resume", id, "--allow", "write").code)
    assert.equal(0, moonplan(nil, "jobs", "resolve", id, "--store", "jobs.db", "--step", "b",
      "--as", "failed", "--message", "nobody answered").code)
    local job = cjson.decode(jobs("show", id, "--store", "jobs.db", "--json"))
    assert.equal("failed", job.status)
    assert.equal("nobody answered", job.steps[2].error.message)
  end)

  it("says what becomes of the job whose step was resolved", function()
    local id = killed(plan(step("b", "note.hang")))
    local outcome = moonplan(nil, "jobs", "resolve", id, "--store", "jobs.db", "--step", "b", "--as", "completed")
    assert.equal(0, outcome.code, outcome.err)
    assert.equal(id .. ": step b: completed, and the job is complete\n", outcome.err)
  end)

  it("holds a result to what its capability says, where that is known", function()
    local id = killed(plan(step("b", "note.hang")))
    command.write(folder .. "/result.json", '{"line":7}')
    local words = { "jobs", "resolve", id, "--step", "b", "--as", "completed", "--result", "result.json" }
    refused(2, "job%.output_type", with_plugins(nil, table.unpack(words)))
    assert.same({ id }, ids("--status", "outcome_unknown"))
    command.write(folder .. "/result.json", '{"line":"7"}')
    local outcome = with_plugins(nil, table.unpack(words))
    assert.equal(0, outcome.code, outcome.err)
    assert.same({ id }, ids("--status", "completed"))
  end)

  it("does not go on with what was told to end before its process died", function()
    local words = { "run", "plan.json", "--allow", "write", cd = folder }
    table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
    command.write(folder .. "/plan.json", HANGS)
    local text = command.text(words):gsub("^cd [^&]*&& ", "exec ")
    local program = files.quote(command.program)
    local outcome = command.shell(("cd %s; (%s) & until [ -e data/begun ]; do sleep 0.01; done; kill -STOP $!; "
      .. "%s jobs cancel $(%s jobs list --store jobs.db --json | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/') "
      .. "--store jobs.db; kill -9 $!; wait $!; exit 0"):format(files.quote(folder), text, program, program))
    assert.truthy(outcome.err:find("will end before its next step", 1, true), outcome.err)
    local id = ids()[1]
    command.write(folder .. "/result.json", '{"line":"two"}')
    outcome = moonplan(nil, "jobs", "resolve", id, "--store", "jobs.db", "--step", "b", "--as", "completed",
      "--result", "result.json")
    assert.equal(id .. ": step b: completed; the job ends here, as somebody has cancelled it\n", outcome.err)
    refused(2, "job%.state", with_plugins(nil, "jobs", "resume", id, "--allow", "write"))
    assert.equal("one\n", notes())
  end)

  it("wants one answer to how a step ended", function()
    local function resolve(...) return moonplan(nil, "jobs", "resolve", "x", "--store", "s", "--step",
      "b", ...) end
    refused(1, "has to say how", resolve())
    refused(1, "belongs to %-%-as completed", resolve("--retry", "--result", "r.json"))
    refused(1, "belongs to %-%-as failed", resolve("--as", "completed", "--message", "m"))
    refused(1, "can not be used together", resolve("--as", "failed", "--retry"))
  end)

  it("cancels what nobody runs at once, and what runs before its next step", function()
    local id = killed()
    assert.equal(0, moonplan(nil, "jobs", "cancel", id, "--store", "jobs.db").code)
    assert.same({ id }, ids("--status", "cancelled"))
    refused(2, "job%.state", moonplan(nil, "jobs", "cancel", id, "--store", "jobs.db"))
    os.remove(folder .. "/data/begun")
    local words = { "run", "plan.json", "--allow", "write", cd = folder }
    table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
    local text = command.text(words):gsub("^cd [^&]*&& ", "exec ")
    local program = files.quote(command.program)
    local outcome = command.shell(("cd %s; (%s) & until [ -e data/begun ]; do sleep 0.01; done; "
      .. "%s jobs cancel $(%s jobs list --store jobs.db --status executing --json | "
      .. "sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/') --store jobs.db; wait $!"):format(
        files.quote(folder), text, program, program))
    assert.equal(3, outcome.code, outcome.err)
    assert.truthy(outcome.err:find("will end before its next step", 1, true), outcome.err)
    assert.truthy(outcome.err:find("job.cancelled", 1, true), outcome.err)
    assert.equal("one\none\n", notes())
  end)

  it("gives the job that a key has already, and refuses another plan under it", function()
    local first = with_plugins(TWO, "run", "-", "--allow", "write", "--deduplicate", "--json")
    local again = with_plugins(TWO, "run", "-", "--allow", "write", "--deduplicate", "--json")
    assert.equal(0, again.code, again.err)
    assert.equal(cjson.decode(first.out).id, cjson.decode(again.out).id)
    assert.equal("one\none\n", notes())
    local other = plan(step("a", "note.add", '{"line":"other"}'))
    local outcome = with_plugins(other, "run", "-", "--allow", "write", "--deduplicate")
    refused(2, "store%.conflict", outcome)
    local digests = 0
    for _ in outcome.err:gmatch("%f[%x]" .. ("%x"):rep(64) .. "%f[%X]") do digests = digests + 1 end
    assert.equal(2, digests)
  end)

  it("knows the jobs of a key that were made without asking for them", function()
    local words = { "run", "-", "--allow", "write" }
    local first = with_plugins(TWO, "run", "-", "--allow", "write", "--json")
    assert.equal(0, with_plugins(plan(step("a", "note.add", '{"line":"other"}')), table.unpack(words)).code)
    words[#words + 1] = "--deduplicate"
    local again = with_plugins(TWO, table.unpack(words))
    assert.equal(0, again.code, again.err)
    assert.truthy(again.err:find("its key has a job already, " .. cjson.decode(first.out).id, 1, true), again.err)
    refused(2, "store%.conflict", with_plugins(plan(step("z", "note.add", '{"line":"new"}')), table.unpack(words)))
    assert.equal("one\none\nother\n", notes())
  end)

  it("says that the job of a key is under way, interrupted or waiting", function()
    local words = { "run", "plan.json", "--allow", "write", "--deduplicate", cd = folder }
    table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
    command.write(folder .. "/plan.json", HANGS)
    local text = command.text(words):gsub("^cd [^&]*&& ", "exec ")
    local outcome = command.shell(("cd %s; (%s) & until [ -e data/begun ]; do sleep 0.01; done; %s; echo $?; "
      .. "kill -9 $!; wait $!; exit 0"):format(files.quote(folder), text, text:gsub("^exec ", "")))
    assert.equal("4\n", outcome.out, outcome.err)
    local id = ids()[1]
    assert.truthy(outcome.err:find(("waiting[executing]: the job %s is being run by somebody else"):format(id), 1,
      true), outcome.err)
    refused(4, "waiting%[job%.outcome_unknown%]", run(words))
    assert.equal(0, moonplan(nil, "jobs", "resolve", id, "--store", "jobs.db", "--step", "b", "--retry").code)
    refused(4, "waiting%[interrupted%]: the job .* was interrupted.*note: moonplan jobs resume", run(words))
    assert.equal("one\n", notes())
  end)

  it("fails, and blames no input, when its job is taken away from it", function()
    local words = { "run", "plan.json", "--allow", "write", cd = folder }
    table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
    command.write(folder .. "/plan.json", HANGS)
    local text = command.text(words):gsub("^cd [^&]*&& ", "exec ")
    local outcome = command.shell(("cd %s; (%s) & until [ -e data/begun ]; do sleep 0.01; done; python3 -c 'import "
      .. "sqlite3; db = sqlite3.connect(\"jobs.db\"); db.execute(\"UPDATE job SET owner = NULL, deadline = NULL\"); "
      .. "db.commit()'; touch data/go; wait $!"):format(files.quote(folder), text))
    refused(1, "error%[store%.conflict%]", outcome)
    assert.equal("one\n", (notes():gsub("went\n", "")))
  end)

  it("stays quiet about a job to a second process that wants to run it", function()
    local words = { "run", "plan.json", "--allow", "write", cd = folder }
    table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
    command.write(folder .. "/plan.json", HANGS)
    local text = command.text(words):gsub("^cd [^&]*&& ", "exec ")
    local resume = command.text { "jobs", "resume", "ID", table.unpack(PLUGINS) }
      :gsub("'ID'", '"$id"')
    local program = files.quote(command.program)
    local outcome = command.shell(("cd %s; (%s) >/dev/null & until [ -e data/begun ]; do sleep 0.01; "
      .. "done; id=$(%s jobs list --store jobs.db --json | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/'); "
      .. "%s; echo $?; touch data/go; wait $!"):format(files.quote(folder), text, program, resume))
    assert.equal(0, outcome.code, outcome.err)
    assert.equal("1\n", outcome.out)
    assert.truthy(outcome.err:find("error[store.locked]", 1, true), outcome.err)
    assert.equal("one\nwent\n", notes())
  end)

  describe("the audit trail", function()
    -- SQL on the store behind moonplan's back, with Python's own SQLite.
    local function tamper(sql)
      local outcome = command.shell(("cd %s; python3 -c 'import sqlite3, sys; "
        .. "db = sqlite3.connect(\"jobs.db\"); db.executescript(sys.stdin.read()); db.commit()'"):format(
          files.quote(folder)), sql)
      assert.equal(0, outcome.code, outcome.err)
    end

    before_each(function()
      assert.equal(0, with_plugins(TWO, "run", "-", "--allow", "write").code)
      assert.equal(0, with_plugins(TWO, "run", "-", "--allow", "write").code)
    end)

    it("is sound as long as nobody touches it", function()
      local outcome = moonplan(nil, "jobs", "verify", "jobs.db")
      assert.equal(0, outcome.code, outcome.err)
      local head = outcome.out:match("^jobs%.db: 2 jobs, %d+ records, head (%x+)\n$")
      local lines = {}
      for line in jobs("export", "--store", "jobs.db", "--jsonl"):gmatch("[^\n]+") do
        lines[#lines + 1] = cjson.decode(line)
      end
      assert.equal(head, lines[#lines].digest)
      for n = 2, #lines do assert.equal(lines[n - 1].digest, lines[n].before) end
    end)

    for name, case in pairs {
      ["an event that was edited"] = {
        "UPDATE event SET event = replace(event, 'note.add', 'note.sub') WHERE sequence = 4", "record 4" },
      ["an event that was dropped"] = { "DELETE FROM event WHERE sequence = 5", "record 5" },
      ["two events that changed places"] = {
        "UPDATE event SET sequence = 1000 WHERE sequence = 3; UPDATE event SET sequence = 3 "
          .. "WHERE sequence = 4; UPDATE event SET sequence = 4 WHERE sequence = 1000", "record 3" },
      ["a job that was renamed"] = { "UPDATE job SET goal = 'forgotten' WHERE rowid = 1", "in job" },
      ["a result that was changed"] = {
        [[UPDATE step SET result = '{"line":"won"}' WHERE rowid = 1]], "in job" },
      ["an end that was cut off"] = {
        "DELETE FROM event WHERE sequence = (SELECT max(sequence) FROM event)", "record" },
    } do
      it("shows " .. name, function()
        tamper(case[1])
        refused(2, case[2], moonplan(nil, "jobs", "verify", "jobs.db"))
        local found = moonplan(nil, "jobs", "verify", "jobs.db", "--json")
        assert.equal(2, found.code)
        assert.is_false(cjson.decode(found.out).sound)
      end)
    end

    it("is signed, and says up to where", function()
      assert.equal(0, moonplan(nil, "keys", "new", "audit").code)
      refused(2, "signature", moonplan(nil, "jobs", "verify", "jobs.db", "--key", "audit.pub"))
      assert.equal(0, moonplan(nil, "jobs", "sign", "--store", "jobs.db", "--key", "audit.key").code)
      local outcome = moonplan(nil, "jobs", "verify", "jobs.db", "--key", "audit.pub")
      assert.equal(0, outcome.code, outcome.err)
      assert.truthy(outcome.out:find("; signed up to record %d+ on %d%d%d%d%-"))
    end)
  end)

  describe("approvals", function()
    before_each(function()
      assert.equal(0, moonplan(nil, "keys", "new", "approver").code)
      assert.equal(0, moonplan(nil, "keys", "new", "stranger").code)
      command.write(folder .. "/plan.json", TWO)
    end)

    local function needs_approval(first, ...)
      return with_plugins(nil, first, ...)
    end
    local ASKS = { "--allow", "write", "--require-approval", "write", "--approver", "approver.pub" }

    local function approve(key, ...)
      local outcome = moonplan(nil, "approve", "--key", key .. ".key", ...)
      assert.equal(0, outcome.code, outcome.err)
      return command.write(folder .. "/approval.json", outcome.out)
    end

    it("let one step run, once, in a job that waited for it", function()
      local words = { "run", "plan.json", table.unpack(ASKS) }
      refused(4, "waiting%[job%.awaiting_approval%] at /steps/0", needs_approval(table.unpack(words)))
      local id = ids("--status", "awaiting_approval")[1]
      approve("approver", "--job", id, "--store", "jobs.db")
      words = { "jobs", "resume", id, "--approval", "approval.json", table.unpack(ASKS) }
      refused(4, "waiting%[job%.awaiting_approval%] at /steps/1", needs_approval(table.unpack(words)))
      assert.equal("one\n", notes())
      refused(4, "takes an approval", needs_approval(table.unpack(words)))
      assert.equal("one\n", notes())
    end)

    it("are needed by a job that was made so, whoever resumes it", function()
      refused(4, "awaiting_approval", needs_approval("run", "plan.json", table.unpack(ASKS)))
      local id = ids()[1]
      local outcome = needs_approval("jobs", "resume", id, "--allow", "write")
      refused(4, "awaiting_approval", outcome)
      assert.is_nil(io.open(folder .. "/data/notes"))
      -- The advice that it prints is enough.
      assert.truthy(outcome.err:find(("moonplan jobs resume %s --store jobs.db --plugins plugins "
        .. "--grant fs:rw=data --limit call_ms=100000 --allow write --approval approval.json --approver FILE.pub")
        :format(id), 1, true), outcome.err)
      approve("approver", "--job", id, "--store", "jobs.db")
      refused(4, "at /steps/1", needs_approval("jobs", "resume", id, "--allow", "write",
        "--approval", "approval.json", "--approver", "approver.pub"))
      assert.equal("one\n", notes())
    end)

    it("are not looked at where a key gives the job, and that is said", function()
      local words = { "run", "plan.json", "--deduplicate", table.unpack(ASKS) }
      local first = needs_approval(table.unpack(words))
      refused(4, "awaiting_approval", first)
      assert.falsy(first.err:find("nothing was run", 1, true), first.err)
      approve("approver", "--job", ids()[1], "--store", "jobs.db")
      refused(4, "note: its key has a job already, .*; nothing was run, and no approval looked at",
        needs_approval("run", "plan.json", "--approval", "approval.json", "--deduplicate", table.unpack(ASKS)))
    end)

    it("let every step of a plan run in one job", function()
      approve("approver", "plan.json", "--plugins", "plugins", "--grant", "fs:rw=data")
      local words = { "run", "plan.json", "--approval", "approval.json", table.unpack(ASKS) }
      assert.equal(0, needs_approval(table.unpack(words)).code)
      assert.equal("one\none\n", notes())
      refused(4, "used already", needs_approval(table.unpack(words)))
      assert.equal("one\none\n", notes())
    end)

    it("leave a job waiting where another has used them before it begins", function()
      command.write(folder .. "/plugins/patience.lua", [[return { kind = "authorizer", api = 1, name = "patience",
        version = "1.0.0", summary = "Of a test.", needs = { "fs:rw" }, decide = function(request, ctx)
          assert(ctx.fs.write("begun", ""))
          while not ctx.fs.read("go") do end
          return { decision = "allow" }
        end }]])
      approve("approver", "plan.json", "--plugins", "plugins", "--grant", "fs:rw=data")
      local words = { "run", "plan.json", "--approval", "approval.json", "--require-approval", "write",
        "--approver", "approver.pub", cd = folder }
      table.move(PLUGINS, 1, #PLUGINS, #words + 1, words)
      local text = command.text(words):gsub("^cd [^&]*&& ", "")
      local outcome = command.shell(("cd %s; (%s --authorizer patience) & until [ -e data/begun ]; do sleep 0.01; done; "
        .. "%s --allow write >/dev/null || exit 1; touch data/go; wait $!"):format(files.quote(folder), text, text))
      refused(4, "waiting%[job%.awaiting_approval%] at /steps/0: .*has been used already", outcome)
      local waits = ids("--status", "awaiting_approval")[1]
      assert.truthy(outcome.err:find(waits, 1, true), outcome.err)
      assert.equal("one\none\n", notes())
      assert.equal(0, moonplan(nil, "jobs", "verify", "jobs.db").code)
    end)

    it("are no fault of a store where the authorizer says no", function()
      approve("approver", "plan.json", "--plugins", "plugins", "--grant", "fs:rw=data")
      refused(3, "job%.denied", needs_approval("run", "plan.json", "--approval", "approval.json",
        "--require-approval", "write", "--approver", "approver.pub"))
      local verified = moonplan(nil, "jobs", "verify", "jobs.db")
      assert.equal(0, verified.code, verified.err)
      -- And it is not spent.
      assert.equal(0, needs_approval("run", "plan.json", "--approval", "approval.json", table.unpack(ASKS)).code)
      assert.equal("one\none\n", notes())
    end)

    it("are said to be for something else, where they are", function()
      approve("approver", "plan.json", "--plugins", "plugins", "--grant", "fs:rw=data")
      command.write(folder .. "/other.json", (TWO:gsub("keep books", "cook them")))
      local outcome = needs_approval("run", "other.json", "--approval", "approval.json", table.unpack(ASKS))
      assert.equal(4, outcome.code, outcome.err)
      local theirs, ours = outcome.err:match(
        "takes an approval: the one that was given is for the plan (%x+), and this is (%x+)")
      assert.equal(files.read(folder .. "/approval.json"):match('"plan_digest":"(%x+)"'), theirs)
      assert.equal(64, #ours)
      assert.not_equal(theirs, ours)
      local id = ids("--status", "awaiting_approval")[1]
      approve("approver", "--job", id, "--store", "jobs.db")
      local words = { "jobs", "resume", id, "--approval", "approval.json", table.unpack(ASKS) }
      refused(4, "waiting", needs_approval(table.unpack(words)))
      refused(4, 'the one that was given is for step "', needs_approval(table.unpack(words)))
      assert.equal("one\n", notes())
    end)

    it("are worth nothing from a stranger, changed, or late", function()
      local function run_with_it()
        return needs_approval("run", "plan.json", "--approval", "approval.json", table.unpack(ASKS))
      end
      approve("stranger", "plan.json", "--plugins", "plugins", "--grant", "fs:rw=data")
      refused(2, "^approval%.json: error%[approval%.key%]", run_with_it())
      approve("approver", "plan.json", "--plugins", "plugins", "--grant", "fs:rw=data")
      local text = files.read(folder .. "/approval.json")
      command.write(folder .. "/approval.json", (text:gsub('"expires":"2', '"expires":"3')))
      refused(2, "approval%.signature", run_with_it())
      command.write(folder .. "/approval.json", "[]")
      refused(2, "approval%.shape", run_with_it())
      approve("approver", "plan.json", "--plugins", "plugins", "--grant", "fs:rw=data", "--expires", "1s")
      -- The time that it is good for goes by.
      local late = os.time() + 2
      repeat until os.time() > late
      refused(2, "approval%.expired", run_with_it())
      assert.is_nil(io.open(folder .. "/data/notes"))
    end)

    it("are asked for with all that they need", function()
      for pattern, words in pairs {
        ["a plan, or %-%-job ID"] = {}, ["not both"] = { "plan.json", "--job", "x" },
        ["needs %-%-store"] = { "--job", "x" }, ["belongs to %-%-job"] = { "plan.json", "--store", "s" },
        ["length of time"] = { "plan.json", "--expires", "soon" },
      } do
        refused(1, pattern, moonplan(nil, "approve", "--key", "approver.key", table.unpack(words)))
      end
      refused(2, "depends on results", moonplan(nil, "approve", "plan.json", "--key", "approver.key", "--step",
        "b", "--plugins", "plugins", "--grant", "fs:rw=data"))
    end)
  end)
end)
