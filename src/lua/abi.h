/* Descriptions of functions and errors, as options of the functions that read what others made. */
#ifndef MPL_LUA_ABI_H
#define MPL_LUA_ABI_H

#include "bind.h"

/* What such a function is told beside the options that all take: abis, now, to, chain_id. */
typedef struct mpl_lua_reading {
    moonplan_review_context context;
    moonplan_text to, chain_id;
    int keep; /* where on the stack is what all that points into */
} mpl_lua_reading;

/* The options at argument `arg`. Pushes two values, which have to stay on the stack as long as
 * options and reading are used. */
void mpl_lua_read_reading(lua_State *L, int arg, moonplan_options *options,
                          mpl_lua_reading *reading, mpl_lua_work *work);

/* Push an ABI made of a list in a plugin's description; false with work->err. */
bool mpl_lua_push_described(lua_State *L, moonplan_value list, const moonplan_options *options,
                            mpl_lua_work *work);

/* The 0x and digits at argument `arg`, in either case, as bytes in `out`; false with work->err. */
bool mpl_lua_read_hex(lua_State *L, int arg, mpl_buffer *out, mpl_lua_work *work);

/* Push 0x and the bytes as digits. */
void mpl_lua_push_hex(lua_State *L, const uint8_t *bytes, size_t length);

#endif
