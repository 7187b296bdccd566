--- Texts, measured.

-- What an input is that is no object: null, a boolean, a number, a string, an array. A schema
-- without a required field lets any input through to the capability.
local function other_than_object(input)
  if input == moonplan.null then return "null" end
  if type(input) ~= "table" then return "a " .. type(input) end
  return moonplan.is_array(input) and "an array" or nil
end

---@type moonplan.Capability[]
return {
  {
    kind = "capability",
    api = 1,
    name = "text.count",
    version = "1.0.0",
    summary = "Count the lines, words and bytes of a text.",
    risk = "read",
    input = {
      text = { type = "string", description = "the text; none counts as an empty one" },
    },
    output = {
      lines = { type = "number", integer = true, min = 0,
        description = "lines that end with LF, and one more for what stands behind the last" },
      words = { type = "number", integer = true, min = 0,
        description = "rows of bytes without ASCII white space in them" },
      bytes = { type = "number", integer = true, min = 0, description = "bytes of its UTF-8" },
    },
    examples = {
      { input = { text = "two words" }, output = { lines = 1, words = 2, bytes = 9 } },
      { input = { text = "one\n\nthree \xc3\xa9\n" },
        output = { lines = 3, words = 3, bytes = 14 } },
      { input = { text = "" }, output = { lines = 0, words = 0, bytes = 0 } },
      { output = { lines = 0, words = 0, bytes = 0 } },
      { input = moonplan.null, error = "the input is an object with a text in it, not null" },
      { input = 5, error = "the input is an object with a text in it, not a number" },
    },
    run = function(input)
      local other = input ~= nil and other_than_object(input)
      if other then return nil, "the input is an object with a text in it, not " .. other end
      local text = input and input.text or ""
      local _, lines = text:gsub("\n", "")
      local _, words = text:gsub("%S+", "")
      if text:find("[^\n]$") then lines = lines + 1 end
      return { lines = lines, words = words, bytes = #text }
    end,
  },
}
