/* JSON number literals as the exact numbers that they are. */
#ifndef MPL_CORE_LITERAL_H
#define MPL_CORE_LITERAL_H

#include "../moonplan.h"

typedef enum mpl_literal {
    MPL_LITERAL_NONE,    /* not a JSON number */
    MPL_LITERAL_INTEGER, /* an integer of int64, as a value of type MOONPLAN_INTEGER is written */
    MPL_LITERAL_NUMBER   /* any other, -0 among them: it has a sign to keep */
} mpl_literal;
mpl_literal mpl_literal_kind(moonplan_text literal);

/* Both must be valid JSON numbers. Less, equal, greater: -1, 0, 1. Exponents beyond 10^17 count as
 * 10^17: two literals that are that far out and of one sign compare by their digits. */
int mpl_literal_order(moonplan_text a, moonplan_text b);
/* Whether it is written as an integer: no point, no exponent, and not -0. */
bool mpl_literal_is_integer(moonplan_text literal);
/* Whether the nearest double is finite. */
bool mpl_literal_is_finite(moonplan_text literal);

#endif
