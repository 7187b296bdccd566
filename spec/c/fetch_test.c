/* https references against a server that misbehaves. Hosts are resolved by the test, and every
 * socket is the test's: it notes where the connection would have gone, and leads it to loopback.
 * The rules are those of ERC-8410, https Transport; what HTTP means is RFC 9112's and RFC 9110's.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../src/host/fetch.h"
#include "check.h"
#include "samples.h"
#include "server.h"

/* How late may be, on a machine that is busy with other tests, or with watching this one. */
static uint64_t slack_ms = 2500;

#ifdef MOONPLAN_WITH_CURL
static const bool with_curl = true;
#else
static const bool with_curl = false;
#endif

static server web;
static sample tiny, big;

/* -- A resolver, and sockets -----------------------------------------------------*/

static atomic_uint lookups, sockets;
static sem_t silence;              /* what a name without an answer waits for */
static moonplan_address connected; /* where the last connection would have gone */
static pthread_mutex_t note = PTHREAD_MUTEX_INITIALIZER;

static const moonplan_address stand_in = {4, {93, 184, 216, 34}};
static const moonplan_address old_stand_in = {4, {93, 184, 216, 35}};
static const moonplan_address dead_stand_in = {4, {93, 184, 216, 36}};
static const moonplan_address six_stand_in = {
    16, {0x26, 0x06, 0x28, 0, 0x02, 0x20, 0, 1, 2, 0x48, 0x18, 0x93, 0x25, 0xc8, 0x19, 0x46}};
static const moonplan_address loopback = {4, {127, 0, 0, 1}};

static size_t resolve(void *data, const char *host, moonplan_address *out, size_t room) {
    (void)data;
    unsigned n = atomic_fetch_add(&lookups, 1);
    if (strcmp(host, "silent.example") == 0) {
        sem_wait(&silence);
        return 0;
    }
    if (strcmp(host, "none.example") == 0) return 0;
    out[0] = stand_in;
    if (strcmp(host, "old.example") == 0) out[0] = old_stand_in;
    if (strcmp(host, "dead.example") == 0) out[0] = dead_stand_in;
    if (strcmp(host, "six.example") == 0) out[0] = six_stand_in;
    if (strcmp(host, "private.example") == 0) out[0] = loopback;
    if (strcmp(host, "rebind.example") == 0 && n > 0) out[0] = loopback;
    if (strcmp(host, "mixed.example") == 0) out[1] = loopback;
    if (strcmp(host, "both.example") == 0) out[1] = six_stand_in;
    if (strcmp(host, "half.example") == 0) {
        out[0] = dead_stand_in;
        out[1] = stand_in;
    }
    if (strcmp(host, "mixed.example") == 0 || strcmp(host, "both.example") == 0 ||
        strcmp(host, "half.example") == 0)
        return 2;
    if (strcmp(host, "many.example") == 0) {
        for (size_t i = 0; i < room; i++) out[i] = stand_in;
        return room + 1;
    }
    return 1;
}

static int make_socket(void *data, int *family, int type, int protocol, void *address,
                       unsigned *length) {
    (void)data;
    moonplan_address to = {0, {0}};
    uint16_t port;
    if (*family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        to.length = 4;
        memcpy(to.bytes, &four.sin_addr, 4);
        port = ntohs(four.sin_port);
    } else {
        struct sockaddr_in6 six;
        memcpy(&six, address, sizeof six);
        to.length = 16;
        memcpy(to.bytes, &six.sin6_addr, 16);
        port = ntohs(six.sin6_port);
    }
    atomic_fetch_add(&sockets, 1);
    CHECK(port == 443);
    pthread_mutex_lock(&note);
    connected = to;
    pthread_mutex_unlock(&note);
    /* Port 1 of a network of one's own has nobody on it. */
    server_loopback(family, address, length,
                    memcmp(&to, &old_stand_in, sizeof to) == 0    ? web.old
                    : memcmp(&to, &dead_stand_in, sizeof to) == 0 ? 1
                                                                  : web.secure);
    return socket(*family, type, protocol);
}

/* -- Fetching ----------------------------------------------------------------*/

static moonplan_fetcher *open_fetcher(uint64_t fetch_ms, uint64_t fetches, bool trusted) {
    moonplan_options options;
    moonplan_error err;
    moonplan_fetch_options fetch = {.resolver = resolve};
    moonplan_options_init(&options);
    if (fetch_ms) options.limits.fetch_ms = fetch_ms;
    if (fetches) options.limits.fetches = fetches;
    if (trusted) fetch.ca_file = (moonplan_text){web.ca_file, strlen(web.ca_file)};
    moonplan_fetcher *fetcher = moonplan_fetcher_new(&fetch, &options, &err);
    if (!CHECK(fetcher != NULL)) exit(1);
    mpl_fetcher_hook(fetcher, make_socket, NULL);
    return fetcher;
}

static moonplan_artifact *open_artifact(const char *url, const sample *body) {
    moonplan_options options;
    moonplan_error err;
    moonplan_options_init(&options);
    options.transports = MOONPLAN_TRANSPORT_HTTPS;
    moonplan_document *made =
        moonplan_artifact_make(MOONPLAN_KIND_CALL_PLAN, (moonplan_text){url, strlen(url)},
                               body->bytes, body->length, &options, &err);
    if (!CHECK(made != NULL)) {
        printf("# %s: %s\n", url, err.message);
        exit(1);
    }
    moonplan_text source = moonplan_value_source(moonplan_document_root(made));
    moonplan_artifact *artifact = moonplan_artifact_parse(source.bytes, source.length,
                                                          MOONPLAN_KIND_CALL_PLAN, &options, &err);
    moonplan_document_free(made);
    if (!CHECK(artifact != NULL)) exit(1);
    return artifact;
}

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* MOONPLAN_OK when the body came and is the promised one; *took is filled, *err as well. */
static moonplan_code fetch_with(moonplan_fetcher *fetcher, const char *url, const sample *body,
                                moonplan_error *err, uint64_t *took) {
    moonplan_artifact *artifact = open_artifact(url, body);
    uint64_t from = milliseconds();
    bool fine = moonplan_artifact_fetch(artifact, fetcher, err);
    *took = milliseconds() - from;
    moonplan_text got = moonplan_artifact_body(artifact);
    if (fine) {
        CHECK(got.length == body->length && memcmp(got.bytes, body->bytes, got.length) == 0);
    } else {
        CHECK(!got.bytes && err->message[0] && strcmp(err->message, "") != 0);
        CHECK(strstr(err->message, "SECRET") == NULL);
        CHECK(strchr(err->message, '\n') == NULL && err->message[strlen(err->message) - 1] != '.');
    }
    moonplan_artifact_free(artifact);
    return fine ? MOONPLAN_OK : err->code;
}

static moonplan_code fetch_ms(const char *path, const sample *body, uint64_t limit,
                              uint64_t *took) {
    char url[256];
    moonplan_error err;
    moonplan_fetcher *fetcher = open_fetcher(limit, 0, true);
    snprintf(url, sizeof url, "https://producer.example%s", path);
    moonplan_code code = fetch_with(fetcher, url, body, &err, took);
    moonplan_fetcher_free(fetcher);
    return code;
}

static bool gives(const char *path, const sample *body, moonplan_code expected) {
    uint64_t took;
    moonplan_code code = fetch_ms(path, body, 0, &took);
    if (code != expected)
        printf("# %s: %s, not %s\n", path, moonplan_code_name(code), moonplan_code_name(expected));
    /* None of these waits for anything. */
    if (took >= slack_ms) printf("# %s took %u ms\n", path, (unsigned)took);
    return CHECK(code == expected) && CHECK(took < slack_ms);
}

static bool refused_host(const char *host, moonplan_code expected) {
    char url[256];
    moonplan_error err;
    uint64_t took;
    moonplan_fetcher *fetcher = open_fetcher(0, 0, true);
    snprintf(url, sizeof url, "https://%s/ok/tiny", host);
    moonplan_code code = fetch_with(fetcher, url, &tiny, &err, &took);
    moonplan_fetcher_free(fetcher);
    if (code != expected) printf("# %s: %s %s\n", host, moonplan_code_name(code), err.message);
    return CHECK(code == expected);
}

/* Opens libcurl, and shows how fast this machine is. */
static void a_first_reference_is_fetched(void) {
    uint64_t took;
    CHECK(fetch_ms("/ok", &tiny, 60000, &took) == MOONPLAN_OK);
    slack_ms += 2 * took;
}

/* -- What is taken -------------------------------------------------------------*/

static void bodies_come_whatever_their_framing(void) {
    /* cut-off: no end of TLS behind the body; that it is whole is seen by its length. */
    static const char *const paths[] = {"/ok",      "/close",       "/cut-off",  "/chunked",
                                        "/html",    "/early",       "/gzip",     "/x-gzip",
                                        "/deflate", "/raw-deflate", "/identity", "/stored"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char path[64];
        gives(paths[i], &tiny, MOONPLAN_OK);
        snprintf(path, sizeof path, "%s/big?a=b", paths[i]);
        gives(path, &big, MOONPLAN_OK);
    }
}

static void what_was_proved_is_told(void) {
    moonplan_error err;
    moonplan_fetcher *fetcher = open_fetcher(0, 0, true);
    moonplan_artifact *artifact = open_artifact("https://Producer.Example.:443/ok", &tiny);
    CHECK(moonplan_artifact_fetch(artifact, fetcher, &err));
    CHECK(moonplan_artifact_fetch(artifact, fetcher, &err)); /* nothing is wanted any more */
    CHECK(moonplan_artifact_transport(artifact) == MOONPLAN_TRANSPORT_HTTPS);
    CHECK_TEXT("producer.example", moonplan_artifact_host(artifact));
    moonplan_call_plan *plan = moonplan_artifact_call_plan(artifact, NULL, &err);
    CHECK(plan != NULL);
    moonplan_call_plan_free(plan);
    moonplan_artifact_free(artifact);
    moonplan_fetcher_free(fetcher);
    moonplan_fetcher_free(NULL);
}

/* H9: no credentials, cookies, or anything else of ours. The target goes out as it was written. */
static void the_request_says_no_more_than_it_must(void) {
    char request[4096];
    gives("/ok/tiny/../%41?x=%2e&y", &tiny, MOONPLAN_OK);
    server_last(&web, request, sizeof request);
    CHECK(strcmp(request,
                 "GET /ok/tiny/../%41?x=%2e&y HTTP/1.1\r\nHost: producer.example\r\n"
                 "Accept-Encoding: gzip, deflate\r\nAccept: application/json\r\n\r\n") == 0);
}

/* -- Addresses -----------------------------------------------------------------*/

static void only_checked_addresses_are_connected_to(void) {
    atomic_store(&lookups, 0);
    atomic_store(&sockets, 0);
    CHECK(refused_host("producer.example", MOONPLAN_OK));
    CHECK(memcmp(&connected, &stand_in, sizeof connected) == 0);
    CHECK(refused_host("six.example", MOONPLAN_OK));
    CHECK(memcmp(&connected, &six_stand_in, sizeof connected) == 0);
    CHECK(refused_host("both.example", MOONPLAN_OK));
    CHECK(atomic_load(&lookups) == 3);
    /* One address does not answer; the other one does. */
    CHECK(refused_host("half.example", MOONPLAN_OK));
    CHECK(memcmp(&connected, &stand_in, sizeof connected) == 0);
    CHECK(refused_host("dead.example", MOONPLAN_ARTIFACT_UNAVAILABLE));
    /* Literals are their own resolution. */
    atomic_store(&lookups, 0);
    CHECK(refused_host("93.184.216.34", MOONPLAN_OK));
    CHECK(refused_host("[2606:2800:220:1:248:1893:25C8:1946]", MOONPLAN_OK));
    CHECK(memcmp(&connected, &six_stand_in, sizeof connected) == 0);
    CHECK(atomic_load(&lookups) == 0);
}

/* The first answer is public, every later one loopback: with and without the root dot there is one
 * look-up, and its answer is connected to. */
static void names_are_looked_up_once(void) {
    static const char *const hosts[] = {"rebind.example", "rebind.example.", "REBIND.example"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        atomic_store(&lookups, 0);
        CHECK(refused_host(hosts[i], MOONPLAN_OK));
        CHECK(atomic_load(&lookups) == 1);
        CHECK(memcmp(&connected, &stand_in, sizeof connected) == 0);
        /* Which is then loopback, and refused. */
        CHECK(refused_host(hosts[i], MOONPLAN_ARTIFACT_ADDRESS));
    }
}

static void no_socket_is_made_for_other_addresses(void) {
    atomic_store(&sockets, 0);
    CHECK(refused_host("mixed.example", MOONPLAN_ARTIFACT_ADDRESS));
    CHECK(refused_host("private.example", MOONPLAN_ARTIFACT_ADDRESS));
    CHECK(refused_host("none.example", MOONPLAN_ARTIFACT_UNAVAILABLE));
    CHECK(refused_host("many.example", MOONPLAN_ARTIFACT_UNAVAILABLE));
    CHECK(atomic_load(&sockets) == 0);
}

/* Hosts that never get as far as a resolver: the reference is refused when it is parsed. */
static void no_reference_names_an_address_of_this_network(void) {
    static const char *const hosts[] = {"127.0.0.1",
                                        "127.1",
                                        "127.0.1",
                                        "2130706433",
                                        "0x7f000001",
                                        "0x7f.1",
                                        "0177.0.0.1",
                                        "017700000001",
                                        "0",
                                        "0.0.0.0",
                                        "localhost",
                                        "localhost.",
                                        "LOCALHOST",
                                        "a.localhost",
                                        "10.0.0.1",
                                        "172.16.0.1",
                                        "172.31.255.255",
                                        "192.168.0.1",
                                        "169.254.169.254",
                                        "100.64.0.1",
                                        "192.0.0.8",
                                        "192.88.99.1",
                                        "198.18.0.1",
                                        "203.0.113.1",
                                        "224.0.0.1",
                                        "240.0.0.1",
                                        "255.255.255.255",
                                        "[::]",
                                        "[::1]",
                                        "[::ffff:127.0.0.1]",
                                        "[::ffff:7f00:1]",
                                        "[::10.0.0.1]",
                                        "[64:ff9b::a00:1]",
                                        "[64:ff9b:1::1]",
                                        "[2002:a00:1::]",
                                        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
                                        "[fec0::1]",
                                        "[fe80::1]",
                                        "[fe80::1%25eth0]",
                                        "[fc00::1]",
                                        "[fd00::1]",
                                        "[ff02::1]",
                                        "[2001:10::1]",
                                        "[2001:db8::1]",
                                        "[3fff::1]",
                                        "[100::1]",
                                        "[4000::1]",
                                        "127.0.0.1.",
                                        "metadata",
                                        "metadata.google.internal",
                                        "printer.local",
                                        "x.onion",
                                        "user@producer.example",
                                        "user:pass@producer.example",
                                        "producer.example:80",
                                        "producer.example:8443",
                                        "127。0。0。1",
                                        "①②⑦.⓪.⓪.①"};
    moonplan_options options;
    moonplan_error err;
    moonplan_options_init(&options);
    options.transports = MOONPLAN_TRANSPORT_HTTPS;
    atomic_store(&lookups, 0);
    atomic_store(&sockets, 0);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        sample text = {NULL, 0, 0};
        sample_add(&text,
                   "{\"kind\":\"artifact_reference\",\"artifact_type\":\"execution_plan\","
                   "\"url\":\"https://%s/ok/tiny\",\"bytes\":2,\"integrity\":{\"algorithm\":"
                   "\"keccak256\",\"value\":\"0x%064d\"}}",
                   hosts[i], 0);
        moonplan_artifact *artifact =
            moonplan_artifact_parse(text.bytes, text.length, MOONPLAN_KIND_NONE, &options, &err);
        if (!CHECK(artifact == NULL)) printf("# %s\n", hosts[i]);
        moonplan_artifact_free(artifact);
        sample_free(&text);
    }
    CHECK(atomic_load(&lookups) == 0 && atomic_load(&sockets) == 0);
}

/* -- Certificates ----------------------------------------------------------------*/

static void certificates_are_verified(void) {
    unsigned requests, internal, peak;
    moonplan_error err;
    uint64_t took;
    server_reset(&web);
    CHECK(refused_host("wrong.example", MOONPLAN_ARTIFACT_UNAVAILABLE));
    CHECK(refused_host("stranger.example", MOONPLAN_ARTIFACT_UNAVAILABLE));
    CHECK(refused_host("expired.example", MOONPLAN_ARTIFACT_UNAVAILABLE));
    CHECK(refused_host("old.example", MOONPLAN_ARTIFACT_UNAVAILABLE));
    /* An authority that only this test knows is not the system's, whatever the environment says. */
    setenv("SSL_CERT_FILE", web.ca_file, 1);
    setenv("CURL_CA_BUNDLE", web.ca_file, 1);
    moonplan_fetcher *fetcher = open_fetcher(0, 0, false);
    CHECK(fetch_with(fetcher, "https://producer.example/ok", &tiny, &err, &took) ==
          MOONPLAN_ARTIFACT_UNAVAILABLE);
    CHECK(strcmp(err.message, "the server's certificate is not trusted, or not for this host") ==
          0);
    moonplan_fetcher_free(fetcher);
    unsetenv("SSL_CERT_FILE");
    unsetenv("CURL_CA_BUNDLE");
    /* Nothing was asked of a server that could not show who it is. */
    server_stats(&web, &requests, &internal, &peak);
    CHECK(requests == 0);
}

static void the_file_of_authorities_must_be_there(void) {
    moonplan_fetch_options fetch = {.resolver = resolve, .ca_file = {"/none/ca.pem", 12}};
    moonplan_error err;
    uint64_t took;
    moonplan_fetcher *fetcher = moonplan_fetcher_new(&fetch, NULL, &err);
    mpl_fetcher_hook(fetcher, make_socket, NULL);
    CHECK(fetch_with(fetcher, "https://producer.example/ok", &tiny, &err, &took) ==
          MOONPLAN_ARTIFACT_UNAVAILABLE);
    moonplan_fetcher_free(fetcher);
    fetch.ca_file = (moonplan_text){"a\0b", 3};
    CHECK(!moonplan_fetcher_new(&fetch, NULL, &err) && err.code == MOONPLAN_OPTION);
}

/* -- Bodies that are not as promised ---------------------------------------------*/

static void lengths_and_digests_are_held_to(void) {
    gives("/short", &tiny, MOONPLAN_ARTIFACT_LENGTH);
    gives("/empty", &tiny, MOONPLAN_ARTIFACT_LENGTH);
    gives("/long", &tiny, MOONPLAN_ARTIFACT_LENGTH);
    gives("/long-close", &tiny, MOONPLAN_ARTIFACT_LENGTH);
    gives("/gzip-cut", &big, MOONPLAN_ARTIFACT_LENGTH);
    gives("/other", &tiny, MOONPLAN_ARTIFACT_DIGEST);
    gives("/partial", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/break-off", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/bad-chunk", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/huge", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/huger", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/hang-up", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
}

static void endless_responses_are_ended(void) {
    gives("/endless", &tiny, MOONPLAN_ARTIFACT_LENGTH);
    gives("/endless-close", &tiny, MOONPLAN_ARTIFACT_LENGTH);
    gives("/endless-extension", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/endless-trailer", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/endless-line", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/endless-hints", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/empty-blocks", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/headers", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
}

/* A gibibyte of spaces in a mebibyte of gzip: what was promised is the most that is kept. */
static void a_bomb_is_stopped_while_it_unfolds(void) {
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    gives("/bomb", &tiny, MOONPLAN_ARTIFACT_LENGTH);
    gives("/bomb/big", &big, MOONPLAN_ARTIFACT_LENGTH);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 65536); /* KiB */
}

/* Two members would be one body by RFC 1952; libcurl reads one, and takes the rest for a fault. */
static void encodings_that_were_not_asked_for_are_refused(void) {
    static const char *const paths[] = {"/br",      "/zstd",     "/twice",     "/twice-apart",
                                        "/te-gzip", "/not-gzip", "/gzip-tail", "/gzip-members"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        gives(paths[i], &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
}

static void what_is_no_http_1_is_refused(void) {
    gives("/http09", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/not-http", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/switch", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    gives("/missing", &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
}

static void redirects_are_not_followed(void) {
    static const char *const paths[] = {"/to-internal", "/to-host", "/to-decimal", "/to-file",
                                        "/to-gopher",   "/to-data", "/to-self"};
    unsigned requests, internal, peak;
    server_reset(&web);
    atomic_store(&sockets, 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        gives(paths[i], &tiny, MOONPLAN_ARTIFACT_UNAVAILABLE);
    server_stats(&web, &requests, &internal, &peak);
    CHECK(requests == 7 && internal == 0 && atomic_load(&sockets) == 7);
    /* Nor was the cookie kept that came with them. */
    char request[4096];
    gives("/ok", &tiny, MOONPLAN_OK);
    server_last(&web, request, sizeof request);
    CHECK(strstr(request, "ookie") == NULL);
}

static void the_environment_has_no_say(void) {
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY"};
    char proxy[64], netrc[128], request[4096];
    unsigned requests, internal, peak;
    snprintf(proxy, sizeof proxy, "http://127.0.0.2:%u", (unsigned)web.internal);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) setenv(names[i], proxy, 1);
    static const char secrets[] = "machine producer.example login me password SECRET\n";
    server_put(&web, ".netrc", secrets, sizeof secrets - 1);
    server_put(&web, ".curlrc", "location\n", 9);
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    snprintf(netrc, sizeof netrc, "%s/.netrc", web.folder);
    setenv("HOME", web.folder, 1);
    setenv("NETRC", netrc, 1);
    server_reset(&web);
    gives("/ok", &tiny, MOONPLAN_OK);
    server_stats(&web, &requests, &internal, &peak);
    CHECK(requests == 1 && internal == 0);
    server_last(&web, request, sizeof request);
    CHECK(strstr(request, "uthorization") == NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    unsetenv("NETRC");
    if (home) setenv("HOME", home, 1);
    free(home);
}

/* -- Time ----------------------------------------------------------------------*/

static void the_time_is_bounded(void) {
    static const char *const paths[] = {"/silent", "/drip-head", "/drip-body"};
    uint64_t took;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        CHECK(fetch_ms(paths[i], &tiny, 500, &took) == MOONPLAN_ARTIFACT_UNAVAILABLE);
        CHECK(took >= 499 && took < 500 + slack_ms);
    }
    /* Four bytes a second, and fifteen seconds left. */
    CHECK(fetch_ms("/drip-body", &tiny, 0, &took) == MOONPLAN_ARTIFACT_UNAVAILABLE);
    CHECK(took >= 1900 && took < 4000 + slack_ms);
}

/* A name that nobody answers for holds up nothing but its own reference, and not for long; what
 * still waits for answers is bounded. */
static void names_without_answer_are_given_up(void) {
    moonplan_error err;
    uint64_t took;
    moonplan_fetcher *fetcher = open_fetcher(100, 0, true);
    for (size_t i = 0; i < 20; i++) {
        CHECK(fetch_with(fetcher, "https://silent.example/ok", &tiny, &err, &took) ==
              MOONPLAN_ARTIFACT_UNAVAILABLE);
        CHECK(took < 100 + slack_ms);
        if (i == 0)
            CHECK(strcmp(err.message, "the host's name was not resolved in time: the limit "
                                      "fetch_ms allows 100 milliseconds") == 0);
        if (i >= 16)
            CHECK(strcmp(err.message, "too many earlier look-ups of names still have no answer") ==
                  0);
    }
    /* An address needs no look-up. */
    moonplan_fetcher_free(fetcher);
    for (size_t i = 0; i < 16; i++) sem_post(&silence);
}

typedef struct visitor {
    moonplan_fetcher *fetcher;
    moonplan_code code;
    uint64_t took;
} visitor;

static void *visit(void *data) {
    visitor *v = data;
    moonplan_error err;
    v->code = fetch_with(v->fetcher, "https://producer.example/hold", &tiny, &err, &v->took);
    return NULL;
}

static void references_wait_for_their_turn(void) {
    enum { VISITORS = 12 };
    pthread_t threads[VISITORS];
    visitor visitors[VISITORS];
    unsigned requests, internal, peak;
    moonplan_fetcher *fetcher = open_fetcher(0, 2, true);
    server_reset(&web);
    for (size_t i = 0; i < VISITORS; i++) {
        visitors[i].fetcher = fetcher;
        CHECK(pthread_create(&threads[i], NULL, visit, &visitors[i]) == 0);
    }
    for (size_t i = 0; i < VISITORS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(visitors[i].code == MOONPLAN_OK);
    }
    server_stats(&web, &requests, &internal, &peak);
    CHECK(requests == VISITORS && peak == 2);
    moonplan_fetcher_free(fetcher);
    /* Those whose turn does not come in time say so. */
    fetcher = open_fetcher(800, 1, true);
    for (size_t i = 0; i < VISITORS; i++) {
        visitors[i].fetcher = fetcher;
        CHECK(pthread_create(&threads[i], NULL, visit, &visitors[i]) == 0);
    }
    size_t late = 0;
    for (size_t i = 0; i < VISITORS; i++) {
        pthread_join(threads[i], NULL);
        late += visitors[i].code == MOONPLAN_ARTIFACT_UNAVAILABLE;
        CHECK(visitors[i].took < 800 + slack_ms);
    }
    CHECK(late >= VISITORS - 3);
    moonplan_fetcher_free(fetcher);
}

/* -- Without libcurl ---------------------------------------------------------------*/

static void the_error_says_which_option_was_off(void) {
    moonplan_error err;
    uint64_t took;
    moonplan_fetcher *fetcher = open_fetcher(0, 0, false);
    CHECK(fetch_with(fetcher, "https://producer.example/ok", &tiny, &err, &took) ==
          MOONPLAN_ARTIFACT_UNAVAILABLE);
    CHECK(strstr(err.message, "MOONPLAN_WITH_CURL") != NULL);
    CHECK(atomic_load(&lookups) == 0 && atomic_load(&sockets) == 0);
    moonplan_fetcher_free(fetcher);
}

/* -- Memory --------------------------------------------------------------------*/

static void memory_may_fail(void) {
    for (size_t n = 1;; n++) {
        counter count;
        moonplan_options options;
        moonplan_error err;
        sample text = {NULL, 0, 0};
        counter_options(&options, &count);
        options.transports = MOONPLAN_TRANSPORT_HTTPS;
        moonplan_fetch_options fetch = {.resolver = resolve,
                                        .ca_file = {web.ca_file, strlen(web.ca_file)}};
        moonplan_document *made = moonplan_artifact_make(
            MOONPLAN_KIND_CALL_PLAN, (moonplan_text){"https://producer.example/ok", 27}, tiny.bytes,
            tiny.length, NULL, &err);
        moonplan_text source = moonplan_value_source(moonplan_document_root(made));
        sample_add(&text, "%.*s", (int)source.length, source.bytes);
        moonplan_document_free(made);
        moonplan_artifact *artifact = moonplan_artifact_parse(
            text.bytes, text.length, MOONPLAN_KIND_CALL_PLAN, &options, &err);
        CHECK(artifact != NULL);
        count.fail_at = count.calls + n;
        moonplan_fetcher *fetcher = moonplan_fetcher_new(&fetch, &options, &err);
        if (fetcher) mpl_fetcher_hook(fetcher, make_socket, NULL);
        bool fine = fetcher && moonplan_artifact_fetch(artifact, fetcher, &err);
        if (!fine) CHECK(err.code == MOONPLAN_MEMORY);
        bool refused = count.refused > 0;
        moonplan_artifact_free(artifact);
        moonplan_fetcher_free(fetcher);
        sample_free(&text);
        CHECK(count.used == 0 && !count.wrong);
        CHECK(fine != refused);
        if (fine) break;
    }
}

int main(void) {
    server_isolate();
    sem_init(&silence, 0, 0);
    tiny = plan_tiny();
    big = plan_many(60, 3000);
    server_folder(&web);
    server_put(&web, "tiny", tiny.bytes, tiny.length);
    server_put(&web, "big", big.bytes, big.length);
    RUN(no_reference_names_an_address_of_this_network);
    if (with_curl)
        RUN(no_socket_is_made_for_other_addresses);
    else
        RUN(the_error_says_which_option_was_off);
    if (with_curl && server_start(&web)) {
        RUN(a_first_reference_is_fetched);
        RUN(bodies_come_whatever_their_framing);
        RUN(what_was_proved_is_told);
        RUN(the_request_says_no_more_than_it_must);
        RUN(only_checked_addresses_are_connected_to);
        RUN(names_are_looked_up_once);
        RUN(certificates_are_verified);
        RUN(the_file_of_authorities_must_be_there);
        RUN(lengths_and_digests_are_held_to);
        RUN(endless_responses_are_ended);
        RUN(a_bomb_is_stopped_while_it_unfolds);
        RUN(encodings_that_were_not_asked_for_are_refused);
        RUN(what_is_no_http_1_is_refused);
        RUN(redirects_are_not_followed);
        RUN(the_environment_has_no_say);
        RUN(the_time_is_bounded);
        RUN(names_without_answer_are_given_up);
        RUN(references_wait_for_their_turn);
        RUN(memory_may_fail);
    }
    server_stop(&web);
    sample_free(&tiny);
    sample_free(&big);
    return check_end();
}
