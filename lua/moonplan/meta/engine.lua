---@meta

--- What `moonplan.engine` takes. Every field may be left out.
---@class moonplan.EngineOptions
---
--- Folders of plugins: DIR/NAME.lua or DIR/NAME/init.lua brings the capability NAME, or ones that
--- are called NAME.something. A file is read when a plan names something that it may bring.
---@field plugins? string|string[]
---@field shipped? boolean whether the plugins that come with moonplan are there; default true
---
--- Read every plugin at once, and make no engine if one of them cannot be used; default false: it
--- is skipped, and `engine:list` names it.
---@field strict? boolean
---
--- What plugins may reach of the world. `fs` and `fs:rw` are folders (read; read and write).
---@field grants? {fs: string?, ["fs:rw"]: string?, clock: boolean?}
---
--- Decides about each step, given the exact input. Without one, what reads is allowed, and the
--- risks in `allow`; everything else is denied.
---@field authorizer? fun(request: moonplan.Request): moonplan.Decision?, any
---@field allow? ("read"|"write"|"destructive")[] risks that the default authorizer lets pass
---
--- Limits by name, as in `moonplan.limits`. `call_ms` counts when it is set here: it doubles what a
--- plugin's code costs.
---@field limits? table<string, integer>
---
--- "shared" (default): the insides of a Lua plan's inputs are read again when their step begins,
--- so that changes made in the meantime count. "deep": the whole plan is captured when it is
--- submitted.
--- A plan that is JSON text is always captured as a whole.
---@field ownership? "shared"|"deep"
---
--- What a plan's `version` may be; default: anything, with a warning for others than 1.0.
---@field plan_versions? string[]
---
--- Milliseconds since 1970; default: the system's clock. One that raises stands still, at 0 if it
--- never gave a time.
---@field clock? fun(): integer
---
--- Ids of jobs and events, 1 to 39 visible ASCII characters; default: UUIDv7 (RFC 9562). With the
--- id of a job that is under way or kept, a job is refused: store.failed.
---@field id? fun(): string
---@field keep_jobs? integer ended jobs that `engine:job` finds, 0 to 1000000; default 64

--- What the authorizer is asked. Its own copy: changes change nothing.
---@class moonplan.Request
---@field job_id string
---@field step_id string
---@field capability {name: string, version: string?, risk: string?}
---@field input any references resolved
---@field caller table? as it was given to the run; the run's own is out of reach

---@class moonplan.Decision
---@field decision "allow"|"deny"
---@field reason string? of a denial; becomes the step's error. Read once, also through `__index`

---@class moonplan.RunOptions
---
--- Who asks. Kept as it is, handed to the authorizer and to capabilities.
---@field caller? {subject: string?, tenant: string?, scopes: string[]?, metadata: table?}

--- Capabilities, a policy, and the jobs that ran. It is used by one Lua state and its coroutines.
--- May be declared `<close>`. No function of the host's that it calls can yield.
---@class moonplan.Engine : userdata
local Engine = {}

--- Admit a step plan (ExecutionPlan v1) and run it to its end. A job that fails is a job; nil comes
--- back for a plan that is refused, which leaves nothing behind: `err.errors` has all faults.
---
--- Of a table, fields are read through `__index`, each once: goal, idempotencyKey, steps, and of
--- each step id, capability, capabilityVersion, input, reason, idempotencyKey. The number of steps
--- is `__len`, or the largest positive integer key; a hole refuses the plan. So does an accessor
--- that raises, or closes the engine (plan.capture).
---@param plan string|table JSON text or a table
---@param options? moonplan.RunOptions
---@return moonplan.Job? job
---@return moonplan.Error? err
function Engine:run(plan, options) end

--- Admission alone: what a run would do. Nothing is called.
---@param plan string|table
---@param options? moonplan.RunOptions
---@return moonplan.Admitted? admitted
---@return moonplan.Error? err
---@nodiscard
function Engine:admit(plan, options) end

--- Run a plan one question at a time, for a host with a loop of its own:
--- `for want in assert(engine:drive(plan)) do ... end`. A question that is passed over is answered
--- by the engine.
---@param plan string|table
---@param options? moonplan.RunOptions
---@return moonplan.Drive? drive
---@return moonplan.Error? err
---@nodiscard
function Engine:drive(plan, options) end

--- Register the host's own function as a capability, or a list of them, all or nothing. It runs in
--- this Lua state and is granted nothing. Fields of `input` and `output` of unknown types are
--- taken, and refuse whatever value they meet.
---@param capability moonplan.Capability|moonplan.Capability[]
---@return true? done
---@return moonplan.Error? err plugin.duplicate, plugin.manifest
function Engine:capability(capability) end

--- Take a capability away. One that a plugin brings, read already or not, is gone until the next
--- reload; until then the host may register the name itself. Jobs under way look each step's
--- capability up when it begins: one that is gone by then fails the step with job.capability_gone.
---@param name string
---@return boolean there
function Engine:unregister(name) end

--- Hear of events: of a type, of all ("*"), or of what capabilities write to their log ("log",
--- which is not in "*"). Whatever the function does, the job goes on. The same function counts once
--- for a type.
---@param type string
---@param listener fun(event: moonplan.Event|moonplan.LogEntry)
---@return fun() unsubscribe
function Engine:on(type, listener) end

--- Every capability there is, plugins included; and what of the plugins cannot be used.
---@return moonplan.Description[]? capabilities
---@return moonplan.Problem[]|moonplan.Error problems
---@nodiscard
function Engine:list() end

---@param name string
---@param version? string exactly; nil is any
---@return moonplan.Description? description
---@return moonplan.Problem? err where its plugin cannot be used
---@nodiscard
function Engine:describe(name, version) end

--- The plugin files, read and checked: all, or those of a NAME.
---@param name? string
---@return moonplan.PluginFile[]? files
---@return moonplan.Error? err
---@nodiscard
function Engine:files(name) end

--- Run the examples of a plugin's capability, with doubles in the place of the powers: nothing
--- outside is touched, and nothing has to be granted.
---@param name string
---@return {ok: boolean, message: string?}[]? outcomes one an example
---@return moonplan.Error? err
---@nodiscard
function Engine:test(name) end

--- Read the plugins again that have been read, private files included. All or nothing: after an
--- error the old ones serve on. What was unregistered is there again. Jobs under way get the new
--- capability with the next step, or job.capability_gone where there is none any more. A name that
--- a host's function has stays the host's: the file that brings it is a problem (plugin.duplicate)
--- in `engine:list` and `engine:files`.
---@return true? done
---@return moonplan.Error? err
function Engine:reload() end

--- The jobs in memory: those that have ended in that order, then those under way.
---@return {id: string, status: string, goal: string, created: string, completed: string?}[]? jobs
---@return moonplan.Error? err
---@nodiscard
function Engine:jobs() end

---@param id string
---@return moonplan.Job?
---@nodiscard
function Engine:job(id) end

--- Let go of everything; raises inside one of the engine's own callbacks. A driven job that is
--- called again fails with job.capability_gone at its next step; one that is not stays "executing".
function Engine:close() end

--- A plan that would run.
---@class moonplan.Admitted
---@field goal string trimmed; "External execution plan" without one
---@field steps moonplan.AdmittedStep[]
---@field warnings moonplan.Fault[]

---@class moonplan.AdmittedStep
---@field id string
---@field capability string
---@field version string? the registered capability's
---@field risk string? the registered capability's
---@field reason string?
---@field idempotency_key string?
---@field references moonplan.Reference[]

---@class moonplan.Reference
---@field at string JSON Pointer to the reference
---@field ref string steps.ID.result.PATH
---@field path string? PATH
---@field step integer the step that it names, from 1

--- One execution of a step plan. It cannot be changed; tables in it are the reader's own. A field
--- that it does not have is an error; one that is absent is nil.
---@class moonplan.Job : userdata
---@field id string
---@field status "created"|"executing"|"completed"|"failed"
---@field goal string
---
--- Of a completed job: the result of the only step, or a list of all; `moonplan.null` for none.
---@field result any
---@field error moonplan.Failure? of a failed job
---@field idempotency_key string?
---@field digest string?
---@field created string RFC 3339, UTC, with milliseconds
---@field started string?
---@field completed string? when it ended, also when it failed
---@field caller_subject string?
---@field steps moonplan.JobStep[]
---@field events moonplan.Event[]
---@field warnings moonplan.Fault[]? what admission found, where the job comes from `engine:run`
local Job = {}

--- The whole job as JSON text, with every number as it stands.
---@param indent? integer spaces a level, 0 (default: one line) to 16
---@return string json
function Job:json(indent) end

--- What a completed job came to, as JSON text: "null" where that is nothing; nil of other jobs.
---@param indent? integer
---@return string? json
function Job:result_json(indent) end

---@class moonplan.JobStep
---@field id string
---@field capability string
---@field capability_version string?
---@field input any as in the plan, references included
---@field reason string?
---@field idempotency_key string?
---@field status "pending"|"running"|"completed"|"failed"
---@field result any of a completed step; `moonplan.null` where it gave nothing
---@field error moonplan.Failure?
---@field created string
---@field started string? once it has been allowed
---@field completed string?

---@class moonplan.Failure
---@field code string job.* or limit
---@field message string the capability's or authorizer's own where they gave one
---@field detail any a capability's own code: {code = "PLUGIN.code"}

--- What happened in a job.
---@class moonplan.Event
---@field id string
---@field job_id string
---@field type moonplan.EventType
---@field time string
---@field data moonplan.EventData

---@alias moonplan.EventType
---| "job.created" # goal
---| "execution.started"
---| "capability.started" # step_id, capability
---| "capability.completed" # step_id, capability
---| "capability.denied" # step_id, capability, risk, reason
---| "capability.failed" # step_id, capability, error
---| "job.completed" # step_count
---| "job.failed" # error

---@class moonplan.EventData
---@field goal string?
---@field step_id string?
---@field capability string?
---@field risk string?
---@field reason string?
---@field error moonplan.Failure?
---@field step_count integer?

--- What a capability wrote with ctx.log. The texts are its own: make them visible
--- (`moonplan.quote`) before a terminal gets them.
---@class moonplan.LogEntry
---@field level "debug"|"info"|"warn"|"error"
---@field message string
---@field data any
---@field job_id string
---@field step_id string
---@field capability string
---@field time string

--- A job that is driven by the host. Calling it gives the next question, or nil at the end. May be
--- declared `<close>`.
---@class moonplan.Drive : userdata
---@field job moonplan.Job as it is now
---@operator call: moonplan.Want?

--- A question. It has one answer, and is over when the next one is asked.
---@class moonplan.Want : userdata
---@field kind "decision"|"result"
---@field job_id string
---@field step_id string
---@field step integer from 1
---@field capability string
---@field version string?
---@field risk string?
---@field input any what the capability gets; a fresh copy each time
---@field caller table?
local Want = {}

--- To a decision: yes.
function Want:allow() end
--- To a decision: no.
---@param reason? string
function Want:deny(reason) end
--- To a decision: what an authorizer would return.
---@param decision moonplan.Decision
function Want:decide(decision) end
--- To a result: this; nil is none.
---@param result? any
function Want:complete(result) end
--- To either: it went wrong. A string is the message; a table gives its `message` and `code`.
---@param err? any
function Want:fail(err) end

--- A capability as a list shows it.
---@class moonplan.Description
---@field name string
---@field version string?
---@field summary string?
---@field risk string?
---@field needs string[] powers
---@field missing string[] those of them that are not granted: plans that name it are refused
---@field input table<string, moonplan.Field>?
---@field output table<string, moonplan.Field>?
---@field file string? of a plugin: DIR/NAME.lua, DIR/NAME/init.lua
---@field shipped boolean? of a plugin
---@field examples moonplan.Example[]? in `engine:describe`

--- Why a plugin cannot be used. The message begins with the file's name below its folder.
---@class moonplan.Problem : moonplan.Fault
---@field file string
---@field shipped boolean

---@class moonplan.PluginFile
---@field name string NAME
---@field file string
---@field shipped boolean
---@field capabilities string[] names
---@field err moonplan.Problem? why it, or one of what it brings, cannot be used
