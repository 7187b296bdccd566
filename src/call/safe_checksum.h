/* The checksum in a batch file of the Safe Transaction Builder. */
#ifndef MPL_CALL_SAFE_CHECKSUM_H
#define MPL_CALL_SAFE_CHECKSUM_H

#include "../core/value.h"

typedef enum mpl_safe_checksum {
    MPL_SAFE_CHECKSUM_MADE,
    MPL_SAFE_CHECKSUM_NUMBER, /* a number in it that the builder's own language rounds */
    MPL_SAFE_CHECKSUM_MEMORY
} mpl_safe_checksum;

/* Over the whole file but meta.checksum, and with meta.name as null (apps/tx-builder/src/lib/
 * checksum.ts): of each object the sorted names as a JSON array, then the values, each with a comma
 * behind it; Keccak-256 over that. */
mpl_safe_checksum mpl_safe_checksum_make(uint8_t out[32], moonplan_value batch, mpl_alloc *alloc);

#endif
