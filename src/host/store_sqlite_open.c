/* Opening and making the file. */
#include "store_sqlite.h"

#ifdef MOONPLAN_WITH_SQLITE

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/text.h"

/* What version 1 holds. Text for text what SQLite keeps of it in sqlite_schema, which is compared
 * whenever a store is opened: a table, index, view or trigger that somebody has added or changed
 * makes it another file than ours. */
static const char *const tables[] = {
    "CREATE TABLE job (\n"
    "  number INTEGER PRIMARY KEY,\n"
    "  id TEXT NOT NULL UNIQUE CHECK (id <> ''),\n"
    "  status TEXT NOT NULL CHECK (status IN ('created', 'executing', 'completed', 'failed',\n"
    "    'cancelled', 'outcome_unknown', 'awaiting_approval')),\n"
    "  goal TEXT NOT NULL,\n"
    "  plan TEXT NOT NULL,\n"
    "  plan_digest TEXT NOT NULL CHECK (length(plan_digest) = 64),\n"
    "  caller TEXT,\n"
    "  caller_digest TEXT NOT NULL CHECK (length(caller_digest) IN (0, 64)),\n"
    "  created INTEGER NOT NULL,\n"
    "  started INTEGER,\n"
    "  completed INTEGER,\n"
    "  failure TEXT,\n"
    "  nameless INTEGER NOT NULL DEFAULT 0 CHECK (nameless IN (0, 1)),\n"
    "  denied_risk TEXT,\n"
    "  events INTEGER NOT NULL CHECK (events >= 1),\n"
    "  head TEXT NOT NULL CHECK (length(head) = 64),\n"
    "  owner TEXT,\n"
    "  deadline INTEGER,\n"
    "  cancel INTEGER NOT NULL DEFAULT 0 CHECK (cancel IN (0, 1)),\n"
    "  CHECK ((owner IS NULL) = (deadline IS NULL))\n"
    ") STRICT",
    "CREATE TABLE step (\n"
    "  job INTEGER NOT NULL REFERENCES job (number),\n"
    "  position INTEGER NOT NULL CHECK (position >= 1),\n"
    "  id TEXT NOT NULL,\n"
    "  capability TEXT NOT NULL,\n"
    "  version TEXT,\n"
    "  risk TEXT,\n"
    "  status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed',\n"
    "    'outcome_unknown', 'awaiting_approval')),\n"
    "  started INTEGER,\n"
    "  completed INTEGER,\n"
    "  input_digest TEXT CHECK (length(input_digest) = 64),\n"
    "  result TEXT,\n"
    "  result_digest TEXT CHECK (length(result_digest) = 64),\n"
    "  approval TEXT CHECK (length(approval) = 64),\n"
    "  code_digest TEXT CHECK (length(code_digest) = 64),\n"
    "  PRIMARY KEY (job, position)\n"
    ") STRICT",
    "CREATE INDEX step_capability ON step (capability)",
    "CREATE TABLE event (\n"
    "  sequence INTEGER PRIMARY KEY CHECK (sequence >= 1),\n"
    "  job INTEGER NOT NULL REFERENCES job (number),\n"
    "  position INTEGER NOT NULL CHECK (position >= 1),\n"
    "  event TEXT NOT NULL,\n"
    "  before TEXT NOT NULL CHECK (length(before) = 64),\n"
    "  before_in_job TEXT NOT NULL CHECK (length(before_in_job) = 64),\n"
    "  digest TEXT NOT NULL CHECK (length(digest) = 64),\n"
    "  UNIQUE (job, position)\n"
    ") STRICT",
    "CREATE TABLE head (\n"
    "  one INTEGER PRIMARY KEY CHECK (one = 1),\n"
    "  sequence INTEGER NOT NULL CHECK (sequence >= 0),\n"
    "  digest TEXT NOT NULL CHECK (length(digest) = 64)\n"
    ") STRICT",
    "CREATE TABLE signed_head (\n"
    "  number INTEGER PRIMARY KEY,\n"
    "  sequence INTEGER NOT NULL,\n"
    "  digest TEXT NOT NULL,\n"
    "  time INTEGER NOT NULL,\n"
    "  key BLOB NOT NULL CHECK (length(key) = 8),\n"
    "  signature BLOB NOT NULL CHECK (length(signature) = 64)\n"
    ") STRICT",
    "CREATE TABLE deduplication (\n"
    "  key TEXT PRIMARY KEY NOT NULL,\n"
    "  job INTEGER NOT NULL REFERENCES job (number)\n"
    ") STRICT",
    "CREATE TABLE approval_use (\n"
    "  approval TEXT NOT NULL CHECK (length(approval) = 64),\n"
    "  position INTEGER NOT NULL,\n"
    "  job INTEGER NOT NULL REFERENCES job (number),\n"
    "  PRIMARY KEY (approval, position)\n"
    ") STRICT",
    "CREATE TABLE kv (\n"
    "  space TEXT NOT NULL,\n"
    "  key TEXT NOT NULL,\n"
    "  value BLOB NOT NULL,\n"
    "  PRIMARY KEY (space, key)\n"
    ") STRICT"};
#define TABLES (sizeof tables / sizeof *tables)

static const char first_head[] =
    "INSERT INTO head VALUES (1, 0, "
    "'0000000000000000000000000000000000000000000000000000000000000000')";

/* -- Small statements ----------------------------------------------------------*/

/* Run it; the first column of its first row goes to `number`, or is compared with `word`. */
static bool simple(mpl_sqlite_store *store, const char *sql, int64_t *number, const char *word,
                   bool *same, moonplan_error *err) {
    sqlite3_stmt *statement = NULL;
    int code = store->sqlite.prepare_v2(store->db, sql, -1, &statement, NULL);
    errno = 0;
    if (code == SQLITE_OK) code = store->sqlite.step(statement);
    if (code == SQLITE_ROW) {
        if (number) *number = store->sqlite.column_int64(statement, 0);
        if (word) *same = mpl_text_is(mpl_column_text(store, statement, 0), word);
        code = store->sqlite.step(statement);
    }
    store->sqlite.finalize(statement);
    return code == SQLITE_DONE || mpl_sqlite_fail(store, code, err);
}

static bool execute(mpl_sqlite_store *store, const char *sql, moonplan_error *err) {
    return simple(store, sql, NULL, NULL, NULL, err);
}

static bool number_of(mpl_sqlite_store *store, const char *sql, int64_t *out, moonplan_error *err) {
    *out = 0;
    return simple(store, sql, out, NULL, NULL, err);
}

static bool refuse(mpl_sqlite_store *store, moonplan_code code, const char *why,
                   moonplan_error *err) {
    moonplan_text path = {store->path, store->path_length};
    mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, "the store %q %s", &path, why);
    return false;
}

/* -- Whose file it is ----------------------------------------------------------*/

static bool check_marks(mpl_sqlite_store *store, moonplan_error *err) {
    moonplan_text path = {store->path, store->path_length};
    int64_t application, version;
    if (!number_of(store, "PRAGMA application_id", &application, err) ||
        !number_of(store, "PRAGMA user_version", &version, err))
        return false;
    if (application != MPL_STORE_APPLICATION)
        return refuse(store, MOONPLAN_STORE_OPEN,
                      "is a SQLite file of another program, not a store of jobs", err);
    if (version == MPL_STORE_VERSION) return true;
    if (version > MPL_STORE_VERSION)
        mpl_error_set(err, MOONPLAN_STORE_VERSION, MOONPLAN_NO_OFFSET, NULL,
                      "the store %q has version %u; known here are those up to %u", &path,
                      (uint64_t)version, (uint64_t)MPL_STORE_VERSION);
    else
        mpl_error_set(err, MOONPLAN_STORE_VERSION, MOONPLAN_NO_OFFSET, NULL,
                      "the store %q has a version that there is not", &path);
    return false;
}

static bool is_table(moonplan_text sql) {
    size_t n = 0;
    while (n < TABLES && !mpl_text_is(sql, tables[n])) n++;
    return n < TABLES;
}

/* In any order, which VACUUM changes. No name is there twice, so that as many as ours are ours. */
static bool check_tables(mpl_sqlite_store *store, moonplan_error *err) {
    sqlite3_stmt *statement = NULL;
    size_t n = 0;
    bool same = true;
    int code = store->sqlite.prepare_v2(
        store->db,
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%' "
        "ESCAPE '~'",
        -1, &statement, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = store->sqlite.step(statement);
        if (code != SQLITE_ROW) break;
        same = same && is_table(mpl_column_text(store, statement, 0));
        n++;
    }
    store->sqlite.finalize(statement);
    if (code != SQLITE_DONE) return mpl_sqlite_fail(store, code, err);
    if (same && n == TABLES) return true;
    return refuse(store, MOONPLAN_STORE_CORRUPT, "has other tables than a store of its version",
                  err);
}

/* Open the path as a URI, in which a few characters mean something, with a query behind it. */
static int open_uri(mpl_sqlite_store *store, const char *path, const char *query, int flags) {
    static const char digits[] = "0123456789abcdef";
    mpl_buffer *uri = &store->scratch;
    uri->length = 0;
    mpl_buffer_add(uri, "file:", 5);
    for (const char *at = path; *at; at++) {
        unsigned char c = (unsigned char)*at;
        char escape[] = {'%', digits[c >> 4], digits[c & 15]};
        if (c == '%' || c == '?' || c == '#')
            mpl_buffer_add(uri, escape, sizeof escape);
        else
            mpl_buffer_byte(uri, *at);
    }
    mpl_buffer_add(uri, query, strlen(query) + 1);
    if (uri->failed) return SQLITE_NOMEM;
    return store->sqlite.open_v2(uri->bytes, &store->db,
                                 flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                                     SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE,
                                 NULL);
}

static void close_db(mpl_sqlite_store *store) {
    store->sqlite.close_v2(store->db);
    store->db = NULL;
}

/* Whether all that there is stands in the file itself, so that nobody is writing to it. */
static bool is_at_rest(const char *path) {
    char name[PATH_MAX + 16];
    struct stat status;
    memcpy(name, path, strlen(path));
    memcpy(name + strlen(path), "-journal", sizeof "-journal");
    if (lstat(name, &status) == 0) return false;
    memcpy(name + strlen(path), "-wal", sizeof "-wal");
    return lstat(name, &status) != 0 || status.st_size == 0;
}

/* Look at the file without touching it: no lock, no recovery, nothing made beside it. What cannot
 * be read so, because somebody is writing, is left to the real opening; and so are the tables. */
static bool peek(mpl_sqlite_store *store, const char *path, moonplan_error *err) {
    bool rests = is_at_rest(path);
    int code = open_uri(store, path, "?immutable=1", SQLITE_OPEN_READONLY);
    moonplan_error why = {.code = MOONPLAN_OK};
    bool fine = code == SQLITE_OK && check_marks(store, &why);
    if (fine && rests && !check_tables(store, &why) && is_at_rest(path)) {
        close_db(store);
        *err = why;
        return false;
    }
    int seen = store->db ? store->sqlite.extended_errcode(store->db) & 0xff : code & 0xff;
    close_db(store);
    if (fine) return true;
    if (seen == SQLITE_NOTADB) return refuse(store, MOONPLAN_STORE_OPEN, "is no SQLite file", err);
    if (why.code != MOONPLAN_STORE_OPEN && why.code != MOONPLAN_STORE_VERSION &&
        why.code != MOONPLAN_MEMORY)
        return true;
    *err = why;
    return false;
}

/* -- Settings ------------------------------------------------------------------*/

static bool settle(mpl_sqlite_store *store, int busy_ms, moonplan_error *err) {
    static const struct {
        int which, value;
    } switches[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                    {SQLITE_DBCONFIG_ENABLE_FKEY, 1},    {SQLITE_DBCONFIG_DQS_DML, 0},
                    {SQLITE_DBCONFIG_DQS_DDL, 0}};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        int now = -1;
        int code = store->sqlite.db_config(store->db, switches[i].which, switches[i].value, &now);
        if (code != SQLITE_OK) return mpl_sqlite_fail(store, code, err);
        if (now != switches[i].value)
            return refuse(store, MOONPLAN_STORE_OPEN,
                          "cannot be used with this libsqlite3, which lacks a safeguard", err);
    }
    int code = store->sqlite.busy_timeout(store->db, busy_ms);
    if (code != SQLITE_OK) return mpl_sqlite_fail(store, code, err);
    /* FULL: a commit is on the disk when it returns, and not only when the log comes to its end. */
    int64_t full = 0;
    if (!execute(store, "PRAGMA synchronous = FULL", err) ||
        !number_of(store, "PRAGMA synchronous", &full, err))
        return false;
    return full == 2 ||
           refuse(store, MOONPLAN_STORE_OPEN, "cannot be set to synchronous FULL", err);
}

/* -- Making --------------------------------------------------------------------*/

/* In an empty file. */
static bool make_tables(mpl_sqlite_store *store, moonplan_error *err) {
    if (!mpl_sqlite_take(store, MPL_SQL_COMMIT, err) ||
        !mpl_sqlite_take(store, MPL_SQL_ROLLBACK, err) || !execute(store, "BEGIN EXCLUSIVE", err))
        return false;
    int64_t schema;
    bool fine = number_of(store, "PRAGMA schema_version", &schema, err);
    /* Another process may have been faster. */
    if (fine && schema == 0) {
        fine = execute(store, "PRAGMA application_id = 0x6d706c61", err) &&
               execute(store, "PRAGMA user_version = 1", err);
        for (size_t i = 0; fine && i < TABLES; i++) fine = execute(store, tables[i], err);
        fine = fine && execute(store, first_head, err);
    }
    return mpl_sqlite_end(store, fine, err);
}

static bool use_wal(mpl_sqlite_store *store, moonplan_error *err) {
    bool wal = false;
    if (!simple(store, "PRAGMA journal_mode = WAL", NULL, "wal", &wal, err)) return false;
    return wal ||
           refuse(store, MOONPLAN_STORE_OPEN, "lies where no write-ahead log can be kept", err);
}

void mpl_sqlite_forget_statements(mpl_sqlite_store *store) {
    for (size_t i = 0; i < MPL_SQL_COUNT; i++) {
        store->sqlite.finalize(store->statements[i]);
        store->statements[i] = NULL;
    }
}

static bool sync_folder(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = (size_t)(slash - path);
    if (length == 0) length = 1;
    memcpy(folder, path, length);
    folder[length] = 0;
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return false;
    bool fine = fsync(file) == 0 || errno == EINVAL; /* a file system that has no such thing */
    close(file);
    return fine;
}

static bool refuse_errno(mpl_sqlite_store *store, int error, moonplan_error *err) {
    moonplan_text path = {store->path, store->path_length};
    if (error == ENOMEM)
        mpl_error_memory(err);
    else if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        mpl_error_set(err, MOONPLAN_STORE_FULL, MOONPLAN_NO_OFFSET, NULL,
                      "there is no room to make the store %q", &path);
    else
        mpl_error_set(err, MOONPLAN_STORE_OPEN, MOONPLAN_NO_OFFSET, NULL,
                      "the store %q cannot be made: %s", &path,
                      error == ENOENT    ? "its folder is not there"
                      : error == EACCES  ? "its folder may not be written to"
                      : error == EROFS   ? "the file system is read-only"
                      : error == ENOTDIR ? "its folder is a file"
                                         : "the system refuses");
    return false;
}

/* Whether this is the journal of somebody who makes a store in a file that is empty, or was killed
 * at it: SQLite waits for the one, and throws away what the other has left. Its first bytes are
 * zeros until it is synchronized; the pages that the file had follow (SQLite's file format, section
 * 3.1), which are none. */
static bool is_makers(const char *path, const char *name) {
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    static const unsigned char zeros[12];
    unsigned char header[28];
    struct stat status;
    if (lstat(path, &status) != 0) return false;
    int file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return errno == ENOENT; /* it has come to its end */
    bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t length = regular ? pread(file, header, sizeof header, 0) : -1;
    close(file);
    if (length == 0) return true; /* it has just begun */
    return length == (ssize_t)sizeof header &&
           (memcmp(header, magic, sizeof magic) == 0 || memcmp(header, zeros, sizeof zeros) == 0) &&
           memcmp(header + 16, zeros, 4) == 0;
}

/* Beside a file that is not there, or is empty, a log is what remains of another: SQLite would take
 * its pages for the new one's. *left: such a one, in `name`. False when another process has made
 * the file meanwhile, whose log it is then. */
static bool is_left(const char *path, char name[PATH_MAX + 16], bool *left) {
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    struct stat status;
    *left = false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !*left; i++) {
        memcpy(name, path, strlen(path));
        memcpy(name + strlen(path), suffixes[i], strlen(suffixes[i]) + 1);
        *left = lstat(name, &status) == 0 &&
                !(strcmp(suffixes[i], "-journal") == 0 && is_makers(path, name));
    }
    return !*left || lstat(path, &status) != 0 || status.st_size == 0;
}

static bool refuse_left(mpl_sqlite_store *store, const char *name, moonplan_error *err) {
    moonplan_text path = {store->path, store->path_length}, log = {name, strlen(name)};
    mpl_error_set(err, MOONPLAN_STORE_OPEN, MOONPLAN_NO_OFFSET, NULL,
                  "the store %q cannot be made: the log of one that was there before is left, %q; "
                  "put that store back beside it, or delete it",
                  &path, &log);
    return false;
}

static void remove_temporary(char temporary[PATH_MAX + 24]) {
    static const char *const suffixes[] = {"-journal", "-wal", "-shm", ""};
    size_t length = strlen(temporary);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        memcpy(temporary + length, suffixes[i], strlen(suffixes[i]) + 1);
        unlink(temporary);
    }
}

/* Unless there is a file of that name. Where the file system does not know how to rename so, it has
 * both names for a moment, and for good if the process is killed then. */
static bool give_name(const char *temporary, const char *path) {
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return true;
    return (errno == EINVAL || errno == ENOSYS) && link(temporary, path) == 0;
}

/* Whole under another name, and then under its own: a file that is found has all that it needs,
 * whatever happened while it was made. */
static bool make_file(mpl_sqlite_store *store, const char *path, moonplan_error *err) {
    char temporary[PATH_MAX + 24], name[PATH_MAX + 16];
    bool left;
    static const char suffix[] = ".new-XXXXXX";
    memcpy(temporary, path, strlen(path));
    memcpy(temporary + strlen(path), suffix, sizeof suffix);
    /* mkostemp makes it with mode 0600. */
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0) return refuse_errno(store, errno, err);
    close(file);
    int code = open_uri(store, temporary, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW);
    bool fine = code == SQLITE_OK || mpl_sqlite_fail(store, code, err);
    fine = fine && execute(store, "PRAGMA synchronous = FULL", err) && make_tables(store, err) &&
           use_wal(store, err);
    mpl_sqlite_forget_statements(store);
    close_db(store);
    if (fine && is_left(path, name, &left)) {
        if (left)
            fine = refuse_left(store, name, err);
        else if (!give_name(temporary, path) && errno != EEXIST)
            fine = refuse_errno(store, errno, err);
    }
    remove_temporary(temporary);
    if (fine && !sync_folder(path)) fine = refuse_errno(store, EIO, err);
    return fine;
}

/* -- The path ------------------------------------------------------------------*/

/* The path with its folder's links resolved; its last name is taken as it is. */
static bool real_path(mpl_sqlite_store *store, char out[PATH_MAX], moonplan_error *err) {
    const char *slash = strrchr(store->path, '/');
    const char *name = slash ? slash + 1 : store->path;
    char folder[PATH_MAX];
    size_t length = slash ? (size_t)(slash - store->path) : 0;
    if (store->path_length == 0 || strlen(store->path) != store->path_length ||
        store->path_length >= PATH_MAX - 64 || *name == 0 || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return refuse(store, MOONPLAN_STORE_OPEN, "has no name that a file may have", err);
    memcpy(folder, slash ? store->path : ".", slash ? length : 1);
    folder[slash ? length : 1] = 0;
    if (slash && length == 0) memcpy(folder, "/", 2);
    char *real = realpath(folder, NULL);
    if (!real) return refuse_errno(store, errno, err);
    size_t room = strlen(real) + strlen(name) + 2;
    bool fits = room <= PATH_MAX - 64;
    if (fits) {
        size_t at = strlen(real);
        memcpy(out, real, at);
        if (at > 1) out[at++] = '/';
        memcpy(out + at, name, strlen(name) + 1);
    }
    free(real);
    return fits || refuse(store, MOONPLAN_STORE_OPEN, "has a path that is too long", err);
}

static bool check_file(mpl_sqlite_store *store, const struct stat *status, moonplan_error *err) {
    if (S_ISLNK(status->st_mode))
        return refuse(store, MOONPLAN_STORE_OPEN, "is a symbolic link, which is not followed", err);
    if (!S_ISREG(status->st_mode))
        return refuse(store, MOONPLAN_STORE_OPEN, "is no regular file", err);
    if (status->st_nlink != 1)
        return refuse(store, MOONPLAN_STORE_OPEN,
                      "has several names (hard links), and its log belongs to one", err);
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return refuse(store, MOONPLAN_STORE_OPEN,
                      "may be written by others than its owner (chmod go-w)", err);
    return true;
}

/* -- Staying where it is -------------------------------------------------------*/

#define INDEX_SUFFIX "-shm"

/* With `cut`, what is left of it is not written to either. */
static bool has_gone(mpl_sqlite_store *store, bool cut, moonplan_error *err) {
    moonplan_text path = {store->path, store->path_length};
    store->broken = true;
    store->cut = store->cut || cut;
    mpl_error_set(err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL,
                  "the store %q, or its log, was moved, deleted or cut off while it was in use: "
                  "what is written now may be lost",
                  &path);
    return false;
}

static bool identify(mpl_sqlite_store *store, uint64_t out[3][2], int64_t sizes[3]) {
    static const char *const suffixes[] = {"", INDEX_SUFFIX, "-wal"};
    size_t length = store->real_size - sizeof "-wal";
    struct stat status;
    for (size_t i = 0; i < 3; i++) {
        memcpy(store->real + length, suffixes[i], strlen(suffixes[i]) + 1);
        if (lstat(store->real, &status) != 0) return false;
        out[i][0] = (uint64_t)status.st_dev;
        out[i][1] = (uint64_t)status.st_ino;
        sizes[i] = status.st_size;
    }
    return true;
}

/* SQLite notices no more whether the file itself is as long as it was: pages that it holds in
 * memory are good all the same, and those that are gone are filled with zeros. It only grows, but
 * for a VACUUM of somebody's, after which it has all the pages that there are. */
static bool file_stays(mpl_sqlite_store *store, int64_t size, bool *stays, moonplan_error *err) {
    int64_t pages = 0, page_size = 0;
    *stays = true;
    if (size < store->file_size) {
        moonplan_error why;
        *stays = number_of(store, "PRAGMA page_count", &pages, &why) &&
                 number_of(store, "PRAGMA page_size", &page_size, &why);
        if (!*stays && why.code == MOONPLAN_MEMORY) {
            *err = why;
            return false;
        }
        *stays = *stays && page_size > 0 && pages <= size / page_size;
    }
    store->file_size = size;
    return true;
}

bool mpl_sqlite_index_stays(mpl_sqlite_store *store, moonplan_error *err) {
    struct stat status;
    if (!store->real) return true;
    memcpy(store->real + store->real_size - sizeof INDEX_SUFFIX, INDEX_SUFFIX, sizeof INDEX_SUFFIX);
    if (lstat(store->real, &status) != 0 || status.st_size >= store->index_size) return true;
    return has_gone(store, true, err);
}

/* SQLite does not look whether the log is as long as it was, and writes on behind the hole. An
 * empty one is fine: a checkpoint may leave it so, and its header is written first then. `real`
 * ends in "-wal". */
static bool log_stays(mpl_sqlite_store *store) {
    static const unsigned char magic[] = {0x37, 0x7f, 0x06};
    unsigned char header[MPL_LOG_HEADER];
    struct stat status;
    /* No lock of SQLite's is on this file, which closing it would drop. */
    int file = open(store->real, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return errno == EMFILE || errno == ENFILE;
    ssize_t length = pread(file, header, sizeof header, 0);
    bool fine = fstat(file, &status) == 0 && length >= 0;
    close(file);
    if (!fine || length == 0) return fine;
    if (length != (ssize_t)sizeof header || memcmp(header, magic, sizeof magic) != 0) return false;
    if (memcmp(header, store->log_header, sizeof header) == 0 && status.st_size < store->log_size)
        return false;
    memcpy(store->log_header, header, sizeof header);
    store->log_size = status.st_size;
    return true;
}

bool mpl_sqlite_store_stays(mpl_sqlite_store *store, moonplan_error *err) {
    uint64_t now[3][2];
    int64_t sizes[3];
    bool stays;
    if (!store->real) return true;
    if (!mpl_sqlite_index_stays(store, err)) return false;
    if (!identify(store, now, sizes) || memcmp(now, store->files, sizeof now) != 0 ||
        !log_stays(store))
        return has_gone(store, false, err);
    if (!file_stays(store, sizes[0], &stays, err)) return false;
    store->index_size = sizes[1];
    return stays || has_gone(store, true, err);
}

static bool remember_place(mpl_sqlite_store *store, const char *path, moonplan_error *err) {
    size_t size = strlen(path) + sizeof "-wal";
    int64_t schema;
    /* The log is made with the first look into it. */
    if (!number_of(store, "PRAGMA schema_version", &schema, err)) return false;
    store->real = mpl_allocate(&store->alloc, size);
    if (!store->real) {
        mpl_error_memory(err);
        return false;
    }
    store->real_size = size;
    memcpy(store->real, path, strlen(path) + 1);
    int64_t sizes[3];
    if (!identify(store, store->files, sizes)) return has_gone(store, false, err);
    store->file_size = sizes[0];
    store->index_size = sizes[1];
    return true;
}

/* -- Opening -------------------------------------------------------------------*/

/* `still`: it is looked at as it lies there. */
static bool open_file(mpl_sqlite_store *store, const char *path, bool still, int busy_ms,
                      moonplan_error *err) {
    int mode = store->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    int code = open_uri(store, path, still ? "?immutable=1" : "", mode | SQLITE_OPEN_NOFOLLOW);
    if (code != SQLITE_OK) return mpl_sqlite_fail(store, code, err);
    if (!store->read_only && store->sqlite.db_readonly(store->db, "main") != 0)
        return refuse(store, MOONPLAN_STORE_OPEN, "is read-only", err);
    if (!settle(store, busy_ms, err)) return false;
    int64_t pages = 0;
    if (!store->read_only && number_of(store, "PRAGMA page_count", &pages, err) && pages == 0 &&
        !make_tables(store, err))
        return false;
    /* What the log holds counts, and what another process has done since the first look. */
    if (!check_marks(store, err) || !check_tables(store, err)) return false;
    return store->read_only ? execute(store, "PRAGMA query_only = ON", err) : use_wal(store, err);
}

/* To read a file beside which there is no log, SQLite makes one, and an index of it: with the mode
 * of the file, so that nobody can write to them where the file may not be written now, and not at
 * all where the folder may not. Such a file is *still: it is read without. */
static bool look(mpl_sqlite_store *store, const char *path, const struct stat *status, bool *still,
                 moonplan_error *err) {
    char name[PATH_MAX + 8];
    struct stat log, index;
    const char *slash = strrchr(path, '/');
    size_t folder = slash == path ? 1 : (size_t)(slash - path);
    *still = false;
    if (!store->read_only) return true;
    memcpy(name, path, folder);
    name[folder] = 0;
    if ((status->st_mode & S_IWUSR) && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 &&
        faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) == 0)
        return true;
    memcpy(name, path, strlen(path));
    memcpy(name + strlen(path), "-wal", sizeof "-wal");
    bool logged = lstat(name, &log) == 0 && log.st_size > 0;
    memcpy(name + strlen(path), "-shm", sizeof "-shm");
    bool indexed = lstat(name, &index) == 0;
    *still = !logged;
    return !logged || indexed ||
           refuse(store, MOONPLAN_STORE_OPEN,
                  "has a log that is not in it yet, and may not be written: so it cannot be read",
                  err);
}

bool mpl_sqlite_store_open(mpl_sqlite_store *store, const mpl_sqlite_setup *setup,
                           moonplan_error *err) {
    char path[PATH_MAX], name[PATH_MAX + 16];
    bool still = false, left;
    struct stat status;
    if (!real_path(store, path, err)) return false;
    bool there = lstat(path, &status) == 0;
    if (!there && errno != ENOENT) return refuse_errno(store, errno, err);
    if (!there && setup->flags) return refuse(store, MOONPLAN_STORE_OPEN, "is not there", err);
    if (there && !check_file(store, &status, err)) return false;
    if (there && status.st_size == 0) {
        if (setup->flags)
            return refuse(store, MOONPLAN_STORE_OPEN, "is an empty file: no store was made yet",
                          err);
        if (is_left(path, name, &left) && left) return refuse_left(store, name, err);
        /* As one that is made here; before anything is in it. */
        if (chmod(path, 0600) != 0) return refuse_errno(store, errno, err);
    }
    if (there && status.st_size > 0 && !peek(store, path, err)) return false;
    if (there && !look(store, path, &status, &still, err)) return false;
    if (!there && !make_file(store, path, err)) return false;
    /* Once more: what is found may be what another process has made. */
    if (!there && (lstat(path, &status) != 0 || !check_file(store, &status, err)))
        return refuse(store, MOONPLAN_STORE_OPEN, "has gone while it was made", err);
    /* Ready beforehand: when memory is short, a transaction has to come to its end all the same. */
    return open_file(store, path, still, setup->busy_ms ? setup->busy_ms : 5000, err) &&
           (store->read_only || remember_place(store, path, err)) &&
           mpl_sqlite_take(store, MPL_SQL_COMMIT, err) &&
           mpl_sqlite_take(store, MPL_SQL_ROLLBACK, err);
}

#else
typedef int mpl_store_sqlite_open_is_off; /* ISO C wants something in every file */
#endif
