/* Values by key in memory, for the store that lives there. */
#ifndef MPL_ENGINE_KV_MEMORY_H
#define MPL_ENGINE_KV_MEMORY_H

#include "../core/buffer.h"

typedef struct mpl_kv_pair {
    char *bytes; /* space, key, value */
    size_t space, key, value;
} mpl_kv_pair;

typedef struct mpl_kv {
    mpl_alloc *alloc;
    mpl_kv_pair *pairs; /* sorted by space, then key */
    size_t count, capacity;
} mpl_kv;

void mpl_kv_open(mpl_kv *kv, mpl_alloc *alloc);
void mpl_kv_close(mpl_kv *kv);
/* The operations of mpl_store. */
bool mpl_kv_get(const mpl_kv *kv, moonplan_text space, moonplan_text key, mpl_buffer *out,
                bool *found, moonplan_error *err);
bool mpl_kv_set(mpl_kv *kv, moonplan_text space, moonplan_text key, const moonplan_text *value,
                moonplan_error *err);
void mpl_kv_list(const mpl_kv *kv, moonplan_text space,
                 bool (*each)(void *data, moonplan_text key, size_t size), void *data);

#endif
