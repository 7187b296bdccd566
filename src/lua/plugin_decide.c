/* A plugin as the engine's authorizer. */
#include <string.h>

#include "../core/text.h"
#include "bind.h"
#include "plugin.h"

static mpl_plugin_item *find(mpl_plugins *plugins, moonplan_text name, moonplan_error *err) {
    mpl_plugin_item *item = mpl_plugins_find(plugins, name, err);
    if (item && item->item->kind == MPL_AUTHORIZER && item->missing_count == 0) return item;
    if (item && item->item->kind != MPL_AUTHORIZER)
        mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL, "%q is %s, and no authorizer",
                      &name, mpl_kinds[item->item->kind].article);
    else if (item)
        mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                      "the authorizer %q needs what has not been granted: %q", &name,
                      &item->missing[0]);
    else if (err->code == MOONPLAN_OK)
        mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL, "there is no authorizer %q",
                      &name);
    return NULL;
}

bool mpl_plugins_authorize(mpl_plugins *plugins, moonplan_text name, moonplan_error *err) {
    if (!find(plugins, name, err)) return false;
    const char *copy = mpl_arena_copy(&plugins->texts, name.bytes, name.length);
    if (!copy) mpl_error_memory(err);
    plugins->authorizer = (moonplan_text){copy, name.length};
    return copy != NULL;
}

static void add_value(mpl_builder *out, moonplan_text name, moonplan_value value) {
    if (moonplan_value_type(value) == MOONPLAN_NONE) return;
    mpl_build_name(out, name);
    mpl_build_value(out, value);
}

/* What a host's own authorizer is asked as well. */
static moonplan_document *make_request(const moonplan_want *want, const moonplan_options *options) {
    mpl_builder out;
    mpl_build_open_wide(&out, options);
    mpl_build_object(&out);
    mpl_build_text_if(&out, "job_id", want->job_id);
    mpl_build_text_if(&out, "step_id", want->step_id);
    mpl_build_name(&out, MOONPLAN_TEXT("capability"));
    mpl_build_object(&out);
    mpl_build_text_if(&out, "name", want->capability);
    mpl_build_text_if(&out, "version", want->version);
    mpl_build_text_if(&out, "risk", want->risk);
    mpl_build_end(&out);
    add_value(&out, MOONPLAN_TEXT("input"), want->input);
    add_value(&out, MOONPLAN_TEXT("caller"), want->caller);
    mpl_build_end(&out);
    return mpl_build_finish(&out, NULL);
}

static void answer(const mpl_plugin_call *call, moonplan_want *want) {
    const mpl_lua_call *made = &call->call;
    if (made->code == MOONPLAN_OK) {
        moonplan_value decision = {NULL, 0};
        if (made->result) decision = moonplan_document_root(made->result);
        moonplan_want_decide(want, decision);
        return;
    }
    moonplan_failure failure = {.code = MOONPLAN_OK}; /* the usual one */
    if (made->text.failed)
        failure.message = MOONPLAN_TEXT("out of memory");
    else if (made->has_text)
        failure.message =
            (moonplan_text){made->text.length ? made->text.bytes : "", made->text.length};
    moonplan_want_fail_with(want, &failure);
}

void mpl_plugin_decide(void *data, moonplan_want *want) {
    mpl_plugins *plugins = data;
    mpl_plugin_call call;
    moonplan_error err;
    /* A reload may have brought another one, or one that cannot be used. */
    mpl_plugin_item *item = find(plugins, plugins->authorizer, &err);
    moonplan_document *request = item ? make_request(want, &plugins->options) : NULL;
    memset(&call, 0, sizeof call);
    if (!item || !request || !moonplan_want_token(want, call.call.token)) {
        moonplan_want_fail(want, item ? MOONPLAN_TEXT("out of memory")
                                      : (moonplan_text){err.message, strlen(err.message)});
        moonplan_document_free(request);
        return;
    }
    call.plugin = item->plugin;
    call.item = item->item;
    call.function = MPL_DECIDE;
    call.want = want;
    call.call.options = &plugins->options;
    call.call.job_id = want->job_id;
    call.call.step_id = want->step_id;
    call.call.capability = item->item->name;
    call.call.input = moonplan_document_root(request);
    call.call.log = plugins->setup.log;
    mpl_plugin_run(&call);
    answer(&call, want);
    mpl_lua_call_close(&call.call);
    moonplan_document_free(request);
}
