/* A plugin that lives in a runner: the host's side of loading and calling it. */
#ifndef MPL_LUA_CONFINED_H
#define MPL_LUA_CONFINED_H

#include "plugin.h"

/* Start its runner, load it there, and take the manifest. True with *loaded; false with *err:
 * plugin.isolation, plugin.died, memory. */
bool mpl_confined_load(mpl_plugin *plugin, mpl_loaded *loaded, moonplan_error *err);
/* Call a function; what came of it stands in call->call, which is open. A runner that is gone is
 * replaced first: the plugin is loaded again from the same sources, and has to bring the same. */
void mpl_confined_call(mpl_plugin_call *call);
void mpl_confined_close(mpl_plugin *plugin);

#endif
