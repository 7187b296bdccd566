/* engine:run_many(plans): jobs that share their commits. */
#include <lauxlib.h>
#include <limits.h>
#include <string.h>

#include "capture.h"
#include "engine.h"

/* One of the plans. */
typedef struct item {
    mpl_capture *capture; /* NULL: a text */
    mpl_submission submission;
    moonplan_run_options options;
    moonplan_error_list *errors;
    lua_Integer position;
} item;

/* Its user value keeps texts and captures. */
typedef struct batch {
    size_t count, run_count; /* plans; those of them that could be read */
    item *items;             /* count; the first run_count are those in `runs`, in order */
    moonplan_run *runs;
    const mpl_submission **captured;
} batch;

static int batch_gc(lua_State *L);
static const luaL_Reg batch_own[] = {{"__gc", batch_gc}, {NULL, NULL}};
static const mpl_lua_type batch_type = {"moonplan.batch", "a batch", batch_own};

static int batch_gc(lua_State *L) {
    batch *b = mpl_lua_check(L, 1, &batch_type);
    for (size_t i = 0; i < b->count; i++) {
        moonplan_error_list_free(b->items[i].errors);
        b->items[i].errors = NULL;
    }
    for (size_t i = 0; i < b->run_count; i++) {
        moonplan_job_free(b->runs[i].job);
        b->runs[i].job = NULL;
    }
    return 0;
}

/* Push an empty one with room for so many plans. */
static batch *push_batch(lua_State *L, size_t count) {
    const size_t one = sizeof(item) + sizeof(moonplan_run) + sizeof(mpl_submission *);
    batch *b = mpl_lua_new(L, &batch_type, sizeof *b, 2);
    char *room = lua_newuserdatauv(L, count * one + 1, 0);
    memset(room, 0, count * one + 1);
    lua_setiuservalue(L, -2, 2);
    lua_createtable(L, count > INT_MAX ? INT_MAX : (int)count, 0);
    lua_setiuservalue(L, -2, 1);
    b->runs = (moonplan_run *)(void *)room;
    b->items = (item *)(void *)(b->runs + count);
    b->captured = (const mpl_submission **)(void *)(b->items + count);
    b->count = count;
    return b;
}

/* The plan on top of the stack, which is popped; false with *err when it is refused. */
static bool add_plan(lua_State *L, const mpl_lua_engine *self, batch *b, int kept,
                     lua_Integer position, moonplan_error *err) {
    item *into = &b->items[b->run_count];
    moonplan_run *run = &b->runs[b->run_count];
    int plan = lua_gettop(L);
    bool fine = true;
    into->position = position;
    into->capture = NULL;
    if (lua_type(L, plan) == LUA_TSTRING) {
        run->plan = mpl_lua_check_text(L, plan);
    } else {
        fine = mpl_lua_capture(L, plan, &self->options, &into->capture);
        lua_settop(L, plan + 1);
    }
    lua_rawseti(L, kept, position); /* the text, or the capture */
    if (fine)
        b->run_count++;
    else
        *err = into->capture->err;
    lua_settop(L, plan - 1);
    return fine;
}

/* Nothing raises from here to the end of the last job. */
static void run_all(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work, batch *b,
                    const moonplan_run_options *shared) {
    for (size_t i = 0; i < b->run_count; i++) {
        item *one = &b->items[i];
        mpl_capture *capture = one->capture;
        one->options = *shared;
        one->options.errors = &one->errors;
        b->runs[i].options = &one->options;
        if (!capture) continue;
        one->submission = (mpl_submission){.document = capture->document,
                                           .faults = capture->faults,
                                           .fault_count = capture->fault_count};
        capture->document = NULL;
        b->captured[i] = &one->submission;
    }
    lua_State *outer = self->L;
    self->L = L;
    mpl_engine_run_many(work->engine, b->runs, b->captured, b->run_count);
    self->L = outer;
}

/* Set the error of `work` as that of the plan. */
static void set_error(lua_State *L, int jobs, int errors, lua_Integer position, mpl_lua_work *work,
                      moonplan_text text) {
    mpl_lua_refuse(L, work, text);
    lua_rawseti(L, errors, position);
    lua_pop(L, 1);
    lua_pushboolean(L, 0);
    lua_rawseti(L, jobs, position);
}

static void set_result(lua_State *L, int jobs, int errors, batch *b, size_t n) {
    moonplan_run *run = &b->runs[n];
    item *one = &b->items[n];
    if (run->job) {
        mpl_lua_job *job = mpl_lua_job_new(L);
        mpl_lua_job_keep(job, run->job);
        job->warns = true;
        run->job = NULL;
        lua_rawseti(L, jobs, one->position);
        return;
    }
    mpl_lua_work *work = mpl_lua_work_new(L);
    work->err = run->error;
    work->errors = one->errors;
    one->errors = NULL;
    set_error(L, jobs, errors, one->position, work, run->plan);
    lua_pop(L, 1);
}

/* engine:run_many({ plan, ... }, { caller = {...}, ... }) -> { job or false, ... }, { [n] = err }
 */
int mpl_lua_engine_run_many(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 3);
    size_t count = lua_rawlen(L, 2), keys = 0;
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        if (lua_type(L, -1) != LUA_TSTRING && lua_type(L, -1) != LUA_TTABLE)
            luaL_argerror(L, 2, "the plans must be JSON texts or tables");
        keys++;
    }
    if (keys != count) luaL_argerror(L, 2, "the plans must be a list, with positions from 1 on");
    lua_newtable(L);
    lua_newtable(L);
    const int jobs = 4, errors = 5;
    batch *b = push_batch(L, count);
    lua_getiuservalue(L, -1, 1);
    int kept = lua_gettop(L);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    moonplan_run_options shared = {.errors = NULL};
    if (!mpl_lua_read_run(L, self, work, &shared))
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    for (size_t i = 0; i < count; i++) {
        moonplan_error err;
        lua_Integer position = (lua_Integer)i + 1;
        /* A finalizer that runs meanwhile may do what it likes with the list. */
        if (lua_rawgeti(L, 2, position) != LUA_TSTRING && !lua_istable(L, -1))
            luaL_argerror(L, 2, "the list of plans has changed while it was read");
        if (add_plan(L, self, b, kept, position, &err)) continue;
        mpl_lua_work *refused = mpl_lua_work_new(L);
        refused->err = err;
        set_error(L, jobs, errors, position, refused, (moonplan_text){NULL, 0});
        lua_pop(L, 1);
    }
    if (!self->engine) {
        mpl_error_set(&work->err, MOONPLAN_PLAN_CAPTURE, MOONPLAN_NO_OFFSET, NULL,
                      "the engine was closed while the plans were read");
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    }
    run_all(L, self, work, b, &shared);
    for (size_t i = 0; i < b->run_count; i++) set_result(L, jobs, errors, b, i);
    mpl_lua_work_close(work);
    lua_settop(L, errors);
    return 2;
}
