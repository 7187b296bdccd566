#include "call.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "bind.h"

/* What an entry costs beside its text, so that empty ones come to an end as well. */
#define LOG_ENTRY 16

void mpl_lua_call_open(mpl_lua_call *call, uint64_t values, const char *values_name) {
    const moonplan_limits *limits = &call->options->limits;
    call->alloc = mpl_alloc_of(call->options);
    mpl_buffer_open(&call->text, &call->alloc);
    mpl_buffer_open(&call->code_text, &call->alloc);
    mpl_buffer_open(&call->scratch, &call->alloc);
    call->budget = (mpl_lua_budget){.depth = limits->depth,
                                    .values = values,
                                    .bytes = UINT64_MAX,
                                    .values_name = values_name,
                                    .values_limit = values,
                                    .bytes_name = "result_bytes",
                                    .text_most = values_name ? limits->string_mib << 20 : 0,
                                    .from_value = true};
    call->log_left = limits->log_kib * 1024;
}

static void close_builder(mpl_lua_call *call) {
    if (call->building) mpl_build_close(&call->builder);
    call->building = false;
}

/* An earlier conversion may have ended in an error of Lua's. */
static void open_builder(mpl_lua_call *call) {
    close_builder(call);
    mpl_build_open_wide(&call->builder, call->options);
    call->building = true;
}

void mpl_lua_call_close(mpl_lua_call *call) {
    close_builder(call);
    moonplan_document_free(call->result);
    call->result = NULL;
    mpl_buffer_close(&call->text);
    mpl_buffer_close(&call->code_text);
    mpl_buffer_close(&call->scratch);
}

/* -- Failing ---------------------------------------------------------------*/

void mpl_lua_call_fail(mpl_lua_call *call, moonplan_code code, const char *text) {
    call->code = code;
    call->has_text = true;
    call->text.length = call->code_text.length = 0;
    mpl_buffer_add(&call->text, text, strlen(text));
}

/* A conversion's fault: the text says where as well, for a failure has no place. */
static void fail_at(mpl_lua_call *call, moonplan_code code, const char *what,
                    const moonplan_error *err) {
    mpl_lua_call_fail(call, code, what);
    if (err->at_length) {
        mpl_buffer_add(&call->text, " at ", 4);
        mpl_buffer_add(&call->text, err->at, err->at_length);
    }
    mpl_buffer_add(&call->text, ": ", 2);
    mpl_buffer_add(&call->text, err->message, strlen(err->message));
}

/* -- In and out ------------------------------------------------------------*/

static void set_text(lua_State *L, const char *name, moonplan_text text) {
    lua_pushlstring(L, text.bytes, text.length);
    lua_setfield(L, -2, name);
}

static bool push_value(lua_State *L, mpl_lua_call *call, moonplan_value value, const char *what) {
    moonplan_error err;
    if (moonplan_value_type(value) == MOONPLAN_NONE) {
        lua_pushnil(L);
        return true;
    }
    if (mpl_lua_push(L, value, &call->budget, &err)) return true;
    fail_at(call, err.code == MOONPLAN_JSON_NUMBER ? MOONPLAN_JOB_INPUT_NUMBER : MOONPLAN_LIMIT,
            what, &err);
    return false;
}

bool mpl_lua_call_push(lua_State *L, mpl_lua_call *call) {
    int top = lua_gettop(L);
    luaL_checkstack(L, 6, "no room for a call");
    bool fine = push_value(L, call, call->input, "the input");
    if (fine) {
        lua_createtable(L, 0, 8);
        set_text(L, "job_id", call->job_id);
        set_text(L, "step_id", call->step_id);
        lua_pushstring(L, call->token);
        lua_setfield(L, -2, "idempotency_token");
        fine = push_value(L, call, call->caller, "the caller");
    }
    if (fine)
        lua_setfield(L, -2, "caller");
    else
        lua_settop(L, top);
    return fine;
}

void mpl_lua_call_take(lua_State *L, mpl_lua_call *call) {
    moonplan_error err;
    if (lua_isnil(L, -2)) {
        if (!lua_isnil(L, -1)) lua_error(L);
        return;
    }
    lua_pop(L, 1);
    open_builder(call);
    /* One byte more than the limit, so that a result that is too long is told as one. */
    call->budget.bytes = call->options->limits.result_bytes + 1;
    if (mpl_lua_build(L, -1, &call->builder, &call->budget, NULL, &err)) return;
    fail_at(call, call->budget.bytes_spent ? MOONPLAN_LIMIT : MOONPLAN_JOB_RESULT_SHAPE,
            "the result", &err);
}

void mpl_lua_call_finish(mpl_lua_call *call) {
    moonplan_error err;
    if (!call->building || call->code != MOONPLAN_OK) return;
    call->building = false;
    call->result = mpl_build_finish(&call->builder, &err);
    if (!call->result)
        mpl_lua_call_fail(call, err.code == MOONPLAN_MEMORY ? err.code : MOONPLAN_JOB_RESULT_SHAPE,
                          err.message);
}

/* -- The log ---------------------------------------------------------------*/

static const char *const levels[] = {"debug", "info", "warn", "error"};

/* The data of an entry; NULL without. */
static moonplan_document *read_data(lua_State *L, mpl_lua_call *call) {
    moonplan_error err;
    mpl_builder *builder = &call->builder;
    if (lua_isnoneornil(L, 2)) return NULL;
    mpl_lua_budget budget = call->budget;
    budget.bytes = call->log_left;
    budget.bytes_name = "log_kib";
    open_builder(call);
    if (mpl_lua_build(L, 2, builder, &budget, NULL, &err)) {
        call->building = false;
        moonplan_document *data = mpl_build_finish(builder, &err);
        if (data) return data;
    }
    close_builder(call);
    luaL_error(L, "the data of a log entry: %s", err.message);
    return NULL;
}

static void write_log(mpl_lua_call *call, const char *level, moonplan_text message,
                      moonplan_value data) {
    mpl_log_entry entry = {.level = level,
                           .message = message,
                           .data = data,
                           .job_id = call->job_id,
                           .step_id = call->step_id,
                           .capability = call->capability};
    if (call->log.write) call->log.write(call->log.data, &entry);
}

void mpl_lua_call_log(mpl_lua_call *call, unsigned level, moonplan_text message,
                      moonplan_value data) {
    const moonplan_value none = {NULL, 0};
    if (call->log_full) return;
    uint64_t cost = message.length + LOG_ENTRY + moonplan_value_source(data).length;
    if (cost <= call->log_left) {
        call->log_left -= cost;
        write_log(call, levels[level], message, data);
        return;
    }
    call->log_full = true;
    char text[96];
    int length = snprintf(text, sizeof text,
                          "the rest of the log is left out; the limit log_kib allows %llu",
                          (unsigned long long)call->options->limits.log_kib);
    write_log(call, "warn", (moonplan_text){text, (size_t)length}, none);
}

/* log.info(message, data): upvalues are the caller's, the function that finds the call, the
 * level. */
static int log_write(lua_State *L) {
    mpl_lua_find_call find;
    memcpy(&find, lua_touserdata(L, lua_upvalueindex(2)), sizeof find);
    lua_pushvalue(L, lua_upvalueindex(1));
    mpl_lua_call *call = find(L);
    moonplan_text message = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    if (call->log_full) return 0;
    moonplan_document *data = NULL;
    if (message.length + LOG_ENTRY <= call->log_left) data = read_data(L, call);
    moonplan_value value = {NULL, 0};
    if (data) value = moonplan_document_root(data);
    mpl_lua_call_log(call, (unsigned)lua_tointeger(L, lua_upvalueindex(3)), message, value);
    moonplan_document_free(data);
    return 0;
}

void mpl_lua_push_log(lua_State *L, mpl_lua_find_call find) {
    int upvalue = lua_gettop(L);
    lua_createtable(L, 0, 4);
    for (int level = 0; level < 4; level++) {
        lua_pushvalue(L, upvalue);
        /* A function's address is no lua_CFunction here, so it travels in a userdata. */
        memcpy(lua_newuserdatauv(L, sizeof find, 0), &find, sizeof find);
        lua_pushinteger(L, level);
        lua_pushcclosure(L, log_write, 3);
        lua_setfield(L, -2, levels[level]);
    }
    lua_replace(L, upvalue);
}
