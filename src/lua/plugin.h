/* Plugins on disk: a catalogue of capabilities for an engine.
 *
 * DIR/NAME.lua or DIR/NAME/init.lua brings the capability NAME, or ones called NAME.something. So a
 * name leads to its file, and a file is read when a plan names something that it may bring. Each
 * file has a lua_State of its own; what a family shares is that state. It lives in this process or
 * in a runner's, which is decided by whom the file comes from. */
#ifndef MPL_LUA_PLUGIN_H
#define MPL_LUA_PLUGIN_H

#include "../engine/engine.h"
#include "call.h"
#include "code.h"
#include "grant.h"
#include "manifest.h"
#include "process.h"
#include "trust.h"

typedef struct mpl_plugins mpl_plugins;
typedef struct mpl_plugin mpl_plugin;

/* One capability of a file, and what it is registered with. */
typedef struct mpl_plugin_item {
    mpl_plugin *plugin;
    const mpl_item *item;
    bool registered;
    moonplan_text needs[MPL_NEEDS_MOST], missing[MPL_NEEDS_MOST];
    size_t needs_count, missing_count;
} mpl_plugin_item;

typedef enum mpl_isolation {
    MPL_BY_ORIGIN, /* state for what is trusted, process for all else; no plugin has this */
    MPL_STATE,     /* a lua_State in this process */
    MPL_PROCESS    /* one in a confined process of its own */
} mpl_isolation;

struct mpl_plugin {
    mpl_plugins *owner;
    size_t holds;
    size_t shelf;
    bool folder;       /* NAME/init.lua */
    char *name, *file; /* NAME; NAME.lua or NAME/init.lua */
    mpl_isolation isolation;
    mpl_code code;       /* MPL_STATE */
    mpl_process process; /* MPL_PROCESS */
    uint8_t told[32];    /* Keccak-256 of how the runner told the manifest */
    uint64_t turn;       /* when it was called last, in the order of all calls */
    mpl_manifest manifest;
    mpl_plugin_item *items; /* manifest.count */
    size_t item_count;
    moonplan_error broken;        /* MOONPLAN_OK: it can be used */
    bool revoked;                 /* it could, until a reload found nobody to vouch for it */
    struct mpl_plugin_call *call; /* the one under way */
    mpl_sources sources;          /* what it runs; kept where it may be loaded again */
    mpl_verdict verdict;
};

typedef struct mpl_plugins_setup {
    const moonplan_options *options; /* copied */
    const moonplan_text *folders;
    size_t folder_count;
    bool shipped;
    const mpl_grant *grants;
    size_t grant_count;
    uint64_t call_ms; /* in MPL_STATE; 0: no limit */
    mpl_isolation isolation;
    moonplan_text runner; /* the program; {NULL, 0}: where the build or installation put it */
    moonplan_text trust;  /* the folder of keys; {NULL, 0}: nobody is trusted */
    mpl_log log;
    int64_t (*now)(void *data);
    void *now_data;
} mpl_plugins_setup;

/* A folder of plugins; root NULL: the shipped ones. */
typedef struct mpl_shelf {
    moonplan_root *root;
    moonplan_text path;
    mpl_seal *seal;          /* what signs it; NULL: nobody has, or nobody has looked */
    bool looked;             /* for a seal */
    moonplan_error unsealed; /* MOONPLAN_OK: nothing is wrong with its seal */
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
    mpl_grants grants;
    mpl_trust *trust;   /* NULL: nobody is trusted */
    mpl_plugin **loads; /* that nobody has been told of */
    size_t load_count, load_capacity;
    moonplan_engine *engine; /* whose store kv uses; NULL: none, or closed */
    mpl_plugin_list list;
    mpl_buffer runner; /* its path, once it has been looked for */
    uint64_t turn;
    moonplan_text *withdrawn; /* names that the host took away */
    size_t withdrawn_count, withdrawn_capacity;
    moonplan_text authorizer; /* whom mpl_plugin_decide asks */
};

/* NULL when a folder is not there. It has to be given to an engine with mpl_plugins_provider, or
 * freed; the pointer is good as long as the engine is there. */
mpl_plugins *mpl_plugins_new(const mpl_plugins_setup *setup, moonplan_error *err);
void mpl_plugins_free(mpl_plugins *plugins);
moonplan_provider mpl_plugins_provider(mpl_plugins *plugins);
/* The engine whose store the power kv writes to, until the provider is released. */
void mpl_plugins_use(mpl_plugins *plugins, moonplan_engine *engine);

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
/* Read again what was read before, and put it in the place of the old. All or nothing, but for the
 * trust store, which is the new one from then on: an old plugin that it does not let in any more is
 * not used any longer, whatever becomes of the rest. */
bool mpl_plugins_reload(mpl_plugins *plugins, moonplan_engine *engine, moonplan_error *err);

/* Where a plugin stands: the folder as it was given, a slash, the file; {NULL, 0} as folder when it
 * is shipped. */
moonplan_text mpl_plugin_folder(const mpl_plugin *plugin);

/* -- One call (plugin_call.c) ------------------------------------------------*/

/* What stands in for the powers while an example runs. */
typedef struct mpl_doubles {
    moonplan_value given;             /* as the example has it; MOONPLAN_NONE: nothing */
    struct mpl_written *files, *kept; /* written since, by path or by key; latest first */
    uint32_t *used;                   /* nodes of the answers and replies that have played */
    size_t used_count, used_capacity;
    uint64_t drawn;     /* random numbers */
    mpl_needles hidden; /* its secrets, once they have been looked for */
    mpl_arena texts;    /* what is shown for them */
    mpl_alloc *alloc;
} mpl_doubles;

typedef struct mpl_written {
    struct mpl_written *next;
    moonplan_text path, content; /* {NULL, 0}: taken away */
} mpl_written;

typedef struct mpl_plugin_call {
    mpl_lua_call call;
    mpl_plugin *plugin;
    const mpl_item *item;
    mpl_function function; /* MPL_RUN unless it is set */
    unsigned allowed;      /* powers */
    mpl_doubles *doubles;  /* NULL: the real powers */
    uint64_t deadline;     /* of all waiting, CLOCK_MONOTONIC milliseconds; 0: none of its own */
    uint64_t waited;       /* milliseconds, for the network */
    moonplan_want *want;   /* whose answer it is; NULL: nobody's in a job */
} mpl_plugin_call;

/* Call the item's function; what came of it stands in call->call. The first members of that are
 * set by the caller, who closes it. */
void mpl_plugin_run(mpl_plugin_call *call);
/* Fail it for what the sandbox says; over_limit as in mpl_sandbox. */
void mpl_plugin_explain(mpl_plugin_call *call, mpl_outcome outcome, bool over_limit);
/* The callbacks of a registered capability; data is a mpl_plugin_item. */
void mpl_plugin_answer(void *data, moonplan_want *want);
void mpl_plugin_check(void *data, moonplan_want *want);

/* -- Authorizers (plugin_decide.c) --------------------------------------------*/

/* Have the authorizer of that name asked; false with the code `option` if there is none, or one
 * that cannot be used. */
bool mpl_plugins_authorize(mpl_plugins *plugins, moonplan_text name, moonplan_error *err);
/* The callback of a moonplan_authorizer; data is the mpl_plugins. */
void mpl_plugin_decide(void *data, moonplan_want *want);

/* -- The host's side of what ctx carries (power.c) ---------------------------*/

/* Which powers a call may use; goes into call->allowed before it begins. */
unsigned mpl_power_allowed(const mpl_plugin_call *call);
/* Do what the plugin asks for, or say why not. Operation and slots may be anything. */
mpl_served mpl_power_serve(mpl_plugin_call *call, mpl_operation operation, const mpl_slots *in,
                           mpl_answer *out, moonplan_error *err);
/* Once a call has been made: take the host's secrets out of its result, message and code. */
void mpl_power_redact(mpl_plugin_call *call);

void mpl_doubles_close(mpl_doubles *doubles);
/* A file's content as it is now; false if there is none. */
bool mpl_doubles_read(const mpl_doubles *doubles, moonplan_text path, moonplan_text *out);
/* The JSON text that is kept under a key now; false if there is none. */
bool mpl_doubles_kept(const mpl_doubles *doubles, moonplan_text key, moonplan_text *text);

/* -- One plugin (plugin.c) ---------------------------------------------------*/

/* The bytes that were read and judged. */
moonplan_text mpl_plugin_source(const mpl_plugin *plugin);
/* Another file of its folder: an mpl_import. */
bool mpl_plugin_import(void *data, mpl_buffer *out, moonplan_text name, moonplan_error *err);
/* Read it, run it, and check what it returns; false with the reason, or `memory`. */
bool mpl_plugin_load(mpl_plugin *plugin, moonplan_error *err);
void mpl_plugin_hold(mpl_plugin *plugin);
void mpl_plugin_drop(mpl_plugin *plugin);
void mpl_plugins_drop(mpl_plugins *plugins);

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
