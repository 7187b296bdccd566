/* What the benches share: a clock, and the median of what it said. */
#ifndef MOONPLAN_BENCH_MEASURE_H
#define MOONPLAN_BENCH_MEASURE_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS_MOST 200

/* In microseconds. */
static inline double clock_of(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static inline int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of 1 to ROUNDS_MOST numbers, which stay in their order. */
static inline double median(const double *list, size_t count) {
    double sorted[ROUNDS_MOST];
    memcpy(sorted, list, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    return sorted[count / 2];
}

#endif
