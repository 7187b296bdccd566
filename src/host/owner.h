/* Who runs a job: a name for this process that others can tell from that of any other, and whether
 * such a process is still there. */
#ifndef MPL_HOST_OWNER_H
#define MPL_HOST_OWNER_H

#include "../moonplan.h"

#define MPL_OWNER_SIZE 160

typedef enum mpl_presence {
    MPL_OWNER_GONE,
    MPL_OWNER_THERE,
    MPL_OWNER_ELSEWHERE /* on another machine, or where this process cannot see */
} mpl_presence;

/* A new name; two in one process differ. */
void mpl_owner_name(char out[MPL_OWNER_SIZE]);
/* `pid` is set where the owner is there. */
mpl_presence mpl_owner_presence(moonplan_text owner, uint64_t *pid);
/* The same, with another folder in /proc's place. */
mpl_presence mpl_owner_presence_in(const char *proc, moonplan_text owner, uint64_t *pid);
/* Milliseconds since 1970 by the system's clock, which all processes share. */
int64_t mpl_system_time(void);

#endif
