#include "bind.h"

#include <limits.h>
#include <string.h>

#include "../core/text.h"
#include "convert.h"

/* How much of a misspelt name an error repeats. */
#define QUOTE_ROOM 64

/* -- Userdata --------------------------------------------------------------*/

static void push_metatable(lua_State *L, const mpl_lua_type *type) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, type) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    luaL_setfuncs(L, type->own, 0);
    lua_pushstring(L, type->name);
    lua_setfield(L, -2, "__name");
    /* Out of reach, so that no script calls __gc on an object that is still in use. */
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, type);
}

static int nothing(lua_State *L) {
    (void)L;
    return 0;
}

/* A finalizer that cannot be called for want of memory is not called again, and what it was to free
 * is lost. What a call needs stays with the function that has made one, so that collections while
 * it runs find it. Hole: they find it missing in functions that make neither a call nor an object.
 */
static void ensure_call(lua_State *L) {
    /* For what the caller pushes, and for the finalizer above that. */
    luaL_checkstack(L, 2 * LUA_MINSTACK, NULL);
    lua_pushcfunction(L, nothing);
    lua_call(L, 0, 0);
}

void *mpl_lua_new(lua_State *L, const mpl_lua_type *type, size_t size, int user_values) {
    ensure_call(L);
    push_metatable(L, type);
    void *object = lua_newuserdatauv(L, size, user_values);
    memset(object, 0, size);
    lua_rotate(L, -2, 1);
    lua_setmetatable(L, -2);
    return object;
}

void *mpl_lua_test(lua_State *L, int index, const mpl_lua_type *type) {
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, type);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same ? lua_touserdata(L, index) : NULL;
}

void *mpl_lua_check(lua_State *L, int arg, const mpl_lua_type *type) {
    void *object = mpl_lua_test(L, arg, type);
    if (!object) luaL_typeerror(L, arg, type->what);
    return object;
}

static const char *push_names(lua_State *L, const char *const *names) {
    luaL_Buffer list;
    luaL_buffinit(L, &list);
    for (size_t i = 0; names[i]; i++) {
        if (i) luaL_addlstring(&list, ", ", 2);
        luaL_addstring(&list, names[i]);
    }
    luaL_pushresult(&list);
    return lua_tostring(L, -1);
}

void mpl_lua_push_quoted(lua_State *L, moonplan_text text, size_t room) {
    luaL_Buffer quoted;
    char *out = luaL_buffinitsize(L, &quoted, room);
    luaL_pushresultsize(&quoted, mpl_quote(out, room, text));
}

static moonplan_text text_at(lua_State *L, int index) {
    moonplan_text text;
    text.bytes = lua_tolstring(L, index, &text.length);
    return text;
}

const char *mpl_lua_push_key(lua_State *L, int key) {
    if (lua_type(L, key) == LUA_TSTRING) {
        mpl_lua_push_quoted(L, text_at(L, key), QUOTE_ROOM);
    } else if (lua_isinteger(L, key)) {
        lua_pushfstring(L, "%I", (LUAI_UACINT)lua_tointeger(L, key));
    } else if (lua_type(L, key) == LUA_TNUMBER) {
        lua_pushfstring(L, "%f", lua_tonumber(L, key));
    } else {
        lua_pushfstring(L, "of type %s", luaL_typename(L, key));
    }
    return lua_tostring(L, -1);
}

int mpl_lua_field(lua_State *L, int key, const char *what, const char *const *names) {
    if (lua_type(L, key) == LUA_TSTRING) {
        moonplan_text name = text_at(L, key);
        for (int i = 0; names[i]; i++)
            if (mpl_text_is(name, names[i])) return i;
    }
    const char *given = mpl_lua_push_key(L, key);
    return luaL_error(L, "%s has no field %s; there are: %s", what, given, push_names(L, names));
}

/* -- One call's holdings ---------------------------------------------------*/

void mpl_lua_work_close(mpl_lua_work *work) {
    if (work->building) mpl_build_close(&work->builder);
    work->building = false;
    moonplan_document_free(work->document);
    work->document = NULL;
    moonplan_error_list_free(work->errors);
    work->errors = NULL;
    mpl_buffer_close(&work->text);
    mpl_buffer_close(&work->scratch);
    moonplan_engine *engine = work->engine;
    work->engine = NULL;
    if (engine) work->leave(engine);
}

static int work_gc(lua_State *L);
static const luaL_Reg work_own[] = {{"__gc", work_gc}, {NULL, NULL}};
static const mpl_lua_type work_type = {"moonplan.work", "a call's holdings", work_own};

static int work_gc(lua_State *L) {
    mpl_lua_work_close(mpl_lua_check(L, 1, &work_type));
    return 0;
}

mpl_lua_work *mpl_lua_work_new(lua_State *L) {
    mpl_lua_work *work = mpl_lua_new(L, &work_type, sizeof *work, 1);
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_lua_alloc(L, &options);
    work->alloc = mpl_alloc_of(&options);
    mpl_buffer_open(&work->text, &work->alloc);
    mpl_buffer_open(&work->scratch, &work->alloc);
    return work;
}

bool mpl_lua_again(lua_State *L, mpl_lua_work *work, int *attempts) {
    if (work->err.code != MOONPLAN_MEMORY || (*attempts)++ > 0) return false;
    moonplan_error_list_free(work->errors);
    work->errors = NULL;
    lua_gc(L, LUA_GCCOLLECT);
    return true;
}

bool mpl_lua_parse(lua_State *L, mpl_lua_work *work, moonplan_text text,
                   const moonplan_options *options) {
    int attempts = 0;
    do work->document = moonplan_document_parse(text.bytes, text.length, options, &work->err);
    while (!work->document && mpl_lua_again(L, work, &attempts));
    return work->document != NULL;
}

void mpl_lua_weigh(lua_State *L, size_t bytes) {
    size_t kib = bytes / 1024 + 1;
    /* A step would run even in a state whose owner has stopped the collector. */
    if (lua_gc(L, LUA_GCISRUNNING)) lua_gc(L, LUA_GCSTEP, kib > INT_MAX ? INT_MAX : (int)kib);
}

/* -- Options ---------------------------------------------------------------*/

static const char *const option_names[] = {"implements", "hex_case", "limits",
                                           "enforce_capabilities", "transports"};
enum { IMPLEMENTS, HEX_CASE, LIMITS, ENFORCE, TRANSPORTS, OPTIONS };
#define MORE_OPTIONS 8

void mpl_lua_alloc(lua_State *L, moonplan_options *options) {
    options->alloc = lua_getallocf(L, &options->alloc_data);
}

int mpl_lua_bad_option(lua_State *L, int arg, const char *name, const char *wanted, int value) {
    return luaL_argerror(
        L, arg,
        lua_pushfstring(L, "%s must be %s, not a %s", name, wanted, luaL_typename(L, value)));
}

/* The list on top of the stack becomes a block of texts; a copy of the list keeps its strings
 * alive, whatever becomes of the caller's. */
static void read_implements(lua_State *L, int arg, moonplan_options *options) {
    int list = lua_gettop(L);
    if (!lua_istable(L, list)) mpl_lua_bad_option(L, arg, "implements", "a list of names", list);
    size_t count = lua_rawlen(L, list), keys = 0;
    for (lua_pushnil(L); lua_next(L, list); lua_pop(L, 1)) keys++;
    if (keys != count)
        luaL_argerror(L, arg, "implements must be a list of names, with positions from 1 on");
    moonplan_text *names = lua_newuserdatauv(L, count * sizeof *names + 1, 1);
    lua_createtable(L, count > INT_MAX ? INT_MAX : (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            mpl_lua_bad_option(L, arg, "implements", "a list of names", -1);
        names[i] = text_at(L, -1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setiuservalue(L, -2, 1);
    lua_replace(L, list);
    options->implements = names;
    options->implements_count = count;
}

static const char *push_limit_names(lua_State *L) {
    luaL_Buffer list;
    luaL_buffinit(L, &list);
    const moonplan_limit_info *limit;
    for (size_t i = 0; (limit = moonplan_limit_at(i)); i++) {
        if (i) luaL_addlstring(&list, ", ", 2);
        luaL_addstring(&list, limit->name);
    }
    luaL_pushresult(&list);
    return lua_tostring(L, -1);
}

/* The key and value on top of the stack. */
static void read_limit(lua_State *L, int arg, moonplan_options *options) {
    const moonplan_limit_info *limit = NULL;
    if (lua_type(L, -2) == LUA_TSTRING)
        for (size_t i = 0; (limit = moonplan_limit_at(i)); i++)
            if (mpl_text_is(text_at(L, -2), limit->name)) break;
    if (!limit) {
        const char *name = mpl_lua_push_key(L, -2);
        luaL_argerror(L, arg,
                      lua_pushfstring(L, "no limit %s; there are: %s", name, push_limit_names(L)));
        return;
    }
    int exact = 0;
    lua_Integer value = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : 0;
    if (!exact)
        luaL_argerror(L, arg, lua_pushfstring(L, "the limit %s must be an integer", limit->name));
    if (value < 0 || !moonplan_options_limit(options, limit->name, (uint64_t)value, NULL))
        luaL_argerror(L, arg,
                      lua_pushfstring(L, "the limit %s can be set from %I to %I, not to %I",
                                      limit->name, (LUAI_UACINT)limit->floor,
                                      (LUAI_UACINT)limit->ceiling, (LUAI_UACINT)value));
}

void mpl_lua_read_limits(lua_State *L, int arg, moonplan_options *options) {
    int table = lua_gettop(L);
    if (!lua_istable(L, table))
        mpl_lua_bad_option(L, arg, "limits", "a table of name = number", table);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) read_limit(L, arg, options);
}

static moonplan_hex_case read_hex_case(lua_State *L, int arg) {
    if (lua_type(L, -1) != LUA_TSTRING)
        mpl_lua_bad_option(L, arg, "hex_case", "\"reject\" or \"normalize\"", -1);
    if (mpl_text_is(text_at(L, -1), "normalize")) return MOONPLAN_HEX_NORMALIZE;
    if (!mpl_text_is(text_at(L, -1), "reject"))
        luaL_argerror(L, arg,
                      lua_pushfstring(L, "hex_case must be \"reject\" or \"normalize\", not %s",
                                      mpl_lua_push_key(L, -1)));
    return MOONPLAN_HEX_REJECT;
}

/* Which transport the text on top of the stack names. */
static moonplan_transport read_transport(lua_State *L, int arg) {
    static const char wanted[] = "a list of \"data\", \"https\" and \"file\"";
    if (lua_type(L, -1) != LUA_TSTRING) mpl_lua_bad_option(L, arg, "transports", wanted, -1);
    if (mpl_text_is(text_at(L, -1), "data")) return MOONPLAN_TRANSPORT_DATA;
    if (mpl_text_is(text_at(L, -1), "https")) return MOONPLAN_TRANSPORT_HTTPS;
    if (!mpl_text_is(text_at(L, -1), "file"))
        luaL_argerror(L, arg,
                      lua_pushfstring(L, "there is no transport %s; there are: data, https, file",
                                      mpl_lua_push_key(L, -1)));
    return MOONPLAN_TRANSPORT_FILE;
}

static unsigned read_transports(lua_State *L, int arg) {
    unsigned transports = 0;
    int list = lua_gettop(L);
    if (!lua_istable(L, list)) mpl_lua_bad_option(L, arg, "transports", "a list of names", list);
    for (lua_pushnil(L); lua_next(L, list); lua_pop(L, 1)) {
        if (!lua_isinteger(L, -2))
            luaL_argerror(L, arg, "transports must be a list of names, with positions from 1 on");
        transports |= read_transport(L, arg);
    }
    return transports;
}

/* The number of the option whose name is at `key`; those of `more` count from OPTIONS on. */
static int option_at(lua_State *L, int arg, int key, const mpl_lua_more *more) {
    const char *names[OPTIONS + MORE_OPTIONS + 1];
    memcpy(names, option_names, sizeof option_names);
    int count = OPTIONS;
    for (size_t i = 0; more && more->names[i]; i++) names[count++] = more->names[i];
    names[count] = NULL;
    if (lua_type(L, key) == LUA_TSTRING)
        for (int i = 0; names[i]; i++)
            if (mpl_text_is(text_at(L, key), names[i])) return i;
    const char *given = mpl_lua_push_key(L, key);
    return luaL_argerror(
        L, arg, lua_pushfstring(L, "no option %s; there are: %s", given, push_names(L, names)));
}

void mpl_lua_options(lua_State *L, int arg, moonplan_options *options, mpl_lua_work *work,
                     const mpl_lua_more *more) {
    moonplan_options_init(options);
    mpl_lua_alloc(L, options);
    options->errors = &work->errors;
    options->borrow = true; /* every text is a Lua string that outlives what is made of it */
    lua_pushnil(L);
    if (lua_isnoneornil(L, arg)) return;
    luaL_checktype(L, arg, LUA_TTABLE);
    luaL_checkstack(L, 12, "no room for options");
    int keep = lua_gettop(L), which;
    lua_pushnil(L);
    while (lua_next(L, arg)) {
        switch (which = option_at(L, arg, -2, more)) {
        case IMPLEMENTS:
            read_implements(L, arg, options);
            lua_pushvalue(L, -1);
            lua_replace(L, keep);
            break;
        case HEX_CASE:
            options->hex_case = read_hex_case(L, arg);
            break;
        case LIMITS:
            mpl_lua_read_limits(L, arg, options);
            break;
        case ENFORCE:
            if (!lua_isboolean(L, -1))
                mpl_lua_bad_option(L, arg, "enforce_capabilities", "true or false", -1);
            options->enforce_capabilities = lua_toboolean(L, -1);
            break;
        case TRANSPORTS:
            options->transports = read_transports(L, arg);
            break;
        default:
            more->read(L, arg, which - OPTIONS, more->data);
            break;
        }
        lua_pop(L, 1);
    }
}

moonplan_text mpl_lua_check_text(lua_State *L, int arg) {
    luaL_checktype(L, arg, LUA_TSTRING);
    return text_at(L, arg);
}

/* -- Errors ----------------------------------------------------------------*/

static const char *push_field(lua_State *L, const char *name) {
    lua_pushstring(L, name);
    lua_rawget(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) return lua_tostring(L, -1);
    lua_pop(L, 1);
    lua_pushliteral(L, "");
    return lua_tostring(L, -1);
}

static lua_Integer number_field(lua_State *L, const char *name) {
    lua_pushstring(L, name);
    lua_rawget(L, 1);
    lua_Integer number = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return number;
}

/* code at /pointer (line 3, column 14): message */
static int error_tostring(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    const char *code = push_field(L, "code"), *message = push_field(L, "message");
    push_field(L, "at");
    moonplan_text at = text_at(L, -1);
    /* A pointer is shown bare unless there is something in it that a terminal would not show. */
    mpl_lua_push_quoted(L, at, 1024);
    moonplan_text quoted = text_at(L, -1);
    if (quoted.length == at.length + 2 && memcmp(quoted.bytes + 1, at.bytes, at.length) == 0)
        quoted = at;
    lua_pushfstring(L, "%s%s%s", code, at.length ? " at " : "", at.length ? quoted.bytes : "");
    lua_Integer line = number_field(L, "line"), column = number_field(L, "column");
    if (line > 0)
        lua_pushfstring(L, " (line %I, column %I): %s", (LUAI_UACINT)line, (LUAI_UACINT)column,
                        message);
    else
        lua_pushfstring(L, ": %s", message);
    lua_concat(L, 2);
    return 1;
}

static void push_error_metatable(lua_State *L) {
    static const char name[] = "moonplan.error";
    if (luaL_getmetatable(L, name) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_createtable(L, 0, 3);
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pushcfunction(L, error_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, name);
}

static void set_place(lua_State *L, const char *name, size_t place) {
    lua_pushinteger(L, (lua_Integer)place);
    lua_setfield(L, -2, name);
}

static void push_error(lua_State *L, const moonplan_error *err, int fields) {
    lua_createtable(L, 0, fields);
    lua_pushstring(L, moonplan_code_name(err->code));
    lua_setfield(L, -2, "code");
    lua_pushlstring(L, err->at, err->at_length);
    lua_setfield(L, -2, "at");
    lua_pushstring(L, err->message);
    lua_setfield(L, -2, "message");
    if (err->offset != MOONPLAN_NO_OFFSET) set_place(L, "offset", err->offset);
    if (err->line) {
        set_place(L, "line", err->line);
        set_place(L, "column", err->column);
    }
    push_error_metatable(L);
    lua_setmetatable(L, -2);
}

static void push_list(lua_State *L, const moonplan_error *errors, size_t count) {
    lua_createtable(L, count > INT_MAX ? INT_MAX : (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        push_error(L, &errors[i], 6);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
}

void mpl_lua_push_errors(lua_State *L, moonplan_error *errors, size_t count, moonplan_text text) {
    if (text.bytes) moonplan_error_locate(errors, count, text.bytes, text.length);
    push_list(L, errors, count);
}

int mpl_lua_refuse(lua_State *L, mpl_lua_work *work, moonplan_text text) {
    size_t count = moonplan_error_list_count(work->errors);
    moonplan_error *errors = count ? moonplan_error_list_at(work->errors, 0) : &work->err;
    if (!count) count = 1;
    luaL_checkstack(L, 8, "no room for an error");
    lua_pushnil(L);
    if (text.bytes) moonplan_error_locate(errors, count, text.bytes, text.length);
    push_error(L, errors, 7);
    push_list(L, errors, count);
    lua_setfield(L, -2, "errors");
    mpl_lua_work_close(work);
    return 2;
}

static bool read_text_field(lua_State *L, int table, const char *name, mpl_buffer *out) {
    lua_pushstring(L, name);
    lua_rawget(L, table);
    size_t length;
    const char *bytes = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : NULL;
    if (bytes) mpl_buffer_add(out, bytes, length);
    lua_pop(L, 1);
    return bytes != NULL;
}

bool mpl_lua_read_error(lua_State *L, int index, mpl_buffer *text, mpl_buffer *code) {
    index = lua_absindex(L, index);
    luaL_checkstack(L, 3, NULL);
    if (lua_type(L, index) == LUA_TSTRING) {
        size_t length;
        const char *bytes = lua_tolstring(L, index, &length);
        mpl_buffer_add(text, bytes, length);
        return true;
    }
    if (!lua_istable(L, index) || !read_text_field(L, index, "message", text)) return false;
    read_text_field(L, index, "code", code);
    return true;
}

struct reading {
    mpl_buffer *text, *code;
    bool found;
};

static int read_error(lua_State *L) {
    struct reading *reading = lua_touserdata(L, 2);
    reading->found = mpl_lua_read_error(L, 1, reading->text, reading->code);
    return 0;
}

bool mpl_lua_pop_error(lua_State *L, mpl_buffer *text, mpl_buffer *code) {
    struct reading reading = {text, code, false};
    if (!lua_checkstack(L, 2)) {
        lua_pop(L, 1);
        return false;
    }
    lua_pushcfunction(L, read_error);
    lua_insert(L, -2);
    lua_pushlightuserdata(L, &reading);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK) lua_pop(L, 1);
    return reading.found;
}

void mpl_lua_push_hash(lua_State *L, const uint8_t hash[32]) {
    char text[66] = "0x";
    mpl_hex_encode(text + 2, hash, 32);
    lua_pushlstring(L, text, sizeof text);
}

/* -- Values ------------------------------------------------------------------*/

int mpl_lua_push_text(lua_State *L, moonplan_text text) {
    if (text.bytes)
        lua_pushlstring(L, text.bytes, text.length);
    else
        lua_pushnil(L);
    return 1;
}

int mpl_lua_push_value(lua_State *L, moonplan_value value) {
    moonplan_error err;
    /* It has been read already. */
    mpl_lua_budget budget = {.depth = UINT64_MAX, .values = UINT64_MAX, .bytes = UINT64_MAX};
    if (moonplan_value_type(value) == MOONPLAN_NONE) {
        lua_pushnil(L);
        return 1;
    }
    if (mpl_lua_push(L, value, &budget, &err)) return 1;
    mpl_lua_work *work = mpl_lua_work_new(L);
    work->err = err;
    moonplan_text whole = {value.document->text, value.document->text_length};
    mpl_lua_refuse(L, work, whole);
    return lua_error(L);
}
