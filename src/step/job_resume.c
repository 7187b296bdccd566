/* The job's machine, started in the middle: jobs as they were written down, steps whose outcome is
 * unknown, approvals, cancelling; and the evidence that is kept for whoever wants to prove it. */
#include "job_inside.h"

#include "../core/text.h"

static bool make_room(mpl_job *job, size_t room) {
    mpl_event *events = mpl_resize(&job->alloc, job->events, job->event_room * sizeof *events,
                                   room * sizeof *events);
    if (!events) return false;
    job->events = events;
    job->event_room = room;
    return true;
}

/* -- Evidence ----------------------------------------------------------------*/

static bool make_evidence(mpl_job *job) {
    size_t size = mpl_evidence_size(job);
    job->evidence = mpl_allocate(&job->alloc, size);
    if (!job->evidence) return false;
    memset(job->evidence, 0, size);
    mpl_arena_open(&job->evidence->texts, &job->alloc);
    return true;
}

bool mpl_job_keep_evidence(mpl_job *job) {
    /* An approval may be granted for each step, and one may be waited for. */
    if (!make_room(job, job->event_room + job->plan->count + 1) || !make_evidence(job))
        return false;
    moonplan_value caller = {job->plan->document, UINT32_MAX};
    if (job->caller) caller = moonplan_document_root(job->caller);
    return moonplan_step_plan_digest(job->plan, job->evidence->plan) &&
           (!job->caller || mpl_digest_value(job->evidence->caller, caller, &job->alloc));
}

bool mpl_job_keep_policy(mpl_job *job, const moonplan_text *risks, size_t count) {
    mpl_builder builder;
    if (count == 0) return true;
    mpl_build_open_around(&builder, &job->options);
    if (builder.error.code == MOONPLAN_OK) {
        mpl_build_array(&builder);
        for (size_t i = 0; i < count; i++) mpl_build_string(&builder, risks[i]);
        mpl_build_end(&builder);
    }
    job->evidence->policy = mpl_build_finish(&builder, NULL);
    return job->evidence->policy != NULL;
}

moonplan_value mpl_job_policy(const mpl_job *job) {
    if (job->evidence && job->evidence->policy)
        return moonplan_document_root(job->evidence->policy);
    if (!job->past) return (moonplan_value){job->plan->document, UINT32_MAX};
    moonplan_event made;
    mpl_event_read(&made, moonplan_value_element(moonplan_document_root(job->past), 0));
    return made.approvals;
}

static bool keep_text(mpl_evidence *evidence, moonplan_text *out, moonplan_text text) {
    if (!text.bytes || (out->bytes && mpl_text_equal(*out, text))) {
        if (!text.bytes) *out = text;
        return true;
    }
    const char *copy = mpl_arena_copy(&evidence->texts, text.bytes, text.length);
    if (copy) *out = (moonplan_text){copy, text.length};
    return copy != NULL;
}

bool mpl_job_note(mpl_job *job, size_t step, moonplan_text version, moonplan_text risk) {
    mpl_step_evidence *kept = &job->evidence->steps[step];
    return keep_text(job->evidence, &kept->version, version) &&
           keep_text(job->evidence, &kept->risk, risk);
}

/* -- As it was ---------------------------------------------------------------*/

static void drop_kept(const mpl_kept_job *kept, size_t count) {
    for (size_t n = 0; n < count; n++) {
        moonplan_document_free(kept->steps[n].input);
        moonplan_document_free(kept->steps[n].result);
    }
    moonplan_document_free(kept->past);
}

static bool restore_evidence(mpl_job *job, const mpl_kept_job *kept) {
    if (!kept->evidence) return true;
    if (!make_evidence(job)) return false;
    memcpy(job->evidence->plan, kept->plan_digest, MPL_DIGEST_TEXT);
    memcpy(job->evidence->caller, kept->caller_digest, MPL_DIGEST_TEXT);
    for (size_t n = 0; n < job->plan->count; n++) {
        mpl_step_evidence *step = &job->evidence->steps[n];
        *step = kept->evidence[n];
        step->version = step->risk = (moonplan_text){NULL, 0};
        if (!mpl_job_note(job, n, kept->evidence[n].version, kept->evidence[n].risk)) return false;
    }
    return true;
}

static bool restore_failure(mpl_job *job, const mpl_kept_job *kept) {
    if (kept->risk.length) {
        job->risk = mpl_allocate(&job->alloc, kept->risk.length);
        if (!job->risk) return false;
        memcpy(job->risk, kept->risk.bytes, kept->risk.length);
        job->risk_length = job->risk_size = kept->risk.length;
    }
    if (kept->failure.code == MOONPLAN_OK) return true;
    mpl_job_keep_failure(job, &kept->failure);
    job->failure.nameless = kept->nameless;
    return kept->failure.message.length == 0 || job->failure.held != NULL;
}

mpl_job *mpl_job_restore(moonplan_step_plan *plan, const mpl_kept_job *kept,
                         const moonplan_options *options, moonplan_error *err) {
    size_t count = plan->count;
    mpl_job *job = mpl_job_new(plan, kept->caller, kept->id, kept->created, options, err);
    if (!job) {
        drop_kept(kept, count);
        return NULL;
    }
    memcpy(job->steps, kept->steps, count * sizeof *job->steps);
    job->past = kept->past;
    job->past_count = kept->past ? moonplan_value_count(moonplan_document_root(kept->past)) : 0;
    job->status = kept->status;
    job->started = kept->started;
    job->completed = kept->completed;
    job->wants = MPL_WANTS_NOTHING;
    while (job->step < count && job->steps[job->step].status == MOONPLAN_COMPLETED) job->step++;
    if (job->step == count) job->step = count - 1;
    bool room = make_room(job, job->past_count + 1);
    if (room) {
        job->event_count = job->past_count;
        memset(job->events, 0, job->event_room * sizeof *job->events);
    }
    if (!room || !restore_evidence(job, kept) || !restore_failure(job, kept)) {
        mpl_job_free(job);
        mpl_error_memory(err);
        return NULL;
    }
    return job;
}

bool mpl_job_resume(mpl_job *job, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_NOTHING && !mpl_status_ended(job->status));
    /* Resumed, begun, unknown, resolved, a request and the end; three for each step that is to
     * come. */
    if (!make_room(job, job->event_count + 6 + 3 * (job->plan->count - job->step))) return false;
    mpl_job_step *step = &job->steps[job->step];
    job->was = job->status;
    job->was_events = job->event_count;
    mpl_release(&job->alloc, job->failure.held, job->failure.held_size);
    moonplan_document_free(job->failure.detail);
    job->failure = (mpl_failure){.code = MOONPLAN_OK};
    mpl_job_record(job, MPL_JOB_RESUMED, now);
    if (job->status != MOONPLAN_CREATED) job->status = MOONPLAN_EXECUTING;
    if (step->status == MOONPLAN_RUNNING) {
        step->status = MOONPLAN_OUTCOME_UNKNOWN;
        mpl_job_record(job, MPL_CAPABILITY_UNKNOWN, now);
    } else if (step->status == MOONPLAN_AWAITING_APPROVAL) {
        step->status = MOONPLAN_PENDING;
        if (job->evidence) job->evidence->steps[job->step].awaited = true;
    }
    job->wants = MPL_WANTS_INPUT;
    return true;
}

/* -- Waiting -----------------------------------------------------------------*/

/* The job stops until it is resumed. One that waits for the same as before has nothing to tell. */
static void wait_for(mpl_job *job, moonplan_status status, moonplan_code code, moonplan_text why,
                     int64_t now) {
    moonplan_failure failure = {
        .code = code, .message = why, .detail = {job->plan->document, UINT32_MAX}};
    mpl_job_keep_failure(job, &failure);
    mpl_job_drop_resolved(job);
    job->steps[job->step].status = status;
    job->status = status;
    if (job->was == status && job->event_count == job->was_events + 1) {
        job->event_count = job->was_events;
        job->wants = MPL_WANTS_NOTHING;
        return;
    }
    if (status == MOONPLAN_AWAITING_APPROVAL) mpl_job_record(job, MPL_APPROVAL_REQUESTED, now);
    job->wants = MPL_WANTS_COMMIT;
}

void mpl_job_await(mpl_job *job, moonplan_text why, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_DECISION);
    wait_for(job, MOONPLAN_AWAITING_APPROVAL, MOONPLAN_JOB_AWAITING_APPROVAL, why, now);
}

void mpl_job_grant(mpl_job *job, const char *approval, int64_t expires) {
    mpl_job_expect(job->wants == MPL_WANTS_DECISION && job->evidence);
    memcpy(job->evidence->granted, approval, sizeof job->evidence->granted);
    job->evidence->expires = expires;
}

void mpl_job_withdraw(mpl_job *job) {
    mpl_evidence *evidence = job->evidence;
    mpl_job_step *step = &job->steps[job->step];
    mpl_job_expect(job->wants == MPL_WANTS_COMMIT && step->status == MOONPLAN_RUNNING && evidence &&
                   evidence->granted[0]);
    job->event_count -= 2; /* granted and started */
    memcpy(evidence->steps[job->step].approval, evidence->before, sizeof evidence->before);
    evidence->granted[0] = 0;
    step->status = MOONPLAN_PENDING;
    step->started = MOONPLAN_NO_TIME;
    step->digested = false;
    job->wants = MPL_WANTS_DECISION;
}

/* -- Outcomes ----------------------------------------------------------------*/

void mpl_job_resolved_by(mpl_job *job, mpl_by by) {
    job->by = by;
}

void mpl_job_resolved(mpl_job *job, mpl_answered answer, int64_t now) {
    if (job->wants != MPL_WANTS_OUTCOME) return;
    mpl_job_record(job, MPL_CAPABILITY_RESOLVED, now);
    mpl_event *event = &job->events[job->event_count - 1];
    event->outcome = (uint8_t)answer;
    event->by = (uint8_t)job->by;
}

void mpl_job_retry(mpl_job *job, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_OUTCOME);
    mpl_job_step *step = &job->steps[job->step];
    mpl_job_resolved(job, MPL_NOT_DONE, now);
    step->status = MOONPLAN_PENDING;
    step->started = MOONPLAN_NO_TIME;
    step->digested = false;
    mpl_job_drop_resolved(job);
    job->wants = MPL_WANTS_COMMIT;
}

void mpl_outcome_unknown(moonplan_error *err, moonplan_text step_id) {
    mpl_error_set(err, MOONPLAN_JOB_OUTCOME_UNKNOWN, MOONPLAN_NO_OFFSET, NULL,
                  "step %q was begun, and nobody knows how it ended", &step_id);
}

void mpl_job_unknown(mpl_job *job, moonplan_text why, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_OUTCOME);
    moonplan_error err;
    moonplan_text id = mpl_step_text(job->plan, job->plan->steps[job->step].id);
    if (why.bytes)
        mpl_error_set(&err, MOONPLAN_JOB_OUTCOME_UNKNOWN, MOONPLAN_NO_OFFSET, NULL,
                      "step %q was begun, and its check could not tell how it ended: %q", &id,
                      &why);
    else
        mpl_outcome_unknown(&err, id);
    wait_for(job, MOONPLAN_OUTCOME_UNKNOWN, err.code, mpl_text_of(err.message), now);
}

void mpl_job_cancel(mpl_job *job, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_INPUT || job->wants == MPL_WANTS_DECISION);
    moonplan_error err;
    moonplan_text id = mpl_step_text(job->plan, job->plan->steps[job->step].id);
    mpl_job_drop_resolved(job);
    if (job->steps[job->step].status == MOONPLAN_OUTCOME_UNKNOWN)
        mpl_error_set(&err, MOONPLAN_JOB_CANCELLED, MOONPLAN_NO_OFFSET, NULL,
                      "the job was cancelled; how step %q ended is unknown", &id);
    else
        mpl_error_set(&err, MOONPLAN_JOB_CANCELLED, MOONPLAN_NO_OFFSET, NULL,
                      "the job was cancelled before step %q", &id);
    moonplan_failure failure = {.code = err.code,
                                .message = mpl_text_of(err.message),
                                .detail = {job->plan->document, UINT32_MAX}};
    mpl_job_keep_failure(job, &failure);
    mpl_job_end(job, MOONPLAN_CANCELLED, now);
}

/* -- Results that come from elsewhere ------------------------------------------*/

typedef struct first_issue {
    moonplan_error first, rest;
    size_t count;
} first_issue;

static moonplan_error *add_issue(void *data) {
    first_issue *issues = data;
    return issues->count++ == 0 ? &issues->first : &issues->rest;
}

bool mpl_schema_fits(const mpl_schema *output, const moonplan_document *result,
                     moonplan_text capability, moonplan_error *err) {
    static const moonplan_document nothing;
    first_issue issues = {.count = 0};
    moonplan_value none = {&nothing, UINT32_MAX};
    mpl_schema_check(output, result ? moonplan_document_root(result) : none, none,
                     MPL_SCHEMA_OUTPUT, capability, (mpl_issues){add_issue, &issues});
    if (issues.count > 0 && err) *err = issues.first;
    return issues.count == 0;
}
