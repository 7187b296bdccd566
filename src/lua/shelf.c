#include "shelf.h"

#include <stdio.h>
#include <string.h>

#include "../core/text.h"

/* Entries of one folder, which nobody needs more of. */
#define ENTRIES_MOST 10000

/* -- Files -------------------------------------------------------------------*/

static const mpl_shipped *find_shipped(const char *path) {
    for (size_t i = 0; i < mpl_shipped_count; i++)
        if (strcmp(mpl_shipped_files[i].path, path) == 0) return &mpl_shipped_files[i];
    return NULL;
}

bool mpl_shelf_has(const mpl_shelf *at, const char *path) {
    bool folder;
    uint64_t size;
    if (!at->root) return find_shipped(path) != NULL;
    return moonplan_root_stat(at->root, &folder, &size, path, strlen(path), NULL) && !folder;
}

static bool read_source(void *data, mpl_buffer *out, const char *path, moonplan_error *err) {
    const mpl_plugin *plugin = data;
    const mpl_shelf *at = &plugin->owner->shelves[plugin->shelf];
    const mpl_shipped *file = at->root ? NULL : find_shipped(path);
    uint64_t kib = plugin->owner->options.limits.source_kib;
    if (file) {
        mpl_buffer_add(out, file->text, file->length);
        return true;
    }
    if (!at->root) {
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL, "there is no such file");
        return false;
    }
    if (moonplan_root_read(at->root, mpl_buffer_sink, out, path, strlen(path), kib * 1024, err))
        return true;
    if (err->code == MOONPLAN_LIMIT)
        mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                      "the source is longer than the limit source_kib allows: %u", kib);
    if (err->code != MOONPLAN_MEMORY) err->code = MOONPLAN_PLUGIN_LOAD;
    return false;
}

struct adding {
    mpl_plugin *plugin;
    moonplan_error *err;
    bool failed;
};

/* What plugin.import can name. */
static bool add_entry(void *data, moonplan_text name, bool folder) {
    struct adding *adding = data;
    mpl_plugin *plugin = adding->plugin;
    char path[2 * MPL_NAME_MOST + 8];
    moonplan_text plain = {name.bytes, name.length - 4};
    if (folder || name.length <= 4 || memcmp(name.bytes + name.length - 4, ".lua", 4) != 0 ||
        !mpl_plugin_name(plain) || memchr(plain.bytes, '.', plain.length))
        return true;
    if (mpl_text_is(plain, "init")) return true;
    snprintf(path, sizeof path, "%s/%.*s", plugin->name, (int)name.length, name.bytes);
    if (mpl_sources_add(&plugin->sources, path, read_source, plugin, adding->err)) return true;
    /* A link, or what is open to others: no reason for the others not to be used. */
    if (mpl_sources_lack(&plugin->sources, path, adding->err)) return true;
    adding->failed = true;
    return false;
}

static bool add_folder(mpl_plugin *plugin, moonplan_error *err) {
    const mpl_shelf *at = &plugin->owner->shelves[plugin->shelf];
    struct adding adding = {.plugin = plugin, .err = err};
    size_t length = strlen(plugin->name);
    if (at->root) {
        if (moonplan_root_list(at->root, add_entry, &adding, plugin->name, length, ENTRIES_MOST,
                               err))
            return !adding.failed;
        if (err->code != MOONPLAN_MEMORY) err->code = MOONPLAN_PLUGIN_LOAD;
        return false;
    }
    for (size_t i = 0; i < mpl_shipped_count && !adding.failed; i++) {
        const char *path = mpl_shipped_files[i].path;
        if (strncmp(path, plugin->name, length) != 0 || path[length] != '/') continue;
        moonplan_text name = {path + length + 1, strlen(path + length + 1)};
        add_entry(&adding, name, memchr(name.bytes, '/', name.length) != NULL);
    }
    return !adding.failed;
}

/* -- Trust -------------------------------------------------------------------*/

/* What signs the folder is read when the first of its plugins is, and counts for all of them. */
static bool open_seal(mpl_plugins *plugins, mpl_shelf *at, moonplan_error *err) {
    if (!plugins->trust || !at->root) return true;
    if (!at->looked) {
        moonplan_error why = {.code = MOONPLAN_OK};
        if (!mpl_trust_seal(plugins->trust, at->root, &at->seal, &why)) {
            if (why.code == MOONPLAN_MEMORY) return mpl_error_memory(err), false;
            why.code = MOONPLAN_PLUGIN_SIGNATURE; /* also of a folder that cannot be listed */
            at->unsealed = why;
        }
        at->looked = true;
    }
    if (at->unsealed.code == MOONPLAN_OK) return true;
    *err = at->unsealed;
    return false;
}

bool mpl_plugin_read(mpl_plugin *plugin, moonplan_error *err) {
    mpl_plugins *owner = plugin->owner;
    mpl_shelf *at = &owner->shelves[plugin->shelf];
    moonplan_text name = {plugin->name, strlen(plugin->name)};
    if (!mpl_sources_add(&plugin->sources, plugin->file, read_source, plugin, err) ||
        (plugin->folder && !add_folder(plugin, err)))
        return false;
    mpl_sources_seal(&plugin->sources);
    if (mpl_plugin_shipped(plugin)) {
        mpl_trust_judge(NULL, NULL, name, &plugin->sources, &plugin->verdict, err);
        plugin->verdict.origin = MPL_SHIPPED;
        plugin->verdict.state = true;
        return true;
    }
    /* The digest first: it is told of what is refused as well. */
    mpl_trust_judge(NULL, NULL, name, &plugin->sources, &plugin->verdict, err);
    return open_seal(owner, at, err) &&
           mpl_trust_judge(owner->trust, at->seal, name, &plugin->sources, &plugin->verdict, err);
}

static bool brings(const mpl_plugin *plugin, const mpl_seal_item *item) {
    for (size_t i = 0; i < plugin->manifest.count; i++)
        if (mpl_text_equal(plugin->manifest.items[i].name, item->name)) return true;
    return false;
}

/* Nothing is said of the file that it does not bring. */
static bool check_items(const mpl_plugin *plugin, const mpl_seal *seal, moonplan_error *err) {
    for (size_t i = 0; i < seal->item_count; i++) {
        const mpl_seal_item *item = &seal->items[i];
        if (!mpl_text_is(item->path, plugin->file) || brings(plugin, item)) continue;
        mpl_error_set(err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL,
                      "it does not bring %q, which the signed " MPL_SEAL_NAME " says of it",
                      &item->name);
        return false;
    }
    return true;
}

bool mpl_plugin_vouch(mpl_plugin *plugin, moonplan_error *err) {
    const mpl_plugins *owner = plugin->owner;
    const mpl_seal *seal = owner->shelves[plugin->shelf].seal;
    if (plugin->verdict.origin == MPL_OTHER)
        for (size_t i = 0; i < plugin->manifest.count; i++)
            if (!mpl_trust_misses(owner->trust, plugin->manifest.items[i].name, err)) return false;
    if (plugin->verdict.origin != MPL_SIGNED) return true;
    if (!check_items(plugin, seal, err)) return false;
    for (size_t i = 0; i < plugin->manifest.count; i++) {
        const mpl_item *item = &plugin->manifest.items[i];
        if (!mpl_trust_meet(owner->trust, seal, plugin->file, item->name, item->version, err))
            return false;
    }
    return mpl_trust_remember(owner->trust, err);
}

void mpl_shelf_close(mpl_shelf *shelf) {
    mpl_seal_free(shelf->seal);
    shelf->seal = NULL;
    moonplan_root_free(shelf->root);
}

bool mpl_plugins_trust_again(mpl_plugins *plugins, moonplan_error *err) {
    if (!plugins->trust) return true;
    mpl_trust *fresh = mpl_trust_open(plugins->setup.trust, plugins->setup.now,
                                      plugins->setup.now_data, &plugins->options, err);
    if (!fresh || !mpl_trust_adopt(fresh, plugins->trust, err)) {
        mpl_trust_free(fresh);
        return false;
    }
    mpl_trust_free(plugins->trust);
    plugins->trust = fresh;
    for (size_t i = 0; i < plugins->shelf_count; i++) {
        mpl_shelf *shelf = &plugins->shelves[i];
        mpl_seal_free(shelf->seal);
        shelf->seal = NULL;
        shelf->looked = false;
        shelf->unsealed.code = MOONPLAN_OK;
    }
    return true;
}

bool mpl_plugin_holds(const mpl_plugin *plugin, moonplan_error *err) {
    mpl_trust *trust = plugin->owner->trust;
    moonplan_text name = mpl_text_of(plugin->name), item = name;
    bool state = true;
    if (!trust) return true;
    for (size_t i = 0; i <= plugin->manifest.count; i++) {
        if (i > 0) item = plugin->manifest.items[i - 1].name;
        if (!mpl_trust_holds(trust, &plugin->verdict, name, item, &state, err)) return false;
    }
    if (state || plugin->isolation != MPL_STATE || plugin->owner->setup.isolation == MPL_STATE)
        return true;
    mpl_error_set(err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL,
                  "it does not earn the isolation \"state\" any more, in which it runs");
    return false;
}

/* -- The record --------------------------------------------------------------*/

bool mpl_loads_reserve(mpl_plugins *plugins) {
    void *block = plugins->loads;
    bool fine = mpl_grow(&plugins->alloc, &block, &plugins->load_capacity, plugins->load_count + 1,
                         sizeof(mpl_plugin *));
    plugins->loads = block;
    return fine;
}

void mpl_loads_note(mpl_plugins *plugins, mpl_plugin *plugin) {
    mpl_plugin_hold(plugin);
    plugins->loads[plugins->load_count++] = plugin;
}

static void tell_one(moonplan_engine *engine, const mpl_plugin *plugin) {
    const mpl_verdict *verdict = &plugin->verdict;
    const char *forgets = mpl_trust_forgets(plugin->owner->trust);
    moonplan_event event = {.file = mpl_text_of(plugin->file)};
    if (verdict->digest[0]) event.digest = mpl_text_of(verdict->digest);
    if (verdict->key[0]) event.key = mpl_text_of(verdict->key);
    if (plugin->broken.code != MOONPLAN_OK) {
        event.type = MOONPLAN_TEXT("plugin.refused");
        event.name = mpl_text_of(plugin->name);
        event.error.code = plugin->broken.code;
        event.error.message = mpl_text_of(plugin->broken.message);
        mpl_engine_tell(engine, &event);
        return;
    }
    event.type = MOONPLAN_TEXT("plugin.loaded");
    event.decision = mpl_text_of(mpl_origin_name(verdict->origin));
    event.isolation = mpl_text_of(plugin->isolation == MPL_STATE ? "state" : "process");
    if (verdict->origin == MPL_SIGNED && forgets) event.reason = mpl_text_of(forgets);
    for (size_t i = 0; i < plugin->manifest.count; i++) {
        event.name = plugin->manifest.items[i].name;
        event.version = plugin->manifest.items[i].version;
        mpl_engine_tell(engine, &event);
    }
}

void mpl_plugins_tell(mpl_plugins *plugins) {
    plugins->holds++;
    while (plugins->load_count > 0) {
        mpl_plugin *plugin = plugins->loads[0];
        memmove(plugins->loads, plugins->loads + 1, --plugins->load_count * sizeof(mpl_plugin *));
        if (plugins->engine) tell_one(plugins->engine, plugin);
        mpl_plugin_drop(plugin);
    }
    mpl_plugins_drop(plugins);
}

void mpl_loads_drop(mpl_plugins *plugins) {
    while (plugins->load_count > 0) mpl_plugin_drop(plugins->loads[--plugins->load_count]);
    mpl_release(&plugins->alloc, plugins->loads, plugins->load_capacity * sizeof(mpl_plugin *));
    plugins->loads = NULL;
    plugins->load_capacity = 0;
}
