/* The door to libsqlite3, opened when first used. */
#ifndef MPL_HOST_SQLITE_H
#define MPL_HOST_SQLITE_H

#include <stdbool.h>

#ifdef MOONPLAN_WITH_SQLITE

#include <sqlite3.h>

#define MPL_SQLITE_FUNCTIONS(X)                                                                    \
    X(open_v2)                                                                                     \
    X(close_v2)                                                                                    \
    X(prepare_v2)                                                                                  \
    X(step)                                                                                        \
    X(reset)                                                                                       \
    X(finalize)                                                                                    \
    X(clear_bindings)                                                                              \
    X(bind_text64)                                                                                 \
    X(bind_blob64)                                                                                 \
    X(bind_int64)                                                                                  \
    X(bind_null)                                                                                   \
    X(column_blob)                                                                                 \
    X(column_bytes)                                                                                \
    X(column_int64)                                                                                \
    X(column_type)                                                                                 \
    X(changes)                                                                                     \
    X(last_insert_rowid)                                                                           \
    X(extended_errcode)                                                                            \
    X(busy_timeout)                                                                                \
    X(db_config)                                                                                   \
    X(db_readonly)                                                                                 \
    X(system_errno)                                                                                \
    X(get_autocommit)                                                                              \
    X(errstr)                                                                                      \
    X(libversion_number)

typedef struct mpl_sqlite {
#define MPL_SQLITE_FIELD(name) __typeof__ (&sqlite3_##name)(name);
    MPL_SQLITE_FUNCTIONS(MPL_SQLITE_FIELD)
#undef MPL_SQLITE_FIELD
} mpl_sqlite;

/* NULL, or a line that says why not; an empty one where memory is short. */
const char *mpl_sqlite_open(mpl_sqlite *sqlite);

#endif
#endif
