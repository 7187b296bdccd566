/* moonplan.engine(options): reading the options, all with raw access, and making the engine. */
#include <lauxlib.h>
#include <limits.h>
#include <string.h>

#include "../core/text.h"
#include "engine.h"
#include "keys.h"

static const char *const names[] = {
    "allow",     "approvals", "approvers", "authorizer", "clock",         "grants",  "id",
    "isolation", "keep_jobs", "limits",    "ownership",  "plan_versions", "plugins", "retry_reads",
    "runner",    "shipped",   "store",     "store_mode", "strict",        "trust",   NULL};
enum {
    ALLOW,
    APPROVALS,
    APPROVERS,
    AUTHORIZER,
    CLOCK,
    GRANTS,
    ID,
    ISOLATION,
    KEEP_JOBS,
    LIMITS,
    OWNERSHIP,
    PLAN_VERSIONS,
    PLUGINS,
    RETRY_READS,
    RUNNER,
    SHIPPED,
    STORE,
    STORE_MODE,
    STRICT,
    TRUST
};

#define KEEP_MOST 1000000

/* What the options say. The texts belong to the options' table, which is on the stack. */
typedef struct settings {
    moonplan_engine_options engine;
    mpl_plugins_setup plugins;
    bool strict, deep;
    int authorizer, clock, make_id; /* places on the stack; 0: none */
    moonplan_text authorizer_name;  /* {NULL, 0}: none of a plugin's */
    moonplan_text store;            /* {NULL, 0}: memory */
    unsigned store_flags;
    int64_t time; /* the clock's first */
} settings;

static int bad_option(lua_State *L, const char *name, const char *wanted, int value) {
    return luaL_argerror(
        L, 1, lua_pushfstring(L, "%s must be %s, not a %s", name, wanted, luaL_typename(L, value)));
}

static moonplan_text text_at(lua_State *L, int index) {
    moonplan_text text;
    text.bytes = lua_tolstring(L, index, &text.length);
    return text;
}

/* A list of texts, on top of the stack; a userdata takes its place. With `single`, one text is a
 * list as well. */
static const moonplan_text *read_list(lua_State *L, const char *name, const char *wanted,
                                      bool single, size_t *count) {
    int list = lua_gettop(L);
    *count = 1;
    bool alone = single && lua_type(L, list) == LUA_TSTRING;
    if (!alone) {
        if (!lua_istable(L, list)) bad_option(L, name, wanted, list);
        size_t keys = 0;
        *count = lua_rawlen(L, list);
        for (lua_pushnil(L); lua_next(L, list); lua_pop(L, 1)) keys++;
        if (keys != *count) luaL_argerror(L, 1, lua_pushfstring(L, "%s must be %s", name, wanted));
    }
    /* The texts stay alive with a table of their own. */
    moonplan_text *texts = lua_newuserdatauv(L, (*count + 1) * sizeof *texts, 1);
    lua_newtable(L);
    for (size_t i = 0; i < *count; i++) {
        if (alone)
            lua_pushvalue(L, list);
        else
            lua_rawgeti(L, list, (lua_Integer)i + 1);
        if (lua_type(L, -1) != LUA_TSTRING) bad_option(L, name, wanted, -1);
        texts[i] = text_at(L, -1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setiuservalue(L, -2, 1);
    lua_replace(L, list);
    return texts;
}

static bool read_boolean(lua_State *L, const char *name) {
    if (!lua_isboolean(L, -1)) bad_option(L, name, "true or false", -1);
    return lua_toboolean(L, -1);
}

#define GRANTS_MOST 256

static int bad_grant(lua_State *L, moonplan_text power, const char *wanted, int value) {
    /* Of a secret not even the type: its value may be what was meant. */
    return luaL_argerror(L, 1,
                         lua_pushfstring(L, "grants[\"%s\"] must be %s, not a %s", power.bytes,
                                         wanted, luaL_typename(L, value)));
}

static void add_grant(lua_State *L, settings *s, mpl_grant *list, mpl_grant grant) {
    if (s->plugins.grant_count == GRANTS_MOST)
        luaL_argerror(L, 1, lua_pushfstring(L, "there are more than %d grants", GRANTS_MOST));
    list[s->plugins.grant_count++] = grant;
}

/* http = "HOST" or { "HOST", ... }, on top of the stack */
static void read_hosts(lua_State *L, settings *s, mpl_grant *list, moonplan_text power) {
    static const char wanted[] = "a host or a list of hosts";
    if (lua_type(L, -1) == LUA_TSTRING) {
        add_grant(L, s, list, (mpl_grant){.need = power, .what = text_at(L, -1)});
        return;
    }
    if (!lua_istable(L, -1)) bad_grant(L, power, wanted, -1);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        if (lua_type(L, -1) != LUA_TSTRING) bad_grant(L, power, wanted, -1);
        add_grant(L, s, list, (mpl_grant){.need = power, .what = text_at(L, -1)});
    }
}

/* ["secret:NAME"] = FILE or { value = "..." }, on top of the stack */
static void read_secret(lua_State *L, settings *s, mpl_grant *list, moonplan_text power) {
    static const char wanted[] = "a file, or a table with the value: { value = \"...\" }";
    mpl_grant grant = {.need = power, .literal = lua_istable(L, -1)};
    if (grant.literal) {
        lua_pushliteral(L, "value");
        lua_rawget(L, -2);
    } else {
        lua_pushvalue(L, -1);
    }
    if (lua_type(L, -1) != LUA_TSTRING) bad_grant(L, power, wanted, -1);
    grant.what = text_at(L, -1);
    lua_pop(L, 1);
    add_grant(L, s, list, grant);
}

/* The key and value on top of the stack. */
static void read_grant(lua_State *L, settings *s, mpl_grant *list) {
    moonplan_text power = {"", 0};
    if (lua_type(L, -2) == LUA_TSTRING) power = text_at(L, -2);
    unsigned bit = mpl_power_of(power, NULL);
    if (!bit)
        luaL_argerror(L, 1,
                      lua_pushfstring(L, "there is no power %s; there are: " MPL_NEED_FORMS,
                                      mpl_lua_push_key(L, -2)));
    if (lua_isboolean(L, -1) && !lua_toboolean(L, -1)) return;
    if (bit == MPL_POWER_HTTP) {
        read_hosts(L, s, list, power);
    } else if (bit == MPL_POWER_SECRET) {
        read_secret(L, s, list, power);
    } else if (bit & (MPL_POWER_CLOCK | MPL_POWER_KV | MPL_POWER_RANDOM)) {
        if (!lua_isboolean(L, -1)) bad_grant(L, power, "true or false", -1);
        add_grant(L, s, list, (mpl_grant){.need = power});
    } else {
        if (lua_type(L, -1) != LUA_TSTRING)
            bad_grant(L, power, bit == MPL_POWER_RPC ? "a URL" : "a folder", -1);
        add_grant(L, s, list, (mpl_grant){.need = power, .what = text_at(L, -1)});
    }
}

/* grants = { fs = DIR, clock = true, http = { HOST }, ["rpc:NAME"] = URL }, on top of the stack; a
 * userdata takes its place. */
static void read_grants(lua_State *L, settings *s) {
    int table = lua_gettop(L);
    if (!lua_istable(L, table)) bad_option(L, "grants", "a table of power = what", table);
    mpl_grant *list = lua_newuserdatauv(L, GRANTS_MOST * sizeof *list, 1);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) read_grant(L, s, list);
    lua_pushvalue(L, table);
    lua_setiuservalue(L, -2, 1);
    lua_replace(L, table);
    s->plugins.grants = list;
}

static void read_limits(lua_State *L, settings *s) {
    mpl_lua_read_limits(L, 1, &s->engine.common);
    lua_pushliteral(L, "call_ms");
    /* A limit on time costs every call, so that without isolation it is there for who asks. */
    if (lua_rawget(L, -2) != LUA_TNIL) s->plugins.call_ms = s->engine.common.limits.call_ms;
    lua_pop(L, 1);
}

static size_t read_keep(lua_State *L) {
    int exact = 0;
    lua_Integer keep = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : 0;
    if (!exact || keep < 0 || keep > KEEP_MOST)
        luaL_argerror(L, 1, lua_pushfstring(L, "keep_jobs must be 0 to %d", KEEP_MOST));
    return (size_t)keep;
}

static void read_ownership(lua_State *L, settings *s) {
    if (lua_type(L, -1) == LUA_TSTRING) {
        s->deep = mpl_text_is(text_at(L, -1), "deep");
        if (s->deep || mpl_text_is(text_at(L, -1), "shared")) return;
    }
    luaL_argerror(L, 1, "ownership must be \"shared\" or \"deep\"");
}

static void read_isolation(lua_State *L, settings *s) {
    if (lua_type(L, -1) == LUA_TSTRING) {
        bool state = mpl_text_is(text_at(L, -1), "state");
        s->plugins.isolation = state ? MPL_STATE : MPL_PROCESS;
        if (state || mpl_text_is(text_at(L, -1), "process")) return;
    }
    luaL_argerror(L, 1, "isolation must be \"state\" or \"process\"");
}

static void read_runner(lua_State *L, settings *s) {
    if (lua_type(L, -1) != LUA_TSTRING) bad_option(L, "runner", "the path of moonplan-runner", -1);
    s->plugins.runner = text_at(L, -1);
    if (s->plugins.runner.length == 0 ||
        memchr(s->plugins.runner.bytes, 0, s->plugins.runner.length))
        luaL_argerror(L, 1, "runner must be the path of moonplan-runner");
}

static void check_risks(lua_State *L, const char *name, const moonplan_text *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        moonplan_text risk = list[i];
        if (mpl_text_is(risk, "read") || mpl_text_is(risk, "write") ||
            mpl_text_is(risk, "destructive"))
            continue;
        mpl_lua_push_quoted(L, risk, 100);
        luaL_argerror(L, 1,
                      lua_pushfstring(L,
                                      "%s names %s, which is no risk; there are: read, write, "
                                      "destructive",
                                      name, lua_tostring(L, -1)));
    }
}

/* approvers = { public key or the text of one, ... }, on top of the stack; a userdata takes its
 * place. */
static void read_approvers(lua_State *L, settings *s) {
    int list = lua_gettop(L);
    if (!lua_istable(L, list)) bad_option(L, "approvers", "a list of public keys", list);
    size_t count = lua_rawlen(L, list);
    moonplan_public_key *keys = lua_newuserdatauv(L, (count + 1) * sizeof *keys, 0);
    for (size_t i = 0; i < count; i++) {
        moonplan_error err;
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        if (lua_type(L, -1) != LUA_TSTRING) {
            keys[i] = *mpl_lua_check_public_key(L, lua_gettop(L));
        } else {
            moonplan_text text = text_at(L, -1);
            if (!moonplan_public_key_parse(&keys[i], text.bytes, text.length, &err))
                luaL_argerror(L, 1, lua_pushfstring(L, "approvers: %s", err.message));
        }
        lua_pop(L, 1);
    }
    lua_replace(L, list);
    s->engine.approvers = keys;
    s->engine.approver_count = count;
}

static void read_store_mode(lua_State *L, settings *s) {
    static const struct {
        const char *name;
        unsigned flags;
    } modes[] = {
        {"create", 0}, {"existing", MOONPLAN_STORE_EXISTING}, {"read", MOONPLAN_STORE_READ_ONLY}};
    for (size_t i = 0; lua_type(L, -1) == LUA_TSTRING && i < 3; i++) {
        s->store_flags = modes[i].flags;
        if (mpl_text_is(text_at(L, -1), modes[i].name)) return;
    }
    luaL_argerror(L, 1, "store_mode must be \"create\", \"existing\" or \"read\"");
}

/* The function on top of the stack moves to its place. */
static int read_function(lua_State *L, const char *name, int place) {
    if (!lua_isfunction(L, -1)) bad_option(L, name, "a function", -1);
    lua_pushvalue(L, -1);
    lua_replace(L, place);
    return place;
}

/* Where what has to stay alive stands on the stack: 1 is the options. */
enum {
    AT_ALLOW = 2,
    AT_APPROVALS,
    AT_APPROVERS,
    AT_STORE,
    AT_VERSIONS,
    AT_PLUGINS,
    AT_GRANTS,
    AT_AUTHORIZER,
    AT_CLOCK,
    AT_ID,
    AT_RUNNER,
    AT_TRUST,
    PLACES = AT_TRUST
};

static void read_option(lua_State *L, settings *s, int option) {
    switch (option) {
    case ALLOW:
        s->engine.allow = read_list(L, "allow", "a list of risks", false, &s->engine.allow_count);
        check_risks(L, "allow", s->engine.allow, s->engine.allow_count);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_ALLOW);
        break;
    case APPROVALS:
        s->engine.require_approval =
            read_list(L, "approvals", "a list of risks", false, &s->engine.require_approval_count);
        check_risks(L, "approvals", s->engine.require_approval, s->engine.require_approval_count);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_APPROVALS);
        break;
    case APPROVERS:
        read_approvers(L, s);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_APPROVERS);
        break;
    case AUTHORIZER:
        if (lua_type(L, -1) == LUA_TSTRING)
            s->authorizer_name = text_at(L, -1);
        else if (lua_isfunction(L, -1))
            s->authorizer = read_function(L, "authorizer", AT_AUTHORIZER);
        else
            bad_option(L, "authorizer", "a function, or the name of a plugin's", -1);
        break;
    case CLOCK:
        s->clock = read_function(L, "clock", AT_CLOCK);
        break;
    case GRANTS:
        read_grants(L, s);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_GRANTS);
        break;
    case ID:
        s->make_id = read_function(L, "id", AT_ID);
        break;
    case ISOLATION:
        read_isolation(L, s);
        break;
    case KEEP_JOBS:
        s->engine.keep_jobs = read_keep(L);
        break;
    case LIMITS:
        read_limits(L, s);
        break;
    case OWNERSHIP:
        read_ownership(L, s);
        break;
    case PLAN_VERSIONS:
        s->engine.plan_versions = read_list(L, "plan_versions", "a list of versions", false,
                                            &s->engine.plan_versions_count);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_VERSIONS);
        break;
    case PLUGINS:
        s->plugins.folders = read_list(L, "plugins", "a folder or a list of folders", true,
                                       &s->plugins.folder_count);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_PLUGINS);
        break;
    case RETRY_READS:
        s->engine.keep_reads = !read_boolean(L, "retry_reads");
        break;
    case STORE:
        if (lua_type(L, -1) != LUA_TSTRING) bad_option(L, "store", "a file", -1);
        s->store = text_at(L, -1);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_STORE);
        break;
    case STORE_MODE:
        read_store_mode(L, s);
        break;
    case RUNNER:
        read_runner(L, s);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_RUNNER);
        break;
    case TRUST:
        if (lua_type(L, -1) != LUA_TSTRING) bad_option(L, "trust", "a folder of keys", -1);
        s->plugins.trust = text_at(L, -1);
        lua_pushvalue(L, -1);
        lua_replace(L, AT_TRUST);
        break;
    case SHIPPED:
        s->plugins.shipped = read_boolean(L, "shipped");
        break;
    default:
        s->strict = read_boolean(L, "strict");
        break;
    }
}

static void read_options(lua_State *L, settings *s) {
    memset(s, 0, sizeof *s);
    moonplan_engine_options_init(&s->engine);
    mpl_lua_alloc(L, &s->engine.common);
    s->plugins.shipped = true;
    luaL_checkstack(L, 16, "no room for options");
    if (!lua_isnil(L, 1)) luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_isnil(L, 1)) return;
    for (lua_pushnil(L); lua_next(L, 1); lua_settop(L, PLACES + 1)) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            size_t option = 0;
            while (names[option] && !mpl_text_is(text_at(L, -2), names[option])) option++;
            if (names[option]) {
                read_option(L, s, (int)option);
                continue;
            }
        }
        mpl_lua_field(L, -2, "an engine", names);
    }
}

/* -- Making ----------------------------------------------------------------*/

static lua_Integer keep(lua_State *L, mpl_lua_engine *self, int place) {
    if (!place) return 0;
    lua_pushvalue(L, place);
    return mpl_lua_anchor(L, self);
}

static mpl_lua_call *find_call(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check(L, -1, &mpl_lua_engine_type);
    lua_pop(L, 1);
    if (!self->call) luaL_error(L, "no call is under way that could use ctx.log");
    return self->call;
}

/* The engine's userdata, with all that Lua has to make for it. */
static mpl_lua_engine *push_object(lua_State *L, const settings *s) {
    mpl_lua_engine *self = mpl_lua_new(L, &mpl_lua_engine_type, sizeof *self, MPL_ENGINE_VALUES);
    self->options = s->engine.common;
    self->alloc = mpl_alloc_of(&self->options);
    self->deep = s->deep;
    mpl_lua_know_engine(L, self);
    lua_newtable(L);
    lua_setiuservalue(L, -2, MPL_ANCHORS);
    lua_newtable(L);
    lua_setiuservalue(L, -2, MPL_LISTENERS);
    lua_pushvalue(L, -1);
    mpl_lua_push_log(L, find_call);
    lua_setiuservalue(L, -2, MPL_HOST_LOG);
    self->authorizer = keep(L, self, s->authorizer);
    self->clock = keep(L, self, s->clock);
    self->make_id = keep(L, self, s->make_id);
    return self;
}

static void check_clock(lua_State *L, settings *s) {
    int exact = 0;
    s->time = 0;
    if (!s->clock) return;
    lua_pushvalue(L, s->clock);
    int status = lua_pcall(L, 0, 1, 0);
    if (status == LUA_ERRMEM) lua_error(L);
    if (status != LUA_OK) {
        lua_pop(L, 1); /* it stands still, at 0 */
        return;
    }
    if (lua_type(L, -1) == LUA_TNUMBER) s->time = lua_tointegerx(L, -1, &exact);
    if (!exact) luaL_argerror(L, 1, "clock must give milliseconds since 1970, an integer");
    lua_pop(L, 1);
}

/* Nothing raises here. */
static bool make(mpl_lua_engine *self, settings *s, moonplan_error *err) {
    s->plugins.options = &self->options;
    s->plugins.log = (mpl_log){mpl_lua_write_log, self};
    s->plugins.now = mpl_lua_now;
    s->plugins.now_data = self;
    if (s->authorizer)
        s->engine.authorizer = (moonplan_authorizer){.decide = mpl_lua_decide, .data = self};
    if (s->clock) {
        s->engine.now = mpl_lua_now;
        s->engine.now_data = self;
    }
    if (s->make_id) {
        s->engine.make_id = mpl_lua_make_id;
        s->engine.make_id_data = self;
    }
    self->plugins = mpl_plugins_new(&s->plugins, err);
    if (!self->plugins) return false;
    bool fine = true;
    if (s->authorizer_name.bytes) {
        fine = mpl_plugins_authorize(self->plugins, s->authorizer_name, err);
        s->engine.authorizer =
            (moonplan_authorizer){.decide = mpl_plugin_decide, .data = self->plugins};
    }
    if (fine) self->engine = moonplan_engine_new(&s->engine, err);
    moonplan_provider provider = mpl_plugins_provider(self->plugins);
    if (self->engine) mpl_plugins_use(self->plugins, self->engine);
    if (self->engine && moonplan_engine_provide(self->engine, &provider, err)) {
        if (s->store.bytes && !moonplan_engine_store_sqlite(self->engine, s->store.bytes,
                                                            s->store.length, s->store_flags, err))
            return false;
        return !s->strict || mpl_plugins_load(self->plugins, (moonplan_text){NULL, 0}, err);
    }
    mpl_plugins_free(self->plugins);
    moonplan_engine_free(self->engine);
    self->engine = NULL;
    return false;
}

int mpl_lua_engine_new(lua_State *L) {
    settings s;
    lua_settop(L, PLACES);
    for (int i = 2; i <= PLACES; i++) {
        lua_pushnil(L);
        lua_replace(L, i);
    }
    read_options(L, &s);
    lua_settop(L, PLACES);
    check_clock(L, &s);
    mpl_lua_engine *self = push_object(L, &s);
    self->time = s.time;
    mpl_lua_work *work = mpl_lua_work_new(L);
    /* Plugins may be loaded already, and the host's clock says whose keys have expired. */
    self->L = L;
    bool made = make(self, &s, &work->err);
    self->L = NULL;
    if (!made) return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    lua_settop(L, PLACES + 1);
    return s.strict ? mpl_lua_engine_strict(L, self) : 1;
}
