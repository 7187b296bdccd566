/* moonplan_http: the client with what it may reach, for whoever has a URL rather than an artifact.
 */
#include <string.h>

#include "../call/address.h"
#include "../core/buffer.h"
#include "../core/error.h"
#include "../core/text.h"
#include "http.h"
#include "http_url.h"

#define REQUEST_MOST  1048576
#define RESPONSE_MOST 8388608
#define HEAD_MOST     65536
#define HEADERS_MOST  256

typedef struct origin {
    unsigned scheme;
    uint16_t port;
    bool loopback, whole; /* whole: this URL alone */
    moonplan_text host, target;
} origin;

struct moonplan_http {
    mpl_alloc alloc;
    mpl_arena texts;
    mpl_http *client;
    origin *origins;
    size_t origin_count;
    unsigned methods;
    uint64_t request_bytes, response_bytes, fetch_ms;
};

unsigned moonplan_http_method(moonplan_text name) {
    const char *known;
    for (unsigned method = 1; (known = mpl_http_method_name(method)); method <<= 1)
        if (mpl_text_is(name, known)) return method;
    return 0;
}

/* -- Origins -----------------------------------------------------------------*/

static bool has_scheme(moonplan_text text) {
    for (size_t i = 0; i + 2 < text.length; i++)
        if (memcmp(text.bytes + i, "://", 3) == 0) return true;
    return false;
}

/* What is sent after the host: the path and query, or "/" and the query. NULL for want of memory.
 */
static char *make_target(mpl_arena *arena, moonplan_text rest) {
    size_t slash = rest.length && rest.bytes[0] == '/' ? 0 : 1;
    char *target = mpl_arena_take(arena, rest.length + slash + 1);
    if (!target) return NULL;
    target[0] = '/';
    if (rest.length) memcpy(target + slash, rest.bytes, rest.length);
    return target;
}

static bool read_origin(moonplan_http *http, origin *out, moonplan_text text, moonplan_error *err) {
    mpl_http_url url;
    moonplan_text whole = text;
    if (!has_scheme(text)) {
        char *written = mpl_arena_take(&http->texts, text.length + 9);
        if (!written) {
            mpl_error_memory(err);
            return false;
        }
        memcpy(written, "https://", 8);
        if (text.length) memcpy(written + 8, text.bytes, text.length);
        whole = (moonplan_text){written, text.length + 8};
    }
    if (!mpl_http_url_read(&url, whole, MOONPLAN_OPTION, err)) {
        if (err && err->code == MOONPLAN_HTTP_ADDRESS) err->code = MOONPLAN_OPTION;
        return false;
    }
    *out = (origin){.scheme = url.scheme,
                    .port = url.port,
                    .loopback = url.loopback,
                    .whole = url.rest.length > 0};
    out->host.bytes = mpl_arena_copy(&http->texts, url.host, url.host_length);
    out->host.length = url.host_length;
    out->target.bytes = make_target(&http->texts, url.rest);
    if (!out->host.bytes || !out->target.bytes) {
        mpl_error_memory(err);
        return false;
    }
    out->target.length = strlen(out->target.bytes);
    return true;
}

static const origin *find_origin(const moonplan_http *http, const mpl_http_url *url,
                                 moonplan_text target) {
    moonplan_text host = {url->host, url->host_length};
    for (size_t i = 0; i < http->origin_count; i++) {
        const origin *at = &http->origins[i];
        if (at->scheme == url->scheme && at->port == url->port && mpl_text_equal(at->host, host) &&
            (!at->whole || mpl_text_equal(at->target, target)))
            return at;
    }
    return NULL;
}

/* -- Clients -----------------------------------------------------------------*/

moonplan_http *moonplan_http_new(const moonplan_http_options *given,
                                 const moonplan_options *options, moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    if (!mpl_options_sound(&own, err)) return NULL;
    mpl_alloc alloc = mpl_alloc_of(&own);
    moonplan_http *http = mpl_allocate(&alloc, sizeof *http);
    if (!http) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(http, 0, sizeof *http);
    http->alloc = alloc;
    mpl_arena_open(&http->texts, &http->alloc);
    http->methods = given->methods ? given->methods : MOONPLAN_HTTP_GET | MOONPLAN_HTTP_HEAD;
    http->request_bytes = given->request_bytes ? given->request_bytes : REQUEST_MOST;
    http->response_bytes = given->response_bytes ? given->response_bytes : RESPONSE_MOST;
    if (http->response_bytes >> 60) http->response_bytes = ((uint64_t)1 << 60) - 1;
    http->fetch_ms = own.limits.fetch_ms;
    mpl_http_setup setup = {.at_once = (size_t)own.limits.fetches,
                            .ca_file = given->ca_file,
                            .resolver = given->resolver,
                            .resolver_data = given->resolver_data};
    http->client = mpl_http_new(&setup, &http->alloc, err);
    bool fine = http->client != NULL;
    if (fine && given->origin_count) {
        http->origins = mpl_arena_take(&http->texts, given->origin_count * sizeof *http->origins);
        fine = http->origins != NULL;
        if (!fine) mpl_error_memory(err);
    }
    for (size_t i = 0; fine && i < given->origin_count; i++) {
        fine = read_origin(http, &http->origins[i], given->origins[i], err);
        http->origin_count = i + 1;
    }
    if (fine) return http;
    moonplan_http_free(http);
    return NULL;
}

void moonplan_http_free(moonplan_http *http) {
    if (!http) return;
    mpl_http_free(http->client);
    mpl_arena_close(&http->texts);
    mpl_alloc alloc = http->alloc;
    mpl_release(&alloc, http, sizeof *http);
}

void mpl_http_client_hook(moonplan_http *http, mpl_http_socket make, void *data) {
    mpl_http_hook(http->client, make, data);
}

/* -- Responses ---------------------------------------------------------------*/

typedef struct header {
    moonplan_text name, value;
} header;

struct moonplan_http_response {
    mpl_alloc alloc;
    mpl_arena texts;
    unsigned status;
    header *headers;
    size_t header_count, header_capacity;
    mpl_buffer body;
    uint64_t body_most;
    bool failed; /* for want of memory */
    bool over, many;
};

static bool take_status(void *data, unsigned status) {
    ((moonplan_http_response *)data)->status = status;
    return true;
}

static bool take_header(void *data, moonplan_text name, moonplan_text value) {
    moonplan_http_response *r = data;
    /* A NUL may end a text somewhere down the line; no header that anybody needs has one. */
    if (memchr(name.bytes, 0, name.length) ||
        (value.length && memchr(value.bytes, 0, value.length)))
        return true;
    r->many = r->header_count == HEADERS_MOST;
    if (r->many) return false;
    void *block = r->headers;
    if (!mpl_grow(&r->alloc, &block, &r->header_capacity, r->header_count + 1, sizeof(header))) {
        r->failed = true;
        return false;
    }
    r->headers = block;
    char *lower = mpl_arena_copy(&r->texts, name.bytes, name.length);
    char *copy = lower ? mpl_arena_copy(&r->texts, value.bytes, value.length) : NULL;
    r->failed = !copy;
    if (!copy) return false;
    for (size_t i = 0; i < name.length; i++)
        if (lower[i] >= 'A' && lower[i] <= 'Z') lower[i] = (char)(lower[i] + ('a' - 'A'));
    r->headers[r->header_count++] = (header){{lower, name.length}, {copy, value.length}};
    return true;
}

static bool take_piece(void *data, const char *bytes, size_t length) {
    moonplan_http_response *r = data;
    r->over = length > r->body_most - r->body.length;
    if (r->over) return false;
    mpl_buffer_add(&r->body, bytes, length);
    r->failed = r->body.failed;
    return !r->failed;
}

void moonplan_http_response_free(moonplan_http_response *response) {
    if (!response) return;
    mpl_buffer_close(&response->body);
    mpl_arena_close(&response->texts);
    mpl_release(&response->alloc, response->headers, response->header_capacity * sizeof(header));
    mpl_alloc alloc = response->alloc;
    mpl_release(&alloc, response, sizeof *response);
}

unsigned moonplan_http_response_status(const moonplan_http_response *response) {
    return response->status;
}

moonplan_text moonplan_http_response_body(const moonplan_http_response *response) {
    return (moonplan_text){response->body.length ? response->body.bytes : "",
                           response->body.length};
}

bool moonplan_http_response_header(const moonplan_http_response *response,
                                   moonplan_http_header *out, size_t n) {
    if (n >= response->header_count) return false;
    out->name = response->headers[n].name;
    out->value = response->headers[n].value;
    return true;
}

/* -- Asking --------------------------------------------------------------------*/

static bool refuse(moonplan_error *err, moonplan_code code, const char *text) {
    mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, "%s", text);
    return false;
}

static bool refuse_origin(const moonplan_http *http, const mpl_http_url *url, moonplan_error *err) {
    moonplan_text host = {url->host, url->host_length};
    for (size_t i = 0; i < http->origin_count; i++) {
        const origin *at = &http->origins[i];
        if (!mpl_text_equal(at->host, host)) continue;
        mpl_error_set(err, MOONPLAN_HTTP_ORIGIN, MOONPLAN_NO_OFFSET, NULL,
                      at->scheme != url->scheme ? "%q was granted for the other scheme"
                      : at->port != url->port   ? "%q was not granted at port %u"
                                                : "another URL of %q was granted, not this one",
                      &host, (uint64_t)url->port);
        return false;
    }
    mpl_error_set(err, MOONPLAN_HTTP_ORIGIN, MOONPLAN_NO_OFFSET, NULL, "%q was not granted", &host);
    return false;
}

/* What the client says, in the codes of this API. */
static bool explain(const moonplan_http *http, const moonplan_http_response *response,
                    mpl_http_end end, const char *reason, bool sent, uint64_t waited,
                    moonplan_error *err) {
    moonplan_code lost = sent ? MOONPLAN_HTTP_INTERRUPTED : MOONPLAN_HTTP_UNAVAILABLE;
    switch (end) {
    case MPL_HTTP_DONE:
        return true;
    case MPL_HTTP_REFUSED: /* the rest of what a policy refuses was found out before */
        return refuse(err, MOONPLAN_HTTP_HEADER, reason);
    case MPL_HTTP_ADDRESS:
        return refuse(err, MOONPLAN_HTTP_ADDRESS, reason);
    case MPL_HTTP_LATE:
        mpl_error_set(err, lost, MOONPLAN_NO_OFFSET, NULL, "%s: there were %u milliseconds", reason,
                      waited);
        return false;
    case MPL_HTTP_MEMORY:
        mpl_error_memory(err);
        return false;
    case MPL_HTTP_LARGE:
        break;
    case MPL_HTTP_STOPPED:
        if (response->over) break;
        if (response->many)
            return refuse(err, MOONPLAN_HTTP_INTERRUPTED, "the response has more than 256 headers");
        mpl_error_memory(err);
        return false;
    default:
        return refuse(err, lost, reason);
    }
    mpl_error_set(err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                  "the body of the response is larger than what may come: %u bytes",
                  http->response_bytes);
    return false;
}

static bool check(const moonplan_http *http, const moonplan_http_request *request,
                  moonplan_error *err) {
    if (!mpl_http_method_name(request->method) || !(http->methods & request->method))
        return refuse(err, MOONPLAN_HTTP_METHOD, "the method is not allowed");
    if (request->body.length > http->request_bytes) {
        mpl_error_set(err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "the body of the request is larger than what may be sent: %u bytes",
                      http->request_bytes);
        return false;
    }
    if (request->body.length &&
        !(request->method & (MOONPLAN_HTTP_POST | MOONPLAN_HTTP_PUT | MOONPLAN_HTTP_PATCH)))
        return refuse(err, MOONPLAN_HTTP_METHOD, "the method takes no body");
    if (request->header_count > HEADERS_MOST)
        return refuse(err, MOONPLAN_HTTP_HEADER, "the request has more than 256 headers");
    return true;
}

/* Everything but the URL has been checked. */
static bool perform(moonplan_http *http, const moonplan_http_request *request,
                    const mpl_http_url *url, const origin *at, moonplan_text target,
                    moonplan_http_response *r, moonplan_error *err) {
    mpl_http_place place = {at->host, at->port};
    mpl_http_policy policy = {.schemes = url->scheme,
                              .methods = request->method,
                              .places = &place,
                              .place_count = 1,
                              .loopback = at->loopback,
                              .head_most = HEAD_MOST,
                              /* One more, so that what is over is told as such. */
                              .body_most = http->response_bytes + 1,
                              .sent_most = http->request_bytes,
                              .resolve_ms = 5000,
                              .connect_ms = 5000,
                              .slow_bytes = 64,
                              .slow_ms = 2000};
    uint64_t most = http->fetch_ms;
    if (request->timeout_ms && request->timeout_ms < most) most = request->timeout_ms;
    bool sent = false;
    mpl_http_header *headers = NULL;
    if (request->header_count) {
        headers = mpl_arena_take(&r->texts, request->header_count * sizeof *headers);
        if (!headers) {
            mpl_error_memory(err);
            return false;
        }
    }
    for (size_t i = 0; i < request->header_count; i++)
        headers[i] = (mpl_http_header){request->headers[i].name, request->headers[i].value};
    mpl_http_request asked = {.scheme = url->scheme,
                              .method = request->method,
                              .host = at->host,
                              .port = at->port,
                              .target = target,
                              .headers = headers,
                              .header_count = request->header_count,
                              .body = request->body.bytes,
                              .body_length = request->body.length,
                              .deadline = mpl_now() + most,
                              .sent = &sent,
                              .status = take_status,
                              .header = take_header,
                              .piece = take_piece,
                              .data = r};
    const char *reason = "";
    mpl_http_end end = mpl_http_perform(http->client, &policy, &asked, &r->alloc, &reason);
    return explain(http, r, end, reason, sent, most, err);
}

moonplan_http_response *moonplan_http_response_new(moonplan_http *http,
                                                   const moonplan_http_request *request,
                                                   moonplan_error *err) {
    mpl_http_url url;
    /* Threads share the client, and none shares its count of bytes. */
    mpl_alloc alloc = {.call = http->alloc.call, .data = http->alloc.data};
    if (!check(http, request, err) ||
        !mpl_http_url_read(&url, request->url, MOONPLAN_HTTP_URL, err))
        return NULL;
    if (url.rest.length > MPL_HTTP_TARGET_MOST) {
        refuse(err, MOONPLAN_HTTP_URL, "the path and query are longer than 65536 bytes");
        return NULL;
    }
    moonplan_http_response *r = mpl_allocate(&alloc, sizeof *r);
    if (!r) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(r, 0, sizeof *r);
    r->alloc = alloc;
    r->body_most = http->response_bytes;
    mpl_arena_open(&r->texts, &r->alloc);
    mpl_buffer_open(&r->body, &r->alloc);
    char *target = make_target(&r->texts, url.rest);
    const origin *at = NULL;
    bool fine = target != NULL;
    if (!fine) mpl_error_memory(err);
    moonplan_text sent = {target, target ? strlen(target) : 0};
    if (fine) {
        at = find_origin(http, &url, sent);
        fine = at ? perform(http, request, &url, at, sent, r, err) : refuse_origin(http, &url, err);
    }
    if (fine) return r;
    moonplan_http_response_free(r);
    return NULL;
}
