/* Builders: parameters in, a plan out that has been read like any other. */
#ifndef MPL_LUA_BUILDING_H
#define MPL_LUA_BUILDING_H

#include "../call/params.h"
#include "plugin.h"

typedef struct mpl_making {
    mpl_plugin_item *item;
    moonplan_engine *engine; /* for what the steps of a step plan name */
    const moonplan_options *options;
    /* Private. */
    mpl_params *params;
    moonplan_document *taken, *input;
    mpl_plugin_call call;
    bool called;
    /* What came of it: one of the two. */
    moonplan_call_plan *call_plan;
    moonplan_step_plan *step_plan;
} mpl_making;

/* Fill in the rest of one whose first members are set; the others are zero. False with *err, and
 * with every fault where options->errors asks for them: build.param_*, whose places are in `given`;
 * build.failed, build.plan, plugin.*. */
bool mpl_make_plan(mpl_making *making, moonplan_value given, moonplan_error *err);
void mpl_making_close(mpl_making *making);

/* The plan; good as long as the making. Its source is its text. */
moonplan_value mpl_made_plan(const mpl_making *making);
/* The one builder that a name stands for; NULL with build.unknown, or why it cannot be used. */
mpl_plugin_item *mpl_plugins_builder(mpl_plugins *plugins, moonplan_text name, moonplan_error *err);

#endif
