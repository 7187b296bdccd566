/* Bytes that are the encoding of one value, and nothing else. */
#ifndef MOONPLAN_SPEC_CODEC_READ_H
#define MOONPLAN_SPEC_CODEC_READ_H

#include "../../src/core/codec.h"
#include "../../src/core/error.h"

static inline moonplan_document *codec_read(const char *bytes, size_t length,
                                            const moonplan_options *options, moonplan_error *err) {
    mpl_codec in = {bytes, bytes, bytes + length};
    mpl_builder builder;
    moonplan_options chosen = mpl_options_of(options);
    mpl_build_open(&builder, &chosen);
    builder.max_bytes = chosen.limits.document_bytes;
    builder.too_long = "the text is longer than %u";
    if (mpl_codec_take_value(&in, &builder, err)) {
        if (in.at == in.end) return mpl_build_finish(&builder, err);
        mpl_error_set(err, MOONPLAN_JSON_SYNTAX, length, NULL, "there are bytes behind the value");
    }
    mpl_build_close(&builder);
    return NULL;
}

#endif
