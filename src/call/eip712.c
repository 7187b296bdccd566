#include "eip712.h"

#include <string.h>

#include "../core/keccak.h"
#include "../core/text.h"
#include "../core/uint256.h"

/* -- Names and expressions -------------------------------------------------*/

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

bool mpl_eip712_identifier(moonplan_text name) {
    for (size_t i = 0; i < name.length; i++)
        if (!is_letter(name.bytes[i]) && (i == 0 || !is_digit(name.bytes[i]))) return false;
    return name.length > 0;
}

/* Is a text this prefix and digits, perhaps none? */
static bool prefixed(moonplan_text text, const char *prefix, moonplan_text *digits) {
    size_t length = strlen(prefix);
    if (text.length < length || memcmp(text.bytes, prefix, length) != 0) return false;
    for (size_t i = length; i < text.length; i++)
        if (!is_digit(text.bytes[i])) return false;
    *digits = (moonplan_text){text.bytes + length, text.length - length};
    return true;
}

bool mpl_eip712_basic_name(moonplan_text name) {
    moonplan_text digits;
    return mpl_text_is(name, "address") || mpl_text_is(name, "bool") ||
           mpl_text_is(name, "string") || prefixed(name, "uint", &digits) ||
           prefixed(name, "int", &digits) || prefixed(name, "bytes", &digits);
}

/* A canonical number of up to three digits, 0 for anything else. */
static uint16_t width_of(moonplan_text digits) {
    unsigned number = 0;
    if (!mpl_decimal(digits) || digits.length > 3) return 0;
    for (size_t i = 0; i < digits.length; i++)
        number = number * 10 + (unsigned)(digits.bytes[i] - '0');
    return (uint16_t)number;
}

static void resolve_basic(mpl_eip712_type *type, moonplan_text name) {
    moonplan_text digits;
    mpl_eip712_base base = MPL_EIP712_UNKNOWN;
    uint16_t width = 0;
    if (mpl_text_is(name, "address")) {
        base = MPL_EIP712_ADDRESS;
    } else if (mpl_text_is(name, "bool")) {
        base = MPL_EIP712_BOOL;
    } else if (mpl_text_is(name, "string")) {
        base = MPL_EIP712_STRING;
    } else if (mpl_text_is(name, "bytes")) {
        base = MPL_EIP712_BYTES;
    } else if (prefixed(name, "bytes", &digits)) {
        width = width_of(digits);
        if (width >= 1 && width <= 32) base = MPL_EIP712_BYTES_N;
    } else if (prefixed(name, "uint", &digits) || prefixed(name, "int", &digits)) {
        width = width_of(digits);
        if (width >= 8 && width <= 256 && width % 8 == 0)
            base = name.bytes[0] == 'u' ? MPL_EIP712_UINT : MPL_EIP712_INT;
    }
    type->base = base;
    type->width = width;
}

/* The name before the first bracket. */
static moonplan_text base_name(moonplan_text text) {
    const char *bracket = text.length ? memchr(text.bytes, '[', text.length) : NULL;
    return (moonplan_text){text.bytes, bracket ? (size_t)(bracket - text.bytes) : text.length};
}

bool mpl_eip712_expression(moonplan_text text) {
    moonplan_text name = base_name(text);
    if (text.length > MPL_EIP712_EXPRESSION_MOST || !mpl_eip712_identifier(name)) return false;
    for (size_t at = name.length; at < text.length;) {
        if (text.bytes[at++] != '[') return false;
        size_t from = at;
        while (at < text.length && is_digit(text.bytes[at])) at++;
        /* Solidity has no array of no elements, and a leading zero would be another text for the
         * same type. */
        if (at > from && text.bytes[from] == '0') return false;
        if (at == text.length || text.bytes[at++] != ']') return false;
    }
    return true;
}

mpl_eip712_type mpl_eip712_resolve(const mpl_eip712 *types, moonplan_text text) {
    mpl_eip712_type type = {.text = text};
    if (!mpl_eip712_expression(text)) return type;
    moonplan_text name = base_name(text);
    size_t number = mpl_eip712_find(types, name);
    /* The domain's type is no type of a message. A struct with the name of a basic type leaves
     * nothing to rely on. */
    if (number != SIZE_MAX && !mpl_text_is(name, "EIP712Domain") && !mpl_eip712_basic_name(name)) {
        type.base = MPL_EIP712_STRUCT;
        type.width = (uint16_t)number;
    } else if (number == SIZE_MAX) {
        resolve_basic(&type, name);
    }
    return type;
}

mpl_eip712_type mpl_eip712_element(const mpl_eip712_type *array, uint64_t *length) {
    mpl_eip712_type element = *array;
    size_t at = array->text.length - 1; /* the closing bracket */
    while (array->text.bytes[at - 1] != '[') at--;
    moonplan_text digits = {array->text.bytes + at, array->text.length - 1 - at};
    element.text.length = at - 1;
    *length = digits.length ? 0 : MPL_EIP712_ANY;
    for (size_t i = 0; i < digits.length; i++) {
        unsigned digit = (unsigned)(digits.bytes[i] - '0');
        /* No document holds so many elements: what matters is that it is not fewer. */
        if (*length > (MPL_EIP712_ANY - 10) / 10) *length = (MPL_EIP712_ANY - 10) / 10;
        *length = *length * 10 + digit;
    }
    return element;
}

/* -- Declarations ------------------------------------------------------------*/

size_t mpl_eip712_find(const mpl_eip712 *types, moonplan_text name) {
    for (size_t i = 0; i < types->count; i++)
        if (mpl_text_equal(types->structs[i].name, name)) return i;
    return SIZE_MAX;
}

static moonplan_text member_text(moonplan_value object, const char *name) {
    return moonplan_value_string(moonplan_value_member(object, name, strlen(name)));
}

/* The members of one declaration. What is not sound is still there for others to lead through. */
static void read_struct(mpl_eip712 *types, mpl_eip712_struct *declared, moonplan_value list) {
    declared->sound = moonplan_value_type(list) == MOONPLAN_ARRAY &&
                      mpl_eip712_identifier(declared->name) &&
                      !mpl_eip712_basic_name(declared->name);
    if (!declared->sound) types->resolved = false;
    moonplan_walk walk = moonplan_value_walk(list);
    while (moonplan_walk_next(&walk)) {
        moonplan_text name = member_text(walk.value, "name"),
                      text = member_text(walk.value, "type");
        mpl_eip712_type type = mpl_eip712_resolve(types, text);
        if (type.base == MPL_EIP712_UNKNOWN) types->resolved = false;
        if (type.base == MPL_EIP712_UNKNOWN || !mpl_eip712_identifier(name))
            declared->sound = false;
        for (size_t i = 0; i < declared->count && declared->sound; i++)
            declared->sound = !mpl_text_equal(declared->members[i].name, name);
        declared->members[declared->count++] = (mpl_eip712_member){name, type};
        types->member_count++;
        if (type.base == MPL_EIP712_STRUCT)
            declared->reach.bits[type.width / 64] |= (uint64_t)1 << (type.width % 64);
    }
}

static void close_reach(mpl_eip712 *types) {
    for (size_t over = 0; over < types->count; over++) {
        for (size_t i = 0; i < types->count; i++) {
            mpl_eip712_set *reach = &types->structs[i].reach;
            if (!mpl_eip712_has(reach, over)) continue;
            for (size_t word = 0; word < MPL_EIP712_TYPES_MOST / 64; word++)
                reach->bits[word] |= types->structs[over].reach.bits[word];
        }
    }
}

static void sort(mpl_eip712 *types) {
    for (size_t i = 0; i < types->count; i++) {
        size_t at = i;
        for (; at > 0 && mpl_text_order(types->structs[types->order[at - 1]].name,
                                        types->structs[i].name) > 0;
             at--)
            types->order[at] = types->order[at - 1];
        types->order[at] = (uint16_t)i;
    }
}

bool mpl_eip712_open(mpl_eip712 *types, moonplan_value value, const moonplan_limits *limits,
                     mpl_alloc *alloc) {
    memset(types, 0, sizeof *types);
    types->alloc = alloc;
    types->resolved = true;
    size_t count = moonplan_value_count(value), members = 1; /* not none, which would be no block */
    if (moonplan_value_type(value) != MOONPLAN_OBJECT || count > limits->types || count == 0)
        return true;
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk)) {
        size_t more = moonplan_value_count(walk.value);
        if (moonplan_value_type(walk.value) == MOONPLAN_ARRAY && more <= limits->members)
            members += more;
    }
    types->structs = mpl_allocate(alloc, count * sizeof *types->structs);
    if (!types->structs) return false;
    types->capacity = count;
    memset(types->structs, 0, count * sizeof *types->structs);
    types->members = mpl_allocate(alloc, members * sizeof *types->members);
    if (!types->members) return false;
    types->member_capacity = members;
    /* All names first: a member may be of a type that is declared further down. */
    walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk)) types->structs[types->count++].name = walk.name;
    walk = moonplan_value_walk(value);
    for (size_t i = 0; moonplan_walk_next(&walk); i++) {
        mpl_eip712_struct *declared = &types->structs[i];
        declared->members = types->members + types->member_count;
        if (moonplan_value_type(walk.value) == MOONPLAN_ARRAY &&
            moonplan_value_count(walk.value) <= limits->members)
            read_struct(types, declared, walk.value);
        else
            types->resolved = false;
    }
    close_reach(types);
    sort(types);
    return true;
}

void mpl_eip712_close(mpl_eip712 *types) {
    mpl_release(types->alloc, types->structs, types->capacity * sizeof *types->structs);
    mpl_release(types->alloc, types->members, types->member_capacity * sizeof *types->members);
}

/* -- Types -------------------------------------------------------------------*/

static bool put(moonplan_sink sink, void *data, moonplan_text text) {
    return sink(data, text.bytes, text.length);
}

static bool put_struct(const mpl_eip712_struct *declared, moonplan_sink sink, void *data) {
    bool fine = put(sink, data, declared->name) && sink(data, "(", 1);
    for (size_t i = 0; fine && i < declared->count; i++)
        fine = (i == 0 || sink(data, ",", 1)) && put(sink, data, declared->members[i].type.text) &&
               sink(data, " ", 1) && put(sink, data, declared->members[i].name);
    return fine && sink(data, ")", 1);
}

bool mpl_eip712_encode_type(const mpl_eip712 *types, size_t number, moonplan_sink sink,
                            void *data) {
    bool fine = put_struct(&types->structs[number], sink, data);
    for (size_t i = 0; fine && i < types->count; i++) {
        size_t other = types->order[i];
        if (other != number && mpl_eip712_has(&types->structs[number].reach, other))
            fine = put_struct(&types->structs[other], sink, data);
    }
    return fine;
}

static bool absorb(void *data, const char *bytes, size_t length) {
    mpl_keccak_add(data, bytes, length);
    return true;
}

/* Once for each type that occurs: with many types that lead to each other this is the dear part of
 * a request, 128 times the text of all types at most. */
static const uint8_t *type_hash(mpl_eip712 *types, size_t number) {
    mpl_eip712_struct *declared = &types->structs[number];
    if (!declared->hashed) {
        mpl_keccak keccak;
        mpl_keccak_open(&keccak);
        mpl_eip712_encode_type(types, number, absorb, &keccak);
        mpl_keccak_finish(&keccak, declared->type_hash);
        declared->hashed = true;
    }
    return declared->type_hash;
}

/* -- Scalars -----------------------------------------------------------------*/

static unsigned hex_digit(char byte) {
    if (byte <= '9') return (unsigned)(byte - '0');
    return (unsigned)((byte | 32) - 'a' + 10);
}

static void hex_bytes(uint8_t *out, const char *digits, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)(hex_digit(digits[2 * i]) << 4 | hex_digit(digits[2 * i + 1]));
}

static void hash_hex(moonplan_text text, uint8_t out[32]) {
    mpl_keccak keccak;
    mpl_keccak_open(&keccak);
    for (size_t at = 2; at < text.length;) {
        uint8_t bytes[256];
        size_t count = (text.length - at) / 2;
        if (count > sizeof bytes) count = sizeof bytes;
        hex_bytes(bytes, text.bytes + at, count);
        mpl_keccak_add(&keccak, bytes, count);
        at += 2 * count;
    }
    mpl_keccak_finish(&keccak, out);
}

static mpl_eip712_fit integer(const mpl_eip712_type *type, moonplan_text text, uint8_t out[32]) {
    bool sign = type->base == MPL_EIP712_INT;
    bool negative = sign && text.length > 1 && text.bytes[0] == '-' && text.bytes[1] != '0';
    mpl_uint256 number;
    if (!mpl_decimal((moonplan_text){text.bytes + negative, text.length - negative}))
        return MPL_EIP712_MALFORMED;
    bool fits =
        sign ? mpl_int256_from_decimal(&number, text) && mpl_int256_fits(number, type->width)
             : mpl_uint256_from_decimal(&number, text) && mpl_uint256_bits(number) <= type->width;
    if (!fits) return MPL_EIP712_RANGE;
    if (out) mpl_uint256_write(out, number);
    return MPL_EIP712_FITS;
}

mpl_eip712_fit mpl_eip712_scalar(const mpl_eip712_type *type, moonplan_value value,
                                 uint8_t out[32]) {
    moonplan_type json = moonplan_value_type(value);
    moonplan_text text = moonplan_value_string(value);
    if (type->base == MPL_EIP712_BOOL) {
        if (json != MOONPLAN_TRUE && json != MOONPLAN_FALSE) return MPL_EIP712_WRONG_JSON;
        if (out) {
            memset(out, 0, 32);
            out[31] = json == MOONPLAN_TRUE;
        }
        return MPL_EIP712_FITS;
    }
    if (json != MOONPLAN_STRING) return MPL_EIP712_WRONG_JSON;
    if (type->base == MPL_EIP712_UINT || type->base == MPL_EIP712_INT)
        return integer(type, text, out);
    if (type->base == MPL_EIP712_STRING) {
        if (out) moonplan_keccak256(out, text.bytes, text.length);
        return MPL_EIP712_FITS;
    }
    size_t width = type->base == MPL_EIP712_ADDRESS ? 20 : type->width;
    bool fixed = type->base != MPL_EIP712_BYTES;
    if (mpl_hex_scan(text) == MPL_HEX_NO || (fixed && text.length != 2 + 2 * width))
        return MPL_EIP712_MALFORMED;
    if (!out) return MPL_EIP712_FITS;
    if (!fixed) {
        hash_hex(text, out);
        return MPL_EIP712_FITS;
    }
    /* A number stands at the end of its word, bytes at the beginning. */
    memset(out, 0, 32);
    hex_bytes(type->base == MPL_EIP712_ADDRESS ? out + 12 : out, text.bytes + 2, width);
    return MPL_EIP712_FITS;
}

/* -- Values ------------------------------------------------------------------*/

/* An array or struct that is being hashed. On the heap, because a host's thread may have a small
 * stack and the limit `nesting` a large value. */
typedef struct frame {
    mpl_eip712_type type;
    moonplan_value value;
    moonplan_walk elements; /* of an array */
    size_t next;            /* member of a struct */
    mpl_keccak keccak;
} frame;

typedef struct hasher {
    mpl_eip712 *types;
    mpl_builder *tree;
    frame *frames;
    size_t depth, capacity;
} hasher;

static void tree_name(mpl_builder *tree, const char *name) {
    mpl_build_name(tree, (moonplan_text){name, strlen(name)});
}

static void tree_encoded(mpl_builder *tree, const uint8_t encoded[32]) {
    char text[66] = "0x";
    mpl_hex_encode(text + 2, encoded, 32);
    tree_name(tree, "encoded");
    mpl_build_string(tree, (moonplan_text){text, sizeof text});
}

static bool push(hasher *h, const mpl_eip712_type *type, moonplan_value value) {
    if (!mpl_grow(h->types->alloc, (void **)&h->frames, &h->capacity, h->depth + 1,
                  sizeof *h->frames))
        return false;
    frame *top = &h->frames[h->depth++];
    bool array = mpl_eip712_is_array(type);
    *top = (frame){.type = *type, .value = value};
    mpl_keccak_open(&top->keccak);
    if (array)
        top->elements = moonplan_value_walk(value);
    else
        mpl_keccak_add(&top->keccak, type_hash(h->types, type->width), 32);
    if (h->tree) {
        tree_name(h->tree, array ? "elements" : "members");
        mpl_build_array(h->tree);
    }
    return true;
}

/* The next element or member of a frame; false behind the last. */
static bool next(const hasher *h, frame *top, moonplan_text *name, mpl_eip712_type *type,
                 moonplan_value *value) {
    if (mpl_eip712_is_array(&top->type)) {
        uint64_t length;
        *name = (moonplan_text){NULL, 0};
        *type = mpl_eip712_element(&top->type, &length);
        if (!moonplan_walk_next(&top->elements)) return false;
        *value = top->elements.value;
        return true;
    }
    const mpl_eip712_struct *declared = &h->types->structs[top->type.width];
    if (top->next == declared->count) return false;
    const mpl_eip712_member *member = &declared->members[top->next++];
    *name = member->name;
    *type = member->type;
    *value = moonplan_value_member(top->value, name->bytes, name->length);
    return true;
}

static void tree_child(mpl_builder *tree, moonplan_text name, moonplan_text type) {
    mpl_build_object(tree);
    if (name.bytes) {
        tree_name(tree, "name");
        mpl_build_string(tree, name);
    }
    tree_name(tree, "type");
    mpl_build_string(tree, type);
}

/* Until the outermost frame is done; its hash comes out. */
static bool run(hasher *h, uint8_t out[32]) {
    for (;;) {
        frame *top = &h->frames[h->depth - 1];
        moonplan_text name;
        mpl_eip712_type type;
        moonplan_value value;
        if (next(h, top, &name, &type, &value)) {
            if (h->tree) tree_child(h->tree, name, type.text);
            if (mpl_eip712_is_array(&type) || type.base == MPL_EIP712_STRUCT) {
                if (!push(h, &type, value)) return false;
                continue;
            }
            mpl_eip712_scalar(&type, value, out);
            if (h->tree) {
                tree_name(h->tree, "value");
                mpl_build_value(h->tree, value);
            }
        } else {
            mpl_keccak_finish(&top->keccak, out);
            if (h->tree) mpl_build_end(h->tree);
            if (--h->depth == 0) return true;
        }
        if (h->tree) {
            tree_encoded(h->tree, out);
            mpl_build_end(h->tree);
        }
        mpl_keccak_add(&h->frames[h->depth - 1].keccak, out, 32);
    }
}

bool mpl_eip712_hash_struct(mpl_eip712 *types, size_t number, moonplan_value object,
                            mpl_builder *tree, uint8_t out[32]) {
    hasher h = {.types = types, .tree = tree};
    mpl_eip712_type type = {types->structs[number].name, MPL_EIP712_STRUCT, (uint16_t)number};
    if (tree) tree_child(tree, (moonplan_text){NULL, 0}, type.text);
    bool fine = push(&h, &type, object) && run(&h, out);
    if (fine && tree) {
        tree_encoded(tree, out);
        mpl_build_end(tree);
    }
    mpl_release(types->alloc, h.frames, h.capacity * sizeof *h.frames);
    return fine;
}
