/* Where jobs live. The engine's loop calls these between two questions; nothing is told to anybody,
 * and no capability is called, before the call has returned true.
 *
 * Every function is one transaction: all of it is written or, with false and *err, nothing. What
 * the rows of a store say is put together in record.h and stored.h, so that a store has to know
 * how to keep them and nothing else. */
#ifndef MPL_ENGINE_STORE_H
#define MPL_ENGINE_STORE_H

#include "stored.h"

/* What a checkpoint has to write: this step's row (SIZE_MAX: none), the job's own, and the events
 * from `first_event` on. */
typedef struct mpl_change {
    size_t step, first_event;
    /* The step begins with this approval, which is marked as used: approval.used when it was
     * before, and approval.expired when its time is over by then (mpl_approval_is_over). NULL:
     * without. */
    const char *approval;
    int64_t expires;
    bool cancel; /* comes out: somebody wants the job to end */
} mpl_change;

/* A submission that asks for the job that was made of the same plan before: the first one of those
 * with its plan digest and caller, whether that one asked or not. */
typedef struct mpl_twin {
    moonplan_text key;
    bool found;                /* comes out: nothing was submitted, because there is */
    char id[MOONPLAN_ID_SIZE]; /* this one */
} mpl_twin;

/* One of several things that are written together. */
typedef struct mpl_write {
    moonplan_job *job;
    enum { MPL_WRITE_JOB, MPL_WRITE_CHANGE } what;
    mpl_twin *twin; /* MPL_WRITE_JOB: a new job; NULL: as in `submit` */
    mpl_change
        change;  /* MPL_WRITE_CHANGE: as in `checkpoint` or, of one that has ended, `finish` */
    int64_t row; /* the store's own */
} mpl_write;
#define MPL_WRITE_NONE SIZE_MAX

typedef bool (*mpl_key_sink)(void *data, moonplan_text key, size_t size);

typedef struct mpl_store {
    void *data;
    /* What is written outlives the process: a plan's inputs are owned from submission on. */
    bool durable;
    /* A new job, which belongs to this store's owner from now on. With a twin, where all jobs of
     * its key have another plan digest or caller: store.conflict. */
    bool (*submit)(void *data, moonplan_job *job, mpl_twin *twin, moonplan_error *err);
    /* Both are for the job's owner alone, and renew its lease: store.conflict when it has lost it.
     * A job that waits belongs to nobody afterwards. */
    bool (*checkpoint)(void *data, moonplan_job *job, mpl_change *change, moonplan_error *err);
    /* The last checkpoint of a job that has ended. */
    bool (*finish)(void *data, moonplan_job *job, mpl_change *change, moonplan_error *err);
    /* Several of these of different jobs in one transaction, as if one came after the other. With
     * false nothing is written: *failed is the one that could not be, and the others can be tried
     * without it; MPL_WRITE_NONE when it is none of them. NULL: they may come one by one. */
    bool (*write)(void *data, mpl_write *list, size_t count, size_t *failed, moonplan_error *err);
    /* A job as it stands; *found false if there is none. `stored` is open and empty. A job that was
     * left in the middle is told as one (mpl_stored_abandon). */
    bool (*load)(void *data, moonplan_text id, mpl_stored *stored, bool *found,
                 moonplan_error *err);
    /* The same, and take it over, unless it has ended: stored->claimed. store.locked when it is
     * somebody else's. What comes out is as it was written down. */
    bool (*claim)(void *data, moonplan_text id, mpl_stored *stored, bool *found,
                  moonplan_error *err);
    /* A claimed job lives on as this one, or, after all, does not. */
    void (*adopt)(void *data, const mpl_stored *stored, moonplan_job *job);
    void (*yield)(void *data, const mpl_stored *stored);
    /* Write an array's elements, as mpl_job_write_line does. */
    bool (*list)(void *data, const moonplan_job_filter *filter, mpl_builder *out,
                 moonplan_error *err);
    /* Ask whoever runs the job to end it: *running. Nothing happens when nobody does. */
    bool (*cancel)(void *data, moonplan_text id, bool *running, moonplan_error *err);
    /* Whether that has been asked of a job of ours; a look, without a promise. */
    bool (*cancelled)(void *data, const moonplan_job *job);
    /* Whether an approval was used: for this step, or in another job. */
    bool (*used)(void *data, const char *approval, const moonplan_job *job, size_t step, bool *used,
                 moonplan_error *err);
    /* The last handle of a job goes, ended or not. */
    void (*leave)(void *data, moonplan_job *job);
    void (*release)(void *data);
    /* Values by key, in spaces that do not see each other (the power kv: a plugin's name). Keys are
     * UTF-8, values any bytes; who asks bounds both. Each call is a transaction of its own. */
    bool (*kv_get)(void *data, moonplan_text space, moonplan_text key, mpl_buffer *out, bool *found,
                   moonplan_error *err);
    /* NULL: delete, whether there is one or not. */
    bool (*kv_set)(void *data, moonplan_text space, moonplan_text key, const moonplan_text *value,
                   moonplan_error *err);
    /* The keys of a space, sorted by bytes, with the sizes of their values, until `each` says
     * false. The store must not be asked for anything meanwhile. */
    bool (*kv_list)(void *data, moonplan_text space, mpl_key_sink each, void *each_data,
                    moonplan_error *err);
    /* NULL: the store keeps no audit trail. */
    const struct mpl_trail *trail;
} mpl_store;

/* The job behind the handle, for stores. */
const mpl_job *mpl_job_of(const moonplan_job *job);

/* Keeps the jobs themselves: those under way while somebody holds them, those that wait, and the
 * last `keep` that have ended. False when memory is short. */
bool mpl_store_memory(mpl_store *store, mpl_alloc *alloc, size_t keep);

#endif
