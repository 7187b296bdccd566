/* Documents whose length has a limit of its own. */
#ifndef MPL_CALL_READ_H
#define MPL_CALL_READ_H

#include "../core/faults.h"

/* As moonplan_document_parse, with `most` in place of document_bytes; `limit` is its name. */
moonplan_document *mpl_read_within(const char *text, size_t length, const char *limit,
                                   uint64_t most, const moonplan_options *options,
                                   moonplan_error *err);

/* One error that is no fault of a place in the document, to *err and the list of the options. */
void mpl_refuse(const moonplan_error *fault, const moonplan_options *options, moonplan_error *err);

#endif
