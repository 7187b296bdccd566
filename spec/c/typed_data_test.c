/* Typed-data requests, for what only C can see: every allocation may fail, one after another, and
 * nothing leaks or lies; what is borrowed; what is held. */
#include <string.h>

#include "check.h"
#include "samples.h"

#define SIGNER "0xabcdef0123456789abcdef0123456789abcdef01"

static const char head[] = "{\"schema_version\":\"1\",\"kind\":\"typed_data_signature_request\","
                           "\"signer\":\"" SIGNER "\",\"typed_data\":{\"types\":{\"EIP712Domain\":"
                           "[{\"name\":\"name\",\"type\":\"string\"}],";

/* A request whose structs lead to each other, with every kind of type. */
static sample request_rich(void) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "%s", head);
    sample_add(&out,
               "\"T\":[{\"name\":\"a\",\"type\":\"address\"},{\"name\":\"b\",\"type\":\"bytes\"},"
               "{\"name\":\"c\",\"type\":\"U[2][]\"},{\"name\":\"s\",\"type\":\"string\"},"
               "{\"name\":\"i\",\"type\":\"int128\"}],\"U\":[{\"name\":\"t\",\"type\":\"U[]\"},"
               "{\"name\":\"f\",\"type\":\"bool\"},{\"name\":\"h\",\"type\":\"bytes3\"}]},"
               "\"primaryType\":\"T\",\"domain\":{\"name\":\"D\\n\"},\"message\":{\"a\":\"" SIGNER
               "\",\"b\":\"0xAB\",\"s\":\"\\u00e9\",\"i\":\"-5\",\"c\":[[{\"t\":[{\"t\":[],\"f\":"
               "true,\"h\":\"0x010203\"}],\"f\":false,\"h\":\"0x000000\"},{\"t\":[],\"f\":true,"
               "\"h\":\"0xffffff\"}]]}},\"valid_until\":\"1800000000\",\"delivery\":{\"url\":"
               "\"https://wallet.example/d\",\"request_id\":\"r\"}}");
    return out;
}

static sample request_with(const char *types, const char *message) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "%s%s},\"primaryType\":\"T\",\"domain\":{\"name\":\"D\"},\"message\":%s}}",
               head, types, message);
    return out;
}

typedef struct outcome {
    bool accepted, explained;
    moonplan_error err;
    size_t faults, tree;
    moonplan_typed_data_digests digests;
} outcome;

static outcome read_once(sample text, bool borrow, bool list, counter *count, size_t fail_at,
                         bool fail_on) {
    outcome out;
    memset(&out, 0, sizeof out);
    moonplan_options options;
    counter_options(&options, count);
    count->fail_at = fail_at;
    count->fail_on = fail_on;
    options.borrow = borrow;
    /* A value that is no list: the parser must set it, whatever happens. */
    moonplan_error_list *faults = (moonplan_error_list *)(void *)&out;
    if (list) options.errors = &faults;
    moonplan_typed_data *request =
        moonplan_typed_data_parse(text.bytes, text.length, &options, &out.err);
    out.accepted = request != NULL;
    if (request) {
        size_t peak;
        moonplan_typed_data_digest(request, &out.digests);
        CHECK(moonplan_typed_data_memory(request, &peak) == count->used);
        CHECK(peak >= count->used && peak >= count->peak);
        if (list) CHECK(faults == NULL);
        moonplan_document *tree = moonplan_typed_data_explain(request, &options, &out.err);
        out.explained = tree != NULL;
        if (tree) out.tree = moonplan_value_source(moonplan_document_root(tree)).length;
        moonplan_document_free(tree);
        CHECK(moonplan_typed_data_memory(request, NULL) == count->used);
    } else if (list) {
        out.faults = moonplan_error_list_count(faults);
        CHECK(out.err.code == MOONPLAN_MEMORY ? out.faults <= 1 : out.faults >= 1);
        moonplan_error_list_free(faults);
    }
    moonplan_typed_data_free(request);
    CHECK(count->used == 0);
    CHECK(count->blocks == 0);
    CHECK(!count->wrong);
    return out;
}

static bool same(const outcome *a, const outcome *b) {
    return a->accepted == b->accepted && a->faults == b->faults && a->err.code == b->err.code &&
           a->err.offset == b->err.offset && strcmp(a->err.at, b->err.at) == 0 &&
           strcmp(a->err.message, b->err.message) == 0 && a->tree == b->tree &&
           memcmp(&a->digests, &b->digests, sizeof a->digests) == 0;
}

static void fail_each(sample text, bool accepted) {
    for (int flags = 0; flags < 8; flags++) {
        counter count;
        bool borrow = flags & 1, list = flags & 2;
        outcome whole = read_once(text, borrow, list, &count, 0, false);
        CHECK(whole.accepted == accepted && whole.explained == accepted);
        size_t calls = count.calls;
        CHECK(calls > 0);
        for (size_t n = 1; n <= calls; n++) {
            outcome out = read_once(text, borrow, list, &count, n, flags & 4);
            if (out.err.code == MOONPLAN_MEMORY) {
                CHECK(!out.explained);
                CHECK(!out.accepted ||
                      memcmp(&out.digests, &whole.digests, sizeof out.digests) == 0);
            } else {
                CHECK(same(&out, &whole));
            }
        }
    }
    sample_free(&text);
}

static void every_allocation_may_fail(void) {
    fail_each(request_rich(), true);
    fail_each(request_with("\"T\":[]", "{}"), true);
    fail_each(
        request_with("\"T\":[{\"name\":\"a\",\"type\":\"bool[]\"}]", "{\"a\":[true,1,false,2]}"),
        false);
    fail_each(request_with("\"T\":[{\"name\":\"a\",\"type\":\"uint\"}],\"U\":1", "[]"), false);
    fail_each(request_with("\"T\":[{\"name\":\"T\",\"type\":\"T[]\"}]",
                           "{\"T\":[{\"T\":[{\"T\":[{\"T\":[{\"T\":[{\"T\":[{\"T\":[{\"T\":[{\"T\":"
                           "[{\"T\":[]}]}]}]}]}]}]}]}]}]}"),
              true);
    sample cut = request_rich();
    cut.length--;
    fail_each(cut, false);
}

static void accessors(void) {
    moonplan_error err;
    sample text = request_rich();
    moonplan_typed_data *request = moonplan_typed_data_parse(text.bytes, text.length, NULL, &err);
    if (!CHECK(request)) return;
    /* The document is a copy: the text may go. */
    sample_free(&text);
    uint64_t seconds = 0;
    moonplan_text url, id;
    CHECK_TEXT(SIGNER, moonplan_typed_data_signer(request));
    CHECK_TEXT("T", moonplan_typed_data_primary_type(request));
    CHECK(moonplan_typed_data_valid_until(request, &seconds) && seconds == 1800000000);
    CHECK(moonplan_typed_data_delivery(request, &url, &id));
    CHECK_TEXT("https://wallet.example/d", url);
    CHECK_TEXT("r", id);
    CHECK(moonplan_value_count(moonplan_typed_data_types(request)) == 3);
    CHECK(moonplan_value_count(moonplan_typed_data_message(request)) == 5);
    CHECK_TEXT("D\n", moonplan_value_string(
                          moonplan_value_member(moonplan_typed_data_domain(request), "name", 4)));
    CHECK(moonplan_document_root(moonplan_typed_data_document(request)).node == 0);
    moonplan_typed_data_free(request);
    text = request_with("\"T\":[]", "{}");
    request = moonplan_typed_data_parse(text.bytes, text.length, NULL, &err);
    if (!CHECK(request)) return;
    CHECK(!moonplan_typed_data_valid_until(request, &seconds));
    CHECK(!moonplan_typed_data_delivery(request, &url, &id));
    moonplan_typed_data_free(request);
    sample_free(&text);
    moonplan_typed_data_free(NULL);
}

static bool stop_at_once(void *data, const char *bytes, size_t length) {
    (void)bytes;
    (void)length;
    ++*(int *)data;
    return false;
}

static void a_sink_ends_the_canonical_form(void) {
    sample text = request_rich();
    moonplan_typed_data *request = moonplan_typed_data_parse(text.bytes, text.length, NULL, NULL);
    int calls = 0;
    CHECK(!moonplan_typed_data_canonical(request, stop_at_once, &calls));
    CHECK(calls == 1);
    moonplan_typed_data_free(request);
    sample_free(&text);
}

/* All at once, each where it is in the document, and the first is the error. */
static void the_situation_is_judged_whole(void) {
    sample text = request_rich();
    counter count;
    moonplan_options options;
    moonplan_error err;
    moonplan_error_list *faults = NULL;
    moonplan_typed_data *request = moonplan_typed_data_parse(text.bytes, text.length, NULL, NULL);
    moonplan_typed_data_situation situation = {.has_now = true,
                                               .now = 1800000000,
                                               .account = text_of("0x00"),
                                               .origin = text_of("https://other.example/"),
                                               .no_delivery = true};
    static const moonplan_code codes[] = {
        MOONPLAN_TYPED_DATA_SIGNER_MISMATCH, MOONPLAN_TYPED_DATA_EXPIRED,
        MOONPLAN_TYPED_DATA_DELIVERY_UNSUPPORTED, MOONPLAN_TYPED_DATA_DELIVERY_ORIGIN};
    for (size_t fail_at = 0; fail_at < 3; fail_at++) {
        counter_options(&options, &count);
        count.fail_at = fail_at;
        options.errors = &faults;
        CHECK(!moonplan_typed_data_check(request, &situation, &options, &err));
        if (fail_at) {
            CHECK(err.code == MOONPLAN_MEMORY && faults == NULL);
            continue;
        }
        CHECK(moonplan_error_list_count(faults) == 4);
        for (size_t i = 0; i < 4 && i < moonplan_error_list_count(faults); i++)
            CHECK(moonplan_error_list_at(faults, i)->code == codes[i]);
        CHECK(err.code == codes[0]);
        moonplan_error_list_free(faults);
        CHECK(count.used == 0);
    }
    situation = (moonplan_typed_data_situation){.has_now = true, .now = 1799999999};
    CHECK(moonplan_typed_data_check(request, &situation, NULL, &err));
    situation = (moonplan_typed_data_situation){.has_now = false, .now = UINT64_MAX};
    CHECK(moonplan_typed_data_check(request, &situation, NULL, &err));
    moonplan_typed_data_free(request);
    sample_free(&text);
}

int main(void) {
    RUN(every_allocation_may_fail);
    RUN(accessors);
    RUN(a_sink_ends_the_canonical_form);
    RUN(the_situation_is_judged_whole);
    return check_end();
}
