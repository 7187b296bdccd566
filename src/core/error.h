/* Making errors: the one place where their texts are put together. */
#ifndef MPL_CORE_ERROR_H
#define MPL_CORE_ERROR_H

#include "alloc.h"

/* A JSON Pointer that grows and is cut as moonplan_error.at is. */
typedef struct mpl_pointer {
    size_t length;
    bool cut;
    char bytes[264];
} mpl_pointer;
void mpl_pointer_name(mpl_pointer *pointer, moonplan_text name);
void mpl_pointer_index(mpl_pointer *pointer, size_t index);

/* Fill *err (NULL is fine). The format knows:
 *   %s a C string of ours; %q untrusted text (const moonplan_text *), quoted and made visible;
 *   %t trusted text (const moonplan_text *), as it is; %u a uint64_t; %x an unsigned byte, as 0x..;
 * %% */
void mpl_error_set(moonplan_error *err, moonplan_code code, size_t offset,
                   const mpl_pointer *pointer, const char *format, ...);
void mpl_error_memory(moonplan_error *err);

/* A copy of what the caller gave, or the defaults for NULL. */
moonplan_options mpl_options_of(const moonplan_options *options);
/* False with the code `option` when a limit was set, past moonplan_options_limit, to what it cannot
 * be set to: some of them guard fixed sizes. */
bool mpl_options_sound(const moonplan_options *options, moonplan_error *err);

moonplan_error_list *mpl_error_list_new(const mpl_alloc *alloc);
/* Room for one more at the end, or NULL when memory is short. */
moonplan_error *mpl_error_list_add(moonplan_error_list *list);
/* Bytes that the list holds; NULL holds none. */
size_t mpl_error_list_memory(const moonplan_error_list *list);

#endif
