/* A set of functions and errors, while it is being read. */
#ifndef MPL_CALL_ABI_SET_H
#define MPL_CALL_ABI_SET_H

#include "abi.h"

struct moonplan_abi {
    mpl_alloc alloc;
    mpl_arena arena;
    moonplan_abi_entry *entries;
    size_t count, capacity;
    size_t text_length;
    uint32_t *order; /* entries sorted by kind and selector, later ones behind earlier ones */
    size_t order_size;
    bool tables; /* of a language in which an empty list and an empty object are one */
};

/* Read one signature into a new entry; `base` is the offset of the text, or MOONPLAN_NO_OFFSET.
 * False with *err. */
bool mpl_abi_read(moonplan_abi *abi, moonplan_text text, const mpl_pointer *pointer, size_t base,
                  moonplan_error *err);

#endif
