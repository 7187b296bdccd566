/* Memory: every allocation of an engine and its jobs fails, one after another, alone and with all
 * that follow; and what a long plan costs is a multiple of its steps. */
#include "engine.h"

/* -- Failures ------------------------------------------------------------------*/

/* What the steps of the plan below come to. */
static const char *const right[] = {"{\"id\":\"n\\u00e9\",\"list\":[1,2]}", "{\"v\":\"n\xc3\xa9\"}",
                                    "[2]", "[1,2]"};

typedef struct world {
    int effects[4]; /* calls, by step */
    bool deny, fail;
} world;

static void effect(void *data, moonplan_want *want) {
    world *w = data;
    w->effects[want->step]++;
    char token[65];
    moonplan_want_token(want, token);
    if (w->fail && want->step == 1) {
        moonplan_error err;
        moonplan_document *detail = moonplan_document_parse("[1]", 3, NULL, &err);
        moonplan_failure failure = {.message = MOONPLAN_TEXT("it broke"),
                                    .detail = moonplan_document_root(detail)};
        moonplan_want_fail_with(want, &failure);
        moonplan_document_free(detail);
    } else if (want->step == 0) {
        moonplan_want_complete_json(want, right[0], strlen(right[0]));
    } else {
        moonplan_want_complete(want, want->input);
    }
}

static void decide(void *data, moonplan_want *want) {
    const world *w = data;
    if (w->deny && want->step == 1)
        moonplan_want_deny(want, "not today", 9);
    else
        moonplan_want_allow(want);
}

static bool provide(void *data, moonplan_engine *engine, moonplan_text name, moonplan_error *err) {
    moonplan_capability late = capability("late", effect, data);
    late.input = MOONPLAN_TEXT("{\"v\":{\"type\":\"string\",\"enum\":[\"n\xc3\xa9\"]}}");
    (void)name;
    return moonplan_engine_register(engine, &late, 1, err);
}

static const char plan_text[] =
    "{\"version\":\"0\",\"goal\":\" g \",\"steps\":["
    "{\"id\":\"a\",\"capability\":\"x\",\"input\":[1]},"
    "{\"id\":\"b\",\"capability\":\"late\",\"input\":{\"v\":{\"$ref\":\"steps.a.result.id\"}}},"
    "{\"id\":\"result\",\"capability\":\"x\",\"input\":[{\"$ref\":\"steps.a.result.list.length\"}]}"
    ","
    "{\"id\":\"d\",\"capability\":\"x\",\"input\":{\"$ref\":\"steps.a.result.list\"}}]}";

/* What the job says has to be what happened. */
static void is_true(const moonplan_job *job, const world *w) {
    bool failed = false;
    for (size_t n = 0; n < moonplan_job_step_count(job); n++) {
        moonplan_step step;
        CHECK(moonplan_job_step(job, &step, n));
        CHECK(w->effects[n] == (step.started != MOONPLAN_NO_TIME));
        if (step.status == MOONPLAN_COMPLETED)
            CHECK_TEXT(right[n], moonplan_value_source(step.result));
        failed = failed || step.status == MOONPLAN_FAILED;
        if (step.status == MOONPLAN_FAILED) CHECK(step.error.message.bytes != NULL);
    }
    CHECK(failed == (moonplan_job_status(job) == MOONPLAN_FAILED));
    /* Every start and every end has its event. */
    size_t started = 0, ended = 0;
    for (size_t n = 0; n < moonplan_job_event_count(job); n++) {
        moonplan_event event;
        CHECK(moonplan_job_event(job, &event, n) && event.id.length == 36);
        started +=
            event.type.length == 18 && memcmp(event.type.bytes, "capability.started", 18) == 0;
        ended += memcmp(event.type.bytes, "capability.", 11) == 0;
    }
    size_t effects = 0;
    for (size_t n = 0; n < 4; n++) effects += (size_t)w->effects[n];
    CHECK(started == effects && ended - started >= effects);
}

static int told;
static void hear(void *data, const moonplan_job *job, const moonplan_event *event) {
    (void)data;
    (void)job;
    (void)event;
    told++;
}

/* True when nothing failed on the way. */
static bool live(const moonplan_options *common, world *w) {
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    options.common = *common;
    options.authorizer = (moonplan_authorizer){.decide = decide, .data = w};
    options.allow = &MOONPLAN_TEXT("write");
    options.allow_count = 1;
    options.keep_jobs = 1;
    moonplan_error err = {.code = MOONPLAN_OK};
    moonplan_engine *engine = moonplan_engine_new(&options, &err);
    if (!engine) return CHECK(err.code == MOONPLAN_MEMORY) && false;
    moonplan_capability x = capability("x", effect, w);
    x.output = MOONPLAN_TEXT("{}");
    x.needs = &MOONPLAN_TEXT("fs");
    x.needs_count = 1;
    moonplan_provider provider = {.find = provide, .data = w};
    moonplan_subscriber listener = {.notify = hear};
    bool fine = moonplan_engine_register(engine, &x, 1, &err) &&
                moonplan_engine_provide(engine, &provider, &err);
    CHECK(fine || err.code == MOONPLAN_MEMORY);
    fine = fine && moonplan_engine_subscribe(engine, "*", 1, &listener);
    moonplan_error_list *errors;
    moonplan_run_options run_options = {.caller = MOONPLAN_TEXT("{\"subject\":\"s\"}"),
                                        .errors = &errors};
    for (int round = 0; fine && round < 2; round++) {
        memset(w->effects, 0, sizeof w->effects);
        told = 0;
        moonplan_job *job =
            moonplan_engine_run(engine, plan_text, sizeof plan_text - 1, &run_options, &err);
        if (!job) {
            /* The provider's own trouble is told as what it is at the capability's place. */
            CHECK(err.code == MOONPLAN_MEMORY && told == 0);
            CHECK(w->effects[0] == 0);
            moonplan_error_list_free(errors);
            fine = false;
            break;
        }
        is_true(job, w);
        CHECK(told == (int)moonplan_job_event_count(job));
        moonplan_failure failure = {.code = MOONPLAN_OK};
        moonplan_job_error(job, &failure);
        moonplan_code expected = w->deny   ? MOONPLAN_JOB_DENIED
                                 : w->fail ? MOONPLAN_JOB_CAPABILITY_FAILED
                                           : MOONPLAN_OK;
        if (failure.code != expected && !CHECK(failure.code == MOONPLAN_MEMORY))
            printf("# %s: %s\n", moonplan_code_name(failure.code), failure.message.bytes);
        fine = failure.code == expected;
        moonplan_document *whole = moonplan_job_document_new(job, &err);
        if (!whole) CHECK(err.code == MOONPLAN_MEMORY);
        fine = fine && whole;
        moonplan_document_free(whole);
        moonplan_job_free(job);
    }
    if (fine) {
        moonplan_document *list = moonplan_engine_list_new(engine, &err);
        moonplan_document *jobs = moonplan_engine_jobs_new(engine, NULL, &err);
        fine = list && jobs && moonplan_engine_unregister(engine, "x", 1);
        moonplan_document_free(list);
        moonplan_document_free(jobs);
    }
    moonplan_engine_free(engine);
    return fine;
}

static void every_allocation_may_fail(void) {
    for (int kind = 0; kind < 3; kind++) {
        for (int on = 0; on < 2; on++) {
            size_t n = 0;
            bool fine = false;
            for (; n < 3000 && !fine; n++) {
                world w = {.deny = kind == 1, .fail = kind == 2};
                counter count;
                moonplan_options options;
                counter_options(&options, &count);
                count.fail_at = n;
                count.fail_on = on;
                fine = live(&options, &w) && count.refused == 0 && n > 0;
                if (n == 0) CHECK(count.refused == 0);
                if (!CHECK(count.used == 0 && count.blocks == 0 && !count.wrong)) {
                    printf("# kind %d, on %d, allocation %zu\n", kind, on, n);
                    return;
                }
            }
            CHECK(fine && n > 100);
        }
    }
}

/* -- Refusals ------------------------------------------------------------------*/

static void a_refusal_may_be_short_of_memory(void) {
    static const char bad[] =
        "{\"steps\":[{\"id\":\"a\",\"capability\":\"no\"},{\"id\":\"a\",\"capability\":\"no\"},"
        "{\"id\":\"b\",\"capability\":\"x\",\"input\":{\"$ref\":\"steps.z.result\"}},5]}";
    bool fine = false;
    size_t n = 1;
    for (; n < 500 && !fine; n++) {
        counter count;
        moonplan_engine_options options;
        moonplan_engine_options_init(&options);
        counter_options(&options.common, &count);
        moonplan_engine *engine = moonplan_engine_new(&options, NULL);
        moonplan_capability x = capability("x", echo, NULL);
        CHECK(moonplan_engine_register(engine, &x, 1, NULL));
        moonplan_error_list *errors;
        moonplan_run_options run_options = {.errors = &errors};
        moonplan_error err;
        count.fail_at = count.calls + n;
        CHECK(!moonplan_engine_run(engine, bad, sizeof bad - 1, &run_options, &err));
        fine = count.refused == 0;
        /* All of it or none; a block that would not shrink costs nothing. */
        size_t listed = moonplan_error_list_count(errors);
        CHECK(err.code == MOONPLAN_MEMORY
                  ? listed <= 1
                  : listed == 5 && err.code == MOONPLAN_PLAN_UNKNOWN_CAPABILITY);
        CHECK(!fine || err.code != MOONPLAN_MEMORY);
        moonplan_error_list_free(errors);
        moonplan_engine_free(engine);
        CHECK(count.used == 0 && !count.wrong);
    }
    CHECK(fine && n > 10);
}

/* -- Long plans ----------------------------------------------------------------*/

static void pass_on(void *data, moonplan_want *want) {
    ++*(size_t *)data;
    moonplan_want_complete(want, want->input);
}

typedef struct cost {
    size_t allocations, peak;
} cost;

/* A chain: every step takes the result of the one before it. */
static cost chain(size_t steps) {
    size_t room = steps * 96 + 100, length = 0, calls = 0;
    char *plan = malloc(room);
    if (!plan) exit(EXIT_FAILURE);
    length = (size_t)snprintf(plan, room,
                              "{\"version\":\"1.0\",\"steps\":["
                              "{\"id\":\"s0\",\"capability\":\"x\",\"input\":[7]}");
    for (size_t n = 1; n < steps; n++)
        length += (size_t)snprintf(plan + length, room - length,
                                   ",{\"id\":\"s%zu\",\"capability\":\"x\",\"input\":{\"$ref\":"
                                   "\"steps.s%zu.result\"}}",
                                   n, n - 1);
    length += (size_t)snprintf(plan + length, room - length, "]}");
    counter count;
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    counter_options(&options.common, &count);
    options.common.limits.steps = 100000;
    moonplan_engine *engine = moonplan_engine_new(&options, NULL);
    moonplan_capability x = capability("x", pass_on, &calls);
    CHECK(moonplan_engine_register(engine, &x, 1, NULL));
    moonplan_error err;
    moonplan_job *job = moonplan_engine_run(engine, plan, length, NULL, &err);
    if (!CHECK(job && moonplan_job_status(job) == MOONPLAN_COMPLETED)) exit(EXIT_FAILURE);
    CHECK(calls == steps && moonplan_job_event_count(job) == 2 * steps + 3);
    moonplan_step last;
    CHECK(moonplan_job_step(job, &last, steps - 1));
    CHECK_TEXT("[7]", moonplan_value_source(last.result));
    moonplan_document *whole = moonplan_job_document_new(job, &err);
    CHECK(whole != NULL);
    moonplan_document_free(whole);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
    free(plan);
    CHECK(count.used == 0);
    printf("# %zu steps: %zu allocations, peak %zu bytes\n", steps, count.calls, count.peak);
    return (cost){count.calls, count.peak};
}

static void a_long_chain_costs_as_much_a_step_as_a_short_one(void) {
    cost shorter = chain(4096), longer = chain(100000);
    double times = 100000.0 / 4096;
    CHECK((double)longer.allocations <= 1.05 * times * (double)shorter.allocations);
    /* Buffers grow by half, so that a peak may be off by that. */
    CHECK((double)longer.peak <= 1.5 * times * (double)shorter.peak);
    CHECK(longer.allocations / 100000 <= 20);
}

int main(void) {
    RUN(every_allocation_may_fail);
    RUN(a_refusal_may_be_short_of_memory);
    RUN(a_long_chain_costs_as_much_a_step_as_a_short_one);
    return check_end();
}
