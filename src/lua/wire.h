/* What a host and a runner tell each other: frames over a stream socket, in turns.
 *
 *   u32 length of what follows the type, lowest byte first; u8 type; the fields in core/codec
 *
 *   host                       runner
 *   LOAD                  ->
 *                         <-   READY, or REFUSED: it cannot confine itself
 *   START                 ->
 *                         <-   IMPORT, any number of times
 *   IMPORTED              ->
 *                         <-   LOADED
 *   CALL                  ->
 *                         <-   POWER, any number of times
 *   SERVED                ->
 *                         <-   RETURNED
 *
 * The runner believes its host. The host takes what comes from a runner for hostile: a frame is no
 * longer than it may be, and grows in memory no faster than it arrives; numbers are looked at
 * before they are used; a frame out of turn, or with anything in it that does not belong there,
 * ends the runner. */
#ifndef MPL_LUA_WIRE_H
#define MPL_LUA_WIRE_H

#include "../core/codec.h"
#include "power.h"

/* Host and runner are of one version, and of one protocol. */
#define MPL_WIRE_VERSION MOONPLAN_VERSION "/1"
#define MPL_WIRE_HEADER  5

typedef enum mpl_frame {
    MPL_FRAME_LOAD = 1, /* count of limits, limits; name; file; folder; source */
    MPL_FRAME_READY,    /* version; if it is another one, the runner ends */
    MPL_FRAME_REFUSED,  /* text */
    MPL_FRAME_START,    /* nothing: the time that loading may take begins */
    MPL_FRAME_IMPORT,   /* name */
    MPL_FRAME_IMPORTED, /* 1, source; or 0, text */
    MPL_FRAME_LOADED,   /* outcome; over_limit; has_text, text; fine: 1, count, functions each,
                           value; or 0, code, pointer, text */
    MPL_FRAME_CALL,     /* item; function; powers; values; job id; step id; token; optional input;
                           optional caller */
    MPL_FRAME_POWER,    /* operation, slots */
    MPL_FRAME_SERVED,   /* mpl_served; slots or code, pointer, text */
    MPL_FRAME_RETURNED  /* outcome; over_limit; code; has_text, text, code text; optional value */
} mpl_frame;

/* The exit status of a runner that lacks the memory to say so. */
#define MPL_RUNNER_NO_MEMORY 3

/* Begin a frame in an empty buffer, and put its length in. A frame too long for its length is
 * out->failed, as is one without memory. */
void mpl_wire_begin(mpl_buffer *out, mpl_frame type);
void mpl_wire_end(mpl_buffer *out);
/* What a runner may say at once, in bytes: the text that a plugin has in its memory, and one value
 * within the limit for it. */
uint64_t mpl_wire_most(const moonplan_limits *limits);
/* The length behind a header. */
uint32_t mpl_wire_length(const char header[MPL_WIRE_HEADER]);

void mpl_wire_put_text(mpl_buffer *out, const char *text);
/* MOONPLAN_NONE is none. */
void mpl_wire_put_option(mpl_buffer *out, moonplan_value value);
void mpl_wire_put_slots(mpl_buffer *out, const mpl_slots *slots);
void mpl_wire_put_error(mpl_buffer *out, const moonplan_error *err);

/* Taking: false for what does not belong there, with err->code MOONPLAN_MEMORY where it is memory
 * that is short, else any other. */

/* A number up to `most`. */
bool mpl_wire_take(mpl_codec *in, uint64_t *out, uint64_t most);
bool mpl_wire_take_bool(mpl_codec *in, bool *out);
/* A value of at most so many values, and so many bytes of text, which is the caller's. */
moonplan_document *mpl_wire_take_document(mpl_codec *in, const moonplan_options *options,
                                          uint64_t values, uint64_t bytes, moonplan_error *err);
/* *out is NULL where there is none. */
bool mpl_wire_take_option(mpl_codec *in, moonplan_document **out, const moonplan_options *options,
                          uint64_t values, uint64_t bytes, moonplan_error *err);
/* The slots point into the bytes that are read, and into *document, which holds the one value that
 * there may be, and is the caller's also when this fails. */
bool mpl_wire_take_slots(mpl_codec *in, mpl_slots *out, moonplan_document **document,
                         const moonplan_options *options, moonplan_error *err);
/* An error whose texts end where the struct does, and show nothing that they should not. */
bool mpl_wire_take_error(mpl_codec *in, moonplan_error *out);

#endif
