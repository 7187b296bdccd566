#include "buffer.h"

#include <string.h>

void mpl_buffer_open(mpl_buffer *buffer, mpl_alloc *alloc) {
    memset(buffer, 0, sizeof *buffer);
    buffer->alloc = alloc;
}

char *mpl_buffer_extend(mpl_buffer *buffer, size_t length) {
    if (buffer->failed || length > SIZE_MAX - buffer->length ||
        !mpl_grow(buffer->alloc, (void **)&buffer->bytes, &buffer->capacity,
                  buffer->length + length, 1)) {
        buffer->failed = true;
        return NULL;
    }
    char *end = buffer->bytes + buffer->length;
    buffer->length += length;
    return end;
}

void mpl_buffer_add(mpl_buffer *buffer, const void *bytes, size_t length) {
    if (length == 0) return;
    char *end = mpl_buffer_extend(buffer, length);
    if (end) memcpy(end, bytes, length);
}

void mpl_buffer_byte(mpl_buffer *buffer, char byte) {
    mpl_buffer_add(buffer, &byte, 1);
}

void mpl_buffer_close(mpl_buffer *buffer) {
    mpl_release(buffer->alloc, buffer->bytes, buffer->capacity);
    mpl_buffer_open(buffer, buffer->alloc);
}

bool mpl_buffer_sink(void *data, const char *bytes, size_t length) {
    mpl_buffer *buffer = data;
    mpl_buffer_add(buffer, bytes, length);
    return !buffer->failed;
}
