/* The parameters of builders where memory is short, and the arithmetic under amounts. What they
 * take and refuse is asserted in spec/lua/builder_spec.lua. Links the static library. */
#include <stdio.h>
#include <string.h>

#include "../../src/call/params.h"
#include "../../src/core/amount.h"
#include "../../src/core/text.h"
#include "check.h"

/* -- Memory -------------------------------------------------------------------*/

static const char declared[] =
    "{\"chain\":{\"type\":\"chain\",\"required\":true},"
    "\"to\":{\"type\":\"address\",\"required\":true},"
    "\"amount\":{\"type\":\"amount\",\"decimals\":\"d\",\"min\":1,\"max\":\"1000000000\"},"
    "\"d\":{\"type\":\"number\",\"integer\":true,\"enum\":[6,18]},"
    "\"data\":{\"type\":\"bytes\",\"max_length\":4},"
    "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"fields\":{"
    "\"n\":{\"type\":\"uint256\",\"required\":true},\"s\":{\"type\":\"string\"}}}}}";

static const char right[] =
    "{\"chain\":\"eip155:10\",\"to\":\"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\","
    "\"amount\":\"2.5 tokens\",\"d\":6,\"data\":\"0xABCD\","
    "\"list\":[{\"n\":5,\"s\":\"\\u00e9\"},{\"n\":\"7\"}]}";
static const char made[] =
    "{\"chain\":\"10\",\"to\":\"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed\","
    "\"amount\":\"2500000\",\"d\":6,\"data\":\"0xabcd\","
    "\"list\":[{\"n\":\"5\",\"s\":\"\xc3\xa9\"},{\"n\":\"7\"}]}";

static const char wrong[] = "{\"chain\":0,\"amount\":\"2.5\",\"d\":7,\"data\":\"0xABCDABCDAB\","
                            "\"list\":[{\"n\":-5,\"s\":1},{}],\"x\":1}";

typedef enum answer { NO_MEMORY, REFUSED, TAKEN } answer;

/* With memory that fails at the n-th request, once or from there on; 0: never. */
static answer play(counter *count, const char *given, size_t fail_at, bool on) {
    moonplan_options options, plain;
    moonplan_error err = {.code = MOONPLAN_OK};
    moonplan_error_list *errors = NULL;
    counter_options(&options, count);
    moonplan_options_init(&plain);
    moonplan_document *schema = moonplan_document_parse(declared, strlen(declared), &plain, &err);
    moonplan_document *input = moonplan_document_parse(given, strlen(given), &plain, &err);
    options.errors = &errors;
    count->fail_at = fail_at;
    count->fail_on = on;
    answer out = NO_MEMORY;
    moonplan_document *taken = NULL;
    mpl_params *params = mpl_params_new(moonplan_document_root(schema), &options, &err);
    if (params)
        taken =
            mpl_params_take(params, moonplan_document_root(input), text_of("b"), &options, &err);
    count->fail_at = 0;
    if (taken) {
        out = TAKEN;
        CHECK_TEXT(made, moonplan_value_source(moonplan_document_root(taken)));
        CHECK(!errors);
    } else if (err.code != MOONPLAN_MEMORY) {
        out = REFUSED;
        CHECK(err.code == MOONPLAN_BUILD_PARAM_MISSING);
        CHECK(moonplan_error_list_count(errors) == 9);
    }
    moonplan_document_free(taken);
    mpl_params_free(params);
    moonplan_error_list_free(errors);
    moonplan_document_free(schema);
    moonplan_document_free(input);
    CHECK(count->used == 0);
    CHECK(!count->wrong);
    return out;
}

static void parameters_where_any_allocation_fails(void) {
    for (int i = 0; i < 2; i++) {
        const char *given = i ? wrong : right;
        answer expected = i ? REFUSED : TAKEN;
        counter count;
        CHECK(play(&count, given, 0, false) == expected);
        size_t calls = count.calls, failures = 0;
        CHECK(calls > 5);
        for (size_t n = 1; n <= calls; n++) {
            /* A block that cannot shrink is no failure. */
            answer once = play(&count, given, n, false), from_there = play(&count, given, n, true);
            CHECK(once == NO_MEMORY || once == expected);
            CHECK(from_there == NO_MEMORY || from_there == expected);
            failures += once == NO_MEMORY;
        }
        CHECK(failures > 0);
    }
}

/* -- Arithmetic ----------------------------------------------------------------*/

static mpl_uint256 number(const char *digits) {
    mpl_uint256 out;
    CHECK(mpl_uint256_from_decimal(&out, text_of(digits)));
    return out;
}

static void is(const char *expected, mpl_uint256 found) {
    char digits[MPL_UINT256_TEXT];
    size_t length = mpl_uint256_decimal(digits, found);
    CHECK_TEXT(expected, ((moonplan_text){digits, length}));
}

#define MOST   "115792089237316195423570985008687907853269984665640564039457584007913129639935"
#define HALF_1 "340282366920938463463374607431768211455" /* 2^128 - 1 */
#define HALF   "340282366920938463463374607431768211456" /* 2^128 */

/* (2^128 - 1)^2 = 2^256 - 2^129 + 1, and so on: worked out with Python's integers. */
static void products_quotients_and_differences(void) {
    mpl_uint256 n = number(HALF_1);
    CHECK(mpl_uint256_multiply(&n, n));
    is("115792089237316195423570985008687907852589419931798687112530834793049593217025", n);
    mpl_uint256_divide(&n, number(HALF_1));
    is(HALF_1, n);
    n = number(HALF);
    CHECK(!mpl_uint256_multiply(&n, n));
    n = number(MOST);
    CHECK(!mpl_uint256_multiply(&n, number("2")));
    n = number(MOST);
    CHECK(mpl_uint256_multiply(&n, number("1")));
    is(MOST, n);
    mpl_uint256_divide(&n, number(HALF));
    is(HALF_1, n);
    n = number(MOST);
    mpl_uint256_divide(&n, number("10000"));
    is("11579208923731619542357098500868790785326998466564056403945758400791312963", n);
    n = number(MOST);
    mpl_uint256_divide(&n, number(MOST));
    is("1", n);
    n = number("5");
    mpl_uint256_divide(&n, number(MOST));
    is("0", n);
    n = number("0");
    CHECK(!mpl_uint256_subtract(&n, number("1")));
    n = number(MOST);
    CHECK(mpl_uint256_subtract(&n, number(HALF)));
    is("115792089237316195423570985008687907852929702298719625575994209400481361428479", n);
}

/* Quotient times divisor plus rest is the dividend, and the rest is smaller. */
static void divisions_of_random_numbers(void) {
    uint64_t state = 8410;
    for (int round = 0; round < 5000; round++) {
        mpl_uint256 a, b;
        for (size_t i = 0; i < 8; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            a.limb[i] = (uint32_t)(state >> 32);
            state = state * 6364136223846793005u + 1442695040888963407u;
            b.limb[i] = (int)i > round % 8 ? 0 : (uint32_t)(state >> 32);
        }
        if (mpl_uint256_is_zero(b)) continue;
        mpl_uint256 quotient = a;
        mpl_uint256_divide(&quotient, b);
        mpl_uint256 back = quotient;
        CHECK(mpl_uint256_multiply(&back, b));
        mpl_uint256 rest = a;
        CHECK(mpl_uint256_subtract(&rest, back));
        CHECK(mpl_uint256_order(rest, b) < 0);
    }
}

int main(void) {
    RUN(parameters_where_any_allocation_fails);
    RUN(products_quotients_and_differences);
    RUN(divisions_of_random_numbers);
    return check_end();
}
