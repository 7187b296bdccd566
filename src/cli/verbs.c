/* A verb runs in a Lua state of its own that knows the program's own sources and nothing else: no
 * package library, so no search path, no environment variable and no current directory has a say
 * in what it loads. */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../moonplan_lua.h"
#include "cli.h"

const mpl_chunk *mpl_chunk_find(const char *name) {
    for (size_t i = 0; i < mpl_chunk_count; i++)
        if (strcmp(mpl_chunks[i].name, name) == 0) return &mpl_chunks[i];
    return NULL;
}

void mpl_chunk_run(lua_State *L, const mpl_chunk *chunk) {
    /* A chunk says itself what its source was called. */
    if (luaL_loadbufferx(L, (const char *)chunk->bytes, chunk->length, chunk->name, "b") != LUA_OK)
        lua_error(L);
    lua_pushstring(L, chunk->name);
    lua_call(L, 1, 1);
}

bool mpl_is_verb(const char *word) {
    char name[64];
    int length = snprintf(name, sizeof name, "moonplan.verbs.%s", word);
    return length > 0 && (size_t)length < sizeof name && strchr(word, '.') == NULL &&
           mpl_chunk_find(name) != NULL;
}

/* require(name), of what the program carries. */
static int require(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, name) != LUA_TNIL) return 1;
    if (strcmp(name, "moonplan") == 0) {
        luaL_requiref(L, name, luaopen_moonplan, 0);
        return 1;
    }
    const mpl_chunk *chunk = mpl_chunk_find(name);
    if (chunk == NULL) return luaL_error(L, "there is no module %s in this program", name);
    mpl_chunk_run(L, chunk);
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, name);
    return 1;
}

typedef struct order {
    mpl_console console;
    char *verb; /* NULL: the one argument is a word that was meant to be a verb */
    int count;
    char **arguments;
} order;

static int obey(lua_State *L) {
    static const luaL_Reg libraries[] = {
        {LUA_GNAME, luaopen_base},       {LUA_STRLIBNAME, luaopen_string},
        {LUA_TABLIBNAME, luaopen_table}, {LUA_MATHLIBNAME, luaopen_math},
        {LUA_UTF8LIBNAME, luaopen_utf8}, {NULL, NULL},
    };
    order *given = lua_touserdata(L, 1);
    for (const luaL_Reg *library = libraries; library->name != NULL; library++) {
        luaL_requiref(L, library->name, library->func, 1);
        lua_pop(L, 1);
    }
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushlightuserdata(L, &given->console);
    lua_pushcclosure(L, mpl_console_open, 1);
    lua_call(L, 0, 1);
    lua_setfield(L, -2, "moonplan.console");
    lua_pushcfunction(L, require);
    lua_setglobal(L, "require");
    lua_pushcfunction(L, require);
    lua_pushliteral(L, "moonplan.command");
    lua_call(L, 1, 1);
    luaL_checkstack(L, given->count + 1, "too many arguments");
    lua_pushstring(L, given->verb);
    for (int i = 0; i < given->count; i++) lua_pushstring(L, given->arguments[i]);
    lua_call(L, given->count + 1, 1);
    return 1;
}

static int carry_out(char *verb, int count, char **arguments) {
    order given = {.verb = verb, .count = count, .arguments = arguments};
    /* A reader that goes away shows as EPIPE, which leads to an exit code, not to a signal. */
    signal(SIGPIPE, SIG_IGN);
    lua_State *L = luaL_newstate();
    if (L == NULL) {
        mpl_complain("not enough memory");
        return MPL_EXIT_FAILED;
    }
    lua_pushcfunction(L, mpl_traceback);
    lua_pushcfunction(L, obey);
    lua_pushlightuserdata(L, &given);
    int code = MPL_EXIT_FAILED;
    if (lua_pcall(L, 1, 1, 1) == LUA_OK)
        code = (int)lua_tointeger(L, -1);
    else
        mpl_report(L);
    if (!mpl_console_flush(&given.console)) code = mpl_output_failed(errno);
    lua_close(L);
    return code;
}

int mpl_verb(int argc, char **argv) {
    return carry_out(argv[0], argc - 1, argv + 1);
}

int mpl_unknown_word(char *word) {
    return carry_out(NULL, 1, &word);
}
