/* Amounts as people write them: a number and a unit. */
#ifndef MPL_CORE_AMOUNT_H
#define MPL_CORE_AMOUNT_H

#include "uint256.h"

#define MPL_DECIMALS_UNKNOWN (-1)
/* Of tokens, of which it could be said. */
#define MPL_DECIMALS_UNSAID (-2)
/* More and not one whole token fits 256 bits. */
#define MPL_DECIMALS_MOST 77

/* Digits alone count base units. "1.5 ether", "2 gwei" and "7 wei" have 18, 9 and 0 decimals, and
 * stand for themselves where base units are such that 18 of their decimals make one whole;
 * "2.5 tokens" (or "1 token") has `decimals`. Nothing is rounded. Tokens whose decimals nobody says
 * are counted in base units alone: of one with 6 decimals, "1 ether" would be a million million.
 *
 * A fraction without a unit is refused, because the same digits without their point would be a
 * number of base units: 2.5 and 2 would be worlds apart.
 *
 * NULL, or why it is none: words that follow "which". */
const char *mpl_amount_read(mpl_uint256 *out, moonplan_text text, int decimals);

#endif
