/* Jobs as Lua objects that can be read and nothing else. What a field gives is a fresh value at
 * first, and the same one from then on: the reader's own, to do with as they like.
 *
 * A job that has been run is held as it is, and nothing is written down before somebody asks: to
 * write every event and step costs as much as running them. What a host asks for most, the status,
 * comes from the job itself. */
#include <lauxlib.h>
#include <string.h>

#include "../core/json_write.h"
#include "../core/text.h"
#include "../core/value.h"
#include "../step/job.h"
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

static const moonplan_value no_value = {NULL, 0};

mpl_lua_job *mpl_lua_job_new(lua_State *L) {
    return mpl_lua_new(L, &job_type, sizeof(mpl_lua_job), 1);
}

bool mpl_lua_job_take(mpl_lua_job *self, const moonplan_job *job, moonplan_error *err) {
    self->document = moonplan_job_document_new(job, err);
    return self->document != NULL;
}

void mpl_lua_job_keep(mpl_lua_job *self, moonplan_job *job) {
    self->job = job;
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

/* The whole job. */
static moonplan_value root_of(lua_State *L, mpl_lua_job *self) {
    if (!self->document) {
        mpl_lua_work *work = mpl_lua_work_new(L);
        if (!mpl_lua_job_take(self, self->job, &work->err)) {
            mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
            lua_error(L);
        }
        lua_pop(L, 1);
    }
    return moonplan_document_root(self->document);
}

static moonplan_value field_of(lua_State *L, mpl_lua_job *self, const char *name) {
    return moonplan_value_member(root_of(L, self), name, strlen(name));
}

static moonplan_text status_of(const mpl_lua_job *self) {
    if (self->document)
        return moonplan_value_string(mpl_member(moonplan_document_root(self->document), "status"));
    const char *name = moonplan_status_name(moonplan_job_status(self->job));
    return (moonplan_text){name, strlen(name)};
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
    return push_json(L, root_of(L, mpl_lua_check(L, 1, &job_type)));
}

/* What a job came to that is completed, MOONPLAN_NONE for nothing. Pushes a value that has to stay
 * as long as it is used. */
static moonplan_value push_result(lua_State *L, mpl_lua_job *self) {
    if (self->document) {
        lua_pushnil(L);
        return mpl_member(moonplan_document_root(self->document), "result");
    }
    mpl_lua_work *work = mpl_lua_work_new(L);
    work->document = moonplan_job_result_new(self->job, &work->err);
    if (work->document) return moonplan_document_root(work->document);
    if (work->err.code != MOONPLAN_OK) {
        mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
        lua_error(L);
    }
    return no_value;
}

/* job:result_json(indent): what a completed job came to; "null" when that is nothing. */
static int job_result_json(lua_State *L) {
    mpl_lua_job *self = mpl_lua_check(L, 1, &job_type);
    lua_settop(L, 2);
    bool completed = mpl_text_is(status_of(self), "completed");
    moonplan_value result = no_value;
    if (completed) result = push_result(L, self);
    if (moonplan_value_type(result) != MOONPLAN_NONE) return push_json(L, result);
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
enum { GOAL = 6, ID = 7, JSON = 9, RESULT = 10, RESULT_JSON = 11, STATUS = 13, WARNINGS = 15 };

/* What admission had to say. */
static int push_warnings(lua_State *L, const mpl_lua_job *self) {
    const moonplan_step_plan *plan = moonplan_job_plan(self->job);
    const moonplan_document *document = moonplan_step_plan_document(plan);
    mpl_lua_push_warnings(L, plan, (moonplan_text){document->text, document->text_length});
    return 1;
}

static int push_nil(lua_State *L) {
    lua_pushnil(L);
    return 1;
}

/* What the field holds, pushed; one that Lua cannot hold raises, and job:json() has it all. */
static int push_field(lua_State *L, mpl_lua_job *self, int field) {
    if (field == WARNINGS) return self->warns ? push_warnings(L, self) : push_nil(L);
    if (field == STATUS) return mpl_lua_push_text(L, status_of(self));
    if (field == RESULT) {
        if (!mpl_text_is(status_of(self), "completed")) return push_nil(L);
        moonplan_value result = push_result(L, self);
        if (moonplan_value_type(result) != MOONPLAN_NONE) return mpl_lua_push_value(L, result);
        lua_pushlightuserdata(L, NULL); /* null */
        return 1;
    }
    if (!self->document && field == ID) return mpl_lua_push_text(L, moonplan_job_id(self->job));
    if (!self->document && field == GOAL)
        return mpl_lua_push_text(L, moonplan_step_plan_goal(moonplan_job_plan(self->job)));
    return mpl_lua_push_value(L, field_of(L, self, fields[field]));
}

/* Kept in the user value, a table, from the first time on. */
static int job_index(lua_State *L) {
    mpl_lua_job *self = mpl_lua_check(L, 1, &job_type);
    int field = mpl_lua_field(L, 2, job_type.what, fields);
    lua_settop(L, 2);
    if (field == JSON || field == RESULT_JSON) {
        lua_pushcfunction(L, field == JSON ? job_json : job_result_json);
        return 1;
    }
    if (field == STATUS) return push_field(L, self, field);
    if (lua_getiuservalue(L, 1, 1) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, 1, 1);
    }
    if (lua_rawgeti(L, 3, field) != LUA_TNIL) return 1;
    push_field(L, self, field);
    lua_pushvalue(L, -1);
    lua_rawseti(L, 3, field);
    return 1;
}

static int job_tostring(lua_State *L) {
    mpl_lua_job *self = mpl_lua_check(L, 1, &job_type);
    moonplan_text id = moonplan_value_string(field_of(L, self, "id"));
    moonplan_text status = status_of(self);
    size_t count = moonplan_value_count(field_of(L, self, "steps"));
    lua_pushlstring(L, id.bytes, id.length);
    lua_pushlstring(L, status.bytes, status.length);
    lua_pushfstring(L, count == 1 ? "job %s: %s (%I step)" : "job %s: %s (%I steps)",
                    lua_tostring(L, -2), lua_tostring(L, -1), (LUAI_UACINT)count);
    return 1;
}
