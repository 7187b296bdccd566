--- Where things are, for specs: the repository, and data of other people beside it.
local files = {}

local here = debug.getinfo(1, "S").source:match("^@(.*)spec/support/files%.lua$")
assert(here, "spec.support.files does not know where it is")

--- The top of the repository, with a slash at the end, or "" when that is the current directory.
files.root = here

--- The bytes of a file; an error that names it when it cannot be read.
---@param path string
---@return string
function files.read(path)
  local file = assert(io.open(path, "rb"))
  local bytes = assert(file:read("a"))
  file:close()
  return bytes
end

--- A file or folder of the published vectors and suites, which are not ours to copy: below
--- MOONPLAN_SHARED, or in `shared` beside the checkout. nil where it is not there.
---@param path string
---@return string?
function files.shared(path)
  local base = os.getenv("MOONPLAN_SHARED") or (files.root .. "../shared")
  local full = base .. "/" .. path
  local file = io.open(full, "rb")
  if not file then return nil end
  file:close()
  return full
end

--- The names in a folder of the repository that match a pattern, sorted.
---@param folder string
---@param pattern string
---@return string[]
function files.names(folder, pattern)
  local names = {}
  for name in require("lfs").dir(files.root .. folder) do
    if name:match(pattern) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- Every line that a shell command prints.
---@param command string
---@return string[]
function files.lines_of(command)
  local pipe = assert(io.popen(command, "r"))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

--- A shell word that stands for exactly this text.
---@param text string
---@return string
function files.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

return files
