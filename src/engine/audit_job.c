/* What the records of a job say, one after another, and whether its rows say the same. */
#include <string.h>

#include "../core/text.h"
#include "audit.h"

void mpl_audit_fault(mpl_audit *audit, moonplan_text job_id, int64_t sequence, const char *what,
                     const moonplan_error *message) {
    mpl_builder *out = &audit->out;
    if (audit->first.code == MOONPLAN_OK) audit->first = *message;
    if (audit->single) return;
    if (audit->faults++ >= audit->engine->options.limits.errors) return;
    mpl_build_object(out);
    size_t at = 0, step = 1;
    for (; job_id.bytes && at < job_id.length && step; at += step)
        step = mpl_utf8(job_id.bytes + at, job_id.bytes + job_id.length, NULL);
    if (job_id.bytes && step) {
        mpl_build_name(out, MOONPLAN_TEXT("job_id"));
        mpl_build_string(out, job_id);
    }
    if (sequence) {
        mpl_build_name(out, MOONPLAN_TEXT("sequence"));
        mpl_build_integer(out, sequence);
    }
    mpl_build_name(out, MOONPLAN_TEXT("what"));
    mpl_build_string(out, mpl_text_of(what));
    mpl_build_name(out, MOONPLAN_TEXT("message"));
    mpl_build_string(out, mpl_text_of(message->message));
    mpl_build_end(out);
}

/* -- The job that the records tell of --------------------------------------------*/

typedef struct told_step {
    moonplan_status status;
    int64_t started, completed;
    int64_t sequence; /* of the last record about it; 0: there is none */
    moonplan_text version, risk, input, result, approval, code;
    bool described; /* version, risk and input count */
} told_step;

typedef struct told {
    moonplan_status status;
    int64_t created, started, completed;
    int64_t sequence; /* of the last record */
    moonplan_text goal, plan, caller;
    moonplan_failure failure; /* of a job that has ended without success */
    moonplan_text denied;     /* the risk that was not allowed */
    int64_t granted;          /* approvals */
    told_step *steps;
    const mpl_job *job;
} told;

static void tell_step(told *t, const moonplan_event *event, mpl_event_type type) {
    size_t n = mpl_step_plan_find(t->job->plan, event->step_id);
    if (n == SIZE_MAX) return;
    told_step *step = &t->steps[n];
    step->sequence = t->sequence;
    switch (type) {
    case MPL_CAPABILITY_STARTED:
        step->started = event->time;
        step->status = MOONPLAN_RUNNING;
        step->code = event->digest;
        break;
    case MPL_CAPABILITY_COMPLETED:
        step->status = MOONPLAN_COMPLETED;
        step->completed = event->time;
        step->result = event->result_digest;
        break;
    case MPL_CAPABILITY_DENIED:
        t->denied = event->risk;
        /* fallthrough */
    case MPL_CAPABILITY_FAILED:
        /* Its row tells of the capability that it was to begin with, and no record does. */
        if (step->status == MOONPLAN_PENDING) step->described = false;
        step->status = MOONPLAN_FAILED;
        step->completed = event->time;
        break;
    case MPL_CAPABILITY_UNKNOWN:
        step->status = t->status = MOONPLAN_OUTCOME_UNKNOWN;
        break;
    case MPL_CAPABILITY_RESOLVED:
        t->status = MOONPLAN_EXECUTING;
        if (!mpl_text_is(event->outcome, "retry")) break;
        step->status = MOONPLAN_PENDING;
        step->started = MOONPLAN_NO_TIME;
        step->code = (moonplan_text){NULL, 0};
        break;
    case MPL_APPROVAL_REQUESTED:
        step->status = t->status = MOONPLAN_AWAITING_APPROVAL;
        break;
    case MPL_APPROVAL_GRANTED:
        step->approval = event->approval;
        t->granted++;
        break;
    default:
        break;
    }
    if (type != MPL_CAPABILITY_STARTED && type != MPL_APPROVAL_REQUESTED) return;
    step->described = true;
    step->version = event->version;
    step->risk = event->risk;
    step->input = event->input_digest;
}

static void tell(told *t, const moonplan_event *event) {
    mpl_event_type type = mpl_event_type_of(event->type);
    switch (type) {
    case MPL_JOB_CREATED:
        t->status = MOONPLAN_CREATED;
        t->created = event->time;
        t->goal = event->goal;
        t->plan = event->plan_digest;
        t->caller = event->caller_digest;
        break;
    case MPL_EXECUTION_STARTED:
        t->status = MOONPLAN_EXECUTING;
        t->started = event->time;
        break;
    case MPL_JOB_RESUMED:
        if (t->status != MOONPLAN_CREATED && t->status != MOONPLAN_OUTCOME_UNKNOWN)
            t->status = MOONPLAN_EXECUTING;
        for (size_t n = 0; n < t->job->plan->count; n++)
            if (t->steps[n].status == MOONPLAN_AWAITING_APPROVAL)
                t->steps[n].status = MOONPLAN_PENDING;
        break;
    case MPL_JOB_COMPLETED:
    case MPL_JOB_FAILED:
    case MPL_JOB_CANCELLED:
        t->status = type == MPL_JOB_COMPLETED ? MOONPLAN_COMPLETED
                    : type == MPL_JOB_FAILED  ? MOONPLAN_FAILED
                                              : MOONPLAN_CANCELLED;
        t->completed = event->time;
        t->failure = event->error;
        for (size_t n = 0; n < t->job->plan->count; n++)
            if (t->steps[n].status == MOONPLAN_PENDING) t->steps[n].described = false;
        break;
    default:
        tell_step(t, event, type);
        break;
    }
}

/* -- Comparing -----------------------------------------------------------------*/

static bool same(moonplan_text a, moonplan_text b) {
    return a.bytes && b.bytes ? mpl_text_equal(a, b) : !a.length && !b.length;
}

static bool same_value(mpl_audit *a, moonplan_value one, moonplan_value other, bool *out) {
    char digests[2][MPL_DIGEST_TEXT];
    if (!mpl_digest_value(digests[0], one, &a->alloc) ||
        !mpl_digest_value(digests[1], other, &a->alloc))
        return false;
    *out = strcmp(digests[0], digests[1]) == 0;
    return true;
}

/* What of the step's row is not what was told; NULL: nothing. */
static const char *odd_step(const told *t, size_t n) {
    const mpl_job_step *step = &t->job->steps[n];
    const mpl_step_evidence *evidence = &t->job->evidence->steps[n];
    const told_step *said = &t->steps[n];
    char result[MPL_DIGEST_TEXT] = "";
    /* All that stands in the row, white space around it as well. */
    if (step->result)
        mpl_digest_text(result, (moonplan_text){step->result->text, step->result->text_length});
    if (step->status != said->status) return "status";
    if (!same(mpl_text_of(result), said->result)) return "result";
    if (!same(mpl_text_of(evidence->result), said->result)) return "result's digest";
    if (step->started != said->started || step->completed != said->completed) return "time";
    if (!same(mpl_text_of(evidence->approval), said->approval)) return "approval";
    if (!same(step->digested ? (moonplan_text){step->digest, sizeof step->digest}
                             : (moonplan_text){NULL, 0},
              said->code))
        return "code's digest";
    if (!said->described) {
        bool begun = said->status != MOONPLAN_PENDING || mpl_status_ended(t->status);
        return evidence->input[0] && !begun ? "input's digest" : NULL;
    }
    if (!same(mpl_text_of(evidence->input), said->input)) return "input's digest";
    if (!same(evidence->version, said->version)) return "version";
    return same(evidence->risk, said->risk) ? NULL : "risk";
}

/* What a job that has not failed says is wrong: what it waits for, if it does. */
static bool odd_wait(const told *t) {
    const mpl_failure *kept = &t->job->failure;
    moonplan_code expected = t->status == MOONPLAN_OUTCOME_UNKNOWN ? MOONPLAN_JOB_OUTCOME_UNKNOWN
                             : t->status == MOONPLAN_AWAITING_APPROVAL
                                 ? MOONPLAN_JOB_AWAITING_APPROVAL
                                 : MOONPLAN_OK;
    return kept->code != expected || kept->nameless || kept->detail;
}

/* The same for the job's own row. False when memory is short. */
static bool odd_job(mpl_audit *a, const told *t, const mpl_stored *stored, const char **odd) {
    const mpl_job *job = t->job;
    char plan[MPL_DIGEST_TEXT], caller[MPL_DIGEST_TEXT] = "";
    bool detail = true;
    if (!moonplan_step_plan_digest(job->plan, plan)) return false;
    if (job->caller && !mpl_digest_value(caller, moonplan_document_root(job->caller), &a->alloc))
        return false;
    moonplan_failure failure = mpl_job_failure(job, false);
    bool failed = t->status == MOONPLAN_FAILED || t->status == MOONPLAN_CANCELLED;
    if (failed && failure.detail.document &&
        !same_value(a, failure.detail, t->failure.detail, &detail))
        return false;
    if (!same(mpl_text_of(plan), t->plan) || !same(mpl_text_of(job->evidence->plan), t->plan))
        *odd = "plan";
    else if (!same(mpl_text_of(caller), t->caller) ||
             !same(mpl_text_of(job->evidence->caller), t->caller))
        *odd = "caller";
    else if (job->status != t->status)
        *odd = "status";
    else if (job->created != t->created || job->started != t->started ||
             job->completed != t->completed)
        *odd = "time";
    else if (!same(stored->goal, t->goal))
        *odd = "goal";
    else if (failed
                 ? failure.code != t->failure.code || !same(failure.message, t->failure.message) ||
                       !detail || !failure.detail.document != !t->failure.detail.document
                 : odd_wait(t) || stored->job.nameless)
        *odd = "error";
    else if (!same((moonplan_text){job->risk, job->risk_length},
                   failed && failure.code == MOONPLAN_JOB_DENIED ? t->denied
                                                                 : (moonplan_text){NULL, 0}))
        *odd = "risk that was denied";
    return true;
}

static bool check_uses(mpl_audit *a, const told *t, moonplan_text id, int64_t row,
                       moonplan_error *err) {
    for (size_t n = 0; n < t->job->plan->count; n++) {
        moonplan_text approval = t->steps[n].approval;
        bool there = false;
        if (!approval.bytes) continue;
        if (!a->trail->use(a->store, approval, row, n, &there, err)) return false;
        if (!there)
            MPL_AUDIT_FAULT(a, id, t->steps[n].sequence, "row",
                            "the approval that step %u has run with is not marked as used",
                            (uint64_t)n + 1);
    }
    int64_t uses = 0, odd = 0;
    if (!a->trail->uses(a->store, row, &uses, err) ||
        !a->trail->odd_keys(a->store, row, mpl_step_text(t->job->plan, t->job->plan->key), &odd,
                            err))
        return false;
    if (uses > t->granted)
        MPL_AUDIT_FAULT(a, id, t->sequence, "row",
                        "%u approvals are marked as used by the job, and its records tell of %u",
                        (uint64_t)uses, (uint64_t)t->granted);
    if (odd)
        MPL_AUDIT_FAULT(a, id, t->sequence, "row", "a key that is not its plan's leads to the job");
    return true;
}

/* -- One job -------------------------------------------------------------------*/

/* The chain of a job's own records. */
typedef struct chain {
    mpl_audit *audit;
    int64_t position, sequence;
    char digest[MPL_DIGEST_TEXT];
    int64_t *sequences; /* of the records, by position */
    size_t count;
} chain;

static bool follow(void *data, const mpl_record *record) {
    chain *c = data;
    char digest[MPL_DIGEST_TEXT];
    if (c->audit->single) {
        c->audit->memory = !mpl_record_digest(digest, &c->audit->scratch, record);
        if (c->audit->memory) return false;
        if (!mpl_text_is(record->digest, digest))
            MPL_AUDIT_FAULT(c->audit, record->job_id, record->sequence, "edited",
                            "record %u is not what was written: its digest is another one",
                            (uint64_t)record->sequence);
    }
    if (record->position != c->position + 1)
        MPL_AUDIT_FAULT(c->audit, record->job_id, record->sequence, "missing",
                        "the job's records before record %u are not all there: its place in the "
                        "job is %u, and that of the one before it %u",
                        (uint64_t)record->sequence, (uint64_t)record->position,
                        (uint64_t)c->position);
    else if (!mpl_text_is(record->before_in_job, c->digest))
        MPL_AUDIT_FAULT(c->audit, record->job_id, record->sequence, "edited",
                        "record %u followed another one in its job than the one before it",
                        (uint64_t)record->sequence);
    c->position = record->position;
    c->sequence = record->sequence;
    size_t length = record->digest.length < sizeof c->digest ? record->digest.length : 0;
    memcpy(c->digest, record->digest.bytes, length);
    c->digest[length] = 0;
    if (c->sequences) c->sequences[c->count] = record->sequence;
    c->count++;
    return true;
}

static bool check_rows(mpl_audit *a, moonplan_text id, const mpl_job *job, const mpl_stored *stored,
                       const int64_t *sequences, moonplan_error *err) {
    told t = {.created = MOONPLAN_NO_TIME,
              .started = MOONPLAN_NO_TIME,
              .completed = MOONPLAN_NO_TIME,
              .job = job};
    size_t size = job->plan->count * sizeof *t.steps;
    t.steps = mpl_allocate(&a->alloc, size);
    if (!t.steps) {
        mpl_error_memory(err);
        return false;
    }
    memset(t.steps, 0, size);
    for (size_t n = 0; n < job->plan->count; n++) {
        t.steps[n].status = MOONPLAN_PENDING;
        t.steps[n].started = t.steps[n].completed = MOONPLAN_NO_TIME;
    }
    for (size_t n = 0; n < job->event_count; n++) {
        moonplan_event event;
        mpl_job_event_view(job, &event, n);
        t.sequence = sequences[n];
        if (!mpl_text_equal(event.job_id, id))
            MPL_AUDIT_FAULT(a, id, t.sequence, "edited", "record %u is about the job %q",
                            (uint64_t)t.sequence, &event.job_id);
        tell(&t, &event);
    }
    const char *odd = NULL;
    bool fine = odd_job(a, &t, stored, &odd);
    if (!fine) mpl_error_memory(err);
    if (fine && odd)
        MPL_AUDIT_FAULT(a, id, t.sequence, "row",
                        "the %s in the job's row is not what its records say", odd);
    for (size_t n = 0; fine && n < job->plan->count; n++) {
        moonplan_text step_id = mpl_step_text(job->plan, job->plan->steps[n].id);
        odd = n + 1 == stored->odd_step ? "id or capability" : odd_step(&t, n);
        if (odd)
            MPL_AUDIT_FAULT(a, id, t.steps[n].sequence, "step",
                            "the %s in the row of step %q is not what the job's records say", odd,
                            &step_id);
    }
    fine = fine && check_uses(a, &t, id, stored->row, err);
    mpl_release(&a->alloc, t.steps, size);
    return fine;
}

/* What cannot be read is a fault of that job's, and the others are looked at all the same. */
static bool is_readable(mpl_audit *a, moonplan_text id, const moonplan_error *why,
                        moonplan_error *err) {
    if (why->code == MOONPLAN_STORE_CORRUPT) {
        mpl_audit_fault(a, id, 0, "row", why);
        return true;
    }
    *err = *why;
    return false;
}

static bool check_job(mpl_audit *a, moonplan_text id, moonplan_error *err) {
    mpl_stored stored;
    moonplan_error why;
    bool found = false, fine = false;
    mpl_stored_open(&stored, &a->engine->options);
    if (!a->engine->store.load(a->store, id, &stored, &found, &why)) {
        fine = is_readable(a, id, &why, err);
    } else if (found) {
        size_t count = moonplan_value_count(moonplan_document_root(stored.job.past));
        size_t size = (count + 1) * sizeof(int64_t);
        chain c = {.audit = a, .sequences = mpl_allocate(&a->alloc, size)};
        memcpy(c.digest, mpl_no_digest, sizeof c.digest);
        if (c.sequences)
            memset(c.sequences, 0, size);
        else
            mpl_error_memory(err);
        if (c.sequences && a->trail->records(a->store, id, follow, &c, err)) {
            if (stored.records != (int64_t)c.count || strcmp(stored.head, c.digest) != 0)
                MPL_AUDIT_FAULT(a, id, c.sequence, "row",
                                "the job's row notes another end of its records than they have");
            mpl_job *job = mpl_stored_machine(&stored, &why);
            fine = job ? check_rows(a, id, job, &stored, c.sequences, err)
                       : is_readable(a, id, &why, err);
            mpl_job_free(job);
        }
        mpl_release(&a->alloc, c.sequences, size);
    } else {
        /* What lists the jobs tells of it. One alone, that is not there, is told of elsewhere. */
        if (!a->single) MPL_AUDIT_FAULT(a, id, 0, "row", "the job %q is not found by its id", &id);
        fine = true;
    }
    mpl_stored_close(&stored);
    return fine;
}

bool mpl_audit_one(const moonplan_engine *engine, moonplan_text id, moonplan_error *err) {
    const mpl_trail *trail = engine->store.trail;
    if (!trail) return true;
    mpl_audit a = {.engine = engine,
                   .trail = trail,
                   .store = engine->store.data,
                   .alloc = mpl_alloc_of(&engine->options),
                   .single = true};
    if (!trail->open(a.store, err)) return false;
    mpl_buffer_open(&a.scratch, &a.alloc);
    bool fine = check_job(&a, id, err);
    if (fine && a.memory) mpl_error_memory(err);
    mpl_buffer_close(&a.scratch);
    trail->close(a.store);
    if (!fine || a.memory || a.first.code == MOONPLAN_OK) return fine && !a.memory;
    moonplan_text why = {a.first.message, strlen(a.first.message)};
    mpl_error_set(err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                  "the job %q is not gone on with, for somebody has changed the store: %t", &id,
                  &why);
    return false;
}

/* The ids first: a statement that is being walked is not asked again. */
static bool add_id(void *data, moonplan_text id) {
    mpl_buffer *ids = data;
    size_t length = id.length;
    mpl_buffer_add(ids, &length, sizeof length);
    mpl_buffer_add(ids, id.bytes, id.length);
    return !ids->failed;
}

static bool tell_odd(void *data, moonplan_text line) {
    moonplan_text none = {NULL, 0};
    MPL_AUDIT_FAULT((mpl_audit *)data, none, 0, "file", "the file is not whole: %t", &line);
    return true;
}

bool mpl_audit_jobs(mpl_audit *a, moonplan_error *err) {
    mpl_buffer ids;
    mpl_buffer_open(&ids, &a->alloc);
    bool fine = a->trail->jobs(a->store, add_id, &ids, err);
    if (fine && ids.failed) {
        mpl_error_memory(err);
        fine = false;
    }
    for (size_t at = 0; fine && at < ids.length; a->jobs++) {
        moonplan_text id;
        memcpy(&id.length, ids.bytes + at, sizeof id.length);
        id.bytes = ids.bytes + at + sizeof id.length;
        at += sizeof id.length + id.length;
        fine = check_job(a, id, err);
    }
    fine = fine && a->trail->odd(a->store, tell_odd, a, err);
    mpl_buffer_close(&ids);
    return fine;
}
