/* ExecutionPlan v1: admission. */
#ifndef MPL_STEP_PLAN_H
#define MPL_STEP_PLAN_H

#include "../core/faults.h"
#include "schema.h"

/* What admission and the job have to know of a capability. Borrowed from whoever found it. */
typedef struct mpl_capability {
    moonplan_text name, version, risk;
    const mpl_schema *input, *output; /* NULL: anything goes */
    const moonplan_text *missing;     /* powers that were not granted */
    size_t missing_count;
    bool lua_values;      /* mpl_unfit_next has a say */
    moonplan_text digest; /* 64 hexadecimal digits, for the record */
} mpl_capability;

/* Where capabilities are found. `find` gives NULL with err->code MOONPLAN_OK when there is none,
 * and with an error when there is one that cannot be used; what it gives is good until it is asked
 * again. `name` gives the n-th name for error texts, of those that are known without looking;
 * {NULL, 0} behind the last. */
typedef struct mpl_catalogue {
    const mpl_capability *(*find)(void *data, moonplan_text name, moonplan_error *err);
    moonplan_text (*name)(void *data, size_t n);
    void *data;
} mpl_catalogue;

/* Faults that were found while a plan was captured from host values: what stands in the document
 * at their places is not looked at. In the order of the steps, and within one in the order in which
 * they are to be told. */
typedef struct mpl_capture_fault {
    size_t step; /* MPL_CAPTURE_PLAN: outside the steps */
    moonplan_error error;
} mpl_capture_fault;
#define MPL_CAPTURE_PLAN SIZE_MAX

typedef struct mpl_admission {
    mpl_catalogue catalogue;
    const moonplan_text *versions; /* that a plan may have; none: any */
    size_t version_count;
    const mpl_capture_fault *faults; /* those of MPL_CAPTURE_PLAN first */
    size_t fault_count;
    bool powers_later; /* the plan is not run now: what is not granted is no fault */
} mpl_admission;

/* UINT32_MAX: absent. Nodes of the plan's document. */
typedef struct mpl_step {
    uint32_t node, id, capability, version, input, reason, key;
    bool references; /* there is one in the input */
} mpl_step;

typedef struct mpl_plan_reference {
    uint32_t node;
    uint32_t step, target;
} mpl_plan_reference;

struct moonplan_step_plan {
    mpl_alloc alloc;
    moonplan_document *document;
    moonplan_text goal; /* trimmed, in the document; or the contract's */
    uint32_t key;
    mpl_step *steps;
    size_t count, step_capacity;
    mpl_plan_reference *references;
    size_t reference_count, reference_capacity;
    moonplan_error_list *warnings;
    /* Ids to steps: open addressing, twice as large as the plan at least; 0: empty, else the step's
     * number from 1. The first step of an id stands for it. */
    uint32_t *table;
    size_t table_size;
    uint8_t hash_key[16];
};

/* Admit a document as a step plan. The plan takes the document over; after a refusal it is
 * freed. */
moonplan_step_plan *mpl_step_plan_admit(moonplan_document *document, const mpl_admission *admission,
                                        const moonplan_options *options, moonplan_error *err);
/* The first step with this id, or SIZE_MAX. */
size_t mpl_step_plan_find(const moonplan_step_plan *plan, moonplan_text id);
/* A member of a step as text, {NULL, 0} if absent; and as a value. */
moonplan_text mpl_step_text(const moonplan_step_plan *plan, uint32_t node);
moonplan_value mpl_step_value(const moonplan_step_plan *plan, uint32_t node);

#endif
