#include "number.h"

#include <string.h>

#include "text.h"

/* Steele and White's free-format algorithm with exact integers ("How to Print Floating-Point
 * Numbers Accurately", 1990). Its price is a few big multiplications a digit, most of them one or
 * two words long; what it buys is that there are no tables and nothing to be wrong in them. */

/* 2^1074 * 10 and the like: 1,100 bits and some carry. */
#define WORDS 38

typedef struct big {
    uint32_t words[WORDS];
    size_t count;
} big;

static void big_set(big *number, uint64_t value) {
    number->words[0] = (uint32_t)value;
    number->words[1] = (uint32_t)(value >> 32);
    number->count = value >> 32 ? 2 : value ? 1 : 0;
}

static void big_times(big *number, uint32_t factor) {
    uint64_t carry = 0;
    for (size_t i = 0; i < number->count; i++) {
        carry += (uint64_t)number->words[i] * factor;
        number->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) number->words[number->count++] = (uint32_t)carry;
}

static void big_shift(big *number, unsigned bits) {
    size_t words = bits / 32;
    if (number->count == 0) return;
    memmove(number->words + words, number->words, number->count * sizeof *number->words);
    memset(number->words, 0, words * sizeof *number->words);
    number->count += words;
    if (bits % 32) big_times(number, (uint32_t)1 << bits % 32);
}

static int big_compare(const big *a, const big *b) {
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (size_t i = a->count; i > 0; i--)
        if (a->words[i - 1] != b->words[i - 1]) return a->words[i - 1] < b->words[i - 1] ? -1 : 1;
    return 0;
}

static void big_add(big *sum, const big *a, const big *b) {
    uint64_t carry = 0;
    size_t count = a->count > b->count ? a->count : b->count;
    for (size_t i = 0; i < count; i++) {
        carry += i < a->count ? a->words[i] : 0;
        carry += i < b->count ? b->words[i] : 0;
        sum->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) sum->words[count++] = (uint32_t)carry;
    sum->count = count;
}

static void big_subtract(big *a, const big *b) {
    uint64_t borrow = 0;
    for (size_t i = 0; i < a->count; i++) {
        uint64_t taken = (i < b->count ? b->words[i] : 0) + borrow;
        borrow = a->words[i] < taken;
        a->words[i] = (uint32_t)(a->words[i] - taken);
    }
    while (a->count && a->words[a->count - 1] == 0) a->count--;
}

/* The digits of a positive double and the power of ten of the first. */
static size_t shortest(char digits[18], int *exponent, uint64_t mantissa, int power, bool edge) {
    /* number = r / s; the half-way points to its neighbours are low and high away, over s. */
    big r, s, low, high, sum;
    bool even = mantissa % 2 == 0;
    big_set(&r, mantissa);
    big_set(&s, 1);
    big_set(&low, 1);
    unsigned scale = edge ? 2 : 1; /* at a power of two the lower neighbour is half as far */
    if (power >= 0) {
        big_shift(&low, (unsigned)power);
        big_shift(&r, (unsigned)power);
    } else {
        big_shift(&s, (unsigned)-power);
    }
    big_shift(&r, scale);
    big_shift(&s, scale);
    high = low;
    if (edge) big_shift(&high, 1);
    int tens = 0;
    /* Bring r / s into [1/10, 1), counting the half-way point above as the number's own. */
    for (;;) {
        big_add(&sum, &r, &high);
        int order = big_compare(&sum, &s);
        if (order < 0 || (order == 0 && !even)) break;
        big_times(&s, 10);
        tens++;
    }
    for (;;) {
        big_add(&sum, &r, &high);
        big_times(&sum, 10);
        int order = big_compare(&sum, &s);
        if (order > 0 || (order == 0 && even)) break;
        big_times(&r, 10);
        big_times(&low, 10);
        big_times(&high, 10);
        tens--;
    }
    size_t count = 0;
    for (;;) {
        big_times(&r, 10);
        big_times(&low, 10);
        big_times(&high, 10);
        int digit = 0;
        while (big_compare(&r, &s) >= 0) {
            big_subtract(&r, &s);
            digit++;
        }
        int below = big_compare(&r, &low);
        big_add(&sum, &r, &high);
        int above = big_compare(&sum, &s);
        bool near_low = below < 0 || (below == 0 && even);
        bool near_high = above > 0 || (above == 0 && even);
        if (!near_low && !near_high) {
            digits[count++] = (char)('0' + digit);
            continue;
        }
        if (near_high) {
            big_add(&sum, &r, &r);
            if (!near_low || big_compare(&sum, &s) >= 0) digit++;
        }
        digits[count++] = (char)('0' + digit);
        break;
    }
    *exponent = tens - 1;
    return count;
}

size_t mpl_double_write(char out[32], double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    size_t length = 0;
    if (bits >> 63) out[length++] = '-';
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7ff);
    if (biased == 0 && fraction == 0) {
        memcpy(out + length, "0.0", 3);
        return length + 3;
    }
    char digits[18];
    int exponent;
    size_t count = biased ? shortest(digits, &exponent, fraction | (uint64_t)1 << 52, biased - 1075,
                                     fraction == 0 && biased > 1)
                          : shortest(digits, &exponent, fraction, -1074, false);
    if (exponent >= -5 && exponent < 17) {
        if (exponent < 0) {
            memcpy(out + length, "0.0000", 6);
            length += (size_t)(1 - exponent);
            memcpy(out + length, digits, count);
            return length + count;
        }
        size_t whole = (size_t)exponent + 1;
        for (size_t i = 0; i < whole; i++) out[length++] = i < count ? digits[i] : '0';
        out[length++] = '.';
        if (count <= whole) out[length++] = '0';
        for (size_t i = whole; i < count; i++) out[length++] = digits[i];
        return length;
    }
    out[length++] = digits[0];
    if (count > 1) {
        out[length++] = '.';
        memcpy(out + length, digits + 1, count - 1);
        length += count - 1;
    }
    out[length++] = 'e';
    return length + mpl_integer_write(out + length, exponent);
}
