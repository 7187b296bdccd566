#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "params_own.h"

/* Items of items, and fields of fields. */
#define NESTING 8

static const char *const names[MPL_PARAM_TYPES] = {
    [MPL_PARAM_CHAIN] = "chain",     [MPL_PARAM_ADDRESS] = "address", [MPL_PARAM_AMOUNT] = "amount",
    [MPL_PARAM_UINT256] = "uint256", [MPL_PARAM_BYTES] = "bytes",     [MPL_PARAM_STRING] = "string",
    [MPL_PARAM_NUMBER] = "number",   [MPL_PARAM_BOOLEAN] = "boolean", [MPL_PARAM_OBJECT] = "object",
    [MPL_PARAM_ARRAY] = "array",
};
#define TYPE_NAMES "chain, address, amount, uint256, bytes, string, number, boolean, object, array"

const char *const mpl_param_whats[MPL_PARAM_TYPES] = {
    [MPL_PARAM_CHAIN] = "a chain",    [MPL_PARAM_ADDRESS] = "an address",
    [MPL_PARAM_AMOUNT] = "an amount", [MPL_PARAM_UINT256] = "a uint256",
    [MPL_PARAM_BYTES] = "bytes",      [MPL_PARAM_STRING] = "a string",
    [MPL_PARAM_NUMBER] = "a number",  [MPL_PARAM_BOOLEAN] = "true or false",
    [MPL_PARAM_OBJECT] = "an object", [MPL_PARAM_ARRAY] = "an array",
};

/* -- Attributes -------------------------------------------------------------*/

#define BIT(type) (1u << MPL_PARAM_##type)
#define COUNTED   (BIT(AMOUNT) | BIT(UINT256))
#define ALL       ((1u << MPL_PARAM_TYPES) - 1)

/* For which types each of them does something. */
static const struct {
    const char *name;
    unsigned types;
    const char *fits;
} attributes[] = {
    {"type", ALL, ""},
    {"required", ALL, ""},
    {"description", ALL, ""},
    {"integer", BIT(NUMBER), "a number"},
    {"min", COUNTED | BIT(NUMBER), "a number, an amount or a uint256"},
    {"max", COUNTED | BIT(NUMBER), "a number, an amount or a uint256"},
    {"max_length", BIT(STRING) | BIT(BYTES) | BIT(ARRAY), "a string, bytes or an array"},
    {"enum", BIT(STRING) | BIT(NUMBER) | BIT(BOOLEAN), "a string, a number, or true and false"},
    {"decimals", BIT(AMOUNT), "an amount"},
    {"items", BIT(ARRAY), "an array"},
    {"fields", BIT(OBJECT), "an object"},
};
#define ATTRIBUTES (sizeof attributes / sizeof *attributes)
#define ATTRIBUTE_NAMES                                                                            \
    "type, required, description, integer, min, max, max_length, enum, decimals, items, fields"

typedef struct reader {
    mpl_params *params;
    moonplan_error *err;
} reader;

#define REFUSE(r, value, ...)                                                                      \
    do {                                                                                           \
        mpl_error_at((r)->err, MOONPLAN_PLUGIN_MANIFEST, value, __VA_ARGS__);                      \
        return false;                                                                              \
    } while (0)

static bool read_set(const reader *r, mpl_param_set *set, moonplan_value value, unsigned nesting);
static bool read_param(const reader *r, mpl_param *param, moonplan_value value, unsigned nesting);

static bool read_truth(const reader *r, bool *out, moonplan_text name, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type != MOONPLAN_TRUE && type != MOONPLAN_FALSE)
        REFUSE(r, value, "%t must be true or false, not %s", &name, mpl_type_text(type));
    *out = type == MOONPLAN_TRUE;
    return true;
}

static bool read_bound(const reader *r, mpl_param *param, bool least, moonplan_text name,
                       moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (param->type == MPL_PARAM_NUMBER) {
        if (type != MOONPLAN_INTEGER && type != MOONPLAN_NUMBER)
            REFUSE(r, value, "%t must be a number, not %s", &name, mpl_type_text(type));
        *(least ? &param->min : &param->max) = value;
        return true;
    }
    moonplan_text digits =
        type == MOONPLAN_STRING ? moonplan_value_string(value) : moonplan_value_source(value);
    *(least ? &param->has_least : &param->has_most) = true;
    if (!mpl_uint256_from_decimal(least ? &param->least : &param->most, digits))
        REFUSE(r, value, "%t must be an integer from 0 up, or its decimal digits in a string",
               &name);
    return true;
}

static bool read_decimals(const reader *r, mpl_param *param, moonplan_value value) {
    int64_t decimals;
    param->decimals_of = moonplan_value_string(value);
    if (param->decimals_of.bytes) return true; /* whose name it is, is seen at the end */
    if (!moonplan_value_integer(value, &decimals) || decimals < 0 || decimals > MPL_DECIMALS_MOST)
        REFUSE(r, value, "decimals must be 0 to 77, or the name of the parameter that says them");
    param->decimals = (int)decimals;
    return true;
}

static bool read_choices(const reader *r, mpl_param *param, moonplan_value value) {
    if (moonplan_value_type(value) != MOONPLAN_ARRAY || moonplan_value_count(value) == 0)
        REFUSE(r, value, "enum must be a list of at least one value");
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk)) {
        moonplan_type type = moonplan_value_type(walk.value);
        bool fits = type == MOONPLAN_INTEGER || type == MOONPLAN_NUMBER;
        if (param->type == MPL_PARAM_STRING) fits = type == MOONPLAN_STRING;
        if (param->type == MPL_PARAM_BOOLEAN)
            fits = type == MOONPLAN_TRUE || type == MOONPLAN_FALSE;
        if (!fits)
            REFUSE(r, walk.value, "enum lists %s here, not %s", mpl_param_whats[param->type],
                   mpl_type_text(type));
    }
    param->choices = value;
    return true;
}

static bool read_attribute(const reader *r, mpl_param *param, moonplan_text name,
                           moonplan_value value, unsigned nesting) {
    size_t which = 0;
    while (which < ATTRIBUTES && !mpl_text_is(name, attributes[which].name)) which++;
    if (which == ATTRIBUTES)
        REFUSE(r, value, "a parameter has no %q; there are: " ATTRIBUTE_NAMES, &name);
    if (!(attributes[which].types >> param->type & 1))
        REFUSE(r, value, "%t does nothing for %s; it is for %s", &name,
               mpl_param_whats[param->type], attributes[which].fits);
    switch (which) {
    case 0:
        return true;
    case 1:
        return read_truth(r, &param->required, name, value);
    case 2:
        if (moonplan_value_type(value) != MOONPLAN_STRING)
            REFUSE(r, value, "description must be a string, not %s",
                   mpl_type_text(moonplan_value_type(value)));
        return true;
    case 3:
        return read_truth(r, &param->integer, name, value);
    case 4:
    case 5:
        return read_bound(r, param, which == 4, name, value);
    case 6: {
        int64_t length;
        if (!moonplan_value_integer(value, &length) || length < 0)
            REFUSE(r, value, "max_length must be an integer from 0 up");
        param->max_length = (uint64_t)length;
        return true;
    }
    case 7:
        return read_choices(r, param, value);
    case 8:
        return read_decimals(r, param, value);
    case 9:
        param->items = mpl_arena_take(&r->params->arena, sizeof *param->items);
        if (!param->items) {
            mpl_error_memory(r->err);
            return false;
        }
        return read_param(r, param->items, value, nesting + 1);
    default:
        return read_set(r, &param->fields, value, nesting + 1);
    }
}

/* -- Fields -----------------------------------------------------------------*/

static bool read_type(const reader *r, mpl_param *param, moonplan_value value) {
    moonplan_value given = mpl_member(value, "type");
    moonplan_text name = moonplan_value_string(given);
    if (!name.bytes)
        REFUSE(r, moonplan_value_type(given) == MOONPLAN_NONE ? value : given,
               "a parameter has a type: " TYPE_NAMES);
    unsigned type = 0;
    while (type < MPL_PARAM_TYPES && !mpl_text_is(name, names[type])) type++;
    if (type == MPL_PARAM_TYPES)
        REFUSE(r, given, "%q is no type of a parameter; there are: " TYPE_NAMES, &name);
    param->type = (mpl_param_type)type;
    return true;
}

static bool read_param(const reader *r, mpl_param *param, moonplan_value value, unsigned nesting) {
    const moonplan_value none = {value.document, UINT32_MAX};
    *param = (mpl_param){.min = none,
                         .max = none,
                         .choices = none,
                         .max_length = UINT64_MAX,
                         .decimals = MPL_DECIMALS_UNKNOWN,
                         .fields = {.open = true}};
    if (nesting > NESTING)
        REFUSE(r, value, "items and fields inside one another, more than %u levels",
               (uint64_t)NESTING);
    if (moonplan_value_type(value) != MOONPLAN_OBJECT)
        REFUSE(r, value, "a parameter is declared by a table, not by %s",
               mpl_type_text(moonplan_value_type(value)));
    if (!read_type(r, param, value)) return false;
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk))
        if (!read_attribute(r, param, walk.name, walk.value, nesting)) return false;
    return true;
}

static bool read_set(const reader *r, mpl_param_set *set, moonplan_value value, unsigned nesting) {
    if (moonplan_value_type(value) != MOONPLAN_OBJECT)
        REFUSE(r, value, "parameters are declared by a table, not by %s",
               mpl_type_text(moonplan_value_type(value)));
    *set = (mpl_param_set){NULL, moonplan_value_count(value), false};
    if (set->count == 0) return true;
    set->at = mpl_arena_take(&r->params->arena, set->count * sizeof *set->at);
    if (!set->at) {
        mpl_error_memory(r->err);
        return false;
    }
    mpl_param *next = set->at;
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk)) {
        moonplan_text name = walk.name;
        if (!read_param(r, next, walk.value, nesting)) return false;
        next++->name = name;
    }
    return true;
}

/* Whether `decimals` names a parameter beside it that holds a small number. */
static bool check_decimals(const reader *r, const mpl_param_set *set, moonplan_value value) {
    for (size_t i = 0; i < set->count; i++) {
        moonplan_text of = set->at[i].decimals_of;
        if (!of.bytes) continue;
        size_t found = 0;
        while (found < set->count && !mpl_text_equal(set->at[found].name, of)) found++;
        if (found < set->count && set->at[found].type == MPL_PARAM_NUMBER && set->at[found].integer)
            continue;
        moonplan_value at =
            moonplan_value_member(value, set->at[i].name.bytes, set->at[i].name.length);
        REFUSE(r, mpl_member(at, "decimals"),
               "decimals names %q, which is no parameter beside it of type number with integer",
               &of);
    }
    return true;
}

mpl_params *mpl_params_new(moonplan_value declared, const moonplan_options *options,
                           moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_params *params = mpl_allocate(&alloc, sizeof *params);
    if (!params) {
        mpl_error_memory(err);
        return NULL;
    }
    *params = (mpl_params){.alloc = alloc};
    mpl_arena_open(&params->arena, &params->alloc);
    reader r = {params, err};
    if (read_set(&r, &params->set, declared, 0) && check_decimals(&r, &params->set, declared))
        return params;
    mpl_params_free(params);
    return NULL;
}

void mpl_params_free(mpl_params *params) {
    if (!params) return;
    mpl_arena_close(&params->arena);
    mpl_alloc alloc = params->alloc;
    mpl_release(&alloc, params, sizeof *params);
}
