/* Jobs in a SQLite file: what is written down, and who it belongs to. */
#include "store_sqlite.h"

#include <string.h>

#include "../core/text.h"
#include "../engine/job.h"

#ifdef MOONPLAN_WITH_SQLITE

#define LEASE_MS 60000
/* Nobody takes a job for longer: a lease that says so is none. */
#define LEASE_MOST_MS 3600000

static moonplan_text digest_of(const char *digest) {
    return digest[0] ? mpl_text_of(digest) : (moonplan_text){NULL, 0};
}

static moonplan_text source_of(const moonplan_document *document) {
    return document ? moonplan_value_source(moonplan_document_root(document))
                    : (moonplan_text){NULL, 0};
}

/* -- What is ours ----------------------------------------------------------------*/

static void hold(mpl_sqlite_store *store, moonplan_job *job, int64_t row) {
    job->row = row;
    job->leased = true;
    job->before = NULL;
    job->after = store->held;
    if (store->held) store->held->before = job;
    store->held = job;
}

static void drop(mpl_sqlite_store *store, moonplan_job *job) {
    if (!job->leased) return;
    job->leased = false;
    *(job->before ? &job->before->after : &store->held) = job->after;
    if (job->after) job->after->before = job->before;
}

bool mpl_sqlite_leased(const mpl_sqlite_store *store, int64_t row, moonplan_text owner,
                       int64_t deadline, uint64_t *pid) {
    *pid = 0;
    if (!owner.bytes) return false;
    if (mpl_text_is(owner, store->owner)) {
        /* What could not be given back, because nothing could be written, is not held all the
         * same. */
        const moonplan_job *job = store->held;
        while (job && job->row != row) job = job->after;
        if (!job) return false;
    }
    switch (mpl_owner_presence(owner, pid)) {
    case MPL_OWNER_GONE:
        return false;
    case MPL_OWNER_THERE:
        return true;
    default: {
        int64_t now = mpl_system_time();
        *pid = 0;
        return now < deadline && deadline <= now + LEASE_MOST_MS;
    }
    }
}

/* -- The trail -----------------------------------------------------------------*/

/* `cancel` of a job's; NULL of the other. */
static bool read_head(mpl_sqlite_store *store, mpl_sql which, int64_t row, mpl_head *out,
                      bool *cancel, moonplan_error *err) {
    bool there;
    sqlite3_stmt *statement = mpl_sqlite_take(store, which, err);
    if (!statement) return false;
    if (which == MPL_SQL_JOB_HEAD) mpl_bind_number(store, statement, 1, row);
    if (!mpl_sqlite_row(store, statement, &there, err)) return false;
    moonplan_text digest = {NULL, 0};
    if (there) {
        out->sequence = store->sqlite.column_int64(statement, 0);
        digest = mpl_column_text(store, statement, 1);
        if (cancel) *cancel = store->sqlite.column_int64(statement, 2) != 0;
    }
    /* No store comes to the end of its numbers: somebody else has written this one. */
    bool fine = digest.length == MPL_DIGEST_TEXT - 1 && out->sequence >= 0 &&
                out->sequence < INT64_MAX - UINT32_MAX;
    if (fine) {
        memcpy(out->digest, digest.bytes, digest.length);
        out->digest[digest.length] = 0;
    } else {
        moonplan_text path = {store->path, store->path_length};
        mpl_error_set(err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                      "the store %q does not know where its records end", &path);
    }
    return mpl_sqlite_give(store, statement, fine, err);
}

/* Both heads move on to the job's n-th event, which is written. */
static bool add_event(mpl_sqlite_store *store, const mpl_job *job, size_t n, int64_t row,
                      mpl_head *all, mpl_head *own, mpl_buffer *event, moonplan_error *err) {
    char digest[MPL_DIGEST_TEXT];
    event->length = 0;
    mpl_record_event(event, job, n);
    mpl_record record = {.sequence = all->sequence + 1,
                         .position = own->sequence + 1,
                         .event = {event->bytes, event->length},
                         .before = mpl_text_of(all->digest),
                         .before_in_job = mpl_text_of(own->digest)};
    if (event->failed || !mpl_record_digest(digest, &store->scratch, &record)) {
        mpl_error_memory(err);
        return false;
    }
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_ADD_EVENT, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, record.sequence);
    mpl_bind_number(store, statement, 2, row);
    mpl_bind_number(store, statement, 3, record.position);
    mpl_bind_text(store, statement, 4, record.event);
    mpl_bind_text(store, statement, 5, record.before);
    mpl_bind_text(store, statement, 6, record.before_in_job);
    mpl_bind_word(store, statement, 7, digest);
    if (!mpl_sqlite_run(store, statement, err)) return false;
    all->sequence++;
    own->sequence++;
    memcpy(all->digest, digest, sizeof digest);
    memcpy(own->digest, digest, sizeof digest);
    return true;
}

static bool add_events(mpl_sqlite_store *store, const mpl_job *job, size_t first, int64_t row,
                       mpl_head *all, mpl_head *own, moonplan_error *err) {
    mpl_buffer event;
    bool fine = true;
    mpl_buffer_open(&event, &store->alloc);
    for (size_t n = first; fine && n < job->event_count; n++)
        fine = add_event(store, job, n, row, all, own, &event, err);
    mpl_buffer_close(&event);
    return fine;
}

static bool set_head(mpl_sqlite_store *store, const mpl_head *all, moonplan_error *err) {
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_SET_HEAD, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, all->sequence);
    mpl_bind_word(store, statement, 2, all->digest);
    return mpl_sqlite_run(store, statement, err);
}

/* -- Submission ----------------------------------------------------------------*/

/* The first job of the key is not the one that is looked for: a later one may be, which was made
 * without asking. */
static bool find_same(mpl_sqlite_store *store, mpl_twin *twin, const char *first,
                      const char *plan_digest, const moonplan_job *job, moonplan_error *err) {
    const mpl_evidence *evidence = job->machine->evidence;
    bool row;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_FIND_SAME, err);
    if (!statement) return false;
    mpl_bind_word(store, statement, 1, evidence->plan);
    mpl_bind_word(store, statement, 2, evidence->caller);
    if (!mpl_sqlite_row(store, statement, &row, err)) return false;
    if (row) {
        char id[MOONPLAN_ID_SIZE] = "";
        moonplan_text text = mpl_column_text(store, statement, 0);
        if (text.length < sizeof id) memcpy(id, text.bytes, text.length);
        mpl_twin_found(twin, id);
    } else {
        mpl_twin_refuse(twin, first, plan_digest, job, err);
    }
    return mpl_sqlite_give(store, statement, row, err);
}

static bool find_twin(mpl_sqlite_store *store, mpl_twin *twin, const moonplan_job *job,
                      moonplan_error *err) {
    bool row;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_FIND_KEY, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, twin->key);
    if (!mpl_sqlite_row(store, statement, &row, err)) return false;
    bool fine = true;
    if (row) {
        char id[MOONPLAN_ID_SIZE] = "", plan[MPL_DIGEST_TEXT] = "", caller[MPL_DIGEST_TEXT] = "";
        moonplan_text texts[3];
        char *const copies[] = {id, plan, caller};
        const size_t rooms[] = {sizeof id, sizeof plan, sizeof caller};
        for (int i = 0; i < 3; i++) {
            texts[i] = mpl_column_text(store, statement, i);
            if (texts[i].length < rooms[i]) memcpy(copies[i], texts[i].bytes, texts[i].length);
        }
        if (mpl_twin_is(plan, caller, job))
            mpl_twin_found(twin, id);
        else
            fine = find_same(store, twin, id, plan, job, err);
    }
    return mpl_sqlite_give(store, statement, fine, err);
}

/* Insert the job's row with the number of its events and their head, which are known once they
 * are there: so the row comes first, and is set right with them. */
static bool add_job(mpl_sqlite_store *store, const mpl_job *job, int64_t *number,
                    moonplan_error *err) {
    moonplan_text goal = job->plan->goal, id = mpl_text_of(job->id);
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_ADD_JOB, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, id);
    mpl_bind_word(store, statement, 2, moonplan_status_name(job->status));
    mpl_bind_text(store, statement, 3, goal);
    mpl_bind_text(store, statement, 4, source_of(job->plan->document));
    mpl_bind_word(store, statement, 5, job->evidence->plan);
    mpl_bind_text(store, statement, 6, source_of(job->caller));
    mpl_bind_word(store, statement, 7, job->evidence->caller);
    mpl_bind_number(store, statement, 8, job->created);
    mpl_bind_number(store, statement, 9, 1);
    mpl_bind_word(store, statement, 10, mpl_no_digest);
    mpl_bind_word(store, statement, 11, store->owner);
    mpl_bind_number(store, statement, 12, mpl_system_time() + store->lease_ms);
    if (!mpl_sqlite_run(store, statement, err)) {
        if (err->code == MOONPLAN_STORE_FAILED &&
            store->sqlite.extended_errcode(store->db) == SQLITE_CONSTRAINT_UNIQUE)
            mpl_error_set(err, MOONPLAN_STORE_FAILED, MOONPLAN_NO_OFFSET, NULL,
                          "there is a job %q already", &id);
        return false;
    }
    *number = store->sqlite.last_insert_rowid(store->db);
    return true;
}

static bool add_steps(mpl_sqlite_store *store, const mpl_job *job, int64_t row,
                      moonplan_error *err) {
    for (size_t n = 0; n < job->plan->count; n++) {
        const mpl_step *step = &job->plan->steps[n];
        const mpl_step_evidence *evidence = &job->evidence->steps[n];
        sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_ADD_STEP, err);
        if (!statement) return false;
        mpl_bind_number(store, statement, 1, row);
        mpl_bind_number(store, statement, 2, (int64_t)n + 1);
        mpl_bind_text(store, statement, 3, mpl_step_text(job->plan, step->id));
        mpl_bind_text(store, statement, 4, mpl_step_text(job->plan, step->capability));
        mpl_bind_text(store, statement, 5, evidence->version);
        mpl_bind_text(store, statement, 6, evidence->risk);
        if (!mpl_sqlite_run(store, statement, err)) return false;
    }
    return true;
}

/* The key is that of the first job that has it, whether that one asked for others or not. */
static bool add_key(mpl_sqlite_store *store, moonplan_text key, int64_t row, moonplan_error *err) {
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_ADD_KEY, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, key);
    mpl_bind_number(store, statement, 2, row);
    return mpl_sqlite_run(store, statement, err);
}

/* Set the job's row to what the job is now; `keep`: it stays ours. */
static bool set_job(mpl_sqlite_store *store, const mpl_job *job, int64_t row, const mpl_head *own,
                    bool keep, moonplan_error *err) {
    mpl_buffer failure;
    mpl_buffer_open(&failure, &store->alloc);
    bool failed = job->failure.code != MOONPLAN_OK;
    if (failed && !mpl_record_failure(&failure, job)) {
        mpl_buffer_close(&failure);
        mpl_error_memory(err);
        return false;
    }
    moonplan_text none = {NULL, 0}, said = {failure.bytes, failure.length};
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_SET_JOB, err);
    bool fine = statement != NULL, mine = false;
    if (fine) {
        mpl_bind_number(store, statement, 1, row);
        mpl_bind_word(store, statement, 2, store->owner);
        mpl_bind_word(store, statement, 3, moonplan_status_name(job->status));
        mpl_bind_time(store, statement, 4, job->started);
        mpl_bind_time(store, statement, 5, job->completed);
        mpl_bind_text(store, statement, 6, failed ? said : none);
        mpl_bind_number(store, statement, 7, failed && job->failure.nameless);
        mpl_bind_text(store, statement, 8,
                      job->failure.code == MOONPLAN_JOB_DENIED
                          ? (moonplan_text){job->risk ? job->risk : "", job->risk_length}
                          : none);
        mpl_bind_number(store, statement, 9, own->sequence);
        mpl_bind_word(store, statement, 10, own->digest);
        mpl_bind_word(store, statement, 11, keep ? store->owner : NULL);
        mpl_bind_time(store, statement, 12,
                      keep ? mpl_system_time() + store->lease_ms : MOONPLAN_NO_TIME);
        fine = mpl_sqlite_run(store, statement, err);
        mine = fine && store->sqlite.changes(store->db) != 0;
    }
    mpl_buffer_close(&failure);
    if (!fine || mine) return fine;
    moonplan_text id = mpl_text_of(job->id);
    mpl_error_set(err, MOONPLAN_STORE_CONFLICT, MOONPLAN_NO_OFFSET, NULL,
                  "the job %q is not ours any more: another process has taken it over", &id);
    return false;
}

/* A new job, in a transaction; `all` moves on. */
static bool write_job(mpl_sqlite_store *store, const moonplan_job *handle, mpl_twin *twin,
                      mpl_head *all, int64_t *row, moonplan_error *err) {
    const mpl_job *job = handle->machine;
    moonplan_text key = mpl_step_text(job->plan, job->plan->key);
    mpl_head own = {.sequence = 0};
    memcpy(own.digest, mpl_no_digest, sizeof own.digest);
    *row = 0;
    if (twin) twin->found = false; /* what an earlier attempt met has been taken back */
    if (twin && !find_twin(store, twin, handle, err)) return false;
    if (twin && twin->found) return true;
    return add_job(store, job, row, err) && add_steps(store, job, *row, err) &&
           (!key.bytes || add_key(store, key, *row, err)) &&
           add_events(store, job, 0, *row, all, &own, err) &&
           set_job(store, job, *row, &own, true, err);
}

/* -- Changes -------------------------------------------------------------------*/

static bool set_step(mpl_sqlite_store *store, const mpl_job *job, size_t n, int64_t row,
                     moonplan_error *err) {
    const mpl_job_step *step = &job->steps[n];
    const mpl_step_evidence *evidence = &job->evidence->steps[n];
    moonplan_text none = {NULL, 0};
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_SET_STEP, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, row);
    mpl_bind_number(store, statement, 2, (int64_t)n + 1);
    mpl_bind_text(store, statement, 3, evidence->version);
    mpl_bind_text(store, statement, 4, evidence->risk);
    mpl_bind_word(store, statement, 5, moonplan_status_name(step->status));
    mpl_bind_time(store, statement, 6, step->started);
    mpl_bind_time(store, statement, 7, step->completed);
    mpl_bind_text(store, statement, 8, digest_of(evidence->input));
    mpl_bind_text(store, statement, 9, source_of(step->result));
    mpl_bind_text(store, statement, 10, step->result ? digest_of(evidence->result) : none);
    mpl_bind_text(store, statement, 11, digest_of(evidence->approval));
    mpl_bind_text(store, statement, 12,
                  step->digested ? (moonplan_text){step->digest, sizeof step->digest} : none);
    return mpl_sqlite_run(store, statement, err);
}

static bool find_use(mpl_sqlite_store *store, const char *approval, const moonplan_job *job,
                     size_t step, bool *found, moonplan_error *err) {
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_USES, err);
    if (!statement) return false;
    mpl_bind_word(store, statement, 1, approval);
    mpl_bind_number(store, statement, 2, (int64_t)step + 1);
    mpl_bind_word(store, statement, 3, job->machine->id);
    return mpl_sqlite_row(store, statement, found, err) &&
           mpl_sqlite_give(store, statement, true, err);
}

static bool add_use(mpl_sqlite_store *store, const moonplan_job *job, const mpl_change *change,
                    moonplan_error *err) {
    bool found;
    /* Here, where nobody is waited for any more. */
    if (mpl_approval_is_over(job, change, err)) return false;
    if (!find_use(store, change->approval, job, change->step, &found, err)) return false;
    if (found) {
        mpl_approval_used(err, job, change->step);
        return false;
    }
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_ADD_USE, err);
    if (!statement) return false;
    mpl_bind_word(store, statement, 1, change->approval);
    mpl_bind_number(store, statement, 2, (int64_t)change->step + 1);
    mpl_bind_number(store, statement, 3, job->row);
    return mpl_sqlite_run(store, statement, err);
}

/* What is ours and has ended, or waits for somebody, is not ours any more. */
static bool is_kept(const moonplan_job *handle) {
    moonplan_status status = handle->machine->status;
    return !mpl_status_ended(status) && !mpl_status_waits(status);
}

/* What has changed of a job, in a transaction; `all` moves on. */
static bool write_change(mpl_sqlite_store *store, const moonplan_job *handle, mpl_change *change,
                         mpl_head *all, moonplan_error *err) {
    const mpl_job *job = handle->machine;
    mpl_head own = {.sequence = 0};
    return read_head(store, MPL_SQL_JOB_HEAD, handle->row, &own, &change->cancel, err) &&
           add_events(store, job, change->first_event, handle->row, all, &own, err) &&
           set_step(store, job, change->step, handle->row, err) &&
           (!change->approval || add_use(store, handle, change, err)) &&
           set_job(store, job, handle->row, &own, is_kept(handle), err);
}

/* Several, as one transaction. */
static bool write_all(void *data, mpl_write *list, size_t count, size_t *failed,
                      moonplan_error *err) {
    mpl_sqlite_store *store = data;
    mpl_head all = {.sequence = 0};
    *failed = MPL_WRITE_NONE;
    if (!mpl_sqlite_begin(store, err)) return false;
    bool fine = read_head(store, MPL_SQL_HEAD, 0, &all, NULL, err);
    int64_t before = fine ? all.sequence : 0;
    for (size_t i = 0; fine && i < count; i++) {
        mpl_write *one = &list[i];
        one->row = 0;
        fine = one->what == MPL_WRITE_JOB
                   ? write_job(store, one->job, one->twin, &all, &one->row, err)
                   : write_change(store, one->job, &one->change, &all, err);
        if (!fine) *failed = i;
    }
    fine = fine && (all.sequence == before || set_head(store, &all, err));
    fine = mpl_sqlite_end(store, fine, err);
    /* Nothing more is done by a store that could not take back a change. */
    if (store->broken) *failed = MPL_WRITE_NONE;
    for (size_t i = 0; fine && i < count; i++) {
        moonplan_job *job = list[i].job;
        if (list[i].what == MPL_WRITE_JOB && list[i].row)
            hold(store, job, list[i].row);
        else if (list[i].what == MPL_WRITE_CHANGE && !is_kept(job))
            drop(store, job);
    }
    return fine;
}

static bool submit(void *data, moonplan_job *job, mpl_twin *twin, moonplan_error *err) {
    size_t failed;
    mpl_write one = {.job = job, .what = MPL_WRITE_JOB, .twin = twin};
    return write_all(data, &one, 1, &failed, err);
}

static bool checkpoint(void *data, moonplan_job *job, mpl_change *change, moonplan_error *err) {
    size_t failed;
    mpl_write one = {.job = job, .what = MPL_WRITE_CHANGE, .change = *change};
    bool fine = write_all(data, &one, 1, &failed, err);
    change->cancel = one.change.cancel;
    return fine;
}

static bool used(void *data, const char *approval, const moonplan_job *job, size_t step, bool *out,
                 moonplan_error *err) {
    return find_use(data, approval, job, step, out, err);
}

/* -- Whose it is ---------------------------------------------------------------*/

static void adopt(void *data, const mpl_stored *stored, moonplan_job *job) {
    hold(data, job, stored->row);
}

/* Best effort: a lease that stays ends with this process. */
static void let_go(mpl_sqlite_store *store, int64_t row) {
    moonplan_error err;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_LET_GO, &err);
    if (!statement) return;
    mpl_bind_number(store, statement, 1, row);
    mpl_bind_word(store, statement, 2, store->owner);
    mpl_sqlite_run(store, statement, &err);
}

static void yield(void *data, const mpl_stored *stored) {
    let_go(data, stored->row);
}

static void leave(void *data, moonplan_job *job) {
    if (!job->leased) return;
    drop(data, job);
    let_go(data, job->row);
}

static bool cancel(void *data, moonplan_text id, bool *running, moonplan_error *err) {
    mpl_sqlite_store *store = data;
    int64_t row = 0;
    uint64_t pid;
    *running = false;
    if (!mpl_sqlite_begin(store, err)) return false;
    bool there, fine = true;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_JOB, err);
    if (!statement) return mpl_sqlite_end(store, false, err);
    mpl_bind_text(store, statement, 1, id);
    fine = mpl_sqlite_row(store, statement, &there, err);
    if (fine) {
        if (there) row = store->sqlite.column_int64(statement, 0);
        if (there && !mpl_sqlite_leased(store, row, mpl_column_text(store, statement, 12),
                                        mpl_column_time(store, statement, 13), &pid))
            row = 0;
        fine = mpl_sqlite_give(store, statement, true, err);
    }
    if (fine && row) {
        statement = mpl_sqlite_take(store, MPL_SQL_CANCEL, err);
        if (statement) mpl_bind_number(store, statement, 1, row);
        fine = statement && mpl_sqlite_run(store, statement, err);
        *running = fine;
    }
    return mpl_sqlite_end(store, fine, err);
}

static bool cancelled(void *data, const moonplan_job *job) {
    mpl_sqlite_store *store = data;
    moonplan_error err;
    bool row, asked = false;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_CANCELLED, &err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, job->row);
    if (!mpl_sqlite_row(store, statement, &row, &err)) return false;
    if (row) asked = store->sqlite.column_int64(statement, 0) != 0;
    return mpl_sqlite_give(store, statement, asked, &err);
}

/* -- The store -----------------------------------------------------------------*/

static void release(void *data) {
    mpl_sqlite_store *store = data;
    mpl_alloc alloc = store->alloc;
    moonplan_error err;
    /* Jobs may outlive their store. */
    while (store->held) {
        moonplan_job *job = store->held;
        drop(store, job);
        let_go(store, job->row);
    }
    if (store->db) {
        mpl_sqlite_forget_statements(store);
        mpl_sqlite_store_stays(store, &err);
        /* Else the log would be written to what is left of the file, and be deleted. */
        if (store->cut)
            store->sqlite.db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        store->sqlite.close_v2(store->db);
    }
    mpl_buffer_close(&store->scratch);
    mpl_release(&store->alloc, store->path, store->path_length + 1);
    mpl_release(&store->alloc, store->real, store->real_size);
    mpl_release(&alloc, store, sizeof *store);
}

bool mpl_store_sqlite(mpl_store *store, const mpl_sqlite_setup *setup, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(setup->options);
    mpl_sqlite_store *made = mpl_allocate(&alloc, sizeof *made);
    if (!made) {
        mpl_error_memory(err);
        return false;
    }
    memset(made, 0, sizeof *made);
    made->alloc = alloc;
    made->read_only = (setup->flags & MOONPLAN_STORE_READ_ONLY) != 0;
    made->lease_ms = setup->lease_ms ? setup->lease_ms : LEASE_MS;
    made->path_length = setup->path.length;
    mpl_buffer_open(&made->scratch, &made->alloc);
    if (setup->owner)
        memcpy(made->owner, setup->owner, strlen(setup->owner) + 1);
    else
        mpl_owner_name(made->owner);
    made->path = mpl_allocate(&made->alloc, made->path_length + 1);
    const char *missing = NULL;
    bool fine = made->path != NULL;
    if (!fine) {
        made->path_length = 0;
        mpl_error_memory(err);
    } else {
        if (made->path_length) memcpy(made->path, setup->path.bytes, made->path_length);
        made->path[made->path_length] = 0;
        missing = mpl_sqlite_open(&made->sqlite);
        if (missing && *missing)
            mpl_error_set(err, MOONPLAN_STORE_OPEN, MOONPLAN_NO_OFFSET, NULL, "%s", missing);
        else if (missing)
            mpl_error_memory(err);
        fine = !missing && mpl_sqlite_store_open(made, setup, err);
    }
    if (!fine) {
        release(made);
        return false;
    }
    *store = (mpl_store){.data = made,
                         .durable = true,
                         .submit = submit,
                         .checkpoint = checkpoint,
                         .finish = checkpoint,
                         .write = write_all,
                         .load = mpl_sqlite_load,
                         .claim = mpl_sqlite_claim,
                         .adopt = adopt,
                         .yield = yield,
                         .list = mpl_sqlite_list,
                         .cancel = cancel,
                         .cancelled = cancelled,
                         .used = used,
                         .leave = leave,
                         .release = release,
                         .kv_get = mpl_sqlite_kv_get,
                         .kv_set = mpl_sqlite_kv_set,
                         .kv_list = mpl_sqlite_kv_list,
                         .trail = &mpl_sqlite_trail};
    return true;
}

#else

bool mpl_store_sqlite(mpl_store *store, const mpl_sqlite_setup *setup, moonplan_error *err) {
    (void)store;
    (void)setup;
    mpl_error_set(err, MOONPLAN_STORE_OPEN, MOONPLAN_NO_OFFSET, NULL,
                  "this build keeps no jobs in files: MOONPLAN_WITH_SQLITE was off");
    return false;
}

#endif

bool moonplan_engine_store_sqlite(moonplan_engine *engine, const char *path, size_t length,
                                  unsigned flags, moonplan_error *err) {
    mpl_store store;
    mpl_sqlite_setup setup = {
        .path = {path, length}, .flags = flags, .options = mpl_engine_options(engine)};
    moonplan_error own;
    if (!mpl_store_sqlite(&store, &setup, err ? err : &own)) return false;
    mpl_engine_use_store(engine, &store);
    return true;
}
