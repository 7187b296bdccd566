/* JSON documents through the C interface: access, places, options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "samples.h"

static moonplan_document *parse(const char *text) {
    moonplan_error err;
    moonplan_document *document = moonplan_document_parse(text, strlen(text), NULL, &err);
    if (!check(document != NULL, __FILE__, __LINE__, text)) printf("# %s\n", err.message);
    return document;
}

static moonplan_value at(const moonplan_document *document, const char *pointer) {
    return moonplan_document_at(document, pointer, strlen(pointer));
}

static void frees_take_null(void) {
    moonplan_document_free(NULL);
    moonplan_call_plan_free(NULL);
    moonplan_error_list_free(NULL);
}

static void errors_may_be_null(void) {
    CHECK(moonplan_document_parse("[", 1, NULL, NULL) == NULL);
    CHECK(moonplan_call_plan_parse("[]", 2, NULL, NULL) == NULL);
    uint8_t digest[32];
    CHECK(!moonplan_digest(digest, "{}", 2, NULL, NULL));
    moonplan_options options;
    moonplan_options_init(&options);
    CHECK(!moonplan_options_limit(&options, "none such", 1, NULL));
}

static void types(void) {
    static const struct {
        const char *text;
        moonplan_type type;
    } cases[] = {{"null", MOONPLAN_NULL},
                 {"true", MOONPLAN_TRUE},
                 {"false", MOONPLAN_FALSE},
                 {"0", MOONPLAN_INTEGER},
                 {"-1", MOONPLAN_INTEGER},
                 {"9223372036854775807", MOONPLAN_INTEGER},
                 {"-9223372036854775808", MOONPLAN_INTEGER},
                 {"9223372036854775808", MOONPLAN_NUMBER},
                 {"-9223372036854775809", MOONPLAN_NUMBER},
                 {"10000000000000000000", MOONPLAN_NUMBER},
                 {"-0", MOONPLAN_NUMBER},
                 {"1.0", MOONPLAN_NUMBER},
                 {"1e0", MOONPLAN_NUMBER},
                 {"\"\"", MOONPLAN_STRING},
                 {"[]", MOONPLAN_ARRAY},
                 {"{}", MOONPLAN_OBJECT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char padded[64];
        snprintf(padded, sizeof padded, " \n%s\t ", cases[i].text);
        moonplan_document *document = parse(padded);
        if (!document) continue;
        moonplan_value root = moonplan_document_root(document);
        CHECK(moonplan_value_type(root) == cases[i].type);
        CHECK_TEXT(cases[i].text, moonplan_value_source(root));
        CHECK(moonplan_value_offset(root) == 2);
        int64_t integer = 42;
        CHECK(moonplan_value_integer(root, &integer) == (cases[i].type == MOONPLAN_INTEGER));
        if (cases[i].type == MOONPLAN_INTEGER) {
            char spelled[32];
            snprintf(spelled, sizeof spelled, "%lld", (long long)integer);
            CHECK(strcmp(spelled, cases[i].text) == 0);
        } else {
            CHECK(integer == 42);
        }
        moonplan_text string = moonplan_value_string(root);
        CHECK((string.bytes != NULL) == (cases[i].type == MOONPLAN_STRING));
        CHECK(string.length == 0);
        CHECK(moonplan_value_count(root) == 0);
        CHECK(moonplan_value_type(moonplan_value_element(root, 0)) == MOONPLAN_NONE);
        CHECK(moonplan_value_type(member(root, "a")) == MOONPLAN_NONE);
        moonplan_walk walk = moonplan_value_walk(root);
        CHECK(!moonplan_walk_next(&walk));
        CHECK(!moonplan_walk_next(&walk));
        moonplan_document_free(document);
    }
}

static void none_answers_every_question(void) {
    moonplan_document *document = parse("[1]");
    moonplan_value none = moonplan_value_element(moonplan_document_root(document), 7);
    int64_t integer;
    CHECK(moonplan_value_type(none) == MOONPLAN_NONE);
    CHECK(moonplan_value_source(none).bytes == NULL);
    CHECK(moonplan_value_string(none).bytes == NULL);
    CHECK(moonplan_value_offset(none) == MOONPLAN_NO_OFFSET);
    CHECK(!moonplan_value_integer(none, &integer));
    CHECK(moonplan_value_count(none) == 0);
    CHECK(moonplan_value_type(moonplan_value_element(none, 0)) == MOONPLAN_NONE);
    CHECK(moonplan_value_type(member(none, "")) == MOONPLAN_NONE);
    moonplan_walk walk = moonplan_value_walk(none);
    CHECK(!moonplan_walk_next(&walk));
    moonplan_document_free(document);
}

static void strings_are_unescaped(void) {
    moonplan_document *document = parse("[\"\", \"plain\", \"\\\"\\\\\\/\\b\\f\\n\\r\\t\", "
                                        "\"a\\u0000b\", \"\\u00e9\\u20AC\\ud83d\\ude00\"]");
    moonplan_value root = moonplan_document_root(document);
    CHECK_TEXT("", moonplan_value_string(moonplan_value_element(root, 0)));
    CHECK_TEXT("plain", moonplan_value_string(moonplan_value_element(root, 1)));
    CHECK_TEXT("\"\\/\b\f\n\r\t", moonplan_value_string(moonplan_value_element(root, 2)));
    moonplan_text nul = moonplan_value_string(moonplan_value_element(root, 3));
    CHECK(nul.length == 3 && memcmp(nul.bytes, "a\0b", 3) == 0);
    CHECK_TEXT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
               moonplan_value_string(moonplan_value_element(root, 4)));
    CHECK_TEXT("\"a\\u0000b\"", moonplan_value_source(moonplan_value_element(root, 3)));
    moonplan_document_free(document);
}

static void walks_keep_document_order(void) {
    moonplan_document *document = parse("{\"z\":1,\"a\":[2,[],{}],\"\\u006d\":{\"x\":3},\"\":4}");
    static const char *const names[] = {"z", "a", "m", ""};
    static const char *const sources[] = {"1", "[2,[],{}]", "{\"x\":3}", "4"};
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(document));
    size_t n = 0;
    for (; moonplan_walk_next(&walk) && n < 4; n++) {
        CHECK_TEXT(names[n], walk.name);
        CHECK_TEXT(sources[n], moonplan_value_source(walk.value));
    }
    CHECK(n == 4);
    walk = moonplan_value_walk(at(document, "/a"));
    for (n = 0; moonplan_walk_next(&walk); n++) CHECK(walk.name.bytes == NULL);
    CHECK(n == 3);
    CHECK(moonplan_value_count(at(document, "/a")) == 3);
    CHECK(moonplan_value_count(moonplan_document_root(document)) == 4);
    moonplan_document_free(document);
}

/* Containers of every size around those at which the index changes its form; the children are
 * scalars, or containers too. */
static void elements_and_members(void) {
    static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 18, 31, 32, 33, 100, 1000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int nested = 0; nested < 3; nested++) {
            size_t count = sizes[s];
            sample array = {NULL, 0, 0}, object = {NULL, 0, 0};
            sample_add(&array, "[");
            sample_add(&object, "{");
            for (size_t i = 0; i < count; i++) {
                const char *comma = i ? "," : "";
                /* 1: every child is a container; 2: only the last is */
                bool inner = nested == 1 || (nested == 2 && i + 1 == count);
                sample_add(&array, inner ? "%s[[],%zu]" : "%s%zu", comma, i);
                sample_add(&object, inner ? "%s\"k%zu\":{\"v\":%zu}" : "%s\"k%zu\":%zu", comma, i,
                           i);
            }
            sample_add(&array, "]");
            sample_add(&object, "}");
            moonplan_document *elements = parse(array.bytes), *members = parse(object.bytes);
            moonplan_value list = moonplan_document_root(elements);
            moonplan_value map = moonplan_document_root(members);
            CHECK(moonplan_value_count(list) == count);
            CHECK(moonplan_value_count(map) == count);
            size_t walked = 0;
            moonplan_walk walk = moonplan_value_walk(list);
            while (moonplan_walk_next(&walk)) {
                CHECK(walk.value.node == moonplan_value_element(list, walked).node);
                walked++;
            }
            CHECK(walked == count);
            for (size_t i = 0; i < count; i++) {
                char name[32], pointer[40], spelled[64];
                bool inner = nested == 1 || (nested == 2 && i + 1 == count);
                snprintf(name, sizeof name, "k%zu", i);
                snprintf(spelled, sizeof spelled, inner ? "[[],%zu]" : "%zu", i);
                CHECK_TEXT(spelled, moonplan_value_source(moonplan_value_element(list, i)));
                snprintf(pointer, sizeof pointer, inner ? "/%zu/1" : "/%zu", i);
                snprintf(spelled, sizeof spelled, "%zu", i);
                CHECK_TEXT(spelled, moonplan_value_source(at(elements, pointer)));
                snprintf(pointer, sizeof pointer, inner ? "/k%zu/v" : "/k%zu", i);
                CHECK_TEXT(spelled, moonplan_value_source(at(members, pointer)));
                snprintf(spelled, sizeof spelled, inner ? "{\"v\":%zu}" : "%zu", i);
                CHECK_TEXT(spelled, moonplan_value_source(member(map, name)));
            }
            CHECK(moonplan_value_type(moonplan_value_element(list, count)) == MOONPLAN_NONE);
            CHECK(moonplan_value_type(moonplan_value_element(list, SIZE_MAX)) == MOONPLAN_NONE);
            CHECK(moonplan_value_type(member(map, "k")) == MOONPLAN_NONE);
            CHECK(moonplan_value_type(member(map, "")) == MOONPLAN_NONE);
            CHECK(moonplan_value_type(moonplan_value_member(map, "k0\0", 3)) == MOONPLAN_NONE);
            moonplan_document_free(elements);
            moonplan_document_free(members);
            sample_free(&array);
            sample_free(&object);
        }
    }
}

/* An object in an array, so that it does not begin at the first node. */
static sample object_of(size_t count) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "[[0,1],{");
    for (size_t i = 0; i < count; i++) sample_add(&out, "%s\"key%07zu\":%zu", i ? "," : "", i, i);
    sample_add(&out, "}]");
    return out;
}

/* A name that stands twice is refused where it stands the second time, in whichever part of a large
 * object the two are, and the first of several such names is the one that is told. */
static void the_second_of_a_name_is_found(void) {
    static const size_t sizes[] = {16, 17, 31, 32, 33, 34, 63, 64, 65, 1000, 100000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t count = sizes[s];
        for (size_t first = 0; first + 1 < count; first += count / 7) {
            for (size_t second = first + 1; second < count; second += 1 + count / 5) {
                sample text = object_of(count);
                size_t place = 0;
                for (size_t i = 0, member = 0; i < text.length; i++)
                    if (text.bytes[i] == 'k' && member++ == second) place = i;
                snprintf(text.bytes + place + 3, 8, "%07zu", first);
                text.bytes[place + 10] = '"';
                /* Behind it another one, which is not to be the one that is told. */
                if (second + 1 < count) {
                    char *last = strrchr(text.bytes, 'k');
                    memcpy(last, text.bytes + place, 10);
                }
                moonplan_error err;
                CHECK(!moonplan_document_parse(text.bytes, text.length, NULL, &err));
                if (!CHECK(err.code == MOONPLAN_JSON_DUPLICATE_NAME && err.offset == place - 1))
                    printf("# %zu and %zu of %zu: %s at %zu\n", first, second, count, err.message,
                           err.offset);
                sample_free(&text);
            }
        }
    }
}

enum { MEMBERS = 100000 };

/* A large table has what it was given, and nothing else. */
static void members_of_a_large_object_are_found(void) {
    sample large = object_of(MEMBERS);
    moonplan_document *document = parse(large.bytes);
    moonplan_value object = moonplan_value_element(moonplan_document_root(document), 1);
    size_t wrong = 0;
    for (size_t i = 0; i < MEMBERS + 1000; i++) {
        char name[16], number[16];
        snprintf(name, sizeof name, "key%07zu", i);
        snprintf(number, sizeof number, "%zu", i);
        moonplan_text source = moonplan_value_source(member(object, name));
        wrong += i < MEMBERS ? source.length != strlen(number) ||
                                   memcmp(source.bytes, number, source.length) != 0
                             : source.bytes != NULL;
    }
    CHECK(wrong == 0);
    moonplan_document_free(document);
    sample_free(&large);
}

/* RFC 6901, section 5: the example document, and what each pointer evaluates to. */
static void pointers(void) {
    moonplan_document *document =
        parse("{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,"
              "\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}");
    static const struct {
        const char *pointer, *source;
    } cases[] = {{"/foo", "[\"bar\",\"baz\"]"},
                 {"/foo/0", "\"bar\""},
                 {"/", "0"},
                 {"/a~1b", "1"},
                 {"/c%d", "2"},
                 {"/e^f", "3"},
                 {"/g|h", "4"},
                 {"/i\\j", "5"},
                 {"/k\"l", "6"},
                 {"/ ", "7"},
                 {"/m~0n", "8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_TEXT(cases[i].source, moonplan_value_source(at(document, cases[i].pointer)));
    CHECK(at(document, "").node == moonplan_document_root(document).node);
    static const char *const nowhere[] = {
        "foo",     "/fo",     "/foo/2",          "/foo/-",
        "/foo/00", "/foo/01", "/foo/0/",         "/foo/+1",
        "/foo/1 ", "/foo/ 1", "/foo/1e0",        "/foo/bar",
        "/a/b",    "/m~n",    "/m~2n",           "/m~",
        "//",      "/foo/",   "/foo/4294967296", "/foo/18446744073709551616"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        check(moonplan_value_type(at(document, nowhere[i])) == MOONPLAN_NONE, __FILE__, __LINE__,
              nowhere[i]);
    moonplan_document_free(document);
    document = parse("{\"~1\":1,\"/\":2,\"~0~\":3,\"x\":{\"\":{\"\":4}}}");
    CHECK_TEXT("1", moonplan_value_source(at(document, "/~01")));
    CHECK_TEXT("2", moonplan_value_source(at(document, "/~1")));
    CHECK_TEXT("3", moonplan_value_source(at(document, "/~00~0")));
    CHECK_TEXT("4", moonplan_value_source(at(document, "/x//")));
    moonplan_document_free(document);
}

static void text_is_copied_or_borrowed(void) {
    char text[] = "[\"abc\", \"d\\u0065f\"]", kept[sizeof text];
    memcpy(kept, text, sizeof text);
    moonplan_options options;
    moonplan_options_init(&options);
    moonplan_document *copied = moonplan_document_parse(text, strlen(text), &options, NULL);
    options.borrow = true;
    moonplan_document *borrowed = moonplan_document_parse(text, strlen(text), &options, NULL);
    CHECK(memcmp(text, kept, sizeof text) == 0);
    CHECK(moonplan_value_source(moonplan_document_root(borrowed)).bytes == text);
    memset(text, 'x', sizeof text - 1);
    CHECK_TEXT("[\"abc\", \"d\\u0065f\"]", moonplan_value_source(moonplan_document_root(copied)));
    CHECK_TEXT("abc", moonplan_value_string(at(copied, "/0")));
    CHECK_TEXT("def", moonplan_value_string(at(copied, "/1")));
    moonplan_document_free(copied);
    moonplan_document_free(borrowed);
}

/* A borrowed plan's text is the caller's and is never written to, lowered digits or not. */
static void borrowed_plans_leave_the_text_alone(void) {
    for (int normalize = 0; normalize < 2; normalize++) {
        sample upper = plan_tiny();
        memcpy(strstr(upper.bytes, "\"to\":\"0x") + 8, "ABCDEF", 6);
        char *kept = malloc(upper.length);
        memcpy(kept, upper.bytes, upper.length);
        moonplan_options options;
        moonplan_options_init(&options);
        options.borrow = true;
        if (normalize) options.hex_case = MOONPLAN_HEX_NORMALIZE;
        moonplan_error err;
        moonplan_call_plan *plan =
            moonplan_call_plan_parse(upper.bytes, upper.length, &options, &err);
        CHECK((plan != NULL) == normalize);
        CHECK(memcmp(kept, upper.bytes, upper.length) == 0);
        if (plan) {
            moonplan_call call;
            CHECK(moonplan_call_plan_step(plan, &call, 0));
            CHECK_TEXT("0xabcdef2222222222222222222222222222222222", call.to);
            CHECK_TEXT("0xabcdef2222222222222222222222222222222222",
                       moonplan_value_string(at(moonplan_call_plan_document(plan),
                                                "/ordered_steps/0/transaction/to")));
        } else {
            CHECK(err.code == MOONPLAN_CALL_HEX_CASE);
        }
        moonplan_call_plan_free(plan);
        free(kept);
        sample_free(&upper);
    }
}

static void parsing_reads_no_byte_too_many(void) {
    /* An exact heap block, so that the sanitizers and valgrind see a step over its end. */
    static const char *const cut[] = {"",
                                      "[",
                                      "\"",
                                      "\"\\",
                                      "\"\\u",
                                      "\"\\u00",
                                      "\"\\ud83d",
                                      "\"\\ud83d\\",
                                      "\"\\ud83d\\u",
                                      "\"\\ud83d\\ude0",
                                      "\"\xc3",
                                      "\"\xf0\x9f",
                                      "-",
                                      "1.",
                                      "1e",
                                      "1e+",
                                      "tru",
                                      "nul",
                                      "fals",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "[1,",
                                      "\xef\xbb",
                                      "\"abcdefghijklmno",
                                      "\"abcdefghijklmnopqrstuvwxyz0123456"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        size_t length = strlen(cut[i]);
        char *block = malloc(length ? length : 1);
        memcpy(block, cut[i], length);
        moonplan_options options;
        moonplan_options_init(&options);
        options.borrow = true;
        moonplan_error err;
        moonplan_document *document = moonplan_document_parse(block, length, &options, &err);
        check(!document && err.offset <= length, __FILE__, __LINE__, cut[i]);
        moonplan_document_free(document);
        free(block);
    }
    char *number = malloc(3);
    for (int i = 0; i < 3; i++) number[i] = (char)('1' + i);
    moonplan_document *document = moonplan_document_parse(number, 3, NULL, NULL);
    CHECK(document != NULL);
    moonplan_document_free(document);
    free(number);
}

static void lines_end_with_lf_crlf_or_cr(void) {
    static const char text[] = "a\nb\r\nc\rd\r\r\n\n\re";
    /*                          0 1 2 3 4 5 6 7 8 9 . . . 13 */
    static const size_t places[][3] = {{0, 1, 1},  {1, 1, 2},  {2, 2, 1},  {3, 2, 2},  {4, 2, 3},
                                       {5, 3, 1},  {6, 3, 2},  {7, 4, 1},  {8, 4, 2},  {9, 5, 1},
                                       {10, 5, 2}, {11, 6, 1}, {12, 7, 1}, {13, 8, 1}, {14, 8, 2}};
    enum { COUNT = sizeof places / sizeof *places };
    moonplan_error errors[COUNT];
    memset(errors, 0, sizeof errors);
    for (size_t i = 0; i < COUNT; i++) errors[i].offset = places[i][0];
    moonplan_error_locate(errors, COUNT, text, sizeof text - 1);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(errors[i].line == places[i][1]);
        CHECK(errors[i].column == places[i][2]);
    }
    /* In any order, one by one, and with none. */
    for (size_t i = 0; i < COUNT; i++) errors[i].offset = places[COUNT - 1 - i][0];
    moonplan_error_locate(errors, COUNT, text, sizeof text - 1);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(errors[i].line == places[COUNT - 1 - i][1]);
        CHECK(errors[i].column == places[COUNT - 1 - i][2]);
    }
    moonplan_error_locate(errors, 0, text, sizeof text - 1);
    errors[0].offset = MOONPLAN_NO_OFFSET;
    moonplan_error_locate(errors, 1, text, sizeof text - 1);
    CHECK(errors[0].line == 0 && errors[0].column == 0);
}

static void faults_of_one_plan_are_all_located(void) {
    sample plan = {NULL, 0, 0};
    sample_add(&plan, "{\r\n \"x\": 1,\r \"y\": 2,\n\n  \"schema_version\": \"2\"\n}");
    moonplan_options options;
    moonplan_options_init(&options);
    moonplan_error_list *list;
    options.errors = &list;
    moonplan_error err;
    CHECK(!moonplan_call_plan_parse(plan.bytes, plan.length, &options, &err));
    size_t count = moonplan_error_list_count(list);
    CHECK(count == 7);
    CHECK(moonplan_error_list_at(list, count) == NULL);
    moonplan_error_locate(moonplan_error_list_at(list, 0), count, plan.bytes, plan.length);
    static const struct {
        const char *at;
        moonplan_code code;
        size_t line, column;
    } places[] = {{"/x", MOONPLAN_CALL_UNKNOWN_MEMBER, 2, 2},
                  {"/y", MOONPLAN_CALL_UNKNOWN_MEMBER, 3, 2},
                  {"/schema_version", MOONPLAN_CALL_SCHEMA_VERSION, 5, 21}};
    for (size_t i = 0, found; i < 3; i++) {
        for (found = 0; found < count; found++)
            if (strcmp(moonplan_error_list_at(list, found)->at, places[i].at) == 0) break;
        const moonplan_error *fault = moonplan_error_list_at(list, found);
        CHECK(fault != NULL);
        if (!fault) continue;
        CHECK(fault->code == places[i].code);
        CHECK(fault->line == places[i].line);
        check(fault->column == places[i].column, __FILE__, __LINE__, places[i].at);
        CHECK(fault->at_length == strlen(places[i].at));
    }
    moonplan_error_list_free(list);
    sample_free(&plan);
}

static void codes_have_names(void) {
    CHECK(strcmp(moonplan_code_name(MOONPLAN_OK), "ok") == 0);
    CHECK(strcmp(moonplan_code_name(MOONPLAN_CALL_QUANTITY), "call.quantity") == 0);
    for (int i = 0; i < MOONPLAN_CODE_COUNT; i++) {
        const char *text = moonplan_code_text((moonplan_code)i);
        CHECK(text[0] && text[strlen(text) - 1] != '.' && !strchr(text, '\n'));
        for (int j = 0; j < i; j++)
            CHECK(
                strcmp(moonplan_code_name((moonplan_code)i), moonplan_code_name((moonplan_code)j)));
    }
    CHECK(moonplan_code_name((moonplan_code)9999) != NULL);
    CHECK(moonplan_code_text((moonplan_code)9999) != NULL);
}

static void limits_are_a_table(void) {
    moonplan_options options;
    moonplan_error err;
    size_t n = 0;
    for (const moonplan_limit_info *limit; (limit = moonplan_limit_at(n)); n++) {
        CHECK(limit->floor <= limit->initial && limit->initial <= limit->ceiling);
        moonplan_options_init(&options);
        CHECK(moonplan_options_limit(&options, limit->name, limit->floor, &err));
        CHECK(moonplan_options_limit(&options, limit->name, limit->ceiling, &err));
        CHECK(!moonplan_options_limit(&options, limit->name, limit->ceiling + 1, &err));
        CHECK(err.code == MOONPLAN_OPTION);
        CHECK(strstr(err.message, limit->name) != NULL);
        CHECK(!moonplan_options_limit(&options, limit->name, UINT64_MAX, &err));
        if (limit->floor > 0)
            CHECK(!moonplan_options_limit(&options, limit->name, limit->floor - 1, &err));
    }
    CHECK(n == sizeof(moonplan_limits) / sizeof(uint64_t));
    CHECK(!moonplan_options_limit(&options, "", 1, &err) && err.code == MOONPLAN_OPTION);
    CHECK(!moonplan_options_limit(&options, "Depth", 1, &err));
    CHECK(!moonplan_options_limit(&options, "depth ", 1, &err));
    /* A refused limit changes nothing. */
    moonplan_options_init(&options);
    moonplan_limits kept = options.limits;
    CHECK(!moonplan_options_limit(&options, "depth", 0, &err));
    CHECK(memcmp(&kept, &options.limits, sizeof kept) == 0);
}

static void kinds(void) {
    static const struct {
        const char *text;
        moonplan_kind kind;
    } cases[] = {
        {"{\"ordered_steps\":1}", MOONPLAN_KIND_CALL_PLAN},
        {"{\"schema_version\":null}", MOONPLAN_KIND_CALL_PLAN},
        {"{\"steps\":[],\"ordered_steps\":[]}", MOONPLAN_KIND_CALL_PLAN},
        {"{\"steps\":[]}", MOONPLAN_KIND_STEP_PLAN},
        {"{\"kind\":\"artifact_reference\",\"steps\":[]}", MOONPLAN_KIND_ARTIFACT_REFERENCE},
        {"{\"schema_version\":\"1\",\"kind\":\"typed_data_signature_request\"}",
         MOONPLAN_KIND_TYPED_DATA_REQUEST},
        {"{\"kind\":\"other\",\"steps\":[]}", MOONPLAN_KIND_STEP_PLAN},
        {"{\"kind\":[],\"ste\\u0070s\":[]}", MOONPLAN_KIND_STEP_PLAN},
        {"{}", MOONPLAN_KIND_NONE},
        {"[\"steps\"]", MOONPLAN_KIND_NONE},
        {"\"ordered_steps\"", MOONPLAN_KIND_NONE},
        {"{\"kind\":\"artifact_reference \"}", MOONPLAN_KIND_NONE},
        {"{\"kind\":\"artifact_reference\\u0000\"}", MOONPLAN_KIND_NONE},
        {"{\"a\":{\"steps\":[]}}", MOONPLAN_KIND_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        moonplan_document *document = parse(cases[i].text);
        moonplan_error err = {.code = MOONPLAN_OK};
        check(moonplan_document_kind(document, &err) == cases[i].kind, __FILE__, __LINE__,
              cases[i].text);
        if (cases[i].kind == MOONPLAN_KIND_NONE) {
            CHECK(err.code == MOONPLAN_DOCUMENT_KIND);
            /* The message of an object names what would make it each kind. */
            if (cases[i].text[0] == '{')
                CHECK(strstr(err.message, "ordered_steps") && strstr(err.message, " steps ") &&
                      strstr(err.message, "artifact_reference") &&
                      strstr(err.message, "typed_data_signature_request"));
            CHECK(moonplan_document_kind(document, NULL) == MOONPLAN_KIND_NONE);
        }
        moonplan_document_free(document);
    }
    CHECK(strcmp(moonplan_kind_name(MOONPLAN_KIND_CALL_PLAN), "call_plan") == 0);
    CHECK(strcmp(moonplan_kind_name(MOONPLAN_KIND_STEP_PLAN), "step_plan") == 0);
    CHECK(strcmp(moonplan_kind_name(MOONPLAN_KIND_ARTIFACT_REFERENCE), "artifact_reference") == 0);
    CHECK(strcmp(moonplan_kind_name(MOONPLAN_KIND_TYPED_DATA_REQUEST),
                 "typed_data_signature_request") == 0);
}

static void version_is_the_header_s(void) {
    CHECK(strcmp(moonplan_version(), MOONPLAN_VERSION) == 0);
}

int main(void) {
    RUN(frees_take_null);
    RUN(errors_may_be_null);
    RUN(types);
    RUN(none_answers_every_question);
    RUN(strings_are_unescaped);
    RUN(walks_keep_document_order);
    RUN(elements_and_members);
    RUN(the_second_of_a_name_is_found);
    RUN(members_of_a_large_object_are_found);
    RUN(pointers);
    RUN(text_is_copied_or_borrowed);
    RUN(borrowed_plans_leave_the_text_alone);
    RUN(parsing_reads_no_byte_too_many);
    RUN(lines_end_with_lf_crlf_or_cr);
    RUN(faults_of_one_plan_are_all_located);
    RUN(codes_have_names);
    RUN(limits_are_a_table);
    RUN(kinds);
    RUN(version_is_the_header_s);
    return check_end();
}
