/* Schemas: what a capability declares about its input and its result.
 *
 * A flat map from field names to {type, required, description, integer, min, max, max_length,
 * enum}. Fields are checked in the order of their names as bytes, because a schema written as a
 * Lua table has no other. */
#ifndef MPL_STEP_SCHEMA_H
#define MPL_STEP_SCHEMA_H

#include "../core/value.h"

typedef struct mpl_schema mpl_schema;

/* Read a schema's JSON text. `strict` also refuses what the contract lets pass: a type that is none
 * of the five, an attribute that there is not, one that does nothing for its type. A refusal is
 * plugin.manifest, its place a pointer that begins with `place` (NULL: the root). */
mpl_schema *mpl_schema_new(moonplan_text json, bool strict, const mpl_pointer *place,
                           const moonplan_options *options, moonplan_error *err);
void mpl_schema_free(mpl_schema *schema);
/* The object that it was read from; MOONPLAN_NONE for NULL. */
moonplan_value mpl_schema_value(const mpl_schema *schema);

/* Where faults go: `add` returns the place for the next one, or NULL when it is only counted.
 * What was written there before is read when `add` is called again, or by the owner at the end. */
typedef struct mpl_issues {
    moonplan_error *(*add)(void *data);
    void *data;
} mpl_issues;

typedef enum mpl_schema_stage {
    MPL_SCHEMA_PLAN,  /* plan.input_*: references are exempt */
    MPL_SCHEMA_JOB,   /* job.input_*: the resolved input */
    MPL_SCHEMA_OUTPUT /* job.output_type, whatever is wrong */
} mpl_schema_stage;

/* Check a value, MOONPLAN_NONE included. One that is no object is checked as if it were an empty
 * one; a result has to be an object, or nothing, as soon as a field is declared. `holder` is the
 * value whose member `input` the value is or would be, MOONPLAN_NONE if it is a document of its
 * own; it gives missing fields their place. At most one issue a field. */
void mpl_schema_check(const mpl_schema *schema, moonplan_value value, moonplan_value holder,
                      mpl_schema_stage stage, moonplan_text capability, mpl_issues issues);

/* Walk the numbers in a value, itself included, that Lua cannot hold: integer literals outside
 * int64, and numbers outside double. As mpl_reference_next. */
bool mpl_unfit_next(moonplan_value *found, moonplan_value within, uint32_t *next);

#endif
