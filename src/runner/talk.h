/* A runner's end of the socket. When the host is gone, or says what no host says, there is nobody
 * to tell it to: the process ends. */
#ifndef MPL_RUNNER_TALK_H
#define MPL_RUNNER_TALK_H

#include "../lua/wire.h"

typedef struct mpl_talk {
    mpl_buffer in, out;
} mpl_talk;

void mpl_talk_open(mpl_talk *talk, mpl_alloc *alloc);
/* Wait for a frame of this type; the fields are good until the next one is heard. */
mpl_codec mpl_talk_hear(mpl_talk *talk, mpl_frame type);
/* Finish the frame in talk->out, and send it. */
void mpl_talk_say(mpl_talk *talk);
/* End the process, because it cannot go on. */
_Noreturn void mpl_talk_end(int status);

#endif
