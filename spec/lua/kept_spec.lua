-- The powers kv, random and secret, and the log, in both isolations: what is kept, drawn and hidden.
local command = require "spec.support.command"
local moonplan = require "moonplan"
local plugin_files = require "spec.support.plugin_files"

local source = plugin_files.source

for _, isolation in ipairs { "state", "process" } do
  describe("in isolation " .. isolation, function()
    local engine
    after_each(function()
      if engine then engine:close() end
      engine = nil
      command.clean()
    end)

    local function open(sources, options)
      local all = { isolation = isolation }
      for name, value in pairs(options) do all[name] = value end
      engine = plugin_files.engine(sources, all)
    end

    describe("ctx.kv", function()
      local KEEP = [[
        local out = {}
        for i, one in ipairs(input) do
          local got, err = ctx.kv[one[1] ](one[2], one[3])
          out[i] = err and { code = err.code, message = err.message } or { value = got }
        end
        return out]]
      local function kept(name)
        return { [name .. ".lua"] = source(name, KEEP, "needs = { 'kv' }") }
      end
      local function keep(list, name) return plugin_files.result(engine, name or "a", moonplan.array(list)) end
      local function one(...) return keep({ moonplan.array { ... } })[1] end

      it("keeps JSON values between calls, until they are taken away", function()
        open(kept "a", { grants = { kv = true } })
        assert.same({}, one("get", "k"))
        for _, value in ipairs { 1, 1.5, "x", true, false, moonplan.null, { a = { 1, { b = "é" } } }, moonplan.array {}, {},
          9007199254740993 } do
          assert.same({ value = true }, one("set", "k", value))
          local got = one("get", "k").value
          assert.same(value, got)
          assert.equal(math.type(value), math.type(got))
          assert.equal(moonplan.is_array(value), moonplan.is_array(got))
        end
        assert.same({ value = { "k" } }, one "list")
        one("set", "b", 1)
        one("set", "é", 1)
        one("set", "B", 1)
        assert.same({ "B", "b", "k", "é" }, one("list").value)
        assert.same({ value = true }, one("set", "k"))
        assert.same({ value = true }, one("set", "none"))
        assert.same({ "B", "b", "é" }, one("list").value)
        assert.same({}, one("get", "k"))
      end)

      it("is each plugin's own, and its family's", function()
        local family = "return { " .. source("f.a", KEEP, "needs = { 'kv' }"):sub(8) .. ", " .. source("f.b", KEEP,
          "needs = { 'kv' }"):sub(8) .. " }"
        open({ ["a.lua"] = kept("a")["a.lua"], ["b.lua"] = kept("b")["b.lua"], ["f.lua"] = family }, { grants = { kv = true } })
        for _, name in ipairs { "a", "b", "f.a" } do
          keep({ { "set", "k", name } }, name)
        end
        for name, value in pairs { a = "a", b = "b", ["f.b"] = "f.a" } do
          assert.equal(value, keep({ { "get", "k" } }, name)[1].value)
        end
      end)

      it("takes keys of 1 to 256 bytes of UTF-8", function()
        open(kept "a", { grants = { kv = true } })
        for _, key in ipairs { ("k"):rep(256), ("é"):rep(128), "a/b", " ", "..", "\u{10FFFF}" } do
          assert.same({ value = true }, one("set", key, 1), key)
        end
        for _, key in ipairs { "", ("k"):rep(257), "a\nb", "a\0b", "\u{7f}", "\u{85}" } do
          for _, verb in ipairs { "get", "set" } do
            local got = one(verb, key, 1)
            assert.equal("kv.key", got.code)
            assert.not_matches("%c", got.message)
          end
        end
      end)

      it("is bounded in keys and bytes", function()
        open(kept "a", { grants = { kv = true }, limits = { kv_keys = 2, kv_kib = 1 } })
        assert.same({ value = true }, one("set", "a", 1))
        assert.same({ value = true }, one("set", "b", 1))
        local got = one("set", "c", 1)
        assert.equal("limit", got.code)
        assert.matches("kv_keys", got.message)
        one("set", "b")
        -- A key, the value in quotes: 1 + 1 of "a" = 1, and 1 + 1019 + 2.
        assert.same({ value = true }, one("set", "b", ("x"):rep(1024 - 2 - 1 - 2)))
        got = one("set", "b", ("x"):rep(1024 - 2 - 1 - 1))
        assert.equal("limit", got.code)
        assert.matches("kv_kib", got.message)
        assert.equal(1019, #one("get", "b").value)
        assert.equal("limit", one("set", "b", ("x"):rep(100000)).code)
        one("set", "b")
        assert.same({ value = true }, one("set", "c", true))
      end)

      it("keeps what JSON can express", function()
        open({ ["a.lua"] = source("a", "ctx.kv.set('k', input == 1 and print2 or { function() end })", "needs = { 'kv' }"),
          ["b.lua"] = source("b", "ctx.kv.set({}, 1)", "needs = { 'kv' }") }, { grants = { kv = true } })
        assert.matches("the value to keep: ", plugin_files.failure(engine, "a").message)
        assert.matches("string expected", plugin_files.failure(engine, "b").message)
      end)
    end)

    describe("ctx.random", function()
      it("gives bytes and integers, each in its bounds", function()
        open({ ["a.lua"] = source("a", [[
          local seen, distinct = {}, {}
          for n = 1, 1000 do
            local one = ctx.random.integer(-1, 1)
            assert(math.type(one) == "integer")
            seen[one] = (seen[one] or 0) + 1
            distinct[ctx.random.bytes(16)] = true
          end
          local count = 0
          for _ in pairs(distinct) do count = count + 1 end
          local wide = ctx.random.integer(math.mininteger, math.maxinteger)
          return { seen[-1], seen[0], seen[1], seen[2] or 0, count, #ctx.random.bytes(0), #ctx.random.bytes(65536),
            ctx.random.integer(7, 7), math.type(wide) == "integer" }]], "needs = { 'random' }") },
          { grants = { random = true }, limits = { call_ms = 10000 } })
        local got = plugin_files.result(engine, "a")
        -- A third of a thousand each, 10 standard deviations (14.9) around it.
        for i = 1, 3 do assert(got[i] > 184 and got[i] < 483, got[i]) end
        assert.same({ 0, 1000, 0, 65536, 7, true }, { table.unpack(got, 4) })
      end)

      it("refuses what has no answer", function()
        for _, body in ipairs { "ctx.random.bytes(-1)", "ctx.random.bytes(65537)", "ctx.random.bytes(1.5)", "ctx.random.bytes()",
          "ctx.random.integer(2, 1)", "ctx.random.integer(1)" } do
          open({ ["a.lua"] = source("a", body, "needs = { 'random' }") }, { grants = { random = true } })
          assert.matches("^a.lua:3: ", plugin_files.failure(engine, "a").message, body)
        end
      end)
    end)

    describe("ctx.secret", function()
      local SECRET = 'tr0ub4dor&3 "\n\\'
      local grants = { ["secret:t"] = { value = SECRET }, ["secret:pin"] = { value = "12345678" } }
      local fields = "needs = { 'secret:t', 'secret:pin' }"

      it("hands over what was granted, by its name", function()
        open({ ["a.lua"] = source("a", [[
          local err = select(2, ctx.secret.get "other")
          return { ctx.secret.get("t"):reverse(), err.code, err.message }]], fields) }, { grants = grants })
        local got = plugin_files.result(engine, "a")
        assert.same({ SECRET:reverse(), "secret.name" }, { got[1], got[2] })
        assert.matches('"other"', got[3])
      end)

      it("never comes out in a result, an error or the log", function()
        local lines = {}
        open({
          ["a.lua"] = source("a", [[
            local t, pin = ctx.secret.get "t", ctx.secret.get "pin"
            return { t, "<" .. t .. t .. ">", { [t] = { pin, tonumber(pin), 12345678.5 } }, #t }]], fields),
          ["b.lua"] = source("b", "error { message = 'no ' .. ctx.secret.get 't', code = ctx.secret.get 'pin' }", fields),
          ["c.lua"] = source("c", "ctx.log.info(ctx.secret.get 't', { ctx.secret.get 'pin', [2] = 'fine' }) ctx.log.warn 'plain' return 1",
            fields),
          ["d.lua"] = source("d", "error(ctx.secret.get 't')", fields),
          ["e.lua"] = source("e", "local kept = ctx.secret.get 't' return setmetatable({ kept }, { __tostring = error })", fields),
        }, { grants = grants })
        engine:on("log", function(entry) lines[#lines + 1] = { entry.message, entry.data } end)
        assert.same({ "[secret:t]", "<[secret:t][secret:t]>", { ["[secret:t]"] = { "[secret:pin]", "[secret:pin]", "[secret:pin].5" } },
          #SECRET },
          plugin_files.result(engine, "a"))
        assert.same({ code = "job.capability_failed", message = "no [secret:t]", detail = { code = "b.[secret:pin]" } },
          plugin_files.failure(engine, "b"))
        assert.equal(1, plugin_files.result(engine, "c"))
        assert.same({ { "[secret:t]", { "[secret:pin]", "fine" } }, { "plain" } }, lines)
        assert.equal("d.lua:3: [secret:t]", plugin_files.failure(engine, "d").message)
        local job = moonplan.json.encode((engine:jobs())) .. moonplan.json.encode((plugin_files.failure(engine, "d")))
        assert.is_nil(job:find("tr0ub4dor", 1, true))
      end)

      it("is hidden whole where another one is a part of it", function()
        open({ ["a.lua"] = source("a", "return 'x' .. ctx.secret.get 'long' .. ctx.secret.get 'part' .. ctx.secret.get 'longer'",
          "needs = { 'secret:long', 'secret:part', 'secret:longer' }") }, { grants = { ["secret:part"] = { value = "12345678" },
          ["secret:long"] = { value = "<12345678>" }, ["secret:longer"] = { value = "12345678<12345678>" } } })
        assert.equal("x[secret:long][secret:part][secret:longer]", plugin_files.result(engine, "a"))
      end)

      -- RFC 6901, section 3: "~" becomes "~0" and "/" becomes "~1" in a pointer.
      it("is hidden in a message's pointer, and where a message quotes or cuts it", function()
        local values = { b64 = "aGVsbG8/d29y~bGQ=", odd = 'say "hello"\\/', long = ("0123456789abcdef"):rep(200) }
        local named, list = {}, {}
        for name, value in pairs(values) do
          named["secret:" .. name] = { value = value }
          list[#list + 1] = ("'secret:%s'"):format(name)
        end
        local needs = "needs = { " .. table.concat(list, ", ") .. " }"
        open({
          ["a.lua"] = source("a", "return { [ctx.secret.get(input)] = print or function() end }", needs),
          ["b.lua"] = source("b", "local name = ctx.secret.get(input) return { x = { [name .. '\\xff'] = 1 } }", needs),
          ["c.lua"] = source("c", "ctx.log.info('x', { [ctx.secret.get(input)] = function() end })", needs),
          ["d.lua"] = source("d", "return { select(2, pcall(ctx.log.info, 'x', { [ctx.secret.get(input)] = function() end })) }", needs),
          ["e.lua"] = source("e", "ctx.fs.read(ctx.secret.get(input)) error(select(2, ctx.fs.read(ctx.secret.get(input))).message)",
            "needs = { 'fs', " .. table.concat(list, ", ") .. " }"),
        }, { grants = (function()
          named.fs = command.folder()
          return named
        end)() })
        for name, value in pairs(values) do
          assert.equal(("the result at /[secret:%s]%s: a function; JSON has no such value"):format(name, name == "long" and "…" or ""),
            plugin_files.failure(engine, "a", name).message)
          local told = {}
          for _, capability in ipairs { "b", "c", "d", "e" } do
            local job = assert(plugin_files.call(engine, capability, name))
            told[#told + 1] = moonplan.json.encode(job.error and { job.error.message, job.error.detail } or job.result)
          end
          local all = table.concat(told, "\n")
          for _, part in ipairs { value, value:sub(1, 8), value:gsub("~", "~0"):gsub("/", "~1") } do
            if type(part) == "string" then assert.is_nil(all:find(part, 1, true), all) end
          end
          assert(all:find("[secret:" .. name .. "]", 1, true), all)
        end
      end)

      it("is looked for in the time that the text takes, however many there are", function()
        local many = {}
        for n = 1, 256 do many["secret:n" .. n] = { value = ("s3cret-%08d"):format(n) } end
        open({ ["a.lua"] = source("a", "local t = {} for n = 1, 99990 do t[n] = 'abcdefghijk' end t[7] = input return t") },
          { grants = many })
        plugin_files.result(engine, "a", "")
        local begun = os.clock()
        local got = plugin_files.result(engine, "a", "s3cret-00000256")
        -- One after the other they took 6 s here; all at once 20 ms, most of it for the copies.
        assert(os.clock() - begun < 1.5, os.clock() - begun)
        assert.equal("[secret:n256]", got[7])
      end)

      it("is hidden in what other plugins and members of the family say as well", function()
        local family = "local kept return { " .. source("f.keep", "kept = ctx.secret.get 't' return 1", fields):sub(8) .. ", "
          .. source("f.tell", "return { kept, ctx.secret == nil }"):sub(8) .. " }"
        open({ ["f.lua"] = family, ["g.lua"] = source("g", "return input") }, { grants = grants })
        plugin_files.result(engine, "f.keep")
        assert.same({ "[secret:t]", true }, plugin_files.result(engine, "f.tell"))
        assert.equal("[secret:pin]", plugin_files.result(engine, "g", "12345678"))
      end)
    end)

    describe("ctx.log", function()
      it("is bounded, structured and ordered", function()
        local lines = {}
        open({ ["a.lua"] = source("a", [[
          ctx.log.debug("one", { n = 1, list = { true } })
          ctx.log.error("two\27[2J")
          local bad = { pcall(ctx.log.info), pcall(ctx.log.info, 1), pcall(ctx.log.info, "x", print2 or error), pcall(ctx.log.info, "x",
            { 0 / 0 }) }
          for n = 1, 100 do ctx.log.warn(("x"):rep(100)) end
          return bad[1] == false and bad[2] == false and bad[3] == false and bad[4] == false]]) }, { limits = { log_kib = 1 } })
        engine:on("log", function(entry) lines[#lines + 1] = entry end)
        assert.is_true(plugin_files.result(engine, "a"))
        assert.same({ "debug", "one", { n = 1, list = { true } } }, { lines[1].level, lines[1].message, lines[1].data })
        assert.same({ "error", "two\27[2J" }, { lines[2].level, lines[2].message })
        assert.matches("log_kib", lines[#lines].message)
        assert(#lines > 5 and #lines < 12)
      end)
    end)

    describe("doubles", function()
      local function outcomes(fields, body)
        open({ ["x.lua"] = (source("x", body, fields):gsub('risk = "read"', 'risk = "write"')) }, {})
        local seen = {}
        for n, outcome in ipairs(assert(engine:test "x")) do seen[n] = outcome.ok or outcome.message end
        return seen
      end

      it("play kv, and what it keeps is compared", function()
        assert.same({ true, 'the key n keeps 2; expected is 3; the key new keeps nothing; expected is {"a":[]}' },
          outcomes([[needs = { "kv" }, examples = {
          { given = { kv = { n = 1, old = { b = 1, a = 2 } } }, input = 1, output = { 1, { "n", "new" } },
            after = { kv = { n = 2, new = { a = moonplan.array {} } } } },
          { given = { kv = { n = 1, old = 1 } }, input = 2, output = { 1, { "n" } }, after = { kv = { n = 3,
            new = { a = moonplan.array {} } } } },
        }]], [[
          local before = ctx.kv.get "n"
          assert(ctx.kv.set("n", before + 1))
          if input == 1 then ctx.kv.set("new", { a = moonplan.array {} }) end
          assert(ctx.kv.set("old", nil))
          assert(ctx.kv.get "old" == nil and select(2, ctx.kv.get "").code == "kv.key")
          return { before, ctx.kv.list() }]]))
      end)

      it("play random by a seed", function()
        -- BLAKE2b-256 and libsodium's ChaCha20 by hand: the same seed gives the same, another one does not.
        local seen = {}
        for _, seed in ipairs { 1, 1, 2, -1 } do
          open({ ["x.lua"] = source("x", "return { ctx.random.integer(0, 1 << 40), ctx.random.integer(0, 1 << 40), #ctx.random.bytes(3) }",
            ("needs = { 'random' }, examples = { { given = { random = %d }, output = 1 } }"):format(seed)) }, {})
          seen[#seen + 1] = engine:test("x")[1].message
        end
        assert.equal(seen[1], seen[2])
        assert(seen[1] ~= seen[3] and seen[3] ~= seen[4])
        local first, second, length = seen[1]:match("%[(%d+),(%d+),(%d+)%]")
        assert(first ~= second and length == "3")
        assert.same({ "it fails: x.lua:3: the example gives no random" },
          outcomes("needs = { 'random' }, examples = { {} }", "return ctx.random.integer(1, 2)"))
      end)

      it("play secrets, which are hidden as real ones are", function()
        assert.same({ true, "it fails: x.lua:4: the example gives no secret \"t\"" }, outcomes([[needs = { "secret:t" }, examples = {
          { given = { secret = { t = "hunter22" } }, output = { 8, "Bearer [secret:t]" } }, {} }]],
          "local t = ctx.secret.get 't' return { #t, 'Bearer ' .. t }"))
      end)

      it("play http: the first answer that fits and has not been given, then the last again", function()
        assert.same({ true, true, 'it fails: x.lua:14: the example gives no answer to the request GET "https://a.example/2"' },
          outcomes([[needs = { "http" }, examples = {
          { input = { { url = "https://a.example/" }, { url = "https://a.example/" }, { url = "https://a.example/" },
              { url = "https://a.example/", method = "POST", body = "x" }, { url = "https://a.example/", method = "POST", body = "y" } },
            given = { http = {
              { request = { url = "https://a.example/" }, response = { body = "one", headers = { ["x-a"] = "1" } } },
              { request = { url = "https://a.example/" }, response = { status = 404 } },
              { request = { url = "https://a.example/", method = "POST", body = "x" }, error = "http.interrupted" },
              { request = { url = "https://a.example/", method = "POST" }, response = { body = "two" } } } },
            output = { "200one1", "404", "404", "http.interrupted", "200two" } },
          { input = { { url = "https://a.example/", method = "TRACE" } }, output = { "http.method" } },
          { input = { { url = "https://a.example/2" } } } }]], [[
          local out = {}
          for i, request in ipairs(input) do local got, err = ctx.http.request(request)
            out[i] = got and got.status .. got.body .. (got.headers["x-a"] or "") or err.code
          end
          return out]]))
      end)

      it("play rpc, by method and params", function()
        assert.same({ true, 'it fails: x.lua:15: the example gives no reply to "m" from rpc:main' },
          outcomes([[needs = { "rpc:main" }, examples = {
          { input = { { "eth_chainId" }, { "m", { 1, { a = 2 } } }, { "m", { 2 } }, { "receipt" }, { "receipt" }, { "receipt" },
            { "send" } },
            given = { rpc = { main = {
              { method = "receipt", result = moonplan.null }, { method = "receipt", result = { status = "0x1" } },
              { method = "eth_chainId", result = "0x1" },
              { method = "m", params = { 1, { a = 2 } }, result = "exact" },
              { method = "m", error = { code = 3, message = "reverted", data = "0x" } },
              { method = "send", error = "rpc.interrupted" } } } },
            output = { "0x1", "exact", "rpc.error reverted (3) 0x", moonplan.null, { status = "0x1" }, { status = "0x1" },
              "rpc.interrupted sent, perhaps, and no answer came " } },
          { input = { { "m", { 2 } } }, given = { rpc = { main = { { method = "m", params = { 1 }, result = 1 } } } } } }]], [[
          local out = {}
          for i, one in ipairs(input) do local got, err = ctx.rpc.call("main", one[1], one[2])
            out[i] = err and ("%s %s %s"):format(err.code, err.message, err.error and err.error.data or "") or got
          end
          return out]]))
      end)
    end)
  end)
end

describe("what an example gives", function()
  after_each(command.clean)

  it("is checked with the manifest, and every fault has its place", function()
    local function refusal(fields)
      local engine = plugin_files.engine { ["x.lua"] = source("x", "", "examples = { { " .. fields .. " } }") }
      local _, problems = engine:list()
      assert.equal(1, #problems, fields)
      return problems[1]
    end
    for _, case in ipairs {
      { "given = { random = 'x' }", "/random", "a seed" }, { "given = { random = 1.5 }", "/random", "a seed" },
      { "given = { kv = 1 }", "/kv", "values by key" }, { "given = { secret = { t = 1 } }", "/secret/t", "is a string" },
      { "given = { secret = { t = 'hunter2' } }", "/secret/t", "8 to 4096 bytes, not 7" },
      { "given = { secret = 1 }", "/secret", "values by name" }, { "given = { http = 1 }", "/http", "list of answers" },
      { "given = { http = { 1 } }", "/http/0", "is a table" }, { "given = { http = { {} } }", "/http/0", "response or an error" },
      { "given = { http = { { request = { url = 'x' }, response = {}, error = 'http.url' } } }", "/http/0", "response or an error" },
      { "given = { http = { { request = {}, response = {} } } }", "/http/0/request", "has a url" },
      { "given = { http = { { request = { url = 'x', path = 1 }, response = {} } } }", "/http/0/request/path", "no field" },
      { "given = { http = { { request = { url = 'x' }, response = { status = 99 } } } }", "/http/0/response/status", "200 to 599" },
      { "given = { http = { { request = { url = 'x' }, response = { headers = { x = 1 } } } } }", "/http/0/response/headers/x",
        "is a string" },
      { "given = { http = { { request = { url = 'x' }, error = 'http.no' } } }", "/http/0/error", "begins with http." },
      { "given = { http = { { request = { url = 'x' }, error = 'rpc.error' } } }", "/http/0/error", "begins with http." },
      { "given = { rpc = 1 }", "/rpc", "by endpoint" }, { "given = { rpc = { main = 1 } }", "/rpc/main", "list of replies" },
      { "given = { rpc = { main = { { result = 1 } } } }", "/rpc/main/0", "has a method" },
      { "given = { rpc = { main = { { method = 'm' } } } }", "/rpc/main/0", "a result or an error" },
      { "given = { rpc = { main = { { method = 'm', error = { code = 'x' } } } } }", "/rpc/main/0/error", "code, an integer" },
      { "given = { rpc = { main = { { method = 'm', error = 'http.url' } } } }", "/rpc/main/0/error", "begins with rpc." },
      { "given = { net = 1 }", "/net", "there are: clock, fs, http, kv, random, rpc, secret" },
      { "after = { random = 1 }", "/random", "there are: fs, kv" }, { "after = { kv = 1 }", "/kv", "values by key" },
    } do
      local err = refusal(case[1])
      assert.equal("plugin.manifest", err.code)
      assert.equal("/examples/0/" .. case[1]:match("^%l+") .. case[2], err.at)
      assert.matches(case[3], err.message)
    end
  end)
end)
