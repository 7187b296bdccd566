/* Plugins in processes of their own, from a host's side: what becomes of it when one is killed,
 * dies, lies or floods (hostile_runner.c), how long that takes and what it leaves behind; and what
 * of the host's own business a runner has no part in: its signals, its children, its threads, its
 * standard streams. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/moonplan_lua.h"
#include "lua_alloc.h"

static char folder[] = "/tmp/moonplan-isolation-XXXXXX";
static const char *hostile; /* the path of the runner that is */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void write_file(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) abort();
    fputs(text, file);
    fclose(file);
}

static void plugin(const char *name, const char *body) {
    char file[128], text[2048];
    snprintf(file, sizeof file, "%s.lua", name);
    snprintf(text, sizeof text,
             "local state = {}\n"
             "return { kind = 'capability', api = 1, name = '%s', version = '1.0.0',\n"
             "  summary = 'For a test.', risk = 'read',\n"
             "  run = function(input, ctx) %s end }\n",
             name, body);
    write_file(file, text);
}

/* -- A host ------------------------------------------------------------------------*/

typedef struct host {
    lua_State *L;
    counter count;
} host;

static const char prelude[] =
    "local moonplan, folder, runner = ...\n"
    "function engine(limits)\n"
    "  return assert(moonplan.engine { plugins = folder, shipped = false, isolation = 'process',\n"
    "    runner = runner, limits = limits })\n"
    "end\n"
    /* The code of a step's failure, or "completed"; then the detail's code and reason. */
    "function call(engine, name, input)\n"
    "  local job, err = engine:run { version = '1.0',\n"
    "    steps = { { id = 'a', capability = name, input = input } } }\n"
    "  if not job then return err.code, err.message end\n"
    "  if not job.error then return 'completed', moonplan.json.encode(job.result) end\n"
    "  local detail = job.error.detail or {}\n"
    "  return job.error.code, detail.code, detail.reason, job.error.message\n"
    "end\n";

static void open_host(host *h, const char *runner) {
    memset(h, 0, sizeof *h);
    h->L = lua_newstate(lua_alloc, &h->count);
    luaL_openlibs(h->L);
    luaL_requiref(h->L, "moonplan", luaopen_moonplan, 0);
    if (luaL_loadstring(h->L, prelude) != LUA_OK) abort();
    lua_insert(h->L, 1);
    lua_pushstring(h->L, folder);
    if (runner)
        lua_pushstring(h->L, runner);
    else
        lua_pushnil(h->L);
    if (lua_pcall(h->L, 3, 0, 0) != LUA_OK) printf("# %s\n", lua_tostring(h->L, -1));
    lua_settop(h->L, 0);
}

static void close_host(host *h) {
    lua_close(h->L);
    CHECK(h->count.used == 0 && !h->count.wrong);
}

/* The chunk's first result as text, until the next run. */
static const char *run(host *h, const char *chunk) {
    lua_settop(h->L, 0);
    if (luaL_loadstring(h->L, chunk) != LUA_OK || lua_pcall(h->L, 0, 4, 0) != LUA_OK) {
        printf("# %s\n", lua_tostring(h->L, -1));
        CHECK(false);
        return "";
    }
    const char *text = lua_tostring(h->L, 1);
    return text ? text : "nil";
}

static const char *result(const host *h, int n) {
    const char *text = lua_tostring(h->L, n);
    return text ? text : "nil";
}

static bool same(const char *expected, const char *got, const char *what) {
    if (check(strcmp(expected, got) == 0, __FILE__, __LINE__, what)) return true;
    printf("# %s: expected %s, got %s\n", what, expected, got);
    return false;
}

/* -- Hostile runners -----------------------------------------------------------------*/

#define SHORT_MS 60

static const struct attack {
    const char *name, *code, *reason; /* reason NULL: none is given */
    bool late;                        /* ends at the deadline */
} attacks[] = {
    {"spin", "job.timeout", NULL, true},
    {"sleep", "job.timeout", NULL, true},
    {"abort", "job.capability_failed", "signal 6", false},
    {"segv", "job.capability_failed", "signal 11", false},
    {"exit", "job.capability_failed", "exit 0", false},
    {"exit_9", "job.capability_failed", "exit 9", false},
    {"hang_up", "job.capability_failed", "signal 9", false},
    {"flood_zeros", "job.capability_failed", "it said what no runner says", false},
    {"flood_powers", "job.timeout", NULL, true},
    {"two_at_once", "job.capability_failed", "it said what no runner says", false},
    {"trickle", "job.timeout", NULL, true},
    {"large", "job.capability_failed", "it said what no runner says", false},
    {"half", "job.timeout", NULL, true},
    {"half_exit", "job.capability_failed", "exit 0", false},
    {"half_header", "job.timeout", NULL, true},
    {"length_4g", "job.capability_failed", "it said what no runner says", false},
    {"length_0", "job.capability_failed", "it said what no runner says", false},
    {"type_0", "job.capability_failed", "it said what no runner says", false},
    {"type_255", "job.capability_failed", "it said what no runner says", false},
    {"wrong_turn", "job.capability_failed", "it said what no runner says", false},
    {"ready_again", "job.capability_failed", "it said what no runner says", false},
    {"import", "job.capability_failed", "it said what no runner says", false},
    {"depth", "job.capability_failed", "it said what no runner says", false},
    {"length_2_63", "job.capability_failed", "it said what no runner says", false},
    {"count_2_63", "job.capability_failed", "it said what no runner says", false},
    {"utf8", "job.capability_failed", "it said what no runner says", false},
    {"surrogate", "job.capability_failed", "it said what no runner says", false},
    {"duplicate", "job.capability_failed", "it said what no runner says", false},
    {"literal", "job.capability_failed", "it said what no runner says", false},
    {"behind", "job.capability_failed", "it said what no runner says", false},
    {"no_value", "job.capability_failed", "it said what no runner says", false},
    {"tag", "job.capability_failed", "it said what no runner says", false},
    {"nulls", "job.capability_failed", "it said what no runner says", false},
    {"controls", "job.capability_failed", "it said what no runner says", false},
    {"outcome", "job.capability_failed", "it said what no runner says", false},
    {"code", "job.capability_failed", "it said what no runner says", false},
    {"code_none", "job.capability_failed", "it said what no runner says", false},
    {"value_and_code", "job.capability_failed", "it said what no runner says", false},
    {"operation", "job.capability_failed", "it said what no runner says", false},
    {"slots", "job.capability_failed", "it said what no runner says", false},
    {"slot_type", "job.capability_failed", "it said what no runner says", false},
    {"slot_cut", "job.capability_failed", "it said what no runner says", false},
    {"slot_values", "job.capability_failed", "it said what no runner says", false},
};
#define ATTACKS (sizeof attacks / sizeof *attacks)

/* What a runner may make its host hold: 2 MiB beyond what limits allow it to say. Of a message as
 * long as a result may be, what arrives is held; of a hundred thousand values, which are as many as
 * may be copied, the document. */
static size_t most_memory(const char *name) {
    size_t allowed = 0;
    if (strcmp(name, "large") == 0) allowed = 16;
    if (strcmp(name, "controls") == 0) allowed = 15;
    if (strcmp(name, "nulls") == 0) allowed = 3;
    return (2 + allowed) << 20;
}

static void attack(host *h, const struct attack *a, const char *engine) {
    char chunk[256];
    size_t before = h->count.used;
    h->count.peak = before;
    snprintf(chunk, sizeof chunk, "return call(%s, '%s')", engine, a->name);
    double begun = now();
    same(a->code, run(h, chunk), a->name);
    double took = now() - begun;
    if (a->reason) {
        same("plugin.died", result(h, 2), a->name);
        same(a->reason, result(h, 3), a->name);
    }
    /* A hang is what this is about; a busy machine has its part in the time. */
    if (!check(took < 30, __FILE__, __LINE__, a->name)) printf("# %.3f s\n", took);
    if (a->late) CHECK(took >= SHORT_MS / 1000.0);
    if (!check(h->count.peak - before < most_memory(a->name), __FILE__, __LINE__, a->name))
        printf("# %zu bytes\n", h->count.peak - before);
}

static void a_hostile_runner_costs_its_call_and_nothing_else(void) {
    host h;
    for (size_t i = 0; i < ATTACKS; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.lua", attacks[i].name);
        write_file(file, "");
    }
    write_file("good.lua", "");
    write_file("powers.lua", "");
    open_host(&h, hostile);
    char chunk[128];
    snprintf(chunk, sizeof chunk, "short = engine { call_ms = %d, load_ms = 20000 }", SHORT_MS);
    run(&h, chunk);
    run(&h, "long = engine { call_ms = 20000, load_ms = 20000 }");
    for (size_t i = 0; i < ATTACKS; i++) {
        attack(&h, &attacks[i], attacks[i].late ? "short" : "long");
        /* The next plugin, and the same once more. */
        same("completed", run(&h, "return call(long, 'good')"), attacks[i].name);
        same("{\"good\":true}", result(&h, 2), attacks[i].name);
    }
    attack(&h, &attacks[2], "long");
    attack(&h, &attacks[2], "long");
    /* Powers that were not granted are refused one by one, and none is a way to anything. */
    same("completed", run(&h, "return call(long, 'powers')"), "powers");
    for (const char *at = result(&h, 2); *at; at++) CHECK(*at != '0');
    close_host(&h);
}

static void what_a_hostile_runner_says_while_loading_is_refused(void) {
    static const struct {
        const char *name, *code, *message; /* message: a part of it */
    } rows[] = {
        {"load_segv", "plugin.died", "loading ended the plugin's process: signal 11"},
        {"load_exit", "plugin.died", "exit 0"},
        {"load_depth", "plugin.died", "it said what no runner says"},
        {"load_length_4g", "plugin.died", "it said what no runner says"},
        {"load_import", "plugin.died", "it said what no runner says"},
        {"load_flood_powers", "plugin.died", "it said what no runner says"},
        {"load_spin", "plugin.load", "loading takes longer than the limit load_ms allows"},
        {"load_half", "plugin.load", "loading takes longer than the limit load_ms allows"},
        {"count_0", "plugin.died", "it said what no runner says"},
        {"count_many", "plugin.died", "it said what no runner says"},
        {"functions", "plugin.died", "it said what no runner says"},
        {"error_text", "plugin.died", "it said what no runner says"},
        {"error_code", "plugin.manifest", "a message"},
        {"version", "plugin.isolation", "both have to be of one version"},
        {"silent", "plugin.isolation", "the runner has been started, and says nothing"},
        {"refused", "plugin.isolation", "the kernel has no Landlock"},
        {"refused_text", "plugin.isolation", "]0;owned"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        host h;
        char file[64], chunk[512];
        snprintf(file, sizeof file, "%s.lua", rows[i].name);
        write_file(file, "");
        open_host(&h, hostile);
        bool late = strstr(rows[i].message, "load_ms") || strcmp(rows[i].name, "silent") == 0;
        double begun = now();
        snprintf(chunk, sizeof chunk,
                 "local e = engine { load_ms = %d }\n"
                 "local files = e:files('%s')\n"
                 "return files[1].err.code, files[1].err.message",
                 late ? SHORT_MS : 20000, rows[i].name);
        same(rows[i].code, run(&h, chunk), rows[i].name);
        const char *message = result(&h, 2);
        if (!check(strstr(message, rows[i].message) != NULL, __FILE__, __LINE__, rows[i].name))
            printf("# %s\n", message);
        for (const char *at = message; *at; at++) CHECK((unsigned char)*at >= 0x20);
        /* Where the runner is at fault, to do without it is no advice. */
        if (strcmp(rows[i].name, "version") == 0)
            CHECK(strstr(message, "0.0.0/0") && !strstr(message, "isolation \"state\""));
        if (late) CHECK(now() - begun < 9); /* a second for the first word, and SHORT_MS */
        close_host(&h);
    }
}

/* Answers with a few bytes changed: each is one that a runner may give, or the end of it. */
static void noise_is_an_answer_or_the_end(void) {
    host h;
    int answers = 0, ends = 0;
    for (int i = 0; i < 300; i++) {
        char file[64];
        snprintf(file, sizeof file, "noise_%d.lua", i);
        write_file(file, "");
    }
    open_host(&h, hostile);
    run(&h, "e = engine { call_ms = 100, load_ms = 20000 }");
    for (int i = 0; i < 300; i++) {
        char chunk[128];
        snprintf(chunk, sizeof chunk, "return call(e, 'noise_%d')", i);
        const char *code = run(&h, chunk);
        bool end = strcmp(code, "job.capability_failed") == 0 || strcmp(code, "job.timeout") == 0;
        bool answer = strcmp(code, "completed") == 0 || strcmp(code, "job.result_shape") == 0 ||
                      strcmp(code, "job.memory") == 0 || strcmp(code, "limit") == 0 ||
                      strcmp(code, "memory") == 0 || strcmp(code, "job.input_number") == 0;
        if (!check(end || answer, __FILE__, __LINE__, chunk)) printf("# %s\n", code);
        answers += answer;
        ends += end;
    }
    CHECK(answers > 0 && ends > 0);
    close_host(&h);
}

/* -- The real one -------------------------------------------------------------------------*/

static int descriptors(void) {
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    while (list && readdir(list)) count++;
    if (list) closedir(list);
    return count;
}

static bool has_children(void) {
    return waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
}

/* Ended, and not waited for. */
static bool has_dead_children(void) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/* Bytes that are in use when all is collected that nobody has: finalizers take a second round. */
static size_t settled(host *h) {
    lua_settop(h->L, 0);
    for (int i = 0; i < 3; i++) lua_gc(h->L, LUA_GCCOLLECT);
    return h->count.used;
}

/* MOONPLAN_SOAK: ten thousand. */
static void kills_leave_nothing_behind(void) {
    host h;
    int kills = getenv("MOONPLAN_SOAK") ? 10000 : 500;
    plugin("spin", "while true do end");
    plugin("fail", "error('no')");
    open_host(&h, NULL);
    run(&h, "e = engine { call_ms = 1, load_ms = 20000 }");
    /* An engine remembers its last jobs, however they ended. */
    run(&h, "for i = 1, 1000 do call(e, 'fail') end for i = 1, 100 do call(e, 'spin') end");
    size_t used = settled(&h);
    int opened = descriptors();
    for (int i = 0; i < kills; i++) {
        same("job.timeout", run(&h, "return call(e, 'spin')"), "spin");
        CHECK(!has_dead_children());
    }
    size_t at_last = settled(&h);
    if (!CHECK(at_last <= used + 4096)) printf("# %zu, then %zu\n", used, at_last);
    CHECK(descriptors() == opened);
    close_host(&h);
    CHECK(!has_children());
}

static void a_runner_is_kept_and_replaced(void) {
    host h;
    plugin("count", "state.n = (state.n or 0) + 1; if input and input.spin then while true do end "
                    "end; return { n = state.n }");
    open_host(&h, NULL);
    run(&h, "e = engine { call_ms = 300, load_ms = 20000 }");
    same("completed", run(&h, "return call(e, 'count')"), "count");
    same("{\"n\":1}", result(&h, 2), "first");
    run(&h, "return call(e, 'count')");
    same("{\"n\":2}", result(&h, 2), "the same process");
    same("job.timeout", run(&h, "return call(e, 'count', { spin = true })"), "spin");
    run(&h, "return call(e, 'count')");
    same("{\"n\":1}", result(&h, 2), "another process");
    /* The engine's end is theirs. */
    run(&h, "e:close()");
    close_host(&h);
    CHECK(!has_children());
}

static void no_more_runners_are_kept_than_a_few(void) {
    host h;
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "many%d", i);
        plugin(name, "return 1");
    }
    open_host(&h, NULL);
    int before = descriptors();
    run(&h, "e = engine { load_ms = 20000, call_ms = 20000 }\n"
            "for i = 0, 39 do assert(call(e, 'many' .. i) == 'completed') end");
    CHECK(descriptors() - before <= 3 * 32 + 4); /* a socket, a pidfd and a pipe each */
    run(&h, "for i = 0, 39 do assert(call(e, 'many' .. i) == 'completed') end");
    close_host(&h);
}

static void memory_has_its_limit(void) {
    host h;
    plugin("eat", "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end");
    open_host(&h, NULL);
    run(&h, "e = engine { memory_mib = 4, call_ms = 20000, load_ms = 20000 }");
    same("job.memory", run(&h, "return call(e, 'eat')"), "eat");
    same("took more memory than the limit memory_mib allows: 4", result(&h, 4), "eat");
    close_host(&h);
}

/* Every request for memory of the host's fails, alone and with all that follow, from making an
 * engine to its end: what comes of it is right, or an error, and nothing is left. */
static void every_allocation_may_fail(void) {
    static const char chunk[] =
        "local moonplan, folder, runner = ...\n"
        "local e, err = moonplan.engine { plugins = folder, shipped = false, runner = runner,\n"
        "  isolation = 'process', limits = { call_ms = 20000, load_ms = 20000 } }\n"
        "if not e then return err.code end\n"
        "local job, err = e:run { steps = { { id = 'a', capability = 'good', input = { 1 } } } }\n"
        "e:close()\n"
        "if not job then return err.code end\n"
        "if job.error then return job.error.code end\n"
        "return job.result and job.result.good and 'right' or 'the job is ' .. "
        "tostring(job.status)";
    for (int on = 0; on < 2; on++) {
        for (size_t n = 1;; n++) {
            counter count;
            memset(&count, 0, sizeof count);
            lua_State *L = lua_newstate(lua_alloc, &count);
            luaL_requiref(L, "_G", luaopen_base, 1);
            luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
            lua_replace(L, 1);
            if (luaL_loadstring(L, chunk) != LUA_OK) abort();
            lua_insert(L, 1);
            lua_pushstring(L, folder);
            lua_pushstring(L, hostile);
            count.calls = 0;
            count.fail_at = n;
            count.fail_on = on;
            int status = lua_pcall(L, 3, 1, 0);
            count.fail_at = 0;
            /* A field has no second value to give an error by, so it raises the table. */
            if (lua_istable(L, -1)) lua_getfield(L, -1, "code");
            const char *said = lua_tostring(L, -1);
            bool memory = said && (strstr(said, "memory") || strcmp(said, "store.failed") == 0);
            bool right = status == LUA_OK && said && strcmp(said, "right") == 0;
            if (!CHECK(right || (count.refused > 0 && memory)))
                printf("# request %zu: %s\n", n, said ? said : "nothing");
            size_t refused = count.refused;
            lua_close(L);
            CHECK(count.used == 0 && count.blocks == 0 && !count.wrong);
            CHECK(!has_children());
            if (refused == 0) break;
        }
    }
}

/* A log entry's subscriber is the host's, and may do anything: also ask for the plugin that is in
 * the middle of the call. */
static void a_plugin_is_not_entered_again(void) {
    host h;
    plugin("outer", "ctx.log.info('now'); return { fine = true }");
    open_host(&h, NULL);
    run(&h, "e = engine { call_ms = 20000, load_ms = 20000 }\n"
            "local inside = 0\n"
            "e:on('log', function(event)\n"
            "  inside = inside + 1\n"
            "  if inside == 1 then code, _, _, message = call(e, 'outer') end\n"
            "end)\n"
            "return call(e, 'outer')");
    same("{\"fine\":true}", result(&h, 2), "the call itself");
    same("job.capability_failed", run(&h, "return code"), "the call in it");
    same("the plugin is in the middle of another call", run(&h, "return message"), "its message");
    close_host(&h);
}

/* -- The host's own business ---------------------------------------------------------------*/

static volatile sig_atomic_t heard;
static void hear(int signal_number) {
    heard = signal_number;
}

static void signals_stay_the_host_s(void) {
    host h;
    struct sigaction ours = {.sa_handler = hear}, seen;
    plugin("spin", "while true do end");
    sigaction(SIGPIPE, &ours, NULL);
    signal(SIGCHLD, SIG_IGN); /* children are nobody's to wait for */
    open_host(&h, hostile);
    run(&h, "e = engine { call_ms = 20000, load_ms = 20000 }");
    same("job.capability_failed", run(&h, "return call(e, 'exit')"), "exit");
    same("plugin.died", result(&h, 2), "exit");
    same("somebody else waited for it", result(&h, 3), "exit");
    close_host(&h);
    open_host(&h, NULL);
    run(&h, "e = engine { call_ms = 1, load_ms = 20000 }");
    for (int i = 0; i < 20; i++) same("job.timeout", run(&h, "return call(e, 'spin')"), "spin");
    close_host(&h);
    CHECK(heard == 0); /* no SIGPIPE, although what was written to was gone */
    sigaction(SIGPIPE, NULL, &seen);
    CHECK(seen.sa_handler == hear);
    sigaction(SIGCHLD, NULL, &seen);
    CHECK(seen.sa_handler == SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
}

static void other_children_stay_the_host_s(void) {
    host h;
    int status = 0;
    plugin("spin", "while true do end");
    fflush(stdout);
    pid_t own = fork();
    if (own == 0) _exit(42);
    open_host(&h, NULL);
    run(&h, "e = engine { call_ms = 1, load_ms = 20000 }");
    for (int i = 0; i < 20; i++) same("job.timeout", run(&h, "return call(e, 'spin')"), "spin");
    close_host(&h);
    CHECK(waitpid(own, &status, 0) == own && WEXITSTATUS(status) == 42);
}

/* A fork of the host that ends as usual does not take the runner with it. */
static void a_fork_of_the_host_leaves_it_alone(void) {
    host h;
    int status = 0;
    plugin("count", "state.n = (state.n or 0) + 1; return { n = state.n }");
    open_host(&h, NULL);
    run(&h, "e = engine { call_ms = 20000, load_ms = 20000 }\nreturn call(e, 'count')");
    fflush(stdout);
    pid_t fork_of_it = fork();
    if (fork_of_it == 0) {
        lua_close(h.L);
        _exit(0);
    }
    CHECK(waitpid(fork_of_it, &status, 0) == fork_of_it && status == 0);
    run(&h, "return call(e, 'count')");
    same("{\"n\":2}", result(&h, 2), "the same process");
    close_host(&h);
}

static void *first_call(void *data) {
    host *h = data;
    run(h, "e = engine { call_ms = 20000, load_ms = 20000 }\nreturn call(e, 'count')");
    return NULL;
}

/* PR_SET_PDEATHSIG alone would end it here. */
static void the_thread_that_started_it_may_end(void) {
    host h;
    pthread_t thread;
    plugin("count", "state.n = (state.n or 0) + 1; return { n = state.n }");
    open_host(&h, NULL);
    CHECK(pthread_create(&thread, NULL, first_call, &h) == 0);
    pthread_join(thread, NULL);
    same("completed", run(&h, "return call(e, 'count')"), "count");
    same("{\"n\":2}", result(&h, 2), "the same process");
    close_host(&h);
}

static void *kill_some(void *data) {
    host h;
    (void)data;
    open_host(&h, NULL);
    run(&h, "e = engine { call_ms = 1, load_ms = 20000 }\n"
            "f = engine { call_ms = 20000, load_ms = 20000 }");
    for (int i = 0; i < 20; i++) {
        same("job.timeout", run(&h, "return call(e, 'spin')"), "spin");
        same("completed", run(&h, "return call(f, 'count')"), "count");
    }
    char expected[16];
    snprintf(expected, sizeof expected, "{\"n\":20}");
    same(expected, result(&h, 2), "nobody else was killed");
    close_host(&h);
    return NULL;
}

static void threads_do_not_know_each_other(void) {
    pthread_t threads[2];
    plugin("spin", "while true do end");
    plugin("count", "state.n = (state.n or 0) + 1; return { n = state.n }");
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, kill_some, NULL) == 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void a_host_may_have_no_standard_streams(void) {
    int status = 0;
    plugin("count", "state.n = (state.n or 0) + 1; return { n = state.n }");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        host h;
        close(0);
        close(1);
        open_host(&h, NULL);
        bool fine = strcmp(run(&h, "e = engine { call_ms = 20000, load_ms = 20000 }\n"
                                   "return call(e, 'count')"),
                           "completed") == 0;
        lua_close(h.L);
        _exit(fine ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* The child of a process, or of this thread of it, that is not `other`. */
static pid_t child_of(pid_t parent, const char *thread, pid_t other) {
    char path[300], line[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, thread);
    FILE *file = fopen(path, "r");
    if (file && !fgets(line, sizeof line, file)) line[0] = 0;
    if (file) fclose(file);
    char *at = line;
    long first = strtol(line, &at, 10);
    if (first == other) first = strtol(at, NULL, 10);
    return first > 0 ? (pid_t)first : -1;
}

static pid_t child_of_threads(pid_t parent, pid_t other) {
    char path[64];
    pid_t found = -1;
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *list = opendir(path);
    for (struct dirent *entry; list && found < 0 && (entry = readdir(list));)
        if (entry->d_name[0] != '.') found = child_of(parent, entry->d_name, other);
    if (list) closedir(list);
    return found;
}

/* What tells the descriptor 9 that it has begun. */
static void *spin_long(void *data) {
    host h;
    (void)data;
    open_host(&h, NULL);
    run(&h, "e = engine { call_ms = 3600000, load_ms = 20000 }\n"
            "local out = io.open('/proc/self/fd/9', 'w')\n"
            "e:on('log', function() out:write('x') out:flush() end)\n"
            "return call(e, 'spin_long')");
    return NULL;
}

/* With a runner that spins, and a host that has no chance to say goodbye. */
static void it_ends_with_its_host(void) {
    int ready[2], status = 0;
    plugin("spin_long", "ctx.log.info('here'); while true do end");
    if (pipe(ready) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) abort();
    fflush(stdout);
    pid_t parent = fork();
    if (parent == 0) {
        dup2(ready[1], 9);
        spin_long(NULL);
        _exit(1);
    }
    char byte = 0;
    close(ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1 && byte == 'x');
    pid_t runner = child_of_threads(parent, -1);
    CHECK(runner > 0);
    kill(parent, SIGKILL);
    waitpid(parent, &status, 0);
    double begun = now();
    /* It is ours now. */
    CHECK(waitpid(runner, &status, 0) == runner && WIFSIGNALED(status));
    CHECK(now() - begun < 10); /* a tenth of a second, on a machine with nothing else to do */
    close(ready[0]);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

/* A host that has been forked since, with all its descriptors, and whose runner was not started by
 * the main thread. */
static void be_forked(int report) {
    int ready[2];
    pthread_t thread;
    char byte;
    if (pipe(ready) < 0 || dup2(ready[1], 9) < 0) _exit(1);
    if (pthread_create(&thread, NULL, spin_long, NULL) != 0) _exit(1);
    if (read(ready[0], &byte, 1) != 1) _exit(1);
    pid_t forked = fork();
    if (forked > 0 && write(report, &forked, sizeof forked) != sizeof forked) _exit(1);
    for (;;) pause();
}

static void it_ends_with_its_host_though_a_fork_lives(void) {
    int report[2], status = 0;
    pid_t forked = -1;
    plugin("spin_long", "ctx.log.info('here'); while true do end");
    if (pipe(report) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) abort();
    fflush(stdout);
    pid_t parent = fork();
    if (parent == 0) be_forked(report[1]);
    CHECK(read(report[0], &forked, sizeof forked) == sizeof forked && forked > 0);
    pid_t runner = child_of_threads(parent, forked);
    CHECK(runner > 0 && runner != forked);
    kill(parent, SIGKILL);
    waitpid(parent, &status, 0);
    /* Both are ours now; the fork goes on, with the runner's socket and lifeline. */
    CHECK(waitpid(runner, &status, 0) == runner && waitpid(forked, NULL, WNOHANG) == 0);
    kill(forked, SIGKILL);
    CHECK(waitpid(forked, &status, 0) == forked);
    close(report[0]);
    close(report[1]);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

int main(int count, char **words) {
    if (count > 1) hostile = words[1];
    if (!hostile || !mkdtemp(folder)) return 1;
    chmod(folder, 0755);
    RUN(a_hostile_runner_costs_its_call_and_nothing_else);
    RUN(what_a_hostile_runner_says_while_loading_is_refused);
    RUN(noise_is_an_answer_or_the_end);
    RUN(kills_leave_nothing_behind);
    RUN(a_runner_is_kept_and_replaced);
    RUN(no_more_runners_are_kept_than_a_few);
    RUN(memory_has_its_limit);
    RUN(every_allocation_may_fail);
    RUN(a_plugin_is_not_entered_again);
    RUN(signals_stay_the_host_s);
    RUN(other_children_stay_the_host_s);
    RUN(a_fork_of_the_host_leaves_it_alone);
    RUN(the_thread_that_started_it_may_end);
    RUN(threads_do_not_know_each_other);
    RUN(a_host_may_have_no_standard_streams);
    RUN(it_ends_with_its_host);
    RUN(it_ends_with_its_host_though_a_fork_lives);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    return check_end();
}
