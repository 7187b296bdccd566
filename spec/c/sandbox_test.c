/* A plugin's state seen from its host: what the thread, its stack and its locale notice of it, what
 * comes of every request for memory that fails, and what is left when calls are ended. */
#include <lauxlib.h>
#include <locale.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../src/lua/sandbox.h"
#include "../../src/moonplan_lua.h"
#include "check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

typedef struct chunk {
    const char *text;
    char said[200]; /* its first result, as a text */
} chunk;

static int run_chunk(lua_State *L) {
    chunk *c = lua_touserdata(L, 1);
    mpl_sandbox_load(L, c->text, strlen(c->text), "=chunk");
    lua_call(L, 0, 1);
    const char *said = lua_tostring(L, -1);
    snprintf(c->said, sizeof c->said, "%s", said ? said : luaL_typename(L, -1));
    return 0;
}

static mpl_outcome run(mpl_sandbox *box, const char *text, char *said, uint64_t milliseconds) {
    chunk c = {text, ""};
    mpl_outcome outcome = mpl_sandbox_run(box, run_chunk, &c, milliseconds);
    if (outcome == MPL_RAISED) {
        const char *error = lua_tostring(box->state, -1);
        snprintf(c.said, sizeof c.said, "%s", error ? error : "no text");
        lua_settop(box->state, 0);
    }
    if (said) memcpy(said, c.said, sizeof c.said);
    return outcome;
}

/* Run in a state of its own; it has to come to its end with `expected`. */
static void says(const char *text, const char *expected) {
    char said[200];
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_sandbox box;
    if (CHECK(mpl_sandbox_open(&box, &options, (size_t)64 << 20))) {
        bool ran = run(&box, text, said, 0) == MPL_RAN;
        if (!CHECK(ran && strcmp(said, expected) == 0)) printf("# %s\n# %s\n", text, said);
    }
    mpl_sandbox_close(&box);
}

/* -- Locales -----------------------------------------------------------------*/

static const char plain[] =
    "assert(tostring(0.5) == '0.5' and 0.5 .. '' == '0.5' and '0.5' + 0 == 0.5)\n"
    "assert(('%.1f|%g'):format(1.5, 2.5) == '1.5|2.5' and tonumber '1,5' == nil)\n"
    "assert(('iI\\xe9\\xfd'):upper() == 'II\\xe9\\xfd' and ('IiA'):lower() == 'iia')\n"
    "assert(not ('\\xe9\\xfd'):find '[%a%w%u%l%p]' and 'B' < 'a' and 'z' < '\\xe9')\n"
    "local t = { 'b', 'B', '\\xe9', 'a', 'A' } table.sort(t)\n"
    "assert(table.concat(t) == 'ABab\\xe9' and load 'return 1.5'() == 3 / 2)\n"
    "return 'plain'";

/* In the host's state: a plugin, and a listener that is called in the middle of it. */
static const char in_between[] =
    "local m, folder, point = ...\n"
    "local engine = assert(m.engine { plugins = folder, shipped = false, isolation = 'state' })\n"
    "local heard\n"
    "engine:on('log', function() heard = ('%.1f'):format(0.5) end)\n"
    "local job = engine:run { steps = { { id = 'a', capability = 'a' } } }\n"
    "assert(job.result == '0.5 0.5', job.error and job.error.message)\n"
    "assert(heard == '0' .. point .. '5', heard)\n"
    "assert(('%.1f'):format(0.5) == '0' .. point .. '5')\n";

static void check_in_between(const char *folder, const char *point) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    if (!CHECK(luaL_loadstring(L, in_between) == LUA_OK)) return;
    luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
    lua_pushstring(L, folder);
    lua_pushstring(L, point);
    if (!CHECK(lua_pcall(L, 3, 0, 0) == LUA_OK)) printf("# %s\n", lua_tostring(L, -1));
    lua_close(L);
}

static void a_locale_stays_outside(void) {
    static const struct {
        const char *name, *command;
    } locales[] = {{"de_DE.UTF-8", "localedef -i de_DE -f UTF-8"},
                   {"tr_TR.ISO-8859-9", "localedef -i tr_TR -f ISO-8859-9"},
                   {"ja_JP.UTF-8", "localedef -i ja_JP -f UTF-8"}};
    char folder[] = "/tmp/moonplan-sandbox-XXXXXX", command[256], path[64];
    if (!CHECK(mkdtemp(folder) != NULL)) return;
    snprintf(path, sizeof path, "%s/a.lua", folder);
    FILE *file = fopen(path, "w");
    if (!CHECK(file != NULL) || !file) return;
    fputs("return { kind = 'capability', api = 1, name = 'a', version = '1', risk = 'read',\n"
          "  summary = 's', run = function(_, ctx)\n"
          "    local before = tostring(0.5) ctx.log.info 'now'\n"
          "    return before .. ' ' .. tostring(0.5) end }\n",
          file);
    fclose(file);
    setenv("LOCPATH", folder, 1);
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        snprintf(command, sizeof command, "%s %s/%s >/dev/null 2>&1", locales[i].command, folder,
                 locales[i].name);
        int made = system(command);
        if (made == -1 || !setlocale(LC_ALL, locales[i].name)) {
            check_skip("localedef cannot make a locale");
            continue;
        }
        char point[8];
        snprintf(point, sizeof point, "%s", localeconv()->decimal_point);
        says(plain, "plain");
        check_in_between(folder, point);
        CHECK(strcmp(localeconv()->decimal_point, point) == 0);
        CHECK(strcmp(setlocale(LC_ALL, NULL), locales[i].name) == 0);
        CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
    }
    /* One that the thread has for itself comes back as well. */
    locale_t own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    uselocale(own);
    says(plain, "plain");
    CHECK(uselocale((locale_t)0) == own);
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(own);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* -- Stacks -------------------------------------------------------------------*/

/* Whatever nests; each has to end by itself, with an error that it catches. */
static const char *const nests[] = {
    "local f f = function() return pcall(f) end f() return 'over'",
    "local f f = function() return xpcall(f, f) end f() return 'over'",
    "local f f = function() return select(2, pcall(f)) .. 'x' end f() return 'over'",
    "local function g() return (('a'):gsub('a', g)) end pcall(g) return 'over'",
    "local function n() return coroutine.wrap(n)() end pcall(n) return 'over'",
    "local t t = setmetatable({}, { __tostring = function() return tostring(t) end })\n"
    "pcall(tostring, t) pcall(string.format, '%s', t) return 'over'",
    "local t t = setmetatable({}, { __tostring = function() return ('%s'):format(t) end })\n"
    "pcall(tostring, t) return 'over'",
    "local t = {} local function less() table.sort({ 1, 2 }, less) end\n"
    "pcall(less) return 'over'",
    "local t t = setmetatable({}, { __index = function() return table.concat(t, '', 1, 1) end })\n"
    "pcall(table.concat, t, '', 1, 1) return 'over'",
    "local t t = setmetatable({}, { __len = function() return #{ table.unpack(t) } end })\n"
    "pcall(table.unpack, t) return 'over'",
    "local t t = setmetatable({}, { __index = function(_, k) return t[k + 1] end })\n"
    "pcall(function() return t[1] end) return 'over'",
    "local t t = setmetatable({}, { __concat = function() return t .. 'x' end })\n"
    "pcall(function() return t .. 'x' end) return 'over'",
    "local t t = setmetatable({}, { __pairs = function() return pairs(t) end })\n"
    "pcall(pairs, t) return 'over'",
    "local f f = function(n) local x <close> = setmetatable({}, { __close = function() f(n + 1) "
    "end "
    "})\n"
    "end pcall(f, 1) return 'over'",
    "load(('('):rep(100000)) load('return ' .. ('{'):rep(100000)) load('return ' .. "
    "('-'):rep(100000) .. '1')\n"
    "load(('do '):rep(100000)) load('return ' .. ('function() return '):rep(10000))\n"
    "load('x' .. ('.y'):rep(50000) .. ' = 1') return 'over'",
    "local s = ('a'):rep(1000) pcall(string.find, s, ('a?'):rep(1000)) "
    "pcall(string.find, s, ('(a'):rep(30) .. ('a-'):rep(1000)) return 'over'",
    "local t = {} for n = 1, 200 do t = { t } end\n"
    "pcall(json.encode, t) json.decode(('['):rep(1000)) return 'over'",
    /* Lua 5.4.4 begins to count calls again in a coroutine that is closed. */
    "local previous = false\n"
    "for i = 1, 20000 do\n"
    "  local last = previous\n"
    "  previous = coroutine.create(function()\n"
    "    local c <close> = setmetatable({}, { __close = function()\n"
    "      if last then assert(coroutine.close(last)) end end })\n"
    "    coroutine.yield() end)\n"
    "  assert(coroutine.resume(previous))\n"
    "end\n"
    "pcall(coroutine.close, previous) return 'over'",
    /* The same with as many calls as Lua allows in each of them. */
    "local previous = false\n"
    "local function deep(n, f) if n == 0 then return f() end return pcall(deep, n - 1, f) end\n"
    "for i = 1, 300 do\n"
    "  local last = previous\n"
    "  previous = coroutine.create(function()\n"
    "    local c <close> = setmetatable({}, { __close = function()\n"
    "      if last then deep(150, function() coroutine.close(last) end) end end })\n"
    "    coroutine.yield() end)\n"
    "  assert(coroutine.resume(previous))\n"
    "end\n"
    "pcall(coroutine.close, previous) return 'over'",
    /* As many fields in a row as there may be, in an error's message. */
    "A = setmetatable({}, { __index = function(_, k) if k == 'x' then return nil end return A end "
    "})\n"
    "local f = load('return A' .. ('.b'):rep(999) .. '.x + 1')\n"
    "local function deep(n) if n == 0 then return pcall(f) end return pcall(deep, n - 1) end\n"
    "deep(150) return 'over'",
    "local function inside() return (('a'):gsub('a', function()\n"
    "  return coroutine.wrap(function() return select(2, pcall(inside)) end)() end)) end\n"
    "pcall(inside) return 'over'",
};

#define STACK ((size_t)1 << 20)

static void *nest(void *data) {
    const char *const *text = data;
    says(*text, "over");
    return NULL;
}

/* In a thread of 1 MiB, of which at least a quarter is never touched. */
static void a_mebibyte_of_stack_is_enough(void) {
    size_t worst = 0;
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        unsigned char *stack =
            mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!CHECK(stack != MAP_FAILED)) return;
        memset(stack, 0x5a, STACK);
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        CHECK(pthread_attr_setstack(&attributes, stack, STACK) == 0);
        const char *text = nests[i];
        CHECK(pthread_create(&thread, &attributes, nest, &text) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        pthread_attr_destroy(&attributes);
        size_t untouched = 0;
        while (untouched < STACK && stack[untouched] == 0x5a) untouched++;
        if (STACK - untouched > worst) worst = STACK - untouched;
        munmap(stack, STACK);
    }
    printf("# deepest: %zu KiB of stack\n", worst / 1024);
    CHECK(SANITIZED || worst < STACK / 4 * 3);
}

/* -- The end of a call -----------------------------------------------------------*/

/* Loops in every disguise, each of which would set `after` when it is let go on. */
static const char *const loops[] = {
    "while true do pcall(function() while true do end end) after = 1 end",
    "xpcall(function() while true do end end, function() after = 1 end)",
    "local ok = xpcall(error, function() while true do end end) after = 1",
    "local x <close> = setmetatable({}, { __close = function() after = 1 end }) while true do end",
    "local x <close> = setmetatable({}, { __close = rawset, __newindex = 1 }) while true do end",
    "local co = coroutine.create(function() while true do end end) coroutine.resume(co) after = 1",
    "local co = coroutine.wrap(function() while true do coroutine.yield() end end)\n"
    "while true do co() end",
    "local co = coroutine.create(function() local x <close> = setmetatable({}, { __close = "
    "function()\n"
    "while true do end end }) coroutine.yield() end) coroutine.resume(co) coroutine.close(co) "
    "after "
    "= 1",
    "local s = ('a'):rep(50) for i = 1, 1e9 do s:find('.-.-.-.-.-.-b') end",
    "local t = setmetatable({}, { __index = type }) while true do table.concat(t, '', 1, 1000) end",
    "table.sort({ 1, 2, 3 }, function() while true do end end)",
    "(('a'):rep(10)):gsub('a', function() while true do end end)",
    "setmetatable({}, { __index = function() while true do end end }).x = nil\n"
    "return setmetatable({}, { __index = function() while true do end end }).x",
    "while true do load 'return 1' end",
    "while true do tostring(setmetatable({}, { __tostring = function() return '' end })) end",
    "for _ in pairs(setmetatable({}, { __pairs = function() return function() return 1 end end })) "
    "do end",
    "while true do json.encode { json.decode '[1,2,3]' } end",
    "while true do moonplan.keccak256('x') end",
    "goto l ::l:: goto l",
};

static void nothing_runs_when_the_time_is_over(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        mpl_sandbox box;
        char said[200];
        if (CHECK(mpl_sandbox_open(&box, &options, (size_t)64 << 20))) {
            for (int again = 0; again < 2; again++)
                if (!CHECK(run(&box, loops[i], said, 10) == MPL_LATE))
                    printf("# %s\n# %s\n", loops[i], said);
            /* The state is as good as before. */
            CHECK(run(&box, "return tostring(after) .. #('x'):rep(3)", said, 0) == MPL_RAN);
            if (!CHECK(strcmp(said, "nil3") == 0)) printf("# %s\n# %s\n", loops[i], said);
        }
        mpl_sandbox_close(&box);
    }
}

/* What a coroutine that goes on later knows of a deadline is that of the call it goes on in. */
static void coroutines_know_the_deadline_of_each_call(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_sandbox box;
    char said[200];
    if (CHECK(mpl_sandbox_open(&box, &options, (size_t)64 << 20))) {
        CHECK(run(&box,
                  "co = coroutine.wrap(function() while true do coroutine.yield()\n"
                  "  for i = 1, times do end end end) times = 1 co()",
                  said, 1000) == MPL_RAN);
        CHECK(run(&box, "times = 3000000 co() return 'done'", said, 0) == MPL_RAN);
        CHECK(run(&box, "times = 1e12 co()", said, 10) == MPL_LATE);
        CHECK(run(&box, "return tostring(pcall(co))", said, 10) == MPL_RAN);
        CHECK(strcmp(said, "false") == 0);
    }
    mpl_sandbox_close(&box);
}

static void memory_that_has_run_out_ends_the_call(void) {
    static const char *const hogs[] = {
        "local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) end",
        "local t = {} while true do xpcall(function() while true do t[#t + 1] = {} end end,\n"
        "  function() after = 1 end) end",
        "local t = {} while true do coroutine.resume(coroutine.create(function()\n"
        "  while true do t[#t + 1] = {} end end)) end",
        "local s = 'x' while true do pcall(function() while true do s = s .. s end end) end",
        "local t = {} while true do pcall(table.concat, { ('x'):rep(900000), ('x'):rep(900000) })\n"
        "  t[#t + 1] = ('x'):rep(100000) .. #t end",
    };
    for (size_t i = 0; i < sizeof hogs / sizeof *hogs; i++) {
        counter count;
        moonplan_options options;
        counter_options(&options, &count);
        mpl_sandbox box;
        char said[200];
        if (CHECK(mpl_sandbox_open(&box, &options, (size_t)2 << 20))) {
            for (int again = 0; again < 3; again++) {
                if (!CHECK(run(&box, hogs[i], said, 0) == MPL_NO_MEMORY)) printf("# %s\n", hogs[i]);
                CHECK(box.over_limit && count.used <= (size_t)2 << 20);
            }
            CHECK(count.peak <= (size_t)2 << 20);
            CHECK(run(&box, "return tostring(after)", said, 0) == MPL_RAN);
            CHECK(strcmp(said, "nil") == 0);
        }
        mpl_sandbox_close(&box);
        CHECK(count.blocks == 0 && count.used == 0);
    }
}

/* Lua's own text for it makes a memory error of any error. */
static void a_plugins_own_error_is_none_of_ours(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_sandbox box;
    char said[200];
    if (CHECK(mpl_sandbox_open(&box, &options, (size_t)64 << 20))) {
        CHECK(run(&box, "error('not enough memory', 0)", said, 1000) == MPL_RAISED);
        CHECK(strcmp(said, "not enough memory") == 0);
        CHECK(run(&box, "return select(2, pcall(error, 'not enough memory', 0))", said, 0) ==
              MPL_RAN);
        CHECK(strcmp(said, "not enough memory") == 0);
    }
    mpl_sandbox_close(&box);
}

static void ended_calls_leave_nothing_behind(void) {
    int kills = getenv("MOONPLAN_SOAK") ? 10000 : 500;
    counter count;
    moonplan_options options;
    counter_options(&options, &count);
    mpl_sandbox box;
    size_t settled = 0;
    if (CHECK(mpl_sandbox_open(&box, &options, (size_t)64 << 20))) {
        for (int i = 0; i < kills; i++) {
            CHECK(run(&box,
                      "local t = {} for i = 1, 10 do t[i] = coroutine.wrap(function() local x\n"
                      "<close> = setmetatable({}, {}) or nil coroutine.yield() end) end\n"
                      "local co = coroutine.wrap(function() while true do pcall(error) end end)\n"
                      "(('a'):rep(5000)):gsub('a', function() co() end)",
                      NULL, 1) != MPL_RAN);
            if (i == 100 || i == kills - 1) {
                lua_gc(box.state, LUA_GCCOLLECT);
                lua_gc(box.state, LUA_GCCOLLECT);
                if (i == 100) settled = count.used;
            }
        }
        if (!CHECK(count.used <= settled + 4096))
            printf("# %zu bytes, then %zu\n", settled, count.used);
    }
    mpl_sandbox_close(&box);
    CHECK(count.blocks == 0 && count.used == 0);
}

/* -- Threads ---------------------------------------------------------------------*/

typedef struct side {
    bool killed, failed;
} side;

static void *in_thread(void *data) {
    side *s = data;
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_sandbox box;
    s->failed = !mpl_sandbox_open(&box, &options, (size_t)64 << 20);
    for (int i = 0; i < 40 && !s->failed; i++) {
        const char *text = s->killed ? "while true do pcall(string.rep, 'x', 1000) end"
                                     : "local n = 0 for i = 1, 30000 do n = n + i end return n";
        mpl_outcome outcome = run(&box, text, NULL, s->killed ? 3 : 60000);
        s->failed = outcome != (s->killed ? MPL_LATE : MPL_RAN);
    }
    mpl_sandbox_close(&box);
    return NULL;
}

static void a_kill_in_one_thread_is_none_in_another(void) {
    side sides[4] = {{true, false}, {false, false}, {true, false}, {false, false}};
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, in_thread, &sides[i]) == 0);
    for (size_t i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0 && !sides[i].failed);
}

/* -- Memory ------------------------------------------------------------------------*/

static const char scene[] =
    "local ok, m = pcall(function() local s = ('x'):rep(100):gsub('x', '<%0>')\n"
    "  local t = {} for w in s:gmatch '%w' do t[#t + 1] = w .. #t end\n"
    "  table.sort(t, function(a, b) return a > b end)\n"
    "  return table.concat(t, ',') .. ('%5.1f|%q'):format(1.5, s) .. utf8.char(233, 8364)\n"
    "    .. json.encode { json.decode '[1,{\"a\":2}]' } .. moonplan.keccak256 's' end)\n"
    "local co = coroutine.wrap(function(...) local x <close> = setmetatable({}, { __close = error "
    "})\n"
    "  coroutine.yield(...) error 'own' end)\n"
    "co(1, 2) local co_ok = pcall(co) local f = load 'return ...'\n"
    "return tostring(ok) .. tostring(co_ok) .. f(table.unpack({ 5 }))";

static void every_request_may_fail(void) {
    counter count;
    moonplan_options options;
    mpl_sandbox box;
    char said[200];
    counter_options(&options, &count);
    CHECK(mpl_sandbox_open(&box, &options, (size_t)64 << 20));
    CHECK(run(&box, scene, said, 1000) == MPL_RAN && CHECK(strcmp(said, "truefalse5") == 0));
    mpl_sandbox_close(&box);
    size_t calls = count.calls, refused = 0;
    size_t stride = getenv("MOONPLAN_SOAK") ? 1 : 3;
    for (int for_good = 0; for_good < 2; for_good++) {
        for (size_t n = 1; n <= calls; n += stride) {
            counter_options(&options, &count);
            count.fail_at = n;
            count.fail_on = for_good;
            if (mpl_sandbox_open(&box, &options, (size_t)64 << 20)) {
                mpl_outcome outcome = run(&box, scene, said, 1000);
                /* One refusal alone is answered by a collection; our own C answers by itself. */
                CHECK(outcome == MPL_RAN || outcome == MPL_NO_MEMORY ||
                      (outcome == MPL_RAISED && strstr(said, "memory")));
                if (outcome != MPL_RAN) refused++;
                CHECK(!box.over_limit);
            } else {
                refused++;
            }
            mpl_sandbox_close(&box);
            CHECK(count.blocks == 0 && count.used == 0 && !count.wrong);
        }
    }
    CHECK(refused > calls / stride);
}

/* github.com/scoder/lupa/issues/211: limits too small to open the libraries in. */
static void a_limit_may_be_too_small(void) {
    int opened = 0;
    for (size_t most = 1; most <= (size_t)1 << 20; most += most / 8 + 1) {
        counter count;
        moonplan_options options;
        counter_options(&options, &count);
        mpl_sandbox box;
        if (mpl_sandbox_open(&box, &options, most)) {
            opened++;
            mpl_outcome outcome = run(&box, "return 1", NULL, 0);
            CHECK(outcome == MPL_RAN || outcome == MPL_NO_MEMORY);
        }
        CHECK(count.peak <= most);
        mpl_sandbox_close(&box);
        CHECK(count.blocks == 0 && count.used == 0);
    }
    CHECK(opened > 10);
}

int main(void) {
    RUN(a_locale_stays_outside);
    RUN(a_mebibyte_of_stack_is_enough);
    RUN(nothing_runs_when_the_time_is_over);
    RUN(coroutines_know_the_deadline_of_each_call);
    RUN(memory_that_has_run_out_ends_the_call);
    RUN(a_plugins_own_error_is_none_of_ours);
    RUN(ended_calls_leave_nothing_behind);
    RUN(a_kill_in_one_thread_is_none_in_another);
    RUN(every_request_may_fail);
    RUN(a_limit_may_be_too_small);
    return check_end();
}
