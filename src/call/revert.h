/* What a call gives when it reverts. */
#ifndef MPL_CALL_REVERT_H
#define MPL_CALL_REVERT_H

#include "abi.h"

/* Error(string) and Panic(uint256). */
moonplan_abi *mpl_revert_solidity(const moonplan_options *options, moonplan_error *err);

/* What a Panic's code means, or NULL. */
const char *mpl_panic_text(moonplan_abi_value code);

/* Build the object that moonplan_revert_decode is documented to give. */
void mpl_revert_build(mpl_builder *builder, const moonplan_abi *own, const uint8_t *bytes,
                      size_t length, const moonplan_abi_source *sources, size_t source_count,
                      mpl_arena *arena, mpl_abi_budget *budget, const moonplan_options *options);

#endif
