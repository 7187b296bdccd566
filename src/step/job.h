/* The job: a state machine without I/O.
 *
 * It never calls anybody. It says what it wants next and is told the answer; ids and times are
 * given by the driver. So any host can drive it, a store can write it down between two questions,
 * and a test can play any answer.
 *
 *   INPUT     mpl_job_input, mpl_job_gone, mpl_job_cancel or mpl_job_fail
 *   DECISION  mpl_job_allow, mpl_job_deny, mpl_job_await, mpl_job_cancel or mpl_job_fail
 *   COMMIT    mpl_job_commit, mpl_job_withdraw or mpl_job_stop
 *   RESULT    mpl_job_result or mpl_job_fail
 *   OUTCOME   mpl_job_result, mpl_job_retry, mpl_job_unknown or mpl_job_fail
 *   NOTHING   completed, failed, cancelled, stopped, or waiting to be resumed
 *
 * OUTCOME is asked of a step that was begun before the job was resumed (mpl_job_resume), in the
 * place of DECISION.
 *
 * An answer that the state does not take is a bad call and traps. All memory for events is taken
 * when the job is made, and a text that cannot be kept for want of memory is replaced by a fixed
 * one, so that an answer can always be taken and nothing that happened goes unrecorded. */
#ifndef MPL_STEP_JOB_H
#define MPL_STEP_JOB_H

#include "../core/digest.h"
#include "plan.h"
#include "reference.h"

typedef enum mpl_wants {
    MPL_WANTS_NOTHING,
    MPL_WANTS_INPUT,
    MPL_WANTS_DECISION,
    MPL_WANTS_COMMIT,
    MPL_WANTS_RESULT,
    MPL_WANTS_OUTCOME
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
    bool read;       /* `input` counts, NULL or not */
    bool digested;   /* `digest` counts: its capability's, when it was started */
    char digest[64]; /* 32 bytes in hexadecimal */
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
    MPL_JOB_FAILED,
    MPL_PLUGIN_LOADED, /* of no job, so that none ever records it */
    MPL_PLUGIN_REFUSED,
    MPL_JOB_CANCELLED,
    MPL_JOB_RESUMED,
    MPL_CAPABILITY_UNKNOWN,
    MPL_CAPABILITY_RESOLVED,
    MPL_APPROVAL_REQUESTED,
    MPL_APPROVAL_GRANTED
} mpl_event_type;
#define MPL_EVENT_TYPES (MPL_APPROVAL_GRANTED + 1)

/* Who says how a step ended whose outcome was unknown. */
typedef enum mpl_by { MPL_BY_HOST, MPL_BY_CHECK, MPL_BY_POLICY } mpl_by;
typedef enum mpl_answered { MPL_HAPPENED, MPL_WENT_WRONG, MPL_NOT_DONE } mpl_answered;

typedef struct mpl_event {
    int64_t time;
    uint32_t step;
    uint8_t type;        /* mpl_event_type */
    bool reason;         /* CAPABILITY_DENIED: the step's message is the authorizer's reason */
    uint8_t outcome, by; /* CAPABILITY_RESOLVED: mpl_answered, mpl_by */
    char id[MOONPLAN_ID_SIZE];
} mpl_event;

/* What is kept of a step beside its values where somebody may want to prove something. Digests are
 * "" where there is none. */
typedef struct mpl_step_evidence {
    moonplan_text version, risk;    /* of the capability; {NULL, 0}: it has none */
    char input[MPL_DIGEST_TEXT];    /* over the canonical text of the input, references resolved */
    char result[MPL_DIGEST_TEXT];   /* over the result's own text */
    char approval[MPL_DIGEST_TEXT]; /* the one that it was begun with last */
    bool awaited;                   /* it waited for one when the job was resumed */
} mpl_step_evidence;

typedef struct mpl_evidence {
    mpl_arena texts;
    moonplan_document *policy; /* of a new job: as in mpl_job_policy; NULL: none */
    char plan[MPL_DIGEST_TEXT], caller[MPL_DIGEST_TEXT];
    /* Of the step at hand: the approval for the beginning that comes next, what it was begun with
     * before, and the risk that was kept with it until its capability was looked up now. */
    char granted[MPL_DIGEST_TEXT], before[MPL_DIGEST_TEXT];
    int64_t expires; /* of `granted` */
    moonplan_text risk;
    size_t looked_up;          /* steps whose capability was */
    mpl_step_evidence steps[]; /* as many as the plan has */
} mpl_evidence;

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
    moonplan_document *past; /* of a restored job: an array of the events that it had; NULL: none */
    size_t past_count;
    mpl_failure failure;    /* of a failed job, and of its failed step if there is one */
    moonplan_error stopped; /* code MOONPLAN_OK: not stopped */
    /* Where it stands. */
    mpl_wants wants;
    size_t step;
    const mpl_capability *capability; /* the step's, from INPUT to the answer of RESULT */
    mpl_resolved resolved;            /* its input */
    char *risk;                       /* its risk, as it was then */
    size_t risk_length, risk_size;
    mpl_evidence *evidence; /* NULL: nobody wants any */
    /* What a resumed job was, and how many events it had, so that one that comes to wait again for
     * the same thing leaves no trace. */
    moonplan_status was;
    size_t was_events;
    mpl_by by;
} mpl_job;

/* A job as it was written down. */
typedef struct mpl_kept_job {
    const char *id;
    moonplan_status status;
    int64_t created, started, completed;
    moonplan_document *caller;
    mpl_job_step *steps;               /* as many as the plan has */
    const mpl_step_evidence *evidence; /* as many; NULL: none */
    const char *plan_digest, *caller_digest;
    moonplan_document *past;  /* an array of events, as mpl_event_write has them */
    moonplan_failure failure; /* of a job that has one; copied */
    bool nameless;
    moonplan_text risk; /* of a step that was denied */
} mpl_kept_job;

/* Takes plan and caller over, also when memory is short. */
mpl_job *mpl_job_new(moonplan_step_plan *plan, moonplan_document *caller, const char *id,
                     int64_t now, const moonplan_options *options, moonplan_error *err);
void mpl_job_free(mpl_job *job);
/* Keep evidence from here on; right after mpl_job_new. */
bool mpl_job_keep_evidence(mpl_job *job);
/* Steps of these risks take an approval, whoever goes on with the job; with evidence. */
bool mpl_job_keep_policy(mpl_job *job, const moonplan_text *risks, size_t count);
/* These risks, an array of strings; MOONPLAN_NONE without. A restored job has them from the record
 * of how it was made. */
moonplan_value mpl_job_policy(const mpl_job *job);
/* The capability that a step is to be done with, as it is known now. */
bool mpl_job_note(mpl_job *job, size_t step, moonplan_text version, moonplan_text risk);
/* The job as it was, to be looked at. Takes the plan over, and what the kept caller, steps and past
 * hold, also when memory is short. */
mpl_job *mpl_job_restore(moonplan_step_plan *plan, const mpl_kept_job *kept,
                         const moonplan_options *options, moonplan_error *err);
/* Go on with a restored job that has not ended. False when memory is short. */
bool mpl_job_resume(mpl_job *job, int64_t now);

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
/* The step has to wait for an approval; `why` says which, or what is wrong with the one there was.
 */
void mpl_job_await(mpl_job *job, moonplan_text why, int64_t now);
/* An approval of this digest counts for the step, if it is allowed next. */
void mpl_job_grant(mpl_job *job, const char *approval, int64_t expires);
/* COMMIT, of a beginning: its approval counts no more, and nothing has begun. The question is
 * DECISION again. */
void mpl_job_withdraw(mpl_job *job);
/* The host does not want any more; before a step. */
void mpl_job_cancel(mpl_job *job, int64_t now);
/* OUTCOME: it did not happen, or may happen again. */
void mpl_job_retry(mpl_job *job, int64_t now);
/* OUTCOME: nobody can tell. `why` is what whoever was asked has complained of; {NULL, 0}: nothing.
 */
void mpl_job_unknown(mpl_job *job, moonplan_text why, int64_t now);
/* What is said of a step whose outcome is unknown. */
void mpl_outcome_unknown(moonplan_error *err, moonplan_text step_id);
/* Who gives the answer to OUTCOME that comes next. */
void mpl_job_resolved_by(mpl_job *job, mpl_by by);
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

/* Whether a result (NULL: none) is what the capability declares; else job.output_type. */
bool mpl_schema_fits(const mpl_schema *output, const moonplan_document *result,
                     moonplan_text capability, moonplan_error *err);

/* The whole job, one event, and the time as RFC 3339 has it, as JSON (step/job_write.c). */
void mpl_job_write(mpl_builder *out, const mpl_job *job);
/* The only step's result, or the array of all. */
void mpl_job_write_result(mpl_builder *out, const mpl_job *job);
/* A line of a list of jobs: id, status, goal, created, completed. */
void mpl_job_write_line(mpl_builder *out, const mpl_job *job);
void mpl_job_line(mpl_builder *out, moonplan_text id, moonplan_status status, moonplan_text goal,
                  int64_t created, int64_t completed);
void mpl_event_write(mpl_builder *out, const moonplan_event *event);
/* The opposite, of what has been written so. */
void mpl_event_read(moonplan_event *out, moonplan_value event);
/* The code of a name, MOONPLAN_CODE_COUNT for none; the status, 0. */
moonplan_code mpl_code_of(moonplan_text name);
moonplan_status mpl_status_of(moonplan_text name);
/* Of "2026-01-02T03:04:05.000Z", the form that mpl_time_write has; MOONPLAN_NO_TIME for others. */
int64_t mpl_time_parse(moonplan_text text);
void mpl_failure_write(mpl_builder *out, const moonplan_failure *failure);
/* Of an event's type by its number, and back; MPL_EVENT_TYPES for none. */
mpl_event_type mpl_event_type_of(moonplan_text name);
/* Whether a job of this status has come to its end. */
static inline bool mpl_status_ended(moonplan_status status) {
    return status == MOONPLAN_COMPLETED || status == MOONPLAN_FAILED ||
           status == MOONPLAN_CANCELLED;
}
static inline bool mpl_status_waits(moonplan_status status) {
    return status == MOONPLAN_OUTCOME_UNKNOWN || status == MOONPLAN_AWAITING_APPROVAL;
}
/* 24 bytes and a NUL; years outside 0000 to 9999 are held at the ends. */
void mpl_time_write(char out[25], int64_t time);
/* The first and the last that this writes: 0000-01-01T00:00:00.000Z, 9999-12-31T23:59:59.999Z. */
#define MPL_TIME_FIRST (-62167219200000)
#define MPL_TIME_LAST  253402300799999
/* A builder for a document around others, which have been held to these limits one by one: a few
 * more levels may be open, and their values are not counted again. */
void mpl_build_open_around(mpl_builder *out, const moonplan_options *options);

#endif
