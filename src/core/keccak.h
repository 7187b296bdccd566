/* Keccak-256 in pieces, and of several texts at once. */
#ifndef MPL_CORE_KECCAK_H
#define MPL_CORE_KECCAK_H

#include "../moonplan.h"

#define MPL_KECCAK_RATE 136

/* Exclusive-or whole blocks into the lanes, and permute after each. */
typedef void mpl_keccak_absorb(uint64_t lanes[25], const unsigned char *blocks, size_t count);
/* The same for one block of each of four states; lane i of state k is lanes[4 * i + k]. */
typedef void mpl_keccak_absorb_four(uint64_t lanes[100], const unsigned char *const blocks[4]);

/* One way to compute it. Which of them is the best depends on the processor that runs the program,
 * not on the one it was compiled for. */
typedef struct mpl_keccak_kind {
    const char *name;
    mpl_keccak_absorb *absorb;
    mpl_keccak_absorb_four *absorb_four; /* NULL: four states take as long as four times one */
} mpl_keccak_kind;

/* The n-th kind that this processor can run, the best first; NULL behind the last. */
const mpl_keccak_kind *mpl_keccak_kind_at(size_t n);

typedef struct mpl_keccak {
    uint64_t lanes[25];
    mpl_keccak_absorb *absorb;
    size_t filled; /* bytes of the current block, below MPL_KECCAK_RATE */
    unsigned char block[MPL_KECCAK_RATE];
} mpl_keccak;

void mpl_keccak_open(mpl_keccak *keccak);
void mpl_keccak_open_as(mpl_keccak *keccak, const mpl_keccak_kind *kind);
void mpl_keccak_add(mpl_keccak *keccak, const void *bytes, size_t length);
void mpl_keccak_finish(mpl_keccak *keccak, uint8_t out[32]);
/* The hash in a state that the last block is in; lane i is lanes[step * i]. */
void mpl_keccak_squeeze(uint8_t out[32], const uint64_t *lanes, size_t step);
/* The last block of a text: `filled` bytes of it are there already. */
void mpl_keccak_pad(unsigned char block[MPL_KECCAK_RATE], size_t filled);

#if defined(__x86_64__) && defined(__GNUC__)
#define MPL_KECCAK_X86
extern const uint64_t mpl_keccak_constants[24];
mpl_keccak_absorb mpl_keccak_absorb_bmi, mpl_keccak_absorb_avx512;
mpl_keccak_absorb_four mpl_keccak_four_avx2, mpl_keccak_four_avx512;
#endif

#endif
