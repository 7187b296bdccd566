/* ctx as a plugin sees it: log and the powers as Lua functions, each of which turns its arguments
 * into slots and has them carried to the host's side. It lives in the plugin's state, wherever that
 * is, and decides nothing. */
#ifndef MPL_LUA_STUB_H
#define MPL_LUA_STUB_H

#include <lua.h>

#include "power.h"

/* Of one state. Whoever opened the state fills in the first three, and keeps it where it is. */
typedef struct mpl_stub {
    mpl_exchange exchange;
    void *data;
    const moonplan_options *options; /* the limits of what goes out in values */
    unsigned powers;                 /* of the call under way */
    bool calling;                    /* false: no call is under way that could use any */
} mpl_stub;

/* Inside a protected call in the plugin's state: put log and these powers into the ctx on top of
 * the stack, and begin a call. Whoever runs it sets stub->calling to false behind it. */
void mpl_stub_push(lua_State *L, mpl_stub *stub, unsigned powers);

#endif
