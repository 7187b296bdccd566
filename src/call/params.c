#include "params.h"

#include <string.h>

#include "../core/faults.h"
#include "../core/listing.h"
#include "../core/literal.h"
#include "../core/text.h"
#include "eip55.h"
#include "params_own.h"
#include "rule.h"

typedef struct taker {
    mpl_faults faults;
    mpl_builder builder;
    moonplan_text owner;
} taker;

static void take_set(taker *t, const mpl_param_set *set, moonplan_value given);
static void take(taker *t, const mpl_param *param, const mpl_param_set *beside,
                 moonplan_value holder, moonplan_value given);

/* -- Faults -------------------------------------------------------------------*/

/* The path of a parameter as a person says it: calls/0/to. */
typedef struct label {
    mpl_pointer pointer;
    moonplan_text text;
} label;

static const moonplan_text *label_of(label *out, moonplan_value value) {
    out->pointer = (mpl_pointer){0, false, ""};
    mpl_pointer_of(&out->pointer, value.document, value.node);
    out->text = (moonplan_text){out->pointer.bytes + 1, out->pointer.length - 1};
    return &out->text;
}

/* A fault where `given` stands. What is built is not used then, and stays well-formed with a null
 * in the value's place. */
#define FAULT(t, code, given, format, ...)                                                         \
    do {                                                                                           \
        label label_;                                                                              \
        MPL_FAULT(&(t)->faults, code, given, "the parameter %q " format, label_of(&label_, given), \
                  __VA_ARGS__);                                                                    \
        mpl_build_null(&(t)->builder);                                                             \
    } while (0)
#define TYPE(t, given, wanted)                                                                     \
    FAULT(t, MOONPLAN_BUILD_PARAM_TYPE, given, "must be %s, not %s", wanted,                       \
          mpl_type_text(moonplan_value_type(given)))
#define VALUE(t, given, ...) FAULT(t, MOONPLAN_BUILD_PARAM_VALUE, given, __VA_ARGS__)

/* A value as a message shows it. */
static mpl_listing show(moonplan_value value) {
    mpl_listing one = {.length = 0};
    if (moonplan_value_type(value) == MOONPLAN_STRING)
        mpl_listing_string(&one, moonplan_value_string(value));
    else
        mpl_listing_literal(&one, moonplan_value_source(value));
    one.bytes[one.length] = 0;
    return one;
}

/* -- Numbers --------------------------------------------------------------------*/

static void add_decimal(taker *t, mpl_uint256 number) {
    char digits[MPL_UINT256_TEXT];
    size_t length = mpl_uint256_decimal(digits, number);
    mpl_build_string(&t->builder, (moonplan_text){digits, length});
}

/* The digits of an integer, or a string. */
static bool digits_of(taker *t, const mpl_param *param, moonplan_value given, moonplan_text *out) {
    moonplan_type type = moonplan_value_type(given);
    *out = moonplan_value_string(given);
    if (type == MOONPLAN_STRING) return true;
    *out = moonplan_value_source(given);
    if (type == MOONPLAN_INTEGER) return true;
    if (type != MOONPLAN_NUMBER)
        TYPE(t, given,
             param->type == MPL_PARAM_CHAIN ? "a chain's number, or eip155: and that"
                                            : "an integer, or its decimal digits in a string");
    else if (mpl_literal_is_integer(*out))
        return true;
    else
        VALUE(t, given, "is %s, which is not written as an integer", show(given).bytes);
    return false;
}

static void take_chain(taker *t, const mpl_param *param, moonplan_value given) {
    const size_t prefix = sizeof MPL_EIP155 - 1;
    moonplan_text text;
    mpl_uint256 number;
    if (!digits_of(t, param, given, &text)) return;
    if (moonplan_value_type(given) == MOONPLAN_STRING && text.length >= prefix &&
        memcmp(text.bytes, MPL_EIP155, prefix) == 0)
        text = (moonplan_text){text.bytes + prefix, text.length - prefix};
    if (text.length > MPL_CAIP2_MOST || !mpl_uint256_from_decimal(&number, text) ||
        mpl_uint256_is_zero(number))
        VALUE(t, given,
              "is %s, which is no EIP-155 chain: an integer from 1 up, of at most 32 digits",
              show(given).bytes);
    else
        add_decimal(t, number);
}

static void check_bounds(taker *t, const mpl_param *param, moonplan_value given,
                         mpl_uint256 number) {
    char bound[MPL_UINT256_TEXT];
    if (param->has_least && mpl_uint256_order(number, param->least) < 0) {
        mpl_uint256_decimal(bound, param->least);
        VALUE(t, given, "is %s; the least is %s", show(given).bytes, bound);
    } else if (param->has_most && mpl_uint256_order(number, param->most) > 0) {
        mpl_uint256_decimal(bound, param->most);
        VALUE(t, given, "is %s; the most is %s", show(given).bytes, bound);
    } else {
        add_decimal(t, number);
    }
}

static void take_uint256(taker *t, const mpl_param *param, moonplan_value given) {
    moonplan_text text;
    mpl_uint256 number;
    if (!digits_of(t, param, given, &text)) return;
    if (mpl_uint256_from_decimal(&number, text))
        check_bounds(t, param, given, number);
    else
        VALUE(t, given, "is %s, which is not an integer from 0 to 2^256-1 in plain digits",
              show(given).bytes);
}

/* How many decimals tokens have, as far as that is said anywhere. Whether the other parameter's
 * value is sound, is said there. */
static int decimals_of(const mpl_param *param, const mpl_param_set *beside, moonplan_value holder) {
    int64_t said;
    if (!param->decimals_of.bytes || !beside) return param->decimals;
    moonplan_value other =
        moonplan_value_member(holder, param->decimals_of.bytes, param->decimals_of.length);
    bool fits = moonplan_value_integer(other, &said) && said >= 0 && said <= MPL_DECIMALS_MOST;
    return fits ? (int)said : MPL_DECIMALS_UNSAID;
}

static void take_amount(taker *t, const mpl_param *param, const mpl_param_set *beside,
                        moonplan_value holder, moonplan_value given) {
    moonplan_text text;
    mpl_uint256 number;
    if (!digits_of(t, param, given, &text)) return;
    const char *fault = mpl_amount_read(&number, text, decimals_of(param, beside, holder));
    if (fault)
        VALUE(t, given, "is %s, which %s", show(given).bytes, fault);
    else
        check_bounds(t, param, given, number);
}

/* -- Digits ---------------------------------------------------------------------*/

static void add_lower(taker *t, moonplan_text text) {
    mpl_buffer lower;
    mpl_buffer_open(&lower, &t->faults.alloc);
    mpl_buffer_add(&lower, text.bytes, text.length);
    if (lower.failed) {
        t->faults.no_memory = true;
        mpl_build_null(&t->builder);
    } else {
        mpl_hex_lower(lower.bytes, lower.length);
        mpl_build_string(&t->builder, (moonplan_text){lower.bytes, lower.length});
    }
    mpl_buffer_close(&lower);
}

static void take_address(taker *t, moonplan_value given) {
    moonplan_text text = moonplan_value_string(given);
    if (!text.bytes) {
        TYPE(t, given, "an address");
    } else if (text.length != 42 || mpl_hex_scan(text) == MPL_HEX_NO) {
        VALUE(t, given, "is %s, which is no address: 0x and 40 hexadecimal digits",
              show(given).bytes);
    } else if (mpl_eip55_check(text) == MPL_EIP55_WRONG) {
        VALUE(t, given,
              "is %s, whose checksum is wrong: a digit is, or the case of a letter (ERC-55)",
              show(given).bytes);
    } else {
        add_lower(t, text);
    }
}

static void take_bytes(taker *t, const mpl_param *param, moonplan_value given) {
    moonplan_text text = moonplan_value_string(given);
    if (!text.bytes) {
        TYPE(t, given, "bytes: 0x and hexadecimal digits");
    } else if (mpl_hex_scan(text) == MPL_HEX_NO) {
        VALUE(t, given, "is %s, which is not 0x and an even number of hexadecimal digits",
              show(given).bytes);
    } else if (text.length / 2 - 1 > param->max_length) {
        VALUE(t, given, "has %u bytes; %u are allowed", (uint64_t)(text.length / 2 - 1),
              param->max_length);
    } else {
        add_lower(t, text);
    }
}

/* -- JSON's own types -------------------------------------------------------------*/

static bool same(moonplan_value a, moonplan_value b) {
    moonplan_type type = moonplan_value_type(a), other = moonplan_value_type(b);
    if (type == MOONPLAN_STRING)
        return mpl_text_equal(moonplan_value_string(a), moonplan_value_string(b));
    if (type == MOONPLAN_TRUE || type == MOONPLAN_FALSE) return type == other;
    return mpl_literal_order(moonplan_value_source(a), moonplan_value_source(b)) == 0;
}

/* Whether it is one of the choices, where there are any; both are of the parameter's type. */
static bool check_choices(taker *t, const mpl_param *param, moonplan_value given) {
    mpl_listing list = {.length = 0};
    if (moonplan_value_type(param->choices) == MOONPLAN_NONE) return true;
    moonplan_walk walk = moonplan_value_walk(param->choices);
    while (moonplan_walk_next(&walk)) {
        if (same(walk.value, given)) return true;
        if (moonplan_value_type(walk.value) == MOONPLAN_STRING)
            mpl_listing_string(&list, moonplan_value_string(walk.value));
        else
            mpl_listing_literal(&list, moonplan_value_source(walk.value));
    }
    moonplan_text allowed = mpl_listing_text(&list);
    VALUE(t, given, "is %s; there are: %t", show(given).bytes, &allowed);
    return false;
}

static void take_string(taker *t, const mpl_param *param, moonplan_value given) {
    moonplan_text text = moonplan_value_string(given);
    if (!text.bytes) {
        TYPE(t, given, "a string");
        return;
    }
    size_t length = param->max_length == UINT64_MAX ? 0 : mpl_utf8_count(text);
    if (length > param->max_length)
        VALUE(t, given, "has %u characters; %u are allowed", (uint64_t)length, param->max_length);
    else if (check_choices(t, param, given))
        mpl_build_value(&t->builder, given);
}

/* `side` is -1 for a lower bound, 1 for an upper one. */
static bool beyond(moonplan_value bound, moonplan_value given, int side) {
    return moonplan_value_type(bound) != MOONPLAN_NONE &&
           mpl_literal_order(moonplan_value_source(given), moonplan_value_source(bound)) == side;
}

static void take_number(taker *t, const mpl_param *param, moonplan_value given) {
    moonplan_type type = moonplan_value_type(given);
    moonplan_text literal = moonplan_value_source(given);
    if (type != MOONPLAN_INTEGER && type != MOONPLAN_NUMBER)
        TYPE(t, given, "a number");
    else if (param->integer && !mpl_literal_is_integer(literal))
        VALUE(t, given, "must be written as an integer, not as %s", show(given).bytes);
    else if (beyond(param->min, given, -1))
        VALUE(t, given, "is %s; the least is %s", show(given).bytes, show(param->min).bytes);
    else if (beyond(param->max, given, 1))
        VALUE(t, given, "is %s; the most is %s", show(given).bytes, show(param->max).bytes);
    else if (type == MOONPLAN_NUMBER &&
             (mpl_literal_is_integer(literal) || !mpl_literal_is_finite(literal)))
        VALUE(t, given, "is %s, which Lua cannot hold exactly", show(given).bytes);
    else if (check_choices(t, param, given))
        mpl_build_value(&t->builder, given);
}

static void take_boolean(taker *t, const mpl_param *param, moonplan_value given) {
    moonplan_type type = moonplan_value_type(given);
    if (type != MOONPLAN_TRUE && type != MOONPLAN_FALSE)
        TYPE(t, given, "true or false");
    else if (check_choices(t, param, given))
        mpl_build_boolean(&t->builder, type == MOONPLAN_TRUE);
}

static void take_array(taker *t, const mpl_param *param, moonplan_value given) {
    if (moonplan_value_type(given) != MOONPLAN_ARRAY) {
        TYPE(t, given, "an array");
        return;
    }
    if (moonplan_value_count(given) > param->max_length) {
        VALUE(t, given, "has %u elements; %u are allowed", (uint64_t)moonplan_value_count(given),
              param->max_length);
        return;
    }
    if (!param->items) {
        mpl_build_value(&t->builder, given);
        return;
    }
    mpl_build_array(&t->builder);
    moonplan_walk walk = moonplan_value_walk(given);
    while (!mpl_faults_enough(&t->faults) && moonplan_walk_next(&walk))
        take(t, param->items, NULL, given, walk.value);
    mpl_build_end(&t->builder);
}

static void take_object(taker *t, const mpl_param *param, moonplan_value given) {
    if (moonplan_value_type(given) != MOONPLAN_OBJECT)
        TYPE(t, given, "an object");
    else if (param->fields.open)
        mpl_build_value(&t->builder, given);
    else
        take_set(t, &param->fields, given);
}

static void take(taker *t, const mpl_param *param, const mpl_param_set *beside,
                 moonplan_value holder, moonplan_value given) {
    switch (param->type) {
    case MPL_PARAM_CHAIN:
        take_chain(t, param, given);
        break;
    case MPL_PARAM_ADDRESS:
        take_address(t, given);
        break;
    case MPL_PARAM_AMOUNT:
        take_amount(t, param, beside, holder, given);
        break;
    case MPL_PARAM_UINT256:
        take_uint256(t, param, given);
        break;
    case MPL_PARAM_BYTES:
        take_bytes(t, param, given);
        break;
    case MPL_PARAM_STRING:
        take_string(t, param, given);
        break;
    case MPL_PARAM_NUMBER:
        take_number(t, param, given);
        break;
    case MPL_PARAM_BOOLEAN:
        take_boolean(t, param, given);
        break;
    case MPL_PARAM_ARRAY:
        take_array(t, param, given);
        break;
    default:
        take_object(t, param, given);
        break;
    }
}

/* -- Sets -----------------------------------------------------------------------*/

static const mpl_param *find(const mpl_param_set *set, moonplan_text name) {
    for (size_t i = 0; i < set->count; i++)
        if (mpl_text_equal(set->at[i].name, name)) return &set->at[i];
    return NULL;
}

static void missing(taker *t, const mpl_param *param, moonplan_value given, moonplan_value found) {
    moonplan_error *slot = mpl_faults_add(&t->faults);
    if (!slot) return;
    bool absent = moonplan_value_type(found) == MOONPLAN_NONE;
    mpl_pointer pointer = {0, false, ""};
    size_t offset = MOONPLAN_NO_OFFSET;
    moonplan_value at = absent ? given : found;
    if (moonplan_value_type(at) != MOONPLAN_NONE) {
        mpl_pointer_of(&pointer, at.document, at.node);
        offset = moonplan_value_offset(at);
    }
    if (absent) mpl_pointer_name(&pointer, param->name);
    moonplan_text path = {pointer.bytes + 1, pointer.length - 1};
    mpl_error_set(slot, MOONPLAN_BUILD_PARAM_MISSING, offset, &pointer,
                  "%q requires the parameter %q%s", &t->owner, &path,
                  absent ? "" : ", which is null here");
}

static void unknown(taker *t, const mpl_param_set *set, moonplan_text name, moonplan_value value) {
    mpl_listing list = {.length = 0};
    for (size_t i = 0; i < set->count; i++) mpl_listing_name(&list, set->at[i].name);
    moonplan_text names = mpl_listing_text(&list);
    if (set->count == 0) names = MOONPLAN_TEXT("none");
    MPL_FAULT_NAME(&t->faults, MOONPLAN_BUILD_PARAM_UNKNOWN, value,
                   "%q has no parameter %q; there are: %t", &t->owner, &name, &names);
}

static void take_set(taker *t, const mpl_param_set *set, moonplan_value given) {
    for (size_t i = 0; i < set->count; i++) {
        moonplan_value found =
            moonplan_value_member(given, set->at[i].name.bytes, set->at[i].name.length);
        if (set->at[i].required && moonplan_value_type(found) == MOONPLAN_NONE)
            missing(t, &set->at[i], given, found);
    }
    mpl_build_object(&t->builder);
    moonplan_walk walk = moonplan_value_walk(given);
    while (!mpl_faults_enough(&t->faults) && moonplan_walk_next(&walk)) {
        const mpl_param *param = find(set, walk.name);
        if (!param) {
            unknown(t, set, walk.name, walk.value);
        } else if (param->required && moonplan_value_type(walk.value) == MOONPLAN_NULL) {
            missing(t, param, given, walk.value);
        } else {
            mpl_build_name(&t->builder, walk.name);
            take(t, param, set, given, walk.value);
        }
    }
    mpl_build_end(&t->builder);
}

moonplan_document *mpl_params_take(const mpl_params *params, moonplan_value given,
                                   moonplan_text owner, const moonplan_options *options,
                                   moonplan_error *err) {
    taker t = {.owner = owner};
    moonplan_type type = moonplan_value_type(given);
    mpl_faults_open(&t.faults, options);
    mpl_build_open(&t.builder, options);
    if (type == MOONPLAN_OBJECT || type == MOONPLAN_NONE)
        take_set(&t, &params->set, given);
    else
        MPL_FAULT(&t.faults, MOONPLAN_BUILD_PARAM_TYPE, given, "parameters are an object, not %s",
                  mpl_type_text(type));
    if (mpl_faults_close(&t.faults, options, err)) return mpl_build_finish(&t.builder, err);
    mpl_build_close(&t.builder);
    return NULL;
}
