#include "digest.h"

#include <sodium.h>

#include "json_write.h"
#include "text.h"

void mpl_digest_text(char out[MPL_DIGEST_TEXT], moonplan_text text) {
    uint8_t hash[32];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text.bytes, text.length, NULL, 0);
    mpl_hex_encode(out, hash, sizeof hash);
    out[64] = 0;
}

bool mpl_digest_value(char out[MPL_DIGEST_TEXT], moonplan_value value, mpl_alloc *alloc) {
    mpl_buffer canonical;
    mpl_buffer_open(&canonical, alloc);
    if (value.document && moonplan_value_type(value) != MOONPLAN_NONE)
        mpl_write_canonical(&canonical, value);
    bool fine = !canonical.failed;
    if (fine) mpl_digest_text(out, (moonplan_text){canonical.bytes, canonical.length});
    mpl_buffer_close(&canonical);
    return fine;
}
