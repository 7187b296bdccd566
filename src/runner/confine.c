/* _GNU_SOURCE comes from the build. */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* -- With its parent ---------------------------------------------------------*/

/* The other end of this pipe is the parent's alone, and nothing is ever written to it: when it is
 * closed, however the parent ended, the kernel sends the signal that was asked for.
 * PR_SET_PDEATHSIG alone would not do: it comes when the thread ends that made this process, while
 * others of the parent's may be in the middle of a call. */
static const char *hold_lifeline(void) {
    struct pollfd lifeline = {.fd = MPL_RUNNER_LIFELINE, .events = POLLIN};
    if (fcntl(MPL_RUNNER_LIFELINE, F_SETOWN, getpid()) < 0 ||
        fcntl(MPL_RUNNER_LIFELINE, F_SETSIG, SIGKILL) < 0 ||
        fcntl(MPL_RUNNER_LIFELINE, F_SETFL, O_RDONLY | O_NONBLOCK | O_ASYNC) < 0)
        return "no signal can be had for the end of the host";
    return poll(&lifeline, 1, 0) == 0 ? NULL : ""; /* it may have been closed before */
}

static void look_for_parent(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number;
    (void)context;
    if (getppid() != (pid_t)info->si_value.sival_int) _exit(MPL_RUNNER_ALONE);
}

/* A fork of the parent holds the lifeline as well, and may outlive it. Where the kernel does not
 * tell of the parent's death it is looked for, this often in nanoseconds: a hold-up that nobody
 * waits for. The parent's number travels in the signal. */
#define LOOK_EVERY 250000000

static bool watch_parent(long parent) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    const struct itimerspec often = {{0, LOOK_EVERY}, {0, LOOK_EVERY}};
    timer_t timer;
    action.sa_sigaction = look_for_parent;
    event.sigev_value.sival_int = (int)parent;
    return sigaction(SIGALRM, &action, NULL) == 0 &&
           timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
           timer_settime(timer, 0, &often, NULL) == 0;
}

const char *mpl_confine_begin(long parent, bool main_thread) {
#ifdef MOONPLAN_SANITIZED
    const unsigned first = 3; /* what sanitizers write is to be read */
#else
    const unsigned first = 2;
#endif
    if (syscall(SYS_close_range, first, ~0U, 0) < 0)
        return "the kernel has no close_range, or does not let it be used";
    if (main_thread && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return "no signal can be had for the end of the host";
    if (!main_thread && !watch_parent(parent)) return "no timer can be had";
    if (getppid() != (pid_t)parent) return "";
    return hold_lifeline();
}

/* -- Limits ------------------------------------------------------------------*/

/* At most this much; where a limit is lower already, it stays. */
static bool lower(__rlimit_resource_t resource, rlim_t most) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0) return false;
    if (limit.rlim_max > most) limit.rlim_max = most;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

/* A host may have little stack for its threads; Lua nests as deep here as anywhere. */
#define STACK ((rlim_t)8 << 20)

static bool raise_stack(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0) return false;
    if (limit.rlim_cur >= STACK) return true;
    limit.rlim_cur = limit.rlim_max < STACK ? limit.rlim_max : STACK;
    return setrlimit(RLIMIT_STACK, &limit) == 0;
}

#ifndef MOONPLAN_SANITIZED
/* Bytes of address space in use. */
static uint64_t address_space(void) {
    char text[64];
    uint64_t pages = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t length = read(file, text, sizeof text);
        close(file);
        for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
            pages = pages * 10 + (uint64_t)(text[i] - '0');
    }
    if (pages == 0) return 64 << 20; /* no /proc: it is about 10 MiB */
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

#define LEAST_ROOM (UINT64_C(8) << 20)
#endif

static bool set_limits(uint64_t memory) {
#ifndef MOONPLAN_SANITIZED
    /* Beside the plugin's memory there are messages, and documents on their way in and out. */
    uint64_t room = 3 * memory > LEAST_ROOM ? 3 * memory : LEAST_ROOM;
    if (!lower(RLIMIT_AS, address_space() + room)) return false;
#else
    (void)memory;
#endif
    return raise_stack() && lower(RLIMIT_CORE, 0) && lower(RLIMIT_FSIZE, 0) &&
           lower(RLIMIT_NPROC, 0) && lower(RLIMIT_NOFILE, 8);
}

/* -- Privileges --------------------------------------------------------------*/

static bool drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
    memset(none, 0, sizeof none);
    return syscall(SYS_capset, &header, none) == 0;
}

/* -- Landlock ----------------------------------------------------------------
 * By its system calls and numbers: the headers of Debian 12 know it as of Linux 6.1. */

struct ruleset {
    uint64_t files, network, scopes;
};

static bool restrict_reach(void) {
    const uint64_t first = (UINT64_C(1) << 13) - 1; /* version 1: execute to make_sym */
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* ask for the version */);
    if (version < 1) return false;
    struct ruleset rules = {first, 0, 0};
    size_t size = sizeof rules.files;
    if (version >= 2) rules.files |= UINT64_C(1) << 13; /* refer */
    if (version >= 3) rules.files |= UINT64_C(1) << 14; /* truncate */
    if (version >= 4) {
        rules.network = 3; /* bind and connect by TCP */
        size += sizeof rules.network;
    }
    if (version >= 5) rules.files |= UINT64_C(1) << 15; /* ioctl on devices */
    if (version >= 6) {
        rules.scopes = 3; /* abstract sockets, signals */
        size += sizeof rules.scopes;
    }
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (ruleset < 0) return false;
    bool fine = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    close(ruleset);
    return fine;
}

/* -- System calls ------------------------------------------------------------*/

static bool allow(scmp_filter_ctx filter, int call) {
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) == 0;
}

static bool allow_on(scmp_filter_ctx filter, int call, unsigned descriptor) {
    const struct scmp_arg_cmp only = {
        .arg = 0, .op = SCMP_CMP_EQ, .datum_a = descriptor, .datum_b = 0};
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &only) == 0;
}

/* Of the bits `mask` of an argument, these are set. */
static struct scmp_arg_cmp bits(unsigned argument, unsigned mask, unsigned set) {
    return (struct scmp_arg_cmp){
        .arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = set};
}

/* Memory of nobody else's, in which nothing can be executed. */
static bool allow_memory(scmp_filter_ctx filter) {
    const struct scmp_arg_cmp map[] = {bits(2, PROT_EXEC, 0),
                                       bits(3, MAP_ANONYMOUS | MAP_SHARED, MAP_ANONYMOUS),
                                       bits(4, UINT32_MAX, UINT32_MAX)};
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 3, map) == 0 &&
           seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, map) == 0 &&
           allow(filter, SCMP_SYS(brk)) && allow(filter, SCMP_SYS(mremap)) &&
           allow(filter, SCMP_SYS(munmap)) && allow(filter, SCMP_SYS(madvise));
}

#ifdef MOONPLAN_SANITIZED
/* What the runtimes of sanitizers ask for, to report as well as to run. */
static bool allow_sanitizers(scmp_filter_ctx filter) {
    static const int calls[] = {SCMP_SYS(sigaltstack),  SCMP_SYS(sched_yield),
                                SCMP_SYS(gettid),       SCMP_SYS(getpid),
                                SCMP_SYS(futex),        SCMP_SYS(getrusage),
                                SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask)};
    bool fine = allow_on(filter, SCMP_SYS(write), STDERR_FILENO);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        fine = fine && allow(filter, calls[i]);
    return fine;
}
#endif

/* What is left: memory, the socket, the clock (of processor time, which no page in memory tells),
 * random bytes for hash keys, the look for the parent, and the end. All else ends the process,
 * whoever asks: clone, open, socket, execve and ptrace among it, also for root, whom RLIMIT_NPROC
 * does not bind. */
static bool filter_calls(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter) return false;
    bool fine = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
                allow_on(filter, SCMP_SYS(read), MPL_RUNNER_SOCKET) &&
                allow_on(filter, SCMP_SYS(write), MPL_RUNNER_SOCKET) && allow_memory(filter) &&
                allow(filter, SCMP_SYS(clock_gettime)) && allow(filter, SCMP_SYS(getrandom)) &&
                allow(filter, SCMP_SYS(getppid)) && allow(filter, SCMP_SYS(rt_sigreturn)) &&
                allow(filter, SCMP_SYS(exit_group)) && allow(filter, SCMP_SYS(restart_syscall));
#ifdef SYS_time /* Lua asks for it where it draws a seed; mostly a page in memory tells it */
    fine = fine && allow(filter, SCMP_SYS(time));
#endif
#ifdef MOONPLAN_SANITIZED
    fine = fine && allow_sanitizers(filter);
#endif
    fine = fine && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return fine;
}

const char *mpl_confine(uint64_t memory) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return "no_new_privs cannot be set";
    if (!drop_capabilities()) return "capabilities cannot be given up";
    if (!set_limits(memory)) return "resource limits cannot be set";
    /* After all that may set it back: not to be traced, nor looked at below /proc. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return "tracing cannot be ruled out";
    if (!restrict_reach()) return "the kernel has no Landlock, or does not let it be used";
    if (!filter_calls()) return "the kernel has no seccomp filters, or does not let them be used";
    return NULL;
}
