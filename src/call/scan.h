/* The fast reader of call plans. */
#ifndef MPL_CALL_SCAN_H
#define MPL_CALL_SCAN_H

#include "plan.h"

/* Read a plan whose members come in the order of the standard's schema, in one pass over the text:
 * the plan, and the document in it, are what moonplan_document_parse and mpl_call_plan_read make of
 * it. NULL for whatever is unusual, wrong or too large for the memory at hand:
 * mpl_call_plan_collect says what it is, and can use the document that is in *left then. */
moonplan_call_plan *mpl_call_scan(moonplan_document **left, const char *text, size_t length,
                                  const moonplan_options *options);

#endif
