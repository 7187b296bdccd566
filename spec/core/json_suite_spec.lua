-- JSONTestSuite (github.com/nst/JSONTestSuite): what a JSON reader must take (y_), must refuse (n_)
-- and may decide by itself (i_). The reader is asked through moonplan.kind, which reads a whole
-- document and makes no Lua values of it: a text that is JSON but no plan comes back with
-- `document.kind`, one that is not JSON with the reader's own fault.
local moonplan = require "moonplan"
local lfs = require "lfs"
local files = require "spec.support.files"

-- y_ files that we refuse on purpose: two readers could see two documents in one text.
local REFUSED = {
  y_object_duplicated_key = "json.duplicate_name",
  y_object_duplicated_key_and_value = "json.duplicate_name",
}

local KEPT = "a number is kept as its text, whatever its range; only Lua has no value for it"
local TINY = "a number is kept as its text; Lua gets the nearest double, a zero"
local SURROGATE = "half a surrogate pair is no character"
local UTF8 = "documents are UTF-8 (RFC 8259, section 8.1)"
local MARK = "a byte order mark must not be added (RFC 8259, section 8.1) and hides in editors"

-- Every i_ file: the code it is refused with, or "" where it is accepted.
local DECIDED = {
  i_number_double_huge_neg_exp = { "", TINY },
  i_number_huge_exp = { "", KEPT },
  i_number_neg_int_huge_exp = { "", KEPT },
  i_number_pos_double_huge_exp = { "", KEPT },
  i_number_real_neg_overflow = { "", KEPT },
  i_number_real_pos_overflow = { "", KEPT },
  i_number_real_underflow = { "", TINY },
  i_number_too_big_neg_int = { "", KEPT },
  i_number_too_big_pos_int = { "", KEPT },
  i_number_very_big_negative_int = { "", KEPT },
  i_object_key_lone_2nd_surrogate = { "json.surrogate", SURROGATE },
  i_string_1st_surrogate_but_2nd_missing = { "json.surrogate", SURROGATE },
  i_string_1st_valid_surrogate_2nd_invalid = { "json.surrogate", SURROGATE },
  i_string_incomplete_surrogate_and_escape_valid = { "json.surrogate", SURROGATE },
  i_string_incomplete_surrogate_pair = { "json.surrogate", SURROGATE },
  i_string_incomplete_surrogates_escape_valid = { "json.surrogate", SURROGATE },
  i_string_invalid_lonely_surrogate = { "json.surrogate", SURROGATE },
  i_string_invalid_surrogate = { "json.surrogate", SURROGATE },
  i_string_lone_second_surrogate = { "json.surrogate", SURROGATE },
  ["i_string_inverted_surrogates_U+1D11E"] = { "json.surrogate", SURROGATE },
  ["i_string_UTF-16LE_with_BOM"] = { "json.utf8", UTF8 },
  ["i_string_UTF-8_invalid_sequence"] = { "json.utf8", UTF8 },
  ["i_string_UTF8_surrogate_U+D800"] = { "json.utf8", UTF8 },
  ["i_string_invalid_utf-8"] = { "json.utf8", UTF8 },
  i_string_iso_latin_1 = { "json.utf8", UTF8 },
  i_string_lone_utf8_continuation_byte = { "json.utf8", UTF8 },
  i_string_not_in_unicode_range = { "json.utf8", UTF8 },
  i_string_overlong_sequence_2_bytes = { "json.utf8", UTF8 },
  i_string_overlong_sequence_6_bytes = { "json.utf8", UTF8 },
  i_string_overlong_sequence_6_bytes_null = { "json.utf8", UTF8 },
  ["i_string_truncated-utf-8"] = { "json.utf8", UTF8 },
  i_string_utf16BE_no_BOM = { "json.syntax", UTF8 },
  i_string_utf16LE_no_BOM = { "json.syntax", UTF8 },
  i_structure_500_nested_arrays = { "json.depth", "nested deeper than the default limit, 128" },
  ["i_structure_UTF-8_BOM_empty_object"] = { "json.byte_order_mark", MARK },
}

-- Files that the reader takes and Lua has no value for: integers outside int64 and numbers outside
-- double. json.decode says so instead of rounding.
local NO_LUA_VALUE = {
  i_number_huge_exp = true, i_number_neg_int_huge_exp = true, i_number_pos_double_huge_exp = true,
  i_number_real_neg_overflow = true, i_number_real_pos_overflow = true,
  i_number_too_big_neg_int = true, i_number_too_big_pos_int = true,
  i_number_very_big_negative_int = true,
}

describe("JSONTestSuite", function()
  local license = files.shared("suites/JSONTestSuite/LICENSE")
  if not license then
    pending("the suite is not there: set MOONPLAN_SHARED")
    return
  end
  local folder = license:gsub("LICENSE$", "test_parsing/")

  -- The reader's fault, or nil where it takes the text.
  local function refusal(text)
    local kind, err = moonplan.kind(text)
    assert.is_nil(kind, "no file of the suite is a plan")
    if err.code ~= "document.kind" then return err end
  end

  local names = { y = {}, n = {}, i = {} }
  for file in lfs.dir(folder) do
    local name, class = file:match("^(([yni])_.*)%.json$")
    if name then table.insert(names[class], name) end
  end
  for _, list in pairs(names) do table.sort(list) end

  it("is complete", function()
    assert.equal(95, #names.y)
    assert.equal(188, #names.n)
    assert.equal(35, #names.i)
  end)

  for _, name in ipairs(names.y) do
    it((REFUSED[name] and "refuses " or "accepts ") .. name, function()
      local text = files.read(folder .. name .. ".json")
      local err = refusal(text)
      if REFUSED[name] then
        assert.equal(REFUSED[name], err and err.code)
        assert.equal(REFUSED[name], select(2, moonplan.json.decode(text)).code)
      else
        assert.is_nil(err, tostring(err))
        local value, decode_err = moonplan.json.decode(text)
        assert.is_nil(decode_err)
        assert.not_nil(value)
      end
    end)
  end

  for _, name in ipairs(names.n) do
    it("refuses " .. name, function()
      local text = files.read(folder .. name .. ".json")
      local err = refusal(text)
      assert(err, "accepted")
      assert.matches("^json%.", err.code)
      assert(err.offset >= 0 and err.offset <= #text)
      local value, decode_err = moonplan.json.decode(text)
      assert.is_nil(value)
      assert.equal(tostring(err), tostring(decode_err))
    end)
  end

  for _, name in ipairs(names.i) do
    local code, reason = table.unpack(DECIDED[name] or {})
    it(("has decided %s: %s, %s"):format(name, code == "" and "accepted" or code, reason), function()
      local text = files.read(folder .. name .. ".json")
      local err = refusal(text)
      assert.equal(code, err and err.code or "")
      local value, decode_err = moonplan.json.decode(text)
      if code ~= "" then
        assert.equal(code, decode_err.code)
      elseif NO_LUA_VALUE[name] then
        assert.is_nil(value)
        assert.equal("json.number", decode_err.code)
      else
        assert.is_nil(decode_err)
      end
    end)
  end

  it("leaves nothing undecided, and nothing is decided that it does not have", function()
    local here = {}
    for _, name in ipairs(names.i) do here[name] = true end
    for name in pairs(DECIDED) do assert(here[name], name) end
    for name in pairs(here) do assert(DECIDED[name], name) end
  end)
end)
