/* What a verb knows of the world: whole files, lines of files, standard output and error.
 *
 * Written on descriptors, not stdio: a write that fails has to be noticed where it happens, and a
 * file that has no end must not be read beyond its limit. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#define PIECE  ((size_t)65536)
#define READER "moonplan.console.reader"

/* As read(2), but signals and non-blocking descriptors (which a parent can leave us) are waited
 * out. */
static ssize_t read_some(int file, char *into, size_t room) {
    for (;;) {
        ssize_t got = read(file, into, room);
        if (got >= 0) return got;
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return -1;
        struct pollfd wait = {.fd = file, .events = POLLIN};
        if (poll(&wait, 1, -1) < 0 && errno != EINTR) return -1;
    }
}

static bool write_all(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t put = write(file, bytes, length);
        if (put >= 0) {
            bytes += put;
            length -= (size_t)put;
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return false;
        struct pollfd wait = {.fd = file, .events = POLLOUT};
        if (poll(&wait, 1, -1) < 0 && errno != EINTR) return false;
    }
    return true;
}

void mpl_complain(const char *text) {
    static const char name[] = "moonplan: ";
    /* Where even that fails there is nobody left to tell. */
    if (write_all(STDERR_FILENO, name, sizeof name - 1) &&
        write_all(STDERR_FILENO, text, strlen(text)))
        (void)write_all(STDERR_FILENO, "\n", 1);
}

/* A pipe without readers shows it in poll(2), also after the failed write is history. */
static bool reader_left(void) {
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int mpl_output_failed(int error) {
    if (error == EPIPE || (error == 0 && reader_left())) return MPL_EXIT_READER_LEFT;
    char text[256];
    (void)snprintf(text, sizeof text, "cannot write to standard output%s%s", error != 0 ? ": " : "",
                   error != 0 ? strerror(error) : "");
    mpl_complain(text);
    return MPL_EXIT_FAILED;
}

bool mpl_console_flush(mpl_console *console) {
    size_t filled = console->filled;
    console->filled = 0;
    return write_all(STDOUT_FILENO, console->buffer, filled);
}

static mpl_console *console_of(lua_State *L) {
    return (mpl_console *)lua_touserdata(L, lua_upvalueindex(1));
}

/* There is no use in going on when results cannot be written, so this does not come back then. */
static void flush_or_end(mpl_console *console) {
    if (!mpl_console_flush(console)) exit(mpl_output_failed(errno));
}

/* write(text): to standard output, buffered. */
static int console_write(lua_State *L) {
    mpl_console *console = console_of(L);
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    if (length > sizeof console->buffer - console->filled) flush_or_end(console);
    if (length > sizeof console->buffer) {
        if (!write_all(STDOUT_FILENO, text, length)) exit(mpl_output_failed(errno));
        return 0;
    }
    memcpy(console->buffer + console->filled, text, length);
    console->filled += length;
    return 0;
}

/* warn(text): to standard error, after everything that was written before. */
static int console_warn(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    flush_or_end(console_of(L));
    (void)write_all(STDERR_FILENO, text, length);
    return 0;
}

/* -- Reading -------------------------------------------------------------------------------- */

typedef struct reader {
    int file;
    bool ours; /* to close: everything but standard input */
    bool ended;
    bool skipping; /* the rest of a line that was too long comes next */
    char *bytes;
    size_t start, end, room; /* what was read and not yet handed out */
    struct stat about;
} reader;

static void reader_end(reader *in) {
    free(in->bytes);
    in->bytes = NULL;
    in->start = in->end = in->room = 0;
    in->ended = true;
    if (in->ours && in->file >= 0) close(in->file);
    in->file = -1;
}

/* A reader of the path, or of standard input where it is NULL, on top of the stack; NULL and errno
 * where there is none. A directory opens but cannot be read: it is refused in read(2)'s words. */
static reader *reader_open(lua_State *L, const char *path) {
    reader *made = lua_newuserdatauv(L, sizeof *made, 0);
    *made = (reader){.file = -1, .ours = path != NULL};
    luaL_setmetatable(L, READER);
    made->file = path == NULL ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (made->file < 0 || fstat(made->file, &made->about) != 0) return NULL;
    if (!S_ISDIR(made->about.st_mode)) return made;
    errno = EISDIR;
    return NULL;
}

static int pushed_failure(lua_State *L, const char *kind, const char *text) {
    lua_pushnil(L);
    lua_pushstring(L, kind);
    lua_pushstring(L, text);
    return 3;
}

/* read(path or nil, limit): the whole content; or nil, "io", why; or nil, "limit", "" once there
 * are more bytes than the limit. Not more than one byte beyond it is ever asked for. */
static int console_read(lua_State *L) {
    const char *path = luaL_optstring(L, 1, NULL);
    lua_Integer limit = luaL_checkinteger(L, 2);
    luaL_argcheck(L, limit >= 0, 2, "a limit is not negative");
    flush_or_end(console_of(L));

    reader *in = reader_open(L, path);
    if (in == NULL) return pushed_failure(L, "io", strerror(errno));
    size_t left = (size_t)limit + 1, piece = PIECE;
    if (S_ISREG(in->about.st_mode)) {
        if (in->about.st_size > limit) return pushed_failure(L, "limit", "");
        /* One byte more than there are, so that the end is seen without growing. */
        piece = (size_t)in->about.st_size + 1;
    }
    luaL_Buffer content;
    luaL_buffinit(L, &content);
    while (left > 0) {
        size_t room = piece < left ? piece : left;
        ssize_t got = read_some(in->file, luaL_prepbuffsize(&content, room), room);
        if (got < 0) return pushed_failure(L, "io", strerror(errno));
        if (got == 0) break;
        luaL_addsize(&content, (size_t)got);
        left -= (size_t)got;
        piece = PIECE;
    }
    reader_end(in);
    if (left == 0) return pushed_failure(L, "limit", "");
    luaL_pushresult(&content);
    return 1;
}

static int reader_close(lua_State *L) {
    reader_end(luaL_checkudata(L, 1, READER));
    return 0;
}

/* Read more behind what is there; false at the end (error 0) or on an error. */
static bool reader_fill(lua_State *L, reader *in, int *error) {
    *error = 0;
    if (in->ended) return false;
    /* Whoever feeds us may be waiting for the answer to what we have been fed. */
    flush_or_end(console_of(L));
    if (in->start > 0) {
        memmove(in->bytes, in->bytes + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    if (in->room - in->end < PIECE) {
        size_t wanted = in->room + in->room / 2 + 2 * PIECE;
        char *more = realloc(in->bytes, wanted);
        if (more == NULL) {
            *error = ENOMEM;
            return false;
        }
        in->bytes = more;
        in->room = wanted;
    }
    ssize_t got = read_some(in->file, in->bytes + in->end, PIECE);
    if (got < 0) *error = errno;
    if (got <= 0) {
        in->ended = true;
        return false;
    }
    in->end += (size_t)got;
    return true;
}

static int reader_failed(lua_State *L, const char *why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

/* A line longer than any document may be is no line of documents: whatever feeds us may never end
 * it. The ceiling of the limit document_bytes. */
#define LINE_MOST ((size_t)1 << 30)

/* Step over the rest of a line that was too long, keeping nothing of it; false when there is no
 * more to read, with *error as reader_fill has it, or (ERANGE) when it does not end. */
static bool reader_skip(lua_State *L, reader *in, int *error) {
    for (size_t skipped = 0;;) {
        size_t have = in->end - in->start;
        char *from = have == 0 ? NULL : in->bytes + in->start;
        char *lf = have == 0 ? NULL : memchr(from, '\n', have);
        if (lf != NULL) {
            in->start += (size_t)(lf - from) + 1;
            in->skipping = false;
            return true;
        }
        skipped += have;
        in->start = in->end = 0;
        *error = ERANGE;
        if (skipped > LINE_MOST || !reader_fill(L, in, error)) return false;
    }
}

/* reader:line(limit): the next line without its LF; false where it had more bytes than the limit,
 * as soon as that is known (the rest of it is skipped by the next call, not kept); nil at the end;
 * nil, why on an error. */
static int reader_line(lua_State *L) {
    reader *in = luaL_checkudata(L, 1, READER);
    lua_Integer asked = luaL_checkinteger(L, 2);
    luaL_argcheck(L, asked >= 0, 2, "a limit is not negative");
    size_t limit = (size_t)asked, seen = 0;
    int error = 0;
    if (in->skipping && !reader_skip(L, in, &error)) {
        if (error == ERANGE) return reader_failed(L, "a line of more than 1 GiB, and no end of it");
        if (error != 0) return reader_failed(L, strerror(error));
        lua_pushnil(L);
        return 1;
    }
    for (;;) {
        size_t have = in->end - in->start;
        char *from = have == 0 ? NULL : in->bytes + in->start;
        char *lf = have > seen ? memchr(from + seen, '\n', have - seen) : NULL;
        size_t length = lf != NULL ? (size_t)(lf - from) : have;
        if (length > limit) {
            in->skipping = lf == NULL;
            in->start += length + (lf != NULL);
            lua_pushboolean(L, false);
            return 1;
        }
        if (lf != NULL) {
            in->start += length + 1;
            lua_pushlstring(L, from, length);
            return 1;
        }
        seen = have;
        if (reader_fill(L, in, &error)) continue;
        if (error != 0) return reader_failed(L, strerror(error));
        have = in->end - in->start;
        if (have == 0) {
            lua_pushnil(L);
        } else { /* a last line without LF */
            lua_pushlstring(L, in->bytes + in->start, have);
            in->start = in->end = 0;
        }
        return 1;
    }
}

/* lines(path or nil): a reader; or nil, why. */
static int console_lines(lua_State *L) {
    if (reader_open(L, luaL_optstring(L, 1, NULL)) != NULL) return 1;
    return reader_failed(L, strerror(errno));
}

/* -- Making ---------------------------------------------------------------------------------- */

static int pushed_outcome(lua_State *L, int error) {
    if (error == 0) {
        lua_pushboolean(L, true);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, strerror(error));
    return 2;
}

/* create(path, text): a file that was not there before; true, or nil, why. */
static int console_create(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    size_t length;
    const char *text = luaL_checklstring(L, 2, &length);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    if (file < 0) return pushed_outcome(L, errno);
    int error = write_all(file, text, length) ? 0 : errno;
    if (close(file) != 0 && error == 0) error = errno;
    if (error != 0) (void)unlink(path);
    return pushed_outcome(L, error);
}

/* make_folder(path): true where it is made or there already, or nil, why. */
static int console_make_folder(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    struct stat about;
    int error = mkdir(path, 0777) == 0 ? 0 : errno;
    if (error == EEXIST && stat(path, &about) == 0 && S_ISDIR(about.st_mode)) error = 0;
    return pushed_outcome(L, error);
}

/* -- Facts ---------------------------------------------------------------------------------- */

/* terminal(descriptor): does a person look at it? */
static int console_terminal(lua_State *L) {
    const char *kind = getenv("TERM");
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)) &&
                           (kind == NULL || strcmp(kind, "dumb") != 0));
    return 1;
}

static int console_environment(lua_State *L) {
    lua_pushstring(L, getenv(luaL_checkstring(L, 1)));
    return 1;
}

/* verbs(): the names of those in the program; behind a dot stands the name of a verb's command. */
static int console_verbs(lua_State *L) {
    static const char prefix[] = "moonplan.verbs.";
    lua_Integer count = 0;
    lua_newtable(L);
    for (size_t i = 0; i < mpl_chunk_count; i++) {
        const char *name = mpl_chunks[i].name;
        if (strncmp(name, prefix, sizeof prefix - 1) != 0) continue;
        if (strchr(name + sizeof prefix - 1, '.') != NULL) continue;
        lua_pushstring(L, name + sizeof prefix - 1);
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* The Lua library at hand, which need not be the one that we were compiled against. */
extern const char lua_ident[];

/* build(): what the program was made with. */
static int console_build(lua_State *L) {
    lua_newtable(L);
    lua_pushstring(L, lua_ident);
    lua_setfield(L, -2, "lua");
    lua_pushstring(L, sodium_version_string());
    lua_setfield(L, -2, "libsodium");
    lua_pushboolean(L, mpl_prompt_can_edit());
    lua_setfield(L, -2, "editline");
    return 1;
}

int mpl_console_open(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"write", console_write},
        {"warn", console_warn},
        {"read", console_read},
        {"lines", console_lines},
        {"create", console_create},
        {"make_folder", console_make_folder},
        {"terminal", console_terminal},
        {"environment", console_environment},
        {"verbs", console_verbs},
        {"build", console_build},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"line", reader_line},
        {"close", reader_close},
        {NULL, NULL},
    };
    mpl_console *console = console_of(L);
    luaL_newmetatable(L, READER);
    lua_pushcfunction(L, reader_close);
    lua_setfield(L, -2, "__gc");
    luaL_newlibtable(L, methods);
    lua_pushlightuserdata(L, console);
    luaL_setfuncs(L, methods, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlibtable(L, functions);
    lua_pushlightuserdata(L, console);
    luaL_setfuncs(L, functions, 1);
    return 1;
}
