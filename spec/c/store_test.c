/* Stores: what every one of them has to do, for the one in memory and the one in SQLite alike. */
#include "store.h"

/* -- For every store: going on ----------------------------------------------------*/

static void a_job_that_was_left_goes_on(void) {
    /* In memory a job that nobody holds is gone: only a file remembers. */
    for (int left = 0; left < 3; left++) {
        host h = plain();
        char id[MOONPLAN_ID_SIZE];
        moonplan_error err;
        next_path();
        memset(effects, 0, sizeof effects);
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        moonplan_run_options options = {.caller = MOONPLAN_TEXT("{\"subject\":\"s\"}")};
        moonplan_job *job = submit(engine, chain, &options);
        copy_id(job, id);
        stands(engine, id, "created: pending pending pending");
        if (left > 0) until(job, 1, MOONPLAN_WANT_INPUT);
        if (left > 1) until(job, 1, MOONPLAN_WANT_RESULT);
        /* Ours as long as we have it. */
        CHECK(!moonplan_engine_resume(engine, id, strlen(id), NULL, &err));
        CHECK(err.code == MOONPLAN_STORE_LOCKED);
        moonplan_job_free(job);
        stands(engine, id,
               left == 0   ? "interrupted: pending pending pending"
               : left == 1 ? "interrupted: completed pending pending"
                           : "outcome_unknown: completed outcome_unknown pending");
        engine = again(IN_FILE, engine, &h);
        is_sound(engine);
        trace[0] = 0;
        job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
        if (!CHECK(job != NULL)) printf("# %s\n", err.message);
        if (left < 2) {
            traced(left == 0 ? "call:a call:b call:c" : "call:b call:c");
            CHECK(moonplan_job_status(job) == MOONPLAN_COMPLETED);
            moonplan_document *result = moonplan_job_result_new(job, NULL);
            CHECK_TEXT("[{\"n\":1.0},1.0,[\"\xc3\xa9\"]]",
                       moonplan_value_source(moonplan_document_root(result)));
            moonplan_document_free(result);
            stands(engine, id, "completed: completed completed completed");
        } else {
            traced("");
            CHECK(moonplan_job_status(job) == MOONPLAN_OUTCOME_UNKNOWN);
            moonplan_failure failure;
            CHECK(moonplan_job_error(job, &failure) &&
                  failure.code == MOONPLAN_JOB_OUTCOME_UNKNOWN);
        }
        /* What the handle says and what the store says is the same. */
        moonplan_document *there = moonplan_engine_job_new(engine, id, strlen(id), &err),
                          *here = moonplan_job_document_new(job, &err);
        moonplan_text text = moonplan_value_source(moonplan_document_root(here));
        char *expected = malloc(text.length + 1);
        if (!expected) exit(EXIT_FAILURE);
        memcpy(expected, text.bytes, text.length);
        expected[text.length] = 0;
        CHECK_TEXT(expected, moonplan_value_source(moonplan_document_root(there)));
        CHECK_TEXT("s", moonplan_value_string(moonplan_document_at(there, "/caller_subject", 15)));
        free(expected);
        moonplan_document_free(here);
        moonplan_document_free(there);
        moonplan_job_free(job);
        if (left < 2) {
            CHECK(!moonplan_engine_resume(engine, id, strlen(id), NULL, &err));
            CHECK(err.code == MOONPLAN_JOB_STATE);
        }
        CHECK(!moonplan_engine_resume(engine, "none", 4, NULL, &err));
        CHECK(err.code == MOONPLAN_JOB_NOT_FOUND);
        is_sound(engine);
        moonplan_engine_free(engine);
        for (size_t i = 0; i < 3; i++) CHECK(effects[i] <= 1);
    }
}

static void an_outcome_is_told_by_policy_check_or_person(void) {
    static const struct {
        const char *capability;
        char check; /* 0: it has none */
        bool keep_reads;
        const char *trace, *stands, *events;
    } rows[] = {
        {"read", 0, false, "call:b call:c", "completed: completed completed completed",
         "job.created execution.started capability.started capability.completed capability.started "
         "job.resumed capability.unknown capability.resolved capability.started "
         "capability.completed capability.started capability.completed job.completed"},
        {"read", 0, true, "", "outcome_unknown: completed outcome_unknown pending",
         "job.created execution.started capability.started capability.completed capability.started "
         "job.resumed capability.unknown"},
        {"write", '+', false, "check:b call:c", "completed: completed completed completed",
         "job.created execution.started capability.started capability.completed capability.started "
         "job.resumed capability.unknown capability.resolved capability.completed "
         "capability.started capability.completed job.completed"},
        {"write", '-', false, "check:b call:b call:c", "completed: completed completed completed",
         "job.created execution.started capability.started capability.completed capability.started "
         "job.resumed capability.unknown capability.resolved capability.started "
         "capability.completed capability.started capability.completed job.completed"},
        {"write", '?', false, "check:b", "outcome_unknown: completed outcome_unknown pending",
         "job.created execution.started capability.started capability.completed capability.started "
         "job.resumed capability.unknown"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        host h = plain();
        char id[MOONPLAN_ID_SIZE], says = rows[i].check;
        if (says) h.check = &says;
        h.options.keep_reads = rows[i].keep_reads;
        moonplan_engine *engine = interrupted(rows[i].capability, &h, id);
        moonplan_error err;
        moonplan_job *job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
        if (!CHECK(job != NULL)) printf("# %s\n", err.message);
        traced(rows[i].trace);
        moonplan_job_free(job);
        stands(engine, id, rows[i].stands);
        happened(engine, id, rows[i].events);
        is_sound(engine);
        if (strstr(rows[i].stands, "unknown")) {
            /* Asked again, nothing new happens, and nothing is written. */
            trace[0] = 0;
            job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
            traced(rows[i].trace);
            moonplan_job_free(job);
            happened(engine, id, rows[i].events);
        }
        moonplan_engine_free(engine);
    }
}

static void a_person_says_how_a_step_ended(void) {
    moonplan_error err;
    for (int as = MOONPLAN_RESOLVE_COMPLETED; as <= MOONPLAN_RESOLVE_RETRY; as++) {
        /* At once, and after a resumption that has found out nothing. */
        for (int asked = 0; asked < 2; asked++) {
            host h = plain();
            char id[MOONPLAN_ID_SIZE];
            moonplan_engine *engine = interrupted("typed", &h, id);
            if (asked)
                moonplan_job_free(moonplan_engine_resume(engine, id, strlen(id), NULL, &err));
            CHECK(!resolve(engine, id, "a", (moonplan_resolution)as, NULL, &err));
            CHECK(err.code == MOONPLAN_JOB_STATE);
            CHECK(!resolve(engine, "none", "b", (moonplan_resolution)as, NULL, &err));
            CHECK(err.code == MOONPLAN_JOB_NOT_FOUND);
            if (as == MOONPLAN_RESOLVE_COMPLETED) {
                CHECK(!resolve(engine, id, "b", MOONPLAN_RESOLVE_COMPLETED, "{\"id\":7}", &err));
                CHECK(err.code == MOONPLAN_JOB_OUTPUT_TYPE);
                CHECK(!resolve(engine, id, "b", MOONPLAN_RESOLVE_COMPLETED, "{", &err));
                CHECK(err.code == MOONPLAN_JSON_SYNTAX);
            }
            stands(engine, id, "outcome_unknown: completed outcome_unknown pending");
            static const char *const texts[] = {NULL, "{\"id\":\"x\"}", "it broke", NULL};
            if (!CHECK(resolve(engine, id, "b", (moonplan_resolution)as, texts[as], &err)))
                printf("# %s: %s\n", moonplan_code_name(err.code), err.message);
            traced("");
            is_sound(engine);
            static const char *const after[] = {NULL, "interrupted: completed completed pending",
                                                "failed: completed failed pending",
                                                "interrupted: completed pending pending"};
            stands(engine, id, after[as]);
            CHECK(!resolve(engine, id, "b", (moonplan_resolution)as, texts[as], &err));
            CHECK(err.code == MOONPLAN_JOB_STATE);
            moonplan_job *job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
            if (as == MOONPLAN_RESOLVE_FAILED) {
                CHECK(!job && err.code == MOONPLAN_JOB_STATE);
                moonplan_document *failed = moonplan_engine_job_new(engine, id, strlen(id), NULL);
                CHECK_TEXT("it broke", moonplan_value_string(
                                           moonplan_document_at(failed, "/error/message", 14)));
                moonplan_document_free(failed);
            } else {
                CHECK(job != NULL);
                traced(as == MOONPLAN_RESOLVE_COMPLETED ? "call:c" : "call:b");
                /* `typed` gives back its input, which is not what it declares. */
                CHECK(moonplan_job_status(job) ==
                      (as == MOONPLAN_RESOLVE_COMPLETED ? MOONPLAN_COMPLETED : MOONPLAN_FAILED));
            }
            moonplan_job_free(job);
            is_sound(engine);
            moonplan_engine_free(engine);
        }
    }
}

static void what_is_to_come_is_done_by_what_was_admitted(void) {
    host h = plain(), newer = plain();
    newer.version = "2.0.0";
    char id[MOONPLAN_ID_SIZE];
    moonplan_error err;
    moonplan_engine *engine = interrupted("write", &h, id);
    engine = again(IN_FILE, engine, &newer);
    CHECK(!moonplan_engine_resume(engine, id, strlen(id), NULL, &err));
    CHECK(err.code == MOONPLAN_JOB_CAPABILITY_GONE && strstr(err.message, "1.0.0") &&
          strstr(err.message, "2.0.0"));
    moonplan_engine_unregister(engine, "read", 4);
    moonplan_engine_unregister(engine, "write", 5);
    CHECK(!moonplan_engine_resume(engine, id, strlen(id), NULL, &err));
    CHECK(err.code == MOONPLAN_JOB_CAPABILITY_GONE);
    /* What became of it can be said all the same. */
    CHECK(resolve(engine, id, "b", MOONPLAN_RESOLVE_COMPLETED, NULL, &err));
    engine = again(IN_FILE, engine, &h);
    /* Only what is yet to come has to be there. */
    moonplan_engine_unregister(engine, "write", 5);
    moonplan_job *job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
    if (!CHECK(job && moonplan_job_status(job) == MOONPLAN_COMPLETED))
        printf("# %s\n", err.message);
    traced("call:c");
    moonplan_job_free(job);
    is_sound(engine);
    moonplan_engine_free(engine);
}

/* -- For every store: approvals ----------------------------------------------------*/

static void a_step_waits_for_its_approval(void) {
    for (int at = 0; at < KINDS; at++) {
        host h = strict();
        char id[MOONPLAN_ID_SIZE];
        moonplan_error err;
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        trace[0] = 0;
        moonplan_run_options options = {.caller = MOONPLAN_TEXT("{\"subject\":\"s\"}")};
        moonplan_job *job = moonplan_engine_run(engine, chain, strlen(chain), &options, &err);
        CHECK(job && moonplan_job_status(job) == MOONPLAN_AWAITING_APPROVAL);
        copy_id(job, id);
        moonplan_failure failure;
        CHECK(moonplan_job_error(job, &failure) && failure.code == MOONPLAN_JOB_AWAITING_APPROVAL);
        moonplan_job_free(job);
        traced("");
        stands(engine, id, "awaiting_approval: awaiting_approval pending pending");
        engine = again((where)at, engine, &h);
        /* Nothing new: nothing is written. */
        job = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
        CHECK(job && moonplan_job_status(job) == MOONPLAN_AWAITING_APPROVAL);
        moonplan_job_free(job);
        happened(engine, id, "job.created execution.started approval.requested");
        sound((where)at, engine);
        /* One approval a step: the second step's input is known only now. */
        for (int step = 0; step < 2; step++) {
            moonplan_document *approval =
                sign(moonplan_approval_job_new(engine, id, strlen(id), FAR, &err), approver);
            CHECK_TEXT(step ? "b" : "a",
                       moonplan_value_string(moonplan_document_at(approval, "/step_id", 8)));
            CHECK_TEXT("{\"subject\":\"s\"}",
                       moonplan_value_source(moonplan_document_at(approval, "/caller", 7)));
            moonplan_text given = source(approval);
            moonplan_run_options with = {.approvals = &given, .approval_count = 1};
            trace[0] = 0;
            job = moonplan_engine_resume(engine, id, strlen(id), &with, &err);
            if (!CHECK(job != NULL)) printf("# %s %s\n", moonplan_code_name(err.code), err.message);
            traced(step ? "call:b call:c" : "call:a");
            moonplan_job_free(job);
            if (step == 0) {
                /* It is of no use a second time. */
                job = moonplan_engine_resume(engine, id, strlen(id), &with, &err);
                CHECK(job && moonplan_job_status(job) == MOONPLAN_AWAITING_APPROVAL);
                moonplan_job_free(job);
                traced("");
                job = moonplan_engine_run(engine, chain, strlen(chain), &with, &err);
                CHECK(job && moonplan_job_status(job) == MOONPLAN_AWAITING_APPROVAL);
                moonplan_job_free(job);
                traced("");
            }
            moonplan_document_free(approval);
        }
        stands(engine, id, "completed: completed completed completed");
        happened(engine, id,
                 "job.created execution.started approval.requested job.resumed approval.granted "
                 "capability.started capability.completed approval.requested job.resumed "
                 "approval.granted capability.started capability.completed capability.started "
                 "capability.completed job.completed");
        CHECK(!moonplan_approval_job_new(engine, id, strlen(id), FAR, &err));
        CHECK(err.code == MOONPLAN_JOB_STATE);
        sound((where)at, engine);
        moonplan_engine_free(engine);
    }
}

static void an_approval_is_for_what_it_names(void) {
    /* Each row makes an approval for this plan that lets nothing run, or is refused. */
    static const char plan[] = PLAN(STEP("a", "write", ",\"input\":{\"n\":1,\"m\":[2]}"));
    static const char *const others[] = {
        /* the same input in another layout is the same input */
        PLAN(STEP("a", "write", ",\"input\":{ \"m\":[2.0], \"n\":1 }")),
        PLAN(STEP("a", "write", ",\"input\":{\"n\":1,\"m\":[3]}")),
        PLAN(STEP("b", "write", ",\"input\":{\"n\":1,\"m\":[2]}")),
        PLAN(STEP("a", "typed", ",\"input\":{\"n\":1,\"m\":[2]}")),
        "{\"goal\":\"other\",\"steps\":[" STEP("a", "write",
                                               ",\"input\":{\"n\":1,\"m\":[2]}") "]}"};
    for (int at = 0; at < KINDS; at++) {
        for (size_t i = 0; i < 7; i++) {
            host h = strict();
            moonplan_error err;
            next_path();
            moonplan_engine *engine = engine_of((where)at, &h);
            const char *other = i < 5 ? others[i] : plan;
            moonplan_step_plan *named =
                moonplan_engine_admit_new(engine, other, strlen(other), NULL, &err);
            moonplan_text caller = {NULL, 0};
            if (i == 5) caller = MOONPLAN_TEXT("{\"subject\":\"s\"}");
            /* Without the plan's digest, so that the step's own members decide. */
            moonplan_document *request = moonplan_approval_plan_new(
                engine, named, text_of(i == 2 ? "b" : "a"), caller, FAR, &err);
            moonplan_step_plan_free(named);
            moonplan_document *approval = sign(request, approver);
            moonplan_text given = source(approval);
            moonplan_run_options with = {.approvals = &given, .approval_count = 1};
            trace[0] = 0;
            moonplan_job *job = moonplan_engine_run(engine, plan, strlen(plan), &with, &err);
            /* The digest of a plan is over its values, not over its text. */
            bool runs = i == 0 || i == 6;
            CHECK(job && moonplan_job_status(job) ==
                             (runs ? MOONPLAN_COMPLETED : MOONPLAN_AWAITING_APPROVAL));
            traced(runs ? "call:a" : "");
            moonplan_job_free(job);
            moonplan_document_free(approval);
            moonplan_engine_free(engine);
        }
    }
}

static void an_approval_of_a_plan_is_for_all_its_steps_once(void) {
    for (int at = 0; at < KINDS; at++) {
        host h = strict();
        moonplan_error err;
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_step_plan *plan =
            moonplan_engine_admit_new(engine, chain, strlen(chain), NULL, &err);
        moonplan_text none = {NULL, 0};
        CHECK(!moonplan_approval_plan_new(engine, plan, text_of("b"), none, FAR, &err));
        CHECK(err.code == MOONPLAN_JOB_STATE); /* its input is not known yet */
        moonplan_document *approval =
            sign(moonplan_approval_plan_new(engine, plan, none, none, FAR, &err), approver);
        moonplan_step_plan_free(plan);
        moonplan_text given = source(approval);
        moonplan_run_options with = {.approvals = &given, .approval_count = 1};
        for (int round = 0; round < 2; round++) {
            trace[0] = 0;
            moonplan_job *job = moonplan_engine_run(engine, chain, strlen(chain), &with, &err);
            CHECK(job && moonplan_job_status(job) ==
                             (round ? MOONPLAN_AWAITING_APPROVAL : MOONPLAN_COMPLETED));
            traced(round ? "" : "call:a call:b call:c");
            moonplan_job_free(job);
        }
        moonplan_document_free(approval);
        sound((where)at, engine);
        moonplan_engine_free(engine);
    }
}

static void an_approval_that_two_have_seen_lets_one_run(void) {
    static const char plan[] = PLAN(STEP("a", "write", ""));
    for (int at = 0; at < KINDS; at++) {
        host h = strict();
        moonplan_error err;
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_step_plan *admitted =
            moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err);
        moonplan_text none = {NULL, 0};
        moonplan_document *approval =
            sign(moonplan_approval_plan_new(engine, admitted, none, none, FAR, &err), approver);
        moonplan_step_plan_free(admitted);
        moonplan_text given = source(approval);
        moonplan_run_options with = {.approvals = &given, .approval_count = 1};
        moonplan_job *jobs[] = {submit(engine, plan, &with), submit(engine, plan, &with)};
        for (size_t i = 0; i < 2; i++) CHECK(until(jobs[i], 0, MOONPLAN_WANT_DECISION) != NULL);
        trace[0] = 0;
        CHECK(until(jobs[1], 0, MOONPLAN_WANT_COMMIT) != NULL);
        CHECK(mpl_job_drive(jobs[0], &err));
        const mpl_store *store = mpl_engine_store(engine);
        mpl_change change = mpl_run_change(jobs[1]);
        CHECK(!store->checkpoint(store->data, jobs[1], &change, &err));
        CHECK(err.code == MOONPLAN_APPROVAL_USED);
        /* The other one waits for one of its own. */
        CHECK(mpl_job_drive(jobs[1], &err));
        traced("call:a");
        CHECK(moonplan_job_status(jobs[1]) == MOONPLAN_AWAITING_APPROVAL);
        char id[MOONPLAN_ID_SIZE];
        copy_id(jobs[1], id);
        for (size_t i = 0; i < 2; i++) moonplan_job_free(jobs[i]);
        stands(engine, id, "awaiting_approval: awaiting_approval");
        happened(engine, id, "job.created execution.started approval.requested");
        moonplan_document_free(approval);
        sound((where)at, engine);
        moonplan_engine_free(engine);
    }
}

static void an_approval_of_a_plan_names_the_versions(void) {
    for (int at = 0; at < KINDS; at++) {
        host h = strict();
        moonplan_error err;
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_step_plan *plan =
            moonplan_engine_admit_new(engine, chain, strlen(chain), NULL, &err);
        moonplan_text none = {NULL, 0};
        moonplan_document *approval =
            sign(moonplan_approval_plan_new(engine, plan, none, none, FAR, &err), approver);
        moonplan_step_plan_free(plan);
        CHECK_TEXT(
            "{\"a\":\"1.0.0\",\"b\":\"1.0.0\",\"c\":\"1.0.0\"}",
            moonplan_value_source(moonplan_document_at(approval, "/capability_versions", 20)));
        moonplan_text given = source(approval);
        moonplan_run_options with = {.approvals = &given, .approval_count = 1};
        moonplan_engine_free(engine);
        h.version = "1.0.1";
        engine = engine_of((where)at, &h);
        trace[0] = 0;
        moonplan_job *job = moonplan_engine_run(engine, chain, strlen(chain), &with, &err);
        CHECK(job && moonplan_job_status(job) == MOONPLAN_AWAITING_APPROVAL);
        traced("");
        moonplan_job_free(job);
        moonplan_document_free(approval);
        moonplan_engine_free(engine);
    }
}

static void what_takes_an_approval_stays_with_the_job(void) {
    char id[MOONPLAN_ID_SIZE];
    moonplan_error err;
    host h = strict(), lax = plain();
    lax.options.approvers = h.options.approvers;
    lax.options.approver_count = 1;
    next_path();
    moonplan_engine *engine = engine_of(IN_FILE, &h);
    moonplan_job *job = run(engine, chain);
    copy_id(job, id);
    moonplan_job_free(job);
    /* By the policy that it was made with, which its first record tells of. */
    engine = again(IN_FILE, engine, &lax);
    moonplan_document *stored = moonplan_engine_job_new(engine, id, strlen(id), &err);
    CHECK_TEXT("[\"write\"]",
               moonplan_value_source(moonplan_document_at(stored, "/events/0/data/approvals", 24)));
    moonplan_document_free(stored);
    trace[0] = 0;
    CHECK(resumed(engine, id, NULL) == MOONPLAN_AWAITING_APPROVAL);
    traced("");
    moonplan_document *approval =
        sign(moonplan_approval_job_new(engine, id, strlen(id), FAR, &err), approver);
    moonplan_text given = source(approval);
    moonplan_run_options with = {.approvals = &given, .approval_count = 1};
    CHECK(resumed(engine, id, &with) == MOONPLAN_AWAITING_APPROVAL);
    traced("call:a");
    moonplan_document_free(approval);
    stands(engine, id, "awaiting_approval: completed awaiting_approval pending");
    is_sound(engine);
    /* And because the step has waited for one, whoever wanted it. */
    job = submit(engine, chain, NULL);
    copy_id(job, id);
    moonplan_job_free(job);
    engine = again(IN_FILE, engine, &h);
    CHECK(resumed(engine, id, NULL) == MOONPLAN_AWAITING_APPROVAL);
    engine = again(IN_FILE, engine, &lax);
    trace[0] = 0;
    CHECK(resumed(engine, id, NULL) == MOONPLAN_AWAITING_APPROVAL);
    traced("");
    approval = sign(moonplan_approval_job_new(engine, id, strlen(id), FAR, &err), approver);
    given = source(approval);
    CHECK(resumed(engine, id, &with) == MOONPLAN_COMPLETED);
    traced("call:a call:b call:c");
    moonplan_document_free(approval);
    is_sound(engine);
    moonplan_engine_free(engine);
}

static void a_job_that_waits_again_is_nobodys(void) {
    for (int at = 0; at < KINDS; at++) {
        char id[MOONPLAN_ID_SIZE];
        moonplan_error err;
        host h = strict();
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_job *first = run(engine, chain);
        copy_id(first, id);
        moonplan_job *held = moonplan_engine_resume(engine, id, strlen(id), NULL, &err);
        CHECK(held && moonplan_job_status(held) == MOONPLAN_AWAITING_APPROVAL);
        moonplan_engine *other = at == IN_FILE ? engine_of(IN_FILE, &h) : engine;
        CHECK(resumed(other, id, NULL) == MOONPLAN_AWAITING_APPROVAL);
        /* It has ended at once, and not when the handle goes. */
        CHECK(moonplan_engine_cancel(other, id, strlen(id), &err));
        stands(engine, id, "cancelled: pending pending pending");
        moonplan_job_free(held);
        moonplan_job_free(first);
        stands(engine, id, "cancelled: pending pending pending");
        if (other != engine) moonplan_engine_free(other);
        sound((where)at, engine);
        moonplan_engine_free(engine);
    }
}

/* Replace `from` in a text by `to`. */
static void change(char *text, size_t room, const char *from, const char *to) {
    char *at = strstr(text, from), rest[2000];
    if (!CHECK(at != NULL)) return;
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, room - (size_t)(at - text), "%s%s", to, rest);
}

static void what_is_wrong_with_an_approval_is_said_at_once(void) {
    static const char plan[] = PLAN(STEP("a", "write", ""));
    host h = strict();
    moonplan_error err;
    moonplan_engine *engine = engine_of(IN_MEMORY, &h);
    moonplan_step_plan *admitted =
        moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, &err);
    moonplan_text none = {NULL, 0}, a = MOONPLAN_TEXT("a");
    moonplan_document *good =
        sign(moonplan_approval_plan_new(engine, admitted, a, none, FAR, &err), approver);
    moonplan_document *foreign =
        sign(moonplan_approval_plan_new(engine, admitted, a, none, FAR, &err), stranger);
    moonplan_document *old =
        sign(moonplan_approval_plan_new(engine, admitted, a, none, 1000, &err), approver);
    moonplan_step_plan_free(admitted);
    static const struct {
        moonplan_code code;
        int which;
        const char *from, *to, *at;
    } rows[] = {
        {MOONPLAN_APPROVAL_KEY, 1, NULL, NULL, "/key"},
        {MOONPLAN_APPROVAL_EXPIRED, 2, NULL, NULL, "/expires"},
        {MOONPLAN_APPROVAL_SIGNATURE, 0, "\"step_id\":\"a\"", "\"step_id\":\"b\"", "/signature"},
        {MOONPLAN_APPROVAL_SIGNATURE, 0, "3000-", "3001-", "/signature"},
        {MOONPLAN_APPROVAL_SHAPE, 0, "\"api\":1", "\"api\":2", "/api"},
        {MOONPLAN_APPROVAL_SHAPE, 0, "\"api\":1", "\"api\":1,\"more\":1", "/more"},
        {MOONPLAN_APPROVAL_SHAPE, 0, "\"caller\":null,", "", ""},
        {MOONPLAN_APPROVAL_SHAPE, 0, "\"step_id\":\"a\",", "", ""},
        {MOONPLAN_APPROVAL_SHAPE, 0, "3000-01-01", "3000-02-30", "/expires"},
        {MOONPLAN_APPROVAL_SHAPE, 0, "{", "", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const moonplan_document *from = rows[i].which == 1 ? foreign : rows[i].which ? old : good;
        char text[2000];
        snprintf(text, sizeof text, "%.*s", (int)source(from).length, source(from).bytes);
        if (rows[i].from) change(text, sizeof text, rows[i].from, rows[i].to);
        moonplan_text given = text_of(text);
        moonplan_run_options with = {.approvals = &given, .approval_count = 1};
        CHECK(!moonplan_engine_run(engine, plan, strlen(plan), &with, &err));
        if (!CHECK(err.code == rows[i].code && strcmp(err.at, rows[i].at) == 0))
            printf("# %zu: %s at %s: %s\n", i, moonplan_code_name(err.code), err.at, err.message);
    }
    moonplan_document *jobs = moonplan_engine_jobs_new(engine, NULL, &err);
    CHECK(moonplan_value_count(moonplan_document_root(jobs)) == 0);
    moonplan_document_free(jobs);
    moonplan_document_free(good);
    moonplan_document_free(foreign);
    moonplan_document_free(old);
    moonplan_engine_free(engine);
}

/* -- For every store: the same plan twice -------------------------------------------*/

static void a_key_gives_the_job_that_there_is(void) {
    static const char plan[] =
        "{\"idempotencyKey\":\"k\",\"steps\":[" STEP("a", "write", ",\"input\":[1]") "]}",
                      same[] = "{ \"steps\":[" STEP(
                          "a", "write",
                          ",\"input\":[1.0]") "],"
                                              "\"idempotencyKey\":\"k\", \"metadata\":{} }",
                      other[] = "{\"idempotencyKey\":\"k\",\"steps\":[" STEP("a", "write",
                                                                             ",\"input\":[2]") "]}";
    for (int at = 0; at < KINDS; at++) {
        host h = plain();
        moonplan_error err;
        char id[MOONPLAN_ID_SIZE];
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_run_options once = {.deduplicate = true};
        memset(effects, 0, sizeof effects);
        moonplan_job *job = moonplan_engine_run(engine, plan, strlen(plan), &once, &err);
        copy_id(job, id);
        moonplan_job_free(job);
        engine = again((where)at, engine, &h);
        job = moonplan_engine_run(engine, same, strlen(same), &once, &err);
        if (!CHECK(job != NULL)) printf("# %s\n", err.message);
        CHECK(is_text(moonplan_job_id(job), id));
        CHECK(moonplan_job_status(job) == MOONPLAN_COMPLETED && effects[0] == 1);
        moonplan_job_free(job);
        CHECK(!moonplan_engine_run(engine, other, strlen(other), &once, &err));
        CHECK(err.code == MOONPLAN_STORE_CONFLICT && strstr(err.message, id));
        moonplan_run_options caller = {.deduplicate = true, .caller = MOONPLAN_TEXT("{}")};
        CHECK(!moonplan_engine_run(engine, plan, strlen(plan), &caller, &err));
        CHECK(err.code == MOONPLAN_STORE_CONFLICT && strstr(err.message, "caller"));
        /* It is opt-in. */
        job = moonplan_engine_run(engine, other, strlen(other), NULL, &err);
        CHECK(job && effects[0] == 2);
        moonplan_job_free(job);
        sound((where)at, engine);
        moonplan_engine_free(engine);
    }
}

/* Each row is what is run, one after another: a small letter plainly, a capital one deduplicated;
 * a and b are plans of one key, k is a with a caller, o has another key, n has none. Expected is
 * which job each is given, by its number, or x: refused. */
static void jobs_that_did_not_ask_count_as_well(void) {
    static const struct {
        const char *runs, *jobs;
    } rows[] = {{"aA", "11"},     {"bA", "1x"},   {"aaA", "121"},     {"abAB", "1212"},
                {"baBA", "1212"}, {"abK", "12x"}, {"kK", "11"},       {"aKkK", "1x22"},
                {"aO", "12"},     {"nNA", "123"}, {"AaAbB", "12133"}, {"bKA", "1xx"},
                {"oaoA", "1232"}, {"AaA", "121"}};
    static const char a[] = "{\"idempotencyKey\":\"k\",\"steps\":[" STEP("a", "write", "") "]}",
                      b[] = "{\"idempotencyKey\":\"k\",\"steps\":[" STEP("b", "write", "") "]}",
                      o[] = "{\"idempotencyKey\":\"o\",\"steps\":[" STEP("a", "write", "") "]}",
                      n[] = PLAN(STEP("a", "write", ""));
    for (int at = 0; at < KINDS; at++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (int together = 0; together < 2; together++) {
                host h = plain();
                next_path();
                moonplan_engine *engine = engine_of((where)at, &h);
                size_t count = strlen(rows[i].runs), made_jobs = 0;
                char ids[8][MOONPLAN_ID_SIZE], got[8] = "";
                moonplan_run runs[8];
                moonplan_run_options options[8];
                memset(runs, 0, sizeof runs);
                memset(options, 0, sizeof options);
                for (size_t r = 0; r < count; r++) {
                    char what = rows[i].runs[r];
                    options[r].deduplicate = what < 'a';
                    if (what < 'a') what = (char)(what - 'A' + 'a');
                    if (what == 'k') options[r].caller = MOONPLAN_TEXT("{\"subject\":\"s\"}");
                    runs[r].plan = text_of(what == 'b' ? b : what == 'o' ? o : what == 'n' ? n : a);
                    runs[r].options = &options[r];
                    if (together) continue;
                    runs[r].job =
                        moonplan_engine_run(engine, runs[r].plan.bytes, runs[r].plan.length,
                                            &options[r], &runs[r].error);
                }
                if (together) moonplan_engine_run_many(engine, runs, count);
                for (size_t r = 0; r < count; r++) {
                    size_t known = 0;
                    got[r] = 'x';
                    if (!runs[r].job) {
                        CHECK(runs[r].error.code == MOONPLAN_STORE_CONFLICT);
                        continue;
                    }
                    while (known < made_jobs && !is_text(moonplan_job_id(runs[r].job), ids[known]))
                        known++;
                    if (known == made_jobs) copy_id(runs[r].job, ids[made_jobs++]);
                    got[r] = (char)('1' + known);
                    moonplan_job_free(runs[r].job);
                }
                got[count] = 0;
                if (!CHECK(strcmp(got, rows[i].jobs) == 0))
                    printf("# %s in %d: expected %s, got %s\n", rows[i].runs, at, rows[i].jobs,
                           got);
                CHECK(listed(engine, NULL) == made_jobs);
                sound((where)at, engine);
                moonplan_engine_free(engine);
            }
}

/* In memory a job that waits, and one that its host has not ended, are there as well. */
static void a_job_that_has_not_ended_is_a_twin(void) {
    static const char plan[] = "{\"idempotencyKey\":\"k\",\"steps\":[" STEP("a", "write", "") "]}";
    for (int at = 0; at < KINDS; at++)
        for (int waits = 0; waits < 2; waits++) {
            host h = waits ? strict() : plain();
            moonplan_error err;
            char id[MOONPLAN_ID_SIZE];
            next_path();
            moonplan_engine *engine = engine_of((where)at, &h);
            moonplan_run_options once = {.deduplicate = true};
            moonplan_job *first = submit(engine, plan, NULL);
            copy_id(first, id);
            if (waits) CHECK(mpl_job_drive(first, &err));
            if (waits) moonplan_job_free(first);
            moonplan_job *job = moonplan_engine_run(engine, plan, strlen(plan), &once, &err);
            CHECK(job && is_text(moonplan_job_id(job), id));
            moonplan_job_free(job);
            if (!waits) moonplan_job_free(first);
            moonplan_engine_free(engine);
        }
}

/* -- For every store: cancelling ---------------------------------------------------*/

static void told_to_end(void *data, moonplan_want *want) {
    note("call:", want->step_id);
    moonplan_engine *engine = *(moonplan_engine **)data;
    CHECK(!moonplan_want_cancelled(want));
    moonplan_error err;
    CHECK(moonplan_engine_cancel(engine, want->job_id.bytes, want->job_id.length, &err));
    moonplan_want_complete(want, want->input);
}

static void notices(void *data, moonplan_want *want) {
    (void)data;
    moonplan_job_cancel((moonplan_job *)(uintptr_t)want->job);
    CHECK(moonplan_want_cancelled(want));
    moonplan_failure failure = {.code = MOONPLAN_JOB_CANCELLED,
                                .message = MOONPLAN_TEXT("told to end")};
    moonplan_want_fail_with(want, &failure);
}

static void a_job_is_cancelled_before_its_next_step(void) {
    for (int at = 0; at < KINDS; at++) {
        host h = plain();
        moonplan_error err;
        char id[MOONPLAN_ID_SIZE];
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_capability list[] = {capability("ends", told_to_end, &engine),
                                      capability("notices", notices, NULL)};
        CHECK(moonplan_engine_register(engine, list, 2, NULL));
        trace[0] = 0;
        moonplan_job *job = run(engine, PLAN(STEP("a", "ends", "") "," STEP("b", "write", "")));
        traced("call:a");
        CHECK(moonplan_job_status(job) == MOONPLAN_CANCELLED);
        copy_id(job, id);
        moonplan_job_free(job);
        stands(engine, id, "cancelled: completed pending");
        CHECK(!moonplan_engine_cancel(engine, id, strlen(id), &err));
        CHECK(err.code == MOONPLAN_JOB_STATE);
        CHECK(!moonplan_engine_cancel(engine, "none", 4, &err));
        CHECK(err.code == MOONPLAN_JOB_NOT_FOUND);
        /* One that has been told, and says so. */
        job = run(engine, PLAN(STEP("a", "notices", "") "," STEP("b", "write", "")));
        CHECK(moonplan_job_status(job) == MOONPLAN_CANCELLED);
        copy_id(job, id);
        moonplan_job_free(job);
        stands(engine, id, "cancelled: failed pending");
        sound((where)at, engine);
        moonplan_engine_free(engine);
        /* One that nobody runs. */
        h = strict();
        engine = engine_of((where)at, &h);
        job = run(engine, chain);
        copy_id(job, id);
        moonplan_job_free(job);
        if (!CHECK(moonplan_engine_cancel(engine, id, strlen(id), &err)))
            printf("# %s\n", err.message);
        stands(engine, id, "cancelled: pending pending pending");
        CHECK(!moonplan_engine_resume(engine, id, strlen(id), NULL, &err));
        CHECK(err.code == MOONPLAN_JOB_STATE);
        sound((where)at, engine);
        moonplan_engine_free(engine);
    }
    host h = plain();
    char id[MOONPLAN_ID_SIZE];
    moonplan_engine *engine = interrupted("write", &h, id);
    moonplan_error err;
    CHECK(moonplan_engine_cancel(engine, id, strlen(id), &err));
    stands(engine, id, "cancelled: completed outcome_unknown pending");
    moonplan_document *job = moonplan_engine_job_new(engine, id, strlen(id), &err);
    moonplan_text why = moonplan_value_string(moonplan_document_at(job, "/error/message", 14));
    CHECK(why.bytes && strstr(why.bytes, "unknown"));
    moonplan_document_free(job);
    is_sound(engine);
    moonplan_engine_free(engine);
}

static void what_was_told_to_end_does_not_go_on(void) {
    moonplan_error err;
    char id[MOONPLAN_ID_SIZE];
    /* Told before a step that comes to wait. */
    for (int at = 0; at < KINDS; at++) {
        host h = strict();
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        moonplan_job *job = submit(engine, chain, NULL);
        copy_id(job, id);
        CHECK(until(job, 0, MOONPLAN_WANT_INPUT) != NULL);
        CHECK(moonplan_engine_cancel(engine, id, strlen(id), &err));
        CHECK(mpl_job_drive(job, &err) && moonplan_job_status(job) == MOONPLAN_CANCELLED);
        moonplan_job_free(job);
        stands(engine, id, "cancelled: pending pending pending");
        sound((where)at, engine);
        moonplan_engine_free(engine);
    }
    /* Told, and then its owner has died: rows are what is done with it next. */
    static const struct {
        moonplan_resolution as; /* 0: it is resumed at once */
        const char *stands;
    } rows[] = {{(moonplan_resolution)0, "cancelled: completed outcome_unknown pending"},
                {MOONPLAN_RESOLVE_COMPLETED, "cancelled: completed completed pending"},
                {MOONPLAN_RESOLVE_RETRY, "cancelled: completed pending pending"},
                {MOONPLAN_RESOLVE_FAILED, "failed: completed failed pending"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        host h = plain();
        next_path();
        moonplan_engine *engine = engine_of(IN_FILE, &h);
        moonplan_job *job = submit(
            engine,
            PLAN(STEP("a", "read", "") "," STEP("b", "write", "") "," STEP("c", "write", "")),
            NULL);
        copy_id(job, id);
        CHECK(until(job, 1, MOONPLAN_WANT_RESULT) != NULL);
        CHECK(moonplan_engine_cancel(engine, id, strlen(id), &err));
        moonplan_job_free(job);
        engine = again(IN_FILE, engine, &h);
        trace[0] = 0;
        if (rows[i].as)
            CHECK(resolve(engine, id, "b", rows[i].as, NULL, &err));
        else
            CHECK(resumed(engine, id, NULL) == MOONPLAN_CANCELLED);
        traced("");
        stands(engine, id, rows[i].stands);
        is_sound(engine);
        moonplan_engine_free(engine);
    }
}

/* -- For every store: lists, values by key --------------------------------------------*/

static void jobs_are_found_by_what_they_are(void) {
    static const char *const plans[] = {
        "{\"goal\":\"Alpha one\",\"steps\":[" STEP("a", "read", "") "]}",
        "{\"goal\":\"beta\",\"steps\":[" STEP("a", "read", "") "," STEP("b", "write", "") "]}",
        "{\"goal\":\"alPHA two\",\"steps\":[" STEP("a", "typed", "") "]}"};
    for (int at = 0; at < KINDS; at++) {
        host h = plain();
        int64_t now = 1767322984000; /* 2026-01-02T03:03:04Z */
        h.options.now = ticks;
        h.options.now_data = &now;
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        for (size_t i = 0; i < 3; i++) {
            moonplan_job_free(run(engine, plans[i]));
            now += 60000;
        }
        CHECK(listed(engine, NULL) == 3);
        const struct {
            moonplan_job_filter filter;
            size_t count;
        } rows[] = {{{.status = MOONPLAN_TEXT("completed")}, 2},
                    {{.status = MOONPLAN_TEXT("failed")}, 1},
                    {{.status = MOONPLAN_TEXT("unknown")}, 0},
                    {{.capability = MOONPLAN_TEXT("read")}, 2},
                    {{.capability = MOONPLAN_TEXT("write")}, 1},
                    {{.goal = MOONPLAN_TEXT("alpha")}, 2},
                    {{.goal = MOONPLAN_TEXT("ALPHA"), .status = MOONPLAN_TEXT("failed")}, 1},
                    {{.since = MOONPLAN_TEXT("2026-01-02T03:04")}, 2},
                    {{.since = MOONPLAN_TEXT("2026-01-02")}, 3},
                    {{.since = MOONPLAN_TEXT("2027")}, 0},
                    {{.most = 2}, 2},
                    {{.most = 1, .capability = MOONPLAN_TEXT("read")}, 1}};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (!CHECK(listed(engine, &rows[i].filter) == rows[i].count)) printf("# row %zu\n", i);
        /* The latest ones. */
        moonplan_job_filter last = {.most = 1};
        moonplan_document *jobs = moonplan_engine_jobs_new(engine, &last, NULL);
        CHECK_TEXT("alPHA two", moonplan_value_string(moonplan_document_at(jobs, "/0/goal", 7)));
        moonplan_document_free(jobs);
        moonplan_engine_free(engine);
    }
}

static bool note_key(void *data, moonplan_text key, size_t size) {
    (void)data;
    char length[24];
    note("", key);
    snprintf(length, sizeof length, "%zu", size);
    note("=", text_of(length));
    return size < 9;
}

static void values_by_key_stay_in_their_space(void) {
    for (int at = 0; at < KINDS; at++) {
        host h = plain();
        next_path();
        moonplan_engine *engine = engine_of((where)at, &h);
        const mpl_store *store = mpl_engine_store(engine);
        void *data = store->data;
        moonplan_error err;
        mpl_alloc alloc = mpl_alloc_of(NULL);
        mpl_buffer out;
        mpl_buffer_open(&out, &alloc);
        bool found = true;
        moonplan_text p = MOONPLAN_TEXT("p"), q = MOONPLAN_TEXT("q"), k = MOONPLAN_TEXT("k"),
                      value = {"a\0\xff", 3}, empty = {"", 0}, longer = MOONPLAN_TEXT("123456789");
        CHECK(store->kv_get(data, p, k, &out, &found, &err) && !found);
        CHECK(store->kv_set(data, p, k, NULL, &err)); /* nothing there: nothing happens */
        CHECK(store->kv_set(data, p, MOONPLAN_TEXT("z"), &longer, &err));
        CHECK(store->kv_set(data, p, k, &longer, &err) && store->kv_set(data, p, k, &value, &err));
        CHECK(store->kv_set(data, p, MOONPLAN_TEXT("\xc3\xa9"), &value, &err));
        CHECK(store->kv_set(data, p, MOONPLAN_TEXT(""), &empty, &err));
        CHECK(store->kv_set(data, q, k, &empty, &err));
        CHECK(store->kv_get(data, p, k, &out, &found, &err) && found);
        CHECK(out.length == 3 && memcmp(out.bytes, "a\0\xff", 3) == 0);
        out.length = 0;
        CHECK(store->kv_get(data, q, k, &out, &found, &err) && found && out.length == 0);
        trace[0] = 0;
        CHECK(store->kv_list(data, p, note_key, NULL, &err));
        traced("=0 k =3 z =9"); /* sorted as bytes, until it is told to end */
        CHECK(store->kv_set(data, p, k, NULL, &err));
        CHECK(store->kv_get(data, p, k, &out, &found, &err) && !found);
        CHECK(store->kv_list(data, MOONPLAN_TEXT("none"), note_key, NULL, &err));
        traced("");
        if (at == IN_FILE) {
            engine = again(IN_FILE, engine, &h);
            store = mpl_engine_store(engine);
            CHECK(store->kv_get(store->data, p, MOONPLAN_TEXT("z"), &out, &found, &err) && found);
        }
        mpl_buffer_close(&out);
        moonplan_engine_free(engine);
    }
}

static void digests_are_those_that_anybody_can_compute(void) {
    /* Python 3.11: hashlib.blake2b(TEXT, digest_size=32).hexdigest(), of
     * {"goal":"g","idempotencyKey":"k","steps":[{"capability":"write","id":"a","input":{"a":1,"b":[1e-1,"\xc3\xa9"]}}]}
     * for the plan, [1] for the input, nothing for none. */
    static const char plan[] =
        "{\"goal\":\" g\",\"version\":\"1.0\",\"metadata\":5,\"steps\":[{\"id\":"
        "\"a\",\"extra\":1,\"capability\":\"write\",\"input\":{\"b\":[0.10,"
        "\"\\u00e9\"],\"a\":1.0}}],\"idempotencyKey\":\"k\"}";
    host h = plain();
    moonplan_engine *engine = engine_of(IN_MEMORY, &h);
    moonplan_step_plan *admitted =
        moonplan_engine_admit_new(engine, plan, strlen(plan), NULL, NULL);
    char digest[65];
    CHECK(admitted && moonplan_step_plan_digest(admitted, digest));
    CHECK_TEXT("8cfe59172d358ae1d636059ac5100b9d84ce090180891bd1b0185c06cd310b53", text_of(digest));
    moonplan_step_plan_free(admitted);
    moonplan_engine_free(engine);
    mpl_digest_text(digest, (moonplan_text){NULL, 0});
    CHECK_TEXT("0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8", text_of(digest));
}

int main(void) {
    store_open();
    RUN(a_job_that_was_left_goes_on);
    RUN(an_outcome_is_told_by_policy_check_or_person);
    RUN(a_person_says_how_a_step_ended);
    RUN(what_is_to_come_is_done_by_what_was_admitted);
    RUN(a_step_waits_for_its_approval);
    RUN(an_approval_is_for_what_it_names);
    RUN(an_approval_of_a_plan_is_for_all_its_steps_once);
    RUN(an_approval_that_two_have_seen_lets_one_run);
    RUN(an_approval_of_a_plan_names_the_versions);
    RUN(what_takes_an_approval_stays_with_the_job);
    RUN(a_job_that_waits_again_is_nobodys);
    RUN(what_is_wrong_with_an_approval_is_said_at_once);
    RUN(a_key_gives_the_job_that_there_is);
    RUN(jobs_that_did_not_ask_count_as_well);
    RUN(a_job_that_has_not_ended_is_a_twin);
    RUN(a_job_is_cancelled_before_its_next_step);
    RUN(what_was_told_to_end_does_not_go_on);
    RUN(jobs_are_found_by_what_they_are);
    RUN(values_by_key_stay_in_their_space);
    RUN(digests_are_those_that_anybody_can_compute);
    return store_end();
}
