/* Approvals on every store: what happens between looking at one and beginning with it, and what a
 * capability says of its risk then and now. */
#include "store.h"

static const char one[] = PLAN(STEP("a", "write", ",\"input\":[1]"));

/* An approval of the step `a`, or of all, that is good until then. */
static moonplan_document *approve(moonplan_engine *engine, const char *plan, const char *step,
                                  int64_t expires) {
    moonplan_error err;
    moonplan_text none = {NULL, 0};
    moonplan_step_plan *admitted =
        moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err);
    if (!CHECK(admitted != NULL)) exit(EXIT_FAILURE);
    moonplan_document *approval =
        sign(moonplan_approval_plan_new(engine, admitted, step ? text_of(step) : none, none,
                                        expires, &err),
             approver);
    moonplan_step_plan_free(admitted);
    return approval;
}

/* -- Time goes on between looking and beginning ------------------------------------*/

static int64_t hands; /* of the clock */

static int64_t clock_now(void *data) {
    (void)data;
    return hands;
}

#define BEGIN 1767322984000 /* 2026-01-02T03:03:04Z */
#define GOOD  1000          /* so long the approval is good */

/* An authorizer that takes its time over what writes. */
static void slow(void *data, moonplan_want *want) {
    moonplan_want_allow(want);
    if (!is_text(want->risk, "write")) return;
    hands += *(int64_t *)data;
    note("asked", (moonplan_text){NULL, 0});
}

typedef enum door { RUN_DOOR, RESUME_DOOR, DRIVE_DOOR, MANY_DOOR, DOORS } door;

/* The job of `one` that comes in by this door, with these approvals. */
static moonplan_job *come_in(moonplan_engine *engine, door by, const moonplan_run_options *with,
                             int64_t takes) {
    moonplan_error err = {.code = MOONPLAN_OK};
    moonplan_job *job = NULL;
    char id[MOONPLAN_ID_SIZE];
    if (by == RUN_DOOR) {
        job = moonplan_engine_run(engine, one, strlen(one), with, &err);
    } else if (by == RESUME_DOOR) {
        moonplan_job *waiting = moonplan_engine_run(engine, one, strlen(one), NULL, &err);
        CHECK(waiting && moonplan_job_status(waiting) == MOONPLAN_AWAITING_APPROVAL);
        copy_id(waiting, id);
        moonplan_job_free(waiting);
        job = moonplan_engine_resume(engine, id, strlen(id), with, &err);
    } else if (by == DRIVE_DOOR) {
        job = submit(engine, one, with);
        moonplan_want *want = until(job, 0, MOONPLAN_WANT_DECISION);
        if (CHECK(want != NULL)) {
            hands += takes;
            note("asked", (moonplan_text){NULL, 0});
            moonplan_want_allow(want);
        }
        CHECK(mpl_job_drive(job, &err));
    } else {
        /* Others are written in the same transaction. */
        static const char read[] = PLAN(STEP("r", "quiet", ""));
        moonplan_run runs[] = {{.plan = text_of(read)},
                               {.plan = text_of(one), .options = with},
                               {.plan = text_of(read)}};
        CHECK(moonplan_engine_run_many(engine, runs, 3) == 3);
        err = runs[1].error;
        job = runs[1].job;
        for (size_t n = 0; n < 3; n += 2) {
            CHECK(runs[n].job && moonplan_job_status(runs[n].job) == MOONPLAN_COMPLETED);
            moonplan_job_free(runs[n].job);
        }
    }
    if (!CHECK(job != NULL)) {
        printf("# %s: %s\n", moonplan_code_name(err.code), err.message);
        exit(EXIT_FAILURE);
    }
    return job;
}

static void no_step_begins_with_an_approval_that_is_over(void) {
    static const struct {
        int64_t takes;
        bool other; /* there is a second one, which is good for longer */
        bool runs;
    } rows[] = {{GOOD - 1, false, true},
                {GOOD, false, false},
                {GOOD + 5, false, false},
                {GOOD, true, true}};
    for (int at = 0; at < KINDS; at++)
        for (int by = 0; by < DOORS; by++)
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                host h = strict();
                int64_t takes = rows[i].takes;
                hands = BEGIN;
                h.options.now = clock_now;
                h.options.authorizer.decide = by == DRIVE_DOOR ? NULL : slow;
                h.options.authorizer.data = &takes;
                next_path();
                moonplan_engine *engine = engine_of((where)at, &h);
                moonplan_capability quiet = capability("quiet", constant, "1");
                CHECK(moonplan_engine_register(engine, &quiet, 1, NULL));
                moonplan_document *brief = approve(engine, one, "a", BEGIN + GOOD),
                                  *longer = approve(engine, one, "a", BEGIN + 100 * GOOD);
                moonplan_text given[] = {source(brief), source(longer)};
                moonplan_run_options with = {.approvals = given,
                                             .approval_count = rows[i].other ? 2 : 1};
                memset(effects, 0, sizeof effects);
                trace[0] = 0;
                moonplan_job *job = come_in(engine, (door)by, &with, takes);
                /* Nobody is asked twice about the same. */
                traced(rows[i].runs ? "asked call:a" : "asked");
                char id[MOONPLAN_ID_SIZE];
                copy_id(job, id);
                moonplan_failure failure;
                if (!CHECK(moonplan_job_status(job) ==
                           (rows[i].runs ? MOONPLAN_COMPLETED : MOONPLAN_AWAITING_APPROVAL)))
                    printf("# kind %d, door %d, row %zu\n", at, by, i);
                if (!rows[i].runs)
                    CHECK(moonplan_job_error(job, &failure) &&
                          strstr(failure.message.bytes, "good until 2026-01-02T03:03:05.000Z"));
                moonplan_job_free(job);
                stands(engine, id,
                       rows[i].runs ? "completed: completed"
                                    : "awaiting_approval: awaiting_approval");
                happened(engine, id,
                         !rows[i].runs ? "job.created execution.started approval.requested"
                         : by == RESUME_DOOR
                             ? "job.created execution.started approval.requested job.resumed "
                               "approval.granted capability.started capability.completed "
                               "job.completed"
                             : "job.created execution.started approval.granted "
                               "capability.started capability.completed job.completed");
                sound((where)at, engine);
                /* It goes on with one that is good, and the other is not spent. */
                if (!rows[i].runs) {
                    hands = BEGIN;
                    takes = 0;
                    with.approval_count = 1;
                    CHECK(resumed(engine, id, &with) == MOONPLAN_COMPLETED && effects[0] == 1);
                    sound((where)at, engine);
                }
                moonplan_document_free(brief);
                moonplan_document_free(longer);
                moonplan_engine_free(engine);
            }
}

/* A store in memory is gone with its engine, and the step that was allowed is yet to begin. */
static void an_engine_that_is_gone_does_not_let_it_begin(void) {
    host h = strict();
    moonplan_error err;
    hands = 1000; /* 1970 */
    h.options.now = clock_now;
    moonplan_engine *engine = engine_of(IN_MEMORY, &h);
    moonplan_document *approval = approve(engine, one, "a", hands + GOOD);
    moonplan_text given = source(approval);
    moonplan_run_options with = {.approvals = &given, .approval_count = 1};
    moonplan_job *job = submit(engine, one, &with);
    CHECK(until(job, 0, MOONPLAN_WANT_COMMIT) != NULL);
    moonplan_engine_free(engine); /* and with it its clock: by the system's that time is over */
    trace[0] = 0;
    CHECK(mpl_job_drive(job, &err));
    traced("");
    CHECK(moonplan_job_status(job) == MOONPLAN_AWAITING_APPROVAL);
    moonplan_job_free(job);
    moonplan_document_free(approval);
}

/* A clock that ends the engine while the store writes. */
static moonplan_engine *ends;
static int64_t ending_clock(void *data) {
    (void)data;
    if (ends && hands++ == 0) {
        moonplan_engine_free(ends);
        ends = NULL;
    }
    return BEGIN;
}

static void a_clock_may_end_the_engine(void) {
    for (int at = 0; at < KINDS; at++) {
        host h = strict();
        next_path();
        ends = NULL;
        h.options.now = ending_clock;
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_document *approval = approve(engine, one, "a", BEGIN + GOOD);
        moonplan_text given = source(approval);
        moonplan_run_options with = {.approvals = &given, .approval_count = 1};
        moonplan_job *job = submit(engine, one, &with);
        CHECK(until(job, 0, MOONPLAN_WANT_COMMIT) != NULL);
        ends = engine;
        hands = 0;
        trace[0] = 0;
        /* What was begun is written, and the step is done. */
        CHECK(moonplan_job_next(job) != NULL && ends == NULL);
        moonplan_job_free(job);
        moonplan_document_free(approval);
        if (at != IN_FILE) continue;
        h.options.now = NULL;
        engine = engine_of(IN_FILE, &h);
        CHECK(listed(engine, &(moonplan_job_filter){.status = MOONPLAN_TEXT("outcome_unknown")}) ==
              1);
        is_sound(engine);
        moonplan_engine_free(engine);
    }
}

/* -- An approval that is there, and a step that does not begin ------------------------*/

typedef enum answer_of { ALLOWS, DENIES, FAILS, RAMBLES } answer_of;

static void decide(void *data, moonplan_want *want) {
    switch (*(answer_of *)data) {
    case ALLOWS:
        moonplan_want_allow(want);
        break;
    case DENIES:
        moonplan_want_deny(want, NULL, 0);
        break;
    case FAILS:
        moonplan_want_fail(want, MOONPLAN_TEXT("no"));
        break;
    case RAMBLES:
        break;
    }
}

static void an_approval_that_is_not_used_is_not_written(void) {
    for (int at = 0; at < KINDS; at++)
        for (int resumes = 0; resumes < 2; resumes++)
            for (answer_of how = DENIES; how <= RAMBLES; how++) {
                host h = strict();
                answer_of answers = how;
                moonplan_error err;
                char id[MOONPLAN_ID_SIZE];
                h.options.authorizer.decide = decide;
                h.options.authorizer.data = &answers;
                next_path();
                moonplan_engine *engine = engine_of((where)at, &h);
                moonplan_document *approval = approve(engine, one, "a", FAR);
                moonplan_text given = source(approval);
                moonplan_run_options with = {.approvals = &given, .approval_count = 1};
                moonplan_job *job =
                    moonplan_engine_run(engine, one, strlen(one), resumes ? NULL : &with, &err);
                copy_id(job, id);
                if (resumes) {
                    moonplan_job_free(job);
                    job = moonplan_engine_resume(engine, id, strlen(id), &with, &err);
                }
                CHECK(job && moonplan_job_status(job) == MOONPLAN_FAILED);
                moonplan_job_free(job);
                stands(engine, id, "failed: failed");
                sound((where)at, engine);
                /* And it is good for another job. */
                answers = ALLOWS;
                trace[0] = 0;
                job = moonplan_engine_run(engine, one, strlen(one), &with, &err);
                CHECK(job && moonplan_job_status(job) == MOONPLAN_COMPLETED);
                traced("call:a");
                moonplan_job_free(job);
                sound((where)at, engine);
                moonplan_document_free(approval);
                moonplan_engine_free(engine);
            }
}

static void what_a_step_was_begun_with_before_stays(void) {
    /* Begun with one approval and interrupted; then there is another one, and it comes to nothing:
     * rows are how. */
    for (int late = 0; late < 2; late++) {
        host h = strict();
        answer_of answers = ALLOWS;
        moonplan_error err;
        char id[MOONPLAN_ID_SIZE];
        hands = BEGIN;
        h.options.now = clock_now;
        h.options.authorizer.decide = decide;
        h.options.authorizer.data = &answers;
        next_path();
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        moonplan_document *first = approve(engine, one, "a", FAR),
                          *second = approve(engine, one, "a", BEGIN + GOOD);
        moonplan_text given = source(first);
        moonplan_run_options with = {.approvals = &given, .approval_count = 1};
        moonplan_job *job = submit(engine, one, &with);
        copy_id(job, id);
        CHECK(until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
        moonplan_job_free(job);
        CHECK(resolve(engine, id, "a", MOONPLAN_RESOLVE_RETRY, NULL, &err));
        is_sound(engine);
        given = source(second);
        trace[0] = 0;
        if (late) {
            int64_t takes = GOOD;
            h.options.authorizer.decide = slow;
            h.options.authorizer.data = &takes;
            engine = again(IN_FILE, engine, &h);
            CHECK(resumed(engine, id, &with) == MOONPLAN_AWAITING_APPROVAL);
            traced("asked");
        } else {
            answers = DENIES;
            CHECK(resumed(engine, id, &with) == MOONPLAN_FAILED);
            traced("");
        }
        is_sound(engine);
        moonplan_document_free(first);
        moonplan_document_free(second);
        moonplan_engine_free(engine);
    }
}

/* -- A capability that says another risk under the same version ----------------------*/

static void register_as(moonplan_engine *engine, const char *risk, char *says) {
    moonplan_capability list[] = {capability("x", act, NULL)};
    list[0].version = MOONPLAN_TEXT("1.0.0");
    list[0].risk = text_of(risk);
    if (says) {
        list[0].check = check_act;
        list[0].data = says;
    }
    CHECK(moonplan_engine_register(engine, list, 1, NULL));
}

static void the_risk_of_either_time_takes_an_approval(void) {
    static const char plan[] = PLAN(STEP("r", "read", "") "," STEP("w", "x", ",\"input\":[1]"));
    static const struct {
        const char *then, *now;
        bool policy_then, policy_now, waits;
    } rows[] = {{"write", "read", true, false, true},   {"write", "read", false, true, true},
                {"read", "write", true, false, true},   {"read", "write", false, true, true},
                {"write", "write", true, false, true},  {"read", "read", true, true, false},
                {"write", "read", false, false, false}, {"destructive", "read", true, true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char id[MOONPLAN_ID_SIZE];
        moonplan_error err;
        host asks = strict(), lax = plain();
        lax.options.approvers = asks.options.approvers;
        lax.options.approver_count = 1;
        next_path();
        moonplan_engine *engine = engine_of(IN_FILE, rows[i].policy_then ? &asks : &lax);
        register_as(engine, rows[i].then, NULL);
        moonplan_job *job = submit(engine, plan, NULL);
        copy_id(job, id);
        CHECK(until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
        moonplan_job_free(job);
        moonplan_engine_free(engine);
        engine = engine_of(IN_FILE, rows[i].policy_now ? &asks : &lax);
        register_as(engine, rows[i].now, NULL);
        trace[0] = 0;
        if (!CHECK(resumed(engine, id, NULL) ==
                   (rows[i].waits ? MOONPLAN_AWAITING_APPROVAL : MOONPLAN_COMPLETED)))
            printf("# row %zu\n", i);
        traced(rows[i].waits ? "call:r" : "call:r call:w");
        is_sound(engine);
        if (i == 0) {
            moonplan_document *stored = moonplan_engine_job_new(engine, id, strlen(id), &err);
            CHECK_TEXT("step \"w\" calls \"x\" (write when the job was made, read now), which "
                       "takes an approval",
                       moonplan_value_string(moonplan_document_at(stored, "/error/message", 14)));
            moonplan_document_free(stored);
        }
        if (rows[i].waits) {
            /* Waiting for it once is reason enough, and an approval lets it run. */
            CHECK(resumed(engine, id, NULL) == MOONPLAN_AWAITING_APPROVAL);
            moonplan_document *approval =
                sign(moonplan_approval_job_new(engine, id, strlen(id), FAR, &err), approver);
            moonplan_text given = source(approval);
            moonplan_run_options with = {.approvals = &given, .approval_count = 1};
            trace[0] = 0;
            CHECK(resumed(engine, id, &with) == MOONPLAN_COMPLETED);
            traced("call:w");
            moonplan_document_free(approval);
            is_sound(engine);
        }
        moonplan_engine_free(engine);
    }
}

/* A step that was begun when its capability wrote is not one that only reads because it says so
 * now. */
static void what_wrote_when_it_was_begun_is_not_begun_again(void) {
    static const char plan[] = PLAN(STEP("w", "x", ",\"input\":[1]"));
    static const struct {
        const char *then, *now;
        char check; /* 0: there is none */
        moonplan_status status;
        const char *trace;
    } rows[] = {{"write", "read", 0, MOONPLAN_OUTCOME_UNKNOWN, ""},
                {"read", "write", 0, MOONPLAN_OUTCOME_UNKNOWN, ""},
                {"read", "read", 0, MOONPLAN_COMPLETED, "call:w"},
                {"write", "read", '?', MOONPLAN_OUTCOME_UNKNOWN, "check:w"},
                /* It is to be done again, and takes an approval as it did. */
                {"write", "read", '-', MOONPLAN_AWAITING_APPROVAL, "check:w"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char id[MOONPLAN_ID_SIZE], answer = rows[i].check;
        host lax = plain(), asks = strict();
        next_path();
        moonplan_engine *engine = engine_of(IN_FILE, &lax);
        register_as(engine, rows[i].then, NULL);
        moonplan_job *job = submit(engine, plan, NULL);
        copy_id(job, id);
        CHECK(until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
        moonplan_job_free(job);
        moonplan_engine_free(engine);
        engine = engine_of(IN_FILE, &asks);
        register_as(engine, rows[i].now, answer ? &answer : NULL);
        trace[0] = 0;
        if (!CHECK(resumed(engine, id, NULL) == rows[i].status)) printf("# row %zu\n", i);
        traced(rows[i].trace);
        is_sound(engine);
        moonplan_engine_free(engine);
    }
}

/* What is done to the job of one step, letter by letter; after each the trail says what the rows
 * do. r, w: the capability is there anew, and says that it reads, or writes; b: it begins, and its
 * host goes away; y: it is to be done again, n: it went wrong, says a person; a, d, f: resumed,
 * with an approval where it waits for one, and the authorizer allows, denies or fails; p: resumed
 * where both take an approval, without; c: cancelled. */
static void whatever_happens_the_trail_agrees(void) {
    static const char plan[] = PLAN(STEP("w", "x", ",\"input\":{\"n\":1}"));
    static const char *const rows[] = {"wbyrd", "wbyrf", "wbyrc", "wbyra",  "wbyrpc", "wbyrpwd",
                                       "rbywd", "rpwd",  "wprd",  "wpra",   "rpwc",   "rpwf",
                                       "wbryd", "wbrn",  "rpwa",  "wbyrpwa"};
    static const moonplan_text risks[] = {{"read", 4}, {"write", 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char id[MOONPLAN_ID_SIZE] = "";
        moonplan_error err;
        const char *risk = "read";
        next_path();
        for (const char *at = rows[i]; *at; at++) {
            host h = strict();
            answer_of answers = *at == 'd' ? DENIES : *at == 'f' ? FAILS : ALLOWS;
            h.options.authorizer.decide = decide;
            h.options.authorizer.data = &answers;
            h.options.keep_reads = true;
            h.options.require_approval = risks;
            h.options.require_approval_count = *at == 'p' ? 2 : 0;
            moonplan_engine *engine = engine_of(IN_FILE, &h);
            if (*at == 'r' || *at == 'w') risk = *at == 'r' ? "read" : "write";
            register_as(engine, risk, NULL);
            moonplan_job *job = NULL;
            if (!id[0]) {
                job = submit(engine, plan, NULL);
                copy_id(job, id);
            }
            if (*at == 'b') {
                if (!job) job = moonplan_engine_resume_new(engine, id, strlen(id), NULL, &err);
                CHECK(job && until(job, 0, MOONPLAN_WANT_RESULT) != NULL);
            }
            moonplan_job_free(job);
            if (*at == 'y' || *at == 'n')
                CHECK(resolve(engine, id, "w",
                              *at == 'y' ? MOONPLAN_RESOLVE_RETRY : MOONPLAN_RESOLVE_FAILED, NULL,
                              &err));
            if (*at == 'c') CHECK(moonplan_engine_cancel(engine, id, strlen(id), &err));
            if (strchr("adfp", *at)) {
                moonplan_document *request = NULL, *approval = NULL;
                if (*at != 'p')
                    request = moonplan_approval_job_new(engine, id, strlen(id), FAR, &err);
                if (request) approval = sign(request, approver);
                moonplan_text given = approval ? source(approval) : (moonplan_text){NULL, 0};
                moonplan_run_options with = {.approvals = &given, .approval_count = !!approval};
                moonplan_status expected = *at == 'p'   ? MOONPLAN_AWAITING_APPROVAL
                                           : *at == 'a' ? MOONPLAN_COMPLETED
                                                        : MOONPLAN_FAILED;
                if (!CHECK(resumed(engine, id, &with) == expected))
                    printf("# %s at %c\n", rows[i], *at);
                moonplan_document_free(approval);
            }
            size_t failures = check_failures();
            is_sound(engine);
            if (check_failures() != failures) printf("# %s at %c\n", rows[i], *at);
            moonplan_engine_free(engine);
        }
    }
}

int main(void) {
    store_open();
    RUN(no_step_begins_with_an_approval_that_is_over);
    RUN(an_engine_that_is_gone_does_not_let_it_begin);
    RUN(a_clock_may_end_the_engine);
    RUN(an_approval_that_is_not_used_is_not_written);
    RUN(what_a_step_was_begun_with_before_stays);
    RUN(the_risk_of_either_time_takes_an_approval);
    RUN(what_wrote_when_it_was_begun_is_not_begun_again);
    RUN(whatever_happens_the_trail_agrees);
    return store_end();
}
