/* Hosts that do what they like: callbacks that misbehave, subscribers that come and go, jobs that
 * are taken one question at a time, ids and clocks of their own. */
#include "engine.h"

#include "../../src/engine/engine.h"

/* -- Callbacks that misbehave --------------------------------------------------*/

typedef struct trouble {
    moonplan_engine *engine;
    moonplan_job *job;
    uint64_t subscription;
    int releases;
} trouble;

static void answers_twice(void *data, moonplan_want *want) {
    (void)data;
    CHECK(!moonplan_want_allow(want));
    CHECK(!moonplan_want_deny(want, "no", 2));
    CHECK(moonplan_want_complete_json(want, "1", 1));
    CHECK(!moonplan_want_complete_json(want, "2", 1));
    CHECK(!moonplan_want_fail(want, MOONPLAN_TEXT("late")));
}

static void goes_on_from_inside(void *data, moonplan_want *want) {
    trouble *t = data;
    CHECK(moonplan_job_next(t->job) == NULL);
    CHECK(moonplan_engine_unregister(t->engine, "x", 1));
    CHECK(!moonplan_engine_unregister(t->engine, "x", 1));
    CHECK(t->releases == 0); /* it is being called */
    /* Another job of the same engine, in the middle of this one. */
    moonplan_job *inner = run(t->engine, PLAN(STEP("i", "echo", ",\"input\":[1]")));
    CHECK(moonplan_job_status(inner) == MOONPLAN_COMPLETED);
    moonplan_job_free(inner);
    CHECK_TEXT("[7]", moonplan_value_source(want->input));
    moonplan_want_complete(want, want->input);
}

static void frees_its_job(void *data, moonplan_want *want) {
    trouble *t = data;
    moonplan_job_free(t->job);
    CHECK_TEXT("[7]", moonplan_value_source(want->input));
    moonplan_want_complete(want, want->input);
}

static void frees_its_engine(void *data, moonplan_want *want) {
    trouble *t = data;
    moonplan_engine_free(t->engine);
    CHECK(t->releases == 0);
    moonplan_want_complete(want, want->input);
}

static void release_trouble(void *data) {
    ((trouble *)data)->releases++;
}

static void callbacks_can_do_what_they_like(void) {
    moonplan_error err;
    moonplan_engine *engine = engine_with(NULL);
    moonplan_capability x = capability("x", answers_twice, NULL);
    CHECK(moonplan_engine_register(engine, &x, 1, NULL));
    moonplan_job *job = run(engine, PLAN(STEP("a", "x", "")));
    moonplan_document *result = moonplan_job_result_new(job, &err);
    CHECK_TEXT("1", moonplan_value_source(moonplan_document_root(result)));
    moonplan_document_free(result);
    moonplan_job_free(job);
    moonplan_engine_free(engine);

    void (*const rows[])(void *, moonplan_want *) = {goes_on_from_inside, frees_its_job,
                                                     frees_its_engine};
    const char *plan = PLAN(STEP("a", "x", ",\"input\":[7]") "," STEP("b", "echo", ""));
    for (size_t i = 0; i < 3; i++) {
        trouble t = {.engine = engine_with(NULL)};
        x = capability("x", rows[i], &t);
        x.release = release_trouble;
        CHECK(moonplan_engine_register(t.engine, &x, 1, NULL));
        t.job = moonplan_engine_submit_new(t.engine, plan, strlen(plan), NULL, &err);
        while (moonplan_job_next(t.job)) {
            moonplan_step step;
            if (i == 1 && moonplan_job_step(t.job, &step, 0) && step.status == MOONPLAN_RUNNING &&
                moonplan_job_event_count(t.job) == 3) {
                /* The next question's answer frees the job: it must not be touched after. */
                while (moonplan_job_next(t.job)->kind != MOONPLAN_WANT_RESULT) continue;
                CHECK(moonplan_job_next(t.job) == NULL);
                t.job = NULL;
                break;
            }
        }
        if (i == 0) CHECK(moonplan_job_status(t.job) == MOONPLAN_COMPLETED && t.releases == 1);
        if (i == 2) {
            /* The engine ended under it: the next step's capability has gone. */
            moonplan_failure failure;
            CHECK(moonplan_job_error(t.job, &failure) &&
                  failure.code == MOONPLAN_JOB_CAPABILITY_GONE);
            CHECK(t.releases == 1);
        }
        moonplan_job_free(t.job);
        if (i != 2) moonplan_engine_free(t.engine);
        CHECK(t.releases == 1);
    }
}

static void unsubscribes_itself(void *data, const moonplan_job *job, const moonplan_event *event) {
    trouble *t = data;
    (void)job;
    note("once:", event->type);
    moonplan_engine_unsubscribe(t->engine, t->subscription);
    moonplan_engine_unsubscribe(t->engine, t->subscription);
    CHECK(t->releases == 0); /* it is being told */
    moonplan_subscriber later = {.notify = noted_event, .data = "later:"};
    CHECK(moonplan_engine_subscribe(t->engine, "job.created", 11, &later) != 0);
}

static void subscribers_come_and_go_while_they_are_told(void) {
    trouble t = {.engine = engine_with(NULL)};
    moonplan_subscriber once = {unsubscribes_itself, &t, release_trouble},
                        all = {.notify = noted_event, .data = "all:"},
                        first = {.notify = noted_event, .data = "1:"},
                        second = {.notify = noted_event, .data = "2:"};
    uint64_t of_all = moonplan_engine_subscribe(t.engine, "*", 1, &all);
    moonplan_engine_subscribe(t.engine, "job.created", 11, &first);
    t.subscription = moonplan_engine_subscribe(t.engine, "job.created", 11, &once);
    moonplan_engine_subscribe(t.engine, "job.created", 11, &second);
    CHECK(moonplan_engine_subscribe(t.engine, "*", 1, &all) == of_all); /* counts once */
    const char *plan = PLAN(STEP("a", "echo", ""));
    moonplan_error err;
    trace[0] = 0;
    moonplan_job *job = moonplan_engine_submit_new(t.engine, plan, strlen(plan), NULL, &err);
    traced("1:job.created once:job.created 2:job.created all:job.created");
    CHECK(t.releases == 1);
    moonplan_job_free(job);
    moonplan_engine_unsubscribe(t.engine, of_all);
    moonplan_engine_unsubscribe(t.engine, 12345);
    job = moonplan_engine_submit_new(t.engine, plan, strlen(plan), NULL, &err);
    traced("1:job.created 2:job.created later:job.created");
    moonplan_job_free(job);
    moonplan_engine_free(t.engine);
}

/* -- Providers -----------------------------------------------------------------*/

typedef struct shelf {
    int asked;
    const char *has; /* the only name that it finds */
    bool lies, broken;
} shelf;

static bool find_on_shelf(void *data, moonplan_engine *engine, moonplan_text name,
                          moonplan_error *err) {
    shelf *s = data;
    s->asked++;
    if (s->lies) return true;
    if (s->broken) {
        moonplan_capability bad = capability("", echo, NULL);
        return moonplan_engine_register(engine, &bad, 1, err);
    }
    if (!s->has || strncmp(s->has, name.bytes, name.length) != 0) return false;
    moonplan_capability found = capability(s->has, echo, NULL);
    return moonplan_engine_register(engine, &found, 1, err);
}

static void providers_are_asked_when_a_name_is_not_there(void) {
    moonplan_engine *engine = engine_with(NULL);
    shelf lying = {.lies = true}, late = {.has = "late"};
    moonplan_provider providers[] = {{.find = find_on_shelf, .data = &lying},
                                     {.find = find_on_shelf, .data = &late}};
    CHECK(moonplan_engine_provide(engine, &providers[0], NULL));
    CHECK(moonplan_engine_provide(engine, &providers[1], NULL));
    moonplan_job *job = run(engine, PLAN(STEP("a", "late", "") "," STEP("b", "late", "")));
    CHECK(moonplan_job_status(job) == MOONPLAN_COMPLETED);
    CHECK(lying.asked == 1 && late.asked == 1);
    moonplan_job_free(job);
    late.broken = true;
    const char *plan = PLAN(STEP("a", "lost", "") "," STEP("b", "lost", ""));
    moonplan_error err;
    CHECK(!moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err));
    CHECK(err.code == MOONPLAN_PLAN_UNKNOWN_CAPABILITY);
    CHECK(strstr(err.message, "has to have a name") != NULL);
    CHECK(lying.asked == 2 && late.asked == 2);
    moonplan_engine_free(engine);
}

/* -- One question at a time ----------------------------------------------------*/

static void a_host_answers_what_it_wants_to(void) {
    moonplan_engine *engine = engine_with(NULL);
    moonplan_capability x = capability("x", NULL, NULL);
    x.risk = MOONPLAN_TEXT("write");
    CHECK(moonplan_engine_register(engine, &x, 1, NULL));
    const char *plan = PLAN(STEP("a", "x", ",\"input\":{\"k\":1,\"l\":2}") "," STEP("b", "x", ""));
    moonplan_error err;
    moonplan_job *job = moonplan_engine_submit_new(engine, plan, strlen(plan), NULL, &err);
    char kinds[80] = "", token[65] = "", again[65];
    moonplan_want *want;
    while ((want = moonplan_job_next(job))) {
        snprintf(kinds + strlen(kinds), sizeof kinds - strlen(kinds), "%zu%c", want->step,
                 "?IDCR"[want->kind]);
        CHECK(want->job == job);
        if (want->kind == MOONPLAN_WANT_INPUT && want->step == 1)
            CHECK(moonplan_want_complete_json(want, "{\"l\" : 2, \"k\": 1.0e0}", 21));
        if (want->kind == MOONPLAN_WANT_DECISION) {
            CHECK_TEXT("write", want->risk);
            CHECK(moonplan_want_allow(want));
        }
        if (want->kind == MOONPLAN_WANT_COMMIT) CHECK(moonplan_want_complete(want, want->caller));
        if (want->kind != MOONPLAN_WANT_RESULT) continue;
        CHECK(moonplan_want_token(want, want->step ? again : token));
        CHECK(moonplan_want_complete(want, moonplan_value_member(want->input, "l", 1)));
    }
    CHECK(strcmp(kinds, "0I0D0C0R0C1I1D1C1R1C") == 0);
    CHECK(moonplan_job_status(job) == MOONPLAN_COMPLETED);
    /* Equal values, but another step: another token. */
    CHECK(strlen(token) == 64 && strcmp(token, again) != 0);
    moonplan_step step;
    CHECK(moonplan_job_step(job, &step, 1));
    CHECK_TEXT("{\"l\" : 2, \"k\": 1.0e0}", moonplan_value_source(step.input));
    CHECK(moonplan_job_next(job) == NULL);
    moonplan_job_free(job);
    /* A commit that the host could not make: nothing more is called. */
    job = moonplan_engine_submit_new(engine, plan, strlen(plan), NULL, &err);
    while ((want = moonplan_job_next(job))) {
        CHECK(want->kind != MOONPLAN_WANT_RESULT);
        if (want->kind == MOONPLAN_WANT_DECISION) moonplan_want_allow(want);
        if (want->kind == MOONPLAN_WANT_COMMIT)
            CHECK(moonplan_want_fail(want, MOONPLAN_TEXT("disk full")));
    }
    CHECK(moonplan_job_stopped(job, &err) && err.code == MOONPLAN_STORE_FAILED);
    CHECK(strcmp(err.message, "disk full") == 0);
    CHECK(moonplan_job_status(job) == MOONPLAN_EXECUTING);
    moonplan_job_free(job);
    /* An input that the host could not read. */
    job = moonplan_engine_submit_new(engine, plan, strlen(plan), NULL, &err);
    want = moonplan_job_next(job);
    moonplan_failure failure = {.code = MOONPLAN_PLAN_INPUT_NUMBER,
                                .message = MOONPLAN_TEXT("too large")};
    CHECK(moonplan_want_fail_with(want, &failure));
    while (moonplan_job_next(job)) continue;
    CHECK(moonplan_job_error(job, &failure) && failure.code == MOONPLAN_JOB_INPUT_NUMBER);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

/* -- Ids, clock, store ---------------------------------------------------------*/

static void equal_ids_and_clocks_give_equal_bytes(void) {
    char first[4000] = "";
    for (int round = 0; round < 2; round++) {
        moonplan_engine_options options;
        moonplan_engine_options_init(&options);
        int64_t now = 0;
        int ids = 0;
        options.now = ticks;
        options.now_data = &now;
        options.make_id = counted_id;
        options.make_id_data = &ids;
        moonplan_engine *engine = engine_with(&options);
        moonplan_job *job = run(engine, PLAN(STEP("a", "echo", ",\"input\":1")));
        moonplan_document *whole = moonplan_job_document_new(job, NULL);
        moonplan_text text = moonplan_value_source(moonplan_document_root(whole));
        CHECK(text.length < sizeof first);
        if (round == 0)
            memcpy(first, text.bytes, text.length);
        else
            CHECK_TEXT(first, text);
        CHECK_TEXT("id-1", moonplan_job_id(job));
        CHECK_TEXT("1970-01-01T00:00:00.000Z",
                   moonplan_value_string(moonplan_document_at(whole, "/created", 8)));
        moonplan_event event;
        CHECK(moonplan_job_event(job, &event, moonplan_job_event_count(job) - 1));
        CHECK_TEXT("id-6", event.id);
        moonplan_document_free(whole);
        moonplan_job_free(job);
        moonplan_engine_free(engine);
    }
}

static bool no_id(void *data, char out[MOONPLAN_ID_SIZE]) {
    /* None, an empty one, one without an end, one that is not UTF-8. */
    int which = (*(int *)data)++ % 4;
    memset(out, 'x', MOONPLAN_ID_SIZE);
    if (which == 1) out[0] = 0;
    if (which == 3) memcpy(out, "\xc3(", 3);
    return which > 0;
}

static void ids_are_uuid_7_unless_the_host_has_better(void) {
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    int64_t now = 0x0123456789ab; /* RFC 9562, section 5.7: the first 48 bits */
    int count = 0;
    options.now = ticks;
    options.now_data = &now;
    options.make_id = no_id;
    options.make_id_data = &count;
    moonplan_engine *engine = engine_with(&options);
    moonplan_job *job = run(engine, PLAN(STEP("a", "echo", "") "," STEP("b", "echo", "")));
    char seen[20][MOONPLAN_ID_SIZE];
    size_t events = moonplan_job_event_count(job);
    for (size_t n = 0; n <= events; n++) {
        moonplan_event event;
        moonplan_text id = moonplan_job_id(job);
        if (n < events && moonplan_job_event(job, &event, n)) id = event.id;
        CHECK(id.length == 36 && memcmp(id.bytes, "01234567-89", 11) == 0);
        CHECK(id.bytes[14] == '7' && strchr("89ab", id.bytes[19]));
        for (size_t i = 0; i < 36; i++)
            CHECK(i == 8 || i == 13 || i == 18 || i == 23
                      ? id.bytes[i] == '-'
                      : strchr("0123456789abcdef", id.bytes[i]) != NULL);
        memcpy(seen[n], id.bytes, 37);
        for (size_t i = 0; i < n; i++) CHECK(strcmp(seen[i], seen[n]) != 0);
    }
    CHECK(events == 7 && count == 8);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

static bool same_id(void *data, char out[MOONPLAN_ID_SIZE]) {
    return snprintf(out, MOONPLAN_ID_SIZE, "%s", (const char *)data) > 0;
}

static void an_id_is_one_jobs(void) {
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    char id[] = "again";
    options.make_id = same_id;
    options.make_id_data = id;
    moonplan_engine *engine = engine_with(&options);
    const char *plan = PLAN(STEP("a", "echo", ""));
    moonplan_error err;
    moonplan_job *first = moonplan_engine_submit_new(engine, plan, strlen(plan), NULL, &err);
    CHECK(first != NULL);
    /* Under way, then ended. */
    for (int ended = 0; ended < 2; ended++) {
        CHECK(!moonplan_engine_submit_new(engine, plan, strlen(plan), NULL, &err));
        CHECK(err.code == MOONPLAN_STORE_FAILED);
        CHECK(strcmp(err.message, "there is a job \"again\" already") == 0);
        while (moonplan_job_next(first)) continue;
    }
    moonplan_job_free(first);
    strcpy(id, "other");
    moonplan_job *second = moonplan_engine_submit_new(engine, plan, strlen(plan), NULL, &err);
    CHECK(second != NULL);
    moonplan_job_free(second);
    moonplan_engine_free(engine);
    trace[0] = 0;
}

static void the_store_in_memory_keeps_as_many_as_it_was_told(void) {
    for (size_t keep = 0; keep < 3; keep++) {
        moonplan_engine_options options;
        moonplan_engine_options_init(&options);
        int ids = 0;
        options.make_id = counted_id;
        options.make_id_data = &ids;
        options.keep_jobs = keep;
        moonplan_engine *engine = engine_with(&options);
        moonplan_error err;
        const char *plan = PLAN(STEP("a", "echo", ""));
        for (int i = 0; i < 3; i++) moonplan_job_free(run(engine, plan)); /* id-1, id-7, id-13 */
        moonplan_job *waiting = moonplan_engine_submit_new(engine, plan, strlen(plan), NULL, &err);
        moonplan_document *list = moonplan_engine_jobs_new(engine, NULL, &err);
        moonplan_value root = moonplan_document_root(list);
        CHECK(moonplan_value_count(root) == keep + 1);
        static const char *const kept[] = {"id-7", "id-13"};
        for (size_t i = 0; i < keep; i++) {
            moonplan_value job = moonplan_value_element(root, i);
            CHECK_TEXT(kept[2 - keep + i],
                       moonplan_value_string(moonplan_value_member(job, "id", 2)));
            CHECK_TEXT("completed", moonplan_value_string(moonplan_value_member(job, "status", 6)));
        }
        CHECK_TEXT("created", moonplan_value_string(moonplan_value_member(
                                  moonplan_value_element(root, keep), "status", 6)));
        moonplan_document_free(list);
        moonplan_document *found = moonplan_engine_job_new(engine, "id-13", 5, &err);
        CHECK((found != NULL) == (keep > 0) && (found || err.code == MOONPLAN_OK));
        moonplan_document_free(found);
        CHECK(!moonplan_engine_job_new(engine, "id-1", 4, &err) && err.code == MOONPLAN_OK);
        moonplan_job_free(waiting);
        list = moonplan_engine_jobs_new(engine, NULL, &err);
        CHECK(moonplan_value_count(moonplan_document_root(list)) == keep);
        moonplan_document_free(list);
        moonplan_engine_free(engine);
    }
}

/* -- From inside: captured plans, other stores ---------------------------------*/

typedef struct table {
    int reads, releases;
    const char *now; /* the input of the step, as JSON; NULL: no answer */
    bool fail;
} table;

static void read_late(void *data, moonplan_want *want) {
    table *t = data;
    t->reads++;
    CHECK(want->kind == MOONPLAN_WANT_INPUT && !want->risk.bytes);
    if (t->fail) {
        moonplan_failure failure = {.code = MOONPLAN_PLAN_SHAPE,
                                    .message = MOONPLAN_TEXT("a function at /input")};
        CHECK(moonplan_want_fail_with(want, &failure));
    } else if (t->now) {
        moonplan_document *document = moonplan_document_parse(t->now, strlen(t->now), NULL, NULL);
        CHECK(mpl_want_take(want, document));
        CHECK(!mpl_want_take(want, moonplan_document_parse("1", 1, NULL, NULL)));
    }
}

static void release_table(void *data) {
    ((table *)data)->releases++;
}

static moonplan_job *submit_table(moonplan_engine *engine, table *t, moonplan_error *err) {
    static const char plan[] = PLAN(STEP("a", "echo", ",\"input\":[\"then\"]"));
    mpl_submission submission = {.document =
                                     moonplan_document_parse(plan, sizeof plan - 1, NULL, NULL),
                                 .source = {read_late, t, release_table}};
    return mpl_engine_submit(engine, &submission, NULL, err);
}

static void inputs_of_captured_plans_are_read_when_their_step_comes(void) {
    moonplan_engine *engine = engine_with(NULL);
    moonplan_error err;
    static const struct {
        const char *now, *result;
    } rows[] = {{"[\"now\"]", "[\"now\"]"}, {NULL, "[\"then\"]"}};
    for (size_t i = 0; i < 2; i++) {
        table t = {.now = "[\"soon\"]"};
        moonplan_job *job = submit_table(engine, &t, &err);
        CHECK(t.reads == 0 && t.releases == 0);
        t.now = rows[i].now;
        CHECK(mpl_job_drive(job, &err) && t.reads == 1 && t.releases == 1);
        moonplan_step step;
        CHECK(moonplan_job_step(job, &step, 0));
        CHECK_TEXT(rows[i].result, moonplan_value_source(step.result));
        CHECK_TEXT(rows[i].result, moonplan_value_source(step.input));
        moonplan_job_free(job);
        CHECK(t.releases == 1);
    }
    table t = {.fail = true};
    moonplan_job *job = submit_table(engine, &t, &err);
    moonplan_failure failure = {.code = MOONPLAN_OK};
    CHECK(mpl_job_drive(job, &err) && moonplan_job_error(job, &failure));
    CHECK(failure.code == MOONPLAN_JOB_INPUT_TYPE);
    moonplan_job_free(job);
    /* One that is given up before its step. */
    t.releases = 0;
    moonplan_job_free(submit_table(engine, &t, &err));
    CHECK(t.releases == 1);
    moonplan_engine_free(engine);
}

static void captured_plans_are_refused_without_offsets(void) {
    moonplan_engine *engine = engine_with(NULL);
    table t = {.reads = 0};
    mpl_capture_fault fault = {
        0, {.code = MOONPLAN_PLAN_SHAPE, .at = "/steps/0/input/f", .offset = MOONPLAN_NO_OFFSET}};
    static const char plan[] =
        PLAN(STEP("a", "echo", ",\"input\":{\"f\":null}") "," STEP("b", "nobody", ""));
    mpl_submission submission = {.document =
                                     moonplan_document_parse(plan, sizeof plan - 1, NULL, NULL),
                                 .faults = &fault,
                                 .fault_count = 1,
                                 .source = {read_late, &t, release_table}};
    moonplan_error_list *errors;
    moonplan_run_options options = {.errors = &errors};
    moonplan_error err;
    CHECK(!mpl_engine_submit(engine, &submission, &options, &err));
    CHECK(t.releases == 1 && moonplan_error_list_count(errors) == 2);
    for (size_t i = 0; i < moonplan_error_list_count(errors); i++)
        CHECK(moonplan_error_list_at(errors, i)->offset == MOONPLAN_NO_OFFSET);
    CHECK(err.code == MOONPLAN_PLAN_SHAPE && err.offset == MOONPLAN_NO_OFFSET);
    moonplan_error_list_free(errors);
    moonplan_engine_free(engine);
}

/* A store that fails at its n-th call. */
typedef struct disk {
    int calls, fail_at, leaves, releases;
    size_t events; /* written */
} disk;

static bool write_out(void *data, moonplan_error *err) {
    disk *d = data;
    if (++d->calls != d->fail_at) return true;
    *err = (moonplan_error){.code = MOONPLAN_STORE_FAILED, .message = "no space left"};
    return false;
}

static bool disk_submit(void *data, moonplan_job *job, mpl_twin *twin, moonplan_error *err) {
    CHECK(twin == NULL);
    ((disk *)data)->events = moonplan_job_event_count(job);
    note("submit", (moonplan_text){NULL, 0});
    return write_out(data, err);
}

static bool disk_checkpoint(void *data, moonplan_job *job, mpl_change *change,
                            moonplan_error *err) {
    disk *d = data;
    CHECK(change->first_event == d->events);
    d->events = moonplan_job_event_count(job);
    moonplan_step step;
    CHECK(moonplan_job_step(job, &step, change->step));
    note("save:", text_of(moonplan_status_name(step.status)));
    return write_out(data, err);
}

static bool disk_finish(void *data, moonplan_job *job, mpl_change *change, moonplan_error *err) {
    CHECK(moonplan_job_status(job) != MOONPLAN_EXECUTING);
    note("end", (moonplan_text){NULL, 0});
    return disk_checkpoint(data, job, change, err);
}

static void disk_leave(void *data, moonplan_job *job) {
    (void)job;
    ((disk *)data)->leaves++;
}

static void disk_release(void *data) {
    ((disk *)data)->releases++;
}

static void nothing_is_called_or_told_before_it_is_written_down(void) {
    static const char *const traces[] = {
        ("submit *job.created save:running *execution.started *capability.started call:a "
         "save:completed *capability.completed save:running *capability.started call:b end "
         "save:completed *capability.completed *job.completed"),
        "submit", "submit *job.created save:running",
        ("submit *job.created save:running *execution.started *capability.started call:a "
         "save:completed")};
    for (int fail = 0; fail < 4; fail++) {
        moonplan_engine *engine = engine_with(NULL);
        disk d = {.fail_at = fail};
        mpl_store store = {.data = &d,
                           .durable = true,
                           .submit = disk_submit,
                           .checkpoint = disk_checkpoint,
                           .finish = disk_finish,
                           .leave = disk_leave,
                           .release = disk_release};
        mpl_engine_use_store(engine, &store);
        moonplan_subscriber all = {.notify = noted_event, .data = "*"};
        CHECK(moonplan_engine_subscribe(engine, "*", 1, &all) != 0);
        moonplan_error err = {.code = MOONPLAN_OK};
        static const char plan[] = PLAN(STEP("a", "echo", "") "," STEP("b", "echo", ""));
        trace[0] = 0;
        moonplan_job *job = moonplan_engine_run(engine, plan, sizeof plan - 1, NULL, &err);
        traced(traces[fail]);
        CHECK((job != NULL) == (fail == 0));
        if (fail) CHECK(err.code == MOONPLAN_STORE_FAILED && strstr(err.message, "no space"));
        moonplan_job_free(job);
        CHECK(d.leaves == 1);
        /* What is on a disk is owned from submission on. */
        table t = {.now = "0"};
        d.fail_at = 0;
        job = submit_table(engine, &t, &err);
        CHECK(t.releases == 1 && mpl_job_drive(job, &err) && t.reads == 0);
        moonplan_job_free(job);
        /* An engine that is closed takes its store along: the job stops. */
        job = submit_table(engine, &t, &err);
        while (moonplan_job_next(job)->kind != MOONPLAN_WANT_COMMIT) continue;
        moonplan_engine_free(engine);
        CHECK(d.releases == 1);
        trace[0] = 0;
        CHECK(moonplan_job_next(job) == NULL && moonplan_job_stopped(job, &err));
        traced("");
        moonplan_job_free(job);
    }
}

static void a_family_is_replaced_as_a_whole(void) {
    moonplan_engine *engine = engine_with(NULL);
    int old_releases = 0, new_releases = 0;
    moonplan_capability old[] = {capability("p.a", echo, &old_releases),
                                 capability("p.b", echo, &old_releases)},
                        next[] = {capability("p.c", echo, &new_releases),
                                  capability("p.a", echo, &new_releases)};
    for (size_t i = 0; i < 2; i++) old[i].release = next[i].release = released;
    CHECK(mpl_engine_replace(engine, NULL, 0, old, 2, true, NULL));
    moonplan_text names[] = {old[0].name, old[1].name};
    moonplan_error err;
    static const struct {
        const char *name, *risk, *input;
        moonplan_code code;
        const char *at;
    } rows[] = {
        {"echo", "read", NULL, MOONPLAN_PLUGIN_DUPLICATE, "/0/name"},
        {"p.a", "read", NULL, MOONPLAN_PLUGIN_DUPLICATE, "/1/name"},
        {"p.c", "reads", NULL, MOONPLAN_PLUGIN_MANIFEST, "/0/risk"},
        {"p.c", "read", "{\"f\":{\"type\":\"any\"}}", MOONPLAN_PLUGIN_MANIFEST, "/0/input/f/type"},
        {"p.c", "read", "{\"f\":{\"type\":\"string\",\"min\":1}}", MOONPLAN_PLUGIN_MANIFEST,
         "/0/input/f/min"},
        {"p.c", "read", "{\"f\":{\"type\":\"string\",\"pattern\":\"x\"}}", MOONPLAN_PLUGIN_MANIFEST,
         "/0/input/f/pattern"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        moonplan_capability bad[] = {next[0], next[1]};
        bad[0].name = text_of(rows[i].name);
        bad[0].risk = text_of(rows[i].risk);
        if (rows[i].input) bad[0].input = text_of(rows[i].input);
        CHECK(!mpl_engine_replace(engine, names, 2, bad, 2, true, &err));
        if (!CHECK(err.code == rows[i].code && strcmp(err.at, rows[i].at) == 0))
            printf("# %s %s\n", err.at, err.message);
        CHECK(old_releases == 0 && new_releases == 0);
        CHECK(mpl_engine_has(engine, old[1].name) && !mpl_engine_has(engine, next[0].name));
    }
    CHECK(mpl_engine_replace(engine, names, 2, next, 2, true, &err));
    CHECK(old_releases == 2 && new_releases == 0);
    CHECK(!mpl_engine_has(engine, old[1].name));
    /* p.a has kept its place, and p.c comes last. */
    moonplan_document *list = moonplan_engine_list_new(engine, &err);
    CHECK_TEXT("p.a", moonplan_value_string(moonplan_document_at(list, "/5/name", 7)));
    CHECK_TEXT("p.c", moonplan_value_string(moonplan_document_at(list, "/6/name", 7)));
    moonplan_document_free(list);
    moonplan_engine_free(engine);
    CHECK(old_releases == 2 && new_releases == 2);
}

static void notes_digest(void *data, const moonplan_job *job, const moonplan_event *event) {
    (void)data;
    (void)job;
    note(":", event->digest.bytes ? event->digest : text_of("none"));
}

/* Of the code behind a capability: it stands in the record of what was started. */
static void what_is_started_has_its_digest(void) {
    static const char digest[] = "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8";
    moonplan_error err;
    moonplan_engine *engine = engine_with(NULL);
    moonplan_capability one = capability("one", echo, NULL);
    static const char *const wrong[] = {
        "", "0e", "0E5751C026E543B2E8AB2EB06099DAA1D1E5DF47778F7787FAAB45CDF12FE3A8",
        "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a80"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        one.digest = text_of(wrong[i]);
        CHECK(!moonplan_engine_register(engine, &one, 1, &err));
        CHECK(err.code == MOONPLAN_PLUGIN_MANIFEST && strcmp(err.at, "/0/digest") == 0);
    }
    one.digest = text_of(digest);
    CHECK(moonplan_engine_register(engine, &one, 1, &err));
    moonplan_subscriber subscriber = {.notify = notes_digest};
    CHECK(moonplan_engine_subscribe(engine, "capability.started", 18, &subscriber) != 0);
    trace[0] = 0;
    static const char plan[] =
        "{\"version\":\"1.0\",\"steps\":[{\"id\":\"a\",\"capability\":\"one\"},"
        "{\"id\":\"b\",\"capability\":\"echo\"}]}";
    moonplan_job *job = moonplan_engine_run(engine, plan, sizeof plan - 1, NULL, &err);
    if (!CHECK(job != NULL)) return;
    traced(":0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8 call:a :none call:b");
    moonplan_document *document = moonplan_job_document_new(job, &err);
    CHECK_TEXT(digest,
               moonplan_value_string(moonplan_document_at(document, "/events/2/data/digest", 21)));
    moonplan_document_free(document);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

int main(void) {
    RUN(callbacks_can_do_what_they_like);
    RUN(subscribers_come_and_go_while_they_are_told);
    RUN(providers_are_asked_when_a_name_is_not_there);
    RUN(a_host_answers_what_it_wants_to);
    RUN(equal_ids_and_clocks_give_equal_bytes);
    RUN(ids_are_uuid_7_unless_the_host_has_better);
    RUN(an_id_is_one_jobs);
    RUN(the_store_in_memory_keeps_as_many_as_it_was_told);
    RUN(inputs_of_captured_plans_are_read_when_their_step_comes);
    RUN(captured_plans_are_refused_without_offsets);
    RUN(nothing_is_called_or_told_before_it_is_written_down);
    RUN(a_family_is_replaced_as_a_whole);
    RUN(what_is_started_has_its_digest);
    return check_end();
}
