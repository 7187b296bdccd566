/* moonplan_http as a host has it: what is reached, what is refused, and in which words. Requests go
 * to a server of ours on loopback, in a network of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/host/http.h"
#include "check.h"
#include "server.h"

static server web;
static unsigned lookups, sockets;
static moonplan_address answers[2];
static size_t answer_count;
static char plain[64], secure[64];

static size_t resolve(void *data, const char *host, moonplan_address *out, size_t room) {
    (void)data, (void)host;
    lookups++;
    for (size_t i = 0; i < answer_count && i < room; i++) out[i] = answers[i];
    return answer_count;
}

/* A refused address is shown refused before a socket exists. */
static int no_socket(void *data, int *family, int type, int protocol, void *address,
                     unsigned *length) {
    (void)data, (void)family, (void)type, (void)protocol, (void)address, (void)length;
    sockets++;
    return -1;
}

static moonplan_text text(const char *bytes) {
    return (moonplan_text){bytes, bytes ? strlen(bytes) : 0};
}

typedef struct setting {
    const char *origins[4];
    unsigned methods;
    uint64_t request_bytes, response_bytes, fetch_ms, timeout_ms;
    bool system; /* the system's resolver */
    bool connects;
    const char *ca_file;
} setting;

static moonplan_http *open_with(const setting *s, const moonplan_options *base,
                                moonplan_error *err) {
    moonplan_text origins[4];
    moonplan_options options;
    if (base)
        options = *base;
    else
        moonplan_options_init(&options);
    if (s->fetch_ms) options.limits.fetch_ms = s->fetch_ms;
    moonplan_http_options http = {.origins = origins,
                                  .methods = s->methods,
                                  .request_bytes = s->request_bytes,
                                  .response_bytes = s->response_bytes,
                                  .ca_file = text(s->ca_file),
                                  .resolver = s->system ? NULL : resolve};
    for (size_t i = 0; i < 4 && s->origins[i]; i++)
        origins[http.origin_count++] = text(s->origins[i]);
    moonplan_http *made = moonplan_http_new(&http, &options, err);
    if (made && !s->connects) mpl_http_client_hook(made, no_socket, NULL);
    return made;
}

static moonplan_http_response *ask(const setting *s, const moonplan_http_request *request,
                                   moonplan_error *err) {
    memset(err, 0, sizeof *err);
    moonplan_http *http = open_with(s, NULL, err);
    if (!CHECK(http != NULL)) return NULL;
    moonplan_http_response *response = moonplan_http_response_new(http, request, err);
    moonplan_http_free(http);
    return response;
}

/* The code of what asking gives; MOONPLAN_OK for an answer. */
static moonplan_code code_of(const setting *s, unsigned method, const char *url,
                             moonplan_error *err) {
    moonplan_http_request request = {
        .method = method, .url = text(url), .timeout_ms = s->timeout_ms};
    moonplan_http_response *response = ask(s, &request, err);
    bool answered = response != NULL;
    moonplan_http_response_free(response);
    if (!answered) CHECK(strstr(err->message, "SECRET") == NULL && err->message[0] != 0);
    return answered ? MOONPLAN_OK : err->code;
}

static const char *server_url(const char *path) {
    static char url[200];
    snprintf(url, sizeof url, "%s%s", plain, path);
    return url;
}

/* -- Origins -----------------------------------------------------------------*/

static bool opens(const char *origin) {
    moonplan_error err = {.code = MOONPLAN_OK};
    setting s = {.origins = {origin}};
    moonplan_http *http = open_with(&s, NULL, &err);
    bool made = http != NULL;
    moonplan_http_free(http);
    if (!made) CHECK(err.code == MOONPLAN_OPTION && strlen(err.message) > 10);
    return made;
}

static void origins_have_their_forms(void) {
    static const char *const fine[] = {"api.example.com",
                                       "API.example.com",
                                       "api.example.com:8443",
                                       "https://api.example.com",
                                       "https://api.example.com:8443/",
                                       "https://api.example.com/v1/key?x=%20",
                                       "https://8.8.8.8",
                                       "https://[2606:4700::1111]:1",
                                       "http://127.0.0.1",
                                       "http://127.9.9.9:65535",
                                       "http://[::1]:8545",
                                       "http://localhost:8545",
                                       "https://localhost",
                                       "https://127.0.0.1:1"};
    static const char *const wrong[] = {"",
                                        "https://",
                                        "single",
                                        "http://api.example.com",
                                        "http://8.8.8.8",
                                        "ftp://api.example.com",
                                        "HTTPS://api.example.com",
                                        "https://user@api.example.com",
                                        "https://user:SECRET@api.example.com",
                                        "https://@api.example.com",
                                        "https://api.example.com#",
                                        "https://api.example.com/#x",
                                        "https://api.example.com:",
                                        "https://api.example.com:0",
                                        "https://api.example.com:00443",
                                        "https://api.example.com:65536",
                                        "https://api.example.com:443x",
                                        "https://api example.com",
                                        "https://api.example.com/a b",
                                        "https://api.example.com/\\x",
                                        "https://api.example.com/%2",
                                        "https://api.example.com/\xc3\xa4",
                                        "https://\xc3\xa4.example",
                                        "https://10.0.0.1",
                                        "https://169.254.169.254",
                                        "https://[fe80::1]",
                                        "https://[::ffff:127.0.0.1]",
                                        "https://2130706433",
                                        "https://127.1",
                                        "http://127.1",
                                        "http://0x7f.0.0.1",
                                        "http://127.0.0.01",
                                        "http://localhost.",
                                        "http://LOCALHOST",
                                        "http://a.localhost",
                                        "http://0.0.0.0",
                                        "http://[::]",
                                        "http://[::1",
                                        "http://[::1]x",
                                        "https://metadata.internal",
                                        "https://printer.local",
                                        "https:///path",
                                        "https://.example.com",
                                        "https://-a.example.com"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (!CHECK(opens(fine[i]))) printf("# %s\n", fine[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!CHECK(!opens(wrong[i]))) printf("# %s\n", wrong[i]);
}

/* Nothing is looked up, and no socket made, for what was not listed. */
static void only_origins_are_reached(void) {
    setting s = {.origins = {"api.example.com", "https://other.example:8443",
                             "https://whole.example/v1?key=1", "http://127.0.0.1:8545"}};
    static const struct {
        const char *url;
        moonplan_code code;
    } cases[] = {{"https://evil.example/", MOONPLAN_HTTP_ORIGIN},
                 {"https://api.example.com.evil.example/", MOONPLAN_HTTP_ORIGIN},
                 {"https://sub.api.example.com/", MOONPLAN_HTTP_ORIGIN},
                 {"https://api.example.com:8443/", MOONPLAN_HTTP_ORIGIN},
                 {"https://other.example/", MOONPLAN_HTTP_ORIGIN},
                 {"https://whole.example/", MOONPLAN_HTTP_ORIGIN},
                 {"https://whole.example/v1", MOONPLAN_HTTP_ORIGIN},
                 {"https://whole.example/v1?key=2", MOONPLAN_HTTP_ORIGIN},
                 {"http://127.0.0.1:8546/", MOONPLAN_HTTP_ORIGIN},
                 {"http://127.0.0.2:8545/", MOONPLAN_HTTP_ORIGIN},
                 {"http://localhost:8545/", MOONPLAN_HTTP_ORIGIN},
                 {"https://127.0.0.1:8545/", MOONPLAN_HTTP_ORIGIN},
                 {"http://api.example.com/", MOONPLAN_HTTP_URL},
                 {"https://api.example.com@evil.example/", MOONPLAN_HTTP_URL},
                 {"https://evil.example#api.example.com", MOONPLAN_HTTP_URL},
                 {"https://evil.example\\@api.example.com/", MOONPLAN_HTTP_URL},
                 {"https://api.example.com/a\r\nX: y", MOONPLAN_HTTP_URL},
                 {"file:///etc/passwd", MOONPLAN_HTTP_URL},
                 {"//api.example.com/", MOONPLAN_HTTP_URL},
                 {"https://169.254.169.254/", MOONPLAN_HTTP_ADDRESS},
                 {"", MOONPLAN_HTTP_URL}};
    moonplan_error err;
    lookups = sockets = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!CHECK(code_of(&s, MOONPLAN_HTTP_GET, cases[i].url, &err) == cases[i].code))
            printf("# %s: %s %s\n", cases[i].url, moonplan_code_name(err.code), err.message);
    moonplan_http_request request = {.method = MOONPLAN_HTTP_GET,
                                     .url = {"https://api.example.com/\0x", 26}};
    CHECK(ask(&s, &request, &err) == NULL && err.code == MOONPLAN_HTTP_URL);
    CHECK(lookups == 0 && sockets == 0);
}

/* The address that a name has today decides, and it decides before there is a socket. */
static void addresses_are_judged(void) {
    static const moonplan_address public4 = {4, {93, 184, 216, 34}},
                                  loopback4 = {4, {127, 0, 0, 1}}, private4 = {4, {10, 0, 0, 1}},
                                  link4 = {4, {169, 254, 169, 254}};
    static const moonplan_address loopback6 = {16, {[15] = 1}};
    setting s = {.origins = {"api.example.com", "http://localhost:8545"}};
    const moonplan_address wrong[] = {loopback4, private4, link4, loopback6};
    moonplan_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sockets = 0;
        answers[0] = public4;
        answers[1] = wrong[i];
        answer_count = 2;
        CHECK(code_of(&s, MOONPLAN_HTTP_GET, "https://api.example.com/", &err) ==
              MOONPLAN_HTTP_ADDRESS);
        CHECK(sockets == 0);
    }
    /* localhost that is not this machine. */
    answers[0] = loopback4;
    answers[1] = public4;
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, "http://localhost:8545/", &err) == MOONPLAN_HTTP_ADDRESS);
    answers[0] = private4;
    answer_count = 1;
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, "http://localhost:8545/", &err) == MOONPLAN_HTTP_ADDRESS);
    CHECK(sockets == 0);
    /* What may be reached comes as far as a socket. */
    answers[0] = loopback6;
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, "http://localhost:8545/", &err) ==
          MOONPLAN_HTTP_UNAVAILABLE);
    CHECK(sockets == 1);
    answers[0] = public4;
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, "https://API.example.com./", &err) ==
          MOONPLAN_HTTP_UNAVAILABLE);
    CHECK(sockets == 2);
    answer_count = 0;
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, "https://api.example.com/", &err) ==
          MOONPLAN_HTTP_UNAVAILABLE);
}

/* -- Requests and responses ----------------------------------------------------*/

static setting here(void) {
    return (setting){.origins = {plain}, .methods = 63, .connects = true};
}

static void a_response_is_whole(void) {
    setting s = here();
    static const moonplan_http_header headers[] = {{{"X-One", 5}, {"1", 1}}};
    moonplan_http_request request = {.method = MOONPLAN_HTTP_POST,
                                     .url = text(server_url("/early/tiny?q=1")),
                                     .headers = headers,
                                     .header_count = 1,
                                     .body = {"{}", 2}};
    moonplan_error err;
    moonplan_http_header header;
    char sent[1024], wanted[1024];
    moonplan_http_response *response = ask(&s, &request, &err);
    if (!CHECK(response != NULL)) return;
    CHECK(moonplan_http_response_status(response) == 200);
    CHECK_TEXT("{\"tiny\":1}", moonplan_http_response_body(response));
    CHECK(moonplan_http_response_header(response, &header, 0));
    CHECK_TEXT("content-length", header.name);
    CHECK_TEXT("10", header.value);
    CHECK(!moonplan_http_response_header(response, &header, 1));
    moonplan_http_response_free(response);
    server_last(&web, sent, sizeof sent);
    snprintf(wanted, sizeof wanted,
             "POST /early/tiny?q=1 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
             "Accept-Encoding: gzip, deflate\r\nX-One: 1\r\nContent-Length: 2\r\n\r\n{}",
             (unsigned)web.plain);
    if (!CHECK(strcmp(wanted, sent) == 0)) printf("# %s\n", sent);
    /* A URL without path, and a status that is no success. */
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, server_url("/missing"), &err) == MOONPLAN_OK);
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, server_url("/to-internal"), &err) == MOONPLAN_OK);
    CHECK(code_of(&s, MOONPLAN_HTTP_HEAD, server_url("/ok"), &err) == MOONPLAN_OK);
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, server_url("/gzip"), &err) == MOONPLAN_OK);
}

static void methods_and_bodies_are_allowed_or_not(void) {
    moonplan_error err;
    setting s = here();
    CHECK(moonplan_http_method(text("PATCH")) == MOONPLAN_HTTP_PATCH);
    CHECK(moonplan_http_method(text("get")) == 0 && moonplan_http_method(text("TRACE")) == 0);
    s.methods = 0; /* GET and HEAD */
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, server_url("/ok"), &err) == MOONPLAN_OK);
    CHECK(code_of(&s, MOONPLAN_HTTP_POST, server_url("/ok"), &err) == MOONPLAN_HTTP_METHOD);
    CHECK(code_of(&s, 0, server_url("/ok"), &err) == MOONPLAN_HTTP_METHOD);
    CHECK(code_of(&s, 3, server_url("/ok"), &err) == MOONPLAN_HTTP_METHOD);
    moonplan_http_request request = {
        .method = MOONPLAN_HTTP_GET, .url = text(server_url("/ok")), .body = {"x", 1}};
    CHECK(ask(&s, &request, &err) == NULL && err.code == MOONPLAN_HTTP_METHOD);
    static const moonplan_http_header wrong[] = {
        {{"Host", 4}, {"x", 1}}, {{"Cookie", 6}, {"x", 1}}, {{"X", 1}, {"a\r\nb", 4}}};
    for (size_t i = 0; i < 3; i++) {
        request = (moonplan_http_request){.method = MOONPLAN_HTTP_GET,
                                          .url = text(server_url("/ok")),
                                          .headers = &wrong[i],
                                          .header_count = 1};
        CHECK(ask(&s, &request, &err) == NULL && err.code == MOONPLAN_HTTP_HEADER);
    }
}

static void sizes_are_bounded(void) {
    moonplan_error err;
    setting s = here();
    moonplan_http_request request = {
        .method = MOONPLAN_HTTP_POST, .url = text(server_url("/ok")), .body = {"0123456789", 10}};
    s.request_bytes = 10;
    moonplan_http_response *response = ask(&s, &request, &err);
    CHECK(response != NULL);
    moonplan_http_response_free(response);
    s.request_bytes = 9;
    CHECK(ask(&s, &request, &err) == NULL && err.code == MOONPLAN_LIMIT);
    s = here();
    static const char *const paths[] = {"/ok", "/chunked", "/gzip"};
    for (size_t i = 0; i < 3; i++) { /* ten bytes each */
        s.response_bytes = 10;
        CHECK(code_of(&s, MOONPLAN_HTTP_GET, server_url(paths[i]), &err) == MOONPLAN_OK);
        s.response_bytes = 9;
        CHECK(code_of(&s, MOONPLAN_HTTP_GET, server_url(paths[i]), &err) == MOONPLAN_LIMIT);
    }
    s.response_bytes = 100000;
    static const char *const endless[] = {"/endless", "/endless-close", "/bomb", "/huge"};
    for (size_t i = 0; i < 4; i++)
        if (!CHECK(code_of(&s, MOONPLAN_HTTP_GET, server_url(endless[i]), &err) == MOONPLAN_LIMIT))
            printf("# %s %s\n", endless[i], err.message);
}

/* Whether the request may have arrived is the difference between the two codes. */
static void what_was_lost_is_told_apart(void) {
    moonplan_error err;
    setting s = here();
    s.fetch_ms = 5000;
    static const char *const lost[] = {"/hang-up",      "/partial",   "/headers", "/http09",
                                       "/endless-line", "/bad-chunk", "/br"};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if (!CHECK(code_of(&s, MOONPLAN_HTTP_POST, server_url(lost[i]), &err) ==
                   MOONPLAN_HTTP_INTERRUPTED))
            printf("# %s %s: %s\n", lost[i], moonplan_code_name(err.code), err.message);
    s.timeout_ms = 300;
    CHECK(code_of(&s, MOONPLAN_HTTP_POST, server_url("/silent"), &err) ==
          MOONPLAN_HTTP_INTERRUPTED);
    CHECK(strstr(err.message, "300 milliseconds") != NULL);
    /* The limit is the smaller one. */
    s.fetch_ms = 200;
    CHECK(code_of(&s, MOONPLAN_HTTP_POST, server_url("/silent"), &err) ==
          MOONPLAN_HTTP_INTERRUPTED);
    CHECK(strstr(err.message, "200 milliseconds") != NULL);
    /* Nobody listens there; a TLS handshake that fails has sent nothing of the request. */
    s = here();
    s.origins[0] = "http://127.0.0.1:1";
    CHECK(code_of(&s, MOONPLAN_HTTP_POST, "http://127.0.0.1:1/", &err) ==
          MOONPLAN_HTTP_UNAVAILABLE);
    s.origins[0] = secure;
    CHECK(code_of(&s, MOONPLAN_HTTP_POST, secure, &err) == MOONPLAN_HTTP_UNAVAILABLE);
}

static void https_to_loopback_verifies_as_well(void) {
    moonplan_error err;
    char origin[64];
    snprintf(origin, sizeof origin, "https://localhost:%u", (unsigned)web.secure);
    setting s = {.origins = {origin}, .connects = true, .ca_file = web.ca_file};
    answers[0] = (moonplan_address){4, {127, 0, 0, 1}};
    answer_count = 1;
    /* The certificate is for other names. */
    CHECK(code_of(&s, MOONPLAN_HTTP_GET, origin, &err) == MOONPLAN_HTTP_UNAVAILABLE);
    CHECK(strstr(err.message, "certificate") != NULL);
}

/* -- Memory --------------------------------------------------------------------*/

static void every_allocation_may_fail(void) {
    counter count;
    moonplan_options options;
    moonplan_error err;
    setting s = here();
    s.origins[1] = "api.example.com";
    static const moonplan_http_header headers[] = {{{"X-One", 5}, {"1", 1}}};
    moonplan_http_request request = {.method = MOONPLAN_HTTP_GET,
                                     .url = text(server_url("/ok?x")),
                                     .headers = headers,
                                     .header_count = 1};
    counter_options(&options, &count);
    for (size_t at = 1;; at++) {
        counter_options(&options, &count);
        count.fail_at = at;
        memset(&err, 0, sizeof err);
        moonplan_http *http = open_with(&s, &options, &err);
        moonplan_http_response *response =
            http ? moonplan_http_response_new(http, &request, &err) : NULL;
        bool answered = response != NULL;
        moonplan_http_response_free(response);
        moonplan_http_free(http);
        CHECK(count.used == 0 && !count.wrong);
        if (count.refused == 0) {
            CHECK(answered && at > 5);
            return;
        }
        if (!CHECK(!answered && err.code == MOONPLAN_MEMORY)) return;
    }
}

int main(void) {
    server_isolate();
    server_folder(&web);
    server_put(&web, "tiny", "{\"tiny\":1}", 10);
    RUN(origins_have_their_forms);
    RUN(only_origins_are_reached);
    RUN(addresses_are_judged);
    if (server_start(&web)) {
        snprintf(plain, sizeof plain, "http://127.0.0.1:%u", (unsigned)web.plain);
        snprintf(secure, sizeof secure, "https://127.0.0.1:%u", (unsigned)web.secure);
        RUN(a_response_is_whole);
        RUN(methods_and_bodies_are_allowed_or_not);
        RUN(sizes_are_bounded);
        RUN(what_was_lost_is_told_apart);
        RUN(https_to_loopback_verifies_as_well);
        RUN(every_allocation_may_fail);
    }
    server_stop(&web);
    return check_end();
}
