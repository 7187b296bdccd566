/* What stands in for the powers while an example runs: what it gives, and what was written over
 * that. */
#include <string.h>

#include "../core/text.h"
#include "serve.h"

moonplan_value mpl_given(const mpl_doubles *doubles, const char *power) {
    return moonplan_value_member(doubles->given, power, strlen(power));
}

static char *copy_bytes(mpl_alloc *alloc, moonplan_text text) {
    char *copy = mpl_allocate(alloc, text.length + 1);
    if (copy && text.length) memcpy(copy, text.bytes, text.length);
    return copy;
}

static void release_text(mpl_alloc *alloc, moonplan_text text) {
    if (text.bytes) mpl_release(alloc, (void *)(uintptr_t)text.bytes, text.length + 1);
}

static void close_list(mpl_alloc *alloc, mpl_written *list) {
    while (list) {
        mpl_written *next = list->next;
        release_text(alloc, list->path);
        release_text(alloc, list->content);
        mpl_release(alloc, list, sizeof *list);
        list = next;
    }
}

bool mpl_doubles_write(mpl_doubles *doubles, mpl_written **list, moonplan_text name,
                       moonplan_text content) {
    mpl_alloc *alloc = doubles->alloc;
    mpl_written *made = mpl_allocate(alloc, sizeof *made);
    if (!made) return false;
    *made = (mpl_written){.next = *list, .path = name, .content = content};
    made->path.bytes = copy_bytes(alloc, name);
    if (content.bytes) made->content.bytes = copy_bytes(alloc, content);
    if (made->path.bytes && (made->content.bytes || !content.bytes)) {
        *list = made;
        return true;
    }
    release_text(alloc, made->path);
    release_text(alloc, made->content);
    mpl_release(alloc, made, sizeof *made);
    return false;
}

const mpl_written *mpl_doubles_find(const mpl_written *list, moonplan_text name) {
    for (; list; list = list->next)
        if (mpl_text_equal(list->path, name)) return list;
    return NULL;
}

void mpl_doubles_close(mpl_doubles *doubles) {
    close_list(doubles->alloc, doubles->files);
    close_list(doubles->alloc, doubles->kept);
    doubles->files = doubles->kept = NULL;
    if (!mpl_needles_none(&doubles->hidden)) {
        mpl_needles_close(&doubles->hidden);
        mpl_arena_close(&doubles->texts);
    }
    mpl_release(doubles->alloc, doubles->used, doubles->used_capacity * sizeof *doubles->used);
    doubles->used = NULL;
    doubles->used_count = doubles->used_capacity = 0;
}

bool mpl_doubles_used(mpl_doubles *doubles, moonplan_value entry) {
    for (size_t i = 0; i < doubles->used_count; i++)
        if (doubles->used[i] == entry.node) return true;
    return false;
}

bool mpl_doubles_use(mpl_doubles *doubles, moonplan_value entry) {
    if (mpl_doubles_used(doubles, entry)) return true;
    void *block = doubles->used;
    if (!mpl_grow(doubles->alloc, &block, &doubles->used_capacity, doubles->used_count + 1,
                  sizeof *doubles->used))
        return false;
    doubles->used = block;
    doubles->used[doubles->used_count++] = entry.node;
    return true;
}
