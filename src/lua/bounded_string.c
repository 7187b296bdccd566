/* The rest of a plugin's string library. */
#include <limits.h>
#include <lualib.h>
#include <string.h>

#include "bounded.h"

static int length_of(lua_State *L) {
    size_t length;
    luaL_checklstring(L, 1, &length);
    lua_pushinteger(L, (lua_Integer)length);
    return 1;
}

static int sub(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    size_t start = mpl_start_position(luaL_checkinteger(L, 2), length);
    size_t end = mpl_end_position(luaL_optinteger(L, 3, -1), length);
    mpl_work work = mpl_work_begin(L);
    if (start < end) {
        mpl_work_do(&work, (end - start) / 16);
        lua_pushlstring(L, text + start, end - start);
    } else {
        lua_pushliteral(L, "");
    }
    return 1;
}

static int byte(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer first = luaL_optinteger(L, 2, 1);
    size_t start = mpl_start_position(first, length);
    size_t end = mpl_end_position(luaL_optinteger(L, 3, first), length);
    if (start >= end) return 0;
    if (end - start >= INT_MAX) return luaL_error(L, "string slice too long");
    int count = (int)(end - start);
    luaL_checkstack(L, count, "string slice too long");
    mpl_work work = mpl_work_begin(L);
    mpl_work_do(&work, (uint64_t)count * 4);
    for (int i = 0; i < count; i++) lua_pushinteger(L, (unsigned char)text[start + (size_t)i]);
    return count;
}

static int from_bytes(lua_State *L) {
    int count = lua_gettop(L);
    luaL_Buffer out;
    mpl_work work = mpl_work_begin(L);
    mpl_work_do(&work, (uint64_t)count * 4);
    char *to = luaL_buffinitsize(L, &out, (size_t)count);
    for (int i = 1; i <= count; i++) {
        lua_Unsigned value = (lua_Unsigned)luaL_checkinteger(L, i);
        luaL_argcheck(L, value <= UCHAR_MAX, i, "value out of range");
        to[i - 1] = (char)value;
    }
    luaL_pushresultsize(&out, (size_t)count);
    return 1;
}

static int rep(lua_State *L) {
    size_t length, gap;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer times = luaL_checkinteger(L, 2);
    const char *separator = luaL_optlstring(L, 3, "", &gap);
    mpl_work work = mpl_work_begin(L);
    if (times <= 0 || length + gap == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    size_t room = work.box->most / 2; /* it is put together first, and then copied */
    if (length > room || gap > room || (size_t)times > room / (length + gap) + 1)
        return luaL_error(L, "resulting string too large");
    size_t total = (size_t)times * length + ((size_t)times - 1) * gap;
    if (total > room) return luaL_error(L, "resulting string too large");
    luaL_Buffer out;
    char *to = luaL_buffinitsize(L, &out, total);
    while (times-- > 0) {
        mpl_work_do(&work, (length + gap) / 16 + 1);
        memcpy(to, text, length);
        to += length;
        if (times == 0) break;
        memcpy(to, separator, gap);
        to += gap;
    }
    luaL_pushresultsize(&out, total);
    return 1;
}

/* Fill the result, as long as the text, byte by byte. */
typedef void (*change)(char *to, const char *from, size_t count);

static int changed(lua_State *L, change call, bool backwards) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    mpl_work work = mpl_work_begin(L);
    luaL_Buffer out;
    char *to = luaL_buffinitsize(L, &out, length);
    for (size_t done = 0; done < length;) {
        size_t count = length - done < MPL_SLICE_STEPS ? length - done : MPL_SLICE_STEPS;
        mpl_work_do(&work, count);
        done += count;
        call(to, backwards ? text + length - done : text + done - count, count);
        to += count;
    }
    luaL_pushresultsize(&out, length);
    return 1;
}

static void lower_bytes(char *to, const char *from, size_t count) {
    for (size_t i = 0; i < count; i++)
        to[i] = (char)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] + ('a' - 'A') : from[i]);
}

static void upper_bytes(char *to, const char *from, size_t count) {
    for (size_t i = 0; i < count; i++)
        to[i] = (char)(from[i] >= 'a' && from[i] <= 'z' ? from[i] - ('a' - 'A') : from[i]);
}

static void turn_bytes(char *to, const char *from, size_t count) {
    for (size_t i = 0; i < count; i++) to[i] = from[count - 1 - i];
}

static int lower(lua_State *L) {
    return changed(L, lower_bytes, false);
}
static int upper(lua_State *L) {
    return changed(L, upper_bytes, false);
}
static int reverse(lua_State *L) {
    return changed(L, turn_bytes, true);
}

void mpl_push_string(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"byte", byte},   {"char", from_bytes}, {"len", length_of},
        {"lower", lower}, {"rep", rep},         {"reverse", reverse},
        {"sub", sub},     {"upper", upper},     {NULL, NULL}};
    luaL_newlib(L, functions);
    luaL_setfuncs(L, mpl_pattern_functions, 0);
    /* Lua's own, for what is done as it does it, and for the arithmetic of strings, whose
     * metatable it makes. */
    lua_pushcfunction(L, luaopen_string);
    lua_call(L, 0, 1);
    mpl_set_format(L);
    /* The methods of strings are ours as well; their metatable is out of reach. */
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, -4);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 3);
}
