--- What `moonplan plugins new` writes: a plugin that works, for its author to change.
local scaffold = {}

-- @NAME@, @FAMILY@ and @TITLE@ are filled in.
local CAPABILITY = [==[
--- @TITLE@: what this family of capabilities is about, in a sentence.
---
--- A plugin is a Lua file that returns what it brings. This one is called @FAMILY@.lua, so it may
--- bring @FAMILY@ and anything called @FAMILY@.SOMETHING: more of them go into the same list.
---
---   moonplan plugins check @FAMILY@ --plugins DIR    is it well made?
---   moonplan plugins test @FAMILY@ --plugins DIR     do the examples hold?
---   moonplan plugins show @NAME@ --plugins DIR

---@type moonplan.Capability[]
return {
  {
    kind = "capability",
    api = 1,
    name = "@NAME@",
    -- A plan may ask for a version, and then for this very one: change it with every change.
    version = "0.1.0",
    summary = "Make a text loud.",
    -- "read" changes nothing anywhere. "write" and "destructive" are denied unless somebody allows
    -- them, which is why a capability does one thing only.
    risk = "read",
    -- What of the outside world it needs: "fs" (ctx.fs.read, list, size), "fs:rw" (ctx.fs.write as
    -- well), "clock" (ctx.clock.now), "http" (ctx.http.request), "rpc:NAME" (ctx.rpc.call), "kv"
    -- (ctx.kv.get, set, list), "random" (ctx.random.bytes, integer), "secret:NAME"
    -- (ctx.secret.get). Whoever runs a plan has to grant it.
    needs = {},

    -- Checked before `run` is called, so that `run` can rely on it. Types: string, number, boolean,
    -- object, array; further: integer = true, min, max, max_length, enum = { ... }.
    input = {
      text = { type = "string", required = true, max_length = 1000, description = "what to say" },
      marks = { type = "number", integer = true, min = 0, max = 10,
        description = "exclamation marks; 1 without it" },
    },
    output = {
      text = { type = "string", description = "the same, loud" },
    },

    -- Documentation and test in one.
    examples = {
      { input = { text = "hello" }, output = { text = "HELLO!" } },
      { input = { text = "hello", marks = 3 }, output = { text = "HELLO!!!" } },
      { input = { text = " " }, error = "there is nothing to say" },
    },

    -- `input` is a copy of its own; a member that the plan left out is nil. What comes back becomes
    -- the step's result, which later steps can refer to. `nil, message` fails the step, and with it
    -- the job. `ctx` has job_id, step_id, caller, idempotency_token, log (log.info "...") and the
    -- powers of `needs`.
    run = function(input, ctx)
      if not input.text:find("%S") then return nil, "there is nothing to say" end
      ctx.log.debug("raising my voice")
      return { text = input.text:upper() .. ("!"):rep(input.marks or 1) }
    end,
  },
}
]==]

local BUILDER = [==[
--- @TITLE@: what these builders make plans for, in a sentence.
---
--- A plugin is a Lua file that returns what it brings. This one is called @FAMILY@.lua, so it may
--- bring @FAMILY@ and anything called @FAMILY@.SOMETHING: more of them go into the same list.
---
---   moonplan plugins check @FAMILY@ --plugins DIR    is it well made?
---   moonplan plugins test @FAMILY@ --plugins DIR     do the examples hold?
---   moonplan build @NAME@ --plugins DIR chain=1 sender=0x... token=0x... recipient=0x... amount=1

---@type moonplan.Builder[]
return {
  {
    kind = "builder",
    api = 1,
    name = "@NAME@",
    version = "0.1.0",
    -- "call_plan" (ERC-8410), or "step_plan" (ExecutionPlan v1): then `uses` lists the capabilities
    -- that its steps name, and `plan:step(id, capability, input)` adds one and returns a handle, so
    -- that `handle.text` in a later input refers to what the step gives.
    builds = "call_plan",
    summary = "Send tokens, and a little native currency for their first call.",

    -- Checked before `build` is called; all mistakes are told at once, by name. Types: chain,
    -- address, amount, uint256, bytes, string, number, boolean, object, array; further: required,
    -- min, max, max_length, enum, integer = true, items, fields, and of an amount decimals: a
    -- number, or the name of the parameter that says it. A call plan needs chain and sender.
    params = {
      chain = { type = "chain", required = true, description = "the chain to act on" },
      sender = { type = "address", required = true, description = "the account that sends" },
      token = { type = "address", required = true, description = "the token's contract" },
      recipient = { type = "address", required = true, description = "the account that gets them" },
      amount = { type = "amount", required = true, min = 1, decimals = "decimals",
        description = "how much to send: base units, or as 2.5 tokens" },
      decimals = { type = "number", integer = true, min = 0, max = 77,
        description = "the token's decimals, for amounts in tokens" },
      currency = { type = "amount", decimals = 18,
        description = "native currency to send along: wei, or as 0.01 ether; none without it" },
    },

    -- Documentation and test in one. What to expect is the plan's digest, as `moonplan build` tells
    -- it, a whole plan, or an error.
    examples = {
      {
        params = {
          chain = 1, sender = "0x1111111111111111111111111111111111111111",
          token = "0x2222222222222222222222222222222222222222",
          recipient = "0x3333333333333333333333333333333333333333", amount = "2.5 tokens",
          decimals = 6,
        },
        digest = "0x7bf5e28bd7effe0608dbf016036334be15b26f52eece24a6d7339b943c69b5f1",
      },
      {
        params = {
          chain = 1, sender = "0x1111111111111111111111111111111111111111",
          token = "0x2222222222222222222222222222222222222222",
          recipient = "0x2222222222222222222222222222222222222222", amount = 1,
        },
        error = "the token's contract would get its own tokens",
      },
    },

    -- `p` holds the parameters in one form each: numbers of the chain as decimal strings, addresses
    -- and bytes in lower case; what was left out is nil. `nil, message` refuses them. Calls go out
    -- in the order in which they are added; the host writes chain, sender and numbers itself.
    build = function(p, plan)
      if p.recipient == p.token then return nil, "the token's contract would get its own tokens" end
      plan:call {
        kind = "execution", -- or approval, allowance_cleanup, signature_dependent_execution, other
        to = p.token,
        data = moonplan.abi.call("transfer(address,uint256)", p.recipient, p.amount),
      }
      if p.currency then
        plan:require "atomic_batch" -- both or neither
        plan:call { kind = "execution", to = p.recipient, value = p.currency }
      end
    end,
  },
}
]==]

local AUTHORIZER = [==[
--- @TITLE@: which steps this authorizer lets run, in a sentence.
---
--- A plugin is a Lua file that returns what it brings. This one is called @FAMILY@.lua, so it may
--- bring @FAMILY@ and anything called @FAMILY@.SOMETHING: more of them go into the same list.
---
---   moonplan plugins check @FAMILY@ --plugins DIR    is it well made?
---   moonplan plugins test @FAMILY@ --plugins DIR     do the examples hold?
---   moonplan run plan.json --plugins DIR --authorizer @NAME@

---@type moonplan.Authorizer[]
return {
  {
    kind = "authorizer",
    api = 1,
    name = "@NAME@",
    version = "0.1.0",
    summary = "Let what reads run, and what writes below drafts/.",

    -- Documentation and test in one: a request, and the decision; or an error.
    examples = {
      {
        input = { capability = { name = "fs.read_text", risk = "read" }, input = { path = "a" } },
        output = { decision = "allow" },
      },
      {
        input = { capability = { name = "fs.write_text", risk = "write" },
          input = { path = "drafts/a" } },
        output = { decision = "allow" },
      },
      {
        input = { capability = { name = "fs.write_text", risk = "write" }, input = { path = "a" } },
        output = { decision = "deny", reason = "only drafts may be written" },
      },
    },

    -- Asked before every step. `request` is a copy of its own: job_id, step_id, capability (name,
    -- version, risk), input (exactly what the capability will get) and caller. Whatever is not
    -- { decision = "allow" } stops the job, a failure (`nil, message`) as well. `ctx` has log, and
    -- the powers of `needs`, as a capability's has.
    decide = function(request)
      if request.capability.risk == "read" then return { decision = "allow" } end
      local input = request.input
      local path = type(input) == "table" and input.path
      if request.capability.risk == "write" and type(path) == "string"
        and path:find("^drafts/[%w_-]+$") then
        return { decision = "allow" }
      end
      return { decision = "deny", reason = "only drafts may be written" }
    end,
  },
}
]==]

local EXECUTOR = [==[
--- @TITLE@: who signs and sends, in a sentence.
---
--- A plugin is a Lua file that returns what it brings. This one is called @FAMILY@.lua, so it may
--- bring @FAMILY@ and anything called @FAMILY@.SOMETHING: more of them go into the same list.
---
---   moonplan plugins check @FAMILY@ --plugins DIR    is it well made?
---   moonplan plugins test @FAMILY@ --plugins DIR     do the examples hold?
---   moonplan send plan.json --plugins DIR --executor @NAME@ --rpc URL
---
--- The order of things, waiting, consent and the record are the host's; an executor answers short
--- questions. What was asked to be sent is never asked again, so that what is not certain has to be
--- "unknown".

local function ask(ctx, method, ...)
  return ctx.rpc.call("wallet", method, moonplan.array { ... })
end

-- The node failed: the host may ask again, unless it was about sending.
local function node_failed(err) return nil, { code = "rpc_error", message = err.message } end

-- For the examples.
local ACCOUNT = "0x1111111111111111111111111111111111111111"
local HASH = "0x" .. ("ab"):rep(32)

local function question(more)
  more.chain_id, more.sender, more.count = "0x1", ACCOUNT, 1
  more.calls = { { to = ACCOUNT, data = "0x", value = "0x0" } }
  return more
end

---@type moonplan.Executor[]
return {
  {
    kind = "executor",
    api = 1,
    name = "@NAME@",
    version = "0.1.0",
    summary = "Send call after call through a node that holds the account.",
    -- --rpc URL grants it.
    needs = { "rpc:wallet" },
    -- "call": `submit` gets one call at a time. "plan": all of them, as one batch; then
    -- `implements = { "atomic_batch" }` says that it can be all or nothing.
    submits = "call",

    -- Is this the right chain? A failure has a code: rpc_error, chain, account or answer.
    prepare = function(q, ctx)
      local chain, err = ask(ctx, "eth_chainId")
      if err then return node_failed(err) end
      if chain ~= q.chain_id then
        return nil, { code = "chain", message = "the node is on another chain" }
      end
      return {}
    end,

    -- Further functions that it may have: `simulate`, which tries all calls before anything is
    -- sent, and `estimate`, which tries the next one and says what to add to it (gas, nonce).

    submit = function(q, ctx)
      local call = q.calls[1]
      local hash, err = ask(ctx, "eth_sendTransaction", {
        from = q.sender, to = call.to, data = call.data, value = call.value, chainId = q.chain_id,
      })
      -- EIP-1193: the person said no. Other errors may come after the fact.
      if err and err.code == "rpc.error" and err.error.code == 4001 then
        return { state = "refused", message = err.message }
      elseif err then
        return { state = err.sent and "unknown" or "unsent", message = err.message }
      end
      return { state = "sent", id = hash }
    end,

    -- Asked again while it is pending. The receipt has to prove what is said.
    outcome = function(q, ctx)
      local receipt, err = ask(ctx, "eth_getTransactionReceipt", q.id)
      if err then return node_failed(err) end
      if receipt == moonplan.null then return { state = "pending" } end
      return {
        state = receipt.status == "0x1" and "succeeded" or "reverted",
        receipts = {
          {
            transaction_hash = receipt.transactionHash, block_hash = receipt.blockHash,
            block_number = receipt.blockNumber, gas_used = receipt.gasUsed,
            status = receipt.status,
          },
        },
      }
    end,

    -- Documentation and test in one: which function, its question, what the node says, the answer.
    examples = {
      {
        call = "prepare", input = question {}, output = {},
        given = { rpc = { wallet = { { method = "eth_chainId", result = "0x1" } } } },
      },
      {
        call = "prepare", input = question {}, error = "the node is on another chain",
        given = { rpc = { wallet = { { method = "eth_chainId", result = "0xa" } } } },
      },
      {
        call = "submit", input = question {}, output = { state = "sent", id = HASH },
        given = { rpc = { wallet = { { method = "eth_sendTransaction", result = HASH } } } },
      },
      {
        call = "outcome", input = question { id = HASH }, output = { state = "pending" },
        given = { rpc = { wallet = {
          { method = "eth_getTransactionReceipt", result = moonplan.null },
        } } },
      },
    },
  },
}
]==]

local TEXTS = {
  capability = CAPABILITY, builder = BUILDER, executor = EXECUTOR, authorizer = AUTHORIZER,
}

--- The kinds of plugin that there is a text for.
scaffold.KINDS = { "capability", "builder", "executor", "authorizer" }

--- The text of a plugin's file.
---@param kind string
---@param name string
---@param family string what the file is called
---@return string
function scaffold.text(kind, name, family)
  local values = { NAME = name, FAMILY = family, TITLE = (family:gsub("^%l", string.upper)) }
  return (TEXTS[kind]:gsub("@(%u+)@", values))
end

return scaffold
