#include "sort.h"

#include <string.h>

void mpl_sort(void *items, size_t count, size_t size,
              bool (*before)(const void *a, const void *b, const void *context),
              const void *context) {
    char *base = items;
    _Alignas(max_align_t) char moved[MPL_SORT_ITEM]; /* `before` reads it as an item */
    for (size_t start = count / 2, end = count; end > 1;) {
        /* First every parent sinks to its place, then the largest goes to the end, again and
         * again. */
        if (start > 0) {
            memcpy(moved, base + --start * size, size);
        } else {
            memcpy(moved, base + --end * size, size);
            memcpy(base + end * size, base, size);
        }
        size_t root = start;
        for (size_t child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && before(base + child * size, base + (child + 1) * size, context))
                child++;
            if (!before(moved, base + child * size, context)) break;
            memcpy(base + root * size, base + child * size, size);
        }
        memcpy(base + root * size, moved, size);
    }
}
