/* Values as bytes: what a host and its runners tell each other.
 *
 * A value is a tag and what belongs to it; counts and lengths are numbers of 7 bits a byte, the
 * lowest first, the top bit set on all but the last.
 *
 *   0 null  1 false  2 true
 *   3 integer    a number n: n/2 where it is even, -(n+1)/2 where it is odd; all of int64
 *   4 number     length, the literal (any other JSON number), so that nothing is rounded
 *   5 string     length, UTF-8
 *   6 array      count, so many values
 *   7 object     count, so many times: length, the name in UTF-8, a value; names are distinct
 *
 * Every value has one encoding, and decoding keeps the order of members: what is read and written
 * again gives the same bytes. A text that was laid out in its own way (white space, escapes) comes
 * back as a builder writes it. */
#ifndef MPL_CORE_CODEC_H
#define MPL_CORE_CODEC_H

#include "build.h"

/* Bytes that are being read, front to back. */
typedef struct mpl_codec {
    const char *bytes, *at, *end;
} mpl_codec;

void mpl_codec_put_number(mpl_buffer *out, uint64_t number);
void mpl_codec_put_integer(mpl_buffer *out, int64_t integer);
/* Length and bytes, whatever they are. */
void mpl_codec_put_bytes(mpl_buffer *out, moonplan_text bytes);
/* A value, which must not be MOONPLAN_NONE. Memory: out->failed, as for the others. */
void mpl_codec_put_value(mpl_buffer *out, moonplan_value value);

bool mpl_codec_take_number(mpl_codec *in, uint64_t *out);
bool mpl_codec_take_integer(mpl_codec *in, int64_t *out);
/* Points into the bytes that are read. */
bool mpl_codec_take_bytes(mpl_codec *in, moonplan_text *out);
/* Into an open builder, from bytes that may be anything. A length or count is compared with the
 * bytes that are left before anything is allocated for it; the builder's own limits bound the rest.
 * False with *err, whose offset is into the bytes: json.syntax (not an encoding, or not the one of
 * its value), json.utf8, json.duplicate_name, json.depth, limit, memory. The builder is fit for
 * nothing but mpl_build_close then. */
bool mpl_codec_take_value(mpl_codec *in, mpl_builder *builder, moonplan_error *err);

#endif
