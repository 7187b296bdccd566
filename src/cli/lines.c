/* Files read by the line, and the digests of plans that stand on lines. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/text.h"
#include "../lua/bind.h"
#include "input.h"

#define PIECE  ((size_t)65536)
#define READER "moonplan.console.reader"

/* Lines that are judged at once, and how many bytes are gathered for that where they come without
 * waiting: enough for every thread to have plans for all its lanes. */
#define LINES_MOST   4096
#define GATHER_BYTES ((size_t)1 << 20)
#define GATHER_MOST  ((size_t)1 << 24)

/* What is known of the lines that come next. */
struct mpl_batch {
    size_t count, next;
    enum { BLANK, PLAN, OTHER } kind[LINES_MOST];
    size_t length[LINES_MOST]; /* with the LF */
    moonplan_text texts[LINES_MOST];
    uint8_t digests[LINES_MOST][32];
    bool valid[LINES_MOST];
    size_t place[LINES_MOST]; /* of a line among those that are judged */
};

/* -- Reading -------------------------------------------------------------------------------- */

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
    free(in->bytes);
    free(in->ahead);
    free(in->batch);
    in->bytes = in->ahead = NULL;
    in->batch = NULL;
    in->has_ahead = false;
    in->start = in->end = in->room = 0;
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

/* Read more behind what is there; false at the end (error 0) or on an error. */
static bool reader_fill(lua_State *L, mpl_input *in, int *error) {
    *error = 0;
    if (in->ended) {
        *error = in->failed;
        return false;
    }
    /* Whoever feeds us may be waiting for the answer to what we have been fed. */
    mpl_flush_or_end(lua_touserdata(L, lua_upvalueindex(1)));
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
    ssize_t got = mpl_read_some(in->file, in->bytes + in->end, PIECE);
    if (got < 0) *error = in->failed = errno;
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

/* What was read ahead comes next, if all before it is done. */
static void turn_page(mpl_input *in) {
    if (!in->has_ahead || in->batch->next < in->batch->count) return;
    char *bytes = in->bytes;
    size_t room = in->room;
    in->bytes = in->ahead;
    in->room = in->ahead_room;
    in->start = 0;
    in->end = in->ahead_end;
    in->ahead = bytes;
    in->ahead_room = room;
    in->has_ahead = false;
}

/* Step over the rest of a line that was too long, keeping nothing of it; false when there is no
 * more to read, with *error as reader_fill has it, or (ERANGE) when it does not end. */
static bool reader_skip(lua_State *L, mpl_input *in, int *error) {
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
    mpl_input *in = luaL_checkudata(L, 1, READER);
    lua_Integer asked = luaL_checkinteger(L, 2);
    luaL_argcheck(L, asked >= 0, 2, "a limit is not negative");
    size_t limit = (size_t)asked, seen = 0;
    int error = 0;
    turn_page(in);
    if (in->batch && in->batch->next < in->batch->count) in->batch->next++; /* it is that line */
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

/* -- Digests -------------------------------------------------------------------------------- */

/* Threads wait for one another once a batch, so that several take larger ones. */
static size_t gather_bytes(const moonplan_options *options) {
    size_t bytes = options->jobs > 1 ? 2 * options->jobs * GATHER_BYTES : GATHER_BYTES;
    return bytes < GATHER_MOST ? bytes : GATHER_MOST;
}

/* Whether bytes, or the end, can be read without waiting. */
static bool there_is_more(const mpl_input *in) {
    struct pollfd input = {.fd = in->file, .events = POLLIN};
    return !in->ended && poll(&input, 1, 0) == 1;
}

/* Have at least one whole line, and what else there is without waiting; false without one. */
static bool gather(lua_State *L, mpl_input *in, size_t limit, size_t bytes) {
    int error;
    for (size_t seen = 0;;) {
        size_t have = in->end - in->start;
        if (have > seen && memchr(in->bytes + in->start + seen, '\n', have - seen)) break;
        if (have > limit || !reader_fill(L, in, &error)) return false;
        seen = have;
    }
    while (in->end - in->start < bytes && there_is_more(in) && reader_fill(L, in, &error)) {
    }
    return true;
}

static bool is_blank(moonplan_text line) {
    for (size_t i = 0; i < line.length; i++)
        if (line.bytes[i] != ' ' && line.bytes[i] != '\t' && line.bytes[i] != '\r') return false;
    return true;
}

typedef struct judging {
    mpl_batch *batch;
    size_t count;
    const moonplan_options *options;
} judging;

static void *judge_texts(void *data) {
    const judging *job = data;
    mpl_batch *batch = job->batch;
    moonplan_digest_many(batch->digests, batch->valid, batch->texts, job->count, job->options);
    return NULL;
}

/* Read on, as far as that goes without waiting, while what is there is judged. */
static void read_ahead(mpl_input *in, const char *behind, size_t bytes) {
    size_t left = (size_t)(in->bytes + in->end - behind), wanted = left + bytes + PIECE;
    if (in->ahead_room < wanted) {
        char *more = realloc(in->ahead, wanted);
        if (more == NULL) return; /* then it is read later */
        in->ahead = more;
        in->ahead_room = wanted;
    }
    memcpy(in->ahead, behind, left);
    in->ahead_end = left;
    in->has_ahead = true;
    while (in->ahead_end < left + bytes && there_is_more(in)) {
        ssize_t got = mpl_read_some(in->file, in->ahead + in->ahead_end, PIECE);
        if (got < 0) in->failed = errno;
        if (got <= 0) {
            in->ended = true;
            return;
        }
        in->ahead_end += (size_t)got;
    }
}

/* Judge the whole lines that are there. */
static void judge(mpl_input *in, size_t limit, const moonplan_options *options) {
    mpl_batch *batch = in->batch;
    judging job = {batch, 0, options};
    batch->count = batch->next = 0;
    const char *at = in->bytes + in->start, *end = in->bytes + in->end, *lf;
    for (; at < end && batch->count < LINES_MOST; at = lf + 1) {
        lf = memchr(at, '\n', (size_t)(end - at));
        if (!lf) break;
        moonplan_text line = {at, (size_t)(lf - at)};
        size_t n = batch->count++;
        batch->length[n] = line.length + 1;
        batch->kind[n] = is_blank(line) ? BLANK : line.length > limit ? OTHER : PLAN;
        if (batch->kind[n] != PLAN) continue;
        batch->place[n] = job.count;
        batch->texts[job.count++] = line;
    }
    pthread_t thread;
    if (options->jobs > 1 && pthread_create(&thread, NULL, judge_texts, &job) == 0) {
        read_ahead(in, at, gather_bytes(options));
        pthread_join(thread, NULL);
    } else {
        judge_texts(&job);
    }
    for (size_t n = 0; n < batch->count; n++)
        if (batch->kind[n] == PLAN && !batch->valid[batch->place[n]]) batch->kind[n] = OTHER;
}

/* reader:digests(limit, options): the digests of the plans on the next lines, a line each, and how
 * many lines that were, blank ones counted; nil where the next line is no valid plan, or not known
 * to be one yet: then line() has it. What can be read without waiting is judged at once. */
static int reader_digests(lua_State *L) {
    mpl_input *in = luaL_checkudata(L, 1, READER);
    lua_Integer limit = luaL_checkinteger(L, 2);
    luaL_argcheck(L, limit >= 0, 2, "a limit is not negative");
    lua_settop(L, 3);
    if (!in->batch) {
        in->batch = malloc(sizeof *in->batch);
        if (!in->batch) return 0; /* it goes without */
        in->batch->count = in->batch->next = 0;
    }
    mpl_batch *batch = in->batch;
    turn_page(in);
    if (batch->next == batch->count) {
        moonplan_options options;
        mpl_lua_work *work = mpl_lua_work_new(L);
        mpl_lua_many_options(L, 3, &options, work);
        if (in->skipping || !gather(L, in, (size_t)limit, gather_bytes(&options))) return 0;
        judge(in, (size_t)limit, &options);
        mpl_lua_work_close(work);
    }
    size_t lines = 0;
    luaL_Buffer out;
    luaL_buffinit(L, &out);
    for (; batch->next < batch->count && batch->kind[batch->next] != OTHER;
         batch->next++, lines++) {
        in->start += batch->length[batch->next];
        if (batch->kind[batch->next] == BLANK) continue;
        char line[67] = "0x";
        mpl_hex_encode(line + 2, batch->digests[batch->place[batch->next]], 32);
        line[66] = '\n';
        luaL_addlstring(&out, line, sizeof line);
    }
    if (lines == 0) return 0;
    luaL_pushresult(&out);
    lua_pushinteger(L, (lua_Integer)lines);
    return 2;
}

void mpl_input_methods(lua_State *L, mpl_console *console) {
    static const luaL_Reg methods[] = {
        {"line", reader_line},
        {"digests", reader_digests},
        {"close", reader_close},
        {NULL, NULL},
    };
    luaL_newmetatable(L, READER);
    lua_pushcfunction(L, reader_close);
    lua_setfield(L, -2, "__gc");
    luaL_newlibtable(L, methods);
    lua_pushlightuserdata(L, console);
    luaL_setfuncs(L, methods, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
