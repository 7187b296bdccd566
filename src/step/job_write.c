#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "job_inside.h"

/* -- Times -------------------------------------------------------------------*/

static void digits(char *out, int64_t number, size_t count) {
    for (size_t i = count; i > 0; i--, number /= 10) out[i - 1] = (char)('0' + number % 10);
}

void mpl_time_write(char out[25], int64_t time) {
    const int64_t first = MPL_TIME_FIRST, last = MPL_TIME_LAST;
    const int64_t day_ms = 86400000;
    if (time < first) time = first;
    if (time > last) time = last;
    int64_t since = time - first, day = since / day_ms, rest = since % day_ms;
    /* Days since 0000-03-01, so that the leap day is the last of its year; then years of 400, 100,
     * 4 and 1 (Gregorian calendar, proleptic). January and February of year 0 stand before it. */
    int64_t shifted = day - 60 + 146097, era = shifted / 146097, in_era = shifted % 146097;
    int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * in_year + 2) / 153;
    int64_t date = in_year - (153 * month + 2) / 5 + 1;
    year += 400 * (era - 1);
    month += 3;
    if (month > 12) {
        month -= 12;
        year++;
    }
    memcpy(out, "0000-00-00T00:00:00.000Z", 25);
    digits(out, year, 4);
    digits(out + 5, month, 2);
    digits(out + 8, date, 2);
    digits(out + 11, rest / 3600000, 2);
    digits(out + 14, rest / 60000 % 60, 2);
    digits(out + 17, rest / 1000 % 60, 2);
    digits(out + 20, rest % 1000, 3);
}

static bool read_digits(int64_t *out, const char *at, size_t count) {
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        if (at[i] < '0' || at[i] > '9') return false;
        *out = *out * 10 + (at[i] - '0');
    }
    return true;
}

int64_t mpl_time_parse(moonplan_text text) {
    int64_t year, month, day, hour, minute, second, part;
    const char *at = text.bytes;
    if (text.length != 24 || !read_digits(&year, at, 4) || !read_digits(&month, at + 5, 2) ||
        !read_digits(&day, at + 8, 2) || !read_digits(&hour, at + 11, 2) ||
        !read_digits(&minute, at + 14, 2) || !read_digits(&second, at + 17, 2) ||
        !read_digits(&part, at + 20, 3) || month < 1 || month > 12 || hour > 23 || minute > 59 ||
        second > 59)
        return MOONPLAN_NO_TIME;
    /* Days since 0000-03-01, as above. */
    int64_t months = year * 12 + month - 3, years = months / 12, in_year = months % 12;
    if (months < 0) {
        years = -1;
        in_year = months + 12;
    }
    int64_t days = years * 365 + (years >= 0 ? years / 4 - years / 100 + years / 400 : -1) +
                   (153 * in_year + 2) / 5 + day - 1;
    int64_t time = (((days - 719468) * 24 + hour) * 60 + minute) * 60 + second;
    time = time * 1000 + part;
    /* What is no date (the 31st of April) would be written as another one. */
    char again[25];
    mpl_time_write(again, time);
    return memcmp(again, at, 24) == 0 ? time : MOONPLAN_NO_TIME;
}

/* -- Members -----------------------------------------------------------------*/

static void name(mpl_builder *out, const char *member) {
    mpl_build_name(out, mpl_text_of(member));
}

static void write_value(mpl_builder *out, const char *member, moonplan_value value) {
    if (moonplan_value_type(value) == MOONPLAN_NONE) return;
    name(out, member);
    mpl_build_value(out, value);
}

static void write_time(mpl_builder *out, const char *member, int64_t time) {
    char text[25];
    if (time == MOONPLAN_NO_TIME) return;
    mpl_time_write(text, time);
    mpl_build_text_if(out, member, mpl_text_of(text));
}

static void value_or_null(mpl_builder *out, moonplan_value value) {
    if (moonplan_value_type(value) == MOONPLAN_NONE)
        mpl_build_null(out);
    else
        mpl_build_value(out, value);
}

void mpl_failure_write(mpl_builder *out, const moonplan_failure *failure) {
    mpl_build_object(out);
    mpl_build_text_if(out, "code", mpl_text_of(moonplan_code_name(failure->code)));
    mpl_build_text_if(out, "message", failure->message);
    write_value(out, "detail", failure->detail);
    mpl_build_end(out);
}

void mpl_event_write(mpl_builder *out, const moonplan_event *event) {
    mpl_build_object(out);
    mpl_build_text_if(out, "id", event->id);
    mpl_build_text_if(out, "job_id", event->job_id);
    mpl_build_text_if(out, "type", event->type);
    write_time(out, "time", event->time);
    name(out, "data");
    mpl_build_object(out);
    mpl_build_text_if(out, "goal", event->goal);
    mpl_build_text_if(out, "plan_digest", event->plan_digest);
    mpl_build_text_if(out, "caller_digest", event->caller_digest);
    if (event->approvals.document) write_value(out, "approvals", event->approvals);
    mpl_build_text_if(out, "step_id", event->step_id);
    mpl_build_text_if(out, "capability", event->capability);
    mpl_build_text_if(out, "version", event->version);
    mpl_build_text_if(out, "risk", event->risk);
    mpl_build_text_if(out, "input_digest", event->input_digest);
    mpl_build_text_if(out, "result_digest", event->result_digest);
    mpl_build_text_if(out, "approval", event->approval);
    mpl_build_text_if(out, "outcome", event->outcome);
    mpl_build_text_if(out, "reason", event->reason);
    mpl_build_text_if(out, "name", event->name);
    mpl_build_text_if(out, "file", event->file);
    mpl_build_text_if(out, "digest", event->digest);
    mpl_build_text_if(out, "key", event->key);
    mpl_build_text_if(out, "decision", event->decision);
    mpl_build_text_if(out, "isolation", event->isolation);
    if (event->error.code != MOONPLAN_OK) {
        name(out, "error");
        mpl_failure_write(out, &event->error);
    }
    if (event->step_count) {
        name(out, "step_count");
        mpl_build_integer(out, (int64_t)event->step_count);
    }
    mpl_build_end(out);
    mpl_build_end(out);
}

static moonplan_text text_at(moonplan_value object, const char *member) {
    return moonplan_value_string(moonplan_value_member(object, member, strlen(member)));
}

static const char *const status_names[] = {[MOONPLAN_CREATED] = "created",
                                           [MOONPLAN_EXECUTING] = "executing",
                                           [MOONPLAN_PENDING] = "pending",
                                           [MOONPLAN_RUNNING] = "running",
                                           [MOONPLAN_COMPLETED] = "completed",
                                           [MOONPLAN_FAILED] = "failed",
                                           [MOONPLAN_CANCELLED] = "cancelled",
                                           [MOONPLAN_OUTCOME_UNKNOWN] = "outcome_unknown",
                                           [MOONPLAN_AWAITING_APPROVAL] = "awaiting_approval",
                                           [MOONPLAN_INTERRUPTED] = "interrupted"};
#define STATUSES (sizeof status_names / sizeof *status_names)

const char *moonplan_status_name(moonplan_status status) {
    size_t n = (size_t)status;
    return n >= 1 && n < STATUSES ? status_names[n] : "unknown";
}

moonplan_status mpl_status_of(moonplan_text name) {
    size_t n = STATUSES - 1;
    while (n > 0 && !mpl_text_is(name, status_names[n])) n--;
    return (moonplan_status)n;
}

moonplan_code mpl_code_of(moonplan_text name) {
    unsigned n = 0;
    while (n < MOONPLAN_CODE_COUNT && !mpl_text_is(name, moonplan_code_name((moonplan_code)n))) n++;
    return (moonplan_code)n;
}

void mpl_event_read(moonplan_event *out, moonplan_value event) {
    moonplan_value data = mpl_member(event, "data");
    moonplan_value error = mpl_member(data, "error");
    int64_t count = 0;
    moonplan_value_integer(mpl_member(data, "step_count"), &count);
    *out = (moonplan_event){.id = text_at(event, "id"),
                            .job_id = text_at(event, "job_id"),
                            .type = text_at(event, "type"),
                            .time = mpl_time_parse(text_at(event, "time")),
                            .goal = text_at(data, "goal"),
                            .step_id = text_at(data, "step_id"),
                            .capability = text_at(data, "capability"),
                            .risk = text_at(data, "risk"),
                            .reason = text_at(data, "reason"),
                            .step_count = count > 0 ? (size_t)count : 0,
                            .version = text_at(data, "version"),
                            .outcome = text_at(data, "outcome"),
                            .plan_digest = text_at(data, "plan_digest"),
                            .caller_digest = text_at(data, "caller_digest"),
                            .approvals = mpl_member(data, "approvals"),
                            .input_digest = text_at(data, "input_digest"),
                            .result_digest = text_at(data, "result_digest"),
                            .approval = text_at(data, "approval"),
                            .digest = text_at(data, "digest"),
                            .error = {.detail = mpl_member(error, "detail")}};
    if (moonplan_value_type(error) != MOONPLAN_OBJECT) return;
    out->error.code = mpl_code_of(text_at(error, "code"));
    out->error.message = text_at(error, "message");
}

static void write_step(mpl_builder *out, const moonplan_step *step) {
    mpl_build_object(out);
    mpl_build_text_if(out, "id", step->id);
    mpl_build_text_if(out, "capability", step->capability);
    mpl_build_text_if(out, "capability_version", step->version);
    write_value(out, "input", step->input);
    mpl_build_text_if(out, "reason", step->reason);
    mpl_build_text_if(out, "idempotency_key", step->idempotency_key);
    mpl_build_text_if(out, "status", mpl_text_of(moonplan_status_name(step->status)));
    if (step->status == MOONPLAN_COMPLETED) {
        name(out, "result");
        value_or_null(out, step->result);
    }
    if (step->error.code != MOONPLAN_OK) {
        name(out, "error");
        mpl_failure_write(out, &step->error);
    }
    write_time(out, "created", step->created);
    write_time(out, "started", step->started);
    write_time(out, "completed", step->completed);
    mpl_build_end(out);
}

/* -- The job -----------------------------------------------------------------*/

void mpl_job_write_result(mpl_builder *out, const mpl_job *job) {
    if (job->plan->count == 1) {
        value_or_null(out, mpl_job_step_result(job, 0));
        return;
    }
    mpl_build_array(out);
    for (size_t n = 0; n < job->plan->count; n++) value_or_null(out, mpl_job_step_result(job, n));
    mpl_build_end(out);
}

void mpl_job_write(mpl_builder *out, const mpl_job *job) {
    const moonplan_step_plan *plan = job->plan;
    mpl_build_object(out);
    mpl_build_text_if(out, "id", mpl_text_of(job->id));
    mpl_build_text_if(out, "status", mpl_text_of(moonplan_status_name(job->status)));
    mpl_build_text_if(out, "goal", plan->goal);
    if (job->status == MOONPLAN_COMPLETED) {
        name(out, "result");
        mpl_job_write_result(out, job);
    }
    if (job->failure.code != MOONPLAN_OK) {
        moonplan_failure failure = mpl_job_failure(job, false);
        name(out, "error");
        mpl_failure_write(out, &failure);
    }
    mpl_build_text_if(out, "idempotency_key", mpl_step_text(plan, plan->key));
    if (job->evidence) mpl_build_text_if(out, "digest", mpl_text_of(job->evidence->plan));
    write_time(out, "created", job->created);
    write_time(out, "started", job->started);
    write_time(out, "completed", job->completed);
    if (job->caller)
        mpl_build_text_if(
            out, "caller_subject",
            moonplan_value_string(mpl_member(moonplan_document_root(job->caller), "subject")));
    name(out, "steps");
    mpl_build_array(out);
    for (size_t n = 0; n < plan->count; n++) {
        moonplan_step step;
        mpl_job_step_view(job, &step, n);
        write_step(out, &step);
    }
    mpl_build_end(out);
    name(out, "events");
    mpl_build_array(out);
    for (size_t n = 0; n < job->event_count; n++) {
        moonplan_event event;
        mpl_job_event_view(job, &event, n);
        mpl_event_write(out, &event);
    }
    mpl_build_end(out);
    mpl_build_end(out);
}

void mpl_job_line(mpl_builder *out, moonplan_text id, moonplan_status status, moonplan_text goal,
                  int64_t created, int64_t completed) {
    mpl_build_object(out);
    mpl_build_text_if(out, "id", id);
    mpl_build_text_if(out, "status", mpl_text_of(moonplan_status_name(status)));
    mpl_build_text_if(out, "goal", goal);
    write_time(out, "created", created);
    write_time(out, "completed", completed);
    mpl_build_end(out);
}

void mpl_job_write_line(mpl_builder *out, const mpl_job *job) {
    mpl_job_line(out, mpl_text_of(job->id), job->status, job->plan->goal, job->created,
                 job->completed);
}

void mpl_build_open_around(mpl_builder *out, const moonplan_options *options) {
    mpl_build_open(out, options);
    /* At most: job, events, event, data, error. */
    out->max_depth += 5;
    out->max_values = UINT64_MAX;
}
