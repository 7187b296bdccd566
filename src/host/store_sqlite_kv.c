/* The power kv in a SQLite file. */
#include "store_sqlite.h"

#ifdef MOONPLAN_WITH_SQLITE

bool mpl_sqlite_kv_get(void *data, moonplan_text space, moonplan_text key, mpl_buffer *out,
                       bool *found, moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_KV_GET, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, space);
    mpl_bind_text(store, statement, 2, key);
    if (!mpl_sqlite_row(store, statement, found, err)) return false;
    if (*found) {
        moonplan_text value = mpl_column_text(store, statement, 0);
        mpl_buffer_add(out, value.bytes, value.length);
    }
    if (out->failed) mpl_error_memory(err);
    return mpl_sqlite_give(store, statement, !out->failed, err);
}

bool mpl_sqlite_kv_set(void *data, moonplan_text space, moonplan_text key,
                       const moonplan_text *value, moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement =
        mpl_sqlite_take(store, value ? MPL_SQL_KV_SET : MPL_SQL_KV_DELETE, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, space);
    mpl_bind_text(store, statement, 2, key);
    if (value) mpl_bind_bytes(store, statement, 3, *value);
    return mpl_sqlite_run(store, statement, err);
}

bool mpl_sqlite_kv_list(void *data, moonplan_text space, mpl_key_sink each, void *each_data,
                        moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_KV_LIST, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, space);
    bool row = true, more = true;
    while (more && mpl_sqlite_row(store, statement, &row, err)) {
        if (!row) break;
        int64_t size = store->sqlite.column_int64(statement, 1);
        more = each(each_data, mpl_column_text(store, statement, 0), size > 0 ? (size_t)size : 0);
    }
    return !(row && more) && mpl_sqlite_give(store, statement, true, err);
}

#else
typedef int mpl_store_sqlite_kv_is_off; /* ISO C wants something in every file */
#endif
