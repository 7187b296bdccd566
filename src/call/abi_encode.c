#include <string.h>

#include "../core/text.h"
#include "../core/uint256.h"
#include "../core/value.h"
#include "abi.h"
#include "eip55.h"

/* -- Values to bytes ---------------------------------------------------------*/

static void put_word(mpl_buffer *out, size_t at, uint64_t number) {
    if (out->failed) return;
    uint8_t word[32];
    mpl_uint256_write(word, mpl_uint256_of(number));
    memcpy(out->bytes + at, word, sizeof word);
}

/* A word more at the end; where it stands. */
static size_t add_word(mpl_buffer *out, uint64_t number) {
    size_t at = out->length;
    if (mpl_buffer_extend(out, 32)) put_word(out, at, number);
    return at;
}

static void add_scalar(mpl_buffer *out, const moonplan_abi_value *value) {
    static const uint8_t zeros[32] = {0};
    if (value->type->base == MOONPLAN_ABI_ADDRESS) mpl_buffer_add(out, zeros, 12);
    mpl_buffer_add(out, value->bytes, value->length);
    if (value->type->base != MOONPLAN_ABI_ADDRESS)
        mpl_buffer_add(out, zeros, (32 - value->length % 32) % 32);
}

static void add_value(mpl_buffer *out, const moonplan_abi_value *value);

/* Heads in a row, each dynamic one an offset from the first; then what they lead to. */
static void add_items(mpl_buffer *out, const moonplan_abi_value *value) {
    size_t frame = out->length, at = frame;
    for (size_t i = 0; i < value->count; i++) {
        if (value->items[i].type->dynamic)
            add_word(out, 0);
        else
            add_value(out, &value->items[i]);
    }
    for (size_t i = 0; i < value->count && !out->failed; i++) {
        const moonplan_abi_type *type = value->items[i].type;
        if (type->dynamic) {
            put_word(out, at, out->length - frame);
            add_value(out, &value->items[i]);
        }
        at += (size_t)type->head;
    }
}

/* Nested as deep as the type: MPL_ABI_DEPTH at most. */
static void add_value(mpl_buffer *out, const moonplan_abi_value *value) {
    switch (value->type->base) {
    case MOONPLAN_ABI_ARRAY:
        add_word(out, value->count);
        add_items(out, value);
        break;
    case MOONPLAN_ABI_TUPLE:
    case MOONPLAN_ABI_ARRAY_N:
        add_items(out, value);
        break;
    case MOONPLAN_ABI_BYTES:
    case MOONPLAN_ABI_STRING:
        add_word(out, value->length);
        add_scalar(out, value);
        break;
    default:
        add_scalar(out, value);
        break;
    }
}

void mpl_abi_encode(mpl_buffer *out, const moonplan_abi_value *value) {
    add_items(out, value);
}

/* -- Documents to values -----------------------------------------------------*/

typedef struct source {
    mpl_arena *arena;
    moonplan_error *err;
} source;

static bool no_memory(source *s) {
    mpl_error_memory(s->err);
    return false;
}

static bool mismatch(source *s, const moonplan_abi_type *type, moonplan_value value,
                     const char *wanted) {
    mpl_error_at(s->err, MOONPLAN_ABI_VALUE, value, "%t must be %s, not %s", &type->text, wanted,
                 mpl_type_text(moonplan_value_type(value)));
    return false;
}

static bool plain_integer(moonplan_text literal) {
    for (size_t i = literal.length > 0 && literal.bytes[0] == '-'; i < literal.length; i++)
        if (literal.bytes[i] < '0' || literal.bytes[i] > '9') return false;
    return true;
}

static bool integer(source *s, moonplan_abi_value *out, moonplan_value value) {
    const moonplan_abi_type *type = out->type;
    moonplan_type found = moonplan_value_type(value);
    moonplan_text text =
        found == MOONPLAN_STRING ? moonplan_value_string(value) : moonplan_value_source(value);
    bool sign = type->base == MOONPLAN_ABI_INT;
    mpl_uint256 number;
    if (found != MOONPLAN_STRING && found != MOONPLAN_INTEGER && found != MOONPLAN_NUMBER)
        return mismatch(s, type, value, "a decimal string or an integer");
    moonplan_text digits = text;
    if (digits.length && digits.bytes[0] == '-') {
        digits.bytes++;
        digits.length--;
    }
    if (!plain_integer(text) || !mpl_decimal(digits) ||
        (digits.length != text.length && mpl_text_is(digits, "0"))) {
        mpl_error_at(s->err, MOONPLAN_ABI_VALUE, value,
                     "%q is no decimal integer: digits, no 0 before others", &text);
        return false;
    }
    bool fits =
        sign ? mpl_int256_from_decimal(&number, text) && mpl_int256_fits(number, type->size)
             : mpl_uint256_from_decimal(&number, text) && mpl_uint256_bits(number) <= type->size;
    if (!fits) {
        mpl_error_at(s->err, MOONPLAN_ABI_VALUE, value, "%q does not fit %t", &text, &type->text);
        return false;
    }
    uint8_t *word = mpl_arena_take(s->arena, 32);
    if (!word) return no_memory(s);
    mpl_uint256_write(word, number);
    out->bytes = word;
    out->length = 32;
    return true;
}

/* 0x and digits to bytes; `wanted` of them unless it is SIZE_MAX. */
static bool bytes(source *s, moonplan_abi_value *out, moonplan_value value, size_t wanted) {
    const moonplan_abi_type *type = out->type;
    moonplan_text text = moonplan_value_string(value);
    if (!text.bytes) return mismatch(s, type, value, "a string of 0x and hexadecimal digits");
    if (mpl_hex_scan(text) == MPL_HEX_NO) {
        mpl_error_at(s->err, MOONPLAN_ABI_VALUE, value,
                     "%q is not 0x and an even number of hexadecimal digits", &text);
        return false;
    }
    size_t length = (text.length - 2) / 2;
    if (wanted != SIZE_MAX && length != wanted) {
        mpl_error_at(s->err, MOONPLAN_ABI_VALUE, value, "%t has %u bytes, and these are %u",
                     &type->text, (uint64_t)wanted, (uint64_t)length);
        return false;
    }
    uint8_t *made = mpl_arena_take(s->arena, length + 1);
    if (!made) return no_memory(s);
    mpl_hex_decode(made, text.bytes + 2, length);
    out->bytes = made;
    out->length = length;
    return true;
}

static bool address(source *s, moonplan_abi_value *out, moonplan_value value) {
    moonplan_text text = moonplan_value_string(value);
    if (!bytes(s, out, value, 20)) return false;
    if (mpl_eip55_check(text) != MPL_EIP55_WRONG) return true;
    char right[42];
    moonplan_address_checksum(right, text.bytes, text.length);
    moonplan_text shown = {right, sizeof right};
    mpl_error_at(s->err, MOONPLAN_ABI_VALUE, value,
                 "%q has a wrong checksum in its upper-case letters; with the right one it is %t",
                 &text, &shown);
    return false;
}

static bool boolean(source *s, moonplan_abi_value *out, moonplan_value value) {
    moonplan_type found = moonplan_value_type(value);
    if (found != MOONPLAN_TRUE && found != MOONPLAN_FALSE)
        return mismatch(s, out->type, value, "true or false");
    uint8_t *word = mpl_arena_take(s->arena, 32);
    if (!word) return no_memory(s);
    word[31] = found == MOONPLAN_TRUE;
    out->bytes = word;
    out->length = 32;
    return true;
}

static bool string(source *s, moonplan_abi_value *out, moonplan_value value) {
    moonplan_text text = moonplan_value_string(value);
    if (moonplan_value_type(value) == MOONPLAN_OBJECT && moonplan_value_count(value) == 1) {
        moonplan_value hex = mpl_member(value, "hex");
        if (moonplan_value_type(hex) == MOONPLAN_STRING) return bytes(s, out, hex, SIZE_MAX);
    }
    if (!text.bytes)
        return mismatch(s, out->type, value, "a string, or {\"hex\": \"0x...\"} for other bytes");
    /* The document stays until the bytes are written. */
    out->bytes = (const uint8_t *)text.bytes;
    out->length = text.length;
    return true;
}

static bool convert(source *s, moonplan_abi_value *out, moonplan_value value);

static bool object(source *s, moonplan_abi_value *out, moonplan_value value) {
    const moonplan_abi_type *type = out->type;
    moonplan_abi_value *values = mpl_arena_take(s->arena, type->size * sizeof *values + 1);
    if (!values) return no_memory(s);
    out->items = values;
    out->count = type->size;
    for (uint32_t i = 0; i < type->size; i++) {
        moonplan_text name = type->items[i].name;
        moonplan_value item = moonplan_value_member(value, name.bytes, name.length);
        if (moonplan_value_type(item) == MOONPLAN_NONE) {
            mpl_error_at(s->err, MOONPLAN_ABI_VALUE, value, "%q is missing: %t takes it as %t",
                         &name, &type->text, &type->items[i].text);
            return false;
        }
        values[i].type = &type->items[i];
        if (!convert(s, &values[i], item)) return false;
    }
    if (moonplan_value_count(value) == type->size) return true;
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk)) {
        bool known = false;
        for (uint32_t i = 0; i < type->size && !known; i++)
            known = mpl_text_equal(walk.name, type->items[i].name);
        if (known) continue;
        mpl_error_at(s->err, MOONPLAN_ABI_VALUE, walk.value, "there is no %q in %t", &walk.name,
                     &type->text);
        return false;
    }
    return true;
}

static bool list(source *s, moonplan_abi_value *out, moonplan_value value) {
    const moonplan_abi_type *type = out->type;
    bool tuple = type->base == MOONPLAN_ABI_TUPLE;
    moonplan_type found = moonplan_value_type(value);
    if (tuple && type->named && found == MOONPLAN_OBJECT) return object(s, out, value);
    /* An empty Lua table is an object: take it for the empty list that it can only be. */
    bool empty = found == MOONPLAN_OBJECT && moonplan_value_count(value) == 0;
    if (found != MOONPLAN_ARRAY && !empty)
        return mismatch(s, type, value,
                        tuple && type->named ? "an object or an array"
                        : tuple ? "an array, for its components do not all have their own names"
                                : "an array");
    size_t count = moonplan_value_count(value);
    if (type->base != MOONPLAN_ABI_ARRAY && count != type->size) {
        mpl_error_at(s->err, MOONPLAN_ABI_VALUE, value, "%t takes %u values, and these are %u",
                     &type->text, (uint64_t)type->size, (uint64_t)count);
        return false;
    }
    moonplan_abi_value *values = mpl_arena_take(s->arena, count * sizeof *values + 1);
    if (!values) return no_memory(s);
    out->items = values;
    out->count = count;
    moonplan_walk walk = moonplan_value_walk(value);
    for (size_t i = 0; moonplan_walk_next(&walk); i++) {
        values[i].type = tuple ? &type->items[i] : type->items;
        if (!convert(s, &values[i], walk.value)) return false;
    }
    return true;
}

/* Nested as deep as the type: MPL_ABI_DEPTH at most. */
static bool convert(source *s, moonplan_abi_value *out, moonplan_value value) {
    switch (out->type->base) {
    case MOONPLAN_ABI_UINT:
    case MOONPLAN_ABI_INT:
        return integer(s, out, value);
    case MOONPLAN_ABI_ADDRESS:
        return address(s, out, value);
    case MOONPLAN_ABI_BOOL:
        return boolean(s, out, value);
    case MOONPLAN_ABI_BYTES_N:
    case MOONPLAN_ABI_FUNCTION:
        return bytes(s, out, value, out->type->size);
    case MOONPLAN_ABI_BYTES:
        return bytes(s, out, value, SIZE_MAX);
    case MOONPLAN_ABI_STRING:
        return string(s, out, value);
    default:
        return list(s, out, value);
    }
}

bool mpl_abi_from_document(moonplan_abi_value *out, mpl_arena *arena, const moonplan_abi_type *type,
                           moonplan_value value, moonplan_error *err) {
    source s = {arena, err};
    memset(out, 0, sizeof *out);
    out->type = type;
    return convert(&s, out, value);
}

bool moonplan_abi_encode(const moonplan_abi_entry *entry, moonplan_sink sink, void *sink_data,
                         moonplan_value arguments, const moonplan_options *options,
                         moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_arena arena;
    mpl_buffer out;
    moonplan_abi_value values;
    mpl_arena_open(&arena, &alloc);
    mpl_buffer_open(&out, &alloc);
    bool none = moonplan_value_type(arguments) == MOONPLAN_NONE, fine;
    if (none && entry->inputs.size) {
        mpl_error_set(err, MOONPLAN_ABI_VALUE, MOONPLAN_NO_OFFSET, NULL,
                      "%t takes %u values, and there are none", &entry->signature,
                      (uint64_t)entry->inputs.size);
        fine = false;
    } else if (none) {
        values = (moonplan_abi_value){.type = &entry->inputs};
        fine = true;
    } else {
        fine = mpl_abi_from_document(&values, &arena, &entry->inputs, arguments, err);
    }
    if (fine) {
        if (entry->kind != MOONPLAN_ABI_VALUES) mpl_buffer_add(&out, entry->selector, 4);
        mpl_abi_encode(&out, &values);
        if (out.failed) {
            mpl_error_memory(err);
            fine = false;
        }
    }
    if (fine && !sink(sink_data, out.bytes, out.length)) {
        mpl_error_memory(err);
        fine = false;
    }
    mpl_buffer_close(&out);
    mpl_arena_close(&arena);
    return fine;
}
