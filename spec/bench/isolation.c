/* What a call into a plugin costs in each isolation, and what making one costs. Wall time; medians.
 * A call has ten values in it, and ten in its result; what a job costs with a capability of the
 * host's in the plugin's place is taken off. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/moonplan_lua.h"
#include "measure.h"

#define ROUNDS 21
#define STEPS  1000

static const char setup[] =
    "local moonplan, folder, steps = ...\n"
    "local file = assert(io.open(folder .. '/echo.lua', 'w'))\n"
    "file:write([[return { kind = 'capability', api = 1, name = 'echo', version = '1.0.0',\n"
    "  summary = 'Gives back what it gets.', risk = 'read',\n"
    "  run = function(input) return input end }]])\n"
    "file:close()\n"
    "local input = { a = 1, b = 2.5, c = 'text', d = true, e = { 1, 2, 3 }, f = {} }\n"
    "local list = {}\n"
    "for i = 1, steps do list[i] = { id = 's' .. i, capability = 'echo', input = input } end\n"
    "local plan = moonplan.json.encode { version = '1.0', steps = list }\n"
    "local one = moonplan.json.encode { version = '1.0', steps = { list[1] } }\n"
    "function make(isolation, limits)\n"
    "  local options = { shipped = false, limits = limits, keep_jobs = 0 }\n"
    "  if isolation ~= 'host' then options.plugins, options.isolation = folder, isolation end\n"
    "  engine = assert(moonplan.engine(options))\n"
    "  if isolation == 'host' then\n"
    "    engine:capability { name = 'echo', version = '1.0.0', risk = 'read',\n"
    "      run = function(input) return input end }\n"
    "  end\n"
    "end\n"
    "function many() assert(assert(engine:run(plan)).status == 'completed') end\n"
    "function first() assert(assert(engine:run(one)).status == 'completed') end\n"
    "function close() engine:close() engine = nil collectgarbage() end\n";

static void run(lua_State *L, const char *chunk) {
    if (luaL_dostring(L, chunk) == LUA_OK) return;
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(1);
}

static double timed(lua_State *L, const char *chunk) {
    double begun = clock_of(CLOCK_MONOTONIC);
    run(L, chunk);
    return clock_of(CLOCK_MONOTONIC) - begun;
}

int main(void) {
    static const struct {
        const char *name, *make;
    } rows[] = {{"a function of the host's", "make('host')"},
                {"state", "make('state')"},
                {"state, with call_ms", "make('state', { call_ms = 1000 })"},
                {"process", "make('process')"}};
    char folder[] = "/tmp/moonplan-bench-XXXXXX";
    if (!mkdtemp(folder)) return 1;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
    if (luaL_loadstring(L, setup) != LUA_OK) return 1;
    lua_insert(L, 1);
    lua_pushstring(L, folder);
    lua_pushinteger(L, STEPS);
    if (lua_pcall(L, 3, 0, 0) != LUA_OK) return 1;
    double base = 0, base_first = 0;
    printf("%-26s %14s %14s\n", "", "first call, us", "a call, us");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double first[ROUNDS], many[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            run(L, rows[i].make);
            first[round] = timed(L, "first()");
            many[round] = timed(L, "many()") / STEPS;
            run(L, "close()");
        }
        double start = median(first, ROUNDS), call = median(many, ROUNDS);
        if (i == 0) {
            base = call;
            base_first = start;
            printf("%-26s %14s %14s   (a job's step: %.1f us)\n", rows[i].name, "-", "-", base);
        } else {
            printf("%-26s %14.0f %14.1f\n", rows[i].name, start - base_first, call - base);
        }
    }
    lua_close(L);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}
