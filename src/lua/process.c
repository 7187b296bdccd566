/* _GNU_SOURCE comes from the build: close ranges, pidfds. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND      UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)
/* What a runner has to hand in an answer that it finished at the deadline. */
#define GRACE (10 * MILLISECOND)
/* Processor time is granted in rows of this many seconds, so that a call costs no system call more.
 * It ends a runner whose host has been stopped. */
#define PROCESSOR_ROW 60

static uint64_t clock_of(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static uint64_t now(void) {
    return clock_of(CLOCK_MONOTONIC);
}

void mpl_process_open(mpl_process *process) {
    process->open = false;
    process->socket = process->pidfd = process->lifeline = -1;
    process->deadline = process->hard = UINT64_MAX;
    process->reason[0] = 0;
    process->crowded = process->short_of_memory = false;
    mpl_buffer_open(&process->out, process->alloc);
    mpl_buffer_open(&process->in, process->alloc);
}

/* -- Ending ----------------------------------------------------------------*/

static void close_one(int *descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

/* A process that has got SIGKILL runs no more code of its own, and has ended as soon as the kernel
 * has given back what it had. If that takes so long, because a page of it stands on a disk that
 * does not answer, nobody waits for it. */
#define END_MS 5000

/* What it ended of, once it has; by its number where its pidfd is refused (see signal_end). */
static int wait_for_end(const mpl_process *process, siginfo_t *info) {
    int result, status;
    memset(info, 0, sizeof *info);
    do result = waitid(P_PIDFD, (id_t)process->pidfd, info, WEXITED);
    while (result < 0 && errno == EINTR);
    if (result == 0 || errno == ECHILD) return result;
    if (waitpid((pid_t)process->pid, &status, WNOHANG) != (pid_t)process->pid) return -1;
    info->si_code = WIFEXITED(status) ? CLD_EXITED : CLD_KILLED;
    info->si_status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    return 0;
}

/* Wait for the end of a process that is ending; what it ended of, unless somebody else has taken
 * that. */
static void reap(mpl_process *process, bool keep_reason) {
    struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
    siginfo_t info;
    int result;
    do result = poll(&ended, 1, END_MS);
    while (result < 0 && errno == EINTR);
    if (result == 0) {
        if (!keep_reason) snprintf(process->reason, sizeof process->reason, "it does not end");
        return;
    }
    process->short_of_memory = false;
    result = wait_for_end(process, &info);
    if (keep_reason) return;
    process->short_of_memory =
        result == 0 && info.si_code == CLD_EXITED && info.si_status == MPL_RUNNER_NO_MEMORY;
    if (result < 0)
        snprintf(process->reason, sizeof process->reason, "somebody else waited for it");
    else if (info.si_code == CLD_EXITED)
        snprintf(process->reason, sizeof process->reason, "exit %d", info.si_status);
    else
        snprintf(process->reason, sizeof process->reason, "signal %d", info.si_status);
}

/* Filters of system calls, such as containers set, may let a pidfd be opened and refuse to signal
 * by it. As long as it has not ended nobody has waited for it, and its number is its own. */
static void signal_end(const mpl_process *process) {
    struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
    if (syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0) == 0 || errno == ESRCH)
        return;
    if (poll(&ended, 1, 0) == 0) kill((pid_t)process->pid, SIGKILL);
}

static void end(mpl_process *process, bool keep_reason) {
    if (!process->open) return;
    process->open = false;
    /* A fork of the host has the descriptors as well, but the runner is not its child. */
    if (process->host == getpid()) {
        signal_end(process);
        reap(process, keep_reason);
    }
    close_one(&process->socket);
    close_one(&process->pidfd);
    close_one(&process->lifeline);
    mpl_buffer_close(&process->in);
}

void mpl_process_kill(mpl_process *process, const char *reason) {
    snprintf(process->reason, sizeof process->reason, "%s", reason);
    end(process, true);
}

void mpl_process_close(mpl_process *process) {
    end(process, true);
    mpl_buffer_close(&process->out);
    mpl_buffer_close(&process->in);
}

static mpl_heard died(mpl_process *process) {
    /* It ends by itself, and says of what: only the signal that is first counts. */
    end(process, false);
    return MPL_DIED;
}

static mpl_heard overdue(mpl_process *process) {
    mpl_process_kill(process, "it took too long");
    return MPL_OVERDUE;
}

static mpl_heard garbled(mpl_process *process) {
    mpl_process_kill(process, "it said what no runner says");
    return MPL_DIED;
}

static mpl_heard short_of_memory(mpl_process *process) {
    mpl_process_kill(process, "out of memory");
    return MPL_UNHEARD;
}

bool mpl_process_runs(mpl_process *process) {
    if (!process->open) return false;
    if (process->host != getpid()) {
        end(process, true);
        return false;
    }
    struct pollfd poll_it = {.fd = process->pidfd, .events = POLLIN};
    if (poll(&poll_it, 1, 0) > 0) end(process, false);
    return process->open;
}

/* -- Starting --------------------------------------------------------------*/

/* Away from 0 to 2, which the file actions below write over; a host may have these closed. */
static bool move_up(int *descriptor) {
    if (*descriptor > 2) return true;
    int moved = fcntl(*descriptor, F_DUPFD_CLOEXEC, 3);
    if (moved < 0) return false;
    close(*descriptor);
    *descriptor = moved;
    return true;
}

static bool is_main_thread(void) {
    return getpid() == (pid_t)syscall(SYS_gettid);
}

/* In the runner's place: its end of the socket as 0, of the lifeline as 1. */
static int spawn(const mpl_process *process, int socket, int lifeline, pid_t *pid) {
    static const char version[] = MPL_WIRE_VERSION;
    char parent[24];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    /* The signal that a parent's death sends comes when the thread ends that made the process, so
     * it can be had only from a thread that lives as long as the host does. */
    const char *words[] = {process->path, version, parent, is_main_thread() ? "main" : "thread",
                           NULL};
    char *const *arguments = (char *const *)(uintptr_t)words;
#ifdef MOONPLAN_SANITIZED
    char *const *environment = environ; /* what the sanitizers read */
    const int first_closed = 3;         /* and where they write */
#else
    char *const environment[] = {NULL};
    const int first_closed = 2;
#endif
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_init(&attributes);
    if (error) return error;
    error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        /* A session of its own: Control-C at the terminal is the host's. */
        error = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
        if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
        if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
        if (!error) error = posix_spawn_file_actions_adddup2(&actions, socket, 0);
        if (!error) error = posix_spawn_file_actions_adddup2(&actions, lifeline, 1);
        if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, first_closed);
        if (!error)
            error = posix_spawn(pid, process->path, &actions, &attributes, arguments, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* No number of an error. */
#define NO_PIDFD (-1)

static mpl_heard unstarted(mpl_process *process, int error) {
    const char *text = error == ENOENT                      ? "there is no such program"
                       : error == EACCES                    ? "it may not be run"
                       : error == EMFILE || error == ENFILE ? "too many files are open"
                       : error == EAGAIN                    ? "no more processes may be made"
                       : error == NO_PIDFD
                           ? "the kernel has no pidfds, or does not let them be used"
                           : NULL;
    process->crowded = error == EMFILE || error == ENFILE || error == EAGAIN;
    if (text)
        snprintf(process->reason, sizeof process->reason, "%s", text);
    else
        snprintf(process->reason, sizeof process->reason, "system error %d", error);
    return error == ENOMEM ? MPL_UNHEARD : MPL_UNSTARTED;
}

/* The runner that was spawned, before its pidfd is there: a name that is good, because nobody but
 * us waits for it in between. */
static void end_unnamed(pid_t pid) {
    int result;
    kill(pid, SIGKILL);
    do result = waitpid(pid, NULL, 0);
    while (result < 0 && errno == EINTR);
}

mpl_heard mpl_process_start(mpl_process *process) {
    int sockets[2] = {-1, -1}, pipes[2] = {-1, -1}, error = 0;
    pid_t pid = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0 ||
        pipe2(pipes, O_CLOEXEC) < 0 || !move_up(&sockets[1]) || !move_up(&pipes[0]))
        error = errno;
    if (!error) error = spawn(process, sockets[1], pipes[0], &pid);
    int pidfd = -1;
    if (!error) {
        pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (pidfd < 0) {
            error = errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : NO_PIDFD;
            end_unnamed(pid);
        }
    }
    close_one(&sockets[1]);
    close_one(&pipes[0]);
    if (error) {
        close_one(&sockets[0]);
        close_one(&pipes[1]);
        return unstarted(process, error);
    }
    process->open = true;
    process->socket = sockets[0];
    process->lifeline = pipes[1];
    process->pidfd = pidfd;
    process->pid = pid;
    process->host = getpid();
    process->spent = process->granted = 0;
    process->deadline = process->hard = UINT64_MAX;
    return MPL_HEARD;
}

/* -- Time ------------------------------------------------------------------*/

static uint64_t later(uint64_t time, uint64_t by) {
    return time > UINT64_MAX - by ? UINT64_MAX : time + by;
}

/* Processor time is never more than the time that passes, so that the sum of all deadlines is
 * enough. */
static void grant(mpl_process *process, uint64_t time) {
    process->spent = later(process->spent, time);
    uint64_t needed = process->spent / SECOND + 2;
    if (needed <= process->granted) return;
    process->granted = needed + PROCESSOR_ROW;
    struct rlimit limit = {process->granted, RLIM_INFINITY};
    prlimit((pid_t)process->pid, RLIMIT_CPU, &limit, NULL);
}

void mpl_process_limit(mpl_process *process, uint64_t milliseconds, uint64_t more) {
    uint64_t time = milliseconds * MILLISECOND + GRACE;
    grant(process, time);
    process->deadline = later(now(), time);
    process->hard = later(process->deadline, more * MILLISECOND);
}

mpl_waiting mpl_process_waiting(void) {
    return (mpl_waiting){now(), clock_of(CLOCK_THREAD_CPUTIME_ID)};
}

void mpl_process_waited(mpl_process *process, mpl_waiting since) {
    mpl_waiting at = mpl_process_waiting();
    uint64_t wall = at.wall - since.wall, processor = at.processor - since.processor;
    if (wall <= processor) return;
    process->deadline = later(process->deadline, wall - processor);
    if (process->deadline > process->hard) process->deadline = process->hard;
}

/* -- Talking ---------------------------------------------------------------*/

/* How often the host is asked whether it has lost interest. */
#define INTEREST (250 * MILLISECOND)

/* Until the socket is ready, or the runner has ended: whatever it said before that is there to be
 * read, and then the end of it. */
static bool wait_for(mpl_process *process, short events) {
    struct pollfd polls[2] = {{.fd = process->socket, .events = events},
                              {.fd = process->pidfd, .events = POLLIN}};
    for (;;) {
        uint64_t at = now();
        if (at >= process->deadline) return false;
        if (process->cancelled && process->cancelled(process->cancelled_data)) {
            process->deadline = 0;
            return false;
        }
        uint64_t left = process->deadline - at;
        if (process->cancelled && left > INTEREST) left = INTEREST;
        struct timespec time = {(time_t)(left / SECOND), (long)(left % SECOND)};
        int ready = ppoll(polls, 2, left > UINT64_MAX / 2 ? NULL : &time, NULL);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return true; /* the next read or write says why */
    }
}

/* What a large frame took is not kept for the small ones that follow. */
#define KEPT 65536

static void shrink(mpl_buffer *buffer) {
    if (buffer->capacity > KEPT) mpl_buffer_close(buffer);
}

mpl_heard mpl_process_say(mpl_process *process) {
    if (process->out.failed) return short_of_memory(process);
    const char *at = process->out.bytes;
    for (size_t left = process->out.length; left > 0;) {
        ssize_t sent = send(process->socket, at, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            at += sent;
            left -= (size_t)sent;
            /* A runner that reads little at a time is read to no longer than its time. */
            if (left > 0 && now() >= process->deadline) return overdue(process);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(process, POLLOUT)) return overdue(process);
        } else if (errno != EINTR) {
            return died(process);
        }
    }
    shrink(&process->out);
    return MPL_HEARD;
}

/* Bytes that are read at once: most answers. */
#define PIECE 4096

/* Room for more: what is promised is given as much memory again as has arrived of it, no more. */
static bool make_room(mpl_buffer *in, uint64_t whole) {
    if (in->capacity > in->length) return true;
    size_t size = in->length < PIECE ? PIECE : 2 * in->length;
    if (whole && size > whole) size = (size_t)whole;
    char *moved = mpl_resize(in->alloc, in->bytes, in->capacity, size);
    if (!moved) return false;
    in->bytes = moved;
    in->capacity = size;
    return true;
}

mpl_heard mpl_process_hear(mpl_process *process, mpl_frame *type, mpl_codec *in) {
    mpl_buffer *buffer = &process->in;
    uint64_t whole = 0; /* the frame's length, once it is known */
    shrink(buffer);
    buffer->length = 0;
    if (!wait_for(process, POLLIN)) return overdue(process);
    for (;;) {
        if (!make_room(buffer, whole)) return short_of_memory(process);
        ssize_t got = recv(process->socket, buffer->bytes + buffer->length,
                           buffer->capacity - buffer->length, MSG_DONTWAIT);
        if (got > 0) {
            buffer->length += (size_t)got;
            if (!whole && buffer->length >= MPL_WIRE_HEADER) {
                whole = (uint64_t)MPL_WIRE_HEADER + mpl_wire_length(buffer->bytes);
                if (whole > process->most) return garbled(process);
            }
            if (whole && buffer->length > whole) return garbled(process); /* out of turn */
            if (whole && buffer->length == whole) break;
            if (now() >= process->deadline) return overdue(process);
        } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(process, POLLIN)) return overdue(process);
        } else if (got == 0 || errno != EINTR) {
            return died(process);
        }
    }
    *type = (mpl_frame)(unsigned char)buffer->bytes[MPL_WIRE_HEADER - 1];
    const char *payload = buffer->bytes + MPL_WIRE_HEADER;
    *in = (mpl_codec){payload, payload, buffer->bytes + buffer->length};
    return MPL_HEARD;
}
