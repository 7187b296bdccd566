/* What a runner gives up before it looks at a plugin: everything but its memory and one socket. */
#ifndef MPL_RUNNER_CONFINE_H
#define MPL_RUNNER_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptors that are left open. */
enum { MPL_RUNNER_SOCKET = 0, MPL_RUNNER_LIFELINE = 1 };

/* The exit status of a runner whose host is gone. */
#define MPL_RUNNER_ALONE 2

/* Close all other descriptors, and see to it that this process ends when its parent does. `parent`
 * is its number; `main_thread` says that the thread which made this process lives as long as the
 * parent. NULL, or what the system lacks; "" when the parent has ended already. */
const char *mpl_confine_begin(long parent, bool main_thread);

/* Give up the rest. `memory` is what the plugin may have, in bytes. NULL, or what the system lacks;
 * this process must not run a plugin then. */
const char *mpl_confine(uint64_t memory);

#endif
