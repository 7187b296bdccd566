-- A plugin in a process of its own, as far as its caller sees it: what it may ask for at once, and whose
-- time is whose. That it gives the answers of one in the host's process is what most specs rest on.
local command = require "spec.support.command"
local plugin_files = require "spec.support.plugin_files"

local ISOLATIONS = { "state", "process" }

describe("what a plugin asks for at once", function()
  after_each(command.clean)

  -- Twenty mebibytes are more than most limits allow, and less than its memory.
  local TWENTY = 'local big = ("x"):rep(20 << 20) '
  local ROWS = {
    -- name, function, what it returns; or the failure's message and the detail
    { "log", 'ctx.log.info(big) return { code = "none" }', "none" },
    { "write", 'local ok, err = ctx.fs.write("big", big) return { code = ok and "none" or err.code }', "none" },
    { "path", 'local ok, err = ctx.fs.write(big, "x") return { code = ok and "none" or err.code }', "file.path" },
    { "key", 'local ok, err = ctx.kv.set(big, 1) return { code = ok and "none" or err.code }', "kv.key" },
    { "value", 'local ok, err = ctx.kv.set("a", big) return { code = ok and "none" or err.code }', "limit" },
    { "body", [[local ok, err = ctx.http.request { method = "POST", url = "http://127.0.0.1:1/", body = big }
        return { code = ok and "none" or err.code }]], "limit" },
    -- Eighty, of which its memory holds twenty.
    { "again", [[local ok, err = ctx.http.request { method = big, url = big, body = big, headers = { a = big } }
        return { code = ok and "none" or err.code .. " " .. err.message:match "limit ([%w_]+)" }]], "limit memory_mib" },
    { "headers", [[local headers = {}
        for i = 1, 200 do headers["h" .. i] = big end
        local ok, err = ctx.http.request { url = "http://127.0.0.1:1/", headers = headers }
        return { code = ok and "none" or err.code .. " " .. err.message:match "limit ([%w_]+)" }]], "limit memory_mib" },
    { "message", "error(big, 0)", nil,
      "the failure's message has 20971520 bytes, more than the limit result_bytes allows: 16777216" },
    { "code", 'error { message = "m", code = big }', nil, "m", "the detail was not kept" },
  }

  for _, isolation in ipairs(ISOLATIONS) do
    it("has the same limits in isolation " .. isolation, function()
      local folder = command.folder()
      local sources = {}
      for _, row in ipairs(ROWS) do
        sources[row[1] .. ".lua"] = plugin_files.source(row[1], TWENTY .. row[2], 'risk = "write", needs = { "fs:rw", "kv", "http" }')
          :gsub('risk = "read", ', "")
      end
      local engine = plugin_files.engine(sources, {
        isolation = isolation, allow = { "write" },
        grants = { ["fs:rw"] = folder, kv = true, http = { "http://127.0.0.1:1" } },
        limits = { call_ms = 60000, load_ms = 20000 },
      })
      for _, row in ipairs(ROWS) do
        local name, _, code, message, detail = table.unpack(row, 1, 5)
        local job = assert(plugin_files.call(engine, name, {}))
        if code then
          assert.is_nil(job.error, name .. ": " .. (job.error and job.error.message or ""))
          assert.equal(code, job.result.code, name)
        else
          assert.equal("job.capability_failed", job.error.code, name)
          assert.equal(message, job.error.message, name)
          if detail then assert.equal(detail, job.error.detail:sub(1, #detail), name) end
        end
      end
      assert.equal(20 << 20, #require "spec.support.files".read(folder .. "/big"))
    end)

    -- Both are one text, and together more than the memory that holds it.
    it("is told a message that is its code in isolation " .. isolation, function()
      local engine = plugin_files.engine({
        ["twice.lua"] = plugin_files.source("twice",
          'local part = ("x"):rep(3 << 20) local big = part .. part .. part error { message = big, code = big }'),
      }, { isolation = isolation, limits = { memory_mib = 16, result_bytes = 1000, call_ms = 60000, load_ms = 20000 } })
      local job = assert(plugin_files.call(engine, "twice", {}))
      assert.equal("job.capability_failed", job.error.code)
      assert.equal("the failure's message has 9437184 bytes, more than the limit result_bytes allows: 1000", job.error.message)
      assert.matches("^the detail was not kept", job.error.detail)
    end)
  end
end)

describe("a plugin in a process", function()
  after_each(command.clean)

  -- Waits that do not count are those for a network: here they may be ten minutes.
  for what, body in pairs {
    kv = 'local n = 0 while true do n = n + 1 ctx.kv.set("k", n) end',
    fs = 'local text, n = ("x"):rep(1 << 20), 0 while true do n = n + 1 ctx.fs.write("f" .. n % 3, text) end',
  } do
    it(("has no more time for the disk's part in %s"):format(what), function()
      local folder = command.folder()
      local engine = plugin_files.engine({ ["flood.lua"] = plugin_files.source("flood", body, 'needs = { "kv", "fs:rw" }') }, {
        isolation = "process", store = folder .. "/kept.db", grants = { kv = true, ["fs:rw"] = folder },
        limits = { call_ms = 200, load_ms = 20000, fetch_ms = 600000 },
      })
      local begun = os.time()
      local job = assert(plugin_files.call(engine, "flood", {}))
      assert.equal("job.timeout", job.error.code)
      assert(os.time() - begun < 20)
      engine:close()
    end)
  end
end)
