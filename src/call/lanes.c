#include "lanes.h"

#include <string.h>

#include "../core/scratch.h"
#include "../core/text_run.h"
#include "canonical.h"
#include "scan.h"

#define LANES 4
/* Lines of the cache that are asked for with every block: more than a block of each lane takes. */
#define SOON_LINES 12

typedef struct lane {
    moonplan_call_plan *plan; /* NULL: the lane is idle */
    size_t which;             /* of the texts */
    size_t at;                /* of the blocks: those before it have been handed out */
    bool last;                /* the one that is out is the last of all */
    moonplan_options options;
    mpl_scratch scratch;
    mpl_blocks blocks;
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
    mpl_blocks_open(&l->blocks, l->plan);
    l->at = 0;
    l->last = false;
}

static void empty(batch *b, lane *l, const uint64_t *state, size_t step) {
    mpl_keccak_squeeze(b->out[l->which], state, step);
    moonplan_call_plan_free(l->plan);
    l->plan = NULL;
    b->done++;
}

/* The next block of a plan's canonical form. */
static inline const unsigned char *next_block(lane *l) {
    if (l->at == l->blocks.length) {
        mpl_blocks_next(&l->blocks);
        l->at = 0;
    }
    const unsigned char *block = l->blocks.from + l->at;
    l->at += MPL_KECCAK_RATE;
    l->last = l->blocks.ended && l->at == l->blocks.length;
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
