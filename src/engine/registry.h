/* Capabilities by name. An entry lives as long as somebody holds it: the registry, and a job from
 * the moment that it has looked the capability up until its call has ended. */
#ifndef MPL_ENGINE_REGISTRY_H
#define MPL_ENGINE_REGISTRY_H

#include "../core/build.h"
#include "../step/plan.h"

typedef struct mpl_entry {
    mpl_capability view;
    mpl_alloc *alloc;
    size_t holds;
    mpl_arena texts;
    mpl_schema *input, *output;
    moonplan_text summary;
    const moonplan_text *needs;
    size_t needs_count;
    void (*run)(void *data, moonplan_want *want);
    void (*check)(void *data, moonplan_want *want); /* NULL: it has none */
    void *data;
    void (*release)(void *data);
} mpl_entry;

typedef struct mpl_registry {
    mpl_alloc *alloc;
    const moonplan_options *options; /* for schemas */
    mpl_entry **entries;             /* in the order in which they were registered */
    size_t count, capacity;
    /* Open addressing, at least twice as large as `capacity`; 0: empty, else an entry from 1. */
    uint32_t *table;
    size_t table_size;
    uint8_t hash_key[16];
} mpl_registry;

bool mpl_registry_open(mpl_registry *registry, mpl_alloc *alloc, const moonplan_options *options);
void mpl_registry_close(mpl_registry *registry);

/* `old` names go, the list comes: all of it or nothing. What is in both keeps its place. */
bool mpl_registry_change(mpl_registry *registry, const moonplan_text *old, size_t old_count,
                         const moonplan_capability *list, size_t count, bool strict,
                         moonplan_error *err);
/* False if there was none. Takes no memory. */
bool mpl_registry_remove(mpl_registry *registry, moonplan_text name);
mpl_entry *mpl_registry_find(const mpl_registry *registry, moonplan_text name);

static inline mpl_entry *mpl_entry_hold(mpl_entry *entry) {
    entry->holds++;
    return entry;
}
/* NULL is fine. */
void mpl_entry_release(mpl_entry *entry);
void mpl_entry_write(mpl_builder *out, const mpl_entry *entry);

#endif
