/* moonplan.engine: the object and its methods. */
#include <lauxlib.h>
#include <string.h>

#include "../core/text.h"
#include "capture.h"
#include "engine.h"
#include "shelf.h"

static int engine_gc(lua_State *L);
static int engine_close(lua_State *L);
static int engine_index(lua_State *L);
static int engine_read_only(lua_State *L);
static int engine_tostring(lua_State *L);

static const luaL_Reg engine_own[] = {{"__gc", engine_gc},
                                      {"__close", engine_close},
                                      {"__index", engine_index},
                                      {"__newindex", engine_read_only},
                                      {"__tostring", engine_tostring},
                                      {NULL, NULL}};
const mpl_lua_type mpl_lua_engine_type = {"moonplan.engine", "an engine", engine_own};

static const moonplan_text no_places = {NULL, 0};

void mpl_lua_push_warnings(lua_State *L, const moonplan_step_plan *plan, moonplan_text text) {
    size_t count = moonplan_step_plan_warning_count(plan);
    moonplan_error *warnings = lua_newuserdatauv(L, count * sizeof *warnings + 1, 0);
    for (size_t i = 0; i < count; i++) warnings[i] = *moonplan_step_plan_warning(plan, i);
    mpl_lua_push_errors(L, warnings, count, text);
    lua_remove(L, -2);
}

static int engine_gc(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check(L, 1, &mpl_lua_engine_type);
    moonplan_engine *engine = self->engine;
    self->engine = NULL;
    moonplan_engine_free(engine);
    return 0;
}

static int engine_read_only(lua_State *L) {
    return luaL_error(L, "an engine cannot be changed");
}

static int engine_tostring(lua_State *L) {
    const mpl_lua_engine *self = mpl_lua_check(L, 1, &mpl_lua_engine_type);
    lua_pushstring(L, self->engine ? "engine" : "engine (closed)");
    return 1;
}

mpl_lua_engine *mpl_lua_check_engine(lua_State *L, int arg) {
    mpl_lua_engine *self = mpl_lua_check(L, arg, &mpl_lua_engine_type);
    if (!self->engine) luaL_error(L, "the engine is closed");
    return self;
}

mpl_lua_work *mpl_lua_engine_work(lua_State *L, mpl_lua_engine *self) {
    mpl_lua_work *work = mpl_lua_work_new(L);
    if (!self->engine) luaL_error(L, "the engine is closed");
    mpl_lua_push_engine(L, self);
    lua_setiuservalue(L, -2, 1); /* what is given back with the engine refers to it */
    mpl_engine_enter(self->engine);
    work->engine = self->engine;
    work->leave = mpl_engine_leave;
    return work;
}

/* engine:close() */
static int engine_close(lua_State *L) {
    const mpl_lua_engine *self = mpl_lua_check(L, 1, &mpl_lua_engine_type);
    if (self->L) luaL_error(L, "the engine is in the middle of something");
    return engine_gc(L);
}

/* Push a value that is known to be one of ours. */
void mpl_lua_push_own(lua_State *L, moonplan_value value) {
    moonplan_error err;
    mpl_lua_budget budget = {.depth = UINT64_MAX, .values = UINT64_MAX, .bytes = UINT64_MAX};
    if (!mpl_lua_push(L, value, &budget, &err)) lua_pushnil(L);
}

static void set_text(lua_State *L, const char *name, moonplan_text text) {
    if (!text.bytes) return;
    lua_pushlstring(L, text.bytes, text.length);
    lua_setfield(L, -2, name);
}

/* -- Submitting ------------------------------------------------------------*/

typedef struct submission {
    moonplan_text text; /* bytes NULL: `plan` counts */
    mpl_submission plan;
    moonplan_run_options options;
} submission;

bool mpl_lua_read_run(lua_State *L, const mpl_lua_engine *self, mpl_lua_work *work,
                      moonplan_run_options *out) {
    static const char *const names[] = {"approvals", "caller", "deduplicate", NULL};
    moonplan_text *caller = &out->caller;
    if (lua_isnoneornil(L, 3)) return true;
    luaL_checktype(L, 3, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) mpl_lua_field(L, -2, "a run", names);
    mpl_lua_read_approvals(L, 3, out);
    lua_pushliteral(L, "deduplicate");
    lua_rawget(L, 3);
    if (!lua_isnil(L, -1) && !lua_isboolean(L, -1))
        mpl_lua_bad_option(L, 3, "deduplicate", "true or false", lua_gettop(L));
    out->deduplicate = lua_toboolean(L, -1);
    lua_pushliteral(L, "caller");
    if (lua_rawget(L, 3) == LUA_TNIL) return true;
    mpl_pointer place = {0, false, ""};
    mpl_pointer_name(&place, MOONPLAN_TEXT("caller"));
    mpl_lua_budget budget = mpl_lua_budget_of(&self->options.limits);
    mpl_build_open(&work->builder, &self->options);
    work->building = true;
    if (!mpl_lua_build(L, -1, &work->builder, &budget, &place, &work->err)) return false;
    work->building = false;
    work->document = mpl_build_finish(&work->builder, &work->err);
    if (!work->document) return false;
    *caller = moonplan_value_source(moonplan_document_root(work->document));
    return true;
}

/* `late`: inputs may be read again later. */
static bool prepare(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work, submission *out,
                    bool late) {
    mpl_capture *capture;
    memset(out, 0, sizeof *out);
    out->options.errors = &work->errors;
    if (lua_type(L, 2) == LUA_TSTRING)
        out->text = mpl_lua_check_text(L, 2);
    else if (!lua_istable(L, 2))
        luaL_typeerror(L, 2, "JSON text or a table");
    if (!mpl_lua_read_run(L, self, work, &out->options)) return false;
    if (out->text.bytes) return true;
    if (!mpl_lua_capture(L, 2, &self->options, &capture)) {
        work->err = capture->err;
        return false;
    }
    if (!self->engine) {
        mpl_error_set(&work->err, MOONPLAN_PLAN_CAPTURE, MOONPLAN_NO_OFFSET, NULL,
                      "the engine was closed while the plan was read");
        return false;
    }
    out->plan.faults = capture->faults;
    out->plan.fault_count = capture->fault_count;
    if (late && capture->shared && !mpl_lua_source(L, self, &out->plan.source)) {
        mpl_error_memory(&work->err);
        return false;
    }
    out->plan.document = capture->document;
    capture->document = NULL;
    return true;
}

moonplan_job *mpl_lua_submit(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work, bool run,
                             moonplan_text *text) {
    submission s;
    *text = no_places;
    if (!prepare(L, self, work, &s, !self->deep)) return NULL;
    *text = s.text;
    lua_State *outer = self->L;
    self->L = L;
    moonplan_job *job;
    if (!s.text.bytes)
        job = mpl_engine_submit(work->engine, &s.plan, &s.options, &work->err);
    else
        job = moonplan_engine_submit_new(work->engine, s.text.bytes, s.text.length, &s.options,
                                         &work->err);
    if (job && run && !mpl_job_drive(job, &work->err)) {
        moonplan_job_free(job);
        job = NULL;
    }
    self->L = outer;
    return job;
}

/* engine:run(plan, { caller = {...} }) */
static int engine_run(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 3);
    mpl_lua_job *job = mpl_lua_job_new(L);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    moonplan_text text;
    moonplan_job *ran = mpl_lua_submit(L, self, work, true, &text);
    if (!ran) return mpl_lua_refuse(L, work, text);
    mpl_lua_job_keep(job, ran);
    job->warns = true;
    mpl_lua_work_close(work);
    lua_settop(L, 4);
    return 1;
}

/* -- Admission alone -------------------------------------------------------*/

typedef struct admitted {
    moonplan_step_plan *plan;
} admitted;

static int admitted_gc(lua_State *L);
static const luaL_Reg admitted_own[] = {{"__gc", admitted_gc}, {NULL, NULL}};
static const mpl_lua_type admitted_type = {"moonplan.admitted", "a plan", admitted_own};

static int admitted_gc(lua_State *L) {
    admitted *a = mpl_lua_check(L, 1, &admitted_type);
    moonplan_step_plan_free(a->plan);
    a->plan = NULL;
    return 0;
}

static void push_references(lua_State *L, const admitted *a, size_t step, size_t *next) {
    moonplan_reference reference;
    lua_newtable(L);
    for (lua_Integer n = 1; moonplan_step_plan_reference(a->plan, &reference, *next); n++) {
        if (reference.step != step) break;
        mpl_pointer at = {0, false, ""};
        mpl_pointer_of(&at, reference.at.document, reference.at.node);
        lua_createtable(L, 0, 4);
        set_text(L, "at", (moonplan_text){at.bytes, at.length});
        set_text(L, "ref", reference.text);
        set_text(L, "path", reference.path);
        lua_pushinteger(L, (lua_Integer)reference.target + 1);
        lua_setfield(L, -2, "step");
        lua_rawseti(L, -2, n);
        ++*next;
    }
    lua_setfield(L, -2, "references");
}

/* Version and risk are the registered capability's. */
static void push_step(lua_State *L, const moonplan_engine *engine, const admitted *a, size_t n,
                      size_t *next) {
    moonplan_step step;
    moonplan_text version, risk;
    moonplan_step_plan_step(a->plan, &step, n);
    lua_createtable(L, 0, 8);
    set_text(L, "id", step.id);
    set_text(L, "capability", step.capability);
    set_text(L, "reason", step.reason);
    set_text(L, "idempotency_key", step.idempotency_key);
    mpl_engine_known(engine, step.capability, &version, &risk);
    set_text(L, "version", version);
    set_text(L, "risk", risk);
    push_references(L, a, n, next);
}

/* Admit the plan at argument 2, with the options at 3. */
static bool admit(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work, admitted *a,
                  submission *s) {
    memset(s, 0, sizeof *s);
    if (!prepare(L, self, work, s, false)) {
        s->text = no_places;
        return false;
    }
    lua_State *outer = self->L;
    self->L = L;
    if (s->text.bytes)
        a->plan = moonplan_engine_admit_new(work->engine, s->text.bytes, s->text.length,
                                            &s->options, &work->err);
    else
        a->plan = mpl_engine_admit(work->engine, &s->plan, &s->options, &work->err);
    self->L = outer;
    return a->plan != NULL;
}

/* engine:approval{ plan = , step = , caller = , expires = }, or { job = id, expires = } */
static int engine_approval(lua_State *L) {
    static const char *const names[] = {"caller", "expires", "job", "plan", "step", NULL};
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) mpl_lua_field(L, -2, "an approval", names);
    /* 3 expires, 4 job, 5 step, 6 caller; the plan and the options of a run take 2 and 3 later. */
    static const char *const order[] = {"expires", "job", "step", "caller"};
    for (size_t i = 0; i < 4; i++) {
        lua_pushstring(L, order[i]);
        lua_rawget(L, 2);
    }
    int exact = 0;
    int64_t expires = lua_type(L, 3) == LUA_TNUMBER ? lua_tointegerx(L, 3, &exact) : 0;
    if (!exact) mpl_lua_bad_option(L, 2, "expires", "milliseconds since 1970, an integer", 3);
    moonplan_text job = no_places, step = no_places;
    if (!lua_isnil(L, 4)) job = mpl_lua_check_text(L, 4);
    if (!lua_isnil(L, 5)) step = mpl_lua_check_text(L, 5);
    lua_pushliteral(L, "plan");
    lua_rawget(L, 2);
    if (lua_isnil(L, -1) == lua_isnil(L, 4))
        luaL_argerror(L, 2, "either plan or job must be there");
    lua_replace(L, 2);
    lua_newtable(L);
    lua_pushvalue(L, 6);
    lua_setfield(L, -2, "caller");
    lua_replace(L, 3);
    admitted *a = mpl_lua_new(L, &admitted_type, sizeof *a, 0);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    moonplan_document *made = NULL;
    submission s;
    s.text = no_places;
    lua_State *outer;
    if (job.bytes) {
        outer = self->L;
        self->L = L;
        made = moonplan_approval_job_new(work->engine, job.bytes, job.length, expires, &work->err);
        self->L = outer;
    } else if (admit(L, self, work, a, &s)) {
        outer = self->L;
        self->L = L;
        made = moonplan_approval_plan_new(work->engine, a->plan, step, s.options.caller, expires,
                                          &work->err);
        self->L = outer;
    }
    if (!made) return mpl_lua_refuse(L, work, s.text);
    moonplan_document_free(work->document);
    work->document = made;
    mpl_lua_push_text(L, moonplan_value_source(moonplan_document_root(made)));
    mpl_lua_work_close(work);
    return 1;
}

/* engine:admit(plan, { caller = {...} }) */
static int engine_admit(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 3);
    admitted *a = mpl_lua_new(L, &admitted_type, sizeof *a, 0);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    submission s;
    if (!admit(L, self, work, a, &s)) return mpl_lua_refuse(L, work, s.text);
    size_t next = 0, count = moonplan_step_plan_count(a->plan);
    lua_createtable(L, 0, 3);
    set_text(L, "goal", moonplan_step_plan_goal(a->plan));
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        push_step(L, work->engine, a, i, &next);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "steps");
    mpl_lua_push_warnings(L, a->plan, s.text);
    lua_setfield(L, -2, "warnings");
    mpl_lua_work_close(work);
    return 1;
}

/* -- Subscribers -----------------------------------------------------------*/

/* The table from functions to numbers of one type; pushed. */
static void push_listeners(lua_State *L, moonplan_text type) {
    lua_getiuservalue(L, 1, MPL_LISTENERS);
    lua_pushlstring(L, type.bytes, type.length);
    if (lua_rawget(L, -2) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushlstring(L, type.bytes, type.length);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
    }
    lua_remove(L, -2);
}

/* Upvalues: the engine, the type, the function, its number. */
static int unsubscribe(lua_State *L) {
    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(1));
    mpl_lua_engine *self = mpl_lua_check(L, 1, &mpl_lua_engine_type);
    lua_Integer number = lua_tointeger(L, lua_upvalueindex(4));
    moonplan_text type = mpl_lua_check_text(L, lua_upvalueindex(2));
    if (!self->engine) return 0;
    push_listeners(L, type);
    lua_pushvalue(L, lua_upvalueindex(3));
    lua_rawget(L, -2);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) != number) return 0;
    lua_pop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(3));
    lua_pushnil(L);
    lua_rawset(L, -3);
    if (mpl_text_is(type, "log")) {
        lua_getiuservalue(L, 1, MPL_LISTENERS);
        lua_pushnil(L);
        lua_rawseti(L, -2, number);
        self->log_listeners--;
        return 0;
    }
    lua_State *outer = self->L;
    self->L = L;
    if (self->engine) moonplan_engine_unsubscribe(self->engine, (uint64_t)number);
    self->L = outer;
    return 0;
}

static void check_type(lua_State *L, moonplan_text type) {
    luaL_Buffer names;
    if (mpl_text_is(type, "*") || mpl_text_is(type, "log")) return;
    luaL_buffinit(L, &names);
    const char *known;
    for (size_t i = 0; (known = moonplan_event_type_at(i)); i++) {
        if (mpl_text_is(type, known)) return;
        luaL_addstring(&names, known);
        luaL_addstring(&names, ", ");
    }
    luaL_addstring(&names, "log, *");
    luaL_pushresult(&names);
    const char *all = lua_tostring(L, -1);
    luaL_argerror(L, 2,
                  lua_pushfstring(L, "there are no events of type %s; there are: %s",
                                  mpl_lua_push_key(L, 2), all));
}

/* The number of a new subscription of the function at 3; 0 when memory is short. */
static lua_Integer subscribe(lua_State *L, mpl_lua_engine *self, moonplan_text type) {
    if (mpl_text_is(type, "log")) {
        lua_getiuservalue(L, 1, MPL_LISTENERS);
        lua_pushvalue(L, 3);
        lua_rawseti(L, -2, self->log_last + 1);
        lua_pop(L, 1);
        self->log_listeners++;
        return ++self->log_last;
    }
    uint64_t number;
    lua_pushvalue(L, 3);
    lua_Integer anchor = mpl_lua_anchor(L, self);
    mpl_lua_check_engine(L, 1);
    mpl_lua_subscribe(L, self, type, anchor, &number);
    return (lua_Integer)number;
}

/* engine:on(type, function); the same function counts once for a type. */
static int engine_on(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text type = mpl_lua_check_text(L, 2);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 3);
    check_type(L, type);
    lua_settop(L, 3);
    push_listeners(L, type);
    lua_pushvalue(L, 3);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        /* Its place first, so that nothing raises once it is subscribed. */
        lua_pop(L, 1);
        lua_pushvalue(L, 3);
        lua_pushinteger(L, 0);
        lua_rawset(L, -3);
        lua_Integer number = subscribe(L, self, type);
        lua_pushvalue(L, 3);
        if (number)
            lua_pushinteger(L, number);
        else
            lua_pushnil(L);
        lua_rawset(L, -3);
        if (!number) luaL_error(L, "not enough memory");
        lua_pushinteger(L, number);
    }
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 5);
    lua_pushcclosure(L, unsubscribe, 4);
    return 1;
}

/* engine:reload() */
static int engine_reload(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 1);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    lua_State *outer = self->L;
    self->L = L;
    bool fine = mpl_plugins_reload(self->plugins, work->engine, &work->err);
    mpl_plugins_tell(self->plugins);
    self->L = outer;
    if (!fine) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_work_close(work);
    lua_pushboolean(L, 1);
    return 1;
}

/* engine:unregister(name) */
static int engine_unregister(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text name = mpl_lua_check_text(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    lua_State *outer = self->L;
    self->L = L;
    bool brought = mpl_plugins_withdraw(self->plugins, name, &work->err);
    bool there = false;
    if (work->err.code != MOONPLAN_MEMORY)
        there = moonplan_engine_unregister(work->engine, name.bytes, name.length);
    mpl_plugins_tell(self->plugins);
    self->L = outer;
    if (work->err.code == MOONPLAN_MEMORY) luaL_error(L, "not enough memory");
    mpl_lua_work_close(work);
    lua_pushboolean(L, there || brought);
    return 1;
}

static int engine_index(lua_State *L) {
    static const struct {
        const char *name;
        lua_CFunction method;
    } methods[] = {{"abis", mpl_lua_engine_abis},
                   {"admit", engine_admit},
                   {"approval", engine_approval},
                   {"build", mpl_lua_engine_build},
                   {"cancel", mpl_lua_engine_cancel},
                   {"capability", mpl_lua_engine_capability},
                   {"close", engine_close},
                   {"describe", mpl_lua_engine_describe},
                   {"drive", mpl_lua_engine_drive},
                   {"files", mpl_lua_engine_files},
                   {"job", mpl_lua_engine_job},
                   {"jobs", mpl_lua_engine_jobs},
                   {"list", mpl_lua_engine_list},
                   {"on", engine_on},
                   {"records", mpl_lua_engine_records},
                   {"reload", engine_reload},
                   {"resolve", mpl_lua_engine_resolve},
                   {"resume", mpl_lua_engine_resume},
                   {"run", engine_run},
                   {"run_many", mpl_lua_engine_run_many},
                   {"send", mpl_lua_engine_send},
                   {"sign_head", mpl_lua_engine_sign_head},
                   {"sign_plugins", mpl_lua_engine_sign_plugins},
                   {"test", mpl_lua_engine_test},
                   {"unregister", engine_unregister},
                   {"verify", mpl_lua_engine_verify},
                   {"verify_plugins", mpl_lua_engine_verify_plugins}};
    enum { METHODS = sizeof methods / sizeof *methods };
    const char *names[METHODS + 1];
    for (size_t i = 0; i < METHODS; i++) names[i] = methods[i].name;
    names[METHODS] = NULL;
    mpl_lua_check(L, 1, &mpl_lua_engine_type);
    lua_pushcfunction(L, methods[mpl_lua_field(L, 2, mpl_lua_engine_type.what, names)].method);
    return 1;
}
