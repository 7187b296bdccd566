/* moonplan.abi: the contract ABI, for whoever makes calldata and whoever reads it. */
#include "abi.h"

#include <string.h>

#include "../call/abi.h"
#include "../core/text.h"
#include "convert.h"
#include "module.h"

/* Borrows its text from a Lua string, which is its user value. */
struct abi {
    moonplan_abi *abi;
};
enum { TEXT = 1, ABI_VALUES = TEXT };

static int abi_gc(lua_State *L);
static int abi_index(lua_State *L);
static int abi_tostring(lua_State *L);
static int read_only(lua_State *L);

static const luaL_Reg abi_own[] = {{"__gc", abi_gc},
                                   {"__index", abi_index},
                                   {"__newindex", read_only},
                                   {"__tostring", abi_tostring},
                                   {NULL, NULL}};
static const mpl_lua_type abi_type = {"moonplan.abi", "an ABI", abi_own};

static int abi_gc(lua_State *L) {
    struct abi *self = mpl_lua_check(L, 1, &abi_type);
    moonplan_abi *abi = self->abi;
    self->abi = NULL;
    moonplan_abi_free(abi);
    return 0;
}

static int read_only(lua_State *L) {
    return luaL_error(L, "an ABI cannot be changed");
}

static const moonplan_text no_places = {NULL, 0};

/* What an ABI takes for each byte of its text, about; measured with signatures. */
#define ENTRY_WEIGHT 16

/* Push an ABI made of the string at `text`; false with work->err. */
static bool push_abi(lua_State *L, int text, const moonplan_options *options, mpl_lua_work *work) {
    moonplan_text source = mpl_lua_check_text(L, text);
    struct abi *self = mpl_lua_new(L, &abi_type, sizeof *self, ABI_VALUES);
    lua_pushvalue(L, text);
    lua_setiuservalue(L, -2, TEXT);
    int attempts = 0;
    do self->abi = moonplan_abi_parse(source.bytes, source.length, options, &work->err);
    while (!self->abi && mpl_lua_again(L, work, &attempts));
    return self->abi != NULL;
}

bool mpl_lua_push_described(lua_State *L, moonplan_value list, const moonplan_options *options,
                            mpl_lua_work *work) {
    moonplan_text source = moonplan_value_source(list);
    struct abi *self = mpl_lua_new(L, &abi_type, sizeof *self, ABI_VALUES);
    lua_pushlstring(L, source.bytes, source.length);
    lua_setiuservalue(L, -2, TEXT);
    int attempts = 0;
    do self->abi = mpl_abi_parse_tables(list, options, &work->err);
    while (!self->abi && mpl_lua_again(L, work, &attempts));
    return self->abi != NULL;
}

/* abi.parse(text, options) */
static int parse(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 2, &options, work, NULL);
    if (!push_abi(L, 1, &options, work)) return mpl_lua_refuse(L, work, text);
    mpl_lua_weigh(L, text.length * ENTRY_WEIGHT);
    mpl_lua_work_close(work);
    return 1;
}

/* abi.json(text, options): what it describes, as a JSON ABI */
static int json(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 2, &options, work, NULL);
    options.errors = NULL;
    if (!push_abi(L, 1, &options, work)) return mpl_lua_refuse(L, work, text);
    const struct abi *self = lua_touserdata(L, -1);
    mpl_build_open(&work->builder, &options);
    work->building = true;
    mpl_build_array(&work->builder);
    const moonplan_abi_entry *entry;
    for (size_t i = 0; (entry = moonplan_abi_at(self->abi, i)); i++) {
        if (entry->kind != MOONPLAN_ABI_VALUES) {
            mpl_abi_build_entry(&work->builder, entry);
            continue;
        }
        mpl_error_set(&work->err, MOONPLAN_ABI_TYPE, MOONPLAN_NO_OFFSET, NULL,
                      "%q has no name, and an entry of a JSON ABI has one", &entry->signature);
        return mpl_lua_refuse(L, work, no_places);
    }
    mpl_build_end(&work->builder);
    work->building = false;
    work->document = mpl_build_finish(&work->builder, &work->err);
    if (!work->document) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_push_value(L, moonplan_document_root(work->document));
    mpl_lua_work_close(work);
    return 1;
}

/* -- Reading and writing values -----------------------------------------------*/

void mpl_lua_push_hex(lua_State *L, const uint8_t *bytes, size_t length) {
    luaL_Buffer text;
    char *out = luaL_buffinitsize(L, &text, 2 + 2 * length);
    memcpy(out, "0x", 2);
    mpl_hex_encode(out + 2, bytes, length);
    luaL_pushresultsize(&text, 2 + 2 * length);
}

bool mpl_lua_read_hex(lua_State *L, int arg, mpl_buffer *out, mpl_lua_work *work) {
    moonplan_text text = mpl_lua_check_text(L, arg);
    if (mpl_hex_scan(text) == MPL_HEX_NO) {
        mpl_error_set(&work->err, MOONPLAN_ABI_VALUE, MOONPLAN_NO_OFFSET, NULL,
                      "%q is not 0x and an even number of hexadecimal digits", &text);
        return false;
    }
    size_t length = text.length / 2 - 1;
    char *bytes = mpl_buffer_extend(out, length ? length : 1);
    if (!bytes) {
        mpl_error_memory(&work->err);
        return false;
    }
    out->length = length;
    mpl_hex_decode((uint8_t *)bytes, text.bytes + 2, length);
    return true;
}

/* The one entry of an ABI that was made of a signature; NULL with work->err. */
static const moonplan_abi_entry *only_entry(const moonplan_abi *abi, mpl_lua_work *work) {
    size_t count = moonplan_abi_count(abi);
    if (count == 1) return moonplan_abi_at(abi, 0);
    mpl_error_set(&work->err, MOONPLAN_ABI_TYPE, MOONPLAN_NO_OFFSET, NULL,
                  "one signature is wanted, and there are %u in this text", (uint64_t)count);
    return NULL;
}

/* The entry that the signature at argument 1 describes; pushes the ABI that holds it, which
 * close_abi gives back: a loop over abi.call would otherwise pile up what the collector does not
 * see. */
static const moonplan_abi_entry *entry_of(lua_State *L, const moonplan_options *options,
                                          mpl_lua_work *work) {
    if (!push_abi(L, 1, options, work)) return NULL;
    const struct abi *made = lua_touserdata(L, -1);
    return only_entry(made->abi, work);
}

static void close_abi(lua_State *L, int index) {
    struct abi *made = mpl_lua_test(L, index, &abi_type);
    if (!made) return;
    moonplan_abi_free(made->abi);
    made->abi = NULL;
}

/* The Lua value at `index` becomes work->document. */
static bool read_arguments(lua_State *L, int index, const moonplan_options *options,
                           mpl_lua_work *work) {
    mpl_lua_budget budget = mpl_lua_budget_of(&options->limits);
    work->building = true;
    mpl_build_open(&work->builder, options);
    if (!mpl_lua_build(L, index, &work->builder, &budget, NULL, &work->err)) return false;
    work->building = false;
    work->document = mpl_build_finish(&work->builder, &work->err);
    return work->document != NULL;
}

/* Push the encoding of the arguments at `index`; false with work->err. A document that was made
 * here has no places that anybody could look at. */
static bool push_encoding(lua_State *L, const moonplan_abi_entry *entry, int index,
                          const moonplan_options *options, mpl_lua_work *work) {
    moonplan_value arguments = {0};
    if (!lua_isnil(L, index)) {
        if (!read_arguments(L, index, options, work)) return false;
        arguments = moonplan_document_root(work->document);
    }
    int attempts = 0;
    bool fine;
    do {
        mpl_buffer_close(&work->text);
        mpl_buffer_open(&work->text, &work->alloc);
        fine = moonplan_abi_encode(entry, mpl_buffer_sink, &work->text, arguments, options,
                                   &work->err);
    } while (!fine && mpl_lua_again(L, work, &attempts));
    if (!fine) {
        work->err.offset = MOONPLAN_NO_OFFSET;
        return false;
    }
    mpl_lua_push_hex(L, (const uint8_t *)work->text.bytes, work->text.length);
    return true;
}

/* abi.encode(signature, arguments, options) */
static int encode(lua_State *L) {
    moonplan_text signature = mpl_lua_check_text(L, 1);
    lua_settop(L, 3);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 3, &options, work, NULL);
    options.errors = NULL;
    const moonplan_abi_entry *entry = entry_of(L, &options, work);
    int made = lua_gettop(L);
    bool fine = entry && push_encoding(L, entry, 2, &options, work);
    close_abi(L, made);
    if (!fine) return mpl_lua_refuse(L, work, entry ? no_places : signature);
    mpl_lua_work_close(work);
    return 1;
}

/* The values behind argument 1, as an array at the top of the stack. */
static void collect(lua_State *L) {
    int count = lua_gettop(L) - 1;
    for (int i = 2; i <= count + 1; i++)
        if (lua_isnil(L, i)) luaL_argerror(L, i, "there is no value here, only nil");
    lua_createtable(L, count, 0);
    for (int i = 1; i <= count; i++) {
        lua_pushvalue(L, i + 1);
        lua_rawseti(L, -2, i);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    lua_replace(L, 2);
    lua_settop(L, 2);
}

/* abi.call(signature, ...): who writes this is the author of a plan, and a call without calldata
 * would be another call; so what is wrong is raised, on the author's line. */
static int call(lua_State *L) {
    moonplan_text signature = mpl_lua_check_text(L, 1);
    if (lua_gettop(L) == 1)
        lua_pushnil(L);
    else
        collect(L);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    lua_pushnil(L);
    mpl_lua_options(L, lua_gettop(L), &options, work, NULL);
    options.errors = NULL;
    const moonplan_abi_entry *entry = entry_of(L, &options, work);
    if (entry && entry->kind != MOONPLAN_ABI_CALL) {
        mpl_error_set(&work->err, MOONPLAN_ABI_TYPE, MOONPLAN_NO_OFFSET, NULL,
                      "%t is no function, and only a function can be called", &signature);
        entry = NULL;
    }
    int made = lua_gettop(L);
    bool fine = entry && push_encoding(L, entry, 2, &options, work);
    close_abi(L, made);
    if (fine) {
        mpl_lua_work_close(work);
        return 1;
    }
    bool memory = work->err.code == MOONPLAN_MEMORY;
    mpl_lua_refuse(L, work, no_places);
    return luaL_error(L, "%s", memory ? "not enough memory" : luaL_tolstring(L, -1, NULL));
}

/* abi.selector(signature) */
static int selector(lua_State *L) {
    moonplan_text signature = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 2, &options, work, NULL);
    options.errors = NULL;
    const moonplan_abi_entry *entry = entry_of(L, &options, work);
    if (entry && entry->kind == MOONPLAN_ABI_VALUES) {
        mpl_error_set(&work->err, MOONPLAN_ABI_TYPE, MOONPLAN_NO_OFFSET, NULL,
                      "%q has no name, and so no selector", &signature);
        entry = NULL;
    }
    int made = lua_gettop(L);
    if (entry) mpl_lua_push_hex(L, entry->selector, sizeof entry->selector);
    close_abi(L, made);
    if (!entry) return mpl_lua_refuse(L, work, signature);
    mpl_lua_work_close(work);
    return 1;
}

/* -- Decoding ------------------------------------------------------------------*/

struct decoded {
    moonplan_abi_data *data;
};

static int decoded_gc(lua_State *L);
static const luaL_Reg decoded_own[] = {{"__gc", decoded_gc}, {NULL, NULL}};
static const mpl_lua_type decoded_type = {"moonplan.abi_data", "decoded values", decoded_own};

static int decoded_gc(lua_State *L) {
    struct decoded *self = mpl_lua_check(L, 1, &decoded_type);
    moonplan_abi_data *data = self->data;
    self->data = NULL;
    moonplan_abi_data_free(data);
    return 0;
}

struct manner {
    bool strict, outputs;
};

static void read_manner(lua_State *L, int arg, int which, void *data) {
    struct manner *manner = data;
    if (!lua_isboolean(L, -1))
        mpl_lua_bad_option(L, arg, which ? "outputs" : "strict", "true or false", -1);
    *(which ? &manner->outputs : &manner->strict) = lua_toboolean(L, -1);
}

static void push_notes(lua_State *L, const moonplan_abi_data *data) {
    size_t count = moonplan_abi_data_note_count(data);
    moonplan_error *notes = lua_newuserdatauv(L, count * sizeof *notes + 1, 0);
    for (size_t i = 0; i < count; i++) notes[i] = *moonplan_abi_data_note(data, i);
    mpl_lua_push_errors(L, notes, count, no_places);
}

/* Push the arguments, and the notes, of the bytes in work->scratch. */
static int push_decoded(lua_State *L, const moonplan_abi_entry *entry, const struct manner *manner,
                        const moonplan_options *options, mpl_lua_work *work) {
    struct decoded *slot = mpl_lua_new(L, &decoded_type, sizeof *slot, 0);
    const uint8_t *bytes = (const uint8_t *)work->scratch.bytes;
    int attempts = 0;
    do {
        if (!slot->data)
            slot->data = (manner->outputs ? moonplan_abi_decode_outputs : moonplan_abi_decode)(
                entry, bytes, work->scratch.length, manner->strict, options, &work->err);
        if (slot->data)
            work->document = moonplan_abi_data_document(slot->data, options, &work->err);
    } while (!work->document && mpl_lua_again(L, work, &attempts));
    if (!work->document) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_push_value(L, moonplan_document_root(work->document));
    push_notes(L, slot->data);
    moonplan_abi_data_free(slot->data);
    slot->data = NULL;
    lua_remove(L, -2); /* what the notes were copied into */
    mpl_lua_work_close(work);
    return 2;
}

/* abi.decode(signature, data, options) */
static int decode(lua_State *L) {
    static const char *const names[] = {"strict", "outputs", NULL};
    moonplan_text signature = mpl_lua_check_text(L, 1);
    mpl_lua_check_text(L, 2);
    lua_settop(L, 3);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    struct manner manner = {false, false};
    const mpl_lua_more more = {names, read_manner, &manner};
    mpl_lua_options(L, 3, &options, work, &more);
    options.errors = NULL;
    const moonplan_abi_entry *entry = entry_of(L, &options, work);
    int made = lua_gettop(L), count;
    if (entry && mpl_lua_read_hex(L, 2, &work->scratch, work))
        count = push_decoded(L, entry, &manner, &options, work);
    else
        count = mpl_lua_refuse(L, work, entry ? no_places : signature);
    close_abi(L, made);
    return count;
}

/* -- An ABI as an object ---------------------------------------------------------*/

/* The ABI at argument 1, and the entry that argument 2 names. */
static const moonplan_abi_entry *named_entry(lua_State *L, mpl_lua_work *work) {
    const struct abi *self = mpl_lua_check(L, 1, &abi_type);
    moonplan_text name = mpl_lua_check_text(L, 2);
    const moonplan_abi_entry *entry = moonplan_abi_by_name(self->abi, name.bytes, name.length);
    if (!entry)
        mpl_error_set(&work->err, MOONPLAN_ABI_TYPE, MOONPLAN_NO_OFFSET, NULL,
                      "this ABI describes nothing called %q, or several functions by that name, "
                      "which only their signatures tell apart",
                      &name);
    return entry;
}

/* abi:encode(name, arguments, options) */
static int abi_encode(lua_State *L) {
    mpl_lua_check(L, 1, &abi_type);
    mpl_lua_check_text(L, 2);
    lua_settop(L, 4);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 4, &options, work, NULL);
    options.errors = NULL;
    const moonplan_abi_entry *entry = named_entry(L, work);
    if (!entry || !push_encoding(L, entry, 3, &options, work))
        return mpl_lua_refuse(L, work, no_places);
    mpl_lua_work_close(work);
    return 1;
}

/* abi:decode(name, data, options) */
static int abi_decode(lua_State *L) {
    static const char *const names[] = {"strict", "outputs", NULL};
    mpl_lua_check(L, 1, &abi_type);
    mpl_lua_check_text(L, 2);
    mpl_lua_check_text(L, 3);
    lua_settop(L, 4);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    struct manner manner = {false, false};
    const mpl_lua_more more = {names, read_manner, &manner};
    mpl_lua_options(L, 4, &options, work, &more);
    options.errors = NULL;
    const moonplan_abi_entry *entry = named_entry(L, work);
    if (!entry || !mpl_lua_read_hex(L, 3, &work->scratch, work))
        return mpl_lua_refuse(L, work, no_places);
    return push_decoded(L, entry, &manner, &options, work);
}

static void push_parameters(lua_State *L, const moonplan_abi_type *tuple) {
    lua_createtable(L, (int)tuple->size, 0);
    for (uint32_t i = 0; i < tuple->size; i++) {
        lua_createtable(L, 0, 2);
        mpl_lua_push_text(L, tuple->items[i].text);
        lua_setfield(L, -2, "type");
        if (tuple->items[i].name.length) {
            mpl_lua_push_text(L, tuple->items[i].name);
            lua_setfield(L, -2, "name");
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
}

static const char *const kinds[] = {"function", "error", "values"};

static void push_entry(lua_State *L, const moonplan_abi_entry *entry) {
    lua_createtable(L, 0, 6);
    lua_pushstring(L, kinds[entry->kind]);
    lua_setfield(L, -2, "kind");
    if (entry->kind != MOONPLAN_ABI_VALUES) {
        mpl_lua_push_text(L, entry->name);
        lua_setfield(L, -2, "name");
        mpl_lua_push_hex(L, entry->selector, sizeof entry->selector);
        lua_setfield(L, -2, "selector");
    }
    mpl_lua_push_text(L, entry->signature);
    lua_setfield(L, -2, "signature");
    push_parameters(L, &entry->inputs);
    lua_setfield(L, -2, "inputs");
    push_parameters(L, &entry->outputs);
    lua_setfield(L, -2, "outputs");
}

static int push_entries(lua_State *L, const moonplan_abi *abi) {
    size_t count = moonplan_abi_count(abi);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        push_entry(L, moonplan_abi_at(abi, i));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    return 1;
}

static int abi_index(lua_State *L) {
    static const char *const fields[] = {"decode", "encode", "entries", NULL};
    const struct abi *self = mpl_lua_check(L, 1, &abi_type);
    switch (mpl_lua_field(L, 2, abi_type.what, fields)) {
    case 0:
        lua_pushcfunction(L, abi_decode);
        return 1;
    case 1:
        lua_pushcfunction(L, abi_encode);
        return 1;
    default:
        return push_entries(L, self->abi);
    }
}

static int abi_tostring(lua_State *L) {
    const struct abi *self = mpl_lua_check(L, 1, &abi_type);
    size_t count = moonplan_abi_count(self->abi);
    lua_pushfstring(L, count == 1 ? "ABI (%I entry)" : "ABI (%I entries)", (LUAI_UACINT)count);
    return 1;
}

/* -- The options of readers ------------------------------------------------------*/

enum { ABIS, NOW, TO, CHAIN_ID };

static moonplan_text text_at(lua_State *L, int index) {
    moonplan_text text;
    text.bytes = lua_tolstring(L, index, &text.length);
    return text;
}

/* The value on top of the stack stays alive as long as the reading. */
static void keep(lua_State *L, const mpl_lua_reading *reading) {
    lua_pushvalue(L, -1);
    lua_rawseti(L, reading->keep, (lua_Integer)lua_rawlen(L, reading->keep) + 1);
}

static moonplan_text read_address(lua_State *L, int arg, const char *name,
                                  const mpl_lua_reading *reading) {
    moonplan_text text = {NULL, 0};
    if (lua_type(L, -1) != LUA_TSTRING) mpl_lua_bad_option(L, arg, name, "an address as text", -1);
    text = text_at(L, -1);
    if (text.length != 42 || mpl_hex_scan(text) == MPL_HEX_NO)
        luaL_argerror(L, arg, lua_pushfstring(L, "%s must be 0x and 40 hexadecimal digits", name));
    keep(L, reading);
    return text;
}

static moonplan_text read_chain_id(lua_State *L, int arg, const mpl_lua_reading *reading) {
    moonplan_text text = {NULL, 0};
    if (lua_type(L, -1) != LUA_TSTRING)
        mpl_lua_bad_option(L, arg, "chain_id", "a decimal number as text", -1);
    text = text_at(L, -1);
    if (!mpl_decimal(text)) luaL_argerror(L, arg, "chain_id must be a decimal number as text");
    keep(L, reading);
    return text;
}

/* The ABI on top of the stack. */
static void read_abi(lua_State *L, int arg, moonplan_abi_source *source,
                     const mpl_lua_reading *reading) {
    const struct abi *abi = mpl_lua_test(L, -1, &abi_type);
    if (abi) {
        source->abi = abi->abi;
        keep(L, reading);
        return;
    }
    luaL_argerror(L, arg,
                  "abis must be a list of what moonplan.abi.parse returns, or of tables with that "
                  "as their field abi");
}

/* A source on top of the stack: an ABI, or a table with one and whose it is. */
static void read_source(lua_State *L, int arg, moonplan_abi_source *source,
                        const mpl_lua_reading *reading) {
    static const char *const fields[] = {"abi", "address", "chain_id", "origin", "untrusted", NULL};
    *source = (moonplan_abi_source){.origin = {"the caller", 10}};
    if (!lua_istable(L, -1)) {
        read_abi(L, arg, source, reading);
        return;
    }
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        switch (mpl_lua_field(L, -2, "an entry of abis", fields)) {
        case 0:
            read_abi(L, arg, source, reading);
            break;
        case 1:
            source->address = read_address(L, arg, "address", reading);
            break;
        case 2:
            source->chain_id = read_chain_id(L, arg, reading);
            break;
        case 4:
            if (!lua_isboolean(L, -1)) mpl_lua_bad_option(L, arg, "untrusted", "a boolean", -1);
            source->untrusted = lua_toboolean(L, -1);
            break;
        default:
            if (lua_type(L, -1) != LUA_TSTRING)
                mpl_lua_bad_option(L, arg, "origin", "a name for people", -1);
            source->origin = text_at(L, -1);
            keep(L, reading);
            break;
        }
    }
    if (!source->abi) luaL_argerror(L, arg, "an entry of abis has no field abi");
}

static void read_abis(lua_State *L, int arg, mpl_lua_reading *reading) {
    int list = lua_gettop(L);
    if (!lua_istable(L, list)) mpl_lua_bad_option(L, arg, "abis", "a list of ABIs", list);
    size_t count = lua_rawlen(L, list), keys = 0;
    for (lua_pushnil(L); lua_next(L, list); lua_pop(L, 1)) keys++;
    if (keys != count)
        luaL_argerror(L, arg, "abis must be a list of ABIs, with positions from 1 on");
    luaL_checkstack(L, 8, "no room for options");
    moonplan_abi_source *sources = lua_newuserdatauv(L, count * sizeof *sources + 1, 0);
    keep(L, reading);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        read_source(L, arg, &sources[i], reading);
        lua_settop(L, list + 1);
    }
    lua_settop(L, list);
    reading->context.sources = sources;
    reading->context.source_count = count;
}

static void read_reading(lua_State *L, int arg, int which, void *data) {
    mpl_lua_reading *reading = data;
    int exact = 0;
    lua_Integer now;
    switch (which) {
    case ABIS:
        read_abis(L, arg, reading);
        break;
    case NOW:
        now = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : 0;
        if (!exact || now < 0) luaL_argerror(L, arg, "now must be whole seconds since 1970");
        reading->context.now = (uint64_t)now;
        break;
    case TO:
        reading->to = read_address(L, arg, "to", reading);
        break;
    default:
        reading->chain_id = read_chain_id(L, arg, reading);
        break;
    }
}

void mpl_lua_read_reading(lua_State *L, int arg, moonplan_options *options,
                          mpl_lua_reading *reading, mpl_lua_work *work) {
    static const char *const names[] = {"abis", "now", "to", "chain_id", NULL};
    *reading = (mpl_lua_reading){0};
    lua_newtable(L);
    reading->keep = lua_gettop(L);
    const mpl_lua_more more = {names, read_reading, reading};
    mpl_lua_options(L, arg, options, work, &more);
}

/* -- Reading what others made ------------------------------------------------------*/

typedef moonplan_document *(*reader)(const uint8_t *bytes, size_t length,
                                     const mpl_lua_reading *reading,
                                     const moonplan_options *options, moonplan_error *err);

static moonplan_document *read_call(const uint8_t *bytes, size_t length,
                                    const mpl_lua_reading *reading, const moonplan_options *options,
                                    moonplan_error *err) {
    return moonplan_call_decode(bytes, length, reading->to, reading->chain_id, &reading->context,
                                options, err);
}

static moonplan_document *read_revert(const uint8_t *bytes, size_t length,
                                      const mpl_lua_reading *reading,
                                      const moonplan_options *options, moonplan_error *err) {
    return moonplan_revert_decode(bytes, length, reading->context.sources,
                                  reading->context.source_count, options, err);
}

/* f(data, options): what the bytes say, as tables. */
static int read_data(lua_State *L, reader read) {
    mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_reading reading;
    mpl_lua_read_reading(L, 2, &options, &reading, work);
    options.errors = NULL;
    if (!mpl_lua_read_hex(L, 1, &work->scratch, work)) return mpl_lua_refuse(L, work, no_places);
    int attempts = 0;
    do
        work->document = read((const uint8_t *)work->scratch.bytes, work->scratch.length, &reading,
                              &options, &work->err);
    while (!work->document && mpl_lua_again(L, work, &attempts));
    if (!work->document) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_push_value(L, moonplan_document_root(work->document));
    mpl_lua_work_close(work);
    return 1;
}

/* abi.decode_call(data, options) */
static int decode_call(lua_State *L) {
    return read_data(L, read_call);
}

/* abi.decode_revert(data, options) */
static int decode_revert(lua_State *L) {
    return read_data(L, read_revert);
}

/* abi.checksum(address): nil unless it is one */
static int checksum(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    char out[42];
    if (moonplan_address_checksum(out, text.bytes, text.length))
        lua_pushlstring(L, out, sizeof out);
    else
        lua_pushnil(L);
    return 1;
}

void mpl_lua_push_abi(lua_State *L) {
    static const luaL_Reg functions[] = {{"call", call},
                                         {"checksum", checksum},
                                         {"decode", decode},
                                         {"decode_call", decode_call},
                                         {"decode_revert", decode_revert},
                                         {"encode", encode},
                                         {"json", json},
                                         {"parse", parse},
                                         {"selector", selector},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
}
