-- What a host has to do with the values and errors of its plugins: it looks at them with raw access,
-- so that whatever they carry, nothing of a plugin runs when its call is over, and nothing of it
-- reaches the host but texts and copies.
local command = require "spec.support.command"
local plugin_files = require "spec.support.plugin_files"

for _, isolation in ipairs { "state", "process" } do
  describe("a host of plugins in isolation " .. isolation, function()
    after_each(command.clean)

    local function engine_of(body, front)
      return plugin_files.engine({ ["a.lua"] = (front or "") .. plugin_files.source("a", body) },
        { isolation = isolation, limits = { call_ms = 2000 } })
    end

    -- A value every use of which is noted, but raw access. A call without input gives one away, one
    -- with an input the note.
    local TRAP = [[
      local used = {}
      local function trap(value)
        local meta = {}
        for _, name in ipairs { "index", "newindex", "call", "tostring", "len", "pairs", "eq", "lt", "le", "concat", "unm", "add", "close",
          "idiv", "mode", "metatable" } do
          meta["__" .. name] = function() used[#used + 1] = name while true do end end
        end
        meta.__name = "trap"
        return setmetatable(value, meta)
      end
      error_of_trap = function() error(trap { message = "m", code = "c" }, 0) end
    ]]

    for what, case in pairs {
      ["as a result"] = { "return trap { 1, { 2 } }", "completed" },
      ["inside a result"] = { "return { x = trap { y = trap {} } }", "completed" },
      ["as an error"] = { "error(trap { message = 'm', code = 'c' })", "failed" },
      ["as an error without a message"] = { "error(trap {})", "failed" },
      ["as a returned error"] = { "return nil, trap { message = 'm', code = 'c' }", "failed" },
      ["as the data of a log entry"] = { "ctx.log.info('x', trap { 1 }) return 1", "completed" },
      ["as a message of a log entry"] = { "pcall(ctx.log.info, trap { 1 }) return 1", "completed" },
      ["as a key"] = { "return { [trap {}] = 1 }", "failed" },
      ["as an error inside a coroutine"] = { "coroutine.wrap(error_of_trap)()", "failed" },
    } do
      it("uses no metamethod of a value that it is given " .. what, function()
        local engine = engine_of("if input then return moonplan.array(used) end " .. case[1], TRAP)
        engine:on("log", function(entry) assert(entry.message) end)
        local began = os.clock()
        local job = assert(plugin_files.call(engine, "a"))
        assert.equal(case[2], job.status, job.error and job.error.message)
        assert(job:json())
        assert(os.clock() - began < 1)
        assert.same({}, plugin_files.result(engine, "a", 1))
      end)
    end

    it("uses none of a manifest's either", function()
      local front = TRAP .. "local item = (function() "
      local engine = plugin_files.engine({ ["a.lua"] = front .. plugin_files.source("a", "return moonplan.array(used)")
        .. " end)() return trap(item)" }, { isolation = isolation })
      local list = engine:list()
      if #list == 1 then assert.same({}, plugin_files.result(engine, "a", 1)) end
      local _, problems = engine:list()
      assert.equal(1, #list + #problems)
    end)

    -- github.com/awesomeWM/awesome/issues/2747: error() without a text broke the reporter.
    it("reports whatever is thrown", function()
      local fixed = "Unknown capability execution error"
      for _, case in ipairs {
        { "error()", fixed }, { "error(nil)", fixed }, { "error(false)", fixed }, { "error(42)", fixed }, { "error({})", fixed },
        { "error({ message = 1 })", fixed }, { "error(print2)", fixed }, { "error(error)", fixed },
        { "error((coroutine.running()))", fixed },
        { "error(moonplan.null)", fixed }, { "error('', 0)", "" }, { "error('text', 0)", "text" },
        { "error { code = 'E_X', message = 'm', retryable = true }", "m", { code = "a.E_X" } },
        { "error { code = {}, message = 'm' }", "m" },
        { "error(('x'):rep(10 << 20), 0)", ("x"):rep(10 << 20) },
        { "error('a\\0b\\27[2J\\r', 0)", "a\0b\27[2J\r" }, { "error('\\xff\\xfe', 0)", "\\xff\\xfe" },
        { "error(setmetatable({}, { __tostring = error }))", fixed }, { "return nil, nil", nil }, { "return nil, 42", fixed },
        { "return nil, {}", fixed }, { "return nil, 'said'", "said" }, { "return false, 'said'", nil },
      } do
        local job = assert(plugin_files.call(engine_of(case[1]), "a"))
        if case[2] == nil then
          assert.equal("completed", job.status, case[1])
        else
          assert.equal("job.capability_failed", job.steps[1].error.code, case[1])
          assert(case[2] == job.steps[1].error.message, case[1] .. ": " .. job.steps[1].error.message:sub(1, 100))
          assert.same(case[3], job.steps[1].error.detail)
        end
      end
    end)

    it("cancels a job in the middle of a call that would take long", function()
      local engine = plugin_files.engine({
        ["a.lua"] = plugin_files.source("a", "ctx.log.info 'begun' pcall(function() while true do end end) while true do end"),
      }, { isolation = isolation, limits = { call_ms = 60000 } })
      engine:on("log", function(entry) assert(engine:cancel(entry.job_id)) end)
      local began = os.time()
      local job = assert(plugin_files.call(engine, "a"))
      assert.equal("job.cancelled", job.error.code)
      assert(os.time() - began < 20)
    end)

    it("sees no object of a plugin, only copies of values", function()
      for _, value in ipairs { "error", "coroutine.create(error)", "{ f = error }", "{ 1, coroutine.create(error) }",
        "moonplan.abi.parse 'f()'" } do
        local failure = plugin_files.failure(engine_of("return " .. value), "a")
        assert.equal("job.result_shape", failure.code, value)
        assert.not_matches("0x%x%x%x%x", failure.message)
      end
    end)
  end)
end
