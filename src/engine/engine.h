/* The engine from inside: what the Lua binding and stores use beyond moonplan.h. */
#ifndef MPL_ENGINE_ENGINE_H
#define MPL_ENGINE_ENGINE_H

#include "store.h"

/* Who reads a step's input late, because the plan was captured from host values whose insides stay
 * shared. `read` answers the question: mpl_want_take, moonplan_want_complete or
 * moonplan_want_fail_with; returning without an answer leaves the input as it was captured. */
typedef struct mpl_source {
    void (*read)(void *data, moonplan_want *want);
    void *data;
    void (*release)(void *data); /* when the job has ended or is freed; may be NULL */
} mpl_source;

/* A plan that was captured rather than read from text. */
typedef struct mpl_submission {
    moonplan_document *document; /* taken over, whatever comes of it */
    const mpl_capture_fault *faults;
    size_t fault_count;
    mpl_source source; /* read NULL: the document has it all. Not used (and released) when the
                          store is durable. Taken over, whatever comes of it */
    bool powers_later; /* only admitted: what is not granted is no fault */
} mpl_submission;

moonplan_job *mpl_engine_submit(moonplan_engine *engine, const mpl_submission *submission,
                                const moonplan_run_options *options, moonplan_error *err);
moonplan_step_plan *mpl_engine_admit(moonplan_engine *engine, const mpl_submission *submission,
                                     const moonplan_run_options *options, moonplan_error *err);
/* moonplan_engine_run_many; where `captured` is there and has one for a run, that is its plan. */
size_t mpl_engine_run_many(moonplan_engine *engine, moonplan_run *runs,
                           const mpl_submission *const *captured, size_t count);
/* Answer all that is left; false when the store failed. */
bool mpl_job_drive(moonplan_job *job, moonplan_error *err);

/* INPUT, RESULT: the value as a document that is taken over, NULL for none. As
 * moonplan_want_complete otherwise. */
bool mpl_want_take(moonplan_want *want, moonplan_document *document);
/* OUTCOME: whoever was asked cannot tell, and this is why. The question stays open. */
void mpl_want_doubt(moonplan_want *want, moonplan_text why);

/* Replace a family: `old` names go, the list comes, all or nothing. What is in both keeps its place
 * in the order. `strict` is mpl_schema_new's, and refuses a risk that is none of the three. */
bool mpl_engine_replace(moonplan_engine *engine, const moonplan_text *old, size_t old_count,
                        const moonplan_capability *list, size_t count, bool strict,
                        moonplan_error *err);
/* Use this store from now on; taken over. Only before the first job. */
void mpl_engine_use_store(moonplan_engine *engine, const mpl_store *store);
/* The store, for the power kv; its functions are NULL once the engine is closed. */
const mpl_store *mpl_engine_store(const moonplan_engine *engine);
/* What a capability declares about its input and its results, MOONPLAN_NONE where that is nothing;
 * asks the providers as well. False if there is no such capability, or with *err none that can be
 * used. */
bool mpl_engine_schemas(moonplan_engine *engine, moonplan_text name, moonplan_value *input,
                        moonplan_value *output, moonplan_error *err);
/* Whether a name is registered; asks no provider. */
bool mpl_engine_has(const moonplan_engine *engine, moonplan_text name);
/* The same, and what is said of it: {NULL, 0} where that is nothing. */
bool mpl_engine_known(const moonplan_engine *engine, moonplan_text name, moonplan_text *version,
                      moonplan_text *risk);
const moonplan_options *mpl_engine_options(const moonplan_engine *engine);

/* Between these two an engine that is closed stays open: it ends with the last leave. */
void mpl_engine_enter(moonplan_engine *engine);
void mpl_engine_leave(moonplan_engine *engine);

/* Tell an event that belongs to no job; its id and time are filled in. */
void mpl_engine_tell(moonplan_engine *engine, moonplan_event *event);

/* One more hold on a job; moonplan_job_free gives one back. */
void mpl_job_hold(moonplan_job *job);

#endif
