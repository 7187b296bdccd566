/* A runner as its host has it: a process that is started when it is needed, asked one thing at a
 * time, and killed when it does not answer in time or says what it must not.
 *
 * Nothing here touches what belongs to the host: no signal handler, no wait for children of others,
 * no SIGPIPE. A host that waits for any child, or ignores SIGCHLD, may take a runner's last word
 * (what it died of); the runner itself is found by its pidfd, and by its number only where a filter
 * of system calls refuses that. */
#ifndef MPL_LUA_PROCESS_H
#define MPL_LUA_PROCESS_H

#include "wire.h"

typedef struct mpl_process {
    /* Whoever opens it fills these in. */
    mpl_alloc *alloc;
    const char *path;              /* of the runner; it outlives the process */
    uint64_t most;                 /* bytes that the runner may say at once */
    bool (*cancelled)(void *data); /* whether nobody wants the answer any more; NULL: never */
    void *cancelled_data;
    /* Private. */
    bool open;
    int socket, pidfd, lifeline;
    int64_t pid, host; /* host: who started it */
    uint64_t deadline; /* nanoseconds of CLOCK_MONOTONIC: when it is killed; UINT64_MAX: never */
    uint64_t hard;     /* the same, for waits that do not count; see mpl_process_waited */
    uint64_t spent;    /* nanoseconds that it may have run for */
    uint64_t granted;  /* seconds of processor time that its limit allows */
    mpl_buffer out, in;
    bool
        short_of_memory; /* it ended because it lacked memory for what it was told, or had to say */
    bool crowded;        /* it could not be started for want of descriptors or processes */
    char reason[64];     /* what it died of, or what it did: "signal 11" */
} mpl_process;

typedef enum mpl_heard {
    MPL_HEARD,
    MPL_OVERDUE,  /* the deadline passed, or it is not wanted any more; it has been killed */
    MPL_DIED,     /* it ended, or was ended for what it said; see reason */
    MPL_UNHEARD,  /* memory is short; it has been killed */
    MPL_UNSTARTED /* it could not be started; see reason */
} mpl_heard;

void mpl_process_open(mpl_process *process);
/* Kills it. */
void mpl_process_close(mpl_process *process);
/* Whether there is one, as far as can be told without asking. */
bool mpl_process_runs(mpl_process *process);
/* Start it; it says nothing before it has got a LOAD frame. */
mpl_heard mpl_process_start(mpl_process *process);
/* Kill it now, for this reason. */
void mpl_process_kill(mpl_process *process, const char *reason);

/* From now on it has so many milliseconds of time; and so many more in which the host may wait on
 * behalf of it. */
void mpl_process_limit(mpl_process *process, uint64_t milliseconds, uint64_t more);
/* The host has waited for others on behalf of the runner, for what comes over a network: that does
 * not count, but for the processor time that it took. */
typedef struct mpl_waiting {
    uint64_t wall, processor;
} mpl_waiting;
mpl_waiting mpl_process_waiting(void);
void mpl_process_waited(mpl_process *process, mpl_waiting since);

/* Send the frame in process->out, which is finished, and hear the next one. *in is good until
 * something is said again. */
mpl_heard mpl_process_say(mpl_process *process);
mpl_heard mpl_process_hear(mpl_process *process, mpl_frame *type, mpl_codec *in);

/* -- Where the runner is (process_path.c) --------------------------------------*/

/* The first of the places where a build or an installation puts it, or NULL with the error
 * plugin.isolation. `given` (NULL: none) is the only place looked at when it is there. The text
 * goes into `out` with a NUL behind it. */
const char *mpl_runner_path(mpl_buffer *out, const moonplan_text *given, moonplan_error *err);

#endif
