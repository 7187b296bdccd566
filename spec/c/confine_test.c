/* What a confined process can still do, tried with bare system calls by processes that this test
 * forks and confines as a runner is. A call that is not allowed ends the process with SIGSYS, or
 * fails with EPERM or EACCES. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/runner/confine.h"
#include "check.h"

/* Exit statuses of the forked processes; less is an errno. */
enum { FINE = 200, UNCONFINED, ALLOWED, NOT_BEGUN };

#define MEMORY (UINT64_C(64) << 20)

typedef struct child {
    pid_t pid;
    int socket, lifeline; /* our ends */
} child;

/* Fork; in the new process, 0 and 1 are what a runner has there, and `body` decides how it ends. */
static child start(void (*body)(void)) {
    int sockets[2], pipes[2];
    child made = {-1, -1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0 ||
        pipe2(pipes, O_CLOEXEC) < 0)
        abort();
    fflush(stdout);
    made.pid = fork();
    if (made.pid == 0) {
        dup2(sockets[1], MPL_RUNNER_SOCKET);
        dup2(pipes[0], MPL_RUNNER_LIFELINE);
        body();
        _exit(FINE);
    }
    close(sockets[1]);
    close(pipes[0]);
    made.socket = sockets[0];
    made.lifeline = pipes[1];
    return made;
}

/* The exit status, or the signal as a negative number. */
static int finish(child *made) {
    int status = 0;
    waitpid(made->pid, &status, 0);
    close(made->socket);
    close(made->lifeline);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int outcome(void (*body)(void)) {
    child made = start(body);
    return finish(&made);
}

static void confine(void) {
    if (mpl_confine_begin(getppid(), true)) _exit(NOT_BEGUN);
    if (mpl_confine(MEMORY)) _exit(UNCONFINED);
}

/* -- What is refused -----------------------------------------------------------*/

static struct probe {
    const char *name;
    long arguments[7]; /* the system call, and its arguments */
} probe;

static void try_probe(void) {
    const long *a = probe.arguments;
    confine();
    long result = syscall(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    _exit(result < 0 ? errno : ALLOWED);
}

#define POINTER(pointer) ((long)(uintptr_t)(pointer))
#define CLONE_AS_FORK    SIGCHLD

static void bare_system_calls_are_refused(void) {
    static char *const words[] = {"true", NULL};
    const struct probe probes[] = {
        {"openat", {SYS_openat, AT_FDCWD, POINTER("/etc/passwd"), O_RDONLY}},
        {"openat, to write", {SYS_openat, AT_FDCWD, POINTER("/tmp"), O_TMPFILE | O_WRONLY, 0600}},
        {"memfd_create", {SYS_memfd_create, POINTER("x"), 0}},
        {"socket, TCP", {SYS_socket, AF_INET, SOCK_STREAM, 0}},
        {"socket, UDP", {SYS_socket, AF_INET6, SOCK_DGRAM, 0}},
        {"socket, local", {SYS_socket, AF_UNIX, SOCK_STREAM, 0}},
        {"execve", {SYS_execve, POINTER("/bin/true"), POINTER(words), POINTER(words + 1)}},
        {"execveat", {SYS_execveat, AT_FDCWD, POINTER("/bin/true"), POINTER(words), 0, 0}},
        {"clone", {SYS_clone, CLONE_AS_FORK}},
        {"clone, a thread", {SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND}},
        {"clone3", {SYS_clone3, 0, 0}},
        {"ptrace", {SYS_ptrace, 16 /* PTRACE_ATTACH */, getpid()}},
        {"process_vm_readv", {SYS_process_vm_readv, getpid(), 0, 0, 0, 0, 0}},
        {"kill", {SYS_kill, getpid(), 0}},
        {"pidfd_open", {SYS_pidfd_open, getpid(), 0}},
        {"mmap, to execute",
         {SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
        {"mmap, shared", {SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0}},
        {"mmap, of a file", {SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, 0, 0}},
        {"mprotect, to execute",
         {SYS_mprotect, POINTER(&probe) & -4096, 4096, PROT_READ | PROT_EXEC}},
        {"write, elsewhere", {SYS_write, MPL_RUNNER_LIFELINE, POINTER("x"), 1}},
        {"read, elsewhere", {SYS_read, MPL_RUNNER_LIFELINE, POINTER(&probe), 1}},
        {"sendmsg", {SYS_sendmsg, MPL_RUNNER_SOCKET, 0, 0}},
        {"recvmsg", {SYS_recvmsg, MPL_RUNNER_SOCKET, 0, 0}},
        {"dup", {SYS_dup, MPL_RUNNER_SOCKET}},
        {"fcntl", {SYS_fcntl, MPL_RUNNER_LIFELINE, F_SETFL, 0}},
        {"ioctl", {SYS_ioctl, MPL_RUNNER_SOCKET, 0x5412 /* TIOCSTI */, POINTER("x")}},
        {"prctl", {SYS_prctl, PR_SET_DUMPABLE, 1}},
        {"prctl, of its parent's death", {SYS_prctl, PR_SET_PDEATHSIG, 0}},
        {"prlimit64", {SYS_prlimit64, 0, RLIMIT_AS, 0, POINTER(&probe)}},
#ifndef MOONPLAN_SANITIZED
        {"rt_sigaction", {SYS_rt_sigaction, SIGTERM, 0, 0, 8}},
#endif
        {"setsid", {SYS_setsid}},
        {"unshare", {SYS_unshare, CLONE_NEWUSER}},
        {"io_uring_setup", {SYS_io_uring_setup, 1, POINTER(&probe)}},
        {"bpf", {SYS_bpf, 0, POINTER(&probe), 16}},
        {"userfaultfd", {SYS_userfaultfd, 0}},
        {"shmget", {SYS_shmget, 0, 4096, 0600}},
        {"nanosleep", {SYS_nanosleep, POINTER(&probe), 0}},
#ifdef __x86_64__
        {"of another ABI (x32)", {0x40000000 | SYS_openat, AT_FDCWD, POINTER("/"), O_RDONLY}},
#endif
    };
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        probe = probes[i];
        int ended = outcome(try_probe);
        if (!check(ended == -SIGSYS || ended == EPERM || ended == EACCES, __FILE__, __LINE__,
                   probe.name))
            printf("# it came to %d\n", ended);
    }
}

#ifdef __x86_64__
/* By the gate that 32-bit programs use, where 5 is open. */
static void call_as_32_bit(void) {
    long result;
    confine();
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(5), "b"(0), "c"(0), "d"(0) : "memory");
    _exit(result < 0 ? (int)-result : ALLOWED);
}
static void system_calls_of_32_bit_are_refused(void) {
    int ended = outcome(call_as_32_bit);
    /* A kernel without that gate has SIGSEGV for it. */
    CHECK(ended == -SIGSYS || ended == -SIGSEGV || ended == ENOSYS);
}
#endif

/* -- What is left ----------------------------------------------------------------*/

static void use_what_is_left(void) {
    char byte = 0;
    confine();
    char *memory = malloc(1 << 20);
    if (!memory) _exit(1);
    memset(memory, 7, 1 << 20);
    char *more = realloc(memory, 24 << 20);
    if (!more) _exit(2);
    memset(more, 7, 24 << 20);
    free(more);
#ifndef MOONPLAN_SANITIZED
    void *volatile too_much = malloc((size_t)1 << 31); /* an error, and nothing worse */
    if (too_much) _exit(3);
#endif
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) < 0) _exit(4);
    if (syscall(SYS_getrandom, &byte, 1, 0) != 1) _exit(5);
    if (read(MPL_RUNNER_SOCKET, &byte, 1) != 1 || byte != 'a') _exit(6);
    if (write(MPL_RUNNER_SOCKET, "b", 1) != 1) _exit(7);
    _exit(FINE);
}

static void memory_the_clock_and_the_socket_are_left(void) {
    char byte = 0;
    child made = start(use_what_is_left);
    CHECK(write(made.socket, "a", 1) == 1);
    CHECK(read(made.socket, &byte, 1) == 1 && byte == 'b');
    CHECK(finish(&made) == FINE);
}

/* -- How it looks from outside -----------------------------------------------------*/

static void wait_confined(void) {
    char byte;
    confine();
    if (write(MPL_RUNNER_SOCKET, "c", 1) != 1) _exit(1);
    if (read(MPL_RUNNER_SOCKET, &byte, 1) != 1) _exit(2);
    _exit(FINE);
}

/* A line of /proc/PID/status, without its name. */
static bool status_is(pid_t pid, const char *name, const char *wanted) {
    char path[64], line[256];
    bool same = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        size_t length = strlen(name);
        if (strncmp(line, name, length) != 0 || line[length] != ':') continue;
        line[strcspn(line, "\n")] = 0;
        const char *value = line + length + 1 + strspn(line + length + 1, "\t ");
        same = strcmp(value, wanted) == 0;
        if (!same) printf("# %s: %s\n", name, value);
    }
    if (file) fclose(file);
    return same;
}

static bool limited(pid_t pid, __rlimit_resource_t resource, rlim_t most) {
    struct rlimit limit = {0, 0};
    return prlimit(pid, resource, NULL, &limit) == 0 && limit.rlim_cur <= most &&
           limit.rlim_max <= most;
}

static void a_confined_process_has_nothing(void) {
    char byte = 0;
    child made = start(wait_confined);
    CHECK(read(made.socket, &byte, 1) == 1 && byte == 'c');
    CHECK(status_is(made.pid, "NoNewPrivs", "1"));
    CHECK(status_is(made.pid, "Seccomp", "2"));
    CHECK(status_is(made.pid, "CapEff", "0000000000000000"));
    CHECK(status_is(made.pid, "CapPrm", "0000000000000000"));
    CHECK(limited(made.pid, RLIMIT_CORE, 0));
    CHECK(limited(made.pid, RLIMIT_FSIZE, 0));
    CHECK(limited(made.pid, RLIMIT_NPROC, 0));
    CHECK(limited(made.pid, RLIMIT_NOFILE, 8));
#ifndef MOONPLAN_SANITIZED
    CHECK(limited(made.pid, RLIMIT_AS, 4 * MEMORY));
#endif
    CHECK(write(made.socket, "d", 1) == 1);
    CHECK(finish(&made) == FINE);
}

/* -- Descriptors -------------------------------------------------------------------*/

/* Which are open, as bits, once a process has begun to confine itself. */
static void tell_descriptors(void) {
    char open_ones[64] = "";
    for (int i = 20; i < 1000; i += 49) dup2(MPL_RUNNER_SOCKET, i);
    if (mpl_confine_begin(getppid(), true)) _exit(NOT_BEGUN);
    for (int i = 0; i < 1024; i++)
        if (fcntl(i, F_GETFD) >= 0) snprintf(open_ones + strlen(open_ones), 8, "%d ", i);
    if (write(MPL_RUNNER_SOCKET, open_ones, strlen(open_ones)) < 0) _exit(1);
    _exit(FINE);
}

static void no_descriptor_is_inherited(void) {
    char told[64] = "";
    /* Without close-on-exec, as hosts forget it. */
    int forgotten = open("/dev/null", O_RDONLY);
    child made = start(tell_descriptors);
    CHECK(read(made.socket, told, sizeof told - 1) > 0);
    CHECK(finish(&made) == FINE);
#ifdef MOONPLAN_SANITIZED
    CHECK_TEXT("0 1 2 ", ((moonplan_text){told, strlen(told)}));
#else
    CHECK_TEXT("0 1 ", ((moonplan_text){told, strlen(told)}));
#endif
    close(forgotten);
}

/* -- With its parent -----------------------------------------------------------------*/

static void begin_with_another_parent(void) {
    const char *lacking = mpl_confine_begin(getppid() + 1, true);
    _exit(lacking && !*lacking ? FINE : ALLOWED);
}

static void spin_confined(void) {
    confine();
    if (write(MPL_RUNNER_SOCKET, "c", 1) != 1) _exit(1);
    for (volatile unsigned n = 0;; n++) {
    }
}

/* As from a thread that may end before its process does. */
static void spin_on_the_lifeline(void) {
    if (mpl_confine_begin(getppid(), false)) _exit(NOT_BEGUN);
    if (mpl_confine(MEMORY)) _exit(UNCONFINED);
    if (write(MPL_RUNNER_SOCKET, "c", 1) != 1) _exit(1);
    for (volatile unsigned n = 0;; n++) {
    }
}

static void it_ends_with_its_parent(void) {
    char byte;
    CHECK(outcome(begin_with_another_parent) == FINE);
    void (*const bodies[])(void) = {spin_confined, spin_on_the_lifeline};
    for (size_t i = 0; i < 2; i++) {
        child made = start(bodies[i]);
        CHECK(read(made.socket, &byte, 1) == 1);
        close(made.lifeline); /* as the kernel does when a process ends */
        made.lifeline = -1;
        CHECK(finish(&made) == -SIGKILL);
    }
}

/* -- Without what it needs -------------------------------------------------------------*/

/* From now on a system call of this process and its children, with this first argument (-1: any),
 * fails so; 0: it does nothing, and says that it did. */
static void deny(long call, long first, int error) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)first, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (first < 0) code[3].jf = 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        _exit(NOT_BEGUN);
}

static bool says(const char *text, const char *word) {
    return text && strstr(text, word);
}

static void without_seccomp(void) {
    if (mpl_confine_begin(getppid(), true)) _exit(NOT_BEGUN);
    deny(SYS_seccomp, -1, EPERM);
    _exit(says(mpl_confine(MEMORY), "seccomp") ? FINE : ALLOWED);
}
static void without_landlock(void) {
    if (mpl_confine_begin(getppid(), true)) _exit(NOT_BEGUN);
    deny(SYS_landlock_create_ruleset, -1, ENOSYS);
    _exit(says(mpl_confine(MEMORY), "Landlock") ? FINE : ALLOWED);
}
static void without_landlock_at_last(void) {
    if (mpl_confine_begin(getppid(), true)) _exit(NOT_BEGUN);
    deny(SYS_landlock_restrict_self, -1, E2BIG);
    _exit(says(mpl_confine(MEMORY), "Landlock") ? FINE : ALLOWED);
}

static void what_the_kernel_lacks_is_told(void) {
    CHECK(outcome(without_seccomp) == FINE);
    CHECK(outcome(without_landlock) == FINE);
    CHECK(outcome(without_landlock_at_last) == FINE);
}

/* The filter of system calls is said to be there, and is not: what is left is refused by Landlock,
 * and by the limits. */
static void without_a_filter(void) {
    struct sockaddr_in nowhere = {.sin_family = AF_INET};
    deny(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0);
    if (mpl_confine_begin(getppid(), true)) _exit(NOT_BEGUN);
    if (mpl_confine(MEMORY)) _exit(UNCONFINED);
    if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES) _exit(1);
    if (open("/tmp", O_TMPFILE | O_WRONLY, 0600) >= 0 || errno != EACCES) _exit(2);
    execl("/bin/true", "true", (char *)NULL);
    if (errno != EACCES) _exit(3);
    int tcp = socket(AF_INET, SOCK_STREAM, 0); /* nothing is sent: no address is bound or called */
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    if (tcp >= 0 && version >= 4 &&
        (bind(tcp, (struct sockaddr *)&nowhere, sizeof nowhere) == 0 || errno != EACCES))
        _exit(4);
    if (version >= 6 && (kill(getppid(), 0) == 0 || errno != EPERM)) _exit(5);
    if (setuid(65534) == 0 && getuid() != 65534) _exit(6);
    _exit(FINE);
}

static void landlock_alone_refuses_files_too(void) {
    CHECK(outcome(without_a_filter) == FINE);
}

int main(void) {
    RUN(bare_system_calls_are_refused);
#ifdef __x86_64__
    RUN(system_calls_of_32_bit_are_refused);
#endif
    RUN(memory_the_clock_and_the_socket_are_left);
    RUN(a_confined_process_has_nothing);
    RUN(no_descriptor_is_inherited);
    RUN(it_ends_with_its_parent);
    RUN(what_the_kernel_lacks_is_told);
    RUN(landlock_alone_refuses_files_too);
    return check_end();
}
