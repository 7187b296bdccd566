#include "uint256.h"

#include <string.h>

#include "text.h"

mpl_uint256 mpl_uint256_of(uint64_t number) {
    return (mpl_uint256){{(uint32_t)number, (uint32_t)(number >> 32)}};
}

mpl_uint256 mpl_uint256_power(unsigned bits) {
    mpl_uint256 number = {{0}};
    number.limb[bits / 32] = (uint32_t)1 << bits % 32;
    return number;
}

mpl_uint256 mpl_uint256_read(const uint8_t word[32]) {
    mpl_uint256 number;
    for (size_t i = 0; i < 8; i++) {
        const uint8_t *byte = word + 28 - 4 * i;
        number.limb[i] = (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 |
                         (uint32_t)byte[2] << 8 | (uint32_t)byte[3];
    }
    return number;
}

void mpl_uint256_write(uint8_t word[32], mpl_uint256 number) {
    for (size_t i = 0; i < 32; i++) word[31 - i] = (uint8_t)(number.limb[i / 4] >> 8 * (i % 4));
}

int mpl_uint256_order(mpl_uint256 a, mpl_uint256 b) {
    for (size_t i = 8; i-- > 0;)
        if (a.limb[i] != b.limb[i]) return a.limb[i] < b.limb[i] ? -1 : 1;
    return 0;
}

bool mpl_uint256_is_zero(mpl_uint256 number) {
    return mpl_uint256_bits(number) == 0;
}

unsigned mpl_uint256_bits(mpl_uint256 number) {
    for (unsigned i = 8; i-- > 0;) {
        unsigned bits = 0;
        for (uint32_t rest = number.limb[i]; rest; rest >>= 1) bits++;
        if (bits) return 32 * i + bits;
    }
    return 0;
}

bool mpl_uint256_negative(mpl_uint256 number) {
    return number.limb[7] >> 31;
}

bool mpl_uint256_add(mpl_uint256 *sum, mpl_uint256 number) {
    uint64_t carry = 0;
    for (size_t i = 0; i < 8; i++) {
        carry += (uint64_t)sum->limb[i] + number.limb[i];
        sum->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return carry == 0;
}

mpl_uint256 mpl_uint256_negate(mpl_uint256 number) {
    for (size_t i = 0; i < 8; i++) number.limb[i] = ~number.limb[i];
    mpl_uint256_add(&number, mpl_uint256_of(1));
    return number;
}

bool mpl_uint256_subtract(mpl_uint256 *difference, mpl_uint256 number) {
    if (mpl_uint256_order(*difference, number) < 0) return false;
    mpl_uint256_add(difference, mpl_uint256_negate(number));
    return true;
}

bool mpl_uint256_multiply(mpl_uint256 *product, mpl_uint256 number) {
    uint32_t limbs[16] = {0};
    for (size_t i = 0; i < 8; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; j < 8; j++) {
            carry += (uint64_t)product->limb[i] * number.limb[j] + limbs[i + j];
            limbs[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        limbs[i + 8] = (uint32_t)carry;
    }
    memcpy(product->limb, limbs, sizeof product->limb);
    for (size_t i = 8; i < 16; i++)
        if (limbs[i]) return false;
    return true;
}

/* Bit by bit: 256 rounds are nothing beside the text around it. */
void mpl_uint256_divide(mpl_uint256 *quotient, mpl_uint256 divisor) {
    mpl_uint256 rest = mpl_uint256_of(0), result = rest;
    for (unsigned bit = 256; bit-- > 0;) {
        bool high = mpl_uint256_negative(rest);
        mpl_uint256_add(&rest, rest);
        if (quotient->limb[bit / 32] >> bit % 32 & 1) mpl_uint256_add(&rest, mpl_uint256_of(1));
        if (!high && mpl_uint256_order(rest, divisor) < 0) continue;
        mpl_uint256_add(&rest, mpl_uint256_negate(divisor));
        result.limb[bit / 32] |= (uint32_t)1 << bit % 32;
    }
    *quotient = result;
}

bool mpl_uint256_small(mpl_uint256 number, uint64_t *out) {
    *out = (uint64_t)number.limb[1] << 32 | number.limb[0];
    return mpl_uint256_bits(number) <= 64;
}

bool mpl_int256_fits(mpl_uint256 number, unsigned bits) {
    if (mpl_uint256_negative(number)) {
        /* -2^(bits-1) is as wide as 2^(bits-1)-1 once every bit is turned round. */
        for (size_t i = 0; i < 8; i++) number.limb[i] = ~number.limb[i];
    }
    return mpl_uint256_bits(number) < bits;
}

/* -- To text ---------------------------------------------------------------*/

/* Divide by a small number; the remainder. */
static uint32_t divide(mpl_uint256 *number, uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = 8; i-- > 0;) {
        rest = rest << 32 | number->limb[i];
        number->limb[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint32_t)rest;
}

#define NINE_DIGITS 1000000000u

size_t mpl_uint256_decimal(char out[MPL_UINT256_TEXT], mpl_uint256 number) {
    char digits[81];
    size_t at = sizeof digits;
    do {
        uint32_t nine = divide(&number, NINE_DIGITS);
        bool last = mpl_uint256_is_zero(number);
        for (size_t i = 0; i < 9 && (nine || !last || i == 0); i++, nine /= 10)
            digits[--at] = (char)('0' + nine % 10);
    } while (!mpl_uint256_is_zero(number));
    memcpy(out, digits + at, sizeof digits - at);
    out[sizeof digits - at] = 0;
    return sizeof digits - at;
}

size_t mpl_int256_decimal(char out[MPL_UINT256_TEXT], mpl_uint256 number) {
    if (!mpl_uint256_negative(number)) return mpl_uint256_decimal(out, number);
    size_t length = mpl_uint256_decimal(out, mpl_uint256_negate(number));
    memmove(out + 1, out, length + 1);
    out[0] = '-';
    return length + 1;
}

size_t mpl_uint256_hex(char out[MPL_UINT256_TEXT], mpl_uint256 number) {
    unsigned digits = (mpl_uint256_bits(number) + 3) / 4;
    if (digits == 0) digits = 1;
    memcpy(out, "0x", 2);
    for (unsigned i = 0; i < digits; i++) {
        unsigned at = digits - 1 - i;
        out[2 + i] = "0123456789abcdef"[number.limb[at / 8] >> 4 * (at % 8) & 15];
    }
    out[2 + digits] = 0;
    return 2 + digits;
}

size_t mpl_uint256_units(char out[MPL_UINT256_TEXT], mpl_uint256 number, unsigned decimals) {
    char digits[MPL_UINT256_TEXT];
    size_t length = mpl_uint256_decimal(digits, number), at = 0;
    if (length <= decimals) {
        size_t zeros = decimals + 1 - length;
        memmove(digits + zeros, digits, length);
        memset(digits, '0', zeros);
        length += zeros;
    }
    size_t whole = length - decimals;
    memcpy(out, digits, whole);
    at = whole;
    while (length > whole && digits[length - 1] == '0') length--;
    if (length > whole) {
        out[at++] = '.';
        memcpy(out + at, digits + whole, length - whole);
        at += length - whole;
    }
    out[at] = 0;
    return at;
}

/* -- From text -------------------------------------------------------------*/

static void multiply_add(mpl_uint256 *number, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (size_t i = 0; i < 8; i++) {
        carry += (uint64_t)number->limb[i] * factor;
        number->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

bool mpl_uint256_from_decimal(mpl_uint256 *out, moonplan_text text) {
    /* The length is looked at before the digits: a million of them cost nothing. */
    if (text.length > 78 || !mpl_decimal(text) || !mpl_decimal_fits_256(text)) return false;
    *out = mpl_uint256_of(0);
    for (size_t i = 0; i < text.length; i++) multiply_add(out, 10, (uint32_t)(text.bytes[i] - '0'));
    return true;
}

bool mpl_int256_from_decimal(mpl_uint256 *out, moonplan_text text) {
    bool minus = text.length > 0 && text.bytes[0] == '-';
    if (minus) text = (moonplan_text){text.bytes + 1, text.length - 1};
    if (!mpl_uint256_from_decimal(out, text)) return false;
    if (!minus) return !mpl_uint256_negative(*out);
    bool zero = mpl_uint256_is_zero(*out);
    *out = mpl_uint256_negate(*out);
    return !zero && mpl_uint256_negative(*out);
}

bool mpl_uint256_from_hex(mpl_uint256 *out, moonplan_text text) {
    if (text.length < 3 || text.length > 66 || text.bytes[0] != '0' || text.bytes[1] != 'x')
        return false;
    if (text.bytes[2] == '0' && text.length > 3) return false;
    *out = mpl_uint256_of(0);
    for (size_t i = 2; i < text.length; i++) {
        char digit = text.bytes[i];
        uint32_t value;
        if (digit >= '0' && digit <= '9')
            value = (uint32_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            value = (uint32_t)(digit - 'a') + 10;
        else if (digit >= 'A' && digit <= 'F')
            value = (uint32_t)(digit - 'A') + 10;
        else
            return false;
        multiply_add(out, 16, value);
    }
    return true;
}
