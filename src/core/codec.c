#include "codec.h"

#include "error.h"
#include "literal.h"
#include "text.h"

enum { TAG_NULL, TAG_FALSE, TAG_TRUE, TAG_INTEGER, TAG_NUMBER, TAG_STRING, TAG_ARRAY, TAG_OBJECT };

/* A finished document is nested no deeper than the ceiling of the limit depth, and one that is
 * built around such a one by a few levels more. */
#define DEPTH_MOST (1024 + 8)

/* -- Writing ---------------------------------------------------------------*/

void mpl_codec_put_number(mpl_buffer *out, uint64_t number) {
    char bytes[10];
    size_t length = 0;
    for (; number >= 0x80; number >>= 7) bytes[length++] = (char)(unsigned char)(number | 0x80);
    bytes[length++] = (char)number;
    mpl_buffer_add(out, bytes, length);
}

void mpl_codec_put_integer(mpl_buffer *out, int64_t integer) {
    uint64_t twice = (uint64_t)integer << 1;
    mpl_codec_put_number(out, integer < 0 ? ~twice : twice);
}

void mpl_codec_put_bytes(mpl_buffer *out, moonplan_text bytes) {
    mpl_codec_put_number(out, bytes.length);
    if (bytes.length) mpl_buffer_add(out, bytes.bytes, bytes.length);
}

/* Everything but what a container holds. */
static void put_one(mpl_buffer *out, moonplan_value value) {
    int64_t integer;
    switch (moonplan_value_type(value)) {
    case MOONPLAN_FALSE:
        mpl_buffer_byte(out, TAG_FALSE);
        break;
    case MOONPLAN_TRUE:
        mpl_buffer_byte(out, TAG_TRUE);
        break;
    case MOONPLAN_INTEGER:
        mpl_buffer_byte(out, TAG_INTEGER);
        if (moonplan_value_integer(value, &integer)) mpl_codec_put_integer(out, integer);
        break;
    case MOONPLAN_NUMBER:
        mpl_buffer_byte(out, TAG_NUMBER);
        mpl_codec_put_bytes(out, moonplan_value_source(value));
        break;
    case MOONPLAN_STRING:
        mpl_buffer_byte(out, TAG_STRING);
        mpl_codec_put_bytes(out, moonplan_value_string(value));
        break;
    case MOONPLAN_ARRAY:
    case MOONPLAN_OBJECT:
        mpl_buffer_byte(out, moonplan_value_type(value) == MOONPLAN_ARRAY ? TAG_ARRAY : TAG_OBJECT);
        mpl_codec_put_number(out, moonplan_value_count(value));
        break;
    default:
        mpl_buffer_byte(out, TAG_NULL);
        break;
    }
}

static bool is_container(moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    return type == MOONPLAN_ARRAY || type == MOONPLAN_OBJECT;
}

void mpl_codec_put_value(mpl_buffer *out, moonplan_value value) {
    moonplan_walk open[DEPTH_MOST];
    size_t depth = 0;
    put_one(out, value);
    if (is_container(value)) open[depth++] = moonplan_value_walk(value);
    while (depth && !out->failed) {
        moonplan_walk *walk = &open[depth - 1];
        if (!moonplan_walk_next(walk)) {
            depth--;
            continue;
        }
        if (walk->named) mpl_codec_put_bytes(out, walk->name);
        put_one(out, walk->value);
        if (!is_container(walk->value)) continue;
        if (depth == DEPTH_MOST)
            out->failed = true;
        else
            open[depth++] = moonplan_value_walk(walk->value);
    }
}

/* -- Reading ---------------------------------------------------------------*/

static bool refuse(const mpl_codec *in, moonplan_error *err, moonplan_code code, const char *text) {
    mpl_error_set(err, code, (size_t)(in->at - in->bytes), NULL, "%s", text);
    return false;
}

static bool no_encoding(const mpl_codec *in, moonplan_error *err) {
    return refuse(in, err, MOONPLAN_JSON_SYNTAX, "the bytes are no encoded value");
}

bool mpl_codec_take_number(mpl_codec *in, uint64_t *out) {
    uint64_t number = 0;
    const char *at = in->at;
    for (unsigned shift = 0; at < in->end; shift += 7) {
        unsigned byte = (unsigned char)*at++;
        uint64_t bits = byte & 0x7f;
        if (shift == 63 && byte > 1) return false;
        number |= bits << shift;
        if (byte & 0x80) continue;
        if (byte == 0 && shift) return false; /* a longer way to say the same */
        in->at = at;
        *out = number;
        return true;
    }
    return false;
}

bool mpl_codec_take_integer(mpl_codec *in, int64_t *out) {
    uint64_t number;
    if (!mpl_codec_take_number(in, &number)) return false;
    int64_t half = (int64_t)(number >> 1);
    *out = number & 1 ? -half - 1 : half;
    return true;
}

bool mpl_codec_take_bytes(mpl_codec *in, moonplan_text *out) {
    mpl_codec ahead = *in;
    uint64_t length;
    if (!mpl_codec_take_number(&ahead, &length) || length > (uint64_t)(in->end - ahead.at))
        return false;
    *out = (moonplan_text){ahead.at, (size_t)length};
    in->at = ahead.at + length;
    return true;
}

static bool take_text(mpl_codec *in, moonplan_text *out, moonplan_error *err) {
    if (!mpl_codec_take_bytes(in, out)) return no_encoding(in, err);
    const char *at = out->bytes, *end = out->bytes + out->length;
    while (at < end) {
        size_t step = mpl_utf8(at, end, NULL);
        if (step == 0) {
            in->at = at;
            return refuse(in, err, MOONPLAN_JSON_UTF8, "a string that is not UTF-8");
        }
        at += step;
    }
    return true;
}

/* A container's count; each of what it holds takes `least` bytes or more. */
static bool take_count(mpl_codec *in, uint64_t *out, unsigned least, moonplan_error *err) {
    return (mpl_codec_take_number(in, out) && *out <= (uint64_t)(in->end - in->at) / least) ||
           no_encoding(in, err);
}

static bool take_literal(mpl_codec *in, mpl_builder *builder, moonplan_error *err) {
    moonplan_text literal;
    if (!mpl_codec_take_bytes(in, &literal) ||
        mpl_literal_kind(literal) != MPL_LITERAL_NUMBER) /* an integer has a tag of its own */
        return no_encoding(in, err);
    mpl_build_number(builder, literal);
    return true;
}

/* A tag and what belongs to it; of a container, its count in *left, else 0. */
static bool take_one(mpl_codec *in, mpl_builder *builder, uint64_t *left, bool *container,
                     bool *object, moonplan_error *err) {
    int64_t integer;
    moonplan_text text;
    *container = *object = false;
    if (in->at == in->end) return no_encoding(in, err);
    unsigned tag = (unsigned char)*in->at++;
    switch (tag) {
    case TAG_NULL:
        mpl_build_null(builder);
        return true;
    case TAG_FALSE:
    case TAG_TRUE:
        mpl_build_boolean(builder, tag == TAG_TRUE);
        return true;
    case TAG_INTEGER:
        if (!mpl_codec_take_integer(in, &integer)) return no_encoding(in, err);
        mpl_build_integer(builder, integer);
        return true;
    case TAG_NUMBER:
        return take_literal(in, builder, err);
    case TAG_STRING:
        if (!take_text(in, &text, err)) return false;
        mpl_build_string(builder, text);
        return true;
    case TAG_ARRAY:
        *container = true;
        mpl_build_array(builder);
        return take_count(in, left, 1, err);
    case TAG_OBJECT:
        *container = *object = true;
        mpl_build_object(builder);
        return take_count(in, left, 2, err);
    default:
        in->at--;
        return no_encoding(in, err);
    }
}

bool mpl_codec_take_value(mpl_codec *in, mpl_builder *builder, moonplan_error *err) {
    struct {
        uint64_t left;
        bool object;
    } open[DEPTH_MOST];
    size_t depth = 0;
    do {
        uint64_t left = 0;
        bool container, object;
        moonplan_text name;
        if (depth) open[depth - 1].left--;
        if (depth && open[depth - 1].object) {
            if (!take_text(in, &name, err)) return false;
            mpl_build_name(builder, name);
        }
        if (!take_one(in, builder, &left, &container, &object, err)) return false;
        if (builder->error.code != MOONPLAN_OK) break;
        /* A builder may have no limit of its own. */
        if (container && depth == DEPTH_MOST)
            return refuse(in, err, MOONPLAN_JSON_DEPTH,
                          "arrays and objects are nested deeper than any document may be");
        if (container) {
            open[depth].left = left;
            open[depth++].object = object;
        }
        while (depth && open[depth - 1].left == 0) {
            mpl_build_end(builder);
            depth--;
        }
    } while (depth && builder->error.code == MOONPLAN_OK);
    if (builder->error.code == MOONPLAN_OK) return true;
    if (err) {
        *err = builder->error;
        err->offset = (size_t)(in->at - in->bytes);
    }
    return false;
}
