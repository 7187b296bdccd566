#include <string.h>

#include "job.h"

static moonplan_text text_of(const char *literal) {
    return (moonplan_text){literal, strlen(literal)};
}

/* -- Times -------------------------------------------------------------------*/

static void digits(char *out, int64_t number, size_t count) {
    for (size_t i = count; i > 0; i--, number /= 10) out[i - 1] = (char)('0' + number % 10);
}

void mpl_time_write(char out[25], int64_t time) {
    /* 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z. */
    const int64_t first = -62167219200000, last = 253402300799999;
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

/* -- Members -----------------------------------------------------------------*/

static void name(mpl_builder *out, const char *member) {
    mpl_build_name(out, text_of(member));
}

static void write_text(mpl_builder *out, const char *member, moonplan_text text) {
    if (!text.bytes) return;
    name(out, member);
    mpl_build_string(out, text);
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
    write_text(out, member, text_of(text));
}

static void value_or_null(mpl_builder *out, moonplan_value value) {
    if (moonplan_value_type(value) == MOONPLAN_NONE)
        mpl_build_null(out);
    else
        mpl_build_value(out, value);
}

void mpl_failure_write(mpl_builder *out, const moonplan_failure *failure) {
    mpl_build_object(out);
    write_text(out, "code", text_of(moonplan_code_name(failure->code)));
    write_text(out, "message", failure->message);
    write_value(out, "detail", failure->detail);
    mpl_build_end(out);
}

void mpl_event_write(mpl_builder *out, const moonplan_event *event) {
    mpl_build_object(out);
    write_text(out, "id", event->id);
    write_text(out, "job_id", event->job_id);
    write_text(out, "type", event->type);
    write_time(out, "time", event->time);
    name(out, "data");
    mpl_build_object(out);
    write_text(out, "goal", event->goal);
    write_text(out, "step_id", event->step_id);
    write_text(out, "capability", event->capability);
    write_text(out, "risk", event->risk);
    write_text(out, "reason", event->reason);
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

static void write_step(mpl_builder *out, const moonplan_step *step) {
    mpl_build_object(out);
    write_text(out, "id", step->id);
    write_text(out, "capability", step->capability);
    write_text(out, "capability_version", step->version);
    write_value(out, "input", step->input);
    write_text(out, "reason", step->reason);
    write_text(out, "idempotency_key", step->idempotency_key);
    write_text(out, "status", text_of(moonplan_status_name(step->status)));
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
    write_text(out, "id", text_of(job->id));
    write_text(out, "status", text_of(moonplan_status_name(job->status)));
    write_text(out, "goal", plan->goal);
    if (job->status == MOONPLAN_COMPLETED) {
        name(out, "result");
        mpl_job_write_result(out, job);
    }
    if (job->status == MOONPLAN_FAILED) {
        moonplan_failure failure = mpl_job_failure(job, false);
        name(out, "error");
        mpl_failure_write(out, &failure);
    }
    write_text(out, "idempotency_key", mpl_step_text(plan, plan->key));
    write_time(out, "created", job->created);
    write_time(out, "started", job->started);
    write_time(out, "completed", job->completed);
    if (job->caller)
        write_text(out, "caller_subject",
                   moonplan_value_string(moonplan_value_member(moonplan_document_root(job->caller),
                                                               "subject", sizeof "subject" - 1)));
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

void mpl_job_write_line(mpl_builder *out, const mpl_job *job) {
    mpl_build_object(out);
    write_text(out, "id", text_of(job->id));
    write_text(out, "status", text_of(moonplan_status_name(job->status)));
    write_text(out, "goal", job->plan->goal);
    write_time(out, "created", job->created);
    write_time(out, "completed", job->completed);
    mpl_build_end(out);
}

void mpl_build_open_around(mpl_builder *out, const moonplan_options *options) {
    mpl_build_open(out, options);
    /* At most: job, events, event, data, error. */
    out->max_depth += 5;
    out->max_values = UINT64_MAX;
}
