/* What an engine and a job are inside; for the files of this folder. */
#ifndef MPL_ENGINE_JOB_H
#define MPL_ENGINE_JOB_H

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
    const moonplan_text *allow, *versions;
    size_t allow_count, version_count;
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
    bool was_durable;    /* the store of a closed engine */
    uint8_t random[240]; /* drawn ahead: a system call an id would cost as much as a step */
    size_t random_left;
};

typedef struct mpl_answer {
    enum {
        MPL_ANSWER_NONE,
        MPL_ANSWER_ALLOW,
        MPL_ANSWER_DENY,
        MPL_ANSWER_MALFORMED,
        MPL_ANSWER_VALUE,
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
    bool sourced;     /* `source` has not been released */
    size_t named;     /* events that have their ids */
    size_t published; /* events that have been told, and are in the store */
    /* Of the store in memory. */
    struct moonplan_job *before, *after;
    enum { MPL_NOWHERE, MPL_UNDER_WAY, MPL_ENDED } place;
};

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
