#include <string.h>

#include "../core/text.h"
#include "typed_data.h"

#define DEPTH_MOST 1024

static void name(mpl_builder *tree, const char *text) {
    mpl_build_name(tree, (moonplan_text){text, strlen(text)});
}

static void digest(mpl_builder *tree, const char *what, const uint8_t bytes[32]) {
    char text[66] = "0x";
    mpl_hex_encode(text + 2, bytes, 32);
    name(tree, what);
    mpl_build_string(tree, (moonplan_text){text, sizeof text});
}

/* The types that occur. */
static bool build_types(mpl_builder *tree, const mpl_eip712 *types) {
    mpl_buffer text;
    mpl_buffer_open(&text, types->alloc);
    name(tree, "types");
    mpl_build_object(tree);
    for (size_t i = 0; i < types->count && !text.failed; i++) {
        if (!types->structs[i].hashed) continue;
        text.length = 0;
        mpl_eip712_encode_type(types, i, mpl_buffer_sink, &text);
        mpl_build_name(tree, types->structs[i].name);
        mpl_build_object(tree);
        name(tree, "encode_type");
        mpl_build_string(tree, (moonplan_text){text.bytes, text.length});
        digest(tree, "type_hash", types->structs[i].type_hash);
        mpl_build_end(tree);
    }
    mpl_build_end(tree);
    bool fine = !text.failed;
    mpl_buffer_close(&text);
    return fine;
}

static bool build_canonical(mpl_builder *tree, const moonplan_typed_data *request,
                            mpl_alloc *alloc) {
    mpl_buffer text;
    mpl_buffer_open(&text, alloc);
    moonplan_typed_data_canonical(request, mpl_buffer_sink, &text);
    name(tree, "canonical_form");
    mpl_build_string(tree, (moonplan_text){text.bytes, text.length});
    bool fine = !text.failed;
    mpl_buffer_close(&text);
    return fine;
}

/* False when memory is short; the tree is of no use then. */
static bool build(mpl_builder *tree, const moonplan_typed_data *request, mpl_eip712 *types) {
    uint8_t hash[32];
    mpl_build_object(tree);
    if (!build_types(tree, types)) return false;
    name(tree, "domain");
    if (!mpl_eip712_hash_struct(types, request->domain_type, request->domain, tree, hash))
        return false;
    digest(tree, "domain_separator", request->digests.domain_separator);
    name(tree, "message");
    if (!mpl_eip712_hash_struct(types, request->primary, request->message, tree, hash))
        return false;
    digest(tree, "message_hash", request->digests.message_hash);
    digest(tree, "signing_digest", request->digests.signing_digest);
    if (!build_canonical(tree, request, types->alloc)) return false;
    digest(tree, "request_digest", request->digests.request_digest);
    mpl_build_end(tree);
    return true;
}

moonplan_document *moonplan_typed_data_explain(const moonplan_typed_data *request,
                                               const moonplan_options *options,
                                               moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_builder tree;
    mpl_build_open(&tree, options);
    /* The request is bounded by limits of its own, and this is some small multiple of it; but no
     * document is nested deeper than the ceiling of the limit depth. */
    tree.max_depth = DEPTH_MOST;
    tree.max_values = UINT64_MAX;
    /* Every type that the hashes need was hashed when the request was read, so that nothing of it
     * changes here; the memory on the way is ours. */
    mpl_eip712 types = request->types;
    types.alloc = &alloc;
    if (build(&tree, request, &types)) return mpl_build_finish(&tree, err);
    mpl_build_close(&tree);
    mpl_error_memory(err);
    return NULL;
}
