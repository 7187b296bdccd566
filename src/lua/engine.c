/* moonplan.engine: the object and its methods. */
#include <lauxlib.h>
#include <string.h>

#include "../core/text.h"
#include "capture.h"
#include "engine.h"

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

static void push_warnings(lua_State *L, const moonplan_step_plan *plan, moonplan_text text) {
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
    return work;
}

/* engine:close() */
static int engine_close(lua_State *L) {
    const mpl_lua_engine *self = mpl_lua_check(L, 1, &mpl_lua_engine_type);
    if (self->L) luaL_error(L, "the engine is in the middle of something");
    return engine_gc(L);
}

/* Push a value that is known to be one of ours. */
static void push_own(lua_State *L, moonplan_value value) {
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

/* The options of a run. The caller's document goes to work->document. */
static bool read_caller(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work,
                        moonplan_text *caller) {
    static const char *const names[] = {"caller", NULL};
    *caller = no_places;
    if (lua_isnoneornil(L, 3)) return true;
    luaL_checktype(L, 3, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) mpl_lua_field(L, -2, "a run", names);
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
    if (!read_caller(L, self, work, &out->options.caller)) return false;
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
    job->job = mpl_lua_submit(L, self, work, true, &text);
    if (!job->job) return mpl_lua_refuse(L, work, text);
    bool fine = mpl_lua_job_take(job, job->job, &work->err);
    push_warnings(L, moonplan_job_plan(job->job), text);
    lua_setiuservalue(L, 4, 2); /* job.warnings */
    lua_State *outer = self->L;
    self->L = L;
    moonplan_job_free(job->job);
    self->L = outer;
    job->job = NULL;
    if (!fine) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_work_close(work);
    lua_settop(L, 4);
    return 1;
}

/* -- Admission alone -------------------------------------------------------*/

typedef struct admitted {
    moonplan_step_plan *plan;
    moonplan_document *capability;
} admitted;

static int admitted_gc(lua_State *L);
static const luaL_Reg admitted_own[] = {{"__gc", admitted_gc}, {NULL, NULL}};
static const mpl_lua_type admitted_type = {"moonplan.admitted", "a plan", admitted_own};

static int admitted_gc(lua_State *L) {
    admitted *a = mpl_lua_check(L, 1, &admitted_type);
    moonplan_step_plan_free(a->plan);
    moonplan_document_free(a->capability);
    *a = (admitted){NULL, NULL};
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
static void push_step(lua_State *L, moonplan_engine *engine, admitted *a, size_t n, size_t *next) {
    moonplan_step step;
    moonplan_step_plan_step(a->plan, &step, n);
    lua_createtable(L, 0, 8);
    set_text(L, "id", step.id);
    set_text(L, "capability", step.capability);
    set_text(L, "reason", step.reason);
    set_text(L, "idempotency_key", step.idempotency_key);
    moonplan_document_free(a->capability);
    a->capability = moonplan_engine_describe_new(engine, step.capability, no_places, NULL);
    if (a->capability) {
        moonplan_value root = moonplan_document_root(a->capability);
        set_text(L, "version", moonplan_value_string(moonplan_value_member(root, "version", 7)));
        set_text(L, "risk", moonplan_value_string(moonplan_value_member(root, "risk", 4)));
    }
    push_references(L, a, n, next);
}

/* engine:admit(plan, { caller = {...} }) */
static int engine_admit(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 3);
    admitted *a = mpl_lua_new(L, &admitted_type, sizeof *a, 0);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    submission s;
    if (!prepare(L, self, work, &s, false)) return mpl_lua_refuse(L, work, no_places);
    lua_State *outer = self->L;
    self->L = L;
    if (s.text.bytes)
        a->plan = moonplan_engine_admit_new(work->engine, s.text.bytes, s.text.length, &s.options,
                                            &work->err);
    else
        a->plan = mpl_engine_admit(work->engine, &s.plan, &s.options, &work->err);
    self->L = outer;
    if (!a->plan) return mpl_lua_refuse(L, work, s.text);
    size_t next = 0, count = moonplan_step_plan_count(a->plan);
    lua_createtable(L, 0, 3);
    set_text(L, "goal", moonplan_step_plan_goal(a->plan));
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        push_step(L, work->engine, a, i, &next);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "steps");
    push_warnings(L, a->plan, s.text);
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

static const char *const event_types[] = {
    "job.created",          "execution.started", "capability.started",
    "capability.completed", "capability.denied", "capability.failed",
    "job.completed",        "job.failed",        NULL};

static void check_type(lua_State *L, moonplan_text type) {
    luaL_Buffer names;
    if (mpl_text_is(type, "*") || mpl_text_is(type, "log")) return;
    luaL_buffinit(L, &names);
    for (size_t i = 0; event_types[i]; i++) {
        if (mpl_text_is(type, event_types[i])) return;
        luaL_addstring(&names, event_types[i]);
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

/* -- Catalogue -------------------------------------------------------------*/

static void set_file(lua_State *L, const mpl_plugin *plugin) {
    moonplan_text folder = mpl_plugin_folder(plugin);
    if (folder.bytes) {
        lua_pushlstring(L, folder.bytes, folder.length);
        lua_pushfstring(L, "%s/%s", lua_tostring(L, -1), plugin->file);
        lua_remove(L, -2);
    } else {
        lua_pushstring(L, plugin->file);
    }
    lua_setfield(L, -2, "file");
    lua_pushboolean(L, folder.bytes == NULL);
    lua_setfield(L, -2, "shipped");
}

/* Push one error table, with the file. */
static void push_problem(lua_State *L, const moonplan_error *err, const mpl_plugin *plugin) {
    moonplan_error copy = *err;
    mpl_lua_push_errors(L, &copy, 1, no_places);
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
    set_file(L, plugin);
}

/* What is wrong with an item that has been loaded: another brings its name as well. */
static bool is_refused(mpl_lua_engine *self, const moonplan_engine *engine,
                       const mpl_plugin_item *item, moonplan_error *err) {
    const mpl_plugin_item *found = mpl_plugins_find(self->plugins, item->item->name, err);
    if (found == item) {
        /* The host's came first, or took the place of what it had withdrawn. */
        if (item->registered || mpl_plugins_withdrawn(self->plugins, item->item->name) ||
            !mpl_engine_has(engine, item->item->name))
            return false;
        mpl_error_set(err, MOONPLAN_PLUGIN_DUPLICATE, MOONPLAN_NO_OFFSET, NULL,
                      "%s: %q is a capability of the host's, which is used", item->plugin->file,
                      &item->item->name);
        return true;
    }
    if (found)
        mpl_error_set(err, MOONPLAN_PLUGIN_DUPLICATE, MOONPLAN_NO_OFFSET, NULL,
                      "%s: %q is brought by the shipped %s", item->plugin->file, &item->item->name,
                      found->plugin->file);
    return true;
}

/* Push a list of what cannot be used. */
static void push_problems(lua_State *L, mpl_lua_engine *self, const moonplan_engine *engine) {
    lua_Integer n = 0;
    lua_newtable(L);
    for (size_t i = 0; i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        moonplan_error err = plugin->broken;
        for (size_t j = 0; j <= plugin->item_count; j++) {
            if (j > 0 && !is_refused(self, engine, &plugin->items[j - 1], &err)) continue;
            if (err.code == MOONPLAN_OK) continue;
            push_problem(L, &err, plugin);
            lua_rawseti(L, -2, ++n);
        }
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
}

int mpl_lua_engine_strict(lua_State *L, mpl_lua_engine *self) {
    int top = lua_gettop(L);
    push_problems(L, self, self->engine);
    if (lua_rawlen(L, -1) == 0) {
        lua_settop(L, top);
        return 1;
    }
    lua_pushnil(L);
    lua_rawgeti(L, -2, 1);
    lua_pushvalue(L, top + 1);
    lua_setfield(L, -2, "errors");
    return 2;
}

static bool load_all(lua_State *L, mpl_lua_engine *self, moonplan_text name, moonplan_error *err) {
    lua_State *outer = self->L;
    self->L = L;
    bool fine = mpl_plugins_load(self->plugins, name, err);
    self->L = outer;
    return fine;
}

/* The description of a registered capability, in work->document, as a table. */
static void push_description(lua_State *L, mpl_lua_engine *self, moonplan_value description) {
    push_own(L, description);
    moonplan_text name = moonplan_value_string(moonplan_value_member(description, "name", 4));
    const mpl_plugin_item *item = mpl_plugins_find(self->plugins, name, NULL);
    if (item && item->registered) set_file(L, item->plugin);
}

/* Register all that plugins bring and that can be used. */
static bool register_all(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work) {
    bool fine = true;
    moonplan_error *err = &work->err;
    lua_State *outer = self->L;
    self->L = L;
    for (size_t i = 0; fine && i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        for (size_t j = 0; fine && j < plugin->item_count; j++)
            fine = mpl_plugins_register(self->plugins, work->engine, plugin->items[j].item->name,
                                        err) ||
                   err->code != MOONPLAN_MEMORY;
    }
    self->L = outer;
    return fine;
}

/* engine:list() */
static int engine_list(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 1);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    if (!load_all(L, self, no_places, &work->err) || !register_all(L, self, work))
        return mpl_lua_refuse(L, work, no_places);
    work->document = moonplan_engine_list_new(work->engine, &work->err);
    if (!work->document) return mpl_lua_refuse(L, work, no_places);
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(work->document));
    lua_newtable(L);
    for (lua_Integer n = 1; moonplan_walk_next(&walk); n++) {
        push_description(L, self, walk.value);
        lua_rawseti(L, -2, n);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    push_problems(L, self, work->engine);
    mpl_lua_work_close(work);
    return 2;
}

/* engine:describe(name, version) */
static int engine_describe(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text name = mpl_lua_check_text(L, 2), version = no_places;
    lua_settop(L, 3);
    if (!lua_isnil(L, 3)) version = mpl_lua_check_text(L, 3);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    lua_State *outer = self->L;
    self->L = L;
    if (!mpl_engine_has(work->engine, name))
        mpl_plugins_register(self->plugins, work->engine, name, &work->err);
    self->L = outer;
    if (work->err.code == MOONPLAN_OK)
        work->document = moonplan_engine_describe_new(work->engine, name, version, &work->err);
    if (!work->document) {
        if (work->err.code != MOONPLAN_OK) return mpl_lua_refuse(L, work, no_places);
        mpl_lua_work_close(work);
        lua_pushnil(L);
        return 1;
    }
    push_description(L, self, moonplan_document_root(work->document));
    const mpl_plugin_item *item = mpl_plugins_find(self->plugins, name, NULL);
    if (item && item->registered) {
        moonplan_value examples = moonplan_value_member(item->item->value, "examples", 8);
        if (moonplan_value_count(examples)) {
            push_own(L, examples);
            lua_setfield(L, -2, "examples");
        }
    }
    mpl_lua_work_close(work);
    return 1;
}

static void push_file(lua_State *L, mpl_lua_engine *self, const moonplan_engine *engine,
                      const mpl_plugin *plugin) {
    lua_createtable(L, 0, 5);
    set_text(L, "name", (moonplan_text){plugin->name, strlen(plugin->name)});
    set_file(L, plugin);
    lua_createtable(L, (int)plugin->item_count, 0);
    moonplan_error err = plugin->broken;
    for (size_t i = 0; i < plugin->item_count; i++) {
        moonplan_error refused;
        moonplan_text name = plugin->items[i].item->name;
        if (is_refused(self, engine, &plugin->items[i], &refused) && err.code == MOONPLAN_OK)
            err = refused;
        lua_pushlstring(L, name.bytes, name.length);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "capabilities");
    if (err.code == MOONPLAN_OK) return;
    push_problem(L, &err, plugin);
    lua_setfield(L, -2, "err");
}

/* engine:files(name) */
static int engine_files(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text name = no_places;
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) name = mpl_lua_check_text(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    if (!load_all(L, self, name, &work->err)) return mpl_lua_refuse(L, work, no_places);
    lua_newtable(L);
    lua_Integer n = 0;
    for (size_t i = 0; i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        if (name.bytes && !mpl_text_is(name, plugin->name)) continue;
        push_file(L, self, work->engine, plugin);
        lua_rawseti(L, -2, ++n);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    mpl_lua_work_close(work);
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
    self->L = outer;
    if (work->err.code == MOONPLAN_MEMORY) luaL_error(L, "not enough memory");
    mpl_lua_work_close(work);
    lua_pushboolean(L, there || brought);
    return 1;
}

/* -- Jobs ------------------------------------------------------------------*/

/* engine:jobs() */
static int engine_jobs(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    work->document = moonplan_engine_jobs_new(work->engine, &work->err);
    if (!work->document) return mpl_lua_refuse(L, work, no_places);
    push_own(L, moonplan_document_root(work->document));
    mpl_lua_work_close(work);
    return 1;
}

/* engine:job(id) */
static int engine_job(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text id = mpl_lua_check_text(L, 2);
    mpl_lua_job *job = mpl_lua_job_new(L);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    job->document = moonplan_engine_job_new(work->engine, id.bytes, id.length, &work->err);
    if (!job->document && work->err.code != MOONPLAN_OK) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_work_close(work);
    lua_pop(L, 1);
    if (!job->document) lua_pushnil(L);
    return 1;
}

static int engine_index(lua_State *L) {
    static const char *const names[] = {"admit",  "capability", "close", "describe",   "drive",
                                        "files",  "job",        "jobs",  "list",       "on",
                                        "reload", "run",        "test",  "unregister", NULL};
    static const lua_CFunction methods[] = {engine_admit,         mpl_lua_engine_capability,
                                            engine_close,         engine_describe,
                                            mpl_lua_engine_drive, engine_files,
                                            engine_job,           engine_jobs,
                                            engine_list,          engine_on,
                                            engine_reload,        engine_run,
                                            mpl_lua_engine_test,  engine_unregister};
    mpl_lua_check(L, 1, &mpl_lua_engine_type);
    lua_pushcfunction(L, methods[mpl_lua_field(L, 2, mpl_lua_engine_type.what, names)]);
    return 1;
}
