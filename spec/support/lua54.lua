-- Runs before all specs, so it must be readable for every Lua.
if _VERSION ~= "Lua 5.4" then
  io.stderr:write("these specs need Lua 5.4, and this is ", _VERSION,
    ": run `busted` where .busted is, or `lua5.4 $(command -v busted) --ignore-lua`\n")
  os.exit(1)
end
