#include "job_inside.h"

#include <string.h>

#include "../core/buffer.h"
#include "../core/listing.h"
#include "../core/text.h"

/* -- Making and ending -------------------------------------------------------*/

mpl_job *mpl_job_new(moonplan_step_plan *plan, moonplan_document *caller, const char *id,
                     int64_t now, const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_job *job = mpl_allocate(&alloc, sizeof *job);
    if (!job) {
        moonplan_step_plan_free(plan);
        moonplan_document_free(caller);
        mpl_error_memory(err);
        return NULL;
    }
    *job = (mpl_job){.alloc = alloc,
                     .options = *options,
                     .plan = plan,
                     .caller = caller,
                     .status = MOONPLAN_CREATED,
                     .created = now,
                     .started = MOONPLAN_NO_TIME,
                     .completed = MOONPLAN_NO_TIME,
                     .wants = MPL_WANTS_INPUT};
    job->options.errors = NULL;
    job->options.borrow = false;
    size_t length = strlen(id);
    mpl_job_expect(length < sizeof job->id);
    memcpy(job->id, id, length + 1);
    job->resolved.value = (moonplan_value){plan->document, UINT32_MAX};
    /* Created, started, two a step, and the end. */
    job->event_room = 2 * plan->count + 3;
    job->steps = mpl_allocate(&job->alloc, plan->count * sizeof *job->steps);
    job->events = mpl_allocate(&job->alloc, job->event_room * sizeof *job->events);
    for (size_t n = 0; job->steps && n < plan->count; n++)
        job->steps[n] = (mpl_job_step){
            .status = MOONPLAN_PENDING, .started = MOONPLAN_NO_TIME, .completed = MOONPLAN_NO_TIME};
    if (!job->steps || !job->events) {
        mpl_job_free(job);
        mpl_error_memory(err);
        return NULL;
    }
    job->events[job->event_count++] = (mpl_event){.time = now, .type = MPL_JOB_CREATED};
    return job;
}

void mpl_job_drop_resolved(mpl_job *job) {
    moonplan_document_free(job->resolved.own);
    job->resolved.own = NULL;
    job->resolved.value = (moonplan_value){job->plan->document, UINT32_MAX};
    job->capability = NULL;
}

void mpl_job_free(mpl_job *job) {
    if (!job) return;
    mpl_alloc alloc = job->alloc;
    mpl_job_drop_resolved(job);
    for (size_t n = 0; job->steps && n < job->plan->count; n++) {
        moonplan_document_free(job->steps[n].input);
        moonplan_document_free(job->steps[n].result);
    }
    mpl_release(&alloc, job->steps, job->plan->count * sizeof *job->steps);
    mpl_release(&alloc, job->events, job->event_room * sizeof *job->events);
    mpl_release(&alloc, job->failure.held, job->failure.held_size);
    moonplan_document_free(job->failure.detail);
    mpl_release(&alloc, job->risk, job->risk_size);
    if (job->evidence) {
        mpl_arena_close(&job->evidence->texts);
        moonplan_document_free(job->evidence->policy);
        mpl_release(&alloc, job->evidence, mpl_evidence_size(job));
    }
    moonplan_document_free(job->past);
    moonplan_document_free(job->caller);
    moonplan_step_plan_free(job->plan);
    mpl_release(&alloc, job, sizeof *job);
}

/* -- Recording ---------------------------------------------------------------*/

void mpl_job_record(mpl_job *job, mpl_event_type type, int64_t now) {
    mpl_job_expect(job->event_count < job->event_room);
    job->events[job->event_count++] =
        (mpl_event){.time = now, .step = (uint32_t)job->step, .type = (uint8_t)type};
}

/* The answer to the first question is when execution starts. */
static void begin(mpl_job *job, int64_t now) {
    if (job->status != MOONPLAN_CREATED) return;
    job->status = MOONPLAN_EXECUTING;
    job->started = now;
    mpl_job_record(job, MPL_EXECUTION_STARTED, now);
}

void mpl_job_end(mpl_job *job, moonplan_status status, int64_t now) {
    job->status = status;
    job->completed = now;
    mpl_job_record(job,
                   status == MOONPLAN_COMPLETED ? MPL_JOB_COMPLETED
                   : status == MOONPLAN_FAILED  ? MPL_JOB_FAILED
                                                : MPL_JOB_CANCELLED,
                   now);
    job->wants = MPL_WANTS_COMMIT;
}

/* Keep `text` as the failure's message, with bytes that are not UTF-8 spelled out; false when
 * memory is short. */
static bool keep_message(mpl_job *job, moonplan_text text) {
    static const char digits[] = "0123456789abcdef";
    const char *at = text.bytes, *stop = text.bytes + text.length;
    size_t length = 0, step;
    while (at < stop) {
        step = mpl_utf8(at, stop, NULL);
        length += step ? step : 4;
        at += step ? step : 1;
    }
    char *out = mpl_allocate(&job->alloc, length + 1);
    if (!out) return false;
    job->failure.held = out;
    job->failure.held_size = length + 1;
    for (at = text.bytes; at < stop;) {
        step = mpl_utf8(at, stop, NULL);
        if (step) {
            memcpy(out, at, step);
            out += step;
            at += step;
            continue;
        }
        unsigned char byte = (unsigned char)*at++;
        memcpy(out, "\\x", 2);
        out[2] = digits[byte >> 4];
        out[3] = digits[byte & 15];
        out += 4;
    }
    *out = 0;
    job->failure.message = (moonplan_text){job->failure.held, length};
    return true;
}

#define DETAIL_DEPTH 1000

moonplan_document *mpl_detail_keep(moonplan_value detail, const moonplan_options *options) {
    if (!detail.document || moonplan_value_type(detail) == MOONPLAN_NONE) return NULL;
    moonplan_error why;
    mpl_builder builder;
    mpl_build_open(&builder, options);
    /* It stands in events, which have to be read again within the ceiling of the limit. */
    if (builder.max_depth > DETAIL_DEPTH) builder.max_depth = DETAIL_DEPTH;
    if (builder.error.code == MOONPLAN_OK) mpl_build_value(&builder, detail);
    moonplan_document *kept = mpl_build_finish(&builder, &why);
    if (kept && kept->text_length > options->limits.result_bytes) {
        mpl_error_set(&why, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "it has %u bytes, more than the limit result_bytes allows: %u",
                      (uint64_t)kept->text_length, options->limits.result_bytes);
        moonplan_document_free(kept);
        kept = NULL;
    }
    if (kept) return kept;
    char text[600];
    size_t length = 0;
    static const char begins[] = "the detail was not kept: ";
    memcpy(text, begins, sizeof begins - 1);
    length = sizeof begins - 1;
    memcpy(text + length, why.message, strlen(why.message));
    length += strlen(why.message);
    mpl_build_open(&builder, options);
    if (builder.error.code == MOONPLAN_OK)
        mpl_build_string(&builder, (moonplan_text){text, length});
    return mpl_build_finish(&builder, NULL);
}

static const char out_of_memory[] = "out of memory";

void mpl_job_keep_failure(mpl_job *job, const moonplan_failure *given) {
    mpl_failure *failure = &job->failure;
    moonplan_text text = given->message;
    uint64_t most = job->options.limits.result_bytes;
    *failure = (mpl_failure){.code = given->code, .nameless = !text.bytes};
    failure->detail = mpl_detail_keep(given->detail, &job->options);
    if (failure->nameless) {
        failure->message = mpl_text_of("Unknown capability execution error");
        return;
    }
    moonplan_error over;
    if (text.length > most) {
        mpl_error_set(&over, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "the failure's message has %u bytes, more than the limit result_bytes "
                      "allows: %u",
                      (uint64_t)text.length, most);
        text = mpl_text_of(over.message);
    }
    if (!keep_message(job, text)) failure->message = mpl_text_of(out_of_memory);
}

/* The step and with it the job end here. */
void mpl_job_fail_step(mpl_job *job, const moonplan_failure *failure, mpl_event_type event,
                       int64_t now) {
    mpl_job_step *step = &job->steps[job->step];
    mpl_job_keep_failure(job, failure);
    mpl_job_drop_resolved(job);
    step->status = MOONPLAN_FAILED;
    step->completed = now;
    mpl_job_record(job, event, now);
    mpl_job_end(job, failure->code == MOONPLAN_JOB_CANCELLED ? MOONPLAN_CANCELLED : MOONPLAN_FAILED,
                now);
}

static void fail_with_error(mpl_job *job, const moonplan_error *err, int64_t now) {
    moonplan_failure failure = {.code = err->code, .message = mpl_text_of(err->message)};
    mpl_job_fail_step(job, &failure, MPL_CAPABILITY_FAILED, now);
}

static void fail_memory(mpl_job *job, int64_t now) {
    moonplan_error err;
    mpl_error_memory(&err);
    fail_with_error(job, &err, now);
}

/* -- Several faults, one text ------------------------------------------------*/

typedef struct joined {
    mpl_buffer text;
    moonplan_error last; /* not yet in the text */
    moonplan_code code;  /* of the first */
    uint64_t count, most;
} joined;

static void join(joined *faults) {
    if (faults->count == 0 || faults->count > faults->most) return;
    if (faults->count > 1) mpl_buffer_add(&faults->text, "; ", 2);
    if (faults->count == 1) faults->code = faults->last.code;
    mpl_buffer_add(&faults->text, faults->last.message, strlen(faults->last.message));
}

static moonplan_error *add_joined(void *data) {
    joined *faults = data;
    join(faults);
    return ++faults->count > faults->most ? NULL : &faults->last;
}

static void join_open(joined *faults, mpl_job *job) {
    memset(faults, 0, sizeof *faults);
    mpl_buffer_open(&faults->text, &job->alloc);
    faults->most = job->options.limits.errors;
}

/* False, with the step failed, if there were any. */
static bool join_close(joined *faults, mpl_job *job, int64_t now) {
    if (faults->count == 0) return true;
    join(faults);
    if (faults->count > faults->most) {
        mpl_error_set(&faults->last, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "; %u more faults are not listed; the limit errors is %u",
                      faults->count - faults->most, faults->most);
        mpl_buffer_add(&faults->text, faults->last.message, strlen(faults->last.message));
    }
    if (faults->text.failed) {
        fail_memory(job, now);
    } else {
        moonplan_failure failure = {.code = faults->code,
                                    .message = {faults->text.bytes, faults->text.length}};
        mpl_job_fail_step(job, &failure, MPL_CAPABILITY_FAILED, now);
    }
    mpl_buffer_close(&faults->text);
    return false;
}

/* -- INPUT -------------------------------------------------------------------*/

static bool find_result(void *data, moonplan_text id, moonplan_value *result) {
    const mpl_job *job = data;
    size_t n = mpl_step_plan_find(job->plan, id);
    if (n >= job->step || job->steps[n].status != MOONPLAN_COMPLETED) return false;
    *result = mpl_job_step_result(job, n);
    return true;
}

/* Kept from here on, so that a denial needs no memory. */
static bool keep_risk(mpl_job *job, moonplan_text risk) {
    if (risk.length > job->risk_size) {
        char *moved = mpl_resize(&job->alloc, job->risk, job->risk_size, risk.length);
        if (!moved) return false;
        job->risk = moved;
        job->risk_size = risk.length;
    }
    if (risk.length) memcpy(job->risk, risk.bytes, risk.length);
    job->risk_length = risk.length;
    return true;
}

static bool check_input(mpl_job *job, int64_t now) {
    const mpl_capability *capability = job->capability;
    moonplan_value none = {job->plan->document, UINT32_MAX};
    moonplan_value input = job->resolved.value;
    joined faults;
    join_open(&faults, job);
    mpl_schema_check(capability->input, input, none, MPL_SCHEMA_JOB, capability->name,
                     (mpl_issues){add_joined, &faults});
    if (capability->lua_values) {
        moonplan_value number;
        uint32_t next = 0;
        while (mpl_unfit_next(&number, input, &next)) {
            moonplan_error *place = add_joined(&faults);
            if (!place) continue;
            mpl_listing literal = {.length = 0};
            mpl_listing_literal(&literal, moonplan_value_source(number));
            moonplan_text shown = mpl_listing_text(&literal);
            mpl_error_at(place, MOONPLAN_JOB_INPUT_NUMBER, number,
                         "no Lua number is %t, and %q is written in Lua", &shown,
                         &capability->name);
        }
    }
    return join_close(&faults, job, now);
}

/* A step whose outcome is unknown has not failed because nobody can be asked about it now: the job
 * stops as it is. */
static void fail_input(mpl_job *job, const moonplan_error *err, int64_t now) {
    if (job->steps[job->step].status != MOONPLAN_OUTCOME_UNKNOWN) {
        fail_with_error(job, err, now);
        return;
    }
    mpl_job_drop_resolved(job);
    job->stopped = *err;
    job->wants = MPL_WANTS_NOTHING;
}

static void fail_input_memory(mpl_job *job, int64_t now) {
    moonplan_error err;
    mpl_error_memory(&err);
    fail_input(job, &err, now);
}

static bool keep_evidence(mpl_job *job) {
    const mpl_capability *capability = job->capability;
    mpl_evidence *evidence = job->evidence;
    /* One that is to be done again comes here twice. */
    if (evidence->looked_up <= job->step) evidence->risk = evidence->steps[job->step].risk;
    evidence->looked_up = job->step + 1;
    /* What a step was begun with stays, until it begins again. */
    bool begun = job->steps[job->step].status == MOONPLAN_OUTCOME_UNKNOWN;
    return (begun || mpl_job_note(job, job->step, capability->version, capability->risk)) &&
           mpl_digest_value(job->evidence->steps[job->step].input, job->resolved.value,
                            &job->alloc);
}

void mpl_job_input(mpl_job *job, const mpl_capability *capability, bool read,
                   moonplan_document *late, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_INPUT);
    mpl_job_step *step = &job->steps[job->step];
    begin(job, now);
    job->capability = capability;
    /* A restored one keeps what was read when the step was begun. */
    if (read || !step->read) {
        moonplan_document_free(step->input);
        step->read = read;
        step->input = late;
    }
    if (!keep_risk(job, capability->risk)) {
        fail_input_memory(job, now);
        return;
    }
    moonplan_value input = mpl_job_step_input(job, job->step);
    if (step->read || job->plan->steps[job->step].references) {
        moonplan_error err;
        if (!mpl_reference_resolve(&job->resolved, input, (mpl_results){find_result, job},
                                   &job->options, &err)) {
            fail_input(job, &err, now);
            return;
        }
    } else {
        job->resolved.value = input;
    }
    if (job->evidence && !keep_evidence(job)) {
        fail_input_memory(job, now);
        return;
    }
    if (step->status == MOONPLAN_OUTCOME_UNKNOWN) {
        job->wants = MPL_WANTS_OUTCOME;
        return;
    }
    if (check_input(job, now)) job->wants = MPL_WANTS_DECISION;
}

void mpl_job_gone(mpl_job *job, moonplan_text why, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_INPUT);
    /* The step stays pending: nothing was done about it. */
    moonplan_text name = mpl_step_text(job->plan, job->plan->steps[job->step].capability);
    moonplan_error err;
    if (why.bytes)
        mpl_error_set(&err, MOONPLAN_JOB_CAPABILITY_GONE, MOONPLAN_NO_OFFSET, NULL,
                      "the capability %q cannot be used any more: %t", &name, &why);
    else
        mpl_error_set(&err, MOONPLAN_JOB_CAPABILITY_GONE, MOONPLAN_NO_OFFSET, NULL,
                      "the capability %q is not there any more", &name);
    if (job->steps[job->step].status == MOONPLAN_OUTCOME_UNKNOWN) {
        fail_input(job, &err, now);
        return;
    }
    begin(job, now);
    moonplan_failure failure = {.code = err.code, .message = mpl_text_of(err.message)};
    mpl_job_keep_failure(job, &failure);
    mpl_job_drop_resolved(job);
    mpl_job_end(job, MOONPLAN_FAILED, now);
}

/* -- DECISION ----------------------------------------------------------------*/

void mpl_job_allow(mpl_job *job, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_DECISION);
    mpl_job_step *step = &job->steps[job->step];
    step->status = MOONPLAN_RUNNING;
    step->started = now;
    mpl_evidence *evidence = job->evidence;
    if (evidence && evidence->granted[0]) {
        mpl_step_evidence *kept = &evidence->steps[job->step];
        memcpy(evidence->before, kept->approval, sizeof evidence->before);
        memcpy(kept->approval, evidence->granted, sizeof kept->approval);
        mpl_job_record(job, MPL_APPROVAL_GRANTED, now);
    }
    if (job->capability->digest.length == sizeof step->digest) {
        memcpy(step->digest, job->capability->digest.bytes, sizeof step->digest);
        step->digested = true;
    }
    mpl_job_record(job, MPL_CAPABILITY_STARTED, now);
    job->wants = MPL_WANTS_COMMIT;
}

void mpl_job_deny(mpl_job *job, moonplan_text reason, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_DECISION);
    moonplan_failure failure = {.code = MOONPLAN_JOB_DENIED, .message = reason};
    mpl_buffer text;
    mpl_buffer_open(&text, &job->alloc);
    if (!reason.bytes) {
        static const char begins[] = "Capability not permitted: ";
        mpl_buffer_add(&text, begins, sizeof begins - 1);
        mpl_buffer_add(&text, job->capability->name.bytes, job->capability->name.length);
        failure.message = text.failed ? mpl_text_of("Capability not permitted")
                                      : (moonplan_text){text.bytes, text.length};
    }
    mpl_job_fail_step(job, &failure, MPL_CAPABILITY_DENIED, now);
    /* The event is the one before the job's own last. */
    job->events[job->event_count - 2].reason = reason.bytes != NULL;
    mpl_buffer_close(&text);
}

/* -- COMMIT ------------------------------------------------------------------*/

void mpl_job_commit(mpl_job *job) {
    mpl_job_expect(job->wants == MPL_WANTS_COMMIT);
    if (job->evidence) job->evidence->granted[0] = 0;
    if (job->status != MOONPLAN_EXECUTING) {
        job->wants = MPL_WANTS_NOTHING;
    } else if (job->steps[job->step].status == MOONPLAN_RUNNING) {
        job->wants = MPL_WANTS_RESULT;
    } else {
        /* One that is to be done again after all comes next itself. */
        if (job->steps[job->step].status == MOONPLAN_COMPLETED) job->step++;
        job->wants = MPL_WANTS_INPUT;
    }
}

void mpl_job_stop(mpl_job *job, const moonplan_error *err) {
    mpl_job_expect(job->wants != MPL_WANTS_NOTHING);
    mpl_job_drop_resolved(job);
    job->stopped = *err;
    job->wants = MPL_WANTS_NOTHING;
}

/* -- RESULT ------------------------------------------------------------------*/

void mpl_job_result(mpl_job *job, moonplan_document *result, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_RESULT || job->wants == MPL_WANTS_OUTCOME);
    mpl_job_resolved(job, MPL_HAPPENED, now);
    mpl_job_step *step = &job->steps[job->step];
    const mpl_capability *capability = job->capability;
    moonplan_value none = {job->plan->document, UINT32_MAX};
    joined faults;
    join_open(&faults, job);
    mpl_schema_check(capability->output, result ? moonplan_document_root(result) : none, none,
                     MPL_SCHEMA_OUTPUT, capability->name, (mpl_issues){add_joined, &faults});
    if (!join_close(&faults, job, now)) {
        moonplan_document_free(result);
        return;
    }
    mpl_job_drop_resolved(job);
    if (job->evidence && result)
        mpl_digest_text(job->evidence->steps[job->step].result,
                        moonplan_value_source(moonplan_document_root(result)));
    step->result = result;
    step->status = MOONPLAN_COMPLETED;
    step->completed = now;
    mpl_job_record(job, MPL_CAPABILITY_COMPLETED, now);
    if (job->step + 1 == job->plan->count)
        mpl_job_end(job, MOONPLAN_COMPLETED, now);
    else
        job->wants = MPL_WANTS_COMMIT;
}

void mpl_job_fail(mpl_job *job, const moonplan_failure *failure, int64_t now) {
    mpl_job_expect(job->wants == MPL_WANTS_INPUT || job->wants == MPL_WANTS_DECISION ||
                   job->wants == MPL_WANTS_RESULT || job->wants == MPL_WANTS_OUTCOME);
    begin(job, now);
    mpl_job_resolved(job, MPL_WENT_WRONG, now);
    mpl_job_fail_step(job, failure, MPL_CAPABILITY_FAILED, now);
}

/* -- Looking -----------------------------------------------------------------*/

moonplan_value mpl_job_step_input(const mpl_job *job, size_t n) {
    const mpl_job_step *step = &job->steps[n];
    if (!step->read) return mpl_step_value(job->plan, job->plan->steps[n].input);
    if (!step->input) return (moonplan_value){job->plan->document, UINT32_MAX};
    return moonplan_document_root(step->input);
}

moonplan_value mpl_job_step_result(const mpl_job *job, size_t n) {
    const mpl_job_step *step = &job->steps[n];
    if (!step->result) return (moonplan_value){job->plan->document, UINT32_MAX};
    return moonplan_document_root(step->result);
}

static moonplan_failure no_failure(const mpl_job *job) {
    return (moonplan_failure){.detail = {job->plan->document, UINT32_MAX}};
}

moonplan_failure mpl_job_failure(const mpl_job *job, bool of_step) {
    const mpl_failure *kept = &job->failure;
    moonplan_failure view = no_failure(job);
    view.code = kept->code;
    view.message = kept->message;
    if (kept->nameless && !of_step) view.message = mpl_text_of("Unknown job execution error");
    if (kept->detail) view.detail = moonplan_document_root(kept->detail);
    return view;
}

void mpl_job_step_view(const mpl_job *job, moonplan_step *out, size_t n) {
    const mpl_job_step *step = &job->steps[n];
    moonplan_step_plan_step(job->plan, out, n);
    out->input = mpl_job_step_input(job, n);
    out->status = step->status;
    out->created = job->created;
    out->started = step->started;
    out->completed = step->completed;
    out->result = mpl_job_step_result(job, n);
    if (step->status == MOONPLAN_FAILED) out->error = mpl_job_failure(job, true);
}

static const char *const event_names[] = {[MPL_JOB_CREATED] = "job.created",
                                          [MPL_EXECUTION_STARTED] = "execution.started",
                                          [MPL_CAPABILITY_STARTED] = "capability.started",
                                          [MPL_CAPABILITY_COMPLETED] = "capability.completed",
                                          [MPL_CAPABILITY_DENIED] = "capability.denied",
                                          [MPL_CAPABILITY_FAILED] = "capability.failed",
                                          [MPL_JOB_COMPLETED] = "job.completed",
                                          [MPL_JOB_FAILED] = "job.failed",
                                          [MPL_PLUGIN_LOADED] = "plugin.loaded",
                                          [MPL_PLUGIN_REFUSED] = "plugin.refused",
                                          [MPL_JOB_CANCELLED] = "job.cancelled",
                                          [MPL_JOB_RESUMED] = "job.resumed",
                                          [MPL_CAPABILITY_UNKNOWN] = "capability.unknown",
                                          [MPL_CAPABILITY_RESOLVED] = "capability.resolved",
                                          [MPL_APPROVAL_REQUESTED] = "approval.requested",
                                          [MPL_APPROVAL_GRANTED] = "approval.granted"};

const char *moonplan_event_type_at(size_t n) {
    return n < sizeof event_names / sizeof *event_names ? event_names[n] : NULL;
}

mpl_event_type mpl_event_type_of(moonplan_text name) {
    size_t n = 0;
    while (n < MPL_EVENT_TYPES && !mpl_text_is(name, event_names[n])) n++;
    return (mpl_event_type)n;
}

static bool of_step(mpl_event_type type) {
    return (type >= MPL_CAPABILITY_STARTED && type <= MPL_CAPABILITY_FAILED) ||
           type >= MPL_CAPABILITY_UNKNOWN;
}

static moonplan_text digest_of(const char *digest) {
    return digest[0] ? (moonplan_text){digest, MPL_DIGEST_TEXT - 1} : (moonplan_text){NULL, 0};
}

/* What there is to say more where evidence is kept. */
static void view_evidence(const mpl_job *job, const mpl_event *event, moonplan_event *out) {
    const mpl_evidence *evidence = job->evidence;
    const mpl_step_evidence *step = &evidence->steps[event->step];
    switch ((mpl_event_type)event->type) {
    case MPL_JOB_CREATED:
        out->plan_digest = digest_of(evidence->plan);
        out->caller_digest = digest_of(evidence->caller);
        out->approvals = mpl_job_policy(job);
        break;
    case MPL_CAPABILITY_STARTED:
    case MPL_APPROVAL_REQUESTED:
        out->version = step->version;
        out->risk = step->risk;
        out->input_digest = digest_of(step->input);
        break;
    case MPL_CAPABILITY_COMPLETED:
        out->result_digest = digest_of(step->result);
        break;
    case MPL_APPROVAL_GRANTED:
        out->approval = digest_of(step->approval);
        break;
    default:
        break;
    }
}

static const char *const outcome_names[] = {
    [MPL_HAPPENED] = "completed", [MPL_WENT_WRONG] = "failed", [MPL_NOT_DONE] = "retry"};
static const char *const by_names[] = {
    [MPL_BY_HOST] = "host", [MPL_BY_CHECK] = "check", [MPL_BY_POLICY] = "policy"};

void mpl_job_event_view(const mpl_job *job, moonplan_event *out, size_t n) {
    if (n < job->past_count) {
        mpl_event_read(out, moonplan_value_element(moonplan_document_root(job->past), n));
        return;
    }
    const mpl_event *event = &job->events[n];
    const mpl_step *step = &job->plan->steps[event->step];
    *out = (moonplan_event){.id = mpl_text_of(event->id),
                            .job_id = mpl_text_of(job->id),
                            .type = mpl_text_of(event_names[event->type]),
                            .time = event->time,
                            .error = no_failure(job)};
    switch ((mpl_event_type)event->type) {
    case MPL_JOB_CREATED:
        out->goal = job->plan->goal;
        break;
    case MPL_CAPABILITY_STARTED:
        if (job->steps[event->step].digested)
            out->digest = (moonplan_text){job->steps[event->step].digest,
                                          sizeof job->steps[event->step].digest};
        break;
    case MPL_CAPABILITY_DENIED:
        out->risk = (moonplan_text){job->risk ? job->risk : "", job->risk_length};
        if (event->reason) out->reason = job->failure.message;
        break;
    case MPL_CAPABILITY_FAILED:
        out->error = mpl_job_failure(job, true);
        break;
    case MPL_CAPABILITY_RESOLVED:
        out->outcome = mpl_text_of(outcome_names[event->outcome]);
        out->reason = mpl_text_of(by_names[event->by]);
        break;
    case MPL_JOB_COMPLETED:
        out->step_count = job->plan->count;
        break;
    case MPL_JOB_FAILED:
    case MPL_JOB_CANCELLED:
        out->error = mpl_job_failure(job, false);
        break;
    default:
        break;
    }
    if (job->evidence) view_evidence(job, event, out);
    if (!of_step((mpl_event_type)event->type)) return;
    out->step_id = mpl_step_text(job->plan, step->id);
    out->capability = mpl_step_text(job->plan, step->capability);
}
