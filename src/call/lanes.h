/* Digests of several plans side by side. */
#ifndef MPL_CALL_LANES_H
#define MPL_CALL_LANES_H

#include "../core/keccak.h"

/* moonplan_digest_many in one thread and with a kind of Keccak that the caller picks. */
size_t mpl_digest_lanes(const mpl_keccak_kind *kind, uint8_t (*out)[32], bool *valid,
                        const moonplan_text *texts, size_t count, const moonplan_options *options);

#endif
