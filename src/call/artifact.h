/* ERC-8410 artifact references: an envelope, and how far its retrieval has come. */
#ifndef MPL_CALL_ARTIFACT_H
#define MPL_CALL_ARTIFACT_H

#include "../core/buffer.h"
#include "../core/faults.h"
#include "../core/keccak.h"
#include "url.h"

typedef enum mpl_artifact_state {
    MPL_ARTIFACT_ADMITTED = 0,
    MPL_ARTIFACT_ADDRESSES,
    MPL_ARTIFACT_BODY,
    MPL_ARTIFACT_VERIFIED,
    MPL_ARTIFACT_REFUSED
} mpl_artifact_state;

struct moonplan_artifact {
    mpl_alloc alloc;
    moonplan_document *document;
    moonplan_kind kind;
    uint64_t most;     /* the limit of that kind */
    const char *limit; /* and its name */
    mpl_url url;
    moonplan_value url_value, bytes_value, digest_value;
    bool has_bytes, has_digest, has_name;
    uint64_t bytes; /* promised */
    uint8_t digest[32];
    char *name; /* https: the target; file: the decoded path; a NUL behind it */
    size_t name_length, name_size;
    mpl_artifact_state state;
    moonplan_error error; /* of a refusal */
    moonplan_address *addresses;
    size_t address_count;
    mpl_buffer body;
    mpl_keccak keccak; /* over the body so far */
};

/* "execution_plan" or "typed_data_signature_request". */
const char *mpl_artifact_type(moonplan_kind kind);
/* The limit for documents of a kind, and its name. */
uint64_t mpl_artifact_most(moonplan_kind kind, const moonplan_limits *limits, const char **name);

/* What was wanted cannot be had for want of memory. */
void mpl_artifact_no_memory(moonplan_artifact *artifact);

#endif
