/* Artifact references, for what only C can see: the order in which things are wanted, answers that
 * nobody asked for, every allocation failing, and the address reader beside the C library's. */
#include <arpa/inet.h>
#include <sodium.h>
#include <string.h>

#include "../../src/call/address.h"
#include "check.h"
#include "samples.h"

static const moonplan_address public_address = {4, {93, 184, 216, 34}};
static const moonplan_address private_address = {4, {10, 0, 0, 7}};

/* An envelope for this body, made by the library; the URL may be NULL. */
static sample envelope(const char *url, const char *body) {
    sample out = {NULL, 0, 0};
    moonplan_text where = {url, url ? strlen(url) : 0};
    moonplan_document *made =
        moonplan_artifact_make(MOONPLAN_KIND_CALL_PLAN, where, body, strlen(body), NULL, NULL);
    moonplan_text source = moonplan_value_source(moonplan_document_root(made));
    sample_add(&out, "%.*s", (int)source.length, source.bytes);
    moonplan_document_free(made);
    return out;
}

static moonplan_options all_transports(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    options.transports =
        MOONPLAN_TRANSPORT_DATA | MOONPLAN_TRANSPORT_HTTPS | MOONPLAN_TRANSPORT_FILE;
    return options;
}

static moonplan_artifact *open_at(const char *url, const char *body) {
    moonplan_options options = all_transports();
    moonplan_error err;
    sample text = envelope(url, body);
    moonplan_artifact *artifact =
        moonplan_artifact_parse(text.bytes, text.length, MOONPLAN_KIND_NONE, &options, &err);
    CHECK(artifact);
    sample_free(&text);
    return artifact;
}

static void wants(moonplan_artifact *artifact, moonplan_artifact_want want, moonplan_code code) {
    moonplan_error err = {.code = MOONPLAN_OK};
    CHECK(moonplan_artifact_next(artifact, &err) == want);
    CHECK(err.code == code);
    /* Asking again changes nothing. */
    CHECK(moonplan_artifact_next(artifact, NULL) == want);
    if (want != MOONPLAN_ARTIFACT_WANTS_NOTHING) CHECK(!moonplan_artifact_body(artifact).bytes);
}

static void https_wants_addresses_then_a_body(void) {
    moonplan_address address;
    moonplan_artifact *artifact = open_at("https://producer.example/a?b", "{}");
    CHECK_TEXT("producer.example", moonplan_artifact_host(artifact));
    CHECK_TEXT("/a?b", moonplan_artifact_target(artifact));
    CHECK(moonplan_artifact_size(artifact) == 2);
    CHECK(!moonplan_artifact_path(artifact).bytes);
    /* Nobody has asked yet. */
    CHECK(!moonplan_artifact_add(artifact, "{}", 2));
    CHECK(!moonplan_artifact_resolved(artifact, &public_address, 1));
    moonplan_artifact_fail(artifact, "too early");
    moonplan_artifact_end(artifact);
    wants(artifact, MOONPLAN_ARTIFACT_WANTS_ADDRESSES, MOONPLAN_OK);
    CHECK(!moonplan_artifact_add(artifact, "{}", 2));
    CHECK(!moonplan_artifact_status(artifact, 200));
    CHECK(!moonplan_artifact_address(artifact, &address, 0));
    moonplan_artifact_end(artifact);
    CHECK(moonplan_artifact_resolved(artifact, &public_address, 1));
    wants(artifact, MOONPLAN_ARTIFACT_WANTS_BODY, MOONPLAN_OK);
    /* A second answer from the resolver is not the one that was vetted. */
    CHECK(!moonplan_artifact_resolved(artifact, &private_address, 1));
    CHECK(moonplan_artifact_address(artifact, &address, 0));
    CHECK(memcmp(&address, &public_address, sizeof address) == 0);
    CHECK(!moonplan_artifact_address(artifact, &address, 1));
    CHECK(moonplan_artifact_status(artifact, 206));
    CHECK(moonplan_artifact_add(artifact, "{", 1));
    CHECK(moonplan_artifact_add(artifact, "", 0));
    wants(artifact, MOONPLAN_ARTIFACT_WANTS_BODY, MOONPLAN_OK);
    CHECK(moonplan_artifact_add(artifact, "}", 1));
    moonplan_artifact_end(artifact);
    wants(artifact, MOONPLAN_ARTIFACT_WANTS_NOTHING, MOONPLAN_OK);
    CHECK_TEXT("{}", moonplan_artifact_body(artifact));
    CHECK(!moonplan_artifact_add(artifact, "x", 1));
    moonplan_artifact_fail(artifact, "too late");
    wants(artifact, MOONPLAN_ARTIFACT_WANTS_NOTHING, MOONPLAN_OK);
    moonplan_artifact_free(artifact);
    moonplan_artifact_free(NULL);
}

static moonplan_artifact *at_body(const char *body) {
    moonplan_artifact *artifact = open_at("https://producer.example/", body);
    moonplan_artifact_next(artifact, NULL);
    moonplan_artifact_resolved(artifact, &public_address, 1);
    return artifact;
}

static void a_refusal_stays(void) {
    moonplan_address several[] = {{4, {93, 184, 216, 34}}, {4, {10, 0, 0, 7}}, {0, {0}}};
    moonplan_artifact *artifact = open_at("https://producer.example/", "{}");
    moonplan_artifact_next(artifact, NULL);
    CHECK(!moonplan_artifact_resolved(artifact, several, 2));
    wants(artifact, MOONPLAN_ARTIFACT_REFUSED, MOONPLAN_ARTIFACT_ADDRESS);
    CHECK(!moonplan_artifact_resolved(artifact, several, 1));
    CHECK(!moonplan_artifact_address(artifact, several, 0));
    CHECK(!moonplan_artifact_add(artifact, "{}", 2));
    moonplan_artifact_end(artifact);
    wants(artifact, MOONPLAN_ARTIFACT_REFUSED, MOONPLAN_ARTIFACT_ADDRESS);
    moonplan_artifact_free(artifact);
    /* An address of no length is no address. */
    artifact = open_at("https://producer.example/", "{}");
    moonplan_artifact_next(artifact, NULL);
    CHECK(!moonplan_artifact_resolved(artifact, several + 2, 1));
    wants(artifact, MOONPLAN_ARTIFACT_REFUSED, MOONPLAN_ARTIFACT_ADDRESS);
    moonplan_artifact_free(artifact);

    artifact = at_body("{}");
    CHECK(moonplan_artifact_add(artifact, "{", 1));
    size_t held = moonplan_artifact_memory(artifact, NULL);
    CHECK(!moonplan_artifact_add(artifact, "}}", 2));
    wants(artifact, MOONPLAN_ARTIFACT_REFUSED, MOONPLAN_ARTIFACT_LENGTH);
    /* What came is not kept. */
    CHECK(moonplan_artifact_memory(artifact, NULL) < held);
    moonplan_artifact_end(artifact);
    wants(artifact, MOONPLAN_ARTIFACT_REFUSED, MOONPLAN_ARTIFACT_LENGTH);
    moonplan_artifact_free(artifact);

    artifact = at_body("{}");
    CHECK(moonplan_artifact_add(artifact, "{", 1));
    moonplan_artifact_end(artifact);
    wants(artifact, MOONPLAN_ARTIFACT_REFUSED, MOONPLAN_ARTIFACT_LENGTH);
    moonplan_artifact_free(artifact);

    artifact = at_body("{}");
    CHECK(moonplan_artifact_add(artifact, "[]", 2));
    moonplan_artifact_end(artifact);
    wants(artifact, MOONPLAN_ARTIFACT_REFUSED, MOONPLAN_ARTIFACT_DIGEST);
    moonplan_artifact_free(artifact);

    for (unsigned status = 100; status < 600; status++) {
        artifact = at_body("{}");
        bool fine = moonplan_artifact_status(artifact, status);
        CHECK(fine == (status / 100 == 2));
        if (!fine) wants(artifact, MOONPLAN_ARTIFACT_REFUSED, MOONPLAN_ARTIFACT_UNAVAILABLE);
        moonplan_artifact_free(artifact);
    }

    artifact = at_body("{}");
    moonplan_artifact_fail(artifact, "the connection timed out");
    moonplan_error err;
    CHECK(moonplan_artifact_next(artifact, &err) == MOONPLAN_ARTIFACT_REFUSED);
    CHECK(strcmp(err.message, "the connection timed out") == 0 && strcmp(err.at, "/url") == 0);
    moonplan_artifact_free(artifact);
}

static void data_wants_nothing(void) {
    moonplan_artifact *artifact = open_at(NULL, "{\"a\":[1,2]}");
    CHECK(moonplan_artifact_transport(artifact) == MOONPLAN_TRANSPORT_DATA);
    CHECK(!moonplan_artifact_host(artifact).bytes && !moonplan_artifact_target(artifact).bytes);
    wants(artifact, MOONPLAN_ARTIFACT_WANTS_NOTHING, MOONPLAN_OK);
    CHECK_TEXT("{\"a\":[1,2]}", moonplan_artifact_body(artifact));
    moonplan_artifact_free(artifact);
    artifact = open_at(NULL, "");
    wants(artifact, MOONPLAN_ARTIFACT_WANTS_NOTHING, MOONPLAN_OK);
    CHECK_TEXT("", moonplan_artifact_body(artifact));
    moonplan_artifact_free(artifact);
}

/* One error for everything that can go wrong with a file, also in the list. */
static void files_fail_alike(void) {
    static const struct {
        const char *promised, *found; /* NULL: nothing is found */
    } cases[] = {{"{}", NULL}, {"{}", "{"},    {"{}", "{}}"},   {"{}", "[]"},
                 {"{}", "{}"}, {"{{{", "{{{"}, {"null", "null"}};
    moonplan_error first = {.code = MOONPLAN_OK};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        moonplan_artifact *artifact = open_at("file:///plans/a%20b", cases[i].promised);
        moonplan_options options;
        moonplan_error_list *list = NULL;
        moonplan_error err;
        moonplan_options_init(&options);
        options.errors = &list;
        CHECK_TEXT("/plans/a b", moonplan_artifact_path(artifact));
        CHECK(moonplan_artifact_next(artifact, &err) == MOONPLAN_ARTIFACT_WANTS_BODY);
        if (!cases[i].found) {
            moonplan_artifact_fail(artifact, "permission denied");
        } else {
            moonplan_artifact_add(artifact, cases[i].found, strlen(cases[i].found));
            moonplan_artifact_end(artifact);
        }
        if (moonplan_artifact_next(artifact, &err) == MOONPLAN_ARTIFACT_WANTS_NOTHING) {
            CHECK(!moonplan_artifact_call_plan(artifact, &options, &err));
            CHECK(moonplan_error_list_count(list) == 1);
            CHECK(memcmp(moonplan_error_list_at(list, 0), &err, sizeof err) == 0);
            moonplan_error_list_free(list);
        }
        if (i == 0) first = err;
        CHECK(memcmp(&first, &err, sizeof err) == 0);
        CHECK(err.code == MOONPLAN_ARTIFACT_UNAVAILABLE && err.offset == MOONPLAN_NO_OFFSET);
        moonplan_artifact_free(artifact);
    }
}

/* -- Memory --------------------------------------------------------------------*/

typedef struct outcome {
    bool accepted;
    moonplan_error err;
    uint8_t digest[32];
} outcome;

static bool drive(moonplan_artifact *artifact, moonplan_text body, moonplan_error *err) {
    for (;;) {
        switch (moonplan_artifact_next(artifact, err)) {
        case MOONPLAN_ARTIFACT_WANTS_ADDRESSES:
            moonplan_artifact_resolved(artifact, &public_address, 1);
            break;
        case MOONPLAN_ARTIFACT_WANTS_BODY:
            for (size_t at = 0; at < body.length; at++)
                if (!moonplan_artifact_add(artifact, body.bytes + at, 1)) break;
            moonplan_artifact_end(artifact);
            break;
        case MOONPLAN_ARTIFACT_REFUSED:
            return false;
        default:
            return true;
        }
    }
}

static outcome retrieve(sample text, moonplan_text body, bool list, counter *count, size_t fail_at,
                        bool fail_on) {
    outcome out;
    memset(&out, 0, sizeof out);
    moonplan_options options;
    moonplan_error_list *faults = NULL;
    counter_options(&options, count);
    options.transports = all_transports().transports;
    count->fail_at = fail_at;
    count->fail_on = fail_on;
    if (list) options.errors = &faults;
    moonplan_artifact *artifact = moonplan_artifact_parse(
        text.bytes, text.length, MOONPLAN_KIND_CALL_PLAN, &options, &out.err);
    if (artifact) {
        CHECK(faults == NULL);
        if (drive(artifact, body, &out.err)) {
            size_t peak;
            CHECK(moonplan_artifact_memory(artifact, &peak) == count->used);
            CHECK(peak >= count->used);
            moonplan_call_plan *plan = moonplan_artifact_call_plan(artifact, &options, &out.err);
            out.accepted = plan != NULL;
            if (plan) moonplan_call_plan_digest(plan, out.digest);
            moonplan_call_plan_free(plan);
        }
    }
    moonplan_artifact_free(artifact);
    moonplan_error_list_free(faults);
    CHECK(count->used == 0);
    CHECK(count->blocks == 0);
    CHECK(!count->wrong);
    return out;
}

static void fail_each(sample text, moonplan_text body, bool accepted) {
    for (int flags = 0; flags < 4; flags++) {
        counter count;
        outcome whole = retrieve(text, body, flags & 1, &count, 0, false);
        CHECK(whole.accepted == accepted);
        size_t calls = count.calls;
        for (size_t n = 1; n <= calls; n++) {
            outcome out = retrieve(text, body, flags & 1, &count, n, flags & 2);
            if (out.err.code == MOONPLAN_MEMORY)
                CHECK(!out.accepted);
            else
                CHECK(out.accepted == whole.accepted && out.err.code == whole.err.code &&
                      strcmp(out.err.message, whole.err.message) == 0 &&
                      memcmp(out.digest, whole.digest, sizeof out.digest) == 0);
        }
    }
    sample_free(&text);
}

static void every_allocation_may_fail(void) {
    static const char *const urls[] = {NULL, "https://producer.example/a", "https://1.1.1.1",
                                       "file:///plans/a", "file:///plans/../a"};
    sample plan = plan_tiny();
    moonplan_text body = {plan.bytes, plan.length}, other = text_of("{}");
    for (size_t i = 0; i < 5; i++) fail_each(envelope(urls[i], plan.bytes), body, i < 4);
    for (size_t i = 1; i < 5; i++) fail_each(envelope(urls[i], plan.bytes), other, false);
    for (size_t i = 0; i < 5; i++) fail_each(envelope(urls[i], "{}"), other, false);
    static const char *const bad[] = {
        "[]", "{\"kind\":1,\"url\":2,\"bytes\":-1,\"integrity\":{},\"instruction\":3}",
        "{\"kind\":\"artifact_reference\",\"artifact_type\":\"execution_plan\","
        "\"url\":\"data:application/json;base64,AAA\"}",
        "{\"kind\":\"artifact_reference\",\"artifact_type\":\"execution_plan\","
        "\"url\":\"data:application/json,%7b\\u007d\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sample text = {NULL, 0, 0};
        sample_add(&text, "%s", bad[i]);
        fail_each(text, other, false);
    }
    sample_free(&plan);
}

static void making_may_fail(void) {
    sample plan = plan_tiny();
    size_t calls = 1;
    for (size_t n = 0; n <= calls; n++) {
        counter count;
        moonplan_options options;
        moonplan_error err;
        counter_options(&options, &count);
        count.fail_at = n;
        moonplan_text none = {NULL, 0};
        moonplan_document *made = moonplan_artifact_make(MOONPLAN_KIND_CALL_PLAN, none, plan.bytes,
                                                         plan.length, &options, &err);
        if (n == 0) calls = count.calls;
        CHECK(n ? made || err.code == MOONPLAN_MEMORY : made != NULL);
        moonplan_document_free(made);
        CHECK(count.used == 0 && !count.wrong);
    }
    sample_free(&plan);
}

static void made_is_admitted(void) {
    moonplan_error err;
    moonplan_error_list *list = NULL;
    moonplan_options options = all_transports();
    options.errors = &list;
    static const struct {
        const char *url;
        moonplan_code code;
    } bad[] = {{"https://localhost/", MOONPLAN_ARTIFACT_HOST},
               {"https://10.0.0.1/", MOONPLAN_ARTIFACT_ADDRESS},
               {"ftp://producer.example/", MOONPLAN_ARTIFACT_URL},
               {"data:application/json,{}", MOONPLAN_ARTIFACT_URL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(!moonplan_artifact_make(MOONPLAN_KIND_CALL_PLAN, text_of(bad[i].url), "{}", 2,
                                      &options, &err));
        CHECK(err.code == bad[i].code && moonplan_error_list_count(list) == 1);
        moonplan_error_list_free(list);
    }
    options.limits.request_bytes = 1;
    CHECK(!moonplan_artifact_make(MOONPLAN_KIND_TYPED_DATA_REQUEST, text_of("file:///a"), "{}", 2,
                                  &options, &err));
    CHECK(err.code == MOONPLAN_LIMIT);
    moonplan_error_list_free(list);
}

/* -- Encodings -------------------------------------------------------------------*/

/* Of all texts that could be base64, those are taken that encoding gives back. */
static void base64_is_canonical(void) {
    static const char alphabet[] = "AABBQRwxgh/+=-_ \n=";
    for (int round = 0; round < 20000; round++) {
        char text[16];
        size_t length = random_below(13);
        for (size_t i = 0; i < length; i++) text[i] = alphabet[random_below(sizeof alphabet - 1)];
        text[length] = 0;
        sample bytes = {NULL, 0, 0};
        sample_add(&bytes, "{\"kind\":\"artifact_reference\",\"artifact_type\":\"execution_plan\","
                           "\"url\":\"data:application/json;base64,");
        for (size_t i = 0; i < length; i++)
            sample_add(&bytes, text[i] == '\n' ? "\\n" : "%c", text[i]);
        sample_add(&bytes, "\"}");
        moonplan_artifact *artifact =
            moonplan_artifact_parse(bytes.bytes, bytes.length, MOONPLAN_KIND_NONE, NULL, NULL);
        bool taken = moonplan_artifact_next(artifact, NULL) == MOONPLAN_ARTIFACT_WANTS_NOTHING;
        /* By hand: four at a time, padding in the last four alone and of the bits that are left. */
        bool canonical = length % 4 == 0;
        size_t padding = 0;
        while (padding < 2 && padding < length && text[length - 1 - padding] == '=') padding++;
        for (size_t i = 0; i + padding < length; i++)
            canonical = canonical && strchr("ABQRwxgh/+", text[i]);
        if (canonical && padding) {
            static const char digits[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            size_t value = (size_t)(strchr(digits, text[length - 1 - padding]) - digits);
            canonical = value % (padding == 1 ? 4 : 16) == 0;
        }
        CHECK(taken == canonical);
        if (taken) {
            char again[16];
            moonplan_text body = moonplan_artifact_body(artifact);
            sodium_bin2base64(again, sizeof again, (const unsigned char *)body.bytes, body.length,
                              sodium_base64_VARIANT_ORIGINAL);
            CHECK(strcmp(again, text) == 0);
        }
        moonplan_artifact_free(artifact);
        sample_free(&bytes);
    }
}

static void addresses_are_read_as_inet_pton_reads_them(void) {
    static const char *const seeds[] = {"1.2.3.4",
                                        "::",
                                        "::1",
                                        "1::",
                                        "2001:db8::1:0:0:1",
                                        "1:2:3:4:5:6:7:8",
                                        "::ffff:1.2.3.4",
                                        "1:2:3:4:5:6:1.2.3.4",
                                        "fe80::a:b",
                                        "255.255.255.255",
                                        "0:0:0:0:0:0:0:0"};
    static const char alphabet[] = "0123456789abcdefF:.:.";
    for (int round = 0; round < 200000; round++) {
        char text[64];
        strcpy(text, seeds[random_below(sizeof seeds / sizeof *seeds)]);
        for (size_t changes = random_below(4); changes > 0; changes--) {
            size_t length = strlen(text), at = random_below(length + 1);
            char byte = alphabet[random_below(sizeof alphabet - 1)];
            if (random_below(3) == 0 && at < length) {
                memmove(text + at, text + at + 1, length - at);
            } else if (random_below(2) == 0 && length < 60) {
                memmove(text + at + 1, text + at, length - at + 1);
                text[at] = byte;
            } else if (at < length) {
                text[at] = byte;
            }
        }
        uint8_t four[4], sixteen[16];
        moonplan_address address;
        bool is_four = inet_pton(AF_INET, text, four) == 1;
        bool is_six = inet_pton(AF_INET6, text, sixteen) == 1;
        CHECK(mpl_address_read_ipv4(&address, text_of(text)) == is_four);
        if (is_four) CHECK(address.length == 4 && memcmp(address.bytes, four, 4) == 0);
        CHECK(mpl_address_read_ipv6(&address, text_of(text)) == is_six);
        if (is_six) CHECK(address.length == 16 && memcmp(address.bytes, sixteen, 16) == 0);
    }
}

static void addresses_are_written_as_inet_ntop_writes_them(void) {
    for (int round = 0; round < 100000; round++) {
        moonplan_address address = {.length = random_below(4) ? 16 : 4};
        for (size_t i = 0; i < address.length; i++)
            address.bytes[i] = random_below(3) ? 0 : (uint8_t)random_next();
        /* The C library writes the old forms that carry an IPv4 address with dots. */
        static const uint8_t zeros[10];
        if (address.length == 16 && memcmp(address.bytes, zeros, sizeof zeros) == 0) continue;
        char ours[MOONPLAN_ADDRESS_TEXT], theirs[INET6_ADDRSTRLEN];
        size_t length = mpl_address_write(ours, &address);
        inet_ntop(address.length == 4 ? AF_INET : AF_INET6, address.bytes, theirs, sizeof theirs);
        CHECK(strcmp(ours, theirs) == 0 && strlen(ours) == length);
        moonplan_address again = {0};
        CHECK(address.length == 4 ? mpl_address_read_ipv4(&again, text_of(ours))
                                  : mpl_address_read_ipv6(&again, text_of(ours)));
        CHECK(memcmp(again.bytes, address.bytes, address.length) == 0);
    }
}

/* Every IPv4 address inside the forms that carry one is refused there, public or not. */
static void embedded_addresses_are_refused(void) {
    static const moonplan_address forms[] = {
        {16, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 93, 184, 216, 34}},
        {16, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 93, 184, 216, 34}},
        {16, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 93, 184, 216, 34}},
        {16, {0, 0x64, 0xff, 0x9b, 0, 1, 0, 0, 0, 0, 0, 0, 93, 184, 216, 34}},
        {16, {0x20, 2, 93, 184, 216, 34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
        {16, {0x20, 1, 0, 0, 93, 184, 216, 34, 0, 0, 0, 0, 0, 0, 0, 1}}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        CHECK(!mpl_address_is_public(&forms[i]));
    for (unsigned length = 0; length < 256; length++) {
        moonplan_address odd = {(uint8_t)length, {93, 184, 216, 34}};
        if (length != 4 && length != 16) CHECK(!mpl_address_is_public(&odd));
    }
    CHECK(mpl_address_is_public(&public_address));
}

int main(void) {
    RUN(https_wants_addresses_then_a_body);
    RUN(a_refusal_stays);
    RUN(data_wants_nothing);
    RUN(files_fail_alike);
    RUN(every_allocation_may_fail);
    RUN(making_may_fail);
    RUN(made_is_admitted);
    RUN(base64_is_canonical);
    RUN(addresses_are_read_as_inet_pton_reads_them);
    RUN(addresses_are_written_as_inet_ntop_writes_them);
    RUN(embedded_addresses_are_refused);
    return check_end();
}
