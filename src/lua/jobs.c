/* moonplan.engine: jobs of the store, approvals, and the audit trail. */
#include <lauxlib.h>
#include <string.h>

#include "../core/text.h"
#include "engine.h"
#include "keys.h"
#include "module.h"

static const moonplan_text no_places = {NULL, 0};

/* Fields of the table at `arg`, in the order of `names` (NULL at the end), each pushed or nil;
 * those that it should not have raise. */
static void push_fields(lua_State *L, int arg, const char *what, const char *const *names) {
    bool given = !lua_isnoneornil(L, arg);
    if (given) {
        luaL_checktype(L, arg, LUA_TTABLE);
        for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) mpl_lua_field(L, -2, what, names);
    }
    for (size_t i = 0; names[i]; i++) {
        lua_pushstring(L, names[i]);
        if (given)
            lua_rawget(L, arg);
        else
            lua_pushnil(L), lua_replace(L, -2);
    }
}

static moonplan_text text_or_none(lua_State *L, int arg, const char *name, int index) {
    moonplan_text text = {NULL, 0};
    if (lua_isnil(L, index)) return text;
    if (lua_type(L, index) != LUA_TSTRING) mpl_lua_bad_option(L, arg, name, "a text", index);
    text.bytes = lua_tolstring(L, index, &text.length);
    return text;
}

void mpl_lua_read_approvals(lua_State *L, int arg, moonplan_run_options *out) {
    static const char wanted[] = "a list of JSON texts";
    lua_pushliteral(L, "approvals");
    lua_rawget(L, arg);
    int list = lua_gettop(L);
    if (lua_isnil(L, list)) return;
    if (!lua_istable(L, list)) mpl_lua_bad_option(L, arg, "approvals", wanted, list);
    size_t count = lua_rawlen(L, list);
    moonplan_text *texts = lua_newuserdatauv(L, (count + 1) * sizeof *texts, 1);
    lua_newtable(L); /* keeps the texts alive, whatever becomes of the list */
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            mpl_lua_bad_option(L, arg, "approvals", wanted, lua_gettop(L));
        texts[i].bytes = lua_tolstring(L, -1, &texts[i].length);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setiuservalue(L, -2, 1);
    lua_replace(L, list);
    out->approvals = texts;
    out->approval_count = count;
}

/* -- Looking ---------------------------------------------------------------*/

/* engine:jobs{ status = , capability = , goal = , since = , most = } */
int mpl_lua_engine_jobs(lua_State *L) {
    static const char *const names[] = {"capability", "goal", "most", "since", "status", NULL};
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 2);
    push_fields(L, 2, "a filter of jobs", names);
    moonplan_job_filter filter = {.capability = text_or_none(L, 2, names[0], 3),
                                  .goal = text_or_none(L, 2, names[1], 4),
                                  .since = text_or_none(L, 2, names[3], 6),
                                  .status = text_or_none(L, 2, names[4], 7)};
    if (!lua_isnil(L, 5)) {
        int exact = 0;
        lua_Integer most = lua_type(L, 5) == LUA_TNUMBER ? lua_tointegerx(L, 5, &exact) : 0;
        if (!exact || most < 1) mpl_lua_bad_option(L, 2, "most", "a positive integer", 5);
        filter.most = (size_t)most;
    }
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    work->document = moonplan_engine_jobs_new(work->engine, &filter, &work->err);
    if (!work->document) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_push_own(L, moonplan_document_root(work->document));
    mpl_lua_work_close(work);
    return 1;
}

/* engine:job(id) */
int mpl_lua_engine_job(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text id = mpl_lua_check_text(L, 2);
    mpl_lua_job *job = mpl_lua_job_new(L);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    job->document = moonplan_engine_job_new(work->engine, id.bytes, id.length, &work->err);
    if (!job->document && work->err.code != MOONPLAN_OK) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_work_close(work);
    lua_pop(L, 1);
    if (!job->document) lua_pushnil(L);
    return 1;
}

/* -- Going on --------------------------------------------------------------*/

/* engine:resume(id, { approvals = { TEXT, ... } }) */
int mpl_lua_engine_resume(lua_State *L) {
    static const char *const names[] = {"approvals", NULL};
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text id = mpl_lua_check_text(L, 2);
    lua_settop(L, 3);
    mpl_lua_job *job = mpl_lua_job_new(L);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    moonplan_run_options options = {.errors = &work->errors};
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1))
            mpl_lua_field(L, -2, "a resumption", names);
        mpl_lua_read_approvals(L, 3, &options);
    }
    lua_State *outer = self->L;
    self->L = L;
    moonplan_job *ran =
        moonplan_engine_resume_new(work->engine, id.bytes, id.length, &options, &work->err);
    if (ran && !mpl_job_drive(ran, &work->err)) {
        moonplan_job_free(ran);
        ran = NULL;
    }
    self->L = outer;
    if (!ran) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_job_keep(job, ran);
    mpl_lua_work_close(work);
    lua_settop(L, 4);
    return 1;
}

/* The value at `index` as JSON text, in work->document. */
static bool read_value(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work, int index,
                       moonplan_text *out) {
    mpl_pointer place = {0, false, ""};
    mpl_pointer_name(&place, MOONPLAN_TEXT("result"));
    mpl_lua_budget budget = mpl_lua_budget_of(&self->options.limits);
    mpl_build_open(&work->builder, &self->options);
    work->building = true;
    if (!mpl_lua_build(L, index, &work->builder, &budget, &place, &work->err)) return false;
    work->building = false;
    work->document = mpl_build_finish(&work->builder, &work->err);
    if (!work->document) return false;
    *out = moonplan_value_source(moonplan_document_root(work->document));
    return true;
}

/* engine:resolve(id, step_id, { as = , result = | result_json = , message = }) */
int mpl_lua_engine_resolve(lua_State *L) {
    static const char *const names[] = {"as", "message", "result", "result_json", NULL};
    static const char *const ways[] = {"completed", "failed", "retry", NULL};
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text id = mpl_lua_check_text(L, 2), step = mpl_lua_check_text(L, 3);
    lua_settop(L, 4);
    luaL_checktype(L, 4, LUA_TTABLE);
    push_fields(L, 4, "an outcome", names);
    moonplan_text as = text_or_none(L, 4, "as", 5), text = text_or_none(L, 4, "message", 6);
    unsigned way = 0;
    while (ways[way] && !mpl_text_is(as, ways[way])) way++;
    if (!ways[way]) luaL_argerror(L, 4, "as must be \"completed\", \"failed\" or \"retry\"");
    bool result = !lua_isnil(L, 7) || !lua_isnil(L, 8);
    if ((result && way != 0) || (text.bytes && way != 1) || (!lua_isnil(L, 7) && !lua_isnil(L, 8)))
        luaL_argerror(L, 4, "a result, or result_json, goes with completed; a message with failed");
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    if (!lua_isnil(L, 8))
        text = text_or_none(L, 4, "result_json", 8);
    else if (!lua_isnil(L, 7) && !read_value(L, self, work, 7, &text))
        return mpl_lua_refuse(L, work, no_places);
    lua_State *outer = self->L;
    self->L = L;
    bool fine = moonplan_engine_resolve(work->engine, id.bytes, id.length, step,
                                        (moonplan_resolution)(way + 1), text, &work->err);
    self->L = outer;
    if (!fine) return mpl_lua_refuse(L, work, lua_isnil(L, 8) ? no_places : text);
    mpl_lua_work_close(work);
    lua_pushboolean(L, true);
    return 1;
}

/* engine:cancel(id) */
int mpl_lua_engine_cancel(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text id = mpl_lua_check_text(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    lua_State *outer = self->L;
    self->L = L;
    bool fine = moonplan_engine_cancel(work->engine, id.bytes, id.length, &work->err);
    self->L = outer;
    if (!fine) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_work_close(work);
    lua_pushboolean(L, true);
    return 1;
}

/* -- The audit trail -------------------------------------------------------*/

/* Nothing of Lua's is called while the store is read: a record ends with the line. */
static bool add_line(void *data, moonplan_text record) {
    mpl_buffer *lines = data;
    mpl_buffer_add(lines, record.bytes, record.length);
    mpl_buffer_byte(lines, '\n');
    return !lines->failed;
}

/* engine:records(id) */
int mpl_lua_engine_records(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text id = no_places;
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) id = mpl_lua_check_text(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    mpl_buffer *lines = &work->text;
    bool fine = moonplan_engine_records(work->engine, id, add_line, lines, &work->err);
    if (lines->failed) mpl_error_memory(&work->err);
    if (!fine) return mpl_lua_refuse(L, work, no_places);
    lua_newtable(L);
    lua_Integer n = 0;
    for (size_t at = 0; at < lines->length;) {
        const char *end = memchr(lines->bytes + at, '\n', lines->length - at);
        size_t length = (size_t)(end - (lines->bytes + at));
        lua_pushlstring(L, lines->bytes + at, length);
        lua_rawseti(L, -2, ++n);
        at += length + 1;
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    mpl_lua_work_close(work);
    return 1;
}

/* engine:verify{ key = PUBLIC } */
int mpl_lua_engine_verify(lua_State *L) {
    static const char *const names[] = {"key", NULL};
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 2);
    push_fields(L, 2, "a verification", names);
    const moonplan_public_key *key = lua_isnil(L, 3) ? NULL : mpl_lua_check_public_key(L, 3);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    work->document = moonplan_engine_verify_new(work->engine, key, &work->err);
    if (!work->document) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_push_own(L, moonplan_document_root(work->document));
    mpl_lua_work_close(work);
    return 1;
}

/* engine:sign_head(SECRET) */
int mpl_lua_engine_sign_head(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    const moonplan_secret_key *key = mpl_lua_check_secret_key(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    lua_State *outer = self->L;
    self->L = L;
    bool fine = moonplan_engine_sign_head(work->engine, key, &work->err);
    self->L = outer;
    if (!fine) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_work_close(work);
    lua_pushboolean(L, true);
    return 1;
}

/* -- Approvals -------------------------------------------------------------*/

/* moonplan.sign_approval(text, SECRET) */
int mpl_lua_sign_approval(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    const moonplan_secret_key *key = mpl_lua_check_secret_key(L, 2);
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_lua_alloc(L, &options);
    mpl_lua_work *work = mpl_lua_work_new(L);
    if (!mpl_lua_parse(L, work, text, &options)) return mpl_lua_refuse(L, work, text);
    moonplan_document *approval =
        moonplan_approval_sign_new(work->document, key, &options, &work->err);
    if (!approval) return mpl_lua_refuse(L, work, text);
    moonplan_document_free(work->document);
    work->document = approval;
    mpl_lua_push_text(L, moonplan_value_source(moonplan_document_root(approval)));
    mpl_lua_work_close(work);
    return 1;
}
