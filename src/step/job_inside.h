/* What the files of the job's machine share. */
#ifndef MPL_STEP_JOB_INSIDE_H
#define MPL_STEP_JOB_INSIDE_H

#include <stdlib.h>
#include <string.h>

#include "../core/text.h"
#include "job.h"

static inline size_t mpl_evidence_size(const mpl_job *job) {
    return sizeof *job->evidence + job->plan->count * sizeof *job->evidence->steps;
}

/* A call that the state does not take is a mistake in the driver; going on would make the record
 * untrue. */
static inline void mpl_job_expect(bool holds) {
    if (!holds) abort();
}
void mpl_job_record(mpl_job *job, mpl_event_type type, int64_t now);
/* The job ends here; its last commit is wanted. */
void mpl_job_end(mpl_job *job, moonplan_status status, int64_t now);
/* Keep why a job does not go on, in the place of what was kept before. */
void mpl_job_keep_failure(mpl_job *job, const moonplan_failure *given);
/* The step and with it the job end here. */
void mpl_job_fail_step(mpl_job *job, const moonplan_failure *failure, mpl_event_type event,
                       int64_t now);
void mpl_job_drop_resolved(mpl_job *job);
/* At OUTCOME: record what the answer is; nothing at any other question. */
void mpl_job_resolved(mpl_job *job, mpl_answered answer, int64_t now);

#endif
