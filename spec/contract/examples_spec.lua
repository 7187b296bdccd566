-- The law: every example runs, and does what it says it does.
local cjson = require "cjson"
local command = require "spec.support.command"
local files = require "spec.support.files"

local here = files.root == "" and "." or files.root
local build = os.getenv("MOONPLAN_BUILD") or (files.root .. "build/release")

-- SHA-256 of {"quantity":1,"sku":"book"} and of {"quantity":2,"sku":"pen"}, by sha256sum.
local BOOK, PEN = "order-2d25aa19", "order-2584bde2"

local covered = {}

--- The outcome of a command in the checkout.
local function run(words)
  words.cd = here
  for _, word in ipairs(words) do
    local name = word:match("^examples/(.*)")
    if name then covered[name] = true end
  end
  return command.run(words)
end

describe("examples/", function()
  after_each(command.clean)

  it("golden.json is a call plan", function()
    assert.equal(0, run { "validate", "examples/golden.json" }.code)
  end)

  it("mail.json has the digest that EIP-712 publishes for its example", function()
    local outcome = run { "typed-data", "digest", "--json", "examples/mail.json" }
    assert.equal("0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2",
      cjson.decode(outcome.out).signing_digest)
    assert.equal(0, run { "review", "examples/mail.json" }.code)
  end)

  it("orders.plan.json runs with the plugin beside it", function()
    covered["plugins/orders.lua"] = true
    local outcome = run { "run", "examples/orders.plan.json", "--plugins", "examples/plugins", "--allow", "write" }
    assert.equal(0, outcome.code)
    local order = { id = BOOK, sku = "book", quantity = 1 }
    assert.same({ order, order }, cjson.decode(outcome.out))
  end)

  it("policy.lua lets those write who have the scope", function()
    local words = { "run", "examples/orders.plan.json", "--plugins", "examples/plugins", "--authorizer",
      "examples/policy.lua", "--caller", "examples/caller.json" }
    assert.equal(0, run(words).code)
    local outcome = run { table.unpack(words, 1, 6) }
    assert.equal(3, outcome.code)
    assert.truthy(outcome.err:find("orders.create is not among the scopes of nobody\n", 1, true))
  end)

  for _, interpreter in ipairs { "moonplan", "lua5.4" } do
    local function script(name, stdin)
      covered[name] = true
      if interpreter == "moonplan" then return run { "examples/" .. name, stdin = stdin } end
      return command.shell(("cd %s && lua5.4 examples/%s"):format(files.quote(here), name), stdin)
    end
    -- A stock interpreter cannot load a sanitized module.
    local test = interpreter == "lua5.4" and command.sanitized and pending or it

    test("engine.lua runs in " .. interpreter, function()
      local outcome = script("engine.lua")
      assert.equal("", outcome.err)
      assert.equal(0, outcome.code)
      assert.equal(([[
plugin.loaded orders.create
plugin.loaded orders.read
job.created
execution.started
capability.started order
capability.completed order
capability.started tell
alice: %s
capability.completed tell
job.completed
completed	true
nil
plan.input_type	/steps/0/input/quantity
plan.reference_order	/steps/1/input/text
]]):format(PEN), outcome.out)
    end)

    test("drive.lua runs in " .. interpreter, function()
      local outcome = script("drive.lua", files.read(files.root .. "examples/orders.plan.json"))
      assert.same({ code = 0, err = "", out = ([[
create may call orders.create
inspect may call orders.read
looking up %s
completed	nil
]]):format(BOOK) }, outcome)
    end)
  end

  it("embed.c compiles and runs, and knows no Lua", function()
    covered["embed.c"] = true
    if command.sanitized then pending("the program would have to be sanitized as well") return end
    local folder = command.folder()
    local source = files.root .. "examples/embed.c"
    assert.is_nil(files.read(source):find("lua.h", 1, true))
    local outcome = command.shell(("cc -std=c11 -Wall -Wextra -Werror -I%ssrc %s %s/libmoonplan.a -lsodium -o %s/embed && %s/embed")
      :format(files.root, source, build, folder, folder), files.read(files.root .. "examples/orders.plan.json"))
    assert.equal(0, outcome.code, outcome.err)
    assert.not_equal("", outcome.out)
  end)

  it("has nothing that no test runs", function()
    for _, name in ipairs(files.lines_of("cd " .. files.quote(here) .. "/examples && find . -type f | sort")) do
      name = name:gsub("^%./", "")
      assert.is_true(covered[name], name)
    end
  end)
end)
