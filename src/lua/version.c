/* Which of two versions is the higher one. */
#include <string.h>

#include "../core/text.h"
#include "trust.h"

static bool is_number(moonplan_text text) {
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return false;
    return text.length > 0;
}

static moonplan_text part(moonplan_text *rest, char end) {
    const char *at = rest->length ? memchr(rest->bytes, end, rest->length) : NULL;
    moonplan_text found = {rest->bytes, at ? (size_t)(at - rest->bytes) : rest->length};
    size_t taken = found.length + (at != NULL);
    rest->bytes += taken;
    rest->length -= taken;
    return found;
}

/* Numbers by value, and before everything else. */
static int order_parts(moonplan_text a, moonplan_text b) {
    bool x = is_number(a), y = is_number(b);
    if (x != y) return x ? -1 : 1;
    if (!x) return mpl_text_order(a, b);
    for (; a.length > 1 && *a.bytes == '0'; a.length--) a.bytes++;
    for (; b.length > 1 && *b.bytes == '0'; b.length--) b.bytes++;
    if (a.length != b.length) return a.length < b.length ? -1 : 1;
    return mpl_text_order(a, b);
}

/* A row that ends first is the lower one; of the numbers in front, the rest counts as zeros. */
static int order_rows(moonplan_text a, moonplan_text b, bool zeros) {
    const moonplan_text zero = MOONPLAN_TEXT("0");
    while (a.length || b.length) {
        if (!zeros && !a.length) return -1;
        if (!zeros && !b.length) return 1;
        moonplan_text x = a.length ? part(&a, '.') : zero, y = b.length ? part(&b, '.') : zero;
        int order = order_parts(x, y);
        if (order) return order;
    }
    return 0;
}

int mpl_version_order(moonplan_text a, moonplan_text b) {
    a = part(&a, '+');
    b = part(&b, '+');
    moonplan_text x = part(&a, '-'), y = part(&b, '-');
    int order = order_rows(x, y, true);
    if (order || (!a.length && !b.length)) return order;
    if (!a.length || !b.length) return a.length ? -1 : 1;
    return order_rows(a, b, false);
}
