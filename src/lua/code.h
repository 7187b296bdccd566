/* The inside of a plugin: a sandbox with the plugin's code, how that is loaded, and how one of its
 * functions is called. It is the same whether it lives in the host's process or in a runner's, and
 * knows nothing of either. */
#ifndef MPL_LUA_CODE_H
#define MPL_LUA_CODE_H

#include "call.h"
#include "kind.h"
#include "manifest.h"
#include "sandbox.h"
#include "stub.h"

/* Read NAME.lua of the plugin's folder; false with *err. */
typedef bool (*mpl_import)(void *data, mpl_buffer *out, moonplan_text name, moonplan_error *err);

typedef struct mpl_code {
    /* Whoever opens it fills these in. */
    const moonplan_options *options;
    const char *name; /* NAME of NAME.lua */
    bool folder;      /* NAME/init.lua */
    mpl_import import;
    void *import_data;
    mpl_stub stub; /* its `options` are set when it is opened */
    /* Private. */
    mpl_sandbox box;
    mpl_alloc alloc;
    mpl_buffer source; /* of the file that is being imported */
} mpl_code;

/* How loading came out. */
typedef struct mpl_loaded {
    mpl_outcome outcome;
    bool over_limit;       /* MPL_NO_MEMORY: it is the limit memory_mib that did not suffice */
    bool has_text;         /* MPL_RAISED: with this message */
    mpl_buffer text, code; /* open; `code` is of no interest */
    bool fine;             /* MPL_RAN: the manifest has been read; else: */
    moonplan_error err;    /* what is wrong with it */
} mpl_loaded;

/* Make the state; false when memory is short. The code must stay where it is, and is closed with
 * mpl_code_close either way. */
bool mpl_code_open(mpl_code *code);
void mpl_code_close(mpl_code *code);

/* Run the text `source`, which errors call `file`, in at most so many milliseconds (0: no limit),
 * and read the manifest that it returns. */
void mpl_code_load(mpl_code *code, mpl_manifest *manifest, mpl_loaded *loaded, moonplan_text source,
                   const char *file, uint64_t milliseconds);

/* Call a function that the registry holds under `reference`; `call` is open. After MPL_RAN and
 * MPL_RAISED what came of it stands in `call`. */
mpl_outcome mpl_code_call(mpl_code *code, mpl_lua_call *call, mpl_function function, int reference,
                          unsigned powers, uint64_t milliseconds);

#endif
