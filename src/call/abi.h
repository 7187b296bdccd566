/* Contract ABI: types, JSON fragments, encoding and decoding. */
#ifndef MPL_CALL_ABI_H
#define MPL_CALL_ABI_H

#include "../core/buffer.h"
#include "../core/build.h"
#include "../core/faults.h"

/* -- Types -----------------------------------------------------------------*/

/* Types nested in one another: tuples, and the [] behind a type. It bounds every recursion here. */
#define MPL_ABI_DEPTH 64
/* Components of one tuple, and parameters of one function. */
#define MPL_ABI_COMPONENTS 256

/* A canonical ABI type name (Contract ABI Specification, Types): uint8 to uint256 and int8 to
 * int256 in steps of 8, address, bool, bytes1 to bytes32, bytes, string, function, or tuple, then
 * any number of [] and [n] with n from 1. NULL for such a name, else
 * the reason why it is none. */
const char *mpl_abi_type_fault(moonplan_text type, bool *tuple);
/* The same for a name without brackets, with what it stands for. */
const char *mpl_abi_base_fault(moonplan_text name, moonplan_abi_base *base, uint32_t *size);
/* The length in brackets, without them; 0 for []. NULL, or why it is none. */
const char *mpl_abi_length_fault(moonplan_text digits, uint32_t *length);

/* A name as Solidity has them. */
bool mpl_abi_identifier(moonplan_text name);

/* Signatures of ours, one a line: no limit of the host's applies to them. */
moonplan_abi *mpl_abi_own(const char *lines, size_t length, const moonplan_options *options,
                          moonplan_error *err);

/* As moonplan_abi_parse_value; an empty object is an empty list as well. */
moonplan_abi *mpl_abi_parse_tables(moonplan_value fragment, const moonplan_options *options,
                                   moonplan_error *err);

/* Report what keeps a revert_decode.abi, an array, from being decoded with. */
void mpl_abi_check(mpl_faults *faults, moonplan_value abi);

/* -- Decoding --------------------------------------------------------------*/

/* What may still be decoded, in words: a value is one, and so are 32 bytes of content. */
typedef struct mpl_abi_budget {
    uint64_t words, whole; /* left, and at the start */
} mpl_abi_budget;
void mpl_abi_budget_open(mpl_abi_budget *budget, const moonplan_options *options);

/* Values of a tuple type from bytes, into an arena. `skipped` bytes stand before them in what
 * places are counted in (a selector). Where the encoding is not the canonical one the notes say so;
 * they are the caller's, also after a failure. False with *err. */
bool mpl_abi_decode(moonplan_abi_value *out, mpl_arena *arena, const moonplan_abi_type *type,
                    const uint8_t *bytes, size_t length, size_t skipped, mpl_abi_budget *budget,
                    const moonplan_options *options, moonplan_error_list **notes,
                    moonplan_error *err);
/* Whether a failure is not the data's but for want of budget. */
bool mpl_abi_over_budget(const moonplan_error *err);

/* -- Encoding --------------------------------------------------------------*/

/* The canonical encoding of a tuple's values. */
void mpl_abi_encode(mpl_buffer *out, const moonplan_abi_value *value);
/* Values of a type from a document, into an arena. False with *err. */
bool mpl_abi_from_document(moonplan_abi_value *out, mpl_arena *arena, const moonplan_abi_type *type,
                           moonplan_value value, moonplan_error *err);

/* -- To people and documents ------------------------------------------------*/

/* A value as a document has it. */
void mpl_abi_build(mpl_builder *builder, const moonplan_abi_value *value);
/* [{name, type, value}] for a tuple. */
void mpl_abi_build_arguments(mpl_builder *builder, const moonplan_abi_value *tuple);
/* The members `canonical` and, where it is false, `notes`; NULL: there are none. `missing` bytes
 * were read as zeros that are not there. */
void mpl_abi_build_notes(mpl_builder *builder, moonplan_error_list *notes, size_t missing);
/* A function or error as an entry of a JSON ABI. */
void mpl_abi_build_entry(mpl_builder *builder, const moonplan_abi_entry *entry);
/* 0x and the bytes as digits. */
void mpl_build_bytes(mpl_builder *builder, const uint8_t *bytes, size_t length);
/* At most `room` bytes of text for a tuple's values, names included, nothing in it unseen; "…"
 * where it was cut. Returns the length; `room` is at least 16. */
size_t mpl_abi_show(char *out, size_t room, const moonplan_abi_value *tuple);

#endif
