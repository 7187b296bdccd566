/* engine:sign_plugins and engine:verify_plugins: what signs a folder of plugins. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/text.h"
#include "convert.h"
#include "engine.h"
#include "keys.h"
#include "shelf.h"

static const moonplan_text no_places = {NULL, 0};

static void set_text(lua_State *L, const char *name, moonplan_text text) {
    lua_pushlstring(L, text.bytes, text.length);
    lua_setfield(L, -2, name);
}

/* "FOLDER: " in front of what an error says. */
static void name_folder(moonplan_error *err, moonplan_text folder) {
    char message[sizeof err->message];
    if (err->code == MOONPLAN_MEMORY) return;
    memcpy(message, err->message, sizeof message);
    mpl_error_set(err, err->code, MOONPLAN_NO_OFFSET, NULL, "%q: %s", &folder, message);
}

/* -- Writing a manifest ------------------------------------------------------*/

typedef struct signing {
    mpl_plugins *plugins;
    size_t shelf;
    mpl_buffer text, files, signature; /* `files`: paths, each with a NUL */
    size_t file_count;
    moonplan_error *err;
} signing;

/* What a plugin that was loaded has of the file; NULL: it is no plugin's. */
static const mpl_source_file *find_loaded(const signing *s, moonplan_text path) {
    for (size_t i = 0; i < mpl_plugins_count(s->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(s->plugins, i);
        for (size_t j = 0; plugin->shelf == s->shelf && j < plugin->sources.count; j++)
            if (!plugin->sources.files[j].why &&
                mpl_text_equal(plugin->sources.files[j].path, path))
                return &plugin->sources.files[j];
    }
    return NULL;
}

static bool note_file(void *data, moonplan_text path) {
    signing *s = data;
    if (++s->file_count > MPL_SEAL_FILES) {
        mpl_error_set(s->err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL,
                      "more than %u files are not signed together", (uint64_t)MPL_SEAL_FILES);
        return false;
    }
    mpl_buffer_add(&s->files, path.bytes, path.length);
    mpl_buffer_byte(&s->files, 0);
    return true;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The very bytes that were loaded, not those that stand there by now. */
static bool add_file(signing *s, const char *path) {
    moonplan_text text = {path, strlen(path)};
    const mpl_source_file *loaded = find_loaded(s, text);
    uint64_t size;
    uint8_t digest[32];
    if (loaded) {
        mpl_source_line(&s->text, text, loaded->length, loaded->digest);
        return true;
    }
    mpl_alloc alloc = s->plugins->alloc;
    if (!mpl_seal_hash(s->plugins->shelves[s->shelf].root, path,
                       s->plugins->options.limits.source_kib * 1024, &alloc, &size, digest, s->err))
        return false;
    mpl_source_line(&s->text, text, size, digest);
    return true;
}

static bool add_files(signing *s) {
    const char *sorted[MPL_SEAL_FILES];
    moonplan_root *root = s->plugins->shelves[s->shelf].root;
    if (!mpl_seal_walk(root, note_file, s, s->err)) return false;
    if (s->files.failed) return mpl_error_memory(s->err), false;
    const char *at = s->files.bytes;
    for (size_t i = 0; i < s->file_count; i++) {
        sorted[i] = at;
        at += strlen(at) + 1;
    }
    if (s->file_count > 0) qsort(sorted, s->file_count, sizeof(const char *), by_text);
    for (size_t i = 0; i < s->file_count; i++)
        if (!add_file(s, sorted[i])) return false;
    return true;
}

static int by_name(const void *a, const void *b) {
    const mpl_plugin_item *const *x = a, *const *y = b;
    return mpl_text_order((*x)->item->name, (*y)->item->name);
}

static void add_item(signing *s, const mpl_plugin_item *item) {
    mpl_buffer_add(&s->text, "item ", 5);
    mpl_buffer_add(&s->text, item->item->name.bytes, item->item->name.length);
    mpl_buffer_byte(&s->text, ' ');
    mpl_buffer_add(&s->text, item->item->version.bytes, item->item->version.length);
    mpl_buffer_byte(&s->text, ' ');
    mpl_buffer_add(&s->text, item->plugin->file, strlen(item->plugin->file));
    mpl_buffer_byte(&s->text, '\n');
}

static bool add_items(signing *s) {
    size_t count = 0, room = 0;
    for (size_t i = 0; i < mpl_plugins_count(s->plugins); i++)
        if (mpl_plugins_at(s->plugins, i)->shelf == s->shelf)
            room += mpl_plugins_at(s->plugins, i)->item_count;
    if (room == 0) return true;
    mpl_alloc alloc = s->plugins->alloc;
    const mpl_plugin_item **items = mpl_allocate(&alloc, room * sizeof(const mpl_plugin_item *));
    if (!items) return mpl_error_memory(s->err), false;
    for (size_t i = 0; i < mpl_plugins_count(s->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(s->plugins, i);
        for (size_t j = 0; plugin->shelf == s->shelf && j < plugin->item_count; j++)
            items[count++] = &plugin->items[j];
    }
    qsort(items, count, sizeof(const mpl_plugin_item *), by_name);
    for (size_t i = 0; i < count; i++) add_item(s, items[i]);
    mpl_release(&alloc, items, room * sizeof(const mpl_plugin_item *));
    return true;
}

/* Every plugin of the folder has to be one. */
static bool check_plugins(const signing *s) {
    for (size_t i = 0; i < mpl_plugins_count(s->plugins); i++) {
        const mpl_plugin *plugin = mpl_plugins_at(s->plugins, i);
        if (plugin->shelf != s->shelf || plugin->broken.code == MOONPLAN_OK) continue;
        *s->err = plugin->broken;
        return false;
    }
    return true;
}

/* What was put together is read as a verifier will read it. */
static bool check_text(signing *s) {
    if (s->text.failed) return mpl_error_memory(s->err), false;
    if (s->text.length > MPL_SEAL_MOST) {
        mpl_error_set(s->err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL,
                      MPL_SEAL_NAME " would be longer than %u bytes", (uint64_t)MPL_SEAL_MOST);
        return false;
    }
    mpl_seal *seal = mpl_seal_new(&s->plugins->options, s->err);
    if (!seal) return false;
    mpl_buffer_add(&seal->text, s->text.bytes, s->text.length);
    bool fine = mpl_seal_parse(seal, s->err);
    mpl_seal_free(seal);
    return fine;
}

static bool write_both(signing *s, const moonplan_secret_key *key, int64_t now) {
    char comment[96];
    const mpl_shelf *shelf = &s->plugins->shelves[s->shelf];
    int length = snprintf(comment, sizeof comment, "timestamp:%lld\tfile:" MPL_SEAL_NAME "\thashed",
                          (long long)(now / 1000));
    if (!moonplan_sign(key, mpl_buffer_sink, &s->signature, s->text.bytes, s->text.length,
                       (moonplan_text){comment, (size_t)length}, s->err))
        return false;
    if (s->signature.failed) return mpl_error_memory(s->err), false;
    moonplan_root *root =
        moonplan_root_open(shelf->path.bytes, shelf->path.length,
                           MOONPLAN_ROOT_WRITE | MOONPLAN_ROOT_TRUSTED | MOONPLAN_ROOT_GUARDED,
                           &s->plugins->options, s->err);
    if (!root) return false;
    bool fine = moonplan_root_write(root, MPL_SEAL_NAME, sizeof MPL_SEAL_NAME - 1, s->text.bytes,
                                    s->text.length, s->err) &&
                moonplan_root_write(root, MPL_SIGNATURE_NAME, sizeof MPL_SIGNATURE_NAME - 1,
                                    s->signature.bytes, s->signature.length, s->err);
    moonplan_root_free(root);
    return fine;
}

static bool sign_shelf(signing *s, const moonplan_secret_key *key, int64_t now) {
    mpl_buffer_add(&s->text, MPL_SEAL_HEADER "\n", sizeof MPL_SEAL_HEADER);
    return check_plugins(s) && add_files(s) && add_items(s) && check_text(s) &&
           write_both(s, key, now);
}

/* engine:sign_plugins(key) */
int mpl_lua_engine_sign_plugins(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    const moonplan_secret_key *key = mpl_lua_check_secret_key(L, 2);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    lua_State *outer = self->L;
    self->L = L;
    bool fine = mpl_plugins_load(self->plugins, no_places, &work->err);
    mpl_plugins_tell(self->plugins);
    int64_t now = fine ? mpl_lua_now(self) : 0;
    self->L = outer;
    lua_Integer n = 0;
    for (size_t i = 0; fine && i < self->plugins->shelf_count; i++) {
        const mpl_shelf *shelf = &self->plugins->shelves[i];
        if (!shelf->root) continue;
        signing s = {.plugins = self->plugins, .shelf = i, .err = &work->err};
        mpl_alloc alloc = self->alloc;
        mpl_buffer_open(&s.text, &alloc);
        mpl_buffer_open(&s.files, &alloc);
        mpl_buffer_open(&s.signature, &alloc);
        fine = sign_shelf(&s, key, now);
        mpl_buffer_close(&s.text);
        mpl_buffer_close(&s.files);
        mpl_buffer_close(&s.signature);
        if (!fine) name_folder(&work->err, shelf->path);
        n++;
    }
    if (!fine) return mpl_lua_refuse(L, work, no_places);
    mpl_lua_work_close(work);
    lua_pushinteger(L, n);
    return 1;
}

/* -- Verifying ---------------------------------------------------------------*/

/* A seal that Lua collects. */
typedef struct held_seal {
    mpl_seal *seal;
} held_seal;

static int seal_gc(lua_State *L);
static const luaL_Reg seal_own[] = {{"__gc", seal_gc}, {NULL, NULL}};
static const mpl_lua_type seal_type = {"moonplan.seal", "a manifest", seal_own};

static int seal_gc(lua_State *L) {
    held_seal *held = mpl_lua_check(L, 1, &seal_type);
    mpl_seal *seal = held->seal;
    held->seal = NULL;
    mpl_seal_free(seal);
    return 0;
}

static bool verify_shelf(const mpl_plugins *plugins, const mpl_shelf *shelf, mpl_seal **out,
                         moonplan_error *err) {
    if (!mpl_trust_seal(plugins->trust, shelf->root, out, err)) return false;
    if (*out) return mpl_trust_allows(plugins->trust, *out, err);
    mpl_error_set(err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL,
                  "nobody has signed it: there is no " MPL_SEAL_NAME);
    return false;
}

static void push_files(lua_State *L, const mpl_seal *seal) {
    lua_createtable(L, (int)seal->file_count, 0);
    for (size_t i = 0; i < seal->file_count; i++) {
        char digits[MPL_DIGEST_DIGITS];
        mpl_hex_encode(digits, seal->files[i].digest, 32);
        lua_createtable(L, 0, 3);
        set_text(L, "path", seal->files[i].path);
        lua_pushinteger(L, (lua_Integer)seal->files[i].size);
        lua_setfield(L, -2, "size");
        set_text(L, "digest", (moonplan_text){digits, sizeof digits});
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static void push_items(lua_State *L, const mpl_seal *seal) {
    lua_createtable(L, (int)seal->item_count, 0);
    for (size_t i = 0; i < seal->item_count; i++) {
        lua_createtable(L, 0, 3);
        set_text(L, "name", seal->items[i].name);
        set_text(L, "version", seal->items[i].version);
        set_text(L, "file", seal->items[i].path);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static void push_marked(lua_State *L, const char *name) {
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, name);
}

static void push_verified(lua_State *L, const mpl_plugins *plugins, const mpl_shelf *shelf,
                          const mpl_seal *seal) {
    moonplan_text signer;
    bool state = mpl_trust_signer(plugins->trust, seal, &signer);
    lua_createtable(L, 0, 6);
    set_text(L, "folder", shelf->path);
    set_text(L, "key", (moonplan_text){seal->key, sizeof seal->key - 1});
    set_text(L, "signer", signer);
    set_text(L, "isolation", state ? MOONPLAN_TEXT("state") : MOONPLAN_TEXT("process"));
    push_files(L, seal);
    push_marked(L, "files");
    push_items(L, seal);
    push_marked(L, "items");
}

/* engine:verify_plugins() */
int mpl_lua_engine_verify_plugins(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    lua_settop(L, 1);
    if (!self->plugins->trust) luaL_error(L, "the engine was made without the option trust");
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    held_seal *held = mpl_lua_new(L, &seal_type, sizeof *held, 0);
    lua_newtable(L);
    lua_Integer n = 0;
    for (size_t i = 0; i < self->plugins->shelf_count; i++) {
        const mpl_shelf *shelf = &self->plugins->shelves[i];
        if (!shelf->root) continue;
        lua_State *outer = self->L;
        self->L = L;
        bool fine = verify_shelf(self->plugins, shelf, &held->seal, &work->err);
        self->L = outer;
        if (!fine) {
            name_folder(&work->err, shelf->path);
            return mpl_lua_refuse(L, work, no_places);
        }
        push_verified(L, self->plugins, shelf, held->seal);
        lua_rawseti(L, -2, ++n);
        mpl_seal_free(held->seal);
        held->seal = NULL;
    }
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    mpl_lua_work_close(work);
    return 1;
}
