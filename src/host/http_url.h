/* URLs of http and https with a port, by the rules that ERC-8410 has for references where those do
 * not forbid the port: RFC 3986 and nothing looser. */
#ifndef MPL_HOST_HTTP_URL_H
#define MPL_HOST_HTTP_URL_H

#include "../call/url.h"

typedef struct mpl_http_url {
    unsigned scheme; /* MPL_HTTP_SECURE or MPL_HTTP_PLAIN */
    /* In lower case, without root dot; an address without brackets. A NUL behind it. */
    char host[MPL_HOST_MOST + 1];
    size_t host_length;
    uint16_t port;
    bool loopback;      /* a loopback address as it is written, or localhost */
    moonplan_text rest; /* path and query, or nothing; a piece of the text */
} mpl_http_url;

/* False with *err: `code` says which, and for an address that is neither public unicast nor
 * loopback it is http.address. */
bool mpl_http_url_read(mpl_http_url *url, moonplan_text text, moonplan_code code,
                       moonplan_error *err);

#endif
