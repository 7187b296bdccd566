#include "confined.h"

#include <stdio.h>
#include <string.h>

#include "../core/keccak.h"
#include "../core/text.h"
#include "convert.h"

/* From the start of a runner to its first word, which depends on the machine and on nothing else;
 * load_ms if that is more. */
#define START_MS 1000

/* Runners of one engine that are kept. Beyond it the one that has rested longest is ended, and its
 * plugin loaded again when it is called. */
#define RUNNERS_MOST 32

static const moonplan_limits *limits_of(const mpl_plugin *plugin) {
    return &plugin->owner->options.limits;
}

/* -- Failing ---------------------------------------------------------------*/

static bool fail(moonplan_error *err, moonplan_code code, const char *before, const char *text) {
    moonplan_text shown = {text, strlen(text)};
    mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, "%s%t", before, &shown);
    return false;
}

/* After anything but MPL_HEARD and MPL_OVERDUE, before the plugin has been loaded. */
static bool fail_heard(mpl_plugin *plugin, mpl_heard heard, moonplan_error *err) {
    const mpl_process *process = &plugin->process;
    if (heard == MPL_UNHEARD) {
        mpl_error_memory(err);
        return false;
    }
    if (heard == MPL_UNSTARTED) {
        moonplan_text path = {process->path, strlen(process->path)};
        mpl_error_set(err, MOONPLAN_PLUGIN_ISOLATION, MOONPLAN_NO_OFFSET, NULL,
                      "the runner %q cannot be started: %s", &path, process->reason);
        return false;
    }
    return fail(err, MOONPLAN_PLUGIN_DIED, "loading ended the plugin's process: ", process->reason);
}

static bool garbled(mpl_plugin *plugin, moonplan_error *err) {
    mpl_process_kill(&plugin->process, "it said what no runner says");
    return fail_heard(plugin, MPL_DIED, err);
}

/* -- Starting --------------------------------------------------------------*/

static bool rests(mpl_plugin *plugin) {
    return plugin->isolation == MPL_PROCESS && !plugin->call && plugin->process.open &&
           mpl_process_runs(&plugin->process);
}

/* The runner that has rested longest, of `count` that rest; NULL if none does. */
static mpl_process *find_oldest(mpl_plugins *owner, size_t *count) {
    mpl_plugin *oldest = NULL;
    *count = 0;
    for (size_t i = 0; i < owner->list.count; i++) {
        mpl_plugin *plugin = owner->list.at[i];
        if (!rests(plugin)) continue;
        ++*count;
        if (!oldest || plugin->turn < oldest->turn) oldest = plugin;
    }
    return oldest ? &oldest->process : NULL;
}

/* With no more runners than may be kept, and no more than there are descriptors and processes
 * for. */
static mpl_heard start_process(mpl_plugins *owner, mpl_process *process) {
    size_t count;
    mpl_process *oldest;
    for (;;) {
        oldest = find_oldest(owner, &count);
        if (count < RUNNERS_MOST) break;
        mpl_process_kill(oldest, "");
    }
    for (;;) {
        mpl_heard heard = mpl_process_start(process);
        if (heard != MPL_UNSTARTED || !process->crowded) return heard;
        oldest = find_oldest(owner, &count);
        if (!oldest) return heard;
        mpl_process_kill(oldest, "");
    }
}

static const char *find_runner(mpl_plugins *owner, moonplan_error *err) {
    if (owner->runner.length) return owner->runner.bytes;
    return mpl_runner_path(&owner->runner, &owner->setup.runner, err);
}

static void write_load(mpl_plugin *plugin) {
    mpl_buffer *out = &plugin->process.out;
    const moonplan_limits *limits = limits_of(plugin);
    uint64_t count = 0;
    mpl_wire_begin(out, MPL_FRAME_LOAD);
#define COUNT_LIMIT(name, initial, floor, ceiling, text) count++;
    MOONPLAN_LIMITS(COUNT_LIMIT)
#undef COUNT_LIMIT
    mpl_codec_put_number(out, count);
#define PUT_LIMIT(name, initial, floor, ceiling, text) mpl_codec_put_number(out, limits->name);
    MOONPLAN_LIMITS(PUT_LIMIT)
#undef PUT_LIMIT
    mpl_wire_put_text(out, plugin->name);
    mpl_wire_put_text(out, plugin->file);
    mpl_codec_put_number(out, plugin->folder);
    mpl_codec_put_bytes(out, mpl_plugin_source(plugin));
    mpl_wire_end(out);
}

/* What a runner says before it has seen any code of the plugin's. */
static bool hear_ready(mpl_plugin *plugin, moonplan_error *err) {
    mpl_frame type;
    mpl_codec in;
    moonplan_text text;
    mpl_heard heard = mpl_process_hear(&plugin->process, &type, &in);
    if (heard == MPL_OVERDUE)
        return fail(err, MOONPLAN_PLUGIN_ISOLATION, "",
                    "the runner has been started, and says nothing");
    if (heard == MPL_DIED)
        return fail(err, MOONPLAN_PLUGIN_ISOLATION,
                    "its runner ended before it was confined: ", plugin->process.reason);
    if (heard != MPL_HEARD) return fail_heard(plugin, heard, err);
    bool fine = mpl_codec_take_bytes(&in, &text) && in.at == in.end && text.length < 256;
    if (fine && type == MPL_FRAME_READY && mpl_text_is(text, MPL_WIRE_VERSION)) return true;
    if (!fine || (type != MPL_FRAME_REFUSED && type != MPL_FRAME_READY))
        return garbled(plugin, err);
    char reason[300];
    reason[mpl_quote(reason, sizeof reason - 8, text)] = 0;
    moonplan_text shown = {reason + 1, strlen(reason) - 2};
    moonplan_text path = {plugin->process.path, strlen(plugin->process.path)};
    if (type == MPL_FRAME_READY)
        mpl_error_set(err, MOONPLAN_PLUGIN_ISOLATION, MOONPLAN_NO_OFFSET, NULL,
                      "the runner %q is version %t, and this is %s: both have to be of one version",
                      &path, &shown, MPL_WIRE_VERSION);
    else
        mpl_error_set(
            err, MOONPLAN_PLUGIN_ISOLATION, MOONPLAN_NO_OFFSET, NULL,
            "it has to be confined, and cannot be: %t; isolation \"state\" runs it without, "
            "for whoever trusts it",
            &shown);
    mpl_process_kill(&plugin->process, "");
    return false;
}

/* A runner that is confined and has begun to run the source, with load_ms to do so. */
static bool start(mpl_plugin *plugin, moonplan_error *err) {
    mpl_plugins *owner = plugin->owner;
    mpl_process *process = &plugin->process;
    const moonplan_limits *limits = limits_of(plugin);
    const char *path = find_runner(owner, err);
    if (!path) return false;
    process->path = path;
    process->most = mpl_wire_most(limits);
    mpl_heard heard = start_process(owner, process);
    if (heard != MPL_HEARD) return fail_heard(plugin, heard, err);
    mpl_process_limit(process, limits->load_ms > START_MS ? limits->load_ms : START_MS, 0);
    write_load(plugin);
    heard = mpl_process_say(process);
    if (heard != MPL_HEARD && heard != MPL_DIED) return fail_heard(plugin, heard, err);
    if (!hear_ready(plugin, err)) return false;
    mpl_process_limit(process, limits->load_ms, 0);
    mpl_wire_begin(&process->out, MPL_FRAME_START);
    mpl_wire_end(&process->out);
    heard = mpl_process_say(process);
    return heard == MPL_HEARD || fail_heard(plugin, heard, err);
}

/* -- Loading ---------------------------------------------------------------*/

static mpl_heard answer_import(mpl_plugin *plugin, mpl_codec *in) {
    mpl_process *process = &plugin->process;
    mpl_buffer source;
    moonplan_text name;
    moonplan_error err;
    if (!mpl_codec_take_bytes(in, &name) || in->at != in->end || !plugin->folder ||
        !mpl_plugin_name(name) || memchr(name.bytes, '.', name.length)) {
        mpl_process_kill(process, "it said what no runner says");
        return MPL_DIED;
    }
    mpl_buffer_open(&source, &plugin->owner->alloc);
    bool found = mpl_plugin_import(plugin, &source, name, &err);
    mpl_wire_begin(&process->out, MPL_FRAME_IMPORTED);
    mpl_codec_put_number(&process->out, found);
    if (found)
        mpl_codec_put_bytes(&process->out, (moonplan_text){source.bytes, source.length});
    else
        mpl_wire_put_error(&process->out, &err);
    if (source.failed) process->out.failed = true;
    mpl_wire_end(&process->out);
    mpl_buffer_close(&source);
    return mpl_process_say(process);
}

/* The next frame that is none of the plugin's own questions for its files. */
static mpl_heard hear_past_imports(mpl_plugin *plugin, mpl_frame *type, mpl_codec *in) {
    for (;;) {
        mpl_heard heard = mpl_process_hear(&plugin->process, type, in);
        if (heard != MPL_HEARD || *type != MPL_FRAME_IMPORT) return heard;
        heard = answer_import(plugin, in);
        if (heard != MPL_HEARD) return heard;
    }
}

/* What a manifest's reader finds wrong; a runner that says anything else says this. */
static void tame(moonplan_error *err) {
    if (err->code != MOONPLAN_MEMORY && err->code != MOONPLAN_LIMIT)
        err->code = MOONPLAN_PLUGIN_MANIFEST;
}

#define ITEMS_MOST 1000

/* Count, functions, value: of the first loading it becomes the manifest, later it has to be the
 * same. */
static bool take_manifest(mpl_plugin *plugin, mpl_loaded *loaded, mpl_codec *in, bool again,
                          moonplan_error *err) {
    unsigned functions[ITEMS_MOST];
    uint64_t count, bits;
    uint8_t told[32];
    moonplan_keccak256(told, (const uint8_t *)in->at, (size_t)(in->end - in->at));
    if (again) {
        if (memcmp(told, plugin->told, sizeof told) == 0) return true;
        mpl_process_kill(&plugin->process, "it brings something else when it is loaded again");
        return fail_heard(plugin, MPL_DIED, err);
    }
    memcpy(plugin->told, told, sizeof told);
    if (!mpl_wire_take(in, &count, ITEMS_MOST) || count == 0) return garbled(plugin, err);
    for (uint64_t i = 0; i < count; i++) {
        if (!mpl_wire_take(in, &bits, (1u << MPL_FUNCTIONS) - 1)) return garbled(plugin, err);
        functions[i] = (unsigned)bits;
    }
    const moonplan_limits *limits = limits_of(plugin);
    moonplan_document *document = mpl_wire_take_document(
        in, &plugin->owner->options, limits->values, limits->document_bytes, err);
    if (!document && err->code == MOONPLAN_MEMORY) return false;
    if (!document || in->at != in->end) {
        moonplan_document_free(document);
        return garbled(plugin, err);
    }
    loaded->fine =
        mpl_manifest_take(&plugin->manifest, document, functions, (size_t)count, &loaded->err);
    return true;
}

static bool take_loaded(mpl_plugin *plugin, mpl_loaded *loaded, mpl_codec *in, bool again,
                        moonplan_error *err) {
    uint64_t outcome;
    moonplan_text text;
    if (!mpl_wire_take(in, &outcome, MPL_LATE) || !mpl_wire_take_bool(in, &loaded->over_limit) ||
        !mpl_wire_take_bool(in, &loaded->has_text) || !mpl_codec_take_bytes(in, &text))
        return garbled(plugin, err);
    loaded->outcome = (mpl_outcome)outcome;
    mpl_buffer_add(&loaded->text, text.bytes, text.length);
    if (loaded->outcome != MPL_RAN) return in->at == in->end || garbled(plugin, err);
    if (!mpl_wire_take_bool(in, &loaded->fine)) return garbled(plugin, err);
    if (loaded->fine) return take_manifest(plugin, loaded, in, again, err);
    if (!mpl_wire_take_error(in, &loaded->err) || in->at != in->end) return garbled(plugin, err);
    tame(&loaded->err);
    return true;
}

static bool load(mpl_plugin *plugin, mpl_loaded *loaded, bool again, moonplan_error *err) {
    mpl_process *process = &plugin->process;
    mpl_frame type;
    mpl_codec in;
    loaded->fine = loaded->has_text = loaded->over_limit = false;
    memset(&loaded->err, 0, sizeof loaded->err);
    if (!start(plugin, err)) return false;
    mpl_heard heard = hear_past_imports(plugin, &type, &in);
    if (heard == MPL_HEARD && type == MPL_FRAME_LOADED)
        return take_loaded(plugin, loaded, &in, again, err);
    if (heard == MPL_HEARD) return garbled(plugin, err);
    if (heard == MPL_OVERDUE) {
        loaded->outcome = MPL_LATE;
        return true;
    }
    if (heard == MPL_DIED && process->short_of_memory) {
        loaded->outcome = MPL_NO_MEMORY;
        loaded->over_limit = true;
        return true;
    }
    return fail_heard(plugin, heard, err);
}

bool mpl_confined_load(mpl_plugin *plugin, mpl_loaded *loaded, moonplan_error *err) {
    bool fine = load(plugin, loaded, false, err);
    plugin->turn = ++plugin->owner->turn;
    if (!fine || loaded->outcome != MPL_RAN || !loaded->fine)
        mpl_process_kill(&plugin->process, plugin->process.reason);
    return fine;
}

void mpl_confined_close(mpl_plugin *plugin) {
    mpl_process_close(&plugin->process);
}

/* -- Calling ---------------------------------------------------------------*/

static void fail_call(mpl_plugin_call *call, moonplan_code cause, const char *before,
                      const char *reason) {
    char text[sizeof((moonplan_error *)NULL)->message + 96];
    mpl_lua_call *result = &call->call;
    snprintf(text, sizeof text, "%s%s", before, reason);
    mpl_lua_call_fail(result, MOONPLAN_JOB_CAPABILITY_FAILED, text);
    result->cause = cause;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

static void fail_died(mpl_plugin_call *call) {
    char reason[sizeof call->plugin->process.reason];
    memcpy(reason, call->plugin->process.reason, sizeof reason);
    fail_call(call, MOONPLAN_PLUGIN_DIED, "the plugin's process died: ", reason);
}

/* After anything but MPL_HEARD. */
static void fail_unheard(mpl_plugin_call *call, mpl_heard heard) {
    const mpl_process *process = &call->plugin->process;
    if (heard == MPL_OVERDUE && call->want && moonplan_want_cancelled(call->want))
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_CANCELLED, "the job was cancelled");
    else if (heard == MPL_OVERDUE)
        mpl_plugin_explain(call, MPL_LATE, false);
    else if (heard == MPL_UNHEARD || process->short_of_memory)
        mpl_plugin_explain(call, MPL_NO_MEMORY, heard != MPL_UNHEARD);
    else
        fail_died(call);
}

static void call_garbled(mpl_plugin_call *call) {
    mpl_process_kill(&call->plugin->process, "it said what no runner says");
    fail_died(call);
}

/* Where loading it again does not come out as it did. */
static void fail_reload(mpl_plugin_call *call, const mpl_loaded *loaded,
                        const moonplan_error *err) {
    const mpl_process *process = &call->plugin->process;
    if (err && err->code == MOONPLAN_MEMORY)
        mpl_plugin_explain(call, MPL_NO_MEMORY, false);
    else if (err)
        fail_call(call, err->code, "",
                  err->code == MOONPLAN_PLUGIN_DIED ? process->reason : err->message);
    else if (loaded->outcome == MPL_LATE)
        mpl_lua_call_fail(&call->call, MOONPLAN_JOB_TIMEOUT,
                          "loading the plugin again took longer than the limit load_ms allows");
    else if (loaded->outcome == MPL_NO_MEMORY)
        mpl_plugin_explain(call, MPL_NO_MEMORY, loaded->over_limit);
    else
        fail_call(call, MOONPLAN_PLUGIN_DIED, "",
                  "the plugin fails when it is loaded again, as it did not before");
}

static bool is_there(mpl_plugin_call *call) {
    mpl_plugin *plugin = call->plugin;
    mpl_loaded loaded;
    moonplan_error err = {.code = MOONPLAN_PLUGIN_DIED};
    if (mpl_process_runs(&plugin->process)) return true;
    memset(&loaded, 0, sizeof loaded);
    mpl_buffer_open(&loaded.text, &plugin->owner->alloc);
    mpl_buffer_open(&loaded.code, &plugin->owner->alloc);
    bool told = load(plugin, &loaded, true, &err);
    bool fine = told && loaded.outcome == MPL_RAN && loaded.fine;
    if (!fine) {
        mpl_process_kill(&plugin->process, plugin->process.reason);
        fail_reload(call, &loaded, told ? NULL : &err);
    }
    mpl_buffer_close(&loaded.text);
    mpl_buffer_close(&loaded.code);
    return fine;
}

static void write_call(mpl_plugin_call *call) {
    const mpl_plugin *plugin = call->plugin;
    mpl_buffer *out = &call->plugin->process.out;
    mpl_wire_begin(out, MPL_FRAME_CALL);
    mpl_codec_put_number(out, (uint64_t)(call->item - plugin->manifest.items));
    mpl_codec_put_number(out, call->function);
    mpl_codec_put_number(out, call->allowed);
    mpl_codec_put_number(out, limits_of(plugin)->copied_values);
    mpl_codec_put_bytes(out, call->call.job_id);
    mpl_codec_put_bytes(out, call->call.step_id);
    mpl_wire_put_text(out, call->call.token);
    mpl_wire_put_option(out, call->call.input);
    mpl_wire_put_option(out, call->call.caller);
    mpl_wire_end(out);
}

static void write_served(mpl_buffer *out, mpl_served served, const mpl_answer *answer,
                         const moonplan_error *err) {
    mpl_wire_begin(out, MPL_FRAME_SERVED);
    mpl_codec_put_number(out, served);
    if (served == MPL_SERVED)
        mpl_wire_put_slots(out, &answer->slots);
    else
        mpl_wire_put_error(out, err);
    mpl_wire_end(out);
}

/* One use of a power, by whoever answers them in the other isolation as well. */
static mpl_heard serve(mpl_plugin_call *call, mpl_codec *in) {
    mpl_process *process = &call->plugin->process;
    const moonplan_options *options = &call->plugin->owner->options;
    mpl_slots slots;
    mpl_answer answer;
    moonplan_document *document = NULL;
    moonplan_error err;
    uint64_t operation;
    memset(&err, 0, sizeof err);
    err.code = MOONPLAN_JSON_SYNTAX;
    bool fine = mpl_wire_take(in, &operation, MPL_OPERATIONS) &&
                mpl_wire_take_slots(in, &slots, &document, options, &err) && in->at == in->end;
    if (!fine) {
        bool memory = err.code == MOONPLAN_MEMORY;
        moonplan_document_free(document);
        mpl_process_kill(process, memory ? "out of memory" : "it said what no runner says");
        return memory ? MPL_UNHEARD : MPL_DIED;
    }
    /* The disk's time is the plugin's, like the processor's: what is under way is finished, and
     * then the call is over. Another computer's is not. */
    bool elsewhere = operation == MPL_HTTP_REQUEST || operation == MPL_RPC_SEND;
    mpl_waiting since = mpl_process_waiting();
    mpl_answer_open(&answer, &call->plugin->owner->alloc);
    err.code = MOONPLAN_OPTION;
    mpl_served served = mpl_power_serve(call, (mpl_operation)operation, &slots, &answer, &err);
    if (elsewhere) mpl_process_waited(process, since);
    write_served(&process->out, served, &answer, &err);
    mpl_answer_close(&answer);
    moonplan_document_free(document);
    return mpl_process_say(process);
}

/* The codes that a call comes to inside, when the plugin's function has returned. */
static bool is_code(uint64_t code) {
    return code == MOONPLAN_OK || code == MOONPLAN_LIMIT || code == MOONPLAN_MEMORY ||
           code == MOONPLAN_JOB_INPUT_NUMBER || code == MOONPLAN_JOB_RESULT_SHAPE;
}

/* False when it is not what a runner says; err->code says whether it is memory that lacks. */
static bool take_returned(mpl_plugin_call *call, mpl_codec *in, moonplan_error *err) {
    mpl_lua_call *result = &call->call;
    const moonplan_limits *limits = limits_of(call->plugin);
    uint64_t outcome, code;
    bool over_limit, has_text;
    moonplan_text text, code_text;
    err->code = MOONPLAN_JSON_SYNTAX;
    if (!mpl_wire_take(in, &outcome, MPL_LATE) || !mpl_wire_take_bool(in, &over_limit) ||
        !mpl_wire_take(in, &code, MOONPLAN_CODE_COUNT - 1) || !mpl_wire_take_bool(in, &has_text) ||
        !mpl_codec_take_bytes(in, &text) || !mpl_codec_take_bytes(in, &code_text))
        return false;
    /* One byte more than the limit, so that a result that is too long is told as one. */
    if (!mpl_wire_take_option(in, &result->result, &call->plugin->owner->options,
                              limits->copied_values, limits->result_bytes + 1, err))
        return false;
    err->code = MOONPLAN_JSON_SYNTAX;
    bool ran = outcome == MPL_RAN, raised = outcome == MPL_RAISED;
    if (in->at != in->end || (ran && !is_code(code)) || (result->result && (!ran || code)))
        return false;
    if (!ran && !raised) {
        mpl_plugin_explain(call, (mpl_outcome)outcome, over_limit);
        return true;
    }
    result->code = raised ? MOONPLAN_JOB_CAPABILITY_FAILED : (moonplan_code)code;
    result->has_text = has_text;
    mpl_buffer_add(&result->text, text.bytes, text.length);
    mpl_buffer_add(&result->code_text, code_text.bytes, code_text.length);
    return true;
}

static bool is_cancelled(void *data) {
    const mpl_plugin_call *call = data;
    return call->want && moonplan_want_cancelled(call->want);
}

/* Until the function has returned. */
static mpl_heard converse(mpl_plugin_call *call, mpl_codec *in, bool *returned) {
    mpl_process *process = &call->plugin->process;
    mpl_frame type;
    mpl_heard heard = mpl_process_say(process);
    while (heard == MPL_HEARD) {
        heard = mpl_process_hear(process, &type, in);
        if (heard != MPL_HEARD) break;
        *returned = type == MPL_FRAME_RETURNED;
        if (*returned) break;
        if (type == MPL_FRAME_POWER) {
            heard = serve(call, in);
        } else if (type == MPL_FRAME_IMPORT) {
            heard = answer_import(call->plugin, in);
        } else {
            mpl_process_kill(process, "it said what no runner says");
            heard = MPL_DIED;
        }
    }
    return heard;
}

void mpl_confined_call(mpl_plugin_call *call) {
    mpl_plugin *plugin = call->plugin;
    mpl_process *process = &plugin->process;
    const moonplan_limits *limits = limits_of(plugin);
    mpl_codec in;
    moonplan_error err;
    bool returned = false;
    plugin->turn = ++plugin->owner->turn;
    if (!is_there(call)) return;
    process->cancelled = call->want ? is_cancelled : NULL;
    process->cancelled_data = call;
    mpl_process_limit(process, limits->call_ms, limits->fetch_ms);
    call->deadline = process->hard / 1000000;
    write_call(call);
    mpl_heard heard = converse(call, &in, &returned);
    process->cancelled = NULL;
    if (heard != MPL_HEARD) {
        fail_unheard(call, heard);
    } else if (!take_returned(call, &in, &err)) {
        moonplan_document_free(call->call.result);
        call->call.result = NULL;
        if (err.code == MOONPLAN_MEMORY)
            mpl_plugin_explain(call, MPL_NO_MEMORY, false);
        else
            call_garbled(call);
    }
}
