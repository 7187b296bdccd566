/* Secrets on their way out of a plugin: what it logs, what it fails with, what it returns.
 *
 * Promised: the exact bytes of a secret that a host granted, to whichever plugin, or that an
 * example gives, come out of none of these; "[secret:NAME]" stands in their place. Not promised:
 * anything about a secret that a plugin takes apart, turns around or encodes first. What it sends
 * over http or rpc, writes to fs or keeps in kv is not looked at: secrets are for sending.
 *
 * _GNU_SOURCE comes from the build: memmem, which is linear. */
#include <string.h>

#include "../core/build.h"
#include "../core/text.h"
#include "serve.h"

bool mpl_replace_bytes(mpl_buffer *bytes, moonplan_text what, moonplan_text by) {
    const char *at = bytes->bytes, *end = at ? at + bytes->length : NULL, *found;
    if (!at || what.length == 0 || !memmem(at, (size_t)(end - at), what.bytes, what.length))
        return true;
    mpl_buffer clean;
    mpl_buffer_open(&clean, bytes->alloc);
    while ((found = memmem(at, (size_t)(end - at), what.bytes, what.length)) != NULL) {
        mpl_buffer_add(&clean, at, (size_t)(found - at));
        mpl_buffer_add(&clean, by.bytes, by.length);
        at = found + what.length;
    }
    mpl_buffer_add(&clean, at, (size_t)(end - at));
    mpl_buffer_close(bytes);
    if (!clean.failed) {
        *bytes = clean;
        return true;
    }
    mpl_buffer_close(&clean);
    mpl_buffer_open(bytes, clean.alloc);
    return false;
}

/* -- Which secrets -------------------------------------------------------------*/

/* One after the other, long ones first: one that holds another is gone before that is looked for.
 */
typedef struct secrets {
    const mpl_grants *grants; /* NULL: those of an example */
    moonplan_value given;
    size_t last_length, last_index; /* of the one that came last */
} secrets;

static secrets all_secrets(const mpl_plugin_call *call) {
    secrets all = {.grants = &call->plugin->owner->grants, .last_length = SIZE_MAX};
    if (!call->doubles) return all;
    all.grants = NULL;
    all.given = mpl_given(call->doubles, "secret");
    return all;
}

/* The longest that is shorter than the last one, or as long and behind it. */
static bool next_secret(secrets *all, moonplan_text *name, moonplan_text *bytes) {
    moonplan_walk walk = moonplan_value_walk(all->given);
    size_t found = SIZE_MAX;
    bytes->length = 0;
    for (size_t i = 0;; i++) {
        moonplan_text one_name, one;
        if (all->grants && i < all->grants->secret_count) {
            one_name = all->grants->secrets[i].name;
            one = all->grants->secrets[i].bytes;
        } else if (!all->grants && moonplan_walk_next(&walk)) {
            one_name = walk.name;
            one = moonplan_value_string(walk.value);
        } else {
            break;
        }
        bool behind = one.length < all->last_length ||
                      (one.length == all->last_length && i > all->last_index);
        if (!behind || one.length <= bytes->length) continue;
        *name = one_name;
        *bytes = one;
        found = i;
    }
    if (found == SIZE_MAX) return false;
    all->last_length = bytes->length;
    all->last_index = found;
    return true;
}

bool mpl_has_secrets(const mpl_plugin_call *call) {
    moonplan_text name, bytes;
    secrets all = all_secrets(call);
    return next_secret(&all, &name, &bytes);
}

static bool holds(const mpl_plugin_call *call, moonplan_text text) {
    moonplan_text name, bytes;
    secrets all = all_secrets(call);
    while (next_secret(&all, &name, &bytes))
        if (bytes.length && text.length >= bytes.length &&
            memmem(text.bytes, text.length, bytes.bytes, bytes.length))
            return true;
    return false;
}

bool mpl_redact_bytes(const mpl_plugin_call *call, mpl_buffer *out) {
    moonplan_text name, bytes;
    secrets all = all_secrets(call);
    while (next_secret(&all, &name, &bytes)) {
        char shown[96] = "[secret:";
        size_t length = name.length < 64 ? name.length : 64;
        memcpy(shown + 8, name.bytes, length);
        shown[8 + length] = ']';
        if (!mpl_replace_bytes(out, bytes, (moonplan_text){shown, length + 9})) return false;
    }
    return true;
}

/* -- Documents -------------------------------------------------------------------*/

typedef struct cleaning {
    const mpl_plugin_call *call;
    mpl_alloc *alloc;
    mpl_builder builder;
    bool failed;
} cleaning;

/* A number may be a secret of digits. */
static moonplan_text text_of(moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type == MOONPLAN_STRING) return moonplan_value_string(value);
    if (type == MOONPLAN_INTEGER || type == MOONPLAN_NUMBER) return moonplan_value_source(value);
    return (moonplan_text){"", 0};
}

/* Nested no deeper than the limit depth lets a result be. */
static bool found_in(const mpl_plugin_call *call, moonplan_value value) {
    if (holds(call, text_of(value))) return true;
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk))
        if ((walk.name.bytes && holds(call, walk.name)) || found_in(call, walk.value)) return true;
    return false;
}

static void put_clean(cleaning *c, moonplan_text text, bool name) {
    mpl_buffer bytes;
    mpl_buffer_open(&bytes, c->alloc);
    mpl_buffer_add(&bytes, text.bytes, text.length);
    c->failed = c->failed || bytes.failed || !mpl_redact_bytes(c->call, &bytes);
    moonplan_text clean = {bytes.length ? bytes.bytes : "", bytes.length};
    if (name)
        mpl_build_name(&c->builder, clean);
    else
        mpl_build_string(&c->builder, clean);
    mpl_buffer_close(&bytes);
}

static void copy_clean(cleaning *c, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type == MOONPLAN_ARRAY || type == MOONPLAN_OBJECT) {
        moonplan_walk walk = moonplan_value_walk(value);
        if (type == MOONPLAN_ARRAY)
            mpl_build_array(&c->builder);
        else
            mpl_build_object(&c->builder);
        while (moonplan_walk_next(&walk)) {
            if (type == MOONPLAN_OBJECT) put_clean(c, walk.name, true);
            copy_clean(c, walk.value);
        }
        mpl_build_end(&c->builder);
    } else if (holds(c->call, text_of(value))) {
        put_clean(c, text_of(value), false);
    } else {
        mpl_build_value(&c->builder, value);
    }
}

moonplan_document *mpl_redact_document(const mpl_plugin_call *call, moonplan_document *document,
                                       moonplan_error *err) {
    if (!document) return mpl_error_memory(err), NULL;
    if (!mpl_has_secrets(call) || !found_in(call, moonplan_document_root(document)))
        return document;
    mpl_alloc alloc = mpl_alloc_of(call->call.options);
    cleaning c = {.call = call, .alloc = &alloc};
    mpl_build_open(&c.builder, call->call.options);
    c.builder.max_depth = c.builder.max_values = UINT64_MAX;
    copy_clean(&c, moonplan_document_root(document));
    moonplan_document_free(document);
    moonplan_error why = {.code = MOONPLAN_OK};
    moonplan_document *clean = mpl_build_finish(&c.builder, &why);
    if (clean && !c.failed) return clean;
    moonplan_document_free(clean);
    if (c.failed || why.code == MOONPLAN_MEMORY)
        mpl_error_memory(err);
    else
        mpl_error_set(err, MOONPLAN_JOB_RESULT_SHAPE, MOONPLAN_NO_OFFSET, NULL,
                      "with a secret taken out of its names: %s", why.message);
    return NULL;
}

void mpl_power_redact(mpl_plugin_call *call) {
    mpl_lua_call *inner = &call->call;
    moonplan_error why = {.code = MOONPLAN_OK};
    if (!mpl_has_secrets(call)) return;
    if (inner->result) inner->result = mpl_redact_document(call, inner->result, &why);
    bool fine = mpl_redact_bytes(call, &inner->text) && mpl_redact_bytes(call, &inner->code_text);
    if (fine && why.code == MOONPLAN_OK) return;
    moonplan_document_free(inner->result);
    inner->result = NULL;
    if (fine && why.code == MOONPLAN_JOB_RESULT_SHAPE)
        mpl_lua_call_fail(inner, why.code, why.message);
    else
        mpl_lua_call_fail(inner, MOONPLAN_JOB_MEMORY, "out of memory");
}
