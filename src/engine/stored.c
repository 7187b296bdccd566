#include "stored.h"

#include <string.h>

#include "../core/build.h"
#include "../core/text.h"
#include "../core/value.h"

/* What was taken once is taken again, whatever the limits are now. */
moonplan_options mpl_stored_options(const moonplan_options *options) {
    moonplan_options wide = *options;
    const moonplan_limit_info *limit;
    for (size_t n = 0; (limit = moonplan_limit_at(n)); n++)
        moonplan_options_limit(&wide, limit->name, limit->ceiling, NULL);
    wide.errors = NULL;
    wide.borrow = false;
    return wide;
}

void mpl_stored_open(mpl_stored *stored, const moonplan_options *options) {
    memset(stored, 0, sizeof *stored);
    stored->options = options;
    stored->alloc = mpl_alloc_of(options);
    mpl_arena_open(&stored->texts, &stored->alloc);
    stored->job.started = stored->job.completed = MOONPLAN_NO_TIME;
}

void mpl_stored_close(mpl_stored *stored) {
    for (size_t n = 0; n < stored->step_count; n++) {
        moonplan_document_free(stored->job.steps[n].input);
        moonplan_document_free(stored->job.steps[n].result);
    }
    moonplan_document_free(stored->job.caller);
    moonplan_document_free(stored->job.past);
    moonplan_document_free(stored->plan);
    moonplan_document_free(stored->failure);
    mpl_arena_close(&stored->texts);
    memset(stored, 0, sizeof *stored);
}

moonplan_text mpl_stored_text(mpl_stored *stored, moonplan_text text) {
    return (moonplan_text){mpl_arena_copy(&stored->texts, text.bytes, text.length), text.length};
}

moonplan_document *mpl_stored_parse(const mpl_stored *stored, moonplan_text text, const char *what,
                                    moonplan_error *err) {
    moonplan_options wide = mpl_stored_options(stored->options);
    moonplan_error why;
    moonplan_document *document = moonplan_document_parse(text.bytes, text.length, &wide, &why);
    if (document) return document;
    if (why.code == MOONPLAN_MEMORY)
        mpl_error_memory(err);
    else
        mpl_error_set(err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                      "%s in the store is no JSON text: %s", what, why.message);
    return NULL;
}

bool mpl_stored_plan(mpl_stored *stored, moonplan_text text, moonplan_error *err) {
    stored->plan = mpl_stored_parse(stored, text, "a plan", err);
    if (!stored->plan) return false;
    size_t count = moonplan_value_count(mpl_member(moonplan_document_root(stored->plan), "steps"));
    if (count == 0) {
        mpl_error_set(err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                      "a plan in the store has no steps");
        return false;
    }
    stored->job.steps = mpl_arena_take(&stored->texts, count * sizeof *stored->job.steps);
    stored->evidence = mpl_arena_take(&stored->texts, count * sizeof *stored->evidence);
    if (!stored->job.steps || !stored->evidence) {
        mpl_error_memory(err);
        return false;
    }
    stored->step_count = count;
    for (size_t n = 0; n < count; n++)
        stored->job.steps[n] = (mpl_job_step){
            .status = MOONPLAN_PENDING, .started = MOONPLAN_NO_TIME, .completed = MOONPLAN_NO_TIME};
    return true;
}

bool mpl_stored_abandon(mpl_stored *stored) {
    mpl_kept_job *job = &stored->job;
    if (job->status != MOONPLAN_CREATED && job->status != MOONPLAN_EXECUTING) return true;
    job->status = MOONPLAN_INTERRUPTED;
    moonplan_value steps = mpl_member(moonplan_document_root(stored->plan), "steps");
    for (size_t n = 0; n < stored->step_count; n++) {
        if (job->steps[n].status != MOONPLAN_RUNNING) continue;
        moonplan_error err;
        moonplan_text id =
            moonplan_value_string(mpl_member(moonplan_value_element(steps, n), "id"));
        job->status = job->steps[n].status = MOONPLAN_OUTCOME_UNKNOWN;
        mpl_outcome_unknown(&err, id);
        moonplan_text message =
            mpl_stored_text(stored, (moonplan_text){err.message, strlen(err.message)});
        if (!message.bytes) return false;
        job->failure = (moonplan_failure){.code = err.code, .message = message};
    }
    return true;
}

/* -- Machines ------------------------------------------------------------------*/

moonplan_step_plan *mpl_stored_admit(mpl_stored *stored, const mpl_admission *admission,
                                     moonplan_error *err) {
    moonplan_options wide = mpl_stored_options(stored->options);
    moonplan_document *document = stored->plan;
    stored->plan = NULL;
    return mpl_step_plan_admit(document, admission, &wide, err);
}

/* Anything goes by any name. */
typedef struct anything {
    mpl_capability view;
    moonplan_value steps;
} anything;

static const mpl_capability *find_anything(void *data, moonplan_text name, moonplan_error *err) {
    anything *any = data;
    err->code = MOONPLAN_OK;
    any->view = (mpl_capability){.name = name};
    /* Of the version that the plan asks for, if it does. */
    moonplan_walk walk = moonplan_value_walk(any->steps);
    while (moonplan_walk_next(&walk)) {
        moonplan_value named = mpl_member(walk.value, "capability"),
                       version = mpl_member(walk.value, "capabilityVersion");
        if (moonplan_value_type(version) == MOONPLAN_STRING &&
            mpl_text_equal(moonplan_value_string(named), name))
            any->view.version = moonplan_value_string(version);
    }
    return &any->view;
}

static moonplan_text no_name(void *data, size_t n) {
    (void)data;
    (void)n;
    return (moonplan_text){NULL, 0};
}

mpl_job *mpl_stored_restore(mpl_stored *stored, moonplan_step_plan *plan, moonplan_error *err) {
    if (plan->count != stored->step_count) {
        mpl_error_set(err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                      "a job in the store has %u steps, and its plan %u",
                      (uint64_t)stored->step_count, (uint64_t)plan->count);
        moonplan_step_plan_free(plan);
        return NULL;
    }
    mpl_job *job = mpl_job_restore(plan, &stored->job, stored->options, err);
    stored->job.caller = stored->job.past = NULL;
    stored->step_count = 0;
    return job;
}

mpl_job *mpl_stored_machine(mpl_stored *stored, moonplan_error *err) {
    anything any = {.steps = mpl_member(moonplan_document_root(stored->plan), "steps")};
    mpl_admission admission = {.catalogue = {find_anything, no_name, &any}};
    moonplan_error why;
    moonplan_step_plan *plan = mpl_stored_admit(stored, &admission, &why);
    if (plan) return mpl_stored_restore(stored, plan, err);
    if (why.code == MOONPLAN_MEMORY)
        mpl_error_memory(err);
    else
        mpl_error_set(err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                      "a plan in the store is none: %s", why.message);
    return NULL;
}

/* -- Out of memory's own -------------------------------------------------------*/

static bool copy_document(const mpl_stored *stored, moonplan_document **out,
                          const moonplan_document *document, moonplan_error *err) {
    if (!document) return true;
    *out = mpl_stored_parse(stored, moonplan_value_source(moonplan_document_root(document)),
                            "a value", err);
    return *out != NULL;
}

static bool copy_text(mpl_stored *stored, moonplan_text *out, moonplan_text text) {
    if (text.bytes) *out = mpl_stored_text(stored, text);
    return !text.bytes || out->bytes != NULL;
}

static bool copy_evidence(mpl_stored *stored, const mpl_job *job) {
    if (!job->evidence) return true;
    moonplan_text plan = {job->evidence->plan, MPL_DIGEST_TEXT},
                  caller = {job->evidence->caller, MPL_DIGEST_TEXT};
    plan = mpl_stored_text(stored, plan);
    caller = mpl_stored_text(stored, caller);
    if (!plan.bytes || !caller.bytes) return false;
    stored->job.plan_digest = plan.bytes;
    stored->job.caller_digest = caller.bytes;
    stored->job.evidence = stored->evidence;
    for (size_t n = 0; n < stored->step_count; n++) {
        const mpl_step_evidence *from = &job->evidence->steps[n];
        mpl_step_evidence *to = &stored->evidence[n];
        *to = *from;
        to->version = to->risk = (moonplan_text){NULL, 0};
        if (!copy_text(stored, &to->version, from->version) ||
            !copy_text(stored, &to->risk, from->risk))
            return false;
    }
    return true;
}

static moonplan_document *copy_events(const mpl_job *job, moonplan_error *err) {
    mpl_builder builder;
    mpl_build_open_around(&builder, &job->options);
    if (builder.error.code == MOONPLAN_OK) {
        mpl_build_array(&builder);
        for (size_t n = 0; n < job->event_count; n++) {
            moonplan_event event;
            mpl_job_event_view(job, &event, n);
            mpl_event_write(&builder, &event);
        }
        mpl_build_end(&builder);
    }
    return mpl_build_finish(&builder, err);
}

bool mpl_stored_copy(mpl_stored *stored, const mpl_job *job, moonplan_error *err) {
    mpl_kept_job *kept = &stored->job;
    moonplan_text id = {job->id, strlen(job->id) + 1};
    if (!mpl_stored_plan(stored, moonplan_value_source(moonplan_document_root(job->plan->document)),
                         err))
        return false;
    kept->status = job->status;
    kept->created = job->created;
    kept->started = job->started;
    kept->completed = job->completed;
    for (size_t n = 0; n < stored->step_count; n++) {
        const mpl_job_step *from = &job->steps[n];
        mpl_job_step *to = &kept->steps[n];
        *to = *from;
        to->input = to->result = NULL;
        if (!copy_document(stored, &to->input, from->input, err) ||
            !copy_document(stored, &to->result, from->result, err))
            return false;
    }
    kept->past = copy_events(job, err);
    if (!kept->past || !copy_document(stored, &kept->caller, job->caller, err)) return false;
    kept->id = mpl_stored_text(stored, id).bytes;
    bool fine = kept->id && copy_evidence(stored, job);
    if (fine && job->failure.code != MOONPLAN_OK) {
        kept->failure = mpl_job_failure(job, true);
        kept->nameless = job->failure.nameless;
        fine = copy_text(stored, &kept->failure.message, kept->failure.message) &&
               copy_text(stored, &kept->risk, (moonplan_text){job->risk, job->risk_length});
    }
    if (!fine) mpl_error_memory(err);
    return fine;
}
