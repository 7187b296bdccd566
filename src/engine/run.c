/* The loop: what the job wants is asked, answered by the host or by the engine, and taken. */
#include <string.h>

#include "../core/text.h"
#include "approval.h"
#include "record.h"

const mpl_job *mpl_job_of(const moonplan_job *job) {
    return job->machine;
}

/* -- Admission ---------------------------------------------------------------*/

static const mpl_capability *catalogue_find(void *data, moonplan_text name, moonplan_error *err) {
    mpl_entry *entry = mpl_engine_find(data, name, err);
    return entry ? &entry->view : NULL;
}

static moonplan_text catalogue_name(void *data, size_t n) {
    const moonplan_engine *engine = data;
    if (n >= engine->registry.count) return (moonplan_text){NULL, 0};
    return engine->registry.entries[n]->view.name;
}

/* What was made from host values has no text that a place could be in. */
static void drop_offsets(moonplan_error_list *list, moonplan_error *err) {
    for (size_t i = 0; i < moonplan_error_list_count(list); i++)
        moonplan_error_list_at(list, i)->offset = MOONPLAN_NO_OFFSET;
    if (err) err->offset = MOONPLAN_NO_OFFSET;
}

static moonplan_options admission_options(const moonplan_engine *engine,
                                          const moonplan_run_options *options) {
    moonplan_options own = engine->options;
    own.errors = options ? options->errors : NULL;
    if (own.errors) *own.errors = NULL;
    return own;
}

moonplan_step_plan *mpl_engine_admit(moonplan_engine *engine, const mpl_submission *submission,
                                     const moonplan_run_options *options, moonplan_error *err) {
    moonplan_options own = admission_options(engine, options);
    mpl_admission admission = {.catalogue = {catalogue_find, catalogue_name, engine},
                               .versions = engine->versions,
                               .version_count = engine->version_count,
                               .faults = submission->faults,
                               .fault_count = submission->fault_count,
                               .powers_later = submission->powers_later};
    mpl_engine_enter(engine);
    moonplan_step_plan *plan = mpl_step_plan_admit(submission->document, &admission, &own, err);
    mpl_engine_leave(engine);
    if (submission->source.release) submission->source.release(submission->source.data);
    if (plan)
        drop_offsets(plan->warnings, NULL);
    else
        drop_offsets(own.errors ? *own.errors : NULL, err);
    return plan;
}

moonplan_step_plan *moonplan_engine_admit_new(moonplan_engine *engine, const char *text,
                                              size_t length, const moonplan_run_options *options,
                                              moonplan_error *err) {
    moonplan_options own = admission_options(engine, options);
    moonplan_document *document = moonplan_document_parse(text, length, &own, err);
    if (!document) return NULL;
    mpl_admission admission = {.catalogue = {catalogue_find, catalogue_name, engine},
                               .versions = engine->versions,
                               .version_count = engine->version_count};
    mpl_engine_enter(engine);
    moonplan_step_plan *plan = mpl_step_plan_admit(document, &admission, &own, err);
    mpl_engine_leave(engine);
    return plan;
}

/* -- Submission --------------------------------------------------------------*/

bool mpl_caller_read(const moonplan_engine *engine, moonplan_document **out, moonplan_text text,
                     moonplan_error *err) {
    *out = NULL;
    if (!text.bytes) return true;
    moonplan_error why;
    moonplan_document *caller =
        moonplan_document_parse(text.bytes, text.length, &engine->options, &why);
    if (!caller) {
        if (why.code == MOONPLAN_MEMORY)
            mpl_error_memory(err);
        else
            mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                          "the caller is no JSON text: %s", why.message);
        return false;
    }
    moonplan_type type = moonplan_value_type(moonplan_document_root(caller));
    if (type == MOONPLAN_OBJECT) {
        *out = caller;
        return true;
    }
    moonplan_document_free(caller);
    mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                  "the caller must be an object, not %s", mpl_type_text(type));
    return false;
}

static void release_source(moonplan_job *job) {
    if (!job->sourced) return;
    job->sourced = false;
    if (job->source.release) job->source.release(job->source.data);
}

void mpl_run_name_events(moonplan_job *job) {
    mpl_job *machine = job->machine;
    /* A job that comes to wait again takes back what it would have told. */
    if (job->named > machine->event_count) job->named = machine->event_count;
    for (; job->named < machine->event_count; job->named++) {
        mpl_event *event = &machine->events[job->named];
        mpl_engine_make_id(job->engine, event->time, event->id);
    }
}

static void name_due_events(moonplan_job *job) {
    const moonplan_engine *engine = job->engine;
    if (engine->make_id || engine->store.durable) mpl_run_name_events(job);
}

static void publish(moonplan_job *job) {
    mpl_job *machine = job->machine;
    while (job->published < machine->event_count) {
        moonplan_event event;
        size_t n = job->published++;
        if (job->engine->live == 0) continue;
        mpl_run_name_events(job);
        mpl_job_event_view(machine, &event, n);
        mpl_engine_publish(job->engine, job, &event);
    }
}

static void destroy(moonplan_job *job) {
    moonplan_engine *engine = job->engine;
    if (engine->store.leave) engine->store.leave(engine->store.data, job);
    release_source(job);
    mpl_answer_drop(engine, &job->answer);
    mpl_entry_release(job->capability);
    mpl_approvals_free(job->approvals);
    mpl_job_free(job->machine);
    mpl_release(&engine->alloc, job, sizeof *job);
    mpl_engine_release(engine);
}

void mpl_job_hold(moonplan_job *job) {
    job->holds++;
}

void moonplan_job_free(moonplan_job *job) {
    if (!job || --job->holds) return;
    /* What is released on the way may look at the job, but not end it again. */
    job->holds = 1;
    job->busy = true;
    destroy(job);
}

moonplan_job *mpl_run_new(moonplan_engine *engine) {
    moonplan_job *job = mpl_allocate(&engine->alloc, sizeof *job);
    if (!job) return NULL;
    *job = (moonplan_job){.engine = engine, .holds = 1};
    engine->holds++;
    return job;
}

void mpl_run_begin(moonplan_job *job, mpl_job *machine) {
    job->machine = machine;
    job->want.job = job;
    job->want.job_id = mpl_text_of(machine->id);
    job->want.caller = machine->caller ? moonplan_document_root(machine->caller)
                                       : (moonplan_value){machine->plan->document, UINT32_MAX};
}

/* The versions that the steps were admitted with, so that a resumed job can tell another one. */
static bool keep_evidence(moonplan_job *job) {
    mpl_job *machine = job->machine;
    const moonplan_engine *engine = job->engine;
    if (!mpl_job_keep_evidence(machine) ||
        !mpl_job_keep_policy(machine, engine->require_approval, engine->require_approval_count))
        return false;
    for (size_t n = 0; n < machine->plan->count; n++) {
        const mpl_entry *entry =
            mpl_registry_find(&job->engine->registry,
                              mpl_step_text(machine->plan, machine->plan->steps[n].capability));
        if (entry && !mpl_job_note(machine, n, entry->view.version, entry->view.risk)) return false;
    }
    return true;
}

bool mpl_run_twin(const moonplan_job *job, const moonplan_run_options *options, mpl_twin *twin) {
    const moonplan_step_plan *plan = job->machine->plan;
    *twin = (mpl_twin){.key = mpl_step_text(plan, plan->key)};
    return options && options->deduplicate && twin->key.bytes;
}

void mpl_run_submitted(moonplan_job *job) {
    job->busy = true;
    publish(job);
    job->busy = false;
}

/* The plan's job. Takes plan and source over. */
static moonplan_job *make(moonplan_engine *engine, moonplan_step_plan *plan,
                          const mpl_source *source, moonplan_document *caller,
                          const moonplan_run_options *options, moonplan_error *err) {
    moonplan_job *job = mpl_run_new(engine);
    if (!job) {
        if (source->release) source->release(source->data);
        moonplan_step_plan_free(plan);
        moonplan_document_free(caller);
        mpl_error_memory(err);
        return NULL;
    }
    job->source = *source;
    job->sourced = true;
    if (engine->store.durable || !source->read) release_source(job);
    char id[MOONPLAN_ID_SIZE];
    int64_t now = mpl_engine_now(engine);
    mpl_engine_make_id(engine, now, id);
    job->machine = mpl_job_new(plan, caller, id, now, &engine->options, err);
    bool fine = job->machine != NULL;
    if (fine) {
        mpl_run_begin(job, job->machine);
        name_due_events(job);
        bool evidence = engine->store.durable || engine->require_approval_count > 0 ||
                        (options && options->deduplicate);
        if (evidence && !keep_evidence(job)) {
            mpl_error_memory(err);
            fine = false;
        }
    }
    if (fine && mpl_approvals_read(&job->approvals, engine, options, err)) return job;
    moonplan_job_free(job);
    return NULL;
}

moonplan_job *mpl_run_prepare(moonplan_engine *engine, const mpl_submission *submission,
                              moonplan_text text, const moonplan_run_options *options,
                              moonplan_error *err) {
    moonplan_document *caller = NULL;
    mpl_source none = {NULL, NULL, NULL};
    bool captured = submission != NULL;
    moonplan_step_plan *plan = NULL;
    admission_options(engine, options);
    if (!mpl_caller_read(engine, &caller, options ? options->caller : (moonplan_text){NULL, 0},
                         err)) {
        if (captured) moonplan_document_free(submission->document);
    } else if (captured) {
        mpl_submission admitted = *submission;
        admitted.source = none;
        plan = mpl_engine_admit(engine, &admitted, options, err);
    } else {
        plan = moonplan_engine_admit_new(engine, text.bytes, text.length, options, err);
    }
    if (plan)
        return make(engine, plan, captured ? &submission->source : &none, caller, options, err);
    moonplan_document_free(caller);
    if (captured && submission->source.release) submission->source.release(submission->source.data);
    return NULL;
}

static moonplan_job *submit(moonplan_engine *engine, const mpl_submission *submission,
                            moonplan_text text, const moonplan_run_options *options,
                            moonplan_error *err) {
    mpl_engine_enter(engine);
    moonplan_job *job = mpl_run_prepare(engine, submission, text, options, err);
    if (job) {
        const mpl_store *store = &engine->store;
        mpl_twin twin;
        bool deduplicate = mpl_run_twin(job, options, &twin);
        bool fine =
            !store->submit || store->submit(store->data, job, deduplicate ? &twin : NULL, err);
        if (fine && !twin.found) {
            mpl_run_submitted(job);
        } else {
            moonplan_job_free(job);
            job = fine ? mpl_engine_look(engine, mpl_text_of(twin.id), err) : NULL;
        }
    }
    mpl_engine_leave(engine);
    return job;
}

moonplan_job *mpl_engine_submit(moonplan_engine *engine, const mpl_submission *submission,
                                const moonplan_run_options *options, moonplan_error *err) {
    return submit(engine, submission, (moonplan_text){NULL, 0}, options, err);
}

moonplan_job *moonplan_engine_submit_new(moonplan_engine *engine, const char *text, size_t length,
                                         const moonplan_run_options *options, moonplan_error *err) {
    return submit(engine, NULL, (moonplan_text){text, length}, options, err);
}

/* -- Answering what is left --------------------------------------------------*/

/* The step's capability, held from here to the step's end. False when it is gone, and then the job
 * has been told. */
static bool find_capability(moonplan_job *job) {
    if (job->capability) return true;
    mpl_job *machine = job->machine;
    moonplan_text name =
        mpl_step_text(machine->plan, machine->plan->steps[machine->step].capability);
    moonplan_error why;
    mpl_entry *entry = mpl_engine_find(job->engine, name, &why);
    if (entry) {
        job->capability = mpl_entry_hold(entry);
        return true;
    }
    moonplan_text reason = {NULL, 0};
    if (why.code != MOONPLAN_OK) {
        moonplan_error told;
        mpl_error_set(&told, why.code, MOONPLAN_NO_OFFSET, NULL, "%s: %s",
                      moonplan_code_name(why.code), why.message);
        why = told;
        reason = mpl_text_of(why.message);
    }
    mpl_job_gone(machine, reason, mpl_engine_now(job->engine));
    return false;
}

static bool is_read(moonplan_text risk) {
    return mpl_text_is(risk, "read");
}

/* How a step ended that was begun before the job was resumed. */
static void ask_outcome(moonplan_job *job) {
    const mpl_entry *entry = job->capability;
    if (entry && entry->check) {
        mpl_job_resolved_by(job->machine, MPL_BY_CHECK);
        entry->check(entry->data, &job->want);
    }
    /* And has said so when it was begun. */
    const mpl_evidence *evidence = job->machine->evidence;
    bool reads = entry && is_read(entry->view.risk) && (!evidence || is_read(evidence->risk));
    if (job->answer.kind == MPL_ANSWER_NONE && reads && !job->engine->keep_reads) {
        mpl_job_resolved_by(job->machine, MPL_BY_POLICY);
        moonplan_want_retry(&job->want);
    }
}

static void ask_authorizer(moonplan_job *job) {
    const moonplan_authorizer *authorizer = &job->engine->authorizer;
    if (authorizer->decide) {
        authorizer->decide(authorizer->data, &job->want);
        if (job->answer.kind == MPL_ANSWER_NONE) job->answer.kind = MPL_ANSWER_MALFORMED;
    } else {
        mpl_decide_by_risk(&job->want);
    }
}

static void call_capability(moonplan_job *job) {
    const mpl_entry *entry = job->capability;
    if (atomic_load(&job->cancel)) {
        moonplan_failure failure = {.code = MOONPLAN_JOB_CANCELLED,
                                    .message = MOONPLAN_TEXT("the job was cancelled before the "
                                                             "capability was called")};
        moonplan_want_fail_with(&job->want, &failure);
        return;
    }
    if (!entry || !entry->run) {
        moonplan_want_fail(&job->want,
                           MOONPLAN_TEXT("the host was to give the result, and gave none"));
        return;
    }
    entry->run(entry->data, &job->want);
    if (job->answer.kind == MPL_ANSWER_NONE) job->answer.kind = MPL_ANSWER_VALUE;
}

static void answer(moonplan_job *job) {
    mpl_engine_enter(job->engine);
    switch (job->want.kind) {
    case MOONPLAN_WANT_INPUT:
        if (job->sourced) job->source.read(job->source.data, &job->want);
        break;
    case MOONPLAN_WANT_DECISION:
        ask_authorizer(job);
        break;
    case MOONPLAN_WANT_RESULT:
        call_capability(job);
        break;
    case MOONPLAN_WANT_OUTCOME:
        ask_outcome(job);
        break;
    case MOONPLAN_WANT_COMMIT:
        break;
    }
    mpl_engine_leave(job->engine);
}

/* -- Taking answers ----------------------------------------------------------*/

mpl_change mpl_run_change(const moonplan_job *job) {
    const mpl_job *machine = job->machine;
    mpl_change change = {.step = machine->step, .first_event = job->published};
    const mpl_evidence *evidence = machine->evidence;
    bool begins = machine->steps[machine->step].status == MOONPLAN_RUNNING;
    if (evidence && evidence->granted[0] && begins) {
        change.approval = evidence->granted;
        change.expires = evidence->expires;
    }
    return change;
}

/* What the store is told, and what it says. */
static bool write_down(moonplan_job *job, moonplan_error *err) {
    const mpl_store *store = &job->engine->store;
    mpl_change change = mpl_run_change(job);
    bool fine;
    if (store->checkpoint) {
        /* The clock is asked meanwhile, which may end the engine, and not the store under it. */
        mpl_engine_enter(job->engine);
        fine = mpl_status_ended(job->machine->status)
                   ? store->finish(store->data, job, &change, err)
                   : store->checkpoint(store->data, job, &change, err);
        mpl_engine_leave(job->engine);
    } else {
        fine = !change.approval || !mpl_approval_is_over(job, &change, err);
    }
    if (fine) mpl_run_changed(job, &change);
    return fine;
}

void mpl_run_changed(moonplan_job *job, const mpl_change *change) {
    if (change->cancel) moonplan_job_cancel(job);
}

void mpl_run_commit(moonplan_job *job) {
    moonplan_engine *engine = job->engine;
    mpl_job *machine = job->machine;
    const mpl_answer *given = &job->answer;
    moonplan_error err;
    bool fine = true;
    if (job->written) {
        fine = job->written->fine;
        if (!fine) err = job->written->error;
        job->written = NULL;
    } else if (given->kind == MPL_ANSWER_FAIL) {
        moonplan_text message =
            given->text ? (moonplan_text){given->text, given->text_length}
                        : mpl_text_of(given->fixed ? given->fixed : "the host could not commit");
        fine = false;
        mpl_error_set(&err, given->code, MOONPLAN_NO_OFFSET, NULL, "%t", &message);
        /* Longer than an error's message: quoted, and cut where it ends. */
        if (err.message[0] == 0)
            mpl_error_set(&err, given->code, MOONPLAN_NO_OFFSET, NULL, "%q", &message);
    } else if (engine->was_durable) {
        fine = false;
        mpl_error_set(&err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL,
                      "the engine was closed, and its store with it");
    } else {
        fine = write_down(job, &err);
    }
    if (!fine) {
        if (!mpl_approval_again(job, &err)) mpl_job_stop(machine, &err);
        return;
    }
    mpl_job_commit(machine);
    publish(job);
}

static moonplan_failure failure_of(const mpl_answer *given, moonplan_code usual) {
    moonplan_failure failure = {.code = given->code ? given->code : usual};
    if (given->text) failure.message = (moonplan_text){given->text, given->text_length};
    if (given->fixed) failure.message = mpl_text_of(given->fixed);
    if (given->value) failure.detail = moonplan_document_root(given->value);
    return failure;
}

static moonplan_document *take_value(mpl_answer *given) {
    moonplan_document *value = given->value;
    given->value = NULL;
    return value;
}

static void take_decision(moonplan_job *job, int64_t now) {
    const mpl_answer *given = &job->answer;
    moonplan_failure failure;
    switch (given->kind) {
    case MPL_ANSWER_ALLOW:
        mpl_job_allow(job->machine, now);
        return;
    case MPL_ANSWER_DENY:
        mpl_job_deny(job->machine, (moonplan_text){given->text, given->text_length}, now);
        return;
    case MPL_ANSWER_FAIL:
        failure = failure_of(given, MOONPLAN_JOB_AUTHORIZER_FAILED);
        break;
    default:
        failure = (moonplan_failure){.code = MOONPLAN_JOB_DECISION_INVALID,
                                     .message = MOONPLAN_TEXT("Invalid authorization decision")};
        break;
    }
    mpl_job_fail(job->machine, &failure, now);
}

static void take(moonplan_job *job) {
    mpl_answer *given = &job->answer;
    moonplan_failure failure;
    if (job->want.kind == MOONPLAN_WANT_COMMIT) {
        mpl_run_commit(job);
        return;
    }
    int64_t now = mpl_engine_now(job->engine);
    if (job->want.kind == MOONPLAN_WANT_DECISION) {
        take_decision(job, now);
    } else if (job->want.kind == MOONPLAN_WANT_OUTCOME && given->kind == MPL_ANSWER_NONE) {
        mpl_job_unknown(job->machine, (moonplan_text){given->text, given->text_length}, now);
    } else if (given->kind == MPL_ANSWER_RETRY) {
        mpl_job_retry(job->machine, now);
    } else if (given->kind == MPL_ANSWER_FAIL) {
        failure = failure_of(given, job->want.kind == MOONPLAN_WANT_INPUT
                                        ? MOONPLAN_JOB_INPUT_TYPE
                                        : MOONPLAN_JOB_CAPABILITY_FAILED);
        mpl_job_fail(job->machine, &failure, now);
    } else if (job->want.kind == MOONPLAN_WANT_INPUT) {
        bool read = given->kind == MPL_ANSWER_VALUE;
        mpl_job_input(job->machine, &job->capability->view, read, take_value(given), now);
        moonplan_error err;
        if (job->machine->wants == MPL_WANTS_DECISION && !mpl_approval_settle(job, &err))
            mpl_job_stop(job->machine, &err);
    } else {
        mpl_job_result(job->machine, take_value(given), now);
    }
}

/* What is asked next; false when there is nothing any more. */
static bool ask(moonplan_job *job) {
    static const moonplan_wanted kinds[] = {
        [MPL_WANTS_NOTHING] = (moonplan_wanted)0,      [MPL_WANTS_INPUT] = MOONPLAN_WANT_INPUT,
        [MPL_WANTS_DECISION] = MOONPLAN_WANT_DECISION, [MPL_WANTS_COMMIT] = MOONPLAN_WANT_COMMIT,
        [MPL_WANTS_RESULT] = MOONPLAN_WANT_RESULT,     [MPL_WANTS_OUTCOME] = MOONPLAN_WANT_OUTCOME};
    const mpl_job *machine = job->machine;
    const mpl_step *step = &machine->plan->steps[machine->step];
    moonplan_want *want = &job->want;
    moonplan_text none = {NULL, 0};
    want->kind = kinds[machine->wants];
    /* The capability is let go where the machine has let it go. */
    if (!machine->capability) {
        mpl_entry_release(job->capability);
        job->capability = NULL;
    }
    if (machine->wants == MPL_WANTS_NOTHING) return false;
    const mpl_entry *entry = job->capability;
    want->step = machine->step;
    want->step_id = mpl_step_text(machine->plan, step->id);
    want->capability = mpl_step_text(machine->plan, step->capability);
    want->version = entry ? entry->view.version : none;
    want->risk = entry ? entry->view.risk : none;
    want->input = machine->resolved.value;
    return true;
}

/* One that waits as it did before writes nothing, and is nobody's all the same. */
static void give_back(moonplan_job *job) {
    const mpl_job *machine = job->machine;
    const mpl_store *store = &job->engine->store;
    bool ours = job->place == MPL_UNDER_WAY || job->leased;
    if (machine->wants == MPL_WANTS_NOTHING && mpl_status_waits(machine->status) && ours &&
        store->leave)
        store->leave(store->data, job);
}

moonplan_want *moonplan_job_next(moonplan_job *job) {
    if (job->busy) return NULL;
    job->busy = true;
    mpl_job_hold(job);
    if (job->want.kind) {
        if (job->want.kind == MOONPLAN_WANT_INPUT && atomic_load(&job->cancel)) {
            mpl_job_cancel(job->machine, mpl_engine_now(job->engine));
        } else if (job->want.kind != MOONPLAN_WANT_INPUT || find_capability(job)) {
            /* An input is only read for a capability that is there. */
            if (job->want.kind == MOONPLAN_WANT_OUTCOME)
                mpl_job_resolved_by(job->machine, MPL_BY_HOST);
            if (job->answer.kind == MPL_ANSWER_NONE) answer(job);
            take(job);
        }
        give_back(job);
        mpl_answer_drop(job->engine, &job->answer);
        name_due_events(job);
    }
    bool more = ask(job);
    if (!more) release_source(job);
    job->busy = false;
    bool last = job->holds == 1;
    moonplan_job_free(job);
    return more && !last ? &job->want : NULL;
}

bool mpl_job_drive(moonplan_job *job, moonplan_error *err) {
    while (moonplan_job_next(job)) continue;
    return !moonplan_job_stopped(job, err);
}

moonplan_job *moonplan_engine_run(moonplan_engine *engine, const char *text, size_t length,
                                  const moonplan_run_options *options, moonplan_error *err) {
    moonplan_job *job = moonplan_engine_submit_new(engine, text, length, options, err);
    if (!job || mpl_job_drive(job, err)) return job;
    moonplan_job_free(job);
    return NULL;
}

/* -- Looking -----------------------------------------------------------------*/

bool moonplan_job_stopped(const moonplan_job *job, moonplan_error *err) {
    if (job->machine->stopped.code == MOONPLAN_OK) return false;
    if (err) *err = job->machine->stopped;
    return true;
}

moonplan_text moonplan_job_id(const moonplan_job *job) {
    return mpl_text_of(job->machine->id);
}

moonplan_status moonplan_job_status(const moonplan_job *job) {
    return job->machine->status;
}

const moonplan_step_plan *moonplan_job_plan(const moonplan_job *job) {
    return job->machine->plan;
}

bool moonplan_job_error(const moonplan_job *job, moonplan_failure *out) {
    *out = mpl_job_failure(job->machine, false);
    return out->code != MOONPLAN_OK;
}

size_t moonplan_job_step_count(const moonplan_job *job) {
    return job->machine->plan->count;
}

bool moonplan_job_step(const moonplan_job *job, moonplan_step *out, size_t n) {
    if (n >= job->machine->plan->count) return false;
    mpl_job_step_view(job->machine, out, n);
    return true;
}

size_t moonplan_job_event_count(const moonplan_job *job) {
    return job->machine->event_count;
}

/* Looking at events may be what makes their ids. */
static void name_for_look(const moonplan_job *job) {
    mpl_run_name_events((moonplan_job *)(uintptr_t)job);
}

bool moonplan_job_event(const moonplan_job *job, moonplan_event *out, size_t n) {
    if (n >= job->machine->event_count) return false;
    name_for_look(job);
    mpl_job_event_view(job->machine, out, n);
    return true;
}

moonplan_document *moonplan_job_result_new(const moonplan_job *job, moonplan_error *err) {
    const mpl_job *machine = job->machine;
    if (err) err->code = MOONPLAN_OK;
    if (machine->status != MOONPLAN_COMPLETED) return NULL;
    if (machine->plan->count == 1 && !machine->steps[0].result) return NULL;
    mpl_builder builder;
    mpl_build_open_around(&builder, &machine->options);
    if (builder.error.code == MOONPLAN_OK) mpl_job_write_result(&builder, machine);
    return mpl_build_finish(&builder, err);
}

moonplan_document *moonplan_job_document_new(const moonplan_job *job, moonplan_error *err) {
    mpl_builder builder;
    name_for_look(job);
    mpl_build_open_around(&builder, &job->machine->options);
    if (builder.error.code == MOONPLAN_OK) mpl_job_write(&builder, job->machine);
    return mpl_build_finish(&builder, err);
}
