/* A plugin's coroutines. All of them are run by these functions, so the deadline is set in one when
 * it is run: also in one that was made in an earlier call. */
#include "bounded.h"

static lua_State *check_coroutine(lua_State *L) {
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "thread");
    return co;
}

static const char *status_of(lua_State *L, lua_State *co) {
    lua_Debug at;
    if (L == co) return "running";
    switch (lua_status(co)) {
    case LUA_YIELD:
        return "suspended";
    case LUA_OK:
        if (lua_getstack(co, 0, &at)) return "normal"; /* it has resumed another */
        return lua_gettop(co) == 0 ? "dead" : "suspended";
    default:
        return "dead";
    }
}

/* Move what is on top of L over, run, and fetch what comes; the number of results, or -1 and an
 * error. */
static int run(lua_State *L, lua_State *co, int arguments) {
    int results;
    mpl_sandbox *box = mpl_sandbox_of(L);
    mpl_sandbox_check(L);
    mpl_sandbox_check_depth(L);
    if (!lua_checkstack(co, arguments)) {
        mpl_sandbox_check(L);
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, arguments);
    mpl_sandbox_arm(box, co);
    int status = lua_resume(co, L, arguments, &results);
    mpl_sandbox_check(L);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        return -1;
    }
    if (!lua_checkstack(L, results + 1)) {
        mpl_sandbox_check(L);
        lua_pop(co, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, results);
    return results;
}

static int resume(lua_State *L) {
    lua_State *co = check_coroutine(L);
    int results = run(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, results >= 0);
    if (results < 0) results = 1;
    lua_insert(L, -(results + 1));
    return results + 1;
}

static int create(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    return 1;
}

/* The variables that wait to be closed. Lua 5.4.4 counts the calls in there from where the
 * coroutine stood, so that a chain of coroutines that close each other overflows the C stack unless
 * somebody looks. */
static int let_close(lua_State *L, lua_State *co) {
    mpl_sandbox_check_depth(L);
    mpl_sandbox_arm(mpl_sandbox_of(L), co);
    int status = lua_resetthread(co);
    mpl_sandbox_check(L);
    return status;
}

/* Upvalue: the coroutine. */
static int run_wrapped(lua_State *L) {
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    int results = run(L, co, lua_gettop(L));
    if (results >= 0) return results;
    int status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD) { /* it was the coroutine's own error */
        status = let_close(L, co);
        lua_xmove(co, L, 1);
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int wrap(lua_State *L) {
    create(L);
    lua_pushcclosure(L, run_wrapped, 1);
    return 1;
}

static int yield(lua_State *L) {
    return lua_yield(L, lua_gettop(L));
}

static int status(lua_State *L) {
    lua_pushstring(L, status_of(L, check_coroutine(L)));
    return 1;
}

static int close_coroutine(lua_State *L) {
    lua_State *co = check_coroutine(L);
    const char *now = status_of(L, co);
    if (*now == 'r' || *now == 'n') return luaL_error(L, "cannot close a %s coroutine", now);
    if (let_close(L, co) == LUA_OK) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushboolean(L, 0);
    lua_xmove(co, L, 1);
    return 2;
}

static int is_yieldable(lua_State *L) {
    lua_State *co = lua_isnone(L, 1) ? L : check_coroutine(L);
    lua_pushboolean(L, lua_isyieldable(co));
    return 1;
}

static int running(lua_State *L) {
    lua_pushboolean(L, lua_pushthread(L));
    return 2;
}

void mpl_push_coroutine(lua_State *L) {
    static const luaL_Reg functions[] = {{"close", close_coroutine},
                                         {"create", create},
                                         {"isyieldable", is_yieldable},
                                         {"resume", resume},
                                         {"running", running},
                                         {"status", status},
                                         {"wrap", wrap},
                                         {"yield", yield},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
}
