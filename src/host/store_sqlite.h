/* The store in a SQLite file, from inside. */
#ifndef MPL_HOST_STORE_SQLITE_H
#define MPL_HOST_STORE_SQLITE_H

#include "../engine/record.h"
#include "owner.h"
#include "sqlite.h"

typedef struct mpl_sqlite_setup {
    moonplan_text path;
    unsigned flags;
    const moonplan_options *options; /* the engine's */
    /* Zeroed: 5,000 and 60,000 milliseconds, and this process. */
    int busy_ms;
    int64_t lease_ms;
    const char *owner;
} mpl_sqlite_setup;

/* Open or make the file. False with *err, and the file is as it was. */
bool mpl_store_sqlite(mpl_store *store, const mpl_sqlite_setup *setup, moonplan_error *err);

#ifdef MOONPLAN_WITH_SQLITE

/* "mpla" */
#define MPL_STORE_APPLICATION 0x6d706c61
#define MPL_STORE_VERSION     1
/* SQLite's file format, section 4.1: the first bytes tell it from other files, and two salts in it
 * change when it begins anew. */
#define MPL_LOG_HEADER 32

typedef enum mpl_sql {
    MPL_SQL_BEGIN,
    MPL_SQL_BEGIN_READ,
    MPL_SQL_COMMIT,
    MPL_SQL_ROLLBACK,
    MPL_SQL_HEAD,
    MPL_SQL_SET_HEAD,
    MPL_SQL_ADD_JOB,
    MPL_SQL_ADD_STEP,
    MPL_SQL_ADD_EVENT,
    MPL_SQL_ADD_KEY,
    MPL_SQL_FIND_KEY,
    MPL_SQL_FIND_SAME,
    MPL_SQL_SET_JOB,
    MPL_SQL_SET_STEP,
    MPL_SQL_JOB_HEAD,
    MPL_SQL_USES,
    MPL_SQL_ADD_USE,
    MPL_SQL_JOB,
    MPL_SQL_STEPS,
    MPL_SQL_EVENTS,
    MPL_SQL_CLAIM,
    MPL_SQL_LET_GO,
    MPL_SQL_LIST,
    MPL_SQL_CANCEL,
    MPL_SQL_CANCELLED,
    MPL_SQL_KV_GET,
    MPL_SQL_KV_SET,
    MPL_SQL_KV_DELETE,
    MPL_SQL_KV_LIST,
    MPL_SQL_RECORDS,
    MPL_SQL_JOB_RECORDS,
    MPL_SQL_IDS,
    MPL_SQL_SIGNED,
    MPL_SQL_SIGN,
    MPL_SQL_USE,
    MPL_SQL_USES_OF,
    MPL_SQL_ODD_KEYS,
    MPL_SQL_CHECK,
    MPL_SQL_ORPHANS,
    MPL_SQL_COUNT
} mpl_sql;

typedef struct mpl_sqlite_store {
    mpl_alloc alloc;
    mpl_sqlite sqlite;
    sqlite3 *db;
    sqlite3_stmt *statements[MPL_SQL_COUNT];
    char *path; /* as it was given, for error texts; ends with a NUL */
    size_t path_length;
    char *real; /* where it really is, with room for "-wal" behind it; NULL: read-only */
    size_t real_size;
    uint64_t files[3][2]; /* device and inode of the file, its log and the log's index */
    unsigned char log_header[MPL_LOG_HEADER];
    int64_t log_size; /* as it was when it had this header */
    int64_t file_size, index_size;
    bool read_only;
    bool broken; /* a transaction could not be rolled back: nothing more is done */
    bool cut;    /* the file is shorter than it was, or the log's index is */
    int64_t lease_ms;
    char owner[MPL_OWNER_SIZE];
    moonplan_job *held; /* those that are ours, by their `after` */
    int bind_failed;    /* of the statement that is being bound; SQLITE_OK */
    mpl_buffer scratch;
} mpl_sqlite_store;

/* -- Opening (store_sqlite_open.c) ----------------------------------------------*/

/* Fill in db and what it is opened with. */
bool mpl_sqlite_store_open(mpl_sqlite_store *store, const mpl_sqlite_setup *setup,
                           moonplan_error *err);

/* Those that were prepared; they are prepared anew where they are needed again. */
void mpl_sqlite_forget_statements(mpl_sqlite_store *store);
/* Whether the file and its log are still where they were; false with *err. What is written to files
 * that have no name any more is lost with this process. */
bool mpl_sqlite_store_stays(mpl_sqlite_store *store, moonplan_error *err);
/* The same for the log's index alone, which SQLite has mapped into memory: to look at what was cut
 * off of it ends the process (SIGBUS). */
bool mpl_sqlite_index_stays(mpl_sqlite_store *store, moonplan_error *err);

/* -- Statements (store_sqlite_sql.c) --------------------------------------------*/

/* What SQLite says went wrong, as the code that it is here; false. */
bool mpl_sqlite_fail(mpl_sqlite_store *store, int code, moonplan_error *err);
/* The statement, ready to be bound; NULL with *err. */
sqlite3_stmt *mpl_sqlite_take(mpl_sqlite_store *store, mpl_sql which, moonplan_error *err);
/* Bind by position, from 1; {NULL, 0} and MOONPLAN_NO_TIME are NULL. What is bound has to stay
 * until the statement is given back. A failure shows when it is run. */
void mpl_bind_text(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, moonplan_text text);
void mpl_bind_word(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, const char *text);
void mpl_bind_bytes(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, moonplan_text bytes);
void mpl_bind_number(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, int64_t number);
void mpl_bind_time(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, int64_t time);
/* The next row: *row false at the end and nowhere else. False with *err; the statement has been
 * given back then. */
bool mpl_sqlite_row(mpl_sqlite_store *store, sqlite3_stmt *statement, bool *row,
                    moonplan_error *err);
/* Give it back, and say whether `fine` is true: memory that is short while a row is looked at shows
 * here and nowhere else, and what was read from it is nothing then. */
bool mpl_sqlite_give(mpl_sqlite_store *store, sqlite3_stmt *statement, bool fine,
                     moonplan_error *err);
/* Run one that has no rows, or whose first is enough to know of, and give it back. */
bool mpl_sqlite_run(mpl_sqlite_store *store, sqlite3_stmt *statement, moonplan_error *err);
/* Columns from 0; a text is good until the next row. {NULL, 0} and MOONPLAN_NO_TIME: NULL. */
moonplan_text mpl_column_text(mpl_sqlite_store *store, sqlite3_stmt *statement, int column);
int64_t mpl_column_time(mpl_sqlite_store *store, sqlite3_stmt *statement, int column);

/* A transaction that writes: BEGIN IMMEDIATE. The second ends it: with `fine` it is committed, and
 * what it returns is whether that has succeeded; else it is rolled back. */
bool mpl_sqlite_begin(mpl_sqlite_store *store, moonplan_error *err);
bool mpl_sqlite_end(mpl_sqlite_store *store, bool fine, moonplan_error *err);

/* -- Reading (store_sqlite_read.c) ----------------------------------------------*/

bool mpl_sqlite_load(void *data, moonplan_text id, mpl_stored *stored, bool *found,
                     moonplan_error *err);
bool mpl_sqlite_claim(void *data, moonplan_text id, mpl_stored *stored, bool *found,
                      moonplan_error *err);
bool mpl_sqlite_list(void *data, const moonplan_job_filter *filter, mpl_builder *out,
                     moonplan_error *err);
/* Whether somebody else runs a job with this lease; his process id where that is known. */
bool mpl_sqlite_leased(const mpl_sqlite_store *store, int64_t row, moonplan_text owner,
                       int64_t deadline, uint64_t *pid);
extern const mpl_trail mpl_sqlite_trail;

/* Values by key (store_sqlite_kv.c). */
bool mpl_sqlite_kv_get(void *data, moonplan_text space, moonplan_text key, mpl_buffer *out,
                       bool *found, moonplan_error *err);
bool mpl_sqlite_kv_set(void *data, moonplan_text space, moonplan_text key,
                       const moonplan_text *value, moonplan_error *err);
bool mpl_sqlite_kv_list(void *data, moonplan_text space, mpl_key_sink each, void *each_data,
                        moonplan_error *err);

#endif
#endif
