/* moonplan.review: a call plan explained to a person. */
#include "abi.h"
#include "module.h"

static int review_gc(lua_State *L);
static const luaL_Reg review_own[] = {{"__gc", review_gc}, {NULL, NULL}};
static const mpl_lua_type review_type = {"moonplan.review", "a review", review_own};

static int review_gc(lua_State *L) {
    moonplan_review **self = mpl_lua_check(L, 1, &review_type);
    moonplan_review *review = *self;
    *self = NULL;
    moonplan_review_free(review);
    return 0;
}

moonplan_review **mpl_lua_new_review(lua_State *L) {
    return mpl_lua_new(L, &review_type, sizeof(void *), 0);
}

int mpl_lua_give_review(lua_State *L, moonplan_review **review, mpl_lua_work *work) {
    if (!*review) return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_push_value(L, moonplan_document_root(moonplan_review_document(*review)));
    moonplan_review_free(*review);
    *review = NULL;
    mpl_lua_work_close(work);
    return 1;
}

int mpl_lua_review(lua_State *L) {
    lua_settop(L, 2);
    moonplan_review **review = mpl_lua_new_review(L);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_reading reading;
    moonplan_text text;
    mpl_lua_read_reading(L, 2, &options, &reading, work);
    const moonplan_call_plan *plan = mpl_lua_plan_or_text(L, 1, &text, &options, work);
    if (!plan) return mpl_lua_refuse(L, work, text);
    options.errors = NULL;
    int attempts = 0;
    do *review = moonplan_review_new(plan, &reading.context, &options, &work->err);
    while (!*review && mpl_lua_again(L, work, &attempts));
    return mpl_lua_give_review(L, review, work);
}

int mpl_lua_findings(lua_State *L) {
    const moonplan_finding_info *info;
    lua_newtable(L);
    for (size_t code = 0; (info = moonplan_finding_info_at(code)); code++) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, info->name);
        lua_setfield(L, -2, "code");
        lua_pushstring(L, moonplan_severity_name(info->severity));
        lua_setfield(L, -2, "severity");
        lua_pushstring(L, info->text);
        lua_setfield(L, -2, "text");
        lua_rawseti(L, -2, (lua_Integer)code + 1);
    }
    return 1;
}
