#include "code.h"

#include <lauxlib.h>
#include <string.h>

#include "bind.h"
#include "prelude.h"

bool mpl_code_open(mpl_code *code) {
    code->alloc = mpl_alloc_of(code->options);
    code->stub.options = code->options;
    mpl_buffer_open(&code->source, &code->alloc);
    bool fine = mpl_sandbox_open(&code->box, code->options, code->options->limits.memory_mib << 20);
    code->box.owner = code;
    return fine;
}

void mpl_code_close(mpl_code *code) {
    mpl_sandbox_close(&code->box);
    mpl_buffer_close(&code->source);
}

/* -- Loading ---------------------------------------------------------------*/

/* plugin.import(name): upvalue 1 holds what has been imported; false while a file runs. */
static int import(lua_State *L) {
    mpl_code *code = mpl_sandbox_of(L)->owner;
    moonplan_text name = mpl_lua_check_text(L, 1);
    lua_settop(L, 1);
    if (!code->folder)
        return luaL_error(L,
                          "a plugin of one file has no folder to import from; make it %s/init.lua",
                          code->name);
    if (!mpl_plugin_name(name) || memchr(name.bytes, '.', name.length))
        return luaL_argerror(L, 1,
                             "a name of letters, digits, _ and -, without folder and without .lua");
    lua_pushvalue(L, 1);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
        if (!lua_toboolean(L, -1) && lua_isboolean(L, -1))
            return luaL_error(L, "%s is being imported, and imports itself", name.bytes);
        return 1;
    }
    moonplan_error err;
    code->source.length = 0;
    if (!code->import(code->import_data, &code->source, name, &err))
        return luaL_error(L, "cannot import %s: %s", name.bytes, err.message);
    if (code->source.failed) return luaL_error(L, "cannot import %s: out of memory", name.bytes);
    lua_pushfstring(L, "@%s/%s.lua", code->name, name.bytes);
    mpl_sandbox_load(L, code->source.bytes, code->source.length, lua_tostring(L, -1));
    lua_pushvalue(L, 1);
    lua_pushboolean(L, 0);
    lua_rawset(L, lua_upvalueindex(1));
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(1));
    return 1;
}

struct loading {
    mpl_manifest *manifest;
    mpl_loaded *loaded;
    moonplan_text source;
    const char *file;
};

static int load_main(lua_State *L) {
    const struct loading *loading = lua_touserdata(L, 1);
    lua_createtable(L, 0, 1);
    lua_newtable(L);
    lua_pushcclosure(L, import, 1);
    lua_setfield(L, -2, "import");
    mpl_sandbox_offer(L, "plugin");
    lua_pushfstring(L, "@%s", loading->file);
    mpl_sandbox_load(L, loading->source.bytes, loading->source.length, lua_tostring(L, -1));
    lua_call(L, 0, 1);
    mpl_sandbox_seed(L);
    loading->loaded->fine = mpl_manifest_read(L, loading->manifest, &loading->loaded->err);
    return 0;
}

void mpl_code_load(mpl_code *code, mpl_manifest *manifest, mpl_loaded *loaded, moonplan_text source,
                   const char *file, uint64_t milliseconds) {
    struct loading loading = {manifest, loaded, source, file};
    loaded->fine = loaded->has_text = false;
    memset(&loaded->err, 0, sizeof loaded->err);
    loaded->outcome = mpl_sandbox_run(&code->box, load_main, &loading, milliseconds);
    loaded->over_limit = code->box.over_limit;
    mpl_buffer_close(&code->source);
    if (loaded->outcome == MPL_RAISED)
        loaded->has_text = mpl_sandbox_error(&code->box, &loaded->text, &loaded->code);
}

/* -- Calling ---------------------------------------------------------------*/

struct calling {
    mpl_code *code;
    mpl_lua_call *call;
    mpl_function function;
    int reference;
    unsigned powers;
};

static int call_function(lua_State *L) {
    const struct calling *calling = lua_touserdata(L, 1);
    const char *prelude = mpl_function_prelude(calling->function);
    if (prelude) mpl_prelude_push(L, prelude);
    lua_rawgeti(L, LUA_REGISTRYINDEX, calling->reference);
    if (!mpl_lua_call_push(L, calling->call)) return 0;
    mpl_stub_push(L, &calling->code->stub, calling->powers);
    lua_call(L, prelude ? 3 : 2, 2);
    mpl_lua_call_take(L, calling->call);
    return 0;
}

mpl_outcome mpl_code_call(mpl_code *code, mpl_lua_call *call, mpl_function function, int reference,
                          unsigned powers, uint64_t milliseconds) {
    struct calling calling = {code, call, function, reference, powers};
    mpl_outcome outcome = mpl_sandbox_run(&code->box, call_function, &calling, milliseconds);
    code->stub.calling = false;
    if (outcome == MPL_RAN) {
        mpl_lua_call_finish(call);
    } else if (outcome == MPL_RAISED) {
        call->code = MOONPLAN_JOB_CAPABILITY_FAILED;
        call->has_text = mpl_sandbox_error(&code->box, &call->text, &call->code_text);
    }
    return outcome;
}
