/* Many jobs at once: what each of them is promised alone, it is promised among others; and they
 * share their commits. And what many jobs, one after another, leave behind: nothing. */
#include <sys/stat.h>

#include "store.h"

#define TEXT_OF(array) ((moonplan_text){(array), sizeof(array) - 1})

static void run_all(moonplan_engine *engine, moonplan_run *runs, size_t count, size_t jobs) {
    CHECK(moonplan_engine_run_many(engine, runs, count) == jobs);
    for (size_t n = 0; n < count; n++)
        if (!CHECK((runs[n].job != NULL) == (runs[n].error.code == MOONPLAN_OK)))
            printf("# run %zu\n", n);
}

static void free_all(moonplan_run *runs, size_t count) {
    for (size_t n = 0; n < count; n++) moonplan_job_free(runs[n].job);
}

static const char two[] = PLAN(STEP("a", "write", ",\"input\":[1]") "," STEP(
    "b", "write", ",\"input\":{\"$ref\":\"steps.a.result\"}"));

static void each_is_a_job_of_its_own(void) {
    static const char broken[] = "{", unknown[] = PLAN(STEP("a", "nobody", "")),
                      failing_plan[] =
                          PLAN(STEP("a", "typed", ",\"input\":{}") "," STEP("b", "write", ""));
    for (int at = 0; at < KINDS; at++) {
        host h = plain();
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_error_list *errors = NULL;
        moonplan_run_options own = {.caller = MOONPLAN_TEXT("{\"subject\":\"s\"}"),
                                    .errors = &errors};
        moonplan_run runs[] = {{.plan = TEXT_OF(two)},
                               {.plan = TEXT_OF(broken), .options = &own},
                               {.plan = TEXT_OF(failing_plan)},
                               {.plan = TEXT_OF(unknown)},
                               {.plan = TEXT_OF(chain)}};
        memset(effects, 0, sizeof effects);
        trace[0] = 0;
        run_all(engine, runs, 5, 3);
        trace[0] = 0;
        CHECK(moonplan_job_status(runs[0].job) == MOONPLAN_COMPLETED);
        CHECK(runs[1].error.code == MOONPLAN_JSON_SYNTAX && moonplan_error_list_count(errors) == 1);
        CHECK(moonplan_job_status(runs[2].job) == MOONPLAN_FAILED);
        CHECK(runs[3].error.code == MOONPLAN_PLAN_UNKNOWN_CAPABILITY);
        CHECK(moonplan_job_status(runs[4].job) == MOONPLAN_COMPLETED);
        CHECK(effects[0] == 3 && effects[1] == 2 && effects[2] == 1);
        for (size_t n = 0; n < 5; n++) {
            char id[MOONPLAN_ID_SIZE];
            if (!runs[n].job) continue;
            copy_id(runs[n].job, id);
            stands(engine, id,
                   n == 0   ? "completed: completed completed"
                   : n == 2 ? "failed: failed pending"
                            : "completed: completed completed completed");
        }
        CHECK(listed(engine, NULL) == 3);
        sound((where)at, engine);
        moonplan_error_list_free(errors);
        free_all(runs, 5);
        CHECK(moonplan_engine_run_many(engine, runs, 0) == 0);
        moonplan_engine_free(engine);
    }
}

/* -- What is in the file by when --------------------------------------------------*/

/* How many steps at this place stand there with this status, read by another process's engine. */
static size_t steps_with(size_t step, const char *status) {
    host h = plain();
    h.flags = MOONPLAN_STORE_READ_ONLY;
    moonplan_engine *reader = engine_of(IN_FILE, &h);
    moonplan_document *jobs = moonplan_engine_jobs_new(reader, NULL, NULL);
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(jobs));
    size_t count = 0;
    while (moonplan_walk_next(&walk)) {
        moonplan_text id = moonplan_value_string(moonplan_value_member(walk.value, "id", 2));
        moonplan_document *job = moonplan_engine_job_new(reader, id.bytes, id.length, NULL);
        moonplan_value at = moonplan_value_element(moonplan_document_at(job, "/steps", 6), step);
        count += is_text(moonplan_value_string(moonplan_value_member(at, "status", 6)), status);
        moonplan_document_free(job);
    }
    moonplan_document_free(jobs);
    moonplan_engine_free(reader);
    return count;
}

#define SOME 5

static size_t done[2], told[2];

/* When the first of them does its step, all have been written down as begun; those that are not
 * ours look as if they had been left, which is what they would be if we stopped now. */
static void look_at_begun(void *data, moonplan_want *want) {
    (void)data;
    if (done[want->step]++ == 0)
        CHECK(steps_with(want->step, "running") + steps_with(want->step, "outcome_unknown") ==
              SOME);
    CHECK(steps_with(want->step, "completed") == 0);
    moonplan_want_complete(want, want->input);
}

static void look_at_completed(void *data, const moonplan_job *job, const moonplan_event *event) {
    (void)data;
    size_t step = is_text(event->step_id, "b");
    moonplan_step view;
    CHECK(done[step] == SOME && moonplan_job_step(job, &view, step));
    if (told[step]++ == 0) CHECK(steps_with(step, "completed") == SOME);
}

static void nothing_is_done_or_told_before_it_is_in_the_file(void) {
    host h = plain();
    next_path();
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_capability looking = capability("looking", look_at_begun, NULL);
    CHECK(moonplan_engine_register(engine, &looking, 1, NULL));
    moonplan_subscriber subscriber = {.notify = look_at_completed};
    CHECK(moonplan_engine_subscribe(engine, "capability.completed", 20, &subscriber));
    static const char plan[] = PLAN(STEP("a", "looking", "") "," STEP("b", "looking", ""));
    moonplan_run runs[SOME];
    for (size_t n = 0; n < SOME; n++) runs[n] = (moonplan_run){.plan = TEXT_OF(plan)};
    run_all(engine, runs, SOME, SOME);
    CHECK(done[0] == SOME && done[1] == SOME && told[0] == SOME && told[1] == SOME);
    is_sound(engine);
    free_all(runs, SOME);
    moonplan_engine_free(engine);
}

/* -- Commits ---------------------------------------------------------------------*/

static bool (*real_write)(void *, mpl_write *, size_t, size_t *, moonplan_error *);
static size_t writes, written;

static bool counted_write(void *data, mpl_write *list, size_t count, size_t *failed,
                          moonplan_error *err) {
    writes++;
    written += count;
    return real_write(data, list, count, failed, err);
}

static void commits_are_shared_by_64(void) {
    static moonplan_run runs[130];
    host h = plain();
    next_path();
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    real_write = engine->store.write;
    engine->store.write = counted_write;
    for (size_t n = 0; n < 64; n++) runs[n] = (moonplan_run){.plan = TEXT_OF(two)};
    run_all(engine, runs, 64, 64);
    free_all(runs, 64);
    /* Submitted, and of each step its beginning and its end. */
    CHECK(writes == 5 && written == (size_t)5 * 64);
    writes = written = 0;
    for (size_t n = 0; n < 130; n++) runs[n] = (moonplan_run){.plan = TEXT_OF(two)};
    run_all(engine, runs, 130, 130);
    free_all(runs, 130);
    CHECK(writes == 15 && written == (size_t)5 * 130);
    trace[0] = 0;
    is_sound(engine);
    moonplan_engine_free(engine);
}

/* -- What concerns one alone --------------------------------------------------------*/

/* Another host takes the second job over while the first does its first step. */
static void lose_second(void *data, moonplan_want *want) {
    const moonplan_engine *engine = *(moonplan_engine **)data;
    static const char take[] = "UPDATE job SET owner = 'somebody else' WHERE number = 2";
    if (want->step == 0 && effects[0]++ == 0) {
        mpl_sqlite sqlite;
        sqlite3 *other = NULL;
        sqlite3_stmt *statement = NULL;
        CHECK(!mpl_sqlite_open(&sqlite) && engine != NULL);
        CHECK(sqlite.open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
        CHECK(sqlite.prepare_v2(other, take, -1, &statement, NULL) == SQLITE_OK);
        CHECK(sqlite.step(statement) == SQLITE_DONE);
        sqlite.finalize(statement);
        sqlite.close_v2(other);
    }
    moonplan_want_complete(want, want->input);
}

static void one_that_was_taken_over_leaves_the_others_alone(void) {
    static const char plan[] = PLAN(STEP("a", "losing", "") "," STEP("b", "losing", ""));
    host h = plain();
    next_path();
    memset(effects, 0, sizeof effects);
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_capability losing = capability("losing", lose_second, &engine);
    CHECK(moonplan_engine_register(engine, &losing, 1, NULL));
    moonplan_run runs[4];
    for (size_t n = 0; n < 4; n++) runs[n] = (moonplan_run){.plan = TEXT_OF(plan)};
    run_all(engine, runs, 4, 3);
    CHECK(runs[1].error.code == MOONPLAN_STORE_CONFLICT);
    for (size_t n = 0; n < 4; n++)
        CHECK(n == 1 || moonplan_job_status(runs[n].job) == MOONPLAN_COMPLETED);
    is_sound(engine);
    free_all(runs, 4);
    moonplan_engine_free(engine);
}

static void a_key_makes_one_job_of_several(void) {
    static const char plan[] =
        "{\"idempotencyKey\":\"k\",\"steps\":[" STEP("a", "write", ",\"input\":[1]") "]}",
                      other[] = "{\"idempotencyKey\":\"k\",\"steps\":[" STEP("a", "write",
                                                                             ",\"input\":[2]") "]}";
    for (int at = 0; at < KINDS; at++) {
        host h = plain();
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_run_options once = {.deduplicate = true};
        moonplan_run runs[] = {{.plan = TEXT_OF(two)},
                               {.plan = TEXT_OF(plan), .options = &once},
                               {.plan = TEXT_OF(other), .options = &once},
                               {.plan = TEXT_OF(plan), .options = &once}};
        memset(effects, 0, sizeof effects);
        run_all(engine, runs, 4, 3);
        trace[0] = 0;
        CHECK(runs[2].error.code == MOONPLAN_STORE_CONFLICT);
        CHECK(moonplan_job_status(runs[1].job) == MOONPLAN_COMPLETED);
        CHECK(moonplan_job_status(runs[3].job) == MOONPLAN_COMPLETED);
        char id[MOONPLAN_ID_SIZE];
        copy_id(runs[1].job, id);
        CHECK(is_text(moonplan_job_id(runs[3].job), id));
        CHECK(effects[0] == 2 && effects[1] == 1 && listed(engine, NULL) == 2);
        sound((where)at, engine);
        free_all(runs, 4);
        moonplan_engine_free(engine);
    }
}

/* -- Memory ------------------------------------------------------------------------*/

static void every_allocation_may_fail(void) {
    static const char broken[] = "[";
    for (int at = 0; at < KINDS; at++)
        for (int on = 0; on < 2; on++) {
            bool fine = false;
            size_t n = 1;
            for (; n < 5000 && !fine; n++) {
                counter count;
                host h = plain();
                moonplan_error err;
                next_path();
                memset(effects, 0, sizeof effects);
                moonplan_engine *engine = engine_of((where)at, &h);
                moonplan_engine_free(engine); /* the file is there */
                counter_options(&h.options.common, &count);
                engine = moonplan_engine_new(&h.options, &err);
                register_all(engine, &h);
                if (at == IN_FILE)
                    CHECK(moonplan_engine_store_sqlite(engine, path, strlen(path), 0, &err));
                count.fail_at = count.calls + n;
                count.fail_on = on;
                moonplan_run runs[] = {
                    {.plan = TEXT_OF(two)}, {.plan = TEXT_OF(broken)}, {.plan = TEXT_OF(two)}};
                size_t jobs = moonplan_engine_run_many(engine, runs, 3);
                fine = count.refused == 0;
                for (size_t i = 0; i < 3; i++) {
                    if (runs[i].job) {
                        moonplan_failure failure;
                        bool failed = moonplan_job_error(runs[i].job, &failure);
                        CHECK(!failed || failure.code == MOONPLAN_MEMORY);
                    } else {
                        CHECK(runs[i].error.code == MOONPLAN_MEMORY ||
                              (i == 1 && runs[i].error.code == MOONPLAN_JSON_SYNTAX));
                    }
                }
                CHECK(!fine || jobs == 2);
                free_all(runs, 3);
                moonplan_engine_free(engine);
                trace[0] = 0;
                if (!CHECK(count.used == 0 && count.blocks == 0 && !count.wrong)) {
                    printf("# store %d, on %d, allocation %zu\n", at, on, n);
                    return;
                }
                if (at == IN_FILE) {
                    host reader = plain();
                    engine = engine_of(IN_FILE, &reader);
                    is_sound(engine);
                    moonplan_engine_free(engine);
                    unlink(path);
                }
            }
            CHECK(fine && n > 20);
        }
}

static void ten_thousand_jobs_leave_nothing_behind(void) {
    for (int at = 0; at < KINDS; at++) {
        counter count;
        host h = plain();
        h.options.keep_jobs = 8;
        counter_options(&h.options.common, &count);
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        static moonplan_run runs[100];
        size_t used = 0, blocks = 0;
        for (size_t round = 0; round < 101; round++) {
            for (size_t n = 0; n < 100; n++) runs[n] = (moonplan_run){.plan = TEXT_OF(two)};
            run_all(engine, runs, 100, 100);
            free_all(runs, 100);
            trace[0] = 0;
            if (round == 0) {
                used = count.used;
                blocks = count.blocks;
            }
        }
        if (!CHECK(count.used == used && count.blocks == blocks))
            printf("# store %d: %zu bytes in %zu blocks, then %zu in %zu\n", at, used, blocks,
                   count.used, count.blocks);
        moonplan_engine_free(engine);
        unlink(path);
    }
}

/* Ids are made when somebody looks, and are the same for everybody from then on. */
static void an_event_has_one_id(void) {
    host h = plain();
    moonplan_engine *engine = engine_of(IN_MEMORY, &h);
    moonplan_error err;
    moonplan_job *job = moonplan_engine_run(engine, two, sizeof two - 1, NULL, &err);
    trace[0] = 0;
    moonplan_text id = moonplan_job_id(job);
    moonplan_document *stored = moonplan_engine_job_new(engine, id.bytes, id.length, &err),
                      *whole = moonplan_job_document_new(job, &err);
    moonplan_value events = moonplan_document_at(stored, "/events", 7),
                   same = moonplan_document_at(whole, "/events", 7);
    CHECK(moonplan_value_count(events) == 7);
    for (size_t n = 0; n < 7; n++) {
        moonplan_event event, before;
        CHECK(moonplan_job_event(job, &event, n) && event.id.length == 36);
        CHECK_TEXT(event.id.bytes, moonplan_value_string(moonplan_value_member(
                                       moonplan_value_element(events, n), "id", 2)));
        CHECK_TEXT(event.id.bytes, moonplan_value_string(moonplan_value_member(
                                       moonplan_value_element(same, n), "id", 2)));
        CHECK(n == 0 || (moonplan_job_event(job, &before, n - 1) &&
                         strcmp(before.id.bytes, event.id.bytes) != 0));
    }
    moonplan_document_free(stored);
    moonplan_document_free(whole);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

int main(void) {
    struct stat status;
    /* Thousands of commits: in memory, where there is such a place. */
    if (stat("/dev/shm", &status) == 0) strcpy(folder, "/dev/shm/mp-store-XXXXXX");
    store_open();
    RUN(each_is_a_job_of_its_own);
    RUN(nothing_is_done_or_told_before_it_is_in_the_file);
    RUN(commits_are_shared_by_64);
    RUN(one_that_was_taken_over_leaves_the_others_alone);
    RUN(a_key_makes_one_job_of_several);
    RUN(every_allocation_may_fail);
    RUN(ten_thousand_jobs_leave_nothing_behind);
    RUN(an_event_has_one_id);
    return store_end();
}
