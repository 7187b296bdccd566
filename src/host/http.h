/* One HTTP client for everything that goes out, with a policy for each use. What it never does,
 * whatever the policy: follow a redirect, use a proxy, send a cookie or stored credentials, speak
 * HTTP/0.9, take a certificate that does not verify, keep a connection, connect to an address that
 * was not among the ones checked, or put a byte of a response into a message.
 *
 * Holes: revoked certificates are not told apart, for want of a reader of such lists. A body that
 * is neither chunked nor of announced length may be cut by whoever can close the connection, since
 * libcurl takes the end of TCP for the end of TLS. With SSLKEYLOGFILE in the environment libcurl
 * writes its session keys there. */
#ifndef MPL_HOST_HTTP_H
#define MPL_HOST_HTTP_H

#include "../core/alloc.h"
#include "resolve.h"

/* Bytes of the path and query that are asked for. */
#define MPL_HTTP_TARGET_MOST 65536

enum { MPL_HTTP_SECURE = 1, MPL_HTTP_PLAIN = 2 }; /* https, http */

/* The name of a method, MOONPLAN_HTTP_GET or one beside it; NULL if it is none of them. */
const char *mpl_http_method_name(unsigned method);

typedef struct mpl_http_place {
    moonplan_text host; /* as in the request */
    uint16_t port;
} mpl_http_place;

typedef struct mpl_http_policy {
    unsigned schemes, methods; /* those allowed, or-ed */
    /* The only hosts and ports; NULL: any host, at the scheme's own port. */
    const mpl_http_place *places;
    size_t place_count;
    bool any_address;                /* false: all addresses of the host must be public unicast */
    bool loopback;                   /* or, with this one, all of them loopback addresses */
    uint64_t head_most;              /* bytes of the status lines and headers, trailers included */
    uint64_t body_most;              /* bytes of the body, decoded; below 2^60 */
    uint64_t sent_most;              /* bytes of the request's body */
    uint64_t resolve_ms, connect_ms; /* each at most; the deadline counts as well */
    /* The body must come at `slow_bytes` a second, in every `slow_ms`; 0: at any speed. */
    uint64_t slow_bytes, slow_ms;
} mpl_http_policy;

typedef struct mpl_http_header {
    moonplan_text name, value;
} mpl_http_header;

/* The functions are called by the thread that asked; one that returns false ends the request. Those
 * that are NULL are not called. */
typedef struct mpl_http_request {
    unsigned scheme, method;
    /* In lower case, without root dot; an address without brackets. A NUL behind it. */
    moonplan_text host;
    uint16_t port;        /* 0: the scheme's own */
    moonplan_text target; /* from "/" on, sent as it is. A NUL behind it. */
    const mpl_http_header *headers;
    size_t header_count;
    const void *body; /* for POST, PUT and PATCH */
    size_t body_length;
    uint64_t deadline; /* by mpl_now */
    bool *sent;        /* set once a byte of the request may have gone out; NULL: not asked */
    /* Before any connection: the addresses that the host was found to have. */
    bool (*resolved)(void *data, const mpl_addresses *addresses);
    /* The final status, once the head is complete. */
    bool (*status)(void *data, unsigned status);
    bool (*header)(void *data, moonplan_text name, moonplan_text value);
    /* Pieces of the body, decoded. One that goes over body_most is cut one byte behind it, and is
     * the last. */
    bool (*piece)(void *data, const char *bytes, size_t length);
    void *data;
} mpl_http_request;

typedef enum mpl_http_end {
    MPL_HTTP_DONE,    /* the response is complete */
    MPL_HTTP_STOPPED, /* a function of the request said so */
    MPL_HTTP_REFUSED, /* against the policy: nothing was looked up or sent */
    MPL_HTTP_ADDRESS, /* against the policy once it was resolved: nothing was sent */
    MPL_HTTP_FAILED,
    MPL_HTTP_LARGE, /* a larger body is announced than may come */
    MPL_HTTP_LATE,  /* the deadline passed */
    MPL_HTTP_MEMORY
} mpl_http_end;

/* A client may be used by several threads at once. */
typedef struct mpl_http mpl_http;

typedef struct mpl_http_setup {
    size_t at_once;             /* requests at a time; more wait for their turn */
    moonplan_text ca_file;      /* the roots of trust, PEM; {NULL, 0}: the system's */
    moonplan_resolver resolver; /* NULL: the system's */
    void *resolver_data;
} mpl_http_setup;

mpl_http *mpl_http_new(const mpl_http_setup *setup, const mpl_alloc *alloc, moonplan_error *err);
void mpl_http_free(mpl_http *http);

/* `alloc` is for the call; *reason, where the end is not DONE, STOPPED or MEMORY, a line of ours
 * that lives for ever. libcurl's memory is the C library's. */
mpl_http_end mpl_http_perform(mpl_http *http, const mpl_http_policy *policy,
                              const mpl_http_request *request, mpl_alloc *alloc,
                              const char **reason);

/* For tests: makes the sockets from now on, for addresses that were let through. `address` is a
 * struct sockaddr and may be changed, *family and *length with it. -1: none. */
typedef int (*mpl_http_socket)(void *data, int *family, int type, int protocol, void *address,
                               unsigned *length);
void mpl_http_hook(mpl_http *http, mpl_http_socket make, void *data);
void mpl_http_client_hook(moonplan_http *http, mpl_http_socket make, void *data);

#endif
