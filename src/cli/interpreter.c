/* The interpreter: what lua5.4 does with its arguments, with `moonplan` there from the start.
 *
 * Different from lua5.4 on purpose: LUA_INIT is ignored, so that a variable in the environment
 * cannot run code in front of a script that reads plans; the collector stays incremental, because
 * several faults that later releases of Lua corrected sit in its generational mode; and a failure
 * to write what a script has printed is a failure. */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../moonplan_lua.h"
#include "cli.h"

/* -- Errors and interrupts ------------------------------------------------------------------- */

int mpl_traceback(lua_State *L) {
    const char *text = lua_tostring(L, 1);
    if (text == NULL) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return 1;
        text = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    }
    luaL_traceback(L, L, text, 1);
    return 1;
}

void mpl_report(lua_State *L) {
    const char *text = lua_tostring(L, -1);
    mpl_complain(text != NULL ? text : "an error without a text");
    lua_pop(L, 1);
}

/* A signal handler has no other way to know the state. Set while mpl_call runs. */
static lua_State *volatile running;

static void raise_interrupt(lua_State *L, lua_Debug *where) {
    (void)where;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted");
}

/* Setting a hook is what Lua allows in a handler; the error comes when Lua code runs on. A second
 * signal ends the process as usual, for code that never gets there. */
static void interrupt(int signal_number) {
    signal(signal_number, SIG_DFL);
    lua_State *L = running;
    if (L != NULL)
        lua_sethook(L, raise_interrupt, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
                    1);
}

int mpl_call(lua_State *L, int arguments, int results) {
    int base = lua_gettop(L) - arguments;
    lua_pushcfunction(L, mpl_traceback);
    lua_insert(L, base);
    /* Not restarting system calls: a script that waits for input is to be interrupted as well. */
    struct sigaction action = {.sa_handler = interrupt}, before;
    sigemptyset(&action.sa_mask);
    running = L;
    sigaction(SIGINT, &action, &before);
    int status = lua_pcall(L, arguments, results, base);
    sigaction(SIGINT, &before, NULL);
    running = NULL;
    lua_remove(L, base);
    return status;
}

/* Run what was loaded, or report why it was not. */
static bool run_loaded(lua_State *L, int load_status, int arguments) {
    if (load_status == LUA_OK && mpl_call(L, arguments, 0) == LUA_OK) return true;
    mpl_report(L);
    return false;
}

/* -- The command line ------------------------------------------------------------------------ */

typedef struct command_line {
    int count, first;
    char **all;
    int script; /* index of the script's name; count where there is none */
    bool interactive, version, code, clean, warnings;
    bool done; /* the result: did all go well? */
} command_line;

static const char usage[] =
    "usage: moonplan [lua] [OPTION...] [FILE [ARGUMENT...]]\n"
    "  -e CODE    run CODE\n"
    "  -l NAME    require NAME into a global of that name (-l GLOBAL=NAME: into that one)\n"
    "  -i         a prompt when everything else has run\n"
    "  -v         say which versions these are\n"
    "  -E         without LUA_PATH and LUA_CPATH\n"
    "  -W         turn warnings on\n"
    "  --         the last option\n"
    "  -          the last option; read the script from standard input\n";

static bool refuse(const char *option, const char *why) {
    fprintf(stderr, "moonplan: %s: %s\n%s", option, why, usage);
    return false;
}

/* The text behind -e or -l, in the same word or the next. */
static const char *operand(const command_line *line, int *at) {
    if (line->all[*at][2] != '\0') return line->all[*at] + 2;
    return *at + 1 < line->count ? line->all[++*at] : NULL;
}

/* Look through the options without doing anything, so that a wrong one stops all of it. */
static bool sort_out(command_line *line) {
    int at = line->first;
    for (; at < line->count && line->all[at][0] == '-'; at++) {
        const char *word = line->all[at];
        if (strcmp(word, "-") == 0) break;
        if (strcmp(word, "--") == 0) {
            at++;
            break;
        }
        if (word[1] == 'e' || word[1] == 'l') {
            if (operand(line, &at) == NULL) return refuse(word, "needs an operand");
            line->code = line->code || word[1] == 'e';
            continue;
        }
        if (word[1] == '-' || word[2] != '\0') return refuse(word, "no such option");
        switch (word[1]) {
        case 'i':
            line->interactive = true;
            break;
        case 'v':
            line->version = true;
            break;
        case 'E':
            line->clean = true;
            break;
        case 'W':
            line->warnings = true;
            break;
        default:
            return refuse(word, "no such option");
        }
    }
    line->script = at;
    return true;
}

static void say_version(void) {
    printf("moonplan %s, %s\n", moonplan_version(), LUA_COPYRIGHT);
    fflush(stdout);
}

/* -l NAME or GLOBAL=NAME */
static bool require_into_global(lua_State *L, const char *text) {
    const char *equals = strchr(text, '=');
    if (equals == NULL)
        lua_pushstring(L, text);
    else
        lua_pushlstring(L, text, (size_t)(equals - text));
    lua_getglobal(L, "require");
    lua_pushstring(L, equals == NULL ? text : equals + 1);
    if (mpl_call(L, 1, 1) != LUA_OK) {
        mpl_report(L);
        return false;
    }
    lua_pushglobaltable(L);
    lua_insert(L, -3);
    lua_settable(L, -3);
    lua_pop(L, 1);
    return true;
}

static bool run_options(lua_State *L, command_line *line) {
    for (int at = line->first; at < line->script; at++) {
        char option = line->all[at][1];
        if (option != 'e' && option != 'l') continue;
        const char *text = operand(line, &at);
        bool fine =
            option == 'l'
                ? require_into_global(L, text)
                : run_loaded(L, luaL_loadbuffer(L, text, strlen(text), "=(command line)"), 0);
        if (!fine) return false;
    }
    return true;
}

static bool run_script(lua_State *L, const command_line *line) {
    const char *name = line->all[line->script];
    bool is_input = strcmp(name, "-") == 0 && strcmp(line->all[line->script - 1], "--") != 0;
    int status = luaL_loadfile(L, is_input ? NULL : name);
    int arguments = 0;
    if (status == LUA_OK) {
        arguments = line->count - line->script - 1;
        luaL_checkstack(L, arguments + LUA_MINSTACK, "too many arguments");
        for (int i = 1; i <= arguments; i++) lua_pushstring(L, line->all[line->script + i]);
    }
    return run_loaded(L, status, arguments);
}

static void set_arg(lua_State *L, const command_line *line) {
    lua_createtable(L, line->count, line->script + 1);
    /* Without a script, what we were called as is number 0, as in lua5.4. */
    int zero = line->script == line->count ? 0 : line->script;
    for (int i = 0; i < line->count; i++) {
        lua_pushstring(L, line->all[i]);
        lua_rawseti(L, -2, i - zero);
    }
    lua_setglobal(L, "arg");
}

/* Everything in a protected call, so that short memory is reported as any other error. */
static int body(lua_State *L) {
    command_line *line = lua_touserdata(L, 1);
    luaL_checkversion(L);
    if (line->clean) {
        lua_pushboolean(L, true);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    }
    luaL_openlibs(L);
    luaL_requiref(L, "moonplan", luaopen_moonplan, 1);
    lua_pop(L, 1);
    set_arg(L, line);
    if (line->warnings) lua_warning(L, "@on", 0);
    if (line->version) say_version();
    if (!run_options(L, line)) return 0;
    bool has_script = line->script < line->count;
    if (has_script && !run_script(L, line)) return 0;
    line->done = true;
    if (line->interactive) {
        mpl_prompt(L);
    } else if (!has_script && !line->code && !line->version) {
        if (isatty(STDIN_FILENO)) {
            say_version();
            mpl_prompt(L);
        } else {
            line->done = run_loaded(L, luaL_loadfile(L, NULL), 0);
        }
    }
    return 0;
}

int mpl_interpreter(int argc, char **argv, int first) {
    command_line line = {.count = argc, .first = first, .all = argv};
    if (!sort_out(&line)) return MPL_EXIT_FAILED;
    lua_State *L = luaL_newstate();
    if (L == NULL) {
        mpl_complain("not enough memory");
        return MPL_EXIT_FAILED;
    }
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, &line);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        mpl_report(L);
        line.done = false;
    }
    lua_close(L);
    if (!line.done) return MPL_EXIT_FAILED;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return MPL_EXIT_FINE;
    return mpl_output_failed(errno);
}
