/* Folders of plugins: their files, who vouches for these, and the record of what was loaded. */
#ifndef MPL_LUA_SHELF_H
#define MPL_LUA_SHELF_H

#include "plugin.h"

/* A regular file; or something else of that name, which will be said when it is read. */
bool mpl_shelf_has(const mpl_shelf *shelf, const char *path);

/* Read a plugin's files, all of them, and judge whom they come from: plugin->sources and
 * plugin->verdict. False with the reason, or `memory`; what could be read stays. */
bool mpl_plugin_read(mpl_plugin *plugin, moonplan_error *err);
/* Once it has said what it brings: whether that is what was signed. */
bool mpl_plugin_vouch(mpl_plugin *plugin, moonplan_error *err);

/* Whether the host's trust store, which may have changed, still lets in what runs already; false
 * with `plugin.signature`. */
bool mpl_plugin_holds(const mpl_plugin *plugin, moonplan_error *err);

/* Read the trust store anew, and forget what signs the folders until it is asked for; false with
 * *err, and nothing has changed. */
bool mpl_plugins_trust_again(mpl_plugins *plugins, moonplan_error *err);
void mpl_shelf_close(mpl_shelf *shelf);

/* Room for one more load to be told; false when memory is short. Nothing is run that could not be
 * told. */
bool mpl_loads_reserve(mpl_plugins *plugins);
/* It has been loaded or refused. */
void mpl_loads_note(mpl_plugins *plugins, mpl_plugin *plugin);
/* Tell the engine's subscribers what has been noted. They may do anything, so this stands where
 * nobody is in the middle of the catalogue. */
void mpl_plugins_tell(mpl_plugins *plugins);
void mpl_loads_drop(mpl_plugins *plugins);

#endif
