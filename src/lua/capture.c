#include "capture.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "../core/text.h"
#include "bind.h"

/* The document nests an input three deep. */
#define AROUND 3

/* What was read stands in one table: the plan's fields, then for each step the step itself (a mark
 * if it is a table) and its fields. */
static const char mark;
static const char *const plan_fields[] = {"goal", "idempotencyKey", "version", "steps"};
enum { GOAL, KEY, VERSION, STEPS, PLAN_FIELDS };
static const char *const step_fields[] = {"id",    "capability", "capabilityVersion",
                                          "input", "reason",     "idempotencyKey"};
enum { ID, CAPABILITY, CAPABILITY_VERSION, INPUT, REASON, STEP_KEY, STEP_FIELDS };

static lua_Integer place_of(size_t step, int field) {
    return PLAN_FIELDS + (lua_Integer)step * (STEP_FIELDS + 1) + field + 2;
}

/* -- Holdings --------------------------------------------------------------*/

static int capture_gc(lua_State *L);
static const luaL_Reg capture_own[] = {{"__gc", capture_gc}, {NULL, NULL}};
static const mpl_lua_type capture_type = {"moonplan.capture", "a captured plan", capture_own};

static void close_part(mpl_capture *capture) {
    if (capture->part_open) mpl_build_close(&capture->part);
    capture->part_open = false;
}

static int capture_gc(lua_State *L) {
    mpl_capture *capture = mpl_lua_check(L, 1, &capture_type);
    close_part(capture);
    if (capture->whole_open) mpl_build_close(&capture->whole);
    capture->whole_open = false;
    moonplan_document_free(capture->document);
    capture->document = NULL;
    mpl_release(&capture->alloc, capture->faults,
                capture->fault_capacity * sizeof *capture->faults);
    capture->faults = NULL;
    capture->fault_count = capture->fault_capacity = 0;
    return 0;
}

/* -- Reading ---------------------------------------------------------------*/

static mpl_pointer pointer_to(const mpl_capture *capture) {
    mpl_pointer pointer = {0, false, ""};
    if (capture->step >= 0) {
        mpl_pointer_name(&pointer, MOONPLAN_TEXT("steps"));
        mpl_pointer_index(&pointer, (size_t)capture->step);
    }
    if (capture->field)
        mpl_pointer_name(&pointer, (moonplan_text){capture->field, strlen(capture->field)});
    return pointer;
}

/* The largest positive integer key of the table on top. */
static lua_Integer largest_key(lua_State *L) {
    lua_Integer largest = 0;
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
        if (lua_isinteger(L, -2) && lua_tointeger(L, -2) > largest) largest = lua_tointeger(L, -2);
    return largest;
}

/* __len of the table on top where there is one. */
static lua_Integer length_of(lua_State *L) {
    int exact;
    if (luaL_getmetafield(L, -1, "__len") == LUA_TNIL) return largest_key(L);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    lua_Integer length = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : -1;
    if (length < 0 || !exact) luaL_error(L, "__len gives no length");
    lua_pop(L, 1);
    return length;
}

static void read_steps(lua_State *L, mpl_capture *capture, int steps, int out) {
    for (lua_Integer n = 0; n < capture->count; n++) {
        capture->step = n;
        capture->field = NULL;
        lua_geti(L, steps, n + 1);
        lua_Integer place = place_of((size_t)n, -1);
        if (!lua_istable(L, -1)) {
            lua_rawseti(L, out, place);
            continue;
        }
        lua_pushlightuserdata(L, (void *)(uintptr_t)&mark);
        lua_rawseti(L, out, place);
        for (int i = 0; i < STEP_FIELDS; i++) {
            capture->field = step_fields[i];
            lua_getfield(L, -1, step_fields[i]);
            lua_rawseti(L, out, place_of((size_t)n, i));
        }
        lua_pop(L, 1);
    }
}

/* Protected; the capture and the plan. Returns the table with what was read. */
static int read_plan(lua_State *L) {
    mpl_capture *capture = lua_touserdata(L, 1);
    lua_newtable(L);
    int out = lua_gettop(L);
    capture->step = -1;
    for (int i = 0; i < PLAN_FIELDS; i++) {
        capture->field = plan_fields[i];
        if (i == VERSION) {
            /* It decides about a warning only, so it is not worth running anybody's code for. */
            lua_pushstring(L, plan_fields[i]);
            lua_rawget(L, 2);
        } else {
            lua_getfield(L, 2, plan_fields[i]);
        }
        lua_pushvalue(L, -1);
        lua_rawseti(L, out, i + 1);
        if (i != STEPS) lua_pop(L, 1);
    }
    capture->count = lua_istable(L, -1) ? length_of(L) : -1;
    if (capture->count > 0 && (lua_Unsigned)capture->count <= capture->options->limits.steps)
        read_steps(L, capture, lua_gettop(L), out);
    lua_settop(L, out);
    return 1;
}

/* -- Converting ------------------------------------------------------------*/

static void add_fault(mpl_capture *capture, const moonplan_error *err) {
    /* More than will be listed need not be kept: what stands in their place is no step either. */
    if (capture->fault_count > capture->options->limits.errors) return;
    void *block = capture->faults;
    if (!mpl_grow(&capture->alloc, &block, &capture->fault_capacity, capture->fault_count + 1,
                  sizeof *capture->faults)) {
        mpl_error_memory(&capture->err);
        return;
    }
    capture->faults = block;
    mpl_capture_fault *fault = &capture->faults[capture->fault_count++];
    fault->step = capture->step < 0 ? MPL_CAPTURE_PLAN : (size_t)capture->step;
    fault->error = *err;
    if (err->code != MOONPLAN_MEMORY) fault->error.code = MOONPLAN_PLAN_SHAPE;
}

static void refuse_hole(mpl_capture *capture) {
    moonplan_error err;
    mpl_pointer place = pointer_to(capture);
    mpl_error_set(&err, MOONPLAN_PLAN_SHAPE, MOONPLAN_NO_OFFSET, &place,
                  "a hole in the steps: position %u of %u is nil", (uint64_t)capture->step + 1,
                  (uint64_t)capture->count);
    add_fault(capture, &err);
    mpl_build_null(&capture->whole);
}

static bool is_utf8(moonplan_text text) {
    const char *at = text.bytes, *end = text.bytes + text.length;
    while (at < end) {
        size_t step = (unsigned char)*at < 0x80 ? 1 : mpl_utf8(at, end, NULL);
        if (step == 0) return false;
        at += step;
    }
    return true;
}

/* A table, or a string that cannot stand: built apart, because a failure spoils the builder. */
static void put_part(lua_State *L, mpl_capture *capture) {
    moonplan_error err;
    mpl_pointer place = pointer_to(capture);
    const moonplan_limits *limits = &capture->options->limits;
    mpl_lua_budget budget = mpl_lua_budget_of(limits);
    budget.values = capture->values;
    budget.depth = limits->depth > AROUND ? limits->depth - AROUND : 0;
    budget.depth_limit = limits->depth;
    close_part(capture);
    capture->part_open = true;
    mpl_build_open(&capture->part, capture->options);
    moonplan_document *part = NULL;
    if (mpl_lua_build(L, -1, &capture->part, &budget, &place, &err)) {
        capture->part_open = false;
        part = mpl_build_finish(&capture->part, &err);
    }
    close_part(capture);
    capture->values = budget.values;
    if (part) {
        mpl_build_value(&capture->whole, moonplan_document_root(part));
    } else {
        add_fault(capture, &err);
        mpl_build_null(&capture->whole);
    }
    moonplan_document_free(part);
}

/* The value on top, which is taken off. */
static void put_value(lua_State *L, mpl_capture *capture) {
    moonplan_text text;
    mpl_builder *out = &capture->whole;
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN:
        mpl_build_boolean(out, lua_toboolean(L, -1));
        break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, -1))
            mpl_build_integer(out, lua_tointeger(L, -1));
        else if (isfinite(lua_tonumber(L, -1)))
            mpl_build_double(out, lua_tonumber(L, -1));
        else
            put_part(L, capture);
        break;
    case LUA_TSTRING:
        text.bytes = lua_tolstring(L, -1, &text.length);
        if (is_utf8(text))
            mpl_build_string(out, text);
        else
            put_part(L, capture);
        break;
    default:
        put_part(L, capture);
        break;
    }
    lua_pop(L, 1);
}

/* A member with the value at `place` of the table, unless that is nil. */
static void put_member(lua_State *L, mpl_capture *capture, int table, const char *name,
                       lua_Integer place) {
    if (lua_rawgeti(L, table, place) == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    capture->field = name;
    mpl_build_name(&capture->whole, (moonplan_text){name, strlen(name)});
    put_value(L, capture);
}

static void put_step(lua_State *L, mpl_capture *capture, int table, lua_Integer n) {
    capture->step = n;
    capture->field = NULL;
    if (lua_rawgeti(L, table, place_of((size_t)n, -1)) == LUA_TNIL) {
        lua_pop(L, 1);
        refuse_hole(capture);
        return;
    }
    if (lua_touserdata(L, -1) != &mark) {
        put_value(L, capture);
        return;
    }
    lua_pop(L, 1);
    mpl_build_object(&capture->whole);
    for (int i = 0; i < STEP_FIELDS; i++) {
        lua_Integer place = place_of((size_t)n, i);
        if (i == INPUT) {
            if (lua_rawgeti(L, table, place) == LUA_TTABLE) capture->shared = true;
            lua_pop(L, 1);
        }
        put_member(L, capture, table, step_fields[i], place);
    }
    mpl_build_end(&capture->whole);
}

static void put_plan(lua_State *L, mpl_capture *capture, int table) {
    capture->step = -1;
    mpl_build_object(&capture->whole);
    put_member(L, capture, table, plan_fields[VERSION], VERSION + 1);
    put_member(L, capture, table, plan_fields[GOAL], GOAL + 1);
    put_member(L, capture, table, plan_fields[KEY], KEY + 1);
    if (capture->count < 0) {
        put_member(L, capture, table, plan_fields[STEPS], STEPS + 1);
    } else {
        mpl_build_name(&capture->whole, MOONPLAN_TEXT("steps"));
        mpl_build_array(&capture->whole);
        for (lua_Integer n = 0; n < capture->count; n++) put_step(L, capture, table, n);
        mpl_build_end(&capture->whole);
    }
    mpl_build_end(&capture->whole);
}

/* A raising accessor's error, which is on top of the stack. */
static void refuse_reading(lua_State *L, mpl_capture *capture) {
    mpl_buffer text, code;
    char shown[400];
    mpl_pointer place = pointer_to(capture);
    mpl_buffer_open(&text, &capture->alloc);
    mpl_buffer_open(&code, &capture->alloc);
    if (mpl_lua_pop_error(L, &text, &code)) {
        size_t length =
            mpl_quote(shown, sizeof shown - 16, (moonplan_text){text.bytes, text.length});
        moonplan_text inside = {shown + 1, length - 2};
        mpl_error_set(&capture->err, MOONPLAN_PLAN_CAPTURE, MOONPLAN_NO_OFFSET, &place,
                      "reading it raises an error: %t", &inside);
    } else {
        mpl_error_set(&capture->err, MOONPLAN_PLAN_CAPTURE, MOONPLAN_NO_OFFSET, &place,
                      "reading it raises an error that is neither a text nor a table with a "
                      "message");
    }
    mpl_buffer_close(&text);
    mpl_buffer_close(&code);
}

static bool read(lua_State *L, mpl_capture *capture, int plan) {
    const moonplan_limits *limits = &capture->options->limits;
    lua_pushcfunction(L, read_plan);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, plan);
    int status = lua_pcall(L, 2, 1, 0);
    if (status == LUA_ERRMEM) lua_error(L);
    if (status != LUA_OK) {
        refuse_reading(L, capture);
        return false;
    }
    if (capture->count <= 0 || (lua_Unsigned)capture->count <= limits->steps) return true;
    lua_pop(L, 1);
    mpl_pointer place = {0, false, ""};
    mpl_pointer_name(&place, MOONPLAN_TEXT("steps"));
    mpl_error_set(&capture->err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, &place,
                  "%u steps; the limit steps allows %u", (uint64_t)capture->count, limits->steps);
    return false;
}

bool mpl_lua_capture(lua_State *L, int plan, const moonplan_options *options, mpl_capture **out) {
    luaL_checkstack(L, 12, "no room for a plan");
    mpl_capture *capture = mpl_lua_new(L, &capture_type, sizeof *capture, 0);
    *out = capture;
    capture->options = options;
    capture->alloc = mpl_alloc_of(options);
    capture->values = options->limits.values;
    if (!read(L, capture, plan)) return false;
    mpl_build_open_wide(&capture->whole, options);
    capture->whole_open = true;
    put_plan(L, capture, lua_gettop(L));
    capture->whole_open = false;
    capture->document = mpl_build_finish(&capture->whole, capture->err.code ? NULL : &capture->err);
    if (capture->document && capture->err.code == MOONPLAN_OK) return true;
    lua_pop(L, 1);
    return false;
}

void mpl_lua_capture_input(lua_State *L, int table, size_t n) {
    lua_rawgeti(L, table, place_of(n, INPUT));
}

bool mpl_lua_convert_input(lua_State *L, mpl_builder *builder, const moonplan_options *options,
                           size_t n, moonplan_error *err) {
    mpl_pointer place = {0, false, ""};
    mpl_lua_budget budget = mpl_lua_budget_of(&options->limits);
    budget.depth = options->limits.depth > AROUND ? options->limits.depth - AROUND : 0;
    budget.depth_limit = options->limits.depth;
    mpl_pointer_name(&place, MOONPLAN_TEXT("steps"));
    mpl_pointer_index(&place, n);
    mpl_pointer_name(&place, MOONPLAN_TEXT("input"));
    return mpl_lua_build(L, -1, builder, &budget, &place, err);
}
