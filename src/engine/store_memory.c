#include <string.h>

#include "../core/text.h"
#include "job.h"
#include "kv_memory.h"
#include "record.h"

/* Jobs as lists through the jobs themselves. Those that have ended or wait are held; those under
 * way belong to their hosts and leave with them. */
typedef struct jobs {
    moonplan_job *first, *last;
} jobs;

/* An approval that a step has run with. */
typedef struct use {
    char approval[MPL_DIGEST_TEXT], job[MOONPLAN_ID_SIZE];
    size_t step;
} use;

typedef struct memory {
    mpl_alloc *alloc;
    size_t keep, kept;
    int64_t last_row; /* jobs, from 1, in the order in which they came */
    jobs under_way, waiting, ended;
    use *uses;
    size_t use_count, use_capacity;
    mpl_kv kv;
} memory;

static jobs *list_of(memory *store, const moonplan_job *job) {
    return job->place == MPL_UNDER_WAY ? &store->under_way
           : job->place == MPL_WAITING ? &store->waiting
                                       : &store->ended;
}

static void take_out(memory *store, moonplan_job *job) {
    jobs *list = list_of(store, job);
    *(job->before ? &job->before->after : &list->first) = job->after;
    *(job->after ? &job->after->before : &list->last) = job->before;
    job->before = job->after = NULL;
    job->place = MPL_NOWHERE;
}

static void put_last(memory *store, moonplan_job *job, unsigned place) {
    job->place = place;
    jobs *list = list_of(store, job);
    job->before = list->last;
    *(list->last ? &list->last->after : &list->first) = job;
    list->last = job;
}

static moonplan_job *find_in(const jobs *list, moonplan_text id) {
    for (moonplan_job *job = list->first; job; job = job->after)
        if (mpl_text_equal(moonplan_job_id(job), id)) return job;
    return NULL;
}

static moonplan_job *find(const memory *store, moonplan_text id) {
    moonplan_job *job = find_in(&store->ended, id);
    if (!job) job = find_in(&store->under_way, id);
    return job ? job : find_in(&store->waiting, id);
}

/* -- Submission ----------------------------------------------------------------*/

/* Those with the twin's key, as far as they have been looked at: the first one that it is, and the
 * first that it is not, with its plan's digest. */
typedef struct twins {
    const moonplan_job *same, *other;
    char plan[MPL_DIGEST_TEXT];
} twins;

/* A job that nobody wanted evidence of has no digests yet. */
static bool digest(mpl_alloc *alloc, const mpl_job *machine, char plan[MPL_DIGEST_TEXT],
                   char caller[MPL_DIGEST_TEXT]) {
    if (machine->evidence) {
        memcpy(plan, machine->evidence->plan, MPL_DIGEST_TEXT);
        memcpy(caller, machine->evidence->caller, MPL_DIGEST_TEXT);
        return true;
    }
    caller[0] = 0;
    return moonplan_step_plan_digest(machine->plan, plan) &&
           (!machine->caller ||
            mpl_digest_value(caller, moonplan_document_root(machine->caller), alloc));
}

static bool look_for_twins(mpl_alloc *alloc, const jobs *list, const mpl_twin *twin,
                           const moonplan_job *wanted, twins *out) {
    for (const moonplan_job *job = list->first; job; job = job->after) {
        const mpl_job *machine = job->machine;
        char plan[MPL_DIGEST_TEXT], caller[MPL_DIGEST_TEXT];
        moonplan_text key = mpl_step_text(machine->plan, machine->plan->key);
        if (!key.bytes || !mpl_text_equal(key, twin->key)) continue;
        if (!digest(alloc, machine, plan, caller)) return false;
        const moonplan_job **first = mpl_twin_is(plan, caller, wanted) ? &out->same : &out->other;
        if (*first && (*first)->row <= job->row) continue;
        *first = job;
        if (first == &out->other) memcpy(out->plan, plan, sizeof out->plan);
    }
    return true;
}

static bool find_twin(const memory *store, mpl_twin *twin, const moonplan_job *job,
                      moonplan_error *err) {
    const jobs *const all[] = {&store->ended, &store->waiting, &store->under_way};
    twins found = {.same = NULL};
    for (size_t i = 0; i < 3; i++) {
        if (look_for_twins(store->alloc, all[i], twin, job, &found)) continue;
        mpl_error_memory(err);
        return false;
    }
    if (found.same)
        mpl_twin_found(twin, found.same->machine->id);
    else if (found.other)
        mpl_twin_refuse(twin, found.other->machine->id, found.plan, job, err);
    return found.same || !found.other;
}

static bool submit(void *data, moonplan_job *job, mpl_twin *twin, moonplan_error *err) {
    memory *store = data;
    moonplan_text id = moonplan_job_id(job);
    /* The engine's own ids do not repeat themselves, so only a host's are looked for. */
    if (job->engine->make_id && find(store, id)) {
        mpl_error_set(err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL,
                      "there is a job %q already", &id);
        return false;
    }
    if (twin && !find_twin(store, twin, job, err)) return false;
    if (twin && twin->found) return true;
    job->row = ++store->last_row;
    put_last(store, job, MPL_UNDER_WAY);
    return true;
}

/* Take out one that is held. */
static void drop(memory *store, moonplan_job *job) {
    take_out(store, job);
    moonplan_job_free(job);
}

/* What is written about a resumed job takes the place of what was. */
static void replace(memory *store, moonplan_job *job) {
    moonplan_job *old = job->waits;
    job->waits = NULL;
    if (old) drop(store, old);
}

/* -- Changes -------------------------------------------------------------------*/

static bool is_used(const memory *store, const char *approval, const char *job, size_t step) {
    for (size_t i = 0; i < store->use_count; i++) {
        const use *one = &store->uses[i];
        if (memcmp(one->approval, approval, MPL_DIGEST_TEXT) == 0 &&
            (one->step == step || strcmp(one->job, job) != 0))
            return true;
    }
    return false;
}

static bool used(void *data, const char *approval, const moonplan_job *job, size_t step, bool *out,
                 moonplan_error *err) {
    (void)err;
    *out = is_used(data, approval, job->machine->id, step);
    return true;
}

static bool mark_used(memory *store, const moonplan_job *job, const mpl_change *change,
                      moonplan_error *err) {
    const char *id = job->machine->id;
    if (mpl_approval_is_over(job, change, err)) return false;
    if (is_used(store, change->approval, id, change->step)) {
        mpl_approval_used(err, job, change->step);
        return false;
    }
    if (!mpl_grow(store->alloc, (void **)&store->uses, &store->use_capacity, store->use_count + 1,
                  sizeof *store->uses)) {
        mpl_error_memory(err);
        return false;
    }
    use *one = &store->uses[store->use_count++];
    memcpy(one->approval, change->approval, sizeof one->approval);
    memcpy(one->job, id, strlen(id) + 1);
    one->step = change->step;
    return true;
}

static bool checkpoint(void *data, moonplan_job *job, mpl_change *change, moonplan_error *err) {
    memory *store = data;
    if (change->approval && !mark_used(store, job, change, err)) return false;
    replace(store, job);
    if (job->place != MPL_UNDER_WAY || !mpl_status_waits(job->machine->status)) return true;
    /* It is held, so that it can be resumed when its host has let it go. */
    take_out(store, job);
    put_last(store, job, MPL_WAITING);
    mpl_job_hold(job);
    return true;
}

static bool finish(void *data, moonplan_job *job, mpl_change *change, moonplan_error *err) {
    memory *store = data;
    (void)change;
    (void)err;
    if (job->place != MPL_UNDER_WAY) return true;
    replace(store, job);
    take_out(store, job);
    put_last(store, job, MPL_ENDED);
    mpl_job_hold(job);
    if (store->kept < store->keep)
        store->kept++;
    else
        drop(store, store->ended.first);
    return true;
}

static void leave(void *data, moonplan_job *job) {
    if (job->waits) {
        job->waits->resumed = false;
        if (atomic_load(&job->cancel)) moonplan_job_cancel(job->waits);
    }
    job->waits = NULL;
    if (job->place != MPL_NOWHERE) take_out(data, job);
}

/* -- Looking -------------------------------------------------------------------*/

static bool load(void *data, moonplan_text id, mpl_stored *stored, bool *found,
                 moonplan_error *err) {
    moonplan_job *job = find(data, id);
    *found = job != NULL;
    if (job) mpl_run_name_events(job);
    return !job || mpl_stored_copy(stored, job->machine, err);
}

static bool claim(void *data, moonplan_text id, mpl_stored *stored, bool *found,
                  moonplan_error *err) {
    memory *store = data;
    if (find_in(&store->under_way, id)) {
        mpl_error_set(err, MOONPLAN_STORE_LOCKED, MOONPLAN_NO_OFFSET, NULL,
                      "the job %q is under way in this engine", &id);
        return false;
    }
    const moonplan_job *job = find_in(&store->waiting, id);
    stored->claimed = job != NULL;
    stored->cancel = job && atomic_load(&job->cancel);
    return load(data, id, stored, found, err);
}

static void adopt(void *data, const mpl_stored *stored, moonplan_job *job) {
    memory *store = data;
    (void)stored;
    moonplan_job *old = find_in(&store->waiting, moonplan_job_id(job));
    if (old) {
        job->row = old->row;
        job->waits = old;
        old->resumed = true;
    }
    put_last(store, job, MPL_UNDER_WAY);
}

static void yield(void *data, const mpl_stored *stored) {
    (void)data;
    (void)stored;
}

static void list_jobs(const jobs *list, const moonplan_job_filter *filter, size_t *skip,
                      mpl_builder *out) {
    for (const moonplan_job *job = list->first; job; job = job->after) {
        if (job->resumed || !mpl_filter_takes(filter, job->machine)) continue;
        if (*skip > 0)
            --*skip;
        else
            mpl_job_write_line(out, job->machine);
    }
}

static size_t count_jobs(const jobs *list, const moonplan_job_filter *filter) {
    size_t count = 0;
    for (const moonplan_job *job = list->first; job; job = job->after)
        count += !job->resumed && mpl_filter_takes(filter, job->machine);
    return count;
}

static bool list(void *data, const moonplan_job_filter *filter, mpl_builder *out,
                 moonplan_error *err) {
    const memory *store = data;
    const jobs *const all[] = {&store->ended, &store->waiting, &store->under_way};
    (void)err;
    size_t skip = 0;
    if (filter && filter->most) {
        for (size_t i = 0; i < 3; i++) skip += count_jobs(all[i], filter);
        skip = skip > filter->most ? skip - filter->most : 0;
    }
    for (size_t i = 0; i < 3; i++) list_jobs(all[i], filter, &skip, out);
    return true;
}

static bool cancel(void *data, moonplan_text id, bool *running, moonplan_error *err) {
    memory *store = data;
    (void)err;
    moonplan_job *job = find_in(&store->under_way, id);
    *running = job != NULL;
    if (job) moonplan_job_cancel(job);
    return true;
}

static void release(void *data) {
    memory *store = data;
    mpl_alloc *alloc = store->alloc;
    while (store->under_way.first) leave(store, store->under_way.first);
    while (store->waiting.first) drop(store, store->waiting.first);
    while (store->ended.first) drop(store, store->ended.first);
    mpl_release(alloc, store->uses, store->use_capacity * sizeof *store->uses);
    mpl_kv_close(&store->kv);
    mpl_release(alloc, store, sizeof *store);
}

/* -- Values by key -------------------------------------------------------------*/

static bool kv_get(void *data, moonplan_text space, moonplan_text key, mpl_buffer *out, bool *found,
                   moonplan_error *err) {
    const memory *store = data;
    return mpl_kv_get(&store->kv, space, key, out, found, err);
}

static bool kv_set(void *data, moonplan_text space, moonplan_text key, const moonplan_text *value,
                   moonplan_error *err) {
    memory *store = data;
    return mpl_kv_set(&store->kv, space, key, value, err);
}

static bool kv_list(void *data, moonplan_text space, mpl_key_sink each, void *each_data,
                    moonplan_error *err) {
    const memory *store = data;
    (void)err;
    mpl_kv_list(&store->kv, space, each, each_data);
    return true;
}

bool mpl_store_memory(mpl_store *store, mpl_alloc *alloc, size_t keep) {
    memory *made = mpl_allocate(alloc, sizeof *made);
    if (!made) return false;
    *made = (memory){.alloc = alloc, .keep = keep};
    mpl_kv_open(&made->kv, alloc);
    *store = (mpl_store){.data = made,
                         .submit = submit,
                         .checkpoint = checkpoint,
                         .finish = finish,
                         .load = load,
                         .claim = claim,
                         .adopt = adopt,
                         .yield = yield,
                         .list = list,
                         .cancel = cancel,
                         .used = used,
                         .leave = leave,
                         .release = release,
                         .kv_get = kv_get,
                         .kv_set = kv_set,
                         .kv_list = kv_list};
    return true;
}
