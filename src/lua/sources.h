/* The files of one plugin, read once: these bytes are judged, logged and run, whatever becomes of
 * the files. */
#ifndef MPL_LUA_SOURCES_H
#define MPL_LUA_SOURCES_H

#include "../core/buffer.h"

/* Files of one plugin. */
#define MPL_SOURCES_MOST 64
/* A digest in lower-case hexadecimal digits. */
#define MPL_DIGEST_DIGITS 64

typedef struct mpl_source_file {
    moonplan_text path; /* NAME.lua, NAME/init.lua, NAME/other.lua */
    size_t from, length;
    const char *why; /* it could not be read; NULL: it could, and counts */
    uint8_t digest[32];
} mpl_source_file;

typedef struct mpl_sources {
    mpl_buffer text; /* all of them, one behind the other */
    mpl_arena paths;
    mpl_source_file files[MPL_SOURCES_MOST]; /* the main one first */
    size_t count;
    /* Of the plugin: its only file's BLAKE2b-256, as `b2sum -l 256` prints it; with more than one
     * file, that of the lines which a plugins.manifest has for them. */
    uint8_t digest[32];
} mpl_sources;

/* Gives the bytes of a file to the buffer, which is empty. */
typedef bool (*mpl_source_reader)(void *data, mpl_buffer *out, const char *path,
                                  moonplan_error *err);

void mpl_sources_open(mpl_sources *sources, mpl_alloc *alloc);
void mpl_sources_close(mpl_sources *sources);
/* One more; false with *err, `memory` or what the reader says. */
bool mpl_sources_add(mpl_sources *sources, const char *path, mpl_source_reader read, void *data,
                     moonplan_error *err);
/* One that cannot be read, which is said when it is asked for. */
bool mpl_sources_lack(mpl_sources *sources, const char *path, moonplan_error *err);
/* Once all are there. */
void mpl_sources_seal(mpl_sources *sources);
/* {NULL, 0}: there is no such file, or, with *why, it could not be read. Good until the next is
 * added. */
moonplan_text mpl_sources_find(const mpl_sources *sources, moonplan_text path, const char **why);

/* "file PATH SIZE DIGEST\n", as a manifest has it. */
void mpl_source_line(mpl_buffer *out, moonplan_text path, uint64_t size, const uint8_t digest[32]);

#endif
