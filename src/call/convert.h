/* Between call plans and batches of other standards: what both directions and all formats share. */
#ifndef MPL_CALL_CONVERT_H
#define MPL_CALL_CONVERT_H

#include "../core/build.h"
#include "../core/faults.h"
#include "../core/uint256.h"
#include "plan.h"

typedef struct mpl_conversion {
    moonplan_options options; /* one fault, required capabilities not enforced */
    mpl_alloc alloc;
    mpl_arena arena;
    mpl_faults faults, notes;
    moonplan_error_list *lost; /* the notes, once they are complete */
    mpl_builder builder;
} mpl_conversion;

void mpl_convert_open(mpl_conversion *c, const moonplan_options *options);
/* The finished document, if there was no fault; else NULL with *err. Ends the conversion. */
moonplan_document *mpl_convert_document(mpl_conversion *c, moonplan_error_list **lost,
                                        moonplan_error *err);
/* The same, validated as a call plan. */
moonplan_call_plan *mpl_convert_plan(mpl_conversion *c, moonplan_error_list **lost,
                                     moonplan_error *err);
/* Give up without an error of its own. */
void mpl_convert_drop(mpl_conversion *c);
/* A plan from a document that `read` takes apart; what is lost on the way as the public functions
 * have it. */
moonplan_call_plan *
mpl_convert_read(const char *text, size_t length, moonplan_text account,
                 void (*read)(mpl_conversion *c, moonplan_value root, moonplan_text account),
                 moonplan_error_list **lost, const moonplan_options *options, moonplan_error *err);
/* True if going on is of no use. */
bool mpl_convert_failed(const mpl_conversion *c);

#define MPL_REFUSE(c, code, value, ...) MPL_FAULT(&(c)->faults, MOONPLAN_##code, value, __VA_ARGS__)

/* Something that is left behind. */
#define MPL_LOSE(c, code, value, ...) MPL_FAULT(&(c)->notes, MOONPLAN_##code, value, __VA_ARGS__)

/* -- Out of a plan -----------------------------------------------------------*/

/* Refuse what no batch can carry; list what none does. True with atomic_batch. */
bool mpl_convert_leave(mpl_conversion *c, const moonplan_call_plan *plan);

/* -- Into a plan -------------------------------------------------------------*/

/* An object with these members and no others. */
void mpl_convert_shape(mpl_conversion *c, const mpl_shape *shape, moonplan_value object);

/* Values of a batch; {NULL, 0} after a fault. Lower case, in the arena or the document. */
moonplan_text mpl_convert_string(mpl_conversion *c, const char *what, moonplan_value value);
moonplan_text mpl_convert_address(mpl_conversion *c, const char *what, moonplan_value value);
moonplan_text mpl_convert_bytes(mpl_conversion *c, const char *what, moonplan_value value);
/* An Ethereum JSON-RPC quantity as a decimal. */
moonplan_text mpl_convert_quantity(mpl_conversion *c, const char *what, moonplan_value value);
/* A chain's number as a decimal: refused where no plan should name it, a note where it is 0. */
void mpl_convert_chain(mpl_conversion *c, moonplan_text chain_id, moonplan_value value);
/* The sender: the batch's own ({NULL, 0}: it has none), which must not contradict the account. */
moonplan_text mpl_convert_sender(mpl_conversion *c, moonplan_text own, moonplan_value place,
                                 moonplan_text account);

/* The plan, in this order: begin, each step, end. */
void mpl_convert_begin(mpl_conversion *c, moonplan_text chain_id, moonplan_text sender);
void mpl_convert_step(mpl_conversion *c, size_t step, moonplan_text chain_id, moonplan_text sender,
                      moonplan_text to, moonplan_text data, moonplan_text value);
void mpl_convert_end(mpl_conversion *c, bool atomic);

/* How many steps a plan may have here. */
uint64_t mpl_convert_most(const mpl_conversion *c);

#endif
