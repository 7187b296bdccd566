#include <string.h>

#include "../core/text.h"
#include "abi.h"

/* An array length of more digits is no length of anything that fits in memory. */
#define LENGTH_DIGITS_MOST 9

/* -- Names of types --------------------------------------------------------*/

static inline bool begins(moonplan_text text, const char *prefix) {
    size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.bytes, prefix, length) == 0;
}

/* The number behind a prefix, 0 where there is none in canonical form or it is over 999. */
static uint32_t width(moonplan_text name, size_t prefix) {
    moonplan_text digits = {name.bytes + prefix, name.length - prefix};
    if (!mpl_decimal(digits) || digits.length > 3) return 0;
    uint32_t number = 0;
    for (size_t i = 0; i < digits.length; i++)
        number = number * 10 + (uint32_t)(digits.bytes[i] - '0');
    return number;
}

const char *mpl_abi_base_fault(moonplan_text name, moonplan_abi_base *base, uint32_t *size) {
#define PLAIN(name, base, size)                                                                    \
    { {name, sizeof(name) - 1}, base, size }
    static const struct {
        moonplan_text name;
        moonplan_abi_base base;
        uint32_t size;
    } plain[] = {
        PLAIN("address", MOONPLAN_ABI_ADDRESS, 20), PLAIN("bool", MOONPLAN_ABI_BOOL, 1),
        PLAIN("bytes", MOONPLAN_ABI_BYTES, 0),      PLAIN("string", MOONPLAN_ABI_STRING, 0),
        PLAIN("tuple", MOONPLAN_ABI_TUPLE, 0),      PLAIN("function", MOONPLAN_ABI_FUNCTION, 24)};
#undef PLAIN
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (mpl_text_equal(name, plain[i].name)) {
            *base = plain[i].base;
            *size = plain[i].size;
            return NULL;
        }
    if (mpl_text_is(name, "uint") || mpl_text_is(name, "int"))
        return "the canonical name has its width: uint256, int256";
    if (begins(name, "uint") || begins(name, "int")) {
        bool without_sign = name.bytes[0] == 'u';
        *base = without_sign ? MOONPLAN_ABI_UINT : MOONPLAN_ABI_INT;
        *size = width(name, without_sign ? 4 : 3);
        if (*size >= 8 && *size <= 256 && *size % 8 == 0) return NULL;
        return "integers are 8 to 256 bits wide, in steps of 8";
    }
    if (begins(name, "bytes")) {
        *base = MOONPLAN_ABI_BYTES_N;
        *size = width(name, 5);
        if (*size >= 1 && *size <= 32) return NULL;
        return "fixed byte arrays are 1 to 32 bytes long";
    }
    return "there is no such type in the contract ABI";
}

const char *mpl_abi_length_fault(moonplan_text digits, uint32_t *length) {
    *length = 0;
    if (digits.length == 0) return NULL;
    if (digits.bytes[0] == '0' || digits.length > LENGTH_DIGITS_MOST)
        return "a fixed array has 1 to 999999999 elements, written without leading zeros";
    for (size_t i = 0; i < digits.length; i++)
        *length = *length * 10 + (uint32_t)(digits.bytes[i] - '0');
    return NULL;
}

const char *mpl_abi_type_fault(moonplan_text type, bool *tuple) {
    const char *bracket = type.length ? memchr(type.bytes, '[', type.length) : NULL;
    moonplan_text name = {type.bytes, bracket ? (size_t)(bracket - type.bytes) : type.length};
    moonplan_abi_base base = MOONPLAN_ABI_UINT;
    uint32_t size;
    const char *fault = mpl_abi_base_fault(name, &base, &size), *end = type.bytes + type.length;
    *tuple = !fault && base == MOONPLAN_ABI_TUPLE;
    if (fault) return fault;
    for (const char *at = bracket; at && at < end;) {
        if (*at++ != '[') return "behind an array's length only another one may follow";
        const char *digits = at;
        while (at < end && *at >= '0' && *at <= '9') at++;
        moonplan_text length = {digits, (size_t)(at - digits)};
        if (at == end || *at++ != ']') return "an array's length is [] or digits in brackets";
        fault = mpl_abi_length_fault(length, &size);
        if (fault) return fault;
    }
    return NULL;
}

static bool letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           byte == '$';
}

static bool digit(char byte) {
    return byte >= '0' && byte <= '9';
}

bool mpl_abi_identifier(moonplan_text name) {
    for (size_t i = 0; i < name.length; i++)
        if (!letter(name.bytes[i]) && (i == 0 || !digit(name.bytes[i]))) return false;
    return name.length > 0;
}
