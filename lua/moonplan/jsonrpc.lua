--- JSON-RPC 2.0 (jsonrpc.org/specification), a client's half, without a wire: requests by position
--- or name, one at a time. It runs inside plugins as well as outside, and believes nothing that an
--- endpoint answers: an answer is a response to the request, or an error.
local pure = moonplan or require "moonplan"
local json = json or pure.json

local jsonrpc = {}

-- Failures of the way to an endpoint after which it has certainly got nothing.
local UNSENT = { ["rpc.endpoint"] = true, ["rpc.request"] = true, ["rpc.unavailable"] = true }

-- Of what an endpoint says, as much as a message shows.
local SHOWN = 200

---@param code string
---@param message string
---@param sent boolean whether the request may have arrived
---@param more moonplan.RpcError? the endpoint's own words
local function failure(code, message, sent, more)
  return { code = code, at = "", message = message, sent = sent, error = more }
end

-- An endpoint's text as part of a line: no control characters, not too long.
local function line(words)
  local shown = words:gsub("%c+", " ")
  if #shown > SHOWN then
    local cut = SHOWN
    while cut > 0 and shown:byte(cut + 1) & 0xC0 == 0x80 do cut = cut - 1 end
    shown = shown:sub(1, cut) .. "…"
  end
  return shown
end

--- The text of a request. Without params, or with an empty table, the list is empty: some servers
--- refuse a request without one.
---@param id integer
---@param method string
---@param params table?
---@return string? text
---@return table? err rpc.request
function jsonrpc.request(id, method, params)
  if type(method) ~= "string" or method == "" then
    return nil, failure("rpc.request", "a method is named by a string", false)
  end
  if params == nil or (type(params) == "table" and next(params) == nil) then
    params = pure.array {}
  elseif type(params) ~= "table" then
    return nil, failure("rpc.request", "params must be a table, not a " .. type(params), false)
  end
  local text, err = json.encode { jsonrpc = "2.0", id = id, method = method, params = params }
  if text then return text end
  local where = err.at ~= "" and " at " .. err.at or ""
  return nil, failure("rpc.request", ("the request%s: %s"):format(where, err.message), false)
end

-- What an answer is instead of a response.
local function broken(words)
  return nil, failure("rpc.response", words, true)
end

local function is_object(value)
  return type(value) == "table" and not pure.is_array(value)
end

local function read_error(given)
  if not is_object(given) then return broken "the answer's error is no object" end
  if math.type(given.code) ~= "integer" then
    return broken "the answer's error has no integer code"
  end
  if type(given.message) ~= "string" then return broken "the answer's error has no message" end
  local own = { code = given.code, message = given.message, data = given.data }
  return nil, failure("rpc.error", ("%s (%d)"):format(line(own.message), own.code), true, own)
end

--- The result of a response; null is moonplan.null.
---@param text string
---@param id integer of the request
---@return any result
---@return table? err rpc.response; rpc.error, with the endpoint's own in `error`
function jsonrpc.response(text, id)
  local answer, err = json.decode(text)
  -- Its message would quote the answer.
  if err then return broken(("the answer is no JSON that can be read (%s)"):format(err.code)) end
  if not is_object(answer) then return broken "the answer is no object" end
  if answer.jsonrpc ~= "2.0" then return broken "the answer is not of version 2.0" end
  local failed, done = answer.error ~= nil, answer.result ~= nil
  if failed == done then
    return broken(failed and "the answer has a result and an error"
      or "the answer has no result and no error")
  end
  -- An endpoint that could not read the request does not know its id either.
  local known = math.type(answer.id) == "integer" and answer.id == id
  if not known and not (failed and answer.id == pure.null) then
    return broken "the answer is to another request"
  end
  if failed then return read_error(answer.error) end
  return answer.result
end

--- ctx.rpc, over whatever carries a request to an endpoint and brings its answer.
---@param send fun(endpoint: string, request: string): string?, table?
---@return moonplan.Rpc
function jsonrpc.client(send)
  local last = 0
  local client = {}
  function client.call(endpoint, method, params)
    if type(endpoint) ~= "string" then
      error("an endpoint is named by a string, not by a " .. type(endpoint), 2)
    end
    last = last + 1
    local request, err = jsonrpc.request(last, method, params)
    if not request then return nil, err end
    local answer, lost = send(endpoint, request)
    if answer then return jsonrpc.response(answer, last) end
    lost.sent = not UNSENT[lost.code]
    return nil, lost
  end
  return client
end

return jsonrpc
