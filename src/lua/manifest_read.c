/* A manifest in the plugin's own state: the table that its file returns becomes a document and a
 * set of functions. Whether they are sound is the host's to say (manifest.c). */
#include <lauxlib.h>
#include <string.h>

#include "convert.h"
#include "manifest.h"

void mpl_manifest_open(mpl_manifest *manifest, const moonplan_options *options) {
    memset(manifest, 0, sizeof *manifest);
    manifest->options = options;
    manifest->alloc = mpl_alloc_of(options);
}

void mpl_manifest_close(mpl_manifest *manifest) {
    if (manifest->building) mpl_build_close(&manifest->builder);
    manifest->building = false;
    moonplan_document_free(manifest->document);
    manifest->document = NULL;
    mpl_release(&manifest->alloc, manifest->items, manifest->count * sizeof *manifest->items);
    manifest->items = NULL;
    manifest->count = 0;
}

/* -- Names -----------------------------------------------------------------*/

bool mpl_plugin_name(moonplan_text name) {
    bool begun = false;
    if (name.length == 0 || name.length > MPL_NAME_MOST) return false;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.bytes[i];
        if (c == '.' && !begun) return false;
        begun = c != '.';
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '_' || c == '-' || c == '.')
            continue;
        return false;
    }
    return begun;
}

/* -- Reading ---------------------------------------------------------------*/

static bool refuse(moonplan_error *err, const mpl_pointer *place, const char *text) {
    mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, place, "%s", text);
    return false;
}

/* A key of the table on top, and its value, at -2 and -1. */
static bool check_key(lua_State *L, mpl_kind kind, const mpl_pointer *place, moonplan_error *err) {
    const mpl_kind_info *info = &mpl_kinds[kind];
    moonplan_text name;
    name.bytes = lua_tolstring(L, -2, &name.length);
    mpl_function function = mpl_function_of(name);
    mpl_pointer at = *place;
    mpl_pointer_name(&at, name);
    if (mpl_kind_has_function(kind, function)) {
        if (lua_isfunction(L, -1)) return true;
        mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &at,
                      "%s must be a function, not a %s", mpl_function_names[function],
                      luaL_typename(L, -1));
        return false;
    }
    if (mpl_kind_has_data(kind, name)) return true;
    mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &at,
                  "%s has no field %q; there are: %s", info->article, &name, info->members);
    return false;
}

/* Every key of the table on top is a field's name. */
static bool check_keys(lua_State *L, mpl_kind kind, const mpl_pointer *place, moonplan_error *err) {
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            return refuse(err, place, "the fields of a plugin have names");
        if (kind != MPL_KINDS && !check_key(L, kind, place, err)) return false;
    }
    return true;
}

static mpl_kind read_kind(lua_State *L, int table) {
    moonplan_text name = {"", 0};
    lua_pushliteral(L, "kind");
    if (lua_rawget(L, table) == LUA_TSTRING) name.bytes = lua_tolstring(L, -1, &name.length);
    mpl_kind kind = mpl_kind_of(name);
    lua_pop(L, 1);
    return kind;
}

static void read_functions(lua_State *L, mpl_item *item, int table) {
    for (unsigned i = 0; i < MPL_FUNCTIONS; i++) {
        item->references[i] = LUA_NOREF;
        if (!mpl_kind_has_function(item->kind, (mpl_function)i)) continue;
        lua_pushstring(L, mpl_function_names[i]);
        if (lua_rawget(L, table) == LUA_TNIL) {
            lua_pop(L, 1);
            continue;
        }
        item->references[i] = luaL_ref(L, LUA_REGISTRYINDEX);
        item->functions |= 1u << i;
    }
}

/* The table on top, which becomes an object. Of one whose kind is none, that alone is read: the
 * check names it. */
static bool read_item(lua_State *L, mpl_manifest *manifest, mpl_item *item,
                      const mpl_pointer *place, mpl_lua_budget *budget, moonplan_error *err) {
    static const char *const kind_alone[] = {"kind", NULL};
    int table = lua_gettop(L);
    if (!lua_istable(L, table)) {
        mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, place,
                      "a plugin is described by a table, not by a %s", luaL_typename(L, table));
        return false;
    }
    item->kind = read_kind(L, table);
    if (!check_keys(L, item->kind, place, err)) return false;
    mpl_build_object(&manifest->builder);
    const char *const *data = item->kind == MPL_KINDS ? kind_alone : mpl_kinds[item->kind].data;
    for (; *data; data++) {
        lua_pushstring(L, *data);
        if (lua_rawget(L, table) != LUA_TNIL) {
            moonplan_text name = {*data, strlen(*data)};
            mpl_pointer at = *place;
            mpl_pointer_name(&at, name);
            mpl_build_name(&manifest->builder, name);
            if (!mpl_lua_build(L, -1, &manifest->builder, budget, &at, err)) {
                if (err->code != MOONPLAN_MEMORY) err->code = MOONPLAN_PLUGIN_MANIFEST;
                return false;
            }
        }
        lua_pop(L, 1);
    }
    mpl_build_end(&manifest->builder);
    if (item->kind != MPL_KINDS) read_functions(L, item, table);
    return true;
}

/* How many elements the table on top has if it is a list, else 0. */
static size_t list_length(lua_State *L) {
    size_t count = 0, length = lua_rawlen(L, -1);
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) count++;
    return count == length ? length : 0;
}

static bool read_family(lua_State *L, mpl_manifest *manifest, mpl_lua_budget *budget,
                        moonplan_error *err) {
    mpl_build_array(&manifest->builder);
    for (size_t i = 0; i < manifest->count; i++) {
        mpl_pointer place = {0, false, ""};
        mpl_pointer_index(&place, i);
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        if (!read_item(L, manifest, &manifest->items[i], &place, budget, err)) return false;
        lua_pop(L, 1);
    }
    mpl_build_end(&manifest->builder);
    return true;
}

bool mpl_manifest_room(mpl_manifest *manifest, size_t count, moonplan_error *err) {
    manifest->items = mpl_allocate(&manifest->alloc, count * sizeof *manifest->items);
    if (!manifest->items) {
        mpl_error_memory(err);
        return false;
    }
    memset(manifest->items, 0, count * sizeof *manifest->items);
    manifest->count = count;
    return true;
}

bool mpl_manifest_read(lua_State *L, mpl_manifest *manifest, moonplan_error *err) {
    mpl_pointer root = {0, false, ""};
    luaL_checkstack(L, 8, NULL);
    if (!lua_istable(L, -1)) {
        mpl_error_set(
            err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, NULL,
            "the file returns %s; a plugin returns a table that describes a capability, builder, "
            "executor or authorizer, or a list of such tables",
            lua_isnil(L, -1) ? "nothing" : luaL_typename(L, -1));
        return false;
    }
    size_t length = list_length(L);
    if (length > MPL_ITEMS_MOST) {
        mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, NULL,
                      "a list of %u tables; one file brings at most %u", (uint64_t)length,
                      (uint64_t)MPL_ITEMS_MOST);
        return false;
    }
    manifest->family = length > 0;
    size_t count = length > 0 ? length : 1;
    if (!mpl_manifest_room(manifest, count, err)) return false;
    mpl_lua_budget budget = mpl_lua_budget_of(&manifest->options->limits);
    mpl_build_open(&manifest->builder, manifest->options);
    manifest->building = true;
    int top = lua_gettop(L);
    bool fine = manifest->family ? read_family(L, manifest, &budget, err)
                                 : read_item(L, manifest, manifest->items, &root, &budget, err);
    lua_settop(L, top);
    return fine;
}
