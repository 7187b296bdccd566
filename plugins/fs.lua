--- Small text files, read.

---@type moonplan.Capability[]
return {
  {
    kind = "capability",
    api = 1,
    name = "fs.read_text",
    version = "1.0.0",
    summary = "Read a UTF-8 text file whole.",
    risk = "read",
    needs = { "fs" },
    input = {
      path = { type = "string", required = true, max_length = 4096,
        description = "file below the granted root: names with / between them" },
    },
    output = {
      text = { type = "string", description = "the whole file" },
    },
    examples = {
      {
        given = { fs = { ["n.txt"] = "two words\n" } },
        input = { path = "n.txt" },
        output = { text = "two words\n" },
      },
      {
        given = { fs = { ["a/b.txt"] = "" } },
        input = { path = "a/b.txt" },
        output = { text = "" },
      },
    },
    run = function(input, ctx)
      local text, err = ctx.fs.read(input.path)
      if not text then return nil, err end
      local _, bad = utf8.len(text)
      if bad then
        return nil, ("%q is no UTF-8 text: byte %d of it is \\x%02x"):format(input.path, bad,
          text:byte(bad))
      end
      return { text = text }
    end,
  },
}
