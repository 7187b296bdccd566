/* For hosts with a lua_State of their own: the same module that `require "moonplan"` loads. */
#ifndef MOONPLAN_LUA_H
#define MOONPLAN_LUA_H

#include "moonplan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lua_State;

/* Push the module's table; Lua 5.4. It sets no global. The usual way in is
 *   luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
 * All memory comes from the state's own allocator (lua_getallocf), so that a
 * host's limit counts documents and plans as well as Lua values. */
MOONPLAN_API int luaopen_moonplan(struct lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
