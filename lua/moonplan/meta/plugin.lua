---@meta

--- What a plugin file returns, one or a list of them. A field that is not here is a mistake, and
--- refuses the file.
---@class moonplan.Capability
---@field kind? "capability" required in a file
---@field api? 1 required in a file
---
--- In a file: NAME, or NAME and more behind a dot; letters, digits, _ and - in rows between dots.
---@field name string
---@field version? string required in a file; plans name it exactly
---@field summary? string required in a file; one line
---@field risk? "read"|"write"|"destructive" required in a file
---@field needs? ("fs"|"fs:rw"|"clock")[] the powers that ctx carries, where the host grants them
---@field input? table<string, moonplan.Field>
---@field output? table<string, moonplan.Field> where it is declared, the result is an object
---@field examples? moonplan.Example[] documentation, and tests: `moonplan plugins test`
---@field run fun(input: any, ctx: moonplan.Context): any, any
---
--- For a job that is resumed: whether the effect of an interrupted call happened.
---@field check? fun(input: any, ctx: moonplan.Context): any, any

--- A field of an input or output.
---@class moonplan.Field
---@field type "string"|"number"|"boolean"|"object"|"array"
---@field required? boolean there, and neither null nor ""
---@field description? string
---@field integer? boolean of a number
---@field min? number
---@field max? number
---@field max_length? integer of a string, in characters
---@field enum? (string|number|boolean)[]

--- A call and what comes of it. Without output and error, nothing comes of it.
---@class moonplan.Example
---
--- What stands in for the powers: contents by path, a time.
---@field given? {fs: table<string, string>?, clock: string?}
---@field input? any
---@field output? any the whole result; 1 and 1.0 differ
---@field error? string the whole message
---@field after? {fs: table<string, string>} what these files hold afterwards

--- What `run` is told beside its input. A failure is raised, or returned behind nil: a string is
--- the message; a table gives its `message`, and its `code`, which comes out as "PLUGIN.code".
---@class moonplan.Context
---@field job_id string
---@field step_id string
---@field caller table? who asks; this call's own copy: changes change nothing
---
--- Equal for equal job, step and input, and for nothing else: a key for systems that deduplicate.
---@field idempotency_token string 64 hexadecimal digits
---@field log moonplan.Log
---@field fs moonplan.Files with `needs` fs or fs:rw
---@field clock moonplan.Clock with `needs` clock

--- The job's log, for the host. At most the limit log_kib a call; the rest is left out, and that is
--- said once.
---@class moonplan.Log
---@field debug fun(message: string, data: any?)
---@field info fun(message: string, data: any?)
---@field warn fun(message: string, data: any?)
---@field error fun(message: string, data: any?)

--- Files below the granted folder: regular ones with one name (no hard links), reached over no
--- symbolic link and no mount point. A path is names with single slashes between them; none is
--- empty, "." or "..". Errors: file.path, file.unavailable, limit.
---@class moonplan.Files
local Files = {}

--- A file's whole content; at most the limit string_mib.
---@param path string
---@return string? content
---@return moonplan.Error? err
function Files.read(path) end

--- A file's size in bytes.
---@param path string
---@return integer? bytes
---@return moonplan.Error? err
function Files.size(path) end

--- What is in a folder, sorted; the names of folders end in "/". Other things are left out.
---@param path? string
---@return string[]? names
---@return moonplan.Error? err
function Files.list(path) end

--- Make a file, or replace one, as a whole; in a folder that is there. Only with fs:rw.
---@param path string
---@param content string
---@return true? done
---@return moonplan.Error? err
function Files.write(path, content) end

---@class moonplan.Clock
local Clock = {}

--- The engine's time.
---@return string time RFC 3339, UTC, with milliseconds
---@return integer milliseconds since 1970
function Clock.now() end

--- In a plugin: what else there is of it.
---@class moonplan.plugin
plugin = {}

--- Run NAME/name.lua of a plugin that is a folder, once, and give what it returns.
---@param name string letters, digits, _ and -
---@return any
function plugin.import(name) end
