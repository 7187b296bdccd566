/* Contract ABI: encoding, decoding, signatures, reverts; and 256-bit numbers.
 *
 * Expected encodings are those printed in the Solidity documentation, "Contract ABI Specification",
 * sections "Examples", "Use of Dynamic Types" and "Errors"; selectors are the published ones of the
 * standards named beside them; the rest is written out by hand from the rules, word by word. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/call/eip55.h"
#include "../../src/core/uint256.h"
#include "check.h"
#include "samples.h"

#define ZERO    "00000000000000000000000000000000000000000000000000000000000000"
#define W(byte) ZERO byte /* a word that is a small number */

/* -- Encoding and decoding in one line ------------------------------------------*/

static unsigned nibble(char digit) {
    return (unsigned)(digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
}

typedef struct bytes {
    uint8_t *bytes;
    size_t length;
} bytes;

static bytes unhex(const char *digits) {
    bytes out = {malloc(strlen(digits) / 2 + 1), strlen(digits) / 2};
    if (!out.bytes) abort();
    for (size_t i = 0; i < out.length; i++)
        out.bytes[i] = (uint8_t)(nibble(digits[2 * i]) << 4 | nibble(digits[2 * i + 1]));
    return out;
}

static bool to_hex(void *data, const char *piece, size_t length) {
    sample *out = data;
    for (size_t i = 0; i < length; i++) sample_add(out, "%02x", (unsigned char)piece[i]);
    return true;
}

static moonplan_abi *abi_of(const char *text) {
    moonplan_error err;
    moonplan_abi *abi = moonplan_abi_parse(text, strlen(text), NULL, &err);
    if (!abi) printf("# %s: %s\n", text, err.message);
    return abi;
}

static moonplan_document *json(const char *text) {
    moonplan_error err;
    moonplan_document *document = moonplan_document_parse(text, strlen(text), NULL, &err);
    if (!document) printf("# %s: %s\n", text, err.message);
    return document;
}

/* Digits of the encoding, or the code of the error. */
static sample encode(const char *signature, const char *arguments, moonplan_error *err) {
    sample out = {NULL, 0, 0};
    moonplan_abi *abi = abi_of(signature);
    moonplan_document *values = json(arguments);
    if (abi && values &&
        !moonplan_abi_encode(moonplan_abi_at(abi, 0), to_hex, &out, moonplan_document_root(values),
                             NULL, err))
        sample_add(&out, "%s", moonplan_code_name(err->code));
    else
        sample_add(&out, "%s", "");
    moonplan_document_free(values);
    moonplan_abi_free(abi);
    return out;
}

static void encodes(const char *signature, const char *arguments, const char *expected) {
    moonplan_error err;
    sample out = encode(signature, arguments, &err);
    CHECK_TEXT(expected, ((moonplan_text){out.bytes, out.length}));
    sample_free(&out);
}

/* The arguments' document and the notes' codes, or the code of the error and its place. */
static sample decode(const char *signature, const char *digits, bool strict) {
    sample out = {NULL, 0, 0};
    moonplan_error err;
    moonplan_abi *abi = abi_of(signature);
    bytes data = unhex(digits);
    moonplan_abi_data *made =
        moonplan_abi_decode(moonplan_abi_at(abi, 0), data.bytes, data.length, strict, NULL, &err);
    free(data.bytes);
    if (made) {
        moonplan_document *document = moonplan_abi_data_document(made, NULL, NULL);
        moonplan_text source = moonplan_value_source(moonplan_document_root(document));
        sample_add(&out, "%.*s", (int)source.length, source.bytes);
        for (size_t i = 0; i < moonplan_abi_data_note_count(made); i++) {
            const moonplan_error *note = moonplan_abi_data_note(made, i);
            sample_add(&out, " %s%s%s@%zu", moonplan_code_name(note->code),
                       note->at_length ? ":" : "", note->at, note->offset);
        }
        moonplan_document_free(document);
    } else {
        sample_add(&out, "%s:%s@%zu", moonplan_code_name(err.code), err.at, err.offset);
    }
    moonplan_abi_data_free(made);
    moonplan_abi_free(abi);
    return out;
}

static void decodes(const char *signature, const char *digits, const char *expected) {
    sample out = decode(signature, digits, false);
    CHECK_TEXT(expected, ((moonplan_text){out.bytes, out.length}));
    sample_free(&out);
}

/* -- What the specification prints ------------------------------------------------*/

static const struct {
    const char *signature, *arguments, *encoding;
} printed[] = {
    {"baz(uint32,bool)", "[\"69\",true]", "cdcd77c0" W("45") W("01")},
    {"bar(bytes3[2])", "[[\"0x616263\",\"0x646566\"]]",
     "fce353f6"
     "6162630000000000000000000000000000000000000000000000000000000000"
     "6465660000000000000000000000000000000000000000000000000000000000"},
    {"sam(bytes,bool,uint256[])", "[\"0x64617665\",true,[\"1\",\"2\",\"3\"]]",
     "a5643bf2" W("60") W("01") W("a0")
         W("04") "6461766500000000000000000000000000000000000000000000000000000000" W("03") W("01")
             W("02") W("03")},
    {"f(uint256,uint32[],bytes10,bytes)",
     "[\"291\",[\"1110\",\"1929\"],\"0x31323334353637383930\",\"0x48656c6c6f2c20776f726c6421\"]",
     "8be65246"
     "0000000000000000000000000000000000000000000000000000000000000123" W(
         "80") "3132333435363738393000000000000000000000000000000000000000000000" W("e0")
         W("02") "0000000000000000000000000000000000000000000000000000000000000456"
                 "0000000000000000000000000000000000000000000000000000000000000789" W(
                     "0d") "48656c6c6f2c20776f726c642100000000000000000000000000000000000000"},
    {"g(uint256[][],string[])", "[[[\"1\",\"2\"],[\"3\"]],[\"one\",\"two\",\"three\"]]",
     "2289b18c" W("40") "0000000000000000000000000000000000000000000000000000000000000140" W("02")
         W("40") W("a0") W("02") W("01") W("02") W("01") W("03") W("03") W("60") W("a0") W("e0") W(
             "03") "6f6e650000000000000000000000000000000000000000000000000000000"
                   "000" W("03") "74776f00000000000000000000000000000000000000000"
                                 "00000000000000000" W("05") "7468726565000000000000000000000000000"
                                                             "000000000000000000000000000"},
};

static void test_specification(void) {
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        encodes(printed[i].signature, printed[i].arguments, printed[i].encoding);
        sample out = decode(printed[i].signature, printed[i].encoding, true);
        CHECK_TEXT(printed[i].arguments, ((moonplan_text){out.bytes, out.length}));
        sample_free(&out);
    }
}

static void test_selectors(void) {
    /* Published with the standards and contracts that they belong to. */
    static const struct {
        const char *signature, *selector;
    } known[] = {{"transfer(address,uint256)", "a9059cbb"}, /* ERC-20 */
                 {"approve(address,uint256)", "095ea7b3"},
                 {"transferFrom(address,address,uint256)", "23b872dd"},
                 {"setApprovalForAll(address,bool)", "a22cb465"}, /* ERC-721 */
                 {"safeTransferFrom(address,address,uint256,bytes)", "b88d4fde"},
                 {"safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)",
                  "2eb2c2d6"}, /* ERC-1155 */
                 {"permit(address,address,uint256,uint256,uint8,bytes32,bytes32)",
                  "d505accf"}, /* ERC-2612 */
                 {"error Error(string)", "08c379a0"},
                 {"error Panic(uint256)", "4e487b71"},
                 {"error InsufficientBalance(uint256 available, uint256 required)", "cf479181"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        moonplan_abi *abi = abi_of(known[i].signature);
        bytes selector = unhex(known[i].selector);
        CHECK(memcmp(moonplan_abi_at(abi, 0)->selector, selector.bytes, 4) == 0);
        free(selector.bytes);
        moonplan_abi_free(abi);
    }
}

/* -- Values ----------------------------------------------------------------------*/

#define MAX256 "115792089237316195423570985008687907853269984665640564039457584007913129639935"
#define MAX255 "57896044618658097711785492504343953926634992332820282019728792003956564819967"
#define MIN256 "-57896044618658097711785492504343953926634992332820282019728792003956564819968"
#define ONES   "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define WORD_F ONES "ff"

static void test_values(void) {
    encodes("(uint256)", "[\"" MAX256 "\"]", WORD_F);
    encodes("(uint256)", "[" MAX256 "]", WORD_F); /* a literal is as exact as a string */
    encodes("(int256)", "[\"" MIN256 "\"]",
            "8000000000000000000000000000000000000000000000000000000000000000");
    encodes("(int256)", "[-1]", WORD_F);
    encodes("(int8)", "[\"-128\"]", ONES "80");
    encodes("(uint8)", "[255]", W("ff"));
    encodes("(address)", "[\"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\"]",
            "0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed");
    encodes("(function)", "[\"0x000102030405060708090a0b0c0d0e0f1011121314151617\"]",
            "000102030405060708090a0b0c0d0e0f10111213141516170000000000000000");
    encodes("()", "[]", "");
    encodes("f()", "{}", "26121ff0");
    encodes("((uint8 a,(bool b,bytes c) d) e,string f)",
            "{\"f\":\"x\",\"e\":{\"a\":1,\"d\":{\"c\":\"0x01\",\"b\":true}}}",
            W("40") "0000000000000000000000000000000000000000000000000000000000000100" W("01")
                W("40") W("01") W("40")
                    W("01") "0100000000000000000000000000000000000000000000000000000000000000" W(
                        "01") "7800000000000000000000000000000000000000000000000000000000000000");
    encodes("(string)", "[{\"hex\":\"0xff00\"}]",
            W("20") W("02") "ff00000000000000000000000000000000000000000000000000000000000000");
    decodes("(string)",
            W("20") W("02") "ff00000000000000000000000000000000000000000000000000000000000000",
            "[{\"hex\":\"0xff00\"}]");
}

static void refuses(const char *signature, const char *arguments, const char *at) {
    moonplan_error err;
    sample out = encode(signature, arguments, &err);
    bool right = strcmp(out.bytes, "abi.value") == 0 && strcmp(err.at, at) == 0;
    if (!right) printf("# %s of %s: %s at %s\n", signature, arguments, out.bytes, err.at);
    CHECK(right);
    sample_free(&out);
}

static void test_values_refused(void) {
    static const char *const wrong[][2] = {
        {"(uint8)", "256"},
        {"(uint8)", "-1"},
        {"(uint8)", "\"-0\""},
        {"(uint8)", "-0"},
        {"(uint8)", "1.0"},
        {"(uint8)", "1e2"},
        {"(uint8)", "\"01\""},
        {"(uint8)", "\"\""},
        {"(uint8)", "\"0x1\""},
        {"(uint8)", "\" 1\""},
        {"(uint8)", "true"},
        {"(uint8)", "null"},
        {"(int8)", "128"},
        {"(int8)", "\"-129\""},
        {"(int8)", "\"-\""},
        {"(int8)", "\"--1\""},
        {"(uint256)",
         "115792089237316195423570985008687907853269984665640564039457584007913129639936"},
        {"(bool)", "1"},
        {"(bool)", "\"true\""},
        {"(address)", "\"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae\""},
        {"(address)", "\"0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed\""}, /* one letter's case */
        {"(address)", "\"5aaeb6053f3e94c9b9a09f33669435e7ef1beaed\""},
        {"(bytes4)", "\"0x010203\""},
        {"(bytes4)", "\"0x0102030405\""},
        {"(bytes)", "\"0x0\""},
        {"(bytes)", "\"0xgg\""},
        {"(string)", "1"},
        {"(string)", "{\"hex\":\"0x0\",\"more\":1}"},
        {"(uint8[])", "\"\""},
        {"(uint8[2])", "[1]"},
        {"(uint8[2])", "[1,2,3]"},
        {"((uint8 a,uint8 b))", "{\"a\":1}"},
        {"((uint8 a,uint8))", "{\"a\":1}"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sample arguments = {NULL, 0, 0};
        sample_add(&arguments, "[%s]", wrong[i][1]);
        refuses(wrong[i][0], arguments.bytes, "/0");
        sample_free(&arguments);
    }
    refuses("(uint8[])", "[[1,2,256]]", "/0/2");
    refuses("((uint8 a,uint8 b) c)", "{\"c\":{\"a\":1,\"b\":2,\"d\":3}}", "/c/d");
    refuses("(uint8)", "[]", "");
    /* A million digits are refused by their number. */
    sample digits = {NULL, 0, 0};
    sample_add(&digits, "[\"");
    sample_repeat(&digits, "1", 1000000);
    sample_add(&digits, "\"]");
    refuses("(uint256)", digits.bytes, "/0");
    sample_free(&digits);
}

/* -- Hostile data ------------------------------------------------------------------*/

#define BIG_50  "0000000000000000000000000000000000000000000000000004000000000000"
#define BIG_63  "0000000000000000000000000000000000000000000000008000000000000000"
#define BIG_64  "0000000000000000000000000000000000000000000000010000000000000000"
#define BIG_255 "8000000000000000000000000000000000000000000000000000000000000000"

static void test_hostile(void) {
    static const char *const lengths[] = {BIG_50, BIG_63, BIG_64, BIG_255, WORD_F};
    static const char *const arrays[] = {"(uint256[])", "(bytes[])", "(uint8[2][])", "(string[][])",
                                         "((uint8,bytes)[])"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        sample data = {NULL, 0, 0};
        sample_add(&data, W("20") "%s" W("00") W("00"), lengths[i]);
        for (size_t j = 0; j < sizeof arrays / sizeof *arrays; j++)
            decodes(arrays[j], data.bytes, "abi.length:/0@32");
        decodes("(bytes)", data.bytes, "abi.length:/0@32");
        decodes("(string)", data.bytes, "abi.length:/0@32");
        sample_free(&data);
        sample_add(&data, "%s" W("00") W("00"), lengths[i]);
        decodes("(bytes)", data.bytes, "abi.offset:/0@0");
        decodes("((bytes,uint8))", data.bytes, "abi.offset:/0@0");
        sample_free(&data);
    }
    decodes("(uint256)", "", "abi.length:@0");
    decodes("(uint256)", "00", "abi.length:@0");
    decodes("(uint256,uint256)", W("01") ZERO, "abi.length:@0");
    decodes("(uint256[999999999])", W("01"), "abi.length:@0");
    decodes("(uint256[999999999][999999999][999999999])", W("01"), "abi.length:@0");
    decodes("(bytes)", W("20"), "abi.length:/0@32");
    decodes("(bytes)", W("20") W("21") WORD_F, "abi.length:/0@32");
    /* An offset that leads back to itself reads the offset as a length. */
    decodes("(bytes)", W("00"), "[\"0x\"] abi.offset:/0@0");
    decodes("(bytes[])", W("00") W("00"), "[[]] abi.offset:/0@0 abi.trailing@32");
    /* Elements without a size are counted all the same. */
    decodes("(()[])", W("20") BIG_50, "abi.budget:/0@64");
    decodes("(()[999999999])", "", "abi.budget:/0@0");
    decodes("f(uint8)", "00000000" W("01"), "abi.selector:@0");
    decodes("f(uint8)", "0000", "abi.selector:@0");
}

/* Every level an array whose offsets all lead to the next: 128^6 values in 25 KB. */
static void test_inflation(void) {
    moonplan_options options;
    counter count;
    moonplan_error err;
    sample data = {NULL, 0, 0};
    sample_add(&data, W("20"));
    for (int level = 0; level < 6; level++) {
        sample_add(&data, "%064x", 128);
        for (int i = 0; i < 128; i++) sample_add(&data, "%064x", 128 * 32);
    }
    sample_add(&data, W("00"));
    counter_options(&options, &count);
    bytes raw = unhex(data.bytes);
    moonplan_abi *abi = abi_of("(bytes[][][][][][])");
    moonplan_abi_data *made =
        moonplan_abi_decode(moonplan_abi_at(abi, 0), raw.bytes, raw.length, false, &options, &err);
    CHECK(!made && err.code == MOONPLAN_ABI_BUDGET);
    CHECK(count.peak < 1000000);
    CHECK(count.used == 0);
    moonplan_abi_free(abi);
    free(raw.bytes);
    sample_free(&data);
    /* 3000 strings that are all the same 3000 bytes: 3097 words of a type two levels deep may yield
     * 3098 * 3 + 64 words; after 3001 for the array 67 strings of 94 words fit. */
    sample_add(&data, W("20") "%064x", 3000);
    for (int i = 0; i < 3000; i++) sample_add(&data, "%064x", 3000 * 32);
    sample_add(&data, "%064x", 3000);
    sample_repeat(&data, WORD_F, 94);
    decodes("(string[])", data.bytes, "abi.budget:/0/67@96064");
    sample_free(&data);
    /* Two that share one content are nothing to fear, and noted. */
    decodes("(bytes,bytes)", W("40") W("40") W("01") "ff" ZERO,
            "[\"0xff\",\"0xff\"] abi.offset:/1@32");
}

static void test_limit(void) {
    moonplan_options options;
    moonplan_error err;
    bytes raw = unhex(W("20") W("04") W("01") W("02") W("03") W("04"));
    moonplan_abi *abi = abi_of("(uint8[])");
    moonplan_options_init(&options);
    options.limits.abi_words = 5; /* the array and its elements */
    moonplan_abi_data *data =
        moonplan_abi_decode(moonplan_abi_at(abi, 0), raw.bytes, raw.length, true, &options, &err);
    CHECK(data != NULL);
    moonplan_abi_data_free(data);
    options.limits.abi_words = 4;
    data =
        moonplan_abi_decode(moonplan_abi_at(abi, 0), raw.bytes, raw.length, true, &options, &err);
    CHECK(!data && err.code == MOONPLAN_LIMIT);
    moonplan_abi_free(abi);
    free(raw.bytes);
}

static void test_notes(void) {
    static const struct {
        const char *signature, *data, *lenient, *strict;
    } cases[] = {
        {"(uint8)", "000000000000000000000000000000000000000000000000000000000000ff01",
         "[\"1\"] abi.padding:/0@0", "abi.padding:/0@0"},
        {"(int8)", W("ff"), "[\"-1\"] abi.padding:/0@0", "abi.padding:/0@0"},
        {"(bool)", W("02"), "[true] abi.padding:/0@0", "abi.padding:/0@0"},
        {"(bool)", "01" ZERO, "[true] abi.padding:/0@0", "abi.padding:/0@0"},
        {"(address)", "0100000000000000000000002222222222222222222222222222222222222222",
         "[\"0x2222222222222222222222222222222222222222\"] abi.padding:/0@0", "abi.padding:/0@0"},
        {"(bytes4)", "1234567811111111111111111111111111111111111111111111111111111111",
         "[\"0x12345678\"] abi.padding:/0@0", "abi.padding:/0@0"},
        {"(function)", "000102030405060708090a0b0c0d0e0f10111213141516170000000000000001",
         "[\"0x000102030405060708090a0b0c0d0e0f1011121314151617\"] abi.padding:/0@0",
         "abi.padding:/0@0"},
        {"(bytes)", W("20") W("01") "ff" ZERO, "[\"0xff\"]", "[\"0xff\"]"},
        {"(bytes)",
         W("20") W("01") "ff"
                         "01000000000000000000000000000000000000000000000000000000000000",
         "[\"0xff\"] abi.padding:/0@65", "abi.padding:/0@65"},
        {"(bytes)", W("20") W("01") "ff", "[\"0xff\"] abi.padding:/0@65", "abi.padding:/0@65"},
        {"(uint8)", W("01") "00", "[\"1\"] abi.trailing@32", "abi.trailing:@32"},
        {"(bytes)", W("40") W("00") W("00"), "[\"0x\"] abi.offset:/0@0", "abi.offset:/0@0"},
        /* Swapped, and one inside the other. */
        {"(bytes a,bytes b)",
         W("60") W("40") W("01")
             W("02") "0102000000000000000000000000000000000000000000000000000000000000",
         "{\"a\":\"0x0102\",\"b\":\"0x00\"} abi.offset:/a@0 abi.offset:/b@32 abi.padding:/b@97",
         "abi.offset:/a@0"},
        {"f(uint8)", "5eafe5ec" W("01"), "abi.selector:@0", "abi.selector:@0"},
        {"approve(address,uint8)",
         "79e38f6e"
         "0000000000000000000000002222222222222222222222222222222222222222" W("01") "ff",
         "abi.selector:@0", "abi.selector:@0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        decodes(cases[i].signature, cases[i].data, cases[i].lenient);
        sample out = decode(cases[i].signature, cases[i].data, true);
        CHECK_TEXT(cases[i].strict, ((moonplan_text){out.bytes, out.length}));
        sample_free(&out);
    }
    /* Offsets count from the selector. */
    decodes("approve(address,uint256)",
            "095ea7b3"
            "0100000000000000000000002222222222222222222222222222222222222222" W("01") "00",
            "[\"0x2222222222222222222222222222222222222222\",\"1\"] abi.padding:/0@4 "
            "abi.trailing@68");
}

/* -- Signatures and fragments --------------------------------------------------------*/

static void test_signatures(void) {
    static const char *const same[][2] = {
        {" transfer ( address  to , uint256 amount ) ", "transfer(address,uint256)"},
        {"function f(uint8[2][] calldata x) external payable returns (bool ok, bytes);",
         "f(uint8[2][])"},
        {"f(tuple(address to, (uint8)[3] inner)[] calls)", "f((address,(uint8)[3])[])"},
        {"error(uint256)", "error(uint256)"},
        {"function(uint8)", "function(uint8)"},
        {"(bytes,function)", "(bytes,function)"},
        {"$_9()", "$_9()"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        moonplan_abi *abi = abi_of(same[i][0]);
        CHECK_TEXT(same[i][1], moonplan_abi_at(abi, 0)->signature);
        moonplan_abi_free(abi);
    }
    static const struct {
        const char *text;
        size_t offset;
    } wrong[] = {
        {"f", 1},
        {"f(", 2},
        {"f(uint8", 7},
        {"f(uint8,)", 8},
        {"f(uint)", 2},
        {"f(uint7)", 2},
        {"f(bytes33)", 2},
        {"f(bytes0)", 2},
        {"f(fixed)", 2},
        {"f(uint8[0])", 9},
        {"f(uint8[01])", 10},
        {"f(uint8[)", 8},
        {"f(uint8 9a)", 10},
        {"f(uint8 a b)", 11},
        {"9f()", 0},
        {"f() returns", 11},
        {"f() g()", 4},
        {"f()()", 3},
        {"f(uint8))", 8},
        {"f(tuple)", 7},
        {"f(\xc3\xbc)", 2},
        {"f(uint8[999999999999])", 20},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        moonplan_error err;
        moonplan_abi *abi = moonplan_abi_parse(wrong[i].text, strlen(wrong[i].text), NULL, &err);
        bool right = !abi && err.code == MOONPLAN_ABI_TYPE && err.offset == wrong[i].offset;
        if (!right)
            printf("# %s: %s, offset %zu\n", wrong[i].text, abi ? "taken" : err.message,
                   abi ? 0 : err.offset);
        CHECK(right);
        moonplan_abi_free(abi);
    }
}

static void test_depth(void) {
    moonplan_error err;
    sample text = {NULL, 0, 0};
    /* 63 arrays around a scalar, and the list of parameters around them. */
    for (size_t levels = 63; levels <= 64; levels++) {
        text.length = 0;
        sample_add(&text, "f(uint8");
        sample_repeat(&text, "[]", levels);
        sample_add(&text, ")");
        moonplan_abi *abi = moonplan_abi_parse(text.bytes, text.length, NULL, &err);
        CHECK((abi != NULL) == (levels == 63));
        moonplan_abi_free(abi);
        text.length = 0;
        sample_add(&text, "f");
        sample_repeat(&text, "(", levels + 1);
        sample_repeat(&text, ")", levels + 1);
        abi = moonplan_abi_parse(text.bytes, text.length, NULL, &err);
        CHECK((abi != NULL) == (levels == 63));
        moonplan_abi_free(abi);
    }
    text.length = 0;
    sample_add(&text, "f");
    sample_repeat(&text, "(", 1000000);
    moonplan_abi *abi = moonplan_abi_parse(text.bytes, text.length, NULL, &err);
    CHECK(!abi && err.code == MOONPLAN_ABI_TYPE);
    for (size_t count = 256; count <= 257; count++) {
        text.length = 0;
        sample_add(&text, "f(uint8");
        sample_repeat(&text, ",uint8", count - 1);
        sample_add(&text, ")");
        abi = moonplan_abi_parse(text.bytes, text.length, NULL, &err);
        CHECK((abi != NULL) == (count == 256));
        moonplan_abi_free(abi);
    }
    /* So many signatures of 4 bytes, a line end aside, fit in 2 MiB with 64 bytes for each. */
    for (size_t count = 2097152 / 68; count <= 2097152 / 68 + 1; count++) {
        text.length = 0;
        sample_repeat(&text, "fn()\n", count);
        abi = moonplan_abi_parse(text.bytes, text.length, NULL, &err);
        CHECK((abi != NULL) == (count == 2097152 / 68));
        CHECK(abi || err.code == MOONPLAN_LIMIT);
        moonplan_abi_free(abi);
    }
    sample_free(&text);
}

static void test_fragments(void) {
    static const char fragment[] =
        "{\"contractName\":\"T\",\"abi\":[{\"type\":\"constructor\",\"inputs\":[]},"
        "{\"type\":\"event\",\"name\":\"E\",\"inputs\":[]},{\"type\":\"receive\"},"
        "{\"name\":\"old\",\"inputs\":[]},"
        "{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"name\":\"s\",\"type\":\"tuple[2]\","
        "\"components\":[{\"name\":\"a b\",\"type\":\"uint8\"},{\"name\":\"b\",\"type\":\"bytes\"}]"
        "}],\"outputs\":[{\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\"},"
        "{\"type\":\"error\",\"name\":\"Gone\",\"inputs\":[{\"type\":\"string\"}]}]}";
    moonplan_error err;
    moonplan_abi *abi = moonplan_abi_parse(fragment, sizeof fragment - 1, NULL, &err);
    CHECK(abi && moonplan_abi_count(abi) == 3);
    const moonplan_abi_entry *f = moonplan_abi_by_name(abi, "f", 1);
    CHECK_TEXT("f((uint8,bytes)[2])", f->signature);
    CHECK(f->outputs.size == 1 && f->outputs.items[0].base == MOONPLAN_ABI_BOOL);
    const moonplan_abi_type *s = &f->inputs.items[0];
    CHECK_TEXT("s", s->name);
    CHECK_TEXT("(uint8,bytes)[2]", s->text);
    CHECK(s->base == MOONPLAN_ABI_ARRAY_N && s->dynamic && !s->items->named);
    CHECK(moonplan_abi_by_name(abi, "old()", 5) == moonplan_abi_at(abi, 0));
    CHECK(moonplan_abi_by_selector(abi, MOONPLAN_ABI_CALL, f->selector) == f);
    CHECK(moonplan_abi_by_selector(abi, MOONPLAN_ABI_ERROR, f->selector) == NULL);
    CHECK(moonplan_abi_by_name(abi, "Gone", 4)->kind == MOONPLAN_ABI_ERROR);
    /* What a call returned, by the outputs of the function. */
    bytes raw = unhex(W("01"));
    moonplan_abi_data *data =
        moonplan_abi_decode_outputs(f, raw.bytes, raw.length, true, NULL, &err);
    CHECK(data && moonplan_abi_data_root(data)->items[0].bytes[31] == 1);
    moonplan_abi_data_free(data);
    free(raw.bytes);
    moonplan_abi_free(abi);
    static const struct {
        const char *text, *code, *at;
    } wrong[] = {
        {"[1]", "abi.type", "/0"},
        {"[{\"type\":\"function\"}]", "abi.type", "/0"},
        {"[{\"type\":\"error\",\"name\":\"a b\",\"inputs\":[]}]", "abi.type", "/0"},
        {"[{\"type\":\"function\",\"name\":\"f\",\"inputs\":{}}]", "abi.type", "/0/inputs"},
        {"[{\"type\":\"function\",\"name\":\"f\",\"inputs\":[1]}]", "abi.type", "/0/inputs/0"},
        {"[{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"type\":\"uint\"}]}]", "abi.type",
         "/0/inputs/0"},
        {"[{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"type\":\"tuple\"}]}]", "abi.type",
         "/0/inputs/0"},
        {"[{\"type\":\"function\",\"name\":\"f\"", "json.syntax", ""},
        /* Two of one selector (a known pair of colliding names). */
        {"collate_propagate_storage(bytes16)\nburn(uint256)", "abi.selector", ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        abi = moonplan_abi_parse(wrong[i].text, strlen(wrong[i].text), NULL, &err);
        bool right =
            !abi && strcmp(moonplan_code_name(err.code), wrong[i].code) == 0 &&
            (strcmp(wrong[i].code, "json.syntax") == 0 || strcmp(err.at, wrong[i].at) == 0);
        if (!right) printf("# %s: %s\n", wrong[i].text, abi ? "taken" : err.message);
        CHECK(right);
        moonplan_abi_free(abi);
    }
    /* The same function twice is one function; an error may share a function's selector. */
    abi = abi_of("f(uint8 a)\nf(uint8 b)\nerror f(uint8)");
    CHECK(abi && moonplan_abi_at(abi, 0) == moonplan_abi_by_name(abi, "f(uint8)", 8));
    moonplan_abi_free(abi);
    abi = abi_of("f(uint8)\nf(uint16)");
    CHECK(moonplan_abi_by_name(abi, "f", 1) == NULL);
    moonplan_abi_free(abi);
}

/* -- Random values of random types ------------------------------------------------------*/

static uint32_t below(uint32_t limit) {
    return (uint32_t)random_below(limit);
}

static void random_hex(sample *out, size_t length) {
    sample_add(out, "\"0x");
    for (size_t i = 0; i < length; i++) sample_add(out, "%02x", below(256));
    sample_add(out, "\"");
}

/* An integer of at most so many bits, often one of the ends. */
static void random_integer(sample *out, unsigned bits, bool sign) {
    mpl_uint256 number = mpl_uint256_of(0);
    char text[MPL_UINT256_TEXT];
    unsigned width = bits - sign, used = below(4) ? below(width + 1) : width;
    for (unsigned i = 0; i < used; i++)
        if (below(4) || used == width) number.limb[i / 32] |= (uint32_t)1 << i % 32;
    if (sign && below(2)) {
        /* -1 - n covers the least number as well. */
        for (size_t i = 0; i < 8; i++) number.limb[i] = ~number.limb[i];
        mpl_int256_decimal(text, number);
    } else {
        mpl_uint256_decimal(text, number);
    }
    sample_add(out, "\"%s\"", text);
}

/* A type in Solidity's words, and as many values of it as asked for, each behind the other. */
static void random_type(sample *type, sample *values, size_t count, unsigned depth);

static void random_scalar(sample *type, sample *values, size_t count) {
    static const char *const strings[] = {"",
                                          "a",
                                          "dave",
                                          "\xe2\x82\xac\xf0\x9f\x8c\x99",
                                          "exactly thirty-two bytes of text",
                                          "\\\"\\n\\u0000"};
    unsigned which = below(8), size = 1 + below(32);
    bool sign = below(2);
    static const char *const names[] = {"address", "bool", "bytes", "string", "function"};
    if (which < 2)
        sample_add(type, "%s%u", sign ? "int" : "uint", 8 * size);
    else if (which == 2)
        sample_add(type, "bytes%u", size);
    else
        sample_add(type, "%s", names[which - 3]);
    for (size_t i = 0; i < count; i++) {
        if (i) sample_add(values, ",");
        switch (which) {
        case 0:
        case 1:
            random_integer(values, 8 * size, sign);
            break;
        case 2:
            random_hex(values, size);
            break;
        case 3:
            random_hex(values, 20);
            break;
        case 4:
            sample_add(values, below(2) ? "true" : "false");
            break;
        case 5:
            random_hex(values, below(70));
            break;
        case 6:
            sample_add(values, "\"%s\"", strings[below(6)]);
            break;
        default:
            random_hex(values, 24);
            break;
        }
    }
}

static void random_array(sample *type, sample *values, size_t count, unsigned depth) {
    size_t fixed = below(2) ? 1 + below(3) : 0;
    size_t lengths[64], total = 0;
    if (count > 64) count = 64;
    for (size_t i = 0; i < count; i++) total += lengths[i] = fixed ? fixed : below(4);
    sample elements = {NULL, 0, 0};
    sample_add(&elements, "%s", "");
    random_type(type, &elements, total, depth - 1);
    if (fixed)
        sample_add(type, "[%zu]", fixed);
    else
        sample_add(type, "[]");
    /* Deal the elements out: each is a JSON value, so commas at depth 0 part them. */
    const char *at = elements.bytes;
    for (size_t i = 0; i < count; i++) {
        sample_add(values, i ? ",[" : "[");
        for (size_t j = 0; j < lengths[i]; j++) {
            int level = 0;
            bool quoted = false;
            const char *start = at;
            for (; *at && (level || quoted || *at != ','); at++) {
                if (quoted && *at == '\\')
                    at++;
                else if (*at == '"')
                    quoted = !quoted;
                else if (!quoted)
                    level += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
            }
            sample_add(values, "%s%.*s", j ? "," : "", (int)(at - start), start);
            if (*at) at++;
        }
        sample_add(values, "]");
    }
    sample_free(&elements);
}

static void random_tuple(sample *type, sample *values, size_t count, unsigned depth) {
    /* Components are made for one value at a time, so all values but the first repeat it: types
     * must agree, and a repeated value is as good as another one. */
    uint32_t size = 1 + below(3);
    bool named = below(2);
    sample one = {NULL, 0, 0};
    sample_add(type, "(");
    sample_add(&one, named ? "{" : "[");
    for (uint32_t i = 0; i < size; i++) {
        if (i) sample_add(type, ",");
        if (i) sample_add(&one, ",");
        if (named) sample_add(&one, "\"n%u\":", i);
        random_type(type, &one, 1, depth - 1);
        if (named) sample_add(type, " n%u", i);
    }
    sample_add(type, ")");
    sample_add(&one, named ? "}" : "]");
    for (size_t i = 0; i < count; i++) sample_add(values, "%s%s", i ? "," : "", one.bytes);
    sample_free(&one);
}

static void random_type(sample *type, sample *values, size_t count, unsigned depth) {
    unsigned which = depth ? below(5) : 0;
    if (which < 2)
        random_scalar(type, values, count);
    else if (which < 4 && count <= 64)
        random_array(type, values, count, depth);
    else
        random_tuple(type, values, count, depth);
}

/* Whatever was done to the bytes: decoding ends, and without a note if and only if the bytes are
 * the encoding of what came out. */
static void damage(const moonplan_abi_entry *entry, bytes raw) {
    uint8_t *copy = malloc(raw.length + 40);
    if (!copy) abort();
    memcpy(copy, raw.bytes, raw.length);
    size_t length = raw.length;
    switch (below(4)) {
    case 0:
        length = below((uint32_t)length + 1);
        break;
    case 1:
        memset(copy + length, (int)below(2), 32);
        length += 1 + below(32);
        break;
    default:
        for (uint32_t i = 1 + below(3); i > 0 && length; i--)
            copy[below((uint32_t)length)] ^= (uint8_t)(1u << below(8));
        break;
    }
    moonplan_error err;
    moonplan_abi_data *lenient = moonplan_abi_decode(entry, copy, length, false, NULL, &err);
    moonplan_abi_data *strict = moonplan_abi_decode(entry, copy, length, true, NULL, &err);
    CHECK((lenient && moonplan_abi_data_note_count(lenient) == 0) == (strict != NULL));
    moonplan_abi_data_free(lenient);
    moonplan_abi_data_free(strict);
    free(copy);
}

static void round_trip(void) {
    sample type = {NULL, 0, 0}, values = {NULL, 0, 0}, digits = {NULL, 0, 0};
    moonplan_error err;
    uint32_t count = below(5);
    sample_add(&type, "(");
    sample_add(&values, "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i) sample_add(&type, ",");
        if (i) sample_add(&values, ",");
        random_type(&type, &values, 1, below(5));
    }
    sample_add(&type, ")");
    sample_add(&values, "]");
    moonplan_abi *abi = abi_of(type.bytes);
    moonplan_document *given = json(values.bytes);
    CHECK(abi && given);
    if (abi && given) {
        const moonplan_abi_entry *entry = moonplan_abi_at(abi, 0);
        sample_add(&digits, "%s", "");
        CHECK(
            moonplan_abi_encode(entry, to_hex, &digits, moonplan_document_root(given), NULL, &err));
        bytes raw = unhex(digits.bytes);
        moonplan_abi_data *data =
            moonplan_abi_decode(entry, raw.bytes, raw.length, true, NULL, &err);
        moonplan_document *back = data ? moonplan_abi_data_document(data, NULL, &err) : NULL;
        CHECK(back != NULL);
        if (back) CHECK_TEXT(values.bytes, moonplan_value_source(moonplan_document_root(back)));
        moonplan_document_free(back);
        moonplan_abi_data_free(data);
        if (raw.length) damage(entry, raw);
        free(raw.bytes);
    }
    moonplan_document_free(given);
    moonplan_abi_free(abi);
    sample_free(&type);
    sample_free(&values);
    sample_free(&digits);
}

static void test_random(void) {
    const char *chosen = getenv("MOONPLAN_SEED");
    uint64_t seed = chosen ? strtoull(chosen, NULL, 0) : 20240917;
    printf("# seed %llu (MOONPLAN_SEED)\n", (unsigned long long)seed);
    random_seed(seed);
    for (int i = 0; i < 10000; i++) round_trip();
}

/* -- Reverts --------------------------------------------------------------------------*/

static void reverts(const char *digits, const char *abi_text, const char *kind, const char *text) {
    moonplan_error err;
    bytes raw = unhex(digits);
    moonplan_abi *abi = abi_text ? abi_of(abi_text) : NULL;
    moonplan_abi_source source = {.abi = abi, .origin = text_of("the plan's own ABI")};
    moonplan_document *document =
        moonplan_revert_decode(raw.bytes, raw.length, &source, abi ? 1 : 0, NULL, &err);
    CHECK(document != NULL);
    moonplan_value root = moonplan_document_root(document);
    CHECK_TEXT(kind, moonplan_value_string(moonplan_value_member(root, "kind", 4)));
    CHECK_TEXT(text, moonplan_value_string(moonplan_value_member(root, "text", 4)));
    moonplan_document_free(document);
    moonplan_abi_free(abi);
    free(raw.bytes);
}

static void test_reverts(void) {
    reverts("", NULL, "none", "reverted without data");
    reverts("08c379", NULL, "short", "reverted with 3 bytes, too short for an error");
    reverts("08c379a0" W("20")
                W("08") "6e6f2066756e6473000000000000000000000000000000000000000000000000",
            NULL, "error", "reverted with \"no funds\"");
    /* A line of its own, a forged one, stays inside the quotes. */
    reverts("08c379a0" W("20")
                W("08") "0a5b4f4b5d206f6b000000000000000000000000000000000000000000000000",
            NULL, "error", "reverted with \"\\u{a}[OK] ok\"");
    reverts("08c379a0" W("20")
                W("05") "fffefd0041000000000000000000000000000000000000000000000000000000",
            NULL, "error", "reverted with \"\\xff\\xfe\\xfd\\u{0}A\"");
    reverts("08c379a0" W("20") BIG_64, NULL, "malformed",
            "reverted with a malformed Error(string)");
    reverts("08c379a0" W("10") W("05"), NULL, "malformed",
            "reverted with a malformed Error(string)");
    reverts("4e487b71" W("11"), NULL, "panic", "Panic 0x11 (arithmetic overflow or underflow)");
    reverts("4e487b71" W("01"), NULL, "panic", "Panic 0x01 (a failed assertion)");
    reverts("4e487b71" W("02"), NULL, "panic", "Panic with unknown code 0x2");
    reverts("4e487b71" BIG_255, NULL, "panic", "Panic with unknown code 0x" BIG_255);
    reverts("4e487b71" ZERO, NULL, "malformed", "reverted with a malformed Panic(uint256)");
    reverts("cf479181" W("05") W("07"), NULL, "unknown",
            "reverted with an error that nobody described, selector 0xcf479181");
    reverts("cf479181" W("05") W("07"),
            "error InsufficientBalance(uint256 available, uint256 required)", "custom",
            "reverted as InsufficientBalance(available: 5, required: 7), per \"the plan's own "
            "ABI\"");
    reverts("cf479181" W("05"), "error InsufficientBalance(uint256 available, uint256 required)",
            "malformed", "reverted with a malformed InsufficientBalance(uint256,uint256)");
    /* A plan cannot describe Solidity's own errors as something else. */
    reverts("08c379a0" W("20") W("01") "78" ZERO, "error Error(string fine)", "error",
            "reverted with \"x\"");
}

/* -- 256-bit numbers ------------------------------------------------------------------*/

typedef size_t writer(char *out, mpl_uint256 number);

static bool writes(const char *expected, writer *write_number, mpl_uint256 number) {
    char text[MPL_UINT256_TEXT];
    size_t length = write_number(text, number);
    return length == strlen(expected) && strcmp(text, expected) == 0;
}

static void test_uint256(void) {
    /* Powers of two, from a table of them. */
    static const struct {
        unsigned bits;
        const char *decimal, *hex;
    } powers[] = {
        {0, "1", "0x1"},
        {31, "2147483648", "0x80000000"},
        {32, "4294967296", "0x100000000"},
        {64, "18446744073709551616", "0x10000000000000000"},
        {96, "79228162514264337593543950336", "0x1000000000000000000000000"},
        {128, "340282366920938463463374607431768211456", "0x100000000000000000000000000000000"},
        {255, "57896044618658097711785492504343953926634992332820282019728792003956564819968",
         "0x8000000000000000000000000000000000000000000000000000000000000000"}};
    char text[MPL_UINT256_TEXT];
    mpl_uint256 number, back;
    uint8_t word[32];
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        number = mpl_uint256_power(powers[i].bits);
        CHECK(writes(powers[i].decimal, mpl_uint256_decimal, number));
        CHECK(writes(powers[i].hex, mpl_uint256_hex, number));
        CHECK(mpl_uint256_bits(number) == powers[i].bits + 1);
        CHECK(mpl_uint256_from_decimal(&back, text_of(powers[i].decimal)) &&
              mpl_uint256_order(back, number) == 0);
        CHECK(mpl_uint256_from_hex(&back, text_of(powers[i].hex)) &&
              mpl_uint256_order(back, number) == 0);
        mpl_uint256_write(word, number);
        CHECK(mpl_uint256_order(mpl_uint256_read(word), number) == 0);
    }
    CHECK(mpl_uint256_from_decimal(&number, text_of(MAX256)));
    CHECK(writes("0x" WORD_F, mpl_uint256_hex, number));
    CHECK(writes("-1", mpl_int256_decimal, number));
    CHECK(!mpl_uint256_add(&number, mpl_uint256_of(1)) && mpl_uint256_is_zero(number));
    CHECK(mpl_int256_from_decimal(&number, text_of(MIN256)));
    CHECK(writes(MIN256, mpl_int256_decimal, number));
    CHECK(mpl_int256_fits(number, 256) && !mpl_int256_fits(number, 248));
    CHECK(mpl_int256_from_decimal(&number, text_of(MAX255)));
    static const char *const no[] = {
        "",    "00",
        "01",  "-1",
        "+1",  " 1",
        "1 ",  "1e3",
        "0x1", "115792089237316195423570985008687907853269984665640564039457584007913129639936"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        CHECK(!mpl_uint256_from_decimal(&number, text_of(no[i])));
    static const char *const not_signed[] = {
        "",
        "-",
        "-0",
        "--1",
        "57896044618658097711785492504343953926634992332820282019728792003956564819968",
        "-57896044618658097711785492504343953926634992332820282019728792003956564819969"};
    for (size_t i = 0; i < sizeof not_signed / sizeof *not_signed; i++)
        CHECK(!mpl_int256_from_decimal(&number, text_of(not_signed[i])));
    static const char *const not_hex[] = {"",    "0x",  "0x00", "0x01",         "1",
                                          "0X1", "0xg", "-0x1", "0x1" ZERO "00"};
    for (size_t i = 0; i < sizeof not_hex / sizeof *not_hex; i++)
        CHECK(!mpl_uint256_from_hex(&number, text_of(not_hex[i])));
    /* Wei in ether, by moving the point. */
    static const char *const units[][2] = {{"0", "0"},
                                           {"1", "0.000000000000000001"},
                                           {"1000000000000000000", "1"},
                                           {"1500000000000000000", "1.5"},
                                           {"25595000000000020002", "25.595000000000020002"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        CHECK(mpl_uint256_from_decimal(&number, text_of(units[i][0])));
        size_t length = mpl_uint256_units(text, number, 18);
        CHECK_TEXT(units[i][1], ((moonplan_text){text, length}));
    }
}

static void test_checksum(void) {
    /* ERC-55, Test Cases: all caps, all lower, and mixed. */
    static const char *const right[] = {
        "0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"};
    char made[42];
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        CHECK(moonplan_address_checksum(made, right[i], 42));
        CHECK_TEXT(right[i], ((moonplan_text){made, 42}));
        CHECK(mpl_eip55_check(text_of(right[i])) != MPL_EIP55_WRONG);
    }
    CHECK(!moonplan_address_checksum(made, right[0], 41));
    CHECK(!moonplan_address_checksum(made, "0xg2908400098527886E0F7030069857D2E4169EE7", 42));
}

/* -- Memory ---------------------------------------------------------------------------*/

/* Everything once, with memory from the counter: true if it succeeded. */
static bool everything(const moonplan_options *options, moonplan_error *err) {
    static const char fragment[] =
        "[{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"name\":\"s\",\"type\":\"tuple[]\","
        "\"components\":[{\"name\":\"a\",\"type\":\"int8\"},{\"name\":\"b\",\"type\":\"string\"}]}]"
        "},{\"type\":\"error\",\"name\":\"Gone\",\"inputs\":[{\"type\":\"string\"}]}]";
    static const char arguments[] = "{\"s\":[{\"a\":\"-1\",\"b\":\"x\"},{\"a\":2,\"b\":\"yy\"}]}";
    moonplan_abi *abi = moonplan_abi_parse(fragment, sizeof fragment - 1, options, err);
    moonplan_document *values =
        abi ? moonplan_document_parse(arguments, sizeof arguments - 1, options, err) : NULL;
    sample digits = {NULL, 0, 0};
    bool fine = values && moonplan_abi_encode(moonplan_abi_at(abi, 0), to_hex, &digits,
                                              moonplan_document_root(values), options, err);
    if (fine) {
        sample_add(&digits, "ff");                              /* a note */
        memcpy(digits.bytes + 2 * (4 + 32 + 32 + 64), "01", 2); /* and a value to be mended */
        bytes raw = unhex(digits.bytes);
        moonplan_abi_data *data = moonplan_abi_decode(moonplan_abi_at(abi, 0), raw.bytes,
                                                      raw.length, false, options, err);
        moonplan_document *back = data ? moonplan_abi_data_document(data, options, err) : NULL;
        moonplan_abi_source source = {.abi = abi, .origin = text_of("x")};
        moonplan_document *reason =
            back ? moonplan_revert_decode(raw.bytes, raw.length, &source, 1, options, err) : NULL;
        bytes noted = unhex("4e487b71" W("11") "00"); /* a panic with a byte behind it */
        moonplan_document *panic =
            reason ? moonplan_revert_decode(noted.bytes, noted.length, NULL, 0, options, err)
                   : NULL;
        fine = panic != NULL;
        moonplan_document_free(panic);
        moonplan_document_free(reason);
        free(noted.bytes);
        moonplan_document_free(back);
        moonplan_abi_data_free(data);
        free(raw.bytes);
    }
    sample_free(&digits);
    moonplan_document_free(values);
    moonplan_abi_free(abi);
    return fine;
}

static void test_memory(void) {
    moonplan_options options;
    counter count;
    moonplan_error err;
    counter_options(&options, &count);
    CHECK(everything(&options, &err) && count.used == 0);
    size_t calls = count.calls;
    CHECK(calls > 20);
    for (size_t fail = 1; fail <= calls; fail++) {
        for (int on = 0; on < 2; on++) {
            counter_options(&options, &count);
            count.fail_at = fail;
            count.fail_on = on;
            bool fine = everything(&options, &err);
            /* A block that only did not shrink is no failure. */
            CHECK(fine || err.code == MOONPLAN_MEMORY);
            CHECK(count.used == 0 && count.blocks == 0 && !count.wrong);
        }
    }
}

int main(void) {
    RUN(test_specification);
    RUN(test_selectors);
    RUN(test_values);
    RUN(test_values_refused);
    RUN(test_hostile);
    RUN(test_inflation);
    RUN(test_limit);
    RUN(test_notes);
    RUN(test_signatures);
    RUN(test_depth);
    RUN(test_fragments);
    RUN(test_random);
    RUN(test_reverts);
    RUN(test_uint256);
    RUN(test_checksum);
    RUN(test_memory);
    return check_end();
}
