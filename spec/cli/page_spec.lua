-- moonplan review --html: one file that anybody can open, print and send on, whatever the plan says.
local command = require "spec.support.command"
local files = require "spec.support.files"
local plans = require "spec.support.plans"
local requests = require "spec.support.requests"
local reviews = require "spec.support.reviews"

local function page_of(document, ...)
  local folder = command.folder()
  command.write(folder .. "/document.json", document)
  local words = { "review", "--html", "page.html", "document.json", ... }
  words.cd = folder
  local run = command.run(words)
  assert.equal("", run.err)
  return files.read(folder .. "/page.html"), folder .. "/page.html", run
end

-- The elements of a page, and no attribute that is not ours.
local ELEMENTS = {}
for name in ([[!doctype html head meta title style body h1 h2 h3 dl dt dd code section p ul li span br div article
  strong footer]]):gmatch "%S+" do ELEMENTS[name] = true end
local ATTRIBUTES = {
  lang = true, charset = true, ["http-equiv"] = true, content = true, name = true, class = true, html = true,
}

local function check_markup(html)
  local body = html:gsub("<style>.-</style>", "", 1)
  for tag in body:gmatch "<([^>]*)>" do
    local name, rest = tag:match "^/?([%w!]+)(.*)$"
    assert(ELEMENTS[name], tag)
    for attribute in rest:gsub('="[^"]*"', "="):gmatch "([%w-]+)" do assert(ATTRIBUTES[attribute], tag) end
  end
  -- What is no element is escaped.
  local text = body:gsub("<[^>]*>", "")
  assert.is_nil(text:find '[<>"]')
  assert.is_nil(text:gsub("&[%w#]+;", ""):find "&")
end

describe("moonplan review --html", function()
  after_each(command.clean)

  it("shows what the text shows: digest, findings first, every call, advice as the producer's", function()
    local html, _, run = page_of(reviews.rich())
    assert.equal(0, run.code)
    local digest = run.out:match "digest  (0x%x+)"
    local at = 1
    for _, wanted in ipairs {
      "<h1>Review of a call plan</h1>", "<dt>digest</dt><dd><code>" .. digest .. "</code>", "<h2>Findings</h2>",
      '<span class="severity">danger</span> <code>allowance.unlimited</code>', '<span class="severity">info</span>',
      "<h2>4 steps</h2>", "<h3>1. approval</h3>", "approve(address,uint256) as in ERC-20, a guess", reviews.MOST,
      "<h3>2. execution</h3>", "1500000000000000000 wei (1.5 ether)", "call 2.1.1, to " .. reviews.SPENDER,
      "not decoded: nobody described this function", "0x12345678", "<h3>4. allowance_cleanup</h3>",
      "Required of the wallet", "The producer&#39;s advice", "nobody has checked", "Not covered by the digest",
      "A review is not an approval",
    } do
      at = assert(html:find(wanted, at, true), wanted)
    end
  end)

  it("lets nothing out of a plan into the page's own language", function()
    local folder = command.folder()
    command.write(folder .. "/note.abi", reviews.NOTE)
    for _, html in ipairs {
      (page_of(reviews.rich())), (page_of(reviews.rich(), "--abi", folder .. "/note.abi")),
      (page_of(plans.of({ plans.step(1) }, ',"required_capabilities":["<b>&\'"]'))),
      (page_of(plans.full(2000))),
    } do
      check_markup(html)
      assert.is_nil(html:find "<script")
      assert.is_nil(html:find "<img")
      assert.is_nil(html:find "[\1-\9\11-\31\127]")
      for _, hidden in ipairs { "\u{202e}", "\u{200b}" } do assert.is_nil(html:find(hidden, 1, true)) end
    end
    assert.truthy(page_of(reviews.rich()):find("&lt;script&gt;alert(1)&lt;/script&gt;", 1, true))
  end)

  it("loads nothing and runs nothing", function()
    local html = page_of(reviews.rich())
    assert.truthy(html:find("default-src 'none'", 1, true))
    for _, word in ipairs { "src=", "href=", "url%(", "@import", "javascript:", "<link", "<iframe" } do
      assert.is_nil((html:gsub("&lt;.-&gt;", "")):find(word), word)
    end
  end)

  it("is for phones, printers and both kinds of light", function()
    local html = page_of(plans.tiny())
    for _, wanted in ipairs { "width=device-width", "@media print", "prefers-color-scheme:dark", "overflow-wrap:anywhere" } do
      assert.truthy(html:find(wanted, 1, true), wanted)
    end
  end)

  it("shows a signature request as well", function()
    local html, _, run = page_of(requests.tiny())
    assert.equal(0, run.code)
    check_markup(html)
    assert.truthy(html:find("Review of a signature request", 1, true))
    assert.truthy(html:find(run.out:match "request (0x%x+)", 1, true))
    assert.truthy(html:find(run.out:match "signs   (0x%x+)", 1, true))
  end)

  it("takes no empty name for the page", function()
    local run = command.run { "review", "--html", "", files.root .. "examples/golden.json" }
    assert.same({ 1, "" }, { run.code, run.out })
    assert.matches("^moonplan review: the name for %-%-html is empty\n", run.err)
  end)

  it("takes one document, and overwrites no file", function()
    local folder = command.folder()
    command.write(folder .. "/a", plans.tiny())
    command.write(folder .. "/page.html", "mine")
    local run = command.run { "review", "--html", "page.html", "a", cd = folder }
    assert.equal(1, run.code)
    assert.equal("mine", files.read(folder .. "/page.html"))
    run = command.run { "review", "--html", "other.html", "a", "a", cd = folder }
    assert.equal(1, run.code)
    assert.matches("one document", run.err)
  end)

  it("has an exit code of its own for findings, and the page all the same", function()
    local html, _, run = page_of(reviews.rich(), "--fail-on", "danger")
    assert.equal(5, run.code)
    assert.truthy(html:find("</html>", 1, true))
  end)
end)

-- What a browser makes of it: as narrow as a phone, nothing is wider than the page; and no element has
-- come into being that the page's author did not write.
describe("in a browser, a review's page", function()
  local browser = files.lines_of("command -v chromium || command -v chromium-browser || true")[1]
  after_each(command.clean)

  it("is as wide as its window, and shows the plan's text as text", function()
    if not browser or browser == "" then
      pending("there is no chromium")
      return
    end
    local _, path = page_of(reviews.rich())
    local folder = command.folder()
    -- A copy with a script of ours, since only a script can measure.
    local html = files.read(path):gsub('<meta http%-equiv[^>]*>', "", 1):gsub("</body>", function()
      return "<script>const e = document.documentElement; document.title = [e.scrollWidth <= e.clientWidth, "
        .. "document.images.length, document.scripts.length, document.querySelectorAll('article').length, "
        .. "document.body.innerText.includes('<script>alert(1)'), e.clientWidth < 560].join(' ')</script></body>"
    end)
    command.write(folder .. "/measured.html", html)
    local outcome = command.shell(("timeout 50 %s --headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
      .. "--disable-background-networking --disable-component-update --disable-sync --window-size=500,900 "
      .. "--user-data-dir=%s/profile --dump-dom file://%s/measured.html"):format(browser, folder, folder))
    assert.equal("true 0 1 4 true true", outcome.out:match "<title>(.-)</title>", outcome.err)
  end)
end)
