#include "wire.h"

#include <string.h>

#include "../core/text.h"

/* -- Frames ----------------------------------------------------------------*/

void mpl_wire_begin(mpl_buffer *out, mpl_frame type) {
    const char header[MPL_WIRE_HEADER] = {0, 0, 0, 0, (char)type};
    out->length = 0;
    out->failed = false;
    mpl_buffer_add(out, header, sizeof header);
}

void mpl_wire_end(mpl_buffer *out) {
    if (out->failed) return;
    size_t length = out->length - MPL_WIRE_HEADER;
    if (length > UINT32_MAX) {
        out->failed = true;
        return;
    }
    for (unsigned i = 0; i < 4; i++)
        out->bytes[i] = (char)(unsigned char)(length >> (8 * i) & 0xff);
}

/* What a message has beside the text and the value in it. */
#define ROOM 65536

uint64_t mpl_wire_most(const moonplan_limits *limits) {
    uint64_t value = limits->result_bytes, log = limits->log_kib << 10, kept = limits->kv_kib << 10;
    if (log > value) value = log;
    if (kept > value) value = kept;
    return (limits->memory_mib << 20) + value + limits->copied_values + ROOM;
}

uint32_t mpl_wire_length(const char header[MPL_WIRE_HEADER]) {
    uint32_t length = 0;
    for (unsigned i = 0; i < 4; i++) length |= (uint32_t)(unsigned char)header[i] << (8 * i);
    return length;
}

/* -- Putting ---------------------------------------------------------------*/

void mpl_wire_put_text(mpl_buffer *out, const char *text) {
    mpl_codec_put_bytes(out, (moonplan_text){text, strlen(text)});
}

void mpl_wire_put_option(mpl_buffer *out, moonplan_value value) {
    bool there = moonplan_value_type(value) != MOONPLAN_NONE;
    mpl_codec_put_number(out, there);
    if (there) mpl_codec_put_value(out, value);
}

void mpl_wire_put_slots(mpl_buffer *out, const mpl_slots *slots) {
    mpl_codec_put_number(out, slots->count);
    for (size_t i = 0; i < slots->count; i++) {
        const mpl_slot *slot = &slots->at[i];
        mpl_codec_put_number(out, slot->type);
        if (slot->type == MPL_SLOT_BOOLEAN)
            mpl_codec_put_number(out, slot->boolean);
        else if (slot->type == MPL_SLOT_INTEGER)
            mpl_codec_put_integer(out, slot->integer);
        else if (slot->type == MPL_SLOT_BYTES)
            mpl_codec_put_bytes(out, slot->bytes);
        else if (slot->type == MPL_SLOT_VALUE)
            mpl_codec_put_value(out, slot->value);
    }
}

void mpl_wire_put_error(mpl_buffer *out, const moonplan_error *err) {
    mpl_codec_put_number(out, err->code);
    mpl_codec_put_bytes(out, (moonplan_text){err->at, err->at_length});
    mpl_wire_put_text(out, err->message);
}

/* -- Taking ----------------------------------------------------------------*/

bool mpl_wire_take(mpl_codec *in, uint64_t *out, uint64_t most) {
    return mpl_codec_take_number(in, out) && *out <= most;
}

bool mpl_wire_take_bool(mpl_codec *in, bool *out) {
    uint64_t number;
    if (!mpl_wire_take(in, &number, 1)) return false;
    *out = number == 1;
    return true;
}

moonplan_document *mpl_wire_take_document(mpl_codec *in, const moonplan_options *options,
                                          uint64_t values, uint64_t bytes, moonplan_error *err) {
    mpl_builder builder;
    mpl_build_open(&builder, options);
    builder.max_values = values;
    if (bytes < builder.max_bytes) builder.max_bytes = bytes;
    if (mpl_codec_take_value(in, &builder, err)) return mpl_build_finish(&builder, err);
    mpl_build_close(&builder);
    return NULL;
}

bool mpl_wire_take_option(mpl_codec *in, moonplan_document **out, const moonplan_options *options,
                          uint64_t values, uint64_t bytes, moonplan_error *err) {
    bool there;
    *out = NULL;
    err->code = MOONPLAN_JSON_SYNTAX;
    if (!mpl_wire_take_bool(in, &there)) return false;
    if (there) *out = mpl_wire_take_document(in, options, values, bytes, err);
    return *out || !there;
}

static bool take_slot(mpl_codec *in, mpl_slot *slot, moonplan_document **document,
                      const moonplan_options *options, moonplan_error *err) {
    uint64_t type;
    if (!mpl_wire_take(in, &type, MPL_SLOT_VALUE)) return false;
    *slot = (mpl_slot){.type = (mpl_slot_type)type};
    switch (slot->type) {
    case MPL_SLOT_NIL:
        return true;
    case MPL_SLOT_BOOLEAN:
        return mpl_wire_take_bool(in, &slot->boolean);
    case MPL_SLOT_INTEGER:
        return mpl_codec_take_integer(in, &slot->integer);
    case MPL_SLOT_BYTES:
        return mpl_codec_take_bytes(in, &slot->bytes);
    default:
        if (*document) return false;
        *document =
            mpl_wire_take_document(in, options, options->limits.copied_values, UINT64_MAX, err);
        if (*document) slot->value = moonplan_document_root(*document);
        return *document != NULL;
    }
}

bool mpl_wire_take_slots(mpl_codec *in, mpl_slots *out, moonplan_document **document,
                         const moonplan_options *options, moonplan_error *err) {
    uint64_t count;
    *document = NULL;
    out->count = 0;
    err->code = MOONPLAN_JSON_SYNTAX;
    if (!mpl_wire_take(in, &count, MPL_SLOTS_MOST)) return false;
    for (uint64_t i = 0; i < count; i++)
        if (!take_slot(in, &out->at[out->count++], document, options, err)) return false;
    return true;
}

/* UTF-8, and where it is a message of ours no control character, nothing that turns text around. */
static bool is_sound(moonplan_text text, bool message) {
    const char *at = text.bytes, *end = text.bytes + text.length;
    while (at < end) {
        uint32_t point;
        size_t step = mpl_utf8(at, end, &point);
        if (step == 0 || (message && mpl_is_hidden(point))) return false;
        at += step;
    }
    return true;
}

bool mpl_wire_take_error(mpl_codec *in, moonplan_error *out) {
    uint64_t code;
    moonplan_text at, message;
    memset(out, 0, sizeof *out);
    out->offset = MOONPLAN_NO_OFFSET;
    if (!mpl_wire_take(in, &code, MOONPLAN_CODE_COUNT - 1) || !mpl_codec_take_bytes(in, &at) ||
        !mpl_codec_take_bytes(in, &message) || code == MOONPLAN_OK || at.length >= sizeof out->at ||
        message.length >= sizeof out->message || !is_sound(at, false) || !is_sound(message, true))
        return false;
    out->code = (moonplan_code)code;
    out->at_length = at.length;
    if (at.length) memcpy(out->at, at.bytes, at.length);
    if (message.length) memcpy(out->message, message.bytes, message.length);
    return true;
}
