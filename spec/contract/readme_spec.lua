-- The law: the README tells the truth. Its programs are compiled and run, its commands typed.
local command = require "spec.support.command"
local files = require "spec.support.files"
local sponge = require "spec.support.sponge"

local readme = files.read(files.root .. "README.md")
local build = os.getenv("MOONPLAN_BUILD") or (files.root .. "build/release")

-- examples/golden.json hashed with ethers 6 and with js-sha3, from a canonical form written there.
local GOLDEN = "0xd97c68674c9bb8757f6a5f51636f18dd5e89fbca5c7d6c6bf7e7e56610628e83"

--- The first fenced block of a language, or the first that holds a text.
local function block(language, holding)
  for found, content in readme:gmatch("\n```(%l*)\n(.-)```") do
    if found == language and (not holding or content:find(holding, 1, true)) then return content end
  end
  error("the README has no block of " .. (holding or language))
end

describe("the golden plan's digest", function()
  after_each(command.clean)

  it("stands in the README", function()
    assert.truthy(readme:find(GOLDEN, 1, true))
  end)

  it("is what the canonical bytes hash to, by a Keccak of the tests' own", function()
    local out = command.run { "digest", "--explain", files.root .. "examples/golden.json" }.out
    local canonical, digest = out:match("^([^\n]*)\n([^\n]*)\n$")
    assert.equal(GOLDEN, digest)
    assert.equal(GOLDEN, "0x" .. sponge.keccak_256(canonical))
  end)

  it("is what the README's C program says", function()
    if command.sanitized then pending("the program would have to be sanitized as well") return end
    local folder = command.folder()
    command.write(folder .. "/main.c", block("c", "moonplan_call_plan_digest"))
    local outcome = command.shell(("cc -std=c11 -Wall -Wextra -Werror -I%ssrc %s/main.c %s/libmoonplan.a "
      .. "-lsodium -o %s/main && %s/main"):format(files.root, folder, build, folder, folder),
      files.read(files.root .. "examples/golden.json"))
    assert.same({ code = 0, err = "", out = GOLDEN:sub(3) .. " has 3 steps\n" }, outcome)
  end)

  it("is what the README's Lua lines say", function()
    local path = command.write(command.folder() .. "/main.lua", block("lua", 'local moonplan = require "moonplan"'))
    local golden = files.read(files.root .. "examples/golden.json")
    local expected = { code = 0, err = "",
      out = GOLDEN .. "\t3\t0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\n" }
    assert.same(expected, command.run { path, stdin = golden })
    if command.sanitized then return end
    assert.same(expected, command.shell("lua5.4 " .. path, golden))
  end)
end)

describe("the README's commands", function()
  after_each(command.clean)

  -- A session: "$ moonplan WORDS", then what comes of it. Where nothing stands below, only the
  -- exit code is asked for.
  local session = block("", "$ moonplan digest examples/golden.json")
    .. block("", "$ moonplan run examples/orders.plan.json")
    .. block("", "$ moonplan typed-data digest examples/mail.json")
  for typed, answer in session:gmatch("%$ moonplan ([^\n]*)\n([^$]*)") do
    typed = typed:gsub("%s*#.*", "")
    it("print what it says: moonplan " .. typed, function()
      local root = files.root == "" and "." or files.root
      local outcome = command.shell(("cd %s && %s %s"):format(root, files.quote(command.program), typed))
      assert.equal("", outcome.err)
      assert.equal(0, outcome.code)
      if answer ~= "" then assert.equal(answer, outcome.out) end
    end)
  end
end)

describe("the README's builders", function()
  after_each(command.clean)

  it("say what it says, on a terminal's two streams", function()
    local folder = command.folder()
    local session = block("", "$ moonplan build native.transfer")
    local commands = 0
    for typed, answer in session:gmatch("%$ moonplan ([^\n]*)\n([^$]*)") do
      local outcome = command.shell(("cd %s && %s %s 2>&1"):format(folder, files.quote(command.program), typed))
      assert.equal(answer, outcome.out)
      commands = commands + 1
    end
    assert.equal(2, commands)
    assert.equal('{"', files.read(folder .. "/pay.json"):sub(1, 2))
  end)
end)

describe("the README's command lines", function()
  local helps = {}
  -- What `moonplan WORDS --help` prints; nil where there is no such verb.
  local function help(words)
    if helps[words] == nil then
      local outcome = command.shell(files.quote(command.program) .. " " .. words .. " --help")
      helps[words] = outcome.code == 0 and outcome.out
    end
    return helps[words] or nil
  end

  local typed = {}
  for _, content in readme:gmatch("\n```(%l*)\n(.-)\n```") do
    for line in content:gmatch("%$ moonplan ([^\n]*)") do
      for part in (line:gsub("%s#.*", "") .. " "):gsub("| ", "; moonplan "):gmatch("[^;]+") do
        typed[#typed + 1] = part:gsub("^%s*moonplan ", ""):gsub("%s*[<>].*", "")
      end
    end
  end

  it("are there", function() assert.truthy(#typed > 40) end)

  for _, line in ipairs(typed) do
    it("use verbs and options that there are: moonplan " .. line, function()
      local verb, second = line:match("^(%S+)%s*(%S*)")
      local text = second:find("^%l[%l-]*$") and help(verb .. " " .. second) or help(verb)
      if verb:find("^%-") or verb:find("%.lua$") then return end -- the interpreter's own
      assert(text, "there is no verb " .. verb)
      for option in line:gmatch("%s(%-%-[%l-]+)") do
        assert(text:find(option, 1, true), option .. " is not among the options")
      end
    end)
  end
end)
