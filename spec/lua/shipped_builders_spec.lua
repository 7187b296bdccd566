-- The builders that come along make the plans that they say: computed once more by hand, by ethers
-- where it is there, and read by the review.
local call_texts = require "spec.support.call_texts"
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"
local shipped = require "spec.support.shipped_builders"

local engine = moonplan.engine()

-- Every example that makes a call plan: f(name, number, example, twin).
local function each(f)
  for _, item in ipairs((engine:list "builder")) do
    for n, example in ipairs(engine:describe(item.name).examples) do
      if example.digest then f(item.name, n, example, (shipped.plans[item.name] or {})[n]) end
    end
  end
end

local function built(name, example)
  local text, digest = engine:build(name, example.params)
  return assert(text, digest), digest
end

describe("a builder of call plans that comes along", function()
  it("makes the calls that are written by hand for its examples, with their digest", function()
    local count = 0
    each(function(name, n, example, twin)
      local where = ("%s, example %d"):format(name, n)
      assert(twin, where .. " has no twin")
      local expected = call_texts.digest(twin.chain, shipped.sender, twin.calls)
      assert.equal(expected, example.digest, where)
      local text, digest = built(name, example)
      assert.equal(expected, digest, where)
      assert.equal(expected, moonplan.digest(text), where)
      local plan = moonplan.json.decode(text)
      for i, call in ipairs(twin.calls) do
        local step = plan.ordered_steps[i]
        assert.equal(call.data or "0x", step.transaction.data, where)
        assert.equal(call.kind, step.kind, where)
      end
      assert.same(twin.capabilities, plan.required_capabilities, where)
      count = count + 1
    end)
    assert(count >= 13)
  end)

  it("makes those that ethers makes", function()
    local peers = os.getenv("MOONPLAN_PEERS")
    if not peers or not os.execute("node --version >/dev/null 2>&1") then
      return pending("ethers is not there: set MOONPLAN_PEERS, and have node")
    end
    local lines, digests, wheres = {}, {}, {}
    each(function(name, n, example)
      -- The arguments as our decoder, which has ethers for its judge elsewhere, reads them.
      local plan = moonplan.json.decode((built(name, example)))
      local calls = {}
      for i, step in ipairs(plan.ordered_steps) do
        local call = { kind = step.kind, to = step.transaction.to, value = step.transaction.value }
        if step.transaction.data ~= "0x" then
          call.signature = assert(shipped.signatures[step.transaction.data:sub(1, 10)], step.transaction.data)
          call.arguments = moonplan.array(
            (assert(moonplan.abi.decode(call.signature, step.transaction.data, { strict = true }))))
        end
        calls[i] = call
      end
      lines[#lines + 1] = moonplan.json.encode { chain = plan.chain_id, sender = plan.sender, calls = calls }
      digests[#digests + 1], wheres[#wheres + 1] = example.digest, ("%s, example %d"):format(name, n)
    end)
    local outcome = command.shell(("node %s %s"):format(files.quote(files.root .. "spec/support/builders_peers.mjs"),
      files.quote(peers)), table.concat(lines, "\n") .. "\n")
    assert.equal(0, outcome.code, outcome.err)
    local n = 0
    for digest in outcome.out:gmatch "[^\n]+" do
      n = n + 1
      assert.equal(digests[n], digest, wheres[n])
    end
    assert.equal(#digests, n)
  end)

  -- What a person is shown of them: every call is read, and nothing in it is a danger.
  it("makes plans in which a review finds what is there, and no danger", function()
    local expected = {
      ["native.transfer"] = { "value.moved" },
      ["erc20.transfer"] = {},
      ["erc20.approve"] = { "allowance.granted", "allowance.revoked" },
      ["erc20.approve_and_call"] = { "advice.present", "allowance.granted", "allowance.revoked", "value.moved",
        "decode.unknown_selector" },
      ["approvals.revoke"] = { "allowance.revoked" },
      ["swap.exact_input"] = { "advice.present", "allowance.granted", "allowance.revoked" },
      multicall = { "value.moved", "decode.unknown_selector" },
    }
    local seen = {}
    each(function(name, n, example)
      local review = assert(moonplan.review((built(name, example))))
      local where = ("%s, example %d"):format(name, n)
      assert.equal(0, review.counts.danger, where)
      local allowed = {}
      for _, code in ipairs(expected[name]) do allowed[code] = true end
      for _, finding in ipairs(review.findings) do
        assert(allowed[finding.code], ("%s: %s: %s"):format(where, finding.code, finding.message))
        seen[name .. " " .. finding.code] = true
      end
      for i, step in ipairs(review.steps) do
        local known = name == "erc20.approve_and_call" or step.call.kind ~= "not_decoded"
        assert(known, ("%s, step %d is not decoded"):format(where, i))
      end
    end)
    for name, codes in pairs(expected) do
      for _, code in ipairs(codes) do assert(seen[name .. " " .. code], name .. " " .. code) end
    end
  end)
end)

describe("an allowance", function()
  local params = { chain = 1, sender = shipped.sender, token = "0x2222222222222222222222222222222222222222",
    spender = "0x3333333333333333333333333333333333333333" }
  local function with(more)
    local all = {}
    for name, value in pairs(params) do all[name] = value end
    for name, value in pairs(more) do all[name] = value end
    return all
  end
  local function codes(name, more)
    local list = {}
    for _, finding in ipairs(moonplan.review((assert(engine:build(name, with(more))))).findings) do list[finding.code] = true end
    return list
  end

  it("of everything is built where it is asked for, and called a danger", function()
    local most = "115792089237316195423570985008687907853269984665640564039457584007913129639935"
    assert.is_true(codes("erc20.approve", { amount = most })["allowance.unlimited"])
  end)

  it("that is called with and revoked leaves nothing behind, in one transaction", function()
    local found = codes("erc20.approve_and_call", { amount = 5, data = "0x12345678" })
    assert.is_nil(found["allowance.left"])
    assert.is_nil(found["allowance.not_atomic"])
    assert.is_true(found["allowance.revoked"])
  end)

  it("of a token that wants zero first is reset where that is asked for", function()
    local usdt = "0xdac17f958d2ee523a2206206994597c13d831ec7"
    assert.is_true(codes("erc20.approve", { token = usdt, amount = 5 })["allowance.zero_first"])
    assert.is_nil(codes("erc20.approve", { token = usdt, amount = 5, reset_first = true })["allowance.zero_first"])
  end)
end)

describe("files.digest", function()
  after_each(command.clean)

  -- sha256sum of GNU coreutils is the judge.
  it("makes a plan that lists, hashes and reports as sha256sum does", function()
    local folder = command.folder()
    os.execute("mkdir -p " .. folder .. "/in/deep/er")
    local names = { "in/a.txt", "in/b c.txt", "in/deep/er/z", "in/deep/new\nline", "in/back\\slash", "in/empty" }
    for n, name in ipairs(names) do command.write(folder .. "/" .. name, n == 6 and "" or ("x"):rep(n * 1000) .. "\0\255") end
    table.sort(names)
    local quoted = {}
    for n, name in ipairs(names) do quoted[n] = files.quote(name) end
    local judged = command.shell(("cd %s && sha256sum -- %s"):format(folder, table.concat(quoted, " ")))
    assert.equal(0, judged.code)
    local running = moonplan.engine { grants = { fs = folder } }
    local plan = assert(engine:build("files.digest", { path = "in", recursive = true }))
    local job = assert(running:run(plan))
    assert.equal("completed", job.status, job.error and job.error.message)
    assert.equal(judged.out, job.result[3].text)
    assert.equal("0x" .. command.shell("sha256sum", judged.out).out:sub(1, 64), job.result[3].digest)
  end)

  it("takes the folder itself where none is named, and nothing below it unless asked to", function()
    local folder = command.folder()
    os.execute("mkdir " .. folder .. "/d")
    command.write(folder .. "/a", "1")
    command.write(folder .. "/d/b", "2")
    local running = moonplan.engine { grants = { fs = folder } }
    local job = assert(running:run((assert(engine:build "files.digest"))))
    assert.equal("completed", job.status, job.error and job.error.message)
    assert.same({ files = { "a" }, folders = { "d" } }, job.result[1])
    assert.equal(1, #job.result[2].digests)
  end)
end)
