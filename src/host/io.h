/* System calls on files, begun again when a signal comes between. */
#ifndef MPL_HOST_IO_H
#define MPL_HOST_IO_H

#include <stddef.h>
#include <sys/types.h>

/* openat, with O_CLOEXEC; -1 with errno. */
int mpl_io_open(int folder, const char *path, int flags, mode_t mode);
/* 1: more to come, 0: the end, -1: errno says why. */
int mpl_io_read(int file, char *piece, size_t room, size_t *length);
/* All of it, and fsync; 0 or an errno. */
int mpl_io_write(int file, const void *bytes, size_t size);

#endif
