-- The powers http and rpc, against a server of ours on loopback, in both isolations. What the client
-- below them refuses and bounds is spec/c/http_client_test.c.
local cjson = require "cjson"
local command = require "spec.support.command"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"
local web_server = require "spec.support.web_server"

local source = plugin_files.source

local ASK = [[
  local response, err = ctx.http.request(input)
  if response then return response end
  return { code = err.code, message = err.message } ]]
local CALL = [[
  local result, err = ctx.rpc.call(input.to or "main", input.method, input.params)
  if err then return { code = err.code, message = err.message, sent = err.sent, error = err.error } end
  return { result = result } ]]
local SOURCES = {
  ["r.lua"] = source("r", ASK, "needs = { 'http' }"),
  ["w.lua"] = (source("w", ASK, "needs = { 'http' }"):gsub('risk = "read"', 'risk = "write"')),
  ["j.lua"] = source("j", CALL, "needs = { 'rpc:main' }"),
}

for _, isolation in ipairs { "state", "process" } do
  describe("in isolation " .. isolation, function()
    local server, engine
    setup(function() server = web_server.start() end)
    teardown(function()
      if server then web_server.stop(server) end
      command.clean()
    end)

    local function open(options)
      local all = { isolation = isolation, allow = { "write" },
        grants = { http = { server.url, "http://127.0.0.1:1" }, ["rpc:main"] = server.url .. "/rpc/key-of-the-endpoint" } }
      for name, value in pairs(options or {}) do all[name] = value end
      return (plugin_files.engine(SOURCES, all))
    end
    before_each(function() if server then engine = open() end end)
    after_each(function() if engine then engine:close() end end)

    -- A test that needs the server.
    local function test(name, body)
      it(name, function()
        if not server then return pending("there is no python3 to serve with") end
        body()
      end)
    end
    local function ask(request, name) return plugin_files.result(engine, name or "r", request) end
    local function echo(request, name) return cjson.decode(ask(request, name).body) end
    local function rpc(method, params, to) return plugin_files.result(engine, "j", { method = method, params = params, to = to }) end

    describe("ctx.http", function()
      test("sends what it is told, and hands over the answer", function()
        local got = echo { url = server.url .. "/echo/a?b=%20", headers = { ["X-One"] = "1", Accept = "text/plain" } }
        assert.same({ method = "GET", target = "/echo/a?b=%20", body = "",
          headers = { host = server.host, ["accept-encoding"] = "gzip, deflate", ["x-one"] = "1", accept = "text/plain" } }, got)
        got = echo({ url = server.url .. "/echo", method = "POST", body = "a\nb", headers = { ["Content-Type"] = "text/x" } }, "w")
        assert.same({ "POST", "a\nb", "text/x", "3" },
          { got.method, got.body, got.headers["content-type"], got.headers["content-length"] })
        for _, method in ipairs { "PUT", "PATCH", "DELETE" } do
          assert.equal(method, echo({ url = server.url .. "/echo", method = method }, "w").method)
        end
        local head = ask { url = server.url .. "/two", method = "HEAD" }
        assert.same({ status = 200, headers = { ["x-two"] = "1, 2", ["x-empty"] = "", ["content-length"] = "0" }, body = "" }, head)
      end)

      test("takes any status for an answer, and follows none", function()
        for _, status in ipairs { 404, 500, 301, 302, 307 } do
          local got = ask { url = server.url .. "/status/" .. status }
          assert.same({ status, "SECRET", "/echo" }, { got.status, got.body, got.headers.location })
        end
      end)

      test("reaches what was granted, and nothing else", function()
        for url, code in pairs {
          ["https://example.com/"] = "http.origin", ["http://127.0.0.2:80/"] = "http.origin", [server.url:gsub("http:",
            "https:")] = "http.origin",
          ["http://localhost" .. server.url:match(":%d+$") .. "/"] = "http.origin", ["http://example.com/"] = "http.url",
          ["file:///etc/passwd"] = "http.url", [server.url .. "/a b"] = "http.url", [server.url .. "/#x"] = "http.url",
          ["http://x@" .. server.host] = "http.url", ["http://127.0.0.1:1/"] = "http.unavailable",
          [server.url .. "/cut"] = "http.interrupted",
        } do
          local got = ask { url = url }
          assert.equal(code, got.code, url)
          assert.matches("^[%l\"].*[^.]$", got.message)
        end
        assert.equal("http.header", ask({ url = server.url, headers = { Host = "x" } }).code)
        assert.equal("http.header", ask({ url = server.url, headers = { ["X\r\nY"] = "x" } }).code)
        assert.equal("http.method", ask({ url = server.url, method = "TRACE" }, "w").code)
        assert.equal("http.method", ask({ url = server.url, method = "GET", body = "x" }, "w").code)
      end)

      test("changes nothing where the capability only reads", function()
        for _, method in ipairs { "POST", "PUT", "PATCH", "DELETE" } do
          local got = ask { url = server.url .. "/echo", method = method }
          assert.equal("http.method", got.code)
          assert.matches(method, got.message)
        end
      end)

      test("is bounded by string_mib and fetch_ms", function()
        engine = open { limits = { string_mib = 1, fetch_ms = 300 } }
        assert.equal(1048576, #ask({ url = server.url .. "/big/1048576" }).body)
        assert.equal("limit", ask({ url = server.url .. "/big/1048577" }).code)
        local own = source("a", [[return select(2, ctx.http.request { url = input, method = "POST", body = ("x"):rep(1048577) }).code]],
          "needs = { 'http' }")
        assert.equal("limit", plugin_files.result(plugin_files.engine({ ["a.lua"] = own:gsub('risk = "read"', 'risk = "write"') },
          { isolation = isolation, allow = { "write" }, grants = { http = server.url }, limits = { string_mib = 1 } }), "a", server.url))
        local got = ask { url = server.url .. "/silent" }
        assert.equal("http.interrupted", got.code)
        assert.matches("300 milliseconds", got.message)
      end)

      test("waits no longer in all of a call's requests than in one", function()
        engine = plugin_files.engine({ ["a.lua"] = source("a", [[
          local first = select(2, ctx.http.request { url = input })
          local second = select(2, ctx.http.request { url = input })
          return { first.code, second.code, second.message }]], "needs = { 'http' }") },
          { isolation = isolation, grants = { http = server.url }, limits = { fetch_ms = 300 } })
        local got = plugin_files.result(engine, "a", server.url .. "/silent")
        assert.same({ "http.interrupted", "http.unavailable" }, { got[1], got[2] })
        assert.matches("fetch_ms", got[3])
      end)

      test("is called with a table of its four fields", function()
        for _, body in ipairs { "ctx.http.request()", "ctx.http.request 'x'", "ctx.http.request {}", "ctx.http.request { url = 1 }",
          "ctx.http.request { url = 'x', methd = 'GET' }", "ctx.http.request { url = 'x', headers = 'x' }",
          "ctx.http.request { url = 'x', headers = { 'x' } }", "ctx.http.request { url = 'x', headers = { x = 1 } }",
          "ctx.http.request { url = 'x', headers = { x = 'a\\0b' } }", "ctx.http.request { url = 'x', body = {} }" } do
          engine = plugin_files.engine({ ["a.lua"] = source("a", body, "needs = { 'http' }") },
            { isolation = isolation, grants = { http = server.url } })
          local err = plugin_files.failure(engine, "a")
          assert.equal("job.capability_failed", err.code, body)
          assert.matches("^a.lua:3: ", err.message)
        end
      end)
    end)

    describe("ctx.rpc", function()
      test("calls a method and gives its result", function()
        assert.same({ result = { 1, "a", { b = true } } }, rpc("echo", { 1, "a", { b = true } }))
        assert.same({ result = { name = "x" } }, rpc("echo", { name = "x" }))
        assert.same({ result = {} }, rpc "echo")
        assert.same({ result = moonplan.null }, rpc("reply", { '{"jsonrpc":"2.0","id":ID,"result":null}' }))
      end)

      test("tells the endpoint's errors from those of the way there", function()
        assert.same({ code = "rpc.error", message = "execution reverted (3)", sent = true,
          error = { code = 3, message = "execution reverted", data = "0x" } },
          rpc("fail", { { code = 3, message = "execution reverted", data = "0x" } }))
        for _, case in ipairs {
          { "rpc.interrupted", true, "status", { 500 } }, { "rpc.interrupted", true, "status", { 301 } }, { "rpc.interrupted", true,
            "cut" },
          { "rpc.response", true, "reply", { "SECRET" } }, { "rpc.response", true, "reply", { '{"jsonrpc":"2.0","id":0,"result":1}' } },
          { "rpc.request", false, "" },
        } do
          local got = rpc(case[3], case[4])
          assert.same({ case[1], case[2] }, { got.code, got.sent }, case[3])
          assert.matches("^[%l\"].*[^.]$", got.message)
          assert.not_matches("SECRET", got.message)
        end
        local got = rpc("echo", nil, "other")
        assert.same({ "rpc.endpoint", false }, { got.code, got.sent })
        engine = open { grants = { http = server.url, ["rpc:main"] = "http://127.0.0.1:1/key-of-the-endpoint" } }
        got = rpc "echo"
        assert.same({ "rpc.unavailable", false }, { got.code, got.sent })
        engine = open { limits = { fetch_ms = 200 } }
        got = rpc "silent"
        assert.same({ "rpc.interrupted", true }, { got.code, got.sent })
      end)

      test("sends each request once", function()
        local before = rpc("count").result
        for _, method in ipairs { "cut", "status", "reply" } do rpc(method, { 503 }) end
        assert.equal(before + 4, rpc("count").result)
      end)

      test("never tells where the endpoint is", function()
        local got = rpc "url"
        assert.equal("rpc.error", got.code)
        for _, hidden in ipairs { server.url, server.host, "key-of-the-endpoint" } do
          assert.is_nil(moonplan.json.encode(got):find(hidden, 1, true), hidden)
        end
        for _, url in ipairs { "http://127.0.0.1:1/key-of-the-endpoint", server.url .. "/rpc/key-of-the-endpoint" } do
          engine = open { grants = { http = server.url, ["rpc:main"] = url }, limits = { fetch_ms = 200 } }
          for _, method in ipairs { "silent", "cut", "status" } do
            assert.not_matches("127%.0%.0%.1", rpc(method, { 500 }).message)
            assert.not_matches("key%-of", rpc(method, { 500 }).message)
          end
        end
      end)

      test("hides whatever in the URL may be a key, however the answer writes it", function()
        local path = "/rpc/v3/API_KEY_0123/half%2Bhalf"
        local query = "?token=S3CR3TTOKEN&n=2&x=y"
        engine = open { grants = { http = server.url, ["rpc:main"] = server.url .. path .. query } }
        local escaped = server.url:gsub("/", "\\/") .. path:gsub("/", "\\/") .. query:gsub("&", "\\u0026")
        local function coded(text)
          return (text:gsub(".", function(byte) return ("\\u%04x"):format(byte:byte()) end))
        end
        local cases = {
          { server.url .. path .. query, "[url]" }, { escaped, "[url]" }, { coded(server.url .. path .. query), "[url]" },
          { "POST " .. path, "POST /[url]" }, { "POST " .. path:gsub("/", "\\/"), "POST /[url]" },
          { "unknown project API_KEY_0123", "unknown project [url]" }, { coded "API_KEY_0123", "[url]" },
          { "no S3CR3TTOKEN for you", "no [url] for you" }, { "half+half", "[url]" }, { "half%2Bhalf", "[url]" },
          { "token=S3CR3TTOKEN&n=2&x=y", "[url]" }, { "at " .. server.host, "at [url]" }, { "at 127.0.0.1", "at [url]" },
          { "the key API_KEY_\xe2\x80\xa6 is unknown", "the key [url]\xe2\x80\xa6 is unknown" },
          -- What is no part of it, or too short to be a key.
          { "v3 n 2 token rpc", "v3 n 2 token rpc" },
        }
        for _, case in ipairs(cases) do
          local got = rpc("reply", { ('{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":"%s"}}'):format(case[1]) })
          assert.same({ "rpc.error", case[2] .. " (-1)" }, { got.code, got.message })
          got = rpc("reply", { ('{"jsonrpc":"2.0","id":ID,"result":{"%s":["%s",1.50]}}'):format(case[1], case[1]) })
          assert.same({ [case[2]] = { case[2], 1.5 } }, got.result)
        end
        -- A key of digits may stand there as a number.
        engine = open { grants = { http = server.url, ["rpc:main"] = server.url .. "/rpc/98765432101" } }
        assert.equal("[url]", rpc("reply", { '{"jsonrpc":"2.0","id":ID,"result":98765432101}' }).result)
        -- What cannot be read is not handed over, nor are two names that would become one.
        for _, answer in ipairs { '{"jsonrpc":"2.0","id":ID,"result":"98765432101', '{"jsonrpc":"2.0","id":ID,"result":1,"result":1}',
          '{"jsonrpc":"2.0","id":ID,"result":{"[url]":1,"98765432101":2}}' } do
          local got = rpc("reply", { answer })
          assert.same({ "rpc.response", true }, { got.code, got.sent })
          assert.not_matches("98765432101", got.message)
        end
      end)

      test("hands over an answer that quotes nothing of it as it is", function()
        local got = rpc("reply", { '{"jsonrpc":"2.0","id":ID,"result":{"a":[1.50,"\\u0041\\/","",null,9007199254740993],"b":{}}}' })
        assert.same({ a = { 1.5, "A/", "", moonplan.null, 9007199254740993 }, b = {} }, got.result)
      end)

      test("sends nothing but JSON-RPC, whatever the plugin does to what calls it", function()
        -- What the prelude's code takes from its state when it is loaded is the plugin's to change.
        engine = plugin_files.engine({ ["a.lua"] = source("a", [[
          json.encode = function() return "GET / HTTP/1.0" end
          local result, err = ctx.rpc.call("main", "echo")
          return { result = result, code = err and err.code }]], "needs = { 'rpc:main' }") },
          { isolation = isolation, grants = { ["rpc:main"] = server.url .. "/rpc" } })
        local got = plugin_files.result(engine, "a")
        assert.same({ code = "rpc.request" }, got)
      end)
    end)
  end)
end

describe("a grant", function()
  after_each(command.clean)

  local function refusal(grants)
    local engine, err = moonplan.engine { grants = grants, shipped = false }
    assert.is_nil(engine)
    return err
  end

  it("of hosts or URLs is read when the engine is made, and named when it is wrong", function()
    for _, case in ipairs {
      { { http = "http://example.com" }, "http" }, { { http = { "a.example", "b c" } }, "http" }, { { http = "https://10.0.0.1" }, "http" },
      { { ["rpc:main"] = "example.com" }, "rpc:main" }, { { ["rpc:main"] = "http://example.com/SECRET" }, "rpc:main" },
      { { ["rpc:main"] = "https://u:SECRET@a.example" }, "rpc:main" }, { { ["rpc:main"] = "SECRET" }, "rpc:main" },
    } do
      local err = refusal(case[1])
      assert.equal("option", err.code)
      assert.matches('^the grant of "' .. case[2] .. '"', err.message)
      assert.not_matches("SECRET", err.message)
    end
  end)

  it("of a secret is 8 to 4096 bytes of a file, or a value", function()
    local folder = command.folder()
    local function file(bytes) return command.write(folder .. "/secret", bytes) end
    for _, grants in ipairs { { ["secret:t"] = file "short" }, { ["secret:t"] = { value = "SECRET7" } } } do
      local err = refusal(grants)
      assert.equal("option", err.code)
      assert.not_matches("SECRET", err.message)
    end
    assert.equal("option", refusal({ ["secret:t"] = file(("x"):rep(4097)) }).code)
    assert.equal("file.unavailable", refusal({ ["secret:t"] = folder .. "/none" }).code)
    assert.equal("file.unavailable", refusal({ ["secret:t"] = folder }).code)
    for written, value in pairs { ["12345678"] = "12345678", ["12345678\n"] = "12345678", ["12345678\r\n"] = "12345678",
      ["1234567\n\n"] = "1234567\n", [("x"):rep(4096) .. "\n"] = ("x"):rep(4096) } do
      local engine = plugin_files.engine({ ["a.lua"] = source("a", [[
        local value = ctx.secret.get "t"
        return #value .. " " .. value:sub(1, 4) .. "/" .. value:sub(5) ]], "needs = { 'secret:t' }") },
        { grants = { ["secret:t"] = file(written) }, isolation = "state" })
      assert.equal(#value .. " " .. value:sub(1, 4) .. "/" .. value:sub(5), plugin_files.result(engine, "a"))
    end
  end)

  it("that is missing is named as it has to be given", function()
    local engine = plugin_files.engine({ ["a.lua"] = source("a", "",
      "needs = { 'rpc:main', 'http', 'rpc:other', 'secret:t', 'kv', 'random', 'kv' }") },
      { grants = { ["rpc:main"] = "http://127.0.0.1:1", kv = true, random = false } })
    assert.same({ "rpc:main", "http", "rpc:other", "secret:t", "kv", "random" }, engine:describe("a").needs)
    assert.same({ "http", "rpc:other", "secret:t", "random" }, engine:describe("a").missing)
    local _, err = plugin_files.call(engine, "a")
    assert.equal("plan.power_missing", err.code)
    assert.matches("http, rpc:other, secret:t, random$", err.message)
  end)

  it("is a bad argument where it is of another type", function()
    for _, grants in ipairs { { http = 1 }, { http = { 1 } }, { kv = "x" }, { random = 1 }, { ["rpc:main"] = true }, { ["rpc:"] = "x" },
      { rpc = "x" }, { ["secret:t"] = true }, { ["secret:t"] = {} }, { secret = "x" }, { ["rpc:a b"] = "x" } } do
      assert.has_error(function() moonplan.engine { grants = grants } end)
    end
  end)
end)
