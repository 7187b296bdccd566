--- A node on loopback (spec/support/chain.py) and plans for it, for the specs of sending.
local cjson = require "cjson".new()
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"

local chain = {}
chain.__index = chain

--- The program anvil of the npm package @foundry-rs/anvil below MOONPLAN_PEERS; nil where it is
--- not there.
function chain.anvil()
  local peers = os.getenv("MOONPLAN_PEERS")
  if not peers then return nil end
  local found = files.lines_of("ls -d " .. files.quote(peers)
    .. "/node_modules/@foundry-rs/anvil-linux-*/bin/anvil 2>/dev/null")[1]
  return found
end

--- A node that is there until `stop`.
---@param anvil string? the program; nil: the small node that comes along
function chain.start(anvil)
  local folder = files.lines_of("mktemp -d")[1]
  local answers = folder .. "/answers"
  assert(os.execute("mkfifo " .. files.quote(answers)))
  local orders = assert(io.popen(("exec python3 %s %s %s"):format(
    files.quote(files.root .. "spec/support/chain.py"), files.quote(answers),
    anvil and files.quote(anvil) or ""), "w"))
  local self = setmetatable({ folder = folder, orders = orders }, chain)
  self.answers = assert(io.open(answers, "r"))
  local first = cjson.decode(self.answers:read("l"))
  assert(first.port, first.error)
  self.url = ("http://127.0.0.1:%d"):format(first.port)
  return self
end

function chain:stop()
  self.orders:close()
  self.answers:close()
  os.execute("rm -rf " .. files.quote(self.folder))
end

function chain:order(order)
  self.orders:write(cjson.encode(order), "\n")
  self.orders:flush()
  return cjson.decode((assert(self.answers:read("l"), "the node's keeper is gone")))
end

--- How it misbehaves from now on; the log begins anew.
function chain:rules(...)
  self:order { ["do"] = "rules", rules = select("#", ...) > 0 and { ... } or nil }
end

--- The requests since, as a list of methods, and of their params.
function chain:log()
  local methods, params = {}, {}
  for n, entry in ipairs(self:order { ["do"] = "log" }.log) do
    methods[n], params[n] = entry[1], entry[2]
  end
  return methods, params
end

--- How often a method was asked for.
function chain:count(method)
  local count = 0
  for _, each in ipairs((self:log())) do count = count + (each == method and 1 or 0) end
  return count
end

--- Ask the node itself, past the rules.
function chain:rpc(method, ...)
  local params = select("#", ...) > 0 and { ... } or nil
  local answer = self:order { ["do"] = "rpc", method = method, params = params }
  return assert(answer.result, answer.error and answer.error.message)
end

-- A transaction from the node's first account; its receipt.
local function transact(self, to, data)
  return self:order { ["do"] = "transact", transaction = {
    from = chain.account, to = to, data = data, gas = "0x400000",
  } }.result
end

-- -- Contracts --------------------------------------------------------------------------------

chain.account = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266" -- anvil's first

function chain.contracts()
  return cjson.decode(files.read(files.root .. "spec/data/contracts.json"))
end

--- Deploy one of spec/data/contracts.sol; its address.
function chain:deploy(name, argument)
  local data = chain.contracts().contracts[name]
  if argument then data = data .. moonplan.abi.encode("(uint256)", { argument }):sub(3) end
  return transact(self, nil, data).contractAddress:lower()
end

--- What a view function gives, in decimal.
function chain:read(to, signature, ...)
  local data = self:rpc("eth_call", { to = to, data = moonplan.abi.call(signature, ...) }, "latest")
  return moonplan.abi.decode("(uint256)", data)[1]
end

function chain:transact(to, signature, ...)
  transact(self, to, moonplan.abi.call(signature, ...))
end

-- -- Plans ------------------------------------------------------------------------------------

--- A plan's text. Each call is { to, data, value?, kind?, revert?, gas? }.
---@param calls table[]
---@param more { chain_id: string?, sender: string?, [string]: any }?
function chain.plan(calls, more)
  more = more or {}
  local id, sender = more.chain_id or "31337", more.sender or chain.account
  local plan = {
    schema_version = "1", chain_id = id, caip2_chain_id = "eip155:" .. id, sender = sender,
    ordered_steps = {},
  }
  for n, call in ipairs(calls) do
    plan.ordered_steps[n] = {
      step = n, kind = call.kind or "execution", revert_decode = call.revert,
      transaction = {
        chain_id = id, from = sender, to = call[1], data = call[2], value = call[3] or "0",
        gas = call.gas,
      },
    }
  end
  for name, value in pairs(more) do
    if plan[name] == nil then plan[name] = value end
  end
  return assert(moonplan.json.encode(plan))
end

--- Calls of the small node: to anybody, with a number for data, from the account 0x11...
function chain.calls(count)
  local calls = {}
  for n = 1, count do calls[n] = { "0x" .. ("22"):rep(20), ("0x%08x"):format(n) } end
  return calls
end

chain.small = { chain_id = "1", sender = "0x" .. ("11"):rep(20) }

--- `moonplan send` with this plan: exit code, what stdout says as JSON (nil: nothing), stderr.
function chain:send(plan, ...)
  local words = { "send", "-", "--rpc", self.url, ... }
  words.stdin = plan
  local run = command.run(words)
  local outcome = run.out ~= "" and assert(moonplan.json.decode(run.out)) or nil
  return run.code, outcome, run.err
end

--- The lines of a record.
function chain.record(path)
  local entries = {}
  for line in io.lines(path) do entries[#entries + 1] = assert(moonplan.json.decode(line)) end
  return entries
end

--- The statuses of an outcome's steps.
function chain.statuses(outcome)
  local statuses = {}
  for n, step in ipairs(outcome.steps) do statuses[n] = step.status end
  return statuses
end

return chain
