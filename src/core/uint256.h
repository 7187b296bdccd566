/* 256-bit integers: what the EVM counts with. */
#ifndef MPL_CORE_UINT256_H
#define MPL_CORE_UINT256_H

#include "../moonplan.h"

/* 32 bits a limb, the least significant first. Signed numbers are two's complement. */
typedef struct mpl_uint256 {
    uint32_t limb[8];
} mpl_uint256;

mpl_uint256 mpl_uint256_of(uint64_t number);
/* 2^bits, bits below 256. */
mpl_uint256 mpl_uint256_power(unsigned bits);
/* An EVM word: 32 bytes, the most significant first. */
mpl_uint256 mpl_uint256_read(const uint8_t word[32]);
void mpl_uint256_write(uint8_t word[32], mpl_uint256 number);

int mpl_uint256_order(mpl_uint256 a, mpl_uint256 b);
bool mpl_uint256_is_zero(mpl_uint256 number);
/* Bits up to the highest one that is set; 0 for 0. */
unsigned mpl_uint256_bits(mpl_uint256 number);
bool mpl_uint256_negative(mpl_uint256 number);
/* Modulo 2^256. */
mpl_uint256 mpl_uint256_negate(mpl_uint256 number);
/* False if the sum is 2^256 or more; *sum is what is left of it then. */
bool mpl_uint256_add(mpl_uint256 *sum, mpl_uint256 number);
/* False if the difference is below zero. */
bool mpl_uint256_subtract(mpl_uint256 *difference, mpl_uint256 number);
/* False if the product is 2^256 or more. */
bool mpl_uint256_multiply(mpl_uint256 *product, mpl_uint256 number);
/* Rounded down; the divisor is not zero. */
void mpl_uint256_divide(mpl_uint256 *quotient, mpl_uint256 divisor);
/* False if it is 2^64 or more. */
bool mpl_uint256_small(mpl_uint256 number, uint64_t *out);
/* True for the numbers from -2^(bits-1) to 2^(bits-1)-1. */
bool mpl_int256_fits(mpl_uint256 number, unsigned bits);

/* Room for any of the texts below, the NUL behind them included. */
#define MPL_UINT256_TEXT 84

/* Canonical decimals, unsigned and signed. They return the length. */
size_t mpl_uint256_decimal(char out[MPL_UINT256_TEXT], mpl_uint256 number);
size_t mpl_int256_decimal(char out[MPL_UINT256_TEXT], mpl_uint256 number);
/* 0x and hexadecimal digits without needless zeros: an Ethereum JSON-RPC quantity (EIP-1474). */
size_t mpl_uint256_hex(char out[MPL_UINT256_TEXT], mpl_uint256 number);
/* The number divided by 10^decimals, exactly, without zeros at the end: 1500 and 3 give 1.5.
 * decimals is at most 77. */
size_t mpl_uint256_units(char out[MPL_UINT256_TEXT], mpl_uint256 number, unsigned decimals);

/* The other way: false unless the text is exactly such a number in range. */
bool mpl_uint256_from_decimal(mpl_uint256 *out, moonplan_text text);
bool mpl_int256_from_decimal(mpl_uint256 *out, moonplan_text text);
/* Digits in either case. */
bool mpl_uint256_from_hex(mpl_uint256 *out, moonplan_text text);

#endif
