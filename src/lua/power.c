/* What ctx carries in a plugin: the log, and the powers. Their tables are made once for a state;
 * each function looks up the call that is under way, and what that one may do. */
#include <lauxlib.h>
#include <string.h>

#include "../core/path.h"
#include "../core/text.h"
#include "../step/job.h"
#include "bind.h"
#include "plugin.h"

static mpl_plugin_call *call_of(lua_State *L, unsigned powers, const char *name) {
    mpl_plugin *plugin = mpl_sandbox_of(L)->owner;
    mpl_plugin_call *call = plugin->call;
    if (!call) {
        luaL_error(L, "no call is under way that could use ctx.%s", name);
        return NULL;
    }
    if (powers && !(call->allowed & powers))
        luaL_error(L,
                   "this capability has no ctx.%s: it needs to name it, and the host to grant it",
                   name);
    return call;
}

static mpl_lua_call *find_log(lua_State *L) {
    lua_pop(L, 1);
    return &call_of(L, 0, "log")->call;
}

/* nil and an error table. */
static int refuse(lua_State *L, const moonplan_error *err) {
    mpl_lua_work *work = mpl_lua_work_new(L);
    work->err = *err;
    return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
}

/* -- Doubles ---------------------------------------------------------------*/

bool mpl_doubles_read(const mpl_doubles *doubles, moonplan_text path, moonplan_text *out) {
    for (const mpl_written *at = doubles->written; at; at = at->next) {
        if (!mpl_text_equal(at->path, path)) continue;
        *out = at->content;
        return true;
    }
    moonplan_value file = moonplan_value_member(doubles->files, path.bytes, path.length);
    *out = moonplan_value_string(file);
    return moonplan_value_type(file) == MOONPLAN_STRING;
}

static char *copy_bytes(mpl_alloc *alloc, moonplan_text text) {
    char *copy = mpl_allocate(alloc, text.length + 1);
    if (copy && text.length) memcpy(copy, text.bytes, text.length);
    return copy;
}

static bool write_double(mpl_doubles *doubles, moonplan_text path, moonplan_text content) {
    mpl_written *made = mpl_allocate(doubles->alloc, sizeof *made);
    if (!made) return false;
    *made = (mpl_written){.next = doubles->written, .path = path, .content = content};
    made->path.bytes = copy_bytes(doubles->alloc, path);
    made->content.bytes = copy_bytes(doubles->alloc, content);
    doubles->written = made;
    return made->path.bytes && made->content.bytes;
}

void mpl_doubles_close(mpl_doubles *doubles) {
    while (doubles->written) {
        mpl_written *next = doubles->written->next;
        mpl_alloc *alloc = doubles->alloc;
        mpl_release(alloc, (void *)(uintptr_t)doubles->written->path.bytes,
                    doubles->written->path.length + 1);
        mpl_release(alloc, (void *)(uintptr_t)doubles->written->content.bytes,
                    doubles->written->content.length + 1);
        mpl_release(alloc, doubles->written, sizeof *doubles->written);
        doubles->written = next;
    }
}

typedef enum stands { NOTHING, A_FILE, A_FOLDER, BELOW_A_FILE } stands;

static bool holds(moonplan_text folder, moonplan_text path) {
    return path.length > folder.length && path.bytes[folder.length] == '/' &&
           memcmp(path.bytes, folder.bytes, folder.length) == 0;
}

/* Folders are there as far as a file is in them; the granted one always is. */
static stands stands_at(const mpl_doubles *doubles, moonplan_text path) {
    moonplan_text content;
    if (path.length == 0) return A_FOLDER;
    if (mpl_doubles_read(doubles, path, &content)) return A_FILE;
    moonplan_walk walk = moonplan_value_walk(doubles->files);
    while (moonplan_walk_next(&walk))
        if (holds(path, walk.name)) return A_FOLDER;
    for (const mpl_written *at = doubles->written; at; at = at->next)
        if (holds(path, at->path)) return A_FOLDER;
    for (size_t i = 0; i < path.length; i++)
        if (path.bytes[i] == '/' &&
            mpl_doubles_read(doubles, (moonplan_text){path.bytes, i}, &content))
            return BELOW_A_FILE;
    return NOTHING;
}

static bool unavailable(moonplan_error *err, const char *format, moonplan_text path) {
    mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL, format, &path);
    return false;
}

/* What the real power says where `wanted` does not stand at the path. */
static bool expect(const mpl_doubles *doubles, stands wanted, moonplan_text path,
                   moonplan_error *err) {
    if (!mpl_path_check(path, err)) return false;
    stands found = stands_at(doubles, path);
    if (found == wanted) return true;
    if (found == NOTHING) return unavailable(err, "there is no file %q", path);
    return unavailable(
        err, found == A_FOLDER ? "%q is a folder" : "%q leads through something that is no folder",
        path);
}

static bool may_write(const mpl_doubles *doubles, moonplan_text path, moonplan_error *err) {
    if (!mpl_path_check(path, err)) return false;
    if (path.length == 0) return mpl_path_refuse(path, "names no file", err);
    moonplan_text folder = path;
    while (folder.length && folder.bytes[folder.length - 1] != '/') folder.length--;
    if (folder.length) folder.length--;
    stands found = stands_at(doubles, folder);
    if (found == NOTHING) return unavailable(err, "there is no folder for %q", path);
    if (found != A_FOLDER)
        return unavailable(err, "%q leads through something that is no folder", path);
    if (stands_at(doubles, path) == A_FOLDER) return unavailable(err, "%q is a folder", path);
    return true;
}

/* -- fs --------------------------------------------------------------------*/

#define FS (MPL_POWER_FS | MPL_POWER_FS_RW)

static moonplan_root *root_of(const mpl_plugin_call *call) {
    return mpl_plugins_root(call->plugin->owner, (call->allowed & MPL_POWER_FS_RW) != 0);
}

/* ctx.fs.read(path) */
static int fs_read(lua_State *L) {
    mpl_plugin_call *call = call_of(L, FS, "fs");
    moonplan_text path = mpl_lua_check_text(L, 1), content;
    uint64_t most = call->call.options->limits.string_mib << 20;
    moonplan_error err;
    if (call->doubles) {
        if (!expect(call->doubles, A_FILE, path, &err)) return refuse(L, &err);
        mpl_doubles_read(call->doubles, path, &content);
        lua_pushlstring(L, content.bytes, content.length);
        return 1;
    }
    mpl_buffer *out = &call->call.scratch;
    mpl_buffer_close(out);
    mpl_buffer_open(out, &call->call.alloc);
    bool fine = moonplan_root_read(root_of(call), mpl_buffer_sink, out, path.bytes, path.length,
                                   most, &err);
    if (fine && out->failed) {
        mpl_error_memory(&err);
        fine = false;
    }
    if (!fine && err.code == MOONPLAN_LIMIT)
        mpl_error_set(&err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "%q is larger than the limit string_mib allows: %u", &path,
                      call->call.options->limits.string_mib);
    if (!fine) return refuse(L, &err);
    lua_pushlstring(L, out->bytes, out->length);
    mpl_buffer_close(out);
    return 1;
}

/* ctx.fs.size(path) */
static int fs_size(lua_State *L) {
    mpl_plugin_call *call = call_of(L, FS, "fs");
    moonplan_text path = mpl_lua_check_text(L, 1), content;
    moonplan_error err;
    if (call->doubles) {
        if (!expect(call->doubles, A_FILE, path, &err)) return refuse(L, &err);
        mpl_doubles_read(call->doubles, path, &content);
        lua_pushinteger(L, (lua_Integer)content.length);
        return 1;
    }
    bool folder = false;
    uint64_t size = 0;
    bool fine = moonplan_root_stat(root_of(call), &folder, &size, path.bytes, path.length, &err);
    if (fine && folder) {
        mpl_error_set(&err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL, "%q is a folder",
                      &path);
        fine = false;
    }
    if (!fine) return refuse(L, &err);
    lua_pushinteger(L, (lua_Integer)size);
    return 1;
}

static int fs_write(lua_State *L) {
    mpl_plugin_call *call = call_of(L, MPL_POWER_FS_RW, "fs:rw");
    moonplan_text path = mpl_lua_check_text(L, 1), content = mpl_lua_check_text(L, 2);
    moonplan_error err;
    bool fine;
    if (call->doubles) {
        fine = may_write(call->doubles, path, &err);
        if (fine && !write_double(call->doubles, path, content)) {
            mpl_error_memory(&err);
            fine = false;
        }
    } else {
        fine = moonplan_root_write(root_of(call), path.bytes, path.length, content.bytes,
                                   content.length, &err);
    }
    if (!fine) return refuse(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

/* Names as they will stand in the list, each with a NUL behind it. */
static bool add_name(void *data, moonplan_text name, bool folder) {
    mpl_buffer *out = data;
    mpl_buffer_add(out, name.bytes, name.length);
    if (folder) mpl_buffer_byte(out, '/');
    mpl_buffer_byte(out, 0);
    return true;
}

static int push_names(lua_State *L, const mpl_buffer *names) {
    lua_newtable(L);
    lua_Integer n = 0;
    for (size_t at = 0; at < names->length;) {
        size_t length = strlen(names->bytes + at);
        lua_pushlstring(L, names->bytes + at, length);
        lua_rawseti(L, -2, ++n);
        at += length + 1;
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    return 1;
}

/* The part of a path below a folder, up to the next slash: what the folder's list shows of it. */
static bool below(moonplan_text *name, bool *folder, moonplan_text path, moonplan_text within) {
    if (within.length) {
        if (path.length <= within.length + 1 || path.bytes[within.length] != '/' ||
            memcmp(path.bytes, within.bytes, within.length) != 0)
            return false;
        path.bytes += within.length + 1;
        path.length -= within.length + 1;
    }
    const char *slash = memchr(path.bytes, '/', path.length);
    *folder = slash != NULL;
    *name = (moonplan_text){path.bytes, slash ? (size_t)(slash - path.bytes) : path.length};
    return true;
}

/* Into a table as keys first, so that each name comes once. */
static void note(lua_State *L, moonplan_text path, moonplan_text within) {
    moonplan_text name;
    bool folder;
    if (!below(&name, &folder, path, within)) return;
    lua_pushlstring(L, name.bytes, name.length);
    if (folder) {
        lua_pushliteral(L, "/");
        lua_concat(L, 2);
    }
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
}

static int list_doubles(lua_State *L, const mpl_doubles *doubles, moonplan_text within) {
    moonplan_error err;
    if (!expect(doubles, A_FOLDER, within, &err)) return refuse(L, &err);
    lua_newtable(L);
    moonplan_walk walk = moonplan_value_walk(doubles->files);
    while (moonplan_walk_next(&walk)) note(L, walk.name, within);
    for (const mpl_written *at = doubles->written; at; at = at->next) note(L, at->path, within);
    lua_newtable(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1)) {
        /* Insertion: an example has a handful of files. */
        lua_Integer place = n++;
        moonplan_text name = {lua_tostring(L, -2), lua_rawlen(L, -2)};
        for (; place > 0; place--) {
            lua_rawgeti(L, -3, place);
            moonplan_text other = {lua_tostring(L, -1), lua_rawlen(L, -1)};
            if (mpl_text_order(other, name) < 0) {
                lua_pop(L, 1);
                break;
            }
            lua_rawseti(L, -4, place + 1);
        }
        lua_pushvalue(L, -2);
        lua_rawseti(L, -4, place + 1);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    return 1;
}

/* ctx.fs.list(path) */
static int fs_list(lua_State *L) {
    mpl_plugin_call *call = call_of(L, FS, "fs");
    moonplan_text path = {"", 0};
    lua_settop(L, 1);
    if (!lua_isnil(L, 1)) path = mpl_lua_check_text(L, 1);
    if (call->doubles) return list_doubles(L, call->doubles, path);
    moonplan_error err;
    mpl_buffer *out = &call->call.scratch;
    out->length = 0;
    bool fine = moonplan_root_list(root_of(call), add_name, out, path.bytes, path.length,
                                   call->call.options->limits.copied_values, &err);
    if (fine && out->failed) {
        mpl_error_memory(&err);
        fine = false;
    }
    return fine ? push_names(L, out) : refuse(L, &err);
}

/* -- clock -----------------------------------------------------------------*/

/* ctx.clock.now(): RFC 3339 text, milliseconds since 1970 */
static int clock_now(lua_State *L) {
    mpl_plugin_call *call = call_of(L, MPL_POWER_CLOCK, "clock");
    const mpl_plugins_setup *setup = &call->plugin->owner->setup;
    if (call->doubles && !call->doubles->has_time)
        return luaL_error(L, "the example gives no clock");
    int64_t time = call->doubles ? call->doubles->time : setup->now(setup->now_data);
    char text[25];
    mpl_time_write(text, time);
    lua_pushstring(L, text);
    lua_pushinteger(L, time);
    return 2;
}

/* -- ctx -------------------------------------------------------------------*/

static void push_shared(lua_State *L, int *reference, const luaL_Reg *functions) {
    if (*reference == LUA_NOREF) {
        lua_newtable(L);
        luaL_setfuncs(L, functions, 0);
        *reference = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, *reference);
}

void mpl_plugin_push_powers(lua_State *L, mpl_plugin_call *call) {
    static const luaL_Reg read_only[] = {
        {"list", fs_list}, {"read", fs_read}, {"size", fs_size}, {NULL, NULL}};
    static const luaL_Reg writable[] = {
        {"list", fs_list}, {"read", fs_read}, {"size", fs_size}, {"write", fs_write}, {NULL, NULL}};
    static const luaL_Reg clock[] = {{"now", clock_now}, {NULL, NULL}};
    mpl_plugin *plugin = call->plugin;
    call->allowed = call->item->needs;
    if (!call->doubles) call->allowed &= mpl_plugins_granted(plugin->owner);
    if (plugin->log == LUA_NOREF) {
        lua_pushnil(L);
        mpl_lua_push_log(L, find_log);
        plugin->log = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, plugin->log);
    lua_setfield(L, -2, "log");
    if (call->allowed & MPL_POWER_FS_RW)
        push_shared(L, &plugin->fs_rw, writable);
    else if (call->allowed & MPL_POWER_FS)
        push_shared(L, &plugin->fs, read_only);
    if (call->allowed & FS) lua_setfield(L, -2, "fs");
    if (!(call->allowed & MPL_POWER_CLOCK)) return;
    push_shared(L, &plugin->clock, clock);
    lua_setfield(L, -2, "clock");
}
