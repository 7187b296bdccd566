/* EIP-712: struct types, and the hashes of typed values. */
#ifndef MPL_CALL_EIP712_H
#define MPL_CALL_EIP712_H

#include "../core/build.h"
#include "../core/value.h"

/* ERC-8410 allows no more types, the domain's included; the limit `types` has this ceiling. */
#define MPL_EIP712_TYPES_MOST 128
/* Characters of one type expression (ERC-8410). */
#define MPL_EIP712_EXPRESSION_MOST 128

typedef enum mpl_eip712_base {
    MPL_EIP712_UNKNOWN = 0, /* not a type, or one that cannot be relied on */
    MPL_EIP712_ADDRESS,
    MPL_EIP712_BOOL,
    MPL_EIP712_STRING,
    MPL_EIP712_BYTES,
    MPL_EIP712_BYTES_N,
    MPL_EIP712_UINT,
    MPL_EIP712_INT,
    MPL_EIP712_STRUCT
} mpl_eip712_base;

typedef struct mpl_eip712_type {
    moonplan_text text; /* as declared; an array ends with its outermost length in brackets */
    mpl_eip712_base base;
    uint16_t width; /* bits of an integer, bytes of a bytes_n, the number of a struct */
} mpl_eip712_type;

typedef struct mpl_eip712_member {
    moonplan_text name;
    mpl_eip712_type type;
} mpl_eip712_member;

/* A set of structs, by number. */
typedef struct mpl_eip712_set {
    uint64_t bits[MPL_EIP712_TYPES_MOST / 64];
} mpl_eip712_set;

typedef struct mpl_eip712_struct {
    moonplan_text name;
    mpl_eip712_member *members;
    uint32_t count;
    bool sound; /* declared without a fault; the members of others are not to be relied on */
    bool hashed;
    uint8_t type_hash[32];
    mpl_eip712_set reach; /* structs that members lead to, at any depth */
} mpl_eip712_struct;

typedef struct mpl_eip712 {
    mpl_alloc *alloc;
    mpl_eip712_struct *structs; /* in document order */
    mpl_eip712_member *members;
    size_t count, capacity, member_count, member_capacity;
    uint16_t
        order[MPL_EIP712_TYPES_MOST]; /* numbers of the structs, sorted by their names' bytes */
    bool resolved;                    /* every member has a type that is one */
} mpl_eip712;

static inline bool mpl_eip712_has(const mpl_eip712_set *set, size_t number) {
    return set->bits[number / 64] >> (number % 64) & 1;
}

/* Read `types`, quietly: what is wrong with it leaves structs that are not sound. Too many types or
 * members (the limits) leave structs out. False when memory is short. */
bool mpl_eip712_open(mpl_eip712 *types, moonplan_value value, const moonplan_limits *limits,
                     mpl_alloc *alloc);
void mpl_eip712_close(mpl_eip712 *types);

/* The number of a struct, or SIZE_MAX. */
size_t mpl_eip712_find(const mpl_eip712 *types, moonplan_text name);

/* Letters, digits and underscore, no digit first. */
bool mpl_eip712_identifier(moonplan_text name);
/* A name that EIP-712 or a library in use reads as a basic type, whatever its width. */
bool mpl_eip712_basic_name(moonplan_text name);
/* Is a text a name with [] and [n] behind it? */
bool mpl_eip712_expression(moonplan_text text);
/* The type that an expression stands for; MPL_EIP712_UNKNOWN if it stands for none. */
mpl_eip712_type mpl_eip712_resolve(const mpl_eip712 *types, moonplan_text text);

static inline bool mpl_eip712_is_array(const mpl_eip712_type *type) {
    return type->text.length && type->text.bytes[type->text.length - 1] == ']';
}
/* The type of an array's elements, and how many there are; MPL_EIP712_ANY for []. */
#define MPL_EIP712_ANY UINT64_MAX
mpl_eip712_type mpl_eip712_element(const mpl_eip712_type *array, uint64_t *length);

typedef enum mpl_eip712_fit {
    MPL_EIP712_FITS,
    MPL_EIP712_WRONG_JSON, /* a value of another JSON type than this one is written as */
    MPL_EIP712_MALFORMED,
    MPL_EIP712_RANGE
} mpl_eip712_fit;

/* Does a value fit a type that is neither an array nor a struct? If so, and `out` is not NULL, that
 * is its encodeData: 32 bytes. */
mpl_eip712_fit mpl_eip712_scalar(const mpl_eip712_type *type, moonplan_value value,
                                 uint8_t out[32]);

/* hashStruct of an object that fits the struct. With `tree` the way there is written into it: an
 * object {type, members: [...], encoded}, where a member is {name, type, encoded} and value,
 * members or elements. False when memory is short. */
bool mpl_eip712_hash_struct(mpl_eip712 *types, size_t number, moonplan_value object,
                            mpl_builder *tree, uint8_t out[32]);
/* encodeType of a struct, piece by piece. */
bool mpl_eip712_encode_type(const mpl_eip712 *types, size_t number, moonplan_sink sink, void *data);

#endif
