--- Grants on the command line: how each power is spelled, and what to write where one is missing.
local grants = {}

-- What stands behind the equals sign, by the power without its name; false: nothing does.
local PLACES = {
  fs = "DIR", ["fs:rw"] = "DIR", clock = false, http = "HOST", kv = false, random = false,
  rpc = "URL", secret = "FILE",
}

--- All forms, for a help text.
grants.FORMS = "fs=DIR, fs:rw=DIR, clock, http=HOST, kv, random, rpc:NAME=URL, secret:NAME=FILE"

--- The powers whose places are folders.
grants.FOLDERS = { "fs", "fs:rw" }

-- The power of a need; nil where there is none.
local function power_of(need)
  if PLACES[need] ~= nil and need ~= "rpc" and need ~= "secret" then return need end
  local power, name = need:match("^(%l+):([%w_.-]+)$")
  if (power == "rpc" or power == "secret") and #name <= 64 then return power end
end

--- What grants a need: "--grant rpc:main=URL".
---@param need string
---@return string
function grants.option(need)
  local power = power_of(need)
  if not power then return need end
  return "--grant " .. need .. (PLACES[power] and "=" .. PLACES[power] or "")
end

--- POWER=WHERE, or POWER alone for one that has no place.
---@param word string
---@return {power: string, where: string|true}? grant
---@return string? complaint
function grants.read(word)
  local need, sign, where = word:match("^([^=]*)(=?)(.*)$")
  local power = power_of(need)
  if not power then
    return nil, ("'%s' grants nothing; there are: %s"):format(word, grants.FORMS)
  end
  local place = PLACES[power]
  if not place and sign == "" then return { power = need, where = true } end
  if place and where ~= "" then return { power = need, where = where } end
  if not place then return nil, ("'%s' says more than there is to it: %s"):format(word, need) end
  local what = place == "DIR" and "folder" or place == "HOST" and "host" or place
  return nil, ("'%s' does not say which %s: %s=%s"):format(word, what, need, place)
end

--- Add one grant to those before it; http may be granted host by host.
---@param list table<string, string|string[]|true>
---@param grant {power: string, where: string|true}
function grants.add(list, grant)
  local before = list[grant.power]
  if grant.power == "http" then
    before = before or {}
    before[#before + 1] = grant.where
    list.http = before
    return
  end
  if before then error({ usage = ("%s is granted twice"):format(grant.power) }, 0) end
  list[grant.power] = grant.where
end

return grants
