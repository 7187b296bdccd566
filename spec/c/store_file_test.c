/* The store in a SQLite file: what is refused, whose a job is, and what happens when the file goes
 * or there is no room. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store.h"

/* -- A file -------------------------------------------------------------------------*/

static moonplan_code opened(unsigned flags, moonplan_error *err) {
    moonplan_engine *engine = moonplan_engine_new(NULL, NULL);
    bool fine = moonplan_engine_store_sqlite(engine, path, strlen(path), flags, err);
    moonplan_engine_free(engine);
    return fine ? MOONPLAN_OK : err->code;
}

static uint64_t hash_of_file(void) {
    FILE *file = fopen(path, "rb");
    uint64_t hash = 1469598103934665603u;
    if (!file) return 0;
    for (int c; (c = fgetc(file)) != EOF;) hash = (hash ^ (uint64_t)c) * 1099511628211u;
    fclose(file);
    return hash;
}

static bool is_there(const char *suffix) {
    char name[80];
    struct stat status;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return lstat(name, &status) == 0;
}

static void write_file(const char *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL)) exit(EXIT_FAILURE);
    CHECK(fwrite(bytes, 1, length, file) == length);
    fclose(file);
}

static void what_is_no_store_is_refused_and_left_alone(void) {
    static const struct {
        const char *sql;
        moonplan_code code;
        const char *says;
    } rows[] = {
        {"CREATE TABLE t (a); PRAGMA journal_mode = WAL", MOONPLAN_STORE_OPEN, "another program"},
        {"CREATE TABLE job (a); PRAGMA user_version = 1", MOONPLAN_STORE_OPEN, "another program"},
        {"PRAGMA application_id = 0x6d706c61; PRAGMA user_version = 2; CREATE TABLE t (a)",
         MOONPLAN_STORE_VERSION, "version 2"},
        {"PRAGMA application_id = 0x6d706c61; PRAGMA user_version = -1; CREATE TABLE t (a)",
         MOONPLAN_STORE_VERSION, "version"},
        {"PRAGMA application_id = 0x6d706c61; PRAGMA user_version = 1; CREATE TABLE t (a)",
         MOONPLAN_STORE_CORRUPT, "tables"}};
    moonplan_error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        next_path();
        edit(rows[i].sql);
        uint64_t before = hash_of_file();
        for (unsigned flags = 0; flags < 4; flags++) {
            if (!CHECK(opened(flags, &err) == rows[i].code && strstr(err.message, rows[i].says)))
                printf("# %zu: %s: %s\n", i, moonplan_code_name(err.code), err.message);
            CHECK(hash_of_file() == before && !is_there("-journal"));
            CHECK(!is_there("-wal") && !is_there("-shm"));
        }
    }
    next_path();
    write_file("{\"steps\":[]}", 12);
    CHECK(opened(0, &err) == MOONPLAN_STORE_OPEN && strstr(err.message, "no SQLite file"));
    CHECK(hash_of_file() != 0);
    /* A store to which somebody has added a trigger, or taken away a check. */
    static const char *const changes[] = {
        "CREATE TRIGGER t AFTER UPDATE ON job BEGIN DELETE FROM event; END",
        "CREATE VIEW v AS SELECT 1", "DROP INDEX step_capability",
        ("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', '') "
         "WHERE name = 'kv'")};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        next_path();
        finished_job();
        edit(changes[i]);
        for (unsigned flags = 0; flags < 4; flags++)
            if (!CHECK(opened(flags, &err) == MOONPLAN_STORE_CORRUPT)) printf("# %s\n", changes[i]);
        /* Nothing is left that would stand in the way of another store of this name. */
        CHECK(!is_there("-wal") && !is_there("-shm"));
        CHECK(unlink(path) == 0 && opened(0, &err) == MOONPLAN_OK);
    }
}

static void a_path_leads_to_a_file_of_ones_own(void) {
    moonplan_error err;
    char other[80];
    struct stat status;
    next_path();
    CHECK(opened(MOONPLAN_STORE_EXISTING, &err) == MOONPLAN_STORE_OPEN && !is_there(""));
    CHECK(opened(MOONPLAN_STORE_READ_ONLY, &err) == MOONPLAN_STORE_OPEN && !is_there(""));
    mode_t mask = umask(0);
    finished_job();
    umask(mask);
    CHECK(stat(path, &status) == 0 && (status.st_mode & 07777) == 0600 && status.st_nlink == 1);
    CHECK(!is_there("-wal") && !is_there("-shm")); /* closed in good order */
    snprintf(other, sizeof other, "%s", path);
    next_path();
    CHECK(symlink(other, path) == 0);
    CHECK(opened(0, &err) == MOONPLAN_STORE_OPEN && strstr(err.message, "symbolic link"));
    CHECK(unlink(path) == 0 && symlink("nowhere", path) == 0);
    CHECK(opened(0, &err) == MOONPLAN_STORE_OPEN && strstr(err.message, "symbolic link"));
    CHECK(unlink(path) == 0 && link(other, path) == 0);
    CHECK(opened(0, &err) == MOONPLAN_STORE_OPEN && strstr(err.message, "hard link"));
    CHECK(unlink(path) == 0 && chmod(other, 0620) == 0);
    snprintf(path, sizeof path, "%s", other);
    CHECK(opened(0, &err) == MOONPLAN_STORE_OPEN && strstr(err.message, "chmod"));
    CHECK(chmod(other, 0640) == 0 && opened(0, &err) == MOONPLAN_OK);
    static const char *const paths[] = {
        "", "/", ".", "..", "/tmp/", "/nowhere/x.db", "/dev/null", "/etc/passwd/x"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "%s", paths[i]);
        if (!CHECK(opened(0, &err) == MOONPLAN_STORE_OPEN)) printf("# %s\n", path);
    }
    /* Folders may be links; and what means something in a URI means nothing here. */
    snprintf(path, sizeof path, "%s/link", folder);
    CHECK(symlink(".", path) == 0);
    snprintf(path, sizeof path, "%s/link/a?b#c%%41.db", folder);
    CHECK(opened(0, &err) == MOONPLAN_OK && is_there(""));
}

static void reading_writes_nothing(void) {
    moonplan_error err;
    next_path();
    finished_job();
    uint64_t before = hash_of_file();
    host h = plain();
    h.flags = MOONPLAN_STORE_READ_ONLY;
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    CHECK(listed(engine, NULL) == 1);
    is_sound(engine);
    CHECK(!moonplan_engine_run(engine, chain, strlen(chain), NULL, &err));
    CHECK(err.code == MOONPLAN_STORE_OPEN);
    moonplan_engine_free(engine);
    CHECK(hash_of_file() == before);
}

/* What lies there may be from a store that was deleted without its log, and would be taken for the
 * new one's. */
static void a_log_that_was_left_is_not_taken_over(void) {
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    moonplan_error err;
    char name[sizeof path + 8];
    for (size_t i = 0; i < 6; i++) {
        next_path();
        snprintf(name, sizeof name, "%s%s", path, suffixes[i % 3]);
        FILE *file = fopen(name, "wb");
        if (!CHECK(file != NULL)) return;
        fputs("what was before", file);
        fclose(file);
        if (i >= 3) write_file("", 0);
        CHECK(opened(0, &err) == MOONPLAN_STORE_OPEN);
        if (!CHECK(strstr(err.message, name) != NULL)) printf("# %s\n", err.message);
        CHECK(is_there(suffixes[i % 3]) && is_there("") == (i >= 3));
        CHECK(unlink(name) == 0 && opened(0, &err) == MOONPLAN_OK);
    }
    /* Nothing else is left of what was not made. */
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        CHECK(strstr(entry->d_name, ".new-") == NULL);
    if (list) closedir(list);
}

static void an_empty_file_is_no_store_yet(void) {
    moonplan_error err;
    struct stat status;
    next_path();
    write_file("", 0);
    CHECK(chmod(path, 0644) == 0);
    for (unsigned flags = 1; flags < 4; flags++)
        CHECK(opened(flags, &err) == MOONPLAN_STORE_OPEN && strstr(err.message, "empty"));
    CHECK(stat(path, &status) == 0 && status.st_size == 0 && (status.st_mode & 0777) == 0644);
    CHECK(opened(0, &err) == MOONPLAN_OK);
    CHECK(stat(path, &status) == 0 && (status.st_mode & 07777) == 0600);
}

static void the_order_of_tables_does_not_matter(void) {
    host h = plain();
    next_path();
    finished_job();
    edit("VACUUM");
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    CHECK(listed(engine, NULL) == 1);
    moonplan_job_free(run(engine, chain));
    is_sound(engine);
    moonplan_engine_free(engine);
}

/* Not even what SQLite puts beside a file that it reads, where nobody could write to it. */
static void what_may_not_be_written_is_read_as_it_lies_there(void) {
    host h = plain();
    moonplan_error err;
    h.flags = MOONPLAN_STORE_READ_ONLY;
    next_path();
    finished_job();
    CHECK(chmod(path, 0400) == 0);
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    CHECK(listed(engine, NULL) == 1);
    is_sound(engine);
    CHECK(!is_there("-wal") && !is_there("-shm"));
    moonplan_engine_free(engine);
    /* With a log there is more to it than the file says. */
    char name[sizeof path + 8];
    snprintf(name, sizeof name, "%s-wal", path);
    FILE *file = fopen(name, "wb");
    if (CHECK(file != NULL)) fputs("more", file);
    if (file) fclose(file);
    CHECK(opened(MOONPLAN_STORE_READ_ONLY, &err) == MOONPLAN_STORE_OPEN);
    CHECK(strstr(err.message, "log that is not in it yet") && !is_there("-shm"));
    CHECK(unlink(name) == 0 && chmod(path, 0600) == 0);
    finished_job();
    /* In a folder of somebody else's, or of one's own without the right to write. */
    size_t before = check_failures();
    CHECK(chmod(path, 0644) == 0 && chmod(folder, 0555) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0) CHECK(setgid(65534) == 0 && setuid(65534) == 0);
        engine = engine_of(IN_FILE, &h);
        CHECK(listed(engine, NULL) == 2);
        is_sound(engine);
        moonplan_engine_free(engine);
        fflush(stdout);
        _exit(check_failures() > before ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    CHECK(chmod(folder, 0700) == 0 && !is_there("-shm"));
}

/* -- Two who want the same job --------------------------------------------------------*/

static moonplan_engine *engine_with_owner(const host *h, const char *owner, int64_t lease_ms) {
    moonplan_engine *engine = moonplan_engine_new(&h->options, NULL);
    mpl_store store;
    moonplan_error err;
    mpl_sqlite_setup setup = {.path = text_of(path),
                              .options = mpl_engine_options(engine),
                              .owner = owner,
                              .lease_ms = lease_ms,
                              .busy_ms = 20};
    if (!CHECK(mpl_store_sqlite(&store, &setup, &err))) exit(EXIT_FAILURE);
    mpl_engine_use_store(engine, &store);
    register_all(engine, h);
    return engine;
}

static void a_lease_ends_with_its_owner_or_its_time(void) {
    host h = plain();
    moonplan_error err;
    char id[MOONPLAN_ID_SIZE];
    /* Elsewhere, so that only time tells: in an hour, or long ago. */
    for (int over = 0; over < 2; over++) {
        next_path();
        moonplan_engine *far = engine_with_owner(&h, "elsewhere/1/2/3/4", over ? -1 : 3600000),
                        *near = engine_of(IN_FILE, &h);
        moonplan_job *job = submit(far, chain, NULL), *taken;
        copy_id(job, id);
        CHECK(until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
        stands(near, id,
               over ? "outcome_unknown: outcome_unknown pending pending"
                    : "executing: running pending pending");
        taken = moonplan_engine_resume(near, id, strlen(id), NULL, &err);
        CHECK((taken != NULL) == over);
        if (over)
            CHECK(moonplan_job_status(taken) == MOONPLAN_OUTCOME_UNKNOWN);
        else
            CHECK(err.code == MOONPLAN_STORE_LOCKED && strstr(err.message, "seconds more"));
        moonplan_job_free(taken);
        /* Who has lost it finds out, and nothing more is called. */
        memset(effects, 0, sizeof effects);
        bool fine = mpl_job_drive(job, &err);
        CHECK(fine == !over && (fine || err.code == MOONPLAN_STORE_CONFLICT));
        CHECK(effects[1] == !over);
        moonplan_job_free(job);
        is_sound(near);
        moonplan_engine_free(far);
        moonplan_engine_free(near);
    }
}

/* No job is run twice for it, and none is held for ever by who says so. */
static void a_lease_of_a_hundred_years_is_none(void) {
    host h = plain();
    char id[MOONPLAN_ID_SIZE];
    moonplan_error err;
    moonplan_engine *engine = interrupted("write", &h, id);
    moonplan_engine_free(engine);
    edit("UPDATE job SET owner = 'zzz', deadline = 5000000000000");
    engine = engine_of(IN_FILE, &h);
    moonplan_job *job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
    CHECK(job != NULL);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

static void a_process_that_has_ended_owns_nothing(void) {
    host h = plain();
    next_path();
    moonplan_error err;
    char id[MOONPLAN_ID_SIZE] = "";
    for (int killed = 0; killed < 2; killed++) {
        int tell[2] = {-1, -1}, hold[2] = {-1, -1};
        if (!CHECK(pipe(tell) == 0 && pipe(hold) == 0)) return;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            moonplan_engine *engine = engine_of(IN_FILE, &h);
            moonplan_job *job = submit(engine, chain, NULL);
            until(job, 1, MOONPLAN_WANT_RESULT);
            copy_id(job, id);
            ssize_t told = write(tell[1], id, sizeof id);
            char byte;
            close(hold[1]);
            ssize_t waited = read(hold[0], &byte, 1);
            _exit(told < 0 || waited < 0);
        }
        close(tell[1]);
        close(hold[0]);
        CHECK(read(tell[0], id, sizeof id) == (ssize_t)sizeof id);
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        stands(engine, id, "executing: completed running pending");
        CHECK(!moonplan_engine_resume(engine, id, strlen(id), NULL, &err));
        char name[24];
        snprintf(name, sizeof name, "process %ld", (long)child);
        CHECK(err.code == MOONPLAN_STORE_LOCKED && strstr(err.message, name));
        if (killed) kill(child, SIGKILL);
        close(hold[1]);
        waitpid(child, NULL, 0);
        close(tell[0]);
        stands(engine, id, "outcome_unknown: completed outcome_unknown pending");
        moonplan_job *job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
        CHECK(job && moonplan_job_status(job) == MOONPLAN_OUTCOME_UNKNOWN);
        moonplan_job_free(job);
        is_sound(engine);
        moonplan_engine_free(engine);
    }
}

static void a_writer_that_does_not_end_is_told_of(void) {
    host h = plain();
    moonplan_error err;
    next_path();
    moonplan_engine *engine = engine_with_owner(&h, NULL, 0);
    mpl_sqlite sqlite;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    CHECK(mpl_sqlite_open(&sqlite) == NULL);
    CHECK(sqlite.open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    CHECK(sqlite.prepare_v2(db, "BEGIN IMMEDIATE", -1, &statement, NULL) == SQLITE_OK);
    CHECK(sqlite.step(statement) == SQLITE_DONE);
    sqlite.finalize(statement);
    CHECK(!moonplan_engine_run(engine, chain, strlen(chain), NULL, &err));
    CHECK(err.code == MOONPLAN_STORE_LOCKED);
    CHECK(listed(engine, NULL) == 0); /* reading goes on */
    sqlite.close_v2(db);
    moonplan_job_free(run(engine, chain));
    is_sound(engine);
    moonplan_engine_free(engine);
}

/* -- No file, no room -----------------------------------------------------------------*/

static void a_file_that_goes_away_ends_its_jobs(void) {
    static const struct {
        const char *suffix;
        enum { UNLINKED, MOVED, REPLACED, EMPTIED, HALVED } how;
    } rows[] = {{"", UNLINKED},    {"-wal", UNLINKED}, {"-shm", UNLINKED}, {"", MOVED},
                {"-wal", MOVED},   {"-shm", MOVED},    {"", REPLACED},     {"-wal", REPLACED},
                {"-wal", EMPTIED}, {"-wal", HALVED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        host h = plain();
        moonplan_error err;
        struct stat status;
        char name[sizeof path + 8], moved[sizeof path + 16], other[sizeof path + 16];
        next_path();
        finished_job();
        snprintf(other, sizeof other, "%s%s", path, rows[i].suffix);
        if (rows[i].suffix[0]) {
            int file = open(other, O_CREAT | O_RDWR, 0600);
            CHECK(file >= 0 && close(file) == 0);
        }
        next_path();
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        moonplan_job *job = submit(engine, chain, NULL);
        CHECK(until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
        snprintf(name, sizeof name, "%s%s", path, rows[i].suffix);
        snprintf(moved, sizeof moved, "%s.moved", name);
        CHECK(stat(name, &status) == 0);
        int done = rows[i].how == UNLINKED ? unlink(name)
                   : rows[i].how == MOVED  ? rename(name, moved)
                   : rows[i].how == REPLACED
                       ? rename(other, name)
                       : truncate(name, rows[i].how == EMPTIED ? 0 : status.st_size / 2);
        CHECK(done == 0);
        memset(effects, 0, sizeof effects);
        CHECK(!mpl_job_drive(job, &err) && err.code == MOONPLAN_STORE_FAILED);
        if (!CHECK(strstr(err.message, "moved, deleted or cut off") != NULL))
            printf("# %zu: %s\n", i, err.message);
        if (!CHECK(effects[0] == 1 && effects[1] == 0)) printf("# %zu: went on\n", i);
        moonplan_job_free(job);
        /* The store is of no use any more, not for reading either. */
        CHECK(!moonplan_engine_run(engine, chain, strlen(chain), NULL, &err));
        CHECK(err.code == MOONPLAN_STORE_FAILED);
        moonplan_engine_free(engine);
    }
}

static void a_full_disk_ends_the_job_before_its_next_effect(void) {
    size_t before = check_failures();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        host h = plain();
        moonplan_error err;
        char id[MOONPLAN_ID_SIZE];
        struct stat status;
        struct rlimit limit = {0, 0};
        next_path();
        signal(SIGXFSZ, SIG_IGN);
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        moonplan_job *job = submit(engine, chain, NULL);
        copy_id(job, id);
        CHECK(until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
        char wal[sizeof path + 4];
        snprintf(wal, sizeof wal, "%s-wal", path);
        CHECK(stat(wal, &status) == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0);
        rlim_t most = limit.rlim_cur;
        limit.rlim_cur = (rlim_t)status.st_size + 1000;
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        memset(effects, 0, sizeof effects);
        CHECK(!mpl_job_drive(job, &err));
        if (!CHECK(err.code == MOONPLAN_STORE_FULL)) printf("# %s\n", err.message);
        CHECK(effects[0] == 1 && effects[1] == 0);
        moonplan_job_free(job);
        limit.rlim_cur = most;
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        stands(engine, id, "outcome_unknown: outcome_unknown pending pending");
        is_sound(engine);
        CHECK(resolve(engine, id, "a", MOONPLAN_RESOLVE_COMPLETED, "{\"n\":[]}", &err));
        job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
        CHECK(job && moonplan_job_status(job) == MOONPLAN_COMPLETED);
        moonplan_job_free(job);
        moonplan_engine_free(engine);
        fflush(stdout);
        _exit(check_failures() > before ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

int main(void) {
    store_open();
    RUN(what_is_no_store_is_refused_and_left_alone);
    RUN(a_path_leads_to_a_file_of_ones_own);
    RUN(reading_writes_nothing);
    RUN(a_log_that_was_left_is_not_taken_over);
    RUN(an_empty_file_is_no_store_yet);
    RUN(the_order_of_tables_does_not_matter);
    RUN(what_may_not_be_written_is_read_as_it_lies_there);
    RUN(a_lease_ends_with_its_owner_or_its_time);
    RUN(a_process_that_has_ended_owns_nothing);
    RUN(a_writer_that_does_not_end_is_told_of);
    RUN(a_lease_of_a_hundred_years_is_none);
    RUN(a_file_that_goes_away_ends_its_jobs);
    RUN(a_full_disk_ends_the_job_before_its_next_effect);
    return store_end();
}
