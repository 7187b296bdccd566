/* The HTTP client by itself: what a policy lets through, and what goes out. Plain HTTP to a server
 * of ours on loopback. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/alloc.h"
#include "../../src/host/http.h"
#include "check.h"
#include "server.h"

static server web;
static unsigned lookups, sockets;
static moonplan_address answer = {4, {127, 0, 0, 1}};

static size_t resolve(void *data, const char *host, moonplan_address *out, size_t room) {
    (void)data, (void)host, (void)room;
    lookups++;
    out[0] = answer;
    return 1;
}

static int count_socket(void *data, int *family, int type, int protocol, void *address,
                        unsigned *length) {
    (void)data, (void)address, (void)length;
    sockets++;
    return socket(*family, type, protocol);
}

typedef struct response {
    unsigned status, stop_at; /* a status that ends it */
    char headers[512], body[1024];
    size_t header_length, body_length;
} response;

static bool take_status(void *data, unsigned status) {
    ((response *)data)->status = status;
    return status != ((response *)data)->stop_at;
}

static bool take_header(void *data, moonplan_text name, moonplan_text value) {
    response *r = data;
    int length =
        snprintf(r->headers + r->header_length, sizeof r->headers - r->header_length, "%.*s=%.*s;",
                 (int)name.length, name.bytes, (int)value.length, value.bytes);
    if (length > 0) r->header_length += (size_t)length;
    return r->header_length < sizeof r->headers;
}

static bool take_piece(void *data, const char *bytes, size_t length) {
    response *r = data;
    if (!CHECK(length <= sizeof r->body - r->body_length)) return false;
    memcpy(r->body + r->body_length, bytes, length);
    r->body_length += length;
    return true;
}

static mpl_http_place place;

/* Any method, to the plain server alone. */
static mpl_http_policy open_policy(void) {
    place = (mpl_http_place){{"127.0.0.1", 9}, web.plain};
    return (mpl_http_policy){.schemes = MPL_HTTP_PLAIN,
                             .methods = 63,
                             .places = &place,
                             .place_count = 1,
                             .any_address = true,
                             .head_most = 65536,
                             .body_most = 1000,
                             .sent_most = 100,
                             .resolve_ms = 5000,
                             .connect_ms = 5000};
}

static mpl_http_request get(const char *target, response *into) {
    memset(into, 0, sizeof *into);
    return (mpl_http_request){.scheme = MPL_HTTP_PLAIN,
                              .method = MOONPLAN_HTTP_GET,
                              .host = {"127.0.0.1", 9},
                              .port = web.plain,
                              .target = {target, strlen(target)},
                              .deadline = mpl_now() + 10000,
                              .status = take_status,
                              .header = take_header,
                              .piece = take_piece,
                              .data = into};
}

static mpl_http_end perform_with(moonplan_resolver resolver, const mpl_http_policy *policy,
                                 const mpl_http_request *request, const char **reason) {
    mpl_http_setup setup = {.at_once = 1, .resolver = resolver};
    mpl_alloc alloc = mpl_alloc_of(NULL);
    moonplan_error err;
    mpl_http *http = mpl_http_new(&setup, &alloc, &err);
    mpl_http_hook(http, count_socket, NULL);
    mpl_http_end end = mpl_http_perform(http, policy, request, &alloc, reason);
    mpl_http_free(http);
    CHECK(alloc.used == 0);
    if (end != MPL_HTTP_DONE && end != MPL_HTTP_STOPPED)
        CHECK(*reason && strstr(*reason, "SECRET") == NULL);
    return end;
}

static mpl_http_end perform(const mpl_http_policy *policy, const mpl_http_request *request) {
    const char *reason = NULL;
    return perform_with(resolve, policy, request, &reason);
}

/* -- Policy ------------------------------------------------------------------*/

static void refused(const mpl_http_policy *policy, const mpl_http_request *request) {
    lookups = sockets = 0;
    CHECK(perform(policy, request) == MPL_HTTP_REFUSED);
    CHECK(lookups == 0 && sockets == 0);
}

static void only_what_is_allowed_goes_out(void) {
    response r;
    mpl_http_policy policy = open_policy();
    mpl_http_request request = get("/ok", &r);
    policy.schemes = MPL_HTTP_SECURE;
    refused(&policy, &request);
    policy = open_policy();
    policy.methods = MOONPLAN_HTTP_POST | MOONPLAN_HTTP_HEAD;
    refused(&policy, &request);
    policy.methods = 63;
    request.method = MOONPLAN_HTTP_GET | MOONPLAN_HTTP_HEAD;
    refused(&policy, &request);
    request.method = 0;
    refused(&policy, &request);
    request = get("/ok", &r);
    request.scheme = MPL_HTTP_PLAIN | MPL_HTTP_SECURE;
    policy.schemes = request.scheme;
    refused(&policy, &request);

    policy = open_policy();
    request = get("/ok", &r);
    request.port = 0; /* that is 80 */
    refused(&policy, &request);
    request = get("/ok", &r);
    request.host = (moonplan_text){"127.0.0.2", 9};
    refused(&policy, &request);
    policy.place_count = 0;
    request = get("/ok", &r);
    refused(&policy, &request);
    policy.places = NULL;
    refused(&policy, &request);

    policy = open_policy();
    request.body = "x";
    request.body_length = 101;
    refused(&policy, &request);
}

static void nothing_else_hides_in_a_request(void) {
    static const char *const targets[] = {"",          "ok",    "/a b",     "/a\r\nX: y",
                                          "/a\nb",     "/a#b",  "/a\tb",    "*",
                                          "http://x/", "/\x7f", "/\xc3\xa4"};
    static const char *const hosts[] = {"",           "a/b",    "a b",    "a@b",      "A.example",
                                        "a.example.", "a\r\nb", "a:80",   "[::1]",    "a?b",
                                        "a#b",        "a%2eb",  "::1%lo", "b\xc3\xbc"};
    static const mpl_http_header headers[] = {{{"", 0}, {"x", 1}},
                                              {{"X Y", 3}, {"x", 1}},
                                              {{"X:", 2}, {"x", 1}},
                                              {{"X\r\nY", 4}, {"x", 1}},
                                              {{"X\0", 2}, {"x", 1}},
                                              {{"X", 1}, {"a\r\nHost: b", 10}},
                                              {{"X", 1}, {"a\nb", 3}},
                                              {{"X", 1}, {"a\0b", 3}},
                                              {{"Host", 4}, {"b", 1}},
                                              {{"CONTENT-LENGTH", 14}, {"0", 1}},
                                              {{"transfer-encoding", 17}, {"chunked", 7}},
                                              {{"Connection", 10}, {"close", 5}},
                                              {{"Cookie", 6}, {"a=b", 3}}};
    response r;
    mpl_http_policy policy = open_policy();
    mpl_http_request request;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        request = get(targets[i], &r);
        refused(&policy, &request);
    }
    char *longest = malloc(MPL_HTTP_TARGET_MOST + 2);
    memset(longest, '/', MPL_HTTP_TARGET_MOST + 1);
    longest[MPL_HTTP_TARGET_MOST + 1] = 0;
    request = get(longest, &r);
    refused(&policy, &request);
    free(longest);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        request = get("/ok", &r);
        request.headers = &headers[i];
        request.header_count = 1;
        refused(&policy, &request);
    }
    policy.places = NULL;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        request = get("/ok", &r);
        request.port = 80;
        request.host = (moonplan_text){hosts[i], strlen(hosts[i])};
        refused(&policy, &request);
    }
}

static void addresses_are_public_unless_said_otherwise(void) {
    response r;
    const char *reason;
    mpl_http_policy policy = open_policy();
    mpl_http_request request = get("/ok", &r);
    policy.any_address = false;
    sockets = 0;
    CHECK(perform(&policy, &request) == MPL_HTTP_ADDRESS);
    policy.places = NULL;
    request.port = 80;
    request.host = (moonplan_text){"name.example", 12};
    CHECK(perform(&policy, &request) == MPL_HTTP_ADDRESS);
    CHECK(sockets == 0);
    /* Names that libcurl reads as numbers: 127.0.0.1, which no resolver has said. */
    static const char *const numbers[] = {"127.1", "2130706433", "0x7f.1", "0177.0.0.1"};
    moonplan_address before = answer;
    answer = (moonplan_address){4, {93, 184, 216, 34}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        request.host = (moonplan_text){numbers[i], strlen(numbers[i])};
        CHECK(perform_with(resolve, &policy, &request, &reason) == MPL_HTTP_FAILED);
        CHECK(strcmp(reason, "the connection would go to an address that was not checked") == 0);
    }
    CHECK(sockets == 0);
    answer = before;
}

/* -- Requests and responses ------------------------------------------------------*/

static void sends(unsigned method, const char *body, const char *expected) {
    static const mpl_http_header headers[] = {{{"Content-Type", 12}, {"application/json", 16}},
                                              {{"X-Empty", 7}, {"", 0}}};
    response r;
    char request_text[1024], wanted[1024];
    mpl_http_policy policy = open_policy();
    mpl_http_request request = get("/ok/tiny?q", &r);
    request.method = method;
    request.headers = headers;
    request.header_count = body ? 2 : 0;
    request.body = body;
    request.body_length = body ? strlen(body) : 0;
    CHECK(perform(&policy, &request) == MPL_HTTP_DONE && r.status == 200);
    bool head = method == MOONPLAN_HTTP_HEAD;
    CHECK_TEXT(head ? "" : "{\"tiny\":1}", ((moonplan_text){r.body, r.body_length}));
    CHECK_TEXT("Content-Length=10;", ((moonplan_text){r.headers, r.header_length}));
    server_last(&web, request_text, sizeof request_text);
    snprintf(wanted, sizeof wanted, expected, (unsigned)web.plain);
    if (!CHECK(strcmp(wanted, request_text) == 0)) printf("# %s\n", request_text);
}

static void methods_go_out_as_they_are(void) {
#define HOST " /ok/tiny?q HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAccept-Encoding: gzip, deflate\r\n"
#define TYPE "Content-Type: application/json\r\nX-Empty:\r\n"
    sends(MOONPLAN_HTTP_GET, NULL, "GET" HOST "\r\n");
    sends(MOONPLAN_HTTP_HEAD, NULL, "HEAD" HOST "\r\n");
    sends(MOONPLAN_HTTP_DELETE, NULL, "DELETE" HOST "\r\n");
    sends(MOONPLAN_HTTP_POST, "{}", "POST" HOST TYPE "Content-Length: 2\r\n\r\n{}");
    sends(MOONPLAN_HTTP_PUT, "[1]", "PUT" HOST TYPE "Content-Length: 3\r\n\r\n[1]");
    sends(MOONPLAN_HTTP_PATCH, "", "PATCH" HOST TYPE "Content-Length: 0\r\n\r\n");
    sends(MOONPLAN_HTTP_POST, NULL, "POST" HOST "Content-Length: 0\r\n\r\n");
}

static void bounds_are_exact(void) {
    response r;
    mpl_http_policy policy = open_policy();
    mpl_http_request request = get("/chunked", &r);
    policy.body_most = 10;
    CHECK(perform(&policy, &request) == MPL_HTTP_DONE && r.body_length == 10);
    policy.body_most = 9;
    request = get("/chunked", &r);
    CHECK(perform(&policy, &request) == MPL_HTTP_FAILED && r.body_length <= 10);
    /* HTTP/1.1 200 OK, Transfer-Encoding: chunked, and an empty line, each with CR LF. */
    policy = open_policy();
    policy.head_most = 17 + 28 + 2;
    request = get("/chunked", &r);
    CHECK(perform(&policy, &request) == MPL_HTTP_DONE);
    policy.head_most--;
    request = get("/chunked", &r);
    CHECK(perform(&policy, &request) == MPL_HTTP_FAILED && r.body_length == 0);
}

static void whoever_asked_may_stop(void) {
    response r;
    mpl_http_policy policy = open_policy();
    mpl_http_request request = get("/missing", &r);
    CHECK(perform(&policy, &request) == MPL_HTTP_DONE && r.status == 404);
    request = get("/missing", &r);
    r.stop_at = 404;
    CHECK(perform(&policy, &request) == MPL_HTTP_STOPPED && r.body_length == 0);
    /* What comes before the answer is no answer. */
    request = get("/early", &r);
    CHECK(perform(&policy, &request) == MPL_HTTP_DONE && r.status == 200);
    CHECK(strcmp(r.headers, "Content-Length=10;") == 0);
    /* None of it is wanted. */
    request.status = NULL;
    request.header = NULL;
    request.piece = NULL;
    CHECK(perform(&policy, &request) == MPL_HTTP_DONE);
}

/* A redirect is a response like any other. */
static void redirects_are_not_followed(void) {
    static const char *const targets[] = {"/to-internal", "/to-host", "/to-decimal", "/to-file",
                                          "/to-gopher",   "/to-data", "/to-self"};
    unsigned requests, internal, peak;
    response r;
    mpl_http_policy policy = open_policy();
    server_reset(&web);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        mpl_http_request request = get(targets[i], &r);
        CHECK(perform(&policy, &request) == MPL_HTTP_DONE && r.status == 302);
    }
    server_stats(&web, &requests, &internal, &peak);
    CHECK(requests == sizeof targets / sizeof *targets && internal == 0);
}

/* The system's resolver knows this one without asking anybody. */
static void the_system_resolves(void) {
    response r;
    const char *reason = NULL;
    mpl_http_policy policy = open_policy();
    mpl_http_request request = get("/ok", &r);
    mpl_http_place here = {{"localhost", 9}, web.plain};
    policy.places = &here;
    request.host = here.host;
    CHECK(perform_with(NULL, &policy, &request, &reason) == MPL_HTTP_DONE && r.status == 200);
    policy.any_address = false;
    CHECK(perform_with(NULL, &policy, &request, &reason) == MPL_HTTP_ADDRESS);
}

int main(void) {
    server_isolate();
    server_folder(&web);
    server_put(&web, "tiny", "{\"tiny\":1}", 10);
    if (server_start(&web)) {
        RUN(only_what_is_allowed_goes_out);
        RUN(nothing_else_hides_in_a_request);
        RUN(addresses_are_public_unless_said_otherwise);
        RUN(methods_go_out_as_they_are);
        RUN(bounds_are_exact);
        RUN(whoever_asked_may_stop);
        RUN(redirects_are_not_followed);
        RUN(the_system_resolves);
    }
    server_stop(&web);
    return check_end();
}
