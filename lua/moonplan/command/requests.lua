--- Typed-data requests on the command line: what the caller knows, and a request laid out for a
--- person.
local findings = require "moonplan.command.findings"
local moonplan = require "moonplan"
local options = require "moonplan.command.options"
local text = require "moonplan.command.text"

local requests = {}

local function seconds(digits)
  local now = digits:match("^%d+$") and math.tointeger(tonumber(digits))
  if not now then return nil, ("'%s' is not a number of seconds since 1970"):format(digits) end
  return now
end

---@param help string? what the time is for, where nothing is judged by it
function requests.describe_now(parser, help)
  parser:option("--now"):argname("SECONDS"):convert(seconds):description(help
    or "The time to judge by, in seconds since 1970; without it, nothing has expired.")
end

--- What the one who would sign knows.
function requests.describe(parser)
  requests.describe_now(parser)
  parser:option("--account"):argname("0x..."):convert(options.address)
    :description("The account that would sign; it must be the request's signer.")
  parser:option("--origin"):argname("URL")
    :description("The https URL that the request came from, '' if it came from none: a signature "
      .. "is delivered to no other. A request that is fetched proves its own.")
end

--- What moonplan.typed_data takes, from parsed arguments.
---@param arguments table
---@param limits table<string, integer>
---@return table
function requests.options(arguments, limits)
  return {
    limits = limits, now = arguments.now, account = arguments.account, origin = arguments.origin,
  }
end

-- The code points of a text that are not ASCII, each once, as far as a line goes: letters that look
-- alike are told apart by these.
local MOST_POINTS = 16

local function foreign_points(raw)
  local points, seen, more = {}, {}, false
  for _, point in utf8.codes(raw) do
    if point > 0x7f and not seen[point] then
      seen[point] = true
      if #points == MOST_POINTS then
        more = true
        break
      end
      points[#points + 1] = ("U+%04X"):format(point)
    end
  end
  if #points == 0 then return nil end
  return table.concat(points, " ") .. (more and " ..." or "")
end

local function scalar(value)
  if type(value) == "string" then return value end
  return tostring(value)
end

local add_values

-- One member or element: its name, its type, and its value behind or below it.
local function add_value(lines, indent, label, node)
  local head = ("%s%s  %s"):format(indent, label, node.type)
  if node.members or node.elements then
    local list = node.members or node.elements
    if #list == 0 then head = head .. (node.members and "  (no members)" or "  (empty)") end
    lines[#lines + 1] = head
    add_values(lines, indent .. "  ", node)
    return
  end
  local shown = node.type == "string" and text.quoted(node.value) or scalar(node.value)
  lines[#lines + 1] = head .. "  " .. shown
  local points = node.type == "string" and foreign_points(node.value)
  if points then lines[#lines + 1] = ("%s  (not ASCII: %s)"):format(indent, points) end
end

function add_values(lines, indent, node)
  for _, member in ipairs(node.members or {}) do add_value(lines, indent, member.name, member) end
  for i, element in ipairs(node.elements or {}) do
    add_value(lines, indent, ("[%d]"):format(i - 1), element)
  end
end

--- A request as a person judges it: who signs what for whom, every field, what is dangerous.
---@param review table from moonplan.TypedData:review
---@return string
function requests.layout(review)
  local delivery = review.delivery
  local lines = {
    "request " .. review.request_digest,
    "signs   " .. review.signing_digest,
    "signer  " .. review.signer,
    "type    " .. review.primary_type,
    "until   " .. (review.valid_until
      and ("%s (%s)"):format(review.valid_until, review.valid_until_time) or "no end"),
    "goes to " .. (delivery and ("%s, as %s"):format(delivery.url, delivery.request_id)
      or "the caller"),
  }
  lines[#lines + 1] = ""
  findings.add(lines, review.findings)
  for _, part in ipairs { "domain", "message" } do
    lines[#lines + 1] = ""
    lines[#lines + 1] = ("%s  %s"):format(part, review[part].type)
    add_values(lines, "  ", review[part])
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "A signature proves no settlement, and its end revokes nothing that is "
    .. "already out"
  return table.concat(lines, "\n") .. "\n"
end

-- The tree of moonplan.TypedData:explain, one line a value: its encoding, then what it is.
local function add_encoding(lines, indent, label, node)
  local value = ""
  if node.value ~= nil then
    value = "  " .. (node.type == "string" and text.quoted(node.value) or scalar(node.value))
  end
  lines[#lines + 1] = ("%s%s %s%s"):format(indent, node.encoded, label, value)
  for _, member in ipairs(node.members or {}) do
    add_encoding(lines, indent .. "  ", ("%s %s"):format(member.type, member.name), member)
  end
  for i, element in ipairs(node.elements or {}) do
    add_encoding(lines, indent .. "  ", ("%s [%d]"):format(element.type, i - 1), element)
  end
end

--- How the digests of a request come about, for recomputing them elsewhere.
---@param tree table from moonplan.TypedData:explain
---@return string
function requests.explanation(tree)
  local lines, names = {}, {}
  for name in pairs(tree.types) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local type = tree.types[name]
    lines[#lines + 1] = ("%s %s"):format(type.type_hash, type.encode_type)
  end
  add_encoding(lines, "", "domain " .. tree.domain.type, tree.domain)
  add_encoding(lines, "", "message " .. tree.message.type, tree.message)
  lines[#lines + 1] = tree.canonical_form
  return table.concat(lines, "\n") .. "\n"
end

-- In the order in which they are told.
requests.DIGESTS = { "request_digest", "domain_separator", "message_hash", "signing_digest" }

--- The four digests of a request, by their names.
---@param request table moonplan.TypedData
---@return table<string, string>
function requests.digests(request)
  local digests = {}
  for _, name in ipairs(requests.DIGESTS) do digests[name] = request[name] end
  return digests
end

--- A result's or receipt's own document kind is told by what is asked of it.
requests.REPLIES = {
  result = moonplan.check_result, receipt = moonplan.check_receipt,
  operation = moonplan.check_operation,
}

return requests
