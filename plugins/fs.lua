--- Small text files, read; folders, listed.

-- Of one listing: what is more would be cut off somewhere on its way.
local FILES_MOST, FOLDERS_MOST = 10000, 10000

local function list(input, ctx)
  input = input or {}
  if type(input) ~= "table" then return nil, "the input is an object, not a " .. type(input) end
  local waiting, files, folders = { input.path or "" }, {}, {}
  local at = 1
  while waiting[at] do
    local path = waiting[at]
    local names, err = ctx.fs.list(path ~= "" and path or nil)
    if not names then return nil, err end
    for _, name in ipairs(names) do
      local whole = (path == "" and "" or path .. "/") .. name:gsub("/$", "")
      if name:sub(-1) ~= "/" then
        files[#files + 1] = whole
      else
        folders[#folders + 1] = whole
        if input.recursive then waiting[#waiting + 1] = whole end
      end
    end
    if #files > FILES_MOST or #folders > FOLDERS_MOST then
      return nil, ("more than %d files, or %d folders"):format(FILES_MOST, FOLDERS_MOST)
    end
    at = at + 1
  end
  table.sort(files)
  table.sort(folders)
  return { files = moonplan.array(files), folders = moonplan.array(folders) }
end

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
  {
    kind = "capability",
    api = 1,
    name = "fs.list",
    version = "1.0.0",
    summary = "List the files and folders in a folder.",
    risk = "read",
    needs = { "fs" },
    input = {
      path = { type = "string", max_length = 4096,
        description = "folder below the granted root; the root itself without it" },
      recursive = { type = "boolean", description = "what is in its folders as well" },
    },
    output = {
      files = { type = "array", description = "paths from the root, sorted as bytes" },
      folders = { type = "array", description = "paths from the root, sorted as bytes" },
    },
    examples = {
      {
        given = { fs = { ["b.txt"] = "", ["a/c.txt"] = "", ["a/d/e.txt"] = "" } },
        input = {},
        output = { files = { "b.txt" }, folders = { "a" } },
      },
      {
        given = { fs = { ["b.txt"] = "", ["a/c.txt"] = "", ["a/d/e.txt"] = "" } },
        input = { path = "a", recursive = true },
        output = { files = { "a/c.txt", "a/d/e.txt" }, folders = { "a/d" } },
      },
      {
        given = { fs = { ["b.txt"] = "" } },
        output = { files = { "b.txt" }, folders = moonplan.array {} },
      },
    },
    run = list,
  },
}
