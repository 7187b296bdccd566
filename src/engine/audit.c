/* The audit trail: handed out, signed, and compared with itself and with what the store says. */
#include <string.h>

#include "../core/build.h"
#include "../core/json_write.h"
#include "../core/text.h"
#include "audit.h"

#define AUDIT_CONTEXT "moonplan-audit-1"

static const mpl_trail *trail_of(const moonplan_engine *engine, moonplan_error *err) {
    if (engine->store.trail) return engine->store.trail;
    mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                  "a store in memory keeps no audit trail");
    return NULL;
}

/* -- Handing out ---------------------------------------------------------------*/

typedef struct sink {
    moonplan_record_sink tell;
    void *data;
    mpl_buffer text;
    const moonplan_options *options;
    bool ended;
    moonplan_error err;
} sink;

static bool tell_record(void *data, const mpl_record *record) {
    sink *s = data;
    mpl_record_line(&s->text, record);
    if (s->text.failed) return false;
    /* In a store that somebody has written to a record may be anything. */
    moonplan_document *whole =
        moonplan_document_parse(s->text.bytes, s->text.length, s->options, &s->err);
    moonplan_document_free(whole);
    if (!whole) {
        if (s->err.code != MOONPLAN_MEMORY)
            mpl_error_set(&s->err, MOONPLAN_STORE_CORRUPT, MOONPLAN_NO_OFFSET, NULL,
                          "record %u of the store is no JSON text", (uint64_t)record->sequence);
        return false;
    }
    s->ended = !s->tell(s->data, (moonplan_text){s->text.bytes, s->text.length});
    return !s->ended;
}

static bool no_job(void *data, moonplan_text id) {
    moonplan_text *wanted = data;
    if (!mpl_text_equal(*wanted, id)) return true;
    *wanted = (moonplan_text){NULL, 0};
    return false;
}

bool moonplan_engine_records(const moonplan_engine *engine, moonplan_text id,
                             moonplan_record_sink tell, void *data, moonplan_error *err) {
    moonplan_error own;
    if (!err) err = &own;
    const mpl_trail *trail = trail_of(engine, err);
    void *store = engine->store.data;
    if (!trail || !trail->open(store, err)) return false;
    mpl_alloc alloc = mpl_alloc_of(&engine->options);
    moonplan_options wide = mpl_stored_options(&engine->options);
    sink s = {.tell = tell, .data = data, .options = &wide};
    mpl_buffer_open(&s.text, &alloc);
    moonplan_text wanted = id;
    bool fine = !id.bytes || trail->jobs(store, no_job, &wanted, err);
    if (fine && id.bytes && wanted.bytes) {
        mpl_error_set(err, MOONPLAN_JOB_NOT_FOUND, MOONPLAN_NO_OFFSET, NULL,
                      "there is no job %q in the store", &id);
        fine = false;
    }
    fine = fine && trail->records(store, id, tell_record, &s, err);
    if (fine && s.text.failed) mpl_error_memory(&s.err);
    if (fine && s.err.code != MOONPLAN_OK) {
        *err = s.err;
        fine = false;
    }
    mpl_buffer_close(&s.text);
    trail->close(store);
    return fine && !s.ended;
}

/* -- Signing -------------------------------------------------------------------*/

/* What is signed: the canonical text of {"digest", "sequence", "time"}. */
static bool head_text(mpl_buffer *out, const mpl_head *head, int64_t time) {
    char when[25];
    mpl_builder builder;
    mpl_time_write(when, time);
    mpl_build_open(&builder, NULL);
    if (builder.error.code == MOONPLAN_OK) {
        mpl_build_object(&builder);
        mpl_build_name(&builder, MOONPLAN_TEXT("digest"));
        mpl_build_string(&builder, mpl_text_of(head->digest));
        mpl_build_name(&builder, MOONPLAN_TEXT("sequence"));
        mpl_build_integer(&builder, head->sequence);
        mpl_build_name(&builder, MOONPLAN_TEXT("time"));
        mpl_build_string(&builder, (moonplan_text){when, 24});
        mpl_build_end(&builder);
    }
    moonplan_document *document = mpl_build_finish(&builder, NULL);
    if (document) mpl_write_canonical(out, moonplan_document_root(document));
    moonplan_document_free(document);
    return document && !out->failed;
}

bool moonplan_engine_sign_head(moonplan_engine *engine, const moonplan_secret_key *key,
                               moonplan_error *err) {
    moonplan_error own;
    if (!err) err = &own;
    const mpl_trail *trail = trail_of(engine, err);
    void *store = engine->store.data;
    mpl_signed_head head = {.time = 0};
    if (!trail || !trail->head(store, &head.head, err)) return false;
    head.time = mpl_engine_now(engine);
    moonplan_public_key half;
    moonplan_secret_key_public(key, &half);
    memcpy(head.key, half.id, sizeof head.key);
    mpl_buffer text;
    mpl_buffer_open(&text, &engine->alloc);
    bool fine = head_text(&text, &head.head, head.time);
    if (fine)
        moonplan_sign_message(key, head.signature, AUDIT_CONTEXT, text.bytes, text.length);
    else
        mpl_error_memory(err);
    mpl_buffer_close(&text);
    return fine && trail->sign(store, &head, err);
}

/* -- Checking ------------------------------------------------------------------*/

static void copy(char *out, size_t room, moonplan_text text) {
    size_t length = text.length < room ? text.length : room - 1;
    if (length) memcpy(out, text.bytes, length);
    out[length] = 0;
}

/* Bytes that are digested in search of the numbers that records were moved from: a store in which
 * many were edited would take the square of their number. What is over is "edited". */
#define SEARCH_BYTES 100000000

static bool was_number(mpl_audit *a, mpl_record *record, int64_t number) {
    char digest[MPL_DIGEST_TEXT];
    record->sequence = number;
    a->memory = !mpl_record_digest(digest, &a->scratch, record);
    a->searched += a->scratch.length;
    return !a->memory && mpl_text_is(record->digest, digest);
}

/* A record that is not what its digest says: one that was moved has the right digest under another
 * number, which is looked for from here outwards. */
static int64_t moved_from(mpl_audit *a, const mpl_record *record) {
    mpl_record other = *record;
    int64_t here = record->sequence, last = a->head.sequence;
    for (int64_t far = 1; here > far || last - here >= far; far++) {
        if ((here > far && was_number(a, &other, here - far)) ||
            (last - here >= far && was_number(a, &other, here + far)))
            return other.sequence;
        if (a->memory || a->searched >= SEARCH_BYTES) break;
    }
    return 0;
}

/* Records are missing after the one that was looked at last, up to and with this number. Any number
 * may stand in a store that somebody has written to. */
static void check_missing(mpl_audit *a, int64_t last) {
    moonplan_text none = {NULL, 0};
    if (a->last_sequence >= last) return;
    int64_t first = a->last_sequence + 1;
    if (first == last)
        MPL_AUDIT_FAULT(a, none, first, "missing", "record %u is missing", (uint64_t)first);
    else
        MPL_AUDIT_FAULT(a, none, first, "missing", "the records %u to %u are missing",
                        (uint64_t)first, (uint64_t)last);
}

/* What a record says of itself. */
static void check_itself(mpl_audit *a, const mpl_record *record, bool sound) {
    uint64_t number = (uint64_t)record->sequence;
    if (record->sequence > a->head.sequence) {
        MPL_AUDIT_FAULT(a, record->job_id, record->sequence, "inserted",
                        "record %u comes after the last that was written, %u", number,
                        (uint64_t)a->head.sequence);
        return;
    }
    int64_t was = sound ? 0 : moved_from(a, record);
    if (was)
        MPL_AUDIT_FAULT(a, record->job_id, record->sequence, "moved",
                        "record %u was written as number %u", number, (uint64_t)was);
    else if (!sound)
        MPL_AUDIT_FAULT(a, record->job_id, record->sequence, "edited",
                        "record %u is not what was written: its digest is another one", number);
    else if (a->last_sequence == record->sequence - 1 &&
             !mpl_text_is(record->before, a->last_digest))
        /* This one is what it was; so the one before it is not. */
        MPL_AUDIT_FAULT(a, mpl_text_of(a->last_job), a->last_sequence, "edited",
                        "record %u is not what was written: record %u followed another one",
                        (uint64_t)a->last_sequence, number);
}

/* In the order of their numbers over the whole store. */
static bool check_record(void *data, const mpl_record *record) {
    mpl_audit *a = data;
    char digest[MPL_DIGEST_TEXT];
    uint64_t number = (uint64_t)record->sequence;
    a->records++;
    if (!mpl_record_digest(digest, &a->scratch, record)) {
        a->memory = true;
        return false;
    }
    check_missing(a, record->sequence - 1);
    check_itself(a, record, mpl_text_is(record->digest, digest));
    if (!record->job_id.bytes)
        MPL_AUDIT_FAULT(a, record->job_id, record->sequence, "row",
                        "record %u is about a job that is gone", number);
    if (record->sequence == a->signed_head.head.sequence)
        a->signed_seen = mpl_text_is(record->digest, a->signed_head.head.digest);
    a->last_sequence = record->sequence;
    copy(a->last_digest, sizeof a->last_digest, record->digest);
    copy(a->last_job, sizeof a->last_job, record->job_id);
    return true;
}

static void check_end(mpl_audit *a) {
    moonplan_text none = {NULL, 0};
    if (a->last_sequence < a->head.sequence)
        check_missing(a, a->head.sequence);
    else if (a->last_sequence == a->head.sequence && a->last_sequence > 0 &&
             strcmp(a->head.digest, a->last_digest) != 0)
        MPL_AUDIT_FAULT(a, mpl_text_of(a->last_job), a->last_sequence, "edited",
                        "record %u is not what was written: the store notes another digest of it",
                        (uint64_t)a->last_sequence);
    else if (a->head.sequence == 0 && strcmp(a->head.digest, mpl_no_digest) != 0)
        MPL_AUDIT_FAULT(a, none, 0, "cut", "the store notes a last record, and has none");
}

static bool read_signature(mpl_audit *a, const moonplan_public_key *key, moonplan_error *err) {
    moonplan_text none = {NULL, 0};
    bool found = false;
    if (!key) return true;
    if (!a->trail->signed_head(a->store, key->id, &a->signed_head, &found, err)) return false;
    if (!found) {
        MPL_AUDIT_FAULT(a, none, 0, "signature", "the store has no signature of this key's");
        return true;
    }
    mpl_buffer text;
    mpl_buffer_open(&text, &a->alloc);
    bool fine = head_text(&text, &a->signed_head.head, a->signed_head.time);
    if (!fine)
        mpl_error_memory(err);
    else if (moonplan_verify_message(key, a->signed_head.signature, AUDIT_CONTEXT, text.bytes,
                                     text.length, NULL))
        a->signed_sound = true;
    else
        MPL_AUDIT_FAULT(a, none, a->signed_head.head.sequence, "signature",
                        "this is not what the key has signed");
    mpl_buffer_close(&text);
    /* An empty trail may be signed too. */
    a->signed_seen = a->signed_head.head.sequence == 0;
    return fine;
}

static void check_signature(mpl_audit *a) {
    moonplan_text none = {NULL, 0};
    if (a->signed_sound && !a->signed_seen)
        MPL_AUDIT_FAULT(a, none, a->signed_head.head.sequence, "cut",
                        "record %u, whose digest was signed, is not there",
                        (uint64_t)a->signed_head.head.sequence);
}

static bool check_all(mpl_audit *a, const moonplan_public_key *key, moonplan_error *err) {
    moonplan_text none = {NULL, 0};
    if (!a->trail->head(a->store, &a->head, err) || !read_signature(a, key, err) ||
        !a->trail->records(a->store, none, check_record, a, err))
        return false;
    if (a->memory) {
        mpl_error_memory(err);
        return false;
    }
    check_end(a);
    check_signature(a);
    return mpl_audit_jobs(a, err);
}

/* -- The report ----------------------------------------------------------------*/

static void count(mpl_builder *out, const char *name, int64_t number) {
    mpl_build_name(out, mpl_text_of(name));
    mpl_build_integer(out, number);
}

static moonplan_document *report(mpl_audit *a, const moonplan_document *faults,
                                 moonplan_error *err) {
    char time[25];
    mpl_builder out;
    mpl_build_open_around(&out, &a->engine->options);
    if (out.error.code == MOONPLAN_OK) {
        mpl_build_object(&out);
        count(&out, "jobs", a->jobs);
        count(&out, "records", a->records);
        mpl_build_name(&out, MOONPLAN_TEXT("head"));
        mpl_build_string(&out, mpl_text_of(a->head.digest));
        if (a->signed_sound) {
            mpl_time_write(time, a->signed_head.time);
            mpl_build_name(&out, MOONPLAN_TEXT("signed"));
            mpl_build_object(&out);
            count(&out, "sequence", a->signed_head.head.sequence);
            mpl_build_name(&out, MOONPLAN_TEXT("time"));
            mpl_build_string(&out, (moonplan_text){time, 24});
            mpl_build_end(&out);
        }
        mpl_build_name(&out, MOONPLAN_TEXT("sound"));
        mpl_build_boolean(&out, a->faults == 0);
        mpl_build_name(&out, MOONPLAN_TEXT("faults"));
        mpl_build_value(&out, moonplan_document_root(faults));
        mpl_build_end(&out);
    }
    return mpl_build_finish(&out, err);
}

moonplan_document *moonplan_engine_verify_new(const moonplan_engine *engine,
                                              const moonplan_public_key *key, moonplan_error *err) {
    moonplan_error own;
    if (!err) err = &own;
    const mpl_trail *trail = trail_of(engine, err);
    void *store = engine->store.data;
    if (!trail || !trail->open(store, err)) return NULL;
    mpl_audit a = {
        .engine = engine, .trail = trail, .store = store, .alloc = mpl_alloc_of(&engine->options)};
    memcpy(a.last_digest, mpl_no_digest, sizeof a.last_digest);
    mpl_buffer_open(&a.scratch, &a.alloc);
    mpl_build_open_around(&a.out, &engine->options);
    if (a.out.error.code == MOONPLAN_OK) mpl_build_array(&a.out);
    bool fine = check_all(&a, key, err);
    trail->close(store);
    mpl_buffer_close(&a.scratch);
    if (!fine) {
        mpl_build_close(&a.out);
        return NULL;
    }
    uint64_t most = engine->options.limits.errors;
    moonplan_text none = {NULL, 0};
    if (a.faults > most) {
        uint64_t more = a.faults - most;
        a.faults = most - 1;
        MPL_AUDIT_FAULT(&a, none, 0, "limit",
                        "%u more faults are not listed; the limit errors is %u", more, most);
    }
    mpl_build_end(&a.out);
    moonplan_document *faults = mpl_build_finish(&a.out, err);
    moonplan_document *made = faults ? report(&a, faults, err) : NULL;
    moonplan_document_free(faults);
    return made;
}
