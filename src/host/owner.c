/* "BOOT/SPACE/PID/START/RANDOM": the machine's boot id and the process id's namespace, within which
 * a process id and the time when that process began name one process and no other. */
#include "owner.h"

#include <fcntl.h>
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
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    add(out, digits + at);
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

/* "BOOT/SPACE", or "" where the system does not say. */
static void place_of(char out[PLACE]) {
    char boot[64], *end;
    struct stat space;
    out[0] = 0;
    if (!read_file(boot, sizeof boot, "/proc/sys/kernel/random/boot_id") ||
        stat("/proc/self/ns/pid", &space) != 0)
        return;
    end = strchr(boot, '\n');
    if (end) *end = 0;
    line text = {out, out + PLACE - 1};
    add(&text, boot);
    add(&text, "/");
    add_number(&text, space.st_ino);
}

/* When the process began, in ticks since boot (proc(5), field 22); 0 if there is none. A zombie has
 * ended. */
static uint64_t start_of(uint64_t pid) {
    char path[64], status[1024];
    uint64_t start;
    line name = {path, path + sizeof path - 1};
    add(&name, "/proc/");
    add_number(&name, pid);
    add(&name, "/stat");
    if (!read_file(status, sizeof status, path)) return 0;
    /* The program's name is in parentheses, and may hold any of them. Its state comes next. */
    const char *at = strrchr(status, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X') return 0;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    if (!at) return 0;
    at++;
    return take_number(&at, &start) ? start : 0;
}

void mpl_owner_name(char out[MPL_OWNER_SIZE]) {
    char place[PLACE], random[17];
    uint8_t bytes[8];
    place_of(place);
    randombytes_buf(bytes, sizeof bytes);
    mpl_hex_encode(random, bytes, sizeof bytes);
    random[16] = 0;
    uint64_t pid = (uint64_t)getpid();
    line text = {out, out + MPL_OWNER_SIZE - 1};
    add(&text, place[0] ? place : "-/-");
    add(&text, "/");
    add_number(&text, pid);
    add(&text, "/");
    add_number(&text, start_of(pid));
    add(&text, "/");
    add(&text, random);
}

mpl_presence mpl_owner_presence(moonplan_text owner, uint64_t *pid) {
    char place[PLACE], name[MPL_OWNER_SIZE];
    uint64_t start;
    place_of(place);
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
    return start_of(*pid) == start ? MPL_OWNER_THERE : MPL_OWNER_GONE;
}

int64_t mpl_system_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
