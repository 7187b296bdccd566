/* Plans on lines, judged a page at a time by several threads, and handed out in order. */
#ifndef MPL_CLI_PAGES_H
#define MPL_CLI_PAGES_H

#include "../moonplan.h"
#include "input.h"

/* Takes of the options what moonplan_digest_many does, and as many threads, the caller's counted;
 * NULL when memory is short. From the first call below the input is in their hands: bytes, start,
 * whole, end, room, ended and failed may be looked at and changed only after one that gave false.
 */
mpl_pages *mpl_pages_new(mpl_input *in, const moonplan_options *options);
/* Waits for the threads, which finish the pages that they are at. */
void mpl_pages_free(mpl_pages *pages);

/* What is known of the next lines. */
typedef struct mpl_run {
    const char *digests; /* 0x, 64 digits and LF for each plan */
    size_t length;
    size_t lines; /* of plans, and blank ones */
} mpl_run;

/* The digests of the plans on the next lines; no lines where the next one is no valid plan. False
 * where no whole line can be had: at the end, or before a line over the limit. */
bool mpl_pages_run(mpl_input *in, mpl_run *run);
/* The next line, without its LF, whatever it is; false as above. It stays until the next call. */
bool mpl_pages_line(mpl_input *in, moonplan_text *line);

#endif
