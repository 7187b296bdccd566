/* The canonical form of a call plan, piece by piece (ERC-8410, Plan Digest). */
#ifndef MPL_CALL_CANONICAL_H
#define MPL_CALL_CANONICAL_H

#include "../core/keccak.h"
#include "plan.h"

/* What can stand between the calldata of two steps, and of that what is the same for each step: a
 * quantity has 78 digits at most. */
#define MPL_CANONICAL_PIECE  1024
#define MPL_CANONICAL_MIDDLE 256

typedef struct mpl_canonical {
    const moonplan_call_plan *plan;
    size_t step; /* the next one */
    bool data;   /* its calldata comes next */
    size_t middle_length;
    char middle[MPL_CANONICAL_MIDDLE];
    char piece[MPL_CANONICAL_PIECE];
} mpl_canonical;

void mpl_canonical_open(mpl_canonical *canonical, const moonplan_call_plan *plan);
/* The next piece, good until the one after it is asked for; {NULL, 0} behind the last. Calldata is
 * a piece of its own and stands in the document. */
moonplan_text mpl_canonical_next(mpl_canonical *canonical);

/* Small pieces are put together to so many blocks, for each call of the permutation moves its state
 * into registers and back (measured: a thirtieth of the time of a plan of a few kilobytes). */
#define MPL_BLOCKS_ROOM ((size_t)16 * MPL_KECCAK_RATE)

/* The canonical form in whole blocks, as Keccak-256 takes them, with its padding. */
typedef struct mpl_blocks {
    mpl_canonical canonical;
    moonplan_text piece; /* what is left of the current one */
    /* Put together in `bytes`, or a run of calldata where it stands: a multiple of the rate. */
    const unsigned char *from;
    size_t length;
    bool ended; /* there are no more behind them */
    unsigned char bytes[MPL_BLOCKS_ROOM];
} mpl_blocks;

void mpl_blocks_open(mpl_blocks *blocks, const moonplan_call_plan *plan);
/* The next ones, at least one; not to be called once `ended` is set. */
void mpl_blocks_next(mpl_blocks *blocks);

#endif
