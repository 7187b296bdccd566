--- The program under test, run as from a shell.
local files = require "spec.support.files"

local command = {}

--- The program: of the build that runs the specs, or the usual one.
command.program = os.getenv("MOONPLAN_PROGRAM") or (files.root .. "build/release/moonplan")
if command.program:sub(1, 1) ~= "/" then
  command.program = assert(os.getenv("PWD")) .. "/" .. command.program
end

--- Is the program built with sanitizers? They need address space, and time.
command.sanitized = os.getenv("MOONPLAN_SANITIZED") == "1"

local folders = {}

--- A new empty folder, gone after command.clean().
---@return string path without a slash at the end
function command.folder()
  local path = files.lines_of("mktemp -d")[1]
  folders[#folders + 1] = path
  return path
end

--- Remove every folder that was handed out; for after_each.
function command.clean()
  for _, path in ipairs(folders) do os.execute("rm -rf -- " .. files.quote(path)) end
  folders = {}
end

--- Write a file, and give its path back.
---@param path string
---@param bytes string
---@return string
function command.write(path, bytes)
  local file = assert(io.open(path, "wb"))
  assert(file:write(bytes))
  assert(file:close())
  return path
end

---@class spec.Run
---@field [integer] string the words behind the program's name
---@field stdin string?
---@field cd string? the folder to run in
---@field env table<string, string>? set for this run
---@field redirect string? put behind the words: shell text, such as ">/dev/full"

---@class spec.Outcome
---@field code integer
---@field out string
---@field err string

--- Run shell text; stdout and stderr are caught. It fails the test when it takes a minute.
---@param text string
---@param stdin string?
---@return spec.Outcome
function command.shell(text, stdin)
  local folder = files.lines_of("mktemp -d")[1]
  local script = command.write(folder .. "/run", text)
  local input = stdin and command.write(folder .. "/in", stdin) or "/dev/null"
  local _, how, code = os.execute(("timeout -k 5 60 bash %s <%s >%s/out 2>%s/err"):format(
    files.quote(script), files.quote(input), folder, folder))
  local outcome = {
    code = code,
    out = files.read(folder .. "/out"),
    err = files.read(folder .. "/err"),
  }
  os.execute("rm -rf " .. folder)
  assert(how == "exit" and code ~= 124, "took more than a minute: " .. text)
  return outcome
end

--- The shell text that runs the program.
---@param run spec.Run
---@return string
function command.text(run)
  local words = {}
  if run.cd then words[1] = "cd " .. files.quote(run.cd) .. " &&" end
  for name, value in pairs(run.env or {}) do words[#words + 1] = name .. "=" .. files.quote(value) end
  words[#words + 1] = files.quote(command.program)
  for _, word in ipairs(run) do words[#words + 1] = files.quote(word) end
  words[#words + 1] = run.redirect
  return table.concat(words, " ")
end

---@param run spec.Run
---@return spec.Outcome
function command.run(run) return command.shell(command.text(run), run.stdin) end

return command
