#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A group of the same number as its owner is that owner's alone, by the custom of Debian and
 * others; the group 0 is root's. An access control list shows in the bits of the group. */
static bool group_counts(const struct stat *found) {
    return (found->st_mode & S_IWGRP) && found->st_gid != 0 && found->st_gid != found->st_uid;
}

bool mpl_guard_open(const struct stat *found, uid_t owner, bool above) {
    if (found->st_uid != 0 && found->st_uid != owner && found->st_uid != geteuid()) return true;
    if (above && (found->st_mode & S_ISVTX)) return false;
    return (found->st_mode & S_IWOTH) || group_counts(found);
}

/* From the folder up by "..", so that links on the way to it and renames have no say. */
int mpl_guard_folder(int folder, uid_t owner, struct stat *found, bool *above) {
    struct stat next;
    *above = false;
    if (fstat(folder, found) != 0) return errno;
    int at = folder, error = 0;
    while (!error) {
        if (mpl_guard_open(found, owner, *above)) {
            error = EKEYREJECTED;
            break;
        }
        int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (at != folder) close(at);
        if (up < 0) return errno;
        at = up;
        if (fstat(at, &next) != 0) error = errno;
        bool top = !error && next.st_dev == found->st_dev && next.st_ino == found->st_ino;
        *found = next;
        *above = true;
        if (top) break;
    }
    if (at != folder) close(at);
    return error;
}
