/* string.format, pack, packsize and unpack: Lua's own functions, which are linear in what they are
 * given, behind functions that see to it that this is not too much at once. */
#include <string.h>

#include "bounded.h"

/* Options of one format of pack and its like, in bytes: a hundred thousand take milliseconds. */
#define MOST_OPTIONS 100000

/* In front of the stock string.format (the upvalue): %s would show an address, and so would %p.
 * The stock function is called as this one, so that it complains about the plugin's arguments. */
static int plain_format(lua_State *L) {
    size_t length;
    const char *format = luaL_checklstring(L, 1, &length), *end = format + length;
    int top = lua_gettop(L), arg = 1;
    mpl_work work = mpl_work_begin(L);
    mpl_work_do(&work, length);
    for (const char *at = format; at < end; at++) {
        if (*at != '%') continue;
        if (++at < end && *at == '%') continue;
        while (at < end && strchr("-+ #0123456789.", *at) && *at) at++;
        arg++;
        if (at == end) break;
        if (*at == 'p')
            luaL_error(L, "invalid conversion '%%p' to 'format'; no text shows an address");
        mpl_work_do(&work, 200); /* a number, at its longest 400 digits */
        if (arg > top || (*at != 's' && *at != 'q')) continue;
        if (*at == 's' && lua_type(L, arg) != LUA_TSTRING) {
            lua_pushcfunction(L, mpl_plain_tostring);
            lua_pushvalue(L, arg);
            mpl_work_call(&work, 1, 1);
            lua_replace(L, arg);
        }
        /* Of a quoted text every byte is looked at. */
        if (lua_type(L, arg) == LUA_TSTRING)
            mpl_work_do(&work, *at == 'q' ? lua_rawlen(L, arg) * 4 : lua_rawlen(L, arg) / 8);
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* In front of stock functions (the upvalue) whose first argument says what to do. */
static int brief(lua_State *L) {
    size_t length;
    luaL_checklstring(L, 1, &length);
    mpl_work work = mpl_work_begin(L);
    if (length > MOST_OPTIONS)
        luaL_error(L, "the format has %I bytes, and %d is the most", (LUAI_UACINT)length,
                   MOST_OPTIONS);
    mpl_work_do(&work, length * 8);
    int results = lua_tocfunction(L, lua_upvalueindex(1))(L);
    for (int i = 1; i <= results; i++)
        if (lua_type(L, -i) == LUA_TSTRING) mpl_work_do(&work, lua_rawlen(L, -i) / 16);
    return results;
}

void mpl_set_format(lua_State *L) {
    static const char *const names[] = {"pack", "packsize", "unpack", NULL};
    int library = lua_gettop(L) - 1;
    lua_getfield(L, -1, "format");
    lua_pushcclosure(L, plain_format, 1);
    lua_setfield(L, library, "format");
    for (size_t i = 0; names[i]; i++) {
        lua_getfield(L, -1, names[i]);
        lua_pushcclosure(L, brief, 1);
        lua_setfield(L, library, names[i]);
    }
}
