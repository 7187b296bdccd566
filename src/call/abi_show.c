#include <string.h>

#include "../core/text.h"
#include "../core/uint256.h"
#include "abi.h"

static void name(mpl_builder *builder, const char *literal) {
    mpl_build_name(builder, mpl_text_of(literal));
}

void mpl_build_bytes(mpl_builder *builder, const uint8_t *bytes, size_t length) {
    /* A stack buffer for what is short; a long one would be written to memory twice. */
    char small[2 + 2 * 64], *text = small;
    mpl_buffer large;
    mpl_alloc *alloc = builder->document ? &builder->document->alloc : NULL;
    if (!alloc) return; /* the builder is broken, and says so when it is finished */
    mpl_buffer_open(&large, alloc);
    if (length > 64) text = mpl_buffer_extend(&large, 2 + 2 * length);
    if (text) {
        memcpy(text, "0x", 2);
        mpl_hex_encode(text + 2, bytes, length);
        mpl_build_string(builder, (moonplan_text){text, 2 + 2 * length});
    } else if (builder->error.code == MOONPLAN_OK) {
        mpl_error_memory(&builder->error);
    }
    mpl_buffer_close(&large);
}

void mpl_abi_build_notes(mpl_builder *builder, moonplan_error_list *notes, size_t missing) {
    size_t count = moonplan_error_list_count(notes);
    name(builder, "canonical");
    mpl_build_boolean(builder, count == 0 && missing == 0);
    if (count == 0 && missing == 0) return;
    name(builder, "notes");
    mpl_build_array(builder);
    if (missing) {
        mpl_build_object(builder);
        mpl_build_text(builder, "code", mpl_text_of("abi.length"));
        mpl_build_text(builder, "message",
                       mpl_text_of("the arguments are cut short; read as if zeros followed"));
        mpl_build_end(builder);
    }
    for (size_t i = 0; i < count; i++) {
        const moonplan_error *note = moonplan_error_list_at(notes, i);
        mpl_build_object(builder);
        mpl_build_text(builder, "code", mpl_text_of(moonplan_code_name(note->code)));
        mpl_build_text(builder, "at", (moonplan_text){note->at, note->at_length});
        if (note->offset != MOONPLAN_NO_OFFSET) {
            name(builder, "offset");
            mpl_build_integer(builder, (int64_t)note->offset);
        }
        mpl_build_text(builder, "message", mpl_text_of(note->message));
        mpl_build_end(builder);
    }
    mpl_build_end(builder);
}

static bool is_utf8(const moonplan_abi_value *value) {
    const char *at = (const char *)value->bytes, *end = at + value->length;
    while (at < end) {
        size_t step = mpl_utf8(at, end, NULL);
        if (step == 0) return false;
        at += step;
    }
    return true;
}

static size_t integer(char out[MPL_UINT256_TEXT], const moonplan_abi_value *value) {
    mpl_uint256 number = mpl_uint256_read(value->bytes);
    return value->type->base == MOONPLAN_ABI_INT ? mpl_int256_decimal(out, number)
                                                 : mpl_uint256_decimal(out, number);
}

/* Nested as deep as the type: MPL_ABI_DEPTH at most. */
void mpl_abi_build(mpl_builder *builder, const moonplan_abi_value *value) {
    const moonplan_abi_type *type = value->type;
    char text[MPL_UINT256_TEXT];
    switch (type->base) {
    case MOONPLAN_ABI_UINT:
    case MOONPLAN_ABI_INT:
        mpl_build_string(builder, (moonplan_text){text, integer(text, value)});
        break;
    case MOONPLAN_ABI_BOOL:
        mpl_build_boolean(builder, value->bytes[31] != 0);
        break;
    case MOONPLAN_ABI_STRING:
        if (is_utf8(value)) {
            moonplan_text content = {(const char *)value->bytes, value->length};
            if (!value->length) content.bytes = "";
            mpl_build_string(builder, content);
        } else {
            mpl_build_object(builder);
            name(builder, "hex");
            mpl_build_bytes(builder, value->bytes, value->length);
            mpl_build_end(builder);
        }
        break;
    case MOONPLAN_ABI_ARRAY:
    case MOONPLAN_ABI_ARRAY_N:
    case MOONPLAN_ABI_TUPLE: {
        bool object = type->base == MOONPLAN_ABI_TUPLE && type->named;
        if (object)
            mpl_build_object(builder);
        else
            mpl_build_array(builder);
        for (size_t i = 0; i < value->count; i++) {
            if (object) mpl_build_name(builder, value->items[i].type->name);
            mpl_abi_build(builder, &value->items[i]);
        }
        mpl_build_end(builder);
        break;
    }
    default:
        mpl_build_bytes(builder, value->bytes, value->length);
        break;
    }
}

/* Is there a component with a name in it? */
static bool names_components(const moonplan_abi_type *type) {
    bool tuple = type->base == MOONPLAN_ABI_TUPLE;
    uint32_t count = tuple ? type->size : type->items ? 1 : 0;
    for (uint32_t i = 0; i < count; i++)
        if ((tuple && type->items[i].name.length) || names_components(&type->items[i])) return true;
    return false;
}

/* The type as a signature has it, with the names that its canonical form leaves out. */
static void declare(mpl_buffer *out, const moonplan_abi_type *type) {
    if (type->base == MOONPLAN_ABI_TUPLE) {
        mpl_buffer_byte(out, '(');
        for (uint32_t i = 0; i < type->size; i++) {
            if (i) mpl_buffer_add(out, ", ", 2);
            declare(out, &type->items[i]);
            if (!type->items[i].name.length) continue;
            mpl_buffer_byte(out, ' ');
            mpl_buffer_add(out, type->items[i].name.bytes, type->items[i].name.length);
        }
        mpl_buffer_byte(out, ')');
    } else if (type->items) {
        /* What stands behind the element's canonical name is the brackets. */
        size_t element = type->items->text.length;
        declare(out, type->items);
        mpl_buffer_add(out, type->text.bytes + element, type->text.length - element);
    } else {
        mpl_buffer_add(out, type->text.bytes, type->text.length);
    }
}

/* An object has no order that every reader of JSON keeps, and its components have one. */
static void build_declaration(mpl_builder *builder, const moonplan_abi_type *type) {
    if (!builder->document || !names_components(type)) return;
    mpl_buffer text;
    mpl_buffer_open(&text, &builder->document->alloc);
    declare(&text, type);
    if (!text.failed) {
        name(builder, "declaration");
        mpl_build_string(builder, (moonplan_text){text.bytes, text.length});
    } else if (builder->error.code == MOONPLAN_OK) {
        mpl_error_memory(&builder->error);
    }
    mpl_buffer_close(&text);
}

void mpl_abi_build_arguments(mpl_builder *builder, const moonplan_abi_value *tuple) {
    mpl_build_array(builder);
    for (size_t i = 0; i < tuple->count; i++) {
        const moonplan_abi_type *type = tuple->items[i].type;
        mpl_build_object(builder);
        if (type->name.length) {
            name(builder, "name");
            mpl_build_string(builder, type->name);
        }
        name(builder, "type");
        mpl_build_string(builder, type->text);
        build_declaration(builder, type);
        name(builder, "value");
        mpl_abi_build(builder, &tuple->items[i]);
        mpl_build_end(builder);
    }
    mpl_build_end(builder);
}

/* -- One line ----------------------------------------------------------------*/

/* How much of one string or byte sequence is shown. */
#define PIECE_MOST 96

typedef struct line {
    char *out;
    size_t length, room;
    bool full;
} line;

static void add(line *l, const char *bytes, size_t length) {
    if (l->full) return;
    if (length > l->room - l->length) {
        memcpy(l->out + l->length, "\xe2\x80\xa6", 3);
        l->length += 3;
        l->full = true;
        return;
    }
    memcpy(l->out + l->length, bytes, length);
    l->length += length;
}

static void show(line *l, const moonplan_abi_value *value) {
    const moonplan_abi_type *type = value->type;
    char text[PIECE_MOST + 16];
    switch (type->base) {
    case MOONPLAN_ABI_UINT:
    case MOONPLAN_ABI_INT:
        add(l, text, integer(text, value));
        break;
    case MOONPLAN_ABI_BOOL:
        add(l, value->bytes[31] ? "true" : "false", value->bytes[31] ? 4 : 5);
        break;
    case MOONPLAN_ABI_STRING:
        add(l, text,
            mpl_quote(text, PIECE_MOST,
                      (moonplan_text){(const char *)value->bytes, value->length}));
        break;
    case MOONPLAN_ABI_ARRAY:
    case MOONPLAN_ABI_ARRAY_N:
    case MOONPLAN_ABI_TUPLE:
        add(l, type->base == MOONPLAN_ABI_TUPLE ? "(" : "[", 1);
        for (size_t i = 0; i < value->count && !l->full; i++) {
            moonplan_text named = value->items[i].type->name;
            if (i) add(l, ", ", 2);
            if (named.length > PIECE_MOST) named.length = 0;
            if (named.length && type->base == MOONPLAN_ABI_TUPLE) {
                add(l, named.bytes, named.length);
                add(l, ": ", 2);
            }
            show(l, &value->items[i]);
        }
        add(l, type->base == MOONPLAN_ABI_TUPLE ? ")" : "]", 1);
        break;
    default: {
        size_t shown = value->length > PIECE_MOST / 2 - 1 ? PIECE_MOST / 2 - 1 : value->length;
        memcpy(text, "0x", 2);
        mpl_hex_encode(text + 2, value->bytes, shown);
        add(l, text, 2 + 2 * shown);
        if (shown < value->length) add(l, "\xe2\x80\xa6", 3);
        break;
    }
    }
}

size_t mpl_abi_show(char *out, size_t room, const moonplan_abi_value *tuple) {
    line l = {out, 0, room - 3, false};
    show(&l, tuple);
    return l.length;
}
