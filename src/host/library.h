/* Libraries that are opened when they are first used. */
#ifndef MPL_HOST_LIBRARY_H
#define MPL_HOST_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

typedef enum mpl_library {
    MPL_LIBRARY_OPEN,
    MPL_LIBRARY_ABSENT,
    MPL_LIBRARY_REFUSED, /* it is there, and cannot be loaded now */
    MPL_LIBRARY_MEMORY,
    MPL_LIBRARY_STATES
} mpl_library;

/* Open it, for good: NODELETE. It may have left something for the end of the process or of threads,
 * or know of what counts for the whole process. */
mpl_library mpl_library_open(void **library, const char *name);
/* The function of that name goes to `into`, a pointer of that size; NULL and false if there is
 * none. */
bool mpl_library_find(void *library, const char *name, void *into, size_t size);

#endif
