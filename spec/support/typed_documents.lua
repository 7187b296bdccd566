--- Random typed data, the same for the same seed: structs that lead to each other, arrays of one and
--- several dimensions, every basic type, values at the ends of their ranges.
local typed_documents = {}

local random = math.random

local function choice(list) return list[random(#list)] end

-- Canonical decimals around a power of two, by adding it up digit by digit.
local function power(bits, change)
  local digits = { 1 } -- the least significant first
  for _ = 1, bits do
    local carry = 0
    for i = 1, #digits do
      carry = carry + digits[i] * 2
      digits[i], carry = carry % 10, carry // 10
    end
    if carry > 0 then digits[#digits + 1] = carry end
  end
  local text = {}
  for i = #digits, 1, -1 do text[#text + 1] = digits[i] end
  if change == -1 then
    -- no power of two from 2^1 on ends in 0
    if bits == 0 then return "0" end
    text[#text] = text[#text] - 1
  end
  return table.concat(text)
end

local function hex(count)
  local digits = {}
  for i = 1, count * 2 do
    local digit = ("%x"):format(random(0, 15))
    digits[i] = random(2) == 1 and digit:upper() or digit
  end
  return '"0x' .. table.concat(digits) .. '"'
end

local STRINGS = { "", "x", "two words", "0xABCD", "caf\u{e9}", "cafe\u{301}", "\u{1f600}", "\u{202e}",
  "\\u0000", "\\n\\\"\\\\", "\\ud83d\\ude00", "\u{ffff}", ("long "):rep(60) }

local function scalar(type)
  if type == "bool" then return random(2) == 1 and "true" or "false" end
  if type == "string" then return '"' .. choice(STRINGS) .. '"' end
  -- ethers and viem take letters of both cases for a checksum
  if type == "address" then return hex(20):lower() end
  if type == "bytes" then return hex(random(0, 3) == 0 and random(130, 140) or random(0, 40)) end
  local width = type:match("^bytes(%d+)$")
  if width then return hex(math.tointeger(width)) end
  local sign, bits = type:match("^(u?int)(%d+)$")
  bits = math.tointeger(bits)
  if sign == "uint" then
    return ('"%s"'):format(choice { "0", "1", power(bits, -1), power(random(0, bits - 1)) })
  end
  return ('"%s"'):format(choice { "0", "1", "-1", power(bits - 1, -1), "-" .. power(bits - 1),
    power(random(0, bits - 2)), "-" .. power(random(0, bits - 2)) })
end

local function basic()
  return choice { "bool", "string", "address", "bytes", "bytes" .. random(32), "uint256", "int256",
    "uint" .. random(32) * 8, "int" .. random(32) * 8 }
end

local function dimensions()
  local text = ""
  for _ = 1, 3 do
    if random(3) > 1 then break end
    text = text .. (random(2) == 1 and "[]" or ("[%d]"):format(random(3)))
  end
  return text
end

local function shuffled(list)
  for i = #list, 2, -1 do
    local j = random(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

local value

local function object(structs, name, left)
  local pieces = {}
  for i, member in ipairs(structs[name]) do
    pieces[i] = ('"%s":%s'):format(member[1], value(structs, member[2], left - 1))
  end
  return "{" .. table.concat(shuffled(pieces), ",") .. "}"
end

function value(structs, type, left)
  local element, length = type:match("^(.*)%[(%d*)%]$")
  if not element then return structs[type] and object(structs, type, left) or scalar(type) end
  length = math.tointeger(length) or (left > 0 and random(0, 3) or 0)
  local pieces = {}
  for i = 1, length do pieces[i] = value(structs, element, left - 1) end
  return "[" .. table.concat(pieces, ",") .. "]"
end

local NAMES = { "Order", "order", "Item", "Z", "a", "_", "Permit2", "aB", "A_", "Aa", "Item2", "ItemX" }

local FIELDS = {
  { "name", "string" }, { "version", "string" }, { "chainId", "uint256" },
  { "verifyingContract", "address" }, { "salt", "bytes32" },
}

local function declaration(name, members)
  local pieces = {}
  for i, member in ipairs(members) do
    pieces[i] = ('{"type":"%s","name":"%s"}'):format(member[2], member[1])
  end
  return ('"%s":[%s]'):format(name, table.concat(pieces, ","))
end

--- One typed_data member. A recursive one has a struct that leads to itself, which ethers refuses.
---@return string text, boolean recursive
function typed_documents.make()
  local names, structs, fields = {}, {}, {}
  for i, name in ipairs(shuffled { table.unpack(NAMES) }) do
    if i <= random(6) then names[#names + 1] = name end
  end
  if #names == 0 then names[1] = "Order" end
  for _, name in ipairs(names) do
    structs[name] = {}
    -- 16 words and the type's hash are four blocks of Keccak-256 exactly: one signer dropped such a
    -- struct in an array (github.com/LedgerHQ/app-ethereum/pull/1060)
    for i = 1, random(6) == 1 and random(15, 17) or random(0, 5) do structs[name][i] = { "m" .. i, basic() .. dimensions() } end
  end
  -- each struct is a member of one before it, so that the first leads to all
  for i = 2, #names do
    local holder = structs[names[random(i - 1)]]
    holder[#holder + 1] = { "s" .. i, names[i] .. dimensions() }
  end
  local recursive = random(8) == 1
  if recursive then
    local from = random(#names)
    local holder = structs[names[from]]
    holder[#holder + 1] = { "r", names[random(from)] .. "[]" }
  end
  for _, members in pairs(structs) do shuffled(members) end
  for _, field in ipairs(FIELDS) do
    if random(2) == 1 then fields[#fields + 1] = field end
  end
  if #fields == 0 then fields[1] = FIELDS[random(5)] end
  local types = { declaration("EIP712Domain", fields) }
  for _, name in ipairs(names) do types[#types + 1] = declaration(name, structs[name]) end
  return table.concat(shuffled {
    ('"types":{%s}'):format(table.concat(shuffled(types), ",")),
    ('"primaryType":"%s"'):format(names[1]),
    ('"domain":%s'):format(object({ D = fields }, "D", 1)),
    ('"message":%s'):format(object(structs, names[1], 6)),
  }, ","):gsub("^(.*)$", "{%1}"), recursive
end

return typed_documents
