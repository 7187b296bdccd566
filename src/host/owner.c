/* "BOOT/SPACE/PID/START/RANDOM": the machine's boot id and the process id's namespace, within which
 * a process id and the time when that process began name one process and no other. */
#include "owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../core/text.h"

/* -- Texts without stdio, which this library leaves to its hosts -------------------*/

typedef struct line {
    char *at, *end; /* room for a NUL is left */
} line;

static void add(line *out, const char *text) {
    while (*text && out->at < out->end) *out->at++ = *text++;
    *out->at = 0;
}

static void add_number(line *out, uint64_t number) {
    char digits[21];
    digits[mpl_number_write(digits, number)] = 0;
    add(out, digits);
}

/* The number that a text begins with, which moves behind it; false if there is none. */
static bool take_number(const char **text, uint64_t *out) {
    const char *from = *text;
    *out = 0;
    for (; **text >= '0' && **text <= '9' && *text - from < 19; ++*text)
        *out = *out * 10 + (uint64_t)(**text - '0');
    return *text > from;
}

static bool read_file(char *out, size_t room, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, out, room - 1);
    close(file);
    if (length <= 0) return false;
    out[length] = 0;
    return true;
}

/* -- Processes ---------------------------------------------------------------------*/

#define PLACE 80

static void add_path(char out[PATH_MAX], const char *proc, const char *name) {
    line text = {out, out + PATH_MAX - 1};
    add(&text, proc);
    add(&text, name);
}

/* Whether `proc` counts processes as getpid does: it may have been mounted for another namespace of
 * process ids, and then what stands under a number there is somebody else. */
static bool is_ours(const char *proc) {
    char path[PATH_MAX], self[24], own[24];
    line text = {own, own + sizeof own - 1};
    add_path(path, proc, "/self");
    ssize_t length = readlink(path, self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = 0;
    add_number(&text, (uint64_t)getpid());
    return strcmp(self, own) == 0;
}

/* "BOOT/SPACE", or "" where the system does not say. */
static void place_of(char out[PLACE], const char *proc) {
    char path[PATH_MAX], boot[64], *end;
    struct stat space;
    out[0] = 0;
    add_path(path, proc, "/sys/kernel/random/boot_id");
    if (!is_ours(proc) || !read_file(boot, sizeof boot, path)) return;
    add_path(path, proc, "/self/ns/pid");
    if (stat(path, &space) != 0) return;
    end = strchr(boot, '\n');
    if (end) *end = 0;
    line text = {out, out + PLACE - 1};
    add(&text, boot);
    add(&text, "/");
    add_number(&text, space.st_ino);
}

/* When the process began, in ticks since boot (proc(5), field 22). A zombie has ended. What cannot
 * be read says nothing: /proc may be mounted with hidepid, and a descriptor may be wanting. That a
 * process lives is hidden from nobody in its namespace, though: kill(2) tells. */
static mpl_presence look_at(const char *proc, uint64_t pid, uint64_t *start) {
    char path[PATH_MAX], status[1024];
    *start = 0;
    add_path(path, proc, "/");
    line name = {path + strlen(path), path + sizeof path - 1};
    add_number(&name, pid);
    add(&name, "/stat");
    if (!read_file(status, sizeof status, path)) {
        bool fits = pid > 0 && pid <= INT32_MAX;
        return fits && kill((pid_t)pid, 0) != 0 && errno == ESRCH ? MPL_OWNER_GONE
                                                                  : MPL_OWNER_ELSEWHERE;
    }
    /* The program's name is in parentheses, and may hold any of them. Its state comes next. */
    const char *at = strrchr(status, ')');
    if (!at || at[1] != ' ') return MPL_OWNER_ELSEWHERE;
    if (at[2] == 'Z' || at[2] == 'X') return MPL_OWNER_GONE;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    if (!at) return MPL_OWNER_ELSEWHERE;
    at++;
    return take_number(&at, start) && *start != 0 ? MPL_OWNER_THERE : MPL_OWNER_ELSEWHERE;
}

void mpl_owner_name(char out[MPL_OWNER_SIZE]) {
    char place[PLACE], random[17];
    uint8_t bytes[8];
    uint64_t start, pid = (uint64_t)getpid();
    place_of(place, "/proc");
    look_at("/proc", pid, &start);
    randombytes_buf(bytes, sizeof bytes);
    mpl_hex_encode(random, bytes, sizeof bytes);
    random[16] = 0;
    line text = {out, out + MPL_OWNER_SIZE - 1};
    add(&text, place[0] ? place : "-/-");
    add(&text, "/");
    add_number(&text, pid);
    add(&text, "/");
    add_number(&text, start);
    add(&text, "/");
    add(&text, random);
}

mpl_presence mpl_owner_presence_in(const char *proc, moonplan_text owner, uint64_t *pid) {
    char place[PLACE], name[MPL_OWNER_SIZE];
    uint64_t start, now;
    place_of(place, proc);
    size_t length = strlen(place);
    if (owner.length >= sizeof name || length == 0 || owner.length <= length ||
        memcmp(owner.bytes, place, length) != 0)
        return MPL_OWNER_ELSEWHERE;
    memcpy(name, owner.bytes, owner.length);
    name[owner.length] = 0;
    const char *at = name + length;
    if (*at++ != '/' || !take_number(&at, pid) || *at++ != '/' || !take_number(&at, &start) ||
        *at != '/' || start == 0)
        return MPL_OWNER_ELSEWHERE;
    mpl_presence seen = look_at(proc, *pid, &now);
    return seen == MPL_OWNER_THERE && now != start ? MPL_OWNER_GONE : seen;
}

mpl_presence mpl_owner_presence(moonplan_text owner, uint64_t *pid) {
    return mpl_owner_presence_in("/proc", owner, pid);
}

int64_t mpl_system_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
