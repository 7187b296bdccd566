/* What a host brings with it has no say in the module either: a locale with a decimal comma, a
 * thread with a small stack, a state that is closed in the middle of things. */
#include <lauxlib.h>
#include <locale.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/moonplan_lua.h"
#include "check.h"

static lua_State *new_state(void) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
    lua_pop(L, 1);
    return L;
}

static void run(lua_State *L, const char *chunk) {
    int status = luaL_dostring(L, chunk);
    if (!CHECK(status == LUA_OK)) printf("# %s\n", lua_tostring(L, -1));
    lua_settop(L, 0);
}

/* -- Locales ----------------------------------------------------------------*/

/* The first of these that the machine has; localedef makes one for the test otherwise. */
static bool comma_locale(char *folder) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) return true;
    if (!mkdtemp(folder)) return false;
    char command[256];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1",
             folder);
    if (system(command) != 0) return false;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static void commas_do_no_harm(void) {
    char folder[] = "/tmp/moonplan-lua-locale-XXXXXX";
    if (!comma_locale(folder)) {
        check_skip("no locale with a decimal comma, and localedef cannot make one");
    } else {
        CHECK(strcmp(localeconv()->decimal_point, ",") == 0);
        lua_State *L = new_state();
        run(L, "local json = require 'moonplan'.json\n"
               "local t = assert(json.decode('[0.5,2.5e-1,-1234.0625,0.1,1e2]'))\n"
               "assert(t[1] == 1 / 2 and t[2] == 1 / 4 and t[3] == -1234 - 1 / 16)\n"
               "assert(t[4] == 1 / 10 and t[5] == 100)\n"
               "assert(json.encode(t) == '[0.5,0.25,-1234.0625,0.1,100.0]')\n"
               "assert(json.decode('0.' .. ('1'):rep(400)) == 1 / 9)\n");
        lua_close(L);
    }
    setlocale(LC_ALL, "C");
    if (!strstr(folder, "XXXXXX")) {
        char command[256];
        snprintf(command, sizeof command, "rm -r %s", folder);
        CHECK(system(command) == 0);
    }
}

/* -- Stacks ------------------------------------------------------------------*/

static void *convert_deep(void *data) {
    (void)data;
    lua_State *L = new_state();
    run(L, "local json = require 'moonplan'.json\n"
           "local limits = { depth = 1024 }\n"
           "local text = ('[{\"a\":'):rep(512) .. '0' .. ('}]'):rep(512)\n"
           "local value = assert(json.decode(text, { limits = limits }))\n"
           "assert(json.encode(value, { limits = limits }) == text)\n"
           "assert(json.encode(value, { limits = limits, indent = 2 }))\n"
           "local loop = {}\n"
           "loop[1] = loop\n"
           "local text, err = json.encode(loop, { limits = limits })\n"
           "assert(err.code == 'json.value' and err.at == '/0')\n"
           "local inside = coroutine.wrap(function()\n"
           "  return json.encode(json.decode(value and '[[1]]'))\n"
           "end)\n"
           "assert(inside() == '[[1]]')\n");
    lua_close(L);
    return NULL;
}

static void small_stacks_are_enough(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)256 * 1024) == 0);
    CHECK(pthread_create(&thread, &attributes, convert_deep, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
}

/* -- Closing -----------------------------------------------------------------*/

static int mark_seen(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, "seen");
    *(bool *)lua_touserdata(L, -1) = true;
    return 0;
}

/* Lua calls every finalizer when a state is closed, in the reverse order of making: a plan may be
 * freed before a finalizer that still knows one of its steps. */
static void a_closing_state_lets_go_of_everything(void) {
    static const char chunk[] =
        "local m = require 'moonplan'\n"
        "local address = '0x' .. ('1'):rep(40)\n"
        "local text = "
        "([[{\"schema_version\":\"1\",\"chain_id\":\"1\",\"caip2_chain_id\":\"eip155:1\","
        "\"sender\":\"A\",\"ordered_steps\":[{\"step\":1,\"kind\":\"execution\",\"transaction\":"
        "{\"chain_id\":\"1\",\"from\":\"A\",\"to\":\"A\",\"data\":\"0x\",\"value\":\"0\"}}]}]])"
        ":gsub('\"A\"', '\"' .. address .. '\"')\n"
        "local step\n"
        "setmetatable({}, { __gc = function()\n"
        "  local fine, err = pcall(function() return step.to end)\n"
        "  assert(not fine and err:find 'closed')\n"
        "  seen()\n"
        "end })\n"
        "step = assert(m.call_plan(text)).steps[1]\n"
        "assert(step.to == address)\n"
        "keep = step\n";
    bool seen = false;
    lua_State *L = new_state();
    lua_pushlightuserdata(L, &seen);
    lua_setfield(L, LUA_REGISTRYINDEX, "seen");
    lua_pushcfunction(L, mark_seen);
    lua_setglobal(L, "seen");
    run(L, chunk);
    lua_close(L);
    CHECK(seen);
}

int main(void) {
    RUN(commas_do_no_harm);
    RUN(small_stacks_are_enough);
    RUN(a_closing_state_lets_go_of_everything);
    return check_end();
}
