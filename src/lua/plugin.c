/* One plugin: a file, its state, and what it brings. */
#include "plugin.h"

#include <stdio.h>
#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "confined.h"
#include "shelf.h"

void mpl_plugin_hold(mpl_plugin *plugin) {
    plugin->holds++;
}

void mpl_plugin_drop(mpl_plugin *plugin) {
    if (--plugin->holds > 0) return;
    mpl_plugins *owner = plugin->owner;
    mpl_confined_close(plugin);
    mpl_code_close(&plugin->code);
    mpl_manifest_close(&plugin->manifest);
    mpl_sources_close(&plugin->sources);
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

/* -- Loading ---------------------------------------------------------------*/

moonplan_text mpl_plugin_source(const mpl_plugin *plugin) {
    const char *why;
    moonplan_text file = {plugin->file, strlen(plugin->file)};
    return mpl_sources_find(&plugin->sources, file, &why);
}

bool mpl_plugin_import(void *data, mpl_buffer *out, moonplan_text name, moonplan_error *err) {
    const mpl_plugin *plugin = data;
    char path[2 * MPL_NAME_MOST + 8];
    int length =
        snprintf(path, sizeof path, "%s/%.*s.lua", plugin->name, (int)name.length, name.bytes);
    const char *why;
    moonplan_text text =
        mpl_sources_find(&plugin->sources, (moonplan_text){path, (size_t)length}, &why);
    out->length = 0;
    if (!text.bytes && why) {
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL, "%s", why);
        return false;
    }
    if (!text.bytes) {
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                      "there is no file %s among those that were read with the plugin", path);
        return false;
    }
    mpl_buffer_add(out, text.bytes, text.length);
    return true;
}

static void explain(const mpl_plugin *plugin, const mpl_loaded *loaded, moonplan_error *err) {
    const moonplan_limits *limits = &plugin->owner->options.limits;
    if (loaded->outcome == MPL_LATE)
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                      "loading takes longer than the limit load_ms allows: %u", limits->load_ms);
    else if (loaded->outcome == MPL_NO_MEMORY && loaded->over_limit)
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                      "loading takes more memory than the limit memory_mib allows: %u",
                      limits->memory_mib);
    else if (loaded->outcome == MPL_NO_MEMORY || loaded->text.failed)
        mpl_error_memory(err);
    else if (loaded->has_text)
        set_lua_error(err, &loaded->text);
    else
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                      "loading raises something that is neither a text nor a table with a message");
}

static bool is_listed(const mpl_plugin_item *made, moonplan_text need) {
    for (size_t i = 0; i < made->needs_count; i++)
        if (mpl_text_equal(made->needs[i], need)) return true;
    return false;
}

static void list_powers(const mpl_plugins *plugins, mpl_plugin_item *made) {
    moonplan_walk walk = moonplan_value_walk(mpl_member(made->item->value, "needs"));
    while (moonplan_walk_next(&walk)) {
        moonplan_text need = moonplan_value_string(walk.value);
        if (is_listed(made, need)) continue;
        made->needs[made->needs_count++] = need;
        if (!mpl_grants_meet(&plugins->grants, need)) made->missing[made->missing_count++] = need;
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

/* What was read is run where it belongs, and says what it brings. */
static bool run_source(mpl_plugin *plugin, mpl_loaded *loaded, moonplan_error *err) {
    const mpl_plugins *owner = plugin->owner;
    if (plugin->isolation == MPL_PROCESS) return mpl_confined_load(plugin, loaded, err);
    mpl_code *code = &plugin->code;
    code->options = &owner->options;
    code->name = plugin->name;
    code->folder = plugin->folder;
    code->import = mpl_plugin_import;
    code->import_data = plugin;
    if (!mpl_code_open(code)) {
        mpl_error_memory(err);
        return false;
    }
    mpl_code_load(code, &plugin->manifest, loaded, mpl_plugin_source(plugin), plugin->file,
                  owner->options.limits.load_ms);
    /* Nothing but an import, or another load in a runner, asks for it again. */
    if (!plugin->folder) mpl_buffer_close(&plugin->sources.text);
    return true;
}

static bool make(mpl_plugin *plugin, moonplan_error *err) {
    mpl_loaded loaded;
    memset(&loaded, 0, sizeof loaded);
    mpl_buffer_open(&loaded.text, &plugin->owner->alloc);
    mpl_buffer_open(&loaded.code, &plugin->owner->alloc);
    bool fine = run_source(plugin, &loaded, err);
    if (fine && loaded.outcome != MPL_RAN) {
        explain(plugin, &loaded, err);
        fine = false;
    } else if (fine) {
        *err = loaded.err;
        fine = loaded.fine;
    }
    mpl_buffer_close(&loaded.text);
    mpl_buffer_close(&loaded.code);
    return fine;
}

/* Where it runs. What is not trusted is confined unless the host said that it need not be; nothing
 * else leads there: not who runs this, and not that a runner cannot be had. */
static void choose_isolation(mpl_plugin *plugin) {
    mpl_isolation wanted = plugin->owner->setup.isolation;
    if (wanted == MPL_BY_ORIGIN) wanted = plugin->verdict.state ? MPL_STATE : MPL_PROCESS;
    plugin->isolation = wanted;
}

bool mpl_plugin_load(mpl_plugin *plugin, moonplan_error *err) {
    if (!mpl_plugin_read(plugin, err)) return false;
    choose_isolation(plugin);
    moonplan_text name = {plugin->name, strlen(plugin->name)};
    if (make(plugin, err) && mpl_manifest_check(&plugin->manifest, name, err) &&
        mpl_plugin_vouch(plugin, err) && make_items(plugin, err))
        return true;
    mpl_confined_close(plugin);
    return false;
}
