/* The host's own functions: the authorizer, subscribers, clock and ids.
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

void mpl_lua_explain_yield(mpl_buffer *text) {
    static const char within[] = "attempt to yield across a C-call boundary";
    static const char outside[] = "attempt to yield from outside a coroutine";
    static const char instead[] = "a function of the host's cannot yield inside engine:run; "
                                  "engine:drive leaves the calls to the host";
    moonplan_text said = {text->bytes, text->length};
    if (!text->length || (!mpl_text_is(said, within) && !mpl_text_is(said, outside))) return;
    text->length = 0;
    mpl_buffer_add(text, instead, sizeof instead - 1);
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
        mpl_lua_explain_yield(&d->text);
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
