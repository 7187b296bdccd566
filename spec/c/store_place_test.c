/* The store in a SQLite file: who may be making it at the same time, who is there and cannot be
 * seen, what is cut off while it is in use, and a library that does not open. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store.h"

static void name_of(char out[sizeof path + 16], const char *suffix) {
    snprintf(out, sizeof path + 16, "%s%s", path, suffix);
}

static off_t size_of(const char *suffix) {
    char name[sizeof path + 16];
    struct stat status;
    name_of(name, suffix);
    return lstat(name, &status) == 0 ? status.st_size : -1;
}

static void make_empty(void) {
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(file >= 0 && close(file) == 0);
}

static moonplan_code opened(int busy_ms, moonplan_error *err) {
    moonplan_engine *engine = moonplan_engine_new(NULL, NULL);
    mpl_store store;
    mpl_sqlite_setup setup = {
        .path = text_of(path), .options = mpl_engine_options(engine), .busy_ms = busy_ms};
    bool fine = mpl_store_sqlite(&store, &setup, err);
    if (fine) mpl_engine_use_store(engine, &store);
    moonplan_engine_free(engine);
    return fine ? MOONPLAN_OK : err->code;
}

/* -- Another process -----------------------------------------------------------------*/

typedef struct other {
    pid_t pid;
    int from, to; /* what it says, and what it waits for */
} other;

/* Run it in a process of its own, until it has said that it is ready. */
static other start(void (*act_out)(int to, int from)) {
    int up[2] = {-1, -1}, down[2] = {-1, -1};
    other made_one = {-1, -1, -1};
    if (!CHECK(pipe(up) == 0 && pipe(down) == 0)) exit(EXIT_FAILURE);
    fflush(stdout);
    made_one.pid = fork();
    if (made_one.pid == 0) {
        close(up[0]);
        close(down[1]);
        act_out(up[1], down[0]);
        _exit(EXIT_SUCCESS);
    }
    close(up[1]);
    close(down[0]);
    made_one.from = up[0];
    made_one.to = down[1];
    return made_one;
}

static void finish(other *one, bool killed) {
    int status;
    if (killed) kill(one->pid, SIGKILL);
    close(one->to);
    waitpid(one->pid, &status, 0);
    close(one->from);
}

static void say_and_wait(int to, int from) {
    char byte = '.';
    if (write(to, &byte, 1) == 1 && read(from, &byte, 1) < 0) _exit(EXIT_FAILURE);
}

/* -- Making one ----------------------------------------------------------------------*/

/* Half way through what makes a store of an empty file. */
static void make_half(int to, int from) {
    mpl_sqlite sqlite;
    sqlite3 *db = NULL;
    static const char *const words[] = {"BEGIN EXCLUSIVE", "PRAGMA application_id = 0x6d706c61",
                                        "CREATE TABLE job (a)"};
    if (mpl_sqlite_open(&sqlite) || sqlite.open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL))
        _exit(EXIT_FAILURE);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        sqlite3_stmt *statement = NULL;
        sqlite.prepare_v2(db, words[i], -1, &statement, NULL);
        while (sqlite.step(statement) == SQLITE_ROW) continue;
        sqlite.finalize(statement);
    }
    say_and_wait(to, from);
    sqlite.close_v2(db);
}

/* Its journal is no log that somebody has left. */
static void who_makes_a_store_of_an_empty_file_is_waited_for(void) {
    moonplan_error err;
    char byte;
    for (int killed = 0; killed < 2; killed++) {
        next_path();
        make_empty();
        other maker = start(make_half);
        CHECK(read(maker.from, &byte, 1) == 1);
        CHECK(size_of("") == 0 && size_of("-journal") >= 0);
        CHECK(opened(20, &err) == MOONPLAN_STORE_LOCKED);
        finish(&maker, killed);
        CHECK((size_of("-journal") >= 0) == killed);
        if (!CHECK(opened(0, &err) == MOONPLAN_OK)) printf("# %s\n", err.message);
        CHECK(size_of("-journal") < 0);
        finished_job();
    }
}

/* Of a store that was longer, or of nobody knows what. */
static void a_journal_of_another_file_is_left_alone(void) {
    static const char magic[] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    moonplan_error err;
    char name[sizeof path + 16], header[512] = "";
    for (int i = 0; i < 4; i++) {
        next_path();
        make_empty();
        name_of(name, "-journal");
        memset(header, 0, sizeof header);
        if (i != 1) memcpy(header, magic, 8);
        if (i < 2) header[19] = 12; /* pages */
        if (i == 2) header[0] = 'x';
        FILE *file = fopen(name, "wb");
        if (!CHECK(file != NULL)) return;
        size_t length = i == 3 ? 20 : sizeof header;
        CHECK(fwrite(header, 1, length, file) == length);
        fclose(file);
        CHECK(opened(20, &err) == MOONPLAN_STORE_OPEN && strstr(err.message, "-journal"));
        CHECK(size_of("-journal") == (off_t)length);
    }
}

static void make_and_run(int to, int from) {
    char byte = '.';
    host h = plain();
    size_t before = check_failures();
    ssize_t told = write(to, &byte, 1), waited = read(from, &byte, 1);
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_job_free(run(engine, chain));
    moonplan_engine_free(engine);
    byte = check_failures() == before && told == 1 && waited == 0 ? '+' : '-';
    if (write(to, &byte, 1) != 1) _exit(EXIT_FAILURE);
}

enum { MAKERS = 6, ROUNDS = 10 };

static void several_make_one_at_the_same_time(void) {
    for (int round = 0; round < ROUNDS; round++) {
        other makers[MAKERS];
        host h = plain();
        char byte;
        next_path();
        if (round % 2) make_empty();
        for (int i = 0; i < MAKERS; i++) makers[i] = start(make_and_run);
        for (int i = 0; i < MAKERS; i++) CHECK(read(makers[i].from, &byte, 1) == 1);
        /* Each has the ends of those before it, so that the last to be closed lets all go. */
        for (int i = 0; i < MAKERS; i++) close(makers[i].to), makers[i].to = -1;
        for (int i = 0; i < MAKERS; i++) {
            CHECK(read(makers[i].from, &byte, 1) == 1 && byte == '+');
            finish(&makers[i], false);
        }
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        CHECK(listed(engine, NULL) == MAKERS);
        is_sound(engine);
        moonplan_engine_free(engine);
    }
}

/* -- Who is there ---------------------------------------------------------------------*/

static void name_oneself(int to, int from) {
    char name[MPL_OWNER_SIZE] = "", byte;
    mpl_owner_name(name);
    if (write(to, name, sizeof name) < 0 || read(from, &byte, 1) < 0) _exit(EXIT_FAILURE);
}

static void link_in(const char *root, const char *name, const char *to) {
    char place[400];
    snprintf(place, sizeof place, "%s/%s", root, name);
    CHECK(symlink(to, place) == 0);
}

/* A folder in the place of /proc: it has this process, counted as `self`, and nobody else. */
static void make_proc(char root[120], const char *self) {
    char place[200];
    next_path();
    snprintf(root, 120, "%s.proc", path);
    snprintf(place, sizeof place, "%s/sys", root);
    CHECK(mkdir(root, 0700) == 0 && mkdir(place, 0700) == 0);
    snprintf(place, sizeof place, "%s/sys/kernel", root);
    CHECK(mkdir(place, 0700) == 0);
    link_in(root, "sys/kernel/random", "/proc/sys/kernel/random");
    snprintf(place, sizeof place, "%s/%s", root, self);
    CHECK(mkdir(place, 0700) == 0);
    char spaces[40];
    snprintf(spaces, sizeof spaces, "%s/ns", self);
    link_in(root, spaces, "/proc/self/ns");
    link_in(root, "self", self);
}

/* As with hidepid, by which a process that is there cannot be found in /proc. */
static void who_lives_and_cannot_be_seen_is_not_gone(void) {
    char name[MPL_OWNER_SIZE], root[120], self[24], place[200];
    uint64_t pid;
    snprintf(self, sizeof self, "%ld", (long)getpid());
    make_proc(root, self);
    other one = start(name_oneself);
    CHECK(read(one.from, name, sizeof name) == (ssize_t)sizeof name);
    moonplan_text owner = text_of(name);
    CHECK(mpl_owner_presence(owner, &pid) == MPL_OWNER_THERE && pid == (uint64_t)one.pid);
    CHECK(mpl_owner_presence_in(root, owner, &pid) == MPL_OWNER_ELSEWHERE);
    /* Something that says nothing, or that may not be read. */
    snprintf(place, sizeof place, "%ld", (long)one.pid);
    link_in(root, place, "/dev");
    CHECK(mpl_owner_presence_in(root, owner, &pid) == MPL_OWNER_ELSEWHERE);
    finish(&one, true);
    CHECK(mpl_owner_presence(owner, &pid) == MPL_OWNER_GONE);
    CHECK(mpl_owner_presence_in(root, owner, &pid) == MPL_OWNER_GONE);
    /* A /proc that counts from another number says nothing about ours. */
    make_proc(root, "1");
    CHECK(mpl_owner_presence_in(root, owner, &pid) == MPL_OWNER_ELSEWHERE);
}

enum { NOT_TRIED = 77 };

/* In a namespace of its own, /proc hides the processes of others; and a process of root's. */
static int hide_and_look(void) {
    char name[MPL_OWNER_SIZE];
    uint64_t pid;
    int status;
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") != 0)
        return NOT_TRIED;
    other one = start(name_oneself);
    if (read(one.from, name, sizeof name) != (ssize_t)sizeof name) return 1;
    bool there = mpl_owner_presence(text_of(name), &pid) == MPL_OWNER_THERE;
    for (int ended = 0; ended < 2; ended++) {
        if (ended) finish(&one, true);
        pid_t child = fork();
        if (child == 0) {
            if (setgid(65534) != 0 || setuid(65534) != 0) _exit(NOT_TRIED);
            _exit(mpl_owner_presence(text_of(name), &pid) !=
                  (ended ? MPL_OWNER_GONE : MPL_OWNER_ELSEWHERE));
        }
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    return !there;
}

static void a_proc_that_hides_processes_takes_no_job_away(void) {
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() != 0 || unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) _exit(NOT_TRIED);
        pid_t first = fork();
        if (first == 0) _exit(hide_and_look());
        waitpid(first, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_TRIED) {
        check_skip("no namespaces of processes to be had here");
        return;
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* -- Cut off -----------------------------------------------------------------------------*/

static void what_is_cut_off_ends_its_jobs(void) {
    static const struct {
        const char *suffix;
        int part; /* of the length, that is left */
    } rows[] = {{"", 0}, {"", 2}, {"-shm", 0}, {"-shm", 2}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        host h = plain();
        moonplan_error err;
        char name[sizeof path + 16];
        size_t n = i / 2;
        next_path();
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        moonplan_job *job = submit(engine, chain, NULL);
        CHECK(until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
        name_of(name, rows[n].suffix);
        off_t left = rows[n].part ? size_of(rows[n].suffix) / rows[n].part : 0;
        CHECK(truncate(name, left) == 0);
        off_t log = size_of("-wal");
        memset(effects, 0, sizeof effects);
        if (i % 2) { /* or nobody has looked before the end */
            moonplan_job_free(job);
        } else {
            CHECK(!mpl_job_drive(job, &err) && err.code == MOONPLAN_STORE_FAILED);
            if (!CHECK(strstr(err.message, "cut off") != NULL)) printf("# %s\n", err.message);
            if (!CHECK(effects[0] == 1 && effects[1] == 0)) printf("# %zu: went on\n", i);
            moonplan_job_free(job);
            CHECK(!moonplan_engine_job_new(engine, "x", 1, &err));
            CHECK(err.code == MOONPLAN_STORE_FAILED);
        }
        moonplan_engine_free(engine);
        /* Nothing was put over what is left. */
        CHECK(log > 0 && size_of("-wal") >= log && size_of(rows[n].suffix) == left);
    }
}

/* Which makes the file shorter, too. */
static void a_vacuum_of_somebody_elses_cuts_nothing_off(void) {
    host h = plain();
    moonplan_error err;
    next_path();
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    edit("CREATE TABLE big (a); INSERT INTO big VALUES (zeroblob(400000)); "
         "PRAGMA wal_checkpoint(TRUNCATE)");
    moonplan_job *job = submit(engine, chain, NULL);
    CHECK(until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
    off_t before = size_of("");
    edit("DROP TABLE big; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    CHECK(before > 400000 && size_of("") < before - 400000);
    if (!CHECK(mpl_job_drive(job, &err))) printf("# %s\n", err.message);
    CHECK(moonplan_job_status(job) == MOONPLAN_COMPLETED);
    moonplan_job_free(job);
    is_sound(engine);
    moonplan_engine_free(engine);
}

/* -- The library --------------------------------------------------------------------------*/

/* Whatever stands in the way now: the library is there. */
static void a_library_that_cannot_be_loaded_is_not_missing(void) {
#if defined(__SANITIZE_ADDRESS__)
    check_skip("a sanitizer needs the address space");
#else
    static const int resources[] = {RLIMIT_AS, RLIMIT_NOFILE};
    next_path();
    for (size_t i = 0; i < 2; i++) {
        int status = -1;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            mpl_sqlite sqlite;
            struct rlimit none = {0, 0};
            if (setrlimit((__rlimit_resource_t)resources[i], &none) != 0) _exit(2);
            const char *why = mpl_sqlite_open(&sqlite);
            _exit(!why || strstr(why, "not on this machine") || (i == 0 && *why != 0));
        }
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
#endif
}

int main(void) {
    /* First: nothing has opened it yet. */
    RUN(a_library_that_cannot_be_loaded_is_not_missing);
    store_open();
    RUN(who_makes_a_store_of_an_empty_file_is_waited_for);
    RUN(a_journal_of_another_file_is_left_alone);
    RUN(several_make_one_at_the_same_time);
    RUN(who_lives_and_cannot_be_seen_is_not_gone);
    RUN(a_proc_that_hides_processes_takes_no_job_away);
    RUN(what_is_cut_off_ends_its_jobs);
    RUN(a_vacuum_of_somebody_elses_cuts_nothing_off);
    return store_end();
}
