#include "amount.h"

#include <string.h>

#include "text.h"

/* How many decimals a unit has, or what is wrong with it. */
static const char *unit_decimals(unsigned *out, moonplan_text unit, int decimals) {
    bool native = true;
    if (mpl_text_is(unit, "ether"))
        *out = 18;
    else if (mpl_text_is(unit, "gwei"))
        *out = 9;
    else if (mpl_text_is(unit, "wei"))
        *out = 0;
    else if (mpl_text_is(unit, "tokens") || mpl_text_is(unit, "token"))
        native = false;
    else
        return "has a unit that there is not; there are: wei, gwei, ether, tokens";
    if (native && decimals == MPL_DECIMALS_UNSAID)
        return "is in a unit of ether, and what is counted here are tokens, whose decimals are not "
               "known: count base units, or give their decimals and say tokens";
    if (native && decimals != MPL_DECIMALS_UNKNOWN && decimals != 18)
        return "is in a unit of ether, but what is counted here has other decimals: say tokens";
    if (native) return NULL;
    if (decimals < 0) return "is in tokens, whose decimals are not known here: count base units";
    *out = (unsigned)decimals;
    return NULL;
}

static const char too_large[] = "is 2^256 or more";

/* The digits before and behind the point as one number, with zeros up to `decimals`. */
static const char *scale(mpl_uint256 *out, moonplan_text whole, moonplan_text part,
                         unsigned decimals) {
    char digits[78];
    while (part.length > 0 && part.bytes[part.length - 1] == '0') part.length--;
    if (part.length > decimals) return "has more decimals than its unit";
    if (whole.length == 1 && whole.bytes[0] == '0') whole.length = 0;
    size_t length = whole.length + decimals;
    if (whole.length > 78) return too_large;
    memset(digits, '0', sizeof digits);
    if (length > sizeof digits) return too_large;
    memcpy(digits, whole.bytes, whole.length);
    memcpy(digits + whole.length, part.bytes, part.length);
    size_t zeros = 0;
    while (zeros < length && digits[zeros] == '0') zeros++;
    moonplan_text text = {digits + zeros, length - zeros};
    if (text.length == 0) text = MOONPLAN_TEXT("0");
    return mpl_uint256_from_decimal(out, text) ? NULL : too_large;
}

static size_t count_digits(moonplan_text text) {
    size_t count = 0;
    while (count < text.length && text.bytes[count] >= '0' && text.bytes[count] <= '9') count++;
    return count;
}

const char *mpl_amount_read(mpl_uint256 *out, moonplan_text text, int decimals) {
    static const char none[] =
        "is neither an integer nor a number with a unit, as \"1.5 ether\" is";
    unsigned digits = 0;
    moonplan_text whole = {text.bytes, count_digits(text)}, part = {text.bytes, 0};
    moonplan_text rest = {text.bytes + whole.length, text.length - whole.length};
    if (text.length > 0 && text.bytes[0] == '-') return "is below zero, or no number";
    if (!mpl_decimal(whole)) return none;
    if (rest.length > 0 && rest.bytes[0] == '.') {
        part = (moonplan_text){rest.bytes + 1, rest.length - 1};
        part.length = count_digits(part);
        rest = (moonplan_text){part.bytes + part.length, rest.length - 1 - part.length};
        if (part.length == 0) return none;
        if (rest.length == 0)
            return "has a fraction and no unit; say which: wei, gwei, ether, tokens";
    }
    if (rest.length > 0) {
        if (rest.bytes[0] != ' ') return none;
        moonplan_text unit = {rest.bytes + 1, rest.length - 1};
        const char *fault = unit_decimals(&digits, unit, decimals);
        if (fault) return fault;
    }
    return scale(out, whole, part, digits);
}
