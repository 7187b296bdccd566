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
--- What plugins may reach of the world.
---@field grants? table<moonplan.Need, string|string[]|boolean|{value: string}> fs, fs:rw: a folder;
--- http: a host or a list of them ("api.example.com", "http://127.0.0.1:8080"); rpc:NAME: a URL;
--- secret:NAME: a file, or { value = "..." }, 8 to 4096 bytes; clock, kv, random: true
---
--- Where plugins run. "state": each in a Lua state of its own, in this process; for code that may
--- have bugs. "process": each in a process of its own that has nothing but its memory and a socket,
--- and is killed when it takes too long; for code that may be hostile. Default: those that are
--- trusted, which is to say shipped, pinned or signed by a key that earns it, in "state", all
--- others in "process". What cannot be confined is not run: `plugin.isolation`.
---@field isolation? "state"|"process"
---
--- A folder of the keys to trust, NAME.pub, and of trust.json, which says what they may sign, which
--- isolation they earn, and which digests are trusted without a signature. A folder of plugins with
--- a plugins.manifest is used as its signer says, or not at all. Without this nobody is trusted.
--- Error: `plugin.trust`.
---@field trust? string
---@field runner? string the program moonplan-runner; default: where it was built or installed
---
--- Decides about each step, given the exact input. Without one, what reads is allowed, and the
--- risks in `allow`; everything else is denied.
---@field authorizer? moonplan.Decider
---@field allow? ("read"|"write"|"destructive")[] risks that the default authorizer lets pass
---
--- Limits by name, as in `moonplan.limits`. For plugins in "state", `call_ms` counts when it is set
--- here, in processor time, and doubles what their code costs; in "process" it always counts, in
--- time that passes, but for what the host waits on behalf of the plugin.
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
---@field keep_jobs? integer ended jobs that memory keeps, 0 to 1000000; default 64
---
--- The file that jobs are kept in, a SQLite database; default: memory. A step is written down as
--- begun before its capability is called, and its result before anybody is told. Errors: `store.*`.
---@field store? string
---
--- "create" (default): the file is made where there is none. "existing": it has to be there.
--- "read": nothing is written either.
---@field store_mode? "create"|"existing"|"read"
---
--- Steps of these risks run only with an approval, and are then put to the authorizer like any
--- other. Without one the job waits, `awaiting_approval`. A step is of a risk when its capability
--- says so, or did when the job was made.
---@field approvals? ("read"|"write"|"destructive")[]
---@field approvers? (moonplan.PublicKey|string)[] whose approvals count; strings as in NAME.pub
---
--- Whether a resumed job begins a step again that only reads, and was begun when the job was
--- interrupted; default true. Of others the outcome is unknown then.
---@field retry_reads? boolean

--- A function of the host's, or the name of an authorizer that a plugin brings.
---@alias moonplan.Decider string|fun(request: moonplan.Request): moonplan.Decision?, any

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
---
--- The plan's idempotencyKey, if it is a string, counts: the first job that was made of the same
--- plan for the same caller with this key, deduplicated itself or not, is the answer, whatever
--- became of it. Where all jobs of the key have another plan or caller: store.conflict.
---@field deduplicate? boolean
---@field approvals? string[] JSON texts; what is wrong with one refuses the run: `approval.*`

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

--- Run several plans. Each is a job of its own, as if it were run alone; in a store on disk they
--- share their commits, which is what a step waits for: up to 64 jobs are under way, and their
--- steps run one after another. Nothing is promised about the order of two jobs. What goes wrong
--- with one concerns that one alone; when the machine stops, up to 64 jobs may have a step whose
--- outcome is unknown. Plans that are tables are captured whole before the first job begins.
---@param plans (string|table)[]
---@param options? moonplan.RunOptions for all of them
---@return (moonplan.Job|false)[]? jobs at the positions of their plans; false where there is none
---@return table<integer, moonplan.Error> errors why, by position; or, without jobs, the error
function Engine:run_many(plans, options) end

--- Admission alone: what a run would do. Nothing is called.
---@param plan string|table
---@param options? moonplan.RunOptions
---@return moonplan.Admitted? admitted
---@return moonplan.Error? err
---@nodiscard
function Engine:admit(plan, options) end

--- Have a builder make a plan. What it makes is checked like any other plan: there is no plan that
--- `moonplan.call_plan`, or `engine:admit` with all that it needs granted, would refuse.
---@param name string the builder's
---@param params? string|table JSON text of an object, or a table
---@return string? plan JSON text on one line; equal parameters give equal bytes
---@return string|moonplan.Error digest of a call plan its own, "0x" and 64 digits; of a step plan
--- that of its admission, 64 digits. Or err: `build.*`, all that is wrong in `err.errors`
---@nodiscard
function Engine:build(name, params) end

--- Run a plan one question at a time, for a host with a loop of its own:
--- `for want in assert(engine:drive(plan)) do ... end`. A question that is passed over is answered
--- by the engine.
---@param plan string|table
---@param options? moonplan.RunOptions
---@return moonplan.Drive? drive
---@return moonplan.Error? err
---@nodiscard
function Engine:drive(plan, options) end

--- Hand a call plan to an executor: it is prepared, tried, agreed to, and sent. It comes back when
--- the last receipt is there, a step has failed, or an outcome is unknown. Steps that are sent one
--- by one go out in order, each once the one before it has succeeded; the first failure ends it.
---
--- nil comes back when nothing was asked for: a text that is no plan, an executor that is not there
--- or lacks a power (send.executor), a required capability that it does not implement
--- (call.capability_unknown), another digest (send.digest). Everything else is an outcome. What
--- `confirm` or `record` raises is raised here, and nothing more is sent then. Lua's libraries
--- string, table and math have to be there.
---@param plan moonplan.CallPlan|string
---@param options? moonplan.SendOptions
---@return moonplan.SendOutcome? outcome
---@return moonplan.Error? err
function Engine:send(plan, options) end

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

--- What plugins describe of contracts (their field `abi`), for plan:review,
--- moonplan.abi.decode_call
--- and engine:send: `plan:review { abis = engine:abis() }`. All of it is marked `untrusted`.
---@return moonplan.AbiSource[]? abis
---@return moonplan.Problem[]|moonplan.Error problems what of the plugins cannot be used
---@nodiscard
function Engine:abis() end

--- Every capability there is, plugins included, or all of another kind that plugins bring; and
--- what of the plugins cannot be used.
---@param kind? "capability"|"builder"|"executor"|"authorizer" default capability
---@return moonplan.Description[]? capabilities
---@return moonplan.Problem[]|moonplan.Error problems
---@nodiscard
function Engine:list() end

--- Of a capability, or of whatever else plugins bring.
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

--- Run the examples of what a plugin brings, with doubles in the place of the powers: nothing
--- outside is touched, and nothing has to be granted.
---@param name string
---@return {ok: boolean, message: string?}[]? outcomes one an example
---@return moonplan.Error? err
---@nodiscard
function Engine:test(name) end

--- Read the plugins again that have been read, private files included. All or nothing: after an
--- error the old ones serve on, but for those that the trust store, as it is now, lets in no more
--- (a key taken away, revoked, expired or restricted, a pin gone): plans that name one are
--- refused, a job that comes to one fails with job.capability_gone, until a reload succeeds. What
--- was unregistered is there again. Jobs under way get the new capability with the next step, or
--- job.capability_gone where there is none any more. A name that a host's function has stays the
--- host's: the file that brings it is a problem (plugin.duplicate) in `engine:list` and
--- `engine:files`.
---@return true? done
---@return moonplan.Error? err plugin.signature before all others; plugin.trust: nothing was judged
function Engine:reload() end

--- Sign each folder of plugins: load all that is in it, write plugins.manifest, which names its
--- files with their sizes and digests and its plugins with their versions, and
--- plugins.manifest.minisig. Older ones are replaced.
---@param key moonplan.SecretKey
---@return integer? folders
---@return moonplan.Error? err plugin.signature, or what is wrong with a plugin
function Engine:sign_plugins(key) end

--- Whether each folder of plugins is what a key of the trust store has signed, file by file.
--- Nothing is loaded. Raises on an engine without `trust`.
---@return moonplan.Verified[]? folders
---@return moonplan.Error? err plugin.signature
---@nodiscard
function Engine:verify_plugins() end

--- The jobs of the store: in memory, those that have ended in that order, then those that wait,
--- then those under way; in a file, as they came.
---@param filter? moonplan.JobFilter
---@return {id: string, status: string, goal: string, created: string, completed: string?}[]? jobs
---@return moonplan.Error? err
---@nodiscard
function Engine:jobs(filter) end

--- Nil without an error when there is none.
---@param id string
---@return moonplan.Job?
---@return moonplan.Error? err
---@nodiscard
function Engine:job(id) end

--- Go on with a job that waits or was interrupted. Its plan is admitted again, completed steps keep
--- their results, and the caller is the job's own. What takes an approval does so by the engine's
--- policy and by the one that the job was made with; one that somebody has told to end does.
--- Errors: job.not_found, job.state (it has ended),
--- store.locked (somebody runs it), job.capability_gone, approval.*, or what admission says.
---@param id string
---@param options? {approvals: string[]?}
---@return moonplan.Job? job
---@return moonplan.Error? err and the job is as it was
function Engine:resume(id, options) end

--- Say how a step ended whose outcome is unknown. Nothing is called; the job can be resumed then. A
--- result has to be what its capability declares, where that version of it is registered here.
---@param id string
---@param step_id string
---@param outcome moonplan.Outcome
---@return true? done
---@return moonplan.Error? err as of resuming; job.output_type
function Engine:resolve(id, step_id, outcome) end

--- The job ends before its next step, whoever runs it or goes on with it. One that nobody runs has
--- ended at once.
---@param id string
---@return true? done
---@return moonplan.Error? err job.not_found, job.state
function Engine:cancel(id) end

--- An approval, not signed yet: of the whole plan, of one of its steps (which has no references),
--- or of the step that a job waits with.
---@param what moonplan.ApprovalRequest
---@return string? json for `moonplan.sign_approval`
---@return moonplan.Error? err
---@nodiscard
function Engine:approval(what) end

--- The audit trail of a store in a file, or a job's part of it: JSON texts of objects with before,
--- before_in_job, digest, event, position and sequence. The digest is BLAKE2b-256 over the text
--- without the member digest.
---@param id? string
---@return string[]? records
---@return moonplan.Error? err
---@nodiscard
function Engine:records(id) end

--- Compare a store in a file with its audit trail.
---@param options? {key: moonplan.PublicKey?} whose signature the head has to have
---@return moonplan.Audit? audit
---@return moonplan.Error? err what cannot be read at all
---@nodiscard
function Engine:verify(options) end

--- Sign the end of the audit trail as it is now. The signature is kept in the store.
---@param key moonplan.SecretKey
---@return true? done
---@return moonplan.Error? err
function Engine:sign_head(key) end

--- Let go of everything; raises inside one of the engine's own callbacks. A driven job that is
--- called again fails with job.capability_gone at its next step; one that is not stays "executing".
function Engine:close() end

--- Which jobs: all that is given has to hold.
---@class moonplan.JobFilter
---@field status? moonplan.JobStatus
---@field capability? string of one of the steps
---@field goal? string a part of it; letters of ASCII in either case
---@field since? string created then or later: RFC 3339 in UTC, or its beginning
---@field most? integer the latest ones

---@alias moonplan.JobStatus
---| "created"
---| "executing"
---| "completed"
---| "failed"
---| "cancelled"
---| "outcome_unknown" # waits: a step was begun, and nobody knows how it ended
---| "awaiting_approval" # waits: the next step may not run without one
---| "interrupted" # in a file: whoever ran it is gone; it can be resumed

---@class moonplan.Outcome
---
--- It happened; it went wrong; it did not happen, or may happen again.
---@field as "completed"|"failed"|"retry"
---@field result? any of a completed step
---@field result_json? string the same as JSON text
---@field message? string of a failed one

---@class moonplan.ApprovalRequest
---@field plan? string|table
---@field step? string a step's id; all steps without one
---@field caller? table whom the plan is to be run for
---@field job? string instead of a plan: the id of a job that waits
---@field expires integer milliseconds since 1970

---@class moonplan.Audit
---@field sound boolean
---@field jobs integer
---@field records integer
---@field head string digest of the last record
---@field signed? {sequence: integer, time: string} what the key's newest signature is about
---@field faults {job_id: string?, sequence: integer?, what: string, message: string}[]

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
---@field status moonplan.JobStatus
---@field goal string
---
--- Of a completed job: the result of the only step, or a list of all; `moonplan.null` for none.
---@field result any
---@field error moonplan.Failure? of a job that has failed, was cancelled, or waits
---@field idempotency_key string?
---@field digest string? of its plan, where jobs are kept in a file or approvals are asked for
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
---@field status "pending"|"running"|"completed"|"failed"|"outcome_unknown"|"awaiting_approval"
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
---@field job_id string? none where a plugin was loaded or refused
---@field type moonplan.EventType
---@field time string
---@field data moonplan.EventData

---@alias moonplan.EventType
---| "job.created" # goal
---| "execution.started"
---| "capability.started" # step_id, capability, digest of its plugin
---| "capability.completed" # step_id, capability
---| "capability.denied" # step_id, capability, risk, reason
---| "capability.failed" # step_id, capability, error
---| "capability.unknown" # step_id, capability: begun, and no end is known
---| "capability.resolved" # step_id, capability, outcome, reason
---| "approval.requested" # step_id, capability, version, risk, input_digest
---| "approval.granted" # step_id, capability, approval
---| "job.resumed"
---| "job.completed" # step_count
---| "job.failed" # error
---| "job.cancelled" # error
---| "plugin.loaded" # name, version, file, digest, key, decision, isolation; one for each item
---| "plugin.refused" # name, file, error; digest where the file could be read

---@class moonplan.EventData
---@field goal string?
---@field step_id string?
---@field capability string?
---@field risk string?
---
--- Of a denial; who resolved an outcome: "check", "policy", "host"; or why a trust store cannot
--- write down what it has seen.
---@field reason string?
---@field error moonplan.Failure?
---@field step_count integer?
---@field outcome "completed"|"failed"|"retry"|nil how an unknown outcome was resolved
---
--- This and the following where jobs are kept in a file, or approvals asked for.
---@field plan_digest string?
---@field caller_digest string?
---@field approvals string[]? the risks that take an approval in this job
---@field input_digest string?
---@field result_digest string?
---@field approval string? digest of the approval that a step runs with
---@field name string? of an item, or of the file that was refused
---@field version string?
---@field file string? NAME.lua, NAME/init.lua
---@field digest string? of the plugin's files, as in moonplan.Origin
---@field key string? id of the key that signed it
---@field decision "shipped"|"pinned"|"signed"|"unsigned"|nil
---@field isolation "state"|"process"|nil

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

--- Whom a plugin comes from.
---@class moonplan.Origin
---
--- BLAKE2b-256 of its file, 64 digits, as `b2sum -l 256` prints it; of a folder with several files,
--- of the lines that a plugins.manifest has for them.
---@field digest string?
---@field decision "shipped"|"pinned"|"signed"|"unsigned"|nil
---@field isolation "state"|"process"|nil where it runs
---@field key string? id of the key that signed it
---@field signer string? NAME of that key's NAME.pub

--- A capability, or what else plugins bring, as a list shows it.
---@class moonplan.Description : moonplan.Origin
---@field kind "capability"|"builder"|"executor"|"authorizer"
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
---@field builds "call_plan"|"step_plan"|nil of a builder
---@field uses string[]? of a builder
---@field params table<string, moonplan.Param>? of a builder
---@field implements string[]? of an executor: required capabilities that it has
---@field submits "call"|"plan"|nil of an executor
---@field examples (moonplan.Example|moonplan.BuilderExample)[]? in `engine:describe`

--- A folder of plugins that somebody trusted has signed.
---@class moonplan.Verified
---@field folder string
---@field key string id of the key
---@field signer string NAME of its NAME.pub
---@field isolation "state"|"process" what it earns
---@field files {path: string, size: integer, digest: string}[]
---@field items {name: string, version: string, file: string}[]

--- Why a plugin cannot be used. The message begins with the file's name below its folder.
---@class moonplan.Problem : moonplan.Fault
---@field file string
---@field shipped boolean

---@class moonplan.PluginFile : moonplan.Origin
---@field name string NAME
---@field file string
---@field shipped boolean
---@field names string[] of all that it brings
---@field capabilities string[] names of the capabilities among them
---@field err moonplan.Problem? why it, or one of what it brings, cannot be used
