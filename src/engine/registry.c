#include "registry.h"

#include <sodium.h>
#include <string.h>

#include "../core/text.h"

/* -- Entries -----------------------------------------------------------------*/

void mpl_entry_release(mpl_entry *entry) {
    if (!entry || --entry->holds) return;
    mpl_alloc *alloc = entry->alloc;
    if (entry->release) entry->release(entry->data);
    mpl_schema_free(entry->input);
    mpl_schema_free(entry->output);
    mpl_arena_close(&entry->texts);
    mpl_release(alloc, entry, sizeof *entry);
}

static bool copy_text(mpl_arena *arena, moonplan_text *out, moonplan_text text) {
    *out = text;
    if (!text.bytes) return true;
    out->bytes = mpl_arena_copy(arena, text.bytes, text.length);
    return out->bytes != NULL;
}

static bool copy_list(mpl_arena *arena, const moonplan_text **out, const moonplan_text *list,
                      size_t count) {
    *out = NULL;
    if (count == 0) return true;
    moonplan_text *copy = mpl_arena_take(arena, count * sizeof *copy);
    if (!copy) return false;
    for (size_t i = 0; i < count; i++)
        if (!copy_text(arena, &copy[i], list[i])) return false;
    *out = copy;
    return true;
}

static bool is_utf8(moonplan_text text) {
    const char *at = text.bytes, *end = text.bytes + text.length;
    while (at < end) {
        size_t step = mpl_utf8(at, end, NULL);
        if (step == 0) return false;
        at += step;
    }
    return true;
}

/* Whatever stands in a descriptor ends up in JSON. */
static bool texts_sound(const moonplan_capability *given, mpl_pointer place, bool strict,
                        moonplan_error *err) {
    const struct {
        const char *name;
        moonplan_text text;
    } texts[] = {{"name", given->name},
                 {"version", given->version},
                 {"summary", given->summary},
                 {"risk", given->risk}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        moonplan_text text = texts[i].text, name = {texts[i].name, strlen(texts[i].name)};
        bool required = i == 0 || (strict && i != 2);
        mpl_pointer pointer = place;
        mpl_pointer_name(&pointer, name);
        if (required && text.length == 0) {
            mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &pointer,
                          "a capability has to have a %s", texts[i].name);
            return false;
        }
        if (text.bytes && !is_utf8(text)) {
            mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &pointer,
                          "the %s %q is not UTF-8", texts[i].name, &text);
            return false;
        }
        if (strict && i == 3 && !mpl_text_is(text, "read") && !mpl_text_is(text, "write") &&
            !mpl_text_is(text, "destructive")) {
            mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &pointer,
                          "%q is no risk; there are: read, write, destructive", &text);
            return false;
        }
    }
    return true;
}

static bool digest_sound(moonplan_text digest, mpl_pointer place, moonplan_error *err) {
    size_t digits = 0;
    if (!digest.bytes) return true;
    while (digits < digest.length && memchr("0123456789abcdef", digest.bytes[digits], 16)) digits++;
    if (digits == 64 && digest.length == 64) return true;
    mpl_pointer_name(&place, MOONPLAN_TEXT("digest"));
    mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &place,
                  "%q is no digest: 64 lower-case hexadecimal digits", &digest);
    return false;
}

static bool read_schema(mpl_schema **out, const mpl_registry *registry, moonplan_text json,
                        const char *name, const mpl_pointer *place, bool strict,
                        moonplan_error *err) {
    if (!json.bytes) return true;
    mpl_pointer pointer = *place;
    mpl_pointer_name(&pointer, (moonplan_text){name, strlen(name)});
    *out = mpl_schema_new(json, strict, &pointer, registry->options, err);
    return *out != NULL;
}

static mpl_entry *entry_new(const mpl_registry *registry, const moonplan_capability *given,
                            size_t place, bool strict, moonplan_error *err) {
    mpl_pointer pointer = {0};
    mpl_pointer_index(&pointer, place);
    if (!texts_sound(given, pointer, strict, err) || !digest_sound(given->digest, pointer, err))
        return NULL;
    mpl_entry *entry = mpl_allocate(registry->alloc, sizeof *entry);
    if (!entry) {
        mpl_error_memory(err);
        return NULL;
    }
    *entry = (mpl_entry){.alloc = registry->alloc, .holds = 1};
    mpl_arena_open(&entry->texts, registry->alloc);
    if (!copy_text(&entry->texts, &entry->view.name, given->name) ||
        !copy_text(&entry->texts, &entry->view.version, given->version) ||
        !copy_text(&entry->texts, &entry->view.risk, given->risk) ||
        !copy_text(&entry->texts, &entry->view.digest, given->digest) ||
        !copy_text(&entry->texts, &entry->summary, given->summary) ||
        !copy_list(&entry->texts, &entry->needs, given->needs, given->needs_count) ||
        !copy_list(&entry->texts, &entry->view.missing, given->missing, given->missing_count))
        mpl_error_memory(err);
    else if (read_schema(&entry->input, registry, given->input, "input", &pointer, strict, err) &&
             read_schema(&entry->output, registry, given->output, "output", &pointer, strict,
                         err)) {
        entry->needs_count = given->needs_count;
        entry->view.missing_count = given->missing_count;
        entry->view.lua_values = given->lua_values;
        entry->view.input = entry->input;
        entry->view.output = entry->output;
        entry->run = given->run;
        entry->check = given->check;
        entry->data = given->data;
        /* `release` is set once the whole list is in: after a failure nothing has been released. */
        return entry;
    }
    mpl_entry_release(entry);
    return NULL;
}

static void write_list(mpl_builder *out, const char *name, const moonplan_text *list,
                       size_t count) {
    mpl_build_name(out, (moonplan_text){name, strlen(name)});
    mpl_build_array(out);
    for (size_t i = 0; i < count; i++) mpl_build_string(out, list[i]);
    mpl_build_end(out);
}

void mpl_entry_write(mpl_builder *out, const mpl_entry *entry) {
    mpl_build_object(out);
    mpl_build_text_if(out, "name", entry->view.name);
    mpl_build_text_if(out, "version", entry->view.version);
    mpl_build_text_if(out, "summary", entry->summary);
    mpl_build_text_if(out, "risk", entry->view.risk);
    write_list(out, "needs", entry->needs, entry->needs_count);
    write_list(out, "missing", entry->view.missing, entry->view.missing_count);
    mpl_build_name(out, MOONPLAN_TEXT("input"));
    if (entry->input) {
        mpl_build_value(out, mpl_schema_value(entry->input));
    } else {
        mpl_build_object(out);
        mpl_build_end(out);
    }
    if (entry->output) {
        mpl_build_name(out, MOONPLAN_TEXT("output"));
        mpl_build_value(out, mpl_schema_value(entry->output));
    }
    mpl_build_end(out);
}

/* -- The table ---------------------------------------------------------------*/

static uint32_t *slot(const mpl_registry *registry, moonplan_text name) {
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t number;
    size_t mask = registry->table_size - 1;
    crypto_shorthash(out, (const unsigned char *)name.bytes, name.length, registry->hash_key);
    memcpy(&number, out, sizeof number);
    size_t at = (size_t)number & mask;
    while (registry->table[at] &&
           !mpl_text_equal(name, registry->entries[registry->table[at] - 1]->view.name))
        at = (at + 1) & mask;
    return &registry->table[at];
}

static void rehash(mpl_registry *registry) {
    memset(registry->table, 0, registry->table_size * sizeof *registry->table);
    for (size_t i = 0; i < registry->count; i++)
        *slot(registry, registry->entries[i]->view.name) = (uint32_t)i + 1;
}

static bool reserve(mpl_registry *registry, size_t count) {
    if (count > UINT32_MAX / 4 || !mpl_grow(registry->alloc, (void **)&registry->entries,
                                            &registry->capacity, count, sizeof(mpl_entry *)))
        return false;
    size_t size = 32;
    while (size < 2 * registry->capacity) size *= 2;
    if (size <= registry->table_size) return true;
    uint32_t *table = mpl_resize(registry->alloc, registry->table,
                                 registry->table_size * sizeof *table, size * sizeof *table);
    if (!table) return false;
    registry->table = table;
    registry->table_size = size;
    rehash(registry);
    return true;
}

bool mpl_registry_open(mpl_registry *registry, mpl_alloc *alloc, const moonplan_options *options) {
    memset(registry, 0, sizeof *registry);
    registry->alloc = alloc;
    registry->options = options;
    if (sodium_init() < 0) return false;
    randombytes_buf(registry->hash_key, sizeof registry->hash_key);
    return reserve(registry, 1);
}

void mpl_registry_close(mpl_registry *registry) {
    /* A release function may look in: there is nothing any more. */
    mpl_registry closed = *registry;
    registry->entries = NULL;
    registry->table = NULL;
    registry->count = registry->capacity = registry->table_size = 0;
    while (closed.count) mpl_entry_release(closed.entries[--closed.count]);
    mpl_release(closed.alloc, closed.entries, closed.capacity * sizeof(mpl_entry *));
    mpl_release(closed.alloc, closed.table, closed.table_size * sizeof *closed.table);
}

mpl_entry *mpl_registry_find(const mpl_registry *registry, moonplan_text name) {
    if (registry->count == 0) return NULL;
    uint32_t found = *slot(registry, name);
    return found ? registry->entries[found - 1] : NULL;
}

bool mpl_registry_remove(mpl_registry *registry, moonplan_text name) {
    if (!mpl_registry_find(registry, name)) return false;
    size_t at = *slot(registry, name) - 1;
    mpl_entry *gone = registry->entries[at];
    registry->count--;
    memmove(registry->entries + at, registry->entries + at + 1,
            (registry->count - at) * sizeof(mpl_entry *));
    rehash(registry);
    mpl_entry_release(gone);
    return true;
}

static bool listed(const moonplan_text *names, size_t count, moonplan_text name) {
    for (size_t i = 0; i < count; i++)
        if (mpl_text_equal(names[i], name)) return true;
    return false;
}

/* -- Changing ----------------------------------------------------------------*/

static bool duplicate(const mpl_entry *entry, size_t place, moonplan_error *err) {
    mpl_pointer pointer = {0};
    mpl_pointer_index(&pointer, place);
    mpl_pointer_name(&pointer, MOONPLAN_TEXT("name"));
    mpl_error_set(err, MOONPLAN_PLUGIN_DUPLICATE, MOONPLAN_NO_OFFSET, &pointer,
                  "the name %q is taken; a name stands for one version at a time",
                  &entry->view.name);
    return false;
}

/* Put the new entries behind the others; the room is there. */
static bool append(mpl_registry *registry, mpl_entry **made, size_t count, moonplan_error *err) {
    size_t before = registry->count;
    for (size_t i = 0; i < count; i++) {
        uint32_t *place = slot(registry, made[i]->view.name);
        if (*place) {
            registry->count = before;
            rehash(registry);
            return duplicate(made[i], i, err);
        }
        registry->entries[registry->count++] = made[i];
        *place = (uint32_t)registry->count;
    }
    return true;
}

/* The same for a list that takes the place of `old`: a new state of the registry, which replaces
 * the old one when it is complete. `gone` has room for as many as there are. */
static bool exchange(mpl_registry *registry, const moonplan_text *old, size_t old_count,
                     mpl_entry **made, size_t count, mpl_entry **gone, size_t *gone_count,
                     moonplan_error *err) {
    mpl_registry next = *registry;
    next.entries = NULL;
    next.table = NULL;
    next.count = next.capacity = next.table_size = 0;
    if (!reserve(&next, registry->count + count + 1)) {
        mpl_release(next.alloc, next.entries, next.capacity * sizeof(mpl_entry *));
        mpl_error_memory(err);
        return false;
    }
    bool fine = true;
    for (size_t i = 0; i < registry->count; i++) {
        mpl_entry *entry = registry->entries[i];
        if (!listed(old, old_count, entry->view.name)) {
            next.entries[next.count++] = entry;
            continue;
        }
        gone[(*gone_count)++] = entry;
        for (size_t j = 0; j < count; j++) {
            if (!mpl_text_equal(made[j]->view.name, entry->view.name)) continue;
            next.entries[next.count++] = made[j];
            break;
        }
    }
    rehash(&next);
    for (size_t j = 0; j < count && fine; j++) {
        uint32_t *place = slot(&next, made[j]->view.name);
        if (*place && next.entries[*place - 1] == made[j]) continue;
        if (*place) {
            fine = duplicate(made[j], j, err);
        } else {
            next.entries[next.count++] = made[j];
            *place = (uint32_t)next.count;
        }
    }
    mpl_registry *loser = fine ? registry : &next;
    mpl_release(loser->alloc, loser->entries, loser->capacity * sizeof(mpl_entry *));
    mpl_release(loser->alloc, loser->table, loser->table_size * sizeof *loser->table);
    if (fine) *registry = next;
    return fine;
}

bool mpl_registry_change(mpl_registry *registry, const moonplan_text *old, size_t old_count,
                         const moonplan_capability *list, size_t count, bool strict,
                         moonplan_error *err) {
    if (!registry->table) {
        mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                      "the engine has been closed; nothing can be registered any more");
        return false;
    }
    /* Room for the new entries, and behind it for those that go. */
    size_t leaving = old_count ? registry->count : 0, made_count = 0, gone_count = 0;
    size_t room = (count + leaving + 1) * sizeof(mpl_entry *);
    mpl_entry **made = mpl_allocate(registry->alloc, room), **gone = made ? made + count : NULL;
    if (!made || !reserve(registry, registry->count + count + 1)) {
        mpl_release(registry->alloc, made, room);
        mpl_error_memory(err);
        return false;
    }
    for (; made_count < count; made_count++) {
        made[made_count] = entry_new(registry, &list[made_count], made_count, strict, err);
        if (!made[made_count]) break;
    }
    bool fine = made_count == count &&
                (old_count ? exchange(registry, old, old_count, made, count, gone, &gone_count, err)
                           : append(registry, made, count, err));
    for (size_t i = 0; i < made_count; i++) {
        if (fine)
            made[i]->release = list[i].release;
        else
            mpl_entry_release(made[i]);
    }
    for (size_t i = 0; fine && i < gone_count; i++) mpl_entry_release(gone[i]);
    mpl_release(registry->alloc, made, room);
    return fine;
}
