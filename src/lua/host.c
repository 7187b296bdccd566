/* The host's own functions: capabilities, the authorizer, subscribers, clock and ids.
 *
 * Each callback runs what it does with Lua in one protected call and tells the engine afterwards;
 * C memory hangs from the callback's own frame. */
#include <lauxlib.h>
#include <string.h>
#include <time.h>

#include "../core/text.h"
#include "../engine/engine.h"
#include "capture.h"
#include "engine.h"

/* -- Anchors ---------------------------------------------------------------*/

/* Its address names the table from engines' addresses to their userdata, whose values are weak. */
static const char known;

void mpl_lua_know_engine(lua_State *L, mpl_lua_engine *self) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &known) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_createtable(L, 0, 1);
        lua_pushliteral(L, "v");
        lua_setfield(L, -2, "__mode");
        lua_setmetatable(L, -2);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &known);
    }
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, self);
    lua_pop(L, 1);
}

/* Nothing here allocates, so that nothing raises. */
void mpl_lua_push_engine(lua_State *L, mpl_lua_engine *self) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &known);
    lua_rawgetp(L, -1, self);
    lua_remove(L, -2);
}

static void push_value_of(lua_State *L, mpl_lua_engine *self, int which) {
    mpl_lua_push_engine(L, self);
    lua_getiuservalue(L, -1, which);
    lua_remove(L, -2);
}

lua_Integer mpl_lua_anchor(lua_State *L, mpl_lua_engine *self) {
    push_value_of(L, self, MPL_ANCHORS);
    lua_insert(L, -2);
    lua_rawseti(L, -2, self->last_anchor + 1);
    lua_pop(L, 1);
    return ++self->last_anchor;
}

void mpl_lua_push_anchor(lua_State *L, mpl_lua_engine *self, lua_Integer anchor) {
    push_value_of(L, self, MPL_ANCHORS);
    lua_rawgeti(L, -1, anchor);
    lua_remove(L, -2);
}

void mpl_lua_forget(mpl_lua_engine *self, lua_Integer anchor) {
    lua_State *L = self->L;
    if (!L || !lua_checkstack(L, 4)) return;
    mpl_lua_push_engine(L, self);
    if (lua_isuserdata(L, -1)) {
        lua_getiuservalue(L, -1, MPL_ANCHORS);
        lua_pushnil(L);
        lua_rawseti(L, -2, anchor);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

int mpl_lua_enter(mpl_lua_engine *self, lua_CFunction function, void *data, bool *on_stack) {
    lua_State *L = self->L;
    *on_stack = false;
    if (!L || !lua_checkstack(L, 4)) return LUA_ERRMEM;
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, data);
    int status = lua_pcall(L, 1, 0, 0);
    *on_stack = status != LUA_OK;
    return status;
}

/* A function of the host's, as data of a callback. */
typedef struct host_function {
    mpl_lua_engine *self;
    lua_Integer anchor;
} host_function;

static host_function *new_function(mpl_lua_engine *self, lua_Integer anchor) {
    host_function *function = mpl_allocate(&self->alloc, sizeof *function);
    if (function) *function = (host_function){self, anchor};
    return function;
}

static void release_function(void *data) {
    host_function *function = data;
    mpl_lua_engine *self = function->self;
    mpl_lua_forget(self, function->anchor);
    mpl_release(&self->alloc, function, sizeof *function);
}

/* -- Capabilities ----------------------------------------------------------*/

typedef struct host_call {
    mpl_lua_call call;
    const host_function *function;
} host_call;

static int call_function(lua_State *L) {
    host_call *call = lua_touserdata(L, 1);
    mpl_lua_engine *self = call->function->self;
    luaL_checkstack(L, 8, "no room for a call");
    mpl_lua_push_anchor(L, self, call->function->anchor);
    if (!mpl_lua_call_push(L, &call->call)) return 0;
    push_value_of(L, self, MPL_HOST_LOG);
    lua_setfield(L, -2, "log");
    lua_call(L, 2, 2);
    mpl_lua_call_take(L, &call->call);
    return 0;
}

/* In place of Lua's words, which do not say what to do about it. */
static void explain_yield(mpl_buffer *text) {
    static const char within[] = "attempt to yield across a C-call boundary";
    static const char outside[] = "attempt to yield from outside a coroutine";
    static const char instead[] = "a function of the host's cannot yield inside engine:run; "
                                  "engine:drive leaves the calls to the host";
    moonplan_text said = {text->bytes, text->length};
    if (!text->length || (!mpl_text_is(said, within) && !mpl_text_is(said, outside))) return;
    text->length = 0;
    mpl_buffer_add(text, instead, sizeof instead - 1);
}

static void run_function(void *data, moonplan_want *want) {
    host_call call;
    memset(&call, 0, sizeof call);
    call.function = data;
    mpl_lua_engine *self = call.function->self;
    call.call.options = &self->options;
    call.call.job_id = want->job_id;
    call.call.step_id = want->step_id;
    call.call.capability = want->capability;
    call.call.input = want->input;
    call.call.caller = want->caller;
    call.call.log = (mpl_log){mpl_lua_write_log, self};
    mpl_lua_call_open(&call.call, self->options.limits.values, NULL);
    mpl_lua_call *outer = self->call;
    self->call = &call.call;
    bool on_stack = false;
    int status = moonplan_want_token(want, call.call.token)
                     ? mpl_lua_enter(self, call_function, &call, &on_stack)
                     : LUA_ERRMEM;
    self->call = outer;
    if (status == LUA_OK) {
        mpl_lua_call_finish(&call.call);
    } else if (status == LUA_ERRMEM) {
        if (on_stack) lua_pop(self->L, 1);
        mpl_lua_call_fail(&call.call, MOONPLAN_JOB_MEMORY, "out of memory");
    } else {
        call.call.code = MOONPLAN_JOB_CAPABILITY_FAILED;
        call.call.text.length = call.call.code_text.length = 0;
        call.call.has_text = mpl_lua_pop_error(self->L, &call.call.text, &call.call.code_text);
        explain_yield(&call.call.text);
    }
    mpl_lua_call_answer(&call.call, want, want->capability);
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

/* One capability, whose table is on top of the stack. */
static bool read_one(lua_State *L, mpl_lua_work *work, mpl_lua_engine *self, size_t n,
                     moonplan_capability *out, lua_Integer *anchor) {
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
    lua_pushstring(L, fields[RUN]);
    if (lua_rawget(L, table) != LUA_TFUNCTION)
        luaL_argerror(L, 2, "the run of a capability must be a function");
    *anchor = mpl_lua_anchor(L, self);
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

static void forget_all(lua_State *L, mpl_lua_engine *self, const lua_Integer *anchors,
                       size_t count) {
    lua_State *outer = self->L;
    self->L = L;
    for (size_t i = 0; i < count; i++) mpl_lua_forget(self, anchors[i]);
    self->L = outer;
}

/* From here on nothing of Lua's is called that could raise. */
static bool register_all(mpl_lua_engine *self, moonplan_engine *engine, moonplan_capability *list,
                         const lua_Integer *anchors, size_t count, moonplan_error *err) {
    size_t made = 0;
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) fine = is_free(self, list[i].name, i, err);
    for (; fine && made < count; made++) {
        list[made].data = new_function(self, anchors[made]);
        if (list[made].data) continue;
        mpl_error_memory(err);
        fine = false;
        break;
    }
    fine = fine && moonplan_engine_register(engine, list, count, err);
    if (fine) return true;
    for (size_t i = 0; i < made; i++)
        mpl_release(&self->alloc, list[i].data, sizeof(host_function));
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
    lua_Integer *anchors = lua_newuserdatauv(L, count * sizeof *anchors, 0);
    memset(list, 0, count * sizeof *list);
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

/* -- The authorizer --------------------------------------------------------*/

typedef struct deciding {
    mpl_lua_engine *self;
    const moonplan_want *want;
    enum { MALFORMED, ALLOW, DENY, DENY_WITH_REASON } verdict;
    mpl_buffer text, code;
    moonplan_error err; /* of an input that cannot be shown */
} deciding;

static void set_text(lua_State *L, const char *name, moonplan_text text) {
    if (!text.bytes) return;
    lua_pushlstring(L, text.bytes, text.length);
    lua_setfield(L, -2, name);
}

static bool set_value(lua_State *L, deciding *d, const char *name, moonplan_value value) {
    mpl_lua_budget budget = {.depth = UINT64_MAX, .values = UINT64_MAX, .bytes = UINT64_MAX};
    if (moonplan_value_type(value) == MOONPLAN_NONE) return true;
    if (!mpl_lua_push(L, value, &budget, &d->err)) return false;
    lua_setfield(L, -2, name);
    return true;
}

static bool push_request(lua_State *L, deciding *d) {
    const moonplan_want *want = d->want;
    lua_createtable(L, 0, 5);
    set_text(L, "job_id", want->job_id);
    set_text(L, "step_id", want->step_id);
    lua_createtable(L, 0, 3);
    set_text(L, "name", want->capability);
    set_text(L, "version", want->version);
    set_text(L, "risk", want->risk);
    lua_setfield(L, -2, "capability");
    return set_value(L, d, "input", want->input) && set_value(L, d, "caller", want->caller);
}

/* The table on top: its own member `decision` and, to deny, `reason`, own or inherited. */
static void read_decision(lua_State *L, deciding *d) {
    int table = lua_gettop(L);
    mpl_lua_push_mark(L);
    if (lua_rawlen(L, table) > 0 || mpl_lua_marked(L, table, table + 1)) return;
    lua_pushliteral(L, "decision");
    if (lua_rawget(L, table) != LUA_TSTRING) return;
    moonplan_text decision, reason;
    decision.bytes = lua_tolstring(L, -1, &decision.length);
    if (mpl_text_is(decision, "allow")) d->verdict = ALLOW;
    if (!mpl_text_is(decision, "deny")) return;
    int type = lua_getfield(L, table, "reason");
    if (type == LUA_TNIL) d->verdict = DENY;
    if (type != LUA_TSTRING) return;
    reason.bytes = lua_tolstring(L, -1, &reason.length);
    mpl_buffer_add(&d->text, reason.bytes, reason.length);
    d->verdict = DENY_WITH_REASON;
}

static int call_authorizer(lua_State *L) {
    deciding *d = lua_touserdata(L, 1);
    luaL_checkstack(L, 10, "no room for a call");
    mpl_lua_push_anchor(L, d->self, d->self->authorizer);
    if (!push_request(L, d)) return 0;
    lua_call(L, 1, 2);
    if (lua_isnil(L, -2) && !lua_isnil(L, -1)) lua_error(L);
    lua_pop(L, 1);
    if (lua_istable(L, -1)) read_decision(L, d);
    return 0;
}

static void answer_failed(deciding *d, moonplan_want *want, int status, bool on_stack) {
    moonplan_failure failure = {.code = MOONPLAN_OK};
    if (status == LUA_ERRMEM) {
        if (on_stack) lua_pop(d->self->L, 1);
        failure.message = MOONPLAN_TEXT("out of memory");
    } else if (mpl_lua_pop_error(d->self->L, &d->text, &d->code) && !d->text.failed) {
        explain_yield(&d->text);
        failure.message = (moonplan_text){d->text.length ? d->text.bytes : "", d->text.length};
    }
    moonplan_want_fail_with(want, &failure);
}

void mpl_lua_decide(void *data, moonplan_want *want) {
    deciding d;
    bool on_stack;
    memset(&d, 0, sizeof d);
    d.self = data;
    d.want = want;
    mpl_buffer_open(&d.text, &d.self->alloc);
    mpl_buffer_open(&d.code, &d.self->alloc);
    int status = mpl_lua_enter(d.self, call_authorizer, &d, &on_stack);
    if (status != LUA_OK)
        answer_failed(&d, want, status, on_stack);
    else if (d.err.code != MOONPLAN_OK)
        moonplan_want_fail(want, (moonplan_text){d.err.message, strlen(d.err.message)});
    else if (d.verdict == ALLOW)
        moonplan_want_allow(want);
    else if (d.verdict == DENY)
        moonplan_want_deny(want, NULL, 0);
    else if (d.verdict == DENY_WITH_REASON && !d.text.failed)
        moonplan_want_deny(want, d.text.length ? d.text.bytes : "", d.text.length);
    else
        moonplan_want_decide(want, (moonplan_value){NULL, 0});
    mpl_buffer_close(&d.text);
    mpl_buffer_close(&d.code);
}

/* -- Subscribers -----------------------------------------------------------*/

typedef struct telling {
    const host_function *function;
    moonplan_document *event;
} telling;

static int call_subscriber(lua_State *L) {
    telling *t = lua_touserdata(L, 1);
    moonplan_error err;
    mpl_lua_budget budget = {.depth = UINT64_MAX, .values = UINT64_MAX, .bytes = UINT64_MAX};
    luaL_checkstack(L, 6, "no room for a call");
    mpl_lua_push_anchor(L, t->function->self, t->function->anchor);
    if (!mpl_lua_push(L, moonplan_document_root(t->event), &budget, &err)) return 0;
    lua_call(L, 1, 0);
    return 0;
}

/* What goes wrong here is nobody's but the subscriber's. */
static void notify(void *data, const moonplan_job *job, const moonplan_event *event) {
    (void)job;
    telling t = {.function = data};
    mpl_lua_engine *self = t.function->self;
    mpl_builder builder;
    mpl_build_open_wide(&builder, &self->options);
    mpl_event_write(&builder, event);
    t.event = mpl_build_finish(&builder, NULL);
    bool on_stack;
    if (t.event && mpl_lua_enter(self, call_subscriber, &t, &on_stack) != LUA_OK && on_stack)
        lua_pop(self->L, 1);
    moonplan_document_free(t.event);
}

bool mpl_lua_subscribe(lua_State *L, mpl_lua_engine *self, moonplan_text type, lua_Integer anchor,
                       uint64_t *number) {
    lua_State *outer = self->L;
    self->L = L;
    host_function *function = new_function(self, anchor);
    *number = 0;
    if (function) {
        moonplan_subscriber subscriber = {
            .notify = notify, .data = function, .release = release_function};
        *number = moonplan_engine_subscribe(self->engine, type.bytes, type.length, &subscriber);
        if (*number == 0) mpl_release(&self->alloc, function, sizeof *function);
    }
    if (*number == 0) mpl_lua_forget(self, anchor);
    self->L = outer;
    return *number != 0;
}

/* -- The log ---------------------------------------------------------------*/

struct logging {
    mpl_lua_engine *self;
    const mpl_log_entry *entry;
};

static void push_entry(lua_State *L, const struct logging *logging) {
    const mpl_log_entry *entry = logging->entry;
    moonplan_error err;
    mpl_lua_budget budget = {.depth = UINT64_MAX, .values = UINT64_MAX, .bytes = UINT64_MAX};
    char time[25];
    lua_createtable(L, 0, 7);
    lua_pushstring(L, entry->level);
    lua_setfield(L, -2, "level");
    set_text(L, "message", entry->message);
    set_text(L, "job_id", entry->job_id);
    set_text(L, "step_id", entry->step_id);
    set_text(L, "capability", entry->capability);
    mpl_time_write(time, mpl_lua_now(logging->self));
    lua_pushstring(L, time);
    lua_setfield(L, -2, "time");
    if (moonplan_value_type(entry->data) != MOONPLAN_NONE &&
        mpl_lua_push(L, entry->data, &budget, &err))
        lua_setfield(L, -2, "data");
}

static int tell_listeners(lua_State *L) {
    const struct logging *logging = lua_touserdata(L, 1);
    luaL_checkstack(L, 10, "no room for a call");
    push_value_of(L, logging->self, MPL_LISTENERS);
    lua_Integer last = logging->self->log_last;
    for (lua_Integer i = 1; i <= last; i++) {
        if (lua_rawgeti(L, -1, i) == LUA_TFUNCTION) {
            push_entry(L, logging);
            lua_pcall(L, 1, 0, 0);
        }
        lua_settop(L, 2);
    }
    return 0;
}

void mpl_lua_write_log(void *data, const mpl_log_entry *entry) {
    struct logging logging = {data, entry};
    bool on_stack;
    if (logging.self->log_listeners == 0) return;
    if (mpl_lua_enter(logging.self, tell_listeners, &logging, &on_stack) != LUA_OK && on_stack)
        lua_pop(logging.self->L, 1);
}

/* -- Clock and ids ---------------------------------------------------------*/

struct asking {
    mpl_lua_engine *self;
    int64_t time;
    char *id;
    bool fine;
};

static int ask_clock(lua_State *L) {
    struct asking *asking = lua_touserdata(L, 1);
    int exact = 0;
    mpl_lua_push_anchor(L, asking->self, asking->self->clock);
    lua_call(L, 0, 1);
    if (lua_type(L, -1) == LUA_TNUMBER) asking->time = lua_tointegerx(L, -1, &exact);
    asking->fine = exact != 0;
    return 0;
}

static int64_t system_time(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* A clock of the host's that fails stands still. */
int64_t mpl_lua_now(void *data) {
    struct asking asking = {.self = data};
    bool on_stack;
    if (asking.self->clock == 0) return system_time();
    if (mpl_lua_enter(asking.self, ask_clock, &asking, &on_stack) != LUA_OK && on_stack)
        lua_pop(asking.self->L, 1);
    if (asking.fine) asking.self->time = asking.time;
    return asking.self->time;
}

static int ask_id(lua_State *L) {
    struct asking *asking = lua_touserdata(L, 1);
    mpl_lua_push_anchor(L, asking->self, asking->self->make_id);
    lua_call(L, 0, 1);
    if (lua_type(L, -1) != LUA_TSTRING) return 0;
    size_t length;
    const char *id = lua_tolstring(L, -1, &length);
    if (length == 0 || length >= MOONPLAN_ID_SIZE) return 0;
    for (size_t i = 0; i < length; i++)
        if (id[i] < 0x21 || id[i] > 0x7e) return 0;
    memcpy(asking->id, id, length);
    asking->id[length] = 0;
    asking->fine = true;
    return 0;
}

bool mpl_lua_make_id(void *data, char out[MOONPLAN_ID_SIZE]) {
    struct asking asking = {.self = data, .id = out};
    bool on_stack;
    if (mpl_lua_enter(asking.self, ask_id, &asking, &on_stack) != LUA_OK && on_stack)
        lua_pop(asking.self->L, 1);
    return asking.fine;
}

/* -- Late inputs -----------------------------------------------------------*/

typedef struct reading {
    const host_function *source; /* its anchor is the table with what was read */
    size_t step;
    mpl_builder builder;
    bool building, table;
    moonplan_error err;
} reading;

static int read_input(lua_State *L) {
    reading *r = lua_touserdata(L, 1);
    luaL_checkstack(L, 8, "no room for a call");
    mpl_lua_push_anchor(L, r->source->self, r->source->anchor);
    mpl_lua_capture_input(L, lua_gettop(L), r->step);
    r->table = lua_istable(L, -1);
    if (!r->table) return 0;
    r->building = true;
    mpl_build_open(&r->builder, &r->source->self->options);
    mpl_lua_convert_input(L, &r->builder, &r->source->self->options, r->step, &r->err);
    return 0;
}

static void fail_input(moonplan_want *want, const moonplan_error *err) {
    char text[sizeof err->at + sizeof err->message + 8] = "";
    bool memory = err->code == MOONPLAN_MEMORY;
    moonplan_failure failure = {.code = memory ? MOONPLAN_MEMORY : MOONPLAN_JOB_INPUT_TYPE};
    if (err->at_length) strcat(strcat(text, err->at), ": ");
    strcat(text, err->message);
    failure.message = (moonplan_text){text, strlen(text)};
    moonplan_want_fail_with(want, &failure);
}

static void read_late(void *data, moonplan_want *want) {
    reading r;
    bool on_stack;
    memset(&r, 0, sizeof r);
    r.source = data;
    r.step = want->step;
    int status = mpl_lua_enter(r.source->self, read_input, &r, &on_stack);
    if (status != LUA_OK) {
        if (on_stack) lua_pop(r.source->self->L, 1);
        mpl_error_memory(&r.err);
    }
    moonplan_document *input = NULL;
    if (r.building && r.err.code == MOONPLAN_OK) {
        r.building = false;
        input = mpl_build_finish(&r.builder, &r.err);
    }
    if (r.building) mpl_build_close(&r.builder);
    if (r.err.code != MOONPLAN_OK)
        fail_input(want, &r.err);
    else if (r.table)
        mpl_want_take(want, input);
}

bool mpl_lua_source(lua_State *L, mpl_lua_engine *self, mpl_source *out) {
    host_function *source = new_function(self, mpl_lua_anchor(L, self));
    if (!source) return false;
    *out = (mpl_source){.read = read_late, .data = source, .release = release_function};
    return true;
}
