#include "error.h"

#include <stdarg.h>
#include <string.h>

#include "text.h"

#define POINTER_MOST 256
static const char ellipsis[] = "\xe2\x80\xa6";

/* How much of one untrusted text a message repeats. */
#define QUOTE_MOST 96

static const struct {
    const char *name, *text;
} codes[] = {{"ok", "nothing went wrong"},
#define MOONPLAN_ERROR_ROW(symbol, name, text) {name, text},
             MOONPLAN_ERRORS(MOONPLAN_ERROR_ROW)
#undef MOONPLAN_ERROR_ROW
};

const char *moonplan_code_name(moonplan_code code) {
    return (unsigned)code < MOONPLAN_CODE_COUNT ? codes[code].name : "unknown";
}

const char *moonplan_code_text(moonplan_code code) {
    return (unsigned)code < MOONPLAN_CODE_COUNT ? codes[code].text : "not a code of this version";
}

static void pointer_add(mpl_pointer *pointer, const char *bytes, size_t length) {
    if (pointer->cut) return;
    if (pointer->length + length <= POINTER_MOST) {
        memcpy(pointer->bytes + pointer->length, bytes, length);
        pointer->length += length;
        return;
    }
    size_t kept = POINTER_MOST - pointer->length;
    while (kept > 0 && ((unsigned char)bytes[kept] & 0xc0) == 0x80) kept--;
    memcpy(pointer->bytes + pointer->length, bytes, kept);
    memcpy(pointer->bytes + pointer->length + kept, ellipsis, sizeof ellipsis - 1);
    pointer->length += kept + sizeof ellipsis - 1;
    pointer->cut = true;
}

void mpl_pointer_name(mpl_pointer *pointer, moonplan_text name) {
    pointer_add(pointer, "/", 1);
    size_t from = 0;
    for (size_t i = 0; i < name.length && !pointer->cut; i++) {
        if (name.bytes[i] != '~' && name.bytes[i] != '/') continue;
        pointer_add(pointer, name.bytes + from, i - from);
        pointer_add(pointer, name.bytes[i] == '~' ? "~0" : "~1", 2);
        from = i + 1;
    }
    if (from < name.length) pointer_add(pointer, name.bytes + from, name.length - from);
}

void mpl_pointer_index(mpl_pointer *pointer, size_t index) {
    char digits[21] = "/";
    pointer_add(pointer, digits, 1 + mpl_number_write(digits + 1, index));
}

void mpl_error_set(moonplan_error *err, moonplan_code code, size_t offset,
                   const mpl_pointer *pointer, const char *format, ...) {
    if (!err) return;
    memset(err, 0, sizeof *err);
    err->code = code;
    err->offset = offset;
    if (pointer) {
        memcpy(err->at, pointer->bytes, pointer->length);
        err->at_length = pointer->length;
    }
    va_list arguments;
    va_start(arguments, format);
    char *out = err->message;
    /* A piece that does not fit is left out whole; ours are short enough never to be. */
    size_t length = 0, room = sizeof err->message - 1;
    for (const char *at = format; *at; at++) {
        char piece[QUOTE_MOST + 16];
        const char *bytes = piece;
        size_t added;
        if (*at != '%') {
            piece[0] = *at;
            added = 1;
        } else {
            switch (*++at) {
            case 's':
                bytes = va_arg(arguments, const char *);
                added = strlen(bytes);
                break;
            case 'q':
                added = mpl_quote(piece, QUOTE_MOST, *va_arg(arguments, const moonplan_text *));
                break;
            case 't': {
                const moonplan_text *text = va_arg(arguments, const moonplan_text *);
                bytes = text->bytes;
                added = text->length;
                break;
            }
            case 'u':
                added = mpl_number_write(piece, va_arg(arguments, uint64_t));
                break;
            case 'x': {
                unsigned byte = va_arg(arguments, unsigned);
                memcpy(piece, "0x", 2);
                piece[2] = "0123456789abcdef"[byte >> 4 & 15];
                piece[3] = "0123456789abcdef"[byte & 15];
                added = 4;
                break;
            }
            default:
                piece[0] = '%';
                added = 1;
                break;
            }
        }
        if (added > room - length) continue;
        if (added) memcpy(out + length, bytes, added);
        length += added;
    }
    va_end(arguments);
    out[length] = 0;
}

void mpl_error_memory(moonplan_error *err) {
    mpl_error_set(err, MOONPLAN_MEMORY, MOONPLAN_NO_OFFSET, NULL, "out of memory");
}

void moonplan_error_locate(moonplan_error *errors, size_t count, const char *text, size_t length) {
    size_t line = 1, begin = 0, at = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        size_t offset = errors[i].offset;
        if (offset == MOONPLAN_NO_OFFSET || offset > length) {
            errors[i].line = errors[i].column = 0;
            continue;
        }
        /* Faults come in document order; start again for one that does not. */
        if (offset < last) {
            line = 1;
            begin = at = 0;
        }
        last = offset;
        while (at < offset) {
            char byte = text[at++];
            /* CR LF is one end of line: the LF ends it. */
            if (byte == '\n' || (byte == '\r' && (at >= length || text[at] != '\n'))) {
                line++;
                begin = at;
            }
        }
        errors[i].line = line;
        errors[i].column = offset - begin + 1;
    }
}

struct moonplan_error_list {
    mpl_alloc alloc;
    moonplan_error *items;
    size_t count, capacity;
};

moonplan_error_list *mpl_error_list_new(const mpl_alloc *alloc) {
    mpl_alloc own = *alloc;
    own.used = own.peak = 0;
    moonplan_error_list *list = mpl_allocate(&own, sizeof *list);
    if (list) *list = (moonplan_error_list){own, NULL, 0, 0};
    return list;
}

moonplan_error *mpl_error_list_add(moonplan_error_list *list) {
    /* Most refused documents have one fault: begin with room for one. Growing by an eighth keeps a
     * list of 65 large structs at 53 KB; doubling would hold 104. */
    size_t needed = list->count + 1;
    if (needed > list->capacity) {
        size_t grown = list->capacity ? list->capacity + list->capacity / 8 + 8 : 1;
        moonplan_error *moved =
            mpl_resize(&list->alloc, list->items, list->capacity * sizeof *list->items,
                       grown * sizeof *list->items);
        if (!moved) return NULL;
        list->items = moved;
        list->capacity = grown;
    }
    return &list->items[list->count++];
}

size_t mpl_error_list_memory(const moonplan_error_list *list) {
    return list ? list->alloc.used : 0;
}

void moonplan_error_list_free(moonplan_error_list *list) {
    if (!list) return;
    mpl_release(&list->alloc, list->items, list->capacity * sizeof *list->items);
    mpl_alloc alloc = list->alloc;
    mpl_release(&alloc, list, sizeof *list);
}

size_t moonplan_error_list_count(const moonplan_error_list *list) {
    return list ? list->count : 0;
}

moonplan_error *moonplan_error_list_at(moonplan_error_list *list, size_t n) {
    return n < list->count ? &list->items[n] : NULL;
}
