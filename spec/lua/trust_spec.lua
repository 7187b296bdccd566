-- Whose code it is that runs: signed folders of plugins, trust stores, pins. Keys and signatures
-- themselves are spec/c/signature_test.c, the record of what was loaded is loads_spec.lua.
local command = require "spec.support.command"
local files = require "spec.support.files"
local moonplan = require "moonplan"
local plans = require "spec.support.plans"
local plugin_files = require "spec.support.plugin_files"
local trusted = require "spec.support.trusted"

local source, result = plugin_files.source, plugin_files.result

local engine_of, events_of, hash, refusal = trusted.engine_of, trusted.events_of, trusted.hash, trusted.refusal
local sign, store, verify, versioned = trusted.sign, trusted.store, trusted.verify, trusted.versioned

local MANIFEST, SIGNATURE = "/plugins.manifest", "/plugins.manifest.minisig"

describe("a signed folder", function()
  local key, trust
  before_each(function()
    key = moonplan.keys.new()
    trust = store { alice = key }
  end)
  after_each(command.clean)

  local function signed(sources)
    local folder = plugin_files.folder(sources or {
      ["a.lua"] = source("a", "return 1"),
      ["b/init.lua"] = source("b.x", "return plugin.import('part')"),
      ["b/part.lua"] = "return 2",
    })
    sign(folder, key)
    return folder
  end

  it("has a manifest of files and items, sorted", function()
    local folder = signed()
    local a, b = files.read(folder .. "/a.lua"), files.read(folder .. "/b/init.lua")
    -- The digests are those of b2sum from GNU coreutils.
    local digests = files.lines_of(("cd %s && b2sum -l 256 a.lua b/init.lua b/part.lua | cut -c 1-64"):format(folder))
    assert.equal(table.concat({
      "moonplan plugins 1",
      ("file a.lua %d %s"):format(#a, digests[1]),
      ("file b/init.lua %d %s"):format(#b, digests[2]),
      ("file b/part.lua 8 %s"):format(digests[3]),
      "item a 1.0.0 a.lua",
      "item b.x 1.0.0 b/init.lua",
      "",
    }, "\n"), files.read(folder .. MANIFEST))
  end)

  it("is verified and used", function()
    local folder = signed()
    local row = assert(verify(folder, trust))
    assert.equal(key.id, row.key)
    assert.equal("alice", row.signer)
    assert.equal(folder, row.folder)
    assert.equal("process", row.isolation)
    assert.equal(3, #row.files)
    assert.same({ { name = "a", version = "1.0.0", file = "a.lua" }, { name = "b.x", version = "1.0.0", file = "b/init.lua" } },
      row.items)
    local engine = engine_of(folder, { trust = trust })
    assert.equal(1, result(engine, "a"))
    assert.equal(2, result(engine, "b.x"))
    local item = engine:describe "a"
    assert.equal("signed", item.decision)
    assert.equal("alice", item.signer)
    assert.equal(key.id, item.key)
  end)

  it("can be signed again", function()
    local folder = signed()
    command.write(folder .. "/a.lua", versioned("a", "1.1.0", "return 3"))
    assert.is_nil((verify(folder, trust)))
    sign(folder, key)
    assert(verify(folder, trust))
  end)

  it("is what the tool minisign verifies, and may be signed with it", function()
    if not os.execute "command -v minisign >/dev/null" then
      pending "minisign is not installed"
      return
    end
    local folder = signed()
    local keys = command.folder()
    assert(key:save(keys .. "/k"))
    local shell = ("cd %s && minisign -V -H -q -m plugins.manifest -p %s/k.pub"):format(folder, keys)
    assert(os.execute(shell))
    os.remove(folder .. SIGNATURE)
    assert(os.execute(("cd %s && minisign -S -H -s %s/k.key -m plugins.manifest -t 'by the tool' >/dev/null"):format(folder, keys)))
    assert(verify(folder, trust))
    -- The old kind of signature is not taken.
    os.remove(folder .. SIGNATURE)
    assert(os.execute(("cd %s && minisign -S -l -s %s/k.key -m plugins.manifest >/dev/null"):format(folder, keys)))
    local _, why = verify(folder, trust)
    assert.matches("not prehashed", why)
    -- Keys that the tool makes are ours as well.
    assert(os.execute(("cd %s && minisign -G -W -p t.pub -s t.key >/dev/null"):format(keys)))
    local secret, public = assert(moonplan.keys.secret(keys .. "/t.key")), assert(moonplan.keys.public(keys .. "/t.pub"))
    assert.equal(public.text, secret.public.text)
  end)

  it("with a flipped bit anywhere is refused", function()
    local folder = signed()
    assert(verify(folder, trust))
    local tried, accepted = 0, 0
    local function flip(path, from, to)
      local text = files.read(path)
      for at = from or 1, to or #text do
        for bit = 0, 7 do
          command.write(path, text:sub(1, at - 1) .. string.char(text:byte(at) ~ (1 << bit)) .. text:sub(at + 1))
          tried = tried + 1
          local fine, engine = pcall(engine_of, folder, { trust = trust })
          -- A damaged key is no trust store any more.
          if fine and engine:verify_plugins() then accepted = accepted + 1 end
        end
      end
      command.write(path, text)
    end
    flip(folder .. MANIFEST)
    local text = files.read(folder .. SIGNATURE)
    -- Nobody signs the first line; the end of the last one may be missing.
    flip(folder .. SIGNATURE, text:find "\n" + 1, #text - 1)
    text = files.read(trust .. "/alice.pub")
    flip(trust .. "/alice.pub", text:find "\n" + 1, #text - 1)
    for _, name in ipairs { "/a.lua", "/b/init.lua", "/b/part.lua" } do flip(folder .. name) end
    assert.equal(0, accepted)
    assert(tried > 7000)
    assert(verify(folder, trust))
  end)

  it("with a file changed, missing, or one more is refused", function()
    local cases = {
      { function(folder) command.write(folder .. "/a.lua", source("a", "return 9")) end, "changed" },
      { function(folder) command.write(folder .. "/b/part.lua", "return 3") end, '"b/part.lua" is not what was signed' },
      { function(folder) os.execute("chmod 666 " .. folder .. "/b/part.lua") end, '"b/part.lua" can be changed by others' },
      { function(folder) os.remove(folder .. "/b/part.lua") end, "missing" },
      { function(folder) os.remove(folder .. "/a.lua") end, "missing" },
      { function(folder) command.write(folder .. "/c.lua", source("c", "return 1")) end, '"c.lua" is not in' },
      { function(folder) command.write(folder .. "/b/more.lua", "return 1") end, '"b/more.lua" is not in' },
      { function(folder) command.write(folder .. "/notes.txt", "") end, '"notes.txt" is not in' },
      { function(folder) os.execute("ln -s a.lua " .. folder .. "/l") end, '"l" is not in' },
      { function(folder) os.execute(("mkdir %s/d && mkfifo %s/d/pipe"):format(folder, folder)) end, '"d/pipe" is not in' },
      { function(folder) os.execute(("cd %s && mv a.lua z && ln -s z a.lua"):format(folder)) end, '"z" is not in' },
      { function(folder) os.remove(folder .. SIGNATURE) end, "without plugins.manifest.minisig" },
      { function(folder) os.remove(folder .. MANIFEST) end, "without plugins.manifest" },
    }
    for n, case in ipairs(cases) do
      local folder = signed()
      case[1](folder)
      local row, why = verify(folder, trust)
      assert.is_nil(row, n)
      assert(why:find(case[2], 1, true), why)
      -- Nor does a plan get at any of it, whichever it names.
      assert(refusal(folder, trust, "a"), n)
      assert(refusal(folder, trust, "b.x"), n)
    end
  end)

  it("takes no file that came once it had been looked at", function()
    local folder = signed()
    local engine = engine_of(folder, { trust = trust })
    assert.equal(1, result(engine, "a"))
    command.write(folder .. "/c.lua", source("c", "return 1"))
    local job, err = plugin_files.call(engine, "c")
    assert.is_nil(job)
    assert.matches('"c.lua" is not in the signed', err.message)
  end)

  -- The key itself signs these, so that nothing but the manifest is wrong.
  it("with a manifest of another form is refused", function()
    local folder = signed()
    local good = files.read(folder .. MANIFEST)
    local digest = hash ""
    local function refused(text, why)
      command.write(folder .. MANIFEST, text)
      command.write(folder .. SIGNATURE, assert(key:sign(text)))
      local row, message = verify(folder, trust)
      assert.is_nil(row, text)
      assert(message:find(why, 1, true), message)
    end
    refused("", "names no file")
    refused("moonplan plugins 1\n", "names no file")
    refused("moonplan plugins 2\n" .. good:match "\n(.*)", "begins with")
    refused(good:gsub("\n", "\r\n"), "begins with")
    refused(good:sub(1, -2), "without the end of a line")
    refused(good .. "\n", "says nothing there")
    refused(good .. "note x\n", "says nothing there")
    refused(good:gsub("file a.lua (%d+)", "file a.lua 0%1"), "a size")
    refused(good:gsub("file a.lua %d+", "file a.lua -1"), "a size")
    refused(good:gsub("file a.lua %d+", "file a.lua 9999999999999999999999"), "a size")
    refused(good:gsub("(file a.lua %d+ )(%x+)", function(a, b) return a .. b:upper() end), "64 digits")
    refused(good:gsub("(file a.lua %d+ )(%x+)", function(a, b) return a .. b:sub(2) end), "64 digits")
    refused(good:gsub("(file a.lua [^\n]*)", "%1 more"), "64 digits")
    for path, why in pairs {
      ["../a.lua"] = "begins with a dot", ["b/../a.lua"] = "begins with a dot", ["./a.lua"] = "begins with a dot",
      [".a"] = "begins with a dot", ["/a.lua"] = "empty name", ["b//a.lua"] = "empty name", ["b/"] = "empty name",
      [""] = "empty name", ["a\\b.lua"] = "other characters", ["a\0.lua"] = "other characters",
      ["\xc3\xa9.lua"] = "other characters", ["a/b/c/d/e/f/g/h/i.lua"] = "deeper", [("a"):rep(256)] = "longer",
    } do
      refused(("moonplan plugins 1\nfile %s 0 %s\n"):format(path, digest), why)
    end
    local function named(...)
      local lines = { "moonplan plugins 1" }
      for _, path in ipairs { ... } do lines[#lines + 1] = ("file %s 0 %s"):format(path, digest) end
      return table.concat(lines, "\n") .. "\n"
    end
    refused(named("A.lua", "a.lua"), "some systems take for one")
    refused(named("a.lua", "a.lua"), "some systems take for one")
    refused(named("B/x.lua", "b/X.lua"), "some systems take for one")
    refused(named("b.lua", "a.lua"), "not sorted")
    local many = {}
    for n = 1, 65 do many[n] = ("f%02d.lua"):format(n) end
    refused(named(table.unpack(many)), "more than 64 files")
    refused(named "a.lua" .. "item a 1.0.0 c.lua\n", "does not name")
    refused(named "a.lua" .. "item a 1.0.0\n", "does not name")
    refused(named "a.lua" .. "item b 1 a.lua\nitem a 1 a.lua\n", "not sorted")
    refused(named "a.lua" .. "item a 1 a.lua\nitem a 2 a.lua\n", "not sorted")
    refused(named "a.lua" .. ("item a 1 a.lua\nfile b.lua 0 %s\n"):format(digest), "says nothing there")
    refused(named "a.lua" .. ("item a%s 1 a.lua\n"):format(("x"):rep(65536)), "larger than what may be read")
  end)

  it("of 65 files, or with names that no manifest can hold, is not signed", function()
    local sources = { ["a.lua"] = source("a", "return 1") }
    for n = 1, 63 do sources[("f%d.txt"):format(n)] = "" end
    local folder = plugin_files.folder(sources)
    sign(folder, key)
    assert(verify(folder, trust))
    command.write(folder .. "/f64.txt", "")
    local done, err = engine_of(folder):sign_plugins(key)
    assert.is_nil(done)
    assert.matches("more than 64 files", err.message)
    for _, name in ipairs { "with space.txt", "\xc3\xa9.txt", "A.lua" } do
      folder = plugin_files.folder { ["a.lua"] = source("a", "return 1"), [name] = "" }
      done, err = engine_of(folder):sign_plugins(key)
      assert.is_nil(done, name)
      assert(err.code == "plugin.signature" or err.code == "plugin.manifest", err.code)
      assert.is_nil(io.open(folder .. MANIFEST))
    end
  end)

  it("with a plugin that is broken is not signed", function()
    local folder = plugin_files.folder { ["a.lua"] = source("a", "return 1"), ["b.lua"] = "return 1 +" }
    local done, err = engine_of(folder):sign_plugins(key)
    assert.is_nil(done)
    assert.equal("plugin.load", err.code)
    assert.is_nil(io.open(folder .. MANIFEST))
  end)

  it("takes no signature of another folder, of another key, or of another file", function()
    local folder, other = signed(), signed { ["a.lua"] = source("a", "return 5") }
    os.execute(("cp %s%s %s%s"):format(other, SIGNATURE, folder, SIGNATURE))
    local _, why = verify(folder, trust)
    assert.matches("not of these bytes", why)
    local stranger = moonplan.keys.new()
    folder = signed()
    sign(folder, stranger)
    _, why = verify(folder, trust)
    assert.matches("signed by the key " .. stranger.id .. ", which is not trusted here", why)
    assert.matches("not trusted", (refusal(folder, trust, "a")))
    -- A plugin of one signed folder in the place of another's.
    folder = signed()
    os.execute(("cp %s/a.lua %s/a.lua"):format(other, folder))
    assert.matches("changed", (refusal(folder, trust, "a")))
  end)

  it("says which items its files bring", function()
    local folder = signed()
    local text = files.read(folder .. MANIFEST):gsub("item a 1.0.0", "item a 9.0.0")
    command.write(folder .. MANIFEST, text)
    command.write(folder .. SIGNATURE, assert(key:sign(text)))
    assert.matches('brings "a" "1.0.0", which the signed', (refusal(folder, trust, "a")))
    assert.is_nil(refusal(folder, trust, "b.x"))
    -- And none that they do not bring.
    for line, why in pairs {
      ["item b.ghost 1.0.0 b/init.lua"] = 'it does not bring "b.ghost", which the signed plugins.manifest says of it',
      ["item b.ghost 1.0.0 b/part.lua"] = '"b.ghost" in "b/part.lua", which is no plugin\'s main file',
    } do
      text = text:gsub("item a 9.0.0", "item a 1.0.0"):gsub("item b.ghost[^\n]*\n", ""):gsub("item b.x", line .. "\n%0")
      command.write(folder .. MANIFEST, text)
      command.write(folder .. SIGNATURE, assert(key:sign(text)))
      assert.matches(why, (refusal(folder, trust, "b.x")), 1, true)
    end
  end)

  it("is nobody's without a trust store", function()
    local folder = signed()
    local engine = engine_of(folder)
    assert.equal("unsigned", engine:describe("a").decision)
    assert.has_error(function() engine:verify_plugins() end, "the engine was made without the option trust")
    command.write(folder .. SIGNATURE, "nonsense")
    assert.equal(1, result(engine_of(folder), "a"))
  end)

  -- Whatever the manifest says: an answer, and nothing else.
  it("survives any manifest that its key has signed", function()
    local folder = signed()
    local good = files.read(folder .. MANIFEST)
    local seed = 7
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 0x80000000
      return seed // 65536 % n + 1
    end
    local refusals = 0
    for _ = 1, 1500 do
      local bytes = { good:byte(1, -1) }
      for _ = 1, random(3) do
        local at, what = random(#bytes), random(4)
        if what == 1 then bytes[at] = random(256) - 1
        elseif what == 2 then table.remove(bytes, at)
        elseif what == 3 then table.insert(bytes, at, bytes[random(#bytes)])
        else bytes[at] = bytes[random(#bytes)] end
      end
      local text = string.char(table.unpack(bytes))
      command.write(folder .. MANIFEST, text)
      command.write(folder .. SIGNATURE, assert(key:sign(text)))
      local row = verify(folder, trust)
      if row then
        -- What is left then are names and versions of items.
        assert.equal(good:match "^(.-)item", text:match "^(.-)item")
      else
        refusals = refusals + 1
      end
    end
    assert(refusals > 1000)
  end)
end)

describe("a trust store", function()
  local key, folder
  before_each(function()
    key = moonplan.keys.new()
    folder = plugin_files.folder { ["orders.lua"] = source("orders.list", "return 1"), ["text2.lua"] = source("text2", "return 2") }
    sign(folder, key)
  end)
  after_each(command.clean)

  local function alice(entry) return store({ alice = key }, { keys = { alice = entry } }) end

  it("says which names a key may sign", function()
    local trust = alice { signs = { "orders" } }
    -- All of a folder, or nothing of it.
    assert.matches('the key alice may not sign "text2"', (refusal(folder, trust, "orders.list")))
    assert.matches('the key alice may not sign "text2"', (refusal(folder, trust, "text2")))
    assert.is_nil(refusal(folder, alice { signs = { "orders", "text2" } }, "orders.list"))
    -- But for what is pinned, which needs no key.
    trust = store({ alice = key }, { keys = { alice = { signs = { "orders" } } },
      pins = { { name = "text2", digest = hash(files.read(folder .. "/text2.lua")) } } })
    assert.is_nil(refusal(folder, trust, "orders.list"))
    assert.is_nil(refusal(folder, trust, "text2"))
    trust = alice { signs = { "orders" } }
    local _, why = verify(folder, trust)
    assert.matches('the key alice may not sign "text2"', why)
    assert(verify(folder, alice { signs = { "orders", "text2" } }))
    -- NAME and NAME.something, not NAMEsomething.
    assert(refusal(folder, alice { signs = { "order" } }, "orders.list"))
    assert(refusal(folder, alice { signs = { "orders.list" } }, "orders.list"))
    assert(refusal(folder, store({ alice = key }, '{"keys":{"alice":{"signs":[]}}}'), "orders.list"))
  end)

  it("says what isolation a key earns", function()
    for isolation, entry in pairs { process = {}, state = { isolation = "state" } } do
      local row = assert(verify(folder, alice(entry)))
      assert.equal(isolation, row.isolation)
    end
    local engine = assert(moonplan.engine { plugins = folder, shipped = false, trust = alice { isolation = "state" } })
    assert.equal("state", engine:describe("text2").isolation)
    assert.equal(2, result(engine, "text2"))
  end)

  it("revokes keys", function()
    local trust = alice { revoked = true }
    assert.matches("the key alice has been revoked", (refusal(folder, trust, "text2")))
    assert.is_nil((verify(folder, trust)))
    -- One of another spelling would revoke nothing.
    for _, name in ipairs { "Alice", "alice.pub", "bob" } do
      local _, err = moonplan.engine { shipped = false, trust = store({ alice = key }, { keys = { [name] = { revoked = true } } }) }
      assert.equal("plugin.trust", err.code)
      assert.equal(('trust.json describes the key "%s", but there is no file %s.pub; there are: alice'):format(name, name), err.message)
    end
    local _, err = moonplan.engine { shipped = false, trust = store({}, { keys = { bob = { revoked = true } } }) }
    assert.matches("there is no file bob.pub, nor any other$", err.message)
  end)

  it("lets keys expire, by the host's clock", function()
    local trust = alice { expires = "2026-06-01T00:00:00Z" }
    -- 2026-06-01T00:00:00Z, from `date -u +%s`.
    local last = 1780272000000
    local function at(time) return { clock = function() return time end } end
    assert.is_nil(refusal(folder, trust, "text2", at(last - 1)))
    assert.matches("the key alice has expired", (refusal(folder, trust, "text2", at(last))))
    assert.is_nil((verify(folder, trust, at(last))))
    local engine = engine_of(folder, { trust = trust, clock = function() return last end })
    assert(not plugin_files.call(engine, "text2"))
    -- Whoever loads it first.
    local function expired(err) assert.matches("the key alice has expired", err.message) end
    local function settings(more)
      local all = { plugins = { folder }, shipped = false, trust = trust, clock = function() return last end }
      for name, value in pairs(more) do all[name] = value end
      return all
    end
    for _, more in ipairs { { strict = true }, { authorizer = "text2" } } do
      local made, err = moonplan.engine(settings(more))
      assert.is_nil(made)
      expired(err)
    end
    for _, first in ipairs {
      function(made) return made:test "text2" end,
      function(made) return made:build("text2", {}) end,
      function(made) return made:send(plans.of { plans.step(1) }, { executor = "text2" }) end,
      function(made) return made:describe "text2" end,
    } do
      engine = assert(moonplan.engine(settings {}))
      local done, err = first(engine)
      assert.is_nil(done)
      expired(err)
      engine:close()
    end
  end)

  it("refuses what is older than what has been here", function()
    local trust = store { alice = key }
    local function with(version)
      local made = plugin_files.folder { ["orders.lua"] = versioned("orders.list", version, "return 1") }
      sign(made, key)
      return made
    end
    assert.is_nil(refusal(with "1.2.0", trust, "orders.list"))
    assert.equal('{"orders.list":"1.2.0"}', files.read(trust .. "/seen.json"))
    assert.matches("orders.list 1.1.9 is older than 1.2.0", (refusal(with "1.1.9", trust, "orders.list")))
    assert.matches("older", select(2, verify(with "1.2.0-rc.1", trust)))
    assert.is_nil(refusal(with "1.2.0", trust, "orders.list"))
    assert.is_nil(refusal(with "1.2", trust, "orders.list"))
    assert.is_nil(refusal(with "1.10.0", trust, "orders.list"))
    assert.equal('{"orders.list":"1.10.0"}', files.read(trust .. "/seen.json"))
    assert(refusal(with "1.9.0", trust, "orders.list"))
    -- To verify is not to see.
    assert(verify(with "3.0.0", trust))
    assert.equal('{"orders.list":"1.10.0"}', files.read(trust .. "/seen.json"))
    -- Within one engine, too: nothing older comes with a reload.
    local made = with "2.0.0"
    local engine = engine_of(made, { trust = trust })
    assert.equal(1, result(engine, "orders.list"))
    command.write(made .. "/orders.lua", versioned("orders.list", "1.10.0", "return 'old'"))
    sign(made, key)
    local done, err = engine:reload()
    assert.is_nil(done)
    assert.matches("older", err.message)
    assert.equal(1, result(engine, "orders.list"))
  end)

  it("refuses without a signature what has been here with one", function()
    local trust = store { alice = key }
    assert.is_nil(refusal(folder, trust, "orders.list"))
    os.remove(folder .. MANIFEST)
    os.remove(folder .. SIGNATURE)
    assert.matches('nobody has signed it, and "orders.list" has been here signed, as 1.0.0', (refusal(folder, trust, "orders.list")))
    -- Whatever file brings it, at whatever version; but not what nobody has seen.
    local other = plugin_files.folder {
      ["orders/init.lua"] = versioned("orders.list", "9.0.0", "return 9"), ["new.lua"] = source("new", "return 3"),
    }
    assert.matches("has been here signed", (refusal(other, trust, "orders.list")))
    assert.is_nil(refusal(other, trust, "new"))
    assert.is_nil(refusal(folder, trust, "text2"))
    -- A pin names the very bytes.
    command.write(trust .. "/trust.json", ('{"pins":[{"name":"orders","digest":"%s"}]}'):format(hash(files.read(folder .. "/orders.lua"))))
    assert.is_nil(refusal(folder, trust, "orders.list"))
  end)

  it("orders versions as Semantic Versioning 2.0.0 does", function()
    -- Section 11 of it, with our own answer for what is no such version: text behind numbers.
    local rising = { "0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
      "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2", "1.10", "2.0.0", "2.1.0", "2.1.1", "18446744073709551616", "x" }
    local folders = {}
    local function folder_of(version)
      if not folders[version] then
        folders[version] = plugin_files.folder { ["v.lua"] = versioned("v", version, "return 1") }
        sign(folders[version], key)
      end
      return folders[version]
    end
    local trust = store { alice = key }
    for n, version in ipairs(rising) do
      assert.is_nil(refusal(folder_of(version), trust, "v"), version)
      if n > 1 then assert(refusal(folder_of(rising[n - 1]), trust, "v"), version) end
      assert.is_nil(refusal(folder_of(version), trust, "v"), version)
    end
    assert.is_nil(refusal(folder_of "x+build.5", trust, "v"))
    assert(refusal(folder_of "1.0.0+build.5", trust, "v"))
  end)

  it("that cannot be written to works, and remembers as long as the engine", function()
    local trust = store { alice = key }
    local engine = engine_of(folder, { trust = trust })
    local events = events_of(engine)
    -- A folder of that name keeps the file from being written, for root as well.
    os.execute(("mkdir -p %s/seen.json/x"):format(trust))
    assert.equal(2, result(engine, "text2"))
    assert.equal(1, #events)
    assert.matches("seen.json", events[1].data.reason)
    os.execute(("rm -r %s/seen.json"):format(trust))
    command.write(folder .. "/text2.lua", versioned("text2", "0.9.0", "return 'old'"))
    sign(folder, key)
    local done, err = engine:reload()
    assert.is_nil(done)
    assert.matches("text2 0.9.0 is older than 1.0.0", err.message)
  end)

  it("pins digests without a signature", function()
    local plain = plugin_files.folder { ["orders.lua"] = source("orders", "return 1") }
    local digest = hash(files.read(plain .. "/orders.lua"))
    local trust = store({}, { pins = { { name = "orders", digest = digest } } })
    local engine = assert(moonplan.engine { plugins = plain, shipped = false, trust = trust })
    local item = engine:describe "orders"
    assert.equal("pinned", item.decision)
    assert.equal("state", item.isolation)
    assert.equal(digest, item.digest)
    assert.equal(1, result(engine, "orders"))
    command.write(plain .. "/orders.lua", source("orders", "return 2"))
    local why, code = refusal(plain, trust, "orders")
    assert.equal("plan.unknown_capability", code)
    assert.matches('"orders" is pinned to another digest than ' .. hash(files.read(plain .. "/orders.lua")), why)
    trust = store({}, { pins = { { name = "orders", digest = digest },
      { name = "orders", digest = hash(files.read(plain .. "/orders.lua")), isolation = "process" } } })
    assert.equal("process", assert(moonplan.engine { plugins = plain, shipped = false, trust = trust }):describe("orders").isolation)
  end)

  it("pins a folder by the lines that a manifest has for it", function()
    local plain = plugin_files.folder { ["x/init.lua"] = source("x", "return plugin.import 'y'"), ["x/y.lua"] = "return 1" }
    local lines = {}
    for n, path in ipairs { "x/init.lua", "x/y.lua" } do
      local text = files.read(plain .. "/" .. path)
      lines[n] = ("file %s %d %s\n"):format(path, #text, hash(text))
    end
    local trust = store({}, { pins = { { name = "x", digest = hash(table.concat(lines)) } } })
    assert.is_nil(refusal(plain, trust, "x"))
    command.write(plain .. "/x/y.lua", "return 2")
    assert(refusal(plain, trust, "x"))
  end)

  it("may refuse what nobody has signed", function()
    local plain = plugin_files.folder { ["orders.lua"] = source("orders", "return 1") }
    assert.is_nil(refusal(plain, store { alice = key }, "orders"))
    assert.is_nil(refusal(plain, store({ alice = key }, { unsigned = "process" }), "orders"))
    local why = refusal(plain, store({ alice = key }, { unsigned = "refuse" }), "orders")
    assert.matches("nobody has signed it", why)
    assert.is_nil(refusal(folder, store({ alice = key }, { unsigned = "refuse" }), "text2"))
  end)

  it("is read again by a reload", function()
    local trust = store { alice = key }
    local engine = engine_of(folder, { trust = trust })
    assert.equal(2, result(engine, "text2"))
    command.write(trust .. "/trust.json", '{"keys":{"alice":{"revoked":true}}}')
    local done, err = engine:reload()
    assert.is_nil(done)
    assert.matches("revoked", err.message)
    command.write(trust .. "/trust.json", "{")
    done, err = engine:reload()
    assert.is_nil(done)
    assert.equal("plugin.trust", err.code)
    os.remove(trust .. "/trust.json")
    assert(engine:reload())
    assert.equal(2, result(engine, "text2"))
  end)

  describe("that lets a plugin in no more, at a reload", function()
    local trust, digest, engine, events
    before_each(function()
      trust = store { alice = key }
      digest = hash(files.read(folder .. "/text2.lua"))
    end)
    local function start(policy)
      if policy then command.write(trust .. "/trust.json", policy) end
      engine = engine_of(folder, { trust = trust })
      assert.equal(2, result(engine, "text2"))
      events = events_of(engine)
    end
    local function is_out(words)
      local job, err = plugin_files.call(engine, "text2")
      assert.is_nil(job)
      assert.equal("plan.unknown_capability", err.code)
      assert(err.message:find("plugin.signature", 1, true) and err.message:find(words, 1, true), err.message)
      assert.is_nil((engine:describe "text2"))
      local _, problems = engine:list()
      local listed
      for _, problem in ipairs(problems) do
        if problem.message:find("text2.lua: ", 1, true) == 1 then listed = problem.code end
      end
      assert.equal("plugin.signature", listed)
    end

    it("takes it out of use, until it does again", function()
      local ways = {
        { function() command.write(trust .. "/trust.json", '{"keys":{"alice":{"revoked":true}}}') end, "revoked" },
        { function() command.write(trust .. "/trust.json", '{"keys":{"alice":{"expires":"2020-01-01T00:00:00Z"}}}') end,
          "expired" },
        { function() command.write(trust .. "/trust.json", '{"keys":{"alice":{"signs":["other"]}}}') end, "may not sign" },
        { function() command.write(trust .. "/trust.json", ('{"pins":[{"name":"text2","digest":"%s"}]}'):format(("0"):rep(64))) end,
          "pinned to another digest" },
        { function() os.rename(trust .. "/alice.pub", trust .. "/alice") end, "not trusted here" },
      }
      for _, way in ipairs(ways) do
        start()
        way[1]()
        for _ = 1, 2 do -- and a second time it is no news, but no success either
          local done, err = engine:reload()
          assert.is_nil(done)
          assert.equal("plugin.signature", err.code)
          is_out(way[2])
        end
        assert.equal("plugin.refused", events[1].type)
        assert.equal("text2", events[1].data.name)
        os.remove(trust .. "/trust.json")
        os.rename(trust .. "/alice", trust .. "/alice.pub")
        assert(engine:reload())
        assert.equal(2, result(engine, "text2"))
      end
    end)

    it("takes it out even where something else fails first, and leaves the others", function()
      local plain = plugin_files.folder { ["a.lua"] = source("a", "return 1"), ["b.lua"] = source("b", "return 1") }
      engine = assert(moonplan.engine { plugins = { plain, folder }, shipped = false, isolation = "state", trust = trust })
      assert.equal(1, result(engine, "a"))
      assert.equal(1, result(engine, "b"))
      assert.equal(2, result(engine, "text2"))
      command.write(plain .. "/a.lua", "x = = 1")
      command.write(plain .. "/b.lua", source("b", "return 2"))
      command.write(trust .. "/trust.json", '{"keys":{"alice":{"revoked":true}}}')
      local done, err = engine:reload()
      assert.is_nil(done)
      assert.equal("plugin.signature", err.code)
      is_out "revoked"
      assert.equal(1, result(engine, "a"))
      assert.equal(1, result(engine, "b"))
      -- What is asked for now for the first time is judged by the store as it is now.
      assert.is_nil((plugin_files.call(engine, "orders.list")))
      -- A store that cannot be read judges nothing, and lets nothing in again.
      command.write(trust .. "/trust.json", "{")
      done, err = engine:reload()
      assert.is_nil(done)
      assert.equal("plugin.trust", err.code)
      is_out "revoked"
    end)

    it("that another key has signed since, and that a broken one beside it keeps out, does not serve on", function()
      local bob = moonplan.keys.new()
      command.write(trust .. "/bob.pub", bob.public.text)
      command.write(folder .. "/z.lua", source("z", "return 1"))
      sign(folder, key)
      start()
      assert.equal(1, result(engine, "z"))
      command.write(folder .. "/z.lua", "x = = 1")
      local manifest = files.read(folder .. MANIFEST)
      local before = hash(source("z", "return 1"))
      -- Bob signs the folder as it is, broken file and all.
      manifest = manifest:gsub("file z.lua %d+ " .. before, ("file z.lua 7 %s"):format(hash "x = = 1"))
      local made = command.folder()
      assert(bob:save(made .. "/bob"))
      command.write(folder .. MANIFEST, manifest)
      command.write(folder .. SIGNATURE, bob:sign(manifest, "bob's"))
      command.write(trust .. "/trust.json", '{"keys":{"alice":{"revoked":true}}}')
      local done, err = engine:reload()
      assert.is_nil(done)
      assert.equal("plugin.load", err.code)
      is_out "revoked"
      local told = {}
      for _, event in ipairs(events) do told[#told + 1] = event.type .. " " .. tostring(event.data.name) end
      assert(table.concat(told, ","):find("plugin.refused text2", 1, true), table.concat(told, ","))
    end)

    it("judges pins, what is unsigned, and the isolation that was earned, as well", function()
      os.remove(folder .. MANIFEST)
      os.remove(folder .. SIGNATURE)
      local pin = ('{"pins":[{"name":"text2","digest":"%s"}]%%s}'):format(digest)
      start(pin:format "")
      command.write(trust .. "/trust.json", pin:format ',"unsigned":"refuse"')
      assert(engine:reload())
      assert.equal(2, result(engine, "text2"))
      command.write(trust .. "/trust.json", '{"unsigned":"refuse"}')
      assert.is_nil((engine:reload()))
      is_out "nobody has signed it"
      os.remove(trust .. "/trust.json")
      start()
      command.write(trust .. "/trust.json", '{"unsigned":"refuse"}')
      assert.is_nil((engine:reload()))
      is_out "nobody has signed it"
      -- By origin, a pin earns `state`. Without it the file may still run, but not where it does.
      command.write(trust .. "/trust.json", pin:format "")
      engine = assert(moonplan.engine { plugins = folder, shipped = false, trust = trust })
      assert.equal(2, result(engine, "text2"))
      assert.equal(1, result(engine, "orders.list"))
      command.write(folder .. "/orders.lua", "x = = 1")
      os.remove(trust .. "/trust.json")
      assert.is_nil((engine:reload()))
      is_out "does not earn the isolation"
    end)

    it("leaves a job's step that comes next undone", function()
      start()
      engine = engine_of(folder, { trust = trust })
      assert(engine:capability { name = "turn", version = "1", risk = "read", run = function()
        command.write(trust .. "/trust.json", '{"keys":{"alice":{"revoked":true}}}')
        engine:reload()
        return 1
      end })
      local job = assert(engine:run { version = "1.0", steps = { { id = "a", capability = "text2" },
        { id = "b", capability = "turn" }, { id = "c", capability = "text2" } } })
      assert.equal("failed", job.status)
      assert.equal("job.capability_gone", job.error.code)
      assert.matches("revoked", job.error.message)
      assert.equal(2, job.steps[1].result)
    end)
  end)

  it("knows a key by more than its id", function()
    -- Another key under the same id, as anybody can make one: base64 of "Ed", the id and the key.
    local other = moonplan.keys.new()
    local mine, theirs = key.public.text:match "\n(%S+)", other.public.text:match "\n(%S+)"
    local trust = store {}
    local lines = files.lines_of(([=[python3 -c 'import base64,sys
a,b = [base64.b64decode(x) for x in sys.argv[1:]]
print(base64.b64encode(a[:10] + b[10:]).decode())' %s %s]=]):format(mine, theirs))
    command.write(trust .. "/mallory.pub", lines[1])
    assert.matches("not of these bytes", select(2, verify(folder, trust)))
    -- Beside the right one it changes nothing.
    command.write(trust .. "/alice.pub", key.public.text)
    assert.equal("alice", assert(verify(folder, trust)).signer)
  end)

  it("that says what it must not is none", function()
    local digest = ("0"):rep(64)
    local function refused(policy, why, more)
      local trust = store({ alice = key }, policy)
      for name, text in pairs(more or {}) do command.write(trust .. "/" .. name, text) end
      local engine, err = moonplan.engine { plugins = folder, shipped = false, trust = trust }
      assert.is_nil(engine, why)
      assert.equal("plugin.trust", err.code)
      assert(err.message:find(why, 1, true), err.message)
      assert.matches("^[%l\"]", err.message)
    end
    refused("", "trust.json, line 1, is no JSON")
    refused('{"keys":{},\n"keys":{}}', "trust.json, line 2, is no JSON")
    refused("[]", "by something else than an object")
    refused('{"key":{}}', 'has "key" in "trust.json"')
    refused('{"keys":[]}', "is no object")
    refused('{"keys":{"alice":1}}', 'describes "alice" by something else than an object')
    refused('{"keys":{"alice":{"revokd":true}}}', 'has "revokd" in "alice"')
    refused('{"keys":{"alice":{"revoked":1}}}', "revokes \"alice\" by something else than true")
    refused('{"keys":{"alice":{"expires":"tomorrow"}}}', "ends \"alice\" at no time")
    refused('{"keys":{"alice":{"expires":1}}}', "ends \"alice\" at no time")
    refused('{"keys":{"alice":{"isolation":"none"}}}', "another isolation")
    refused('{"keys":{"alice":{"signs":"orders"}}}', "no list of plugins' names")
    refused('{"keys":{"alice":{"signs":["*"]}}}', "no list of plugins' names")
    refused('{"keys":{"bob":{}}}', "there is no file bob.pub")
    refused('{"pins":{}}', "is no array")
    refused('{"pins":[{"name":"a"}]}', "no digest")
    refused(('{"pins":[{"name":"a","digest":"%s"}]}'):format(digest:sub(2)), "no digest")
    refused(('{"pins":[{"name":"a","digest":"%s"}]}'):format(digest:gsub("0", "A")), "no digest")
    refused(('{"pins":[{"digest":"%s"}]}'):format(digest), "without the name")
    refused(('{"pins":[{"name":"a","digest":"%s","isolation":1}]}'):format(digest), "another isolation")
    refused('{"unsigned":"allow"}', 'neither "process" nor "refuse"')
    refused(nil, "seen.json is damaged", { ["seen.json"] = '{"a":1}' })
    refused(nil, "seen.json is damaged", { ["seen.json"] = "[]" })
    refused(nil, "seen.json, line 1, is no JSON", { ["seen.json"] = "" })
    refused(nil, "bob.pub: this is no public key", { ["bob.pub"] = "nonsense" })
    refused(nil, "hold the same key", { ["bob.pub"] = key.public.text })
    refused(nil, "no name for a key", { ["a b.pub"] = key.public.text })
  end)

  it("takes nothing but regular files for its own, and passes none of its names over", function()
    local kinds = {
      { "mkdir %s", "is a folder" },
      { "mkfifo %s", "is no regular file" },
      { "ln -s /dev/null %s", "symbolic link" },
      { "ln -s nowhere %s", "symbolic link" },
    }
    for _, name in ipairs { "trust.json", "seen.json", "bob.pub" } do
      for _, kind in ipairs(kinds) do
        local trust = store { alice = key }
        assert(os.execute(kind[1]:format(trust .. "/" .. name)))
        local engine, err = moonplan.engine { shipped = false, trust = trust }
        assert.is_nil(engine, name .. ": " .. kind[2])
        assert.equal("file.unavailable", err.code)
        assert(err.message:find(('"%s"'):format(name), 1, true) and err.message:find(kind[2], 1, true), err.message)
      end
    end
    -- Other names are nobody's business.
    local trust = store { alice = key }
    assert(os.execute(("cd %s && mkdir old .bob.pub && mkfifo pipe && ln -s nowhere notes"):format(trust)))
    assert(moonplan.engine { shipped = false, trust = trust })
  end)

  it("that is not there, or open to others, is none", function()
    local engine, err = moonplan.engine { shipped = false, trust = "/nowhere/at/all" }
    assert.is_nil(engine)
    assert.equal("file.unavailable", err.code)
    local trust = store { alice = key }
    os.execute("chmod 777 " .. trust)
    engine, err = moonplan.engine { shipped = false, trust = trust }
    assert.is_nil(engine)
    assert.equal("file.unavailable", err.code)
    assert.matches("can be changed by others", err.message)
    os.execute(("chmod 755 %s && chmod 666 %s/alice.pub"):format(trust, trust))
    engine, err = moonplan.engine { shipped = false, trust = trust }
    assert.is_nil(engine)
    assert.matches("can be changed by others", err.message)
    assert.has_error(function() moonplan.engine { trust = 1 } end)
    -- Another user's, which only root can make here.
    os.execute("chmod 644 " .. trust .. "/alice.pub")
    assert(moonplan.engine { shipped = false, trust = trust })
    if not os.execute("chown 12345 " .. trust .. " 2>/dev/null") then return end
    engine, err = moonplan.engine { shipped = false, trust = trust }
    assert.is_nil(engine)
    assert.equal("file.unavailable", err.code)
    assert.matches("belongs to the user 12345", err.message)
    os.execute(("chown 0 %s && chown 12345 %s/alice.pub"):format(trust, trust))
    engine, err = moonplan.engine { shipped = false, trust = trust }
    assert.is_nil(engine)
    assert.matches("alice.pub", err.message)
    os.execute(("chown 0 %s/alice.pub"):format(trust))
    -- A link to it that another user could turn to a folder of keys of their own.
    local link = command.folder() .. "/link"
    assert(os.execute(("ln -s %s %s"):format(trust, link)))
    assert(moonplan.engine { shipped = false, trust = link })
    os.execute("chown -h 12345 " .. link)
    for _, options in ipairs { { trust = link }, { plugins = link } } do
      options.shipped = false
      engine, err = moonplan.engine(options)
      assert.is_nil(engine)
      assert.equal("file.unavailable", err.code)
      assert.matches("leads over a symbolic link that others", err.message)
    end
  end)
end)
