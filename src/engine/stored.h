/* A job as it comes out of a store. */
#ifndef MPL_ENGINE_STORED_H
#define MPL_ENGINE_STORED_H

#include "../step/job.h"

typedef struct mpl_stored {
    const moonplan_options *options; /* the engine's */
    mpl_alloc alloc;
    mpl_arena texts; /* for what the job below points to */
    moonplan_document *plan;
    mpl_kept_job job;
    size_t step_count; /* room in job.steps and evidence, zeroed; set by mpl_stored_plan */
    mpl_step_evidence *evidence;
    moonplan_document *failure; /* what job.failure points into; NULL: elsewhere */
    moonplan_text goal;         /* as a row of its own has it; {NULL, 0}: none has */
    bool claimed;
    bool cancel; /* it has been asked for, and has not come about */
    /* Where the job's own chain of records ends, as its row has it. Zeroed: the store has none. */
    int64_t records;
    size_t odd_step; /* the first, from 1, whose row names another than the plan; 0: none */
    char head[MPL_DIGEST_TEXT];
    int64_t row; /* the store's own */
} mpl_stored;

void mpl_stored_open(mpl_stored *stored, const moonplan_options *options);
void mpl_stored_close(mpl_stored *stored);
/* Take the plan's text, and make room for what is said of its steps; false with store.corrupt for
 * one that is none. */
bool mpl_stored_plan(mpl_stored *stored, moonplan_text text, moonplan_error *err);
/* A text that stays as long as `stored`; {NULL, 0} when memory is short. */
moonplan_text mpl_stored_text(mpl_stored *stored, moonplan_text text);
/* The engine's options with limits that refuse nothing that was taken once. */
moonplan_options mpl_stored_options(const moonplan_options *options);
/* JSON that a store has kept; NULL with store.corrupt, or memory. */
moonplan_document *mpl_stored_parse(const mpl_stored *stored, moonplan_text text, const char *what,
                                    moonplan_error *err);
/* Whoever ran it is gone: tell it as interrupted, or, where a step was begun, as one whose outcome
 * is unknown. */
bool mpl_stored_abandon(mpl_stored *stored);
/* The machine, to be looked at or resumed: its plan is taken as it stands, whatever is registered
 * now. What `stored` holds goes over to it. */
mpl_job *mpl_stored_machine(mpl_stored *stored, moonplan_error *err);
/* The same with a plan that was admitted anew; taken over, also after an error. */
mpl_job *mpl_stored_restore(mpl_stored *stored, moonplan_step_plan *plan, moonplan_error *err);
/* Fill it in with a job that is in memory. */
bool mpl_stored_copy(mpl_stored *stored, const mpl_job *job, moonplan_error *err);
/* Admit a stored plan in front of this catalogue, with limits that do not refuse what was taken
 * once. Takes stored->plan over. */
moonplan_step_plan *mpl_stored_admit(mpl_stored *stored, const mpl_admission *admission,
                                     moonplan_error *err);

#endif
