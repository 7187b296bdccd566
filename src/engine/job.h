/* What an engine and a job are inside; for the files of this folder. */
#ifndef MPL_ENGINE_JOB_H
#define MPL_ENGINE_JOB_H

#include <stdatomic.h>

#include "engine.h"
#include "registry.h"

typedef struct mpl_subscription {
    uint64_t number; /* 0: unsubscribed, and not yet taken out */
    char *type;      /* not NUL-terminated */
    size_t length;
    moonplan_subscriber subscriber;
} mpl_subscription;

struct moonplan_engine {
    mpl_alloc alloc;
    moonplan_options options; /* alloc and limits */
    size_t holds;             /* the host's, and one a job */
    size_t calls;             /* callbacks under way */
    bool closing, closed;
    mpl_arena texts;
    moonplan_authorizer authorizer;
    const moonplan_text *allow, *versions, *require_approval;
    size_t allow_count, version_count, require_approval_count;
    const moonplan_public_key *approvers;
    size_t approver_count;
    bool keep_reads;
    int64_t (*now)(void *data);
    void *now_data;
    bool (*make_id)(void *data, char out[MOONPLAN_ID_SIZE]);
    void *make_id_data;
    mpl_registry registry;
    moonplan_provider *providers;
    size_t provider_count, provider_capacity;
    mpl_subscription *subscriptions;
    size_t subscription_count, subscription_capacity;
    size_t live; /* of them */
    uint64_t last_number;
    size_t publishing; /* events being told: nobody is taken out of the list meanwhile */
    mpl_store store;
    bool was_durable;     /* the store of a closed engine */
    uint8_t random[2000]; /* drawn ahead: a system call an id would cost as much as a step */
    size_t random_left;
};

/* What came of a commit that was made together with others. */
typedef struct mpl_written {
    bool fine;
    moonplan_error error;
} mpl_written;

typedef struct mpl_answer {
    enum {
        MPL_ANSWER_NONE,
        MPL_ANSWER_ALLOW,
        MPL_ANSWER_DENY,
        MPL_ANSWER_MALFORMED,
        MPL_ANSWER_VALUE,
        MPL_ANSWER_RETRY,
        MPL_ANSWER_FAIL
    } kind;
    moonplan_document *value; /* VALUE: NULL for nothing; FAIL: the detail */
    moonplan_code code;       /* FAIL; MOONPLAN_OK: the question's usual one */
    char *text;               /* DENY, FAIL; NULL: none, or `fixed` */
    size_t text_length, text_size;
    const char *fixed;
} mpl_answer;

struct moonplan_job {
    mpl_job *machine;
    moonplan_engine *engine;
    size_t holds;
    bool busy;          /* moonplan_job_next is under way */
    moonplan_want want; /* kind 0: nothing is asked */
    mpl_answer answer;
    mpl_entry *capability; /* held from INPUT to the end of the step */
    mpl_source source;
    bool sourced;               /* `source` has not been released */
    size_t named;               /* events that have their ids */
    size_t published;           /* events that have been told, and are in the store */
    const mpl_written *written; /* of the commit that is asked for; NULL: it is yet to be made */
    /* Of the store in memory. */
    struct moonplan_job *before, *after;
    enum { MPL_NOWHERE, MPL_UNDER_WAY, MPL_WAITING, MPL_ENDED } place;
    /* A resumed job: the one that waits, which counts until something is written. */
    struct moonplan_job *waits;
    bool resumed; /* of that one: another goes on with it */
    /* The store's own number for the job; and, of a store on disk, whether the job is ours. */
    int64_t row;
    bool leased;
    /* Set from wherever the host likes. */
    atomic_bool cancel;
    int64_t cancel_asked;            /* when the store was looked at last, in milliseconds */
    struct mpl_approvals *approvals; /* NULL: none were given */
};

/* -- Parts of the loop (run.c) ----------------------------------------------------*/

/* A plan's job, admitted and yet unknown to the store; NULL with *err. `submission` NULL: the plan
 * is `text`. Both are taken over as in mpl_engine_submit. */
moonplan_job *mpl_run_prepare(moonplan_engine *engine, const mpl_submission *submission,
                              moonplan_text text, const moonplan_run_options *options,
                              moonplan_error *err);
/* Whether the options ask for a twin; *twin is what to look for, and has found none. */
bool mpl_run_twin(const moonplan_job *job, const moonplan_run_options *options, mpl_twin *twin);
/* The store has it: tell. */
void mpl_run_submitted(moonplan_job *job);
/* What the store has to write of a job that wants to have something committed, and what follows
 * from its having been written. */
mpl_change mpl_run_change(const moonplan_job *job);
void mpl_run_changed(moonplan_job *job, const mpl_change *change);
/* A handle without a machine; NULL when memory is short. */
moonplan_job *mpl_run_new(moonplan_engine *engine);
/* Its machine; questions are about it from now on. */
void mpl_run_begin(moonplan_job *job, mpl_job *machine);
/* Give the new events their ids. Where nobody can tell when they are made, because the engine makes
 * them itself and no store writes them down, that waits until somebody looks at them. */
void mpl_run_name_events(moonplan_job *job);
/* Commit what there is, and tell; the machine stops when that fails. */
void mpl_run_commit(moonplan_job *job);
bool mpl_caller_read(const moonplan_engine *engine, moonplan_document **out, moonplan_text text,
                     moonplan_error *err);

/* -- Jobs of the store (resume.c) --------------------------------------------------*/

/* A job as it stands, in a handle that asks nothing; NULL with job.not_found as well. */
moonplan_job *mpl_engine_look(moonplan_engine *engine, moonplan_text id, moonplan_error *err);
/* The same without a handle. */
mpl_job *mpl_engine_machine(const moonplan_engine *engine, moonplan_text id, moonplan_error *err);

int64_t mpl_engine_now(moonplan_engine *engine);
void mpl_engine_make_id(moonplan_engine *engine, int64_t now, char out[MOONPLAN_ID_SIZE]);
/* Around every callback; the second ends an engine that was freed meanwhile. */
void mpl_engine_release(moonplan_engine *engine);
/* The capability of that name; asks the providers if there is none. NULL with err->code MOONPLAN_OK
 * if there really is none. */
mpl_entry *mpl_engine_find(moonplan_engine *engine, moonplan_text name, moonplan_error *err);
void mpl_engine_publish(moonplan_engine *engine, const moonplan_job *job,
                        const moonplan_event *event);

void mpl_answer_drop(moonplan_engine *engine, mpl_answer *answer);
/* The default authorizer's answer. */
void mpl_decide_by_risk(moonplan_want *want);

#endif
