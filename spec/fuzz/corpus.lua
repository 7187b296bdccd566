-- Documents for a fuzzer to begin with: lua5.4 spec/fuzz/corpus.lua FOLDER, from the top.
local call_cases = require "spec.support.call_cases"
local files = require "spec.support.files"

local folder = assert(arg[1], "where to?")

local function write(name, bytes)
  -- The fuzzers take their options from the first byte.
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  file:write("0", bytes)
  file:close()
end

write("golden", files.read("examples/golden.json"))
for n, case in ipairs(call_cases.load()) do
  local text = case.build()
  if #text < 16384 then write("case-" .. n, text) end
end
