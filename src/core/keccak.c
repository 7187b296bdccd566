#include "keccak.h"

#include <string.h>

#include "keccak_round.h"

const uint64_t mpl_keccak_constants[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

static inline uint64_t turn(uint64_t lane, unsigned by) {
    return lane << by | lane >> (64 - by);
}

static inline uint64_t load(const unsigned char *bytes) {
    uint64_t lane = 0;
    for (int i = 7; i >= 0; i--) lane = lane << 8 | bytes[i];
    return lane;
}

#define LANE               uint64_t
#define SUM(a, b, c, d, e) ((a) ^ (b) ^ (c) ^ (d) ^ (e))
#define TURN(a, n)         turn(a, n)
#define XOR(a, b)          ((a) ^ (b))
#define CHI(a, b, c)       ((a) ^ (~(b) & (c)))
#define IOTA(a, n)         ((a) ^ mpl_keccak_constants[n])

#define GET(lane, n) lane = lanes[n]
#define MIX(lane, n) lane ^= load(blocks + 8 * (n))
#define PUT(lane, n) lanes[n] = lane

static void absorb_plain(uint64_t lanes[25], const unsigned char *blocks, size_t count) {
    MPL_KECCAK_ABSORB(a, e);
}

#ifdef MPL_KECCAK_X86
/* The same text: `andn` and `rorx` save a sixth of the time (Zen 3 and 4: 6.8 cycles a byte). */
__attribute__((target("bmi,bmi2"))) void
mpl_keccak_absorb_bmi(uint64_t lanes[25], const unsigned char *blocks, size_t count) {
    MPL_KECCAK_ABSORB(a, e);
}
#endif

/* -- Which -----------------------------------------------------------------*/

static const mpl_keccak_kind kinds[] = {
#ifdef MPL_KECCAK_X86
    {"avx512", mpl_keccak_absorb_avx512, mpl_keccak_four_avx512},
    {"avx2", mpl_keccak_absorb_bmi, mpl_keccak_four_avx2},
    {"bmi", mpl_keccak_absorb_bmi, NULL},
#endif
    {"plain", absorb_plain, NULL}};
#define KINDS (sizeof kinds / sizeof *kinds)

static size_t first_kind(void) {
#ifdef MPL_KECCAK_X86
    bool bmi = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (!bmi) return 3;
    if (!__builtin_cpu_supports("avx2")) return 2;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") ? 0 : 1;
#else
    return 0;
#endif
}

const mpl_keccak_kind *mpl_keccak_kind_at(size_t n) {
    size_t first = first_kind();
    return n < KINDS - first ? &kinds[first + n] : NULL;
}

/* -- The sponge ------------------------------------------------------------*/

void mpl_keccak_open_as(mpl_keccak *keccak, const mpl_keccak_kind *kind) {
    memset(keccak->lanes, 0, sizeof keccak->lanes);
    keccak->absorb = kind->absorb;
    keccak->filled = 0;
}

void mpl_keccak_open(mpl_keccak *keccak) {
    mpl_keccak_open_as(keccak, &kinds[first_kind()]);
}

void mpl_keccak_add(mpl_keccak *keccak, const void *bytes, size_t length) {
    if (length == 0) return;
    const unsigned char *at = bytes;
    size_t room = MPL_KECCAK_RATE - keccak->filled;
    if (length < room) {
        memcpy(keccak->block + keccak->filled, at, length);
        keccak->filled += length;
        return;
    }
    if (keccak->filled) {
        memcpy(keccak->block + keccak->filled, at, room);
        keccak->absorb(keccak->lanes, keccak->block, 1);
        at += room;
        length -= room;
    }
    size_t blocks = length / MPL_KECCAK_RATE;
    if (blocks) keccak->absorb(keccak->lanes, at, blocks);
    keccak->filled = length - blocks * MPL_KECCAK_RATE;
    memcpy(keccak->block, at + blocks * MPL_KECCAK_RATE, keccak->filled);
}

void mpl_keccak_pad(unsigned char block[MPL_KECCAK_RATE], size_t filled) {
    memset(block + filled, 0, MPL_KECCAK_RATE - filled);
    /* The padding of the Keccak submission, 0x01, where SHA3 has 0x06. */
    block[filled] = 0x01;
    block[MPL_KECCAK_RATE - 1] |= 0x80;
}

void mpl_keccak_squeeze(uint8_t out[32], const uint64_t *lanes, size_t step) {
    for (size_t i = 0; i < 4; i++) {
        uint64_t lane = lanes[step * i];
        for (size_t j = 0; j < 8; j++) out[8 * i + j] = (uint8_t)(lane >> 8 * j);
    }
}

void mpl_keccak_finish(mpl_keccak *keccak, uint8_t out[32]) {
    mpl_keccak_pad(keccak->block, keccak->filled);
    keccak->absorb(keccak->lanes, keccak->block, 1);
    mpl_keccak_squeeze(out, keccak->lanes, 1);
}

void moonplan_keccak256(uint8_t out[32], const void *bytes, size_t length) {
    mpl_keccak keccak;
    mpl_keccak_open(&keccak);
    mpl_keccak_add(&keccak, bytes, length);
    mpl_keccak_finish(&keccak, out);
}
