/* Keys and signatures from inside: minisign's files, and what one key is. */
#ifndef MPL_HOST_KEYS_H
#define MPL_HOST_KEYS_H

#include "../core/alloc.h"

#define MPL_KEY_ID 8
/* What the algorithm's two letters are in a key, and in a prehashed signature. */
#define MPL_KEY_ALGORITHM       "Ed"
#define MPL_SIGNATURE_ALGORITHM "ED"

struct moonplan_secret_key {
    mpl_alloc alloc;
    moonplan_public_key half;
    uint8_t bytes[64]; /* seed and public key, as libsodium has them */
};

/* The line that `*text` begins with, without its end (LF or CR LF), which `*text` moves behind;
 * {NULL, 0} when there is none. */
moonplan_text mpl_line(moonplan_text *text);
/* What stands behind the line's prefix; {NULL, 0} when it does not begin with it. */
moonplan_text mpl_line_behind(moonplan_text line, const char *prefix);
/* Exactly `size` bytes, at most 256, in base64 (RFC 4648, section 4), padded and canonical. */
bool mpl_base64_decode(uint8_t *out, size_t size, moonplan_text text);
/* With the NUL that ends it: 4 characters for 3 bytes. */
#define MPL_BASE64_SIZE(size) (((size) + 2) / 3 * 4 + 1)
void mpl_base64_encode(char *out, const uint8_t *bytes, size_t size);

/* A canonical encoding of a point of the large subgroup; every honest key is one. */
bool mpl_key_sound(const uint8_t bytes[32]);

#endif
