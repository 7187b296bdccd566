/* What a plugin file returns: one closed table that describes a capability, or a list of them. */
#ifndef MPL_LUA_MANIFEST_H
#define MPL_LUA_MANIFEST_H

#include <lua.h>

#include "../core/build.h"

/* Powers, as bits. A grant of fs:rw serves who needs fs as well. */
enum { MPL_POWER_FS = 1, MPL_POWER_FS_RW = 2, MPL_POWER_CLOCK = 4, MPL_POWERS = 3 };
/* The power of the n-th bit. */
extern const moonplan_text mpl_power_names[MPL_POWERS];
/* The bit of a name, 0 if there is no such power. */
unsigned mpl_power_of(moonplan_text name);

typedef struct mpl_item {
    moonplan_value value; /* in the manifest's document */
    moonplan_text name, version, summary, risk;
    moonplan_text input, output; /* JSON texts, {NULL, 0} if absent */
    unsigned needs;
    int run, check; /* references in the plugin's state; LUA_NOREF: none */
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

void mpl_manifest_open(mpl_manifest *manifest, const moonplan_options *options);
void mpl_manifest_close(mpl_manifest *manifest);

/* Inside a protected call: read the value on top of the stack, which is left there. False with
 * *err, whose place is a pointer into the value. */
bool mpl_manifest_read(lua_State *L, mpl_manifest *manifest, moonplan_error *err);
/* Outside: whether it is what a file of that name may bring. `name` is NAME of NAME.lua. */
bool mpl_manifest_check(mpl_manifest *manifest, moonplan_text name, moonplan_error *err);

/* Letters, digits, _ and - in rows joined by dots, at most 128 bytes. */
bool mpl_plugin_name(moonplan_text name);
/* Milliseconds since 1970 of "2026-01-02T03:04:05.000Z" (RFC 3339, UTC only, with or without a
 * fraction of three digits); false if it is none. */
bool mpl_time_read(int64_t *out, moonplan_text text);

#endif
