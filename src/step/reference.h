/* References: {"$ref":"steps.ID.result.PATH"} inside a step's input.
 *
 * ID ends at the first ".result" of the text, so an id that begins with "result" or contains
 * ".result" can never be named. PATH is split at every dot; a key that contains a dot cannot be
 * reached. Values found in results are data and are not searched again. */
#ifndef MPL_STEP_REFERENCE_H
#define MPL_STEP_REFERENCE_H

#include "../core/build.h"

typedef struct mpl_reference {
    moonplan_text id, path; /* path {NULL, 0}: the whole result */
} mpl_reference;

/* False if the text is not of the grammar. */
bool mpl_reference_parse(mpl_reference *out, moonplan_text text);
/* Whether a reference could name a step of this id. */
bool mpl_reference_reaches(moonplan_text id);
/* Whether a value is a reference: an object whose only member is a string named $ref; its text. */
bool mpl_reference_is(moonplan_value value, moonplan_text *text);

/* Walk the references in a value, itself included, depth first:
 *   uint32_t next = 0;
 *   while (mpl_reference_next(&found, &text, value, &next)) ...
 * No recursion: nodes stand in that order. */
bool mpl_reference_next(moonplan_value *found, moonplan_text *text, moonplan_value within,
                        uint32_t *next);

/* What a path leads to. */
typedef struct mpl_target {
    enum { MPL_TARGET_VALUE, MPL_TARGET_LENGTH, MPL_TARGET_NOTHING, MPL_TARGET_LOST } kind;
    moonplan_value value; /* VALUE; LOST: as far as the path leads, NONE where that is a length */
    size_t length;        /* LENGTH: an array's */
    moonplan_text rest;   /* LOST: of the path, from the first segment that is not there */
} mpl_target;

/* Follow a path through own members: of an object its members, of an array its canonical indices
 * and `length`. LOST when a segment is not there. A result that is MOONPLAN_NONE has nothing in it:
 * NOTHING without a path, LOST with one. */
mpl_target mpl_reference_follow(moonplan_value result, const mpl_reference *reference);

/* Who knows the results. */
typedef struct mpl_results {
    /* The result of the completed step with this id, which may be MOONPLAN_NONE; false if no
     * completed step has it. */
    bool (*find)(void *data, moonplan_text id, moonplan_value *result);
    void *data;
} mpl_results;

/* An input with its references replaced. `value` is borrowed from the input where there are none,
 * from a result where the whole input is one, and from `own` otherwise. */
typedef struct mpl_resolved {
    moonplan_value value;
    moonplan_document *own; /* NULL, or the caller's to free */
} mpl_resolved;

/* Replace the references of an input (MOONPLAN_NONE included). The first that cannot be replaced
 * ends it: false with job.reference_invalid, job.reference_source or job.reference_path, or memory,
 * json.depth, or limit: what is built has no more than document_bytes and values. A reference to
 * nothing makes an object's member absent, an array's element null, and the whole input absent. */
bool mpl_reference_resolve(mpl_resolved *out, moonplan_value input, mpl_results results,
                           const moonplan_options *options, moonplan_error *err);

#endif
