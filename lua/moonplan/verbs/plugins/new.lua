--- moonplan plugins new: a plugin to begin with, whose examples hold.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local report = require "moonplan.command.report"
local scaffold = require "moonplan.command.scaffold"
local text = require "moonplan.command.text"

local new = {
  summary = "begin a plugin",
  description = "Write a plugin file to begin with, commented, with examples that hold: the "
    .. "capability, builder, executor or authorizer NAME in DIR/FAMILY.lua, where FAMILY is NAME "
    .. "up to the first dot. A file that is there is left as it is.",
}

function new.describe(parser)
  parser:argument("kind"):choices(scaffold.KINDS)
    :description("What to begin: " .. table.concat(scaffold.KINDS, ", ") .. ".")
  parser:argument("name"):description("Its name: letters, digits, _ and -, with dots between.")
  parser:option("--plugins"):argname("DIR"):default("plugins")
    :description("The folder to write it to, which is made if it is not there.")
end

-- What the library takes for a plugin's name.
local MOST = 128

local function is_name(name)
  return #name <= MOST and not ("." .. name .. "."):find("%.%.") and not name:find("[^%w_.-]")
end

local function fail(name, why)
  return report.faults(name, { { code = "io", message = why } })
end

function new.run(arguments)
  local name, folder = arguments.name, arguments.plugins
  if not is_name(name) then
    return nil, ("%s is no name for a plugin: letters, digits, _ and -, with dots between "
      .. "them, at most %d"):format(text.quoted(name), MOST)
  end
  local family = name:match("^[^.]*")
  local path = ("%s/%s.lua"):format(folder:gsub("(.)/+$", "%1"), family)
  local made, why = console.make_folder(folder)
  if not made then return fail(folder, "cannot be made: " .. why) end
  made, why = console.create(path, scaffold.text(arguments.kind, name, family))
  if not made then return fail(path, "cannot be written: " .. why) end
  local shown = text.visible(folder)
  console.write(("%s: written; its examples hold already:\n"):format(text.visible(path)))
  console.write(("  moonplan plugins test %s --plugins %s\n"):format(name, shown))
  return exits.fine
end

return new
