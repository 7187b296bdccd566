#include "text_run.h"

/* -- Byte by byte ----------------------------------------------------------*/

static const char *plain(const char *at, const char *end) {
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)(*at - 0x20) < 0x60) at++;
    return at;
}

static const char *hex(const char *at, const char *end) {
    while (at < end && ((unsigned char)(*at - '0') < 10 || (unsigned char)(*at - 'a') < 6)) at++;
    return at;
}

#ifdef MPL_RUN_X86
#include <immintrin.h>

/* -- SSE2, which every x86-64 has ------------------------------------------*/

/* Bytes of the run as ones of a mask. */
static inline unsigned plain_16(const char *at) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* Compared as signed numbers, bytes from 0x80 up are below a space too. */
    __m128i stops = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                              _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                                 _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')));
    return ~(unsigned)_mm_movemask_epi8(stops) & 0xffff;
}

static inline unsigned hex_16(const char *at) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i digit = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    __m128i letter = _mm_sub_epi8(bytes, _mm_set1_epi8('a'));
    digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
    letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(digit, letter));
}

#define RUN_SSE2(mask, rest)                                                                       \
    for (; end - at >= 16; at += 16) {                                                             \
        unsigned good = mask(at);                                                                  \
        if (good != 0xffff) return at + __builtin_ctz(~good);                                      \
    }                                                                                              \
    return rest(at, end)

static const char *plain_sse2(const char *at, const char *end) {
    RUN_SSE2(plain_16, plain);
}

static const char *hex_sse2(const char *at, const char *end) {
    RUN_SSE2(hex_16, hex);
}

/* -- AVX2 ------------------------------------------------------------------*/

#define AVX2 __attribute__((target("avx2")))

static AVX2 inline __m256i load(const char *at) {
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

static AVX2 inline __m256i plain_32(const char *at) {
    __m256i bytes = load(at);
    __m256i stops = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')),
                                    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')));
    return _mm256_andnot_si256(stops, _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0x1f)));
}

static AVX2 inline __m256i hex_32(const char *at) {
    __m256i bytes = load(at);
    __m256i digit = _mm256_sub_epi8(bytes, _mm256_set1_epi8('0'));
    __m256i letter = _mm256_sub_epi8(bytes, _mm256_set1_epi8('a'));
    digit = _mm256_cmpeq_epi8(_mm256_min_epu8(digit, _mm256_set1_epi8(9)), digit);
    letter = _mm256_cmpeq_epi8(_mm256_min_epu8(letter, _mm256_set1_epi8(5)), letter);
    return _mm256_or_si256(digit, letter);
}

#define MASK(good, at) ((uint64_t)(uint32_t)_mm256_movemask_epi8(good(at)))
/* One branch that cannot be foreseen a text: where it ends. */
#define RUN_AVX2(good, rest)                                                                       \
    for (; end - at >= 64; at += 64) {                                                             \
        uint64_t mask = MASK(good, at) | MASK(good, at + 32) << 32;                                \
        if (~mask) return at + __builtin_ctzll(~mask);                                             \
    }                                                                                              \
    return rest(at, end)

static AVX2 const char *plain_avx2(const char *at, const char *end) {
    RUN_AVX2(plain_32, plain_sse2);
}

static AVX2 const char *hex_avx2(const char *at, const char *end) {
    RUN_AVX2(hex_32, hex_sse2);
}
#endif

static const mpl_run_kind kinds[] = {
#ifdef MPL_RUN_X86
    {MPL_RUN_AVX2, plain_avx2, hex_avx2},
    {MPL_RUN_SSE2, plain_sse2, hex_sse2},
#endif
    {MPL_RUN_PLAIN, plain, hex}};
#define KINDS (sizeof kinds / sizeof *kinds)

const mpl_run_kind *mpl_run_kind_at(size_t n) {
#ifdef MPL_RUN_X86
    /* Compilers use the others where this is asked for; a virtual machine may leave them out. */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
        n++;
#endif
    return n < KINDS ? &kinds[n] : NULL;
}
