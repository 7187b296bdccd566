/* moonplan.keys: key pairs and signatures. A secret stays in C; what Lua sees of it is its name. */
#include "keys.h"

#include <lauxlib.h>
#include <string.h>

#include "../core/text.h"
#include "bind.h"

typedef struct secret {
    moonplan_secret_key *key; /* NULL: not there yet */
} secret;

static int secret_gc(lua_State *L);
static int secret_index(lua_State *L);
static int secret_tostring(lua_State *L);
static int public_index(lua_State *L);
static int public_tostring(lua_State *L);

static const luaL_Reg secret_own[] = {
    {"__gc", secret_gc}, {"__index", secret_index}, {"__tostring", secret_tostring}, {NULL, NULL}};
static const mpl_lua_type secret_type = {"moonplan.secret_key", "a secret key", secret_own};

static const luaL_Reg public_own[] = {
    {"__index", public_index}, {"__tostring", public_tostring}, {NULL, NULL}};
static const mpl_lua_type public_type = {"moonplan.public_key", "a public key", public_own};

static int secret_gc(lua_State *L) {
    secret *self = mpl_lua_check(L, 1, &secret_type);
    moonplan_secret_key *key = self->key;
    self->key = NULL;
    moonplan_secret_key_free(key);
    return 0;
}

const moonplan_secret_key *mpl_lua_check_secret_key(lua_State *L, int arg) {
    const secret *self = mpl_lua_check(L, arg, &secret_type);
    luaL_argcheck(L, self->key, arg, "the key has been collected");
    return self->key;
}

const moonplan_public_key *mpl_lua_check_public_key(lua_State *L, int arg) {
    return mpl_lua_check(L, arg, &public_type);
}

void mpl_lua_push_public_key(lua_State *L, const moonplan_public_key *key) {
    moonplan_public_key *self = mpl_lua_new(L, &public_type, sizeof *self, 0);
    *self = *key;
}

static void push_name(lua_State *L, const moonplan_public_key *key) {
    char name[MOONPLAN_KEY_NAME_SIZE];
    moonplan_key_name(key, name);
    lua_pushlstring(L, name, sizeof name - 1);
}

/* -- Options -----------------------------------------------------------------*/

/* { password = TEXT } at `arg`, or nothing. The text stays where it is: in the table. */
static moonplan_text read_password(lua_State *L, int arg) {
    static const char *const names[] = {"password", NULL};
    moonplan_text password = {NULL, 0};
    if (lua_isnoneornil(L, arg)) return password;
    luaL_checktype(L, arg, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
        mpl_lua_field(L, -2, "the options of a key", names);
        if (lua_type(L, -1) != LUA_TSTRING)
            mpl_lua_bad_option(L, arg, "password", "a text", lua_gettop(L));
        password.bytes = lua_tolstring(L, -1, &password.length);
    }
    return password;
}

/* -- Secret keys -------------------------------------------------------------*/

/* moonplan.keys.new() */
static int keys_new(lua_State *L) {
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_lua_alloc(L, &options);
    lua_settop(L, 0);
    secret *self = mpl_lua_new(L, &secret_type, sizeof *self, 0);
    mpl_lua_work *work = mpl_lua_work_new(L);
    int attempts = 0;
    do self->key = moonplan_secret_key_new(&options, &work->err);
    while (!self->key && mpl_lua_again(L, work, &attempts));
    if (!self->key) return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_work_close(work);
    lua_settop(L, 1);
    return 1;
}

/* moonplan.keys.secret(path, options) */
static int keys_secret(lua_State *L) {
    moonplan_text path = mpl_lua_check_text(L, 1);
    moonplan_options options;
    lua_settop(L, 2);
    moonplan_text password = read_password(L, 2);
    moonplan_options_init(&options);
    mpl_lua_alloc(L, &options);
    secret *self = mpl_lua_new(L, &secret_type, sizeof *self, 0);
    mpl_lua_work *work = mpl_lua_work_new(L);
    int attempts = 0;
    do
        self->key =
            moonplan_secret_key_load(path.bytes, path.length, password, &options, &work->err);
    while (!self->key && mpl_lua_again(L, work, &attempts));
    if (!self->key) return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_work_close(work);
    lua_settop(L, 3);
    return 1;
}

static int secret_tostring(lua_State *L) {
    moonplan_public_key half;
    moonplan_secret_key_public(mpl_lua_check_secret_key(L, 1), &half);
    lua_pushliteral(L, "secret key ");
    push_name(L, &half);
    lua_concat(L, 2);
    return 1;
}

/* key:save(path, options): PATH.pub and PATH.key */
static int secret_save(lua_State *L) {
    const moonplan_secret_key *key = mpl_lua_check_secret_key(L, 1);
    moonplan_text path = mpl_lua_check_text(L, 2);
    lua_settop(L, 3);
    moonplan_text password = read_password(L, 3);
    luaL_argcheck(L, !password.bytes || password.length > 0, 3, "the password is empty");
    mpl_lua_work *work = mpl_lua_work_new(L);
    if (!moonplan_secret_key_save(key, path.bytes, path.length, password, &work->err))
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_work_close(work);
    lua_pushboolean(L, 1);
    return 1;
}

/* key:sign(bytes, comment): the text of a .minisig */
static int secret_sign(lua_State *L) {
    const moonplan_secret_key *key = mpl_lua_check_secret_key(L, 1);
    moonplan_text bytes = mpl_lua_check_text(L, 2), comment = {"", 0};
    if (!lua_isnoneornil(L, 3)) comment = mpl_lua_check_text(L, 3);
    lua_settop(L, 3);
    mpl_lua_work *work = mpl_lua_work_new(L);
    if (!moonplan_sign(key, mpl_buffer_sink, &work->text, bytes.bytes, bytes.length, comment,
                       &work->err))
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    if (work->text.failed) {
        mpl_error_memory(&work->err);
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    }
    lua_pushlstring(L, work->text.bytes, work->text.length);
    mpl_lua_work_close(work);
    return 1;
}

/* A purpose as the C functions take it. */
static const char *check_context(lua_State *L, int arg) {
    moonplan_text context = mpl_lua_check_text(L, arg);
    luaL_argcheck(L, context.length > 0 && !memchr(context.bytes, 0, context.length), arg,
                  "a context is a text without NUL, and not empty");
    return context.bytes;
}

/* key:sign_message(context, bytes): 128 digits */
static int secret_sign_message(lua_State *L) {
    const moonplan_secret_key *key = mpl_lua_check_secret_key(L, 1);
    const char *context = check_context(L, 2);
    moonplan_text bytes = mpl_lua_check_text(L, 3);
    uint8_t signature[MOONPLAN_SIGNATURE_SIZE];
    char digits[2 * MOONPLAN_SIGNATURE_SIZE];
    moonplan_sign_message(key, signature, context, bytes.bytes, bytes.length);
    mpl_hex_encode(digits, signature, sizeof signature);
    lua_pushlstring(L, digits, sizeof digits);
    return 1;
}

static int secret_index(lua_State *L) {
    static const char *const names[] = {"id", "public", "save", "sign", "sign_message", NULL};
    static const lua_CFunction methods[] = {NULL, NULL, secret_save, secret_sign,
                                            secret_sign_message};
    moonplan_public_key half;
    moonplan_secret_key_public(mpl_lua_check_secret_key(L, 1), &half);
    int which = mpl_lua_field(L, 2, "a secret key", names);
    if (which == 0)
        push_name(L, &half);
    else if (which == 1)
        mpl_lua_push_public_key(L, &half);
    else
        lua_pushcfunction(L, methods[which]);
    return 1;
}

/* -- Public keys -------------------------------------------------------------*/

static int keep_public(lua_State *L, bool fine, mpl_lua_work *work,
                       const moonplan_public_key *key) {
    if (!fine) return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_work_close(work);
    mpl_lua_push_public_key(L, key);
    return 1;
}

/* moonplan.keys.public(path) */
static int keys_public(lua_State *L) {
    moonplan_text path = mpl_lua_check_text(L, 1);
    moonplan_public_key key;
    lua_settop(L, 1);
    mpl_lua_work *work = mpl_lua_work_new(L);
    bool fine = moonplan_public_key_load(&key, path.bytes, path.length, &work->err);
    return keep_public(L, fine, work, &key);
}

/* moonplan.keys.parse(text) */
static int keys_parse(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    moonplan_public_key key;
    lua_settop(L, 1);
    mpl_lua_work *work = mpl_lua_work_new(L);
    bool fine = moonplan_public_key_parse(&key, text.bytes, text.length, &work->err);
    return keep_public(L, fine, work, &key);
}

static int public_tostring(lua_State *L) {
    lua_pushliteral(L, "public key ");
    push_name(L, mpl_lua_check_public_key(L, 1));
    lua_concat(L, 2);
    return 1;
}

/* key:verify(bytes, signature): the trusted comment, or nil and an error */
static int public_verify(lua_State *L) {
    const moonplan_public_key *key = mpl_lua_check_public_key(L, 1);
    moonplan_text bytes = mpl_lua_check_text(L, 2), signature = mpl_lua_check_text(L, 3), comment;
    lua_settop(L, 3);
    mpl_lua_work *work = mpl_lua_work_new(L);
    if (!moonplan_verify(key, &comment, bytes.bytes, bytes.length, signature.bytes,
                         signature.length, &work->err))
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_work_close(work);
    lua_pushlstring(L, comment.bytes, comment.length);
    return 1;
}

static bool is_signature(uint8_t out[MOONPLAN_SIGNATURE_SIZE], moonplan_text digits) {
    if (digits.length != 2 * MOONPLAN_SIGNATURE_SIZE) return false;
    for (size_t i = 0; i < digits.length; i++)
        if (!memchr("0123456789abcdef", digits.bytes[i], 16)) return false;
    mpl_hex_decode(out, digits.bytes, MOONPLAN_SIGNATURE_SIZE);
    return true;
}

/* key:verify_message(context, bytes, signature): true, or nil and an error */
static int public_verify_message(lua_State *L) {
    const moonplan_public_key *key = mpl_lua_check_public_key(L, 1);
    const char *context = check_context(L, 2);
    moonplan_text bytes = mpl_lua_check_text(L, 3), digits = mpl_lua_check_text(L, 4);
    uint8_t signature[MOONPLAN_SIGNATURE_SIZE];
    lua_settop(L, 4);
    mpl_lua_work *work = mpl_lua_work_new(L);
    bool fine = is_signature(signature, digits);
    if (!fine)
        mpl_error_set(&work->err, MOONPLAN_SIGNATURE_FORMAT, MOONPLAN_NO_OFFSET, NULL,
                      "a signature of a message is 128 lower-case hexadecimal digits");
    if (!fine ||
        !moonplan_verify_message(key, signature, context, bytes.bytes, bytes.length, &work->err))
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_work_close(work);
    lua_pushboolean(L, 1);
    return 1;
}

struct written {
    char bytes[256];
    size_t length;
};

static bool take(void *data, const char *bytes, size_t length) {
    struct written *written = data;
    if (length > sizeof written->bytes) return false;
    memcpy(written->bytes, bytes, length);
    written->length = length;
    return true;
}

static int public_index(lua_State *L) {
    static const char *const names[] = {"id", "text", "verify", "verify_message", NULL};
    const moonplan_public_key *key = mpl_lua_check_public_key(L, 1);
    struct written written;
    switch (mpl_lua_field(L, 2, "a public key", names)) {
    case 0:
        push_name(L, key);
        break;
    case 1:
        moonplan_public_key_write(key, take, &written);
        lua_pushlstring(L, written.bytes, written.length);
        break;
    case 2:
        lua_pushcfunction(L, public_verify);
        break;
    default:
        lua_pushcfunction(L, public_verify_message);
        break;
    }
    return 1;
}

void mpl_lua_push_keys(lua_State *L) {
    static const luaL_Reg functions[] = {{"new", keys_new},
                                         {"parse", keys_parse},
                                         {"public", keys_public},
                                         {"secret", keys_secret},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
}
