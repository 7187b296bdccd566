#include "lanes.h"

#include <string.h>

#include "../core/scratch.h"
#include "../core/text_run.h"
#include "canonical.h"
#include "scan.h"

#define LANES 4
/* Lines of the cache that are asked for with every block: more than a block of each lane takes. */
#define SOON_LINES 12
/* Small pieces are gathered to so many bytes, whole blocks. */
#define ROOM ((size_t)16 * MPL_KECCAK_RATE)

typedef struct lane {
    moonplan_call_plan *plan; /* NULL: the lane is idle */
    size_t which;             /* of the texts */
    mpl_canonical canonical;
    moonplan_text piece; /* what is left of the current one */
    /* Blocks that can be handed out, of which those before `at` have been: gathered in `bytes`, or
     * a run of calldata where it stands. */
    const unsigned char *from;
    size_t at, filled;
    bool ended, last; /* there are no more behind them; the one that is out is the last of all */
    moonplan_options options;
    mpl_scratch scratch;
    unsigned char bytes[ROOM];
} lane;

typedef struct batch {
    const mpl_keccak_kind *kind;
    uint8_t (*out)[32];
    bool *valid;
    const moonplan_text *texts;
    size_t count, next, done; /* texts; the next to be read; those that were valid */
    size_t soon, soon_at;     /* up to where texts have been asked for */
    moonplan_options options;
    uint64_t lanes[25 * LANES];
    lane lane[LANES];
} batch;

/* Have the next texts come while others are hashed: a few lines at a time, for a processor that
 * waits for many does nothing else (measured: a twelfth of the time of plans of four kilobytes). */
static inline void ask_ahead(batch *b) {
    if (b->soon < b->next) {
        b->soon = b->next;
        b->soon_at = 0;
    }
    for (int line = 0; line < SOON_LINES; line++) {
        if (b->soon >= b->count || b->soon >= b->next + LANES) return;
        moonplan_text text = b->texts[b->soon];
        if (b->soon_at < text.length && b->soon_at < MPL_SOON) {
            mpl_line_soon(text.bytes + b->soon_at);
            b->soon_at += MPL_LINE;
        } else {
            b->soon++;
            b->soon_at = 0;
        }
    }
}

/* Read texts until one is a valid plan; the lane stays idle when there are no more. */
static void fill(batch *b, lane *l) {
    while (!l->plan && b->next < b->count) {
        l->which = b->next++;
        moonplan_text text = b->texts[l->which];
        mpl_scratch_open(&l->scratch, &b->options);
        moonplan_document *left;
        l->plan = mpl_call_scan(&left, text.bytes, text.length, &l->options);
        if (!l->plan) {
            moonplan_document_free(left);
            l->plan = mpl_call_plan_collect(NULL, text.bytes, text.length, &b->options, NULL);
        }
        b->valid[l->which] = l->plan != NULL;
    }
    if (!l->plan) return;
    mpl_canonical_open(&l->canonical, l->plan);
    l->piece = mpl_canonical_next(&l->canonical);
    l->at = l->filled = 0;
    l->ended = l->last = false;
}

static void empty(batch *b, lane *l, const uint64_t *state, size_t step) {
    mpl_keccak_squeeze(b->out[l->which], state, step);
    moonplan_call_plan_free(l->plan);
    l->plan = NULL;
    b->done++;
}

static void gather(lane *l) {
    l->at = 0;
    if (l->piece.length >= ROOM) {
        l->from = (const unsigned char *)l->piece.bytes;
        l->filled = l->piece.length / MPL_KECCAK_RATE * MPL_KECCAK_RATE;
        l->piece.bytes += l->filled;
        l->piece.length -= l->filled;
        return;
    }
    l->from = l->bytes;
    for (size_t filled = 0;;) {
        size_t room = ROOM - filled, part = l->piece.length < room ? l->piece.length : room;
        memcpy(l->bytes + filled, l->piece.bytes, part);
        filled += part;
        l->piece.bytes += part;
        l->piece.length -= part;
        if (filled == ROOM) {
            l->filled = filled;
            return;
        }
        l->piece = mpl_canonical_next(&l->canonical);
        if (l->piece.bytes) continue;
        size_t whole = filled / MPL_KECCAK_RATE * MPL_KECCAK_RATE;
        mpl_keccak_pad(l->bytes + whole, filled - whole);
        l->filled = whole + MPL_KECCAK_RATE;
        l->ended = true;
        return;
    }
}

/* The next block of a plan's canonical form. */
static inline const unsigned char *next_block(lane *l) {
    if (l->at == l->filled) gather(l);
    const unsigned char *block = l->from + l->at;
    l->at += MPL_KECCAK_RATE;
    l->last = l->ended && l->at == l->filled;
    return block;
}

/* With one plan left to hash its neighbours would be hashed for nothing. */
static void finish_alone(batch *b, lane *l) {
    uint64_t state[25];
    for (size_t i = 0; i < 25; i++) state[i] = b->lanes[LANES * i + (size_t)(l - b->lane)];
    while (!l->last) b->kind->absorb(state, next_block(l), 1);
    empty(b, l, state, 1);
}

static void side_by_side(batch *b) {
    static const unsigned char nothing[MPL_KECCAK_RATE];
    for (; b->soon < LANES && b->soon < b->count; b->soon++)
        mpl_text_soon(b->texts[b->soon].bytes, b->texts[b->soon].length);
    for (;;) {
        lane *busy = NULL;
        size_t busy_count = 0;
        for (size_t k = 0; k < LANES; k++) {
            lane *l = &b->lane[k];
            if (!l->plan) {
                fill(b, l);
                for (size_t i = 0; i < 25; i++) b->lanes[LANES * i + k] = 0;
            }
            if (l->plan) {
                busy = l;
                busy_count++;
            }
        }
        if (busy_count == 0) return;
        if (busy_count == 1) {
            finish_alone(b, busy);
            continue;
        }
        const unsigned char *blocks[LANES];
        bool ended = false;
        while (!ended) {
            for (size_t k = 0; k < LANES; k++) {
                lane *l = &b->lane[k];
                blocks[k] = l->plan ? next_block(l) : nothing;
                ended = ended || (l->plan && l->last);
            }
            b->kind->absorb_four(b->lanes, blocks);
            ask_ahead(b);
        }
        for (size_t k = 0; k < LANES; k++)
            if (b->lane[k].plan && b->lane[k].last) empty(b, &b->lane[k], b->lanes + k, LANES);
    }
}

size_t mpl_digest_lanes(const mpl_keccak_kind *kind, uint8_t (*out)[32], bool *valid,
                        const moonplan_text *texts, size_t count, const moonplan_options *options) {
    mpl_alloc alloc = mpl_alloc_of(options);
    batch *b = kind->absorb_four && count > 1 ? mpl_allocate(&alloc, sizeof *b) : NULL;
    if (b) {
        b->kind = kind;
        b->out = out;
        b->valid = valid;
        b->texts = texts;
        b->count = count;
        b->next = b->done = b->soon = b->soon_at = 0;
        b->options = *options;
        for (size_t k = 0; k < LANES; k++) {
            lane *l = &b->lane[k];
            l->plan = NULL;
            l->options = *options;
            l->options.alloc = mpl_scratch_alloc;
            l->options.alloc_data = &l->scratch;
        }
        side_by_side(b);
        size_t done = b->done;
        mpl_release(&alloc, b, sizeof *b);
        return done;
    }
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        valid[i] = moonplan_digest(out[i], texts[i].bytes, texts[i].length, options, NULL);
        done += valid[i];
    }
    return done;
}
