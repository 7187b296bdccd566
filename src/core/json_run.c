/* Reading what is usual, for each kind of processor. */
#include "json_read.h"

#include <string.h>

/* Bytes that are there behind the place where a token is looked at: a quote, 64 bytes to look for
 * the other one in, and what follows that. */
#define AHEAD 68

static inline const char *spaces_end(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
    return at;
}

/* Remember the names of the open objects that are more than `base` deep; `open` is the innermost
 * open container, `next` the end of the nodes. */
static void remember_open(mpl_reader *r, const mpl_node *nodes, const mpl_node *next, size_t open,
                          uint64_t base) {
    const uint64_t depth = r->depth;
    const mpl_node *inner = next;
    for (; r->depth > base; r->depth--) {
        const mpl_node *container = &nodes[open];
        mpl_forget_names(r);
        if (container->type == MOONPLAN_OBJECT) {
            const mpl_node *name = container + 1;
            for (;;) {
                mpl_remember_name(r, r->text + name->start, name->length);
                const mpl_node *value = name + 1;
                if (value >= inner) break;
                name = value + 1 + (mpl_is_container(value) ? value->extra : 0);
                if (name >= inner) break;
            }
        }
        inner = container;
        open = container->length;
    }
    r->depth = depth;
}

/* -- Byte by byte ----------------------------------------------------------*/

#define KIND(name) name##_plain

static inline const char *short_end_plain(const char *begin) {
    for (const char *at = begin + 1; at < begin + 33; at++) {
        if (*at == '"') return at;
        if (*at == '\\' || (unsigned char)(*at - 0x20) >= 0x60) return NULL;
    }
    return NULL;
}

static inline const char *guessed_long_plain(const mpl_node *node, const char *begin,
                                             const char *end) {
    (void)node, (void)begin, (void)end;
    return NULL;
}

static inline const char *guessed_end_plain(const mpl_node *node, const char *text,
                                            const char *begin) {
    (void)node, (void)text, (void)begin;
    return NULL;
}

#define HEAD static bool run_plain(mpl_reader *r, size_t outside, bool ended)
#include "json_run.h"
#undef HEAD
#undef KIND

#ifdef MPL_RUN_X86
#include <immintrin.h>

/* What comes behind a string need not wait for its end to be found when that was guessed, for the
 * processor goes on as if the guess were right. `same_of` gives which of `most` bytes are the same.
 */
#define GUESSED_END(same_of, most, node, text, begin)                                              \
    do {                                                                                           \
        size_t length = (node)->length;                                                            \
        /* One with escapes is not what it looks like. */                                          \
        bool simple = (node)->type == MOONPLAN_STRING && (node)->extra == 0;                       \
        if (!simple || length > (most) || (begin)[length] != ':') return NULL;                     \
        unsigned differ = ~same_of(begin, (text) + (node)->start);                                 \
        return differ << (32 - length) ? NULL : (begin) + length - 1;                              \
    } while (0)

#define GUESSED_LONG(stops_of, node, begin, end)                                                   \
    do {                                                                                           \
        size_t length = (node)->length;                                                            \
        if ((node)->type != MOONPLAN_STRING || length <= 34 || (size_t)((end) - (begin)) < length) \
            return NULL;                                                                           \
        const char *stop = (begin) + length - 1;                                                   \
        if (*stop != '"') return NULL;                                                             \
        unsigned stops = stops_of(stop - 32);                                                      \
        for (const char *at = (begin) + 1; stop - at >= 32; at += 32) stops |= stops_of(at);       \
        return stops ? NULL : stop;                                                                \
    } while (0)

/* -- SSE2 ------------------------------------------------------------------*/

#define KIND(name) name##_sse2

static inline unsigned same_sse2(const char *a, const char *b) {
    __m128i of_a = _mm_loadu_si128((const __m128i *)(const void *)a);
    __m128i of_b = _mm_loadu_si128((const __m128i *)(const void *)b);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(of_a, of_b));
}

static inline const char *short_end_sse2(const char *begin) {
    unsigned stops = mpl_stops_32(begin + 1);
    const char *stop = begin + 1 + (stops ? __builtin_ctz(stops) : 0);
    return *stop == '"' && stops ? stop : NULL;
}

static inline const char *guessed_long_sse2(const mpl_node *node, const char *begin,
                                            const char *end) {
    GUESSED_LONG(mpl_stops_32, node, begin, end);
}

static inline const char *guessed_end_sse2(const mpl_node *node, const char *text,
                                           const char *begin) {
    GUESSED_END(same_sse2, 16, node, text, begin);
}

#define HEAD static bool run_sse2(mpl_reader *r, size_t outside, bool ended)
#include "json_run.h"
#undef HEAD
#undef KIND

/* -- AVX2 ------------------------------------------------------------------*/

#define KIND(name) name##_avx2
#define TARGET     __attribute__((target("avx2,bmi,bmi2")))

static TARGET inline __m256i load_avx2(const char *at) {
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

static TARGET inline unsigned same_avx2(const char *a, const char *b) {
    return (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load_avx2(a), load_avx2(b)));
}

static TARGET inline unsigned stops_avx2(const char *at) {
    __m256i bytes = load_avx2(at);
    __m256i stops = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')),
                                    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')));
    /* As signed numbers: bytes from 0x80 up as well. */
    stops = _mm256_or_si256(stops, _mm256_cmpgt_epi8(_mm256_set1_epi8(' '), bytes));
    return (unsigned)_mm256_movemask_epi8(stops);
}

static TARGET inline const char *short_end_avx2(const char *begin) {
    const char *at = begin + 1;
    unsigned stops = stops_avx2(at);
    if (!stops) {
        at += 32;
        stops = stops_avx2(at);
        if (!stops) return NULL;
    }
    at += __builtin_ctz(stops);
    return *at == '"' ? at : NULL;
}

static TARGET inline const char *guessed_long_avx2(const mpl_node *node, const char *begin,
                                                   const char *end) {
    GUESSED_LONG(stops_avx2, node, begin, end);
}

static TARGET inline const char *guessed_end_avx2(const mpl_node *node, const char *text,
                                                  const char *begin) {
    GUESSED_END(same_avx2, 32, node, text, begin);
}

#define HEAD static TARGET bool run_avx2(mpl_reader *r, size_t outside, bool ended)
#include "json_run.h"
#endif

mpl_json_run *mpl_json_run_of(const mpl_run_kind *kind) {
    switch (kind->which) {
#ifdef MPL_RUN_X86
    case MPL_RUN_AVX2:
        return run_avx2;
    case MPL_RUN_SSE2:
        return run_sse2;
#endif
    default:
        return run_plain;
    }
}
