/* How far a text goes on in one simple way, many bytes at a time. */
#ifndef MPL_CORE_TEXT_RUN_H
#define MPL_CORE_TEXT_RUN_H

#include "../moonplan.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* The first byte from `at` that is not of the run, or `end`. */
typedef const char *mpl_text_run(const char *at, const char *end);

#if defined(__x86_64__) && defined(__GNUC__)
#define MPL_RUN_X86
#endif

/* One way to look for it; which is the best depends on the processor that runs the program. */
typedef struct mpl_run_kind {
    enum { MPL_RUN_PLAIN, MPL_RUN_SSE2, MPL_RUN_AVX2 } which;
    mpl_text_run *plain; /* what a JSON string goes on with: ASCII but controls, " and \ */
    mpl_text_run *hex;   /* digits and a to f */
} mpl_run_kind;

#if defined(__SSE2__)
/* Of 32 bytes, those that a JSON string cannot simply go on with. */
static inline unsigned mpl_stops_32(const char *at) {
    unsigned stops = 0;
    for (int i = 0; i < 2; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        __m128i found = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                                  _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                                     /* As signed numbers: bytes from 0x80 up as well. */
                                     _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')));
        stops |= (unsigned)_mm_movemask_epi8(found) << 16 * i;
    }
    return stops;
}
#endif

/* The end of a plain run. Most strings are short, so that a look at 32 bytes, without a call or a
 * loop, finds it. */
static inline const char *mpl_plain_end(const char *at, const char *end, mpl_text_run *plain) {
#if defined(__SSE2__)
    if (end - at >= 32) {
        unsigned stops = mpl_stops_32(at);
        if (stops) return at + __builtin_ctz(stops);
        at += 32;
    }
#endif
    return plain(at, end);
}

/* Whether the 40 bytes at `at` are digits and a to f: an address. */
static inline bool mpl_hex_forty(const char *at) {
#if defined(__SSE2__)
    int good = 0xffff;
    for (int i = 0; i < 3; i++) {
        const char *part = at + (i < 2 ? 16 * i : 24);
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)part);
        __m128i digit = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        __m128i letter = _mm_sub_epi8(bytes, _mm_set1_epi8('a'));
        digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
        letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
        good &= _mm_movemask_epi8(_mm_or_si128(digit, letter));
    }
    return good == 0xffff;
#else
    for (int i = 0; i < 40; i++)
        if ((unsigned char)(at[i] - '0') > 9 && (unsigned char)(at[i] - 'a') > 5) return false;
    return true;
#endif
}

/* How many of the 16 bytes at `at` are decimal digits, from the first. */
static inline unsigned mpl_digits_sixteen(const char *at) {
#if defined(__SSE2__)
    __m128i digit = _mm_loadu_si128((const __m128i *)(const void *)at);
    digit = _mm_sub_epi8(digit, _mm_set1_epi8('0'));
    digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
    return (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(digit));
#else
    unsigned count = 0;
    while (count < 16 && (unsigned char)(at[count] - '0') < 10) count++;
    return count;
#endif
}

/* A line of the cache, of which a processor is told that it will be read. */
#define MPL_LINE ((size_t)64)
static inline void mpl_line_soon(const char *place) {
#if defined(__GNUC__)
    __builtin_prefetch(place);
#else
    (void)place;
#endif
}

/* How much of a text is asked for ahead; what stands behind that the processor foresees by itself.
 */
#define MPL_SOON ((size_t)8192)

/* Ask for the first bytes of a text before they are needed: all of a small one at once, where the
 * processor alone would notice the row only after waiting for the first few lines of each page. */
static inline void mpl_text_soon(const char *text, size_t length) {
    if (length > MPL_SOON) length = MPL_SOON;
    for (size_t at = 0; at < length; at += MPL_LINE) mpl_line_soon(text + at);
    if (length > 0) mpl_line_soon(text + length - 1);
}

/* The n-th kind that this processor can run, the best first; NULL behind the last. */
const mpl_run_kind *mpl_run_kind_at(size_t n);

#endif
