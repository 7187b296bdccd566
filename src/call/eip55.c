#include "eip55.h"

#include <string.h>

#include "../core/text.h"

bool moonplan_address_checksum(char out[42], const char *text, size_t length) {
    uint8_t hash[32];
    if (length != 42 || mpl_hex_scan((moonplan_text){text, length}) == MPL_HEX_NO) return false;
    memcpy(out, text, 42);
    mpl_hex_lower(out, 42);
    moonplan_keccak256(hash, out + 2, 40);
    for (size_t i = 0; i < 40; i++) {
        unsigned nibble = hash[i / 2] >> (i % 2 ? 0 : 4) & 15;
        if (nibble >= 8 && out[2 + i] >= 'a') out[2 + i] = (char)(out[2 + i] - ('a' - 'A'));
    }
    return true;
}

mpl_eip55 mpl_eip55_check(moonplan_text address) {
    bool lower = false, upper = false;
    for (size_t i = 2; i < address.length; i++) {
        lower = lower || (address.bytes[i] >= 'a' && address.bytes[i] <= 'f');
        upper = upper || (address.bytes[i] >= 'A' && address.bytes[i] <= 'F');
    }
    if (!lower || !upper) return MPL_EIP55_NONE;
    char right[42];
    return moonplan_address_checksum(right, address.bytes, address.length) &&
                   memcmp(right, address.bytes, sizeof right) == 0
               ? MPL_EIP55_RIGHT
               : MPL_EIP55_WRONG;
}
