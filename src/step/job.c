#include "job.h"

#include <stdlib.h>
#include <string.h>

#include "../core/buffer.h"
#include "../core/text.h"
#include "listing.h"

/* A call that the state does not take is a mistake in the driver; going on would make the record
 * untrue. */
static void expect(bool holds) {
    if (!holds) abort();
}

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
    expect(length < sizeof job->id);
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

static void drop_resolved(mpl_job *job) {
    moonplan_document_free(job->resolved.own);
    job->resolved.own = NULL;
    job->resolved.value = (moonplan_value){job->plan->document, UINT32_MAX};
    job->capability = NULL;
}

void mpl_job_free(mpl_job *job) {
    if (!job) return;
    mpl_alloc alloc = job->alloc;
    drop_resolved(job);
    for (size_t n = 0; job->steps && n < job->plan->count; n++) {
        moonplan_document_free(job->steps[n].input);
        moonplan_document_free(job->steps[n].result);
    }
    mpl_release(&alloc, job->steps, job->plan->count * sizeof *job->steps);
    mpl_release(&alloc, job->events, job->event_room * sizeof *job->events);
    mpl_release(&alloc, job->failure.held, job->failure.held_size);
    moonplan_document_free(job->failure.detail);
    mpl_release(&alloc, job->risk, job->risk_size);
    moonplan_document_free(job->caller);
    moonplan_step_plan_free(job->plan);
    mpl_release(&alloc, job, sizeof *job);
}

/* -- Recording ---------------------------------------------------------------*/

static void record(mpl_job *job, mpl_event_type type, int64_t now) {
    expect(job->event_count < job->event_room);
    job->events[job->event_count++] =
        (mpl_event){.time = now, .step = (uint32_t)job->step, .type = (uint8_t)type};
}

/* The answer to the first question is when execution starts. */
static void begin(mpl_job *job, int64_t now) {
    if (job->status != MOONPLAN_CREATED) return;
    job->status = MOONPLAN_EXECUTING;
    job->started = now;
    record(job, MPL_EXECUTION_STARTED, now);
}

static void end(mpl_job *job, moonplan_status status, int64_t now) {
    job->status = status;
    job->completed = now;
    record(job, status == MOONPLAN_COMPLETED ? MPL_JOB_COMPLETED : MPL_JOB_FAILED, now);
    job->wants = MPL_WANTS_COMMIT;
}

static moonplan_text text_of(const char *literal) {
    return (moonplan_text){literal, strlen(literal)};
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

moonplan_document *mpl_detail_keep(moonplan_value detail, const moonplan_options *options) {
    if (!detail.document || moonplan_value_type(detail) == MOONPLAN_NONE) return NULL;
    moonplan_error why;
    mpl_builder builder;
    mpl_build_open(&builder, options);
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

static void keep_failure(mpl_job *job, const moonplan_failure *given) {
    mpl_failure *failure = &job->failure;
    moonplan_text text = given->message;
    uint64_t most = job->options.limits.result_bytes;
    *failure = (mpl_failure){.code = given->code, .nameless = !text.bytes};
    failure->detail = mpl_detail_keep(given->detail, &job->options);
    if (failure->nameless) {
        failure->message = text_of("Unknown capability execution error");
        return;
    }
    moonplan_error over;
    if (text.length > most) {
        mpl_error_set(&over, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "the failure's message has %u bytes, more than the limit result_bytes "
                      "allows: %u",
                      (uint64_t)text.length, most);
        text = text_of(over.message);
    }
    if (!keep_message(job, text)) failure->message = text_of(out_of_memory);
}

/* The step and with it the job end here. */
static void fail_step(mpl_job *job, const moonplan_failure *failure, mpl_event_type event,
                      int64_t now) {
    mpl_job_step *step = &job->steps[job->step];
    keep_failure(job, failure);
    drop_resolved(job);
    step->status = MOONPLAN_FAILED;
    step->completed = now;
    record(job, event, now);
    end(job, MOONPLAN_FAILED, now);
}

static void fail_with_error(mpl_job *job, const moonplan_error *err, int64_t now) {
    moonplan_failure failure = {.code = err->code, .message = text_of(err->message)};
    fail_step(job, &failure, MPL_CAPABILITY_FAILED, now);
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
        fail_step(job, &failure, MPL_CAPABILITY_FAILED, now);
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

void mpl_job_input(mpl_job *job, const mpl_capability *capability, bool read,
                   moonplan_document *late, int64_t now) {
    expect(job->wants == MPL_WANTS_INPUT);
    mpl_job_step *step = &job->steps[job->step];
    begin(job, now);
    job->capability = capability;
    step->read = read;
    step->input = late;
    if (!keep_risk(job, capability->risk)) {
        fail_memory(job, now);
        return;
    }
    moonplan_value input = mpl_job_step_input(job, job->step);
    if (read || job->plan->steps[job->step].references) {
        moonplan_error err;
        if (!mpl_reference_resolve(&job->resolved, input, (mpl_results){find_result, job},
                                   &job->options, &err)) {
            fail_with_error(job, &err, now);
            return;
        }
    } else {
        job->resolved.value = input;
    }
    if (check_input(job, now)) job->wants = MPL_WANTS_DECISION;
}

void mpl_job_gone(mpl_job *job, moonplan_text why, int64_t now) {
    expect(job->wants == MPL_WANTS_INPUT);
    begin(job, now);
    /* The step stays pending: nothing was done about it. */
    moonplan_text name = mpl_step_text(job->plan, job->plan->steps[job->step].capability);
    moonplan_error err;
    if (why.bytes)
        mpl_error_set(&err, MOONPLAN_JOB_CAPABILITY_GONE, MOONPLAN_NO_OFFSET, NULL,
                      "the capability %q cannot be used any more: %t", &name, &why);
    else
        mpl_error_set(&err, MOONPLAN_JOB_CAPABILITY_GONE, MOONPLAN_NO_OFFSET, NULL,
                      "the capability %q is not there any more", &name);
    moonplan_failure failure = {.code = err.code, .message = text_of(err.message)};
    keep_failure(job, &failure);
    drop_resolved(job);
    end(job, MOONPLAN_FAILED, now);
}

/* -- DECISION ----------------------------------------------------------------*/

void mpl_job_allow(mpl_job *job, int64_t now) {
    expect(job->wants == MPL_WANTS_DECISION);
    mpl_job_step *step = &job->steps[job->step];
    step->status = MOONPLAN_RUNNING;
    step->started = now;
    record(job, MPL_CAPABILITY_STARTED, now);
    job->wants = MPL_WANTS_COMMIT;
}

void mpl_job_deny(mpl_job *job, moonplan_text reason, int64_t now) {
    expect(job->wants == MPL_WANTS_DECISION);
    moonplan_failure failure = {.code = MOONPLAN_JOB_DENIED, .message = reason};
    mpl_buffer text;
    mpl_buffer_open(&text, &job->alloc);
    if (!reason.bytes) {
        static const char begins[] = "Capability not permitted: ";
        mpl_buffer_add(&text, begins, sizeof begins - 1);
        mpl_buffer_add(&text, job->capability->name.bytes, job->capability->name.length);
        failure.message = text.failed ? text_of("Capability not permitted")
                                      : (moonplan_text){text.bytes, text.length};
    }
    fail_step(job, &failure, MPL_CAPABILITY_DENIED, now);
    /* The event is the one before the job's own last. */
    job->events[job->event_count - 2].reason = reason.bytes != NULL;
    mpl_buffer_close(&text);
}

/* -- COMMIT ------------------------------------------------------------------*/

void mpl_job_commit(mpl_job *job) {
    expect(job->wants == MPL_WANTS_COMMIT);
    if (job->status != MOONPLAN_EXECUTING) {
        job->wants = MPL_WANTS_NOTHING;
    } else if (job->steps[job->step].status == MOONPLAN_RUNNING) {
        job->wants = MPL_WANTS_RESULT;
    } else {
        job->step++;
        job->wants = MPL_WANTS_INPUT;
    }
}

void mpl_job_stop(mpl_job *job, const moonplan_error *err) {
    expect(job->wants == MPL_WANTS_COMMIT);
    drop_resolved(job);
    job->stopped = *err;
    job->wants = MPL_WANTS_NOTHING;
}

/* -- RESULT ------------------------------------------------------------------*/

void mpl_job_result(mpl_job *job, moonplan_document *result, int64_t now) {
    expect(job->wants == MPL_WANTS_RESULT);
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
    drop_resolved(job);
    step->result = result;
    step->status = MOONPLAN_COMPLETED;
    step->completed = now;
    record(job, MPL_CAPABILITY_COMPLETED, now);
    if (job->step + 1 == job->plan->count)
        end(job, MOONPLAN_COMPLETED, now);
    else
        job->wants = MPL_WANTS_COMMIT;
}

void mpl_job_fail(mpl_job *job, const moonplan_failure *failure, int64_t now) {
    expect(job->wants == MPL_WANTS_INPUT || job->wants == MPL_WANTS_DECISION ||
           job->wants == MPL_WANTS_RESULT);
    begin(job, now);
    fail_step(job, failure, MPL_CAPABILITY_FAILED, now);
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
    if (kept->nameless && !of_step) view.message = text_of("Unknown job execution error");
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
                                          [MPL_JOB_FAILED] = "job.failed"};

const char *moonplan_event_type_at(size_t n) {
    return n < sizeof event_names / sizeof *event_names ? event_names[n] : NULL;
}

void mpl_job_event_view(const mpl_job *job, moonplan_event *out, size_t n) {
    const mpl_event *event = &job->events[n];
    const mpl_step *step = &job->plan->steps[event->step];
    *out = (moonplan_event){.id = text_of(event->id),
                            .job_id = text_of(job->id),
                            .type = text_of(event_names[event->type]),
                            .time = event->time,
                            .error = no_failure(job)};
    switch ((mpl_event_type)event->type) {
    case MPL_JOB_CREATED:
        out->goal = job->plan->goal;
        break;
    case MPL_CAPABILITY_DENIED:
        out->risk = (moonplan_text){job->risk ? job->risk : "", job->risk_length};
        if (event->reason) out->reason = job->failure.message;
        break;
    case MPL_CAPABILITY_FAILED:
        out->error = mpl_job_failure(job, true);
        break;
    case MPL_JOB_COMPLETED:
        out->step_count = job->plan->count;
        break;
    case MPL_JOB_FAILED:
        out->error = mpl_job_failure(job, false);
        break;
    default:
        break;
    }
    if (event->type < MPL_CAPABILITY_STARTED || event->type > MPL_CAPABILITY_FAILED) return;
    out->step_id = mpl_step_text(job->plan, step->id);
    out->capability = mpl_step_text(job->plan, step->capability);
}
