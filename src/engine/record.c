#include "record.h"

#include <string.h>

#include "../core/build.h"
#include "../core/text.h"
#include "../core/value.h"
#include "job.h"

/* -- Refusals ------------------------------------------------------------------*/

bool mpl_twin_is(const char *plan_digest, const char *caller_digest, const moonplan_job *job) {
    const mpl_evidence *evidence = mpl_job_of(job)->evidence;
    return strcmp(plan_digest, evidence->plan) == 0 && strcmp(caller_digest, evidence->caller) == 0;
}

void mpl_twin_found(mpl_twin *twin, const char *id) {
    twin->found = true;
    memcpy(twin->id, id, strlen(id) + 1);
}

void mpl_twin_refuse(const mpl_twin *twin, const char *id, const char *plan_digest,
                     const moonplan_job *job, moonplan_error *err) {
    const mpl_evidence *evidence = mpl_job_of(job)->evidence;
    moonplan_text there = mpl_text_of(id);
    if (strcmp(plan_digest, evidence->plan) != 0)
        mpl_error_set(err, MOONPLAN_STORE_CONFLICT, MOONPLAN_NO_OFFSET, NULL,
                      "the key %q belongs to job %q, whose plan has the digest %s; this one has %s",
                      &twin->key, &there, plan_digest, evidence->plan);
    else
        mpl_error_set(err, MOONPLAN_STORE_CONFLICT, MOONPLAN_NO_OFFSET, NULL,
                      "the key %q belongs to job %q, which has the same plan and another caller",
                      &twin->key, &there);
}

void mpl_approval_used(moonplan_error *err, const moonplan_job *job, size_t step) {
    const mpl_job *machine = mpl_job_of(job);
    moonplan_text id = mpl_step_text(machine->plan, machine->plan->steps[step].id);
    mpl_error_set(err, MOONPLAN_APPROVAL_USED, MOONPLAN_NO_OFFSET, NULL,
                  "the approval for step %q has been used already", &id);
}

bool mpl_approval_is_over(const moonplan_job *job, const mpl_change *change, moonplan_error *err) {
    const mpl_job *machine = mpl_job_of(job);
    if (mpl_engine_now(job->engine) < change->expires) return false;
    moonplan_text id = mpl_step_text(machine->plan, machine->plan->steps[change->step].id);
    char until[25];
    mpl_time_write(until, change->expires);
    mpl_error_set(err, MOONPLAN_APPROVAL_EXPIRED, MOONPLAN_NO_OFFSET, NULL,
                  "the approval for step %q was good until %s", &id, until);
    return true;
}

/* -- Filters -------------------------------------------------------------------*/

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool mpl_filter_takes_goal(const moonplan_job_filter *filter, moonplan_text goal) {
    moonplan_text part = filter->goal;
    if (!part.bytes) return true;
    for (size_t at = 0; at + part.length <= goal.length; at++) {
        size_t same = 0;
        while (same < part.length && lower(goal.bytes[at + same]) == lower(part.bytes[same]))
            same++;
        if (same == part.length) return true;
    }
    return false;
}

bool mpl_filter_takes_time(const moonplan_job_filter *filter, int64_t created) {
    char time[25];
    if (!filter->since.bytes) return true;
    moonplan_text since = filter->since;
    /* What comes behind the seconds is less than a Z. */
    if (since.length && since.bytes[since.length - 1] == 'Z') since.length--;
    mpl_time_write(time, created);
    return mpl_text_order(mpl_text_of(time), since) >= 0;
}

bool mpl_filter_takes(const moonplan_job_filter *filter, const mpl_job *job) {
    if (!filter) return true;
    if (filter->status.bytes && !mpl_text_is(filter->status, moonplan_status_name(job->status)))
        return false;
    bool has = !filter->capability.bytes;
    for (size_t n = 0; n < job->plan->count && !has; n++)
        has = mpl_text_equal(filter->capability,
                             mpl_step_text(job->plan, job->plan->steps[n].capability));
    return has && mpl_filter_takes_goal(filter, job->plan->goal) &&
           mpl_filter_takes_time(filter, job->created);
}

/* -- Records -------------------------------------------------------------------*/

const char mpl_no_digest[MPL_DIGEST_TEXT] =
    "0000000000000000000000000000000000000000000000000000000000000000";

void mpl_record_event(mpl_buffer *out, const mpl_job *job, size_t n) {
    moonplan_event event;
    mpl_builder builder;
    mpl_job_event_view(job, &event, n);
    mpl_build_open_around(&builder, &job->options);
    if (builder.error.code == MOONPLAN_OK) mpl_event_write(&builder, &event);
    moonplan_document *document = mpl_build_finish(&builder, NULL);
    if (document) {
        moonplan_text text = moonplan_value_source(moonplan_document_root(document));
        mpl_buffer_add(out, text.bytes, text.length);
    } else {
        out->failed = true;
    }
    moonplan_document_free(document);
}

static void add(mpl_buffer *out, const char *text) {
    mpl_buffer_add(out, text, strlen(text));
}

static void add_number(mpl_buffer *out, int64_t number) {
    char digits[20];
    mpl_buffer_add(out, digits, mpl_number_write(digits, number > 0 ? (uint64_t)number : 0));
}

/* What stands in a store may be anything, so that it is not taken for a text that has to be
 * escaped. */
static void add_digest(mpl_buffer *out, const char *name, moonplan_text digest) {
    add(out, name);
    add(out, "\"");
    mpl_buffer_add(out, digest.bytes, digest.length);
    add(out, "\"");
}

static void write_record(mpl_buffer *out, const mpl_record *record, bool with_digest) {
    out->length = 0;
    add_digest(out, "{\"before\":", record->before);
    add_digest(out, ",\"before_in_job\":", record->before_in_job);
    if (with_digest) add_digest(out, ",\"digest\":", record->digest);
    add(out, ",\"event\":");
    mpl_buffer_add(out, record->event.bytes, record->event.length);
    add(out, ",\"position\":");
    add_number(out, record->position);
    add(out, ",\"sequence\":");
    add_number(out, record->sequence);
    add(out, "}");
}

void mpl_record_text(mpl_buffer *out, const mpl_record *record) {
    write_record(out, record, false);
}

void mpl_record_line(mpl_buffer *out, const mpl_record *record) {
    write_record(out, record, true);
}

bool mpl_record_digest(char out[MPL_DIGEST_TEXT], mpl_buffer *scratch, const mpl_record *record) {
    mpl_record_text(scratch, record);
    if (scratch->failed) return false;
    mpl_digest_text(out, (moonplan_text){scratch->bytes, scratch->length});
    return true;
}

bool mpl_record_failure(mpl_buffer *out, const mpl_job *job) {
    moonplan_failure failure = mpl_job_failure(job, true);
    mpl_builder builder;
    mpl_build_open_around(&builder, &job->options);
    if (builder.error.code == MOONPLAN_OK) mpl_failure_write(&builder, &failure);
    moonplan_document *document = mpl_build_finish(&builder, NULL);
    if (!document) return false;
    moonplan_text text = moonplan_value_source(moonplan_document_root(document));
    mpl_buffer_add(out, text.bytes, text.length);
    moonplan_document_free(document);
    return !out->failed;
}

moonplan_failure mpl_failure_read(moonplan_value failure) {
    return (moonplan_failure){.code =
                                  mpl_code_of(moonplan_value_string(mpl_member(failure, "code"))),
                              .message = moonplan_value_string(mpl_member(failure, "message")),
                              .detail = mpl_member(failure, "detail")};
}
