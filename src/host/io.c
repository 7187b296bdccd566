#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int mpl_io_open(int folder, const char *path, int flags, mode_t mode) {
    int file;
    do file = openat(folder, path, flags | O_CLOEXEC, mode);
    while (file < 0 && errno == EINTR);
    return file;
}

int mpl_io_read(int file, char *piece, size_t room, size_t *length) {
    ssize_t got;
    do got = read(file, piece, room);
    while (got < 0 && errno == EINTR);
    *length = got > 0 ? (size_t)got : 0;
    return got < 0 ? -1 : got > 0;
}

int mpl_io_write(int file, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t done = write(file, at, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done < 0 ? errno : EIO;
        at += done;
        size -= (size_t)done;
    }
    return fsync(file) == 0 ? 0 : errno;
}
