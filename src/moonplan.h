/* moonplan - a plan engine in C, scripted in Lua.
 *
 * This header is the whole C interface. It reads ERC-8410 execution plans
 * ("call plans": ordered wallet calls on one chain from one sender) and JSON
 * documents in general.
 *
 * Rules that hold everywhere, said once:
 *
 *  - Arguments come in this order: the object, what comes out, what goes in,
 *    `err` last. A length follows the bytes it measures. Strings may hold any
 *    byte, NUL included; nothing here stops at a NUL unless it says so.
 *  - A function that returns an object you own says so in its name (_parse,
 *    _new, ...), and the object has its _free, which takes NULL.
 *  - Bad input gives NULL (or false) and fills *err, which may be NULL. A bad
 *    call (a NULL object, say) is a programming mistake and traps.
 *  - Everything else that comes back is borrowed from the object that it was
 *    asked of, is immutable, and lives as long as that object.
 *  - All memory comes from the allocator in the options. A failed allocation
 *    is the error `memory`; nothing leaks, nothing is half done.
 *  - There is no global state. An object may be used by one thread at a time;
 *    reading a finished object from many threads is fine.
 *  - No locale, clock or random number has a say in any result.
 */
#ifndef MOONPLAN_H
#define MOONPLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MOONPLAN_API __attribute__((visibility("default")))
#else
#define MOONPLAN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MOONPLAN_VERSION "0.1.0"

/* The version of the library that is linked, as opposed to this header's. */
MOONPLAN_API const char *moonplan_version(void);

/* -- Limits ----------------------------------------------------------------
 * X(name, default, floor, ceiling, what it bounds). A host sets any of them
 * between floor and ceiling; a plan or plugin can set none. Input over a limit
 * is refused with the code `limit` (nesting: `json.depth`), never cut. */
#define MOONPLAN_LIMITS(X)                                                                         \
    X(document_bytes, 16777216, 1, 1073741824, "bytes of one document, or of one resolved input")  \
    X(depth, 128, 1, 1024, "arrays and objects open at once in a document")                        \
    X(values, 1000000, 1, 100000000, "values in a document, containers included")                  \
    X(steps, 4096, 1, 100000, "steps of a plan; of a call plan never more than 4096 (ERC-8410)")   \
    X(calldata_bytes, 8388608, 0, 536870912, "bytes of calldata, summed over the steps of a plan") \
    X(extensions_bytes, 65536, 2, 1073741824, "raw extent of a call plan's extensions")            \
    X(abi_entries, 128, 1, 65536, "entries of one revert_decode.abi")                              \
    X(abi_bytes, 65536, 2, 1073741824, "raw extent of one revert_decode.abi")                      \
    X(abi_words, 524288, 1, 67108864, "words of 32 bytes decoded in one review or decoding")       \
    X(call_depth, 16, 0, 64, "calls inside calls that a review looks into")                        \
    X(findings, 1000, 1, 100000, "findings of one severity before the rest is only counted")       \
    X(capabilities, 32, 0, 32, "names in required_capabilities (ERC-8410 allows no more)")         \
    X(envelope_bytes, 22500000, 1, 1073741824, "bytes of one artifact reference")                  \
    X(request_bytes, 262144, 1, 1073741824, "bytes of one typed-data signature request")           \
    X(nesting, 64, 1, 1000, "levels below the message of a request at which a value may stand")    \
    X(elements, 4096, 0, 100000000, "array elements in the message of a request")                  \
    X(types, 128, 1, 128, "struct types of a request, EIP712Domain included (a rule of ERC-8410)") \
    X(members, 128, 0, 128, "members of one struct type (ERC-8410 allows no more)")                \
    X(step_id_bytes, 256, 1, 65536, "bytes of one step id of a step plan")                         \
    X(result_bytes, 16777216, 1, 1073741824, "JSON text of one result, or one failure message")    \
    X(copied_values, 100000, 1, 100000000, "values copied into and out of a plugin in one call")   \
    X(call_ms, 1000, 1, 3600000, "one call into a plugin, in ms; in isolation state only if set")  \
    X(load_ms, 200, 1, 3600000, "loading a plugin file, in milliseconds")                          \
    X(memory_mib, 64, 1, 1048576, "memory of one plugin file's Lua state, in MiB")                 \
    X(string_mib, 8, 1, 1024, "text that a plugin is handed at once, in MiB")                      \
    X(source_kib, 1024, 1, 1048576, "one file of a plugin's source, in KiB")                       \
    X(log_kib, 16, 0, 1048576, "log text of one call into a capability, in KiB")                   \
    X(kv_keys, 1024, 0, 1000000, "keys that one plugin keeps in the store")                        \
    X(kv_kib, 1024, 0, 1048576, "what one plugin keeps in the store, keys and JSON text, in KiB")  \
    X(fetch_ms, 15000, 1, 3600000, "fetching one reference, waiting included, in milliseconds")    \
    X(fetches, 4, 1, 1024, "references that one fetcher fetches over the network at once")         \
    X(errors, 64, 1, 1000, "faults listed before one closing entry counts the rest")

typedef struct moonplan_limits {
#define MOONPLAN_LIMIT_FIELD(name, initial, floor, ceiling, text) uint64_t name;
    MOONPLAN_LIMITS(MOONPLAN_LIMIT_FIELD)
#undef MOONPLAN_LIMIT_FIELD
} moonplan_limits;

typedef struct moonplan_limit_info {
    const char *name;
    uint64_t initial, floor, ceiling;
    const char *text;
} moonplan_limit_info;

/* The n-th limit of the table, from 0; NULL behind the last. */
MOONPLAN_API const moonplan_limit_info *moonplan_limit_at(size_t n);

/* -- Errors ----------------------------------------------------------------
 * X(SYMBOL, "dotted.name", what went wrong). The dotted names are stable. */
#define MOONPLAN_ERRORS(X)                                                                         \
    X(MEMORY, "memory", "an allocation failed")                                                    \
    X(LIMIT, "limit", "the input is over a limit; the message says which")                         \
    X(OPTION, "option", "an option is unknown or out of its range")                                \
    X(IO, "io", "a file or stream could not be read or written")                                   \
    X(DOCUMENT_KIND, "document.kind", "the document is none of the kinds that can be told apart")  \
    X(JSON_SYNTAX, "json.syntax", "not a JSON text (RFC 8259)")                                    \
    X(JSON_UTF8, "json.utf8", "bytes that are not UTF-8 (RFC 3629)")                               \
    X(JSON_DUPLICATE_NAME, "json.duplicate_name", "an object holds two members of one name")       \
    X(JSON_SURROGATE, "json.surrogate", "a surrogate escape without its other half")               \
    X(JSON_BYTE_ORDER_MARK, "json.byte_order_mark", "a byte order mark before the document")       \
    X(JSON_DEPTH, "json.depth", "nested deeper than the limit `depth`")                            \
    X(JSON_NUMBER, "json.number", "a number that the receiver cannot hold exactly")                \
    X(JSON_VALUE, "json.value", "a host value that JSON cannot express")                           \
    X(CALL_TYPE, "call.type", "a value of another JSON type than the member has")                  \
    X(CALL_MISSING_MEMBER, "call.missing_member", "a required member is absent")                   \
    X(CALL_UNKNOWN_MEMBER, "call.unknown_member", "a member that the object does not have")        \
    X(CALL_SCHEMA_VERSION, "call.schema_version", "a schema_version other than \"1\"")             \
    X(CALL_QUANTITY, "call.quantity", "not a canonical decimal number")                            \
    X(CALL_UINT256, "call.uint256", "a quantity of 2^256 or more")                                 \
    X(CALL_ADDRESS, "call.address", "not 0x and 40 hexadecimal digits")                            \
    X(CALL_BYTES, "call.bytes", "not 0x and an even number of hexadecimal digits")                 \
    X(CALL_HEX_CASE, "call.hex_case", "upper-case hexadecimal digits while hex_case is reject")    \
    X(CALL_CAIP2, "call.caip2", "caip2_chain_id is not eip155: and the chain_id")                  \
    X(CALL_STEP_NUMBER, "call.step_number", "a step that does not carry its position")             \
    X(CALL_STEP_KIND, "call.step_kind", "a step kind that ERC-8410 does not have")                 \
    X(CALL_NO_STEPS, "call.no_steps", "ordered_steps is empty")                                    \
    X(CALL_CHAIN_MISMATCH, "call.chain_mismatch", "a step for another chain than the plan's")      \
    X(CALL_SENDER_MISMATCH, "call.sender_mismatch", "a step from another sender than the plan's")  \
    X(CALL_CAPABILITY_NAME, "call.capability_name", "not 1 to 64 characters from 0x21 to 0x7e")    \
    X(CALL_CAPABILITY_UNKNOWN, "call.capability_unknown", "a required capability nobody offers")   \
    X(CALL_ACTION, "call.action", "an action that ERC-8410 does not have")                         \
    X(CALL_RETRY_FORBIDDEN, "call.retry_forbidden", "retry_same_plan where it is not allowed")     \
    X(CALL_INSTRUCTION_LENGTH, "call.instruction_length", "not 1 to 2000 characters")              \
    X(CALL_REVERT_KIND, "call.revert_kind", "a revert_decode.kind other than error_result")        \
    X(CALL_ABI, "call.abi", "an ABI entry that cannot be decoded with")                            \
    X(CALL_ABI_NO_ERROR, "call.abi_no_error", "a revert_decode.abi that declares no error")        \
    X(CALL_CHAIN_ZERO, "call.chain_zero", "warning: chain 0 is no EIP-155 chain")                  \
    X(CALL_CAPABILITY_REPEATED, "call.capability_repeated", "warning: a capability named twice")   \
    X(ABI_TYPE, "abi.type", "not a type or signature of the contract ABI")                         \
    X(ABI_VALUE, "abi.value", "a value that does not fit its ABI type")                            \
    X(ABI_OFFSET, "abi.offset", "an offset that leads out of the data, or out of the usual order") \
    X(ABI_LENGTH, "abi.length", "a length of more than the data hold")                             \
    X(ABI_PADDING, "abi.padding", "bits are set that the type does not use")                       \
    X(ABI_TRAILING, "abi.trailing", "bytes behind the encoded values")                             \
    X(ABI_BUDGET, "abi.budget", "decoded, it would be far more than it is encoded")                \
    X(ABI_SELECTOR, "abi.selector", "another selector than expected, or one that two share")       \
    X(CONVERT_SHAPE, "convert.shape", "not a batch of the kind that was asked for")                \
    X(CONVERT_VERSION, "convert.version", "a version of the batch format that is not known")       \
    X(CONVERT_QUANTITY, "convert.quantity", "not a quantity as the batch format writes it")        \
    X(CONVERT_ADDRESS, "convert.address", "not 0x and 40 hexadecimal digits")                      \
    X(CONVERT_BYTES, "convert.bytes", "not 0x and an even number of hexadecimal digits")           \
    X(CONVERT_SENDER, "convert.sender", "no sender, or another one than the caller's")             \
    X(CONVERT_UNSUPPORTED, "convert.unsupported", "something that the other side cannot say")      \
    X(CONVERT_LOST, "convert.lost", "warning: something that is left behind")                      \
    X(CONVERT_CHECKSUM, "convert.checksum", "warning: a checksum that does not match")             \
    X(BUILD_UNKNOWN, "build.unknown", "no builder of that name")                                   \
    X(BUILD_PARAM_MISSING, "build.param_missing", "a required parameter is absent")                \
    X(BUILD_PARAM_UNKNOWN, "build.param_unknown", "a parameter that the builder does not have")    \
    X(BUILD_PARAM_TYPE, "build.param_type", "a parameter of another type than declared")           \
    X(BUILD_PARAM_VALUE, "build.param_value", "a parameter that is none of its type's values")     \
    X(BUILD_FAILED, "build.failed", "the builder failed")                                          \
    X(BUILD_PLAN, "build.plan", "a builder made what is no sound plan")                            \
    X(ARTIFACT_ENVELOPE, "artifact.envelope", "not an artifact reference")                         \
    X(ARTIFACT_TYPE, "artifact.type", "a type of artifact that is not known or not wanted here")   \
    X(ARTIFACT_INTEGRITY, "artifact.integrity", "no digest that the bytes can be checked with")    \
    X(ARTIFACT_BYTES, "artifact.bytes", "no length that the bytes can be checked with")            \
    X(ARTIFACT_URL, "artifact.url", "not a URL of the three forms, or not encoded as they ask")    \
    X(ARTIFACT_HOST, "artifact.host", "a host that is no public DNS name or address")              \
    X(ARTIFACT_ADDRESS, "artifact.address", "an address that is not public unicast")               \
    X(ARTIFACT_TRANSPORT, "artifact.transport", "a transport that the caller does not allow")      \
    X(ARTIFACT_UNAVAILABLE, "artifact.unavailable", "the bytes could not be retrieved")            \
    X(ARTIFACT_LENGTH, "artifact.length", "the bytes are more or fewer than was promised")         \
    X(ARTIFACT_DIGEST, "artifact.digest", "the bytes have another digest than was promised")       \
    X(TYPED_DATA_TYPE, "typed_data.type", "a value of another JSON type than the member has")      \
    X(TYPED_DATA_MISSING_MEMBER, "typed_data.missing_member", "a required member is absent")       \
    X(TYPED_DATA_UNKNOWN_MEMBER, "typed_data.unknown_member",                                      \
      "a member that the object does not have")                                                    \
    X(TYPED_DATA_SCHEMA_VERSION, "typed_data.schema_version", "a schema_version other than \"1\"") \
    X(TYPED_DATA_KIND, "typed_data.kind", "the kind of another document")                          \
    X(TYPED_DATA_ADDRESS, "typed_data.address", "not 0x and 40 hexadecimal digits")                \
    X(TYPED_DATA_VALID_UNTIL, "typed_data.valid_until", "not a canonical decimal below 2^64")      \
    X(TYPED_DATA_EXPIRED, "typed_data.expired", "valid_until is not after the caller's clock")     \
    X(TYPED_DATA_SIGNER_MISMATCH, "typed_data.signer_mismatch", "another account than the signer") \
    X(TYPED_DATA_IDENTIFIER, "typed_data.identifier", "not letters, digits and _, no digit first") \
    X(TYPED_DATA_TYPE_EXPRESSION, "typed_data.type_expression",                                    \
      "not a name with lengths in brackets behind it")                                             \
    X(TYPED_DATA_UNRESOLVED_TYPE, "typed_data.unresolved_type",                                    \
      "a type that is neither one of EIP-712 nor declared")                                        \
    X(TYPED_DATA_UNUSED_TYPE, "typed_data.unused_type", "a type that the message cannot reach")    \
    X(TYPED_DATA_SHADOWED_BASE_TYPE, "typed_data.shadowed_base_type",                              \
      "a struct that is named like a basic type")                                                  \
    X(TYPED_DATA_DUPLICATE_STRUCT_MEMBER, "typed_data.duplicate_struct_member",                    \
      "a struct that declares two members of one name")                                            \
    X(TYPED_DATA_DOMAIN_DECLARATION, "typed_data.domain_declaration",                              \
      "EIP712Domain does not declare exactly the fields of the domain, in order")                  \
    X(TYPED_DATA_DOMAIN_EMPTY, "typed_data.domain_empty", "a domain without any field")            \
    X(TYPED_DATA_PRIMARY_TYPE, "typed_data.primary_type", "not a declared struct of the message")  \
    X(TYPED_DATA_VALUE, "typed_data.value", "a value that does not fit its declared type")         \
    X(TYPED_DATA_ARRAY_LENGTH, "typed_data.array_length",                                          \
      "an array of another length than its type has")                                              \
    X(TYPED_DATA_DELIVERY_URL, "typed_data.delivery_url", "a URL outside the delivery profile")    \
    X(TYPED_DATA_DELIVERY_ORIGIN, "typed_data.delivery_origin",                                    \
      "a delivery to another origin than the request was fetched from")                            \
    X(TYPED_DATA_DELIVERY_UNSUPPORTED, "typed_data.delivery_unsupported",                          \
      "controlled delivery, which the caller cannot enforce")                                      \
    X(TYPED_DATA_REQUEST_ID, "typed_data.request_id", "not 1 to 128 letters, digits, _ and -")     \
    X(TYPED_DATA_OPERATION_ID, "typed_data.operation_id",                                          \
      "not 1 to 128 letters, digits, _ and -, or where it must not be")                            \
    X(TYPED_DATA_DIGEST, "typed_data.digest", "not 0x and 64 lower-case hexadecimal digits")       \
    X(TYPED_DATA_SIGNATURE, "typed_data.signature", "not 0x and lower-case digits of some bytes")  \
    X(TYPED_DATA_ACTION, "typed_data.action", "an action that delivery does not have")             \
    X(TYPED_DATA_STATUS, "typed_data.status", "a status that a receipt does not have")             \
    X(TYPED_DATA_REQUEST_MISMATCH, "typed_data.request_mismatch", "about another request")         \
    X(PLAN_SHAPE, "plan.shape", "not of the type or shape that a step plan has there")             \
    X(PLAN_EMPTY, "plan.empty", "a step plan without steps")                                       \
    X(PLAN_DUPLICATE_STEP_ID, "plan.duplicate_step_id", "a step id that an earlier step has")      \
    X(PLAN_UNKNOWN_CAPABILITY, "plan.unknown_capability", "a capability that nobody has")          \
    X(PLAN_CAPABILITY_VERSION, "plan.capability_version", "not the version that is registered")    \
    X(PLAN_POWER_MISSING, "plan.power_missing", "a capability needs what was not granted")         \
    X(PLAN_INPUT_MISSING, "plan.input_missing", "a required field of the input is absent")         \
    X(PLAN_INPUT_TYPE, "plan.input_type", "a field of another type than declared")                 \
    X(PLAN_INPUT_SCHEMA, "plan.input_schema", "a field is declared with an unknown type")          \
    X(PLAN_INPUT_NUMBER, "plan.input_number", "a number that Lua cannot hold exactly")             \
    X(PLAN_INPUT_VALUE, "plan.input_value", "a field outside the values declared")                 \
    X(PLAN_REFERENCE_INVALID, "plan.reference_invalid", "not of the form steps.ID.result.PATH")    \
    X(PLAN_REFERENCE_ORDER, "plan.reference_order", "a reference to a step not before it")         \
    X(PLAN_VERSION, "plan.version", "a plan version that the engine does not take")                \
    X(PLAN_CAPTURE, "plan.capture", "a field of the plan could not be read")                       \
    X(PLAN_VERSION_UNKNOWN, "plan.version_unknown", "warning: a plan version other than 1.0")      \
    X(PLAN_STEP_ID_UNREACHABLE, "plan.step_id_unreachable", "warning: no reference can name it")   \
    X(JOB_REFERENCE_PATH, "job.reference_path", "a reference to what a result does not have")      \
    X(JOB_REFERENCE_SOURCE, "job.reference_source", "a reference to a step not completed")         \
    X(JOB_REFERENCE_INVALID, "job.reference_invalid", "a reference that became invalid")           \
    X(JOB_INPUT_MISSING, "job.input_missing", "a required field is absent once resolved")          \
    X(JOB_INPUT_TYPE, "job.input_type", "a field resolved to another type than declared")          \
    X(JOB_INPUT_SCHEMA, "job.input_schema", "a field is declared with an unknown type")            \
    X(JOB_INPUT_NUMBER, "job.input_number", "a resolved number that Lua cannot hold exactly")      \
    X(JOB_INPUT_VALUE, "job.input_value", "a field resolved outside the values declared")          \
    X(JOB_CAPABILITY_GONE, "job.capability_gone", "the capability went away after admission")      \
    X(JOB_DENIED, "job.denied", "the authorizer denied the step")                                  \
    X(JOB_DECISION_INVALID, "job.decision_invalid", "the authorizer's decision is malformed")      \
    X(JOB_AUTHORIZER_FAILED, "job.authorizer_failed", "the authorizer itself failed")              \
    X(JOB_CAPABILITY_FAILED, "job.capability_failed", "the capability failed")                     \
    X(JOB_RESULT_SHAPE, "job.result_shape", "a result that JSON cannot express, or too deep")      \
    X(JOB_OUTPUT_TYPE, "job.output_type", "a result other than the capability declares")           \
    X(JOB_TIMEOUT, "job.timeout", "the capability took longer than it may")                        \
    X(JOB_MEMORY, "job.memory", "the capability took more memory than it may")                     \
    X(JOB_CANCELLED, "job.cancelled", "the job was cancelled")                                     \
    X(JOB_OUTCOME_UNKNOWN, "job.outcome_unknown", "a step was begun, and how it ended is unknown") \
    X(JOB_AWAITING_APPROVAL, "job.awaiting_approval", "a step may not run without an approval")    \
    X(JOB_NOT_FOUND, "job.not_found", "a job that the store does not have")                        \
    X(JOB_STATE, "job.state", "not what can be done with a job or step as it stands")              \
    X(APPROVAL_SHAPE, "approval.shape", "not an approval")                                         \
    X(APPROVAL_KEY, "approval.key", "an approval by a key that is not trusted")                    \
    X(APPROVAL_SIGNATURE, "approval.signature", "an approval that its key has not signed")         \
    X(APPROVAL_EXPIRED, "approval.expired", "an approval whose time is over")                      \
    X(APPROVAL_USED, "approval.used", "an approval that a step has run with already")              \
    X(PLUGIN_MANIFEST, "plugin.manifest", "a capability's description is not sound")               \
    X(PLUGIN_DUPLICATE, "plugin.duplicate", "a name that is taken")                                \
    X(PLUGIN_LOAD, "plugin.load", "a plugin file that cannot be read or run")                      \
    X(PLUGIN_NAME, "plugin.name", "not a name that the plugin's file may bring")                   \
    X(PLUGIN_VERSION_API, "plugin.version_api", "a plugin for another version of the interface")   \
    X(PLUGIN_ISOLATION, "plugin.isolation", "a plugin that cannot be confined as it has to be")    \
    X(PLUGIN_DIED, "plugin.died", "a plugin's process ended in the middle of something")           \
    X(SEND_EXECUTOR, "send.executor", "an executor that is not there, or that failed")             \
    X(SEND_DIGEST, "send.digest", "another plan than was agreed to")                               \
    X(SEND_CHAIN, "send.chain", "an account on another chain than the plan's")                     \
    X(SEND_ACCOUNT, "send.account", "a sender that the executor cannot send for")                  \
    X(SEND_RPC_ERROR, "send.rpc_error", "the node or wallet failed")                               \
    X(SEND_EXECUTION_REVERTED, "send.execution_reverted", "a call reverted, tried or sent")        \
    X(SEND_SIMULATION_SETUP_ERROR, "send.simulation_setup_error",                                  \
      "a call that cannot even be tried")                                                          \
    X(SEND_ANSWER, "send.answer", "an answer that cannot be one")                                  \
    X(SEND_REFUSED, "send.refused", "the node or wallet would not send it")                        \
    X(SEND_DECLINED, "send.declined", "the person did not agree")                                  \
    X(SEND_NOT_ATOMIC, "send.not_atomic", "a batch that was not carried out as one")               \
    X(SEND_UNKNOWN, "send.unknown", "sent, perhaps, and how it ended is unknown")                  \
    X(STORE_FAILED, "store.failed", "the store could not write")                                   \
    X(STORE_OPEN, "store.open", "a store that cannot be opened, or is none")                       \
    X(STORE_VERSION, "store.version", "a store of a version that is not known here")               \
    X(STORE_FULL, "store.full", "no room is left for the store")                                   \
    X(STORE_LOCKED, "store.locked", "somebody else is at it")                                      \
    X(STORE_CORRUPT, "store.corrupt", "the store's content is damaged")                            \
    X(STORE_CONFLICT, "store.conflict", "the store holds something else under that name")          \
    X(FILE_PATH, "file.path", "a path that does not lead down from the granted folder")            \
    X(HTTP_URL, "http.url", "not a URL that a plugin could ask for")                               \
    X(HTTP_ORIGIN, "http.origin", "a host, scheme or port that was not granted")                   \
    X(HTTP_METHOD, "http.method", "a method that is unknown, or not for a plugin of this risk")    \
    X(HTTP_HEADER, "http.header", "a header that is malformed, or not for a caller")               \
    X(HTTP_ADDRESS, "http.address", "a host whose address is not one that may be reached")         \
    X(HTTP_UNAVAILABLE, "http.unavailable", "no connection came about; nothing was sent")          \
    X(HTTP_INTERRUPTED, "http.interrupted", "sent, perhaps, and no whole answer came")             \
    X(RPC_ENDPOINT, "rpc.endpoint", "an endpoint that the plugin does not name in its needs")      \
    X(RPC_REQUEST, "rpc.request", "not a request of JSON-RPC 2.0")                                 \
    X(RPC_UNAVAILABLE, "rpc.unavailable", "no connection came about; nothing was sent")            \
    X(RPC_INTERRUPTED, "rpc.interrupted", "sent, perhaps, and no answer came")                     \
    X(RPC_RESPONSE, "rpc.response", "an answer that is no response of JSON-RPC 2.0 to it")         \
    X(RPC_ERROR, "rpc.error", "the endpoint answered with an error")                               \
    X(KV_KEY, "kv.key", "not a key: 1 to 256 bytes of UTF-8 without control characters")           \
    X(SECRET_NAME, "secret.name", "a secret that the plugin does not name in its needs")           \
    X(FILE_UNAVAILABLE, "file.unavailable", "a file that is not there, or not to be had")          \
    X(KEY_FORMAT, "key.format", "not an Ed25519 key in minisign's format")                         \
    X(KEY_PASSWORD, "key.password", "a key's password that is missing or wrong")                   \
    X(SIGNATURE_FORMAT, "signature.format", "not a prehashed signature in minisign's format")      \
    X(SIGNATURE_KEY, "signature.key", "a signature made by another key")                           \
    X(SIGNATURE_WRONG, "signature.wrong", "not what the key has signed")                           \
    X(PLUGIN_SIGNATURE, "plugin.signature", "not what a trusted key has signed")                   \
    X(PLUGIN_TRUST, "plugin.trust", "a trust store that says what it must not")

typedef enum moonplan_code {
    MOONPLAN_OK = 0,
#define MOONPLAN_ERROR_SYMBOL(symbol, name, text) MOONPLAN_##symbol,
    MOONPLAN_ERRORS(MOONPLAN_ERROR_SYMBOL)
#undef MOONPLAN_ERROR_SYMBOL
        MOONPLAN_CODE_COUNT
} moonplan_code;

/* "call.quantity" for MOONPLAN_CALL_QUANTITY; "ok" for MOONPLAN_OK. */
MOONPLAN_API const char *moonplan_code_name(moonplan_code code);
/* What went wrong, in general; one line without a full stop. */
MOONPLAN_API const char *moonplan_code_text(moonplan_code code);

#define MOONPLAN_NO_OFFSET SIZE_MAX

/* One fault. The caller owns the struct; it holds no pointers.
 * `message` and `at` are UTF-8 and end with a NUL; whatever the message quotes
 * from the input is bounded, and control, bidirectional and invisible
 * characters in it are spelled out as \u{...}. `at` is a JSON Pointer
 * (RFC 6901) of at most 256 bytes, then "…"; "" is the whole document.
 * `offset` counts bytes from 0, MOONPLAN_NO_OFFSET where the fault has no
 * place. `line` and `column` count from 1, the column in bytes; they are 0
 * until moonplan_error_locate has been asked. */
typedef struct moonplan_error {
    moonplan_code code;
    size_t offset, line, column;
    size_t at_length;
    char at[264];
    char message[512];
} moonplan_error;

/* Fill line and column of `count` faults of one text in a single sweep.
 * A line ends with LF, CR LF or CR. */
MOONPLAN_API void moonplan_error_locate(moonplan_error *errors, size_t count, const char *text,
                                        size_t length);

/* Several faults, in document order. */
typedef struct moonplan_error_list moonplan_error_list;
MOONPLAN_API void moonplan_error_list_free(moonplan_error_list *list);
MOONPLAN_API size_t moonplan_error_list_count(const moonplan_error_list *list);
MOONPLAN_API moonplan_error *moonplan_error_list_at(moonplan_error_list *list, size_t n);

/* -- Options ---------------------------------------------------------------*/

/* The shape of lua_Alloc: free when new_size is 0, else allocate or resize.
 * Failing is allowed at any time, also when a block shrinks. */
typedef void *(*moonplan_alloc)(void *data, void *block, size_t old_size, size_t new_size);

typedef struct moonplan_text {
    const char *bytes; /* not NUL-terminated; NULL: absent */
    size_t length;
} moonplan_text;

typedef enum moonplan_hex_case {
    MOONPLAN_HEX_REJECT = 0, /* upper-case hexadecimal digits are a fault (the schema's rule) */
    MOONPLAN_HEX_NORMALIZE   /* they are lowered before anything is compared or hashed */
} moonplan_hex_case;

/* How an artifact reference may carry or reach its bytes. */
typedef enum moonplan_transport {
    MOONPLAN_TRANSPORT_DATA = 1, /* inside the URL */
    MOONPLAN_TRANSPORT_HTTPS = 2,
    MOONPLAN_TRANSPORT_FILE = 4
} moonplan_transport;

typedef struct moonplan_options {
    moonplan_alloc alloc; /* NULL: realloc and free */
    void *alloc_data;
    moonplan_limits limits;
    moonplan_hex_case hex_case;
    /* The capabilities that the caller implements, compared exactly. A plan
     * that requires another one is refused (ERC-8410, Required Capabilities). */
    const moonplan_text *implements;
    size_t implements_count;
    bool enforce_capabilities; /* default true; false for readers that execute nothing */
    bool borrow;         /* default false; true: the text outlives the object and is not copied */
    unsigned transports; /* of artifact references; or-ed; default MOONPLAN_TRANSPORT_DATA */
    unsigned jobs; /* threads that moonplan_digest_many may use; default 1. With more, alloc is
                    * called from all of them at once */
    /* Where all faults go; NULL: only the first is kept, in *err. The list is
     * made when the input is refused, belongs to the caller from then on, and
     * is NULL otherwise. */
    moonplan_error_list **errors;
} moonplan_options;

/* Fill in the defaults. Wherever options are taken, NULL stands for these. */
MOONPLAN_API void moonplan_options_init(moonplan_options *options);
/* Set one limit by its name; false with the code `option` for an unknown name
 * or a value outside floor and ceiling. */
MOONPLAN_API bool moonplan_options_limit(moonplan_options *options, const char *name,
                                         uint64_t value, moonplan_error *err);

/* -- Keccak-256 ------------------------------------------------------------
 * The original padding, as Ethereum uses it; not NIST SHA3-256. */
MOONPLAN_API void moonplan_keccak256(uint8_t out[32], const void *bytes, size_t length);

/* -- JSON documents --------------------------------------------------------
 * RFC 8259, strictly: UTF-8 only, no byte order mark, no duplicate names (after
 * unescaping), no lone surrogates, nothing behind the value. Numbers keep their
 * source text. Reading is linear in the length of the text. */
typedef struct moonplan_document moonplan_document;

typedef enum moonplan_type {
    MOONPLAN_NONE = 0, /* no value: an absent member, the end of a walk */
    MOONPLAN_NULL,
    MOONPLAN_FALSE,
    MOONPLAN_TRUE,
    MOONPLAN_INTEGER, /* an integer literal that fits int64_t; -0 is a MOONPLAN_NUMBER */
    MOONPLAN_NUMBER,  /* any other number: ask for its source text */
    MOONPLAN_STRING,
    MOONPLAN_ARRAY,
    MOONPLAN_OBJECT
} moonplan_type;

/* A value inside a document; passed by value, valid while the document is. */
typedef struct moonplan_value {
    const moonplan_document *document;
    uint32_t node;
} moonplan_value;

MOONPLAN_API moonplan_document *moonplan_document_parse(const char *text, size_t length,
                                                        const moonplan_options *options,
                                                        moonplan_error *err);
MOONPLAN_API void moonplan_document_free(moonplan_document *document);
MOONPLAN_API moonplan_value moonplan_document_root(const moonplan_document *document);
/* Bytes that the document holds, and the most it held while it was read. */
MOONPLAN_API size_t moonplan_document_memory(const moonplan_document *document, size_t *peak);
/* The value that an RFC 6901 pointer names; MOONPLAN_NONE where there is none. */
MOONPLAN_API moonplan_value moonplan_document_at(const moonplan_document *document,
                                                 const char *pointer, size_t length);

MOONPLAN_API moonplan_type moonplan_value_type(moonplan_value value);
/* The value's text as it stands in the document, quotes and brackets included. */
MOONPLAN_API moonplan_text moonplan_value_source(moonplan_value value);
/* Where that text begins, in bytes from 0. */
MOONPLAN_API size_t moonplan_value_offset(moonplan_value value);
/* A string's content, unescaped; {NULL, 0} for other types. */
MOONPLAN_API moonplan_text moonplan_value_string(moonplan_value value);
/* False unless the value is a MOONPLAN_INTEGER. */
MOONPLAN_API bool moonplan_value_integer(moonplan_value value, int64_t *out);
/* Elements or members; 0 for other types. */
MOONPLAN_API size_t moonplan_value_count(moonplan_value value);
/* The n-th element from 0, or the member of that name; MOONPLAN_NONE if absent.
 * Neither is slower in a large container than in a small one by more than a
 * constant factor. */
MOONPLAN_API moonplan_value moonplan_value_element(moonplan_value array, size_t n);
MOONPLAN_API moonplan_value moonplan_value_member(moonplan_value object, const char *name,
                                                  size_t length);

/* Walk elements or members in document order:
 *   moonplan_walk walk = moonplan_value_walk(value);
 *   while (moonplan_walk_next(&walk)) use(walk.name, walk.value);
 * In arrays walk.name stays {NULL, 0}. */
typedef struct moonplan_walk {
    moonplan_text name;
    moonplan_value value;
    uint32_t next, end;
    bool named;
} moonplan_walk;
MOONPLAN_API moonplan_walk moonplan_value_walk(moonplan_value container);
MOONPLAN_API bool moonplan_walk_next(moonplan_walk *walk);

/* -- Kinds of document ------------------------------------------------------*/
typedef enum moonplan_kind {
    MOONPLAN_KIND_NONE = 0,
    MOONPLAN_KIND_CALL_PLAN,          /* has ordered_steps or schema_version */
    MOONPLAN_KIND_STEP_PLAN,          /* has steps */
    MOONPLAN_KIND_ARTIFACT_REFERENCE, /* kind is "artifact_reference" */
    MOONPLAN_KIND_TYPED_DATA_REQUEST  /* kind is "typed_data_signature_request" */
} moonplan_kind;

/* Which kind a parsed document is; MOONPLAN_KIND_NONE with `document.kind`,
 * and a message that names what would make it each. */
MOONPLAN_API moonplan_kind moonplan_document_kind(const moonplan_document *document,
                                                  moonplan_error *err);
/* "call_plan", "step_plan", "artifact_reference", "typed_data_signature_request". */
MOONPLAN_API const char *moonplan_kind_name(moonplan_kind kind);

/* -- Call plans: ERC-8410 execution plans -----------------------------------
 * Parsing validates everything that the standard asks of a plan document; the
 * plan that comes back is one that may be digested, reviewed and handed on.
 * All faults are found, in document order; a fault in the JSON itself ends
 * reading. Optional members that are absent give {NULL, 0} or MOONPLAN_NONE. */
typedef struct moonplan_call_plan moonplan_call_plan;

MOONPLAN_API moonplan_call_plan *moonplan_call_plan_parse(const char *text, size_t length,
                                                          const moonplan_options *options,
                                                          moonplan_error *err);
MOONPLAN_API void moonplan_call_plan_free(moonplan_call_plan *plan);

/* The document behind the plan; with MOONPLAN_HEX_NORMALIZE its hexadecimal
 * strings are the lowered ones. */
MOONPLAN_API const moonplan_document *moonplan_call_plan_document(const moonplan_call_plan *plan);
/* Bytes that the plan holds, document included, and the most it ever held. */
MOONPLAN_API size_t moonplan_call_plan_memory(const moonplan_call_plan *plan, size_t *peak);

MOONPLAN_API moonplan_text moonplan_call_plan_chain_id(const moonplan_call_plan *plan);
MOONPLAN_API moonplan_text moonplan_call_plan_caip2_chain_id(const moonplan_call_plan *plan);
MOONPLAN_API moonplan_text moonplan_call_plan_sender(const moonplan_call_plan *plan);
/* required_capabilities; an array or MOONPLAN_NONE. Outside the digest: store
 * the list with an approval (ERC-8410, Required Capabilities). */
MOONPLAN_API moonplan_value moonplan_call_plan_capabilities(const moonplan_call_plan *plan);
/* simulation_failure_policy and extensions: the producer's words, outside the
 * digest, never an authorization. */
MOONPLAN_API moonplan_value moonplan_call_plan_failure_policy(const moonplan_call_plan *plan);
MOONPLAN_API moonplan_value moonplan_call_plan_extensions(const moonplan_call_plan *plan);

typedef struct moonplan_call {
    moonplan_text kind;           /* a caption; carries no authority */
    moonplan_text to;             /* 0x and 40 digits */
    moonplan_text data;           /* 0x and an even number of digits */
    moonplan_text value;          /* wei, decimal */
    moonplan_text gas;            /* a hint; never broadcast it (ERC-8410, Transactions) */
    moonplan_value revert_decode; /* an object or MOONPLAN_NONE */
    size_t offset;                /* where the step begins in the document */
} moonplan_call;

MOONPLAN_API size_t moonplan_call_plan_count(const moonplan_call_plan *plan);
/* The n-th step, from 0; false behind the last. */
MOONPLAN_API bool moonplan_call_plan_step(const moonplan_call_plan *plan, moonplan_call *out,
                                          size_t n);

/* Faults that do not make a plan invalid, in document order. */
MOONPLAN_API size_t moonplan_call_plan_warning_count(const moonplan_call_plan *plan);
MOONPLAN_API const moonplan_error *moonplan_call_plan_warning(const moonplan_call_plan *plan,
                                                              size_t n);

/* The canonical form (ERC-8410, Plan Digest), handed out piece by piece; it is
 * never held as a whole. A sink that returns false ends it. */
typedef bool (*moonplan_sink)(void *data, const char *bytes, size_t length);
MOONPLAN_API bool moonplan_call_plan_canonical(const moonplan_call_plan *plan, moonplan_sink sink,
                                               void *data);
/* Keccak-256 over the canonical form. */
MOONPLAN_API void moonplan_call_plan_digest(const moonplan_call_plan *plan, uint8_t out[32]);

/* Parse and digest in one go, for identity alone: everything is validated, but
 * required capabilities are not enforced. */
MOONPLAN_API bool moonplan_digest(uint8_t out[32], const char *text, size_t length,
                                  const moonplan_options *options, moonplan_error *err);
/* The same for many plans, which is faster: four are hashed side by side where
 * the processor can. valid[n] says whether out[n] is the digest of texts[n];
 * why it is not is what moonplan_digest says of that text. How many are valid
 * is returned. Memory is that of four plans, for each of options.jobs threads;
 * options.errors is not used. */
MOONPLAN_API size_t moonplan_digest_many(uint8_t (*out)[32], bool *valid,
                                         const moonplan_text *texts, size_t count,
                                         const moonplan_options *options);

/* -- Contract ABI ------------------------------------------------------------
 * Signatures, JSON ABI fragments, and the encoding of values (Solidity
 * documentation, "Contract ABI Specification"; all types but fixed point
 * numbers, which Solidity itself cannot encode).
 *
 * Values travel in documents:
 *  - integers as decimal strings, exact to 256 bits; when encoding, an integer
 *    literal does as well
 *  - addresses as 0x and 40 digits, lower case; when encoding, also upper case,
 *    and mixed case if the checksum is right (ERC-55)
 *  - bool as true and false
 *  - bytes, bytes1 to bytes32 and function (24 bytes) as 0x and digits
 *  - a string as a string; one that is not UTF-8 as {"hex": "0x…"}
 *  - an array as an array
 *  - a tuple as an object if all its components have names, no two the same;
 *    else as an array. When encoding, an array does for either. */
typedef enum moonplan_abi_base {
    MOONPLAN_ABI_UINT, /* `size` bits */
    MOONPLAN_ABI_INT,  /* `size` bits */
    MOONPLAN_ABI_ADDRESS,
    MOONPLAN_ABI_BOOL,
    MOONPLAN_ABI_BYTES_N,  /* bytes1 to bytes32: `size` bytes */
    MOONPLAN_ABI_FUNCTION, /* an address and a selector */
    MOONPLAN_ABI_BYTES,
    MOONPLAN_ABI_STRING,
    MOONPLAN_ABI_ARRAY,   /* T[] */
    MOONPLAN_ABI_ARRAY_N, /* T[n]: `size` elements */
    MOONPLAN_ABI_TUPLE    /* `size` components */
} moonplan_abi_base;

typedef struct moonplan_abi_type moonplan_abi_type;
struct moonplan_abi_type {
    moonplan_abi_base base;
    uint32_t size;
    uint32_t depth;                 /* levels of arrays and tuples in it; at most 64 */
    bool dynamic;                   /* encoded behind an offset */
    bool named;                     /* a tuple that becomes an object */
    uint64_t head;                  /* bytes it takes in place; UINT64_MAX for that and more */
    moonplan_text text;             /* the canonical name: (address,uint256)[] */
    moonplan_text name;             /* of the parameter or component; {NULL, 0}: none */
    const moonplan_abi_type *items; /* a tuple's components; an array's element */
};

typedef enum moonplan_abi_kind {
    MOONPLAN_ABI_CALL,  /* a function */
    MOONPLAN_ABI_ERROR, /* a custom error */
    MOONPLAN_ABI_VALUES /* a list of types without a name, hence without a selector */
} moonplan_abi_kind;

typedef struct moonplan_abi_entry {
    moonplan_abi_kind kind;
    uint8_t selector[4];
    moonplan_text name, signature;     /* "approve", "approve(address,uint256)" */
    moonplan_abi_type inputs, outputs; /* tuples */
} moonplan_abi_entry;

/* Functions and errors, in the order of their source. */
typedef struct moonplan_abi moonplan_abi;

/* The text is JSON (an ABI array, one entry of it, or an object with such an
 * array as its member `abi`, as compilers write it; in an array signatures may
 * stand too, as strings), or signatures, one a line:
 *   approve(address,uint256)
 *   function transfer(address to, uint256 amount) returns (bool)
 *   error Insufficient(uint256 available, uint256 required)
 *   (address,(uint256 amount, bytes data)[])
 * Entries of other kinds are passed over. Two functions, or two errors, of one
 * selector and different signatures are refused. A parameter's name that is no
 * identifier counts as none. One fault is reported. Errors: abi.type,
 * abi.selector, json.*; limits: document_bytes, depth, values, and 2 MiB for
 * all signatures together, 64 bytes added for each. */
MOONPLAN_API moonplan_abi *moonplan_abi_parse(const char *text, size_t length,
                                              const moonplan_options *options, moonplan_error *err);
/* The same from a value: an array of entries, or one entry. */
MOONPLAN_API moonplan_abi *moonplan_abi_parse_value(moonplan_value fragment,
                                                    const moonplan_options *options,
                                                    moonplan_error *err);
MOONPLAN_API void moonplan_abi_free(moonplan_abi *abi);
MOONPLAN_API size_t moonplan_abi_count(const moonplan_abi *abi);
/* The n-th entry, from 0; NULL behind the last. */
MOONPLAN_API const moonplan_abi_entry *moonplan_abi_at(const moonplan_abi *abi, size_t n);
/* By selector, or by signature or name; NULL if there is none, or if several
 * functions share the name. */
MOONPLAN_API const moonplan_abi_entry *moonplan_abi_by_selector(const moonplan_abi *abi,
                                                                moonplan_abi_kind kind,
                                                                const uint8_t selector[4]);
MOONPLAN_API const moonplan_abi_entry *moonplan_abi_by_name(const moonplan_abi *abi,
                                                            const char *name, size_t length);

/* The selector, if the entry has one, and the arguments: an array, or an
 * object if all inputs have names; MOONPLAN_NONE if there are no inputs. The
 * sink gets everything in one piece; if it returns false, the error is
 * `memory`. Errors: abi.value, with the place in the arguments' document. */
MOONPLAN_API bool moonplan_abi_encode(const moonplan_abi_entry *entry, moonplan_sink sink,
                                      void *sink_data, moonplan_value arguments,
                                      const moonplan_options *options, moonplan_error *err);

/* A decoded value; valid as long as the moonplan_abi_data. */
typedef struct moonplan_abi_value moonplan_abi_value;
struct moonplan_abi_value {
    const moonplan_abi_type *type;
    /* Integers and bool: the EVM word, 32 bytes. Address: 20 bytes. The other
     * scalars: their bytes. Bits that the type does not use are cleared. */
    const uint8_t *bytes;
    size_t length;
    const moonplan_abi_value *items; /* elements or components */
    size_t count;
};

/* What decoding yields: the values, and notes on whatever differs from the one
 * canonical encoding of them: abi.padding, abi.offset, abi.trailing. A note's
 * `at` is a pointer into the arguments (/recipients/3), its `offset` counts
 * from the selector. A strict decoder refuses at the first note, and compares
 * what it read with what encoding gives. */
typedef struct moonplan_abi_data moonplan_abi_data;

/* The bytes begin with the selector, if the entry has one. Decoding is linear,
 * and never yields much more than the bytes hold, however their offsets
 * overlap: abi.budget. Other errors: abi.selector, abi.length, abi.offset;
 * limit: abi_words. At most `errors` notes are kept. The entry must outlive
 * the data; so must the bytes with options.borrow. */
MOONPLAN_API moonplan_abi_data *moonplan_abi_decode(const moonplan_abi_entry *entry,
                                                    const uint8_t *bytes, size_t length,
                                                    bool strict, const moonplan_options *options,
                                                    moonplan_error *err);
/* The same for what a call returned: entry->outputs, without a selector. */
MOONPLAN_API moonplan_abi_data *
moonplan_abi_decode_outputs(const moonplan_abi_entry *entry, const uint8_t *bytes, size_t length,
                            bool strict, const moonplan_options *options, moonplan_error *err);
MOONPLAN_API void moonplan_abi_data_free(moonplan_abi_data *data);
/* The arguments, as a tuple. */
MOONPLAN_API const moonplan_abi_value *moonplan_abi_data_root(const moonplan_abi_data *data);
MOONPLAN_API size_t moonplan_abi_data_note_count(const moonplan_abi_data *data);
MOONPLAN_API const moonplan_error *moonplan_abi_data_note(const moonplan_abi_data *data, size_t n);
/* The arguments as a document: an object if all have names, else an array. */
MOONPLAN_API moonplan_document *moonplan_abi_data_document(const moonplan_abi_data *data,
                                                           const moonplan_options *options,
                                                           moonplan_error *err);

/* 42 characters: the address with the checksum of ERC-55 in the case of its
 * letters. False unless the text is 0x and 40 digits; their case is ignored. */
MOONPLAN_API bool moonplan_address_checksum(char out[42], const char *text, size_t length);

/* An ABI that somebody handed in, for reading what others made. */
typedef struct moonplan_abi_source {
    const moonplan_abi *abi;
    moonplan_text origin; /* whose it is, for people: the name of a file or plugin */
    /* The one contract that it describes, 0x and 40 digits, and its chain in
     * decimal; {NULL, 0}: any. Only an ABI that names the contract is certain;
     * otherwise four bytes of a hash are all that speaks for it: a guess. */
    moonplan_text address, chain_id;
    /* Its word adds to a review and takes nothing away: a function that only
     * such sources describe is shown by them, and stays unknown. */
    bool untrusted;
} moonplan_abi_source;

/* What a call gave when it reverted, as an object:
 *   kind       none, short, error, panic, custom, unknown, malformed
 *   text       one line for people; untrusted text in it is quoted and visible
 *   selector, signature, name, arguments (as a call has them) where known
 *   reason     the string of Error(string); code: the number of Panic(uint256)
 *   source     "solidity" for those two; for a custom error whose ABI it was
 *   canonical, notes? [{code, at, offset, message}]  of what is decoded
 *   data       the bytes, 0x...
 * Never an error for what the bytes are. The first source that has the
 * selector is used; `origin` stands in the text: "per <origin>". */
MOONPLAN_API moonplan_document *
moonplan_revert_decode(const uint8_t *bytes, size_t length, const moonplan_abi_source *sources,
                       size_t source_count, const moonplan_options *options, moonplan_error *err);

/* -- Review ------------------------------------------------------------------
 * A call plan explained to a person: every call decoded as far as that goes,
 * and findings. A review is no approval, and finds nothing that only a
 * simulation or the chain could show.
 *
 * Which amounts stand for everything: of an allowance, 2^128-1 and all above it,
 * for no supply comes near, and exactly 2^112-1 and 2^96-1, the largest of
 * tokens that count in 112 or 96 bits (allowance.unlimited); of a typed message
 * that is not known here, any 2^n-1 from n = 96 (amount.unlimited).
 *
 * X(SYMBOL, "dotted.name", SEVERITY, what it means). The names are stable and
 * each has one severity; review.rest has that of what it counts. */
#define MOONPLAN_FINDINGS(X)                                                                       \
    X(ALLOWANCE_UNLIMITED, "allowance.unlimited", DANGER, "a spender may take everything")         \
    X(ALLOWANCE_FOR_ALL, "allowance.for_all", DANGER, "an operator may move a whole collection")   \
    X(ALLOWANCE_GRANTED, "allowance.granted", INFO, "a spender gets an allowance")                 \
    X(ALLOWANCE_REVOKED, "allowance.revoked", INFO, "an allowance is taken back")                  \
    X(ALLOWANCE_NONZERO_TO_NONZERO, "allowance.nonzero_to_nonzero", WARNING,                       \
      "an allowance is changed without being zero in between; the spender may use both")           \
    X(ALLOWANCE_ZERO_FIRST, "allowance.zero_first", WARNING,                                       \
      "this token refuses a new allowance while there is an old one")                              \
    X(ALLOWANCE_LEFT, "allowance.left", WARNING, "what is left of an allowance stays behind")      \
    X(ALLOWANCE_NOT_ATOMIC, "allowance.not_atomic", WARNING,                                       \
      "granted and taken back in different steps, without atomic_batch")                           \
    X(PERMIT2_ALLOWANCE, "permit2.allowance", INFO, "an allowance inside Permit2, and its clocks") \
    X(PERMIT2_LONG_LIVED, "permit2.long_lived", WARNING,                                           \
      "a Permit2 allowance that lives for long")                                                   \
    X(VALUE_MOVED, "value.moved", INFO, "native currency leaves the sender")                       \
    X(TARGET_ZERO_ADDRESS, "target.zero_address", DANGER, "something goes to the zero address")    \
    X(TARGET_PRECOMPILE, "target.precompile", WARNING, "a precompiled contract is called")         \
    X(TARGET_SENDER, "target.sender", WARNING, "the sender calls itself")                          \
    X(TARGET_TOKEN, "target.token", WARNING, "tokens go to the token contract itself")             \
    X(TARGET_DELEGATE, "target.delegate", WARNING, "another contract's code runs as the account")  \
    X(LABEL_CONTRADICTED, "label.contradicted", DANGER, "the step does not do what it says")       \
    X(LABEL_UNCONFIRMED, "label.unconfirmed", WARNING, "nothing shows that the label is true")     \
    X(LABEL_SILENT, "label.silent", INFO, "a step grants an allowance and is not labelled so")     \
    X(SIGNATURE_SPENT, "signature.spent", WARNING,                                                 \
      "a step uses a signature that was made earlier")                                             \
    X(SIGNATURE_PERMIT, "signature.permit", WARNING, "a signature that is an allowance in itself") \
    X(SIGNATURE_PERMIT2, "signature.permit2", WARNING, "a signature that moves tokens by Permit2") \
    X(SIGNATURE_TRANSFER, "signature.transfer", DANGER, "a signature that moves tokens")           \
    X(SIGNATURE_LONG_LIVED, "signature.long_lived", WARNING, "a signature that counts for long")   \
    X(SIGNATURE_RELEASED, "signature.released", INFO, "the receiver may use it at will")           \
    X(DELIVERY_UNPROVED, "delivery.unproved", WARNING, "nothing proves where a delivery may go")   \
    X(AMOUNT_UNLIMITED, "amount.unlimited", WARNING, "a number that stands for everything")        \
    X(DOMAIN_CHAINLESS, "domain.chainless", WARNING, "a signature that counts on every chain")     \
    X(DOMAIN_CONTRACTLESS, "domain.contractless", WARNING, "a signature for no contract by name")  \
    X(DECODE_UNKNOWN_SELECTOR, "decode.unknown_selector", WARNING, "a call that nobody described") \
    X(DECODE_NO_SELECTOR, "decode.no_selector", WARNING, "calldata too short for a selector")      \
    X(DECODE_MALFORMED, "decode.malformed", DANGER,                                                \
      "arguments, or calls inside, that cannot be read")                                           \
    X(DECODE_NOT_CANONICAL, "decode.not_canonical", DANGER,                                        \
      "arguments encoded as no compiler does it")                                                  \
    X(DECODE_BUDGET, "decode.budget", DANGER, "not decoded: over a budget")                        \
    X(DECODE_AMBIGUOUS, "decode.ambiguous", WARNING, "two functions have this selector")           \
    X(DECODE_NOT_CALLS, "decode.not_calls", WARNING, "something inside that is not decoded")       \
    X(TEXT_HIDDEN, "text.hidden", WARNING, "the producer's text has hidden characters")            \
    X(GAS_HINT, "gas.hint", INFO, "the producer's guess of the gas; never to be broadcast")        \
    X(ADVICE_PRESENT, "advice.present", INFO, "the producer's advice; permits nothing")            \
    X(REVIEW_REST, "review.rest", INFO, "findings that are only counted; as grave as those")

typedef enum moonplan_severity {
    MOONPLAN_INFO = 1,
    MOONPLAN_WARNING,
    MOONPLAN_DANGER
} moonplan_severity;
/* "info", "warning", "danger". */
MOONPLAN_API const char *moonplan_severity_name(moonplan_severity severity);

typedef enum moonplan_finding_code {
#define MOONPLAN_FINDING_SYMBOL(symbol, name, severity, text) MOONPLAN_FINDING_##symbol,
    MOONPLAN_FINDINGS(MOONPLAN_FINDING_SYMBOL)
#undef MOONPLAN_FINDING_SYMBOL
        MOONPLAN_FINDING_COUNT
} moonplan_finding_code;

typedef struct moonplan_finding_info {
    const char *name;
    moonplan_severity severity;
    const char *text;
} moonplan_finding_info;
/* NULL behind the last. */
MOONPLAN_API const moonplan_finding_info *moonplan_finding_info_at(size_t code);

typedef struct moonplan_finding {
    moonplan_finding_code code;
    moonplan_severity severity;
    size_t step;           /* from 1; 0: the plan as a whole */
    moonplan_text call;    /* "2.1.3": in step 2, in its first inner call, the third one */
    moonplan_text at;      /* a pointer into the plan */
    moonplan_text message; /* untrusted text in it is quoted and visible */
} moonplan_finding;

typedef struct moonplan_review_context {
    const moonplan_abi_source *sources;
    size_t source_count;
    /* Seconds since 1970, for "long"; 0: not known, and only what is long at
     * any time is called so. */
    uint64_t now;
    /* For a typed-data request: the URL that it was fetched from and verified
     * by; empty where no origin is proved. */
    moonplan_text origin;
} moonplan_review_context;

typedef struct moonplan_review moonplan_review;

/* The plan is read, not kept. `context` may be NULL. Findings do not depend on
 * the ABIs handed in, except that a call which one describes is not unknown;
 * what only untrusted ones say is added, and decoded out of a budget of its own.
 * Everything that is decoded, inner calls and bytes arguments included, comes
 * out of one budget: the limits abi_words and call_depth. What is over it is
 * said not to be decoded; a review itself fails for lack of memory only. */
MOONPLAN_API moonplan_review *moonplan_review_new(const moonplan_call_plan *plan,
                                                  const moonplan_review_context *context,
                                                  const moonplan_options *options,
                                                  moonplan_error *err);
MOONPLAN_API void moonplan_review_free(moonplan_review *review);
/* Findings, the gravest first, then in the order of the plan. At most
 * `findings` (a limit) of each severity, but always the first of each code; a
 * closing review.rest counts others. */
MOONPLAN_API size_t moonplan_review_count(const moonplan_review *review);
MOONPLAN_API bool moonplan_review_finding(const moonplan_review *review, moonplan_finding *out,
                                          size_t n);
/* The gravest severity; 0 if there is no finding. */
MOONPLAN_API moonplan_severity moonplan_review_worst(const moonplan_review *review);
/* The review as an object:
 *   digest, chain_id, caip2_chain_id, sender, required_capabilities
 *   steps     [{step, kind, to, value, value_ether, gas?, data_bytes, call}]
 *   failure_policy  as in the plan: the producer's words, not in the digest
 *   outside_digest  names of what is present and not in the digest
 *   findings  [{code, severity, step?, call?, at, message}]
 *   counts    {danger, warning, info}
 * A call:
 *   id, to, value, value_ether, data_bytes   (not repeated for a step's own)
 *   kind      "value" (no calldata), "decoded", "not_decoded"
 *   selector, signature, name, arguments [{name?, type, declaration?, value}];
 *             a declaration names a tuple's components in their order:
 *             "(address to, uint256 amount)[]"
 *   source    whose description was used: a source's origin, or "standard",
 *             and then defined_by names where the function is from
 *   guess     true: four bytes of a hash are all that speaks for it
 *   canonical, notes? [{code, at, offset, message}]
 *   reason, data    of what is not decoded: why, and the bytes
 *   calls?    inner calls, each again a call, with
 *     delegate: true   another contract's code runs in the account itself
 *     assumed: true    bytes in an argument that look like a call; nothing says
 *                      that they are one */
MOONPLAN_API const moonplan_document *moonplan_review_document(const moonplan_review *review);

/* One call outside a plan, as such an object, with findings and counts in it;
 * to and chain_id may be {NULL, 0}. Calldata that are not decoded are no error. */
MOONPLAN_API moonplan_document *moonplan_call_decode(const uint8_t *bytes, size_t length,
                                                     moonplan_text to, moonplan_text chain_id,
                                                     const moonplan_review_context *context,
                                                     const moonplan_options *options,
                                                     moonplan_error *err);

/* -- Conversion --------------------------------------------------------------
 * Between call plans and the batches of other standards. What cannot be carried
 * is refused; what is left behind is listed in *lost (NULL: not wanted), which
 * belongs to the caller and is NULL if there is nothing: convert.lost,
 * convert.checksum, call.chain_zero. Plans that come out are validated as any
 * other. */

/* Params of wallet_sendCalls, version 2.0.0 (EIP-5792): the one object of the
 * params array. The plan keeps its digest on a way there and back exactly if
 * every step is an execution. Refused: required capabilities other than
 * atomic_batch. */
MOONPLAN_API moonplan_document *moonplan_to_send_calls(const moonplan_call_plan *plan,
                                                       moonplan_error_list **lost,
                                                       const moonplan_options *options,
                                                       moonplan_error *err);
/* `account` is the sender where the batch names none, {NULL, 0} if there is
 * none; a batch that names another is refused. Refused as well: versions other
 * than 2.0.0, a missing atomicRequired, contract creation, capabilities that
 * are not optional, and chains whose number has more than the 32 digits that
 * CAIP-2 has room for. One fault is reported. */
MOONPLAN_API moonplan_call_plan *moonplan_from_send_calls(const char *text, size_t length,
                                                          moonplan_text account,
                                                          moonplan_error_list **lost,
                                                          const moonplan_options *options,
                                                          moonplan_error *err);

/* A batch file of the Safe Transaction Builder, version 1.0, with its checksum.
 * `created` is its createdAt, in milliseconds since 1970. A Safe executes such
 * a batch in one transaction, so several steps stand for atomic_batch and one
 * alone does not: *lost says where that is not what the plan asks for. */
MOONPLAN_API moonplan_document *moonplan_to_safe_batch(const moonplan_call_plan *plan,
                                                       uint64_t created, moonplan_error_list **lost,
                                                       const moonplan_options *options,
                                                       moonplan_error *err);
/* Transactions given as a method and its values are encoded. Two and more of
 * them become a plan that requires atomic_batch. Chains are refused as by
 * moonplan_from_send_calls. */
MOONPLAN_API moonplan_call_plan *moonplan_from_safe_batch(const char *text, size_t length,
                                                          moonplan_text account,
                                                          moonplan_error_list **lost,
                                                          const moonplan_options *options,
                                                          moonplan_error *err);

/* -- Step plans: ExecutionPlan v1 --------------------------------------------
 * An engine knows capabilities and a policy; it admits step plans and runs
 * them as jobs. Admission finds every fault of every step (ExecutionPlan v1,
 * Properties, References and ordering) and a refused plan leaves nothing
 * behind. A job runs its steps strictly in order: each step's references are
 * resolved, its input is checked, the authorizer decides, the capability is
 * called. The first failure ends the job.
 *
 * A host runs a job in one go (moonplan_engine_run), or takes it one question
 * at a time (moonplan_engine_submit_new, moonplan_job_next) and answers those that
 * it wants to answer itself: callbacks and questions are the same thing. */
typedef struct moonplan_engine moonplan_engine;
typedef struct moonplan_job moonplan_job;

/* MOONPLAN_TEXT("literal") */
#define MOONPLAN_TEXT(literal) ((moonplan_text){(literal), sizeof(literal) - 1})

/* What a job asks for next. `kind` says what, and with it which answers fit:
 *
 *   INPUT     the step's input as it is now     _complete, _fail
 *   DECISION  may this step run?                _allow, _deny, _decide, _fail
 *   COMMIT    make what happened durable        _complete (the engine's store
 *             is asked as well), _fail
 *   RESULT    do it                             _complete, _fail
 *   OUTCOME   it was begun before the job was   _complete, _fail, _retry
 *             resumed: how did it end?          (it was not done: do it)
 *
 * A question that nobody answers is answered by the engine: the plan's own
 * input, the authorizer's decision, the store's commit, the capability's
 * result; and of an outcome, what the capability's `check` finds, or, for a
 * capability that only reads, and did when the step was begun, a retry. With no
 * answer to that the job stops, outcome_unknown. All that stands here is borrowed
 * from the job. `input` is what the capability gets, references resolved;
 * MOONPLAN_NONE: the plan gives none.
 * At INPUT there is no input yet, and no version and risk. */
typedef enum moonplan_wanted {
    MOONPLAN_WANT_INPUT = 1,
    MOONPLAN_WANT_DECISION,
    MOONPLAN_WANT_COMMIT,
    MOONPLAN_WANT_RESULT,
    MOONPLAN_WANT_OUTCOME
} moonplan_wanted;

typedef struct moonplan_want {
    moonplan_wanted kind;
    const moonplan_job *job;
    size_t step; /* from 0 */
    moonplan_text job_id, step_id, capability, version, risk;
    moonplan_value input;
    moonplan_value caller; /* as it was given to the run; MOONPLAN_NONE without */
} moonplan_want;

/* Why a step failed. */
typedef struct moonplan_failure {
    moonplan_code code; /* MOONPLAN_OK: the usual one of the question */
    /* Kept as it is, NULs included; bytes that are not UTF-8 are spelled \x.. .
     * Absent: the contract's fixed text for a failure without a message. */
    moonplan_text message;
    moonplan_value detail; /* anything that a person or program may want to know; may be NONE */
} moonplan_failure;

/* The answers. False when the answer does not fit the question, or the
 * question has its answer already (the first one counts), or (_complete) the
 * value cannot be kept, which is the question's answer then: the step fails
 * with job.result_shape, limit or memory.
 *
 * Values and texts are copied. A result's JSON text is bounded by the limit
 * result_bytes, and so is a failure's message and its detail; one that is
 * longer is replaced by a message that says so. */
MOONPLAN_API bool moonplan_want_allow(moonplan_want *want);
/* Without a reason (NULL) the step's error is "Capability not permitted: " and
 * the capability's name. */
MOONPLAN_API bool moonplan_want_deny(moonplan_want *want, const char *reason, size_t length);
/* A decision as a value: an object whose member decision is "allow", or "deny"
 * with a string or nothing as its reason. Any other value is malformed, and
 * the step fails with job.decision_invalid. */
MOONPLAN_API bool moonplan_want_decide(moonplan_want *want, moonplan_value decision);
/* The result; MOONPLAN_NONE: there is none, which is not the same as null. */
MOONPLAN_API bool moonplan_want_complete(moonplan_want *want, moonplan_value value);
MOONPLAN_API bool moonplan_want_complete_json(moonplan_want *want, const char *text, size_t length);
/* MOONPLAN_TEXT("...") or {NULL, 0}, and the usual code. */
MOONPLAN_API bool moonplan_want_fail(moonplan_want *want, moonplan_text message);
/* INPUT: plan.* faults are told as job.*; RESULT: the codes job.* and limit.
 * COMMIT: store.failed; the job stops where it is and nothing more is called. */
MOONPLAN_API bool moonplan_want_fail_with(moonplan_want *want, const moonplan_failure *failure);

/* OUTCOME: the effect did not happen, or may happen again. */
MOONPLAN_API bool moonplan_want_retry(moonplan_want *want);
/* OUTCOME, as a value: {"happened": true, "result": ...}, {"happened": false},
 * or null: nobody can tell. False for any other value. */
MOONPLAN_API bool moonplan_want_outcome(moonplan_want *want, moonplan_value outcome);
/* RESULT: whether the job was cancelled meanwhile, by moonplan_job_cancel or,
 * through the store, by another process (looked up at most four times a
 * second). Whatever runs long asks, and fails with job.cancelled then. */
MOONPLAN_API bool moonplan_want_cancelled(moonplan_want *want);

/* DECISION, RESULT, OUTCOME: 64 hexadecimal digits and a NUL that are the same whenever
 * this step of this job is to be done with this input: BLAKE2b-256 over job id,
 * step id and the input's canonical text. Hand it to services that keep keys.
 * False for want of memory. */
MOONPLAN_API bool moonplan_want_token(const moonplan_want *want, char out[65]);

/* A capability: a named, versioned thing that a step can call. Texts are
 * copied.
 *
 * `input` and `output` are JSON texts: an object that gives each field of the
 * capability's input (result) an object with `type` (string, number, boolean,
 * object, array), `required` (boolean), `description`, and, of ours: `integer`
 * (numbers without point or exponent), `min`, `max` (numbers, compared
 * exactly), `max_length` (of a string, in characters), `enum` (strings,
 * numbers, booleans). Absent: anything goes. A type that is none of the five
 * is registered and refuses whatever value it meets (plan.input_schema).
 *
 * `run` answers its question. One that returns without an answer has no
 * result, and its step is completed. A failure is told with _fail. */
typedef struct moonplan_capability {
    moonplan_text name, version, summary;
    moonplan_text risk; /* "read", "write", "destructive"; the default authorizer denies others */
    moonplan_text input, output;
    const moonplan_text *needs; /* powers that the host has to grant */
    size_t needs_count;
    const moonplan_text *missing; /* those of them that it did not: plan.power_missing */
    size_t missing_count;
    bool lua_values; /* numbers in the input must fit Lua's: plan.input_number, job.input_number */
    moonplan_text digest; /* BLAKE2b-256 of the code behind it, 64 digits, for the record */
    void (*run)(void *data, moonplan_want *want);
    void *data;
    void (*release)(void *data); /* once nothing can call `run` any more; may be NULL */
    /* Answers OUTCOME: did what this input and this token asked for happen?
     * NULL: it cannot be told. */
    void (*check)(void *data, moonplan_want *want);
} moonplan_capability;

/* Who answers DECISION. Returning without an answer is a malformed decision:
 * the step fails. */
typedef struct moonplan_authorizer {
    void (*decide)(void *data, moonplan_want *want);
    void *data;
    void (*release)(void *data); /* may be NULL */
} moonplan_authorizer;

/* A catalogue that is looked into when a plan names a capability that the
 * engine does not have. `find` registers what it finds (moonplan_engine_register)
 * and returns true; false: there is none, or, with *err filled in, there is one
 * that cannot be used and the message says why. It is asked about a name once
 * per plan, and again before a step when the capability has gone. */
typedef struct moonplan_provider {
    bool (*find)(void *data, moonplan_engine *engine, moonplan_text name, moonplan_error *err);
    void *data;
    void (*release)(void *data); /* may be NULL */
} moonplan_provider;

/* Ids have 1 to 39 bytes and end with a NUL. */
#define MOONPLAN_ID_SIZE 40

typedef struct moonplan_engine_options {
    moonplan_options common; /* alloc and limits count for all that the engine makes */
    /* NULL decide: the default. It allows what reads, and the risks in `allow`;
     * it denies the rest. */
    moonplan_authorizer authorizer;
    const moonplan_text *allow;
    size_t allow_count;
    /* Versions that a plan may have; none: any, with a warning for others than 1.0. */
    const moonplan_text *plan_versions;
    size_t plan_versions_count;
    /* Milliseconds since 1970-01-01T00:00:00Z, held to the years 0000 to 9999; NULL: the system's
     * clock. Asked about an approval while the store is being written as well, which cannot be
     * used meanwhile. */
    int64_t (*now)(void *data);
    void *now_data;
    /* A new id of a job or event; false or no text: the engine makes one.
     * NULL: UUIDv7 (RFC 9562). With the id of a job that is under way or kept,
     * a job is refused: store.failed. */
    bool (*make_id)(void *data, char out[MOONPLAN_ID_SIZE]);
    void *make_id_data;
    size_t keep_jobs; /* ended jobs that the store in memory keeps; default 64 */
    /* Steps of these risks run only with an approval ("Approvals", below), and
     * are then put to the authorizer like any other. A job keeps what it was made
     * with: its steps of these risks take an approval, and so does a step that
     * has waited for one, whichever engine goes on with it. A step is of a risk
     * when its capability says so, or did when the job was made. */
    const moonplan_text *require_approval;
    size_t require_approval_count;
    const struct moonplan_public_key *approvers; /* whose approvals count */
    size_t approver_count;
    /* A resumed job does not begin steps again that only read, and were begun
     * when it was interrupted: their outcome is unknown like any other's. */
    bool keep_reads;
} moonplan_engine_options;

MOONPLAN_API void moonplan_engine_options_init(moonplan_engine_options *options);
/* NULL options are the defaults. Whatever the options point to is copied, but
 * for the functions' data, which is released with the engine. */
MOONPLAN_API moonplan_engine *moonplan_engine_new(const moonplan_engine_options *options,
                                                  moonplan_error *err);
/* Jobs may outlive their engine: they can be read, and a step that is yet to
 * come fails with job.capability_gone. */
MOONPLAN_API void moonplan_engine_free(moonplan_engine *engine);

/* Register a family of capabilities: all of them or, with an error whose place
 * is a pointer into the list, none. A name stands for one version at a time:
 * plugin.duplicate. After an error nothing has been released. */
MOONPLAN_API bool moonplan_engine_register(moonplan_engine *engine, const moonplan_capability *list,
                                           size_t count, moonplan_error *err);
/* Take one away; false if there was none. A call under way goes on. */
MOONPLAN_API bool moonplan_engine_unregister(moonplan_engine *engine, const char *name,
                                             size_t length);
/* Ask `provider` after those that were added before it. The engine releases
 * it, unless this failed. */
MOONPLAN_API bool moonplan_engine_provide(moonplan_engine *engine,
                                          const moonplan_provider *provider, moonplan_error *err);
/* What is registered, in that order, as an array of objects with name, version,
 * summary, risk, needs, missing, input and output: a document of the caller's. */
MOONPLAN_API moonplan_document *moonplan_engine_list_new(const moonplan_engine *engine,
                                                         moonplan_error *err);
/* One of them; NULL without an error if there is none of that name and version
 * (bytes NULL: any version). */
MOONPLAN_API moonplan_document *moonplan_engine_describe_new(const moonplan_engine *engine,
                                                             moonplan_text name,
                                                             moonplan_text version,
                                                             moonplan_error *err);

typedef enum moonplan_status {
    MOONPLAN_CREATED = 1,
    MOONPLAN_EXECUTING,
    MOONPLAN_PENDING,
    MOONPLAN_RUNNING,
    MOONPLAN_COMPLETED,
    MOONPLAN_FAILED,
    MOONPLAN_CANCELLED,
    MOONPLAN_OUTCOME_UNKNOWN,   /* waits: a step was begun, and nobody knows how it ended */
    MOONPLAN_AWAITING_APPROVAL, /* waits: the next step may not run without one */
    MOONPLAN_INTERRUPTED        /* in a store: whoever ran it is gone; it can be resumed */
} moonplan_status;
/* "created", "executing", "pending", ... "outcome_unknown", ... */
MOONPLAN_API const char *moonplan_status_name(moonplan_status status);

/* What happened in a job. Fields of its data that a type does not have are
 * absent: {NULL, 0}, or MOONPLAN_OK as the error's code.
 *
 *   job.created           goal
 *   execution.started
 *   capability.started    step_id, capability, digest (if the capability has one),
 *                         version*, risk*, input_digest*
 *   capability.completed  step_id, capability, result_digest*
 *   capability.denied     step_id, capability, risk, reason (if there was one)
 *   capability.failed     step_id, capability, error
 *   capability.unknown    step_id, capability: begun, and no end is known
 *   capability.resolved   step_id, capability, outcome ("completed", "failed",
 *                         "retry"), reason ("check", "policy", "host": who said so)
 *   approval.requested    step_id, capability, version, risk, input_digest
 *   approval.granted      step_id, capability, approval
 *   job.resumed
 *   job.completed         step_count
 *   job.failed            error
 *   job.cancelled         error
 *
 * With a star: where the store is durable, or approvals are required. Then
 * job.created has plan_digest and caller_digest as well, and approvals, the
 * risks that take one, if there are any.
 *
 * What happened to a plugin belongs to no job: job_id is absent, and a
 * subscriber's `job` is NULL. It is told, not stored.
 *
 *   plugin.loaded         name, version, file, digest, key (if it is signed),
 *                         decision (shipped, pinned, signed, unsigned), isolation
 *                         (state, process), reason (why its version will not be
 *                         remembered); one event for each item of a file
 *   plugin.refused        name, file, error; digest, if the file could be read */
typedef struct moonplan_event {
    moonplan_text id, job_id, type;
    int64_t time; /* milliseconds since 1970-01-01T00:00:00Z */
    moonplan_text goal, step_id, capability, risk, reason;
    moonplan_failure error;
    size_t step_count;
    moonplan_text version, outcome;
    /* 64 hexadecimal digits each. */
    moonplan_text plan_digest, caller_digest, input_digest, result_digest, approval, digest;
    moonplan_value approvals; /* an array of strings; document NULL, or MOONPLAN_NONE: absent */
    moonplan_text name, file, key, decision, isolation;
} moonplan_event;

/* The n-th of these types, from 0; NULL behind the last. */
MOONPLAN_API const char *moonplan_event_type_at(size_t n);

typedef struct moonplan_subscriber {
    void (*notify)(void *data, const moonplan_job *job, const moonplan_event *event);
    void *data;
    void (*release)(void *data); /* when it is unsubscribed or the engine ends; may be NULL */
} moonplan_subscriber;

/* Hear of events of one type, or of all: "*". An event goes to the subscribers
 * of its type in the order in which they came, then to those of all, once it
 * is durable. The same function and data counts once for a type. Returns a
 * number to unsubscribe with; 0 for want of memory. */
MOONPLAN_API uint64_t moonplan_engine_subscribe(moonplan_engine *engine, const char *type,
                                                size_t length,
                                                const moonplan_subscriber *subscriber);
/* Nothing happens when it has happened already. */
MOONPLAN_API void moonplan_engine_unsubscribe(moonplan_engine *engine, uint64_t subscription);

typedef struct moonplan_run_options {
    /* Who asks: the JSON text of an object, {"subject": ..., "tenant": ...,
     * "scopes": [...], "metadata": {...}}; kept as it is, handed to authorizers
     * and capabilities. Absent: nobody in particular. */
    moonplan_text caller;
    moonplan_error_list **errors; /* as in moonplan_options */
    /* The plan's idempotencyKey, if it is a string, counts: the first job that was
     * made of the same plan for the same caller with this key, deduplicated itself
     * or not, is the answer, whatever became of it. Where all jobs of the key have
     * another plan or caller it is a refusal, store.conflict. In memory jobs count
     * as long as they are kept. */
    bool deduplicate;
    /* JSON texts of approvals; each is looked at when it comes, and refused for
     * what is wrong with it (approval.*). */
    const moonplan_text *approvals;
    size_t approval_count;
} moonplan_run_options;

/* An admitted plan: what a run of it would do. Nothing has been called. */
typedef struct moonplan_step_plan moonplan_step_plan;
MOONPLAN_API moonplan_step_plan *moonplan_engine_admit_new(moonplan_engine *engine,
                                                           const char *text, size_t length,
                                                           const moonplan_run_options *options,
                                                           moonplan_error *err);
MOONPLAN_API void moonplan_step_plan_free(moonplan_step_plan *plan);
MOONPLAN_API const moonplan_document *moonplan_step_plan_document(const moonplan_step_plan *plan);
/* Trimmed; "External execution plan" if the plan has none. */
MOONPLAN_API moonplan_text moonplan_step_plan_goal(const moonplan_step_plan *plan);
MOONPLAN_API size_t moonplan_step_plan_count(const moonplan_step_plan *plan);
/* The admission digest, 64 hexadecimal digits and a NUL: BLAKE2b-256 (RFC 7693)
 * over the canonical text of what was captured: an object of goal (as above),
 * idempotencyKey and steps; of each step id, capability, capabilityVersion,
 * input, reason and idempotencyKey; what is absent left out. Canonical: members
 * sorted by the bytes of their names, no white space, shortest escapes, numbers
 * by their exact value. False for want of memory. */
MOONPLAN_API bool moonplan_step_plan_digest(const moonplan_step_plan *plan, char out[65]);

#define MOONPLAN_NO_TIME INT64_MIN

/* A step as it stands in the plan; optional members that are absent give
 * {NULL, 0} or MOONPLAN_NONE. */
typedef struct moonplan_step {
    moonplan_text id, capability, version, reason, idempotency_key;
    moonplan_value input; /* references as they are written */
    /* Of a job's step; a plan's has status PENDING and none of the rest. */
    moonplan_status status;
    int64_t created, started, completed; /* milliseconds since 1970, or MOONPLAN_NO_TIME */
    moonplan_value result;               /* of a completed step; MOONPLAN_NONE: it has none */
    moonplan_failure error;              /* of a failed one */
} moonplan_step;
MOONPLAN_API bool moonplan_step_plan_step(const moonplan_step_plan *plan, moonplan_step *out,
                                          size_t n);

/* The references in the inputs, in document order. */
typedef struct moonplan_reference {
    moonplan_value at;   /* the object {"$ref": ...} */
    moonplan_text text;  /* steps.ID.result.PATH */
    moonplan_text path;  /* PATH; absent without one */
    size_t step, target; /* the step that holds it, and the one whose result it names; from 0 */
} moonplan_reference;
MOONPLAN_API size_t moonplan_step_plan_reference_count(const moonplan_step_plan *plan);
MOONPLAN_API bool moonplan_step_plan_reference(const moonplan_step_plan *plan,
                                               moonplan_reference *out, size_t n);
/* Faults that do not keep a plan from running, in document order. */
MOONPLAN_API size_t moonplan_step_plan_warning_count(const moonplan_step_plan *plan);
MOONPLAN_API const moonplan_error *moonplan_step_plan_warning(const moonplan_step_plan *plan,
                                                              size_t n);

/* Admit a plan and make a job of it. NULL: it was refused, and there is no job,
 * no event, and nothing was called. */
MOONPLAN_API moonplan_job *moonplan_engine_submit_new(moonplan_engine *engine, const char *text,
                                                      size_t length,
                                                      const moonplan_run_options *options,
                                                      moonplan_error *err);
/* The same, and run it to its end: completed or failed. NULL also when the
 * store failed. */
MOONPLAN_API moonplan_job *moonplan_engine_run(moonplan_engine *engine, const char *text,
                                               size_t length, const moonplan_run_options *options,
                                               moonplan_error *err);
MOONPLAN_API void moonplan_job_free(moonplan_job *job);

/* One of several plans to be run. */
typedef struct moonplan_run {
    moonplan_text plan;
    const moonplan_run_options *options; /* NULL: none; may be shared if `errors` in it is NULL */
    moonplan_job *job;                   /* comes out; NULL: refused, or the store failed */
    moonplan_error error;                /* comes out: why there is no job, else MOONPLAN_OK */
} moonplan_run;
/* Run them all as moonplan_engine_run does; how many jobs came of it is returned.
 * In a store on disk jobs share their commits, which is what a step waits for:
 * up to 64 are under way, each with a step of its own, and what they want to have
 * committed goes to the disk together, before any of these steps is begun and
 * before anybody is told of a result. Steps run one after another in this thread;
 * nothing is promised about the order of two jobs. What goes wrong with one plan,
 * job or commit concerns that one alone. The price: when the machine stops, up to
 * 64 jobs may have a step whose outcome is unknown, instead of one. */
MOONPLAN_API size_t moonplan_engine_run_many(moonplan_engine *engine, moonplan_run *runs,
                                             size_t count);

/* Answer the last question, if nobody has, and return the next; NULL when there
 * is none, because the job has ended or has been stopped (moonplan_job_stopped).
 * NULL as well when called from inside a callback of the same job. */
MOONPLAN_API moonplan_want *moonplan_job_next(moonplan_job *job);
/* Whether a commit failed, and how. */
MOONPLAN_API bool moonplan_job_stopped(const moonplan_job *job, moonplan_error *err);

/* A job of the engine's store, as moonplan_job_document_new has it; NULL
 * without an error if there is none of that id. The store in memory has those
 * under way and the last keep_jobs that have ended. */
MOONPLAN_API moonplan_document *moonplan_engine_job_new(const moonplan_engine *engine,
                                                        const char *id, size_t length,
                                                        moonplan_error *err);
/* Which jobs; what is {NULL, 0}, or 0 as `most`, does not count. */
typedef struct moonplan_job_filter {
    moonplan_text status;     /* its name */
    moonplan_text capability; /* of one of the steps */
    moonplan_text goal;       /* a part of it; letters of ASCII in either case */
    moonplan_text since;      /* created then or later: RFC 3339 as above, or its beginning */
    size_t most;              /* this many, the latest ones */
} moonplan_job_filter;

/* Those (NULL: all): an array of objects with id, status, goal, created and
 * completed. In memory: those that have ended in the order in which they did,
 * then those that wait, then those under way. In SQLite: as they came. */
MOONPLAN_API moonplan_document *moonplan_engine_jobs_new(const moonplan_engine *engine,
                                                         const moonplan_job_filter *filter,
                                                         moonplan_error *err);

MOONPLAN_API moonplan_text moonplan_job_id(const moonplan_job *job);
MOONPLAN_API moonplan_status moonplan_job_status(const moonplan_job *job);
MOONPLAN_API const moonplan_step_plan *moonplan_job_plan(const moonplan_job *job);
/* The job's error, once it has failed, was cancelled, or waits. A failed job's
 * message may differ from its step's. */
MOONPLAN_API bool moonplan_job_error(const moonplan_job *job, moonplan_failure *out);
MOONPLAN_API size_t moonplan_job_step_count(const moonplan_job *job);
MOONPLAN_API bool moonplan_job_step(const moonplan_job *job, moonplan_step *out, size_t n);
MOONPLAN_API size_t moonplan_job_event_count(const moonplan_job *job);
MOONPLAN_API bool moonplan_job_event(const moonplan_job *job, moonplan_event *out, size_t n);
/* The result of a completed job: its only step's, or the array of all its
 * steps' (null for a step that has none). NULL without an error when it has not
 * completed, or its only step has no result. */
MOONPLAN_API moonplan_document *moonplan_job_result_new(const moonplan_job *job,
                                                        moonplan_error *err);
/* The whole job: id, status, goal, result, error, idempotency_key, digest (of
 * its plan, where the store is durable or approvals are required), created,
 * started, completed, caller_subject, steps, events. Absent is what there is
 * not (yet); times are RFC 3339, UTC, with milliseconds; an error is an object
 * of code, message and, if there is one, detail; an event's data is an object
 * with the names of moonplan_event. */
MOONPLAN_API moonplan_document *moonplan_job_document_new(const moonplan_job *job,
                                                          moonplan_error *err);

/* -- Durable jobs --------------------------------------------------------------
 * In a durable store a step is written down as begun before its capability is
 * called, and its result before anybody is told. So:
 *
 *   a step marked completed is never begun again;
 *   a step that was begun when the process died is told as one whose outcome is
 *   unknown, and never repeated in silence;
 *   what a run has reported as done survives a kill and a power cut.
 *
 * A job belongs to whoever runs it, by a lease that is renewed with every
 * commit. One whose owner is gone (its process, on this machine; when the lease
 * has run out, where that cannot be seen: elsewhere, in another namespace of
 * processes, behind /proc's hidepid) can be resumed by another. */

enum {
    MOONPLAN_STORE_EXISTING = 1, /* it has to be there */
    MOONPLAN_STORE_READ_ONLY = 2 /* nothing is written; it has to be there */
};

/* Keep the jobs in a file, from now on; only before the first job. The file is
 * made with mode 0600. It is written through libsqlite3, opened with the first
 * use, which takes its own memory from the C library: WAL, synchronous FULL.
 *
 * Errors: store.open (no store, a link, another program's file, read-only, no
 * libsqlite3; the log of a file that is gone lies where one would be made),
 * store.version, store.corrupt, store.locked, store.full. A file that is refused
 * is left as it was. Jobs end with these too: after a commit that failed, or
 * when the file or its log has been moved, deleted, replaced or cut off
 * (store.failed), nothing more is called. An empty file becomes a store as one
 * that is not there does; who makes one at the same time is waited for.
 *
 * What is cut off is noticed before each transaction and after it. Two things are
 * not: a file that is written over in its place, as cp(1) does, and as long as it
 * was or longer; and the log's index (-shm) cut off in the very moment in which
 * it is looked at, for which the system ends the process (SIGBUS), as SQLite maps
 * it into memory.
 *
 * A file that grows beyond RLIMIT_FSIZE is store.full where SIGXFSZ is ignored;
 * the program ignores it, and the library leaves signals alone.
 *
 * With MOONPLAN_STORE_READ_ONLY a file without a log beside it that may not be
 * written, or lies in a folder that may not, is read without locks: who can write
 * it nevertheless should not while it is read. With a log it needs the log's
 * index (-shm) too, which a process that has it open keeps. */
MOONPLAN_API bool moonplan_engine_store_sqlite(moonplan_engine *engine, const char *path,
                                               size_t length, unsigned flags, moonplan_error *err);

/* Go on with a job that waits or was interrupted, as moonplan_engine_submit_new
 * and moonplan_engine_run do: the plan is admitted again, completed steps keep
 * their results. Of `options` the approvals count; the caller is the job's, and
 * so is what takes an approval, besides what the engine asks one for. One that
 * has been told to end does so now, and nothing is called.
 * NULL, and the job is as it was: job.not_found, job.state (it has ended),
 * store.locked (somebody runs it), job.capability_gone (a step that is yet to
 * come would get another version), or what admission says. */
MOONPLAN_API moonplan_job *moonplan_engine_resume_new(moonplan_engine *engine, const char *id,
                                                      size_t length,
                                                      const moonplan_run_options *options,
                                                      moonplan_error *err);
MOONPLAN_API moonplan_job *moonplan_engine_resume(moonplan_engine *engine, const char *id,
                                                  size_t length,
                                                  const moonplan_run_options *options,
                                                  moonplan_error *err);

typedef enum moonplan_resolution {
    MOONPLAN_RESOLVE_COMPLETED = 1, /* it happened; `text` is the JSON text of the result, if any */
    MOONPLAN_RESOLVE_FAILED,        /* it went wrong; `text` is the message, if any */
    MOONPLAN_RESOLVE_RETRY          /* it did not happen, or may happen again */
} moonplan_resolution;

/* Say how a step ended whose outcome is unknown. The job can be resumed then
 * (or has failed, is complete, or was cancelled before); nothing is called. A
 * result has to be what the capability declares as its output, where it is
 * registered here in the version that the step was begun with; of another nothing
 * is known. Errors as in resuming, and job.output_type. */
MOONPLAN_API bool moonplan_engine_resolve(moonplan_engine *engine, const char *id, size_t length,
                                          moonplan_text step_id, moonplan_resolution resolution,
                                          moonplan_text text, moonplan_error *err);

/* The job ends before its next step; a capability that runs may ask
 * (moonplan_want_cancelled). From a callback of the job, another thread or a
 * signal handler. */
MOONPLAN_API void moonplan_job_cancel(moonplan_job *job);
/* The same for a job of the store, whoever runs it, and whoever goes on with it
 * when that one dies first; one that nobody runs has ended when this returns. Errors:
 * job.not_found, job.state, store.*. */
MOONPLAN_API bool moonplan_engine_cancel(moonplan_engine *engine, const char *id, size_t length,
                                         moonplan_error *err);

/* -- Approvals -------------------------------------------------------------------
 * An approval is a JSON object that somebody has signed:
 *
 *   kind          "approval"
 *   api           1
 *   step_id, capability, capability_version (absent where the capability has
 *                 none), input_digest: one step with exactly this input, its
 *                 references resolved; BLAKE2b-256 over the input's canonical
 *                 text, of nothing for a step without input
 *   plan_digest   the plan; without the four above: for all its steps
 *   capability_versions   for all steps: what each is done with, an object of the
 *                 versions by step id, null where the capability has none
 *   caller        whom the job is run for, as it was given; null for nobody
 *   created, expires   RFC 3339, UTC, milliseconds; good before `expires`
 *   nonce         32 hexadecimal digits, so that no two are alike
 *   key           the signing key's id, 16 digits as minisign prints it
 *   signature     base64 of a bare signature, context "moonplan-approval-1",
 *                 over the canonical text of the rest
 *
 * Everything there has to hold where it stands; nothing else may. An approval
 * is good for one begin of its step, or of each step of its plan within one job,
 * which is written down in one transaction with the beginning. One whose time is
 * over by then, or that another job has begun with meanwhile, counts no more: the
 * step begins with another one that was given, or the job waits. That is once in
 * each store: another store (a copy, or one in memory, which forgets with its
 * engine) does not know, so that a plan that may run in one place alone says so
 * in its input or caller. Its own digest, over that same text, is what events
 * call `approval`. */

/* An approval without key and signature, for one step that has no references, or
 * with `step_id` {NULL, 0} for the whole plan. Version and existence are the
 * registered capability's. `caller` as in moonplan_run_options; `expires` in
 * milliseconds since 1970. */
MOONPLAN_API moonplan_document *moonplan_approval_plan_new(moonplan_engine *engine,
                                                           const moonplan_step_plan *plan,
                                                           moonplan_text step_id,
                                                           moonplan_text caller, int64_t expires,
                                                           moonplan_error *err);
/* The same for the step that a job of the store waits with. */
MOONPLAN_API moonplan_document *moonplan_approval_job_new(moonplan_engine *engine, const char *id,
                                                          size_t length, int64_t expires,
                                                          moonplan_error *err);
/* The approval, signed. */
struct moonplan_secret_key;
MOONPLAN_API moonplan_document *moonplan_approval_sign_new(const moonplan_document *approval,
                                                           const struct moonplan_secret_key *key,
                                                           const moonplan_options *options,
                                                           moonplan_error *err);

/* -- Audit -------------------------------------------------------------------------
 * Every event of a durable store is a record, an object of `before`, the digest
 * of the record before it in the store, `before_in_job`, that of the one before
 * it in its job (64 zeros where there is none), `digest`, `event`, `position` in
 * its job and `sequence` in the store, both from 1; in this order and without
 * white space. Its digest is BLAKE2b-256 over this very text, the member
 * `digest` left out. Events carry the digests of what the rows of jobs and steps
 * say, so that a change of either shows. Not covered is what no event tells of:
 *   who runs a job, and until when (its owner and deadline: a lease that would
 *     end later than in an hour is none, but a shorter one can be made up, and
 *     one that is taken away lets another process take the job over);
 *   that somebody has asked to cancel a job that has not ended yet;
 *   the message of a job that waits (its status and what it waits for are);
 *   version, risk and input digest of a step that has not begun, or was denied;
 *   which of several jobs of the same key a deduplicated plan is given, and
 *     whether any (whose plan has another key is found);
 *   another spelling of the same JSON value in a plan, caller or failure;
 *   what the power kv keeps.
 *
 * Who can write the file can also write all of it anew, and what comes last can
 * be cut off together with the note of where the chain ends: against that the
 * head is signed. */

/* The records of a job (id {NULL, 0}: of the store), in order, each with its
 * `digest`, as JSON texts; false when the sink says so, or with an error. */
typedef bool (*moonplan_record_sink)(void *data, moonplan_text record);
MOONPLAN_API bool moonplan_engine_records(const moonplan_engine *engine, moonplan_text id,
                                          moonplan_record_sink sink, void *data,
                                          moonplan_error *err);

/* Sign the head as it is now, over the canonical text of {"digest", "sequence",
 * "time"}, context "moonplan-audit-1"; kept in the store. */
MOONPLAN_API bool moonplan_engine_sign_head(moonplan_engine *engine,
                                            const struct moonplan_secret_key *key,
                                            moonplan_error *err);

/* Check all of it: an object of jobs, records (counts), head (digest), signed (of
 * the newest signature of `key`'s: sequence, time; absent without), sound, and
 * faults: objects of job_id, sequence, what ("edited", "missing", "inserted",
 * "moved", "row", "step", "cut", "signature", "file": tables and indexes
 * disagree, or rows belong to nothing) and message, in order, as many as the
 * limit errors. Where many were edited, "moved" may be called "edited". `key` may
 * be NULL. NULL when it cannot be read at all. */
MOONPLAN_API moonplan_document *moonplan_engine_verify_new(const moonplan_engine *engine,
                                                           const struct moonplan_public_key *key,
                                                           moonplan_error *err);

/* -- Typed-data requests: ERC-8410 typed-data signature requests -------------
 * A document that asks for one EIP-712 signature. Parsing validates all that
 * the standard asks of the document; what depends on the clock, the account or
 * where it came from is asked of moonplan_typed_data_check. Nothing here holds
 * a key or verifies a signature. Typed values are read by their declared type
 * alone; a struct may lead to itself, its values end at the limit `nesting`. */
typedef struct moonplan_typed_data moonplan_typed_data;

MOONPLAN_API moonplan_typed_data *moonplan_typed_data_parse(const char *text, size_t length,
                                                            const moonplan_options *options,
                                                            moonplan_error *err);
MOONPLAN_API void moonplan_typed_data_free(moonplan_typed_data *request);

MOONPLAN_API const moonplan_document *
moonplan_typed_data_document(const moonplan_typed_data *request);
/* Bytes that the request holds, document included, and the most it ever held. */
MOONPLAN_API size_t moonplan_typed_data_memory(const moonplan_typed_data *request, size_t *peak);

/* 0x and 40 digits, in lower case whatever the document has. */
MOONPLAN_API moonplan_text moonplan_typed_data_signer(const moonplan_typed_data *request);
MOONPLAN_API moonplan_text moonplan_typed_data_primary_type(const moonplan_typed_data *request);
/* The objects as they stand in the document; hexadecimal digits may be of either case. */
MOONPLAN_API moonplan_value moonplan_typed_data_types(const moonplan_typed_data *request);
MOONPLAN_API moonplan_value moonplan_typed_data_domain(const moonplan_typed_data *request);
MOONPLAN_API moonplan_value moonplan_typed_data_message(const moonplan_typed_data *request);
/* Seconds since 1970; false where the request has no valid_until. */
MOONPLAN_API bool moonplan_typed_data_valid_until(const moonplan_typed_data *request,
                                                  uint64_t *out);
/* False where the signature goes to the caller, free to be used anywhere. */
MOONPLAN_API bool moonplan_typed_data_delivery(const moonplan_typed_data *request,
                                               moonplan_text *url, moonplan_text *request_id);

typedef struct moonplan_typed_data_digests {
    uint8_t request_digest[32];   /* identity: Keccak-256 of the canonical form; never signed */
    uint8_t domain_separator[32]; /* EIP-712: hashStruct of the domain */
    uint8_t message_hash[32];     /* EIP-712: hashStruct of the message */
    uint8_t signing_digest[32];   /* EIP-712: what a key signs */
} moonplan_typed_data_digests;

MOONPLAN_API void moonplan_typed_data_digest(const moonplan_typed_data *request,
                                             moonplan_typed_data_digests *out);
/* The projection that the request digest is taken over (ERC-8410, Request Digest). */
MOONPLAN_API bool moonplan_typed_data_canonical(const moonplan_typed_data *request,
                                                moonplan_sink sink, void *data);
/* How the digests come about, as a document that you own: `domain` and
 * `message` are objects with type, members and encoded, where a member has
 * name, type, encoded and one of value, members, elements; an element has no
 * name. `types` has encode_type and type_hash of each type that occurs. The
 * four digests and canonical_form stand beside them. It nests twice as deep as
 * the message, to 1024 levels whatever the limit `depth`. */
MOONPLAN_API moonplan_document *moonplan_typed_data_explain(const moonplan_typed_data *request,
                                                            const moonplan_options *options,
                                                            moonplan_error *err);

/* The request explained to a person, with findings; the accessors are those of
 * a plan's review, and of `context` only `now` is looked at. The document:
 *   kind, request_digest, signing_digest, domain_separator, message_hash
 *   signer, primary_type, valid_until?, valid_until_time?, delivery?
 *   domain, message  each {type, members, encoded}, as _explain has it
 *   findings, counts as in a plan's review; `at` leads into the request
 * Known by their exact type: Permit (ERC-2612, DAI), Permit2's messages,
 * TransferWithAuthorization (ERC-3009). Of others, members are judged by name
 * and value: a number of ones alone, a deadline that is far. */
MOONPLAN_API moonplan_review *moonplan_typed_data_review_new(const moonplan_typed_data *request,
                                                             const moonplan_review_context *context,
                                                             const moonplan_options *options,
                                                             moonplan_error *err);

/* What a caller who is about to sign or release knows. Ask again after every
 * wait: valid_until is the first second at which it is too late. */
typedef struct moonplan_typed_data_situation {
    bool has_now;
    uint64_t now;          /* seconds since 1970, by the caller's clock */
    moonplan_text account; /* the account that would sign; {NULL, 0}: not checked */
    /* The URL that the request was fetched from and verified by; {NULL, 0}: not
     * checked; {"", 0}: none is proved, as of what came inline. Only https proves
     * one, and only to it may a signature be delivered. */
    moonplan_text origin;
    /* The caller cannot enforce controlled delivery: a request that asks for it
     * is refused, for the signature must not fall to the caller instead. */
    bool no_delivery;
} moonplan_typed_data_situation;

/* All faults go where the options say, as in parsing. */
MOONPLAN_API bool moonplan_typed_data_check(const moonplan_typed_data *request,
                                            const moonplan_typed_data_situation *situation,
                                            const moonplan_options *options, moonplan_error *err);

/* Is a document a typed_data_result, a typed_data_receipt, or a delivery
 * operation (submit, status)? With `request` (it may be NULL) it must also be
 * about that one: both digests, the signer, the request_id. Signatures are
 * opaque: verify them by the mechanism agreed for the account. */
MOONPLAN_API bool moonplan_typed_data_result(const moonplan_document *result,
                                             const moonplan_typed_data *request,
                                             const moonplan_options *options, moonplan_error *err);
MOONPLAN_API bool moonplan_typed_data_receipt(const moonplan_document *receipt,
                                              const moonplan_typed_data *request,
                                              const moonplan_options *options, moonplan_error *err);
MOONPLAN_API bool moonplan_typed_data_operation(const moonplan_document *operation,
                                                const moonplan_typed_data *request,
                                                const moonplan_options *options,
                                                moonplan_error *err);

/* -- Artifact references -----------------------------------------------------
 * ERC-8410 envelopes that name stored bytes by URL, length and digest. Parsing
 * admits an envelope: its shape, its type, the promised length against the
 * limit of that type (document_bytes, request_bytes), the URL by strict RFC
 * 3986, the transport. Nothing here opens or fetches anything: an artifact says
 * what it wants next and is told, so that the order of all checks is the
 * library's and any host can carry them out:
 *
 *   for (;;) {
 *       switch (moonplan_artifact_next(artifact, &err)) {
 *       case MOONPLAN_ARTIFACT_WANTS_ADDRESSES: ... moonplan_artifact_resolved(...); break;
 *       case MOONPLAN_ARTIFACT_WANTS_BODY: ... moonplan_artifact_add(...) for each piece,
 *                                then moonplan_artifact_end(artifact); break;
 *       case MOONPLAN_ARTIFACT_WANTS_NOTHING: the bytes are verified: _body, _call_plan
 *       case MOONPLAN_ARTIFACT_REFUSED: err says why
 *       }
 *   }
 *
 * Verified is not approved: who made the bytes is another question, and
 * moonplan_artifact_host is all that is proved about it. */
typedef struct moonplan_artifact moonplan_artifact;

/* `expect` is what the caller can use: a call plan, a typed-data request, or
 * MOONPLAN_KIND_NONE for either. */
MOONPLAN_API moonplan_artifact *moonplan_artifact_parse(const char *text, size_t length,
                                                        moonplan_kind expect,
                                                        const moonplan_options *options,
                                                        moonplan_error *err);
MOONPLAN_API void moonplan_artifact_free(moonplan_artifact *artifact);

/* The envelope. Its instruction is the producer's prose, to show and no more. */
MOONPLAN_API const moonplan_document *moonplan_artifact_document(const moonplan_artifact *artifact);
/* Bytes that the artifact holds, body included, and the most it ever held. */
MOONPLAN_API size_t moonplan_artifact_memory(const moonplan_artifact *artifact, size_t *peak);
MOONPLAN_API moonplan_kind moonplan_artifact_kind(const moonplan_artifact *artifact);
MOONPLAN_API moonplan_transport moonplan_artifact_transport(const moonplan_artifact *artifact);
/* https: the host, in lower case, without root dot or brackets; to resolve, to
 * verify the certificate by, and, once the body is verified, the one proved
 * origin. {NULL, 0} for data: and file:, which prove none. Ends with a NUL. */
MOONPLAN_API moonplan_text moonplan_artifact_host(const moonplan_artifact *artifact);
/* https: path and query, to be asked for as they are. Ends with a NUL. */
MOONPLAN_API moonplan_text moonplan_artifact_target(const moonplan_artifact *artifact);
/* file: the absolute path, decoded, without empty or dot segments. Ends with a
 * NUL. {NULL, 0} for other transports and for paths that name no file. */
MOONPLAN_API moonplan_text moonplan_artifact_path(const moonplan_artifact *artifact);
/* The length to expect and not to exceed: the promised one, else the limit. */
MOONPLAN_API uint64_t moonplan_artifact_size(const moonplan_artifact *artifact);

typedef enum moonplan_artifact_want {
    MOONPLAN_ARTIFACT_WANTS_NOTHING = 0, /* the bytes are there and as promised */
    MOONPLAN_ARTIFACT_REFUSED,
    MOONPLAN_ARTIFACT_WANTS_ADDRESSES, /* all that the host has, for moonplan_artifact_resolved */
    MOONPLAN_ARTIFACT_WANTS_BODY       /* from one of moonplan_artifact_address, or from the file */
} moonplan_artifact_want;

/* What is needed next. MOONPLAN_ARTIFACT_REFUSED fills *err, again at every call. */
MOONPLAN_API moonplan_artifact_want moonplan_artifact_next(moonplan_artifact *artifact,
                                                           moonplan_error *err);

#define MOONPLAN_ADDRESS_TEXT 46
typedef struct moonplan_address {
    uint8_t length; /* 4 or 16 */
    uint8_t bytes[16];
} moonplan_address;

/* The answers below are for the want that they belong to; at any other time
 * they change nothing. False: nothing more is needed, ask moonplan_artifact_next. */

/* Every address that the host resolves to; one that is not public unicast
 * refuses them all. */
MOONPLAN_API bool moonplan_artifact_resolved(moonplan_artifact *artifact,
                                             const moonplan_address *addresses, size_t count);
/* The n-th address that a connection may be made to, from 0; false behind the
 * last. Connect to one of these: asking for the name again may give others. */
MOONPLAN_API bool moonplan_artifact_address(const moonplan_artifact *artifact,
                                            moonplan_address *out, size_t n);
/* The status of an HTTP response, before its body; only 2xx is taken, no
 * redirect is followed. */
MOONPLAN_API bool moonplan_artifact_status(moonplan_artifact *artifact, unsigned status);
/* The next piece of the body, content encodings undone. It is copied. */
MOONPLAN_API bool moonplan_artifact_add(moonplan_artifact *artifact, const char *bytes,
                                        size_t length);
/* The body is complete. */
MOONPLAN_API void moonplan_artifact_end(moonplan_artifact *artifact);
/* What was wanted cannot be had. `reason` is a line of yours, such as "the
 * connection timed out": no byte of a response belongs in it. Of a file no
 * reason is shown: all failures look alike (ERC-8410, file Transport). */
MOONPLAN_API void moonplan_artifact_fail(moonplan_artifact *artifact, const char *reason);

/* The verified bytes; {NULL, 0} before that. */
MOONPLAN_API moonplan_text moonplan_artifact_body(const moonplan_artifact *artifact);
/* The verified document, parsed as if it had come inline; the artifact must be
 * of that kind. Places of faults are places in the body. A file that holds no
 * such document fails like one that is not there. */
MOONPLAN_API moonplan_call_plan *moonplan_artifact_call_plan(const moonplan_artifact *artifact,
                                                             const moonplan_options *options,
                                                             moonplan_error *err);
MOONPLAN_API moonplan_typed_data *moonplan_artifact_typed_data(const moonplan_artifact *artifact,
                                                               const moonplan_options *options,
                                                               moonplan_error *err);

/* An envelope for these bytes at this URL, as a document that you own; with
 * `url` {NULL, 0} a data: URL that carries them. The bytes are not looked into.
 * All transports are allowed here. */
MOONPLAN_API moonplan_document *moonplan_artifact_make(moonplan_kind kind, moonplan_text url,
                                                       const char *body, size_t length,
                                                       const moonplan_options *options,
                                                       moonplan_error *err);

/* -- Files below a root ------------------------------------------------------
 * What the power `fs` sees of the world: the files below one folder. No
 * symbolic link is followed, no mount point crossed, nothing but a regular file
 * with a single name (no hard links) is read, and no path leads out, whatever
 * happens to the folder in the meantime. A path is a row of names with single
 * slashes between them; none is empty, "." or "..".
 *
 * Errors: `file.path` for a path of another form, `file.unavailable` for what
 * cannot be had, with the reason, `limit` for too much of it. No message holds
 * the root's own path. Rules: openat2(2), resolve flags BENEATH, NO_SYMLINKS,
 * NO_MAGICLINKS and NO_XDEV; a kernel without it gets a walk, name by name. */
typedef struct moonplan_root moonplan_root;

enum {
    MOONPLAN_ROOT_WRITE = 1,   /* files may be written as well */
    MOONPLAN_ROOT_TRUSTED = 2, /* mount points may be crossed, files may have several names */
    /* For what is run rather than read. Refused are a folder, and a file in it, that others than
     * root and the folder's owner can change, and one that they could put another one in the place
     * of (a folder above it that is open to them, without the sticky bit). Of groups, the one with
     * the number 0 counts as root, and the one with the owner's own number as the owner: by custom
     * nobody else is in it. Not so where an access control list (acl(5)) is: its mask stands in the
     * place of the group's bits. A link that the path leads over has to belong to root, or to the
     * user that this process acts as, and to stand in a folder that nobody else can change. Listing
     * shows what is neither file nor folder as a file, so that nothing is overlooked. */
    MOONPLAN_ROOT_GUARDED = 4,
    /* With the one before: they have to be root's, or of the user that this process acts as. */
    MOONPLAN_ROOT_OWN = 8
};

/* The folder at `path` (relative to the current one, links followed, by the rule
 * above where it is guarded): it stays the same when it is renamed. `flags` is 0
 * or a sum of the above. */
MOONPLAN_API moonplan_root *moonplan_root_open(const char *path, size_t length, unsigned flags,
                                               const moonplan_options *options,
                                               moonplan_error *err);
MOONPLAN_API void moonplan_root_free(moonplan_root *root);

/* A file's content, piece by piece, at most `most` bytes of it. After false,
 * what the sink got is to be thrown away. */
MOONPLAN_API bool moonplan_root_read(moonplan_root *root, moonplan_sink sink, void *data,
                                     const char *path, size_t length, uint64_t most,
                                     moonplan_error *err);
/* Replace a file's content, or make the file, in a folder that is there: as a
 * whole or not at all, and on the disk when true comes back. */
MOONPLAN_API bool moonplan_root_write(moonplan_root *root, const char *path, size_t length,
                                      const void *bytes, size_t size, moonplan_error *err);
/* What is at the path: a folder, or a regular file and its size in bytes. */
MOONPLAN_API bool moonplan_root_stat(moonplan_root *root, bool *folder, uint64_t *size,
                                     const char *path, size_t length, moonplan_error *err);
/* The regular files and folders in a folder ("" is the root), sorted by their
 * names as bytes, at most `most` of them; other things are left out. An entry
 * function that returns false ends it. */
typedef bool (*moonplan_entry_sink)(void *data, moonplan_text name, bool folder);
MOONPLAN_API bool moonplan_root_list(moonplan_root *root, moonplan_entry_sink sink, void *data,
                                     const char *path, size_t length, uint64_t most,
                                     moonplan_error *err);

/* -- Keys and signatures -------------------------------------------------------
 * Ed25519 (RFC 8032) keys and signatures in the formats of minisign: one kind of
 * key for plugin manifests, approvals and the head of an audit trail. NAME.pub
 * has the public half, NAME.key the secret one, with or without a password.
 * Files are signed prehashed (BLAKE2b-512, algorithm "ED") and with a trusted
 * comment; the older "Ed" is refused. Verifying refuses keys and signatures of
 * small order, and a signature that is not reduced (S + L).
 *
 * Secrets are wiped before their memory goes back, and stand in no message.
 * Errors: key.format, key.password, signature.format, signature.key (made by
 * another key), signature.wrong; file.unavailable for files. */
typedef struct moonplan_public_key {
    uint8_t id[8];     /* minisign's key id; it says which key, and proves nothing */
    uint8_t bytes[32]; /* RFC 8032, section 5.1.5 */
} moonplan_public_key;

typedef struct moonplan_secret_key moonplan_secret_key;

#define MOONPLAN_SIGNATURE_SIZE 64
/* 16 upper-case hexadecimal digits, as minisign prints a key id, and a NUL. */
#define MOONPLAN_KEY_NAME_SIZE 17

/* A new pair, from the system's random numbers. */
MOONPLAN_API moonplan_secret_key *moonplan_secret_key_new(const moonplan_options *options,
                                                          moonplan_error *err);
MOONPLAN_API void moonplan_secret_key_free(moonplan_secret_key *key);
MOONPLAN_API void moonplan_secret_key_public(const moonplan_secret_key *key,
                                             moonplan_public_key *out);
MOONPLAN_API void moonplan_key_name(const moonplan_public_key *key,
                                    char out[MOONPLAN_KEY_NAME_SIZE]);

/* The text of a file NAME.pub, or its second line alone. */
MOONPLAN_API bool moonplan_public_key_parse(moonplan_public_key *out, const char *text,
                                            size_t length, moonplan_error *err);
/* The text of a file NAME.pub, in one piece; false when the sink returns so. */
MOONPLAN_API bool moonplan_public_key_write(const moonplan_public_key *key, moonplan_sink sink,
                                            void *sink_data);
/* The same from a file; a link is followed here, for what is public. Refused, as
 * file.unavailable, is one that others than root, its owner and the user that
 * this process acts as can change, or put another one in the place of, by the
 * rule of MOONPLAN_ROOT_GUARDED: they would say whose signatures count. */
MOONPLAN_API bool moonplan_public_key_load(moonplan_public_key *out, const char *path,
                                           size_t length, moonplan_error *err);

/* The text of a file NAME.key. With a password it is unlocked by scrypt, which
 * takes the time and memory that the file asks for, at most 1 GiB. `password`
 * {NULL, 0}: none; a key that wants one is refused with key.password then. */
MOONPLAN_API moonplan_secret_key *moonplan_secret_key_parse(const char *text, size_t length,
                                                            moonplan_text password,
                                                            const moonplan_options *options,
                                                            moonplan_error *err);
/* The same from a file: a regular one that nobody but its owner may read or
 * write, in a folder where nobody else could put another one in its place; the
 * last name of the path may not be a link. */
MOONPLAN_API moonplan_secret_key *moonplan_secret_key_load(const char *path, size_t length,
                                                           moonplan_text password,
                                                           const moonplan_options *options,
                                                           moonplan_error *err);
/* Write PATH.pub and PATH.key, the latter with mode 0600 and locked with the
 * password unless that is {NULL, 0}. Neither file may exist; when the second
 * cannot be made, the first is taken away again. */
MOONPLAN_API bool moonplan_secret_key_save(const moonplan_secret_key *key, const char *path,
                                           size_t length, moonplan_text password,
                                           moonplan_error *err);

/* Sign a file's bytes: the text of NAME.minisig, in one piece. The comment is
 * one line of at most 1024 bytes, and is signed too. */
MOONPLAN_API bool moonplan_sign(const moonplan_secret_key *key, moonplan_sink sink, void *sink_data,
                                const void *bytes, size_t length, moonplan_text comment,
                                moonplan_error *err);
/* `signature` is the text of NAME.minisig. `comment` (NULL: not wanted) points
 * into it afterwards, at the trusted comment. */
MOONPLAN_API bool moonplan_verify(const moonplan_public_key *key, moonplan_text *comment,
                                  const void *bytes, size_t length, const char *signature,
                                  size_t signature_length, moonplan_error *err);
/* Which key such a signature says that it was made by; to look that key up. */
MOONPLAN_API bool moonplan_signature_key(uint8_t id[8], const char *signature,
                                         size_t signature_length, moonplan_error *err);

/* A bare signature of a message: Ed25519ph (RFC 8032, section 5.1) over
 * `context`, a NUL and the bytes. The context ends with a NUL and keeps what was
 * signed for one purpose from being taken for another: "moonplan-approval-1". No
 * signature of a file is ever one of a message. */
MOONPLAN_API void moonplan_sign_message(const moonplan_secret_key *key,
                                        uint8_t out[MOONPLAN_SIGNATURE_SIZE], const char *context,
                                        const void *bytes, size_t length);
/* Errors: signature.wrong, key.format (a key of small order). */
MOONPLAN_API bool moonplan_verify_message(const moonplan_public_key *key,
                                          const uint8_t signature[MOONPLAN_SIGNATURE_SIZE],
                                          const char *context, const void *bytes, size_t length,
                                          moonplan_error *err);

/* -- Fetching ------------------------------------------------------------------
 * The answers to what an artifact wants. https: as ERC-8410 has it, section
 * https Transport: every address of the host must be public unicast, and the
 * connection goes to one of those that were judged; certificates verify; no
 * redirect, proxy, cookie or credential, whatever the environment says. file:
 * below the folders that are named here and by the rules of "Files below a
 * root", every failure like every other; the time that a failure takes is not
 * hidden. Size and time are bounded by the artifact and the limit fetch_ms; of
 * the limit fetches, further ones wait for their turn.
 *
 * libcurl is opened at the first https reference. Without it that reference is
 * `artifact.unavailable`, with what is missing; its own memory comes from the C
 * library. No message holds a byte of a response. */
typedef struct moonplan_fetcher moonplan_fetcher;

/* All addresses of a host, given in lower case without root dot: fill in at
 * most `room` of them, and return how many there are; 0 where there is none.
 * It runs in a thread of its own and may take its time: who waits for it stops
 * doing so in time. `data` must live until the last call has returned. */
typedef size_t (*moonplan_resolver)(void *data, const char *host, moonplan_address *out,
                                    size_t room);

/* Zeroed, these are the defaults: https alone, as the system resolves and trusts. */
typedef struct moonplan_fetch_options {
    /* The folders that file references may lead to. A reference names a folder
     * as it is spelled here, where that is absolute, or by its real path. */
    const moonplan_text *file_roots;
    size_t file_root_count;
    moonplan_text ca_file;      /* PEM; the only certificates to trust; NULL: the system's */
    moonplan_resolver resolver; /* NULL: the system's */
    void *resolver_data;
} moonplan_fetch_options;

/* `fetch` may be NULL. The limits are those of `options`. */
MOONPLAN_API moonplan_fetcher *moonplan_fetcher_new(const moonplan_fetch_options *fetch,
                                                    const moonplan_options *options,
                                                    moonplan_error *err);
MOONPLAN_API void moonplan_fetcher_free(moonplan_fetcher *fetcher);

/* Give the artifact all that it wants. True: its bytes are verified; read them
 * with moonplan_artifact_body or _call_plan, and show what is proved of where
 * they came from: the transport, and the host where that is https. A fetcher
 * may be used by several threads at once, each with its artifact. */
MOONPLAN_API bool moonplan_artifact_fetch(moonplan_artifact *artifact, moonplan_fetcher *fetcher,
                                          moonplan_error *err);

/* -- HTTP ----------------------------------------------------------------------
 * A client for what is not known beforehand: the powers `http` and `rpc` stand
 * on it. What "Fetching" says of https holds here: addresses are judged and
 * pinned, certificates verify, and there is no redirect, proxy, cookie, stored
 * credential or kept connection; no request is ever sent twice. On top of that
 * only what was listed is reached, and a host may list loopback addresses.
 *
 * Errors: http.url, http.origin, http.method, http.header (nothing was looked
 * up), http.address, http.unavailable (nothing was sent), http.interrupted (the
 * request may have arrived), limit (the request, or the response: then the
 * request has arrived). No message holds a byte of a response. */
typedef struct moonplan_http moonplan_http;

enum {
    MOONPLAN_HTTP_GET = 1,
    MOONPLAN_HTTP_HEAD = 2,
    MOONPLAN_HTTP_POST = 4,
    MOONPLAN_HTTP_PUT = 8,
    MOONPLAN_HTTP_PATCH = 16,
    MOONPLAN_HTTP_DELETE = 32
};

/* The method of a name in upper case; 0 if there is none. */
MOONPLAN_API unsigned moonplan_http_method(moonplan_text name);

typedef struct moonplan_http_options {
    /* What may be reached, each one of
     *   api.example.com               https at port 443, any path
     *   https://api.example.com:8443  that port, any path
     *   https://api.example.com/v1    this URL alone
     *   http://127.0.0.1:8545         http, and https, to a loopback address as it
     *                                 is written, or to localhost
     * A name other than localhost must have public unicast addresses only. */
    const moonplan_text *origins;
    size_t origin_count;
    unsigned methods;        /* or-ed; 0: GET and HEAD */
    uint64_t request_bytes;  /* most bytes of a request's body; 0: 1 MiB */
    uint64_t response_bytes; /* most bytes of a response's body, decoded; 0: 8 MiB */
    moonplan_text ca_file;   /* as in moonplan_fetch_options */
    moonplan_resolver resolver;
    void *resolver_data;
} moonplan_http_options;

/* Of the limits in `options`, fetches and fetch_ms count: so many requests at a
 * time, each of them so long. Errors: option (an origin of another form). */
MOONPLAN_API moonplan_http *moonplan_http_new(const moonplan_http_options *http,
                                              const moonplan_options *options, moonplan_error *err);
MOONPLAN_API void moonplan_http_free(moonplan_http *http);

typedef struct moonplan_http_header {
    moonplan_text name, value; /* RFC 9110, section 5 */
} moonplan_http_header;

typedef struct moonplan_http_request {
    unsigned method;
    moonplan_text url; /* RFC 3986, an ASCII host, no user information, no fragment */
    /* Those that frame the message, name the host, or carry cookies are the
     * client's own. */
    const moonplan_http_header *headers;
    size_t header_count;
    moonplan_text body;  /* for POST, PUT and PATCH; {NULL, 0}: none */
    uint64_t timeout_ms; /* less than the limit fetch_ms; 0: that */
} moonplan_http_request;

/* Ask, and wait for the whole answer, whatever its status. A client may be used
 * by several threads at once. */
typedef struct moonplan_http_response moonplan_http_response;
MOONPLAN_API moonplan_http_response *
moonplan_http_response_new(moonplan_http *http, const moonplan_http_request *request,
                           moonplan_error *err);
MOONPLAN_API void moonplan_http_response_free(moonplan_http_response *response);
MOONPLAN_API unsigned moonplan_http_response_status(const moonplan_http_response *response);
/* Decoded, and so without what its headers say of encoding and length. */
MOONPLAN_API moonplan_text moonplan_http_response_body(const moonplan_http_response *response);
/* The n-th header as it came, from 0, its name in lower case; false behind the last. */
MOONPLAN_API bool moonplan_http_response_header(const moonplan_http_response *response,
                                                moonplan_http_header *out, size_t n);

#ifdef __cplusplus
}
#endif

#endif
