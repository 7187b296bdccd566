/* Keccak on vector registers of x86-64: one state, a lane in each of 25 registers, or four states
 * side by side. Compiled for processors that the rest of the program does not ask for; keccak.c
 * says when they are called. */
#include "keccak.h"

#ifdef MPL_KECCAK_X86

#include <immintrin.h>

#include "keccak_round.h"

#define AVX512 __attribute__((target("avx512f,avx512vl")))
#define AVX2   __attribute__((target("avx2")))

/* -- One state -------------------------------------------------------------*/

/* Three-operand logic and a rotation make it 103 operations a round, against 130 with scalar ones,
 * and there are 32 registers: measured on Zen 4, 6.0 cycles a byte. */
#define LANE               __m128i
#define SUM3(a, b, c)      _mm_ternarylogic_epi64(a, b, c, 0x96)
#define SUM(a, b, c, d, e) SUM3(SUM3(a, b, c), d, e)
#define TURN(a, n)         _mm_rol_epi64(a, n)
#define XOR(a, b)          _mm_xor_si128(a, b)
#define CHI(a, b, c)       _mm_ternarylogic_epi64(a, b, c, 0xd2)
#define IOTA(a, n)         _mm_xor_si128(a, word(&mpl_keccak_constants[n]))

#define GET(lane, n) lane = word(lanes + (n))
#define MIX(lane, n) lane = XOR(lane, word(blocks + 8 * (n)))
#define PUT(lane, n) _mm_storel_epi64((__m128i *)(void *)(lanes + (n)), lane)

static inline __m128i word(const void *place) {
    return _mm_loadl_epi64(place);
}

AVX512 void mpl_keccak_absorb_avx512(uint64_t lanes[25], const unsigned char *blocks,
                                     size_t count) {
    MPL_KECCAK_ABSORB(a, e);
}

/* -- Four states -----------------------------------------------------------*/

#undef LANE
#undef SUM
#undef SUM3
#undef TURN
#undef XOR
#undef CHI
#undef IOTA
#undef GET
#undef MIX
#undef PUT

#define LANE         __m256i
#define XOR(a, b)    _mm256_xor_si256(a, b)
#define IOTA(a, n)   XOR(a, _mm256_set1_epi64x((long long)mpl_keccak_constants[n]))
#define GET(lane, n) lane = _mm256_loadu_si256((const __m256i *)(const void *)(lanes + 4 * (n)))
#define PUT(lane, n) _mm256_storeu_si256((__m256i *)(void *)(lanes + 4 * (n)), lane)

static AVX2 inline __m256i words(const unsigned char *place) {
    return _mm256_loadu_si256((const __m256i *)(const void *)place);
}

/* Four words of each block, at `at`, into four lanes: a 4 by 4 transposition. */
#define MIX_FOUR(l0, l1, l2, l3, at)                                                               \
    do {                                                                                           \
        __m256i w0 = words(blocks[0] + (at)), w1 = words(blocks[1] + (at));                        \
        __m256i w2 = words(blocks[2] + (at)), w3 = words(blocks[3] + (at));                        \
        __m256i low01 = _mm256_unpacklo_epi64(w0, w1), high01 = _mm256_unpackhi_epi64(w0, w1);     \
        __m256i low23 = _mm256_unpacklo_epi64(w2, w3), high23 = _mm256_unpackhi_epi64(w2, w3);     \
        (l0) = XOR(l0, _mm256_permute2x128_si256(low01, low23, 0x20));                             \
        (l1) = XOR(l1, _mm256_permute2x128_si256(high01, high23, 0x20));                           \
        (l2) = XOR(l2, _mm256_permute2x128_si256(low01, low23, 0x31));                             \
        (l3) = XOR(l3, _mm256_permute2x128_si256(high01, high23, 0x31));                           \
    } while (0)
#define MIX_LAST(lane, at)                                                                         \
    do {                                                                                           \
        __m128i low = _mm_unpacklo_epi64(word(blocks[0] + (at)), word(blocks[1] + (at)));          \
        __m128i high = _mm_unpacklo_epi64(word(blocks[2] + (at)), word(blocks[3] + (at)));         \
        (lane) = XOR(lane, _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));         \
    } while (0)

#define ABSORB_FOUR                                                                                \
    MPL_KECCAK_LANES(a);                                                                           \
    MPL_KECCAK_LANES(e);                                                                           \
    MPL_KECCAK_BLOCK(a, GET);                                                                      \
    MPL_KECCAK_REST(a, GET);                                                                       \
    MIX_FOUR(a00, a01, a02, a03, 0);                                                               \
    MIX_FOUR(a04, a10, a11, a12, 32);                                                              \
    MIX_FOUR(a13, a14, a20, a21, 64);                                                              \
    MIX_FOUR(a22, a23, a24, a30, 96);                                                              \
    MIX_LAST(a31, 128);                                                                            \
    MPL_KECCAK_PERMUTE(a, e)                                                                       \
    MPL_KECCAK_BLOCK(a, PUT);                                                                      \
    MPL_KECCAK_REST(a, PUT)

#define SUM(a, b, c, d, e) XOR(XOR(XOR(a, b), XOR(c, d)), e)
/* Shifts go through two of the processor's four vector units only. */
#define TURN_SHIFTED(a, n)                                                                         \
    _mm256_or_si256((n) == 1 ? _mm256_add_epi64(a, a) : _mm256_slli_epi64(a, n),                   \
                    _mm256_srli_epi64(a, 64 - (n)))
#define TURN(a, n)                                                                                 \
    ((n) == 8    ? _mm256_shuffle_epi8(a, turn_8())                                                \
     : (n) == 56 ? _mm256_shuffle_epi8(a, turn_56())                                               \
                 : TURN_SHIFTED(a, n))
#define CHI(a, b, c) XOR(a, _mm256_andnot_si256(b, c))

static AVX2 inline __m256i turn_8(void) {
    const __m128i bytes = _mm_setr_epi8(7, 0, 1, 2, 3, 4, 5, 6, 15, 8, 9, 10, 11, 12, 13, 14);
    return _mm256_broadcastsi128_si256(bytes);
}
static AVX2 inline __m256i turn_56(void) {
    const __m128i bytes = _mm_setr_epi8(1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 8);
    return _mm256_broadcastsi128_si256(bytes);
}

AVX2 void mpl_keccak_four_avx2(uint64_t lanes[100], const unsigned char *const blocks[4]) {
    ABSORB_FOUR;
}

#undef SUM
#undef TURN
#undef CHI
#define SUM3(a, b, c)      _mm256_ternarylogic_epi64(a, b, c, 0x96)
#define SUM(a, b, c, d, e) SUM3(SUM3(a, b, c), d, e)
#define TURN(a, n)         _mm256_rol_epi64(a, n)
#define CHI(a, b, c)       _mm256_ternarylogic_epi64(a, b, c, 0xd2)

AVX512 void mpl_keccak_four_avx512(uint64_t lanes[100], const unsigned char *const blocks[4]) {
    ABSORB_FOUR;
}

#else
/* ISO C wants something in every file. */
typedef int mpl_keccak_nothing_here;
#endif
