/* engine:abis: the descriptions of contracts that plugins bring. */
#include "../core/text.h"
#include "../core/value.h"
#include "abi.h"
#include "engine.h"
#include "shelf.h"
#include <lauxlib.h>

static const moonplan_text no_places = {NULL, 0};

static void set_member(lua_State *L, const char *name, moonplan_value source) {
    moonplan_text text = moonplan_value_string(mpl_member(source, name));
    if (!text.bytes) return;
    lua_pushlstring(L, text.bytes, text.length);
    lua_setfield(L, -2, name);
}

/* Put one source at the end of the list on top: `list` has the signatures, `of` the contract. False
 * with work->err. */
static bool add_source(lua_State *L, const mpl_item *item, moonplan_value list, moonplan_value of,
                       const moonplan_options *options, mpl_lua_work *work) {
    if (moonplan_value_count(list) == 0) return true;
    luaL_checkstack(L, 8, NULL);
    lua_createtable(L, 0, 5);
    if (!mpl_lua_push_described(L, list, options, work)) return false;
    lua_setfield(L, -2, "abi");
    lua_pushliteral(L, "the plugin ");
    lua_pushlstring(L, item->name.bytes, item->name.length);
    lua_concat(L, 2);
    lua_setfield(L, -2, "origin");
    set_member(L, "address", of);
    set_member(L, "chain_id", of);
    lua_pushboolean(L, true);
    lua_setfield(L, -2, "untrusted");
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    return true;
}

static bool add_item(lua_State *L, const mpl_item *item, const moonplan_options *options,
                     mpl_lua_work *work) {
    moonplan_value abi = mpl_member(item->value, "abi"), any = {0};
    if (moonplan_value_type(abi) == MOONPLAN_NONE) return true;
    if (!mpl_manifest_abi_sources(abi)) return add_source(L, item, abi, any, options, work);
    moonplan_walk walk = moonplan_value_walk(abi);
    while (moonplan_walk_next(&walk))
        if (!add_source(L, item, mpl_member(walk.value, "abi"), walk.value, options, work))
            return false;
    return true;
}

/* engine:abis() */
int mpl_lua_engine_abis(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 1);
    lua_pushnil(L);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    moonplan_options options;
    mpl_lua_options(L, 2, &options, work, NULL);
    options.errors = NULL;
    if (!mpl_lua_engine_load(L, self, no_places, &work->err))
        return mpl_lua_refuse(L, work, no_places);
    lua_newtable(L);
    for (size_t i = 0; i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        for (size_t j = 0; plugin->broken.code == MOONPLAN_OK && j < plugin->item_count; j++) {
            const mpl_plugin_item *item = &plugin->items[j];
            if (mpl_plugins_find(self->plugins, item->item->name, NULL) != item) continue;
            if (!add_item(L, item->item, &options, work)) return mpl_lua_refuse(L, work, no_places);
        }
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    mpl_lua_engine_problems(L, self, work->engine);
    mpl_lua_work_close(work);
    return 2;
}
