/* A call into a plugin's function. */
#include <stdio.h>
#include <string.h>

#include "confined.h"

/* What the stubs in the plugin's state ask for; the host's own code may be called on the way. */
static mpl_served serve(void *data, mpl_operation operation, const mpl_slots *in,
                        mpl_answer *answer, moonplan_error *err) {
    mpl_plugin *plugin = data;
    mpl_sandbox_leave(&plugin->code.box);
    mpl_served served = mpl_power_serve(plugin->call, operation, in, answer, err);
    mpl_sandbox_enter(&plugin->code.box);
    return served;
}

void mpl_plugin_explain(mpl_plugin_call *call, mpl_outcome outcome, bool over_limit) {
    const moonplan_limits *limits = &call->call.options->limits;
    char text[96];
    if (outcome == MPL_LATE) {
        snprintf(text, sizeof text, "took longer than the limit call_ms allows: %llu",
                 (unsigned long long)limits->call_ms);
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_TIMEOUT, text);
    } else if (over_limit) {
        snprintf(text, sizeof text, "took more memory than the limit memory_mib allows: %llu",
                 (unsigned long long)limits->memory_mib);
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_MEMORY, text);
    } else {
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_MEMORY, "out of memory");
    }
}

static bool is_cancelled(void *data) {
    const mpl_plugin_call *call = data;
    return call->want && moonplan_want_cancelled(call->want);
}

static void run_in_state(mpl_plugin_call *call) {
    mpl_plugin *plugin = call->plugin;
    mpl_code *code = &plugin->code;
    code->stub = (mpl_stub){.exchange = serve, .data = plugin, .options = call->call.options};
    code->box.stop = is_cancelled;
    code->box.stop_data = call;
    mpl_outcome outcome =
        mpl_code_call(code, &call->call, call->function, call->item->references[call->function],
                      call->allowed, plugin->owner->setup.call_ms);
    code->box.stop = NULL;
    if (outcome == MPL_LATE && is_cancelled(call))
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_CANCELLED, "the job was cancelled");
    else if (outcome != MPL_RAN && outcome != MPL_RAISED)
        mpl_plugin_explain(call, outcome, code->box.over_limit);
}

void mpl_plugin_run(mpl_plugin_call *call) {
    mpl_plugin *plugin = call->plugin;
    mpl_lua_call_open(&call->call, call->call.options->limits.copied_values, "copied_values");
    if (plugin->broken.code != MOONPLAN_OK) {
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_CAPABILITY_FAILED, plugin->broken.message);
        call->call.cause = plugin->broken.code;
        memcpy(call->call.reason, plugin->broken.message, sizeof call->call.reason);
        return;
    }
    if (plugin->call) {
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_CAPABILITY_FAILED,
                          "the plugin is in the middle of another call");
        return;
    }
    plugin->call = call;
    call->allowed = mpl_power_allowed(call);
    if (plugin->isolation == MPL_PROCESS)
        mpl_confined_call(call);
    else
        run_in_state(call);
    plugin->call = NULL;
    mpl_power_redact(call);
}

/* A call about a step, which `call` holds until it is closed. */
static void run_for(mpl_plugin_call *call, mpl_plugin_item *item, mpl_function function,
                    moonplan_want *want) {
    mpl_plugin *plugin = item->plugin;
    memset(call, 0, sizeof *call);
    call->plugin = plugin;
    call->item = item->item;
    call->function = function;
    call->want = want;
    call->call.options = &plugin->owner->options;
    call->call.job_id = want->job_id;
    call->call.step_id = want->step_id;
    call->call.capability = want->capability;
    call->call.input = want->input;
    call->call.caller = want->caller;
    call->call.log = plugin->owner->setup.log;
    if (moonplan_want_token(want, call->call.token)) {
        mpl_plugin_run(call);
    } else {
        mpl_lua_call_open(&call->call, 0, NULL);
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_MEMORY, "out of memory");
    }
}

void mpl_plugin_answer(void *data, moonplan_want *want) {
    const mpl_plugin *plugin = ((mpl_plugin_item *)data)->plugin;
    mpl_plugin_call call;
    run_for(&call, data, MPL_RUN, want);
    mpl_lua_call_answer(&call.call, want, (moonplan_text){plugin->name, strlen(plugin->name)});
    mpl_lua_call_close(&call.call);
}

void mpl_plugin_check(void *data, moonplan_want *want) {
    mpl_plugin_call call;
    run_for(&call, data, MPL_CHECK, want);
    mpl_lua_call_outcome(&call.call, want);
    mpl_lua_call_close(&call.call);
}
