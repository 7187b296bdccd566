/* Every allocation may fail, one after another: nothing leaks, nothing crashes, nothing lies. Each
 * input is read with the n-th request for memory failing, once and from there on, for every n that
 * there is. What comes out is the error `memory`, or exactly what comes out with memory enough. */
#include <string.h>

#include "check.h"
#include "samples.h"

typedef enum entry { DOOR_DOCUMENT, DOOR_PLAN, DOOR_DIGEST } entry;

typedef struct outcome {
    bool accepted;
    moonplan_error err;
    size_t faults;
    uint8_t digest[32];
} outcome;

typedef struct input {
    entry door;
    sample text;
    bool borrow, list, normalize;
} input;

static outcome read_once(const input *in, counter *count, size_t fail_at, bool fail_on) {
    outcome out;
    memset(&out, 0, sizeof out);
    moonplan_options options;
    counter_options(&options, count);
    count->fail_at = fail_at;
    count->fail_on = fail_on;
    moonplan_text implements[] = {{"atomic_batch", 12}, {"other", 5}};
    options.implements = implements;
    options.implements_count = 2;
    options.borrow = in->borrow;
    if (in->normalize) options.hex_case = MOONPLAN_HEX_NORMALIZE;
    /* A value that is no list: the parser must set it, whatever happens. */
    moonplan_error_list *faults = (moonplan_error_list *)(void *)&out;
    if (in->list) options.errors = &faults;
    const char *bytes = in->text.bytes;
    size_t length = in->text.length;
    if (in->door == DOOR_DOCUMENT) {
        moonplan_document *document = moonplan_document_parse(bytes, length, &options, &out.err);
        out.accepted = document != NULL;
        if (document) {
            moonplan_text source = moonplan_value_source(moonplan_document_root(document));
            CHECK(source.length <= length);
            CHECK(moonplan_document_memory(document, NULL) == count->used);
        }
        moonplan_document_free(document);
    } else if (in->door == DOOR_PLAN) {
        moonplan_call_plan *plan = moonplan_call_plan_parse(bytes, length, &options, &out.err);
        out.accepted = plan != NULL;
        if (plan) {
            moonplan_call_plan_digest(plan, out.digest);
            CHECK(moonplan_call_plan_memory(plan, NULL) == count->used);
        }
        moonplan_call_plan_free(plan);
    } else {
        out.accepted = moonplan_digest(out.digest, bytes, length, &options, &out.err);
    }
    if (in->list) {
        if (out.accepted) CHECK(faults == NULL);
        if (out.err.code == MOONPLAN_MEMORY) {
            /* The list may be there with that one fault, or be what memory was short for. */
            CHECK(moonplan_error_list_count(faults) <= 1);
        } else if (!out.accepted) {
            out.faults = moonplan_error_list_count(faults);
            CHECK(out.faults >= 1);
            moonplan_error *first = moonplan_error_list_at(faults, 0);
            CHECK(first && first->code == out.err.code && first->offset == out.err.offset &&
                  strcmp(first->message, out.err.message) == 0);
        }
        moonplan_error_list_free(faults);
    }
    CHECK(count->used == 0);
    CHECK(count->blocks == 0);
    CHECK(!count->wrong);
    return out;
}

static bool same(const outcome *a, const outcome *b) {
    return a->accepted == b->accepted && a->faults == b->faults && a->err.code == b->err.code &&
           a->err.offset == b->err.offset && a->err.at_length == b->err.at_length &&
           strcmp(a->err.at, b->err.at) == 0 && strcmp(a->err.message, b->err.message) == 0 &&
           memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

/* Frees the text. `accepted` is what must come out with memory enough. */
static void fail_each(const input *in, bool accepted) {
    counter count;
    outcome whole = read_once(in, &count, 0, false);
    CHECK(whole.accepted == accepted);
    size_t calls = count.calls;
    /* The digest of a small plan takes none of the host's memory. */
    CHECK(calls > 0 || (in->door == DOOR_DIGEST && accepted));
    for (int on = 0; on < 2; on++) {
        for (size_t n = 1; n <= calls; n++) {
            outcome out = read_once(in, &count, n, on);
            CHECK(count.refused > 0);
            if (out.err.code == MOONPLAN_MEMORY) {
                CHECK(!out.accepted);
                CHECK(out.err.offset == MOONPLAN_NO_OFFSET);
                CHECK(out.err.message[0] != 0);
            } else {
                CHECK(same(&out, &whole));
            }
        }
    }
}

static void each_way(sample bytes, bool is_document, bool is_plan) {
    for (int flags = 0; flags < 8; flags++) {
        for (entry door = DOOR_DOCUMENT; door <= DOOR_DIGEST; door++) {
            if (door == DOOR_DOCUMENT && (flags & 4)) continue;
            input in = {door, bytes, flags & 1, flags & 2, flags & 4};
            fail_each(&in, door == DOOR_DOCUMENT ? is_document : is_plan);
        }
    }
    sample_free(&bytes);
}

static sample sample_of(const char *bytes) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "%s", bytes);
    return out;
}

/* Objects of more members than are searched one by one. */
static const char members_20[] =
    "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,"
    "\"k\":11,\"l\":12,\"m\":13,\"n\":14,\"o\":15,\"p\":16,\"q\":17,\"\\u0072\":18,\"s\":19,\"t\":["
    "]}";
static const char members_twice[] =
    "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,"
    "\"k\":11,\"l\":12,\"m\":13,\"n\":14,\"o\":15,\"p\":16,\"q\":17,\"r\":18,\"s\":19,\"\\u0061\":["
    "]}";

static void documents(void) {
    static const char *const good[] = {
        "null",
        "[]",
        "{}",
        "\"a\\u0062c\"",
        "[1,2.5,-0,1e400,\"\\ud83d\\ude00\",true,[[[{}]]]]",
        "{\"a\":1,\"\\u0062\":[{\"c\":\"\\n\"},{\"c\":\"\\t\"}]}",
        "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,[18],19,20,21,22,23,24,25,26,27,28,29,30]",
        members_20};
    static const char *const bad[] = {"",
                                      "[1,2",
                                      "{\"a\":1,\"a\":2}",
                                      "[\"\\ud800\"]",
                                      "{\"a\":{\"b\":[0,{\"c\":nul}]}}",
                                      "\xef\xbb\xbf{}",
                                      "[\"\xff\"]",
                                      "{} {}",
                                      members_twice};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        each_way(sample_of(good[i]), true, false);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) each_way(sample_of(bad[i]), false, false);
    sample deep = {NULL, 0, 0};
    sample_repeat(&deep, "[", 200);
    each_way(deep, false, false);
    sample wide = {NULL, 0, 0};
    sample_add(&wide, "[");
    sample_repeat(&wide, "{\"k\\n\":\"v\\n\"},", 3000);
    sample_add(&wide, "0]");
    each_way(wide, true, false);
}

static void good_plans(void) {
    each_way(plan_tiny(), true, true);
    each_way(plan_swap(), true, true);
    each_way(plan_many(40, 3), true, true);
    each_way(plan_with(",\"extensions\":{\"a\":[1,{\"b\":\"\\u0000\"}]},\"required_capabilities\":["
                       "\"atomic_batch\",\"atomic_batch\"]"),
             true, true);
}

static void bad_plans(void) {
    each_way(plan_faulty(1), true, false);
    each_way(plan_faulty(100), true, false);
    each_way(plan_with(",\"extensions\":[],\"required_capabilities\":[\"\",1,null,{}],"
                       "\"simulation_failure_policy\":{\"rpc_error\":{},\"x\":1}"),
             true, false);
    sample cut = plan_swap();
    cut.length -= 2;
    each_way(cut, false, false);
}

static void overwrite(char *at, const char *with) {
    while (*with) *at++ = *with++;
}

/* With `normalize` off the plan is refused, on it is read; either way through every failure. */
static void upper_case(void) {
    for (int flags = 0; flags < 8; flags++) {
        sample bytes = plan_swap();
        for (char *at = strstr(bytes.bytes, "c3c3"); *at == 'c'; at += 2) *at = 'C';
        overwrite(strstr(bytes.bytes, "\"sender\":\"0x") + 12, "ABCDEF");
        /* The steps spell the sender in lower case: the same address once it is lowered. */
        for (char *at = bytes.bytes; (at = strstr(at, "\"from\":\"0x")); at += 10)
            overwrite(at + 10, "abcdef");
        for (entry door = DOOR_PLAN; door <= DOOR_DIGEST; door++) {
            input in = {door, bytes, flags & 1, flags & 2, flags & 4};
            fail_each(&in, flags & 4);
        }
        sample_free(&bytes);
    }
}

int main(void) {
    RUN(documents);
    RUN(good_plans);
    RUN(bad_plans);
    RUN(upper_case);
    return check_end();
}
