/* Call plans as Lua objects that can be read and nothing else. */
#include <stdlib.h>

#include "../core/text.h"
#include "bind.h"
#include "convert.h"
#include "module.h"

/* A plan borrows its text from a Lua string, which is the first of its user values. */
struct plan {
    moonplan_call_plan *plan; /* NULL when it is closed */
};
enum { TEXT = 1, DIGEST, STEPS, PLAN_VALUES = STEPS };

/* Its first user value is the plan. */
struct step {
    size_t n; /* from 0 */
};

static int plan_gc(lua_State *L);
static int plan_index(lua_State *L);
static int plan_tostring(lua_State *L);
static int steps_index(lua_State *L);
static int steps_len(lua_State *L);
static int steps_tostring(lua_State *L);
static int step_index(lua_State *L);
static int step_equal(lua_State *L);
static int step_tostring(lua_State *L);
static int read_only(lua_State *L);

static const luaL_Reg plan_own[] = {
    {"__gc", plan_gc},         {"__close", plan_gc},          {"__index", plan_index},
    {"__newindex", read_only}, {"__tostring", plan_tostring}, {NULL, NULL}};
static const luaL_Reg steps_own[] = {{"__index", steps_index},
                                     {"__newindex", read_only},
                                     {"__len", steps_len},
                                     {"__tostring", steps_tostring},
                                     {NULL, NULL}};
static const luaL_Reg step_own[] = {{"__index", step_index},
                                    {"__newindex", read_only},
                                    {"__eq", step_equal},
                                    {"__tostring", step_tostring},
                                    {NULL, NULL}};
static const mpl_lua_type plan_type = {"moonplan.call_plan", "a call plan", plan_own};
static const mpl_lua_type steps_type = {"moonplan.steps", "the steps of a call plan", steps_own};
static const mpl_lua_type step_type = {"moonplan.step", "a step", step_own};

moonplan_call_plan **mpl_lua_new_plan(lua_State *L, int text) {
    text = lua_absindex(L, text);
    struct plan *self = mpl_lua_new(L, &plan_type, sizeof *self, PLAN_VALUES);
    lua_pushvalue(L, text);
    lua_setiuservalue(L, -2, TEXT);
    return &self->plan;
}

int mpl_lua_call_plan(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    moonplan_call_plan **plan = mpl_lua_new_plan(L, 1);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 2, &options, work, NULL);
    int attempts = 0;
    do *plan = moonplan_call_plan_parse(text.bytes, text.length, &options, &work->err);
    while (!*plan && mpl_lua_again(L, work, &attempts));
    if (!*plan) return mpl_lua_refuse(L, work, text);
    mpl_lua_weigh(L, moonplan_call_plan_memory(*plan, NULL));
    lua_settop(L, 3);
    return 1;
}

void mpl_lua_keep_plan_text(lua_State *L, int plan) {
    plan = lua_absindex(L, plan);
    const struct plan *self = mpl_lua_check(L, plan, &plan_type);
    moonplan_value root = moonplan_document_root(moonplan_call_plan_document(self->plan));
    mpl_lua_push_text(L, moonplan_value_source(root));
    lua_setiuservalue(L, plan, TEXT);
}

static moonplan_call_plan *check_plan(lua_State *L, int index);

const moonplan_call_plan *mpl_lua_plan_or_text(lua_State *L, int arg, moonplan_text *text,
                                               const moonplan_options *options,
                                               mpl_lua_work *work) {
    if (lua_type(L, arg) == LUA_TSTRING) {
        *text = mpl_lua_check_text(L, arg);
        moonplan_call_plan **plan = mpl_lua_new_plan(L, arg);
        moonplan_options own = *options;
        own.enforce_capabilities = false;
        int attempts = 0;
        do *plan = moonplan_call_plan_parse(text->bytes, text->length, &own, &work->err);
        while (!*plan && mpl_lua_again(L, work, &attempts));
        if (!*plan) return NULL;
        lua_replace(L, arg);
        return *plan;
    }
    const moonplan_call_plan *plan = check_plan(L, arg);
    lua_getiuservalue(L, arg, TEXT);
    *text = mpl_lua_check_text(L, lua_gettop(L));
    lua_pop(L, 1); /* the plan keeps it */
    return plan;
}

static int plan_gc(lua_State *L) {
    struct plan *self = mpl_lua_check(L, 1, &plan_type);
    moonplan_call_plan *plan = self->plan;
    self->plan = NULL;
    moonplan_call_plan_free(plan);
    return 0;
}

static int read_only(lua_State *L) {
    return luaL_error(L, "a call plan cannot be changed");
}

/* The plan at `index`, open. */
static moonplan_call_plan *check_plan(lua_State *L, int index) {
    struct plan *self = mpl_lua_check(L, index, &plan_type);
    if (!self->plan) luaL_error(L, "the call plan is closed");
    return self->plan;
}

/* Push the plan that the steps or step at argument 1 belong to. */
static moonplan_call_plan *push_plan_of(lua_State *L) {
    lua_getiuservalue(L, 1, 1);
    return check_plan(L, -1);
}

static void push_digest(lua_State *L, int plan) {
    if (lua_getiuservalue(L, plan, DIGEST) == LUA_TSTRING) return;
    lua_pop(L, 1);
    uint8_t digest[32];
    moonplan_call_plan_digest(check_plan(L, plan), digest);
    mpl_lua_push_hash(L, digest);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, plan, DIGEST);
}

static int push_steps(lua_State *L) {
    if (lua_getiuservalue(L, 1, STEPS) == LUA_TUSERDATA) return 1;
    mpl_lua_new(L, &steps_type, 0, 1);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, STEPS);
    return 1;
}

static int push_warnings(lua_State *L, const moonplan_call_plan *plan) {
    size_t count = moonplan_call_plan_warning_count(plan);
    moonplan_error *warnings = lua_newuserdatauv(L, count * sizeof *warnings + 1, 0);
    for (size_t i = 0; i < count; i++) warnings[i] = *moonplan_call_plan_warning(plan, i);
    lua_getiuservalue(L, 1, TEXT);
    mpl_lua_push_errors(L, warnings, count, mpl_lua_check_text(L, lua_gettop(L)));
    return 1;
}

static int push_capabilities(lua_State *L, const moonplan_call_plan *plan) {
    moonplan_value list = moonplan_call_plan_capabilities(plan);
    if (moonplan_value_type(list) != MOONPLAN_NONE) return mpl_lua_push_value(L, list);
    lua_newtable(L);
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    return 1;
}

/* plan:canonical(): the bytes that the digest is taken of. */
static int plan_canonical(lua_State *L) {
    const moonplan_call_plan *plan = check_plan(L, 1);
    lua_settop(L, 1);
    mpl_lua_work *work = mpl_lua_work_new(L);
    if (!moonplan_call_plan_canonical(plan, mpl_buffer_sink, &work->text) || work->text.failed) {
        mpl_error_memory(&work->err);
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    }
    lua_pushlstring(L, work->text.bytes, work->text.length);
    mpl_lua_work_close(work);
    return 1;
}

/* plan:source(pointer): the JSON text of a value as it stands in the document. */
static int plan_source(lua_State *L) {
    const moonplan_call_plan *plan = check_plan(L, 1);
    moonplan_text pointer = mpl_lua_check_text(L, 2);
    const moonplan_document *document = moonplan_call_plan_document(plan);
    moonplan_value value = moonplan_document_at(document, pointer.bytes, pointer.length);
    return mpl_lua_push_text(L, moonplan_value_source(value));
}

static const char *const plan_fields[] = {"canonical",
                                          "caip2_chain_id",
                                          "chain_id",
                                          "digest",
                                          "extensions",
                                          "failure_policy",
                                          "required_capabilities",
                                          "review",
                                          "sender",
                                          "source",
                                          "steps",
                                          "warnings",
                                          NULL};
enum {
    CANONICAL,
    CAIP2_CHAIN_ID,
    CHAIN_ID,
    PLAN_DIGEST,
    EXTENSIONS,
    FAILURE_POLICY,
    REQUIRED_CAPABILITIES,
    REVIEW,
    SENDER,
    SOURCE,
    PLAN_STEPS,
    WARNINGS
};

static int plan_index(lua_State *L) {
    const moonplan_call_plan *plan = check_plan(L, 1);
    switch (mpl_lua_field(L, 2, plan_type.what, plan_fields)) {
    case CANONICAL:
        lua_pushcfunction(L, plan_canonical);
        return 1;
    case CAIP2_CHAIN_ID:
        return mpl_lua_push_text(L, moonplan_call_plan_caip2_chain_id(plan));
    case CHAIN_ID:
        return mpl_lua_push_text(L, moonplan_call_plan_chain_id(plan));
    case PLAN_DIGEST:
        push_digest(L, 1);
        return 1;
    case EXTENSIONS:
        return mpl_lua_push_value(L, moonplan_call_plan_extensions(plan));
    case FAILURE_POLICY:
        return mpl_lua_push_value(L, moonplan_call_plan_failure_policy(plan));
    case REQUIRED_CAPABILITIES:
        return push_capabilities(L, plan);
    case REVIEW:
        lua_pushcfunction(L, mpl_lua_review);
        return 1;
    case SENDER:
        return mpl_lua_push_text(L, moonplan_call_plan_sender(plan));
    case SOURCE:
        lua_pushcfunction(L, plan_source);
        return 1;
    case PLAN_STEPS:
        return push_steps(L);
    default:
        return push_warnings(L, plan);
    }
}

static void push_count(lua_State *L, size_t count) {
    lua_pushfstring(L, count == 1 ? "%I step" : "%I steps", (LUAI_UACINT)count);
}

static int plan_tostring(lua_State *L) {
    const struct plan *self = mpl_lua_check(L, 1, &plan_type);
    if (!self->plan) {
        lua_pushliteral(L, "call plan (closed)");
        return 1;
    }
    push_digest(L, 1);
    push_count(L, moonplan_call_plan_count(self->plan));
    mpl_lua_push_text(L, moonplan_call_plan_chain_id(self->plan));
    lua_pushfstring(L, "call plan %s (%s on chain %s)", lua_tostring(L, -3), lua_tostring(L, -2),
                    lua_tostring(L, -1));
    return 1;
}

/* -- Steps -----------------------------------------------------------------*/

static int steps_index(lua_State *L) {
    mpl_lua_check(L, 1, &steps_type);
    const moonplan_call_plan *plan = push_plan_of(L);
    int exact = 0;
    lua_Integer n = lua_type(L, 2) == LUA_TNUMBER ? lua_tointegerx(L, 2, &exact) : 0;
    if (!exact)
        luaL_error(L, "steps have numbers, from 1 to %I; there is no step %s",
                   (LUAI_UACINT)moonplan_call_plan_count(plan), mpl_lua_push_key(L, 2));
    if (n < 1 || (lua_Unsigned)n > moonplan_call_plan_count(plan)) {
        lua_pushnil(L);
        return 1;
    }
    struct step *step = mpl_lua_new(L, &step_type, sizeof *step, 1);
    step->n = (size_t)n - 1;
    lua_pushvalue(L, -2);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

static int steps_len(lua_State *L) {
    mpl_lua_check(L, 1, &steps_type);
    lua_pushinteger(L, (lua_Integer)moonplan_call_plan_count(push_plan_of(L)));
    return 1;
}

static int steps_tostring(lua_State *L) {
    mpl_lua_check(L, 1, &steps_type);
    push_count(L, moonplan_call_plan_count(push_plan_of(L)));
    return 1;
}

static const char *const step_fields[] = {"data",     "data_bytes", "gas", "kind",  "revert_decode",
                                          "selector", "step",       "to",  "value", NULL};
enum { DATA, DATA_BYTES, GAS, KIND, REVERT_DECODE, SELECTOR, STEP, TO, VALUE };

/* 0x, and two digits a byte. */
static lua_Integer bytes_of(moonplan_text hex) {
    return (lua_Integer)(hex.length / 2) - 1;
}

static int push_selector(lua_State *L, moonplan_text data) {
    if (bytes_of(data) < 4)
        lua_pushnil(L);
    else
        lua_pushlstring(L, data.bytes, 10);
    return 1;
}

static int step_index(lua_State *L) {
    const struct step *self = mpl_lua_check(L, 1, &step_type);
    moonplan_call call;
    moonplan_call_plan_step(push_plan_of(L), &call, self->n);
    switch (mpl_lua_field(L, 2, step_type.what, step_fields)) {
    case DATA:
        return mpl_lua_push_text(L, call.data);
    case DATA_BYTES:
        lua_pushinteger(L, bytes_of(call.data));
        return 1;
    case GAS:
        return mpl_lua_push_text(L, call.gas);
    case KIND:
        return mpl_lua_push_text(L, call.kind);
    case REVERT_DECODE:
        return mpl_lua_push_value(L, call.revert_decode);
    case SELECTOR:
        return push_selector(L, call.data);
    case STEP:
        lua_pushinteger(L, (lua_Integer)self->n + 1);
        return 1;
    case TO:
        return mpl_lua_push_text(L, call.to);
    default:
        return mpl_lua_push_text(L, call.value);
    }
}

/* Every access to steps[n] makes a new object, and they are the same step. */
static int step_equal(lua_State *L) {
    const struct step *a = mpl_lua_test(L, 1, &step_type), *b = mpl_lua_test(L, 2, &step_type);
    bool equal = a && b && a->n == b->n;
    if (equal) {
        lua_getiuservalue(L, 1, 1);
        lua_getiuservalue(L, 2, 1);
        equal = lua_rawequal(L, -1, -2);
    }
    lua_pushboolean(L, equal);
    return 1;
}

static int step_tostring(lua_State *L) {
    const struct step *self = mpl_lua_check(L, 1, &step_type);
    moonplan_call call;
    moonplan_call_plan_step(push_plan_of(L), &call, self->n);
    mpl_lua_push_text(L, call.kind);
    mpl_lua_push_text(L, call.to);
    lua_pushfstring(L, "step %I: %s, call to %s", (LUAI_UACINT)self->n + 1, lua_tostring(L, -2),
                    lua_tostring(L, -1));
    return 1;
}
