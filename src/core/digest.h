/* BLAKE2b-256 (RFC 7693) as text: what plans, inputs, results and records are known by. */
#ifndef MPL_CORE_DIGEST_H
#define MPL_CORE_DIGEST_H

#include "buffer.h"

#define MPL_DIGEST_TEXT 65 /* 64 lower-case hexadecimal digits and a NUL */

void mpl_digest_text(char out[MPL_DIGEST_TEXT], moonplan_text text);
/* Over the canonical text of a value; of nothing at all for MOONPLAN_NONE. False when memory is
 * short. */
bool mpl_digest_value(char out[MPL_DIGEST_TEXT], moonplan_value value, mpl_alloc *alloc);

#endif
