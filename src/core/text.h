/* Texts and digits: UTF-8, hexadecimal, canonical decimals, and untrusted text made visible. */
#ifndef MPL_CORE_TEXT_H
#define MPL_CORE_TEXT_H

#include <string.h>

#include "../moonplan.h"

#if defined(__GNUC__)
/* With constant texts most of a comparison is done when it is compiled. */
#define MPL_INLINE inline __attribute__((always_inline))
#else
#define MPL_INLINE inline
#endif

static inline moonplan_text mpl_text_of(const char *ended) {
    return (moonplan_text){ended, strlen(ended)};
}

static inline uint64_t mpl_eight(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}
static inline uint32_t mpl_four(const char *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}
/* memcmp for lengths that are known to the compiler, which calls it rather than spell it out for
 * most of those that occur here. */
static MPL_INLINE bool mpl_same(const char *a, const char *b, size_t length) {
    if (length < 4) return memcmp(a, b, length) == 0;
    if (length < 8)
        return ((mpl_four(a) ^ mpl_four(b)) |
                (mpl_four(a + (length - 4)) ^ mpl_four(b + (length - 4)))) == 0;
    uint64_t differ = mpl_eight(a + (length - 8)) ^ mpl_eight(b + (length - 8));
    for (size_t i = 0; i + 8 < length; i += 8) differ |= mpl_eight(a + i) ^ mpl_eight(b + i);
    return differ == 0;
}
/* The literal's length is known to the compiler where it is written out. */
static MPL_INLINE bool mpl_text_is(moonplan_text text, const char *literal) {
    size_t length = strlen(literal);
    return text.bytes && text.length == length && mpl_same(text.bytes, literal, length);
}
static inline bool mpl_text_equal(moonplan_text a, moonplan_text b) {
    return a.length == b.length &&
           (a.length == 0 || (*a.bytes == *b.bytes && memcmp(a.bytes, b.bytes, a.length) == 0));
}
/* Order as bytes; a prefix comes first. */
int mpl_text_order(moonplan_text a, moonplan_text b);

/* Length of the UTF-8 sequence at `at` (RFC 3629: no overlong form, no surrogate, nothing
 * over U+10FFFF), 0 if there is none before `end`. `point` may be NULL. */
size_t mpl_utf8(const char *at, const char *end, uint32_t *point);
size_t mpl_utf8_encode(char out[4], uint32_t point);
/* Code points in valid UTF-8. */
size_t mpl_utf8_count(moonplan_text text);

/* A canonical decimal number: "0", or digits not starting with 0. */
bool mpl_decimal(moonplan_text text);
/* A canonical decimal below 2^256. */
bool mpl_decimal_fits_256(moonplan_text text);

/* In decimal, of 20 bytes at most; the length. */
size_t mpl_number_write(char *out, uint64_t number);
size_t mpl_integer_write(char *out, int64_t integer);

typedef enum mpl_hex { MPL_HEX_NO, MPL_HEX_LOWER, MPL_HEX_MIXED } mpl_hex;
/* 0x and an even number of digits; MIXED when one of them is upper case. */
mpl_hex mpl_hex_scan(moonplan_text text);
void mpl_hex_lower(char *bytes, size_t length);
void mpl_hex_encode(char *out, const uint8_t *bytes, size_t length);
/* Two digits a byte, in either case; they must be digits. */
void mpl_hex_decode(uint8_t *out, const char *digits, size_t length);

/* Characters that do not show, or that change how the text around them looks: controls,
 * bidirectional marks, default-ignorable ones, spaces that are not the space. */
bool mpl_is_hidden(uint32_t point);

/* Write `text` into `out` so that a terminal shows what is there: hidden characters, backslash
 * and double quote as escapes, bytes that are not UTF-8 as \x.., all in double quotes, and no more
 * than about `room` bytes, with "…" where it was cut. Returns the length; `room` >= 16. */
size_t mpl_quote(char *out, size_t room, moonplan_text text);

#endif
