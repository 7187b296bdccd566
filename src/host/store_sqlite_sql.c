/* The store's statements, and the way to run them. */
#include "store_sqlite.h"

#ifdef MOONPLAN_WITH_SQLITE

#include <errno.h>
#include <string.h>

/* Without RETURNING, which fills a table of its own each time: 87 KB taken and given back. */
static const char *const texts[] = {
    /* The lock is taken at once: a transaction that has read may not fail to write. */
    [MPL_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [MPL_SQL_BEGIN_READ] = "BEGIN",
    [MPL_SQL_COMMIT] = "COMMIT",
    [MPL_SQL_ROLLBACK] = "ROLLBACK",
    [MPL_SQL_HEAD] = "SELECT sequence, digest FROM head",
    [MPL_SQL_SET_HEAD] = "UPDATE head SET sequence = ?1, digest = ?2",
    [MPL_SQL_ADD_JOB] =
        "INSERT INTO job (id, status, goal, plan, plan_digest, caller, caller_digest, created, "
        "events, head, owner, deadline) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [MPL_SQL_ADD_STEP] = "INSERT INTO step (job, position, id, capability, version, risk, status) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending')",
    [MPL_SQL_ADD_EVENT] =
        "INSERT INTO event (sequence, job, position, event, before, before_in_job, digest) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [MPL_SQL_ADD_KEY] = "INSERT INTO deduplication (key, job) VALUES (?1, ?2) ON CONFLICT (key) "
                        "DO NOTHING",
    /* The plan's digest covers its key. No index: it is asked when plans share a key. */
    [MPL_SQL_FIND_SAME] = "SELECT id FROM job WHERE plan_digest = ?1 AND caller_digest = ?2 "
                          "ORDER BY number LIMIT 1",
    [MPL_SQL_FIND_KEY] = "SELECT job.id, job.plan_digest, job.caller_digest FROM deduplication "
                         "JOIN job ON job.number = deduplication.job WHERE deduplication.key = ?1",
    [MPL_SQL_SET_JOB] =
        "UPDATE job SET status = ?3, started = ?4, completed = ?5, failure = ?6, nameless = ?7, "
        "denied_risk = ?8, events = ?9, head = ?10, owner = ?11, deadline = ?12 "
        "WHERE number = ?1 AND owner = ?2",
    [MPL_SQL_SET_STEP] =
        "UPDATE step SET version = ?3, risk = ?4, status = ?5, started = ?6, completed = ?7, "
        "input_digest = ?8, result = ?9, result_digest = ?10, approval = ?11, code_digest = ?12 "
        "WHERE job = ?1 AND position = ?2",
    [MPL_SQL_JOB_HEAD] = "SELECT events, head, cancel FROM job WHERE number = ?1",
    [MPL_SQL_USES] = "SELECT 1 FROM approval_use JOIN job ON job.number = approval_use.job "
                     "WHERE approval_use.approval = ?1 AND (approval_use.position = ?2 OR "
                     "job.id <> ?3)",
    [MPL_SQL_ADD_USE] = "INSERT INTO approval_use (approval, position, job) VALUES (?1, ?2, ?3)",
    [MPL_SQL_JOB] =
        "SELECT number, status, plan, caller, created, started, completed, failure, nameless, "
        "denied_risk, plan_digest, caller_digest, owner, deadline, goal, cancel, events, head "
        "FROM job WHERE id = ?1",
    [MPL_SQL_STEPS] =
        "SELECT position, status, started, completed, version, risk, input_digest, "
        "result, result_digest, approval, code_digest, id, capability FROM step WHERE job = ?1 "
        "ORDER BY position",
    [MPL_SQL_EVENTS] = "SELECT event FROM event WHERE job = ?1 ORDER BY position",
    [MPL_SQL_CLAIM] = "UPDATE job SET owner = ?2, deadline = ?3 WHERE number = ?1",
    [MPL_SQL_LET_GO] = "UPDATE job SET owner = NULL, deadline = NULL WHERE number = ?1 AND "
                       "owner = ?2",
    [MPL_SQL_LIST] =
        "SELECT number, id, status, goal, created, completed, owner, deadline, "
        /* Of jobs that may have been left alone only: of all it is most of what a list costs. */
        "CASE WHEN job.status IN ('created', 'executing') THEN EXISTS (SELECT 1 FROM step WHERE "
        "step.job = job.number AND step.status = 'running') ELSE 0 END "
        "FROM job WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM step WHERE step.job = job.number AND "
        "step.capability = ?1) ORDER BY number",
    [MPL_SQL_CANCEL] = "UPDATE job SET cancel = 1 WHERE number = ?1",
    [MPL_SQL_CANCELLED] = "SELECT cancel FROM job WHERE number = ?1",
    [MPL_SQL_KV_GET] = "SELECT value FROM kv WHERE space = ?1 AND key = ?2",
    [MPL_SQL_KV_SET] = "INSERT INTO kv (space, key, value) VALUES (?1, ?2, ?3) "
                       "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value",
    [MPL_SQL_KV_DELETE] = "DELETE FROM kv WHERE space = ?1 AND key = ?2",
    [MPL_SQL_KV_LIST] = "SELECT key, length(value) FROM kv WHERE space = ?1 ORDER BY key",
    [MPL_SQL_RECORDS] = "SELECT event.sequence, event.position, job.id, event.event, event.before, "
                        "event.before_in_job, event.digest FROM event LEFT JOIN job ON "
                        "job.number = event.job ORDER BY event.sequence",
    [MPL_SQL_JOB_RECORDS] =
        "SELECT event.sequence, event.position, job.id, event.event, event.before, "
        "event.before_in_job, event.digest FROM event JOIN job ON job.number = event.job "
        "WHERE job.id = ?1 ORDER BY event.position",
    [MPL_SQL_IDS] = "SELECT id FROM job ORDER BY number",
    [MPL_SQL_SIGNED] = "SELECT sequence, digest, time, signature FROM signed_head WHERE key = ?1 "
                       "ORDER BY number DESC LIMIT 1",
    [MPL_SQL_USE] = "SELECT 1 FROM approval_use WHERE approval = ?1 AND position = ?2 AND job = ?3",
    [MPL_SQL_USES_OF] = "SELECT count(*) FROM approval_use WHERE job = ?1",
    [MPL_SQL_ODD_KEYS] = "SELECT count(*) FROM deduplication WHERE job = ?1 AND key IS NOT ?2",
    /* Indexes are another copy of what the tables say, and the one by which rows are found. */
    [MPL_SQL_CHECK] = "PRAGMA integrity_check(20)",
    [MPL_SQL_ORPHANS] = "SELECT DISTINCT 'the table ' || \"table\" || ' has rows of a job that is "
                        "gone' FROM pragma_foreign_key_check WHERE \"table\" <> 'event'",
    [MPL_SQL_SIGN] = "INSERT INTO signed_head (sequence, digest, time, key, signature) "
                     "VALUES (?1, ?2, ?3, ?4, ?5)"};

/* -- What went wrong -----------------------------------------------------------*/

/* A file that may not grow (RLIMIT_FSIZE, a quota) fails like a broken disk, but for errno. SQLite
 * does not pass it on where the log is written, so that it is looked at right after. */
static bool is_full(mpl_sqlite_store *store, int code) {
    int error = errno;
    if ((code & 0xff) == SQLITE_FULL) return true;
    /* The last: the log's index, which is 32 KiB at the least. */
    if (code != SQLITE_IOERR_WRITE && code != SQLITE_IOERR_TRUNCATE && code != SQLITE_IOERR_SHMSIZE)
        return false;
    if (store->db && store->sqlite.system_errno(store->db))
        error = store->sqlite.system_errno(store->db);
    return error == ENOSPC || error == EFBIG || error == EDQUOT;
}

bool mpl_sqlite_fail(mpl_sqlite_store *store, int code, moonplan_error *err) {
    moonplan_text path = {store->path, store->path_length};
    int kind = code & 0xff;
    if (kind == SQLITE_NOMEM)
        mpl_error_memory(err);
    else if (is_full(store, code))
        mpl_error_set(err, MOONPLAN_STORE_FULL, MOONPLAN_NO_OFFSET, NULL,
                      "there is no room for the store %q to grow", &path);
    else if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
        mpl_error_set(err, MOONPLAN_STORE_LOCKED, MOONPLAN_NO_OFFSET, NULL,
                      "another process is writing to the store %q, and does not come to an end",
                      &path);
    else if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        mpl_error_set(err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                      "the store %q is damaged: %s", &path, store->sqlite.errstr(kind));
    else if (kind == SQLITE_READONLY && store->read_only)
        mpl_error_set(err, MOONPLAN_STORE_OPEN, MOONPLAN_NO_OFFSET, NULL,
                      "the store %q cannot be read without writing to it: what a process that was "
                      "killed has left beside it has to be put in order first",
                      &path);
    else if (kind == SQLITE_READONLY || kind == SQLITE_CANTOPEN || kind == SQLITE_PERM ||
             kind == SQLITE_AUTH)
        mpl_error_set(err, MOONPLAN_STORE_OPEN, MOONPLAN_NO_OFFSET, NULL,
                      store->read_only ? "the store %q cannot be read: %s"
                                       : "the store %q cannot be written: %s",
                      &path, store->sqlite.errstr(kind));
    else if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
        mpl_error_set(err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL,
                      "what was written to the store %q may not have reached the disk", &path);
    else
        mpl_error_set(err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL, "the store %q: %s",
                      &path, store->sqlite.errstr(code));
    return false;
}

/* -- Statements ----------------------------------------------------------------*/

sqlite3_stmt *mpl_sqlite_take(mpl_sqlite_store *store, mpl_sql which, moonplan_error *err) {
    sqlite3_stmt **statement = &store->statements[which];
    if (store->broken && which != MPL_SQL_ROLLBACK) {
        moonplan_text path = {store->path, store->path_length};
        mpl_error_set(err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL,
                      "the store %q has to be opened anew: a change could not be taken back",
                      &path);
        return NULL;
    }
    if (which != MPL_SQL_ROLLBACK && store->sqlite.get_autocommit(store->db) &&
        !mpl_sqlite_index_stays(store, err))
        return NULL;
    if (!*statement) {
        int code = store->sqlite.prepare_v2(store->db, texts[which], -1, statement, NULL);
        if (code != SQLITE_OK) {
            mpl_sqlite_fail(store, code, err);
            return NULL;
        }
    }
    return *statement;
}

/* A binding fails for want of memory alone, or for more than a row can hold; the row is NULL there
 * then, and either a constraint or the digests of the trail would have it. So it is looked at. */
static void note(mpl_sqlite_store *store, int code) {
    if (code != SQLITE_OK) store->bind_failed = code;
}

void mpl_bind_text(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, moonplan_text text) {
    if (text.bytes)
        note(store, store->sqlite.bind_text64(statement, at, text.bytes, text.length, SQLITE_STATIC,
                                              SQLITE_UTF8));
    else
        note(store, store->sqlite.bind_null(statement, at));
}

void mpl_bind_word(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, const char *text) {
    mpl_bind_text(store, statement, at,
                  text ? (moonplan_text){text, strlen(text)} : (moonplan_text){NULL, 0});
}

void mpl_bind_bytes(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, moonplan_text bytes) {
    note(store, store->sqlite.bind_blob64(statement, at, bytes.length ? bytes.bytes : "",
                                          bytes.length, SQLITE_STATIC));
}

void mpl_bind_number(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, int64_t number) {
    note(store, store->sqlite.bind_int64(statement, at, number));
}

void mpl_bind_time(mpl_sqlite_store *store, sqlite3_stmt *statement, int at, int64_t time) {
    note(store, time == MOONPLAN_NO_TIME ? store->sqlite.bind_null(statement, at)
                                         : store->sqlite.bind_int64(statement, at, time));
}

static int reset(mpl_sqlite_store *store, sqlite3_stmt *statement) {
    int code = store->sqlite.reset(statement);
    store->sqlite.clear_bindings(statement);
    store->bind_failed = SQLITE_OK;
    return code;
}

bool mpl_sqlite_give(mpl_sqlite_store *store, sqlite3_stmt *statement, bool fine,
                     moonplan_error *err) {
    int code = reset(store, statement);
    return code == SQLITE_OK ? fine : mpl_sqlite_fail(store, code, err);
}

bool mpl_sqlite_row(mpl_sqlite_store *store, sqlite3_stmt *statement, bool *row,
                    moonplan_error *err) {
    int code = store->bind_failed;
    *row = false;
    errno = 0;
    if (code == SQLITE_OK) code = store->sqlite.step(statement);
    if (code == SQLITE_ROW) *row = true;
    if (code == SQLITE_ROW || code == SQLITE_DONE) return true;
    mpl_sqlite_fail(store, code, err);
    reset(store, statement);
    *row = true; /* the end has not been reached */
    return false;
}

bool mpl_sqlite_run(mpl_sqlite_store *store, sqlite3_stmt *statement, moonplan_error *err) {
    bool row;
    return mpl_sqlite_row(store, statement, &row, err) &&
           mpl_sqlite_give(store, statement, true, err);
}

moonplan_text mpl_column_text(mpl_sqlite_store *store, sqlite3_stmt *statement, int column) {
    if (store->sqlite.column_type(statement, column) == SQLITE_NULL)
        return (moonplan_text){NULL, 0};
    /* Not as text, which may take memory for the NUL behind it. */
    const char *bytes = store->sqlite.column_blob(statement, column);
    int length = store->sqlite.column_bytes(statement, column);
    return (moonplan_text){bytes ? bytes : "", length > 0 ? (size_t)length : 0};
}

int64_t mpl_column_time(mpl_sqlite_store *store, sqlite3_stmt *statement, int column) {
    return store->sqlite.column_type(statement, column) == SQLITE_NULL
               ? MOONPLAN_NO_TIME
               : store->sqlite.column_int64(statement, column);
}

/* -- Transactions --------------------------------------------------------------*/

bool mpl_sqlite_begin(mpl_sqlite_store *store, moonplan_error *err) {
    sqlite3_stmt *begin = mpl_sqlite_take(store, MPL_SQL_BEGIN, err);
    return begin && mpl_sqlite_store_stays(store, err) && mpl_sqlite_run(store, begin, err);
}

bool mpl_sqlite_end(mpl_sqlite_store *store, bool fine, moonplan_error *err) {
    if (fine) {
        sqlite3_stmt *commit = mpl_sqlite_take(store, MPL_SQL_COMMIT, err);
        fine = commit && mpl_sqlite_run(store, commit, err) && mpl_sqlite_store_stays(store, err);
    }
    /* After some failures it has been rolled back already. */
    if (!store->sqlite.get_autocommit(store->db)) {
        moonplan_error own;
        sqlite3_stmt *rollback = mpl_sqlite_take(store, MPL_SQL_ROLLBACK, &own);
        if (rollback) mpl_sqlite_run(store, rollback, &own);
        /* What is half written must not be committed with what comes next. */
        if (!store->sqlite.get_autocommit(store->db)) store->broken = true;
    }
    return fine;
}

#else
typedef int mpl_store_sqlite_sql_is_off; /* ISO C wants something in every file */
#endif
