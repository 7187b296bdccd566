/* Files read by the line. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lua/bind.h"
#include "input.h"
#include "pages.h"

#define READER "moonplan.console.reader"

ssize_t mpl_read_some(int file, char *into, size_t room) {
    for (;;) {
        ssize_t got = read(file, into, room);
        if (got >= 0) return got;
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return -1;
        struct pollfd wait = {.fd = file, .events = POLLIN};
        if (poll(&wait, 1, -1) < 0 && errno != EINTR) return -1;
    }
}

void mpl_input_end(mpl_input *in) {
    mpl_pages_free(in->pages);
    in->pages = NULL;
    free(in->bytes);
    in->bytes = NULL;
    in->start = in->whole = in->end = in->room = 0;
    in->ended = true;
    if (in->ours && in->file >= 0) close(in->file);
    in->file = -1;
}

mpl_input *mpl_input_open(lua_State *L, const char *path) {
    mpl_input *made = lua_newuserdatauv(L, sizeof *made, 0);
    *made = (mpl_input){.file = -1, .ours = path != NULL};
    luaL_setmetatable(L, READER);
    made->file = path == NULL ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (made->file < 0 || fstat(made->file, &made->about) != 0) return NULL;
    if (!S_ISDIR(made->about.st_mode)) return made;
    errno = EISDIR;
    return NULL;
}

static int reader_close(lua_State *L) {
    mpl_input_end(luaL_checkudata(L, 1, READER));
    return 0;
}

bool mpl_input_more(mpl_input *in, int *error) {
    *error = 0;
    if (in->ended) {
        *error = in->failed;
        return false;
    }
    if (in->start > 0) {
        memmove(in->bytes, in->bytes + in->start, in->end - in->start);
        in->whole = in->whole > in->start ? in->whole - in->start : 0;
        in->end -= in->start;
        in->start = 0;
    }
    if (in->end == in->room) {
        /* One byte beyond the limit tells all there is to know. */
        size_t wanted = in->room + in->room / 2, most = in->limit + 1;
        if (wanted > most) wanted = most;
        if (wanted < MPL_PAGE) wanted = MPL_PAGE;
        char *more = realloc(in->bytes, wanted);
        if (more == NULL) {
            *error = ENOMEM;
            return false;
        }
        in->bytes = more;
        in->room = wanted;
    }
    /* No more than a page, where a long line has made room for more. */
    size_t part = MPL_PAGE - in->end % MPL_PAGE;
    if (part > in->room - in->end) part = in->room - in->end;
    ssize_t got = mpl_read_some(in->file, in->bytes + in->end, part);
    if (got < 0) *error = in->failed = errno;
    if (got <= 0) {
        in->ended = true;
        return false;
    }
    const char *lf = memrchr(in->bytes + in->end, '\n', (size_t)got);
    if (lf != NULL) in->whole = (size_t)(lf - in->bytes) + 1;
    in->end += (size_t)got;
    return true;
}

/* Wait for more, with nothing left unsaid: whoever feeds us may be waiting for the answer to what
 * we have been fed. */
static bool reader_fill(mpl_input *in, int *error) {
    mpl_flush_or_end(in->console);
    return mpl_input_more(in, error);
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
 * more to read, with *error as mpl_input_more has it, or (ERANGE) when it does not end. */
static bool reader_skip(mpl_input *in, int *error) {
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
        in->start = in->whole = in->end = 0;
        *error = ERANGE;
        if (skipped > LINE_MOST || !reader_fill(in, error)) return false;
    }
}

/* reader:line(): the next line without its LF; false where it had more bytes than the limit, as
 * soon as that is known (the rest of it is skipped by the next call, not kept); nil at the end;
 * nil, why on an error. */
static int reader_line(lua_State *L) {
    mpl_input *in = luaL_checkudata(L, 1, READER);
    size_t limit = in->limit, seen = 0;
    int error = 0;
    moonplan_text known;
    if (in->pages && mpl_pages_line(in, &known)) {
        if (known.length > limit)
            lua_pushboolean(L, false);
        else
            lua_pushlstring(L, known.bytes, known.length);
        return 1;
    }
    if (in->skipping && !reader_skip(in, &error)) {
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
        if (reader_fill(in, &error)) continue;
        if (error != 0) return reader_failed(L, strerror(error));
        have = in->end - in->start;
        if (have == 0) {
            lua_pushnil(L);
        } else { /* a last line without LF */
            lua_pushlstring(L, in->bytes + in->start, have);
            in->start = in->whole = in->end = 0;
        }
        return 1;
    }
}

/* reader:digests(): the digests of the plans on the next lines, a line each, and how many lines
 * that were, blank ones counted; nil where the next line is no valid plan, or not known to be one:
 * then line() has it. What can be read without waiting is judged at once. */
static int reader_digests(lua_State *L) {
    mpl_input *in = luaL_checkudata(L, 1, READER);
    mpl_run run;
    /* Without memory for pages it goes line by line. */
    if (!in->pages || !mpl_pages_run(in, &run) || run.lines == 0) return 0;
    lua_pushlstring(L, run.digests, run.length);
    lua_pushinteger(L, (lua_Integer)run.lines);
    return 2;
}

int mpl_input_lines(lua_State *L) {
    const char *path = luaL_optstring(L, 1, NULL);
    lua_Integer limit = luaL_checkinteger(L, 2);
    luaL_argcheck(L, limit >= 0, 2, "a limit is not negative");
    lua_settop(L, 3);
    mpl_input *in = mpl_input_open(L, path);
    if (in == NULL) return reader_failed(L, strerror(errno));
    in->console = lua_touserdata(L, lua_upvalueindex(1));
    in->limit = (size_t)limit;
    if (lua_isnil(L, 3)) return 1;
    moonplan_options options;
    mpl_lua_many_options(L, 3, &options, mpl_lua_work_new(L));
    in->pages = mpl_pages_new(in, &options);
    lua_pushvalue(L, 4);
    return 1;
}

void mpl_input_methods(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"line", reader_line},
        {"digests", reader_digests},
        {NULL, NULL},
    };
    luaL_newmetatable(L, READER);
    lua_pushcfunction(L, reader_close);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__gc");
    lua_setfield(L, -2, "__close");
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
