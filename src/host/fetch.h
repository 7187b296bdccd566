/* Fetching artifacts: the public functions are in moonplan.h; this is for tests. */
#ifndef MPL_HOST_FETCH_H
#define MPL_HOST_FETCH_H

#include "http.h"

/* See mpl_http_hook. */
void mpl_fetcher_hook(moonplan_fetcher *fetcher, mpl_http_socket make, void *data);

#endif
