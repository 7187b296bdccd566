/* ERC-8410 typed-data signature requests: the validated view that everything else works on. */
#ifndef MPL_CALL_TYPED_DATA_H
#define MPL_CALL_TYPED_DATA_H

#include "../core/faults.h"
#include "eip712.h"

struct moonplan_typed_data {
    mpl_alloc alloc;
    moonplan_document *document;
    mpl_eip712 types;
    size_t domain_type, primary; /* numbers of structs */
    moonplan_value typed_data, domain, message;
    char signer[42];
    moonplan_text valid_until, delivery_url, request_id; /* {NULL, 0}: absent */
    uint64_t valid_until_seconds;
    moonplan_typed_data_digests digests;
};

/* Validate a document as a request. The request takes the document over; after a refusal it is
 * freed. */
moonplan_typed_data *mpl_typed_data_read(moonplan_document *document,
                                         const moonplan_options *options, moonplan_error *err);

/* May a signature be delivered to this URL when the request came from that one? */
bool mpl_typed_data_same_origin(moonplan_text origin, moonplan_text delivery);

/* Report what is wrong with a `typed_data` member. The types must be those of its `types`. */
void mpl_typed_data_judge(mpl_faults *faults, mpl_eip712 *types, const moonplan_limits *limits,
                          moonplan_value typed_data);

/* Members of the shapes that travel between wallet and producer. What these give back is {NULL, 0}
 * after a fault. */
moonplan_text mpl_typed_data_string(mpl_faults *faults, const char *what, moonplan_value value);
/* 1 to 128 letters, digits, underscores and hyphens. */
moonplan_text mpl_typed_data_id(mpl_faults *faults, moonplan_code code, const char *what,
                                moonplan_value value);
void mpl_typed_data_version(mpl_faults *faults, moonplan_value value);
void mpl_typed_data_kind(mpl_faults *faults, const char *kind, moonplan_value value);

#endif
