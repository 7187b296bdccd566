/* A plugin's utf8 library. */
#include <limits.h>

#include "bounded.h"

#define UNICODE_LAST 0x10ffff
#define CODE_LAST    0x7fffffff /* six bytes, as UTF-8 was before RFC 3629 */
static const char invalid[] = "invalid UTF-8 code";

static bool continues(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The end of the sequence that begins at `at`, or NULL; a zero byte follows the text. Strict: no
 * surrogate, nothing above 10FFFF. */
static const char *decode(const char *at, uint32_t *code, bool strict) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000, 0x200000, 0x4000000};
    unsigned char first = (unsigned char)*at++;
    uint32_t value = first;
    if (first >= 0x80) {
        int more = 0; /* continuation bytes that the first one announces */
        while (first & (0x40u >> more)) more++;
        if (more < 1 || more > 5) return NULL;
        value = first & (0x3fu >> more);
        for (int i = 0; i < more; i++, at++) {
            if (!continues(*at)) return NULL;
            value = value << 6 | ((unsigned char)*at & 0x3f);
        }
        if (value < least[more]) return NULL;
    }
    if (strict && (value > UNICODE_LAST || (value >= 0xd800 && value <= 0xdfff))) return NULL;
    *code = value;
    return at;
}

/* Bytes from a position on, from 1; 0 is in front of all. */
static lua_Integer position_of(lua_Integer position, size_t length) {
    if (position >= 0) return position;
    return (size_t) - (position + 1) >= length ? 0 : (lua_Integer)length + position + 1;
}

/* utf8.len(s [, i [, j [, lax]]]) */
static int count(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer first = position_of(luaL_optinteger(L, 2, 1), length);
    lua_Integer last = position_of(luaL_optinteger(L, 3, -1), length);
    bool strict = !lua_toboolean(L, 4);
    luaL_argcheck(L, first >= 1 && first - 1 <= (lua_Integer)length, 2,
                  "initial position out of bounds");
    luaL_argcheck(L, last <= (lua_Integer)length, 3, "final position out of bounds");
    mpl_work work = mpl_work_begin(L);
    const char *at = text + first - 1, *end = text + last;
    lua_Integer n = 0;
    for (; at < end; n++) {
        uint32_t code;
        const char *next = decode(at, &code, strict);
        mpl_work_do(&work, 2);
        if (!next) {
            lua_pushnil(L);
            lua_pushinteger(L, at - text + 1);
            return 2;
        }
        at = next;
    }
    lua_pushinteger(L, n);
    return 1;
}

/* utf8.codepoint(s [, i [, j [, lax]]]) */
static int codepoint(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer first = position_of(luaL_optinteger(L, 2, 1), length);
    lua_Integer last = position_of(luaL_optinteger(L, 3, first), length);
    bool strict = !lua_toboolean(L, 4);
    luaL_argcheck(L, first >= 1, 2, "out of bounds");
    luaL_argcheck(L, last <= (lua_Integer)length, 3, "out of bounds");
    if (first > last) return 0;
    if (last - first >= INT_MAX) return luaL_error(L, "string slice too long");
    luaL_checkstack(L, (int)(last - first) + 1, "string slice too long");
    mpl_work work = mpl_work_begin(L);
    int n = 0;
    const char *end = text + last;
    for (const char *at = text + first - 1; at < end; n++) {
        uint32_t code;
        mpl_work_do(&work, 4);
        at = decode(at, &code, strict);
        if (!at) return luaL_error(L, invalid);
        lua_pushinteger(L, (lua_Integer)code);
    }
    return n;
}

/* Up to six bytes; how many. */
static size_t encode(uint32_t code, char out[6]) {
    char turned[6];
    size_t count = 0;
    uint32_t first = 0x3f; /* what fits into the first byte */
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    while (code > first) {
        turned[count++] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
        first >>= 1;
    }
    turned[count++] = (char)((~first << 1 | code) & 0xff);
    for (size_t i = 0; i < count; i++) out[i] = turned[count - 1 - i];
    return count;
}

static int from_codes(lua_State *L) {
    int most = lua_gettop(L);
    mpl_work work = mpl_work_begin(L);
    luaL_Buffer out;
    luaL_buffinit(L, &out);
    for (int i = 1; i <= most; i++) {
        char bytes[6];
        lua_Unsigned code = (lua_Unsigned)luaL_checkinteger(L, i);
        luaL_argcheck(L, code <= CODE_LAST, i, "value out of range");
        mpl_work_do(&work, 8);
        luaL_addlstring(&out, bytes, encode((uint32_t)code, bytes));
    }
    luaL_pushresult(&out);
    return 1;
}

/* utf8.offset(s, n [, i]) */
static int offset(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer n = luaL_checkinteger(L, 2), size = (lua_Integer)length;
    lua_Integer at = position_of(luaL_optinteger(L, 3, n >= 0 ? 1 : size + 1), length) - 1;
    luaL_argcheck(L, at >= 0 && at <= size, 3, "position out of bounds");
    mpl_work work = mpl_work_begin(L);
    if (n == 0) {
        for (; at > 0 && continues(text[at]); at--) mpl_work_do(&work, 1);
        lua_pushinteger(L, at + 1);
        return 1;
    }
    if (continues(text[at])) return luaL_error(L, "initial position is a continuation byte");
    for (; n < 0 && at > 0; n++) do {
            at--;
            mpl_work_do(&work, 1);
        } while (at > 0 && continues(text[at]));
    for (; n > 1 && at < size; n--) do {
            at++;
            mpl_work_do(&work, 1);
        } while (continues(text[at]));
    if (n == 0 || n == 1)
        lua_pushinteger(L, at + 1);
    else
        lua_pushnil(L);
    return 1;
}

static int next_code(lua_State *L, bool strict) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Unsigned at = (lua_Unsigned)lua_tointeger(L, 2);
    mpl_work work = mpl_work_begin(L);
    for (; at < length && continues(text[at]); at++) /* to behind the last one */
        mpl_work_do(&work, 1);
    if (at >= length) return 0;
    uint32_t code;
    if (!decode(text + at, &code, strict)) return luaL_error(L, invalid);
    lua_pushinteger(L, (lua_Integer)at + 1);
    lua_pushinteger(L, (lua_Integer)code);
    return 2;
}

static int next_strict(lua_State *L) {
    return next_code(L, true);
}
static int next_lax(lua_State *L) {
    return next_code(L, false);
}

static int codes(lua_State *L) {
    bool lax = lua_toboolean(L, 2);
    luaL_checkstring(L, 1);
    lua_pushcfunction(L, lax ? next_lax : next_strict);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

void mpl_push_utf8(lua_State *L) {
    static const luaL_Reg functions[] = {{"char", from_codes}, {"codepoint", codepoint},
                                         {"codes", codes},     {"len", count},
                                         {"offset", offset},   {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushlstring(L, "[\0-\x7F\xC2-\xFD][\x80-\xBF]*", 14);
    lua_setfield(L, -2, "charpattern");
}
