/* A lua_State of its own for the code of one plugin file: an allow-listed environment, a limit on
 * memory, budgets for what the library functions do (bounded.h), and, where wanted, a limit on
 * processor time.
 *
 * When the time is over, or memory has run out for good, the call is over: every function that
 * catches errors raises again, in every coroutine, and so does every instruction.
 *
 * It is made for code that may have bugs. Hostile code still has ways to burn time that no limit
 * inside the process stops: one instruction may compare two texts that fill the memory, or collect
 * all garbage. And Lua itself has bugs.
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
    size_t used, most;    /* bytes */
    void *owner;          /* whoever opened it may leave something here */
    lua_Integer seeds[2]; /* what math.randomseed() begins again with */
    /* With a limit on time: whether the call is to end before that; asked a hundred times a second
     * at the most. NULL: nobody is asked. */
    bool (*stop)(void *data);
    void *stop_data;
    /* Of the last run: */
    bool over_limit;      /* it asked for more memory than `most` */
    bool short_of_memory; /* a request was refused, for whatever reason */
    bool exhausted;       /* one that was refused again after a collection */
    bool late;
    unsigned refused_in_a_row;
    uint64_t deadline;       /* of the thread's processor time, in nanoseconds; 0: none */
    uint64_t ask_at;         /* when by CLOCK_MONOTONIC it can be reached at the earliest */
    uint64_t stop_at;        /* when `stop` is asked again */
    uint64_t spent, look_at; /* steps (bounded.h) */
    uintptr_t c_stack;       /* where the C stack stood */
    void *plain, *outer;     /* locale_t: "C", and the host's */
    bool inside;             /* the thread has `plain` */
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

/* While a plugin's code runs, its thread has the locale "C": numbers have a point, and texts an
 * order, of their own. Around the host's code that is called on the way, a host gets its own back.
 */
void mpl_sandbox_leave(mpl_sandbox *box);
void mpl_sandbox_enter(mpl_sandbox *box);

/* After MPL_RAISED: mpl_lua_pop_error, and a hint where a plugin misses what a stock Lua has. */
bool mpl_sandbox_error(mpl_sandbox *box, mpl_buffer *text, mpl_buffer *code);

/* Compile a chunk of text and push it; raises when it cannot be compiled, or is no text. A byte
 * order mark and a first line that begins with # are stepped over. Only inside
 * mpl_sandbox_run. `name` is what errors call it. */
void mpl_sandbox_load(lua_State *L, const char *text, size_t length, const char *name);

/* Have math.random begin with what nobody can tell, rather than the same in every state. Only
 * inside mpl_sandbox_run. */
void mpl_sandbox_seed(lua_State *L);

/* Set a name of the environment that all chunks of the state see; pops the value. */
void mpl_sandbox_offer(lua_State *L, const char *name);

#endif
