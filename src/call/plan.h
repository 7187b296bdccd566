/* ERC-8410 execution plans: the validated view that everything else works on. */
#ifndef MPL_CALL_PLAN_H
#define MPL_CALL_PLAN_H

#include "../core/faults.h"

/* A piece of the document: of its text, or with the high bit of `start` set, of its decoded
 * strings. Documents are shorter than 2 GiB. Length 0: absent. */
#define MPL_DECODED ((uint32_t)1 << 31)
typedef struct mpl_span {
    uint32_t start, length;
} mpl_span;

typedef struct mpl_call {
    mpl_span kind, to, data, value, gas;
    uint32_t node, revert_decode; /* UINT32_MAX: absent */
} mpl_call;

struct moonplan_call_plan {
    mpl_alloc alloc;
    moonplan_document *document;
    mpl_span chain_id, caip2_chain_id, sender;
    uint32_t capabilities, failure_policy, extensions;
    mpl_call *steps;
    size_t count, step_capacity;
    moonplan_error_list *warnings;
};

static inline const char *mpl_call_at(const moonplan_call_plan *plan, mpl_span span) {
    const moonplan_document *document = plan->document;
    const char *base = span.start & MPL_DECODED ? document->decoded : document->text;
    return base + (span.start & ~MPL_DECODED);
}
static inline moonplan_text mpl_call_text(const moonplan_call_plan *plan, mpl_span span) {
    if (span.length == 0) return (moonplan_text){NULL, 0};
    return (moonplan_text){mpl_call_at(plan, span), span.length};
}

/* Validate a document as a call plan. The plan takes the document over; after a refusal it is
 * freed. The document must own its text if hex_case is MOONPLAN_HEX_NORMALIZE. */
moonplan_call_plan *mpl_call_plan_read(moonplan_document *document, const moonplan_options *options,
                                       moonplan_error *err);
/* Read a text into a document that there is already, or NULL, and validate it: the collecting
 * reader, which knows everything and finds every fault. */
moonplan_call_plan *mpl_call_plan_collect(moonplan_document *document, const char *text,
                                          size_t length, const moonplan_options *options,
                                          moonplan_error *err);

#endif
