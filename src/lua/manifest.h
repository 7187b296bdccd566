/* What a plugin file returns: one closed table that describes a capability, a builder, an executor
 * or an authorizer, or a list of such tables. */
#ifndef MPL_LUA_MANIFEST_H
#define MPL_LUA_MANIFEST_H

#include <lua.h>

#include "../core/build.h"
#include "kind.h"
#include "power.h"

typedef struct mpl_item {
    mpl_kind kind;
    moonplan_value value; /* in the manifest's document */
    moonplan_text name, version, summary, risk;
    moonplan_text input, output;   /* JSON texts, {NULL, 0} if absent */
    bool builds_steps;             /* a builder, of step plans */
    unsigned needs;                /* powers */
    unsigned functions;            /* those that are there: bits 1 << mpl_function */
    int references[MPL_FUNCTIONS]; /* in the plugin's state; LUA_NOREF: none, or elsewhere */
} mpl_item;

typedef struct mpl_manifest {
    const moonplan_options *options;
    mpl_alloc alloc;
    moonplan_document *document; /* the table as it was returned, without its functions */
    mpl_item *items;
    size_t count;
    bool family;
    mpl_builder builder;
    bool building;
} mpl_manifest;

/* Tables that one file may bring. */
#define MPL_ITEMS_MOST 1000

void mpl_manifest_open(mpl_manifest *manifest, const moonplan_options *options);
void mpl_manifest_close(mpl_manifest *manifest);

/* Room for so many items, none of them filled in; false when memory is short. */
bool mpl_manifest_room(mpl_manifest *manifest, size_t count, moonplan_error *err);

/* Inside a protected call: read the value on top of the stack, which is left there. False with
 * *err, whose place is a pointer into the value. */
bool mpl_manifest_read(lua_State *L, mpl_manifest *manifest, moonplan_error *err);
/* Outside, instead of that: what was read elsewhere. The document is taken over, also when this
 * fails; `functions` are as in mpl_item, one an item. Nothing of either is believed: the check
 * refuses what does not belong there. */
bool mpl_manifest_take(mpl_manifest *manifest, moonplan_document *document,
                       const unsigned *functions, size_t count, moonplan_error *err);
/* Outside: whether it is what a file of that name may bring. `name` is NAME of NAME.lua. */
bool mpl_manifest_check(mpl_manifest *manifest, moonplan_text name, moonplan_error *err);

/* An item's `abi` is a list of { address, chain_id, abi }; otherwise it is what `abi` in one of
 * these is, of any contract. */
bool mpl_manifest_abi_sources(moonplan_value abi);

#define MPL_NAME_MOST 128
/* Letters, digits, _ and - in rows joined by dots, at most MPL_NAME_MOST bytes. */
bool mpl_plugin_name(moonplan_text name);
/* Milliseconds since 1970 of "2026-01-02T03:04:05.000Z" (RFC 3339, UTC only, with or without a
 * fraction of three digits); false if it is none. */
bool mpl_time_read(int64_t *out, moonplan_text text);

#endif
