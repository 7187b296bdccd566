/* The string, table and utf8 functions of a plugin's state, and the work that they may do.
 *
 * They give what those of Lua 5.4 give, with the same errors. But a single call of one of those can
 * run for years, and no hook sees it. Here every loop counts its steps, about a nanosecond or two
 * each: one call of a function may take MPL_CALL_STEPS, all those of one call into the plugin
 * together MPL_RUN_STEPS, and every MPL_SLICE_STEPS the clock is looked at.
 *
 * On purpose different from Lua's: nothing looks at the locale; table.sort keeps the order of equal
 * elements, leaves the table alone when the comparison fails, and does not notice an invalid order
 * function (it ends all the same); string.rep refuses what the state's memory cannot hold; no text
 * shows an address. */
#ifndef MPL_LUA_BOUNDED_H
#define MPL_LUA_BOUNDED_H

#include <lauxlib.h>
#include <lua.h>

#include "sandbox.h"

#define MPL_CALL_STEPS  ((uint64_t)1 << 28)
#define MPL_RUN_STEPS   ((uint64_t)1 << 32)
#define MPL_SLICE_STEPS ((uint64_t)1 << 16)
/* What a call out of a function costs beside the work in it. */
#define MPL_STEPS_OF_CALL 32

/* -- Work (sandbox.c) --------------------------------------------------------*/

/* One call of a bounded function. */
typedef struct mpl_work {
    lua_State *L;
    mpl_sandbox *box;
    uint64_t start; /* what had been spent when it began; work done elsewhere is not its own */
} mpl_work;

/* Raises when the plugin's time is over. */
mpl_work mpl_work_begin(lua_State *L);
/* Raises when a budget ends or the time is over. */
void mpl_work_look(mpl_work *work);

static inline void mpl_work_do(mpl_work *work, uint64_t steps) {
    work->box->spent += steps;
    if (work->box->spent >= work->box->look_at) mpl_work_look(work);
}

/* Around what may call the plugin's code: what happens in there counts for the plugin, not for this
 * call. */
static inline uint64_t mpl_work_leave(mpl_work *work, uint64_t steps) {
    mpl_work_do(work, steps);
    return work->box->spent;
}
static inline void mpl_work_back(mpl_work *work, uint64_t left) {
    work->start += work->box->spent - left;
}

static inline void mpl_work_call(mpl_work *work, int arguments, int results) {
    uint64_t left = mpl_work_leave(work, MPL_STEPS_OF_CALL);
    lua_call(work->L, arguments, results);
    mpl_work_back(work, left);
}

/* -- Ending (sandbox.c) ------------------------------------------------------*/

/* Raises when the call is known to be over, because it is late or memory has run out for good; to
 * be called where an error of the plugin's has been caught. */
void mpl_sandbox_check(lua_State *L);
/* The same, and looks at the clock; around whatever may take long. */
void mpl_sandbox_look(lua_State *L);
/* Let the coroutine notice the deadline, if there is one. */
void mpl_sandbox_arm(mpl_sandbox *box, lua_State *coroutine);
/* Raises when the C stack has grown by MPL_C_STACK since the plugin was called: Lua counts calls,
 * not bytes, and begins to count again in a coroutine that is closed. */
void mpl_sandbox_check_depth(lua_State *L);
#define MPL_C_STACK ((size_t)512 * 1024)

/* -- The functions -----------------------------------------------------------*/

/* lua_load of a text, on the way of which the clock is looked at; returns its status, and raises
 * when the call is over. */
int mpl_sandbox_compile(lua_State *L, const char *text, size_t length, const char *name);

/* Each pushes a table. */
void mpl_push_string(lua_State *L);
void mpl_push_table(lua_State *L);
void mpl_push_utf8(lua_State *L);
void mpl_push_coroutine(lua_State *L);
/* Set the functions of the basic library in the table on top. */
void mpl_set_base(lua_State *L);

/* find, match, gmatch, gsub (bounded_pattern.c) */
extern const luaL_Reg mpl_pattern_functions[];
/* format, pack, packsize, unpack (bounded_format.c): from Lua's library on top into the table below
 */
void mpl_set_format(lua_State *L);
/* tostring, without addresses (sandbox_base.c) */
int mpl_plain_tostring(lua_State *L);

/* The first place of a needle, or NULL; linear in both lengths together. */
const char *mpl_search(mpl_work *work, const char *text, size_t length, const char *needle,
                       size_t needle_length);

/* A position as Lua's string functions take it, as an offset of at least 0: negative ones count
 * from the end. */
static inline size_t mpl_start_position(lua_Integer position, size_t length) {
    if (position > 0) return (size_t)position - 1;
    if (position == 0 || position < -(lua_Integer)length) return 0;
    return length + (size_t)position;
}

/* The same for the last position of a range, as an offset behind it, of at most `length`. */
static inline size_t mpl_end_position(lua_Integer position, size_t length) {
    if (position > (lua_Integer)length) return length;
    if (position >= 0) return (size_t)position;
    return position < -(lua_Integer)length ? 0 : length + (size_t)position + 1;
}

#endif
