/* Contract ABI, reviews and conversions for specs and outside judges: no words, and as the record's
 * bytes= one JSON object:
 *
 *   {"op": "abi", "abi": TEXT}                      [{kind, signature, selector}]
 *   {"op": "encode", "abi": TEXT, "arguments": ...}  {data}
 *   {"op": "decode", "abi": TEXT, "data": "0x...", "strict": BOOLEAN}   {arguments, notes: [CODE]}
 *   {"op": "revert", "data": "0x...", "abi": TEXT}   what moonplan_revert_decode gives
 *   {"op": "call", "data": "0x...", "abi": TEXT, "to": ADDRESS}   what moonplan_call_decode gives
 *   {"op": "review", "plan": TEXT, "abi": TEXT, "now": SECONDS}   the review's document
 *   {"op": "to_send_calls" | "to_safe_batch", "plan": TEXT, "created": MILLISECONDS}
 *   {"op": "from_send_calls" | "from_safe_batch", "batch": TEXT, "account": ADDRESS}
 *                                                    {text, digest, lost}
 *
 * A refusal is {errors: [{code, at, message, offset}]}. The first entry of `abi` is the one that is
 * encoded and decoded with; where it says what others made it may be left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/text.h"
#include "cases.h"

static moonplan_text text(moonplan_value request, const char *name) {
    return moonplan_value_string(mpl_member(request, name));
}

static int64_t number(moonplan_value request, const char *name) {
    int64_t found = 0;
    moonplan_value_integer(mpl_member(request, name), &found);
    return found;
}

typedef struct raw_bytes {
    uint8_t *bytes; /* freed by the caller */
    size_t length;
} raw_bytes;

static raw_bytes bytes_of(moonplan_text hex) {
    raw_bytes out = {NULL, hex.length < 2 ? 0 : (hex.length - 2) / 2};
    out.bytes = malloc(out.length ? out.length : 1);
    if (!out.bytes) abort();
    if (out.length) mpl_hex_decode(out.bytes, hex.bytes + 2, out.length);
    return out;
}

static void refuse(mpl_builder *out, const moonplan_error *err) {
    mpl_build_object(out);
    answer_errors(out, NULL, err);
    mpl_build_end(out);
}

static void answer_document(mpl_builder *out, moonplan_document *document,
                            const moonplan_error *err) {
    if (document)
        mpl_build_value(out, moonplan_document_root(document));
    else
        refuse(out, err);
    moonplan_document_free(document);
}

static void op_abi(mpl_builder *out, const moonplan_abi *abi) {
    static const char *const kinds[] = {"function", "error", "values"};
    mpl_build_array(out);
    for (size_t i = 0; i < moonplan_abi_count(abi); i++) {
        const moonplan_abi_entry *entry = moonplan_abi_at(abi, i);
        mpl_build_object(out);
        answer_text(out, "kind", mpl_text_of(kinds[entry->kind]));
        answer_text(out, "signature", entry->signature);
        answer_hex(out, "selector", entry->selector, 4);
        mpl_build_end(out);
    }
    mpl_build_end(out);
}

static bool to_hex(void *data, const char *piece, size_t length) {
    mpl_buffer *out = data;
    mpl_buffer_add(out, "0x", 2);
    char *digits = mpl_buffer_extend(out, 2 * length);
    if (digits) mpl_hex_encode(digits, (const uint8_t *)piece, length);
    return !out->failed;
}

static void op_encode(mpl_builder *out, const moonplan_abi_entry *entry, moonplan_value request) {
    moonplan_error err;
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer digits;
    mpl_buffer_open(&digits, &alloc);
    if (moonplan_abi_encode(entry, to_hex, &digits, mpl_member(request, "arguments"), NULL, &err)) {
        mpl_build_object(out);
        answer_text(out, "data", (moonplan_text){digits.bytes, digits.length});
        mpl_build_end(out);
    } else {
        refuse(out, &err);
    }
    mpl_buffer_close(&digits);
}

static void op_decode(mpl_builder *out, const moonplan_abi_entry *entry, moonplan_value request) {
    moonplan_error err;
    raw_bytes raw = bytes_of(text(request, "data"));
    bool strict = moonplan_value_type(mpl_member(request, "strict")) == MOONPLAN_TRUE;
    moonplan_abi_data *data = moonplan_abi_decode(entry, raw.bytes, raw.length, strict, NULL, &err);
    free(raw.bytes);
    if (!data) {
        refuse(out, &err);
        return;
    }
    mpl_build_object(out);
    mpl_build_name(out, mpl_text_of("arguments"));
    answer_document(out, moonplan_abi_data_document(data, NULL, &err), &err);
    mpl_build_name(out, mpl_text_of("notes"));
    mpl_build_array(out);
    for (size_t i = 0; i < moonplan_abi_data_note_count(data); i++)
        mpl_build_string(out,
                         mpl_text_of(moonplan_code_name(moonplan_abi_data_note(data, i)->code)));
    mpl_build_end(out);
    mpl_build_end(out);
    moonplan_abi_data_free(data);
}

static moonplan_call_plan *plan_of(mpl_builder *out, moonplan_value request) {
    moonplan_options options;
    moonplan_error err;
    moonplan_text plan = text(request, "plan");
    moonplan_options_init(&options);
    options.enforce_capabilities = false;
    moonplan_call_plan *made = moonplan_call_plan_parse(plan.bytes, plan.length, &options, &err);
    if (!made) refuse(out, &err);
    return made;
}

static void op_review(mpl_builder *out, const moonplan_review_context *context,
                      moonplan_value request) {
    moonplan_error err;
    moonplan_call_plan *plan = plan_of(out, request);
    if (!plan) return;
    moonplan_review *review = moonplan_review_new(plan, context, NULL, &err);
    moonplan_call_plan_free(plan);
    if (review)
        mpl_build_value(out, moonplan_document_root(moonplan_review_document(review)));
    else
        refuse(out, &err);
    moonplan_review_free(review);
}

static void answer_conversion(mpl_builder *out, const moonplan_document *document,
                              moonplan_error_list *lost, const moonplan_call_plan *plan) {
    uint8_t digest[32];
    moonplan_call_plan_digest(plan, digest);
    mpl_build_object(out);
    answer_text(out, "text", moonplan_value_source(moonplan_document_root(document)));
    answer_hex(out, "digest", digest, sizeof digest);
    mpl_build_name(out, mpl_text_of("lost"));
    mpl_build_array(out);
    for (size_t i = 0; i < moonplan_error_list_count(lost); i++) {
        const moonplan_error *one = moonplan_error_list_at(lost, i);
        mpl_build_object(out);
        answer_text(out, "code", mpl_text_of(moonplan_code_name(one->code)));
        answer_text(out, "at", (moonplan_text){one->at, one->at_length});
        answer_text(out, "message", mpl_text_of(one->message));
        mpl_build_end(out);
    }
    mpl_build_end(out);
    mpl_build_end(out);
}

static void op_to(mpl_builder *out, moonplan_value request, bool safe) {
    moonplan_error err;
    moonplan_error_list *lost = NULL;
    moonplan_call_plan *plan = plan_of(out, request);
    if (!plan) return;
    moonplan_document *document =
        safe ? moonplan_to_safe_batch(plan, (uint64_t)number(request, "created"), &lost, NULL, &err)
             : moonplan_to_send_calls(plan, &lost, NULL, &err);
    if (document)
        answer_conversion(out, document, lost, plan);
    else
        refuse(out, &err);
    moonplan_document_free(document);
    moonplan_error_list_free(lost);
    moonplan_call_plan_free(plan);
}

static void op_from(mpl_builder *out, moonplan_value request, bool safe) {
    moonplan_error err;
    moonplan_error_list *lost = NULL;
    moonplan_text batch = text(request, "batch"), account = text(request, "account");
    moonplan_call_plan *plan =
        safe ? moonplan_from_safe_batch(batch.bytes, batch.length, account, &lost, NULL, &err)
             : moonplan_from_send_calls(batch.bytes, batch.length, account, &lost, NULL, &err);
    if (plan)
        answer_conversion(out, moonplan_call_plan_document(plan), lost, plan);
    else
        refuse(out, &err);
    moonplan_error_list_free(lost);
    moonplan_call_plan_free(plan);
}

static bool is(moonplan_value request, const char *op) {
    return mpl_text_is(text(request, "op"), op);
}

static void answer_with(mpl_builder *out, moonplan_value request, const moonplan_abi *abi) {
    moonplan_error err;
    moonplan_abi_source handed = {.abi = abi, .origin = mpl_text_of("the ABI handed in")};
    size_t count = abi ? 1 : 0;
    moonplan_review_context context = {
        .sources = &handed, .source_count = count, .now = (uint64_t)number(request, "now")};
    const moonplan_abi_entry *entry = abi ? moonplan_abi_at(abi, 0) : NULL;
    raw_bytes raw = bytes_of(text(request, "data"));
    if (is(request, "abi") && abi)
        op_abi(out, abi);
    else if (is(request, "encode") && entry)
        op_encode(out, entry, request);
    else if (is(request, "decode") && entry)
        op_decode(out, entry, request);
    else if (is(request, "revert"))
        answer_document(
            out, moonplan_revert_decode(raw.bytes, raw.length, &handed, count, NULL, &err), &err);
    else if (is(request, "call"))
        answer_document(out,
                        moonplan_call_decode(raw.bytes, raw.length, text(request, "to"),
                                             (moonplan_text){NULL, 0}, &context, NULL, &err),
                        &err);
    else if (is(request, "review"))
        op_review(out, &context, request);
    else if (is(request, "to_send_calls") || is(request, "to_safe_batch"))
        op_to(out, request, is(request, "to_safe_batch"));
    else if (is(request, "from_send_calls") || is(request, "from_safe_batch"))
        op_from(out, request, is(request, "from_safe_batch"));
    else
        abort();
    free(raw.bytes);
}

static void answer(mpl_builder *out, moonplan_value request) {
    moonplan_error err;
    moonplan_text source = text(request, "abi");
    moonplan_abi *abi =
        source.bytes ? moonplan_abi_parse(source.bytes, source.length, NULL, &err) : NULL;
    if (source.bytes && !abi)
        refuse(out, &err);
    else
        answer_with(out, request, abi);
    moonplan_abi_free(abi);
}

int main(void) {
    record in;
    char *bytes = NULL;
    while (record_next(&in)) {
        moonplan_error err;
        moonplan_text request = record_bytes(&in, "bytes", &bytes);
        moonplan_options roomy;
        moonplan_options_init(&roomy);
        roomy.limits.document_bytes = 1u << 30;
        roomy.limits.values = 100000000;
        roomy.limits.depth = 1024;
        roomy.borrow = true;
        mpl_builder out;
        mpl_build_open(&out, &roomy);
        moonplan_document *document =
            moonplan_document_parse(request.bytes, request.length, &roomy, &err);
        if (document)
            answer(&out, moonplan_document_root(document));
        else
            refuse(&out, &err);
        answer_print(&out);
        moonplan_document_free(document);
    }
    free(bytes);
    return EXIT_SUCCESS;
}
