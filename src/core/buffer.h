/* Bytes that grow. A failure sticks: check `failed` once, at the end. */
#ifndef MPL_CORE_BUFFER_H
#define MPL_CORE_BUFFER_H

#include "alloc.h"

typedef struct mpl_buffer {
    mpl_alloc *alloc;
    char *bytes;
    size_t length, capacity;
    bool failed;
} mpl_buffer;

void mpl_buffer_open(mpl_buffer *buffer, mpl_alloc *alloc);
void mpl_buffer_add(mpl_buffer *buffer, const void *bytes, size_t length);
void mpl_buffer_byte(mpl_buffer *buffer, char byte);
/* `length` bytes at the end for the caller to fill; NULL when memory is short. */
char *mpl_buffer_extend(mpl_buffer *buffer, size_t length);
void mpl_buffer_close(mpl_buffer *buffer);

/* The same as a moonplan_sink; `data` is an mpl_buffer. */
bool mpl_buffer_sink(void *data, const char *bytes, size_t length);

#endif
