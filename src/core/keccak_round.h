/* Keccak-f[1600] over lanes of any width (FIPS 202, section 3.3), as text to be compiled for
 * several processors. Whoever includes this says what a lane is:
 *
 *   LANE               a type
 *   SUM(a, b, c, d, e) exclusive or of five
 *   TURN(a, n)         rotated left by a constant, 0 < n < 64
 *   XOR(a, b)          exclusive or
 *   CHI(a, b, c)       a ^ (~b & c)
 *   IOTA(a, n)         exclusive or with the n-th round constant
 */

#define MPL_KECCAK_ROW(e, n, b0, b1, b2, b3, b4)                                                   \
    e##n##0 = CHI(b0, b1, b2);                                                                     \
    e##n##1 = CHI(b1, b2, b3);                                                                     \
    e##n##2 = CHI(b2, b3, b4);                                                                     \
    e##n##3 = CHI(b3, b4, b0);                                                                     \
    e##n##4 = CHI(b4, b0, b1)

#define MPL_KECCAK_SUM(e, n)                                                                       \
    c0 = XOR(c0, e##n##0);                                                                         \
    c1 = XOR(c1, e##n##1);                                                                         \
    c2 = XOR(c2, e##n##2);                                                                         \
    c3 = XOR(c3, e##n##3);                                                                         \
    c4 = XOR(c4, e##n##4)

/* From the lanes a to the lanes e. c0 to c4 are the sums of the columns of a, then those of e: they
 * are added up while the lanes are at hand (measured: three to four hundredths faster where lanes
 * are in vector registers, the same elsewhere). */
#define MPL_KECCAK_ROUND(a, e, n)                                                                  \
    do {                                                                                           \
        LANE d0 = XOR(c4, TURN(c1, 1));                                                            \
        LANE d1 = XOR(c0, TURN(c2, 1));                                                            \
        LANE d2 = XOR(c1, TURN(c3, 1));                                                            \
        LANE d3 = XOR(c2, TURN(c4, 1));                                                            \
        LANE d4 = XOR(c3, TURN(c0, 1));                                                            \
        LANE b0, b1, b2, b3, b4;                                                                   \
        b0 = XOR(a##00, d0);                                                                       \
        b1 = TURN(XOR(a##11, d1), 44);                                                             \
        b2 = TURN(XOR(a##22, d2), 43);                                                             \
        b3 = TURN(XOR(a##33, d3), 21);                                                             \
        b4 = TURN(XOR(a##44, d4), 14);                                                             \
        MPL_KECCAK_ROW(e, 0, b0, b1, b2, b3, b4);                                                  \
        e##00 = IOTA(e##00, n);                                                                    \
        c0 = e##00;                                                                                \
        c1 = e##01;                                                                                \
        c2 = e##02;                                                                                \
        c3 = e##03;                                                                                \
        c4 = e##04;                                                                                \
        b0 = TURN(XOR(a##03, d3), 28);                                                             \
        b1 = TURN(XOR(a##14, d4), 20);                                                             \
        b2 = TURN(XOR(a##20, d0), 3);                                                              \
        b3 = TURN(XOR(a##31, d1), 45);                                                             \
        b4 = TURN(XOR(a##42, d2), 61);                                                             \
        MPL_KECCAK_ROW(e, 1, b0, b1, b2, b3, b4);                                                  \
        MPL_KECCAK_SUM(e, 1);                                                                      \
        b0 = TURN(XOR(a##01, d1), 1);                                                              \
        b1 = TURN(XOR(a##12, d2), 6);                                                              \
        b2 = TURN(XOR(a##23, d3), 25);                                                             \
        b3 = TURN(XOR(a##34, d4), 8);                                                              \
        b4 = TURN(XOR(a##40, d0), 18);                                                             \
        MPL_KECCAK_ROW(e, 2, b0, b1, b2, b3, b4);                                                  \
        MPL_KECCAK_SUM(e, 2);                                                                      \
        b0 = TURN(XOR(a##04, d4), 27);                                                             \
        b1 = TURN(XOR(a##10, d0), 36);                                                             \
        b2 = TURN(XOR(a##21, d1), 10);                                                             \
        b3 = TURN(XOR(a##32, d2), 15);                                                             \
        b4 = TURN(XOR(a##43, d3), 56);                                                             \
        MPL_KECCAK_ROW(e, 3, b0, b1, b2, b3, b4);                                                  \
        MPL_KECCAK_SUM(e, 3);                                                                      \
        b0 = TURN(XOR(a##02, d2), 62);                                                             \
        b1 = TURN(XOR(a##13, d3), 55);                                                             \
        b2 = TURN(XOR(a##24, d4), 39);                                                             \
        b3 = TURN(XOR(a##30, d0), 41);                                                             \
        b4 = TURN(XOR(a##41, d1), 2);                                                              \
        MPL_KECCAK_ROW(e, 4, b0, b1, b2, b3, b4);                                                  \
        MPL_KECCAK_SUM(e, 4);                                                                      \
    } while (0)

/* Permute the lanes a, with the lanes e for room. */
#define MPL_KECCAK_PERMUTE(a, e)                                                                   \
    LANE c0 = SUM(a##00, a##10, a##20, a##30, a##40);                                              \
    LANE c1 = SUM(a##01, a##11, a##21, a##31, a##41);                                              \
    LANE c2 = SUM(a##02, a##12, a##22, a##32, a##42);                                              \
    LANE c3 = SUM(a##03, a##13, a##23, a##33, a##43);                                              \
    LANE c4 = SUM(a##04, a##14, a##24, a##34, a##44);                                              \
    for (int round_ = 0; round_ < 24; round_ += 2) {                                               \
        MPL_KECCAK_ROUND(a, e, round_);                                                            \
        MPL_KECCAK_ROUND(e, a, round_ + 1);                                                        \
    }

/* All 25 lanes as variables. */
#define MPL_KECCAK_LANES(a)                                                                        \
    LANE a##00, a##01, a##02, a##03, a##04, a##10, a##11, a##12, a##13, a##14, a##20, a##21,       \
        a##22, a##23, a##24, a##30, a##31, a##32, a##33, a##34, a##40, a##41, a##42, a##43, a##44

/* DO(lane, number); for the lanes that a block goes into, and for the others. */
#define MPL_KECCAK_BLOCK(a, DO)                                                                    \
    do {                                                                                           \
        DO(a##00, 0);                                                                              \
        DO(a##01, 1);                                                                              \
        DO(a##02, 2);                                                                              \
        DO(a##03, 3);                                                                              \
        DO(a##04, 4);                                                                              \
        DO(a##10, 5);                                                                              \
        DO(a##11, 6);                                                                              \
        DO(a##12, 7);                                                                              \
        DO(a##13, 8);                                                                              \
        DO(a##14, 9);                                                                              \
        DO(a##20, 10);                                                                             \
        DO(a##21, 11);                                                                             \
        DO(a##22, 12);                                                                             \
        DO(a##23, 13);                                                                             \
        DO(a##24, 14);                                                                             \
        DO(a##30, 15);                                                                             \
        DO(a##31, 16);                                                                             \
    } while (0)
#define MPL_KECCAK_REST(a, DO)                                                                     \
    do {                                                                                           \
        DO(a##32, 17);                                                                             \
        DO(a##33, 18);                                                                             \
        DO(a##34, 19);                                                                             \
        DO(a##40, 20);                                                                             \
        DO(a##41, 21);                                                                             \
        DO(a##42, 22);                                                                             \
        DO(a##43, 23);                                                                             \
        DO(a##44, 24);                                                                             \
    } while (0)

/* A whole absorber of one state: `lanes`, `blocks` and `count` are those of mpl_keccak_absorb, and
 * GET, MIX and PUT move a lane. */
#define MPL_KECCAK_ABSORB(a, e)                                                                    \
    MPL_KECCAK_LANES(a);                                                                           \
    MPL_KECCAK_LANES(e);                                                                           \
    MPL_KECCAK_BLOCK(a, GET);                                                                      \
    MPL_KECCAK_REST(a, GET);                                                                       \
    for (; count > 0; count--, blocks += MPL_KECCAK_RATE) {                                        \
        MPL_KECCAK_BLOCK(a, MIX);                                                                  \
        MPL_KECCAK_PERMUTE(a, e)                                                                   \
    }                                                                                              \
    MPL_KECCAK_BLOCK(a, PUT);                                                                      \
    MPL_KECCAK_REST(a, PUT)
