/* Reading JSON, for readers that know more of a document and leave parts of it to this one. */
#ifndef MPL_CORE_JSON_READ_H
#define MPL_CORE_JSON_READ_H

#include "text_run.h"
#include "value.h"

/* Objects nested deeper than this have their names compared when they are closed. */
#define MPL_SEEN_DEPTH 64

/* Read on from where a value begins, or from where one has ended, as long as there is nothing but
 * what is usual. Gives back whether a value has ended where it stops. */
struct mpl_reader;
typedef bool mpl_json_run(struct mpl_reader *r, size_t outside, bool ended);
mpl_json_run *mpl_json_run_of(const mpl_run_kind *kind);

typedef struct mpl_reader {
    moonplan_document *document;
    const char *text, *at, *end;
    size_t open; /* innermost open container, or MPL_NO_CHILD */
    bool naming; /* a member's name is being read: faults in it belong to the object */
    uint64_t depth, depth_most, values, values_most;
    moonplan_error *err;
    mpl_text_run *plain;
    mpl_json_run *run;
    /* Of the open object at each depth: a set of small hashes of its names. As long as no two
     * share one they are distinct; where two do, a bit of `doubt` says that they must be compared.
     */
    uint64_t doubt;
    uint64_t seen[MPL_SEEN_DEPTH][4];
} mpl_reader;

/* An object begins or has gone on: none of its names has been seen. */
static inline void mpl_forget_names(mpl_reader *r) {
    if (r->depth >= MPL_SEEN_DEPTH) return;
    memset(r->seen[r->depth], 0, sizeof r->seen[r->depth]);
    r->doubt &= ~((uint64_t)1 << r->depth);
}

/* A name's text, quotes included, at r->at - length. */
static inline void mpl_remember_name(mpl_reader *r, const char *begin, size_t length) {
    if (r->depth >= MPL_SEEN_DEPTH) return;
    const unsigned char *bytes = (const unsigned char *)begin;
    uint32_t picked = (uint32_t)bytes[1] | (uint32_t)bytes[length / 2] << 8 |
                      (uint32_t)bytes[length - 2] << 16 | (uint32_t)length << 24;
    uint32_t hash = picked * 0x9e3779b1u >> 24;
    uint64_t bit = (uint64_t)1 << hash % 64, *seen = &r->seen[r->depth][hash / 64];
    if (*seen & bit) r->doubt |= (uint64_t)1 << r->depth;
    *seen |= bit;
}

static inline bool mpl_in_array(const mpl_reader *r) {
    return r->open != MPL_NO_CHILD && r->document->nodes[r->open].type == MOONPLAN_ARRAY;
}

/* The document is cleared, and takes its nodes from a text that stays the caller's. */
void mpl_reader_open(mpl_reader *r, moonplan_document *document, const char *text, size_t length,
                     const moonplan_options *options, moonplan_error *err);
/* A value, and the white space before it. It is counted in the open container only if that is an
 * array. After false the document is of no more use. */
bool mpl_read_value(mpl_reader *r);
/* A string, whose quote is at r->at; it is not counted in `values`. */
bool mpl_read_string(mpl_reader *r);

/* The end of reading: nothing spare is kept, and the text is copied unless it may be borrowed; the
 * copy is made last, so that a refused document costs none. False when memory is short. */
bool mpl_document_settle(moonplan_document *document, const moonplan_options *options);

/* As moonplan_document_parse, into a document that there is already, or NULL; after a refusal it is
 * freed. */
moonplan_document *mpl_document_read(moonplan_document *document, const char *text, size_t length,
                                     const moonplan_options *options, moonplan_error *err);

#endif
