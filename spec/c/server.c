/* _GNU_SOURCE comes from the build: unshare. */
#include "server.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

void server_isolate(void) {
    struct ifreq loopback = {.ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        check_skip("no network of its own here; the tests keep to loopback all the same");
        return;
    }
    int any = socket(AF_INET, SOCK_DGRAM, 0);
    memcpy(loopback.ifr_name, "lo", 3);
    CHECK(ioctl(any, SIOCSIFFLAGS, &loopback) == 0);
    close(any);
}

void server_folder(server *s) {
    memset(s, 0, sizeof *s);
    strcpy(s->folder, "/tmp/moonplan-fetch-XXXXXX");
    if (!CHECK(mkdtemp(s->folder) != NULL)) exit(1);
    snprintf(s->ca_file, sizeof s->ca_file, "%s/ca.pem", s->folder);
}

void server_put(const server *s, const char *name, const char *bytes, size_t length) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    if (!file) return;
    CHECK(fwrite(bytes, 1, length, file) == length);
    fclose(file);
}

/* A line without its end; empty at the end of the input. */
static void read_line(const server *s, char *out, size_t room) {
    size_t length = 0;
    char byte;
    while (read(s->out, &byte, 1) == 1 && byte != '\n')
        if (length + 1 < room) out[length++] = byte;
    out[length] = 0;
}

/* The number that stands there, and on to what is behind it. */
static unsigned next_number(char **at) {
    char *end;
    unsigned long number = strtoul(*at, &end, 10);
    CHECK(end != *at);
    *at = end;
    return (unsigned)number;
}

static void ask(server *s, const char *question, char *out, size_t room) {
    size_t length = strlen(question);
    CHECK(write(s->in, question, length) == (ssize_t)length);
    read_line(s, out, room);
}

bool server_start(server *s) {
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    char line[256];
    if (!CHECK(pipe(to) == 0 && pipe(from) == 0)) return false;
    s->child = fork();
    if (s->child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execlp("python3", "python3", "-W", "ignore", "spec/support/fetch_server.py", s->folder,
               (char *)NULL);
        puts("skip there is no python3 to run the server");
        fflush(stdout);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    s->in = to[1];
    s->out = from[0];
    read_line(s, line, sizeof line);
    if (strncmp(line, "ready ", 6) == 0) {
        char *at = line + 6;
        s->secure = (uint16_t)next_number(&at);
        s->plain = (uint16_t)next_number(&at);
        s->old = (uint16_t)next_number(&at);
        s->internal = (uint16_t)next_number(&at);
        return true;
    }
    if (CHECK(strncmp(line, "skip ", 5) == 0)) check_skip(line + 5);
    return false;
}

void server_stop(server *s) {
    char command[80];
    if (s->child > 0) {
        close(s->in);
        close(s->out);
        CHECK(waitpid(s->child, NULL, 0) == s->child);
    }
    snprintf(command, sizeof command, "rm -r %s", s->folder);
    CHECK(system(command) == 0);
}

void server_stats(server *s, unsigned *requests, unsigned *internal, unsigned *peak) {
    char line[64];
    ask(s, "stats\n", line, sizeof line);
    char *at = line;
    *requests = next_number(&at);
    *internal = next_number(&at);
    *peak = next_number(&at);
}

void server_last(server *s, char *out, size_t room) {
    char line[8192];
    size_t length = 0;
    ask(s, "last\n", line, sizeof line);
    CHECK(sodium_hex2bin((unsigned char *)out, room - 1, line, strlen(line), NULL, &length, NULL) ==
          0);
    out[length] = 0;
}

void server_reset(server *s) {
    char line[16];
    ask(s, "reset\n", line, sizeof line);
}

void server_loopback(int *family, void *address, unsigned *length, uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(address, &to, sizeof to);
    *family = AF_INET;
    *length = sizeof to;
}
