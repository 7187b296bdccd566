/* Files that the verbs read. */
#ifndef MPL_CLI_INPUT_H
#define MPL_CLI_INPUT_H

#include <sys/stat.h>
#include <sys/types.h>

#include "cli.h"

typedef struct mpl_batch mpl_batch;
typedef struct mpl_input {
    int file;
    bool ours; /* to close: everything but standard input */
    bool ended;
    bool skipping; /* the rest of a line that was too long comes next */
    int failed;    /* why it has ended: an errno, or 0 */
    char *bytes;
    size_t start, end, room; /* what was read and not yet handed out */
    mpl_batch *batch;        /* what is known of the next lines, or NULL */
    /* What takes the place of `bytes` once those lines are done: it was read while they were
     * judged, and begins with what stands behind them. */
    char *ahead;
    size_t ahead_end, ahead_room;
    bool has_ahead;
    struct stat about;
} mpl_input;

/* As read(2), but signals and non-blocking descriptors (which a parent can leave us) are waited
 * out. */
ssize_t mpl_read_some(int file, char *into, size_t room);
/* The path, or standard input where it is NULL, as a userdata on top of the stack; NULL and errno
 * where there is none. A directory opens but cannot be read: it is refused in read(2)'s words. */
mpl_input *mpl_input_open(lua_State *L, const char *path);
void mpl_input_end(mpl_input *in);
/* What Lua can do with it. */
void mpl_input_methods(lua_State *L, mpl_console *console);

#endif
