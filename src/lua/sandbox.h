/* A lua_State of its own for the code of one plugin file: an allow-listed environment, a limit on
 * memory, and, where wanted, one on processor time.
 *
 * It is made for code that may have bugs. Hostile code has ways to burn time that no limit inside
 * the process stops (one long call of a C function sees no hook), and the stock library has bugs.
 *
 * Nothing of the plugin runs, and nothing in its state can raise, but inside mpl_sandbox_run. The
 * functions given to it read the plugin's values with raw access, so that no metamethod runs. */
#ifndef MPL_LUA_SANDBOX_H
#define MPL_LUA_SANDBOX_H

#include <lua.h>

#include "../core/buffer.h"

typedef struct mpl_sandbox {
    lua_State *state;
    moonplan_alloc alloc; /* where its memory comes from */
    void *alloc_data;
    size_t used, most; /* bytes */
    uint64_t deadline; /* of the thread's processor time, in nanoseconds; 0: none */
    bool over_limit;   /* the last run asked for more memory than `most` */
    bool late;
    void *owner; /* whoever opened it may leave something here */
} mpl_sandbox;

typedef enum mpl_outcome {
    MPL_RAN,
    MPL_RAISED,    /* the error is on top of the stack */
    MPL_NO_MEMORY, /* the limit, or the host's allocator */
    MPL_LATE
} mpl_outcome;

/* The sandbox that a state belongs to. */
mpl_sandbox *mpl_sandbox_of(lua_State *L);

/* Make the state; false when memory is short. `box` must stay where it is, and is closed with
 * mpl_sandbox_close either way. */
bool mpl_sandbox_open(mpl_sandbox *box, const moonplan_options *options, size_t most);
void mpl_sandbox_close(mpl_sandbox *box);

/* Call `function` with `data` as a light userdata, in at most so many milliseconds of processor
 * time (0: no limit, which is twice as fast for code in Lua). Its results are dropped. */
mpl_outcome mpl_sandbox_run(mpl_sandbox *box, lua_CFunction function, void *data,
                            uint64_t milliseconds);

/* After MPL_RAISED: mpl_lua_pop_error, and a hint where a plugin misses what a stock Lua has. */
bool mpl_sandbox_error(mpl_sandbox *box, mpl_buffer *text, mpl_buffer *code);

/* Compile a chunk of text and push it; raises when it cannot be compiled, or is no text. A byte
 * order mark and a first line that begins with # are stepped over. Only inside
 * mpl_sandbox_run. `name` is what errors call it. */
void mpl_sandbox_load(lua_State *L, const char *text, size_t length, const char *name);

/* Set a name of the environment that all chunks of the state see; pops the value. */
void mpl_sandbox_offer(lua_State *L, const char *name);

#endif
