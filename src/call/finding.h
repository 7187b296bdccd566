/* Findings: collecting them, and what more than one kind of review judges by. */
#ifndef MPL_CALL_FINDING_H
#define MPL_CALL_FINDING_H

#include "../core/error.h"
#include "../core/uint256.h"

/* How little would be missed without a finding. */
typedef enum mpl_loose {
    MPL_AGAIN = 0, /* its code was found in the same step before */
    MPL_ELSEWHERE, /* ... in another one */
    MPL_LOOSE      /* how many these are; what is the first of its code is never dropped */
} mpl_loose;

/* Of each severity `most` are kept and the rest is counted, so that a plan cannot push a grave
 * finding out with a thousand light ones, nor with a thousand others as grave: for the first of its
 * code, or of its code in a step, the last one that would be missed less is dropped. Where the
 * codes alone are more than `most`, one of each is kept. */
typedef struct mpl_findings {
    mpl_alloc alloc;
    mpl_arena arena;
    moonplan_finding *items; /* without severity: dropped, until they are finished */
    size_t count, capacity;
    size_t *before, before_capacity;              /* for each: the one that was loose before it */
    size_t loose[MOONPLAN_DANGER + 1][MPL_LOOSE]; /* the last one, from 1; 0: there is none */
    size_t kept[MOONPLAN_DANGER + 1];
    size_t last_step[MOONPLAN_FINDING_COUNT];
    bool known[MOONPLAN_FINDING_COUNT]; /* one of that code is there */
    uint64_t total[MOONPLAN_DANGER + 1], most;
    moonplan_error scratch;
    bool no_memory;
} mpl_findings;

void mpl_findings_open(mpl_findings *findings, const moonplan_options *options);
/* Bring them into their order, and count in closing entries what was not kept. */
bool mpl_findings_finish(mpl_findings *findings);
void mpl_findings_close(mpl_findings *findings);

/* Count one; true if it is to be kept. */
bool mpl_findings_room(mpl_findings *findings, moonplan_finding_code code, size_t step);
/* Put more text behind the message in `scratch`. */
void mpl_findings_append(mpl_findings *findings, const char *text);
/* Keep one, with the message in `scratch`. */
void mpl_findings_add(mpl_findings *findings, moonplan_finding_code code, size_t step,
                      moonplan_text call, const char *at);

/* A finding; the format is that of mpl_error_set. */
#define MPL_FIND(findings, code, step, call, at, ...)                                              \
    do {                                                                                           \
        if (mpl_findings_room(findings, code, step)) {                                             \
            mpl_error_set(&(findings)->scratch, MOONPLAN_OK, MOONPLAN_NO_OFFSET, NULL,             \
                          __VA_ARGS__);                                                            \
            mpl_findings_add(findings, code, step, call, at);                                      \
        }                                                                                          \
    } while (0)

/* An amount that stands for "everything". Contracts take 2^256-1, 2^160-1 (Permit2) or 2^96-1
 * (tokens that count votes) as endless; no supply of a token worth anything comes near 2^128-1, so
 * that and more are endless in effect. 2^96-1 and 2^112-1 are endless only to the digit: the
 * supplies of real tokens are of their size. */
bool mpl_is_unlimited(mpl_uint256 amount);

/* When something expires: "2106-02-07 06:28:15 UTC", or beyond the year 9999 "never, in effect".
 * NUL-terminated. Returns the length. */
#define MPL_TIME_TEXT 64
size_t mpl_time_text(char out[MPL_TIME_TEXT], mpl_uint256 seconds);
/* More than 90 days from now; with `now` 0, not before the year 2100. */
bool mpl_is_far(mpl_uint256 seconds, uint64_t now);

#endif
