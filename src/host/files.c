/* _GNU_SOURCE comes from the build: O_PATH and syscall() are Linux's. */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_openat2
#include <linux/openat2.h>
#endif

#include "../core/buffer.h"
#include "../core/error.h"
#include "../core/path.h"
#include "../core/text.h"
#include "guard.h"
#include "io.h"

#define PATH_MOST MPL_PATH_MOST
#define NAME_MOST MPL_PATH_NAME_MOST

struct moonplan_root {
    mpl_alloc alloc;
    int folder;
    dev_t device;
    bool writable, trusted, guarded;
    uid_t owner;      /* whom a guarded root belongs to */
    atomic_bool walk; /* several threads may find out at once that openat2 is not there */
};

/* -- Paths -----------------------------------------------------------------*/

/* The path with a NUL behind it, which openat wants. */
typedef struct place {
    char bytes[PATH_MOST + 1];
    size_t length;
    moonplan_text text;
} place;

static bool read_path(place *out, const char *bytes, size_t length, moonplan_error *err) {
    moonplan_text text = {bytes, length};
    if (!mpl_path_check(text, err)) return false;
    if (length) memcpy(out->bytes, bytes, length);
    out->bytes[length] = 0;
    out->length = length;
    out->text = text;
    return true;
}

static bool unavailable(moonplan_error *err, moonplan_text text, int error) {
    const char *why;
    switch (error) {
    case ENOENT:
        mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                      "there is no file %q", &text);
        return false;
    case ENOTDIR:
        why = "leads through something that is no folder";
        break;
    case EISDIR:
        why = "is a folder";
        break;
    case ELOOP:
        why = "leads over a symbolic link, which is not followed";
        break;
    case EXDEV:
        why = "leads to another file system, which is not entered";
        break;
    case EMLINK:
        why = "has several names (hard links) and may belong elsewhere";
        break;
    case ENXIO:
    case ENODEV:
    case EINVAL:
        why = "is no regular file";
        break;
    case EKEYREJECTED: /* no file gives it: ours, of a guarded root */
        why = "can be changed by others than its owner; chmod go-w keeps them out";
        break;
    case EACCES:
    case EPERM:
        why = "is out of reach for want of permission";
        break;
    case EROFS:
        why = "is on a file system that cannot be written to";
        break;
    case ENOSPC:
    case EDQUOT:
        why = "does not fit on the disk";
        break;
    case EFBIG:
        why = "would be larger than this process may make a file (ulimit -f)";
        break;
    case EMFILE:
    case ENFILE:
        why = "cannot be opened: too many files are open";
        break;
    default:
        mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                      "%q cannot be had: the system's error %u", &text, (uint64_t)error);
        return false;
    }
    mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL, "%q %s", &text, why);
    return false;
}

/* -- Opening ---------------------------------------------------------------*/

/* openat gives ENOTDIR for a link where a folder is wanted; say what it is. */
static int reason(int folder, const char *name, int error) {
    struct stat found;
    if (error == ENOTDIR && fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(found.st_mode))
        return ELOOP;
    return error;
}

/* Name by name. Hole: a folder that is moved out of the root during the walk is still walked;
 * openat2 sees that. */
static int walk(const moonplan_root *root, const place *to, int flags) {
    char name[NAME_MOST + 1];
    int folder = root->folder;
    size_t at = 0;
    for (;;) {
        const char *slash = memchr(to->bytes + at, '/', to->length - at);
        size_t length = slash ? (size_t)(slash - to->bytes) - at : to->length - at;
        memcpy(name, to->bytes + at, length);
        name[length] = 0;
        int next = mpl_io_open(folder, length ? name : ".",
                               (slash ? O_PATH | O_DIRECTORY : flags) | O_NOFOLLOW, 0);
        int error = next < 0 ? reason(folder, name, errno) : 0;
        struct stat found;
        if (!error && !root->trusted && (fstat(next, &found) != 0 || found.st_dev != root->device))
            error = EXDEV;
        if (folder != root->folder) close(folder);
        if (error) {
            if (next >= 0) close(next);
            errno = error;
            return -1;
        }
        if (!slash) return next;
        folder = next;
        at += length + 1;
    }
}

/* The file behind a path, or -1 with errno. */
static int open_below(moonplan_root *root, const place *to, int flags) {
#ifdef SYS_openat2
    struct open_how how = {.flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    if (!root->trusted) how.resolve |= RESOLVE_NO_XDEV;
    while (!root->walk) {
        long file =
            syscall(SYS_openat2, root->folder, to->length ? to->bytes : ".", &how, sizeof how);
        if (file >= 0) return (int)file;
        /* EAGAIN: a rename somewhere made the kernel unsure. */
        if (errno == EINTR || errno == EAGAIN) continue;
        if (errno != ENOSYS && errno != EPERM) return -1;
        /* Filters of system calls refuse those that they do not know with EPERM. The walk gives
         * EPERM again if that was the file's own. */
        if (errno == ENOSYS) root->walk = true;
        break;
    }
#endif
    return walk(root, to, flags);
}

/* Of a guarded root: what was opened, and the folders that it stands in. 0 or an errno. */
static int guard(moonplan_root *root, const place *to, int file, const struct stat *opened) {
    if (!root->guarded) return 0;
    if (mpl_guard_open(file, opened, root->owner, false)) return EKEYREJECTED;
    place above = *to;
    const char *slash;
    int error = 0;
    while (!error && (slash = memrchr(above.bytes, '/', above.length)) != NULL) {
        struct stat found;
        above.length = (size_t)(slash - above.bytes);
        above.bytes[above.length] = 0;
        int folder = open_below(root, &above, O_PATH | O_DIRECTORY);
        if (folder < 0) return errno;
        if (fstat(folder, &found) != 0)
            error = errno;
        else if (mpl_guard_open(folder, &found, root->owner, false))
            error = EKEYREJECTED;
        close(folder);
    }
    return error;
}

/* A file to read from: nothing waits (O_NONBLOCK: not even a FIFO without a writer), and nothing
 * but a regular file comes back. -1 with errno. */
static int open_regular(moonplan_root *root, const place *to, struct stat *found) {
    int file = open_below(root, to, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return -1;
    int error = 0;
    if (fstat(file, found) != 0)
        error = errno;
    else if (S_ISDIR(found->st_mode))
        error = EISDIR;
    else if (!S_ISREG(found->st_mode))
        error = ENXIO;
    else if (found->st_nlink != 1 && !root->trusted)
        error = EMLINK;
    else
        error = guard(root, to, file, found);
    if (!error) return file;
    close(file);
    errno = error;
    return -1;
}

static bool guard_root(const moonplan_root *root, moonplan_text text, moonplan_error *err) {
    struct stat found;
    bool above = false;
    int error = mpl_guard_folder(root->folder, root->owner, &found, &above);
    if (error && error != EKEYREJECTED) return unavailable(err, text, error);
    bool foreign = found.st_uid != 0 && found.st_uid != root->owner && found.st_uid != geteuid();
    if (error && foreign && !above)
        mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                      "%q belongs to the user %u: it has to be root's, or of the user %u, who "
                      "opens it",
                      &text, (uint64_t)found.st_uid, (uint64_t)geteuid());
    else if (error)
        mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                      above ? "%q lies in a folder that others than its owner can change, so that "
                              "another one could be put in its place"
                            : "%q can be changed by others than its owner; chmod go-w keeps them "
                              "out",
                      &text);
    return !error;
}

/* -1 with errno; EKEYREJECTED for a link that does not hold. */
static int open_root(const char *path, bool guarded) {
    const int flags = O_PATH | O_DIRECTORY;
    char name[NAME_MOST + 1];
    int above = AT_FDCWD, folder, error;
    if (guarded && (error = mpl_guard_walk(path, true, &above, name)) != 0) {
        errno = error;
        return -1;
    }
    folder = guarded ? mpl_io_open(above, name, flags | O_NOFOLLOW, 0)
                     : mpl_io_open(AT_FDCWD, path, flags, 0);
    error = errno;
    if (guarded) close(above);
    errno = error;
    return folder;
}

moonplan_root *moonplan_root_open(const char *bytes, size_t length, unsigned flags,
                                  const moonplan_options *options, moonplan_error *err) {
    moonplan_text text = {bytes, length};
    char name[PATH_MOST + 1];
    if (!mpl_path_check_outer(text, err)) return NULL;
    memcpy(name, bytes, length);
    name[length] = 0;
    mpl_alloc alloc = mpl_alloc_of(options);
    moonplan_root *root = mpl_allocate(&alloc, sizeof *root);
    if (!root) {
        mpl_error_memory(err);
        return NULL;
    }
    struct stat found;
    int folder = open_root(name, (flags & MOONPLAN_ROOT_GUARDED) != 0);
    if (folder < 0 || fstat(folder, &found) != 0) {
        int error = errno;
        if (folder >= 0) close(folder);
        mpl_release(&alloc, root, sizeof *root);
        if (error == EKEYREJECTED)
            mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                          "%q leads over a symbolic link that others than root and the user %u, "
                          "who opens it, can change",
                          &text, (uint64_t)geteuid());
        else if (error == ENOENT || error == ENOTDIR)
            mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                          error == ENOENT ? "there is no folder %q" : "%q is no folder", &text);
        else
            unavailable(err, text, error);
        return NULL;
    }
    *root = (moonplan_root){.alloc = alloc,
                            .folder = folder,
                            .device = found.st_dev,
                            .writable = (flags & MOONPLAN_ROOT_WRITE) != 0,
                            .trusted = (flags & MOONPLAN_ROOT_TRUSTED) != 0,
                            .guarded = (flags & MOONPLAN_ROOT_GUARDED) != 0,
                            .owner = flags & MOONPLAN_ROOT_OWN ? geteuid() : found.st_uid};
    if (!root->guarded || guard_root(root, text, err)) return root;
    moonplan_root_free(root);
    return NULL;
}

void moonplan_root_free(moonplan_root *root) {
    if (!root) return;
    close(root->folder);
    mpl_alloc alloc = root->alloc;
    mpl_release(&alloc, root, sizeof *root);
}

void mpl_root_walk(moonplan_root *root) {
    root->walk = true;
}

/* -- Reading ---------------------------------------------------------------*/

static bool too_large(moonplan_error *err, moonplan_text text, uint64_t most) {
    mpl_error_set(err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                  "%q is larger than what may be read: %u bytes", &text, most);
    return false;
}

bool moonplan_root_read(moonplan_root *root, moonplan_sink sink, void *data, const char *path,
                        size_t length, uint64_t most, moonplan_error *err) {
    place to;
    struct stat found;
    if (!read_path(&to, path, length, err)) return false;
    int file = open_regular(root, &to, &found);
    if (file < 0) return unavailable(err, to.text, errno);
    bool fine = true;
    if (found.st_size > 0 && (uint64_t)found.st_size > most) {
        fine = too_large(err, to.text, most);
    } else {
        char piece[16384];
        uint64_t so_far = 0;
        size_t got;
        int more;
        /* It may grow while it is read, so the size that it had is not relied upon. */
        while (fine && (more = mpl_io_read(file, piece, sizeof piece, &got)) != 0) {
            so_far += got;
            if (more < 0)
                fine = unavailable(err, to.text, errno);
            else if (so_far > most)
                fine = too_large(err, to.text, most);
            else if (!sink(data, piece, got))
                break;
        }
    }
    close(file);
    return fine;
}

bool moonplan_root_stat(moonplan_root *root, bool *folder, uint64_t *size, const char *path,
                        size_t length, moonplan_error *err) {
    place to;
    struct stat found;
    if (!read_path(&to, path, length, err)) return false;
    int file = open_below(root, &to, O_PATH);
    if (file < 0) return unavailable(err, to.text, errno);
    int error = fstat(file, &found) != 0 ? errno : 0;
    close(file);
    if (!error && S_ISLNK(found.st_mode)) error = ELOOP;
    if (!error && !S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode)) error = ENXIO;
    if (!error && S_ISREG(found.st_mode) && found.st_nlink != 1 && !root->trusted) error = EMLINK;
    if (error) return unavailable(err, to.text, error);
    *folder = S_ISDIR(found.st_mode);
    *size = S_ISDIR(found.st_mode) ? 0 : (uint64_t)found.st_size;
    return true;
}

/* -- Listing ---------------------------------------------------------------*/

/* A name in the buffer: a byte (1: a folder), the name, a NUL. */
static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a + 1, *(const char *const *)b + 1);
}

/* 'f', 'd', or 0 for what is left out. */
static char kind_of(const moonplan_root *root, int folder, const struct dirent *entry) {
    struct stat found;
    if (root->guarded) {
        if (fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) return 'f';
        return S_ISDIR(found.st_mode) ? 'd' : 'f';
    }
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_REG && entry->d_type != DT_DIR) return 0;
    if (entry->d_type != DT_UNKNOWN && root->trusted) return entry->d_type == DT_DIR ? 'd' : 'f';
    if (fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    if (!root->trusted && found.st_dev != root->device) return 0;
    if (S_ISDIR(found.st_mode)) return 'd';
    return S_ISREG(found.st_mode) && (root->trusted || found.st_nlink == 1) ? 'f' : 0;
}

static bool collect(const moonplan_root *root, DIR *stream, mpl_buffer *names, size_t *count,
                    const place *to, uint64_t most, moonplan_error *err) {
    struct dirent *entry;
    for (;;) {
        errno = 0;
        /* The stream is ours alone, which is all that readdir asks for. */
        entry = readdir(stream);
        if (!entry) break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char kind = kind_of(root, dirfd(stream), entry);
        if (!kind) continue;
        if (++*count > most) {
            mpl_error_set(err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                          "%q holds more than may be listed: %u entries", &to->text, most);
            return false;
        }
        mpl_buffer_byte(names, kind);
        mpl_buffer_add(names, entry->d_name, strlen(entry->d_name) + 1);
    }
    if (errno != 0) return unavailable(err, to->text, errno);
    if (names->failed) mpl_error_memory(err);
    return !names->failed;
}

static bool hand_out(mpl_alloc *alloc, const mpl_buffer *names, size_t count,
                     moonplan_entry_sink sink, void *data, moonplan_error *err) {
    if (count == 0) return true;
    const char **sorted = mpl_allocate(alloc, count * sizeof *sorted);
    if (!sorted) {
        mpl_error_memory(err);
        return false;
    }
    const char *at = names->bytes;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = at;
        at += strlen(at) + 1;
    }
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; i < count; i++) {
        moonplan_text name = {sorted[i] + 1, strlen(sorted[i] + 1)};
        if (!sink(data, name, sorted[i][0] == 'd')) break;
    }
    mpl_release(alloc, sorted, count * sizeof *sorted);
    return true;
}

bool moonplan_root_list(moonplan_root *root, moonplan_entry_sink sink, void *data, const char *path,
                        size_t length, uint64_t most, moonplan_error *err) {
    place to;
    if (!read_path(&to, path, length, err)) return false;
    int folder = open_below(root, &to, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (folder < 0) return unavailable(err, to.text, errno);
    DIR *stream = fdopendir(folder);
    if (!stream) {
        int error = errno;
        close(folder);
        return unavailable(err, to.text, error);
    }
    mpl_buffer names;
    size_t count = 0;
    mpl_buffer_open(&names, &root->alloc);
    bool fine = collect(root, stream, &names, &count, &to, most, err);
    closedir(stream);
    if (fine) fine = hand_out(&root->alloc, &names, count, sink, data, err);
    mpl_buffer_close(&names);
    return fine;
}

/* -- Writing ---------------------------------------------------------------*/

/* Cut the last name off; the folder's path stays in `to`, "" for the root. */
static void split(place *to, char name[NAME_MOST + 1]) {
    char *slash = strrchr(to->bytes, '/');
    strcpy(name, slash ? slash + 1 : to->bytes);
    to->length = slash ? (size_t)(slash - to->bytes) : 0;
    to->bytes[to->length] = 0;
}

/* Into a file of its own, then renamed: a reader sees the old content or the new, and whatever
 * else has the old file by another name keeps it. */
static int replace(int folder, const char *name, const void *bytes, size_t size) {
    static const char prefix[] = ".moonplan-";
    uint8_t random[8];
    char temporary[sizeof prefix + 2 * sizeof random] = ".moonplan-";
    randombytes_buf(random, sizeof random);
    mpl_hex_encode(temporary + sizeof prefix - 1, random, sizeof random);
    temporary[sizeof temporary - 1] = 0;
    int file = mpl_io_open(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (file < 0) return errno;
    int error = mpl_io_write(file, bytes, size);
    if (close(file) != 0 && !error) error = errno;
    if (!error && renameat(folder, temporary, folder, name) != 0) error = errno;
    if (error) unlinkat(folder, temporary, 0);
    if (!error && fsync(folder) != 0) error = errno;
    return error;
}

bool moonplan_root_write(moonplan_root *root, const char *path, size_t length, const void *bytes,
                         size_t size, moonplan_error *err) {
    place to;
    char name[NAME_MOST + 1];
    struct stat found;
    if (!read_path(&to, path, length, err)) return false;
    if (length == 0) return mpl_path_refuse(to.text, "names no file", err);
    if (!root->writable) {
        mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                      "%q may be read but not written", &to.text);
        return false;
    }
    split(&to, name);
    int folder = open_below(root, &to, O_RDONLY | O_DIRECTORY);
    if (folder < 0 && errno == ENOENT) {
        mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                      "there is no folder for %q", &to.text);
        return false;
    }
    if (folder < 0) return unavailable(err, to.text, errno);
    int error = 0;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0)
        error = S_ISLNK(found.st_mode)   ? ELOOP
                : S_ISDIR(found.st_mode) ? EISDIR
                : S_ISREG(found.st_mode) ? 0
                                         : ENXIO;
    if (!error) error = replace(folder, name, bytes, size);
    close(folder);
    return error ? unavailable(err, to.text, error) : true;
}
