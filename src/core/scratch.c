#include "scratch.h"

#include <string.h>

void mpl_scratch_open(mpl_scratch *scratch, const moonplan_options *options) {
    scratch->host = mpl_alloc_of(options);
    scratch->used = scratch->last = 0;
}

static bool is_ours(const mpl_scratch *scratch, const void *block) {
    uintptr_t at = (uintptr_t)block, begin = (uintptr_t)scratch->bytes;
    return at >= begin && at < begin + MPL_SCRATCH;
}

static size_t rounded(size_t size) {
    return (size + 15) / 16 * 16;
}

void *mpl_scratch_alloc(void *data, void *block, size_t old_size, size_t new_size) {
    mpl_scratch *scratch = data;
    const mpl_alloc *host = &scratch->host;
    if (block && !is_ours(scratch, block)) return host->call(host->data, block, old_size, new_size);
    size_t at = block ? (size_t)((char *)block - scratch->bytes) : scratch->used;
    bool last = !block || at == scratch->last;
    if (new_size == 0) {
        if (block && last) scratch->used = at;
        return NULL;
    }
    if (last && new_size <= MPL_SCRATCH - at) {
        scratch->last = at;
        scratch->used = at + rounded(new_size);
        return scratch->bytes + at;
    }
    if (!last && new_size <= rounded(old_size)) return block;
    void *moved = last ? host->call(host->data, NULL, 0, new_size)
                       : mpl_scratch_alloc(scratch, NULL, 0, new_size);
    if (moved && block) {
        memcpy(moved, block, old_size < new_size ? old_size : new_size);
        if (last) scratch->used = at;
    }
    return moved;
}
