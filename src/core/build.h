/* Documents that are built instead of read.
 *
 * A builder writes a document's text and its index of nodes at once, so that a built document is
 * like a read one in every respect. A failure (memory, depth, too many values, a repeated name,
 * a text over max_bytes, which is 2 GiB without more) sticks and comes out of mpl_build_finish. */
#ifndef MPL_CORE_BUILD_H
#define MPL_CORE_BUILD_H

#include "buffer.h"
#include "value.h"

typedef struct mpl_builder {
    moonplan_document *document;
    mpl_buffer text;
    uint64_t max_depth, max_values;
    uint64_t max_bytes;   /* of the text; may be lowered after opening */
    const char *too_long; /* says so: a format whose %u is max_bytes */
    size_t open;          /* innermost open container's node, or MPL_NO_CHILD */
    uint64_t depth, values;
    bool named; /* a member's name has been written, its value has not */
    moonplan_error error;
} mpl_builder;

/* Options as for parsing; NULL gives the defaults. */
void mpl_build_open(mpl_builder *builder, const moonplan_options *options);
void mpl_build_array(mpl_builder *builder);
void mpl_build_object(mpl_builder *builder);
void mpl_build_end(mpl_builder *builder);
void mpl_build_name(mpl_builder *builder, moonplan_text name);
void mpl_build_null(mpl_builder *builder);
void mpl_build_boolean(mpl_builder *builder, bool truth);
void mpl_build_integer(mpl_builder *builder, int64_t integer);
/* A number's literal, which must be a valid JSON number. */
void mpl_build_number(mpl_builder *builder, moonplan_text literal);
/* The shortest literal that reads back as this double, with a point or an exponent; the double
 * must be finite. */
void mpl_build_double(mpl_builder *builder, double number);
void mpl_build_string(mpl_builder *builder, moonplan_text content);
/* A member with a text; without one "", or no member at all. */
void mpl_build_text(mpl_builder *builder, const char *name, moonplan_text text);
void mpl_build_text_if(mpl_builder *builder, const char *name, moonplan_text text);
/* A value of any document, numbers kept as they stand there. */
void mpl_build_value(mpl_builder *builder, moonplan_value value);
/* The finished document, or NULL with the error; the builder is closed either way. */
moonplan_document *mpl_build_finish(mpl_builder *builder, moonplan_error *err);
/* Give up. */
void mpl_build_close(mpl_builder *builder);

#endif
