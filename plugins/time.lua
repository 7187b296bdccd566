--- Points in time, written down.

local DAY = 86400
local MONTHS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function is_leap(year) return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0) end

local function days_in(year, month)
  return month == 2 and is_leap(year) and 29 or MONTHS[month]
end

-- Days of all years before this one, counted from year 0.
local function days_before(year)
  local last = year - 1
  return 365 * year + last // 4 - last // 100 + last // 400
end
local EPOCH = days_before(1970)

local function day_of_year(year, month, day)
  local days = day
  for n = 1, month - 1 do days = days + days_in(year, n) end
  return days
end

-- Seconds to add for an offset from UTC (RFC 3339, time-offset); nil where it is none.
local function offset_of(text)
  if text:find("^[Zz]$") then return 0 end
  local sign, hours, minutes = text:match("^([+-])(%d%d):(%d%d)$")
  hours, minutes = math.tointeger(tonumber(hours)), math.tointeger(tonumber(minutes))
  if not sign or hours > 23 or minutes > 59 then return nil end
  return (hours * 60 + minutes) * (sign == "+" and -60 or 60)
end

-- Milliseconds since 1970 of a time as RFC 3339 writes it; nil where it is none.
local function read_time(text)
  local year, month, day, hour, minute, second, rest =
    text:match("^(%d%d%d%d)%-(%d%d)%-(%d%d)[Tt ](%d%d):(%d%d):(%d%d)(.+)$")
  if not year then return nil end
  year, month, day = math.tointeger(tonumber(year)), math.tointeger(tonumber(month)),
    math.tointeger(tonumber(day))
  hour, minute, second = math.tointeger(tonumber(hour)), math.tointeger(tonumber(minute)),
    math.tointeger(tonumber(second))
  local fraction, zone = rest:match("^%.(%d%d?%d?)([^%d].*)$")
  local offset = offset_of(zone or rest)
  if not offset or month < 1 or month > 12 or day < 1 or day > days_in(year, month)
    or hour > 23 or minute > 59 or second > 59 then return nil end
  local days = days_before(year) + day_of_year(year, month, day) - 1 - EPOCH
  local milliseconds = fraction and math.tointeger(tonumber((fraction .. "00"):sub(1, 3))) or 0
  return (days * DAY + hour * 3600 + minute * 60 + second + offset) * 1000 + milliseconds
end

local function parts_of(milliseconds)
  local seconds = milliseconds // 1000
  local days = seconds // DAY + EPOCH
  -- The mean year is a little longer than 365 days, so this is never too early by more than one.
  local year = days * 400 // 146097
  while days_before(year + 1) <= days do year = year + 1 end
  while days_before(year) > days do year = year - 1 end
  local day = days - days_before(year) + 1
  local of_year, month = day, 1
  while day > days_in(year, month) do
    day = day - days_in(year, month)
    month = month + 1
  end
  local clock = seconds % DAY
  return {
    Y = ("%04d"):format(year), m = ("%02d"):format(month), d = ("%02d"):format(day),
    H = ("%02d"):format(clock // 3600), M = ("%02d"):format(clock // 60 % 60),
    S = ("%02d"):format(clock % 60), L = ("%03d"):format(milliseconds % 1000),
    j = ("%03d"):format(of_year), s = ("%d"):format(seconds),
    -- 1970-01-01 was a Thursday, the fourth day of ISO 8601's week.
    u = ("%d"):format((seconds // DAY + 3) % 7 + 1), ["%"] = "%",
  }
end

-- What an input is that is no object. A schema without a required field lets any input through.
local function other_than_object(input)
  if input == moonplan.null then return "null" end
  if type(input) ~= "table" then return "a " .. type(input) end
  return moonplan.is_array(input) and "an array" or nil
end

local DIRECTIVES = "%Y %m %d %H %M %S %L %j %u %s %%"

---@type moonplan.Capability[]
return {
  {
    kind = "capability",
    api = 1,
    name = "time.format",
    version = "1.0.0",
    summary = "Write a time, or the present one, as a text in UTC.",
    risk = "read",
    needs = { "clock" },
    input = {
      time = { type = "string",
        description = "RFC 3339, to the millisecond at most; the present without one" },
      format = { type = "string", max_length = 200,
        description = "a text with %Y year, %m month, %d day, %H hour, %M minute, %S second, "
          .. "%L milliseconds, %j day of the year, %u day of the week (Monday is 1), "
          .. "%s seconds since 1970, %%; without one: %Y-%m-%dT%H:%M:%S.%LZ" },
    },
    output = {
      text = { type = "string", description = "the time, written so" },
    },
    examples = {
      {
        given = { clock = "2026-01-02T03:04:05.006Z" },
        output = { text = "2026-01-02T03:04:05.006Z" },
      },
      {
        given = { clock = "2026-01-02T03:04:05.006Z" },
        input = { format = "%d.%m.%Y, day %j, 100%%" },
        output = { text = "02.01.2026, day 002, 100%" },
      },
      -- RFC 3339, section 5.8.
      {
        given = { clock = "2026-01-02T03:04:05.000Z" },
        input = { time = "1985-04-12T23:20:50.52Z" },
        output = { text = "1985-04-12T23:20:50.520Z" },
      },
      {
        given = { clock = "2026-01-02T03:04:05.000Z" },
        input = { time = "1996-12-19T16:39:57-08:00" },
        output = { text = "1996-12-20T00:39:57.000Z" },
      },
      {
        given = { clock = "2026-01-02T03:04:05.000Z" },
        input = { time = "2000-02-29T23:59:59Z", format = "%s %u" },
        output = { text = "951868799 2" },
      },
      {
        given = { clock = "2026-01-02T03:04:05.000Z" },
        input = { time = "2026-02-30T00:00:00Z" },
        error = '"2026-02-30T00:00:00Z" is no time as RFC 3339 has it: 2026-01-02T03:04:05.000Z',
      },
      {
        given = { clock = "2026-01-02T03:04:05.000Z" },
        input = { format = "%B" },
        error = 'there is no "%B" in a format; there are: %Y %m %d %H %M %S %L %j %u %s %%',
      },
      {
        given = { clock = "2026-01-02T03:04:05.000Z" },
        input = moonplan.null,
        error = "the input is an object, not null",
      },
    },
    run = function(input, ctx)
      local other = input ~= nil and other_than_object(input)
      if other then return nil, "the input is an object, not " .. other end
      input = input or {}
      local _, milliseconds = ctx.clock.now()
      if input.time then
        milliseconds = read_time(input.time)
        if not milliseconds then
          return nil, ("%q is no time as RFC 3339 has it: %s"):format(input.time,
            "2026-01-02T03:04:05.000Z")
        end
      end
      local parts = parts_of(milliseconds)
      local unknown
      local format = input.format or "%Y-%m-%dT%H:%M:%S.%LZ"
      -- A percent sign and one character.
      local text = format:gsub("%%([\0-\127\194-\244]?[\128-\191]*)", function(directive)
        if not parts[directive] then unknown = unknown or "%" .. directive end
        return parts[directive]
      end)
      if unknown then
        return nil, ('there is no "%s" in a format; there are: %s'):format(unknown, DIRECTIVES)
      end
      return { text = text }
    end,
  },
}
