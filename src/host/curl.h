/* The door to libcurl. It is opened when first used: linked in, it would make every start of the
 * program several times slower, for a library that most runs never need. */
#ifndef MPL_HOST_CURL_H
#define MPL_HOST_CURL_H

#include <stdbool.h>

#ifdef MOONPLAN_WITH_CURL

#include <curl/curl.h>

typedef struct mpl_curl {
    __typeof__(&curl_version_info) version_info;
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_global_cleanup) global_cleanup;
    __typeof__(&curl_easy_init) easy_init;
    __typeof__(&curl_easy_cleanup) easy_cleanup;
    __typeof__(&curl_easy_setopt) easy_setopt;
    __typeof__(&curl_easy_getinfo) easy_getinfo;
    __typeof__(&curl_easy_perform) easy_perform;
    __typeof__(&curl_slist_append) slist_append;
    __typeof__(&curl_slist_free_all) slist_free_all;
} mpl_curl;

/* NULL, or a line that says why not; an empty one where memory is short. */
const char *mpl_curl_open(mpl_curl *curl);
void mpl_curl_close(mpl_curl *curl);

#endif
#endif
