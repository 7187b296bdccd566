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
---@field needs? moonplan.Need[] the powers that ctx carries, where the host grants them; 32 at most
---@field input? table<string, moonplan.Field>
---@field output? table<string, moonplan.Field> where it is declared, the result is an object
---@field abi? moonplan.PluginAbi
---@field examples? moonplan.Example[] documentation, and tests: `moonplan plugins test`
---@field run fun(input: any, ctx: moonplan.Context): any, any
---
--- For a job that is resumed: whether the effect of an interrupted call happened. Nil: that cannot
--- be told, and the outcome stays unknown; so it does after an error.
---@field check? fun(input: any, ctx: moonplan.Context): moonplan.Happened?, any

---@class moonplan.Happened
---@field happened boolean false: the call is made again
---@field result? any where it happened: what the call would have returned

--- Functions and errors of contracts, for those who read calldata: signatures and entries of a JSON
--- ABI, of any contract; or tables with such a list and the contract that it is of. What a plugin
--- says adds to a review, and takes no finding away.
---@alias moonplan.PluginAbi (string|table)[]|moonplan.PluginContract[]

---@class moonplan.PluginContract
---@field address? string the contract
---@field chain_id? string its chain, in decimal; absent: any
---@field abi (string|table)[] "transfer(address to, uint256 amount)", "error Short(uint256 left)"

--- A power. NAME is letters, digits, _, - and ., at most 64: "rpc:main", "secret:token".
---@alias moonplan.Need "fs"|"fs:rw"|"clock"|"http"|"kv"|"random"|"rpc:NAME"|"secret:NAME"|string

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
---@field given? moonplan.World what stands in for the powers
---@field input? any
---@field output? any the whole result; 1 and 1.0 differ
---@field error? string the whole message
---@field after? moonplan.Aftermath what is outside afterwards

--- Doubles of the powers. What is not given is not there: using it fails the example.
---@class moonplan.World
---@field fs? table<string, string> contents by path
---@field clock? string a time: "2026-01-02T03:04:05.000Z"
---@field kv? table<string, any> values by key
---@field random? integer a seed: equal seeds give equal numbers
---@field secret? table<string, string> values by name
---@field http? moonplan.Answer[]
---@field rpc? table<string, moonplan.Reply[]> by endpoint

--- An answer to a request with this method ("GET" without), URL and, where there is one, body. Of
--- several that fit, the first that has not been given yet; then the last of them again.
---@class moonplan.Answer
---@field request {method: string?, url: string, body: string?}
---@field response? {status: integer?, headers: table<string, string>?, body: string?}
---@field error? string a code instead: "http.unavailable"

--- The same for a JSON-RPC method and, where they are there, params.
---@class moonplan.Reply
---@field method string
---@field params? table
---@field result? any
---@field error? moonplan.RpcError|string the endpoint's own, or a code: "rpc.interrupted"

---@class moonplan.Aftermath
---@field fs? table<string, string> what these files hold
---@field kv? table<string, any> what these keys keep

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
---@field http moonplan.Http with `needs` http
---@field kv moonplan.Kv with `needs` kv
---@field random moonplan.Random with `needs` random
---@field rpc moonplan.Rpc with `needs` rpc:NAME
---@field secret moonplan.Secrets with `needs` secret:NAME

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

--- Requests to the hosts that were granted, and to no others: by https to public addresses, or to a
--- loopback address that was granted as such. Certificates verify; redirects are responses like any
--- other; nothing is sent twice. All requests of one call together take at most the limit fetch_ms.
---@class moonplan.Http
local Http = {}

---@class moonplan.HttpRequest
---@field url string RFC 3986, with an ASCII host
---@field method? "GET"|"HEAD"|"POST"|"PUT"|"PATCH"|"DELETE" GET without; others than GET and HEAD
--- are for capabilities whose risk is not read, and for executors
---@field headers? table<string, string> but for those that are the client's: Host, Cookie, ...
---@field body? string at most the limit string_mib

---@class moonplan.HttpResponse
---@field status integer
---@field headers table<string, string> by name in lower case; several of one name in one, with ", "
---@field body string decoded; at most the limit string_mib

--- Ask, and wait for the whole answer, whatever its status. Errors: http.url, http.origin,
--- http.method, http.header, http.address, http.unavailable (nothing was sent), http.interrupted
--- (the request may have arrived), limit.
---@param request moonplan.HttpRequest
---@return moonplan.HttpResponse? response
---@return moonplan.Error? err
function Http.request(request) end

--- JSON-RPC 2.0 endpoints that the host has named. Where they are is not told, in no error either.
---@class moonplan.Rpc
local Rpc = {}

--- The endpoint's own error (JSON-RPC 2.0, section 5.1).
---@class moonplan.RpcError
---@field code integer
---@field message string
---@field data? any

--- A failed call. It has the fields of moonplan.Error, and these.
---@class moonplan.RpcFailure: moonplan.Error
---@field sent boolean false: the request has certainly not arrived
---@field error? moonplan.RpcError with the code rpc.error

--- One request, sent once, and its result, in which null is moonplan.null. Without params the list
--- is empty. Errors: rpc.endpoint (not in `needs`), rpc.request, rpc.unavailable (nothing was
--- sent), rpc.interrupted (the request may have arrived), rpc.response (an answer that is none),
--- rpc.error (the endpoint's own), limit.
---@param endpoint string the NAME of rpc:NAME
---@param method string
---@param params? table
---@return any result
---@return moonplan.RpcFailure? err
function Rpc.call(endpoint, method, params) end

--- Values that outlive the call: JSON, in the engine's store, in a space that the plugin's file has
--- for itself. A key is 1 to 256 bytes of UTF-8 without control characters. Bounded by the limits
--- kv_keys and kv_kib. Errors: kv.key, limit, store.failed.
---@class moonplan.Kv
local Kv = {}

--- What is kept under a key; nil where nothing is.
---@param key string
---@return any value
---@return moonplan.Error? err
function Kv.get(key) end

--- Keep a value; nil takes away what there was.
---@param key string
---@param value any
---@return true? done
---@return moonplan.Error? err
function Kv.set(key, value) end

--- All keys, sorted.
---@return string[]? keys
---@return moonplan.Error? err
function Kv.list() end

--- Unpredictable numbers, from the system's generator.
---@class moonplan.Random
local Random = {}

---@param count integer 0 to 65536
---@return string? bytes
---@return moonplan.Error? err memory
function Random.bytes(count) end

--- Each integer from the first to the second is as likely.
---@param least integer
---@param most integer
---@return integer number
function Random.integer(least, most) end

--- What the host keeps for the plugin: keys, passwords. Their bytes never come out of a plugin's
--- log, errors or results, where "[secret:NAME]" stands instead; a plugin that encodes or splits
--- one gives it away all the same.
---@class moonplan.Secrets
local Secrets = {}

--- Errors: secret.name (not in `needs`).
---@param name string the NAME of secret:NAME
---@return string? value
---@return moonplan.Error? err
function Secrets.get(name) end

--- In a plugin: what else there is of it.
---@class moonplan.plugin
plugin = {}

--- Run NAME/name.lua of a plugin that is a folder, once, and give what it returns.
---@param name string letters, digits, _ and -
---@return any
function plugin.import(name) end
