#include <string.h>

#include "../core/keccak.h"
#include "../core/scratch.h"
#include "../core/text_run.h"
#include "canonical.h"
#include "scan.h"

/* Many small pieces are put together, for each call of the permutation moves its state into
 * registers and back (measured: a thirtieth of the time of a plan of a few kilobytes). */
#define BLOCKS 16
#define ROOM   ((size_t)BLOCKS * MPL_KECCAK_RATE)

typedef struct sponge {
    mpl_keccak_absorb *absorb;
    size_t filled; /* below ROOM */
    uint64_t lanes[25];
    unsigned char bytes[ROOM];
} sponge;

static void absorb_filled(sponge *s) {
    s->absorb(s->lanes, s->bytes, s->filled / MPL_KECCAK_RATE);
    s->filled = 0;
}

static void add(sponge *s, moonplan_text piece) {
    const unsigned char *at = (const unsigned char *)piece.bytes;
    size_t length = piece.length;
    if (length >= ROOM) {
        /* To the end of the block that has begun, then straight from where it stands. */
        size_t part = (MPL_KECCAK_RATE - s->filled % MPL_KECCAK_RATE) % MPL_KECCAK_RATE;
        memcpy(s->bytes + s->filled, at, part);
        s->filled += part;
        absorb_filled(s);
        at += part;
        length -= part;
        size_t blocks = length / MPL_KECCAK_RATE;
        s->absorb(s->lanes, at, blocks);
        at += blocks * MPL_KECCAK_RATE;
        length -= blocks * MPL_KECCAK_RATE;
    }
    while (length >= ROOM - s->filled) {
        size_t part = ROOM - s->filled;
        memcpy(s->bytes + s->filled, at, part);
        s->filled = ROOM;
        absorb_filled(s);
        at += part;
        length -= part;
    }
    memcpy(s->bytes + s->filled, at, length);
    s->filled += length;
}

void moonplan_call_plan_digest(const moonplan_call_plan *plan, uint8_t out[32]) {
    sponge s;
    s.absorb = mpl_keccak_kind_at(0)->absorb;
    s.filled = 0;
    memset(s.lanes, 0, sizeof s.lanes);
    mpl_canonical canonical;
    mpl_canonical_open(&canonical, plan);
    for (;;) {
        moonplan_text piece = mpl_canonical_next(&canonical);
        if (!piece.bytes) break;
        add(&s, piece);
    }
    size_t whole = s.filled / MPL_KECCAK_RATE * MPL_KECCAK_RATE;
    mpl_keccak_pad(s.bytes + whole, s.filled - whole);
    s.filled = whole + MPL_KECCAK_RATE;
    absorb_filled(&s);
    mpl_keccak_squeeze(out, s.lanes, 1);
}

bool moonplan_digest(uint8_t out[32], const char *text, size_t length,
                     const moonplan_options *options, moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    own.enforce_capabilities = false;
    own.borrow = true;
    /* The plan is gone when this returns, so it needs no memory of the host's unless it is large;
     * faults are the host's to keep. */
    mpl_scratch scratch;
    mpl_scratch_open(&scratch, &own);
    own.alloc = mpl_scratch_alloc;
    own.alloc_data = &scratch;
    moonplan_document *left;
    mpl_text_soon(text, length);
    moonplan_call_plan *plan = mpl_call_scan(&left, text, length, &own);
    if (plan) {
        if (own.errors) *own.errors = NULL;
    } else {
        moonplan_document_free(left);
        own.alloc = scratch.host.call;
        own.alloc_data = scratch.host.data;
        plan = mpl_call_plan_collect(NULL, text, length, &own, err);
    }
    if (!plan) return false;
    moonplan_call_plan_digest(plan, out);
    moonplan_call_plan_free(plan);
    return true;
}
