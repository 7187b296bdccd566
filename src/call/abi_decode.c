#include <string.h>

#include "../core/error.h"
#include "../core/text.h"
#include "../core/uint256.h"
#include "abi.h"

void mpl_abi_budget_open(mpl_abi_budget *budget, const moonplan_options *options) {
    budget->words = budget->whole = options->limits.abi_words;
}

/* One level of nesting: a tuple or array and which of its items is being read. */
typedef struct level {
    const moonplan_abi_type *type;
    size_t index;
} level;

typedef struct decoder {
    mpl_arena *arena;
    const uint8_t *bytes;
    size_t length, skipped;
    /* Where the canonical encoding has the next content behind a head, and the furthest byte that
     * anything was read from. */
    size_t next, furthest;
    uint64_t allowance; /* words that these bytes alone may still yield */
    mpl_abi_budget *budget;
    mpl_faults *notes;
    moonplan_error *err;
    unsigned depth;
    level levels[MPL_ABI_DEPTH + 1];
} decoder;

/* Overlapping content is legal (some encoders share equal parts); inflating input is not. In a
 * canonical encoding every scalar takes a word of its own, and has no more containers around it
 * than its type is deep. What is over that, beyond a little slack, was read several times. */
#define SLACK 64

static mpl_pointer place(const decoder *d) {
    mpl_pointer pointer = {0};
    for (unsigned i = 0; i < d->depth; i++) {
        const moonplan_abi_type *type = d->levels[i].type;
        if (type->named)
            mpl_pointer_name(&pointer, type->items[d->levels[i].index].name);
        else
            mpl_pointer_index(&pointer, d->levels[i].index);
    }
    return pointer;
}

#define REFUSE(d, code, at, ...)                                                                   \
    do {                                                                                           \
        mpl_pointer pointer_ = place(d);                                                           \
        mpl_error_set((d)->err, code, (at) + (d)->skipped, &pointer_, __VA_ARGS__);                \
    } while (0)

#define NOTE(d, code, at, ...)                                                                     \
    do {                                                                                           \
        moonplan_error *slot_ = mpl_faults_add((d)->notes);                                        \
        if (slot_) {                                                                               \
            mpl_pointer pointer_ = place(d);                                                       \
            mpl_error_set(slot_, code, (at) + (d)->skipped, &pointer_, __VA_ARGS__);               \
        }                                                                                          \
    } while (0)

static bool no_memory(decoder *d) {
    mpl_error_memory(d->err);
    return false;
}

static bool spend(decoder *d, size_t at, uint64_t words) {
    if (words > d->allowance) {
        REFUSE(d, MOONPLAN_ABI_BUDGET, at,
               "decoded, this would be far more than the %u bytes it is encoded in",
               (uint64_t)d->length);
        return false;
    }
    if (words > d->budget->words) {
        REFUSE(d, MOONPLAN_LIMIT, at,
               "with this more is decoded than the limit abi_words allows: %u words",
               d->budget->whole);
        return false;
    }
    d->allowance -= words;
    d->budget->words -= words;
    return true;
}

static void reach(decoder *d, size_t end) {
    if (end > d->furthest) d->furthest = end;
}

static const uint8_t *word(decoder *d, size_t at, const char *what) {
    if (at > d->length || d->length - at < 32) {
        uint64_t left = at < d->length ? d->length - at : 0;
        REFUSE(d, MOONPLAN_ABI_LENGTH, at, "the data end before %s: %u of 32 bytes are there", what,
               left);
        return NULL;
    }
    reach(d, at + 32);
    return d->bytes + at;
}

static bool all(const uint8_t *bytes, size_t length, uint8_t wanted) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != wanted) return false;
    return true;
}

/* A length or offset; false if it is far beyond anything that is there. */
static bool small(const uint8_t *at, size_t *out) {
    if (!all(at, 24, 0)) return false;
    uint64_t number = 0;
    for (size_t i = 24; i < 32; i++) number = number << 8 | at[i];
    *out = (size_t)number;
    return number <= SIZE_MAX / 64;
}

/* -- Scalars ---------------------------------------------------------------*/

/* The bits of a word that its type does not use, as they must be. */
static bool scalar(decoder *d, moonplan_abi_value *out, size_t at) {
    const moonplan_abi_type *type = out->type;
    const uint8_t *bytes = word(d, at, "a value");
    if (!bytes) return false;
    size_t from = 0, to = 0; /* the bytes that must hold `fill` */
    uint8_t fill = 0;
    out->bytes = bytes;
    out->length = 32;
    switch (type->base) {
    case MOONPLAN_ABI_UINT:
        to = 32 - type->size / 8;
        break;
    case MOONPLAN_ABI_INT:
        to = 32 - type->size / 8;
        fill = to < 32 && bytes[to] & 0x80 ? 0xff : 0;
        break;
    case MOONPLAN_ABI_BOOL:
        to = 31;
        break;
    case MOONPLAN_ABI_ADDRESS:
        to = 12;
        out->bytes += 12;
        out->length = 20;
        break;
    default: /* bytesN, function */
        from = type->size;
        to = 32;
        out->length = type->size;
        break;
    }
    bool clean = all(bytes + from, to - from, fill);
    if (type->base == MOONPLAN_ABI_BOOL) clean = clean && bytes[31] <= 1;
    if (clean) return true;
    NOTE(d, MOONPLAN_ABI_PADDING, at,
         type->base == MOONPLAN_ABI_BOOL ? "a bool is 0 or 1, and this is neither"
                                         : "bits are set that %t does not use",
         &type->text);
    if (type->base == MOONPLAN_ABI_ADDRESS || from) return true;
    uint8_t *mended = mpl_arena_take(d->arena, 32);
    if (!mended) return no_memory(d);
    memset(mended, fill, 32);
    if (type->base == MOONPLAN_ABI_BOOL)
        mended[31] = 1; /* anything but zero is true to the EVM */
    else
        memcpy(mended + to, bytes + to, 32 - to);
    out->bytes = mended;
    return true;
}

static bool content(decoder *d, moonplan_abi_value *out, size_t at) {
    const uint8_t *count = word(d, at, "a length");
    size_t length, start = at + 32;
    if (!count) return false;
    if (!small(count, &length) || length > d->length - start) {
        char text[MPL_UINT256_TEXT];
        moonplan_text shown = {text, mpl_uint256_decimal(text, mpl_uint256_read(count))};
        REFUSE(d, MOONPLAN_ABI_LENGTH, at, "%t bytes are said to follow, and there are %u", &shown,
               (uint64_t)(d->length - start));
        return false;
    }
    size_t padding = (32 - length % 32) % 32, end = start + length;
    if (!spend(d, at, (length + 31) / 32)) return false;
    if (padding > d->length - end) {
        NOTE(d, MOONPLAN_ABI_PADDING, end, "the data end before the padding does");
        padding = d->length - end;
    } else if (!all(d->bytes + end, padding, 0)) {
        NOTE(d, MOONPLAN_ABI_PADDING, end, "the padding is not zero");
    }
    out->bytes = d->bytes + start;
    out->length = length;
    d->next = end + padding;
    reach(d, d->next);
    return true;
}

/* -- Arrays and tuples -------------------------------------------------------*/

static bool decode(decoder *d, moonplan_abi_value *out, size_t at, size_t frame);

/* Bytes that the heads of an array's or a tuple's items take; UINT64_MAX for that and more. */
static uint64_t heads_of(const moonplan_abi_type *type, uint64_t count) {
    if (type->base != MOONPLAN_ABI_TUPLE) {
        uint64_t each = type->items->head;
        return each && count > UINT64_MAX / each ? UINT64_MAX : each * count;
    }
    uint64_t heads = 0;
    for (uint32_t i = 0; i < type->size; i++) {
        uint64_t head = type->items[i].head;
        heads = head > UINT64_MAX - heads ? UINT64_MAX : heads + head;
    }
    return heads;
}

/* All heads must be there before anything is set aside for the values. */
static bool heads_there(decoder *d, const moonplan_abi_type *type, size_t frame, uint64_t count) {
    size_t at = type->base == MOONPLAN_ABI_ARRAY ? frame - 32 : frame; /* its length */
    uint64_t heads = heads_of(type, count), there = frame < d->length ? d->length - frame : 0;
    if (heads <= there) return true;
    if (type->base == MOONPLAN_ABI_TUPLE)
        REFUSE(d, MOONPLAN_ABI_LENGTH, at, "%t takes %u bytes at least, and there are %u",
               &type->text, heads, there);
    else
        REFUSE(d, MOONPLAN_ABI_LENGTH, at,
               "%u elements of %t take %u bytes at least, and there are %u", count,
               &type->items->text, heads, there);
    return false;
}

/* The items of an array or tuple whose heads stand in a row at `frame`, which the offsets in them
 * count from. `behind`: their content follows the heads; a static one's is all in the heads. */
static bool items(decoder *d, moonplan_abi_value *out, size_t frame, size_t count, bool behind) {
    const moonplan_abi_type *type = out->type;
    moonplan_abi_value *values = NULL;
    if (behind && !heads_there(d, type, frame, count)) return false;
    if (!spend(d, frame, count)) return false;
    if (count) {
        values = mpl_arena_take(d->arena, count * sizeof *values);
        if (!values) return no_memory(d);
    }
    out->items = values;
    out->count = count;
    if (behind) {
        d->next = frame + (size_t)heads_of(type, count);
        reach(d, d->next);
    }
    level *here = &d->levels[d->depth++];
    here->type = type;
    size_t at = frame;
    for (size_t i = 0; i < count; i++) {
        here->index = i;
        values[i].type = type->base == MOONPLAN_ABI_TUPLE ? &type->items[i] : type->items;
        if (!decode(d, &values[i], at, frame)) return false;
        at += (size_t)values[i].type->head;
    }
    d->depth--;
    return true;
}

static bool array(decoder *d, moonplan_abi_value *out, size_t at) {
    const uint8_t *count = word(d, at, "a length");
    size_t length;
    if (!count) return false;
    if (!small(count, &length)) {
        char text[MPL_UINT256_TEXT];
        moonplan_text shown = {text, mpl_uint256_decimal(text, mpl_uint256_read(count))};
        REFUSE(d, MOONPLAN_ABI_LENGTH, at, "an array of %t elements in %u bytes", &shown,
               (uint64_t)d->length);
        return false;
    }
    return items(d, out, at + 32, length, true);
}

/* A value whose head stands at `at`; a dynamic one's is an offset from `frame`. */
static bool decode(decoder *d, moonplan_abi_value *out, size_t at, size_t frame) {
    const moonplan_abi_type *type = out->type;
    bool nested = type->base == MOONPLAN_ABI_TUPLE || type->base == MOONPLAN_ABI_ARRAY_N;
    if (!type->dynamic) return nested ? items(d, out, at, type->size, false) : scalar(d, out, at);
    const uint8_t *offset = word(d, at, "an offset");
    size_t distance;
    if (!offset) return false;
    if (!small(offset, &distance) || distance > d->length - frame) {
        char text[MPL_UINT256_TEXT];
        moonplan_text shown = {text, mpl_uint256_decimal(text, mpl_uint256_read(offset))};
        REFUSE(d, MOONPLAN_ABI_OFFSET, at, "the offset is %t, and only %u bytes are there", &shown,
               (uint64_t)(d->length - frame));
        return false;
    }
    size_t target = frame + distance;
    if (target != d->next)
        NOTE(d, MOONPLAN_ABI_OFFSET, at,
             "the offset leads to byte %u; the canonical encoding has the content at %u",
             (uint64_t)(target + d->skipped), (uint64_t)(d->next + d->skipped));
    if (type->base == MOONPLAN_ABI_ARRAY) return array(d, out, target);
    if (nested) return items(d, out, target, type->size, true);
    return content(d, out, target);
}

bool mpl_abi_decode(moonplan_abi_value *out, mpl_arena *arena, const moonplan_abi_type *type,
                    const uint8_t *bytes, size_t length, size_t skipped, mpl_abi_budget *budget,
                    const moonplan_options *options, moonplan_error_list **notes,
                    moonplan_error *err) {
    moonplan_options own = *options;
    mpl_faults faults;
    own.errors = notes;
    *notes = NULL;
    mpl_faults_open(&faults, &own);
    decoder d = {.arena = arena,
                 .bytes = bytes,
                 .length = length,
                 .skipped = skipped,
                 .allowance = ((uint64_t)length / 32 + 1) * (type->depth + 1) + SLACK,
                 .budget = budget,
                 .notes = &faults,
                 .err = err};
    memset(out, 0, sizeof *out);
    out->type = type;
    bool fine = items(&d, out, 0, type->size, true);
    if (fine && d.furthest < length)
        NOTE(&d, MOONPLAN_ABI_TRAILING, d.furthest, "%u byte%s that no value uses",
             (uint64_t)(length - d.furthest), length - d.furthest == 1 ? " follows" : "s follow");
    mpl_faults_close(&faults, &own, NULL);
    return faults.no_memory ? no_memory(&d) : fine;
}

bool mpl_abi_over_budget(const moonplan_error *err) {
    return err->code == MOONPLAN_ABI_BUDGET || err->code == MOONPLAN_LIMIT;
}

/* -- Objects of their own ----------------------------------------------------*/

struct moonplan_abi_data {
    mpl_alloc alloc;
    mpl_arena arena;
    moonplan_abi_value root;
    moonplan_error_list *notes;
};

/* What was decoded encodes to what was read. */
static bool same(const moonplan_abi_value *root, mpl_alloc *alloc, const uint8_t *bytes,
                 size_t length, size_t skipped, moonplan_error *err) {
    mpl_buffer again;
    mpl_buffer_open(&again, alloc);
    mpl_abi_encode(&again, root);
    bool equal = !again.failed && again.length == length &&
                 (length == 0 || memcmp(again.bytes, bytes, length) == 0);
    if (again.failed) {
        mpl_error_memory(err);
    } else if (!equal) {
        size_t at = 0;
        while (at < length && at < again.length && (uint8_t)again.bytes[at] == bytes[at]) at++;
        mpl_error_set(err, MOONPLAN_ABI_OFFSET, at + skipped, NULL,
                      "the values encode differently from byte %u on", (uint64_t)(at + skipped));
    }
    mpl_buffer_close(&again);
    return equal;
}

static bool read_data(moonplan_abi_data *data, const moonplan_abi_type *type, const uint8_t *bytes,
                      size_t length, size_t skipped, bool strict, const moonplan_options *options,
                      moonplan_error *err) {
    mpl_abi_budget budget;
    if (!options->borrow && length) {
        uint8_t *copy = mpl_arena_take(&data->arena, length);
        if (!copy) {
            mpl_error_memory(err);
            return false;
        }
        memcpy(copy, bytes, length);
        bytes = copy;
    }
    mpl_abi_budget_open(&budget, options);
    if (!mpl_abi_decode(&data->root, &data->arena, type, bytes, length, skipped, &budget, options,
                        &data->notes, err))
        return false;
    if (strict && data->notes) {
        if (err) *err = *moonplan_error_list_at(data->notes, 0);
        return false;
    }
    return !strict || same(&data->root, &data->alloc, bytes, length, skipped, err);
}

static moonplan_abi_data *new_data(const moonplan_abi_type *type, const uint8_t *bytes,
                                   size_t length, size_t skipped, bool strict,
                                   const moonplan_options *options, moonplan_error *err) {
    moonplan_options chosen = mpl_options_of(options);
    options = &chosen;
    if (!mpl_options_sound(options, err)) return NULL;
    mpl_alloc alloc = mpl_alloc_of(options);
    moonplan_abi_data *data = mpl_allocate(&alloc, sizeof *data);
    if (!data) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(data, 0, sizeof *data);
    data->alloc = alloc;
    mpl_arena_open(&data->arena, &data->alloc);
    if (read_data(data, type, bytes, length, skipped, strict, options, err)) return data;
    moonplan_abi_data_free(data);
    return NULL;
}

moonplan_abi_data *moonplan_abi_decode(const moonplan_abi_entry *entry, const uint8_t *bytes,
                                       size_t length, bool strict, const moonplan_options *options,
                                       moonplan_error *err) {
    size_t skipped = entry->kind == MOONPLAN_ABI_VALUES ? 0 : 4;
    if (length < skipped || (skipped && memcmp(bytes, entry->selector, skipped) != 0)) {
        char wanted[8], found[8];
        size_t there = length < 4 ? length : 4;
        mpl_hex_encode(wanted, entry->selector, 4);
        mpl_hex_encode(found, bytes, there);
        moonplan_text want = {wanted, 8}, have = {found, 2 * there};
        mpl_error_set(err, MOONPLAN_ABI_SELECTOR, 0, NULL,
                      "the data begin with 0x%t, and %t has the selector 0x%t", &have,
                      &entry->signature, &want);
        return NULL;
    }
    return new_data(&entry->inputs, skipped ? bytes + skipped : bytes, length - skipped, skipped,
                    strict, options, err);
}

moonplan_abi_data *moonplan_abi_decode_outputs(const moonplan_abi_entry *entry,
                                               const uint8_t *bytes, size_t length, bool strict,
                                               const moonplan_options *options,
                                               moonplan_error *err) {
    return new_data(&entry->outputs, bytes, length, 0, strict, options, err);
}

void moonplan_abi_data_free(moonplan_abi_data *data) {
    if (!data) return;
    mpl_alloc alloc = data->alloc;
    moonplan_error_list_free(data->notes);
    mpl_arena_close(&data->arena);
    mpl_release(&alloc, data, sizeof *data);
}

const moonplan_abi_value *moonplan_abi_data_root(const moonplan_abi_data *data) {
    return &data->root;
}

size_t moonplan_abi_data_note_count(const moonplan_abi_data *data) {
    return moonplan_error_list_count(data->notes);
}

const moonplan_error *moonplan_abi_data_note(const moonplan_abi_data *data, size_t n) {
    return data->notes ? moonplan_error_list_at(data->notes, n) : NULL;
}

moonplan_document *moonplan_abi_data_document(const moonplan_abi_data *data,
                                              const moonplan_options *options,
                                              moonplan_error *err) {
    mpl_builder builder;
    mpl_build_open(&builder, options);
    mpl_abi_build(&builder, &data->root);
    return mpl_build_finish(&builder, err);
}
