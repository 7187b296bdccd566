--- What `moonplan plugins new` writes: a plugin that works, for its author to change.
local scaffold = {}

-- @NAME@, @FAMILY@ and @TITLE@ are filled in.
local CAPABILITY = [==[
--- @TITLE@: what this family of capabilities is about, in a sentence.
---
--- A plugin is a Lua file that returns what it brings. This one is called @FAMILY@.lua, so it may
--- bring @FAMILY@ and anything called @FAMILY@.SOMETHING: more of them go into the same list.
---
---   moonplan plugins check @FAMILY@ --plugins DIR    is it well made?
---   moonplan plugins test @FAMILY@ --plugins DIR     do the examples hold?
---   moonplan plugins show @NAME@ --plugins DIR

---@type moonplan.Capability[]
return {
  {
    kind = "capability",
    api = 1,
    name = "@NAME@",
    -- A plan may ask for a version, and then for this very one: change it with every change.
    version = "0.1.0",
    summary = "Make a text loud.",
    -- "read" changes nothing anywhere. "write" and "destructive" are denied unless somebody allows
    -- them, which is why a capability does one thing only.
    risk = "read",
    -- What of the outside world it needs: "fs" (ctx.fs.read, list, size), "fs:rw" (ctx.fs.write as
    -- well), "clock" (ctx.clock.now). Whoever runs a plan has to grant it.
    needs = {},

    -- Checked before `run` is called, so that `run` can rely on it. Types: string, number, boolean,
    -- object, array; further: integer = true, min, max, max_length, enum = { ... }.
    input = {
      text = { type = "string", required = true, max_length = 1000, description = "what to say" },
      marks = { type = "number", integer = true, min = 0, max = 10,
        description = "exclamation marks; 1 without it" },
    },
    output = {
      text = { type = "string", description = "the same, loud" },
    },

    -- Documentation and test in one.
    examples = {
      { input = { text = "hello" }, output = { text = "HELLO!" } },
      { input = { text = "hello", marks = 3 }, output = { text = "HELLO!!!" } },
      { input = { text = " " }, error = "there is nothing to say" },
    },

    -- `input` is a copy of its own; a member that the plan left out is nil. What comes back becomes
    -- the step's result, which later steps can refer to. `nil, message` fails the step, and with it
    -- the job. `ctx` has job_id, step_id, caller, idempotency_token, log (log.info "...") and the
    -- powers of `needs`.
    run = function(input, ctx)
      if not input.text:find("%S") then return nil, "there is nothing to say" end
      ctx.log.debug("raising my voice")
      return { text = input.text:upper() .. ("!"):rep(input.marks or 1) }
    end,
  },
}
]==]

--- The text of a capability's file.
---@param name string
---@param family string what the file is called
---@return string
function scaffold.capability(name, family)
  local values = { NAME = name, FAMILY = family, TITLE = (family:gsub("^%l", string.upper)) }
  return (CAPABILITY:gsub("@(%u+)@", values))
end

return scaffold
