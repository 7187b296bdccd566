/* Keccak-256 in pieces. */
#ifndef MPL_CORE_KECCAK_H
#define MPL_CORE_KECCAK_H

#include "../moonplan.h"

#define MPL_KECCAK_RATE 136

typedef struct mpl_keccak {
    uint64_t lanes[25];
    size_t filled; /* bytes of the current block that are in already, below MPL_KECCAK_RATE */
} mpl_keccak;

void mpl_keccak_open(mpl_keccak *keccak);
void mpl_keccak_add(mpl_keccak *keccak, const void *bytes, size_t length);
void mpl_keccak_finish(mpl_keccak *keccak, uint8_t out[32]);

#endif
