/* Where jobs live. The engine's loop calls these between two questions; nothing is told to anybody,
 * and no capability is called, before the call has returned true. */
#ifndef MPL_ENGINE_STORE_H
#define MPL_ENGINE_STORE_H

#include "../step/job.h"

/* What a checkpoint has to write: this step's row (SIZE_MAX: none), the job's own, and the events
 * from `first_event` on. */
typedef struct mpl_change {
    size_t step, first_event;
} mpl_change;

typedef struct mpl_store {
    void *data;
    /* What is written outlives the process: a plan's inputs are owned from submission on. */
    bool durable;
    bool (*submit)(void *data, moonplan_job *job, moonplan_error *err);
    bool (*checkpoint)(void *data, moonplan_job *job, const mpl_change *change,
                       moonplan_error *err);
    /* The last checkpoint of a job that has ended. */
    bool (*finish)(void *data, moonplan_job *job, const mpl_change *change, moonplan_error *err);
    /* The job as moonplan_job_document_new has it; NULL without an error if there is none. */
    moonplan_document *(*get)(void *data, moonplan_text id, moonplan_error *err);
    /* Write an array's elements, as mpl_job_write_line does: those that have ended in the order in
     * which they did, then those under way. */
    bool (*list)(void *data, mpl_builder *out, moonplan_error *err);
    /* The last handle of a job goes, ended or not. */
    void (*leave)(void *data, moonplan_job *job);
    void (*release)(void *data);
} mpl_store;

/* The job behind the handle, for stores. */
const mpl_job *mpl_job_of(const moonplan_job *job);

/* Keeps the jobs themselves: those under way while somebody holds them, and the last `keep` that
 * have ended. False when memory is short. */
bool mpl_store_memory(mpl_store *store, mpl_alloc *alloc, size_t keep);

#endif
