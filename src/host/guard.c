/* _GNU_SOURCE comes from the build: O_PATH is Linux's. */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/xattr.h>
#endif

/* Links that one path may lead over, as the kernel has it (path_resolution(7)). */
#define LINKS_MOST 40

/* -- Who can write ---------------------------------------------------------*/

#ifdef __linux__
/* 0: none; 1: there is one, or nobody can tell. */
static bool has_list(int file) {
    static const char *const kinds[] = {"system.posix_acl_access", "system.nfs4_acl"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (fgetxattr(file, kinds[i], NULL, 0) >= 0) return true;
        if (errno != ENODATA && errno != EOPNOTSUPP) return true;
    }
    return false;
}

/* Whether more than owner, group and others may have a say: the group's bits are then the most that
 * anybody on the list has (acl(5)), and not the group's. A default list is for new files, and lets
 * nobody write to this one. What is open with O_PATH is opened once more, because nothing is told
 * of it; a folder that cannot be read tells nothing either. */
static bool is_listed(int file, const struct stat *found) {
    int flags = fcntl(file, F_GETFL);
    if (flags < 0) return true;
    if (!(flags & O_PATH)) return has_list(file);
    if (!S_ISDIR(found->st_mode)) return true;
    int again = openat(file, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0) return true;
    bool listed = has_list(again);
    close(again);
    return listed;
}
#else
static bool is_listed(int file, const struct stat *found) {
    (void)file;
    (void)found;
    return true;
}
#endif

/* A group of the same number as its owner is that owner's alone, by the custom of Debian and
 * others; the group 0 is root's. */
static bool group_counts(int file, const struct stat *found) {
    if (!(found->st_mode & S_IWGRP)) return false;
    return (found->st_gid != 0 && found->st_gid != found->st_uid) || is_listed(file, found);
}

static bool is_foreign(const struct stat *found, uid_t owner) {
    return found->st_uid != 0 && found->st_uid != owner && found->st_uid != geteuid();
}

bool mpl_guard_open(int file, const struct stat *found, uid_t owner, bool above) {
    if (is_foreign(found, owner)) return true;
    if (above && (found->st_mode & S_ISVTX)) return false;
    return (found->st_mode & S_IWOTH) || group_counts(file, found);
}

/* From the folder up by "..", so that renames have no say. */
int mpl_guard_folder(int folder, uid_t owner, struct stat *found, bool *above) {
    struct stat next;
    if (fstat(folder, found) != 0) return errno;
    int at = folder, error = 0;
    while (!error) {
        if (mpl_guard_open(at, found, owner, *above)) {
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

/* -- Where a path leads ----------------------------------------------------*/

typedef struct walking {
    int at;
    char rest[MPL_PATH_MOST + 1]; /* of the path, from `from` on */
    size_t from;
    unsigned links;
} walking;

static int move(walking *w, int next) {
    if (next < 0) return errno;
    if (w->at >= 0) close(w->at);
    w->at = next;
    return 0;
}

static int begin(walking *w) {
    bool absolute = w->rest[w->from] == '/';
    if (w->at >= 0 && !absolute) return 0;
    return move(w, open(absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* What the link says in the place of its name. It is read from what was judged. */
static int follow(walking *w, int link, const struct stat *found) {
    char target[MPL_PATH_MOST + 1];
    struct stat guilty;
    bool above = true;
    if (is_foreign(found, geteuid())) return EKEYREJECTED;
    int error = mpl_guard_folder(w->at, geteuid(), &guilty, &above);
    if (error) return error;
    if (++w->links > LINKS_MOST) return ELOOP;
    ssize_t length = readlinkat(link, "", target, sizeof target);
    if (length < 0) return errno;
    size_t left = strlen(w->rest + w->from);
    if ((size_t)length + left > MPL_PATH_MOST) return ENAMETOOLONG;
    if (length == 0) return ENOENT;
    /* What is left is empty, or begins with a slash. */
    memmove(w->rest + length, w->rest + w->from, left + 1);
    memcpy(w->rest, target, (size_t)length);
    w->from = 0;
    return begin(w);
}

/* Into the folder, or to where the link leads. */
static int step(walking *w, const char *name) {
    struct stat found;
    int next = openat(w->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next >= 0 || (errno != ENOTDIR && errno != ELOOP)) return move(w, next);
    int link = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (link < 0) return errno;
    int error = fstat(link, &found) != 0 ? errno : 0;
    if (!error) error = S_ISLNK(found.st_mode) ? follow(w, link, &found) : ENOTDIR;
    close(link);
    return error;
}

/* Whether the path ends with this name, or with the link that it is. */
static int look_at_last(walking *w, const char *name, bool *ends) {
    struct stat found;
    int last = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (last < 0) return errno;
    int error = fstat(last, &found) != 0 ? errno : 0;
    *ends = !error && !S_ISLNK(found.st_mode);
    if (!error && !*ends) error = follow(w, last, &found);
    close(last);
    return error;
}

/* The next name; "." at the end of the path. */
static int take_name(walking *w, char name[MPL_PATH_NAME_MOST + 1], bool *last) {
    while (w->rest[w->from] == '/') w->from++;
    size_t length = strcspn(w->rest + w->from, "/");
    if (length > MPL_PATH_NAME_MOST) return ENAMETOOLONG;
    memcpy(name, w->rest + w->from, length);
    strcpy(name + length, length ? "" : ".");
    w->from += length;
    *last = w->rest[w->from] == 0;
    return 0;
}

int mpl_guard_walk(const char *path, bool last, int *folder, char name[MPL_PATH_NAME_MOST + 1]) {
    walking w = {.at = -1};
    bool ends = false, is_last;
    size_t length = strlen(path);
    if (length > MPL_PATH_MOST) return ENAMETOOLONG;
    if (length == 0) return ENOENT;
    memcpy(w.rest, path, length + 1);
    int error = begin(&w);
    while (!error && !ends) {
        error = take_name(&w, name, &is_last);
        if (error) break;
        if (!is_last)
            error = step(&w, name);
        else if (last && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            error = look_at_last(&w, name, &ends);
        else
            ends = true;
    }
    if (!error) {
        *folder = w.at;
    } else if (w.at >= 0) {
        close(w.at);
    }
    return error;
}
