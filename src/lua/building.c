/* Nothing here believes a builder: of what it returns, the parts that a plan has are copied into a
 * document that is written here, and that is read like anybody's. */
#include "building.h"

#include <string.h>

#include "../call/params.h"
#include "../call/plan.h"
#include "../call/rule.h"
#include "../core/text.h"
#include "../core/uint256.h"
#include "../core/value.h"
#include "bind.h"

static bool is_there(moonplan_value value) {
    return moonplan_value_type(value) != MOONPLAN_NONE;
}

/* Copy a member, where it is there, under a name that may be another. */
static void add_member(mpl_builder *out, const char *name, moonplan_value object,
                       const char *from) {
    moonplan_value value = mpl_member(object, from);
    if (!is_there(value)) return;
    mpl_build_name(out, mpl_text_of(name));
    mpl_build_value(out, value);
}

mpl_plugin_item *mpl_plugins_builder(mpl_plugins *plugins, moonplan_text name,
                                     moonplan_error *err) {
    mpl_plugin_item *item = mpl_plugins_find(plugins, name, err);
    if (item && item->item->kind == MPL_BUILDER) return item;
    if (item)
        mpl_error_set(err, MOONPLAN_BUILD_UNKNOWN, MOONPLAN_NO_OFFSET, NULL,
                      "%q is %s, and no builder", &name, mpl_kinds[item->item->kind].article);
    else if (err->code == MOONPLAN_OK)
        mpl_error_set(err, MOONPLAN_BUILD_UNKNOWN, MOONPLAN_NO_OFFSET, NULL,
                      "there is no builder %q", &name);
    return NULL;
}

/* -- What the builder is handed ---------------------------------------------*/

/* What a capability declares of its input or output: the types of its fields by their names. */
static void add_types(mpl_builder *out, const char *name, moonplan_value schema) {
    if (!is_there(schema)) return;
    mpl_build_name(out, mpl_text_of(name));
    mpl_build_object(out);
    moonplan_walk fields = moonplan_value_walk(schema);
    while (moonplan_walk_next(&fields)) {
        mpl_build_name(out, fields.name);
        mpl_build_value(out, mpl_member(fields.value, "type"));
    }
    mpl_build_end(out);
}

/* What its steps may name, and what those declare. */
static bool add_uses(mpl_builder *out, const mpl_making *making, moonplan_error *err) {
    const mpl_item *item = making->item->item;
    mpl_build_name(out, mpl_text_of("uses"));
    mpl_build_object(out);
    moonplan_walk walk = moonplan_value_walk(mpl_member(item->value, "uses"));
    while (moonplan_walk_next(&walk)) {
        moonplan_text name = moonplan_value_string(walk.value);
        moonplan_value input = {NULL, UINT32_MAX}, output = {NULL, UINT32_MAX};
        moonplan_error why = {.code = MOONPLAN_OK};
        if (!mpl_engine_schemas(making->engine, name, &input, &output, &why)) {
            if (why.code != MOONPLAN_OK)
                *err = why;
            else
                mpl_error_set(err, MOONPLAN_BUILD_FAILED, MOONPLAN_NO_OFFSET, NULL,
                              "%q makes steps that name %q, and there is no such capability",
                              &item->name, &name);
            return false;
        }
        mpl_build_name(out, name);
        mpl_build_object(out);
        add_types(out, "input", input);
        add_types(out, "output", output);
        mpl_build_end(out);
    }
    mpl_build_end(out);
    return true;
}

static bool make_input(mpl_making *making, moonplan_error *err) {
    const mpl_item *item = making->item->item;
    mpl_builder out;
    mpl_build_open_wide(&out, making->options);
    mpl_build_object(&out);
    mpl_build_text(&out, "builds",
                   item->builds_steps ? mpl_text_of("step_plan") : mpl_text_of("call_plan"));
    mpl_build_name(&out, mpl_text_of("params"));
    mpl_build_value(&out, moonplan_document_root(making->taken));
    mpl_build_name(&out, mpl_text_of("names"));
    mpl_build_array(&out);
    moonplan_walk walk = moonplan_value_walk(mpl_member(item->value, "params"));
    while (moonplan_walk_next(&walk)) mpl_build_string(&out, walk.name);
    mpl_build_end(&out);
    if (item->builds_steps && !add_uses(&out, making, err)) {
        mpl_build_close(&out);
        return false;
    }
    mpl_build_end(&out);
    making->input = mpl_build_finish(&out, err);
    return making->input != NULL;
}

/* -- What it made -------------------------------------------------------------*/

static void add_call(mpl_builder *out, moonplan_value given, moonplan_value call, int64_t step) {
    mpl_build_object(out);
    mpl_build_name(out, mpl_text_of("step"));
    mpl_build_integer(out, step);
    add_member(out, "kind", call, "kind");
    mpl_build_name(out, mpl_text_of("transaction"));
    mpl_build_object(out);
    add_member(out, "chain_id", given, "chain");
    add_member(out, "from", given, "sender");
    add_member(out, "to", call, "to");
    add_member(out, "data", call, "data");
    add_member(out, "value", call, "value");
    add_member(out, "gas", call, "gas");
    mpl_build_end(out);
    add_member(out, "revert_decode", call, "revert_decode");
    mpl_build_end(out);
}

static void write_call_plan(mpl_builder *out, moonplan_value given, moonplan_value made) {
    char caip2[MPL_CAIP2_TEXT];
    moonplan_text chain = moonplan_value_string(mpl_member(given, "chain"));
    mpl_build_object(out);
    mpl_build_text(out, "schema_version", mpl_text_of("1"));
    mpl_build_text(out, "chain_id", chain);
    mpl_build_text(out, "caip2_chain_id", mpl_rule_caip2_of(caip2, chain));
    add_member(out, "sender", given, "sender");
    mpl_build_name(out, mpl_text_of("ordered_steps"));
    mpl_build_array(out);
    moonplan_walk walk = moonplan_value_walk(mpl_member(made, "steps"));
    for (int64_t step = 1; moonplan_walk_next(&walk); step++)
        add_call(out, given, walk.value, step);
    mpl_build_end(out);
    if (moonplan_value_count(mpl_member(made, "required_capabilities")))
        add_member(out, "required_capabilities", made, "required_capabilities");
    add_member(out, "simulation_failure_policy", made, "simulation_failure_policy");
    mpl_build_end(out);
}

static void write_step_plan(mpl_builder *out, moonplan_value made) {
    mpl_build_object(out);
    mpl_build_text(out, "version", mpl_text_of("1.0"));
    add_member(out, "goal", made, "goal");
    mpl_build_name(out, mpl_text_of("steps"));
    mpl_build_array(out);
    moonplan_walk walk = moonplan_value_walk(mpl_member(made, "steps"));
    while (moonplan_walk_next(&walk)) {
        static const char *const names[] = {"id",     "capability",     "input",
                                            "reason", "idempotencyKey", NULL};
        mpl_build_object(out);
        for (size_t i = 0; names[i]; i++) add_member(out, names[i], walk.value, names[i]);
        mpl_build_end(out);
    }
    mpl_build_end(out);
    mpl_build_end(out);
}

/* The author's line on which the step was added that a place in the plan is in: "t.lua:5: "; {NULL,
 * 0} where none was told. */
static moonplan_text line_of(const mpl_making *making, moonplan_text at) {
    bool steps = making->item->item->builds_steps;
    moonplan_text prefix = mpl_text_of(steps ? "/steps/" : "/ordered_steps/");
    moonplan_value none = {NULL, UINT32_MAX};
    if (at.length <= prefix.length || memcmp(at.bytes, prefix.bytes, prefix.length) != 0)
        return moonplan_value_string(none);
    size_t n = 0;
    for (size_t i = prefix.length; i < at.length && at.bytes[i] >= '0' && at.bytes[i] <= '9'; i++)
        n = n > 1000000 ? n : n * 10 + (size_t)(at.bytes[i] - '0');
    moonplan_value made = none;
    if (making->call.call.result) made = moonplan_document_root(making->call.call.result);
    moonplan_text line = moonplan_value_string(
        mpl_member(moonplan_value_element(mpl_member(made, "steps"), n), "where"));
    return line.length > 2 && line.length <= 200 ? line : moonplan_value_string(none);
}

/* A fault of the plan, as one of the builder: what the person gave has no such place. */
static void retell(moonplan_error *err, const mpl_making *making) {
    if (err->code == MOONPLAN_MEMORY || err->code == MOONPLAN_LIMIT) return;
    moonplan_error inner = *err;
    moonplan_text code = mpl_text_of(moonplan_code_name(inner.code));
    moonplan_text at = {inner.at, inner.at_length}, message = mpl_text_of(inner.message);
    moonplan_text line = line_of(making, at);
    const moonplan_text *name = &making->item->item->name;
    line.length -= line.bytes ? 2 : 0; /* ": " */
    if (line.bytes)
        mpl_error_set(err, MOONPLAN_BUILD_PLAN, MOONPLAN_NO_OFFSET, NULL,
                      "the plan that %q made is refused, for what %q adds: %t at %t: %t", name,
                      &line, &code, &at, &message);
    else
        mpl_error_set(err, MOONPLAN_BUILD_PLAN, MOONPLAN_NO_OFFSET, NULL,
                      at.length ? "the plan that %q made is refused: %t at %t: %t"
                                : "the plan that %q made is refused: %t%t: %t",
                      name, &code, &at, &message);
}

static void retell_all(const mpl_making *making, moonplan_error *err) {
    moonplan_error_list *list = making->options->errors ? *making->options->errors : NULL;
    for (size_t i = 0; i < moonplan_error_list_count(list); i++)
        retell(moonplan_error_list_at(list, i), making);
    if (err) retell(err, making);
}

static bool take_plan(mpl_making *making, moonplan_error *err) {
    const moonplan_document *result = making->call.call.result;
    moonplan_value given = moonplan_document_root(making->taken);
    moonplan_value made =
        result ? moonplan_document_root(result) : (moonplan_value){making->taken, UINT32_MAX};
    mpl_builder out;
    mpl_build_open(&out, making->options);
    out.max_bytes = making->options->limits.document_bytes;
    if (making->item->item->builds_steps)
        write_step_plan(&out, made);
    else
        write_call_plan(&out, given, made);
    moonplan_document *document = mpl_build_finish(&out, err);
    if (!document) return false;
    if (making->item->item->builds_steps) {
        mpl_submission submission = {.document = document, .powers_later = true};
        moonplan_run_options run = {.errors = making->options->errors};
        making->step_plan = mpl_engine_admit(making->engine, &submission, &run, err);
    } else {
        moonplan_options options = *making->options;
        options.enforce_capabilities = false;
        making->call_plan = mpl_call_plan_read(document, &options, err);
    }
    if (making->call_plan || making->step_plan) return true;
    retell_all(making, err);
    return false;
}

/* -- The call --------------------------------------------------------------------*/

/* The quotation marks in it need no escape, where none stand around it. */
static size_t unquote(char *text, size_t length) {
    size_t out = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\' && i + 1 < length && text[i + 1] == '"')
            i++;
        else if (text[i] == '\\' && i + 1 < length)
            text[out++] = text[i++];
        text[out++] = text[i];
    }
    return out;
}

/* The parameter, or what is in it, that a builder says is at fault: "calls/0/to". What was not
 * given is at the nearest that was. */
static moonplan_value at_fault(moonplan_value given, moonplan_text path) {
    moonplan_value value = given;
    while (path.length > 0) {
        const char *slash = memchr(path.bytes, '/', path.length);
        moonplan_text name = {path.bytes, slash ? (size_t)(slash - path.bytes) : path.length};
        size_t n = 0;
        for (size_t i = 0; i < name.length && n < 1000000; i++)
            n = n * 10 + (size_t)(unsigned char)(name.bytes[i] - '0');
        moonplan_value inner = moonplan_value_type(value) == MOONPLAN_ARRAY
                                   ? moonplan_value_element(value, n)
                                   : moonplan_value_member(value, name.bytes, name.length);
        if (!is_there(inner)) break;
        value = inner;
        path = slash ? (moonplan_text){slash + 1, path.length - name.length - 1}
                     : (moonplan_text){NULL, 0};
    }
    return value;
}

/* What a call came to, as an error: its message is the author's, or about the author's code. */
static void explain(const mpl_making *making, moonplan_value given, moonplan_error *err) {
    const mpl_lua_call *call = &making->call.call;
    const moonplan_text *name = &making->item->item->name;
    char shown[sizeof err->message];
    moonplan_text text = {call->text.bytes, call->text.length};
    if (call->text.failed || mpl_text_is(text, "out of memory")) {
        mpl_error_memory(err);
        return;
    }
    size_t length = mpl_quote(shown, sizeof shown - 160, text);
    moonplan_text inside = {shown + 1, unquote(shown + 1, length - 2)};
    moonplan_code code = call->code;
    if (code != MOONPLAN_LIMIT && strncmp(moonplan_code_name(code), "plugin.", 7) != 0)
        code = MOONPLAN_BUILD_FAILED;
    if (!call->has_text)
        mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL,
                      "%q raises something that is neither a text nor a table with a message",
                      name);
    else if (call->code == MOONPLAN_JOB_CAPABILITY_FAILED && call->code_text.length &&
             !call->code_text.failed && is_there(given))
        mpl_error_at(
            err, MOONPLAN_BUILD_PARAM_VALUE,
            at_fault(given, (moonplan_text){call->code_text.bytes, call->code_text.length}), "%t",
            &inside);
    else if (call->code == MOONPLAN_JOB_CAPABILITY_FAILED)
        mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, "%t", &inside);
    else
        mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, "%q: %t", name, &inside);
}

static bool run(mpl_making *making, moonplan_value given, moonplan_error *err) {
    static const char token[] = "0000000000000000000000000000000000000000000000000000000000000000";
    mpl_plugin_call *call = &making->call;
    call->plugin = making->item->plugin;
    call->item = making->item->item;
    call->function = MPL_BUILD;
    call->call.options = &making->item->plugin->owner->options;
    call->call.job_id = call->call.step_id = mpl_text_of("build");
    call->call.capability = making->item->item->name;
    call->call.input = moonplan_document_root(making->input);
    memcpy(call->call.token, token, sizeof token);
    making->called = true;
    mpl_plugin_run(call);
    if (call->call.code == MOONPLAN_OK) return true;
    explain(making, given, err);
    return false;
}

bool mpl_make_plan(mpl_making *making, moonplan_value given, moonplan_error *err) {
    const mpl_item *item = making->item->item;
    making->params = mpl_params_new(mpl_member(item->value, "params"), making->options, err);
    if (!making->params) return false;
    making->taken = mpl_params_take(making->params, given, item->name, making->options, err);
    return making->taken && make_input(making, err) && run(making, given, err) &&
           take_plan(making, err);
}

void mpl_making_close(mpl_making *making) {
    mpl_params_free(making->params);
    moonplan_document_free(making->taken);
    moonplan_document_free(making->input);
    if (making->called) mpl_lua_call_close(&making->call.call);
    moonplan_call_plan_free(making->call_plan);
    moonplan_step_plan_free(making->step_plan);
    memset(making, 0, sizeof *making);
}

moonplan_value mpl_made_plan(const mpl_making *making) {
    const moonplan_document *document = making->call_plan
                                            ? moonplan_call_plan_document(making->call_plan)
                                            : moonplan_step_plan_document(making->step_plan);
    return moonplan_document_root(document);
}
