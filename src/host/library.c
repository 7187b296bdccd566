#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* The dynamic linker says why in words alone, and does not always set errno. Where a host has these
 * translated, a library that is not there is one that cannot be loaded: less is said, and nothing
 * wrong. */
mpl_library mpl_library_open(void **library, const char *name) {
    errno = 0;
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (*library) return MPL_LIBRARY_OPEN;
    int error = errno;
    const char *why = dlerror();
    if (error == ENOMEM || !why || strstr(why, "out of memory") ||
        strstr(why, "annot allocate memory"))
        return MPL_LIBRARY_MEMORY;
    return strstr(why, "No such file") ? MPL_LIBRARY_ABSENT : MPL_LIBRARY_REFUSED;
}

/* ISO C has no cast from an object's address to a function's; POSIX says that they are alike. */
bool mpl_library_find(void *library, const char *name, void *into, size_t size) {
    void *found = dlsym(library, name);
    memcpy(into, &found, size);
    return found != NULL;
}
