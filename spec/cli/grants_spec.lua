-- Grants on the command line: every power in its spelling, and the one to write where it is missing.
local command = require "spec.support.command"
local plugin_files = require "spec.support.plugin_files"
local web_server = require "spec.support.web_server"

local run = command.run
local PLAN = '{"version":"1.0","steps":[{"id":"a","capability":"w"}]}'

describe("--grant", function()
  local folder
  local function plugin(body, needs)
    folder = plugin_files.folder { ["plugins/w.lua"] = plugin_files.source("w", body, "needs = { " .. needs .. " }"),
      ["plan.json"] = PLAN, ["token"] = "hunter2hunter2\n" }
  end
  local function with(...)
    local words = { "run", "plan.json", "--plugins", "plugins", cd = folder }
    for _, grant in ipairs { ... } do
      words[#words + 1] = "--grant"
      words[#words + 1] = grant
    end
    return run(words)
  end
  after_each(command.clean)

  it("is named where it is missing, as it has to be written", function()
    plugin("", '"http", "rpc:main", "secret:token", "kv", "random", "clock", "fs", "fs:rw"')
    local options = "--grant http=HOST --grant rpc:main=URL --grant secret:token=FILE --grant kv --grant random "
      .. "--grant clock --grant fs=DIR --grant fs:rw=DIR"
    local outcome = with()
    assert.equal(2, outcome.code)
    assert.matches("error[plan.power_missing]", outcome.err, 1, true)
    assert.matches("http, rpc:main, secret:token, kv, random, clock, fs, fs:rw\n", outcome.err, 1, true)
    assert.matches("plan.json: note: what is missing is granted with " .. options .. "\n", outcome.err, 1, true)
    assert.matches("not usable: needs " .. options .. "\n", run({ "plugins", "list", "--plugins", "plugins", cd = folder }).out, 1, true)
    assert.matches("(" .. options .. "); not granted: http,",
      run({ "plugins", "show", "w", "--plugins", "plugins", cd = folder }).out, 1, true)
    outcome = with("fs:rw=.", "kv", "random", "clock", "rpc:main=http://127.0.0.1:1", "secret:token=token")
    assert.matches("note: what is missing is granted with --grant http=HOST\n", outcome.err, 1, true)
  end)

  it("makes a plugin usable", function()
    plugin("return { ctx.secret.get('token'):len(), ctx.kv.list(), #ctx.random.bytes(2), ctx.http ~= nil, ctx.rpc ~= nil }",
      '"http", "rpc:main", "secret:token", "kv", "random"')
    local outcome = with("http=a.example", "http=http://127.0.0.1:80", "rpc:main=https://a.example/key", "secret:token=token", "kv",
      "random")
    assert.equal("", outcome.err)
    assert.equal(0, outcome.code)
    assert.equal("[14,[],2,true,true]", (outcome.out:gsub("%s", "")))
  end)

  it("reaches a service on this machine", function()
    local server = web_server.start()
    if not server then return pending("there is no python3 to serve with") end
    plugin('return { ctx.http.request({ url = "' .. server.url .. '/status/418" }).status, ctx.rpc.call("main", "echo", { "x" }) }',
      '"http", "rpc:main"')
    local outcome = with("http=" .. server.url, "rpc:main=" .. server.url .. "/rpc")
    web_server.stop(server)
    assert.equal("", outcome.err)
    assert.equal('[418,["x"]]', (outcome.out:gsub("%s", "")))
  end)

  it("keeps a secret out of what is printed", function()
    plugin("ctx.log.info(ctx.secret.get 'token') return nil, 'no ' .. ctx.secret.get 'token'", '"secret:token"')
    local outcome = with "secret:token=token"
    assert.equal(3, outcome.code)
    assert.matches("no [secret:token]", outcome.out .. outcome.err, 1, true)
    assert.is_nil((outcome.out .. outcome.err):find("hunter2", 1, true))
  end)

  it("is refused in any other spelling", function()
    plugin("", '"kv"')
    for word, complaint in pairs {
      net = "'net' grants nothing; there are: fs=DIR, fs:rw=DIR, clock, http=HOST, kv, random, rpc:NAME=URL, secret:NAME=FILE",
      ["rpc=x"] = "grants nothing", ["rpc:=x"] = "grants nothing", ["rpc:a b=x"] = "grants nothing", ["secret"] = "grants nothing",
      ["rpc:main"] = "does not say which URL: rpc:main=URL", ["secret:t="] = "does not say which FILE: secret:t=FILE",
      ["http="] = "does not say which host: http=HOST", ["kv=1"] = "says more than there is to it: kv",
    } do
      local outcome = with(word)
      assert.equal(1, outcome.code, word)
      assert.matches(complaint, outcome.err, 1, true)
    end
    assert.matches("kv is granted twice", with("kv", "kv").err, 1, true)
    assert.matches("rpc:a is granted twice", with("rpc:a=http://127.0.0.1", "rpc:a=http://127.0.0.1").err, 1, true)
    for word, code in pairs { ["http=http://a.example"] = "option", ["rpc:a=https://10.0.0.1"] = "option",
      ["secret:t=plan.json/x"] = "file.unavailable",
      ["secret:t=/dev/null"] = "option", ["fs=none"] = "file.unavailable" } do
      local outcome = with(word, "kv")
      assert.equal(1, outcome.code, word)
      assert.matches("^%-%-grant[ %w:]*: error%[" .. code:gsub("%.", "%%.") .. "%]: ", outcome.err)
    end
  end)
end)
