/* Step plans: what a step costs, and what it is made of; what admission costs, by the length of the
 * plan; what durability costs beside bare commits. Every row is measured in turn with the others,
 * several rounds long, and what is printed are medians: the machine's clock speed and its other
 * users change, ratios within a round hardly do. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/host/sqlite.h"
#include "../../src/lua/engine.h"
#include "../../src/moonplan_lua.h"
#include "measure.h"

#define ROUNDS 15

static char folder[] = "/tmp/moonplan-bench-XXXXXX";
static lua_State *L;
static moonplan_engine *plain;     /* capabilities in C */
static mpl_lua_engine *with_state; /* plugins, each in a lua_State of its own */

static void *checked(void *pointer, const char *what) {
    if (pointer) return pointer;
    fprintf(stderr, "moonplan-bench-steps: %s\n", what);
    exit(1);
}

/* -- Plans -------------------------------------------------------------------*/

typedef struct text {
    char *bytes;
    size_t length;
} text;

/* A chain: every step but the first takes its input from the one before. */
static text chain(size_t steps) {
    text out = {checked(malloc(steps * 120 + 100), "no memory"), 0};
    out.length += (size_t)sprintf(out.bytes, "{\"version\":\"1.0\",\"goal\":\"x\",\"steps\":[");
    for (size_t n = 1; n <= steps; n++) {
        out.length += (size_t)sprintf(
            out.bytes + out.length,
            "%s{\"id\":\"s%zu\",\"capability\":\"echo\",\"input\":{\"v\":", n > 1 ? "," : "", n);
        if (n == 1)
            out.length += (size_t)sprintf(out.bytes + out.length, "1}}");
        else
            out.length += (size_t)sprintf(out.bytes + out.length,
                                          "{\"$ref\":\"steps.s%zu.result.v\"}}}", n - 1);
    }
    out.length += (size_t)sprintf(out.bytes + out.length, "]}");
    return out;
}

static text three, hundred, most;

/* -- Engines -----------------------------------------------------------------*/

static const char schema[] = "{\"v\":{\"type\":\"number\"}}";

static void echo(void *data, moonplan_want *want) {
    (void)data;
    moonplan_want_complete(want, want->input);
}

static moonplan_engine *engine_new(const char *store) {
    moonplan_error err;
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    moonplan_engine *engine = checked(moonplan_engine_new(&options, &err), "no engine");
    moonplan_capability capability = {.name = MOONPLAN_TEXT("echo"),
                                      .version = MOONPLAN_TEXT("1.0.0"),
                                      .risk = MOONPLAN_TEXT("read"),
                                      .input = MOONPLAN_TEXT(schema),
                                      .output = MOONPLAN_TEXT(schema),
                                      .run = echo};
    if (!moonplan_engine_register(engine, &capability, 1, &err) ||
        (store && !moonplan_engine_store_sqlite(engine, store, strlen(store), 0, &err)))
        checked(NULL, err.message);
    return engine;
}

static const char setup[] =
    "local moonplan, folder = ...\n"
    "local file = assert(io.open(folder .. '/echo.lua', 'w'))\n"
    "file:write([[return { kind = 'capability', api = 1, name = 'echo', version = '1.0.0',\n"
    "  summary = 'Gives back what it gets.', risk = 'read',\n"
    "  input = { v = { type = 'number', description = 'a number' } },\n"
    "  output = { v = { type = 'number', description = 'the number' } },\n"
    "  run = function(input) return { v = input.v } end }]])\n"
    "file:close()\n"
    "engine = assert(moonplan.engine {\n"
    "  plugins = folder, shipped = false, isolation = 'state' })\n"
    "function run(plan, times)\n"
    "  for _ = 1, times do assert(engine:run(plan).status == 'completed') end\n"
    "end\n"
    "function admit(plan, times) for _ = 1, times do assert(engine:admit(plan)) end end\n"
    "return engine\n";

static void open_lua(void) {
    L = checked(luaL_newstate(), "no state");
    luaL_openlibs(L);
    luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
    if (luaL_loadstring(L, setup) != LUA_OK) checked(NULL, lua_tostring(L, -1));
    lua_insert(L, 1);
    lua_pushstring(L, folder);
    if (lua_pcall(L, 2, 1, 0) != LUA_OK) checked(NULL, lua_tostring(L, -1));
    with_state = lua_touserdata(L, -1);
}

/* -- Rows --------------------------------------------------------------------*/

static void run_in(moonplan_engine *engine, const text *plan, size_t times) {
    moonplan_error err;
    while (times--) {
        moonplan_job *job = moonplan_engine_run(engine, plan->bytes, plan->length, NULL, &err);
        if (!job) checked(NULL, err.message);
        if (moonplan_job_status(job) != MOONPLAN_COMPLETED) checked(NULL, "a job has failed");
        moonplan_job_free(job);
    }
}

static void run_lua_from_c(const text *plan, size_t times) {
    with_state->L = L;
    run_in(with_state->engine, plan, times);
    with_state->L = NULL;
}

static void call_lua(const char *function, const text *plan, size_t times) {
    lua_getglobal(L, function);
    lua_pushlstring(L, plan->bytes, plan->length);
    lua_pushinteger(L, (lua_Integer)times);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK) checked(NULL, lua_tostring(L, -1));
}

static void admit(moonplan_engine *engine, const text *plan, size_t times) {
    moonplan_error err;
    while (times--) {
        moonplan_step_plan *admitted =
            moonplan_engine_admit_new(engine, plan->bytes, plan->length, NULL, &err);
        if (!admitted) checked(NULL, err.message);
        moonplan_step_plan_free(admitted);
    }
}

static void c_three(void) {
    run_in(plain, &three, 3000);
}
static void state_three(void) {
    run_lua_from_c(&three, 2000);
}
static void state_three_lua(void) {
    call_lua("run", &three, 2000);
}
static void state_hundred(void) {
    run_lua_from_c(&hundred, 60);
}
static void state_most(void) {
    run_lua_from_c(&most, 2);
}
static void admit_hundred(void) {
    admit(plain, &hundred, 300);
}
static void admit_most(void) {
    admit(plain, &most, 8);
}
static void admit_hundred_lua(void) {
    call_lua("admit", &hundred, 150);
}
static void admit_most_lua(void) {
    call_lua("admit", &most, 4);
}

#define COPIES 6000

/* One step's input into Lua. */
static void copy_in(void) {
    moonplan_error err;
    moonplan_document *document =
        checked(moonplan_document_parse("{\"v\":1}", 7, NULL, &err), "no document");
    for (size_t i = 0; i < COPIES; i++) {
        mpl_lua_budget budget = mpl_lua_budget_of(&with_state->options.limits);
        if (!mpl_lua_push(L, moonplan_document_root(document), &budget, &err))
            checked(NULL, err.message);
        lua_pop(L, 1);
    }
    moonplan_document_free(document);
}

/* One step's result out of it. */
static void copy_out(void) {
    moonplan_error err;
    lua_createtable(L, 0, 1);
    lua_pushinteger(L, 1);
    lua_setfield(L, -2, "v");
    for (size_t i = 0; i < COPIES; i++) {
        mpl_builder builder;
        mpl_lua_budget budget = mpl_lua_budget_of(&with_state->options.limits);
        mpl_build_open_wide(&builder, &with_state->options);
        if (!mpl_lua_build(L, -1, &builder, &budget, NULL, &err)) checked(NULL, err.message);
        moonplan_document *result = mpl_build_finish(&builder, &err);
        moonplan_document_free(checked(result, "no result"));
    }
    lua_pop(L, 1);
}

typedef struct row {
    const char *name;
    void (*run)(void);
    double steps; /* in one go */
    double times[ROUNDS];
} row;

static row rows[] = {{"3 steps, a capability in C", c_three, 9000, {0}},
                     {"3 steps, a plugin in a state of its own", state_three, 6000, {0}},
                     {"3 steps, the same, engine:run in Lua", state_three_lua, 6000, {0}},
                     {"100 steps, a plugin", state_hundred, 6000, {0}},
                     {"4096 steps, a plugin", state_most, 8192, {0}},
                     {"admission of 100 steps", admit_hundred, 30000, {0}},
                     {"admission of 4096 steps", admit_most, 32768, {0}},
                     {"engine:admit of 100 steps, with its view", admit_hundred_lua, 15000, {0}},
                     {"engine:admit of 4096 steps, with its view", admit_most_lua, 16384, {0}},
                     {"the input's copy into the state", copy_in, COPIES, {0}},
                     {"the result's copy out of it", copy_out, COPIES, {0}}};
enum {
    C_THREE,
    STATE_THREE,
    STATE_THREE_LUA,
    STATE_HUNDRED,
    STATE_MOST,
    ADMIT_HUNDRED,
    ADMIT_MOST,
    ADMIT_HUNDRED_LUA,
    ADMIT_MOST_LUA,
    COPY_IN,
    COPY_OUT,
    ROWS
};

/* The median of the quotients within the rounds. */
static double ratio(const double above[ROUNDS], const double below[ROUNDS]) {
    double list[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) list[i] = above[i] / below[i];
    return median(list, ROUNDS);
}

static void measure_steps(void) {
    for (int round = -1; round < ROUNDS; round++)
        for (size_t i = 0; i < ROWS; i++) {
            double begun = clock_of(CLOCK_PROCESS_CPUTIME_ID);
            rows[i].run();
            double took = clock_of(CLOCK_PROCESS_CPUTIME_ID) - begun;
            if (round >= 0) rows[i].times[round] = took / rows[i].steps;
        }
    printf("memory store; microseconds of processor time a step\n");
    for (size_t i = 0; i < ROWS; i++) {
        double time = median(rows[i].times, ROUNDS);
        printf("  %-50s %7.3f", rows[i].name, time);
        if (i <= STATE_MOST) printf("  %9.0f steps/s", 1e6 / time);
        printf("\n");
    }
    printf("  %-50s %7.2f\n", "4096 steps over 100, admission a step",
           ratio(rows[ADMIT_MOST].times, rows[ADMIT_HUNDRED].times));
    printf("  %-50s %7.2f\n", "4096 steps over 100, engine:admit a step",
           ratio(rows[ADMIT_MOST_LUA].times, rows[ADMIT_HUNDRED_LUA].times));
    printf("  %-50s %7.2f\n", "4096 steps over 100, a whole job's step",
           ratio(rows[STATE_MOST].times, rows[STATE_HUNDRED].times));
    printf("  %-50s %7.2f\n", "of a step of 100: admission",
           ratio(rows[ADMIT_HUNDRED].times, rows[STATE_HUNDRED].times));
    printf("  %-50s %7.2f\n", "of a step of 100: the copy in",
           ratio(rows[COPY_IN].times, rows[STATE_HUNDRED].times));
    printf("  %-50s %7.2f\n", "of a step of 100: the copy out",
           ratio(rows[COPY_OUT].times, rows[STATE_HUNDRED].times));
}

/* -- In a file -----------------------------------------------------------------*/

#ifdef MOONPLAN_WITH_SQLITE

/* Wall time, for the disk is what is waited for. */
#define STEPS 20 /* of the job that is alone */
#define JOBS  64 /* of three steps */

static mpl_sqlite sqlite;
static sqlite3 *bare;
static sqlite3_stmt *bare_statements[3];
static moonplan_engine *in_file;

static void open_bare(const char *path) {
    static const char *const makes[] = {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                                        "CREATE TABLE t (n INTEGER)", "INSERT INTO t VALUES (0)"};
    static const char *const texts[] = {"BEGIN IMMEDIATE", "UPDATE t SET n = n + 1", "COMMIT"};
    const char *missing = mpl_sqlite_open(&sqlite);
    if (missing) checked(NULL, missing);
    sqlite.open_v2(path, &bare, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    for (size_t i = 0; i < 4; i++) {
        sqlite3_stmt *statement = NULL;
        sqlite.prepare_v2(bare, makes[i], -1, &statement, NULL);
        sqlite.step(statement);
        sqlite.finalize(statement);
    }
    for (size_t i = 0; i < 3; i++)
        if (sqlite.prepare_v2(bare, texts[i], -1, &bare_statements[i], NULL) != SQLITE_OK)
            checked(NULL, "no bare store");
}

static void commit_bare(size_t times) {
    while (times--)
        for (size_t i = 0; i < 3; i++) {
            if (sqlite.step(bare_statements[i]) != SQLITE_DONE) checked(NULL, "no bare commit");
            sqlite.reset(bare_statements[i]);
        }
}

static void run_many(void) {
    static moonplan_run runs[JOBS];
    for (size_t i = 0; i < JOBS; i++) runs[i] = (moonplan_run){.plan = {three.bytes, three.length}};
    if (moonplan_engine_run_many(in_file, runs, JOBS) != JOBS) checked(NULL, "a run has failed");
    for (size_t i = 0; i < JOBS; i++) moonplan_job_free(runs[i].job);
}

static double wall(double *begun) {
    double now = clock_of(CLOCK_MONOTONIC), took = now - *begun;
    *begun = now;
    return took;
}

static void measure_file(void) {
    char path[64];
    double two[ROUNDS], one[ROUNDS], many[ROUNDS];
    text job = chain(STEPS);
    snprintf(path, sizeof path, "%s/bare.db", folder);
    open_bare(path);
    snprintf(path, sizeof path, "%s/jobs.db", folder);
    in_file = engine_new(path);
    for (int round = 0; round < ROUNDS; round++) {
        double begun = clock_of(CLOCK_MONOTONIC);
        commit_bare(STEPS);
        two[round] = wall(&begun);
        run_in(in_file, &job, 1);
        one[round] = wall(&begun) / STEPS;
        commit_bare(STEPS);
        two[round] = (two[round] + wall(&begun)) / STEPS;
        begun = clock_of(CLOCK_MONOTONIC);
        run_many();
        many[round] = wall(&begun) / (3 * JOBS);
    }
    printf("store in a file; microseconds on the clock a step\n");
    printf("  %-50s %7.0f\n", "two bare commits", median(two, ROUNDS));
    printf("  %-50s %7.0f  %9.0f steps/s\n", "a step of a job that is alone", median(one, ROUNDS),
           1e6 / median(one, ROUNDS));
    printf("  %-50s %7.0f  %9.0f steps/s\n", "a step of 64 jobs of three", median(many, ROUNDS),
           1e6 / median(many, ROUNDS));
    printf("  %-50s %7.2f\n", "alone over two bare commits", ratio(one, two));
    printf("  %-50s %7.2f\n", "alone over one of many", ratio(one, many));
    moonplan_engine_free(in_file);
    for (size_t i = 0; i < 3; i++) sqlite.finalize(bare_statements[i]);
    sqlite.close_v2(bare);
    free(job.bytes);
}

#else
static void measure_file(void) {}
#endif

int main(int argc, char **argv) {
    if (!mkdtemp(folder)) return 1;
    three = chain(3);
    hundred = chain(100);
    most = chain(4096);
    plain = engine_new(NULL);
    open_lua();
    if (argc < 2 || strcmp(argv[1], "steps") == 0) measure_steps();
    if (argc < 2 || strcmp(argv[1], "file") == 0) measure_file();
    moonplan_engine_free(plain);
    lua_close(L);
    free(three.bytes);
    free(hundred.bytes);
    free(most.bytes);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}
