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
/* Push a value that is known to be one of ours. */
void mpl_lua_push_own(lua_State *L, moonplan_value value);
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
/* In place of Lua's words for a yield that cannot be, which do not say what to do about it. */
void mpl_lua_explain_yield(mpl_buffer *text);
int64_t mpl_lua_now(void *data);
bool mpl_lua_make_id(void *data, char out[MOONPLAN_ID_SIZE]);

/* Methods; each is a lua_CFunction whose first argument is an engine. */
int mpl_lua_engine_capability(lua_State *L); /* host_capability.c */

/* Tell an anchored function about events of a type; false when memory is short. */
bool mpl_lua_subscribe(lua_State *L, mpl_lua_engine *self, moonplan_text type, lua_Integer anchor,
                       uint64_t *number);
/* A source of late inputs out of the table on top of the stack, which is popped. False when memory
 * is short. */
bool mpl_lua_source(lua_State *L, mpl_lua_engine *self, mpl_source *out);

/* -- Jobs (job.c), driving (drive.c), trying examples (example.c) --------------*/

typedef struct mpl_lua_job {
    /* One of the two is there, or both. */
    moonplan_job *job;           /* that asks nothing any more */
    moonplan_document *document; /* as it was written down */
    bool warns;                  /* it tells what admission warned of */
} mpl_lua_job;

/* Push an empty one. */
mpl_lua_job *mpl_lua_job_new(lua_State *L);
/* Write the job down as it is now; false with *err. */
bool mpl_lua_job_take(mpl_lua_job *self, const moonplan_job *job, moonplan_error *err);
/* Keep the job itself, which has come to its end or waits; taken over. */
void mpl_lua_job_keep(mpl_lua_job *self, moonplan_job *job);
/* Push what admission warned of, with places in `text`. */
void mpl_lua_push_warnings(lua_State *L, const moonplan_step_plan *plan, moonplan_text text);

/* A plan and the options of a run, which stand at arguments 2 and 3: the job, run to its end or
 * not, or NULL with work->err. `text` is the plan's, for places. Nothing raises once there is a
 * job. */
moonplan_job *mpl_lua_submit(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work, bool run,
                             moonplan_text *text);

/* The options of a run, at argument 3; what they refer to stays on the stack and in
 * work->document. */
bool mpl_lua_read_run(lua_State *L, const mpl_lua_engine *self, mpl_lua_work *work,
                      moonplan_run_options *out);
/* approvals = { TEXT, ... } in the table at `arg`, if there are any; pushes a value that has to
 * stay as long as they are used. */
void mpl_lua_read_approvals(lua_State *L, int arg, moonplan_run_options *out);

/* The engine on top of the stack, or nil and an error with all that is wrong with its plugins. */
int mpl_lua_engine_strict(lua_State *L, mpl_lua_engine *self);

int mpl_lua_engine_job(lua_State *L); /* jobs.c */
int mpl_lua_engine_jobs(lua_State *L);
int mpl_lua_engine_resume(lua_State *L);
int mpl_lua_engine_resolve(lua_State *L);
int mpl_lua_engine_cancel(lua_State *L);
int mpl_lua_engine_records(lua_State *L);
int mpl_lua_engine_verify(lua_State *L);
int mpl_lua_engine_sign_head(lua_State *L);
int mpl_lua_engine_build(lua_State *L); /* engine_build.c */
int mpl_lua_engine_drive(lua_State *L);
int mpl_lua_engine_sign_plugins(lua_State *L); /* engine_sign.c */
int mpl_lua_engine_verify_plugins(lua_State *L);
/* engine_catalogue.c: read all plugin files, or those of a name; push a list of what cannot be
 * used. */
bool mpl_lua_engine_load(lua_State *L, mpl_lua_engine *self, moonplan_text name,
                         moonplan_error *err);
/* The item of a name, its plugin loaded; NULL with *err, or without where nobody has it. */
mpl_plugin_item *mpl_lua_engine_find(lua_State *L, mpl_lua_engine *self, moonplan_text name,
                                     moonplan_error *err);
void mpl_lua_engine_problems(lua_State *L, mpl_lua_engine *self, const moonplan_engine *engine);
int mpl_lua_engine_abis(lua_State *L); /* engine_abis.c */
int mpl_lua_engine_list(lua_State *L); /* engine_catalogue.c */
int mpl_lua_engine_describe(lua_State *L);
int mpl_lua_engine_files(lua_State *L);
int mpl_lua_engine_test(lua_State *L);
int mpl_lua_engine_send(lua_State *L);     /* send.c */
int mpl_lua_engine_run_many(lua_State *L); /* run_many.c */

int mpl_lua_engine_new(lua_State *L); /* moonplan.engine(options) */

#endif
