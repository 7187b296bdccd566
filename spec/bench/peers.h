/* What moonplan is measured beside, where it is there. */
#ifndef MOONPLAN_BENCH_PEERS_H
#define MOONPLAN_BENCH_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* simdjson's DOM reader; there must be DOCUMENT_PADDING bytes behind the text. */
bool simdjson_reads(const char *text, size_t length);
const char *simdjson_kernel(void);

/* The whole job in Rust, as one writes it and with what makes it faster; false for what is no
 * valid plan. */
bool rust_digest(uint8_t out[32], const char *text, size_t length);
bool rust_digest_tuned(uint8_t out[32], const char *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
