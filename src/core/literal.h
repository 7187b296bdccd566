/* JSON number literals as the exact numbers that they are. */
#ifndef MPL_CORE_LITERAL_H
#define MPL_CORE_LITERAL_H

#include "../moonplan.h"

/* Both must be valid JSON numbers. Less, equal, greater: -1, 0, 1. Exponents beyond 10^17 count as
 * 10^17: two literals that are that far out and of one sign compare by their digits. */
int mpl_literal_order(moonplan_text a, moonplan_text b);
/* Whether it is written as an integer: no point, no exponent, and not -0. */
bool mpl_literal_is_integer(moonplan_text literal);
/* Whether the nearest double is finite. */
bool mpl_literal_is_finite(moonplan_text literal);

#endif
