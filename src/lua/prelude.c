#include "prelude.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox.h"

static const mpl_prelude_text *find(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < mpl_prelude_count; i++) {
        const char *file = mpl_prelude_texts[i].file;
        if (strncmp(file, name, length) == 0 && strcmp(file + length, ".lua") == 0)
            return &mpl_prelude_texts[i];
    }
    abort();
}

void mpl_prelude_push(lua_State *L, const char *name) {
    static const char key = 0; /* its address is the registry's key of what has been loaded */
    luaL_checkstack(L, 4, "no room for a call");
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    }
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        const mpl_prelude_text *file = find(name);
        lua_pop(L, 1);
        lua_pushfstring(L, "@moonplan/%s.lua", name);
        mpl_sandbox_load(L, file->text, file->length, lua_tostring(L, -1));
        lua_remove(L, -2);
        lua_call(L, 0, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, name);
    }
    lua_remove(L, -2);
}
