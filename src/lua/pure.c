/* The part of the module that plugins get as well: functions of their arguments alone. */
#include <lauxlib.h>
#include <sodium.h>

#include "bind.h"
#include "convert.h"
#include "module.h"

static int keccak256(lua_State *L) {
    moonplan_text bytes = mpl_lua_check_text(L, 1);
    uint8_t hash[32];
    moonplan_keccak256(hash, bytes.bytes, bytes.length);
    mpl_lua_push_hash(L, hash);
    return 1;
}

/* moonplan.sha256(bytes): FIPS 180-4 */
static int sha256(lua_State *L) {
    moonplan_text bytes = mpl_lua_check_text(L, 1);
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)bytes.bytes, bytes.length);
    mpl_lua_push_hash(L, hash);
    return 1;
}

/* moonplan.blake2b(bytes): RFC 7693, 32 bytes, without a key */
static int blake2b(lua_State *L) {
    moonplan_text bytes = mpl_lua_check_text(L, 1);
    uint8_t hash[32];
    crypto_generichash_blake2b(hash, sizeof hash, (const unsigned char *)bytes.bytes, bytes.length,
                               NULL, 0);
    mpl_lua_push_hash(L, hash);
    return 1;
}

/* moonplan.array(t) */
static int array(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    mpl_lua_push_mark(L);
    if (lua_getmetatable(L, 1)) {
        luaL_argcheck(L, lua_rawequal(L, 2, 3), 1, "the table has another metatable");
    } else {
        lua_pushvalue(L, 2);
        lua_setmetatable(L, 1);
    }
    lua_settop(L, 1);
    return 1;
}

/* moonplan.is_array(value) */
static int is_array(lua_State *L) {
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    mpl_lua_push_mark(L);
    lua_pushboolean(L, lua_istable(L, 1) && mpl_lua_marked(L, 1, 2));
    return 1;
}

void mpl_lua_push_pure(lua_State *L) {
    static const luaL_Reg functions[] = {{"abi", NULL},
                                         {"address", mpl_lua_address},
                                         {"amount", mpl_lua_amount},
                                         {"array", array},
                                         {"blake2b", blake2b},
                                         {"is_array", is_array},
                                         {"keccak256", keccak256},
                                         {"null", NULL},
                                         {"sha256", sha256},
                                         {"uint256", NULL},
                                         {"units", mpl_lua_units},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    mpl_lua_push_abi(L);
    lua_setfield(L, -2, "abi");
    mpl_lua_push_uint256(L);
    lua_setfield(L, -2, "uint256");
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
}
