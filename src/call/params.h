/* The parameters of a builder: what it declares, and what it is given.
 *
 * A map from names to fields {type, required, description, and more for some types}:
 *
 *   chain    an EIP-155 chain: an integer from 1, its decimal digits, or its CAIP-2 name, eip155:1
 *   address  0x and 40 digits; in mixed case only with the checksum of ERC-55
 *   amount   as in core/amount.h; `decimals` says how many tokens have, or which other parameter
 *            does; `min`, `max` in base units
 *   uint256  an integer or its decimal digits; `min`, `max`
 *   bytes    0x and an even number of digits; `max_length` in bytes
 *   string, number, boolean, object, array: as in the schema of a capability, with `max_length`,
 *            `integer`, `min`, `max`, `enum`; of an array also `max_length`, in elements, and
 *            `items`, the field that each of them is; of an object `fields`, all that it may have
 *
 * Values that pass come out in one form each: a chain, an amount and a uint256 as canonical decimal
 * strings, addresses and bytes in lower case. */
#ifndef MPL_CALL_PARAMS_H
#define MPL_CALL_PARAMS_H

#include "../core/build.h"

typedef struct mpl_params mpl_params;

/* Read a declaration, whose document has to live as long. A refusal is plugin.manifest. */
mpl_params *mpl_params_new(moonplan_value declared, const moonplan_options *options,
                           moonplan_error *err);
void mpl_params_free(mpl_params *params);

/* Check what was given, MOONPLAN_NONE included, and make a document of what comes of it. NULL with
 * all that is wrong, as the options say; the codes are build.param_*. `owner` is the builder's
 * name. */
moonplan_document *mpl_params_take(const mpl_params *params, moonplan_value given,
                                   moonplan_text owner, const moonplan_options *options,
                                   moonplan_error *err);

#endif
