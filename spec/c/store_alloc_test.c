/* The store in a SQLite file when memory is short: every allocation of ours fails, one after
 * another, alone and with all that follow, and then those of SQLite. There is an error or all is
 * well, nothing leaks, and what is in the file is sound. */
#include <dlfcn.h>
#include <sys/stat.h>

#include "store.h"

/* -- SQLite's memory ---------------------------------------------------------------*/

/* Its size stands before each block; two words keep it aligned. */
static size_t sqlite_calls, sqlite_fail_at;

static bool sqlite_refuses(void) {
    sqlite_calls++;
    return sqlite_fail_at != 0 && sqlite_calls == sqlite_fail_at;
}

static void *take(int size) {
    if (size <= 0 || sqlite_refuses()) return NULL;
    int *block = malloc((size_t)size + 16);
    if (!block) return NULL;
    *block = size;
    return block + 4;
}

static void give(void *block) {
    if (block) free((int *)block - 4);
}

static int size_of(void *block) {
    return block ? ((int *)block)[-4] : 0;
}

static void *change(void *block, int size) {
    void *moved = take(size);
    if (!moved) return NULL;
    int old = size_of(block);
    memcpy(moved, block, (size_t)(old < size ? old : size));
    give(block);
    return moved;
}

static int round_up(int size) {
    return (size + 7) / 8 * 8;
}

static int open_memory(void *data) {
    (void)data;
    return SQLITE_OK;
}

static void close_memory(void *data) {
    (void)data;
}

static void use_our_memory(void) {
    static sqlite3_mem_methods methods = {take,     give,        change,       size_of,
                                          round_up, open_memory, close_memory, NULL};
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(library != NULL)) exit(EXIT_FAILURE);
    int (*config)(int, ...);
    void *found = dlsym(library, "sqlite3_config");
    memcpy(&config, &found, sizeof config);
    /* Small pieces would come from a block of its own. */
    CHECK(config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK);
    CHECK(config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK);
}

/* -- A life --------------------------------------------------------------------------*/

static int called[2];

static void count_call(void *data, moonplan_want *want) {
    (void)data;
    called[want->step]++;
    static const char result[] = "[{\"n\":\"\\u00e9\"}]";
    moonplan_want_complete_json(want, result, sizeof result - 1);
}

static bool memory_or_fine(bool fine, const moonplan_error *err) {
    /* A retry that SQLite makes without the memory for it is told as what it then lacks. */
    if (fine || err->code == MOONPLAN_MEMORY) return fine;
    if (!CHECK(err->code == MOONPLAN_MEMORY))
        printf("# %s: %s\n", moonplan_code_name(err->code), err->message);
    return false;
}

static bool ignore(void *data, moonplan_text record) {
    (void)data;
    return record.length > 0;
}

static const char plan[] = "{\"idempotencyKey\":\"k\",\"steps\":[" STEP(
    "a", "x", ",\"input\":[1]") "," STEP("b", "x", ",\"input\":{\"$ref\":\"steps.a.result\"}") "]}";

/* Whether an approval of the whole plan can be put together. */
static bool asks(moonplan_engine *engine, moonplan_error *err) {
    moonplan_text none = {NULL, 0};
    moonplan_step_plan *admitted =
        moonplan_engine_admit_new(engine, plan, sizeof plan - 1, NULL, err);
    moonplan_document *request =
        admitted ? moonplan_approval_plan_new(engine, admitted, none, none, 32503680000000, err)
                 : NULL;
    bool fine = request != NULL;
    moonplan_document_free(request);
    moonplan_step_plan_free(admitted);
    return fine;
}

/* True when nothing failed on the way: a job that runs with its approval, or waits and is resumed
 * and cancelled, and is looked at in every way. */
static bool live(where which, const host *h, const moonplan_text *approval) {
    (void)which; /* in a file */
    moonplan_error err = {.code = MOONPLAN_OK};
    moonplan_engine *engine = moonplan_engine_new(&h->options, &err);
    if (!engine) return memory_or_fine(false, &err);
    moonplan_capability x = capability("x", count_call, NULL);
    x.risk = MOONPLAN_TEXT("write");
    moonplan_run_options with = {.caller = MOONPLAN_TEXT("{\"subject\":\"s\"}"),
                                 .deduplicate = true,
                                 .approvals = approval,
                                 .approval_count = approval ? 1 : 0};
    bool fine =
        memory_or_fine(moonplan_engine_register(engine, &x, 1, &err) &&
                           moonplan_engine_store_sqlite(engine, path, strlen(path), 0, &err),
                       &err);
    moonplan_job *job = NULL;
    char id[MOONPLAN_ID_SIZE] = "";
    if (fine) {
        job = moonplan_engine_run(engine, plan, sizeof plan - 1, &with, &err);
        fine = memory_or_fine(job != NULL, &err);
    }
    if (job) copy_id(job, id);
    moonplan_failure failure;
    if (job && moonplan_job_error(job, &failure) &&
        failure.code != MOONPLAN_JOB_AWAITING_APPROVAL) {
        if (!CHECK(failure.code == MOONPLAN_MEMORY))
            printf("# %s: %.*s\n", moonplan_code_name(failure.code), (int)failure.message.length,
                   failure.message.bytes);
        fine = false;
    }
    moonplan_job_free(job);
    moonplan_text none = {NULL, 0};
    moonplan_document *report = NULL, *jobs = NULL, *whole = NULL;
    if (fine) {
        whole = moonplan_engine_job_new(engine, id, strlen(id), &err);
        fine = memory_or_fine(whole != NULL, &err);
    }
    if (fine) {
        jobs = moonplan_engine_jobs_new(engine, NULL, &err);
        fine = memory_or_fine(jobs != NULL, &err);
    }
    if (fine) {
        report = moonplan_engine_verify_new(engine, NULL, &err);
        fine = memory_or_fine(report != NULL, &err);
    }
    fine = fine &&
           memory_or_fine(moonplan_engine_records(engine, none, ignore, NULL, &err), &err) &&
           memory_or_fine(moonplan_engine_sign_head(engine, approver, &err), &err);
    if (fine && !approval) {
        job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
        fine = memory_or_fine(job != NULL, &err);
        if (job && moonplan_job_status(job) != MOONPLAN_AWAITING_APPROVAL) {
            CHECK(moonplan_job_error(job, &failure) && failure.code == MOONPLAN_MEMORY);
            fine = false;
        }
        moonplan_job_free(job);
    }
    if (fine && !approval) fine = memory_or_fine(asks(engine, &err), &err);
    if (fine && !approval)
        fine = memory_or_fine(moonplan_engine_cancel(engine, id, strlen(id), &err), &err);
    moonplan_document_free(whole);
    moonplan_document_free(jobs);
    moonplan_document_free(report);
    moonplan_engine_free(engine);
    return fine;
}

/* An approval of the whole plan, good until then. */
static moonplan_document *approve(const host *h, int64_t expires) {
    moonplan_error err;
    moonplan_engine *engine = moonplan_engine_new(&h->options, &err);
    moonplan_capability x = capability("x", count_call, NULL);
    moonplan_text none = {NULL, 0};
    CHECK(moonplan_engine_register(engine, &x, 1, &err));
    moonplan_step_plan *admitted =
        moonplan_engine_admit_new(engine, plan, sizeof plan - 1, NULL, &err);
    moonplan_document *request = moonplan_approval_plan_new(
        engine, admitted, none, MOONPLAN_TEXT("{\"subject\":\"s\"}"), expires, &err);
    moonplan_document *approval = moonplan_approval_sign_new(request, approver, NULL, &err);
    CHECK(approval != NULL);
    moonplan_document_free(request);
    moonplan_step_plan_free(admitted);
    moonplan_engine_free(engine);
    return approval;
}

/* What is there, read with enough memory: each step that was called has been begun, and every job
 * that is there is whole. */
static void is_whole(const host *h) {
    host reader = *h;
    struct stat status;
    if (stat(path, &status) != 0) return;
    moonplan_options_init(&reader.options.common);
    reader.options.now = NULL;
    moonplan_engine *engine = engine_of(IN_FILE, &reader);
    is_sound(engine);
    moonplan_document *jobs = moonplan_engine_jobs_new(engine, NULL, NULL);
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(jobs));
    int begun = 0;
    while (moonplan_walk_next(&walk)) {
        moonplan_text id = moonplan_value_string(moonplan_value_member(walk.value, "id", 2));
        moonplan_document *job = moonplan_engine_job_new(engine, id.bytes, id.length, NULL);
        if (!CHECK(job != NULL)) continue;
        moonplan_walk steps = moonplan_value_walk(moonplan_document_at(job, "/steps", 6));
        while (moonplan_walk_next(&steps))
            begun += moonplan_value_type(moonplan_value_member(steps.value, "started", 7)) ==
                     MOONPLAN_STRING;
        moonplan_document_free(job);
    }
    CHECK(called[0] <= 1 && called[1] <= 1 && called[0] + called[1] <= begun);
    moonplan_document_free(jobs);
    moonplan_engine_free(engine);
}

/* A life of which it is told whether nothing failed in it, with each allocation of ours failing,
 * and with all of them from there on. */
static void fail_each(bool (*lives)(where which, const host *h, const moonplan_text *approval),
                      where which, host *h, const moonplan_text *approval, size_t least) {
    for (int on = 0; on < 2; on++) {
        bool fine = false;
        size_t n = 0; /* none, at first */
        for (; n < 5000 && !fine; n++) {
            counter count;
            counter_options(&h->options.common, &count);
            count.fail_at = n;
            count.fail_on = on;
            next_path();
            memset(called, 0, sizeof called);
            fine = lives(which, h, approval) && count.refused == 0 && n > 0;
            if (!CHECK(count.used == 0 && count.blocks == 0 && !count.wrong)) {
                printf("# kind %d, approved %d, on %d, allocation %zu\n", which, approval != NULL,
                       on, n);
                return;
            }
            is_whole(h);
            unlink(path);
        }
        CHECK(fine && n > least);
    }
}

static void every_allocation_of_ours_may_fail(void) {
    host h = strict();
    fail_each(live, IN_FILE, &h, NULL, 100);
    h = strict();
    moonplan_document *approval = approve(&h, FAR);
    moonplan_text text = moonplan_value_source(moonplan_document_root(approval));
    fail_each(live, IN_FILE, &h, &text, 100);
    moonplan_document_free(approval);
}

/* A clock that goes on while the authorizer is asked. */
static int64_t late_now;

static int64_t tell_late(void *data) {
    (void)data;
    return late_now;
}

static void allow_late(void *data, moonplan_want *want) {
    (void)data;
    late_now += 2000;
    moonplan_want_allow(want);
}

/* True when nothing failed: a job whose approval is over before it begins (without one: that runs),
 * and the same plan, which is given that job. */
static bool live_twice(where which, const host *h, const moonplan_text *approval) {
    moonplan_error err = {.code = MOONPLAN_OK};
    late_now = 1000;
    moonplan_engine *engine = moonplan_engine_new(&h->options, &err);
    if (!engine) return memory_or_fine(false, &err);
    moonplan_capability x = capability("x", count_call, NULL);
    x.risk = MOONPLAN_TEXT("write");
    moonplan_run_options with = {.caller = MOONPLAN_TEXT("{\"subject\":\"s\"}"),
                                 .approvals = approval,
                                 .approval_count = approval ? 1 : 0};
    bool fine = memory_or_fine(moonplan_engine_register(engine, &x, 1, &err) &&
                                   (which == IN_MEMORY || moonplan_engine_store_sqlite(
                                                              engine, path, strlen(path), 0, &err)),
                               &err);
    char id[MOONPLAN_ID_SIZE] = "";
    for (int round = 0; fine && round < 2; round++) {
        moonplan_failure failure;
        moonplan_job *job = moonplan_engine_run(engine, plan, sizeof plan - 1, &with, &err);
        fine = memory_or_fine(job != NULL, &err);
        if (job && round) CHECK(is_text(moonplan_job_id(job), id));
        if (job) copy_id(job, id);
        if (job && moonplan_job_error(job, &failure) && failure.code == MOONPLAN_MEMORY)
            fine = false;
        else if (job)
            CHECK(moonplan_job_status(job) ==
                  (approval ? MOONPLAN_AWAITING_APPROVAL : MOONPLAN_COMPLETED));
        moonplan_job_free(job);
        with.deduplicate = true;
        with.approval_count = 0;
    }
    if (approval) CHECK(called[0] == 0);
    moonplan_engine_free(engine);
    return fine;
}

static void what_waits_again_and_what_is_there_may_lack_memory(void) {
    for (int at = 0; at < KINDS; at++)
        for (int approved = 0; approved < 2; approved++) {
            host h = approved ? strict() : plain();
            h.options.now = tell_late;
            h.options.authorizer.decide = allow_late;
            moonplan_document *approval = approved ? approve(&h, 2500) : NULL;
            moonplan_text text = {NULL, 0};
            if (approval) text = moonplan_value_source(moonplan_document_root(approval));
            fail_each(live_twice, (where)at, &h, approval ? &text : NULL, 50);
            moonplan_document_free(approval);
        }
}

static void every_allocation_of_sqlite_may_fail(void) {
    host h = strict();
    moonplan_document *approval = approve(&h, FAR);
    moonplan_text text = moonplan_value_source(moonplan_document_root(approval));
    bool fine = false;
    size_t n = 1;
    /* Every one at first, which is opening and making; then some. */
    for (; n < 100000 && !fine; n += n < 300 ? 1 : 11) {
        next_path();
        memset(called, 0, sizeof called);
        sqlite_calls = 0;
        sqlite_fail_at = n;
        /* It goes on without what it can do without, so that not every failure is one. */
        live(IN_FILE, &h, &text);
        fine = sqlite_calls < n;
        sqlite_fail_at = 0;
        is_whole(&h);
        unlink(path);
    }
    CHECK(fine && n > 300);
    printf("# %zu allocations of SQLite's\n", n);
    moonplan_document_free(approval);
}

int main(void) {
    struct stat status;
    /* Thousands of files that are synced: in memory, where there is such a place. */
    if (stat("/dev/shm", &status) == 0) strcpy(folder, "/dev/shm/mp-store-XXXXXX");
    store_open();
    use_our_memory();
    RUN(every_allocation_of_ours_may_fail);
    RUN(what_waits_again_and_what_is_there_may_lack_memory);
    RUN(every_allocation_of_sqlite_may_fail);
    return store_end();
}
