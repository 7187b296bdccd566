#include "curl.h"

#ifdef MOONPLAN_WITH_CURL

#include <dlfcn.h>
#include <string.h>

/* From 7.88 on: protocols are given by name, global_init may be called by several threads, and
 * nothing that is written to a socket raises SIGPIPE. */
#define OLDEST 0x075800

/* ISO C has no cast from an object's address to a function's; POSIX says that they are alike. */
static bool find(void *library, const char *name, void *into, size_t size) {
    void *found = dlsym(library, name);
    memcpy(into, &found, size);
    return found != NULL;
}

const char *mpl_curl_open(mpl_curl *curl) {
    /* NODELETE: what libcurl and its TLS library leave for the end of the process (thread keys,
     * atexit) has to stay where it is. */
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) return "libcurl.so.4, which does the fetching, is not on this machine";
#define FIND(name) find(library, "curl_" #name, &curl->name, sizeof curl->name)
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
    return curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? NULL : "libcurl does not start";
}

void mpl_curl_close(mpl_curl *curl) {
    curl->global_cleanup();
}

#else
typedef int mpl_curl_is_off; /* ISO C wants something in every file */
#endif
