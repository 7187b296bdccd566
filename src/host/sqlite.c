#include "sqlite.h"

#ifdef MOONPLAN_WITH_SQLITE

#include <dlfcn.h>
#include <string.h>

/* 3.37 has STRICT tables. */
#define OLDEST 3037000

/* ISO C has no cast from an object's address to a function's; POSIX says that they are alike. */
static bool find(void *library, const char *name, void *into, size_t size) {
    void *found = dlsym(library, name);
    memcpy(into, &found, size);
    return found != NULL;
}

const char *mpl_sqlite_open(mpl_sqlite *sqlite) {
    /* NODELETE: the library keeps what it knows of open files and their locks, which count for the
     * whole process. */
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) return "libsqlite3.so.0, which keeps the jobs, is not on this machine";
    bool whole = true;
#define FIND(name)                                                                                 \
    whole = find(library, "sqlite3_" #name, &sqlite->name, sizeof sqlite->name) && whole;
    MPL_SQLITE_FUNCTIONS(FIND)
#undef FIND
    if (whole && sqlite->libversion_number() >= OLDEST) return NULL;
    return "libsqlite3.so.0 is older than 3.37";
}

#else
typedef int mpl_sqlite_is_off; /* ISO C wants something in every file */
#endif
