/* Values to Lua and back.
 *
 * Access is raw in both directions: no metamethod runs, and nothing that Lua code could notice
 * or change happens while a conversion is under way. A conversion that is refused leaves the stack
 * as it was. The refusal's codes are json.number, json.value, json.utf8, json.depth and limit; a
 * caller with codes of its own maps them.
 *
 * JSON null is the light userdata NULL, as in lua-cjson. An array is a table with the array mark
 * for its metatable; going back, an unmarked table with the keys 1..n, n > 0, is one as well. */
#ifndef MPL_LUA_CONVERT_H
#define MPL_LUA_CONVERT_H

#include <lua.h>

#include "../core/build.h"

/* What is left to spend, for one conversion or several. */
typedef struct mpl_lua_budget {
    uint64_t depth;  /* tables open at once; never more than the ceiling of the limit `depth` */
    uint64_t values; /* containers included; counted down */
    uint64_t bytes;  /* of the document that is built; going to Lua, of string contents;
                        counted down */
    /* The limits that errors name, and the first one's value; NULL: values, document_bytes. */
    const char *values_name, *bytes_name;
    uint64_t values_limit;
    uint64_t depth_limit; /* the limit depth, where what is around takes some of it; 0: depth */
    bool bytes_spent;     /* set when it is the bytes that did not suffice */
    /* Going to Lua, for a call: bytes of one text, which the limit string_mib bounds (0: none), and
     * whether places are told from the value on rather than from its document's root. */
    uint64_t text_most;
    bool from_value;
} mpl_lua_budget;

mpl_lua_budget mpl_lua_budget_of(const moonplan_limits *limits);

/* Push the array mark. It is shared by all copies of the library in one lua_State. */
void mpl_lua_push_mark(lua_State *L);
/* Whether the table at `index` has the mark at `mark`. */
bool mpl_lua_marked(lua_State *L, int index, int mark);

/* Push a fresh Lua value, or nothing and false with *err, whose place is the one in the value's
 * document. Raises Lua's memory error, so whatever owns the document must be armed. */
bool mpl_lua_push(lua_State *L, moonplan_value value, mpl_lua_budget *budget, moonplan_error *err);

/* Append the Lua value at `index` to a builder; false with *err, whose pointer begins with `place`
 * (NULL: the root), and then the builder is fit for nothing but mpl_build_close. nil at the top is
 * null. Raises an error when the Lua stack cannot grow, so the builder must be armed. The builder's
 * own faults (memory, its own limits) come out of mpl_build_finish.
 *
 * The members of objects come in the order of their names as bytes, so that equal values give equal
 * documents.
 *
 * Price: a table is walked twice, and its names are sorted. Hole: lua_next steps over the empty
 * slots of a table that was once large, and a table that is referred to often is walked as often.
 */
bool mpl_lua_build(lua_State *L, int index, mpl_builder *builder, mpl_lua_budget *budget,
                   const mpl_pointer *place, moonplan_error *err);

#endif
