/* The job: a state machine without I/O.
 *
 * It never calls anybody. It says what it wants next and is told the answer; ids and times are
 * given by the driver. So any host can drive it, a store can write it down between two questions,
 * and a test can play any answer.
 *
 *   INPUT     mpl_job_input, mpl_job_gone or mpl_job_fail
 *   DECISION  mpl_job_allow, mpl_job_deny or mpl_job_fail
 *   COMMIT    mpl_job_commit or mpl_job_stop
 *   RESULT    mpl_job_result or mpl_job_fail
 *   NOTHING   completed, failed or stopped
 *
 * An answer that the state does not take is a bad call and traps. All memory for events is taken
 * when the job is made, and a text that cannot be kept for want of memory is replaced by a fixed
 * one, so that an answer can always be taken and nothing that happened goes unrecorded. */
#ifndef MPL_STEP_JOB_H
#define MPL_STEP_JOB_H

#include "plan.h"
#include "reference.h"

typedef enum mpl_wants {
    MPL_WANTS_NOTHING,
    MPL_WANTS_INPUT,
    MPL_WANTS_DECISION,
    MPL_WANTS_COMMIT,
    MPL_WANTS_RESULT
} mpl_wants;

/* The failure that ended a job, as it is kept. */
typedef struct mpl_failure {
    moonplan_code code;
    moonplan_text message; /* `held`, or a constant */
    char *held;
    size_t held_size;
    moonplan_document *detail;
    bool nameless; /* it came without a message */
} mpl_failure;

typedef struct mpl_job_step {
    moonplan_status status;
    bool read; /* `input` counts, NULL or not */
    int64_t started, completed;
    moonplan_document *input;  /* what the host read late, instead of the plan's; NULL: nothing */
    moonplan_document *result; /* NULL: none */
} mpl_job_step;

typedef enum mpl_event_type {
    MPL_JOB_CREATED,
    MPL_EXECUTION_STARTED,
    MPL_CAPABILITY_STARTED,
    MPL_CAPABILITY_COMPLETED,
    MPL_CAPABILITY_DENIED,
    MPL_CAPABILITY_FAILED,
    MPL_JOB_COMPLETED,
    MPL_JOB_FAILED
} mpl_event_type;

typedef struct mpl_event {
    int64_t time;
    uint32_t step;
    uint8_t type; /* mpl_event_type */
    bool reason;  /* CAPABILITY_DENIED: the step's message is the authorizer's reason */
    char id[MOONPLAN_ID_SIZE];
} mpl_event;

typedef struct mpl_job {
    mpl_alloc alloc;
    moonplan_options options; /* alloc and limits */
    moonplan_step_plan *plan;
    moonplan_document *caller; /* NULL: none */
    char id[MOONPLAN_ID_SIZE];
    moonplan_status status;
    int64_t created, started, completed;
    mpl_job_step *steps; /* plan->count */
    mpl_event *events;   /* room for all that can happen */
    size_t event_count, event_room;
    mpl_failure failure;    /* of a failed job, and of its failed step if there is one */
    moonplan_error stopped; /* code MOONPLAN_OK: not stopped */
    /* Where it stands. */
    mpl_wants wants;
    size_t step;
    const mpl_capability *capability; /* the step's, from INPUT to the answer of RESULT */
    mpl_resolved resolved;            /* its input */
    char *risk;                       /* its risk, as it was then */
    size_t risk_length, risk_size;
} mpl_job;

/* Takes plan and caller over, also when memory is short. */
mpl_job *mpl_job_new(moonplan_step_plan *plan, moonplan_document *caller, const char *id,
                     int64_t now, const moonplan_options *options, moonplan_error *err);
void mpl_job_free(mpl_job *job);

/* The step's capability, which has to live until the next INPUT or the end; and its input: with
 * `read` the document `late` (taken over; NULL: none), else the plan's. */
void mpl_job_input(mpl_job *job, const mpl_capability *capability, bool read,
                   moonplan_document *late, int64_t now);
/* The capability is not there any more; `why` may be {NULL, 0}. */
void mpl_job_gone(mpl_job *job, moonplan_text why, int64_t now);
void mpl_job_allow(mpl_job *job, int64_t now);
void mpl_job_deny(mpl_job *job, moonplan_text reason, int64_t now);
/* The answer is a failure; the code is taken as it is. A message {NULL, 0} is the contract's fixed
 * text, which differs between step and job. */
void mpl_job_fail(mpl_job *job, const moonplan_failure *failure, int64_t now);
/* A copy of a failure's detail. One that cannot be kept is replaced by the reason; NULL for
 * MOONPLAN_NONE, or without memory even for that. */
moonplan_document *mpl_detail_keep(moonplan_value detail, const moonplan_options *options);
void mpl_job_commit(mpl_job *job);
void mpl_job_stop(mpl_job *job, const moonplan_error *err);
/* Taken over; NULL: none. */
void mpl_job_result(mpl_job *job, moonplan_document *result, int64_t now);

/* The input as it is written: what was read late, or the plan's. */
moonplan_value mpl_job_step_input(const mpl_job *job, size_t n);
moonplan_value mpl_job_step_result(const mpl_job *job, size_t n);
/* The failure of a failed job, as its step tells it or as the job does. */
moonplan_failure mpl_job_failure(const mpl_job *job, bool of_step);
void mpl_job_step_view(const mpl_job *job, moonplan_step *out, size_t n);
void mpl_job_event_view(const mpl_job *job, moonplan_event *out, size_t n);

/* The whole job, one event, and the time as RFC 3339 has it, as JSON (step/job_write.c). */
void mpl_job_write(mpl_builder *out, const mpl_job *job);
/* The only step's result, or the array of all. */
void mpl_job_write_result(mpl_builder *out, const mpl_job *job);
/* A line of a list of jobs: id, status, goal, created, completed. */
void mpl_job_write_line(mpl_builder *out, const mpl_job *job);
void mpl_event_write(mpl_builder *out, const moonplan_event *event);
void mpl_failure_write(mpl_builder *out, const moonplan_failure *failure);
/* 24 bytes and a NUL; years outside 0000 to 9999 are held at the ends. */
void mpl_time_write(char out[25], int64_t time);
/* A builder for a document around others, which have been held to these limits one by one: a few
 * more levels may be open, and their values are not counted again. */
void mpl_build_open_around(mpl_builder *out, const moonplan_options *options);

#endif
