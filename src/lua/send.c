/* engine:send(plan, options): a call plan handed to an executor. What is asked in which order
 * stands in lua/moonplan/send.lua, which runs in the host's state; here is what it asks with. */
#include <lauxlib.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "../core/text.h"
#include "engine.h"
#include "module.h"
#include "send.h"

static const moonplan_text no_places = {NULL, 0};

/* -- One question ------------------------------------------------------------------*/

typedef struct asking {
    mpl_plugin_call call;
    moonplan_document *question;
    bool open;
} asking;

static int asking_gc(lua_State *L);
static const luaL_Reg asking_own[] = {{"__gc", asking_gc}, {NULL, NULL}};
static const mpl_lua_type asking_type = {"moonplan.asking", "a question to an executor",
                                         asking_own};

static void close_asking(asking *a) {
    if (a->open) mpl_lua_call_close(&a->call.call);
    a->open = false;
    moonplan_document_free(a->question);
    a->question = NULL;
}

static int asking_gc(lua_State *L) {
    close_asking(mpl_lua_check(L, 1, &asking_type));
    return 0;
}

/* nil, { kind, message } */
static int push_failure(lua_State *L, moonplan_text kind, moonplan_text message) {
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushlstring(L, kind.bytes, kind.length);
    lua_setfield(L, -2, "kind");
    lua_pushlstring(L, message.bytes, message.length);
    lua_setfield(L, -2, "message");
    return 2;
}

static int push_error(lua_State *L, const moonplan_error *err) {
    return push_failure(L, MOONPLAN_TEXT("executor"),
                        (moonplan_text){err->message, strlen(err->message)});
}

static int push_outcome(lua_State *L, mpl_lua_engine *self, asking *a) {
    const mpl_lua_call *call = &a->call.call;
    moonplan_error err = {.code = MOONPLAN_OK};
    if (call->code != MOONPLAN_OK) {
        moonplan_text kind = {call->code_text.bytes, call->code_text.length};
        moonplan_text message = {call->text.bytes, call->text.length};
        if (kind.length == 0 || call->code_text.failed) kind = MOONPLAN_TEXT("executor");
        if (call->text.failed)
            message = MOONPLAN_TEXT("out of memory");
        else if (!call->has_text)
            message = MOONPLAN_TEXT("the executor failed, and does not say why");
        return push_failure(L, kind, message);
    }
    mpl_lua_budget budget = mpl_lua_budget_of(&self->options.limits);
    if (!call->result)
        return push_failure(L, MOONPLAN_TEXT("answer"), MOONPLAN_TEXT("the executor gave nothing"));
    if (!mpl_lua_push(L, moonplan_document_root(call->result), &budget, &err))
        return push_error(L, &err);
    return 1;
}

/* The Lua value at 2 becomes a->question. */
static bool read_question(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work, asking *a) {
    mpl_lua_budget budget = mpl_lua_budget_of(&self->options.limits);
    mpl_build_open(&work->builder, &self->options);
    work->building = true;
    if (!mpl_lua_build(L, 2, &work->builder, &budget, NULL, &work->err)) return false;
    work->building = false;
    a->question = mpl_build_finish(&work->builder, &work->err);
    return a->question != NULL;
}

static mpl_plugin_item *find_executor(lua_State *L, mpl_lua_engine *self, moonplan_text name,
                                      moonplan_error *err) {
    mpl_plugin_item *item = mpl_lua_engine_find(L, self, name, err);
    if (item && item->item->kind == MPL_EXECUTOR) return item;
    if (item)
        mpl_error_set(err, MOONPLAN_SEND_EXECUTOR, MOONPLAN_NO_OFFSET, NULL,
                      "%q is %s; what sends is an executor", &name,
                      mpl_kinds[item->item->kind].article);
    else if (err->code == MOONPLAN_OK)
        mpl_error_set(err, MOONPLAN_SEND_EXECUTOR, MOONPLAN_NO_OFFSET, NULL,
                      "no plugin brings an executor %q", &name);
    return NULL;
}

/* ask(name, question) -> answer, or nil and a failure. Upvalues: the engine, the executor's name.
 * engine:send holds the engine while this can be called. */
static int ask(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check(L, lua_upvalueindex(1), &mpl_lua_engine_type);
    moonplan_text executor = mpl_lua_check_text(L, lua_upvalueindex(2));
    mpl_function function = mpl_function_of(mpl_lua_check_text(L, 1));
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    asking *a = mpl_lua_new(L, &asking_type, sizeof *a, 0);
    mpl_plugin_item *item = find_executor(L, self, executor, &work->err);
    if (!item || !read_question(L, self, work, a)) {
        moonplan_error err = work->err;
        mpl_lua_work_close(work);
        return push_error(L, &err);
    }
    mpl_plugin_call *call = &a->call;
    call->plugin = item->plugin;
    call->item = item->item;
    call->function = function;
    call->call.options = &item->plugin->owner->options;
    call->call.job_id = call->call.step_id = MOONPLAN_TEXT("send");
    call->call.capability = item->item->name;
    call->call.input = moonplan_document_root(a->question);
    call->call.log = item->plugin->owner->setup.log;
    memset(call->call.token, '0', sizeof call->call.token - 1);
    a->open = true;
    mpl_plugin_hold(item->plugin);
    lua_State *outer = self->L;
    self->L = L;
    mpl_plugin_run(call);
    self->L = outer;
    mpl_plugin_drop(call->plugin);
    int count = push_outcome(L, self, a);
    close_asking(a);
    mpl_lua_work_close(work);
    return count;
}

/* -- What else the loop is given -------------------------------------------------------*/

/* wait(ms): a signal ends it, so that whoever handles signals comes to that. */
static int wait_for(lua_State *L) {
    lua_Integer ms = luaL_checkinteger(L, 1);
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    if (ms > 0) (void)nanosleep(&time, NULL);
    return 0;
}

/* now(): milliseconds of a clock that is never set. */
static int now(lua_State *L) {
    struct timespec time = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    lua_pushinteger(L, (lua_Integer)time.tv_sec * 1000 + (lua_Integer)time.tv_nsec / 1000000);
    return 1;
}

/* token(): "0x" and 64 digits that nobody has had before. */
static int token(lua_State *L) {
    uint8_t bytes[32];
    randombytes_buf(bytes, sizeof bytes);
    mpl_lua_push_hash(L, bytes);
    return 1;
}

static int quote(lua_State *L) {
    mpl_lua_push_quoted(L, mpl_lua_check_text(L, 1), 96);
    return 1;
}

/* -- Options ---------------------------------------------------------------------------*/

#define RETRIES_MOST    100
#define TIMEOUT_MS_MOST 86400000

static lua_Integer check_count(lua_State *L, const char *name, lua_Integer most) {
    int exact = 0;
    lua_Integer count = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : -1;
    if (!exact || count < 0 || count > most)
        luaL_argerror(L, 3,
                      lua_pushfstring(L, "%s must be a whole number from 0 to %I", name, most));
    return count;
}

static void check_option(lua_State *L, int which, const char *name) {
    enum { ABIS, CONFIRM, DIGEST, EXECUTOR, RECORD, RETRY_RPC, SIMULATE_ONLY, TIMEOUT_MS };
    static const int types[] = {LUA_TTABLE,    LUA_TFUNCTION, LUA_TSTRING,  LUA_TSTRING,
                                LUA_TFUNCTION, LUA_TNUMBER,   LUA_TBOOLEAN, LUA_TNUMBER};
    if (which == RETRY_RPC) check_count(L, name, RETRIES_MOST);
    if (which == TIMEOUT_MS) check_count(L, name, TIMEOUT_MS_MOST);
    if (lua_type(L, -1) != types[which])
        luaL_argerror(L, 3,
                      lua_pushfstring(L, "%s must be a %s, not a %s", name,
                                      lua_typename(L, types[which]), luaL_typename(L, -1)));
}

/* Push a copy of the options at 3, each of the right type. */
static void push_options(lua_State *L) {
    static const char *const names[] = {"abis",          "confirm",    "digest",
                                        "executor",      "record",     "retry_rpc",
                                        "simulate_only", "timeout_ms", NULL};
    lua_newtable(L);
    if (lua_isnil(L, 3)) return;
    luaL_checktype(L, 3, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
        int which = mpl_lua_field(L, -2, "sending", names);
        check_option(L, which, names[which]);
        lua_pushvalue(L, -1);
        lua_setfield(L, -4, names[which]);
    }
}

/* -- Sending ---------------------------------------------------------------------------*/

/* Push the part of the module that the loop uses. */
static void push_library(lua_State *L) {
    mpl_lua_push_pure(L);
    lua_pushcfunction(L, quote);
    lua_setfield(L, -2, "quote");
}

static void push_member(lua_State *L, moonplan_value object, const char *name) {
    mpl_lua_push_value(L, moonplan_value_member(object, name, strlen(name)));
}

static void push_executor(lua_State *L, const mpl_item *item) {
    static const char *const texts[] = {"name", "version", "submits", "implements", NULL};
    lua_newtable(L);
    for (size_t i = 0; texts[i]; i++) {
        push_member(L, item->value, texts[i]);
        lua_setfield(L, -2, texts[i]);
    }
    if (lua_getfield(L, -1, "implements") == LUA_TNIL) {
        lua_newtable(L);
        lua_setfield(L, -3, "implements");
    }
    lua_pop(L, 1);
    lua_newtable(L);
    for (unsigned function = 0; function < MPL_FUNCTIONS; function++) {
        lua_pushboolean(L, (int)(item->functions >> function & 1));
        lua_setfield(L, -2, mpl_function_names[function]);
    }
    lua_setfield(L, -2, "has");
}

/* executors() -> all that there are, to name one that can do what the chosen one cannot. Files that
 * are broken bring none, and whoever asked for another executor need not hear of them. */
static int executors(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check(L, lua_upvalueindex(1), &mpl_lua_engine_type);
    moonplan_error ignored = {.code = MOONPLAN_OK};
    lua_Integer n = 0;
    lua_newtable(L);
    (void)mpl_lua_engine_load(L, self, no_places, &ignored);
    for (size_t i = 0; i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        for (size_t j = 0; plugin->broken.code == MOONPLAN_OK && j < plugin->item_count; j++) {
            const mpl_plugin_item *item = &plugin->items[j];
            if (item->item->kind != MPL_EXECUTOR ||
                mpl_plugins_find(self->plugins, item->item->name, NULL) != item)
                continue;
            push_executor(L, item->item);
            lua_rawseti(L, -2, ++n);
        }
    }
    return 1;
}

/* Push what the loop asks with, of the engine at 1 and the executor whose name is at `name`. */
static void push_host(lua_State *L, int name, const mpl_item *item) {
    static const luaL_Reg functions[] = {
        {"now", now}, {"token", token}, {"wait", wait_for}, {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, name);
    lua_pushcclosure(L, ask, 2);
    lua_setfield(L, -2, "ask");
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, executors, 1);
    lua_setfield(L, -2, "executors");
    push_executor(L, item);
    lua_setfield(L, -2, "executor");
}

static bool has_powers(const mpl_plugin_item *item, moonplan_error *err) {
    if (item->missing_count == 0) return true;
    mpl_error_set(err, MOONPLAN_SEND_EXECUTOR, MOONPLAN_NO_OFFSET, NULL,
                  "the executor %q needs %t, which is not granted", &item->item->name,
                  &item->missing[0]);
    return false;
}

/* Whether the plan is the one that was agreed to, if one was: `digest` is at the top. */
static bool is_agreed(lua_State *L, const moonplan_call_plan *plan, moonplan_error *err) {
    uint8_t digest[32];
    if (lua_isnil(L, -1)) return true;
    moonplan_text agreed = mpl_lua_check_text(L, lua_gettop(L));
    moonplan_call_plan_digest(plan, digest);
    mpl_lua_push_hash(L, digest);
    moonplan_text found = mpl_lua_check_text(L, lua_gettop(L));
    bool same = mpl_text_equal(agreed, found);
    if (!same)
        mpl_error_set(err, MOONPLAN_SEND_DIGEST, MOONPLAN_NO_OFFSET, NULL,
                      "the plan has the digest %t; what was agreed to has %q", &found, &agreed);
    lua_pop(L, 1);
    return same;
}

/* The loop has refused the plan: the table on top says which of the required capabilities is not
 * implemented. */
static int refuse_capability(lua_State *L, mpl_lua_work *work, const moonplan_call_plan *plan,
                             moonplan_text text) {
    moonplan_text message;
    lua_getfield(L, -1, "capability");
    size_t n = (size_t)lua_tointeger(L, -1) - 1;
    lua_getfield(L, -2, "message");
    message.bytes = luaL_checklstring(L, -1, &message.length);
    moonplan_value name = moonplan_value_element(moonplan_call_plan_capabilities(plan), n);
    mpl_error_at(&work->err, MOONPLAN_CALL_CAPABILITY_UNKNOWN, name, "%t", &message);
    return mpl_lua_refuse(L, work, text);
}

/* The loop is Lua in the host's state, and uses what most hosts have there. */
static void need_libraries(lua_State *L) {
    static const char *const names[] = {"string", "table", "math", NULL};
    for (size_t i = 0; names[i]; i++) {
        int type = lua_getglobal(L, names[i]);
        lua_pop(L, 1);
        if (type != LUA_TTABLE)
            luaL_error(L, "to send, Lua's library %s has to be there", names[i]);
    }
}

int mpl_lua_engine_send(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    need_libraries(L);
    lua_settop(L, 3);
    push_options(L); /* 4 */
    if (lua_getfield(L, 4, "executor") == LUA_TNIL) {
        lua_pushliteral(L, MPL_SEND_EXECUTOR);
        lua_replace(L, 5);
    }
    mpl_lua_work *work = mpl_lua_engine_work(L, self); /* 6 */
    moonplan_options options = self->options;
    moonplan_text text, executor = mpl_lua_check_text(L, 5);
    options.errors = &work->errors;
    const moonplan_call_plan *plan = mpl_lua_plan_or_text(L, 2, &text, &options, work);
    if (!plan) return mpl_lua_refuse(L, work, text);
    lua_getfield(L, 4, "digest");
    if (!is_agreed(L, plan, &work->err)) return mpl_lua_refuse(L, work, no_places);
    const mpl_plugin_item *item = find_executor(L, self, executor, &work->err);
    if (!item || !has_powers(item, &work->err)) return mpl_lua_refuse(L, work, no_places);
    if (luaL_loadbufferx(L, mpl_send_text.text, mpl_send_text.length, "=moonplan/send.lua", "t") !=
        LUA_OK)
        lua_error(L);
    lua_call(L, 0, 1);
    push_library(L);
    push_host(L, 5, item->item);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 4);
    if (lua_pcall(L, 4, 2, 0) != LUA_OK) { /* a callback of the host's */
        mpl_lua_work_close(work);
        lua_error(L);
    }
    if (lua_isnil(L, -2)) return refuse_capability(L, work, plan, text);
    lua_pop(L, 1);
    mpl_lua_work_close(work);
    return 1;
}
