/* kv: what a plugin keeps in the engine's store, in a space of its own: JSON texts by key. */
#include <string.h>

#include "../core/json_write.h"
#include "../core/text.h"
#include "serve.h"

#define KEY_MOST 256

static mpl_served refuse_key(mpl_serving *s, moonplan_text key) {
    return MPL_REFUSE(s, MOONPLAN_KV_KEY,
                      "%q is no key: 1 to 256 bytes of UTF-8 without control characters", &key);
}

static bool is_key(moonplan_text key) {
    if (key.length == 0 || key.length > KEY_MOST) return false;
    for (size_t at = 0; at < key.length;) {
        uint32_t point;
        size_t length = mpl_utf8(key.bytes + at, key.bytes + key.length, &point);
        if (length == 0 || point < 0x20 || (point >= 0x7f && point <= 0x9f)) return false;
        at += length;
    }
    return true;
}

/* -- The store and its double ------------------------------------------------------*/

static moonplan_text space_of(const mpl_serving *s) {
    return (moonplan_text){s->call->plugin->name, strlen(s->call->plugin->name)};
}

/* NULL once the engine is closed. */
static const mpl_store *store_of(const mpl_serving *s) {
    const moonplan_engine *engine = s->call->plugin->owner->engine;
    const mpl_store *store = engine ? mpl_engine_store(engine) : NULL;
    return store && store->kv_get ? store : NULL;
}

static mpl_served refuse_store(mpl_serving *s) {
    return MPL_REFUSE(s, MOONPLAN_STORE_FAILED, "the engine's store keeps no values");
}

/* The JSON text under a key. */
static bool read(mpl_serving *s, moonplan_text key, mpl_buffer *out, bool *found) {
    const mpl_doubles *doubles = s->call->doubles;
    if (!doubles)
        return store_of(s)->kv_get(store_of(s)->data, space_of(s), key, out, found, s->err);
    const mpl_written *written = mpl_doubles_find(doubles->kept, key);
    moonplan_value value = moonplan_value_member(mpl_given(doubles, "kv"), key.bytes, key.length);
    moonplan_text text = written ? written->content : moonplan_value_source(value);
    *found = text.bytes != NULL;
    if (*found) mpl_buffer_add(out, text.bytes, text.length);
    return true;
}

static bool write(mpl_serving *s, moonplan_text key, const moonplan_text *text) {
    static const moonplan_text none = {NULL, 0};
    mpl_doubles *doubles = s->call->doubles;
    if (!doubles) return store_of(s)->kv_set(store_of(s)->data, space_of(s), key, text, s->err);
    if (mpl_doubles_write(doubles, &doubles->kept, key, text ? *text : none)) return true;
    mpl_error_memory(s->err);
    return false;
}

typedef bool (*each_key)(void *data, moonplan_text key, size_t size);

/* The least key behind `last` ({NULL, 0}: the first) of an example, and the size of its value. */
static bool next_double(const mpl_doubles *doubles, moonplan_text last, moonplan_text *key,
                        size_t *size) {
    bool found = false;
    moonplan_walk walk = moonplan_value_walk(mpl_given(doubles, "kv"));
    const mpl_written *at = doubles->kept;
    for (;;) {
        moonplan_text one, text;
        if (moonplan_walk_next(&walk)) {
            const mpl_written *over = mpl_doubles_find(doubles->kept, walk.name);
            one = walk.name;
            text = over ? over->content : moonplan_value_source(walk.value);
        } else if (at) {
            one = at->path;
            text = mpl_doubles_find(doubles->kept, one)->content;
            at = at->next;
        } else {
            return found;
        }
        if (!text.bytes || (last.bytes && mpl_text_order(one, last) <= 0)) continue;
        if (found && mpl_text_order(one, *key) >= 0) continue;
        *key = one;
        *size = text.length;
        found = true;
    }
}

static bool list(mpl_serving *s, each_key each, void *data) {
    const mpl_doubles *doubles = s->call->doubles;
    moonplan_text key, last = {NULL, 0};
    size_t size;
    if (!doubles) return store_of(s)->kv_list(store_of(s)->data, space_of(s), each, data, s->err);
    while (next_double(doubles, last, &key, &size) && each(data, key, size)) last = key;
    return true;
}

/* -- Operations ----------------------------------------------------------------------*/

static mpl_served get(mpl_serving *s, moonplan_text key) {
    bool found = false;
    mpl_buffer *text = &s->out->bytes;
    if (!read(s, key, text, &found)) return MPL_REFUSED;
    if (text->failed) return mpl_refuse_memory(s);
    if (!found) {
        mpl_slots_nil(&s->out->slots);
        return MPL_SERVED;
    }
    moonplan_options options = *s->call->call.options;
    options.errors = NULL;
    options.borrow = true;
    s->out->document = moonplan_document_parse(text->bytes, text->length, &options, s->err);
    if (!s->out->document) return MPL_REFUSED;
    mpl_slots_value(&s->out->slots, moonplan_document_root(s->out->document));
    return MPL_SERVED;
}

/* All that is kept beside one key. */
typedef struct total {
    moonplan_text but;
    uint64_t keys, bytes;
} total;

static bool add_to_total(void *data, moonplan_text key, size_t size) {
    total *sum = data;
    if (mpl_text_equal(key, sum->but)) return true;
    sum->keys++;
    sum->bytes += key.length + size;
    return true;
}

static mpl_served set(mpl_serving *s, moonplan_text key, const mpl_slot *value) {
    const moonplan_limits *limits = mpl_serving_limits(s);
    mpl_buffer *text = &s->out->bytes;
    mpl_buffer scratch;
    const mpl_style style = {false, 0, UINT64_MAX};
    if (value->type == MPL_SLOT_NIL) return write(s, key, NULL) ? mpl_give_true(s) : MPL_REFUSED;
    mpl_buffer_open(&scratch, text->alloc);
    mpl_write_sorted(text, &scratch, value->value, &style);
    bool fine = !text->failed && !scratch.failed;
    mpl_buffer_close(&scratch);
    if (!fine) return mpl_refuse_memory(s);
    total sum = {.but = key};
    if (!list(s, add_to_total, &sum)) return MPL_REFUSED;
    if (sum.keys >= limits->kv_keys)
        return MPL_REFUSE(s, MOONPLAN_LIMIT,
                          "the key would be one more than the limit kv_keys allows: %u",
                          limits->kv_keys);
    if (sum.bytes + key.length + text->length > limits->kv_kib * 1024)
        return MPL_REFUSE(s, MOONPLAN_LIMIT,
                          "keys and values would take more than the limit kv_kib allows: %u",
                          limits->kv_kib);
    moonplan_text content = {text->bytes, text->length};
    return write(s, key, &content) ? mpl_give_true(s) : MPL_REFUSED;
}

static bool add_key(void *data, moonplan_text key, size_t size) {
    mpl_buffer *out = data;
    (void)size;
    mpl_buffer_add(out, key.bytes, key.length);
    mpl_buffer_byte(out, 0);
    return true;
}

mpl_served mpl_serve_kv(mpl_serving *s) {
    if (!s->call->doubles && !store_of(s)) return refuse_store(s);
    if (s->operation == MPL_KV_LIST)
        return list(s, add_key, &s->out->bytes) ? mpl_give_bytes(s) : MPL_REFUSED;
    moonplan_text key = mpl_in_bytes(s, 0);
    if (!is_key(key)) return refuse_key(s, key);
    return s->operation == MPL_KV_GET ? get(s, key) : set(s, key, &s->in->at[1]);
}

bool mpl_doubles_kept(const mpl_doubles *doubles, moonplan_text key, moonplan_text *text) {
    const mpl_written *written = mpl_doubles_find(doubles->kept, key);
    moonplan_value value = moonplan_value_member(mpl_given(doubles, "kv"), key.bytes, key.length);
    *text = written ? written->content : moonplan_value_source(value);
    return text->bytes != NULL;
}
