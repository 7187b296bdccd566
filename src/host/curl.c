#include "curl.h"

#ifdef MOONPLAN_WITH_CURL

#include "library.h"

/* From 7.88 on: protocols are given by name, global_init may be called by several threads, and
 * nothing that is written to a socket raises SIGPIPE. */
#define OLDEST 0x075800

const char *mpl_curl_open(mpl_curl *curl) {
    static const char *const failures[MPL_LIBRARY_STATES] = {
        [MPL_LIBRARY_ABSENT] = "libcurl.so.4, which does the fetching, is not on this machine",
        [MPL_LIBRARY_REFUSED] = "libcurl.so.4, which does the fetching, cannot be loaded",
        [MPL_LIBRARY_MEMORY] = ""};
    void *library;
    mpl_library state = mpl_library_open(&library, "libcurl.so.4");
    if (state != MPL_LIBRARY_OPEN) return failures[state];
#define FIND(name) mpl_library_find(library, "curl_" #name, &curl->name, sizeof curl->name)
    bool whole = FIND(version_info) && FIND(global_init) && FIND(global_cleanup) &&
                 FIND(easy_init) && FIND(easy_cleanup) && FIND(easy_setopt) && FIND(easy_getinfo) &&
                 FIND(easy_perform) && FIND(slist_append) && FIND(slist_free_all);
#undef FIND
    if (whole) {
        const curl_version_info_data *about = curl->version_info(CURLVERSION_NOW);
        whole = about->version_num >= OLDEST && (about->features & CURL_VERSION_SSL) &&
                (about->features & CURL_VERSION_THREADSAFE);
    }
    if (!whole) return "libcurl.so.4 is older than 7.88, or built without TLS or threads";
    CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT);
    return code == CURLE_OK ? NULL : code == CURLE_OUT_OF_MEMORY ? "" : "libcurl does not start";
}

void mpl_curl_close(mpl_curl *curl) {
    curl->global_cleanup();
}

#else
typedef int mpl_curl_is_off; /* ISO C wants something in every file */
#endif
