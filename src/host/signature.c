/* Signatures: minisign's prehashed ones of files, and bare ones of short messages.
 *
 *   untrusted comment: anything
 *   base64("ED" | key id 8 | Ed25519 over the file's BLAKE2b-512)
 *   trusted comment: one line
 *   base64(Ed25519 over that signature and the trusted comment)            */
#include <sodium.h>
#include <string.h>

#include "../core/error.h"
#include "../core/text.h"
#include "keys.h"

#define UNTRUSTED "untrusted comment: "
#define TRUSTED   "trusted comment: "
/* What we write, and what the tool reads at most. */
#define COMMENT_MOST 1024
#define COMMENT_READ 8192

enum {
    AT_KEY = 2,
    AT_SIGNATURE = AT_KEY + MPL_KEY_ID,
    SIGNED_SIZE = AT_SIGNATURE + MOONPLAN_SIGNATURE_SIZE
};

static bool refuse(moonplan_error *err, moonplan_code code, const char *why) {
    mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, "%s", why);
    return false;
}

/* -- Signing -----------------------------------------------------------------*/

static void prehash(uint8_t out[crypto_generichash_blake2b_BYTES_MAX], const void *bytes,
                    size_t length) {
    crypto_generichash_blake2b(out, crypto_generichash_blake2b_BYTES_MAX, bytes, length, NULL, 0);
}

/* One line that a terminal shows as it is; tabs are the tool's own manner. */
static bool comment_sound(moonplan_text comment) {
    const char *at = comment.bytes, *end = at + comment.length;
    if (comment.length > COMMENT_MOST) return false;
    while (at < end) {
        uint32_t point;
        size_t length = mpl_utf8(at, end, &point);
        if (length == 0 || (point != '\t' && mpl_is_hidden(point))) return false;
        at += length;
    }
    return true;
}

bool moonplan_sign(const moonplan_secret_key *key, moonplan_sink sink, void *sink_data,
                   const void *bytes, size_t length, moonplan_text comment, moonplan_error *err) {
    uint8_t made[SIGNED_SIZE] = MPL_SIGNATURE_ALGORITHM, whole[MOONPLAN_SIGNATURE_SIZE];
    uint8_t hash[crypto_generichash_blake2b_BYTES_MAX];
    uint8_t message[MOONPLAN_SIGNATURE_SIZE + COMMENT_MOST];
    char name[MOONPLAN_KEY_NAME_SIZE];
    char first[MPL_BASE64_SIZE(SIGNED_SIZE)], last[MPL_BASE64_SIZE(MOONPLAN_SIGNATURE_SIZE)];
    char text[256 + sizeof first + sizeof last + COMMENT_MOST];
    if (!comment_sound(comment))
        return refuse(err, MOONPLAN_SIGNATURE_FORMAT,
                      "a trusted comment is one line of at most 1024 bytes, all of it visible");
    prehash(hash, bytes, length);
    memcpy(made + AT_KEY, key->half.id, MPL_KEY_ID);
    crypto_sign_detached(made + AT_SIGNATURE, NULL, hash, sizeof hash, key->bytes);
    memcpy(message, made + AT_SIGNATURE, MOONPLAN_SIGNATURE_SIZE);
    if (comment.length) memcpy(message + MOONPLAN_SIGNATURE_SIZE, comment.bytes, comment.length);
    crypto_sign_detached(whole, NULL, message, MOONPLAN_SIGNATURE_SIZE + comment.length,
                         key->bytes);
    moonplan_key_name(&key->half, name);
    mpl_base64_encode(first, made, sizeof made);
    mpl_base64_encode(last, whole, sizeof whole);
    const moonplan_text pieces[] = {MOONPLAN_TEXT(UNTRUSTED "signature by the minisign key "),
                                    {name, sizeof name - 1},
                                    MOONPLAN_TEXT("\n"),
                                    {first, sizeof first - 1},
                                    MOONPLAN_TEXT("\n" TRUSTED),
                                    comment,
                                    MOONPLAN_TEXT("\n"),
                                    {last, sizeof last - 1},
                                    MOONPLAN_TEXT("\n")};
    size_t size = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        if (pieces[i].length) memcpy(text + size, pieces[i].bytes, pieces[i].length);
        size += pieces[i].length;
    }
    if (sink(sink_data, text, size)) return true;
    mpl_error_memory(err);
    return false;
}

/* -- Verifying ---------------------------------------------------------------*/

typedef struct parts {
    uint8_t made[SIGNED_SIZE], whole[MOONPLAN_SIGNATURE_SIZE];
    moonplan_text comment;
} parts;

static bool read_parts(parts *out, const char *bytes, size_t length, moonplan_error *err) {
    moonplan_text text = {bytes, length};
    moonplan_text first = mpl_line(&text), second = mpl_line(&text), third = mpl_line(&text),
                  fourth = mpl_line(&text);
    out->comment = mpl_line_behind(third, TRUSTED);
    if (!mpl_line_behind(first, UNTRUSTED).bytes || !out->comment.bytes || text.length > 0 ||
        !mpl_base64_decode(out->made, sizeof out->made, second) ||
        !mpl_base64_decode(out->whole, sizeof out->whole, fourth))
        return refuse(err, MOONPLAN_SIGNATURE_FORMAT,
                      "this is no signature of minisign's: two comments, a signature behind each");
    if (memcmp(out->made, MPL_KEY_ALGORITHM, 2) == 0)
        return refuse(
            err, MOONPLAN_SIGNATURE_FORMAT,
            "the signature is of the old kind, not prehashed; minisign -S -H makes others");
    if (memcmp(out->made, MPL_SIGNATURE_ALGORITHM, 2) != 0)
        return refuse(err, MOONPLAN_SIGNATURE_FORMAT,
                      "the signature is of another algorithm than prehashed Ed25519");
    if (out->comment.length > COMMENT_READ)
        return refuse(err, MOONPLAN_SIGNATURE_FORMAT,
                      "the trusted comment is longer than 8192 bytes");
    return true;
}

bool moonplan_signature_key(uint8_t id[8], const char *signature, size_t signature_length,
                            moonplan_error *err) {
    parts found;
    if (!read_parts(&found, signature, signature_length, err)) return false;
    memcpy(id, found.made + AT_KEY, MPL_KEY_ID);
    return true;
}

/* libsodium refuses keys and R of small order, encodings that are not canonical, and S from L on.
 * After a refusal: whose fault is it? */
static bool refuse_wrong(const moonplan_public_key *key, const char *why, moonplan_error *err) {
    if (!mpl_key_sound(key->bytes))
        return refuse(err, MOONPLAN_KEY_FORMAT,
                      "the key is of small order or no point of the curve: anybody could sign");
    return refuse(err, MOONPLAN_SIGNATURE_WRONG, why);
}

bool moonplan_verify(const moonplan_public_key *key, moonplan_text *comment, const void *bytes,
                     size_t length, const char *signature, size_t signature_length,
                     moonplan_error *err) {
    parts found;
    uint8_t hash[crypto_generichash_blake2b_BYTES_MAX];
    uint8_t message[MOONPLAN_SIGNATURE_SIZE + COMMENT_READ];
    if (!read_parts(&found, signature, signature_length, err)) return false;
    if (memcmp(found.made + AT_KEY, key->id, MPL_KEY_ID) != 0) {
        moonplan_public_key other = {.bytes = {0}};
        char made[MOONPLAN_KEY_NAME_SIZE], given[MOONPLAN_KEY_NAME_SIZE];
        memcpy(other.id, found.made + AT_KEY, MPL_KEY_ID);
        moonplan_key_name(&other, made);
        moonplan_key_name(key, given);
        mpl_error_set(err, MOONPLAN_SIGNATURE_KEY, MOONPLAN_NO_OFFSET, NULL,
                      "the signature is by the key %s, not by %s", made, given);
        return false;
    }
    prehash(hash, bytes, length);
    if (crypto_sign_verify_detached(found.made + AT_SIGNATURE, hash, sizeof hash, key->bytes) != 0)
        return refuse_wrong(key, "the signature is not of these bytes", err);
    memcpy(message, found.made + AT_SIGNATURE, MOONPLAN_SIGNATURE_SIZE);
    if (found.comment.length)
        memcpy(message + MOONPLAN_SIGNATURE_SIZE, found.comment.bytes, found.comment.length);
    if (crypto_sign_verify_detached(
            found.whole, message, MOONPLAN_SIGNATURE_SIZE + found.comment.length, key->bytes) != 0)
        return refuse_wrong(key, "the trusted comment is not the one that was signed", err);
    if (comment) *comment = found.comment;
    return true;
}

/* -- Short messages ----------------------------------------------------------*/

/* Ed25519ph hashes with a prefix of its own (RFC 8032, dom2), so that none of these is ever the
 * signature of a file, and none of those stands for a message. */
static void add_message(crypto_sign_state *state, const char *context, const void *bytes,
                        size_t length) {
    crypto_sign_init(state);
    crypto_sign_update(state, (const unsigned char *)context, strlen(context) + 1);
    if (length) crypto_sign_update(state, bytes, length);
}

void moonplan_sign_message(const moonplan_secret_key *key, uint8_t out[MOONPLAN_SIGNATURE_SIZE],
                           const char *context, const void *bytes, size_t length) {
    crypto_sign_state state;
    add_message(&state, context, bytes, length);
    crypto_sign_final_create(&state, out, NULL, key->bytes);
}

bool moonplan_verify_message(const moonplan_public_key *key,
                             const uint8_t signature[MOONPLAN_SIGNATURE_SIZE], const char *context,
                             const void *bytes, size_t length, moonplan_error *err) {
    crypto_sign_state state;
    add_message(&state, context, bytes, length);
    return crypto_sign_final_verify(&state, signature, key->bytes) == 0 ||
           refuse_wrong(key, "the signature is not of this message", err);
}
