/* libFuzzer over the call plan reader, for `bootstrap.sh soak`; not part of the test run. Built
 * like json_fuzz.c; plans of spec/data are a good corpus.
 *
 * With all faults collected or only the first, borrowed or copied, the verdict is one; an accepted
 * plan's canonical form is a plan again, with the same digest; a lowered plan is a plan. */
#include <stdlib.h>
#include <string.h>

#include "../../src/moonplan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

typedef struct growing {
    char *bytes;
    size_t length;
} growing;

static bool grow(void *data, const char *bytes, size_t length) {
    growing *out = data;
    out->bytes = realloc(out->bytes, out->length + length + 1);
    if (length) memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
    return true;
}

static void check_list(moonplan_error_list *list, const moonplan_error *err, size_t length) {
    size_t count = moonplan_error_list_count(list), before = 0;
    MUST(count >= 1 && count <= 65);
    const moonplan_error *first = moonplan_error_list_at(list, 0);
    MUST(first->code == err->code && first->offset == err->offset &&
         strcmp(first->message, err->message) == 0 && strcmp(first->at, err->at) == 0);
    for (size_t i = 0; i < count; i++) {
        const moonplan_error *fault = moonplan_error_list_at(list, i);
        MUST(fault->code != MOONPLAN_OK && fault->message[0]);
        for (const char *at = fault->message; *at; at++) MUST((unsigned char)*at >= 0x20);
        if (fault->offset == MOONPLAN_NO_OFFSET) continue;
        MUST(fault->offset >= before && fault->offset <= length);
        before = fault->offset;
    }
}

/* The canonical form, with the required member that it leaves out, is the same plan. */
static void check_canonical(const moonplan_call_plan *plan, const uint8_t digest[32]) {
    growing form = {NULL, 0}, whole = {NULL, 0};
    MUST(moonplan_call_plan_canonical(plan, grow, &form));
    uint8_t hash[32];
    moonplan_keccak256(hash, form.bytes, form.length);
    MUST(memcmp(hash, digest, sizeof hash) == 0);
    moonplan_text caip2 = moonplan_call_plan_caip2_chain_id(plan);
    grow(&whole, "{\"caip2_chain_id\":\"", 19);
    grow(&whole, caip2.bytes, caip2.length);
    grow(&whole, "\",", 2);
    grow(&whole, form.bytes + 1, form.length - 1);
    MUST(moonplan_digest(hash, whole.bytes, whole.length, NULL, NULL));
    MUST(memcmp(hash, digest, sizeof hash) == 0);
    free(form.bytes);
    free(whole.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const char *text = (const char *)data + 1;
    size_t length = size - 1;
    moonplan_options options;
    moonplan_options_init(&options);
    options.borrow = data[0] & 1;
    options.enforce_capabilities = data[0] & 2;
    if (data[0] & 4) options.hex_case = MOONPLAN_HEX_NORMALIZE;
    moonplan_error first, err;
    moonplan_call_plan *plan = moonplan_call_plan_parse(text, length, &options, &first);
    moonplan_error_list *list;
    options.errors = &list;
    options.borrow = !options.borrow;
    moonplan_call_plan *again = moonplan_call_plan_parse(text, length, &options, &err);
    MUST(!plan == !again);
    if (plan) {
        MUST(!list);
        uint8_t one[32], other[32];
        moonplan_call_plan_digest(plan, one);
        moonplan_call_plan_digest(again, other);
        MUST(memcmp(one, other, sizeof one) == 0);
        options.errors = NULL;
        MUST(moonplan_digest(other, text, length, &options, NULL));
        MUST(memcmp(one, other, sizeof one) == 0);
        check_canonical(plan, one);
        moonplan_call call;
        size_t steps = 0;
        for (; moonplan_call_plan_step(plan, &call, steps); steps++)
            MUST(call.to.length == 42 && call.data.length % 2 == 0 && call.value.length > 0);
        MUST(steps == moonplan_call_plan_count(plan) && steps > 0);
    } else {
        MUST(first.code == err.code && first.offset == err.offset &&
             strcmp(first.message, err.message) == 0);
        check_list(list, &err, length);
        moonplan_error_list_free(list);
    }
    moonplan_call_plan_free(plan);
    moonplan_call_plan_free(again);
    return 0;
}
