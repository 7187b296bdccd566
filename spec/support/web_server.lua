--- The server of web_server.py, on loopback, for as long as a spec needs it.
local command = require "spec.support.command"
local files = require "spec.support.files"

local web_server = {}

---@class spec.WebServer
---@field url string without a slash at the end
---@field host string and port

--- Start one; nil where there is no python3. It ends with `stop`.
---@return spec.WebServer?
function web_server.start()
  if not os.execute("command -v python3 >/dev/null") then return nil end
  local folder = command.folder()
  assert(os.execute("mkfifo " .. folder .. "/port"))
  local input = assert(io.popen(("python3 %s %s"):format(
    files.quote(files.root .. "spec/support/web_server.py"), files.quote(folder .. "/port")), "w"))
  local pipe = assert(io.open(folder .. "/port")) -- waits until it has been written
  local host = "127.0.0.1:" .. pipe:read("l")
  pipe:close()
  return { url = "http://" .. host, host = host, input = input }
end

---@param server spec.WebServer
function web_server.stop(server)
  server.input:close()
end

return web_server
