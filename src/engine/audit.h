/* Checking a store's audit trail; for its two files. */
#ifndef MPL_ENGINE_AUDIT_H
#define MPL_ENGINE_AUDIT_H

#include "job.h"
#include "record.h"

typedef struct mpl_audit {
    const moonplan_engine *engine;
    const mpl_trail *trail;
    void *store;
    mpl_alloc alloc;
    mpl_buffer scratch;
    mpl_builder out; /* the faults: an open array */
    uint64_t faults;
    int64_t jobs, records;
    uint64_t searched; /* bytes, for where records were moved from */
    mpl_head head;     /* as the store notes it */
    mpl_signed_head signed_head;
    bool signed_sound, signed_seen;
    int64_t last_sequence; /* the record that was looked at last */
    char last_digest[MPL_DIGEST_TEXT], last_job[MOONPLAN_ID_SIZE];
    bool memory;
    bool single;          /* one job alone: its records' own digests are looked at with it */
    moonplan_error first; /* MOONPLAN_OK: no fault */
} mpl_audit;

/* Note a fault; `job_id` may be anything, sequence 0 is none. */
void mpl_audit_fault(mpl_audit *audit, moonplan_text job_id, int64_t sequence, const char *what,
                     const moonplan_error *message);

#define MPL_AUDIT_FAULT(audit, job_id, sequence, what, ...)                                        \
    do {                                                                                           \
        moonplan_error text_;                                                                      \
        mpl_error_set(&text_, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL, __VA_ARGS__);      \
        mpl_audit_fault(audit, job_id, sequence, what, &text_);                                    \
    } while (0)

/* Compare every job's rows with its records (audit_job.c). False when they cannot be read. */
bool mpl_audit_jobs(mpl_audit *audit, moonplan_error *err);
/* One of them, before it is gone on with: store.corrupt when its rows are not what its records say,
 * or those not what was written. */
bool mpl_audit_one(const moonplan_engine *engine, moonplan_text id, moonplan_error *err);

#endif
