#include "listing.h"

#include <string.h>

#include "text.h"

static const char ellipsis[] = "\xe2\x80\xa6";

static void add(mpl_listing *list, const char *bytes, size_t length) {
    if (list->full) return;
    if (list->length) {
        memcpy(list->bytes + list->length, ", ", 2);
        list->length += 2;
    }
    /* The comma and the mark of the end always fit behind what is taken. */
    if (list->length + length + 2 + sizeof ellipsis > sizeof list->bytes) {
        list->full = true;
        bytes = ellipsis;
        length = sizeof ellipsis - 1;
    }
    memcpy(list->bytes + list->length, bytes, length);
    list->length += length;
}

void mpl_listing_string(mpl_listing *list, moonplan_text text) {
    char piece[56];
    add(list, piece, mpl_quote(piece, 48, text));
}

static bool is_name(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == ':' || byte == '-';
}

void mpl_listing_name(mpl_listing *list, moonplan_text name) {
    bool plain = name.length > 0 && name.length <= 48;
    for (size_t i = 0; plain && i < name.length; i++) plain = is_name(name.bytes[i]);
    if (plain)
        add(list, name.bytes, name.length);
    else
        mpl_listing_string(list, name);
}

void mpl_listing_literal(mpl_listing *list, moonplan_text literal) {
    char piece[56];
    size_t length = literal.length <= 48 ? literal.length : 45;
    memcpy(piece, literal.bytes, length);
    if (length < literal.length) {
        memcpy(piece + length, ellipsis, sizeof ellipsis - 1);
        length += sizeof ellipsis - 1;
    }
    add(list, piece, length);
}

moonplan_text mpl_listing_text(const mpl_listing *list) {
    return (moonplan_text){list->bytes, list->length};
}
