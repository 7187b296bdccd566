#include "manifest.h"

#include <lauxlib.h>
#include <string.h>

#include "../call/abi.h"
#include "../call/params.h"
#include "../core/text.h"
#include "../core/value.h"
#include "../step/schema.h"
#include "bind.h"

#define VERSION_MOST 64
#define USES_MOST    64

bool mpl_manifest_take(mpl_manifest *manifest, moonplan_document *document,
                       const unsigned *functions, size_t count, moonplan_error *err) {
    moonplan_value root = moonplan_document_root(document);
    manifest->document = document;
    manifest->family = moonplan_value_type(root) == MOONPLAN_ARRAY;
    size_t there = manifest->family ? moonplan_value_count(root) : 1;
    if (there != count || count == 0 || count > MPL_ITEMS_MOST) {
        mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, NULL,
                      "the description of %u plugins, with the functions of %u", (uint64_t)there,
                      (uint64_t)count);
        return false;
    }
    if (!mpl_manifest_room(manifest, count, err)) return false;
    for (size_t i = 0; i < count; i++) {
        mpl_item *item = &manifest->items[i];
        moonplan_value value = manifest->family ? moonplan_value_element(root, i) : root;
        moonplan_text kind = moonplan_value_string(mpl_member(value, "kind"));
        item->kind = kind.bytes ? mpl_kind_of(kind) : MPL_KINDS;
        if (item->kind != MPL_KINDS)
            item->functions = functions[i] & mpl_kinds[item->kind].functions;
        for (unsigned j = 0; j < MPL_FUNCTIONS; j++) item->references[j] = LUA_NOREF;
    }
    return true;
}

/* -- Checking --------------------------------------------------------------*/

/* NAME, or NAME.something. */
static bool belongs(moonplan_text item, moonplan_text file) {
    return item.length >= file.length && memcmp(item.bytes, file.bytes, file.length) == 0 &&
           (item.length == file.length || item.bytes[file.length] == '.');
}

#define AT(err, value, code, ...)                                                                  \
    do {                                                                                           \
        mpl_error_at(err, code, value, __VA_ARGS__);                                               \
        return false;                                                                              \
    } while (0)
#define MANIFEST(err, value, ...) AT(err, value, MOONPLAN_PLUGIN_MANIFEST, __VA_ARGS__)

static bool need_text(moonplan_text *out, moonplan_value item, const char *name,
                      moonplan_error *err) {
    moonplan_value value = mpl_member(item, name);
    moonplan_type type = moonplan_value_type(value);
    *out = moonplan_value_string(value);
    if (type == MOONPLAN_NONE) MANIFEST(err, item, "the field %s is missing", name);
    if (type != MOONPLAN_STRING)
        MANIFEST(err, value, "%s must be a string, not %s", name, mpl_type_text(type));
    if (out->length == 0) MANIFEST(err, value, "%s is empty", name);
    return true;
}

static bool check_kind(mpl_kind known, moonplan_value item, moonplan_error *err) {
    moonplan_text kind;
    moonplan_value api = mpl_member(item, "api");
    int64_t version;
    if (moonplan_value_type(item) != MOONPLAN_OBJECT)
        MANIFEST(err, item, "a plugin is described by a table, not by %s",
                 mpl_type_text(moonplan_value_type(item)));
    if (!need_text(&kind, item, "kind", err)) return false;
    if (known == MPL_KINDS)
        MANIFEST(err, mpl_member(item, "kind"),
                 "there are no plugins of kind %q; there are: " MPL_KIND_NAMES, &kind);
    /* Where it was read these were named already, unless somebody else did the reading. */
    moonplan_walk walk = moonplan_value_walk(item);
    while (moonplan_walk_next(&walk))
        if (!mpl_kind_has_data(known, walk.name))
            MANIFEST(err, walk.value, "%s has no field %q; there are: %s", mpl_kinds[known].article,
                     &walk.name, mpl_kinds[known].members);
    if (moonplan_value_type(api) == MOONPLAN_NONE)
        AT(err, item, MOONPLAN_PLUGIN_VERSION_API, "the field api is missing; it is 1 here");
    if (!moonplan_value_integer(api, &version) || version != 1) {
        moonplan_text source = moonplan_value_source(api);
        AT(err, api, MOONPLAN_PLUGIN_VERSION_API,
           "a plugin for version %q of the interface; it is 1 here", &source);
    }
    return true;
}

static bool check_name(mpl_item *item, moonplan_text file, moonplan_error *err) {
    if (!need_text(&item->name, item->value, "name", err)) return false;
    moonplan_value name = mpl_member(item->value, "name");
    if (!mpl_plugin_name(item->name))
        AT(err, name, MOONPLAN_PLUGIN_NAME,
           "%q is no name for a plugin: letters, digits, _ and -, with dots between them, at most "
           "128",
           &item->name);
    if (!belongs(item->name, file))
        AT(err, name, MOONPLAN_PLUGIN_NAME,
           "%q does not belong here: the file brings %q or names that begin with %q and a dot",
           &item->name, &file, &file);
    if (!need_text(&item->version, item->value, "version", err)) return false;
    for (size_t i = 0; i < item->version.length; i++)
        if (item->version.bytes[i] < 0x21 || item->version.bytes[i] > 0x7e || i >= VERSION_MOST)
            MANIFEST(err, mpl_member(item->value, "version"),
                     "%q is no version: 1 to 64 characters from 0x21 to 0x7e", &item->version);
    return true;
}

static bool check_risk(mpl_item *item, moonplan_error *err) {
    if (!need_text(&item->risk, item->value, "risk", err)) return false;
    if (!mpl_text_is(item->risk, "read") && !mpl_text_is(item->risk, "write") &&
        !mpl_text_is(item->risk, "destructive"))
        MANIFEST(err, mpl_member(item->value, "risk"),
                 "%q is no risk; there are: read, write, destructive", &item->risk);
    return true;
}

static bool is_table(moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    return type == MOONPLAN_OBJECT || type == MOONPLAN_ARRAY;
}

/* A list, or an empty table, which does not say what it is. */
static bool is_list(moonplan_value value) {
    return moonplan_value_type(value) == MOONPLAN_ARRAY ||
           (moonplan_value_type(value) == MOONPLAN_OBJECT && moonplan_value_count(value) == 0);
}

static bool check_needs(mpl_item *item, moonplan_error *err) {
    moonplan_value needs = mpl_member(item->value, "needs");
    if (moonplan_value_type(needs) == MOONPLAN_NONE) return true;
    if (!is_list(needs)) MANIFEST(err, needs, "needs must be a list of powers: " MPL_NEED_FORMS);
    if (moonplan_value_count(needs) > MPL_NEEDS_MOST)
        MANIFEST(err, needs, "a list of more than %u powers", (uint64_t)MPL_NEEDS_MOST);
    moonplan_walk walk = moonplan_value_walk(needs);
    while (moonplan_walk_next(&walk)) {
        moonplan_text name = moonplan_value_string(walk.value);
        unsigned power = mpl_power_of(name, NULL);
        if (!name.bytes)
            MANIFEST(err, walk.value, "a power is named by a string, not by %s",
                     mpl_type_text(moonplan_value_type(walk.value)));
        if (!power)
            MANIFEST(err, walk.value, "there is no power %q; there are: " MPL_NEED_FORMS, &name);
        item->needs |= power;
    }
    return true;
}

static bool check_schema(moonplan_text *out, moonplan_value item, const char *name,
                         const moonplan_options *options, moonplan_error *err) {
    moonplan_value schema = mpl_member(item, name);
    mpl_pointer place = {0, false, ""};
    if (moonplan_value_type(schema) == MOONPLAN_NONE) return true;
    *out = moonplan_value_source(schema);
    mpl_pointer_of(&place, schema.document, schema.node);
    mpl_schema *read = mpl_schema_new(*out, true, &place, options, err);
    mpl_schema_free(read);
    return read != NULL;
}

/* -- Examples --------------------------------------------------------------*/

static bool is_there(moonplan_value object, const char *name) {
    return moonplan_value_type(mpl_member(object, name)) != MOONPLAN_NONE;
}

/* One field of an example, for every kind. */
static bool check_example_field(mpl_kind kind, moonplan_text name, moonplan_value value,
                                moonplan_error *err) {
    bool builds = kind == MPL_BUILDER, given = mpl_text_is(name, "given");
    if (mpl_text_is(name, "error")) {
        if (moonplan_value_type(value) != MOONPLAN_STRING)
            MANIFEST(err, value, "error must be the whole message that is expected");
        return true;
    }
    if (!builds && (given || (mpl_text_is(name, "after") && kind != MPL_AUTHORIZER)))
        return mpl_world_check(value, given, err);
    if (!builds && (mpl_text_is(name, "input") || mpl_text_is(name, "output"))) return true;
    if (builds && (mpl_text_is(name, "params") || mpl_text_is(name, "plan"))) {
        if (!is_table(value))
            MANIFEST(err, value, "%t must be a table, not %s", &name,
                     mpl_type_text(moonplan_value_type(value)));
        return true;
    }
    if (builds && mpl_text_is(name, "digest")) {
        moonplan_text text = moonplan_value_string(value);
        if (text.length != 66 || mpl_hex_scan(text) != MPL_HEX_LOWER)
            MANIFEST(err, value, "digest must be 0x and 64 lower-case hexadecimal digits");
        return true;
    }
    if (kind == MPL_EXECUTOR && mpl_text_is(name, "call")) {
        mpl_function function = mpl_function_of(moonplan_value_string(value));
        if (!mpl_kind_has_function(kind, function))
            MANIFEST(err, value,
                     "call must be one of: prepare, simulate, estimate, submit, outcome");
        return true;
    }
    static const char *const names[MPL_KINDS] = {
        [MPL_CAPABILITY] = "given, input, output, error, after",
        [MPL_BUILDER] = "params, digest, plan, error",
        [MPL_EXECUTOR] = "call, given, input, output, error, after",
        [MPL_AUTHORIZER] = "given, input, output, error"};
    MANIFEST(err, value, "an example has no field %q; there are: %s", &name, names[kind]);
}

static bool check_example(mpl_kind kind, moonplan_value example, moonplan_error *err) {
    moonplan_type type = moonplan_value_type(example);
    if (type != MOONPLAN_OBJECT)
        MANIFEST(err, example, "an example is a table with %s, not %s",
                 kind == MPL_BUILDER ? "params and what comes of them" : "input and output",
                 mpl_type_text(type));
    moonplan_walk walk = moonplan_value_walk(example);
    while (moonplan_walk_next(&walk))
        if (!check_example_field(kind, walk.name, walk.value, err)) return false;
    if (is_there(example, "error") && is_there(example, "output"))
        MANIFEST(err, example, "an example has an output or an error, not both");
    if (kind == MPL_BUILDER &&
        is_there(example, "error") == (is_there(example, "digest") || is_there(example, "plan")))
        MANIFEST(err, example, "an example has a digest or a plan, or else an error");
    if (kind == MPL_EXECUTOR && !is_there(example, "call"))
        MANIFEST(err, example, "the field call is missing: which function the example is of");
    return true;
}

static bool check_examples(const mpl_item *item, moonplan_error *err) {
    moonplan_value examples = mpl_member(item->value, "examples");
    if (moonplan_value_type(examples) == MOONPLAN_NONE) return true;
    if (!is_list(examples)) MANIFEST(err, examples, "examples must be a list");
    moonplan_walk walk = moonplan_value_walk(examples);
    while (moonplan_walk_next(&walk)) {
        if (!check_example(item->kind, walk.value, err)) return false;
        if (item->builds_steps && is_there(walk.value, "digest"))
            MANIFEST(err, mpl_member(walk.value, "digest"),
                     "a step plan has no plan digest; an example says the plan");
    }
    return true;
}

/* -- Builders, executors ---------------------------------------------------*/

/* A list of different texts, each of one to `most` characters from 0x21 to 0x7e. */
static bool check_names(moonplan_value list, const char *what, size_t most_names, size_t most,
                        moonplan_error *err) {
    if (!is_list(list)) MANIFEST(err, list, "%s must be a list of capabilities' names", what);
    if (moonplan_value_count(list) > most_names)
        MANIFEST(err, list, "%s has %u names; at most %u are allowed", what,
                 (uint64_t)moonplan_value_count(list), (uint64_t)most_names);
    moonplan_walk walk = moonplan_value_walk(list);
    while (moonplan_walk_next(&walk)) {
        moonplan_text name = moonplan_value_string(walk.value);
        bool fine = name.length > 0 && name.length <= most;
        for (size_t i = 0; fine && i < name.length; i++)
            fine = name.bytes[i] >= 0x21 && name.bytes[i] <= 0x7e;
        if (!fine)
            MANIFEST(err, walk.value,
                     "%s names capabilities by strings of 1 to %u characters from 0x21 to 0x7e",
                     what, (uint64_t)most);
    }
    return true;
}

/* Where a plan's steps go and who sends them is the host's to write, out of these two. */
static bool check_call_params(const mpl_item *item, moonplan_error *err) {
    static const char *const needed[][2] = {{"chain", "chain"}, {"sender", "address"}};
    moonplan_value params = mpl_member(item->value, "params");
    for (size_t i = 0; i < 2; i++) {
        moonplan_value param = mpl_member(params, needed[i][0]);
        bool required = moonplan_value_type(mpl_member(param, "required")) == MOONPLAN_TRUE;
        if (!required ||
            !mpl_text_is(moonplan_value_string(mpl_member(param, "type")), needed[i][1]))
            MANIFEST(err, is_there(params, needed[i][0]) ? param : params,
                     "a builder of call plans has the required parameters chain, of type chain, "
                     "and sender, of type address");
    }
    return true;
}

static bool check_builder(mpl_item *item, const moonplan_options *options, moonplan_error *err) {
    moonplan_text builds;
    moonplan_value uses = mpl_member(item->value, "uses"),
                   params = mpl_member(item->value, "params");
    if (!need_text(&builds, item->value, "builds", err)) return false;
    item->builds_steps = mpl_text_is(builds, "step_plan");
    if (!item->builds_steps && !mpl_text_is(builds, "call_plan"))
        MANIFEST(err, mpl_member(item->value, "builds"),
                 "%q is nothing that is built; there are: call_plan, step_plan", &builds);
    if (item->builds_steps != is_there(item->value, "uses"))
        MANIFEST(err, item->builds_steps ? item->value : uses,
                 "a builder of step plans, and no other, says with uses which capabilities its "
                 "steps name");
    if (item->builds_steps && !check_names(uses, "uses", USES_MOST, MPL_NAME_MOST, err))
        return false;
    if (moonplan_value_type(params) == MOONPLAN_NONE)
        MANIFEST(err, item->value, "the field params is missing");
    mpl_params *read = mpl_params_new(params, options, err);
    mpl_params_free(read);
    return read && (item->builds_steps || check_call_params(item, err));
}

static bool check_executor(const mpl_item *item, moonplan_error *err) {
    moonplan_text submits;
    moonplan_value implements = mpl_member(item->value, "implements");
    if (moonplan_value_type(implements) != MOONPLAN_NONE &&
        !check_names(implements, "implements", 32, 64, err))
        return false;
    if (!need_text(&submits, item->value, "submits", err)) return false;
    if (!mpl_text_is(submits, "call") && !mpl_text_is(submits, "plan"))
        MANIFEST(err, mpl_member(item->value, "submits"),
                 "submits must be call, for one at a time, or plan, for all of them at once");
    return true;
}

/* -- Descriptions of contracts ----------------------------------------------*/

static bool check_signatures(moonplan_value list, const moonplan_options *options,
                             moonplan_error *err) {
    if (!is_list(list)) MANIFEST(err, list, "abi must be a list of signatures or JSON ABI entries");
    if (moonplan_value_count(list) == 0) return true;
    moonplan_abi *abi = mpl_abi_parse_tables(list, options, err);
    if (!abi && err && err->code != MOONPLAN_MEMORY) err->code = MOONPLAN_PLUGIN_MANIFEST;
    moonplan_abi_free(abi);
    return abi != NULL;
}

/* { address, chain_id, abi }: of one contract. */
static bool check_source(moonplan_value source, const moonplan_options *options,
                         moonplan_error *err) {
    moonplan_walk walk = moonplan_value_walk(source);
    if (moonplan_value_type(source) != MOONPLAN_OBJECT)
        MANIFEST(err, source, "behind a table with a field abi there are only such tables");
    while (moonplan_walk_next(&walk)) {
        moonplan_text text = moonplan_value_string(walk.value);
        if (mpl_text_is(walk.name, "address")) {
            if (text.length != 42 || mpl_hex_scan(text) == MPL_HEX_NO)
                MANIFEST(err, walk.value, "address must be 0x and 40 hexadecimal digits");
        } else if (mpl_text_is(walk.name, "chain_id")) {
            if (!text.bytes || !mpl_decimal(text))
                MANIFEST(err, walk.value, "chain_id must be a decimal number, as a string");
        } else if (!mpl_text_is(walk.name, "abi")) {
            MANIFEST(err, walk.value,
                     "a contract's description has no field %q; there are: address, chain_id, abi",
                     &walk.name);
        }
    }
    if (!is_there(source, "abi")) MANIFEST(err, source, "the field abi is missing");
    return check_signatures(mpl_member(source, "abi"), options, err);
}

bool mpl_manifest_abi_sources(moonplan_value abi) {
    return moonplan_value_count(abi) > 0 && moonplan_value_type(abi) == MOONPLAN_ARRAY &&
           is_there(moonplan_value_element(abi, 0), "abi");
}

static bool check_abi(const mpl_item *item, const moonplan_options *options, moonplan_error *err) {
    moonplan_value abi = mpl_member(item->value, "abi");
    if (moonplan_value_type(abi) == MOONPLAN_NONE) return true;
    if (!mpl_manifest_abi_sources(abi)) return check_signatures(abi, options, err);
    moonplan_walk walk = moonplan_value_walk(abi);
    while (moonplan_walk_next(&walk))
        if (!check_source(walk.value, options, err)) return false;
    return true;
}

static bool check_functions(const mpl_item *item, moonplan_error *err) {
    unsigned missing = mpl_kinds[item->kind].required & ~item->functions;
    for (unsigned i = 0; i < MPL_FUNCTIONS; i++)
        if (missing >> i & 1)
            MANIFEST(err, item->value, "the field %s is missing: a function",
                     mpl_function_names[i]);
    return true;
}

static bool check_item(mpl_item *item, moonplan_text file, const moonplan_options *options,
                       moonplan_error *err) {
    return check_kind(item->kind, item->value, err) && check_name(item, file, err) &&
           need_text(&item->summary, item->value, "summary", err) &&
           (item->kind != MPL_CAPABILITY || check_risk(item, err)) && check_needs(item, err) &&
           check_schema(&item->input, item->value, "input", options, err) &&
           check_schema(&item->output, item->value, "output", options, err) &&
           (item->kind != MPL_BUILDER || check_builder(item, options, err)) &&
           (item->kind != MPL_EXECUTOR || check_executor(item, err)) &&
           check_abi(item, options, err) && check_examples(item, err) && check_functions(item, err);
}

static bool check_twice(const mpl_manifest *manifest, size_t n, moonplan_error *err) {
    for (size_t i = 0; i < n; i++)
        if (mpl_text_equal(manifest->items[i].name, manifest->items[n].name))
            AT(err, mpl_member(manifest->items[n].value, "name"), MOONPLAN_PLUGIN_DUPLICATE,
               "%q again; the file has it already", &manifest->items[n].name);
    return true;
}

bool mpl_manifest_check(mpl_manifest *manifest, moonplan_text name, moonplan_error *err) {
    if (manifest->building) manifest->document = mpl_build_finish(&manifest->builder, err);
    manifest->building = false;
    if (!manifest->document) return false;
    moonplan_value root = moonplan_document_root(manifest->document);
    bool fine = true;
    for (size_t i = 0; fine && i < manifest->count; i++) {
        manifest->items[i].value = manifest->family ? moonplan_value_element(root, i) : root;
        fine = check_item(&manifest->items[i], name, manifest->options, err) &&
               check_twice(manifest, i, err);
    }
    if (!fine && err) err->offset = MOONPLAN_NO_OFFSET; /* the document's text is nobody's */
    return fine;
}

/* -- Times -----------------------------------------------------------------*/

/* `count` digits as a number, or -1. */
static int digits(const char *at, int count) {
    int number = 0;
    for (int i = 0; i < count; i++) {
        if (at[i] < '0' || at[i] > '9') return -1;
        number = number * 10 + (at[i] - '0');
    }
    return number;
}

/* Days since 1970-01-01 in the Gregorian calendar, March being the first month of the year so that
 * the leap day is the last. */
static int64_t days(int year, int month, int day) {
    int64_t y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;
    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

static int month_length(int year, int month) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return lengths[month - 1] + (month == 2 && leap);
}

bool mpl_time_read(int64_t *out, moonplan_text text) {
    const char *at = text.bytes;
    if ((text.length != 20 && text.length != 24) || at[4] != '-' || at[7] != '-' || at[10] != 'T' ||
        at[13] != ':' || at[16] != ':' || at[text.length - 1] != 'Z' ||
        (text.length == 24 && at[19] != '.'))
        return false;
    int year = digits(at, 4), month = digits(at + 5, 2), day = digits(at + 8, 2);
    int hour = digits(at + 11, 2), minute = digits(at + 14, 2), second = digits(at + 17, 2);
    int thousandth = text.length == 24 ? digits(at + 20, 3) : 0;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > month_length(year, month) ||
        hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 ||
        thousandth < 0)
        return false;
    *out =
        ((days(year, month, day) * 24 + hour) * 60 + minute) * 60000 + second * 1000 + thousandth;
    return true;
}
