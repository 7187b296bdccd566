/* Powers, on the host's side: what a call may do, checked once more, and the small ones. */
#include <sodium.h>
#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "../step/job.h"
#include "serve.h"

/* -- Answers -------------------------------------------------------------------*/

mpl_served mpl_refuse_memory(mpl_serving *s) {
    mpl_error_memory(s->err);
    return MPL_REFUSED;
}

mpl_served mpl_give_bytes(mpl_serving *s) {
    const mpl_buffer *bytes = &s->out->bytes;
    if (bytes->failed) return mpl_refuse_memory(s);
    mpl_slots_bytes(&s->out->slots,
                    (moonplan_text){bytes->length ? bytes->bytes : "", bytes->length});
    return MPL_SERVED;
}

mpl_served mpl_give_true(mpl_serving *s) {
    mpl_slots_boolean(&s->out->slots, true);
    return MPL_SERVED;
}

bool mpl_serving_needs(const mpl_serving *s, unsigned power, moonplan_text name) {
    moonplan_walk walk = moonplan_value_walk(mpl_member(s->call->item->value, "needs"));
    while (moonplan_walk_next(&walk)) {
        moonplan_text named;
        if (mpl_power_of(moonplan_value_string(walk.value), &named) == power &&
            mpl_text_equal(named, name))
            return true;
    }
    return false;
}

/* -- log -------------------------------------------------------------------------*/

static mpl_served serve_log(mpl_serving *s) {
    mpl_lua_call *call = &s->call->call;
    const mpl_slot *data = &s->in->at[2];
    int64_t level = s->in->at[0].integer;
    if (level < 0 || level > 3) return MPL_BREAK(s, "there is no such level of the log");
    if (!mpl_has_secrets(s->call)) {
        moonplan_value value = {NULL, 0};
        if (data->type == MPL_SLOT_VALUE) value = data->value;
        mpl_lua_call_log(call, (unsigned)level, mpl_in_bytes(s, 1), value);
        return MPL_SERVED;
    }
    moonplan_value value = {NULL, 0};
    mpl_buffer *message = &s->out->bytes;
    mpl_buffer_add(message, s->in->at[1].bytes.bytes, s->in->at[1].bytes.length);
    if (data->type == MPL_SLOT_VALUE) {
        mpl_builder builder;
        mpl_build_open(&builder, call->options);
        builder.max_depth = builder.max_values = UINT64_MAX; /* it has been counted */
        mpl_build_value(&builder, data->value);
        moonplan_error why = {.code = MOONPLAN_OK};
        s->out->document = mpl_redact_document(s->call, mpl_build_finish(&builder, NULL), &why);
        if (why.code == MOONPLAN_JOB_RESULT_SHAPE)
            return MPL_BREAK(s, "the data of a log entry: %s", why.message);
        if (!s->out->document) return mpl_refuse_memory(s);
        value = moonplan_document_root(s->out->document);
    }
    if (message->failed || !mpl_redact_bytes(s->call, message)) return mpl_refuse_memory(s);
    mpl_lua_call_log(call, (unsigned)level,
                     (moonplan_text){message->length ? message->bytes : "", message->length},
                     value);
    return MPL_SERVED;
}

/* -- clock -----------------------------------------------------------------------*/

static mpl_served serve_clock(mpl_serving *s) {
    const mpl_plugins_setup *setup = &s->call->plugin->owner->setup;
    const mpl_doubles *doubles = s->call->doubles;
    int64_t time;
    char text[25];
    if (!doubles)
        time = setup->now(setup->now_data);
    else if (!mpl_time_read(&time, moonplan_value_string(mpl_given(doubles, "clock"))))
        return MPL_BREAK(s, "the example gives no clock");
    mpl_time_write(text, time);
    mpl_buffer_add(&s->out->bytes, text, strlen(text));
    if (mpl_give_bytes(s) != MPL_SERVED) return MPL_REFUSED;
    mpl_slots_integer(&s->out->slots, time);
    return MPL_SERVED;
}

/* -- random ----------------------------------------------------------------------*/

#define RANDOM_MOST 65536

/* An example's bytes: of the n-th draw, what libsodium's generator makes of a seed that is the
 * BLAKE2b-256 of the example's number and of n, both as 8 bytes, the lowest first. */
static bool draw(mpl_serving *s, void *out, size_t length) {
    mpl_doubles *doubles = s->call->doubles;
    int64_t number;
    uint8_t from[16], seed[randombytes_SEEDBYTES];
    if (!doubles) {
        randombytes_buf(out, length);
        return true;
    }
    if (!moonplan_value_integer(mpl_given(doubles, "random"), &number)) return false;
    for (unsigned i = 0; i < 8; i++) {
        from[i] = (uint8_t)((uint64_t)number >> (8 * i));
        from[8 + i] = (uint8_t)(doubles->drawn >> (8 * i));
    }
    doubles->drawn++;
    crypto_generichash(seed, sizeof seed, from, sizeof from, NULL, 0);
    randombytes_buf_deterministic(out, length, seed);
    return true;
}

static mpl_served random_bytes(mpl_serving *s, int64_t count) {
    if (count < 0 || count > RANDOM_MOST)
        return MPL_BREAK(s, "0 to 65536 random bytes come at once");
    if (count > 0) {
        char *room = mpl_buffer_extend(&s->out->bytes, (size_t)count);
        if (room && !draw(s, room, (size_t)count))
            return MPL_BREAK(s, "the example gives no random");
    }
    return mpl_give_bytes(s);
}

/* Every number from `least` to `most` is as likely: those draws that would make the first ones
 * likelier are drawn again. */
static mpl_served random_integer(mpl_serving *s, int64_t least, int64_t most) {
    uint64_t number, range = (uint64_t)most - (uint64_t)least + 1;
    if (least > most) return MPL_BREAK(s, "there is no integer from the first to the second");
    uint64_t unfair = range ? (0 - range) % range : 0;
    do
        if (!draw(s, &number, sizeof number)) return MPL_BREAK(s, "the example gives no random");
    while (number < unfair);
    if (range) number %= range;
    number += (uint64_t)least;
    int64_t result;
    memcpy(&result, &number, sizeof result);
    mpl_slots_integer(&s->out->slots, result);
    return MPL_SERVED;
}

/* -- secret ----------------------------------------------------------------------*/

static mpl_served serve_secret(mpl_serving *s) {
    moonplan_text name = mpl_in_bytes(s, 0), bytes = {NULL, 0};
    if (!mpl_serving_needs(s, MPL_POWER_SECRET, name))
        return MPL_REFUSE(s, MOONPLAN_SECRET_NAME, "there is no secret %q among the needs", &name);
    if (s->call->doubles) {
        bytes = moonplan_value_string(
            moonplan_value_member(mpl_given(s->call->doubles, "secret"), name.bytes, name.length));
        if (!bytes.bytes) return MPL_BREAK(s, "the example gives no secret %q", &name);
    } else {
        const mpl_secret *secret = mpl_grants_secret(mpl_serving_grants(s), name);
        if (!secret)
            return MPL_REFUSE(s, MOONPLAN_SECRET_NAME, "the secret %q was not granted", &name);
        bytes = secret->bytes;
    }
    mpl_buffer_add(&s->out->bytes, bytes.bytes, bytes.length);
    return mpl_give_bytes(s);
}

/* -- Serving -----------------------------------------------------------------------*/

/* The slots that an operation takes, a letter each: b bytes, i integer; v a value, o bytes, or nil
 * in the place of either. */
static const struct {
    unsigned powers;
    const char *takes;
    const char *name;
} rows[MPL_OPERATIONS + 1] = {[MPL_LOG] = {0, "ibv", "log"},
                              [MPL_FS_READ] = {MPL_POWER_FS | MPL_POWER_FS_RW, "b", "fs"},
                              [MPL_FS_SIZE] = {MPL_POWER_FS | MPL_POWER_FS_RW, "b", "fs"},
                              [MPL_FS_LIST] = {MPL_POWER_FS | MPL_POWER_FS_RW, "b", "fs"},
                              [MPL_FS_WRITE] = {MPL_POWER_FS_RW, "bb", "fs:rw"},
                              [MPL_CLOCK_NOW] = {MPL_POWER_CLOCK, "", "clock"},
                              [MPL_RANDOM_BYTES] = {MPL_POWER_RANDOM, "i", "random"},
                              [MPL_RANDOM_INTEGER] = {MPL_POWER_RANDOM, "ii", "random"},
                              [MPL_KV_GET] = {MPL_POWER_KV, "b", "kv"},
                              [MPL_KV_SET] = {MPL_POWER_KV, "bv", "kv"},
                              [MPL_KV_LIST] = {MPL_POWER_KV, "", "kv"},
                              [MPL_HTTP_REQUEST] = {MPL_POWER_HTTP, "bbbo", "http"},
                              [MPL_RPC_SEND] = {MPL_POWER_RPC, "bb", "rpc"},
                              [MPL_SECRET_GET] = {MPL_POWER_SECRET, "b", "secret"}};

static bool fits(const mpl_slot *slot, char wanted) {
    switch (wanted) {
    case 'b':
        return slot->type == MPL_SLOT_BYTES;
    case 'i':
        return slot->type == MPL_SLOT_INTEGER;
    case 'o':
        return slot->type == MPL_SLOT_BYTES || slot->type == MPL_SLOT_NIL;
    default:
        return slot->type == MPL_SLOT_VALUE || slot->type == MPL_SLOT_NIL;
    }
}

static bool well_made(mpl_operation operation, const mpl_slots *in) {
    const char *takes = rows[operation].takes;
    if (in->count != strlen(takes)) return false;
    for (size_t i = 0; i < in->count; i++)
        if (!fits(&in->at[i], takes[i])) return false;
    return true;
}

mpl_served mpl_power_serve(mpl_plugin_call *call, mpl_operation operation, const mpl_slots *in,
                           mpl_answer *out, moonplan_error *err) {
    mpl_serving s = {call, operation, in, out, err, false};
    if ((int)operation < MPL_LOG || operation > MPL_OPERATIONS || !well_made(operation, in))
        return MPL_BREAK(&s, "the host was asked for something that it does not know");
    if (rows[operation].powers && !(call->allowed & rows[operation].powers))
        return MPL_BREAK(
            &s, "this capability has no ctx.%s: it needs to name it, and the host to grant it",
            rows[operation].name);
    switch (operation) {
    case MPL_LOG:
        return serve_log(&s);
    case MPL_FS_READ:
    case MPL_FS_SIZE:
    case MPL_FS_LIST:
    case MPL_FS_WRITE:
        return mpl_serve_fs(&s);
    case MPL_CLOCK_NOW:
        return serve_clock(&s);
    case MPL_RANDOM_BYTES:
        return random_bytes(&s, in->at[0].integer);
    case MPL_RANDOM_INTEGER:
        return random_integer(&s, in->at[0].integer, in->at[1].integer);
    case MPL_KV_GET:
    case MPL_KV_SET:
    case MPL_KV_LIST:
        return mpl_serve_kv(&s);
    case MPL_HTTP_REQUEST:
        return mpl_serve_http(&s);
    case MPL_RPC_SEND:
        return mpl_serve_rpc(&s);
    default:
        return serve_secret(&s);
    }
}

unsigned mpl_power_allowed(const mpl_plugin_call *call) {
    unsigned named = MPL_POWER_RPC | MPL_POWER_SECRET;
    unsigned granted = call->plugin->owner->grants.powers | named;
    return call->doubles ? call->item->needs : call->item->needs & granted;
}
