--- A document's text in, a plan or a list of faults out.
local moonplan = require "moonplan"
local references = require "moonplan.command.references"

local judge = {}

-- What tables and messages call the kinds, by the names of `--as` and of moonplan.kind.
local NOUNS = {
  call = "a call plan", call_plan = "a call plan",
  step = "a step plan", step_plan = "a step plan",
  reference = "an artifact reference", artifact_reference = "an artifact reference",
  ["typed-data"] = "a typed-data signature request",
  typed_data_signature_request = "a typed-data signature request",
}
local KINDS = {
  call = "call_plan", step = "step_plan", reference = "artifact_reference",
  ["typed-data"] = "typed_data_signature_request",
}

local function other_kind(kind, why, wanted)
  return { {
    code = "document.kind", at = "",
    message = ("%s %s; what is read here is %s"):format(why, NOUNS[kind], wanted),
  } }
end

--- What to say of a document that an engine has refused as a step plan, and its kind.
---@param text string
---@param err table
---@param options table limits, for telling what else it may be
---@return table[] faults
---@return string kind
function judge.refusal(text, err, options)
  local kind = moonplan.kind(text, options)
  if kind and kind ~= "step_plan" then return other_kind(kind, "this is", "a step plan"), kind end
  return err.errors, "step_plan"
end

--- How a verb reads documents. Call plans it always takes.
---@class moonplan.command.Reading
---@field made table for moonplan.call_plan
---@field as string? what `--as` said
---@field engine_of? fun(): table?, table[]? the engine for step plans, or why there is none; nil:
--- they are not taken
---@field request table? for moonplan.typed_data; nil: requests are not taken
---@field reference table for moonplan.reference

local function wanted_by(reading)
  local wanted = { "a call plan" }
  if reading.engine_of then wanted[#wanted + 1] = "a step plan" end
  if reading.request then wanted[#wanted + 1] = "a typed-data signature request" end
  return table.concat(wanted, ", ", 1, #wanted - 1) .. (#wanted > 1 and " or " or "")
    .. wanted[#wanted]
end

local function step_plan(text, engine_of)
  local engine, faults = engine_of()
  if not engine then return nil, faults end
  local admitted, err = engine:admit(text)
  if admitted then return admitted, nil, "step_plan" end
  return nil, err.errors, "step_plan"
end

local function request(text, options)
  local made, err = moonplan.typed_data(text, options)
  return made, err and err.errors, "typed_data_signature_request"
end

local function referred(name, text, reading)
  local options = reading.reference
  local resolved, faults = references.resolve(name, text, options)
  if not resolved then return nil, faults, "artifact_reference" end
  local document = resolved.plan or resolved.request
  if resolved.request and reading.request then
    -- The origin that was proved counts, whatever this says.
    local fine, err = resolved.request:check(reading.request)
    if not fine then
      return nil, references.of_artifact(name, err.errors), resolved.kind, resolved.provenance
    end
  end
  return document, nil, resolved.kind, resolved.provenance
end

--- A document of any kind that the verb takes, which is the third result where that is known; or
--- nil and its faults. What came by a reference has its provenance for the fourth.
---@param name string of the document, for people
---@param text string
---@param reading moonplan.command.Reading
---@return table? document
---@return table[]? faults
---@return string? kind
---@return table? provenance
function judge.document(name, text, reading)
  local as, kind = reading.as, nil
  if as then kind = KINDS[as] end
  if not kind or kind == "call_plan" then
    local plan, err = moonplan.call_plan(text, reading.made)
    if plan then return plan, nil, "call_plan" end
    if kind then return nil, err.errors, kind end
    -- Only a document that is no call plan needs a second look, to tell what it is.
    local kind_err
    kind, kind_err = moonplan.kind(text, reading.made)
    if not kind then return nil, kind_err.errors end
    if kind == "call_plan" then return nil, err.errors, kind end
  end
  if kind == "artifact_reference" then return referred(name, text, reading) end
  if kind == "step_plan" and reading.engine_of then return step_plan(text, reading.engine_of) end
  if kind == "typed_data_signature_request" and reading.request then
    return request(text, reading.request)
  end
  return nil, other_kind(kind, as and "taken for" or "this is", wanted_by(reading)), kind
end

--- A typed-data request, or what a reference to one names; results as of judge.document.
---@param name string
---@param text string
---@param reading { request: table, reference: table }
function judge.request(name, text, reading)
  local made, err = moonplan.typed_data(text, reading.request)
  if made then return made, nil, "typed_data_signature_request" end
  local kind, kind_err = moonplan.kind(text, { limits = reading.request.limits })
  if not kind then return nil, kind_err.errors end
  if kind == "artifact_reference" then return referred(name, text, reading) end
  if kind == "typed_data_signature_request" then return nil, err.errors, kind end
  return nil, other_kind(kind, "this is", "a typed-data signature request"), kind
end

return judge
