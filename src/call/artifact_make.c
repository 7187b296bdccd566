#include <sodium.h>
#include <stdlib.h>

#include "../core/build.h"
#include "../core/text.h"
#include "artifact.h"
#include "read.h"

static const char data_prefix[] = "data:application/json;base64,";

/* A data: URL; failed when memory is short. */
static void carry(mpl_buffer *url, const char *body, size_t length) {
    int variant = sodium_base64_VARIANT_ORIGINAL;
    size_t encoded = sodium_base64_encoded_len(length, variant); /* with a NUL */
    mpl_buffer_add(url, data_prefix, sizeof data_prefix - 1);
    char *out = mpl_buffer_extend(url, encoded);
    if (!out) return;
    sodium_bin2base64(out, encoded, (const unsigned char *)body, length, variant);
    url->length--;
}

moonplan_document *moonplan_artifact_make(moonplan_kind kind, moonplan_text url, const char *body,
                                          size_t length, const moonplan_options *options,
                                          moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    moonplan_error fault = {.code = MOONPLAN_OK};
    if (kind != MOONPLAN_KIND_CALL_PLAN && kind != MOONPLAN_KIND_TYPED_DATA_REQUEST) abort();
    const char *limit;
    uint64_t most = mpl_artifact_most(kind, &own.limits, &limit);
    mpl_url read;
    mpl_url_fault refusal;
    if (length > most)
        mpl_error_set(&fault, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "there are %u bytes, more than the limit %s allows: %u", (uint64_t)length,
                      limit, most);
    else if (url.bytes && !mpl_url_read(&read, url, &refusal))
        mpl_error_set(&fault, refusal.code, MOONPLAN_NO_OFFSET, NULL, refusal.format,
                      &refusal.culprit, refusal.what);
    else if (url.bytes && read.transport == MOONPLAN_TRANSPORT_DATA)
        mpl_error_set(&fault, MOONPLAN_ARTIFACT_URL, MOONPLAN_NO_OFFSET, NULL,
                      "a data: URL is made from the bytes, so it cannot be given");
    if (fault.code != MOONPLAN_OK) {
        mpl_refuse(&fault, &own, err);
        return NULL;
    }
    mpl_alloc alloc = mpl_alloc_of(&own);
    mpl_buffer inner;
    mpl_builder envelope;
    uint8_t digest[32];
    char value[66] = "0x";
    moonplan_keccak256(digest, body, length);
    mpl_hex_encode(value + 2, digest, sizeof digest);
    mpl_buffer_open(&inner, &alloc);
    mpl_build_open(&envelope, &own);
    if (!url.bytes) {
        carry(&inner, body, length);
        url = (moonplan_text){inner.bytes, inner.length};
    }
    mpl_build_object(&envelope);
    mpl_build_text(&envelope, "kind", mpl_text_of("artifact_reference"));
    mpl_build_text(&envelope, "artifact_type", mpl_text_of(mpl_artifact_type(kind)));
    mpl_build_text(&envelope, "url", url);
    mpl_build_name(&envelope, mpl_text_of("integrity"));
    mpl_build_object(&envelope);
    mpl_build_text(&envelope, "algorithm", mpl_text_of("keccak256"));
    mpl_build_text(&envelope, "value", (moonplan_text){value, sizeof value});
    mpl_build_end(&envelope);
    mpl_build_name(&envelope, mpl_text_of("bytes"));
    mpl_build_integer(&envelope, (int64_t)length);
    mpl_build_end(&envelope);
    bool failed = inner.failed;
    mpl_buffer_close(&inner);
    if (own.errors) *own.errors = NULL;
    if (!failed) return mpl_build_finish(&envelope, err);
    mpl_build_close(&envelope);
    mpl_error_memory(err);
    return NULL;
}
