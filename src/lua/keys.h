/* Keys as Lua objects. */
#ifndef MPL_LUA_KEYS_H
#define MPL_LUA_KEYS_H

#include <lua.h>

#include "../moonplan.h"

/* Push moonplan.keys. */
void mpl_lua_push_keys(lua_State *L);
/* The key at argument `arg`; raises when it is anything else. */
const moonplan_secret_key *mpl_lua_check_secret_key(lua_State *L, int arg);
const moonplan_public_key *mpl_lua_check_public_key(lua_State *L, int arg);
/* Push one. */
void mpl_lua_push_public_key(lua_State *L, const moonplan_public_key *key);

#endif
