/* Addresses, amounts and 256-bit integers, for who writes calls: moonplan.address, amount, units
 * and uint256. What a person may have typed gives nil and the reason; what only a mistake in the
 * code can give is raised. */
#include <lauxlib.h>
#include <string.h>

#include "../call/eip55.h"
#include "../core/amount.h"
#include "../core/text.h"
#include "bind.h"
#include "module.h"

static int push_reason(lua_State *L, moonplan_text text, const char *reason) {
    lua_pushnil(L);
    mpl_lua_push_quoted(L, text, 96);
    lua_pushfstring(L, "%s %s", lua_tostring(L, -1), reason);
    lua_remove(L, -2);
    return 2;
}

/* moonplan.address(text) */
int mpl_lua_address(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    char lower[42];
    if (text.length != sizeof lower || mpl_hex_scan(text) == MPL_HEX_NO)
        return push_reason(L, text, "is no address: 0x and 40 hexadecimal digits");
    if (mpl_eip55_check(text) == MPL_EIP55_WRONG)
        return push_reason(L, text,
                           "has a wrong checksum: a digit is, or a letter's case (ERC-55)");
    memcpy(lower, text.bytes, sizeof lower);
    mpl_hex_lower(lower, sizeof lower);
    lua_pushlstring(L, lower, sizeof lower);
    return 1;
}

/* The text at `arg`, or an integer's digits. */
static moonplan_text digits_at(lua_State *L, int arg) {
    if (!lua_isinteger(L, arg)) return mpl_lua_check_text(L, arg);
    luaL_tolstring(L, arg, NULL);
    lua_replace(L, arg);
    return mpl_lua_check_text(L, arg);
}

static int push_uint256(lua_State *L, mpl_uint256 number) {
    char digits[MPL_UINT256_TEXT];
    lua_pushlstring(L, digits, mpl_uint256_decimal(digits, number));
    return 1;
}

static int decimals_at(lua_State *L, int arg) {
    lua_Integer decimals = luaL_checkinteger(L, arg);
    luaL_argcheck(L, decimals >= 0 && decimals <= MPL_DECIMALS_MOST, arg, "decimals are 0 to 77");
    return (int)decimals;
}

/* moonplan.amount(value, decimals) */
int mpl_lua_amount(lua_State *L) {
    int decimals = MPL_DECIMALS_UNKNOWN;
    lua_settop(L, 2);
    moonplan_text text = digits_at(L, 1);
    if (!lua_isnil(L, 2)) decimals = decimals_at(L, 2);
    mpl_uint256 number;
    const char *fault = mpl_amount_read(&number, text, decimals);
    return fault ? push_reason(L, text, fault) : push_uint256(L, number);
}

/* -- Arithmetic ---------------------------------------------------------------*/

/* The integer at `arg`: Lua's own, or decimal digits. */
static mpl_uint256 uint256_at(lua_State *L, int arg) {
    mpl_uint256 number;
    moonplan_text text = digits_at(L, arg);
    if (!mpl_uint256_from_decimal(&number, text)) {
        mpl_lua_push_quoted(L, text, 96);
        luaL_argerror(L, arg,
                      lua_pushfstring(L, "%s is no integer from 0 to 2^256-1 in decimal digits",
                                      lua_tostring(L, -1)));
    }
    return number;
}

/* moonplan.units(amount, decimals) */
int mpl_lua_units(lua_State *L) {
    char out[MPL_UINT256_TEXT];
    lua_settop(L, 2);
    mpl_uint256 number = uint256_at(L, 1);
    size_t length = mpl_uint256_units(out, number, (unsigned)decimals_at(L, 2));
    lua_pushlstring(L, out, length);
    return 1;
}

static int add(lua_State *L) {
    mpl_uint256 sum = uint256_at(L, 1);
    if (!mpl_uint256_add(&sum, uint256_at(L, 2))) luaL_error(L, "the sum is 2^256 or more");
    return push_uint256(L, sum);
}

static int sub(lua_State *L) {
    mpl_uint256 difference = uint256_at(L, 1);
    if (!mpl_uint256_subtract(&difference, uint256_at(L, 2)))
        luaL_error(L, "the difference is below zero");
    return push_uint256(L, difference);
}

static int mul(lua_State *L) {
    mpl_uint256 product = uint256_at(L, 1);
    if (!mpl_uint256_multiply(&product, uint256_at(L, 2)))
        luaL_error(L, "the product is 2^256 or more");
    return push_uint256(L, product);
}

static int divide(lua_State *L) {
    mpl_uint256 quotient = uint256_at(L, 1), divisor = uint256_at(L, 2);
    luaL_argcheck(L, !mpl_uint256_is_zero(divisor), 2, "a division by zero");
    mpl_uint256_divide(&quotient, divisor);
    return push_uint256(L, quotient);
}

static int compare(lua_State *L) {
    mpl_uint256 a = uint256_at(L, 1);
    lua_pushinteger(L, mpl_uint256_order(a, uint256_at(L, 2)));
    return 1;
}

void mpl_lua_push_uint256(lua_State *L) {
    static const luaL_Reg functions[] = {{"add", add}, {"compare", compare}, {"div", divide},
                                         {"mul", mul}, {"sub", sub},         {NULL, NULL}};
    luaL_newlib(L, functions);
}
