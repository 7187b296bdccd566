/* Many digests at once. */
#include <limits.h>

#include "bind.h"
#include "module.h"

#define JOBS_MOST 256

static void read_jobs(lua_State *L, int arg, int which, void *data) {
    (void)which;
    int exact;
    lua_Integer jobs = lua_tointegerx(L, -1, &exact);
    if (!exact || lua_type(L, -1) != LUA_TNUMBER || jobs < 1 || jobs > JOBS_MOST)
        luaL_argerror(L, arg, "jobs must be an integer from 1 to 256");
    *(unsigned *)data = (unsigned)jobs;
}

void mpl_lua_many_options(lua_State *L, int arg, moonplan_options *options, mpl_lua_work *work) {
    static const char *const names[] = {"jobs", NULL};
    unsigned jobs = 1;
    const mpl_lua_more more = {names, read_jobs, &jobs};
    mpl_lua_options(L, arg, options, work, &more);
    options->jobs = jobs;
    options->errors = NULL;
    if (jobs == 1) return;
    /* The state's own allocator knows one thread. */
    options->alloc = NULL;
    options->alloc_data = NULL;
}

/* moonplan.digest_many(texts, options) */
int mpl_lua_digest_many(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    size_t count = lua_rawlen(L, 1);
    luaL_argcheck(L, count <= INT_MAX, 1, "too many texts");
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_many_options(L, 2, &options, work);
    moonplan_text *texts = lua_newuserdatauv(L, count * sizeof *texts + 1, 0);
    uint8_t(*digests)[32] = lua_newuserdatauv(L, count * sizeof *digests + 1, 0);
    bool *valid = lua_newuserdatauv(L, count * sizeof *valid + 1, 0);
    for (size_t i = 0; i < count; i++) {
        if (lua_rawgeti(L, 1, (lua_Integer)i + 1) != LUA_TSTRING)
            luaL_argerror(L, 1,
                          lua_pushfstring(L, "texts[%I] must be a string, not a %s",
                                          (LUAI_UACINT)i + 1, luaL_typename(L, -1)));
        texts[i] = mpl_lua_check_text(L, lua_gettop(L));
        lua_pop(L, 1); /* the list keeps it */
    }
    moonplan_digest_many(digests, valid, texts, count, &options);
    /* Short memory is no fault of a plan. */
    for (size_t i = 0; i < count; i++) {
        for (int attempts = 0; !valid[i];) {
            valid[i] =
                moonplan_digest(digests[i], texts[i].bytes, texts[i].length, &options, &work->err);
            if (valid[i] || work->err.code != MOONPLAN_MEMORY) break;
            if (!mpl_lua_again(L, work, &attempts))
                return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
        }
    }
    mpl_lua_work_close(work);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        if (valid[i])
            mpl_lua_push_hash(L, digests[i]);
        else
            lua_pushboolean(L, false);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}
