/* What an engine has: engine:list, engine:describe, engine:files. */
#include <lauxlib.h>
#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "engine.h"
#include "shelf.h"

static const moonplan_text no_places = {NULL, 0};

static void set_text(lua_State *L, const char *name, moonplan_text text) {
    lua_pushlstring(L, text.bytes, text.length);
    lua_setfield(L, -2, name);
}

/* -- Catalogue -------------------------------------------------------------*/

static void set_file(lua_State *L, const mpl_plugin *plugin) {
    moonplan_text folder = mpl_plugin_folder(plugin);
    if (folder.bytes) {
        lua_pushlstring(L, folder.bytes, folder.length);
        lua_pushfstring(L, "%s/%s", lua_tostring(L, -1), plugin->file);
        lua_remove(L, -2);
    } else {
        lua_pushstring(L, plugin->file);
    }
    lua_setfield(L, -2, "file");
    lua_pushboolean(L, folder.bytes == NULL);
    lua_setfield(L, -2, "shipped");
}

/* Whom it comes from, and where that lets it run. */
static void set_origin(lua_State *L, const mpl_plugin *plugin) {
    const mpl_verdict *verdict = &plugin->verdict;
    if (!verdict->digest[0]) return;
    set_text(L, "digest", (moonplan_text){verdict->digest, MPL_DIGEST_DIGITS});
    if (plugin->broken.code != MOONPLAN_OK) return;
    lua_pushstring(L, mpl_origin_name(verdict->origin));
    lua_setfield(L, -2, "decision");
    lua_pushstring(L, plugin->isolation == MPL_STATE ? "state" : "process");
    lua_setfield(L, -2, "isolation");
    if (!verdict->key[0]) return;
    lua_pushstring(L, verdict->key);
    lua_setfield(L, -2, "key");
    lua_pushstring(L, verdict->signer);
    lua_setfield(L, -2, "signer");
}

/* Push one error table, with the file. */
static void push_problem(lua_State *L, const moonplan_error *err, const mpl_plugin *plugin) {
    moonplan_error copy = *err;
    mpl_lua_push_errors(L, &copy, 1, no_places);
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
    set_file(L, plugin);
}

/* What is wrong with an item that has been loaded: another brings its name as well. */
static bool is_refused(mpl_lua_engine *self, const moonplan_engine *engine,
                       const mpl_plugin_item *item, moonplan_error *err) {
    const mpl_plugin_item *found = mpl_plugins_find(self->plugins, item->item->name, err);
    if (found == item) {
        /* The host's came first, or took the place of what it had withdrawn. */
        if (item->item->kind != MPL_CAPABILITY || item->registered ||
            mpl_plugins_withdrawn(self->plugins, item->item->name) ||
            !mpl_engine_has(engine, item->item->name))
            return false;
        mpl_error_set(err, MOONPLAN_PLUGIN_DUPLICATE, MOONPLAN_NO_OFFSET, NULL,
                      "%s: %q is a capability of the host's, which is used", item->plugin->file,
                      &item->item->name);
        return true;
    }
    if (found)
        mpl_error_set(err, MOONPLAN_PLUGIN_DUPLICATE, MOONPLAN_NO_OFFSET, NULL,
                      "%s: %q is brought by the shipped %s", item->plugin->file, &item->item->name,
                      found->plugin->file);
    return true;
}

void mpl_lua_engine_problems(lua_State *L, mpl_lua_engine *self, const moonplan_engine *engine) {
    lua_Integer n = 0;
    lua_newtable(L);
    for (size_t i = 0; i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        moonplan_error err = plugin->broken;
        for (size_t j = 0; j <= plugin->item_count; j++) {
            if (j > 0 && !is_refused(self, engine, &plugin->items[j - 1], &err)) continue;
            if (err.code == MOONPLAN_OK) continue;
            push_problem(L, &err, plugin);
            lua_rawseti(L, -2, ++n);
        }
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
}

int mpl_lua_engine_strict(lua_State *L, mpl_lua_engine *self) {
    int top = lua_gettop(L);
    mpl_lua_engine_problems(L, self, self->engine);
    if (lua_rawlen(L, -1) == 0) {
        lua_settop(L, top);
        return 1;
    }
    lua_pushnil(L);
    lua_rawgeti(L, -2, 1);
    lua_pushvalue(L, top + 1);
    lua_setfield(L, -2, "errors");
    return 2;
}

bool mpl_lua_engine_load(lua_State *L, mpl_lua_engine *self, moonplan_text name,
                         moonplan_error *err) {
    lua_State *outer = self->L;
    self->L = L;
    bool fine = mpl_plugins_load(self->plugins, name, err);
    mpl_plugins_tell(self->plugins);
    self->L = outer;
    return fine;
}

mpl_plugin_item *mpl_lua_engine_find(lua_State *L, mpl_lua_engine *self, moonplan_text name,
                                     moonplan_error *err) {
    lua_State *outer = self->L;
    self->L = L;
    bool found = mpl_plugins_find(self->plugins, name, err) != NULL;
    mpl_plugins_tell(self->plugins);
    /* Whoever was told may have had it reloaded. */
    mpl_plugin_item *item = found ? mpl_plugins_find(self->plugins, name, err) : NULL;
    self->L = outer;
    return item;
}

/* The description of a registered capability, in work->document, as a table. */
static void push_description(lua_State *L, mpl_lua_engine *self, moonplan_value description) {
    mpl_lua_push_own(L, description);
    set_text(L, "kind", MOONPLAN_TEXT("capability"));
    moonplan_text name = moonplan_value_string(mpl_member(description, "name"));
    const mpl_plugin_item *item = mpl_plugins_find(self->plugins, name, NULL);
    if (item && item->registered) {
        set_file(L, item->plugin);
        set_origin(L, item->plugin);
    }
}

/* Register all that plugins bring and that can be used. */
static bool register_all(lua_State *L, mpl_lua_engine *self, mpl_lua_work *work) {
    bool fine = true;
    moonplan_error *err = &work->err;
    lua_State *outer = self->L;
    self->L = L;
    for (size_t i = 0; fine && i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        for (size_t j = 0; fine && j < plugin->item_count; j++)
            fine = plugin->items[j].item->kind != MPL_CAPABILITY ||
                   mpl_plugins_register(self->plugins, work->engine, plugin->items[j].item->name,
                                        err) ||
                   err->code != MOONPLAN_MEMORY;
    }
    mpl_plugins_tell(self->plugins);
    self->L = outer;
    return fine;
}

static void set_list(lua_State *L, const char *name, const moonplan_text *list, size_t count) {
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(L, list[i].bytes, list[i].length);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, name);
}

/* Push the description of what a plugin brings and no engine registers: a builder, an executor, an
 * authorizer. */
static void push_item(lua_State *L, const mpl_plugin_item *item) {
    static const char *const members[] = {"builds", "uses", "params", "implements", "submits"};
    const mpl_item *it = item->item;
    lua_createtable(L, 0, 10);
    set_text(L, "kind",
             (moonplan_text){mpl_kinds[it->kind].name, strlen(mpl_kinds[it->kind].name)});
    set_text(L, "name", it->name);
    set_text(L, "version", it->version);
    set_text(L, "summary", it->summary);
    if (mpl_kind_has_data(it->kind, MOONPLAN_TEXT("needs"))) {
        set_list(L, "needs", item->needs, item->needs_count);
        set_list(L, "missing", item->missing, item->missing_count);
    }
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        moonplan_value value = moonplan_value_member(it->value, members[i], strlen(members[i]));
        if (moonplan_value_type(value) == MOONPLAN_NONE) continue;
        mpl_lua_push_own(L, value);
        lua_setfield(L, -2, members[i]);
    }
    set_file(L, item->plugin);
    set_origin(L, item->plugin);
}

static void set_examples(lua_State *L, const mpl_plugin_item *item) {
    moonplan_value examples = mpl_member(item->item->value, "examples");
    if (!moonplan_value_count(examples)) return;
    mpl_lua_push_own(L, examples);
    lua_setfield(L, -2, "examples");
}

/* Push a list of what plugins bring of a kind, as far as it can be used. */
static void push_items(lua_State *L, mpl_lua_engine *self, mpl_kind kind) {
    lua_Integer n = 0;
    lua_newtable(L);
    for (size_t i = 0; i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        for (size_t j = 0; plugin->broken.code == MOONPLAN_OK && j < plugin->item_count; j++) {
            const mpl_plugin_item *item = &plugin->items[j];
            if (item->item->kind != kind ||
                mpl_plugins_find(self->plugins, item->item->name, NULL) != item)
                continue;
            push_item(L, item);
            lua_rawseti(L, -2, ++n);
        }
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
}

static mpl_kind check_kind(lua_State *L, int arg) {
    if (lua_isnil(L, arg)) return MPL_CAPABILITY;
    mpl_kind kind = mpl_kind_of(mpl_lua_check_text(L, arg));
    luaL_argcheck(L, kind != MPL_KINDS, arg, "a kind is one of: " MPL_KIND_NAMES);
    return kind;
}

/* engine:list(kind) */
int mpl_lua_engine_list(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 2);
    mpl_kind kind = check_kind(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    if (!mpl_lua_engine_load(L, self, no_places, &work->err) || !register_all(L, self, work))
        return mpl_lua_refuse(L, work, no_places);
    if (kind != MPL_CAPABILITY) {
        push_items(L, self, kind);
        mpl_lua_engine_problems(L, self, work->engine);
        mpl_lua_work_close(work);
        return 2;
    }
    work->document = moonplan_engine_list_new(work->engine, &work->err);
    if (!work->document) return mpl_lua_refuse(L, work, no_places);
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(work->document));
    lua_newtable(L);
    for (lua_Integer n = 1; moonplan_walk_next(&walk); n++) {
        push_description(L, self, walk.value);
        lua_rawseti(L, -2, n);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    mpl_lua_engine_problems(L, self, work->engine);
    mpl_lua_work_close(work);
    return 2;
}

/* engine:describe(name, version) */
int mpl_lua_engine_describe(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text name = mpl_lua_check_text(L, 2), version = no_places;
    lua_settop(L, 3);
    if (!lua_isnil(L, 3)) version = mpl_lua_check_text(L, 3);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    lua_State *outer = self->L;
    self->L = L;
    const mpl_plugin_item *item = NULL;
    if (!mpl_engine_has(work->engine, name)) {
        item = mpl_plugins_find(self->plugins, name, &work->err);
        if (item && item->item->kind == MPL_CAPABILITY)
            mpl_plugins_register(self->plugins, work->engine, name, &work->err);
    }
    mpl_plugins_tell(self->plugins);
    self->L = outer;
    if (item && item->item->kind != MPL_CAPABILITY) {
        bool other = version.bytes && !mpl_text_equal(version, item->item->version);
        mpl_lua_work_close(work);
        if (other) {
            lua_pushnil(L);
            return 1;
        }
        push_item(L, item);
        set_examples(L, item);
        return 1;
    }
    if (work->err.code == MOONPLAN_OK)
        work->document = moonplan_engine_describe_new(work->engine, name, version, &work->err);
    if (!work->document) {
        if (work->err.code != MOONPLAN_OK) return mpl_lua_refuse(L, work, no_places);
        mpl_lua_work_close(work);
        lua_pushnil(L);
        return 1;
    }
    push_description(L, self, moonplan_document_root(work->document));
    item = mpl_plugins_find(self->plugins, name, NULL);
    if (item && item->registered) set_examples(L, item);
    mpl_lua_work_close(work);
    return 1;
}

static void push_file(lua_State *L, mpl_lua_engine *self, const moonplan_engine *engine,
                      const mpl_plugin *plugin) {
    lua_createtable(L, 0, 6);
    set_text(L, "name", (moonplan_text){plugin->name, strlen(plugin->name)});
    set_file(L, plugin);
    set_origin(L, plugin);
    lua_createtable(L, (int)plugin->item_count, 0);
    lua_createtable(L, (int)plugin->item_count, 0);
    moonplan_error err = plugin->broken;
    lua_Integer capabilities = 0;
    for (size_t i = 0; i < plugin->item_count; i++) {
        moonplan_error refused;
        moonplan_text name = plugin->items[i].item->name;
        if (is_refused(self, engine, &plugin->items[i], &refused) && err.code == MOONPLAN_OK)
            err = refused;
        lua_pushlstring(L, name.bytes, name.length);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, (lua_Integer)i + 1);
        if (plugin->items[i].item->kind == MPL_CAPABILITY)
            lua_rawseti(L, -3, ++capabilities);
        else
            lua_pop(L, 1);
    }
    lua_setfield(L, -3, "names");
    lua_setfield(L, -2, "capabilities");
    if (err.code == MOONPLAN_OK) return;
    push_problem(L, &err, plugin);
    lua_setfield(L, -2, "err");
}

/* engine:files(name) */
int mpl_lua_engine_files(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text name = no_places;
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) name = mpl_lua_check_text(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    if (!mpl_lua_engine_load(L, self, name, &work->err)) return mpl_lua_refuse(L, work, no_places);
    lua_newtable(L);
    lua_Integer n = 0;
    for (size_t i = 0; i < mpl_plugins_count(self->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(self->plugins, i);
        if (name.bytes && !mpl_text_is(name, plugin->name)) continue;
        push_file(L, self, work->engine, plugin);
        lua_rawseti(L, -2, ++n);
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    mpl_lua_work_close(work);
    return 1;
}
