/* How many fields in a row a chunk of Lua takes. */
#ifndef MPL_LUA_CHAIN_H
#define MPL_LUA_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

/* a.b.c or a[1][2]: more than anybody writes. */
#define MPL_CHAIN_MOST 1000

/* False with the line, from 1, where a row of fields gets longer than that. Lua 5.4 looks for the
 * name of what an error is about by a recursion of its own that goes through such a row and that
 * nothing bounds: 20,000 overflow a stack of 1 MiB, and 80,000 take seconds of one instruction. */
bool mpl_chain_check(const char *text, size_t length, size_t *line);

#endif
