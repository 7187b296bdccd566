/* Plugins on disk: a catalogue of capabilities for an engine.
 *
 * DIR/NAME.lua or DIR/NAME/init.lua brings the capability NAME, or ones called NAME.something. So a
 * name leads to its file, and a file is read when a plan names something that it may bring. Each
 * file has a lua_State of its own; what a family shares is that state. */
#ifndef MPL_LUA_PLUGIN_H
#define MPL_LUA_PLUGIN_H

#include "../engine/engine.h"
#include "call.h"
#include "manifest.h"
#include "sandbox.h"

typedef struct mpl_plugins mpl_plugins;
typedef struct mpl_plugin mpl_plugin;

/* One capability of a file, and what it is registered with. */
typedef struct mpl_plugin_item {
    mpl_plugin *plugin;
    const mpl_item *item;
    bool registered;
    moonplan_text needs[MPL_POWERS], missing[MPL_POWERS];
    size_t needs_count, missing_count;
} mpl_plugin_item;

struct mpl_plugin {
    mpl_plugins *owner;
    size_t holds;
    size_t shelf;
    bool folder;       /* NAME/init.lua */
    char *name, *file; /* NAME; NAME.lua or NAME/init.lua */
    mpl_sandbox box;
    mpl_manifest manifest;
    mpl_plugin_item *items; /* manifest.count */
    size_t item_count;
    moonplan_error broken;        /* MOONPLAN_OK: it can be used */
    struct mpl_plugin_call *call; /* the one under way */
    mpl_buffer source;            /* of the chunk that is being compiled */
    int log, fs, fs_rw, clock;    /* tables in the state; LUA_NOREF: not made yet */
};

typedef struct mpl_plugins_setup {
    const moonplan_options *options; /* copied */
    const moonplan_text *folders;
    size_t folder_count;
    bool shipped;
    moonplan_text grants[MPL_POWERS]; /* folders; of clock, any text; {NULL, 0}: not granted */
    uint64_t call_ms;                 /* 0: no limit */
    mpl_log log;
    int64_t (*now)(void *data);
    void *now_data;
} mpl_plugins_setup;

/* A folder of plugins; root NULL: the shipped ones. */
typedef struct mpl_shelf {
    moonplan_root *root;
    moonplan_text path;
} mpl_shelf;

typedef struct mpl_plugin_list {
    mpl_plugin **at;
    size_t count, capacity;
} mpl_plugin_list;

struct mpl_plugins {
    size_t holds;
    mpl_alloc alloc;
    mpl_arena texts;
    moonplan_options options;
    mpl_plugins_setup setup;
    mpl_shelf *shelves;
    size_t shelf_count;
    moonplan_root *fs, *fs_rw;
    mpl_plugin_list list;
    moonplan_text *withdrawn; /* names that the host took away */
    size_t withdrawn_count, withdrawn_capacity;
};

/* NULL when a folder is not there. It has to be given to an engine with mpl_plugins_provider, or
 * freed; the pointer is good as long as the engine is there. */
mpl_plugins *mpl_plugins_new(const mpl_plugins_setup *setup, moonplan_error *err);
void mpl_plugins_free(mpl_plugins *plugins);
moonplan_provider mpl_plugins_provider(mpl_plugins *plugins);

/* Read the files of NAME, or, with {NULL, 0}, all there are. A file that cannot be used is kept, as
 * broken. False when memory is short or a folder cannot be read. */
bool mpl_plugins_load(mpl_plugins *plugins, moonplan_text name, moonplan_error *err);
/* What has been read, in order: shipped ones first, then folder by folder, by name. */
size_t mpl_plugins_count(const mpl_plugins *plugins);
mpl_plugin *mpl_plugins_at(const mpl_plugins *plugins, size_t n);
/* The one item that a name stands for; NULL when there is none, or, with *err, when there is one
 * that cannot be used. */
mpl_plugin_item *mpl_plugins_find(mpl_plugins *plugins, moonplan_text name, moonplan_error *err);
/* Register what a name stands for; false when it is nothing, or, with *err, when it cannot be
 * used. True as well when it is registered already. */
bool mpl_plugins_register(mpl_plugins *plugins, moonplan_engine *engine, moonplan_text name,
                          moonplan_error *err);
/* Take a name away until the next reload, whatever file brings it; false if none does, or when
 * memory is short, with *err. */
bool mpl_plugins_withdraw(mpl_plugins *plugins, moonplan_text name, moonplan_error *err);
bool mpl_plugins_withdrawn(const mpl_plugins *plugins, moonplan_text name);
/* Read again what was read before, and put it in the place of the old. All or nothing. */
bool mpl_plugins_reload(mpl_plugins *plugins, moonplan_engine *engine, moonplan_error *err);

/* Where a plugin stands: the folder as it was given, a slash, the file; {NULL, 0} as folder when it
 * is shipped. */
moonplan_text mpl_plugin_folder(const mpl_plugin *plugin);

/* -- One call (plugin_call.c) ------------------------------------------------*/

/* What stands in for the powers while an example runs. */
typedef struct mpl_doubles {
    moonplan_value files;        /* an object of contents by path; MOONPLAN_NONE: none */
    struct mpl_written *written; /* latest first */
    bool has_time;
    int64_t time;
    mpl_alloc *alloc;
} mpl_doubles;

typedef struct mpl_written {
    struct mpl_written *next;
    moonplan_text path, content;
} mpl_written;

typedef struct mpl_plugin_call {
    mpl_lua_call call;
    mpl_plugin *plugin;
    const mpl_item *item;
    unsigned allowed;     /* powers */
    mpl_doubles *doubles; /* NULL: the real powers */
} mpl_plugin_call;

/* Call the item's function; what came of it stands in call->call. The first members of that are
 * set by the caller, who closes it. */
void mpl_plugin_run(mpl_plugin_call *call);
/* The callbacks of a registered capability; data is a mpl_plugin_item. */
void mpl_plugin_answer(void *data, moonplan_want *want);

/* -- What ctx carries (power.c) ----------------------------------------------*/

/* Inside the plugin's state: put log and the powers that the item needs into the ctx on top. */
void mpl_plugin_push_powers(lua_State *L, mpl_plugin_call *call);
void mpl_doubles_close(mpl_doubles *doubles);
/* A file's content as it is now; false if there is none. */
bool mpl_doubles_read(const mpl_doubles *doubles, moonplan_text path, moonplan_text *out);

/* -- One plugin (plugin.c) ---------------------------------------------------*/

/* Whether there is a regular file; links are not followed, so a link is none. */
bool mpl_shelf_has(const mpl_shelf *shelf, const char *path);
/* Read it, run it, and check what it returns; false with the reason, or `memory`. */
bool mpl_plugin_load(mpl_plugin *plugin, moonplan_error *err);
void mpl_plugin_hold(mpl_plugin *plugin);
void mpl_plugin_drop(mpl_plugin *plugin);
void mpl_plugins_drop(mpl_plugins *plugins);

/* The powers that the host has granted. */
unsigned mpl_plugins_granted(const mpl_plugins *plugins);
moonplan_root *mpl_plugins_root(const mpl_plugins *plugins, bool writable);

static inline bool mpl_plugin_shipped(const mpl_plugin *plugin) {
    return plugin->owner->shelves[plugin->shelf].root == NULL;
}

/* The shipped plugins, as text; made by the build from plugins/. Sorted by path. */
typedef struct mpl_shipped {
    const char *path; /* text.lua, or fs/init.lua */
    const char *text;
    size_t length;
} mpl_shipped;
extern const mpl_shipped mpl_shipped_files[];
extern const size_t mpl_shipped_count;

#endif
