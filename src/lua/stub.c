#include "stub.h"

#include <lauxlib.h>
#include <string.h>

#include "../core/error.h"
#include "bind.h"
#include "bounded.h"
#include "convert.h"
#include "prelude.h"

/* -- One exchange ------------------------------------------------------------*/

/* What an exchange holds while Lua may raise. */
typedef struct carrying {
    mpl_alloc alloc;
    mpl_slots in;
    mpl_buffer packed;
    mpl_builder builder;
    bool building;
    moonplan_document *document; /* of the value that goes out */
    mpl_answer answer;
    moonplan_error err;
} carrying;

static void close_carrying(carrying *c) {
    if (c->building) mpl_build_close(&c->builder);
    c->building = false;
    moonplan_document_free(c->document);
    c->document = NULL;
    mpl_buffer_close(&c->packed);
    mpl_answer_close(&c->answer);
}

static int carrying_gc(lua_State *L);
static const luaL_Reg carrying_own[] = {{"__gc", carrying_gc}, {NULL, NULL}};
static const mpl_lua_type carrying_type = {"moonplan.exchange", "an exchange", carrying_own};

static int carrying_gc(lua_State *L) {
    close_carrying(mpl_lua_check(L, 1, &carrying_type));
    return 0;
}

static mpl_stub *stub_of(lua_State *L) {
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* The beginning of every function here: `powers` is what one of them it takes (0: none). */
static carrying *begin(lua_State *L, unsigned powers, const char *name) {
    const mpl_stub *stub = stub_of(L);
    if (!stub->calling) luaL_error(L, "no call is under way that could use ctx.%s", name);
    if (powers && !(stub->powers & powers))
        luaL_error(L,
                   "this capability has no ctx.%s: it needs to name it, and the host to grant it",
                   name);
    carrying *c = mpl_lua_new(L, &carrying_type, sizeof *c, 0);
    /* The host's memory rather than the plugin's: what is handed over is bounded by limits of its
     * own, and counted once more as soon as it is a value in Lua. */
    c->alloc = mpl_alloc_of(stub->options);
    mpl_buffer_open(&c->packed, &c->alloc);
    mpl_answer_open(&c->answer, &c->alloc);
    return c;
}

/* An error of ours as `nil, err`. */
static int refuse(lua_State *L, carrying *c) {
    mpl_lua_work *work = mpl_lua_work_new(L);
    work->err = c->err;
    close_carrying(c);
    return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
}

static uint64_t most_at_once(lua_State *L) {
    return stub_of(L)->options->limits.memory_mib << 20;
}

/* One text may stand in several places of a request, and costs the plugin's memory only once. */
static bool is_too_much(lua_State *L, carrying *c) {
    uint64_t sum = 0;
    for (size_t i = 0; i < c->in.count; i++) sum += c->in.at[i].bytes.length;
    if (sum <= most_at_once(L)) return false;
    mpl_error_set(&c->err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                  "what is asked for is more text at once than the limit memory_mib allows: %u",
                  stub_of(L)->options->limits.memory_mib);
    return true;
}

/* 0: served; else what the function returns. */
static int carry(lua_State *L, carrying *c, mpl_operation operation) {
    const mpl_stub *stub = stub_of(L);
    memset(&c->err, 0, sizeof c->err);
    mpl_sandbox_look(L); /* nothing is asked of the host after the deadline */
    if (is_too_much(L, c)) return refuse(L, c);
    mpl_served served = stub->exchange(stub->data, operation, &c->in, &c->answer, &c->err);
    if (served == MPL_SERVED) return 0;
    if (served == MPL_REFUSED) return refuse(L, c);
    close_carrying(c);
    /* Between an rpc and the plugin stands the prelude. */
    luaL_where(L, operation == MPL_RPC_SEND ? 2 : 1);
    lua_pushstring(L, c->err.message);
    lua_concat(L, 2);
    return lua_error(L);
}

/* -- Arguments and results -----------------------------------------------------*/

static void add_text(lua_State *L, carrying *c, int arg) {
    mpl_slots_bytes(&c->in, mpl_lua_check_text(L, arg));
}

/* The value at `arg`, nothing for nil. What JSON cannot express is a bad call; false when it is the
 * bytes that did not suffice. */
static bool add_value(lua_State *L, carrying *c, int arg, const char *what, uint64_t most,
                      const char *most_name) {
    const moonplan_options *options = stub_of(L)->options;
    moonplan_error err;
    if (lua_isnil(L, arg)) {
        mpl_slots_nil(&c->in);
        return true;
    }
    mpl_lua_budget budget = {.depth = options->limits.depth,
                             .values = options->limits.copied_values,
                             .values_name = "copied_values",
                             .values_limit = options->limits.copied_values,
                             .bytes = most,
                             .bytes_name = most_name};
    mpl_build_open_wide(&c->builder, options);
    c->building = true;
    if (mpl_lua_build(L, arg, &c->builder, &budget, NULL, &err)) {
        c->building = false;
        c->document = mpl_build_finish(&c->builder, &err);
    }
    if (c->document) {
        mpl_slots_value(&c->in, moonplan_document_root(c->document));
        return true;
    }
    close_carrying(c);
    c->err = err;
    if (budget.bytes_spent) return false;
    luaL_error(L, "%s: %s", what, err.message);
    return false;
}

static const mpl_slot *slot_at(const carrying *c, size_t n) {
    static const mpl_slot none = {.type = MPL_SLOT_NIL};
    return n < c->answer.slots.count ? &c->answer.slots.at[n] : &none;
}

/* The n-th slot of the answer as a value; true, or false with what it says is wrong. */
static bool push_slot(lua_State *L, carrying *c, size_t n) {
    const mpl_slot *slot = slot_at(c, n);
    switch (slot->type) {
    case MPL_SLOT_NIL:
        lua_pushnil(L);
        return true;
    case MPL_SLOT_BOOLEAN:
        lua_pushboolean(L, slot->boolean);
        return true;
    case MPL_SLOT_INTEGER:
        lua_pushinteger(L, slot->integer);
        return true;
    case MPL_SLOT_BYTES:
        lua_pushlstring(L, slot->bytes.bytes, slot->bytes.length);
        return true;
    default:
        break;
    }
    mpl_lua_budget budget = mpl_lua_budget_of(&stub_of(L)->options->limits);
    return mpl_lua_push(L, slot->value, &budget, &c->err);
}

/* The answer's slots are the results. */
static int give(lua_State *L, carrying *c) {
    int count = (int)c->answer.slots.count;
    for (int i = 0; i < count; i++)
        if (!push_slot(L, c, (size_t)i)) return refuse(L, c);
    close_carrying(c);
    return count;
}

static int ask(lua_State *L, carrying *c, mpl_operation operation) {
    int refused = carry(L, c, operation);
    return refused ? refused : give(L, c);
}

/* The next text with a NUL behind it; false at the end. */
static bool next_name(moonplan_text *rest, moonplan_text *name) {
    const char *end = rest->length ? memchr(rest->bytes, 0, rest->length) : NULL;
    if (!end) return false;
    *name = (moonplan_text){rest->bytes, (size_t)(end - rest->bytes)};
    rest->bytes += name->length + 1;
    rest->length -= name->length + 1;
    return true;
}

/* The answer's only slot is a list of names. */
static int give_names(lua_State *L, carrying *c) {
    moonplan_text rest = slot_at(c, 0)->bytes, name;
    lua_newtable(L);
    for (lua_Integer n = 1; next_name(&rest, &name); n++) {
        lua_pushlstring(L, name.bytes, name.length);
        lua_rawseti(L, -2, n);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    close_carrying(c);
    return 1;
}

/* -- log -----------------------------------------------------------------------*/

/* log.info(message, data): upvalue 2 is the level. */
static int log_write(lua_State *L) {
    const moonplan_options *options = stub_of(L)->options;
    lua_settop(L, 2);
    carrying *c = begin(L, 0, "log");
    moonplan_text message = mpl_lua_check_text(L, 1);
    mpl_slots_integer(&c->in, lua_tointeger(L, lua_upvalueindex(2)));
    mpl_slots_bytes(&c->in, message);
    if (!add_value(L, c, 2, "the data of a log entry", options->limits.log_kib * 1024, "log_kib"))
        luaL_error(L, "the data of a log entry: %s", c->err.message);
    return ask(L, c, MPL_LOG);
}

/* Where a call gives a function no name (pcall, a tail call), Lua's errors look for one among what
 * is loaded; so that is where these are kept, by their whole names. */
static void push_function(lua_State *L, mpl_stub *stub, const char *power, const luaL_Reg *function,
                          int level) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushfstring(L, "ctx.%s.%s", power, function->name);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_pushlightuserdata(L, stub);
        lua_pushinteger(L, level);
        lua_pushcclosure(L, function->func, 2);
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, -5);
    }
    lua_replace(L, -3);
    lua_pop(L, 1);
}

static void make_log(lua_State *L, mpl_stub *stub) {
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    lua_createtable(L, 0, 4);
    for (int level = 0; level < 4; level++) {
        const luaL_Reg function = {levels[level], log_write};
        push_function(L, stub, "log", &function, level);
        lua_setfield(L, -2, levels[level]);
    }
}

/* -- fs ------------------------------------------------------------------------*/

#define FS (MPL_POWER_FS | MPL_POWER_FS_RW)

/* ctx.fs.read(path) */
static int fs_read(lua_State *L) {
    carrying *c = begin(L, FS, "fs");
    add_text(L, c, 1);
    return ask(L, c, MPL_FS_READ);
}

/* ctx.fs.size(path) */
static int fs_size(lua_State *L) {
    carrying *c = begin(L, FS, "fs");
    add_text(L, c, 1);
    return ask(L, c, MPL_FS_SIZE);
}

/* ctx.fs.write(path, content) */
static int fs_write(lua_State *L) {
    carrying *c = begin(L, MPL_POWER_FS_RW, "fs:rw");
    add_text(L, c, 1);
    add_text(L, c, 2);
    return ask(L, c, MPL_FS_WRITE);
}

/* ctx.fs.list(path) */
static int fs_list(lua_State *L) {
    lua_settop(L, 1);
    carrying *c = begin(L, FS, "fs");
    if (lua_isnil(L, 1))
        mpl_slots_bytes(&c->in, (moonplan_text){"", 0});
    else
        add_text(L, c, 1);
    int refused = carry(L, c, MPL_FS_LIST);
    return refused ? refused : give_names(L, c);
}

/* -- clock, random -------------------------------------------------------------*/

/* ctx.clock.now(): RFC 3339 text, milliseconds since 1970 */
static int clock_now(lua_State *L) {
    return ask(L, begin(L, MPL_POWER_CLOCK, "clock"), MPL_CLOCK_NOW);
}

static void add_integer(lua_State *L, carrying *c, int arg) {
    mpl_slots_integer(&c->in, luaL_checkinteger(L, arg));
}

/* ctx.random.bytes(count) */
static int random_bytes(lua_State *L) {
    carrying *c = begin(L, MPL_POWER_RANDOM, "random");
    add_integer(L, c, 1);
    return ask(L, c, MPL_RANDOM_BYTES);
}

/* ctx.random.integer(least, most) */
static int random_integer(lua_State *L) {
    carrying *c = begin(L, MPL_POWER_RANDOM, "random");
    add_integer(L, c, 1);
    add_integer(L, c, 2);
    return ask(L, c, MPL_RANDOM_INTEGER);
}

/* -- kv ------------------------------------------------------------------------*/

/* ctx.kv.get(key) */
static int kv_get(lua_State *L) {
    carrying *c = begin(L, MPL_POWER_KV, "kv");
    add_text(L, c, 1);
    return ask(L, c, MPL_KV_GET);
}

/* ctx.kv.set(key, value) */
static int kv_set(lua_State *L) {
    const moonplan_options *options = stub_of(L)->options;
    lua_settop(L, 2);
    carrying *c = begin(L, MPL_POWER_KV, "kv");
    add_text(L, c, 1);
    if (add_value(L, c, 2, "the value to keep", options->limits.kv_kib * 1024, "kv_kib"))
        return ask(L, c, MPL_KV_SET);
    mpl_error_set(&c->err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                  "keys and values would take more than the limit kv_kib allows: %u",
                  options->limits.kv_kib);
    return refuse(L, c);
}

/* ctx.kv.list() */
static int kv_list(lua_State *L) {
    carrying *c = begin(L, MPL_POWER_KV, "kv");
    int refused = carry(L, c, MPL_KV_LIST);
    return refused ? refused : give_names(L, c);
}

/* -- http ----------------------------------------------------------------------*/

/* The field of the table at 1, on top of the stack. */
static bool push_text_field(lua_State *L, const char *name, bool required) {
    lua_pushstring(L, name);
    int type = lua_rawget(L, 1);
    if (type == LUA_TSTRING || (type == LUA_TNIL && !required)) return type == LUA_TSTRING;
    luaL_argerror(L, 1,
                  lua_pushfstring(L, "the field %s must be a string, not %s", name,
                                  type == LUA_TNIL ? "nothing" : lua_typename(L, type)));
    return false;
}

static void add_field(lua_State *L, carrying *c, const char *name, bool required,
                      const char *otherwise) {
    if (push_text_field(L, name, required))
        add_text(L, c, -1);
    else if (otherwise)
        mpl_slots_bytes(&c->in, (moonplan_text){otherwise, strlen(otherwise)});
    else
        mpl_slots_nil(&c->in);
}

static void pack(lua_State *L, carrying *c, int index) {
    size_t length = 0;
    const char *bytes = lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &length) : NULL;
    if (!bytes || memchr(bytes, 0, length))
        luaL_argerror(L, 1, "headers must be a table of values by name, strings without NULs");
    if (c->packed.length > most_at_once(L)) return; /* refused as a whole */
    mpl_buffer_add(&c->packed, bytes, length);
    mpl_buffer_byte(&c->packed, 0);
}

static void add_headers(lua_State *L, carrying *c) {
    lua_pushliteral(L, "headers");
    if (lua_rawget(L, 1) != LUA_TNIL) {
        if (!lua_istable(L, -1))
            luaL_argerror(L, 1, "headers must be a table of values by name, strings without NULs");
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
            pack(L, c, -2);
            pack(L, c, -1);
        }
    }
    if (c->packed.failed) luaL_error(L, "out of memory");
    moonplan_text packed = {c->packed.length ? c->packed.bytes : "", c->packed.length};
    mpl_slots_bytes(&c->in, packed);
}

static int is_field(lua_State *L) {
    static const char *const names[] = {"method", "url", "headers", "body", NULL};
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) mpl_lua_field(L, -2, "a request", names);
    return 0;
}

/* A table of the response's headers by name, as the host packed them. */
static void push_headers(lua_State *L, moonplan_text rest) {
    moonplan_text name, value;
    lua_newtable(L);
    while (next_name(&rest, &name) && next_name(&rest, &value)) {
        lua_pushlstring(L, name.bytes, name.length);
        lua_pushvalue(L, -1);
        /* Fields of one name are one list (RFC 9110, section 5.3). */
        if (lua_rawget(L, -3) == LUA_TSTRING) {
            lua_pushliteral(L, ", ");
            lua_pushlstring(L, value.bytes, value.length);
            lua_concat(L, 3);
        } else {
            lua_pop(L, 1);
            lua_pushlstring(L, value.bytes, value.length);
        }
        lua_rawset(L, -3);
    }
}

/* ctx.http.request { method =, url =, headers =, body = } */
static int http_request(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 16, "no room for a request");
    carrying *c = begin(L, MPL_POWER_HTTP, "http");
    is_field(L);
    add_field(L, c, "method", false, "GET");
    add_field(L, c, "url", true, NULL);
    add_headers(L, c);
    add_field(L, c, "body", false, NULL);
    int refused = carry(L, c, MPL_HTTP_REQUEST);
    if (refused) return refused;
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, slot_at(c, 0)->integer);
    lua_setfield(L, -2, "status");
    push_headers(L, slot_at(c, 1)->bytes);
    lua_setfield(L, -2, "headers");
    moonplan_text body = slot_at(c, 2)->bytes;
    lua_pushlstring(L, body.bytes ? body.bytes : "", body.length);
    lua_setfield(L, -2, "body");
    close_carrying(c);
    return 1;
}

/* -- rpc, secret ---------------------------------------------------------------*/

/* send(endpoint, request): what ctx.rpc.call of the prelude stands on. */
static int rpc_send(lua_State *L) {
    carrying *c = begin(L, MPL_POWER_RPC, "rpc");
    add_text(L, c, 1);
    add_text(L, c, 2);
    return ask(L, c, MPL_RPC_SEND);
}

/* ctx.secret.get(name) */
static int secret_get(lua_State *L) {
    carrying *c = begin(L, MPL_POWER_SECRET, "secret");
    add_text(L, c, 1);
    return ask(L, c, MPL_SECRET_GET);
}

/* -- ctx -------------------------------------------------------------------------*/

static const luaL_Reg fs_read_only[] = {
    {"list", fs_list}, {"read", fs_read}, {"size", fs_size}, {NULL, NULL}};
static const luaL_Reg fs_writable[] = {
    {"list", fs_list}, {"read", fs_read}, {"size", fs_size}, {"write", fs_write}, {NULL, NULL}};
static const luaL_Reg of_clock[] = {{"now", clock_now}, {NULL, NULL}};
static const luaL_Reg of_http[] = {{"request", http_request}, {NULL, NULL}};
static const luaL_Reg of_kv[] = {{"get", kv_get}, {"list", kv_list}, {"set", kv_set}, {NULL, NULL}};
static const luaL_Reg of_random[] = {
    {"bytes", random_bytes}, {"integer", random_integer}, {NULL, NULL}};
static const luaL_Reg of_secret[] = {{"get", secret_get}, {NULL, NULL}};

static const luaL_Reg of_rpc[] = {{"send", rpc_send}, {NULL, NULL}};

/* A power's table, made once for a state; the list's address is its key in the registry. */
static void push_table(lua_State *L, mpl_stub *stub, const char *power, const luaL_Reg *functions) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, functions) != LUA_TNIL) return;
    lua_pop(L, 1);
    if (functions == of_rpc) {
        mpl_prelude_push(L, "jsonrpc");
        lua_getfield(L, -1, "client");
        lua_pushlightuserdata(L, stub);
        lua_pushcclosure(L, rpc_send, 1);
        lua_call(L, 1, 1);
        lua_remove(L, -2);
    } else {
        lua_newtable(L);
        for (const luaL_Reg *function = functions; function->name; function++) {
            push_function(L, stub, power, function, 0);
            lua_setfield(L, -2, function->name);
        }
    }
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, functions);
}

static void push_log(lua_State *L, mpl_stub *stub) {
    static const char key = 0;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) != LUA_TNIL) return;
    lua_pop(L, 1);
    make_log(L, stub);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
}

void mpl_stub_push(lua_State *L, mpl_stub *stub, unsigned powers) {
    static const struct {
        unsigned power;
        const char *name;
        const luaL_Reg *functions;
    } rows[] = {{MPL_POWER_FS, "fs", fs_read_only},   {MPL_POWER_FS_RW, "fs", fs_writable},
                {MPL_POWER_CLOCK, "clock", of_clock}, {MPL_POWER_HTTP, "http", of_http},
                {MPL_POWER_KV, "kv", of_kv},          {MPL_POWER_RANDOM, "random", of_random},
                {MPL_POWER_RPC, "rpc", of_rpc},       {MPL_POWER_SECRET, "secret", of_secret}};
    luaL_checkstack(L, 12, "no room for a call");
    stub->powers = powers;
    stub->calling = true;
    push_log(L, stub);
    lua_setfield(L, -2, "log");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!(powers & rows[i].power)) continue;
        push_table(L, stub, rows[i].name, rows[i].functions);
        lua_setfield(L, -2, rows[i].name);
    }
}
