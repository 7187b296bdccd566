#include "kv_memory.h"

#include <string.h>

#include "../core/error.h"
#include "../core/text.h"

void mpl_kv_open(mpl_kv *kv, mpl_alloc *alloc) {
    *kv = (mpl_kv){.alloc = alloc};
}

static size_t size_of(const mpl_kv_pair *pair) {
    return pair->space + pair->key + pair->value + 1; /* never 0 */
}

void mpl_kv_close(mpl_kv *kv) {
    for (size_t i = 0; i < kv->count; i++)
        mpl_release(kv->alloc, kv->pairs[i].bytes, size_of(&kv->pairs[i]));
    mpl_release(kv->alloc, kv->pairs, kv->capacity * sizeof *kv->pairs);
    mpl_kv_open(kv, kv->alloc);
}

static moonplan_text space_of(const mpl_kv_pair *pair) {
    return (moonplan_text){pair->bytes, pair->space};
}

static moonplan_text key_of(const mpl_kv_pair *pair) {
    return (moonplan_text){pair->bytes + pair->space, pair->key};
}

/* Where the pair is, or would be. */
static size_t place_of(const mpl_kv *kv, moonplan_text space, moonplan_text key, bool *found) {
    size_t low = 0, high = kv->count;
    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = mpl_text_order(space_of(&kv->pairs[middle]), space);
        if (order == 0) order = mpl_text_order(key_of(&kv->pairs[middle]), key);
        *found = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return *found ? high : low;
}

bool mpl_kv_get(const mpl_kv *kv, moonplan_text space, moonplan_text key, mpl_buffer *out,
                bool *found, moonplan_error *err) {
    size_t place = place_of(kv, space, key, found);
    if (!*found) return true;
    const mpl_kv_pair *pair = &kv->pairs[place];
    mpl_buffer_add(out, pair->bytes + pair->space + pair->key, pair->value);
    if (out->failed) mpl_error_memory(err);
    return !out->failed;
}

static void take_out(mpl_kv *kv, size_t place) {
    mpl_release(kv->alloc, kv->pairs[place].bytes, size_of(&kv->pairs[place]));
    memmove(kv->pairs + place, kv->pairs + place + 1, (kv->count - place - 1) * sizeof *kv->pairs);
    kv->count--;
}

bool mpl_kv_set(mpl_kv *kv, moonplan_text space, moonplan_text key, const moonplan_text *value,
                moonplan_error *err) {
    bool found;
    size_t place = place_of(kv, space, key, &found);
    if (!value) {
        if (found) take_out(kv, place);
        return true;
    }
    mpl_kv_pair pair = {NULL, space.length, key.length, value->length};
    pair.bytes = mpl_allocate(kv->alloc, size_of(&pair));
    if (!pair.bytes || (!found && !mpl_grow(kv->alloc, (void **)&kv->pairs, &kv->capacity,
                                            kv->count + 1, sizeof *kv->pairs))) {
        mpl_release(kv->alloc, pair.bytes, size_of(&pair));
        mpl_error_memory(err);
        return false;
    }
    if (space.length) memcpy(pair.bytes, space.bytes, space.length);
    if (key.length) memcpy(pair.bytes + space.length, key.bytes, key.length);
    if (value->length) memcpy(pair.bytes + space.length + key.length, value->bytes, value->length);
    if (found) {
        mpl_release(kv->alloc, kv->pairs[place].bytes, size_of(&kv->pairs[place]));
    } else {
        memmove(kv->pairs + place + 1, kv->pairs + place, (kv->count - place) * sizeof *kv->pairs);
        kv->count++;
    }
    kv->pairs[place] = pair;
    return true;
}

void mpl_kv_list(const mpl_kv *kv, moonplan_text space,
                 bool (*each)(void *data, moonplan_text key, size_t size), void *data) {
    bool found;
    size_t place = place_of(kv, space, MOONPLAN_TEXT(""), &found);
    for (; place < kv->count && mpl_text_equal(space_of(&kv->pairs[place]), space); place++)
        if (!each(data, key_of(&kv->pairs[place]), kv->pairs[place].value)) return;
}
