#include "safe_checksum.h"

#include <string.h>

#include "../core/buffer.h"
#include "../core/json_write.h"
#include "../core/sort.h"
#include "../core/text.h"

/* Beyond this, JavaScript's numbers are no longer exact. */
#define EXACT_MOST 9007199254740991

typedef struct member {
    moonplan_text name;
    uint32_t node;
} member;

/* JavaScript sorts by UTF-16 units, in which everything beyond U+FFFF comes before U+E000. */
static uint32_t utf16_rank(uint32_t point) {
    return point >= 0xe000 && point <= 0xffff ? point + 0x110000 : point;
}

static bool before(const void *one, const void *other, const void *context) {
    (void)context;
    moonplan_text a = ((const member *)one)->name, b = ((const member *)other)->name;
    const char *x = a.bytes, *x_end = x + a.length, *y = b.bytes, *y_end = y + b.length;
    while (x < x_end && y < y_end) {
        uint32_t p = 0, q = 0;
        x += mpl_utf8(x, x_end, &p);
        y += mpl_utf8(y, y_end, &q);
        if (p != q) return utf16_rank(p) < utf16_rank(q);
    }
    return x == x_end && y < y_end;
}

typedef struct writer {
    mpl_buffer out;
    bool inexact;
} writer;

static void put(writer *w, moonplan_value value, unsigned level, bool meta);

static void add_member(mpl_buffer *list, moonplan_text name, uint32_t node) {
    member one;
    memset(&one, 0, sizeof one);
    one.name = name;
    one.node = node;
    mpl_buffer_add(list, &one, sizeof one);
}

/* `meta`: the name counts as null, and the checksum is not there. */
static void put_object(writer *w, moonplan_value object, unsigned level, bool meta) {
    mpl_buffer list;
    mpl_buffer_open(&list, w->out.alloc);
    if (meta) add_member(&list, (moonplan_text){"name", 4}, UINT32_MAX);
    moonplan_walk walk = moonplan_value_walk(object);
    while (moonplan_walk_next(&walk))
        if (!meta || (!mpl_text_is(walk.name, "name") && !mpl_text_is(walk.name, "checksum")))
            add_member(&list, walk.name, walk.value.node);
    if (list.failed) w->out.failed = true;
    member *members = (member *)(void *)list.bytes;
    size_t count = list.failed ? 0 : list.length / sizeof *members;
    mpl_sort(members, count, sizeof *members, before, NULL);
    mpl_buffer_add(&w->out, "{[", 2);
    for (size_t i = 0; i < count; i++) {
        if (i) mpl_buffer_byte(&w->out, ',');
        mpl_write_string(&w->out, members[i].name);
    }
    mpl_buffer_byte(&w->out, ']');
    for (size_t i = 0; i < count && !w->out.failed; i++) {
        if (members[i].node == UINT32_MAX)
            mpl_buffer_add(&w->out, "null", 4);
        else
            put(w, mpl_value(object.document, members[i].node), level + 1,
                level == 0 && mpl_text_is(members[i].name, "meta"));
        mpl_buffer_byte(&w->out, ',');
    }
    mpl_buffer_byte(&w->out, '}');
    mpl_buffer_close(&list);
}

static void put_array(writer *w, moonplan_value array, unsigned level) {
    bool first = true;
    mpl_buffer_byte(&w->out, '[');
    moonplan_walk walk = moonplan_value_walk(array);
    while (moonplan_walk_next(&walk) && !w->out.failed) {
        if (!first) mpl_buffer_byte(&w->out, ',');
        first = false;
        put(w, walk.value, level + 1, false);
    }
    mpl_buffer_byte(&w->out, ']');
}

/* Nested as deep as the document: the limit depth. */
static void put(writer *w, moonplan_value value, unsigned level, bool meta) {
    moonplan_text source = moonplan_value_source(value);
    int64_t number;
    switch (moonplan_value_type(value)) {
    case MOONPLAN_OBJECT:
        put_object(w, value, level, meta);
        break;
    case MOONPLAN_ARRAY:
        put_array(w, value, level);
        break;
    case MOONPLAN_STRING:
        mpl_write_string(&w->out, moonplan_value_string(value));
        break;
    case MOONPLAN_INTEGER:
    case MOONPLAN_NUMBER:
        if (!moonplan_value_integer(value, &number) || number > EXACT_MOST || number < -EXACT_MOST)
            w->inexact = true;
        mpl_buffer_add(&w->out, source.bytes, source.length);
        break;
    default:
        mpl_buffer_add(&w->out, source.bytes, source.length);
        break;
    }
}

mpl_safe_checksum mpl_safe_checksum_make(uint8_t out[32], moonplan_value batch, mpl_alloc *alloc) {
    writer w = {.inexact = false};
    mpl_buffer_open(&w.out, alloc);
    put(&w, batch, 0, false);
    bool failed = w.out.failed;
    if (!failed) moonplan_keccak256(out, w.out.bytes, w.out.length);
    mpl_buffer_close(&w.out);
    if (failed) return MPL_SAFE_CHECKSUM_MEMORY;
    return w.inexact ? MPL_SAFE_CHECKSUM_NUMBER : MPL_SAFE_CHECKSUM_MADE;
}
