/* engine:drive(plan): the engine's loop, one question at a time, for hosts with a loop of their
 * own. Inputs and commits are answered by the engine; so is every question that is passed over. */
#include <lauxlib.h>

#include "engine.h"

/* Its user value is the engine. */
typedef struct drive {
    mpl_lua_engine *self;
    moonplan_job *job;
    moonplan_want *want; /* the question at hand */
    lua_Integer serial;  /* its number */
    bool answered;
} drive;

/* Its user value is the drive. */
typedef struct question {
    lua_Integer serial;
} question;

static int drive_gc(lua_State *L);
static int drive_call(lua_State *L);
static int drive_index(lua_State *L);
static int drive_tostring(lua_State *L);
static int question_index(lua_State *L);
static int question_tostring(lua_State *L);
static int read_only(lua_State *L);
static int call_gc(lua_State *L);

static const luaL_Reg drive_own[] = {{"__gc", drive_gc},
                                     {"__close", drive_gc},
                                     {"__call", drive_call},
                                     {"__index", drive_index},
                                     {"__tostring", drive_tostring},
                                     {"__newindex", read_only},
                                     {NULL, NULL}};
static const luaL_Reg question_own[] = {{"__index", question_index},
                                        {"__tostring", question_tostring},
                                        {"__newindex", read_only},
                                        {NULL, NULL}};
static const luaL_Reg call_own[] = {{"__gc", call_gc}, {NULL, NULL}};
static const mpl_lua_type drive_type = {"moonplan.drive", "a driven job", drive_own};
static const mpl_lua_type question_type = {"moonplan.want", "a question", question_own};
static const mpl_lua_type call_type = {"moonplan.call", "an answer", call_own};

static int read_only(lua_State *L) {
    return luaL_error(L, "a question cannot be changed, only answered");
}

static int call_gc(lua_State *L) {
    mpl_lua_call_close(mpl_lua_check(L, 1, &call_type));
    return 0;
}

/* -- The loop --------------------------------------------------------------*/

int mpl_lua_engine_drive(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 3);
    drive *d = mpl_lua_new(L, &drive_type, sizeof *d, 1);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    d->self = self;
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    moonplan_text text;
    d->job = mpl_lua_submit(L, self, work, false, &text);
    if (!d->job) return mpl_lua_refuse(L, work, text);
    mpl_lua_work_close(work);
    lua_settop(L, 4);
    return 1;
}

static int drive_gc(lua_State *L) {
    drive *d = mpl_lua_check(L, 1, &drive_type);
    moonplan_job *job = d->job;
    d->job = NULL;
    d->want = NULL;
    if (!job) return 0;
    lua_State *outer = d->self->L;
    d->self->L = L;
    moonplan_job_free(job);
    d->self->L = outer;
    return 0;
}

static drive *check_drive(lua_State *L, int index) {
    drive *d = mpl_lua_check(L, index, &drive_type);
    if (!d->job) luaL_error(L, "the driven job is closed");
    return d;
}

static int drive_call(lua_State *L) {
    drive *d = check_drive(L, 1);
    lua_settop(L, 1);
    question *q = mpl_lua_new(L, &question_type, sizeof *q, 1);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lua_State *outer = d->self->L;
    d->self->L = L;
    do d->want = moonplan_job_next(d->job);
    while (d->want && d->want->kind != MOONPLAN_WANT_DECISION &&
           d->want->kind != MOONPLAN_WANT_RESULT);
    d->self->L = outer;
    d->answered = false;
    q->serial = ++d->serial;
    if (d->want) return 1;
    moonplan_error err;
    if (moonplan_job_stopped(d->job, &err)) {
        mpl_lua_work *work = mpl_lua_work_new(L);
        work->err = err;
        mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
        return lua_error(L);
    }
    lua_pushnil(L);
    return 1;
}

/* drive.job: as it is now. */
static int drive_index(lua_State *L) {
    static const char *const fields[] = {"job", NULL};
    const drive *d = check_drive(L, 1);
    mpl_lua_field(L, 2, drive_type.what, fields);
    mpl_lua_job *job = mpl_lua_job_new(L);
    mpl_lua_work *work = mpl_lua_work_new(L);
    if (!mpl_lua_job_take(job, d->job, &work->err)) {
        mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
        return lua_error(L);
    }
    lua_pop(L, 1);
    return 1;
}

static int drive_tostring(lua_State *L) {
    const drive *d = mpl_lua_check(L, 1, &drive_type);
    lua_pushstring(L, d->job ? "driven job" : "driven job (closed)");
    return 1;
}

/* -- Answers ---------------------------------------------------------------*/

/* The drive of the question at argument 1, whose turn it still is. Pushes it. */
static drive *push_drive(lua_State *L) {
    const question *q = mpl_lua_check(L, 1, &question_type);
    lua_getiuservalue(L, 1, 1);
    drive *d = check_drive(L, -1);
    if (!d->want || d->serial != q->serial) luaL_error(L, "the question is over");
    return d;
}

static drive *push_open(lua_State *L, moonplan_wanted kind) {
    drive *d = push_drive(L);
    if (d->answered) luaL_error(L, "the question has its answer already");
    if (d->want->kind != kind)
        luaL_error(L, kind == MOONPLAN_WANT_DECISION
                          ? "a result is asked for: complete or fail"
                          : "a decision is asked for: allow, deny, decide or fail");
    return d;
}

static int want_allow(lua_State *L) {
    drive *d = push_open(L, MOONPLAN_WANT_DECISION);
    d->answered = true;
    moonplan_want_allow(d->want);
    return 0;
}

/* want:deny(reason) */
static int want_deny(lua_State *L) {
    lua_settop(L, 2);
    drive *d = push_open(L, MOONPLAN_WANT_DECISION);
    moonplan_text reason = {NULL, 0};
    if (!lua_isnil(L, 2)) reason = mpl_lua_check_text(L, 2);
    d->answered = true;
    moonplan_want_deny(d->want, reason.bytes, reason.length);
    return 0;
}

static mpl_lua_call *push_call(lua_State *L, const drive *d) {
    mpl_lua_call *call = mpl_lua_new(L, &call_type, sizeof *call, 0);
    call->options = &d->self->options;
    mpl_lua_call_open(call, d->self->options.limits.values, NULL);
    return call;
}

static void answer(drive *d, mpl_lua_call *call) {
    d->answered = true;
    mpl_lua_call_answer(call, d->want, d->want->capability);
    mpl_lua_call_close(call);
}

/* want:complete(value) */
static int want_complete(lua_State *L) {
    lua_settop(L, 2);
    drive *d = push_open(L, MOONPLAN_WANT_RESULT);
    mpl_lua_call *call = push_call(L, d);
    lua_pushvalue(L, 2);
    lua_pushnil(L);
    mpl_lua_call_take(L, call);
    mpl_lua_call_finish(call);
    answer(d, call);
    return 0;
}

/* want:decide(table) */
static int want_decide(lua_State *L) {
    lua_settop(L, 2);
    drive *d = push_open(L, MOONPLAN_WANT_DECISION);
    mpl_lua_call *call = push_call(L, d);
    lua_pushvalue(L, 2);
    lua_pushnil(L);
    if (!lua_isnil(L, 2)) mpl_lua_call_take(L, call);
    mpl_lua_call_finish(call);
    if (call->code == MOONPLAN_MEMORY) {
        call->code = MOONPLAN_JOB_AUTHORIZER_FAILED;
        answer(d, call);
        return 0;
    }
    moonplan_value decision = {NULL, 0};
    if (call->result) decision = moonplan_document_root(call->result);
    d->answered = true;
    moonplan_want_decide(d->want, decision);
    mpl_lua_call_close(call);
    return 0;
}

/* want:fail(err) */
static int want_fail(lua_State *L) {
    lua_settop(L, 2);
    drive *d = push_drive(L);
    bool decision = d->want->kind == MOONPLAN_WANT_DECISION;
    push_open(L, d->want->kind);
    mpl_lua_call *call = push_call(L, d);
    call->has_text = mpl_lua_read_error(L, 2, &call->text, &call->code_text);
    call->code = decision ? MOONPLAN_JOB_AUTHORIZER_FAILED : MOONPLAN_JOB_CAPABILITY_FAILED;
    answer(d, call);
    return 0;
}

/* -- What a question tells -------------------------------------------------*/

static const char *const fields[] = {"allow", "caller", "capability", "complete", "decide",
                                     "deny",  "fail",   "input",      "job_id",   "kind",
                                     "risk",  "step",   "step_id",    "version",  NULL};
enum {
    ALLOW,
    CALLER,
    CAPABILITY,
    COMPLETE,
    DECIDE,
    DENY,
    FAIL,
    INPUT,
    JOB_ID,
    KIND,
    RISK,
    STEP,
    STEP_ID,
    VERSION
};

static int question_index(lua_State *L) {
    static const lua_CFunction methods[] = {
        [ALLOW] = want_allow, [COMPLETE] = want_complete, [DECIDE] = want_decide,
        [DENY] = want_deny,   [FAIL] = want_fail,         [VERSION] = NULL};
    mpl_lua_check(L, 1, &question_type);
    int field = mpl_lua_field(L, 2, question_type.what, fields);
    if (methods[field]) {
        lua_pushcfunction(L, methods[field]);
        return 1;
    }
    const moonplan_want *want = push_drive(L)->want;
    switch (field) {
    case CALLER:
        return mpl_lua_push_value(L, want->caller);
    case CAPABILITY:
        return mpl_lua_push_text(L, want->capability);
    case INPUT:
        return mpl_lua_push_value(L, want->input);
    case JOB_ID:
        return mpl_lua_push_text(L, want->job_id);
    case KIND:
        lua_pushstring(L, want->kind == MOONPLAN_WANT_DECISION ? "decision" : "result");
        return 1;
    case RISK:
        return mpl_lua_push_text(L, want->risk);
    case STEP:
        lua_pushinteger(L, (lua_Integer)want->step + 1);
        return 1;
    case STEP_ID:
        return mpl_lua_push_text(L, want->step_id);
    default:
        return mpl_lua_push_text(L, want->version);
    }
}

static int question_tostring(lua_State *L) {
    const moonplan_want *want = push_drive(L)->want;
    mpl_lua_push_text(L, want->step_id);
    lua_pushfstring(L,
                    want->kind == MOONPLAN_WANT_DECISION ? "decision wanted for step %s"
                                                         : "result wanted of step %s",
                    lua_tostring(L, -1));
    return 1;
}
