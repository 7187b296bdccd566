/* One request and its response over libcurl, once the policy has let it through. */
#ifndef MPL_HOST_HTTP_TRANSFER_H
#define MPL_HOST_HTTP_TRANSFER_H

#include "curl.h"
#include "http.h"

#ifdef MOONPLAN_WITH_CURL

typedef struct mpl_transfer {
    const mpl_curl *curl;
    const mpl_http_policy *policy;
    const mpl_http_request *request;
    const mpl_addresses *addresses; /* checked; the only ones that a socket is made for */
    const char *method;
    uint16_t port;
    const char *ca_file; /* NULL: the system's */
    mpl_http_socket make_socket;
    void *make_data;
} mpl_transfer;

mpl_http_end mpl_transfer_run(const mpl_transfer *transfer, mpl_alloc *alloc, const char **reason);

#endif
#endif
