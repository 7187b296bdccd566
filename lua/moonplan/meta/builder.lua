---@meta

--- What a plugin file returns for a builder: parameters in, a plan out. No builder is granted a
--- power, and none can write a plan's chain, its sender or its `extensions`: the host writes the
--- document out of what was added to `plan`, and reads it like any other plan.
---@class moonplan.Builder
---@field kind "builder"
---@field api 1
---@field name string NAME, or NAME and more behind a dot; letters, digits, _ and -
---@field version string
---@field summary string one line
---@field builds "call_plan"|"step_plan" ERC-8410, or ExecutionPlan v1
---
--- Of step plans, and there required: the capabilities that its steps name, 64 at most.
---@field uses? string[]
---
--- By name. A builder of call plans has the required parameters `chain`, of type chain, and
--- `sender`, of type address.
---@field params table<string, moonplan.Param>
---@field abi? moonplan.PluginAbi what it knows of contracts, for those who read its plans
---@field examples? moonplan.BuilderExample[] documentation, and tests: `moonplan plugins test`
---
--- `p` holds the parameters in one form each; reading one that is not declared is an error.
--- `return nil, message` refuses them, `return nil, message, "path/1"` says which parameter is at
--- fault, or which element (from 0) or field of one; nothing else is returned.
---@field build fun(p: table<string, any>, plan: moonplan.Draft): nil, any

---@alias moonplan.Draft moonplan.CallPlanDraft|moonplan.StepPlanDraft

--- A parameter. All mistakes in what is given are told at once, each at its name.
---
--- | type | takes | the builder gets |
--- |---|---|---|
--- | chain | an EIP-155 chain: an integer from 1, its digits, or its name eip155:1 | digits |
--- | address | 0x and 40 digits; in mixed case with the checksum of ERC-55 | lower case |
--- | amount | base units, an integer or its digits; or 1.5 ether, 2 gwei, 2.5 tokens | digits |
--- | uint256 | an integer or its digits, below 2^256 | digits |
--- | bytes | 0x and an even number of digits | lower case |
--- | string, number, boolean, object, array | as JSON has them | the same |
---
--- A fraction needs its unit, for the same digits without the point would be base units.
---@class moonplan.Param
---@field type moonplan.ParamType
---@field required? boolean there, and not null
---@field description? string
---@field integer? boolean of a number: written as one
---@field min? number|string of a number; of an amount or uint256 an integer or its digits
---@field max? number|string
---@field max_length? integer of a string in characters, of bytes in bytes, of an array in elements
---@field enum? (string|number|boolean)[] of a string, number or boolean
---
--- Of an amount: how many decimals tokens have, 0 to 77, or the name of the parameter that says it,
--- a number with `integer`. Other decimals than 18, and those that another parameter does not say,
--- refuse units of ether.
---@field decimals? integer|string
---@field items? moonplan.Param of an array: what its elements are
---@field fields? table<string, moonplan.Param> of an object: all that it may have

---@alias moonplan.ParamType
---| "chain"
---| "address"
---| "amount"
---| "uint256"
---| "bytes"
---| "string"
---| "number"
---| "boolean"
---| "object"
---| "array"

--- Parameters and what comes of them: a plan that has this digest, or is this one, or an error.
---@class moonplan.BuilderExample
---@field params? table
---@field digest? string the plan digest: "0x" and 64 lower-case digits; of a call plan
---@field plan? table the whole plan
---@field error? string the whole message

--- A call plan in the making.
---@class moonplan.CallPlanDraft
local CallPlanDraft = {}

--- Add a call. Calls go out in the order in which they are added.
---@param call moonplan.CallDraft
function CallPlanDraft:call(call) end

--- Whoever executes the plan has to have this capability: `atomic_batch` is the standard's own, all
--- calls in one transaction or none (ERC-8410, "Capabilities").
---@param name string 1 to 64 characters from 0x21 to 0x7e; a plan has at most 32 of them
function CallPlanDraft:require(name) end

--- What the producer advises where simulating the plan fails (ERC-8410, "Simulation failure
--- policy"). Advice for people; it permits nothing. `retry_same_plan` is for rpc_error alone.
---@param policy moonplan.Policy
function CallPlanDraft:policy(policy) end

--- All three have to be there.
---@class moonplan.Policy
---@field rpc_error moonplan.Advice
---@field execution_reverted moonplan.Advice
---@field simulation_setup_error moonplan.Advice

---@class moonplan.Advice
---@field action "retry_same_plan"|"reprepare_plan"|"user_review"
---@field instruction string 1 to 2000 characters

---@class moonplan.CallDraft
---
--- A caption, on which nothing rests; default execution.
---@field kind? "execution"|"approval"|"allowance_cleanup"|"signature_dependent_execution"|"other"
---@field to string the contract or account, an address
---@field data? string calldata, "0x" and digits; see moonplan.abi.call
---@field value? integer|string native currency: wei, or with a unit, as "1.5 ether"; default 0
---@field gas? integer|string without a unit; a guess for people, and nobody may broadcast it
---
--- The errors that it may revert with, for people to read: `error Expired(uint256 deadline)`, or
--- entries of a JSON ABI. `required = true` where the failure makes no sense without.
---@field revert? (string|table)[]

--- A step plan in the making.
---@class moonplan.StepPlanDraft
local StepPlanDraft = {}

--- Add a step. What comes back stands for the step's result: a field of it, put into a later step's
--- input, is a reference to that output. What the capability does not declare among its outputs
--- fails on the author's line. Elements of arrays are counted from 1, as in Lua; `length` is their
--- number.
---@param id string not empty; it does not begin with result, and has no .result in it
---@param capability string one of `uses`
---@param input? any
---@param more? {reason: string?, idempotency_key: string?}
---@return moonplan.Handle
function StepPlanDraft:step(id, capability, input, more) end

--- What the plan is for, in a line.
---@param text string
function StepPlanDraft:goal(text) end

--- What a step will give, or a part of that. It is not known before the plan runs, so that it can
--- only be put into an input, as a whole value; where the input declares another type than the
--- output, that fails on the author's line. So does whatever goes through a handle (ipairs, pairs,
--- table.unpack), computes with it, or compares two that refer to different things. Lua asks nobody
--- about `handle == "text"`, which is false.
---@class moonplan.Handle
---@field [string|integer] moonplan.Handle

--- What a plugin file returns for an authorizer, which decides about each step of a job:
--- `--authorizer NAME`, or `authorizer = "NAME"` in the options of an engine.
---@class moonplan.Authorizer
---@field kind "authorizer"
---@field api 1
---@field name string NAME, or NAME and more behind a dot; letters, digits, _ and -
---@field version string
---@field summary string one line
---@field needs? moonplan.Need[] the powers that ctx carries; all of them have to be granted
---
--- `input` is a request, `output` a decision.
---@field examples? moonplan.Example[]
---
--- Anything but a decision fails the step.
---@field decide fun(request: moonplan.Request, ctx: moonplan.Context): moonplan.Decision?, any
