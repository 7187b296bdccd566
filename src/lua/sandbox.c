/* _POSIX_C_SOURCE comes from the build, for the clock. */
#include "sandbox.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>
#include <time.h>

#include "bind.h"
#include "convert.h"
#include "module.h"

/* -- Memory ----------------------------------------------------------------*/

static void *allocate(void *data, void *block, size_t old_size, size_t new_size) {
    mpl_sandbox *box = data;
    if (!block) old_size = 0; /* Lua says there what it is going to make */
    if (new_size > old_size && new_size - old_size > box->most - box->used) {
        box->over_limit = true;
        return NULL;
    }
    void *moved = box->alloc(box->alloc_data, block, old_size, new_size);
    if (moved || new_size == 0) box->used += new_size - old_size;
    return moved;
}

/* -- Time ------------------------------------------------------------------*/

/* A count hook doubles the cost of every instruction, whatever its count; this one only decides
 * how late a deadline is noticed: 10,000 instructions are about 50 microseconds. */
#define HOOK_INTERVAL 10000

/* Processor time, so that a busy machine does not count against a plugin. What runs here never
 * waits, so that both times are the same on an idle one. */
static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

mpl_sandbox *mpl_sandbox_of(lua_State *L) {
    void *box;
    lua_getallocf(L, &box);
    return box;
}

/* After the deadline every instruction raises again, so that a pcall around the loop is left as
 * well. Hole: a coroutine between the main one and the one that noticed goes on for one interval,
 * and a single call of a C function is never interrupted. */
static void look_at_clock(lua_State *L, lua_Debug *at) {
    (void)at;
    mpl_sandbox *box = mpl_sandbox_of(L);
    if (box->deadline == 0) {
        /* A coroutine that was made in a call with a limit, and goes on in one without. */
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    if (!box->late && now() < box->deadline) {
        if (lua_gethookcount(L) == 1) lua_sethook(L, look_at_clock, LUA_MASKCOUNT, HOOK_INTERVAL);
        return;
    }
    box->late = true;
    lua_sethook(L, look_at_clock, LUA_MASKCOUNT, 1);
    lua_sethook(box->state, look_at_clock, LUA_MASKCOUNT, 1);
    luaL_error(L, "out of time");
}

/* -- What the plugin sees --------------------------------------------------*/

/* As the stock tostring, but for the address that it shows of tables, functions and the like. */
static int plain_tostring(lua_State *L) {
    luaL_checkany(L, 1);
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

/* In front of the stock string.format (the upvalue): %s would show an address, and so would %p.
 * The stock function is called as this one, so that it complains about the plugin's arguments. */
static int plain_format(lua_State *L) {
    size_t length;
    const char *format = luaL_checklstring(L, 1, &length), *end = format + length;
    int top = lua_gettop(L), arg = 1;
    for (const char *at = format; at < end; at++) {
        if (*at != '%') continue;
        if (++at < end && *at == '%') continue;
        while (at < end && strchr("-+ #0123456789.", *at) && *at) at++;
        arg++;
        if (at == end) break;
        if (*at == 'p')
            luaL_error(L, "invalid conversion '%%p' to 'format'; no text shows an address");
        if (*at != 's' || arg > top || lua_type(L, arg) == LUA_TSTRING) continue;
        lua_pushcfunction(L, plain_tostring);
        lua_pushvalue(L, arg);
        lua_call(L, 1, 1);
        lua_replace(L, arg);
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

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
    if (luaL_loadbufferx(L, text, length, name, "t") != LUA_OK) {
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

static int count_garbage(lua_State *L) {
    static const char *const options[] = {"count", NULL};
    luaL_checkoption(L, 1, "count", options);
    lua_pushnumber(L,
                   (lua_Number)lua_gc(L, LUA_GCCOUNT) + (lua_Number)lua_gc(L, LUA_GCCOUNTB) / 1024);
    return 1;
}

/* What is taken over as it is. The lists are of names rather than of libraries, because a packager
 * may have built more into those. */
static const char *const of_base[] = {
    "assert", "error",  "getmetatable", "ipairs", "next",     "pairs", "pcall",  "rawequal",
    "rawget", "rawlen", "rawset",       "select", "tonumber", "type",  "xpcall", NULL};
static const char *const of_string[] = {"byte",  "char",   "find",  "gmatch",   "gsub", "len",
                                        "lower", "match",  "pack",  "packsize", "rep",  "reverse",
                                        "sub",   "unpack", "upper", NULL};
static const char *const of_table[] = {"concat", "insert", "move",   "pack",
                                       "remove", "sort",   "unpack", NULL};
static const char *const of_math[] = {
    "abs",        "acos",       "asin", "atan",      "ceil", "cos",    "deg",
    "exp",        "floor",      "fmod", "huge",      "log",  "max",    "min",
    "maxinteger", "mininteger", "modf", "pi",        "rad",  "random", "randomseed",
    "sin",        "sqrt",       "tan",  "tointeger", "type", "ult",    NULL};
static const char *const of_utf8[] = {"char", "charpattern", "codepoint", "codes",
                                      "len",  "offset",      NULL};
static const char *const of_coroutine[] = {"close",  "create", "isyieldable", "resume", "running",
                                           "status", "wrap",   "yield",       NULL};

/* Open a library and leave it on top of the stack; what is listed of it goes into the table at
 * `into`. */
static void take(lua_State *L, lua_CFunction open, const char *const *names, int into) {
    lua_pushcfunction(L, open);
    lua_call(L, 0, 1);
    for (size_t i = 0; names[i]; i++) {
        lua_getfield(L, -1, names[i]);
        lua_setfield(L, into, names[i]);
    }
}

static void take_base(lua_State *L, int environment) {
    static const luaL_Reg own[] = {{"collectgarbage", count_garbage},
                                   {"load", text_load},
                                   {"tostring", plain_tostring},
                                   {NULL, NULL}};
    take(L, luaopen_base, of_base, environment);
    lua_getfield(L, -1, "setmetatable");
    lua_pushcclosure(L, tame_setmetatable, 1);
    lua_setfield(L, environment, "setmetatable");
    lua_pushvalue(L, environment);
    luaL_setfuncs(L, own, 0);
    lua_pop(L, 2);
}

static void take_string(lua_State *L, int environment) {
    lua_newtable(L);
    int library = lua_gettop(L);
    take(L, luaopen_string, of_string, library);
    lua_getfield(L, -1, "format");
    lua_pushcclosure(L, plain_format, 1);
    lua_setfield(L, library, "format");
    /* The methods of strings are these as well; their metatable is out of reach. */
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, library);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_settop(L, library);
    lua_setfield(L, environment, "string");
}

static void take_library(lua_State *L, int environment, const char *name, lua_CFunction open,
                         const char *const *names) {
    lua_newtable(L);
    int library = lua_gettop(L);
    take(L, open, names, library);
    lua_settop(L, library);
    lua_setfield(L, environment, name);
}

#define FIRST_SEED 1

/* In front of the stock math.randomseed (the upvalue): that one draws a seed from the state's
 * address where it is given none, and returns the seed. */
static int plain_randomseed(lua_State *L) {
    lua_Integer first = lua_isnone(L, 1) ? FIRST_SEED : luaL_checkinteger(L, 1);
    lua_Integer second = luaL_optinteger(L, 2, 0);
    lua_pushvalue(L, lua_upvalueindex(1)); /* it has an upvalue of its own */
    lua_pushinteger(L, first);
    lua_pushinteger(L, second);
    lua_call(L, 2, 0);
    return 0;
}

/* Equal input is to give equal output, so the generator starts the same in every state. The order
 * of pairs is beyond that: it depends on a seed that Lua draws for itself. */
static void seed(lua_State *L, int environment) {
    lua_getfield(L, environment, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushvalue(L, -1);
    lua_pushinteger(L, FIRST_SEED);
    lua_call(L, 1, 0);
    lua_pushcclosure(L, plain_randomseed, 1);
    lua_setfield(L, -2, "randomseed");
    lua_pop(L, 1);
}

static int furnish(lua_State *L) {
    lua_newtable(L);
    int environment = lua_gettop(L);
    take_base(L, environment);
    take_string(L, environment);
    take_library(L, environment, "table", luaopen_table, of_table);
    take_library(L, environment, "math", luaopen_math, of_math);
    take_library(L, environment, "utf8", luaopen_utf8, of_utf8);
    take_library(L, environment, "coroutine", luaopen_coroutine, of_coroutine);
    seed(L, environment);
    mpl_lua_push_json(L);
    lua_setfield(L, environment, "json");
    mpl_lua_push_pure(L);
    lua_setfield(L, environment, "moonplan");
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    return 0;
}

void mpl_sandbox_offer(lua_State *L, const char *name) {
    lua_pushglobaltable(L);
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* -- Opening and running ---------------------------------------------------*/

bool mpl_sandbox_open(mpl_sandbox *box, const moonplan_options *options, size_t most) {
    mpl_alloc outer = mpl_alloc_of(options);
    *box = (mpl_sandbox){.alloc = outer.call, .alloc_data = outer.data, .most = most};
    box->state = lua_newstate(allocate, box);
    if (!box->state) return false;
    mpl_outcome outcome = mpl_sandbox_run(box, furnish, NULL, 0);
    lua_settop(box->state, 0);
    return outcome == MPL_RAN;
}

void mpl_sandbox_close(mpl_sandbox *box) {
    if (box->state) lua_close(box->state);
    box->state = NULL;
}

mpl_outcome mpl_sandbox_run(mpl_sandbox *box, lua_CFunction function, void *data,
                            uint64_t milliseconds) {
    lua_State *L = box->state;
    box->over_limit = box->late = false;
    if (!lua_checkstack(L, 2)) return MPL_NO_MEMORY;
    int top = lua_gettop(L);
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, data);
    if (milliseconds) {
        box->deadline = now() + milliseconds * 1000000;
        lua_sethook(L, look_at_clock, LUA_MASKCOUNT, HOOK_INTERVAL);
    }
    int status = lua_pcall(L, 1, 0, 0);
    if (milliseconds) {
        lua_sethook(L, NULL, 0, 0);
        box->deadline = 0;
    }
    if (status == LUA_OK) return MPL_RAN;
    if (!box->late && status != LUA_ERRMEM) return MPL_RAISED;
    lua_settop(L, top);
    return box->late ? MPL_LATE : MPL_NO_MEMORY;
}

/* -- Errors ----------------------------------------------------------------*/

/* Globals of a stock Lua that plugins look for, and what there is instead. */
static const struct {
    const char *name, *instead;
} absent[] = {
    {"print", "ctx.log.info writes to the job's log"},
    {"warn", "ctx.log.warn writes to the job's log"},
    {"io", "files come as ctx.fs, where a grant allows it"},
    {"os", "the time comes as ctx.clock, where a grant allows it"},
    {"require", "plugin.import loads a file of the plugin's own folder"},
    {"dofile", "plugin.import loads a file of the plugin's own folder"},
    {"loadfile", "plugin.import loads a file of the plugin's own folder"},
};

/* Lua's own words about a global that is not there get a hint. */
static void add_hint(mpl_buffer *text) {
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        char end[40] = " a nil value (global '";
        strcat(strcat(end, absent[i].name), "')");
        size_t length = strlen(end);
        if (text->length < length || memcmp(text->bytes + text->length - length, end, length) != 0)
            continue;
        mpl_buffer_add(text, "; plugins have none: ", 21);
        mpl_buffer_add(text, absent[i].instead, strlen(absent[i].instead));
        return;
    }
}

bool mpl_sandbox_error(mpl_sandbox *box, mpl_buffer *text, mpl_buffer *code) {
    bool found = mpl_lua_pop_error(box->state, text, code);
    if (found) add_hint(text);
    return found;
}

/* -- Chunks ----------------------------------------------------------------*/

void mpl_sandbox_load(lua_State *L, const char *text, size_t length, const char *name) {
    static const char mark[] = "\xef\xbb\xbf";
    if (length >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (length > 0 && text[0] == '#') {
        const char *end = memchr(text, '\n', length);
        length = end ? length - (size_t)(end - text) : 0; /* the line's end counts as a line */
        text = end ? end : "";
    }
    if (luaL_loadbufferx(L, text, length, name, "t") != LUA_OK) lua_error(L);
}
