/* Many texts looked for at once, against a search that looks for one after the other, byte by byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/lua/needles.h"
#include "check.h"

/* A fixed row of numbers: Marsaglia's xorshift ("Xorshift RNGs", 2003). */
static uint64_t state = 88172645463325252u;

static size_t draw(size_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % below);
}

/* -- The law -----------------------------------------------------------------*/

static bool begins(moonplan_text text, size_t at, moonplan_text with) {
    return text.length - at >= with.length && memcmp(text.bytes + at, with.bytes, with.length) == 0;
}

/* The bytes of every needle, and of what a cut has left of one. */
static void mark(bool *covered, moonplan_text text, const mpl_needle *list, size_t count) {
    for (size_t n = 0; n < count; n++)
        for (size_t at = 0; at < text.length; at++) {
            moonplan_text part = list[n].bytes;
            if (begins(text, at, part)) memset(covered + at, true, part.length);
            for (part.length--; part.length >= MPL_NEEDLE_LEAST; part.length--)
                if (begins(text, at, part) &&
                    begins(text, at + part.length, text_of("\xe2\x80\xa6")))
                    memset(covered + at, true, part.length);
        }
}

/* All that is left is what was not covered, in its order, and something is shown for each row of
 * bytes that was. */
static void compare(const mpl_needle *list, size_t count, moonplan_text text) {
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_needles needles;
    mpl_buffer out;
    bool covered[512] = {false}, any = false;
    if (!CHECK(text.length <= sizeof covered && mpl_needles_open(&needles, &alloc, list, count)))
        return;
    mark(covered, text, list, count);
    mpl_buffer_open(&out, &alloc);
    mpl_buffer_add(&out, text.bytes, text.length);
    CHECK(mpl_needles_hide(&needles, &out));
    size_t at = 0;
    bool same = true;
    for (size_t i = 0; i < text.length; i++) {
        any = any || covered[i];
        bool shows = covered[i] && (i == 0 || !covered[i - 1]);
        if (shows && (at >= out.length || out.bytes[at] != '<')) same = false;
        /* Several of them may stand side by side. */
        while (covered[i] && at < out.length && out.bytes[at] == '<')
            while (at < out.length && out.bytes[at++] != '>') continue;
        if (!covered[i] && (at >= out.length || out.bytes[at++] != text.bytes[i])) same = false;
    }
    if (!CHECK(same && at == out.length))
        printf("# %.*s -> %.*s\n", (int)text.length, text.bytes, (int)out.length, out.bytes);
    CHECK(mpl_needles_in(&needles, text) == any);
    mpl_buffer_close(&out);
    mpl_needles_close(&needles);
    CHECK(alloc.used == 0);
}

/* Texts that are made of the needles' own parts, of two or three letters, so that they overlap,
 * hold each other and begin alike. */
static void finds_what_a_plain_search_finds(void) {
    static char pool[4][64], text[256];
    for (int round = 0; round < 20000; round++) {
        mpl_needle list[4];
        size_t count = 1 + draw(4), length = 0, letters = 1 + draw(3);
        for (size_t n = 0; n < count; n++) {
            size_t size = MPL_NEEDLE_LEAST + draw(12);
            for (size_t i = 0; i < size; i++) pool[n][i] = (char)('a' + draw(letters));
            if (n > 0 && draw(2)) memcpy(pool[n], pool[n - 1], draw(size));
            list[n] = (mpl_needle){{pool[n], size}, text_of("<>")};
        }
        while (length < 150) {
            size_t which = draw(count), size = draw(list[which].bytes.length + 1);
            if (draw(3)) {
                memcpy(text + length, pool[which], size);
                length += size;
            } else if (draw(4)) {
                text[length++] = (char)('a' + draw(letters + 1));
            } else {
                memcpy(text + length, "\xe2\x80\xa6", 3);
                length += 3;
            }
        }
        compare(list, count, (moonplan_text){text, length});
    }
}

static void shows(const char *expected, const mpl_needle *list, size_t count, const char *text) {
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_needles needles;
    mpl_buffer out;
    CHECK(mpl_needles_open(&needles, &alloc, list, count));
    mpl_buffer_open(&out, &alloc);
    mpl_buffer_add(&out, text, strlen(text));
    CHECK(mpl_needles_hide(&needles, &out));
    CHECK_TEXT(expected, ((moonplan_text){out.length ? out.bytes : "", out.length}));
    mpl_buffer_close(&out);
    mpl_needles_close(&needles);
    CHECK(alloc.used == 0);
}

static void the_longest_one_is_shown(void) {
    const mpl_needle list[] = {{text_of("abcdefgh"), text_of("<a>")},
                               {text_of("abcdefghij"), text_of("<b>")},
                               {text_of("ghijklmnop"), text_of("<c>")},
                               {text_of("cdefghij"), text_of("<d>")},
                               {text_of("xyxyxyxy"), text_of("<e>")}};
    shows("", list, 5, "");
    shows("abcdefg", list, 5, "abcdefg");
    shows("<a>", list, 5, "abcdefgh");
    shows("<a>i", list, 5, "abcdefghi");
    shows("<b>", list, 5, "abcdefghij");
    shows("-<b>-<a>-", list, 5, "-abcdefghij-abcdefgh-");
    shows("<a><a>", list, 5, "abcdefghabcdefgh");
    shows("b<d>", list, 5, "bcdefghij");
    /* One that begins in another: nothing of either stays. */
    shows("-<b>-", list, 5, "-abcdefghijklmnop-");
    /* One that overlaps itself is one row of bytes. */
    shows("<e>", list, 5, "xyxyxyxyxyxy");
    shows("<c>\xe2\x80\xa6", list, 5, "ghijklmn\xe2\x80\xa6");
    shows("ghijklm\xe2\x80\xa6", list, 5, "ghijklm\xe2\x80\xa6");
    shows("as it is", NULL, 0, "as it is");
}

/* -- Many ----------------------------------------------------------------------*/

/* The part again and again, and what stands in its place then. */
static void searched(const mpl_needle *list, size_t count, const char *part, const char *shown) {
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_needles needles;
    mpl_buffer out, expected;
    CHECK(mpl_needles_open(&needles, &alloc, list, count));
    mpl_buffer_open(&out, &alloc);
    mpl_buffer_open(&expected, &alloc);
    for (int times = 0; times < 5000; times++) {
        mpl_buffer_add(&out, part, strlen(part));
        mpl_buffer_add(&expected, shown, strlen(shown));
    }
    CHECK(mpl_needles_hide(&needles, &out));
    CHECK(out.length == expected.length && memcmp(out.bytes, expected.bytes, expected.length) == 0);
    mpl_buffer_close(&out);
    mpl_buffer_close(&expected);
    mpl_needles_close(&needles);
}

/* As much text and as many needles as one call may have; the worst beginnings as well. */
static void a_thousand_are_looked_for_at_once(void) {
    static char many[1000][24], alike[4097];
    static mpl_needle list[1000];
    for (int i = 0; i < 1000; i++) {
        snprintf(many[i], sizeof many[i], "s3cret-%08d", i);
        list[i] = (mpl_needle){text_of(many[i]), text_of("<>")};
    }
    memset(alike, 'a', 4095);
    alike[4095] = 'b';
    const mpl_needle long_one = {text_of(alike), text_of("<>")};
    const char *const plain = "the quick brown fox jumps over it. ";
    searched(list, 1, plain, plain);
    searched(list, 1000, plain, plain);
    searched(list, 1000, "s3cret-0000", "s3cret-0000");
    searched(list, 1000, "s3cret-00000007 s3cret-00000999", "<> <>");
    searched(&long_one, 1, "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa");
}

/* -- Memory ------------------------------------------------------------------*/

static void memory_may_fail(void) {
    const mpl_needle list[] = {{text_of("abcdefgh"), text_of("<a>")},
                               {text_of("bcdefghi"), text_of("<b>")}};
    for (size_t n = 1;; n++) {
        counter count;
        moonplan_options options;
        mpl_needles needles;
        mpl_buffer out;
        counter_options(&options, &count);
        mpl_alloc alloc = mpl_alloc_of(&options);
        mpl_buffer_open(&out, &alloc);
        mpl_buffer_add(&out, "-abcdefghi-", 11);
        count.fail_at = count.calls + n;
        bool made = mpl_needles_open(&needles, &alloc, list, 2);
        bool fine = made && mpl_needles_hide(&needles, &out);
        if (made && !fine) CHECK(out.length == 0);
        mpl_buffer_close(&out);
        mpl_needles_close(&needles);
        CHECK(count.used == 0 && !count.wrong);
        if (fine) break;
        CHECK(n < 50);
    }
}

int main(void) {
    RUN(finds_what_a_plain_search_finds);
    RUN(the_longest_one_is_shown);
    RUN(a_thousand_are_looked_for_at_once);
    RUN(memory_may_fail);
    return check_end();
}
