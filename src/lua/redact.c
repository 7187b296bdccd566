/* Secrets on their way out of a plugin: what it logs, what it fails with, what it returns.
 *
 * Promised: the exact bytes of a secret that a host granted, to whichever plugin, or that an
 * example gives, come out of none of these; "[secret:NAME]" stands in their place. So do they in
 * the forms that our own messages give them: as a part of a JSON Pointer, quoted, or cut. Not
 * promised: anything about a secret that a plugin takes apart, turns around or encodes first. What
 * it sends over http or rpc, writes to fs or keeps in kv is not looked at: secrets are for sending.
 *
 * All of them are looked for at once, so that a hostile plugin cannot make the host work for long
 * after its deadline by what it returns: 16 MiB take 7 ms, for one secret or for a thousand, and
 * 70 ms where they do nothing but repeat the beginnings of secrets.
 */
#include <sodium.h>
#include <string.h>

#include "../core/build.h"
#include "../core/text.h"
#include "serve.h"

/* -- Which secrets -------------------------------------------------------------*/

/* As it is, as a part of a pointer (RFC 6901, section 3), quoted, and both. */
#define FORMS 4
/* The most that one byte becomes when it is quoted: \u{7f}. */
#define QUOTED_MOST 6

static size_t write_pointer(char *out, moonplan_text text) {
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.bytes[i];
        bool escaped = byte == '~' || byte == '/';
        out[length++] = escaped ? '~' : byte;
        if (escaped) out[length++] = byte == '~' ? '0' : '1';
    }
    return length;
}

/* The other forms, where they differ; they stand in `room`. */
static void add_forms(mpl_needle *list, size_t *count, char *room) {
    const mpl_needle plain = list[*count - 1];
    size_t length = write_pointer(room, plain.bytes), first = *count - 1;
    mpl_needle pointer = {{room, length}, plain.shown};
    if (!mpl_text_equal(plain.bytes, pointer.bytes)) {
        list[(*count)++] = pointer;
        room += length;
    }
    for (size_t i = first, end = *count; i < end; i++) {
        moonplan_text from = list[i].bytes;
        length = mpl_quote(room, QUOTED_MOST * from.length + 8, from);
        mpl_needle quoted = {{room + 1, length - 2}, plain.shown};
        if (mpl_text_equal(from, quoted.bytes)) continue;
        list[(*count)++] = quoted;
        room += length;
    }
}

/* Room for all forms of a secret of so many bytes. */
static size_t forms_room(size_t length) {
    return 2 * length + 3 * (QUOTED_MOST * length + 8);
}

bool mpl_secrets_needles(mpl_needles *out, mpl_alloc *alloc, mpl_arena *texts,
                         const mpl_secret *secrets, size_t count) {
    size_t size = FORMS * count * sizeof(mpl_needle), used = 0, room = 0, filled = 0;
    memset(out, 0, sizeof *out);
    if (count == 0) return true;
    for (size_t i = 0; i < count; i++) room += forms_room(secrets[i].bytes.length);
    mpl_needle *list = mpl_allocate(alloc, size);
    char *forms = list ? mpl_allocate(alloc, room) : NULL;
    bool fine = forms != NULL;
    for (size_t i = 0; i < count && fine; i++) {
        moonplan_text name = secrets[i].name;
        char *shown = mpl_arena_take(texts, name.length + 10);
        fine = shown != NULL;
        if (!fine) break;
        memcpy(shown, "[secret:", 8);
        memcpy(shown + 8, name.bytes, name.length);
        shown[8 + name.length] = ']';
        list[filled++] = (mpl_needle){secrets[i].bytes, {shown, name.length + 9}};
        add_forms(list, &filled, forms + used);
        used += forms_room(secrets[i].bytes.length);
    }
    fine = fine && mpl_needles_open(out, alloc, list, filled);
    if (forms) sodium_memzero(forms, room);
    mpl_release(alloc, forms, room);
    mpl_release(alloc, list, size);
    return fine;
}

bool mpl_has_secrets(const mpl_plugin_call *call) {
    if (!call->doubles) return !mpl_needles_none(&call->plugin->owner->grants.hidden);
    return moonplan_value_count(mpl_given(call->doubles, "secret")) > 0;
}

/* What is looked for; NULL for want of memory. Of an example, made when it is first asked for. */
static const mpl_needles *needles_of(const mpl_plugin_call *call) {
    mpl_doubles *doubles = call->doubles;
    if (!doubles) return &call->plugin->owner->grants.hidden;
    moonplan_value given = mpl_given(doubles, "secret");
    size_t count = moonplan_value_count(given), filled = 0;
    if (count == 0 || !mpl_needles_none(&doubles->hidden)) return &doubles->hidden;
    mpl_secret *list = mpl_allocate(doubles->alloc, count * sizeof *list);
    if (!list) return NULL;
    moonplan_walk walk = moonplan_value_walk(given);
    while (moonplan_walk_next(&walk))
        list[filled++] = (mpl_secret){walk.name, moonplan_value_string(walk.value)};
    mpl_arena_open(&doubles->texts, doubles->alloc);
    bool fine =
        mpl_secrets_needles(&doubles->hidden, doubles->alloc, &doubles->texts, list, filled);
    mpl_release(doubles->alloc, list, count * sizeof *list);
    if (fine) return &doubles->hidden;
    mpl_needles_close(&doubles->hidden);
    mpl_arena_close(&doubles->texts);
    return NULL;
}

bool mpl_redact_bytes(const mpl_plugin_call *call, mpl_buffer *out) {
    const mpl_needles *needles = needles_of(call);
    if (needles) return mpl_needles_hide(needles, out);
    mpl_buffer_close(out);
    return false;
}

/* -- Documents -------------------------------------------------------------------*/

typedef struct cleaning {
    const mpl_needles *needles;
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

/* Nested no deeper than the limit depth lets a document be. */
bool mpl_hidden_in(const mpl_needles *needles, moonplan_value value) {
    if (mpl_needles_in(needles, text_of(value))) return true;
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk))
        if ((walk.name.bytes && mpl_needles_in(needles, walk.name)) ||
            mpl_hidden_in(needles, walk.value))
            return true;
    return false;
}

static void put_clean(cleaning *c, moonplan_text text, bool name) {
    mpl_buffer bytes;
    mpl_buffer_open(&bytes, c->alloc);
    mpl_buffer_add(&bytes, text.bytes, text.length);
    c->failed = c->failed || bytes.failed || !mpl_needles_hide(c->needles, &bytes);
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
            if (type == MOONPLAN_OBJECT && mpl_needles_in(c->needles, walk.name))
                put_clean(c, walk.name, true);
            else if (type == MOONPLAN_OBJECT)
                mpl_build_name(&c->builder, walk.name);
            copy_clean(c, walk.value);
        }
        mpl_build_end(&c->builder);
    } else if (mpl_needles_in(c->needles, text_of(value))) {
        put_clean(c, text_of(value), false);
    } else {
        mpl_build_value(&c->builder, value);
    }
}

moonplan_document *mpl_hide_in_document(const mpl_needles *needles, moonplan_document *document,
                                        const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    cleaning c = {.needles = needles, .alloc = &alloc};
    mpl_build_open(&c.builder, options);
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
        mpl_error_set(err, why.code, MOONPLAN_NO_OFFSET, NULL, "%s", why.message);
    return NULL;
}

moonplan_document *mpl_redact_document(const mpl_plugin_call *call, moonplan_document *document,
                                       moonplan_error *err) {
    if (!document) return mpl_error_memory(err), NULL;
    if (!mpl_has_secrets(call)) return document;
    const mpl_needles *needles = needles_of(call);
    moonplan_error why = {.code = MOONPLAN_MEMORY};
    if (!needles)
        moonplan_document_free(document);
    else if (mpl_hidden_in(needles, moonplan_document_root(document)))
        document = mpl_hide_in_document(needles, document, call->call.options, &why);
    if (needles && document) return document;
    if (why.code == MOONPLAN_MEMORY)
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
