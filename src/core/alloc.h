/* The one door to memory: a host's allocator, and a count of what went through it. */
#ifndef MPL_CORE_ALLOC_H
#define MPL_CORE_ALLOC_H

#include "../moonplan.h"

typedef struct mpl_alloc {
    moonplan_alloc call;
    void *data;
    size_t used, peak; /* bytes held now, and the most ever held */
} mpl_alloc;

/* The allocator of these options (NULL: realloc and free), counting from zero. */
mpl_alloc mpl_alloc_of(const moonplan_options *options);

/* All of them give NULL when memory is short; a failed resize leaves the block as it was. */
void *mpl_allocate(mpl_alloc *alloc, size_t size);
void *mpl_resize(mpl_alloc *alloc, void *block, size_t old_size, size_t new_size);
void mpl_release(mpl_alloc *alloc, void *block, size_t size);

/* Room for at least `needed` items of `item` bytes, growing by half; false when memory is
 * short, in which case nothing has changed. */
bool mpl_grow(mpl_alloc *alloc, void **block, size_t *capacity, size_t needed, size_t item);

/* Many small pieces with one end. Pieces are zeroed and aligned for any object. */
typedef struct mpl_arena {
    mpl_alloc *alloc;
    struct mpl_arena_block *blocks;
    size_t left;
} mpl_arena;

void mpl_arena_open(mpl_arena *arena, mpl_alloc *alloc);
void *mpl_arena_take(mpl_arena *arena, size_t size);
/* A copy of the bytes, with a NUL behind them. */
char *mpl_arena_copy(mpl_arena *arena, const char *bytes, size_t length);
void mpl_arena_close(mpl_arena *arena);

#endif
