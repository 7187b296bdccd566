/* Many jobs at once: each goes on by itself, and what they want to have committed is committed
 * together. */
#include <string.h>

#include "../core/text.h"
#include "job.h"

/* Jobs that are under way at the same time. More of them share a commit's price among more, and are
 * more whose outcome is unknown when the machine stops between a commit and what was begun with
 * it. */
#define TOGETHER 64

typedef struct lane {
    size_t run; /* which of the runs */
    moonplan_job *job;
    mpl_twin twin;
    mpl_written written;
} lane;

/* A run whose job there was already. */
typedef struct repeated {
    size_t run;
    char id[MOONPLAN_ID_SIZE];
} repeated;

typedef struct many {
    moonplan_engine *engine;
    moonplan_run *runs;
    const mpl_submission *const *captured; /* NULL, or of each run; NULL: its plan is a text */
    size_t count, next;
    lane *lanes;       /* the first `used` have a job that wants to have something committed */
    mpl_write *writes; /* what that is, in the same order */
    size_t room, used;
    repeated *repeated;
    size_t repeated_count, repeated_capacity;
} many;

/* -- Writing -------------------------------------------------------------------*/

static bool write_one(const mpl_store *store, mpl_write *write, moonplan_error *err) {
    if (write->what == MPL_WRITE_JOB)
        return !store->submit || store->submit(store->data, write->job, write->twin, err);
    if (!store->checkpoint) return true;
    return mpl_status_ended(write->job->machine->status)
               ? store->finish(store->data, write->job, &write->change, err)
               : store->checkpoint(store->data, write->job, &write->change, err);
}

/* One that could not be written leaves the others alone: they are written without it. */
static void write_together(many *m) {
    const mpl_store *store = &m->engine->store;
    lane *at[TOGETHER];
    mpl_write list[TOGETHER];
    size_t count = m->used, failed;
    for (size_t i = 0; i < count; i++) {
        at[i] = &m->lanes[i];
        list[i] = m->writes[i];
    }
    while (count > 0) {
        moonplan_error err;
        bool fine = store->write(store->data, list, count, &failed, &err);
        for (size_t i = 0; i < count; i++) {
            if (!fine && failed != MPL_WRITE_NONE && i != failed) continue;
            at[i]->written.fine = fine;
            if (!fine) at[i]->written.error = err;
            m->writes[at[i] - m->lanes] = list[i];
        }
        if (fine || failed == MPL_WRITE_NONE) return;
        count--;
        for (size_t i = failed; i < count; i++) {
            at[i] = at[i + 1];
            list[i] = list[i + 1];
        }
    }
}

static void write_all(many *m) {
    const mpl_store *store = &m->engine->store;
    if (store->write) {
        write_together(m);
        return;
    }
    for (size_t i = 0; i < m->used; i++)
        m->lanes[i].written.fine = write_one(store, &m->writes[i], &m->lanes[i].written.error);
}

/* -- Going on ------------------------------------------------------------------*/

/* The jobs that come in. */
static void fill(many *m) {
    while (m->used < m->room && m->next < m->count) {
        size_t n = m->next++;
        moonplan_run *run = &m->runs[n];
        const mpl_submission *submission = m->captured ? m->captured[n] : NULL;
        moonplan_job *job =
            mpl_run_prepare(m->engine, submission, run->plan, run->options, &run->error);
        if (!job) continue;
        lane *into = &m->lanes[m->used];
        bool deduplicate = mpl_run_twin(job, run->options, &into->twin);
        into->run = n;
        into->job = job;
        m->writes[m->used] = (mpl_write){
            .job = job, .what = MPL_WRITE_JOB, .twin = deduplicate ? &into->twin : NULL};
        m->used++;
    }
}

static void look_at(many *m, size_t run, const char *id) {
    moonplan_run *of = &m->runs[run];
    of->job = mpl_engine_look(m->engine, (moonplan_text){id, strlen(id)}, &of->error);
}

/* What there was is looked at when all have come to their ends: it may be one of these. Where one
 * ends before the next begins it is looked at now: a store in memory keeps only so many. */
static void keep_repeated(many *m, const lane *one) {
    if (!m->engine->store.write) {
        look_at(m, one->run, one->twin.id);
        return;
    }
    if (!mpl_grow(&m->engine->alloc, (void **)&m->repeated, &m->repeated_capacity,
                  m->repeated_count + 1, sizeof *m->repeated)) {
        mpl_error_memory(&m->runs[one->run].error);
        return;
    }
    repeated *kept = &m->repeated[m->repeated_count++];
    kept->run = one->run;
    memcpy(kept->id, one->twin.id, sizeof kept->id);
}

static void look_at_repeated(many *m) {
    for (size_t i = 0; i < m->repeated_count; i++)
        look_at(m, m->repeated[i].run, m->repeated[i].id);
}

/* Tell what has been committed, and go on to what is to be committed next; false when there is
 * nothing more, and then the run has what came of it. */
static bool go_on(many *m, lane *one, mpl_write *write) {
    moonplan_run *run = &m->runs[one->run];
    moonplan_job *job = one->job;
    const moonplan_want *want;
    if (write->what == MPL_WRITE_JOB) {
        if (!one->written.fine || one->twin.found) {
            if (one->written.fine)
                keep_repeated(m, one);
            else
                run->error = one->written.error;
            moonplan_job_free(job);
            return false;
        }
        mpl_run_submitted(job);
    } else {
        if (one->written.fine) mpl_run_changed(job, &write->change);
        job->written = &one->written;
    }
    do want = moonplan_job_next(job);
    while (want && want->kind != MOONPLAN_WANT_COMMIT);
    if (want) {
        write->what = MPL_WRITE_CHANGE;
        write->twin = NULL;
        write->change = mpl_run_change(job);
        return true;
    }
    if (moonplan_job_stopped(job, &run->error))
        moonplan_job_free(job);
    else
        run->job = job;
    return false;
}

static void advance(many *m) {
    size_t kept = 0;
    for (size_t i = 0; i < m->used; i++) {
        if (!go_on(m, &m->lanes[i], &m->writes[i])) continue;
        if (kept != i) {
            m->lanes[kept] = m->lanes[i];
            m->writes[kept] = m->writes[i];
        }
        kept++;
    }
    m->used = kept;
}

static void give_up(many *m) {
    for (size_t n = 0; n < m->count; n++) {
        const mpl_submission *submission = m->captured ? m->captured[n] : NULL;
        if (submission) {
            moonplan_document_free(submission->document);
            if (submission->source.release) submission->source.release(submission->source.data);
        }
        mpl_error_memory(&m->runs[n].error);
    }
}

size_t mpl_engine_run_many(moonplan_engine *engine, moonplan_run *runs,
                           const mpl_submission *const *captured, size_t count) {
    many m = {.engine = engine, .runs = runs, .captured = captured, .count = count, .room = 1};
    if (engine->store.write) m.room = count < TOGETHER ? count : TOGETHER;
    for (size_t n = 0; n < count; n++) {
        runs[n].job = NULL;
        runs[n].error.code = MOONPLAN_OK;
    }
    if (count == 0) return 0;
    mpl_engine_enter(engine);
    m.lanes = mpl_allocate(&engine->alloc, m.room * sizeof *m.lanes);
    m.writes = mpl_allocate(&engine->alloc, m.room * sizeof *m.writes);
    if (m.lanes && m.writes) {
        for (fill(&m); m.used > 0; fill(&m)) {
            write_all(&m);
            advance(&m);
        }
        look_at_repeated(&m);
    } else {
        give_up(&m);
    }
    mpl_release(&engine->alloc, m.lanes, m.room * sizeof *m.lanes);
    mpl_release(&engine->alloc, m.writes, m.room * sizeof *m.writes);
    mpl_release(&engine->alloc, m.repeated, m.repeated_capacity * sizeof *m.repeated);
    size_t jobs = 0;
    for (size_t n = 0; n < count; n++) jobs += runs[n].job != NULL;
    mpl_engine_leave(engine);
    return jobs;
}

size_t moonplan_engine_run_many(moonplan_engine *engine, moonplan_run *runs, size_t count) {
    return mpl_engine_run_many(engine, runs, NULL, count);
}
