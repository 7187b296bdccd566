/* A call into a plugin's function. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "plugin.h"

/* In the plugin's state, protected. */
static int call_function(lua_State *L) {
    mpl_plugin_call *call = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, call->item->run);
    if (!mpl_lua_call_push(L, &call->call)) return 0;
    mpl_plugin_push_powers(L, call);
    lua_call(L, 2, 2);
    mpl_lua_call_take(L, &call->call);
    return 0;
}

static void explain(mpl_plugin_call *call, mpl_outcome outcome) {
    const moonplan_limits *limits = &call->call.options->limits;
    char text[96];
    if (outcome == MPL_LATE) {
        snprintf(text, sizeof text, "took longer than the limit call_ms allows: %llu",
                 (unsigned long long)limits->call_ms);
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_TIMEOUT, text);
    } else if (outcome == MPL_NO_MEMORY && call->plugin->box.over_limit) {
        snprintf(text, sizeof text, "took more memory than the limit memory_mib allows: %llu",
                 (unsigned long long)limits->memory_mib);
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_MEMORY, text);
    } else if (outcome == MPL_NO_MEMORY) {
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_MEMORY, "out of memory");
    } else {
        call->call.code = MOONPLAN_JOB_CAPABILITY_FAILED;
        call->call.has_text =
            mpl_sandbox_error(&call->plugin->box, &call->call.text, &call->call.code_text);
    }
}

void mpl_plugin_run(mpl_plugin_call *call) {
    mpl_plugin *plugin = call->plugin;
    const mpl_plugins_setup *setup = &plugin->owner->setup;
    mpl_lua_call_open(&call->call, call->call.options->limits.copied_values, "copied_values");
    if (plugin->call) {
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_CAPABILITY_FAILED,
                          "the plugin is in the middle of another call");
        return;
    }
    plugin->call = call;
    mpl_outcome outcome = mpl_sandbox_run(&plugin->box, call_function, call, setup->call_ms);
    plugin->call = NULL;
    if (outcome != MPL_RAN)
        explain(call, outcome);
    else
        mpl_lua_call_finish(&call->call);
}

void mpl_plugin_answer(void *data, moonplan_want *want) {
    mpl_plugin_item *item = data;
    mpl_plugin *plugin = item->plugin;
    mpl_plugin_call call;
    memset(&call, 0, sizeof call);
    call.plugin = plugin;
    call.item = item->item;
    call.call.options = &plugin->owner->options;
    call.call.job_id = want->job_id;
    call.call.step_id = want->step_id;
    call.call.capability = want->capability;
    call.call.input = want->input;
    call.call.caller = want->caller;
    call.call.log = plugin->owner->setup.log;
    if (moonplan_want_token(want, call.call.token)) {
        mpl_plugin_run(&call);
    } else {
        mpl_lua_call_open(&call.call, 0, NULL);
        mpl_lua_call_fail(&call.call, MOONPLAN_JOB_MEMORY, "out of memory");
    }
    mpl_lua_call_answer(&call.call, want, (moonplan_text){plugin->name, strlen(plugin->name)});
    mpl_lua_call_close(&call.call);
}
