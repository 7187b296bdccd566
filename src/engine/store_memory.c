#include "../core/text.h"
#include "job.h"

/* Jobs as lists through the jobs themselves. Those that have ended are held; those under way belong
 * to their hosts and leave with them. */
typedef struct jobs {
    moonplan_job *first, *last;
} jobs;

typedef struct memory {
    mpl_alloc *alloc;
    size_t keep, kept;
    jobs under_way, ended;
} memory;

static void take_out(jobs *list, moonplan_job *job) {
    *(job->before ? &job->before->after : &list->first) = job->after;
    *(job->after ? &job->after->before : &list->last) = job->before;
    job->before = job->after = NULL;
}

static void put_last(jobs *list, moonplan_job *job) {
    job->before = list->last;
    *(list->last ? &list->last->after : &list->first) = job;
    list->last = job;
}

static const moonplan_job *find(const jobs *list, moonplan_text id) {
    for (const moonplan_job *job = list->first; job; job = job->after)
        if (mpl_text_equal(moonplan_job_id(job), id)) return job;
    return NULL;
}

static bool submit(void *data, moonplan_job *job, moonplan_error *err) {
    memory *store = data;
    moonplan_text id = moonplan_job_id(job);
    /* The engine's own ids do not repeat themselves, so only a host's are looked for. */
    if (job->engine->make_id && (find(&store->ended, id) || find(&store->under_way, id))) {
        mpl_error_set(err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL,
                      "there is a job %q already", &id);
        return false;
    }
    put_last(&store->under_way, job);
    job->place = MPL_UNDER_WAY;
    return true;
}

static bool checkpoint(void *data, moonplan_job *job, const mpl_change *change,
                       moonplan_error *err) {
    (void)data;
    (void)job;
    (void)change;
    (void)err;
    return true;
}

static void leave(void *data, moonplan_job *job) {
    memory *store = data;
    if (job->place == MPL_NOWHERE) return;
    take_out(job->place == MPL_ENDED ? &store->ended : &store->under_way, job);
    job->place = MPL_NOWHERE;
}

static bool finish(void *data, moonplan_job *job, const mpl_change *change, moonplan_error *err) {
    memory *store = data;
    (void)change;
    (void)err;
    take_out(&store->under_way, job);
    put_last(&store->ended, job);
    job->place = MPL_ENDED;
    mpl_job_hold(job);
    if (store->kept < store->keep) {
        store->kept++;
        return true;
    }
    moonplan_job *oldest = store->ended.first;
    leave(store, oldest);
    moonplan_job_free(oldest);
    return true;
}

static moonplan_document *get(void *data, moonplan_text id, moonplan_error *err) {
    const memory *store = data;
    const moonplan_job *job = find(&store->ended, id);
    if (!job) job = find(&store->under_way, id);
    return job ? moonplan_job_document_new(job, err) : NULL;
}

static void list_jobs(const jobs *list, mpl_builder *out) {
    for (const moonplan_job *job = list->first; job; job = job->after)
        mpl_job_write_line(out, job->machine);
}

static bool list(void *data, mpl_builder *out, moonplan_error *err) {
    const memory *store = data;
    (void)err;
    list_jobs(&store->ended, out);
    list_jobs(&store->under_way, out);
    return true;
}

static void release(void *data) {
    memory *store = data;
    mpl_alloc *alloc = store->alloc;
    while (store->under_way.first) leave(store, store->under_way.first);
    while (store->ended.first) {
        moonplan_job *job = store->ended.first;
        leave(store, job);
        moonplan_job_free(job);
    }
    mpl_release(alloc, store, sizeof *store);
}

bool mpl_store_memory(mpl_store *store, mpl_alloc *alloc, size_t keep) {
    memory *made = mpl_allocate(alloc, sizeof *made);
    if (!made) return false;
    *made = (memory){.alloc = alloc, .keep = keep};
    *store = (mpl_store){made, false, submit, checkpoint, finish, get, list, leave, release};
    return true;
}
