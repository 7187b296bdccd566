#include "canonical.h"

#include <string.h>

/* Members in this order, no white space, `step` a number, everything else a string. A validated
 * plan holds nothing that would need an escape, so its texts go in as they stand in the document.
 */

/* 0x and forty digits. */
#define ADDRESS 42

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static inline char *put(char *at, const char *bytes, size_t length) {
    memcpy(at, bytes, length);
    return at + length;
}

/* A few bytes, as most values and kinds are: a call would take longer. */
static inline char *put_short(char *at, const moonplan_call_plan *plan, mpl_span span) {
    const char *bytes = mpl_call_at(plan, span);
    size_t length = span.length;
    if (length > 16) return put(at, bytes, length);
    if (length >= 8) {
        memcpy(at, bytes, 8);
        memcpy(at + length - 8, bytes + length - 8, 8);
    } else {
        for (size_t i = 0; i < length; i++) at[i] = bytes[i];
    }
    return at + length;
}

static char *put_text(char *at, const moonplan_call_plan *plan, mpl_span span) {
    return put(at, mpl_call_at(plan, span), span.length);
}

static char *put_number(char *at, size_t number) {
    char digits[20];
    size_t first = sizeof digits;
    do digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    return put(at, digits + first, sizeof digits - first);
}

void mpl_canonical_open(mpl_canonical *canonical, const moonplan_call_plan *plan) {
    canonical->plan = plan;
    canonical->step = 0;
    canonical->data = false;
    char *at = PUT(canonical->middle, "\",\"transaction\":{\"chain_id\":\"");
    at = put_text(at, plan, plan->chain_id);
    at = PUT(at, "\",\"from\":\"");
    at = put_text(at, plan, plan->sender);
    at = PUT(at, "\",\"to\":\"");
    canonical->middle_length = (size_t)(at - canonical->middle);
}

moonplan_text mpl_canonical_next(mpl_canonical *canonical) {
    const moonplan_call_plan *plan = canonical->plan;
    size_t step = canonical->step;
    if (canonical->data) {
        canonical->data = false;
        canonical->step++;
        return mpl_call_text(plan, plan->steps[step].data);
    }
    if (step > plan->count) return (moonplan_text){NULL, 0};
    char *at = canonical->piece;
    if (step == 0) {
        at = PUT(at, "{\"schema_version\":\"1\",\"chain_id\":\"");
        at = put_text(at, plan, plan->chain_id);
        at = PUT(at, "\",\"sender\":\"");
        at = put_text(at, plan, plan->sender);
        at = PUT(at, "\",\"ordered_steps\":[");
    } else {
        at = PUT(at, "\",\"value\":\"");
        at = put_short(at, plan, plan->steps[step - 1].value);
        at = PUT(at, "\"}}");
    }
    if (step == plan->count) {
        at = PUT(at, "]}");
        canonical->step++;
    } else {
        const mpl_call *call = &plan->steps[step];
        if (step > 0) *at++ = ',';
        at = PUT(at, "{\"step\":");
        at = put_number(at, step + 1);
        at = PUT(at, ",\"kind\":\"");
        at = put_short(at, plan, call->kind);
        at = put(at, canonical->middle, canonical->middle_length);
        at = put(at, mpl_call_at(plan, call->to), ADDRESS);
        at = PUT(at, "\",\"data\":\"");
        canonical->data = true;
    }
    return (moonplan_text){canonical->piece, (size_t)(at - canonical->piece)};
}

void mpl_blocks_open(mpl_blocks *blocks, const moonplan_call_plan *plan) {
    mpl_canonical_open(&blocks->canonical, plan);
    blocks->piece = mpl_canonical_next(&blocks->canonical);
    blocks->length = 0;
    blocks->ended = false;
}

void mpl_blocks_next(mpl_blocks *blocks) {
    moonplan_text piece = blocks->piece;
    if (piece.length >= MPL_BLOCKS_ROOM) {
        blocks->from = (const unsigned char *)piece.bytes;
        blocks->length = piece.length / MPL_KECCAK_RATE * MPL_KECCAK_RATE;
        blocks->piece.bytes += blocks->length;
        blocks->piece.length -= blocks->length;
        return;
    }
    size_t filled = 0;
    while (piece.bytes) {
        size_t room = MPL_BLOCKS_ROOM - filled, part = piece.length < room ? piece.length : room;
        memcpy(blocks->bytes + filled, piece.bytes, part);
        filled += part;
        piece.bytes += part;
        piece.length -= part;
        if (filled == MPL_BLOCKS_ROOM) break;
        piece = mpl_canonical_next(&blocks->canonical);
    }
    blocks->piece = piece;
    if (!piece.bytes) {
        size_t whole = filled / MPL_KECCAK_RATE * MPL_KECCAK_RATE;
        mpl_keccak_pad(blocks->bytes + whole, filled - whole);
        filled = whole + MPL_KECCAK_RATE;
        blocks->ended = true;
    }
    blocks->from = blocks->bytes;
    blocks->length = filled;
}

bool moonplan_call_plan_canonical(const moonplan_call_plan *plan, moonplan_sink sink, void *data) {
    mpl_canonical canonical;
    mpl_canonical_open(&canonical, plan);
    for (;;) {
        moonplan_text piece = mpl_canonical_next(&canonical);
        if (!piece.bytes) return true;
        if (!sink(data, piece.bytes, piece.length)) return false;
    }
}
