#include <string.h>

#include "../core/keccak.h"
#include "plan.h"

/* ERC-8410, Plan Digest: members in this order, no white space, `step` a number, everything else
 * a string. A validated plan holds nothing that would need an escape, so its texts go in as they
 * stand in the document. */

/* Small pieces are put together here, so that a sink sees few calls; calldata goes straight on. */
typedef struct writer {
    moonplan_sink sink;
    void *data;
    size_t length;
    bool fine;
    char bytes[1024];
} writer;

static void flush(writer *w) {
    if (w->fine && w->length) w->fine = w->sink(w->data, w->bytes, w->length);
    w->length = 0;
}

static void put(writer *w, const char *bytes, size_t length) {
    if (length > sizeof w->bytes - w->length) flush(w);
    if (length > sizeof w->bytes) {
        w->fine = w->fine && w->sink(w->data, bytes, length);
        return;
    }
    memcpy(w->bytes + w->length, bytes, length);
    w->length += length;
}

#define PUT(w, literal) put(w, literal, sizeof(literal) - 1)

static void put_text(writer *w, const moonplan_call_plan *plan, mpl_span span) {
    moonplan_text text = mpl_call_text(plan, span);
    put(w, text.bytes, text.length);
}

static void put_number(writer *w, size_t number) {
    char text[20];
    size_t at = sizeof text;
    do text[--at] = (char)('0' + number % 10);
    while (number /= 10);
    put(w, text + at, sizeof text - at);
}

bool moonplan_call_plan_canonical(const moonplan_call_plan *plan, moonplan_sink sink, void *data) {
    writer w = {.sink = sink, .data = data, .fine = true};
    PUT(&w, "{\"schema_version\":\"1\",\"chain_id\":\"");
    put_text(&w, plan, plan->chain_id);
    PUT(&w, "\",\"sender\":\"");
    put_text(&w, plan, plan->sender);
    PUT(&w, "\",\"ordered_steps\":[");
    for (size_t i = 0; i < plan->count && w.fine; i++) {
        const mpl_call *call = &plan->steps[i];
        if (i)
            PUT(&w, ",{\"step\":");
        else
            PUT(&w, "{\"step\":");
        put_number(&w, i + 1);
        PUT(&w, ",\"kind\":\"");
        put_text(&w, plan, call->kind);
        PUT(&w, "\",\"transaction\":{\"chain_id\":\"");
        put_text(&w, plan, plan->chain_id);
        PUT(&w, "\",\"from\":\"");
        put_text(&w, plan, plan->sender);
        PUT(&w, "\",\"to\":\"");
        put_text(&w, plan, call->to);
        PUT(&w, "\",\"data\":\"");
        put_text(&w, plan, call->data);
        PUT(&w, "\",\"value\":\"");
        put_text(&w, plan, call->value);
        PUT(&w, "\"}}");
    }
    PUT(&w, "]}");
    flush(&w);
    return w.fine;
}

static bool absorb(void *data, const char *bytes, size_t length) {
    mpl_keccak_add(data, bytes, length);
    return true;
}

void moonplan_call_plan_digest(const moonplan_call_plan *plan, uint8_t out[32]) {
    mpl_keccak keccak;
    mpl_keccak_open(&keccak);
    moonplan_call_plan_canonical(plan, absorb, &keccak);
    mpl_keccak_finish(&keccak, out);
}

bool moonplan_digest(uint8_t out[32], const char *text, size_t length,
                     const moonplan_options *options, moonplan_error *err) {
    moonplan_options own;
    if (options)
        own = *options;
    else
        moonplan_options_init(&own);
    own.enforce_capabilities = false;
    own.borrow = true;
    moonplan_call_plan *plan = moonplan_call_plan_parse(text, length, &own, err);
    if (!plan) return false;
    moonplan_call_plan_digest(plan, out);
    moonplan_call_plan_free(plan);
    return true;
}
