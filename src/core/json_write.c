#include "json_write.h"

#include <string.h>

#include "sort.h"
#include "text.h"

void mpl_write_string(mpl_buffer *out, moonplan_text content) {
    static const char digits[] = "0123456789abcdef";
    const char *at = content.bytes, *end = content.bytes + content.length;
    mpl_buffer_byte(out, '"');
    while (at < end) {
        const char *stop = at;
        while (stop < end && *stop != '"' && *stop != '\\' && (unsigned char)*stop >= 0x20) stop++;
        mpl_buffer_add(out, at, (size_t)(stop - at));
        if (stop == end) break;
        unsigned char byte = (unsigned char)*stop;
        switch (byte) {
        case '\b':
            mpl_buffer_add(out, "\\b", 2);
            break;
        case '\t':
            mpl_buffer_add(out, "\\t", 2);
            break;
        case '\n':
            mpl_buffer_add(out, "\\n", 2);
            break;
        case '\f':
            mpl_buffer_add(out, "\\f", 2);
            break;
        case '\r':
            mpl_buffer_add(out, "\\r", 2);
            break;
        case '"':
            mpl_buffer_add(out, "\\\"", 2);
            break;
        case '\\':
            mpl_buffer_add(out, "\\\\", 2);
            break;
        default: {
            char escape[6] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
            mpl_buffer_add(out, escape, 6);
            break;
        }
        }
        at = stop + 1;
    }
    mpl_buffer_byte(out, '"');
}

size_t mpl_string_length(moonplan_text content) {
    size_t length = content.length + 2;
    for (size_t i = 0; i < content.length; i++) {
        unsigned char byte = (unsigned char)content.bytes[i];
        if (byte == '"' || byte == '\\')
            length++;
        else if (byte < 0x20)
            length += strchr("\b\t\n\f\r", byte) && byte ? 1 : 5;
    }
    return length;
}

/* -- Canonical text --------------------------------------------------------*/

/* `digits`, an integer of at least one digit without leading zeros, plus a small number. Only for
 * exponents beyond int64, so the sum keeps its sign. */
static void write_far_exponent(mpl_buffer *out, bool negative, moonplan_text digits,
                               int64_t shift) {
    if (negative) mpl_buffer_byte(out, '-');
    size_t from = out->length + 1;
    mpl_buffer_byte(out, '0');
    mpl_buffer_add(out, digits.bytes, digits.length);
    if (out->failed) return;
    int64_t carry = negative ? -shift : shift;
    for (size_t i = out->length; i >= from && carry != 0; i--) {
        int64_t sum = out->bytes[i - 1] - '0' + carry % 10;
        carry /= 10;
        if (sum < 0) {
            sum += 10;
            carry--;
        } else if (sum > 9) {
            sum -= 10;
            carry++;
        }
        out->bytes[i - 1] = (char)('0' + sum);
    }
    if (out->bytes[from - 1] == '0') {
        size_t zeros = 1;
        while (out->bytes[from - 1 + zeros] == '0') zeros++;
        memmove(out->bytes + from - 1, out->bytes + from - 1 + zeros,
                out->length - (from - 1) - zeros);
        out->length -= zeros;
    }
}

static void write_number(mpl_buffer *out, moonplan_text literal) {
    const char *at = literal.bytes, *end = literal.bytes + literal.length;
    bool negative = *at == '-';
    at += negative;
    const char *mantissa = at;
    while (at < end && *at != 'e' && *at != 'E') at++;
    const char *exponent = at == end ? end : at + 1, *stop = at;
    /* The digits that count lie between the first and the last that is not 0. */
    const char *first = mantissa, *last = stop;
    while (first < stop && (*first == '0' || *first == '.')) first++;
    if (first == stop) {
        mpl_buffer_byte(out, '0');
        return;
    }
    while (last[-1] == '0' || last[-1] == '.') last--;
    const char *point = memchr(mantissa, '.', (size_t)(stop - mantissa));
    /* How far the last digit that counts stands above the units. */
    int64_t shift = !point         ? stop - last
                    : last > point ? -(int64_t)(last - point - 1)
                                   : point - last;
    if (negative) mpl_buffer_byte(out, '-');
    if (point && point > first && point < last) {
        mpl_buffer_add(out, first, (size_t)(point - first));
        mpl_buffer_add(out, point + 1, (size_t)(last - point - 1));
    } else {
        mpl_buffer_add(out, first, (size_t)(last - first));
    }
    bool minus = exponent < end && *exponent == '-';
    if (exponent < end && (*exponent == '-' || *exponent == '+')) exponent++;
    while (exponent < end && *exponent == '0') exponent++;
    moonplan_text digits = {exponent, (size_t)(end - exponent)};
    if (digits.length > 18) {
        mpl_buffer_byte(out, 'e');
        write_far_exponent(out, minus, digits, shift);
        return;
    }
    int64_t power = 0;
    for (size_t i = 0; i < digits.length; i++) power = power * 10 + (digits.bytes[i] - '0');
    power = (minus ? -power : power) + shift;
    if (power == 0) return;
    char text[21] = "e";
    mpl_buffer_add(out, text, 1 + mpl_integer_write(text + 1, power));
}

/* -- Sorted text ------------------------------------------------------------*/

/* A finished document is nested no deeper than the ceiling of the limit depth, and one that is
 * built around such a one (mpl_build_open_around) by a few levels more. */
#define DEPTH_MOST (1024 + 8)

struct level {
    uint32_t next, end; /* an array: nodes yet to come; an object: names yet to come */
    size_t names;       /* an object: where its names begin in `scratch` */
    bool object, first;
};

struct writing {
    mpl_buffer *out, *scratch; /* scratch holds the nodes of names as uint32_t */
    const moonplan_document *document;
    const mpl_style *style;
    size_t depth;
    struct level open[DEPTH_MOST]; /* filled as far as `depth` says */
};

static bool name_before(const void *a, const void *b, const void *context) {
    uint32_t nodes[2];
    memcpy(&nodes[0], a, sizeof *nodes);
    memcpy(&nodes[1], b, sizeof *nodes);
    return mpl_text_order(mpl_content(context, nodes[0]), mpl_content(context, nodes[1])) < 0;
}

static void new_line(struct writing *w) {
    static const char spaces[] = "                ";
    if (!w->style->indent) return;
    mpl_buffer_byte(w->out, '\n');
    for (size_t i = 0; i < w->depth; i++) mpl_buffer_add(w->out, spaces, w->style->indent);
}

static uint32_t *names_of(const struct writing *w) {
    return (uint32_t *)(void *)w->scratch->bytes;
}

static void open_object(struct writing *w, moonplan_value value, struct level *level) {
    size_t count = moonplan_value_count(value);
    level->names = w->scratch->length / sizeof(uint32_t);
    level->next = 0;
    level->end = (uint32_t)count;
    if (count == 0 || !mpl_buffer_extend(w->scratch, count * sizeof(uint32_t))) return;
    uint32_t *names = names_of(w) + level->names;
    moonplan_walk walk = moonplan_value_walk(value);
    for (size_t i = 0; moonplan_walk_next(&walk); i++) names[i] = walk.value.node - 1;
    mpl_sort(names, count, sizeof *names, name_before, w->document);
}

/* Write a scalar, or open a container. */
static void write_begin(struct writing *w, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    moonplan_text source = moonplan_value_source(value);
    if (type == MOONPLAN_ARRAY || type == MOONPLAN_OBJECT) {
        struct level *level = &w->open[w->depth++];
        moonplan_walk walk = moonplan_value_walk(value);
        *level = (struct level){walk.next, walk.end, 0, type == MOONPLAN_OBJECT, true};
        if (level->object) open_object(w, value, level);
        mpl_buffer_byte(w->out, level->object ? '{' : '[');
    } else if (type == MOONPLAN_STRING) {
        mpl_write_string(w->out, moonplan_value_string(value));
    } else if (w->style->canonical && (type == MOONPLAN_INTEGER || type == MOONPLAN_NUMBER)) {
        write_number(w->out, source);
    } else {
        mpl_buffer_add(w->out, source.bytes, source.length);
    }
}

static void write_next(struct writing *w, struct level *level) {
    uint32_t node;
    if (!level->first) mpl_buffer_byte(w->out, ',');
    level->first = false;
    new_line(w);
    if (level->object) {
        node = names_of(w)[level->names + level->next++];
        mpl_write_string(w->out, mpl_content(w->document, node++));
        mpl_buffer_add(w->out, ": ", w->style->indent ? 2 : 1);
    } else {
        node = level->next;
        level->next = (uint32_t)mpl_after(w->document->nodes, node);
    }
    write_begin(w, mpl_value(w->document, node));
}

static void write_end(struct writing *w, const struct level *level) {
    w->depth--;
    if (!level->first) new_line(w);
    mpl_buffer_byte(w->out, level->object ? '}' : ']');
    if (level->object) w->scratch->length = level->names * sizeof(uint32_t);
}

bool mpl_write_sorted(mpl_buffer *out, mpl_buffer *scratch, moonplan_value value,
                      const mpl_style *style) {
    struct writing w;
    w.out = out;
    w.scratch = scratch;
    w.document = value.document;
    w.style = style;
    w.depth = 0;
    write_begin(&w, value);
    while (w.depth > 0 && !out->failed && !scratch->failed && out->length <= style->most) {
        struct level *level = &w.open[w.depth - 1];
        if (level->next < level->end)
            write_next(&w, level);
        else
            write_end(&w, level);
    }
    out->failed = out->failed || scratch->failed;
    return out->failed || out->length <= style->most;
}

void mpl_write_canonical(mpl_buffer *out, moonplan_value value) {
    static const mpl_style canonical = {true, 0, UINT64_MAX};
    mpl_buffer scratch;
    mpl_buffer_open(&scratch, out->alloc);
    mpl_write_sorted(out, &scratch, value, &canonical);
    mpl_buffer_close(&scratch);
}
