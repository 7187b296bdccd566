/* counter_alloc as a lua_Alloc. */
#ifndef MOONPLAN_SPEC_LUA_ALLOC_H
#define MOONPLAN_SPEC_LUA_ALLOC_H

#include "check.h"

/* `data` is a counter. Lua passes the kind of a new object as its old size. */
static inline void *lua_alloc(void *data, void *block, size_t old_size, size_t new_size) {
    return counter_alloc(data, block, block ? old_size : 0, new_size);
}

typedef struct counted {
    counter count;
    size_t in_a_row; /* requests that fail from fail_at on; 0: all of them */
} counted;

/* `data` is a counted. */
static inline void *counted_alloc(void *data, void *block, size_t old_size, size_t new_size) {
    counted *c = data;
    if (c->in_a_row) c->count.fail_on = c->count.calls + 1 < c->count.fail_at + c->in_a_row;
    return lua_alloc(&c->count, block, old_size, new_size);
}

#endif
