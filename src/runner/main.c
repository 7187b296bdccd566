/* moonplan-runner: one plugin, confined. It is told what to do over a socket (src/lua/wire.h says
 * how) by the host that started it, and has nothing else.
 *
 * What it is made of: Lua, the sandbox that a plugin gets in any process, values and their codec,
 * and the system calls that take everything away. No file of it opens anything once the plugin's
 * source has been looked at. */
#include <lauxlib.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lua/code.h"
#include "confine.h"
#include "talk.h"

typedef struct runner {
    moonplan_options options;
    moonplan_options
        wide; /* for what the host says: what is too much of it is said by Lua's side */
    mpl_alloc alloc;
    mpl_talk talk;
    mpl_code code;
    mpl_manifest manifest;
} runner;

/* What the host says is well made; if it is not, it is another host than ours. */
static void expect(bool holds) {
    if (!holds) mpl_talk_end(4);
}

static uint64_t take(mpl_codec *in) {
    uint64_t number = 0;
    expect(mpl_codec_take_number(in, &number));
    return number;
}

static moonplan_text take_text(mpl_codec *in) {
    moonplan_text text = {NULL, 0};
    expect(mpl_codec_take_bytes(in, &text));
    return text;
}

/* A copy with a NUL behind it, for as long as the process lives. */
static char *keep_text(moonplan_text text) {
    char *copy = malloc(text.length + 1);
    if (!copy) mpl_talk_end(MPL_RUNNER_NO_MEMORY);
    if (text.length) memcpy(copy, text.bytes, text.length);
    copy[text.length] = 0;
    return copy;
}

/* -- What the plugin asks for --------------------------------------------------*/

static bool import(void *data, mpl_buffer *out, moonplan_text name, moonplan_error *err) {
    runner *r = data;
    bool found = false;
    mpl_wire_begin(&r->talk.out, MPL_FRAME_IMPORT);
    mpl_codec_put_bytes(&r->talk.out, name);
    mpl_talk_say(&r->talk);
    mpl_codec in = mpl_talk_hear(&r->talk, MPL_FRAME_IMPORTED);
    expect(mpl_wire_take_bool(&in, &found));
    if (!found) {
        expect(mpl_wire_take_error(&in, err));
        return false;
    }
    moonplan_text source = take_text(&in);
    mpl_buffer_add(out, source.bytes, source.length);
    return true;
}

static mpl_served exchange(void *data, mpl_operation operation, const mpl_slots *slots,
                           mpl_answer *answer, moonplan_error *err) {
    runner *r = data;
    mpl_wire_begin(&r->talk.out, MPL_FRAME_POWER);
    mpl_codec_put_number(&r->talk.out, operation);
    mpl_wire_put_slots(&r->talk.out, slots);
    mpl_talk_say(&r->talk);
    mpl_codec in = mpl_talk_hear(&r->talk, MPL_FRAME_SERVED);
    mpl_served served = (mpl_served)take(&in);
    if (served != MPL_SERVED) {
        expect(mpl_wire_take_error(&in, err));
        return served;
    }
    if (mpl_wire_take_slots(&in, &answer->slots, &answer->document, &r->wide, err))
        return MPL_SERVED;
    expect(err->code == MOONPLAN_MEMORY);
    return MPL_REFUSED;
}

/* -- Loading -------------------------------------------------------------------*/

/* The document of a manifest that has been read, which the host looks at. */
static moonplan_document *finish(runner *r, mpl_loaded *loaded) {
    if (loaded->outcome != MPL_RAN || !loaded->fine) return NULL;
    r->manifest.building = false;
    return mpl_build_finish(&r->manifest.builder, &loaded->err);
}

static void tell_loaded(runner *r, mpl_loaded *loaded) {
    mpl_buffer *out = &r->talk.out;
    moonplan_document *document = finish(r, loaded);
    mpl_wire_begin(out, MPL_FRAME_LOADED);
    mpl_codec_put_number(out, loaded->outcome);
    mpl_codec_put_number(out, loaded->over_limit);
    mpl_codec_put_number(out, loaded->has_text);
    mpl_codec_put_bytes(out, (moonplan_text){loaded->text.bytes, loaded->text.length});
    if (loaded->outcome == MPL_RAN) {
        mpl_codec_put_number(out, document != NULL);
        if (document) {
            mpl_codec_put_number(out, r->manifest.count);
            for (size_t i = 0; i < r->manifest.count; i++)
                mpl_codec_put_number(out, r->manifest.items[i].functions);
            mpl_codec_put_value(out, moonplan_document_root(document));
        } else {
            mpl_wire_put_error(out, &loaded->err);
        }
    }
    moonplan_document_free(document);
    mpl_talk_say(&r->talk);
}

static void load(runner *r, moonplan_text source, const char *file) {
    mpl_loaded loaded;
    memset(&loaded, 0, sizeof loaded);
    mpl_buffer_open(&loaded.text, &r->alloc);
    mpl_buffer_open(&loaded.code, &r->alloc);
    mpl_manifest_open(&r->manifest, &r->options);
    r->code.options = &r->options;
    r->code.import = import;
    r->code.import_data = r;
    r->code.stub.exchange = exchange;
    r->code.stub.data = r;
    if (mpl_code_open(&r->code)) {
        mpl_code_load(&r->code, &r->manifest, &loaded, source, file, 0);
    } else {
        loaded.outcome = MPL_NO_MEMORY;
        loaded.over_limit = r->code.box.over_limit;
    }
    tell_loaded(r, &loaded);
    mpl_buffer_close(&loaded.text);
    mpl_buffer_close(&loaded.code);
}

/* -- Calling -------------------------------------------------------------------*/

static void tell_returned(runner *r, mpl_lua_call *call, mpl_outcome outcome) {
    mpl_buffer *out = &r->talk.out;
    moonplan_value result = {NULL, 0};
    bool memory = call->text.failed || call->code_text.failed;
    moonplan_text text = {call->text.bytes, call->text.length};
    moonplan_text code = {call->code_text.bytes, call->code_text.length};
    /* Both may be one text, which the plugin's memory holds once. */
    uint64_t kept = r->options.limits.result_bytes;
    if (code.length > kept && text.length + code.length > r->options.limits.memory_mib << 20)
        code.length = (size_t)kept + 1;
    if (call->result) result = moonplan_document_root(call->result);
    mpl_wire_begin(out, MPL_FRAME_RETURNED);
    mpl_codec_put_number(out, memory ? MPL_NO_MEMORY : outcome);
    mpl_codec_put_number(out, !memory && r->code.box.over_limit);
    mpl_codec_put_number(out, call->code);
    mpl_codec_put_number(out, call->has_text);
    mpl_codec_put_bytes(out, text);
    mpl_codec_put_bytes(out, code);
    mpl_wire_put_option(out, result);
    mpl_talk_say(&r->talk);
}

static moonplan_document *take_option(runner *r, mpl_codec *in) {
    moonplan_document *document = NULL;
    moonplan_error err;
    if (mpl_wire_take_option(in, &document, &r->wide, UINT64_MAX, UINT64_MAX, &err))
        return document;
    mpl_talk_end(err.code == MOONPLAN_MEMORY ? MPL_RUNNER_NO_MEMORY : 4);
}

static void call(runner *r) {
    mpl_codec in = mpl_talk_hear(&r->talk, MPL_FRAME_CALL);
    mpl_lua_call made = {.options = &r->options};
    uint64_t item = take(&in), function = take(&in), powers = take(&in), values = take(&in);
    expect(item < r->manifest.count && function < MPL_FUNCTIONS &&
           (r->manifest.items[item].functions >> function & 1));
    /* Copies: the frame they stand in is gone when a power has been asked for. */
    char *job_id, *step_id;
    moonplan_text text = take_text(&in);
    job_id = keep_text(text);
    made.job_id = (moonplan_text){job_id, text.length};
    text = take_text(&in);
    step_id = keep_text(text);
    made.step_id = (moonplan_text){step_id, text.length};
    text = take_text(&in);
    expect(text.length < sizeof made.token);
    if (text.length) memcpy(made.token, text.bytes, text.length);
    moonplan_document *input = take_option(r, &in), *caller = take_option(r, &in);
    if (input) made.input = moonplan_document_root(input);
    if (caller) made.caller = moonplan_document_root(caller);
    mpl_lua_call_open(&made, values, "copied_values");
    mpl_outcome outcome =
        mpl_code_call(&r->code, &made, (mpl_function)function,
                      r->manifest.items[item].references[function], (unsigned)powers, 0);
    tell_returned(r, &made, outcome);
    mpl_lua_call_close(&made);
    moonplan_document_free(input);
    moonplan_document_free(caller);
    free(job_id);
    free(step_id);
}

/* -- Beginning -----------------------------------------------------------------*/

static void say_ready(runner *r) {
    mpl_wire_begin(&r->talk.out, MPL_FRAME_READY);
    mpl_wire_put_text(&r->talk.out, MPL_WIRE_VERSION);
    mpl_talk_say(&r->talk);
}

/* A host of another version is told which this one is, and nothing that it says is understood. */
static void tell_version(runner *r) {
    say_ready(r);
    mpl_talk_end(0);
}

static void refuse(runner *r, const char *text) {
    mpl_wire_begin(&r->talk.out, MPL_FRAME_REFUSED);
    mpl_wire_put_text(&r->talk.out, text);
    mpl_talk_say(&r->talk);
    mpl_talk_end(0);
}

/* The limits stand in the order of the header's table; both sides are of one version. */
static void take_limits(runner *r, mpl_codec *in) {
    uint64_t count = take(in);
#define TAKE_LIMIT(name, initial, floor, ceiling, text)                                            \
    if (count-- > 0) r->options.limits.name = take(in);
    MOONPLAN_LIMITS(TAKE_LIMIT)
#undef TAKE_LIMIT
    expect(count == 0);
    for (size_t n = 0;; n++) {
        const moonplan_limit_info *limit = moonplan_limit_at(n);
        if (!limit) break;
        if (strcmp(limit->name, "depth") == 0) r->wide.limits.depth = limit->ceiling;
        if (strcmp(limit->name, "copied_values") == 0)
            r->wide.limits.copied_values = limit->ceiling;
    }
}

static void begin(runner *r, mpl_codec in) {
    bool folder = false;
    take_limits(r, &in);
    r->code.name = keep_text(take_text(&in));
    const char *file = keep_text(take_text(&in));
    expect(mpl_wire_take_bool(&in, &folder));
    r->code.folder = folder;
    moonplan_text source = take_text(&in), kept = {keep_text(source), source.length};
    const char *lacking = mpl_confine(r->options.limits.memory_mib << 20);
    if (lacking) refuse(r, lacking);
    say_ready(r);
    mpl_talk_hear(&r->talk, MPL_FRAME_START);
    load(r, kept, file);
    free((void *)(uintptr_t)kept.bytes);
}

int main(int count, char **words) {
    static runner r;
    if (count != 4) {
        fprintf(stderr, "moonplan-runner is started by moonplan, for a plugin; it does nothing by "
                        "itself\n");
        return 1;
    }
    const char *lacking =
        mpl_confine_begin(strtol(words[2], NULL, 10), strcmp(words[3], "main") == 0);
    if (lacking && !*lacking) return MPL_RUNNER_ALONE;
    moonplan_options_init(&r.options);
    moonplan_options_init(&r.wide);
    r.alloc = mpl_alloc_of(&r.options);
    mpl_talk_open(&r.talk, &r.alloc);
    /* Documents draw hash keys; how to is found out here, while files can be opened. */
    if (!lacking && sodium_init() < 0) lacking = "there are no random numbers";
    mpl_codec in = mpl_talk_hear(&r.talk, MPL_FRAME_LOAD);
    if (strcmp(words[1], MPL_WIRE_VERSION) != 0) tell_version(&r);
    if (lacking) refuse(&r, lacking);
    begin(&r, in);
    for (;;) call(&r);
}
