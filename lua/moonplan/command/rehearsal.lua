--- A dry run: what a run of an admitted step plan would do, of which nothing has been done.
local console = require "moonplan.console"
local exits = require "moonplan.command.exits"
local moonplan = require "moonplan"
local report = require "moonplan.command.report"
local text = require "moonplan.command.text"

local rehearsal = {}

-- What will be decided is known where the default authorizer decides: by the risk alone.
local function decision_of(step, arguments)
  if arguments.authorizer then return "ask" end
  if step.risk == "read" then return "allow" end
  for _, risk in ipairs(arguments.allow) do
    if risk == step.risk then return "allow" end
  end
  return "deny"
end

local DECISIONS = {
  ask = "the authorizer is asked once the input is known",
  deny = "would be denied, which ends the job: --allow %s lets it pass",
}

local function reference_line(plan, reference)
  local part = reference.path and text.quoted(reference.path) .. " of the result"
    or "the whole result"
  return ("%s of step %s, for %s"):format(part, text.quoted(plan.steps[reference.step].id),
    text.visible(reference.at))
end

local function add_step(lines, plan, n, arguments)
  local step = plan.steps[n]
  local function add(words) lines[#lines + 1] = "     " .. words end
  lines[#lines + 1] = ("  %-2d %s"):format(n, text.visible(step.id))
  add(("calls   %s %s (%s)"):format(text.visible(step.capability), text.visible(step.version),
    text.visible(step.risk)))
  if step.reason then add("reason  " .. text.bounded(step.reason, 200)) end
  for i, reference in ipairs(step.references) do
    add((i == 1 and "needs   " or "        ") .. reference_line(plan, reference))
  end
  local words = DECISIONS[decision_of(step, arguments)]
  if words then add("policy  " .. words:format(step.risk)) end
end

local function layout(plan, arguments)
  local lines = {
    "dry run: nothing is called, nobody is asked, nothing is written",
    "",
    "goal    " .. text.bounded(plan.goal, 2000),
    "",
    text.count(#plan.steps, "step") .. ", in this order",
  }
  for n = 1, #plan.steps do add_step(lines, plan, n, arguments) end
  return table.concat(lines, "\n") .. "\n"
end

local function record(name, plan, arguments)
  local steps = {}
  for n, step in ipairs(plan.steps) do
    local references = {}
    for i, reference in ipairs(step.references) do
      references[i] = {
        at = reference.at, ref = reference.ref, path = reference.path,
        step = plan.steps[reference.step].id,
      }
    end
    steps[n] = {
      id = step.id, capability = step.capability, capability_version = step.version,
      risk = step.risk, reason = step.reason, decision = decision_of(step, arguments),
      references = moonplan.array(references),
    }
  end
  local all = report.record(name, plan, nil, "step_plan")
  all.dry_run, all.goal, all.steps = true, plan.goal, moonplan.array(steps)
  return all
end

--- Show it, and give the exit code.
---@param name string
---@param plan table as engine:admit gives it
---@return integer exit code
function rehearsal.show(name, plan, arguments)
  if arguments.json then
    report.json(record(name, plan, arguments))
    return exits.fine
  end
  report.warnings(name, plan.warnings)
  console.write(layout(plan, arguments))
  return exits.fine
end

return rehearsal
