/* The order of a retrieval (ERC-8410, Retrieval): what is wanted, and the checks between. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "artifact.h"
#include "read.h"

/* ERC-8410, file Transport: one text for a file that is missing, unreadable, of another length or
 * digest, or no plan, so that a caller cannot learn about files by asking. */
static void file_error(moonplan_error *err) {
    mpl_error_set(err, MOONPLAN_ARTIFACT_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                  "artifact not available");
}

/* Nothing of what was retrieved is kept after a refusal. */
static void refused(moonplan_artifact *artifact) {
    artifact->state = MPL_ARTIFACT_REFUSED;
    mpl_buffer_close(&artifact->body);
}

#define REFUSE(artifact, code, value, ...)                                                         \
    do {                                                                                           \
        if ((artifact)->url.transport == MOONPLAN_TRANSPORT_FILE)                                  \
            file_error(&(artifact)->error);                                                        \
        else                                                                                       \
            mpl_error_at(&(artifact)->error, code, value, __VA_ARGS__);                            \
        refused(artifact);                                                                         \
    } while (0)

static void refuse_memory(moonplan_artifact *artifact) {
    mpl_error_memory(&artifact->error);
    refused(artifact);
}

static void refuse_digest(moonplan_artifact *artifact, const uint8_t came[32]) {
    char digits[2][66];
    memcpy(digits[0], "0x", 2);
    memcpy(digits[1], "0x", 2);
    mpl_hex_encode(digits[0] + 2, came, 32);
    mpl_hex_encode(digits[1] + 2, artifact->digest, 32);
    moonplan_text actual = {digits[0], sizeof digits[0]}, promised = {digits[1], sizeof digits[1]};
    REFUSE(artifact, MOONPLAN_ARTIFACT_DIGEST, artifact->digest_value,
           "bytes with the digest %t came, and %t was promised", &actual, &promised);
}

/* The whole body is there: its length, then its digest. The digest of a file is taken whatever its
 * length, so that the time says nothing either. */
static void verify(moonplan_artifact *artifact) {
    uint8_t digest[32];
    mpl_keccak_finish(&artifact->keccak, digest);
    if (artifact->has_bytes && artifact->body.length != artifact->bytes)
        REFUSE(artifact, MOONPLAN_ARTIFACT_LENGTH, artifact->bytes_value,
               "%u bytes came, and %u were promised", (uint64_t)artifact->body.length,
               artifact->bytes);
    else if (artifact->has_digest && memcmp(digest, artifact->digest, sizeof digest) != 0)
        refuse_digest(artifact, digest);
    else
        artifact->state = MPL_ARTIFACT_VERIFIED;
}

static void refuse_base64(moonplan_artifact *artifact) {
    REFUSE(
        artifact, MOONPLAN_ARTIFACT_URL, artifact->url_value,
        "url does not carry canonical base64: the alphabet with + and /, all padding, no bits left "
        "over, no white space (RFC 4648, section 4)");
}

/* libsodium's reader takes canonical base64 only: the standard alphabet, all padding, no bits left
 * over, nothing between or behind. The specs hold it to that. */
static void decode_base64(moonplan_artifact *artifact) {
    moonplan_text text = artifact->url.rest;
    if (text.length % 4 != 0) {
        refuse_base64(artifact);
        return;
    }
    if (text.length == 0) return;
    size_t padding = text.bytes[text.length - 1] == '=';
    if (padding && text.bytes[text.length - 2] == '=') padding = 2;
    size_t expected = text.length / 4 * 3 - padding, length;
    if (expected > artifact->most) {
        REFUSE(artifact, MOONPLAN_LIMIT, artifact->url_value,
               "url carries %u bytes, more than the limit %s allows: %u", (uint64_t)expected,
               artifact->limit, artifact->most);
        return;
    }
    char *out = mpl_buffer_extend(&artifact->body, expected);
    if (!out)
        refuse_memory(artifact);
    else if (sodium_base642bin((unsigned char *)out, expected, text.bytes, text.length, NULL,
                               &length, NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
             length != expected)
        refuse_base64(artifact);
}

static void decode_percent(moonplan_artifact *artifact) {
    moonplan_text text = artifact->url.rest;
    size_t length = text.length;
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] == '%') length -= 2;
    if (length > artifact->most) {
        REFUSE(artifact, MOONPLAN_LIMIT, artifact->url_value,
               "url carries %u bytes, more than the limit %s allows: %u", (uint64_t)length,
               artifact->limit, artifact->most);
        return;
    }
    char *out = length ? mpl_buffer_extend(&artifact->body, length) : NULL;
    if (out)
        mpl_url_decode(out, text);
    else if (length)
        refuse_memory(artifact);
}

static void begin(moonplan_artifact *artifact) {
    if (artifact->url.transport == MOONPLAN_TRANSPORT_FILE) {
        artifact->state = MPL_ARTIFACT_BODY;
        if (!artifact->has_name)
            REFUSE(artifact, MOONPLAN_ARTIFACT_UNAVAILABLE, artifact->url_value, "not a path");
    } else if (artifact->url.transport == MOONPLAN_TRANSPORT_HTTPS) {
        /* An address in the URL is its own resolution, and was judged when it was read. */
        artifact->state = MPL_ARTIFACT_ADDRESSES;
        if (artifact->url.literal.length)
            moonplan_artifact_resolved(artifact, &artifact->url.literal, 1);
    } else {
        if (artifact->url.base64)
            decode_base64(artifact);
        else
            decode_percent(artifact);
        if (artifact->state == MPL_ARTIFACT_REFUSED) return;
        mpl_keccak_add(&artifact->keccak, artifact->body.bytes, artifact->body.length);
        verify(artifact);
    }
}

moonplan_artifact_want moonplan_artifact_next(moonplan_artifact *artifact, moonplan_error *err) {
    if (artifact->state == MPL_ARTIFACT_ADMITTED) begin(artifact);
    switch (artifact->state) {
    case MPL_ARTIFACT_ADDRESSES:
        return MOONPLAN_ARTIFACT_WANTS_ADDRESSES;
    case MPL_ARTIFACT_BODY:
        return MOONPLAN_ARTIFACT_WANTS_BODY;
    case MPL_ARTIFACT_VERIFIED:
        return MOONPLAN_ARTIFACT_WANTS_NOTHING;
    default:
        if (err) *err = artifact->error;
        return MOONPLAN_ARTIFACT_REFUSED;
    }
}

bool moonplan_artifact_resolved(moonplan_artifact *artifact, const moonplan_address *addresses,
                                size_t count) {
    if (artifact->state != MPL_ARTIFACT_ADDRESSES) return false;
    moonplan_text host = moonplan_artifact_host(artifact);
    if (count == 0) {
        REFUSE(artifact, MOONPLAN_ARTIFACT_UNAVAILABLE, artifact->url_value, "%q has no address",
               &host);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (mpl_address_is_public(&addresses[i])) continue;
        /* Not which: what names mean inside this network is nobody else's business. */
        REFUSE(artifact, MOONPLAN_ARTIFACT_ADDRESS, artifact->url_value,
               "%q has an address that is not public unicast", &host);
        return false;
    }
    artifact->addresses = mpl_allocate(&artifact->alloc, count * sizeof *addresses);
    if (!artifact->addresses) {
        refuse_memory(artifact);
        return false;
    }
    memcpy(artifact->addresses, addresses, count * sizeof *addresses);
    artifact->address_count = count;
    artifact->state = MPL_ARTIFACT_BODY;
    return true;
}

bool moonplan_artifact_address(const moonplan_artifact *artifact, moonplan_address *out, size_t n) {
    if (n >= artifact->address_count) return false;
    *out = artifact->addresses[n];
    return true;
}

bool moonplan_artifact_status(moonplan_artifact *artifact, unsigned status) {
    if (artifact->state != MPL_ARTIFACT_BODY) return false;
    if (status >= 200 && status <= 299) return true;
    REFUSE(artifact, MOONPLAN_ARTIFACT_UNAVAILABLE, artifact->url_value,
           status >= 300 && status <= 399
               ? "the server answered %u, a redirect, and none is followed"
               : "the server answered %u, not success",
           (uint64_t)status);
    return false;
}

bool moonplan_artifact_add(moonplan_artifact *artifact, const char *bytes, size_t length) {
    if (artifact->state != MPL_ARTIFACT_BODY) return false;
    if (length > moonplan_artifact_size(artifact) - artifact->body.length) {
        REFUSE(artifact, MOONPLAN_ARTIFACT_LENGTH, artifact->bytes_value,
               "the body goes on behind the %u bytes that were promised", artifact->bytes);
        return false;
    }
    mpl_buffer_add(&artifact->body, bytes, length);
    if (artifact->body.failed) {
        refuse_memory(artifact);
        return false;
    }
    mpl_keccak_add(&artifact->keccak, bytes, length);
    return true;
}

void moonplan_artifact_end(moonplan_artifact *artifact) {
    if (artifact->state == MPL_ARTIFACT_BODY) verify(artifact);
}

void moonplan_artifact_fail(moonplan_artifact *artifact, const char *reason) {
    moonplan_text text = {reason, strlen(reason)};
    if (artifact->state == MPL_ARTIFACT_ADDRESSES || artifact->state == MPL_ARTIFACT_BODY)
        REFUSE(artifact, MOONPLAN_ARTIFACT_UNAVAILABLE, artifact->url_value, "%t", &text);
}

void mpl_artifact_no_memory(moonplan_artifact *artifact) {
    if (artifact->state == MPL_ARTIFACT_ADDRESSES || artifact->state == MPL_ARTIFACT_BODY)
        refuse_memory(artifact);
}

/* -- What was retrieved --------------------------------------------------------*/

moonplan_text moonplan_artifact_body(const moonplan_artifact *artifact) {
    if (artifact->state != MPL_ARTIFACT_VERIFIED) return (moonplan_text){NULL, 0};
    return (moonplan_text){artifact->body.length ? artifact->body.bytes : "",
                           artifact->body.length};
}

/* The options for parsing the body; the text to parse. A bad call traps. */
static moonplan_text open_body(const moonplan_artifact *artifact, moonplan_kind kind,
                               const moonplan_options *options, moonplan_options *own) {
    if (artifact->state != MPL_ARTIFACT_VERIFIED || artifact->kind != kind) abort();
    if (options)
        *own = *options;
    else
        moonplan_options_init(own);
    if (artifact->url.transport == MOONPLAN_TRANSPORT_FILE) own->errors = NULL;
    return moonplan_artifact_body(artifact);
}

/* What becomes of the errors of a file: one that tells nothing, unless it is about memory. */
static void close_body(const moonplan_artifact *artifact, bool parsed,
                       const moonplan_options *options, const moonplan_error *fault,
                       moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    if (artifact->url.transport == MOONPLAN_TRANSPORT_FILE && own.errors) *own.errors = NULL;
    if (parsed) return;
    if (artifact->url.transport != MOONPLAN_TRANSPORT_FILE || fault->code == MOONPLAN_MEMORY) {
        if (err) *err = *fault;
        return;
    }
    moonplan_error uniform;
    file_error(&uniform);
    mpl_refuse(&uniform, &own, err);
}

moonplan_call_plan *moonplan_artifact_call_plan(const moonplan_artifact *artifact,
                                                const moonplan_options *options,
                                                moonplan_error *err) {
    moonplan_options own;
    moonplan_error fault;
    moonplan_text body = open_body(artifact, MOONPLAN_KIND_CALL_PLAN, options, &own);
    moonplan_call_plan *plan = moonplan_call_plan_parse(body.bytes, body.length, &own, &fault);
    close_body(artifact, plan != NULL, options, &fault, err);
    return plan;
}

moonplan_typed_data *moonplan_artifact_typed_data(const moonplan_artifact *artifact,
                                                  const moonplan_options *options,
                                                  moonplan_error *err) {
    moonplan_options own;
    moonplan_error fault;
    moonplan_text body = open_body(artifact, MOONPLAN_KIND_TYPED_DATA_REQUEST, options, &own);
    moonplan_typed_data *request = moonplan_typed_data_parse(body.bytes, body.length, &own, &fault);
    close_body(artifact, request != NULL, options, &fault, err);
    return request;
}
