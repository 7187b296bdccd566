/* Jobs and records out of a SQLite file. */
#include "store_sqlite.h"

#ifdef MOONPLAN_WITH_SQLITE

#include <string.h>

#include "../core/text.h"
#include "../core/value.h"

static bool corrupt(moonplan_text id, const char *what, moonplan_error *err) {
    mpl_error_set(err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                  "the job %q in the store %s", &id, what);
    return false;
}

/* -- One job -------------------------------------------------------------------*/

/* A text that stays, with a NUL behind it; NULL columns are {NULL, 0}. */
static bool keep(mpl_sqlite_store *store, mpl_stored *stored, sqlite3_stmt *statement, int column,
                 moonplan_text *out, moonplan_error *err) {
    *out = mpl_column_text(store, statement, column);
    if (!out->bytes) return true;
    *out = mpl_stored_text(stored, *out);
    if (!out->bytes) mpl_error_memory(err);
    return out->bytes != NULL;
}

static bool keep_digest(mpl_sqlite_store *store, sqlite3_stmt *statement, int column,
                        char out[MPL_DIGEST_TEXT]) {
    moonplan_text text = mpl_column_text(store, statement, column);
    out[0] = 0;
    if (text.length != 0 && text.length != MPL_DIGEST_TEXT - 1) return false;
    if (text.length) memcpy(out, text.bytes, text.length);
    out[text.length] = 0;
    return true;
}

typedef struct lease {
    moonplan_text owner; /* in `stored` */
    int64_t deadline;
} lease;

static bool read_job(mpl_sqlite_store *store, sqlite3_stmt *row, moonplan_text id,
                     mpl_stored *stored, lease *held, moonplan_error *err) {
    mpl_kept_job *job = &stored->job;
    char digests[2][MPL_DIGEST_TEXT];
    moonplan_text own_id = mpl_stored_text(stored, id), caller = mpl_column_text(store, row, 3),
                  failure = mpl_column_text(store, row, 7);
    if (!own_id.bytes) {
        mpl_error_memory(err);
        return false;
    }
    stored->row = store->sqlite.column_int64(row, 0);
    job->id = own_id.bytes;
    job->status = mpl_status_of(mpl_column_text(store, row, 1));
    job->created = store->sqlite.column_int64(row, 4);
    job->started = mpl_column_time(store, row, 5);
    job->completed = mpl_column_time(store, row, 6);
    job->nameless = store->sqlite.column_int64(row, 8) != 0;
    if (id.length >= MOONPLAN_ID_SIZE || job->status == 0)
        return corrupt(id, "has a status that there is not", err);
    if (!keep_digest(store, row, 10, digests[0]) || !keep_digest(store, row, 11, digests[1]))
        return corrupt(id, "has a digest that is none", err);
    for (int i = 0; i < 2; i++) {
        moonplan_text kept = mpl_stored_text(stored, (moonplan_text){digests[i], MPL_DIGEST_TEXT});
        if (!kept.bytes) {
            mpl_error_memory(err);
            return false;
        }
        *(i == 0 ? &job->plan_digest : &job->caller_digest) = kept.bytes;
    }
    if (!mpl_stored_plan(stored, mpl_column_text(store, row, 2), err)) return false;
    job->evidence = stored->evidence;
    if (caller.bytes) {
        job->caller = mpl_stored_parse(stored, caller, "a caller", err);
        if (!job->caller) return false;
        if (moonplan_value_type(moonplan_document_root(job->caller)) != MOONPLAN_OBJECT)
            return corrupt(id, "has a caller that is none", err);
    }
    if (failure.bytes) {
        stored->failure = mpl_stored_parse(stored, failure, "a failure", err);
        if (!stored->failure) return false;
        job->failure = mpl_failure_read(moonplan_document_root(stored->failure));
        if (job->failure.code == MOONPLAN_CODE_COUNT || job->failure.code == MOONPLAN_OK)
            return corrupt(id, "has failed with a code that is not known here", err);
    }
    held->deadline = mpl_column_time(store, row, 13);
    stored->cancel = store->sqlite.column_int64(row, 15) != 0;
    stored->records = store->sqlite.column_int64(row, 16);
    if (!keep_digest(store, row, 17, stored->head))
        return corrupt(id, "has a digest that is none", err);
    return keep(store, stored, row, 9, &job->risk, err) &&
           keep(store, stored, row, 12, &held->owner, err) &&
           keep(store, stored, row, 14, &stored->goal, err);
}

/* `planned`: what the plan says of it. */
static bool read_step(mpl_sqlite_store *store, sqlite3_stmt *row, moonplan_text id, size_t n,
                      moonplan_value planned, mpl_stored *stored, moonplan_error *err) {
    moonplan_value step_id = mpl_member(planned, "id"),
                   capability = mpl_member(planned, "capability");
    if (n >= stored->step_count || store->sqlite.column_int64(row, 0) != (int64_t)n + 1)
        return corrupt(id, "has not the steps of its plan", err);
    if (!stored->odd_step &&
        (!mpl_text_equal(mpl_column_text(store, row, 11), moonplan_value_string(step_id)) ||
         !mpl_text_equal(mpl_column_text(store, row, 12), moonplan_value_string(capability))))
        stored->odd_step = n + 1;
    mpl_job_step *step = &stored->job.steps[n];
    mpl_step_evidence *evidence = &stored->evidence[n];
    moonplan_text result = mpl_column_text(store, row, 7), code = mpl_column_text(store, row, 10);
    step->status = mpl_status_of(mpl_column_text(store, row, 1));
    step->started = mpl_column_time(store, row, 2);
    step->completed = mpl_column_time(store, row, 3);
    if (step->status == 0) return corrupt(id, "has a step with a status that there is not", err);
    if (!keep_digest(store, row, 6, evidence->input) ||
        !keep_digest(store, row, 8, evidence->result) ||
        !keep_digest(store, row, 9, evidence->approval) ||
        (code.bytes && code.length != sizeof step->digest))
        return corrupt(id, "has a step with a digest that is none", err);
    if (code.bytes) {
        memcpy(step->digest, code.bytes, code.length);
        step->digested = true;
    }
    if (result.bytes) {
        step->result = mpl_stored_parse(stored, result, "a result", err);
        if (!step->result) return false;
    }
    return keep(store, stored, row, 4, &evidence->version, err) &&
           keep(store, stored, row, 5, &evidence->risk, err);
}

static bool read_steps(mpl_sqlite_store *store, moonplan_text id, mpl_stored *stored,
                       moonplan_error *err) {
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_STEPS, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, stored->row);
    bool row = true;
    size_t n = 0;
    moonplan_walk plan =
        moonplan_value_walk(mpl_member(moonplan_document_root(stored->plan), "steps"));
    while (mpl_sqlite_row(store, statement, &row, err)) {
        if (!row) break;
        moonplan_walk_next(&plan);
        if (read_step(store, statement, id, n++, plan.value, stored, err)) continue;
        return mpl_sqlite_give(store, statement, false, err);
    }
    if (row || !mpl_sqlite_give(store, statement, true, err)) return false;
    return n == stored->step_count || corrupt(id, "has not the steps of its plan", err);
}

static bool read_events(mpl_sqlite_store *store, mpl_stored *stored, moonplan_error *err) {
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_EVENTS, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, stored->row);
    mpl_buffer list;
    mpl_buffer_open(&list, &store->alloc);
    bool row = true;
    mpl_buffer_byte(&list, '[');
    while (mpl_sqlite_row(store, statement, &row, err)) {
        if (!row) break;
        moonplan_text event = mpl_column_text(store, statement, 0);
        if (list.length > 1) mpl_buffer_byte(&list, ',');
        mpl_buffer_add(&list, event.bytes, event.length);
    }
    mpl_buffer_byte(&list, ']');
    if (!row && mpl_sqlite_give(store, statement, true, err)) {
        if (list.failed)
            mpl_error_memory(err);
        else
            stored->job.past =
                mpl_stored_parse(stored, (moonplan_text){list.bytes, list.length}, "an event", err);
    }
    mpl_buffer_close(&list);
    return stored->job.past != NULL;
}

/* Within a transaction. */
static bool read_whole(mpl_sqlite_store *store, moonplan_text id, mpl_stored *stored, bool *found,
                       lease *held, moonplan_error *err) {
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_JOB, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, id);
    if (!mpl_sqlite_row(store, statement, found, err)) return false;
    bool fine = !*found || read_job(store, statement, id, stored, held, err);
    return mpl_sqlite_give(store, statement, fine, err) &&
           (!*found || (read_steps(store, id, stored, err) && read_events(store, stored, err)));
}

static bool begin_read(mpl_sqlite_store *store, moonplan_error *err) {
    sqlite3_stmt *begin = mpl_sqlite_take(store, MPL_SQL_BEGIN_READ, err);
    return begin && mpl_sqlite_run(store, begin, err);
}

bool mpl_sqlite_load(void *data, moonplan_text id, mpl_stored *stored, bool *found,
                     moonplan_error *err) {
    mpl_sqlite_store *store = data;
    lease held = {.owner = {NULL, 0}};
    uint64_t pid;
    bool outer = !store->sqlite.get_autocommit(store->db); /* the trail is being read */
    if (!outer && !begin_read(store, err)) return false;
    bool fine = read_whole(store, id, stored, found, &held, err);
    if (!outer) fine = mpl_sqlite_end(store, fine, err);
    if (fine && *found && !outer &&
        !mpl_sqlite_leased(store, stored->row, held.owner, held.deadline, &pid) &&
        !mpl_stored_abandon(stored)) {
        mpl_error_memory(err);
        fine = false;
    }
    return fine;
}

static bool take_lease(mpl_sqlite_store *store, const mpl_stored *stored, moonplan_error *err) {
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_CLAIM, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, stored->row);
    mpl_bind_word(store, statement, 2, store->owner);
    mpl_bind_number(store, statement, 3, mpl_system_time() + store->lease_ms);
    return mpl_sqlite_run(store, statement, err);
}

bool mpl_sqlite_claim(void *data, moonplan_text id, mpl_stored *stored, bool *found,
                      moonplan_error *err) {
    mpl_sqlite_store *store = data;
    lease held = {.owner = {NULL, 0}};
    uint64_t pid;
    if (!mpl_sqlite_begin(store, err)) return false;
    bool fine = read_whole(store, id, stored, found, &held, err), claimed = false;
    if (fine && *found && !mpl_status_ended(stored->job.status)) {
        claimed = !mpl_sqlite_leased(store, stored->row, held.owner, held.deadline, &pid);
        if (claimed)
            fine = take_lease(store, stored, err);
        else if (pid)
            mpl_error_set(err, MOONPLAN_STORE_LOCKED, MOONPLAN_NO_OFFSET, NULL,
                          "the job %q is being run by process %u", &id, pid);
        else
            mpl_error_set(err, MOONPLAN_STORE_LOCKED, MOONPLAN_NO_OFFSET, NULL,
                          "the job %q is leased to a process that cannot be seen from here, for "
                          "%u seconds more",
                          &id, (uint64_t)(held.deadline - mpl_system_time()) / 1000 + 1);
        fine = fine && claimed;
    }
    fine = mpl_sqlite_end(store, fine, err);
    stored->claimed = fine && claimed;
    return fine;
}

/* -- Many ----------------------------------------------------------------------*/

typedef struct line {
    moonplan_status status;
    moonplan_text id, goal;
    int64_t created, completed;
} line;

static void read_line(mpl_sqlite_store *store, sqlite3_stmt *row, line *out) {
    uint64_t pid;
    *out = (line){.id = mpl_column_text(store, row, 1),
                  .status = mpl_status_of(mpl_column_text(store, row, 2)),
                  .goal = mpl_column_text(store, row, 3),
                  .created = store->sqlite.column_int64(row, 4),
                  .completed = mpl_column_time(store, row, 5)};
    bool runs = out->status == MOONPLAN_CREATED || out->status == MOONPLAN_EXECUTING;
    if (runs &&
        !mpl_sqlite_leased(store, store->sqlite.column_int64(row, 0),
                           mpl_column_text(store, row, 6), mpl_column_time(store, row, 7), &pid))
        out->status =
            store->sqlite.column_int64(row, 8) ? MOONPLAN_OUTCOME_UNKNOWN : MOONPLAN_INTERRUPTED;
}

static bool takes(const moonplan_job_filter *filter, const line *one) {
    return !filter || ((!filter->status.bytes ||
                        mpl_text_is(filter->status, moonplan_status_name(one->status))) &&
                       mpl_filter_takes_goal(filter, one->goal) &&
                       mpl_filter_takes_time(filter, one->created));
}

/* Twice where only the last so many are wanted: first they are counted. */
static bool walk(mpl_sqlite_store *store, const moonplan_job_filter *filter, size_t skip,
                 size_t *count, mpl_builder *out, moonplan_error *err) {
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_LIST, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, filter ? filter->capability : (moonplan_text){NULL, 0});
    bool row = true;
    *count = 0;
    while (mpl_sqlite_row(store, statement, &row, err)) {
        if (!row) break;
        line one;
        read_line(store, statement, &one);
        if (!takes(filter, &one) || ++*count <= skip || !out) continue;
        mpl_job_line(out, one.id, one.status, one.goal, one.created, one.completed);
    }
    return !row && mpl_sqlite_give(store, statement, true, err);
}

bool mpl_sqlite_list(void *data, const moonplan_job_filter *filter, mpl_builder *out,
                     moonplan_error *err) {
    mpl_sqlite_store *store = data;
    size_t count, skip = 0;
    if (!begin_read(store, err)) return false;
    bool fine = true;
    if (filter && filter->most) {
        fine = walk(store, filter, 0, &count, NULL, err);
        if (fine && count > filter->most) skip = count - filter->most;
    }
    fine = fine && walk(store, filter, skip, &count, out, err);
    return mpl_sqlite_end(store, fine, err);
}

/* -- The trail -----------------------------------------------------------------*/

static bool trail_open(void *data, moonplan_error *err) {
    return begin_read(data, err);
}

static void trail_close(void *data) {
    mpl_sqlite_end(data, false, NULL);
}

static bool trail_records(void *data, moonplan_text id, mpl_record_each each, void *each_data,
                          moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement =
        mpl_sqlite_take(store, id.bytes ? MPL_SQL_JOB_RECORDS : MPL_SQL_RECORDS, err);
    if (!statement) return false;
    if (id.bytes) mpl_bind_text(store, statement, 1, id);
    bool row = true, more = true;
    while (more && mpl_sqlite_row(store, statement, &row, err)) {
        if (!row) break;
        mpl_record record = {.sequence = store->sqlite.column_int64(statement, 0),
                             .position = store->sqlite.column_int64(statement, 1),
                             .job_id = mpl_column_text(store, statement, 2),
                             .event = mpl_column_text(store, statement, 3),
                             .before = mpl_column_text(store, statement, 4),
                             .before_in_job = mpl_column_text(store, statement, 5),
                             .digest = mpl_column_text(store, statement, 6)};
        more = each(each_data, &record);
    }
    return !(row && more) && mpl_sqlite_give(store, statement, true, err);
}

static bool trail_jobs(void *data, mpl_id_each each, void *each_data, moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_IDS, err);
    if (!statement) return false;
    bool row = true, more = true;
    while (more && mpl_sqlite_row(store, statement, &row, err)) {
        if (!row) break;
        more = each(each_data, mpl_column_text(store, statement, 0));
    }
    return !(row && more) && mpl_sqlite_give(store, statement, true, err);
}

static bool trail_head(void *data, mpl_head *out, moonplan_error *err) {
    mpl_sqlite_store *store = data;
    bool row;
    *out = (mpl_head){.sequence = 0};
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_HEAD, err);
    if (!statement || !mpl_sqlite_row(store, statement, &row, err)) return false;
    if (row) {
        out->sequence = store->sqlite.column_int64(statement, 0);
        keep_digest(store, statement, 1, out->digest);
    }
    return mpl_sqlite_give(store, statement, true, err);
}

static bool trail_signed(void *data, const uint8_t key[8], mpl_signed_head *out, bool *found,
                         moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_SIGNED, err);
    if (!statement) return false;
    mpl_bind_bytes(store, statement, 1, (moonplan_text){(const char *)key, 8});
    if (!mpl_sqlite_row(store, statement, found, err)) return false;
    if (*found) {
        moonplan_text signature = mpl_column_text(store, statement, 3);
        *out = (mpl_signed_head){.head.sequence = store->sqlite.column_int64(statement, 0),
                                 .time = store->sqlite.column_int64(statement, 2)};
        keep_digest(store, statement, 1, out->head.digest);
        memcpy(out->key, key, 8);
        if (signature.length == sizeof out->signature)
            memcpy(out->signature, signature.bytes, signature.length);
    }
    return mpl_sqlite_give(store, statement, true, err);
}

static bool trail_sign(void *data, const mpl_signed_head *head, moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_SIGN, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, head->head.sequence);
    mpl_bind_word(store, statement, 2, head->head.digest);
    mpl_bind_number(store, statement, 3, head->time);
    mpl_bind_bytes(store, statement, 4, (moonplan_text){(const char *)head->key, 8});
    mpl_bind_bytes(store, statement, 5,
                   (moonplan_text){(const char *)head->signature, sizeof head->signature});
    return mpl_sqlite_run(store, statement, err);
}

static bool trail_use(void *data, moonplan_text approval, int64_t row, size_t step, bool *there,
                      moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_USE, err);
    if (!statement) return false;
    mpl_bind_text(store, statement, 1, approval);
    mpl_bind_number(store, statement, 2, (int64_t)step + 1);
    mpl_bind_number(store, statement, 3, row);
    if (!mpl_sqlite_row(store, statement, there, err)) return false;
    return mpl_sqlite_give(store, statement, true, err);
}

/* The number in the only row of a statement that is bound. */
static bool count_of(mpl_sqlite_store *store, sqlite3_stmt *statement, int64_t *count,
                     moonplan_error *err) {
    bool row;
    *count = 0;
    if (!mpl_sqlite_row(store, statement, &row, err)) return false;
    if (row) *count = store->sqlite.column_int64(statement, 0);
    return mpl_sqlite_give(store, statement, true, err);
}

static bool trail_uses(void *data, int64_t row, int64_t *count, moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_USES_OF, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, row);
    return count_of(store, statement, count, err);
}

static bool trail_odd_keys(void *data, int64_t row, moonplan_text own, int64_t *count,
                           moonplan_error *err) {
    mpl_sqlite_store *store = data;
    sqlite3_stmt *statement = mpl_sqlite_take(store, MPL_SQL_ODD_KEYS, err);
    if (!statement) return false;
    mpl_bind_number(store, statement, 1, row);
    mpl_bind_text(store, statement, 2, own);
    return count_of(store, statement, count, err);
}

static bool trail_odd(void *data, mpl_id_each each, void *each_data, moonplan_error *err) {
    static const mpl_sql checks[] = {MPL_SQL_CHECK, MPL_SQL_ORPHANS};
    mpl_sqlite_store *store = data;
    bool more = true;
    for (size_t i = 0; more && i < sizeof checks / sizeof *checks; i++) {
        sqlite3_stmt *statement = mpl_sqlite_take(store, checks[i], err);
        bool row = true;
        while (more && statement && mpl_sqlite_row(store, statement, &row, err)) {
            if (!row) break;
            moonplan_text said = mpl_column_text(store, statement, 0);
            if (!mpl_text_is(said, "ok")) more = each(each_data, said);
        }
        if (!statement || (row && more) || !mpl_sqlite_give(store, statement, true, err))
            return false;
    }
    return true;
}

const mpl_trail mpl_sqlite_trail = {
    .open = trail_open,
    .close = trail_close,
    .records = trail_records,
    .jobs = trail_jobs,
    .head = trail_head,
    .signed_head = trail_signed,
    .sign = trail_sign,
    .use = trail_use,
    .uses = trail_uses,
    .odd_keys = trail_odd_keys,
    .odd = trail_odd,
};

#else
typedef int mpl_store_sqlite_read_is_off; /* ISO C wants something in every file */
#endif
