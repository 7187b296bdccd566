/* What EIP-712 and ERC-8410 ask of types, domain and message. */
#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "typed_data.h"

typedef struct level {
    moonplan_value value;
    mpl_eip712_type type;
    moonplan_walk walk;
} level;

typedef struct judge {
    mpl_faults *faults;
    mpl_eip712 *types;
    const moonplan_limits *limits;
    moonplan_value domain;
    size_t primary; /* SIZE_MAX: not known */
    /* Of the message: on the heap, as its nesting may go to the limit. */
    level *levels;
    size_t depth, capacity;
    uint64_t elements;
    bool elements_over, nesting_over;
} judge;

#define FAULT(j, code, value, ...)      MPL_FAULT((j)->faults, code, value, __VA_ARGS__)
#define FAULT_NAME(j, code, value, ...) MPL_FAULT_NAME((j)->faults, code, value, __VA_ARGS__)

/* The fields that a domain may have, in the order of EIP-712. */
static const struct {
    const char *name;
    mpl_eip712_type type;
} fields[] = {{"name", {{"string", 6}, MPL_EIP712_STRING, 0}},
              {"version", {{"string", 6}, MPL_EIP712_STRING, 0}},
              {"chainId", {{"uint256", 7}, MPL_EIP712_UINT, 256}},
              {"verifyingContract", {{"address", 7}, MPL_EIP712_ADDRESS, 0}},
              {"salt", {{"bytes32", 7}, MPL_EIP712_BYTES_N, 32}}};
#define FIELDS (sizeof fields / sizeof *fields)

static bool check_type(judge *j, const char *what, moonplan_value value, moonplan_type wanted) {
    moonplan_type type = moonplan_value_type(value);
    if (type == wanted) return true;
    FAULT(j, MOONPLAN_TYPED_DATA_TYPE, value, "%s must be %s, not %s", what, mpl_type_text(wanted),
          mpl_type_text(type));
    return false;
}

/* -- Values ------------------------------------------------------------------*/

static const char *written(mpl_eip712_base base) {
    switch (base) {
    case MPL_EIP712_BOOL:
        return "true or false";
    case MPL_EIP712_STRING:
        return "a string";
    case MPL_EIP712_UINT:
    case MPL_EIP712_INT:
        return "a string of decimal digits";
    default:
        return "a string of hexadecimal digits";
    }
}

static void check_scalar(judge *j, const mpl_eip712_type *type, moonplan_value value) {
    moonplan_text text = moonplan_value_string(value);
    mpl_eip712_fit fit = mpl_eip712_scalar(type, value, NULL);
    moonplan_code code = MOONPLAN_TYPED_DATA_VALUE;
    if (fit == MPL_EIP712_FITS) return;
    if (fit == MPL_EIP712_WRONG_JSON) {
        FAULT(j, code, value, "a value of type %t is written as %s, not as %s", &type->text,
              written(type->base), mpl_type_text(moonplan_value_type(value)));
    } else if (fit == MPL_EIP712_RANGE) {
        FAULT(j, code, value, "%q is out of the range of %t", &text, &type->text);
    } else if (type->base == MPL_EIP712_UINT) {
        FAULT(j, code, value, "%q is not of type %t: digits alone, with no 0 before others", &text,
              &type->text);
    } else if (type->base == MPL_EIP712_INT) {
        FAULT(j, code, value,
              "%q is not of type %t: digits with no 0 before others, and - before those of a "
              "negative number",
              &text, &type->text);
    } else if (type->base == MPL_EIP712_BYTES) {
        FAULT(j, code, value,
              "%q is not of type bytes: 0x and an even number of hexadecimal digits", &text);
    } else {
        FAULT(j, code, value, "%q is not of type %t: 0x and %u hexadecimal digits", &text,
              &type->text,
              type->base == MPL_EIP712_ADDRESS ? (uint64_t)40 : (uint64_t)type->width * 2);
    }
}

static void fault_absent(judge *j, moonplan_value object, moonplan_text type, moonplan_text name) {
    moonplan_error *slot = mpl_faults_add(j->faults);
    if (!slot) return;
    mpl_pointer pointer;
    mpl_pointer_of(&pointer, object.document, object.node);
    mpl_pointer_name(&pointer, name);
    mpl_error_set(slot, MOONPLAN_TYPED_DATA_MISSING_MEMBER, moonplan_value_offset(object), &pointer,
                  "the value of type %q has no %q, which its type declares", &type, &name);
}

static bool open_array(judge *j, const mpl_eip712_type *type, moonplan_value value) {
    moonplan_type json = moonplan_value_type(value);
    uint64_t length, count = moonplan_value_count(value);
    mpl_eip712_element(type, &length);
    if (json != MOONPLAN_ARRAY) {
        FAULT(j, MOONPLAN_TYPED_DATA_VALUE, value,
              "a value of type %t is written as an array, not as %s", &type->text,
              mpl_type_text(json));
        return false;
    }
    if (length != MPL_EIP712_ANY && length != count) {
        FAULT(j, MOONPLAN_TYPED_DATA_ARRAY_LENGTH, value,
              "the number of elements, %u, is not that of the type %t", count, &type->text);
        return false;
    }
    if (count > j->limits->elements - j->elements) {
        if (!j->elements_over)
            FAULT(j, MOONPLAN_LIMIT, value,
                  "with this array the message has more elements than the limit elements allows: "
                  "%u",
                  j->limits->elements);
        j->elements_over = true;
        return false;
    }
    j->elements += count;
    return true;
}

static bool open_struct(judge *j, const mpl_eip712_type *type, moonplan_value value) {
    const mpl_eip712_struct *declared = &j->types->structs[type->width];
    moonplan_type json = moonplan_value_type(value);
    if (json != MOONPLAN_OBJECT) {
        FAULT(j, MOONPLAN_TYPED_DATA_VALUE, value,
              "a value of type %t is written as an object, not as %s", &type->text,
              mpl_type_text(json));
        return false;
    }
    if (!declared->sound) return false;
    for (size_t i = 0; i < declared->count && !mpl_faults_enough(j->faults); i++) {
        moonplan_text name = declared->members[i].name;
        if (moonplan_value_type(moonplan_value_member(value, name.bytes, name.length)) ==
            MOONPLAN_NONE)
            fault_absent(j, value, declared->name, name);
    }
    return true;
}

/* Look at one value; an array or struct whose inside is to be looked at becomes the top level. */
static void check_value(judge *j, const mpl_eip712_type *type, moonplan_value value) {
    if (type->base == MPL_EIP712_UNKNOWN) return; /* the type is at fault */
    if (j->depth > j->limits->nesting) {
        if (!j->nesting_over)
            FAULT(j, MOONPLAN_LIMIT, value,
                  "the value is nested deeper than the limit nesting allows: %u levels below the "
                  "message",
                  j->limits->nesting);
        j->nesting_over = true;
        return;
    }
    bool array = mpl_eip712_is_array(type);
    if (!array && type->base != MPL_EIP712_STRUCT) {
        check_scalar(j, type, value);
        return;
    }
    if (array ? !open_array(j, type, value) : !open_struct(j, type, value)) return;
    if (!mpl_grow(j->types->alloc, (void **)&j->levels, &j->capacity, j->depth + 1,
                  sizeof *j->levels)) {
        j->faults->no_memory = true;
        return;
    }
    j->levels[j->depth++] = (level){value, *type, moonplan_value_walk(value)};
}

static const mpl_eip712_member *declared_member(const mpl_eip712_struct *declared,
                                                moonplan_text name) {
    for (size_t i = 0; i < declared->count; i++)
        if (mpl_text_equal(declared->members[i].name, name)) return &declared->members[i];
    return NULL;
}

static void check_message(judge *j, moonplan_value message) {
    if (j->primary == SIZE_MAX) return;
    const mpl_eip712_struct *root = &j->types->structs[j->primary];
    mpl_eip712_type type = {root->name, MPL_EIP712_STRUCT, (uint16_t)j->primary};
    check_value(j, &type, message);
    while (j->depth > 0 && !mpl_faults_enough(j->faults)) {
        level *top = &j->levels[j->depth - 1];
        if (!moonplan_walk_next(&top->walk)) {
            j->depth--;
            continue;
        }
        moonplan_value value = top->walk.value;
        if (mpl_eip712_is_array(&top->type)) {
            uint64_t length;
            type = mpl_eip712_element(&top->type, &length);
        } else {
            const mpl_eip712_struct *declared = &j->types->structs[top->type.width];
            const mpl_eip712_member *found = declared_member(declared, top->walk.name);
            if (!found) {
                FAULT_NAME(j, MOONPLAN_TYPED_DATA_UNKNOWN_MEMBER, value,
                           "%q is not declared by the type %q, so no signature covers it",
                           &top->walk.name, &declared->name);
                continue;
            }
            type = found->type;
        }
        check_value(j, &type, value);
    }
    mpl_release(j->types->alloc, j->levels, j->capacity * sizeof *j->levels);
}

/* -- Types -------------------------------------------------------------------*/

static void check_name(judge *j, const char *what, moonplan_value value, moonplan_text name) {
    if (!mpl_eip712_identifier(name))
        FAULT(j, MOONPLAN_TYPED_DATA_IDENTIFIER, value,
              "%q is no name of %s: letters, digits and _, and no digit first", &name, what);
}

static void check_expression(judge *j, moonplan_value value, moonplan_text text) {
    moonplan_code code = MOONPLAN_TYPED_DATA_UNRESOLVED_TYPE;
    if (!mpl_eip712_expression(text)) {
        FAULT(j, MOONPLAN_TYPED_DATA_TYPE_EXPRESSION, value,
              text.length > MPL_EIP712_EXPRESSION_MOST
                  ? "%q has more than 128 characters"
                  : "%q is no type: a name, then [] or [n] with n from 1 for each dimension",
              &text);
        return;
    }
    if (mpl_eip712_resolve(j->types, text).base != MPL_EIP712_UNKNOWN) return;
    size_t length = 0;
    while (length < text.length && text.bytes[length] != '[') length++;
    moonplan_text name = {text.bytes, length};
    if (mpl_text_is(name, "EIP712Domain"))
        FAULT(j, code, value, "the type EIP712Domain is that of the domain, not of a member");
    else if (mpl_eip712_find(j->types, name) != SIZE_MAX)
        return; /* a struct that shadows a basic type, which is the fault */
    else if (mpl_text_is(name, "uint") || mpl_text_is(name, "int"))
        FAULT(j, code, value, "%q has no width; EIP-712 writes %t256", &text, &name);
    else if (mpl_eip712_basic_name(name))
        FAULT(j, code, value,
              name.bytes[0] == 'b'
                  ? "%q is no type: bytes1 to bytes32, without leading zeros"
                  : "%q is no type: integers are 8 to 256 bits wide, in steps of 8, without "
                    "leading zeros",
              &text);
    else
        FAULT(j, code, value, "%q is neither a type of EIP-712 nor declared in types", &name);
}

static void check_declaration(judge *j, moonplan_value list, moonplan_value declaration) {
    static const mpl_shape shape = {"the member", {{"name", true}, {"type", true}}};
    if (!check_type(j, "a struct's member", declaration, MOONPLAN_OBJECT)) return;
    mpl_shape_open(j->faults, &shape, declaration, MOONPLAN_TYPED_DATA_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(declaration);
    for (;;) {
        int which = mpl_shape_next(j->faults, &shape, &walk, MOONPLAN_TYPED_DATA_UNKNOWN_MEMBER);
        if (which < 0) return;
        if (!check_type(j, shape.members[which].name, walk.value, MOONPLAN_STRING)) continue;
        moonplan_text text = moonplan_value_string(walk.value);
        if (which == 1) {
            check_expression(j, walk.value, text);
            continue;
        }
        check_name(j, "a member", walk.value, text);
        moonplan_walk earlier = moonplan_value_walk(list);
        while (moonplan_walk_next(&earlier) && earlier.value.node != declaration.node) {
            if (!mpl_text_equal(moonplan_value_string(mpl_member(earlier.value, "name")), text))
                continue;
            FAULT(j, MOONPLAN_TYPED_DATA_DUPLICATE_STRUCT_MEMBER, walk.value,
                  "%q is declared twice", &text);
            break;
        }
    }
}

/* EIP712Domain declares the fields that the domain has, all of them, in their order. */
static void check_domain_declaration(judge *j, moonplan_value list) {
    char expected[128] = "";
    size_t count = 0;
    bool same = true;
    if (moonplan_value_count(j->domain) == 0) return; /* a fault of the domain */
    for (size_t i = 0; i < FIELDS; i++) {
        if (moonplan_value_type(mpl_member(j->domain, fields[i].name)) == MOONPLAN_NONE) continue;
        moonplan_value declared = moonplan_value_element(list, count++);
        same = same &&
               mpl_text_is(moonplan_value_string(mpl_member(declared, "name")), fields[i].name) &&
               mpl_text_equal(moonplan_value_string(mpl_member(declared, "type")),
                              fields[i].type.text);
        if (*expected) strcat(expected, ", ");
        strncat(expected, fields[i].type.text.bytes, fields[i].type.text.length);
        strcat(strcat(expected, " "), fields[i].name);
    }
    if (same && count == moonplan_value_count(list)) return;
    FAULT(j, MOONPLAN_TYPED_DATA_DOMAIN_DECLARATION, list,
          "the type EIP712Domain must declare what the domain has, in this order: %s",
          count ? expected : "nothing");
}

static void check_struct(judge *j, size_t number, moonplan_text name, moonplan_value list) {
    bool domain = mpl_text_is(name, "EIP712Domain");
    uint64_t before = j->faults->count;
    if (!mpl_eip712_identifier(name))
        FAULT_NAME(j, MOONPLAN_TYPED_DATA_IDENTIFIER, list,
                   "%q is no name of a type: letters, digits and _, and no digit first", &name);
    else if (mpl_eip712_basic_name(name))
        FAULT_NAME(j, MOONPLAN_TYPED_DATA_SHADOWED_BASE_TYPE, list,
                   "%q is the name of a basic type; readers disagree about which of the two is "
                   "meant",
                   &name);
    else if (!domain && j->primary != SIZE_MAX && j->types->resolved && number != j->primary &&
             !mpl_eip712_has(&j->types->structs[j->primary].reach, number))
        FAULT_NAME(j, MOONPLAN_TYPED_DATA_UNUSED_TYPE, list,
                   "nothing of type %q can be in the message, so no signature covers it", &name);
    if (!check_type(j, "a struct's members", list, MOONPLAN_ARRAY)) return;
    uint64_t count = moonplan_value_count(list);
    if (count > j->limits->members) {
        FAULT(j, MOONPLAN_LIMIT, list,
              "the struct has %u members, more than the limit members allows: %u", count,
              j->limits->members);
        return;
    }
    moonplan_walk walk = moonplan_value_walk(list);
    while (!mpl_faults_enough(j->faults) && moonplan_walk_next(&walk))
        check_declaration(j, list, walk.value);
    if (domain && j->faults->count == before) check_domain_declaration(j, list);
}

static void check_types(judge *j, moonplan_value types) {
    if (!check_type(j, "types", types, MOONPLAN_OBJECT)) return;
    uint64_t count = moonplan_value_count(types);
    if (count > j->limits->types) {
        FAULT(j, MOONPLAN_LIMIT, types,
              "the request declares %u types, more than the limit types allows: %u", count,
              j->limits->types);
        return;
    }
    if (moonplan_value_type(mpl_member(types, "EIP712Domain")) == MOONPLAN_NONE)
        mpl_fault_missing(j->faults, MOONPLAN_TYPED_DATA_MISSING_MEMBER, types, "types",
                          "EIP712Domain");
    moonplan_walk walk = moonplan_value_walk(types);
    for (size_t i = 0; !mpl_faults_enough(j->faults) && moonplan_walk_next(&walk); i++)
        check_struct(j, i, walk.name, walk.value);
}

/* -- The rest ----------------------------------------------------------------*/

static void check_primary(judge *j, moonplan_value value) {
    if (!check_type(j, "primaryType", value, MOONPLAN_STRING) || j->primary != SIZE_MAX) return;
    moonplan_text name = moonplan_value_string(value);
    if (mpl_text_is(name, "EIP712Domain"))
        FAULT(j, MOONPLAN_TYPED_DATA_PRIMARY_TYPE, value,
              "the type EIP712Domain is that of the domain, not of the message");
    else if (mpl_eip712_find(j->types, name) == SIZE_MAX && j->types->count)
        FAULT(j, MOONPLAN_TYPED_DATA_PRIMARY_TYPE, value, "%q is no struct that types declares",
              &name);
}

static void check_domain(judge *j, moonplan_value domain) {
    if (!check_type(j, "domain", domain, MOONPLAN_OBJECT)) return;
    if (moonplan_value_count(domain) == 0)
        FAULT(j, MOONPLAN_TYPED_DATA_DOMAIN_EMPTY, domain,
              "the domain has no field, so the signature would hold everywhere; EIP-712 asks for "
              "one at least");
    moonplan_walk walk = moonplan_value_walk(domain);
    while (!mpl_faults_enough(j->faults) && moonplan_walk_next(&walk)) {
        size_t i = 0;
        while (i < FIELDS && !mpl_text_is(walk.name, fields[i].name)) i++;
        if (i < FIELDS)
            check_scalar(j, &fields[i].type, walk.value);
        else
            FAULT_NAME(j, MOONPLAN_TYPED_DATA_UNKNOWN_MEMBER, walk.value,
                       "the domain has no field %q; there are: name, version, chainId, "
                       "verifyingContract, salt",
                       &walk.name);
    }
}

void mpl_typed_data_judge(mpl_faults *faults, mpl_eip712 *types, const moonplan_limits *limits,
                          moonplan_value typed_data) {
    static const mpl_shape shape = {
        "typed_data",
        {{"types", true}, {"primaryType", true}, {"domain", true}, {"message", true}}};
    judge j = {.faults = faults,
               .types = types,
               .limits = limits,
               .domain = mpl_member(typed_data, "domain"),
               .primary = SIZE_MAX};
    if (!check_type(&j, "typed_data", typed_data, MOONPLAN_OBJECT)) return;
    moonplan_text primary = moonplan_value_string(mpl_member(typed_data, "primaryType"));
    if (primary.bytes && !mpl_text_is(primary, "EIP712Domain"))
        j.primary = mpl_eip712_find(types, primary);
    mpl_shape_open(faults, &shape, typed_data, MOONPLAN_TYPED_DATA_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(typed_data);
    for (;;) {
        int which = mpl_shape_next(faults, &shape, &walk, MOONPLAN_TYPED_DATA_UNKNOWN_MEMBER);
        switch (which) {
        case 0:
            check_types(&j, walk.value);
            break;
        case 1:
            check_primary(&j, walk.value);
            break;
        case 2:
            check_domain(&j, walk.value);
            break;
        case 3:
            check_message(&j, walk.value);
            break;
        default:
            return;
        }
    }
}
