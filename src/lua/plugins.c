/* The plugins of an engine: folders, what has been read of them, and how a name is found. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "../core/text.h"
#include "shelf.h"

/* Entries of a folder, which nobody needs more of. */
#define ENTRIES_MOST 10000

/* -- Reading files ---------------------------------------------------------*/

static char *copy_text(mpl_alloc *alloc, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = mpl_allocate(alloc, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

/* "NAME.lua: " in front of what an error says; the end is cut where it does not fit. */
static void name_file(moonplan_error *err, const char *file) {
    char message[sizeof err->message];
    int written = snprintf(message, sizeof message, "%s: %s", file, err->message);
    size_t length = (size_t)written < sizeof message ? (size_t)written : sizeof message - 1;
    if ((size_t)written >= sizeof message) {
        while (length > 0 && (message[length - 1] & 0xc0) == 0x80) length--;
        if (length > 0 && (message[length - 1] & 0x80)) length--;
    }
    message[length] = 0;
    memcpy(err->message, message, length + 1);
}

/* A plugin that is not loaded yet, in the list. */
static mpl_plugin *add_plugin(mpl_plugins *plugins, size_t at, const char *name, const char *file,
                              bool folder) {
    mpl_plugin_list *list = &plugins->list;
    void *block = list->at;
    if (!mpl_grow(&plugins->alloc, &block, &list->capacity, list->count + 1, sizeof(mpl_plugin *)))
        return NULL;
    list->at = block;
    mpl_plugin *plugin = mpl_allocate(&plugins->alloc, sizeof *plugin);
    if (!plugin) return NULL;
    memset(plugin, 0, sizeof *plugin);
    plugin->name = copy_text(&plugins->alloc, name);
    plugin->file = plugin->name ? copy_text(&plugins->alloc, file) : NULL;
    if (!plugin->file) {
        if (plugin->name) mpl_release(&plugins->alloc, plugin->name, strlen(name) + 1);
        mpl_release(&plugins->alloc, plugin, sizeof *plugin);
        return NULL;
    }
    plugin->owner = plugins;
    plugins->holds++;
    plugin->holds = 1;
    plugin->shelf = at;
    plugin->folder = folder;
    mpl_sources_open(&plugin->sources, &plugins->alloc);
    plugin->process.alloc = &plugins->alloc;
    mpl_process_open(&plugin->process);
    plugin->code.alloc = plugins->alloc;
    mpl_buffer_open(&plugin->code.source, &plugin->code.alloc);
    mpl_manifest_open(&plugin->manifest, &plugins->options);
    list->at[list->count++] = plugin;
    return plugin;
}

/* The plugin in a file, read when it is asked for first; NULL when there is no such file, or with
 * the error `memory`. */
static mpl_plugin *get(mpl_plugins *plugins, size_t at, moonplan_text name, bool folder,
                       moonplan_error *err) {
    char plain[160], file[192];
    if (!mpl_plugin_name(name)) return NULL;
    snprintf(plain, sizeof plain, "%.*s", (int)name.length, name.bytes);
    snprintf(file, sizeof file, folder ? "%s/init.lua" : "%s.lua", plain);
    for (size_t i = 0; i < plugins->list.count; i++) {
        mpl_plugin *plugin = plugins->list.at[i];
        if (plugin->shelf == at && strcmp(plugin->file, file) == 0) return plugin;
    }
    if (!mpl_shelf_has(&plugins->shelves[at], file)) return NULL;
    mpl_plugin *plugin = NULL;
    if (mpl_loads_reserve(plugins)) plugin = add_plugin(plugins, at, plain, file, folder);
    if (!plugin) {
        mpl_error_memory(err);
        return NULL;
    }
    moonplan_error broken;
    if (mpl_plugin_load(plugin, &broken)) {
        mpl_loads_note(plugins, plugin);
        return plugin;
    }
    if (broken.code == MOONPLAN_MEMORY) {
        plugins->list.count--;
        mpl_plugin_drop(plugin);
        mpl_error_memory(err);
        return NULL;
    }
    /* A syntax or run-time error of Lua's begins with the file's name already. */
    size_t length = strlen(file);
    if (strncmp(broken.message, file, length) != 0 || broken.message[length] != ':')
        name_file(&broken, file);
    plugin->broken = broken;
    mpl_loads_note(plugins, plugin);
    return plugin;
}

/* -- Finding ---------------------------------------------------------------*/

/* Everything that can be said about a name. */
struct search {
    mpl_plugin_item *found, *other; /* the first two that are not shipped, or the shipped one */
    const mpl_plugin *broken;
};

static void look_at(struct search *search, mpl_plugin *plugin, moonplan_text name) {
    if (plugin->broken.code != MOONPLAN_OK) {
        if (!search->broken) search->broken = plugin;
        return;
    }
    for (size_t i = 0; i < plugin->item_count; i++) {
        if (!mpl_text_equal(plugin->items[i].item->name, name)) continue;
        if (!search->found)
            search->found = &plugin->items[i];
        else if (!search->other)
            search->other = &plugin->items[i];
    }
}

/* All files that may bring a name: for a.b these are a and a.b, each in two forms, in every
 * folder. The shipped ones come first. */
static bool search(mpl_plugins *plugins, struct search *search, moonplan_text name,
                   moonplan_error *err) {
    moonplan_error problem = {.code = MOONPLAN_OK};
    for (size_t at = 0; at < plugins->shelf_count; at++) {
        for (size_t length = 1; length <= name.length; length++) {
            if (length < name.length && name.bytes[length] != '.') continue;
            for (int folder = 0; folder < 2; folder++) {
                moonplan_text part = {name.bytes, length};
                mpl_plugin *plugin = get(plugins, at, part, folder != 0, &problem);
                if (plugin) look_at(search, plugin, name);
                if (problem.code != MOONPLAN_OK) {
                    if (err) *err = problem;
                    return false;
                }
            }
        }
    }
    return true;
}

/* Two of them leave room for the rest of a message. */
#define WHEREABOUTS 168

/* The folder as it was given and the file, quoted. */
static void show_place(const mpl_plugin *plugin, char out[WHEREABOUTS]) {
    char path[4096 + 256];
    moonplan_text folder = mpl_plugin_folder(plugin);
    int most = folder.length < 4096 ? (int)folder.length : 4096;
    int length = snprintf(path, sizeof path, "%.*s%s%s", most, folder.bytes ? folder.bytes : "",
                          folder.bytes ? "/" : "", plugin->file);
    out[mpl_quote(out, WHEREABOUTS - 8, (moonplan_text){path, (size_t)length})] = 0;
}

mpl_plugin_item *mpl_plugins_find(mpl_plugins *plugins, moonplan_text name, moonplan_error *err) {
    struct search result = {NULL, NULL, NULL};
    if (err) memset(err, 0, sizeof *err);
    if (!mpl_plugin_name(name) || !search(plugins, &result, name, err)) return NULL;
    if (!result.found) {
        if (result.broken && err) *err = result.broken->broken;
        return NULL;
    }
    if (!result.other || mpl_plugin_shipped(result.found->plugin)) return result.found;
    char found[WHEREABOUTS], other[WHEREABOUTS];
    show_place(result.found->plugin, found);
    show_place(result.other->plugin, other);
    mpl_error_set(err, MOONPLAN_PLUGIN_DUPLICATE, MOONPLAN_NO_OFFSET, NULL,
                  "%q is brought twice, by %s and by %s, so that neither is used", &name, found,
                  other);
    return NULL;
}

static void release_item(void *data) {
    mpl_plugin_item *item = data;
    item->registered = false;
    mpl_plugin_drop(item->plugin);
}

static moonplan_capability describe(mpl_plugin_item *item) {
    return (moonplan_capability){.name = item->item->name,
                                 .version = item->item->version,
                                 .summary = item->item->summary,
                                 .risk = item->item->risk,
                                 .input = item->item->input,
                                 .output = item->item->output,
                                 .needs = item->needs,
                                 .needs_count = item->needs_count,
                                 .missing = item->missing,
                                 .missing_count = item->missing_count,
                                 .digest = {item->plugin->verdict.digest, MPL_DIGEST_DIGITS},
                                 .lua_values = true,
                                 .run = mpl_plugin_answer,
                                 .check = item->item->functions >> MPL_CHECK & 1 ? mpl_plugin_check
                                                                                 : NULL,
                                 .data = item,
                                 .release = release_item};
}

static void mark_registered(mpl_plugin_item *item) {
    item->registered = true;
    mpl_plugin_hold(item->plugin);
}

bool mpl_plugins_register(mpl_plugins *plugins, moonplan_engine *engine, moonplan_text name,
                          moonplan_error *err) {
    mpl_plugin_item *item = mpl_plugins_find(plugins, name, err);
    if (item && mpl_plugins_withdrawn(plugins, name)) return false;
    if (!item || item->registered) return item != NULL;
    if (item->item->kind != MPL_CAPABILITY) {
        mpl_error_set(err, MOONPLAN_PLAN_UNKNOWN_CAPABILITY, MOONPLAN_NO_OFFSET, NULL,
                      "%q is %s; a step names a capability", &name,
                      mpl_kinds[item->item->kind].article);
        return false;
    }
    moonplan_capability capability = describe(item);
    if (!mpl_engine_replace(engine, NULL, 0, &capability, 1, true, err)) return false;
    mark_registered(item);
    return true;
}

bool mpl_plugins_withdrawn(const mpl_plugins *plugins, moonplan_text name) {
    for (size_t i = 0; i < plugins->withdrawn_count; i++)
        if (mpl_text_equal(plugins->withdrawn[i], name)) return true;
    return false;
}

bool mpl_plugins_withdraw(mpl_plugins *plugins, moonplan_text name, moonplan_error *err) {
    if (mpl_plugins_withdrawn(plugins, name) || !mpl_plugins_find(plugins, name, err)) return false;
    void *block = plugins->withdrawn;
    if (mpl_grow(&plugins->alloc, &block, &plugins->withdrawn_capacity,
                 plugins->withdrawn_count + 1, sizeof name)) {
        plugins->withdrawn = block;
        const char *bytes = mpl_arena_copy(&plugins->texts, name.bytes, name.length);
        moonplan_text copy = {bytes, name.length};
        if (bytes) plugins->withdrawn[plugins->withdrawn_count++] = copy;
        if (bytes) return true;
    }
    mpl_error_memory(err);
    return false;
}

static bool provide(void *data, moonplan_engine *engine, moonplan_text name, moonplan_error *err) {
    bool found = mpl_plugins_register(data, engine, name, err);
    mpl_plugins_tell(data);
    return found;
}

/* -- Listing ---------------------------------------------------------------*/

struct listing {
    mpl_plugins *plugins;
    size_t shelf;
    moonplan_error *err;
    bool failed;
};

static bool list_one(struct listing *listing, moonplan_text name, bool folder) {
    moonplan_error problem = {.code = MOONPLAN_OK};
    get(listing->plugins, listing->shelf, name, folder, &problem);
    if (problem.code == MOONPLAN_OK) return true;
    if (listing->err) *listing->err = problem;
    listing->failed = true;
    return false;
}

static bool is_lua(moonplan_text name) {
    return name.length > 4 && memcmp(name.bytes + name.length - 4, ".lua", 4) == 0;
}

/* A file of another name than a plugin can have is kept as a broken one, so that somebody says so.
 */
static bool list_odd(struct listing *listing, moonplan_text name) {
    char shown[192];
    shown[mpl_quote(shown, sizeof shown - 8, name)] = 0;
    for (size_t i = 0; i < listing->plugins->list.count; i++) {
        const mpl_plugin *plugin = listing->plugins->list.at[i];
        if (plugin->shelf == listing->shelf && strcmp(plugin->file, shown) == 0) return true;
    }
    mpl_plugin *plugin = add_plugin(listing->plugins, listing->shelf, "", shown, false);
    if (!plugin) {
        mpl_error_memory(listing->err);
        listing->failed = true;
        return false;
    }
    mpl_error_set(&plugin->broken, MOONPLAN_PLUGIN_NAME, MOONPLAN_NO_OFFSET, NULL,
                  "%s: no plugin can be named so: letters, digits, _ and -, with dots between "
                  "them",
                  shown);
    return true;
}

/* A link, a FIFO: kept as a broken one as well, and never opened. */
static bool list_unreadable(struct listing *listing, moonplan_text plain, bool folder) {
    mpl_plugins *plugins = listing->plugins;
    char name[160], file[192];
    bool is_folder;
    uint64_t size;
    moonplan_error why = {.code = MOONPLAN_OK};
    snprintf(name, sizeof name, "%.*s", (int)plain.length, plain.bytes);
    snprintf(file, sizeof file, folder ? "%s/init.lua" : "%s.lua", name);
    if (mpl_shelf_has(&plugins->shelves[listing->shelf], file)) return true;
    for (size_t i = 0; i < plugins->list.count; i++)
        if (plugins->list.at[i]->shelf == listing->shelf &&
            strcmp(plugins->list.at[i]->file, file) == 0)
            return true;
    if (moonplan_root_stat(plugins->shelves[listing->shelf].root, &is_folder, &size, file,
                           strlen(file), &why))
        return true;
    mpl_plugin *plugin = NULL;
    if (mpl_loads_reserve(plugins))
        plugin = add_plugin(plugins, listing->shelf, name, file, folder);
    if (!plugin) {
        mpl_error_memory(listing->err);
        listing->failed = true;
        return false;
    }
    mpl_error_set(&plugin->broken, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL, "%s: %s", file,
                  why.message);
    mpl_loads_note(plugins, plugin);
    return true;
}

static bool is_init(void *data, moonplan_text name, bool folder) {
    bool *found = data;
    if (!folder && mpl_text_is(name, "init.lua")) *found = true;
    return !*found;
}

static bool list_entry(void *data, moonplan_text name, bool folder) {
    struct listing *listing = data;
    if (name.bytes[0] == '.' || (!folder && !is_lua(name))) return true;
    moonplan_text plain = {name.bytes, folder ? name.length : name.length - 4};
    if (!mpl_plugin_name(plain)) return folder || list_odd(listing, name);
    bool there = !folder;
    if (folder)
        moonplan_root_list(listing->plugins->shelves[listing->shelf].root, is_init, &there,
                           name.bytes, name.length, ENTRIES_MOST, NULL);
    return list_one(listing, plain, folder) && (!there || list_unreadable(listing, plain, folder));
}

static bool list_shipped(struct listing *listing) {
    static const char init[] = "/init.lua";
    for (size_t i = 0; i < mpl_shipped_count; i++) {
        moonplan_text path = {mpl_shipped_files[i].path, strlen(mpl_shipped_files[i].path)};
        const char *slash = memchr(path.bytes, '/', path.length);
        if (slash && strcmp(slash, init) != 0) continue;
        path.length = slash ? (size_t)(slash - path.bytes) : path.length - 4;
        if (!list_one(listing, path, slash != NULL)) return false;
    }
    return true;
}

static int compare(const mpl_plugin *a, const mpl_plugin *b) {
    if (a->shelf != b->shelf) return a->shelf < b->shelf ? -1 : 1;
    return strcmp(a->file, b->file);
}

/* Few, and mostly in order already. */
static void sort(mpl_plugin_list *list) {
    for (size_t i = 1; i < list->count; i++) {
        mpl_plugin *moved = list->at[i];
        size_t j = i;
        for (; j > 0 && compare(moved, list->at[j - 1]) < 0; j--) list->at[j] = list->at[j - 1];
        list->at[j] = moved;
    }
}

bool mpl_plugins_load(mpl_plugins *plugins, moonplan_text name, moonplan_error *err) {
    for (size_t at = 0; at < plugins->shelf_count; at++) {
        struct listing listing = {plugins, at, err, false};
        bool fine;
        if (name.bytes)
            fine = list_one(&listing, name, false) && list_one(&listing, name, true);
        else if (!plugins->shelves[at].root)
            fine = list_shipped(&listing);
        else
            fine = moonplan_root_list(plugins->shelves[at].root, list_entry, &listing, "", 0,
                                      ENTRIES_MOST, err);
        if (!fine || listing.failed) return false;
    }
    sort(&plugins->list);
    return true;
}

size_t mpl_plugins_count(const mpl_plugins *plugins) {
    return plugins->list.count;
}

mpl_plugin *mpl_plugins_at(const mpl_plugins *plugins, size_t n) {
    return plugins->list.at[n];
}

/* -- Reloading -------------------------------------------------------------*/

static void close_list(mpl_plugins *plugins, mpl_plugin_list *list) {
    for (size_t i = 0; i < list->count; i++) mpl_plugin_drop(list->at[i]);
    mpl_release(&plugins->alloc, list->at, list->capacity * sizeof(mpl_plugin *));
    *list = (mpl_plugin_list){NULL, 0, 0};
}

/* Read every file of the old list again, unless it is gone. One that was fine has to stay so. All
 * of them are looked at, and of several problems a signature's is told: it has had consequences. */
static bool read_again(mpl_plugins *plugins, const mpl_plugin_list *old, moonplan_error *err) {
    moonplan_error first = {.code = MOONPLAN_OK};
    for (size_t i = 0; i < old->count && first.code != MOONPLAN_MEMORY; i++) {
        const mpl_plugin *before = old->at[i];
        moonplan_text name = {before->name, strlen(before->name)};
        moonplan_error problem = {.code = MOONPLAN_OK};
        const mpl_plugin *now = get(plugins, before->shelf, name, before->folder, &problem);
        if (problem.code == MOONPLAN_OK && now &&
            (before->broken.code == MOONPLAN_OK || before->revoked))
            problem = now->broken;
        if (problem.code == MOONPLAN_OK) continue;
        if (first.code == MOONPLAN_OK || problem.code == MOONPLAN_MEMORY ||
            (problem.code == MOONPLAN_PLUGIN_SIGNATURE && first.code != problem.code))
            first = problem;
    }
    if (first.code != MOONPLAN_OK && err) *err = first;
    return first.code == MOONPLAN_OK;
}

/* Whether the plugin's file has been refused for its signature just now, so that it was told. */
static bool was_refused(const mpl_plugins *plugins, const mpl_plugin *old) {
    for (size_t i = 0; i < plugins->list.count; i++) {
        const mpl_plugin *now = plugins->list.at[i];
        if (now->shelf == old->shelf && strcmp(now->file, old->file) == 0)
            return now->broken.code == MOONPLAN_PLUGIN_SIGNATURE;
    }
    return false;
}

/* The old ones stay. What nobody vouches for any more is as if it had been refused at first: plans
 * that name it are, and so are jobs that come to it. */
static void revoke(mpl_plugins *plugins, moonplan_engine *engine, const mpl_plugin_list *old) {
    for (size_t i = 0; i < old->count; i++) {
        mpl_plugin *plugin = old->at[i];
        moonplan_error why;
        if (plugin->broken.code != MOONPLAN_OK || mpl_plugin_holds(plugin, &why)) continue;
        name_file(&why, plugin->file);
        plugin->broken = why;
        plugin->revoked = true;
        if (!was_refused(plugins, plugin) && mpl_loads_reserve(plugins))
            mpl_loads_note(plugins, plugin);
        for (size_t j = 0; j < plugin->item_count; j++) {
            moonplan_text name = plugin->items[j].item->name;
            if (plugin->items[j].registered)
                moonplan_engine_unregister(engine, name.bytes, name.length);
        }
    }
}

typedef struct swap {
    moonplan_text *names;
    moonplan_capability *list;
    mpl_plugin_item **items;
    size_t room, old, count;
} swap;

static bool open_swap(mpl_plugins *plugins, swap *s, const mpl_plugin_list *old) {
    *s = (swap){NULL, NULL, NULL, 0, 0, 0};
    for (size_t i = 0; i < old->count; i++) s->room += old->at[i]->item_count;
    if (s->room == 0) return true;
    s->names = mpl_allocate(&plugins->alloc, s->room * sizeof *s->names);
    s->list = mpl_allocate(&plugins->alloc, s->room * sizeof *s->list);
    s->items = mpl_allocate(&plugins->alloc, s->room * sizeof(mpl_plugin_item *));
    return s->names && s->list && s->items;
}

static void close_swap(mpl_plugins *plugins, swap *s) {
    mpl_release(&plugins->alloc, s->names, s->room * sizeof *s->names);
    mpl_release(&plugins->alloc, s->list, s->room * sizeof *s->list);
    mpl_release(&plugins->alloc, s->items, s->room * sizeof(mpl_plugin_item *));
}

static bool fill_swap(mpl_plugins *plugins, swap *s, const mpl_plugin_list *old,
                      moonplan_error *err) {
    for (size_t i = 0; i < old->count; i++) {
        for (size_t j = 0; j < old->at[i]->item_count; j++) {
            if (!old->at[i]->items[j].registered) continue;
            moonplan_text name = old->at[i]->items[j].item->name;
            s->names[s->old++] = name;
            moonplan_error problem;
            mpl_plugin_item *item = mpl_plugins_find(plugins, name, &problem);
            if (!item && problem.code != MOONPLAN_OK) {
                if (err) *err = problem;
                return false;
            }
            if (!item) continue;
            s->items[s->count] = item;
            s->list[s->count++] = describe(item);
        }
    }
    return true;
}

bool mpl_plugins_reload(mpl_plugins *plugins, moonplan_engine *engine, moonplan_error *err) {
    mpl_plugin_list old = plugins->list;
    swap s;
    if (!mpl_plugins_trust_again(plugins, err)) return false;
    plugins->list = (mpl_plugin_list){NULL, 0, 0};
    bool fine = open_swap(plugins, &s, &old);
    if (!fine) mpl_error_memory(err);
    fine = fine && read_again(plugins, &old, err) && fill_swap(plugins, &s, &old, err) &&
           mpl_engine_replace(engine, s.names, s.old, s.list, s.count, true, err);
    if (fine)
        for (size_t i = 0; i < s.count; i++) mark_registered(s.items[i]);
    close_swap(plugins, &s);
    if (!fine) {
        revoke(plugins, engine, &old);
        close_list(plugins, &plugins->list);
        plugins->list = old;
        return false;
    }
    close_list(plugins, &old);
    plugins->withdrawn_count = 0;
    return true;
}

/* -- The set ---------------------------------------------------------------*/

void mpl_plugins_drop(mpl_plugins *plugins) {
    if (--plugins->holds > 0) return;
    for (size_t i = 0; i < plugins->shelf_count; i++) mpl_shelf_close(&plugins->shelves[i]);
    mpl_trust_free(plugins->trust);
    mpl_grants_close(&plugins->grants);
    mpl_release(&plugins->alloc, plugins->withdrawn,
                plugins->withdrawn_capacity * sizeof *plugins->withdrawn);
    mpl_arena_close(&plugins->texts);
    mpl_buffer_close(&plugins->runner);
    mpl_alloc alloc = plugins->alloc;
    mpl_release(&alloc, plugins, sizeof *plugins);
}

void mpl_plugins_free(mpl_plugins *plugins) {
    if (!plugins) return;
    mpl_loads_drop(plugins);
    close_list(plugins, &plugins->list);
    mpl_plugins_drop(plugins);
}

void mpl_plugins_use(mpl_plugins *plugins, moonplan_engine *engine) {
    plugins->engine = engine;
}

static void release_plugins(void *data) {
    mpl_plugins *plugins = data;
    plugins->engine = NULL;
    mpl_plugins_free(plugins);
}

moonplan_provider mpl_plugins_provider(mpl_plugins *plugins) {
    return (moonplan_provider){.find = provide, .data = plugins, .release = release_plugins};
}

static bool open_shelves(mpl_plugins *plugins, moonplan_error *err) {
    const mpl_plugins_setup *setup = &plugins->setup;
    size_t room = setup->folder_count + 1;
    plugins->shelves = mpl_arena_take(&plugins->texts, room * sizeof *plugins->shelves);
    if (!plugins->shelves) {
        mpl_error_memory(err);
        return false;
    }
    if (setup->shipped) plugins->shelf_count++;
    for (size_t i = 0; i < setup->folder_count; i++) {
        mpl_shelf *next = &plugins->shelves[plugins->shelf_count];
        moonplan_text path = setup->folders[i];
        while (path.length > 1 && path.bytes[path.length - 1] == '/') path.length--;
        next->path.bytes = mpl_arena_copy(&plugins->texts, path.bytes, path.length);
        next->path.length = path.length;
        if (!next->path.bytes) mpl_error_memory(err);
        if (next->path.bytes)
            next->root = moonplan_root_open(path.bytes, path.length,
                                            MOONPLAN_ROOT_TRUSTED | MOONPLAN_ROOT_GUARDED,
                                            &plugins->options, err);
        if (!next->root) return false;
        plugins->shelf_count++;
    }
    return true;
}

static bool open_trust(mpl_plugins *plugins, moonplan_text folder, moonplan_error *err) {
    const mpl_plugins_setup *setup = &plugins->setup;
    if (!folder.bytes) return true;
    plugins->setup.trust.bytes = mpl_arena_copy(&plugins->texts, folder.bytes, folder.length);
    if (!plugins->setup.trust.bytes) return mpl_error_memory(err), false;
    plugins->trust =
        mpl_trust_open(setup->trust, setup->now, setup->now_data, &plugins->options, err);
    return plugins->trust != NULL;
}

mpl_plugins *mpl_plugins_new(const mpl_plugins_setup *setup, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(setup->options);
    mpl_plugins *plugins = mpl_allocate(&alloc, sizeof *plugins);
    if (!plugins) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(plugins, 0, sizeof *plugins);
    plugins->holds = 1;
    plugins->alloc = alloc;
    plugins->options = *setup->options;
    plugins->options.errors = NULL;
    plugins->options.borrow = false;
    plugins->setup = *setup;
    plugins->setup.options = &plugins->options;
    mpl_arena_open(&plugins->texts, &plugins->alloc);
    bool fine =
        open_shelves(plugins, err) && mpl_grants_open(&plugins->grants, setup->grants,
                                                      setup->grant_count, &plugins->options, err);
    mpl_buffer_open(&plugins->runner, &plugins->alloc);
    if (fine && setup->runner.bytes) {
        plugins->setup.runner.bytes =
            mpl_arena_copy(&plugins->texts, setup->runner.bytes, setup->runner.length);
        fine = plugins->setup.runner.bytes != NULL;
        if (!fine) mpl_error_memory(err);
    }
    fine = fine && open_trust(plugins, setup->trust, err);
    /* What was borrowed for this call. */
    plugins->setup.folders = NULL;
    plugins->setup.grants = NULL;
    if (fine) return plugins;
    mpl_plugins_free(plugins);
    return NULL;
}
