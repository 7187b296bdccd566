#include "manifest.h"

#include <lauxlib.h>
#include <string.h>

#include "../core/text.h"
#include "../step/schema.h"
#include "bind.h"
#include "convert.h"

#define NAME_MOST    128
#define VERSION_MOST 64
#define ITEMS_MOST   1000

const moonplan_text mpl_power_names[MPL_POWERS] = {
    {"fs", 2},
    {"fs:rw", 5},
    {"clock", 5},
};
#define POWER_NAMES "fs, fs:rw, clock"

unsigned mpl_power_of(moonplan_text name) {
    for (unsigned i = 0; i < MPL_POWERS; i++)
        if (mpl_text_equal(name, mpl_power_names[i])) return 1u << i;
    return 0;
}

void mpl_manifest_open(mpl_manifest *manifest, const moonplan_options *options) {
    memset(manifest, 0, sizeof *manifest);
    manifest->options = options;
    manifest->alloc = mpl_alloc_of(options);
}

void mpl_manifest_close(mpl_manifest *manifest) {
    if (manifest->building) mpl_build_close(&manifest->builder);
    manifest->building = false;
    moonplan_document_free(manifest->document);
    manifest->document = NULL;
    mpl_release(&manifest->alloc, manifest->items, manifest->count * sizeof *manifest->items);
    manifest->items = NULL;
    manifest->count = 0;
}

/* -- Reading ---------------------------------------------------------------*/

/* In the order in which they stand in the document; then the functions. */
static const char *const fields[] = {"kind", "api",   "name",  "version", "summary",
                                     "risk", "needs", "input", "output",  "examples",
                                     "run",  "check", NULL};
#define FUNCTIONS 10
#define FIELD_NAMES                                                                                \
    "kind, api, name, version, summary, risk, needs, input, output, examples, run, check"

static bool refuse(moonplan_error *err, const mpl_pointer *place, const char *text) {
    mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, place, "%s", text);
    return false;
}

/* Every key of the table on top is a field's name. */
static bool check_keys(lua_State *L, const mpl_pointer *place, moonplan_error *err) {
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            return refuse(err, place,
                          "the fields of a capability have names; there are: " FIELD_NAMES);
        moonplan_text name;
        name.bytes = lua_tolstring(L, -2, &name.length);
        size_t field = 0;
        while (fields[field] && !mpl_text_is(name, fields[field])) field++;
        if (!fields[field]) {
            mpl_pointer at = *place;
            mpl_pointer_name(&at, name);
            mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &at,
                          "a capability has no field %q; there are: %s", &name, FIELD_NAMES);
            return false;
        }
        if (field >= FUNCTIONS && !lua_isfunction(L, -1)) {
            mpl_pointer at = *place;
            mpl_pointer_name(&at, name);
            mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, &at,
                          "%s must be a function, not a %s", fields[field], luaL_typename(L, -1));
            return false;
        }
    }
    return true;
}

static int read_function(lua_State *L, int table, const char *name) {
    lua_pushstring(L, name);
    lua_rawget(L, table);
    int reference = luaL_ref(L, LUA_REGISTRYINDEX);
    return reference == LUA_REFNIL ? LUA_NOREF : reference;
}

/* The table on top, which becomes an object. */
static bool read_item(lua_State *L, mpl_manifest *manifest, mpl_item *item,
                      const mpl_pointer *place, mpl_lua_budget *budget, moonplan_error *err) {
    int table = lua_gettop(L);
    if (!lua_istable(L, table)) {
        mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, place,
                      "a capability is a table, not a %s", luaL_typename(L, table));
        return false;
    }
    if (!check_keys(L, place, err)) return false;
    mpl_build_object(&manifest->builder);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        lua_pushstring(L, fields[i]);
        if (lua_rawget(L, table) != LUA_TNIL) {
            moonplan_text name = {fields[i], strlen(fields[i])};
            mpl_pointer at = *place;
            mpl_pointer_name(&at, name);
            mpl_build_name(&manifest->builder, name);
            if (!mpl_lua_build(L, -1, &manifest->builder, budget, &at, err)) {
                if (err->code != MOONPLAN_MEMORY) err->code = MOONPLAN_PLUGIN_MANIFEST;
                return false;
            }
        }
        lua_pop(L, 1);
    }
    mpl_build_end(&manifest->builder);
    item->run = read_function(L, table, "run");
    item->check = read_function(L, table, "check");
    return true;
}

/* How many elements the table on top has if it is a list, else 0. */
static size_t list_length(lua_State *L) {
    size_t count = 0, length = lua_rawlen(L, -1);
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) count++;
    return count == length ? length : 0;
}

static bool read_family(lua_State *L, mpl_manifest *manifest, mpl_lua_budget *budget,
                        moonplan_error *err) {
    mpl_build_array(&manifest->builder);
    for (size_t i = 0; i < manifest->count; i++) {
        mpl_pointer place = {0, false, ""};
        mpl_pointer_index(&place, i);
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        if (!read_item(L, manifest, &manifest->items[i], &place, budget, err)) return false;
        lua_pop(L, 1);
    }
    mpl_build_end(&manifest->builder);
    return true;
}

bool mpl_manifest_read(lua_State *L, mpl_manifest *manifest, moonplan_error *err) {
    mpl_pointer root = {0, false, ""};
    luaL_checkstack(L, 8, NULL);
    if (!lua_istable(L, -1)) {
        mpl_error_set(
            err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, NULL,
            "the file returns %s; a plugin returns a table that describes a capability, or a "
            "list of them",
            lua_isnil(L, -1) ? "nothing" : luaL_typename(L, -1));
        return false;
    }
    size_t length = list_length(L);
    if (length > ITEMS_MOST) {
        mpl_error_set(err, MOONPLAN_PLUGIN_MANIFEST, MOONPLAN_NO_OFFSET, NULL,
                      "a list of %u capabilities; one file brings at most %u", (uint64_t)length,
                      (uint64_t)ITEMS_MOST);
        return false;
    }
    manifest->family = length > 0;
    size_t count = length > 0 ? length : 1;
    manifest->items = mpl_allocate(&manifest->alloc, count * sizeof *manifest->items);
    if (!manifest->items) {
        mpl_error_memory(err);
        return false;
    }
    memset(manifest->items, 0, count * sizeof *manifest->items);
    manifest->count = count;
    mpl_lua_budget budget = mpl_lua_budget_of(&manifest->options->limits);
    mpl_build_open(&manifest->builder, manifest->options);
    manifest->building = true;
    int top = lua_gettop(L);
    bool fine = manifest->family ? read_family(L, manifest, &budget, err)
                                 : read_item(L, manifest, manifest->items, &root, &budget, err);
    lua_settop(L, top);
    return fine;
}

/* -- Checking --------------------------------------------------------------*/

bool mpl_plugin_name(moonplan_text name) {
    bool begun = false;
    if (name.length == 0 || name.length > NAME_MOST) return false;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.bytes[i];
        if (c == '.' && !begun) return false;
        begun = c != '.';
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '_' || c == '-' || c == '.')
            continue;
        return false;
    }
    return begun;
}

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

static moonplan_value member(moonplan_value object, const char *name) {
    return moonplan_value_member(object, name, strlen(name));
}

static bool need_text(moonplan_text *out, moonplan_value item, const char *name,
                      moonplan_error *err) {
    moonplan_value value = member(item, name);
    moonplan_type type = moonplan_value_type(value);
    *out = moonplan_value_string(value);
    if (type == MOONPLAN_NONE) MANIFEST(err, item, "the field %s is missing", name);
    if (type != MOONPLAN_STRING)
        MANIFEST(err, value, "%s must be a string, not %s", name, mpl_type_text(type));
    if (out->length == 0) MANIFEST(err, value, "%s is empty", name);
    return true;
}

static bool check_kind(moonplan_value item, moonplan_error *err) {
    moonplan_text kind;
    moonplan_value api = member(item, "api");
    int64_t version;
    if (!need_text(&kind, item, "kind", err)) return false;
    if (!mpl_text_is(kind, "capability"))
        MANIFEST(err, member(item, "kind"),
                 "there are no plugins of kind %q; there are: capability", &kind);
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
    moonplan_value name = member(item->value, "name");
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
            MANIFEST(err, member(item->value, "version"),
                     "%q is no version: 1 to 64 characters from 0x21 to 0x7e", &item->version);
    return true;
}

static bool check_risk(mpl_item *item, moonplan_error *err) {
    if (!need_text(&item->risk, item->value, "risk", err)) return false;
    if (!mpl_text_is(item->risk, "read") && !mpl_text_is(item->risk, "write") &&
        !mpl_text_is(item->risk, "destructive"))
        MANIFEST(err, member(item->value, "risk"),
                 "%q is no risk; there are: read, write, destructive", &item->risk);
    return true;
}

/* A list, or an empty table, which does not say what it is. */
static bool is_list(moonplan_value value) {
    return moonplan_value_type(value) == MOONPLAN_ARRAY ||
           (moonplan_value_type(value) == MOONPLAN_OBJECT && moonplan_value_count(value) == 0);
}

static bool check_needs(mpl_item *item, moonplan_error *err) {
    moonplan_value needs = member(item->value, "needs");
    if (moonplan_value_type(needs) == MOONPLAN_NONE) return true;
    if (!is_list(needs)) MANIFEST(err, needs, "needs must be a list of powers: " POWER_NAMES);
    moonplan_walk walk = moonplan_value_walk(needs);
    while (moonplan_walk_next(&walk)) {
        moonplan_text name = moonplan_value_string(walk.value);
        unsigned power = mpl_power_of(name);
        if (!name.bytes)
            MANIFEST(err, walk.value, "a power is named by a string, not by %s",
                     mpl_type_text(moonplan_value_type(walk.value)));
        if (!power)
            MANIFEST(err, walk.value, "there is no power %q; there are: " POWER_NAMES, &name);
        item->needs |= power;
    }
    return true;
}

static bool check_schema(moonplan_text *out, moonplan_value item, const char *name,
                         const moonplan_options *options, moonplan_error *err) {
    moonplan_value schema = member(item, name);
    mpl_pointer place = {0, false, ""};
    if (moonplan_value_type(schema) == MOONPLAN_NONE) return true;
    *out = moonplan_value_source(schema);
    mpl_pointer_of(&place, schema.document, schema.node);
    mpl_schema *read = mpl_schema_new(*out, true, &place, options, err);
    mpl_schema_free(read);
    return read != NULL;
}

/* -- Examples --------------------------------------------------------------*/

static bool check_files(moonplan_value files, moonplan_error *err) {
    moonplan_type type = moonplan_value_type(files);
    if (type == MOONPLAN_NONE) return true;
    if (type != MOONPLAN_OBJECT)
        MANIFEST(err, files, "fs must be a table of contents by path, not %s", mpl_type_text(type));
    moonplan_walk walk = moonplan_value_walk(files);
    while (moonplan_walk_next(&walk))
        if (moonplan_value_type(walk.value) != MOONPLAN_STRING)
            MANIFEST(err, walk.value, "the content of a file is a string, not %s",
                     mpl_type_text(moonplan_value_type(walk.value)));
    return true;
}

/* `given` and `after`: what is outside before and after the call. */
static bool check_world(moonplan_value world, bool before, moonplan_error *err) {
    moonplan_type type = moonplan_value_type(world);
    if (type == MOONPLAN_NONE) return true;
    if (type != MOONPLAN_OBJECT)
        MANIFEST(err, world, "an object of powers, not %s", mpl_type_text(type));
    moonplan_walk walk = moonplan_value_walk(world);
    while (moonplan_walk_next(&walk)) {
        if (mpl_text_is(walk.name, "fs")) {
            if (!check_files(walk.value, err)) return false;
        } else if (before && mpl_text_is(walk.name, "clock")) {
            int64_t time;
            if (!mpl_time_read(&time, moonplan_value_string(walk.value)))
                MANIFEST(err, walk.value, "clock must be a time like 2026-01-02T03:04:05.000Z");
        } else {
            MANIFEST(err, walk.value, "there is no double of %q; there %s", &walk.name,
                     before ? "are: fs, clock" : "is: fs");
        }
    }
    return true;
}

static bool check_example(moonplan_value example, moonplan_error *err) {
    moonplan_type type = moonplan_value_type(example);
    if (type != MOONPLAN_OBJECT)
        MANIFEST(err, example, "an example is a table with input and output, not %s",
                 mpl_type_text(type));
    moonplan_walk walk = moonplan_value_walk(example);
    while (moonplan_walk_next(&walk)) {
        bool given = mpl_text_is(walk.name, "given");
        if (given || mpl_text_is(walk.name, "after")) {
            if (!check_world(walk.value, given, err)) return false;
        } else if (mpl_text_is(walk.name, "error")) {
            if (moonplan_value_type(walk.value) != MOONPLAN_STRING)
                MANIFEST(err, walk.value, "error must be the whole message that is expected");
        } else if (!mpl_text_is(walk.name, "input") && !mpl_text_is(walk.name, "output")) {
            MANIFEST(err, walk.value,
                     "an example has no field %q; there are: given, input, output, error, after",
                     &walk.name);
        }
    }
    if (moonplan_value_type(member(example, "output")) != MOONPLAN_NONE &&
        moonplan_value_type(member(example, "error")) != MOONPLAN_NONE)
        MANIFEST(err, example, "an example has an output or an error, not both");
    return true;
}

static bool check_examples(moonplan_value item, moonplan_error *err) {
    moonplan_value examples = member(item, "examples");
    if (moonplan_value_type(examples) == MOONPLAN_NONE) return true;
    if (!is_list(examples)) MANIFEST(err, examples, "examples must be a list");
    moonplan_walk walk = moonplan_value_walk(examples);
    while (moonplan_walk_next(&walk))
        if (!check_example(walk.value, err)) return false;
    return true;
}

static bool check_item(mpl_item *item, moonplan_text file, const moonplan_options *options,
                       moonplan_error *err) {
    if (!check_kind(item->value, err) || !check_name(item, file, err) ||
        !need_text(&item->summary, item->value, "summary", err) || !check_risk(item, err) ||
        !check_needs(item, err) ||
        !check_schema(&item->input, item->value, "input", options, err) ||
        !check_schema(&item->output, item->value, "output", options, err) ||
        !check_examples(item->value, err))
        return false;
    if (item->run == LUA_NOREF)
        MANIFEST(err, item->value, "the field run is missing: the function that does it");
    return true;
}

static bool check_twice(const mpl_manifest *manifest, size_t n, moonplan_error *err) {
    for (size_t i = 0; i < n; i++)
        if (mpl_text_equal(manifest->items[i].name, manifest->items[n].name))
            AT(err, member(manifest->items[n].value, "name"), MOONPLAN_PLUGIN_DUPLICATE,
               "%q again; the file has it already", &manifest->items[n].name);
    return true;
}

bool mpl_manifest_check(mpl_manifest *manifest, moonplan_text name, moonplan_error *err) {
    manifest->building = false;
    manifest->document = mpl_build_finish(&manifest->builder, err);
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
