#include "keccak.h"

#include <string.h>

static const uint64_t round_constants[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

static inline uint64_t turn(uint64_t lane, unsigned by) {
    return lane << by | lane >> ((64 - by) & 63);
}

/* One round from the lanes a to the lanes e (FIPS 202, section 3.3, with theta, rho, pi, chi and
 * iota in one go), so that two rounds need no copy. Lanes are named by row and column. */
#define ROW(e, n, b0, b1, b2, b3, b4)                                                              \
    e##n##0 = (b0) ^ (~(b1) & (b2));                                                               \
    e##n##1 = (b1) ^ (~(b2) & (b3));                                                               \
    e##n##2 = (b2) ^ (~(b3) & (b4));                                                               \
    e##n##3 = (b3) ^ (~(b4) & (b0));                                                               \
    e##n##4 = (b4) ^ (~(b0) & (b1))

#define ROUND(a, e, constant)                                                                      \
    do {                                                                                           \
        uint64_t c0 = a##00 ^ a##10 ^ a##20 ^ a##30 ^ a##40;                                       \
        uint64_t c1 = a##01 ^ a##11 ^ a##21 ^ a##31 ^ a##41;                                       \
        uint64_t c2 = a##02 ^ a##12 ^ a##22 ^ a##32 ^ a##42;                                       \
        uint64_t c3 = a##03 ^ a##13 ^ a##23 ^ a##33 ^ a##43;                                       \
        uint64_t c4 = a##04 ^ a##14 ^ a##24 ^ a##34 ^ a##44;                                       \
        uint64_t d0 = c4 ^ turn(c1, 1), d1 = c0 ^ turn(c2, 1), d2 = c1 ^ turn(c3, 1);              \
        uint64_t d3 = c2 ^ turn(c4, 1), d4 = c3 ^ turn(c0, 1);                                     \
        uint64_t b0, b1, b2, b3, b4;                                                               \
        b0 = a##00 ^ d0;                                                                           \
        b1 = turn(a##11 ^ d1, 44);                                                                 \
        b2 = turn(a##22 ^ d2, 43);                                                                 \
        b3 = turn(a##33 ^ d3, 21);                                                                 \
        b4 = turn(a##44 ^ d4, 14);                                                                 \
        ROW(e, 0, b0, b1, b2, b3, b4);                                                             \
        e##00 ^= (constant);                                                                       \
        b0 = turn(a##03 ^ d3, 28);                                                                 \
        b1 = turn(a##14 ^ d4, 20);                                                                 \
        b2 = turn(a##20 ^ d0, 3);                                                                  \
        b3 = turn(a##31 ^ d1, 45);                                                                 \
        b4 = turn(a##42 ^ d2, 61);                                                                 \
        ROW(e, 1, b0, b1, b2, b3, b4);                                                             \
        b0 = turn(a##01 ^ d1, 1);                                                                  \
        b1 = turn(a##12 ^ d2, 6);                                                                  \
        b2 = turn(a##23 ^ d3, 25);                                                                 \
        b3 = turn(a##34 ^ d4, 8);                                                                  \
        b4 = turn(a##40 ^ d0, 18);                                                                 \
        ROW(e, 2, b0, b1, b2, b3, b4);                                                             \
        b0 = turn(a##04 ^ d4, 27);                                                                 \
        b1 = turn(a##10 ^ d0, 36);                                                                 \
        b2 = turn(a##21 ^ d1, 10);                                                                 \
        b3 = turn(a##32 ^ d2, 15);                                                                 \
        b4 = turn(a##43 ^ d3, 56);                                                                 \
        ROW(e, 3, b0, b1, b2, b3, b4);                                                             \
        b0 = turn(a##02 ^ d2, 62);                                                                 \
        b1 = turn(a##13 ^ d3, 55);                                                                 \
        b2 = turn(a##24 ^ d4, 39);                                                                 \
        b3 = turn(a##30 ^ d0, 41);                                                                 \
        b4 = turn(a##41 ^ d1, 2);                                                                  \
        ROW(e, 4, b0, b1, b2, b3, b4);                                                             \
    } while (0)

static void permute(uint64_t lanes[25]) {
    uint64_t a00 = lanes[0], a01 = lanes[1], a02 = lanes[2], a03 = lanes[3], a04 = lanes[4];
    uint64_t a10 = lanes[5], a11 = lanes[6], a12 = lanes[7], a13 = lanes[8], a14 = lanes[9];
    uint64_t a20 = lanes[10], a21 = lanes[11], a22 = lanes[12], a23 = lanes[13], a24 = lanes[14];
    uint64_t a30 = lanes[15], a31 = lanes[16], a32 = lanes[17], a33 = lanes[18], a34 = lanes[19];
    uint64_t a40 = lanes[20], a41 = lanes[21], a42 = lanes[22], a43 = lanes[23], a44 = lanes[24];
    uint64_t e00, e01, e02, e03, e04, e10, e11, e12, e13, e14, e20, e21, e22, e23, e24;
    uint64_t e30, e31, e32, e33, e34, e40, e41, e42, e43, e44;
    for (int round = 0; round < 24; round += 2) {
        ROUND(a, e, round_constants[round]);
        ROUND(e, a, round_constants[round + 1]);
    }
    lanes[0] = a00, lanes[1] = a01, lanes[2] = a02, lanes[3] = a03, lanes[4] = a04;
    lanes[5] = a10, lanes[6] = a11, lanes[7] = a12, lanes[8] = a13, lanes[9] = a14;
    lanes[10] = a20, lanes[11] = a21, lanes[12] = a22, lanes[13] = a23, lanes[14] = a24;
    lanes[15] = a30, lanes[16] = a31, lanes[17] = a32, lanes[18] = a33, lanes[19] = a34;
    lanes[20] = a40, lanes[21] = a41, lanes[22] = a42, lanes[23] = a43, lanes[24] = a44;
}

static uint64_t load(const unsigned char *bytes) {
    uint64_t lane = 0;
    for (int i = 7; i >= 0; i--) lane = lane << 8 | bytes[i];
    return lane;
}

static void absorb(uint64_t lanes[25], const unsigned char *block) {
    for (int i = 0; i < MPL_KECCAK_RATE / 8; i++) lanes[i] ^= load(block + 8 * i);
    permute(lanes);
}

void mpl_keccak_open(mpl_keccak *keccak) {
    memset(keccak, 0, sizeof *keccak);
}

static void mix(mpl_keccak *keccak, const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++, keccak->filled++)
        keccak->lanes[keccak->filled / 8] ^= (uint64_t)bytes[i] << 8 * (keccak->filled % 8);
}

void mpl_keccak_add(mpl_keccak *keccak, const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    if (keccak->filled) {
        size_t room = MPL_KECCAK_RATE - keccak->filled;
        size_t part = length < room ? length : room;
        mix(keccak, at, part);
        at += part;
        length -= part;
        if (keccak->filled < MPL_KECCAK_RATE) return;
        permute(keccak->lanes);
        keccak->filled = 0;
    }
    for (; length >= MPL_KECCAK_RATE; at += MPL_KECCAK_RATE, length -= MPL_KECCAK_RATE)
        absorb(keccak->lanes, at);
    mix(keccak, at, length);
}

void mpl_keccak_finish(mpl_keccak *keccak, uint8_t out[32]) {
    /* The padding of the Keccak submission, 0x01, where SHA3 has 0x06. */
    keccak->lanes[keccak->filled / 8] ^= (uint64_t)0x01 << 8 * (keccak->filled % 8);
    keccak->lanes[MPL_KECCAK_RATE / 8 - 1] ^= (uint64_t)0x80 << 56;
    permute(keccak->lanes);
    for (size_t i = 0; i < 32; i++) out[i] = (uint8_t)(keccak->lanes[i / 8] >> 8 * (i % 8));
}

void moonplan_keccak256(uint8_t out[32], const void *bytes, size_t length) {
    mpl_keccak keccak;
    mpl_keccak_open(&keccak);
    mpl_keccak_add(&keccak, bytes, length);
    mpl_keccak_finish(&keccak, out);
}
