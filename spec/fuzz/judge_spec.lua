-- Plans with something wrong in them, read and judged by others as well: judge.py says by whom. Some
-- seconds here; with MOONPLAN_SOAK set to a number of seconds, for so long and from another seed.
-- MOONPLAN_SEED repeats a run.
local command = require "spec.support.command"
local files = require "spec.support.files"

local build = os.getenv("MOONPLAN_BUILD") or (files.root .. "build/release")
local soak = tonumber(os.getenv("MOONPLAN_SOAK") or "")
local seed = math.tointeger(tonumber(os.getenv("MOONPLAN_SEED") or "") or (soak and os.time() or 8410))

describe("a reader and judge of plans that shares nothing with ours", function()
  it("accepts what we accept, with the same digest, and refuses the rest", function()
    if not os.execute("command -v python3 >/dev/null") then return pending("there is no python3 to judge with") end
    local library = files.quote(build .. "/libmoonplan.so")
    -- The sanitizer has to be there before Python is, whose own leaks are not ours.
    local before = command.sanitized
      and ("ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$(ldd %s | awk '/libasan/ { print $3 }') "):format(library) or ""
    local lines = files.lines_of(("%spython3 %sspec/fuzz/judge.py %s %d %d %d 2>&1"):format(
      before, files.root, library, seed, soak and 0 or 12000, soak or 0))
    local accepted, refused, wrong = (lines[#lines] or ""):match(": (%d+) accepted, (%d+) refused, %d+ left open, (%d+) dis")
    assert.equal("0", wrong, table.concat(lines, "\n"))
    assert(tonumber(accepted) > 2000 and tonumber(refused) > 2000, lines[#lines])
  end)
end)
