--- moonplan jobs: what a store holds, and going on with it.
local parsers = require "moonplan.command.parsers"

return parsers.group("jobs", {
  summary = "list, show, resume, resolve, cancel and verify the jobs of a store",
  description = "Jobs that were run with --store FILE. Whoever holds a job runs it; one whose "
    .. "process is gone, or that waits, can be resumed.",
}, { "list", "show", "events", "resume", "resolve", "cancel", "verify", "sign", "export" })
