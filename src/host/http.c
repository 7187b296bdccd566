#include "http.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "../call/address.h"
#include "../core/error.h"
#include "../core/text.h"
#include "http_transfer.h"

struct mpl_http {
    mpl_alloc alloc;
    pthread_mutex_t mutex; /* over what follows up to the blank line */
    pthread_cond_t turn;
    size_t running;
    bool open;

    size_t at_once;
    char *ca_file; /* with a NUL behind it, or NULL */
    size_t ca_file_size;
    mpl_resolver *resolver;
    mpl_http_socket make_socket;
    void *make_data;
#ifdef MOONPLAN_WITH_CURL
    mpl_curl curl;
#endif
};

mpl_http *mpl_http_new(const mpl_http_setup *setup, const mpl_alloc *given, moonplan_error *err) {
    mpl_alloc alloc = *given;
    moonplan_text file = setup->ca_file;
    if (file.bytes && (file.length == 0 || memchr(file.bytes, 0, file.length))) {
        mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL, "ca_file is %q, no path",
                      &file);
        return NULL;
    }
    mpl_http *http = mpl_allocate(&alloc, sizeof *http);
    if (!http) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(http, 0, sizeof *http);
    http->at_once = setup->at_once;
    http->resolver = mpl_resolver_new(setup->resolver, setup->resolver_data);
    if (file.bytes) {
        http->ca_file_size = file.length + 1;
        http->ca_file = mpl_allocate(&alloc, http->ca_file_size);
        if (http->ca_file) {
            memcpy(http->ca_file, file.bytes, file.length);
            http->ca_file[file.length] = 0;
        }
    }
    http->alloc = alloc;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&http->turn, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&http->mutex, NULL);
    if (http->resolver && (http->ca_file || !file.bytes)) return http;
    mpl_http_free(http);
    mpl_error_memory(err);
    return NULL;
}

void mpl_http_free(mpl_http *http) {
    if (!http) return;
#ifdef MOONPLAN_WITH_CURL
    if (http->open) mpl_curl_close(&http->curl);
#endif
    mpl_resolver_free(http->resolver);
    pthread_cond_destroy(&http->turn);
    pthread_mutex_destroy(&http->mutex);
    mpl_alloc alloc = http->alloc;
    mpl_release(&alloc, http->ca_file, http->ca_file_size);
    mpl_release(&alloc, http, sizeof *http);
}

void mpl_http_hook(mpl_http *http, mpl_http_socket make, void *data) {
    http->make_socket = make;
    http->make_data = data;
}

/* -- What the policy lets through ---------------------------------------------*/

static const struct {
    unsigned bit;
    const char *name;
} methods[] = {{MOONPLAN_HTTP_GET, "GET"},     {MOONPLAN_HTTP_HEAD, "HEAD"},
               {MOONPLAN_HTTP_POST, "POST"},   {MOONPLAN_HTTP_PUT, "PUT"},
               {MOONPLAN_HTTP_PATCH, "PATCH"}, {MOONPLAN_HTTP_DELETE, "DELETE"}};

const char *mpl_http_method_name(unsigned method) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].bit == method) return methods[i].name;
    return NULL;
}

static uint16_t default_port(const mpl_http_request *request) {
    return request->scheme == MPL_HTTP_SECURE ? 443 : 80;
}

static uint16_t port_of(const mpl_http_request *request) {
    return request->port ? request->port : default_port(request);
}

static bool place_allowed(const mpl_http_policy *policy, const mpl_http_request *request) {
    uint16_t port = port_of(request);
    if (!policy->places) return port == default_port(request);
    for (size_t i = 0; i < policy->place_count; i++)
        if (policy->places[i].port == port && mpl_text_equal(policy->places[i].host, request->host))
            return true;
    return false;
}

static bool is_letter_or_digit(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9');
}

/* A name as it may go to a resolver; literal addresses are read elsewhere. */
static bool is_name(moonplan_text host) {
    if (host.length == 0 || host.length > 253) return false;
    for (size_t i = 0; i < host.length; i++) {
        char byte = host.bytes[i];
        if (!is_letter_or_digit(byte) && byte != '-' && byte != '.' && byte != '_') return false;
        if (byte >= 'A' && byte <= 'Z') return false;
    }
    return host.bytes[host.length - 1] != '.';
}

static bool is_target(moonplan_text target) {
    if (target.length == 0 || target.bytes[0] != '/') return false;
    for (size_t i = 0; i < target.length; i++)
        if (target.bytes[i] <= 0x20 || target.bytes[i] > 0x7e || target.bytes[i] == '#')
            return false;
    return true;
}

static bool same_name(moonplan_text text, const char *lower) {
    size_t length = strlen(lower);
    if (text.length != length) return false;
    for (size_t i = 0; i < length; i++) {
        char byte = text.bytes[i];
        if (byte >= 'A' && byte <= 'Z') byte = (char)(byte + ('a' - 'A'));
        if (byte != lower[i]) return false;
    }
    return true;
}

/* A header that a request may set (RFC 9110, section 5): those that frame the message, name the
 * host or belong to a proxy are the client's. */
static bool is_header(const mpl_http_header *header) {
    static const char *const own[] = {
        "host",           "connection", "content-length",   "transfer-encoding",
        "expect",         "te",         "trailer",          "upgrade",
        "cookie",         "keep-alive", "proxy-connection", "proxy-authorization",
        "accept-encoding"};
    if (header->name.length == 0) return false;
    for (size_t i = 0; i < header->name.length; i++) {
        char byte = header->name.bytes[i];
        if (!is_letter_or_digit(byte) && !(byte && strchr("!#$%&'*+-.^_`|~", byte))) return false;
    }
    for (size_t i = 0; i < header->value.length; i++) {
        unsigned char byte = (unsigned char)header->value.bytes[i];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (same_name(header->name, own[i])) return false;
    return true;
}

static const char *refusal(const mpl_http_policy *policy, const mpl_http_request *request) {
    bool known = request->scheme == MPL_HTTP_SECURE || request->scheme == MPL_HTTP_PLAIN;
    moonplan_address address;
    if (!known || !(policy->schemes & request->scheme)) return "the scheme is not allowed";
    if (!mpl_http_method_name(request->method) || !(policy->methods & request->method))
        return "the method is not allowed";
    if (!place_allowed(policy, request)) return "the host is not allowed at that port";
    if (!mpl_address_read_ipv4(&address, request->host) &&
        !mpl_address_read_ipv6(&address, request->host) && !is_name(request->host))
        return "the host is no name or address";
    if (request->target.length > MPL_HTTP_TARGET_MOST)
        return "the path and query are longer than 65536 bytes";
    if (!is_target(request->target)) return "the path and query are not those of a URL";
    for (size_t i = 0; i < request->header_count; i++)
        if (!is_header(&request->headers[i])) return "a header is malformed, or not for a caller";
    if (request->body_length > policy->sent_most) return "the body is larger than may be sent";
    return NULL;
}

/* -- Turns -----------------------------------------------------------------------*/

static bool enter(mpl_http *http, uint64_t deadline) {
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000),
                             .tv_nsec = (long)(deadline % 1000) * 1000000};
    int error = 0;
    pthread_mutex_lock(&http->mutex);
    while (http->running >= http->at_once && error == 0)
        error = pthread_cond_timedwait(&http->turn, &http->mutex, &until);
    bool mine = http->running < http->at_once;
    if (mine) http->running++;
    pthread_mutex_unlock(&http->mutex);
    return mine;
}

static void leave(mpl_http *http) {
    pthread_mutex_lock(&http->mutex);
    http->running--;
    pthread_cond_signal(&http->turn);
    pthread_mutex_unlock(&http->mutex);
}

/* -- Addresses -------------------------------------------------------------------*/

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static mpl_http_end find_addresses(mpl_http *http, const mpl_http_policy *policy,
                                   const mpl_http_request *request, mpl_addresses *out,
                                   const char **reason) {
    out->count = 1;
    if (!mpl_address_read_ipv4(out->list, request->host) &&
        !mpl_address_read_ipv6(out->list, request->host)) {
        uint64_t deadline = least(mpl_now() + policy->resolve_ms, request->deadline);
        switch (mpl_resolve(http->resolver, out, request->host.bytes, deadline)) {
        case MPL_RESOLVE_DONE:
            break;
        case MPL_RESOLVE_MEMORY:
            return MPL_HTTP_MEMORY;
        case MPL_RESOLVE_LATE:
            *reason = "the host's name was not resolved in time";
            return mpl_now() >= request->deadline ? MPL_HTTP_LATE : MPL_HTTP_FAILED;
        case MPL_RESOLVE_BUSY:
            *reason = "too many earlier look-ups of names still have no answer";
            return MPL_HTTP_FAILED;
        case MPL_RESOLVE_MANY:
            *reason = "the host has more than 64 addresses";
            return MPL_HTTP_FAILED;
        default:
            *reason = "the host's name has no address";
            return MPL_HTTP_FAILED;
        }
    }
    if (request->resolved && !request->resolved(request->data, out)) return MPL_HTTP_STOPPED;
    for (size_t i = 0; i < out->count && !policy->any_address; i++) {
        if (policy->loopback ? mpl_address_is_loopback(&out->list[i])
                             : mpl_address_is_public(&out->list[i]))
            continue;
        *reason = policy->loopback ? "the host has an address that is not a loopback one"
                                   : "the host has an address that is not public unicast";
        return MPL_HTTP_ADDRESS;
    }
    return MPL_HTTP_DONE;
}

/* -- Requests --------------------------------------------------------------------*/

#ifdef MOONPLAN_WITH_CURL

/* NULL, or why there is no libcurl; "" where memory is short. */
static const char *open_door(mpl_http *http) {
    pthread_mutex_lock(&http->mutex);
    const char *why = http->open ? NULL : mpl_curl_open(&http->curl);
    http->open = !why;
    pthread_mutex_unlock(&http->mutex);
    return why;
}

static mpl_http_end transfer(mpl_http *http, const mpl_http_policy *policy,
                             const mpl_http_request *request, const mpl_addresses *addresses,
                             mpl_alloc *alloc, const char **reason) {
    mpl_transfer transfer = {.curl = &http->curl,
                             .policy = policy,
                             .request = request,
                             .addresses = addresses,
                             .method = mpl_http_method_name(request->method),
                             .port = port_of(request),
                             .ca_file = http->ca_file,
                             .make_socket = http->make_socket,
                             .make_data = http->make_data};
    return mpl_transfer_run(&transfer, alloc, reason);
}

#else

static const char *open_door(mpl_http *http) {
    (void)http;
    return "fetching over the network is not built in: the option MOONPLAN_WITH_CURL was off";
}

static mpl_http_end transfer(mpl_http *http, const mpl_http_policy *policy,
                             const mpl_http_request *request, const mpl_addresses *addresses,
                             mpl_alloc *alloc, const char **reason) {
    (void)http, (void)policy, (void)request, (void)addresses, (void)alloc, (void)reason;
    return MPL_HTTP_FAILED;
}

#endif

mpl_http_end mpl_http_perform(mpl_http *http, const mpl_http_policy *policy,
                              const mpl_http_request *request, mpl_alloc *alloc,
                              const char **reason) {
    mpl_addresses addresses;
    if (request->sent) *request->sent = false;
    *reason = refusal(policy, request);
    if (*reason) return MPL_HTTP_REFUSED;
    *reason = open_door(http);
    if (*reason) return **reason ? MPL_HTTP_FAILED : MPL_HTTP_MEMORY;
    if (!enter(http, request->deadline)) {
        *reason = "other requests took all the time there was";
        return MPL_HTTP_LATE;
    }
    mpl_http_end end = find_addresses(http, policy, request, &addresses, reason);
    if (end == MPL_HTTP_DONE) end = transfer(http, policy, request, &addresses, alloc, reason);
    leave(http);
    return end;
}
