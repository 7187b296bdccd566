-- The client of JSON-RPC 2.0: what it sends is what the specification (jsonrpc.org/specification)
-- shows, and what an endpoint answers is a response to it, or an error.
local cjson = require "cjson"
local jsonrpc = require "lua.moonplan.jsonrpc"
local moonplan = require "moonplan"

describe("a JSON-RPC request", function()
  it("is version, id, method and params", function()
    -- Section 7, Examples: "rpc call with positional parameters", "with named parameters".
    assert.same({ jsonrpc = "2.0", method = "subtract", params = { 42, 23 }, id = 1 },
      cjson.decode(jsonrpc.request(1, "subtract", { 42, 23 })))
    assert.same({ jsonrpc = "2.0", method = "subtract", params = { subtrahend = 23, minuend = 42 }, id = 3 },
      cjson.decode(jsonrpc.request(3, "subtract", { subtrahend = 23, minuend = 42 })))
  end)

  it("has a list of params also where there are none", function()
    for _, params in ipairs { false, {}, moonplan.array {} } do
      assert.equal('{"id":7,"jsonrpc":"2.0","method":"eth_chainId","params":[]}',
        jsonrpc.request(7, "eth_chainId", params or nil))
    end
    assert.matches('"params":%[%[%],{}%]', jsonrpc.request(1, "m", { moonplan.array {}, {} }))
  end)

  it("carries numbers as they are", function()
    local text = jsonrpc.request(1, "m", { 9007199254740993, math.mininteger, 1.0, 0.1 })
    assert.truthy(text:find('"params":[9007199254740993,-9223372036854775808,1.0,0.1]', 1, true))
  end)

  it("is refused where it would be none", function()
    for _, case in ipairs { { nil, nil }, { "", nil }, { 1, nil }, { {}, nil }, { "m", "x" }, { "m", 1 }, { "m", true },
      { "m", { print } }, { "m", { 0 / 0 } }, { "m", { "\xff" } }, { "m", { [1] = 1, [3] = 2 } }, { "m", { 1, a = 2 } } } do
      local text, err = jsonrpc.request(1, case[1], case[2])
      assert.is_nil(text)
      assert.equal("rpc.request", err.code)
      assert.is_false(err.sent)
      assert.matches("^[%l\"].*[^.]$", err.message)
    end
  end)
end)

describe("a JSON-RPC response", function()
  local function read(text) return jsonrpc.response(text, 1) end

  it("gives its result, whatever that is", function()
    for text, wanted in pairs { ['"0x1"'] = "0x1", ["7"] = 7, ["[]"] = {}, ['{"a":[1]}'] = { a = { 1 } }, ["false"] = false,
      ["9007199254740993"] = 9007199254740993 } do
      local result, err = read('{"jsonrpc":"2.0","result":' .. text .. ',"id":1}')
      assert.is_nil(err)
      assert.same(wanted, result)
    end
    assert.equal(moonplan.null, (read '{"jsonrpc":"2.0","result":null,"id":1}'))
    assert.equal(1, (read '{"jsonrpc":"2.0","result":1,"id":1,"extension":{}}'))
  end)

  it("gives the endpoint's error as it is, and a line about it", function()
    -- Section 7: "rpc call of non-existent method", "with invalid JSON" (there the id is null).
    local result, err = read '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}'
    assert.is_nil(result)
    assert.same({ "rpc.error", "Method not found (-32601)", true, { code = -32601, message = "Method not found" } },
      { err.code, err.message, err.sent, err.error })
    err = select(2, read '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}')
    assert.equal(-32700, err.error.code)
    err = select(2, read '{"jsonrpc":"2.0","error":{"code":3,"message":"execution reverted","data":"0x08c379a0"},"id":1}')
    assert.equal("0x08c379a0", err.error.data)
    local long = ("é"):rep(300)
    err = select(2, read('{"jsonrpc":"2.0","error":{"code":1,"message":"a\\u001b[2J\\nb' .. long .. '"},"id":1}'))
    assert.not_matches("%c", err.message)
    assert(#err.message < 230 and utf8.len(err.message))
    assert.matches("…", err.message)
  end)

  it("is refused when it is none, and not one to the request", function()
    local deep = ('{"jsonrpc":"2.0","id":1,"result":%s1%s}'):format(("["):rep(200), ("]"):rep(200))
    for _, text in ipairs {
      "", "x", "null", "1", '"x"', "[]", "{}", "true", '[{"jsonrpc":"2.0","result":1,"id":1}]',
      '{"jsonrpc":"2.0","result":1,"id":1} ,', '{"jsonrpc":"2.0","result":1,"id":1,"id":1}',
      '\xef\xbb\xbf{"jsonrpc":"2.0","result":1,"id":1}', '{"jsonrpc":"2.0","result":"\xff","id":1}',
      '{"result":1,"id":1}', '{"jsonrpc":2.0,"result":1,"id":1}', '{"jsonrpc":"1.0","result":1,"id":1}',
        '{"jsonrpc":"2.0 ","result":1,"id":1}',
      '{"jsonrpc":"2.0","result":1}', '{"jsonrpc":"2.0","result":1,"id":null}', '{"jsonrpc":"2.0","result":1,"id":2}',
      '{"jsonrpc":"2.0","result":1,"id":"1"}', '{"jsonrpc":"2.0","result":1,"id":1.0}', '{"jsonrpc":"2.0","result":1,"id":[1]}',
      '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"2.0","result":1,"error":null,"id":1}',
      '{"jsonrpc":"2.0","result":1,"error":{"code":1,"message":"x"},"id":1}', '{"jsonrpc":"2.0","error":null,"id":1}',
      '{"jsonrpc":"2.0","error":"x","id":1}', '{"jsonrpc":"2.0","error":[],"id":1}', '{"jsonrpc":"2.0","error":{},"id":1}',
      '{"jsonrpc":"2.0","error":{"code":"1","message":"x"},"id":1}', '{"jsonrpc":"2.0","error":{"code":1.0,"message":"x"},"id":1}',
      '{"jsonrpc":"2.0","error":{"code":1},"id":1}', '{"jsonrpc":"2.0","error":{"code":1,"message":1},"id":1}',
      '{"jsonrpc":"2.0","error":{"code":1,"message":"x"},"id":2}', '{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}',
      -- Not rounded: a number that Lua cannot hold.
      '{"jsonrpc":"2.0","result":9223372036854775808,"id":1}', '{"jsonrpc":"2.0","result":1e999,"id":1}', deep,
    } do
      local result, err = read(text)
      assert.is_nil(result, text)
      assert.equal("rpc.response", err.code, text)
      assert.is_true(err.sent)
      assert.matches("^[%l\"].*[^.]$", err.message)
    end
  end)
end)

describe("a JSON-RPC client", function()
  it("counts its requests, and takes the answer to each", function()
    local ids = {}
    local client = jsonrpc.client(function(endpoint, text)
      local request = cjson.decode(text)
      ids[#ids + 1] = request.id
      assert.equal("main", endpoint)
      return moonplan.json.encode { jsonrpc = "2.0", id = math.tointeger(request.id), result = request.method }
    end)
    assert.equal("a", (client.call("main", "a")))
    assert.equal("b", (client.call("main", "b")))
    assert(ids[1] ~= ids[2])
  end)

  it("says of every failure whether the request may have arrived", function()
    for code, sent in pairs { ["rpc.endpoint"] = false, ["rpc.unavailable"] = false, ["rpc.interrupted"] = true, limit = true,
      memory = true } do
      local client = jsonrpc.client(function() return nil, { code = code, message = "x" } end)
      local result, err = client.call("main", "m")
      assert.is_nil(result)
      assert.equal(code, err.code)
      assert.equal(sent, err.sent)
    end
    local asked = false
    local client = jsonrpc.client(function() asked = true end)
    assert.is_false(select(2, client.call("main", "")).sent)
    assert.is_false(asked)
  end)
end)
