/* engine:capability{...}: functions of the host's as capabilities. */
#include <lauxlib.h>
#include <string.h>

#include "../core/text.h"
#include "../engine/engine.h"
#include "engine.h"

/* Its functions, by their anchors; 0: there is none. */
typedef struct host_capability {
    mpl_lua_engine *self;
    lua_Integer run, check;
} host_capability;

static host_capability *new_function(mpl_lua_engine *self, lua_Integer run, lua_Integer check) {
    host_capability *function = mpl_allocate(&self->alloc, sizeof *function);
    if (function) *function = (host_capability){self, run, check};
    return function;
}

static void release_function(void *data) {
    host_capability *function = data;
    mpl_lua_engine *self = function->self;
    mpl_lua_forget(self, function->run);
    if (function->check) mpl_lua_forget(self, function->check);
    mpl_release(&self->alloc, function, sizeof *function);
}

/* -- Calling ---------------------------------------------------------------*/

typedef struct host_call {
    mpl_lua_call call;
    mpl_lua_engine *self;
    lua_Integer anchor;
} host_call;

static int call_function(lua_State *L) {
    host_call *call = lua_touserdata(L, 1);
    mpl_lua_engine *self = call->self;
    luaL_checkstack(L, 8, "no room for a call");
    mpl_lua_push_anchor(L, self, call->anchor);
    if (!mpl_lua_call_push(L, &call->call)) return 0;
    mpl_lua_push_engine(L, self);
    lua_getiuservalue(L, -1, MPL_HOST_LOG);
    lua_remove(L, -2);
    lua_setfield(L, -2, "log");
    lua_call(L, 2, 2);
    mpl_lua_call_take(L, &call->call);
    return 0;
}

/* A call about a step, which `call` holds until it is closed. */
static void run_for(host_call *call, mpl_lua_engine *self, lua_Integer anchor,
                    const moonplan_want *want) {
    mpl_lua_call *made = &call->call;
    memset(call, 0, sizeof *call);
    call->self = self;
    call->anchor = anchor;
    made->options = &self->options;
    made->job_id = want->job_id;
    made->step_id = want->step_id;
    made->capability = want->capability;
    made->input = want->input;
    made->caller = want->caller;
    made->log = (mpl_log){mpl_lua_write_log, self};
    mpl_lua_call_open(made, self->options.limits.values, NULL);
    mpl_lua_call *outer = self->call;
    self->call = made;
    bool on_stack = false;
    int status = moonplan_want_token(want, made->token)
                     ? mpl_lua_enter(self, call_function, call, &on_stack)
                     : LUA_ERRMEM;
    self->call = outer;
    if (status == LUA_OK) {
        mpl_lua_call_finish(made);
    } else if (status == LUA_ERRMEM) {
        if (on_stack) lua_pop(self->L, 1);
        mpl_lua_call_fail(made, MOONPLAN_JOB_MEMORY, "out of memory");
    } else {
        made->code = MOONPLAN_JOB_CAPABILITY_FAILED;
        made->text.length = made->code_text.length = 0;
        made->has_text = mpl_lua_pop_error(self->L, &made->text, &made->code_text);
        mpl_lua_explain_yield(&made->text);
    }
}

static void run_function(void *data, moonplan_want *want) {
    const host_capability *function = data;
    host_call call;
    run_for(&call, function->self, function->run, want);
    mpl_lua_call_answer(&call.call, want, want->capability);
    mpl_lua_call_close(&call.call);
}

static void check_function(void *data, moonplan_want *want) {
    const host_capability *function = data;
    host_call call;
    run_for(&call, function->self, function->check, want);
    mpl_lua_call_outcome(&call.call, want);
    mpl_lua_call_close(&call.call);
}

/* -- Registering -----------------------------------------------------------*/

static const char *const fields[] = {"api",     "check",   "examples", "input", "kind",
                                     "name",    "needs",   "output",   "risk",  "run",
                                     "summary", "version", NULL};
enum { API, CHECK, EXAMPLES, INPUT, KIND, NAME, NEEDS, OUTPUT, RISK, RUN, SUMMARY, VERSION };

static moonplan_text text_field(lua_State *L, int table, int field, bool required) {
    moonplan_text text = {NULL, 0};
    lua_pushstring(L, fields[field]);
    int type = lua_rawget(L, table);
    if (type == LUA_TSTRING)
        text.bytes = lua_tolstring(L, -1, &text.length); /* the table keeps it alive */
    else if (type != LUA_TNIL || required)
        luaL_argerror(L, 2,
                      lua_pushfstring(L, "the %s of a capability must be a string, not a %s",
                                      fields[field], lua_typename(L, type)));
    lua_pop(L, 1);
    return text;
}

/* A plugin file has to say these; a host may. */
static void check_kind(lua_State *L, int table) {
    moonplan_text kind = text_field(L, table, KIND, false);
    if (kind.bytes && !mpl_text_is(kind, "capability"))
        luaL_argerror(L, 2, "the kind of a capability must be \"capability\"; there is no other");
    lua_pushstring(L, fields[API]);
    if (lua_rawget(L, table) != LUA_TNIL) {
        lua_pushinteger(L, 1);
        if (!lua_rawequal(L, -1, -2))
            luaL_argerror(L, 2, "the api of a capability must be 1; there is no other");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* Append a schema, or null, to the list that is being built. */
static bool put_schema(lua_State *L, mpl_lua_work *work, const mpl_lua_engine *self, int table,
                       int field, const mpl_pointer *at) {
    mpl_pointer place = *at;
    mpl_pointer_name(&place, (moonplan_text){fields[field], strlen(fields[field])});
    mpl_lua_budget budget = mpl_lua_budget_of(&self->options.limits);
    lua_pushstring(L, fields[field]);
    lua_rawget(L, table);
    bool fine = mpl_lua_build(L, -1, &work->builder, &budget, &place, &work->err);
    if (!fine && work->err.code != MOONPLAN_MEMORY) work->err.code = MOONPLAN_PLUGIN_MANIFEST;
    lua_pop(L, 1);
    return fine;
}

/* The anchors of a capability's functions; 0: there is none. */
typedef struct anchored {
    lua_Integer run, check;
} anchored;

/* Push a field that has to be of this type; whether it is there. */
static bool push_field(lua_State *L, int table, int field, int wanted, bool required) {
    lua_pushstring(L, fields[field]);
    int type = lua_rawget(L, table);
    if (type != wanted && (required || type != LUA_TNIL))
        luaL_argerror(L, 2,
                      lua_pushfstring(L, "the %s of a capability must be a %s", fields[field],
                                      lua_typename(L, wanted)));
    return type != LUA_TNIL;
}

/* One capability, whose table is on top of the stack. */
static bool read_one(lua_State *L, mpl_lua_work *work, mpl_lua_engine *self, size_t n,
                     moonplan_capability *out, anchored *anchors) {
    int table = lua_gettop(L);
    mpl_pointer place = {0, false, ""};
    mpl_pointer_index(&place, n);
    if (!lua_istable(L, table)) luaL_argerror(L, 2, "a capability is a table");
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
        if (mpl_lua_field(L, -2, "a capability", fields) == NEEDS)
            luaL_argerror(L, 2, "a function of the host's is granted nothing; leave needs out");
    check_kind(L, table);
    out->name = text_field(L, table, NAME, true);
    out->version = text_field(L, table, VERSION, false);
    out->summary = text_field(L, table, SUMMARY, false);
    out->risk = text_field(L, table, RISK, false);
    out->lua_values = true;
    out->run = run_function;
    out->release = release_function;
    push_field(L, table, EXAMPLES, LUA_TTABLE, false);
    push_field(L, table, RUN, LUA_TFUNCTION, true);
    if (push_field(L, table, CHECK, LUA_TFUNCTION, false)) {
        out->check = check_function;
        anchors->check = mpl_lua_anchor(L, self);
    } else {
        lua_pop(L, 1);
    }
    anchors->run = mpl_lua_anchor(L, self);
    lua_settop(L, table);
    return put_schema(L, work, self, table, INPUT, &place) &&
           put_schema(L, work, self, table, OUTPUT, &place);
}

static void set_schemas(moonplan_capability *list, size_t count, const moonplan_document *schemas) {
    moonplan_value root = moonplan_document_root(schemas);
    for (size_t i = 0; i < count; i++) {
        moonplan_value input = moonplan_value_element(root, 2 * i);
        moonplan_value output = moonplan_value_element(root, 2 * i + 1);
        if (moonplan_value_type(input) != MOONPLAN_NULL)
            list[i].input = moonplan_value_source(input);
        if (moonplan_value_type(output) != MOONPLAN_NULL)
            list[i].output = moonplan_value_source(output);
    }
}

/* No plugin brings the name. */
static bool is_free(mpl_lua_engine *self, moonplan_text name, size_t n, moonplan_error *err) {
    moonplan_error problem;
    mpl_pointer place = {0, false, ""};
    if (mpl_plugins_withdrawn(self->plugins, name)) return true;
    const mpl_plugin_item *item = mpl_plugins_find(self->plugins, name, &problem);
    if (!item && problem.code != MOONPLAN_MEMORY) return true;
    mpl_pointer_index(&place, n);
    mpl_pointer_name(&place, MOONPLAN_TEXT("name"));
    if (item)
        mpl_error_set(err, MOONPLAN_PLUGIN_DUPLICATE, MOONPLAN_NO_OFFSET, &place,
                      "the plugin %s brings %q already", item->plugin->file, &name);
    else
        *err = problem;
    return false;
}

static void forget_all(lua_State *L, mpl_lua_engine *self, const anchored *anchors, size_t count) {
    lua_State *outer = self->L;
    self->L = L;
    for (size_t i = 0; i < count; i++) {
        mpl_lua_forget(self, anchors[i].run);
        if (anchors[i].check) mpl_lua_forget(self, anchors[i].check);
    }
    self->L = outer;
}

/* From here on nothing of Lua's is called that could raise. */
static bool register_all(mpl_lua_engine *self, moonplan_engine *engine, moonplan_capability *list,
                         const anchored *anchors, size_t count, moonplan_error *err) {
    size_t made = 0;
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) fine = is_free(self, list[i].name, i, err);
    for (; fine && made < count; made++) {
        list[made].data = new_function(self, anchors[made].run, anchors[made].check);
        if (list[made].data) continue;
        mpl_error_memory(err);
        fine = false;
        break;
    }
    fine = fine && moonplan_engine_register(engine, list, count, err);
    if (fine) return true;
    for (size_t i = 0; i < made; i++)
        mpl_release(&self->alloc, list[i].data, sizeof(host_capability));
    forget_all(self->L, self, anchors, count);
    return false;
}

/* engine:capability{...}, or a list of them */
int mpl_lua_engine_capability(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    size_t length = lua_rawlen(L, 2), count = length ? length : 1;
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    moonplan_capability *list = lua_newuserdatauv(L, count * sizeof *list, 0);
    anchored *anchors = lua_newuserdatauv(L, count * sizeof *anchors, 0);
    memset(list, 0, count * sizeof *list);
    memset(anchors, 0, count * sizeof *anchors);
    work->building = true;
    mpl_build_open(&work->builder, &self->options);
    mpl_build_array(&work->builder);
    for (size_t i = 0; i < count; i++) {
        if (length)
            lua_rawgeti(L, 2, (lua_Integer)i + 1);
        else
            lua_pushvalue(L, 2);
        if (!read_one(L, work, self, i, &list[i], &anchors[i])) {
            forget_all(L, self, anchors, i + 1);
            return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
        }
        lua_pop(L, 1);
    }
    mpl_build_end(&work->builder);
    work->building = false;
    work->document = mpl_build_finish(&work->builder, &work->err);
    bool fine = work->document != NULL;
    if (fine) {
        set_schemas(list, count, work->document);
        lua_State *outer = self->L;
        self->L = L;
        fine = register_all(self, work->engine, list, anchors, count, &work->err);
        self->L = outer;
    }
    if (!fine) return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_work_close(work);
    lua_pushboolean(L, 1);
    return 1;
}
