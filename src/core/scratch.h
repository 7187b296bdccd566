/* Memory on the stack for what lives as long as one call. */
#ifndef MPL_CORE_SCRATCH_H
#define MPL_CORE_SCRATCH_H

#include <stdalign.h>

#include "alloc.h"

/* The index of a plan of a dozen steps. */
#define MPL_SCRATCH 8192

/* An allocator: pieces come one after another until there is no more room, then from the host. Only
 * the last piece can grow or be given back. */
typedef struct mpl_scratch {
    mpl_alloc host;
    size_t used, last; /* where the last piece begins */
    alignas(16) char bytes[MPL_SCRATCH];
} mpl_scratch;

void mpl_scratch_open(mpl_scratch *scratch, const moonplan_options *options);
/* Its moonplan_alloc; `data` is the scratch. */
void *mpl_scratch_alloc(void *data, void *block, size_t old_size, size_t new_size);

#endif
