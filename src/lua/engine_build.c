/* engine:build(name, params): a plan out of parameters. */
#include "../core/text.h"
#include "building.h"
#include "engine.h"

static int build_gc(lua_State *L);
static const luaL_Reg build_own[] = {{"__gc", build_gc}, {NULL, NULL}};
static const mpl_lua_type build_type = {"moonplan.building", "a plan in the making", build_own};

static int build_gc(lua_State *L) {
    mpl_making_close(mpl_lua_check(L, 1, &build_type));
    return 0;
}

/* The parameters at argument 3, in work->document; `text` is what their places are in. False with
 * work->err. */
static bool read_params(lua_State *L, mpl_lua_work *work, const moonplan_options *options,
                        moonplan_text *text) {
    *text = (moonplan_text){NULL, 0};
    if (lua_isnil(L, 3)) return true;
    if (lua_type(L, 3) == LUA_TSTRING) {
        *text = mpl_lua_check_text(L, 3);
        int attempts = 0;
        do work->document = moonplan_document_parse(text->bytes, text->length, options, &work->err);
        while (!work->document && mpl_lua_again(L, work, &attempts));
        return work->document != NULL;
    }
    luaL_checktype(L, 3, LUA_TTABLE);
    mpl_lua_budget budget = mpl_lua_budget_of(&options->limits);
    mpl_build_open_wide(&work->builder, options);
    work->building = true;
    if (!mpl_lua_build(L, 3, &work->builder, &budget, NULL, &work->err)) return false;
    work->building = false;
    work->document = mpl_build_finish(&work->builder, &work->err);
    return work->document != NULL;
}

/* Places in a document that was made of a table are nobody's. */
static void drop_offsets(mpl_lua_work *work) {
    for (size_t i = 0; i < moonplan_error_list_count(work->errors); i++)
        moonplan_error_list_at(work->errors, i)->offset = MOONPLAN_NO_OFFSET;
    work->err.offset = MOONPLAN_NO_OFFSET;
}

static void push_result(lua_State *L, const mpl_making *making) {
    mpl_lua_push_text(L, moonplan_value_source(mpl_made_plan(making)));
    if (making->call_plan) {
        uint8_t digest[32];
        moonplan_call_plan_digest(making->call_plan, digest);
        mpl_lua_push_hash(L, digest);
    } else {
        char digest[65];
        if (!moonplan_step_plan_digest(making->step_plan, digest))
            luaL_error(L, "not enough memory");
        lua_pushstring(L, digest);
    }
}

int mpl_lua_engine_build(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text name = mpl_lua_check_text(L, 2), text;
    lua_settop(L, 3);
    mpl_making *making = mpl_lua_new(L, &build_type, sizeof *making, 0);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    moonplan_options options = self->options;
    options.errors = &work->errors;
    if (!read_params(L, work, &options, &text)) return mpl_lua_refuse(L, work, text);
    lua_State *outer = self->L;
    self->L = L;
    making->item = mpl_plugins_builder(self->plugins, name, &work->err);
    making->engine = work->engine;
    making->options = &options;
    moonplan_value given = {NULL, UINT32_MAX};
    if (work->document) given = moonplan_document_root(work->document);
    bool fine = making->item && mpl_make_plan(making, given, &work->err);
    self->L = outer;
    if (!fine) {
        if (!text.bytes) drop_offsets(work);
        return mpl_lua_refuse(L, work, text);
    }
    push_result(L, making);
    mpl_making_close(making);
    mpl_lua_work_close(work);
    return 2;
}
