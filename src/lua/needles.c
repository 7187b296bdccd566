#include "needles.h"

#include <sodium.h>
#include <string.h>

/* Leaps look at so many bytes at once, which every needle has, and every one that is cut. */
#define WINDOW MPL_NEEDLE_LEAST
#define PAIRS  65536

static const char ellipsis[] = "\xe2\x80\xa6";

/* Where a search goes from here. Small, because a text that repeats a needle's beginning visits two
 * of them for each of its bytes. */
struct mpl_needle_node {
    uint32_t child; /* the only one, by the byte `label`; or the place of a row, with ROW */
    uint32_t fail;  /* the longest end of what leads here that leads somewhere as well */
    uint32_t hit;   /* 1 + the longest needle that ends here; 0: none does */
    uint32_t label; /* a byte, ROW or NONE */
};
enum { ROW = 256, NONE };

/* What else is known of the node of the same place. */
struct mpl_needle_origin {
    uint32_t first, next; /* of its children, and of its parent's; 0: none */
    uint32_t depth;
    uint32_t through; /* a needle that begins as what leads here */
    uint8_t label;
};

/* -- Making ----------------------------------------------------------------*/

static void plant(mpl_needles *n, uint32_t which) {
    moonplan_text bytes = n->list[which].bytes;
    uint32_t at = 0;
    for (size_t i = 0; i < bytes.length; i++) {
        uint8_t byte = (uint8_t)bytes.bytes[i];
        uint32_t child = n->origins[at].first;
        while (child && n->origins[child].label != byte) child = n->origins[child].next;
        if (!child) {
            child = (uint32_t)n->count++;
            n->origins[child] = (struct mpl_needle_origin){.next = n->origins[at].first,
                                                           .depth = n->origins[at].depth + 1,
                                                           .through = which,
                                                           .label = byte};
            n->origins[at].first = child;
        }
        at = child;
    }
    if (!n->nodes[at].hit) n->nodes[at].hit = which + 1;
}

/* The root, which all searches come back to, has a row, and so has whatever has several
 * children. */
static bool has_row(const mpl_needles *n, size_t at) {
    uint32_t first = n->origins[at].first;
    return at == 0 || (first && n->origins[first].next);
}

static bool make_rows(mpl_needles *n) {
    size_t count = 0, made = 0;
    for (size_t i = 0; i < n->count; i++) count += has_row(n, i);
    n->rows = mpl_allocate(n->alloc, count * sizeof *n->rows);
    if (!n->rows) return false;
    n->row_count = count;
    memset(n->rows, 0, count * sizeof *n->rows);
    for (size_t i = 0; i < n->count; i++) {
        struct mpl_needle_node *node = &n->nodes[i];
        uint32_t first = n->origins[i].first;
        node->child = first;
        node->label = first ? n->origins[first].label : NONE;
        if (!has_row(n, i)) continue;
        for (uint32_t c = first; c; c = n->origins[c].next) n->rows[made][n->origins[c].label] = c;
        node->label = ROW;
        node->child = (uint32_t)made++;
    }
    return true;
}

static uint32_t step(const mpl_needles *n, uint32_t at, uint8_t byte) {
    for (;;) {
        const struct mpl_needle_node *node = &n->nodes[at];
        if (node->label == byte) return node->child;
        uint32_t child = node->label == ROW ? n->rows[node->child][byte] : 0;
        if (child || at == 0) return child;
        at = node->fail;
    }
}

/* Level by level, because what a node falls back to is less deep than itself. */
static bool link(mpl_needles *n) {
    size_t size = n->count * sizeof(uint32_t), filled = 1;
    uint32_t *queue = mpl_allocate(n->alloc, size);
    if (!queue) return false;
    queue[0] = 0;
    for (size_t i = 0; i < filled; i++) {
        uint32_t at = queue[i];
        for (uint32_t c = n->origins[at].first; c; c = n->origins[c].next) {
            struct mpl_needle_node *child = &n->nodes[c];
            if (at != 0) child->fail = step(n, n->nodes[at].fail, n->origins[c].label);
            if (!child->hit) child->hit = n->nodes[child->fail].hit;
            queue[filled++] = c;
        }
    }
    mpl_release(n->alloc, queue, size);
    return true;
}

static size_t pair(const char *at) {
    return (size_t)(uint8_t)at[0] << 8 | (uint8_t)at[1];
}

static bool make_leaps(mpl_needles *n) {
    n->leaps = mpl_allocate(n->alloc, PAIRS);
    if (!n->leaps) return false;
    memset(n->leaps, WINDOW - 1, PAIRS);
    for (size_t i = 0; i < n->list_count; i++)
        for (size_t j = 0; j + 2 <= WINDOW; j++) {
            uint8_t *by = &n->leaps[pair(n->list[i].bytes.bytes + j)];
            if (WINDOW - 2 - j < *by) *by = (uint8_t)(WINDOW - 2 - j);
        }
    return true;
}

bool mpl_needles_open(mpl_needles *n, mpl_alloc *alloc, const mpl_needle *list, size_t count) {
    memset(n, 0, sizeof *n);
    n->alloc = alloc;
    if (count == 0) return true;
    size_t total = 1;
    for (size_t i = 0; i < count; i++) total += list[i].bytes.length;
    if (total > UINT32_MAX) return false;
    n->list = mpl_allocate(alloc, count * sizeof *n->list);
    n->nodes = mpl_allocate(alloc, total * sizeof *n->nodes);
    n->origins = mpl_allocate(alloc, total * sizeof *n->origins);
    n->list_count = count;
    n->room = total;
    if (!n->list || !n->nodes || !n->origins) return false;
    memcpy(n->list, list, count * sizeof *n->list);
    memset(n->nodes, 0, total * sizeof *n->nodes);
    memset(n->origins, 0, sizeof *n->origins);
    n->count = 1;
    for (size_t i = 0; i < count; i++) plant(n, (uint32_t)i);
    bool fine = make_rows(n) && link(n) && make_leaps(n);
    /* They are the caller's, who may let go of them now. */
    for (size_t i = 0; i < count; i++) n->list[i].bytes.bytes = NULL;
    return fine;
}

void mpl_needles_close(mpl_needles *n) {
    if (n->nodes) sodium_memzero(n->nodes, n->count * sizeof *n->nodes);
    if (n->origins) sodium_memzero(n->origins, n->count * sizeof *n->origins);
    if (n->rows) sodium_memzero(n->rows, n->row_count * sizeof *n->rows);
    if (n->leaps) sodium_memzero(n->leaps, PAIRS);
    mpl_release(n->alloc, n->nodes, n->room * sizeof *n->nodes);
    mpl_release(n->alloc, n->origins, n->room * sizeof *n->origins);
    mpl_release(n->alloc, n->rows, n->row_count * sizeof *n->rows);
    mpl_release(n->alloc, n->leaps, PAIRS);
    mpl_release(n->alloc, n->list, n->list_count * sizeof *n->list);
    memset(n, 0, sizeof *n);
}

/* -- Looking ---------------------------------------------------------------*/

/* The first place, from `at` on, where a needle may begin; the text's length if there is none. */
static size_t leap(const mpl_needles *n, moonplan_text text, size_t at) {
    const char *bytes = text.bytes;
    const size_t ahead = WINDOW - 2;
    for (at += ahead; at + 2 <= text.length;) {
        uint8_t by = n->leaps[pair(bytes + at)];
        if (by == 0 && n->rows[0][(uint8_t)bytes[at - ahead]]) return at - ahead;
        at += by ? by : 1;
    }
    return text.length;
}

/* Whether what leads to the node is the first part of a needle that is cut at `i`. */
static bool is_cut(const mpl_needles *n, uint32_t at, moonplan_text text, size_t i) {
    return n->origins[at].depth >= MPL_NEEDLE_LEAST && text.length - i >= sizeof ellipsis - 1 &&
           memcmp(text.bytes + i, ellipsis, sizeof ellipsis - 1) == 0;
}

bool mpl_needles_in(const mpl_needles *n, moonplan_text text) {
    uint32_t at = 0;
    if (!n->nodes) return false;
    for (size_t i = 0; i < text.length; i++) {
        if (at == 0 && (i = leap(n, text, i)) == text.length) return false;
        if (is_cut(n, at, text, i)) return true;
        at = step(n, at, (uint8_t)text.bytes[i]);
        if (n->nodes[at].hit) return true;
    }
    return false;
}

typedef struct run {
    size_t from, to;
    uint32_t which; /* the longest needle in it */
} run;

/* One more piece, which ends behind all others, or where the last one does. */
static void add_run(const mpl_needles *n, mpl_buffer *runs, run next) {
    while (runs->length > 0) {
        run last;
        memcpy(&last, runs->bytes + runs->length - sizeof last, sizeof last);
        if (last.to <= next.from) break;
        if (last.from < next.from) next.from = last.from;
        if (n->list[last.which].bytes.length >= n->list[next.which].bytes.length)
            next.which = last.which;
        runs->length -= sizeof last;
    }
    mpl_buffer_add(runs, &next, sizeof next);
}

static void find_runs(const mpl_needles *n, mpl_buffer *runs, moonplan_text text) {
    uint32_t at = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (at == 0 && (i = leap(n, text, i)) == text.length) return;
        if (is_cut(n, at, text, i))
            add_run(n, runs, (run){i - n->origins[at].depth, i, n->origins[at].through});
        at = step(n, at, (uint8_t)text.bytes[i]);
        uint32_t hit = n->nodes[at].hit;
        if (hit) add_run(n, runs, (run){i + 1 - n->list[hit - 1].bytes.length, i + 1, hit - 1});
    }
}

/* The runs are in order, and apart. */
static void copy(const mpl_needles *n, mpl_buffer *out, moonplan_text text,
                 const mpl_buffer *runs) {
    size_t from = 0;
    for (size_t i = 0; i < runs->length; i += sizeof(run)) {
        run next;
        memcpy(&next, runs->bytes + i, sizeof next);
        moonplan_text shown = n->list[next.which].shown;
        mpl_buffer_add(out, text.bytes + from, next.from - from);
        mpl_buffer_add(out, shown.bytes, shown.length);
        from = next.to;
    }
    mpl_buffer_add(out, text.bytes + from, text.length - from);
}

bool mpl_needles_hide(const mpl_needles *n, mpl_buffer *bytes) {
    moonplan_text text = {bytes->bytes, bytes->length};
    mpl_buffer runs, clean;
    if (!n->nodes || text.length == 0) return true;
    mpl_buffer_open(&runs, bytes->alloc);
    find_runs(n, &runs, text);
    if (runs.length == 0 && !runs.failed) {
        mpl_buffer_close(&runs);
        return true;
    }
    mpl_buffer_open(&clean, bytes->alloc);
    if (!runs.failed) copy(n, &clean, text, &runs);
    bool fine = !runs.failed && !clean.failed;
    mpl_buffer_close(&runs);
    mpl_buffer_close(bytes);
    if (!fine) mpl_buffer_close(&clean);
    *bytes = clean;
    return fine;
}
