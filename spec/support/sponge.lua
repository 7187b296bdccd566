--- Keccak-f[1600] sponges of rate 136 in plain Lua, written from FIPS 202 (section 3.2 for the step
--- mappings, section 4 for the sponge): slow, and independent of the C code that it judges. With the
--- padding byte 0x06 it is NIST's SHA3-256, for which NIST publishes values; with 0x01 it is the
--- Keccak-256 that Ethereum uses. Only that byte differs.
local sponge = {}

local RATE = 136

-- FIPS 202, 3.2.5: the round constants come from a linear feedback shift register.
local function round_constants()
  local constants, register = {}, 1
  for round = 1, 24 do
    local constant = 0
    for j = 0, 6 do
      if register & 1 == 1 then constant = constant | 1 << ((1 << j) - 1) end
      register = register << 1
      if register & 0x100 ~= 0 then register = register ~ 0x171 end
    end
    constants[round] = constant
  end
  return constants
end

-- FIPS 202, 3.2.2: the offset of the t-th lane on the walk (x, y) -> (y, 2x + 3y) from (1, 0).
local function walk()
  local steps, x, y = {}, 1, 0
  for t = 0, 23 do
    steps[t + 1] = { lane = x + 5 * y, offset = (t + 1) * (t + 2) // 2 % 64 }
    x, y = y, (2 * x + 3 * y) % 5
  end
  return steps
end

local CONSTANTS, WALK = round_constants(), walk()

local function rotate(lane, n)
  if n == 0 then return lane end
  return lane << n | lane >> (64 - n)
end

local function permute(a)
  for round = 1, 24 do
    local c, d = {}, {}
    for x = 0, 4 do c[x] = a[x] ~ a[x + 5] ~ a[x + 10] ~ a[x + 15] ~ a[x + 20] end
    for x = 0, 4 do d[x] = c[(x + 4) % 5] ~ rotate(c[(x + 1) % 5], 1) end
    for i = 0, 24 do a[i] = a[i] ~ d[i % 5] end
    -- rho and pi: lane (x, y) goes to (y, 2x + 3y), which is where the walk stands next
    local b = { [0] = a[0] }
    for t = 1, 24 do
      local from = WALK[t].lane
      local x, y = from % 5, from // 5
      b[y + 5 * ((2 * x + 3 * y) % 5)] = rotate(a[from], WALK[t].offset)
    end
    for y = 0, 20, 5 do
      for x = 0, 4 do a[y + x] = b[y + x] ~ (~b[y + (x + 1) % 5] & b[y + (x + 2) % 5]) end
    end
    a[0] = a[0] ~ CONSTANTS[round]
  end
end

local function hash(bytes, padding)
  local short = RATE - #bytes % RATE
  local tail
  if short == 1 then
    tail = string.char(padding | 0x80)
  else
    tail = string.char(padding) .. string.rep("\0", short - 2) .. "\x80"
  end
  bytes = bytes .. tail
  local a = {}
  for i = 0, 24 do a[i] = 0 end
  for at = 1, #bytes, RATE do
    for i = 0, RATE // 8 - 1 do a[i] = a[i] ~ string.unpack("<i8", bytes, at + 8 * i) end
    permute(a)
  end
  local out = string.pack("<i8i8i8i8", a[0], a[1], a[2], a[3])
  return (out:gsub(".", function(byte) return string.format("%02x", byte:byte()) end))
end

--- 64 lower-case hexadecimal digits.
---@param bytes string
---@return string
function sponge.sha3_256(bytes) return hash(bytes, 0x06) end

--- 64 lower-case hexadecimal digits.
---@param bytes string
---@return string
function sponge.keccak_256(bytes) return hash(bytes, 0x01) end

return sponge
