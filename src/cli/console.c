/* What a verb knows of the world: whole files, lines of files, standard output and error.
 *
 * Written on descriptors, not stdio: a write that fails has to be noticed where it happens, and a
 * file that has no end must not be read beyond its limit. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "input.h"

#define PIECE   ((size_t)65536)
#define JOURNAL "moonplan.console.journal"

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

void mpl_flush_or_end(mpl_console *console) {
    if (!mpl_console_flush(console)) exit(mpl_output_failed(errno));
}

/* write(text): to standard output, buffered. */
static int console_write(lua_State *L) {
    mpl_console *console = console_of(L);
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    if (length > sizeof console->buffer - console->filled) mpl_flush_or_end(console);
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
    mpl_flush_or_end(console_of(L));
    (void)write_all(STDERR_FILENO, text, length);
    return 0;
}

/* -- Reading -------------------------------------------------------------------------------- */

static int pushed_failure(lua_State *L, const char *kind, const char *text) {
    lua_pushnil(L);
    lua_pushstring(L, kind);
    lua_pushstring(L, text);
    return 3;
}

/* read(path or nil, limit): the whole content; or nil, "io", why; or nil, "limit", "" once there
 * are more bytes than the limit, or how many there are where a file says that. Not more than one
 * byte beyond it is ever asked for. */
static int console_read(lua_State *L) {
    const char *path = luaL_optstring(L, 1, NULL);
    lua_Integer limit = luaL_checkinteger(L, 2);
    luaL_argcheck(L, limit >= 0, 2, "a limit is not negative");
    mpl_flush_or_end(console_of(L));

    mpl_input *in = mpl_input_open(L, path);
    if (in == NULL) return pushed_failure(L, "io", strerror(errno));
    size_t left = (size_t)limit + 1, piece = PIECE;
    if (S_ISREG(in->about.st_mode)) {
        if (in->about.st_size > limit)
            return pushed_failure(L, "limit",
                                  lua_pushfstring(L, "%I", (LUAI_UACINT)in->about.st_size));
        /* One byte more than there are, so that the end is seen without growing. */
        piece = (size_t)in->about.st_size + 1;
    }
    luaL_Buffer content;
    luaL_buffinit(L, &content);
    while (left > 0) {
        size_t room = piece < left ? piece : left;
        ssize_t got = mpl_read_some(in->file, luaL_prepbuffsize(&content, room), room);
        if (got < 0) return pushed_failure(L, "io", strerror(errno));
        if (got == 0) break;
        luaL_addsize(&content, (size_t)got);
        left -= (size_t)got;
        piece = PIECE;
    }
    mpl_input_end(in);
    if (left == 0) return pushed_failure(L, "limit", "");
    luaL_pushresult(&content);
    return 1;
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

/* A file that was not there before, written line by line: what has been added is on the disk. */
typedef struct journal {
    int file;
} journal;

static int journal_close(lua_State *L) {
    journal *out = luaL_checkudata(L, 1, JOURNAL);
    if (out->file >= 0) (void)close(out->file);
    out->file = -1;
    return 0;
}

/* creatable(path): whether a new file can be made there; true, or nil, why. It is gone again: what
 * is in the way is told before work is done that the file is for. */
static int console_creatable(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (file < 0) return pushed_outcome(L, errno);
    (void)close(file);
    (void)unlink(path);
    return pushed_outcome(L, 0);
}

/* journal(path): one, or nil, why. */
static int console_journal(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    journal *out = lua_newuserdatauv(L, sizeof *out, 0);
    out->file = -1;
    luaL_setmetatable(L, JOURNAL);
    out->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
    return out->file >= 0 ? 1 : pushed_outcome(L, errno);
}

/* journal:add(text): true, or nil, why. A device cannot be synchronized, and need not be. */
static int journal_add(lua_State *L) {
    const journal *out = luaL_checkudata(L, 1, JOURNAL);
    size_t length;
    const char *text = luaL_checklstring(L, 2, &length);
    mpl_flush_or_end(console_of(L));
    if (!write_all(out->file, text, length)) return pushed_outcome(L, errno);
    return pushed_outcome(L, fsync(out->file) == 0 || errno == EINVAL ? 0 : errno);
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

/* now(): milliseconds since 1970 */
static int console_now(lua_State *L) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    lua_pushinteger(L, (lua_Integer)time.tv_sec * 1000 + time.tv_nsec / 1000000);
    return 1;
}

/* terminal(descriptor): does a person look at it? */
static int console_terminal(lua_State *L) {
    const char *kind = getenv("TERM");
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)) &&
                           (kind == NULL || strcmp(kind, "dumb") != 0));
    return 1;
}

/* What would end the process while the terminal shows nothing: it ends it once that is over. */
static int hold_signals(sigset_t *before) {
    static const int fatal[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    sigset_t held;
    (void)sigemptyset(&held);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) (void)sigaddset(&held, fatal[i]);
    int signals = signalfd(-1, &held, SFD_CLOEXEC);
    (void)sigaddset(&held, SIGTSTP);
    (void)sigprocmask(SIG_BLOCK, &held, before);
    return signals;
}

/* One byte of what is typed; 0 at the end or when a signal has come, -1 with errno. */
static ssize_t read_key(int signals, char *into) {
    struct pollfd waits[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = signals, .events = POLLIN}};
    while (poll(waits, 2, -1) < 0)
        if (errno != EINTR) return -1;
    return waits[1].revents ? 0 : mpl_read_some(STDIN_FILENO, into, 1);
}

/* A line, byte by byte: what stands behind it is somebody else's. At most `room` bytes; whether
 * there was one, with errno where reading failed. */
static bool read_line(const char *prompt, char *line, size_t room, size_t *length) {
    struct termios shown, quiet;
    sigset_t before;
    ssize_t got = 0;
    bool typed = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &shown) == 0;
    int signals = -1;
    *length = 0;
    if (typed) {
        signals = hold_signals(&before);
        quiet = shown;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        /* What was typed before the question is no answer to it; from the question on all is. */
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
        (void)write_all(STDERR_FILENO, prompt, strlen(prompt));
    }
    errno = 0;
    while (*length < room) {
        got = typed ? read_key(signals, line + *length)
                    : mpl_read_some(STDIN_FILENO, line + *length, 1);
        if (got != 1 || line[*length] == '\n') break;
        ++*length;
    }
    if (typed) {
        int error = errno;
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &shown);
        (void)write_all(STDERR_FILENO, "\n", 1);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        if (signals >= 0) close(signals);
        errno = error;
    }
    return got == 1 || (got == 0 && *length > 0);
}

/* password(prompt): what is typed, without showing it, or, where nobody types, the next line of
 * standard input; without the line's end. nil, why where there is none. */
static int console_password(lua_State *L) {
    const char *prompt = luaL_checkstring(L, 1);
    char line[1024 + 1];
    size_t length;
    mpl_flush_or_end(console_of(L));
    bool there = read_line(prompt, line, sizeof line, &length);
    int error = errno;
    if (there && length < sizeof line) {
        lua_pushlstring(L, line, length);
        sodium_memzero(line, sizeof line);
        return 1;
    }
    sodium_memzero(line, sizeof line);
    lua_pushnil(L);
    lua_pushstring(L, there        ? "a password of more than 1024 bytes"
                      : error != 0 ? strerror(error)
                                   : "there is nobody to ask for a password");
    return 2;
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
        {"lines", mpl_input_lines},
        {"create", console_create},
        {"creatable", console_creatable},
        {"journal", console_journal},
        {"make_folder", console_make_folder},
        {"now", console_now},
        {"terminal", console_terminal},
        {"password", console_password},
        {"environment", console_environment},
        {"verbs", console_verbs},
        {"build", console_build},
        {NULL, NULL},
    };
    mpl_console *console = console_of(L);
    mpl_input_methods(L);
    luaL_newmetatable(L, JOURNAL);
    lua_pushcfunction(L, journal_close);
    lua_setfield(L, -2, "__gc");
    lua_createtable(L, 0, 1);
    lua_pushlightuserdata(L, console);
    lua_pushcclosure(L, journal_add, 1);
    lua_setfield(L, -2, "add");
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlibtable(L, functions);
    lua_pushlightuserdata(L, console);
    luaL_setfuncs(L, functions, 1);
    return 1;
}
