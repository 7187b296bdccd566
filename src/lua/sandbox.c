/* _POSIX_C_SOURCE comes from the build, for the clock and the locale. */
#include "sandbox.h"

#include <lauxlib.h>
#include <locale.h>
#include <lualib.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "bind.h"
#include "bounded.h"
#include "chain.h"
#include "convert.h"
#include "module.h"

/* CVE-2021-43519 and CVE-2022-28805 among them; Debian has mended more in its 5.4.4. */
#if LUA_VERSION_RELEASE_NUM < 50404
#error "plugins need Lua 5.4.4 or later: scripts can crash the releases before it"
#endif

mpl_sandbox *mpl_sandbox_of(lua_State *L) {
    void *box;
    lua_getallocf(L, &box);
    return box;
}

/* -- Time ------------------------------------------------------------------*/

/* The deadline is one of processor time, so that a busy machine does not count against a plugin.
 * Asking for that is a system call. It passes no quicker than the time of the clock on the wall,
 * which costs 25 ns; so that one says when it is worth asking. */
static uint64_t clock_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void set_deadline(mpl_sandbox *box, uint64_t milliseconds) {
    uint64_t nanoseconds = milliseconds * 1000000;
    box->deadline = clock_of(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
    box->ask_at = clock_of(CLOCK_MONOTONIC) + nanoseconds;
    box->stop_at = 0;
}

#define STOP_INTERVAL 10000000 /* nanoseconds */

static bool is_late(mpl_sandbox *box) {
    if (box->late) return true;
    if (box->deadline == 0) return false;
    uint64_t wall = clock_of(CLOCK_MONOTONIC);
    if (box->stop && wall >= box->stop_at) {
        bool inside = box->inside;
        box->stop_at = wall + STOP_INTERVAL;
        mpl_sandbox_leave(box);
        box->late = box->stop(box->stop_data);
        if (inside) mpl_sandbox_enter(box);
        if (box->late) return true;
    }
    if (wall < box->ask_at) return false;
    uint64_t spent = clock_of(CLOCK_THREAD_CPUTIME_ID);
    if (spent < box->deadline)
        box->ask_at = wall + (box->deadline - spent);
    else
        box->late = true;
    return box->late;
}

/* -- Memory ----------------------------------------------------------------*/

/* Lua answers a refusal with a collection and one more attempt, which costs a walk over the whole
 * heap. A plugin that catches memory errors and goes on could burn time so; when the attempt after
 * the collection is refused as well, the call is over. */
static void *refuse(mpl_sandbox *box) {
    box->short_of_memory = true;
    if (++box->refused_in_a_row == 2) box->exhausted = true;
    return NULL;
}

/* Large ones are also where time goes that no hook sees, when a few texts are put together again
 * and again; refusing one ends the call as well as anything. */
#define LARGE ((size_t)1 << 14)

static void *allocate(void *data, void *block, size_t old_size, size_t new_size) {
    mpl_sandbox *box = data;
    if (!block) old_size = 0; /* Lua says there what it is going to make */
    if (new_size > old_size && new_size - old_size > box->most - box->used) {
        box->over_limit = true;
        return refuse(box);
    }
    if (new_size >= LARGE && new_size > old_size && is_late(box)) return NULL;
    void *moved = box->alloc(box->alloc_data, block, old_size, new_size);
    if (!moved && new_size != 0) return refuse(box);
    if (new_size > old_size) box->refused_in_a_row = 0;
    box->used += new_size - old_size;
    return moved;
}

/* -- The end of a call -----------------------------------------------------*/

/* Between two looks at the clock, in instructions. Measured with Lua 5.4.4, against no hook at all:
 *
 *   interval   empty loop   calls   tables   texts   late, with slow instructions
 *          1     17.3 x    12.2 x    3.2 x   1.9 x        0.6 ms
 *         10      3.6       2.9      1.3     1.2            1
 *         30      2.8       2.3      1.2     1.1            3
 *        100      2.4       2.2      1.2     1.1           16
 *        300      2.4       2.1      1.2     1.1           30
 *       1000      2.3       1.9      1.2     1.0          215
 *      10000      2.3       1.9      1.1     1.0         3265
 *
 * A hook costs about twice the time, however seldom it is called. What the interval decides is how
 * many slow instructions pass unseen: the last column is a loop that compares two texts of 12 MB,
 * 1.2 ms each time. With quick ones every interval is at most 0.2 ms late. */
#define HOOK_INTERVAL 100

static void look_at_clock(lua_State *L, lua_Debug *at);

/* Raise what no code of the plugin's gets to see: a memory error, for those pass by message
 * handlers, and lua_error makes one of Lua's own text for it, without allocating. The functions
 * that catch errors raise it again (mpl_sandbox_check), and for __close the hook does. */
static void end_call(lua_State *L) {
    lua_sethook(L, look_at_clock, LUA_MASKCOUNT, 1);
    lua_pushliteral(L, "not enough memory");
    lua_error(L);
}

static bool over(const mpl_sandbox *box) {
    return box->late || box->exhausted;
}

static void look_at_clock(lua_State *L, lua_Debug *at) {
    (void)at;
    mpl_sandbox *box = mpl_sandbox_of(L);
    if (over(box) || is_late(box)) end_call(L);
    mpl_sandbox_arm(box, L); /* a coroutine may have been made in a call with a limit */
}

void mpl_sandbox_arm(mpl_sandbox *box, lua_State *coroutine) {
    if (box->deadline == 0) {
        if (lua_gethook(coroutine)) lua_sethook(coroutine, NULL, 0, 0);
    } else if (lua_gethookcount(coroutine) != HOOK_INTERVAL) {
        lua_sethook(coroutine, look_at_clock, LUA_MASKCOUNT, HOOK_INTERVAL);
    }
}

void mpl_sandbox_check(lua_State *L) {
    if (over(mpl_sandbox_of(L))) end_call(L);
}

void mpl_sandbox_look(lua_State *L) {
    mpl_sandbox *box = mpl_sandbox_of(L);
    if (over(box) || is_late(box)) end_call(L);
}

void mpl_sandbox_check_depth(lua_State *L) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), first = mpl_sandbox_of(L)->c_stack;
    if ((here < first ? first - here : here - first) > MPL_C_STACK)
        luaL_error(L, "C stack overflow");
}

/* -- Work ------------------------------------------------------------------*/

static void check_run(lua_State *L, const mpl_sandbox *box) {
    if (box->spent > MPL_RUN_STEPS)
        luaL_error(L,
                   "the library functions have taken %I steps, the most for one call into a plugin",
                   (LUAI_UACINT)MPL_RUN_STEPS);
}

mpl_work mpl_work_begin(lua_State *L) {
    mpl_work work = {L, mpl_sandbox_of(L), 0};
    mpl_sandbox_check(L);
    check_run(L, work.box);
    work.start = work.box->spent;
    mpl_work_do(&work, 16);
    return work;
}

void mpl_work_look(mpl_work *work) {
    mpl_sandbox *box = work->box;
    box->look_at = box->spent + MPL_SLICE_STEPS;
    mpl_sandbox_look(work->L);
    check_run(work->L, box);
    if (box->spent - work->start > MPL_CALL_STEPS)
        luaL_error(work->L, "this takes more than %I steps, the most for one call of a function",
                   (LUAI_UACINT)MPL_CALL_STEPS);
}

/* -- What the plugin sees --------------------------------------------------*/

/* What is taken over as it is. The lists are of names rather than of libraries, because a packager
 * may have built more into those. */
static const char *const of_base[] = {
    "assert", "error",        "getmetatable", "ipairs",   "rawequal", "rawget", "rawlen",
    "rawset", "setmetatable", "select",       "tonumber", "type",     NULL};
static const char *const of_math[] = {
    "abs",        "acos",       "asin", "atan",      "ceil", "cos",    "deg",
    "exp",        "floor",      "fmod", "huge",      "log",  "max",    "min",
    "maxinteger", "mininteger", "modf", "pi",        "rad",  "random", "randomseed",
    "sin",        "sqrt",       "tan",  "tointeger", "type", "ult",    NULL};
/* Set what is listed of a library in the table on top. */
static void take(lua_State *L, lua_CFunction open, const char *const *names) {
    lua_pushcfunction(L, open);
    lua_call(L, 0, 1);
    for (size_t i = 0; names[i]; i++) {
        lua_getfield(L, -1, names[i]);
        lua_setfield(L, -3, names[i]);
    }
    lua_pop(L, 1);
}

/* In front of the stock math.randomseed (the upvalue): that one draws a seed from the state's
 * address where it is given none, and returns the seed. */
static int plain_randomseed(lua_State *L) {
    const mpl_sandbox *box = mpl_sandbox_of(L);
    bool own = lua_isnone(L, 1);
    lua_Integer first = own ? box->seeds[0] : luaL_checkinteger(L, 1);
    lua_Integer second = own ? box->seeds[1] : luaL_optinteger(L, 2, 0);
    lua_pushvalue(L, lua_upvalueindex(1)); /* it has an upvalue of its own */
    lua_pushinteger(L, first);
    lua_pushinteger(L, second);
    lua_call(L, 2, 0);
    return 0;
}

/* Where the registry has plain_randomseed: what the plugin has of it, it may have replaced. */
static const char seeding = 0;

/* The generator starts the same in every state, so that a file loads the same wherever it does. The
 * order of pairs is beyond that: it depends on a seed that Lua draws for itself. */
static void seed(lua_State *L, int environment) {
    lua_getfield(L, environment, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushcclosure(L, plain_randomseed, 1);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &seeding);
    lua_pushvalue(L, -1);
    lua_call(L, 0, 0);
    lua_setfield(L, -2, "randomseed");
    lua_pop(L, 1);
}

void mpl_sandbox_seed(lua_State *L) {
    mpl_sandbox *box = mpl_sandbox_of(L);
    randombytes_buf(box->seeds, sizeof box->seeds);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &seeding);
    lua_call(L, 0, 0);
}

/* In front of functions of ours (the upvalue) that work on whole texts: bytes are what they cost.
 */
static int measured(lua_State *L) {
    mpl_work work = mpl_work_begin(L);
    for (int i = 1; i <= lua_gettop(L); i++)
        if (lua_type(L, i) == LUA_TSTRING) mpl_work_do(&work, lua_rawlen(L, i) * 4);
    int results = lua_tocfunction(L, lua_upvalueindex(1))(L);
    mpl_sandbox_look(L);
    return results;
}

/* Put the functions of the table on top behind that, and those of the tables in it. Not those with
 * upvalues, which they would look for in vain. */
static void measure(lua_State *L) {
    for (lua_pushnil(L); lua_next(L, -2);) {
        if (lua_istable(L, -1)) {
            measure(L);
            lua_pop(L, 1);
        } else if (lua_iscfunction(L, -1) && !lua_getupvalue(L, -1, 1)) {
            lua_pushcclosure(L, measured, 1);
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, -4);
        } else {
            if (lua_iscfunction(L, -1)) lua_pop(L, 1); /* its upvalue */
            lua_pop(L, 1);
        }
    }
}

/* The table on top: where a call gives a function no name, errors look for one here. */
static void note_names(lua_State *L, const char *name) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

static int furnish(lua_State *L) {
    static const struct {
        const char *name;
        void (*push)(lua_State *L);
        bool measured;
    } libraries[] = {
        {"coroutine", mpl_push_coroutine, false}, {"json", mpl_lua_push_json, true},
        {"moonplan", mpl_lua_push_pure, true},    {"string", mpl_push_string, false},
        {"table", mpl_push_table, false},         {"utf8", mpl_push_utf8, false},
    };
    lua_newtable(L);
    int environment = lua_gettop(L);
    take(L, luaopen_base, of_base);
    mpl_set_base(L);
    lua_newtable(L);
    take(L, luaopen_math, of_math);
    note_names(L, "math");
    lua_setfield(L, environment, "math");
    seed(L, environment);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        libraries[i].push(L);
        if (libraries[i].measured) measure(L);
        note_names(L, libraries[i].name);
        lua_setfield(L, environment, libraries[i].name);
    }
    note_names(L, LUA_GNAME);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    return 0;
}

void mpl_sandbox_offer(lua_State *L, const char *name) {
    lua_pushglobaltable(L);
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* -- Opening and running ---------------------------------------------------*/

bool mpl_sandbox_open(mpl_sandbox *box, const moonplan_options *options, size_t most) {
    mpl_alloc outer = mpl_alloc_of(options);
    *box =
        (mpl_sandbox){.alloc = outer.call, .alloc_data = outer.data, .most = most, .seeds = {1, 0}};
    box->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    box->state = box->plain ? lua_newstate(allocate, box) : NULL;
    if (!box->state) return false;
    mpl_outcome outcome = mpl_sandbox_run(box, furnish, NULL, 0);
    lua_settop(box->state, 0);
    return outcome == MPL_RAN;
}

void mpl_sandbox_close(mpl_sandbox *box) {
    if (box->state) lua_close(box->state);
    if (box->plain) freelocale(box->plain);
    box->state = NULL;
    box->plain = NULL;
}

void mpl_sandbox_leave(mpl_sandbox *box) {
    if (box->inside) uselocale(box->outer);
    box->inside = false;
}

void mpl_sandbox_enter(mpl_sandbox *box) {
    if (!box->inside) box->outer = uselocale(box->plain);
    box->inside = true;
}

mpl_outcome mpl_sandbox_run(mpl_sandbox *box, lua_CFunction function, void *data,
                            uint64_t milliseconds) {
    lua_State *L = box->state;
    box->over_limit = box->late = box->exhausted = box->short_of_memory = false;
    box->refused_in_a_row = 0;
    box->spent = 0;
    box->look_at = MPL_SLICE_STEPS;
    box->c_stack = (uintptr_t)__builtin_frame_address(0);
    if (!lua_checkstack(L, 2)) return MPL_NO_MEMORY;
    int top = lua_gettop(L);
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, data);
    if (milliseconds) set_deadline(box, milliseconds);
    mpl_sandbox_arm(box, L);
    mpl_sandbox_enter(box);
    int status = lua_pcall(L, 1, 0, 0);
    mpl_sandbox_leave(box);
    lua_sethook(L, NULL, 0, 0);
    box->deadline = 0;
    if (status == LUA_OK && !box->late) return MPL_RAN;
    /* An error with Lua's text for it is a memory error, whoever raised it. */
    bool ended = over(box) || (status == LUA_ERRMEM && box->short_of_memory);
    if (!ended) return MPL_RAISED;
    lua_settop(L, top);
    return box->late ? MPL_LATE : MPL_NO_MEMORY;
}

/* -- Errors ----------------------------------------------------------------*/

/* Globals of a stock Lua that plugins look for, and what there is instead. */
static const struct {
    const char *name, *instead;
} absent[] = {
    {"print", "ctx.log.info writes to the job's log"},
    {"warn", "ctx.log.warn writes to the job's log"},
    {"io", "files come as ctx.fs, where a grant allows it"},
    {"os", "the time comes as ctx.clock, where a grant allows it"},
    {"require", "plugin.import loads a file of the plugin's own folder"},
    {"dofile", "plugin.import loads a file of the plugin's own folder"},
    {"loadfile", "plugin.import loads a file of the plugin's own folder"},
};

/* Lua's own words about a global that is not there get a hint. */
static void add_hint(mpl_buffer *text) {
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        char end[40] = " a nil value (global '";
        strcat(strcat(end, absent[i].name), "')");
        size_t length = strlen(end);
        if (text->length < length || memcmp(text->bytes + text->length - length, end, length) != 0)
            continue;
        mpl_buffer_add(text, "; plugins have none: ", 21);
        mpl_buffer_add(text, absent[i].instead, strlen(absent[i].instead));
        return;
    }
}

bool mpl_sandbox_error(mpl_sandbox *box, mpl_buffer *text, mpl_buffer *code) {
    bool found = mpl_lua_pop_error(box->state, text, code);
    if (found) add_hint(text);
    return found;
}

/* -- Chunks ----------------------------------------------------------------*/

typedef struct chunk {
    const char *text;
    size_t length;
} chunk;

/* A piece at a time, so that the clock is looked at on the way. */
static const char *next_piece(lua_State *L, void *data, size_t *length) {
    chunk *rest = data;
    const char *text = rest->text;
    mpl_sandbox_look(L);
    *length = rest->length < 4096 ? rest->length : 4096;
    rest->text += *length;
    rest->length -= *length;
    return text;
}

int mpl_sandbox_compile(lua_State *L, const char *text, size_t length, const char *name) {
    chunk rest = {text, length};
    size_t line;
    if (!mpl_chain_check(text, length, &line)) {
        /* The name of a chunk from a string is the string, unless somebody gave it one. */
        const char *shown = *name == '@' || *name == '=' ? name + 1 : "[string]";
        lua_pushfstring(L, "%s:%d: more than %d fields in a row; a local variable parts them",
                        shown, (int)line, MPL_CHAIN_MOST);
        return LUA_ERRSYNTAX;
    }
    int status = lua_load(L, next_piece, &rest, name, "t");
    if (status != LUA_OK) mpl_sandbox_check(L);
    return status;
}

/* A syntax error begins with the chunk's name, shortened where it is long. Whatever else is wrong
 * with it (it is compiled, or nested too deep) is said of nobody. */
static void name_chunk(lua_State *L, const char *name) {
    size_t length = strlen(++name);
    const char *message = lua_tostring(L, -1);
    if (!message || length >= LUA_IDSIZE || strncmp(message, name, length) == 0) return;
    lua_pushfstring(L, "%s: %s", name, message);
    lua_remove(L, -2);
}

void mpl_sandbox_load(lua_State *L, const char *text, size_t length, const char *name) {
    static const char mark[] = "\xef\xbb\xbf";
    if (length >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (length > 0 && text[0] == '#') {
        const char *end = memchr(text, '\n', length);
        length = end ? length - (size_t)(end - text) : 0; /* the line's end counts as a line */
        text = end ? end : "";
    }
    int status = mpl_sandbox_compile(L, text, length, name);
    if (status == LUA_OK) return;
    if (status != LUA_ERRMEM) name_chunk(L, name);
    lua_error(L);
}
