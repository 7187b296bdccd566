/* What is said of a reference that leads nowhere: itself, the first segment that is not there, and
 * what there is instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/step/reference.h"
#include "check.h"
#include "samples.h"

static moonplan_document *parse(const char *text) {
    moonplan_error err;
    moonplan_document *document = moonplan_document_parse(text, strlen(text), NULL, &err);
    if (!check(document != NULL, __FILE__, __LINE__, text)) printf("# %s\n", err.message);
    return document;
}

static bool only_result(void *data, moonplan_text id, moonplan_value *result) {
    *result = *(moonplan_value *)data;
    return mpl_text_is(id, "a");
}

/* The error of step a's result (NULL: none) and a path in it, which is lost. */
static moonplan_error lost(const char *result, const char *path) {
    sample input = {NULL, 0, 0};
    sample_add(&input, "{\"in\":[{\"$ref\":\"steps.a.result.%s\"}]}", path);
    moonplan_document *from = result ? parse(result) : NULL, *document = parse(input.bytes);
    moonplan_value value =
        from ? moonplan_document_root(from) : (moonplan_value){document, UINT32_MAX};
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_resolved out;
    moonplan_error err = {.code = MOONPLAN_OK};
    if (!CHECK(!mpl_reference_resolve(&out, moonplan_document_root(document),
                                      (mpl_results){only_result, &value}, &options, &err)))
        moonplan_document_free(out.own);
    CHECK(err.code == MOONPLAN_JOB_REFERENCE_PATH);
    CHECK(strcmp(err.at, "/in/0") == 0);
    moonplan_document_free(from);
    moonplan_document_free(document);
    sample_free(&input);
    return err;
}

static void says(const char *result, const char *path, const char *rest) {
    moonplan_error err = lost(result, path);
    sample whole = {NULL, 0, 0};
    sample_add(&whole, "\"steps.a.result.%s\" finds no %s", path, rest);
    if (!CHECK(strcmp(err.message, whole.bytes) == 0)) printf("# %s\n", err.message);
    sample_free(&whole);
}

static void the_first_missing_segment_and_what_is_there(void) {
    says("{\"other\":1}", "nope.deep", "\"nope\": the result is an object with the name other");
    says("{\"b\":1,\"a\":2,\"c d\":3}", "x",
         "\"x\": the result is an object with the names b, a, \"c d\"");
    says("{}", "x.y.z", "\"x\": the result is an empty object");
    says("{\"o\":{\"p\":1}}", "o.", "\"\": \"/o\" in the result is an object with the name p");
    says("{\"x\":\"s\"}", "x.y", "\"y\": \"/x\" in the result is a string");
    says("{\"x\":{\"y\":1e3}}", "x.y.z", "\"z\": \"/x/y\" in the result is a number");
    says("{\"x\":null}", "x.y.z", "\"y\": \"/x\" in the result is null");
    says("{\"x\":false}", "x.y", "\"y\": \"/x\" in the result is false");
    says("true", "y", "\"y\": the result is true");
    says("\"s\"", "length", "\"length\": the result is a string");
    says(NULL, "x.y", "\"x\": the step gave no result");
    /* Pointers escape (RFC 6901, section 3); and a result is whatever a capability made of it. */
    says("{\"a/b\":{\"~\":1}}", "a/b.~.z", "\"z\": \"/a~1b/~0\" in the result is a number");
    says("{\"\xe2\x80\xae\":1}", "x", "\"x\": the result is an object with the name \"\\u{202e}\"");
}

static void arrays(void) {
    says("[1,2,3]", "3",
         "\"3\": the result is an array of 3: a path goes on with 0 to 2 or length");
    says("{\"i\":[[],[5]]}", "i.1.1",
         "\"1\": \"/i/1\" in the result is an array of 1: a path goes on with 0 or length");
    says("{\"i\":[[],[5]]}", "i.0.0",
         "\"0\": \"/i/0\" in the result is an empty array: a path goes on with length only");
    static const char *const no_index[] = {
        "map", "00", "-1", "+1", "1e0", "0x1", " 1", "4294967296", "99999999999999999999", ""};
    for (size_t i = 0; i < sizeof no_index / sizeof *no_index; i++) {
        char rest[120];
        snprintf(rest, sizeof rest,
                 "\"%s\": the result is an array of 2: a path goes on with 0 to 1 or length",
                 no_index[i]);
        says("[1,2]", no_index[i], rest);
    }
    says("{\"i\":[1,2]}", "i.length.x", "\"x\": \"/i/length\" in the result is a number");
    says("[]", "length.0.1", "\"0\": \"/length\" in the result is a number");
}

#define UNREACHED ", but a path is split at every dot and reaches no such name"

static void names_with_dots(void) {
    says("{\"kibana.alert\":{\"name\":\"x\"}}", "kibana.alert.name",
         "\"kibana\": the result is an object; it has the name \"kibana.alert\"" UNREACHED);
    says("{\"o\":[{\"a.b\":1}]}", "o.0.a.b",
         "\"a\": \"/o/0\" in the result is an object; it has the name \"a.b\"" UNREACHED);
    /* The longest that fits; one that only begins in the same way does not. */
    says("{\"a.b\":{\"c\":1},\"a.b.c\":2,\"a.b.cd\":3}", "a.b.c",
         "\"a\": the result is an object; it has the name \"a.b.c\"" UNREACHED);
    says("{\"a.bc\":1,\"b\":2}", "a.b", "\"a\": the result is an object with the names a.bc, b");
    says("{\"o.\":1}", "o.", "\"o\": the result is an object; it has the name \"o.\"" UNREACHED);
    /* The path may have gone astray before it was lost. */
    says("{\"a\":\"s\",\"a.b\":1}", "a.b",
         "\"b\": \"/a\" in the result is a string; the result has the name \"a.b\"" UNREACHED);
    says("{\"o\":{\"a\":[],\"a.length.x\":1}}", "o.a.length.x",
         "\"x\": \"/o/a/length\" in the result is a number; \"/o\" in the result has the name "
         "\"a.length.x\"" UNREACHED);
    says("{\"k\":{\"a\":{\"x\":1}},\"k.a\":{\"n\":1}}", "k.a.n",
         "\"n\": \"/k/a\" in the result is an object; the result has the name \"k.a\"" UNREACHED);
    /* There the other name would not have helped. */
    says("{\"k\":{\"a\":{\"x\":1}},\"k.a\":{\"m\":1}}", "k.a.n",
         "\"n\": \"/k/a\" in the result is an object with the name x");
}

/* However long all of it is, nothing is left out but the ends of what is repeated. */
static void long_ones(void) {
    sample name = {NULL, 0, 0}, result = {NULL, 0, 0}, path = {NULL, 0, 0};
    sample_repeat(&name, "\xc3\xa9", 3000);
    sample_add(&result, "{\"%s\":{\"%s\":{\"%s\":", name.bytes, name.bytes, name.bytes);
    sample_add(&path, "%s.%s.%s.%s.%s", name.bytes, name.bytes, name.bytes, name.bytes, name.bytes);
    size_t begun = result.length;
    sample_add(&result, "{");
    for (size_t i = 0; i < 100; i++) sample_add(&result, "%s\"name%zu\":1", i ? "," : "", i);
    sample_add(&result, "}}}}");
    moonplan_error err = lost(result.bytes, path.bytes);
    CHECK(strstr(err.message, " in the result is an object with the names name0, name1, "));
    CHECK(strcmp(err.message + strlen(err.message) - 4, " \xe2\x80\xa6") == 0);
    result.length = begun;
    sample_add(&result, "{\"%s.%s\":1}}}}", name.bytes, name.bytes);
    err = lost(result.bytes, path.bytes);
    const char *end = strstr(err.message, UNREACHED);
    CHECK(strstr(err.message, " in the result is an object; it has the name \""));
    CHECK(end && strcmp(end, UNREACHED) == 0);
    result.length = begun;
    sample_add(&result, "1},\"%s.%s.%s\":2}}", name.bytes, name.bytes, name.bytes);
    err = lost(result.bytes, path.bytes);
    CHECK(strstr(err.message, " in the result is a number; \""));
    CHECK(strstr(err.message, " in the result has the name \""));
    end = strstr(err.message, UNREACHED);
    CHECK(end && strcmp(end, UNREACHED) == 0);
    sample_free(&name);
    sample_free(&result);
    sample_free(&path);
}

int main(void) {
    RUN(the_first_missing_segment_and_what_is_there);
    RUN(arrays);
    RUN(names_with_dots);
    RUN(long_ones);
    return check_end();
}
