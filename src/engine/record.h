/* What stores have in common: what they write down, and when they refuse. */
#ifndef MPL_ENGINE_RECORD_H
#define MPL_ENGINE_RECORD_H

#include "store.h"

/* -- Refusals ------------------------------------------------------------------*/

/* There is a job with the twin's key: whether it is the one that `job` would be. */
bool mpl_twin_is(const char *plan_digest, const char *caller_digest, const moonplan_job *job);
void mpl_twin_found(mpl_twin *twin, const char *id);
/* None of those with the key is, and this is one of them. */
void mpl_twin_refuse(const mpl_twin *twin, const char *id, const char *plan_digest,
                     const moonplan_job *job, moonplan_error *err);
/* The approval that the step was to begin with is spent. */
void mpl_approval_used(moonplan_error *err, const moonplan_job *job, size_t step);
/* Whether its time is over, by the engine's clock; nothing of the store may be under way, but for
 * the transaction. */
bool mpl_approval_is_over(const moonplan_job *job, const mpl_change *change, moonplan_error *err);

/* -- Filters -------------------------------------------------------------------*/

/* NULL takes all. `most` is the store's. */
bool mpl_filter_takes(const moonplan_job_filter *filter, const mpl_job *job);
/* The same for one that comes from a store, but for its status and capabilities. */
bool mpl_filter_takes_goal(const moonplan_job_filter *filter, moonplan_text goal);
bool mpl_filter_takes_time(const moonplan_job_filter *filter, int64_t created);

/* -- Records: the audit trail ----------------------------------------------------*/

/* An event as the trail keeps it. Texts are borrowed. */
typedef struct mpl_record {
    int64_t sequence, position;          /* in the store, in its job; from 1 */
    moonplan_text job_id;                /* of the row, not of the event */
    moonplan_text event;                 /* as mpl_event_write has it */
    moonplan_text before, before_in_job; /* 64 digits; zeros for the first */
    moonplan_text digest;
} mpl_record;

extern const char mpl_no_digest[MPL_DIGEST_TEXT];

/* The text of a job's n-th event. Memory: out->failed. */
void mpl_record_event(mpl_buffer *out, const mpl_job *job, size_t n);
/* The record's text without its digest, and what is over that. `out` is emptied first. */
void mpl_record_text(mpl_buffer *out, const mpl_record *record);
/* The same with the digest that the record has, as it is handed out. */
void mpl_record_line(mpl_buffer *out, const mpl_record *record);
bool mpl_record_digest(char out[MPL_DIGEST_TEXT], mpl_buffer *scratch, const mpl_record *record);
/* The failure of a job that has one, as the event of a step has it, as JSON text. */
bool mpl_record_failure(mpl_buffer *out, const mpl_job *job);
/* The opposite. `document` holds what it says and has to stay. */
moonplan_failure mpl_failure_read(moonplan_value failure);

typedef struct mpl_head {
    int64_t sequence; /* of the last record; 0: there is none */
    char digest[MPL_DIGEST_TEXT];
} mpl_head;

typedef struct mpl_signed_head {
    mpl_head head;
    int64_t time;
    uint8_t key[8], signature[MOONPLAN_SIGNATURE_SIZE];
} mpl_signed_head;

typedef bool (*mpl_record_each)(void *data, const mpl_record *record);
typedef bool (*mpl_id_each)(void *data, moonplan_text id);

/* What a store with an audit trail can say. Each function reads one state of it. */
typedef struct mpl_trail {
    /* Between these two the others see one and the same state. */
    bool (*open)(void *data, moonplan_error *err);
    void (*close)(void *data);
    /* The records in the order of their sequence; of a job (id {NULL, 0}: of all), of their
     * position. Ends when `each` says false. */
    bool (*records)(void *data, moonplan_text id, mpl_record_each each, void *each_data,
                    moonplan_error *err);
    /* The ids of all jobs, in order. */
    bool (*jobs)(void *data, mpl_id_each each, void *each_data, moonplan_error *err);
    bool (*head)(void *data, mpl_head *out, moonplan_error *err);
    /* The newest signature of a key; *found false without. */
    bool (*signed_head)(void *data, const uint8_t key[8], mpl_signed_head *out, bool *found,
                        moonplan_error *err);
    bool (*sign)(void *data, const mpl_signed_head *head, moonplan_error *err);
    /* Whether an approval is marked as used for the step of the job with this row. */
    bool (*use)(void *data, moonplan_text approval, int64_t row, size_t step, bool *there,
                moonplan_error *err);
    /* How many are marked so in all for the job with this row. */
    bool (*uses)(void *data, int64_t row, int64_t *count, moonplan_error *err);
    /* How many keys other than the job's own ({NULL, 0}: than none) lead to it when the same plan
     * is submitted again. */
    bool (*odd_keys)(void *data, int64_t row, moonplan_text own, int64_t *count,
                     moonplan_error *err);
    /* What of the file itself is not as the rest of it says, line by line. */
    bool (*odd)(void *data, mpl_id_each each, void *each_data, moonplan_error *err);
} mpl_trail;

#endif
