/* What moonplan is measured beside, where it is there. */
#ifndef MOONPLAN_BENCH_PEERS_H
#define MOONPLAN_BENCH_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* simdjson's DOM reader; there must be DOCUMENT_PADDING bytes behind the text. */
bool simdjson_reads(const char *text, size_t length);
const char *simdjson_kernel(void);

#ifdef __cplusplus
}
#endif

#endif
