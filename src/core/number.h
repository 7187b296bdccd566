/* Doubles as decimal literals, without the C library's locale. */
#ifndef MPL_CORE_NUMBER_H
#define MPL_CORE_NUMBER_H

#include "../moonplan.h"

/* The shortest literal that reads back as this finite double, the nearest of those to it, with a
 * point or an exponent so that it is not taken for an integer: 1000.0, 1e+23 is written 1e23,
 * 0.1, 5e-324, -0.0. Returns its length; at most 25 bytes. */
size_t mpl_double_write(char out[32], double number);

#endif
