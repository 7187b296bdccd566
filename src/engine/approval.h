/* Approvals: what somebody has signed, and whether it lets a step run. */
#ifndef MPL_ENGINE_APPROVAL_H
#define MPL_ENGINE_APPROVAL_H

#include "job.h"

/* The context of the signature. */
#define MPL_APPROVAL_CONTEXT "moonplan-approval-1"

typedef struct mpl_approvals mpl_approvals;

/* Read and verify those of a run; *out is NULL where there are none. */
bool mpl_approvals_read(mpl_approvals **out, moonplan_engine *engine,
                        const moonplan_run_options *options, moonplan_error *err);
void mpl_approvals_free(mpl_approvals *approvals);

/* The machine wants a decision: grant what approval there is, or, where one is required and there
 * is none, make it wait. False with *err when the store could not say. */
bool mpl_approval_settle(moonplan_job *job, moonplan_error *err);

/* What the store says of the approval that the step was to begin with: when that is spent, or its
 * time over, the step begins with another one that was given, or waits; what is to be committed is
 * another thing then. False when the refusal is about something else. */
bool mpl_approval_again(moonplan_job *job, const moonplan_error *refusal);

/* What the signature is over: the canonical text without the member `signature`. */
bool mpl_approval_text(mpl_buffer *out, moonplan_value document);

#endif
