/* _GNU_SOURCE comes from the build. */
#include "talk.h"

#include <errno.h>
#include <unistd.h>

#include "confine.h"

enum { HOST_IS_GONE = MPL_RUNNER_ALONE, NOT_UNDERSTOOD = 4 };

_Noreturn void mpl_talk_end(int status) {
    _exit(status);
}

void mpl_talk_open(mpl_talk *talk, mpl_alloc *alloc) {
    mpl_buffer_open(&talk->in, alloc);
    mpl_buffer_open(&talk->out, alloc);
}

/* Some bytes, at least one. */
static size_t read_some(char *bytes, size_t most) {
    for (;;) {
        ssize_t got = read(MPL_RUNNER_SOCKET, bytes, most);
        if (got > 0) return (size_t)got;
        if (got == 0 || errno != EINTR) mpl_talk_end(HOST_IS_GONE);
    }
}

/* What a large frame took is not kept for the small ones that follow. */
#define KEPT 65536

static void shrink(mpl_buffer *buffer) {
    if (buffer->capacity > KEPT) mpl_buffer_close(buffer);
    buffer->length = 0;
}

/* Most frames come in one piece. */
#define PIECE 4096

mpl_codec mpl_talk_hear(mpl_talk *talk, mpl_frame type) {
    mpl_buffer *in = &talk->in;
    shrink(in);
    if (!mpl_buffer_extend(in, PIECE)) mpl_talk_end(MPL_RUNNER_NO_MEMORY);
    size_t there = 0;
    while (there < MPL_WIRE_HEADER) there += read_some(in->bytes + there, PIECE - there);
    size_t whole = MPL_WIRE_HEADER + (size_t)mpl_wire_length(in->bytes);
    if (in->bytes[MPL_WIRE_HEADER - 1] != (char)type || there > whole) mpl_talk_end(NOT_UNDERSTOOD);
    if (whole > PIECE && !mpl_buffer_extend(in, whole - PIECE)) mpl_talk_end(MPL_RUNNER_NO_MEMORY);
    while (there < whole) there += read_some(in->bytes + there, whole - there);
    const char *begin = in->bytes + MPL_WIRE_HEADER;
    return (mpl_codec){begin, begin, in->bytes + whole};
}

void mpl_talk_say(mpl_talk *talk) {
    mpl_wire_end(&talk->out);
    if (talk->out.failed) mpl_talk_end(MPL_RUNNER_NO_MEMORY);
    const char *bytes = talk->out.bytes;
    for (size_t left = talk->out.length; left > 0;) {
        ssize_t sent = write(MPL_RUNNER_SOCKET, bytes, left);
        if (sent > 0) {
            bytes += sent;
            left -= (size_t)sent;
        } else if (errno != EINTR) {
            mpl_talk_end(HOST_IS_GONE);
        }
    }
    shrink(&talk->out);
}
