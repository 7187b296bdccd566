--- moonplan check: another word for validate.
local alias = {}
for name, part in pairs(require "moonplan.verbs.validate") do alias[name] = part end
alias.summary = "the same as validate"
return alias
