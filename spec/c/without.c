/* without CALL WORD...: run the words where a system call is not there, as on a kernel that lacks
 * it, or under a filter that refuses it. CALL is seccomp, landlock, close_range, pidfd_open,
 * pidfd_send_signal, waitid or none. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int deny(long call) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static long find(const char *name) {
    static const struct {
        const char *name;
        long call;
    } calls[] = {{"close_range", SYS_close_range},
                 {"pidfd_open", SYS_pidfd_open},
                 {"pidfd_send_signal", SYS_pidfd_send_signal},
                 {"waitid", SYS_waitid}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0) return calls[i].call;
    return -1;
}

int main(int count, char **words) {
    if (count < 3) return 1;
    if (strcmp(words[1], "seccomp") == 0) {
        /* Where this call is not there, a filter is loaded by prctl: that one is told so as well.
         */
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = {sizeof code / sizeof *code, code};
        if (deny(SYS_seccomp) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
            return 1;
    } else if (strcmp(words[1], "landlock") == 0) {
        if (deny(SYS_landlock_create_ruleset) < 0) return 1;
    } else if (strcmp(words[1], "none") != 0) {
        long call = find(words[1]);
        if (call < 0 || deny(call) < 0) return 1;
    }
    execvp(words[2], words + 2);
    perror(words[2]);
    return 1;
}
