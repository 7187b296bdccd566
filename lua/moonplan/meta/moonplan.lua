---@meta moonplan

--- Plans that people and programs check before they let them happen: ERC-8410 call plans.
---
--- Input that is wrong gives nil and an error table. A call that is wrong (an option that does not
--- exist, a text that is no string) raises on the caller's line. Hashes and addresses are texts in
--- lower-case hexadecimal with 0x in front, everywhere.
---@class moonplan
---@field version string the version of the library: "major.minor.patch"
---@field null lightuserdata JSON's null; the same value as lua-cjson's `cjson.null`
---@field json moonplan.json
---@field abi moonplan.abi
---@field convert moonplan.convert
---@field keys moonplan.keys
---@field uint256 moonplan.uint256
local moonplan = {}

--- How input is read. The same table may be handed to every function that takes options; what a
--- function has no use for it only checks. Read with raw access.
---@class moonplan.Options
---
--- Names of the capabilities that the caller implements, compared exactly; none by default. A call
--- plan that requires another one is refused (ERC-8410, Required Capabilities).
---@field implements? string[]
---
--- false for readers that execute nothing: required capabilities are then shown, not enforced.
--- Default true. `moonplan.digest` never enforces them.
---@field enforce_capabilities? boolean
---
--- "reject" (default): upper-case hexadecimal digits are the fault `call.hex_case`, as in the
--- standard's schema. "normalize": they are lowered before anything is compared or hashed.
---@field hex_case? "reject"|"normalize"
---
--- Limits by name, each an integer between the floor and the ceiling that `moonplan.limits` lists.
---@field limits? table<string, integer>
---
--- How artifact references may be followed: any of "data" (inside the URL), "https", "file".
--- Default data alone.
---@field transports? string[]

---@class moonplan.EncodeOptions : moonplan.Options
---@field indent? integer spaces a level, 0 (default: one line) to 16

--- One fault in the input. `tostring` makes a line for people of it, with nothing in it that a
--- terminal would act upon: `code at /pointer (line 3, column 14): message`.
---@class moonplan.Fault
---@field code string stable; one of `moonplan.codes`
---@field at string JSON Pointer (RFC 6901), "" for the whole; cut at 256 bytes with "…"
---@field message string one line; what it quotes is bounded and made visible
---@field offset integer? bytes before it, from 0; nil where the fault has no place in a text
---@field line integer? from 1; a line ends with LF, CR LF or CR
---@field column integer? from 1, in bytes

--- The first fault, and all of them.
---@class moonplan.Error : moonplan.Fault
---@field errors moonplan.Fault[] in document order, the first one included

--- Read and validate an ERC-8410 execution plan; all faults are found.
---@param text string the JSON document; it is kept, not copied
---@param options? moonplan.Options
---@return moonplan.CallPlan? plan
---@return moonplan.Error? err
---@nodiscard
function moonplan.call_plan(text, options) end

--- A plan that has been validated. It cannot be changed; a field that it does not have is an error
--- that names the fields there are. Fields that are tables are fresh copies each time.
---
--- Everything outside the digest (`required_capabilities`, `failure_policy`, `extensions`) is the
--- producer's word: store the capabilities with an approval, and let none of it authorize anything.
---
--- A plan may be declared `<close>`, which gives its memory back where its scope ends.
---@class moonplan.CallPlan : userdata
---@field digest string plan digest: Keccak-256 of the canonical form, "0x" and 64 digits
---@field chain_id string EIP-155 chain id, decimal
---@field caip2_chain_id string the same as a CAIP-2 id: "eip155:1"
---@field sender string address, "0x" and 40 digits
---@field steps moonplan.Steps in the order of execution
---@field required_capabilities string[] empty when the plan names none
---
--- simulation_failure_policy: the producer's advice for each kind of failure; nil when absent.
---@field failure_policy table<string, {action: string, instruction: string}>?
---
--- What the producer added; nil when absent. Raises an error table (json.number) where it holds a
--- number that Lua has not; `plan:source "/extensions"` gives the text of any.
---@field extensions any
---@field warnings moonplan.Fault[] faults that do not make the plan invalid
local CallPlan = {}

--- The canonical form (ERC-8410, Plan Digest): the bytes that the digest is taken of.
---@return string? bytes
---@return moonplan.Error? err only when memory is short
function CallPlan:canonical() end

--- The JSON text of a value as it stands in the document; with hex_case = "normalize" the digits
--- of addresses and data are the lowered ones.
---@param pointer string JSON Pointer (RFC 6901); "" is the whole
---@return string? json nil where the pointer leads nowhere
function CallPlan:source(pointer) end

--- The plan explained to a person, as by `moonplan.review`.
---@param options? moonplan.ReviewOptions
---@return moonplan.Review? review
---@return moonplan.Error? err only when memory is short
---@nodiscard
function CallPlan:review(options) end

--- The steps, 1 to `#steps`; nil outside. `ipairs` walks them.
---@class moonplan.Steps : userdata
---@operator len: integer
---@field [integer] moonplan.Step

--- One transaction of a call plan. Two objects for one step of one plan are equal.
---@class moonplan.Step : userdata
---@field step integer its number, from 1
---@field kind string a caption of the producer's ("approval", "execution", ...); no authority
---@field to string address, "0x" and 40 digits
---@field data string calldata, "0x" and two digits a byte
---@field data_bytes integer length of the calldata in bytes
---@field selector string? the first four bytes, "0x" and 8 digits; nil when there are fewer
---@field value string wei, decimal, below 2^256
---@field gas string? a hint, decimal; never broadcast it (ERC-8410, Transactions)
---@field revert_decode table? how to decode what a revert returns; fails as `extensions` does

--- Read and validate an ERC-8410 typed-data signature request, which asks for one EIP-712
--- signature. With now, account, origin or no_delivery it is also checked as `request:check` does.
--- Nothing here holds a key or verifies a signature.
---@param text string the JSON document; it is kept, not copied
---@param options? moonplan.RequestOptions
---@return moonplan.TypedData? request
---@return moonplan.Error? err
---@nodiscard
function moonplan.typed_data(text, options) end

--- What the one who would sign knows.
---@class moonplan.RequestOptions : moonplan.Options
---
--- Seconds since 1970: from `valid_until` on a request is `typed_data.expired`. Absent: not
--- checked.
---@field now? integer
---
--- The address of the account that would sign; another one is `typed_data.signer_mismatch`. Absent:
--- not checked.
---@field account? string
---
--- The URL that the request was fetched from and verified by, "" where none is proved. Only to
--- an https origin that is the delivery's own may a signature be delivered
--- (`typed_data.delivery_origin`). Absent: not checked.
---@field origin? string
---
--- true: controlled delivery cannot be enforced here, so a request that asks for it is refused
--- (`typed_data.delivery_unsupported`): its signature must not fall to the caller instead.
---@field no_delivery? boolean

--- A request that has been validated. It cannot be changed; a field that it does not have is an
--- error that names the fields there are. Fields that are tables are fresh copies each time. It may
--- be declared `<close>`.
---@class moonplan.TypedData : userdata
---@field signer string address, "0x" and 40 digits, in lower case
---@field primary_type string the struct that the message is
---@field types table<string, {name: string, type: string}[]> as in the document
---@field domain table<string, string> as in the document
---@field message table<string, any> as in the document: numbers are texts (EIP-712 values)
---@field valid_until string? seconds since 1970, decimal, below 2^64; nil: no end
---
--- Where the signature is to go; nil: to the caller, free to be used anywhere.
---@field delivery {url: string, request_id: string}?
---
---@field request_digest string identity: Keccak-256 of the canonical form; never signed
---@field domain_separator string hashStruct of the domain (EIP-712)
---@field message_hash string hashStruct of the message (EIP-712)
---@field signing_digest string what a key signs (EIP-712)
local TypedData = {}

--- Whether it may be signed, or the signature released, by what the options say. Ask again after
--- every wait.
---@param options? moonplan.RequestOptions
---@return true? fine
---@return moonplan.Error? err
---@nodiscard
function TypedData:check(options) end

--- The canonical form (ERC-8410, Request Digest): the bytes that the request digest is taken of.
---@return string? bytes
---@return moonplan.Error? err only when memory is short
function TypedData:canonical() end

--- How the digests come about: `types` has encode_type and type_hash of each type that occurs,
--- `domain` and `message` are trees of moonplan.TypedValue; the four digests and canonical_form
--- stand beside them.
---@return table? tree
---@return moonplan.Error? err only when memory is short
function TypedData:explain() end

---@class moonplan.TypedValue
---@field name string? of a member
---@field type string
---@field encoded string its 32 bytes in the hash, "0x" and 64 digits
---@field value string|boolean? of a basic type
---@field members moonplan.TypedValue[]? of a struct
---@field elements moonplan.TypedValue[]? of an array

--- The request explained to a person: kind, signer, primary_type, valid_until and valid_until_time,
--- delivery, the digests, `domain` and `message` as in `explain`; `findings`, the gravest first,
--- each with code, severity ("danger", "warning", "info"), at, message; `counts` by severity. Of
--- the options, only `now`, `origin` and `limits` have a say: what is far away depends on the time,
--- and whether a delivery can be relied on depends on where the request is proved to come from.
---@param options? moonplan.RequestOptions
---@return table? review
---@return moonplan.Error? err only when memory is short
function TypedData:review(options) end

--- The JSON text of a value as it stands in the document.
---@param pointer string JSON Pointer (RFC 6901); "" is the whole
---@return string? json nil where the pointer leads nowhere
function TypedData:source(pointer) end

--- Is a text a typed_data_result, and, unless `request` is nil, about that request: both digests,
--- the signer? The signature is opaque: verify it by the mechanism agreed for the account.
---@param text string
---@param request moonplan.TypedData? nil: the shape alone
---@param options? moonplan.Options
---@return true? fine
---@return moonplan.Error? err
---@nodiscard
function moonplan.check_result(text, request, options) end

--- The same for a typed_data_receipt.
---@param text string
---@param request moonplan.TypedData?
---@param options? moonplan.Options
---@return true? fine
---@return moonplan.Error? err
---@nodiscard
function moonplan.check_receipt(text, request, options) end

--- The same for a delivery operation: the action submit or status.
---@param text string
---@param request moonplan.TypedData?
---@param options? moonplan.Options
---@return true? fine
---@return moonplan.Error? err
---@nodiscard
function moonplan.check_operation(text, request, options) end

--- Read and admit an ERC-8410 artifact reference, which names stored bytes by URL, length and
--- digest. Nothing is opened or fetched, and what a data: URL carries is not looked into.
---@param text string the JSON document; it is kept, not copied
---@param options? moonplan.ReferenceOptions they count for `resolve` as well
---@return moonplan.Reference? reference
---@return moonplan.Error? err
---@nodiscard
function moonplan.reference(text, options) end

---@class moonplan.ReferenceOptions : moonplan.Options
---@field expect? "plan"|"typed-data" a reference to anything else is `artifact.type`
---
--- The folders that file: references may lead into; none by default.
---@field file_roots? string[]

--- A reference that has been admitted. It cannot be changed, and may be declared `<close>`.
---@class moonplan.Reference : userdata
---@field kind "call_plan"|"typed_data_signature_request" what it names
---@field artifact_type string the same in the envelope's words
---@field url string
---@field transport "data"|"https"|"file"
---
--- https: in lower case, without the root dot. Proved once the reference is resolved, not before.
---@field host string?
---@field bytes integer? the promised length
---@field integrity {algorithm: string, value: string}? the promised digest
---@field instruction string? the producer's prose; it permits nothing
local Reference = {}

--- Fetch the bytes, compare length and digest with what was promised, and validate them as if they
--- had come inline. It waits: at most the limit fetch_ms. Each call fetches anew. Verified is not
--- approved. Every failure of a file: reference reads the same.
---@return moonplan.Resolved? resolved
---@return moonplan.Error? err
---@return "envelope"|"artifact"? where whose places the faults have; of file: always "envelope"
---@nodiscard
function Reference:resolve() end

--- The JSON text of a value as it stands in the envelope.
---@param pointer string JSON Pointer (RFC 6901); "" is the whole
---@return string? json nil where the pointer leads nowhere
function Reference:source(pointer) end

---@class moonplan.Resolved
---@field kind "call_plan"|"typed_data_signature_request"
---@field text string the verified bytes
---@field plan moonplan.CallPlan? of a call plan
---@field request moonplan.TypedData? of a request; check it with `origin = provenance.origin`
---@field provenance moonplan.Provenance

--- What is proved of where bytes came from. A path of this machine proves nothing, nor does a data:
--- URL.
---@class moonplan.Provenance
---@field transport "data"|"https"|"file"
---@field host string? https: whose certificate was verified
---@field origin string "https://" and the host; "" where there is none
---@field bytes integer
---@field digest string their Keccak-256

--- A reference to these bytes, which have to be a valid call plan or typed-data request.
---@param text string
---@param options? moonplan.MakeOptions
---@return string? envelope a JSON text
---@return moonplan.Error? err
---@return "envelope"|"artifact"? where "artifact": the faults have their places in the text
---@nodiscard
function moonplan.make_reference(text, options) end

---@class moonplan.MakeOptions : moonplan.Options
---@field url? string where the bytes are, or will be (https:, file:); absent: a data: URL with them
---@field expect? "plan"|"typed-data" take the text for this kind instead of looking

--- The plan digest alone, for identity. Everything is validated, but required capabilities are not
--- enforced.
---@param text string
---@param options? moonplan.Options
---@return string? digest "0x" and 64 digits
---@return moonplan.Error? err
---@nodiscard
function moonplan.digest(text, options) end

---@class moonplan.ManyOptions : moonplan.Options
---@field jobs? integer threads that share the work, 1 (default) to 256

--- The plan digests of many texts, which is faster than one after another: four are hashed side by
--- side where the processor can. In the place of a text that is no valid plan stands false, and
--- `moonplan.digest` says why.
---@param texts string[]
---@param options? moonplan.ManyOptions
---@return (string|false)[]? digests as moonplan.digest gives them, one for each text, in order
---@return moonplan.Error? err memory
---@nodiscard
function moonplan.digest_many(texts, options) end

--- Sign an approval that `engine:approval` has made: Ed25519 over its canonical text.
---@param approval string JSON text
---@param key moonplan.SecretKey
---@return string? json for `approvals` of a run or resumption
---@return moonplan.Error? err approval.shape
---@nodiscard
function moonplan.sign_approval(approval, key) end

--- A call plan explained to a person: every call decoded as far as that goes, and findings. A
--- review is no approval, and finds nothing that only a simulation or the chain could show.
--- Required capabilities of a plan that comes as text are shown, not enforced. Of each severity
--- there are as many findings as the limit `findings` says, and always the first of each code.
---@param plan moonplan.CallPlan|string a plan, or its JSON text
---@param options? moonplan.ReviewOptions
---@return moonplan.Review? review
---@return moonplan.Error? err what is wrong with the text
---@nodiscard
function moonplan.review(plan, options) end

--- The codes that findings have, the severity of each, and what it means. `review.rest` has the
--- severity of what it counts. Amounts that stand for everything are, of an allowance, 2^128-1 and
--- all above it, and exactly 2^112-1 and 2^96-1 (`allowance.unlimited`); of a typed message that is
--- not known here, any 2^n-1 from n = 96 (`amount.unlimited`).
---@return {code: string, severity: "danger"|"warning"|"info", text: string}[]
---@nodiscard
function moonplan.findings() end

--- Make an engine for step plans (ExecutionPlan v1).
---@param options? moonplan.EngineOptions
---@return moonplan.Engine? engine
---@return moonplan.Error? err a folder that is not there, or, with `strict`, a broken plugin
---@nodiscard
function moonplan.engine(options) end

--- Which kind of document a JSON text is, before anything else is checked.
---@param text string
---@param options? moonplan.Options
---@return "call_plan"|"step_plan"|"artifact_reference"|"typed_data_signature_request"? kind
---@return moonplan.Error? err `document.kind`: none of them; or why it is no JSON text
---@nodiscard
function moonplan.kind(text, options) end

--- Keccak-256 with the original padding, as Ethereum uses it; not NIST SHA3-256.
---@param bytes string
---@return string hash "0x" and 64 digits
---@nodiscard
function moonplan.keccak256(bytes) end

--- An address in lower case, or nil and why the text is none: 0x and 40 digits, in mixed case only
--- with the checksum of ERC-55.
---@param text string
---@return string? address
---@return string? reason
---@nodiscard
function moonplan.address(text) end

--- An amount as people write it, in base units: digits stand for themselves; "1.5 ether", "2 gwei",
--- "7 wei" have 18, 9 and 0 decimals; "2.5 tokens" has those that are said, 0 to 77. Nothing is
--- rounded, and a fraction needs its unit. nil and why it is none.
---@param value string|integer
---@param decimals? integer
---@return string? digits
---@return string? reason
---@nodiscard
function moonplan.amount(value, decimals) end

--- The other way: base units as a number of whole ones, exactly, without a unit. Raises when it is
--- no integer from 0 to 2^256-1.
---@param amount string|integer digits
---@param decimals integer 0 to 77
---@return string number
---@nodiscard
function moonplan.units(amount, decimals) end

--- Integers from 0 to 2^256-1, as decimal digits or Lua's own. What leaves that range is raised, as
--- is a division by zero.
---@class moonplan.uint256
local uint256 = {}

---@param a string|integer
---@param b string|integer
---@return string sum
---@nodiscard
function uint256.add(a, b) end

---@param a string|integer
---@param b string|integer
---@return string difference
---@nodiscard
function uint256.sub(a, b) end

---@param a string|integer
---@param b string|integer
---@return string product
---@nodiscard
function uint256.mul(a, b) end

--- Rounded down.
---@param a string|integer
---@param b string|integer
---@return string quotient
---@nodiscard
function uint256.div(a, b) end

---@param a string|integer
---@param b string|integer
---@return integer order -1, 0 or 1
---@nodiscard
function uint256.compare(a, b) end

--- SHA-256 (FIPS 180-4).
---@param bytes string
---@return string hash "0x" and 64 digits
---@nodiscard
function moonplan.sha256(bytes) end

--- BLAKE2b (RFC 7693) of 32 bytes, without a key.
---@param bytes string
---@return string hash "0x" and 64 digits
---@nodiscard
function moonplan.blake2b(bytes) end

--- Mark a table as a JSON array, so that it is one even when it is empty. Raises when it is no
--- table, or has another metatable.
---@generic T: table
---@param list T
---@return T list the same table
function moonplan.array(list) end

--- Whether a value is a table with the array mark.
---@param value any
---@return boolean
---@nodiscard
function moonplan.is_array(value) end

--- A text in double quotes, with every control, bidirectional and invisible character, backslash
--- and quote spelled out (`\u{1b}`), and bytes that are not UTF-8 as `\xff`.
---@param text string
---@param room? integer bytes of the result, 16 to 65536 (default 96); "…" shows a cut
---@return string quoted
---@nodiscard
function moonplan.quote(text, room) end

---@class moonplan.Limit
---@field name string
---@field default integer
---@field floor integer
---@field ceiling integer
---@field text string what it bounds, with the unit

--- The limits that `options.limits` can set.
---@return moonplan.Limit[]
---@nodiscard
function moonplan.limits() end

--- The codes that errors and warnings have, and what each means.
---@return {code: string, text: string}[]
---@nodiscard
function moonplan.codes() end

--- JSON (RFC 8259), strict and exact.
---
--- | JSON | Lua | back to JSON |
--- |---|---|---|
--- | null | `moonplan.null` | null; so is nil, at the top |
--- | true, false | boolean | |
--- | integer literal in int64 | integer | its digits |
--- | other number that is a finite double | float, the nearest | shortest: `1000.0`, `1e300` |
--- | any other number | none: `json.number` | |
--- | string | string | refused when it is not UTF-8 |
--- | array | table with the array mark | a table with the mark, or with the keys 1 to n, n > 0 |
--- | object | table | a table with string keys only; {} is an object |
---
--- No metamethod is called in either direction.
---@class moonplan.json
local json = {}

--- Read a JSON text. Only UTF-8, no byte order mark, no name twice in an object, no lone
--- surrogates, nothing behind the value.
---@param text string
---@param options? moonplan.Options
---@return any value `moonplan.null` for null; nil only with an error
---@return moonplan.Error? err
---@nodiscard
function json.decode(text, options) end

--- Write a value as a JSON text, the members of every object sorted by the bytes of their names, so
--- that equal values give equal texts. Refused, with `at` the place in the value: holes, names and
--- positions in one table, functions, userdata, NaN and infinities, tables inside themselves
--- (`json.value`), texts that are not UTF-8 (`json.utf8`), more nesting than the limit depth
--- (`json.depth`), more values or bytes than the limits values and document_bytes (`limit`).
---@param value any
---@param options? moonplan.EncodeOptions
---@return string? text
---@return moonplan.Error? err has no offset, line or column
---@nodiscard
function json.encode(value, options) end

moonplan.json = json

---@class moonplan.keys
local keys = {}

--- Ed25519 keys and signatures in minisign's formats (jedisct1.github.io/minisign). The secret
--- stays in C: no Lua value ever holds it.
---@return moonplan.SecretKey? key
---@return moonplan.Error? err
---@nodiscard
function keys.new() end

--- The secret key in a file NAME.key, which nobody but its owner may read.
---@param path string
---@param options? {password: string?}
---@return moonplan.SecretKey? key
---@return moonplan.Error? err key.format, key.password, file.unavailable
---@nodiscard
function keys.secret(path, options) end

--- The public key in a file NAME.pub.
---@param path string
---@return moonplan.PublicKey? key
---@return moonplan.Error? err key.format, file.unavailable
---@nodiscard
function keys.public(path) end

--- The text of a file NAME.pub, or its second line.
---@param text string
---@return moonplan.PublicKey? key
---@return moonplan.Error? err key.format
---@nodiscard
function keys.parse(text) end

moonplan.keys = keys

---@class moonplan.SecretKey : userdata
---@field id string 16 upper-case hexadecimal digits
---@field public moonplan.PublicKey
local SecretKey = {}

--- Write PATH.key, with mode 0600, and PATH.pub; neither may be there.
---@param path string
---@param options? {password: string?} to lock PATH.key with
---@return true? done
---@return moonplan.Error? err
function SecretKey:save(path, options) end

--- Sign a file's bytes: the text of a file NAME.minisig.
---@param bytes string
---@param comment? string the trusted comment: one line, at most 1024 bytes
---@return string? signature
---@return moonplan.Error? err signature.format
---@nodiscard
function SecretKey:sign(bytes, comment) end

--- Ed25519ph (RFC 8032) over `context`, a NUL and the bytes, as 128 digits. The context keeps what
--- was signed for one purpose from being taken for another.
---@param context string
---@param bytes string
---@return string signature
---@nodiscard
function SecretKey:sign_message(context, bytes) end

---@class moonplan.PublicKey : userdata
---@field id string
---@field text string of a file NAME.pub
local PublicKey = {}

---@param bytes string
---@param signature string the text of a file NAME.minisig
---@return string? comment the trusted one
---@return moonplan.Error? err signature.format, signature.key, signature.wrong
---@nodiscard
function PublicKey:verify(bytes, signature) end

---@param context string
---@param bytes string
---@param signature string 128 lower-case digits
---@return true? fine
---@return moonplan.Error? err signature.format, signature.wrong
---@nodiscard
function PublicKey:verify_message(context, bytes, signature) end

return moonplan
