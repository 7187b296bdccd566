/* The loop: what the job wants is asked, answered by the host or by the engine, and taken. */
#include <string.h>

#include "../core/text.h"
#include "job.h"

static moonplan_text text_of(const char *literal) {
    return (moonplan_text){literal, strlen(literal)};
}

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
                               .fault_count = submission->fault_count};
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

static bool read_caller(const moonplan_engine *engine, moonplan_document **out, moonplan_text text,
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

static void name_events(moonplan_job *job) {
    mpl_job *machine = job->machine;
    for (; job->named < machine->event_count; job->named++) {
        mpl_event *event = &machine->events[job->named];
        mpl_engine_make_id(job->engine, event->time, event->id);
    }
}

static void publish(moonplan_job *job) {
    mpl_job *machine = job->machine;
    while (job->published < machine->event_count) {
        moonplan_event event;
        mpl_job_event_view(machine, &event, job->published++);
        mpl_engine_publish(job->engine, job, &event);
    }
}

static void destroy(moonplan_job *job) {
    moonplan_engine *engine = job->engine;
    if (engine->store.leave) engine->store.leave(engine->store.data, job);
    release_source(job);
    mpl_answer_drop(engine, &job->answer);
    mpl_entry_release(job->capability);
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

/* Takes plan and source over. */
static moonplan_job *start(moonplan_engine *engine, moonplan_step_plan *plan,
                           const mpl_source *source, moonplan_document *caller,
                           moonplan_error *err) {
    moonplan_job *job = mpl_allocate(&engine->alloc, sizeof *job);
    if (!job) {
        if (source->release) source->release(source->data);
        moonplan_step_plan_free(plan);
        moonplan_document_free(caller);
        mpl_error_memory(err);
        return NULL;
    }
    *job = (moonplan_job){.engine = engine, .holds = 1, .source = *source, .sourced = true};
    engine->holds++;
    if (engine->store.durable || !source->read) release_source(job);
    char id[MOONPLAN_ID_SIZE];
    int64_t now = mpl_engine_now(engine);
    mpl_engine_make_id(engine, now, id);
    job->machine = mpl_job_new(plan, caller, id, now, &engine->options, err);
    if (job->machine) {
        job->want.job = job;
        job->want.job_id = text_of(job->machine->id);
        job->want.caller =
            caller ? moonplan_document_root(caller) : (moonplan_value){plan->document, UINT32_MAX};
        name_events(job);
        if (!engine->store.submit || engine->store.submit(engine->store.data, job, err)) {
            job->busy = true;
            publish(job);
            job->busy = false;
            return job;
        }
    }
    moonplan_job_free(job);
    return NULL;
}

static moonplan_job *submit(moonplan_engine *engine, const mpl_submission *submission,
                            const char *text, size_t length, const moonplan_run_options *options,
                            moonplan_error *err) {
    moonplan_document *caller = NULL;
    mpl_source none = {NULL, NULL, NULL};
    bool captured = submission != NULL;
    mpl_engine_enter(engine);
    moonplan_job *job = NULL;
    moonplan_step_plan *plan = NULL;
    admission_options(engine, options);
    if (!read_caller(engine, &caller, options ? options->caller : (moonplan_text){NULL, 0}, err)) {
        if (captured) moonplan_document_free(submission->document);
    } else if (captured) {
        mpl_submission admitted = *submission;
        admitted.source = none;
        plan = mpl_engine_admit(engine, &admitted, options, err);
    } else {
        plan = moonplan_engine_admit_new(engine, text, length, options, err);
    }
    if (plan) {
        job = start(engine, plan, captured ? &submission->source : &none, caller, err);
    } else {
        moonplan_document_free(caller);
        if (captured && submission->source.release)
            submission->source.release(submission->source.data);
    }
    mpl_engine_leave(engine);
    return job;
}

moonplan_job *mpl_engine_submit(moonplan_engine *engine, const mpl_submission *submission,
                                const moonplan_run_options *options, moonplan_error *err) {
    return submit(engine, submission, NULL, 0, options, err);
}

moonplan_job *moonplan_engine_submit_new(moonplan_engine *engine, const char *text, size_t length,
                                         const moonplan_run_options *options, moonplan_error *err) {
    return submit(engine, NULL, text, length, options, err);
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
    if (why.code != MOONPLAN_OK) reason = text_of(why.message);
    mpl_job_gone(machine, reason, mpl_engine_now(job->engine));
    return false;
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
    case MOONPLAN_WANT_COMMIT:
        break;
    }
    mpl_engine_leave(job->engine);
}

/* -- Taking answers ----------------------------------------------------------*/

static void commit(moonplan_job *job) {
    moonplan_engine *engine = job->engine;
    mpl_job *machine = job->machine;
    const mpl_answer *given = &job->answer;
    moonplan_error err = {.code = MOONPLAN_OK};
    bool fine = true;
    if (given->kind == MPL_ANSWER_FAIL) {
        moonplan_text message =
            given->text ? (moonplan_text){given->text, given->text_length}
                        : text_of(given->fixed ? given->fixed : "the host could not commit");
        fine = false;
        mpl_error_set(&err, given->code, MOONPLAN_NO_OFFSET, NULL, "%t", &message);
        /* Longer than an error's message: quoted, and cut where it ends. */
        if (err.message[0] == 0)
            mpl_error_set(&err, given->code, MOONPLAN_NO_OFFSET, NULL, "%q", &message);
    } else if (engine->was_durable) {
        fine = false;
        mpl_error_set(&err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL,
                      "the engine was closed, and its store with it");
    } else if (engine->store.checkpoint) {
        mpl_change change = {machine->step, job->published};
        fine = machine->status == MOONPLAN_EXECUTING
                   ? engine->store.checkpoint(engine->store.data, job, &change, &err)
                   : engine->store.finish(engine->store.data, job, &change, &err);
    }
    if (!fine) {
        mpl_job_stop(machine, &err);
        return;
    }
    mpl_job_commit(machine);
    publish(job);
}

static moonplan_failure failure_of(const mpl_answer *given, moonplan_code usual) {
    moonplan_failure failure = {.code = given->code ? given->code : usual};
    if (given->text) failure.message = (moonplan_text){given->text, given->text_length};
    if (given->fixed) failure.message = text_of(given->fixed);
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
        commit(job);
        return;
    }
    int64_t now = mpl_engine_now(job->engine);
    if (job->want.kind == MOONPLAN_WANT_DECISION) {
        take_decision(job, now);
    } else if (given->kind == MPL_ANSWER_FAIL) {
        failure = failure_of(given, job->want.kind == MOONPLAN_WANT_INPUT
                                        ? MOONPLAN_JOB_INPUT_TYPE
                                        : MOONPLAN_JOB_CAPABILITY_FAILED);
        mpl_job_fail(job->machine, &failure, now);
    } else if (job->want.kind == MOONPLAN_WANT_INPUT) {
        bool read = given->kind == MPL_ANSWER_VALUE;
        mpl_job_input(job->machine, &job->capability->view, read, take_value(given), now);
    } else {
        mpl_job_result(job->machine, take_value(given), now);
    }
}

/* What is asked next; false when there is nothing any more. */
static bool ask(moonplan_job *job) {
    static const moonplan_wanted kinds[] = {[MPL_WANTS_NOTHING] = (moonplan_wanted)0,
                                            [MPL_WANTS_INPUT] = MOONPLAN_WANT_INPUT,
                                            [MPL_WANTS_DECISION] = MOONPLAN_WANT_DECISION,
                                            [MPL_WANTS_COMMIT] = MOONPLAN_WANT_COMMIT,
                                            [MPL_WANTS_RESULT] = MOONPLAN_WANT_RESULT};
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

moonplan_want *moonplan_job_next(moonplan_job *job) {
    if (job->busy) return NULL;
    job->busy = true;
    mpl_job_hold(job);
    if (job->want.kind) {
        /* An input is only read for a capability that is there. */
        if (job->want.kind != MOONPLAN_WANT_INPUT || find_capability(job)) {
            if (job->answer.kind == MPL_ANSWER_NONE) answer(job);
            take(job);
        }
        mpl_answer_drop(job->engine, &job->answer);
        name_events(job);
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
    return text_of(job->machine->id);
}

moonplan_status moonplan_job_status(const moonplan_job *job) {
    return job->machine->status;
}

const moonplan_step_plan *moonplan_job_plan(const moonplan_job *job) {
    return job->machine->plan;
}

bool moonplan_job_error(const moonplan_job *job, moonplan_failure *out) {
    if (job->machine->status != MOONPLAN_FAILED) return false;
    *out = mpl_job_failure(job->machine, false);
    return true;
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

bool moonplan_job_event(const moonplan_job *job, moonplan_event *out, size_t n) {
    if (n >= job->machine->event_count) return false;
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
    mpl_build_open_around(&builder, &job->machine->options);
    if (builder.error.code == MOONPLAN_OK) mpl_job_write(&builder, job->machine);
    return mpl_build_finish(&builder, err);
}

const char *moonplan_status_name(moonplan_status status) {
    static const char *const names[] = {
        [MOONPLAN_CREATED] = "created",     [MOONPLAN_EXECUTING] = "executing",
        [MOONPLAN_PENDING] = "pending",     [MOONPLAN_RUNNING] = "running",
        [MOONPLAN_COMPLETED] = "completed", [MOONPLAN_FAILED] = "failed"};
    size_t n = (size_t)status;
    return n >= 1 && n < sizeof names / sizeof *names ? names[n] : "unknown";
}
