/* What of an endpoint's URL an answer may not tell: all of it, and whatever in it may be a key. */
#include <string.h>

#include "../core/text.h"
#include "grant.h"

typedef struct listing {
    mpl_needle *list;
    size_t count;
    char *room; /* for what is decoded */
} listing;

static void add(listing *all, moonplan_text part) {
    static const moonplan_text shown = {"[url]", 5};
    if (part.length >= MPL_NEEDLE_LEAST) all->list[all->count++] = (mpl_needle){part, shown};
}

static int digit(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

/* As it stands, and as a server has it that has read it (RFC 3986, section 2.1). */
static void add_both(listing *all, moonplan_text part) {
    size_t length = 0;
    add(all, part);
    if (!part.length || !memchr(part.bytes, '%', part.length)) return;
    for (size_t i = 0; i < part.length; i++) {
        bool coded = part.bytes[i] == '%' && part.length - i > 2 && digit(part.bytes[i + 1]) >= 0 &&
                     digit(part.bytes[i + 2]) >= 0;
        all->room[length++] = coded
                                  ? (char)(digit(part.bytes[i + 1]) << 4 | digit(part.bytes[i + 2]))
                                  : part.bytes[i];
        if (coded) i += 2;
    }
    add(all, (moonplan_text){all->room, length});
    all->room += length;
}

static moonplan_text cut(moonplan_text *rest, const char *ends) {
    size_t length = 0;
    while (length < rest->length && !strchr(ends, rest->bytes[length])) length++;
    moonplan_text part = {rest->bytes, length};
    size_t taken = length + (length < rest->length);
    rest->bytes += taken;
    rest->length -= taken;
    return part;
}

/* Names of eight or more characters that are no keys are hidden with them: nobody can tell. */
static void add_parts(listing *all, moonplan_text url) {
    static const char slashes[] = "://";
    moonplan_text rest = url;
    add(all, url);
    const char *scheme = memmem(url.bytes, url.length, slashes, 3);
    if (scheme) {
        rest.bytes = scheme + 3;
        rest.length = url.length - (size_t)(rest.bytes - url.bytes);
    }
    size_t length = 0;
    while (length < rest.length && !strchr("/?", rest.bytes[length])) length++;
    moonplan_text authority = {rest.bytes, length}, host = authority;
    add(all, authority);
    if (length && host.bytes[0] != '[') add(all, cut(&host, ":"));
    rest.bytes += length;
    rest.length -= length;
    if (rest.length && rest.bytes[0] == '/') {
        rest.bytes++;
        rest.length--;
    }
    add_both(all, rest);
    moonplan_text path = cut(&rest, "?");
    add_both(all, path);
    add_both(all, rest);
    while (path.length) add_both(all, cut(&path, "/"));
    while (rest.length) {
        moonplan_text pair = cut(&rest, "&;");
        cut(&pair, "=");
        add_both(all, pair);
    }
}

bool mpl_url_needles(mpl_needles *out, mpl_alloc *alloc, moonplan_text url) {
    /* Each of the parts between marks, and what they are parts of; each may be decoded. */
    size_t count = 10;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < url.length; i++) count += strchr("/?&;", url.bytes[i]) ? 2 : 0;
    size_t size = count * sizeof(mpl_needle), room = 4 * url.length + 1;
    mpl_needle *list = mpl_allocate(alloc, size);
    char *decoded = list ? mpl_allocate(alloc, room) : NULL;
    bool fine = decoded != NULL;
    if (fine) {
        listing all = {list, 0, decoded};
        add_parts(&all, url);
        fine = mpl_needles_open(out, alloc, list, all.count);
    }
    mpl_release(alloc, decoded, room);
    mpl_release(alloc, list, size);
    return fine;
}
