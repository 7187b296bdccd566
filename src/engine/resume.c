/* Jobs that are in the store: looked at, resumed, resolved, cancelled. */
#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "approval.h"
#include "audit.h"

static void not_found(moonplan_error *err, moonplan_text id) {
    mpl_error_set(err, MOONPLAN_JOB_NOT_FOUND, MOONPLAN_NO_OFFSET, NULL,
                  "there is no job %q in the store", &id);
}

/* -- Looking -------------------------------------------------------------------*/

/* NULL with MOONPLAN_OK where there is none. */
static mpl_job *load(const moonplan_engine *engine, moonplan_text id, moonplan_error *err) {
    mpl_stored stored;
    bool found = false;
    mpl_job *machine = NULL;
    moonplan_error why = {.code = MOONPLAN_OK};
    if (engine->store.load) {
        mpl_stored_open(&stored, &engine->options);
        if (engine->store.load(engine->store.data, id, &stored, &found, &why) && found)
            machine = mpl_stored_machine(&stored, &why);
        mpl_stored_close(&stored);
    }
    if (err) *err = why;
    return machine;
}

mpl_job *mpl_engine_machine(const moonplan_engine *engine, moonplan_text id, moonplan_error *err) {
    moonplan_error why;
    mpl_job *machine = load(engine, id, &why);
    if (!machine && why.code == MOONPLAN_OK) not_found(&why, id);
    if (!machine && err) *err = why;
    return machine;
}

moonplan_document *moonplan_engine_job_new(const moonplan_engine *engine, const char *id,
                                           size_t length, moonplan_error *err) {
    mpl_job *machine = load(engine, (moonplan_text){id, length}, err);
    if (!machine) return NULL;
    mpl_builder builder;
    mpl_build_open_around(&builder, &engine->options);
    if (builder.error.code == MOONPLAN_OK) mpl_job_write(&builder, machine);
    mpl_job_free(machine);
    return mpl_build_finish(&builder, err);
}

/* A handle for a machine that is taken over. */
static moonplan_job *handle(moonplan_engine *engine, mpl_job *machine, moonplan_error *err) {
    moonplan_job *job = mpl_run_new(engine);
    if (!job) {
        mpl_job_free(machine);
        mpl_error_memory(err);
        return NULL;
    }
    job->named = job->published = machine->event_count;
    mpl_run_begin(job, machine);
    return job;
}

moonplan_job *mpl_engine_look(moonplan_engine *engine, moonplan_text id, moonplan_error *err) {
    mpl_job *machine = mpl_engine_machine(engine, id, err);
    return machine ? handle(engine, machine, err) : NULL;
}

/* -- Taking over ---------------------------------------------------------------*/

static bool claim(moonplan_engine *engine, moonplan_text id, mpl_stored *stored,
                  moonplan_error *err) {
    bool found = false;
    if (!engine->store.claim) {
        not_found(err, id);
        return false;
    }
    /* A step that was completed may look as if it had never been begun. */
    if (!mpl_audit_one(engine, id, err)) return false;
    if (!engine->store.claim(engine->store.data, id, stored, &found, err)) return false;
    if (!found) {
        not_found(err, id);
        return false;
    }
    if (stored->claimed) return true;
    mpl_error_set(err, MOONPLAN_JOB_STATE, MOONPLAN_NO_OFFSET, NULL,
                  "the job %q is %s, and nothing is left of it to be done", &id,
                  moonplan_status_name(stored->job.status));
    return false;
}

/* The claimed job in a handle of its own, about to go on. */
static moonplan_job *take_over(moonplan_engine *engine, mpl_stored *stored, mpl_job *machine,
                               moonplan_error *err) {
    moonplan_job *job = handle(engine, machine, err);
    if (!job) return NULL;
    if (!mpl_job_resume(machine, mpl_engine_now(engine))) {
        mpl_error_memory(err);
        moonplan_job_free(job);
        return NULL;
    }
    mpl_run_name_events(job);
    if (stored->cancel) moonplan_job_cancel(job);
    engine->store.adopt(engine->store.data, stored, job);
    stored->claimed = false;
    return job;
}

/* Let go of what was not taken over. */
static void let_go(moonplan_engine *engine, mpl_stored *stored) {
    if (stored->claimed && engine->store.yield) engine->store.yield(engine->store.data, stored);
    mpl_stored_close(stored);
}

/* -- Admitting again -----------------------------------------------------------*/

typedef struct again {
    moonplan_engine *engine;
    const mpl_stored *stored;
    moonplan_value steps;
    mpl_capability past; /* of steps that are done with */
} again;

static moonplan_text capability_of(moonplan_value step) {
    return moonplan_value_string(mpl_member(step, "capability"));
}

/* Whether one of the steps that are yet to come needs it. */
static bool is_needed(const again *a, moonplan_text name) {
    for (size_t n = 0; n < a->stored->step_count; n++)
        if (a->stored->job.steps[n].status != MOONPLAN_COMPLETED &&
            mpl_text_equal(capability_of(moonplan_value_element(a->steps, n)), name))
            return true;
    return false;
}

static const mpl_capability *find_again(void *data, moonplan_text name, moonplan_error *err) {
    again *a = data;
    err->code = MOONPLAN_OK;
    if (is_needed(a, name)) {
        const mpl_entry *entry = mpl_engine_find(a->engine, name, err);
        return entry ? &entry->view : NULL;
    }
    a->past = (mpl_capability){.name = name};
    for (size_t n = 0; n < a->stored->step_count; n++) {
        moonplan_value step = moonplan_value_element(a->steps, n),
                       version = mpl_member(step, "capabilityVersion");
        if (moonplan_value_type(version) == MOONPLAN_STRING &&
            mpl_text_equal(capability_of(step), name))
            a->past.version = moonplan_value_string(version);
    }
    return &a->past;
}

static moonplan_text name_again(void *data, size_t n) {
    const again *a = data;
    const mpl_registry *registry = &a->engine->registry;
    return n < registry->count ? registry->entries[n]->view.name : (moonplan_text){NULL, 0};
}

/* What is yet to come is to be done by what was there when the plan was admitted. */
static bool check_versions(const again *a, moonplan_error *err) {
    const mpl_stored *stored = a->stored;
    for (size_t n = 0; n < stored->step_count; n++) {
        if (stored->job.steps[n].status == MOONPLAN_COMPLETED) continue;
        moonplan_error why;
        moonplan_value step = moonplan_value_element(a->steps, n);
        moonplan_text id = moonplan_value_string(mpl_member(step, "id")),
                      name = capability_of(step);
        const mpl_entry *entry = mpl_engine_find(a->engine, name, &why);
        if (!entry) {
            moonplan_text reason =
                mpl_text_of(why.code == MOONPLAN_OK ? "is not there any more" : why.message);
            mpl_error_set(err,
                          why.code == MOONPLAN_MEMORY ? why.code : MOONPLAN_JOB_CAPABILITY_GONE,
                          MOONPLAN_NO_OFFSET, NULL, "the capability %q of step %q %s%s%s%t", &name,
                          &id, why.code == MOONPLAN_OK ? "" : "cannot be used: ",
                          why.code == MOONPLAN_OK ? "" : moonplan_code_name(why.code),
                          why.code == MOONPLAN_OK ? "" : ": ", &reason);
            return false;
        }
        if (!stored->job.evidence) continue;
        moonplan_text then = stored->job.evidence[n].version, now = entry->view.version;
        if (then.bytes ? now.bytes && mpl_text_equal(then, now) : !now.bytes) continue;
        moonplan_text none = MOONPLAN_TEXT("no version");
        mpl_error_set(err, MOONPLAN_JOB_CAPABILITY_GONE, MOONPLAN_NO_OFFSET, NULL,
                      "step %q was admitted with %q, version %t; what is there now is version %t",
                      &id, &name, then.bytes ? &then : &none, now.bytes ? &now : &none);
        return false;
    }
    return true;
}

static mpl_job *admit_again(moonplan_engine *engine, mpl_stored *stored, moonplan_error *err) {
    again a = {.engine = engine,
               .stored = stored,
               .steps = mpl_member(moonplan_document_root(stored->plan), "steps")};
    if (!check_versions(&a, err)) return NULL;
    mpl_admission admission = {.catalogue = {find_again, name_again, &a},
                               .versions = engine->versions,
                               .version_count = engine->version_count};
    moonplan_step_plan *plan = mpl_stored_admit(stored, &admission, err);
    return plan ? mpl_stored_restore(stored, plan, err) : NULL;
}

moonplan_job *moonplan_engine_resume_new(moonplan_engine *engine, const char *id, size_t length,
                                         const moonplan_run_options *options, moonplan_error *err) {
    mpl_stored stored;
    mpl_approvals *approvals;
    moonplan_error own;
    if (!err) err = &own;
    if (options && options->errors) *options->errors = NULL;
    mpl_engine_enter(engine);
    moonplan_job *job = NULL;
    if (mpl_approvals_read(&approvals, engine, options, err)) {
        mpl_stored_open(&stored, &engine->options);
        if (claim(engine, (moonplan_text){id, length}, &stored, err)) {
            mpl_job *machine = admit_again(engine, &stored, err);
            if (machine) job = take_over(engine, &stored, machine, err);
        }
        let_go(engine, &stored);
        if (job)
            job->approvals = approvals;
        else
            mpl_approvals_free(approvals);
    }
    mpl_engine_leave(engine);
    return job;
}

moonplan_job *moonplan_engine_resume(moonplan_engine *engine, const char *id, size_t length,
                                     const moonplan_run_options *options, moonplan_error *err) {
    moonplan_job *job = moonplan_engine_resume_new(engine, id, length, options, err);
    if (!job || mpl_job_drive(job, err)) return job;
    moonplan_job_free(job);
    return NULL;
}

/* -- Resolving and cancelling --------------------------------------------------*/

/* A claimed job whose next step may be decided about, whatever is registered. */
static moonplan_job *take_over_as_is(moonplan_engine *engine, moonplan_text id,
                                     moonplan_error *err) {
    mpl_stored stored;
    moonplan_job *job = NULL;
    mpl_stored_open(&stored, &engine->options);
    if (claim(engine, id, &stored, err)) {
        mpl_job *machine = mpl_stored_machine(&stored, err);
        if (machine) job = take_over(engine, &stored, machine, err);
    }
    let_go(engine, &stored);
    return job;
}

/* Commit what the machine wants to have committed; false with *err. */
static bool settle(moonplan_job *job, moonplan_error *err) {
    mpl_run_name_events(job);
    if (job->machine->wants == MPL_WANTS_COMMIT) {
        job->busy = true;
        mpl_run_commit(job);
        job->busy = false;
    }
    return !moonplan_job_stopped(job, err);
}

static bool check_unknown(const mpl_job *machine, moonplan_text step_id, moonplan_error *err) {
    const mpl_step *step = &machine->plan->steps[machine->step];
    moonplan_text id = mpl_step_text(machine->plan, step->id);
    bool unknown = machine->steps[machine->step].status == MOONPLAN_OUTCOME_UNKNOWN;
    if (unknown && mpl_text_equal(id, step_id)) return true;
    if (unknown)
        mpl_error_set(err, MOONPLAN_JOB_STATE, MOONPLAN_NO_OFFSET, NULL,
                      "the outcome of step %q is known, or not yet due; unknown is that of %q",
                      &step_id, &id);
    else
        mpl_error_set(err, MOONPLAN_JOB_STATE, MOONPLAN_NO_OFFSET, NULL,
                      "no step of the job has an unknown outcome");
    return false;
}

/* The value that was handed in as the step's result. */
static bool read_result(const moonplan_engine *engine, const mpl_capability *capability,
                        moonplan_text text, moonplan_document **out, moonplan_error *err) {
    moonplan_error why;
    *out = NULL;
    if (text.bytes) {
        *out = moonplan_document_parse(text.bytes, text.length, &engine->options, err);
        if (!*out) return false;
        uint64_t most = engine->options.limits.result_bytes;
        if ((*out)->text_length > most) {
            mpl_error_set(err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                          "the result has %u bytes, more than the limit result_bytes allows: %u",
                          (uint64_t)(*out)->text_length, most);
            return false;
        }
    }
    if (mpl_schema_fits(capability->output, *out, capability->name, &why)) return true;
    *err = why;
    return false;
}

static bool resolve(moonplan_job *job, moonplan_text step_id, moonplan_resolution resolution,
                    moonplan_text text, moonplan_error *err) {
    mpl_job *machine = job->machine;
    moonplan_engine *engine = job->engine;
    moonplan_document *result = NULL;
    moonplan_error why;
    if (!check_unknown(machine, step_id, err)) return false;
    moonplan_text name =
        mpl_step_text(machine->plan, machine->plan->steps[machine->step].capability);
    const mpl_entry *entry = mpl_engine_find(engine, name, &why);
    mpl_capability any = {.name = name};
    if (machine->evidence) {
        any.version = machine->evidence->steps[machine->step].version;
        any.risk = machine->evidence->steps[machine->step].risk;
    }
    bool same_version = entry && any.version.bytes && entry->view.version.bytes
                            ? mpl_text_equal(any.version, entry->view.version)
                            : entry && !any.version.bytes == !entry->view.version.bytes;
    /* Another version's results may look otherwise. */
    if (same_version) any.output = entry->output;
    if (resolution == MOONPLAN_RESOLVE_COMPLETED &&
        !read_result(engine, &any, text, &result, err)) {
        moonplan_document_free(result);
        return false;
    }
    int64_t now = mpl_engine_now(engine);
    mpl_job_input(machine, &any, false, NULL, now);
    if (machine->wants == MPL_WANTS_OUTCOME) {
        moonplan_failure failure = {.code = MOONPLAN_JOB_CAPABILITY_FAILED,
                                    .message = text,
                                    .detail = {machine->plan->document, UINT32_MAX}};
        mpl_job_resolved_by(machine, MPL_BY_HOST);
        if (resolution == MOONPLAN_RESOLVE_COMPLETED) {
            mpl_job_result(machine, result, now);
            result = NULL;
        } else if (resolution == MOONPLAN_RESOLVE_FAILED) {
            mpl_job_fail(machine, &failure, now);
        } else {
            mpl_job_retry(machine, now);
        }
    }
    moonplan_document_free(result);
    if (!settle(job, err)) return false;
    /* Somebody was told that it would end before its next step. */
    if (!atomic_load(&job->cancel) || machine->wants != MPL_WANTS_INPUT) return true;
    mpl_job_cancel(machine, now);
    return settle(job, err);
}

bool moonplan_engine_resolve(moonplan_engine *engine, const char *id, size_t length,
                             moonplan_text step_id, moonplan_resolution resolution,
                             moonplan_text text, moonplan_error *err) {
    moonplan_error own;
    if (!err) err = &own;
    mpl_engine_enter(engine);
    moonplan_job *job = take_over_as_is(engine, (moonplan_text){id, length}, err);
    bool fine = job && resolve(job, step_id, resolution, text, err);
    moonplan_job_free(job);
    mpl_engine_leave(engine);
    return fine;
}

bool moonplan_engine_cancel(moonplan_engine *engine, const char *id, size_t length,
                            moonplan_error *err) {
    moonplan_text name = {id, length};
    bool running = false, fine = true;
    moonplan_error own;
    if (!err) err = &own;
    mpl_engine_enter(engine);
    if (engine->store.cancel) fine = engine->store.cancel(engine->store.data, name, &running, err);
    if (fine && !running) {
        moonplan_job *job = take_over_as_is(engine, name, err);
        fine = job != NULL;
        if (job) {
            mpl_job_cancel(job->machine, mpl_engine_now(engine));
            fine = settle(job, err);
        }
        moonplan_job_free(job);
    }
    mpl_engine_leave(engine);
    return fine;
}
