/* What no door of the library shows yet, or shows only in part: Keccak in pieces, canonical text,
 * doubles as text, documents that are built, texts made visible. Links the static library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/build.h"
#include "../../src/core/json_write.h"
#include "../../src/core/keccak.h"
#include "../../src/core/number.h"
#include "../../src/core/text.h"
#include "check.h"
#include "samples.h"

/* -- Keccak -------------------------------------------------------------------*/

static void keccak_in_pieces_is_keccak_at_once(void) {
    uint8_t bytes[700], whole[32], pieces[32];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random_next();
    for (int round = 0; round < 2000; round++) {
        size_t length = random_below(sizeof bytes + 1);
        moonplan_keccak256(whole, bytes, length);
        mpl_keccak keccak;
        mpl_keccak_open(&keccak);
        for (size_t at = 0; at < length;) {
            static const size_t most[] = {1, 8, 135, 136, 137, 300};
            size_t step = 1 + random_below(most[random_below(6)]);
            if (step > length - at) step = length - at;
            mpl_keccak_add(&keccak, bytes + at, step);
            mpl_keccak_add(&keccak, bytes, 0);
            at += step;
        }
        mpl_keccak_finish(&keccak, pieces);
        CHECK(memcmp(whole, pieces, 32) == 0);
    }
}

/* -- Canonical text -----------------------------------------------------------*/

/* The canonical text of a JSON text; the caller frees it. */
static char *canonical(const char *json) {
    moonplan_error err;
    moonplan_document *document = moonplan_document_parse(json, strlen(json), NULL, &err);
    if (!document) {
        printf("# %s: %s\n", json, err.message);
        abort();
    }
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer out;
    mpl_buffer_open(&out, &alloc);
    mpl_write_canonical(&out, moonplan_document_root(document));
    mpl_buffer_byte(&out, 0);
    CHECK(!out.failed);
    char *copy = malloc(out.length);
    memcpy(copy, out.bytes, out.length);
    mpl_buffer_close(&out);
    CHECK(alloc.used == 0);
    moonplan_document_free(document);
    return copy;
}

static void canonical_is(const char *expected, const char *json) {
    char *text = canonical(json);
    if (!check(strcmp(expected, text) == 0, __FILE__, __LINE__, json))
        printf("# expected %s, got %s\n", expected, text);
    free(text);
}

static void canonical_text(void) {
    canonical_is("{\"\":[],\"a\":{},\"b\":[true,false,null,\"\"]}",
                 " { \"b\" : [ true , false , null , \"\" ] , \"\" : [ ] , \"\\u0061\" : { } } ");
    canonical_is(
        "\"\\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\xc3\xa9\"",
        "\"\\u0022\\u005c\\/\\u0008\\u0009\\u000a\\u000c\\u000d\\u0000\\u001F\\u007f\\u00e9\"");
    /* By bytes U+E000 comes before U+1F600, by UTF-16 units it would come after it
     * (github.com/nlohmann/json/issues/5297). A prefix comes first; case counts. */
    canonical_is(
        "{\"A\":5,\"a\":1,\"a\\u0000\":2,\"aa\":3,\"\xee\x80\x80\":4,\"\xf0\x9f\x98\x80\":0}",
        "{\"\\ud83d\\ude00\":0,\"a\":1,\"a\\u0000\":2,\"aa\":3,\"\\ue000\":4,\"A\":5}");
    for (int n = 1; n < 60; n++) {
        sample shuffled = {NULL, 0, 0}, sorted = {NULL, 0, 0};
        sample_add(&shuffled, "[{");
        sample_add(&sorted, "[{");
        for (int i = 0; i < n; i++) {
            sample_add(&shuffled, "%s\"%02d\":[\"%d\"]", i ? "," : "", i * 37 % n, i * 37 % n);
            sample_add(&sorted, "%s\"%02d\":[\"%d\"]", i ? "," : "", i, i);
        }
        sample_add(&shuffled, "},{}]");
        sample_add(&sorted, "},{}]");
        if (n != 37) canonical_is(sorted.bytes, shuffled.bytes);
        sample_free(&shuffled);
        sample_free(&sorted);
    }
}

static void equal_numbers_have_one_text(void) {
    /* Every row is one number. */
    static const char *const rows[][10] = {
        {"0", "-0", "0.0", "0e5", "-0.000e-99", "0e99999999999999999999999"},
        {"1", "1.0", "1e0", "10e-1", "0.1e1", "1E+0", "0.001e3", "1000.000E-0003"},
        {"-1", "-1.0", "-10e-1"},
        {"100", "1e2", "100.0", "1.00e2", "0.1e3", "10000e-2"},
        {"12.5", "125e-1", "1.25e1", "0.0125e003"},
        {"0.001", "1e-3", "0.1e-2", "100e-5"},
        {"1e400", "10e399", "0.1e401", "1E400"},
        {"1e999999999999999999", "0.1e1000000000000000000", "10e999999999999999998"},
        {"1e1000000000000000000", "10e999999999999999999", "100e999999999999999998"},
        {"1e-1000000000000000000", "0.1e-999999999999999999", "10e-1000000000000000001"},
        {"1e9223372036854775808", "10e9223372036854775807", "0.01e9223372036854775810"},
        {"1e-9223372036854775809", "0.1e-9223372036854775808", "1000e-9223372036854775812"},
        {"1e99999999999999999999999", "0.1e100000000000000000000000"},
        {"1e100000000000000000000000", "10e99999999999999999999999"},
        {"18446744073709551616", "18446744073709551616.0", "1844674407370955161.6e1"},
        {"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
        {"1.0000000000000000000000000001", "10000000000000000000000000001e-28"}};
    enum { ROWS = sizeof rows / sizeof *rows };
    char *texts[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        texts[i] = canonical(rows[i][0]);
        for (size_t j = 1; j < 10 && rows[i][j]; j++) canonical_is(texts[i], rows[i][j]);
        canonical_is(texts[i], texts[i]); /* it is JSON, and its own canonical text */
        for (size_t j = 0; j < i; j++) CHECK(strcmp(texts[i], texts[j]) != 0);
    }
    for (size_t i = 0; i < ROWS; i++) free(texts[i]);
}

/* A number, its digits shifted by some places and its exponent by as many the other way. */
static void shifted_numbers_have_one_text(void) {
    for (int round = 0; round < 3000; round++) {
        char digits[24];
        size_t count = 1 + random_below(20);
        for (size_t i = 0; i < count; i++) digits[i] = (char)('0' + random_below(10));
        digits[0] = (char)('1' + random_below(9));
        digits[count] = 0;
        long long power = (long long)random_below(61) - 30;
        if (round % 3 == 0) power *= 100000000000000000;
        const char *sign = round % 2 ? "-" : "";
        char plain[96], point[96], shifted[96];
        snprintf(plain, sizeof plain, "%s%se%lld", sign, digits, power);
        size_t whole = random_below(count);
        snprintf(point, sizeof point, "%s%.*s.%s00E%+lld", sign, (int)(whole ? whole : 1),
                 whole ? digits : "0", digits + whole, power + (long long)(count - whole));
        snprintf(shifted, sizeof shifted, "%s0.00%se%lld", sign, digits,
                 power + (long long)count + 2);
        char *text = canonical(plain);
        canonical_is(text, point);
        canonical_is(text, shifted);
        digits[count - 1] = digits[count - 1] == '9' ? '8' : (char)(digits[count - 1] + 1);
        snprintf(plain, sizeof plain, "%s%se%lld", sign, digits, power);
        char *other = canonical(plain);
        CHECK(strcmp(text, other) != 0);
        free(other);
        free(text);
    }
}

/* -- Doubles ------------------------------------------------------------------*/

static uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* The C library is the judge: the text reads back as the same double, and no literal with fewer
 * digits does. Its locale is "C" here. */
static void double_is_shortest(double number) {
    char out[40];
    size_t length = mpl_double_write(out, number);
    CHECK(length <= 25);
    out[length] = 0;
    CHECK(strpbrk(out, ".e") != NULL);
    if (!check(bits_of(strtod(out, NULL)) == bits_of(number), __FILE__, __LINE__, out)) return;
    int digits = 0;
    bool leading = true;
    size_t trailing = 0;
    for (const char *at = out; *at && *at != 'e'; at++) {
        if (*at < '0' || *at > '9') continue;
        if (*at != '0') leading = false;
        if (leading) continue;
        digits++;
        trailing = *at == '0' ? trailing + 1 : 0;
    }
    digits -= (int)trailing;
    if (digits > 1) {
        char shorter[40];
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, number);
        check(strtod(shorter, NULL) != number, __FILE__, __LINE__, out);
    }
    /* It is JSON. */
    moonplan_document *document = moonplan_document_parse(out, length, NULL, NULL);
    CHECK(document != NULL);
    if (document) CHECK(moonplan_value_type(moonplan_document_root(document)) == MOONPLAN_NUMBER);
    moonplan_document_free(document);
}

static void doubles(void) {
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0.0, "0.0"},
                 {-0.0, "-0.0"},
                 {1.0, "1.0"},
                 {1000.0, "1000.0"},
                 {0.1, "0.1"},
                 {-2.5, "-2.5"},
                 {1e23, "1e23"},
                 {5e-324, "5e-324"},
                 {1e-7, "1e-7"},
                 {1.7976931348623157e308, "1.7976931348623157e308"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308"},
                 {9007199254740993.0, "9007199254740992.0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[32];
        size_t length = mpl_double_write(out, cases[i].number);
        CHECK_TEXT(cases[i].text, ((moonplan_text){out, length}));
        double_is_shortest(cases[i].number);
    }
    for (int i = -1074; i <= 1023; i++) {
        double power = ldexp(1.0, i);
        double_is_shortest(power);
        double_is_shortest(-nextafter(power, 0.0));
        double_is_shortest(nextafter(power, INFINITY));
    }
    for (int i = -323; i <= 308; i++) {
        char literal[16];
        snprintf(literal, sizeof literal, "1e%d", i);
        double_is_shortest(strtod(literal, NULL));
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_next();
        double number;
        memcpy(&number, &bits, sizeof number);
        if (isfinite(number)) double_is_shortest(number);
        double_is_shortest((double)(bits >> 40) / 1000.0);
    }
}

/* -- Building -----------------------------------------------------------------*/

/* A built document is like the one that is read from its text. */
static void same_documents(const moonplan_document *built) {
    moonplan_text text = moonplan_value_source(moonplan_document_root(built));
    moonplan_error err;
    moonplan_document *read = moonplan_document_parse(text.bytes, text.length, NULL, &err);
    CHECK(read != NULL);
    if (!read) return;
    CHECK(read->node_count == built->node_count);
    for (size_t i = 0; i < read->node_count && i < built->node_count; i++) {
        if (read->nodes[i].type == MPL_TABLE) continue;
        CHECK(read->nodes[i].type == built->nodes[i].type);
        CHECK(read->nodes[i].start == built->nodes[i].start);
        CHECK(read->nodes[i].length == built->nodes[i].length);
        moonplan_text one = moonplan_value_string(mpl_value(read, i));
        moonplan_text other = moonplan_value_string(mpl_value(built, i));
        CHECK(mpl_text_equal(one, other));
    }
    moonplan_document_free(read);
}

/* The text is on the move while names that stand in it are a refusal's place. */
static void a_refusal_names_its_place(void) {
    mpl_builder builder;
    moonplan_options options;
    moonplan_options_init(&options);
    options.limits.depth = 40;
    mpl_build_open(&builder, &options);
    for (int i = 0; i < 41; i++) {
        mpl_build_object(&builder);
        mpl_build_name(&builder, text_of("a name of some length"));
    }
    moonplan_error err;
    CHECK(mpl_build_finish(&builder, &err) == NULL);
    CHECK(err.code == MOONPLAN_JSON_DEPTH);
    CHECK(strncmp(err.at, "/a name of some length/a name of some length/", 45) == 0);
}

static void documents_are_built(void) {
    mpl_builder builder;
    mpl_build_open(&builder, NULL);
    mpl_build_object(&builder);
    mpl_build_name(&builder, text_of("a\"\n"));
    mpl_build_array(&builder);
    mpl_build_null(&builder);
    mpl_build_boolean(&builder, true);
    mpl_build_boolean(&builder, false);
    mpl_build_integer(&builder, INT64_MIN);
    mpl_build_integer(&builder, INT64_MAX);
    mpl_build_integer(&builder, 0);
    mpl_build_number(&builder, text_of("1e400"));
    mpl_build_double(&builder, 0.5);
    mpl_build_string(&builder, text_of(""));
    mpl_build_string(&builder, (moonplan_text){"\0\x1f", 2});
    mpl_build_array(&builder);
    mpl_build_end(&builder);
    mpl_build_object(&builder);
    mpl_build_end(&builder);
    mpl_build_end(&builder);
    mpl_build_name(&builder, text_of(""));
    mpl_build_object(&builder);
    for (int i = 0; i < 30; i++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", i);
        mpl_build_name(&builder, text_of(name));
        mpl_build_integer(&builder, i);
    }
    mpl_build_end(&builder);
    mpl_build_end(&builder);
    moonplan_error err;
    moonplan_document *built = mpl_build_finish(&builder, &err);
    CHECK(built != NULL);
    if (!built) return;
    moonplan_text text = moonplan_value_source(moonplan_document_root(built));
    static const char expected[] =
        "{\"a\\\"\\n\":[null,true,false,-9223372036854775808,9223372036854775807,0,1e400,0.5,\"\","
        "\"\\u0000\\u001f\",[],{}],\"\":{\"k0\":0,";
    CHECK(text.length > sizeof expected && memcmp(text.bytes, expected, sizeof expected - 1) == 0);
    same_documents(built);
    CHECK_TEXT("29", moonplan_value_source(moonplan_document_at(built, "//k29", 5)));
    moonplan_document_free(built);
}

static const char members_18[] =
    "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"k\":11,"
    "\"l\":12,\"m\":13,\"n\":14,\"o\":15,\"p\":16,\"q\":{\"x\":[\"\\n\"]},\"r\":18}";

static void documents_are_copied(void) {
    static const char *const texts[] = {"1",
                                        "\"\\u0061\"",
                                        "[]",
                                        "{}",
                                        "[[[]],{\"a\":[{}]}]",
                                        "{\"a\":{\"b\":{\"c\":[1,2,[3]]}},\"d\":1.50}",
                                        "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
                                        "[[],1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
                                        members_18};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        moonplan_document *read = moonplan_document_parse(texts[i], strlen(texts[i]), NULL, NULL);
        mpl_builder builder;
        mpl_build_open(&builder, NULL);
        mpl_build_array(&builder);
        mpl_build_value(&builder, moonplan_document_root(read));
        mpl_build_value(&builder, moonplan_document_root(read));
        mpl_build_end(&builder);
        moonplan_document *built = mpl_build_finish(&builder, NULL);
        CHECK(built != NULL);
        if (built) {
            same_documents(built);
            char *one = canonical(texts[i]);
            sample both = {NULL, 0, 0};
            sample_add(&both, "[%s,%s]", one, one);
            moonplan_text source = moonplan_value_source(moonplan_document_root(built));
            char *copy = malloc(source.length + 1);
            memcpy(copy, source.bytes, source.length);
            copy[source.length] = 0;
            canonical_is(both.bytes, copy);
            free(copy);
            free(one);
            sample_free(&both);
        }
        moonplan_document_free(built);
        moonplan_document_free(read);
    }
}

static moonplan_code build_code(moonplan_options *options, int what) {
    mpl_builder builder;
    mpl_build_open(&builder, options);
    if (what == 0) {
        for (int i = 0; i < 129; i++) mpl_build_array(&builder);
    } else if (what == 1) {
        mpl_build_array(&builder);
        for (int i = 0; i < 10; i++) mpl_build_null(&builder);
        mpl_build_end(&builder);
    } else {
        mpl_build_object(&builder);
        mpl_build_name(&builder, text_of("a"));
        mpl_build_string(&builder, text_of("text\n"));
        mpl_build_name(&builder, text_of(what == 2 ? "a" : "b"));
        mpl_build_double(&builder, 1.0);
        mpl_build_end(&builder);
    }
    moonplan_error err = {.code = MOONPLAN_OK};
    moonplan_document *built = mpl_build_finish(&builder, &err);
    CHECK((built == NULL) == (err.code != MOONPLAN_OK));
    moonplan_document_free(built);
    return err.code;
}

static void building_is_refused(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    CHECK(build_code(&options, 0) == MOONPLAN_JSON_DEPTH);
    options.limits.values = 10;
    CHECK(build_code(&options, 1) == MOONPLAN_LIMIT);
    options.limits.values = 11;
    CHECK(build_code(&options, 1) == MOONPLAN_OK);
    CHECK(build_code(&options, 2) == MOONPLAN_JSON_DUPLICATE_NAME);
    CHECK(build_code(&options, 3) == MOONPLAN_OK);
}

static void building_survives_failed_allocations(void) {
    for (int what = 1; what < 4; what++) {
        counter count;
        moonplan_options options;
        counter_options(&options, &count);
        moonplan_code code = build_code(&options, what);
        size_t calls = count.calls;
        for (size_t n = 1; n <= calls; n++) {
            for (int on = 0; on < 2; on++) {
                counter_options(&options, &count);
                count.fail_at = n;
                count.fail_on = on;
                moonplan_code got = build_code(&options, what);
                CHECK(got == code || got == MOONPLAN_MEMORY);
                CHECK(count.used == 0 && count.blocks == 0 && !count.wrong);
            }
        }
    }
}

static void canonical_text_survives_failed_allocations(void) {
    static const char json[] = "{\"b\":[1e30,{\"d\":1,\"c\":\"\\n\"}],\"a\":{\"z\":[],\"y\":{}}}";
    moonplan_document *document = moonplan_document_parse(json, sizeof json - 1, NULL, NULL);
    size_t calls = 1;
    for (size_t n = 0; n <= calls; n++) {
        for (int on = 0; on < 2; on++) {
            counter count;
            moonplan_options options;
            counter_options(&options, &count);
            count.fail_at = n;
            count.fail_on = on;
            mpl_alloc alloc = mpl_alloc_of(&options);
            mpl_buffer out;
            mpl_buffer_open(&out, &alloc);
            mpl_write_canonical(&out, moonplan_document_root(document));
            CHECK(out.failed == (n != 0));
            mpl_buffer_close(&out);
            CHECK(count.used == 0 && count.blocks == 0 && !count.wrong);
            if (n == 0) calls = count.calls;
        }
    }
    moonplan_document_free(document);
}

/* -- Texts --------------------------------------------------------------------*/

static void utf8_is_rfc_3629(void) {
    /* Every code point there is, and none of the surrogates. */
    for (uint32_t point = 0; point <= 0x110010; point++) {
        char bytes[4];
        bool scalar = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        if (point > 0x10ffff) {
            memcpy(bytes, "\xf4\x90\x80", 3);
            bytes[3] = (char)(0x80 | (point & 0x3f));
        } else {
            mpl_utf8_encode(bytes, point);
        }
        size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        uint32_t back = 0;
        size_t got = mpl_utf8(bytes, bytes + length, &back);
        CHECK(got == (scalar ? length : 0));
        if (scalar) CHECK(back == point);
        if (length > 1) CHECK(mpl_utf8(bytes, bytes + length - 1, NULL) == 0);
    }
    CHECK(mpl_utf8("", "", NULL) == 0);
}

static void decimals_and_hexadecimals(void) {
    CHECK(mpl_decimal(text_of("0")) && mpl_decimal(text_of("10")) && mpl_decimal(text_of("9")));
    CHECK(!mpl_decimal(text_of("")) && !mpl_decimal(text_of("00")) && !mpl_decimal(text_of("01")));
    CHECK(!mpl_decimal(text_of("1a")) && !mpl_decimal(text_of("-1")) &&
          !mpl_decimal(text_of("1\n")));
    CHECK(!mpl_decimal((moonplan_text){"1\0", 2}));
    /* 2^256 - 1 and its neighbours, from `python3 -c "print(2**256)"`. */
    static const char *const largest =
        "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    CHECK(mpl_decimal_fits_256(text_of(largest)));
    CHECK(mpl_decimal_fits_256(
        text_of("115792089237316195423570985008687907853269984665640564039457584007913129639934")));
    CHECK(!mpl_decimal_fits_256(
        text_of("115792089237316195423570985008687907853269984665640564039457584007913129639936")));
    CHECK(!mpl_decimal_fits_256(
        text_of("200000000000000000000000000000000000000000000000000000000000000000000000000000")));
    CHECK(!mpl_decimal_fits_256(text_of(
        "1000000000000000000000000000000000000000000000000000000000000000000000000000000")));
    for (int byte = 0; byte < 256; byte++) {
        char text[40] = "0x0123456789abcdef0123456789abcdef";
        bool digit = byte && strchr("0123456789abcdef", byte);
        bool upper = byte && strchr("ABCDEF", byte);
        for (size_t at = 2; at < 34; at++) {
            char kept = text[at];
            text[at] = (char)byte;
            mpl_hex hex = mpl_hex_scan((moonplan_text){text, 34});
            CHECK(hex == (digit ? MPL_HEX_LOWER : upper ? MPL_HEX_MIXED : MPL_HEX_NO));
            text[at] = kept;
        }
    }
    CHECK(mpl_hex_scan(text_of("0x")) == MPL_HEX_LOWER);
    CHECK(mpl_hex_scan(text_of("0x0")) == MPL_HEX_NO);
    CHECK(mpl_hex_scan(text_of("0X00")) == MPL_HEX_NO);
    CHECK(mpl_hex_scan(text_of("")) == MPL_HEX_NO);
    CHECK(mpl_hex_scan(text_of("00")) == MPL_HEX_NO);
    CHECK(mpl_hex_scan(text_of("x0")) == MPL_HEX_NO);
}

static void quote_is(const char *expected, moonplan_text text, size_t room) {
    char out[256];
    memset(out, '#', sizeof out);
    size_t length = mpl_quote(out, room, text);
    CHECK(length <= room);
    CHECK(out[room] == '#'); /* nothing is written behind the room */
    CHECK_TEXT(expected, ((moonplan_text){out, length}));
}

static void untrusted_text_is_made_visible(void) {
    quote_is("\"plain \xc3\xa9 \xf0\x9f\x98\x80\"", text_of("plain \xc3\xa9 \xf0\x9f\x98\x80"), 96);
    quote_is("\"\\\"\\\\\"", text_of("\"\\"), 96);
    quote_is("\"\\u{1b}[0m\\u{d}\\u{a}\\u{7f}\\u{85}\"", text_of("\x1b[0m\r\n\x7f\xc2\x85"), 96);
    quote_is("\"a\\u{0}b\"", (moonplan_text){"a\0b", 3}, 96);
    /* Right-to-left override, isolates, zero width space, byte order mark, soft hyphen, line
     * separator, tag letter, variation selector, interlinear anchor. */
    quote_is(
        "\"\\u{202e}\\u{2066}\\u{200b}\\u{feff}\\u{ad}\\u{2028}\\u{e0041}\\u{fe0f}\\u{fff9}\"",
        text_of(
            "\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf\xc2\xad\xe2\x80\xa8\xf3\xa0\x81\x81"
            "\xef\xb8\x8f\xef\xbf\xb9"),
        96);
    quote_is("\"\\xff\\xc3\\xed\\xa0\\x80\"", text_of("\xff\xc3\xed\xa0\x80"), 96);
    quote_is("\"\"", text_of(""), 16);
    quote_is("\"\"", (moonplan_text){NULL, 0}, 16);
    quote_is("\"abcdefghijk\xe2\x80\xa6\"", text_of("abcdefghijklmnopqrstuvwxyz"), 16);
    for (int kind = 0; kind < 4; kind++) {
        static const char *const pieces[] = {"x", "\xf0\x9f\x98\x80", "\xe2\x80\xae", "\xff"};
        sample long_text = {NULL, 0, 0};
        sample_repeat(&long_text, pieces[kind], 200);
        for (size_t room = 16; room < 200; room++) {
            char out[256];
            memset(out, '#', sizeof out);
            size_t length =
                mpl_quote(out, room, (moonplan_text){long_text.bytes, long_text.length});
            CHECK(length <= room && length + 12 >= room && out[length - 1] == '"');
            for (size_t i = length; i < sizeof out; i++) CHECK(out[i] == '#');
            /* The cut falls between two characters. */
            for (const char *at = out; at < out + length;) {
                size_t step = mpl_utf8(at, out + length, NULL);
                if (!CHECK(step > 0)) break;
                at += step;
            }
        }
        sample_free(&long_text);
    }
}

/* The characters that a terminal obeys or hides, one by one. */
static void hidden_characters(void) {
    for (uint32_t point = 0; point < 0x20; point++) CHECK(mpl_is_hidden(point));
    for (uint32_t point = 0x7f; point < 0xa0; point++) CHECK(mpl_is_hidden(point));
    /* Unicode's Bidi_Control. */
    static const uint32_t bidi[] = {0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c,
                                    0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069};
    for (size_t i = 0; i < sizeof bidi / sizeof *bidi; i++) CHECK(mpl_is_hidden(bidi[i]));
    /* The ends of ranges of Default_Ignorable_Code_Point. */
    static const uint32_t ignorable[] = {
        0x00ad,  0x034f,  0x115f,  0x1160,  0x17b4,  0x17b5,  0x180b,  0x180f,  0x200b,  0x200d,
        0x2060,  0x2064,  0x206f,  0x3164,  0xfe00,  0xfe0f,  0xfeff,  0xffa0,  0xfff0,  0xfff8,
        0x1bca0, 0x1bca3, 0x1d173, 0x1d17a, 0xe0000, 0xe0001, 0xe007f, 0xe0100, 0xe01ef, 0xe0fff};
    for (size_t i = 0; i < sizeof ignorable / sizeof *ignorable; i++)
        check(mpl_is_hidden(ignorable[i]), __FILE__, __LINE__, "a default-ignorable character");
    static const uint32_t seen[] = {0x20,  0x41,   0x7e,   0xa1,   0xe9,    0x3b1,   0x5d0,
                                    0x627, 0x4e2d, 0x20ac, 0xfffd, 0x1f600, 0x20000, 0x30000};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) CHECK(!mpl_is_hidden(seen[i]));
}

static void messages_are_bounded_and_visible(void) {
    char name[3000];
    for (size_t i = 0; i < sizeof name; i++) name[i] = i % 2 ? '\x1b' : '\x07';
    sample plan = plan_with("");
    plan.length--;
    sample_add(&plan, ",\"");
    for (size_t i = 0; i < sizeof name; i++) sample_add(&plan, "\\u%04x", (unsigned)name[i]);
    sample_add(&plan, "\":1}");
    moonplan_error err;
    CHECK(!moonplan_call_plan_parse(plan.bytes, plan.length, NULL, &err));
    CHECK(err.code == MOONPLAN_CALL_UNKNOWN_MEMBER);
    for (const char *at = err.message; *at; at++) CHECK((unsigned char)*at >= 0x20);
    CHECK(strlen(err.message) < sizeof err.message);
    CHECK(err.at_length <= 256 + 3);
    CHECK(memcmp(err.at + err.at_length - 3, "\xe2\x80\xa6", 3) == 0);
    sample_free(&plan);
}

int main(void) {
    RUN(keccak_in_pieces_is_keccak_at_once);
    RUN(canonical_text);
    RUN(equal_numbers_have_one_text);
    RUN(shifted_numbers_have_one_text);
    RUN(doubles);
    RUN(a_refusal_names_its_place);
    RUN(documents_are_built);
    RUN(documents_are_copied);
    RUN(building_is_refused);
    RUN(building_survives_failed_allocations);
    RUN(canonical_text_survives_failed_allocations);
    RUN(utf8_is_rfc_3629);
    RUN(decimals_and_hexadecimals);
    RUN(untrusted_text_is_made_visible);
    RUN(hidden_characters);
    RUN(messages_are_bounded_and_visible);
    return check_end();
}
