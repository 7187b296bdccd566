/* A plugin's table library. Tables are read and written through their metamethods, as in Lua's. */
#include <limits.h>

#include "bounded.h"

enum { READS = 1, WRITES = 2, COUNTS = 4 };

/* An argument that can be used as a table: it is one, or has the metamethods. */
static void check_table(lua_State *L, int arg, int uses) {
    static const struct {
        int use;
        const char *name;
    } needed[] = {{READS, "__index"}, {WRITES, "__newindex"}, {COUNTS, "__len"}};
    if (lua_type(L, arg) == LUA_TTABLE) return;
    bool fine = lua_getmetatable(L, arg);
    if (fine) {
        for (size_t i = 0; i < 3; i++) {
            if (!(uses & needed[i].use)) continue;
            lua_pushstring(L, needed[i].name);
            if (lua_rawget(L, -2) == LUA_TNIL) fine = false;
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    if (!fine) luaL_checktype(L, arg, LUA_TTABLE);
}

/* The call, and the steps that reading or writing an element takes. */
typedef struct list {
    mpl_work work;
    uint64_t steps;
} list;

static uint64_t steps_of(lua_State *L, int arg) {
    if (!lua_getmetatable(L, arg)) return 4;
    lua_pop(L, 1);
    return MPL_STEPS_OF_CALL;
}

static list open_list(lua_State *L, int arg, int uses) {
    check_table(L, arg, uses);
    mpl_sandbox_check_depth(L);
    list l = {mpl_work_begin(L), steps_of(L, arg)};
    return l;
}

static lua_Integer count_of(list *l, int arg) {
    uint64_t left = mpl_work_leave(&l->work, l->steps);
    lua_Integer count = luaL_len(l->work.L, arg);
    mpl_work_back(&l->work, left);
    return count;
}

static void get(list *l, int arg, lua_Integer key) {
    uint64_t left = mpl_work_leave(&l->work, l->steps);
    lua_geti(l->work.L, arg, key);
    mpl_work_back(&l->work, left);
}

static void set(list *l, int arg, lua_Integer key) {
    uint64_t left = mpl_work_leave(&l->work, l->steps);
    lua_seti(l->work.L, arg, key);
    mpl_work_back(&l->work, left);
}

/* -- insert, remove, move --------------------------------------------------*/

static int insert(lua_State *L) {
    list l = open_list(L, 1, READS | WRITES | COUNTS);
    /* Unsigned, for the length may be anything. */
    lua_Unsigned behind = (lua_Unsigned)count_of(&l, 1) + 1;
    lua_Integer at = (lua_Integer)behind;
    switch (lua_gettop(L)) {
    case 2:
        break;
    case 3:
        at = luaL_checkinteger(L, 2);
        luaL_argcheck(L, (lua_Unsigned)at - 1 < behind, 2, "position out of bounds");
        for (lua_Integer i = (lua_Integer)behind; i > at; i--) {
            get(&l, 1, i - 1);
            set(&l, 1, i);
        }
        break;
    default:
        return luaL_error(L, "wrong number of arguments to 'insert'");
    }
    set(&l, 1, at);
    return 0;
}

static int remove_at(lua_State *L) {
    list l = open_list(L, 1, READS | WRITES | COUNTS);
    lua_Integer count = count_of(&l, 1), at = luaL_optinteger(L, 2, count);
    if (at != count)
        luaL_argcheck(L, (lua_Unsigned)at - 1 <= (lua_Unsigned)count, 1, "position out of bounds");
    get(&l, 1, at);
    for (; at < count; at++) {
        get(&l, 1, at + 1);
        set(&l, 1, at);
    }
    lua_pushnil(L);
    set(&l, 1, at);
    return 1;
}

static int move(lua_State *L) {
    lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3),
                to = luaL_checkinteger(L, 4);
    int other = lua_isnoneornil(L, 5) ? 1 : 5;
    list l = open_list(L, 1, READS);
    check_table(L, other, WRITES);
    uint64_t other_steps = steps_of(L, other);
    if (other_steps > l.steps) l.steps = other_steps;
    if (last >= first) {
        luaL_argcheck(L, first > 0 || last < LUA_MAXINTEGER + first, 3,
                      "too many elements to move");
        lua_Integer count = last - first + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
        /* Where the ranges overlap so that the front would be overwritten, from the end. */
        bool forwards =
            to > last || to <= first || (other != 1 && !lua_compare(L, 1, other, LUA_OPEQ));
        for (lua_Integer n = 0; n < count; n++) {
            lua_Integer i = forwards ? n : count - 1 - n;
            get(&l, 1, first + i);
            set(&l, other, to + i);
        }
    }
    lua_pushvalue(L, other);
    return 1;
}

/* -- concat, pack, unpack --------------------------------------------------*/

static void add_element(list *l, luaL_Buffer *out, lua_Integer at) {
    lua_State *L = l->work.L;
    get(l, 1, at);
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1),
                   (LUAI_UACINT)at);
    mpl_work_do(&l->work, lua_type(L, -1) == LUA_TSTRING ? lua_rawlen(L, -1) / 16 : 100);
    luaL_addvalue(out);
}

static int concat(lua_State *L) {
    list l = open_list(L, 1, READS | COUNTS);
    lua_Integer last = count_of(&l, 1);
    size_t gap;
    const char *separator = luaL_optlstring(L, 2, "", &gap);
    lua_Integer at = luaL_optinteger(L, 3, 1);
    last = luaL_optinteger(L, 4, last);
    luaL_Buffer out;
    luaL_buffinit(L, &out);
    for (; at < last; at++) {
        add_element(&l, &out, at);
        mpl_work_do(&l.work, gap / 16);
        luaL_addlstring(&out, separator, gap);
    }
    if (at == last) add_element(&l, &out, at); /* the last one may be maxinteger */
    luaL_pushresult(&out);
    return 1;
}

static int pack(lua_State *L) {
    int count = lua_gettop(L);
    mpl_work work = mpl_work_begin(L);
    mpl_work_do(&work, (uint64_t)count * 4);
    lua_createtable(L, count, 1);
    lua_insert(L, 1);
    for (int i = count; i > 0; i--) lua_rawseti(L, 1, i);
    lua_pushinteger(L, count);
    lua_setfield(L, 1, "n");
    return 1;
}

static int unpack(lua_State *L) {
    list l = {mpl_work_begin(L), steps_of(L, 1)};
    lua_Integer first = luaL_optinteger(L, 2, 1);
    lua_Integer last = lua_isnoneornil(L, 3) ? count_of(&l, 1) : luaL_checkinteger(L, 3);
    if (first > last) return 0;
    lua_Unsigned more = (lua_Unsigned)last - (lua_Unsigned)first; /* than one */
    if (more >= INT_MAX || !lua_checkstack(L, (int)more + 1))
        return luaL_error(L, "too many results to unpack");
    for (; first < last; first++) get(&l, 1, first);
    get(&l, 1, last);
    return (int)more + 1;
}

/* -- sort ------------------------------------------------------------------*/

/* Whether the element at `a` has to stand before the one at `b`; 2 is the function or nil. */
static bool before(list *l, int a, int b) {
    lua_State *L = l->work.L;
    if (lua_isnil(L, 2)) {
        uint64_t left =
            mpl_work_leave(&l->work, lua_type(L, a) == LUA_TNUMBER ? 4 : MPL_STEPS_OF_CALL);
        bool less = lua_compare(L, a, b, LUA_OPLT);
        mpl_work_back(&l->work, left);
        return less;
    }
    lua_pushvalue(L, 2);
    lua_pushvalue(L, a - 1);
    lua_pushvalue(L, b - 2);
    mpl_work_call(&l->work, 2, 1);
    bool less = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return less;
}

/* Merge the runs from[low, middle) and from[middle, high), by index, into `to`. */
static void merge(list *l, int from, int to, lua_Integer low, lua_Integer middle,
                  lua_Integer high) {
    lua_State *L = l->work.L;
    lua_Integer left = low, right = middle;
    for (lua_Integer at = low; at < high; at++) {
        mpl_work_do(&l->work, 8);
        if (left < middle && right < high) {
            lua_rawgeti(L, from, left);
            lua_rawgeti(L, from, right);
            bool second = before(l, -1, -2);
            lua_pop(L, second ? 0 : 1);
            if (second) {
                right++;
                lua_remove(L, -2);
            } else {
                left++;
            }
        } else {
            lua_rawgeti(L, from, left < middle ? left++ : right++);
        }
        lua_rawseti(L, to, at);
    }
}

/* Bottom up, in two tables of our own: the plugin's is written when all is done, so that one whose
 * comparison fails keeps its order. */
static int sort(lua_State *L) {
    list l = open_list(L, 1, READS | WRITES | COUNTS);
    lua_Integer count = count_of(&l, 1);
    if (count < 2) return 0;
    luaL_argcheck(L, count < INT_MAX, 1, "array too big");
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    int ready = count < 4096 ? (int)count : 4096; /* the length may be a lie */
    lua_createtable(L, ready, 0);
    lua_createtable(L, ready, 0);
    for (lua_Integer i = 1; i <= count; i++) {
        get(&l, 1, i);
        lua_rawseti(L, 3, i);
    }
    int from = 3, to = 4;
    for (lua_Integer width = 1; width < count; width *= 2) {
        for (lua_Integer low = 1; low <= count; low += 2 * width) {
            lua_Integer left = count + 1 - low;
            merge(&l, from, to, low, low + (left < width ? left : width),
                  low + (left < 2 * width ? left : 2 * width));
        }
        from = to;
        to = 7 - from;
    }
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, from, i);
        set(&l, 1, i);
    }
    return 0;
}

void mpl_push_table(lua_State *L) {
    static const luaL_Reg functions[] = {{"concat", concat}, {"insert", insert},    {"move", move},
                                         {"pack", pack},     {"remove", remove_at}, {"sort", sort},
                                         {"unpack", unpack}, {NULL, NULL}};
    luaL_newlib(L, functions);
}
