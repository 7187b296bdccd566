/* The URLs that ERC-8410 allows, by RFC 3986 and nothing looser: what two readers could take for
 * two URLs is refused, not repaired. */
#ifndef MPL_CALL_URL_H
#define MPL_CALL_URL_H

#include "../moonplan.h"

/* A DNS name (RFC 1035: 253 characters and a root dot), or an IPv6 address in brackets. */
#define MPL_HOST_MOST 253

typedef struct mpl_url {
    moonplan_transport transport;
    /* https: the host in its one spelling (lower case, no root dot; an address as RFC 5952 writes
     * it, without brackets), and the address when it is a literal (length 0 otherwise). */
    char host[MPL_HOST_MOST + 1];
    size_t host_length;
    moonplan_address literal;
    /* Pieces of the text that was read. https: path and query, possibly empty or with the query
     * alone; file: the path, still percent-encoded; data: what stands behind the comma. */
    moonplan_text rest;
    bool base64; /* data */
} mpl_url;

/* Why a URL is refused: for mpl_error_set, with `&culprit` and `what` as the arguments. */
typedef struct mpl_url_fault {
    moonplan_code code;
    const char *format; /* at most one %q, then at most one %s */
    moonplan_text culprit;
    const char *what;
} mpl_url_fault;

/* Read a URL that an artifact reference may carry. On false only *fault is filled. */
bool mpl_url_read(mpl_url *url, moonplan_text text, mpl_url_fault *fault);

/* Why a text is no delivery URL (ERC-8410, Controlled Delivery: a profile of its own, narrower than
 * that of artifacts), or NULL. */
const char *mpl_url_delivery_fault(moonplan_text text);
/* The host of a delivery URL without faults. */
moonplan_text mpl_url_delivery_host(moonplan_text text);

/* Decode the percent escapes of a text without faults into `out`, which has room for text.length
 * bytes. Returns how many came out. */
size_t mpl_url_decode(char *out, moonplan_text text);

#endif
