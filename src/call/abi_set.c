#include <string.h>

#include "../core/error.h"
#include "../core/sort.h"
#include "../core/text.h"
#include "../core/value.h"
#include "abi_set.h"

static void add_text(mpl_buffer *out, const char *text) {
    mpl_buffer_add(out, text, strlen(text));
}

#define REFUSE(err, value, ...) mpl_error_at(err, MOONPLAN_ABI_TYPE, value, __VA_ARGS__)

/* A list of parameters as a signature has it. A document's depth bounds the recursion; this bounds
 * it where a host has raised that. */
static bool write_parameters(mpl_buffer *out, moonplan_value list, bool tables, unsigned depth,
                             moonplan_error *err) {
    moonplan_type given = moonplan_value_type(list);
    bool empty = tables && given == MOONPLAN_OBJECT && moonplan_value_count(list) == 0;
    if (given != MOONPLAN_ARRAY && !empty) {
        REFUSE(err, list, "a list of parameters must be an array, not %s", mpl_type_text(given));
        return false;
    }
    if (depth > MPL_ABI_DEPTH) {
        REFUSE(err, list, "types are nested more than %u deep", (uint64_t)MPL_ABI_DEPTH);
        return false;
    }
    bool first = true;
    mpl_buffer_byte(out, '(');
    moonplan_walk walk = moonplan_value_walk(list);
    while (moonplan_walk_next(&walk)) {
        moonplan_text type = moonplan_value_string(mpl_member(walk.value, "type"));
        moonplan_text name = moonplan_value_string(mpl_member(walk.value, "name"));
        moonplan_value components = mpl_member(walk.value, "components");
        bool tuple;
        const char *wrong = type.bytes ? mpl_abi_type_fault(type, &tuple) : NULL;
        if (!type.bytes) {
            REFUSE(err, walk.value, "a parameter must be an object with a string as its type");
            return false;
        }
        if (wrong) {
            REFUSE(err, walk.value, "%q is no ABI type: %s", &type, wrong);
            return false;
        }
        if (!first) mpl_buffer_byte(out, ',');
        first = false;
        if (tuple) {
            if (moonplan_value_type(components) == MOONPLAN_NONE) {
                REFUSE(err, walk.value, "the tuple has no components");
                return false;
            }
            if (!write_parameters(out, components, tables, depth + 1, err)) return false;
            mpl_buffer_add(out, type.bytes + 5, type.length - 5);
        } else {
            mpl_buffer_add(out, type.bytes, type.length);
        }
        /* Places of Solidity's own are words of a signature, so they are no names here. */
        if (mpl_abi_identifier(name) && !mpl_text_is(name, "calldata") &&
            !mpl_text_is(name, "memory") && !mpl_text_is(name, "storage") &&
            !mpl_text_is(name, "payable") && !mpl_text_is(name, "indexed")) {
            mpl_buffer_byte(out, ' ');
            mpl_buffer_add(out, name.bytes, name.length);
        }
    }
    mpl_buffer_byte(out, ')');
    return true;
}

static bool read_entry(moonplan_abi *abi, moonplan_value entry, moonplan_error *err) {
    if (moonplan_value_type(entry) != MOONPLAN_OBJECT) {
        REFUSE(err, entry, "an ABI entry must be an object, not %s",
               mpl_type_text(moonplan_value_type(entry)));
        return false;
    }
    moonplan_value kind = mpl_member(entry, "type"), inputs = mpl_member(entry, "inputs"),
                   outputs = mpl_member(entry, "outputs");
    moonplan_text type = moonplan_value_string(kind);
    moonplan_text name = moonplan_value_string(mpl_member(entry, "name"));
    /* Compilers left it out once: a function then. */
    bool function = moonplan_value_type(kind) == MOONPLAN_NONE || mpl_text_is(type, "function");
    bool error = mpl_text_is(type, "error");
    if (!function && !error) return true;
    if (!mpl_abi_identifier(name)) {
        if (name.bytes)
            REFUSE(err, entry, "%q is no name: letters, digits, _ and $, and no digit first",
                   &name);
        else
            REFUSE(err, entry, "an ABI entry must have a string as its name");
        return false;
    }
    mpl_buffer text;
    mpl_buffer_open(&text, &abi->alloc);
    add_text(&text, error ? "error " : "function ");
    mpl_buffer_add(&text, name.bytes, name.length);
    bool fine = true;
    if (moonplan_value_type(inputs) == MOONPLAN_NONE)
        add_text(&text, "()");
    else
        fine = write_parameters(&text, inputs, abi->tables, 0, err);
    if (fine && function && moonplan_value_type(outputs) != MOONPLAN_NONE) {
        add_text(&text, " returns ");
        fine = write_parameters(&text, outputs, abi->tables, 0, err);
    }
    if (fine && text.failed) {
        mpl_error_memory(err);
        fine = false;
    }
    if (fine) {
        mpl_pointer pointer;
        mpl_pointer_of(&pointer, entry.document, entry.node);
        fine = mpl_abi_read(abi, (moonplan_text){text.bytes, text.length}, &pointer,
                            MOONPLAN_NO_OFFSET, err);
        if (!fine && err) err->offset = moonplan_value_offset(entry);
    }
    mpl_buffer_close(&text);
    return fine;
}

/* Signatures may stand among the entries of a list. */
static bool read_signature(moonplan_abi *abi, moonplan_value entry, moonplan_error *err) {
    mpl_pointer pointer;
    mpl_pointer_of(&pointer, entry.document, entry.node);
    bool fine = mpl_abi_read(abi, moonplan_value_string(entry), &pointer, MOONPLAN_NO_OFFSET, err);
    if (!fine && err) err->offset = moonplan_value_offset(entry);
    return fine;
}

static bool read_fragment(moonplan_abi *abi, moonplan_value fragment, moonplan_error *err) {
    moonplan_value inner = mpl_member(fragment, "abi");
    if (moonplan_value_type(inner) == MOONPLAN_ARRAY) fragment = inner;
    if (moonplan_value_type(fragment) != MOONPLAN_ARRAY) return read_entry(abi, fragment, err);
    moonplan_walk walk = moonplan_value_walk(fragment);
    while (moonplan_walk_next(&walk)) {
        bool text = moonplan_value_type(walk.value) == MOONPLAN_STRING;
        if (!(text ? read_signature : read_entry)(abi, walk.value, err)) return false;
    }
    return true;
}

static bool read_lines(moonplan_abi *abi, const char *text, size_t length, moonplan_error *err) {
    mpl_pointer pointer = {0};
    for (size_t at = 0; at < length;) {
        size_t start = at;
        while (at < length && text[at] != '\n' && text[at] != '\r') at++;
        moonplan_text line = {text + start, at - start};
        while (line.length && (*line.bytes == ' ' || *line.bytes == '\t')) {
            line.bytes++;
            line.length--;
        }
        if (at < length) at++;
        if (line.length && !mpl_abi_read(abi, line, &pointer, (size_t)(line.bytes - text), err))
            return false;
    }
    return true;
}

static bool before(const void *one, const void *other, const void *context) {
    const moonplan_abi *abi = context;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    const moonplan_abi_entry *x = &abi->entries[a], *y = &abi->entries[b];
    if (x->kind != y->kind) return x->kind < y->kind;
    int by_selector = memcmp(x->selector, y->selector, 4);
    return by_selector ? by_selector < 0 : a < b;
}

/* Sort by selector, and refuse two that share one. */
static bool index_entries(moonplan_abi *abi, moonplan_error *err) {
    if (abi->count == 0) return true;
    abi->order_size = abi->count * sizeof *abi->order;
    abi->order = mpl_allocate(&abi->alloc, abi->order_size);
    if (!abi->order) {
        mpl_error_memory(err);
        return false;
    }
    for (size_t i = 0; i < abi->count; i++) abi->order[i] = (uint32_t)i;
    mpl_sort(abi->order, abi->count, sizeof *abi->order, before, abi);
    for (size_t i = 1; i < abi->count; i++) {
        const moonplan_abi_entry *a = &abi->entries[abi->order[i - 1]],
                                 *b = &abi->entries[abi->order[i]];
        if (a->kind != b->kind || a->kind == MOONPLAN_ABI_VALUES ||
            memcmp(a->selector, b->selector, 4) != 0 || mpl_text_equal(a->signature, b->signature))
            continue;
        mpl_error_set(err, MOONPLAN_ABI_SELECTOR, MOONPLAN_NO_OFFSET, NULL,
                      "%q and %q have the same selector; no contract can have both", &a->signature,
                      &b->signature);
        return false;
    }
    return true;
}

static moonplan_abi *new_abi(const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    moonplan_abi *abi = mpl_allocate(&alloc, sizeof *abi);
    if (!abi) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(abi, 0, sizeof *abi);
    abi->alloc = alloc;
    mpl_arena_open(&abi->arena, &abi->alloc);
    return abi;
}

static moonplan_abi *finish(moonplan_abi *abi, bool fine, moonplan_error *err) {
    if (fine && index_entries(abi, err)) return abi;
    moonplan_abi_free(abi);
    return NULL;
}

moonplan_abi *moonplan_abi_parse(const char *text, size_t length, const moonplan_options *options,
                                 moonplan_error *err) {
    size_t at = 0;
    while (at < length &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n'))
        at++;
    if (at < length && (text[at] == '[' || text[at] == '{')) {
        moonplan_options own = mpl_options_of(options);
        own.borrow = true; /* the document does not outlive this function */
        own.errors = NULL;
        moonplan_document *document = moonplan_document_parse(text, length, &own, err);
        if (!document) return NULL;
        moonplan_abi *abi =
            moonplan_abi_parse_value(moonplan_document_root(document), options, err);
        moonplan_document_free(document);
        return abi;
    }
    uint64_t most = mpl_options_of(options).limits.document_bytes;
    if (length > most) {
        mpl_error_set(err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "the text is %u bytes long, more than the limit document_bytes allows: %u",
                      (uint64_t)length, most);
        return NULL;
    }
    return mpl_abi_own(text, length, options, err);
}

moonplan_abi *mpl_abi_own(const char *lines, size_t length, const moonplan_options *options,
                          moonplan_error *err) {
    moonplan_abi *abi = new_abi(options, err);
    return abi ? finish(abi, read_lines(abi, lines, length, err), err) : NULL;
}

moonplan_abi *moonplan_abi_parse_value(moonplan_value fragment, const moonplan_options *options,
                                       moonplan_error *err) {
    moonplan_abi *abi = new_abi(options, err);
    return abi ? finish(abi, read_fragment(abi, fragment, err), err) : NULL;
}

moonplan_abi *mpl_abi_parse_tables(moonplan_value fragment, const moonplan_options *options,
                                   moonplan_error *err) {
    moonplan_abi *abi = new_abi(options, err);
    if (abi) abi->tables = true;
    return abi ? finish(abi, read_fragment(abi, fragment, err), err) : NULL;
}

void moonplan_abi_free(moonplan_abi *abi) {
    if (!abi) return;
    mpl_alloc alloc = abi->alloc;
    mpl_arena_close(&abi->arena);
    mpl_release(&alloc, abi->entries, abi->capacity * sizeof *abi->entries);
    mpl_release(&alloc, abi->order, abi->order_size);
    mpl_release(&alloc, abi, sizeof *abi);
}

size_t moonplan_abi_count(const moonplan_abi *abi) {
    return abi->count;
}

const moonplan_abi_entry *moonplan_abi_at(const moonplan_abi *abi, size_t n) {
    return n < abi->count ? &abi->entries[n] : NULL;
}

const moonplan_abi_entry *moonplan_abi_by_selector(const moonplan_abi *abi, moonplan_abi_kind kind,
                                                   const uint8_t selector[4]) {
    size_t low = 0, high = abi->count;
    if (kind == MOONPLAN_ABI_VALUES) return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const moonplan_abi_entry *entry = &abi->entries[abi->order[middle]];
        bool before =
            entry->kind < kind || (entry->kind == kind && memcmp(entry->selector, selector, 4) < 0);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    const moonplan_abi_entry *found = low < abi->count ? &abi->entries[abi->order[low]] : NULL;
    return found && found->kind == kind && memcmp(found->selector, selector, 4) == 0 ? found : NULL;
}

const moonplan_abi_entry *moonplan_abi_by_name(const moonplan_abi *abi, const char *name,
                                               size_t length) {
    moonplan_text wanted = {name, length};
    const moonplan_abi_entry *named = NULL;
    bool several = false;
    for (size_t i = 0; i < abi->count; i++) {
        const moonplan_abi_entry *entry = &abi->entries[i];
        if (mpl_text_equal(entry->signature, wanted)) return entry;
        if (!mpl_text_equal(entry->name, wanted)) continue;
        several = several || (named && !mpl_text_equal(named->signature, entry->signature));
        named = entry;
    }
    return several ? NULL : named;
}
