#include "approval.h"

#include <sodium.h>
#include <string.h>

#include "../core/build.h"
#include "../core/json_write.h"
#include "../core/text.h"
#include "../core/value.h"

typedef struct approval {
    moonplan_document *document;
    char digest[MPL_DIGEST_TEXT];
    moonplan_text step_id, capability, version, input, plan;
    moonplan_value caller, versions;
    int64_t expires;
} approval;

struct mpl_approvals {
    mpl_alloc *alloc;
    size_t count;
    approval items[];
};

static size_t size_of(size_t count) {
    return sizeof(mpl_approvals) + count * sizeof(approval);
}

void mpl_approvals_free(mpl_approvals *approvals) {
    if (!approvals) return;
    for (size_t i = 0; i < approvals->count; i++)
        moonplan_document_free(approvals->items[i].document);
    mpl_release(approvals->alloc, approvals, size_of(approvals->count));
}

bool mpl_approval_text(mpl_buffer *out, moonplan_value document) {
    moonplan_options options;
    moonplan_options_init(&options);
    options.alloc = out->alloc->call;
    options.alloc_data = out->alloc->data;
    mpl_builder builder;
    mpl_build_open(&builder, &options);
    builder.max_depth = builder.max_values = UINT64_MAX;
    if (builder.error.code == MOONPLAN_OK) {
        mpl_build_object(&builder);
        moonplan_walk walk = moonplan_value_walk(document);
        while (moonplan_walk_next(&walk)) {
            if (mpl_text_is(walk.name, "signature")) continue;
            mpl_build_name(&builder, walk.name);
            mpl_build_value(&builder, walk.value);
        }
        mpl_build_end(&builder);
    }
    moonplan_document *rest = mpl_build_finish(&builder, NULL);
    if (rest) mpl_write_canonical(out, moonplan_document_root(rest));
    moonplan_document_free(rest);
    return rest && !out->failed;
}

/* A signature in base64, with a NUL. */
#define SIGNATURE_TEXT                                                                             \
    sodium_base64_ENCODED_LEN(MOONPLAN_SIGNATURE_SIZE, sodium_base64_VARIANT_ORIGINAL)

/* -- Reading -------------------------------------------------------------------*/

typedef enum rule { TEXT, DIGEST, NONCE, KEY, TIME, CALLER, VERSIONS, KIND, API, SIGNATURE } rule;

static const struct {
    const char *name;
    rule form;
    bool required;
} members[] = {{"kind", KIND, true},
               {"api", API, true},
               {"step_id", TEXT, false},
               {"capability", TEXT, false},
               {"capability_version", TEXT, false},
               {"input_digest", DIGEST, false},
               {"plan_digest", DIGEST, false},
               {"capability_versions", VERSIONS, false},
               {"caller", CALLER, true},
               {"created", TIME, true},
               {"expires", TIME, true},
               {"nonce", NONCE, true},
               {"key", KEY, true},
               {"signature", SIGNATURE, true}};
#define MEMBERS (sizeof members / sizeof *members)

static bool is_versions(moonplan_value value) {
    moonplan_walk walk = moonplan_value_walk(value);
    while (moonplan_walk_next(&walk)) {
        moonplan_type type = moonplan_value_type(walk.value);
        if (type != MOONPLAN_STRING && type != MOONPLAN_NULL) return false;
    }
    return moonplan_value_type(value) == MOONPLAN_OBJECT;
}

static bool is_hex(moonplan_text text, size_t length, char first) {
    if (text.length != length) return false;
    for (size_t i = 0; i < length; i++) {
        char c = text.bytes[i];
        if (!(c >= '0' && c <= '9') && !(c >= first && c <= first + 5)) return false;
    }
    return true;
}

/* libsodium takes some bytes for digits that are none, so that what it has read is written again
 * and compared. */
static bool read_signature(uint8_t out[MOONPLAN_SIGNATURE_SIZE], moonplan_text text) {
    char again[SIGNATURE_TEXT];
    size_t length = 0;
    if (text.length != sizeof again - 1 ||
        sodium_base642bin(out, MOONPLAN_SIGNATURE_SIZE, text.bytes, text.length, NULL, &length,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        length != MOONPLAN_SIGNATURE_SIZE)
        return false;
    sodium_bin2base64(again, sizeof again, out, length, sodium_base64_VARIANT_ORIGINAL);
    return memcmp(again, text.bytes, text.length) == 0;
}

/* NULL, or what the member has to be. */
static const char *unfit(rule form, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    moonplan_text text = moonplan_value_string(value);
    int64_t number = 0;
    uint8_t signature[MOONPLAN_SIGNATURE_SIZE];
    switch (form) {
    case TEXT:
        return type == MOONPLAN_STRING ? NULL : "a string";
    case DIGEST:
        return is_hex(text, 64, 'a') ? NULL : "64 lower-case hexadecimal digits";
    case NONCE:
        return is_hex(text, 32, 'a') ? NULL : "32 lower-case hexadecimal digits";
    case KEY:
        return is_hex(text, 16, 'A') ? NULL : "16 upper-case hexadecimal digits";
    case TIME:
        return type == MOONPLAN_STRING && mpl_time_parse(text) != MOONPLAN_NO_TIME
                   ? NULL
                   : "a time like 2026-01-02T03:04:05.000Z";
    case CALLER:
        return type == MOONPLAN_OBJECT || type == MOONPLAN_NULL ? NULL : "an object or null";
    case VERSIONS:
        return is_versions(value) ? NULL : "an object of strings and nulls";
    case KIND:
        return mpl_text_is(text, "approval") ? NULL : "\"approval\"";
    case API:
        return moonplan_value_integer(value, &number) && number == 1 ? NULL : "1";
    default:
        return type == MOONPLAN_STRING && read_signature(signature, text) ? NULL
                                                                          : "64 bytes in base64";
    }
}

static bool check_shape(moonplan_value root, bool with_signature, moonplan_error *err) {
    if (moonplan_value_type(root) != MOONPLAN_OBJECT) {
        mpl_error_at(err, MOONPLAN_APPROVAL_SHAPE, root, "an approval is an object, not %s",
                     mpl_type_text(moonplan_value_type(root)));
        return false;
    }
    moonplan_walk walk = moonplan_value_walk(root);
    while (moonplan_walk_next(&walk)) {
        size_t n = 0;
        while (n < MEMBERS && !mpl_text_is(walk.name, members[n].name)) n++;
        const char *wanted = n < MEMBERS ? unfit(members[n].form, walk.value) : NULL;
        if (n == MEMBERS)
            mpl_error_at(err, MOONPLAN_APPROVAL_SHAPE, walk.value, "an approval has no member %q",
                         &walk.name);
        else if (wanted)
            mpl_error_at(err, MOONPLAN_APPROVAL_SHAPE, walk.value, "%s must be %s", members[n].name,
                         wanted);
        if (n == MEMBERS || wanted) return false;
    }
    bool step = moonplan_value_type(mpl_member(root, "step_id")) != MOONPLAN_NONE ||
                moonplan_value_type(mpl_member(root, "capability")) != MOONPLAN_NONE ||
                moonplan_value_type(mpl_member(root, "capability_version")) != MOONPLAN_NONE ||
                moonplan_value_type(mpl_member(root, "input_digest")) != MOONPLAN_NONE;
    for (size_t n = 0; n < MEMBERS; n++) {
        const char *name = members[n].name;
        bool of_step = strcmp(name, "step_id") == 0 || strcmp(name, "capability") == 0 ||
                       strcmp(name, "input_digest") == 0;
        bool of_signer = members[n].form == KEY || members[n].form == SIGNATURE;
        bool wanted = of_step                            ? step
                      : strcmp(name, "plan_digest") == 0 ? !step
                      : members[n].form == VERSIONS      ? !step
                      : of_signer                        ? with_signature
                                                         : members[n].required;
        if (!wanted || moonplan_value_type(mpl_member(root, name)) != MOONPLAN_NONE) continue;
        mpl_error_at(err, MOONPLAN_APPROVAL_SHAPE, root, "the approval has no %s", name);
        return false;
    }
    return true;
}

static bool verify(const moonplan_engine *engine, const approval *one, moonplan_text signed_text,
                   moonplan_error *err) {
    moonplan_value root = moonplan_document_root(one->document);
    moonplan_value key = mpl_member(root, "key");
    moonplan_text name = moonplan_value_string(key),
                  signature = moonplan_value_string(mpl_member(root, "signature"));
    uint8_t bytes[MOONPLAN_SIGNATURE_SIZE];
    read_signature(bytes, signature);
    bool trusted = false;
    for (size_t i = 0; i < engine->approver_count; i++) {
        char known[MOONPLAN_KEY_NAME_SIZE];
        moonplan_key_name(&engine->approvers[i], known);
        if (!mpl_text_is(name, known)) continue;
        trusted = true;
        /* Two keys may have one id: it proves nothing. */
        if (moonplan_verify_message(&engine->approvers[i], bytes, MPL_APPROVAL_CONTEXT,
                                    signed_text.bytes, signed_text.length, NULL))
            return true;
    }
    if (trusted)
        mpl_error_at(err, MOONPLAN_APPROVAL_SIGNATURE, mpl_member(root, "signature"),
                     "this is not what the key %t has signed", &name);
    else
        mpl_error_at(err, MOONPLAN_APPROVAL_KEY, key,
                     engine->approver_count
                         ? "the approval is by the key %t, which is not an approver's"
                         : "the approval is by the key %t; no approver is known here",
                     &name);
    return false;
}

static bool is_over(const approval *one, int64_t now, moonplan_error *err) {
    if (now < one->expires) return false;
    moonplan_value expires = mpl_member(moonplan_document_root(one->document), "expires");
    moonplan_text text = moonplan_value_string(expires);
    mpl_error_at(err, MOONPLAN_APPROVAL_EXPIRED, expires, "the approval was good until %t", &text);
    return true;
}

static bool read_one(moonplan_engine *engine, approval *one, moonplan_text text,
                     moonplan_error *err) {
    moonplan_error why;
    one->document = moonplan_document_parse(text.bytes, text.length, &engine->options, &why);
    if (!one->document) {
        if (why.code == MOONPLAN_MEMORY)
            mpl_error_memory(err);
        else
            mpl_error_set(err, MOONPLAN_APPROVAL_SHAPE, MOONPLAN_NO_OFFSET, NULL,
                          "the approval is no JSON text: %s", why.message);
        return false;
    }
    moonplan_value root = moonplan_document_root(one->document);
    if (!check_shape(root, true, err)) return false;
    one->step_id = moonplan_value_string(mpl_member(root, "step_id"));
    one->capability = moonplan_value_string(mpl_member(root, "capability"));
    one->version = moonplan_value_string(mpl_member(root, "capability_version"));
    one->input = moonplan_value_string(mpl_member(root, "input_digest"));
    one->plan = moonplan_value_string(mpl_member(root, "plan_digest"));
    one->caller = mpl_member(root, "caller");
    one->versions = mpl_member(root, "capability_versions");
    one->expires = mpl_time_parse(moonplan_value_string(mpl_member(root, "expires")));
    mpl_buffer canonical;
    mpl_buffer_open(&canonical, &engine->alloc);
    bool fine = mpl_approval_text(&canonical, root);
    moonplan_text signed_text = {canonical.bytes, canonical.length};
    if (!fine) {
        mpl_error_memory(err);
    } else {
        mpl_digest_text(one->digest, signed_text);
        fine = verify(engine, one, signed_text, err) && !is_over(one, mpl_engine_now(engine), err);
    }
    mpl_buffer_close(&canonical);
    return fine;
}

bool mpl_approvals_read(mpl_approvals **out, moonplan_engine *engine,
                        const moonplan_run_options *options, moonplan_error *err) {
    *out = NULL;
    size_t count = options ? options->approval_count : 0;
    if (count == 0) return true;
    mpl_approvals *approvals = mpl_allocate(&engine->alloc, size_of(count));
    if (!approvals) {
        mpl_error_memory(err);
        return false;
    }
    memset(approvals, 0, size_of(count));
    approvals->alloc = &engine->alloc;
    approvals->count = count;
    for (size_t i = 0; i < count; i++) {
        if (read_one(engine, &approvals->items[i], options->approvals[i], err)) continue;
        /* Whoever shows the error has the plan's text at hand, and not this one. */
        if (err) err->offset = MOONPLAN_NO_OFFSET;
        mpl_approvals_free(approvals);
        return false;
    }
    *out = approvals;
    return true;
}

/* -- Deciding ------------------------------------------------------------------*/

static bool same(moonplan_text given, moonplan_text wanted) {
    return given.bytes && wanted.bytes ? mpl_text_equal(given, wanted)
                                       : !given.bytes && !wanted.bytes;
}

static bool same_caller(const moonplan_job *job, const approval *one, bool *memory) {
    const mpl_job *machine = job->machine;
    char digest[MPL_DIGEST_TEXT];
    if (moonplan_value_type(one->caller) == MOONPLAN_NULL) return machine->caller == NULL;
    if (!machine->caller) return false;
    if (!mpl_digest_value(digest, one->caller, &job->engine->alloc)) {
        *memory = true;
        return false;
    }
    return strcmp(digest, machine->evidence->caller) == 0;
}

/* Whether one of a whole plan is about what the step would be done with now. */
static bool same_version(const moonplan_job *job, const approval *one) {
    const mpl_job *machine = job->machine;
    moonplan_text id = mpl_step_text(machine->plan, machine->plan->steps[machine->step].id);
    moonplan_value version = moonplan_value_member(one->versions, id.bytes, id.length);
    return moonplan_value_type(version) != MOONPLAN_NONE &&
           same(moonplan_value_string(version), job->capability->view.version);
}

/* Whether it is about this step, whatever its age; the first thing that it is not about. */
typedef enum subject {
    THIS_STEP,
    ANOTHER_PLAN,
    ANOTHER_STEP,
    ANOTHER_CAPABILITY,
    ANOTHER_VERSION,
    ANOTHER_INPUT,
    ANOTHER_CALLER,
} subject;

static subject subject_of(const moonplan_job *job, const approval *one, bool *memory) {
    const mpl_job *machine = job->machine;
    const mpl_capability *capability = &job->capability->view;
    const mpl_step *planned = &machine->plan->steps[machine->step];
    if (one->plan.bytes && !mpl_text_is(one->plan, machine->evidence->plan)) return ANOTHER_PLAN;
    if (one->step_id.bytes) {
        if (!same(one->step_id, mpl_step_text(machine->plan, planned->id))) return ANOTHER_STEP;
        if (!same(one->capability, capability->name)) return ANOTHER_CAPABILITY;
        if (!same(one->version, capability->version)) return ANOTHER_VERSION;
        if (!mpl_text_is(one->input, machine->evidence->steps[machine->step].input))
            return ANOTHER_INPUT;
    } else if (!same_version(job, one)) {
        return ANOTHER_VERSION;
    }
    return same_caller(job, one, memory) ? THIS_STEP : ANOTHER_CALLER;
}

/* By the engine's policy, or by the one that the job was made with. */
static bool takes_one(const moonplan_job *job, moonplan_text risk) {
    const moonplan_engine *engine = job->engine;
    if (!risk.bytes) return false;
    for (size_t i = 0; i < engine->require_approval_count; i++)
        if (mpl_text_equal(engine->require_approval[i], risk)) return true;
    moonplan_walk walk = moonplan_value_walk(mpl_job_policy(job->machine));
    while (moonplan_walk_next(&walk))
        if (mpl_text_equal(moonplan_value_string(walk.value), risk)) return true;
    return false;
}

static bool is_required(const moonplan_job *job) {
    const mpl_evidence *evidence = job->machine->evidence;
    if (!evidence) return false;
    const mpl_step_evidence *step = &evidence->steps[job->machine->step];
    /* Or because the step has waited for one, or has begun with one, before. A capability may say
     * less of its risk than it did when the job was made, under the same version. */
    return step->awaited || step->approval[0] || takes_one(job, job->capability->view.risk) ||
           takes_one(job, evidence->risk);
}

/* Why the step waits. */
static void say_required(const moonplan_job *job, moonplan_text id, moonplan_error *why) {
    const mpl_entry *entry = job->capability;
    moonplan_text risk = entry->view.risk, then = job->machine->evidence->risk;
    if (then.bytes && !takes_one(job, risk) && takes_one(job, then))
        mpl_error_set(
            why, MOONPLAN_JOB_AWAITING_APPROVAL, MOONPLAN_NO_OFFSET, NULL,
            "step %q calls %q (%t when the job was made, %t now), which takes an approval", &id,
            &entry->view.name, &then, &risk);
    else
        mpl_error_set(why, MOONPLAN_JOB_AWAITING_APPROVAL, MOONPLAN_NO_OFFSET, NULL,
                      "step %q calls %q (%t), which takes an approval", &id, &entry->view.name,
                      &risk);
}

static void say_other(const moonplan_job *job, const approval *one, subject about, moonplan_text id,
                      moonplan_error *why) {
    const mpl_evidence *evidence = job->machine->evidence;
    moonplan_text name = job->capability->view.name, plan = mpl_text_of(evidence->plan);
    moonplan_text input = mpl_text_of(evidence->steps[job->machine->step].input);
#define SAY(...)                                                                                   \
    mpl_error_set(why, MOONPLAN_JOB_AWAITING_APPROVAL, MOONPLAN_NO_OFFSET, NULL,                   \
                  "step %q takes an approval: the one that was given is for " __VA_ARGS__)
    switch (about) {
    case ANOTHER_PLAN:
        SAY("the plan %t, and this is %t", &id, &one->plan, &plan);
        break;
    case ANOTHER_STEP:
        SAY("step %q", &id, &one->step_id);
        break;
    case ANOTHER_CAPABILITY:
        SAY("a call of %q, and this is one of %q", &id, &one->capability, &name);
        break;
    case ANOTHER_VERSION:
        SAY("another version of %q", &id, &name);
        break;
    case ANOTHER_INPUT:
        SAY("the input %t, and this is %t", &id, &one->input, &input);
        break;
    default:
        SAY("another caller", &id);
    }
#undef SAY
}

static bool is_cancelled(moonplan_job *job) {
    const mpl_store *store = &job->engine->store;
    return atomic_load(&job->cancel) || (store->cancelled && store->cancelled(store->data, job));
}

bool mpl_approval_settle(moonplan_job *job, moonplan_error *err) {
    moonplan_engine *engine = job->engine;
    mpl_job *machine = job->machine;
    if (!is_required(job)) return true;
    moonplan_error why;
    moonplan_text id = mpl_step_text(machine->plan, machine->plan->steps[machine->step].id);
    int64_t now = mpl_engine_now(engine);
    bool memory = false, said = false;
    say_required(job, id, &why);
    for (size_t i = 0; job->approvals && i < job->approvals->count; i++) {
        const approval *one = &job->approvals->items[i];
        moonplan_error over;
        bool used = false;
        subject about = subject_of(job, one, &memory);
        if (memory) break;
        if (about != THIS_STEP) {
            if (!said) say_other(job, one, about, id, &why);
            said = true;
            continue;
        }
        said = true;
        if (is_over(one, now, &over)) {
            mpl_error_set(&why, over.code, MOONPLAN_NO_OFFSET, NULL,
                          "step %q takes an approval: %s", &id, over.message);
            continue;
        }
        if (engine->store.used &&
            !engine->store.used(engine->store.data, one->digest, job, machine->step, &used, err))
            return false;
        if (!used) {
            mpl_job_grant(machine, one->digest, one->expires);
            return true;
        }
        mpl_error_set(&why, MOONPLAN_APPROVAL_USED, MOONPLAN_NO_OFFSET, NULL,
                      "step %q takes an approval: the one that was given has been used already",
                      &id);
    }
    if (memory) {
        mpl_error_memory(err);
        return false;
    }
    /* What waits looks no more at whether it is to end. */
    if (is_cancelled(job))
        mpl_job_cancel(machine, now);
    else
        mpl_job_await(machine, (moonplan_text){why.message, strlen(why.message)}, now);
    return true;
}

bool mpl_approval_again(moonplan_job *job, const moonplan_error *refusal) {
    mpl_job *machine = job->machine;
    moonplan_error err;
    bool granted = machine->evidence && machine->evidence->granted[0];
    if (!granted ||
        (refusal->code != MOONPLAN_APPROVAL_USED && refusal->code != MOONPLAN_APPROVAL_EXPIRED))
        return false;
    mpl_job_withdraw(machine);
    /* What comes in the place of the events that were taken back has ids of its own. */
    if (job->named > machine->event_count) job->named = machine->event_count;
    if (!mpl_approval_settle(job, &err))
        mpl_job_stop(machine, &err);
    else if (machine->wants == MPL_WANTS_DECISION)
        mpl_job_allow(machine, mpl_engine_now(job->engine));
    return true;
}

/* -- Making --------------------------------------------------------------------*/

static void add_time(mpl_builder *out, const char *name, int64_t time) {
    char text[25];
    mpl_time_write(text, time);
    mpl_build_text_if(out, name, (moonplan_text){text, 24});
}

typedef struct wanted {
    moonplan_text step_id, capability, version;
    char input[MPL_DIGEST_TEXT], plan[MPL_DIGEST_TEXT];
    const moonplan_document *caller;
    const moonplan_step_plan *whole; /* without step_id: what it is for */
} wanted;

/* What each step of the plan would be done with now. */
static void add_versions(moonplan_engine *engine, mpl_builder *out,
                         const moonplan_step_plan *plan) {
    mpl_build_name(out, MOONPLAN_TEXT("capability_versions"));
    mpl_build_object(out);
    for (size_t n = 0; n < plan->count; n++) {
        const mpl_entry *entry =
            mpl_registry_find(&engine->registry, mpl_step_text(plan, plan->steps[n].capability));
        mpl_build_name(out, mpl_step_text(plan, plan->steps[n].id));
        if (entry && entry->view.version.bytes)
            mpl_build_string(out, entry->view.version);
        else
            mpl_build_null(out);
    }
    mpl_build_end(out);
}

/* That all of it is still there. */
static bool check_capabilities(moonplan_engine *engine, const moonplan_step_plan *plan,
                               moonplan_error *err) {
    for (size_t n = 0; n < plan->count; n++) {
        moonplan_error why;
        moonplan_text name = mpl_step_text(plan, plan->steps[n].capability);
        if (mpl_engine_find(engine, name, &why)) continue;
        if (why.code == MOONPLAN_MEMORY)
            mpl_error_memory(err);
        else
            mpl_error_set(err, MOONPLAN_JOB_CAPABILITY_GONE, MOONPLAN_NO_OFFSET, NULL,
                          "the capability %q is not there any more", &name);
        return false;
    }
    return true;
}

static moonplan_document *make(moonplan_engine *engine, const wanted *w, int64_t expires,
                               moonplan_error *err) {
    uint8_t random[16];
    char nonce[33];
    mpl_builder builder;
    randombytes_buf(random, sizeof random);
    mpl_hex_encode(nonce, random, sizeof random);
    mpl_build_open_around(&builder, &engine->options);
    if (builder.error.code == MOONPLAN_OK) {
        mpl_build_object(&builder);
        mpl_build_text_if(&builder, "kind", MOONPLAN_TEXT("approval"));
        mpl_build_name(&builder, MOONPLAN_TEXT("api"));
        mpl_build_integer(&builder, 1);
        mpl_build_text_if(&builder, "plan_digest", (moonplan_text){w->plan, 64});
        if (w->step_id.bytes) {
            mpl_build_text_if(&builder, "step_id", w->step_id);
            mpl_build_text_if(&builder, "capability", w->capability);
            mpl_build_text_if(&builder, "capability_version", w->version);
            mpl_build_text_if(&builder, "input_digest", (moonplan_text){w->input, 64});
        } else {
            add_versions(engine, &builder, w->whole);
        }
        mpl_build_name(&builder, MOONPLAN_TEXT("caller"));
        if (w->caller)
            mpl_build_value(&builder, moonplan_document_root(w->caller));
        else
            mpl_build_null(&builder);
        add_time(&builder, "created", mpl_engine_now(engine));
        add_time(&builder, "expires", expires);
        mpl_build_text_if(&builder, "nonce", (moonplan_text){nonce, 32});
        mpl_build_end(&builder);
    }
    return mpl_build_finish(&builder, err);
}

moonplan_document *moonplan_approval_plan_new(moonplan_engine *engine,
                                              const moonplan_step_plan *plan, moonplan_text step_id,
                                              moonplan_text caller, int64_t expires,
                                              moonplan_error *err) {
    wanted w = {.step_id = step_id};
    moonplan_document *asks = NULL, *made = NULL;
    if (!mpl_caller_read(engine, &asks, caller, err)) return NULL;
    w.caller = asks;
    bool fine = moonplan_step_plan_digest(plan, w.plan);
    if (!fine) mpl_error_memory(err);
    w.whole = plan;
    if (fine && !step_id.bytes) fine = check_capabilities(engine, plan, err);
    if (fine && step_id.bytes) {
        size_t n = mpl_step_plan_find(plan, step_id);
        moonplan_error why;
        const mpl_entry *entry = NULL;
        if (n == SIZE_MAX) {
            mpl_error_set(err, MOONPLAN_JOB_STATE, MOONPLAN_NO_OFFSET, NULL,
                          "the plan has no step %q", &step_id);
        } else if (plan->steps[n].references) {
            mpl_error_set(err, MOONPLAN_JOB_STATE, MOONPLAN_NO_OFFSET, NULL,
                          "the input of step %q depends on results of earlier steps: it can be "
                          "approved when the job waits for it",
                          &step_id);
        } else {
            w.capability = mpl_step_text(plan, plan->steps[n].capability);
            entry = mpl_engine_find(engine, w.capability, &why);
            if (!entry)
                mpl_error_set(err, MOONPLAN_JOB_CAPABILITY_GONE, MOONPLAN_NO_OFFSET, NULL,
                              "the capability %q is not there any more", &w.capability);
        }
        fine = entry != NULL;
        if (fine) {
            w.version = entry->view.version;
            fine = mpl_digest_value(w.input, mpl_step_value(plan, plan->steps[n].input),
                                    &engine->alloc);
            if (!fine) mpl_error_memory(err);
        }
    }
    if (fine) made = make(engine, &w, expires, err);
    moonplan_document_free(asks);
    return made;
}

moonplan_document *moonplan_approval_job_new(moonplan_engine *engine, const char *id, size_t length,
                                             int64_t expires, moonplan_error *err) {
    moonplan_text name = {id, length};
    moonplan_document *made = NULL;
    mpl_job *job = mpl_engine_machine(engine, name, err);
    if (!job) return NULL;
    size_t n = 0;
    while (n < job->plan->count && job->steps[n].status != MOONPLAN_AWAITING_APPROVAL) n++;
    if (n == job->plan->count || !job->evidence) {
        mpl_error_set(err, MOONPLAN_JOB_STATE, MOONPLAN_NO_OFFSET, NULL,
                      "the job %q is %s, and waits for no approval", &name,
                      moonplan_status_name(job->status));
    } else {
        const mpl_step_evidence *step = &job->evidence->steps[n];
        wanted w = {.step_id = mpl_step_text(job->plan, job->plan->steps[n].id),
                    .capability = mpl_step_text(job->plan, job->plan->steps[n].capability),
                    .version = step->version,
                    .caller = job->caller};
        memcpy(w.input, step->input, sizeof w.input);
        memcpy(w.plan, job->evidence->plan, sizeof w.plan);
        made = make(engine, &w, expires, err);
    }
    mpl_job_free(job);
    return made;
}

moonplan_document *moonplan_approval_sign_new(const moonplan_document *document,
                                              const moonplan_secret_key *key,
                                              const moonplan_options *options,
                                              moonplan_error *err) {
    moonplan_value root = moonplan_document_root(document);
    if (!check_shape(root, false, err)) return NULL;
    moonplan_public_key half;
    char name[MOONPLAN_KEY_NAME_SIZE];
    moonplan_secret_key_public(key, &half);
    moonplan_key_name(&half, name);
    mpl_builder builder;
    moonplan_document *keyed = NULL, *made = NULL;
    /* Twice: with the key, to be signed, and with the signature. */
    for (int round = 0; round < 2; round++) {
        char signature[SIGNATURE_TEXT];
        if (round == 1) {
            mpl_alloc alloc = mpl_alloc_of(options);
            mpl_buffer canonical;
            uint8_t bytes[MOONPLAN_SIGNATURE_SIZE];
            mpl_buffer_open(&canonical, &alloc);
            bool fine = mpl_approval_text(&canonical, moonplan_document_root(keyed));
            if (fine)
                moonplan_sign_message(key, bytes, MPL_APPROVAL_CONTEXT, canonical.bytes,
                                      canonical.length);
            mpl_buffer_close(&canonical);
            if (!fine) {
                mpl_error_memory(err);
                break;
            }
            sodium_bin2base64(signature, sizeof signature, bytes, sizeof bytes,
                              sodium_base64_VARIANT_ORIGINAL);
        }
        mpl_build_open(&builder, options);
        if (builder.error.code == MOONPLAN_OK) {
            mpl_build_object(&builder);
            moonplan_walk walk = moonplan_value_walk(root);
            while (moonplan_walk_next(&walk)) {
                if (mpl_text_is(walk.name, "key") || mpl_text_is(walk.name, "signature")) continue;
                mpl_build_name(&builder, walk.name);
                mpl_build_value(&builder, walk.value);
            }
            mpl_build_text_if(&builder, "key", (moonplan_text){name, strlen(name)});
            if (round == 1)
                mpl_build_text_if(&builder, "signature",
                                  (moonplan_text){signature, strlen(signature)});
            mpl_build_end(&builder);
        }
        made = mpl_build_finish(&builder, err);
        if (!made) break;
        if (round == 0) {
            keyed = made;
            made = NULL;
        }
    }
    moonplan_document_free(keyed);
    return made;
}
