--- moonplan keys show: which key is in a file?
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local keys = require "moonplan.command.keys"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local show = {
  summary = "show the public half of keys",
  description = "Show the id of each key and its public half, in the one line that minisign -P "
    .. "takes. Of a file NAME.key the secret stays where it is.",
}

function show.describe(parser)
  parser:argument("file"):args("+"):description("A file NAME.pub or NAME.key.")
  parser:flag("--json"):description("A JSON object a line: file, id, key.")
end

-- What the name ends with says which half it is: so nobody is asked for a password in vain.
local function open(path)
  if path:sub(-4) ~= ".key" then
    local public, err = moonplan.keys.public(path)
    return public, not public and keys.blame(err.errors, path) or nil
  end
  local secret, faults = keys.open(path)
  return secret and secret.public, faults
end

function show.run(arguments)
  local code = exits.fine
  for _, path in ipairs(arguments.file) do
    local public, faults = open(path)
    if not public then
      code = exits.worst(code, report.faults(path, faults))
    else
      local line = public.text:match("\n(%S+)")
      if arguments.json then
        report.json { file = text.utf8(path), id = public.id, key = line }
      else
        console.write(("%s: %s %s\n"):format(text.visible(path), public.id, line))
      end
    end
  end
  return code
end

return show
