/* Files that the verbs read. */
#ifndef MPL_CLI_INPUT_H
#define MPL_CLI_INPUT_H

#include <sys/stat.h>
#include <sys/types.h>

#include "cli.h"

/* What is read at once; a line may be longer. */
#define MPL_PAGE ((size_t)1 << 20)

typedef struct mpl_pages mpl_pages;
typedef struct mpl_input {
    mpl_console *console; /* is written out before anything is waited for */
    int file;
    bool ours; /* to close: everything but standard input */
    bool ended;
    bool skipping; /* the rest of a line that was too long comes next */
    int failed;    /* why it has ended: an errno, or 0 */
    char *bytes;
    size_t start, whole, end, room; /* what was read and not yet handed out; behind its last LF */
    size_t limit;                   /* bytes of a line */
    mpl_pages *pages;               /* the lines before `bytes`, judged ahead; NULL: not wanted */
    struct stat about;
} mpl_input;

/* As read(2), but signals and non-blocking descriptors (which a parent can leave us) are waited
 * out. */
ssize_t mpl_read_some(int file, char *into, size_t room);
/* The path, or standard input where it is NULL, as a userdata on top of the stack; NULL and errno
 * where there is none. A directory opens but cannot be read: it is refused in read(2)'s words. */
mpl_input *mpl_input_open(lua_State *L, const char *path);
void mpl_input_end(mpl_input *in);
/* Read on behind what is there; false at the end (error 0) or on an error. */
bool mpl_input_more(mpl_input *in, int *error);
/* lines(path or nil, limit, options or nil), with the console as its upvalue: a reader; or nil,
 * why. With options (those that all take, and `jobs`) it knows the digests of plans before it hands
 * out their lines. */
int mpl_input_lines(lua_State *L);
/* What Lua can do with a reader. */
void mpl_input_methods(lua_State *L);

#endif
