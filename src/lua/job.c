/* Jobs as Lua objects that can be read and nothing else. What a field gives is a fresh value at
 * first, and the same one from then on: the reader's own, to do with as they like. */
#include <lauxlib.h>
#include <string.h>

#include "../core/json_write.h"
#include "../core/text.h"
#include "engine.h"

static int job_gc(lua_State *L);
static int job_index(lua_State *L);
static int job_read_only(lua_State *L);
static int job_tostring(lua_State *L);

static const luaL_Reg job_own[] = {{"__gc", job_gc},
                                   {"__index", job_index},
                                   {"__newindex", job_read_only},
                                   {"__tostring", job_tostring},
                                   {NULL, NULL}};
static const mpl_lua_type job_type = {"moonplan.job", "a job", job_own};

mpl_lua_job *mpl_lua_job_new(lua_State *L) {
    return mpl_lua_new(L, &job_type, sizeof(mpl_lua_job), 2);
}

bool mpl_lua_job_take(mpl_lua_job *self, const moonplan_job *job, moonplan_error *err) {
    self->document = moonplan_job_document_new(job, err);
    return self->document != NULL;
}

static int job_gc(lua_State *L) {
    mpl_lua_job *self = mpl_lua_check(L, 1, &job_type);
    moonplan_job *job = self->job;
    moonplan_document *document = self->document;
    self->job = NULL;
    self->document = NULL;
    moonplan_job_free(job);
    moonplan_document_free(document);
    return 0;
}

static int job_read_only(lua_State *L) {
    return luaL_error(L, "a job cannot be changed");
}

static moonplan_value field_of(const mpl_lua_job *self, const char *name) {
    return moonplan_value_member(moonplan_document_root(self->document), name, strlen(name));
}

/* A value's JSON text, exactly, with argument 2 for the indent. */
static int push_json(lua_State *L, moonplan_value value) {
    lua_Integer indent = luaL_optinteger(L, 2, 0);
    luaL_argcheck(L, indent >= 0 && indent <= 16, 2, "indent must be 0 to 16 spaces");
    if (indent == 0) {
        moonplan_text text = moonplan_value_source(value);
        lua_pushlstring(L, text.bytes, text.length);
        return 1;
    }
    mpl_lua_work *work = mpl_lua_work_new(L);
    const mpl_style style = {false, (unsigned)indent, UINT64_MAX};
    mpl_write_sorted(&work->text, &work->scratch, value, &style);
    if (work->text.failed) {
        mpl_error_memory(&work->err);
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    }
    lua_pushlstring(L, work->text.bytes, work->text.length);
    mpl_lua_work_close(work);
    return 1;
}

/* job:json(indent): the whole job. */
static int job_json(lua_State *L) {
    const mpl_lua_job *self = mpl_lua_check(L, 1, &job_type);
    return push_json(L, moonplan_document_root(self->document));
}

/* job:result_json(indent): what a completed job came to; "null" when that is nothing. */
static int job_result_json(lua_State *L) {
    const mpl_lua_job *self = mpl_lua_check(L, 1, &job_type);
    moonplan_value result = field_of(self, "result");
    bool completed = mpl_text_is(moonplan_value_string(field_of(self, "status")), "completed");
    if (completed && moonplan_value_type(result) != MOONPLAN_NONE) return push_json(L, result);
    if (completed)
        lua_pushliteral(L, "null");
    else
        lua_pushnil(L);
    return 1;
}

static const char *const fields[] = {
    "caller_subject", "completed", "created",         "digest",   "error",  "events",
    "goal",           "id",        "idempotency_key", "json",     "result", "result_json",
    "started",        "status",    "steps",           "warnings", NULL};
enum { JSON = 9, RESULT_JSON = 11, WARNINGS = 15 };

/* Kept in the user value, a table, from the first time on. */
static int job_index(lua_State *L) {
    const mpl_lua_job *self = mpl_lua_check(L, 1, &job_type);
    int field = mpl_lua_field(L, 2, job_type.what, fields);
    if (field == JSON || field == RESULT_JSON) {
        lua_pushcfunction(L, field == JSON ? job_json : job_result_json);
        return 1;
    }
    if (field == WARNINGS) {
        lua_getiuservalue(L, 1, 2);
        return 1;
    }
    if (lua_getiuservalue(L, 1, 1) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, 1, 1);
    }
    if (lua_rawgeti(L, -1, field) != LUA_TNIL) return 1;
    moonplan_value value = field_of(self, fields[field]);
    if (moonplan_value_type(value) == MOONPLAN_NONE) return 1;
    moonplan_error err;
    mpl_lua_budget budget = {.depth = UINT64_MAX, .values = UINT64_MAX, .bytes = UINT64_MAX};
    lua_pop(L, 1);
    if (!mpl_lua_push(L, value, &budget, &err)) {
        mpl_lua_work *work = mpl_lua_work_new(L);
        work->err = err;
        mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
        return lua_error(L); /* job:json() has it all */
    }
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, field);
    return 1;
}

static int job_tostring(lua_State *L) {
    const mpl_lua_job *self = mpl_lua_check(L, 1, &job_type);
    moonplan_text id = moonplan_value_string(field_of(self, "id"));
    moonplan_text status = moonplan_value_string(field_of(self, "status"));
    size_t count = moonplan_value_count(field_of(self, "steps"));
    lua_pushlstring(L, id.bytes, id.length);
    lua_pushlstring(L, status.bytes, status.length);
    lua_pushfstring(L, count == 1 ? "job %s: %s (%I step)" : "job %s: %s (%I steps)",
                    lua_tostring(L, -2), lua_tostring(L, -1), (LUAI_UACINT)count);
    return 1;
}
