/* Finding a text in another, in linear time and no memory.
 *
 * The usual case is quick because memchr is: it looks for the needle's first byte, and the rest is
 * compared there. A text that has that byte everywhere would make this quadratic, so once the
 * comparing has cost more than the looking, the two-way algorithm goes on (M. Crochemore and
 * D. Perrin, Two-way string-matching, Journal of the ACM 38, 1991): the needle is cut in two at a
 * place where its local period is its period; the right part is compared forwards, then the left
 * one backwards, and after a mismatch the window moves by as much as can be told from that. */
#include <string.h>

#include "bounded.h"

/* Where the greatest suffix of the needle begins, in the order of bytes or the reverse one, and
 * that suffix's period. */
static size_t greatest_suffix(mpl_work *work, const unsigned char *needle, size_t length,
                              bool reverse, size_t *period) {
    size_t start = 0, other = 1, same = 0;
    *period = 1;
    while (other + same < length) {
        mpl_work_do(work, 1);
        unsigned char a = needle[start + same], b = needle[other + same];
        if (a == b) {
            if (++same == *period) {
                other += *period;
                same = 0;
            }
        } else if (reverse ? b > a : b < a) {
            other += same + 1;
            same = 0;
            *period = other - start;
        } else {
            start = other++;
            same = 0;
            *period = 1;
        }
    }
    return start;
}

static const char *two_way(mpl_work *work, const char *text, size_t length, const char *needle,
                           size_t needle_length) {
    const unsigned char *n = (const unsigned char *)needle;
    size_t period, other_period;
    size_t cut = greatest_suffix(work, n, needle_length, false, &period);
    size_t other_cut = greatest_suffix(work, n, needle_length, true, &other_period);
    if (other_cut > cut) {
        cut = other_cut;
        period = other_period;
    }
    bool periodic = period + cut <= needle_length && memcmp(needle, needle + period, cut) == 0;
    if (!periodic) period = (cut > needle_length - cut ? cut : needle_length - cut) + 1;
    size_t known = 0; /* bytes of the left part that are known to match */
    for (size_t at = 0; at <= length - needle_length;) {
        const char *window = text + at;
        size_t right = cut > known ? cut : known;
        size_t i = right;
        while (i < needle_length && needle[i] == window[i]) i++;
        mpl_work_do(work, i - right + 1);
        if (i < needle_length) {
            at += i - cut + 1;
            known = 0;
            continue;
        }
        size_t left = cut;
        while (left > known && needle[left - 1] == window[left - 1]) left--;
        mpl_work_do(work, cut - left + 1);
        if (left <= known) return window;
        at += period;
        known = periodic ? needle_length - period : 0;
    }
    return NULL;
}

/* What memchr looks through between two steps. */
#define STRIDE 4096

const char *mpl_search(mpl_work *work, const char *text, size_t length, const char *needle,
                       size_t needle_length) {
    if (needle_length == 0) return text;
    if (needle_length > length) return NULL;
    const char *at = text, *last = text + (length - needle_length); /* the last place to begin */
    size_t compared = 0;
    while (at <= last) {
        size_t look = (size_t)(last - at) + 1;
        if (look > STRIDE) look = STRIDE;
        const char *found = memchr(at, needle[0], look);
        mpl_work_do(work, (found ? (size_t)(found - at) : look) / 16 + 1);
        if (!found) {
            at += look;
            continue;
        }
        size_t same = 1;
        while (same < needle_length && found[same] == needle[same]) same++;
        if (same == needle_length) return found;
        mpl_work_do(work, same);
        compared += same;
        at = found + 1;
        if (compared > 64 + (size_t)(at - text) && at <= last)
            return two_way(work, at, length - (size_t)(at - text), needle, needle_length);
    }
    return NULL;
}
