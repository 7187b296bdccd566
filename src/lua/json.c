/* moonplan.json: strict and exact. */
#include "../core/json_write.h"
#include "bind.h"
#include "convert.h"
#include "module.h"

static int decode(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 2, &options, work, NULL);
    if (!mpl_lua_parse(L, work, text, &options)) return mpl_lua_refuse(L, work, text);
    mpl_lua_budget budget = mpl_lua_budget_of(&options.limits);
    if (!mpl_lua_push(L, moonplan_document_root(work->document), &budget, &work->err))
        return mpl_lua_refuse(L, work, text);
    mpl_lua_work_close(work);
    return 1;
}

static bool write_text(mpl_lua_work *work, unsigned indent, uint64_t most) {
    const mpl_style style = {false, indent, most};
    if (!mpl_write_sorted(&work->text, &work->scratch, moonplan_document_root(work->document),
                          &style)) {
        mpl_error_set(&work->err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "the text is longer than the limit document_bytes allows: %u bytes", most);
        return false;
    }
    if (work->text.failed) mpl_error_memory(&work->err);
    return !work->text.failed;
}

#define INDENT_MOST 16

static void read_indent(lua_State *L, int arg, int which, void *data) {
    lua_Integer *indent = data;
    int exact = 0;
    (void)which;
    *indent = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : 0;
    if (!exact || *indent < 0 || *indent > INDENT_MOST)
        luaL_argerror(L, arg, lua_pushfstring(L, "indent must be 0 to %d spaces", INDENT_MOST));
}

static int encode(lua_State *L) {
    static const char *const names[] = {"indent", NULL};
    const moonplan_text no_places = {NULL, 0};
    luaL_checkany(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    lua_Integer indent = 0;
    const mpl_lua_more more = {names, read_indent, &indent};
    mpl_lua_options(L, 2, &options, work, &more);
    mpl_lua_budget budget = mpl_lua_budget_of(&options.limits);
    work->building = true;
    mpl_build_open(&work->builder, &options);
    if (!mpl_lua_build(L, 1, &work->builder, &budget, NULL, &work->err))
        return mpl_lua_refuse(L, work, no_places);
    work->building = false;
    work->document = mpl_build_finish(&work->builder, &work->err);
    if (!work->document || !write_text(work, (unsigned)indent, options.limits.document_bytes))
        return mpl_lua_refuse(L, work, no_places);
    lua_pushlstring(L, work->text.bytes, work->text.length);
    mpl_lua_work_close(work);
    return 1;
}

void mpl_lua_push_json(lua_State *L) {
    static const luaL_Reg functions[] = {{"decode", decode}, {"encode", encode}, {NULL, NULL}};
    luaL_newlib(L, functions);
}
