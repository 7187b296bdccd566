#include "read.h"

void mpl_refuse(const moonplan_error *fault, const moonplan_options *options, moonplan_error *err) {
    mpl_faults faults;
    mpl_faults_open(&faults, options);
    moonplan_error *slot = mpl_faults_add(&faults);
    if (slot) *slot = *fault;
    mpl_faults_close(&faults, options, err);
}

moonplan_document *mpl_read_within(const char *text, size_t length, const char *limit,
                                   uint64_t most, const moonplan_options *options,
                                   moonplan_error *err) {
    moonplan_options own = *options;
    own.limits.document_bytes = most;
    if (length <= most) return moonplan_document_parse(text, length, &own, err);
    moonplan_error fault;
    mpl_error_set(&fault, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                  "the document is %u bytes long, more than the limit %s allows: %u",
                  (uint64_t)length, limit, most);
    mpl_refuse(&fault, options, err);
    return NULL;
}
