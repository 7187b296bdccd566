#include <string.h>

#include "../core/text.h"
#include "abi_set.h"

/* Text of all signatures, with so many bytes more for each. Types take up to 50 times the text they
 * are written in, so that this is what bounds the memory of an ABI: some 100 MB at the worst, a
 * few hundred KB for the largest contracts there are. */
#define TEXT_MOST  (2u << 20)
#define ENTRY_TEXT 64

static bool letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           byte == '$';
}

static bool digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* Reading one signature. The canonical text grows in `canon`, which has room for all of it: the
 * canonical form of a signature is never longer than the signature. */
typedef struct reader {
    moonplan_abi *abi;
    mpl_buffer pending; /* moonplan_abi_type: parameters of lists that are still open */
    const char *start, *at, *end;
    char *canon;
    size_t canon_length;
    const mpl_pointer *pointer; /* where the signature comes from, for errors */
    size_t base;                /* the offset of `start`, or MOONPLAN_NO_OFFSET */
    moonplan_error *err;
} reader;

static bool fault(reader *r, const char *what) {
    moonplan_text rest = {r->at, (size_t)(r->end - r->at)};
    size_t offset = r->base == MOONPLAN_NO_OFFSET ? r->base : r->base + (size_t)(r->at - r->start);
    if (rest.length)
        mpl_error_set(r->err, MOONPLAN_ABI_TYPE, offset, r->pointer, "%s before %q", what, &rest);
    else
        mpl_error_set(r->err, MOONPLAN_ABI_TYPE, offset, r->pointer, "%s at the end", what);
    return false;
}

static bool no_memory(reader *r) {
    mpl_error_memory(r->err);
    return false;
}

static void skip(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'))
        r->at++;
}

static bool take(reader *r, char byte) {
    skip(r);
    if (r->at == r->end || *r->at != byte) return false;
    r->at++;
    return true;
}

static moonplan_text word(reader *r) {
    skip(r);
    moonplan_text found = {r->at, 0};
    while (r->at < r->end && (letter(*r->at) || digit(*r->at))) r->at++;
    found.length = (size_t)(r->at - found.bytes);
    return found;
}

static void emit(reader *r, const char *bytes, size_t length) {
    memcpy(r->canon + r->canon_length, bytes, length);
    r->canon_length += length;
}

static uint64_t product(uint64_t a, uint64_t b) {
    return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* What follows from a tuple's components. */
static void settle_tuple(moonplan_abi_type *tuple) {
    tuple->named = tuple->size > 0;
    tuple->head = 0;
    tuple->depth = 0;
    for (uint32_t i = 0; i < tuple->size; i++) {
        const moonplan_abi_type *item = &tuple->items[i];
        tuple->dynamic = tuple->dynamic || item->dynamic;
        if (item->depth > tuple->depth) tuple->depth = item->depth;
        tuple->head = item->head > UINT64_MAX - tuple->head ? UINT64_MAX : tuple->head + item->head;
        tuple->named = tuple->named && item->name.length > 0;
        for (uint32_t j = 0; j < i && tuple->named; j++)
            tuple->named = !mpl_text_equal(item->name, tuple->items[j].name);
    }
    tuple->depth++;
    if (tuple->dynamic) tuple->head = 32;
}

static bool read_list(reader *r, moonplan_abi_type *tuple, unsigned depth);

/* The brackets behind a type. */
static bool read_arrays(reader *r, moonplan_abi_type *type) {
    while (take(r, '[')) {
        skip(r);
        moonplan_text digits = {r->at, 0};
        while (r->at < r->end && digit(*r->at)) r->at++;
        digits.length = (size_t)(r->at - digits.bytes);
        uint32_t length;
        const char *wrong = mpl_abi_length_fault(digits, &length);
        if (wrong) return fault(r, wrong);
        if (!take(r, ']')) return fault(r, "an array's length is [] or digits in brackets");
        if (type->depth == MPL_ABI_DEPTH) return fault(r, "types are nested more than 64 deep");
        emit(r, "[", 1);
        emit(r, digits.bytes, digits.length);
        emit(r, "]", 1);
        moonplan_abi_type *element = mpl_arena_take(&r->abi->arena, sizeof *element);
        if (!element) return no_memory(r);
        *element = *type;
        type->base = length ? MOONPLAN_ABI_ARRAY_N : MOONPLAN_ABI_ARRAY;
        type->size = length;
        type->named = false;
        type->depth++;
        type->items = element;
        type->dynamic = element->dynamic || !length;
        type->head = type->dynamic ? 32 : product(length, element->head);
        type->text.length = (size_t)(r->canon + r->canon_length - type->text.bytes);
    }
    return true;
}

static bool read_type(reader *r, moonplan_abi_type *type, unsigned depth) {
    memset(type, 0, sizeof *type);
    type->text.bytes = r->canon + r->canon_length;
    const char *start = r->at;
    moonplan_text name = word(r);
    if (name.length && !mpl_text_is(name, "tuple")) {
        const char *wrong = mpl_abi_base_fault(name, &type->base, &type->size);
        if (wrong) {
            r->at = start;
            skip(r);
            return fault(r, wrong);
        }
        emit(r, name.bytes, name.length);
        type->dynamic = type->base == MOONPLAN_ABI_BYTES || type->base == MOONPLAN_ABI_STRING;
        type->head = 32;
    } else if (take(r, '(')) {
        if (!read_list(r, type, depth + 1)) return false;
    } else {
        return fault(r, name.length ? "a tuple's components belong in parentheses"
                                    : "a type is missing");
    }
    type->text.length = (size_t)(r->canon + r->canon_length - type->text.bytes);
    return read_arrays(r, type);
}

/* A type, then words that say where Solidity keeps it, then perhaps a name. */
static bool read_parameter(reader *r, moonplan_abi_type *type, unsigned depth) {
    if (!read_type(r, type, depth)) return false;
    for (;;) {
        moonplan_text name = word(r);
        if (name.length == 0) return true;
        if (type->name.length) return fault(r, "a comma or parenthesis is missing");
        if (mpl_text_is(name, "calldata") || mpl_text_is(name, "memory") ||
            mpl_text_is(name, "storage") || mpl_text_is(name, "payable") ||
            mpl_text_is(name, "indexed"))
            continue;
        if (!mpl_abi_identifier(name)) return fault(r, "a name begins with a digit");
        type->name.bytes = mpl_arena_copy(&r->abi->arena, name.bytes, name.length);
        if (!type->name.bytes) return no_memory(r);
        type->name.length = name.length;
    }
}

/* Behind an opening parenthesis, up to the closing one. */
static bool read_list(reader *r, moonplan_abi_type *tuple, unsigned depth) {
    if (depth > MPL_ABI_DEPTH) return fault(r, "types are nested more than 64 deep");
    size_t first = r->pending.length;
    uint32_t count = 0;
    emit(r, "(", 1);
    if (!take(r, ')')) {
        do {
            moonplan_abi_type item;
            if (count == MPL_ABI_COMPONENTS)
                return fault(r, "a list has more than 256 parameters or components");
            if (count++) emit(r, ",", 1);
            if (!read_parameter(r, &item, depth)) return false;
            mpl_buffer_add(&r->pending, &item, sizeof item);
            if (r->pending.failed) return no_memory(r);
        } while (take(r, ','));
        if (!take(r, ')')) return fault(r, "a comma or parenthesis is missing");
    }
    emit(r, ")", 1);
    tuple->base = MOONPLAN_ABI_TUPLE;
    tuple->size = count;
    if (count) {
        moonplan_abi_type *items = mpl_arena_take(&r->abi->arena, count * sizeof *items);
        if (!items) return no_memory(r);
        memcpy(items, r->pending.bytes + first, count * sizeof *items);
        tuple->items = items;
    }
    r->pending.length = first;
    settle_tuple(tuple);
    return tuple->depth <= MPL_ABI_DEPTH || fault(r, "types are nested more than 64 deep");
}

/* What Solidity has behind the parameters. */
static bool read_rest(reader *r, moonplan_abi_entry *entry) {
    static const char *const allowed[] = {"external", "public",     "view",    "pure",    "payable",
                                          "internal", "nonpayable", "virtual", "override"};
    for (;;) {
        moonplan_text name = word(r);
        if (name.length == 0) break;
        if (mpl_text_is(name, "returns") && entry->kind == MOONPLAN_ABI_CALL) {
            if (!take(r, '(')) return fault(r, "what a function returns belongs in parentheses");
            size_t length = r->canon_length;
            entry->outputs.text.bytes = r->canon + length;
            if (!read_list(r, &entry->outputs, 0)) return false;
            entry->outputs.text.length = r->canon_length - length;
            break;
        }
        bool known = false;
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
            known = known || mpl_text_is(name, allowed[i]);
        if (!known) {
            r->at = name.bytes;
            return fault(r, "a signature ends with its parameters, or what it returns,");
        }
    }
    skip(r);
    if (r->at < r->end && *r->at == ';') r->at++;
    skip(r);
    return r->at == r->end ||
           fault(r, "one signature ends, and another would begin on a new line,");
}

static moonplan_abi_entry *add_entry(moonplan_abi *abi) {
    if (!mpl_grow(&abi->alloc, (void **)&abi->entries, &abi->capacity, abi->count + 1,
                  sizeof *abi->entries))
        return NULL;
    moonplan_abi_entry *entry = &abi->entries[abi->count++];
    memset(entry, 0, sizeof *entry);
    return entry;
}

bool mpl_abi_read(moonplan_abi *abi, moonplan_text text, const mpl_pointer *pointer, size_t base,
                  moonplan_error *err) {
    reader r = {.abi = abi,
                .start = text.bytes,
                .at = text.bytes,
                .end = text.bytes + text.length,
                .pointer = pointer,
                .base = base,
                .err = err};
    abi->text_length += text.length + ENTRY_TEXT;
    if (abi->text_length > TEXT_MOST) {
        mpl_error_set(err, MOONPLAN_LIMIT, base, pointer,
                      "the signatures are longer together than the %u bytes that an ABI may have",
                      (uint64_t)TEXT_MOST);
        return false;
    }
    mpl_buffer_open(&r.pending, &abi->alloc);
    r.canon = mpl_arena_take(&abi->arena, text.length + 1);
    moonplan_abi_entry *entry = r.canon ? add_entry(abi) : NULL;
    if (!entry) return no_memory(&r);
    moonplan_text name = word(&r), first = name;
    if (mpl_text_is(first, "error") || mpl_text_is(first, "function")) {
        /* `error Gone()` is an error, `error(uint256)` a function of that name. */
        moonplan_text after = word(&r);
        if (after.length) name = after;
    }
    bool error = name.bytes != first.bytes && mpl_text_is(first, "error");
    entry->kind = name.length == 0 ? MOONPLAN_ABI_VALUES
                  : error          ? MOONPLAN_ABI_ERROR
                                   : MOONPLAN_ABI_CALL;
    bool fine = true;
    if (name.length && !mpl_abi_identifier(name)) {
        r.at = name.bytes;
        fine = fault(&r, "a name begins with a digit");
    }
    if (fine) {
        emit(&r, name.bytes, name.length);
        entry->name = (moonplan_text){r.canon, name.length};
        entry->inputs.text.bytes = r.canon + r.canon_length;
        fine = take(&r, '(') ? read_list(&r, &entry->inputs, 0)
                             : fault(&r, "a signature has its parameters in parentheses");
    }
    if (fine) {
        entry->signature = (moonplan_text){r.canon, r.canon_length};
        entry->inputs.text.length = r.canon_length - name.length;
        entry->outputs.base = MOONPLAN_ABI_TUPLE;
        fine = read_rest(&r, entry);
    }
    mpl_buffer_close(&r.pending);
    if (!fine) return false;
    if (entry->kind != MOONPLAN_ABI_VALUES) {
        uint8_t hash[32];
        moonplan_keccak256(hash, entry->signature.bytes, entry->signature.length);
        memcpy(entry->selector, hash, 4);
    }
    return true;
}
