/* One call into a capability that is written in Lua, in whichever lua_State it lives: what goes in,
 * and what comes of it. */
#ifndef MPL_LUA_CALL_H
#define MPL_LUA_CALL_H

#include <lua.h>

#include "convert.h"

/* What a capability writes with ctx.log. */
typedef struct mpl_log_entry {
    const char *level; /* "debug", "info", "warn", "error" */
    moonplan_text message;
    moonplan_value data; /* may be MOONPLAN_NONE */
    moonplan_text job_id, step_id, capability;
} mpl_log_entry;

typedef struct mpl_log {
    void (*write)(void *data, const mpl_log_entry *entry); /* NULL: nobody listens */
    void *data;
} mpl_log;

typedef struct mpl_lua_call {
    const moonplan_options *options;
    moonplan_text job_id, step_id, capability;
    moonplan_value input, caller;
    mpl_log log;
    char token[65]; /* ends with a NUL */
    /* Private to call.c from here on, but for what came of it. */
    uint64_t log_left; /* bytes */
    bool log_full;
    mpl_alloc alloc;
    mpl_buffer text, code_text, scratch;
    mpl_lua_budget budget;
    mpl_builder builder;
    bool building;
    /* What came of it. A failure has a code; without `has_text` it has no message. */
    moonplan_code code;
    bool has_text;
    moonplan_code
        cause; /* in the detail, with `reason`: why nothing came of it; MOONPLAN_OK: none */
    char reason[sizeof((moonplan_error *)NULL)->message];
    moonplan_document *result; /* NULL: none */
} mpl_lua_call;

/* Fill in the rest of a call whose first members are set. `values` is how many may be copied in and
 * out. */
void mpl_lua_call_open(mpl_lua_call *call, uint64_t values, const char *values_name);
void mpl_lua_call_close(mpl_lua_call *call);

/* Inside a protected call, in the state of the capability: push the input and a ctx that has
 * job_id, step_id, caller and idempotency_token. False when that cannot be done; the call has
 * failed then, and nothing was pushed. */
bool mpl_lua_call_push(lua_State *L, mpl_lua_call *call);
/* Take what the function returned, two values on top of the stack: a result, or nil and an error,
 * which is raised. */
void mpl_lua_call_take(lua_State *L, mpl_lua_call *call);
/* ctx.log's four functions as a table: each finds its call with `find`, which raises when there is
 * none, given the function's first upvalue, which is on top of the stack and is popped. */
typedef mpl_lua_call *(*mpl_lua_find_call)(lua_State *L);
void mpl_lua_push_log(lua_State *L, mpl_lua_find_call find);

/* Write an entry of the log, or leave it out when the limit log_kib is spent, which is said once.
 * `level` counts from 0: debug, info, warn, error. */
void mpl_lua_call_log(mpl_lua_call *call, unsigned level, moonplan_text message,
                      moonplan_value data);

/* Outside of it. The function has returned: finish the result. */
void mpl_lua_call_finish(mpl_lua_call *call);
/* Fail with a text of ours. */
void mpl_lua_call_fail(mpl_lua_call *call, moonplan_code code, const char *text);
/* Tell the question (call_answer.c). `prefix` stands before the code that a failure may have of its
 * own. */
void mpl_lua_call_answer(mpl_lua_call *call, moonplan_want *want, moonplan_text prefix);
/* The same of a `check`. A call that has failed, and an answer that is none, leave the question
 * open; it is said why. */
void mpl_lua_call_outcome(const mpl_lua_call *call, moonplan_want *want);

#endif
