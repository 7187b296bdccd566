/* One plugin: a file, its state, and what it brings. */
#include "plugin.h"

#include <lauxlib.h>
#include <string.h>

#include "../core/text.h"
#include "bind.h"

void mpl_plugin_hold(mpl_plugin *plugin) {
    plugin->holds++;
}

void mpl_plugin_drop(mpl_plugin *plugin) {
    if (--plugin->holds > 0) return;
    mpl_plugins *owner = plugin->owner;
    mpl_sandbox_close(&plugin->box);
    mpl_manifest_close(&plugin->manifest);
    mpl_buffer_close(&plugin->source);
    mpl_release(&owner->alloc, plugin->items, plugin->item_count * sizeof *plugin->items);
    mpl_release(&owner->alloc, plugin->name, strlen(plugin->name) + 1);
    mpl_release(&owner->alloc, plugin->file, strlen(plugin->file) + 1);
    mpl_release(&owner->alloc, plugin, sizeof *plugin);
    mpl_plugins_drop(owner);
}

moonplan_text mpl_plugin_folder(const mpl_plugin *plugin) {
    return plugin->owner->shelves[plugin->shelf].path;
}

/* What Lua said, as far as it fits, with nothing in it that a terminal would not show. */
static void set_lua_error(moonplan_error *err, const mpl_buffer *text) {
    char shown[sizeof err->message];
    moonplan_text all = {text->bytes, text->length};
    size_t length = mpl_quote(shown, sizeof shown - 64, all);
    moonplan_text inside = {shown + 1, length - 2};
    mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL, "%t", &inside);
}

/* -- Sources ---------------------------------------------------------------*/

static const mpl_shipped *find_shipped(const char *path) {
    for (size_t i = 0; i < mpl_shipped_count; i++)
        if (strcmp(mpl_shipped_files[i].path, path) == 0) return &mpl_shipped_files[i];
    return NULL;
}

/* Whether there is a regular file; links are not followed, so a link is none. */
bool mpl_shelf_has(const mpl_shelf *at, const char *path) {
    bool folder;
    uint64_t size;
    if (!at->root) return find_shipped(path) != NULL;
    return moonplan_root_stat(at->root, &folder, &size, path, strlen(path), NULL) && !folder;
}

static bool read_source(const mpl_shelf *at, mpl_buffer *out, const char *path, uint64_t most,
                        moonplan_error *err) {
    out->length = 0;
    if (!at->root) {
        const mpl_shipped *file = find_shipped(path);
        if (file) mpl_buffer_add(out, file->text, file->length);
        if (!file)
            mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                          "there is no such file");
        return file != NULL;
    }
    return moonplan_root_read(at->root, mpl_buffer_sink, out, path, strlen(path), most, err);
}

/* -- Loading ---------------------------------------------------------------*/

static mpl_plugin *plugin_of(lua_State *L) {
    return mpl_sandbox_of(L)->owner;
}

/* plugin.import(name): upvalue 1 holds what has been imported; false while a file runs. */
static int import(lua_State *L) {
    mpl_plugin *plugin = plugin_of(L);
    const mpl_shelf *at = &plugin->owner->shelves[plugin->shelf];
    moonplan_text name = mpl_lua_check_text(L, 1);
    lua_settop(L, 1);
    if (!plugin->folder)
        return luaL_error(L,
                          "a plugin of one file has no folder to import from; make it %s/init.lua",
                          plugin->name);
    if (!mpl_plugin_name(name) || memchr(name.bytes, '.', name.length))
        return luaL_argerror(L, 1,
                             "a name of letters, digits, _ and -, without folder and without .lua");
    lua_pushvalue(L, 1);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
        if (!lua_toboolean(L, -1) && lua_isboolean(L, -1))
            return luaL_error(L, "%s is being imported, and imports itself", name.bytes);
        return 1;
    }
    lua_pushfstring(L, "@%s/%s.lua", plugin->name, name.bytes);
    const char *chunk = lua_tostring(L, -1);
    moonplan_error err;
    const moonplan_options *options = &plugin->owner->options;
    if (!read_source(at, &plugin->source, chunk + 1, options->limits.source_kib * 1024, &err))
        return luaL_error(L, "cannot import %s: %s", name.bytes, err.message);
    if (plugin->source.failed) return luaL_error(L, "cannot import %s: out of memory", name.bytes);
    mpl_sandbox_load(L, plugin->source.bytes, plugin->source.length, chunk);
    lua_pushvalue(L, 1);
    lua_pushboolean(L, 0);
    lua_rawset(L, lua_upvalueindex(1));
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(1));
    return 1;
}

struct loading {
    mpl_plugin *plugin;
    moonplan_error err;
    bool fine;
};

static int load_main(lua_State *L) {
    struct loading *loading = lua_touserdata(L, 1);
    mpl_plugin *plugin = loading->plugin;
    lua_createtable(L, 0, 1);
    lua_newtable(L);
    lua_pushcclosure(L, import, 1);
    lua_setfield(L, -2, "import");
    mpl_sandbox_offer(L, "plugin");
    lua_pushfstring(L, "@%s", plugin->file);
    mpl_sandbox_load(L, plugin->source.bytes, plugin->source.length, lua_tostring(L, -1));
    lua_call(L, 0, 1);
    loading->fine = mpl_manifest_read(L, &plugin->manifest, &loading->err);
    return 0;
}

static void explain(mpl_plugin *plugin, mpl_outcome outcome, moonplan_error *err) {
    const moonplan_limits *limits = &plugin->owner->options.limits;
    mpl_buffer text, code;
    mpl_buffer_open(&text, &plugin->owner->alloc);
    mpl_buffer_open(&code, &plugin->owner->alloc);
    if (outcome == MPL_LATE)
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                      "loading takes longer than the limit load_ms allows: %u", limits->load_ms);
    else if (outcome == MPL_NO_MEMORY && plugin->box.over_limit)
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                      "loading takes more memory than the limit memory_mib allows: %u",
                      limits->memory_mib);
    else if (outcome == MPL_NO_MEMORY)
        mpl_error_memory(err);
    else if (mpl_sandbox_error(&plugin->box, &text, &code))
        set_lua_error(err, &text);
    else
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                      "loading raises something that is neither a text nor a table with a message");
    mpl_buffer_close(&text);
    mpl_buffer_close(&code);
}

static void list_powers(const mpl_plugins *plugins, mpl_plugin_item *made) {
    unsigned granted = mpl_plugins_granted(plugins);
    for (unsigned i = 0; i < MPL_POWERS; i++) {
        if (!(made->item->needs >> i & 1)) continue;
        made->needs[made->needs_count++] = mpl_power_names[i];
        if (!(granted >> i & 1)) made->missing[made->missing_count++] = mpl_power_names[i];
    }
}

static bool make_items(mpl_plugin *plugin, moonplan_error *err) {
    size_t count = plugin->manifest.count;
    plugin->items = mpl_allocate(&plugin->owner->alloc, count * sizeof *plugin->items);
    if (!plugin->items) {
        mpl_error_memory(err);
        return false;
    }
    memset(plugin->items, 0, count * sizeof *plugin->items);
    plugin->item_count = count;
    for (size_t i = 0; i < count; i++) {
        plugin->items[i].plugin = plugin;
        plugin->items[i].item = &plugin->manifest.items[i];
        list_powers(plugin->owner, &plugin->items[i]);
    }
    return true;
}

bool mpl_plugin_load(mpl_plugin *plugin, moonplan_error *err) {
    const mpl_plugins *owner = plugin->owner;
    const moonplan_limits *limits = &owner->options.limits;
    struct loading loading = {.plugin = plugin};
    if (!read_source(&owner->shelves[plugin->shelf], &plugin->source, plugin->file,
                     limits->source_kib * 1024, err)) {
        if (err->code == MOONPLAN_LIMIT)
            mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                          "the source is longer than the limit source_kib allows: %u",
                          limits->source_kib);
        if (err->code != MOONPLAN_MEMORY) err->code = MOONPLAN_PLUGIN_LOAD;
        return false;
    }
    if (plugin->source.failed ||
        !mpl_sandbox_open(&plugin->box, &owner->options, limits->memory_mib << 20)) {
        mpl_error_memory(err);
        return false;
    }
    plugin->box.owner = plugin;
    mpl_outcome outcome = mpl_sandbox_run(&plugin->box, load_main, &loading, limits->load_ms);
    mpl_buffer_close(&plugin->source);
    if (outcome != MPL_RAN) {
        explain(plugin, outcome, err);
        return false;
    }
    *err = loading.err;
    moonplan_text name = {plugin->name, strlen(plugin->name)};
    return loading.fine && mpl_manifest_check(&plugin->manifest, name, err) &&
           make_items(plugin, err);
}
