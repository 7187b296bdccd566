#include "module.h"

#include "../moonplan_lua.h"
#include "bind.h"
#include "convert.h"
#include "keys.h"

/* moonplan.digest(text, options) */
static int digest(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    moonplan_options options;
    uint8_t hash[32];
    if (lua_isnil(L, 2)) {
        /* Nearly every call: nothing is made for the collector (twice the speed on small plans). */
        moonplan_options_init(&options);
        mpl_lua_alloc(L, &options);
        if (moonplan_digest(hash, text.bytes, text.length, &options, NULL)) {
            mpl_lua_push_hash(L, hash);
            return 1;
        }
    }
    mpl_lua_work *work = mpl_lua_work_new(L);
    mpl_lua_options(L, 2, &options, work, NULL);
    int attempts = 0;
    bool fine;
    do fine = moonplan_digest(hash, text.bytes, text.length, &options, &work->err);
    while (!fine && mpl_lua_again(L, work, &attempts));
    if (!fine) return mpl_lua_refuse(L, work, text);
    mpl_lua_push_hash(L, hash);
    return 1;
}

/* moonplan.kind(text, options) */
static int kind(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 2, &options, work, NULL);
    moonplan_kind found = MOONPLAN_KIND_NONE;
    if (mpl_lua_parse(L, work, text, &options))
        found = moonplan_document_kind(work->document, &work->err);
    if (found == MOONPLAN_KIND_NONE) return mpl_lua_refuse(L, work, text);
    lua_pushstring(L, moonplan_kind_name(found));
    mpl_lua_work_close(work);
    return 1;
}

#define QUOTE_LEAST   16
#define QUOTE_DEFAULT 96
#define QUOTE_MOST    65536

/* moonplan.quote(text, room) */
static int quote(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_Integer room = luaL_optinteger(L, 2, QUOTE_DEFAULT);
    luaL_argcheck(L, room >= QUOTE_LEAST && room <= QUOTE_MOST, 2, "room must be 16 to 65536");
    mpl_lua_push_quoted(L, text, (size_t)room);
    return 1;
}

static void set_integer(lua_State *L, const char *name, uint64_t number) {
    lua_pushinteger(L, (lua_Integer)number);
    lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static int limits(lua_State *L) {
    lua_newtable(L);
    const moonplan_limit_info *limit;
    for (size_t i = 0; (limit = moonplan_limit_at(i)); i++) {
        lua_createtable(L, 0, 5);
        set_text(L, "name", limit->name);
        set_integer(L, "default", limit->initial);
        set_integer(L, "floor", limit->floor);
        set_integer(L, "ceiling", limit->ceiling);
        set_text(L, "text", limit->text);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int codes(lua_State *L) {
    lua_newtable(L);
    for (int code = 1; code < MOONPLAN_CODE_COUNT; code++) {
        lua_createtable(L, 0, 2);
        set_text(L, "code", moonplan_code_name((moonplan_code)code));
        set_text(L, "text", moonplan_code_text((moonplan_code)code));
        lua_rawseti(L, -2, code);
    }
    return 1;
}

int luaopen_moonplan(lua_State *L) {
    static const luaL_Reg functions[] = {{"call_plan", mpl_lua_call_plan},
                                         {"check_operation", mpl_lua_check_operation},
                                         {"check_receipt", mpl_lua_check_receipt},
                                         {"check_result", mpl_lua_check_result},
                                         {"codes", codes},
                                         {"digest", digest},
                                         {"digest_many", mpl_lua_digest_many},
                                         {"engine", mpl_lua_engine_new},
                                         {"findings", mpl_lua_findings},
                                         {"kind", kind},
                                         {"limits", limits},
                                         {"make_reference", mpl_lua_make_reference},
                                         {"quote", quote},
                                         {"reference", mpl_lua_reference},
                                         {"review", mpl_lua_review},
                                         {"sign_approval", mpl_lua_sign_approval},
                                         {"typed_data", mpl_lua_typed_data},
                                         {NULL, NULL}};
    luaL_checkversion(L);
    mpl_lua_push_pure(L);
    luaL_setfuncs(L, functions, 0);
    mpl_lua_push_convert(L);
    lua_setfield(L, -2, "convert");
    mpl_lua_push_json(L);
    lua_setfield(L, -2, "json");
    mpl_lua_push_keys(L);
    lua_setfield(L, -2, "keys");
    set_text(L, "version", moonplan_version());
    return 1;
}
