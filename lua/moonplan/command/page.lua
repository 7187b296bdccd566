--- A review as a page of HTML: one file, without scripts, without anything from elsewhere.
---
--- Everything that was read goes through `escaped` and nothing else, so that a plan can put no
--- element, attribute or style on the page, and no character that does not show.
local call_review = require "moonplan.command.call_review"
local call_text = require "moonplan.command.call_text"
local declarations = require "moonplan.command.declarations"
local findings = require "moonplan.command.findings"
local moonplan = require "moonplan"
local text = require "moonplan.command.text"

local page = {}

local STYLE = [[
:root{color-scheme:light dark;--ground:#fff;--card:#f6f7f9;--ink:#1b1f24;--soft:#57606a;
--line:#d0d7de;--danger:#b3261e;--warning:#8a5300;--info:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ground:#14171b;--card:#1d2126;--ink:#e6e9ed;
--soft:#a0a9b4;--line:#3a424c;--danger:#ff8f86;--warning:#f0b45a;--info:#7cb8f5}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:60rem;background:var(--ground);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:.2rem 0 .8rem}
h2{font-size:1.1rem;margin:1.6rem 0 .6rem}
h3{font-size:1rem;margin:0 0 .5rem}
code,.value{font-family:ui-monospace,monospace;font-size:.875em}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.2rem .9rem;margin:0}
dt{color:var(--soft)}
dd{margin:0}
ul{list-style:none;margin:0;padding:0}
p{margin:.4rem 0}
.card,.finding{border:1px solid var(--line);border-radius:.5rem;background:var(--card);
padding:.7rem .9rem;margin:.6rem 0}
.finding{border-left:.4rem solid var(--line)}
.finding,dl{break-inside:avoid}
h2,h3{break-after:avoid}
.danger{border-left-color:var(--danger)}
.warning{border-left-color:var(--warning)}
.info{border-left-color:var(--info)}
.severity{font-weight:700;text-transform:uppercase;font-size:.8rem;letter-spacing:.03em}
.danger .severity{color:var(--danger)}
.warning .severity{color:var(--warning)}
.info .severity{color:var(--info)}
.soft{color:var(--soft)}
.call{border-left:2px solid var(--line);padding-left:.8rem;margin-top:.7rem}
.items{padding-left:1rem}
footer{margin-top:2rem;border-top:1px solid var(--line);padding-top:.6rem;color:var(--soft)}
@media(max-width:34rem){dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:.4rem}
.items{padding-left:.6rem}}
@media print{:root{--ground:#fff;--card:#fff;--ink:#000;--soft:#333;--line:#888;--danger:#000;
--warning:#000;--info:#000}body{max-width:none;padding:0;font-size:10pt}}
]]

local ENTITIES = {
  ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;",
}

--- Any text, so that a page shows it and does nothing else with it.
---@param raw string
---@return string
local function escaped(raw) return (text.visible(raw):gsub("[&<>\"']", ENTITIES)) end

local Writer = {}
Writer.__index = Writer

-- Markup of ours; every %s of it is filled with something escaped.
function Writer:put(markup, ...)
  local values = table.pack(...)
  for n = 1, values.n do values[n] = escaped(values[n]) end
  self[#self + 1] = markup:format(table.unpack(values, 1, values.n))
end

function Writer:fact(label, value)
  self:put('<dt>%s</dt><dd><code>%s</code></dd>\n', label, value)
end

local function findings_of(writer, review)
  local counts = {}
  for _, severity in ipairs { "danger", "warning", "info" } do
    counts[#counts + 1] = ("%d %s"):format(review.counts[severity], severity)
  end
  writer:put('<section><h2>Findings</h2>\n<p class="soft">%s</p>\n', table.concat(counts, ", "))
  if #review.findings == 0 then writer:put "<p>None.</p>\n" end
  writer:put "<ul>\n"
  for _, finding in ipairs(review.findings) do
    -- The severity is one of three words of ours.
    writer:put('<li class="finding %s"><span class="severity">%s</span> <code>%s</code>'
      .. '<span class="soft">%s</span><br>%s</li>\n', finding.severity, finding.severity,
      finding.code, findings.place(finding), finding.message)
  end
  writer:put "</ul></section>\n"
end

-- -- Values ------------------------------------------------------------------

local function add_items(writer, list)
  for _, item in ipairs(list) do
    local kind, value = item.type, item.value
    writer:put('<div>%s <span class="soft">%s</span>', item.label, kind.text)
    if kind.base then
      writer:put(' <span class="value">%s</span>', call_text.scalar(kind.base, value))
    elseif next(value) == nil then
      writer:put " (empty)"
    else
      writer:put '<div class="items">\n'
      add_items(writer, declarations.items(kind, value))
      writer:put "</div>"
    end
    writer:put "</div>\n"
  end
end

-- -- Calls -------------------------------------------------------------------

local function add_call(writer, call)
  local head = call_text.head(call)
  if head then writer:put("<p><code>%s</code></p>\n", head) end
  add_items(writer, declarations.arguments(call))
  for _, note in ipairs(call.notes or {}) do
    writer:put("<p>not canonical: %s</p>\n", note.message)
  end
  if call.data then writer:put('<p class="value">%s</p>\n', call_text.bytes(call.data)) end
  for _, inner in ipairs(call.calls or {}) do
    writer:put('<div class="call"><strong>%s</strong>\n', call_text.inner(inner))
    add_call(writer, inner)
    writer:put "</div>\n"
  end
end

local function add_step(writer, step, has_revert_decode)
  writer:put('<article class="card"><h3>%s. %s</h3>\n<dl>\n', tostring(step.step), step.kind)
  for _, fact in ipairs(call_review.facts(step, has_revert_decode)) do
    writer:fact(fact[1], fact[2])
  end
  writer:put "</dl>\n"
  if step.call.kind ~= "value" then
    writer:put '<div class="call">\n'
    add_call(writer, step.call)
    writer:put "</div>\n"
  end
  writer:put "</article>\n"
end

local function add_capabilities(writer, review)
  local list = call_review.capabilities(review)
  writer:put "<section><h2>Required of the wallet</h2>\n"
  if #list == 0 then writer:put("<p>%s.</p>\n", call_review.NOTHING_REQUIRED) end
  writer:put "<ul>\n"
  for _, each in ipairs(list) do
    writer:put("<li><code>%s</code>: %s</li>\n", each.name, each.meaning)
  end
  writer:put "</ul></section>\n"
end

local function add_advice(writer, review)
  local list = call_review.advice(review)
  if #list == 0 then return end
  writer:put("<section><h2>The producer&#39;s advice</h2>\n<p>%s.</p>\n<dl>\n", call_review.ADVICE)
  for _, advice in ipairs(list) do
    writer:put("<dt>if %s</dt><dd>%s: %s</dd>\n", advice.failure, advice.action, advice.instruction)
  end
  writer:put "</dl></section>\n"
end

-- -- Pages -------------------------------------------------------------------

local function open(title)
  local writer = setmetatable({}, Writer)
  -- Even if something slipped through: nothing is loaded, nothing runs.
  writer:put([[<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
]], title)
  writer[#writer + 1] = STYLE
  writer:put("</style>\n</head>\n<body>\n<h1>%s</h1>\n", title)
  return writer
end

local function close(writer)
  writer:put("<footer>A review is not an approval. moonplan %s</footer>\n</body>\n</html>\n",
    moonplan.version)
  return table.concat(writer)
end

--- The page of a call plan.
---@param name string of the document, for people
---@param plan table moonplan.CallPlan
---@param review table its review
---@return string html
function page.plan(name, plan, review)
  local writer = open "Review of a call plan"
  writer:put "<dl>\n"
  writer:fact("file", text.utf8(name))
  writer:fact("digest", review.digest)
  writer:fact("chain", review.caip2_chain_id)
  writer:fact("sender", review.sender)
  writer:put "</dl>\n"
  findings_of(writer, review)
  writer:put("<section><h2>%s</h2>\n", text.count(#review.steps, "step"))
  local reverts = call_review.revert_decodes(plan)
  for n, step in ipairs(review.steps) do add_step(writer, step, reverts[n]) end
  if call_review.guessed(review) then
    writer:put('<p class="soft">%s.</p>\n', call_text.GUESS)
  end
  writer:put "</section>\n"
  add_capabilities(writer, review)
  add_advice(writer, review)
  writer:put("<section><h2>Not covered by the digest</h2>\n<p>%s</p>\n<p>%s.</p></section>\n",
    table.concat(review.outside_digest, ", "), call_review.KEEP)
  return close(writer)
end

-- A typed value is a tree already: a member has its type, and a value or what is below it.
local function add_typed(writer, label, node)
  writer:put('<div>%s <span class="soft">%s</span>', label, node.type)
  if not node.members and not node.elements then
    writer:put(' <span class="value">%s</span></div>\n', call_text.scalar(node.type, node.value))
    return
  end
  writer:put '<div class="items">'
  for _, member in ipairs(node.members or {}) do add_typed(writer, member.name, member) end
  for n, element in ipairs(node.elements or {}) do
    add_typed(writer, ("[%d]"):format(n - 1), element)
  end
  writer:put "</div></div>\n"
end

--- The page of a typed-data signature request.
---@param name string of the document, for people
---@param review table its review
---@return string html
function page.request(name, review)
  local writer = open "Review of a signature request"
  writer:put "<dl>\n"
  writer:fact("file", text.utf8(name))
  writer:fact("request", review.request_digest)
  writer:fact("signs", review.signing_digest)
  writer:fact("signer", review.signer)
  writer:fact("type", review.primary_type)
  writer:fact("until", review.valid_until
    and ("%s (%s)"):format(review.valid_until, review.valid_until_time) or "no end")
  writer:fact("goes to", review.delivery
    and ("%s, as %s"):format(review.delivery.url, review.delivery.request_id) or "the caller")
  writer:put "</dl>\n"
  findings_of(writer, review)
  for _, part in ipairs { "domain", "message" } do
    writer:put('<section><h2>%s</h2>\n<div class="card">\n', part)
    add_typed(writer, part, review[part])
    writer:put "</div></section>\n"
  end
  return close(writer)
end

return page
