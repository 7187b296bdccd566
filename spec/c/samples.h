/* Documents for the C tests, written into one growing text. */
#ifndef MOONPLAN_SPEC_SAMPLES_H
#define MOONPLAN_SPEC_SAMPLES_H

#include <stddef.h>

typedef struct sample {
    char *bytes; /* a NUL stands behind them */
    size_t length, capacity;
} sample;

/* Append as printf does. */
void sample_add(sample *out, const char *format, ...);
void sample_repeat(sample *out, const char *piece, size_t times);
void sample_free(sample *out);

/* Plans of the sizes in which wallets meet them; each starts a new text. */
sample plan_tiny(void);                       /* 1 step, no calldata: 324 bytes */
sample plan_swap(void);                       /* 3 steps with everything: 4.4 KB */
sample plan_many(size_t steps, size_t bytes); /* so many steps with so many bytes of calldata */
/* A one-step plan with more members behind ordered_steps, comma included. */
sample plan_with(const char *rest);
/* A plan with `faults` unknown members. */
sample plan_faulty(size_t faults);

#endif
