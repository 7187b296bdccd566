/* Lua of ours that runs inside a plugin's state: what would be needless trouble in C, and needs no
 * trust, for it is given nothing that the plugin does not have. */
#ifndef MPL_LUA_PRELUDE_H
#define MPL_LUA_PRELUDE_H

#include <lua.h>
#include <stddef.h>

/* Inside mpl_sandbox_run: push what the chunk NAME (lua/moonplan/NAME.lua) returns. It is compiled
 * and run in the state's own environment when it is asked for first, and kept; raises when that
 * fails. A name that was not built in is a bad call. */
void mpl_prelude_push(lua_State *L, const char *name);

/* The texts; made by the build from the list `prelude` in CMakeLists.txt. */
typedef struct mpl_prelude_text {
    const char *file; /* builder.lua */
    const char *text;
    size_t length;
} mpl_prelude_text;
extern const mpl_prelude_text mpl_prelude_texts[];
extern const size_t mpl_prelude_count;

#endif
