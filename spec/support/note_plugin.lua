--- A plugin whose effects stand in a file, a line an effect: outside of the store that a job is in.
local note_plugin = {}

note_plugin.PLUGIN = [[return {
  {
    kind = "capability", api = 1, name = "note.add", version = "1.0.0", summary = "Of a test.",
    risk = "write", needs = { "fs:rw" },
    input = { line = { type = "string", required = true, description = "what to note" } },
    output = { line = { type = "string", description = "the same" } },
    run = function(input, ctx)
      local notes = ctx.fs.read("notes") or ""
      assert(ctx.fs.write("notes", notes .. input.line .. "\n"))
      return { line = input.line }
    end,
  },
  {
    kind = "capability", api = 1, name = "note.wipe", version = "1.0.0", summary = "Of a test.",
    risk = "destructive", needs = { "fs:rw" },
    run = function(_, ctx) assert(ctx.fs.write("notes", "")) end,
  },
  {
    kind = "capability", api = 1, name = "note.hang", version = "1.0.0", summary = "Of a test.",
    risk = "write", needs = { "fs:rw" }, output = { line = { type = "string", description = "a word" } },
    run = function(_, ctx)
      assert(ctx.fs.write("begun", ""))
      while not ctx.fs.read("go") do end
      return { line = "went" }
    end,
  },
}]]

function note_plugin.step(id, capability, input)
  return ('{"id":"%s","capability":"%s"%s}'):format(id, capability, input and ',"input":' .. input or "")
end

function note_plugin.plan(...)
  return ('{"version":"1.0","goal":"keep books","idempotencyKey":"k-1","steps":[%s]}'):format(
    table.concat({ ... }, ","))
end

return note_plugin
