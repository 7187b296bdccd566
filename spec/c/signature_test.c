/* Keys and signatures: minisign's formats, what is refused, and the files.
 *
 * Right answers come from elsewhere: RFC 8032 (the key pair of its section 7.3 and Ed25519 itself),
 * the algebra of the curve (S + L is the same point, a key of small order lets anybody sign), and a
 * key pair and signatures that the minisign 0.11 of Debian made. */
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/host/keys.h"
#include "check.h"

static char base[] = "/tmp/moonplan-keys-XXXXXX";

typedef struct taken {
    char bytes[4096];
    size_t length;
} taken;

static bool take(void *data, const char *bytes, size_t length) {
    taken *t = data;
    if (length > sizeof t->bytes - t->length) return false;
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    return true;
}

static const moonplan_text none = {NULL, 0};

/* -- What the tool made: minisign -G -W, -S -H, -S -l ------------------------*/

static const char tool_file[] = "what is signed\n";
static const char tool_comment[] = "made by minisign 0.11";
static const char tool_name[] = "60F167723039C77B";
static const char tool_public[] = "untrusted comment: minisign public key 60F167723039C77B\n"
                                  "RWR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTi\n";
static const char tool_secret[] =
    "untrusted comment: minisign encrypted secret key\n"
    "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAe8c5MHJn8WBTVYEliD06N8"
    "Ovu68CbyOPMvfL3FnCH6Nok4+TS+"
    "CMTDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTiAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";
static const char tool_signature[] =
    "untrusted comment: signature from minisign secret key\n"
    "RUR7xzkwcmfxYInHS/Dka1O/OEgMUMR7ayw8HJ8Kfzxx3Ztwru/x/"
    "OffLmstoZTxd0OmHvhffV9mv6lfysXFZZxqpYs8c3kKjAA=\n"
    "trusted comment: made by minisign 0.11\n"
    "cTexOGlTtOYAnZ0nsjvArA1eYyL7iS2cOzntOvek9H2SCErFEil4g1SLVQst7Rxv/AasT3w+QS4cdyVuQXCNAA==\n";
static const char tool_legacy[] =
    "untrusted comment: signature from minisign secret key\n"
    "RWR7xzkwcmfxYPMmD+xUe1dbnDZluoJL70/"
    "tVwaqOg3EyVfsvbKsAmbpcwYH8PmImQc8NLBos54ocWd2zIr5aF89uH3E3s4g4Ao=\n"
    "trusted comment: made by minisign 0.11\n"
    "/VzRSQe5pZHxeeQyKsUqHs+SZiUX1TTreXPXdJP0PjQ+aGMCvG9tF9NI6jnyYI9RulJp+NX8T1UpfXMqAkSKCg==\n";
static const char tool_locked_name[] = "BAD6D08E7C6BA0F1";
static const char tool_locked[] =
    "untrusted comment: minisign encrypted secret key\n"
    "RWRTY0IyFtr86A45irHe6D6I+"
    "kKLnYM9ljyfrhHYx81NRitwOjoAAAACAAAAAAAAAEAAAAAAp9r8ajfZYSBqOtcMPk3RX9rRyyxvu8zg9vG3+UY/"
    "7C9uit7pmtQ5FYo1HdykgcJRKuo35bUMRrjN+cxTwQ54Pfy0ZCLJA+XOxJniqRrQyG/"
    "AmQS9zk2kTTSQ+rhCyreYhMD6fHTTjMM=\n";

static moonplan_public_key tool_key(void) {
    moonplan_public_key key;
    moonplan_error err;
    if (!CHECK(moonplan_public_key_parse(&key, tool_public, sizeof tool_public - 1, &err))) exit(1);
    return key;
}

static void reads_the_tools_files(void) {
    moonplan_error err;
    moonplan_public_key key = tool_key(), half;
    char name[MOONPLAN_KEY_NAME_SIZE];
    moonplan_text comment;
    moonplan_key_name(&key, name);
    CHECK(strcmp(name, tool_name) == 0);
    CHECK(moonplan_verify(&key, &comment, tool_file, sizeof tool_file - 1, tool_signature,
                          sizeof tool_signature - 1, &err));
    CHECK_TEXT(tool_comment, comment);
    moonplan_secret_key *secret =
        moonplan_secret_key_parse(tool_secret, sizeof tool_secret - 1, none, NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    moonplan_secret_key_public(secret, &half);
    CHECK(memcmp(&half, &key, sizeof key) == 0);
    moonplan_secret_key_free(secret);
    /* The old kind, over the file itself. */
    CHECK(!moonplan_verify(&key, NULL, tool_file, sizeof tool_file - 1, tool_legacy,
                           sizeof tool_legacy - 1, &err));
    CHECK(err.code == MOONPLAN_SIGNATURE_FORMAT && strstr(err.message, "not prehashed"));
}

static void reads_the_tools_locked_key(void) {
    moonplan_error err;
    /* Takes a GiB, as the tool does; a machine that has not so much gives `memory`. */
    moonplan_secret_key *secret = moonplan_secret_key_parse(tool_locked, sizeof tool_locked - 1,
                                                            text_of("correct horse"), NULL, &err);
    if (!secret && err.code == MOONPLAN_MEMORY) {
        check_skip("no GiB to spare for the tool's scrypt");
        return;
    }
    moonplan_public_key half;
    char name[MOONPLAN_KEY_NAME_SIZE];
    if (!CHECK(secret != NULL) || !secret) return;
    moonplan_secret_key_public(secret, &half);
    moonplan_key_name(&half, name);
    CHECK(strcmp(name, tool_locked_name) == 0);
    moonplan_secret_key_free(secret);
}

/* -- Ours --------------------------------------------------------------------*/

static void round_trip(void) {
    moonplan_error err;
    moonplan_public_key key, again;
    moonplan_text comment;
    taken written = {.length = 0}, public = {.length = 0};
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    moonplan_secret_key_public(secret, &key);
    CHECK(moonplan_public_key_write(&key, take, &public));
    CHECK(moonplan_public_key_parse(&again, public.bytes, public.length, &err));
    CHECK(memcmp(&again, &key, sizeof key) == 0);
    /* The second line alone does, as the tool's -P takes it. */
    const char *second = (const char *)memchr(public.bytes, '\n', public.length) + 1;
    size_t rest = public.length - (size_t)(second - public.bytes);
    CHECK(moonplan_public_key_parse(&again, second, rest - 1, &err));
    CHECK(moonplan_sign(secret, take, &written, "message", 7, text_of("said\twith it"), &err));
    CHECK(moonplan_verify(&key, &comment, "message", 7, written.bytes, written.length, &err));
    CHECK_TEXT("said\twith it", comment);
    CHECK(!moonplan_verify(&key, &comment, "massage", 7, written.bytes, written.length, &err) &&
          err.code == MOONPLAN_SIGNATURE_WRONG);
    /* An empty file, an empty comment. */
    written.length = 0;
    CHECK(moonplan_sign(secret, take, &written, "", 0, text_of(""), &err));
    CHECK(moonplan_verify(&key, &comment, "", 0, written.bytes, written.length, &err));
    CHECK(comment.length == 0);
    moonplan_secret_key_free(secret);
}

static void comments(void) {
    moonplan_error err;
    taken written = {.length = 0};
    char longest[1026];
    memset(longest, 'x', sizeof longest);
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    CHECK(moonplan_sign(secret, take, &written, "", 0, (moonplan_text){longest, 1024}, &err));
    const moonplan_text refused[] = {{longest, 1025}, {"two\nlines", 9}, {"return\r", 7},
                                     {"nul\0", 4},    {"\xff", 1},       {"\xe2\x80\xae", 3}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        written.length = 0;
        CHECK(!moonplan_sign(secret, take, &written, "", 0, refused[i], &err));
        CHECK(err.code == MOONPLAN_SIGNATURE_FORMAT && written.length == 0);
    }
    moonplan_secret_key_free(secret);
}

/* The two base64 lines of a signature, as bytes. */
static void unpack(const taken *written, uint8_t first[74], uint8_t last[64],
                   moonplan_text *comment) {
    moonplan_text text = {written->bytes, written->length};
    mpl_line(&text);
    CHECK(mpl_base64_decode(first, 74, mpl_line(&text)));
    *comment = mpl_line_behind(mpl_line(&text), "trusted comment: ");
    CHECK(mpl_base64_decode(last, 64, mpl_line(&text)));
}

static size_t pack(char out[4096], const uint8_t first[74], moonplan_text comment,
                   const uint8_t last[64]) {
    char a[MPL_BASE64_SIZE(74)], b[MPL_BASE64_SIZE(64)];
    mpl_base64_encode(a, first, 74);
    mpl_base64_encode(b, last, 64);
    return (size_t)snprintf(out, 4096, "untrusted comment: x\n%s\ntrusted comment: %.*s\n%s\n", a,
                            (int)comment.length, comment.bytes, b);
}

static void every_bit_counts(void) {
    static const char message[] = "orders/init.lua 2187";
    moonplan_error err;
    moonplan_public_key key;
    taken written = {.length = 0};
    uint8_t first[74], last[64];
    char text[4096];
    moonplan_text comment;
    size_t accepted = 0, tried = 0;
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    moonplan_secret_key_public(secret, &key);
    CHECK(moonplan_sign(secret, take, &written, message, sizeof message, text_of("v 1"), &err));
    unpack(&written, first, last, &comment);
    size_t length = pack(text, first, comment, last);
    CHECK(moonplan_verify(&key, NULL, message, sizeof message, text, length, &err));
    for (size_t bit = 0; bit < 8 * sizeof first; bit++, tried++) {
        first[bit / 8] ^= (uint8_t)(1u << bit % 8);
        length = pack(text, first, comment, last);
        accepted += moonplan_verify(&key, NULL, message, sizeof message, text, length, &err);
        first[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof last; bit++, tried++) {
        last[bit / 8] ^= (uint8_t)(1u << bit % 8);
        length = pack(text, first, comment, last);
        accepted += moonplan_verify(&key, NULL, message, sizeof message, text, length, &err);
        last[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof key; bit++, tried++) {
        moonplan_public_key other = key;
        ((uint8_t *)&other)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        accepted += moonplan_verify(&other, NULL, message, sizeof message, written.bytes,
                                    written.length, &err);
    }
    for (size_t bit = 0; bit < 8 * sizeof message; bit++, tried++) {
        char other[sizeof message];
        memcpy(other, message, sizeof message);
        other[bit / 8] = (char)(other[bit / 8] ^ (1 << bit % 8));
        accepted +=
            moonplan_verify(&key, NULL, other, sizeof message, written.bytes, written.length, &err);
    }
    /* Of the text as it stands on the disk all but the first line, which nobody signs, and the
     * bits that make a line's end what readers take for the same. */
    size_t from = (size_t)((char *)memchr(written.bytes, '\n', written.length) - written.bytes) + 1;
    for (size_t bit = 8 * from; bit < 8 * (written.length - 1); bit++, tried++) {
        written.bytes[bit / 8] = (char)(written.bytes[bit / 8] ^ (1 << bit % 8));
        accepted += moonplan_verify(&key, NULL, message, sizeof message, written.bytes,
                                    written.length, &err);
        written.bytes[bit / 8] = (char)(written.bytes[bit / 8] ^ (1 << bit % 8));
    }
    CHECK(accepted == 0);
    CHECK(tried > 3000);
    moonplan_secret_key_free(secret);
}

/* L, the order of the base point (RFC 8032, section 5.1), little-endian. */
static const uint8_t order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7,
                                  0xa2, 0xde, 0xf9, 0xde, 0x14, 0,    0,    0,    0,    0,    0,
                                  0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10};

static void add_order(uint8_t s[32]) {
    unsigned carry = 0;
    for (size_t i = 0; i < 32; i++) {
        carry += (unsigned)s[i] + order[i];
        s[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

static void malleable(void) {
    moonplan_error err;
    moonplan_public_key key;
    taken written = {.length = 0};
    uint8_t first[74], last[64], message[64];
    char text[4096];
    moonplan_text comment;
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    moonplan_secret_key_public(secret, &key);
    CHECK(moonplan_sign(secret, take, &written, "m", 1, text_of("c"), &err));
    unpack(&written, first, last, &comment);
    /* The global signature is made anew, by the key itself: only S + L is wrong then. */
    uint8_t whole[65];
    add_order(first + 42);
    memcpy(whole, first + 10, 64);
    whole[64] = 'c';
    crypto_sign_detached(last, NULL, whole, sizeof whole, secret->bytes);
    size_t length = pack(text, first, comment, last);
    CHECK(!moonplan_verify(&key, NULL, "m", 1, text, length, &err) &&
          err.code == MOONPLAN_SIGNATURE_WRONG);
    unpack(&written, first, last, &comment);
    add_order(last + 32);
    length = pack(text, first, comment, last);
    CHECK(!moonplan_verify(&key, NULL, "m", 1, text, length, &err) &&
          err.code == MOONPLAN_SIGNATURE_WRONG);
    moonplan_sign_message(secret, message, "test-1", "m", 1);
    CHECK(moonplan_verify_message(&key, message, "test-1", "m", 1, &err));
    add_order(message + 32);
    CHECK(!moonplan_verify_message(&key, message, "test-1", "m", 1, &err));
    moonplan_secret_key_free(secret);
}

/* The points of small order and their encodings that are not canonical, from the paper "Taming the
 * many EdDSAs" (Chalkias, Garillot, Nikolaenko, 2020), table 1 and appendix; y first,
 * little-endian. */
static const char *const small[] = {
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"};

static void small_order(void) {
    moonplan_error err;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        moonplan_public_key key = {.id = {1}}, read;
        uint8_t signature[64] = {1}; /* R: the neutral point, S: 0 */
        uint8_t first[74] = "ED";
        char text[4096];
        taken written = {.length = 0};
        sodium_hex2bin(key.bytes, 32, small[i], 64, NULL, NULL, NULL);
        moonplan_public_key_write(&key, take, &written);
        CHECK(!moonplan_public_key_parse(&read, written.bytes, written.length, &err) &&
              err.code == MOONPLAN_KEY_FORMAT);
        memcpy(first + 2, key.id, 8);
        memcpy(first + 10, signature, 64);
        /* With such a key R = 1, S = 0 is right for one message in a few, in a careless verifier.
         */
        for (unsigned m = 0; m < 64; m++) {
            size_t length = pack(text, first, text_of(""), signature);
            CHECK(!moonplan_verify(&key, NULL, &m, sizeof m, text, length, &err) &&
                  err.code == MOONPLAN_KEY_FORMAT);
            CHECK(!moonplan_verify_message(&key, signature, "test-1", &m, sizeof m, &err) &&
                  err.code == MOONPLAN_KEY_FORMAT);
        }
    }
}

static void other_keys(void) {
    moonplan_error err;
    moonplan_public_key key, other;
    taken written = {.length = 0};
    uint8_t id[8];
    moonplan_secret_key *one = moonplan_secret_key_new(NULL, &err);
    moonplan_secret_key *two = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(one && two)) return;
    moonplan_secret_key_public(one, &key);
    moonplan_secret_key_public(two, &other);
    CHECK(moonplan_sign(one, take, &written, "m", 1, text_of("c"), &err));
    CHECK(moonplan_signature_key(id, written.bytes, written.length, &err));
    CHECK(memcmp(id, key.id, sizeof id) == 0);
    CHECK(!moonplan_verify(&other, NULL, "m", 1, written.bytes, written.length, &err) &&
          err.code == MOONPLAN_SIGNATURE_KEY);
    /* An id is only a name: another key under the same one. */
    memcpy(other.id, key.id, sizeof other.id);
    CHECK(!moonplan_verify(&other, NULL, "m", 1, written.bytes, written.length, &err) &&
          err.code == MOONPLAN_SIGNATURE_WRONG);
    moonplan_secret_key_free(one);
    moonplan_secret_key_free(two);
}

/* -- Messages ----------------------------------------------------------------*/

/* The key pair of RFC 8032, section 7.1, test 3; the equations of Ed25519ph, section 5.1.6, are
 * computed here by libsodium's scalars, with dom2(1, ""). */
static void message_is_ed25519ph(void) {
    static const char seed_hex[] =
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7";
    static const char public_hex[] =
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
    static const char dom2[] = "SigEd25519 no Ed25519 collisions\1";
    moonplan_secret_key secret;
    moonplan_public_key key;
    uint8_t seed[32], expected[32], signature[64], h[64], k[64], r[64], a[64];
    crypto_hash_sha512_state state;
    memset(&secret, 0, sizeof secret);
    sodium_hex2bin(seed, sizeof seed, seed_hex, 64, NULL, NULL, NULL);
    sodium_hex2bin(expected, sizeof expected, public_hex, 64, NULL, NULL, NULL);
    crypto_sign_seed_keypair(secret.half.bytes, secret.bytes, seed);
    CHECK(memcmp(secret.half.bytes, expected, 32) == 0);
    moonplan_sign_message(&secret, signature, "test-1", "abc", 3);
    /* 5.1.6: r = SHA512(dom2 | prefix | PH(M)), k = SHA512(dom2 | R | A | PH(M)), S = r + k s. */
    crypto_hash_sha512(h, (const unsigned char *)"test-1\0abc", 10);
    crypto_hash_sha512(a, seed, sizeof seed);
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, (const unsigned char *)dom2, sizeof dom2);
    crypto_hash_sha512_update(&state, a + 32, 32);
    crypto_hash_sha512_update(&state, h, sizeof h);
    crypto_hash_sha512_final(&state, r);
    uint8_t scalar[32], point[32], challenge[32], s[32], product[32];
    crypto_core_ed25519_scalar_reduce(scalar, r);
    CHECK(crypto_scalarmult_ed25519_base_noclamp(point, scalar) == 0);
    CHECK(memcmp(point, signature, 32) == 0);
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, (const unsigned char *)dom2, sizeof dom2);
    crypto_hash_sha512_update(&state, point, 32);
    crypto_hash_sha512_update(&state, expected, 32);
    crypto_hash_sha512_update(&state, h, sizeof h);
    crypto_hash_sha512_final(&state, k);
    crypto_core_ed25519_scalar_reduce(challenge, k);
    a[0] &= 248;
    a[31] &= 127;
    a[31] |= 64;
    crypto_core_ed25519_scalar_mul(product, challenge, a);
    crypto_core_ed25519_scalar_add(s, scalar, product);
    CHECK(memcmp(s, signature + 32, 32) == 0);
    moonplan_secret_key_public(&secret, &key);
    moonplan_error err;
    CHECK(moonplan_verify_message(&key, signature, "test-1", "abc", 3, &err));
    CHECK(!moonplan_verify_message(&key, signature, "test-2", "abc", 3, &err) &&
          err.code == MOONPLAN_SIGNATURE_WRONG);
    CHECK(!moonplan_verify_message(&key, signature, "test-1", "abd", 3, &err));
    for (size_t bit = 0; bit < 512; bit++) {
        signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(!moonplan_verify_message(&key, signature, "test-1", "abc", 3, &err));
        signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* A signature of a file whose content is context, NUL and message is none of the message. */
static void purposes_stay_apart(void) {
    moonplan_error err;
    moonplan_public_key key;
    taken written = {.length = 0};
    uint8_t first[74], last[64];
    moonplan_text comment;
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    moonplan_secret_key_public(secret, &key);
    CHECK(moonplan_sign(secret, take, &written, "test-1\0yes", 10, text_of(""), &err));
    unpack(&written, first, last, &comment);
    CHECK(!moonplan_verify_message(&key, first + 10, "test-1", "yes", 3, &err));
    crypto_sign_detached(last, NULL, (const unsigned char *)"test-1\0yes", 10, secret->bytes);
    CHECK(!moonplan_verify_message(&key, last, "test-1", "yes", 3, &err));
    moonplan_secret_key_free(secret);
}

/* -- Forms -------------------------------------------------------------------*/

static void public_forms(void) {
    moonplan_error err;
    moonplan_public_key key;
    static const char coded[] = "RWR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTi";
    char text[256];
    int length = snprintf(text, sizeof text, "untrusted comment: any\r\n%s\r\n", coded);
    CHECK(moonplan_public_key_parse(&key, text, (size_t)length, &err));
    static const char *const refused[] = {
        "", "\n", "untrusted comment: x\n", "untrusted comment: x\n\n",
        "RWR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQT",
        "RWR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTi=",
        "RWR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTi ",
        "RWR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQT_",
        "RWR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTi\nmore",
        "comment: x\nRWR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTi\n",
        /* "ED", and "Es" for another algorithm */
        "RUR7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTi",
        "RXN7xzkwcmfxYDBcgJVzfGebCWdDXqoh8aGcq6XrPXUzRMNkfCkjTQTi"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (!CHECK(!moonplan_public_key_parse(&key, refused[i], strlen(refused[i]), &err) &&
                   err.code == MOONPLAN_KEY_FORMAT))
            printf("# %s\n", refused[i]);
}

static void secret_forms(void) {
    moonplan_error err;
    uint8_t bytes[158];
    char line[MPL_BASE64_SIZE(158)];
    moonplan_text text = {tool_secret, sizeof tool_secret - 1};
    mpl_line(&text);
    if (!CHECK(mpl_base64_decode(bytes, sizeof bytes, mpl_line(&text)))) return;
    /* Every bit: the algorithms, the halves, and the check, which is zeros here. Salt and costs of
     * a key without a password say nothing. The id is a name; it is covered where there is a check.
     */
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        size_t at = bit / 8;
        if (at >= 6 && at < 62) continue;
        bytes[at] ^= (uint8_t)(1u << bit % 8);
        mpl_base64_encode(line, bytes, sizeof bytes);
        moonplan_secret_key *key = moonplan_secret_key_parse(line, strlen(line), none, NULL, &err);
        if (!CHECK(key == NULL)) moonplan_secret_key_free(key);
        CHECK(err.code == MOONPLAN_KEY_FORMAT || err.code == MOONPLAN_KEY_PASSWORD);
        bytes[at] ^= (uint8_t)(1u << bit % 8);
    }
    /* No key asks for more than the tool's own scrypt does. */
    memcpy(bytes + 2, "Sc", 2);
    memset(bytes + 38, 0xff, 16);
    mpl_base64_encode(line, bytes, sizeof bytes);
    CHECK(!moonplan_secret_key_parse(line, strlen(line), text_of("x"), NULL, &err) &&
          err.code == MOONPLAN_KEY_FORMAT);
    memset(bytes + 38, 0, 16);
    mpl_base64_encode(line, bytes, sizeof bytes);
    moonplan_secret_key *key =
        moonplan_secret_key_parse(line, strlen(line), text_of("x"), NULL, &err);
    CHECK(key == NULL && err.code != MOONPLAN_OK);
    CHECK(!moonplan_secret_key_parse(line, strlen(line), none, NULL, &err) &&
          err.code == MOONPLAN_KEY_PASSWORD);
}

/* -- Files -------------------------------------------------------------------*/

static void path_of(char out[256], const char *name) {
    snprintf(out, 256, "%s/%s", base, name);
}

static moonplan_code load_code(const char *name, moonplan_text password) {
    moonplan_error err;
    char path[256];
    path_of(path, name);
    moonplan_secret_key *key = moonplan_secret_key_load(path, strlen(path), password, NULL, &err);
    moonplan_secret_key_free(key);
    return key ? MOONPLAN_OK : err.code;
}

static void files(void) {
    moonplan_error err;
    moonplan_public_key key, half;
    char stem[256], path[256], other[256];
    struct stat found;
    path_of(stem, "alice");
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    mode_t mask = umask(0); /* the mode does not depend on it */
    CHECK(moonplan_secret_key_save(secret, stem, strlen(stem), none, &err));
    umask(mask);
    path_of(path, "alice.key");
    CHECK(stat(path, &found) == 0 && (found.st_mode & 07777) == 0600);
    CHECK(load_code("alice.key", none) == MOONPLAN_OK);
    path_of(path, "alice.pub");
    CHECK(moonplan_public_key_load(&key, path, strlen(path), &err));
    moonplan_secret_key_public(secret, &half);
    CHECK(memcmp(&key, &half, sizeof key) == 0);
    /* Nothing is overwritten: neither of the two. */
    CHECK(!moonplan_secret_key_save(secret, stem, strlen(stem), none, &err) &&
          err.code == MOONPLAN_FILE_UNAVAILABLE);
    path_of(path, "alice.key");
    unlink(path);
    CHECK(!moonplan_secret_key_save(secret, stem, strlen(stem), none, &err));
    CHECK(access(path, F_OK) != 0);
    /* A link in the place of a file, which leads nowhere: it is not written through. */
    path_of(stem, "bob");
    path_of(path, "bob.key");
    path_of(other, "elsewhere");
    CHECK(symlink(other, path) == 0);
    CHECK(!moonplan_secret_key_save(secret, stem, strlen(stem), none, &err));
    CHECK(access(other, F_OK) != 0);
    path_of(other, "bob.pub");
    CHECK(access(other, F_OK) != 0);
    /* Reading: open to others, a link, a folder, a FIFO, too long, not there, a NUL. */
    path_of(stem, "carol");
    path_of(path, "carol.key");
    CHECK(moonplan_secret_key_save(secret, stem, strlen(stem), none, &err));
    const mode_t modes[] = {0604, 0640, 0620, 0602, 0610};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CHECK(chmod(path, modes[i]) == 0);
        CHECK(load_code("carol.key", none) == MOONPLAN_FILE_UNAVAILABLE);
    }
    CHECK(chmod(path, 0400) == 0 && load_code("carol.key", none) == MOONPLAN_OK);
    path_of(other, "link.key");
    CHECK(symlink(path, other) == 0 && load_code("link.key", none) == MOONPLAN_FILE_UNAVAILABLE);
    path_of(other, "fifo.key");
    CHECK(mkfifo(other, 0600) == 0 && load_code("fifo.key", none) == MOONPLAN_FILE_UNAVAILABLE);
    CHECK(load_code("", none) == MOONPLAN_FILE_UNAVAILABLE);
    CHECK(load_code("nobody.key", none) == MOONPLAN_FILE_UNAVAILABLE);
    path_of(other, "long.key");
    int file = open(other, O_WRONLY | O_CREAT, 0600);
    char block[4096] = {0};
    CHECK(write(file, block, sizeof block) == sizeof block);
    close(file);
    CHECK(load_code("long.key", none) == MOONPLAN_FILE_UNAVAILABLE);
    CHECK(!moonplan_public_key_load(&key, "a\0b", 3, &err) && err.code == MOONPLAN_FILE_PATH);
    moonplan_secret_key_free(secret);
}

static bool public_loads(const char *name, moonplan_error *err) {
    moonplan_public_key key;
    char path[256];
    path_of(path, name);
    return moonplan_public_key_load(&key, path, strlen(path), err);
}

/* Whoever can change a key, or what its path leads to, says whose signatures count. */
static void others_have_no_say(void) {
    moonplan_error err;
    char stem[256], path[256], folder[256], target[256];
    path_of(folder, "held");
    path_of(stem, "held/dora");
    path_of(target, "held/dora.pub");
    CHECK(mkdir(folder, 0755) == 0);
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    CHECK(moonplan_secret_key_save(secret, stem, strlen(stem), none, &err));
    moonplan_secret_key_free(secret);
    path_of(path, "way");
    CHECK(symlink("held", path) == 0);
    path_of(path, "dora.pub");
    CHECK(symlink("held/dora.pub", path) == 0);
    CHECK(public_loads("held/dora.pub", &err) && public_loads("dora.pub", &err) &&
          public_loads("way/dora.pub", &err) && load_code("way/dora.key", none) == MOONPLAN_OK);
    CHECK(chmod(target, 0646) == 0);
    CHECK(!public_loads("held/dora.pub", &err) && err.code == MOONPLAN_FILE_UNAVAILABLE &&
          strstr(err.message, "others could change"));
    CHECK(!public_loads("dora.pub", &err));
    CHECK(chmod(target, 0644) == 0 && chmod(folder, 0757) == 0);
    CHECK(!public_loads("held/dora.pub", &err) && !public_loads("dora.pub", &err));
    CHECK(load_code("held/dora.key", none) == MOONPLAN_FILE_UNAVAILABLE);
    /* By the sticky bit each file is its owner's alone. */
    CHECK(chmod(folder, 01777) == 0 && public_loads("held/dora.pub", &err) &&
          load_code("held/dora.key", none) == MOONPLAN_OK);
    CHECK(chmod(folder, 0755) == 0);
    if (geteuid() != 0) return;
    /* Another one's key is theirs to change; a link of theirs to root's is not. */
    CHECK(chown(target, 12345, 12345) == 0 && public_loads("held/dora.pub", &err));
    CHECK(chown(target, 0, 12345) == 0 && chmod(target, 0664) == 0);
    CHECK(!public_loads("held/dora.pub", &err));
    CHECK(chmod(target, 0644) == 0 && public_loads("dora.pub", &err));
    path_of(path, "dora.pub");
    CHECK(lchown(path, 12345, 12345) == 0 && !public_loads("dora.pub", &err));
    path_of(path, "way");
    CHECK(lchown(path, 12345, 12345) == 0 && !public_loads("way/dora.pub", &err) &&
          load_code("way/dora.key", none) == MOONPLAN_FILE_UNAVAILABLE);
}

/* What stops the writing is said, and nothing half-made stays. */
static void no_room(void) {
    moonplan_error err;
    char stem[256], path[256];
    struct rlimit before, none_at_all;
    path_of(stem, "eve");
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    none_at_all = (struct rlimit){16, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &none_at_all) == 0);
    bool saved = moonplan_secret_key_save(secret, stem, strlen(stem), none, &err);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    signal(SIGXFSZ, handler);
    CHECK(!saved && err.code == MOONPLAN_FILE_UNAVAILABLE && strstr(err.message, "ulimit -f"));
    path_of(path, "eve.key");
    CHECK(access(path, F_OK) != 0);
    path_of(path, "eve.pub");
    CHECK(access(path, F_OK) != 0);
    moonplan_secret_key_free(secret);
}

static void passwords(void) {
    moonplan_error err;
    char stem[256], path[256];
    path_of(stem, "locked");
    path_of(path, "locked.key");
    moonplan_secret_key *secret = moonplan_secret_key_new(NULL, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    moonplan_text password = text_of("pass\xc3\xa9 word");
    CHECK(moonplan_secret_key_save(secret, stem, strlen(stem), password, &err));
    CHECK(load_code("locked.key", password) == MOONPLAN_OK);
    CHECK(load_code("locked.key", text_of("another")) == MOONPLAN_KEY_PASSWORD);
    CHECK(load_code("locked.key", none) == MOONPLAN_KEY_PASSWORD);
    /* Neither the secret nor the password stands in the file or in what is said about it. */
    CHECK(!moonplan_secret_key_load(path, strlen(path), text_of("s3cr3t"), NULL, &err));
    CHECK(strstr(err.message, "s3cr3t") == NULL);
    moonplan_secret_key_free(secret);
}

/* -- Memory ------------------------------------------------------------------*/

/* Keeps what it is given back, to look at. */
typedef struct keeper {
    uint8_t kept[sizeof(moonplan_secret_key)];
    size_t size;
} keeper;

static void *keeping_alloc(void *data, void *block, size_t old_size, size_t new_size) {
    keeper *k = data;
    if (new_size > 0) return realloc(block, new_size);
    if (block && old_size == sizeof k->kept) {
        memcpy(k->kept, block, old_size);
        k->size = old_size;
    }
    free(block);
    return NULL;
}

static void secrets_are_wiped(void) {
    moonplan_error err;
    moonplan_options options;
    keeper k = {.size = 0};
    moonplan_options_init(&options);
    options.alloc = keeping_alloc;
    options.alloc_data = &k;
    moonplan_secret_key *secret = moonplan_secret_key_new(&options, &err);
    if (!CHECK(secret != NULL) || !secret) return;
    moonplan_secret_key_free(secret);
    CHECK(k.size == sizeof k.kept && sodium_is_zero(k.kept, k.size));
    /* A key that turns out to be damaged has been in memory all the same. */
    uint8_t bytes[158];
    char line[MPL_BASE64_SIZE(158)];
    moonplan_text text = {tool_secret, sizeof tool_secret - 1};
    mpl_line(&text);
    CHECK(mpl_base64_decode(bytes, sizeof bytes, mpl_line(&text)));
    bytes[100] ^= 1;
    mpl_base64_encode(line, bytes, sizeof bytes);
    k.size = 0;
    CHECK(!moonplan_secret_key_parse(line, strlen(line), none, &options, &err));
    CHECK(k.size == sizeof k.kept && sodium_is_zero(k.kept, k.size));
}

static void failing_allocations(void) {
    moonplan_error err;
    moonplan_options options;
    counter count;
    counter_options(&options, &count);
    count.fail_at = 1;
    CHECK(!moonplan_secret_key_new(&options, &err) && err.code == MOONPLAN_MEMORY);
    counter_options(&options, &count);
    count.fail_at = 1;
    CHECK(!moonplan_secret_key_parse(tool_secret, sizeof tool_secret - 1, none, &options, &err) &&
          err.code == MOONPLAN_MEMORY);
    counter_options(&options, &count);
    moonplan_secret_key *key =
        moonplan_secret_key_parse(tool_secret, sizeof tool_secret - 1, none, &options, &err);
    CHECK(key != NULL && count.calls == 1);
    moonplan_secret_key_free(key);
    CHECK(count.used == 0 && !count.wrong);
    moonplan_secret_key_free(NULL);
}

/* Any text at all: an answer, and no crash. Bytes from a fixed generator. */
static void any_text(void) {
    moonplan_error err;
    moonplan_public_key key;
    uint32_t seed = 1;
    char text[sizeof tool_signature];
    for (unsigned round = 0; round < 20000; round++) {
        memcpy(text, tool_signature, sizeof text);
        size_t length = sizeof text - 1;
        for (unsigned change = 0; change <= round % 4; change++) {
            seed = seed * 1664525 + 1013904223;
            size_t at = (seed >> 8) % length;
            if (seed >> 30 == 0) length = at + 1;
            text[at] = (char)(seed >> 16);
        }
        moonplan_public_key by = tool_key();
        if (moonplan_verify(&by, NULL, tool_file, sizeof tool_file - 1, text, length, &err))
            /* Only what nobody signs may differ: the first line, and ends of lines. */
            CHECK(memcmp((char *)memchr(text, '\n', length) + 1, strchr(tool_signature, '\n') + 1,
                         100) == 0);
        moonplan_public_key_parse(&key, text, length, &err);
        moonplan_secret_key *secret = moonplan_secret_key_parse(text, length, none, NULL, &err);
        CHECK(secret == NULL);
    }
}

static void clear(void) {
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", base);
    CHECK(system(command) == 0);
}

int main(void) {
    if (!CHECK(mkdtemp(base) != NULL) || !CHECK(sodium_init() >= 0)) return 1;
    RUN(reads_the_tools_files);
    RUN(reads_the_tools_locked_key);
    RUN(round_trip);
    RUN(comments);
    RUN(every_bit_counts);
    RUN(malleable);
    RUN(small_order);
    RUN(other_keys);
    RUN(message_is_ed25519ph);
    RUN(purposes_stay_apart);
    RUN(public_forms);
    RUN(secret_forms);
    RUN(files);
    RUN(others_have_no_say);
    RUN(no_room);
    RUN(passwords);
    RUN(secrets_are_wiped);
    RUN(failing_allocations);
    RUN(any_text);
    clear();
    return check_end();
}
