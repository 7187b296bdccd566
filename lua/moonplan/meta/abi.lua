---@meta moonplan.abi

--- The contract ABI (Solidity documentation, "Contract ABI Specification"), reviews, and conversion
--- to the batches of other standards. Plugins have moonplan.abi as well.
---
--- Values travel as in JSON: integers as decimal strings, exact to 256 bits, or as Lua integers;
--- addresses as 0x and 40 digits (in mixed case only with the checksum of ERC-55); bool as true
--- and false; bytes, bytes1 to bytes32 and function as 0x and digits; a string as a string, when
--- decoded and not UTF-8 as `{ hex = "0x..." }`; an array as a list; a tuple as a table by its
--- components' names, or as a list where they have none. When encoding, a list does for either.
---@class moonplan.abi
local abi = {}

--- Read functions and errors: a JSON ABI, one entry of it, an object with such an array as its
--- member `abi`, or signatures, one a line: `approve(address,uint256)`, `function f(uint256 a)
--- returns (bool)`, `error E(uint256 got)`, or types alone: `(address,uint256[])`.
---@param text string
---@param options? moonplan.Options
---@return moonplan.Abi? abi
---@return moonplan.Error? err `abi.type`, `abi.selector`, `json.*`
---@nodiscard
function abi.parse(text, options) end

--- The calldata of a call. Whatever is wrong is raised, on the caller's line: this is for authors
--- of plans, and a call without its calldata would be another call.
---@param signature string
---@param ... any the arguments
---@return string data
---@nodiscard
function abi.call(signature, ...) end

--- The functions and errors that a text describes, as the entries of a JSON ABI: what
--- `revert_decode.abi` of a call plan takes.
---@param text string as moonplan.abi.parse takes it; types alone are no entry
---@param options? moonplan.Options
---@return {type: "function"|"error", name: string, inputs: table[], outputs: table[]?}[]? entries
---@return moonplan.Error? err
---@nodiscard
function abi.json(text, options) end

--- The selector of a function or error: "0x" and 8 digits.
---@param signature string
---@param options? moonplan.Options
---@return string? selector
---@return moonplan.Error? err
---@nodiscard
function abi.selector(signature, options) end

--- Selector, if the signature has a name, and arguments.
---@param signature string
---@param arguments table? a list, or a table by names; nil where there are none
---@param options? moonplan.Options
---@return string? data
---@return moonplan.Error? err `abi.value`, `at` within the arguments
---@nodiscard
function abi.encode(signature, arguments, options) end

--- The arguments again, and notes on whatever differs from their one canonical encoding. Offsets of
--- errors and notes count bytes of the data.
---@param signature string
---@param data string "0x" and digits; it begins with the selector if the signature has a name
---@param options? moonplan.DecodeOptions
---@return table? arguments
---@return moonplan.Fault[]|moonplan.Error? notes or err
---@nodiscard
function abi.decode(signature, data, options) end

---@class moonplan.DecodeOptions : moonplan.Options
---@field strict? boolean refuse what is not the canonical encoding
---@field outputs? boolean decode what a call returned, which has no selector

--- Calldata explained, as a call of a review, with `findings` and `counts`. What cannot be decoded
--- is said to be so, and is no error.
---@param data string "0x" and digits
---@param options? moonplan.ReviewOptions
---@return moonplan.ReviewedCall? call
---@return moonplan.Error? err
---@nodiscard
function abi.decode_call(data, options) end

--- What a call gave when it reverted: `kind` (none, short, error, panic, custom, unknown,
--- malformed), `text` (a line for people), `selector`, `signature`, `name`, `arguments`, `reason`
--- of Error(string), `code` of Panic(uint256), `source`, `data`.
---@param data string "0x" and digits
---@param options? moonplan.ReviewOptions
---@return table? revert
---@return moonplan.Error? err
---@nodiscard
function abi.decode_revert(data, options) end

--- An address with the checksum of ERC-55 in the case of its letters.
---@param address string 0x and 40 digits, whatever their case
---@return string? address nil where it is none
---@nodiscard
function abi.checksum(address) end

--- Functions and errors that have been read. It cannot be changed.
---@class moonplan.Abi : userdata
---@field entries moonplan.AbiEntry[] in the order of their source
local Abi = {}

--- As moonplan.abi.encode, by name, or by signature where several functions share the name.
---@param name string
---@param arguments table?
---@param options? moonplan.Options
---@return string? data
---@return moonplan.Error? err
---@nodiscard
function Abi:encode(name, arguments, options) end

--- As moonplan.abi.decode, by name or signature.
---@param name string
---@param data string
---@param options? moonplan.DecodeOptions
---@return table? arguments
---@return moonplan.Fault[]|moonplan.Error? notes or err
---@nodiscard
function Abi:decode(name, data, options) end

---@class moonplan.AbiEntry
---@field kind "function"|"error"|"values"
---@field name string? of functions and errors
---@field signature string canonical: "approve(address,uint256)"
---@field selector string? of functions and errors, "0x" and 8 digits
---@field inputs {type: string, name: string?}[]
---@field outputs {type: string, name: string?}[]

---@class moonplan.ReviewOptions : moonplan.Options
---
--- Descriptions of contracts, for reading calldata: what moonplan.abi.parse returns, or tables with
--- that and whose it is. The first one that fits counts.
---@field abis? (moonplan.Abi|moonplan.AbiSource)[]
---
--- Seconds since 1970, for what is "long". Absent: only what is long at any time is called so.
---@field now? integer
---
--- Of moonplan.abi.decode_call: the contract that is called, an address.
---@field to? string
---
--- Of moonplan.abi.decode_call: the chain that it is on, in decimal.
---@field chain_id? string

---@class moonplan.AbiSource
---@field abi moonplan.Abi
---@field origin? string whose it is, for people: the name of a file or plugin
---@field address? string the one contract that it describes; otherwise its selectors are a guess
---@field chain_id? string the chain of that contract, in decimal; absent: any
---@field untrusted? boolean its word adds to a review and takes nothing away: what only such
--- sources describe is shown by them and stays unknown

--- A call plan explained. What is in a field that is not there, the plan does not have.
---@class moonplan.Review
---@field digest string computed here, from the plan
---@field chain_id string
---@field caip2_chain_id string
---@field sender string
---@field required_capabilities string[]
---@field steps moonplan.ReviewedStep[]
---@field failure_policy table? as in the plan: the producer's words, outside the digest
---@field outside_digest string[] what is there and can change without changing the digest
---@field findings moonplan.Finding[] the gravest first, then in the order of the plan
---@field counts {danger: integer, warning: integer, info: integer} those not listed included

---@class moonplan.Finding
---@field code string one of `moonplan.findings`
---@field severity "danger"|"warning"|"info"
---@field step integer? from 1; nil: the plan as a whole
---@field call string? "2.1.3": in step 2, in its first inner call, the third one
---@field at string JSON Pointer into the plan
---@field message string one line; untrusted text in it is quoted and visible

---@class moonplan.ReviewedStep
---@field step integer
---@field kind string
---@field to string
---@field value string wei
---@field value_ether string the same in ether, exactly
---@field gas string?
---@field data_bytes integer
---@field call moonplan.ReviewedCall

---@class moonplan.ReviewedCall
---@field id string? of an inner call; to, value, value_ether and data_bytes stand beside it
---@field kind "value"|"decoded"|"not_decoded" "value": there is no calldata
---@field selector string?
---@field signature string?
---@field name string?
---
--- A declaration has a tuple's components by name, in order, as tables have no order.
---@field arguments {name: string?, type: string, declaration: string?, value: any}[]?
---
---@field source string? whose description was used: an origin, or "standard"
---@field defined_by string? with "standard": where the function is from
---@field guess boolean? four bytes of a hash are all that speaks for it
---@field canonical boolean?
---@field notes {code: string, at: string?, offset: integer?, message: string}[]?
---@field reason string? why it is not decoded
---@field data string? the bytes that are not decoded
---@field calls moonplan.ReviewedCall[]? calls inside this one
---@field delegate boolean? another contract's code runs in the account itself
---@field assumed boolean? bytes that look like a call; nothing says that they are one

--- Between call plans and the batches of other standards. What cannot be carried is refused; what
--- is left behind is listed.
---@class moonplan.convert
local convert = {}

--- The parameters of wallet_sendCalls 2.0.0 (EIP-5792): the one object of the params array.
---@param plan moonplan.CallPlan|string
---@param options? moonplan.ConvertOptions
---@return string? json
---@return moonplan.Fault[]|moonplan.Error? lost, or err: `convert.unsupported`
---@nodiscard
function convert.to_send_calls(plan, options) end

--- A batch file of the Safe Transaction Builder, version 1.0, with its checksum. A Safe carries out
--- several transactions as one: where the plan does not require that, or requires it of one step,
--- `lost` says so.
---@param plan moonplan.CallPlan|string
---@param options? moonplan.ConvertOptions
---@return string? json
---@return moonplan.Fault[]|moonplan.Error? lost, or err: `convert.unsupported`
---@nodiscard
function convert.to_safe(plan, options) end

--- A call plan of the parameters of wallet_sendCalls.
---@param text string
---@param options? moonplan.ConvertOptions
---@return moonplan.CallPlan? plan
---@return moonplan.Fault[]|moonplan.Error? lost, or err: `convert.*`
---@nodiscard
function convert.from_send_calls(text, options) end

--- A call plan of a batch file of the Safe Transaction Builder.
---@param text string
---@param options? moonplan.ConvertOptions
---@return moonplan.CallPlan? plan
---@return moonplan.Fault[]|moonplan.Error? lost, or err: `convert.*`
---@nodiscard
function convert.from_safe(text, options) end

---@class moonplan.ConvertOptions : moonplan.Options
---@field account? string the sender, where a batch names none; it may name no other
---@field created? integer a Safe batch's createdAt, in milliseconds since 1970; default 0
