#include "sqlite.h"

#ifdef MOONPLAN_WITH_SQLITE

#include "library.h"

/* 3.37 has STRICT tables. */
#define OLDEST 3037000

const char *mpl_sqlite_open(mpl_sqlite *sqlite) {
    static const char *const failures[MPL_LIBRARY_STATES] = {
        [MPL_LIBRARY_ABSENT] = "libsqlite3.so.0, which keeps the jobs, is not on this machine",
        [MPL_LIBRARY_REFUSED] = "libsqlite3.so.0, which keeps the jobs, cannot be loaded",
        [MPL_LIBRARY_MEMORY] = ""};
    void *library;
    mpl_library state = mpl_library_open(&library, "libsqlite3.so.0");
    if (state != MPL_LIBRARY_OPEN) return failures[state];
    bool whole = true;
#define FIND(name)                                                                                 \
    whole =                                                                                        \
        mpl_library_find(library, "sqlite3_" #name, &sqlite->name, sizeof sqlite->name) && whole;
    MPL_SQLITE_FUNCTIONS(FIND)
#undef FIND
    if (whole && sqlite->libversion_number() >= OLDEST) return NULL;
    return "libsqlite3.so.0 is older than 3.37";
}

#else
typedef int mpl_sqlite_is_off; /* ISO C wants something in every file */
#endif
