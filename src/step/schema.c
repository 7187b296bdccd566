#include "schema.h"

#include <string.h>

#include "../core/listing.h"
#include "../core/literal.h"
#include "../core/sort.h"
#include "../core/text.h"
#include "../core/value.h"
#include "reference.h"

typedef enum field_type { STRING, NUMBER, BOOLEAN, OBJECT, ARRAY, UNKNOWN } field_type;

static const struct {
    const char *name, *what;
} types[] = {{"string", "a string"},
             {"number", "a number"},
             {"boolean", "true or false"},
             {"object", "an object"},
             {"array", "an array"}};

/* Values are nodes of the schema's document; UINT32_MAX: not declared. */
typedef struct declared {
    moonplan_text name, type_name;
    field_type type;
    bool required, integer;
    uint32_t min, max, choices;
    uint64_t max_length; /* UINT64_MAX: not declared */
} declared;
_Static_assert(sizeof(declared) <= MPL_SORT_ITEM, "fields are sorted as items");

struct mpl_schema {
    mpl_alloc alloc;
    moonplan_document *document;
    declared *fields; /* sorted by their names */
    size_t count;
};

/* -- Reading ----------------------------------------------------------------*/

typedef struct reader {
    mpl_schema *schema;
    bool strict;
    const mpl_pointer *place;
    moonplan_error *err;
} reader;

#define REFUSE(r, field_name, attribute, ...)                                                      \
    do {                                                                                           \
        mpl_pointer pointer_ = place_of(r, field_name, attribute);                                 \
        mpl_error_set((r)->err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &pointer_,           \
                      __VA_ARGS__);                                                                \
        return false;                                                                              \
    } while (0)

static mpl_pointer place_of(const reader *r, moonplan_text name, moonplan_text attribute) {
    mpl_pointer pointer = {0};
    if (r->place) pointer = *r->place;
    if (name.bytes) mpl_pointer_name(&pointer, name);
    if (attribute.bytes) mpl_pointer_name(&pointer, attribute);
    return pointer;
}

static bool is_number(moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    return type == MOONPLAN_INTEGER || type == MOONPLAN_NUMBER;
}

static bool read_truth(const reader *r, bool *out, moonplan_text name, moonplan_text attribute,
                       moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type != MOONPLAN_TRUE && type != MOONPLAN_FALSE)
        REFUSE(r, name, attribute, "%t must be true or false, not %s", &attribute,
               mpl_type_text(type));
    *out = type == MOONPLAN_TRUE;
    return true;
}

static bool read_choices(const reader *r, declared *made, moonplan_text attribute,
                         moonplan_value value) {
    if (moonplan_value_type(value) != MOONPLAN_ARRAY || moonplan_value_count(value) == 0)
        REFUSE(r, made->name, attribute, "enum must be a list of at least one value");
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk)) {
        moonplan_type type = moonplan_value_type(walk.value);
        if (type == MOONPLAN_NULL || type == MOONPLAN_ARRAY || type == MOONPLAN_OBJECT)
            REFUSE(r, made->name, attribute, "enum lists strings, numbers, true and false, not %s",
                   mpl_type_text(type));
    }
    made->choices = value.node;
    return true;
}

static bool read_attribute(const reader *r, declared *made, moonplan_text attribute,
                           moonplan_value value) {
    moonplan_text name = made->name;
    field_type fits = UNKNOWN; /* the only type for which the attribute does something */
    if (mpl_text_is(attribute, "type")) return true;
    if (mpl_text_is(attribute, "required"))
        return read_truth(r, &made->required, name, attribute, value);
    if (mpl_text_is(attribute, "description")) {
        if (r->strict && moonplan_value_type(value) != MOONPLAN_STRING)
            REFUSE(r, name, attribute, "description must be a string, not %s",
                   mpl_type_text(moonplan_value_type(value)));
        return true;
    }
    if (mpl_text_is(attribute, "integer")) {
        if (!read_truth(r, &made->integer, name, attribute, value)) return false;
        fits = NUMBER;
    } else if (mpl_text_is(attribute, "min") || mpl_text_is(attribute, "max")) {
        if (!is_number(value))
            REFUSE(r, name, attribute, "%t must be a number, not %s", &attribute,
                   mpl_type_text(moonplan_value_type(value)));
        *(mpl_text_is(attribute, "min") ? &made->min : &made->max) = value.node;
        fits = NUMBER;
    } else if (mpl_text_is(attribute, "max_length")) {
        int64_t length;
        if (!moonplan_value_integer(value, &length) || length < 0)
            REFUSE(r, name, attribute, "max_length must be an integer from 0 up");
        made->max_length = (uint64_t)length;
        fits = STRING;
    } else if (mpl_text_is(attribute, "enum")) {
        if (!read_choices(r, made, attribute, value)) return false;
        if (r->strict && (made->type == OBJECT || made->type == ARRAY))
            REFUSE(r, name, attribute, "enum does nothing for %s", types[made->type].what);
        return true;
    } else {
        if (r->strict)
            REFUSE(r, name, attribute,
                   "a field has no %q; there are: type, required, description, integer, min, max, "
                   "max_length, enum",
                   &attribute);
        return true;
    }
    if (r->strict && made->type != fits)
        REFUSE(r, name, attribute, "%t does nothing for %s; it is for %s", &attribute,
               types[made->type].what, types[fits].what);
    return true;
}

static bool read_field(const reader *r, declared *made, moonplan_text name, moonplan_value value) {
    moonplan_text none = {NULL, 0}, type_attribute = MOONPLAN_TEXT("type");
    *made = (declared){.name = name,
                       .type = UNKNOWN,
                       .min = UINT32_MAX,
                       .max = UINT32_MAX,
                       .choices = UINT32_MAX,
                       .max_length = UINT64_MAX};
    if (moonplan_value_type(value) != MOONPLAN_OBJECT)
        REFUSE(r, name, none, "a field is declared by an object, not by %s",
               mpl_type_text(moonplan_value_type(value)));
    moonplan_value given = mpl_member(value, "type");
    made->type_name = moonplan_value_string(given);
    for (size_t i = 0; i < UNKNOWN; i++)
        if (mpl_text_is(made->type_name, types[i].name)) made->type = (field_type)i;
    if (r->strict && made->type == UNKNOWN) {
        if (!made->type_name.bytes)
            REFUSE(r, name, type_attribute,
                   "a field has a type: string, number, boolean, object or array");
        REFUSE(r, name, type_attribute,
               "%q is no type of a field; there are: string, number, boolean, object, array",
               &made->type_name);
    }
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk))
        if (!read_attribute(r, made, walk.name, walk.value)) return false;
    return true;
}

static bool field_before(const void *a, const void *b, const void *context) {
    (void)context;
    return mpl_text_order(((const declared *)a)->name, ((const declared *)b)->name) < 0;
}

static bool read_schema(reader *r) {
    moonplan_text none = {NULL, 0};
    mpl_schema *schema = r->schema;
    moonplan_value root = moonplan_document_root(schema->document);
    if (moonplan_value_type(root) != MOONPLAN_OBJECT)
        REFUSE(r, none, none, "a schema is an object of fields, not %s",
               mpl_type_text(moonplan_value_type(root)));
    size_t count = moonplan_value_count(root);
    if (count == 0) return true;
    schema->fields = mpl_allocate(&schema->alloc, count * sizeof *schema->fields);
    if (!schema->fields) {
        mpl_error_memory(r->err);
        return false;
    }
    schema->count = count;
    memset(schema->fields, 0, count * sizeof *schema->fields);
    declared *next = schema->fields;
    moonplan_walk walk = moonplan_value_walk(root);
    while (moonplan_walk_next(&walk))
        if (!read_field(r, next++, walk.name, walk.value)) return false;
    mpl_sort(schema->fields, count, sizeof *schema->fields, field_before, NULL);
    return true;
}

mpl_schema *mpl_schema_new(moonplan_text json, bool strict, const mpl_pointer *place,
                           const moonplan_options *options, moonplan_error *err) {
    moonplan_options own = *options;
    own.errors = NULL;
    own.borrow = false;
    moonplan_error broken;
    moonplan_document *document = moonplan_document_parse(json.bytes, json.length, &own, &broken);
    if (!document) {
        if (broken.code == MOONPLAN_MEMORY)
            mpl_error_memory(err);
        else
            mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, place,
                          "the schema cannot be read: %s", broken.message);
        return NULL;
    }
    mpl_alloc alloc = mpl_alloc_of(&own);
    mpl_schema *schema = mpl_allocate(&alloc, sizeof *schema);
    if (!schema) {
        moonplan_document_free(document);
        mpl_error_memory(err);
        return NULL;
    }
    *schema = (mpl_schema){.alloc = alloc, .document = document};
    reader r = {schema, strict, place, err};
    if (!read_schema(&r)) {
        mpl_schema_free(schema);
        return NULL;
    }
    return schema;
}

void mpl_schema_free(mpl_schema *schema) {
    if (!schema) return;
    mpl_alloc alloc = schema->alloc;
    moonplan_document_free(schema->document);
    mpl_release(&alloc, schema->fields, schema->count * sizeof *schema->fields);
    mpl_release(&alloc, schema, sizeof *schema);
}

moonplan_value mpl_schema_value(const mpl_schema *schema) {
    if (!schema) return (moonplan_value){NULL, UINT32_MAX};
    return moonplan_document_root(schema->document);
}

/* -- Checking ---------------------------------------------------------------*/

typedef enum fault { MISSING, TYPE, SCHEMA, VALUE } fault;

static const moonplan_code codes[][4] = {
    [MPL_SCHEMA_PLAN] = {MOONPLAN_PLAN_INPUT_MISSING, MOONPLAN_PLAN_INPUT_TYPE,
                         MOONPLAN_PLAN_INPUT_SCHEMA, MOONPLAN_PLAN_INPUT_VALUE},
    [MPL_SCHEMA_JOB] = {MOONPLAN_JOB_INPUT_MISSING, MOONPLAN_JOB_INPUT_TYPE,
                        MOONPLAN_JOB_INPUT_SCHEMA, MOONPLAN_JOB_INPUT_VALUE},
    [MPL_SCHEMA_OUTPUT] = {MOONPLAN_JOB_OUTPUT_TYPE, MOONPLAN_JOB_OUTPUT_TYPE,
                           MOONPLAN_JOB_OUTPUT_TYPE, MOONPLAN_JOB_OUTPUT_TYPE}};

typedef struct check {
    const mpl_schema *schema;
    moonplan_value value, holder;
    mpl_schema_stage stage;
    moonplan_text capability;
    mpl_issues issues;
    const char *what; /* "input", "result" */
} check;

#define ISSUE(c, kind, at, ...)                                                                    \
    do {                                                                                           \
        moonplan_error *slot_ = (c)->issues.add((c)->issues.data);                                 \
        if (slot_) mpl_error_at(slot_, codes[(c)->stage][kind], at, __VA_ARGS__);                  \
    } while (0)

/* One literal for a message; a long one loses its end. */
static mpl_listing show(moonplan_value value) {
    mpl_listing one = {.length = 0};
    mpl_listing_literal(&one, moonplan_value_source(value));
    one.bytes[one.length] = 0;
    return one;
}

static void missing(const check *c, const declared *field, moonplan_value found) {
    moonplan_error *slot = c->issues.add(c->issues.data);
    if (!slot) return;
    bool absent = moonplan_value_type(found) == MOONPLAN_NONE;
    const char *is = absent                                        ? ""
                     : moonplan_value_type(found) == MOONPLAN_NULL ? ", which is null here"
                                                                   : ", which is empty here";
    mpl_pointer pointer = {0};
    size_t offset = MOONPLAN_NO_OFFSET;
    if (!absent) {
        mpl_pointer_of(&pointer, found.document, found.node);
        offset = moonplan_value_offset(found);
    } else {
        moonplan_value outer = c->value;
        if (moonplan_value_type(outer) == MOONPLAN_NONE) outer = c->holder;
        if (moonplan_value_type(outer) != MOONPLAN_NONE) {
            mpl_pointer_of(&pointer, outer.document, outer.node);
            offset = moonplan_value_offset(outer);
        }
        if (moonplan_value_type(c->value) == MOONPLAN_NONE &&
            moonplan_value_type(c->holder) != MOONPLAN_NONE)
            mpl_pointer_name(&pointer, MOONPLAN_TEXT("input"));
        mpl_pointer_name(&pointer, field->name);
    }
    if (c->stage == MPL_SCHEMA_OUTPUT)
        mpl_error_set(slot, codes[c->stage][MISSING], offset, &pointer,
                      "the result of %q has to have the field %q%s", &c->capability, &field->name,
                      is);
    else
        mpl_error_set(slot, codes[c->stage][MISSING], offset, &pointer,
                      "%q requires the field %q%s", &c->capability, &field->name, is);
}

static bool type_fits(field_type wanted, moonplan_value value) {
    switch (moonplan_value_type(value)) {
    case MOONPLAN_STRING:
        return wanted == STRING;
    case MOONPLAN_INTEGER:
    case MOONPLAN_NUMBER:
        return wanted == NUMBER;
    case MOONPLAN_TRUE:
    case MOONPLAN_FALSE:
        return wanted == BOOLEAN;
    case MOONPLAN_OBJECT:
        return wanted == OBJECT;
    case MOONPLAN_ARRAY:
        return wanted == ARRAY;
    default:
        return false;
    }
}

static bool same(moonplan_value a, moonplan_value b) {
    if (is_number(a) && is_number(b))
        return mpl_literal_order(moonplan_value_source(a), moonplan_value_source(b)) == 0;
    if (moonplan_value_type(a) != moonplan_value_type(b)) return false;
    return moonplan_value_type(a) != MOONPLAN_STRING ||
           mpl_text_equal(moonplan_value_string(a), moonplan_value_string(b));
}

static void choices_fault(const check *c, moonplan_value choices, moonplan_text name,
                          moonplan_value value) {
    mpl_listing list = {.length = 0};
    moonplan_walk walk = moonplan_value_walk(choices);
    while (moonplan_walk_next(&walk)) {
        if (moonplan_value_type(walk.value) == MOONPLAN_STRING)
            mpl_listing_string(&list, moonplan_value_string(walk.value));
        else
            mpl_listing_literal(&list, moonplan_value_source(walk.value));
    }
    moonplan_text allowed = mpl_listing_text(&list);
    moonplan_text text = moonplan_value_string(value);
    if (text.bytes)
        ISSUE(c, VALUE, value, "the %s's %q is %q; there are: %t", c->what, &name, &text, &allowed);
    else
        ISSUE(c, VALUE, value, "the %s's %q is %s; there are: %t", c->what, &name,
              show(value).bytes, &allowed);
}

/* The attributes that go beyond the type. */
static void check_value(const check *c, const declared *field, moonplan_value value) {
    const moonplan_document *schema = c->schema->document;
    const moonplan_text *name = &field->name;
    if (is_number(value)) {
        moonplan_text literal = moonplan_value_source(value);
        if (field->integer && !mpl_literal_is_integer(literal)) {
            ISSUE(c, VALUE, value, "the %s's %q must be written as an integer, not as %s", c->what,
                  name, show(value).bytes);
            return;
        }
        moonplan_value least = mpl_value(schema, field->min), most = mpl_value(schema, field->max);
        if (field->min != UINT32_MAX &&
            mpl_literal_order(literal, moonplan_value_source(least)) < 0) {
            ISSUE(c, VALUE, value, "the %s's %q is %s; the least is %s", c->what, name,
                  show(value).bytes, show(least).bytes);
            return;
        }
        if (field->max != UINT32_MAX &&
            mpl_literal_order(literal, moonplan_value_source(most)) > 0) {
            ISSUE(c, VALUE, value, "the %s's %q is %s; the most is %s", c->what, name,
                  show(value).bytes, show(most).bytes);
            return;
        }
    }
    if (moonplan_value_type(value) == MOONPLAN_STRING && field->max_length != UINT64_MAX) {
        size_t length = mpl_utf8_count(moonplan_value_string(value));
        if (length > field->max_length) {
            ISSUE(c, VALUE, value, "the %s's %q has %u characters; %u are allowed", c->what, name,
                  (uint64_t)length, field->max_length);
            return;
        }
    }
    if (field->choices == UINT32_MAX) return;
    moonplan_value choices = mpl_value(schema, field->choices);
    moonplan_walk walk = moonplan_value_walk(choices);
    while (moonplan_walk_next(&walk))
        if (same(walk.value, value)) return;
    choices_fault(c, choices, *name, value);
}

static void check_field(const check *c, const declared *field, moonplan_value found) {
    moonplan_type type = moonplan_value_type(found);
    bool empty = type == MOONPLAN_STRING && moonplan_value_string(found).length == 0;
    if (field->required && (type == MOONPLAN_NONE || type == MOONPLAN_NULL || empty)) {
        missing(c, field, found);
        return;
    }
    if (type == MOONPLAN_NONE) return;
    moonplan_text text;
    if (c->stage == MPL_SCHEMA_PLAN && mpl_reference_is(found, &text)) return;
    if (field->type == UNKNOWN) {
        if (field->type_name.bytes)
            ISSUE(c, SCHEMA, found,
                  "%q declares %q as %q, which is no type; there are: string, number, boolean, "
                  "object, array",
                  &c->capability, &field->name, &field->type_name);
        else
            ISSUE(c, SCHEMA, found, "%q declares %q without a type", &c->capability, &field->name);
        return;
    }
    if (!type_fits(field->type, found)) {
        ISSUE(c, TYPE, found, "the %s's %q must be %s, not %s", c->what, &field->name,
              types[field->type].what, mpl_type_text(type));
        return;
    }
    check_value(c, field, found);
}

void mpl_schema_check(const mpl_schema *schema, moonplan_value value, moonplan_value holder,
                      mpl_schema_stage stage, moonplan_text capability, mpl_issues issues) {
    if (!schema || schema->count == 0) return;
    check c = {schema,
               value,
               holder,
               stage,
               capability,
               issues,
               stage == MPL_SCHEMA_OUTPUT ? "result" : "input"};
    moonplan_type type = moonplan_value_type(value);
    if (stage == MPL_SCHEMA_OUTPUT && type != MOONPLAN_OBJECT && type != MOONPLAN_NONE) {
        ISSUE(&c, TYPE, value, "the result of %q must be an object, not %s", &capability,
              mpl_type_text(type));
        return;
    }
    for (size_t i = 0; i < schema->count; i++) {
        const declared *field = &schema->fields[i];
        moonplan_value found = {value.document, UINT32_MAX};
        if (type == MOONPLAN_OBJECT)
            found = moonplan_value_member(value, field->name.bytes, field->name.length);
        check_field(&c, field, found);
    }
}

bool mpl_unfit_next(moonplan_value *found, moonplan_value within, uint32_t *next) {
    if (moonplan_value_type(within) == MOONPLAN_NONE) return false;
    const mpl_node *nodes = within.document->nodes;
    size_t end = mpl_after(nodes, within.node);
    for (size_t node = *next ? *next : within.node; node < end; node++) {
        if (nodes[node].type != MOONPLAN_NUMBER) continue;
        *found = mpl_value(within.document, node);
        moonplan_text literal = moonplan_value_source(*found);
        *next = (uint32_t)node + 1;
        if (mpl_literal_is_integer(literal) || !mpl_literal_is_finite(literal)) return true;
    }
    return false;
}
