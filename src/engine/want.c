/* Answers. They are kept beside the job until whoever gives them has returned, because taking them
 * ends the life of what the question shows. */
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "../core/json_write.h"
#include "../core/text.h"
#include "../core/value.h"
#include "job.h"

/* The job behind a question; the public one is const. */
static moonplan_job *job_of(const moonplan_want *want) {
    return (moonplan_job *)((char *)(uintptr_t)want - offsetof(moonplan_job, want));
}

void mpl_answer_drop(moonplan_engine *engine, mpl_answer *answer) {
    moonplan_document_free(answer->value);
    mpl_release(&engine->alloc, answer->text, answer->text_size);
    *answer = (mpl_answer){.kind = MPL_ANSWER_NONE};
}

#define BIT(kind) (1u << (kind))

/* The answer's place, if the question is one of `kinds` and has none yet. */
static mpl_answer *place(moonplan_want *want, unsigned kinds) {
    mpl_answer *answer = &job_of(want)->answer;
    bool fits = want->kind && (kinds >> want->kind & 1);
    return fits && answer->kind == MPL_ANSWER_NONE ? answer : NULL;
}

static void answer_memory(mpl_answer *answer) {
    answer->kind = MPL_ANSWER_FAIL;
    answer->code = MOONPLAN_MEMORY;
    answer->fixed = "out of memory";
}

static void keep_text(moonplan_want *want, mpl_answer *answer, moonplan_text text) {
    moonplan_engine *engine = job_of(want)->engine;
    if (!text.bytes) return;
    answer->text = mpl_allocate(&engine->alloc, text.length + 1);
    if (!answer->text) {
        answer_memory(answer);
        return;
    }
    answer->text_size = text.length + 1;
    answer->text_length = text.length;
    if (text.length) memcpy(answer->text, text.bytes, text.length);
    answer->text[text.length] = 0;
}

static bool answer_error(moonplan_want *want, mpl_answer *answer, moonplan_code code,
                         const moonplan_error *err) {
    answer->kind = MPL_ANSWER_FAIL;
    answer->code = code;
    keep_text(want, answer, (moonplan_text){err->message, strlen(err->message)});
    return false;
}

/* -- DECISION ----------------------------------------------------------------*/

bool moonplan_want_allow(moonplan_want *want) {
    mpl_answer *answer = place(want, BIT(MOONPLAN_WANT_DECISION));
    if (!answer) return false;
    answer->kind = MPL_ANSWER_ALLOW;
    return true;
}

bool moonplan_want_deny(moonplan_want *want, const char *reason, size_t length) {
    mpl_answer *answer = place(want, BIT(MOONPLAN_WANT_DECISION));
    if (!answer) return false;
    answer->kind = MPL_ANSWER_DENY;
    keep_text(want, answer, (moonplan_text){reason, length});
    return true;
}

bool moonplan_want_decide(moonplan_want *want, moonplan_value decision) {
    mpl_answer *answer = place(want, BIT(MOONPLAN_WANT_DECISION));
    if (!answer) return false;
    answer->kind = MPL_ANSWER_MALFORMED;
    if (!decision.document) return true;
    moonplan_text word = moonplan_value_string(mpl_member(decision, "decision"));
    if (mpl_text_is(word, "allow")) {
        answer->kind = MPL_ANSWER_ALLOW;
    } else if (mpl_text_is(word, "deny")) {
        moonplan_value reason = mpl_member(decision, "reason");
        moonplan_type type = moonplan_value_type(reason);
        if (type != MOONPLAN_NONE && type != MOONPLAN_STRING) return true;
        answer->kind = MPL_ANSWER_DENY;
        keep_text(want, answer, moonplan_value_string(reason));
    }
    return true;
}

void mpl_decide_by_risk(moonplan_want *want) {
    const moonplan_engine *engine = job_of(want)->engine;
    moonplan_text reason = MOONPLAN_TEXT("Unknown capability risk.");
    bool allowed = mpl_text_is(want->risk, "read");
    for (size_t i = 0; i < engine->allow_count && !allowed; i++)
        allowed = want->risk.bytes && mpl_text_equal(want->risk, engine->allow[i]);
    if (mpl_text_is(want->risk, "write"))
        reason = MOONPLAN_TEXT("Write capability requires explicit approval.");
    if (mpl_text_is(want->risk, "destructive"))
        reason = MOONPLAN_TEXT("Destructive capability requires explicit approval.");
    if (allowed)
        moonplan_want_allow(want);
    else
        moonplan_want_deny(want, reason.bytes, reason.length);
}

/* -- INPUT, RESULT, COMMIT ---------------------------------------------------*/

static const unsigned with_value = BIT(MOONPLAN_WANT_INPUT) | BIT(MOONPLAN_WANT_RESULT) |
                                   BIT(MOONPLAN_WANT_COMMIT) | BIT(MOONPLAN_WANT_OUTCOME);

/* The code for a value that cannot be kept. */
static moonplan_code unfit(const moonplan_want *want, moonplan_code why) {
    if (why == MOONPLAN_MEMORY) return why;
    return want->kind == MOONPLAN_WANT_INPUT ? MOONPLAN_JOB_INPUT_TYPE : MOONPLAN_JOB_RESULT_SHAPE;
}

bool mpl_want_take(moonplan_want *want, moonplan_document *document) {
    mpl_answer *answer = place(want, with_value);
    if (!answer) {
        moonplan_document_free(document);
        return false;
    }
    uint64_t most = job_of(want)->engine->options.limits.result_bytes;
    bool result = want->kind == MOONPLAN_WANT_RESULT || want->kind == MOONPLAN_WANT_OUTCOME;
    if (document && result && document->text_length > most) {
        moonplan_error err;
        mpl_error_set(&err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "the result of %q has %u bytes, more than the limit result_bytes allows: %u",
                      &want->capability, (uint64_t)document->text_length, most);
        moonplan_document_free(document);
        return answer_error(want, answer, MOONPLAN_LIMIT, &err);
    }
    answer->kind = MPL_ANSWER_VALUE;
    answer->value = document;
    return true;
}

bool moonplan_want_complete(moonplan_want *want, moonplan_value value) {
    mpl_answer *answer = place(want, with_value);
    if (!answer) return false;
    if (!value.document || moonplan_value_type(value) == MOONPLAN_NONE ||
        want->kind == MOONPLAN_WANT_COMMIT)
        return mpl_want_take(want, NULL);
    moonplan_error err;
    mpl_builder builder;
    mpl_build_open(&builder, &job_of(want)->engine->options);
    if (builder.error.code == MOONPLAN_OK) mpl_build_value(&builder, value);
    moonplan_document *document = mpl_build_finish(&builder, &err);
    if (!document) return answer_error(want, answer, unfit(want, err.code), &err);
    return mpl_want_take(want, document);
}

bool moonplan_want_complete_json(moonplan_want *want, const char *text, size_t length) {
    mpl_answer *answer = place(want, with_value);
    if (!answer) return false;
    moonplan_error err, told;
    moonplan_document *document =
        moonplan_document_parse(text, length, &job_of(want)->engine->options, &err);
    if (document) return mpl_want_take(want, document);
    mpl_error_set(&told, err.code, MOONPLAN_NO_OFFSET, NULL, "the %s of %q is no JSON text: %s",
                  want->kind == MOONPLAN_WANT_INPUT ? "input" : "result", &want->capability,
                  err.message);
    return answer_error(want, answer, unfit(want, err.code),
                        err.code == MOONPLAN_MEMORY ? &err : &told);
}

/* -- OUTCOME -----------------------------------------------------------------*/

bool moonplan_want_retry(moonplan_want *want) {
    mpl_answer *answer = place(want, BIT(MOONPLAN_WANT_OUTCOME));
    if (!answer) return false;
    answer->kind = MPL_ANSWER_RETRY;
    return true;
}

void mpl_want_doubt(moonplan_want *want, moonplan_text why) {
    mpl_answer *answer = place(want, BIT(MOONPLAN_WANT_OUTCOME));
    if (!answer || answer->text) return;
    keep_text(want, answer, why);
    /* What is only told need not be told for want of memory. */
    if (answer->kind == MPL_ANSWER_FAIL) *answer = (mpl_answer){.kind = MPL_ANSWER_NONE};
}

bool moonplan_want_outcome(moonplan_want *want, moonplan_value outcome) {
    if (!place(want, BIT(MOONPLAN_WANT_OUTCOME))) return false;
    moonplan_type type = outcome.document ? moonplan_value_type(outcome) : MOONPLAN_NONE;
    if (type == MOONPLAN_NONE || type == MOONPLAN_NULL) return true;
    moonplan_type happened = moonplan_value_type(mpl_member(outcome, "happened"));
    moonplan_value result = mpl_member(outcome, "result");
    moonplan_walk walk = moonplan_value_walk(outcome);
    while (type == MOONPLAN_OBJECT && moonplan_walk_next(&walk))
        if (!mpl_text_is(walk.name, "happened") && !mpl_text_is(walk.name, "result")) return false;
    if (happened == MOONPLAN_FALSE && moonplan_value_type(result) == MOONPLAN_NONE)
        return moonplan_want_retry(want);
    return happened == MOONPLAN_TRUE && moonplan_want_complete(want, result);
}

/* How long an answer of the store's is taken for a new one, in milliseconds. */
#define LOOK_AGAIN 250

void moonplan_job_cancel(moonplan_job *job) {
    atomic_store(&job->cancel, true);
}

bool moonplan_want_cancelled(moonplan_want *want) {
    moonplan_job *job = job_of(want);
    const mpl_store *store = &job->engine->store;
    if (atomic_load(&job->cancel)) return true;
    if (!store->cancelled) return false;
    /* Not the engine's clock, which a host may hold still. */
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    int64_t now = (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
    int64_t since = now - job->cancel_asked;
    if (since >= 0 && since < LOOK_AGAIN) return false;
    job->cancel_asked = now;
    if (store->cancelled(store->data, job)) moonplan_job_cancel(job);
    return atomic_load(&job->cancel);
}

/* -- Failures ----------------------------------------------------------------*/

static moonplan_code input_code(moonplan_code code) {
    switch (code) {
    case MOONPLAN_PLAN_INPUT_MISSING:
        return MOONPLAN_JOB_INPUT_MISSING;
    case MOONPLAN_PLAN_INPUT_SCHEMA:
        return MOONPLAN_JOB_INPUT_SCHEMA;
    case MOONPLAN_PLAN_INPUT_NUMBER:
        return MOONPLAN_JOB_INPUT_NUMBER;
    case MOONPLAN_PLAN_INPUT_VALUE:
        return MOONPLAN_JOB_INPUT_VALUE;
    case MOONPLAN_PLAN_REFERENCE_INVALID:
        return MOONPLAN_JOB_REFERENCE_INVALID;
    case MOONPLAN_PLAN_REFERENCE_ORDER:
        return MOONPLAN_JOB_REFERENCE_SOURCE;
    default:
        return MOONPLAN_JOB_INPUT_TYPE;
    }
}

static bool begins(moonplan_code code, const char *area) {
    return strncmp(moonplan_code_name(code), area, strlen(area)) == 0;
}

/* The code that a failure is kept with: what the host says where that is a code of such failures,
 * the question's usual one otherwise. */
static moonplan_code failure_code(moonplan_wanted kind, moonplan_code code) {
    bool general = code == MOONPLAN_MEMORY || code == MOONPLAN_LIMIT;
    if (kind == MOONPLAN_WANT_COMMIT)
        return general || begins(code, "store.") ? code : MOONPLAN_STORE_FAILED;
    if (general || begins(code, "job.")) return code;
    if (kind == MOONPLAN_WANT_INPUT) return input_code(code);
    return kind == MOONPLAN_WANT_DECISION ? MOONPLAN_JOB_AUTHORIZER_FAILED
                                          : MOONPLAN_JOB_CAPABILITY_FAILED;
}

bool moonplan_want_fail_with(moonplan_want *want, const moonplan_failure *failure) {
    mpl_answer *answer = place(want, with_value | BIT(MOONPLAN_WANT_DECISION));
    if (!answer) return false;
    answer->kind = MPL_ANSWER_FAIL;
    answer->code = failure_code(want->kind, failure->code);
    keep_text(want, answer, failure->message);
    answer->value = mpl_detail_keep(failure->detail, &job_of(want)->engine->options);
    return true;
}

bool moonplan_want_fail(moonplan_want *want, moonplan_text message) {
    moonplan_failure failure = {.message = message};
    return moonplan_want_fail_with(want, &failure);
}

/* -- Tokens ------------------------------------------------------------------*/

static void add_text(crypto_generichash_state *state, moonplan_text text) {
    /* The length first, so that no two lists of texts look alike. */
    uint8_t length[8];
    for (size_t i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)text.length >> (8 * i));
    crypto_generichash_update(state, length, sizeof length);
    if (text.length)
        crypto_generichash_update(state, (const unsigned char *)text.bytes, text.length);
}

bool moonplan_want_token(const moonplan_want *want, char out[65]) {
    moonplan_engine *engine = job_of(want)->engine;
    mpl_buffer canonical;
    mpl_buffer_open(&canonical, &engine->alloc);
    if (moonplan_value_type(want->input) != MOONPLAN_NONE)
        mpl_write_canonical(&canonical, want->input);
    bool fine = !canonical.failed;
    if (fine) {
        uint8_t hash[32];
        crypto_generichash_state state;
        crypto_generichash_init(&state, NULL, 0, sizeof hash);
        add_text(&state, want->job_id);
        add_text(&state, want->step_id);
        add_text(&state, (moonplan_text){canonical.bytes, canonical.length});
        crypto_generichash_final(&state, hash, sizeof hash);
        mpl_hex_encode(out, hash, sizeof hash);
        out[64] = 0;
    }
    mpl_buffer_close(&canonical);
    return fine;
}
