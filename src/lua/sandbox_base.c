/* The basic functions of a plugin's state: Lua's, but for what would escape a limit, and without
 * addresses in texts. */
#include <string.h>

#include "bounded.h"

/* -- Calls that catch errors -------------------------------------------------*/

/* What becomes of a protected call: its results from `from` on, or false and the error. */
static int finish(lua_State *L, int status, lua_KContext from) {
    mpl_sandbox_look(L);
    if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)from;
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
}

static int guarded_pcall(lua_State *L) {
    luaL_checkany(L, 1);
    mpl_sandbox_check_depth(L);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    return finish(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish), 0);
}

static int guarded_xpcall(lua_State *L) {
    int arguments = lua_gettop(L) - 2;
    luaL_checktype(L, 2, LUA_TFUNCTION);
    mpl_sandbox_check_depth(L);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2);
    return finish(L, lua_pcallk(L, arguments, LUA_MULTRET, 2, 2, finish), 2);
}

/* -- Chunks ------------------------------------------------------------------*/

/* load(string, name, mode, env), for text only. */
static int text_load(lua_State *L) {
    size_t length;
    luaL_checktype(L, 1, LUA_TSTRING);
    const char *text = lua_tolstring(L, 1, &length);
    const char *name = luaL_optstring(L, 2, text), *mode = luaL_optstring(L, 3, "t");
    if (!strchr(mode, 't') && text[0] != LUA_SIGNATURE[0]) {
        lua_pushnil(L);
        lua_pushfstring(L, "attempt to load a text chunk (mode is '%s')", mode);
        return 2;
    }
    bool with_environment = lua_gettop(L) >= 4;
    mpl_sandbox_check_depth(L);
    if (mpl_sandbox_compile(L, text, length, name) != LUA_OK) {
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    if (with_environment) {
        lua_pushvalue(L, 4);
        if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
    }
    return 1;
}

/* -- Tables --------------------------------------------------------------------*/

/* In front of the stock setmetatable (the upvalue): a finalizer would run at a time of its own,
 * outside every limit. One that is added to a metatable later is never looked at by Lua. */
static int tame_setmetatable(lua_State *L) {
    if (lua_type(L, 2) == LUA_TTABLE) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            luaL_error(L, "a plugin's metatable cannot have __gc; __close works");
        lua_pop(L, 1);
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* Stepping over the empty slots of a table that was once large is one long instruction. */
static int next(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    mpl_sandbox_look(L);
    if (lua_next(L, 1)) return 2;
    lua_pushnil(L);
    return 1;
}

static int found_pairs(lua_State *L, int status, lua_KContext context) {
    (void)L;
    (void)status;
    (void)context;
    return 3;
}

/* Upvalue: next. */
static int pairs(lua_State *L) {
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") == LUA_TNIL) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_pushvalue(L, 1);
        lua_pushnil(L);
    } else {
        lua_pushvalue(L, 1);
        lua_callk(L, 1, 3, 0, found_pairs);
    }
    return 3;
}

/* -- Texts ---------------------------------------------------------------------*/

/* As the stock tostring, but for the address that it shows of tables, functions and the like. */
int mpl_plain_tostring(lua_State *L) {
    luaL_checkany(L, 1);
    mpl_sandbox_check_depth(L);
    if (luaL_callmeta(L, 1, "__tostring")) {
        if (!lua_isstring(L, -1)) luaL_error(L, "'__tostring' must return a string");
        return 1;
    }
    switch (lua_type(L, 1)) {
    case LUA_TNIL:
        lua_pushliteral(L, "nil");
        break;
    case LUA_TBOOLEAN:
        lua_pushstring(L, lua_toboolean(L, 1) ? "true" : "false");
        break;
    case LUA_TNUMBER:
    case LUA_TSTRING:
        lua_pushvalue(L, 1);
        lua_tostring(L, -1);
        break;
    default:
        if (lua_type(L, 1) == LUA_TLIGHTUSERDATA && !lua_touserdata(L, 1))
            lua_pushliteral(L, "null");
        else if (luaL_getmetafield(L, 1, "__name") != LUA_TSTRING)
            lua_pushstring(L, luaL_typename(L, 1));
        break;
    }
    return 1;
}

static int count_garbage(lua_State *L) {
    static const char *const options[] = {"count", NULL};
    luaL_checkoption(L, 1, "count", options);
    lua_pushnumber(L,
                   (lua_Number)lua_gc(L, LUA_GCCOUNT) + (lua_Number)lua_gc(L, LUA_GCCOUNTB) / 1024);
    return 1;
}

void mpl_set_base(lua_State *L) {
    static const luaL_Reg functions[] = {{"collectgarbage", count_garbage},
                                         {"load", text_load},
                                         {"next", next},
                                         {"pcall", guarded_pcall},
                                         {"tostring", mpl_plain_tostring},
                                         {"xpcall", guarded_xpcall},
                                         {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
    lua_getfield(L, -1, "next");
    lua_pushcclosure(L, pairs, 1);
    lua_setfield(L, -2, "pairs");
    lua_getfield(L, -1, "setmetatable");
    lua_pushcclosure(L, tame_setmetatable, 1);
    lua_setfield(L, -2, "setmetatable");
}
