/* The canonical form of a call plan, piece by piece (ERC-8410, Plan Digest). */
#ifndef MPL_CALL_CANONICAL_H
#define MPL_CALL_CANONICAL_H

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

#endif
