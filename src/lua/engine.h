/* moonplan.engine: the parts of the binding that share an engine. */
#ifndef MPL_LUA_ENGINE_H
#define MPL_LUA_ENGINE_H

#include "bind.h"
#include "call.h"
#include "plugin.h"

/* An engine is used by one lua_State (and its coroutines) at a time. While C code of the engine
 * runs, `L` is the coroutine that called it, and callbacks run there, each in a lua_pcall, so that
 * no error ever leaves through the engine.
 *
 * What the host handed over stands in a table that is the userdata's first user value, under
 * numbers that C code keeps: so that an engine and functions that refer to it can be collected
 * together. */
typedef struct mpl_lua_engine {
    moonplan_engine *engine; /* NULL: closed */
    mpl_plugins *plugins;    /* lives as long as the engine */
    lua_State *L;            /* NULL: nobody is in a call */
    moonplan_options options;
    mpl_alloc alloc;
    bool deep;
    lua_Integer last_anchor, authorizer, clock, make_id; /* 0: none */
    int64_t time;                                        /* that the host's clock gave last */
    lua_Integer log_last; /* largest position in the list of who hears the log */
    size_t log_listeners;
    mpl_lua_call *call; /* the call into a function of the host's that is under way */
} mpl_lua_engine;

enum { MPL_ANCHORS = 1, MPL_LISTENERS, MPL_HOST_LOG, MPL_ENGINE_VALUES = MPL_HOST_LOG };

extern const mpl_lua_type mpl_lua_engine_type;

/* The engine at argument `arg`, open. */
mpl_lua_engine *mpl_lua_check_engine(lua_State *L, int arg);
/* What a method's call holds, the engine among it: finalizers of the host's run wherever Lua
 * allocates, and may close the engine. From here on work->engine counts, not self->engine. */
mpl_lua_work *mpl_lua_engine_work(lua_State *L, mpl_lua_engine *self);
/* Push the userdata of an engine. */
void mpl_lua_push_engine(lua_State *L, mpl_lua_engine *self);
/* Make it known, so that mpl_lua_push_engine finds it: the userdata on top of the stack. */
void mpl_lua_know_engine(lua_State *L, mpl_lua_engine *self);
/* Keep the value on top of the stack, which is popped; returns its number. */
lua_Integer mpl_lua_anchor(lua_State *L, mpl_lua_engine *self);
void mpl_lua_push_anchor(lua_State *L, mpl_lua_engine *self, lua_Integer anchor);
/* Forget it; never raises. Nothing happens outside of a call: the engine is being collected then.
 */
void mpl_lua_forget(mpl_lua_engine *self, lua_Integer anchor);

/* Run `function` with `data` as a light userdata, protected, in the state that is in a call.
 * Returns the status; after an error its value is on top of the stack, unless there is no state or
 * no room (LUA_ERRMEM with nothing on the stack: `*on_stack` false). */
int mpl_lua_enter(mpl_lua_engine *self, lua_CFunction function, void *data, bool *on_stack);

/* -- Callbacks (host.c) ------------------------------------------------------*/

void mpl_lua_decide(void *data, moonplan_want *want);
void mpl_lua_write_log(void *data, const mpl_log_entry *entry);
int64_t mpl_lua_now(void *data);
bool mpl_lua_make_id(void *data, char out[MOONPLAN_ID_SIZE]);

/* Methods; each is a lua_CFunction whose first argument is an engine. */
int mpl_lua_engine_capability(lua_State *L);
int mpl_lua_engine_on(lua_State *L);

/* Tell an anchored function about events of a type; false when memory is short. */
bool mpl_lua_subscribe(lua_State *L, mpl_lua_engine *self, moonplan_text type, lua_Integer anchor,
                       uint64_t *number);
/* A source of late inputs out of the table on top of the stack, which is popped. False when memory
 * is short. */
bool mpl_lua_source(lua_State *L, mpl_lua_engine *self, mpl_source *out);

/* -- Jobs (job.c), driving (drive.c), trying examples (example.c) --------------*/

typedef struct mpl_lua_job {
    moonplan_job *job; /* while it runs; NULL afterwards */
    moonplan_document *document;
} mpl_lua_job;

/* Push an empty one. */
mpl_lua_job *mpl_lua_job_new(lua_State *L);
/* Write the job down as it is now; false with *err. */
bool mpl_lua_job_take(mpl_lua_job *self, const moonplan_job *job, moonplan_error *err);

/* A plan and the options of a run, which stand at arguments 2 and 3: the job, run to its end or
 * not, or NULL with work->err. `text` is the plan's, for places. Nothing raises once there is a
 * job. */
moonplan_job *mpl_lua_submit(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work, bool run,
                             moonplan_text *text);

/* The engine on top of the stack, or nil and an error with all that is wrong with its plugins. */
int mpl_lua_engine_strict(lua_State *L, mpl_lua_engine *self);

int mpl_lua_engine_drive(lua_State *L);
int mpl_lua_engine_test(lua_State *L);

int mpl_lua_engine_new(lua_State *L); /* moonplan.engine(options) */

#endif
