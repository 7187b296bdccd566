#include "alloc.h"

#include <stdlib.h>
#include <string.h>

static void *heap(void *data, void *block, size_t old_size, size_t new_size) {
    (void)data;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

mpl_alloc mpl_alloc_of(const moonplan_options *options) {
    mpl_alloc alloc = {heap, NULL, 0, 0};
    if (options && options->alloc) {
        alloc.call = options->alloc;
        alloc.data = options->alloc_data;
    }
    return alloc;
}

void *mpl_allocate(mpl_alloc *alloc, size_t size) {
    return mpl_resize(alloc, NULL, 0, size);
}

void *mpl_resize(mpl_alloc *alloc, void *block, size_t old_size, size_t new_size) {
    void *moved = alloc->call(alloc->data, block, old_size, new_size);
    if (!moved) return NULL;
    alloc->used = alloc->used - old_size + new_size;
    if (alloc->used > alloc->peak) alloc->peak = alloc->used;
    return moved;
}

void mpl_release(mpl_alloc *alloc, void *block, size_t size) {
    if (!block) return;
    alloc->call(alloc->data, block, size, 0);
    alloc->used -= size;
}

bool mpl_grow(mpl_alloc *alloc, void **block, size_t *capacity, size_t needed, size_t item) {
    if (needed <= *capacity) return true;
    if (needed > SIZE_MAX / 2 / item) return false;
    size_t grown = *capacity + *capacity / 2;
    if (grown < needed) grown = needed;
    if (grown < 16) grown = 16;
    void *moved = mpl_resize(alloc, *block, *capacity * item, grown * item);
    if (!moved) return false;
    *block = moved;
    *capacity = grown;
    return true;
}

struct mpl_arena_block {
    struct mpl_arena_block *next;
    size_t size;
    max_align_t bytes[];
};

/* Small enough that an arena with a handful of pieces costs little. */
#define ARENA_BLOCK 1000

void mpl_arena_open(mpl_arena *arena, mpl_alloc *alloc) {
    arena->alloc = alloc;
    arena->blocks = NULL;
    arena->left = 0;
}

void *mpl_arena_take(mpl_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (size > arena->left) {
        size_t room = size > ARENA_BLOCK ? size : ARENA_BLOCK;
        struct mpl_arena_block *block =
            mpl_allocate(arena->alloc, sizeof(struct mpl_arena_block) + room);
        if (!block) return NULL;
        block->next = arena->blocks;
        block->size = room;
        arena->blocks = block;
        arena->left = room;
    }
    char *piece = (char *)arena->blocks->bytes + (arena->blocks->size - arena->left);
    arena->left -= size;
    memset(piece, 0, size);
    return piece;
}

char *mpl_arena_copy(mpl_arena *arena, const char *bytes, size_t length) {
    char *copy = mpl_arena_take(arena, length + 1);
    if (copy && length) memcpy(copy, bytes, length);
    return copy;
}

void mpl_arena_close(mpl_arena *arena) {
    while (arena->blocks) {
        struct mpl_arena_block *next = arena->blocks->next;
        mpl_release(arena->alloc, arena->blocks,
                    sizeof(struct mpl_arena_block) + arena->blocks->size);
        arena->blocks = next;
    }
    arena->left = 0;
}
