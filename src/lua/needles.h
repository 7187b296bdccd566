/* Texts that are looked for all at once, in time that grows with the text that is searched and not
 * with how many they are or how they repeat: the automaton of Aho and Corasick ("Efficient String
 * Matching", 1975), behind leaps as Wu and Manber make them ("A Fast Algorithm for Multi-Pattern
 * Searching", 1994) where nothing has begun. */
#ifndef MPL_LUA_NEEDLES_H
#define MPL_LUA_NEEDLES_H

#include "../core/buffer.h"

/* No needle is shorter: what is could not be told from ordinary text. */
#define MPL_NEEDLE_LEAST 8

typedef struct mpl_needle {
    moonplan_text bytes; /* MPL_NEEDLE_LEAST at least */
    moonplan_text shown; /* what stands in its place; borrowed */
} mpl_needle;

typedef struct mpl_needles {
    mpl_alloc *alloc;
    struct mpl_needle_node *nodes; /* the first is the root; NULL: nothing is looked for */
    struct mpl_needle_origin *origins;
    size_t count, room;
    uint32_t (*rows)[256]; /* children of nodes that have several, by byte */
    size_t row_count;
    uint8_t *leaps; /* by two bytes: how far a needle's beginning is away at least */
    mpl_needle *list;
    size_t list_count;
} mpl_needles;

/* False for want of memory; to be closed either way, and so may be one that is zeroed. */
bool mpl_needles_open(mpl_needles *needles, mpl_alloc *alloc, const mpl_needle *list, size_t count);
/* Its bytes are wiped: they are secrets. */
void mpl_needles_close(mpl_needles *needles);

static inline bool mpl_needles_none(const mpl_needles *needles) {
    return !needles->nodes;
}
/* Whether any of them is in the text; or the first part of one, MPL_NEEDLE_LEAST bytes at least,
 * before a "…": our own messages cut what they quote. */
bool mpl_needles_in(const mpl_needles *needles, moonplan_text text);
/* Every byte that belongs to one is taken out; where they overlap, what is shown is the longest
 * one's. False for want of memory, and then the buffer is empty. */
bool mpl_needles_hide(const mpl_needles *needles, mpl_buffer *bytes);

#endif
