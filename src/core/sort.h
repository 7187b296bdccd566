/* Sorting what strangers named. */
#ifndef MPL_CORE_SORT_H
#define MPL_CORE_SORT_H

#include <stdbool.h>
#include <stddef.h>

#define MPL_SORT_ITEM 128

/* Heapsort: no order of the items is a slow one, nothing recurses, nothing is allocated. Items are
 * at most MPL_SORT_ITEM bytes; equal ones come in any order. */
void mpl_sort(void *items, size_t count, size_t size,
              bool (*before)(const void *a, const void *b, const void *context),
              const void *context);

#endif
