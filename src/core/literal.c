#include "literal.h"

#include <string.h>

static const char *digits(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at;
}

mpl_literal mpl_literal_kind(moonplan_text literal) {
    const char *at = literal.bytes, *end = literal.bytes + literal.length;
    bool negative = at < end && *at == '-', integer = true;
    const char *whole = at + negative, *part;
    at = digits(whole, end);
    size_t count = (size_t)(at - whole);
    if (count == 0 || (count > 1 && *whole == '0')) return MPL_LITERAL_NONE;
    if (at < end && *at == '.') {
        integer = false;
        part = ++at;
        at = digits(part, end);
        if (at == part) return MPL_LITERAL_NONE;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        integer = false;
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        part = at;
        at = digits(part, end);
        if (at == part) return MPL_LITERAL_NONE;
    }
    if (at < end) return MPL_LITERAL_NONE;
    if (!integer || count > 19 || (negative && *whole == '0')) return MPL_LITERAL_NUMBER;
    if (count == 19 &&
        memcmp(whole, negative ? "9223372036854775808" : "9223372036854775807", 19) > 0)
        return MPL_LITERAL_NUMBER;
    return MPL_LITERAL_INTEGER;
}

/* A number as 0.DIGITS * 10^exponent. The first digit is not 0; `digit` and `end` still have the
 * point between them. No digits: zero. */
typedef struct decimal {
    bool negative;
    const char *digit, *end;
    int64_t exponent;
} decimal;

#define EXPONENT_MOST 100000000000000000

static decimal decimal_of(moonplan_text literal) {
    const char *at = literal.bytes, *end = literal.bytes + literal.length;
    decimal number = {.negative = at < end && *at == '-'};
    if (number.negative) at++;
    const char *mantissa = at;
    while (at < end && *at != 'e' && *at != 'E') at++;
    number.digit = mantissa;
    number.end = at;
    const char *point = memchr(mantissa, '.', (size_t)(at - mantissa));
    number.exponent = (point ? point : at) - mantissa;
    for (; number.digit < at && (*number.digit == '0' || *number.digit == '.'); number.digit++)
        if (*number.digit == '0') number.exponent--;
    if (at == end) return number;
    bool minus = *++at == '-';
    if (*at == '-' || *at == '+') at++;
    int64_t power = 0;
    for (; at < end; at++) {
        power = power * 10 + (*at - '0');
        if (power > EXPONENT_MOST) power = EXPONENT_MOST;
    }
    number.exponent += minus ? -power : power;
    return number;
}

static bool is_zero(const decimal *number) {
    return number->digit == number->end;
}

/* The next digit; zeros behind the last. */
static int digit(decimal *number) {
    if (number->digit < number->end && *number->digit == '.') number->digit++;
    return number->digit < number->end ? *number->digit++ - '0' : 0;
}

static int magnitude_order(decimal a, decimal b) {
    if (is_zero(&a) || is_zero(&b)) return is_zero(&b) - is_zero(&a);
    if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
    while (a.digit < a.end || b.digit < b.end) {
        int x = digit(&a), y = digit(&b);
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

int mpl_literal_order(moonplan_text a, moonplan_text b) {
    decimal x = decimal_of(a), y = decimal_of(b);
    int sign_x = is_zero(&x) ? 0 : x.negative ? -1 : 1;
    int sign_y = is_zero(&y) ? 0 : y.negative ? -1 : 1;
    if (sign_x != sign_y) return sign_x < sign_y ? -1 : 1;
    return sign_x < 0 ? magnitude_order(y, x) : magnitude_order(x, y);
}

bool mpl_literal_is_integer(moonplan_text literal) {
    for (size_t i = 0; i < literal.length; i++)
        if (literal.bytes[i] == '.' || literal.bytes[i] == 'e' || literal.bytes[i] == 'E')
            return false;
    return !(literal.length == 2 && memcmp(literal.bytes, "-0", 2) == 0);
}

bool mpl_literal_is_finite(moonplan_text literal) {
    /* 2^1024 - 2^970, half way between the largest double and what would come next: from here on
     * rounding to nearest, ties to even, gives infinity (IEEE 754-2019, 4.3.1). */
    static const char edge[] =
        "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901"
        "79775872070963302864166928879109465555478519404026306574886715058206819089020007083836762"
        "73854845817711531764475730270069855571366959622842914819860834936475292719074168444365510"
        "704342711559699508093042880177904174497792";
    decimal number = decimal_of(literal);
    return magnitude_order(number, decimal_of((moonplan_text){edge, sizeof edge - 1})) < 0;
}
