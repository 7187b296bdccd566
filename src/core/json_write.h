/* Values to text. */
#ifndef MPL_CORE_JSON_WRITE_H
#define MPL_CORE_JSON_WRITE_H

#include "buffer.h"
#include "value.h"

/* A string in quotes, with the shortest escapes; the content must be UTF-8. */
void mpl_write_string(mpl_buffer *out, moonplan_text content);
/* How many bytes that writes. */
size_t mpl_string_length(moonplan_text content);

typedef struct mpl_style {
    bool canonical;  /* numbers by their exact value; else as they stand */
    unsigned indent; /* spaces a level, at most 16; 0: everything on one line */
    uint64_t most;   /* bytes */
} mpl_style;

/* A value with the members of every object sorted by their names as bytes, so that equal values
 * give equal texts. Memory: out->failed. False, with *out half full, when the text grows over
 * style->most. */
bool mpl_write_sorted(mpl_buffer *out, mpl_buffer *scratch, moonplan_value value,
                      const mpl_style *style);

/* The canonical text of a value: members sorted by their names as bytes, no white space,
 * shortest escapes, numbers by the exact value of their literal: sign, digits without needless
 * zeros, exponent. Equal values give equal texts. */
void mpl_write_canonical(mpl_buffer *out, moonplan_value value);

#endif
